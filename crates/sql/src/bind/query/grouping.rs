//! GROUPING SETS, ROLLUP and CUBE: several groupings of one input.
//!
//! Every input row is joined with the numbers of the sets, and keys that are not in a set are NULL in its rows; one
//! aggregation over keys and set number then does them all, and reads its input once:
//!
//! ```text
//! GROUP BY ROLLUP (a, b)    Aggregate by [a', b', set] over a' = CASE WHEN set IN (0, 1) THEN a END, b' = CASE ...
//!                             Join Cross input, Values (0), (1), (2)
//! ```
//! Where one set has all keys (ROLLUP and CUBE have such a set) and all aggregates can be made of those of smaller
//! groups, or of their states, the input is grouped by all keys first, and what is joined with the numbers is the
//! groups:
//!
//! ```text
//!                           Project s, s / n
//!                             Aggregate by [a', b', set] [sum(s), sum(n)]
//!                               Join Cross, Values (0), (1), (2)
//!                                 Aggregate by [a, b] [sum(x) s, count(x) n]
//! ```
//! The set of no key has a row even where the input has none: such sets are joined once more, as outer rows.

use std::rc::Rc;

use plan::{
    AggregateCall, AggregateFunction, Arithmetic, ColumnId, Expr, ExprKind, Function, JoinKind, LogicalPlan,
};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::Binder;
use crate::bind::decorrelate::joined;
use crate::bind::decorrelate::unnest::or_zero;
use crate::bind::expression::coerce::{Bound, cast};
use crate::bind::expression::{ExprBinder, fold};
use crate::bind::function::aggregate::Aggregates;
use crate::bind::function::arguments;
use crate::bind::query::grouped::Grouping;
use crate::place;

/// Sets that one GROUP BY may come to, and keys of a CUBE.
const SETS_MAX: usize = 4096;

/// The group expressions of a SELECT, each once, and which of them each set has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// The distinct group expressions, in the order of their first use.
    pub keys: Vec<Expr>,
    /// At least one; `sets[s]` are places in `keys`.
    pub sets: Vec<Vec<usize>>,
    /// The number of the set a row belongs to; there when there are several.
    pub number: Option<ColumnId>,
    /// GROUP BY ALL: the keys are whatever of the select list holds no aggregate.
    pub all: bool,
}

impl Groups {
    /// The position of an expression in `keys`; adds it if no key equals it.
    pub fn key(&mut self, expr: Expr) -> usize {
        self.keys.iter().position(|k| *k == expr).unwrap_or_else(|| {
            self.keys.push(expr);
            self.keys.len() - 1
        })
    }
}

/// Parts that CUBE takes, as each doubles its sets.
const CUBE_PARTS_MAX: usize = 12;

/// The sets of one item of GROUP BY; several items are combined, each set of one with each of the others.
pub(crate) fn sets_of(item: &tree::GroupItem) -> Result<Vec<Vec<&Ast>>> {
    Ok(match item {
        tree::GroupItem::Expr(one) => match &one.kind {
            AstKind::Row { row: false, elements } => vec![elements.iter().collect()],
            _ => vec![vec![one]],
        },
        tree::GroupItem::Sets(..) => {
            let mut sets = Vec::new();
            each_set(item, &mut sets)?;
            sets
        }
        tree::GroupItem::Empty(_) => vec![vec![]],
        tree::GroupItem::Rollup(elements, _) => rollup(&parts(elements)),
        tree::GroupItem::Cube(elements, _) => cube(&parts(elements))?,
    })
}

/// The sets inside GROUPING SETS; those of one inside another are its own.
fn each_set<'t>(item: &'t tree::GroupItem, sets: &mut Vec<Vec<&'t Ast>>) -> Result<()> {
    match item {
        tree::GroupItem::Expr(one) => sets.push(set_of(one)),
        tree::GroupItem::Sets(inner, _) => {
            for item in inner {
                each_set(item, sets)?;
            }
        }
        other => sets.extend(sets_of(other)?),
    }
    Ok(())
}

/// One set: what stands in a pair of brackets.
fn set_of(one: &Ast) -> Vec<&Ast> {
    match &one.kind {
        AstKind::Row { row: false, elements } => elements.iter().collect(),
        AstKind::Nested(inner) => vec![inner],
        _ => vec![one],
    }
}

/// Elements of ROLLUP and CUBE: those in brackets are one.
fn parts(elements: &[Vec<Ast>]) -> Vec<Vec<&Ast>> {
    elements
        .iter()
        .map(|element| match element.as_slice() {
            [one] => set_of(one),
            several => several.iter().collect(),
        })
        .collect()
}

fn rollup<'a>(parts: &[Vec<&'a Ast>]) -> Vec<Vec<&'a Ast>> {
    (0..=parts.len()).rev().map(|n| parts[..n].iter().flatten().copied().collect()).collect()
}

fn cube<'a>(parts: &[Vec<&'a Ast>]) -> Result<Vec<Vec<&'a Ast>>> {
    if parts.len() > CUBE_PARTS_MAX {
        return Err(Error::new(SqlState::StatementTooComplex, "too many grouping sets"));
    }
    let all = (1usize << parts.len()) - 1;
    let set = |left_out: usize| {
        let kept = |at: &usize| left_out >> (parts.len() - 1 - at) & 1 == 0;
        (0..parts.len()).filter(kept).flat_map(|at| parts[at].iter().copied()).collect()
    };
    Ok((0..=all).map(set).collect())
}

/// Each set of `left` with each of `right`.
pub(crate) fn combined(left: Vec<Vec<usize>>, right: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if left.len().saturating_mul(right.len()) > SETS_MAX {
        return Err(Error::new(SqlState::StatementTooComplex, "too many grouping sets")
            .with_hint(format!("there may be {SETS_MAX}")));
    }
    let mut out = Vec::with_capacity(left.len() * right.len());
    for a in &left {
        for b in right {
            let mut set = a.clone();
            set.extend(b.iter().filter(|k| !a.contains(k)));
            out.push(set);
        }
    }
    Ok(out)
}

/// Whether the aggregate of a group is one of the aggregates of its parts.
fn mergeable(call: &AggregateCall) -> bool {
    use AggregateFunction as A;
    let simple = matches!(
        call.function,
        A::Count
            | A::CountStar
            | A::Sum
            | A::Avg
            | A::Min
            | A::Max
            | A::AnyValue
            | A::BoolAnd
            | A::BoolOr
            | A::BitAnd
            | A::BitOr
            | A::BitXor
            | A::Product
    ) || call.function.state_form().is_some();
    // An average's sum is checked only where it is a value of its own: where it might not fit, the average stays
    // whole.
    let wide = |a: &Expr| a.ty.scale() > 8;
    let fits = call.function != A::Avg || !call.argument.as_ref().is_some_and(wide);
    simple && fits && !call.distinct
}

/// The column of a call among `calls`, which is added where it is not there yet.
fn known_or_added(
    call: AggregateCall,
    calls: &mut Vec<(ColumnId, AggregateCall)>,
    add: impl FnOnce() -> ColumnId,
) -> ColumnId {
    let known = calls.iter().find(|(_, known)| *known == call).map(|(id, _)| *id);
    known.unwrap_or_else(|| {
        let id = add();
        calls.push((id, call));
        id
    })
}

/// Expressions that are keys become the columns of those.
fn replace_keys(expr: &mut Expr, keys: &[(ColumnId, Expr)]) {
    if let Some((id, key)) = keys.iter().find(|(_, key)| key == expr) {
        *expr = Expr::column(*id, key.ty);
        return;
    }
    for child in expr.children_mut() {
        replace_keys(child, keys);
    }
}

fn number(at: usize) -> Expr {
    Expr::literal(Value::I32(at as i32), Type::Integer)
}

/// `column` is one of these numbers.
fn is_one_of(column: &Expr, numbers: &[usize]) -> Expr {
    let tests =
        numbers.iter().map(|at| Expr::compare(Comparison::Equal, column.clone(), number(*at))).collect();
    fold::or(tests)
}

impl<'a> ExprBinder<'_, 'a> {
    /// `GROUPING(a, b)`: a bit for each argument, set where the row's set lacks it.
    pub(crate) fn grouping(&mut self, call: &'a tree::Call, span: Span) -> Result<Bound> {
        let text = self.binder.text;
        let refuse = |message: String| place::at(Error::new(SqlState::GroupingError, message), text, span);
        let Some(aggregates) = self.aggregates.take() else {
            return Err(refuse(format!("grouping operations are not allowed in {}", self.clause.name())));
        };
        let groups = aggregates.groups.clone();
        let mut places = Vec::new();
        let mut wrong = None;
        for argument in arguments::list(call) {
            let bound = match self.binder.argument_value(argument) {
                Some(value) => self.bind(value),
                None => Err(refuse(format!("GROUPING does not take {}", arguments::shown(argument)))),
            };
            match bound {
                Ok(bound) => places.push(groups.keys.iter().position(|k| *k == bound.expr)),
                Err(error) => wrong = Some(error),
            }
        }
        self.aggregates = Some(aggregates);
        if let Some(error) = wrong {
            return Err(error);
        }
        let places: Option<Vec<usize>> = places.into_iter().collect();
        let Some(places) = places.filter(|p| !p.is_empty() && p.len() < 32) else {
            return Err(refuse(
                "arguments to GROUPING must be grouping expressions of the associated query level".to_owned(),
            ));
        };
        let bits = |set: &Vec<usize>| {
            places.iter().fold(0usize, |bits, place| bits << 1 | usize::from(!set.contains(place)))
        };
        let expr = match groups.number {
            None => number(groups.sets.first().map_or(0, bits)),
            Some(id) => {
                let column = self.binder.column(id);
                let branches = groups
                    .sets
                    .iter()
                    .enumerate()
                    .map(|(at, set)| (is_one_of(&column, &[at]), number(bits(set))))
                    .collect();
                Expr::new(ExprKind::Case { branches, otherwise: None }, Type::Integer)
            }
        };
        Ok(Bound::typed(expr, span))
    }
}

impl<'a> Binder<'a> {
    /// The keys as they are in the sets' rows, under columns of their own.
    pub(crate) fn set_keys(
        &mut self,
        groups: &Groups,
        set: ColumnId,
        input: impl Iterator<Item = (ColumnId, Rc<str>)>,
    ) -> Grouping {
        let column = self.column(set);
        let mut keyed = Vec::with_capacity(groups.keys.len());
        for (place, key) in groups.keys.iter().enumerate() {
            let with: Vec<usize> =
                (0..groups.sets.len()).filter(|at| groups.sets[*at].contains(&place)).collect();
            let expr = if with.len() == groups.sets.len() {
                key.clone()
            } else {
                let branches = vec![(is_one_of(&column, &with), key.clone())];
                Expr::new(ExprKind::Case { branches, otherwise: None }, key.ty)
            };
            let name = key.as_column().map_or("group".to_owned(), |id| self.columns.get(id).name.clone());
            let nullable = with.len() < groups.sets.len() || self.nullable(key);
            let id = self.columns.add(name, key.ty, nullable);
            keyed.push((id, key.clone(), expr));
        }
        Grouping::of_sets(keyed, (set, column), input)
    }

    /// The aggregation by sets; `keys` are those of `set_keys`.
    pub(crate) fn aggregate_sets(
        &mut self,
        plan: LogicalPlan,
        groups: &Groups,
        set: ColumnId,
        mut keys: Vec<(ColumnId, Expr)>,
        mut aggregates: Aggregates<'a>,
        alone: bool,
    ) -> LogicalPlan {
        let all = groups.sets.iter().any(|s| s.len() == groups.keys.len());
        let merged = aggregates.calls.iter().all(|(_, call)| mergeable(call));
        let (mut plan, mut finished) = (plan, None);
        if alone && all && merged {
            let mut finest = Vec::with_capacity(groups.keys.len());
            for key in &groups.keys {
                let nullable = self.nullable(key);
                let id = self.columns.add("group", key.ty, nullable);
                finest.push((id, key.clone()));
            }
            for (_, expr) in &mut keys {
                replace_keys(expr, &finest);
            }
            let (partial, calls, values) = self.merging(std::mem::take(&mut aggregates.calls));
            aggregates.calls = calls;
            finished = Some(values);
            plan = LogicalPlan::Aggregate { input: Box::new(plan), groups: finest, aggregates: partial };
        }
        let rows = (0..groups.sets.len()).map(|at| vec![Value::I32(at as i32)]).collect();
        let numbers = LogicalPlan::Values { columns: vec![set], rows };
        let plan = joined(plan, numbers, vec![], JoinKind::Inner);
        let shown: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
        let empty: Vec<usize> = (0..groups.sets.len()).filter(|at| groups.sets[*at].is_empty()).collect();
        let plan = if empty.is_empty() {
            LogicalPlan::Aggregate { input: Box::new(plan), groups: keys, aggregates: aggregates.calls }
        } else {
            self.with_empty_sets(plan, keys, aggregates, set, &empty)
        };
        let Some(mut expressions) = finished else { return plan };
        expressions.extend(shown.into_iter().map(|id| (id, self.column(id))));
        LogicalPlan::Project { input: Box::new(plan), expressions }
    }

    /// Calls in two steps: over rows, over the groups these make, and how the values come from the second.
    #[allow(clippy::type_complexity)]
    fn merging(
        &mut self,
        calls: Vec<(ColumnId, AggregateCall)>,
    ) -> (Vec<(ColumnId, AggregateCall)>, Vec<(ColumnId, AggregateCall)>, Vec<(ColumnId, Expr)>) {
        use AggregateFunction as A;
        let (mut partial, mut merged, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (id, call) in calls {
            // `first` over rows, of type `partial_ty`, then `second` over what that made. What several calls have in
            // common is there once.
            let mut steps = |binder: &mut Self, first: A, partial_ty: Type, second: A, ty: Type| {
                let distinct = false;
                let argument = if first == A::CountStar { None } else { call.argument.clone() };
                let filter = call.filter.clone();
                let name = first.name();
                let inner = AggregateCall { function: first, argument, distinct, filter, ty: partial_ty };
                let inner =
                    known_or_added(inner, &mut partial, || binder.columns.add(name, partial_ty, true));
                let argument = Some(binder.column(inner));
                let outer = AggregateCall { function: second, argument, distinct, filter: None, ty };
                let outer = known_or_added(outer, &mut merged, || binder.columns.add(name, ty, true));
                binder.column(outer)
            };
            if let Some(form) = call.function.state_form() {
                let value = steps(self, A::State(form), Type::Bytea, call.function.clone(), call.ty);
                values.push((id, value));
                continue;
            }
            let mut step =
                |binder: &mut Self, first: A, second: A, ty: Type| steps(binder, first, ty, second, ty);
            let value = match &call.function {
                A::Count | A::CountStar => or_zero(step(self, call.function.clone(), A::Sum, Type::BigInt)),
                A::Avg => {
                    let from = call.argument.as_ref().map_or(Type::Null, |a| a.ty);
                    let (sum_type, divisor_type) = match from {
                        Type::Decimal { scale, .. } => (
                            Type::Decimal { precision: 38, scale },
                            Type::Decimal { precision: 19, scale: 0 },
                        ),
                        t if t.is_float() => (Type::Double, Type::Double),
                        // The sum of values of 64 bits may need more.
                        Type::BigInt => (Type::HugeInt, Type::Double),
                        _ => (Type::BigInt, Type::Double),
                    };
                    let sum = step(self, A::Sum, A::Sum, sum_type);
                    let count = step(self, A::Count, A::Sum, Type::BigInt);
                    let zero = Expr::literal(Value::I64(0), Type::BigInt);
                    let some = Expr::compare(Comparison::Greater, count.clone(), zero);
                    let whole = matches!(sum_type, Type::BigInt | Type::HugeInt);
                    let sum = if whole { cast(sum, Type::Double) } else { sum };
                    let kind = ExprKind::Arithmetic {
                        op: Arithmetic::Divide,
                        left: Box::new(sum),
                        right: Box::new(cast(count, divisor_type)),
                        checked: true,
                    };
                    let quotient = Expr::new(kind, call.ty);
                    Expr::new(ExprKind::Case { branches: vec![(some, quotient)], otherwise: None }, call.ty)
                }
                other => step(self, other.clone(), other.clone(), call.ty),
            };
            values.push((id, value));
        }
        (partial, merged, values)
    }

    /// Rows for sets without keys over an input without rows.
    pub(crate) fn with_empty_sets(
        &mut self,
        input: LogicalPlan,
        mut groups: Vec<(ColumnId, Expr)>,
        aggregates: Aggregates<'a>,
        set: ColumnId,
        empty: &[usize],
    ) -> LogicalPlan {
        let mut expressions = Vec::new();
        let mut calls = Vec::with_capacity(aggregates.calls.len());
        for (id, call) in aggregates.calls {
            let counts = call.function.counts();
            if counts {
                let inner = self.columns.add("count", call.ty, true);
                expressions.push((id, or_zero(Expr::column(inner, call.ty))));
                calls.push((inner, call));
            } else {
                expressions.push((id, self.column(id)));
                calls.push((id, call));
            }
        }
        let inner = self.columns.add("grouping set", Type::Integer, true);
        for (id, _) in &mut groups {
            if *id == set {
                *id = inner;
            } else {
                self.columns.get_mut(*id).nullable = true;
                self.without_nulls.remove(id);
                expressions.push((*id, self.columns.expr(*id)));
            }
        }
        let grouped = LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates: calls };
        let lone = self.columns.add("grouping set", Type::Integer, true);
        let rows = empty.iter().map(|at| vec![Value::I32(*at as i32)]).collect();
        let numbers = LogicalPlan::Values { columns: vec![lone], rows };
        let (inner, lone) = (self.column(inner), self.column(lone));
        let same = Expr::compare(Comparison::Equal, inner.clone(), lone.clone());
        let arguments = vec![inner, lone];
        let kind = ExprKind::Function { function: Function::Coalesce, arguments };
        expressions.push((set, Expr::new(kind, Type::Integer)));
        let plan = joined(grouped, numbers, vec![same], JoinKind::Full);
        LogicalPlan::Project { input: Box::new(plan), expressions }
    }
}
