//! CREATE TYPE and DROP TYPE.

use plan::statement::{IfExists, ObjectName};
use types::{Error, Result, SqlState, Type};

use crate::Session;
use crate::result::ResultSet;
use crate::session::shown;

fn already_exists(name: &str) -> Error {
    Error::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists"))
}

/// What is bound anew from a text that names the type: a default, a generated column or a check.
fn text_with(
    snapshot: &catalog::Snapshot,
    (schema, name): (Option<&str>, &str),
    wanted: impl Fn(&catalog::Table) -> bool,
) -> Option<String> {
    snapshot.tables().filter(|table| wanted(table)).find_map(|table| {
        let named =
            |text: &Option<String>| text.as_deref().is_some_and(|text| sql::names_type(text, schema, name));
        let column = |(attributes, field): (&catalog::ColumnAttributes, &types::Field)| {
            let what = match (named(&attributes.default), named(&attributes.generated)) {
                (true, _) => "the default of column",
                (_, true) => "generated column",
                _ => return None,
            };
            Some(format!("{what} {} of table {}", field.name, table.name))
        };
        let check = table.checks.iter().find(|check| sql::names_type(&check.text, schema, name));
        let check = check.map(|check| format!("constraint {} of table {}", check.name, table.name));
        check.or_else(|| table.attributes.iter().zip(table.columns.fields()).find_map(column))
    })
}

/// Fails when a column, another type or a text that is kept is made of the type that is known by `name`. Columns of a
/// type that is another name of a type of the engine are of that one.
pub(crate) fn refuse_used(snapshot: &catalog::Snapshot, name: &str, ty: Type, verb: &str) -> Result<()> {
    let (home, own) = snapshot.database_of(name);
    let home = home.map(|mounted| mounted.number);
    let at_home = |key: &str| snapshot.database_of(key).0.map(|mounted| mounted.number) == home;
    let made = ty.given_name() == Some(own);
    let column = made.then(|| snapshot.column_of(ty, |table| at_home(&table.schema))).flatten();
    let user = match (
        column,
        text_with(snapshot, types::names::schema_and_name(own), |table| at_home(&table.schema)),
    ) {
        (Some((table, column)), _) => Some(format!("column {column} of table {}", table.name)),
        (None, Some(text)) => Some(text),
        (None, None) if !made => None,
        (None, None) => {
            let other = |(known, other): &(&String, &std::sync::Arc<Type>)| {
                known.as_str() != name && at_home(known) && other.holds(&|inner| inner == ty)
            };
            snapshot.types().iter().find(other).map(|(known, _)| format!("type {}", snapshot.shown(known)))
        }
    };
    let Some(user) = user else { return Ok(()) };
    let name = snapshot.place_of(name).1;
    let message = format!("cannot {verb} type {name} because other objects depend on it");
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(format!("{user} depends on type {name}"))
        .with_hint("drop what depends on it, or give the column another type by ALTER TABLE, first"))
}

impl Session {
    /// CREATE TYPE; names of the engine's own types are refused.
    pub(crate) fn create_type(&self, name: &ObjectName, ty: Type, if_exists: IfExists) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE TYPE");
        let key = self.key_to_make(name)?;
        if Type::from_sql_name(&name.name).is_some() {
            return Err(already_exists(&name.name).with_hint("it is one of the engine's own types"));
        }
        self.commit(|draft| {
            let snapshot = draft.snapshot();
            if let Some(known) = snapshot.types().get(&key) {
                match if_exists {
                    IfExists::Keep => return Ok(()),
                    IfExists::Error => {
                        return Err(already_exists(&name.name).with_hint("DROP TYPE removes it"));
                    }
                    IfExists::Replace if **known != ty => refuse_used(snapshot, &key, **known, "replace")?,
                    IfExists::Replace => {}
                }
            }
            draft.set_type(&key, Some(ty));
            Ok(())
        })?;
        Ok(done)
    }

    /// DROP TYPE; an error where a definition uses one.
    pub(crate) fn drop_types(&self, names: &[ObjectName], if_exists: bool) -> Result<ResultSet> {
        self.commit(|draft| {
            for name in names {
                crate::definitions::refuse_system(name.schema.as_deref())?;
                let snapshot = draft.snapshot();
                let key = self.key_to_drop(snapshot, name, snapshot.types());
                match key.and_then(|key| snapshot.types().get(&key).map(|known| (key, **known))) {
                    Some((key, known)) => {
                        refuse_used(snapshot, &key, known, "drop")?;
                        draft.set_type(&key, None);
                    }
                    None if if_exists => {}
                    None => {
                        let message = format!("type \"{}\" does not exist", shown(name));
                        return Err(Error::new(SqlState::UndefinedObject, message));
                    }
                }
            }
            Ok(())
        })?;
        Ok(ResultSet::done("DROP TYPE"))
    }
}
