//! The slow twin: one row, one value at a time, by the definitions. Every kernel is judged by it.

use plan::{Arithmetic, Expr, ExprKind, Function};
use types::datetime::{self, MICROS_PER_DAY};
use types::{Error, Physical, Result, SqlState, Type, Value, cast, decimal};

pub fn evaluate(expression: &Expr, row: &[Value]) -> Result<Value> {
    use ExprKind as K;
    let ty = expression.ty;
    let operand = |e: &Expr| evaluate(e, row);
    Ok(match &expression.kind {
        K::Input(at) => row[*at].clone(),
        K::Literal(value) => value.clone(),
        K::Column(_)
        | K::ScalarSubquery(_)
        | K::Parameter(_)
        | K::Lambda(_)
        | K::Library { .. }
        | K::External { .. } => {
            unreachable!("not generated")
        }
        K::Compare { op, left, right } => {
            let (a, b) = (operand(left)?, operand(right)?);
            if a.is_null() || b.is_null() { Value::Null } else { Value::Bool(op.holds(a.total_cmp(&b))) }
        }
        K::NotDistinct { left, right, negated } => {
            Value::Bool((operand(left)? == operand(right)?) != *negated)
        }
        K::And(parts) => junction(parts, row, false)?,
        K::Or(parts) => junction(parts, row, true)?,
        K::Not(e) => operand(e)?.as_bool().map_or(Value::Null, |b| Value::Bool(!b)),
        K::IsNull { input, negated } => Value::Bool(operand(input)?.is_null() != *negated),
        K::IsBoolean { input, value, negated } => {
            Value::Bool((operand(input)?.as_bool() == Some(*value)) != *negated)
        }
        K::Arithmetic { op, left, right, checked } => {
            let (a, b) = (operand(left)?, operand(right)?);
            if a.is_null() || b.is_null() {
                return Ok(Value::Null);
            }
            arithmetic(*op, (&a, left.ty), (&b, right.ty), ty, *checked)?
        }
        K::Negate(e) => match operand(e)? {
            Value::Null => Value::Null,
            Value::F32(f) => Value::F32(-f),
            Value::F64(f) => Value::F64(-f),
            v => whole(v.as_i128().unwrap().checked_neg(), ty)?,
        },
        K::Cast { input, lenient } => {
            let value = operand(input)?;
            match cast_one(&value, input.ty, ty) {
                Err(_) if *lenient => Value::Null,
                result => result?,
            }
        }
        K::Case { branches, otherwise } => {
            for (condition, result) in branches {
                if operand(condition)? == Value::Bool(true) {
                    return operand(result);
                }
            }
            otherwise.as_deref().map_or(Ok(Value::Null), operand)?
        }
        K::Like { input, pattern, negated, case_insensitive } => match operand(input)? {
            Value::Null => Value::Null,
            v => {
                let text = v.as_text().unwrap().to_owned();
                let text = if *case_insensitive { text.to_lowercase() } else { text };
                Value::Bool(pattern.matches(text.as_bytes()) != *negated)
            }
        },
        K::InList { input, values, has_null, negated } => match operand(input)? {
            Value::Null => Value::Null,
            v if values.contains(&v) => Value::Bool(!negated),
            _ if *has_null => Value::Null,
            _ => Value::Bool(*negated),
        },
        K::Function { function: Function::Try, arguments } => match operand(&arguments[0]) {
            Err(error) if error.is_of_the_data() => Value::Null,
            result => result?,
        },
        K::Function { function: Function::Coalesce, arguments } => {
            for argument in arguments {
                let value = operand(argument)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Value::Null
        }
        K::Function { function, arguments } => {
            let values: Vec<Value> = arguments.iter().map(operand).collect::<Result<_>>()?;
            call(*function, &values, arguments[0].ty, ty)?
        }
    })
}

/// FALSE settles AND, TRUE settles OR; operands that may fail are asked last.
fn junction(parts: &[Expr], row: &[Value], settles: bool) -> Result<Value> {
    let mut unknown = false;
    let risky = |p: &&Expr| fails(p) || p.may_fail();
    let safe = parts.iter().filter(|p| !risky(p));
    for part in safe.chain(parts.iter().filter(risky)) {
        match evaluate(part, row)?.as_bool() {
            Some(b) if b == settles => return Ok(Value::Bool(settles)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(!settles) })
}

pub fn fails(expression: &Expr) -> bool {
    let mut found = false;
    expression.visit(&mut |e| {
        found |= matches!(
            &e.kind,
            ExprKind::Arithmetic { op: Arithmetic::Divide | Arithmetic::Modulo, .. }
                | ExprKind::Cast { lenient: false, .. }
                | ExprKind::Function { function: Function::Substring, .. }
        )
    });
    found
}

fn cast_one(value: &Value, from: Type, to: Type) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if to.is_text() {
        let text = if from.is_text() {
            value.as_text().unwrap().to_owned()
        } else {
            cast::format_value(value, from)
        };
        return Ok(Value::text(cast::truncate_text(&text, to)));
    }
    cast::cast_value(value, from, to)
}

fn whole(value: Option<i128>, ty: Type) -> Result<Value> {
    value.and_then(|v| Value::from_i128(v, ty.physical())).ok_or_else(|| Error::out_of_range(&ty))
}

fn wrapped(value: i128, ty: Type) -> Value {
    match ty.physical() {
        Physical::I16 => Value::I16(value as i16),
        Physical::I32 => Value::I32(value as i32),
        Physical::I64 => Value::I64(value as i64),
        _ => Value::I128(value),
    }
}

fn arithmetic(
    op: Arithmetic,
    (a, a_ty): (&Value, Type),
    (b, b_ty): (&Value, Type),
    ty: Type,
    checked: bool,
) -> Result<Value> {
    if a_ty == Type::Date || ty.is_interval() || matches!(ty, Type::Timestamp | Type::Time | Type::Date) {
        return temporal(op, (a, a_ty), (b, b_ty), ty);
    }
    if ty.is_float() {
        let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        if matches!(op, Arithmetic::Divide | Arithmetic::Modulo) && y == 0.0 && !x.is_nan() {
            return Err(Error::division_by_zero());
        }
        macro_rules! compute {
            ($t:ty, $v:ident) => {{
                let (x, y) = (x as $t, y as $t);
                let r = match op {
                    Arithmetic::Add => x + y,
                    Arithmetic::Subtract => x - y,
                    Arithmetic::Multiply => x * y,
                    Arithmetic::Divide => x / y,
                    Arithmetic::Modulo => x % y,
                };
                let over = r.is_infinite() && x.is_finite() && y.is_finite();
                let under = r == 0.0
                    && ((op == Arithmetic::Multiply && x != 0.0 && y != 0.0)
                        || (op == Arithmetic::Divide && x != 0.0 && y.is_finite()));
                if checked && (over || under) {
                    return Err(Error::out_of_range(&ty));
                }
                Ok(Value::$v(r))
            }};
        }
        return if ty == Type::Real { compute!(f32, F32) } else { compute!(f64, F64) };
    }
    let (x, y) = (a.as_i128().unwrap(), b.as_i128().unwrap());
    if matches!(op, Arithmetic::Divide | Arithmetic::Modulo) && y == 0 {
        return Err(Error::division_by_zero());
    }
    let result = match op {
        Arithmetic::Add => x.checked_add(y),
        Arithmetic::Subtract => x.checked_sub(y),
        Arithmetic::Multiply => x.checked_mul(y),
        Arithmetic::Modulo => x.checked_rem(y),
        Arithmetic::Divide if ty.is_decimal() => {
            let shift = i32::from(ty.scale()) - i32::from(a_ty.scale()) + i32::from(b_ty.scale());
            long_division(x, y, shift)
        }
        Arithmetic::Divide => x.checked_div(y),
    };
    if !checked && !matches!(op, Arithmetic::Divide | Arithmetic::Modulo) {
        let wrapping = match op {
            Arithmetic::Add => x.wrapping_add(y),
            Arithmetic::Subtract => x.wrapping_sub(y),
            _ => x.wrapping_mul(y),
        };
        return Ok(wrapped(wrapping, ty));
    }
    if let (Type::Decimal { precision, .. }, Some(v)) = (ty, result)
        && op != Arithmetic::Modulo
        && !decimal::fits(v, precision)
    {
        return Err(Error::out_of_range(&ty));
    }
    whole(result, ty)
}

/// `x * 10^shift / y`, rounded half away from zero, digit by digit as on paper.
fn long_division(x: i128, y: i128, shift: i32) -> Option<i128> {
    let negative = (x < 0) != (y < 0);
    let divisor = y.unsigned_abs();
    let mut quotient = x.unsigned_abs() / divisor;
    let mut rest = x.unsigned_abs() % divisor;
    let mut digits = shift;
    if shift < 0 {
        let unit = 10u128.pow((-shift) as u32);
        let last = quotient % unit;
        quotient /= unit;
        // Half a unit or more; a remainder of the division only matters beyond half.
        quotient += u128::from(last * 2 >= unit);
        rest = 0;
        digits = 0;
    }
    while digits > 0 {
        quotient = quotient.checked_mul(10)?;
        // Ten times the remainder, by repeated addition, so that nothing overflows.
        let (mut next, mut digit) = (0u128, 0u128);
        for _ in 0..10 {
            if next >= divisor - rest {
                next -= divisor - rest;
                digit += 1;
            } else {
                next += rest;
            }
        }
        rest = next;
        quotient = quotient.checked_add(digit)?;
        digits -= 1;
    }
    if shift >= 0 && rest >= divisor - rest {
        quotient += 1;
    }
    let value = i128::try_from(quotient).ok()?;
    Some(if negative { -value } else { value })
}

fn temporal(op: Arithmetic, (a, a_ty): (&Value, Type), (b, b_ty): (&Value, Type), ty: Type) -> Result<Value> {
    let sign: i64 = if op == Arithmetic::Subtract { -1 } else { 1 };
    let out = || Error::new(SqlState::DatetimeFieldOverflow, "out of range");
    let days = |d: Option<i64>| {
        d.filter(|d| (-2_440_588..=2_145_042_905).contains(d)).map(|d| Value::I32(d as i32)).ok_or_else(out)
    };
    if op == Arithmetic::Add && (a_ty.is_interval() || a_ty.is_integer()) && !b_ty.is_interval() {
        return temporal(op, (b, b_ty), (a, a_ty), ty);
    }
    if op == Arithmetic::Multiply && a_ty.is_numeric() {
        return temporal(op, (b, b_ty), (a, a_ty), ty);
    }
    let (x, y) = (a.as_i64().unwrap(), b.as_i64().unwrap_or(0));
    match (a_ty, b_ty) {
        (_, t) if t.is_numeric() && ty.is_interval() => {
            let factor = b.as_f64().unwrap_or_else(|| b.as_i128().unwrap() as f64);
            if op == Arithmetic::Divide && factor == 0.0 {
                return Err(Error::division_by_zero());
            }
            let exact = factor.fract() == 0.0 && factor.abs() < 9e15 && op == Arithmetic::Multiply;
            if exact && ty == Type::IntervalDayTime {
                return x.checked_mul(factor as i64).map(Value::I64).ok_or_else(out);
            }
            let r = if op == Arithmetic::Divide { x as f64 / factor } else { x as f64 * factor };
            let r = r.round_ties_even();
            let limit = if ty == Type::IntervalYearMonth { f64::from(i32::MAX) } else { 9.199e18 };
            if r.is_nan() || r.abs() > limit {
                return Err(out());
            }
            Ok(if ty == Type::IntervalYearMonth { Value::I32(r as i32) } else { Value::I64(r as i64) })
        }
        (Type::Date, t) if t.is_integer() => days(y.checked_mul(sign).and_then(|y| x.checked_add(y))),
        (Type::Date, Type::Date) => whole(Some(i128::from(x) - i128::from(y)), ty),
        (Type::Date, Type::IntervalYearMonth) => {
            let months = i32::try_from(y * sign).map_err(|_| out())?;
            days(datetime::add_months(x as i32, months).map(i64::from))
        }
        (Type::Date, Type::IntervalDayTime) => {
            // Whole days: a far day's microseconds do not fit.
            days(y.checked_mul(sign).map(|by| x + by.div_euclid(MICROS_PER_DAY)))
        }
        (Type::Timestamp, Type::IntervalYearMonth) => {
            let months = i32::try_from(y * sign).map_err(|_| out())?;
            datetime::timestamp_add_months(x, months).map(Value::I64).ok_or_else(out)
        }
        (Type::Time, Type::IntervalDayTime) => {
            let moved =
                (i128::from(x) + i128::from(y) * i128::from(sign)).rem_euclid(i128::from(MICROS_PER_DAY));
            Ok(Value::I64(moved as i64))
        }
        (Type::IntervalYearMonth, Type::IntervalYearMonth) => {
            i32::try_from(x + y * sign).map(Value::I32).map_err(|_| out())
        }
        _ => {
            let r = if sign < 0 { x.checked_sub(y) } else { x.checked_add(y) };
            r.map(Value::I64).ok_or_else(out)
        }
    }
}

fn call(function: Function, values: &[Value], first: Type, ty: Type) -> Result<Value> {
    if function == Function::NullIf {
        let same = !values[0].is_null() && values[0] == values[1];
        return Ok(if same { Value::Null } else { values[0].clone() });
    }
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let text = || values[0].as_text().unwrap();
    Ok(match function {
        Function::SamplePlace => {
            let (number, seed) = (values[0].as_i64().unwrap(), values[1].as_i64().unwrap());
            Value::I64(types::sample::signed_place(number, seed))
        }
        Function::Absolute => match &values[0] {
            Value::F32(f) => Value::F32(f.abs()),
            Value::F64(f) => Value::F64(f.abs()),
            v => whole(v.as_i128().unwrap().checked_abs(), ty)?,
        },
        Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay => {
            let v = values[0].as_i64().unwrap();
            let days = if first == Type::Date { v } else { v.div_euclid(MICROS_PER_DAY) };
            let date = datetime::civil_from_days(days as i32);
            let part = match function {
                Function::ExtractYear => i128::from(date.year) - i128::from(date.year <= 0),
                Function::ExtractMonth => i128::from(date.month),
                _ => i128::from(date.day),
            };
            whole(Some(part), ty)?
        }
        Function::Lower => Value::text(&text().to_lowercase()),
        Function::Upper => Value::text(&text().to_uppercase()),
        Function::CharacterLength => whole(Some(text().chars().count() as i128), ty)?,
        Function::Concatenate => {
            Value::text(&values.iter().map(|v| v.as_text().unwrap()).collect::<String>())
        }
        Function::Substring => {
            let start = i128::from(values[1].as_i64().unwrap());
            let end = match values.get(2).map(|v| i128::from(v.as_i64().unwrap())) {
                Some(length) if length < 0 => {
                    return Err(Error::new(
                        SqlState::InvalidParameterValue,
                        "negative substring length not allowed",
                    ));
                }
                Some(length) => start + length,
                None => i128::MAX,
            };
            let kept = text().chars().enumerate().filter(|(at, _)| (start..end).contains(&(*at as i128 + 1)));
            Value::text(&kept.map(|(_, c)| c).collect::<String>())
        }
        Function::Coalesce | Function::NullIf | Function::Try => unreachable!(),
    })
}
