//! SQL text to `plan::Statement`.
//!
//! `split` cuts a script into statements; `plan` parses and binds one of them. Statements of a script are planned one
//! at a time, after the one before has run, so that a statement sees the tables made before it. Names are resolved
//! through `Relations`, which the engine implements over its catalog; nothing here knows the catalog or execution.
//!
//! The parser is `sqlparser` with PostgreSQL's grammar, and scalar functions without a kernel of ours are typed by
//! DataFusion's function library; neither shows in the public interface. Binding, typing and the removal of correlated
//! subqueries are ours (`bind`): docs/decisions/sql-binder.md says why.
//!
//! Every failure is a `types::Error` with an SQLSTATE and, where there is a place to point at, a position in the text
//! that was given to `split`. No input may panic or exhaust the stack (`stack`).
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as sql;

mod alias_syntax;
mod bind;
mod borrowed_syntax;
mod data_type;
mod dialect;
mod elsewhere;
mod from_first;
mod functions;
#[cfg(test)]
mod grammar_walk;
mod hints;
mod idioms;
mod literal_syntax;
pub mod markers;
mod merge_syntax;
mod names;
mod nested_syntax;
mod overriding;
mod parse;
mod partition_syntax;
mod pivot;
mod place;
mod pragma_syntax;
mod recursion_syntax;
mod relations;
mod samples;
mod script;
mod search_path_syntax;
pub mod secret_syntax;
mod seen;
mod stack;
mod statement;
mod texts;
mod upkeep_syntax;
mod wide_syntax;

pub use bind::{SETVAL_CALLED, functions};
pub use functions::{EXAMPLE_ROWS, FunctionInfo};
pub use relations::{
    MacroInfo, NullOrder, RelationInfo, Relations, SystemRows, ViewInfo, chance, clock, form_name,
};
pub use script::{StatementText, split};
pub use statement::COLUMNS_MAX;

use plan::statement::Statement;
use types::{Result, Type, Value};

/// Plans one statement of `text`. Positions of errors refer to `text` as a whole.
pub fn plan(text: &str, statement: &StatementText, relations: &dyn Relations) -> Result<Statement> {
    plan_with(text, statement, relations, &[])
}

/// The condition of a CHECK, over `Input(i)` for the i-th of `columns`.
pub fn check_condition(
    table: &str,
    columns: &[types::Field],
    text: &str,
    relations: &dyn Relations,
) -> Result<plan::Expr> {
    let texts = texts::Texts::default();
    let mut binder = bind::Binder::new(text, relations, &texts);
    let mut bound = binder.check_condition(table, columns, text, sqlparser::tokenizer::Span::empty())?;
    bind::intervals::keyed(&mut bound);
    Ok(bound.bind(&|id| Some(id.0 as usize)))
}

/// As `plan`, with values for the parameters `$1`, `$2` and so on, or as many `?`.
pub fn plan_with(
    text: &str,
    statement: &StatementText,
    relations: &dyn Relations,
    parameters: &[(Value, Type)],
) -> Result<Statement> {
    let own = statement.of(text);
    stack::with_room(statement.depth(), || {
        if let Some(defined) = statement::create_function(own)? {
            return Ok(defined);
        }
        if let Some(created) = statement::create_type(own, relations)? {
            return Ok(created);
        }
        if let Some(dropped) = statement::drop_macro(own)? {
            return Ok(dropped);
        }
        if let Some(attached) = statement::databases(own)? {
            return Ok(attached);
        }
        if let Some(sequence) = statement::sequence(own, relations)? {
            return Ok(sequence);
        }
        let parsed = parse::Parsed { begins: Some(statement.clone()), ..parse::statement(own)? };
        statement::plan(own, &parsed, relations, parameters)
    })
    .map_err(|error| statement.in_script(error))
}

/// Whether an expression's text names a type: behind `::` or AS, or before a quoted literal.
pub fn names_type(text: &str, name: &str) -> bool {
    use sqlparser::tokenizer::Token;
    let Some(tokens) = parse::tokens(text) else { return false };
    let names = |at: usize| match &tokens[at] {
        Token::Word(word) if word.quote_style.is_some() => word.value == name,
        Token::Word(word) => word.value.to_lowercase() == name,
        _ => false,
    };
    let casts = |token: &Token| match token {
        Token::DoubleColon => true,
        Token::Word(word) => word.value.eq_ignore_ascii_case("as"),
        _ => false,
    };
    (0..tokens.len()).filter(|at| names(*at)).any(|at| {
        at.checked_sub(1).is_some_and(|before| casts(&tokens[before]))
            || matches!(tokens.get(at + 1), Some(Token::SingleQuotedString(_)))
    })
}

/// Plans a text that holds exactly one statement.
pub fn plan_one(text: &str, relations: &dyn Relations) -> Result<Statement> {
    let statements = split(text)?;
    match statements.as_slice() {
        [one] => plan(text, one, relations),
        [] => Err(types::Error::new(types::SqlState::SyntaxError, "the statement is empty")),
        [_, second, ..] => Err(second.in_script(
            types::Error::new(types::SqlState::SyntaxError, "only one statement is allowed here")
                .at(place::START),
        )),
    }
}
