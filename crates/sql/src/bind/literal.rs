//! Literals: numbers, intervals, dates.

use plan::Expr;
use sqlparser::ast::{DateTimeField, Expr as Ast, Interval, Value as AstValue};
use types::datetime::parse_interval;
use types::{Error, Result, SqlState, Type, Value, decimal as dec};

use super::coerce::digits;
use crate::data_type::TypeName;

/// A number as written: INTEGER, BIGINT or DECIMAL with the digits it has, by size; DOUBLE when an exponent makes it
/// too long for that.
pub(crate) fn number(text: &str) -> Result<Expr> {
    let text: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(radix) = text.get(..2).and_then(|p| match p {
        "0x" | "0X" => Some(16),
        "0o" | "0O" => Some(8),
        "0b" | "0B" => Some(2),
        _ => None,
    }) {
        return match i128::from_str_radix(&text[2..], radix) {
            Ok(value) => match i64::try_from(value) {
                Ok(value) => Ok(integer(value)),
                Err(_) if digits(value) <= 38 => Ok(decimal_literal(value, 0)),
                Err(_) => Err(out_of_range(&text)),
            },
            Err(_) if text.len() == 2 => {
                Err(Error::new(SqlState::SyntaxError, format!("the number {text} has no digits")))
            }
            Err(_) => Err(out_of_range(&text)),
        };
    }
    if text.bytes().all(|b| b.is_ascii_digit())
        && let Ok(value) = text.parse::<i64>()
    {
        return Ok(integer(value));
    }
    if let Some(literal) = decimal(&text) {
        return Ok(literal);
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() && text.contains(['e', 'E']) => {
            Ok(Expr::literal(Value::F64(float), Type::Double))
        }
        _ => Err(out_of_range(&text)),
    }
}

fn out_of_range(text: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(SqlState::NumericValueOutOfRange, format!("number {shown} has more than 38 digits"))
}

pub(crate) fn integer(value: i64) -> Expr {
    match i32::try_from(value) {
        Ok(small) => Expr::literal(Value::I32(small), Type::Integer),
        Err(_) => Expr::literal(Value::I64(value), Type::BigInt),
    }
}

/// A DECIMAL literal with exactly the scale that is written and the fewest digits.
pub(crate) fn decimal(text: &str) -> Option<Expr> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len());
    let scale = i64::try_from(fraction).ok()? - i64::from(exponent);
    let scale = u8::try_from(scale.max(0)).ok().filter(|s| *s <= 38)?;
    let value = dec::parse(text, scale).ok()??;
    Some(decimal_literal(value, scale))
}

pub(crate) fn decimal_literal(value: i128, scale: u8) -> Expr {
    let ty = Type::Decimal { precision: digits(value).max(scale).max(1), scale };
    // A value always fits the width that its own digits ask for.
    let value = Value::from_i128(value, ty.physical()).unwrap_or(Value::I128(value));
    Expr::literal(value, ty)
}

/// `INTERVAL '3' MONTH`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 day 2 hours'`.
pub(crate) fn interval(literal: &Interval) -> Result<Expr> {
    let (body, negative) = interval_text(&literal.value)?;
    let body = match &literal.leading_field {
        None => body,
        Some(field) if literal.last_field.is_none() && body.trim().parse::<f64>().is_ok() => {
            format!("{body} {}", unit(field)?)
        }
        Some(field) => match (field, &literal.last_field) {
            // The day of `1 2:03` has no unit of its own.
            (DateTimeField::Day, Some(_)) => match body.trim().split_once(' ') {
                Some((days, time)) if days.parse::<f64>().is_ok() => format!("{days} days {time}"),
                _ => body,
            },
            (DateTimeField::Minute, Some(_)) => format!("00:{}", body.trim()),
            _ => body,
        },
    };
    let (months, micros) = parse_interval(&body).ok_or_else(|| {
        Error::new(
            SqlState::InvalidDatetimeFormat,
            format!("invalid input syntax for type interval: \"{body}\""),
        )
    })?;
    let (months, micros) = if negative { (-months, -micros) } else { (months, micros) };
    let wanted = match (&literal.leading_field, &literal.last_field) {
        (
            Some(DateTimeField::Year | DateTimeField::Years | DateTimeField::Month | DateTimeField::Months),
            _,
        ) => TypeName::Type(Type::IntervalYearMonth),
        (Some(_), _) => TypeName::Type(Type::IntervalDayTime),
        (None, _) => TypeName::Interval,
    };
    interval_of(months, micros, of_text(&body, months, micros, wanted))
}

/// Zero is of the kind whose units it was written in.
pub(crate) fn of_text(text: &str, months: i32, micros: i64, wanted: TypeName) -> TypeName {
    let text = text.to_lowercase();
    let by_months = ["year", "mon", "decade", "centur", "millen"].iter().any(|unit| text.contains(unit));
    match wanted {
        TypeName::Interval if months == 0 && micros == 0 && by_months => {
            TypeName::Type(Type::IntervalYearMonth)
        }
        other => other,
    }
}

/// An interval of the kind that its value asks for, or that the type says.
pub(crate) fn interval_of(months: i32, micros: i64, wanted: TypeName) -> Result<Expr> {
    match (months, micros, wanted) {
        (m, 0, TypeName::Type(Type::IntervalYearMonth)) => {
            Ok(Expr::literal(Value::I32(m), Type::IntervalYearMonth))
        }
        (0, u, TypeName::Type(Type::IntervalDayTime)) => {
            Ok(Expr::literal(Value::I64(u), Type::IntervalDayTime))
        }
        (m, 0, TypeName::Interval) if m != 0 => Ok(Expr::literal(Value::I32(m), Type::IntervalYearMonth)),
        (0, u, TypeName::Interval) => Ok(Expr::literal(Value::I64(u), Type::IntervalDayTime)),
        _ => Err(Error::unsupported("an interval of both months and days or times is not supported")
            .with_hint("add a year-month interval and a day-time interval one after the other")),
    }
}

/// The interval's text, and whether a minus stood before it.
fn interval_text(value: &Ast) -> Result<(String, bool)> {
    use sqlparser::ast::UnaryOperator;
    match value {
        Ast::Value(v) => match &v.value {
            AstValue::SingleQuotedString(s) | AstValue::EscapedStringLiteral(s) => Ok((s.clone(), false)),
            AstValue::Number(n, _) => Ok((n.clone(), false)),
            _ => Err(not_constant()),
        },
        Ast::UnaryOp { op: UnaryOperator::Minus, expr } => interval_text(expr).map(|(t, n)| (t, !n)),
        Ast::Nested(inner) => interval_text(inner),
        _ => Err(not_constant()),
    }
}

fn not_constant() -> Error {
    Error::unsupported("the value of an INTERVAL literal must be a constant")
        .with_hint("multiply instead: n * INTERVAL '1 day'")
}

fn unit(field: &DateTimeField) -> Result<&'static str> {
    use DateTimeField as F;
    Ok(match field {
        F::Year | F::Years => "year",
        F::Month | F::Months => "month",
        F::Week(_) | F::Weeks => "week",
        F::Day | F::Days => "day",
        F::Hour | F::Hours => "hour",
        F::Minute | F::Minutes => "minute",
        F::Second | F::Seconds => "second",
        F::Millisecond | F::Milliseconds => "millisecond",
        F::Microsecond | F::Microseconds => "microsecond",
        F::Decade => "decade",
        F::Century => "century",
        F::Millennium | F::Millenium => "millennium",
        other => {
            return Err(Error::new(SqlState::SyntaxError, format!("{other} is not a unit of intervals")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> (Type, String) {
        let e = number(text).unwrap();
        (e.ty, e.as_literal().unwrap().display(e.ty))
    }

    #[test]
    fn numbers_take_the_smallest_type() {
        assert_eq!(typed("7"), (Type::Integer, "7".into()));
        assert_eq!(typed("2147483648"), (Type::BigInt, "2147483648".into()));
        assert_eq!(typed("9223372036854775808").0, Type::Decimal { precision: 19, scale: 0 });
        assert_eq!(typed("0.05"), (Type::Decimal { precision: 2, scale: 2 }, "0.05".into()));
        assert_eq!(typed("100.00").0, Type::Decimal { precision: 5, scale: 2 });
        assert_eq!(typed("1e3"), (Type::Decimal { precision: 4, scale: 0 }, "1000".into()));
        assert_eq!(typed("1.5e-3"), (Type::Decimal { precision: 4, scale: 4 }, "0.0015".into()));
        assert_eq!(typed("1e300").0, Type::Double);
        assert_eq!(typed("0x1F"), (Type::Integer, "31".into()));
        assert!(number(&"9".repeat(39)).is_err());
        assert!(number("1e999").is_err());
    }
}
