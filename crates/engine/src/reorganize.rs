//! ALTER TABLE ... SET (...): blocks made anew in the background, one after the other, while others read and write.
//!
//! A block that has changed under the work (rows of it were deleted, it was merged) is made anew from what is there then.
//! One table may hold blocks of different layouts, while this goes on and for good.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use block::EncodeOptions;
use catalog::{BlockId, StoredBlock, TableId};
use plan::Modification;
use plan::statement::ObjectName;
use types::{Error, Result, SqlState};
use vector::Batch;

use crate::Session;
use crate::database::Shared;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Purpose, conform, result_schema};

/// Work that goes on when the statement that asked for it has returned. It ends with the database.
#[derive(Default)]
pub(crate) struct Background {
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    /// Runs `step` again and again on a thread of its own, until it says that nothing is left or the database ends. The
    /// database is held only while a step runs.
    fn spawn(
        &self,
        database: &Arc<Shared>,
        name: &str,
        mut step: impl FnMut(&Arc<Shared>) -> bool + Send + 'static,
    ) -> Result<()> {
        let (stop, database): (_, Weak<Shared>) = (self.stop.clone(), Arc::downgrade(database));
        let work = move || {
            while !stop.load(Relaxed) {
                let Some(database) = database.upgrade() else { return };
                if !step(&database) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = thread.map_err(|e| Error::new(SqlState::OutOfMemory, format!("no thread to work in: {e}")))?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Whether something is going on.
    pub fn is_busy(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().any(|thread| !thread.is_finished())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let own = std::thread::current().id();
        // The last handle to the database may be the one that a step holds.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // A step that panicked has ended that work, and nothing else.
            let _ = thread.join();
        }
    }
}

impl Session {
    pub(crate) fn reorganize(
        &self,
        name: &ObjectName,
        table: plan::TableId,
        options: &[(String, String)],
        rows: Option<Modification>,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        if self.is_in_block() {
            let message = "ALTER TABLE ... SET cannot run inside a transaction block";
            return Err(Error::new(SqlState::ActiveTransaction, message)
                .with_hint("its work goes on in the background, in steps that others see"));
        }
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
        let wanted = catalog::writer_options(&own, &indices).encoding;
        let mut job = Job { table: id, wanted, only, done: HashSet::new(), columns: fields.len() };
        let shared = &self.database.shared;
        shared.background.spawn(shared, "reorganize", move |database| job.step(database))?;
        Ok(ResultSet::done("ALTER TABLE"))
    }

    /// The blocks that hold the rows of a DELETE.
    fn blocks_with(&self, rows: Modification, relations: &SessionRelations) -> Result<HashSet<BlockId>> {
        let known = relations.table_by_id(rows.table)?;
        let schema = result_schema(&rows.query);
        let prepared = self.prepare(rows.query, relations, Purpose::Run, &mut vec![])?;
        let run = self.run_plan(&prepared.plan, relations, &prepared.shared, None, false)?;
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

/// A table's blocks, on their way to another form.
struct Job {
    table: TableId,
    wanted: EncodeOptions,
    only: Option<HashSet<BlockId>>,
    /// Blocks that were made, or cannot be made otherwise.
    done: HashSet<BlockId>,
    columns: usize,
}

impl Job {
    /// Makes one block anew; false when none is left.
    fn step(&mut self, database: &Arc<Shared>) -> bool {
        let snapshot = database.catalog.snapshot();
        let Some(table) = snapshot.table_by_id(self.table) else { return false };
        if table.columns.len() != self.columns {
            // Positions of columns are no longer what they were.
            return false;
        }
        let chosen = |stored: &&StoredBlock| {
            !self.done.contains(&stored.id)
                && self.only.as_ref().is_none_or(|only| only.contains(&stored.id))
                && !self.is_as_wanted(stored)
        };
        let Some(stored) = table.data.stored().iter().find(chosen).cloned() else { return false };
        self.done.insert(stored.id);
        let Ok((remade, places)) = self.remake(&stored, &table.declarations(), database) else {
            // Memory is short, or the block cannot be read: it stays as it is.
            return true;
        };
        let id = self.table;
        match database.catalog.commit(|draft| draft.remake_block(id, &stored, remade, places)) {
            Ok(true) => {}
            // It changed meanwhile: once more.
            Ok(false) => {
                self.done.remove(&stored.id);
            }
            Err(_) => return false,
        }
        true
    }

    fn is_as_wanted(&self, stored: &StoredBlock) -> bool {
        let block = &stored.block;
        block.layout() == self.wanted.layout
            && block.sorted_by() == self.wanted.sorted_by
            && self.wanted.indices.iter().all(|wanted| block.indices().any(|(there, _)| there == *wanted))
    }

    /// The block's rows in the wanted form, and where each of them is now, if not where it was.
    fn remake(
        &self,
        stored: &StoredBlock,
        columns: &[(types::Type, bool)],
        database: &Arc<Shared>,
    ) -> Result<(catalog::SealedBlock, Option<Arc<[u32]>>)> {
        let mut parts = vec![stored.batch()?];
        let mut places = None;
        if let Some(column) = self.wanted.sorted_by {
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
        Ok((database.pool.seal(block::encode(columns, &parts, &self.wanted)?)?, places))
    }
}
