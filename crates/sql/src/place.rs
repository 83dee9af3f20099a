//! Places in a statement's text.

use sqlparser::tokenizer::{Location, Span};
use types::{Error, Position, Result};

/// The first character of a text.
pub(crate) const START: Position = Position { line: 1, column: 1, offset: 0 };

/// A parser's span as a position; `None` for the empty span it gives to what it made up itself.
pub(crate) fn position(text: &str, span: Span) -> Option<Position> {
    location(text, span.start)
}

/// The line of a `Location` whose column is a byte's offset plus one.
pub(crate) const LINE_OF_OFFSETS: u64 = 1 << 32;

/// A parser's location as a position; `None` for line 0, which means no place.
pub(crate) fn location(text: &str, at: Location) -> Option<Position> {
    if at.line == 0 {
        return None;
    }
    if at.line == LINE_OF_OFFSETS {
        let mut offset =
            usize::try_from(at.column.saturating_sub(1)).map_or(text.len(), |at| at.min(text.len()));
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        return Some(at_offset(text, offset));
    }
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number as u64 + 1 == at.line {
            let within: usize =
                line.chars().take((at.column as usize).saturating_sub(1)).map(char::len_utf8).sum();
            return Some(Position {
                line: u32::try_from(at.line).unwrap_or(u32::MAX),
                column: u32::try_from(at.column).unwrap_or(u32::MAX),
                offset: u32::try_from(offset + within).unwrap_or(u32::MAX),
            });
        }
        offset += line.len();
    }
    // Past the last line: the end of the text.
    Some(end(text))
}

/// The place just after a text.
pub(crate) fn end(text: &str) -> Position {
    at_offset(text, text.len())
}

/// Where a span of bytes begins.
pub(crate) fn at_span(text: &str, span: syntax::Span) -> Position {
    let mut offset = (span.start as usize).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    at_offset(text, offset)
}

/// Where a quoted literal stands first, for those that the parser gives no place.
pub(crate) fn of_quoted(text: &str, literal: &str) -> Option<Position> {
    let quoted = format!("'{}'", literal.replace('\'', "''"));
    text.find(&quoted).map(|at| at_offset(text, at))
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
