//! DROP of any kind of object.
//!
//! Macros and sequences are dropped by forms of their own, secrets by a procedure; kinds that are not there are refused,
//! with a hint from `elsewhere` where it has one.

use plan::statement::Statement;
use syntax::Span;
use syntax::tree::{Drop, ObjectKind, Path, TypeName};
use types::{Error, Result, SqlState};

use super::Context;
use super::forms::{DROP_FUNCTION, DROP_MACRO};
use super::kinds::kind_name;
use super::procedures::called;
use crate::bind::folded;
use crate::{elsewhere, place};

impl Context<'_> {
    /// DROP of any kind of object.
    pub(super) fn drop(&self, drop: &Drop, at: Span) -> Result<Statement> {
        match drop.kind {
            ObjectKind::Table
            | ObjectKind::WideTable
            | ObjectKind::View
            | ObjectKind::MaterializedView
            | ObjectKind::Index
            | ObjectKind::Schema
            | ObjectKind::Type => self.drop_objects(drop),
            ObjectKind::Role | ObjectKind::Policy => self.drop_of_access(drop),
            ObjectKind::Secret => self.drop_secret(drop, at),
            ObjectKind::Macro | ObjectKind::MacroTable | ObjectKind::Function => self.drop_macro(drop),
            ObjectKind::Sequence => self.sequences().drop(drop),
            ObjectKind::Column
            | ObjectKind::Constraint
            | ObjectKind::Database
            | ObjectKind::Trigger
            | ObjectKind::Domain => Err(self.drop_unknown(drop.kind, at)),
        }
    }

    /// A kind of object that this form of DROP does not take.
    pub(super) fn drop_unknown(&self, kind: ObjectKind, at: Span) -> Error {
        let own = elsewhere::error_of(&["drop", kind_name(kind)]).map(|error| self.at(error, at));
        own.unwrap_or_else(|| {
            Error::unsupported(format!("DROP {} is not supported", kind_name(kind))).at(place::START)
        })
    }

    fn drop_objects(&self, drop: &Drop) -> Result<Statement> {
        let Drop { kind, if_exists, names, cascade, concurrently, persistent: _, on } = drop;
        // RESTRICT is what holds without a word.
        let (if_exists, cascade) = (*if_exists, *cascade == Some(true));
        if *concurrently {
            return Err(Error::unsupported("CONCURRENTLY of DROP INDEX is not supported").at(place::START));
        }
        if let Some((name, _)) = names.iter().find(|(_, types)| types.is_some()) {
            return Err(self.unsupported("a list of types behind this name", name.span()));
        }
        if on.is_some() {
            return Err(super::refused("DROP", "ON table"));
        }
        match kind {
            ObjectKind::Table | ObjectKind::WideTable => {
                Ok(Statement::DropTable { names: self.existing(names)?, if_exists, cascade })
            }
            ObjectKind::View => Ok(Statement::DropView { names: self.existing(names)?, if_exists }),
            ObjectKind::Index => Ok(Statement::DropIndex { names: self.written(names)?, if_exists }),
            ObjectKind::Type if cascade => {
                let error = Error::unsupported("DROP TYPE CASCADE is not supported")
                    .with_hint("drop the columns of that type, then the type");
                Err(error.at(place::START))
            }
            ObjectKind::Type => Ok(Statement::DropType { names: self.written(names)?, if_exists }),
            ObjectKind::Schema => match names.as_slice() {
                [(name, _)] => {
                    Ok(Statement::DropSchema { name: self.schema_name(name)?, if_exists, cascade })
                }
                _ => Err(Error::unsupported("DROP SCHEMA takes one schema")),
            },
            other => {
                let message = format!("DROP {} is not supported", kind_name(*other));
                Err(Error::unsupported(message).at(place::START))
            }
        }
    }

    fn existing(&self, names: &[(Path, Option<Vec<TypeName>>)]) -> Result<Vec<plan::statement::ObjectName>> {
        names.iter().map(|(name, _)| self.existing_name(name).map(|(name, _)| name)).collect()
    }

    fn written(&self, names: &[(Path, Option<Vec<TypeName>>)]) -> Result<Vec<plan::statement::ObjectName>> {
        names.iter().map(|(name, _)| self.object_name(name).map(|(name, _)| name)).collect()
    }

    /// DROP SECRET, a procedure's call.
    fn drop_secret(&self, drop: &Drop, at: Span) -> Result<Statement> {
        let Drop { kind: _, if_exists, names, cascade, concurrently: _, persistent, on } = drop;
        let name = match names.as_slice() {
            [(name, None)] if cascade.is_none() && on.is_none() => name.single(),
            _ => None,
        };
        let Some(name) = name else {
            let message = "syntax error in a statement about a secret: the secret's name is expected";
            return Err(self.at(Error::new(SqlState::SyntaxError, message), at));
        };
        let kept = if *if_exists { "keep" } else { "error" };
        let lasting = match persistent {
            None => "any",
            Some(true) => "persistent",
            Some(false) => "temporary",
        };
        Ok(called("drop_secret", [kept.to_owned(), lasting.to_owned(), folded(name)]))
    }

    /// `DROP MACRO [TABLE] [IF EXISTS] name` and DROP FUNCTION, of which a name has one here.
    fn drop_macro(&self, drop: &Drop) -> Result<Statement> {
        let Drop { kind, if_exists, names, cascade, concurrently: _, persistent: _, on } = drop;
        let function = *kind == ObjectKind::Function;
        // PostgreSQL's list of argument types may follow a function's name.
        let name = match names.as_slice() {
            [(path, types)] if cascade.is_none() && on.is_none() && (function || types.is_none()) => {
                Some(path)
            }
            _ => None,
        };
        match name.map(|path| super::named(self.text, path, self.relations)).transpose()? {
            Some(name) if function => Ok(Statement::DropFunction { name, if_exists: *if_exists }),
            Some(name) => Ok(Statement::DropMacro { name, if_exists: *if_exists }),
            None => {
                let form = if function { DROP_FUNCTION } else { DROP_MACRO };
                Err(Error::new(SqlState::SyntaxError, form).at(place::START))
            }
        }
    }
}
