//! The full sort: runs sorted in parallel, merged in parallel by key ranges.
//!
//! The sink collects batches with their tags and, at its end, cuts them into runs in the order of the input. Each
//! work order of the step takes one run out of `inputs`, encodes its keys and sorts it; the step's end samples the
//! runs' keys and cuts all runs at the same splitters, so that a unit of the source is one range and ranges follow
//! each other. Equal keys keep the order of the input: runs are ordered by tag, and of equal rows the earlier run's
//! come first. If any worker has spilled, all rows go to runs in the file instead (`external`).

use arrow_buffer::ToByteSlice;
use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plan::NodeId;
use types::Result;
use vector::interleave::{Pick, interleave};
use vector::{Batch, Vector};

use super::Sort;
use super::external::{TaggedRows, run_parts};
use super::keys::Keys;
use crate::collect::detached_batch;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work, local_state};
use crate::swap::put_together;

/// Rows of a run, and of a merged range, at most: enough that merging costs little compared with sorting.
const RUN_ROWS_MAX: usize = 128 * 1024;
/// At least, so that a run is worth a work order.
const RUN_ROWS_MIN: usize = 4096;
/// Sampled keys per run and range, so that ranges come out within a few per cent of each other.
const SAMPLES_PER_RANGE: usize = 16;

/// The runs of a full sort in memory, from collection to merge.
#[derive(Default)]
pub struct FullState {
    /// Batches of each run, taken by the order that sorts it.
    inputs: Mutex<Vec<Option<Input>>>,
    sorted: Mutex<Vec<Option<Run>>>,
    merge: OnceLock<Merge>,
}

/// Rows of a run, in the order of their tags.
enum Input {
    Memory(Vec<Batch>),
    /// To be written as the run of this number.
    File(u64, TaggedRows),
}

/// The rows that one worker has collected, with their number and bytes.
#[derive(Default)]
struct Held {
    rows: TaggedRows,
    count: usize,
    bytes: usize,
}

/// A sorted run: its rows as they came, and their order.
struct Run {
    rows: Batch,
    keys: Keys,
    order: Vec<u32>,
}

/// Where each range begins in each run: `bounds[range][run]`, with an end behind the last range.
struct Merge {
    runs: Vec<Run>,
    bounds: Vec<Vec<usize>>,
}

/// Collects rows with their tags, and writes runs when memory is short.
pub struct SortSink(pub Arc<Sort>);
/// Sorts the runs, one a work order, then finds the ranges to merge.
pub struct SortRuns(pub Arc<Sort>);
/// Delivers the merged rows; a unit is a range of keys.
pub struct MergedRows(pub Arc<Sort>);

impl Sink for SortSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Held::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let batch = detached_batch(&batch);
        let held = local_state::<Held>(local);
        held.count += batch.rows;
        held.bytes += batch.bytes();
        let rows_held = &self.0.external.rows_held;
        rows_held.fetch_add(batch.rows, Relaxed);
        held.rows.push((tag, batch));
        self.put_away(local, work)?;
        Ok(Flow::More)
    }
    fn put_away(&self, local: &mut Local, work: &Work<'_>) -> Result<()> {
        let held = local_state::<Held>(local);
        let rows_held = &self.0.external.rows_held;
        if work.query.should_spill(held.bytes, self.0.overhead(rows_held.load(Relaxed), held.bytes)) {
            let Held { rows, count, .. } = std::mem::take(held);
            work.put_away(|| self.0.spill_rows(rows, work))?;
            rows_held.fetch_sub(count, Relaxed);
        }
        Ok(())
    }
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let mut rows: TaggedRows = Vec::new();
        let (mut total, mut bytes) = (0, 0);
        for mut local in locals {
            let held = local_state::<Held>(&mut local);
            rows.append(&mut held.rows);
            total += held.count;
            bytes += held.bytes;
        }
        rows.sort_by_key(|(tag, _)| *tag);
        let external = &self.0.external;
        let mut runs: Vec<Option<Input>> = Vec::new();
        if external.has_runs() || query.should_spill(bytes, self.0.overhead(total, bytes)) {
            runs.extend(
                run_parts(rows, super::external::run_bytes_max(query))
                    .into_iter()
                    .map(|part| Some(Input::File(external.next_number(), part))),
            );
        } else {
            let wanted = part_rows(total);
            let mut current = Vec::new();
            let mut count = 0;
            for (_, batch) in rows {
                count += batch.rows;
                current.push(batch);
                if count >= wanted {
                    runs.push(Some(Input::Memory(std::mem::take(&mut current))));
                    count = 0;
                }
            }
            if !current.is_empty() {
                runs.push(Some(Input::Memory(current)));
            }
        }
        *self.0.full.sorted.lock().unwrap_or_else(PoisonError::into_inner) =
            runs.iter().map(|_| None).collect();
        *self.0.full.inputs.lock().unwrap_or_else(PoisonError::into_inner) = runs;
        Ok(())
    }
}

impl Step for SortRuns {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.full.inputs.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()> {
        let at = partition as usize;
        let taken = self
            .0
            .full
            .inputs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(at)
            .and_then(Option::take);
        let batches = match taken {
            None => return Ok(()),
            Some(Input::File(number, rows)) => return self.0.spill_run(number, rows, work),
            Some(Input::Memory(batches)) => batches,
        };
        let bytes: usize = batches.iter().map(Batch::bytes).sum();
        let _room = work.reserve(bytes)?;
        let rows = Batch::concat(&batches);
        drop(batches);
        let keys = self.0.encode_within(&rows, work.query)?;
        let order = keys.sorted(work.query.settings.switches.radix_sort);
        if let Some(slot) = self.0.full.sorted.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
            *slot = Some(Run { rows, keys, order });
        }
        Ok(())
    }
    fn finish(&self, query: &QueryContext) -> Result<()> {
        if self.0.external.has_runs() {
            self.0.begin_external_merge(query);
            return Ok(());
        }
        let runs: Vec<Run> =
            std::mem::take(&mut *self.0.full.sorted.lock().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .flatten()
                .collect();
        let bounds = ranges(&runs);
        // Finish is called once.
        let _ = self.0.full.merge.set(Merge { runs, bounds });
        Ok(())
    }
}

/// Rows of a run or a range, roughly: few enough that every worker has one.
fn part_rows(total: usize) -> usize {
    total.div_ceil(workorder::parallelism() as usize).clamp(RUN_ROWS_MIN, RUN_ROWS_MAX)
}

/// Cuts the runs into ranges of about equal size that follow each other in key order.
fn ranges(runs: &[Run]) -> Vec<Vec<usize>> {
    let total: usize = runs.iter().map(|r| r.order.len()).sum();
    let wanted = total.div_ceil(part_rows(total)).max(1);
    let mut bounds = vec![vec![0; runs.len()]];
    if wanted > 1 && runs.len() > 1 {
        let per_run = (wanted * SAMPLES_PER_RANGE / runs.len()).max(2);
        let mut samples: Vec<(usize, usize)> = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            let step = (run.order.len() / per_run).max(1);
            samples.extend((step..run.order.len()).step_by(step).map(|place| (at, place)));
        }
        let key = |(run, place): &(usize, usize)| (&runs[*run].keys, runs[*run].order[*place] as usize);
        samples.sort_by(|a, b| {
            let ((ka, ra), (kb, rb)) = (key(a), key(b));
            ka.compare(ra, kb, rb)
        });
        for range in 1..wanted {
            let Some(sample) = samples.get(samples.len() * range / wanted) else { continue };
            let (splitter, splitter_row) = key(sample);
            let cut: Vec<usize> = runs
                .iter()
                .map(|run| {
                    run.order.partition_point(|row| {
                        run.keys.compare(*row as usize, splitter, splitter_row).is_lt()
                    })
                })
                .collect();
            bounds.push(cut);
        }
    } else if wanted > 1 {
        bounds.extend((1..wanted).map(|range| vec![total * range / wanted]));
    }
    bounds.push(runs.iter().map(|r| r.order.len()).collect());
    bounds
}

impl Source for MergedRows {
    fn add_memory(&self, bytes: &mut memory::Bytes) {
        bytes.add(&self.0, |sort, name| {
            for run in sort.full.merge.get().into_iter().flat_map(|merge| &merge.runs) {
                name(run.order.to_byte_slice());
                run.keys.each_piece(name);
                run.rows.columns.iter().filter_map(put_together).for_each(&mut *name);
            }
        });
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        if self.0.external.has_runs() {
            return Ok(self.0.external_units());
        }
        let Some(merge) = self.0.full.merge.get() else { return Ok(0) };
        if merge.runs.is_empty() {
            return Ok(0);
        }
        Ok(merge.bounds.len() as u64 - 1)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        if self.0.external.has_runs() {
            return self.0.external_rows(unit, work, push);
        }
        let Some(merge) = self.0.full.merge.get() else { return Ok(Flow::More) };
        let (from, to) = (&merge.bounds[unit as usize], &merge.bounds[unit as usize + 1]);
        // Rows of the order before this range: all of them are before the limit, or some.
        let before: usize = from.iter().sum();
        let mut left = match self.0.limit {
            None => usize::MAX,
            Some(limit) => (limit as usize).saturating_sub(before),
        };
        if work.query.settings.switches.radix_sort {
            return sort_range(merge, from, to, left, work, push);
        }
        let mut heads = from.clone();
        let mut picks: Vec<Pick> = Vec::new();
        let batch_rows = work.query.settings.batch_rows;
        let mut open: Vec<usize> = (0..heads.len()).filter(|run| heads[*run] < to[*run]).collect();
        while left > 0 {
            let Some(run) = smallest(&merge.runs, &heads, &open) else { break };
            picks.push(Pick { source: run as u32, row: merge.runs[run].order[heads[run]] });
            heads[run] += 1;
            left -= 1;
            if heads[run] == to[run] {
                open.retain(|other| *other != run);
            }
            if picks.len() == batch_rows {
                work.check()?;
                if push(picked(&merge.runs, &picks))? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                picks.clear();
            }
        }
        if picks.is_empty() { Ok(Flow::More) } else { push(picked(&merge.runs, &picks)) }
    }
}

/// Puts the rows of one range out: the pieces that the runs have of it are sorted again, which costs less than a
/// comparison with every run for each row. They lie one behind the other by run, so equal keys keep their order.
fn sort_range(
    merge: &Merge,
    from: &[usize],
    to: &[usize],
    limit: usize,
    work: &Work<'_>,
    push: &mut Push<'_>,
) -> Result<Flow> {
    let count: usize = from.iter().zip(to).map(|(from, to)| to - from).sum();
    // A row's place, prefix and packed word, twice.
    let _room = work.reserve(count * 48)?;
    let mut rows: Vec<Pick> = Vec::with_capacity(count);
    for (source, run) in merge.runs.iter().enumerate() {
        let piece = &run.order[from[source]..to[source]];
        rows.extend(piece.iter().map(|row| Pick { source: source as u32, row: *row }));
    }
    // A piece of one run is in order already.
    if merge.runs.len() > 1 {
        let keys: Vec<&Keys> = merge.runs.iter().map(|run| &run.keys).collect();
        let order = Keys::sorted_of(&keys, &rows);
        rows = order.iter().map(|place| rows[*place as usize]).collect();
    }
    rows.truncate(limit);
    // Gathered many at a time: strings of a batch bring the buffers of all runs along each time. A value or a
    // string's view takes at most 16 bytes; the strings' bytes are shared.
    let columns = merge.runs.first().map_or(0, |run| run.rows.columns.len());
    let _gathered = work.reserve(rows.len().min(RUN_ROWS_MAX) * columns * 16)?;
    let batch_rows = work.query.settings.batch_rows.max(1);
    for rows in rows.chunks(RUN_ROWS_MAX) {
        work.check()?;
        let sorted = picked(&merge.runs, rows);
        for from in (0..rows.len()).step_by(batch_rows) {
            work.check()?;
            if push(sorted.slice(from, batch_rows.min(rows.len() - from)))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}

/// The run whose next row comes first; of equal ones the earlier run, which holds earlier input.
fn smallest(runs: &[Run], heads: &[usize], open: &[usize]) -> Option<usize> {
    let row = |run: usize| runs[run].order[heads[run]] as usize;
    let mut best = *open.first()?;
    for run in &open[1..] {
        if runs[*run].keys.compare(row(*run), &runs[best].keys, row(best)) == Ordering::Less {
            best = *run;
        }
    }
    Some(best)
}

fn picked(runs: &[Run], picks: &[Pick]) -> Batch {
    let columns = runs.first().map_or(0, |r| r.rows.columns.len());
    let columns: Vec<Vector> = (0..columns)
        .map(|c| {
            let sources: Vec<Vector> = runs.iter().map(|r| r.rows.columns[c].clone()).collect();
            interleave(&sources, picks)
        })
        .collect();
    Batch::new(columns, picks.len())
}
