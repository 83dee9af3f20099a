//! Databases on disk: their directory, checkpoints by themselves and by statement, checks, backups.
//!
//! Every commit is in the log before it is acknowledged, so a checkpoint only shortens the log: one that fails loses
//! nothing, and is tried again. A background job looks at the log's length; the last handle of a database makes a
//! final checkpoint. CHECKPOINT, CHECK DATABASE and BACKUP DATABASE concern the database in use, and are errors or do
//! nothing for one in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{Access, Store, TEMPORARY};
use files::{Capability, FileManager, LocalFiles};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::background::Next;
use crate::result::ResultSet;
use crate::{Database, Session};

/// How often a log is looked at that may have become long.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The folder for what does not fit memory while the database in this directory is open for writing. Files that a
/// killed process left there are removed when the database is opened.
pub(crate) fn temporary_folder(path: &str) -> Result<PathBuf> {
    let folder = Path::new(path).join(TEMPORARY);
    std::fs::create_dir_all(&folder).map_err(|e| {
        Error::new(SqlState::IoError, format!("cannot make the directory \"{}\": {e}", folder.display()))
    })?;
    Ok(folder)
}

/// The files of a database's directory, which is made for writing when it is not there. A file, or a directory that
/// holds something else, is refused.
pub(crate) fn directory(capability: &Capability, path: &str, access: Access) -> Result<Arc<dyn FileManager>> {
    capability.file(path)?;
    let folder = Path::new(path);
    let invalid = |what: &str| Error::new(SqlState::InvalidParameterValue, format!("\"{path}\" {what}"));
    if folder.is_file() {
        return Err(invalid("is a file, and a database is a directory").with_hint(
            "name a directory that is not there yet; a data file is read with SELECT * FROM 'file'",
        ));
    }
    if !folder.exists() {
        if access == Access::Read {
            let message = format!("there is no database \"{path}\"");
            return Err(
                Error::new(SqlState::UndefinedFile, message).with_hint("open it for writing to make one")
            );
        }
        std::fs::create_dir(folder).map_err(|e| {
            Error::new(SqlState::IoError, format!("cannot make the directory \"{path}\": {e}"))
        })?;
    }
    let files = LocalFiles::new(capability, folder)?;
    let there = files.list("")?;
    let is_database = there.iter().any(|file| file.name == "QUICKSTEP" || file.name == "lock");
    if !there.is_empty() && !is_database {
        return Err(
            invalid("holds other files, and no database").with_hint("name an empty or a new directory")
        );
    }
    Ok(Arc::new(files))
}

/// Makes a checkpoint, and says so in the log.
pub(crate) fn checkpoint(store: &Store) -> Result<()> {
    let begun = Instant::now();
    let outcome = store.checkpoint().map(drop);
    crate::traces::log_checkpoint(&store.describe(), begun.elapsed(), &outcome);
    outcome
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
    ) -> Option<Result<ResultSet>> {
        let texts: Vec<&str> = arguments.iter().filter_map(|(_, value, _)| value.as_text()).collect();
        Some(match (procedure, texts.as_slice()) {
            ("checkpoint", []) => self.checkpoint(),
            ("checkpoint", [name]) => self.checkpoint_of(name),
            ("check_database", []) => self.check_database(),
            ("backup_database", [path]) => self.backup_database(path),
            ("export_database", [path]) => self.export_database(path, "parquet"),
            ("export_database", [path, format]) => self.export_database(path, format),
            ("import_database", [path]) => self.import_database(path),
            ("create_wide_table", texts) => self.create_wide_table(texts),
            ("refresh_wide_table", [schema, name]) => self.refresh_wide_table(schema, name),
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
