//! From collected batches to a finished build side.
//!
//! Everything a probe needs is independent of the rest, so each is a work order: the table's partitions, each kept
//! column end to end, each runtime filter. Rows are numbered in the order of their tags, which is the order of the
//! source: a table's scan keeps its clustering, so ascending keys are recognised and neighbours stay neighbours.
//! A small build is one work order.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use hash::{
    ColumnFilling, JoinFilling, JoinKeys, JoinShape, JoinTableKind, JoinWants, KeyBounds, KeyCodes, KeyOrder,
};
use plan::{FilterId, NodeId};
use types::{Error, Result, SqlState, Type, Value};
use vector::Vector;

use super::HashJoin;
use super::null_keys::null_rows;
use super::payload::TablePayload;
use super::row_marks::RowMarks;
use super::shared::lock;
use super::state::{BuildBatch, Built, Keys};
use crate::context::QueryContext;
use crate::pipeline::{Step, Work};
use crate::runtime_filter::{KeyFilter, KeyFilterFilling};
use crate::switches::JoinTable;

/// The step that fills the table, the columns and the runtime filters.
pub(super) struct BuildStep(pub Arc<HashJoin>);

/// Values (rows times columns) up to which everything is one work order.
const SMALL_VALUES: usize = if cfg!(test) { 100 } else { 1 << 15 };

/// Rows of a column copied by one work order, about.
const COPY_ROWS: usize = if cfg!(test) { 50 } else { 1 << 18 };

/// A build side that is being filled; work orders share it.
pub(super) struct Assembly {
    input: Input,
    filling: JoinFilling,
    /// The kept columns, then the key columns if keys are compared.
    columns: Vec<ColumnSlot>,
    filters: Vec<FilterSlot>,
    tasks: Vec<Task>,
    reservation: memory::Reservation,
}

/// The collected rows, numbered.
struct Input {
    batches: Vec<BuildBatch>,
    /// First row of each batch.
    bases: Vec<u32>,
    rows: usize,
    /// `None`: hashes.
    codes: Option<KeyCodes>,
    /// Bounds of each key over all rows, when all are integers.
    bounds: Vec<KeyBounds>,
    /// What the table holds in place of row numbers.
    payload: Option<TablePayload>,
}

/// A column on its way to be one vector.
struct ColumnSlot {
    ty: Type,
    /// `None`: joined in one go.
    filling: Option<ColumnFilling>,
    joined: OnceLock<Vector>,
}

struct FilterSlot {
    id: FilterId,
    key: usize,
    parts: u64,
    /// `None`: the bits of the join table serve.
    filling: Option<KeyFilterFilling>,
}

#[derive(Clone, Copy)]
enum Task {
    Everything,
    Fill(u64),
    /// Some batches into a shared table.
    FillShared {
        first: usize,
        end: usize,
    },
    /// Some batches of a column.
    Copy {
        column: usize,
        first: usize,
        end: usize,
    },
    Column(usize),
    Filter {
        filter: usize,
        part: u64,
    },
}

impl Input {
    /// A batch's part of a column: the kept ones first, then the keys.
    fn part<'a>(&self, batch: &'a BuildBatch, column: usize) -> &'a Vector {
        batch.columns.get(column).unwrap_or_else(|| &batch.keys[column - batch.columns.len()])
    }
    fn parts(&self, column: usize) -> impl Iterator<Item = &Vector> + Clone {
        self.batches.iter().map(move |batch| self.part(batch, column))
    }
    /// Runs of batches of about `COPY_ROWS` rows.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let (mut first, mut rows) = (0, 0);
        for (at, batch) in self.batches.iter().enumerate() {
            rows += batch.rows;
            if rows >= COPY_ROWS || at + 1 == self.batches.len() {
                runs.push((first, at + 1));
                (first, rows) = (at + 1, 0);
            }
        }
        runs
    }
}

impl HashJoin {
    /// The plan of a build of these rows; with the runtime filters, or for a partition, which has none.
    fn assemble(
        &self,
        mut batches: Vec<BuildBatch>,
        fills: &[(FilterId, usize)],
        query: &QueryContext,
    ) -> Result<Assembly> {
        batches.sort_by_key(|b| b.tag);
        let mut bases = Vec::with_capacity(batches.len());
        let mut rows = 0usize;
        for batch in &batches {
            bases.push(rows.min(u32::MAX as usize) as u32);
            rows += batch.rows;
        }
        if rows > hash::join::ROWS_MAX {
            let message =
                format!("a join's build side has {rows} rows, at most {} are possible", hash::join::ROWS_MAX);
            return Err(Error::new(SqlState::OutOfMemory, message));
        }
        let integers = self.key_types.iter().all(|ty| hash::is_integer_key(*ty));
        let mut bounds = vec![KeyBounds::EMPTY; if integers { self.key_types.len() } else { 0 }];
        for batch in &batches {
            for (all, own) in bounds.iter_mut().zip(&batch.bounds) {
                *all = all.then(*own);
            }
        }
        let codes = if integers { KeyCodes::new(&bounds, self.null_equals_null) } else { None };
        let keys = match &codes {
            Some(codes) => JoinKeys::Codes {
                range: codes.range(),
                // NULL keys have no place in the order, and composite keys' order was not looked at.
                order: match bounds.as_slice() {
                    [bounds] if bounds.ascending && !self.null_equals_null => KeyOrder::Ascending,
                    [bounds] if bounds.sorted && !self.null_equals_null => KeyOrder::Sorted,
                    _ => KeyOrder::Any,
                },
            },
            None => JoinKeys::Hashes,
        };
        let payload = (self.may_hold_payload && codes.is_some())
            .then(|| TablePayload::of(&batches, &self.columns.kept_types))
            .flatten();
        let wants = JoinWants {
            existence_only: self.asks_existence() && self.residual.is_none(),
            dense: query.settings.switches.dense_keys,
            // As many as can be filled at once: each costs a pass over the keys.
            partitions_max: workorder::parallelism(),
            shared: query.settings.switches.join_table == JoinTable::Shared,
            payload_columns: payload.as_ref().map(TablePayload::columns),
        };
        let shape = JoinShape::choose(rows, keys, wants);
        let payload = payload.filter(|_| shape.payload);
        let compares = codes.is_none() || (self.looks_at_unknown_pairs() && self.key_types.len() > 1);
        let mut bytes = shape.bytes();
        let parts = KeyFilterFilling::parts(rows, workorder::parallelism());
        let mut filters = Vec::with_capacity(fills.len());
        for (id, key) in fills {
            let of_table = self.key_types.len() == 1
                && matches!(
                    shape.kind,
                    JoinTableKind::Bits | JoinTableKind::RankedBits | JoinTableKind::RankedRuns
                );
            let filling = (!of_table).then(|| {
                KeyFilterFilling::in_parts(self.key_types[*key], rows, bounds.get(*key).copied(), parts)
            });
            bytes += filling.as_ref().map_or(0, KeyFilterFilling::bytes);
            filters.push(FilterSlot { id: *id, key: *key, parts, filling });
        }
        bytes += match payload {
            // Entries, while the table is filled.
            Some(_) => rows as u64 * 4,
            None => batches.iter().map(|b| b.column_bytes as u64).sum::<u64>(),
        };
        if self.marks_build_rows() {
            bytes += rows as u64 / 8;
        }
        let reservation = query.reserve(bytes as usize)?;
        let filling = shape.allocate();

        let input = Input { batches, bases, rows, codes, bounds, payload };
        let key_types = if compares { &self.key_types[..] } else { &[] };
        let small = rows * (self.columns.kept.len() + key_types.len() + 1) <= SMALL_VALUES;
        let kept_types = if input.payload.is_some() { &[] } else { &self.columns.kept_types[..] };
        let columns: Vec<ColumnSlot> = kept_types
            .iter()
            .chain(key_types)
            .enumerate()
            .map(|(column, ty)| {
                let copied = !small && input.batches.len() > 1;
                let filling = copied.then(|| ColumnFilling::new(*ty, input.parts(column))).flatten();
                ColumnSlot { ty: *ty, filling, joined: OnceLock::new() }
            })
            .collect();
        let tasks = if small { vec![Task::Everything] } else { tasks(&input, &filling, &columns, &filters) };
        query.metrics.state(self.node, "table", shape.describe());
        query.metrics.count(self.node, "build rows", rows as u64);
        query.metrics.count(self.node, "table bytes", shape.bytes());
        Ok(Assembly { input, filling, columns, filters, tasks, reservation })
    }

    fn run_task(&self, assembly: &Assembly, task: Task, work: &Work<'_>) -> Result<()> {
        match task {
            Task::Everything => {
                let Assembly { input, filling, columns, filters, .. } = assembly;
                let all = tasks(input, filling, columns, filters);
                all.into_iter().try_for_each(|task| self.run_task(assembly, task, work))
            }
            Task::Fill(partition) => {
                let all = 0..assembly.input.batches.len();
                self.fill(&assembly.input, all, &assembly.filling, partition, Some(work))
            }
            Task::FillShared { first, end } => {
                self.fill(&assembly.input, first..end, &assembly.filling, 0, Some(work))
            }
            Task::Copy { column, first, end } => {
                if let Some(filling) = &assembly.columns[column].filling {
                    for (at, batch) in assembly.input.batches[first..end].iter().enumerate() {
                        work.check()?;
                        filling.copy(first + at, assembly.input.part(batch, column));
                    }
                }
                Ok(())
            }
            Task::Column(column) => {
                let slot = &assembly.columns[column];
                let parts: Vec<&Vector> = assembly.input.parts(column).collect();
                let _ = slot.joined.set(match parts.is_empty() {
                    true => Vector::from_values(slot.ty, &[] as &[Value]),
                    false => Vector::concat(&parts),
                });
                Ok(())
            }
            Task::Filter { filter, part } => {
                let slot = &assembly.filters[filter];
                if let Some(filling) = &slot.filling {
                    for (at, batch) in assembly.input.batches.iter().enumerate() {
                        work.check()?;
                        let bounds = batch.bounds.get(slot.key).copied();
                        filling.insert_part(part, at, bounds, &batch.keys[slot.key]);
                    }
                }
                Ok(())
            }
        }
    }

    fn fill(
        &self,
        input: &Input,
        batches: Range<usize>,
        filling: &JoinFilling,
        partition: u64,
        work: Option<&Work<'_>>,
    ) -> Result<()> {
        let mut codes = Vec::new();
        let payload = input.payload.as_ref().filter(|_| filling.shape().payload);
        // Payloads may come in any order: workers begin at different batches, so that each makes entries for the
        // others.
        let (first, count) = (batches.start, batches.len());
        let begin = match payload {
            Some(_) => count * partition as usize / filling.shape().partitions.max(1) as usize,
            None => 0,
        };
        let order = (begin..count).chain(0..begin).map(|at| first + at);
        for (batch, base) in order.map(|at| (&input.batches[at], input.bases[at])) {
            if let Some(work) = work {
                work.check()?;
            }
            match &input.codes {
                Some(keys) => {
                    if let ([bounds], false) = (batch.bounds.as_slice(), self.null_equals_null) {
                        if bounds.range() == 0 {
                            continue;
                        }
                        let lowest = bounds.min.wrapping_sub(keys.min()) as u64;
                        let highest = bounds.max.wrapping_sub(keys.min()) as u64;
                        if !filling.wants(partition, lowest, highest) {
                            continue;
                        }
                    }
                    keys.encode(&batch.keys, batch.rows, &mut codes);
                }
                None => hash::key_hashes(&batch.keys, batch.rows, self.null_equals_null, &mut codes),
            }
            match payload {
                Some(payload) => {
                    let entries = batch.entries.get_or_init(|| payload.entries(batch));
                    filling.insert_payloads(partition, entries, &codes);
                }
                None => filling.insert(partition, base, &codes),
            }
        }
        if !filling.shape().shared {
            filling.close(partition);
        }
        Ok(())
    }

    /// A build side made at once, by one worker: a partition.
    pub(super) fn build_partition(&self, batches: Vec<BuildBatch>, work: &Work<'_>) -> Result<Built> {
        let assembly = self.assemble(batches, &[], work.query)?;
        for task in &assembly.tasks {
            self.run_task(&assembly, *task, work)?;
        }
        let (built, _) = self.complete(assembly, work.query)?;
        self.find_crowds(&built, work)?;
        Ok(built)
    }

    /// The finished build, and the batches that it was made of.
    fn complete(&self, assembly: Assembly, query: &QueryContext) -> Result<(Built, Vec<BuildBatch>)> {
        let Assembly { mut input, filling, columns, filters, reservation, .. } = assembly;
        let keys_held = columns.len() - if input.payload.is_some() { 0 } else { self.columns.kept.len() };
        let table = match filling.finish() {
            Ok(table) => table,
            Err(refill) => {
                // Hashes crowded into one partition, or keys said to be unique are not: the table is filled again
                // with row numbers and without partitions.
                self.fill(&input, 0..input.batches.len(), &refill, 0, None)?;
                refill.finish().map_err(|_| Error::internal("a join table overflowed twice"))?
            }
        };
        let mut columns = columns
            .into_iter()
            .enumerate()
            .map(|(column, slot)| match slot.filling {
                Some(filling) => Ok(filling.finish(input.parts(column))),
                None => slot.joined.into_inner().ok_or_else(|| Error::internal("a build column is missing")),
            })
            .collect::<Result<Vec<Vector>>>()?;
        let key_columns = columns.split_off(columns.len() - keys_held);
        if input.payload.is_some() && !table.shape().payload {
            input.payload = None;
            columns = (0..self.columns.kept.len())
                .map(|column| Vector::concat(&input.parts(column).collect::<Vec<&Vector>>()))
                .collect();
        }
        for slot in filters {
            let bounds = input.bounds.get(slot.key).copied();
            let filter = match (slot.filling, bounds, table.bits()) {
                _ if input.rows == 0 => KeyFilter::nothing(),
                (Some(filling), bounds, _) => filling.finish(bounds),
                (None, Some(bounds), Some(bits)) => KeyFilter::bits(bounds, bits.clone()),
                (None, ..) => return Err(Error::internal("a join table has no bits for its filter")),
            };
            query.metrics.state(self.node, "filter", filter.name());
            query.publish_filter(slot.id, Arc::new(filter));
        }
        let keeps_nulls = self.keeps_null_keys() && !self.null_equals_null;
        let null_rows = if keeps_nulls { null_key_rows(&input) } else { vec![] };
        let compared_keys = if self.looks_at_unknown_pairs() && self.key_types.len() > 1 {
            key_columns.clone()
        } else {
            vec![]
        };
        let built = Built {
            rows: input.rows,
            table,
            keys: match input.codes {
                Some(codes) => Keys::Codes(codes),
                None => Keys::Hashes { columns: key_columns },
            },
            columns,
            payload: input.payload,
            matched: self.marks_build_rows().then(|| RowMarks::new(input.rows)),
            null_rows,
            compared_keys,
            crowds: OnceLock::new(),
            _reservation: reservation,
        };
        Ok((built, input.batches))
    }
}

/// Everything that is to be done, as work orders: those that cannot be cut first and the shortest last, so that
/// workers end together.
fn tasks(input: &Input, filling: &JoinFilling, columns: &[ColumnSlot], filters: &[FilterSlot]) -> Vec<Task> {
    let whole = columns.iter().enumerate().filter(|(_, slot)| slot.filling.is_none());
    let mut tasks: Vec<Task> = whole.map(|(column, _)| Task::Column(column)).collect();
    if filling.shape().shared {
        tasks.extend(input.runs().into_iter().map(|(first, end)| Task::FillShared { first, end }));
    } else if !filling.is_done() {
        tasks.extend((0..filling.shape().partitions).map(Task::Fill));
    }
    let to_fill = |slot: &FilterSlot| slot.filling.as_ref().is_some_and(|f| !f.is_done());
    for (filter, slot) in filters.iter().enumerate().filter(|(_, slot)| to_fill(slot)) {
        tasks.extend((0..slot.parts).map(|part| Task::Filter { filter, part }));
    }
    for (column, slot) in columns.iter().enumerate() {
        if slot.filling.is_some() {
            let runs = input.runs().into_iter();
            tasks.extend(runs.map(|(first, end)| Task::Copy { column, first, end }));
        }
    }
    tasks
}

/// Rows, ascending, with a NULL among their keys.
fn null_key_rows(input: &Input) -> Vec<u32> {
    let mut out = Vec::new();
    for (batch, base) in input.batches.iter().zip(&input.bases) {
        if let Some(nulls) = null_rows(&batch.keys, batch.rows) {
            out.extend(
                (0..batch.rows as u32).filter(|row| nulls.is_null(*row as usize)).map(|row| base + row),
            );
        }
    }
    out
}

impl Step for BuildStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let join = &*self.0;
        let batches = std::mem::take(&mut *lock(&join.collected));
        let bytes = batches.iter().map(|batch| batch.bytes).sum();
        let rows = batches.iter().map(|batch| batch.rows).sum();
        if join.has_spilled()
            || (join.can_spill && query.should_spill(bytes, join.assembly_bytes(rows, bytes)))
        {
            return join.begin_spilling(batches, query);
        }
        let assembly = join.assemble(batches, &join.fills, query)?;
        let tasks = assembly.tasks.len() as u64;
        *lock(&self.0.assembly) = Some(Arc::new(assembly));
        Ok(tasks)
    }
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()> {
        if self.0.has_spilled() {
            return self.0.spill_rest(partition as usize, work);
        }
        let assembly = lock(&self.0.assembly).clone();
        let assembly = assembly.ok_or_else(|| Error::internal("a join's build was not started"))?;
        let task = assembly.tasks[partition as usize];
        self.0.run_task(&assembly, task, work)
    }
    fn finish(&self, query: &QueryContext) -> Result<()> {
        let join = &*self.0;
        if join.has_spilled() {
            return Ok(());
        }
        let assembly = lock(&self.0.assembly).take();
        let assembly = assembly.ok_or_else(|| Error::internal("a join's build was not started"))?;
        let assembly = Arc::try_unwrap(assembly)
            .map_err(|_| Error::internal("a join's build was completed while it was running"))?;
        let (built, batches) = join.complete(assembly, query)?;
        *lock(&join.leftovers) = batches;
        join.has_leftovers.store(true, Relaxed);
        join.set_built(built)
    }
}
