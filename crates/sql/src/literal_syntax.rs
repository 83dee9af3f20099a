//! Literals that the parser does not know, as ones that it does.
//!
//! ```text
//!  0xff                                   ->  the number 0xff (the parser takes it for a string of bytes)
//!  X'ff'                                  ->  '\\xff'::bytea
//!  0b101, 0o17                            ->  the number, which the parser takes for 0 and a name
//!  'a' and 'b' on the next line           ->  'ab'
//!  INTERVAL(2) '1.255 seconds'            ->  '1.255 seconds'::INTERVAL(2) (the parser forgets the 2)
//!  INTERVAL (2) DAY                       ->  INTERVAL 2 DAY (the parser takes the 2 for a precision)
//!  INTERVAL 2 centuries                   ->  INTERVAL 2 CENTURY (the parser takes the unit for an alias)
//!  TABLE t, at the beginning              ->  FROM t
//! ```

use std::collections::HashMap;

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use types::{Error, Result, SqlState};

use crate::parse::is_word;
use crate::place;

pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    take_table(tokens);
    join_numbers(text, tokens)?;
    join_continued(text, tokens)?;
    take_literals(tokens);
    take_precisions(tokens);
    take_units(tokens);
    Ok(())
}

/// Reads `0b101` and `0o17` as numbers. A number that runs into a name is an error, as in PostgreSQL since 15: read
/// apart, `SELECT 123abc` would be 123 under the name `abc`.
fn join_numbers(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let runs_on = |pair: &[TokenWithSpan]| {
        let number = match &pair[0].token {
            Token::Number(_, long) => return *long || (is_name(&pair[1].token) && touch(pair)),
            Token::HexStringLiteral(digits) => is_number(&pair[0], digits),
            _ => false,
        };
        number && is_name(&pair[1].token) && touch(pair)
    };
    if !tokens.windows(2).any(runs_on) {
        return Ok(());
    }
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let pair = tokens.get(at..at + 2).unwrap_or_default();
        if pair.len() < 2 || !runs_on(pair) {
            joined.push(token.clone());
            at += 1;
            continue;
        }
        let word = if let Token::Word(word) = &pair[1].token { word.value.as_str() } else { "" };
        let digits = |radix: u32| {
            let digits = word.get(1..).unwrap_or_default();
            let single = !digits.ends_with('_') && !digits.contains("__");
            single && !digits.is_empty() && digits.chars().all(|c| c == '_' || c.is_digit(radix))
        };
        let zero = matches!(&pair[0].token, Token::Number(number, false) if number == "0");
        let of_radix = match word.bytes().next() {
            Some(b'b' | b'B') => digits(2),
            Some(b'o' | b'O') => digits(8),
            _ => false,
        };
        if !(zero && of_radix) {
            let shown: String = pair.iter().map(|t| t.token.to_string()).collect();
            let error = Error::new(
                SqlState::SyntaxError,
                format!("trailing junk after numeric literal at or near \"{shown}\""),
            )
            .with_hint("a blank or an operator separates a number from a name");
            return Err(place::at(error, text, token.span));
        }
        let span = token.span.union(&pair[1].span);
        joined.push(TokenWithSpan { token: Token::Number(format!("0{word}"), false), span });
        at += 2;
    }
    *tokens = joined;
    Ok(())
}

fn is_name(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none())
}

fn touch(pair: &[TokenWithSpan]) -> bool {
    pair[0].span.end == pair[1].span.start
}

/// Joins a quoted text with those that go on with it on later lines; on the same line the second one is an error.
fn join_continued(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let plain = |token: &Token| matches!(token, Token::SingleQuotedString(_));
    let begins = |token: &Token| plain(token) || matches!(token, Token::EscapedStringLiteral(_));
    // Most statements have no two texts with nothing but blanks between them.
    let mut before = false;
    let mut any = false;
    for token in tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))) {
        any |= before && plain(&token.token);
        before = begins(&token.token);
    }
    if !any {
        return Ok(());
    }
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Where among `joined` the text before stands, if only blanks came since.
    let mut open: Option<usize> = None;
    for token in tokens.drain(..) {
        if let (Some(at), Token::SingleQuotedString(more)) = (open, &token.token) {
            if joined[at].span.end.line == token.span.start.line {
                let shown = token.token.to_string();
                let message = format!("syntax error at or near \"{shown}\"");
                let error = Error::new(SqlState::SyntaxError, message)
                    .with_hint("a quoted text goes on in another one on the next line only; || joins texts");
                return Err(place::at(error, text, token.span));
            }
            if let Token::SingleQuotedString(whole) | Token::EscapedStringLiteral(whole) =
                &mut joined[at].token
            {
                whole.push_str(more);
            }
            joined[at].span.end = token.span.end;
            joined.truncate(at + 1);
            continue;
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            open = begins(&token.token).then_some(joined.len());
        }
        joined.push(token);
    }
    *tokens = joined;
    Ok(())
}

fn take_literals(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| matches!(t.token, Token::HexStringLiteral(_))) {
        return;
    }
    // In one go, as there may be as many of them as there are rows in an INSERT.
    let mut taken = Vec::with_capacity(tokens.len());
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
            _ => taken.push(token.clone()),
        }
    }
    *tokens = taken;
}

/// Puts the type of `INTERVAL(2) '...'` behind the text.
fn take_precisions(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| is_word(t, "interval")) {
        return;
    }
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut ends = Vec::new();
    for five in solid.windows(5) {
        let token = |at: usize| &tokens[five[at]].token;
        let written = is_word(&tokens[five[0]], "interval")
            && *token(1) == Token::LParen
            && matches!(token(2), Token::Number(..))
            && *token(3) == Token::RParen
            && matches!(token(4), Token::SingleQuotedString(_));
        if written {
            let (number, text) = (token(2).clone(), token(4).clone());
            let moved = [text, Token::DoubleColon, Token::make_keyword("INTERVAL"), Token::LParen, number];
            for (place, token) in five.iter().zip(moved) {
                tokens[*place].token = token;
            }
            ends.push(five[4]);
        }
    }
    for end in ends.into_iter().rev() {
        let span = tokens[end].span;
        tokens.insert(end + 1, TokenWithSpan { token: Token::RParen, span });
    }
}

/// The keyword of a unit that the parser does not know in the plural.
fn singular(token: &TokenWithSpan) -> Option<&'static str> {
    const PLURALS: [(&str, &str); 6] = [
        ("quarters", "QUARTER"),
        ("decades", "DECADE"),
        ("centuries", "CENTURY"),
        ("millennia", "MILLENNIUM"),
        ("millenniums", "MILLENNIUM"),
        ("millenia", "MILLENNIUM"),
    ];
    PLURALS.into_iter().find(|(plural, _)| is_word(token, plural)).map(|(_, unit)| unit)
}

fn is_unit(token: &TokenWithSpan) -> bool {
    const UNITS: [&str; 12] = [
        "year",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "quarter",
        "decade",
        "millennium",
    ];
    let Token::Word(word) = &token.token else { return false };
    let word = word.value.to_ascii_lowercase();
    let one = word.strip_suffix('s').unwrap_or(&word);
    singular(token).is_some() || one == "century" || UNITS.contains(&one)
}

/// Lets a unit stand behind a number in parentheses, and in the plural. Behind a text it may be an alias, in PostgreSQL.
fn take_units(tokens: &mut [TokenWithSpan]) {
    if !tokens.iter().any(|t| is_word(t, "interval")) {
        return;
    }
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    // Which parenthesis closes another.
    let (mut open, mut closed) = (Vec::new(), HashMap::new());
    for (at, place) in solid.iter().enumerate() {
        match tokens[*place].token {
            Token::LParen => open.push(at),
            Token::RParen => {
                if let Some(opened) = open.pop() {
                    closed.insert(opened, at);
                }
            }
            _ => {}
        }
    }
    for (at, first) in solid.iter().enumerate() {
        if !is_word(&tokens[*first], "interval") {
            continue;
        }
        let token = |behind: usize| solid.get(at + behind).map(|place| &tokens[*place].token);
        let number = |behind: usize| matches!(token(behind), Some(Token::Number(..)));
        let unit = match (token(1), token(2), token(3)) {
            (Some(Token::LParen), _, Some(Token::RParen)) if number(2) => {
                let Some(unit) = solid.get(at + 4).filter(|unit| is_unit(&tokens[**unit])) else { continue };
                for place in [solid[at + 1], solid[at + 3]] {
                    tokens[place].token = Token::Whitespace(Whitespace::Space);
                }
                *unit
            }
            (Some(Token::LParen), ..) => {
                let Some(unit) = closed.get(&(at + 1)).and_then(|close| solid.get(close + 1)) else {
                    continue;
                };
                *unit
            }
            (Some(Token::Minus), ..) if number(2) => match solid.get(at + 3) {
                Some(unit) => *unit,
                None => continue,
            },
            (Some(Token::Number(..)), Some(_), _) => solid[at + 2],
            _ => continue,
        };
        if let Some(keyword) = singular(&tokens[unit]) {
            tokens[unit].token = Token::make_keyword(keyword);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Grammar;
    use sqlparser::tokenizer::Tokenizer;

    fn taken(text: &str) -> Vec<TokenWithSpan> {
        let grammar = Grammar::new();
        let mut tokens = Vec::new();
        Tokenizer::new(&grammar, text).tokenize_with_location_into_buf(&mut tokens).unwrap();
        take(text, &mut tokens).unwrap();
        tokens
    }

    fn shown(text: &str) -> String {
        taken(text).iter().map(|t| t.token.to_string()).collect()
    }

    #[test]
    fn literals_become_ones_that_the_parser_knows() {
        assert_eq!(shown("SELECT 0xfF, X'fF', x''"), "SELECT 0xfF, '\\xfF'::BYTEA, '\\x'::BYTEA");
        assert_eq!(shown("\n  0x1+\n X'01'"), "\n  0x1+\n '\\x01'::BYTEA");
        assert_eq!(shown(" TABLE t"), " FROM t");
        assert_eq!(shown("INTERVAL(2) '1.255', INTERVAL (2) DAY"), "'1.255'::INTERVAL( 2), INTERVAL  2  DAY");
        assert_eq!(
            shown("INTERVAL (2) x, INTERVAL (a+(1)) decades"),
            "INTERVAL (2) x, INTERVAL (a+(1)) DECADE"
        );
        assert_eq!(
            shown("INTERVAL 2 centuries, INTERVAL -1 quarters, INTERVAL '2' centuries"),
            "INTERVAL 2 CENTURY, INTERVAL -1 QUARTER, INTERVAL '2' centuries"
        );
        assert_eq!(shown("0b101 + 0O1_7, 1_000"), "0b101 + 0O1_7, 1_000");
        assert_eq!(shown("'a'\n  'b' -- c\n 'd', 'e'"), "'abd', 'e'");
    }

    #[test]
    fn many_literals_are_taken_in_one_go() {
        let text = "(x'00', 0xff, 1),\n".repeat(100_000);
        let begun = std::time::Instant::now();
        assert!(taken(&text).len() > 1_000_000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    }
}
