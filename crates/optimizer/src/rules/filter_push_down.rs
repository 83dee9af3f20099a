//! Rules `filter_push_down` and `outer_join_simplification`: one pass from the top that takes conjuncts as far down
//! as they may go, and on the way turns outer joins into narrower ones where their NULL rows cannot survive.
//!
//! Where a conjunct may go:
//! * through a projection, its columns replaced by what computes them, unless that is volatile;
//! * through an aggregation, when it uses group keys only (and there are groups), or what it implies for them;
//! * through UNNEST, when it uses none of the elements;
//! * into every input of a union; through a sort; never through LIMIT or top-k;
//! * through a window node, when it uses partition keys only: it keeps or drops whole partitions;
//! * into the side of a join that has its columns, unless that side is padded with NULLs. Conditions of the join
//!   itself go to the side that is *not* preserved; an equality across an inner join becomes a key;
//! * a volatile conjunct through projections and sorts only: elsewhere it would be evaluated for other rows.

use plan::{ColumnId, ColumnTable, Expr, ExprKind, JoinKind, LogicalPlan, ScanSource};
use types::stop::{self, Place};
use types::{Comparison, Value};

use super::derived_predicates::implied;
use super::null_rejection::{rejected, strict};
use super::simplify::distinct;
use crate::Settings;
use crate::columns::ColumnSet;

/// The rule: moves predicates down to where their columns come from.
pub(crate) struct PushDown<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) columns: &'a ColumnTable,
}

impl PushDown<'_> {
    /// `plan` with `predicates` applied to its result. Rows in which a column of `non_null` is NULL will be dropped
    /// above, whether or not they are delivered.
    pub(crate) fn push(
        &self,
        plan: LogicalPlan,
        mut predicates: Vec<Expr>,
        non_null: &ColumnSet,
    ) -> LogicalPlan {
        stop::unwind_if_stopped(Place::Rewrite);
        let passes = matches!(
            plan,
            LogicalPlan::Filter { .. }
                | LogicalPlan::Scan { .. }
                | LogicalPlan::Project { .. }
                | LogicalPlan::Sort { .. }
        );
        if !passes && predicates.iter().any(Expr::is_volatile) {
            let (stay, go): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(Expr::is_volatile);
            return filtered(self.push(plan, go, non_null), stay);
        }
        match plan {
            LogicalPlan::Filter { input, predicate } => {
                if !self.settings.filter_push_down {
                    let mut known = non_null.clone();
                    known.union(&rejected(&predicate));
                    let input = self.push(*input, vec![], &known);
                    return filtered(LogicalPlan::Filter { input: Box::new(input), predicate }, predicates);
                }
                predicate.split_conjuncts(&mut predicates);
                self.push(*input, predicates, non_null)
            }
            LogicalPlan::Scan { source, columns, mut filters } => {
                // A row's place is no column of a block.
                let row = columns.iter().find(|(_, at)| *at == plan::ROW_REFERENCE).map(|(id, _)| *id);
                let (above, own): (Vec<Expr>, Vec<Expr>) =
                    predicates.into_iter().partition(|p| row.is_some_and(|row| p.columns().contains(&row)));
                filters.extend(own);
                filtered(LogicalPlan::Scan { source, columns, filters: distinct(filters) }, above)
            }
            LogicalPlan::Project { .. } => self.push_project(plan, predicates, non_null),
            LogicalPlan::Aggregate { .. } => self.push_aggregate(plan, predicates, non_null),
            LogicalPlan::Sort { input, keys, limit: None } => {
                let input = Box::new(self.push(*input, predicates, non_null));
                LogicalPlan::Sort { input, keys, limit: None }
            }
            LogicalPlan::Sort { input, keys, limit } => {
                let input = Box::new(self.push(*input, vec![], &ColumnSet::new()));
                filtered(LogicalPlan::Sort { input, keys, limit }, predicates)
            }
            LogicalPlan::Limit { input, offset, count } => {
                let input = Box::new(self.push(*input, vec![], &ColumnSet::new()));
                filtered(LogicalPlan::Limit { input, offset, count }, predicates)
            }
            LogicalPlan::Window { input, partition, order, calls } => {
                // A predicate on partition keys keeps or drops whole partitions.
                let keys: ColumnSet = partition.iter().filter_map(Expr::as_column).collect();
                let (below, above): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(|p| {
                    let used = ColumnSet::of(p);
                    !used.is_empty() && used.is_subset(&keys)
                });
                let input = Box::new(self.push(*input, below, &ColumnSet::new()));
                filtered(LogicalPlan::Window { input, partition, order, calls }, above)
            }
            LogicalPlan::Unnest { input, lists, ordinality, outer } => {
                // What asks for nothing of the elements goes below.
                let mut made: ColumnSet = lists.iter().map(|(id, _)| *id).collect();
                made.extend(ordinality);
                let (above, below): (Vec<Expr>, Vec<Expr>) =
                    predicates.into_iter().partition(|p| ColumnSet::of(p).intersects(&made));
                let input = Box::new(self.push(*input, below, &ColumnSet::new()));
                filtered(LogicalPlan::Unnest { input, lists, ordinality, outer }, above)
            }
            LogicalPlan::Union { inputs, columns } => {
                let inputs = inputs
                    .into_iter()
                    .map(|(input, own)| {
                        let place = |id: ColumnId| {
                            let at = columns.iter().position(|c| *c == id)?;
                            let declared = self.columns.get(id).ty;
                            Some(
                                Expr::column(*own.get(at)?, self.columns.get(*own.get(at)?).ty)
                                    .cast(declared),
                            )
                        };
                        let own_predicates =
                            predicates.iter().cloned().map(|p| substitute(p, &place)).collect();
                        (self.push(input, own_predicates, &ColumnSet::new()), own)
                    })
                    .collect();
                LogicalPlan::Union { inputs, columns }
            }
            join @ LogicalPlan::Join { .. } => self.push_join(join, predicates, non_null),
            values @ LogicalPlan::Values { .. } => filtered(values, predicates),
        }
    }

    /// As `push`, of a projection.
    fn push_project(&self, plan: LogicalPlan, predicates: Vec<Expr>, non_null: &ColumnSet) -> LogicalPlan {
        let LogicalPlan::Project { input, expressions } = plan else { return filtered(plan, predicates) };
        let computed = |id: ColumnId| expressions.iter().find(|(own, _)| *own == id).map(|(_, e)| e);
        let mut below = non_null.clone();
        for (id, expr) in &expressions {
            if non_null.contains(*id) {
                below.remove(*id);
                below.union(&strict(expr));
            }
        }
        // What is computed from a volatile call is computed once, here.
        let volatile: ColumnSet =
            expressions.iter().filter(|(_, e)| e.is_volatile()).map(|(id, _)| *id).collect();
        let (above, predicates): (Vec<Expr>, Vec<Expr>) =
            predicates.into_iter().partition(|p| ColumnSet::of(p).intersects(&volatile));
        let predicates = predicates.into_iter().map(|p| substitute(p, &|id| computed(id).cloned())).collect();
        let input = self.push(*input, predicates, &below);
        filtered(LogicalPlan::Project { input: Box::new(input), expressions }, above)
    }

    /// As `push`, of an aggregation.
    fn push_aggregate(&self, plan: LogicalPlan, predicates: Vec<Expr>, non_null: &ColumnSet) -> LogicalPlan {
        let LogicalPlan::Aggregate { input, groups, aggregates } = plan else {
            return filtered(plan, predicates);
        };
        let of_groups: ColumnSet =
            groups.iter().filter(|(_, e)| !e.is_volatile()).map(|(id, _)| *id).collect();
        let (mut below, above): (Vec<Expr>, Vec<Expr>) = predicates
            .into_iter()
            .partition(|p| !groups.is_empty() && ColumnSet::of(p).is_subset(&of_groups));
        if self.settings.partial_predicates && !groups.is_empty() {
            // Groups whose keys cannot satisfy a disjunction over keys and aggregates need not be made.
            let implied = above.iter().filter_map(|p| implied(p, &of_groups));
            below.extend(implied.map(super::simplify::simplify).filter(|p| p.as_literal().is_none()));
        }
        let key = |id: ColumnId| groups.iter().find(|(own, _)| *own == id).map(|(_, e)| e.clone());
        let below = below.into_iter().map(|p| substitute(p, &key)).collect();
        let mut known = ColumnSet::new();
        for (id, expr) in &groups {
            if non_null.contains(*id) {
                known.union(&strict(expr));
            }
        }
        let input = Box::new(self.push(*input, below, &known));
        filtered(LogicalPlan::Aggregate { input, groups, aggregates }, above)
    }

    /// Whether a column of `plan` holds no NULL, as its table declares.
    fn never_null(&self, plan: &LogicalPlan, id: ColumnId) -> bool {
        match plan {
            LogicalPlan::Scan { source: ScanSource::Materialized(source), columns, .. } => {
                let at = columns.iter().find(|(own, _)| *own == id).map(|(_, at)| *at);
                at.and_then(|at| source.columns.get(at)).is_some_and(|c| !c.nullable)
            }
            LogicalPlan::Scan { columns, .. } => {
                columns.iter().any(|(own, _)| *own == id) && !self.columns.get(id).nullable
            }
            LogicalPlan::Filter { input, .. }
            | LogicalPlan::Sort { input, .. }
            | LogicalPlan::Limit { input, .. } => self.never_null(input, id),
            LogicalPlan::Project { input, expressions } => {
                !expressions.iter().any(|(own, _)| *own == id) && self.never_null(input, id)
            }
            LogicalPlan::Join { left, right, kind: JoinKind::Inner, .. } => {
                self.never_null(left, id) || self.never_null(right, id)
            }
            LogicalPlan::Join {
                left,
                kind: JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti,
                ..
            } => self.never_null(left, id),
            _ => false,
        }
    }

    fn push_join(&self, join: LogicalPlan, mut predicates: Vec<Expr>, non_null: &ColumnSet) -> LogicalPlan {
        let LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark } = join
        else {
            return filtered(join, predicates);
        };
        let (left, right, mut kind, mut on) = crate::join_order::face_left(left, right, kind, on);
        let (of_left, of_right) = (ColumnSet::of_plan(&left), ColumnSet::of_plan(&right));

        let mut above = non_null.clone();
        predicates.iter().for_each(|p| above.union(&rejected(p)));
        let (mut left, mut right) = (left, right);
        let (mut of_left, mut of_right) = (of_left, of_right);
        if self.settings.outer_join_simplification {
            match (kind, above.intersects(&of_left), above.intersects(&of_right)) {
                (JoinKind::Left, _, true) | (JoinKind::Full, true, true) => kind = JoinKind::Inner,
                (JoinKind::Full, true, false) => kind = JoinKind::Left,
                (JoinKind::Full, false, true) => {
                    kind = JoinKind::Left;
                    std::mem::swap(&mut left, &mut right);
                    std::mem::swap(&mut of_left, &mut of_right);
                    on = on.into_iter().map(|(l, r)| (r, l)).collect();
                }
                _ => {}
            }
        }

        let mut nulls = Vec::new();
        if self.settings.outer_join_simplification
            && kind == JoinKind::Left
            && !null_equals_null
            && self.takes_test_for_none(&mut predicates, &on, &right, &of_right)
        {
            kind = JoinKind::LeftAnti;
            let null = |id: ColumnId| (id, Expr::literal(Value::Null, self.columns.get(id).ty));
            nulls.extend(of_right.iter().map(null));
        }

        // A mark that is tested outright is a semi- or anti-join.
        let mut marked = None;
        if let (JoinKind::LeftMark, Some(mark)) = (kind, mark)
            && let Some(wanted) = take_test_of_mark(&mut predicates, mark)
        {
            kind = if wanted { JoinKind::LeftSemi } else { JoinKind::LeftAnti };
            marked = Some((mark, wanted));
        }
        let null_aware = null_aware && matches!(kind, JoinKind::LeftAnti | JoinKind::LeftMark);
        let mark = if kind == JoinKind::LeftMark { mark } else { None };

        let mut conditions = Vec::new();
        residual.into_iter().for_each(|r| r.split_conjuncts(&mut conditions));
        let sides = JoinSides { kind, null_equals_null, null_aware, of_left: &of_left, of_right: &of_right };
        let Destinations { to_left, to_right, own, stay } = self.destinations(&sides, predicates, conditions);
        let residual = keys_out_of(own, &mut on, (&of_left, &of_right), null_equals_null, null_aware);

        let keys = if null_equals_null { &[][..] } else { &on };
        let (mut left_known, mut right_known) =
            known_below(kind, null_aware, above, matched_by(keys, &residual));
        left_known.intersect(&of_left);
        right_known.intersect(&of_right);
        let left = Box::new(self.push(*left, to_left, &left_known));
        let right = Box::new(self.push(*right, to_right, &right_known));
        let residual = if residual.is_empty() { None } else { Some(Expr::and(residual)) };
        let join = LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark };
        let join = match marked {
            Some((mark, value)) => LogicalPlan::Project {
                input: Box::new(join),
                expressions: vec![(mark, Expr::boolean(value))],
            },
            None if !nulls.is_empty() => LogicalPlan::Project { input: Box::new(join), expressions: nulls },
            None => join,
        };
        filtered(join, stay)
    }

    /// Where the predicates above a join and the conditions of the join itself go.
    fn destinations(
        &self,
        join: &JoinSides<'_>,
        predicates: Vec<Expr>,
        mut conditions: Vec<Expr>,
    ) -> Destinations {
        let JoinSides { kind, null_equals_null, null_aware, of_left, of_right } = *join;
        let Destinations { mut to_left, mut to_right, mut own, mut stay } = Destinations::default();
        let moves = self.settings.filter_push_down;
        let keeps_left_only = matches!(kind, JoinKind::Inner | JoinKind::LeftSemi);
        for predicate in predicates {
            let used = ColumnSet::of(&predicate);
            let constant = used.is_empty();
            match kind {
                _ if !moves => stay.push(predicate),
                JoinKind::Inner if constant => {
                    to_right.push(predicate.clone());
                    to_left.push(predicate);
                }
                JoinKind::Full => stay.push(predicate),
                _ if used.is_subset(of_left) => to_left.push(predicate),
                JoinKind::Inner if used.is_subset(of_right) => to_right.push(predicate),
                JoinKind::Inner if !null_equals_null => conditions.push(predicate),
                _ => stay.push(predicate),
            }
        }
        for condition in conditions {
            let used = ColumnSet::of(&condition);
            // NOT IN's comparison may stand among the conditions, and a row it is unknown for counts.
            let movable = moves
                && kind != JoinKind::Full
                && !used.is_empty()
                && !null_aware
                && !condition.is_volatile();
            if movable && keeps_left_only && used.is_subset(of_left) {
                to_left.push(condition);
            } else if movable && used.is_subset(of_right) {
                to_right.push(condition);
            } else {
                own.push(condition);
            }
        }
        Destinations { to_left, to_right, own, stay }
    }

    /// A row whose key is NULL after an outer join found no partner: whether a predicate asks for those, which makes
    /// it an anti-join. The predicate is taken out.
    fn takes_test_for_none(
        &self,
        predicates: &mut Vec<Expr>,
        on: &[(Expr, Expr)],
        right: &LogicalPlan,
        of_right: &ColumnSet,
    ) -> bool {
        let mut matched = ColumnSet::new();
        on.iter().for_each(|(_, r)| matched.union(&strict(r)));
        matched.intersect(of_right);
        let asks = predicates.iter().position(|p| match &p.kind {
            ExprKind::IsNull { input, negated: false } => input.as_column().is_some_and(|id| {
                of_right.contains(id) && (matched.contains(id) || self.never_null(right, id))
            }),
            _ => false,
        });
        asks.map(|at| predicates.remove(at)).is_some()
    }
}

/// An equality with one side's columns left and the other's right; the argument itself when it is none.
pub(crate) fn as_key(
    condition: Expr,
    of_left: &ColumnSet,
    of_right: &ColumnSet,
) -> Result<(Expr, Expr), Expr> {
    // A volatile side is evaluated for each pair of rows.
    if condition.is_volatile() {
        return Err(condition);
    }
    let Expr { kind, ty } = condition;
    let ExprKind::Compare { op: Comparison::Equal, left, right } = kind else {
        return Err(Expr::new(kind, ty));
    };
    let (l, r) = (ColumnSet::of(&left), ColumnSet::of(&right));
    if l.is_empty() || r.is_empty() {
        return Err(Expr::compare(Comparison::Equal, *left, *right));
    }
    if l.is_subset(of_left) && r.is_subset(of_right) {
        Ok((*left, *right))
    } else if l.is_subset(of_right) && r.is_subset(of_left) {
        Ok((*right, *left))
    } else {
        Err(Expr::compare(Comparison::Equal, *left, *right))
    }
}

fn filtered(plan: LogicalPlan, predicates: Vec<Expr>) -> LogicalPlan {
    if predicates.is_empty() {
        return plan;
    }
    LogicalPlan::Filter { input: Box::new(plan), predicate: Expr::and(predicates) }
}

/// `expr` with columns replaced where `value` has something for them.
pub(crate) fn substitute(expr: Expr, value: &dyn Fn(ColumnId) -> Option<Expr>) -> Expr {
    expr.transform(&mut |e| match e.kind {
        ExprKind::Column(id) => value(id).unwrap_or(e),
        _ => e,
    })
}

/// Whether the mark or its contrary is asked for outright; the predicate is taken out, and the others know the answer.
fn take_test_of_mark(predicates: &mut Vec<Expr>, mark: ColumnId) -> Option<bool> {
    let is_mark = |e: &Expr| e.as_column() == Some(mark);
    let at = predicates.iter().position(|p| match &p.kind {
        ExprKind::Column(id) => *id == mark,
        ExprKind::Not(input) => is_mark(input),
        _ => false,
    })?;
    let wanted = is_mark(&predicates.remove(at));
    let value = |id: ColumnId| (id == mark).then(|| Expr::boolean(wanted));
    for predicate in predicates {
        let taken = std::mem::replace(predicate, Expr::boolean(true));
        *predicate = super::simplify::simplify(substitute(taken, &value));
    }
    Some(wanted)
}

/// What decides about where a conjunct goes at a join.
struct JoinSides<'a> {
    kind: JoinKind,
    null_equals_null: bool,
    null_aware: bool,
    of_left: &'a ColumnSet,
    of_right: &'a ColumnSet,
}

/// Where conjuncts go at a join: into a side, into its condition, or they stay above it.
#[derive(Default)]
struct Destinations {
    to_left: Vec<Expr>,
    to_right: Vec<Expr>,
    own: Vec<Expr>,
    stay: Vec<Expr>,
}

/// Of conditions that span both sides, equalities become keys; the others are given back.
fn keys_out_of(
    conditions: Vec<Expr>,
    on: &mut Vec<(Expr, Expr)>,
    (of_left, of_right): (&ColumnSet, &ColumnSet),
    null_equals_null: bool,
    null_aware: bool,
) -> Vec<Expr> {
    let mut residual = Vec::with_capacity(conditions.len());
    for condition in conditions {
        if null_aware {
            // NULL counts as "unknown" in the keys of NOT IN, but not in the other conditions.
            residual.push(condition);
            continue;
        }
        match as_key(condition, of_left, of_right) {
            Ok(pair) if !null_equals_null => {
                if !on.contains(&pair) {
                    on.push(pair);
                }
            }
            Ok((l, r)) => residual.push(Expr::compare(Comparison::Equal, l, r)),
            Err(condition) => residual.push(condition),
        }
    }
    residual
}

/// Columns that are not NULL in rows that match.
fn matched_by(keys: &[(Expr, Expr)], residual: &[Expr]) -> ColumnSet {
    let mut matched = ColumnSet::new();
    for (l, r) in keys {
        matched.union(&strict(l));
        matched.union(&strict(r));
    }
    residual.iter().for_each(|r| matched.union(&rejected(r)));
    matched
}

/// Columns of which NULLs are dropped from the left and the right side: by the join or above it.
fn known_below(
    kind: JoinKind,
    null_aware: bool,
    mut above: ColumnSet,
    matched: ColumnSet,
) -> (ColumnSet, ColumnSet) {
    match kind {
        JoinKind::Inner | JoinKind::LeftSemi => {
            above.union(&matched);
            (above.clone(), above)
        }
        JoinKind::Left | JoinKind::LeftAnti | JoinKind::LeftMark => {
            (above, if null_aware { ColumnSet::new() } else { matched })
        }
        _ => (ColumnSet::new(), ColumnSet::new()),
    }
}
