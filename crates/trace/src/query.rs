//! The trace itself: a statement, the plans that ran for it, and their segments and work orders.
//!
//! The engine makes a [`QueryTrace`] when a statement has ended, from the scheduler's records and the operators'
//! counters, and hands it to `History`; the other modules read it. It is immutable. Counters and settings are
//! functions that are called when the trace is read, so that making it costs little. A plan is kept whole where that
//! keeps nothing large or foreign alive, else as what EXPLAIN says of it ([`KeptPlan::of`]). Times in parts are
//! nanoseconds.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plan::explain::{self, Told};
use plan::print::NodeMetrics;
use plan::{ExprKind, NodeId, PhysicalNode, PhysicalPlan};
use types::{ColumnPredicate, PredicateTree};
use workorder::OrderRecord;

/// Counts of a plan's nodes, read when the trace is.
pub type MetricsOf = Arc<dyn Fn(NodeId) -> NodeMetrics + Send + Sync>;

/// Names and values of the settings that a statement ran under, read when the trace is.
pub type SettingsOf = Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>;

/// One statement, from its first word to its last row.
#[derive(Clone)]
pub struct QueryTrace {
    /// The query's number, unique in the process.
    pub id: u64,
    /// The number of its session.
    pub session: u64,
    /// The statement, with secrets such as passwords taken out.
    pub text: Arc<str>,
    /// When the statement began.
    pub begun: SystemTime,
    /// The time from its first word to its last row.
    pub total: Duration,
    /// Charged for everything but work orders.
    pub planning: Duration,
    /// Charged in all: planning and work orders.
    pub cpu: Duration,
    /// Its priority at its end.
    pub priority: u32,
    /// Places that there were for its work orders.
    pub workers: usize,
    /// The most bytes that its work orders held.
    pub memory_peak: u64,
    /// Bytes that the optimizer expected them to hold at most.
    pub memory_expected: u64,
    /// Rows of its result, or rows changed.
    pub rows: u64,
    /// Its plans were those of an earlier statement with the same text.
    pub kept_plan: bool,
    /// SQLSTATE and message, of one that did not end well.
    pub failure: Option<(String, String)>,
    /// The settings it ran under.
    pub settings: SettingsOf,
    /// The plans in the order in which they ran; the last one is the query's own.
    pub parts: Vec<PartTrace>,
    /// Parts that ran beyond those.
    pub parts_left_out: u64,
}

/// A plan that ran: a common subplan, a scalar subquery, a round of a recursion, or the query itself.
#[derive(Clone)]
pub struct PartTrace {
    /// What it is a part for, as a heading.
    pub title: String,
    /// The plan, as far as it is kept.
    pub plan: KeptPlan,
    /// `None`: it was explained, and did not run.
    pub metrics: Option<MetricsOf>,
    /// Time was taken operator by operator, as EXPLAIN ANALYZE does, and not only work order by work order.
    pub timed: bool,
    /// Nanoseconds after the statement began.
    pub begun: u64,
    /// Nanoseconds until the load controller let it in.
    pub queued: u64,
    /// Nanoseconds from its beginning to its end.
    pub wall: u64,
    /// Its pipeline segments; work orders name them by position.
    pub segments: Vec<SegmentTrace>,
    /// What its work orders did, by the time of their beginning; those of a long run are joined.
    pub orders: Vec<OrderRecord>,
}

/// A pipeline segment; times are nanoseconds, moments are counted from the part's beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentTrace {
    /// The operators in it.
    pub name: String,
    /// Executions of work orders.
    pub orders: u64,
    /// Rows that it counted.
    pub rows: u64,
    /// Bytes that it counted.
    pub bytes: u64,
    /// Inside its work orders, over all workers.
    pub busy: u64,
    /// When it was started; 0: it never was.
    pub started: u64,
    /// When it was finished; 0: it never was.
    pub finished: u64,
}

/// A plan, kept for as long as its trace.
#[derive(Clone)]
pub enum KeptPlan {
    /// The plan itself.
    Whole(Arc<PhysicalPlan>),
    /// What EXPLAIN says of its nodes, without the plan.
    Told(Arc<[Told]>),
}

/// Literals beyond this are not worth their memory.
const LITERALS_MAX: usize = 500;

impl KeptPlan {
    /// Keeps a plan: as it is, which costs nothing, unless it holds functions of the host program, which are not ours to
    /// keep alive, or long lists of literals.
    pub fn of(plan: &Arc<PhysicalPlan>) -> Self {
        match is_light(plan) {
            true => KeptPlan::Whole(Arc::clone(plan)),
            false => KeptPlan::Told(explain::told(plan).into()),
        }
    }

    /// What EXPLAIN says of its nodes, parents first.
    pub fn told(&self) -> Arc<[Told]> {
        match self {
            KeptPlan::Whole(plan) => explain::told(plan).into(),
            KeptPlan::Told(nodes) => Arc::clone(nodes),
        }
    }

    /// About how many bytes it takes.
    fn bytes(&self) -> u64 {
        match self {
            KeptPlan::Whole(plan) => {
                let (mut bytes, mut open) = (0, vec![&**plan]);
                while let Some(node) = open.pop() {
                    let mut expressions = 0;
                    node.expressions().into_iter().for_each(|e| e.visit(&mut |_| expressions += 1));
                    let outputs = node.output.len() * 96;
                    bytes +=
                        size_of::<PhysicalPlan>() + 256 + outputs + expressions * size_of::<plan::Expr>();
                    open.extend(node.children());
                }
                bytes as u64
            }
            KeptPlan::Told(nodes) => {
                nodes.iter().map(|node| (size_of::<Told>() + node.title.len() + 64) as u64).sum()
            }
        }
    }
}

fn in_predicate(predicate: &ColumnPredicate) -> usize {
    match predicate {
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => values.len(),
        _ => 1,
    }
}

fn in_tree(tree: &PredicateTree) -> usize {
    match tree {
        PredicateTree::Leaf(_, predicate) => in_predicate(predicate),
        PredicateTree::And(parts) | PredicateTree::Or(parts) => parts.iter().map(in_tree).sum(),
    }
}

fn is_light(plan: &PhysicalPlan) -> bool {
    let (mut literals, mut foreign, mut open) = (0, false, vec![plan]);
    while let Some(node) = open.pop() {
        match &node.node {
            PhysicalNode::Values { rows } => literals += rows.iter().map(Vec::len).sum::<usize>(),
            // A predicate on codes may be a list of any length.
            PhysicalNode::TableScan { predicates, trees, .. } => {
                literals += trees.iter().map(in_tree).sum::<usize>();
                literals += predicates.iter().map(|(_, predicate)| in_predicate(predicate)).sum::<usize>();
            }
            _ => {}
        }
        for expression in node.expressions() {
            expression.visit(&mut |e| match &e.kind {
                ExprKind::External { .. } => foreign = true,
                ExprKind::InList { values, .. } => literals += values.len(),
                _ => {}
            });
        }
        open.extend(node.children());
    }
    !foreign && literals <= LITERALS_MAX
}

/// A node with what it did.
#[derive(Clone, Debug)]
pub struct NodeTrace {
    /// What EXPLAIN says of it.
    pub told: Told,
    /// `None`: it did not run.
    pub did: Option<NodeMetrics>,
}

impl NodeTrace {
    /// The factor by which the estimate was off, where that means anything.
    pub fn q_error(&self) -> Option<f64> {
        let did = self.did.as_ref().filter(|_| self.told.judged)?;
        Some(explain::q_error(self.told.estimated_rows, did.rows))
    }
    /// Time inside the operator, over all workers; 0 where it did not run or was not timed.
    pub fn nanoseconds(&self) -> u64 {
        self.did.as_ref().map_or(0, |did| did.nanoseconds)
    }
}

impl PartTrace {
    /// A plan that did not run.
    pub fn planned(title: impl Into<String>, plan: KeptPlan) -> Self {
        PartTrace {
            title: title.into(),
            plan,
            metrics: None,
            timed: false,
            begun: 0,
            queued: 0,
            wall: 0,
            segments: vec![],
            orders: vec![],
        }
    }

    /// Its nodes with what they did, parents first.
    pub fn nodes(&self) -> Vec<NodeTrace> {
        let did = |id| self.metrics.as_ref().map(|metrics| metrics(id));
        self.plan.told().iter().map(|told| NodeTrace { told: told.clone(), did: did(told.id) }).collect()
    }

    /// Nanoseconds inside work orders, over all workers.
    pub fn busy(&self) -> u64 {
        self.segments.iter().map(|segment| segment.busy).sum()
    }

    fn bytes(&self) -> u64 {
        let names: usize = self.segments.iter().map(|segment| segment.name.len()).sum();
        let own = size_of::<PartTrace>() + self.title.len() + names;
        let lists = self.segments.capacity() * size_of::<SegmentTrace>()
            + self.orders.capacity() * size_of::<OrderRecord>();
        // Counters and notes of the nodes, which are not seen from here, are as large as small plans.
        (own + lists) as u64 + 2 * self.plan.bytes()
    }
}

impl QueryTrace {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let own = size_of::<QueryTrace>() + self.text.len() + 1024;
        own as u64 + self.parts.iter().map(PartTrace::bytes).sum::<u64>()
    }

    /// How it ended: finished, failed or cancelled.
    pub fn state(&self) -> &'static str {
        match &self.failure {
            None => "finished",
            // query_canceled
            Some((state, _)) if state == "57014" => "cancelled",
            Some(_) => "failed",
        }
    }

    /// Executions of work orders, over all parts.
    pub fn work_orders(&self) -> u64 {
        self.parts.iter().flat_map(|part| &part.segments).map(|segment| segment.orders).sum()
    }

    /// Nanoseconds that the load controller kept it.
    pub fn queued(&self) -> u64 {
        self.parts.iter().map(|part| part.queued).sum()
    }

    /// Nanoseconds that its work orders waited: for readers and files, and held by a pause.
    pub fn waited(&self) -> (u64, u64) {
        let orders = self.parts.iter().flat_map(|part| &part.orders);
        orders.fold((0, 0), |(waited, held), order| (waited + order.waited, held + order.held))
    }

    /// Nanoseconds from the beginning of its first part to the end of its last.
    pub fn execution(&self) -> u64 {
        self.parts.iter().map(|part| part.wall).sum()
    }

    /// The largest q-error and the node it is at.
    pub fn worst_estimate(&self) -> Option<(f64, String)> {
        let nodes = self.parts.iter().flat_map(PartTrace::nodes);
        let errors = nodes.filter_map(|node| Some((node.q_error()?, node.told.title)));
        errors.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl fmt::Debug for QueryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryTrace").field("id", &self.id).field("text", &self.text).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use plan::OutputColumn;
    use types::Type;
    use workorder::{SegmentId, WorkerId};

    use super::*;

    /// A scan of a million rows under an aggregation, on two workers.
    pub(crate) fn trace(id: u64, orders: usize) -> QueryTrace {
        let column =
            OutputColumn { name: "a <b> & \"c\"".into(), ty: Type::BigInt, nullable: true, bounds: None };
        let scan = PhysicalNode::Series {
            series: plan::Series { first: 0, step: 1, rows: 1_000_000, ty: Type::BigInt },
            columns: vec![0],
        };
        let scan = PhysicalPlan::new(scan, vec![column.clone()], 1_000_000.0);
        let aggregate = PhysicalNode::Aggregate { input: Box::new(scan), groups: vec![], aggregates: vec![] };
        let mut plan = PhysicalPlan::new(aggregate, vec![column], 100.0);
        plan.remarks.push("a remark with <tags> & \"quotes\"".into());
        plan.number();
        let metrics = |id: NodeId| NodeMetrics {
            rows: if id.0 == 0 { 1 } else { 1_000_000 },
            work_orders: 10,
            nanoseconds: 1_000_000 * u64::from(id.0 + 1),
            bytes: 8_000_000,
            notes: vec![
                ("filter 3 tested".into(), "100".into()),
                ("filter 3 dropped".into(), "40".into()),
                ("access paths".into(), "2 codes, 1 zone map".into()),
                ("table".into(), "dense".into()),
                ("spilled bytes".into(), "4096".into()),
            ],
        };
        let order = |at: usize| OrderRecord {
            segment: SegmentId((at % 2) as u32),
            worker: WorkerId((at % 2) as u32),
            started: 1_000 * at as u64,
            ended: 1_000 * at as u64 + 900,
            held: 0,
            waited: 100,
            units: 4,
            rows: 1_000,
            bytes: 8_000,
            grown: 64,
            orders: 1,
        };
        let segment = |name: &str| SegmentTrace {
            name: name.into(),
            orders: orders as u64 / 2,
            rows: 1_000_000,
            bytes: 8_000_000,
            busy: 450 * orders as u64,
            started: 1,
            finished: 1_000 * orders as u64,
        };
        let part = PartTrace {
            title: "query".into(),
            plan: KeptPlan::Whole(Arc::new(plan)),
            metrics: Some(Arc::new(metrics)),
            timed: true,
            begun: 300_000,
            queued: 1_000,
            wall: 1_000 * orders as u64,
            segments: vec![segment("series > aggregate"), segment("merge")],
            orders: (0..orders).map(order).collect(),
        };
        QueryTrace {
            id,
            session: 1,
            text: "SELECT sum(\"a <b>\") -- </script> & more".into(),
            begun: SystemTime::UNIX_EPOCH,
            total: Duration::from_nanos(500_000 + 1_000 * orders as u64),
            planning: Duration::from_micros(250),
            cpu: Duration::from_micros(1_250),
            priority: 1,
            workers: 2,
            memory_peak: 1 << 20,
            memory_expected: 1 << 21,
            rows: 1,
            failure: None,
            settings: Arc::new(|| vec![("lip".into(), "on".into()), ("workers".into(), "2".into())]),
            parts: vec![part],
            parts_left_out: 0,
            kept_plan: false,
        }
    }

    #[test]
    fn a_plan_with_many_literals_is_told_and_not_kept() {
        let values = |rows: usize| {
            let rows = vec![vec![types::Value::I64(1)]; rows];
            Arc::new(PhysicalPlan::new(PhysicalNode::Values { rows }, vec![], 1.0))
        };
        assert!(matches!(KeptPlan::of(&values(10)), KeptPlan::Whole(_)));
        let told = KeptPlan::of(&values(10_000));
        assert!(matches!(&told, KeptPlan::Told(nodes) if nodes.len() == 1), "{}", told.bytes());
        assert!(told.bytes() < 1_000);
    }

    #[test]
    fn what_a_trace_says_of_itself() {
        let mut trace = trace(7, 100);
        assert_eq!((trace.state(), trace.work_orders(), trace.queued()), ("finished", 100, 1_000));
        assert_eq!(trace.waited(), (10_000, 0));
        let (worst, title) = trace.worst_estimate().unwrap();
        assert!(worst == 100.0 && title.starts_with("Aggregate"), "{worst} at {title}");
        trace.failure = Some(("57014".into(), "canceled".into()));
        assert_eq!(trace.state(), "cancelled");
    }
}
