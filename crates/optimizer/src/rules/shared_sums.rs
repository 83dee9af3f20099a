//! Rule `shared_sums`: several sums over one column, moved and scaled by constants, come from its sum and its count.
//!
//! ```text
//!  sum(x + 1), sum(x + 2), sum(3 * x)   ->   s + 1 * n, s + 2 * n, 3 * s       s = sum(x), n = count(x)
//! ```
//! Fires for integers of at most 32 bits, whose sums in 64 bits cannot overflow, where at least two of the sums are
//! computed and no FILTER or DISTINCT sets them apart (sums with equal FILTERs are shared among themselves). Where
//! the types do not prove that `x + 1` fits its own type for every row, the greatest or least x is asked for, too:
//! the result is computed behind a test of that value's own `x + 1`, which fails as the row's would have.

use plan::{
    AggregateCall, AggregateFunction, Arithmetic, ColumnId, ColumnTable, Expr, ExprKind, LogicalPlan,
};
use types::stop::{self, Place};
use types::{Type, Value};

/// Fewer computed sums over one column are left as they are: with guards two more aggregates are needed.
const PROVEN_MIN: usize = 2;
const GUARDED_MIN: usize = 4;

/// `scale * x + offset`, or with `negated` `offset - x`.
#[derive(Clone, Copy)]
enum Form {
    Moved(i64),
    Taken(i64),
    Scaled(i64),
}

/// One of an aggregation's calls that can come from the sum of `base`.
struct Part {
    call: usize,
    base: Expr,
    form: Form,
    guards: Guards,
}

/// Which ends of the column have to be tested.
#[derive(Clone, Copy, Default)]
struct Guards {
    least: bool,
    greatest: bool,
}

/// Applies the rule to the whole plan; columns that it makes are added to the query's.
pub(crate) fn apply(mut plan: LogicalPlan, columns: &mut ColumnTable) -> LogicalPlan {
    stop::unwind_if_stopped(Place::Rewrite);
    for child in plan.children_mut() {
        let taken = std::mem::replace(child, LogicalPlan::placeholder());
        *child = apply(taken, columns);
    }
    match plan {
        LogicalPlan::Aggregate { input, groups, aggregates } => {
            aggregation(*input, groups, aggregates, columns)
        }
        other => other,
    }
}

fn aggregation(
    input: LogicalPlan,
    groups: Vec<(ColumnId, Expr)>,
    mut aggregates: Vec<(ColumnId, AggregateCall)>,
    columns: &mut ColumnTable,
) -> LogicalPlan {
    let mut parts: Vec<Part> = aggregates.iter().enumerate().filter_map(|(at, (_, c))| part(at, c)).collect();
    let mut computed: Vec<(ColumnId, Expr)> = vec![];
    let mut replaced: Vec<usize> = vec![];
    while let Some(first) = parts.pop() {
        let filter = aggregates[first.call].1.filter.clone();
        let alike = |p: &Part| p.base == first.base && aggregates[p.call].1.filter == filter;
        let mut shared: Vec<Part> = parts.extract_if(.., |p| alike(p)).collect();
        shared.push(first);
        let guarded = shared.iter().any(|p| p.guards.least || p.guards.greatest);
        if shared.len() < if guarded { GUARDED_MIN } else { PROVEN_MIN } {
            continue;
        }
        let whole = Whole::add(&shared, filter, &mut aggregates, columns);
        for part in shared {
            let (id, call) = &aggregates[part.call];
            computed.push((*id, whole.result(&part, call)));
            replaced.push(part.call);
        }
    }
    if computed.is_empty() {
        return LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates };
    }
    let mut at = 0;
    aggregates.retain(|_| {
        at += 1;
        !replaced.contains(&(at - 1))
    });
    let aggregate = LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates };
    LogicalPlan::Project { input: Box::new(aggregate), expressions: computed }
}

/// What the sums of one column come from.
struct Whole {
    sum: Expr,
    count: Expr,
    least: Option<Expr>,
    greatest: Option<Expr>,
}

impl Whole {
    fn add(
        shared: &[Part],
        filter: Option<Expr>,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
        columns: &mut ColumnTable,
    ) -> Whole {
        let base = &shared[0].base;
        let mut add = |name: &str, function: AggregateFunction, ty: Type| {
            let call = AggregateCall {
                function,
                argument: Some(base.clone()),
                distinct: false,
                filter: filter.clone(),
                ty,
            };
            let nullable = call.function != AggregateFunction::Count;
            let known = aggregates.iter().find(|(_, known)| *known == call).map(|(id, _)| *id);
            let id = known.unwrap_or_else(|| {
                let id = columns.add(name, ty, nullable);
                aggregates.push((id, call));
                id
            });
            Expr::column(id, ty)
        };
        let sum = add("shared sum", AggregateFunction::Sum, Type::BigInt);
        let count = add("shared count", AggregateFunction::Count, Type::BigInt);
        let least =
            shared.iter().any(|p| p.guards.least).then(|| add("least", AggregateFunction::Min, base.ty));
        let greatest = shared
            .iter()
            .any(|p| p.guards.greatest)
            .then(|| add("greatest", AggregateFunction::Max, base.ty));
        Whole { sum, count, least, greatest }
    }
    fn result(&self, part: &Part, call: &AggregateCall) -> Expr {
        let of = |op, left: &Expr, right: Expr| {
            let kind = ExprKind::Arithmetic {
                op,
                left: Box::new(left.clone()),
                right: Box::new(right),
                checked: true,
            };
            Expr::new(kind, Type::BigInt)
        };
        let number = |value: i64| Expr::literal(Value::I64(value), Type::BigInt);
        let value = match part.form {
            Form::Moved(0) => self.sum.clone(),
            Form::Moved(by) => {
                of(Arithmetic::Add, &self.sum, of(Arithmetic::Multiply, &self.count, number(by)))
            }
            Form::Taken(from) => of(
                Arithmetic::Subtract,
                &of(Arithmetic::Multiply, &self.count, number(from)),
                self.sum.clone(),
            ),
            Form::Scaled(by) => of(Arithmetic::Multiply, &self.sum, number(by)),
        };
        let tested = |wanted: bool, end: &Option<Expr>| {
            let end = end.as_ref().filter(|_| wanted)?;
            let argument = call.argument.clone()?;
            let own = argument.transform(&mut |e| if e == part.base { end.clone() } else { e });
            Some(Expr::new(ExprKind::IsNull { input: Box::new(own), negated: false }, Type::Boolean))
        };
        let tests: Vec<Expr> =
            [tested(part.guards.least, &self.least), tested(part.guards.greatest, &self.greatest)]
                .into_iter()
                .flatten()
                .collect();
        // Without rows the ends are NULL, and so is the sum.
        tests.into_iter().fold(value, |value, test| {
            let nothing = Expr::literal(Value::Null, Type::BigInt);
            let kind = ExprKind::Case { branches: vec![(test, nothing)], otherwise: Some(Box::new(value)) };
            Expr::new(kind, Type::BigInt)
        })
    }
}

/// The call as a form of a narrower sum; plain sums of a column are not, but find it by `Whole::add`.
fn part(at: usize, call: &AggregateCall) -> Option<Part> {
    if call.function != AggregateFunction::Sum || call.distinct || call.ty != Type::BigInt {
        return None;
    }
    let argument = call.argument.as_ref()?;
    let ExprKind::Arithmetic { op, left, right, .. } = &argument.kind else { return None };
    let (base, constant, swapped) = match (whole(left), whole(right)) {
        (None, Some(constant)) => (left, constant, false),
        (Some(constant), None) => (right, constant, true),
        _ => return None,
    };
    let form = match op {
        Arithmetic::Add => Form::Moved(constant),
        Arithmetic::Subtract if swapped => Form::Taken(constant),
        Arithmetic::Subtract => Form::Moved(constant.checked_neg()?),
        Arithmetic::Multiply => Form::Scaled(constant),
        Arithmetic::Divide | Arithmetic::Modulo => return None,
    };
    let base = uncast(base);
    let (least, greatest) = bounds(base.ty).filter(|_| base.ty.physical() != Type::BigInt.physical())?;
    if base.is_volatile() || constant.unsigned_abs() > 1 << 31 {
        return None;
    }
    let at_end = |end: i64| match form {
        Form::Moved(by) => end + by,
        Form::Taken(from) => from - end,
        Form::Scaled(by) => end * by,
    };
    let (low, high) = bounds(argument.ty)?;
    let fits = |end: i64| (low..=high).contains(&at_end(end));
    let guards = Guards { least: !fits(least), greatest: !fits(greatest) };
    Some(Part { call: at, base: base.clone(), form, guards })
}

/// An integer constant.
fn whole(expr: &Expr) -> Option<i64> {
    match expr.as_literal()? {
        Value::I16(v) => Some((*v).into()),
        Value::I32(v) => Some((*v).into()),
        Value::I64(v) => Some(*v),
        _ => None,
    }
}

/// What is cast from one integer type to a wider one.
fn uncast(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { input, .. } => match (bounds(input.ty), bounds(expr.ty)) {
            (Some((a, b)), Some((low, high))) if low <= a && b <= high => uncast(input),
            _ => expr,
        },
        _ => expr,
    }
}

/// The least and greatest value of an integer type of at most 64 bits that sums to a BIGINT.
fn bounds(ty: Type) -> Option<(i64, i64)> {
    match ty {
        Type::TinyInt => Some((i8::MIN.into(), i8::MAX.into())),
        Type::UTinyInt => Some((0, u8::MAX.into())),
        Type::USmallInt => Some((0, u16::MAX.into())),
        Type::SmallInt => Some((i16::MIN.into(), i16::MAX.into())),
        Type::Integer => Some((i32::MIN.into(), i32::MAX.into())),
        Type::BigInt => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}
