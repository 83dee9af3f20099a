//! The build side: collected with its keys, sorted, put in order; and its rows after all probing.
//!
//! Workers keep narrowed batches of their own until the sink finishes. `SortStep` gathers them into one `Assembly`,
//! in the order of their tags, reserves the memory for all that follows, and sorts chunks; `MergeStep` puts each
//! key's rows in order; `PlaceStep` makes the index and the columns in the order of the first key and leaves them as
//! `Built`. Rows with a NULL key stand behind the indexed ones, and only where the join keeps build rows. If one
//! row's key cannot be computed, there are no sorts and no index, and probes compare every row.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, PoisonError};

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::{Error, Result, SqlState, Value};
use vector::interleave::{Pick, interleave};
use vector::{Batch, Vector};

use super::index::{CHECKED_ROWS, RangeIndex, SecondKey};
use super::keys::KeyColumn;
use super::sorting::{CHUNK_ROWS, Sorting};
use super::{Built, RangeJoin};
use crate::collect::detached_batch;
use crate::context::QueryContext;
use crate::hash_join::row_marks::{RowMarks, in_unit};
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work, local_state};

/// Rows of a column that one work order puts in order.
const PLACED_ROWS: usize = if cfg!(test) { 40 } else { 1 << 18 };

/// Bytes that sorting a row takes in addition to its key until all is done: its number in a chunk, in a range, in
/// order, and its place.
const SORTED_ROW_BYTES: usize = 16;
/// And what it takes while its chunk is sorted: its prefix and packed word, twice.
const CHUNK_ROW_BYTES: usize = 48;

/// Collects the build rows with their keys.
pub(super) struct BuildSink(pub Arc<RangeJoin>);
/// Gathers the rows, then sorts chunks of each key, one a work order.
pub(super) struct SortStep(pub Arc<RangeJoin>);
/// Puts the ranges of each key together, one a work order.
pub(super) struct MergeStep(pub Arc<RangeJoin>);
/// Makes the index and the columns in the order of the first key.
pub(super) struct PlaceStep(pub Arc<RangeJoin>);
/// Delivers build rows after all probing, matched or unmatched ones.
pub(super) struct BuildRows(pub Arc<RangeJoin>);

/// The batches of one worker.
#[derive(Default)]
struct Collected {
    batches: Vec<BuildBatch>,
}

/// Narrowed rows as they came.
struct BuildBatch {
    tag: u64,
    /// The rows without a NULL among their keys.
    rows: Batch,
    /// A column a dimension; none where keys could not be computed.
    keys: Vec<KeyColumn>,
    /// Rows with a NULL among their keys, where they are kept.
    lost: Option<Batch>,
}

/// What the steps share.
pub(super) struct Assembly {
    /// Rows with keys, batch by batch, then the lost ones.
    batches: Vec<Batch>,
    indexed: usize,
    rows: usize,
    /// A sort a dimension; none where keys could not be computed.
    sorts: Vec<Sorting>,
    reservation: memory::Reservation,
    /// The first row of each batch.
    bases: Vec<u32>,
    /// Rows with keys in the order of each dimension, made by the second step.
    orders: OnceLock<Vec<Vec<u32>>>,
    /// Runs of rows in the order of the first dimension, the lost ones last.
    placed: Vec<OnceLock<Vec<Vector>>>,
    index: OnceLock<RangeIndex>,
}

impl Sink for BuildSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Collected::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let join = &*self.0;
        let kept = batch.select(&join.columns.kept);
        let (rows, keys, lost) = match join.terms.keys(&batch, work.query)? {
            None => {
                join.has_failed.store(true, Relaxed);
                (kept, vec![], None)
            }
            Some((keys, None)) => (kept, keys, None),
            Some((keys, Some(valid))) => {
                let whole: Vec<u32> = valid.valid_indices().map(|row| row as u32).collect();
                let lost = join.keeps_lost_rows().then(|| {
                    let rows: Vec<u32> =
                        (0..batch.rows as u32).filter(|r| valid.is_null(*r as usize)).collect();
                    detached_batch(&kept.gather(&rows))
                });
                (kept.gather(&whole), keys.iter().map(|key| key.gather(&whole)).collect(), lost)
            }
        };
        let keys = keys.into_iter().map(KeyColumn::detached).collect();
        let batch = BuildBatch { tag, rows: detached_batch(&rows), keys, lost };
        local_state::<Collected>(local).batches.push(batch);
        Ok(Flow::More)
    }
    fn finish(&self, mut locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        self.0.collected.lock().unwrap_or_else(PoisonError::into_inner).append(&mut locals);
        Ok(())
    }
}

impl RangeJoin {
    fn assemble(&self, query: &QueryContext) -> Result<Assembly> {
        let locals = std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner));
        let mut collected: Vec<BuildBatch> = Vec::new();
        for mut local in locals {
            collected.append(&mut local_state::<Collected>(&mut local).batches);
        }
        // Batches of one tag are one worker's, in their order.
        collected.sort_by_key(|batch| batch.tag);
        let indexed: usize = collected.iter().map(|batch| batch.rows.rows).sum();
        let lost: usize = collected.iter().filter_map(|batch| batch.lost.as_ref()).map(|l| l.rows).sum();
        let rows = indexed + lost;
        // Row numbers are of 32 bits, the last of which means none.
        if rows >= u32::MAX as usize {
            let message = format!("a join by a range with a build side of {rows} rows is not supported");
            return Err(Error::new(SqlState::OutOfMemory, message)
                .with_hint("let the condition hold an equality, or join fewer rows at once"));
        }
        let of_rows: usize = collected
            .iter()
            .flat_map(|batch| std::iter::once(&batch.rows).chain(&batch.lost))
            .map(Batch::bytes)
            .sum();
        let of_keys: usize = collected.iter().flat_map(|batch| &batch.keys).map(KeyColumn::bytes).sum();
        let dimensions = self.terms.dimensions();
        // Keys are put together and then in order, rows are put in order; sorts go on at the same time.
        let at_once = indexed.min(CHUNK_ROWS * workorder::parallelism() as usize);
        let sorting = indexed * SORTED_ROW_BYTES * dimensions + at_once * CHUNK_ROW_BYTES;
        let bytes = of_rows + 2 * of_keys + sorting + rows;
        let reservation = query.reserve(bytes)?;
        let failed = self.has_failed.load(Relaxed);
        let mut keys: Vec<Vec<KeyColumn>> = (0..dimensions).map(|_| Vec::new()).collect();
        let mut batches = Vec::with_capacity(collected.len());
        let mut behind = Vec::new();
        for batch in collected {
            batches.push(batch.rows);
            behind.extend(batch.lost);
            for (all, own) in keys.iter_mut().zip(batch.keys) {
                all.push(own);
            }
        }
        batches.append(&mut behind);
        let sorts = match failed {
            true => vec![],
            false => keys.into_iter().map(|parts| Sorting::new(KeyColumn::concat(parts))).collect(),
        };
        query.metrics.count(self.node, "build rows", rows as u64);
        let mut bases = Vec::with_capacity(batches.len());
        let mut before = 0;
        for batch in &batches {
            bases.push(before);
            before += batch.rows as u32;
        }
        Ok(Assembly {
            batches,
            bases,
            indexed,
            rows,
            sorts,
            reservation,
            orders: OnceLock::new(),
            placed: (0..rows.div_ceil(PLACED_ROWS)).map(|_| OnceLock::new()).collect(),
            index: OnceLock::new(),
        })
    }
}

/// The sort that a step's work order is of, and its number there.
fn of_sort(
    sorts: &[Sorting],
    mut task: usize,
    count: impl Fn(&Sorting) -> usize,
) -> Option<(&Sorting, usize)> {
    for sorting in sorts {
        if task < count(sorting) {
            return Some((sorting, task));
        }
        task -= count(sorting);
    }
    None
}

impl Step for SortStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let assembly = self.0.assemble(query)?;
        let tasks: usize = assembly.sorts.iter().map(Sorting::chunks).sum();
        *self.0.assembly.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(assembly));
        Ok(tasks as u64)
    }
    fn run(&self, task: u64, _work: &Work<'_>) -> Result<()> {
        let assembly = self.0.assembly()?;
        if let Some((sorting, chunk)) = of_sort(&assembly.sorts, task as usize, Sorting::chunks) {
            sorting.sort_chunk(chunk);
        }
        Ok(())
    }
    fn finish(&self, _query: &QueryContext) -> Result<()> {
        self.0.assembly()?.sorts.iter().for_each(Sorting::divide);
        Ok(())
    }
}

impl Step for MergeStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.assembly()?.sorts.iter().map(Sorting::ranges).sum::<usize>() as u64)
    }
    fn run(&self, task: u64, _work: &Work<'_>) -> Result<()> {
        let assembly = self.0.assembly()?;
        if let Some((sorting, range)) = of_sort(&assembly.sorts, task as usize, Sorting::ranges) {
            sorting.merge_range(range);
        }
        Ok(())
    }
    fn finish(&self, _query: &QueryContext) -> Result<()> {
        let assembly = self.0.assembly()?;
        let orders = assembly.sorts.iter().map(Sorting::order).collect();
        // This step ends once.
        let _ = assembly.orders.set(orders);
        Ok(())
    }
}

impl Step for PlaceStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        let assembly = self.0.assembly()?;
        Ok((assembly.placed.len() + usize::from(!assembly.sorts.is_empty())) as u64)
    }
    fn run(&self, task: u64, work: &Work<'_>) -> Result<()> {
        let assembly = self.0.assembly()?;
        // The index takes longest and begins first.
        match (task as usize, assembly.sorts.is_empty()) {
            (0, false) => {
                let index = assembly.build_index(self.0.terms.is_reversed, work)?;
                let _ = assembly.index.set(index);
            }
            (task, is_empty) => {
                let part = task - usize::from(!is_empty);
                let _ = assembly.placed[part].set(assembly.place(part)?);
            }
        }
        Ok(())
    }
    fn finish(&self, query: &QueryContext) -> Result<()> {
        let join = &*self.0;
        let assembly = join.assembly.lock().unwrap_or_else(PoisonError::into_inner).take();
        let assembly = assembly.and_then(Arc::into_inner);
        let assembly =
            assembly.ok_or_else(|| Error::internal("a join's build was completed while it was running"))?;
        let placed: Option<Vec<Vec<Vector>>> =
            assembly.placed.into_iter().map(OnceLock::into_inner).collect();
        let placed = placed.ok_or_else(|| Error::internal("build rows are missing"))?;
        let types = join.columns.kept_types.iter().enumerate();
        let columns = types.map(|(column, ty)| match placed.as_slice() {
            [] => Vector::from_values(*ty, &[] as &[Value]),
            [all] => all[column].clone(),
            parts => Vector::concat(&parts.iter().map(|part| &part[column]).collect::<Vec<&Vector>>()),
        });
        let columns: Vec<Vector> = columns.collect();
        let index = assembly.index.into_inner();
        query.metrics.state(
            join.node,
            "search",
            match &index {
                None => "none: a key cannot be computed for every row".to_owned(),
                Some(index) if index.second.is_some() => "by two sorted keys".to_owned(),
                Some(_) => "by one sorted key".to_owned(),
            },
        );
        query.metrics.count(join.node, "index bytes", index.as_ref().map_or(0, |index| index.bytes() as u64));
        let built = Built {
            indexed: assembly.indexed,
            columns,
            index,
            matched: join.marks_build_rows().then(|| RowMarks::new(assembly.rows)),
            _reservation: assembly.reservation,
        };
        join.built.set(built).map_err(|_| Error::internal("a join was built twice"))
    }
}

impl Assembly {
    fn orders(&self) -> Result<&[Vec<u32>]> {
        let orders = self.orders.get().map(Vec::as_slice);
        orders.ok_or_else(|| Error::internal("a join's rows were not sorted"))
    }

    /// The kept columns at the places of a part.
    fn place(&self, part: usize) -> Result<Vec<Vector>> {
        let first = part * PLACED_ROWS;
        let by_first = self.orders()?.first();
        let picks: Vec<Pick> = (first..(first + PLACED_ROWS).min(self.rows))
            .map(|place| {
                // Lost rows stand behind the others as they came.
                let row = by_first.and_then(|order| order.get(place)).map_or(place as u32, |row| *row);
                let source = self.bases.partition_point(|base| *base <= row) - 1;
                Pick { source: source as u32, row: row - self.bases[source] }
            })
            .collect();
        let columns = self.batches.first().map_or(0, |batch| batch.columns.len());
        let of = |column: usize| self.batches.iter().map(move |batch| batch.columns[column].clone());
        Ok((0..columns).map(|column| interleave(&of(column).collect::<Vec<Vector>>(), &picks)).collect())
    }

    fn build_index(&self, is_reversed: bool, work: &Work<'_>) -> Result<RangeIndex> {
        let orders = self.orders()?;
        let ordered = |at: usize| -> Result<KeyColumn> {
            let mut parts = Vec::new();
            for rows in orders[at].chunks(PLACED_ROWS) {
                work.check()?;
                parts.push(self.sorts[at].keys.gather(rows));
            }
            Ok(match parts.len() {
                1 => parts.remove(0),
                _ => KeyColumn::concat(parts),
            })
        };
        let first = ordered(0)?;
        let second = match orders.get(1) {
            None => None,
            Some(by_second) => {
                let keys = ordered(1)?;
                let mut places = vec![0u32; self.indexed];
                for (place, row) in orders[0].iter().enumerate() {
                    if place % CHECKED_ROWS == 0 {
                        work.check()?;
                    }
                    places[*row as usize] = place as u32;
                }
                let places = by_second.iter().map(|row| places[*row as usize]);
                Some(SecondKey::new(keys, places, is_reversed, &|| work.check())?)
            }
        };
        work.check()?;
        Ok(RangeIndex { first, second })
    }
}

impl Source for BuildRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.built()?.matched.as_ref().map_or(0, RowMarks::units))
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let join = &*self.0;
        let built = join.built()?;
        let marks = built.matched.as_ref().ok_or_else(|| Error::internal("build rows were not marked"))?;
        in_unit(marks, unit, join.kind == Kind::BuildSemi, work.query.settings.batch_rows, &mut |rows| {
            push(join.columns.of_build(&built.columns, rows))
        })
    }
}
