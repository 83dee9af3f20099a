//! From a physical plan to the scheduler's DAG, in three passes.
//!
//! ```text
//!  plan, settings, statistics, memory --decide--> decisions
//!  plan, decisions                    --cut-----> pipelines (plan::pipeline): inert, and printed by EXPLAIN
//!  plan, pipelines                    --realise-> operators in segments: the scheduler's DAG
//! ```
//! The first two are functions of data alone; the third makes operators and decides nothing.

mod circumstances;
mod cut;
pub mod decide;
mod placed;
mod realise;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use plan::PhysicalPlan;
use plan::pipeline::Pipelines;
use types::Result;
use workorder::Dag;

use crate::collect::{Collect, QueryResult};
use crate::context::QueryContext;
use crate::pipeline::Sink;
use crate::stream::{ResultQueue, Stream};
use crate::table_scan;
pub use circumstances::{BlockStatistics, Circumstances, Memory};
pub use cut::cut;
pub use decide::{Decisions, Note, decide};
pub use realise::realise;

/// The query's segments and where its result will be.
pub struct Composed {
    /// The segments with their edges, validated and ready for the scheduler.
    pub dag: Dag,
    /// Filled when the last segment ends; empty until then.
    pub result: Arc<Mutex<QueryResult>>,
}

/// Builds the segments of `plan`, whose nodes are numbered (`PhysicalPlan::number`).
pub fn compose(plan: &PhysicalPlan, query: &Arc<QueryContext>) -> Result<Composed> {
    let (collect, result) = Collect::new(plan.id);
    Ok(Composed { dag: compose_into(plan, query, |_| Arc::new(collect))?, result })
}

/// As `compose`, but the rows go into `queue` while the query runs. It runs under `QueryControl::pausable`.
pub fn compose_stream(
    plan: &PhysicalPlan,
    query: &Arc<QueryContext>,
    queue: &Arc<ResultQueue>,
) -> Result<Dag> {
    compose_into(plan, query, |branches| Arc::new(Stream::new(plan.id, queue.clone(), branches)))
}

fn compose_into(
    plan: &PhysicalPlan,
    query: &Arc<QueryContext>,
    sink: impl FnOnce(usize) -> Arc<dyn Sink>,
) -> Result<Dag> {
    let (decisions, pipelines) = pipelines(plan, query)?;
    let state = |(node, name, text): Note| query.metrics.state(node, name, text);
    decisions.notes().into_iter().for_each(state);
    let dag = realise(&pipelines, plan, query, sink)?;
    decisions.transfer_notes(&pipelines).into_iter().for_each(state);
    Ok(dag)
}

/// What is decided about a plan, and the pipelines that follow.
pub fn pipelines(plan: &PhysicalPlan, query: &QueryContext) -> Result<(Decisions, Pipelines)> {
    let decisions = decide(plan, &query.circumstances());
    let pipelines = cut(plan, &decisions)?;
    Ok((decisions, pipelines))
}

/// What EXPLAIN says of a plan that has not run, apart from what the optimizer did.
pub fn notes(plan: &PhysicalPlan, query: &QueryContext) -> Result<Vec<Note>> {
    let (decisions, pipelines) = pipelines(plan, query)?;
    let mut notes = decisions.notes();
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        if let Some(left) = table_scan::partitions_left(node, query)? {
            notes.push((node.id, table_scan::PARTITIONS, left));
        }
        open.extend(node.children());
    }
    notes.append(&mut decisions.transfer_notes(&pipelines));
    Ok(notes)
}
