//! ALTER TABLE, ALTER VIEW and COMMENT ON.
//!
//! Names are resolved here, so that the engine gets positions and types. ALTER COLUMN TYPE and changes of struct
//! fields become a query that computes all rows anew (`retyped`); such a change stands in an ALTER TABLE of its own.
//! SET (...) becomes `Statement::Reorganize`. Called by `Context::plan`.

use plan::statement::{AlterAction, CommentKind, CommentTarget, ObjectName, Statement};
use syntax::tree::{
    AlterTable, ColumnChange, ColumnClauseKind, ColumnDef, Comment, Constraint, Expr as Ast, Name,
    ObjectKind, Path, SetOption, TableChange, TypeName,
};
use types::{Error, Field, Result, SqlState, Type, Value};

use super::alter_fields::{self, Rebuilt};
use super::clauses::in_brackets;
use super::create::spelled;
use super::kinds::kind_name;
use super::{Context, refused};
use crate::bind::{Retyped, folded};
use crate::data_type::{self, Limit};
use crate::place::Placed;
use crate::{RelationInfo, place};

/// What ALTER TABLE does not have here.
fn unknown_change(change: &str) -> Error {
    Error::unsupported(format!("ALTER TABLE {change} is not supported")).at(place::START)
}

impl<'a> Context<'a> {
    /// ALTER TABLE, and ALTER VIEW where the name is a view's.
    pub(super) fn alter_table(&self, alter: &'a AlterTable) -> Result<Statement> {
        // No table has others that inherit from it, with ONLY or without.
        let AlterTable { view, if_exists, only: _, name: written, changes, span: _ } = alter;
        match changes.as_slice() {
            [TableChange::OwnerTo(to)] if !if_exists => return self.owner(ObjectKind::Table, written, to),
            [TableChange::Other(words)] => {
                if let Some(statement) = self.row_security(written, words)? {
                    return Ok(statement);
                }
            }
            _ => {}
        }
        changes.iter().try_for_each(|change| self.refuse_change(change))?;
        let (name, span) = self.existing_name(written)?;
        if *view || self.relations.view(name.schema.as_deref(), &name.name).is_some() {
            return self.alter_view(alter);
        }
        let found = self.relations.table(name.schema.as_deref(), &name.name).map_err(|e| self.at(e, span))?;
        let info = match found {
            Some(info) => info,
            None if *if_exists => {
                return Ok(Statement::AlterTable { name, table: None, actions: vec![] });
            }
            None => {
                return Err(self.at(self.binder().unknown_table(name.schema.as_deref(), &name.name), span));
            }
        };
        if let [TableChange::SetOptions(options, condition)] = changes.as_slice() {
            return self.reorganize((name, written), &info, options, condition.as_ref());
        }
        if changes.iter().any(alter_fields::is_path) {
            return self.alter_fields(name, info, changes);
        }
        let retyped: Vec<Retype<'a>> = changes.iter().filter_map(retype).collect();
        if retyped.len() == changes.len() {
            return self.alter_types(name, info, &retyped);
        }
        if !retyped.is_empty() {
            return Err(Error::unsupported("ALTER COLUMN TYPE stands with other changes")
                .with_hint("give it an ALTER TABLE of its own")
                .at(place::START));
        }
        let mut actions = Vec::with_capacity(changes.len());
        for change in changes {
            self.alter_action(change, &info, &mut actions)?;
        }
        Ok(Statement::AlterTable { name, table: Some(info.id), actions })
    }

    /// Changes that none has here, whatever the table.
    fn refuse_change(&self, change: &TableChange) -> Result<()> {
        match change {
            TableChange::AddColumn { if_not_exists: _, within: _, column } => self.refuse_column(column),
            TableChange::AddConstraint(constraint) => self.refuse_constraint(constraint),
            TableChange::AlterColumn(column, change) => self.refuse_column_change(column, change),
            TableChange::SetSchema(_) => Err(unknown_change("SET SCHEMA")),
            TableChange::ResetOptions(_) => Err(unknown_change("RESET")),
            TableChange::SetSorted(_) => Err(unknown_change("SET PARTITIONED BY and SORTED BY")),
            TableChange::Other(words) => {
                let words: Vec<String> = words.iter().take(2).map(|word| word.text.to_uppercase()).collect();
                Err(unknown_change(&words.join(" ")))
            }
            TableChange::DropColumn { .. }
            | TableChange::DropConstraint { .. }
            | TableChange::Rename(_)
            | TableChange::RenameColumn(..)
            | TableChange::RenameConstraint(..)
            | TableChange::SetOptions(..)
            | TableChange::ValidateConstraint(_)
            | TableChange::OwnerTo(_) => Ok(()),
        }
    }

    fn refuse_column_change(&self, column: &Name, change: &ColumnChange) -> Result<()> {
        let refuse = |what: &str| Err(self.unsupported(format!("ALTER COLUMN {column} {what}"), column.span));
        match change {
            ColumnChange::Type { collate: Some(_), .. } => refuse("TYPE with COLLATE"),
            ColumnChange::Type { ty: None, .. } => refuse("TYPE without a type"),
            ColumnChange::DropIdentity { if_exists: _ } => refuse("DROP IDENTITY"),
            ColumnChange::DropExpression { if_exists: _ } => refuse("DROP EXPRESSION"),
            ColumnChange::Statistics(_) => refuse("SET STATISTICS"),
            ColumnChange::AddIdentity { always: _, options } => self.refuse_identity(options, column.span),
            ColumnChange::Type { set_data: _, ty: Some(_), collate: None, using: _ }
            | ColumnChange::SetDefault(_)
            | ColumnChange::DropDefault
            | ColumnChange::SetNotNull
            | ColumnChange::DropNotNull => Ok(()),
        }
    }

    fn reorganize(
        &self,
        (name, written): (ObjectName, &Path),
        info: &RelationInfo,
        options: &[SetOption],
        condition: Option<&'a Ast>,
    ) -> Result<Statement> {
        let options = self.option_values(options)?;
        let rows = match condition.map(|condition| self.rows_where(written, condition)).transpose()? {
            None => None,
            Some(Statement::Modify(rows)) => Some(rows),
            Some(_) => return Err(Error::internal("a condition of ALTER TABLE is no condition")),
        };
        Ok(Statement::Reorganize { name, table: info.id, options, rows })
    }

    fn alter_action(
        &self,
        change: &'a TableChange,
        info: &RelationInfo,
        actions: &mut Vec<AlterAction>,
    ) -> Result<()> {
        match change {
            TableChange::AddColumn { if_not_exists, within: _, column } => {
                actions.push(self.add_column(column, *if_not_exists)?);
            }
            TableChange::DropColumn { if_exists, name, cascade } => {
                let cascade = *cascade == Some(true);
                let Some(column) = name.last() else { return Err(Error::internal("no column is dropped")) };
                self.drop_column(column, *if_exists, cascade, info, actions)?;
            }
            TableChange::RenameColumn(from, to) => {
                let Some(column) = from.last() else { return Err(Error::internal("no column is renamed")) };
                let from = spelled(info.columns.fields(), column).placed(self.text, column.span)?;
                let to = folded(to);
                if let Some(user) = self.generated_from(info, &from)?.first() {
                    let user = &info.columns.fields()[*user].name;
                    let error = Error::unsupported(format!(
                        "column \"{from}\" cannot be renamed: column \"{user}\" is generated from it"
                    ));
                    return Err(self.at(error, column.span));
                }
                actions.push(AlterAction::RenameColumn { from, to });
            }
            TableChange::Rename(to) => {
                actions.push(AlterAction::RenameTable { to: self.simple_name(to)? });
            }
            TableChange::AlterColumn(column, change) => {
                actions.push(self.alter_column(column, change, info)?);
            }
            TableChange::AddConstraint(constraint) => {
                actions.push(self.add_constraint(constraint, info)?);
            }
            TableChange::DropConstraint { if_exists, name, cascade } => {
                let (name, cascade) = (folded(name), *cascade == Some(true));
                actions.push(AlterAction::DropConstraint { name, if_exists: *if_exists, cascade });
            }
            TableChange::SetOptions(options, _) => {
                let first = options.first().map(|option| option.name.to_string()).unwrap_or_default();
                return Err(unknown_change(&format!("SET ({first}")));
            }
            TableChange::RenameConstraint(..) => return Err(unknown_change("RENAME CONSTRAINT")),
            TableChange::ValidateConstraint(_) => return Err(unknown_change("VALIDATE CONSTRAINT")),
            TableChange::OwnerTo(_) => return Err(unknown_change("OWNER TO")),
            TableChange::SetSchema(_)
            | TableChange::ResetOptions(_)
            | TableChange::SetSorted(_)
            | TableChange::Other(_) => return self.refuse_change(change),
        }
        Ok(())
    }

    /// ADD CONSTRAINT; rows that are there are checked, with NOT VALID or without.
    fn add_constraint(&self, constraint: &'a Constraint, info: &RelationInfo) -> Result<AlterAction> {
        let (name, key) = self.added_key(constraint, info)?;
        Ok(AlterAction::AddConstraint { name, key })
    }

    fn drop_column(
        &self,
        column: &Name,
        if_exists: bool,
        cascade: bool,
        info: &RelationInfo,
        actions: &mut Vec<AlterAction>,
    ) -> Result<()> {
        let name = spelled(info.columns.fields(), column).placed(self.text, column.span)?;
        let mut users = self.generated_from(info, &name)?;
        users.retain(|at| folded(column) != info.columns.fields()[*at].name);
        if let (Some(user), false) = (users.first(), cascade) {
            let user = &info.columns.fields()[*user].name;
            let message = format!("cannot drop column \"{name}\": other objects depend on it");
            let error = Error::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("Column \"{user}\" is generated from it."))
                .with_hint("drop the generated column first, or use CASCADE");
            return Err(self.at(error, column.span));
        }
        // What is generated from those goes as well; the same column may be reached twice.
        while let Some(at) = users.pop() {
            let user = info.columns.fields()[at].name.clone();
            users.extend(self.generated_from(info, &user)?);
            actions.push(AlterAction::DropColumn { name: user, if_exists: true, cascade });
        }
        actions.push(AlterAction::DropColumn { name, if_exists, cascade });
        Ok(())
    }

    fn alter_column(
        &self,
        written: &Name,
        change: &ColumnChange,
        info: &RelationInfo,
    ) -> Result<AlterAction> {
        let column = spelled(info.columns.fields(), written).placed(self.text, written.span)?;
        let generated = info.columns.position(&column).is_some_and(|at| info.is_generated(at));
        let default = matches!(change, ColumnChange::DropDefault | ColumnChange::SetDefault(_));
        if generated && default {
            let message = format!("column \"{column}\" of relation \"{}\" is a generated column", info.name);
            return Err(self.wrong(message, written.span));
        }
        Ok(match change {
            ColumnChange::SetNotNull => AlterAction::SetNotNull { column },
            ColumnChange::DropNotNull => AlterAction::DropNotNull { column },
            ColumnChange::DropDefault => AlterAction::SetDefault { column, default: None },
            ColumnChange::SetDefault(value) => {
                let default = match info.columns.fields().iter().find(|f| f.name == column) {
                    Some(field) => Some(self.default_text(value, field)?),
                    // The column's name is looked for when the table is changed.
                    None => None,
                };
                AlterAction::SetDefault { column, default }
            }
            ColumnChange::AddIdentity { always, options } => {
                let when = if *always { "ALWAYS" } else { "BY DEFAULT" };
                let shown = format!("ADD GENERATED {when} AS IDENTITY{}", in_brackets(options));
                return Err(self.unsupported(format!("ALTER COLUMN {shown}"), written.span));
            }
            ColumnChange::Type { .. }
            | ColumnChange::DropIdentity { .. }
            | ColumnChange::DropExpression { .. }
            | ColumnChange::Statistics(_) => {
                return Err(Error::internal("a change of a column that is none of these"));
            }
        })
    }

    fn add_column(&self, column: &'a ColumnDef, if_not_exists: bool) -> Result<AlterAction> {
        let mut options = plan::statement::TableOptions::default();
        let field = self.column(column, &mut options)?;
        if let Some(ty) = &column.ty
            && let (_, Some(limit @ Limit::Length(_))) = data_type::limited(ty)
        {
            return Err(self.at(data_type::refuse_limit(ty, limit), column.name.span));
        }
        let checked = column.clauses.iter().any(|clause| matches!(clause.kind, ColumnClauseKind::Check(_)));
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
        changes: &[TableChange],
    ) -> Result<Statement> {
        let [change] = changes else {
            return Err(Error::unsupported("a field of a struct is altered with other changes")
                .with_hint("give it an ALTER TABLE of its own")
                .at(place::START));
        };
        let table = info.id;
        let Some(Rebuilt { column, ty, using, default, span }) = self.rebuilt(change, &info)? else {
            return Ok(Statement::AlterTable { name, table: Some(table), actions: vec![] });
        };
        let mut columns = info.columns.fields().to_vec();
        columns[column] = Field { ty, ..columns[column].clone() };
        if let Some(default) = &default {
            self.binder().default_value(default, &columns[column], span)?;
        }
        let query = self.binder().retyped(info, &[Retyped { column, ty, using: Some(using), span }])?;
        let defaults = default.map(|default| (column, default)).into_iter().collect();
        Ok(Statement::AlterTypes { name, table, columns, query, defaults })
    }

    /// ALTER COLUMN TYPE: every row is made anew by a query.
    fn alter_types(
        &self,
        name: plan::statement::ObjectName,
        info: RelationInfo,
        changes: &[Retype<'a>],
    ) -> Result<Statement> {
        let mut columns = info.columns.fields().to_vec();
        let mut retyped: Vec<Retyped<'_>> = Vec::with_capacity(changes.len());
        for change in changes {
            let positions = self.columns(&info, &[change.column])?;
            let ty: Type = data_type::column_type(self.text, change.ty, self.relations)
                .placed(self.text, change.column.span)?;
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
        Ok(Statement::AlterTypes { name, table, columns, query, defaults: vec![] })
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
        match alter.changes.as_slice() {
            [TableChange::Rename(to)] => Ok(Statement::RenameView { name, to: self.simple_name(to)? }),
            _ => Err(Error::new(SqlState::WrongObjectType, format!("\"{}\" is a view", name.name))
                .with_hint("a view is renamed, or made anew with CREATE OR REPLACE VIEW")
                .at(place::START)),
        }
    }

    /// COMMENT ON.
    pub(super) fn comment(&self, comment: &Comment) -> Result<Statement> {
        let Comment { kind, if_exists, name, text, arguments } = comment;
        let unknown = || {
            let message = format!("COMMENT ON {} is not supported", kind_name(*kind));
            Err(Error::unsupported(message).at(place::START))
        };
        match kind {
            ObjectKind::Secret | ObjectKind::Constraint | ObjectKind::Trigger => return unknown(),
            _ if !arguments.is_empty() => {
                return Err(self.unsupported("COMMENT ON something with arguments", name.span()));
            }
            _ if *if_exists => return Err(refused("COMMENT", "IF EXISTS")),
            _ => {}
        }
        let on = match kind {
            ObjectKind::Table | ObjectKind::WideTable => CommentTarget::Table(self.existing_name(name)?.0),
            ObjectKind::View => CommentTarget::View(self.existing_name(name)?.0),
            ObjectKind::Column => {
                let Some((column, table @ [_, ..])) = name.names.split_last() else {
                    let message = "COMMENT ON COLUMN takes table.column";
                    return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
                };
                let (table, _) = self.existing_name(&Path { names: table.to_vec() })?;
                let info = self.relations.table(table.schema.as_deref(), &table.name).ok().flatten();
                let fields = info.as_ref().map_or(&[][..], |info| info.columns.fields());
                let column = spelled(fields, column).placed(self.text, column.span)?;
                CommentTarget::Column { table, column }
            }
            ObjectKind::Index => CommentTarget::Object(CommentKind::Index, self.object_name(name)?.0),
            ObjectKind::Sequence => CommentTarget::Object(CommentKind::Sequence, self.existing_name(name)?.0),
            ObjectKind::Type | ObjectKind::Domain => {
                CommentTarget::Object(CommentKind::Type, self.object_name(name)?.0)
            }
            ObjectKind::Macro | ObjectKind::MacroTable | ObjectKind::Function => {
                CommentTarget::Object(CommentKind::Macro, self.object_name(name)?.0)
            }
            ObjectKind::Schema => {
                let name = ObjectName { schema: None, name: self.schema_name(name)? };
                CommentTarget::Object(CommentKind::Schema, name)
            }
            ObjectKind::Database => match name.single() {
                Some(name) => {
                    let name = ObjectName { schema: None, name: folded(name) };
                    CommentTarget::Object(CommentKind::Database, name)
                }
                None => return unknown(),
            },
            _ => return unknown(),
        };
        let text = text.as_ref().map(|text| text.text.to_string()).filter(|text| !text.is_empty());
        Ok(Statement::Comment { on, text })
    }
}

/// One ALTER COLUMN TYPE.
struct Retype<'a> {
    column: &'a Name,
    ty: &'a TypeName,
    using: Option<&'a Ast>,
}

fn retype(change: &TableChange) -> Option<Retype<'_>> {
    match change {
        TableChange::AlterColumn(column, ColumnChange::Type { ty: Some(ty), using, .. }) => {
            Some(Retype { column, ty, using: using.as_ref() })
        }
        _ => None,
    }
}
