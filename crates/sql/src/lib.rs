//! SQL text to `plan::Statement`.
//!
//! `split` cuts a script into statements; `plan` parses and binds one of them. Statements of a script are planned one
//! at a time, after the one before has run, so that a statement sees the tables made before it. Names are resolved
//! through `Relations`, which the engine implements over its catalog; nothing here knows the catalog or execution.
//!
//! ```text
//!  text -> syntax::tree (crate syntax) -> statement, bind -> plan::Statement
//! ```
//! The grammar is the crate `syntax`'s; `statement` plans each kind of statement from its tree, and `bind` its queries and
//! expressions. Scalar functions without a kernel of ours are typed by DataFusion's function library, which does not show
//! in the public interface. Binding, typing and the removal of correlated subqueries are ours (`bind`):
//! docs/decisions/sql-binder.md and parser.md say why.
//!
//! Every failure is a `types::Error` with an SQLSTATE and, where there is a place to point at, a position in the text
//! that was given to `split`. No input may panic or exhaust the stack (`stack`).
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as sql;

mod bind;
mod data_type;
mod elsewhere;
mod functions;
mod given;
#[cfg(test)]
mod grammar_walk;
pub mod markers;
mod moment;
mod names;
mod parameters;
mod parse;
mod place;
mod postgres;
mod pragmas;
mod relations;
mod script;
pub mod secrets;
mod stack;
mod statement;
mod syntax_errors;
mod texts;
mod type_names;
mod words;

pub use bind::{SETVAL_CALLED, functions};
pub use functions::{EXAMPLE_ROWS, FunctionInfo};
pub use parameters::{OpenStatement, is_value_needed, plan_open};
pub use postgres::{HIDDEN, PG_CATALOG, POSTGRESQL_VERSION};
pub use relations::{
    MacroInfo, NullOrder, RelationInfo, Relations, RowPolicy, SystemRows, TableParts, Used, ViewInfo, chance,
    clock, form_name,
};
pub use script::{StatementText, split};
pub use statement::COLUMNS_MAX;

use parameters::Given;
use plan::statement::Statement;
use types::{Result, Type, Value};

/// Plans one statement of `text`. Positions of errors refer to `text` as a whole.
pub fn plan(text: &str, statement: &StatementText, relations: &dyn Relations) -> Result<Statement> {
    plan_with(text, statement, relations, &[])
}

/// Whether a statement of `text` can be read; what its names mean is not looked at.
pub fn check_syntax(text: &str, statement: &StatementText) -> Result<()> {
    let own = statement.of(text);
    stack::with_room(statement.depth(), || parse::tree(own).map(drop))
        .map_err(|error| statement.in_script(error))
}

/// The first word of a statement's command tag, `SELECT` for every query; and whether its names are looked up when it is
/// prepared, as those of queries and of statements that change rows are.
pub fn verb(text: &str, statement: &StatementText) -> Result<(&'static str, bool)> {
    let own = statement.of(text);
    stack::with_room(statement.depth(), || Ok(statement::verb(&parse::tree(own)?)))
        .map_err(|error| statement.in_script(error))
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
    let mut bound = binder.check_condition(table, columns, text, syntax::Span::default())?;
    bind::expression::intervals::keyed(&mut bound);
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
        let tree = parse::tree(own)?;
        types::collation::within(relations.default_collation(), || {
            statement::plan(own, &tree, Some(statement), relations, Given::Values(parameters))
        })
    })
    .map_err(|error| statement.in_script(error))
}

/// Whether an expression's text names a type: behind `::` or AS, or before a quoted literal. A name without a schema
/// may be that of any; `schema` is that of the type, where it is not the default one.
pub fn names_type(text: &str, schema: Option<&str>, name: &str) -> bool {
    use syntax::{Keyword, Kind};
    let Ok(words) = words::Words::of(text) else { return false };
    let casts = |at: usize| words.is_kind(at, Kind::DoubleColon) || words.is(at, Keyword::AS);
    (0..words.tokens.len()).filter(|at| words.name(*at).is_some_and(|word| word == name)).any(|at| {
        // Where the name begins, with all that stands before its points.
        let mut begin = at;
        while begin >= 2 && words.is_kind(begin - 1, Kind::Dot) {
            begin -= 2;
        }
        let said = at.checked_sub(2).filter(|_| begin < at).and_then(|before| words.name(before));
        let fits = said.is_none_or(|said| match schema {
            Some(schema) => said == schema,
            None => said == "main" || said == "public",
        });
        fits && (begin.checked_sub(1).is_some_and(casts) || words.is_kind(at + 1, Kind::Text))
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
