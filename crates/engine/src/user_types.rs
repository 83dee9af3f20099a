//! CREATE TYPE and DROP TYPE.

use plan::statement::IfExists;
use types::{Error, Result, SqlState, Type};

use crate::Session;
use crate::result::ResultSet;

fn already_exists(name: &str) -> Error {
    Error::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists"))
}

/// Fails when a column, or another type, is made of the type that is known by `name`. Types that are other names of
/// types of the engine may go: nothing asks for them again.
fn refuse_used(snapshot: &catalog::Snapshot, name: &str, ty: Type, verb: &str) -> Result<()> {
    let (home, own) = snapshot.database_of(name);
    if ty.given_name() != Some(own) {
        return Ok(());
    }
    let home = home.map(|mounted| mounted.number);
    let at_home = |key: &str| snapshot.database_of(key).0.map(|mounted| mounted.number) == home;
    let user = match snapshot.column_of(ty, |table| at_home(&table.schema)) {
        Some((table, column)) => Some(format!("column {column} of table {}", table.name)),
        None => {
            let other = |(known, other): &(&String, &std::sync::Arc<Type>)| {
                known.as_str() != name && at_home(known) && other.holds(&|inner| inner == ty)
            };
            snapshot.types().iter().find(other).map(|(known, _)| format!("type {known}"))
        }
    };
    let Some(user) = user else { return Ok(()) };
    let name = own;
    let message = format!("cannot {verb} type {name} because other objects depend on it");
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(format!("{user} depends on type {name}"))
        .with_hint("drop the column, or give it another type by ALTER TABLE, first"))
}

impl Session {
    pub(crate) fn create_type(&self, name: &str, ty: Type, if_exists: IfExists) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE TYPE");
        if Type::from_sql_name(name).is_some() {
            return Err(already_exists(name).with_hint("it is one of the engine's own types"));
        }
        let key = self.key_at_home(name);
        self.commit(|draft| {
            let snapshot = draft.snapshot();
            if let Some(known) = snapshot.types().get(&key) {
                match if_exists {
                    IfExists::Keep => return Ok(()),
                    IfExists::Error => {
                        return Err(already_exists(name).with_hint("DROP TYPE removes it"));
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

    pub(crate) fn drop_types(&self, names: &[String], if_exists: bool) -> Result<ResultSet> {
        self.commit(|draft| {
            for name in names {
                let snapshot = draft.snapshot();
                let key = self.key_at_home(name);
                match snapshot.types().get(&key) {
                    Some(known) => {
                        refuse_used(snapshot, &key, **known, "drop")?;
                        draft.set_type(&key, None);
                    }
                    None if if_exists => {}
                    None => {
                        let message = format!("type \"{name}\" does not exist");
                        return Err(Error::new(SqlState::UndefinedObject, message));
                    }
                }
            }
            Ok(())
        })?;
        Ok(ResultSet::done("DROP TYPE"))
    }
}
