//! The names an expression can see, and their resolution.
//!
//! A scope lists the columns of one FROM clause, in the order of `*`; its parent is the scope of the query around it,
//! so that a name not found here is an outer reference. Ids are query-wide: an outer reference is simply a column
//! that the subquery's plan does not produce, which is how correlation is found later.

use std::rc::Rc;

use plan::ColumnId;
pub(crate) use types::names::nearest;
use types::{Error, Result, SqlState};

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The table's alias or name; absent for columns merged by USING.
    pub table: Option<Rc<str>>,
    pub schema: Option<Rc<str>>,
    pub name: Rc<str>,
    pub id: ColumnId,
    /// Found without a qualifier; false for the sides of a merged column.
    pub plain: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub parent: Option<Rc<Scope>>,
    pub entries: Vec<Entry>,
}

impl Scope {
    pub fn new(parent: Option<Rc<Scope>>) -> Self {
        Scope { parent, entries: Vec::new() }
    }

    /// The columns of `*`, in order.
    pub fn star(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.plain)
    }

    /// The columns of `table.*`, in order.
    pub fn star_of<'s>(&'s self, schema: Option<&'s str>, table: &'s str) -> impl Iterator<Item = &'s Entry> {
        self.entries.iter().filter(move |e| is_of(e, schema, table))
    }

    /// The column of that name here or in a scope around; `None` when there is none.
    pub fn find(&self, schema: Option<&str>, table: Option<&str>, name: &str) -> Result<Option<ColumnId>> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if let Some(id) = here.find_here(schema, table, name)? {
                return Ok(Some(id));
            }
            scope = here.parent.as_deref();
        }
        Ok(None)
    }

    /// The column of that name in this scope only.
    pub fn find_here(
        &self,
        schema: Option<&str>,
        table: Option<&str>,
        name: &str,
    ) -> Result<Option<ColumnId>> {
        let mut found: Option<ColumnId> = None;
        for entry in &self.entries {
            let fits = *entry.name == *name
                && match table {
                    Some(table) => is_of(entry, schema, table),
                    None => entry.plain,
                };
            if !fits || found == Some(entry.id) {
                continue;
            }
            if found.is_some() {
                return Err(Error::new(
                    SqlState::AmbiguousColumn,
                    format!("column reference \"{name}\" is ambiguous"),
                )
                .with_hint("qualify it with the table's name or alias"));
            }
            found = Some(entry.id);
        }
        Ok(found)
    }

    pub fn has_table(&self, table: &str) -> bool {
        self.entries.iter().any(|e| e.table.as_deref() == Some(table))
            || self.parent.as_ref().is_some_and(|p| p.has_table(table))
    }

    /// The error for a name that `find` did not find, with the nearest name as a hint.
    pub fn unknown(&self, table: Option<&str>, name: &str) -> Error {
        if let Some(table) = table
            && !self.has_table(table)
        {
            let error = Error::new(
                SqlState::UndefinedTable,
                format!("missing FROM-clause entry for table \"{table}\""),
            );
            if matches!(
                name,
                "csv" | "tsv" | "json" | "ndjson" | "jsonl" | "parquet" | "arrow" | "gz" | "zst"
            ) {
                return error.with_hint("a file's path stands in single quotes");
            }
            let tables = || self.all().filter_map(|e| e.table.as_deref());
            return match nearest(table, tables()) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => {
                    let mut known: Vec<&str> = tables().collect();
                    known.dedup();
                    match known.as_slice() {
                        [only] => error.with_hint(format!("the table in FROM is called \"{only}\"")),
                        _ => error,
                    }
                }
            };
        }
        let shown = table.map_or_else(|| format!("\"{name}\""), |t| format!("{t}.{name}"));
        let error = Error::new(SqlState::UndefinedColumn, format!("column {shown} does not exist"));
        let names = self.all().filter(|e| table.is_none() || e.table.as_deref() == table).map(|e| &*e.name);
        match nearest(name, names) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        std::iter::successors(Some(self), |s| s.parent.as_deref()).flat_map(|s| s.entries.iter())
    }
}

fn is_of(entry: &Entry, schema: Option<&str>, table: &str) -> bool {
    entry.table.as_deref() == Some(table)
        && match (schema, entry.schema.as_deref()) {
            (None, _) => true,
            // A table found without a schema may be named with the one it is in by default.
            (Some(given), None) => matches!(given, "public" | "main"),
            (given, known) => given == known,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_near_misses_only() {
        let names = ["l_orderkey", "l_partkey", "l_quantity"];
        assert_eq!(nearest("l_quantiy", names.into_iter()), Some("l_quantity"));
        assert_eq!(nearest("l_ordrekey", names.into_iter()), Some("l_orderkey"));
        assert_eq!(nearest("foo", names.into_iter()), None);
    }
}
