//! What a syntax error is likely to come from: a comma too many or too few, an open bracket.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use types::Error;

use crate::dialect::Grammar;
use crate::place;

/// Words that follow a list, where a comma before them has nothing behind it.
const CLAUSES: [&str; 11] = [
    "from",
    "where",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "union",
    "qualify",
    "window",
    "intersect",
];

/// The error with a hint, where the text around its place suggests one.
pub(crate) fn of_syntax(text: &str, error: Error) -> Error {
    if error.hint().is_some() {
        return error;
    }
    match error.position().and_then(|at| hint(text, at.offset as usize)) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn word(token: &TokenWithSpan) -> Option<&str> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
        _ => None,
    }
}

fn hint(text: &str, offset: usize) -> Option<String> {
    let dialect = Grammar::new();
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location().ok()?;
    let tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF)).collect();
    let start = |token: &TokenWithSpan| place::location(text, token.span.start).map(|p| p.offset as usize);
    let at = tokens.iter().position(|t| start(t).is_some_and(|s| s >= offset)).unwrap_or(tokens.len());
    let here = tokens.get(at);
    let before = at.checked_sub(1).and_then(|b| tokens.get(b));
    let here_word = here.and_then(word);
    if before.is_some_and(|t| t.token == Token::Comma) {
        let ends = here_word.is_some_and(|w| CLAUSES.contains(&w.to_lowercase().as_str()));
        if ends || here.is_none_or(|t| t.token == Token::RParen) {
            let shown = here.map_or_else(|| "the end".to_owned(), |t| format!("\"{}\"", t.token));
            return Some(format!("there is nothing between the comma and {shown}"));
        }
    }
    let count = |wanted: &Token| tokens.iter().filter(|t| t.token == *wanted).count();
    let (opened, closed) = (count(&Token::LParen), count(&Token::RParen));
    if here.is_none() && opened > closed {
        return Some(format!(
            "{} more bracket{} opened than closed",
            opened - closed,
            if opened - closed == 1 { " is" } else { "s are" }
        ));
    }
    if here.is_some_and(|t| t.token == Token::RParen) && closed > opened {
        return Some("there is a closing bracket too many".to_owned());
    }
    let value = |t: &TokenWithSpan| {
        word(t).is_some()
            || matches!(t.token, Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen)
    };
    let named = here_word.filter(|w| !CLAUSES.contains(&w.to_lowercase().as_str()));
    match (before.filter(|t| value(t)), named) {
        (Some(_), Some(name)) => Some(format!("a comma or an operator may be missing before \"{name}\"")),
        _ => None,
    }
}
