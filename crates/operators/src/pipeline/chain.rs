//! The stages behind a source: batches pass through the transforms to the sink, with small ones merged on the way.
//!
//! A `Chain` is shared by all workers; a `ChainLocal` is one worker's state, with a stage for each transform and one
//! for the sink. Stages that have a cost per batch get small batches merged; what is held back keeps its place in the
//! order and leaves at the end of the unit at the latest. `PipelineSegment` pushes batches into stage 0 and flushes
//! after each unit. With EXPLAIN ANALYZE each stage measures its time together with all below it.

use std::sync::Arc;
use std::time::Instant;

use types::Result;
use vector::Batch;

use super::{Flow, Local, Sink, Transform, Work};

/// Batches below this are held back and merged before a stage that has a cost per batch.
const SMALL_ROWS: usize = 256;
/// Merged batches are passed on once they have this many rows.
const MERGED_ROWS: usize = 1024;
/// Or these bytes of texts.
const MERGED_BYTES_MAX: u64 = 1 << 20;
/// A column whose strings' buffers are together smaller than this is not looked at for its width unless it repeats
/// one of them.
const NARROW_BYTES: usize = 64 << 10;

/// Bytes of the texts that merging copies.
fn merged_bytes(batch: &Batch) -> u64 {
    batch.columns.iter().map(expr::text_bytes).fold(0, u64::saturating_add)
}

/// As `merged_bytes`, of columns that may be wide: those with large buffers, and constants.
fn wide_bytes(batch: &Batch) -> u64 {
    let large = |column: &&vector::Vector| match column.data() {
        vector::Data::Constant(_) => true,
        vector::Data::Bytes(strings) => {
            strings.buffers().iter().map(|buffer| buffer.len()).sum::<usize>() >= NARROW_BYTES
        }
        _ => false,
    };
    batch.columns.iter().filter(large).map(expr::text_bytes).fold(0, u64::saturating_add)
}

/// Transforms and sink of a segment.
pub struct Chain {
    /// In the order in which batches pass them.
    pub transforms: Vec<Arc<dyn Transform>>,
    /// What takes the batches at the end.
    pub sink: Arc<dyn Sink>,
}

/// The state of a chain during one work order: one stage per transform, and one for the sink.
pub struct ChainLocal {
    stages: Vec<Stage>,
}

/// One stage's part of `ChainLocal`.
pub struct Stage {
    /// The operator's own state.
    pub local: Local,
    pending: Vec<Batch>,
    pending_rows: usize,
    pending_bytes: u64,
    /// Rows that entered, batches merged included.
    pub rows_in: u64,
    /// Time from entering this stage until everything below it returned.
    pub inclusive_ns: u64,
}

impl Stage {
    fn new(local: Local) -> Self {
        Stage { local, pending: Vec::new(), pending_rows: 0, pending_bytes: 0, rows_in: 0, inclusive_ns: 0 }
    }
}

impl ChainLocal {
    /// The stages, in the order of the chain; the sink's is the last.
    pub fn stages_mut(&mut self) -> &mut [Stage] {
        &mut self.stages
    }
    /// The sink's state, for its `finish`.
    pub fn into_sink_local(mut self) -> Option<Local> {
        self.stages.pop().map(|s| s.local)
    }
}

impl Chain {
    /// A fresh state for one worker.
    pub fn local(&self) -> ChainLocal {
        let mut stages: Vec<Stage> = self.transforms.iter().map(|t| Stage::new(t.local())).collect();
        stages.push(Stage::new(self.sink.local()));
        ChainLocal { stages }
    }

    /// Sends a batch into stage `at` (the sink's is the last).
    pub fn push(
        &self,
        at: usize,
        batch: Batch,
        tag: u64,
        stages: &mut [Stage],
        work: &Work<'_>,
    ) -> Result<Flow> {
        if batch.rows == 0 {
            return Ok(Flow::More);
        }
        stages[0].rows_in += batch.selected_rows() as u64;
        let merge = match self.transforms.get(at) {
            Some(transform) => transform.wants_full_batches(),
            None => self.sink.wants_full_batches(),
        };
        if merge && batch.rows < SMALL_ROWS {
            let stage = &mut stages[0];
            stage.pending_rows += batch.rows;
            stage.pending_bytes += merged_bytes(&batch);
            stage.pending.push(batch);
            if stage.pending_rows < MERGED_ROWS && stage.pending_bytes < MERGED_BYTES_MAX {
                return Ok(Flow::More);
            }
            return self.run_pending(at, tag, stages, work);
        }
        if stages[0].pending.is_empty() {
            return self.run(at, batch, tag, stages, work);
        }
        // Order is kept: what was held back goes first.
        if self.run_pending(at, tag, stages, work)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        self.run(at, batch, tag, stages, work)
    }

    fn run_pending(&self, at: usize, tag: u64, stages: &mut [Stage], work: &Work<'_>) -> Result<Flow> {
        let pending = std::mem::take(&mut stages[0].pending);
        stages[0].pending_rows = 0;
        stages[0].pending_bytes = 0;
        self.run(at, Batch::concat(&pending), tag, stages, work)
    }

    fn run(&self, at: usize, batch: Batch, tag: u64, stages: &mut [Stage], work: &Work<'_>) -> Result<Flow> {
        let started = work.query.settings.analyze.then(Instant::now);
        let Some((stage, below)) = stages.split_first_mut() else { return Ok(Flow::Enough) };
        let flow = match self.transforms.get(at) {
            Some(transform) => transform.transform(batch, &mut stage.local, work, &mut |out| {
                self.push(at + 1, out, tag, below, work)
            }),
            None => self.consume(batch, tag, &mut stage.local, work),
        };
        if let Some(started) = started {
            stage.inclusive_ns += started.elapsed().as_nanos() as u64;
        }
        flow
    }

    /// Gives the sink a batch, in pieces where its texts written out would take too much: a sink may copy them.
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        if batch.rows > 1 && wide_bytes(&batch) > work.query.piece_bytes_max() {
            return work.halves(batch, &mut |half| self.consume(half, tag, local, work));
        }
        self.sink.consume(batch, tag, local, work)
    }

    /// Sends on everything held back; the end of a unit.
    pub fn flush(&self, tag: u64, local: &mut ChainLocal, work: &Work<'_>) -> Result<Flow> {
        for at in 0..local.stages.len() {
            if !local.stages[at].pending.is_empty()
                && self.run_pending(at, tag, &mut local.stages[at..], work)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
            if self.end_unit(at, tag, &mut local.stages[at..], work)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn end_unit(&self, at: usize, tag: u64, stages: &mut [Stage], work: &Work<'_>) -> Result<Flow> {
        let (Some(transform), Some((stage, below))) = (self.transforms.get(at), stages.split_first_mut())
        else {
            return Ok(Flow::More);
        };
        let started = work.query.settings.analyze.then(Instant::now);
        let flow = transform
            .end_unit(&mut stage.local, tag, work, &mut |out| self.push(at + 1, out, tag, below, work));
        if let Some(started) = started {
            stage.inclusive_ns += started.elapsed().as_nanos() as u64;
        }
        flow
    }

    /// Forgets what is held back: the query wants no more.
    pub fn discard(local: &mut ChainLocal) {
        for stage in &mut local.stages {
            stage.pending.clear();
            stage.pending_rows = 0;
            stage.pending_bytes = 0;
        }
    }
}
