//! Errors of what is read and cannot be bound, with their place in the text.

use std::fmt::Display;

use syntax::{Span, tree};
use types::{Error, SqlState};

use crate::place;

/// What this engine does not have.
pub(crate) fn unsupported(what: impl Display, text: &str, at: Span) -> Error {
    place::at(Error::unsupported(format!("{what} is not supported")), text, at)
}

/// A syntax error.
pub(crate) fn wrong(message: impl Into<String>, text: &str, at: Span) -> Error {
    place::at(Error::new(SqlState::SyntaxError, message.into()), text, at)
}

/// A syntax error at the first word of a place.
pub(crate) fn unexpected(text: &str, at: Span) -> Error {
    let word = at.of(text).split_whitespace().next().unwrap_or_default();
    let shown: String = word.chars().take(40).collect();
    wrong(format!("syntax error at or near \"{shown}\""), text, at)
}

/// Brackets with nothing in them, at the one that closes them.
pub(crate) fn empty_brackets(text: &str, at: Span) -> Error {
    let close = Span { start: at.end.saturating_sub(1).max(at.start), end: at.end };
    wrong("syntax error at or near \")\": expected an expression", text, close)
}

/// Whether a name is written as a text in single quotes.
pub(crate) fn label_in_quotes(text: &str, name: &tree::Name) -> bool {
    name.quoted && name.span.of(text).starts_with('\'')
}
