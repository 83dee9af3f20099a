//! Groupings of a cluster: where rows lie, before and after an exchange, or after it alone.
//!
//! Grouped before the exchange, n nodes send their groups instead of their rows; that pays where it leaves less than half
//! of them, by estimate. Few groups go to the coordinator at once, where most results end.

use plan::{AggregateCall, AggregateFunction, Expr, ExprKind, OutputColumn, PhysicalNode as N, PhysicalPlan};
use types::Result;

use super::cost;
use super::halves::{Halves, split};
use super::pass::{Pass, broken, take_inputs, with_inputs};
use super::place::{Place, Placed};
use super::rows::takes_rows_as_they_come;

/// Where less of the rows is left by a grouping, it pays before an exchange.
const REDUCES: f64 = 0.5;

/// An aggregation without its input.
struct Grouping {
    groups: Vec<Expr>,
    calls: Vec<AggregateCall>,
    output: Vec<OutputColumn>,
    rows: f64,
    remarks: Vec<String>,
}

impl Pass<'_> {
    pub(super) fn aggregate(&mut self, mut plan: PhysicalPlan) -> Result<Placed> {
        let N::Aggregate { groups, aggregates, .. } = &plan.node else { return Err(broken()) };
        if aggregates.iter().any(|call| takes_rows_as_they_come(&call.function)) {
            return self.at_coordinator(plan);
        }
        let grouping = Grouping {
            groups: groups.clone(),
            calls: aggregates.clone(),
            output: plan.output.clone(),
            rows: plan.estimated_rows,
            remarks: plan.remarks.clone(),
        };
        let input = take_inputs(&mut plan).pop().ok_or_else(broken)?;
        // Before exchanges hide it: how many rows there are at most on all nodes.
        let statistics = self.statistics;
        let rows = plan::rows::rows_at_most(&input, &mut |source| match &source.node {
            N::TableScan { table, .. } => statistics.table(*table).map(|table| table.rows),
            _ => None,
        });
        let placed = self.place(input, false)?;
        if placed.place == Place::Single || placed.place.brings_together(&grouping.groups) {
            let place = grouping.place_of(&placed.place);
            let whole = Placed { plan: with_inputs(plan, vec![placed.plan]), place, ordered: true };
            return Ok(self.alone(whole));
        }
        let groups = grouping.groups.len();
        let columns = &grouping.output[groups..];
        let halves = split(&grouping.calls, columns, &placed.plan.output, groups, rows);
        match halves {
            Some(halves) if self.pays(&grouping, &placed.plan) => self.twice(grouping, halves, placed),
            _ => self.after_exchange(plan, grouping, placed),
        }
    }

    /// Whether grouping before the exchange leaves few rows.
    fn pays(&self, grouping: &Grouping, input: &PhysicalPlan) -> bool {
        if grouping.groups.is_empty() {
            return true;
        }
        let each = (input.estimated_rows / self.nodes()).max(1.0);
        self.cluster.pre_aggregation && grouping.rows.min(each) < REDUCES * each
    }

    /// Grouped at every node, exchanged by group, and grouped again.
    fn twice(&mut self, grouping: Grouping, halves: Halves, input: Placed) -> Result<Placed> {
        let Grouping { groups, output, rows, mut remarks, .. } = grouping;
        let count = groups.len();
        let Halves { lower, upper, results } = halves;
        let keys: Vec<Expr> =
            output[..count].iter().enumerate().map(|(at, column)| Expr::input(at, column.ty)).collect();
        let each = (input.plan.estimated_rows / self.nodes()).max(1.0);
        let partial_rows = if count == 0 { self.nodes() } else { rows.min(each) * self.nodes() };
        let mut partial = node(input.plan, groups, lower, &output[..count], partial_rows);
        partial.remarks.push("grouped before the exchange".to_owned());
        let place = if input.place == Place::Replicated { Place::Replicated } else { Place::Any };
        let partial = Placed { plan: partial, place, ordered: true };
        let few = cost::bytes(&partial.plan) <= self.cluster.gathered_bytes;
        let exchanged = match count == 0 || few {
            true => self.single(partial)?,
            false => self.hashed(partial, keys.clone())?,
        };
        let (place, ordered) = (exchanged.place.clone(), true);
        let mut whole = node(exchanged.plan, keys.clone(), upper, &output[..count], rows);
        whole.remarks.append(&mut remarks);
        let whole = self.alone(Placed { plan: whole, place, ordered });
        let in_place = results.iter().enumerate();
        let in_place =
            in_place.map(|(at, e)| matches!(e.kind, ExprKind::Input(found) if found == count + at));
        if whole.plan.output.len() == output.len() && in_place.fold(true, |all, one| all & one) {
            return Ok(whole);
        }
        let expressions: Vec<Expr> = keys.into_iter().chain(results).collect();
        let node = N::Project { input: Box::new(whole.plan), expressions };
        Ok(Placed { plan: PhysicalPlan::new(node, output, rows), place: whole.place, ordered })
    }

    /// The rows travel: by their group, or to the coordinator where there is no group. Where DISTINCT is all that is
    /// asked of one value, only different ones do.
    fn after_exchange(&mut self, plan: PhysicalPlan, grouping: Grouping, input: Placed) -> Result<Placed> {
        let (plan, grouping, input) = match grouping.only_distinct() {
            Some(value) if self.cluster.pre_aggregation || grouping.groups.is_empty() => {
                self.different(plan, grouping, value, input)
            }
            _ => (plan, grouping, input),
        };
        let exchanged = match grouping.groups.is_empty() {
            true => self.single(input)?,
            false => self.hashed(input, grouping.groups.clone())?,
        };
        let place = grouping.place_of(&exchanged.place);
        let whole = Placed { plan: with_inputs(plan, vec![exchanged.plan]), place, ordered: true };
        Ok(self.alone(whole))
    }

    /// Each node's different values of each group instead of its rows.
    fn different(
        &self,
        mut plan: PhysicalPlan,
        mut grouping: Grouping,
        value: Expr,
        input: Placed,
    ) -> (PhysicalPlan, Grouping, Placed) {
        let count = grouping.groups.len();
        let ty = value.ty;
        let keys: Vec<Expr> = grouping.groups.iter().cloned().chain([value]).collect();
        let mut columns = grouping.output[..count].to_vec();
        columns.push(OutputColumn { name: "value".to_owned(), ty, nullable: true, bounds: None });
        let rows = input.plan.estimated_rows;
        let mut different = node(input.plan, keys, vec![], &columns, rows);
        different.remarks.push("different values before the exchange".to_owned());
        let moved: Vec<Expr> =
            columns[..count].iter().enumerate().map(|(at, column)| Expr::input(at, column.ty)).collect();
        if let N::Aggregate { groups, aggregates, .. } = &mut plan.node {
            groups.clone_from(&moved);
            for call in aggregates {
                call.argument = Some(Expr::input(count, ty));
            }
        }
        grouping.groups = moved;
        (plan, grouping, Placed { plan: different, place: Place::Any, ordered: false })
    }
}

impl Grouping {
    /// Where groups lie if their rows do so.
    fn place_of(&self, rows: &Place) -> Place {
        rows.renamed(|expr| {
            let found = self.groups.iter().position(|key| super::place::same(key, expr));
            found.map(|at| Expr::input(at, self.output[at].ty)).into_iter().collect()
        })
    }

    /// The value that all calls take different ones of, if that is all they do. The least of different values is the
    /// least of all.
    fn only_distinct(&self) -> Option<Expr> {
        let first = self.calls.first()?.argument.clone()?;
        let indifferent = |call: &AggregateCall| {
            use AggregateFunction as F;
            matches!(call.function, F::Min | F::Max)
        };
        let only = |call: &AggregateCall| {
            call.filter.is_none()
                && call.argument.as_ref() == Some(&first)
                && (call.distinct || indifferent(call))
                && call.function != AggregateFunction::SingleValue
        };
        self.calls.iter().all(only).then_some(first)
    }
}

/// An aggregation of `input`; `keys` are the columns of its groups.
fn node(
    input: PhysicalPlan,
    groups: Vec<Expr>,
    calls: Vec<(AggregateCall, OutputColumn)>,
    keys: &[OutputColumn],
    rows: f64,
) -> PhysicalPlan {
    let (aggregates, columns): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    let output = keys.iter().cloned().chain(columns).collect();
    PhysicalPlan::new(N::Aggregate { input: Box::new(input), groups, aggregates }, output, rows)
}
