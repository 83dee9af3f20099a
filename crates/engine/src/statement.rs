//! A statement as the scheduler's query: from its first word to its last row it has an id, a priority and limits, can
//! be seen in `quickstep_queries`, paused and cancelled by others, and is charged for planning and work orders.
//!
//! `Session::guarded` makes a [`StatementContext`], and `SessionRelations` hands it on to what plans and runs, and to work
//! that the statement's own changes make the engine do ([`Within`]). The thread knows only whether it is inside of a
//! statement: a host's function that runs another one passes frames that are not ours, which hand nothing on.

mod begin;

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use plan::{PhysicalNode, PhysicalPlan};
use scheduler::Query;

use crate::traces::StatementTrace;

/// Bytes of a statement's text that the system views show.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A statement under way: what its time and its trace go to.
pub(crate) struct StatementContext {
    query: Arc<Query>,
    trace: Arc<StatementTrace>,
    /// Up to here its thread's time is charged.
    charged_until: Mutex<Instant>,
}

impl StatementContext {
    /// A statement that begins, and is charged from here on.
    pub fn new(query: Arc<Query>, trace: Arc<StatementTrace>) -> Arc<StatementContext> {
        Arc::new(StatementContext { query, trace, charged_until: Mutex::new(Instant::now()) })
    }

    /// The statement as the scheduler knows it.
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// What is noted of it.
    pub fn trace(&self) -> &Arc<StatementTrace> {
        &self.trace
    }

    /// Charges the time since the statement began, or since the last run of it ended: planning. Gives the moment up to
    /// which all is charged.
    pub fn charge_planning(&self) -> Instant {
        let mut until = self.charged_until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        self.query.charge_planning(now.duration_since(*until).as_nanos() as u64);
        *until = now;
        now
    }

    /// Time up to now is not charged: work orders were, and waits are not. Gives this moment.
    pub fn skip_time(&self) -> Instant {
        let now = Instant::now();
        *self.charged_until.lock().unwrap_or_else(PoisonError::into_inner) = now;
        now
    }
}

/// The statement as a part of which work is done; `None` for work that no statement asked for.
pub(crate) type Within<'a> = Option<&'a Arc<StatementContext>>;

thread_local! {
    /// Statements that this thread is inside of.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling thread is inside of a statement: one that begins is a part of it then.
pub(crate) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Runs `work` inside of a statement.
pub(crate) fn inside<T>(work: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _leave = Leave;
    work()
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
