//! Errors of texts that the grammar does not have, with their places.

use syntax::{Fault, Kind, Span, SyntaxError};
use types::stop;
use types::{Error, SqlState};

use crate::{place, stack};

/// An error of `syntax`.
pub(crate) fn syntax_error_of(text: &str, error: &SyntaxError) -> Error {
    let place = place::at_span(text, error.span);
    match (error.fault, &error.hint) {
        (Fault::Stopped, _) => stop::stopped(),
        (Fault::TooDeep, _) => stack::too_deep().at(place),
        (Fault::Syntax, None) => Error::new(SqlState::SyntaxError, &*error.message).at(place),
        (Fault::Syntax, Some(hint)) => {
            Error::new(SqlState::SyntaxError, &*error.message).with_hint(hint).at(place)
        }
    }
}

/// What begins at a place may not stand there.
pub(crate) fn unexpected(text: &str, span: Span) -> Error {
    let place = place::at_span(text, span);
    let tokens = text.get(place.offset as usize..).and_then(|rest| syntax::tokens(rest).ok());
    let message = match tokens.as_ref().and_then(|tokens| tokens.first()) {
        Some(token) if token.kind != Kind::End => {
            let found = text.get(place.offset as usize..).map(|rest| token.span.of(rest));
            format!("syntax error at or near \"{}\"", shown(found.unwrap_or_default()))
        }
        _ => "syntax error at end of input".to_owned(),
    };
    Error::new(SqlState::SyntaxError, message).at(place)
}

fn shown(token: &str) -> String {
    if token.chars().count() > 40 {
        token.chars().take(40).chain("...".chars()).collect()
    } else {
        token.to_owned()
    }
}
