//! From SQL text to a syntax tree of our own, and back.
//!
//! ```text
//!  text -> lex (tokens, one pass) -> parse (recursive descent, precedence climbing) -> tree -> print -> text
//! ```
//! The grammar is PostgreSQL's with what DuckDB's users write, and this engine's own statements. A tree says what the text
//! says and resolves nothing: names, types and functions are the binder's. Every node that an error may point at has a
//! span. `parse(print(tree)) = tree` holds for every tree that was parsed.
//!
//! Time is linear in the text; the depth of a tree is limited, so that it can be walked by recursion.
#![forbid(unsafe_code)]

mod error;
mod hint;
mod keyword;
mod lex;
mod parse;
mod print;
mod span;
mod token;
pub mod tree;

pub use error::{Fault, SyntaxError};
pub use keyword::Keyword;
pub use span::Span;
pub use token::{Kind, Token};

use parse::Parser;
use tree::{Expr, Name, Statement, TypeName};

/// What a script holds: its statements, and an error for each that is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Statements and errors in the order of the text.
    pub statements: Vec<Result<Statement, SyntaxError>>,
}

/// Reads all statements of a script. After an error it goes on behind the next semicolon.
pub fn parse_script(text: &str) -> Script {
    let tokens = match lex::tokens(text) {
        Ok(tokens) => tokens,
        Err(error) => return Script { statements: vec![Err(error)] },
    };
    let mut parser = Parser::new(text, &tokens);
    let mut statements = Vec::new();
    loop {
        while parser.eat_kind(Kind::Semicolon) {}
        if parser.is_kind(Kind::End) {
            return Script { statements };
        }
        let statement = parser.whole_statement();
        if statement.is_err() {
            parser.skip_statement();
        }
        statements.push(statement);
    }
}

/// Reads a text that is one statement, with or without a semicolon.
pub fn parse_statement(text: &str) -> Result<Statement, SyntaxError> {
    parse_statement_while(text, &|| true)
}

/// As `parse_statement`; `goes_on` is asked every few microseconds, and reading ends with `Fault::Stopped` when it says no.
pub fn parse_statement_while(text: &str, goes_on: &dyn Fn() -> bool) -> Result<Statement, SyntaxError> {
    let tokens = lex::tokens_while(text, goes_on)?;
    let mut parser = Parser::new_while(text, &tokens, goes_on);
    let statement = parser.whole_statement()?;
    while parser.eat_kind(Kind::Semicolon) {}
    match parser.is_kind(Kind::End) {
        true => Ok(statement),
        false => Err(parser.unexpected()),
    }
}

/// Reads a text that is one expression.
pub fn parse_expr(text: &str) -> Result<Expr, SyntaxError> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser::new(text, &tokens);
    let expr = parser.expr()?;
    match parser.is_kind(Kind::End) {
        true => Ok(expr),
        false => Err(parser.unexpected()),
    }
}

/// Reads a text that is one type.
pub fn parse_type(text: &str) -> Result<TypeName, SyntaxError> {
    let tokens = lex::tokens(text)?;
    Parser::new(text, &tokens).whole_type()
}

/// The tokens of a text, comments and blanks left out; the last one is the end.
pub fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    lex::tokens(text)
}

/// The name that a token of the text is, a word or a quoted name; `None` for every other one.
pub fn name(text: &str, token: &Token) -> Option<Name> {
    match token.kind {
        Kind::Word | Kind::QuotedName | Kind::UnicodeName => parse::name::name_of(text, *token).ok(),
        _ => None,
    }
}
