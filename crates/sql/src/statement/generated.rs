//! What CREATE TABLE and ALTER TABLE check about generated columns.

use plan::ColumnId;
use plan::statement::TableOptions;
use sqlparser::ast::{ColumnOption, CreateTable};
use sqlparser::tokenizer::Span;
use types::{Error, Field, ReferentialAction, Result, SqlState, Type};

use super::Context;
use crate::RelationInfo;
use crate::bind::folded;

/// The type that a generated column without one is given before the parser sees it; it takes its expression's.
pub(crate) const TYPE_OF_EXPRESSION: &str = "type of the expression";

impl Context<'_> {
    /// Generated columns can be computed from what stands before them, have no other value, and are not changed by
    /// referential actions. Those without a type get their expression's.
    pub(super) fn check_generated(
        &self,
        table: &str,
        create: &CreateTable,
        columns: &mut [Field],
        options: &TableOptions,
    ) -> Result<()> {
        let place =
            |column: &str| create.columns.iter().find(|c| folded(&c.name) == column).map(|c| c.name.span);
        if !columns.is_empty() && options.generated.len() >= columns.len() {
            let message = format!("table \"{table}\" has no column that is not generated");
            return Err(Error::new(SqlState::InvalidTableDefinition, message).at(crate::place::START));
        }
        let place = |column: &str| place(column).unwrap_or_else(Span::empty);
        for (name, text) in &options.generated {
            let Some(at) = columns.iter().position(|field| field.name == *name) else { continue };
            let refuse = |error: Error| Err(self.at(error, place(name)));
            let others = [&options.defaults, &options.generated];
            let given = others
                .iter()
                .map(|list| list.iter().filter(|(column, _)| column == name).count())
                .sum::<usize>();
            if given > 1 || options.identities.iter().any(|identity| identity.column == *name) {
                let message = format!(
                    "both default and generation expression specified for column \"{name}\" of table \"{table}\""
                );
                return refuse(Error::new(SqlState::SyntaxError, message));
            }
            let span = create.columns.iter().find(|c| folded(&c.name) == *name).and_then(|column| {
                column.options.iter().find_map(|option| match &option.option {
                    ColumnOption::Generated { generation_expr: Some(expression), .. } => {
                        Some(sqlparser::ast::Spanned::span(expression))
                    }
                    _ => None,
                })
            });
            let expr =
                self.binder().check_generated(table, columns, at, text, span.unwrap_or_else(Span::empty))?;
            let read: Vec<usize> =
                (0..columns.len()).filter(|at| expr.columns().contains(&ColumnId(*at as u32))).collect();
            let later = |read: &usize| {
                *read >= at && options.generated.iter().any(|(column, _)| *column == columns[*read].name)
            };
            if let Some(read) = read.iter().copied().find(later) {
                let read = &columns[read].name;
                let message = match *read == *name {
                    true => format!("cannot use generated column \"{read}\" in its own expression"),
                    false => format!("cannot use generated column \"{read}\" before it is defined"),
                };
                return refuse(Error::new(SqlState::InvalidObjectDefinition, message).with_detail(
                    "A generated column reads the columns before it, and those that are not generated.",
                ));
            }
            let acts = |action: ReferentialAction| {
                !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict)
            };
            for key in &options.foreign_keys {
                let involved = |at: &usize| key.columns.contains(&columns[*at].name);
                if (acts(key.on_delete) || acts(key.on_update)) && read.iter().chain([&at]).any(involved) {
                    let message = format!(
                        "generated column \"{name}\" has to do with a foreign key whose action changes rows"
                    );
                    return refuse(
                        Error::unsupported(message).with_hint("leave ON DELETE and ON UPDATE out"),
                    );
                }
            }
            if columns[at].ty == Type::Null {
                columns[at].ty = expr.ty;
            }
        }
        Ok(())
    }

    /// The generated columns that are computed from the column of that name.
    pub(super) fn generated_from(&self, info: &RelationInfo, column: &str) -> Result<Vec<usize>> {
        let fields = info.columns.fields();
        let Some(read) = info.columns.position(column) else { return Ok(vec![]) };
        let mut users = Vec::new();
        for (at, text) in info.generated.iter().enumerate() {
            let Some(text) = text.as_deref() else { continue };
            let expr = self.binder().check_generated(&info.name, fields, at, text, Span::empty())?;
            if at != read && expr.columns().contains(&ColumnId(read as u32)) {
                users.push(at);
            }
        }
        Ok(users)
    }
}
