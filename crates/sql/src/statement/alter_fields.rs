//! ALTER TABLE of the fields of a column's structs: ADD, DROP and RENAME COLUMN with a path in place of a name.
//!
//! The column gets another type, and its values are made anew as ALTER COLUMN TYPE does it; what is given here is that
//! type and the expression. In a path `element` stands for the elements of a list, `key` and `value` for those of a map.

use syntax::Span;
use syntax::tree::{ColumnClauseKind, Expr as Ast, Name as Written, TableChange};
use types::quote;
use types::{Error, Result, SqlState, Type};

use super::Context;
use super::clauses::told;
use super::create::spelled;
use crate::RelationInfo;
use crate::bind::{folded, only_expression};
use crate::data_type;
use crate::names::Name;
use crate::place::Placed;

/// A column with another type, and how its values become those; `None` where IF EXISTS or IF NOT EXISTS finds
/// nothing to do.
pub(super) struct Rebuilt<'a> {
    /// The column's position in the table.
    pub column: usize,
    /// The new type.
    pub ty: Type,
    /// The expression that computes the new values from the old row.
    pub using: &'a Ast,
    /// The column's default, changed in the same way.
    pub default: Option<String>,
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

/// Whether the change names a field of a struct.
pub(super) fn is_path(change: &TableChange) -> bool {
    match change {
        TableChange::AddColumn { within, .. } => !within.is_empty(),
        TableChange::DropColumn { name, .. } | TableChange::RenameColumn(name, _) => name.names.len() > 1,
        _ => false,
    }
}

impl<'a> Context<'a> {
    /// The column that the change is about, with its new type and values.
    pub(super) fn rebuilt(&self, change: &TableChange, info: &RelationInfo) -> Result<Option<Rebuilt<'a>>> {
        let value;
        let (names, change, lenient): (Vec<&Written>, _, _) = match change {
            TableChange::AddColumn { if_not_exists, within, column } => {
                let names: Vec<&Written> = within.iter().chain([&column.name]).collect();
                let span = names.first().map(|name| name.span).unwrap_or_default();
                let Some(ty) = &column.ty else {
                    return Err(self.at(Error::unsupported("a field of a struct is not generated"), span));
                };
                let ty = data_type::column_type(self.text, ty, self.relations).placed(self.text, span)?;
                let mut default = "NULL".to_owned();
                for clause in &column.clauses {
                    match &clause.kind {
                        ColumnClauseKind::Default(expr) => default = expr.to_string(),
                        ColumnClauseKind::Null => {}
                        _ => {
                            let message = format!("a field of a struct has no {}", told(clause, self.text));
                            return Err(self.at(Error::unsupported(message), span));
                        }
                    }
                }
                value = format!("CAST({default} AS {})", ty.sql_name());
                (names, Change::Add(ty, &value), *if_not_exists)
            }
            TableChange::DropColumn { if_exists, name, cascade: _ } => {
                (name.names.iter().collect(), Change::Drop, *if_exists)
            }
            TableChange::RenameColumn(from, to) => {
                value = folded(to);
                (from.names.iter().collect(), Change::Rename(&value), false)
            }
            _ => return Err(Error::internal("no field is altered")),
        };
        let span = names.first().map(|name| name.span).unwrap_or_default();
        let path: Vec<String> = names.into_iter().map(folded).collect();
        let fields = info.columns.fields();
        let Some((first, path)) = path.split_first() else { return Ok(None) };
        let first = Written { text: first.as_str().into(), quoted: false, span };
        let first = spelled(fields, &first).placed(self.text, span)?;
        let Some(column) = fields.iter().position(|field| field.name == first) else {
            let message = format!("column \"{first}\" of relation \"{}\" does not exist", info.name);
            return Err(self.at(Error::new(SqlState::UndefinedColumn, message), span));
        };
        if info.is_generated(column) || !self.generated_from(info, &first)?.is_empty() {
            let message = "cannot alter type of a generated column, or of one that a generated column reads";
            return Err(self.at(Error::unsupported(message), span));
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let made = remade(fields[column].ty, &quote::name(&first), &first, &path, &change, 0);
        let made = match made {
            Err(error) if lenient && error.state() == absent(&change) => return Ok(None),
            other => other.map_err(|e| self.at(e, span))?,
        };
        let (_, parsed) = self.texts.add(format!("SELECT {}", made.1))?;
        let Some(using) = only_expression(parsed) else {
            return Err(Error::internal("the new values of a column are no expression"));
        };
        let default = match info.defaults.get(column) {
            Some(Some(default)) => {
                // The default is computed once, and stands under a name of its own where its fields are taken.
                let of = fields[column].ty;
                let (_, whole) =
                    remade(of, "given", &first, &path, &change, 0).map_err(|e| self.at(e, span))?;
                let ty = of.sql_name();
                Some(format!("(list_transform([CAST(({default}) AS {ty})], lambda given: {whole}))[1]"))
            }
            _ => None,
        };
        Ok(Some(Rebuilt { column, ty: made.0, using, default, span }))
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
        let own = format!("struct_extract({value}, {})", quote::text(field));
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
        parts.push(format!("{}: {own}", quote::text(&field)));
        types.push((field, of));
    }
    match (change, at) {
        (Change::Add(ty, given), None) if rest.is_empty() => {
            parts.push(format!("{}: {given}", quote::text(name)));
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
