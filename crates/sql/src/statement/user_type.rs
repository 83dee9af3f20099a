//! CREATE TYPE, read from the statement's words: the parser knows some of its forms only. And DROP TYPE.
//!
//! ```text
//! CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
//! CREATE TYPE pair AS (a INTEGER, b TEXT)
//! CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS <type>
//! ```
//! A type of labels is one of its own, under its name; every other type is called by another name.

use plan::Statement;
use plan::statement::IfExists;
use sqlparser::ast::ObjectName as NameSyntax;
use sqlparser::tokenizer::Token;
use types::{Error, Result, SqlState, Type};

use super::Context;
use super::function::Words;
use crate::{Relations, nested_syntax, place};

fn wrong() -> Error {
    Error::new(SqlState::SyntaxError, "a type is CREATE TYPE name AS ENUM ('label', ...)")
        .with_hint("CREATE TYPE name AS (field TYPE, ...) and CREATE TYPE name AS TYPE are others")
        .at(place::START)
}

/// The name without its schema: types belong to none.
fn without_schema(schema: Option<&str>, name: String) -> Result<String> {
    match schema {
        None | Some("main" | "public") => Ok(name),
        Some(_) => Err(Error::unsupported("a type belongs to no schema").with_hint("leave the schema out")),
    }
}

/// The statement, if it is CREATE TYPE.
pub(crate) fn create_type(text: &str, relations: &dyn Relations) -> Result<Option<Statement>> {
    if !text.trim_start().get(..6).is_some_and(|w| w.eq_ignore_ascii_case("create")) {
        return Ok(None);
    }
    let Some(mut words) = Words::of(text) else { return Ok(None) };
    words.take(&["create"]);
    let replace = words.take(&["or", "replace"]);
    if words.is(words.at + 1, "type") && (words.is(words.at, "temp") || words.is(words.at, "temporary")) {
        let error = Error::unsupported("a type of the session alone is not supported");
        return Err(error.with_hint("leave TEMPORARY out, and DROP TYPE afterwards").at(place::START));
    }
    if !words.take(&["type"]) {
        return Ok(None);
    }
    let keep = words.take(&["if", "not", "exists"]);
    let mut name = words.name().ok_or_else(wrong)?;
    if words.sign(&Token::Period) {
        let last = words.name().ok_or_else(wrong)?;
        name = without_schema(Some(&name), last).map_err(|e| e.at(place::START))?;
    }
    if !words.take(&["as"]) {
        return Err(wrong());
    }
    let if_exists = match (replace, keep) {
        (true, true) => {
            let message = "OR REPLACE and IF NOT EXISTS exclude each other";
            return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
        }
        (true, false) => IfExists::Replace,
        (false, true) => IfExists::Keep,
        (false, false) => IfExists::Error,
    };
    let ty = defined(&mut words, &name, relations).map_err(|error| match error.position() {
        Some(_) => error,
        None => error.at(place::START),
    })?;
    Ok(Some(Statement::CreateType { name, ty, if_exists }))
}

/// What stands behind AS.
fn defined(words: &mut Words<'_>, name: &str, relations: &dyn Relations) -> Result<Type> {
    let (begin, end) = (words.at, words.tokens.len());
    let open = |at: usize| words.tokens.get(at).is_some_and(|t| t.token == Token::LParen);
    if words.is(begin, "enum") && open(begin + 1) && words.closing(begin + 1) == Some(end - 1) {
        return Type::enumeration(Some(name), labels(words, begin + 2, end - 1)?);
    }
    let written = words.written(begin, end);
    match open(begin) {
        true => nested_syntax::named(&format!("STRUCT{written}"), relations),
        false if written.is_empty() => Err(wrong()),
        false => nested_syntax::named(written, relations),
    }
}

fn labels(words: &Words<'_>, begin: usize, end: usize) -> Result<Vec<String>> {
    let mut labels = Vec::with_capacity((end - begin).div_ceil(2));
    for (at, token) in words.tokens[begin..end].iter().enumerate() {
        match (&token.token, at % 2) {
            (Token::SingleQuotedString(label) | Token::EscapedStringLiteral(label), 0) => {
                labels.push(label.clone());
            }
            (Token::Comma, 1) if begin + at + 1 < end => {}
            (Token::Word(word), 0) if word.value.eq_ignore_ascii_case("select") => {
                return Err(Error::unsupported("the labels of an enum from a query are not supported")
                    .with_hint("write the labels: ENUM ('a', 'b')"));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(labels)
}

impl Context<'_> {
    pub(super) fn drop_types(
        &self,
        names: &[NameSyntax],
        if_exists: bool,
        cascade: bool,
    ) -> Result<Statement> {
        if cascade {
            let error = Error::unsupported("DROP TYPE CASCADE is not supported")
                .with_hint("drop the columns of that type, then the type");
            return Err(error.at(place::START));
        }
        let mut dropped = Vec::with_capacity(names.len());
        for name in names {
            let (name, span) = self.written_name(name)?;
            let name = without_schema(name.schema.as_deref(), name.name).map_err(|e| self.at(e, span))?;
            dropped.push(name);
        }
        Ok(Statement::DropType { names: dropped, if_exists })
    }
}
