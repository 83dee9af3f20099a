//! PostgreSQL's system catalog: the relations of `pg_catalog` over one snapshot, and the functions that read them.
//!
//! What PostgreSQL 15 fixes (columns of every relation; types, functions and operators that are here, too) lies in
//! `data/`, written by `tools/dump.py`, and is read once (`fixed`). What a database holds is gathered from its snapshot
//! into [`Catalog`] (`objects`), from which `relations` makes rows and `functions` answers calls. A relation of which
//! nothing is here is empty, with the right columns.
//!
//! The crate knows sessions only as [`Surroundings`]. `docs/internals/pg-catalog.md` says what follows PostgreSQL and
//! what does not.
#![forbid(unsafe_code)]

mod definitions;
mod fixed;
mod functions;
mod names;
mod objects;
mod oids;
mod privileges;
mod relations;

pub use functions::{Signature, call, signatures};
pub use objects::{Catalog, Surroundings, ViewShape};

use types::{Field, Schema, SystemType, Type, Value};

/// The columns and rows of a relation of `pg_catalog`, `tableoid` and `xmin` behind its own columns; `None` when there is none of that name.
pub fn relation(catalog: &Catalog, name: &str) -> Option<(Schema, Vec<Vec<Value>>)> {
    let relation = fixed::relation(name)?;
    Some(with_system_columns(relation, relations::rows(catalog, relation)))
}

fn with_system_columns(relation: &fixed::Relation, mut rows: Vec<Vec<Value>>) -> (Schema, Vec<Vec<Value>>) {
    let mut fields = relation.schema.fields().to_vec();
    fields.push(Field::new("tableoid", Type::OID, false));
    fields.push(Field::new("xmin", Type::System(SystemType::Xid), false));
    rows.iter_mut().for_each(|row| row.extend([Value::I64(i64::from(relation.oid)), Value::I64(1)]));
    (Schema::new(fields), rows)
}

/// Relations of `information_schema` that are made here: of privileges and roles, of sequences and checks, and those of
/// features that are not here, which are rightly empty.
const STANDARD: [&str; 19] = [
    "applicable_roles",
    "check_constraints",
    "column_privileges",
    "domain_constraints",
    "domain_udt_usage",
    "domains",
    "enabled_roles",
    "foreign_data_wrappers",
    "foreign_servers",
    "foreign_tables",
    "information_schema_catalog_name",
    "role_column_grants",
    "role_table_grants",
    "sequences",
    "table_privileges",
    "transforms",
    "triggered_update_columns",
    "triggers",
    "user_mappings",
];

/// Whether a relation of `information_schema` is made here.
pub fn has_standard_relation(name: &str) -> bool {
    STANDARD.contains(&name)
}

/// The names of these.
pub fn standard_relations() -> &'static [&'static str] {
    &STANDARD
}

/// The columns and rows of such a relation; `None` when there is none of that name.
pub fn standard_relation(catalog: &Catalog, name: &str) -> Option<(Schema, Vec<Vec<Value>>)> {
    let relation = fixed::standard_relation(name).filter(|_| has_standard_relation(name))?;
    Some((relation.schema.clone(), relations::rows(catalog, relation)))
}

/// The OID of the database.
pub fn database_oid() -> u32 {
    relations::values::DATABASE
}

/// The name in `pg_type` of a type that PostgreSQL has, as `udt_name` shows it: `int4`, `_text`.
pub fn type_name(ty: Type) -> Option<String> {
    let described = pgproto::oid::describe(ty, &pgproto::TextEnums);
    let relation = fixed::relation("pg_type")?;
    let row = fixed::rows(relation).iter().find(|row| row[0].as_i64() == Some(i64::from(described.oid)))?;
    row[1].as_text().map(str::to_owned)
}

/// The same with other rows than those that the catalog has: for relations about sessions, which is the host's to know.
/// Rows are given by columns' names; what is not said of a column is empty.
pub fn relation_of(name: &str, given: Vec<Vec<(&'static str, Value)>>) -> Option<(Schema, Vec<Vec<Value>>)> {
    let relation = fixed::relation(name)?;
    let rows = relations::rows_given(relation, given);
    Some(with_system_columns(relation, rows))
}

/// The words of SQL as `pg_get_keywords` lists them.
pub fn keywords() -> (Schema, Vec<Vec<Value>>) {
    let fields = [
        ("word", Type::Text),
        ("catcode", Type::System(SystemType::Char)),
        ("barelabel", Type::Boolean),
        ("catdesc", Type::Text),
        ("baredesc", Type::Text),
    ];
    let fields = fields.map(|(name, ty)| Field::new(name, ty, true));
    (Schema::new(fields.to_vec()), fixed::keywords())
}

/// Whether `pg_catalog` has a relation of that name.
pub fn has_relation(name: &str) -> bool {
    fixed::relation(name).is_some()
}
