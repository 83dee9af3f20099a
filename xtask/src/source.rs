//! Sources: head docs, length, names that say something, unsafe only where it is allowed, no unfinished work, no test that
//! a moment's stall of its machine fails.

use std::path::{Path, PathBuf};

use crate::Finding;

/// Crates that may hold `unsafe`.
const UNSAFE_ALLOWED: &[&str] = &["memory", "simd", "sync", "block", "vector", "hash", "codegen", "python"];
const LINES_MAX: usize = 1000;
/// A longer file of a crate's sources has state, invariants or callers to tell of in its head doc.
const SHORT_LINES: usize = 150;
const HEAD_LINES_MIN: usize = 3;
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "core", "misc", "manager"];

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let place = file.to_string_lossy().into_owned();
        for part in file.iter().map(|p| p.to_string_lossy()) {
            let stem = part.split('.').next().unwrap_or("");
            if EMPTY_NAMES.contains(&stem) {
                findings.push(Finding::new(&place, format!("\"{part}\" says nothing; name what it holds")));
            }
        }
        if file.extension().is_some_and(|e| e == "rs")
            && let Ok(text) = std::fs::read_to_string(root.join(file))
        {
            check_rust(&place, &text, &mut findings);
        }
    }
    findings
}

fn crate_of(place: &str) -> &str {
    place.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or("")
}

/// Tests and examples say in their names what they are about.
fn is_test(place: &str) -> bool {
    ["/tests/", "/examples/"].iter().any(|part| place.contains(part)) || place.ends_with("/tests.rs")
}

fn check_rust(place: &str, text: &str, findings: &mut Vec<Finding>) {
    if !text.trim_start().starts_with("//!") {
        findings.push(Finding::new(place, "begins without a head doc (//!): say what it is and why"));
    }
    let lines = text.lines().count();
    let head = text.lines().take_while(|line| line.starts_with("//!")).filter(|line| line.len() > 4).count();
    if lines > SHORT_LINES && (1..HEAD_LINES_MIN).contains(&head) && !is_test(place) {
        let problem = format!(
            "has {lines} lines and a head doc of {head}: say what state it holds, what always holds, and who calls it"
        );
        findings.push(Finding::new(place, problem));
    }
    if lines > LINES_MAX {
        findings.push(Finding::new(place, format!("has {lines} lines; {LINES_MAX} are the most: split it")));
    }
    let allowed = UNSAFE_ALLOWED.contains(&crate_of(place)) || place.contains("/tests/");
    let mut in_tests = false;
    let source: Vec<&str> = text.lines().collect();
    for (number, line) in source.iter().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        in_tests |= line.contains("#[cfg(test)]");
        let here = format!("{place}:{}", number + 1);
        let is_unsafe =
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|u| code.contains(u))
                && !code.contains('"');
        if is_unsafe && !allowed && !in_tests {
            findings.push(Finding::new(&here, "unsafe outside the crates that may hold it"));
        }
        let is_brief = ["from_millis", "from_micros", "from_nanos"].iter().any(|unit| code.contains(unit));
        if (in_tests || is_test(place))
            && is_brief
            && code.contains("assert!(")
            && code.contains(".elapsed() <")
        {
            let problem = "a machine that stands still for a moment fails this test: `timing` has the means";
            findings.push(Finding::new(&here, problem));
        }
        for marker in ["todo!(", "unimplemented!(", "FIXME", "XXX"] {
            if line.contains(marker) && !place.starts_with("xtask/") {
                findings.push(Finding::new(&here, format!("unfinished work ({marker})")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(place: &str, text: &str) -> usize {
        let mut found = Vec::new();
        check_rust(place, text, &mut found);
        found.len()
    }

    #[test]
    fn planted_faults_are_found() {
        assert_eq!(findings("crates/plan/src/a.rs", "//! Doc.\nfn a() {}\n"), 0);
        assert_eq!(findings("crates/plan/src/a.rs", "fn a() {}\n"), 1, "no head doc");
        assert_eq!(findings("crates/plan/src/a.rs", "//! Doc.\nfn a() { unsafe { b() } }\n"), 1, "unsafe");
        assert_eq!(findings("crates/simd/src/a.rs", "//! Doc.\nfn a() { unsafe { b() } }\n"), 0);
        assert_eq!(findings("crates/plan/src/a.rs", "//! Doc.\n// FIXME\n"), 1, "marker");
        assert_eq!(
            findings("crates/plan/src/a.rs", &format!("{}{}", "//! Doc.\n".repeat(3), "//\n".repeat(998))),
            1,
            "length"
        );
        let head = |lines: usize| format!("{}{}", "//! Doc.\n".repeat(lines), "//\n".repeat(150));
        assert_eq!(findings("crates/plan/src/a.rs", &head(2)), 1, "head of two lines");
        assert_eq!(findings("crates/plan/src/a.rs", &head(3)), 0);
        assert_eq!(findings("crates/plan/tests/a.rs", &head(2)), 0);
        let brief =
            |seconds: &str| format!("//! Doc.\nassert!(begun.elapsed() < Duration::from_{seconds});\n");
        assert_eq!(findings("crates/plan/tests/a.rs", &brief("millis(500)")), 1, "a stall fails it");
        assert_eq!(findings("crates/plan/tests/a.rs", &brief("secs(20)")), 0);
        assert_eq!(findings("crates/plan/src/a.rs", &brief("millis(500)")), 0);
    }
}
