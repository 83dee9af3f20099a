//! The tables that the files of this folder are.

/// A function as the tables below write it: name, usage, description, example, result.
pub(super) type Entry = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// A table of entries of one kind and category.
pub(super) struct Section {
    pub(super) kind: &'static str,
    pub(super) category: &'static str,
    pub(super) entries: &'static [Entry],
}
