//! Limit: rows `[offset, offset + count)` of the input's order.
//!
//! A sink and a source. Units are claimed in ascending order and a claimed unit is always finished, so when the rows
//! collected reach the bound, the units seen are a prefix of the input and hold the rows wanted: the rest is never
//! read, and the answer is the same whatever the number of workers. No unit keeps more rows than the bound.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use plan::NodeId;
use types::Result;
use vector::Batch;

use crate::collect::{Tagged, in_tag_order};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Work, local_state};

/// What the sink and the source of one limit share.
pub struct Limit {
    node: NodeId,
    offset: u64,
    count: Option<u64>,
    in_any_order: bool,
    collected: AtomicU64,
    rows: OnceLock<Vec<Batch>>,
}

/// Collects rows until the bound is reached; has enough then.
pub struct LimitSink(Arc<Limit>);
/// Delivers the rows wanted, once the sink has finished.
pub struct LimitSource(Arc<Limit>);

impl Limit {
    /// The two ends of a limit; without `count`, all rows behind `offset`. Where units come in any order, all are
    /// taken, since those to come may go before.
    pub fn ends(
        node: NodeId,
        offset: u64,
        count: Option<u64>,
        in_any_order: bool,
    ) -> (LimitSink, LimitSource) {
        let (collected, rows) = (AtomicU64::new(0), OnceLock::new());
        let state = Arc::new(Limit { node, offset, count, in_any_order, collected, rows });
        (LimitSink(state.clone()), LimitSource(state))
    }
    /// Rows of the input that matter.
    fn bound(&self) -> u64 {
        self.count.map_or(u64::MAX, |c| c.saturating_add(self.offset))
    }
}

#[derive(Default)]
struct LimitLocal {
    tagged: Tagged,
    unit: u64,
    unit_rows: u64,
}

impl Sink for LimitSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(LimitLocal { unit: u64::MAX, ..Default::default() })
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        let local = local_state::<LimitLocal>(local);
        if local.unit != tag {
            local.unit = tag;
            local.unit_rows = 0;
        }
        let bound = self.0.bound();
        let wanted = bound.saturating_sub(local.unit_rows).min(batch.rows as u64);
        if wanted > 0 {
            local.unit_rows += wanted;
            local.tagged.batches.push((tag, batch.slice(0, wanted as usize)));
            self.0.collected.fetch_add(wanted, Ordering::Relaxed);
        }
        // Only a unit that fills the bound by itself may stop in its middle; others end their unit first.
        Ok(if local.unit_rows >= bound && !self.0.in_any_order { Flow::Enough } else { Flow::More })
    }
    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        let tagged = locals
            .into_iter()
            .map(|mut l| Box::new(std::mem::take(&mut local_state::<LimitLocal>(&mut l).tagged)) as Local)
            .collect();
        let mut skip = self.0.offset;
        let mut left = self.0.count.unwrap_or(u64::MAX);
        let mut rows = Vec::new();
        for batch in in_tag_order(tagged) {
            let skipped = skip.min(batch.rows as u64);
            skip -= skipped;
            let taken = left.min(batch.rows as u64 - skipped);
            left -= taken;
            if taken > 0 {
                rows.push(batch.slice(skipped as usize, taken as usize));
            }
        }
        // Finish is called once.
        let _ = self.0.rows.set(rows);
        Ok(())
    }
    fn has_enough(&self) -> bool {
        !self.0.in_any_order && self.0.collected.load(Ordering::Relaxed) >= self.0.bound()
    }
    fn wants_full_batches(&self) -> bool {
        false
    }
}

impl Source for LimitSource {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.rows.get().map_or(0, |rows| rows.len() as u64))
    }
    fn run(&self, unit: u64, _local: &mut Local, _work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        match self.0.rows.get().and_then(|rows| rows.get(unit as usize)) {
            Some(batch) => push(batch.clone()),
            None => Ok(Flow::More),
        }
    }
}
