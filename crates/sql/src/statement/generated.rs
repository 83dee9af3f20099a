//! What CREATE TABLE and ALTER TABLE check about generated columns.

use plan::ColumnId;
use plan::statement::{ForeignKey, TableOptions};
use syntax::Span;
use syntax::tree::{ColumnClauseKind, ColumnDef};
use types::{Error, Field, ReferentialAction, Result, SqlState, Type};

use super::Context;
use crate::RelationInfo;
use crate::bind::{folded, place_of};

impl Context<'_> {
    /// Generated columns can be computed from what stands before them, have no other value, and are not changed by
    /// referential actions. Those without a type get their expression's.
    pub(super) fn check_generated(
        &self,
        table: &str,
        written: &[&ColumnDef],
        columns: &mut [Field],
        options: &mut TableOptions,
    ) -> Result<()> {
        let place = |column: &str| written.iter().find(|c| folded(&c.name) == column).map(|c| c.name.span);
        if !columns.is_empty() && options.generated.len() >= columns.len() {
            let message = format!("table \"{table}\" has no column that is not generated");
            return Err(Error::new(SqlState::InvalidTableDefinition, message).at(crate::place::START));
        }
        let place = |column: &str| place(column).unwrap_or_default();
        for number in 0..options.generated.len() {
            let name = options.generated[number].0.clone();
            let name = &name;
            let Some(at) = columns.iter().position(|field| field.name == *name) else { continue };
            let refuse = |error: Error| Err(self.at(error, place(name)));
            let others = [&options.defaults, &options.generated].into_iter().flatten();
            let given = others.filter(|(column, _)| column == name).count();
            if given > 1 || options.identities.iter().any(|identity| identity.column == *name) {
                let message = format!(
                    "both default and generation expression specified for column \"{name}\" of table \"{table}\""
                );
                return refuse(Error::new(SqlState::SyntaxError, message));
            }
            let clauses = written.iter().filter(|column| folded(&column.name) == *name);
            let mut expressions =
                clauses.flat_map(|column| &column.clauses).filter_map(|clause| match &clause.kind {
                    ColumnClauseKind::Generated { value, stored: _ } => Some(value),
                    _ => None,
                });
            let Some(expression) = expressions.next() else { continue };
            let text = super::create::without_table(table, columns, expression);
            let expr = self.binder().check_generated(table, columns, at, &text, place_of(expression))?;
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
            for key in &options.foreign_keys {
                let involved = |at: &usize| key.columns.contains(&columns[*at].name);
                if changes_rows(key) && read.iter().chain([&at]).any(involved) {
                    return refuse(changed_by_key(name));
                }
            }
            options.generated[number].1 = text;
            if columns[at].ty == Type::Null {
                columns[at].ty = expr.ty;
            }
        }
        Ok(())
    }

    /// A foreign key that is added to a table must not change what generated columns read, or are.
    pub(super) fn check_added_key(&self, info: &RelationInfo, key: &ForeignKey) -> Result<()> {
        if !changes_rows(key) {
            return Ok(());
        }
        for column in &key.columns {
            let own = info.columns.position(column).filter(|at| info.is_generated(*at));
            if let Some(at) = own.or(self.generated_from(info, column)?.first().copied()) {
                return Err(changed_by_key(&info.columns.fields()[at].name));
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
            let expr = self.binder().check_generated(&info.name, fields, at, text, Span::default())?;
            if at != read && expr.columns().contains(&ColumnId(read as u32)) {
                users.push(at);
            }
        }
        Ok(users)
    }
}

/// Whether rows that refer to others change with them.
fn changes_rows(key: &ForeignKey) -> bool {
    let kept = |action| matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict);
    // A row that goes as a whole takes its generated columns along.
    !(kept(key.on_update) && (kept(key.on_delete) || key.on_delete == ReferentialAction::Cascade))
}

fn changed_by_key(generated: &str) -> Error {
    let message =
        format!("generated column \"{generated}\" has to do with a foreign key whose action changes rows");
    Error::unsupported(message).with_hint("leave ON DELETE and ON UPDATE out")
}
