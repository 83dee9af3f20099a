//! Sorts, limits, windows and unions of a cluster.
//!
//! Each node sorts its own rows, and the coordinator merges what it is sent: n streams cost it a few comparisons a row,
//! and nothing is sampled or sent twice. A limit cuts at every node what can be cut there, and again at the coordinator.

use plan::{AggregateFunction as F, ExprKind, PhysicalNode as N, PhysicalPlan, WindowCall, WindowFunction};
use types::Result;

use super::pass::{Pass, broken, take_inputs, with_inputs};
use super::place::{Place, Placed};

impl Pass<'_> {
    /// Sorted at every node, merged at the coordinator, and cut there again where only the first rows are wanted.
    pub(super) fn sort(&mut self, mut plan: PhysicalPlan) -> Result<Placed> {
        let input = take_inputs(&mut plan).pop().ok_or_else(broken)?;
        let N::Sort { keys, limit, .. } = &plan.node else { return Err(broken()) };
        let (keys, limit) = (keys.clone(), *limit);
        let placed = self.place(input, false)?;
        let place = placed.place.clone();
        let sorted = Placed { plan: with_inputs(plan, vec![placed.plan]), place, ordered: true };
        if sorted.place == Place::Single {
            return Ok(sorted);
        }
        let merged = self.merged(sorted, keys)?;
        Ok(match limit {
            None => merged,
            Some(count) => Placed { plan: first(merged.plan, 0, Some(count)), ..merged },
        })
    }

    /// So many first rows of each node, and of those the ones that are wanted.
    pub(super) fn limit(&mut self, mut plan: PhysicalPlan) -> Result<Placed> {
        let input = take_inputs(&mut plan).pop().ok_or_else(broken)?;
        let N::Limit { offset, count, .. } = plan.node else { return Err(broken()) };
        let most = count.and_then(|count| count.checked_add(offset));
        let placed = self.place(cut_inputs(input, most), true)?;
        if placed.place == Place::Single {
            return Ok(Placed { plan: with_inputs(plan, vec![placed.plan]), ..placed });
        }
        let cut = match most {
            Some(most) => Placed { plan: first(placed.plan, 0, Some(most)), ..placed },
            None => placed,
        };
        let single = self.single(cut)?;
        Ok(Placed { plan: with_inputs(plan, vec![single.plan]), ..single })
    }

    /// A partition's rows meet; without partitions all rows do, at the coordinator.
    pub(super) fn window(&mut self, mut plan: PhysicalPlan) -> Result<Placed> {
        let N::Window { partition, order, calls, .. } = &plan.node else { return Err(broken()) };
        let (partition, by_arrival) = (partition.clone(), order.is_empty() && calls.iter().any(by_arrival));
        if partition.is_empty() || by_arrival {
            return self.at_coordinator(plan);
        }
        let input = take_inputs(&mut plan).pop().ok_or_else(broken)?;
        let placed = self.place(input, false)?;
        let placed = match placed.place.brings_together(&partition) {
            true => placed,
            false => self.hashed(placed, partition)?,
        };
        // The input's columns come first in the output: what names them still does. Partitions come in no order.
        Ok(Placed { plan: with_inputs(plan, vec![placed.plan]), place: placed.place, ordered: true })
    }

    pub(super) fn union(&mut self, mut plan: PhysicalPlan, ordered: bool) -> Result<Placed> {
        let inputs = take_inputs(&mut plan);
        let mut placed = Vec::with_capacity(inputs.len());
        for input in inputs {
            placed.push(self.place(input, ordered)?);
        }
        let here = placed.iter().all(|input| input.place == Place::Single);
        let in_order = placed.iter().all(|input| input.ordered);
        if here || ordered {
            let gathered = placed.into_iter().map(|input| self.single(input).map(|input| input.plan));
            let plan = with_inputs(plan, gathered.collect::<Result<_>>()?);
            return Ok(Placed { plan, place: Place::Single, ordered: in_order });
        }
        let places = placed.iter().map(|input| (input.place.clone(), input.ordered)).collect();
        let inputs = placed.into_iter().map(|input| input.plan).collect();
        Ok(Placed { plan: with_inputs(plan, inputs), place: Place::Beside(places), ordered: false })
    }
}

/// A union of which only the first rows are wanted takes no more of each input.
fn cut_inputs(mut plan: PhysicalPlan, most: Option<u64>) -> PhysicalPlan {
    match (&plan.node, most) {
        (N::UnionAll { .. }, Some(most)) => {
            let inputs = take_inputs(&mut plan).into_iter().map(|input| first(input, 0, Some(most)));
            with_inputs(plan, inputs.collect())
        }
        _ => plan,
    }
}

/// A limit above the plan.
fn first(input: PhysicalPlan, offset: u64, count: Option<u64>) -> PhysicalPlan {
    let output = input.output.clone();
    // Rounding does not matter to an estimate.
    let rows = input.estimated_rows.min(count.map_or(f64::INFINITY, |count| count as f64));
    PhysicalPlan::new(N::Limit { input: Box::new(input), offset, count }, output, rows)
}

/// Whether a call of a window without an order depends on the order in which rows arrive.
fn by_arrival(call: &WindowCall) -> bool {
    let whole = call.frame == plan::Frame::standard();
    match &call.function {
        WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => false,
        WindowFunction::Aggregate(function) => !whole || takes_rows_as_they_come(function),
        _ => true,
    }
}

/// Whether an aggregate's value depends on the order of its input.
pub(super) fn takes_rows_as_they_come(function: &F) -> bool {
    matches!(function, F::StringAgg { ordered: false, .. } | F::Arrival { .. })
}

/// Whether the expression is the input's column at `at`.
pub(super) fn is_input(expr: &plan::Expr, at: usize) -> bool {
    matches!(expr.kind, ExprKind::Input(found) if found == at)
}
