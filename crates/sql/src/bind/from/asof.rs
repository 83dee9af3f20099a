//! ASOF joins: each left row with the one right row of the same keys that is nearest in order.
//!
//! Both sides become one relation, sorted by partition and order, in which a right row's successors are the left rows
//! it is nearest to. Two window nodes find it, so an ASOF join is a sorted merge, parallel by key:
//!
//! ```text
//! l ASOF JOIN r ON l.k = r.k AND l.t >= r.t
//!   Filter side = left [AND g > 0 AND t IS NOT NULL]
//!     Window [partition by k, g order by t, side] first_value(r's columns)      each g begins with its right row
//!       Window [partition by k order by t, side] g = count(right rows) up to here
//!         Union: right rows with keys (NULL for l's columns), left rows (NULL for r's)
//! ```
//! A condition on one side alone decides which rows of it can be near to any. RIGHT and FULL also keep the right rows
//! to which no left row is near: those whose group has no left row, and those that were near to nothing from the
//! start. With `>=` right rows come before left ones of the same order value, with `>` behind them; `<=` and `<` sort
//! the other way round. Of right rows that agree in keys and order value any may be taken.

use std::collections::{HashMap, HashSet};

use plan::{
    AggregateFunction, ColumnId, Expr, ExprKind, Frame, FrameBound, FrameUnit, JoinKind, LogicalPlan,
    SortKey, WindowCall, WindowFunction,
};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::Binder;
use crate::bind::decorrelate::packing::where_there;
use crate::bind::expression::coerce::{self, cast};
use crate::bind::query::select::filtered;

/// The condition taken apart: pairs of equal expressions, and the one inequality, left side first.
struct Nearest {
    keys: Vec<(Expr, Expr)>,
    op: Comparison,
    order: (Expr, Expr),
    /// Conditions on the left side alone, and on the right side alone.
    of_left: Vec<Expr>,
    of_right: Vec<Expr>,
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::InvalidColumnReference, message.to_owned())
        .with_hint("write ASOF JOIN r ON l.key = r.key AND l.time >= r.time, with any number of equalities")
}

fn taken_apart(
    conditions: Vec<Expr>,
    left: &HashSet<ColumnId>,
    right: &HashSet<ColumnId>,
) -> Result<Nearest> {
    let mut keys = Vec::new();
    let mut nearest = None;
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    for condition in conditions {
        let used = condition.columns();
        if used.iter().all(|c| left.contains(c)) {
            of_left.push(condition);
            continue;
        }
        if used.iter().all(|c| right.contains(c)) {
            of_right.push(condition);
            continue;
        }
        let ExprKind::Compare { op, left: a, right: b } = condition.kind else {
            return Err(refused("the condition of an ASOF join consists of comparisons"));
        };
        let of = |e: &Expr, side: &HashSet<ColumnId>| {
            let used = e.columns();
            !used.is_empty() && used.iter().all(|c| side.contains(c))
        };
        let (op, l, r) = if of(&a, left) && of(&b, right) {
            (op, *a, *b)
        } else if of(&a, right) && of(&b, left) {
            (op.flipped(), *b, *a)
        } else {
            return Err(refused("a comparison of an ASOF join has one table on each side"));
        };
        match op {
            Comparison::Equal => keys.push((l, r)),
            Comparison::NotEqual => return Err(refused("an ASOF join compares by =, >=, >, <= and <")),
            _ if nearest.is_some() => {
                return Err(refused("an ASOF join has exactly one inequality, not two"));
            }
            _ => nearest = Some((op, (l, r))),
        }
    }
    match nearest {
        Some((op, order)) => Ok(Nearest { keys, op, order, of_left, of_right }),
        None => Err(refused("an ASOF join has exactly one inequality, and this one has none")),
    }
}

/// The columns of both sides, and of which side rows without a partner stay.
#[derive(Clone, Copy)]
struct Sides<'a> {
    left: &'a [ColumnId],
    right: &'a [ColumnId],
    keeps_left: bool,
    keeps_right: bool,
}

/// What the windows of an ASOF join go by.
struct Groups {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    /// Which side a row is of.
    side: Expr,
}

fn tag(value: i32) -> Expr {
    Expr::literal(Value::I32(value), Type::Integer)
}

fn there(expr: &Expr) -> Expr {
    let kind = ExprKind::IsNull { input: Box::new(expr.clone()), negated: true };
    Expr::new(kind, Type::Boolean)
}

/// A window call over the rows up to the current one.
fn asof_call(function: WindowFunction, argument: Expr, filter: Option<Expr>, ty: Type) -> WindowCall {
    let frame = Frame {
        unit: FrameUnit::Rows,
        start: FrameBound::Unbounded,
        end: FrameBound::CurrentRow,
        ..Frame::standard()
    };
    WindowCall { function, arguments: vec![argument], filter, ignore_nulls: false, frame, peers: 2, ty }
}

impl Binder<'_> {
    /// The join as a plan, and the columns of either side under their new ids.
    pub(crate) fn asof_join(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        conditions: Vec<Expr>,
        kind: JoinKind,
    ) -> Result<(LogicalPlan, HashMap<ColumnId, ColumnId>)> {
        let (left_ids, right_ids) = (left.output(), right.output());
        let nearest = taken_apart(
            conditions,
            &left_ids.iter().copied().collect(),
            &right_ids.iter().copied().collect(),
        )?;
        let common = |(l, r): (Expr, Expr)| {
            let ty = coerce::common_type(l.ty, r.ty).unwrap_or(l.ty);
            (cast(l, ty), cast(r, ty))
        };
        let keeps_right = matches!(kind, JoinKind::Right | JoinKind::Full);
        let keeps_left = matches!(kind, JoinKind::Left | JoinKind::Full);
        let mut shared: Vec<(Expr, Expr)> = nearest.keys.into_iter().map(common).collect();
        let keys = shared.len();
        let (by_left, by_right) = common(nearest.order);
        // A left row for which the conditions do not hold has no place in the order.
        shared.push((where_there(nearest.of_left, by_left), by_right));
        shared.push((tag(1), tag(0)));

        // A right row without a key or an order value is near to nothing.
        let mut near: Vec<Expr> = shared[..=keys].iter().map(|(_, r)| there(r)).collect();
        near.extend(nearest.of_right);
        let right = match keeps_right {
            true => {
                let near =
                    ExprKind::IsBoolean { input: Box::new(Expr::and(near)), value: true, negated: false };
                shared.push((Expr::boolean(true), Expr::new(near, Type::Boolean)));
                right
            }
            false => filtered(right, near),
        };

        let (plan, united) = self.asof_union((left, &left_ids), (right, &right_ids), shared);

        let (rows, behind) = united.split_at(left_ids.len() + right_ids.len());
        let (partition, rest) = behind.split_at(keys);
        let (by, side) = (self.column(rest[0]), self.column(rest[1]));
        let partition: Vec<Expr> = partition.iter().map(|id| self.column(*id)).collect();
        let backwards = matches!(nearest.op, Comparison::Less | Comparison::LessOrEqual);
        let strict = matches!(nearest.op, Comparison::Less | Comparison::Greater);
        let order = vec![
            SortKey { expr: by.clone(), descending: backwards, nulls_first: false },
            SortKey { expr: side.clone(), descending: strict, nulls_first: false },
        ];
        let mut is_right = Expr::compare(Comparison::Equal, side.clone(), tag(0));
        let is_near = rest.get(2).map(|id| self.column(*id));
        if let Some(is_near) = &is_near {
            is_right = Expr::and(vec![is_right, is_near.clone()]);
        }
        let is_left = Expr::compare(Comparison::Equal, side.clone(), tag(1));
        let ordered = there(&by);
        let groups = Groups { partition, order, side: side.clone() };
        let (plan, met) = self.numbered_by_right(plan, &groups, is_right);
        let left_in_order = keeps_right.then(|| Expr::and(vec![is_left.clone(), ordered.clone()]));
        let (plan, firsts, lefts) =
            self.firsts_of_groups(plan, groups, met, &rows[left_ids.len()..], left_in_order);
        let none = || Expr::literal(Value::I64(0), Type::BigInt);
        let has_met = Expr::compare(Comparison::Greater, self.column(met), none());
        let matched = Expr::and(vec![has_met, ordered]);
        let mut kept = match kind {
            JoinKind::Left | JoinKind::Full => is_left.clone(),
            JoinKind::LeftAnti => {
                Expr::and(vec![is_left.clone(), crate::bind::expression::predicate::negated(matched.clone())])
            }
            _ => Expr::and(vec![is_left.clone(), matched.clone()]),
        };
        if let (Some(lefts), Some(is_near)) = (lefts, is_near) {
            let alone = Expr::compare(Comparison::Equal, self.column(lefts), none());
            let alone = crate::bind::expression::fold::or(vec![
                crate::bind::expression::predicate::negated(is_near),
                alone,
            ]);
            let is_right = Expr::compare(Comparison::Equal, side, tag(0));
            kept = crate::bind::expression::fold::or(vec![kept, Expr::and(vec![is_right, alone])]);
        }
        let plan = filtered(plan, vec![kept]);

        let sides = Sides { left: &left_ids, right: &right_ids, keeps_left, keeps_right };
        let (expressions, renamed) = self.asof_columns(sides, rows, &firsts, &is_left, &matched);
        Ok((LogicalPlan::Project { input: Box::new(plan), expressions }, renamed))
    }

    /// Both sides as one relation: the left side's columns, the right one's, and `shared`, which both have.
    fn asof_union(
        &mut self,
        (left, left_ids): (LogicalPlan, &[ColumnId]),
        (right, right_ids): (LogicalPlan, &[ColumnId]),
        shared: Vec<(Expr, Expr)>,
    ) -> (LogicalPlan, Vec<ColumnId>) {
        let null = |binder: &Self, id: &ColumnId| Expr::literal(Value::Null, binder.columns.get(*id).ty);
        let own = |binder: &Self, id: &ColumnId| binder.column(*id);
        let mut of_left: Vec<Expr> = left_ids.iter().map(|id| own(self, id)).collect();
        of_left.extend(right_ids.iter().map(|id| null(self, id)));
        let mut of_right: Vec<Expr> = left_ids.iter().map(|id| null(self, id)).collect();
        of_right.extend(right_ids.iter().map(|id| own(self, id)));
        for (l, r) in shared {
            of_left.push(l);
            of_right.push(r);
        }
        let mut united = Vec::with_capacity(of_left.len());
        for expr in &of_left {
            united.push(self.columns.add("asof", expr.ty, true));
        }
        let mut inputs = Vec::with_capacity(2);
        for (plan, expressions) in [(right, of_right), (left, of_left)] {
            let named: Vec<(ColumnId, Expr)> =
                expressions.into_iter().map(|e| (self.columns.add("asof", e.ty, true), e)).collect();
            let ids = named.iter().map(|(id, _)| *id).collect();
            inputs.push((LogicalPlan::Project { input: Box::new(plan), expressions: named }, ids));
        }
        let plan = LogicalPlan::Union { inputs, columns: united.clone() };
        (plan, united)
    }

    /// Rows with the number of right rows so far, by which each right row begins a group.
    fn numbered_by_right(
        &mut self,
        plan: LogicalPlan,
        groups: &Groups,
        is_right: Expr,
    ) -> (LogicalPlan, ColumnId) {
        let Groups { partition, order, side } = groups;
        let counted = asof_call(
            WindowFunction::Aggregate(AggregateFunction::Count),
            side.clone(),
            Some(is_right),
            Type::BigInt,
        );
        let met = self.columns.add("asof", Type::BigInt, false);
        let plan = LogicalPlan::Window {
            input: Box::new(plan),
            partition: partition.clone(),
            order: order.clone(),
            calls: vec![(met, counted)],
        };
        (plan, met)
    }

    /// The right side's columns in the first row of each group, and how many left rows the group has for which
    /// `left_in_order` holds.
    fn firsts_of_groups(
        &mut self,
        plan: LogicalPlan,
        groups: Groups,
        met: ColumnId,
        right: &[ColumnId],
        left_in_order: Option<Expr>,
    ) -> (LogicalPlan, Vec<ColumnId>, Option<ColumnId>) {
        let Groups { partition, order, side } = groups;
        let mut finer = partition;
        finer.push(self.column(met));
        let mut calls = Vec::with_capacity(right.len());
        for id in right {
            let column = self.column(*id);
            let ty = column.ty;
            let first = self.columns.add("asof", ty, true);
            calls.push((first, asof_call(WindowFunction::FirstValue, column, None, ty)));
        }
        let firsts: Vec<ColumnId> = calls.iter().map(|(id, _)| *id).collect();
        let mut lefts = None;
        if let Some(filter) = left_in_order {
            let function = WindowFunction::Aggregate(AggregateFunction::Count);
            let counted = asof_call(function, side, Some(filter), Type::BigInt);
            let id = self.columns.add("asof", Type::BigInt, false);
            calls.push((id, WindowCall { frame: Frame::whole(), ..counted }));
            lefts = Some(id);
        }
        let plan = if calls.is_empty() {
            plan
        } else {
            LogicalPlan::Window { input: Box::new(plan), partition: finer, order, calls }
        };
        (plan, firsts, lefts)
    }

    /// The columns of the join under new ids, of the columns that the windows are over (`rows`) and of those that they
    /// found (`firsts`).
    fn asof_columns(
        &mut self,
        sides: Sides<'_>,
        rows: &[ColumnId],
        firsts: &[ColumnId],
        is_left: &Expr,
        matched: &Expr,
    ) -> (Vec<(ColumnId, Expr)>, HashMap<ColumnId, ColumnId>) {
        let Sides { left: left_ids, right: right_ids, keeps_left, keeps_right } = sides;
        let mut renamed = HashMap::with_capacity(rows.len());
        let mut expressions = Vec::with_capacity(rows.len());
        let found = rows[..left_ids.len()].iter().chain(firsts);
        for (at, (old, now)) in left_ids.iter().chain(right_ids).zip(found).enumerate() {
            let of_right = at >= left_ids.len();
            let known = self.columns.get(*old);
            let unmatched = if of_right { keeps_left } else { keeps_right };
            let (name, nullable) = (known.name.clone(), known.nullable || unmatched);
            let value = self.column(*now);
            let ty = value.ty;
            let id = self.columns.add(name, ty, nullable);
            let value = match of_right && (keeps_left || keeps_right) {
                // Sorted behind everything, a row without an order value would meet the last; before the first there
                // may be right rows that are near to nothing. A right row that is kept for itself has its own values.
                true => {
                    let own = self.column(rows[at]);
                    let branches = vec![(Expr::and(vec![is_left.clone(), matched.clone()]), value)];
                    let alone = crate::bind::expression::predicate::negated(is_left.clone());
                    let branches = branches.into_iter().chain(keeps_right.then_some((alone, own))).collect();
                    Expr::new(ExprKind::Case { branches, otherwise: None }, ty)
                }
                false => value,
            };
            expressions.push((id, value));
            renamed.insert(*old, id);
        }
        (expressions, renamed)
    }
}
