//! The names an expression can see, and their resolution.
//!
//! Names match in two rounds, as `names` says: as they are spelled, then without regard to case.
//!
//! A scope lists the columns of one FROM clause, in the order of `*`; its parent is the scope of the query around it,
//! so that a name not found here is an outer reference. Ids are query-wide: an outer reference is simply a column
//! that the subquery's plan does not produce, which is how correlation is found later.

use std::rc::Rc;

use plan::ColumnId;
pub(crate) use types::names::nearest;
use types::{Error, Result, SqlState};

use crate::names::{Name, several};

/// One column that expressions can name.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The table's alias or name; absent for columns merged by USING.
    pub table: Option<Rc<str>>,
    /// The table's schema, where the text may qualify the table with it.
    pub schema: Option<Rc<str>>,
    /// The column's name, as it is spelled where it comes from.
    pub name: Rc<str>,
    /// The column's id, unique in the statement.
    pub id: ColumnId,
    /// Found without a qualifier; false for the sides of a merged column.
    pub plain: bool,
    /// Another name of a column, which counts only where nothing else is found and is no part of `*`: what a function
    /// calls its column when an alias does, and the alias when the function does.
    pub hidden: bool,
}

/// The columns of one FROM clause, and the scope of the query around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The scope around this one; `None` at the top, and where outer columns may not be seen.
    pub parent: Option<Rc<Scope>>,
    /// The columns in the order of `*`.
    pub entries: Vec<Entry>,
}

impl Scope {
    /// A scope without columns.
    pub fn new(parent: Option<Rc<Scope>>) -> Self {
        Scope { parent, entries: Vec::new() }
    }

    /// The columns of `*`, in order.
    pub fn star(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.plain && !e.hidden)
    }

    /// The columns of `table.*`, in order.
    pub fn star_of<'s>(
        &'s self,
        schema: Option<&'s Name>,
        table: &'s Name,
    ) -> impl Iterator<Item = &'s Entry> {
        let exact = self.entries.iter().any(|e| is_of(e, schema, table, Round::Spelled));
        let round = if exact { Round::Spelled } else { Round::Resembling };
        self.entries.iter().filter(move |e| !e.hidden && is_of(e, schema, table, round))
    }

    /// The column of that name here or in a scope around; `None` when there is none.
    pub fn find(&self, schema: Option<&Name>, table: Option<&Name>, name: &Name) -> Result<Option<&Entry>> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if let Some(entry) = here.find_here(schema, table, name)? {
                return Ok(Some(entry));
            }
            scope = here.parent.as_deref();
        }
        Ok(None)
    }

    /// The column of that name in this scope only.
    pub fn find_here(
        &self,
        schema: Option<&Name>,
        table: Option<&Name>,
        name: &Name,
    ) -> Result<Option<&Entry>> {
        for round in [Round::Spelled, Round::Resembling, Round::Hidden] {
            let mut found: Option<&Entry> = None;
            for entry in &self.entries {
                let fits = entry.hidden == matches!(round, Round::Hidden)
                    && round.fits(name, &entry.name)
                    && match table {
                        Some(table) => is_of(entry, schema, table, round),
                        None => entry.plain,
                    };
                if !fits {
                    continue;
                }
                match found {
                    Some(known) if known.id == entry.id => {}
                    Some(known) if known.name != entry.name => {
                        return Err(several("column", &name.text, &known.name, &entry.name));
                    }
                    Some(_) => {
                        let message = format!("column reference \"{}\" is ambiguous", name.text);
                        return Err(Error::new(SqlState::AmbiguousColumn, message)
                            .with_hint("qualify it with the table's name or alias"));
                    }
                    None => found = Some(entry),
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether a table or alias of that exact name is visible here or further out.
    pub fn has_table(&self, table: &str) -> bool {
        self.entries.iter().any(|e| e.table.as_deref() == Some(table))
            || self.parent.as_ref().is_some_and(|p| p.has_table(table))
    }

    /// The error for a name that `find` did not find, with the nearest name as a hint.
    pub fn unknown(&self, table: Option<&Name>, name: &str) -> Error {
        if let Some(table) = table
            && !self
                .all()
                .any(|e| e.table.as_deref().is_some_and(|known| table.is(known) || table.resembles(known)))
        {
            let table = table.text.as_str();
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
        let shown = table.map_or_else(|| format!("\"{name}\""), |t| format!("{}.{name}", t.text));
        let error = Error::new(SqlState::UndefinedColumn, format!("column {shown} does not exist"));
        let names = self
            .all()
            .filter(|e| {
                let known = e.table.as_deref().unwrap_or_default();
                table.is_none_or(|table| table.is(known) || table.resembles(known))
            })
            .map(|e| &*e.name);
        match nearest(name, names) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        std::iter::successors(Some(self), |s| s.parent.as_deref()).flat_map(|s| s.entries.iter())
    }
}

/// The rounds of `names`: what is spelled so, then what differs in case; then other names of columns.
#[derive(Clone, Copy)]
enum Round {
    Spelled,
    Resembling,
    Hidden,
}

impl Round {
    fn fits(self, name: &Name, known: &str) -> bool {
        name.is(known) || !matches!(self, Self::Spelled) && name.resembles(known)
    }
}

fn is_of(entry: &Entry, schema: Option<&Name>, table: &Name, round: Round) -> bool {
    entry.table.as_deref().is_some_and(|known| round.fits(table, known))
        && match (schema, entry.schema.as_deref()) {
            (None, _) => true,
            // A table found without a schema may be named with the one it is in by default.
            (Some(given), None) => {
                matches!(given.text.as_str(), "public" | "main") || given.text.ends_with(".main")
            }
            // The key of a schema of an attached database ends with the schema's own name, by which it is meant where
            // no other schema is.
            (Some(given), Some(known)) => {
                let own = || known.rsplit_once('.').is_some_and(|(_, schema)| round.fits(given, schema));
                round.fits(given, known) || !matches!(round, Round::Spelled) && own()
            }
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
