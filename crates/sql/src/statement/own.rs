//! Statements that are planned from `syntax`'s tree.

use plan::statement::{ObjectName, Statement};
use syntax::tree::{self, ObjectKind, Path, StatementKind};
use syntax::{Keyword, Keyword as K, Kind, Span, SyntaxError};
use types::{Error, Result};

use super::sequence::Sequences;
use super::{attach, define, function, user_type};
use crate::words::folded;
use crate::{Relations, parse, place};

/// Plans a statement about macros, types, sequences or databases; `None` for every other one.
pub(crate) fn of_tree(
    text: &str,
    tree: &tree::Statement,
    relations: &dyn Relations,
) -> Result<Option<Statement>> {
    let sequences = Sequences { text, relations };
    let planned = match &tree.kind {
        StatementKind::CreateMacro(syntax) => function::create_macro(text, syntax, relations),
        StatementKind::CreateFunction(syntax) => function::create_function(text, syntax, relations),
        StatementKind::CreateType(syntax) => user_type::create_type(text, syntax, relations),
        StatementKind::CreateSequence { if_there, temporary, name, options } => {
            sequences.create(name, options, *if_there, *temporary)
        }
        StatementKind::AlterObject(syntax) if syntax.kind == ObjectKind::Sequence => sequences.alter(syntax),
        StatementKind::Drop(syntax) => match syntax.kind {
            ObjectKind::Macro | ObjectKind::MacroTable | ObjectKind::Function => {
                define::drop_macro(text, syntax, relations)
            }
            ObjectKind::Sequence => sequences.drop(syntax),
            _ => return Ok(None),
        },
        StatementKind::Attach { if_there, path, name, options } => {
            attach::attach(text, *if_there, path, name.as_ref(), options)
        }
        StatementKind::Detach { if_exists, name } => {
            Ok(Statement::Detach { name: folded(name), if_exists: *if_exists })
        }
        StatementKind::CopyDatabase { from, to, part } => attach::copy(text, from, to, part.as_ref()),
        _ => return Ok(None),
    };
    planned.map(Some)
}

/// A name, with the key of the schema that is written before it, if one is.
pub(super) fn object_name(text: &str, path: &Path, relations: &dyn Relations) -> Result<ObjectName> {
    let (database, schema, name) = match path.names.as_slice() {
        [name] => return Ok(ObjectName { schema: None, name: folded(name) }),
        [schema, name] => (None, schema, name),
        [database, schema, name] => (Some(folded(database)), schema, name),
        names => {
            let at = names.get(3).map(|name| name.span).unwrap_or_default();
            return Err(parse::unexpected(text, at));
        }
    };
    let schema = relations.schema_key(database.as_deref(), &folded(schema));
    let schema = schema.map_err(|error| error.at(place::START))?;
    Ok(ObjectName { schema: Some(schema), name: folded(name) })
}

/// The part of its text that a statement keeps: a view's query, what is prepared.
pub(crate) fn kept(tree: &tree::Statement) -> Option<Span> {
    match &tree.kind {
        StatementKind::CreateView(view) => Some(view.query_span),
        StatementKind::Prepare { statement, .. } => Some(statement.span),
        StatementKind::Explain { statement, .. } => kept(statement),
        _ => None,
    }
}

/// The error of a text that begins as one of these statements and is none, with how the statement is written.
pub(crate) fn fault(text: &str, error: &SyntaxError) -> Option<Error> {
    let tokens = syntax::tokens(text).ok()?;
    let begin = tokens.iter().take_while(|token| token.kind == Kind::Word).map(|token| token.keyword);
    let form = form_of(begin)?;
    let told = parse::syntax_error_of(text, error);
    // What is wrong behind these words is not the form of the statement.
    let kept = tokens
        .iter()
        .any(|token| matches!(token.keyword, K::AS | K::RETURN) && token.span.start < error.span.start);
    let of_form = error.message.starts_with("syntax error") && (told.hint().is_none() || !kept);
    Some(if of_form { told.with_hint(form) } else { told })
}

fn form_of(mut words: impl Iterator<Item = Keyword>) -> Option<&'static str> {
    const BETWEEN: [Keyword; 4] = [K::OR, K::REPLACE, K::TEMPORARY, K::TEMP];
    match words.next()? {
        K::ATTACH => Some(attach::ATTACH),
        K::DETACH => Some("write DETACH [IF EXISTS] name"),
        K::COPY => {
            (words.next() == Some(K::FROM) && words.next() == Some(K::DATABASE)).then_some(attach::COPY)
        }
        K::CREATE => match words.find(|word| !BETWEEN.contains(word))? {
            K::MACRO => Some(function::MACRO),
            K::FUNCTION => {
                Some("write CREATE FUNCTION name(parameter type, ...) RETURNS type RETURN expression")
            }
            K::TYPE => Some(user_type::FORM),
            K::SEQUENCE => Some("write CREATE SEQUENCE name [START number] [INCREMENT number]"),
            _ => None,
        },
        K::ALTER => (words.next() == Some(K::SEQUENCE)).then_some("write ALTER SEQUENCE name RESTART"),
        K::DROP => match words.next()? {
            K::MACRO => Some(define::DROP_MACRO),
            K::FUNCTION => Some(define::DROP_FUNCTION),
            K::SEQUENCE => Some("write DROP SEQUENCE name"),
            _ => None,
        },
        _ => None,
    }
}
