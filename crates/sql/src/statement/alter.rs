//! ALTER TABLE, ALTER VIEW and COMMENT ON.
//!
//! Names are resolved here, so that the engine gets positions and types. ALTER COLUMN TYPE and changes of struct
//! fields become a query that computes all rows anew (`retyped`); such a change stands in an ALTER TABLE of its own.
//! SET (...) becomes `Statement::Reorganize`. Called by `Context::plan`.

use plan::statement::{AlterAction, CommentTarget, ObjectName, Statement};
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation as Operation, ColumnDef, ColumnOption,
    CommentObject, DataType, DropBehavior, Expr as Ast, Ident, ObjectName as NameSyntax, RenameTableNameKind,
    SqlOption,
};
use types::{Error, Field, Result, SqlState, Type, Value};

use super::Context;
use super::alter_fields::{self, Rebuilt};
use super::create::spelled;
use crate::bind::{Retyped, folded};
use crate::data_type::{self, Limit};
use crate::place::Placed;
use crate::{RelationInfo, place};

impl Context<'_> {
    /// ALTER TABLE, and ALTER VIEW where the name is a view's.
    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<Statement> {
        if alter.location.is_some() || alter.on_cluster.is_some() || alter.table_type.is_some() {
            return Err(Error::unsupported("this form of ALTER TABLE is not supported").at(place::START));
        }
        let (name, span) = self.existing_name(&alter.name)?;
        if self.alter_view || self.relations.view(name.schema.as_deref(), &name.name).is_some() {
            return self.alter_view(alter);
        }
        let found = self.relations.table(name.schema.as_deref(), &name.name).map_err(|e| self.at(e, span))?;
        let info = match found {
            Some(info) => info,
            None if alter.if_exists => {
                return Ok(Statement::AlterTable { name, table: None, actions: vec![] });
            }
            None => {
                return Err(self.at(self.binder().unknown_table(name.schema.as_deref(), &name.name), span));
            }
        };
        if let [Operation::SetOptionsParens { options }] = alter.operations.as_slice() {
            return self.reorganize(name, &info, options);
        }
        if alter.operations.iter().any(alter_fields::is_path) {
            return self.alter_fields(name, info, &alter.operations);
        }
        let retyped: Vec<Retype<'_>> = alter.operations.iter().filter_map(retype).collect();
        if retyped.len() == alter.operations.len() {
            return self.alter_types(name, info, &retyped);
        }
        if !retyped.is_empty() {
            return Err(Error::unsupported("ALTER COLUMN TYPE stands with other changes")
                .with_hint("give it an ALTER TABLE of its own")
                .at(place::START));
        }
        let mut actions = Vec::with_capacity(alter.operations.len());
        for operation in &alter.operations {
            self.alter_action(operation, &info, &mut actions)?;
        }
        Ok(Statement::AlterTable { name, table: Some(info.id), actions })
    }

    fn reorganize(&self, name: ObjectName, info: &RelationInfo, options: &[SqlOption]) -> Result<Statement> {
        let options = self.option_values(options)?;
        let rows = match &self.parsed.alter_condition {
            None => None,
            Some(delete) => match crate::plan_one(delete, self.relations)? {
                Statement::Modify(rows) => Some(rows),
                _ => return Err(Error::internal("a condition of ALTER TABLE is no condition")),
            },
        };
        Ok(Statement::Reorganize { name, table: info.id, options, rows })
    }

    fn alter_action(
        &self,
        operation: &Operation,
        info: &RelationInfo,
        actions: &mut Vec<AlterAction>,
    ) -> Result<()> {
        match operation {
            Operation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                actions.push(self.add_column(column_def, *if_not_exists)?);
            }
            Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
                for name in column_names {
                    let span = name.span;
                    let name = spelled(info.columns.fields(), name).placed(self.text, span)?;
                    let dropped =
                        |at: usize| column_names.iter().any(|n| folded(n) == info.columns.fields()[at].name);
                    let mut users = self.generated_from(info, &name)?;
                    users.retain(|at| !dropped(*at));
                    if let (Some(user), false) = (users.first(), cascade) {
                        let user = &info.columns.fields()[*user].name;
                        let message = format!("cannot drop column \"{name}\": other objects depend on it");
                        let error = Error::new(SqlState::DependentObjectsStillExist, message)
                            .with_detail(format!("Column \"{user}\" is generated from it."))
                            .with_hint("drop the generated column first, or use CASCADE");
                        return Err(self.at(error, span));
                    }
                    // What is generated from those goes as well; the same column may be reached twice.
                    while let Some(at) = users.pop() {
                        let user = info.columns.fields()[at].name.clone();
                        users.extend(self.generated_from(info, &user)?);
                        actions.push(AlterAction::DropColumn { name: user, if_exists: true, cascade });
                    }
                    actions.push(AlterAction::DropColumn { name, if_exists: *if_exists, cascade });
                }
            }
            Operation::RenameColumn { old_column_name, new_column_name } => {
                let from = spelled(info.columns.fields(), old_column_name)
                    .placed(self.text, old_column_name.span)?;
                let to = folded(new_column_name);
                if let Some(user) = self.generated_from(info, &from)?.first() {
                    let user = &info.columns.fields()[*user].name;
                    let error = Error::unsupported(format!(
                        "column \"{from}\" cannot be renamed: column \"{user}\" is generated from it"
                    ));
                    return Err(self.at(error, old_column_name.span));
                }
                actions.push(AlterAction::RenameColumn { from, to });
            }
            Operation::RenameTable { table_name: RenameTableNameKind::To(to) } => {
                actions.push(AlterAction::RenameTable { to: self.simple_name(to)? });
            }
            Operation::AlterColumn { column_name, op } => {
                let column =
                    spelled(info.columns.fields(), column_name).placed(self.text, column_name.span)?;
                let generated = info.columns.position(&column).is_some_and(|at| info.is_generated(at));
                let default =
                    matches!(op, AlterColumnOperation::DropDefault | AlterColumnOperation::SetDefault { .. });
                if generated && default {
                    let message =
                        format!("column \"{column}\" of relation \"{}\" is a generated column", info.name);
                    return Err(self.at(Error::new(SqlState::SyntaxError, message), column_name.span));
                }
                actions.push(match op {
                    AlterColumnOperation::SetNotNull => AlterAction::SetNotNull { column },
                    AlterColumnOperation::DropNotNull => AlterAction::DropNotNull { column },
                    AlterColumnOperation::DropDefault => AlterAction::SetDefault { column, default: None },
                    AlterColumnOperation::SetDefault { value } => {
                        let default = match info.columns.fields().iter().find(|f| f.name == column) {
                            Some(field) => Some(self.default_text(value, field)?),
                            // The column's name is looked for when the table is changed.
                            None => None,
                        };
                        AlterAction::SetDefault { column, default }
                    }
                    other => {
                        return Err(self.at(
                            Error::unsupported(format!("ALTER COLUMN {other} is not supported")),
                            column_name.span,
                        ));
                    }
                });
            }
            Operation::AddConstraint { constraint, .. } => {
                let (name, key) = self.added_key(constraint, info)?;
                actions.push(AlterAction::AddConstraint { name, key });
            }
            Operation::DropConstraint { if_exists, name, drop_behavior } => {
                let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
                let name = folded(name);
                actions.push(AlterAction::DropConstraint { name, if_exists: *if_exists, cascade });
            }
            other => {
                let shown = other.to_string();
                let verb: Vec<&str> = shown.split_whitespace().take(2).collect();
                let message = format!("ALTER TABLE {} is not supported", verb.join(" "));
                return Err(Error::unsupported(message).at(place::START));
            }
        }
        Ok(())
    }

    fn add_column(&self, column: &ColumnDef, if_not_exists: bool) -> Result<AlterAction> {
        let mut options = plan::statement::TableOptions::default();
        let field = self.column(column, &mut options)?;
        if let (_, Some(limit @ Limit::Length(_))) = data_type::limited(&column.data_type) {
            return Err(self.at(data_type::refuse_limit(&column.data_type, limit), column.name.span));
        }
        let checked = column.options.iter().any(|o| matches!(o.option, ColumnOption::Check(_)));
        if checked {
            let error = Error::unsupported("a column with a CHECK cannot be added")
                .with_hint("add the column, then ALTER TABLE ... ADD CHECK");
            return Err(self.at(error, column.name.span));
        }
        let keyed =
            options.primary_key.is_some() || !options.unique.is_empty() || !options.foreign_keys.is_empty();
        if keyed {
            let error = Error::unsupported("a column with a key cannot be added")
                .with_hint("make a table with the key by CREATE TABLE, and INSERT INTO it");
            return Err(self.at(error, column.name.span));
        }
        if !options.generated.is_empty() {
            let error = Error::unsupported("a generated column cannot be added to a table that is there")
                .with_hint("make a table with it by CREATE TABLE, and INSERT INTO it");
            return Err(self.at(error, column.name.span));
        }
        if !options.identities.is_empty() {
            let error = Error::unsupported("a column with a sequence cannot be added");
            return Err(self.at(error, column.name.span));
        }
        let default = options.defaults.pop().map(|(_, text)| text);
        let value = match &default {
            None => Value::Null,
            Some(text) => {
                let expr = self.binder().default_value(text, &field, column.name.span)?;
                match expr.as_literal() {
                    Some(value) => value.clone(),
                    None => {
                        let error =
                            Error::unsupported("the default of a column that is added must be a constant")
                                .with_hint("add it without, then ALTER COLUMN ... SET DEFAULT");
                        return Err(self.at(error, column.name.span));
                    }
                }
            }
        };
        Ok(AlterAction::AddColumn { field, default, value, if_not_exists })
    }

    /// ADD, DROP and RENAME COLUMN of a struct's field: every row is made anew by a query.
    fn alter_fields(
        &self,
        name: ObjectName,
        info: RelationInfo,
        operations: &[Operation],
    ) -> Result<Statement> {
        let [operation] = operations else {
            return Err(Error::unsupported("a field of a struct is altered with other changes")
                .with_hint("give it an ALTER TABLE of its own")
                .at(place::START));
        };
        let table = info.id;
        let Some(Rebuilt { column, ty, using, span }) = self.rebuilt(operation, &info)? else {
            return Ok(Statement::AlterTable { name, table: Some(table), actions: vec![] });
        };
        let mut columns = info.columns.fields().to_vec();
        columns[column] = Field { ty, ..columns[column].clone() };
        let query = self.binder().retyped(info, &[Retyped { column, ty, using: Some(using), span }])?;
        Ok(Statement::AlterTypes { name, table, columns, query })
    }

    /// ALTER COLUMN TYPE: every row is made anew by a query.
    fn alter_types(
        &self,
        name: plan::statement::ObjectName,
        info: RelationInfo,
        changes: &[Retype<'_>],
    ) -> Result<Statement> {
        let mut columns = info.columns.fields().to_vec();
        let mut retyped: Vec<Retyped<'_>> = Vec::with_capacity(changes.len());
        for change in changes {
            let positions = self.columns(&info, &[change.column])?;
            let ty: Type =
                data_type::column_type(change.ty, self.relations).placed(self.text, change.column.span)?;
            for at in positions {
                if retyped.iter().any(|r| r.column == at) {
                    let message = format!("column \"{}\" gets two types", columns[at].name);
                    return Err(self.at(Error::new(SqlState::SyntaxError, message), change.column.span));
                }
                let name = columns[at].name.clone();
                if info.is_generated(at) || !self.generated_from(&info, &name)?.is_empty() {
                    let message =
                        "cannot alter type of a generated column, or of one that a generated column reads";
                    return Err(self.at(Error::unsupported(message), change.column.span));
                }
                columns[at] = Field { ty, ..columns[at].clone() };
                retyped.push(Retyped { column: at, ty, using: change.using, span: change.column.span });
                // What stands for a missing value must be one of the new type.
                if let Some(Some(default)) = info.defaults.get(at) {
                    self.binder().default_value(default, &columns[at], change.column.span)?;
                }
            }
        }
        let table = info.id;
        let query = self.binder().retyped(info, &retyped)?;
        Ok(Statement::AlterTypes { name, table, columns, query })
    }

    /// `ALTER VIEW v RENAME TO w`, which may be written ALTER TABLE too.
    fn alter_view(&self, alter: &AlterTable) -> Result<Statement> {
        let (name, span) = self.existing_name(&alter.name)?;
        if self.relations.view(name.schema.as_deref(), &name.name).is_none() {
            if alter.if_exists {
                return Ok(Statement::AlterTable { name, table: None, actions: vec![] });
            }
            let is_table = self.relations.table(name.schema.as_deref(), &name.name).ok().flatten().is_some();
            let error = if is_table {
                Error::new(SqlState::WrongObjectType, format!("\"{}\" is not a view", name.name))
                    .with_hint("use ALTER TABLE")
            } else {
                self.binder().unknown_table(name.schema.as_deref(), &name.name)
            };
            return Err(self.at(error, span));
        }
        match alter.operations.as_slice() {
            [Operation::RenameTable { table_name: RenameTableNameKind::To(to) }] => {
                Ok(Statement::RenameView { name, to: self.simple_name(to)? })
            }
            _ => Err(Error::new(SqlState::WrongObjectType, format!("\"{}\" is a view", name.name))
                .with_hint("a view is renamed, or made anew with CREATE OR REPLACE VIEW")
                .at(place::START)),
        }
    }

    /// COMMENT ON.
    pub(super) fn comment(
        &self,
        kind: &CommentObject,
        name: &NameSyntax,
        text: Option<&str>,
    ) -> Result<Statement> {
        let text = text.filter(|t| !t.is_empty()).map(str::to_owned);
        let on = match kind {
            CommentObject::Table => CommentTarget::Table(self.existing_name(name)?.0),
            CommentObject::View => CommentTarget::View(self.existing_name(name)?.0),
            CommentObject::Column => {
                let mut parts = name.0.clone();
                let column = parts.pop().and_then(|p| p.as_ident().cloned());
                let (Some(column), false) = (column, parts.is_empty()) else {
                    let message = "COMMENT ON COLUMN takes table.column";
                    return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
                };
                let (table, _) = self.existing_name(&NameSyntax(parts))?;
                let info = self.relations.table(table.schema.as_deref(), &table.name).ok().flatten();
                let fields = info.as_ref().map_or(&[][..], |info| info.columns.fields());
                let column = spelled(fields, &column).placed(self.text, column.span)?;
                CommentTarget::Column { table, column }
            }
            other => {
                let message = format!("COMMENT ON {other} is not supported");
                return Err(Error::unsupported(message).at(place::START));
            }
        };
        Ok(Statement::Comment { on, text })
    }
}

/// One ALTER COLUMN TYPE.
struct Retype<'a> {
    column: &'a Ident,
    ty: &'a DataType,
    using: Option<&'a Ast>,
}

fn retype(operation: &Operation) -> Option<Retype<'_>> {
    match operation {
        Operation::AlterColumn {
            column_name: column,
            op: AlterColumnOperation::SetDataType { data_type: ty, using, .. },
        } => Some(Retype { column, ty, using: using.as_ref() }),
        _ => None,
    }
}
