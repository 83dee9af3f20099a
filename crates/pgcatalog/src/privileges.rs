//! What roles may do, as functions: `has_table_privilege` and its kin, `pg_has_role`, access lists.
//!
//! All are answered from the state that statements are checked by (`access::State`), so that what they tell is what is
//! done. Objects of the system, which nothing is granted on, may be read and used by everybody.
//!
//! A privilege is a list such as `SELECT, INSERT WITH GRANT OPTION`: one of them is enough. An unknown one is an error
//! (22023), as are unknown names of roles and objects; an unknown OID gives NULL.

use access::{AclItem, Class as Kind, Grantee, ObjectAccess, ObjectKey, Privilege, Privileges, RoleId};
use types::nested::encoding::list_of;
use types::{Error, Result, SqlState, SystemType, Type, Value};

use crate::functions::{
    Body, Signature, class_named, function_named, namespace_named, number, role_named, type_named, yes,
};
use crate::names::quoted;
use crate::objects::{Catalog, Class};

const OID: Type = Type::OID;
const NAME: Type = Type::NAME;
const TEXT: Type = Type::Text;

/// A privilege that is asked about, and whether with the right to grant it.
struct Asked {
    privilege: Privilege,
    grantable: bool,
}

/// The forms of all functions: of the current role or of one by name or OID, on an object by name or OID.
pub(crate) fn declare(all: &mut Vec<Signature>) {
    let mut of = |name, arguments: Vec<Type>, body: Body| {
        all.push(Signature { name, arguments, returns: Type::Boolean, strict: true, body });
    };
    let kinds: [(&'static str, Body); 11] = [
        ("has_table_privilege", |c, given| on_relation(c, given, false)),
        ("has_any_column_privilege", |c, given| on_relation(c, given, true)),
        ("has_sequence_privilege", on_sequence),
        ("has_schema_privilege", on_schema),
        ("has_database_privilege", on_database),
        ("has_function_privilege", on_function),
        ("has_type_privilege", on_type),
        // There is one language and one tablespace, which are everybody's, and no servers.
        ("has_language_privilege", yes),
        ("has_tablespace_privilege", yes),
        ("has_server_privilege", yes),
        ("has_foreign_data_wrapper_privilege", yes),
    ];
    for (name, body) in kinds {
        for object in [TEXT, OID] {
            of(name, vec![object, TEXT], body);
            of(name, vec![NAME, object, TEXT], body);
            of(name, vec![OID, object, TEXT], body);
        }
    }
    for object in [TEXT, OID] {
        for column in [TEXT, Type::SmallInt] {
            of("has_column_privilege", vec![object, column, TEXT], on_column);
            of("has_column_privilege", vec![NAME, object, column, TEXT], on_column);
            of("has_column_privilege", vec![OID, object, column, TEXT], on_column);
        }
    }
    for name in [NAME, OID] {
        of("pg_has_role", vec![name, TEXT], has_role);
        of("pg_has_role", vec![NAME, name, TEXT], has_role);
        of("pg_has_role", vec![OID, name, TEXT], has_role);
    }
}

/// The role that a call is about: the first argument where there is one more than `least`, else the current one.
/// `None`: an OID that no role has.
fn role_of(catalog: &Catalog, given: &[Value], least: usize) -> Result<Option<RoleId>> {
    if given.len() == least {
        return Ok(Some(catalog.asking()));
    }
    match given[0].as_text() {
        // PUBLIC's own privileges are what a role without any has.
        Some("public") => Ok(Some(RoleId(0))),
        Some(name) => role_named(catalog, &quoted(name)).map(|oid| Some(RoleId(oid))),
        None => Ok(Some(RoleId(number(&given[0]))).filter(|id| catalog.access.has_role(*id))),
    }
}

/// The privileges that a text asks about.
fn asked(text: &Value, kind: Kind) -> Result<Vec<Asked>> {
    let text = text.as_text().unwrap_or_default();
    let one = |word: &str| {
        let word = word.trim();
        let (name, grantable) = match word.to_ascii_uppercase().strip_suffix("WITH GRANT OPTION") {
            Some(name) => (name.trim().to_owned(), true),
            None => (word.to_owned(), false),
        };
        let known = Privilege::named(&name).filter(|known| Privileges::all_of(kind).has(*known));
        known.map(|privilege| Asked { privilege, grantable })
    };
    let words = text.split(',');
    // PostgreSQL has two privileges on tables that nothing here gives.
    let foreign = |word: &str| {
        let name = word.trim().to_ascii_uppercase();
        kind == Kind::Table && ["RULE", "TRIGGER"].iter().any(|known| name.starts_with(known))
    };
    let mut found = Vec::new();
    for word in words.filter(|word| !foreign(word)) {
        found.push(one(word).ok_or_else(|| {
            let message = format!("unrecognized privilege type: \"{}\"", word.trim());
            Error::new(SqlState::InvalidParameterValue, message)
        })?);
    }
    Ok(found)
}

/// What a role may grant of an object's privileges.
fn grantable(catalog: &Catalog, role: RoleId, key: &ObjectKey, list: &[AclItem]) -> Privileges {
    let state = &catalog.access;
    if state.is_owner(role, key) {
        return Privileges::all_of(key.class());
    }
    let is = state.privileges_of(role);
    let own = list.iter().filter(|item| matches!(item.grantee, Grantee::Role(id) if is.contains(&id)));
    own.fold(Privileges::NONE, |all, item| all.with(item.grantable))
}

/// Whether a role has one of the privileges on what is kept under a key.
fn has(catalog: &Catalog, role: RoleId, key: &ObjectKey, asked: &[Asked]) -> bool {
    let state = &catalog.access;
    let (own, list) = (state.privileges(role, key), state.object_or_default(key).list(key));
    asked.iter().any(|one| match one.grantable {
        false => own.has(one.privilege),
        true => grantable(catalog, role, key, &list).has(one.privilege),
    })
}

/// Whether a role may do one of these with an object of the system.
fn has_of_system(catalog: &Catalog, role: RoleId, asked: &[Asked]) -> bool {
    let everyone = |one: &Asked| {
        !one.grantable && matches!(one.privilege, Privilege::Select | Privilege::Usage | Privilege::Execute)
    };
    catalog.access.is_superuser(role) || asked.iter().any(everyone)
}

fn class_of<'c>(catalog: &'c Catalog, object: &Value) -> Result<Option<&'c Class>> {
    Ok(match object.as_text() {
        Some(name) => catalog.class(class_named(catalog, name)?),
        None => catalog.class(number(object)),
    })
}

fn answer(told: Option<bool>) -> Result<Value> {
    Ok(told.map_or(Value::Null, Value::Bool))
}

/// `has_table_privilege`, and `has_any_column_privilege`.
fn on_relation(catalog: &Catalog, given: &[Value], any_column: bool) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let class = class_of(catalog, &given[given.len() - 2])?;
    let kind = match class.map(|class| class.kind) {
        _ if any_column => Kind::Column,
        Some('S') => Kind::Sequence,
        _ => Kind::Table,
    };
    let asked = match (kind, asked(&given[given.len() - 1], kind)) {
        // A sequence has not all that may be asked of a table.
        (Kind::Sequence, Err(_)) => self::asked(&given[given.len() - 1], Kind::Table)?,
        (_, asked) => asked?,
    };
    answer(class.map(|class| match &class.key {
        Some(key) => {
            let on_some =
                |one: &Asked| catalog.access.check_columns(role, key, one.privilege, []) && !one.grantable;
            has(catalog, role, key, &asked) || (any_column && asked.iter().any(on_some))
        }
        None => has_of_system(catalog, role, &asked),
    }))
}

fn on_sequence(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let class = class_of(catalog, &given[given.len() - 2])?;
    let asked = asked(&given[given.len() - 1], Kind::Sequence)?;
    if let Some(class) = class.filter(|class| class.kind != 'S') {
        let message = format!("\"{}\" is not a sequence", class.name);
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    answer(class.and_then(|class| Some(has(catalog, role, class.key.as_ref()?, &asked))))
}

fn on_schema(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let object = &given[given.len() - 2];
    let oid = match object.as_text() {
        Some(name) => namespace_named(catalog, name)?,
        None => number(object),
    };
    let asked = asked(&given[given.len() - 1], Kind::Schema)?;
    let found = catalog.namespaces.iter().find(|namespace| namespace.oid == oid);
    answer(found.map(|namespace| match &namespace.key {
        Some(key) => has(catalog, role, key, &asked),
        None => has_of_system(catalog, role, &asked),
    }))
}

fn on_database(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let asked = asked(&given[given.len() - 1], Kind::Database)?;
    if let Some(name) = given[given.len() - 2].as_text()
        && name != catalog.around.database
        && name != "postgres"
    {
        let message = format!("database \"{name}\" does not exist");
        return Err(Error::new(SqlState::UndefinedDatabase, message));
    }
    answer(Some(has(catalog, role, &ObjectKey::Database, &asked)))
}

/// Functions of the system are everybody's; what they may do is decided when they are called.
fn on_function(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let object = &given[given.len() - 2];
    let asked = asked(&given[given.len() - 1], Kind::Routine)?;
    if let Some(name) = object.as_text() {
        function_named(catalog, name)?;
    }
    answer(Some(has_of_system(catalog, role, &asked)))
}

fn on_type(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let object = &given[given.len() - 2];
    let asked = asked(&given[given.len() - 1], Kind::Type)?;
    let oid = object.as_text().map_or_else(|| Ok(number(object)), |name| type_named(catalog, name))?;
    let own = catalog.enumerations.iter().find(|known| known.oid == oid);
    let key = own.map(|known| ObjectKey::Type(known.key.clone()));
    answer(Some(match key {
        Some(key) => has(catalog, role, &key, &asked),
        None => has_of_system(catalog, role, &asked),
    }))
}

fn on_column(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 3)? else { return Ok(Value::Null) };
    let Some(class) = class_of(catalog, &given[given.len() - 3])? else { return Ok(Value::Null) };
    let column = &given[given.len() - 2];
    let asked = asked(&given[given.len() - 1], Kind::Column)?;
    let found = match column.as_text() {
        Some(name) => {
            let found = class.columns.iter().find(|column| column.name == name);
            Some(found.ok_or_else(|| {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", class.name);
                Error::new(SqlState::UndefinedColumn, message)
            })?)
        }
        None => column.as_i64().and_then(|at| class.columns.get(usize::try_from(at - 1).ok()?)),
    };
    answer(found.map(|column| match &class.key {
        Some(key) => {
            let own = catalog.access.column_privileges(role, key, &column.name);
            let on_it = |one: &Asked| own.has(one.privilege) && !one.grantable;
            has(catalog, role, key, &asked) || asked.iter().any(on_it)
        }
        None => has_of_system(catalog, role, &asked),
    }))
}

/// `pg_has_role`: MEMBER, USAGE, and either WITH ADMIN OPTION.
fn has_role(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(role) = role_of(catalog, given, 2)? else { return Ok(Value::Null) };
    let object = &given[given.len() - 2];
    let other = match object.as_text() {
        Some(name) => RoleId(role_named(catalog, &quoted(name))?),
        None => RoleId(number(object)),
    };
    if !catalog.access.has_role(other) {
        return Ok(Value::Null);
    }
    let text = given[given.len() - 1].as_text().unwrap_or_default();
    let mut told = false;
    for word in text.split(',') {
        let word = word.trim().to_ascii_uppercase();
        told |= match word.as_str() {
            "MEMBER" => catalog.access.is_member_of(role, other),
            "USAGE" => catalog.access.has_privileges_of(role, other),
            "MEMBER WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION"
            | "USAGE WITH GRANT OPTION" => catalog.access.is_admin_of(role, other),
            _ => {
                let message = format!("unrecognized privilege type: \"{word}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        };
    }
    Ok(Value::Bool(told))
}

/// Whether policies hold for the current role on a relation.
pub(crate) fn row_security(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let class = class_of(catalog, &given[0])?;
    let holds = class.and_then(|class| {
        let key = class.key.as_ref()?;
        let object = catalog.access.object(key)?;
        let role = catalog.access.role(catalog.asking())?;
        let passes = role.superuser
            || role.bypass_row_security
            || (catalog.access.is_owner(catalog.asking(), key) && !object.force_row_security);
        Some(object.row_security && !passes)
    });
    Ok(Value::Bool(holds.unwrap_or(false)))
}

/// An access list as `aclitem[]`, by PostgreSQL's letters: `grantee=rw*/grantor`.
fn list_shown(catalog: &Catalog, list: &[AclItem]) -> Value {
    let name =
        |role: RoleId| catalog.role_name(role.0).map_or_else(|| role.0.to_string(), |name| quoted(&name));
    let item = |item: &AclItem| {
        let mut text = match item.grantee {
            Grantee::Public => String::new(),
            Grantee::Role(role) => name(role),
        };
        text.push('=');
        for privilege in item.privileges.iter() {
            text.push(privilege.letter());
            if item.grantable.has(privilege) {
                text.push('*');
            }
        }
        Value::text(&format!("{text}/{}", name(item.grantor)))
    };
    let items: Vec<Value> = list.iter().map(item).collect();
    list_of(&items, Type::System(SystemType::Aclitem))
}

/// What was granted on an object; NULL while that is what holds by default.
pub(crate) fn granted(catalog: &Catalog, key: Option<&ObjectKey>) -> Value {
    let list = key.and_then(|key| catalog.access.object(key)).and_then(|object| object.acl.as_ref());
    list.map_or(Value::Null, |list| list_shown(catalog, list))
}

/// The same of a column.
pub(crate) fn granted_on(catalog: &Catalog, key: Option<&ObjectKey>, column: &str) -> Value {
    let object = key.and_then(|key| catalog.access.object(key));
    let list = object.and_then(|object| object.columns.get(column));
    list.map_or(Value::Null, |list| list_shown(catalog, list))
}

/// `acldefault`: what holds on a new object of a kind, by its letter, that a role owns.
pub(crate) fn default_list(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let key = match given[0].as_text() {
        Some("r") => ObjectKey::Table(0),
        Some("s" | "S") => ObjectKey::Sequence(String::new(), String::new()),
        Some("n") => ObjectKey::Schema(String::new()),
        Some("d") => ObjectKey::Database,
        Some("f") => ObjectKey::Routine(String::new()),
        Some("T") => ObjectKey::Type(String::new()),
        // Columns, and what nothing can be granted on here.
        _ => return Ok(list_of([], Type::System(SystemType::Aclitem))),
    };
    let owner = RoleId(number(&given[1]));
    Ok(list_shown(catalog, &ObjectAccess::new(owner).list(&key)))
}
