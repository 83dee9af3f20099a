//! Sequences that defaults draw from. A default's text is kept in its table's database, and names a sequence of that
//! same database, without the database's name: the file may be attached under another name the next time.

use catalog::Snapshot;
use plan::statement::ObjectName;
use types::{Error, Result};

use super::Places;
use crate::sequences::{SequenceName, name_parts};

/// What takes a sequence's name.
const CALLS: [&str; 3] = ["nextval", "currval", "setval"];

/// Hands the parts of each name that the text calls one of these on, in quotes, to `other`, and puts what it returns
/// in the name's place.
fn replace(
    text: &mut String,
    mut other: impl FnMut(Vec<String>) -> Result<Option<ObjectName>>,
) -> Result<()> {
    let mut from = 0;
    while let Some(found) = {
        let rest = text[from..].to_ascii_lowercase();
        CALLS.iter().filter_map(|call| rest.find(call).map(|at| at + call.len())).min()
    } {
        let called = from + found;
        from = called;
        let rest = text[called..].trim_start();
        let Some(rest) = rest.strip_prefix('(').map(str::trim_start) else { continue };
        let Some(literal) = rest.strip_prefix('\'') else { continue };
        let Some(length) = literal.find('\'').filter(|end| !literal[end + 1..].starts_with('\'')) else {
            continue;
        };
        let begins = text.len() - literal.len();
        let Some(ObjectName { schema, name }) = other(name_parts(&literal[..length]))? else { continue };
        let schema = schema.unwrap_or_else(|| catalog::DEFAULT_SCHEMA.to_owned());
        let named = SequenceName { schema, name }.to_string();
        text.replace_range(begins..begins + length, &named);
        from = begins + named.len();
    }
    Ok(())
}

/// A default as it is kept: its sequences are those that their names mean now, by their names in the database of
/// `table`, which is a schema's key.
pub(crate) fn kept(text: &mut String, table: Option<&str>, places: &Places<'_>) -> Result<()> {
    let snapshot = places.snapshot;
    let home = table.and_then(|key| snapshot.database_of(key).0).map(|mounted| mounted.number);
    replace(text, |parts| {
        let said = parts.len();
        let mut name = places.named(parts)?;
        if name.schema.is_none() {
            name.schema = crate::search_path::find(places, &name.name);
        }
        let Some(schema) = &name.schema else { return Ok(None) };
        let (mounted, own) = snapshot.database_of(schema);
        if mounted.map(|mounted| mounted.number) != home {
            let message =
                format!("a default cannot draw from sequence \"{}\" of another database", name.name);
            return Err(
                Error::unsupported(message).with_hint("create a sequence in the table's own database")
            );
        }
        if said == 2 && home.is_none() && places.home().is_none() {
            // As it was written.
            return Ok(None);
        }
        Ok(Some(ObjectName { schema: Some(own.to_owned()), name: name.name }))
    })
}

/// A kept default as it is bound: its sequences are those of the database that `schema` is the key of a schema of.
pub(crate) fn read(text: &str, schema: &str, snapshot: &Snapshot) -> String {
    let mut read = text.to_owned();
    if let (Some(mounted), _) = snapshot.database_of(schema) {
        // Names are only put together: nothing is refused.
        let _ = replace(&mut read, |mut parts| {
            let name = parts.pop().unwrap_or_default();
            let schema = parts.pop().unwrap_or_else(|| catalog::DEFAULT_SCHEMA.to_owned());
            let schema = format!("{}.{}", mounted.name, Snapshot::canonical_schema(&schema));
            Ok(Some(ObjectName { schema: Some(schema), name }))
        });
    }
    read
}
