//! The sink of an aggregation: rows go to the groups of their worker, which go to a file when memory is short.

use std::sync::Arc;

use plan::NodeId;
use types::Result;
use vector::Batch;

use super::Aggregate;
use super::distinct::Pairs;
use super::local::LocalGroups;
use crate::context::{QueryContext, out_of_memory};
use crate::pipeline::{Flow, Local, Sink, Work, local_state};

/// Less than this is not worth asking for.
const CHARGE_STEP: u64 = 1 << 20;

impl LocalGroups {
    /// Adds the rows of a batch. `tag` is the number of its unit; a batch too wide to be evaluated at once is halved.
    fn add(&mut self, aggregate: &Aggregate, batch: &Batch, tag: u64, work: &Work<'_>) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        if batch.is_coded() {
            if self.consume_codes(aggregate, batch, tag)? {
                self.rows += batch.rows as u64;
                self.limit(aggregate);
                return self.charge(aggregate, work);
            }
            return self.add(aggregate, &batch.dense(), tag, work);
        }
        match self.consume(aggregate, batch, tag, work) {
            Err(error) if expr::is_too_wide(&error) => {
                work.halves(batch.clone(), &mut |half| {
                    self.add(aggregate, &half, tag, work)?;
                    Ok(Flow::More)
                })?;
                Ok(())
            }
            result => {
                result?;
                self.charge(aggregate, work)
            }
        }
    }

    /// Writes everything to a file, if it should go there; returns whether.
    fn put_away(&mut self, aggregate: &Aggregate, work: &Work<'_>) -> Result<bool> {
        // Scattering takes another copy of a partition of the table, and pairs of all.
        let pairs: usize = self.pairs.iter().map(Pairs::bytes).sum();
        let spills =
            aggregate.can_spill() && work.query.should_spill(self.bytes(), self.table.bytes() / 4 + pairs);
        if spills {
            work.put_away(|| self.spill(aggregate, work.query))?;
        }
        Ok(spills)
    }

    /// Keeps the budget informed, in steps. Where that says no, everything goes to a file.
    fn charge(&mut self, aggregate: &Aggregate, work: &Work<'_>) -> Result<()> {
        if self.put_away(aggregate, work)? {
            return Ok(());
        }
        let (query, bytes) = (work.query, self.bytes() as u64);
        let held = self.reservation.as_ref().map_or(0, memory::Reservation::bytes);
        if bytes <= held.max(CHARGE_STEP) {
            return Ok(());
        }
        let wanted = bytes + bytes / 4;
        match &mut self.reservation {
            Some(reservation) => reservation.resize(wanted).map_err(out_of_memory),
            None => {
                self.reservation = Some(query.reserve(wanted as usize)?);
                Ok(())
            }
        }
    }
}

/// The sink of an aggregation.
pub(super) struct AggregateSink(pub Arc<Aggregate>);

impl Sink for AggregateSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(LocalGroups::new(&self.0))
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        local_state::<LocalGroups>(local).add(&self.0, &batch, tag, work)?;
        Ok(Flow::More)
    }
    fn put_away(&self, local: &mut Local, work: &Work<'_>) -> Result<()> {
        local_state::<LocalGroups>(local).put_away(&self.0, work).map(|_| ())
    }
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let locals =
            locals.into_iter().filter_map(|l| l.downcast::<LocalGroups>().ok()).map(|l| *l).collect();
        query.state_execution(self.0.descriptor.node, [&self.0.descriptor.computation]);
        self.0.begin_merge(locals, query)
    }
}
