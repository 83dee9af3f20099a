//! What every PostgreSQL 15 has: columns of the catalog's relations, and rows of those that no database changes.
//!
//! The texts are compiled in and read when they are first asked for. A line that cannot be read is left out in a
//! running database and fails the test below.

use std::collections::HashMap;
use std::sync::OnceLock;

use types::cast::cast_value;
use types::system_type::reg_value;
use types::{Field, Schema, SystemType, Type, Value};

/// A relation of `pg_catalog` or `information_schema`.
#[derive(Debug)]
pub(crate) struct Relation {
    /// `pg_catalog`, or `information_schema`.
    pub schema_name: &'static str,
    pub name: &'static str,
    pub oid: u32,
    /// A view, in PostgreSQL.
    pub is_view: bool,
    pub schema: Schema,
    /// Places of columns by name.
    places: HashMap<&'static str, usize>,
}

impl Relation {
    /// The place of a column; `None` for an unknown name.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.places.get(column).copied()
    }
}

const RELATIONS: &str = include_str!("../data/relations.tsv");

/// All relations, by schema and name.
pub(crate) fn all() -> &'static [Relation] {
    static ALL: OnceLock<Vec<Relation>> = OnceLock::new();
    ALL.get_or_init(|| RELATIONS.lines().filter_map(read_relation).collect())
}

/// The relation of `pg_catalog` of that name.
pub(crate) fn relation(name: &str) -> Option<&'static Relation> {
    static BY_NAME: OnceLock<HashMap<&str, &Relation>> = OnceLock::new();
    let known = BY_NAME.get_or_init(|| {
        all().iter().filter(|r| r.schema_name == "pg_catalog").map(|r| (r.name, r)).collect()
    });
    known.get(name).copied()
}

/// The relation of `information_schema` of that name.
pub(crate) fn standard_relation(name: &str) -> Option<&'static Relation> {
    all().iter().find(|relation| relation.schema_name == "information_schema" && relation.name == name)
}

fn read_relation(line: &'static str) -> Option<Relation> {
    let mut parts = line.split('\t');
    let (schema_name, name) = parts.next()?.split_once('.')?;
    let oid = parts.next()?.parse().ok()?;
    let is_view = parts.next()? == "v";
    let mut fields = Vec::new();
    let mut places = HashMap::new();
    for (at, column) in parts.enumerate() {
        let (column, not_null) = match column.strip_suffix('!') {
            Some(column) => (column, true),
            None => (column, false),
        };
        let (name, ty) = column.split_once(':')?;
        places.insert(name, at);
        fields.push(Field::new(name, type_named(ty)?, !not_null));
    }
    Some(Relation { schema_name, name, oid, is_view, schema: Schema::new(fields), places })
}

/// The type that PostgreSQL calls so.
fn type_named(name: &str) -> Option<Type> {
    if let Some(element) = name.strip_suffix("[]") {
        return Type::list(type_named(element)?).ok();
    }
    Some(match name {
        "name" => Type::NAME,
        "character varying" => Type::Text,
        // Rows of a relation have no type of their own here; the column is always NULL.
        "pg_statistic" => Type::System(SystemType::AnyArray),
        _ => Type::from_sql_name(name)?,
    })
}

macro_rules! catalogs {
    ($($name:literal)*) => {
        fn text_of(catalog: &str) -> &'static str {
            match catalog {
                $($name => include_str!(concat!("../data/", $name, ".tsv")),)*
                _ => "",
            }
        }
        /// Relations of which some rows are fixed.
        pub(crate) const CATALOGS: &[&str] = &[$($name,)*];
    };
}
catalogs! {
    "pg_aggregate" "pg_am" "pg_cast" "pg_collation" "pg_language" "pg_opclass" "pg_operator" "pg_opfamily" "pg_proc"
    "pg_range" "pg_tablespace" "pg_type"
}

/// The fixed rows of a relation; none for most.
pub(crate) fn rows(relation: &'static Relation) -> &'static [Vec<Value>] {
    static KNOWN: OnceLock<HashMap<&str, Vec<Vec<Value>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let read = |name: &&'static str| {
            let relation = self::relation(name)?;
            Some((*name, text_of(name).lines().filter_map(|line| read_row(relation, line)).collect()))
        };
        CATALOGS.iter().filter_map(read).collect()
    });
    known.get(relation.name).map_or(&[], Vec::as_slice)
}

fn read_row(relation: &Relation, line: &str) -> Option<Vec<Value>> {
    let fields = relation.schema.fields();
    let row: Vec<Value> = line
        .split('\t')
        .zip(fields)
        .map(|(text, field)| read_value(text, field.ty))
        .collect::<Option<_>>()?;
    (row.len() == fields.len()).then_some(row)
}

fn read_value(text: &str, ty: Type) -> Option<Value> {
    if text == "\\N" {
        return Some(Value::Null);
    }
    let text = text.replace("\\\\", "\\");
    if ty.is_reg() {
        let (oid, name) = text.split_once('/')?;
        return Some(reg_value(oid.parse().ok()?, name));
    }
    match ty {
        Type::Boolean => Some(Value::Bool(text == "t")),
        // NUL, which a text cannot hold, is shown as nothing.
        Type::System(SystemType::Char) => Some(Value::text(&text)),
        _ => cast_value(&Value::text(&text), Type::Text, ty).ok(),
    }
}

/// A word of SQL, its category and whether it may be a label without AS, as `pg_get_keywords` lists it.
pub(crate) fn keywords() -> Vec<Vec<Value>> {
    let lines = include_str!("../data/keywords.tsv").lines();
    let value = |(at, text): (usize, &str)| match at {
        2 => Value::Bool(text == "t"),
        _ => Value::text(text),
    };
    lines.map(|line| line.split('\t').enumerate().map(value).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        assert_eq!(all().len(), RELATIONS.lines().count());
        for name in CATALOGS {
            let relation = relation(name).unwrap();
            for line in text_of(name).lines() {
                assert!(read_row(relation, line).is_some(), "{name}: {line}");
            }
        }
        assert_eq!(relation("pg_class").unwrap().oid, 1259);
        assert_eq!(keywords()[0].len(), 5);
    }
}
