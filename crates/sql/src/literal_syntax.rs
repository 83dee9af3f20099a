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

pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) {
    take_table(tokens);
    if !tokens.iter().any(|t| matches!(t.token, Token::HexStringLiteral(_)) || is_word(t, "interval")) {
        return;
    }
    // In one go, as there may be as many of them as there are rows in an INSERT.
    let mut taken = Vec::with_capacity(tokens.len());
    let mut before: Option<Token> = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let span = token.span;
        let own = |token: Token| TokenWithSpan { token, span };
        at += 1;
        match &token.token {
            Token::HexStringLiteral(digits) if is_number(token, digits) => {
                taken.push(own(Token::Number(format!("0x{digits}"), false)));
            }
            Token::HexStringLiteral(digits) => {
                let bytes = Token::SingleQuotedString(format!("\\x{digits}"));
                taken.extend([bytes, Token::DoubleColon, Token::make_keyword("BYTEA")].map(own));
            }
            Token::Word(word) if word.keyword == Keyword::INTERVAL => {
                let sign = before.as_ref().filter(|sign| matches!(sign, Token::Plus | Token::Minus));
                match sign.zip(parts_of_interval(tokens, at)) {
                    Some((sign, (value, parts))) => {
                        let [months, rest] = parts.map(Token::SingleQuotedString);
                        let interval = || Token::make_keyword("INTERVAL");
                        taken.extend([interval(), months, sign.clone(), interval(), rest].map(own));
                        at = value + 1;
                    }
                    None => taken.push(token.clone()),
                }
            }
            _ => taken.push(token.clone()),
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            before = taken.last().map(|last| last.token.clone());
        }
    }
    *tokens = taken;
}

/// Whether it was written `0xff`, and not `X'ff'`, which is a character longer.
fn is_number(token: &TokenWithSpan, digits: &str) -> bool {
    let (begin, end) = (token.span.start, token.span.end);
    begin.line == end.line && end.column - begin.column == digits.chars().count() as u64 + 2
}

/// Makes FROM of a leading TABLE: `SELECT *` is put before it later.
fn take_table(tokens: &mut [TokenWithSpan]) {
    let first = tokens.iter_mut().find(|t| !matches!(t.token, Token::Whitespace(_)));
    if let Some(first) = first.filter(|t| is_word(t, "table")) {
        first.token = Token::make_keyword("FROM");
    }
}

/// Where the value of the INTERVAL before `at` stands, and its months and the rest of it, if it has both.
fn parts_of_interval(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, [String; 2])> {
    let solid =
        |from: usize| (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let value = solid(at)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Grammar;
    use sqlparser::tokenizer::Tokenizer;

    fn taken(text: &str) -> Vec<TokenWithSpan> {
        let grammar = Grammar::new();
        let mut tokens = Vec::new();
        Tokenizer::new(&grammar, text).tokenize_with_location_into_buf(&mut tokens).unwrap();
        take(&mut tokens);
        tokens
    }

    fn shown(text: &str) -> String {
        taken(text).iter().map(|t| t.token.to_string()).collect()
    }

    #[test]
    fn literals_become_ones_that_the_parser_knows() {
        assert_eq!(shown("SELECT 0xfF, X'fF', x''"), "SELECT 0xfF, '\\xfF'::BYTEA, '\\x'::BYTEA");
        assert_eq!(shown("\n  0x1+\n X'01'"), "\n  0x1+\n '\\x01'::BYTEA");
        assert_eq!(
            shown("a - INTERVAL '1 month 1 day' + b"),
            "a - INTERVAL'1 months'-INTERVAL'86400000000 microseconds' + b"
        );
        for same in ["a + INTERVAL '1 month'", "INTERVAL '1 month 1 day'", "a + INTERVAL '1 month 1 day' * 2"]
        {
            assert_eq!(shown(same), same);
        }
        assert_eq!(shown(" TABLE t"), " FROM t");
    }

    #[test]
    fn many_literals_are_taken_in_one_go() {
        let text = "(x'00', a + INTERVAL '1 month 1 day'),\n".repeat(100_000);
        let begun = std::time::Instant::now();
        assert!(taken(&text).len() > 1_000_000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    }
}
