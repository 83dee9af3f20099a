//! The full sort of more rows than memory holds: sorted runs in a file, merged as a stream.
//!
//! ```text
//!  sink, a worker short of memory     its rows, sorted, become a run          number 0, 1, 2 ...
//!  step                               what is left in memory becomes runs too
//!  source, a unit a range of keys     one piece of each run in memory, merged by a heap
//! ```
//! A run's rows carry the tag of their unit, so that equal keys stand in the order of the input as they do in memory:
//! rows are ordered by key, tag and number of the run. A unit's rows are all one worker's, and a worker's runs have
//! ascending numbers, so of one unit the earlier rows lie in the run with the lower number.
//!
//! The first key of every piece stays in memory: it tells where ranges begin. More runs than can be merged at once
//! are first merged into fewer, neighbours together, which keeps the order of the numbers.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pool::spill::{SpillFile, SpillStream};
use types::{Result, Type};
use vector::interleave::{Pick, interleave};
use vector::{Batch, Data, Vector};

use super::Sort;
use super::keys::{Keys, Shape};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Push, Work};
use crate::spill::count_spilled;

/// Rows sorted in one go: about a tenth of a second, between two looks at the signal.
const RUN_ROWS_MAX: usize = 1 << 20;
/// What sorting and merging take in addition to the rows: keys, places and packed words, twice.
pub(super) const ROW_OVERHEAD: usize = 64;
/// Runs that are merged at once, whatever memory there is, and at most.
const MERGED_MIN: usize = 4;
const MERGED_MAX: usize = 256;

/// Rows with the tag of their unit.
pub(super) type TaggedRows = Vec<(u64, Batch)>;

/// The runs of a sort in its file, and how they are merged.
#[derive(Default)]
pub(super) struct ExternalState {
    /// Rows that all workers hold in memory.
    pub rows_held: AtomicUsize,
    numbers: AtomicU64,
    file: Mutex<Option<Arc<SpillFile>>>,
    runs: Mutex<Vec<Run>>,
    merge: OnceLock<Merge>,
}

struct Run {
    number: u64,
    stream: SpillStream,
    /// The first key of each piece.
    firsts: Vec<Keys>,
}

struct Merge {
    runs: Vec<Run>,
    /// Where ranges end; one less than there are ranges.
    splitters: Vec<Keys>,
    /// Runs merged at once; decided with the ranges, since what memory is free changes from unit to unit.
    at_once: usize,
}

impl ExternalState {
    /// Whether any run has been written, so that the rows have to come from files.
    pub fn has_runs(&self) -> bool {
        self.numbers.load(Relaxed) > 0
    }
    /// The number of the next run; a worker's runs have ascending ones.
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }
    fn file(&self, query: &QueryContext) -> Result<Arc<SpillFile>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match &*file {
            Some(file) => Ok(file.clone()),
            None => Ok(file.insert(query.spill_file()?).clone()),
        }
    }
    fn runs(&self) -> std::sync::MutexGuard<'_, Vec<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows of a run with what sorting them takes: each worker may be at one, in addition to the rows that are still
/// held.
pub(super) fn run_bytes_max(query: &QueryContext) -> usize {
    let each = query.budget.limit() / 8 / workorder::parallelism().max(1);
    usize::try_from(each).unwrap_or(usize::MAX)
}

/// Rows in parts that are sorted in one go, each taken out of memory before the next begins.
pub(super) fn run_parts(rows: TaggedRows, bytes_max: usize) -> Vec<TaggedRows> {
    let mut parts = vec![];
    let mut part = vec![];
    let (mut count, mut bytes) = (0, 0);
    for (tag, batch) in rows {
        count += batch.rows;
        bytes += batch.bytes() + batch.rows * ROW_OVERHEAD;
        part.push((tag, batch));
        if count >= RUN_ROWS_MAX || bytes >= bytes_max {
            parts.push(std::mem::take(&mut part));
            (count, bytes) = (0, 0);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

impl Sort {
    /// What completing the sort takes in addition to rows of so many bytes.
    pub(super) fn overhead(&self, rows: usize, bytes: usize) -> usize {
        let keys = if self.shape == Shape::Wide { bytes } else { 0 };
        rows * ROW_OVERHEAD + keys
    }

    /// A worker's rows leave memory.
    pub(super) fn spill_rows(&self, mut rows: TaggedRows, work: &Work<'_>) -> Result<()> {
        rows.sort_by_key(|(tag, _)| *tag);
        for part in run_parts(rows, run_bytes_max(work.query)) {
            work.check()?;
            let number = self.external.next_number();
            self.spill_run(number, part, work)?;
        }
        Ok(())
    }

    /// Sorts rows, which stand in the order of their tags, into a run.
    pub(super) fn spill_run(&self, number: u64, rows: TaggedRows, work: &Work<'_>) -> Result<()> {
        let file = self.external.file(work.query)?;
        let (tags, batches): (Vec<u64>, Vec<Batch>) = rows.into_iter().unzip();
        let keys = batches
            .iter()
            .map(|batch| self.encode_within(batch, work.query))
            .collect::<Result<Vec<Keys>>>()?;
        let count: usize = batches.iter().map(|b| b.rows).sum();
        let bytes: usize = batches.iter().map(Batch::bytes).sum();
        let mut picks = Vec::with_capacity(count);
        for (source, batch) in batches.iter().enumerate() {
            picks.extend((0..batch.rows as u32).map(|row| Pick { source: source as u32, row }));
        }
        let order = Keys::sorted_of(&keys.iter().collect::<Vec<_>>(), &picks);
        let picks: Vec<Pick> = order.into_iter().map(|place| picks[place as usize]).collect();
        let mut writer = RunWriter::new(number, &file);
        for picks in picks.chunks(rows_per_piece(&file, count, bytes)) {
            work.check()?;
            let Some(first) = picks.first() else { continue };
            let first = keys[first.source as usize].single(first.row as usize);
            let tags = picks.iter().map(|pick| tags[pick.source as usize] as i64).collect();
            writer.push(first, with_tags(picked(&batches, picks), tags))?;
        }
        self.external.runs().push(writer.run);
        Ok(())
    }

    /// All runs are written: what the source merges.
    pub(super) fn begin_external_merge(&self, query: &QueryContext) {
        let mut runs = std::mem::take(&mut *self.external.runs());
        runs.sort_by_key(|run| run.number);
        let file = self.external.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*file {
            count_spilled(query, self.node, file.bytes());
            query.metrics.count(self.node, "runs in files", runs.len() as u64);
        }
        let bytes: u64 = runs.iter().map(|run| run.stream.bytes()).sum();
        let piece = file.as_ref().map_or(1, |file| file.piece_bytes()) as u64;
        // A range reads a part of a piece of each run that its neighbour reads too. A limit counts rows from the
        // first on, and too many runs are merged in several passes: both are one unit.
        let at_once = merged_at_once(query, piece as usize);
        let ranges = if self.limit.is_some() || runs.len() > at_once {
            1
        } else {
            (bytes / (runs.len().max(1) as u64 * piece * 4)).clamp(1, 4 * workorder::parallelism())
        };
        let splitters = splitters(&runs, ranges as usize);
        // Called once.
        let _ = self.external.merge.set(Merge { runs, splitters, at_once });
    }

    /// Units of the source.
    pub(super) fn external_units(&self) -> u64 {
        self.external.merge.get().map_or(0, |merge| merge.splitters.len() as u64 + 1)
    }

    /// Merges one range of keys and delivers its rows in order.
    pub(super) fn external_rows(&self, unit: u64, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let Some(merge) = self.external.merge.get() else { return Ok(Flow::More) };
        let from = (unit as usize).checked_sub(1).map(|at| &merge.splitters[at]);
        let to = merge.splitters.get(unit as usize);
        let mut left = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut emit = |mut batch: Batch, _: Keys| {
            // The tags.
            batch.columns.pop();
            let rows = batch.rows.min(left);
            left -= rows;
            let batch = if rows < batch.rows { batch.slice(0, rows) } else { batch };
            if push(batch)? == Flow::Enough || left == 0 { Ok(Flow::Enough) } else { Ok(Flow::More) }
        };
        let rows = work.query.settings.batch_rows.max(1);
        let file = self.external.file(work.query)?;
        let most = merge.at_once;
        if merge.runs.len() <= most {
            return self.merge_runs(
                &merge.runs.iter().collect::<Vec<_>>(),
                (from, to),
                rows,
                work,
                &mut emit,
            );
        }
        let mut merged: Vec<Run> = vec![];
        let before = file.bytes();
        let mut level: Vec<&Run> = merge.runs.iter().collect();
        loop {
            let mut next = vec![];
            for part in level.chunks(most) {
                let count: u64 = part.iter().map(|run| run.stream.rows()).sum();
                let bytes: u64 = part.iter().map(|run| run.stream.bytes()).sum();
                let mut writer = RunWriter::new(next.len() as u64, &file);
                let rows = rows_per_piece(&file, count as usize, bytes as usize);
                self.merge_runs(part, (None, None), rows, work, &mut |batch, first| {
                    writer.push(first, batch)?;
                    Ok(Flow::More)
                })?;
                next.push(writer.run);
            }
            merged = next;
            level = merged.iter().collect();
            if level.len() <= most {
                break;
            }
        }
        count_spilled(work.query, self.node, file.bytes() - before);
        self.merge_runs(&level, (None, None), rows, work, &mut emit)
    }

    /// Puts the rows of `runs` from one key (included) to another (not included) out in order, their tags as the last
    /// column, `batch_rows` at a time; each batch with its first key.
    fn merge_runs(
        &self,
        runs: &[&Run],
        (from, to): (Option<&Keys>, Option<&Keys>),
        batch_rows: usize,
        work: &Work<'_>,
        emit: &mut dyn FnMut(Batch, Keys) -> Result<Flow>,
    ) -> Result<Flow> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            work.check()?;
            let mut cursor = Cursor { sort: self, run, to, piece: 0, loaded: None, row: 0 };
            cursor.begin(from)?;
            cursors.push(cursor);
        }
        let mut heap: Vec<usize> = (0..cursors.len()).filter(|at| cursors[*at].loaded.is_some()).collect();
        for at in (0..heap.len() / 2).rev() {
            sink(&mut heap, at, &cursors);
        }
        // Pieces that the picks point into; those of cursors that went on stay until the picks are gathered.
        let mut sources: Vec<Batch> = vec![];
        let mut source_of: Vec<Option<u32>> = vec![None; cursors.len()];
        let mut picks: Vec<Pick> = Vec::with_capacity(batch_rows);
        let mut first = None;
        // Bytes of pieces that only picks hold.
        let (mut passed, passed_max) = (0, work.query.piece_bytes_max());
        while let Some(&top) = heap.first() {
            let cursor = &mut cursors[top];
            let Some(loaded) = &cursor.loaded else { break };
            let source = *source_of[top].get_or_insert_with(|| {
                sources.push(loaded.batch.clone());
                sources.len() as u32 - 1
            });
            first.get_or_insert_with(|| loaded.keys.single(cursor.row));
            picks.push(Pick { source, row: cursor.row as u32 });
            cursor.row += 1;
            if cursor.row == loaded.end {
                work.check()?;
                passed += loaded.batch.bytes() as u64;
                source_of[top] = None;
                cursor.load()?;
            }
            if cursor.loaded.is_none() {
                heap.swap_remove(0);
            }
            sink(&mut heap, 0, &cursors);
            if (picks.len() >= batch_rows || passed >= passed_max)
                && let Some(first) = first.take()
            {
                let batch = picked(&sources, &picks);
                picks.clear();
                passed = 0;
                sources.clear();
                source_of.fill(None);
                work.check()?;
                if emit(batch, first)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
        }
        match first {
            Some(first) => emit(picked(&sources, &picks), first),
            None => Ok(Flow::More),
        }
    }
}

/// Runs that can be merged at once: each takes a piece, and its keys.
fn merged_at_once(query: &QueryContext, piece_bytes: usize) -> usize {
    let memory = match query.settings.operator_bytes {
        // A bound for what is kept; tests set one that no piece fits.
        Some(bound) => bound.max(MERGED_MIN * 3 * piece_bytes),
        None => query.partition_bytes_max(),
    };
    (memory / (3 * piece_bytes)).clamp(MERGED_MIN, MERGED_MAX)
}

fn rows_per_piece(file: &SpillFile, rows: usize, bytes: usize) -> usize {
    // The tags come on top.
    (file.piece_bytes() / (bytes / rows.max(1) + 8)).max(1)
}

/// Keys that cut all runs together into so many ranges of about equal size; fewer, where keys repeat.
fn splitters(runs: &[Run], ranges: usize) -> Vec<Keys> {
    let mut firsts: Vec<&Keys> = runs.iter().flat_map(|run| &run.firsts).collect();
    firsts.sort_by(|a, b| a.compare(0, b, 0));
    let mut found: Vec<Keys> = vec![];
    for range in 1..ranges {
        let Some(key) = firsts.get(firsts.len() * range / ranges) else { continue };
        if found.last().is_none_or(|last| last.compare(0, key, 0).is_lt()) {
            found.push((*key).clone());
        }
    }
    found
}

fn picked(sources: &[Batch], picks: &[Pick]) -> Batch {
    let columns = sources.first().map_or(0, |batch| batch.columns.len());
    let columns = (0..columns).map(|c| {
        let sources: Vec<Vector> = sources.iter().map(|batch| batch.columns[c].clone()).collect();
        interleave(&sources, picks)
    });
    Batch::new(columns.collect(), picks.len())
}

fn with_tags(mut batch: Batch, tags: Vec<i64>) -> Batch {
    batch.columns.push(Vector::from_i64(Type::BigInt, tags));
    batch
}

struct RunWriter {
    run: Run,
}

impl RunWriter {
    fn new(number: u64, file: &Arc<SpillFile>) -> Self {
        RunWriter { run: Run { number, stream: SpillStream::new(file), firsts: vec![] } }
    }
    /// A batch is a piece.
    fn push(&mut self, first: Keys, batch: Batch) -> Result<()> {
        self.run.firsts.push(first);
        self.run.stream.push(batch)?;
        self.run.stream.flush()
    }
}

/// A place in a run.
struct Cursor<'a> {
    sort: &'a Sort,
    run: &'a Run,
    to: Option<&'a Keys>,
    /// The piece to load next.
    piece: usize,
    /// `None` behind the last row of the range.
    loaded: Option<Loaded>,
    row: usize,
}

struct Loaded {
    batch: Batch,
    keys: Keys,
    /// The first row that is not of the range.
    end: usize,
}

impl Cursor<'_> {
    /// Goes to the first row whose key is not less than `from`.
    fn begin(&mut self, from: Option<&Keys>) -> Result<()> {
        let Some(from) = from else { return self.load() };
        let behind = self.run.firsts.partition_point(|first| first.compare(0, from, 0).is_lt());
        self.piece = behind.saturating_sub(1);
        self.load()?;
        if let Some(loaded) = &self.loaded {
            self.row = first_not_less(&loaded.keys, from);
            if self.row >= loaded.end {
                self.load()?;
            }
        }
        Ok(())
    }
    fn load(&mut self) -> Result<()> {
        self.loaded = None;
        self.row = 0;
        let Some(first) = self.run.firsts.get(self.piece) else { return Ok(()) };
        if self.to.is_some_and(|to| !first.compare(0, to, 0).is_lt()) {
            return Ok(());
        }
        let batch = self.run.stream.read(self.piece)?;
        self.piece += 1;
        let keys = self.sort.encode(&batch)?;
        let end = self.to.map_or(batch.rows, |to| first_not_less(&keys, to));
        self.loaded = Some(Loaded { batch, keys, end });
        Ok(())
    }
    fn tag(&self) -> i64 {
        match self.loaded.as_ref().and_then(|l| l.batch.columns.last()).map(Vector::data) {
            Some(Data::I64(tags)) => tags[self.row],
            _ => 0,
        }
    }
    fn compare(&self, other: &Cursor<'_>) -> Ordering {
        let (Some(a), Some(b)) = (&self.loaded, &other.loaded) else { return Ordering::Equal };
        let by_key = a.keys.compare(self.row, &b.keys, other.row);
        by_key.then_with(|| self.tag().cmp(&other.tag())).then_with(|| self.run.number.cmp(&other.run.number))
    }
}

fn first_not_less(keys: &Keys, bound: &Keys) -> usize {
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.compare(middle, bound, 0).is_lt() { low = middle + 1 } else { high = middle }
    }
    low
}

/// Moves the cursor at `at` down to where none below comes before it.
fn sink(heap: &mut [usize], mut at: usize, cursors: &[Cursor<'_>]) {
    loop {
        let mut first = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && cursors[heap[child]].compare(&cursors[heap[first]]).is_lt() {
                first = child;
            }
        }
        if first == at {
            return;
        }
        heap.swap(at, first);
        at = first;
    }
}
