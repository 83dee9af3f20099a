//! One build: what the command, the wheel and the tests compile of a dependency, they compile once.
//!
//! Cargo unifies a dependency's features over the packages of one command. Where the packages of another command want
//! fewer of them, that dependency and all that stands on it is compiled again: the whole engine, for one feature. The
//! features of every package, as `cargo tree` tells them, must therefore be the same in the three commands of the
//! Makefile; `crates/features` asks for those that only some would get. `bus`, whose features are the tests' alone, is
//! tested by a command of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::Finding;

/// The sets of features with which each package is compiled.
type Features = BTreeMap<String, BTreeSet<String>>;

/// The tests, which compile the most.
const TESTS: &[&str] =
    &["--workspace", "--exclude", "python", "--exclude", "bus", "--edges", "normal,build,dev"];

/// What is built beside them.
const OTHERS: &[(&str, &[&str])] = &[
    ("the command", &["--package", "cli", "--edges", "normal,build"]),
    ("the wheel", &["--package", "python", "--features", "extension-module", "--edges", "normal,build"]),
];

pub fn check(root: &Path) -> Vec<Finding> {
    let tests = match features(root, TESTS) {
        Ok(tests) => tests,
        Err(problem) => return vec![Finding::new("Cargo.toml", problem)],
    };
    let mut findings = Vec::new();
    for (what, arguments) in OTHERS {
        match features(root, arguments) {
            Ok(other) => findings.extend(compiled_twice(&tests, &other, what)),
            Err(problem) => findings.push(Finding::new("Cargo.toml", problem)),
        }
    }
    findings
}

/// The packages that both compile, with other features.
fn compiled_twice(tests: &Features, other: &Features, what: &str) -> Vec<Finding> {
    let differs = |(package, sets): (&String, &BTreeSet<String>)| {
        let known = tests.get(package)?;
        let set = sets.iter().find(|set| !known.contains(*set))?;
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Some(Finding::new(
            "crates/features/Cargo.toml",
            format!(
                "{package} is compiled twice: with the features [{set}] for {what}, with [{}] for the tests; ask here \
                 for those that are missing",
                known.join("] and [")
            ),
        ))
    };
    other.iter().filter_map(differs).collect()
}

fn features(root: &Path, arguments: &[&str]) -> Result<Features, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--quiet", "--prefix", "none", "--format", "{p}|{f}"])
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo tree does not run: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree fails: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines of a package and its features.
fn read(tree: &str) -> Features {
    let mut features = Features::new();
    // A star marks what has been listed before.
    let lines = tree.lines().map(|line| line.strip_suffix(" (*)").unwrap_or(line));
    for (package, set) in lines.filter_map(|line| line.split_once('|')) {
        // A path and a remark stand behind name and version.
        let package: Vec<&str> = package.split(' ').take(2).collect();
        features.entry(package.join(" ")).or_default().insert(set.to_owned());
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_feature_is_found() {
        let tests = read("a v1|std,alloc\nb v2|\n");
        assert!(compiled_twice(&tests, &read("a v1|std,alloc\nc v1|x\n"), "the wheel").is_empty());
        let found = compiled_twice(&tests, &read("a v1|alloc\nb v2|\n"), "the wheel");
        assert_eq!(found.len(), 1);
        assert!(found[0].problem.contains("a v1 is compiled twice: with the features [alloc] for the wheel"));
    }
}
