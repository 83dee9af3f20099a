//! Keys proved when rows are added and taken away: by the statement against what its transaction sees, and by the
//! commit against what others have done meanwhile.
//!
//! A statement proves everything, so a commit has to look at pairs of changes only:
//!
//! | ours | others' | looked for |
//! | --- | --- | --- |
//! | rows added | rows added to the same table | a key twice |
//! | rows added to a child | the parent's rows changed | a reference to nothing |
//! | rows of a parent deleted | rows added to a child | a reference to nothing |
//! | rows added | keys or columns of the table changed | not looked into: 40001 |

use std::collections::HashSet;
use std::sync::Arc;

use access::PolicyCommand;
use block::Bitmap;
use catalog::{BlockId, Change, SealedBlock, Snapshot, StoredBlock, Table, TableId, Verification};
use types::{Error, Result, SqlState};
use vector::Batch;

use crate::Session;
use crate::constraints::{Keyed, LiveBlock, Unique, check_foreign_key, check_full, check_unique};
pub(crate) use crate::definable::table;
use crate::referential::{Doomed, Fate, Renewed, Step};
use crate::statement::Within;
use crate::wide::refuse_wide;

/// What is done to the rows of a table.
pub(crate) struct RowChanges {
    /// The table whose rows change.
    pub table: TableId,
    /// Per block, one bit a row, set for those that go.
    pub deleted: Vec<(BlockId, Arc<Bitmap>)>,
    /// Blocks of new rows, not yet part of the table.
    pub added: Vec<SealedBlock>,
    /// An UPDATE: the columns that may have other values than before.
    pub assigned: Option<Vec<usize>>,
    /// Whether the deleted rows have new versions among the added ones.
    pub fate: Fate,
    /// Which new version each deleted row has, where referential actions need it.
    pub renewed: Renewed,
}

impl RowChanges {
    /// An insert: rows are added, none is deleted.
    pub fn added(table: TableId, added: Vec<SealedBlock>) -> Self {
        let (fate, renewed) = (Fate::Deleted, Renewed::default());
        RowChanges { table, deleted: vec![], added, assigned: None, fate, renewed }
    }
}

impl Session {
    /// Makes the changes of one table in the running transaction, once its checks and keys are proved to hold. What
    /// they mean to other tables is left to the caller.
    pub(crate) fn make_step(&self, changes: RowChanges, statement: Within<'_>) -> Result<Step> {
        let RowChanges { table: id, deleted, added, assigned, fate, renewed } = changes;
        let base = self.snapshot();
        let before = table(&base, id)?;
        refuse_wide(&before, "change the rows of")?;
        let left = match deleted.is_empty() {
            true => before.data.clone(),
            false => Arc::new(before.data.delete(&deleted)?),
        };
        let fresh: Vec<LiveBlock> = added.iter().map(|b| b.block.clone().into()).collect();
        let doomed = deleted.iter().filter_map(|(id, rows)| {
            let stored = before.data.stored().iter().find(|stored| stored.id == *id)?;
            Some(Doomed { id: *id, block: stored.block.clone(), rows: rows.clone() })
        });
        let doomed = doomed.collect();
        let after = left.clone();
        let mut step = Step { before: before.clone(), doomed, fate, assigned, renewed, fresh, after };
        let go_on = || self.go_on();
        if !before.checks.is_empty() {
            self.verify_checks(&before, &step.fresh, &self.relations_of(statement.cloned()))?;
        }
        if !step.fresh.is_empty() {
            // What changes rows in another way than UPDATE may add some as well.
            let commands: &[PolicyCommand] = match (deleted.is_empty(), step.assigned.is_some()) {
                (true, _) => &[PolicyCommand::Insert],
                (false, true) => &[PolicyCommand::Update],
                (false, false) => &[PolicyCommand::Insert, PolicyCommand::Update],
            };
            self.verify_policies(&before, &step.fresh, commands, statement)?;
        }
        let keys: Vec<_> = before.keys.iter().filter(|key| step.touches(&key.columns)).collect();
        if !step.fresh.is_empty() && !keys.is_empty() {
            let old = LiveBlock::all(&left);
            for key in keys {
                let name = key.constraint_name(&before.name, &before.columns);
                check_unique(&before.columns, &name, Unique::of(key), &old, &step.fresh, &go_on)?;
            }
        }
        drop(left);
        let rows_added = if deleted.is_empty() { added.clone() } else { vec![] };
        let pool = &self.database.shared.pool;
        self.commit(|draft| {
            if !deleted.is_empty() {
                draft.delete(id, &deleted)?;
            }
            if !added.is_empty() {
                draft.append_merging(id, None, added, pool)?;
            }
            Ok(())
        })?;
        if !rows_added.is_empty() {
            self.extend_wide_tables(&base, id, &rows_added, statement)?;
        }
        step.after = table(&self.snapshot(), id)?.data.clone();
        Ok(step)
    }

    /// Proves the keys of a transaction's changes against what other transactions have committed since it began.
    pub(crate) fn verify_commit(&self, verification: &Verification<'_>) -> Result<()> {
        let Verification { base, newest, next, changes } = *verification;
        for change in changes {
            match change {
                Change::Append { table, blocks } | Change::Replace { table, blocks } => {
                    self.verify_added(verification, *table, blocks)?;
                }
                Change::Merge { table, blocks, .. } => self.verify_added(verification, *table, blocks)?,
                Change::DefineTable(table) => {
                    // A foreign key may be new, and the parent's rows others than those it was proved with.
                    for key in &table.foreign_keys {
                        if !same_rows(base, newest, key.parent) {
                            let child = self::table(next, table.id)?;
                            let parent = self::table(next, key.parent)?;
                            let rows = LiveBlock::all(&child.data);
                            check_child(&child, key, &rows, &parent, &|| self.go_on())?;
                        }
                    }
                }
                _ => {}
            }
        }
        let shrunk = changes.iter().filter_map(|change| match change {
            Change::Delete { table, .. } | Change::Replace { table, .. } => Some(*table),
            _ => None,
        });
        for id in shrunk.collect::<HashSet<TableId>>() {
            self.verify_children(verification, id)?;
        }
        Ok(())
    }

    fn verify_added(
        &self,
        verification: &Verification<'_>,
        id: TableId,
        blocks: &[StoredBlock],
    ) -> Result<()> {
        let Verification { base, newest, next, changes } = *verification;
        let fresh: Vec<LiveBlock> = blocks.iter().map(LiveBlock::of).collect();
        if base.table_by_id(id).is_some_and(|t| t.wide.is_some()) {
            // It has no keys, and others may have dropped it.
            return Ok(());
        }
        let now = table(next, id)?;
        let go_on = || self.go_on();
        if let (Some(before), Some(newest)) = (base.table_by_id(id), newest.table_by_id(id)) {
            let defined = |t: &Table| (t.columns.clone(), t.keys.clone(), t.foreign_keys.clone());
            let ours = changes.iter().any(|c| matches!(c, Change::DefineTable(t) if t.id == id));
            if !ours && defined(before) != defined(newest) {
                return Err(concurrently());
            }
            if !Arc::ptr_eq(&before.data, &newest.data) && !now.keys.is_empty() {
                let mut left = newest.data.clone();
                for change in changes {
                    if let Change::Delete { table, rows } = change
                        && *table == id
                    {
                        // Rows of our own blocks are not there.
                        let known = |row: &(BlockId, Arc<Bitmap>)| !blocks.iter().any(|b| b.id == row.0);
                        let rows: Vec<_> = rows.iter().filter(|row| known(row)).cloned().collect();
                        left = Arc::new(left.delete(&rows)?);
                    }
                }
                let others = not_in(before, left.stored());
                for key in &now.keys {
                    let name = key.constraint_name(&now.name, &now.columns);
                    check_unique(&now.columns, &name, Unique::of(key), &others, &fresh, &go_on)?;
                }
            }
        }
        for key in &now.foreign_keys {
            if !same_rows(base, newest, key.parent) {
                let parent = table(next, key.parent)?;
                check_child(&now, key, &fresh, &parent, &go_on)?;
            }
        }
        Ok(())
    }

    /// What others have added to the children of a table of which we have deleted rows.
    fn verify_children(&self, verification: &Verification<'_>, parent: TableId) -> Result<()> {
        let Verification { base, newest, next, .. } = *verification;
        let Some(parent) = next.table_by_id(parent) else { return Ok(()) };
        for child in next.tables() {
            for key in child.foreign_keys.iter().filter(|key| key.parent == parent.id) {
                let Some(now) = newest.table_by_id(child.id) else { continue };
                let rows = match base.table_by_id(child.id) {
                    Some(before) if Arc::ptr_eq(&before.data, &now.data) => continue,
                    Some(before) if before.foreign_keys == now.foreign_keys => {
                        not_in(before, child.data.stored())
                    }
                    _ => LiveBlock::all(&child.data),
                };
                check_child(child, key, &rows, parent, &|| self.go_on()).map_err(|error| {
                    match error.state() {
                        SqlState::ForeignKeyViolation => concurrently(),
                        _ => error,
                    }
                })?;
            }
        }
        Ok(())
    }
}

/// Fails when one of these rows of `child` refers by `key` to no row of `parent`.
pub(crate) fn check_child(
    child: &Table,
    key: &catalog::ForeignKey,
    rows: &[LiveBlock],
    parent: &Table,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let name = key.constraint_name(&child.name, &child.columns);
    let of_child = Keyed { name: &child.name, schema: &child.columns, columns: &key.columns, blocks: rows };
    let there = LiveBlock::all(&parent.data);
    let of_parent =
        Keyed { name: &parent.name, schema: &parent.columns, columns: &key.parent_columns, blocks: &there };
    if key.full && key.columns.len() > 1 {
        check_full(&name, of_child, go_on)?;
    }
    check_foreign_key(&name, of_child, of_parent, go_on)
}

/// Those of the blocks that the table does not have.
fn not_in(table: &Table, blocks: &[StoredBlock]) -> Vec<LiveBlock> {
    let known: HashSet<BlockId> = table.data.stored().iter().map(|stored| stored.id).collect();
    blocks.iter().filter(|stored| !known.contains(&stored.id)).map(LiveBlock::of).collect()
}

fn same_rows(base: &Snapshot, newest: &Snapshot, id: TableId) -> bool {
    match (base.table_by_id(id), newest.table_by_id(id)) {
        (Some(before), Some(now)) => Arc::ptr_eq(&before.data, &now.data),
        // Made by the transaction itself.
        (None, None) => true,
        _ => false,
    }
}

fn concurrently() -> Error {
    Error::new(SqlState::SerializationFailure, "could not serialize access due to concurrent update")
        .with_hint("run the transaction again")
}

/// New rows with the types of the table's columns, and no NULL where there may be none.
pub(crate) fn conforming(table: &Table, batch: Batch) -> Result<Batch> {
    let mut columns = Vec::with_capacity(batch.columns.len());
    for (column, field) in batch.columns.into_iter().zip(table.columns.fields()) {
        if !field.nullable && column.has_nulls() {
            return Err(Error::new(
                SqlState::NotNullViolation,
                format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    field.name, table.name
                ),
            ));
        }
        columns.push(column.retyped(field.ty).ok_or_else(|| Error::out_of_range(&field.ty))?);
    }
    Ok(Batch::new(columns, batch.rows))
}
