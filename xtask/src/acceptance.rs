//! `docs/acceptance.md`: every test a row names must exist.
//!
//! A row's evidence is written as code: `path::test_name` for a Rust test, a path for a file (a corpus file, a recorded
//! run, a page). Rows whose state is `open` need no evidence.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Finding;

const PAGE: &str = "docs/acceptance.md";

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let Ok(page) = std::fs::read_to_string(root.join(PAGE)) else {
        return vec![Finding::new(PAGE, "is missing")];
    };
    let known: BTreeSet<String> = files.iter().map(|f| f.to_string_lossy().into_owned()).collect();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    check_page(&page, &known, &read)
}

fn check_page(page: &str, files: &BTreeSet<String>, read: &dyn Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in page.lines().enumerate() {
        let place = format!("{PAGE}:{}", number + 1);
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.trim_start().starts_with('|')
            || cells.len() < 4
            || cells[0].starts_with("--")
            || cells[0] == "line"
        {
            continue;
        }
        let (state, evidence) = (cells[2], cells[3]);
        let named: Vec<&str> = evidence.split('`').skip(1).step_by(2).collect();
        match state {
            "open" => continue,
            "done" | "part" if named.is_empty() => {
                findings
                    .push(Finding::new(&place, "a row that is not open names its evidence in backquotes"));
            }
            "done" | "part" => {}
            other => {
                findings.push(Finding::new(&place, format!("unknown state \"{other}\": done, part or open")))
            }
        }
        for name in named {
            if let Some(problem) = missing(name, files, read) {
                findings.push(Finding::new(&place, problem));
            }
        }
    }
    findings
}

fn missing(name: &str, files: &BTreeSet<String>, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if name.starts_with("make ") || name.starts_with("cargo ") {
        return None;
    }
    let (path, test) = match name.split_once("::") {
        Some((path, test)) => (path, Some(test)),
        None => (name, None),
    };
    let is_folder = files.iter().any(|f| f.starts_with(&format!("{}/", path.trim_end_matches('/'))));
    if !files.contains(path) && !(is_folder && test.is_none()) {
        return Some(format!("names {path}, which does not exist"));
    }
    let test = test?;
    let text = read(path)?;
    (!text.contains(&format!("fn {test}")) && !text.contains(&format!("def {test}")))
        .then(|| format!("names the test {test}, which {path} does not have"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_faults_are_found() {
        let files: BTreeSet<String> = ["crates/a/src/lib.rs", "tests/slt/x/a.slt"].map(str::to_owned).into();
        let read = |_: &str| Some("fn works() {}".to_owned());
        let count = |row: &str| check_page(row, &files, &read).len();
        assert_eq!(count("| 1.1 | text | done | `crates/a/src/lib.rs::works` |"), 0);
        assert_eq!(count("| 1.1 | text | done | `tests/slt/x` |"), 0);
        assert_eq!(count("| 1.1 | text | done | `crates/a/src/lib.rs::gone` |"), 1);
        assert_eq!(count("| 1.1 | text | done | `crates/b/src/lib.rs` |"), 1);
        assert_eq!(count("| 1.1 | text | done | trust me |"), 1);
        assert_eq!(count("| 1.1 | text | open | nothing yet |"), 0);
        assert_eq!(count("| 1.1 | text | maybe | `tests/slt/x` |"), 1);
    }
}
