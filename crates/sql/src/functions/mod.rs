//! What every function is for: its form, a sentence, and an example with its answer.
//!
//! `quickstep_functions()` shows these entries, the book's SQL reference is made of them, and a test runs every
//! example (`crates/conformance/tests/function_examples.rs`). A function without an entry fails `all_are_described`
//! below. Functions that `expr` evaluates have their entries where they are declared (`expr::functions`). What a call is bound to is decided elsewhere (`bind/function/mod.rs`, `bind/function/aggregate.rs`, `bind/function/window.rs`).

mod aggregates;
mod conditional;
mod files;
mod json;
mod list_totals;
mod lists;
mod numbers;
mod postgres;
mod records;
mod section;
mod system;
mod tables;
mod text;
mod time;
mod vectors;
mod windows;

use section::Section;

/// One name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// The name in lower case; each alias has an entry of its own.
    pub name: &'static str,
    /// aggregate, scalar, table or window.
    pub kind: &'static str,
    /// The group of functions that the reference lists it under.
    pub category: &'static str,
    /// The call with its parameters' names; brackets hold what may be left out, forms are separated by `; `.
    pub usage: &'static str,
    /// What the function computes, in one sentence.
    pub description: &'static str,
    /// An expression, or a whole query.
    pub example: &'static str,
    /// The example's values, separated by `, `; nothing where it depends on a file or on the moment.
    pub result: &'static str,
}

/// The rows that examples of aggregates and window functions are over, in order of `x`.
pub const EXAMPLE_ROWS: &str =
    "(VALUES (1, 10.0, 'a'), (2, 20.0, 'b'), (3, NULL, 'a'), (4, 40.0, 'c')) AS t(x, y, s)";

impl FunctionInfo {
    /// The query that shows the example.
    pub fn example_query(&self) -> String {
        match self.kind {
            _ if self.example.starts_with("SELECT ") || self.example.starts_with("FROM ") => {
                self.example.to_owned()
            }
            "aggregate" => format!("SELECT {} FROM {EXAMPLE_ROWS}", self.example),
            "window" => format!("SELECT {} FROM {EXAMPLE_ROWS} ORDER BY x", self.example),
            _ => format!("SELECT {}", self.example),
        }
    }
}

const SECTIONS: &[&[Section]] = &[
    aggregates::SECTIONS,
    conditional::SECTIONS,
    files::SECTIONS,
    json::SECTIONS,
    list_totals::SECTIONS,
    vectors::SECTIONS,
    lists::SECTIONS,
    numbers::SECTIONS,
    postgres::SECTIONS,
    records::SECTIONS,
    system::SECTIONS,
    tables::SECTIONS,
    text::SECTIONS,
    time::SECTIONS,
    windows::SECTIONS,
];

/// Every entry, section by section.
pub(crate) fn described() -> impl Iterator<Item = FunctionInfo> {
    let declared = expr::functions::all().filter_map(|function| {
        let page = function.page?;
        Some(FunctionInfo {
            name: function.name,
            kind: "scalar",
            category: page.category,
            usage: page.usage,
            description: page.description,
            example: page.example,
            result: page.result,
        })
    });
    let sections = SECTIONS.iter().copied().flatten();
    let written = sections.flat_map(|section| {
        section.entries.iter().map(|(name, usage, description, example, result)| FunctionInfo {
            name,
            kind: section.kind,
            category: section.category,
            usage,
            description,
            example,
            result,
        })
    });
    declared.chain(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_described() {
        let mut names: Vec<_> = described().map(|f| (f.kind, f.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a function is described twice");
        let missing: Vec<_> = crate::bind::function_names()
            .into_iter()
            .filter(|(name, kind)| names.binary_search(&(*kind, name.as_str())).is_err())
            .collect();
        assert!(missing.is_empty(), "not described: {missing:?}");
        let known = crate::bind::function_names();
        let unknown: Vec<_> =
            names.iter().filter(|(kind, name)| !known.iter().any(|(n, k)| n == name && k == kind)).collect();
        assert!(unknown.is_empty(), "described, but not known to the binder: {unknown:?}");
    }

    #[test]
    fn entries_are_whole() {
        for f in described() {
            assert!(f.usage.to_lowercase().contains(f.name), "{}: the usage does not name it", f.name);
            assert!(f.description.ends_with('.') && !f.example.is_empty(), "{}", f.name);
        }
    }
}
