//! One hash partition at a time: gathered, sorted, cut into partitions and peers, and every call evaluated.
//!
//! The step has a work order for each hash partition. It gathers the rows in the order of the input, sorts them by
//! partition and order keys unless they come sorted, evaluates the arguments of all calls once, and leaves the
//! finished batch in the window's `output`; the source takes it from there. `Sorted` and `Peers` are made once a hash
//! partition and shared by its calls: a call sees rows as numbers in the window's order. Loops over rows step a
//! `Pace`, so that a statement can be stopped and memory is checked.

use std::sync::{Arc, PoisonError};

use expr::Program;
use plan::{NodeId, WindowFunction};
use types::Result;
use vector::interleave::{Pick, interleave};
use vector::{Batch, Vector};

use super::call::Call;
use super::frames::Frames;
use super::sorted::{Pace, Peers, Sorted, boundaries};
use super::{Window, aggregates, ranks, values};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Step, Work};
use crate::sort::keys::Keys;
use crate::spill::FANOUT;
use crate::values::slices;

/// Rows over which expressions are evaluated at once.
const SLICE_ROWS: usize = 65_536;

/// Evaluates the hash partitions.
pub(super) struct WindowEvaluate(pub Arc<Window>);
/// Delivers the evaluated partitions, or those in the file.
pub(super) struct WindowRows(pub Arc<Window>);

impl Step for WindowEvaluate {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        if self.0.has_spilled() {
            return Ok(self.0.spill_orders());
        }
        let partitions = self.0.input.get().map_or(0, super::sink::Collected::partitions);
        *self.0.output.lock().unwrap_or_else(PoisonError::into_inner) =
            (0..partitions).map(|_| None).collect();
        Ok(partitions as u64)
    }
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()> {
        if self.0.has_spilled() {
            return self.0.spill_rest(partition as usize, work);
        }
        let at = partition as usize;
        if let Some(rows) = self.0.evaluate(at, work)?
            && let Some(slot) = self.0.output.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at)
        {
            *slot = Some(rows);
        }
        Ok(())
    }
    fn finish(&self, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
}

impl Source for WindowRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        if self.0.has_spilled() {
            return Ok(FANOUT as u64);
        }
        Ok(self.0.output.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        if self.0.has_spilled() {
            return self.0.push_spilled(unit as usize, work, push);
        }
        let rows = self
            .0
            .output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(unit as usize)
            .and_then(Option::take);
        match rows {
            Some(rows) => slices(&rows, work.query.settings.batch_rows, push),
            None => Ok(Flow::More),
        }
    }
}

impl Window {
    /// The rows of a hash partition with the calls' columns; `None` for an empty one.
    fn evaluate(&self, at: usize, work: &Work<'_>) -> Result<Option<Batch>> {
        let Some(input) = self.input.get() else { return Ok(None) };
        let picks: Vec<Pick> = input.partition(at).concat();
        if picks.is_empty() {
            return Ok(None);
        }
        // Gathered once as it comes and once in order; then the arguments and results.
        let _room = work.reserve(2 * input.bytes() / input.partitions().max(1))?;
        let mut columns = Vec::with_capacity(input.columns() + self.calls.len());
        for column in 0..input.columns() {
            work.check()?;
            columns.push(interleave(&input.column(column), &picks));
        }
        let batch = Batch::new(columns, picks.len());
        drop(picks);
        self.evaluate_rows(batch, work).map(Some)
    }

    /// Whole partitions, in the order of the input, with the calls' columns and in the window's order.
    pub(super) fn evaluate_rows(&self, mut batch: Batch, work: &Work<'_>) -> Result<Batch> {
        let mut pace = Pace::new(work);
        let mut keys = evaluate(&self.key_program, &batch, work)?;
        if !self.sorted {
            let encoded = Keys::encode(self.shape, &keys, &self.keys, batch.rows);
            work.check()?;
            let order = encoded.sorted_checked(&|| work.check())?;
            drop(encoded);
            keys = keys.iter().map(|k| k.gather(&order)).collect();
            for column in &mut batch.columns {
                work.check()?;
                *column = column.gather(&order);
            }
        }
        let arguments = evaluate(&self.argument_program, &batch, work)?;
        let order_keys = keys.split_off(self.parts);
        let (parts, order) = self.keys.split_at(self.parts);
        let segments = boundaries(&keys, parts, batch.rows, &[0, batch.rows as u32], &mut pace)?;
        let sorted =
            Sorted { rows: batch.rows, segments, arguments, keys: order_keys, order: order.to_vec() };
        let mut peers: Vec<(usize, Peers)> = Vec::new();
        for call in &self.calls {
            work.check()?;
            let own = call.call.peers;
            if !peers.iter().any(|(keys, _)| *keys == own) {
                peers.push((own, sorted.peers(own, &mut pace)?));
            }
            let Some((_, peers)) = peers.iter().find(|(keys, _)| *keys == own) else { continue };
            let result = call.evaluate(&sorted, peers, &mut pace)?;
            batch.columns.push(result);
        }
        Ok(batch)
    }
}

impl Call {
    fn evaluate(&self, sorted: &Sorted, peers: &Peers, pace: &mut Pace<'_>) -> Result<Vector> {
        use WindowFunction as F;
        match &self.call.function {
            F::RowNumber | F::Rank | F::DenseRank | F::PercentRank | F::CumeDist => {
                ranks::evaluate(self, sorted, peers, pace)
            }
            F::Ntile => ranks::ntile(self, sorted, pace),
            F::Lag | F::Lead => values::shifted(self, sorted, pace),
            F::FirstValue | F::LastValue | F::NthValue => {
                let frames = Frames::new(self, sorted, peers, pace)?;
                values::of_frame(self, sorted, &frames, pace)
            }
            F::Aggregate(function) => {
                let frames = Frames::new(self, sorted, peers, pace)?;
                aggregates::evaluate(self, function, sorted, &frames, pace)
            }
        }
    }
}

/// The program's results over all rows, a slice at a time.
fn evaluate(program: &Program, batch: &Batch, work: &Work<'_>) -> Result<Vec<Vector>> {
    if batch.rows <= SLICE_ROWS {
        return Ok(work.query.evaluate(program, batch)?.iter().map(Vector::flatten).collect());
    }
    let mut parts: Vec<Vec<Vector>> = Vec::new();
    let mut at = 0;
    while at < batch.rows {
        work.check()?;
        let rows = SLICE_ROWS.min(batch.rows - at);
        parts.push(
            work.query.evaluate(program, &batch.slice(at, rows))?.iter().map(Vector::flatten).collect(),
        );
        at += rows;
    }
    let columns = parts.first().map_or(0, Vec::len);
    Ok((0..columns).map(|c| Vector::concat(&parts.iter().map(|p| &p[c]).collect::<Vec<_>>())).collect())
}
