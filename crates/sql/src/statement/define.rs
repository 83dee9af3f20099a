//! CREATE VIEW and CREATE SCHEMA; PREPARE and EXECUTE.

use plan::Statement;
use syntax::tree::{self, CreateView, IfThere, Name, Path, TypeName};
use types::{Error, Result, SqlState, Type};

use super::{Context, refused};
use crate::bind::folded;
use crate::data_type::column_type;
use crate::place::Placed;

/// Where temporary tables and views are: it ends with the database's last session.
const TEMPORARY_SCHEMA: &str = "temp";

impl<'a> Context<'a> {
    /// CREATE VIEW: its query's text is kept.
    pub(super) fn create_view(&self, view: &'a CreateView) -> Result<Statement> {
        let CreateView {
            if_there,
            temporary,
            materialized,
            recursive,
            name,
            columns,
            options,
            query,
            query_span,
            check_option,
            span: _,
        } = view;
        let clauses = [
            (*recursive, "RECURSIVE"),
            (*check_option, "WITH CHECK OPTION"),
            (*materialized, "MATERIALIZED"),
            (!options.is_empty(), "an option"),
        ];
        if let Some((_, clause)) = clauses.iter().find(|(there, _)| *there) {
            return Err(refused("CREATE VIEW", clause));
        }
        let (mut name, span) = self.object_name(name)?;
        if *temporary {
            if name.schema.as_deref().is_some_and(|schema| schema != TEMPORARY_SCHEMA) {
                let message = "cannot create a temporary view in a schema that is not temporary";
                return Err(self.at(Error::new(SqlState::InvalidTableDefinition, message), span));
            }
            name.schema = Some(TEMPORARY_SCHEMA.to_owned());
        }
        let columns: Vec<String> = columns.iter().map(folded).collect();
        // The query must be one that can be planned, here and now, and with the names that it will be bound with.
        let schema = name.schema.clone().unwrap_or_else(|| self.relations.current_schema());
        let around = self.relations.search_in(vec![schema]);
        let planned = self.binder().query(query);
        self.relations.search_in(around);
        let planned = planned?;
        if columns.len() > planned.output.len() {
            let (given, there) = (columns.len(), planned.output.len());
            let message = format!("{given} column names given, but there are {there} columns");
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        let text = query_span.of(self.text).to_owned();
        Ok(Statement::CreateView { name, columns, text, if_exists: super::if_exists(*if_there) })
    }

    /// CREATE SCHEMA.
    pub(super) fn create_schema(
        &self,
        if_there: IfThere,
        name: &Path,
        owner: Option<&Name>,
    ) -> Result<Statement> {
        if if_there == IfThere::Replace {
            return Err(refused("CREATE SCHEMA", "OR REPLACE"));
        }
        if owner.is_some() {
            return Err(Error::unsupported("CREATE SCHEMA AUTHORIZATION is not supported"));
        }
        let name = self.schema_name(name)?;
        Ok(Statement::CreateSchema { name, if_not_exists: if_there == IfThere::Keep })
    }

    /// PREPARE: the statement's text is kept and planned at each EXECUTE.
    pub(super) fn prepare(
        &self,
        name: &Name,
        types: &[TypeName],
        statement: &tree::Statement,
    ) -> Result<Statement> {
        let typed = |ty| column_type(self.text, ty, self.relations).placed(self.text, name.span);
        let types = types.iter().map(typed).collect::<Result<Vec<Type>>>()?;
        let text = statement.span.of(self.text).to_owned();
        Ok(Statement::Prepare { name: folded(name), text, types })
    }

    /// EXECUTE with constant arguments.
    pub(super) fn execute(&self, name: &Name, values: &'a [tree::Argument]) -> Result<Statement> {
        for tree::Argument { variadic, name, value } in values {
            if let Some((name, _)) = name {
                return Err(self.unsupported("EXECUTE with the names of parameters", name.span));
            }
            if *variadic {
                return Err(self.unexpected(value.span));
            }
        }
        let mut binder = self.binder();
        let mut arguments = Vec::with_capacity(values.len());
        for argument in values {
            arguments.push(binder.constant(&argument.value)?);
        }
        Ok(Statement::Execute { name: folded(name), arguments })
    }
}
