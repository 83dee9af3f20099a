//! A region put together again: the graph from lowered relations, and physical joins along a chosen tree.
//!
//! `Planner::graph` estimates what the search for an order needs: rows of the relations, equality classes, links and
//! the columns that joins carry. `Assembly` then walks the chosen tree. It owns the lowered relations and takes each
//! once; a condition is applied at the first join that has all its relations, only columns with a reader above are
//! delivered, and a part of the tree may be grouped before it is joined (`early`). Both are used by `lower_region`
//! (`mod.rs`), once a region.

use plan::{Expr, JoinKind, Ranges};
use types::{Comparison, Error, Result};

use super::eager::Early;
use super::graph::{Attachment, Carried, Class, Graph, Link, RESULT, Set, Tree, bit, bits};
use super::region::Region;
use super::{Condition, Equal};
use crate::columns::ColumnSet;
use crate::cost;
use crate::estimate::join::{anti_fraction, key_columns, semi_fraction};
use crate::lower::Relation;
use crate::lower::join::{JoinSpec, side_of};
use crate::planner::Planner;

impl Planner<'_> {
    /// The region as a graph, its relations' sizes and domains known.
    pub(super) fn graph(
        &self,
        region: &Region,
        relations: &[Option<Relation>],
        classes: &[Equal],
        conditions: &mut [Condition],
        result: &ColumnSet,
    ) -> Graph {
        let mut graph = Graph::default();
        let rows = |at: usize| relations[at].as_ref().map_or(1.0, Relation::rows);
        for (at, leaf) in region.leaves.iter().enumerate() {
            match &leaf.attached {
                None => graph.add_core(rows(at)),
                Some(attached) => {
                    let required = region.required(at);
                    // The side it judges: the largest of the relations its condition uses.
                    let judged = bits(required)
                        .filter(|r| region.leaves[*r].attached.is_none())
                        .max_by(|a, b| rows(*a).total_cmp(&rows(*b)));
                    let factor = match (judged.and_then(|j| relations[j].as_ref()), &relations[at]) {
                        (Some(left), Some(right)) => {
                            let keys = self.key_match(left, right, &attached.on);
                            let residual = attached.residual.as_ref().map_or(1.0, |r| self.selectivity(r));
                            match attached.kind {
                                JoinKind::LeftSemi => semi_fraction(&keys, residual),
                                JoinKind::LeftAnti => anti_fraction(&keys, residual),
                                JoinKind::Left => (right.rows() * keys.pairs * residual).max(1.0),
                                _ => 1.0,
                            }
                        }
                        _ => 1.0,
                    };
                    graph.add_attached(
                        rows(at),
                        Attachment {
                            required,
                            factor,
                            may_swap: !attached.null_aware && attached.kind != JoinKind::LeftMark,
                            has_keys: !attached.on.is_empty(),
                            range_keys: match (&attached.residual, &relations[at]) {
                                (Some(residual), Some(own))
                                    if self.settings.range_joins && !attached.null_aware =>
                                {
                                    let ranges = Ranges::of(residual, &|expr| side_of(expr, own));
                                    ranges.map_or(0, |ranges| ranges.dimensions.len())
                                }
                                _ => 0,
                            },
                        },
                    )
                }
            };
        }
        for class in classes {
            let mut members: Vec<(usize, f64)> = Vec::with_capacity(class.members.len());
            let unique = |at: usize, column: &Expr| {
                let key = key_columns(std::iter::once(column));
                relations[at].as_ref().is_some_and(|r| r.unique_key(&key).is_some())
            };
            // The largest of the relations that refer to a key.
            let referring = class
                .members
                .iter()
                .filter(|(at, column)| !unique(*at, column))
                .max_by(|(a, _), (b, _)| rows(*a).total_cmp(&rows(*b)));
            for (relation, column) in &class.members {
                let mut domain = self.distinct(column).unwrap_or_else(|| (rows(*relation) * 0.5).max(1.0));
                if let Some((_, from)) = referring.filter(|_| unique(*relation, column)) {
                    domain = self.reached(domain, rows(*relation), column, from);
                }
                match members.iter_mut().find(|(known, _)| known == relation) {
                    Some((_, smallest)) => *smallest = smallest.min(domain),
                    None => members.push((*relation, domain)),
                }
            }
            graph.add_class(Class { members });
        }
        self.correct_composites(relations, classes, &mut graph);
        for condition in conditions.iter() {
            if condition.mask.count_ones() < 2 {
                continue;
            }
            let mut selectivity = self.selectivity(&condition.expr).max(1e-9);
            if condition.is_disjunction() && self.settings.partial_predicates {
                // What the condition implies for single relations has been counted there already.
                if let plan::ExprKind::Or(parts) = &condition.expr.kind {
                    selectivity = selectivity.max(1.0 / parts.len() as f64);
                }
            }
            let ordered = ordered_sides(&condition.expr, region).filter(|_| self.settings.range_joins);
            graph.add_link(Link { mask: condition.mask, selectivity, sides: condition.sides, ordered });
        }
        self.carry(region, classes, conditions, result, &mut graph);
        graph
    }

    /// Tells the graph which columns joins carry, and how far.
    fn carry(
        &self,
        region: &Region,
        classes: &[Equal],
        conditions: &[Condition],
        result: &ColumnSet,
        graph: &mut Graph,
    ) {
        let bytes = |id| cost::column_bytes(self.columns.get(id).ty);
        let mut told = result.clone();
        for (at, leaf) in region.leaves.iter().enumerate() {
            let mut own = leaf.provides.clone();
            own.intersect(result);
            let width: f64 = own.iter().map(bytes).sum();
            if width > 0.0 {
                let bytes = width.min(cost::RELATION_BYTES_MAX);
                graph.add_carried(Carried { of: bit(at), until: RESULT, bytes });
            }
        }
        for class in classes {
            let mask = class.members.iter().fold(0, |mask, (relation, _)| mask | bit(*relation));
            // One of the equal columns is enough, and the result may have it anyway.
            let ids = || class.members.iter().filter_map(|(_, column)| column.as_column());
            if !ids().any(|id| result.contains(id)) {
                let bytes = ids().map(bytes).fold(0.0, f64::max);
                graph.add_carried(Carried { of: mask, until: mask, bytes });
            }
            told.extend(ids());
        }
        let mut until = |used: ColumnSet, mask: Set| {
            for id in used.iter().filter(|id| !told.contains(*id)) {
                let column: ColumnSet = [id].into_iter().collect();
                graph.add_carried(Carried { of: region.relations(&column), until: mask, bytes: bytes(id) });
            }
            told.union(&used);
        };
        for condition in conditions.iter().filter(|c| c.mask.count_ones() > 1) {
            until(ColumnSet::of(&condition.expr), condition.mask);
        }
        for (at, leaf) in region.leaves.iter().enumerate() {
            let Some(attached) = &leaf.attached else { continue };
            let mut used = ColumnSet::new();
            attached.on.iter().for_each(|(l, _)| used.add_expr(l));
            attached.residual.iter().for_each(|r| used.add_expr(r));
            until(used, region.required(at) | bit(at));
        }
    }

    /// Relations joined on several columns at once: the product of the columns' domains overstates their pairs.
    fn correct_composites(&self, relations: &[Option<Relation>], classes: &[Equal], graph: &mut Graph) {
        let member = |class: &Equal, relation: usize| {
            class.members.iter().find(|(r, _)| *r == relation).map(|(_, column)| column.clone())
        };
        for i in 0..relations.len() {
            for j in i + 1..relations.len() {
                let on: Vec<(Expr, Expr)> =
                    classes.iter().filter_map(|c| Some((member(c, i)?, member(c, j)?))).collect();
                let (true, Some(a), Some(b)) = (on.len() > 1, &relations[i], &relations[j]) else { continue };
                let independent: f64 = on
                    .iter()
                    .map(|(l, r)| {
                        let domain = |side: &Relation, e: &Expr| {
                            self.distinct(e).unwrap_or_else(|| (side.rows() * 0.5).max(1.0))
                        };
                        1.0 / domain(a, l).max(domain(b, r)).max(1.0)
                    })
                    .product();
                let factor = self.key_match(a, b, &on).pairs / independent;
                if factor > 1.0 {
                    graph.add_correction(bit(i) | bit(j), factor);
                }
            }
        }
    }
}

/// The state of assembling one region.
pub(super) struct Assembly<'r> {
    /// The region as it was taken apart.
    pub(super) region: &'r Region,
    /// The lowered relations by number; `None` once taken.
    pub(super) relations: Vec<Option<Relation>>,
    /// The graph that the tree was chosen by.
    pub(super) graph: Graph,
    /// Columns that are equal, with the relations they belong to.
    pub(super) classes: Vec<Equal>,
    /// The conditions over several relations.
    pub(super) conditions: Vec<Condition>,
    /// A part of the tree whose rows are grouped before they are joined with the rest.
    pub(super) early: Option<Early>,
}

impl Assembly<'_> {
    /// Joins along `tree`; the result delivers `needed` and has met every condition it can.
    pub(super) fn assemble(
        &mut self,
        planner: &mut Planner<'_>,
        tree: &Tree,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        if let Some(early) = self.early.as_mut().filter(|e| e.place == tree.set()) {
            let (keys, calls) = (std::mem::take(&mut early.keys), std::mem::take(&mut early.calls));
            let mut below = needed.clone();
            keys.iter().for_each(|(_, e)| below.add_expr(e));
            for (_, call) in &calls {
                call.argument.iter().chain(&call.filter).for_each(|e| below.add_expr(e));
            }
            let rows = self.join(planner, tree, &below)?;
            return planner.group_partially(rows, keys, calls, needed);
        }
        self.join(planner, tree, needed)
    }

    fn join(&mut self, planner: &mut Planner<'_>, tree: &Tree, needed: &ColumnSet) -> Result<Relation> {
        let (left, right) = match tree {
            Tree::Relation(at) => {
                let relation = self.relations[*at].take();
                let relation = relation.ok_or_else(|| Error::internal("a relation was joined twice"))?;
                let alone = self.newly_met(bit(*at), 0, 0);
                return planner.filter(relation, alone);
            }
            Tree::Join(left, right) => (left, right),
        };
        let (first, second) = (left.set(), right.set());
        let both = first | second;
        let conditions = self.newly_met(both, first, second);
        let shrunk = self.early.as_ref().map_or(1.0, |e| e.factor(both));
        let rows = Some((self.graph.rows(both) * shrunk).max(1.0));

        if let (Tree::Relation(at), true) = (&**right, self.graph.single_attached(second).is_some())
            && let Some(attached) = &self.region.leaves[*at].attached
        {
            let attached = attached.clone();
            let mut needed_after = needed.clone();
            conditions.iter().for_each(|c| needed_after.add_expr(c));
            let mut below = needed_after.clone();
            attached.on.iter().for_each(|(l, r)| {
                below.add_expr(l);
                below.add_expr(r);
            });
            attached.residual.iter().for_each(|r| below.add_expr(r));
            let mut left = self.assemble(planner, left, &below)?;
            let dead_mark = attached.kind == JoinKind::LeftMark
                && attached.mark.is_none_or(|m| !needed_after.contains(m))
                && planner.settings.join_elimination
                && planner.settings.projection_push_down;
            if dead_mark {
                return planner.filter(left, conditions);
            }
            let right = self.assemble(planner, right, &below)?;
            if attached.kind == JoinKind::Left && drops_out(planner, &right, &attached.on, &needed_after) {
                let remark = "an outer join dropped: its right side is unique on the key and gives no column";
                left.plan.remarks.push(remark.to_owned());
                return planner.filter(left, conditions);
            }
            let spec = JoinSpec {
                kind: attached.kind,
                on: attached.on,
                residual: attached.residual,
                null_equals_null: attached.null_equals_null,
                null_aware: attached.null_aware,
                mark: attached.mark,
                rows: rows.filter(|_| conditions.is_empty()),
            };
            let joined = planner.join(left, right, spec, &needed_after)?;
            return planner.filter(joined, conditions);
        }

        let mut on: Vec<(Expr, Expr)> = Vec::new();
        for class in &self.classes {
            let side =
                |set: Set| class.members.iter().find(|(r, _)| set & bit(*r) != 0).map(|(_, c)| c.clone());
            on.extend(side(first).zip(side(second)));
        }
        let mut residual = Vec::new();
        for condition in conditions {
            let sides = self.conditions.iter().find(|c| c.expr == condition).and_then(|c| c.sides);
            match (sides, condition) {
                (Some((l, r)), Expr { kind: plan::ExprKind::Compare { left, right, .. }, .. })
                    if l & !first == 0 && r & !second == 0 =>
                {
                    on.push((*left, *right));
                }
                (Some((l, r)), Expr { kind: plan::ExprKind::Compare { left, right, .. }, .. })
                    if l & !second == 0 && r & !first == 0 =>
                {
                    on.push((*right, *left));
                }
                (_, condition) => residual.push(condition),
            }
        }
        // A condition on one side only was kept back on purpose; as a filter it is told apart from the join.
        let (later, residual): (Vec<Expr>, Vec<Expr>) =
            residual.into_iter().partition(|c| self.region.relations(&ColumnSet::of(c)).count_ones() < 2);
        let mut needed_after = needed.clone();
        later.iter().for_each(|c| needed_after.add_expr(c));
        let mut below = needed_after.clone();
        on.iter().for_each(|(l, r)| {
            below.add_expr(l);
            below.add_expr(r);
        });
        residual.iter().for_each(|r| below.add_expr(r));
        let left = self.assemble(planner, left, &below)?;
        let right = self.assemble(planner, right, &below)?;
        let residual = if residual.is_empty() { None } else { Some(Expr::and(residual)) };
        let joined = planner.join(left, right, JoinSpec::inner(on, residual, rows), &needed_after)?;
        planner.filter(joined, later)
    }

    /// Conditions whose relations are all in `both` and were not in either part.
    fn newly_met(&self, both: Set, first: Set, second: Set) -> Vec<Expr> {
        self.conditions
            .iter()
            .filter(|c| c.mask & !both == 0 && c.mask & !first != 0 && c.mask & !second != 0)
            .map(|c| c.expr.clone())
            .collect()
    }
}

/// The relations that a comparison by order has on either side.
fn ordered_sides(condition: &Expr, region: &Region) -> Option<(Set, Set)> {
    let plan::ExprKind::Compare { op, left, right } = &condition.kind else { return None };
    if matches!(op, Comparison::Equal | Comparison::NotEqual) || condition.is_volatile() {
        return None;
    }
    let (l, r) = (region.relations(&ColumnSet::of(left)), region.relations(&ColumnSet::of(right)));
    (l != 0 && r != 0 && l & r == 0).then_some((l, r))
}

/// A left join that neither drops nor repeats rows and of which no column is used is no join at all.
fn drops_out(planner: &Planner<'_>, right: &Relation, on: &[(Expr, Expr)], needed: &ColumnSet) -> bool {
    planner.settings.join_elimination
        && planner.settings.projection_push_down
        && !on.is_empty()
        && right.unique_key(&key_columns(on.iter().map(|(_, r)| r))).is_some()
        && !right.columns.iter().chain(right.same.iter().map(|(alias, _)| alias)).any(|c| needed.contains(*c))
}
