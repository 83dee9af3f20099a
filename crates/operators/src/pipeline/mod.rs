//! The frame every operator fits into: sources, transforms, sinks, and the segment that runs them.
//!
//! ```text
//!  work order [start, end)          one unit: a block, a row group, a partition, a run
//!     for each unit
//!        source.run(unit) --batch--> transform 0 --batch--> transform 1 --> ... --> sink.consume(tag, batch)
//!        flush what transforms and the coalescing hold back
//! ```
//! Everything of a unit goes down the pipeline before the next begins, and the sink is told the unit's tag, so a
//! sink that keeps order (results, inserts) sorts by tag and is right whatever worker did which unit.
//!
//! Local state (`Local`) is checked out per work order and given back after it: workers own nothing.

mod chain;
mod segment;

use std::any::Any;

use plan::NodeId;
use types::Result;
use vector::Batch;
use workorder::{UnitOfTransfer, WorkContext};

pub use chain::Chain;
pub use segment::{Branch, PipelineSegment, SinkInput, Step, StepSegment};

use crate::context::{QueryContext, canceled, out_of_memory};

/// Whether more input is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The stage takes further batches.
    More,
    /// Nothing that comes after can change the result.
    Enough,
}

/// Where a stage hands its batches.
pub type Push<'a> = dyn FnMut(Batch) -> Result<Flow> + 'a;

/// As `Push`, of a source whose batches are units of their own: the number of the unit comes with each.
pub type PushPlaced<'a> = dyn FnMut(u64, Batch) -> Result<Flow> + 'a;

/// What hands out a source's units while they come, instead of a range that is known when it starts.
pub trait Feed {
    /// The next unit as an order of the consumer.
    fn claim(&self) -> workorder::Claim;
    /// The unit that the next claim takes, as far as is known.
    fn peek(&self) -> Option<u64>;
    /// The producers in this engine have ended.
    fn inputs_finished(&self);
    /// The consumer wants no more than what it has claimed.
    fn close(&self);
}

/// State of one stage during a work order, kept from order to order.
pub type Local = Box<dyn Any + Send>;

/// What a stage may use while it works.
pub struct Work<'a> {
    /// The query's settings, memory and snapshot.
    pub query: &'a QueryContext,
    /// The scheduler's side: stop signals, waiting, and the worker's place.
    pub context: &'a WorkContext<'a>,
}

impl Work<'_> {
    /// Writes a state to files. Of a query that is held that is done before the order stands still, or the memory
    /// would not be free.
    pub fn put_away(&self, write: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.query.is_held() {
            true => self.context.undisturbed(write).unwrap_or(Ok(())),
            false => write(),
        }
    }

    /// Asks for room before a large allocation. As with `check`, a stream whose rows are on their way waits for
    /// others'.
    pub fn reserve(&self, bytes: usize) -> Result<memory::Reservation> {
        let wanted = || self.query.budget.reserve(bytes as u64);
        let refused = match wanted() {
            Ok(room) => return Ok(room),
            Err(refused) => refused,
        };
        let mut room = None;
        self.context.wait_for_memory(|| {
            room = wanted().ok();
            room.is_some()
        });
        match room {
            Some(room) => Ok(room),
            None if self.context.should_stop() => Err(canceled()),
            None => Err(out_of_memory(refused)),
        }
    }

    /// To be called at every batch of a loop that may be long.
    pub fn check(&self) -> Result<()> {
        self.query.check(self.context)
    }

    /// Computes a program's values with room asked for, and hands them on with their rows: all at once or, where they
    /// would be too wide, in halves of the batch.
    pub fn evaluated(
        &self,
        program: &expr::Program,
        batch: Batch,
        each: &mut dyn FnMut(Batch, Vec<vector::Vector>) -> Result<Flow>,
    ) -> Result<Flow> {
        let evaluate = |batch: &Batch, room: expr::Room<'_>| program.evaluate_within(batch, room);
        self.within_room(&evaluate, batch, each)
    }

    /// Computes something of a batch with room asked for, and hands it on with its rows: all at once or, where it would
    /// be too wide, in halves of the batch.
    pub fn within_room<T>(
        &self,
        compute: &dyn Fn(&Batch, expr::Room<'_>) -> Result<T>,
        batch: Batch,
        each: &mut dyn FnMut(Batch, T) -> Result<Flow>,
    ) -> Result<Flow> {
        let ask = |bytes: u64| self.reserve(bytes as usize).map(drop);
        match compute(&batch, expr::Room::in_pieces(&ask, self.query.piece_bytes_max())) {
            Ok(values) => each(batch, values),
            Err(error) if expr::is_too_wide(&error) => {
                self.halves(batch, &mut |half| self.within_room(compute, half, each))
            }
            Err(error) => Err(error),
        }
    }

    /// The two halves of a batch of several rows, one after the other.
    pub fn halves(&self, batch: Batch, each: &mut dyn FnMut(Batch) -> Result<Flow>) -> Result<Flow> {
        let batch = batch.dense();
        let middle = batch.rows / 2;
        for (from, rows) in [(0, middle), (middle, batch.rows - middle)] {
            if rows > 0 {
                self.check()?;
                if each(batch.slice(from, rows))? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
        }
        Ok(Flow::More)
    }
}

/// The beginning of a pipeline.
pub trait Source: Send + Sync {
    /// The plan node whose rows these are, for metrics.
    fn node(&self) -> NodeId;
    /// Called once when everything the source waits for is there; the number of units.
    fn start(&self, query: &QueryContext) -> Result<u64>;
    /// Which memory nodes the units lie on, one entry a unit, and how many nodes there are; `None` where that is
    /// nothing to go by. Asked after `start`.
    fn nodes_of_units(&self) -> Option<(usize, &[Option<usize>])> {
        None
    }
    /// A fresh state for one worker; passed to `run`.
    fn local(&self) -> Local {
        Box::new(())
    }
    /// Delivers unit `unit` as dense batches of at most the setting's `batch_rows`. Stops early on `Flow::Enough`.
    fn run(&self, unit: u64, local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow>;
    /// A segment will read from it; told before anything runs.
    fn add_user(&self) {}
    /// All units are done, and none will be asked for again.
    fn finished(&self) {}
    /// Adds the memory that it only reads from now on.
    fn add_memory(&self, _bytes: &mut memory::Bytes) {}
    /// A work order has ended: what the source counts besides rows and time goes to the query's metrics.
    fn tell(&self, _query: &QueryContext) {}
    /// Its rows are what an operator before it put out, written down in between.
    fn is_transfer(&self) -> bool {
        false
    }
    /// A source fed while it is read; `None` for all others.
    fn feed(&self) -> Option<&dyn Feed> {
        None
    }
    /// As `run`, where the batches of one order belong to several units, which `push` is told: all of one before the next,
    /// and none to two orders. `None` of all others, which `run` is for.
    fn run_placed(&self, _order: u64, _work: &Work<'_>, _push: &mut PushPlaced<'_>) -> Option<Result<Flow>> {
        None
    }
}

/// A streaming operator: batches in, batches out, inside the producer's work order.
pub trait Transform: Send + Sync {
    /// The plan node whose rows these are, for metrics.
    fn node(&self) -> NodeId;
    /// Called once for each segment, before its source starts.
    fn start(&self, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
    /// A fresh state for one worker; passed to `transform` and `end_unit`.
    fn local(&self) -> Local {
        Box::new(())
    }
    /// Takes a batch and pushes what comes of it; may keep rows back in `local` until `end_unit`. Returns
    /// `Flow::Enough` when no further batch can matter, or when `push` did.
    fn transform(
        &self,
        batch: Batch,
        local: &mut Local,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow>;
    /// A segment will have it as a part; told before anything runs.
    fn add_user(&self) {}
    /// Such a segment has done all its units.
    fn finished(&self) {}
    /// Adds the memory that it only reads from now on.
    fn add_memory(&self, _bytes: &mut memory::Bytes) {}
    /// Everything of the unit with `tag` has come: what was held back for it leaves now.
    fn end_unit(
        &self,
        _local: &mut Local,
        _tag: u64,
        _work: &Work<'_>,
        _push: &mut Push<'_>,
    ) -> Result<Flow> {
        Ok(Flow::More)
    }
    /// Small input batches are worth merging before this stage (it has a cost per batch).
    fn wants_full_batches(&self) -> bool {
        true
    }
    /// A work order has ended: what the stage counts besides rows and time goes to the query's metrics.
    fn tell(&self, _query: &QueryContext) {}
}

/// The end of a pipeline.
pub trait Sink: Send + Sync {
    /// The plan node that the work is counted for.
    fn node(&self) -> NodeId;
    /// A fresh state for one worker; all of them go to `finish`.
    fn local(&self) -> Local {
        Box::new(())
    }
    /// Takes a batch of the unit with `tag`; tags order the units of the sink's whole input.
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow>;
    /// A work order ends: publish what must not wait (full units of transfer).
    fn end_order(&self, _local: &mut Local, _work: &Work<'_>) -> Result<()> {
        Ok(())
    }
    /// The query is held: a state that can have its rows again from files, and is worth it, goes there.
    fn put_away(&self, _local: &mut Local, _work: &Work<'_>) -> Result<()> {
        Ok(())
    }
    /// All input is consumed; called once with every local state. Cheap: heavy merges are segments of their own.
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()>;
    /// Small input batches are worth merging before this sink.
    fn wants_full_batches(&self) -> bool {
        true
    }
    /// Whether it is all the same in which order units are begun: nothing is held back for those before, and none are
    /// left out when there is enough.
    fn takes_any_order(&self) -> bool {
        false
    }
    /// Asked after every unit: no further unit need be claimed.
    fn has_enough(&self) -> bool {
        false
    }
    /// Whether `admits` may say no. Units are then claimed one by one.
    fn may_pause(&self) -> bool {
        false
    }
    /// Whether the unit with `tag` may begin now. When not, a signal from outside the query makes the scheduler ask
    /// again.
    fn admits(&self, _tag: u64) -> bool {
        true
    }
    /// Nothing more comes of the unit with `tag`, all of which came with this `local`.
    fn end_unit(&self, _tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<()> {
        Ok(())
    }
    /// Whether units had better not begin now, because what reads them is far behind. Work orders that run go on.
    fn is_full(&self) -> bool {
        false
    }
    /// How what comes here reaches the next operator; `Vector`, where the sink is an operator itself.
    fn unit_of_transfer(&self) -> UnitOfTransfer {
        UnitOfTransfer::Vector
    }
    /// Nothing more comes of input branch `ordinal`.
    fn branch_ended(&self, _ordinal: usize) {}
}

/// The tag of unit `unit` of input branch `branch`.
pub fn tag(branch: usize, unit: u64) -> u64 {
    (branch as u64) << 44 | unit
}

/// The unit of a tag.
pub fn unit_of(tag: u64) -> u64 {
    tag & ((1 << 44) - 1)
}

/// The branch of a tag.
pub fn branch_of(tag: u64) -> usize {
    (tag >> 44) as usize
}

/// The state inside a `Local`; a stage always gets back the state it made.
pub fn local_state<T: 'static>(local: &mut Local) -> &mut T {
    match local.downcast_mut::<T>() {
        Some(state) => state,
        None => panic!("a stage was given another stage's state"),
    }
}
