//! Places in a statement's text.

use syntax::Span;
use types::{Error, Position, Result};

/// The first character of a text.
pub(crate) const START: Position = Position { line: 1, column: 1, offset: 0 };

/// Where a span begins, as a position; `None` for the span of what no text says.
pub(crate) fn position(text: &str, span: Span) -> Option<Position> {
    (!span.is_none()).then(|| at_span(text, span))
}

/// Where a span of bytes begins.
pub(crate) fn at_span(text: &str, span: Span) -> Position {
    let mut offset = (span.start as usize).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    at_offset(text, offset)
}

/// The place of an offset behind a place that is known.
pub(crate) fn further(text: &str, known: Position, offset: usize) -> Position {
    let between = &text[known.offset as usize..offset];
    let lines = between.bytes().filter(|b| *b == b'\n').count() as u32;
    let (column, rest) = match between.rfind('\n') {
        None => (known.column, between),
        Some(at) => (1, &between[at + 1..]),
    };
    Position {
        line: known.line + lines,
        column: column + rest.chars().count() as u32,
        offset: u32::try_from(offset).unwrap_or(u32::MAX),
    }
}

/// The position of a byte of the text; `offset` must be on a character's boundary.
pub(crate) fn at_offset(text: &str, offset: usize) -> Position {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Position {
        line: before.bytes().filter(|b| *b == b'\n').count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
        offset: u32::try_from(offset).unwrap_or(u32::MAX),
    }
}

/// Errors with a span instead of a position: the text is only at hand further out.
pub(crate) trait Placed<T> {
    /// Adds the place unless the error already has one further in.
    fn placed(self, text: &str, span: Span) -> Result<T>;
}

impl<T> Placed<T> for Result<T> {
    fn placed(self, text: &str, span: Span) -> Result<T> {
        self.map_err(|error| at(error, text, span))
    }
}

/// The error with the position of a span, if the span has one.
pub(crate) fn at(error: Error, text: &str, span: Span) -> Error {
    match position(text, span) {
        Some(place) if error.position().is_none() => error.at(place),
        _ => error,
    }
}
