//! From a statement's text to the parser's syntax tree, and from the parser's errors to ours.

use sqlparser::ast::Statement;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use types::{Error, Result, SqlState};

use crate::dialect::Grammar;
use crate::{place, stack};

/// Nested brackets, subqueries and unary operators the parser may be in at once. Chains of binary operators do not
/// count: they are parsed in a loop.
const RECURSION_MAX: usize = 400;

/// Parses exactly one statement.
pub(crate) fn statement(text: &str) -> Result<Statement> {
    let dialect = Grammar(PostgreSqlDialect {});
    let mut tokens = Vec::with_capacity(text.len() / 4 + 8);
    Tokenizer::new(&dialect, text).tokenize_with_location_into_buf(&mut tokens).map_err(|e| {
        let error = Error::new(SqlState::SyntaxError, e.message.clone());
        match place::location(text, e.location) {
            Some(at) => error.at(at),
            None => error,
        }
    })?;
    refuse_exponential(text, &tokens)?;
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(RECURSION_MAX).with_tokens_with_locations(tokens);
    let statement = parser.parse_statement().map_err(|e| syntax_error(text, e))?;
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(statement);
    }
    Err(place::at(
        Error::new(
            SqlState::SyntaxError,
            format!("syntax error at or near \"{}\"", shown(&next.token.to_string())),
        ),
        text,
        next.span,
    ))
}

/// The parser tries a bracket after FROM, JOIN or a comma in several ways, each of which parses what is inside, so its
/// time doubles with every directly nested bracket. Nobody writes a dozen of them.
fn refuse_exponential(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    const NESTED_MAX: usize = 12;
    let mut run = 0;
    let mut after_from = false;
    for token in tokens {
        match &token.token {
            Token::LParen => {
                run += 1;
                if run > NESTED_MAX && after_from {
                    return Err(place::at(stack::too_deep(), text, token.span));
                }
            }
            Token::Whitespace(_) => {}
            Token::Word(word) => {
                if run == 0 || !word.value.eq_ignore_ascii_case("select") {
                    after_from =
                        word.value.eq_ignore_ascii_case("from") || word.value.eq_ignore_ascii_case("join");
                }
                run = 0;
            }
            Token::Comma => run = 0,
            _ => {
                run = 0;
                after_from = false;
            }
        }
    }
    Ok(())
}

fn syntax_error(text: &str, error: ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => stack::too_deep(),
        ParserError::TokenizerError(message) => Error::new(SqlState::SyntaxError, message),
        ParserError::ParserError(message) => {
            let (message, location) = strip_location(&message);
            let position = match location {
                Some(at) => place::location(text, at).unwrap_or_else(|| place::end(text)),
                None => place::end(text),
            };
            Error::new(SqlState::SyntaxError, reworded(message)).at(position)
        }
    }
}

/// Cuts ` at Line: 1, Column: 8` off a message.
fn strip_location(message: &str) -> (&str, Option<Location>) {
    let Some(at) = message.rfind(" at Line: ") else { return (message, None) };
    let numbers = &message[at + " at Line: ".len()..];
    let Some((line, column)) = numbers.split_once(", Column: ") else { return (message, None) };
    match (line.trim().parse(), column.trim().parse()) {
        (Ok(line), Ok(column)) => (&message[..at], Some(Location { line, column })),
        _ => (message, None),
    }
}

/// `Expected: x, found: y` in PostgreSQL's words first.
fn reworded(message: &str) -> String {
    match message.strip_prefix("Expected: ").and_then(|m| m.rsplit_once(", found: ")) {
        Some((expected, "EOF")) => format!("syntax error at end of input: expected {expected}"),
        Some((expected, found)) => {
            format!("syntax error at or near \"{}\": expected {expected}", shown(found))
        }
        None => message.trim_start_matches("sql parser error: ").to_owned(),
    }
}

fn shown(token: &str) -> String {
    if token.chars().count() > 40 {
        token.chars().take(40).chain("...".chars()).collect()
    } else {
        token.to_owned()
    }
}
