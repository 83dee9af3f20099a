//! `CREATE TABLE (LIKE other INCLUDING ...)`: the columns of another table, and what is taken along with them.
//!
//! Names, types and NOT NULL always come along, as in PostgreSQL; defaults, generated columns, checks, keys and comments
//! where they are asked for. What comes is written as SQL and read again, so that it is what the same text in CREATE
//! TABLE would be. The default of a SERIAL column names the sequence of the other table, which both then share.

use std::fmt::Write;

use syntax::tree::{Name, Path, StatementKind, TableElement};
use types::{Error, Result, SqlState, quote};

use super::Context;
use crate::bind::folded;

/// What LIKE says about each kind of part.
#[derive(Clone, Copy, Default)]
struct Wanted {
    comments: bool,
    constraints: bool,
    defaults: bool,
    generated: bool,
    identity: bool,
    indexes: bool,
}

/// What stands for LIKE.
pub(super) struct Like<'a> {
    /// Columns and constraints.
    pub elements: &'a [TableElement],
    /// Columns with a comment, and its text.
    pub comments: Vec<(String, String)>,
}

impl Wanted {
    /// Later words win; kinds of which no table here has anything are let pass.
    fn of(parts: &[(bool, Name)]) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        for (including, part) in parts {
            match folded(part).as_str() {
                "all" => {
                    let all = *including;
                    wanted = Wanted {
                        comments: all,
                        constraints: all,
                        defaults: all,
                        generated: all,
                        identity: all,
                        indexes: all,
                    };
                }
                "comments" => wanted.comments = *including,
                "constraints" => wanted.constraints = *including,
                "defaults" => wanted.defaults = *including,
                "generated" => wanted.generated = *including,
                "identity" => wanted.identity = *including,
                "indexes" => wanted.indexes = *including,
                "compression" | "statistics" | "storage" => {}
                other => {
                    let message = format!("LIKE has no part \"{other}\" to take along");
                    return Err(Error::new(SqlState::SyntaxError, message).with_hint(
                        "the parts are comments, constraints, defaults, generated, identity, indexes and all",
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

impl<'a> Context<'a> {
    /// LIKE tells what a table looks like: as in PostgreSQL, to whom its rows may be read.
    fn check_like_is_allowed(&self, path: &Path) -> Result<()> {
        let (own, statement) = self.texts.add(format!("SELECT * FROM {path}"))?;
        let StatementKind::Query(query) = &statement.kind else { return Ok(()) };
        let mut binder = self.binder();
        binder.text = own;
        binder.query(query).map(|_| ()).map_err(|error| self.at(error, path.span()))
    }

    /// What LIKE stands for.
    pub(super) fn like(&self, path: &Path, parts: &[(bool, Name)]) -> Result<Like<'a>> {
        let wanted = Wanted::of(parts)?;
        let (name, _) = self.existing_name(path)?;
        if self.relations.view(name.schema.as_deref(), &name.name).is_some() {
            let error = Error::unsupported("CREATE TABLE (LIKE view) is not supported")
                .with_hint("write CREATE TABLE ... AS SELECT * FROM the view WITH NO DATA");
            return Err(self.at(error, path.span()));
        }
        let (_, info) = self.table(path)?;
        self.check_like_is_allowed(path)?;
        let others = self.relations.table_parts(info.id).map_err(|e| self.at(e, path.span()))?;
        if let (true, Some(index)) = (wanted.indexes, &others.index) {
            let message = format!("INCLUDING INDEXES does not take the index \"{index}\" along");
            let error = Error::unsupported(message)
                .with_hint("write EXCLUDING INDEXES, and CREATE INDEX and keys of the new table");
            return Err(self.at(error, path.span()));
        }
        let mut lines = Vec::new();
        let mut comments = Vec::new();
        for (at, field) in info.columns.fields().iter().enumerate() {
            let mut line = format!("{} {}", quote::name(&field.name), field.ty);
            line.push_str(if field.nullable { "" } else { " NOT NULL" });
            let default = info.defaults.get(at).and_then(Option::as_deref);
            match (default, info.generated.get(at).and_then(Option::as_deref)) {
                (_, Some(expression)) if wanted.generated => {
                    let _ = write!(line, " GENERATED ALWAYS AS ({expression}) STORED");
                }
                (Some(_), None) if info.is_always_generated(at) => {
                    line.push_str(if wanted.identity { " GENERATED ALWAYS AS IDENTITY" } else { "" });
                }
                (Some(default), None) if wanted.defaults => {
                    let _ = write!(line, " DEFAULT {default}");
                }
                _ => {}
            }
            lines.push(line);
            if let (true, Some(Some(comment))) = (wanted.comments, others.comments.get(at)) {
                comments.push((field.name.clone(), comment.clone()));
            }
        }
        if wanted.constraints {
            let check =
                |(name, text): &(String, String)| format!("CONSTRAINT {} CHECK ({text})", quote::name(name));
            lines.extend(others.checks.iter().map(check));
        }
        if wanted.indexes {
            lines.extend(others.keys);
        }
        let (_, statement) = self.texts.add(format!("CREATE TABLE like_another ({})", lines.join(", ")))?;
        match &statement.kind {
            StatementKind::CreateTable(create) => Ok(Like { elements: &create.elements, comments }),
            _ => Err(Error::internal("the columns of LIKE are not those of a table")),
        }
    }
}
