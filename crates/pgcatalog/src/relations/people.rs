//! Roles, memberships, the database, settings and policies; what was granted, as `information_schema` lists it.
//!
//! Each function makes all rows of one relation from the snapshot that the catalog was made over; OIDs are those that
//! other relations have for the same objects. Called by `relations` when a statement reads one of them.

use access::{Grantee, ObjectKey, PolicyCommand, Privilege, RoleId};
use types::nested::encoding::list_of;
use types::{Type, Value};

use super::values::{DATABASE, Rows, letter, maybe, oid, oids, text, truth};
use crate::objects::{Catalog, Class};
use crate::oids::Names;
use crate::privileges;

pub(super) fn databases(catalog: &Catalog, rows: &mut Rows) {
    rows.push(vec![
        ("oid", oid(DATABASE)),
        ("datname", text(&catalog.around.database)),
        ("datdba", oid(catalog.owner(Some(&ObjectKey::Database)))),
        ("encoding", Value::I32(6)),
        ("datlocprovider", letter('c')),
        ("datallowconn", truth(true)),
        ("datconnlimit", Value::I32(-1)),
        ("dattablespace", oid(1663)),
        ("datcollate", text("C")),
        ("datctype", text("C")),
        ("datacl", privileges::granted(catalog, Some(&ObjectKey::Database))),
    ]);
}

/// A role's own settings, `name=value` each.
fn settings_of(role: &access::Role) -> Value {
    if role.settings.is_empty() {
        return Value::Null;
    }
    let texts: Vec<Value> =
        role.settings.iter().map(|(name, value)| Value::text(&format!("{name}={value}"))).collect();
    list_of(&texts, Type::Text)
}

fn moment(at: Option<i64>) -> Value {
    at.map_or(Value::Null, Value::I64)
}

/// `pg_authid`, and `pg_roles`, which shows no password.
pub(super) fn roles(catalog: &Catalog, rows: &mut Rows) {
    let is_view = rows.relation.name == "pg_roles";
    for (own, role) in catalog.roles() {
        let limit = role.limits.connections.map_or(-1, |limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let mut row = vec![
            ("oid", oid(own)),
            ("rolname", text(&role.name)),
            ("rolsuper", truth(role.superuser)),
            ("rolinherit", truth(role.inherit)),
            ("rolcreaterole", truth(role.create_role || role.superuser)),
            ("rolcreatedb", truth(role.create_database || role.superuser)),
            ("rolcanlogin", truth(role.login)),
            ("rolreplication", truth(false)),
            ("rolconnlimit", Value::I32(limit)),
            ("rolbypassrls", truth(role.bypass_row_security || role.superuser)),
            ("rolvaliduntil", moment(role.valid_until)),
        ];
        match is_view {
            true => {
                row.extend([("rolpassword", text("********")), ("rolconfig", settings_of(&role))]);
            }
            false => row.push(("rolpassword", maybe(role.verifier.as_deref()))),
        }
        rows.push(row);
    }
}

/// `pg_user` and `pg_shadow`: roles that may log in.
pub(super) fn users(catalog: &Catalog, rows: &mut Rows) {
    let is_view = rows.relation.name == "pg_user";
    for (own, role) in catalog.roles().into_iter().filter(|(_, role)| role.login) {
        let password = if is_view { text("********") } else { maybe(role.verifier.as_deref()) };
        rows.push(vec![
            ("usename", text(&role.name)),
            ("usesysid", oid(own)),
            ("usecreatedb", truth(role.create_database || role.superuser)),
            ("usesuper", truth(role.superuser)),
            ("userepl", truth(false)),
            ("usebypassrls", truth(role.bypass_row_security || role.superuser)),
            ("passwd", password),
            ("valuntil", moment(role.valid_until)),
            ("useconfig", settings_of(&role)),
        ]);
    }
}

/// `pg_group`: roles that may not log in, with their members.
pub(super) fn groups(catalog: &Catalog, rows: &mut Rows) {
    for (own, role) in catalog.roles().into_iter().filter(|(_, role)| !role.login) {
        let members = catalog.access.memberships().filter(|(joined, _, _)| joined.0 == own);
        rows.push(vec![
            ("groname", text(&role.name)),
            ("grosysid", oid(own)),
            ("grolist", oids(members.map(|(_, member, _)| member.0))),
        ]);
    }
}

pub(super) fn memberships(catalog: &Catalog, rows: &mut Rows) {
    for (role, member, how) in catalog.access.memberships() {
        rows.push(vec![
            ("roleid", oid(role.0)),
            ("member", oid(member.0)),
            ("grantor", oid(how.grantor.0)),
            ("admin_option", truth(how.admin)),
        ]);
    }
}

pub(super) fn role_settings(catalog: &Catalog, rows: &mut Rows) {
    for (own, role) in catalog.roles().into_iter().filter(|(_, role)| !role.settings.is_empty()) {
        rows.push(vec![("setdatabase", oid(0)), ("setrole", oid(own)), ("setconfig", settings_of(&role))]);
    }
}

pub(super) fn settings(catalog: &Catalog, rows: &mut Rows) {
    for (name, value, description) in &catalog.around.settings {
        let is_switch = matches!(value.as_str(), "on" | "off");
        rows.push(vec![
            ("name", text(name)),
            ("setting", text(value)),
            ("category", text("Quickstep")),
            ("short_desc", text(description)),
            ("context", text("user")),
            ("vartype", text(if is_switch { "bool" } else { "string" })),
            ("source", text("session")),
            ("reset_val", text(value)),
            ("pending_restart", truth(false)),
        ]);
    }
}

/// Row policies: of each relation those that it has.
pub(super) fn policies(catalog: &Catalog, rows: &mut Rows) {
    let mut names = Names::default();
    for class in &catalog.classes {
        let Some(object) = class.key.as_ref().and_then(|key| catalog.access.object(key)) else { continue };
        for (name, policy) in &object.policies {
            let command = match policy.command {
                PolicyCommand::All => '*',
                PolicyCommand::Select => 'r',
                PolicyCommand::Insert => 'a',
                PolicyCommand::Update => 'w',
                PolicyCommand::Delete => 'd',
            };
            let role = |grantee: &Grantee| match grantee {
                Grantee::Public => 0,
                Grantee::Role(role) => role.0,
            };
            rows.push(vec![
                ("oid", oid(names.of("policy", &format!("{} {name}", class.oid), 0))),
                ("polname", text(name)),
                ("polrelid", oid(class.oid)),
                ("polcmd", letter(command)),
                ("polpermissive", truth(policy.permissive)),
                ("polroles", oids(policy.roles.iter().map(role))),
                ("polqual", maybe(policy.using.as_deref())),
                ("polwithcheck", maybe(policy.check.as_deref())),
            ]);
        }
    }
}

/// `pg_policies`: the same with names.
pub(super) fn policies_shown(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        let Some(object) = class.key.as_ref().and_then(|key| catalog.access.object(key)) else { continue };
        for (name, policy) in &object.policies {
            let command = match policy.command {
                PolicyCommand::All => "ALL",
                PolicyCommand::Select => "SELECT",
                PolicyCommand::Insert => "INSERT",
                PolicyCommand::Update => "UPDATE",
                PolicyCommand::Delete => "DELETE",
            };
            let roles: Vec<Value> = policy
                .roles
                .iter()
                .map(|role| Value::text(&grantee_name(catalog, *role, "public")))
                .collect();
            rows.push(vec![
                ("schemaname", text(catalog.namespace_name(class.namespace))),
                ("tablename", text(&class.name)),
                ("policyname", text(name)),
                ("permissive", text(if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" })),
                ("roles", list_of(&roles, Type::NAME)),
                ("cmd", text(command)),
                ("qual", maybe(policy.using.as_deref())),
                ("with_check", maybe(policy.check.as_deref())),
            ]);
        }
    }
}

fn grantee_name(catalog: &Catalog, grantee: Grantee, public: &str) -> String {
    match grantee {
        Grantee::Public => public.to_owned(),
        Grantee::Role(role) => catalog.role_name(role.0).unwrap_or_default(),
    }
}

fn yes_no(said: bool) -> Value {
    text(if said { "YES" } else { "NO" })
}

/// Tables and views of the user.
fn relations(catalog: &Catalog) -> impl Iterator<Item = (&Class, &ObjectKey)> {
    let tables = catalog.classes.iter().filter(|class| matches!(class.kind, 'r' | 'v'));
    tables.filter_map(|class| Some((class, class.key.as_ref()?)))
}

/// Whether the current role is one of the two that a grant is between, or a member of one.
fn concerns(catalog: &Catalog, grantor: RoleId, grantee: Grantee, public: bool) -> bool {
    let is = |role| catalog.access.has_privileges_of(catalog.asking(), role);
    is(grantor)
        || match grantee {
            Grantee::Public => public,
            Grantee::Role(role) => is(role),
        }
}

/// `table_privileges`, and `role_table_grants`, which leaves out what everybody was granted.
pub(super) fn table_grants(catalog: &Catalog, rows: &mut Rows) {
    let public = rows.relation.name == "table_privileges";
    for (class, key) in relations(catalog) {
        for item in catalog.access.object_or_default(key).list(key) {
            if !concerns(catalog, item.grantor, item.grantee, public) {
                continue;
            }
            let is_owner = item.grantee == Grantee::Role(catalog.access.owner(key));
            for privilege in item.privileges.iter() {
                rows.push(vec![
                    ("grantor", text(&catalog.role_name(item.grantor.0).unwrap_or_default())),
                    ("grantee", text(&grantee_name(catalog, item.grantee, "PUBLIC"))),
                    ("table_catalog", text(&catalog.around.database)),
                    ("table_schema", text(catalog.namespace_name(class.namespace))),
                    ("table_name", text(&class.name)),
                    ("privilege_type", text(privilege.name())),
                    ("is_grantable", yes_no(is_owner || item.grantable.has(privilege))),
                    ("with_hierarchy", yes_no(privilege == Privilege::Select)),
                ]);
            }
        }
    }
}

/// `column_privileges` and `role_column_grants`: what was granted on columns, and on tables for each of theirs.
pub(super) fn column_grants(catalog: &Catalog, rows: &mut Rows) {
    let public = rows.relation.name == "column_privileges";
    for (class, key) in relations(catalog) {
        let object = catalog.access.object_or_default(key);
        for column in &class.columns {
            let own = object.columns.get(&column.name).into_iter().flatten().copied();
            for item in object.list(key).into_iter().chain(own) {
                if !concerns(catalog, item.grantor, item.grantee, public) {
                    continue;
                }
                let of_columns = access::Privileges::all_of(access::Class::Column);
                let is_owner = item.grantee == Grantee::Role(object.owner);
                for privilege in item.privileges.and(of_columns).iter() {
                    rows.push(vec![
                        ("grantor", text(&catalog.role_name(item.grantor.0).unwrap_or_default())),
                        ("grantee", text(&grantee_name(catalog, item.grantee, "PUBLIC"))),
                        ("table_catalog", text(&catalog.around.database)),
                        ("table_schema", text(catalog.namespace_name(class.namespace))),
                        ("table_name", text(&class.name)),
                        ("column_name", text(&column.name)),
                        ("privilege_type", text(privilege.name())),
                        ("is_grantable", yes_no(is_owner || item.grantable.has(privilege))),
                    ]);
                }
            }
        }
    }
}

/// `enabled_roles`: the current role and those that it is; `applicable_roles`: how it came to be these.
pub(super) fn enabled_roles(catalog: &Catalog, rows: &mut Rows) {
    let is = catalog.access.privileges_of(catalog.asking());
    if rows.relation.name == "enabled_roles" {
        for role in is {
            rows.push(vec![("role_name", text(&catalog.role_name(role.0).unwrap_or_default()))]);
        }
        return;
    }
    for (role, member, how) in catalog.access.memberships().filter(|(_, member, _)| is.contains(member)) {
        rows.push(vec![
            ("grantee", text(&catalog.role_name(member.0).unwrap_or_default())),
            ("role_name", text(&catalog.role_name(role.0).unwrap_or_default())),
            ("is_grantable", yes_no(how.admin)),
        ]);
    }
}

/// `information_schema_catalog_name`.
pub(super) fn catalog_name(catalog: &Catalog, rows: &mut Rows) {
    rows.push(vec![("catalog_name", text(&catalog.around.database))]);
}
