//! Window nodes: the columns they need from below, and the sort that a window without PARTITION BY takes.
//!
//! Calls without a reader are dropped, and a node without calls disappears. A window without PARTITION BY gets a Sort
//! below it, since that runs in parallel and its own sort would not. `keep_first_rows` is called for a filter above a
//! window: if the filter bounds a row number or rank, the node is told that only so many first rows of each partition
//! are wanted; the filter stays.

use plan::{
    ColumnId, Expr, ExprKind, LogicalPlan, OutputColumn, PhysicalNode, PhysicalPlan, SortKey, WindowCall,
    WindowFunction,
};
use types::{Comparison, Result, Value};

use super::{Key, Relation, wrap};
use crate::columns::ColumnSet;
use crate::planner::Planner;

/// For each rank that the predicate bounds, its column and how many rows can pass.
fn ranks_wanted(predicate: &Expr, wanted: &mut Vec<(ColumnId, u64)>) {
    match &predicate.kind {
        ExprKind::And(conjuncts) => conjuncts.iter().for_each(|c| ranks_wanted(c, wanted)),
        ExprKind::Compare { op, left, right } => {
            let (op, column, limit) = match (left.as_column(), right.as_column()) {
                (Some(column), _) => (*op, column, right.as_literal()),
                (_, Some(column)) => (op.flipped(), column, left.as_literal()),
                _ => return,
            };
            let Some(limit) = limit.and_then(Value::as_i64) else { return };
            let count = match op {
                Comparison::LessOrEqual | Comparison::Equal => limit,
                Comparison::Less => limit.saturating_sub(1),
                _ => return,
            };
            wanted.push((column, u64::try_from(count).unwrap_or(0).max(1)));
        }
        _ => {}
    }
}

/// A window below a filter that bounds one of its ranks need not deliver what the filter drops.
pub(super) fn keep_first_rows(predicate: &Expr, relation: &mut Relation) {
    let PhysicalNode::Window { input, partition, order, calls, first, .. } = &mut relation.plan.node else {
        return;
    };
    let ranks = |f: &WindowFunction| {
        matches!(f, WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank)
    };
    if partition.is_empty() || order.is_empty() || !calls.iter().all(|c| ranks(&c.function)) {
        return;
    }
    let mut wanted = vec![];
    ranks_wanted(predicate, &mut wanted);
    for (column, count) in wanted {
        let position = relation.columns.iter().position(|id| *id == column);
        let call = position.and_then(|at| at.checked_sub(input.output.len())).and_then(|at| calls.get(at));
        let counts_rows = |c: &WindowCall| c.function != WindowFunction::DenseRank && c.peers == order.len();
        if call.is_some_and(counts_rows) {
            *first = Some(first.map_or(count, |first| first.min(count)));
        }
    }
}

impl Planner<'_> {
    /// Lowers a window node and the plan below it.
    pub(crate) fn lower_window(
        &mut self,
        input: LogicalPlan,
        partition: Vec<Expr>,
        order: Vec<SortKey>,
        mut calls: Vec<(ColumnId, WindowCall)>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        if self.settings.projection_push_down {
            calls.retain(|(id, _)| needed.contains(*id));
        }
        let mut below = needed.clone();
        calls.iter().for_each(|(id, _)| below.remove(*id));
        if calls.is_empty() {
            return self.lower(input, &below);
        }
        partition.iter().for_each(|e| below.add_expr(e));
        order.iter().for_each(|k| below.add_expr(&k.expr));
        calls.iter().flat_map(|(_, c)| c.expressions()).for_each(|e| below.add_expr(e));
        let mut input = self.lower(input, &below)?;
        if input.is_empty() {
            let columns = calls.iter().map(|(id, _)| *id);
            input.plan.output.extend(columns.clone().map(|id| self.output_column(id)).collect::<Vec<_>>());
            input.columns.extend(&columns.collect::<Vec<_>>());
            return Ok(input);
        }
        let columns_only = partition.iter().all(|e| e.as_column().is_some());
        let key_ids: ColumnSet = partition.iter().filter_map(Expr::as_column).collect();
        let inputs = self.inputs(&input);
        let mut keys: Vec<Expr> = Vec::with_capacity(partition.len());
        for key in partition {
            // A constant parts nothing.
            if key.as_literal().is_none() {
                let key = inputs.bind(key)?;
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let mut sort = Vec::with_capacity(order.len());
        for key in order {
            sort.push(SortKey { expr: inputs.bind(key.expr)?, ..key });
        }
        let mut output = input.plan.output.clone();
        let mut ids = input.columns.to_vec();
        let mut bound = Vec::with_capacity(calls.len());
        let mut rank = None;
        for (id, mut call) in calls {
            if call.function == WindowFunction::RowNumber {
                rank = Some(id);
            }
            for expr in call.expressions_mut() {
                let taken = std::mem::replace(expr, Expr::boolean(false));
                *expr = inputs.bind_as_declared(taken)?;
            }
            let info = self.columns.get(id);
            output.push(OutputColumn {
                name: info.name.clone(),
                ty: call.ty,
                nullable: info.nullable,
                bounds: None,
            });
            ids.push(id);
            bound.push(call);
        }
        let rows = input.rows();
        let sorted = keys.is_empty();
        if sorted && !sort.is_empty() {
            let keys = sort.clone();
            input = wrap(input, rows, |input| PhysicalNode::Sort { input, keys, limit: None });
        }
        let Relation { plan, same, keys: unique, dependencies, .. } = input;
        let node = PhysicalNode::Window {
            input: Box::new(plan),
            partition: keys,
            order: sort,
            calls: bound,
            sorted,
            first: None,
        };
        let mut relation = Relation {
            plan: PhysicalPlan::new(node, output, rows),
            columns: ids.into(),
            same,
            keys: unique,
            dependencies,
        };
        if let (Some(id), true) = (rank, columns_only) {
            // No two rows of a partition have one number.
            let mut columns: Vec<ColumnId> = key_ids.iter().collect();
            columns.push(id);
            relation.add_key(Key { columns, nulls_repeat: false, distinct: rows });
        }
        Ok(relation)
    }
}
