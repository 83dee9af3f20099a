//! Logical plan to physical plan, bottom-up: each subplan becomes a `Relation`.
//!
//! Only the columns needed above leave a node; that is projection push-down, and it costs nothing here because every
//! physical node says itself which columns it delivers. Joins are lowered by `join_order`, which ends in `join`.

mod aggregate;
pub(crate) mod bind;
mod deliver;
pub(crate) mod join;
mod nodes;
pub(crate) mod predicate;
mod relation;
mod scan;
mod unnest;
mod window;

use plan::{ColumnId, Expr, LogicalPlan, OutputColumn, PhysicalNode, PhysicalPlan, SortKey};
use types::stop::{self, Place, UnwindingPace};
use types::{Result, Value};

use crate::columns::ColumnSet;
use crate::estimate::{Facts, at_least_one};
use crate::planner::Planner;
use bind::Inputs;
pub(crate) use nodes::{empty, never_true, order_filters, wrap};
pub(crate) use relation::{Dependency, Key, Relation};
pub(crate) use scan::rows_in_files;

/// What two values are compared for, as `Pace` counts.
const SPENT_ON_COMPARING: usize = 16;

impl Planner<'_> {
    /// Lowers `plan`; the result delivers at least the columns of `needed` that the plan has.
    pub(crate) fn lower(&mut self, plan: LogicalPlan, needed: &ColumnSet) -> Result<Relation> {
        stop::check(Place::Lower)?;
        if crate::join_order::dissolves(&plan) {
            return self.lower_join_tree(plan, needed);
        }
        match plan {
            LogicalPlan::Scan { source, columns, filters } => {
                self.lower_scan(source, columns, filters, needed)
            }
            LogicalPlan::Values { columns, rows } => Ok(self.lower_values(&columns, rows, needed)),
            LogicalPlan::Filter { input, predicate } => {
                let mut below = needed.clone();
                below.add_expr(&predicate);
                let mut input = self.lower(*input, &below)?;
                if self.settings.top_k {
                    window::keep_first_rows(&predicate, &mut input);
                }
                self.filter(input, vec![predicate])
            }
            LogicalPlan::Project { input, expressions } => self.lower_project(*input, expressions, needed),
            join @ LogicalPlan::Join { .. } => self.lower_join_tree(join, needed),
            LogicalPlan::Aggregate { input, groups, aggregates } => {
                self.lower_aggregate(*input, groups, aggregates, needed)
            }
            LogicalPlan::Sort { input, keys, limit } => self.lower_sort(*input, keys, limit, needed),
            LogicalPlan::Limit { input, offset, count } => {
                let input = self.lower(*input, needed)?;
                if offset == 0 && count.is_none() {
                    return Ok(input);
                }
                let rows = (input.rows() - offset as f64).max(0.0).min(count.map_or(f64::MAX, |c| c as f64));
                Ok(wrap(input, rows, |input| PhysicalNode::Limit { input, offset, count }))
            }
            LogicalPlan::Window { input, partition, order, calls } => {
                self.lower_window(*input, partition, order, calls, needed)
            }
            LogicalPlan::Unnest { input, lists, ordinality, outer } => {
                self.lower_unnest(*input, lists, ordinality, outer, needed)
            }
            LogicalPlan::Union { inputs, columns } => self.lower_union(inputs, &columns, needed),
        }
    }

    /// The column as a node puts it out, with its declared type and without bounds.
    pub(crate) fn output_column(&self, id: ColumnId) -> OutputColumn {
        let info = self.columns.get(id);
        OutputColumn { name: info.name.clone(), ty: info.ty, nullable: info.nullable, bounds: None }
    }

    /// The inputs of an expression over one relation.
    pub(crate) fn inputs<'r>(&self, relation: &'r Relation) -> Inputs<'r> {
        Inputs::one(relation, self.settings.narrow_decimals)
    }

    fn lower_values(&mut self, columns: &[ColumnId], rows: Vec<Vec<Value>>, needed: &ColumnSet) -> Relation {
        let kept: Vec<usize> = (0..columns.len())
            .filter(|i| !self.settings.projection_push_down || needed.contains(columns[*i]))
            .collect();
        let mut output = Vec::with_capacity(kept.len());
        // Constant rows may be many; few are not worth a look at the signal.
        let mut pace = UnwindingPace::new(Place::Lower);
        for at in &kept {
            let mut column = self.output_column(columns[*at]);
            let mut bounds: Option<(i128, i128)> = None;
            if plan::bounds::has_bounds(column.ty) {
                for v in rows.iter().filter_map(|row| row.get(*at)?.as_i128()) {
                    bounds = Some(bounds.map_or((v, v), |(l, h)| (l.min(v), h.max(v))));
                }
            }
            column.bounds = bounds;
            column.nullable = rows.iter().any(|row| row.get(*at).is_none_or(Value::is_null));
            output.push(column);
            let mut values: Vec<&Value> = rows.iter().filter_map(|row| row.get(*at)).collect();
            values.sort_unstable_by(|a, b| {
                pace.unwind_if_stopped(SPENT_ON_COMPARING);
                a.cmp(b)
            });
            values.dedup();
            let distinct = Some(values.len() as f64);
            *self.facts_mut(columns[*at]) = Facts { distinct, ..Facts::UNKNOWN };
        }
        let count = rows.len() as f64;
        let rows = if kept.len() == columns.len() {
            rows
        } else {
            rows.into_iter()
                .map(|row| kept.iter().map(|at| row.get(*at).cloned().unwrap_or(Value::Null)).collect())
                .collect()
        };
        let ids = kept.iter().map(|at| columns[*at]).collect();
        Relation::new(PhysicalPlan::new(PhysicalNode::Values { rows }, output, count), ids)
    }

    /// A filter over a relation. A predicate that is never true leaves no rows and no plan.
    pub(crate) fn filter(&mut self, input: Relation, conjuncts: Vec<Expr>) -> Result<Relation> {
        let mut parts = Vec::with_capacity(conjuncts.len());
        conjuncts.into_iter().for_each(|c| c.split_conjuncts(&mut parts));
        if parts.is_empty() {
            return Ok(input);
        }
        if parts.iter().any(never_true) {
            return Ok(empty(input));
        }
        let rows = at_least_one(input.rows() * self.all_of(&parts)).min(input.rows());
        order_filters(&mut parts, |e| self.selectivity(e));
        let predicate = self.inputs(&input).bind(Expr::and(parts))?;
        Ok(wrap(input, rows, |input| PhysicalNode::Filter { input, predicate }))
    }

    /// A projection passes its input's columns on and adds its own (see `rules::projections`).
    fn lower_project(
        &mut self,
        input: LogicalPlan,
        expressions: Vec<(ColumnId, Expr)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut below = needed.clone();
        let mut computed = Vec::with_capacity(expressions.len());
        for (id, expr) in expressions {
            if expr.as_column() == Some(id) {
                below.insert(id);
                continue;
            }
            below.remove(id);
            if needed.contains(id) || !self.settings.projection_push_down || expr.has_effects() {
                computed.push((id, expr));
            }
        }
        computed.iter().for_each(|(_, e)| below.add_expr(e));
        let input = self.lower(input, &below)?;
        if computed.is_empty() {
            return Ok(input);
        }
        self.project(input, computed, needed)
    }

    /// Adds computed columns; of the input's, those needed above stay.
    pub(crate) fn project(
        &mut self,
        mut input: Relation,
        computed: Vec<(ColumnId, Expr)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut output = Vec::new();
        let mut ids = Vec::new();
        let mut expressions = Vec::new();
        for (at, id) in input.columns.iter().enumerate() {
            let wanted = needed.contains(*id) || input.same.iter().any(|(alias, _)| needed.contains(*alias));
            if wanted || !self.settings.projection_push_down {
                let column = &input.plan.output[at];
                expressions.push(Expr::input(at, column.ty));
                output.push(column.clone());
                ids.push(*id);
            }
        }
        for (id, expr) in computed {
            let distinct = self.distinct(&expr).map(|d| d.min(input.rows().max(1.0)));
            if let Some(other) = expr.as_column() {
                *self.facts_mut(id) = *self.facts(other);
                input.add_equality(id, other);
            } else {
                let moments = self.moments(&expr);
                *self.facts_mut(id) = Facts { distinct, moments, ..Facts::UNKNOWN };
                let from: Vec<ColumnId> = expr.columns().into_iter().collect();
                if !crate::cost::raises(&expr) {
                    // What raises no error is no library function either, so equal inputs give equal results.
                    input.dependencies.push(Dependency { from, to: vec![id], survives_nulls: false });
                }
            }
            let (expr, bounds) = self.inputs(&input).typed(expr)?;
            let column = OutputColumn {
                name: self.columns.get(id).name.clone(),
                ty: expr.ty,
                nullable: bind::nullable(&expr, &input.plan.output),
                bounds,
            };
            expressions.push(expr);
            output.push(column);
            ids.push(id);
        }
        let rows = input.rows();
        let Relation { plan, same, keys, dependencies, .. } = input;
        let node = PhysicalNode::Project { input: Box::new(plan), expressions };
        Ok(Relation {
            plan: PhysicalPlan::new(node, output, rows),
            columns: ids.into(),
            same,
            keys,
            dependencies,
        })
    }

    fn lower_sort(
        &mut self,
        input: LogicalPlan,
        keys: Vec<SortKey>,
        limit: Option<u64>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut below = needed.clone();
        keys.iter().for_each(|k| below.add_expr(&k.expr));
        let input = self.lower(input, &below)?;
        let mut bound = Vec::with_capacity(keys.len());
        // A key that earlier keys determine never decides.
        let mut known = ColumnSet::new();
        for key in keys {
            if let Some(id) = key.expr.as_column() {
                if input.closure(&known).contains(id) {
                    continue;
                }
                known.insert(id);
            }
            if key.expr.as_literal().is_none() {
                bound.push(SortKey { expr: self.inputs(&input).bind(key.expr)?, ..key });
            }
        }
        if bound.is_empty() {
            return Ok(match limit {
                None => input,
                Some(n) => {
                    let rows = input.rows().min(n as f64);
                    wrap(input, rows, |input| PhysicalNode::Limit { input, offset: 0, count: Some(n) })
                }
            });
        }
        let rows = input.rows().min(limit.map_or(f64::MAX, |n| n as f64));
        Ok(wrap(input, rows, |input| PhysicalNode::Sort { input, keys: bound, limit }))
    }

    fn lower_union(
        &mut self,
        inputs: Vec<(LogicalPlan, Vec<ColumnId>)>,
        columns: &[ColumnId],
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let kept: Vec<usize> = (0..columns.len())
            .filter(|i| !self.settings.projection_push_down || needed.contains(columns[*i]))
            .collect();
        let ids: Vec<ColumnId> = kept.iter().map(|at| columns[*at]).collect();
        let types: Vec<_> = ids.iter().map(|id| self.columns.get(*id).ty).collect();
        let mut plans = Vec::with_capacity(inputs.len());
        let mut output: Vec<OutputColumn> = ids.iter().map(|id| self.output_column(*id)).collect();
        output.iter_mut().for_each(|c| c.nullable = false);
        let mut rows = 0.0;
        let mut distinct = vec![Some(0.0); ids.len()];
        for (input, own) in inputs {
            let own: Vec<ColumnId> = kept.iter().map(|at| own[*at]).collect();
            let relation = self.lower(input, &own.iter().copied().collect())?;
            if relation.is_empty() {
                continue;
            }
            for (total, id) in distinct.iter_mut().zip(&own) {
                *total = total.zip(self.facts(*id).distinct).map(|(a, b)| a + b);
            }
            let plan = self.deliver(relation, &own, &types)?;
            rows += plan.estimated_rows;
            for (column, from) in output.iter_mut().zip(&plan.output) {
                column.nullable |= from.nullable;
                column.bounds = match (plans.is_empty(), column.bounds, from.bounds) {
                    (true, _, bounds) => bounds,
                    (false, Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                    _ => None,
                };
            }
            plans.push(plan);
        }
        for (id, distinct) in ids.iter().zip(distinct) {
            *self.facts_mut(*id) = Facts { distinct, ..Facts::UNKNOWN };
        }
        let node = match plans.len() {
            0 => PhysicalNode::Values { rows: vec![] },
            1 => {
                let mut plan = plans.remove(0);
                plan.output = output;
                return Ok(Relation::new(plan, ids));
            }
            _ => PhysicalNode::UnionAll { inputs: plans },
        };
        Ok(Relation::new(PhysicalPlan::new(node, output, rows), ids))
    }
}
