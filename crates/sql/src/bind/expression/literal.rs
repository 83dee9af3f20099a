//! Literals: numbers, intervals, dates.
//!
//! A literal is typed by its text alone: numbers get the smallest type that holds all digits, never a float unless an
//! exponent asks for it. Intervals are read to months, days and microseconds here, so that a malformed one is an
//! error of planning. The functions keep no state. Called by `bind::expression`.

use plan::Expr;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, IntervalField};
use types::interval_text::{self, Fields, Unit};
use types::{Error, Result, SqlState, Type, Value, datetime, decimal as dec};

use crate::bind::expression::coerce::digits;

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
    // 39 digits are a HUGEINT where it has them.
    if text.bytes().all(|b| b.is_ascii_digit())
        && let Ok(value) = text.parse::<i128>()
    {
        return Ok(Expr::literal(Value::I128(value), Type::HugeInt));
    }
    // Above these, and with more than 38 digits, the integers of any size.
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let of = |ty| types::cast::parse_text(&text, ty).map(|value| Expr::literal(value, ty));
        return of(Type::UHugeInt).or_else(|_| of(Type::BigNum)).map_err(|_| out_of_range(&text));
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() && text.contains(['e', 'E']) => {
            Ok(Expr::literal(Value::F64(float), Type::Double))
        }
        _ => Err(out_of_range(&text)),
    }
}

/// The digits of the smallest HUGEINT, which is a number with its sign only.
pub(crate) const LEAST_HUGEINT: &str = "170141183460469231731687303715884105728";

fn out_of_range(text: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(SqlState::NumericValueOutOfRange, format!("number {shown} has more than 38 digits"))
}

/// A literal of type INTEGER where the value fits, else BIGINT.
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

/// A DECIMAL literal of that scale, with the fewest digits that hold the value.
pub(crate) fn decimal_literal(value: i128, scale: u8) -> Expr {
    let ty = Type::Decimal { precision: digits(value).max(scale).max(1), scale };
    // A value always fits the width that its own digits ask for.
    let value = Value::from_i128(value, ty.physical()).unwrap_or(Value::I128(value));
    Expr::literal(value, ty)
}

/// `INTERVAL '3' MONTH`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 day 2 hours'`; `None` where the value is no
/// constant.
pub(crate) fn interval(value: &Ast, kept: Option<&tree::IntervalFields>) -> Result<Option<Expr>> {
    let Some((body, negative)) = interval_text(value) else { return Ok(None) };
    let fields = kept.and_then(fields_of);
    let asked = match kept {
        Some(kept) if fields.is_none() && body.trim().parse::<f64>().is_ok() => {
            format!("{body} {}", unit(kept.from))
        }
        _ => body.to_owned(),
    };
    let read = interval_text::parse(&asked, fields).and_then(|interval| match negative {
        true => interval.checked_neg(),
        false => Some(interval),
    });
    let mut interval = read.ok_or_else(|| {
        Error::new(
            SqlState::InvalidDatetimeFormat,
            format!("invalid input syntax for type interval: \"{body}\""),
        )
    })?;
    let digits = kept.and_then(|kept| kept.precision).map(u64::from);
    interval.micros = to_digits(interval.micros, digits);
    Ok(Some(Expr::literal(interval.value()?, Type::Interval)))
}

/// Microseconds to so many digits of a second, where that is said.
pub(crate) fn to_digits(value: i64, digits: Option<u64>) -> i64 {
    digits.map_or(value, |digits| datetime::to_digits(value, digits))
}

/// `DAY TO HOUR`: what the literal's numbers without a unit count, and which parts are kept.
fn fields_of(fields: &tree::IntervalFields) -> Option<Fields> {
    let first = unit_of(fields.from)?;
    let last = match fields.to {
        Some(last) => unit_of(last)?,
        None => first,
    };
    Some(Fields { first, last })
}

/// The part of an interval that a word names; `None` of words for several of one.
pub(crate) fn unit_of(field: IntervalField) -> Option<Unit> {
    Some(match field {
        IntervalField::Year => Unit::Year,
        IntervalField::Month => Unit::Month,
        IntervalField::Day => Unit::Day,
        IntervalField::Hour => Unit::Hour,
        IntervalField::Minute => Unit::Minute,
        IntervalField::Second => Unit::Second,
        _ => return None,
    })
}

/// One of the unit that the literal names, to be multiplied: `INTERVAL (n) DAY`.
pub(crate) fn one_of(field: IntervalField) -> Result<Expr> {
    let interval = interval_text::parse(&format!("1 {}", unit(field)), None);
    let interval = interval.ok_or_else(|| Error::internal("a unit of intervals"))?;
    Ok(Expr::literal(interval.value()?, Type::Interval))
}

/// The interval's text, and whether a minus stood before it.
fn interval_text(value: &Ast) -> Option<(&str, bool)> {
    match &value.kind {
        AstKind::Literal(tree::Literal::Text(text) | tree::Literal::Number(text)) => Some((text, false)),
        AstKind::Prefix(operator, operand) if operator.kind == tree::OperatorKind::Minus => {
            interval_text(operand).map(|(text, negative)| (text, !negative))
        }
        AstKind::Nested(inner) => interval_text(inner),
        _ => None,
    }
}

fn unit(field: IntervalField) -> &'static str {
    match field {
        IntervalField::Millennium => "millennium",
        IntervalField::Century => "century",
        IntervalField::Decade => "decade",
        IntervalField::Year => "year",
        IntervalField::Quarter => "quarter",
        IntervalField::Month => "month",
        IntervalField::Week => "week",
        IntervalField::Day => "day",
        IntervalField::Hour => "hour",
        IntervalField::Minute => "minute",
        IntervalField::Second => "second",
        IntervalField::Millisecond => "millisecond",
        IntervalField::Microsecond => "microsecond",
    }
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
        assert_eq!(typed(&"9".repeat(39)).0, Type::BigNum);
        assert!(number("1e999").is_err());
    }
}
