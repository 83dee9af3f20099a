//! Regions: the joins of a logical plan that can be reordered among themselves, taken apart into relations and
//! conditions.
//!
//! Inner joins and the filters among them dissolve into core relations and conditions. Outer, semi-, anti- and mark
//! joins dissolve on their left side; their right side becomes one attached relation, ordered by itself. Computed
//! columns among the joins are kept aside as definitions and computed at the top, conditions that use them being
//! rewritten. Everything else (full joins, set operations, aggregations, limits) is a relation of the region, opaque
//! to it.

use std::collections::HashMap;

use plan::{ColumnId, Expr, JoinKind, LogicalPlan};
use types::Comparison;

use super::face_left;
use super::graph::{RELATIONS_MAX, Set, Tree, bit};
use crate::columns::ColumnSet;
use crate::cost;
use crate::rules::filter_push_down::substitute;

/// The join by which an attached relation is attached.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) kind: JoinKind,
    pub(crate) on: Vec<(Expr, Expr)>,
    pub(crate) residual: Option<Expr>,
    pub(crate) null_equals_null: bool,
    pub(crate) null_aware: bool,
    pub(crate) mark: Option<ColumnId>,
    /// The relations on the left of the join as written.
    pub(crate) left: Set,
}

/// A relation of a region, before it is lowered.
pub(crate) struct Leaf {
    /// Its logical plan.
    pub(crate) plan: LogicalPlan,
    /// What the relation's columns are; for an attached one that shows only its mark, the mark.
    pub(crate) provides: ColumnSet,
    /// How it joins; `None` for a relation that is inner-joined.
    pub(crate) attached: Option<Attached>,
}

/// Joins, filters and projections taken apart, to be ordered as a whole.
#[derive(Default)]
pub(crate) struct Region {
    /// The relations; a relation's number is its place here.
    pub(crate) leaves: Vec<Leaf>,
    /// The conjuncts of all filters and inner joins.
    pub(crate) conditions: Vec<Expr>,
    /// Each may use those before it only through substitution: they are all over the leaves' columns.
    pub(crate) definitions: Vec<(ColumnId, Expr)>,
    /// Where a column's definition is.
    defined: HashMap<ColumnId, usize>,
}

impl Region {
    /// Takes `plan` apart; the tree is the order as written.
    pub(crate) fn of(plan: LogicalPlan) -> (Region, Tree) {
        let mut region = Region::default();
        let tree = region.flatten(plan, RELATIONS_MAX);
        (region, tree)
    }

    /// Dissolves `plan` into at most `room` relations, and at least one.
    fn flatten(&mut self, plan: LogicalPlan, room: usize) -> Tree {
        if !dissolves(&plan) || room < 2 {
            return self.leaf(plan, None);
        }
        match plan {
            LogicalPlan::Filter { input, predicate } => {
                let tree = self.flatten(*input, room);
                self.add_condition(predicate);
                tree
            }
            LogicalPlan::Project { input, expressions } => {
                let tree = self.flatten(*input, room);
                for (id, expr) in expressions {
                    let expr = self.resolve(expr);
                    self.defined.entry(id).or_insert(self.definitions.len());
                    self.definitions.push((id, expr));
                }
                tree
            }
            LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark } => {
                let (left, right, kind, on) = face_left(left, right, kind, on);
                if kind == JoinKind::Inner {
                    // The right side first gets what it wants, but the left has to get something.
                    let right_room = relations_of(&right).min(room - 1);
                    let left = self.flatten(*left, room - right_room);
                    let right = self.flatten(*right, right_room);
                    for (l, r) in on {
                        self.add_condition(Expr::compare(Comparison::Equal, l, r));
                    }
                    residual.into_iter().for_each(|r| self.add_condition(r));
                    return Tree::join(left, right);
                }
                let left = self.flatten(*left, room - 1);
                let on = on.into_iter().map(|(l, r)| (self.resolve(l), r)).collect();
                let residual = residual.map(|r| self.resolve(r));
                let attached =
                    Attached { kind, on, residual, null_equals_null, null_aware, mark, left: left.set() };
                let right = self.leaf(*right, Some(attached));
                Tree::join(left, right)
            }
            other => self.leaf(other, None),
        }
    }

    fn leaf(&mut self, plan: LogicalPlan, attached: Option<Attached>) -> Tree {
        let provides = match &attached {
            Some(a) if a.kind == JoinKind::LeftMark => a.mark.into_iter().collect(),
            Some(a) if a.kind != JoinKind::Left => ColumnSet::new(),
            _ => ColumnSet::of_plan(&plan),
        };
        self.leaves.push(Leaf { plan, provides, attached });
        Tree::Relation(self.leaves.len() - 1)
    }

    fn add_condition(&mut self, condition: Expr) {
        let mut parts = Vec::new();
        self.resolve(condition).split_conjuncts(&mut parts);
        for part in parts {
            if !self.conditions.contains(&part) {
                self.conditions.push(part);
            }
        }
    }

    /// `expr` over the leaves' columns alone.
    pub(super) fn resolve(&self, expr: Expr) -> Expr {
        if self.definitions.is_empty() {
            return expr;
        }
        substitute(expr, &|id| self.defined.get(&id).map(|at| self.definitions[*at].1.clone()))
    }

    /// The relations whose columns `expr` uses.
    pub(crate) fn relations(&self, used: &ColumnSet) -> Set {
        let mut set = 0;
        for (at, leaf) in self.leaves.iter().enumerate() {
            if leaf.provides.intersects(used) {
                set |= bit(at);
            }
        }
        set
    }

    /// Everything an attached relation needs to have on its left: the relations its condition uses, and what those
    /// require in turn. A condition that uses none keeps its place.
    pub(crate) fn required(&self, at: usize) -> Set {
        let Some(attached) = &self.leaves[at].attached else { return 0 };
        let mut used = ColumnSet::new();
        attached.on.iter().for_each(|(l, _)| used.add_expr(l));
        attached.residual.iter().for_each(|r| used.add_expr(r));
        let mut set = self.relations(&used) & attached.left;
        if set == 0 {
            return attached.left;
        }
        loop {
            let mut grown = set;
            for other in super::graph::bits(set) {
                grown |= self.required(other);
            }
            if grown == set {
                return set;
            }
            set = grown;
        }
    }
}

/// How many relations a plan dissolves into, were there room for all.
fn relations_of(plan: &LogicalPlan) -> usize {
    match plan {
        _ if !dissolves(plan) => 1,
        LogicalPlan::Filter { input, .. } | LogicalPlan::Project { input, .. } => relations_of(input),
        LogicalPlan::Join { left, right, kind, .. } => match kind {
            JoinKind::Inner => relations_of(left) + relations_of(right),
            JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => relations_of(right) + 1,
            _ => relations_of(left) + 1,
        },
        _ => 1,
    }
}

/// Whether a node is part of a region rather than one of its relations.
pub(crate) fn dissolves(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter { input, .. } => dissolves(input),
        LogicalPlan::Project { input, expressions } => {
            dissolves(input) && expressions.iter().all(|(_, e)| !cost::raises(e))
        }
        LogicalPlan::Join { kind: JoinKind::Full, .. } => false,
        LogicalPlan::Join { kind: JoinKind::Inner, null_equals_null, .. } => !null_equals_null,
        LogicalPlan::Join { .. } => true,
        _ => false,
    }
}
