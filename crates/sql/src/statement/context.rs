//! What planning any statement needs, and what statements of several families say alike.

use plan::statement::{IfExists, ObjectName};
use syntax::tree::{self, IfThere};
use types::{Error, Result};

use crate::given::Given;
use crate::script::StatementText;
use crate::texts::Texts;
use crate::words::folded;
use crate::{Relations, parse, place};

/// What planning any statement needs.
pub(super) struct Context<'a> {
    pub(super) text: &'a str,
    pub(super) relations: &'a dyn Relations,
    pub(super) begins: Option<&'a StatementText>,
    pub(super) values: Given<'a>,
    pub(super) texts: &'a Texts,
}

/// The name of something new, with the key of the schema that is written before it, if one is.
pub(super) fn named(text: &str, path: &tree::Path, relations: &dyn Relations) -> Result<ObjectName> {
    let (database, schema, name) = match path.names.as_slice() {
        [name] => return Ok(ObjectName { schema: None, name: folded(name) }),
        [schema, name] => (None, schema, name),
        [database, schema, name] => (Some(folded(database)), schema, name),
        names => {
            let at = names.get(3).map(|name| name.span).unwrap_or_default();
            return Err(parse::unexpected(text, at));
        }
    };
    let schema = relations.schema_key(database.as_deref(), &folded(schema));
    let schema = schema.map_err(|error| error.at(place::START))?;
    Ok(ObjectName { schema: Some(schema), name: folded(name) })
}

/// A clause that CREATE does not have here.
pub(super) fn refused(statement: &str, clause: &str) -> Error {
    Error::unsupported(format!("{clause} of {statement} is not supported"))
        .with_hint("leave the clause out")
        .at(place::START)
}

pub(super) fn if_exists(if_there: IfThere) -> IfExists {
    match if_there {
        IfThere::Error => IfExists::Error,
        IfThere::Replace => IfExists::Replace,
        IfThere::Keep => IfExists::Keep,
    }
}
