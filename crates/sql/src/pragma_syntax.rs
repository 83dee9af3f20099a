//! PRAGMA and SET VARIABLE, DuckDB's words, as statements that there are.
//!
//! | statement | becomes |
//! | --- | --- |
//! | `SET VARIABLE x = e`, `RESET VARIABLE x` | `CALL set_variable('x', e)`, `CALL reset_variable('x')` |
//! | `PRAGMA table_info('t')`, `PRAGMA version` | `SELECT * FROM pragma_table_info('t')`, `... pragma_version()` |
//! | `PRAGMA show_tables` | `SHOW TABLES` |
//! | `PRAGMA threads = 4` | `SET workers = 4` |
//! | `PRAGMA enable_verification` | `CALL pragma('enable_verification')`, which does nothing |
//!
//! What does nothing are the switches of DuckDB's own tests, which change no answer. Every other PRAGMA is refused by its
//! name.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{Error, Result};

use crate::parse::is_word;
use crate::place;

/// PRAGMAs that list something: the functions `pragma_...` give their rows.
pub(crate) const LISTS: [&str; 9] = [
    "table_info",
    "database_list",
    "version",
    "platform",
    "collations",
    "functions",
    "database_size",
    "show",
    "user_agent",
];
/// Switches of DuckDB's tests and caches.
const NOTHING: [&str; 18] = [
    "enable_verification",
    "disable_verification",
    "verify_external",
    "disable_verify_external",
    "verify_parallelism",
    "disable_verify_parallelism",
    "verify_serializer",
    "disable_verify_serializer",
    "verify_fetch_row",
    "disable_verify_fetch_row",
    "enable_object_cache",
    "disable_object_cache",
    "enable_progress_bar",
    "enable_print_progress_bar",
    "disable_progress_bar",
    "disable_print_progress_bar",
    "enable_checkpoint_on_shutdown",
    "disable_checkpoint_on_shutdown",
];

pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let solid: Vec<TokenWithSpan> = tokens
        .iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF | Token::SemiColon))
        .cloned()
        .collect();
    let Some(first) = solid.first() else { return Ok(()) };
    let span = first.span;
    let made = match solid.as_slice() {
        [verb, variable, name, sign, value @ ..]
            if is_word(verb, "set")
                && is_word(variable, "variable")
                && (sign.token == Token::Eq || is_word(sign, "to"))
                && !value.is_empty() =>
        {
            let mut made = words("CALL set_variable (");
            made.extend([literal(name), Token::Comma]);
            made.extend(value.iter().map(|t| t.token.clone()));
            made.push(Token::RParen);
            // The value keeps its place, for errors.
            let before = made.len() - value.len() - 1;
            let spans = made.iter().enumerate();
            spans
                .map(|(at, token)| TokenWithSpan {
                    token: token.clone(),
                    span: at.checked_sub(before).and_then(|at| value.get(at)).map_or(span, |t| t.span),
                })
                .collect()
        }
        [verb, variable, name] if is_word(verb, "reset") && is_word(variable, "variable") => {
            let mut made = words("CALL reset_variable (");
            made.extend([literal(name), Token::RParen]);
            placed(made, span)
        }
        [verb, name, rest @ ..] if is_word(verb, "pragma") => match pragma(&solid, name, rest) {
            Some(made) => placed(made, span),
            None => {
                let error = Error::unsupported(format!("PRAGMA {} is not supported", name.token));
                let error = error.with_hint("SET name = value for settings, which SHOW ALL lists");
                return Err(place::at(error, text, name.span));
            }
        },
        _ => return Ok(()),
    };
    let end = tokens.last().filter(|t| t.token == Token::EOF).cloned();
    *tokens = made;
    tokens.extend(end);
    Ok(())
}

/// What a PRAGMA says in other words.
fn pragma(solid: &[TokenWithSpan], name: &TokenWithSpan, rest: &[TokenWithSpan]) -> Option<Vec<Token>> {
    let Token::Word(word) = &name.token else { return None };
    let name = word.value.to_lowercase();
    let assigned = match rest {
        [sign, value @ ..] if sign.token == Token::Eq && !value.is_empty() => Some(value),
        _ => None,
    };
    if let Some(value) = assigned {
        let setting = match name.as_str() {
            "threads" | "worker_threads" | "memory_limit" | "max_memory" | "schema" => name.as_str(),
            "temp_directory" | "search_path" | "timezone" | "default_null_order" => name.as_str(),
            "null_order" | "workers" => name.as_str(),
            _ => return None,
        };
        let mut made = words("SET");
        made.extend([Token::make_word(setting, None), Token::Eq]);
        made.extend(value.iter().map(|t| t.token.clone()));
        return Some(made);
    }
    let arguments: Vec<Token> = match rest {
        [] => vec![],
        [open, inner @ .., close] if open.token == Token::LParen && close.token == Token::RParen => {
            inner.iter().map(|t| t.token.clone()).collect()
        }
        _ => return None,
    };
    match name.as_str() {
        "show_tables" if arguments.is_empty() => Some(words("SHOW TABLES")),
        "show_databases" if arguments.is_empty() => Some(words("SHOW DATABASES")),
        "show_tables_expanded" if arguments.is_empty() => Some(words("SHOW ALL TABLES")),
        "checkpoint" | "force_checkpoint" if arguments.is_empty() => Some(words("CALL checkpoint ( )")),
        known if NOTHING.contains(&known) => {
            let mut made = words("CALL pragma (");
            made.extend([Token::SingleQuotedString(name.clone()), Token::RParen]);
            Some(made)
        }
        known if LISTS.contains(&known) => {
            let mut made = words("SELECT * FROM");
            made.extend([Token::make_word(&format!("pragma_{known}"), None), Token::LParen]);
            match arguments.as_slice() {
                [Token::Word(table)] => made.push(Token::SingleQuotedString(table.value.clone())),
                // A name of several parts.
                several if several.len() > 1 => {
                    let offset: String =
                        solid[3..solid.len() - 1].iter().map(|t| t.token.to_string()).collect();
                    made.push(Token::SingleQuotedString(offset));
                }
                other => made.extend(other.iter().cloned()),
            }
            made.push(Token::RParen);
            Some(made)
        }
        _ => None,
    }
}

fn literal(name: &TokenWithSpan) -> Token {
    let text = match &name.token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    };
    Token::SingleQuotedString(text)
}

fn placed(tokens: Vec<Token>, span: sqlparser::tokenizer::Span) -> Vec<TokenWithSpan> {
    tokens.into_iter().map(|token| TokenWithSpan { token, span }).collect()
}

/// Words and brackets, by the blanks between them.
fn words(text: &str) -> Vec<Token> {
    text.split(' ')
        .map(|word| match word {
            "(" => Token::LParen,
            ")" => Token::RParen,
            "*" => Token::Mul,
            word => Token::make_word(word, None),
        })
        .collect()
}
