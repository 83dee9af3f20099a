//! The input of a window node: batches as they come, their rows numbered by hash partition.
//!
//! Each worker keeps its batches with the tag of the unit and, for each batch, the row numbers in the order of their
//! partitions; rows are not moved. Bytes and rows of all workers are counted in the window for the decision to spill,
//! which writes a worker's batches to the file (`spilled`). `finish` puts the batches in the order of their tags into
//! one `Collected`, from which each hash partition gathers its rows in the order of the input.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hash::hashing::hash_columns;
use plan::NodeId;
use types::Result;
use vector::interleave::Pick;
use vector::{Batch, Vector};

use super::Window;
use super::first_rows::{Bounds, FirstRows, Places};
use crate::collect::detached_batch;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Sink, Work, local_state};
use crate::sort::keys::{Keys, shape};

/// A batch whose rows are listed partition by partition: those of `p` are `rows[ends[p - 1]..ends[p]]`. One partition
/// needs no list.
struct Parted {
    batch: Batch,
    rows: Vec<u32>,
    ends: Vec<u32>,
    /// Where only first rows are wanted: what the last bounds of worker `worker` are compared with.
    places: Option<Places>,
    worker: usize,
}

#[derive(Default)]
struct Kept {
    first: Option<FirstRows>,
    /// Dropping rows that are not among the first of their partition did not pay and was given up.
    all: bool,
    batches: Vec<(u64, Parted)>,
    bytes: usize,
    rows: usize,
}

/// All input, in its order.
#[derive(Default)]
pub(super) struct Collected {
    batches: Vec<Parted>,
    /// By worker.
    bounds: Vec<Option<Bounds>>,
    partitions: usize,
}

/// The window's sink.
pub(super) struct WindowSink(pub Arc<Window>);

impl Sink for WindowSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Kept::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let window = &self.0;
        let mut batch = batch;
        let kept = local_state::<Kept>(local);
        let mut places = None;
        let (rows, ends) = if window.hash_partitions > 1 {
            let mut columns = work.query.evaluate(&window.key_program, &batch)?;
            let mut kept_rows = Places::default();
            if let Some(wanted) = kept.wanted(window, &columns, batch.rows, &mut kept_rows, work)? {
                batch = batch.gather(&wanted);
                columns = columns.iter().map(|column| column.gather(&wanted)).collect();
            }
            columns.truncate(window.parts);
            places = kept.first.is_some().then_some(kept_rows);
            by_partition(&columns, batch.rows, window.hash_partitions)
        } else {
            (vec![], vec![])
        };
        let batch = detached_batch(&batch);
        let bytes = batch.bytes() + places.as_ref().map_or(0, Places::bytes);
        kept.bytes += bytes;
        kept.rows += batch.rows;
        window.held_bytes.fetch_add(bytes, Relaxed);
        window.held_rows.fetch_add(batch.rows, Relaxed);
        kept.batches.push((tag, Parted { batch, rows, ends, places, worker: 0 }));
        self.put_away(local, work)?;
        Ok(Flow::More)
    }
    fn put_away(&self, local: &mut Local, work: &Work<'_>) -> Result<()> {
        let (window, kept) = (&self.0, local_state::<Kept>(local));
        let more = window.output_bytes(window.held_rows.load(Relaxed), window.held_bytes.load(Relaxed));
        if window.can_spill() && work.query.should_spill(kept.bytes, more) {
            let (batches, bytes, rows) = (
                std::mem::take(&mut kept.batches),
                std::mem::take(&mut kept.bytes),
                std::mem::take(&mut kept.rows),
            );
            window.held_bytes.fetch_sub(bytes, Relaxed);
            window.held_rows.fetch_sub(rows, Relaxed);
            let rows = batches.into_iter().map(|(tag, parted)| (tag, parted.batch)).collect();
            work.put_away(|| window.spill(rows, work))?;
        }
        Ok(())
    }
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let mut all: Vec<(u64, Parted)> = Vec::new();
        let mut bounds = Vec::with_capacity(locals.len());
        for (worker, mut local) in locals.into_iter().enumerate() {
            let kept = local_state::<Kept>(&mut local);
            kept.batches.iter_mut().for_each(|(_, parted)| parted.worker = worker);
            all.append(&mut kept.batches);
            bounds.push(kept.first.take().map(FirstRows::into_bounds));
        }
        all.sort_by_key(|(tag, _)| *tag);
        let (bytes, rows) = (self.0.held_bytes.load(Relaxed), self.0.held_rows.load(Relaxed));
        let is_short = || query.should_spill(bytes, self.0.output_bytes(rows, bytes));
        if self.0.can_spill() && (self.0.has_spilled() || is_short()) {
            return self.0.begin_spilling(all.into_iter().map(|(tag, parted)| (tag, parted.batch)), query);
        }
        let batches = all.into_iter().map(|(_, parted)| parted).collect();
        // Finish is called once.
        let _ = self.0.input.set(Collected { batches, bounds, partitions: self.0.hash_partitions });
        Ok(())
    }
}

impl Kept {
    /// The rows that a filter above may let through, by the results of the key program; `None` for all.
    fn wanted(
        &mut self,
        window: &Window,
        keys: &[Vector],
        rows: usize,
        places: &mut Places,
        work: &Work<'_>,
    ) -> Result<Option<Vec<u32>>> {
        let Some((first, layout)) = window.first.as_ref().filter(|_| !self.all) else { return Ok(None) };
        let (partition, order) = keys.split_at(window.parts);
        let shape = shape(&window.keys[window.parts..]);
        let order = Keys::encode(shape, order, &window.keys[window.parts..], rows).prefixes();
        let partition: Vec<Vector> = partition.iter().map(Vector::flatten).collect();
        let looking = self.first.get_or_insert_with(|| FirstRows::new(*first, layout));
        let wanted = looking.retain(layout, &partition, &order, places)?;
        // Short of memory, room is for the rows, which can go to files.
        if !looking.pays() || work.query.should_spill(looking.bytes(), 0) {
            (self.first, self.all) = (None, true);
        }
        Ok(wanted)
    }
}

/// Row numbers in order of their hash partition, and where each partition ends.
fn by_partition(columns: &[Vector], rows: usize, partitions: usize) -> (Vec<u32>, Vec<u32>) {
    let mut hashes = Vec::new();
    hash_columns(columns, rows, &mut hashes);
    let part = |hash: u64| (hash >> 40) as usize % partitions;
    let mut ends = vec![0u32; partitions];
    hashes.iter().for_each(|h| ends[part(*h)] += 1);
    let mut next = Vec::with_capacity(partitions);
    let mut total = 0;
    for end in &mut ends {
        next.push(total);
        total += *end;
        *end = total;
    }
    let mut order = vec![0u32; rows];
    for (row, hash) in hashes.iter().enumerate() {
        let slot = &mut next[part(*hash)];
        order[*slot as usize] = row as u32;
        *slot += 1;
    }
    (order, ends)
}

impl Collected {
    /// The number of hash partitions; 0 without input.
    pub(super) fn partitions(&self) -> usize {
        if self.batches.is_empty() { 0 } else { self.partitions }
    }
    /// Bytes of all batches.
    pub(super) fn bytes(&self) -> usize {
        self.batches.iter().map(|p| p.batch.bytes()).sum()
    }
    /// The rows of one hash partition, in the order of the input.
    pub(super) fn partition(&self, at: usize) -> Vec<Vec<Pick>> {
        let of = |(source, parted): (usize, &Parted)| -> Vec<Pick> {
            let pick = |row: u32| Pick { source: source as u32, row };
            if self.partitions == 1 {
                return (0..parted.batch.rows as u32).map(pick).collect();
            }
            let start = if at == 0 { 0 } else { parted.ends[at - 1] as usize };
            let rows = &parted.rows[start..parted.ends[at] as usize];
            let bounds = self.bounds.get(parted.worker).and_then(Option::as_ref);
            match (bounds, &parted.places) {
                (Some(bounds), Some(places)) => rows
                    .iter()
                    .filter(|row| bounds.keep(places, **row as usize))
                    .map(|row| pick(*row))
                    .collect(),
                _ => rows.iter().map(|row| pick(*row)).collect(),
            }
        };
        self.batches.iter().enumerate().map(of).collect()
    }
    /// The number of columns; 0 without input.
    pub(super) fn columns(&self) -> usize {
        self.batches.first().map_or(0, |p| p.batch.columns.len())
    }
    /// One column of every batch, in the order of the input.
    pub(super) fn column(&self, at: usize) -> Vec<Vector> {
        self.batches.iter().map(|p| p.batch.columns[at].clone()).collect()
    }
}
