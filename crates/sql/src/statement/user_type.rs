//! CREATE TYPE and DROP TYPE.
//!
//! ```text
//! CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
//! CREATE TYPE pair AS (a INTEGER, b TEXT)
//! CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS <type>
//! ```
//! A type of labels is one of its own, under its name; every other type is called by another name.

use plan::Statement;
use sqlparser::ast::ObjectName as NameSyntax;
use syntax::tree::{CreateType, CreateTypeKind};
use types::{Error, Result, SqlState, Type};

use super::Context;
use crate::words::folded;
use crate::{Relations, place, type_names};

pub(super) const FORM: &str = "a type is CREATE TYPE name AS ENUM ('label', ...)";

fn wrong() -> Error {
    Error::new(SqlState::SyntaxError, FORM)
        .with_hint("CREATE TYPE name AS (field TYPE, ...) and CREATE TYPE name AS TYPE are others")
        .at(place::START)
}

/// The name without its schema: types belong to none.
fn without_schema(schema: Option<&str>, name: String) -> Result<String> {
    match schema {
        None | Some("main" | "public") => Ok(name),
        Some(_) => Err(Error::unsupported("a type belongs to no schema").with_hint("leave the schema out")),
    }
}

/// CREATE TYPE.
pub(super) fn create_type(text: &str, syntax: &CreateType, relations: &dyn Relations) -> Result<Statement> {
    let CreateType { if_there, temporary, name, kind } = syntax;
    if *temporary {
        let error = Error::unsupported("a type of the session alone is not supported");
        return Err(error.with_hint("leave TEMPORARY out, and DROP TYPE afterwards").at(place::START));
    }
    let name = match name.names.as_slice() {
        [name] => folded(name),
        [schema, name] => {
            without_schema(Some(&folded(schema)), folded(name)).map_err(|e| e.at(place::START))?
        }
        _ => return Err(wrong()),
    };
    let ty = defined(text, kind, &name, relations).map_err(|error| match error.position() {
        Some(_) => error,
        None => error.at(place::START),
    })?;
    Ok(Statement::CreateType { name, ty, if_exists: super::if_exists(*if_there) })
}

/// What stands behind AS.
fn defined(text: &str, kind: &CreateTypeKind, name: &str, relations: &dyn Relations) -> Result<Type> {
    match kind {
        CreateTypeKind::Enum(labels) => {
            Type::enumeration(Some(name), labels.iter().map(|label| label.text.to_string()).collect())
        }
        CreateTypeKind::EnumOf(_) => {
            Err(Error::unsupported("the labels of an enum from a query are not supported")
                .with_hint("write the labels: ENUM ('a', 'b')"))
        }
        CreateTypeKind::Alias(ty) => type_names::of_tree(text, ty, relations),
        CreateTypeKind::Composite(fields) => type_names::row_of(text, fields, relations),
    }
}

impl Context<'_> {
    pub(super) fn drop_types(
        &self,
        names: &[NameSyntax],
        if_exists: bool,
        cascade: bool,
    ) -> Result<Statement> {
        if cascade {
            let error = Error::unsupported("DROP TYPE CASCADE is not supported")
                .with_hint("drop the columns of that type, then the type");
            return Err(error.at(place::START));
        }
        let mut dropped = Vec::with_capacity(names.len());
        for name in names {
            let (name, span) = self.written_name(name)?;
            let name = without_schema(name.schema.as_deref(), name.name).map_err(|e| self.at(e, span))?;
            dropped.push(name);
        }
        Ok(Statement::DropType { names: dropped, if_exists })
    }
}
