//! A statement as the scheduler's query: from its first word to its last row it has an id, a priority and limits, can
//! be seen in `quickstep_queries`, paused and cancelled by others, and is charged for planning and work orders.
//!
//! The thread that runs a statement knows it ([`current`]), since threads may share a session and functions of the host
//! program may run statements inside of statements.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use plan::{PhysicalNode, PhysicalPlan};
use scheduler::{Query, QuerySpec};

use crate::Session;
use crate::traces::StatementTrace;

/// Bytes of a statement's text that the system views show.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A statement on this thread: what its time and its trace go to.
struct Running {
    query: Arc<Query>,
    trace: Arc<StatementTrace>,
    /// Up to here the thread's time is charged.
    charged_until: Instant,
}

thread_local! {
    /// Statements that this thread is inside of, the innermost last.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

/// The query of the innermost statement that the calling thread runs.
pub(crate) fn current() -> Option<Arc<Query>> {
    RUNNING.with_borrow(|running| running.last().map(|running| running.query.clone()))
}

/// The trace of the innermost statement that the calling thread runs.
pub(crate) fn trace() -> Option<Arc<StatementTrace>> {
    RUNNING.with_borrow(|running| running.last().map(|running| running.trace.clone()))
}

/// The plan that ran last for the innermost statement was not the query's own, but this.
pub(crate) fn name_part(title: &str) {
    if let Some(trace) = trace() {
        trace.name_part(title);
    }
}

/// Charges the thread's time since the statement began, or since the last run of it ended: planning.
pub(crate) fn charge_planning() {
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running.last_mut() {
            running.query.charge_planning(running.charged_until.elapsed().as_nanos() as u64);
            running.charged_until = Instant::now();
        }
    });
}

/// Time up to now is not charged: work orders were, and waits are not.
pub(crate) fn skip_time() {
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running.last_mut() {
            running.charged_until = Instant::now();
        }
    });
}

/// Runs `work` as part of the statement on this thread.
pub(crate) fn inside<T>(query: Arc<Query>, trace: Arc<StatementTrace>, work: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            RUNNING.with_borrow_mut(|running| _ = running.pop());
        }
    }
    let charged_until = Instant::now();
    RUNNING.with_borrow_mut(|running| running.push(Running { query, trace, charged_until }));
    let _leave = Leave;
    work()
}

impl Session {
    /// Begins a statement.
    pub(crate) fn begin_query(&self, text: &str) -> Arc<Query> {
        let settings = self.settings();
        let spec = QuerySpec {
            account: Some(self.account.clone()),
            session: self.number,
            text: Arc::from(shortened(sql::secrets::masked(text).trim().trim_end_matches(';').trim_end())),
            role: settings.role.clone(),
            priority: settings.priority,
            workers_max: settings.query_workers.unwrap_or(workorder::WORKERS_MAX),
            memory_max: settings.query_bytes.unwrap_or(u64::MAX),
            cancel: self.cancel_token(),
        };
        drop(settings);
        self.database.shared.scheduler.begin(spec)
    }
}

/// The beginning of a text that the system views show.
pub(crate) fn shortened(text: &str) -> &str {
    match text.len() > TEXT_BYTES_MAX {
        true => &text[..text.floor_char_boundary(TEXT_BYTES_MAX)],
        false => text,
    }
}

/// Bytes that a plan's operators will hold at most, by the optimizer's rows: states of joins, aggregations, sorts and
/// windows, and the result. Each input row is counted once in memory, which is what building a table of exact size
/// takes at its height, and half as much again for keys, hashes and directories.
pub(crate) fn expected_memory(plan: &PhysicalPlan) -> u64 {
    let rows = |plan: &PhysicalPlan| plan.estimated_rows * row_bytes(plan);
    let mut bytes = rows(plan);
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        bytes += 1.5
            * match &node.node {
                PhysicalNode::HashJoin { build, .. } | PhysicalNode::NestedLoopJoin { build, .. } => {
                    rows(build)
                }
                PhysicalNode::Aggregate { .. } => rows(node),
                PhysicalNode::Sort { input, limit, .. } => limit
                    .map_or_else(|| rows(input), |limit| (limit as f64) * row_bytes(input))
                    .min(rows(input)),
                PhysicalNode::Window { input, .. } => rows(input) + rows(node),
                _ => 0.0,
            };
        open.extend(node.children());
    }
    // An `as` cast of a float keeps within bounds.
    bytes as u64
}

fn row_bytes(plan: &PhysicalPlan) -> f64 {
    plan.output.iter().map(|column| column.ty.physical().width()).sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = "ä".repeat(TEXT_BYTES_MAX);
        assert!(shortened(&text).len() <= TEXT_BYTES_MAX && text.starts_with(shortened(&text)));
        assert_eq!(shortened("SELECT 1"), "SELECT 1");
    }
}
