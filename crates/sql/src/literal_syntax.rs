//! Literals that the parser does not know, as ones that it does.
//!
//! ```text
//!  0xff                                   ->  the number 0xff (the parser takes it for a string of bytes)
//!  X'ff'                                  ->  '\\xff'::bytea
//!  a + INTERVAL '1 month 3 days'          ->  a + INTERVAL '1 month' + INTERVAL '259200000000 microseconds'
//!  TABLE t, at the beginning              ->  FROM t
//! ```
//!
//! An interval has either months or days and less here; where one of both is added or subtracted, the parts are, months
//! first, as PostgreSQL does it.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::datetime::parse_interval;

use crate::parse::is_word;
use crate::place;

pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) {
    take_table(tokens);
    let mut before: Option<Token> = None;
    let mut at = 0;
    while at < tokens.len() {
        let span = tokens[at].span;
        let own = |token: Token| TokenWithSpan { token, span };
        match &tokens[at].token {
            Token::Whitespace(_) => {
                at += 1;
                continue;
            }
            Token::HexStringLiteral(digits) => {
                let begins = place::location(text, span.start).map_or(0, |place| place.offset as usize);
                if text.get(begins..).is_some_and(|rest| rest.starts_with('0')) {
                    tokens[at].token = Token::Number(format!("0x{digits}"), false);
                } else {
                    let bytes = format!("\\x{digits}");
                    let cast = [
                        own(Token::SingleQuotedString(bytes)),
                        own(Token::DoubleColon),
                        own(Token::make_keyword("BYTEA")),
                    ];
                    tokens.splice(at..=at, cast);
                    at += 2;
                }
            }
            Token::Word(word) if word.keyword == Keyword::INTERVAL => {
                if let Some(sign @ (Token::Plus | Token::Minus)) = &before
                    && let Some((value, parts)) = parts_of_interval(tokens, at)
                {
                    let [months, rest] = parts.map(Token::SingleQuotedString);
                    let interval = || own(Token::make_keyword("INTERVAL"));
                    let split = [interval(), own(months), own(sign.clone()), interval(), own(rest)];
                    tokens.splice(at..=value, split);
                    at += 4;
                }
            }
            _ => {}
        }
        before = Some(tokens[at].token.clone());
        at += 1;
    }
}

/// Makes FROM of a leading TABLE: `SELECT *` is put before it later.
fn take_table(tokens: &mut [TokenWithSpan]) {
    let first = tokens.iter_mut().find(|t| !matches!(t.token, Token::Whitespace(_)));
    if let Some(first) = first.filter(|t| is_word(t, "table")) {
        first.token = Token::make_keyword("FROM");
    }
}

/// Where the value of the INTERVAL at `at` stands, and its months and the rest of it, if it has both.
fn parts_of_interval(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, [String; 2])> {
    let solid =
        |from: usize| (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let value = solid(at + 1)?;
    let Token::SingleQuotedString(text) = &tokens[value].token else { return None };
    // A factor would belong to the last part alone, and a field says what the number counts.
    let next = solid(value + 1).map(|next| &tokens[next].token);
    if matches!(next, Some(Token::Mul | Token::Div | Token::Mod | Token::DoubleColon | Token::Caret)) {
        return None;
    }
    if let Some(Token::Word(word)) = next
        && matches!(
            word.keyword,
            Keyword::YEAR | Keyword::MONTH | Keyword::DAY | Keyword::HOUR | Keyword::MINUTE | Keyword::SECOND
        )
    {
        return None;
    }
    let (months, micros) = parse_interval(text)?;
    let parts = [format!("{months} months"), format!("{micros} microseconds")];
    (months != 0 && micros != 0).then_some((value, parts))
}
