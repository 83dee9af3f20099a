//! Aggregations: what is hashed, what is computed below, and how many groups to expect.
//!
//! `lower_aggregate` first asks the joins below whether they group a part of their rows early
//! (`rules::eager_aggregation`); `group` then makes the Aggregate node over whatever comes up. Calls without a reader
//! are dropped. A group column that others determine is carried along instead of hashed, and a DISTINCT over rows
//! that are distinct already is dropped. The group columns become a key of the result.

use plan::{
    AggregateCall, AggregateFunction, ColumnId, Expr, LogicalPlan, OutputColumn, PhysicalNode, PhysicalPlan,
    Places,
};
use types::Result;

use super::bind::nullable;
use super::{Key, Relation};
use crate::columns::ColumnSet;
use crate::estimate::{Facts, distinct_among};
use crate::planner::Planner;
use crate::rules::eager_aggregation::{Request, Upper};

impl Planner<'_> {
    /// Lowers a grouping and the plan below it. Only group columns and calls in `needed` are delivered.
    pub(crate) fn lower_aggregate(
        &mut self,
        input: LogicalPlan,
        groups: Vec<(ColumnId, Expr)>,
        mut aggregates: Vec<(ColumnId, AggregateCall)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let had_aggregates = !aggregates.is_empty();
        if self.settings.projection_push_down {
            aggregates.retain(|(id, _)| needed.contains(*id));
        }
        if groups.is_empty() && had_aggregates && aggregates.is_empty() {
            // Exactly one row of which nothing is wanted. (With no aggregate at all, the same.)
            let node = PhysicalNode::Values { rows: vec![vec![]] };
            return Ok(Relation::new(PhysicalPlan::new(node, vec![], 1.0), vec![]));
        }
        let mut below = ColumnSet::new();
        groups.iter().for_each(|(_, e)| below.add_expr(e));
        for (_, call) in &aggregates {
            call.argument.iter().chain(&call.filter).for_each(|e| below.add_expr(e));
        }
        let request = Request { groups, calls: aggregates };
        let eager = self.settings.eager_aggregation && self.settings.projection_push_down;
        if !eager || !crate::join_order::dissolves(&input) || !request.suits() {
            let input = self.lower(input, &below)?;
            return self.group(input, request.groups, request.calls, needed);
        }
        let (input, upper) = self.lower_grouped_joins(input, &below, request.clone())?;
        let Some(Upper { groups, calls, computed, never_null }) = upper else {
            return self.group(input, request.groups, request.calls, needed);
        };
        let mut grouped_for = needed.clone();
        computed.iter().for_each(|(_, e)| grouped_for.add_expr(e));
        let mut result = self.group(input, groups, calls, &grouped_for)?;
        for id in never_null {
            if let Some(at) = result.position(id) {
                result.plan.output[at].nullable = false;
            }
        }
        if computed.is_empty() { Ok(result) } else { self.project(result, computed, needed) }
    }

    /// Groups the rows of part of a region of joins by the columns needed above and by `keys`.
    pub(crate) fn group_partially(
        &mut self,
        rows: Relation,
        keys: Groups,
        calls: Vec<(ColumnId, AggregateCall)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut groups = keys;
        let mut aliases = Vec::new();
        let mut delivered = needed.clone();
        for id in needed.iter() {
            let Some(at) = rows.position(id) else { continue };
            let column = rows.columns[at];
            if column != id {
                aliases.push((id, column));
            }
            if !groups.iter().any(|(known, _)| *known == column) {
                delivered.insert(column);
                groups.push((column, self.columns.expr(column)));
            }
        }
        let mut grouped = self.group(rows, groups, calls, &delivered)?;
        grouped.same.extend(aliases);
        grouped
            .plan
            .remarks
            .push("grouped before the join, put together after it (eager aggregation)".to_owned());
        Ok(grouped)
    }

    /// Groups the rows of a relation. Every one of `aggregates` is wanted.
    fn group(
        &mut self,
        mut input: Relation,
        groups: Groups,
        mut aggregates: Vec<(ColumnId, AggregateCall)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let distinct = self.settings.distinct_removal && aggregates.is_empty();
        if distinct && is_distinct(&input, &groups) {
            input.plan.remarks.push("DISTINCT dropped: no two rows agree".to_owned());
            return self.pass_on(input, groups, needed);
        }
        let rows = self.group_count(&input, groups.iter().map(|(_, e)| e));

        for (id, expr) in &groups {
            let distinct = self.distinct(expr).unwrap_or(rows).min(rows);
            let facts = match expr.as_column() {
                Some(from) => Facts { distinct: Some(distinct), ..*self.facts(from) },
                None => Facts { distinct: Some(distinct), ..Facts::UNKNOWN },
            };
            *self.facts_mut(*id) = facts;
        }

        let (groups, determined) =
            if self.settings.group_key_reduction { reduce(groups, &input) } else { (groups, vec![]) };
        let carried: Vec<ColumnId> =
            determined.iter().map(|(id, _)| *id).filter(|id| needed.contains(*id)).collect();
        for (id, expr) in determined {
            if let Some(from) = expr.as_column() {
                input.add_equality(id, from);
            }
            if needed.contains(id) || !self.settings.projection_push_down {
                let ty = expr.ty;
                let function = AggregateFunction::AnyValue;
                let call =
                    AggregateCall { function, argument: Some(expr), distinct: false, filter: None, ty };
                aggregates.push((id, call));
            }
        }

        let mut output = Vec::with_capacity(groups.len() + aggregates.len());
        let mut ids = Vec::with_capacity(groups.len() + aggregates.len());
        let mut keys = Vec::with_capacity(groups.len());
        for (id, expr) in groups {
            // A group keeps its column's dependencies alive under its own name.
            if let Some(from) = expr.as_column() {
                input.add_equality(id, from);
            }
            let (expr, bounds) = self.inputs(&input).typed(expr)?;
            let nullable = nullable(&expr, &input.plan.output);
            output.push(OutputColumn {
                name: self.columns.get(id).name.clone(),
                ty: expr.ty,
                nullable,
                bounds,
            });
            ids.push(id);
            keys.push(expr);
        }
        let group_ids = ids.clone();
        let mut calls: Vec<AggregateCall> = Vec::with_capacity(aggregates.len());
        let mut known = Places::default();
        let mut same = Vec::new();
        for (id, call) in aggregates {
            if let Some(facts) = self.aggregate_facts(&call, input.rows(), rows) {
                *self.facts_mut(id) = facts;
            }
            let (call, column) = self.bind_call(id, call, &input)?;
            if let Some(at) = known.find(&call, |at| calls[at] == call) {
                same.push((id, ids[group_ids.len() + at]));
                continue;
            }
            known.add(&call, calls.len());
            output.push(column);
            ids.push(id);
            calls.push(call);
        }
        let dependencies = std::mem::take(&mut input.dependencies);
        let node = PhysicalNode::Aggregate { input: Box::new(input.plan), groups: keys, aggregates: calls };
        let mut relation = Relation::new(PhysicalPlan::new(node, output, rows), ids);
        if !carried.is_empty() {
            let names = |ids: &[ColumnId]| {
                ids.iter().map(|id| self.columns.get(*id).name.clone()).collect::<Vec<_>>().join(", ")
            };
            let remark = format!(
                "group keys {} carried by {}, which determines them",
                names(&carried),
                names(&group_ids)
            );
            relation.plan.remarks.push(remark);
        }
        relation.dependencies = dependencies;
        relation.same = same;
        relation.add_key(Key { columns: group_ids, nulls_repeat: false, distinct: rows });
        Ok(relation)
    }

    /// DISTINCT over rows that are distinct: the columns as they are.
    fn pass_on(
        &mut self,
        mut input: Relation,
        groups: Vec<(ColumnId, Expr)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut computed = Vec::new();
        let mut wanted = needed.clone();
        for (id, expr) in groups {
            match expr.as_column() {
                // One column standing for another must be of the type the other is declared with.
                Some(from) if input.output(from).is_some_and(|c| c.ty == expr.ty) => {
                    *self.facts_mut(id) = *self.facts(from);
                    input.add_equality(id, from);
                    input.same.push((id, from));
                    if needed.contains(id) {
                        wanted.insert(from);
                    }
                }
                _ if needed.contains(id) => computed.push((id, expr)),
                _ => {}
            }
        }
        if computed.is_empty() { Ok(input) } else { self.project(input, computed, &wanted) }
    }

    fn bind_call(
        &mut self,
        id: ColumnId,
        call: AggregateCall,
        input: &Relation,
    ) -> Result<(AggregateCall, OutputColumn)> {
        use AggregateFunction as F;
        let AggregateCall { function, argument, distinct, filter, mut ty } = call;
        let source = argument.as_ref().and_then(Expr::as_column);
        let (argument, bounds) = match argument {
            Some(argument) => {
                let (argument, bounds) = self.inputs(input).typed(argument)?;
                (Some(argument), bounds)
            }
            None => (None, None),
        };
        let filter = filter.map(|f| self.inputs(input).bind(f)).transpose()?;
        let passes_value = matches!(function, F::Min | F::Max | F::AnyValue | F::SingleValue);
        if passes_value && let Some(argument) = &argument {
            ty = argument.ty;
        }
        if let (true, Some(source)) = (passes_value, source) {
            *self.facts_mut(id) = *self.facts(source);
        }
        let never_null = function.counts();
        let nullable = match (&function, source.and_then(|c| input.output(c))) {
            (F::AnyValue, Some(column)) => column.nullable,
            _ => !never_null,
        };
        let column = OutputColumn {
            name: self.columns.get(id).name.clone(),
            ty,
            nullable,
            bounds: bounds.filter(|_| passes_value),
        };
        Ok((AggregateCall { function, argument, distinct, filter, ty }, column))
    }

    /// Groups to expect: the product of the keys' distinct values among the rows at hand, those keys left out that
    /// others determine.
    pub(crate) fn group_count<'e>(
        &self,
        input: &Relation,
        groups: impl Iterator<Item = &'e Expr> + Clone,
    ) -> f64 {
        let rows = input.rows();
        if groups.clone().next().is_none() {
            return 1.0;
        }
        let columns: ColumnSet = groups.clone().filter_map(Expr::as_column).collect();
        let mut product = 1.0;
        let mut kept = columns.clone();
        for expr in groups {
            if let Some(id) = expr.as_column() {
                kept.remove(id);
                if input.closure(&kept).contains(id) {
                    continue;
                }
                kept.insert(id);
            }
            let domain = self.distinct(expr).unwrap_or_else(|| rows.sqrt().max(10.0));
            product *= distinct_among(domain.max(1.0), rows).max(1.0);
        }
        distinct_among(product, rows).max(1.0).min(rows.max(1.0))
    }
}

/// Whether the groups are known to be the input's rows.
fn is_distinct(input: &Relation, groups: &[(ColumnId, Expr)]) -> bool {
    let columns: ColumnSet = groups.iter().filter_map(|(_, e)| e.as_column()).collect();
    input.distinct_key(&columns).is_some()
}

type Groups = Vec<(ColumnId, Expr)>;

/// Rule `group_key_reduction`: splits the group keys into those that must be hashed and those that they determine.
///
/// A unique key determines all columns of its table, equal columns determine each other, and both pass through joins.
/// Keys are given up dearest first: strings, then wide values.
fn reduce(groups: Groups, input: &Relation) -> (Groups, Groups) {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let cost = |at: &usize| {
        let expr = &groups[*at].1;
        (expr.as_column().is_none(), expr.ty.physical().width(), groups.len() - at)
    };
    order.sort_by_key(|at| std::cmp::Reverse(cost(at)));
    let mut kept = vec![true; groups.len()];
    for at in order {
        let expr = &groups[at].1;
        if kept.iter().filter(|k| **k).count() == 1 || crate::cost::raises(expr) {
            continue;
        }
        let others: ColumnSet = (0..groups.len())
            .filter(|other| *other != at && kept[*other])
            .filter_map(|other| groups[other].1.as_column())
            .collect();
        if ColumnSet::of(expr).is_subset(&input.closure(&others)) {
            kept[at] = false;
        }
    }
    let mut keep = kept.into_iter();
    groups.into_iter().partition(|_| keep.next().unwrap_or(true))
}
