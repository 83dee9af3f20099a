//! Schemas, relations, columns, their defaults and comments, and the views that list them by name.
//!
//! Each function makes the rows of one relation of `pg_catalog` or `information_schema` from the statement's view of
//! the catalog; `relations` calls it when the relation is bound. Objects that the role may not see are left out where
//! PostgreSQL does so.

use pgproto::oid::describe;
use types::{SystemType, Type, Value};

use super::values::{PG_CLASS, PG_DATABASE, Rows, attribute_numbers, letter, maybe, oid, small, text, truth};
use crate::definitions;
use crate::objects::{Catalog, Class, Column};
use crate::oids::{FIRST, PG_CATALOG};
use crate::privileges;

/// The access methods `heap` and `btree`.
const HEAP: u32 = 2;
const BTREE: u32 = 403;

pub(super) fn namespaces(catalog: &Catalog, rows: &mut Rows) {
    for namespace in &catalog.namespaces {
        rows.push(vec![
            ("oid", oid(namespace.oid)),
            ("nspname", text(&namespace.name)),
            ("nspowner", oid(catalog.owner(namespace.key.as_ref()))),
            ("nspacl", privileges::granted(catalog, namespace.key.as_ref())),
        ]);
    }
}

/// Whether the relation is one of the user's, and of which all parts are known.
fn is_own(class: &Class) -> bool {
    class.oid >= FIRST
}

/// What says who owns a relation: an index is its table's.
fn owning<'c>(catalog: &'c Catalog, class: &'c Class) -> Option<&'c access::ObjectKey> {
    let table = class.index.as_ref().and_then(|index| catalog.class(index.table));
    table.unwrap_or(class).key.as_ref()
}

/// The name of a relation's owner.
pub(super) fn owner_name(catalog: &Catalog, class: &Class) -> String {
    catalog.role_name(catalog.owner(owning(catalog, class))).unwrap_or_default()
}

/// Whether row policies are enabled on a relation, and for its owner, too.
fn row_security(catalog: &Catalog, class: &Class) -> (bool, bool) {
    let object = class.key.as_ref().and_then(|key| catalog.access.object(key));
    object.map_or((false, false), |object| (object.row_security, object.force_row_security))
}

pub(super) fn classes(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        let is_stored = matches!(class.kind, 'r' | 'i' | 'S');
        let checks = catalog.constraints.iter().filter(|c| c.kind == 'c' && c.table == class.oid).count();
        let has_index =
            catalog.classes.iter().any(|c| c.index.as_ref().is_some_and(|i| i.table == class.oid));
        let tuples = match (&class.table, class.kind) {
            (Some(table), _) => table.rows() as f32,
            (None, 'v') => 0.0,
            _ => -1.0,
        };
        let method = match class.kind {
            'r' => HEAP,
            'i' => BTREE,
            _ => 0,
        };
        let persistence = if class.temporary { 't' } else { 'p' };
        rows.push(vec![
            ("oid", oid(class.oid)),
            ("relname", text(&class.name)),
            ("relnamespace", oid(class.namespace)),
            ("reltype", oid(class.row_type)),
            ("relowner", oid(catalog.owner(owning(catalog, class)))),
            ("relacl", privileges::granted(catalog, class.key.as_ref())),
            ("relam", oid(method)),
            ("relfilenode", oid(if is_stored { class.oid } else { 0 })),
            ("reltuples", Value::F32(tuples)),
            ("relhasindex", truth(is_own(class) && class.kind == 'r' && has_index)),
            ("relpersistence", letter(persistence)),
            ("relkind", letter(class.kind)),
            ("relnatts", small(class.columns.len())),
            ("relchecks", small(checks)),
            ("relhasrules", truth(class.kind == 'v')),
            ("relrowsecurity", truth(row_security(catalog, class).0)),
            ("relforcerowsecurity", truth(row_security(catalog, class).1)),
            ("relispopulated", truth(true)),
            ("relreplident", letter(if class.kind == 'r' && is_own(class) { 'd' } else { 'n' })),
        ]);
    }
}

/// Bytes, by value, alignment and storage of a type, as `pg_type` has them.
fn layout(ty: Type, length: i16) -> (bool, char, char) {
    let fixed = matches!(length, 1 | 2 | 4 | 8);
    match length {
        1 => (true, 'c', 'p'),
        2 => (true, 's', 'p'),
        8 => (true, 'd', 'p'),
        12 | 16 => (false, if ty == Type::Uuid { 'c' } else { 'd' }, 'p'),
        64 => (false, 'c', 'p'),
        -1 if ty.is_decimal() => (false, 'i', 'm'),
        -1 => (false, 'i', if ty.is_vector() { 'p' } else { 'x' }),
        _ => (fixed, 'i', 'p'),
    }
}

/// The OID of a column's collation: that of the database for text, C for names.
fn collation(ty: Type) -> u32 {
    match ty {
        Type::System(SystemType::Name) => 950,
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => 100,
        Type::List(_) => ty.element().map_or(0, collation),
        _ => 0,
    }
}

pub(super) fn attributes(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        for (at, column) in class.columns.iter().enumerate() {
            attribute(catalog, class, at, column, rows);
        }
    }
}

fn attribute(catalog: &Catalog, class: &Class, at: usize, column: &Column, rows: &mut Rows) {
    let described = describe(column.ty, catalog);
    let (by_value, alignment, storage) = layout(column.ty, described.length);
    let dimensions = if column.ty.is_vector() { 1 } else { pgproto::oid::innermost(column.ty).1 };
    let default = column.default.as_deref();
    let identity = match default.map(|text| text.ends_with(ALWAYS)) {
        Some(true) => "a",
        _ => "",
    };
    rows.push(vec![
        ("attrelid", oid(class.oid)),
        ("attname", text(&column.name)),
        ("atttypid", oid(described.oid)),
        ("attstattarget", Value::I32(-1)),
        ("attlen", Value::I16(described.length)),
        ("attnum", small(at + 1)),
        ("attndims", Value::I32(dimensions as i32)),
        ("attcacheoff", Value::I32(-1)),
        ("atttypmod", Value::I32(described.modifier)),
        ("attbyval", truth(by_value)),
        ("attalign", letter(alignment)),
        ("attstorage", letter(storage)),
        ("attnotnull", truth(column.not_null && class.kind != 'i')),
        ("atthasdef", truth(column.generated.is_some() || (default.is_some() && identity.is_empty()))),
        ("attidentity", text(identity)),
        ("attgenerated", text(if column.generated.is_some() { "s" } else { "" })),
        ("attislocal", truth(true)),
        ("attcollation", oid(collation(column.ty))),
        ("attacl", privileges::granted_on(catalog, class.key.as_ref(), &column.name)),
    ]);
}

/// Ends the default of a column that is GENERATED ALWAYS AS IDENTITY.
const ALWAYS: &str = " /* generated always */";

/// Columns with a default that they show: of an identity it is the sequence's.
fn with_default(class: &Class) -> impl Iterator<Item = (usize, &str)> {
    let shown = |column: &'_ Column| column.generated.is_some() || column.default.is_some();
    class.columns.iter().enumerate().filter(move |(_, column)| shown(column)).filter_map(|(at, column)| {
        let text = column.generated.as_deref().or(column.default.as_deref())?;
        (!text.ends_with(ALWAYS)).then_some((at, text))
    })
}

pub(super) fn defaults(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        for (at, default) in with_default(class) {
            // Follows from the table's OID and the column's number, as a table has at most 1,600 columns.
            let own = 0x8000_0000_u32.wrapping_add(class.oid.wrapping_mul(1600)).wrapping_add(at as u32);
            rows.push(vec![
                ("oid", oid(own)),
                ("adrelid", oid(class.oid)),
                ("adnum", small(at + 1)),
                ("adbin", text(default)),
            ]);
        }
    }
}

pub(super) fn comments(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        let columns = class.columns.iter().zip(1..).map(|(c, number)| (number, c.comment.as_deref()));
        for (number, comment) in std::iter::once((0, class.comment.as_deref())).chain(columns) {
            let Some(comment) = comment else { continue };
            rows.push(vec![
                ("objoid", oid(class.oid)),
                ("classoid", oid(PG_CLASS)),
                ("objsubid", Value::I32(number)),
                ("description", text(comment)),
            ]);
        }
    }
    for (catalog, object, comment) in catalog.comments.iter().filter(|(of, ..)| *of != PG_DATABASE) {
        rows.push(vec![
            ("objoid", oid(*object)),
            ("classoid", oid(*catalog)),
            ("objsubid", Value::I32(0)),
            ("description", text(comment)),
        ]);
    }
}

/// Comments on what all databases share: this database's own.
pub(super) fn shared_comments(catalog: &Catalog, rows: &mut Rows) {
    for (catalog, object, comment) in catalog.comments.iter().filter(|(of, ..)| *of == PG_DATABASE) {
        rows.push(vec![
            ("objoid", oid(*object)),
            ("classoid", oid(*catalog)),
            ("description", text(comment)),
        ]);
    }
}

pub(super) fn tables_shown(catalog: &Catalog, rows: &mut Rows) {
    for class in catalog.classes.iter().filter(|class| class.kind == 'r') {
        let indexed = catalog.classes.iter().any(|c| c.index.as_ref().is_some_and(|i| i.table == class.oid));
        rows.push(vec![
            ("schemaname", text(catalog.namespace_name(class.namespace))),
            ("tablename", text(&class.name)),
            ("tableowner", text(&owner_name(catalog, class))),
            ("hasindexes", truth(indexed)),
            ("hasrules", truth(false)),
            ("hastriggers", truth(false)),
            ("rowsecurity", truth(row_security(catalog, class).0)),
        ]);
    }
}

pub(super) fn views_shown(catalog: &Catalog, rows: &mut Rows) {
    for class in catalog.classes.iter().filter(|class| class.kind == 'v') {
        rows.push(vec![
            ("schemaname", text(catalog.namespace_name(class.namespace))),
            ("viewname", text(&class.name)),
            ("viewowner", text(&owner_name(catalog, class))),
            ("definition", maybe(definitions::view(class).as_deref())),
        ]);
    }
}

pub(super) fn indices_shown(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        let Some(index) = &class.index else { continue };
        let Some(table) = catalog.class(index.table) else { continue };
        rows.push(vec![
            ("schemaname", text(catalog.namespace_name(class.namespace))),
            ("tablename", text(&table.name)),
            ("indexname", text(&class.name)),
            ("indexdef", maybe(definitions::index(catalog, class, index, 0).as_deref())),
        ]);
    }
}

/// Statistics of tables: what is counted here is the rows that there are.
pub(super) fn statistics(catalog: &Catalog, rows: &mut Rows) {
    let wanted = |class: &Class| match rows.relation.name {
        "pg_stat_user_tables" => class.namespace != PG_CATALOG && is_own(class),
        "pg_stat_sys_tables" => !is_own(class),
        _ => true,
    };
    let tables: Vec<&Class> =
        catalog.classes.iter().filter(|class| class.kind == 'r' && wanted(class)).collect();
    for class in tables {
        let live = class.table.as_ref().map_or(0, |table| table.rows());
        rows.push(vec![
            ("relid", oid(class.oid)),
            ("schemaname", text(catalog.namespace_name(class.namespace))),
            ("relname", text(&class.name)),
            ("n_live_tup", Value::I64(i64::try_from(live).unwrap_or(i64::MAX))),
            ("n_dead_tup", Value::I64(0)),
        ]);
    }
}

/// The numbers of an index's columns.
pub(super) fn index_columns(places: &[usize]) -> Value {
    attribute_numbers(places)
}
