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
pub(crate) mod codes;
mod descriptor;
mod distinct;
pub(crate) mod join_groups;
mod local;
mod masked;
mod merge;
mod picks;
mod products;
mod shared;
mod sink;
mod source;
mod spilled;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock};

use expr::Program;
use hash::aggregate::{KeyColumn, KeyLayout};
use plan::pipeline::Codes;
use plan::{Expr, ExprKind, PhysicalNode, PhysicalPlan};
use types::{Error, Physical, Result};

use crate::context::QueryContext;
use crate::pipeline::{Sink, Source, Step};
use calls::Calls;
pub(crate) use calls::measure;
pub use clustered::Clustered;
pub use codes::CodesWanted;
use descriptor::{Descriptor, PairLayout, Strategies};
pub use join_groups::JoinGroups;
pub use shared::Aggregate;

/// The array of a direct map is not larger than this, and than so many times the rows expected.
const DIRECT_VALUES_MAX: i128 = 1 << 27;
const DIRECT_VALUES_PER_ROW: f64 = 4.0;
/// An array this small is always worth it.
const DIRECT_VALUES_FREE: i128 = 1 << 16;

impl Aggregate {
    /// `plan` has to be an Aggregate node. The settings narrow the ways of numbering groups.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Arc<Aggregate>> {
        Self::with_strategies(plan, Strategies::of(query))
    }

    /// As `new`, with the ways of numbering groups given.
    fn with_strategies(plan: &PhysicalPlan, strategies: Strategies) -> Result<Arc<Aggregate>> {
        let PhysicalNode::Aggregate { input, groups, aggregates } = &plan.node else {
            return Err(Error::internal("not an aggregation"));
        };
        let calls = Calls::new(groups, aggregates);
        let columns: Vec<KeyColumn> =
            groups.iter().map(|e| KeyColumn { ty: e.ty, nullable: may_be_null(e, input) }).collect();
        let layout = KeyLayout::new(&columns);
        let pairs: Vec<PairLayout> = calls
            .states
            .arguments
            .iter()
            .enumerate()
            .filter(|(_, a)| a.distinct)
            .map(|(at, a)| PairLayout::new(at, &layout, a.ty))
            .collect();
        let direct = match groups.as_slice() {
            [key] if strategies.direct && pairs.is_empty() => direct_bounds(key, input),
            _ => None,
        };
        let cells = cells::CellArguments::of(&calls, input);
        let products = products::Products::of(&calls);
        let program = Arc::new(Program::compile(&calls.expressions)?);
        let descriptor = Descriptor {
            node: plan.id,
            computation: codegen::Computation::values(program.clone()),
            program,
            groups: calls.groups,
            arguments: calls.arguments,
            spec: calls.states,
            layout,
            pairs,
            direct,
            strategies,
            estimated_groups: plan.estimated_rows,
            input_rows: input.estimated_rows,
            pairs_by_group: OnceLock::new(),
            codes_wanted: OnceLock::new(),
            cells,
            products,
        };
        Ok(Arc::new(Aggregate {
            descriptor,
            finishes: calls.finishes,
            merge: Mutex::default(),
            output: OnceLock::new(),
            spilled: OnceLock::new(),
        }))
    }
    /// Numbers the groups and updates their states, one worker at a time.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(sink::AggregateSink(self.clone()))
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
    if !(1..=DIRECT_VALUES_MAX).contains(&values) || !worth {
        return None;
    }
    Some((i64::try_from(low).ok()?, values as usize))
}
