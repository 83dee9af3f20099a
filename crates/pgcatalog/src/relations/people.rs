//! Databases, roles and settings: what does not depend on the snapshot.

use types::Value;

use super::{Rows, letter, oid, text, truth};
use crate::objects::Catalog;
use crate::oids::OWNER;

/// The OID of the database; PostgreSQL's own databases end at 5.
const DATABASE: u32 = 16384 - 1;

pub(super) fn databases(catalog: &Catalog, rows: &mut Rows) {
    rows.push(vec![
        ("oid", oid(DATABASE)),
        ("datname", text(&catalog.around.database)),
        ("datdba", oid(OWNER)),
        ("encoding", Value::I32(6)),
        ("datlocprovider", letter('c')),
        ("datallowconn", truth(true)),
        ("datconnlimit", Value::I32(-1)),
        ("dattablespace", oid(1663)),
        ("datcollate", text("C")),
        ("datctype", text("C")),
    ]);
}

pub(super) fn roles(catalog: &Catalog, rows: &mut Rows) {
    let shows_password = rows.relation.name == "pg_roles";
    for (own, name) in catalog.roles() {
        let all = own == OWNER;
        let mut row = vec![
            ("oid", oid(own)),
            ("rolname", text(name)),
            ("rolsuper", truth(all)),
            ("rolinherit", truth(true)),
            ("rolcreaterole", truth(all)),
            ("rolcreatedb", truth(all)),
            ("rolcanlogin", truth(true)),
            ("rolconnlimit", Value::I32(-1)),
            ("rolbypassrls", truth(all)),
        ];
        if shows_password {
            row.push(("rolpassword", text("********")));
        }
        rows.push(row);
    }
}

pub(super) fn users(catalog: &Catalog, rows: &mut Rows) {
    for (own, name) in catalog.roles() {
        let all = truth(own == OWNER);
        rows.push(vec![
            ("usename", text(name)),
            ("usesysid", oid(own)),
            ("usecreatedb", all.clone()),
            ("usesuper", all.clone()),
            ("userepl", truth(false)),
            ("usebypassrls", all),
            ("passwd", text("********")),
        ]);
    }
}

pub(super) fn settings(catalog: &Catalog, rows: &mut Rows) {
    for (name, value, description) in &catalog.around.settings {
        rows.push(vec![
            ("name", text(name)),
            ("setting", text(value)),
            ("category", text("Quickstep")),
            ("short_desc", text(description)),
            ("context", text("user")),
            ("vartype", text("string")),
            ("source", text("session")),
            ("reset_val", text(value)),
            ("pending_restart", truth(false)),
        ]);
    }
}
