//! CHECKPOINT, CHECK DATABASE and BACKUP, as a session runs them, and the checkpoints of a database that runs.

use std::sync::Arc;

use catalog::{Access, Store};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use super::{LOOK_EVERY, checkpoint, directory};
use crate::background::Next;
use crate::result::ResultSet;
use crate::statement::Within;
use crate::{Database, Session};

impl Session {
    /// The files of the database in use.
    fn own_store(&self) -> Option<Arc<Store>> {
        match self.home() {
            Some(home) => home.store.clone(),
            None => self.database.shared.store.clone(),
        }
    }

    fn store(&self, verb: &str) -> Result<Arc<Store>> {
        self.own_store().ok_or_else(|| {
            Error::new(SqlState::FeatureNotSupported, format!("{verb}: the database is in memory"))
                .with_hint("BACKUP DATABASE TO 'directory' keeps it; quickstep directory opens it")
        })
    }

    /// The procedures that statements about the whole database are parsed as; `None` for others.
    pub(crate) fn call_upkeep(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
        statement: Within<'_>,
    ) -> Option<Result<ResultSet>> {
        let texts: Vec<&str> = arguments.iter().filter_map(|(_, value, _)| value.as_text()).collect();
        Some(match (procedure, texts.as_slice()) {
            ("checkpoint", []) => self.checkpoint(),
            ("checkpoint", [name]) => self.checkpoint_of(name),
            ("check_database", []) => self.check_database(),
            ("backup_database", [path]) => self.backup_database(path),
            ("export_database", [path]) => self.export_database(path, "parquet", statement),
            ("export_database", [path, format]) => self.export_database(path, format, statement),
            ("import_database", [path]) => self.import_database(path, statement),
            ("create_wide_table", texts) => self.create_wide_table(texts, statement),
            ("refresh_wide_table", [schema, name]) => self.refresh_wide_table(schema, name, statement),
            _ => return None,
        })
    }

    /// CHECKPOINT of the database in use. Nothing in memory.
    pub(crate) fn checkpoint(&self) -> Result<ResultSet> {
        if let Some(store) = self.own_store() {
            checkpoint(&store)?;
        }
        Ok(ResultSet::done("CHECKPOINT"))
    }

    /// CHECKPOINT name.
    fn checkpoint_of(&self, name: &str) -> Result<ResultSet> {
        let shared = &self.database.shared;
        let snapshot = self.snapshot();
        let places = crate::mounts::Places { snapshot: &snapshot, path: &[], main: &shared.name };
        let store = match places.database(name) {
            None => return Err(places.unknown_database(name)),
            Some(None) => shared.store.clone(),
            Some(Some(mounted)) => shared.mounts.named(&mounted.name).and_then(|mount| mount.store.clone()),
        };
        if let Some(store) = store {
            checkpoint(&store)?;
        }
        Ok(ResultSet::done("CHECKPOINT"))
    }

    /// CHECK DATABASE: a row for each damage.
    pub(crate) fn check_database(&self) -> Result<ResultSet> {
        let damages = self.store("CHECK DATABASE")?.check()?;
        let text = |text: &str| Value::text(text);
        let maybe = |text: Option<&str>| text.map_or(Value::Null, Value::text);
        let rows: Vec<Vec<Value>> = damages
            .iter()
            .map(|d| {
                let (schema, table) = d.table.as_ref().map(|(s, t)| (s.as_str(), t.as_str())).unzip();
                let block = d.block.map_or(Value::Null, |block| Value::I64(block as i64));
                let (offset, bytes) = (Value::I64(d.offset as i64), Value::I64(d.bytes as i64));
                let column = maybe(d.column.as_deref());
                vec![text(&d.file), offset, bytes, maybe(schema), maybe(table), block, column, text(&d.what)]
            })
            .collect();
        let (t, n) = (Type::Text, Type::BigInt);
        let fields = [
            ("file", t, false),
            ("byte", n, false),
            ("bytes", n, false),
            ("schema_name", t, true),
            ("table_name", t, true),
            ("block", n, true),
            ("column_name", t, true),
            ("damage", t, false),
        ];
        let schema = Schema::new(fields.map(|(name, ty, nullable)| Field::new(name, ty, nullable)).to_vec());
        let column = |at: usize| {
            let values: Vec<Value> = rows.iter().map(|row| row[at].clone()).collect();
            Vector::from_values(fields[at].1, &values)
        };
        let batch = Batch::new((0..fields.len()).map(column).collect(), rows.len());
        Ok(ResultSet::new(schema, vec![batch]))
    }

    /// BACKUP DATABASE TO: everything that this session sees now of the database in use, as a database of its own.
    pub(crate) fn backup_database(&self, path: &str) -> Result<ResultSet> {
        let files = directory(self.environment().capability(), path, Access::Write)?;
        catalog::back_up(&*self.snapshot_of_home()?, &*files)?;
        Ok(ResultSet::done("BACKUP DATABASE"))
    }
}

impl Database {
    /// Makes a checkpoint whenever the log has become long.
    pub(crate) fn keep_up(&self) -> Result<()> {
        if self.shared.store.as_ref().is_none_or(|store| store.is_read_only()) {
            return Ok(());
        }
        self.shared.background.spawn(&self.shared, "checkpoint", |database| {
            if let Some(store) = database.store.as_ref().filter(|store| store.wants_checkpoint()) {
                // What could not be written now is in the log still, and tried again.
                let _ = checkpoint(store);
            }
            Next::After(LOOK_EVERY)
        })
    }

    /// Where the database is; `None` in memory.
    pub fn directory(&self) -> Option<String> {
        self.shared.store.as_ref().map(|store| store.describe())
    }
}
