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
    if let Some(hint) = idiom(&tokens, at) {
        return Some(hint);
    }
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

/// What was meant by something that other systems have, or that is often written so.
fn idiom(tokens: &[TokenWithSpan], at: usize) -> Option<String> {
    let token = |back: usize| at.checked_sub(back).and_then(|place| tokens.get(place));
    let is = |token: Option<&TokenWithSpan>, wanted: &str| {
        token.and_then(word).is_some_and(|word| word.eq_ignore_ascii_case(wanted))
    };
    let (here, before) = (tokens.get(at), token(1));
    let kind = here.map(|token| &token.token);
    let name = here.and_then(word);
    let said = match () {
        () if matches!(kind, Some(Token::Char('`'))) => {
            "names that are no plain words stand in double quotes".to_owned()
        }
        () if is(before, "using") && name.is_some() && !is(here, "sample") => {
            format!("USING takes names in brackets: USING ({})", name.unwrap_or_default())
        }
        () if tokens.first().is_some_and(|t| is(Some(t), "copy"))
            && (is(before, "to") || is(before, "from")) =>
        {
            "a file's path stands in single quotes".to_owned()
        }
        () if kind == Some(&Token::Mul) && before.is_some_and(|t| t.token == Token::Mul) => {
            "powers are written a ^ b".to_owned()
        }
        () if kind == Some(&Token::LBracket) && is(before, "in") => {
            "IN takes values in round brackets: IN (1, 2)".to_owned()
        }
        () if is(here, "for") && tokens[..at].iter().any(|t| t.token == Token::LBracket) => {
            "write list_transform(list, x -> expression), and list_filter(list, x -> condition) for IF"
                .to_owned()
        }
        () if kind == Some(&Token::Comma) && is(token(2), "limit") => {
            "write LIMIT count OFFSET rows_to_skip".to_owned()
        }
        () if here.is_none() && before.is_some_and(|t| t.token == Token::Mod) && is(token(3), "limit") => {
            "USING SAMPLE 10% takes a part of the rows".to_owned()
        }
        () if is(before, "select") && token(2).is_some_and(|t| t.token == Token::Comma) => {
            "there is nothing between the comma and \"SELECT\"".to_owned()
        }
        () if matches!(kind, Some(Token::SingleQuotedString(_)))
            && (is(before, "like") || is(before, "ilike"))
            && token(2).is_some_and(|t| t.token == Token::Mul) =>
        {
            "write SELECT * ILIKE 'pattern', or SELECT COLUMNS('regular expression')".to_owned()
        }
        () if is(here, "isnull") => "write IS NULL".to_owned(),
        () if is(before, "is") || (is(before, "not") && is(token(2), "is")) => {
            format!(
                "IS is for NULL, TRUE and FALSE; others are compared by {}",
                if is(before, "is") { "=" } else { "<>" }
            )
        }
        () if is(token(3), "filter")
            && token(2).is_some_and(|t| t.token == Token::LParen)
            && !is(before, "where") =>
        {
            "write FILTER (WHERE condition)".to_owned()
        }
        () if kind == Some(&Token::LParen)
            && before.and_then(word).is_some()
            && token(2)
                .and_then(word)
                .is_some_and(|word| !CLAUSES.contains(&word.to_lowercase().as_str())) =>
        {
            let name = before.and_then(word).unwrap_or_default();
            format!("a comma or an operator may be missing before \"{name}\"")
        }
        () if kind == Some(&Token::Comma) && tokens[..at].iter().any(|t| is(Some(t), "where")) => {
            "conditions are joined by AND; several values stand in brackets: IN (1, 2)".to_owned()
        }
        () if is(tokens.first(), "delete") && at == 2 => "write DELETE FROM".to_owned(),
        () if is(before, "in") && name.is_some() => {
            format!("write list_contains({0}, value), or value = ANY ({0})", name.unwrap_or_default())
        }
        () if is(here, "contains") => "write list_contains(list, value), or contains(text, part)".to_owned(),
        () if is(tokens.first(), "create") && is(tokens.get(1), "function") => {
            "write CREATE MACRO name(x) AS expression".to_owned()
        }
        () => return None,
    };
    Some(said)
}
