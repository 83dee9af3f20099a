//! The repository's own checks and chores: `cargo xtask tidy` fails on anything that breaks the house rules.
//!
//! Rules are checked by machine or they are wishes. Each module checks one kind of rule and returns findings; a
//! finding names the file, what is wrong, and what to do.
#![forbid(unsafe_code)]

mod acceptance;
mod cycles;
mod layers;
mod lengths;
mod links;
mod one_build;
mod source;
mod thread_locals;
mod tokens;
mod twice;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One broken rule.
pub struct Finding {
    /// The file, and the line where there is one.
    pub place: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl Finding {
    /// A broken rule at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Finding { place: place.into(), problem: problem.into() }
    }
}

/// Files git would commit, relative to the root.
pub fn tracked_files(root: &Path) -> Vec<PathBuf> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let Ok(output) = output else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(PathBuf::from)
        .filter(|p| root.join(p).is_file())
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Everything that breaks a rule of the house.
fn findings(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = layers::check(root);
    findings.extend(source::check(root, files));
    findings.extend(lengths::check(root, files));
    findings.extend(acceptance::check(root, files));
    findings.extend(links::check(root, files));
    findings.extend(twice::check(root, files));
    findings.extend(cycles::check(root));
    findings.extend(thread_locals::check(root, files));
    findings.extend(one_build::check(root));
    findings
}

fn tidy() -> ExitCode {
    let root = root();
    let files = tracked_files(&root);
    let findings = findings(&root, &files);
    for finding in &findings {
        eprintln!("{}: {}", finding.place, finding.problem);
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", files.len());
        ExitCode::SUCCESS
    } else {
        eprintln!("tidy: {} findings", findings.len());
        ExitCode::FAILURE
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy(),
        Some("cycles") => {
            print!("{}", cycles::report(&root(), std::env::args().nth(2).as_deref()));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: cargo xtask tidy              check layers, names, sources, acceptance rows and links"
            );
            eprintln!(
                "       cargo xtask cycles [CRATE]    files that need each other, and what of each other"
            );
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let root = super::root();
        let files = super::tracked_files(&root);
        let findings = super::findings(&root, &files);
        let text: Vec<String> = findings.iter().map(|f| format!("{}: {}", f.place, f.problem)).collect();
        assert!(text.is_empty(), "{}", text.join("\n"));
    }
}
