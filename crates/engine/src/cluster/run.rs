//! One plan on all nodes of a cluster: composed for each, run at the same time, ended as one.
//!
//! The session's thread runs the coordinator's part, a thread for each other node the others. Whoever fails first says why
//! the query fails; all others are stopped by one signal, which follows the session's own. When all have ended, the
//! exchanges are closed on all nodes, and what they held is free.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, scope};

use operators::QueryContext;
use operators::compose::{Composed, compose};
use operators::exchange::Node;
use optimizer::distribute::ClusterShape;
use plan::{Distributed, PhysicalNode, PhysicalPlan};
use scheduler::{QueryControl, Scheduler};
use sync::CancelToken;
use types::{Error, Result, SqlState};
use workorder::Dag;

use super::settings::ClusterSettings;
use super::{Cluster, Shape};
use crate::Session;
use crate::relations::SessionRelations;
use crate::run::{Run, cancelled, failure, note_run, reads_live_rows};
use crate::statement::{StatementContext, expected_memory};
use crate::statistics::SnapshotStatistics;

/// A plan of a cluster, and the cluster.
pub(crate) struct OnNodes {
    cluster: Arc<Cluster>,
    distributed: Arc<Distributed>,
}

impl OnNodes {
    /// What every node runs.
    pub(crate) fn plan(&self) -> &PhysicalPlan {
        &self.distributed.plan
    }
}

/// One node's part, ready to run.
struct Part<'a> {
    scheduler: &'a Scheduler,
    dag: Dag,
    control: Arc<QueryControl>,
}

/// Errors of the nodes, in the order in which they came, and the signal that ends the others.
#[derive(Default)]
struct Ending {
    errors: Mutex<Vec<Error>>,
    stop: CancelToken,
}

impl Ending {
    fn failed(&self, error: Error) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        self.stop.cancel();
    }

    /// Why the query failed: not that a node was stopped, or lost another one's exchange, because that failed.
    fn reason(&self) -> Option<Error> {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let first = errors.iter().position(|error| error.state() != SqlState::QueryCanceled).unwrap_or(0);
        (first < errors.len()).then(|| errors.swap_remove(first))
    }
}

/// Closes the exchanges of all nodes when the query is over, however it ended.
struct Nodes(Vec<Arc<Node>>, bool);

impl Drop for Nodes {
    fn drop(&mut self) {
        self.0.iter().for_each(|node| match self.1 {
            true => node.release(),
            false => node.close(),
        });
    }
}

/// Whether a plan reads anything that nodes could share.
fn reads(plan: &PhysicalPlan) -> bool {
    match &plan.node {
        PhysicalNode::Values { .. } => false,
        _ => {
            let children = plan.children();
            children.is_empty() || children.into_iter().any(reads)
        }
    }
}

impl Session {
    /// Whether statements of this session run on several nodes.
    pub(crate) fn is_on_nodes(&self) -> bool {
        self.settings().cluster.nodes > 1
    }

    /// The plan as all nodes run it; `None` where it runs on this engine alone: by the settings, because it reads nothing
    /// or rows of the host program, or inside a work order, whose thread must not wait for others.
    pub(crate) fn on_nodes(
        &self,
        plan: &PhysicalPlan,
        relations: &SessionRelations,
    ) -> Result<Option<OnNodes>> {
        let settings = self.settings().cluster;
        let shared = &self.database.shared;
        let alone = !reads(plan) || reads_live_rows(plan);
        if settings.nodes < 2 || alone || shared.scheduler.is_inside_order() {
            return Ok(None);
        }
        let statistics = SnapshotStatistics::new(relations.snapshot());
        let small = settings.small_bytes as f64;
        let shape = ClusterShape {
            replicated_bytes: small,
            gathered_bytes: small / 4.0,
            ..ClusterShape::of(settings.nodes)
        };
        let distributed = optimizer::distribute::distribute(plan.clone(), &shape, &statistics)?;
        if distributed.exchanges().is_empty() {
            return Ok(None);
        }
        let nodes = settings.nodes as usize;
        let share = usize::try_from(shared.budget.limit() / 16).unwrap_or(usize::MAX) / nodes;
        let memory_bytes = settings.memory_bytes.unwrap_or(share.clamp(8 << 20, 256 << 20));
        let workers = shared.scheduler.workers().div_ceil(nodes).max(1);
        // What is planned differently runs on the same nodes.
        let settings = ClusterSettings { small_bytes: 0, ..settings };
        let cluster = shared.clusters.of(Shape { settings, workers, memory_bytes })?;
        Ok(Some(OnNodes { cluster, distributed: Arc::new(distributed) }))
    }

    /// Runs a plan on all nodes, over what the coordinator's context says.
    pub(crate) fn run_on_nodes(
        &self,
        on: &OnNodes,
        mut context: QueryContext,
        statement: Option<&StatementContext>,
        noted: bool,
    ) -> Result<Run> {
        let OnNodes { cluster, distributed } = on;
        let plan = &distributed.plan;
        let (number, limits) = (cluster.next_query(), cluster.limits());
        let ending = Ending::default();
        let mut nodes = Nodes(Vec::with_capacity(cluster.nodes.len()), false);
        for me in 0..cluster.nodes.len() {
            let network = cluster.network(me, number);
            nodes.0.push(Node::new(me as u32, distributed.clone(), number, network, limits));
        }
        let analyze = context.settings.analyze;
        let mut contexts = Vec::with_capacity(nodes.0.len());
        for node in &nodes.0[1..] {
            let mut other = context.anew(plan);
            other.insert = None;
            other.conform = None;
            other.cancel = ending.stop.clone();
            other.held = Arc::default();
            other.node = Some(node.clone());
            contexts.push(Arc::new(other));
        }
        context.node = Some(nodes.0[0].clone());
        contexts.insert(0, Arc::new(context));
        let mut composed =
            contexts.iter().map(|context| compose(plan, context)).collect::<Result<Vec<Composed>>>()?;
        let result = composed[0].result.clone();
        let control = Arc::new(self.coordinators_control(plan, statement, (noted, analyze), &ending));
        let mut parts = Vec::with_capacity(composed.len());
        for (me, composed) in composed.drain(..).enumerate() {
            let own = cluster.nodes[me].scheduler.as_ref();
            let control = match me {
                0 => control.clone(),
                _ => Arc::new(QueryControl::with_cancel(ending.stop.clone()).pausable()),
            };
            let resumed = Arc::downgrade(&control);
            nodes.0[me].on_progress(move || {
                resumed.upgrade().inspect(|control| control.resume());
            });
            let scheduler = own.unwrap_or(&self.database.shared.scheduler);
            parts.push(Part { scheduler, dag: composed.dag, control });
        }
        let _shown = self.progress.show(&control, &parts[0].dag);
        statement.inspect(|statement| _ = statement.charge_planning());
        let done = run_parts(parts, &nodes, &ending);
        statement.inspect(|statement| _ = statement.skip_time());
        let result = std::mem::take(&mut *result.lock().unwrap_or_else(PoisonError::into_inner));
        let mut record = control.take_record();
        let metrics: Vec<_> = contexts.iter().map(|context| &*context.metrics).collect();
        metrics[0].absorb(plan, &metrics[1..]);
        nodes.1 = done && ending.reason().is_none();
        let context = contexts.swap_remove(0);
        let plan = Arc::new(plan.clone());
        if let Some(statement) = statement.filter(|_| noted) {
            note_run(statement, &plan, &context, &mut record, done.then(|| result.rows() as u64));
        }
        if !done {
            if let Some(reason) = self.cancel_token().reason() {
                return Err(cancelled(reason));
            }
            let stopped = || Error::internal("a node failed without an error");
            return Err(ending.reason().unwrap_or_else(stopped));
        }
        Ok(Run { result, context, record, on_nodes: Some(plan) })
    }

    fn coordinators_control(
        &self,
        plan: &PhysicalPlan,
        statement: Option<&StatementContext>,
        (noted, analyze): (bool, bool),
        ending: &Ending,
    ) -> QueryControl {
        // The session's signal is not raised because a node failed, and may be when all nodes are to stop.
        let (own, stop, tick) = (self.cancel_token(), ending.stop.clone(), self.tick());
        let follow = move || {
            if own.check_clock().is_some() {
                stop.cancel();
            }
            tick.as_ref().map_or(ControlFlow::Continue(()), |tick| tick())
        };
        let mut control = QueryControl::with_cancel(ending.stop.clone()).pausable().with_tick(follow);
        if let Some(statement) = statement {
            statement.query().expect_memory(expected_memory(plan));
            control = control.of(statement.query().clone());
        }
        if noted || analyze {
            control = control.recorded();
        }
        control
    }
}

/// Runs all parts to their ends, the first one on this thread; whether that one, which has the result, succeeded.
fn run_parts(parts: Vec<Part<'_>>, nodes: &Nodes, ending: &Ending) -> bool {
    let done = AtomicBool::new(false);
    scope(|threads| {
        let mut parts = parts.into_iter();
        let first = parts.next();
        for (part, node) in parts.zip(&nodes.0[1..]) {
            let (ending, done) = (ending, &done);
            let name = format!("node {}", node.me());
            let run = move || {
                let outcome = part.scheduler.run(part.dag, &part.control);
                if let Err(error) = outcome
                    && !done.load(Ordering::SeqCst)
                {
                    ending.failed(failure(error));
                }
            };
            if let Err(error) = Builder::new().name(name).spawn_scoped(threads, run) {
                let message = format!("no thread for a node: {error}");
                ending.failed(Error::new(SqlState::OutOfMemory, message));
            }
        }
        let Some(first) = first else { return };
        match first.scheduler.run(first.dag, &first.control) {
            Ok(_) => done.store(true, Ordering::SeqCst),
            Err(error) => ending.failed(failure(error)),
        }
        // Others may still make what a limit does not want, or wait for a node that failed.
        if !done.load(Ordering::SeqCst) {
            ending.stop.cancel();
            nodes.0.iter().for_each(|node| node.close());
        } else if nodes.0[0].ended_early() {
            ending.stop.cancel();
        }
    });
    done.load(Ordering::SeqCst)
}
