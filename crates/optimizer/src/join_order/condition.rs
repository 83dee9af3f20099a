//! What joins of a region are by: classes of equal columns, conditions that no class holds, and sides of a join.

use plan::{Expr, ExprKind, JoinKind, LogicalPlan};
use types::Comparison;

use super::graph::Set;
use super::region::Region;
use crate::columns::ColumnSet;

/// Columns that equal each other in every row of the region: `(relation, column)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Equal {
    pub members: Vec<(usize, Expr)>,
}

/// A condition over several relations that no class holds.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub expr: Expr,
    pub mask: Set,
    /// An equality whose sides use different relations.
    pub sides: Option<(Set, Set)>,
}

impl Condition {
    pub fn new(expr: Expr, mask: Set, region: &Region) -> Self {
        let sides = match &expr.kind {
            ExprKind::Compare { op: Comparison::Equal, left, right } => {
                let (l, r) =
                    (region.relations(&ColumnSet::of(left)), region.relations(&ColumnSet::of(right)));
                (l != 0 && r != 0 && l & r == 0 && left.ty.same_representation(right.ty)).then_some((l, r))
            }
            _ => None,
        };
        Condition { expr, mask, sides }
    }
    pub fn is_disjunction(&self) -> bool {
        matches!(self.expr.kind, ExprKind::Or(_)) && self.mask.count_ones() > 1
    }
}

/// Two columns are equal: their classes become one.
pub(super) fn add_equal(classes: &mut Vec<Equal>, a: (usize, Expr), b: (usize, Expr)) {
    let of =
        |classes: &[Equal], column: &(usize, Expr)| classes.iter().position(|c| c.members.contains(column));
    match (of(classes, &a), of(classes, &b)) {
        (Some(i), Some(j)) if i != j => {
            let moved = classes.swap_remove(i.max(j));
            classes[i.min(j)].members.extend(moved.members);
        }
        (Some(_), Some(_)) => {}
        (Some(i), None) => classes[i].members.push(b),
        (None, Some(j)) => classes[j].members.push(a),
        (None, None) => classes.push(Equal { members: vec![a, b] }),
    }
}

pub(super) type Sides = (Box<LogicalPlan>, Box<LogicalPlan>, JoinKind, Vec<(Expr, Expr)>);

/// Right-handed joins turned round.
pub(crate) fn face_left(
    left: Box<LogicalPlan>,
    right: Box<LogicalPlan>,
    kind: JoinKind,
    on: Vec<(Expr, Expr)>,
) -> Sides {
    let kind = match kind {
        JoinKind::Right => JoinKind::Left,
        JoinKind::RightSemi => JoinKind::LeftSemi,
        JoinKind::RightAnti => JoinKind::LeftAnti,
        same => return (left, right, same, on),
    };
    (right, left, kind, on.into_iter().map(|(l, r)| (r, l)).collect())
}
