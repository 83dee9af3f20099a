//! `FROM t` for `SELECT * FROM t`, wherever a query may begin. `FROM t SELECT a` the parser reads itself.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::parse::is_word;

/// Words after which a query begins. DISTINCT is none of them: mostly it is that of IS DISTINCT FROM.
const BEFORE: [&str; 9] =
    ["as", "union", "all", "except", "intersect", "explain", "analyze", "describe", "summarize"];

/// What is known of the brackets around a place.
#[derive(Clone, Copy, Default)]
struct Around {
    /// It began with WITH or INSERT, so its query may begin behind a bracket or a name.
    prefixed: Prefix,
    selected: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Prefix {
    #[default]
    None,
    With,
    Insert,
}

/// Puts `SELECT *` before each FROM that begins a query and has no SELECT of its own.
pub(crate) fn complete(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| is_word(t, "from")) {
        return;
    }
    let mut inserted = Vec::new();
    let mut around = vec![Around::default()];
    let mut before: Option<usize> = None;
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        let here = around.len() - 1;
        let first = before.is_none_or(|b| tokens[b].token == Token::LParen);
        match &token.token {
            Token::LParen => around.push(Around::default()),
            Token::RParen if here > 0 => drop(around.pop()),
            _ if is_word(token, "with") && first => around[here].prefixed = Prefix::With,
            _ if is_word(token, "insert") && first => around[here].prefixed = Prefix::Insert,
            _ if is_word(token, "select") => around[here].selected = true,
            _ if is_word(token, "from") => {
                let Around { prefixed, selected } = around[here];
                let begins = match before {
                    None => true,
                    Some(b) if tokens[b].token == Token::LParen => !of_trim(tokens, b),
                    Some(b) if BEFORE.iter().any(|word| is_word(&tokens[b], word)) => true,
                    Some(b) => {
                        let named = matches!(tokens[b].token, Token::Word(_));
                        let closed = tokens[b].token == Token::RParen;
                        !selected
                            && match prefixed {
                                Prefix::None => false,
                                Prefix::With => closed,
                                Prefix::Insert => closed || named,
                            }
                    }
                };
                around[here].selected = true;
                if begins && !selects(&tokens[at + 1..]) {
                    inserted.push(at);
                }
            }
            _ => {}
        }
        before = Some(at);
    }
    for at in inserted.into_iter().rev() {
        let span = tokens[at].span;
        let own = |token: Token| TokenWithSpan { token, span };
        tokens.splice(at..at, [own(Token::make_keyword("SELECT")), own(Token::Mul)]);
    }
}

/// `trim(FROM x)`.
fn of_trim(tokens: &[TokenWithSpan], bracket: usize) -> bool {
    let name = tokens[..bracket].iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
    name.is_some_and(|name| is_word(name, "trim"))
}

/// Whether SELECT follows in the same brackets and the same part of a set operation.
fn selects(rest: &[TokenWithSpan]) -> bool {
    let mut depth = 0_i32;
    for token in rest {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 && word.quote_style.is_none() => match word.keyword {
                Keyword::SELECT => return true,
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => return false,
                _ => {}
            },
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    false
}
