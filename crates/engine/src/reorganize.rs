//! ALTER TABLE ... SET (...): blocks made anew in the background, one after the other, while others read and write.
//!
//! A block that has changed under the work (rows of it were deleted, it was merged) is made anew from what is there
//! then. One table may hold blocks of different layouts, while this goes on and for good.

use std::collections::HashSet;
use std::sync::Arc;

use block::EncodeOptions;
use catalog::{BlockId, StoredBlock, Table, TableId};
use plan::Modification;
use plan::statement::ObjectName;
use types::{Error, Result};
use vector::Batch;

use crate::Session;
use crate::background::Next;
use crate::database::Shared;
use crate::execution::Purpose;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{RunAs, conform, result_schema};

impl Session {
    /// ALTER TABLE ... SET: changes the table's options, and gives existing blocks the new form. With `rows`, only the
    /// blocks that hold these rows get it, and the options stay. An error inside a transaction block.
    pub(crate) fn reorganize(
        &self,
        name: &ObjectName,
        table: plan::TableId,
        options: &[(String, String)],
        rows: Option<Modification>,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let hint = "its work goes on in the background, in steps that others see";
        self.leave_block_for("ALTER TABLE ... SET", hint)?;
        let id = TableId(table.0);
        let only = match rows {
            None => None,
            Some(rows) => Some(self.blocks_with(rows, relations)?),
        };
        let snapshot = self.newest_seen();
        let known = snapshot.table(name.schema.as_deref(), &name.name)?;
        let (mut own, mut indices) = (known.options, known.indices.clone());
        let fields = known.columns.fields().to_vec();
        crate::storage_options::apply(&name.name, &fields, options, &mut own, &mut indices)?;
        if only.is_none() {
            self.change_at_once(|draft| {
                draft.redefine(id, |changed| {
                    if changed.columns.fields() != fields {
                        return Err(crate::alter::changed_meanwhile(&name.name));
                    }
                    (changed.options, changed.indices) = (own, indices.clone());
                    Ok(())
                })
            })?;
        }
        let chosen = only.map(|blocks| (blocks, catalog::writer_options(&own, &indices).encoding));
        let mut job = Job { chosen, ..Job::new(id, fields.len()) };
        let shared = &self.database.shared;
        shared.background.spawn(shared, "reorganize", move |database| match job.step(database) {
            true => Next::Now,
            false => Next::Never,
        })?;
        Ok(ResultSet::done("ALTER TABLE"))
    }

    /// The blocks that hold the rows of a DELETE.
    fn blocks_with(&self, rows: Modification, relations: &SessionRelations) -> Result<HashSet<BlockId>> {
        let known = relations.table_by_id(rows.change.table)?;
        let schema = result_schema(&rows.query);
        let prepared = self.plan_steps(rows.query, relations, Purpose::Run, &mut vec![])?;
        let plan = Arc::new(prepared.plan);
        let run = self.run_plan(&plan, relations, &prepared.shared, RunAs::default())?;
        let mut found = HashSet::new();
        for batch in conform(run.result.batches, &schema)? {
            for row in 0..batch.rows {
                let reference = batch.columns[1].value(row).as_i64().map(plan::referenced_row);
                let stored = reference.and_then(|(ordinal, _)| known.data.stored().get(ordinal as usize));
                found.extend(stored.map(|stored| stored.id));
            }
        }
        Ok(found)
    }
}

/// A table's blocks, on their way to another form: the one that the table's definition asks for when a block's turn
/// comes, which other statements may have changed since the work began.
pub(crate) struct Job {
    table: TableId,
    /// Blocks keep their layout and order, and get indices.
    pub indices_only: bool,
    /// These blocks alone, in a form of their own.
    chosen: Option<(HashSet<BlockId>, EncodeOptions)>,
    /// Blocks that were made, or cannot be made otherwise.
    done: HashSet<BlockId>,
    columns: usize,
}

impl Job {
    /// A job over all blocks of the table. `columns` is how many columns it has: when that changes, the job ends,
    /// since positions of columns may have changed.
    pub fn new(table: TableId, columns: usize) -> Self {
        Job { table, indices_only: false, chosen: None, done: HashSet::new(), columns }
    }

    /// How a block is to be.
    fn form(&self, table: &Table, stored: &StoredBlock) -> EncodeOptions {
        let mut form = table.writer_options().encoding;
        if let Some((_, own)) = &self.chosen {
            let declared = std::mem::take(&mut form.indices);
            form = own.clone();
            form.indices.extend(declared.into_iter().filter(|index| !own.indices.contains(index)));
        }
        if self.indices_only {
            (form.layout, form.sorted_by) = (stored.block.layout(), stored.block.sorted_by());
        }
        form
    }

    /// Makes one block anew; false when none is left.
    pub fn step(&mut self, database: &Shared) -> bool {
        let snapshot = database.snapshot();
        let Some(table) = snapshot.table_by_id(self.table) else { return false };
        if table.columns.len() != self.columns {
            // Positions of columns are no longer what they were.
            return false;
        }
        let chosen = |stored: &&StoredBlock| {
            !self.done.contains(&stored.id)
                && self.chosen.as_ref().is_none_or(|(only, _)| only.contains(&stored.id))
                && !is_as_wanted(&stored.block, &self.form(table, stored))
        };
        let Some(stored) = table.data.stored().iter().find(chosen).cloned() else { return false };
        self.done.insert(stored.id);
        let form = self.form(table, &stored);
        let Ok((remade, places)) = remake(&stored, &table.declarations(), &form, database) else {
            // Memory is short, or the block cannot be read: it stays as it is.
            return true;
        };
        let (id, remade) = (self.table, StoredBlock::new(remade));
        // An index that cannot be built on its data is not tried again.
        self.done.insert(remade.id);
        let committed = database.commit(|draft| {
            // An index that was created meanwhile has passed this block by.
            let now = draft.snapshot().table_by_id(id).map(|now| self.form(now, &stored));
            Ok(now == Some(form) && draft.remake_block(id, &stored, remade, places)?)
        });
        match committed {
            Ok(true) => {}
            // It changed meanwhile: once more.
            Ok(false) => {
                self.done.remove(&stored.id);
            }
            Err(_) => return false,
        }
        true
    }
}

fn is_as_wanted(block: &catalog::Block, form: &EncodeOptions) -> bool {
    block.layout() == form.layout
        && block.sorted_by() == form.sorted_by
        && form.indices.iter().all(|wanted| block.indices().any(|(there, _)| there == *wanted))
}

/// The block's rows in another form, and where each of them is now, if not where it was.
fn remake(
    stored: &StoredBlock,
    columns: &[(types::Type, bool)],
    form: &EncodeOptions,
    database: &Shared,
) -> Result<(catalog::SealedBlock, Option<Arc<[u32]>>)> {
    let mut parts = vec![stored.batch()?];
    let mut places = None;
    if let Some(column) = form.sorted_by {
        let rows = parts[0].rows;
        let numbers = vector::Vector::from_i64(types::Type::BigInt, (0..rows as i64).collect());
        let numbered = Batch::new([parts[0].columns.clone(), vec![numbers]].concat(), rows);
        if let Some(sorted) = block::sort_parts(&[numbered], column) {
            let mut now = vec![0; rows];
            let mut next = 0;
            for part in sorted {
                let (numbers, kept) = part.columns.split_last().ok_or_else(|| Error::internal("no rows"))?;
                let before = (0..part.rows).filter_map(|row| numbers.value(row).as_i64());
                for row in before {
                    now[row as usize] = next;
                    next += 1;
                }
                parts = vec![Batch::new(kept.to_vec(), part.rows)];
            }
            places = Some(now.into());
        }
    }
    Ok((database.pool.seal(block::encode(columns, &parts, form)?)?, places))
}
