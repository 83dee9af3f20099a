//! Window nodes: the columns they need from below, and the sort that a window without PARTITION BY takes.

use plan::{
    ColumnId, Expr, LogicalPlan, OutputColumn, PhysicalNode, PhysicalPlan, SortKey, WindowCall,
    WindowFunction,
};
use types::Result;

use super::{Key, Relation, wrap};
use crate::columns::ColumnSet;
use crate::planner::Planner;

impl Planner<'_> {
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
