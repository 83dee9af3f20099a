//! How statements are written, for errors of those that cannot be read.

use syntax::{Keyword, Keyword as K, Kind, SyntaxError};
use types::Error;

use crate::syntax_errors::syntax_error_of;

/// The form of ATTACH, for hints.
pub(super) const ATTACH: &str = "write ATTACH 'path' [AS name] [(READ_ONLY)]";
/// The form of COPY FROM DATABASE, for hints.
pub(super) const COPY: &str = "write COPY FROM DATABASE name TO name [(SCHEMA)]";
/// The form of DROP FUNCTION, for hints.
pub(super) const DROP_FUNCTION: &str = "write DROP FUNCTION name";
/// The form of DROP MACRO, for hints.
pub(super) const DROP_MACRO: &str = "write DROP MACRO name";
/// The form of CREATE MACRO, for hints.
pub(super) const MACRO: &str = "a macro is CREATE [OR REPLACE] MACRO name(parameter, ...) AS [TABLE] body";
/// The form of CREATE TYPE, for hints.
pub(super) const TYPE: &str = "a type is CREATE TYPE name AS ENUM ('label', ...)";

/// The error of a text that begins as one of these statements and is none, with how the statement is written.
pub(crate) fn fault(text: &str, error: &SyntaxError) -> Option<Error> {
    let tokens = syntax::tokens(text).ok()?;
    let begin = tokens.iter().take_while(|token| token.kind == Kind::Word).map(|token| token.keyword);
    let form = form_of(begin)?;
    let told = syntax_error_of(text, error);
    // What is wrong behind these words is not the form of the statement.
    let kept = tokens
        .iter()
        .any(|token| matches!(token.keyword, K::AS | K::RETURN) && token.span.start < error.span.start);
    let of_form = error.message.starts_with("syntax error") && (told.hint().is_none() || !kept);
    Some(if of_form { told.with_hint(form) } else { told })
}

fn form_of(mut words: impl Iterator<Item = Keyword>) -> Option<&'static str> {
    const BETWEEN: [Keyword; 4] = [K::OR, K::REPLACE, K::TEMPORARY, K::TEMP];
    match words.next()? {
        K::ATTACH => Some(ATTACH),
        K::DETACH => Some("write DETACH [IF EXISTS] name"),
        K::COPY => (words.next() == Some(K::FROM) && words.next() == Some(K::DATABASE)).then_some(COPY),
        K::CREATE => match words.find(|word| !BETWEEN.contains(word))? {
            K::MACRO => Some(MACRO),
            K::FUNCTION => {
                Some("write CREATE FUNCTION name(parameter type, ...) RETURNS type RETURN expression")
            }
            K::TYPE => Some(TYPE),
            K::SEQUENCE => Some("write CREATE SEQUENCE name [START number] [INCREMENT number]"),
            _ => None,
        },
        K::ALTER => (words.next() == Some(K::SEQUENCE)).then_some("write ALTER SEQUENCE name RESTART"),
        K::DROP => match words.next()? {
            K::MACRO => Some(DROP_MACRO),
            K::FUNCTION => Some(DROP_FUNCTION),
            K::SEQUENCE => Some("write DROP SEQUENCE name"),
            _ => None,
        },
        _ => None,
    }
}
