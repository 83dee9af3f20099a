//! Constants are computed while binding: one node at a time, when all its operands are literals. What fails (an
//! overflow, a division by zero) is left as it is, to fail when and if it is evaluated.
//!
//! Called for each node when it is made, so that an expression is folded from its leaves without a walk. Volatile
//! functions are never folded; `and` and `or` drop constants by three-valued logic.

use plan::{Arithmetic, Expr, ExprKind, Function};
use types::datetime::{self, MICROS_PER_DAY};
use types::nested::equality::{Equality, has_own_equality};
use types::{Type, Value, cast, decimal};

use crate::bind::expression::{collation_keys, intervals};

/// The node's value as a literal, or the node unchanged.
pub(crate) fn fold(expr: Expr) -> Expr {
    match value_of(&expr) {
        Some(value) => Expr::literal(value, expr.ty),
        None => expr,
    }
}

fn value_of(expr: &Expr) -> Option<Value> {
    use ExprKind as K;
    match &expr.kind {
        K::Compare { op, left, right } => {
            let (l, r) = (left.as_literal()?, right.as_literal()?);
            if l.is_null() || r.is_null() {
                return Some(Value::Null);
            }
            if !collation_keys::is_of_bytes(left.ty, right.ty) {
                return None;
            }
            if let (Some(l), Some(r)) = (intervals::constant(left), intervals::constant(right)) {
                return Some(Value::Bool(op.holds(l.key().cmp(&r.key()))));
            }
            let equality = Equality::of(left.ty);
            let order = || equality.value(l.clone()).total_cmp(&equality.value(r.clone()));
            left.ty.same_representation(right.ty).then(|| Value::Bool(op.holds(order())))
        }
        K::NotDistinct { left, right, .. } if !collation_keys::is_of_bytes(left.ty, right.ty) => None,
        K::NotDistinct { left, right, negated } => {
            let same = match (intervals::constant(left), intervals::constant(right)) {
                (Some(l), Some(r)) => l.key() == r.key(),
                _ => {
                    let equality = Equality::of(left.ty);
                    let value = |of: &Expr| Some(equality.value(of.as_literal()?.clone()));
                    value(left)? == value(right)?
                }
            };
            left.ty.same_representation(right.ty).then_some(Value::Bool(same != *negated))
        }
        K::Not(input) => Some(match input.as_literal()? {
            Value::Bool(b) => Value::Bool(!b),
            _ => Value::Null,
        }),
        K::IsNull { input, negated } => Some(Value::Bool(input.as_literal()?.is_null() != *negated)),
        K::IsBoolean { input, value, negated } => {
            Some(Value::Bool((input.as_literal()?.as_bool() == Some(*value)) != *negated))
        }
        K::Negate(input) => negated(input.as_literal()?, expr.ty),
        K::Cast { input, .. } => cast::cast_value(input.as_literal()?, input.ty, expr.ty).ok(),
        K::Arithmetic { op, left, right, .. } => {
            let (l, r) = (left.as_literal()?, right.as_literal()?);
            if l.is_null() || r.is_null() {
                return Some(Value::Null);
            }
            arithmetic(*op, (l, left.ty), (r, right.ty), expr.ty)
        }
        K::Function { function: Function::Concatenate, arguments } => {
            let mut text = Vec::new();
            for argument in arguments {
                match argument.as_literal()? {
                    Value::Null => return Some(Value::Null),
                    value => text.extend_from_slice(value.as_bytes()?),
                }
            }
            Some(Value::Bytes(text.into()))
        }
        K::Library { name, arguments } => intervals::folded(name, arguments),
        K::InList { input, values, has_null, negated }
            if !has_own_equality(input.ty) && !collation_keys::is_keyed(input.ty) =>
        {
            let value = input.as_literal()?;
            if value.is_null() {
                return Some(Value::Null);
            }
            match values.binary_search(value) {
                Ok(_) => Some(Value::Bool(!negated)),
                Err(_) if *has_null => Some(Value::Null),
                Err(_) => Some(Value::Bool(*negated)),
            }
        }
        K::Like { input, pattern, negated, case_insensitive: false } => match input.as_literal()? {
            Value::Null => Some(Value::Null),
            value => Some(Value::Bool(pattern.matches(value.as_bytes()?) != *negated)),
        },
        _ => None,
    }
}

fn negated(value: &Value, ty: Type) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        Value::F32(f) => Some(Value::F32(-f)),
        Value::F64(f) => Some(Value::F64(-f)),
        _ => Value::of_integer(value.as_i128()?.checked_neg()?, ty),
    }
}

fn arithmetic(op: Arithmetic, (l, lt): (&Value, Type), (r, rt): (&Value, Type), ty: Type) -> Option<Value> {
    use Type as T;
    match ty {
        _ if ty.is_integer() && lt.is_integer() => {
            Value::of_integer(integers(op, l.as_i128()?, r.as_i128()?)?, ty)
        }
        T::Integer if lt == T::Date && rt == T::Date => {
            // That of infinite days is the evaluator's to refuse.
            if [l, r].iter().any(|day| matches!(day, Value::I32(i32::MAX | i32::MIN))) {
                return None;
            }
            Value::from_i128(l.as_i128()? - r.as_i128()?, ty.physical())
        }
        T::Decimal { precision, scale } => {
            let (l, r) = (l.as_i128()?, r.as_i128()?);
            let value = match op {
                Arithmetic::Divide => {
                    if r == 0 {
                        return None;
                    }
                    let up = (scale + rt.scale()).checked_sub(lt.scale()).filter(|u| *u <= 38)?;
                    let numerator = l.checked_mul(decimal::power_of_ten(up))?;
                    decimal::divide_rounded(numerator.checked_mul(r.signum())?, r.checked_abs()?)
                }
                _ => integers(op, l, r)?,
            };
            decimal::fits(value, precision).then(|| Value::from_i128(value, ty.physical()))?
        }
        T::Double => {
            let (l, r) = (l.as_f64()?, r.as_f64()?);
            let value = match op {
                Arithmetic::Add => l + r,
                Arithmetic::Subtract => l - r,
                Arithmetic::Multiply => l * r,
                Arithmetic::Divide if r != 0.0 => l / r,
                _ => return None,
            };
            value.is_finite().then_some(Value::F64(value))
        }
        T::Date => {
            // DATE and INTEGER in either order; the rest of the range is the evaluator's to refuse.
            let infinite = [l, r].into_iter().find(|v| matches!(v, Value::I32(i32::MAX | i32::MIN)));
            if let (Some(day), T::Date) = (infinite, if infinite == Some(l) { lt } else { rt }) {
                return Some(day.clone());
            }
            let days = integers(op, l.as_i128()?, r.as_i128()?)?;
            Value::from_i128(days, ty.physical()).filter(in_calendar)
        }
        T::Timestamp | T::TimestampTz => {
            let (at, by, by_ty, sign) = match op {
                Arithmetic::Add if lt.is_interval() => (r.as_i64()?, l.as_i64()?, lt, 1),
                Arithmetic::Add => (l.as_i64()?, r.as_i64()?, rt, 1),
                Arithmetic::Subtract => (l.as_i64()?, r.as_i64()?, rt, -1),
                _ => return None,
            };
            match by_ty {
                _ if datetime::is_infinite(at) => Some(Value::I64(at)),
                T::IntervalYearMonth => {
                    datetime::timestamp_add_months(at, i32::try_from(by * sign).ok()?).map(Value::I64)
                }
                T::IntervalDayTime => {
                    at.checked_add(by.checked_mul(sign)?).and_then(datetime::finite).map(Value::I64)
                }
                _ => None,
            }
        }
        T::IntervalYearMonth | T::IntervalDayTime if lt == ty && rt == ty => {
            Value::from_i128(integers(op, l.as_i128()?, r.as_i128()?)?, ty.physical())
        }
        _ => None,
    }
}

fn in_calendar(date: &Value) -> bool {
    date.as_i64().is_some_and(|days| days.abs() < i64::MAX / MICROS_PER_DAY)
}

fn integers(op: Arithmetic, l: i128, r: i128) -> Option<i128> {
    match op {
        Arithmetic::Add => l.checked_add(r),
        Arithmetic::Subtract => l.checked_sub(r),
        Arithmetic::Multiply => l.checked_mul(r),
        Arithmetic::Divide => l.checked_div(r),
        Arithmetic::Modulo => l.checked_rem(r),
    }
}

/// A conjunction, simplified where operands are literals.
pub(crate) fn and(operands: Vec<Expr>) -> Expr {
    connective(operands, true)
}

/// A disjunction, likewise.
pub(crate) fn or(operands: Vec<Expr>) -> Expr {
    connective(operands, false)
}

fn connective(operands: Vec<Expr>, neutral: bool) -> Expr {
    let mut kept = Vec::with_capacity(operands.len());
    for operand in operands {
        match (&operand.kind, neutral) {
            (ExprKind::Literal(Value::Bool(b)), _) if *b == neutral => {}
            (ExprKind::Literal(Value::Bool(b)), _) => return Expr::boolean(*b),
            (ExprKind::And(_), true) | (ExprKind::Or(_), false) => {
                let (ExprKind::And(inner) | ExprKind::Or(inner)) = operand.kind else { continue };
                kept.extend(inner);
            }
            _ => kept.push(operand),
        }
    }
    // NULL AND NULL is NULL; with anything else the evaluator decides.
    if !kept.is_empty() && kept.iter().all(|e| e.as_literal().is_some_and(Value::is_null)) {
        return Expr::literal(Value::Null, Type::Boolean);
    }
    if neutral { Expr::and(kept) } else { Expr::or(kept) }
}
