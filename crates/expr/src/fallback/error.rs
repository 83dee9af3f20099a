//! The library's errors as ours. It has no SQLSTATE: kinds decide where they can, words where they must.

use arrow_schema::ArrowError;
use datafusion_common::DataFusionError;
use types::{Error, SqlState};

/// The error of a call; the root cause decides about its SQLSTATE.
pub(super) fn from_datafusion(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => from_arrow(error),
        DataFusionError::NotImplemented(message) => Error::unsupported(first_line(message)),
        DataFusionError::Plan(message) => Error::new(SqlState::UndefinedFunction, first_line(message)),
        DataFusionError::ResourcesExhausted(message) => {
            Error::new(SqlState::OutOfMemory, first_line(message))
        }
        other => by_words(&other.message()),
    }
}

/// The error of a conversion or a kernel of Arrow's.
pub(super) fn from_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::division_by_zero(),
        ArrowError::ArithmeticOverflow(message) => {
            Error::new(SqlState::NumericValueOutOfRange, first_line(message))
        }
        ArrowError::ParseError(message) => {
            Error::new(SqlState::InvalidTextRepresentation, first_line(message))
        }
        ArrowError::CastError(message) => match by_words(message) {
            error if error.state() == SqlState::InvalidParameterValue => {
                Error::new(SqlState::InvalidTextRepresentation, first_line(message))
            }
            error => error,
        },
        ArrowError::NotYetImplemented(message) => Error::unsupported(first_line(message)),
        other => by_words(&other.to_string()),
    }
}

fn by_words(message: &str) -> Error {
    if let Some((_, told)) = message.split_once("Regular expression did not compile: ") {
        // The library tells the error's name, then the pattern with a mark, and the reason in the last line.
        let reason = told.rsplit("error: ").next().unwrap_or(told).trim_end_matches(['"', ')', '\n', ' ']);
        return Error::new(
            SqlState::InvalidRegularExpression,
            format!("invalid regular expression: {reason}"),
        );
    }
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    if has(&["divide by zero", "division by zero"]) {
        return Error::division_by_zero();
    }
    let state = if has(&["overflow", "out of range", "too large"]) {
        SqlState::NumericValueOutOfRange
    } else if has(&[
        "error parsing",
        "parse error",
        "cannot cast string",
        "failed to parse",
        "error timestamp",
    ]) {
        SqlState::InvalidTextRepresentation
    } else if has(&["not implemented", "not supported", "unsupported"]) {
        SqlState::FeatureNotSupported
    } else {
        SqlState::InvalidParameterValue
    };
    Error::new(state, first_line(message))
}

/// Without back traces and advice to report bugs elsewhere.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
