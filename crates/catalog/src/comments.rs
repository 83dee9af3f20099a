//! COMMENT ON objects whose definitions have no place for one: indices, sequences, types, macros, schemas, the database
//! and columns of views.
//!
//! A comment stands in the snapshot under a key of the object's kind, schema and name, which it outlives: readers ask for
//! comments of objects that are there, and an object that is made takes away what stands under its key
//! (`Draft::forget_comment`). Comments of tables, their columns and views are parts of their definitions.

use crate::snapshot::Snapshot;

/// The kinds of objects that have their comments here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commented {
    /// CREATE INDEX.
    Index,
    /// CREATE SEQUENCE.
    Sequence,
    /// CREATE TYPE.
    Type,
    /// CREATE MACRO and CREATE FUNCTION; all forms have one comment.
    Macro,
    /// CREATE SCHEMA.
    Schema,
    /// The database itself.
    Database,
    /// A column of a view; its name is [`Commented::column`].
    ViewColumn,
}

/// Separates the parts of a key, and of the name of a view's column; no name has it by accident.
const SEPARATOR: char = '\u{1f}';

impl Commented {
    const ALL: [Commented; 7] = [
        Commented::Index,
        Commented::Sequence,
        Commented::Type,
        Commented::Macro,
        Commented::Schema,
        Commented::Database,
        Commented::ViewColumn,
    ];
    /// The word for the kind, as listings have it.
    pub fn name(self) -> &'static str {
        match self {
            Commented::Index => "index",
            Commented::Sequence => "sequence",
            Commented::Type => "type",
            Commented::Macro => "macro",
            Commented::Schema => "schema",
            Commented::Database => "database",
            Commented::ViewColumn => "column",
        }
    }
    /// The name under which a view's column has its comment.
    pub fn column(view: &str, column: &str) -> String {
        format!("{view}{SEPARATOR}{column}")
    }
    /// The view and the column of such a name.
    pub fn view_and_column(name: &str) -> (&str, &str) {
        name.split_once(SEPARATOR).unwrap_or((name, ""))
    }
}

/// Whether a comment is about a temporary object, which ends with the process.
pub(crate) fn is_temporary(key: &str) -> bool {
    key.split(SEPARATOR).nth(1) == Some(crate::TEMPORARY_SCHEMA)
}

/// A comment and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentEntry<'s> {
    /// The kind of the object.
    pub of: Commented,
    /// The key of its schema.
    pub schema: String,
    /// Its name.
    pub name: &'s str,
    /// The comment.
    pub text: &'s str,
}

impl Snapshot {
    pub(crate) fn comment_key(&self, of: Commented, schema: &str, name: &str) -> String {
        let (mounted, schema) = self.database_of(schema);
        let schema = Snapshot::canonical_schema(schema);
        let own = format!("{}{SEPARATOR}{schema}{SEPARATOR}{name}", of.name());
        mounted.map_or_else(|| own.clone(), |mounted| format!("{}.{own}", mounted.name))
    }

    /// The comment on an object of the schema with this key.
    pub fn comment(&self, of: Commented, schema: &str, name: &str) -> Option<&str> {
        self.comments.get(&self.comment_key(of, schema, name)).map(|text| text.as_str())
    }

    /// All comments that stand here, on objects that are gone as well.
    pub fn comments(&self) -> impl Iterator<Item = CommentEntry<'_>> {
        self.comments.iter().filter_map(|(key, text)| {
            let (mounted, own) = self.database_of(key);
            let (kind, rest) = own.split_once(SEPARATOR)?;
            let of = Commented::ALL.into_iter().find(|of| of.name() == kind)?;
            let (schema, name) = rest.split_once(SEPARATOR)?;
            let schema = mounted.map_or_else(|| schema.to_owned(), |m| format!("{}.{schema}", m.name));
            Some(CommentEntry { of, schema, name, text })
        })
    }
}
