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
//! With `>=` right rows come before left ones of the same order value, with `>` behind them; `<=` and `<` sort the
//! other way round. Of right rows that agree in keys and order value any may be taken.

use std::collections::{HashMap, HashSet};

use plan::{
    AggregateFunction, ColumnId, Expr, ExprKind, Frame, FrameBound, FrameUnit, JoinKind, LogicalPlan,
    SortKey, WindowCall, WindowFunction,
};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use super::Binder;
use super::coerce::{self, cast};
use super::select::filtered;

/// The condition taken apart: pairs of equal expressions, and the one inequality, left side first.
struct Nearest {
    keys: Vec<(Expr, Expr)>,
    op: Comparison,
    order: (Expr, Expr),
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
    for condition in conditions {
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
        Some((op, order)) => Ok(Nearest { keys, op, order }),
        None => Err(refused("an ASOF join has exactly one inequality, and this one has none")),
    }
}

impl Binder<'_> {
    /// The join as a plan, and the columns of either side under their new ids.
    pub(super) fn asof_join(
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
        let mut shared: Vec<(Expr, Expr)> = nearest.keys.into_iter().map(common).collect();
        let keys = shared.len();
        shared.push(common(nearest.order));
        let tag = |value: i32| Expr::literal(Value::I32(value), Type::Integer);
        shared.push((tag(1), tag(0)));

        // A right row without a key or an order value is near to nothing.
        let there = |e: &Expr| {
            let kind = ExprKind::IsNull { input: Box::new(e.clone()), negated: true };
            Expr::new(kind, Type::Boolean)
        };
        let right = filtered(right, shared[..=keys].iter().map(|(_, r)| there(r)).collect());

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
        let frame = Frame {
            unit: FrameUnit::Rows,
            start: FrameBound::Unbounded,
            end: FrameBound::CurrentRow,
            ..Frame::standard()
        };
        let call = |function: WindowFunction, argument: Expr, filter: Option<Expr>, ty: Type| WindowCall {
            function,
            arguments: vec![argument],
            filter,
            ignore_nulls: false,
            frame: frame.clone(),
            peers: 2,
            ty,
        };
        let is_right = Expr::compare(Comparison::Equal, side.clone(), tag(0));
        let counted = call(
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
        let mut finer = partition;
        finer.push(self.column(met));
        let mut calls = Vec::with_capacity(right_ids.len());
        for id in &rows[left_ids.len()..] {
            let column = self.column(*id);
            let ty = column.ty;
            let first = self.columns.add("asof", ty, true);
            calls.push((first, call(WindowFunction::FirstValue, column, None, ty)));
        }
        let firsts: Vec<ColumnId> = calls.iter().map(|(id, _)| *id).collect();
        let plan = if calls.is_empty() {
            plan
        } else {
            LogicalPlan::Window { input: Box::new(plan), partition: finer, order, calls }
        };
        let mut conditions = vec![Expr::compare(Comparison::Equal, side, tag(1))];
        let ordered = there(&by);
        if kind == JoinKind::Inner {
            let none = Expr::literal(Value::I64(0), Type::BigInt);
            conditions.push(Expr::compare(Comparison::Greater, self.column(met), none));
            conditions.push(ordered.clone());
        }
        let plan = filtered(plan, conditions);

        let mut renamed = HashMap::with_capacity(rows.len());
        let mut expressions = Vec::with_capacity(rows.len());
        let found = rows[..left_ids.len()].iter().chain(&firsts);
        for (at, (old, now)) in left_ids.iter().chain(&right_ids).zip(found).enumerate() {
            let of_right = at >= left_ids.len();
            let known = self.columns.get(*old);
            let (name, nullable) =
                (known.name.clone(), known.nullable || (of_right && kind == JoinKind::Left));
            let value = self.column(*now);
            let ty = value.ty;
            let id = self.columns.add(name, ty, nullable);
            let value = if of_right && kind == JoinKind::Left {
                // Sorted behind everything, a row without an order value would meet the last.
                Expr::new(ExprKind::Case { branches: vec![(ordered.clone(), value)], otherwise: None }, ty)
            } else {
                value
            };
            expressions.push((id, value));
            renamed.insert(*old, id);
        }
        Ok((LogicalPlan::Project { input: Box::new(plan), expressions }, renamed))
    }
}
