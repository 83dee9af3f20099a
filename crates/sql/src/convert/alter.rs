//! ALTER.
//!
//! A path of a struct's field becomes one quoted word with `JOINT` between the names, which `statement::alter_fields`
//! takes apart. The WHERE of ALTER TABLE ... SET is kept as the text of a DELETE, at its own place. ALTER QUERY and
//! ALTER of roles become calls of procedures. Called by `convert::statement`.

use sqlparser::ast;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use syntax::Span;
use syntax::tree;
use syntax::tree::{ColumnChange, ObjectChange, ObjectKind, TableChange};
use types::{Error, Result};

use super::option::{folded, own_call, text_value};
use super::{Converter, ident, made, object_name};
use crate::place;
use crate::statement::JOINT;

/// CASCADE and RESTRICT.
fn behavior(cascade: Option<bool>) -> Option<ast::DropBehavior> {
    cascade.map(|cascade| match cascade {
        true => ast::DropBehavior::Cascade,
        false => ast::DropBehavior::Restrict,
    })
}

/// A column, or the path of a field in it as one name.
fn column_name(path: &[&tree::Name]) -> ast::Ident {
    let Some((last, within)) = path.split_last() else { return made("", Span::default()) };
    if within.is_empty() {
        return ident(last);
    }
    let names: Vec<String> = path.iter().map(|name| folded(name)).collect();
    let mut joined = made(&names.join(&JOINT.to_string()), path.first().map_or(last.span, |name| name.span));
    joined.quote_style = Some('"');
    joined
}

fn path_name(path: &tree::Path) -> ast::Ident {
    column_name(&path.names.iter().collect::<Vec<_>>())
}

/// What ALTER TABLE does not have here.
fn refused(change: &str) -> Error {
    Error::unsupported(format!("ALTER TABLE {change} is not supported")).at(place::START)
}

impl Converter<'_> {
    /// ALTER TABLE and ALTER VIEW.
    pub(crate) fn alter_table(&self, alter: &tree::AlterTable) -> Result<ast::Statement> {
        let tree::AlterTable { view, if_exists, only, name, changes, span: _ } = alter;
        let operations =
            changes.iter().map(|change| self.table_change(name, change)).collect::<Result<_>>()?;
        self.asides.borrow_mut().parsed.alter_view = *view;
        Ok(ast::Statement::AlterTable(ast::AlterTable {
            name: object_name(name),
            if_exists: *if_exists,
            only: *only,
            operations,
            location: None,
            on_cluster: None,
            table_type: None,
            end_token: AttachedToken::empty(),
        }))
    }

    fn table_change(&self, table: &tree::Path, change: &TableChange) -> Result<ast::AlterTableOperation> {
        use ast::AlterTableOperation as Operation;
        Ok(match change {
            TableChange::AddColumn { if_not_exists, within, column } => {
                let path: Vec<&tree::Name> = within.iter().chain([&column.name]).collect();
                Operation::AddColumn {
                    column_keyword: true,
                    if_not_exists: *if_not_exists,
                    column_def: self.column_def(column, column_name(&path))?,
                    column_position: None,
                }
            }
            TableChange::AddConstraint(constraint) => Operation::AddConstraint {
                constraint: self.constraint(constraint)?,
                not_valid: constraint.not_valid,
            },
            TableChange::DropColumn { if_exists, name, cascade } => Operation::DropColumn {
                has_column_keyword: true,
                column_names: vec![path_name(name)],
                if_exists: *if_exists,
                drop_behavior: behavior(*cascade),
            },
            TableChange::DropConstraint { if_exists, name, cascade } => Operation::DropConstraint {
                if_exists: *if_exists,
                name: ident(name),
                drop_behavior: behavior(*cascade),
            },
            TableChange::Rename(to) => {
                Operation::RenameTable { table_name: ast::RenameTableNameKind::To(object_name(to)) }
            }
            TableChange::RenameColumn(from, to) => {
                Operation::RenameColumn { old_column_name: path_name(from), new_column_name: ident(to) }
            }
            TableChange::RenameConstraint(from, to) => {
                Operation::RenameConstraint { old_name: ident(from), new_name: ident(to) }
            }
            TableChange::AlterColumn(column, change) => {
                Operation::AlterColumn { column_name: ident(column), op: self.column_change(column, change)? }
            }
            TableChange::SetOptions(options, condition) => {
                if let Some(condition) = condition {
                    let delete = self.delete_of(table, condition.span);
                    self.asides.borrow_mut().parsed.alter_condition = Some(delete);
                }
                Operation::SetOptionsParens { options: self.sql_options(options)? }
            }
            TableChange::ValidateConstraint(name) => Operation::ValidateConstraint { name: ident(name) },
            TableChange::OwnerTo(owner) => Operation::OwnerTo { new_owner: ast::Owner::Ident(ident(owner)) },
            TableChange::SetSchema(_) => return Err(refused("SET SCHEMA")),
            TableChange::ResetOptions(_) => return Err(refused("RESET")),
            TableChange::SetSorted(_) => return Err(refused("SET PARTITIONED BY and SORTED BY")),
            TableChange::Other(words) => {
                let words: Vec<String> = words.iter().take(2).map(|word| word.text.to_uppercase()).collect();
                return Err(refused(&words.join(" ")));
            }
        })
    }

    /// A DELETE with a condition that stands where it does in this text, so that errors point at it.
    fn delete_of(&self, table: &tree::Path, condition: Span) -> String {
        let mut delete = format!("DELETE FROM {} WHERE ", self.text_of(table.span())).replace('\n', " ");
        let between = Span::new(u32::try_from(delete.len()).unwrap_or(u32::MAX), condition.start);
        delete.extend(self.text_of(between).bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        delete.push_str(self.text_of(condition));
        delete
    }

    fn column_change(&self, column: &tree::Name, change: &ColumnChange) -> Result<ast::AlterColumnOperation> {
        use ast::AlterColumnOperation as Operation;
        let refuse = |what: &str| {
            let what = format!("ALTER COLUMN {} {what}", ident(column));
            Err(self.unsupported(what, column.span))
        };
        Ok(match change {
            ColumnChange::Type { collate: Some(_), .. } => return refuse("TYPE with COLLATE"),
            ColumnChange::Type { ty: None, .. } => return refuse("TYPE without a type"),
            ColumnChange::Type { set_data, ty: Some(ty), collate: None, using } => Operation::SetDataType {
                data_type: self.data_type(ty)?,
                using: using.as_ref().map(|using| self.expr(using)).transpose()?,
                had_set: *set_data,
            },
            ColumnChange::SetDefault(value) => Operation::SetDefault { value: self.expr(value)? },
            ColumnChange::DropDefault => Operation::DropDefault,
            ColumnChange::SetNotNull => Operation::SetNotNull,
            ColumnChange::DropNotNull => Operation::DropNotNull,
            ColumnChange::AddIdentity { always, options } => Operation::AddGenerated {
                generated_as: Some(match always {
                    true => ast::GeneratedAs::Always,
                    false => ast::GeneratedAs::ByDefault,
                }),
                sequence_options: match options.as_slice() {
                    [] => None,
                    options => Some(self.sequence_options(options, column.span)?),
                },
            },
            ColumnChange::DropIdentity { if_exists: _ } => return refuse("DROP IDENTITY"),
            ColumnChange::DropExpression { if_exists: _ } => return refuse("DROP EXPRESSION"),
            ColumnChange::Statistics(_) => return refuse("SET STATISTICS"),
        })
    }

    /// ALTER of what is no table: of a role, whose settings are changed by a procedure.
    pub(super) fn alter_object(&self, alter: &tree::AlterObject, at: Span) -> Result<ast::Statement> {
        let tree::AlterObject { kind, if_exists, name, change } = alter;
        let role = name.single().filter(|_| *kind == ObjectKind::Role && !if_exists);
        let Some(role) = role else { return Err(unknown(*kind)) };
        let named = text_value(&folded(role), role.span);
        match change {
            ObjectChange::Set(setting, value) => {
                let of = text_value(&setting.text, setting.span);
                let place = self.place_of(value, setting.span);
                match self.option_text(value) {
                    _ if matches!(value, tree::OptionValue::Word(word) if is_default(word)) => {
                        Ok(own_call("reset_role", at, vec![named, of]))
                    }
                    Some(text) => Ok(own_call("alter_role", at, vec![named, of, text_value(&text, place)])),
                    None => Err(self.unexpected(place)),
                }
            }
            ObjectChange::Reset(setting) => {
                let of = setting.as_ref().map(|setting| text_value(&setting.text, setting.span));
                Ok(own_call("reset_role", at, std::iter::once(named).chain(of).collect()))
            }
            ObjectChange::Rename(_)
            | ObjectChange::SetSchema(_)
            | ObjectChange::OwnerTo(_)
            | ObjectChange::Sequence(_)
            | ObjectChange::AddValue { .. }
            | ObjectChange::RenameValue(..) => Err(unknown(*kind)),
        }
    }

    /// `ALTER QUERY 7 SET name = value`.
    pub(super) fn alter_query(
        &self,
        query: &tree::Expr,
        name: &tree::Name,
        value: &tree::OptionValue,
        at: Span,
    ) -> Result<ast::Statement> {
        let place = self.place_of(value, name.span);
        let Some(text) = self.option_text(value) else { return Err(self.unexpected(place)) };
        let values = vec![self.expr(query)?, text_value(&name.text, name.span), text_value(&text, place)];
        Ok(own_call("alter_query", at, values))
    }
}

/// Whether the word is DEFAULT, without quotes.
pub(super) fn is_default(word: &tree::Name) -> bool {
    !word.quoted && word.text.eq_ignore_ascii_case("default")
}

/// ALTER of a kind of object that is not altered.
fn unknown(kind: ObjectKind) -> Error {
    let message = format!("ALTER {} is not supported", super::drop::kind_name(kind));
    Error::unsupported(message).at(place::START)
}
