//! Statements that keep a text: views, macros, prepared statements.

use plan::Statement;
use plan::statement::{IfExists, ObjectName};
use sqlparser::ast::{CreateView, DataType, Expr as Ast, Ident, ObjectName as NameSyntax};
use sqlparser::tokenizer::Token;
use types::{Error, Result, SqlState, Type};

use super::Context;
use crate::bind::folded;
use crate::data_type::column_type;
use crate::place::Placed;
use crate::{parse, place};

/// Where temporary tables and views are: it ends with the database's last session.
const TEMPORARY_SCHEMA: &str = "temp";

impl Context<'_> {
    pub(super) fn create_view(&self, view: &CreateView) -> Result<Statement> {
        let (mut name, span) = self.object_name(&view.name)?;
        if view.temporary {
            if name.schema.as_deref().is_some_and(|schema| schema != TEMPORARY_SCHEMA) {
                let message = "cannot create a temporary view in a schema that is not temporary";
                return Err(self.at(Error::new(SqlState::InvalidTableDefinition, message), span));
            }
            name.schema = Some(TEMPORARY_SCHEMA.to_owned());
        }
        let Some(text) = parse::after_as(self.text) else {
            return Err(Error::internal("a view without a query"));
        };
        let columns: Vec<String> = view.columns.iter().map(|c| folded(&c.name)).collect();
        // The query must be one that can be planned, here and now, and with the names that it will be bound with.
        let schema = name.schema.clone().unwrap_or_else(|| self.relations.current_schema());
        let around = self.relations.search_in(vec![schema]);
        let query = self.binder().query(&view.query);
        self.relations.search_in(around);
        let query = query?;
        if columns.len() > query.output.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("{} column names given, but there are {} columns", columns.len(), query.output.len()),
            ));
        }
        let if_exists = match (view.or_replace, view.if_not_exists) {
            (true, _) => IfExists::Replace,
            (_, true) => IfExists::Keep,
            _ => IfExists::Error,
        };
        Ok(Statement::CreateView { name, columns, text: text.to_owned(), if_exists })
    }

    pub(super) fn drop_views(&self, if_exists: bool, names: &[NameSyntax]) -> Result<Statement> {
        let names: Result<Vec<ObjectName>> = names.iter().map(|n| Ok(self.existing_name(n)?.0)).collect();
        Ok(Statement::DropView { names: names?, if_exists })
    }

    pub(super) fn prepare(&self, name: &Ident, types: &[DataType]) -> Result<Statement> {
        let types: Result<Vec<Type>> =
            types.iter().map(|ty| column_type(ty, self.relations).placed(self.text, name.span)).collect();
        match parse::after_as(self.text) {
            Some(text) => Ok(Statement::Prepare { name: folded(name), text: text.to_owned(), types: types? }),
            None => Err(Error::new(SqlState::SyntaxError, "PREPARE needs AS and a statement")),
        }
    }

    pub(super) fn execute(&self, name: Option<&NameSyntax>, parameters: &[Ast]) -> Result<Statement> {
        let Some(name) = name else { return Err(Error::unsupported("EXECUTE IMMEDIATE is not supported")) };
        let mut binder = self.binder();
        let mut arguments = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            arguments.push(binder.constant(parameter)?);
        }
        Ok(Statement::Execute { name: self.simple_name(name)?, arguments })
    }
}

/// `DROP MACRO [TABLE] [IF EXISTS] name` and DROP FUNCTION, which the parser does not know; `None` for every other text.
pub(crate) fn drop_macro(text: &str) -> Result<Option<Statement>> {
    // Only such texts are looked at twice.
    let begins =
        |word: &str| text.trim_start().get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    if !begins("drop") {
        return Ok(None);
    }
    let Some(tokens) = parse::tokens(text) else { return Ok(None) };
    let word = |at: usize, wanted: &str| matches!(tokens.get(at), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(wanted));
    let name = |at: usize| match tokens.get(at) {
        Some(Token::Word(w)) => {
            Some(if w.quote_style.is_some() { w.value.clone() } else { w.value.to_lowercase() })
        }
        _ => None,
    };
    if word(0, "drop") && word(1, "function") {
        let if_exists = word(2, "if") && word(3, "exists");
        let at = if if_exists { 4 } else { 2 };
        // PostgreSQL's list of argument types may follow; a name has one function here.
        let mut rest = tokens.get(at + 1..).unwrap_or_default();
        if rest.first() == Some(&Token::LParen) {
            let end = rest.iter().rposition(|t| *t == Token::RParen).map_or(rest.len(), |end| end + 1);
            rest = &rest[end..];
        }
        let ended = rest.iter().all(|t| matches!(t, Token::SemiColon | Token::EOF));
        return match name(at).filter(|_| ended) {
            Some(name) => Ok(Some(Statement::DropFunction { name, if_exists })),
            None => Err(Error::new(SqlState::SyntaxError, "write DROP FUNCTION name").at(place::START)),
        };
    }
    if word(0, "drop") && word(1, "macro") {
        let table = usize::from(word(2, "table") && matches!(tokens.get(3), Some(Token::Word(_))));
        let if_exists = word(2 + table, "if") && word(3 + table, "exists");
        let at = table + if if_exists { 4 } else { 2 };
        let rest = tokens.len() - at.min(tokens.len());
        let ended = rest == 1
            || tokens
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .all(|t| matches!(t, Token::SemiColon | Token::EOF));
        return match name(at).filter(|_| ended) {
            Some(name) => Ok(Some(Statement::DropMacro { name, if_exists })),
            None => Err(Error::new(SqlState::SyntaxError, "write DROP MACRO name").at(place::START)),
        };
    }
    Ok(None)
}
