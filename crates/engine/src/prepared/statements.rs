//! PREPARE, EXECUTE and DEALLOCATE, over a session's prepared statements.

use std::collections::BTreeMap;
use std::sync::MutexGuard;

use plan::Statement;
use types::{Error, Result, Schema, SqlState, Type, Value, cast};

use super::Prepared;
use crate::Session;
use crate::plan_cache::Planned;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    pub(crate) fn prepared(&self) -> MutexGuard<'_, BTreeMap<String, Prepared>> {
        self.presence.prepared()
    }

    /// PREPARE; an error (42P05) for a name that is in use.
    pub(crate) fn prepare_statement(&self, name: String, statement: Prepared) -> Result<ResultSet> {
        let mut prepared = self.prepared();
        if prepared.contains_key(&name) {
            return Err(Error::new(
                SqlState::DuplicatePreparedStatement,
                format!("prepared statement \"{name}\" already exists"),
            )
            .with_hint("DEALLOCATE it first"));
        }
        prepared.insert(name, statement);
        Ok(ResultSet::done("PREPARE"))
    }

    /// DEALLOCATE of one statement, or of all for `None`.
    pub(crate) fn deallocate(&self, name: Option<&str>) -> Result<ResultSet> {
        match name {
            None => self.prepared().clear(),
            Some(name) => {
                if self.prepared().remove(name).is_none() {
                    return Err(unknown(name));
                }
            }
        }
        Ok(ResultSet::done("DEALLOCATE"))
    }

    /// The columns that a prepared statement would give.
    pub(crate) fn prepared_columns(&self, name: &str) -> Option<Schema> {
        let text = self.prepared().get(name).map(|prepared| prepared.text.clone())?;
        self.describe_statement(&text).ok()?.columns
    }

    /// A prepared statement, planned for its arguments under the types that were declared for them.
    pub(crate) fn planned_prepared(
        &self,
        name: &str,
        arguments: &[(Value, Type)],
        relations: &SessionRelations,
    ) -> Result<Planned> {
        let Prepared { text, types, .. } = self.prepared().get(name).cloned().ok_or_else(|| unknown(name))?;
        let wanted = sql::markers::parameters_wanted(&sql::markers::markers(&text));
        let arguments = &declared(name, arguments, &types, wanted)?;
        let types: Vec<Option<Type>> = types.into_iter().map(Some).collect();
        let planned = sql::split(&text).and_then(|statements| match statements.first() {
            Some(first) => match self.plan_prepared(&text, first, &types, arguments, relations)? {
                Some(planned) => Ok(planned),
                None => {
                    let planned = sql::plan_with(&text, first, relations, arguments)?;
                    Ok(Planned::Statement(Box::new(planned)))
                }
            },
            None => Err(Error::new(SqlState::SyntaxError, "the statement is empty")),
        });
        let planned = planned.map_err(|error| {
            // Its place is one of the prepared text.
            let mut told = Error::new(error.state(), error.message());
            if let Some(hint) = error.hint() {
                told = told.with_hint(hint);
            }
            told.with_detail(format!("in prepared statement \"{name}\""))
        })?;
        if let Planned::Statement(statement) = &planned
            && matches!(
                **statement,
                Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate { .. }
            )
        {
            return Err(Error::unsupported(
                "a prepared statement that prepares or executes is not supported",
            ));
        }
        Ok(planned)
    }
}

/// The arguments as values of the types that PREPARE declared, converted as an assignment converts them.
/// There are as many as the text asks for, or more where PREPARE declares more.
fn declared(
    name: &str,
    arguments: &[(Value, Type)],
    types: &[Type],
    wanted: usize,
) -> Result<Vec<(Value, Type)>> {
    let expected = types.len().max(wanted);
    if expected != arguments.len() {
        let message = format!("wrong number of parameters for prepared statement \"{name}\"");
        return Err(Error::new(SqlState::SyntaxError, message).with_detail(format!(
            "it takes {expected}, {} {} given",
            arguments.len(),
            if arguments.len() == 1 { "is" } else { "are" }
        )));
    }
    let convert = |(at, (value, from)): (usize, &(Value, Type))| {
        let Some(to) = types.get(at) else { return Ok((value.clone(), *from)) };
        let converted = match (value, value.as_text()) {
            (Value::Null, _) => Ok(Value::Null),
            (_, Some(text)) if from.is_text() && !to.is_text() => cast::parse_text(text, *to),
            _ => cast::cast_value(value, *from, *to),
        };
        converted.map(|value| (value, *to)).map_err(|error| {
            error.with_detail(format!("parameter ${} of prepared statement \"{name}\" is {to}", at + 1))
        })
    };
    arguments.iter().enumerate().map(convert).collect()
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UndefinedPreparedStatement, format!("prepared statement \"{name}\" does not exist"))
}
