//! UNNEST: which of the input's columns go on, and how many rows may come.

use plan::{ColumnId, Expr, LogicalPlan, PhysicalNode, PhysicalPlan};
use types::Result;

use super::Relation;
use crate::columns::ColumnSet;
use crate::planner::Planner;

/// Elements that a list is taken to have; nothing is known of them.
const ELEMENTS: f64 = 4.0;

impl Planner<'_> {
    /// Lowers an unnest and the plan below it. Of the columns below only those in `needed`, or used by the lists, are
    /// kept.
    pub(crate) fn lower_unnest(
        &mut self,
        input: LogicalPlan,
        lists: Vec<(ColumnId, Expr)>,
        ordinality: Option<ColumnId>,
        outer: bool,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut below = needed.clone();
        lists.iter().for_each(|(id, _)| below.remove(*id));
        ordinality.iter().for_each(|id| below.remove(*id));
        lists.iter().for_each(|(_, e)| below.add_expr(e));
        let input = self.lower(input, &below)?;
        let mut keep = Vec::new();
        let mut output = Vec::new();
        let mut ids = Vec::new();
        for (at, id) in input.columns.iter().enumerate() {
            let wanted = needed.contains(*id) || input.same.iter().any(|(alias, _)| needed.contains(*alias));
            if wanted || !self.settings.projection_push_down {
                keep.push(at);
                output.push(input.plan.output[at].clone());
                ids.push(*id);
            }
        }
        let mut bound = Vec::with_capacity(lists.len());
        for (id, list) in lists {
            bound.push(self.inputs(&input).bind(list)?);
            output.push(self.output_column(id));
            ids.push(id);
        }
        if let Some(id) = ordinality {
            output.push(self.output_column(id));
            ids.push(id);
        }
        let rows = input.rows() * ELEMENTS;
        let Relation { plan, same, .. } = input;
        let node = PhysicalNode::Unnest {
            input: Box::new(plan),
            keep,
            lists: bound,
            ordinality: ordinality.is_some(),
            outer,
        };
        let mut relation = Relation::new(PhysicalPlan::new(node, output, rows), ids);
        relation.same = same;
        Ok(relation)
    }
}
