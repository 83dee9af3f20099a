//! What an engine knows of the cluster while it runs its part of a plan: its number, which of each source's rows are its
//! own, and how exchanges are opened.
//!
//! A [`Node`] lives as long as the query does on all nodes: it keeps the exchanges' ports open when its own part has
//! ended, since others may still send what nobody here wants. [`Node::close`] lets them go.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use multiplexer::{NetworkError, NodeId as Peer, Port};
use plan::{Distributed, ExchangeKind, ExchangeNumber, FilterId, NodeId, PhysicalNode, PhysicalPlan, Share};
use types::{Error, SqlState};

/// How exchanges reach the other nodes.
pub trait Network: Send + Sync {
    /// Opens the port of an exchange of this query; `watcher` is told of its news.
    ///
    /// # Errors
    /// As `multiplexer::Multiplexer::open`.
    fn open(
        &self,
        exchange: ExchangeNumber,
        sources: Vec<Peer>,
        destinations: Vec<Peer>,
        watcher: Weak<dyn Watcher>,
    ) -> std::result::Result<Port, NetworkError>;
}

/// Who is told, on the network's thread, that something changed.
pub trait Watcher: Send + Sync {
    /// There are messages, or the exchange has ended or failed.
    fn messages(&self);
    /// There may be buffers again.
    fn room(&self);
}

/// An exchange as its node knows it.
pub(super) trait Ends: Send + Sync {
    /// The query failed: whoever still sends or waits learns it.
    fn fail(&self);
    /// Whether rows came that were not wanted.
    fn ended_early(&self) -> bool;
}

/// How much of an exchange may wait on a node.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a message, its header included; no more than the network's buffers have.
    pub message_bytes: usize,
    /// Messages that are full and wait for a buffer of the network.
    pub messages_waiting_max: usize,
    /// Bytes of rows of this node that wait for the operator above.
    pub own_bytes_max: usize,
}

/// Calls whoever wakes the query's workers, once that is known.
#[derive(Default)]
pub(super) struct Resume(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl Resume {
    /// Work that was put off may be claimed again.
    pub(super) fn call(&self) {
        if let Some(resume) = self.0.get() {
            resume();
        }
    }
}

/// One engine's place in a query of a cluster.
pub struct Node {
    me: u32,
    distributed: Arc<Distributed>,
    /// The query's number, the same on all nodes.
    query: u64,
    network: Arc<dyn Network>,
    limits: Limits,
    resume: Arc<Resume>,
    /// Filters that know a part of the keys that rows may meet: they drop nothing.
    partial: BTreeSet<FilterId>,
    ends: Mutex<Vec<Arc<dyn Ends>>>,
}

impl Node {
    /// Node `me` of the plan's nodes, for the run of it that has the number `query`.
    pub fn new(
        me: u32,
        distributed: Arc<Distributed>,
        query: u64,
        network: Arc<dyn Network>,
        limits: Limits,
    ) -> Arc<Node> {
        let mut partial = BTreeSet::new();
        add_partial_filters(&distributed.plan, &distributed, &mut partial);
        let (resume, ends) = (Arc::default(), Mutex::default());
        Arc::new(Node { me, distributed, query, network, limits, resume, partial, ends })
    }
    /// Its number; 0 is the coordinator.
    pub fn me(&self) -> u32 {
        self.me
    }
    /// How many nodes run the plan.
    pub fn nodes(&self) -> u32 {
        self.distributed.nodes
    }
    /// The query's number.
    pub fn query(&self) -> u64 {
        self.query
    }
    /// See [`Limits`].
    pub fn limits(&self) -> Limits {
        self.limits
    }
    /// What wakes the query's workers here. The first call counts.
    pub fn on_progress(&self, resume: impl Fn() + Send + Sync + 'static) {
        let _ = self.resume.0.set(Box::new(resume));
    }
    pub(super) fn resume(&self) -> &Arc<Resume> {
        &self.resume
    }
    pub(super) fn network(&self) -> &dyn Network {
        &*self.network
    }
    /// What of a source's rows this node reads; what the plan does not name is read by the coordinator.
    pub fn share(&self, source: NodeId) -> Share {
        self.distributed.share(source).unwrap_or(Share::Coordinator)
    }
    /// Which of a source's `count` units this node reads.
    pub fn part(&self, source: NodeId, count: usize) -> Range<usize> {
        self.share(source).of(count, self.me, self.nodes())
    }
    /// Whether a runtime filter knows a part of the keys alone: that of rows that were sent here, while it would be applied
    /// to rows that may be sent elsewhere.
    pub(crate) fn knows_part_of(&self, filter: FilterId) -> bool {
        self.partial.contains(&filter)
    }
    pub(crate) fn partial_filters(&self) -> &BTreeSet<FilterId> {
        &self.partial
    }
    pub(super) fn keep(&self, exchange: Arc<dyn Ends>) {
        self.ends().push(exchange);
    }
    fn ends(&self) -> MutexGuard<'_, Vec<Arc<dyn Ends>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether rows that were sent here were not wanted: those who send them need not go on.
    pub fn ended_early(&self) -> bool {
        self.ends().iter().any(|exchange| exchange.ended_early())
    }
    /// The query failed: whoever still sends or waits, on any node, learns it.
    pub fn close(&self) {
        let ends = std::mem::take(&mut *self.ends());
        ends.iter().for_each(|exchange| exchange.fail());
    }
    /// The query has ended on all nodes: ports are closed.
    pub fn release(&self) {
        let ends = std::mem::take(&mut *self.ends());
        drop(ends);
    }
}

fn add_partial_filters(plan: &PhysicalPlan, distributed: &Distributed, partial: &mut BTreeSet<FilterId>) {
    if let PhysicalNode::HashJoin { probe, build, fills, .. } = &plan.node
        && !fills.is_empty()
        && crosses_exchange(probe)
        && !is_whole(build, distributed)
    {
        partial.extend(fills.iter().map(|(filter, _)| *filter));
    }
    plan.children().into_iter().for_each(|child| add_partial_filters(child, distributed, partial));
}

/// Whether there is an exchange in the plan: what is below it may go to any node.
fn crosses_exchange(plan: &PhysicalPlan) -> bool {
    matches!(plan.node, PhysicalNode::Exchange { .. }) || plan.children().into_iter().any(crosses_exchange)
}

/// Whether every node has all rows.
fn is_whole(plan: &PhysicalPlan, distributed: &Distributed) -> bool {
    match &plan.node {
        PhysicalNode::Exchange { exchange, .. } => matches!(exchange.kind, ExchangeKind::Broadcast),
        _ => {
            let children = plan.children();
            match children.is_empty() {
                true => distributed.share(plan.id) == Some(Share::Whole),
                false => children.into_iter().all(|child| is_whole(child, distributed)),
            }
        }
    }
}

/// An error of the network as a statement's. What another node cancelled is `QueryCanceled`: that node says why.
pub fn network_error(error: &NetworkError) -> Error {
    let state = match error.sqlstate() {
        "57014" => SqlState::QueryCanceled,
        "08006" => SqlState::ConnectionFailure,
        "08P01" => SqlState::ProtocolViolation,
        "53200" => SqlState::OutOfMemory,
        "55000" => SqlState::NotInPrerequisiteState,
        _ => SqlState::IoError,
    };
    Error::new(state, error.to_string()).with_hint(error.hint())
}
