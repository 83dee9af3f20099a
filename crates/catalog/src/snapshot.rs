//! Snapshots, and the catalog that publishes them.
//!
//! ```text
//!  reader:  snapshot()  -> Arc<Snapshot> (one pointer copied under a short read lock)
//!  writer:  commit(f)   -> commit lock -> Draft of the newest -> f(&mut draft)
//!                          Ok:  publish the draft as the next version     Err: drop it, nothing happened
//! ```
//! The commit lock serialises writers; the closure does no work beyond changing maps and appending block lists.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use types::{Error, Result, SqlState};

use crate::{DEFAULT_SCHEMA, Draft, TEMPORARY_SCHEMA, Table, TableId};
use types::names::did_you_mean;

#[derive(Clone, Debug, Default)]
pub struct SchemaEntry {
    pub tables: BTreeMap<String, Arc<Table>>,
}

/// All relations at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) version: u64,
    pub(crate) schemas: BTreeMap<String, SchemaEntry>,
    pub(crate) next_table: u64,
}

impl Snapshot {
    fn new() -> Self {
        let schemas = [DEFAULT_SCHEMA, TEMPORARY_SCHEMA].map(|s| (s.to_owned(), SchemaEntry::default()));
        Snapshot { version: 0, schemas: schemas.into(), next_table: 1 }
    }
    /// Rises with every commit.
    pub fn version(&self) -> u64 {
        self.version
    }
    pub fn schemas(&self) -> &BTreeMap<String, SchemaEntry> {
        &self.schemas
    }
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(|s| s.tables.values())
    }
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables().find(|t| t.id == id)
    }
    /// The schema's own name: `public` is the default schema.
    pub fn canonical_schema(name: &str) -> &str {
        if name == "public" { DEFAULT_SCHEMA } else { name }
    }
    /// Finds a table; without a schema, temporary tables come first.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Table>> {
        let within = |schema: &str| self.schemas.get(schema).and_then(|s| s.tables.get(name));
        match schema {
            Some(schema) => within(Self::canonical_schema(schema)),
            None => within(TEMPORARY_SCHEMA).or_else(|| within(DEFAULT_SCHEMA)),
        }
    }
    /// Finds a table, or says what is missing and which name is near.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Result<&Arc<Table>> {
        if let Some(table) = self.find(schema, name) {
            return Ok(table);
        }
        if let Some(schema) = schema {
            self.schema(schema)?;
        }
        let shown = schema.map_or_else(|| name.to_owned(), |s| format!("{s}.{name}"));
        let error = Error::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist"));
        let hint = match schema {
            Some(schema) => {
                let tables = self.schemas.get(Self::canonical_schema(schema));
                did_you_mean(name, tables.iter().flat_map(|s| s.tables.keys().map(String::as_str)))
            }
            None => did_you_mean(name, self.tables().map(|t| t.name.as_str())),
        };
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }
    pub fn schema(&self, name: &str) -> Result<&SchemaEntry> {
        self.schemas.get(Self::canonical_schema(name)).ok_or_else(|| {
            let error = Error::new(SqlState::UndefinedSchema, format!("schema \"{name}\" does not exist"));
            match did_you_mean(name, self.schemas.keys().map(String::as_str)) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }
    /// Tables with a foreign key to this one, itself aside.
    pub fn dependents(&self, id: TableId) -> Vec<&Arc<Table>> {
        self.tables().filter(|t| t.id != id && t.foreign_keys.iter().any(|f| f.parent == id)).collect()
    }
}

/// The catalog of one database.
#[derive(Debug)]
pub struct Catalog {
    current: RwLock<Arc<Snapshot>>,
    commits: Mutex<()>,
}

impl Default for Catalog {
    fn default() -> Self {
        Catalog::new()
    }
}

impl Catalog {
    pub fn new() -> Self {
        Catalog { current: RwLock::new(Arc::new(Snapshot::new())), commits: Mutex::new(()) }
    }

    /// The newest state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        // Only a pointer is ever written under the lock, so a poisoned one holds a whole snapshot.
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `change` alter a draft of the newest snapshot, and publishes it; on an error nothing changes. The closure
    /// should be short: commits wait for one another.
    pub fn commit<R>(&self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let _turn = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = Draft::new((*self.snapshot()).clone());
        let outcome = change(&mut draft)?;
        if let Some(next) = draft.into_changed() {
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        }
        Ok(outcome)
    }
}
