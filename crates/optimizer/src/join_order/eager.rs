//! Where in a tree of joins rows are grouped early: the place whose partial groups save most, if the saving is clear.
//!
//! Every part of the chosen tree that has the columns of the aggregates is a place. Its keys are the columns that
//! something above it looks at; how many groups they make, against how many rows there are, says by what factor
//! everything above shrinks. What the rule does to the aggregates, and why that is sound, is in
//! `rules::eager_aggregation`. The order of joins stays as it was chosen for the rows.

use plan::{ColumnId, Expr};
use types::Physical;

use super::graph::{Graph, Set, Tree, bit, bits};
use super::region::Region;
use super::{Condition, Equal};
use crate::columns::ColumnSet;
use crate::cost;
use crate::estimate::distinct_among;
use crate::lower::Relation;
use crate::planner::Planner;
use crate::rules::eager_aggregation::{
    Calls, Groups, Request, Role, RowsAtMost, Upper, is_plain_key, is_safe, looked_at_above, role, split,
};

/// Rows to a partial group, at least.
const REDUCTION_MIN: f64 = 4.0;
/// The joins above and the aggregation have to become cheaper by this factor, estimates being what they are.
const GAIN_MIN: f64 = 2.0;
/// Reading a row, which is done either way.
const ROW_READ: f64 = 0.5;
/// A pair of rows that a join makes of a row with several partners.
const PAIR: f64 = 8.0;

/// A part of the tree whose rows are grouped before they are joined with the rest.
pub(super) struct Early {
    pub(super) place: Set,
    /// Partial groups by rows.
    pub(super) shrinks: f64,
    /// Computed keys; the other keys are what is needed above.
    pub(super) keys: Groups,
    pub(super) calls: Calls,
}

impl Early {
    /// The factor by which a join's rows shrink.
    pub(super) fn factor(&self, set: Set) -> f64 {
        if set != self.place && self.place & !set == 0 { self.shrinks } else { 1.0 }
    }
}

/// What is known of the joins when the place is chosen.
pub(super) struct Joins<'j> {
    pub(super) region: &'j Region,
    pub(super) relations: &'j [Option<Relation>],
    pub(super) graph: &'j Graph,
    pub(super) classes: &'j [Equal],
    pub(super) conditions: &'j [Condition],
}

struct GroupingPoint {
    set: Set,
    shrinks: f64,
    gain: f64,
    roles: Vec<Role>,
    computed: Vec<usize>,
}

impl Planner<'_> {
    /// Chooses the place, and what is to be done above the joins then.
    pub(super) fn group_early(
        &mut self,
        joins: &Joins<'_>,
        tree: &Tree,
        request: Request,
    ) -> Option<(Early, Upper)> {
        let mut best = None;
        self.visit(joins, tree, &mut vec![], &request, &mut best);
        let GroupingPoint { set, shrinks, roles, computed, .. } = best?;
        let mut used = ColumnSet::new();
        for (_, call) in &request.calls {
            call.argument.iter().chain(&call.filter).for_each(|e| used.add_expr(e));
        }
        let input = joins.columns_of(&used);
        let (below, above) = (self.joined_at_most(joins, set), self.joined_at_most(joins, tree.set()));
        if !is_safe(self, &request, &roles, &input, RowsAtMost { below, above }) {
            return None;
        }
        let (lower, upper) = split(self, request, &roles, &computed);
        Some((Early { place: set, shrinks, keys: lower.keys, calls: lower.calls }, upper))
    }

    /// Looks at every part of `tree`; `others` are what the tree is joined with above, outermost first.
    fn visit(
        &self,
        joins: &Joins<'_>,
        tree: &Tree,
        others: &mut Vec<Set>,
        request: &Request,
        best: &mut Option<GroupingPoint>,
    ) {
        if !others.is_empty()
            && let Some(place) = self.judge(joins, tree.set(), others, request)
            && best.as_ref().is_none_or(|b| b.gain < place.gain)
        {
            *best = Some(place);
        }
        if let Tree::Join(left, right) = tree {
            others.push(right.set());
            self.visit(joins, left, others, request, best);
            others.pop();
            others.push(left.set());
            self.visit(joins, right, others, request, best);
            others.pop();
        }
    }

    fn judge(&self, joins: &Joins<'_>, set: Set, others: &[Set], request: &Request) -> Option<GroupingPoint> {
        let graph = joins.graph;
        if graph.single_attached(set).is_some() {
            return None;
        }
        let below = joins.provided(set);
        let roles: Vec<Role> =
            request.calls.iter().map(|(_, call)| role(call, &below)).collect::<Option<_>>()?;
        let (mut needed, computed) = looked_at_above(request, &roles, &below);
        joins.add_links(set, &mut needed);
        needed.intersect(&below);
        if computed.is_empty() && needed.is_empty() {
            return None;
        }
        let mut plain = needed.iter().map(|id| self.columns.get(id).ty);
        if !plain.all(is_plain_key) || !computed.iter().all(|at| is_plain_key(request.groups[*at].1.ty)) {
            return None;
        }
        let rows = graph.rows(set);
        let mut keys: Vec<Expr> = computed.iter().map(|at| request.groups[*at].1.clone()).collect();
        let groups = self.groups_of(joins, set, &needed, &mut keys)?;
        if groups * REDUCTION_MIN > rows {
            return None;
        }

        // Runtime filters take rows away below the partial groups, so what the joins above drop costs nothing either
        // way.
        let mut sizes = Vec::with_capacity(others.len());
        let (mut inner, mut passing) = (set, 1.0);
        for other in others.iter().rev() {
            let outer = inner | other;
            let growth = graph.rows(outer) / graph.rows(inner).max(1.0);
            if self.settings.runtime_filters {
                passing *= growth.min(1.0);
                sizes.push((inner, *other, growth.max(1.0)));
            } else {
                sizes.push((inner, *other, growth));
            }
            inner = outer;
        }
        let shrinks = groups / rows;
        let mut came = rows * passing;
        let reading = rows * ROW_READ;
        let (mut late, mut early) = (reading, reading + self.aggregation(came, came * shrinks, keys.iter()));
        for (inner, other, growth) in sizes {
            let goes = came * growth;
            let side = (other, graph.rows(other));
            let pairs = if growth > 1.2 { goes * PAIR } else { 0.0 };
            late += graph.price((inner, came), side, goes) + pairs;
            early += graph.price((inner, came * shrinks), side, goes * shrinks) + pairs * shrinks;
            came = goes;
        }
        let result = self.result_groups(request, came);
        let on_build = joins.groups_are_rows(request);
        let last = |rows: f64| {
            if on_build {
                return rows;
            }
            self.aggregation(rows, result.min(rows), request.groups.iter().map(|(_, e)| e))
        };
        late += last(came);
        early += last(came * shrinks);
        (early * GAIN_MIN < late).then_some(GroupingPoint {
            set,
            shrinks,
            gain: late - early,
            roles,
            computed,
        })
    }

    /// Groups to expect of the rows of `set` by columns and by the expressions in `keys`; `None` where nothing is
    /// known of one. Columns that no others determine join the keys.
    fn groups_of(
        &self,
        joins: &Joins<'_>,
        set: Set,
        columns: &ColumnSet,
        keys: &mut Vec<Expr>,
    ) -> Option<f64> {
        let rows = joins.graph.rows(set);
        for at in bits(set) {
            let Some(relation) = &joins.relations[at] else { continue };
            let mut kept = columns.clone();
            kept.intersect(&joins.region.leaves[at].provides);
            for id in kept.clone().iter() {
                kept.remove(id);
                if relation.closure(&kept).contains(id) {
                    continue;
                }
                kept.insert(id);
                keys.push(self.columns.expr(id));
            }
        }
        let mut product = 1.0;
        for key in keys.iter() {
            product *= distinct_among(self.distinct(key)?.max(1.0), rows).max(1.0);
        }
        Some(distinct_among(product, rows).max(1.0))
    }

    fn result_groups(&self, request: &Request, rows: f64) -> f64 {
        let each =
            request.groups.iter().map(|(_, e)| self.distinct(e).unwrap_or_else(|| rows.sqrt()).max(1.0));
        distinct_among(each.product::<f64>().min(rows), rows).max(1.0)
    }

    /// A number of rows that the join of `set` cannot exceed.
    fn joined_at_most(&mut self, joins: &Joins<'_>, set: Set) -> u128 {
        let mut rows = vec![1; joins.relations.len()];
        for at in bits(set) {
            if let Some(relation) = &joins.relations[at] {
                rows[at] = self.rows_at_most(&relation.plan).max(1);
            }
        }
        // The largest first; a side with at most one partner for each row multiplies nothing.
        let Some(first) = bits(set).max_by_key(|at| (joins.region.leaves[*at].attached.is_none(), rows[*at]))
        else {
            return 0;
        };
        let (mut joined, mut total) = (bit(first), rows[first]);
        while joined != set {
            let rest = set & !joined;
            let next = bits(rest).find(|at| joins.is_unique(*at, joined));
            let Some(at) = next.or_else(|| bits(rest).next()) else { break };
            if next.is_none() {
                total = total.saturating_mul(rows[at]);
            }
            joined |= bit(at);
        }
        total
    }
}

impl Joins<'_> {
    fn provided(&self, set: Set) -> ColumnSet {
        let mut columns = ColumnSet::new();
        bits(set).for_each(|at| columns.union(&self.region.leaves[at].provides));
        columns
    }

    /// Adds the columns by which `set` is joined with other relations.
    fn add_links(&self, set: Set, columns: &mut ColumnSet) {
        for class in self.classes {
            let mut members = class.members.iter();
            let inside = members.clone().find(|(at, _)| set & bit(*at) != 0);
            if let (Some((_, column)), true) = (inside, members.any(|(at, _)| set & bit(*at) == 0)) {
                columns.add_expr(column);
            }
        }
        for condition in self.conditions.iter().filter(|c| c.mask & !set != 0) {
            columns.add_expr(&condition.expr);
        }
        for (at, leaf) in self.region.leaves.iter().enumerate() {
            if let (Some(attached), true) = (&leaf.attached, set & bit(at) == 0) {
                attached.on.iter().for_each(|(l, _)| columns.add_expr(l));
                attached.residual.iter().for_each(|r| columns.add_expr(r));
            }
        }
    }

    /// A relation with the given columns of all relations, to bind expressions to.
    fn columns_of(&self, used: &ColumnSet) -> Relation {
        let (mut output, mut ids): (Vec<_>, Vec<ColumnId>) = (vec![], vec![]);
        for id in used.iter() {
            if let Some(column) = self.relations.iter().flatten().find_map(|r| r.output(id)) {
                output.push(column.clone());
                ids.push(id);
            }
        }
        let node = plan::PhysicalNode::Values { rows: vec![] };
        Relation::new(plan::PhysicalPlan::new(node, output, 1.0), ids)
    }

    /// Whether a row of `set` meets at most one row of relation `at`.
    fn is_unique(&self, at: usize, set: Set) -> bool {
        let Some(relation) = &self.relations[at] else { return false };
        let keys: ColumnSet = match &self.region.leaves[at].attached {
            Some(attached) if attached.kind != plan::JoinKind::Left => return true,
            Some(attached) => attached.on.iter().filter_map(|(_, r)| r.as_column()).collect(),
            None => self
                .classes
                .iter()
                .filter(|class| class.members.iter().any(|(other, _)| set & bit(*other) != 0))
                .flat_map(|class| &class.members)
                .filter_map(|(relation, column)| column.as_column().filter(|_| *relation == at))
                .collect(),
        };
        relation.unique_key(&keys).is_some()
    }

    /// Whether the result's groups are rows of a relation that is joined by its key: such groups are numbered by the
    /// join itself.
    fn groups_are_rows(&self, request: &Request) -> bool {
        let grouped = |column: &Expr| request.groups.iter().any(|(_, e)| e == column);
        self.classes.iter().filter(|class| class.members.iter().any(|(_, c)| grouped(c))).any(|class| {
            class.members.iter().any(|(at, column)| {
                let key: ColumnSet = column.as_column().into_iter().collect();
                self.relations[*at].as_ref().is_some_and(|r| r.unique_key(&key).is_some())
            })
        })
    }
}

/// Values of an integer key to a row, up to which there is an array by its values.
const ARRAY_VALUES_PER_ROW: f64 = 4.0;
/// Groups up to which a hash table of them is as good as none.
const FEW_GROUPS: f64 = 10_000.0;

impl Planner<'_> {
    /// What grouping `rows` rows by `keys` costs: by an array while its states are in the cache little more than a
    /// look at each row, by a hash table of many groups twenty times that (measured; see
    /// docs/internals/eager-aggregation.md).
    fn aggregation<'e>(&self, rows: f64, groups: f64, mut keys: impl Iterator<Item = &'e Expr>) -> f64 {
        let Some(first) = keys.next() else { return rows * 0.5 };
        let second = keys.next();
        let span = first.as_column().and_then(|id| {
            let facts = self.facts(id);
            Some(facts.high? - facts.low? + 1.0)
        });
        let is_array = second.is_none()
            && first.ty.is_integer()
            && span.is_some_and(|s| s <= ARRAY_VALUES_PER_ROW * rows.max(16.0));
        let each = if is_array {
            1.0 + (groups / FEW_GROUPS).min(1.0) + (groups / 15_000.0 - 2.0).clamp(0.0, 20.0)
        } else {
            let texts = [Some(first), second].into_iter().flatten().chain(keys);
            let texts = texts.filter(|key| key.ty.physical() == Physical::Bytes).count();
            2.0 + 25.0 * (groups / FEW_GROUPS).min(1.0) * cost::access(groups) + texts as f64
        };
        rows * each + groups * 2.0
    }
}
