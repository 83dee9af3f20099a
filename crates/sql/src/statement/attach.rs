//! ATTACH, DETACH and COPY FROM DATABASE.
//!
//! ```text
//! ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(READ_ONLY [true], TYPE quickstep, ...)]
//! DETACH [DATABASE] [IF EXISTS] name
//! COPY FROM DATABASE from TO to [(SCHEMA)]
//! ```

use plan::Statement;
use plan::statement::Attach;
use syntax::Span;
use syntax::tree::{Expr, ExprKind, IfThere, Literal, Name, OptionValue, SetOption};
use types::{Error, Result, SqlState};

use super::forms::{ATTACH, COPY};
use crate::words::folded;
use crate::{parse, place};

/// ATTACH.
pub(super) fn attach(
    text: &str,
    if_there: IfThere,
    path: &Expr,
    name: Option<&Name>,
    given: &[SetOption],
) -> Result<Statement> {
    let wrong = |span: Span, hint: &str| parse::unexpected(text, span).with_hint(hint);
    let ExprKind::Literal(Literal::Text(path)) = &path.kind else {
        let hint = "the path of a database stands in single quotes: ATTACH 'path' AS name";
        return Err(wrong(path.span, hint));
    };
    let mut options = Vec::with_capacity(given.len());
    for SetOption { name, value } in given {
        let name = name.text.to_lowercase();
        let value = match value {
            None => None,
            Some(OptionValue::Word(word)) => Some(word.text.to_string()),
            Some(OptionValue::Expr(value)) => match &value.kind {
                ExprKind::Literal(Literal::Text(value) | Literal::Number(value)) => Some(value.to_string()),
                ExprKind::Literal(Literal::Bool(_) | Literal::Null) => Some(value.span.of(text).to_owned()),
                _ => return Err(wrong(value.span, ATTACH)),
            },
            Some(other) => return Err(wrong(other.span(), ATTACH)),
        };
        if options.iter().any(|(known, _): &(String, _)| *known == name) {
            let message = format!("ATTACH option \"{name}\" is given twice");
            return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
        }
        options.push((name, value));
    }
    let (path, name) = (path.to_string(), name.map(folded));
    Ok(Statement::Attach(Attach { path, name, if_exists: super::if_exists(if_there), options }))
}

/// COPY FROM DATABASE.
pub(super) fn copy(text: &str, from: &Name, to: &Name, part: Option<&Name>) -> Result<Statement> {
    let word = part.map(|part| if part.quoted { String::new() } else { part.text.to_lowercase() });
    let schema_only = match (word.as_deref(), part) {
        (None, _) => false,
        (Some("schema"), _) => true,
        (Some("data"), _) => {
            return Err(Error::unsupported("COPY FROM DATABASE (DATA) is not supported")
                .with_hint("INSERT INTO to.table SELECT * FROM from.table copies the rows of one table")
                .at(place::START));
        }
        (_, part) => {
            let span = part.map(|part| part.span).unwrap_or_default();
            return Err(parse::unexpected(text, span).with_hint(COPY));
        }
    };
    Ok(Statement::CopyDatabase { from: folded(from), to: folded(to), schema_only })
}
