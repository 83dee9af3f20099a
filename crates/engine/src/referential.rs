//! ON DELETE and ON UPDATE of foreign keys: what becomes of rows that refer to rows which go or get other keys.
//!
//! A statement's changes are made in steps. The first is the statement's own; each step on a table that others refer to
//! may be followed by steps on those, until nothing is left to follow:
//!
//! ```text
//!  DELETE FROM p  --p's rows go-->  RESTRICT: an error if a row refers to them
//!                                   CASCADE, SET NULL, SET DEFAULT: a step on each child, and so on
//!                 --at the end-->   NO ACTION: an error if a row still refers to a key that is gone;
//!                                   rows that were added or changed refer to keys that are there
//! ```
//! Each step sees what the steps before have left, so a row goes once however many ways lead to it, and cycles end.
//! Keys that an UPDATE exchanges are followed together, not row by row. A cycle of ON UPDATE CASCADE that never comes
//! to rest is an error.

use std::collections::HashMap;
use std::sync::Arc;

use block::{Bitmap, Block};
use catalog::{BlockId, Deleted, ForeignKey, Table, TableData, TableId};
use plan::{LogicalQuery, Statement};
use types::{Error, ReferentialAction, Result, SqlState, Type, Value, cast};
use vector::{Batch, Vector};

use crate::Session;
use crate::constraints::{
    Keyed, LiveBlock, Referring, check_referenced, find_referring, key_values, still_referenced,
};
use crate::modify::conforming;
use crate::statement::Within;
use crate::verify::{RowChanges, check_child, table};

/// Steps of one statement: deeper trees than this are taken for a cycle.
const STEPS_MAX: usize = 10_000;
/// Steps that give rows new versions, at most: chains of foreign keys are shorter than that.
const RENEWALS_MAX: usize = 500;

/// What a statement's doomed rows come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Deleted,
    /// Each has a new version.
    Updated,
    /// Those have one that `Renewed` knows.
    AsRenewed,
}

/// The new versions of doomed rows, kept where referential actions need them.
#[derive(Default)]
pub(crate) struct Renewed {
    /// By block and row of the old version, batch and row of the new one.
    pub places: HashMap<(BlockId, u32), (u32, u32)>,
    /// With the table's columns.
    pub batches: Vec<Batch>,
}

impl Renewed {
    fn value(&self, (batch, row): (u32, u32), column: usize) -> Value {
        self.batches[batch as usize].columns[column].value(row as usize)
    }
}

/// Rows of a block that a step took away.
pub(crate) struct Doomed {
    /// The block's id in the table.
    pub id: BlockId,
    /// The block itself, which later versions of the table may no longer hold.
    pub block: Arc<Block>,
    /// One bit a row of the block, set for those that go.
    pub rows: Arc<Bitmap>,
}

/// A change of one table's rows that has been made.
pub(crate) struct Step {
    /// The table as it was.
    pub before: Arc<Table>,
    /// Rows that the step took away, by block.
    pub doomed: Vec<Doomed>,
    /// Whether these rows were deleted or updated.
    pub fate: Fate,
    /// An UPDATE: the columns that may have other values than before.
    pub assigned: Option<Vec<usize>>,
    /// New versions of doomed rows, for foreign keys that follow an update.
    pub renewed: Renewed,
    /// Blocks of rows that the step added.
    pub fresh: Vec<LiveBlock>,
    /// The table's rows right after.
    pub after: Arc<TableData>,
}

impl Step {
    /// Whether values of these columns may have changed: always for rows that were added or deleted.
    pub(crate) fn touches(&self, columns: &[usize]) -> bool {
        self.assigned.as_ref().is_none_or(|assigned| columns.iter().any(|c| assigned.contains(c)))
    }

    /// The doomed rows that were updated, or those that were deleted; and the blocks' ids.
    fn rows(&self, updated: bool) -> (Vec<LiveBlock>, Vec<BlockId>) {
        let all = match self.fate {
            Fate::Deleted => !updated,
            Fate::Updated => updated,
            Fate::AsRenewed => true,
        };
        let (mut blocks, mut ids) = (Vec::new(), Vec::new());
        for doomed in self.doomed.iter().filter(|_| all) {
            let mut live = Bitmap::empty(doomed.rows.len());
            live.or(&doomed.rows);
            if self.fate == Fate::AsRenewed {
                let is_renewed = |row: usize| self.renewed.places.contains_key(&(doomed.id, row as u32));
                live.retain(|row| is_renewed(row) == updated);
            }
            if live.none() {
                continue;
            }
            let deleted = Deleted::from_live(live).map(Arc::new);
            blocks.push(LiveBlock { block: doomed.block.clone(), deleted });
            ids.push(doomed.id);
        }
        (blocks, ids)
    }
}

/// A foreign key and the table whose it is.
struct Reference {
    child: Arc<Table>,
    key: ForeignKey,
}

impl Reference {
    fn name(&self) -> String {
        self.key.constraint_name(&self.child.name, &self.child.columns)
    }
}

/// The foreign keys that refer to keys which the step touched.
fn references(snapshot: &catalog::Snapshot, step: &Step) -> Vec<Reference> {
    let of = |child: &Arc<Table>| -> Vec<Reference> {
        let touched = |key: &&ForeignKey| key.parent == step.before.id && step.touches(&key.parent_columns);
        let keys = child.foreign_keys.iter().filter(touched);
        keys.map(|key| Reference { child: child.clone(), key: key.clone() }).collect()
    };
    snapshot.tables().flat_map(of).collect()
}

/// Whether new versions of rows of the table have to be known, when these columns may change (all without).
pub(crate) fn wants_renewed(
    snapshot: &catalog::Snapshot,
    table: TableId,
    assigned: Option<&[usize]>,
    deletes: bool,
) -> bool {
    let touched = |key: &ForeignKey| {
        key.parent == table
            && assigned.is_none_or(|assigned| key.parent_columns.iter().any(|c| assigned.contains(c)))
    };
    let acts = |action| action != ReferentialAction::NoAction;
    let wants = |key: &ForeignKey| touched(key) && (acts(key.on_update) || deletes && acts(key.on_delete));
    snapshot.tables().any(|child| child.foreign_keys.iter().any(wants))
}

/// The rows `blocks` of a step's table as the side of a foreign key that is referred to.
fn of_parent<'a>(step: &'a Step, key: &'a ForeignKey, blocks: &'a [LiveBlock]) -> Keyed<'a> {
    Keyed { name: &step.before.name, schema: &step.before.columns, columns: &key.parent_columns, blocks }
}

fn of_child<'a>(child: &'a Table, key: &'a ForeignKey, blocks: &'a [LiveBlock]) -> Keyed<'a> {
    Keyed { name: &child.name, schema: &child.columns, columns: &key.columns, blocks }
}

/// Rows of a child that an action is for, and the keys that they are to have.
struct Followers {
    child: Arc<Table>,
    /// Ordered by the row of the child.
    rows: Vec<Referring>,
    /// With ON UPDATE CASCADE, one a row.
    keys: Vec<Vec<Value>>,
}

impl Session {
    /// Makes the changes in the running transaction, and those that foreign keys ask for, once all keys are proved to
    /// hold.
    pub(crate) fn change_rows(&self, changes: RowChanges, statement: Within<'_>) -> Result<()> {
        let mut steps = vec![self.make_step(changes, statement)?];
        let mut at = 0;
        while at < steps.len() {
            self.go_on()?;
            if !steps[at].doomed.is_empty() {
                self.follow(at, &mut steps, statement)?;
            }
            at += 1;
        }
        self.verify_references(&steps)
    }

    /// Does what foreign keys ask for after a step.
    fn follow(&self, at: usize, steps: &mut Vec<Step>, statement: Within<'_>) -> Result<()> {
        let references = references(&self.snapshot(), &steps[at]);
        for updated in [false, true] {
            let action = |r: &&Reference| if updated { r.key.on_update } else { r.key.on_delete };
            for reference in references.iter().filter(|r| action(r) == ReferentialAction::Restrict) {
                let Followers { child, rows, .. } = self.followers(&steps[at], reference, updated)?;
                if let Some(row) = rows.first() {
                    let blocks = LiveBlock::all(&child.data);
                    let (step, key) = (&steps[at], &reference.key);
                    let (parent, child) = (of_parent(step, key, &[]), of_child(&child, key, &blocks));
                    let (block, row) = row.child;
                    let block = &blocks[block as usize];
                    return Err(still_referenced(&reference.name(), parent, child, block, row as usize)?);
                }
            }
            for reference in references.iter().filter(|r| action(r).changes_rows()) {
                let action = action(&reference);
                let followers = self.followers(&steps[at], reference, updated)?;
                if followers.rows.is_empty() {
                    continue;
                }
                let renewals = steps.iter().filter(|step| !step.fresh.is_empty()).count();
                if steps.len() >= STEPS_MAX || renewals >= RENEWALS_MAX {
                    let message = format!("foreign keys lead on and on: {} steps", steps.len());
                    return Err(Error::new(SqlState::StatementTooComplex, message)
                        .with_detail(format!("the last one was \"{}\"", reference.name())));
                }
                let changes = match (action, updated) {
                    (ReferentialAction::Cascade, false) => deletion(&followers),
                    _ => self.renewal(followers, &reference.key, action, statement)?,
                };
                steps.push(self.make_step(changes, statement)?);
            }
        }
        Ok(())
    }

    /// The rows that refer to rows which the step deleted or, with `updated`, gave other keys.
    fn followers(&self, step: &Step, reference: &Reference, updated: bool) -> Result<Followers> {
        let key = &reference.key;
        let child = table(&self.snapshot(), reference.child.id)?;
        let (parents, ids) = step.rows(updated);
        let blocks = LiveBlock::all(&child.data);
        let mut rows =
            find_referring(of_parent(step, key, &parents), of_child(&child, key, &blocks), &|| self.go_on())?;
        rows.sort_unstable_by_key(|row| row.child);
        let mut keys = Vec::new();
        if updated {
            let mut changed = Vec::with_capacity(rows.len());
            for row in rows {
                let (ordinal, place) = row.parent;
                let old = key_values(&key.parent_columns, &parents[ordinal as usize], place as usize)?;
                let renewed = step.renewed.places.get(&(ids[ordinal as usize], place));
                let renewed =
                    *renewed.ok_or_else(|| Error::internal("a row was updated to nobody knows what"))?;
                let new: Vec<Value> =
                    key.parent_columns.iter().map(|c| step.renewed.value(renewed, *c)).collect();
                if new != old {
                    keys.push(new);
                    changed.push(row);
                }
            }
            rows = changed;
        }
        Ok(Followers { child, rows, keys })
    }

    /// New versions of the rows, with other values in the key's columns.
    fn renewal(
        &self,
        followers: Followers,
        key: &ForeignKey,
        action: ReferentialAction,
        statement: Within<'_>,
    ) -> Result<RowChanges> {
        let deletion = deletion(&followers);
        let Followers { child, rows, keys } = followers;
        let fields = child.columns.fields();
        let parent = table(&self.snapshot(), key.parent)?;
        let mut values: Vec<Vector> = Vec::with_capacity(key.columns.len());
        for (at, column) in key.columns.iter().enumerate() {
            let ty = fields[*column].ty;
            values.push(match action {
                ReferentialAction::Cascade => {
                    let from = parent.columns.fields()[key.parent_columns[at]].ty;
                    let cast = |key: &Vec<Value>| as_assigned(&key[at], from, ty);
                    Vector::from_values(ty, &keys.iter().map(cast).collect::<Result<Vec<Value>>>()?)
                }
                ReferentialAction::SetDefault => {
                    self.default_values(&child, *column, rows.len(), statement)?
                }
                _ => Vector::constant(ty, Value::Null, rows.len()).flatten(),
            });
        }
        let track = wants_renewed(&self.snapshot(), child.id, Some(&key.columns), false);
        let (mut batches, mut renewed) = (Vec::new(), Renewed::default());
        let mut from = 0;
        for run in rows.chunk_by(|a, b| a.child.0 == b.child.0) {
            self.go_on()?;
            let stored = &child.data.stored()[run[0].child.0 as usize];
            let block = stored.block.pin_all()?;
            let list: Vec<u32> = run.iter().map(|row| row.child.1).collect();
            let places: Vec<u32> = (from as u32..(from + run.len()) as u32).collect();
            let column = |c: usize| match key.columns.iter().position(|own| *own == c) {
                Some(at) => values[at].gather(&places),
                None => block.fetch(c, &list),
            };
            let batch = Batch::new((0..fields.len()).map(column).collect(), run.len());
            if track {
                let batch = batches.len() as u32;
                let places = list.iter().enumerate().map(|(at, row)| ((stored.id, *row), (batch, at as u32)));
                renewed.places.extend(places);
            }
            batches.push(conforming(&child, batch)?);
            from += run.len();
        }
        if track {
            renewed.batches.clone_from(&batches);
        }
        Ok(RowChanges {
            added: self.encoded(&child, batches)?,
            assigned: Some(key.columns.clone()),
            fate: Fate::Updated,
            renewed,
            ..deletion
        })
    }

    /// So many values of a column's DEFAULT, evaluated for each.
    fn default_values(
        &self,
        table: &Table,
        column: usize,
        rows: usize,
        statement: Within<'_>,
    ) -> Result<Vector> {
        let ty = table.columns.fields()[column].ty;
        let Some(default) = &table.attributes[column].default else {
            return Ok(Vector::constant(ty, Value::Null, rows).flatten());
        };
        let text = format!("SELECT CAST(({default}) AS {ty}) FROM generate_series(1, {rows})");
        let relations = self.relations_of(statement.cloned());
        let mut values = Vec::with_capacity(rows);
        for part in sql::split(&text)? {
            let Statement::Query(query) = sql::plan(&text, &part, &relations)? else { continue };
            let query: LogicalQuery = query;
            for batch in self.run_query(query, &relations)?.into_batches() {
                values.extend((0..batch.rows).map(|row| batch.columns[0].value(row)));
            }
        }
        Ok(Vector::from_values(ty, &values))
    }

    /// Checks after all steps that rows that were added refer to rows that exist, and that no row refers to one that is
    /// gone.
    fn verify_references(&self, steps: &[Step]) -> Result<()> {
        let after = self.snapshot();
        let go_on = || self.go_on();
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| !step.fresh.is_empty()) {
            let later = |other: &&Step| other.before.id == step.before.id && !other.fresh.is_empty();
            if steps[at + 1..].iter().any(|s| later(&s)) {
                // All rows are looked at when the last of these steps is.
                continue;
            }
            let now = table(&after, step.before.id)?;
            let unchanged = Arc::ptr_eq(&now.data, &step.after) && !steps[..at].iter().any(|s| later(&s));
            for key in &step.before.foreign_keys {
                let of_table = |s: &&Step| s.before.id == step.before.id && s.touches(&key.columns);
                if !steps.iter().any(|s| of_table(&s)) {
                    continue;
                }
                let parent = table(&after, key.parent)?;
                match unchanged {
                    true => check_child(&step.before, key, &step.fresh, &parent, &go_on)?,
                    false => check_child(&step.before, key, &LiveBlock::all(&now.data), &parent, &go_on)?,
                }
            }
        }
        for step in steps.iter().filter(|step| !step.doomed.is_empty()) {
            for reference in references(&after, step) {
                let key = &reference.key;
                let parts = [(key.on_delete, false), (key.on_update, true)];
                let parts = parts.into_iter().filter(|(action, _)| *action == ReferentialAction::NoAction);
                let doomed: Vec<LiveBlock> = parts.flat_map(|(_, updated)| step.rows(updated).0).collect();
                let parent = LiveBlock::all(&table(&after, step.before.id)?.data);
                let rows = LiveBlock::all(&reference.child.data);
                let (doomed, parent) = (of_parent(step, key, &doomed), of_parent(step, key, &parent));
                let child = of_child(&reference.child, key, &rows);
                check_referenced(&reference.name(), doomed, parent, child, &go_on)?;
            }
        }
        Ok(())
    }
}

/// The rows go.
fn deletion(followers: &Followers) -> RowChanges {
    let stored = followers.child.data.stored();
    let mut deleted = Vec::new();
    for run in followers.rows.chunk_by(|a, b| a.child.0 == b.child.0) {
        let stored = &stored[run[0].child.0 as usize];
        let mut rows = Bitmap::empty(stored.block.rows());
        run.iter().for_each(|row| rows.set(row.child.1 as usize));
        deleted.push((stored.id, Arc::new(rows)));
    }
    RowChanges {
        table: followers.child.id,
        deleted,
        added: vec![],
        assigned: None,
        fate: Fate::Deleted,
        renewed: Renewed::default(),
    }
}

/// A key's value as a column of another type holds it.
fn as_assigned(value: &Value, from: Type, to: Type) -> Result<Value> {
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (_, Type::Char(_) | Type::Varchar(_)) if from.is_text() => {
            let bytes = value.as_bytes().unwrap_or_default();
            cast::fit_text(&String::from_utf8_lossy(bytes), to)
        }
        _ => cast::cast_value(value, from, to),
    }
}
