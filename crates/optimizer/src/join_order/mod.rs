//! Join order: maximal groups of joins that may be reordered, and what order to run them in.

use plan::{JoinKind, LogicalPlan};
use types::{Error, Result};

use crate::columns::ColumnSet;
use crate::lower::Relation;
use crate::lower::join::JoinSpec;
use crate::planner::Planner;

impl Planner<'_> {
    /// Lowers a tree of joins.
    pub(crate) fn lower_join_tree(&mut self, plan: LogicalPlan, needed: &ColumnSet) -> Result<Relation> {
        self.lower_pair(plan, needed)
    }

    /// One join by itself, its sides lowered as they are.
    fn lower_pair(&mut self, plan: LogicalPlan, needed: &ColumnSet) -> Result<Relation> {
        let LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark } = plan
        else {
            return Err(Error::internal("not a join"));
        };
        let (left, right, kind, on) = face_left(left, right, kind, on);
        let mut below = needed.clone();
        on.iter().for_each(|(l, r)| {
            below.add_expr(l);
            below.add_expr(r);
        });
        residual.iter().for_each(|r| below.add_expr(r));
        let left = self.lower(*left, &below)?;
        let right = self.lower(*right, &below)?;
        let spec = JoinSpec { kind, on, residual, null_equals_null, null_aware, mark, rows: None };
        self.join(left, right, spec, needed)
    }
}

type Sides = (Box<LogicalPlan>, Box<LogicalPlan>, JoinKind, Vec<(plan::Expr, plan::Expr)>);

/// Right-handed joins turned round.
fn face_left(
    left: Box<LogicalPlan>,
    right: Box<LogicalPlan>,
    kind: JoinKind,
    on: Vec<(plan::Expr, plan::Expr)>,
) -> Sides {
    let kind = match kind {
        JoinKind::Right => JoinKind::Left,
        JoinKind::RightSemi => JoinKind::LeftSemi,
        JoinKind::RightAnti => JoinKind::LeftAnti,
        same => return (left, right, same, on),
    };
    (right, left, kind, on.into_iter().map(|(l, r)| (r, l)).collect())
}
