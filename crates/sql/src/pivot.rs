//! `PIVOT t ON ...` and `UNPIVOT t ON ...` as statements, in brackets and behind WITH: found among the tokens and made
//! a query of a table function, which the parser can read and `bind/pivot_statement.rs` binds.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::parse::is_word;
use crate::place;

/// The function that they are made into; no name that can be written.
pub(crate) const PIVOT_OF: &str = "pivot of a statement";

fn solid(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// Replaces each of them.
pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if !(is_word(&tokens[at], "pivot") || is_word(&tokens[at], "unpivot")) || !is_statement(tokens, at) {
            at += 1;
            continue;
        }
        let end = end_of(tokens, at);
        let place = |location: Location| place::location(text, location).map(|p| p.offset as usize);
        let last = (at..end).rev().find(|i| solid(&tokens[*i])).unwrap_or(at);
        let range = place(tokens[at].span.start).zip(place(tokens[last].span.end));
        let Some(own) = range.and_then(|(from, to)| text.get(from..to)) else {
            at += 1;
            continue;
        };
        // What is WITH before it belongs to the question for its values, too.
        let with = with_before(tokens, at).and_then(|from| {
            let (from, to) = (place(tokens[from].span.start)?, place(tokens[at].span.start)?);
            text.get(from..to)
        });
        let span = tokens[at].span;
        let make = |token: Token| TokenWithSpan { token, span };
        let call = [
            make(Token::make_keyword("SELECT")),
            make(Token::Mul),
            make(Token::make_keyword("FROM")),
            make(Token::make_word(PIVOT_OF, Some('"'))),
            make(Token::LParen),
            make(Token::SingleQuotedString(own.to_owned())),
            make(Token::Comma),
            make(Token::SingleQuotedString(with.unwrap_or_default().to_owned())),
            make(Token::RParen),
        ];
        let length = call.len();
        tokens.splice(at..end, call);
        at += length;
    }
}

/// Whether the word begins a statement and is no name, and no PIVOT behind a table.
fn is_statement(tokens: &[TokenWithSpan], at: usize) -> bool {
    let mut before = (0..at).rev().filter(|i| solid(&tokens[*i]));
    let next = (at + 1..tokens.len()).find(|i| solid(&tokens[*i]));
    // A table, a query or a file's name follows.
    let follows = next.is_some_and(|n| {
        matches!(tokens[n].token, Token::Word(_) | Token::LParen | Token::SingleQuotedString(_))
    });
    let has_on = tokens[at..end_of(tokens, at)].iter().any(|t| is_word(t, "on"));
    if !follows || !has_on {
        return false;
    }
    let Some(last) = before.next() else { return true };
    match &tokens[last].token {
        Token::LParen => true,
        Token::RParen => with_before(tokens, at).is_some(),
        Token::Word(_) => {
            let created = tokens.iter().find(|t| solid(t)).is_some_and(|t| is_word(t, "create"));
            ["explain", "analyze", "describe", "summarize"].iter().any(|w| is_word(&tokens[last], w))
                || (created && is_word(&tokens[last], "as"))
        }
        _ => false,
    }
}

/// Where the WITH begins whose common table expressions stand right before the token.
fn with_before(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut depth = 0;
    for i in (0..at).rev() {
        match &tokens[i].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return None,
            Token::LParen => depth -= 1,
            _ if depth == 0 && is_word(&tokens[i], "with") => return Some(i),
            _ if depth == 0 && ["select", "from"].iter().any(|w| is_word(&tokens[i], w)) => return None,
            _ => {}
        }
    }
    None
}

/// The token behind the statement: the bracket that closes around it, a semicolon, or the end.
fn end_of(tokens: &[TokenWithSpan], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return i,
            Token::RParen => depth -= 1,
            Token::SemiColon | Token::EOF if depth == 0 => return i,
            _ => {}
        }
    }
    tokens.len()
}
