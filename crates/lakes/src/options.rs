//! The options of `delta_scan` and `iceberg_scan`.

use types::{Error, Result, SqlState, Type, cast};

/// The options that are given, by names in lower case; each once, and only those that are known.
pub(crate) fn checked<'o>(
    options: &'o [(String, String)],
    known: &[&'static str],
) -> Result<Vec<(&'o str, &'o str)>> {
    let mut given: Vec<(&str, &str)> = Vec::new();
    // What functions set and no user can write begins with NUL.
    for (name, value) in options.iter().filter(|(name, _)| !name.starts_with('\0')) {
        let Some(name) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
            let near = types::names::nearest(name, known.iter().copied());
            let hint = match near {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("the options are {}", known.join(", ")),
            };
            let message = format!("option \"{name}\" is not known");
            return Err(Error::new(SqlState::InvalidParameterValue, message).with_hint(hint));
        };
        if given.iter().any(|(other, _)| other == name) {
            let message = format!("option \"{name}\" is given more than once");
            return Err(Error::new(SqlState::SyntaxError, message).with_hint("give it once, with one value"));
        }
        given.push((name, value));
    }
    Ok(given)
}

/// An option's value as a number.
pub(crate) fn number(name: &str, value: &str) -> Result<i64> {
    value.trim().parse().map_err(|_| {
        Error::new(
            SqlState::InvalidParameterValue,
            format!("option \"{name}\" takes a number, not \"{value}\""),
        )
    })
}

/// An option's value as a time, in microseconds since 1970; without a zone, the session's is meant.
pub(crate) fn time(name: &str, value: &str) -> Result<i64> {
    let read = cast::parse_text(value, Type::TimestampTz).ok().and_then(|value| value.as_i128());
    read.and_then(|micros| i64::try_from(micros).ok()).ok_or_else(|| {
        let message = format!("option \"{name}\" takes a time, not \"{value}\"");
        Error::new(SqlState::InvalidParameterValue, message).with_hint("such as '2026-01-31 12:00:00'")
    })
}

/// Fails where two options are given that say the same thing in different ways.
pub(crate) fn one_of(given: &[(&str, &str)], names: &[&str]) -> Result<()> {
    let mut both = given.iter().filter(|(name, _)| names.contains(name));
    match (both.next(), both.next()) {
        (Some((a, _)), Some((b, _))) => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("options \"{a}\" and \"{b}\" both say which state of the table is read"),
        )
        .with_hint("give one of them")),
        _ => Ok(()),
    }
}
