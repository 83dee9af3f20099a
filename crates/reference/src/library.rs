//! The functions of the library that the fuzzer uses, written anew from PostgreSQL's documentation. All others are
//! refused.

use plan::Expr;
use plan::functions::{ORDERED_ROW, PAIR, ROW_VALUE};
use types::datetime::{self, MICROS_PER_DAY};
use types::{Error, Result, Type, Value};

use crate::arithmetic::whole;
use crate::function::{integer_of, text_of};
use crate::rows;
use crate::temporal::day_of;

/// The library function of that name over evaluated arguments; "not supported" for those that the reference does not
/// know.
pub(crate) fn call(name: &str, arguments: &[Expr], values: &[Value], ty: Type) -> Result<Value> {
    let nested = ty.is_nested() || arguments.iter().any(|argument| argument.ty.is_nested());
    if nested && !matches!(name, PAIR | ROW_VALUE | ORDERED_ROW) {
        // A NULL in a list does not make the list NULL.
        return Err(Error::unsupported(format!("the reference does not know {name} of these arguments")));
    }
    if name.contains("json") {
        // Nor does one make a JSON value NULL.
        return Err(Error::unsupported(format!("the reference does not know {name}")));
    }
    match name {
        "greatest" => {
            return Ok(values.iter().filter(|v| !v.is_null()).max().cloned().unwrap_or(Value::Null));
        }
        "least" => return Ok(values.iter().filter(|v| !v.is_null()).min().cloned().unwrap_or(Value::Null)),
        ORDERED_ROW => return rows::ordered_row(values),
        "concat" => {
            let parts: Vec<&[u8]> = values.iter().filter_map(Value::as_bytes).collect();
            return Ok(Value::Bytes(parts.concat().into()));
        }
        _ => {}
    }
    if values.iter().any(Value::is_null) && !matches!(name, "concat_ws") {
        return Ok(Value::Null);
    }
    let refuse = || Error::unsupported(format!("the reference does not know {name} of these arguments"));
    let first = values.first().ok_or_else(refuse)?;
    let first_ty = arguments.first().ok_or_else(refuse)?.ty;
    if let (PAIR, Some(pair)) = (name, rows::pair(values)) {
        return Ok(pair);
    }
    if let (ROW_VALUE, Some(row)) = (name, first.as_bytes()) {
        return Ok(rows::row_value(row, ty));
    }
    Ok(match (name, &values[1..]) {
        ("floor" | "ceil" | "trunc", []) if first_ty == Type::Double && ty == Type::Double => {
            let value = first.as_f64().ok_or_else(refuse)?;
            Value::F64(match name {
                "floor" => value.floor(),
                "ceil" => value.ceil(),
                _ => value.trunc(),
            })
        }
        ("btrim" | "ltrim" | "rtrim", rest) if rest.len() <= 1 => {
            let removed: Vec<char> = match rest.first() {
                Some(characters) => text_of(characters)?.chars().collect(),
                None => vec![' '],
            };
            let text = text_of(first)?;
            Value::text(match name {
                "btrim" => text.trim_matches(|c| removed.contains(&c)),
                "ltrim" => text.trim_start_matches(|c| removed.contains(&c)),
                _ => text.trim_end_matches(|c| removed.contains(&c)),
            })
        }
        ("replace", [from, to]) => {
            let from = text_of(from)?;
            let text = text_of(first)?;
            if from.is_empty() { first.clone() } else { Value::text(&text.replace(from, text_of(to)?)) }
        }
        ("strpos", [part]) => {
            let text = text_of(first)?;
            let at = text.find(text_of(part)?).map_or(0, |at| text[..at].chars().count() + 1);
            whole(at as i128, ty)?
        }
        ("starts_with", [part]) => Value::Bool(text_of(first)?.starts_with(text_of(part)?)),
        ("reverse", []) => Value::text(&text_of(first)?.chars().rev().collect::<String>()),
        ("left" | "right", [count]) => {
            // A negative count leaves out that many characters at the other end.
            let characters: Vec<char> = text_of(first)?.chars().collect();
            let count = integer_of(count)?;
            let length = characters.len() as i64;
            let taken =
                if count < 0 { length.saturating_add(count).max(0) } else { count.min(length) } as usize;
            let part =
                if name == "left" { &characters[..taken] } else { &characters[characters.len() - taken..] };
            Value::text(&part.iter().collect::<String>())
        }
        ("repeat", [count]) => {
            let count = usize::try_from(integer_of(count)?).unwrap_or(0);
            if count > 10_000 {
                return Err(refuse());
            }
            Value::text(&text_of(first)?.repeat(count))
        }
        ("octet_length", []) => whole(first.as_bytes().map_or(0, <[u8]>::len) as i128, ty)?,
        _ => return of_a_date(name, arguments, values, ty)?.ok_or_else(refuse),
    })
}

/// The functions whose second argument is a date or a time stamp; none where the reference does not know the call.
fn of_a_date(name: &str, arguments: &[Expr], values: &[Value], ty: Type) -> Result<Option<Value>> {
    let [part, value] = values else { return Ok(None) };
    if !matches!(name, "date_trunc" | "date_part") {
        return Ok(None);
    }
    let part = text_of(part)?;
    let day = day_of(value, arguments[1].ty)?;
    let date = datetime::civil_from_days(day);
    if name == "date_trunc" {
        let start = match part {
            "year" => datetime::days_from_civil(date.year, 1, 1),
            "quarter" => datetime::days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1),
            "month" => datetime::days_from_civil(date.year, date.month, 1),
            // 1970-01-01 was a Thursday; weeks begin on Mondays.
            "week" => day - (day + 3).rem_euclid(7),
            "day" => day,
            _ => return Ok(None),
        };
        let moment = Value::I64(i64::from(start) * MICROS_PER_DAY);
        return Ok(matches!(ty, Type::Timestamp | Type::TimestampTz).then_some(moment));
    }
    let part = match part {
        "quarter" => i128::from((date.month - 1) / 3 + 1),
        "dow" => i128::from((day + 4).rem_euclid(7)),
        "doy" => i128::from(day - datetime::days_from_civil(date.year, 1, 1) + 1),
        _ => return Ok(None),
    };
    Ok(Some(if ty == Type::Double { Value::F64(part as f64) } else { whole(part, ty)? }))
}
