//! Joins in place of subqueries.
//!
//! Three ways, the first that fits:
//! 1. *Lifting*: conditions that mention outer columns are taken out of the subquery's filters and become the join's
//!    condition. Enough for EXISTS, IN and LATERAL over filters and inner joins.
//! 2. *Grouping*: a scalar subquery that aggregates is grouped by the inner sides of its correlating equalities and
//!    joined on them (W. Kim, "On Optimizing an SQL-like Nested Query", TODS 1982). Counts of absent groups are zero:
//!    whatever stood above the aggregation is evaluated after the join, so a missing row is just NULLs there.
//! 3. *Unnesting* over the domain of outer values (`unnest`), which always works and costs the outer plan twice.

pub(crate) mod deferred;
pub(crate) mod packing;
pub(crate) mod subquery;
pub(crate) mod unnest;

use std::collections::{BTreeSet, HashMap};

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, JoinKind, LogicalPlan};
use types::{Comparison, Result, Type};

use crate::bind::decorrelate::deferred::Runs;
use crate::bind::decorrelate::subquery::{Computed, Membership, Pending, PendingKind};
use crate::bind::decorrelate::unnest::{
    Domain, free_columns, is_count, join, made_columns, null_safe, or_zero, side, split_equalities,
};
use crate::bind::expression::fold;
use crate::bind::{Binder, substitute};

/// What placeholders turned out to be.
pub(crate) type Found = HashMap<ColumnId, Expr>;

/// The expression with placeholders replaced by what `attach` found.
pub(crate) fn replace(expr: Expr, found: &Found) -> Expr {
    if found.is_empty() { expr } else { substitute(expr, &|id| found.get(&id).cloned()) }
}

/// A subquery's plan without its outer conditions, and those conditions.
struct Lifted {
    plan: LogicalPlan,
    conditions: Vec<Expr>,
}

impl Binder<'_> {
    /// Joins subqueries to `input`; the result maps their placeholders to expressions over the new plan.
    pub(crate) fn attach(
        &mut self,
        input: LogicalPlan,
        pending: Vec<Pending>,
    ) -> Result<(LogicalPlan, Found)> {
        let mut plan = input;
        let mut found = Found::new();
        for Pending { placeholder, plan: subquery, kind } in pending {
            match kind {
                PendingKind::Scalar { column, computed } => {
                    plan = self.with_computed(plan, computed, &found);
                    let (joined, value) = self.attach_scalar(plan, subquery, column)?;
                    plan = joined;
                    found.insert(placeholder, value);
                }
                PendingKind::Mark { conditions, computed } => {
                    plan = self.with_computed(plan, computed, &found);
                    let conditions = conditions.into_iter().map(|c| replace(c, &found)).collect();
                    plan =
                        self.attach_join(plan, subquery, conditions, JoinKind::LeftMark, Some(placeholder))?;
                }
            }
        }
        Ok((plan, found))
    }

    /// `plan` with the columns that conditions of a join above it ask for.
    fn with_computed(&self, plan: LogicalPlan, computed: Computed, found: &Found) -> LogicalPlan {
        if computed.is_empty() {
            return plan;
        }
        let mut expressions: Vec<(ColumnId, Expr)> =
            plan.output().into_iter().map(|id| (id, self.column(id))).collect();
        expressions.extend(computed.into_iter().map(|(id, e)| (id, replace(e, found))));
        LogicalPlan::Project { input: Box::new(plan), expressions }
    }

    /// Joins `input` with a membership's subquery, as a semi or anti join.
    pub(crate) fn attach_membership(
        &mut self,
        input: LogicalPlan,
        m: Membership,
        found: &Found,
    ) -> Result<LogicalPlan> {
        let kind = if m.anti { JoinKind::LeftAnti } else { JoinKind::LeftSemi };
        let conditions = m.conditions.into_iter().map(|c| replace(c, found)).collect();
        let input = self.with_computed(input, m.computed, found);
        let mut plan = self.attach_join(input, m.plan, conditions, kind, None)?;
        if let LogicalPlan::Join { null_aware, .. } = &mut plan {
            *null_aware = m.null_aware;
        }
        Ok(plan)
    }

    /// Joins a possibly correlated `subquery` to `input`. A LATERAL join is the same with kinds Inner and Left.
    pub(crate) fn attach_join(
        &mut self,
        input: LogicalPlan,
        subquery: LogicalPlan,
        mut conditions: Vec<Expr>,
        kind: JoinKind,
        mark: Option<ColumnId>,
    ) -> Result<LogicalPlan> {
        let free = free_columns(&subquery);
        let with_mark = |mut plan: LogicalPlan| {
            if let LogicalPlan::Join { mark: m, .. } = &mut plan {
                *m = mark;
            }
            plan
        };
        if free.is_empty() {
            return Ok(with_mark(joined(input, subquery, conditions, kind)));
        }
        // What is volatile has other rows for every row whose columns it uses; lifted, all of them would share its rows.
        let made = made_columns(&input);
        if !subquery.is_volatile() || !free.iter().any(|id| made.contains(id)) {
            // Through DISTINCT and grouping only where more rows of the subquery do not matter.
            let lifted = self.lift(subquery.clone(), &free)?;
            if free_columns(&lifted.plan).is_disjoint(&free) {
                conditions.extend(lifted.conditions);
                return Ok(with_mark(joined(input, lifted.plan, conditions, kind)));
            }
        }
        let (input, inner, keys) = self.unnest_over(input, subquery, &free)?;
        let mut plan = join(input, inner, kind, keys, none_if_empty(conditions));
        plan = null_safe(plan);
        Ok(with_mark(plan))
    }

    /// The outer plan, the subquery for all its values, and the equalities of outer columns with the domain's. The
    /// domain is a copy of the outer plan: where a copy would have other rows, both read those of one.
    fn unnest_over(
        &mut self,
        input: LogicalPlan,
        subquery: LogicalPlan,
        free: &BTreeSet<ColumnId>,
    ) -> Result<(LogicalPlan, LogicalPlan, Vec<(Expr, Expr)>)> {
        self.count_instance()?;
        let made = made_columns(&input);
        // Columns of queries further out stay free, to be found by the query they belong to.
        let outer: Vec<ColumnId> = free.iter().copied().filter(|id| made.contains(id)).collect();
        // What is volatile is evaluated for every row, though the values of others are the same.
        let (input, number) = match subquery.is_volatile() {
            true => {
                let (numbered, id) = self.with_row_numbers(input);
                (numbered, Some(id))
            }
            false => (input, None),
        };
        // Rows that only use columns of queries further out are the same for all rows here.
        let row_by_row = number.is_some() && !outer.is_empty();
        let outer: Vec<ColumnId> = outer.into_iter().chain(number).collect();
        // The domain is a copy of these rows: numbers of rows without an order are theirs in one run alone.
        let numbered = number.is_some() && !self.is_scan_of_last_round(&input);
        let input = if numbered || input.is_volatile() { self.rows_of_one_run(input)? } else { input };
        let runs = Runs::new(&self.deferred, self.next_index());
        let domain = Domain { source: &input, outer, row_by_row, runs };
        let (plan, map) = domain.unnest(subquery, &mut self.columns)?;
        let Domain { outer, runs, .. } = domain;
        let (computed, deferred, next) = runs.into_rows();
        self.deferred.extend(deferred);
        self.materialized = next;
        for rows in computed {
            self.compute_unnested(rows)?;
        }
        let keys = outer.iter().map(|o| (self.column(*o), self.column(map[o]))).collect();
        Ok((input, plan, keys))
    }

    /// Whether these are numbered rows of a recursion's last round as they are: every scan of those has one order.
    fn is_scan_of_last_round(&self, input: &LogicalPlan) -> bool {
        let LogicalPlan::Window { input, .. } = input else { return false };
        matches!(**input, LogicalPlan::Scan { .. }) && self.reads_working(input)
    }

    fn attach_scalar(
        &mut self,
        input: LogicalPlan,
        subquery: LogicalPlan,
        column: ColumnId,
    ) -> Result<(LogicalPlan, Expr)> {
        let free = free_columns(&subquery);
        let volatile = !free.is_empty() && subquery.is_volatile();
        if volatile && has_one_row(&subquery) {
            let (input, inner, keys) = self.unnest_over(input, subquery, &free)?;
            return Ok((null_safe(join(input, inner, JoinKind::Left, keys, None)), self.column(column)));
        }
        if !volatile && let Some((grouped, keys, value)) = self.by_groups(&subquery, column, &free)? {
            return Ok((join(input, grouped, JoinKind::Left, keys, None), value));
        }
        if has_one_row(&subquery) {
            let (input, inner, keys) = self.unnest_over(input, subquery, &free)?;
            return Ok((null_safe(join(input, inner, JoinKind::Left, keys, None)), self.column(column)));
        }
        self.single_row(input, subquery, column, &free)
    }

    /// Way 2: the grouped subquery, its join keys, and the value above the join.
    #[allow(clippy::type_complexity)]
    fn by_groups(
        &mut self,
        subquery: &LogicalPlan,
        column: ColumnId,
        free: &BTreeSet<ColumnId>,
    ) -> Result<Option<(LogicalPlan, Vec<(Expr, Expr)>, Expr)>> {
        let mut value = self.column(column);
        let mut kept: Vec<Expr> = Vec::new();
        let mut node = subquery;
        let (input, aggregates) = loop {
            match node {
                LogicalPlan::Project { input, expressions } => {
                    let by_id: HashMap<ColumnId, &Expr> =
                        expressions.iter().map(|(id, e)| (*id, e)).collect();
                    let find = |id: ColumnId| by_id.get(&id).map(|e| (*e).clone());
                    value = substitute(value, &find);
                    kept = kept.into_iter().map(|k| substitute(k, &find)).collect();
                    node = input;
                }
                LogicalPlan::Filter { input, predicate } => {
                    kept.push(predicate.clone());
                    node = input;
                }
                LogicalPlan::Sort { input, limit, .. } if *limit != Some(0) => node = input,
                LogicalPlan::Limit { input, offset: 0, count } if *count != Some(0) => node = input,
                LogicalPlan::Aggregate { input, groups, aggregates } if groups.is_empty() => {
                    break (input.as_ref(), aggregates);
                }
                _ => return Ok(None),
            }
        };
        let lifted = self.lift(input.clone(), free)?;
        let clean = free_columns(&lifted.plan).is_disjoint(free)
            && aggregates.iter().all(|(_, call)| {
                [&call.argument, &call.filter].into_iter().flatten().all(|e| !mentions(e, free))
            });
        if !clean {
            return Ok(None);
        }
        let (keys, rest) = split_equalities(lifted.conditions, &|id| !free.contains(&id));
        if !rest.is_empty() {
            return Ok(None);
        }
        let mut groups: Vec<(ColumnId, Expr)> = Vec::with_capacity(keys.len());
        let mut on = Vec::with_capacity(keys.len());
        for (outer, inner) in keys {
            let id = self.column_for("key", &inner);
            if !groups.iter().any(|(g, _)| *g == id) {
                groups.push((id, inner));
            }
            on.push((outer, self.column(id)));
        }
        let counts: Vec<ColumnId> =
            aggregates.iter().filter(|(_, c)| is_count(&c.function)).map(|(id, _)| *id).collect();
        for id in aggregates.iter().map(|(id, _)| *id) {
            self.columns.get_mut(id).nullable = true;
        }
        let find = |id: ColumnId| counts.contains(&id).then(|| or_zero(Expr::column(id, Type::BigInt)));
        value = substitute(value, &find);
        if !kept.is_empty() {
            let kept = fold::and(kept.into_iter().map(|k| substitute(k, &find)).collect());
            let ty = value.ty;
            value = Expr::new(ExprKind::Case { branches: vec![(kept, value)], otherwise: None }, ty);
        }
        let grouped =
            LogicalPlan::Aggregate { input: Box::new(lifted.plan), groups, aggregates: aggregates.clone() };
        Ok(Some((grouped, on, value)))
    }

    /// A correlated scalar subquery that does not aggregate: one row by a key, by LIMIT 1, or by good luck.
    fn single_row(
        &mut self,
        input: LogicalPlan,
        subquery: LogicalPlan,
        column: ColumnId,
        free: &BTreeSet<ColumnId>,
    ) -> Result<(LogicalPlan, Expr)> {
        let (subquery, any) = match subquery {
            LogicalPlan::Limit { input, offset: 0, count: Some(1) }
                if !matches!(*input, LogicalPlan::Sort { .. }) =>
            {
                (*input, true)
            }
            other => (other, false),
        };
        self.columns.get_mut(column).nullable = true;
        if !subquery.is_volatile() {
            let lifted = self.lift(subquery.clone(), free)?;
            if free_columns(&lifted.plan).is_disjoint(free) {
                let (keys, rest) = split_equalities(lifted.conditions, &|id| !free.contains(&id));
                if self.unique_by(&lifted.plan, &keys) {
                    let plan = join(input, lifted.plan, JoinKind::Left, keys, none_if_empty(rest));
                    return Ok((plan, self.column(column)));
                }
            }
        }
        // Over the domain, so that only values that really occur outside can be found to have two rows.
        let (input, inner, keys) = self.unnest_over(input, subquery, free)?;
        let argument = self.column(column);
        let ty = argument.ty;
        let value = self.columns.add("value", ty, true);
        let function = if any { AggregateFunction::AnyValue } else { AggregateFunction::SingleValue };
        let call = AggregateCall { function, argument: Some(argument), distinct: false, filter: None, ty };
        let groups = keys.iter().filter_map(|(_, r)| r.as_column().map(|id| (id, r.clone()))).collect();
        let grouped =
            LogicalPlan::Aggregate { input: Box::new(inner), groups, aggregates: vec![(value, call)] };
        Ok((null_safe(join(input, grouped, JoinKind::Left, keys, None)), self.column(value)))
    }

    /// Whether equality of `keys` leaves at most one row of a plan over a single table.
    fn unique_by(&self, plan: &LogicalPlan, keys: &[(Expr, Expr)]) -> bool {
        let mut node = plan;
        loop {
            match node {
                LogicalPlan::Project { input, .. } | LogicalPlan::Filter { input, .. } => node = input,
                LogicalPlan::Scan { columns, .. } => {
                    let fixed: BTreeSet<ColumnId> =
                        keys.iter().filter_map(|(_, inner)| inner.as_column()).collect();
                    return self.keys.iter().any(|k| {
                        k.columns.iter().all(|c| fixed.contains(c) && columns.iter().any(|(id, _)| id == c))
                    });
                }
                _ => return false,
            }
        }
    }

    /// Way 1: takes conditions with free columns out of a plan, as far as its nodes let them through. What they need
    /// of the plan is passed up.
    fn lift(&mut self, plan: LogicalPlan, free: &BTreeSet<ColumnId>) -> Result<Lifted> {
        Ok(match plan {
            LogicalPlan::Filter { input, predicate } => {
                let mut lifted = self.lift(*input, free)?;
                let mut conjuncts = Vec::new();
                predicate.split_conjuncts(&mut conjuncts);
                let (outer, own): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| mentions(c, free));
                lifted.conditions.extend(outer);
                if !own.is_empty() {
                    lifted.plan =
                        LogicalPlan::Filter { input: Box::new(lifted.plan), predicate: Expr::and(own) };
                }
                lifted
            }
            LogicalPlan::Project { input, mut expressions } => {
                let lifted = self.lift(*input, free)?;
                for id in self.needed(&lifted.conditions, free) {
                    if !expressions.iter().any(|(e, _)| *e == id) {
                        expressions.push((id, self.column(id)));
                    }
                }
                let plan = LogicalPlan::Project { input: Box::new(lifted.plan), expressions };
                Lifted { plan, conditions: lifted.conditions }
            }
            LogicalPlan::Aggregate { input, groups, aggregates } if !groups.is_empty() => {
                self.lift_grouped(*input, groups, aggregates, free)?
            }
            LogicalPlan::Sort { input, limit: None, .. } => self.lift(*input, free)?,
            LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark }
                if !null_equals_null && !null_aware =>
            {
                self.lift_join(*left, *right, kind, (on, residual), mark, free)?
            }
            other => Lifted { plan: other, conditions: vec![] },
        })
    }

    /// Through a grouping (or DISTINCT): equalities only, whose inner sides become groups of their own.
    fn lift_grouped(
        &mut self,
        input: LogicalPlan,
        mut groups: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateCall)>,
        free: &BTreeSet<ColumnId>,
    ) -> Result<Lifted> {
        let lifted = self.lift(input.clone(), free)?;
        let (keys, rest) = split_equalities(lifted.conditions, &|id| !free.contains(&id));
        if !rest.is_empty() {
            return Ok(Lifted {
                plan: LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates },
                conditions: vec![],
            });
        }
        let mut conditions = Vec::with_capacity(keys.len());
        for (outer, inner) in keys {
            let id = self.column_for("key", &inner);
            if !groups.iter().any(|(g, _)| *g == id) {
                groups.push((id, inner));
            }
            conditions.push(Expr::compare(Comparison::Equal, outer, self.column(id)));
        }
        let plan = LogicalPlan::Aggregate { input: Box::new(lifted.plan), groups, aggregates };
        Ok(Lifted { plan, conditions })
    }

    fn lift_join(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        kind: JoinKind,
        (on, residual): (Vec<(Expr, Expr)>, Option<Expr>),
        mark: Option<ColumnId>,
        free: &BTreeSet<ColumnId>,
    ) -> Result<Lifted> {
        use JoinKind as J;
        let mut conditions = Vec::new();
        let mut take = |binder: &mut Self, plan: LogicalPlan, allowed: bool| -> Result<LogicalPlan> {
            if !allowed {
                return Ok(plan);
            }
            let lifted = binder.lift(plan, free)?;
            conditions.extend(lifted.conditions);
            Ok(lifted.plan)
        };
        let left = take(self, left, !matches!(kind, J::Right | J::Full | J::RightSemi | J::RightAnti))?;
        let right = take(self, right, matches!(kind, J::Inner | J::Right | J::RightSemi | J::RightAnti))?;
        let (mut own_on, mut own_residual) = (on, residual);
        if kind == J::Inner {
            let (kept, outer): (Vec<_>, Vec<_>) =
                own_on.into_iter().partition(|(l, r)| !mentions(l, free) && !mentions(r, free));
            own_on = kept;
            conditions.extend(outer.into_iter().map(|(l, r)| Expr::compare(Comparison::Equal, l, r)));
            let mut conjuncts = Vec::new();
            if let Some(residual) = own_residual {
                residual.split_conjuncts(&mut conjuncts);
            }
            let (outer, kept): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| mentions(c, free));
            conditions.extend(outer);
            own_residual = none_if_empty(kept);
        }
        let mut plan = join(left, right, kind, own_on, own_residual);
        if let LogicalPlan::Join { mark: m, .. } = &mut plan {
            *m = mark;
        }
        Ok(Lifted { plan, conditions })
    }

    /// Inner columns that lifted conditions use.
    fn needed(&self, conditions: &[Expr], free: &BTreeSet<ColumnId>) -> BTreeSet<ColumnId> {
        conditions.iter().flat_map(Expr::columns).filter(|id| !free.contains(id)).collect()
    }
}

fn mentions(expr: &Expr, columns: &BTreeSet<ColumnId>) -> bool {
    match expr.kind {
        ExprKind::Column(id) => columns.contains(&id),
        _ => expr.children().into_iter().any(|c| mentions(c, columns)),
    }
}

fn none_if_empty(conditions: Vec<Expr>) -> Option<Expr> {
    if conditions.is_empty() { None } else { Some(fold::and(conditions)) }
}

/// Whether a plan has at most one row for sure, as an aggregation without groups does.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate { groups, .. } => groups.is_empty(),
        LogicalPlan::Project { input, .. }
        | LogicalPlan::Filter { input, .. }
        | LogicalPlan::Sort { input, .. } => has_one_row(input),
        LogicalPlan::Values { rows, .. } => rows.len() <= 1,
        _ => false,
    }
}

/// A join whose conditions are sorted into keys, filters of the right side, and the rest.
pub(crate) fn joined(
    left: LogicalPlan,
    right: LogicalPlan,
    conditions: Vec<Expr>,
    kind: JoinKind,
) -> LogicalPlan {
    let made = made_columns(&right);
    let is_right = |id: ColumnId| made.contains(&id);
    let mut conjuncts = Vec::new();
    for condition in conditions {
        condition.split_conjuncts(&mut conjuncts);
    }
    let (on, rest) = split_equalities(conjuncts, &is_right);
    // Conditions on the right side alone: there, unless its rows are kept whatever the condition says.
    let keeps_right =
        matches!(kind, JoinKind::Right | JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti);
    let (own, residual): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|c| !keeps_right && side(c, &is_right) == Some(true));
    let right = match none_if_empty(own) {
        Some(predicate) => LogicalPlan::Filter { input: Box::new(right), predicate },
        None => right,
    };
    join(left, right, kind, on, none_if_empty(residual))
}
