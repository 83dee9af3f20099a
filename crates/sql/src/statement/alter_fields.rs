//! ALTER TABLE of the fields of a column's structs: ADD, DROP and RENAME COLUMN with a path in place of a name.
//!
//! The parser takes one name there, so a path comes to it as one quoted word. The column gets another type, and its
//! values are made anew as ALTER COLUMN TYPE does it; what is given here is that type and the expression. In a path
//! `element` stands for the elements of a list, `key` and `value` for those of a map.

use sqlparser::ast::{AlterTableOperation as Operation, ColumnOption, Ident};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState, Type};

use super::Context;
use super::create::spelled;
use crate::bind::{folded, only_expression};
use crate::data_type;
use crate::place::Placed;
use crate::{RelationInfo, names::Name};

/// Between the names of a path; no name has it.
pub(crate) const JOINT: char = '\u{1}';

/// A column with another type, and how its values become those; `None` where IF EXISTS or IF NOT EXISTS finds
/// nothing to do.
pub(super) struct Rebuilt<'a> {
    /// The column's position in the table.
    pub column: usize,
    /// The new type.
    pub ty: Type,
    /// The expression that computes the new values from the old row.
    pub using: &'a sqlparser::ast::Expr,
    /// Where the statement names the column, for errors.
    pub span: Span,
}

/// What happens to the last field of a path.
enum Change<'c> {
    /// A new field's type and value, in SQL.
    Add(Type, &'c str),
    Drop,
    Rename(&'c str),
}

/// Whether the operation names a field of a struct.
pub(super) fn is_path(operation: &Operation) -> bool {
    let name = match operation {
        Operation::AddColumn { column_def, .. } => &column_def.name,
        Operation::DropColumn { column_names, .. } => match column_names.as_slice() {
            [one] => one,
            several => return several.iter().any(|name| name.value.contains(JOINT)),
        },
        Operation::RenameColumn { old_column_name, .. } => old_column_name,
        _ => return false,
    };
    name.value.contains(JOINT)
}

impl Context<'_> {
    /// The column that the operation changes, with its new type and values.
    pub(super) fn rebuilt(&self, operation: &Operation, info: &RelationInfo) -> Result<Option<Rebuilt<'_>>> {
        let value;
        let (ident, change, lenient) = match operation {
            Operation::AddColumn { if_not_exists, column_def, .. } => {
                let ident = &column_def.name;
                let ty = data_type::column_type(&column_def.data_type, self.relations)
                    .placed(self.text, ident.span)?;
                let mut default = "NULL".to_owned();
                for option in &column_def.options {
                    match &option.option {
                        ColumnOption::Default(expr) => default = expr.to_string(),
                        ColumnOption::Null => {}
                        other => {
                            let message = format!("a field of a struct has no {other}");
                            return Err(self.at(Error::unsupported(message), ident.span));
                        }
                    }
                }
                value = format!("CAST({default} AS {})", ty.sql_name());
                (ident, Change::Add(ty, &value), *if_not_exists)
            }
            Operation::DropColumn { column_names, if_exists, .. } => match column_names.as_slice() {
                [ident] => (ident, Change::Drop, *if_exists),
                _ => {
                    let message = "fields of structs are dropped one by one";
                    return Err(Error::unsupported(message).at(crate::place::START));
                }
            },
            Operation::RenameColumn { old_column_name, new_column_name } => {
                value = folded(new_column_name);
                (old_column_name, Change::Rename(&value), false)
            }
            _ => return Err(Error::internal("no field is altered")),
        };
        let span = ident.span;
        let path: Vec<&str> = ident.value.split(JOINT).collect();
        let fields = info.columns.fields();
        let Some((first, path)) = path.split_first() else { return Ok(None) };
        let first = spelled(fields, &Ident::new(*first)).placed(self.text, span)?;
        let Some(column) = fields.iter().position(|field| field.name == first) else {
            let message = format!("column \"{first}\" of relation \"{}\" does not exist", info.name);
            return Err(self.at(Error::new(SqlState::UndefinedColumn, message), span));
        };
        if info.is_generated(column) || !self.generated_from(info, &first)?.is_empty() {
            let message = "cannot alter type of a generated column, or of one that a generated column reads";
            return Err(self.at(Error::unsupported(message), span));
        }
        if let Some(Some(_)) = info.defaults.get(column) {
            let message = format!("the fields of column \"{first}\" cannot change while it has a default");
            let error = Error::unsupported(message)
                .with_hint("ALTER COLUMN ... DROP DEFAULT first, and set the default anew afterwards");
            return Err(self.at(error, span));
        }
        let made = remade(fields[column].ty, &quoted(&first), &first, path, &change, 0);
        let made = match made {
            Err(error) if lenient && error.state() == absent(&change) => return Ok(None),
            other => other.map_err(|e| self.at(e, span))?,
        };
        let (_, parsed) = self.texts.add(format!("SELECT {}", made.1))?;
        let Some(using) = only_expression(parsed) else {
            return Err(Error::internal("the new values of a column are no expression"));
        };
        Ok(Some(Rebuilt { column, ty: made.0, using, span }))
    }
}

/// What IF EXISTS and IF NOT EXISTS let pass.
fn absent(change: &Change<'_>) -> SqlState {
    match change {
        Change::Add(..) => SqlState::DuplicateColumn,
        Change::Drop | Change::Rename(_) => SqlState::UndefinedColumn,
    }
}

/// The type of a value, and the value in SQL, once the field at the end of `path` has changed.
fn remade(
    ty: Type,
    value: &str,
    shown: &str,
    path: &[&str],
    change: &Change<'_>,
    depth: usize,
) -> Result<(Type, String)> {
    let Some((name, rest)) = path.split_first() else {
        return Err(Error::internal("a path of fields has no end"));
    };
    let inner = format!("part_{depth}");
    if let (Some(element), "element") = (ty.element(), *name)
        && !rest.is_empty()
    {
        let (element, made) = remade(element, &inner, name, rest, change, depth + 1)?;
        return Ok((Type::list(element)?, format!("list_transform({value}, lambda {inner}: {made})")));
    }
    if let (Some((key, of)), "key" | "value") = (ty.entry(), *name)
        && !rest.is_empty()
    {
        let (key_of, value_of) =
            (format!("struct_extract({inner}, 'key')"), format!("struct_extract({inner}, 'value')"));
        let (key, of, key_made, value_made) = if *name == "key" {
            let (key, made) = remade(key, &key_of, name, rest, change, depth + 1)?;
            (key, of, made, value_of)
        } else {
            let (of, made) = remade(of, &value_of, name, rest, change, depth + 1)?;
            (key, of, key_of, made)
        };
        let part = |made: &str| format!("list_transform(map_entries({value}), lambda {inner}: {made})");
        let made = format!("map({}, {})", part(&key_made), part(&value_made));
        return Ok((Type::map(key, of)?, format!("CASE WHEN {value} IS NULL THEN NULL ELSE {made} END")));
    }
    let undefined = |message: String| Err(Error::new(SqlState::UndefinedColumn, message));
    let fields = match ty.fields() {
        Some(fields) if fields.iter().all(|(name, _)| !name.is_empty()) => fields,
        _ => {
            let message = format!("\"{shown}\" is of type {}, which has no fields by name", ty.sql_name());
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
    };
    let wanted = Name { text: (*name).to_owned(), quoted: false };
    let at = wanted.position(fields.iter().map(|(name, _)| name.as_str()), "field")?;
    let mut types: Vec<(String, Type)> = Vec::with_capacity(fields.len() + 1);
    let mut parts: Vec<String> = Vec::with_capacity(fields.len() + 1);
    for (place, (field, of)) in fields.iter().enumerate() {
        let own = format!("struct_extract({value}, '{}')", field.replace('\'', "''"));
        let (field, of, own) = match change {
            _ if at != Some(place) => (field.clone(), *of, own),
            _ if !rest.is_empty() => {
                let (of, made) = remade(*of, &own, field, rest, change, depth + 1)?;
                (field.clone(), of, made)
            }
            Change::Drop => continue,
            Change::Rename(to) => ((*to).to_owned(), *of, own),
            Change::Add(..) => {
                let message = format!("struct \"{shown}\" has a field \"{field}\" already");
                return Err(Error::new(SqlState::DuplicateColumn, message));
            }
        };
        if types.iter().any(|(known, _)| *known == field) {
            let message = format!("struct \"{shown}\" has a field \"{field}\" already");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        parts.push(format!("'{}': {own}", field.replace('\'', "''")));
        types.push((field, of));
    }
    match (change, at) {
        (Change::Add(ty, given), None) if rest.is_empty() => {
            parts.push(format!("'{}': {given}", name.replace('\'', "''")));
            types.push(((*name).to_owned(), *ty));
        }
        (_, None) => return undefined(format!("struct \"{shown}\" has no field \"{name}\"")),
        _ if types.is_empty() => {
            let message = format!("\"{name}\" is the last field of struct \"{shown}\"");
            let error = Error::new(SqlState::InvalidTableDefinition, message);
            return Err(error.with_hint("a struct has at least one field: drop the column"));
        }
        _ => {}
    }
    let made = format!("CASE WHEN {value} IS NULL THEN NULL ELSE {{{}}} END", parts.join(", "));
    Ok((Type::structure(types)?, made))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
