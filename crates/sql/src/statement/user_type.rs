//! CREATE TYPE.
//!
//! ```text
//! CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
//! CREATE TYPE pair AS (a INTEGER, b TEXT)
//! CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS <type>
//! ```
//! A type of labels is one of its own, under its name; every other type is called by another name.

use plan::Statement;
use syntax::tree::{CreateType, CreateTypeKind};
use types::{Error, Result, Type};

use crate::{Relations, place, type_names};

/// Types of this schema bear their names alone.
const DEFAULT_SCHEMA: &str = "main";

/// CREATE TYPE.
pub(super) fn create_type(text: &str, syntax: &CreateType, relations: &dyn Relations) -> Result<Statement> {
    let CreateType { if_there, temporary, name, kind } = syntax;
    if *temporary {
        let error = Error::unsupported("a type of the session alone is not supported");
        return Err(error.with_hint("leave TEMPORARY out, and DROP TYPE afterwards").at(place::START));
    }
    let name = super::named(text, name, relations)?;
    let schema = name.schema.clone().unwrap_or_else(|| relations.current_schema());
    let (_, schema) = relations.database_and_schema(&schema);
    let given = match schema.as_str() {
        DEFAULT_SCHEMA => name.name.clone(),
        schema => types::names::in_schema(schema, &name.name),
    };
    let ty = defined(text, kind, &given, relations).map_err(|error| match error.position() {
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
