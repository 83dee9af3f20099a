//! Join order: regions of joins are taken apart (`region`), estimated as a graph (`graph`), ordered by dynamic
//! programming (`dynamic`) or greedily (`greedy`), and put together again as physical joins (`assemble`).
//!
//! Before a region's relations are lowered, conditions that follow for single relations are pushed into them; after
//! that their row counts are known and the order can be chosen.

mod assemble;
mod condition;
mod dynamic;
mod eager;
mod graph;
mod greedy;
mod region;

pub(crate) use condition::face_left;
pub(crate) use region::dissolves;

use plan::{ColumnId, Expr, ExprKind, JoinKind, LogicalPlan};
use types::{Comparison, Error, Result};

use crate::columns::ColumnSet;
use crate::lower::Relation;
use crate::lower::join::JoinSpec;
use crate::planner::Planner;
use crate::rules::derived_predicates::{constant_predicates, implied, on_column};
use crate::rules::eager_aggregation::{Request, Upper};
use crate::rules::filter_push_down::PushDown;
use crate::rules::simplify::simplify;
use crate::settings::JoinOrder;
use condition::{Condition, Equal, add_equal};
use graph::{Set, Tree, bit, bits};
use region::Region;

/// Pairs of subgraphs that are considered before the greedy order takes over: a dozen relations in any shape but a
/// near-clique, or a chain of dozens.
const PAIRS_MAX: usize = 40_000;

impl Planner<'_> {
    /// Lowers a tree of joins, with filters and projections among them.
    pub(crate) fn lower_join_tree(&mut self, plan: LogicalPlan, needed: &ColumnSet) -> Result<Relation> {
        let opaque = matches!(
            plan,
            LogicalPlan::Join { kind: JoinKind::Full, .. }
                | LogicalPlan::Join { kind: JoinKind::Inner, null_equals_null: true, .. }
        );
        if opaque { self.lower_pair(plan, needed) } else { Ok(self.lower_region(plan, needed, None)?.0) }
    }

    /// The joins below an aggregation, of which part may be done already: then what is left to do is told.
    pub(crate) fn lower_grouped_joins(
        &mut self,
        plan: LogicalPlan,
        needed: &ColumnSet,
        request: Request,
    ) -> Result<(Relation, Option<Upper>)> {
        self.lower_region(plan, needed, Some(request))
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

    fn lower_region(
        &mut self,
        plan: LogicalPlan,
        needed: &ColumnSet,
        request: Option<Request>,
    ) -> Result<(Relation, Option<Upper>)> {
        let (mut region, written) = Region::of(plan);
        let request = request.map(|r| r.map(|e| region.resolve(e)));
        let everything: Set = bit(region.leaves.len()) - 1;

        // Columns needed inside: by conditions, by definitions that are wanted, by attached joins.
        let mut inside = needed.clone();
        region.definitions.retain(|(id, _)| needed.contains(*id) || !self.settings.projection_push_down);
        region.definitions.iter().for_each(|(id, _)| inside.remove(*id));
        region.definitions.iter().for_each(|(_, e)| inside.add_expr(e));
        let mut used_inside = inside.clone();
        region.conditions.iter().for_each(|c| used_inside.add_expr(c));
        for leaf in &region.leaves {
            let Some(attached) = &leaf.attached else { continue };
            attached.on.iter().for_each(|(l, r)| {
                used_inside.add_expr(l);
                used_inside.add_expr(r);
            });
            attached.residual.iter().for_each(|r| used_inside.add_expr(r));
        }
        if self.settings.join_elimination && self.settings.projection_push_down {
            // Decided on the columns used; whether rows may repeat is known once the relation is lowered.
            for leaf in &mut region.leaves {
                if let Some(attached) = &mut leaf.attached
                    && attached.kind == JoinKind::LeftMark
                    && !leaf.provides.intersects(&used_inside)
                {
                    // Nothing may be derived from its condition for a side that is not there any more.
                    attached.on.clear();
                    attached.residual = None;
                    leaf.plan = LogicalPlan::placeholder();
                }
            }
        }

        let (classes, mut conditions) = self.sort_conditions(&mut region, everything);
        self.derive(&mut region, &classes, &conditions);

        let mut relations = Vec::with_capacity(region.leaves.len());
        for leaf in &mut region.leaves {
            let plan = std::mem::replace(&mut leaf.plan, LogicalPlan::placeholder());
            relations.push(Some(self.lower(plan, &used_inside)?));
        }
        let graph = self.graph(&region, &relations, &classes, &mut conditions, &inside);
        let tree = match self.settings.join_order {
            JoinOrder::Written => written,
            JoinOrder::Optimized => best_order(&graph, everything).unwrap_or(written),
        };
        let mut definitions = region.definitions.clone();
        let (mut early, mut upper) = (None, None);
        if let Some(request) = request {
            let joins = eager::Joins {
                region: &region,
                relations: &relations,
                graph: &graph,
                classes: &classes,
                conditions: &conditions,
            };
            (early, upper) = self.group_early(&joins, &tree, request).unzip();
        }
        if let Some(upper) = &upper {
            // The aggregation is over the relations' own columns now.
            definitions.clear();
            inside = upper.input_columns();
        }
        let mut assembly =
            assemble::Assembly { region: &region, relations, graph, classes, conditions, early };
        let relation = assembly.assemble(self, &tree, &inside)?;
        let relation =
            if definitions.is_empty() { relation } else { self.project(relation, definitions, needed)? };
        Ok((relation, upper))
    }

    /// Splits the region's conditions into classes of equal columns and the rest; conditions on single relations are
    /// pushed into those.
    fn sort_conditions(&self, region: &mut Region, everything: Set) -> (Vec<Equal>, Vec<Condition>) {
        let mut classes: Vec<Equal> = Vec::new();
        let mut rest = Vec::new();
        let mut local: Vec<(usize, Expr)> = Vec::new();
        for condition in std::mem::take(&mut region.conditions) {
            if condition.is_volatile() {
                // Evaluated for the rows of the whole region.
                rest.push(Condition { expr: condition, mask: everything, sides: None });
                continue;
            }
            let mask = region.relations(&ColumnSet::of(&condition));
            let core = bits(mask).all(|at| region.leaves[at].attached.is_none());
            if mask.count_ones() == 1 && core && self.settings.filter_push_down {
                local.push((mask.trailing_zeros() as usize, condition));
                continue;
            }
            if mask.count_ones() == 2
                && core
                && let ExprKind::Compare { op: Comparison::Equal, left, right } = &condition.kind
                && left.as_column().is_some()
                && right.as_column().is_some()
                && left.ty.same_representation(right.ty)
            {
                let of = |e: &Expr| region.relations(&ColumnSet::of(e)).trailing_zeros() as usize;
                add_equal(&mut classes, (of(left), (**left).clone()), (of(right), (**right).clone()));
                continue;
            }
            // Conditions that are not pushed wait for the top; so do those on no relation at all.
            let mask = if core && mask.count_ones() < 2 {
                everything
            } else {
                // What an attached relation shows exists only once it has been attached.
                bits(mask).fold(mask, |all, at| all | region.required(at))
            };
            rest.push(Condition::new(condition, mask, region));
        }
        // Two columns of one relation in one class: the joins enforce only one of them, so the relation itself has to
        // see that they agree.
        for class in &classes {
            for (i, (relation, column)) in class.members.iter().enumerate() {
                if let Some((_, first)) = class.members[..i].iter().find(|(other, _)| other == relation) {
                    local.push((*relation, Expr::compare(Comparison::Equal, first.clone(), column.clone())));
                }
            }
        }
        for (at, condition) in local {
            self.push_into(&mut region.leaves[at].plan, vec![condition]);
        }
        (classes, rest)
    }

    fn push_into(&self, plan: &mut LogicalPlan, predicates: Vec<Expr>) {
        let taken = std::mem::replace(plan, LogicalPlan::placeholder());
        let push_down = PushDown { settings: self.settings, columns: self.columns };
        *plan = push_down.push(taken, predicates, &ColumnSet::new());
    }

    /// Pushes into each relation what follows for it from conditions over several.
    fn derive(&mut self, region: &mut Region, classes: &[Equal], conditions: &[Condition]) {
        if !self.settings.filter_push_down {
            return;
        }
        let mut derived: Vec<(usize, Expr)> = Vec::new();
        if self.settings.partial_predicates {
            self.derive_partial(region, conditions, &mut derived);
            for (_, predicate) in &derived {
                predicate.clone().split_conjuncts(&mut self.partial_predicates);
            }
        }
        if self.settings.transitive_predicates {
            self.derive_transitive(region, classes, &mut derived);
        }
        for (at, predicate) in derived {
            if predicate.as_literal().and_then(types::Value::as_bool) != Some(true) {
                self.push_into(&mut region.leaves[at].plan, vec![predicate]);
            }
        }
    }

    /// What disjunctions over several relations imply for each of them.
    ///
    /// A condition of the whole region holds in every row that survives, so each relation that is not padded with
    /// NULLs may be restricted. The condition of an outer, semi-, anti- or mark join restricts its right side, whose
    /// other rows match nothing; and the left side too if the join is a semi-join, which keeps rows that match. Not so
    /// for NOT IN, where a comparison that is unknown counts.
    fn derive_partial(&self, region: &Region, conditions: &[Condition], derived: &mut Vec<(usize, Expr)>) {
        let mut add = |at: usize, weaker: Option<Expr>| {
            let Some(weaker) = weaker.map(simplify) else { return };
            if weaker.as_literal().is_none() && !derived.contains(&(at, weaker.clone())) {
                derived.push((at, weaker));
            }
        };
        for condition in conditions.iter().filter(|c| c.is_disjunction()) {
            for at in bits(condition.mask) {
                let leaf = &region.leaves[at];
                if leaf.attached.is_none() {
                    add(at, implied(&condition.expr, &leaf.provides));
                }
            }
        }
        for (at, leaf) in region.leaves.iter().enumerate() {
            let Some(attached) = leaf.attached.as_ref().filter(|a| !a.null_aware) else { continue };
            let mut parts = Vec::new();
            attached.residual.clone().into_iter().for_each(|r| r.split_conjuncts(&mut parts));
            for part in parts.iter().filter(|p| matches!(p.kind, ExprKind::Or(_))) {
                add(at, implied(part, &ColumnSet::of_plan(&leaf.plan)));
                if attached.kind == JoinKind::LeftSemi {
                    for other in bits(region.relations(&ColumnSet::of(part)) & attached.left) {
                        let left = &region.leaves[other];
                        if left.attached.is_none() {
                            add(other, implied(part, &left.provides));
                        }
                    }
                }
            }
        }
    }

    fn derive_transitive(&self, region: &Region, classes: &[Equal], derived: &mut Vec<(usize, Expr)>) {
        let known: Vec<Vec<(ColumnId, Expr)>> = region
            .leaves
            .iter()
            .map(|leaf| {
                let mut found = Vec::new();
                constant_predicates(&leaf.plan, &mut found);
                found
            })
            .collect();
        if known.iter().all(Vec::is_empty) {
            return;
        }
        // From one column to another that equals it in all rows that survive.
        let transfer = |derived: &mut Vec<(usize, Expr)>, from: (usize, &Expr), to: (usize, &Expr)| {
            let (Some(source), Some(target)) = (from.1.as_column(), to.1.as_column()) else { return };
            for (_, predicate) in known[from.0].iter().filter(|(of, _)| *of == source) {
                let moved = on_column(predicate.clone(), source, target, to.1.ty);
                let had = known[to.0].iter().any(|(of, p)| *of == target && *p == moved);
                if !had && !derived.contains(&(to.0, moved.clone())) {
                    derived.push((to.0, moved));
                }
            }
        };
        for class in classes {
            for (i, (from, a)) in class.members.iter().enumerate() {
                for (j, (to, b)) in class.members.iter().enumerate() {
                    if i != j && from != to {
                        transfer(derived, (*from, a), (*to, b));
                    }
                }
            }
        }
        for (at, leaf) in region.leaves.iter().enumerate() {
            let Some(attached) = leaf.attached.as_ref().filter(|a| !a.null_aware && !a.null_equals_null)
            else {
                continue;
            };
            for (l, r) in &attached.on {
                let (Some(column), true) = (l.as_column(), r.as_column().is_some()) else { continue };
                let Some(left) =
                    region.leaves.iter().position(|o| o.attached.is_none() && o.provides.contains(column))
                else {
                    continue;
                };
                // The right side only ever meets left rows; a left row survives without a partner unless the join
                // asks for one.
                transfer(derived, (left, l), (at, r));
                if attached.kind == JoinKind::LeftSemi {
                    transfer(derived, (at, r), (left, l));
                }
            }
        }
    }
}

/// The order of all relations: each connected component by itself, then the components crossed.
fn best_order(graph: &graph::Graph, everything: Set) -> Option<Tree> {
    let mut parts = Vec::new();
    let mut rest = everything;
    while rest != 0 {
        let mut component = bit(rest.trailing_zeros() as usize);
        loop {
            let grown = component | graph.neighbours(component);
            if grown == component {
                break;
            }
            component = grown;
        }
        rest &= !component;
        match dynamic::order(graph, component, PAIRS_MAX) {
            Some(tree) => parts.push((component, tree)),
            None => return greedy::order(graph),
        }
    }
    greedy::combine(graph, parts)
}
