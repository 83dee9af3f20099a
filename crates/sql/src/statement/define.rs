//! Statements that keep a text: views, macros, prepared statements.

use plan::Statement;
use plan::statement::{IfExists, ObjectName};
use sqlparser::ast::{CreateView, DataType, Expr as Ast, Ident, ObjectName as NameSyntax};
use syntax::tree::{Drop, ObjectKind};
use types::{Error, Result, SqlState, Type};

use super::{Context, own};
use crate::data_type::column_type;
use crate::place::Placed;
use crate::{Relations, place};

/// Where temporary tables and views are: it ends with the database's last session.
const TEMPORARY_SCHEMA: &str = "temp";

impl Context<'_> {
    /// CREATE VIEW.
    pub(super) fn create_view(&self, view: &CreateView) -> Result<Statement> {
        let (mut name, span) = self.object_name(&view.name)?;
        if view.temporary {
            if name.schema.as_deref().is_some_and(|schema| schema != TEMPORARY_SCHEMA) {
                let message = "cannot create a temporary view in a schema that is not temporary";
                return Err(self.at(Error::new(SqlState::InvalidTableDefinition, message), span));
            }
            name.schema = Some(TEMPORARY_SCHEMA.to_owned());
        }
        let Some(text) = self.kept() else {
            return Err(Error::internal("a view without a query"));
        };
        let columns: Vec<String> = view.columns.iter().map(|c| crate::bind::folded(&c.name)).collect();
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

    /// DROP VIEW of one or several views.
    pub(super) fn drop_views(&self, if_exists: bool, names: &[NameSyntax]) -> Result<Statement> {
        let names: Result<Vec<ObjectName>> = names.iter().map(|n| Ok(self.existing_name(n)?.0)).collect();
        Ok(Statement::DropView { names: names?, if_exists })
    }

    /// PREPARE: the statement's text is kept and planned at each EXECUTE.
    pub(super) fn prepare(&self, name: &Ident, types: &[DataType]) -> Result<Statement> {
        let types: Result<Vec<Type>> =
            types.iter().map(|ty| column_type(ty, self.relations).placed(self.text, name.span)).collect();
        match self.kept() {
            Some(text) => Ok(Statement::Prepare {
                name: crate::bind::folded(name),
                text: text.to_owned(),
                types: types?,
            }),
            None => Err(Error::new(SqlState::SyntaxError, "PREPARE needs AS and a statement")),
        }
    }

    /// EXECUTE with constant arguments.
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

/// `DROP MACRO [TABLE] [IF EXISTS] name` and DROP FUNCTION, of which a name has one here.
pub(super) fn drop_macro(text: &str, drop: &Drop, relations: &dyn Relations) -> Result<Statement> {
    let Drop { kind, if_exists, names, cascade, concurrently: _, persistent: _, on } = drop;
    let function = *kind == ObjectKind::Function;
    // PostgreSQL's list of argument types may follow a function's name.
    let name = match names.as_slice() {
        [(path, types)] if cascade.is_none() && on.is_none() && (function || types.is_none()) => Some(path),
        _ => None,
    };
    match name.map(|path| own::object_name(text, path, relations)).transpose()? {
        Some(name) if function => Ok(Statement::DropFunction { name, if_exists: *if_exists }),
        Some(name) => Ok(Statement::DropMacro { name, if_exists: *if_exists }),
        None => {
            let form = if function { DROP_FUNCTION } else { DROP_MACRO };
            Err(Error::new(SqlState::SyntaxError, form).at(place::START))
        }
    }
}

/// The form of DROP MACRO, for hints.
pub(super) const DROP_MACRO: &str = "write DROP MACRO name";
/// The form of DROP FUNCTION, for hints.
pub(super) const DROP_FUNCTION: &str = "write DROP FUNCTION name";
