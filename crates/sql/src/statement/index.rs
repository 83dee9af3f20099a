//! CREATE INDEX and DROP INDEX.

use plan::TableId;
use plan::statement::{ObjectName, Statement};
use sqlparser::ast::{CreateIndex, Expr as Ast, Ident, IndexColumn, IndexType, ObjectName as NameSyntax};
use types::{Error, Result, SqlState};

use super::Context;
use crate::bind::folded;
use crate::place;

impl Context<'_> {
    /// CREATE INDEX; clauses that indexes here do not have are errors.
    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<Statement> {
        let unsupported = [
            (!create.include.is_empty(), "INCLUDE"),
            (create.predicate.is_some(), "WHERE"),
            (!create.with.is_empty(), "WITH"),
            (create.nulls_distinct.is_some(), "NULLS DISTINCT"),
            (!create.index_options.is_empty() || !create.alter_options.is_empty(), "options"),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(there, _)| *there) {
            let message = format!("{what} of CREATE INDEX is not supported");
            return Err(Error::unsupported(message).at(place::START));
        }
        let (table, info) = self.table(&create.table_name)?;
        let columns = create.columns.iter().map(index_column).collect::<Option<Vec<&Ident>>>();
        let Some(columns) = columns else {
            return Err(Error::unsupported("an index is on columns, not on expressions")
                .with_hint("add a column with the expression's value, and index that")
                .at(place::START));
        };
        // A column that is named twice is indexed once, as both name the same rows.
        let mut positions: Vec<usize> = Vec::with_capacity(columns.len());
        for column in columns {
            for position in self.columns(&info, &[column])? {
                if !positions.contains(&position) {
                    positions.push(position);
                }
            }
        }
        let name = match &create.name {
            Some(name) => Some(self.simple_name(name)?),
            None if create.if_not_exists => {
                return Err(Error::new(SqlState::SyntaxError, "IF NOT EXISTS needs the index's name"));
            }
            None => None,
        };
        Ok(Statement::CreateIndex {
            name,
            table,
            table_id: TableId(info.id.0),
            method: create.using.as_ref().map(method),
            columns: positions,
            unique: create.unique,
            if_not_exists: create.if_not_exists,
        })
    }

    /// DROP INDEX of one or several indexes.
    pub(super) fn drop_indices(&self, if_exists: bool, names: &[NameSyntax]) -> Result<Statement> {
        let names: Vec<ObjectName> =
            names.iter().map(|n| self.object_name(n).map(|(n, _)| n)).collect::<Result<_>>()?;
        Ok(Statement::DropIndex { names, if_exists })
    }
}

fn index_column(column: &IndexColumn) -> Option<&Ident> {
    match (&column.column.expr, &column.operator_class) {
        (Ast::Identifier(name), None) => Some(name),
        _ => None,
    }
}

fn method(using: &IndexType) -> String {
    match using {
        IndexType::Custom(name) => folded(name),
        other => other.to_string().to_lowercase(),
    }
}
