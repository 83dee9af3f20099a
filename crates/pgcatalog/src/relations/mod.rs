//! The rows of the relations of `pg_catalog`.
//!
//! A relation's columns come from `fixed`; here are the rows. What is not said of a column is the empty value of its
//! type where PostgreSQL declares it NOT NULL, and NULL elsewhere. Columns are named, so that a row reads as what it is.

mod classes;
mod people;
mod shapes;

pub(crate) use classes::PG_CLASS;

use types::nested::encoding::list_of;
use types::system_type::reg_value;
use types::{Physical, SystemType, Type, Value};

use crate::fixed::{self, Relation};
use crate::objects::Catalog;

/// Rows that are being made of a relation.
pub(crate) struct Rows {
    relation: &'static Relation,
    /// What a column has that is not said.
    empty: Vec<Value>,
    rows: Vec<Vec<Value>>,
}

impl Rows {
    fn new(relation: &'static Relation) -> Rows {
        let fields = relation.schema.fields();
        let empty = fields.iter().map(|f| if f.nullable { Value::Null } else { empty_value(f.ty) }).collect();
        Rows { relation, empty, rows: fixed::rows(relation).to_vec() }
    }
    /// A row with these columns.
    fn push(&mut self, given: Vec<(&str, Value)>) {
        let mut row = self.empty.clone();
        for (name, value) in given {
            match self.relation.place(name) {
                Some(at) => row[at] = value,
                None => debug_assert!(false, "{} has no column {name}", self.relation.name),
            }
        }
        self.rows.push(row);
    }
}

/// All rows of a relation.
pub(crate) fn rows(catalog: &Catalog, relation: &'static Relation) -> Vec<Vec<Value>> {
    let mut rows = Rows::new(relation);
    match relation.name {
        "pg_namespace" => classes::namespaces(catalog, &mut rows),
        "pg_class" => classes::classes(catalog, &mut rows),
        "pg_attribute" => classes::attributes(catalog, &mut rows),
        "pg_attrdef" => classes::defaults(catalog, &mut rows),
        "pg_index" => shapes::indices(catalog, &mut rows),
        "pg_constraint" => shapes::constraints(catalog, &mut rows),
        "pg_type" => shapes::types(catalog, &mut rows),
        "pg_enum" => shapes::labels(catalog, &mut rows),
        "pg_sequence" => shapes::sequences(catalog, &mut rows),
        "pg_sequences" => shapes::sequences_shown(catalog, &mut rows),
        "pg_depend" => shapes::dependencies(catalog, &mut rows),
        "pg_rewrite" => shapes::rules(catalog, &mut rows),
        "pg_description" => classes::comments(catalog, &mut rows),
        "pg_tables" => classes::tables_shown(catalog, &mut rows),
        "pg_views" => classes::views_shown(catalog, &mut rows),
        "pg_indexes" => classes::indices_shown(catalog, &mut rows),
        "pg_stat_all_tables" | "pg_stat_user_tables" | "pg_stat_sys_tables" => {
            classes::statistics(catalog, &mut rows);
        }
        "pg_database" => people::databases(catalog, &mut rows),
        "pg_authid" | "pg_roles" => people::roles(catalog, &mut rows),
        "pg_user" => people::users(catalog, &mut rows),
        "pg_settings" => people::settings(catalog, &mut rows),
        _ => {}
    }
    rows.rows
}

/// The empty value of a type.
fn empty_value(ty: Type) -> Value {
    if ty.is_reg() {
        return reg_value(0, "-");
    }
    if ty.is_nested() {
        return list_of([], ty.element().unwrap_or(Type::Null));
    }
    match ty.physical() {
        Physical::Bool => Value::Bool(false),
        Physical::Bytes => Value::text(""),
        Physical::F32 => Value::F32(0.0),
        Physical::F64 => Value::F64(0.0),
        physical => Value::from_i128(0, physical).unwrap_or(Value::Null),
    }
}

fn oid(value: u32) -> Value {
    Value::I64(i64::from(value))
}
fn text(value: &str) -> Value {
    Value::text(value)
}
fn letter(value: char) -> Value {
    Value::text(value.encode_utf8(&mut [0; 4]))
}
fn truth(value: bool) -> Value {
    Value::Bool(value)
}
fn maybe(value: Option<&str>) -> Value {
    value.map_or(Value::Null, Value::text)
}
fn small(value: usize) -> Value {
    Value::I16(i16::try_from(value).unwrap_or(i16::MAX))
}
/// Numbers of columns, from 1, of places, from 0.
fn attribute_numbers(places: &[usize]) -> Value {
    let numbers: Vec<Value> = places.iter().map(|at| small(at + 1)).collect();
    list_of(&numbers, Type::SmallInt)
}
fn smalls(values: impl Iterator<Item = i16>) -> Value {
    list_of(&values.map(Value::I16).collect::<Vec<_>>(), Type::SmallInt)
}
fn oids(values: impl Iterator<Item = u32>) -> Value {
    list_of(&values.map(oid).collect::<Vec<_>>(), Type::System(SystemType::Oid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Surroundings;

    #[test]
    fn every_relation_has_rows_of_its_columns() {
        let catalog = catalog::Catalog::new();
        let snapshot = catalog.snapshot();
        let objects = Catalog::new(&snapshot, Surroundings::default());
        for relation in fixed::all() {
            for row in rows(&objects, relation) {
                assert_eq!(row.len(), relation.schema.len(), "{}", relation.name);
                for (value, field) in row.iter().zip(relation.schema.fields()) {
                    let fits = value.physical().is_none_or(|physical| physical == field.ty.physical());
                    assert!(fits, "{}.{} is {value:?}", relation.name, field.name);
                }
            }
        }
        let classes = rows(&objects, fixed::relation("pg_class").unwrap());
        assert!(classes.iter().any(|row| row[1].as_text() == Some("pg_class")));
    }
}
