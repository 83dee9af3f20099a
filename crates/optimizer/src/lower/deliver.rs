//! The last step of a plan or of a UNION's branch: given columns, in a given order, in given types.

use plan::{ColumnId, Expr, OutputColumn, PhysicalNode, PhysicalPlan};
use types::{Error, Result, Type};

use super::Relation;
use super::bind::restore;
use crate::planner::Planner;

impl Planner<'_> {
    /// The plan with exactly the columns `ids`, in order, of types `types`. Where the top node can choose its own
    /// columns it does; otherwise a projection is added.
    pub(crate) fn deliver(
        &mut self,
        relation: Relation,
        ids: &[ColumnId],
        types: &[Type],
    ) -> Result<PhysicalPlan> {
        let mut positions = Vec::with_capacity(ids.len());
        for id in ids {
            positions.push(relation.position(*id).ok_or_else(|| {
                Error::internal(format!("column {} is not delivered by its plan", self.columns.get(*id).name))
            })?);
        }
        let mut plan = relation.plan;
        let same_types = positions.iter().zip(types).all(|(at, ty)| plan.output[*at].ty == *ty);
        let in_order =
            positions.len() == plan.output.len() && positions.iter().enumerate().all(|(i, at)| i == *at);
        if same_types && in_order {
            return Ok(plan);
        }
        let mut seen = vec![false; plan.output.len()];
        let repeated = positions.iter().any(|at| std::mem::replace(&mut seen[*at], true));
        if same_types && !repeated && permute(&mut plan, &positions) {
            return Ok(plan);
        }
        let output = self.delivered(&plan, &positions, types);
        if let PhysicalNode::Project { expressions, .. } = &mut plan.node {
            // A projection on top takes the casts in; an expression wanted twice is computed twice, which is rare.
            *expressions =
                positions.iter().zip(types).map(|(at, ty)| restore(expressions[*at].clone(), *ty)).collect();
            plan.output = output;
            return Ok(plan);
        }
        let rows = plan.estimated_rows;
        let expressions = positions
            .iter()
            .zip(types)
            .map(|(at, ty)| restore(Expr::input(*at, plan.output[*at].ty), *ty))
            .collect();
        Ok(PhysicalPlan::new(PhysicalNode::Project { input: Box::new(plan), expressions }, output, rows))
    }

    fn delivered(&self, plan: &PhysicalPlan, positions: &[usize], types: &[Type]) -> Vec<OutputColumn> {
        positions
            .iter()
            .zip(types)
            .map(|(at, ty)| OutputColumn { ty: *ty, ..plan.output[*at].clone() })
            .collect()
    }
}

/// Rearranges the columns of a node that names them itself; false when the node is not of that kind.
fn permute(plan: &mut PhysicalPlan, positions: &[usize]) -> bool {
    match &mut plan.node {
        PhysicalNode::TableScan { projection, .. } | PhysicalNode::FileScan { projection, .. } => {
            *projection = positions.iter().map(|at| projection[*at]).collect();
        }
        PhysicalNode::Project { expressions, .. } => {
            *expressions = positions.iter().map(|at| expressions[*at].clone()).collect();
        }
        PhysicalNode::HashJoin { output, .. } | PhysicalNode::NestedLoopJoin { output, .. } => {
            *output = positions.iter().map(|at| output[*at]).collect();
        }
        PhysicalNode::Values { rows } => {
            for row in rows {
                *row = positions.iter().map(|at| row[*at].clone()).collect();
            }
        }
        PhysicalNode::Generate { columns, .. }
        | PhysicalNode::Series { columns, .. }
        | PhysicalNode::Materialized { columns, .. } => {
            *columns = positions.iter().map(|at| columns[*at]).collect();
        }
        _ => return false,
    }
    plan.output = positions.iter().map(|at| plan.output[*at].clone()).collect();
    true
}
