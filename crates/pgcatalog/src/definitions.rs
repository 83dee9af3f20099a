//! Objects as statements: what `pg_get_indexdef`, `pg_get_constraintdef`, `pg_get_viewdef` and `format_type` print.
//!
//! Called by `functions` for the calls of these names, and by `relations` for columns that hold such a text. A text
//! is one that can be run here again; PostgreSQL's own layout is kept where tools parse it.

use types::{ReferentialAction, SystemType, Type};

use crate::names::quoted;
use crate::objects::{Catalog, Class, Constraint, Index};
use crate::oids::PG_CATALOG;
use crate::{fixed, oids};

/// The columns of a list by their places, as SQL has them.
fn listed(class: &Class, columns: &[usize]) -> String {
    let names = columns.iter().filter_map(|at| class.columns.get(*at)).map(|c| quoted(&c.name));
    names.collect::<Vec<_>>().join(", ")
}

/// CREATE INDEX; with a number from 1, that column alone.
pub(crate) fn index(catalog: &Catalog, class: &Class, index: &Index, column: i64) -> Option<String> {
    let table = catalog.class(index.table)?;
    if column > 0 {
        let at = usize::try_from(column - 1).ok()?;
        return index.columns.get(at).map(|at| listed(table, &[*at]));
    }
    let unique = if index.unique { "UNIQUE " } else { "" };
    let nulls = if index.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
    Some(format!(
        "CREATE {unique}INDEX {} ON {} USING btree ({}){nulls}",
        quoted(&class.name),
        catalog.qualified(table.namespace, &table.name),
        listed(table, &index.columns),
    ))
}

/// The constraint as CREATE TABLE has it, without its name.
pub(crate) fn constraint(catalog: &Catalog, constraint: &Constraint) -> Option<String> {
    let table = catalog.class(constraint.table)?;
    let columns = listed(table, &constraint.columns);
    Some(match (constraint.kind, &constraint.foreign) {
        ('p', _) => format!("PRIMARY KEY ({columns})"),
        ('u', _) => {
            let equal = catalog.class(constraint.index).and_then(|c| c.index.as_ref());
            let nulls = if equal.is_some_and(|i| i.nulls_equal) { " NULLS NOT DISTINCT" } else { "" };
            format!("UNIQUE{nulls} ({columns})")
        }
        ('f', Some(key)) => {
            let parent = catalog.class(oids::of_table(key.parent.0))?;
            let referred = listed(parent, &key.parent_columns);
            let mut text =
                format!("FOREIGN KEY ({columns}) REFERENCES {}({referred})", catalog.class_shown(parent));
            if key.full {
                text.push_str(" MATCH FULL");
            }
            for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                if action != ReferentialAction::NoAction {
                    text.push_str(&format!(" ON {event} {}", action.name()));
                }
            }
            text
        }
        _ => format!("CHECK (({}))", constraint.check.as_deref()?),
    })
}

/// The view's query, with the semicolon that PostgreSQL ends it with.
pub(crate) fn view(class: &Class) -> Option<String> {
    let text = class.query.as_deref()?.trim().trim_end_matches(';');
    Some(format!(" {text};"))
}

/// A type with its modifier, as SQL has it; `None` for an unknown OID.
pub(crate) fn type_name(catalog: &Catalog, oid: u32, modifier: i64) -> Option<String> {
    if let Some(known) = catalog.enumerations.iter().find(|e| e.oid == oid || e.oid + 1 == oid) {
        let array = if known.oid == oid { "" } else { "[]" };
        let name = match catalog.in_path(known.namespace) {
            true => quoted(&known.name),
            false => catalog.qualified(known.namespace, &known.name),
        };
        return Some(name + array);
    }
    if let Some(row) =
        catalog.classes.iter().find(|c| c.row_type != 0 && (c.row_type..c.row_type + 2).contains(&oid))
    {
        return Some(catalog.class_shown(row) + if row.row_type == oid { "" } else { "[]" });
    }
    let relation = fixed::relation("pg_type")?;
    let (name_at, element_at) = (relation.place("typname")?, relation.place("typelem")?);
    let row = fixed::rows(relation).iter().find(|row| row[0].as_i64() == Some(i64::from(oid)))?;
    let name = row[name_at].as_text()?;
    if let Some(element) = name.strip_prefix('_').and(row[element_at].as_i64()) {
        let element = type_name(catalog, u32::try_from(element).ok()?, modifier)?;
        return Some(format!("{element}[]"));
    }
    Some(with_modifier(name, modifier))
}

/// A type of PostgreSQL's with its modifier; -1 is none.
fn with_modifier(name: &str, modifier: i64) -> String {
    const HEADER: i64 = 4;
    let length = |word: &str| match modifier >= HEADER {
        true => format!("{word}({})", modifier - HEADER),
        false => word.to_owned(),
    };
    let digits = |word: &str, rest: &str| match modifier >= 0 {
        true => format!("{word}({modifier}){rest}"),
        false => format!("{word}{rest}"),
    };
    match name {
        "bool" => "boolean".to_owned(),
        "int2" => "smallint".to_owned(),
        "int4" => "integer".to_owned(),
        "int8" => "bigint".to_owned(),
        "float4" => "real".to_owned(),
        "float8" => "double precision".to_owned(),
        "bpchar" if modifier < HEADER => "character".to_owned(),
        "bpchar" => length("character"),
        "varchar" => length("character varying"),
        "char" => "\"char\"".to_owned(),
        "bit" => digits("bit", ""),
        "varbit" => digits("bit varying", ""),
        "numeric" if modifier >= HEADER => {
            let packed = modifier - HEADER;
            format!("numeric({},{})", packed >> 16 & 0xffff, packed & 0x7ff)
        }
        "time" => digits("time", " without time zone"),
        "timetz" => digits("time", " with time zone"),
        "timestamp" => digits("timestamp", " without time zone"),
        "timestamptz" => digits("timestamp", " with time zone"),
        "interval" => match modifier >> 16 {
            6 => "interval year to month".to_owned(),
            7176 => "interval day to second".to_owned(),
            _ => "interval".to_owned(),
        },
        "any" => "\"any\"".to_owned(),
        name => name.to_owned(),
    }
}

/// The OID of the type that a text names, as `regtype` reads it; `None` for an unknown one.
pub(crate) fn type_oid(catalog: &Catalog, text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some(element) = text.strip_suffix("[]") {
        let element = type_oid(catalog, element)?;
        return array_of(catalog, element);
    }
    let (schema, name) =
        Catalog::split(text.split('(').next()?.trim()).ok().unwrap_or((None, text.to_lowercase()));
    let wanted = schema.as_deref().map(|schema| catalog.namespace_named(schema));
    let of_schema = |namespace: u32| match wanted {
        None => catalog.in_path(namespace),
        Some(schema) => schema == Some(namespace),
    };
    if of_schema(PG_CATALOG) {
        let plain = match (schema.is_none() && !text.starts_with('"'), Type::from_sql_name(&name)) {
            (true, Some(ty)) if ty != Type::System(SystemType::Char) => {
                Some(pgproto::oid::describe(ty, catalog).oid)
            }
            _ => None,
        };
        if let Some(found) = fixed_type(&name).or(plain) {
            // `char` without quotes is CHARACTER(1).
            return Some(if name == "char" && !text.starts_with('"') && schema.is_none() {
                1042
            } else {
                found
            });
        }
    }
    let enumeration = catalog.enumerations.iter().find(|e| of_schema(e.namespace) && e.name == name);
    enumeration.map(|e| e.oid).or_else(|| {
        let row =
            catalog.classes.iter().find(|c| c.row_type != 0 && of_schema(c.namespace) && c.name == name);
        row.map(|class| class.row_type)
    })
}

fn fixed_type(name: &str) -> Option<u32> {
    let relation = fixed::relation("pg_type")?;
    let at = relation.place("typname")?;
    let row = fixed::rows(relation).iter().find(|row| row[at].as_text() == Some(name))?;
    row[0].as_i64().and_then(|oid| u32::try_from(oid).ok())
}

fn array_of(catalog: &Catalog, element: u32) -> Option<u32> {
    let own = catalog.enumerations.iter().any(|e| e.oid == element)
        || catalog.classes.iter().any(|c| c.row_type == element && c.row_type != 0);
    if own {
        return Some(element + 1);
    }
    let relation = fixed::relation("pg_type")?;
    let at = relation.place("typarray")?;
    let row = fixed::rows(relation).iter().find(|row| row[0].as_i64() == Some(i64::from(element)))?;
    row[at].as_i64().and_then(|oid| u32::try_from(oid).ok()).filter(|oid| *oid != 0)
}
