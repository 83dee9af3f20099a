//! What decisions about a plan are made from, apart from the plan: settings, blocks' statistics, memory and workers.

use plan::TableId;

use crate::context::{ExecutionSettings, QueryContext};
use crate::exchange::node::Node;

/// What decisions are made from, apart from the plan.
pub struct Circumstances<'a> {
    /// The session's settings.
    pub settings: &'a ExecutionSettings,
    /// Knows the tables' blocks.
    pub statistics: &'a dyn BlockStatistics,
    /// The memory of the query.
    pub memory: Memory,
    /// Workers that run at a time.
    pub threads: u64,
    /// Whether sums under bit masks are worth it on this machine.
    pub masks_pay: bool,
    /// This engine's place among those that run the plan; `None` where it runs on one.
    pub node: Option<&'a Node>,
}

/// Memory when the decisions are made.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes that may be used in all.
    pub limit: u64,
    /// Bytes that are left.
    pub available: u64,
    /// Bytes of states before they go to files.
    pub states: u64,
    /// There are files that states may go to.
    pub has_files: bool,
}

/// What is known of blocks beforehand.
pub trait BlockStatistics {
    /// Least and greatest value of an integer column in each block; `None` where the column has NULLs or is of no
    /// such type.
    fn bounds(&self, table: TableId, column: usize) -> Option<(&[i64], &[i64])>;
}

impl QueryContext {
    /// The circumstances of a run.
    pub fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            settings: &self.settings,
            statistics: self,
            memory: Memory {
                limit: self.budget.limit(),
                available: self.budget.available(),
                states: crate::spill::room(&self.budget),
                has_files: self.temporary.is_some(),
            },
            threads: workorder::parallelism(),
            masks_pay: simd::masks_pay(),
            node: self.node.as_deref(),
        }
    }
}

impl BlockStatistics for QueryContext {
    fn bounds(&self, table: TableId, column: usize) -> Option<(&[i64], &[i64])> {
        let data = &self.tables.get(&table)?.data;
        if data.statistics(column).null_count > 0 {
            return None;
        }
        data.zones().bounds(column)
    }
}
