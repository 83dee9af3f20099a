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
mod relations;

pub use functions::{Signature, call, signatures};
pub use objects::{Catalog, Surroundings, ViewShape};

use types::{Field, Schema, SystemType, Type, Value};

/// The columns and rows of a relation of `pg_catalog`, `tableoid` and `xmin` behind its own columns; `None` when there is none of that name.
pub fn relation(catalog: &Catalog, name: &str) -> Option<(Schema, Vec<Vec<Value>>)> {
    let relation = fixed::relation(name)?;
    let mut rows = relations::rows(catalog, relation);
    let mut fields = relation.schema.fields().to_vec();
    fields.push(Field::new("tableoid", Type::OID, false));
    fields.push(Field::new("xmin", Type::System(SystemType::Xid), false));
    rows.iter_mut().for_each(|row| row.extend([Value::I64(i64::from(relation.oid)), Value::I64(1)]));
    Some((Schema::new(fields), rows))
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
