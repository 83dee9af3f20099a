//! Operators: which operand types they take, what they give, and the casts in between.
//! `docs/decisions/types.md` has the same as a table, compared with PostgreSQL.
//!
//! Called by `chain` for each operator of a chain, by functions that are operators under a name, and by `predicate`.
//! A literal without a type takes the other side's. An operator that does not exist is SQLSTATE 42883 with both
//! types.

use plan::{Arithmetic, Expr, ExprKind, Function};
use syntax::Span;
use types::datetime::MICROS_PER_DAY;
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Comparison, Error, Result, SqlState, Type, Value, decimal};

use crate::bind::expression::coerce::{
    Bound, as_decimal, cast, common_type, digits_needed, in_microseconds, labels_as_text, read_literal,
};
use crate::bind::expression::{collation_keys, fold, intervals, wide, zones};
use crate::place;

/// Digits after the point of a decimal quotient, as PostgreSQL gives quotients between 1 and 10,000.
const QUOTIENT_SCALE_MIN: u8 = 16;

fn undefined(operator: &str, left: Type, right: Type, text: &str, span: Span) -> Error {
    let moment = |ty: Type| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
    let hint = match operator {
        // `day > 2024-01-31` is a comparison with 1992.
        "=" | "<>" | "<" | "<=" | ">" | ">="
            if (moment(left) && right.is_integer()) || (left.is_integer() && moment(right)) =>
        {
            "a date stands in quotes: DATE '2024-01-31'"
        }
        "+" if left.is_text() && right.is_text() => "texts are joined by ||",
        "=" | "<>" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/"
            if (left.is_text() && right.is_numeric()) || (left.is_numeric() && right.is_text()) =>
        {
            "a text is made a number by a cast, or by try_cast, which gives NULL where it is none"
        }
        _ => "no operator takes these types; an explicit cast may help",
    };
    place::at(
        Error::new(
            SqlState::UndefinedFunction,
            format!("operator does not exist: {left} {operator} {right}"),
        )
        .with_hint(hint),
        text,
        span,
    )
}

/// Untyped literals take the other side's type; two of them are TEXT.
fn settle(left: Bound, right: Bound, text: &str) -> Result<(Expr, Expr)> {
    match (left.untyped, right.untyped) {
        (true, false) if !right.is_null() => Ok((read_literal(&left, right.ty(), text)?, right.expr)),
        (false, true) if !left.is_null() => {
            let read = read_literal(&right, left.ty(), text)?;
            Ok((left.expr, read))
        }
        _ => Ok((left.expr, right.expr)),
    }
}

/// A comparison of two values in their common type; an error if there is none.
pub(crate) fn comparison(op: Comparison, left: Bound, right: Bound, text: &str) -> Result<Expr> {
    let span = left.span.to(right.span);
    let (left, right) = settle(left, right, text)?;
    let (left, right) = intervals::bared(left, right);
    let (op, left, right) = aligned(op, left, right, text, span)?;
    if !matches!(op, Comparison::Equal | Comparison::NotEqual) {
        return Ok(fold::fold(Expr::compare(op, in_order(left), in_order(right))));
    }
    Ok(fold::fold(Expr::compare(op, left, right)))
}

/// A value by whose bytes it is ordered: a JSONB has its order apart from its text.
pub(crate) fn in_order(expr: Expr) -> Expr {
    match expr.ty {
        Type::Jsonb => {
            let kind = ExprKind::Library { name: "jsonb_order".into(), arguments: vec![expr] };
            fold::fold(Expr::new(kind, Type::Bytea))
        }
        _ => expr,
    }
}

/// `24 > n` as `n < 24`, which is the form that later stages look for.
pub(crate) fn literal_right(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Compare { op, left, right }
            if left.as_literal().is_some() && right.as_literal().is_none() =>
        {
            Expr::compare(op.flipped(), *right, *left)
        }
        kind => Expr { kind, ..expr },
    }
}

/// IS [NOT] DISTINCT FROM.
pub(crate) fn not_distinct(left: Bound, right: Bound, negated: bool, text: &str) -> Result<Expr> {
    let span = left.span.to(right.span);
    let (left, right) = settle(left, right, text)?;
    let (left, right) = intervals::bared(left, right);
    let (_, left, right) = aligned(Comparison::Equal, left, right, text, span)?;
    let kind = ExprKind::NotDistinct { left: Box::new(left), right: Box::new(right), negated };
    Ok(fold::fold(Expr::new(kind, Type::Boolean)))
}

/// Both sides in one representation; the operator may change with a rounded literal.
fn aligned(
    op: Comparison,
    left: Expr,
    right: Expr,
    text: &str,
    span: Span,
) -> Result<(Comparison, Expr, Expr)> {
    let (left, right) = wide::with_literals(left, right);
    let (lt, rt) = (left.ty, right.ty);
    collation_keys::check_meeting(lt, rt, text, span)?;
    if lt.same_representation(rt) {
        return Ok((op, trimmed(left, rt), trimmed(right, lt)));
    }
    if lt == Type::Null || rt == Type::Null {
        let common = if lt == Type::Null { rt } else { lt };
        return Ok((op, cast(left, common), cast(right, common)));
    }
    let Some(common) = common_type(lt, rt) else {
        return Err(undefined(op.symbol(), lt, rt, text, span));
    };
    // A literal goes to the other side's type where it has an exact place there.
    if left.as_literal().is_some() && right.as_literal().is_none() {
        if let Some((op, literal)) = fitted(op.flipped(), rt, &left) {
            return Ok((op.flipped(), literal, right));
        }
    } else if right.as_literal().is_some()
        && left.as_literal().is_none()
        && let Some((op, literal)) = fitted(op, lt, &right)
    {
        return Ok((op, left, literal));
    }
    let common = match (digits_needed(&left), digits_needed(&right)) {
        (Some(l), Some(r)) if common.is_decimal() => {
            let scale = l.1.max(r.1);
            let whole = (l.0 - l.1).max(r.0 - r.1);
            Type::Decimal { precision: (whole + scale).clamp(1, DECIMAL_PRECISION_MAX), scale }
        }
        _ => common,
    };
    Ok((op, cast(left, common), cast(right, common)))
}

/// A literal that is compared with a CHAR loses its trailing blanks.
fn trimmed(expr: Expr, other: Type) -> Expr {
    if let (Type::Char(_), Some(t)) = (other, expr.as_literal().and_then(Value::as_text))
        && t.ends_with(' ')
    {
        return Expr::literal(Value::text(t.trim_end_matches(' ')), expr.ty);
    }
    expr
}

/// `value op literal` with the literal in the value's own type, if that says exactly the same.
fn fitted(op: Comparison, ty: Type, literal: &Expr) -> Option<(Comparison, Expr)> {
    match ty {
        // Which instant a day begins at is the zone's to say.
        Type::Date if literal.ty == Type::TimestampTz && zones::session().is_some() => None,
        Type::Date if matches!(literal.ty, Type::Timestamp | Type::TimestampTz) => {
            let micros = literal.as_literal()?.as_i64()?;
            if types::datetime::is_infinite(micros) {
                return Some((op, Expr::literal(Value::I32(types::datetime::day_of(micros)), Type::Date)));
            }
            let day = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
            let op = rounded_down(op, micros.rem_euclid(MICROS_PER_DAY) == 0)?;
            Some((op, Expr::literal(Value::I32(day), Type::Date)))
        }
        Type::IntervalDayTime | Type::IntervalYearMonth => {
            let (literal, exact) = intervals::fitted(ty, literal)?;
            Some((rounded_down(op, exact)?, literal))
        }
        _ if ty.is_float() || literal.ty.is_float() => None,
        _ => {
            let (_, scale) = as_decimal(ty)?;
            let from = as_decimal(literal.ty)?.1;
            let value = literal.as_literal()?.as_i128()?;
            let (value, exact) = if from <= scale {
                (value.checked_mul(decimal::power_of_ten(scale - from))?, true)
            } else {
                let unit = decimal::power_of_ten(from - scale);
                (value.div_euclid(unit), value.rem_euclid(unit) == 0)
            };
            let op = rounded_down(op, exact)?;
            let fits = match ty {
                Type::Decimal { precision, .. } => decimal::fits(value, precision),
                _ => {
                    let (low, high) = ty.held_range()?;
                    (low..=high).contains(&value)
                }
            };
            if !fits {
                return None;
            }
            Some((op, Expr::literal(Value::from_i128(value, ty.physical())?, ty)))
        }
    }
}

/// The comparison with the literal rounded down to the value's grid; equality has none.
fn rounded_down(op: Comparison, exact: bool) -> Option<Comparison> {
    if exact {
        return Some(op);
    }
    match op {
        Comparison::Less | Comparison::LessOrEqual => Some(Comparison::LessOrEqual),
        Comparison::Greater | Comparison::GreaterOrEqual => Some(Comparison::Greater),
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

fn node(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    let kind = ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true };
    fold::fold(Expr::new(kind, ty))
}

/// Arithmetic on numbers, dates, times and intervals; an error for other types.
pub(crate) fn arithmetic(op: Arithmetic, left: Bound, right: Bound, text: &str) -> Result<Expr> {
    let span = left.span.to(right.span);
    let (left, right) = (in_microseconds(left), in_microseconds(right));
    let (left, right) = settle_arithmetic(op, left, right, text)?;
    let (lt, rt) = (left.ty, right.ty);
    if lt == Type::Null && rt == Type::Null {
        return Ok(Expr::literal(Value::Null, Type::Integer));
    }
    if lt == Type::Null || rt == Type::Null {
        return null_operand(op, left, right, text, span);
    }
    if let Some(whole) = wide::arithmetic(op, &left, &right) {
        return Ok(whole);
    }
    let (left, right) = match wide::common(lt, rt) {
        Some(common) => (cast(left, common), cast(right, common)),
        None => (left, right),
    };
    if left.ty.is_numeric() && right.ty.is_numeric() {
        return numeric(op, left, right).map_err(|e| place::at(e, text, span));
    }
    datetime(op, left, right).ok_or_else(|| undefined(op.symbol(), lt, rt, text, span))
}

/// As `settle`; next to a date or time, an untyped literal gets the type that the operator most plainly takes there.
fn settle_arithmetic(op: Arithmetic, left: Bound, right: Bound, text: &str) -> Result<(Expr, Expr)> {
    let is_point =
        |t: Type| matches!(t, Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time | Type::TimeTz);
    let interval = |literal: &Bound| read_literal(literal, Type::Interval, text);
    match (left.untyped, right.untyped) {
        (false, true) if is_point(left.ty()) && op == Arithmetic::Add => {
            let read = interval(&right)?;
            Ok((left.expr, read))
        }
        (true, false) if is_point(right.ty()) && op == Arithmetic::Add => Ok((interval(&left)?, right.expr)),
        // Arithmetic on two quoted literals has no type to take; numbers are the only sensible reading.
        (true, true) => Err(undefined(op.symbol(), Type::Text, Type::Text, text, left.span)),
        _ => settle(left, right, text),
    }
}

/// The result is NULL of the type that the other operand leads to.
fn null_operand(op: Arithmetic, left: Expr, right: Expr, text: &str, span: Span) -> Result<Expr> {
    let other = if left.ty == Type::Null { right.ty } else { left.ty };
    let ty = match other {
        t if t.is_numeric() || t.is_wide_integer() || t.is_interval() => t,
        Type::Date if op == Arithmetic::Subtract => Type::Integer,
        Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time | Type::TimeTz => other,
        _ => return Err(undefined(op.symbol(), left.ty, right.ty, text, span)),
    };
    // The other operand is kept out: NULL decides, and an error in it would be lost in PostgreSQL as well.
    Ok(Expr::literal(Value::Null, ty))
}

fn numeric(op: Arithmetic, left: Expr, right: Expr) -> Result<Expr> {
    let (lt, rt) = (left.ty, right.ty);
    if lt.is_float() || rt.is_float() {
        let ty = if lt == Type::Real && rt == Type::Real { Type::Real } else { Type::Double };
        if op == Arithmetic::Modulo {
            // PostgreSQL has none; the sign is the dividend's, as for exact numbers.
            let name = plan::functions::FLOAT_REMAINDER.into();
            let arguments = vec![cast(left, Type::Double), cast(right, Type::Double)];
            return Ok(cast(Expr::new(ExprKind::Library { name, arguments }, Type::Double), ty));
        }
        return Ok(node(op, cast(left, ty), cast(right, ty), ty));
    }
    if lt.is_integer() && rt.is_integer() {
        let ty = lt.common_integer(rt).unwrap_or(Type::HugeInt);
        return Ok(node(op, cast(left, ty), cast(right, ty), ty));
    }
    let (Some((p1, s1)), Some((p2, s2))) = (digits_needed(&left), digits_needed(&right)) else {
        return Err(Error::internal("exact number without digits"));
    };
    let cap = |p: u8| p.clamp(1, DECIMAL_PRECISION_MAX);
    match op {
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Modulo => {
            let scale = s1.max(s2);
            let whole = (p1 - s1).max(p2 - s2);
            let carry = u8::from(op != Arithmetic::Modulo);
            let ty = Type::Decimal { precision: cap(whole + scale + carry), scale };
            if op == Arithmetic::Modulo && whole + scale > DECIMAL_PRECISION_MAX {
                // An operand at the common scale may have more digits than there are; the remainder has not.
                let name = plan::functions::EXACT_REMAINDER.into();
                return Ok(Expr::new(ExprKind::Library { name, arguments: vec![left, right] }, ty));
            }
            Ok(node(op, at_scale(left, (p1, s1), scale), at_scale(right, (p2, s2), scale), ty))
        }
        Arithmetic::Multiply => {
            let scale = s1 + s2;
            if scale > DECIMAL_PRECISION_MAX {
                return Err(Error::unsupported(format!(
                    "the product of {lt} and {rt} would need {scale} digits after the point"
                ))
                .with_hint("cast an operand to a smaller scale"));
            }
            let ty = Type::Decimal { precision: cap(p1 + p2), scale };
            Ok(node(op, at_scale(left, (p1, s1), s1), at_scale(right, (p2, s2), s2), ty))
        }
        Arithmetic::Divide => {
            let scale = s1.max(s2).max(QUOTIENT_SCALE_MIN);
            let ty = Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale };
            Ok(node(op, at_scale(left, (p1, s1), s1), at_scale(right, (p2, s2), s2), ty))
        }
    }
}

/// An exact number as a DECIMAL of the given scale.
fn at_scale(expr: Expr, (precision, scale): (u8, u8), to: u8) -> Expr {
    let ty = Type::Decimal { precision: (precision - scale + to).clamp(1, DECIMAL_PRECISION_MAX), scale: to };
    if expr.ty.is_decimal() && expr.ty.scale() == to && expr.as_literal().is_none() {
        return expr;
    }
    cast(expr, ty)
}

fn datetime(op: Arithmetic, left: Expr, right: Expr) -> Option<Expr> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Type as T;
    let moment = |ty: T| matches!(ty, T::Date | T::Timestamp | T::TimestampTz);
    let (left, right) = match (moment(left.ty), moment(right.ty)) {
        (true, false) => (left, intervals::bare(right)),
        (false, true) => (intervals::bare(left), right),
        _ => (left, right),
    };
    let (lt, rt) = (left.ty, right.ty);
    if let Some(expr) = intervals::arithmetic(op, &left, &right, &node) {
        return Some(expr);
    }
    let zoned = match (lt, rt) {
        (T::TimestampTz, i) if i.is_interval() && matches!(op, Add | Subtract) => {
            zones::moved(op, &left, &right)
        }
        (i, T::TimestampTz) if i.is_interval() && op == Add => zones::moved(op, &right, &left),
        _ => None,
    };
    if zoned.is_some() {
        return zoned;
    }
    Some(match (op, lt, rt) {
        (Add, T::Date, i) if i.is_integer() => node(op, left, narrow(right), T::Date),
        (Add, i, T::Date) if i.is_integer() => node(op, right, narrow(left), T::Date),
        (Subtract, T::Date, i) if i.is_integer() => node(op, left, narrow(right), T::Date),
        (Subtract, T::Date, T::Date) => node(op, left, right, T::Integer),
        (Add | Subtract, T::Date, i) if i.is_interval() => {
            node(op, cast(left, T::Timestamp), right, T::Timestamp)
        }
        (Add, i, T::Date) if i.is_interval() => node(op, cast(right, T::Timestamp), left, T::Timestamp),
        (Add | Subtract, T::Timestamp | T::TimestampTz, i) if i.is_interval() => node(op, left, right, lt),
        (Add, i, T::Timestamp | T::TimestampTz) if i.is_interval() => node(op, right, left, rt),
        (Subtract, T::Timestamp | T::TimestampTz | T::Date, T::Timestamp | T::TimestampTz | T::Date) => {
            let common = common_type(lt, rt)?;
            cast(node(op, cast(left, common), cast(right, common), T::IntervalDayTime), T::Interval)
        }
        (Add | Subtract, T::Time, T::IntervalDayTime) => node(op, left, right, T::Time),
        (Add, T::IntervalDayTime, T::Time) => node(op, right, left, T::Time),
        (Subtract, T::Time, T::Time) => cast(node(op, left, right, T::IntervalDayTime), T::Interval),
        (Add, T::Date, T::Time) => {
            node(op, cast(left, T::Timestamp), cast(right, T::IntervalDayTime), T::Timestamp)
        }
        (Add, T::Time, T::Date) => {
            node(op, cast(right, T::Timestamp), cast(left, T::IntervalDayTime), T::Timestamp)
        }
        (Add | Subtract, a, b) if a.is_interval() && a == b => node(op, left, right, lt),
        (Multiply | Divide, i, n) if i.is_interval() && n.is_numeric() => {
            node(op, left, cast(right, T::Double), lt)
        }
        (Multiply, n, i) if i.is_interval() && n.is_numeric() => node(op, right, cast(left, T::Double), rt),
        _ => return None,
    })
}

/// Days to add to a date; only INTEGER has an operator, a BIGINT literal that fits is as good.
fn narrow(days: Expr) -> Expr {
    cast(days, Type::Integer)
}

/// Unary minus on a number or an interval.
pub(crate) fn negate(operand: Bound, text: &str) -> Result<Expr> {
    let ty = operand.ty();
    if ty.is_wide_integer() {
        return Ok(wide::negated(operand.expr));
    }
    if operand.untyped || !(ty.is_numeric() || ty.is_interval() || ty == Type::Null) {
        return Err(place::at(
            Error::new(SqlState::UndefinedFunction, format!("operator does not exist: - {ty}")),
            text,
            operand.span,
        ));
    }
    if ty == Type::Null {
        return Ok(Expr::literal(Value::Null, Type::Integer));
    }
    // -2147483648 and -9223372036854775808 are literals of their own types.
    let least = match ty {
        Type::BigInt => -i128::from(i32::MIN),
        _ => -i128::from(i64::MIN),
    };
    if let Some(value) = operand.expr.as_literal().and_then(Value::as_i128)
        && matches!(ty, Type::BigInt | Type::Decimal { scale: 0, .. })
        && value == least
        && let Ok(value) = i64::try_from(-value)
    {
        return Ok(crate::bind::expression::literal::integer(value));
    }
    Ok(fold::fold(Expr::new(ExprKind::Negate(Box::new(operand.expr)), ty)))
}

/// `a || b`: text with anything, or BYTEA with BYTEA. Nested uses become one call.
pub(crate) fn concatenate(left: Bound, right: Bound, text: &str) -> Result<Expr> {
    if let Some(lists) = concatenate_lists(&left, &right, text)? {
        return Ok(lists);
    }
    if let Some(bits) = crate::bind::function::bits::joined(&left, &right, text)? {
        return Ok(bits);
    }
    let (left, right) = (labels_as_text(left), labels_as_text(right));
    let (lt, rt) = (left.ty(), right.ty());
    let binary = (lt == Type::Bytea || rt == Type::Bytea)
        && [&left, &right].iter().all(|o| o.ty() == Type::Bytea || o.untyped || o.is_null());
    let some_text = left.untyped || right.untyped || lt.is_text() || rt.is_text();
    let nothing = lt == Type::Null && rt == Type::Null;
    if !binary && !some_text && !nothing {
        return Err(undefined("||", lt, rt, text, left.span.to(right.span)));
    }
    let ty = if binary { Type::Bytea } else { Type::Text };
    let mut arguments = Vec::new();
    for operand in [left, right] {
        let expr = if binary && operand.untyped {
            read_literal(&operand, Type::Bytea, text)?
        } else {
            operand.settled()
        };
        match expr.kind {
            ExprKind::Function { function: Function::Concatenate, arguments: inner } if expr.ty == ty => {
                arguments.extend(inner);
            }
            _ => arguments.push(cast(expr, ty)),
        }
    }
    Ok(fold::fold(Expr::new(ExprKind::Function { function: Function::Concatenate, arguments }, ty)))
}

/// `list || list`, `list || element` and `element || list`; `None` when neither is a list.
fn concatenate_lists(left: &Bound, right: &Bound, text: &str) -> Result<Option<Expr>> {
    let (lt, rt) = (left.ty(), right.ty());
    if lt.element().is_none() && rt.element().is_none() {
        return Ok(None);
    }
    let span = left.span.to(right.span);
    let refused = || undefined("||", lt, rt, text, span);
    if lt == Type::Null || rt == Type::Null {
        return Ok(Some(Expr::literal(Value::Null, if lt == Type::Null { rt } else { lt })));
    }
    let call = |name: &str, arguments: Vec<Expr>, ty: Type| {
        Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
    };
    // A quoted literal next to a list is a list.
    let read = |bound: &Bound, ty: Type| match bound.untyped {
        true => read_literal(bound, ty, text).map(|e| (cast(e, ty), ty)),
        false => Ok((bound.expr.clone(), bound.ty())),
    };
    let ((left_expr, lt), (right_expr, rt)) = (read(left, rt)?, read(right, lt)?);
    if let Some(common) = common_type(lt, rt) {
        return Ok(Some(call(
            "list_concat",
            vec![cast(left_expr, common), cast(right_expr, common)],
            common,
        )));
    }
    let (list, value) =
        if lt.element().is_some_and(|e| common_type(e, rt).is_some()) { (lt, rt) } else { (rt, lt) };
    let element = list.element().and_then(|e| common_type(e, value)).ok_or_else(refused)?;
    let ty = Type::list(element)?;
    Ok(Some(match list == lt {
        true => call("list_append", vec![cast(left_expr, ty), cast(right_expr, element)], ty),
        false => call("list_prepend", vec![cast(left_expr, element), cast(right_expr, ty)], ty),
    }))
}

/// A condition: BOOLEAN, an untyped literal that reads as one, or NULL.
pub(crate) fn condition(operand: Bound, what: &str, text: &str) -> Result<Expr> {
    if operand.untyped {
        return read_literal(&operand, Type::Boolean, text);
    }
    match operand.ty() {
        Type::Boolean => Ok(operand.expr),
        Type::Null => Ok(Expr::literal(Value::Null, Type::Boolean)),
        other => Err(place::at(
            Error::new(
                SqlState::DatatypeMismatch,
                format!("argument of {what} must be type BOOLEAN, not type {other}"),
            ),
            text,
            operand.span,
        )),
    }
}
