//! Changes made again: on a newer state than the one they were made on, or after a crash.
//!
//! A list of `Change`s is applied in order to a draft, all or none. `Rebase::Onto` is a transaction's commit: the
//! draft is the newest state, and a change whose object others have altered since the transaction's base fails with
//! SQLSTATE 40001; appended and deleted rows of one table merge. `Rebase::Replay` is recovery: the state is the one
//! that the changes were made on, so that a change that does not fit means a damaged log. Callers are
//! `Catalog::commit_transaction` and `replay`.

use std::collections::BTreeMap;
use std::sync::Arc;

use pool::Pool;
use types::{Error, Result, SqlState};

use crate::change::{does_not_fit, replaced};
use crate::data::concurrently;
use crate::draft::{Effect, Rebase};
use crate::{BlockId, Change, Draft, Encoding, Snapshot, StoredBlock, Table, TableData, TableId};

/// What a name means from here on; nothing for `None`.
fn put<T>(names: &mut BTreeMap<String, Arc<T>>, name: &str, value: Option<&Arc<T>>) {
    match value {
        Some(value) => names.insert(name.to_owned(), value.clone()),
        None => names.remove(name),
    };
}

impl Draft {
    /// Makes `changes` on this draft. On an error the draft is in an unknown state, to be dropped.
    pub(crate) fn apply(&mut self, changes: &[Change], pool: &Pool, rebase: Rebase<'_>) -> Result<()> {
        changes.iter().try_for_each(|change| self.apply_one(change, pool, rebase))?;
        if changes.iter().any(|change| matches!(change, Change::Access { .. })) {
            self.refuse_lost_roles()?;
        }
        // A table that one transaction dropped may have got another one's foreign key.
        let parents = self.snapshot.tables().flat_map(|t| &t.foreign_keys).map(|key| key.parent);
        let bases = self.snapshot.wide_tables().flat_map(|t| t.wide.iter().flat_map(|wide| wide.tables()));
        let bases: Vec<TableId> = match rebase {
            Rebase::Onto { .. } => bases.collect(),
            // A base table whose bytes are damaged is set aside.
            Rebase::Replay => vec![],
        };
        match parents.into_iter().chain(bases).all(|parent| self.snapshot.table_by_id(parent).is_some()) {
            true => Ok(()),
            false => Err(conflict(rebase, "a foreign key or a wide table refers to no table")),
        }
    }

    fn apply_one(&mut self, change: &Change, pool: &Pool, rebase: Rebase<'_>) -> Result<()> {
        match change {
            Change::CreateSchema(name) => {
                self.create_schema(name, false)?;
            }
            Change::DropSchema(name) => {
                self.drop_schema(name, false, false)?;
            }
            Change::CreateTable(table) => {
                if table.build.is_some() {
                    self.bases_unchanged(table, rebase)?;
                }
                self.add_table(table)?;
            }
            Change::DropTable(id) => {
                self.unchanged(*id, rebase)?;
                let table = self.newest(*id)?;
                self.schema_mut(&table.schema)?.tables.remove(&table.name);
            }
            Change::DefineTable(table) => self.define_table(table, rebase)?,
            Change::Append { table, .. } if !self.is_of_this_build(*table, rebase) => {
                // Wide rows of a build that is gone: the wide table has lost its build with the rows of the fact table, or
                // goes on with others' rows.
            }
            Change::Append { table, blocks } => {
                let build = self.newest(*table)?.wide.is_some().then(|| base_build(*table, rebase));
                let now = self.newest(*table)?;
                if blocks.iter().any(|b| !fits(&now, b)) {
                    return Err(conflict(rebase, "blocks of other columns than their table's"));
                }
                match rebase {
                    Rebase::Replay => {
                        let data = now.data.append_stored(blocks.clone());
                        self.put_data(*table, data, Effect::More)?;
                    }
                    Rebase::Onto { .. } => self.append_stored(&now, blocks.clone(), pool)?,
                }
                // The fact table's rows came before these.
                if let Some(Some(build)) = build {
                    self.set_build(*table, Some(build));
                }
            }
            Change::Delete { table, rows } => self.delete(*table, rows)?,
            Change::Merge { table, onto, blocks, into } => self.merge(*table, *onto, blocks, *into, pool)?,
            Change::Replace { table, blocks } => {
                self.unchanged(*table, rebase)?;
                let now = self.newest(*table)?;
                let types: Vec<_> = now.columns.fields().iter().map(|f| f.ty).collect();
                self.put_data(*table, replaced(&now.data, &types, blocks)?, Effect::Other)?;
            }
            Change::Unique { table, columns } => self.note_unique(*table, columns, rebase)?,
            Change::Build { table, build: None } => self.set_build(*table, None),
            Change::Build { table, build } => {
                if let Rebase::Onto { .. } = rebase {
                    self.bases_unchanged(&*self.newest(*table)?, rebase)?;
                }
                self.newest(*table)?;
                self.set_build(*table, *build);
            }
            Change::View { schema, name, view } => {
                let was = |s: &Snapshot| s.schemas.get(schema).and_then(|s| s.views.get(name)).cloned();
                self.same(rebase, was)?;
                self.refuse_taken(schema, name, view.is_some(), |s| s.tables.contains_key(name))?;
                let views = &mut self.schema_mut(schema)?.views;
                match view {
                    Some(view) => views.insert(name.clone(), view.clone()),
                    None => views.remove(name),
                };
            }
            Change::Sequence { schema, name, sequence } => {
                let was = |s: &Snapshot| s.schemas.get(schema).and_then(|s| s.sequences.get(name)).cloned();
                self.same(rebase, was)?;
                let sequences = &mut self.schema_mut(schema)?.sequences;
                match sequence {
                    Some(sequence) => sequences.insert(name.clone(), sequence.clone()),
                    None => sequences.remove(name),
                };
            }
            Change::Access { key, entry } => self.apply_access(key, entry, rebase)?,
            Change::Type { name, ty } => {
                self.same(rebase, |s| s.types.get(name).cloned())?;
                put(&mut self.snapshot.types, name, ty.as_ref());
                self.changed = true;
            }
            Change::Comment { key, text } => {
                self.same(rebase, |s| s.comments.get(key).cloned())?;
                put(&mut self.snapshot.comments, key, text.as_ref());
                self.changed = true;
            }
            Change::Macro { name, text } => {
                self.same(rebase, |s| s.macros.get(name).cloned())?;
                put(&mut self.snapshot.macros, name, text.as_ref());
                self.changed = true;
            }
        }
        Ok(())
    }

    fn apply_access(
        &mut self,
        key: &access::Key,
        entry: &Option<Arc<access::Entry>>,
        rebase: Rebase<'_>,
    ) -> Result<()> {
        self.same(rebase, |s| s.access.entries().get(key).cloned())?;
        Arc::make_mut(&mut self.snapshot.access).set(key.clone(), entry.clone());
        self.changed = true;
        Ok(())
    }

    /// Fails when others have changed what the change was made on.
    fn same<T: PartialEq>(
        &self,
        rebase: Rebase<'_>,
        value: impl Fn(&Snapshot) -> Option<Arc<T>>,
    ) -> Result<()> {
        match rebase {
            Rebase::Onto { base, newest } if value(base) != value(newest) => Err(concurrently()),
            _ => Ok(()),
        }
    }

    /// Fails when others have changed a table, its rows included.
    fn unchanged(&self, id: TableId, rebase: Rebase<'_>) -> Result<()> {
        let Rebase::Onto { base, newest } = rebase else { return Ok(()) };
        match (base.table_by_id(id), newest.table_by_id(id)) {
            (Some(before), Some(now)) if Arc::ptr_eq(before, now) => Ok(()),
            // The transaction made the table itself.
            (None, None) => Ok(()),
            _ => Err(concurrently()),
        }
    }

    /// Fails when others have changed what a wide table was built of.
    fn bases_unchanged(&self, wide: &Table, rebase: Rebase<'_>) -> Result<()> {
        let bases = wide.wide.as_ref().map(|wide| wide.tables()).unwrap_or_default();
        bases.into_iter().try_for_each(|base| self.unchanged(base, rebase))
    }

    /// Whether rows are to be added: to any table, but to a wide table only those that were made for the build that it
    /// has, and that others have not dropped it.
    fn is_of_this_build(&self, id: TableId, rebase: Rebase<'_>) -> bool {
        let Rebase::Onto { base, newest } = rebase else { return true };
        let Some(before) = base.table_by_id(id).filter(|table| table.wide.is_some()) else { return true };
        newest.table_by_id(id).is_some_and(|now| now.build.is_some() && now.build == before.build)
    }

    fn refuse_taken(
        &self,
        schema: &str,
        name: &str,
        wanted: bool,
        taken: impl Fn(&crate::SchemaEntry) -> bool,
    ) -> Result<()> {
        if wanted && self.snapshot.schemas.get(schema).is_some_and(taken) {
            let message = format!("relation \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateTable, message));
        }
        Ok(())
    }

    fn add_table(&mut self, table: &Arc<Table>) -> Result<()> {
        let taken =
            |s: &crate::SchemaEntry| s.tables.contains_key(&table.name) || s.views.contains_key(&table.name);
        self.refuse_taken(&table.schema, &table.name, true, taken)?;
        let parents = table.foreign_keys.iter().map(|k| k.parent).filter(|parent| *parent != table.id);
        for parent in parents {
            self.newest(parent)?;
        }
        table.id.keep_clear_of();
        self.schema_mut(&table.schema)?.tables.insert(table.name.clone(), table.clone());
        Ok(())
    }

    fn define_table(&mut self, table: &Arc<Table>, rebase: Rebase<'_>) -> Result<()> {
        self.unchanged(table.id, rebase)?;
        let now = self.newest(table.id)?;
        if (&now.schema, &now.name) != (&table.schema, &table.name) {
            let taken = |s: &crate::SchemaEntry| s.tables.contains_key(&table.name);
            self.refuse_taken(&table.schema, &table.name, true, taken)?;
            self.schema_mut(&now.schema)?.tables.remove(&now.name);
        }
        // Rows of other columns follow as `Replace`.
        let types: Vec<_> = table.columns.fields().iter().map(|f| f.ty).collect();
        let data = match now.data.types() == types {
            true => now.data.clone(),
            false => Arc::new(TableData::empty(&types)),
        };
        let version = now.version + 1;
        let (build, writers) = (now.build, now.writers.clone());
        self.replace(Table { data, version, build, writers, ..(**table).clone() }, Effect::Same)
    }

    fn merge(
        &mut self,
        table: TableId,
        onto: BlockId,
        blocks: &[StoredBlock],
        into: BlockId,
        pool: &Pool,
    ) -> Result<()> {
        let now = self.newest(table)?;
        if now.data.stored().last().map(|last| last.id) != Some(onto) {
            return Err(does_not_fit("the last block is another one"));
        }
        if blocks.iter().any(|b| !fits(&now, b)) {
            return Err(does_not_fit("blocks of other columns than their table's"));
        }
        let columns = now.declarations();
        let encoding = Encoding { pool, columns: &columns, options: now.merge_options() };
        into.keep_clear_of();
        let data = now.data.merged(blocks, into, &encoding)?;
        self.put_data(table, data, Effect::More)
    }

    /// Records columns found to be unique, unless another commit has changed the table since.
    fn note_unique(&mut self, table: TableId, columns: &[Vec<usize>], rebase: Rebase<'_>) -> Result<()> {
        if self.unchanged(table, rebase).is_err() {
            return Ok(());
        }
        let now = self.newest(table)?;
        if columns.iter().flatten().any(|column| *column >= now.columns.len()) {
            return Err(does_not_fit("a unique column that is not there"));
        }
        let mut data = (*now.data).clone();
        columns.iter().for_each(|set| data.add_unique(set.clone()));
        self.put_data(table, data, Effect::Same)
    }
}

/// The build that a wide table had in the state that the changes were made on; `None` when it was not there, or when a log
/// says what becomes of it.
fn base_build(id: TableId, rebase: Rebase<'_>) -> Option<u64> {
    match rebase {
        Rebase::Replay => None,
        Rebase::Onto { base, .. } => base.table_by_id(id)?.build,
    }
}

fn conflict(rebase: Rebase<'_>, what: &str) -> Error {
    match rebase {
        Rebase::Replay => does_not_fit(what),
        Rebase::Onto { .. } => concurrently(),
    }
}

/// Whether a block may be a part of a table.
pub(crate) fn fits(table: &Table, stored: &StoredBlock) -> bool {
    let (fields, block) = (table.columns.fields(), &stored.block);
    fields.len() == block.columns() && fields.iter().enumerate().all(|(at, field)| block.ty(at) == field.ty)
}
