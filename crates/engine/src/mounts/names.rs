//! What names mean that may begin with a database's.
//!
//! | written | means |
//! | --- | --- |
//! | `a.b.c` | `c` in schema `b` of database `a` |
//! | `a.b` | `b` in schema `a` of the database in use, if it has one; else `b` in schema `main` of database `a` |
//! | `b` | what the search path finds |
//!
//! Schemas of attached databases have keys in a composed snapshot, `database.schema`; a schema's name in a statement
//! becomes its key when the statement is bound, and what carries the statement out knows keys only.

use catalog::{DEFAULT_SCHEMA, Mounted, Snapshot, TEMPORARY_SCHEMA, did_you_mean};
use types::{Error, Result, SqlState, quote};

use crate::system::INFORMATION_SCHEMA;

/// What the main database is called, whatever else it is called.
pub(crate) const MAIN: &str = "memory";

/// Where names are looked for.
pub(crate) struct Places<'a> {
    /// The composed state in which names are resolved.
    pub snapshot: &'a Snapshot,
    /// The search path, as keys.
    pub path: &'a [String],
    /// The main database's own name.
    pub main: &'a str,
}

impl Places<'_> {
    /// The attached database in use; `None` is the main one.
    pub fn home(&self) -> Option<&Mounted> {
        self.snapshot.database_of(self.path.first()?).0
    }

    /// The schema in which names are looked for last.
    pub fn default_schema(&self) -> String {
        self.home()
            .map_or_else(|| DEFAULT_SCHEMA.to_owned(), |home| format!("{}.{DEFAULT_SCHEMA}", home.name))
    }

    /// Whether the name means the main database: its own name or `MAIN`, in any case.
    pub fn is_main(&self, name: &str) -> bool {
        [MAIN, self.main].iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The database of that name: `Some(None)` is the main one.
    pub fn database(&self, name: &str) -> Option<Option<&Mounted>> {
        if let Some(mounted) = self.snapshot.mount(name) {
            return Some(Some(mounted));
        }
        if self.is_main(name) {
            return Some(None);
        }
        let mut like = self.snapshot.mounts().filter(|mounted| mounted.name.eq_ignore_ascii_case(name));
        match (like.next(), like.next()) {
            (Some(one), None) => Some(Some(one)),
            _ => None,
        }
    }

    /// Names of all databases.
    pub fn databases(&self) -> Vec<&str> {
        std::iter::once(self.main).chain(self.snapshot.mounts().map(|m| m.name.as_str())).collect()
    }

    /// The error for a database name that is not known, with the nearest one as its hint.
    pub fn unknown_database(&self, name: &str) -> Error {
        unknown_database(name, &self.databases())
    }

    /// The key of a schema in a database: as it is spelled there, or else but for its case.
    fn key_in(&self, database: Option<&Mounted>, schema: &str) -> String {
        let schema = Snapshot::canonical_schema(schema);
        let Some(mounted) = database else { return schema.to_owned() };
        let key = format!("{}.{schema}", mounted.name);
        if self.snapshot.schemas().contains_key(&key) {
            return key;
        }
        let mut like = self.snapshot.schemas().keys().filter(|known| known.eq_ignore_ascii_case(&key));
        like.next().cloned().unwrap_or(key)
    }

    /// The key of the schema that stands before a name, with its database if that stands there too.
    pub fn key(&self, database: Option<&str>, schema: &str) -> Result<String> {
        if let Some(database) = database {
            if database == TEMPORARY_SCHEMA && Snapshot::canonical_schema(schema) == DEFAULT_SCHEMA {
                return Ok(TEMPORARY_SCHEMA.to_owned());
            }
            let Some(found) = self.database(database) else { return Err(self.unknown_database(database)) };
            if schema == INFORMATION_SCHEMA
                || schema == sql::PG_CATALOG
                || (schema == TEMPORARY_SCHEMA && found.is_none())
            {
                return Ok(schema.to_owned());
            }
            return Ok(self.key_in(found, schema));
        }
        let known = |key: &str| self.snapshot.schemas().contains_key(key);
        let is_key = self.snapshot.database_of(schema).0.is_some() && known(schema);
        if is_key || [INFORMATION_SCHEMA, sql::PG_CATALOG, TEMPORARY_SCHEMA].contains(&schema) {
            return Ok(schema.to_owned());
        }
        let own = self.key_in(self.home(), schema);
        if known(&own) {
            // As it is written, where that means the same.
            return Ok(if self.home().is_some() { own } else { schema.to_owned() });
        }
        match self.database(schema) {
            Some(found) => Ok(self.key_in(found, DEFAULT_SCHEMA)),
            None => Ok(if self.home().is_some() { own } else { schema.to_owned() }),
        }
    }

    /// The key of a schema that is to be made or dropped.
    pub fn schema_to_change(&self, database: Option<&str>, name: &str) -> Result<String> {
        let found = match database {
            None => self.home(),
            Some(database) => self.database(database).ok_or_else(|| self.unknown_database(database))?,
        };
        if let (Some(mounted), _) = self.snapshot.database_of(name) {
            let message =
                format!("schema \"{name}\" would be taken for one of database \"{}\"", mounted.name);
            return Err(Error::new(SqlState::InvalidName, message)
                .with_hint("write database.schema without quotes around both, or choose another name"));
        }
        if found.is_some() && [INFORMATION_SCHEMA, TEMPORARY_SCHEMA].contains(&name) {
            let message = format!("schema \"{name}\" is no schema of an attached database");
            return Err(Error::new(SqlState::InvalidName, message));
        }
        Ok(match found {
            None => name.to_owned(),
            Some(_) => self.key_in(found, name),
        })
    }

    /// The database and the schema that a key means, by their names.
    pub fn shown<'k>(&'k self, key: &'k str) -> (&'k str, &'k str) {
        let (mounted, schema) = self.snapshot.database_of(key);
        (mounted.map_or(self.main, |mounted| mounted.name.as_str()), schema)
    }

    /// The schema of a name of up to three parts, and the last part. A part alone has none.
    pub fn named(&self, mut parts: Vec<String>) -> Result<plan::statement::ObjectName> {
        let name = parts.pop().unwrap_or_default();
        let schema = match parts.as_slice() {
            [] => None,
            [schema] => Some(self.key(None, schema)?),
            [.., database, schema] => Some(self.key(Some(database), schema)?),
        };
        Ok(plan::statement::ObjectName { schema, name })
    }
}

/// The error for a database that is not there.
pub(crate) fn unknown_database(name: &str, known: &[&str]) -> Error {
    let error = Error::new(SqlState::UndefinedDatabase, format!("database \"{name}\" does not exist"));
    match did_you_mean(name, known.iter().copied()) {
        Some(hint) => error.with_hint(hint),
        None => {
            let known: Vec<String> = known.iter().map(|known| format!("\"{known}\"")).collect();
            error.with_hint(format!("there are {}; ATTACH 'path' AS name adds one", known.join(", ")))
        }
    }
}

/// What stands before a relation's name in a text that is bound under any search path.
pub(crate) fn absolute(snapshot: &Snapshot, schema: &str) -> String {
    let plain = snapshot.mounts().next().is_none()
        || snapshot.database_of(schema).0.is_some()
        || schema == catalog::TEMPORARY_SCHEMA;
    match plain {
        true => quote::name(schema),
        false => format!("{}.{}", quote::name(MAIN), quote::name(schema)),
    }
}
