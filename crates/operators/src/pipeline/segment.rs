//! Pipelines as the scheduler's segments.
//!
//! `PipelineSegment` runs a branch: a work order is a run of the source's units, each of which goes through the
//! chain, batch by batch, and is flushed at its end. States of source and stages are checked out of a pool for an
//! order and given back after it, so they outlive orders but belong to no worker. When all orders of a segment have
//! ended its sink states go to the `SinkInput`; the last segment of a sink finishes it. `StepSegment` runs the
//! partitions of a `Step`, one a work order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use types::Result;
use vector::Batch;
use workorder::{
    Claim, Completion, Failure, Near, OrderRange, Outcome, Segment, UnitOfTransfer, WorkContext, WorkOrder,
};

use super::chain::{Chain, ChainLocal};
use super::{Flow, Local, Sink, Source, Work, tag};
use crate::context::QueryContext;

/// A work order gives the rest of its run back once it has taken this long, so that pause, cancel and a changed
/// number of workers take hold soon.
const ORDER_NANOSECONDS_MAX: u128 = 2_000_000;

/// What several segments that feed one sink share: the states to merge, and how many segments are still running.
pub struct SinkInput {
    sink: Arc<dyn Sink>,
    segments_left: AtomicUsize,
    locals: std::sync::Mutex<Vec<Local>>,
}

impl SinkInput {
    /// `segments` is the number of segments that feed the sink; the last one to end finishes it.
    pub fn new(sink: Arc<dyn Sink>, segments: usize) -> Arc<Self> {
        Arc::new(SinkInput { sink, segments_left: AtomicUsize::new(segments), locals: Default::default() })
    }
    fn segment_finished(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let mut all = self.locals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.extend(locals);
        if self.segments_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let all = std::mem::take(&mut *all);
            return self.sink.finish(all, query);
        }
        Ok(())
    }
}

/// One source with its way down: a sink may have several.
pub struct Branch {
    /// Where the rows come from.
    pub source: Arc<dyn Source>,
    /// The stages that the rows pass.
    pub chain: Chain,
    /// Position among the sink's branches, the upper part of the tags.
    pub ordinal: usize,
    /// Shared with the other branches of the same sink.
    pub input: Arc<SinkInput>,
}

/// A branch as a segment of the scheduler: work orders are runs of the source's units.
pub struct PipelineSegment {
    name: String,
    branch: Branch,
    query: Arc<QueryContext>,
    orders: OrderRange,
    locals: sync::Pool<OrderLocal>,
    /// Source and transforms were told that the segment has finished, and have released their memory.
    gone: AtomicBool,
}

struct OrderLocal {
    source: Local,
    chain: ChainLocal,
    rows_out_of_source: u64,
}

impl PipelineSegment {
    /// A segment with this name in plans and traces. A sink that may refuse units gets work orders of a single unit.
    pub fn new(name: String, branch: Branch, query: Arc<QueryContext>) -> Self {
        let mut orders = OrderRange::new(branch.chain.sink.unit_of_transfer());
        if branch.chain.sink.may_pause() {
            orders = orders.with_run_max(1);
        }
        PipelineSegment {
            name,
            branch,
            query,
            orders,
            locals: sync::Pool::new(),
            gone: AtomicBool::new(false),
        }
    }

    fn run_order(&self, order: WorkOrder, context: &WorkContext<'_>) -> Result<Outcome> {
        let started = Instant::now();
        let work = Work { query: &self.query, context };
        self.query.bring_back();
        let source = &self.branch.source;
        let chain = &self.branch.chain;
        let mut local = self.locals.checkout(|| OrderLocal {
            source: source.local(),
            chain: chain.local(),
            rows_out_of_source: 0,
        });
        let mut outcome = Outcome::Done;
        for unit in order.start..order.end {
            work.check()?;
            let flow = match self.run_placed(unit, &mut local, &work) {
                Some(flow) => flow?,
                None => self.run_unit(unit, &mut local, &work)?,
            };
            let chain_local = &mut local.chain;
            if flow == Flow::Enough {
                Chain::discard(chain_local);
                self.close();
                break;
            }
            if chain.sink.has_enough() {
                // Units already claimed are finished all the same: a limit relies on it.
                self.close();
            }
            if unit + 1 < order.end && started.elapsed().as_nanos() > ORDER_NANOSECONDS_MAX {
                let rest = WorkOrder { start: unit + 1, ..order };
                outcome = Outcome::Continue(rest);
                break;
            }
        }
        let stages = local.chain.stages_mut();
        if let Some(last) = stages.last_mut() {
            self.branch.chain.sink.end_order(&mut last.local, &work)?;
        }
        self.count(&mut local, started.elapsed().as_nanos() as u64);
        Ok(outcome)
    }

    /// One unit of a source goes through the chain, to its end.
    fn run_unit(&self, unit: u64, local: &mut OrderLocal, work: &Work<'_>) -> Result<Flow> {
        let tag = tag(self.branch.ordinal, unit);
        let OrderLocal { source, chain, rows_out_of_source } = local;
        let flow = self
            .branch
            .source
            .run(unit, source, work, &mut |batch| self.push(batch, tag, chain, rows_out_of_source, work))?;
        self.end_unit(flow, tag, chain, work)
    }

    /// The units of one order of a source whose batches have places of their own; `None` of other sources.
    fn run_placed(&self, order: u64, local: &mut OrderLocal, work: &Work<'_>) -> Option<Result<Flow>> {
        let OrderLocal { chain, rows_out_of_source, .. } = local;
        let mut last = None;
        let run = self.branch.source.run_placed(order, work, &mut |unit, batch| {
            let tag = tag(self.branch.ordinal, unit);
            if let Some(before) = last.replace(tag).filter(|before| *before != tag)
                && self.end_unit(Flow::More, before, chain, work)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
            self.push(batch, tag, chain, rows_out_of_source, work)
        })?;
        Some(run.and_then(|flow| match last {
            Some(tag) => self.end_unit(flow, tag, chain, work),
            None => Ok(flow),
        }))
    }

    fn push(
        &self,
        batch: Batch,
        tag: u64,
        chain: &mut ChainLocal,
        rows_out_of_source: &mut u64,
        work: &Work<'_>,
    ) -> Result<Flow> {
        debug_assert!(batch.columns.iter().all(|c| c.len() == batch.rows));
        let rows = batch.selected_rows() as u64;
        *rows_out_of_source += rows;
        work.context.count(rows, 0);
        work.check()?;
        self.branch.chain.push(0, batch, tag, chain.stages_mut(), work)
    }

    /// What stages hold back of a unit goes on, and the sink is told of its end.
    fn end_unit(&self, flow: Flow, tag: u64, local: &mut ChainLocal, work: &Work<'_>) -> Result<Flow> {
        let chain = &self.branch.chain;
        let flow = if flow == Flow::Enough { flow } else { chain.flush(tag, local, work)? };
        if let Some(last) = local.stages_mut().last_mut() {
            chain.sink.end_unit(tag, &mut last.local, work)?;
        }
        Ok(flow)
    }

    /// No further unit is claimed.
    fn close(&self) {
        self.orders.close();
        if let Some(feed) = self.branch.source.feed() {
            feed.close();
        }
    }

    /// Moves the order's counts into the query's metrics. A node's rows are those that entered the next stage.
    fn count(&self, local: &mut OrderLocal, total_ns: u64) {
        let metrics = &self.query.metrics;
        let analyze = self.query.settings.analyze;
        let source_rows = std::mem::take(&mut local.rows_out_of_source);
        let stages = local.chain.stages_mut();
        let inclusive: Vec<u64> = stages.iter_mut().map(|s| std::mem::take(&mut s.inclusive_ns)).collect();
        let rows_in: Vec<u64> = stages.iter_mut().map(|s| std::mem::take(&mut s.rows_in)).collect();
        let source_ns = if analyze { total_ns.saturating_sub(inclusive[0]) } else { 0 };
        // The rows and orders of a transfer are its producer's, and have been counted.
        match self.branch.source.is_transfer() {
            true => metrics.add(self.branch.source.node(), 0, 0, source_ns, 0),
            false => metrics.add(self.branch.source.node(), source_rows, 1, source_ns, 0),
        }
        self.branch.source.tell(&self.query);
        for (at, transform) in self.branch.chain.transforms.iter().enumerate() {
            let own = inclusive[at].saturating_sub(inclusive[at + 1]);
            metrics.add(transform.node(), rows_in[at + 1], 1, own, 0);
            transform.tell(&self.query);
        }
        let last = inclusive.len() - 1;
        let sink = &self.branch.chain.sink;
        let orders = u64::from(sink.unit_of_transfer().is_fused());
        metrics.add(sink.node(), 0, orders, inclusive[last], 0);
    }
}

impl Segment for PipelineSegment {
    fn name(&self) -> &str {
        &self.name
    }
    fn start(&self) -> std::result::Result<(), Failure> {
        for transform in &self.branch.chain.transforms {
            transform.start(&self.query)?;
        }
        let units = self.branch.source.start(&self.query)?;
        if self.branch.chain.sink.takes_any_order()
            && let Some((nodes, of_units)) = self.branch.source.nodes_of_units()
        {
            self.orders.set_nodes(nodes, of_units);
        }
        self.orders.set_total(units);
        Ok(())
    }
    fn claim(&self, near: Near<'_>) -> Claim {
        let sink = &self.branch.chain.sink;
        if sink.is_full() {
            return Claim::Wait;
        }
        if sink.may_pause() {
            let next = match self.branch.source.feed() {
                Some(feed) => feed.peek(),
                None => self.orders.peek(),
            };
            if next.is_some_and(|unit| !sink.admits(tag(self.branch.ordinal, unit))) {
                return Claim::Paused;
            }
        }
        match self.branch.source.feed() {
            Some(feed) => feed.claim(),
            None => self.orders.claim(near),
        }
    }
    fn execute(&self, order: WorkOrder, context: &WorkContext<'_>) -> std::result::Result<Outcome, Failure> {
        Ok(self.run_order(order, context)?)
    }
    fn completed(&self, completion: &Completion) {
        self.orders.adapt(completion);
    }
    fn put_away(&self, context: &WorkContext<'_>) -> std::result::Result<(), Failure> {
        let work = Work { query: &self.query, context };
        // An order that begins meanwhile makes a state of its own, which the sink gets in addition to these.
        for mut local in self.locals.drain() {
            let put = match local.chain.stages_mut().last_mut() {
                Some(last) => self.branch.chain.sink.put_away(&mut last.local, &work),
                None => Ok(()),
            };
            self.locals.give(local);
            put?;
        }
        Ok(())
    }
    fn put_away_inputs(&self, _: &WorkContext<'_>) -> std::result::Result<(), Failure> {
        let mut bytes = memory::Bytes::default();
        self.branch.source.add_memory(&mut bytes);
        self.branch.chain.transforms.iter().for_each(|transform| transform.add_memory(&mut bytes));
        self.query.put_away(bytes);
        Ok(())
    }
    fn inputs_finished(&self) {
        if let Some(feed) = self.branch.source.feed() {
            feed.inputs_finished();
        }
    }
    fn finish(&self) -> std::result::Result<(), Failure> {
        let locals: Vec<Local> =
            self.locals.drain().into_iter().filter_map(|l| l.chain.into_sink_local()).collect();
        self.branch.chain.sink.branch_ended(self.branch.ordinal);
        if self.query.memory_is_short() {
            // What consumers want first is room.
            self.let_go();
        }
        if let Some((near, far)) = self.orders.near_and_far() {
            let shown = format!("{near} of {}", near + far);
            self.query.metrics.state(self.branch.source.node(), "blocks read near their memory", shown);
        }
        Ok(self.branch.input.segment_finished(locals, &self.query)?)
    }
    fn let_go(&self) {
        if self.gone.swap(true, Ordering::AcqRel) {
            return;
        }
        self.branch.chain.transforms.iter().for_each(|transform| transform.finished());
        self.branch.source.finished();
    }
    fn orders_max(&self) -> usize {
        self.query.settings.orders_max.unwrap_or(usize::MAX)
    }
    fn total_orders(&self) -> Option<u64> {
        match self.branch.source.feed() {
            Some(_) => None,
            None => Some(self.orders.total()),
        }
    }
}

/// Work over numbered partitions between two pipelines: filling join tables, merging aggregates or runs.
pub trait Step: Send + Sync {
    /// The plan node that the work is counted for.
    fn node(&self) -> plan::NodeId;
    /// The number of partitions; called once when the input is complete.
    fn start(&self, query: &QueryContext) -> Result<u64>;
    /// Works on one partition; partitions run at the same time and in any order.
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()>;
    /// Called once when all partitions are done.
    fn finish(&self, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
}

/// A `Step` as a segment; each partition is a work order of its own.
pub struct StepSegment {
    name: String,
    step: Arc<dyn Step>,
    query: Arc<QueryContext>,
    orders: OrderRange,
}

impl StepSegment {
    /// A segment with this name in plans and traces; its partitions are numbered when it starts.
    pub fn new(name: String, step: Arc<dyn Step>, query: Arc<QueryContext>) -> Self {
        let orders = OrderRange::new(UnitOfTransfer::Vector).with_run_max(1);
        StepSegment { name, step, query, orders }
    }
}

impl Segment for StepSegment {
    fn name(&self) -> &str {
        &self.name
    }
    fn start(&self) -> std::result::Result<(), Failure> {
        self.orders.set_total(self.step.start(&self.query)?);
        Ok(())
    }
    fn claim(&self, near: Near<'_>) -> Claim {
        self.orders.claim(near)
    }
    fn execute(&self, order: WorkOrder, context: &WorkContext<'_>) -> std::result::Result<Outcome, Failure> {
        let started = self.query.settings.analyze.then(Instant::now);
        self.query.bring_back();
        let work = Work { query: &self.query, context };
        for partition in order.start..order.end {
            work.check()?;
            self.step.run(partition, &work)?;
        }
        let elapsed = started.map_or(0, |s| s.elapsed().as_nanos() as u64);
        self.query.metrics.add(self.step.node(), 0, 1, elapsed, 0);
        Ok(Outcome::Done)
    }
    fn finish(&self) -> std::result::Result<(), Failure> {
        Ok(self.step.finish(&self.query)?)
    }
    fn orders_max(&self) -> usize {
        self.query.settings.orders_max.unwrap_or(usize::MAX)
    }
    fn total_orders(&self) -> Option<u64> {
        Some(self.orders.total())
    }
}
