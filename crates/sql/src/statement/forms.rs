//! How statements are written, for errors of those that cannot be read.

use syntax::{Keyword, Keyword as K, Kind, SyntaxError};
use types::Error;

use super::{attach, drop, function, user_type};
use crate::parse;

/// The error of a text that begins as one of these statements and is none, with how the statement is written.
pub(crate) fn fault(text: &str, error: &SyntaxError) -> Option<Error> {
    let tokens = syntax::tokens(text).ok()?;
    let begin = tokens.iter().take_while(|token| token.kind == Kind::Word).map(|token| token.keyword);
    let form = form_of(begin)?;
    let told = parse::syntax_error_of(text, error);
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
        K::ATTACH => Some(attach::ATTACH),
        K::DETACH => Some("write DETACH [IF EXISTS] name"),
        K::COPY => {
            (words.next() == Some(K::FROM) && words.next() == Some(K::DATABASE)).then_some(attach::COPY)
        }
        K::CREATE => match words.find(|word| !BETWEEN.contains(word))? {
            K::MACRO => Some(function::MACRO),
            K::FUNCTION => {
                Some("write CREATE FUNCTION name(parameter type, ...) RETURNS type RETURN expression")
            }
            K::TYPE => Some(user_type::FORM),
            K::SEQUENCE => Some("write CREATE SEQUENCE name [START number] [INCREMENT number]"),
            _ => None,
        },
        K::ALTER => (words.next() == Some(K::SEQUENCE)).then_some("write ALTER SEQUENCE name RESTART"),
        K::DROP => match words.next()? {
            K::MACRO => Some(drop::DROP_MACRO),
            K::FUNCTION => Some(drop::DROP_FUNCTION),
            K::SEQUENCE => Some("write DROP SEQUENCE name"),
            _ => None,
        },
        _ => None,
    }
}
