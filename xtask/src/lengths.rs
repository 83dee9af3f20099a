//! Lengths of functions: none has more than 100 lines, so that each fits a screen or two and has one thing to do.
//!
//! A function begins at its `fn` and ends at the brace that stands in the same column, which is how rustfmt lays it
//! out.

use std::path::{Path, PathBuf};

use crate::Finding;

const LINES_MAX: usize = 100;

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let place = file.to_string_lossy();
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        findings.extend(long_functions(&text).into_iter().map(|(line, name, lines)| {
            Finding::new(
                format!("{place}:{line}"),
                format!(
                    "{name} has {lines} lines; {LINES_MAX} are the most: cut it where its subject changes"
                ),
            )
        }));
    }
    findings
}

/// Functions of more lines than are allowed: where they begin, their names and how many lines they have.
fn long_functions(text: &str) -> Vec<(usize, &str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        if line.ends_with('}') || line.ends_with(';') {
            continue;
        }
        let column = line.len() - line.trim_start().len();
        let closes = |line: &str| {
            let rest = line.trim_start();
            line.len() - rest.len() == column
                && (rest == "}" || (rest.starts_with(')') && rest.ends_with(';')))
        };
        let length = lines[at..].iter().position(|line| closes(line)).map_or(0, |end| end + 1);
        if length > LINES_MAX {
            found.push((at + 1, name, length));
        }
    }
    found
}

/// The name of the function that begins on a line.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest =
            after.strip_prefix('(').and_then(|inner| inner.split_once(')')).map_or(after, |(_, after)| after);
        rest = rest.trim_start();
    }
    for word in ["const ", "async ", "unsafe ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_functions_are_found() {
        let function = |lines: usize| {
            format!(
                "    pub(crate) fn long(\n        a: u8,\n    ) {{\n{}    }}\n",
                "        a;\n".repeat(lines - 4)
            )
        };
        assert_eq!(long_functions(&function(100)), []);
        let text = format!("fn short() {{}}\n{}", function(101));
        assert_eq!(long_functions(&text), [(2, "long", 101)]);
    }

    #[test]
    fn names_of_functions() {
        assert_eq!(function_name("pub const unsafe fn a<T>("), Some("a"));
        assert_eq!(function_name("    pub(in crate::x) fn b1()"), Some("b1"));
        assert_eq!(function_name("let fn_name = 1;"), None);
    }
}
