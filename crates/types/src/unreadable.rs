//! Errors of texts that are no value of a type.

use crate::date_text::Fault;
use crate::{Error, SqlState, Type};

/// The error of a text that is no value of the type; it shows at most 80 characters of it.
pub(crate) fn unreadable(text: &str, to: Type) -> Error {
    let is_moment = to.is_timestamp_of_unit()
        || matches!(
            to,
            Type::Date | Type::Time | Type::TimeNs | Type::TimeTz | Type::Timestamp | Type::TimestampTz
        );
    if is_moment && has_datetime_fields(text.trim()) {
        return beyond_range(text);
    }
    let state = match is_moment || to.is_interval() {
        true => SqlState::InvalidDatetimeFormat,
        false => SqlState::InvalidTextRepresentation,
    };
    let shown: String = text.chars().take(80).collect();
    let name = to.sql_name().to_lowercase();
    Error::new(state, format!("invalid input syntax for type {name}: \"{shown}\""))
}

/// The error of a text whose fields are those of a moment that there is not.
fn beyond_range(text: &str) -> Error {
    let shown: String = text.chars().take(80).collect();
    let message = format!("date/time field value out of range: \"{shown}\"");
    Error::new(SqlState::DatetimeFieldOverflow, message)
}

pub(crate) fn datetime_fault(text: &str, to: Type, fault: Fault) -> Error {
    if fault == Fault::Form {
        return unreadable(text, to);
    }
    match text.trim().contains(['/', '.']) {
        true => beyond_range(text)
            .with_hint("numbers are read as month, day, year; strptime(text, '%d/%m/%Y') reads others"),
        false => beyond_range(text),
    }
}

/// Whether a text that is no date or time at least has the shape of one, so that a field's value is at fault.
fn has_datetime_fields(text: &str) -> bool {
    let date = |t: &str| {
        let parts: Vec<&str> = t.split('-').collect();
        parts.len() == 3
            && parts.iter().all(|p| !p.is_empty() && p.len() <= 5 && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let time = |t: &str| {
        let t = t.split(['+', 'Z', '-']).next().unwrap_or(t);
        let parts: Vec<&str> = t.split(':').collect();
        (2..=3).contains(&parts.len())
            && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    };
    match text.split_once([' ', 'T']) {
        Some((d, t)) => date(d) && time(t.trim()),
        None => date(text) || time(text),
    }
}
