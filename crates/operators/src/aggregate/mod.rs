//! Aggregation: GROUP BY, DISTINCT, and aggregates without groups.
//!
//! ```text
//!  sink (per worker)          merge step                          source
//!  no groups: one state    -> merged at once                   -> one row
//!  few or dense keys       -> merged by key, or by key range   -> units of some thousand groups
//!  few groups, on codes    -> (as few or dense keys: `cells`, `masked`)
//!  ascending keys          -> segments put in order, touching groups merged
//!  keys of a join's build  -> (states by build row: `join_groups`)
//!  clustered key           -> (in the pipeline, block by block: `clustered`)
//!  many groups             -> partitions, each merged by itself
//! ```
//! Keys become group numbers (`local`), states are columns by group number (crate hash, `aggregate`). A worker starts
//! with the cheapest way to number its groups and changes to the next when the data does not fit it: ascending keys
//! need no look-up at all, keys of known bounds an array, few possible keys a small array, all others a hash table. A
//! table that grows past a limit empties itself into hash partitions; one that hardly reduces its rows passes them
//! on without looking anything up.
//!
//! Memory is charged as it grows. Partitions are plain key and state columns that nothing points into: a worker that
//! is short of memory writes them to a file, and each is read back when its merge begins (`spilled`).

mod calls;
mod cells;
pub(crate) mod clustered;
mod distinct;
pub(crate) mod join_groups;
mod local;
pub(crate) mod masked;
mod merge;
mod ordered;
mod partition;
mod picks;
mod products;
mod source;
mod spilled;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock};

use expr::Program;
use hash::aggregate::{Finish, KeyColumn, KeyLayout, StateSpec};
use plan::pipeline::Codes;
use plan::{Expr, ExprKind, NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Physical, Result, Type};

use crate::context::QueryContext;
use crate::pipeline::{Sink, Source, Step};
pub(crate) use calls::measure;
use calls::{ArgumentInput, Calls};
pub use clustered::Clustered;
pub use join_groups::JoinGroups;
pub use masked::CodesWanted;

/// The array of a direct map is not larger than this, and than so many times the rows expected.
const DIRECT_VALUES_MAX: i128 = 1 << 27;
const DIRECT_VALUES_PER_ROW: f64 = 4.0;
/// An array this small is always worth it.
const DIRECT_VALUES_FREE: i128 = 1 << 16;

/// Which ways of numbering groups may be used, and how large tables grow; tests narrow them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strategies {
    /// Few possible keys are numbered by a small array over their codes.
    pub codes: bool,
    /// A key of known bounds is numbered by an array over them.
    pub direct: bool,
    /// Ascending keys are numbered without any look-up.
    pub ordered: bool,
    /// Neighbours with the same values in memory are looked up once.
    pub identical_runs: bool,
    /// DISTINCT pairs that are nearly all different are collected, and looked up by the merge only.
    pub collects_pairs: bool,
    /// Groups of a worker's table before it empties itself into partitions.
    pub groups_max: usize,
    /// Groups that are merged in one go, without partitions.
    pub merged_at_once: usize,
}

impl Strategies {
    fn of(query: &QueryContext) -> Self {
        let dense = query.settings.switches.dense_keys;
        // A table of 64 K groups and its states stay in the caches of a core; merging 16 K takes some 200 us.
        Strategies {
            codes: dense,
            direct: dense,
            ordered: dense,
            identical_runs: dense,
            collects_pairs: dense,
            groups_max: 1 << 16,
            merged_at_once: 1 << 14,
        }
    }
}

/// One aggregation: its calls at plan time, and what its sink, merge step and source share while the query runs.
pub struct Aggregate {
    node: NodeId,
    program: Program,
    /// Positions of the group expressions among the program's results.
    groups: Vec<usize>,
    arguments: Vec<ArgumentInput>,
    spec: StateSpec,
    finishes: Vec<(Finish, Type)>,
    layout: KeyLayout,
    /// One for each DISTINCT argument.
    pairs: Vec<distinct::PairLayout>,
    /// Lowest value and number of values of the only key, if dense.
    direct: Option<(i64, usize)>,
    strategies: Strategies,
    estimated_groups: f64,
    /// Whether DISTINCT pairs are partitioned by their group; decided once, for all workers.
    pairs_by_group: OnceLock<bool>,
    merge: Mutex<merge::Merge>,
    output: OnceLock<Vec<source::Part>>,
    /// Once some worker was short of memory.
    spilled: OnceLock<spilled::Spilled>,
    /// What the scan below was asked for, if it was.
    codes_wanted: OnceLock<Arc<CodesWanted>>,
    /// What can be summed by cells, if all of it can.
    cells: Option<cells::CellArguments>,
    /// What masks sum without writing it, if there is such.
    products: Option<products::Products>,
}

impl Aggregate {
    /// `plan` has to be an Aggregate node. The settings narrow the ways of numbering groups.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Arc<Aggregate>> {
        Self::with_strategies(plan, Strategies::of(query))
    }

    /// As `new`, with the ways of numbering groups given.
    pub(super) fn with_strategies(plan: &PhysicalPlan, strategies: Strategies) -> Result<Arc<Aggregate>> {
        let PhysicalNode::Aggregate { input, groups, aggregates } = &plan.node else {
            return Err(Error::internal("not an aggregation"));
        };
        let calls = Calls::new(groups, aggregates);
        let columns: Vec<KeyColumn> =
            groups.iter().map(|e| KeyColumn { ty: e.ty, nullable: may_be_null(e, input) }).collect();
        let layout = KeyLayout::new(&columns);
        let pairs: Vec<distinct::PairLayout> = calls
            .states
            .arguments
            .iter()
            .enumerate()
            .filter(|(_, a)| a.distinct)
            .map(|(at, a)| distinct::PairLayout::new(at, &layout, a.ty))
            .collect();
        let direct = match groups.as_slice() {
            [key] if strategies.direct && pairs.is_empty() => direct_bounds(key, input),
            _ => None,
        };
        let cells = cells::CellArguments::of(&calls, input);
        let products = products::Products::of(&calls);
        Ok(Arc::new(Aggregate {
            node: plan.id,
            program: Program::compile(&calls.expressions)?,
            groups: calls.groups,
            arguments: calls.arguments,
            spec: calls.states,
            finishes: calls.finishes,
            layout,
            pairs,
            direct,
            strategies,
            estimated_groups: plan.estimated_rows,
            pairs_by_group: OnceLock::new(),
            merge: Mutex::default(),
            output: OnceLock::new(),
            spilled: OnceLock::new(),
            codes_wanted: OnceLock::new(),
            cells,
            products,
        }))
    }
    /// Numbers the groups and updates their states, one worker at a time.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(local::AggregateSink(self.clone()))
    }
    /// The request of this aggregation to the scan right below it, whose codes it works on. `plan` is the
    /// aggregation's.
    pub fn on_codes(&self, plan: &PhysicalPlan, codes: Codes) -> Result<Arc<CodesWanted>> {
        let wanted = CodesWanted::of(plan, codes)?;
        Ok(self.codes_wanted.get_or_init(|| wanted).clone())
    }
    /// Brings the workers' groups together, once the sink has finished.
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(merge::AggregateMerge(self.clone()))
    }
    /// The finished groups, once the merge step has ended.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(source::AggregateSource(self.clone()))
    }
    /// One key that is an integer, and nothing that stands in the way of numbering it without a table.
    fn single_integer_key(&self) -> bool {
        self.groups.len() == 1
            && self.pairs.is_empty()
            && matches!(self.layout.column_type(0).physical(), Physical::I16 | Physical::I32 | Physical::I64)
    }
}

/// False only when the value is certainly never NULL.
pub(crate) fn may_be_null(expr: &Expr, input: &PhysicalPlan) -> bool {
    match &expr.kind {
        ExprKind::Input(at) => input.output.get(*at).is_none_or(|c| c.nullable),
        ExprKind::Literal(value) => value.is_null(),
        ExprKind::Cast { input: from, lenient: false } => may_be_null(from, input),
        _ => true,
    }
}

/// The bounds of an integer key, when an array over them is worth it.
fn direct_bounds(key: &Expr, input: &PhysicalPlan) -> Option<(i64, usize)> {
    if !matches!(key.ty.physical(), Physical::I16 | Physical::I32 | Physical::I64) {
        return None;
    }
    let (low, high) = plan::bounds::expr_bounds(key, &input.output)?;
    let values = high.checked_sub(low)?.checked_add(1)?;
    let worth = values <= DIRECT_VALUES_FREE || values as f64 <= input.estimated_rows * DIRECT_VALUES_PER_ROW;
    if values < 1 || values > DIRECT_VALUES_MAX || !worth {
        return None;
    }
    Some((i64::try_from(low).ok()?, values as usize))
}
