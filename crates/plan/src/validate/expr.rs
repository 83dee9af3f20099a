//! Expressions: inputs that are there, operands that fit each other and the result, as the head of `crate::expr` says.
//!
//! A `Scope` says which columns or positions there are and what subqueries gave. Called for every expression of a
//! plan by `validate`; an expression is gone through without recursion, and refused where it is nested deeper than
//! `DEPTH_MAX`.

use std::rc::Rc;

use types::{Result, Type};

use super::{Computed, agree, ensure, invalid, subquery_type, value};
use crate::logical::ColumnTable;
use crate::{
    AggregateFunction, Arithmetic, ColumnId, Expr, ExprKind, ExternalFunction, Function, OutputColumn,
    Pairing, StateForm,
};

/// Deepest expression: what evaluates it recurses with it, and refuses what is deeper.
pub(super) const DEPTH_MAX: usize = 1000;
/// Longest name of a function.
const NAME_BYTES_MAX: usize = 256;

/// What an expression can refer to.
pub(super) struct Scope<'a> {
    /// The input's columns; `None` in a logical plan.
    inputs: Option<Rc<[Type]>>,
    /// The query's columns, of a logical plan, and which of them the inputs deliver.
    columns: Option<(&'a ColumnTable, &'a dyn Fn(ColumnId) -> bool)>,
    computed: &'a Computed,
}

impl<'a> Scope<'a> {
    /// The columns of the inputs of a physical node, one after the other.
    pub(super) fn physical(inputs: &[&[OutputColumn]], computed: &'a Computed) -> Self {
        let inputs = inputs.iter().flat_map(|columns| columns.iter().map(|c| c.ty)).collect();
        Scope { inputs: Some(inputs), columns: None, computed }
    }

    /// The columns of a logical query that are delivered.
    pub(super) fn logical(
        columns: &'a ColumnTable,
        delivered: &'a dyn Fn(ColumnId) -> bool,
        computed: &'a Computed,
    ) -> Self {
        Scope { inputs: None, columns: Some((columns, delivered)), computed }
    }
}

/// Whether the expression can be evaluated over the scope.
pub(super) fn expression(root: &Expr, scope: &Scope<'_>) -> Result<()> {
    // An expression, its depth, and the columns that a lambda around it has.
    let mut open: Vec<(&Expr, usize, Option<Rc<[Type]>>)> = vec![(root, 1, None)];
    while let Some((expr, depth, lambda)) = open.pop() {
        ensure(depth <= DEPTH_MAX, || format!("an expression is nested deeper than {DEPTH_MAX} levels"))?;
        let inner = match &expr.kind {
            ExprKind::Library { name, arguments } => lambda_columns(expr, name, arguments)?,
            _ => None,
        };
        operation(expr, lambda.as_ref(), scope)?;
        for child in expr.children() {
            match &child.kind {
                ExprKind::Lambda(body) => {
                    let inner = inner.clone().ok_or_else(|| invalid("a lambda that nothing calls"))?;
                    open.push((&**body, depth + 1, Some(inner)));
                }
                _ => open.push((child, depth + 1, lambda.clone())),
            }
        }
        ensure(depth > 1 || !matches!(expr.kind, ExprKind::Lambda(_)), || "a lambda alone".to_owned())?;
    }
    Ok(())
}

/// The columns that the body of a call's lambda sees, if the call has one: it is the last argument.
fn lambda_columns(call: &Expr, name: &str, arguments: &[Expr]) -> Result<Option<Rc<[Type]>>> {
    let is_lambda = |e: &Expr| matches!(e.kind, ExprKind::Lambda(_));
    let Some((last, others)) = arguments.split_last() else { return Ok(None) };
    ensure(!others.iter().any(is_lambda), || "a lambda before other arguments".to_owned())?;
    let ExprKind::Lambda(body) = &last.kind else { return Ok(None) };
    let element = others.first().and_then(|list| list.ty.element());
    let element = element.ok_or_else(|| invalid("a lambda over no list"))?;
    let (mut columns, captured, fits) = match name {
        "list_transform" => {
            (vec![element, Type::BigInt], &others[1..], call.ty.element().is_some_and(|e| agree(e, body.ty)))
        }
        "list_filter" => {
            let fits = agree(call.ty, others[0].ty) && matches!(body.ty, Type::Boolean | Type::Null);
            (vec![element, Type::BigInt], &others[1..], fits)
        }
        "list_reduce" => {
            let first = others.get(1).ok_or_else(|| invalid("list_reduce without a first value"))?;
            let fits = agree(body.ty, call.ty) && (first.ty == Type::Null || agree(first.ty, call.ty));
            // Without a first value it is the first element.
            let fits = fits && (first.ty != Type::Null || agree(element, call.ty));
            (vec![call.ty, element, Type::BigInt], &others[2..], fits)
        }
        _ => return Err(invalid(format!("a lambda in a call of {name}"))),
    };
    ensure(fits, || format!("a lambda that gives {} in {name} of type {}", body.ty, call.ty))?;
    columns.extend(captured.iter().map(|e| e.ty));
    Ok(Some(columns.into()))
}

/// One operation over its operands, which are looked at by themselves.
fn operation(expr: &Expr, lambda: Option<&Rc<[Type]>>, scope: &Scope<'_>) -> Result<()> {
    use ExprKind as K;
    let ty = expr.ty;
    let children: Vec<Type> = expr.children().into_iter().map(|child| child.ty).collect();
    let wrong = |what: &str| {
        let operands: Vec<String> = children.iter().map(|ty| ty.sql_name()).collect();
        invalid(format!("{what} of ({}) as {ty}", operands.join(", ")))
    };
    let check = |holds: bool, what: &str| if holds { Ok(()) } else { Err(wrong(what)) };
    let boolean = |ty: &Type| matches!(ty, Type::Boolean | Type::Null);
    match &expr.kind {
        K::Column(id) => {
            let known = scope.columns.filter(|(columns, _)| (id.0 as usize) < columns.len());
            let (columns, delivered) = known.ok_or_else(|| invalid(format!("no column {}", id.0)))?;
            ensure(delivered(*id), || format!("column {} is not delivered here", id.0))?;
            ensure(agree(columns.get(*id).ty, ty), || format!("column {} is no {ty}", id.0))
        }
        K::Input(at) => {
            let inputs = lambda.or(scope.inputs.as_ref());
            let found = inputs.and_then(|inputs| inputs.get(*at)).copied();
            let found = found.ok_or_else(|| invalid(format!("no input {at}")))?;
            ensure(agree(found, ty), || format!("input {at}, which is {found}, as {ty}"))
        }
        K::Literal(literal) => value::fits(literal, ty),
        K::Compare { .. } | K::NotDistinct { .. } => {
            check(ty == Type::Boolean && comparable(children[0], children[1]), "a comparison")
        }
        K::And(_) | K::Or(_) => {
            let fits = children.len() >= 2 && children.iter().all(boolean);
            check(ty == Type::Boolean && fits, "AND or OR")
        }
        K::Not(_) | K::IsBoolean { .. } => check(ty == Type::Boolean && boolean(&children[0]), "NOT or IS"),
        K::IsNull { .. } => check(ty == Type::Boolean, "IS NULL"),
        K::Arithmetic { op, .. } => check(computes(*op, ty, children[0], children[1]), op.symbol()),
        K::Negate(_) => {
            let fits = ty.is_numeric() || ty.is_interval();
            check(fits && (agree(children[0], ty) || children[0] == Type::Null), "negation")
        }
        // What cannot be cast is an error where it is evaluated.
        K::Cast { .. } => Ok(()),
        K::Case { branches, otherwise } => {
            let values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            let fits = !branches.is_empty()
                && branches.iter().all(|(when, _)| boolean(&when.ty))
                && values.into_iter().all(|value| agree(value.ty, ty) || value.ty == Type::Null);
            check(fits, "CASE")
        }
        K::Like { .. } => {
            check(ty == Type::Boolean && (children[0].is_text() || children[0] == Type::Null), "LIKE")
        }
        K::InList { values, .. } => {
            check(ty == Type::Boolean, "IN")?;
            value::list(values, children[0])
        }
        K::Function { function, .. } => check(takes(*function, ty, &children), function.name()),
        // Its arguments and result are looked at when it is compiled.
        K::Library { name, .. } => {
            ensure(name.len() <= NAME_BYTES_MAX, || "a function with too long a name".to_owned())
        }
        K::Parameter(parameter) => {
            ensure(parameter.number > 0, || "parameters are counted from 1".to_owned())
        }
        K::Lambda(_) => Ok(()),
        K::External { function, .. } => check(calls(function, ty, &children), &function.name),
        K::ScalarSubquery(id) => {
            let known = subquery_type(*id, scope.computed)?;
            ensure(known.is_none_or(|known| agree(known, ty)), || format!("subquery {} is no {ty}", id.0))
        }
    }
}

/// Whether two values can be compared by how they are held.
fn comparable(a: Type, b: Type) -> bool {
    a.same_representation(b) || a == Type::Null || b == Type::Null
}

/// The rules of arithmetic by the types of operands and result. NULL is of every type.
fn computes(op: Arithmetic, ty: Type, a: Type, b: Type) -> bool {
    use Arithmetic as A;
    use Type as T;
    let sum = matches!(op, A::Add | A::Subtract);
    let interval = |t: Type| matches!(t, T::IntervalYearMonth | T::IntervalDayTime);
    let moment = |t: Type| matches!(t, T::Timestamp | T::TimestampTz);
    if a == T::Null || b == T::Null {
        let other = if a == T::Null { b } else { a };
        return other == T::Null
            || (ty.is_numeric() && other.is_numeric() && computes(op, ty, other, other))
            || (!ty.is_numeric() && agree(other, ty));
    }
    // Sums and products commute: what moves is on the right.
    let moves = |t: Type| interval(t) || t.is_numeric();
    let swap = (op == A::Add && moves(a) && !moves(b))
        || (op == A::Add && a == T::Time && (moment(b) || b == T::Date))
        || (op == A::Multiply && a.is_numeric() && !b.is_numeric());
    let (a, b) = if swap { (b, a) } else { (a, b) };
    match ty {
        T::Integer if a == T::Date || b == T::Date => op == A::Subtract && a == b,
        _ if ty.is_integer() => a.is_integer() && b.is_integer(),
        T::Real | T::Double => a.is_numeric() && b.is_numeric(),
        T::Decimal { scale, .. } => {
            let exact = |t: Type| t.is_integer() || t.is_decimal();
            let scales = match op {
                A::Add | A::Subtract | A::Modulo => a.scale() <= scale && b.scale() <= scale,
                A::Multiply => a.scale() + b.scale() == scale,
                A::Divide => true,
            };
            exact(a) && exact(b) && scales
        }
        T::Date => sum && a == T::Date && (b.is_integer() || interval(b)),
        T::Timestamp | T::TimestampTz => {
            sum && (a == ty || a == T::Date) && (interval(b) || (op == A::Add && b == T::Time))
        }
        T::Time => sum && a == T::Time && b == T::IntervalDayTime,
        T::IntervalDayTime if op == A::Subtract && !interval(a) => {
            let same = |t: Type| moment(t) || t == T::Date;
            (same(a) && same(b)) || (a == T::Time && b == T::Time)
        }
        T::IntervalYearMonth | T::IntervalDayTime => {
            a == ty && if sum { b == ty } else { op != A::Modulo && b.is_numeric() }
        }
        _ => false,
    }
}

/// Functions with kernels of their own: how many operands they take, of which types, and what they give.
fn takes(function: Function, ty: Type, operands: &[Type]) -> bool {
    use Function as F;
    let null = |t: Type| t == Type::Null;
    let text = |t: Type| t.is_text() || null(t);
    let whole = |t: Type| t.is_integer() || null(t);
    match (function, operands) {
        (F::ExtractYear | F::ExtractMonth | F::ExtractDay, [from]) => {
            ty == Type::BigInt
                && (null(*from)
                    || matches!(
                        from,
                        Type::Date
                            | Type::Timestamp
                            | Type::TimestampTz
                            | Type::IntervalYearMonth
                            | Type::IntervalDayTime
                            | Type::Interval
                    ))
        }
        (F::Substring, [from, numbers @ ..]) => {
            let bytes = *from == Type::Bytea && ty == Type::Bytea;
            (1..=2).contains(&numbers.len())
                && numbers.iter().all(|t| whole(*t))
                && ((text(*from) && ty.is_text()) || bytes)
        }
        (F::Lower | F::Upper, [from]) => text(*from) && ty.is_text(),
        (F::CharacterLength, [from]) => (text(*from) || *from == Type::Bytea) && ty.is_integer(),
        (F::Concatenate, [_, ..]) => ty.is_text() || ty == Type::Bytea,
        (F::Coalesce, [_, ..]) => operands.iter().all(|t| agree(*t, ty) || null(*t)),
        (F::NullIf, [a, b]) => comparable(*a, *b) && (agree(*a, ty) || null(*a)),
        (F::Absolute, [from]) => (ty.is_numeric() || ty.is_interval()) && (agree(*from, ty) || null(*from)),
        (F::Try, [from]) => agree(*from, ty),
        (F::SamplePlace, [a, b]) => [a, b].into_iter().all(|t| *t == Type::BigInt) && ty == Type::BigInt,
        _ => false,
    }
}

fn calls(function: &ExternalFunction, ty: Type, arguments: &[Type]) -> bool {
    agree(function.returns, ty)
        && function.arguments.len() == arguments.len()
        && function.arguments.iter().zip(arguments).all(|(wanted, given)| agree(*wanted, *given))
}

/// One aggregate: its argument's type, its filter and its result's type.
pub(super) fn aggregate(
    function: &AggregateFunction,
    argument: Option<&Expr>,
    filter: Option<&Expr>,
    ty: Type,
    scope: &Scope<'_>,
) -> Result<()> {
    use AggregateFunction as F;
    if let Some(filter) = filter {
        super::condition(filter, scope)?;
    }
    let Some(argument) = argument else {
        return ensure(*function == F::CountStar && ty == Type::BigInt, || {
            format!("{} of nothing", function.name())
        });
    };
    expression(argument, scope)?;
    let of = argument.ty;
    let null = of == Type::Null;
    let number = of.is_numeric() || null;
    // Decimals may be narrower than their results are.
    let same = agree(of, ty) || (of.is_decimal() && ty.is_decimal() && of.scale() == ty.scale());
    let fits = match function {
        F::CountStar => false,
        F::Count | F::ApproxCountDistinct => ty == Type::BigInt,
        F::Sum => (number && ty.is_numeric()) || (of.is_interval() && of == ty),
        F::Avg => number && ty.is_numeric(),
        F::Min | F::Max | F::AnyValue | F::SingleValue | F::Mode | F::QuantileDisc { .. } => same,
        F::BoolAnd | F::BoolOr => matches!(of, Type::Boolean | Type::Null) && ty == Type::Boolean,
        F::StddevSamp
        | F::StddevPop
        | F::VarSamp
        | F::VarPop
        | F::Skewness
        | F::Kurtosis
        | F::KurtosisPop => {
            // Of numbers, or of the states that other groups left.
            (number || of == Type::Bytea) && ty == Type::Double
        }
        F::Product => number && ty == Type::Double,
        F::State(StateForm::Pairs) => of == Type::Bytea && ty == Type::Bytea,
        F::State(StateForm::Moments | StateForm::HigherMoments) => number && ty == Type::Bytea,
        F::Entropy => ty == Type::Double,
        F::QuantileCont { .. } => same || (number && ty == Type::Double),
        F::StringAgg { ordered: true, .. } => of == Type::Bytea && (ty.is_text() || ty == Type::Bytea),
        F::StringAgg { ordered: false, .. } => {
            (of.is_text() || of == Type::Bytea || null) && (ty.is_text() || ty == Type::Bytea)
        }
        F::Arrival { .. } => same,
        F::Paired(pairing) => {
            let counts = matches!(pairing, Pairing::Corr);
            of == Type::Bytea && (ty == Type::Double || (ty == Type::BigInt && !counts))
        }
        F::BitAnd | F::BitOr | F::BitXor => of.is_integer() && of == ty,
    };
    ensure(fits, || format!("{} of {of} as {ty}", function.name()))
}
