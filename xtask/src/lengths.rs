//! Lengths of functions: none has more than 100 lines, so that each fits a screen or two and has one thing to do.
//!
//! A function begins at its `fn` and ends at the brace that stands in the same column, which is how rustfmt lays it
//! out. Functions that are longer are listed by name; the list may only shrink: an entry that is short fails as well.

use std::path::{Path, PathBuf};

use crate::Finding;

const LINES_MAX: usize = 100;

/// Functions that are still to be cut.
const TO_BE_CUT: &[(&str, &str)] = &[
    ("crates/block/examples/access.rs", "main"),
    ("crates/block/examples/measure.rs", "main"),
    ("crates/cli/src/output/table.rs", "print"),
    ("crates/cli/src/shell/commands.rs", "parse"),
    ("crates/conformance/tests/hadoop_cluster/mod.rs", "call"),
    ("crates/conformance/tests/histories.rs", "anomalies"),
    ("crates/conformance/tests/interrupts.rs", "slow"),
    ("crates/conformance/tests/text_files.rs", "json_lines_arrays_and_values"),
    ("crates/engine/src/session.rs", "set"),
    ("crates/expr/examples/kernel_speed.rs", "main"),
    ("crates/formats/src/text/report.rs", "report"),
    ("crates/formats/src/text/sniff.rs", "look"),
    ("crates/generators/tests/suites/selectivity.rs", "queries"),
    ("crates/optimizer/src/lower/join.rs", "join"),
    ("crates/optimizer/src/rules/filter_push_down.rs", "push_join"),
    ("crates/optimizer/src/rules/late_materialization.rs", "defer_below"),
    ("crates/optimizer/tests/tpch/mod.rs", "tables"),
    ("crates/plan/src/validate.rs", "validate_node"),
    ("crates/plan/src/validate/logical.rs", "validate_node"),
    ("crates/reference/src/aggregate.rs", "finish"),
    ("crates/reference/src/library.rs", "call"),
    ("crates/reference/src/window.rs", "window_call"),
    ("crates/sql/src/bind/decorrelate/unnest.rs", "unnest"),
    ("crates/sql/src/bind/from/asof.rs", "asof_join"),
    ("crates/sql/src/bind/from/join.rs", "bind_join"),
    ("crates/sql/src/bind/from/pivot.rs", "bind_pivot"),
    ("crates/sql/src/bind/function/aggregate.rs", "aggregate_call"),
    ("crates/sql/src/bind/function/aggregate.rs", "typed"),
    ("crates/sql/src/bind/function/mod.rs", "apply"),
    ("crates/sql/src/bind/function/mod.rs", "function"),
    ("crates/sql/src/bind/function/own.rs", "written_out"),
    ("crates/sql/src/bind/function/window.rs", "bound_window"),
    ("crates/sql/src/bind/modify/merge.rs", "merge"),
    ("crates/sql/src/bind/nested/nested_calls.rs", "of_lists"),
    ("crates/sql/src/bind/query/select.rs", "bind_select"),
    ("crates/syntax/src/print/expr.rs", "print"),
    ("crates/syntax/src/print/statement.rs", "print"),
    ("crates/syntax/src/tree/walk.rs", "statement"),
];

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut listed: Vec<&(&str, &str)> = TO_BE_CUT.iter().collect();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let place = file.to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        for (line, name, lines) in long_functions(&text) {
            match listed.iter().position(|(at, called)| *at == place && *called == name) {
                Some(known) => drop(listed.remove(known)),
                None => findings.push(Finding::new(
                    format!("{place}:{line}"),
                    format!(
                        "{name} has {lines} lines; {LINES_MAX} are the most: cut it where its subject changes"
                    ),
                )),
            }
        }
    }
    for (place, name) in listed {
        findings.push(Finding::new(
            *place,
            format!("{name} is short: take it from the list in xtask/src/lengths.rs"),
        ));
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
