//! UPDATE, DELETE, MERGE, INSERT ... ON CONFLICT and RETURNING, and TRUNCATE.
//!
//! A modification is a query whose rows say what is to be done (`plan::Modification`). Its result is walked once, in
//! order: rows to be deleted become a bitmap a block, new rows become blocks, and what RETURNING asked for is the
//! statement's result.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use block::Bitmap;
use catalog::{BlockId, Table, TableData};
use plan::statement::ObjectName;
use plan::{Conflict, Modification, ModificationKind, RowAction, RowChange, TableId, referenced_row};
use pool::{BlockWriter, SealedBlock};
use types::nested::equality::Equality;
use types::{Error, Result, Schema, SqlState, Value};
use vector::Batch;

use crate::Session;
use crate::execution::Purpose;
use crate::referential::{Fate, Renewed, wants_renewed};
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{RunAs, cancelled, conform, result_schema};
use crate::verify::RowChanges;
pub(crate) use crate::verify::conforming;

/// Fewer rows are not worth another thread.
const ROWS_A_THREAD_MIN: usize = 50_000;

impl Session {
    /// UPDATE, DELETE, MERGE, and INSERT with ON CONFLICT or RETURNING: runs the query that finds the rows, then
    /// changes them.
    pub(crate) fn modify(
        &self,
        modification: Modification,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let Modification { query, change, .. } = modification;
        crate::wide::refuse_wide(&*relations.table_by_id(change.table)?, "change the rows of")?;
        let schema = result_schema(&query);
        let prepared = self.plan_steps(query, relations, Purpose::Run, &mut vec![])?;
        let plan = Arc::new(prepared.plan);
        let run = self.run_plan(&plan, relations, &prepared.shared, RunAs::default())?;
        let batches = conform(run.result.batches, &schema)?;
        let (kind, returning) = (change.kind, change.returning);
        let (count, rows) = self.change(change, batches, relations, true)?;
        let tag = match kind {
            ModificationKind::Insert => format!("INSERT 0 {count}"),
            ModificationKind::Update => format!("UPDATE {count}"),
            ModificationKind::Delete => format!("DELETE {count}"),
            ModificationKind::Merge => format!("MERGE {count}"),
        };
        match returning {
            None => Ok(ResultSet::done(tag)),
            Some(columns) => {
                let schema = Schema::new(schema.fields()[schema.len() - columns..].to_vec());
                Ok(ResultSet::returning(schema, rows, tag))
            }
        }
    }

    /// Does to a table what the rows of a modification's query say: how many rows have changed, and those of RETURNING.
    /// Without `really` nothing is changed, and the rows of RETURNING are those that would be there.
    pub(crate) fn change(
        &self,
        change: RowChange,
        batches: Vec<Batch>,
        relations: &SessionRelations,
        really: bool,
    ) -> Result<(usize, Vec<Batch>)> {
        let RowChange { kind, table, returning, conflict, assigned } = change;
        let known = relations.table_by_id(table)?;
        crate::wide::refuse_wide(&known, "change the rows of")?;
        let deletes = kind == ModificationKind::Merge;
        let track = kind != ModificationKind::Delete
            && wants_renewed(&self.snapshot(), known.id, assigned.as_deref(), deletes);
        let mut changes = Changes::new(kind, &known, conflict, track);
        let mut rows = Vec::new();
        for batch in batches {
            self.go_on()?;
            let kept = changes.take(&batch)?;
            if let Some(columns) = returning {
                let width = batch.columns.len();
                rows.push(rows_of(&batch, width - columns..width, &kept));
            }
        }
        let Changes { doomed, fresh, renewed, count, .. } = changes;
        if !really || count == 0 {
            return Ok((count, rows));
        }
        let batches = if renewed.is_empty() { vec![] } else { fresh.clone() };
        let added = self.encoded(&known, fresh)?;
        let stored = known.data.stored();
        let deleted: Vec<(BlockId, Arc<Bitmap>)> =
            doomed.into_iter().map(|(ordinal, rows)| (stored[ordinal as usize].id, Arc::new(rows))).collect();
        let fate = match kind {
            ModificationKind::Delete => Fate::Deleted,
            ModificationKind::Update | ModificationKind::Insert => Fate::Updated,
            ModificationKind::Merge => Fate::AsRenewed,
        };
        let place = |((ordinal, row), new)| ((stored[ordinal as usize].id, row), new);
        let renewed = Renewed { places: renewed.into_iter().map(place).collect(), batches };
        self.change_rows(
            RowChanges { table: known.id, deleted, added, assigned, fate, renewed },
            relations.statement(),
        )?;
        Ok((count, rows))
    }

    /// New rows as blocks of the table, in their order; many rows are encoded by as many threads as there are workers.
    pub(crate) fn encoded(&self, table: &Table, batches: Vec<Batch>) -> Result<Vec<SealedBlock>> {
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        let threads = self.database.workers().min(rows / ROWS_A_THREAD_MIN).max(1);
        let part = |batches: &[Batch]| -> Result<Vec<SealedBlock>> {
            let pool = self.database.shared.pool.clone();
            let mut writer = BlockWriter::new(pool, table.declarations(), table.writer_options());
            let mut blocks = Vec::new();
            for batch in batches {
                self.cancel_token().check_clock().map_or(Ok(()), |why| Err(cancelled(why)))?;
                blocks.append(&mut writer.push(batch.clone())?);
            }
            blocks.append(&mut writer.finish()?);
            Ok(blocks)
        };
        if threads == 1 {
            return part(&batches);
        }
        let share = batches.len().div_ceil(threads);
        let parts: Vec<Result<Vec<SealedBlock>>> = std::thread::scope(|scope| {
            let part = &part;
            let running: Vec<_> =
                batches.chunks(share).map(|batches| scope.spawn(move || part(batches))).collect();
            let lost = |_| Err(Error::internal("a thread that encodes rows failed"));
            running.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect()
        });
        let mut blocks = Vec::new();
        for part in parts {
            blocks.append(&mut part?);
        }
        Ok(blocks)
    }

    /// TRUNCATE of tables; with `cascade` also of those that refer to them.
    pub(crate) fn truncate(
        &self,
        tables: &[(TableId, ObjectName)],
        cascade: bool,
        restart_identity: bool,
    ) -> Result<ResultSet> {
        let snapshot = self.snapshot();
        let mut emptied: BTreeSet<catalog::TableId> =
            tables.iter().map(|(id, _)| catalog::TableId(id.0)).collect();
        let mut open: Vec<catalog::TableId> = emptied.iter().copied().collect();
        while let Some(id) = open.pop() {
            let table = crate::verify::table(&snapshot, id)?;
            crate::wide::refuse_wide(&table, "truncate")?;
            for child in snapshot.dependents(id) {
                if emptied.contains(&child.id) {
                    continue;
                }
                if !cascade {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let (child, parent) = (&child.name, &table.name);
                    return Err(Error::new(SqlState::FeatureNotSupported, message)
                        .with_detail(format!("Table \"{child}\" references \"{parent}\"."))
                        .with_hint(format!(
                            "Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."
                        )));
                }
                emptied.insert(child.id);
                open.push(child.id);
            }
        }
        self.commit(|draft| {
            for id in &emptied {
                let types = crate::verify::table(draft.snapshot(), *id)?.data.types().to_vec();
                draft.set_data(*id, TableData::empty(&types))?;
            }
            Ok(())
        })?;
        if restart_identity {
            self.restart_owned(&emptied)?;
        }
        self.reclaim_afterwards();
        Ok(ResultSet::done("TRUNCATE TABLE"))
    }
}

/// What a modification's rows come to.
struct Changes<'a> {
    kind: ModificationKind,
    table: &'a Table,
    conflict: Option<Conflict>,
    /// Keys of new rows, one set a key of `conflict`.
    keys: Vec<HashSet<Vec<Value>>>,
    /// By ordinal of the block.
    doomed: BTreeMap<u32, Bitmap>,
    /// New rows, as they conform to the table.
    fresh: Vec<Batch>,
    /// Whether `renewed` is kept: for each updated row, block ordinal and row of the old version, and batch and row of
    /// the new one.
    track: bool,
    renewed: Vec<((u32, u32), (u32, u32))>,
    count: usize,
}

impl<'a> Changes<'a> {
    fn new(kind: ModificationKind, table: &'a Table, conflict: Option<Conflict>, track: bool) -> Self {
        let keys = conflict.iter().flat_map(|c| &c.keys).map(|_| HashSet::new()).collect();
        let (doomed, fresh, renewed) = (BTreeMap::new(), Vec::new(), Vec::new());
        Changes { kind, table, conflict, keys, doomed, fresh, track, renewed, count: 0 }
    }

    /// Takes note of a batch; the rows of it that something is done for.
    fn take(&mut self, batch: &Batch) -> Result<Vec<u32>> {
        let (mut kept, mut fresh) = (Vec::new(), Vec::new());
        for row in 0..batch.rows {
            let number = batch.columns[0].value(row).as_i64();
            let action = number.and_then(RowAction::from_number);
            let action = action.ok_or_else(|| Error::internal("a row without an action"))?;
            let done = match action {
                RowAction::Nothing => false,
                RowAction::Insert => self.is_new(batch, row)?,
                RowAction::Update | RowAction::Delete => self.doom(batch, row)?,
            };
            if done {
                kept.push(row as u32);
                if action != RowAction::Delete {
                    if self.track && action == RowAction::Update {
                        let new = (self.fresh.len() as u32, fresh.len() as u32);
                        self.renewed.push((old_version(batch, row)?, new));
                    }
                    fresh.push(row as u32);
                }
            }
        }
        self.count += kept.len();
        if !fresh.is_empty() {
            let width = self.table.columns.len();
            let rows = rows_of(batch, RowChange::LEADING..RowChange::LEADING + width, &fresh);
            self.fresh.push(conforming(self.table, rows)?);
        }
        Ok(kept)
    }

    /// Whether no new row before has one of the keys of this one.
    fn is_new(&mut self, batch: &Batch, row: usize) -> Result<bool> {
        let Some(conflict) = &self.conflict else { return Ok(true) };
        let key = |columns: &Vec<usize>| -> Option<Vec<Value>> {
            let value = |c: &usize| {
                let column = &batch.columns[RowChange::LEADING + c];
                Equality::of(column.ty()).value(column.value(row))
            };
            let values: Vec<Value> = columns.iter().map(value).collect();
            // NULLs are never equal.
            (!values.iter().any(Value::is_null)).then_some(values)
        };
        let keys: Vec<Option<Vec<Value>>> = conflict.keys.iter().map(key).collect();
        let taken = |(key, known): (&Option<Vec<Value>>, &HashSet<Vec<Value>>)| {
            key.as_ref().is_some_and(|key| known.contains(key))
        };
        if keys.iter().zip(&self.keys).any(taken) {
            return if conflict.update { Err(twice("ON CONFLICT DO UPDATE")) } else { Ok(false) };
        }
        for (key, known) in keys.into_iter().zip(&mut self.keys) {
            known.extend(key);
        }
        Ok(true)
    }

    /// Whether the row is not doomed yet, which it is now.
    fn doom(&mut self, batch: &Batch, row: usize) -> Result<bool> {
        let (ordinal, place) = old_version(batch, row)?;
        let Some(stored) = self.table.data.stored().get(ordinal as usize) else {
            return Err(Error::internal("a row to change is in no block"));
        };
        let rows = self.doomed.entry(ordinal).or_insert_with(|| Bitmap::empty(stored.block.rows()));
        if !rows.get(place as usize) {
            rows.set(place as usize);
            return Ok(true);
        }
        match self.kind {
            // A row that several rows of FROM or USING go with is changed once.
            ModificationKind::Update | ModificationKind::Delete => Ok(false),
            ModificationKind::Merge => Err(twice("MERGE")),
            ModificationKind::Insert => Err(twice("ON CONFLICT DO UPDATE")),
        }
    }
}

/// Ordinal of the block and number of the row that a modification's row is about.
fn old_version(batch: &Batch, row: usize) -> Result<(u32, u32)> {
    let reference = batch.columns[1].value(row).as_i64();
    Ok(referenced_row(reference.ok_or_else(|| Error::internal("no row to change"))?))
}

/// Some rows of some columns of a batch.
fn rows_of(batch: &Batch, columns: Range<usize>, rows: &[u32]) -> Batch {
    let whole = Batch::new(batch.columns[columns].to_vec(), batch.rows);
    if rows.len() == batch.rows { whole } else { whole.gather(rows) }
}

fn twice(command: &str) -> Error {
    let message = format!("{command} command cannot affect row a second time");
    let hint = match command {
        "MERGE" => "Ensure that not more than one source row matches any one target row.",
        _ => {
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
        }
    };
    Error::new(SqlState::CardinalityViolation, message).with_hint(hint)
}
