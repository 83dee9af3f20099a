//! The functions of `pg_catalog` that read the catalog, and the casts to and from `regclass` and kin.
//!
//! A [`Signature`] is one form of a function: names are shared by forms that differ in their arguments. Casts go by the
//! name of the type behind two colons, `::regclass`, which no call can have. A strict form gives NULL for any NULL
//! argument without being called.

use std::collections::HashMap;
use std::sync::OnceLock;

use types::nested::encoding::list_of;
use types::system_type::{reg_oid, reg_value};
use types::{Error, Result, SqlState, SystemType, Type, Value};

use crate::names::{parts, quoted};
use crate::objects::{Catalog, Class};
use crate::oids::PG_CATALOG;
use crate::{definitions, fixed, privileges, relations};

/// What answers a call.
pub(crate) type Body = fn(&Catalog, &[Value]) -> Result<Value>;

/// One form of a function.
#[derive(Clone, Debug)]
pub struct Signature {
    /// By which SQL calls it; `::` and a type for a cast.
    pub name: &'static str,
    /// The parameters' types.
    pub arguments: Vec<Type>,
    /// The result's type.
    pub returns: Type,
    /// NULL for any NULL argument.
    pub strict: bool,
    pub(crate) body: Body,
}

/// The result of a form for values of its arguments' types.
pub fn call(catalog: &Catalog, signature: &Signature, arguments: &[Value]) -> Result<Value> {
    if signature.strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    (signature.body)(catalog, arguments)
}

/// The forms of the function of that name; none where there is no such function.
pub fn signatures(name: &str) -> &'static [Signature] {
    static ALL: OnceLock<HashMap<&str, Vec<Signature>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut by_name: HashMap<&str, Vec<Signature>> = HashMap::new();
        for signature in declared() {
            by_name.entry(signature.name).or_default().push(signature);
        }
        by_name
    });
    all.get(name).map_or(&[], Vec::as_slice)
}

const OID: Type = Type::OID;
const NAME: Type = Type::NAME;
const TEXT: Type = Type::Text;
const CLASS: Type = Type::System(SystemType::Regclass);

/// Every form.
fn declared() -> Vec<Signature> {
    let mut all = Vec::new();
    objects(&mut all);
    comments_and_encodings(&mut all);
    sizes_and_server(&mut all);
    privileges::declare(&mut all);
    casts(&mut all);
    let modifier = Signature {
        name: "format_type",
        arguments: vec![OID, Type::Integer],
        returns: TEXT,
        strict: false,
        body: |c, given| match given[0].as_i64() {
            None => Ok(Value::Null),
            Some(0) => Ok(Value::text("-")),
            Some(_) => {
                let modifier = given[1].as_i64().unwrap_or(-1);
                let name = definitions::type_name(c, number(&given[0]), modifier);
                Ok(Value::text(&name.unwrap_or_else(|| "???".to_owned())))
            }
        },
    };
    all.push(modifier);
    all
}

/// What objects are, as statements, and whether their names alone mean them.
fn objects(all: &mut Vec<Signature>) {
    let mut of = |name, arguments: &[Type], returns, body: Body| {
        all.push(Signature { name, arguments: arguments.to_vec(), returns, strict: true, body });
    };
    let [bool, int] = [Type::Boolean, Type::Integer];
    let node = Type::System(SystemType::PgNodeTree);
    of("pg_get_expr", &[node, OID], TEXT, |_, given| Ok(given[0].clone()));
    of("pg_get_expr", &[node, OID, bool], TEXT, |_, given| Ok(given[0].clone()));
    of("pg_get_indexdef", &[OID], TEXT, index_definition);
    of("pg_get_indexdef", &[OID, int, bool], TEXT, index_definition);
    of("pg_get_constraintdef", &[OID], TEXT, constraint_definition);
    of("pg_get_constraintdef", &[OID, bool], TEXT, constraint_definition);
    of("pg_get_viewdef", &[OID], TEXT, view_definition);
    of("pg_get_viewdef", &[OID, bool], TEXT, view_definition);
    of("pg_get_viewdef", &[OID, int], TEXT, view_definition);
    of("pg_get_userbyid", &[OID], NAME, user_name);
    of("pg_get_ruledef", &[OID], TEXT, rule_definition);
    of("pg_get_ruledef", &[OID, bool], TEXT, rule_definition);
    for name in ["pg_get_triggerdef", "pg_get_statisticsobjdef", "pg_get_statisticsobjdef_columns"] {
        of(name, &[OID], TEXT, null);
    }
    of("pg_get_triggerdef", &[OID, bool], TEXT, null);
    for name in ["pg_get_partkeydef", "pg_get_partition_constraintdef", "pg_get_functiondef"] {
        of(name, &[OID], TEXT, null);
    }
    of("pg_get_function_sqlbody", &[OID], TEXT, null);
    of("pg_get_function_arg_default", &[OID, int], TEXT, null);
    of("pg_get_function_result", &[OID], TEXT, |c, given| function_part(c, &given[0], "prorettype"));
    for name in ["pg_get_function_arguments", "pg_get_function_identity_arguments"] {
        of(name, &[OID], TEXT, |c, given| function_part(c, &given[0], "proargtypes"));
    }
    of("pg_get_serial_sequence", &[TEXT, TEXT], TEXT, serial_sequence);
    for name in [
        "pg_function_is_visible",
        "pg_operator_is_visible",
        "pg_opclass_is_visible",
        "pg_opfamily_is_visible",
        "pg_collation_is_visible",
        "pg_conversion_is_visible",
        "pg_statistics_obj_is_visible",
        "pg_ts_parser_is_visible",
        "pg_ts_dict_is_visible",
        "pg_ts_template_is_visible",
        "pg_ts_config_is_visible",
    ] {
        of(name, &[OID], bool, yes);
    }
    of("pg_table_is_visible", &[OID], bool, |c, given| {
        Ok(c.class(number(&given[0])).map_or(Value::Null, |class| Value::Bool(c.is_visible(class))))
    });
    of("pg_type_is_visible", &[OID], bool, type_is_visible);
}

/// Comments, and the encoding, which is always UTF-8.
fn comments_and_encodings(all: &mut Vec<Signature>) {
    let mut of = |name, arguments: &[Type], returns, body: Body| {
        all.push(Signature { name, arguments: arguments.to_vec(), returns, strict: true, body });
    };
    let int = Type::Integer;
    of("obj_description", &[OID], TEXT, |c, given| Ok(comment_on(c, None, number(&given[0]))));
    of("obj_description", &[OID, NAME], TEXT, |c, given| {
        let of = match given[1].as_text() {
            Some("pg_class") => relations::PG_CLASS,
            Some("pg_type") => relations::PG_TYPE,
            Some("pg_namespace") => relations::PG_NAMESPACE,
            _ => return Ok(Value::Null),
        };
        Ok(comment_on(c, Some(of), number(&given[0])))
    });
    of("shobj_description", &[OID, NAME], TEXT, |c, given| match given[1].as_text() {
        Some("pg_database") => Ok(comment_on(c, Some(relations::PG_DATABASE), number(&given[0]))),
        _ => Ok(Value::Null),
    });
    of("col_description", &[OID, int], TEXT, |c, given| {
        let at = given[1].as_i64().and_then(|at| usize::try_from(at - 1).ok());
        let column = c.class(number(&given[0])).and_then(|class| class.columns.get(at?));
        Ok(column.and_then(|column| column.comment.as_deref()).map_or(Value::Null, Value::text))
    });
    of("pg_encoding_to_char", &[int], NAME, |_, given| {
        Ok(Value::text(match given[0].as_i64() {
            Some(6) => "UTF8",
            Some(0) => "SQL_ASCII",
            _ => "",
        }))
    });
    of("pg_char_to_encoding", &[NAME], int, |_, given| {
        let known =
            given[0].as_text().is_some_and(|name| matches!(&*name.to_ascii_lowercase(), "utf8" | "utf-8"));
        Ok(Value::I32(if known { 6 } else { -1 }))
    });
    for name in ["getdatabaseencoding", "pg_client_encoding"] {
        of(name, &[], NAME, |_, _| Ok(Value::text("UTF8")));
    }
}

/// Sizes, and what is asked of the server and of names.
fn sizes_and_server(all: &mut Vec<Signature>) {
    let mut of = |name, arguments: &[Type], returns, body: Body| {
        all.push(Signature { name, arguments: arguments.to_vec(), returns, strict: true, body });
    };
    let [bool, int, long] = [Type::Boolean, Type::Integer, Type::BigInt];
    for name in ["pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size"] {
        of(name, &[CLASS], long, relation_size);
    }
    of("pg_relation_size", &[CLASS, TEXT], long, relation_size);
    for argument in [OID, NAME] {
        of("pg_database_size", &[argument], long, |c, _| {
            let bytes: u64 =
                c.classes.iter().filter_map(|class| class.table.as_ref()).map(|t| t.data.bytes()).sum();
            Ok(Value::I64(i64::try_from(bytes).unwrap_or(i64::MAX)))
        });
    }
    of("pg_size_pretty", &[long], TEXT, |_, given| Ok(Value::text(&pretty(given[0].as_i64().unwrap_or(0)))));
    of("pg_relation_filenode", &[CLASS], OID, |_, given| Ok(Value::I64(i64::from(number(&given[0])))));
    of("pg_relation_is_publishable", &[CLASS], bool, |_, _| Ok(Value::Bool(false)));
    of("pg_relation_is_updatable", &[CLASS, bool], int, |c, given| {
        let table =
            c.class(number(&given[0])).is_some_and(|class| class.kind == 'r' && class.table.is_some());
        Ok(Value::I32(if table { 28 } else { 0 }))
    });
    of("pg_column_is_updatable", &[CLASS, Type::SmallInt, bool], bool, |c, given| {
        Ok(Value::Bool(c.class(number(&given[0])).is_some_and(|class| class.table.is_some())))
    });
    of("pg_tablespace_location", &[OID], TEXT, |_, _| Ok(Value::text("")));
    of("pg_is_other_temp_schema", &[OID], bool, |_, _| Ok(Value::Bool(false)));
    of("pg_my_temp_schema", &[], OID, |_, _| Ok(Value::I64(0)));
    of("pg_is_in_recovery", &[], bool, |_, _| Ok(Value::Bool(false)));
    of("pg_is_wal_replay_paused", &[], bool, |_, _| Ok(Value::Bool(false)));
    of("pg_postmaster_start_time", &[], Type::TimestampTz, |c, _| Ok(Value::I64(c.around.started)));
    of("pg_conf_load_time", &[], Type::TimestampTz, |c, _| Ok(Value::I64(c.around.started)));
    of("inet_server_addr", &[], Type::System(SystemType::Inet), null);
    of("inet_server_port", &[], int, null);
    if let Ok(names) = Type::list(NAME) {
        of("current_schemas", &[bool], names, |c, given| {
            let names: Vec<Value> =
                c.path_names(given[0].as_bool() == Some(true)).into_iter().map(Value::text).collect();
            Ok(list_of(&names, NAME))
        });
    }
    if let Ok(texts) = Type::list(TEXT) {
        of("parse_ident", &[TEXT], texts, |_, given| {
            let parts: Vec<Value> =
                parts(given[0].as_text().unwrap_or_default())?.iter().map(|part| Value::text(part)).collect();
            Ok(list_of(&parts, TEXT))
        });
    }
    if let Ok(items) = Type::list(Type::System(SystemType::Aclitem)) {
        of("acldefault", &[Type::System(SystemType::Char), OID], items, privileges::default_list);
    }
    of("pg_describe_object", &[OID, OID, int], TEXT, |c, given| {
        let class = c.class(number(&given[1])).filter(|_| number(&given[0]) == relations::PG_CLASS);
        let kind = |class: &Class| match class.kind {
            'v' => "view",
            'i' => "index",
            'S' => "sequence",
            _ => "table",
        };
        Ok(class.map_or(Value::Null, |class| {
            let at = given[2].as_i64().and_then(|at| usize::try_from(at - 1).ok());
            let relation = format!("{} {}", kind(class), c.class_shown(class));
            match at.and_then(|at| class.columns.get(at)) {
                Some(column) => Value::text(&format!("column {} of {relation}", quoted(&column.name))),
                None => Value::text(&relation),
            }
        }))
    });
    for argument in [OID, TEXT] {
        of("row_security_active", &[argument], bool, privileges::row_security);
    }
}

/// Casts between texts, OIDs and each `reg` type, and the functions `to_regclass` and kin.
fn casts(all: &mut Vec<Signature>) {
    macro_rules! kinds {
        ($($kind:ident $cast:literal $to:literal $find:expr, $shown:expr;)*) => {$(
            let ty = Type::System(SystemType::$kind);
            let strict = true;
            let body: Body = |c, given| {
                let text = given[0].as_text().unwrap_or_default();
                let oid = numbered(text).map_or_else(|| $find(c, text), Ok)?;
                Ok(shown(oid, $shown(c, oid)))
            };
            all.push(Signature { name: $cast, arguments: vec![TEXT], returns: ty, strict, body });
            let body: Body = |c, given| {
                let oid = number(&given[0]);
                Ok(shown(oid, $shown(c, oid)))
            };
            all.push(Signature { name: $cast, arguments: vec![OID], returns: ty, strict, body });
            let body: Body = |c, given| {
                let text = given[0].as_text().unwrap_or_default();
                Ok($find(c, text).map_or(Value::Null, |oid| shown(oid, $shown(c, oid))))
            };
            all.push(Signature { name: $to, arguments: vec![TEXT], returns: ty, strict, body });
        )*};
    }
    kinds! {
        Regclass "::regclass" "to_regclass" class_named, |c: &Catalog, oid| c.class(oid).map(|k| c.class_shown(k));
        Regtype "::regtype" "to_regtype" type_named, |c: &Catalog, oid| definitions::type_name(c, oid, -1);
        Regproc "::regproc" "to_regproc" function_named, |_: &Catalog, oid| fixed_name("pg_proc", oid);
        Regprocedure "::regprocedure" "to_regprocedure" function_named, |c: &Catalog, oid| procedure_shown(c, oid);
        Regoper "::regoper" "to_regoper" operator_named, |_: &Catalog, oid| fixed_name("pg_operator", oid);
        Regoperator "::regoperator" "to_regoperator" operator_named, |_: &Catalog, oid| fixed_name("pg_operator", oid);
        Regnamespace "::regnamespace" "to_regnamespace" namespace_named,
            |c: &Catalog, oid| Some(quoted(c.namespace_name(oid))).filter(|name| name != "\"\"");
        Regrole "::regrole" "to_regrole" role_named,
            |c: &Catalog, oid| c.role_name(oid).map(|name| quoted(&name));
        Regcollation "::regcollation" "to_regcollation" |_: &Catalog, text: &str| named_in("pg_collation", "collation", text),
            |_: &Catalog, oid| fixed_name("pg_collation", oid).map(|name| quoted(&name));
        Regconfig "::regconfig" "to_regconfig" |_: &Catalog, text: &str| named_in("pg_ts_config", "text search configuration", text),
            |_: &Catalog, _| None;
        Regdictionary "::regdictionary" "to_regdictionary" |_: &Catalog, text: &str| named_in("pg_ts_dict", "text search dictionary", text),
            |_: &Catalog, _| None;
    }
}

fn numbered(text: &str) -> Option<u32> {
    let text = text.trim();
    if text == "-" { Some(0) } else { text.parse().ok() }
}

fn shown(oid: u32, name: Option<String>) -> Value {
    match (oid, name) {
        (0, _) => reg_value(0, "-"),
        (oid, Some(name)) => reg_value(oid, &name),
        (oid, None) => reg_value(oid, &oid.to_string()),
    }
}

/// The OID in an argument of type oid or of a `reg` type.
pub(crate) fn number(value: &Value) -> u32 {
    match value {
        Value::Bytes(bytes) => reg_oid(bytes),
        value => value.as_i64().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(0),
    }
}

pub(crate) fn class_named(catalog: &Catalog, text: &str) -> Result<u32> {
    let (schema, name) = Catalog::split(text)?;
    let unknown = || {
        let shown = schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
        Error::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist"))
    };
    catalog.find_class(schema.as_deref(), &name).map(|class| class.oid).ok_or_else(unknown)
}

pub(crate) fn namespace_named(catalog: &Catalog, text: &str) -> Result<u32> {
    let name = parts(text)?.pop().unwrap_or_default();
    catalog
        .namespace_named(&name)
        .ok_or_else(|| Error::new(SqlState::UndefinedSchema, format!("schema \"{name}\" does not exist")))
}

pub(crate) fn type_named(catalog: &Catalog, text: &str) -> Result<u32> {
    definitions::type_oid(catalog, text)
        .ok_or_else(|| Error::new(SqlState::UndefinedObject, format!("type \"{text}\" does not exist")))
}

pub(crate) fn role_named(catalog: &Catalog, text: &str) -> Result<u32> {
    let name = parts(text)?.pop().unwrap_or_default();
    let found = catalog.access.find(&name).map(|role| role.0);
    found.ok_or_else(|| Error::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")))
}

pub(crate) fn function_named(_: &Catalog, text: &str) -> Result<u32> {
    // What stands in brackets tells forms apart; a name alone means the first.
    let name = text.split('(').next().unwrap_or_default();
    let plain = parts(name)?.pop().unwrap_or_default();
    fixed_oid("pg_proc", &plain)
        .ok_or_else(|| Error::new(SqlState::UndefinedFunction, format!("function \"{text}\" does not exist")))
}

fn operator_named(_: &Catalog, text: &str) -> Result<u32> {
    let name = text.split('(').next().unwrap_or_default();
    let plain = name.rsplit('.').next().unwrap_or_default();
    fixed_oid("pg_operator", plain)
        .ok_or_else(|| Error::new(SqlState::UndefinedFunction, format!("operator does not exist: {text}")))
}

fn named_in(relation: &str, what: &str, text: &str) -> Result<u32> {
    let name = parts(text)?.pop().unwrap_or_default();
    fixed_oid(relation, &name)
        .ok_or_else(|| Error::new(SqlState::UndefinedObject, format!("{what} \"{name}\" does not exist")))
}

/// The first row with that name, which stands behind the OID.
fn fixed_oid(relation: &str, name: &str) -> Option<u32> {
    let rows = fixed::rows(fixed::relation(relation)?);
    let row = rows.iter().find(|row| row[1].as_text() == Some(name))?;
    row[0].as_i64().and_then(|oid| u32::try_from(oid).ok())
}

fn fixed_name(relation: &str, oid: u32) -> Option<String> {
    let rows = fixed::rows(fixed::relation(relation)?);
    rows.iter().find(|row| row[0].as_i64() == Some(i64::from(oid)))?[1].as_text().map(str::to_owned)
}

/// A function's part: its result's type, or its arguments' in brackets' form.
fn function_part(catalog: &Catalog, oid: &Value, column: &str) -> Result<Value> {
    let Some(relation) = fixed::relation("pg_proc") else { return Ok(Value::Null) };
    let row = fixed::rows(relation).iter().find(|row| row[0] == *oid);
    let Some((row, at)) = row.zip(relation.place(column)) else { return Ok(Value::Null) };
    let name = |value: &Value| {
        definitions::type_name(catalog, number(value), -1).unwrap_or_else(|| "???".to_owned())
    };
    let ty = relation.schema.fields()[at].ty;
    Ok(Value::text(&match (&row[at], ty.element()) {
        (Value::Bytes(bytes), Some(element)) => {
            let names = types::nested::encoding::elements(ty, bytes)
                .map(|slot| name(&types::nested::encoding::slot_value(slot, element)));
            names.collect::<Vec<_>>().join(", ")
        }
        (value, _) => {
            let set = relation.place("proretset").is_some_and(|at| row[at] == Value::Bool(true));
            if set { format!("SETOF {}", name(value)) } else { name(value) }
        }
    }))
}

fn procedure_shown(catalog: &Catalog, oid: u32) -> Option<String> {
    let name = fixed_name("pg_proc", oid)?;
    let arguments = function_part(catalog, &Value::I64(i64::from(oid)), "proargtypes").ok()?;
    Some(format!("{name}({})", arguments.as_text()?.replace(", ", ",")))
}

fn null(_: &Catalog, _: &[Value]) -> Result<Value> {
    Ok(Value::Null)
}

pub(crate) fn yes(_: &Catalog, _: &[Value]) -> Result<Value> {
    Ok(Value::Bool(true))
}

/// The comment on an object of one catalog, or of whichever has the OID.
fn comment_on(catalog: &Catalog, of: Option<u32>, oid: u32) -> Value {
    let class = catalog.class(oid).filter(|_| of.is_none_or(|of| of == relations::PG_CLASS));
    let own = class.and_then(|class| class.comment.as_deref());
    let other = || {
        let fits = |known: u32| of.map_or(known != relations::PG_DATABASE, |of| of == known);
        let found = catalog.comments.iter().find(|(known, object, _)| *object == oid && fits(*known));
        found.map(|(.., text)| text.as_str())
    };
    own.or_else(other).map_or(Value::Null, Value::text)
}

fn index_definition(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let class = catalog.class(number(&given[0]));
    let found = class.and_then(|class| {
        let column = given.get(1).and_then(Value::as_i64).unwrap_or(0);
        definitions::index(catalog, class, class.index.as_ref()?, column)
    });
    Ok(found.as_deref().map_or(Value::Null, Value::text))
}

fn constraint_definition(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let oid = number(&given[0]);
    let found = catalog.constraints.iter().find(|constraint| constraint.oid == oid);
    let text = found.and_then(|constraint| definitions::constraint(catalog, constraint));
    Ok(text.as_deref().map_or(Value::Null, Value::text))
}

fn view_definition(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let class = catalog.class(number(&given[0])).filter(|class| class.kind == 'v');
    let text = class.and_then(definitions::view);
    Ok(text.as_deref().map_or(Value::Null, Value::text))
}

fn rule_definition(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(view) = number(&given[0]).checked_sub(3).and_then(|oid| catalog.class(oid)) else {
        return Ok(Value::Null);
    };
    let Some(text) = definitions::view(view) else { return Ok(Value::Null) };
    let name = catalog.qualified(view.namespace, &view.name);
    Ok(Value::text(&format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {text}")))
}

fn user_name(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let oid = number(&given[0]);
    Ok(Value::text(&catalog.role_name(oid).unwrap_or_else(|| format!("unknown (OID={oid})"))))
}

fn type_is_visible(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let oid = number(&given[0]);
    let of_enum = catalog.enumerations.iter().find(|e| e.oid == oid || e.oid + 1 == oid).map(|e| e.namespace);
    let of_row = || {
        let row = |class: &&Class| class.row_type != 0 && (class.row_type..class.row_type + 2).contains(&oid);
        catalog.classes.iter().find(row).map(|class| class.namespace)
    };
    let of_fixed = || fixed_name("pg_type", oid).map(|_| PG_CATALOG);
    let namespace = of_enum.or_else(of_row).or_else(of_fixed);
    Ok(namespace.map_or(Value::Null, |namespace| Value::Bool(catalog.in_path(namespace))))
}

/// The sequence that a column's numbers come from, by the table's name as a text and the column's.
fn serial_sequence(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let (table, column) = (given[0].as_text().unwrap_or_default(), given[1].as_text().unwrap_or_default());
    let oid = class_named(catalog, table)?;
    let Some(class) = catalog.class(oid) else { return Ok(Value::Null) };
    let Some(at) = class.columns.iter().position(|c| c.name == column) else {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", class.name);
        return Err(Error::new(SqlState::UndefinedColumn, message));
    };
    let owns = |c: &&Class| {
        let owner = c.sequence.as_ref().and_then(|sequence| sequence.owner);
        owner.is_some_and(|(table, column)| crate::oids::of_table(table.0) == oid && column == at)
    };
    let found = catalog.classes.iter().find(owns);
    Ok(found.map_or(Value::Null, |s| Value::text(&catalog.qualified(s.namespace, &s.name))))
}

fn relation_size(catalog: &Catalog, given: &[Value]) -> Result<Value> {
    let Some(class) = catalog.class(number(&given[0])) else { return Ok(Value::Null) };
    let bytes = class.table.as_ref().map_or(0, |table| table.data.bytes());
    Ok(Value::I64(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// Bytes in the largest unit of which there are at least ten, as PostgreSQL rounds them.
fn pretty(bytes: i64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes.unsigned_abs() < 10 * 1024 {
        return format!("{bytes} bytes");
    }
    let mut halves = bytes >> 9;
    for unit in UNITS {
        if halves.unsigned_abs() < 20 * 1024 - 1 || unit == "PB" {
            return format!("{} {unit}", (halves + if halves < 0 { 0 } else { 1 }) / 2);
        }
        halves >>= 10;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use types::system_type::reg_name;

    use super::*;
    use crate::Surroundings;
    use crate::oids::OWNER;

    fn name_of(value: &Value) -> &str {
        reg_name(value.as_bytes().unwrap_or_default())
    }

    fn called(name: &str, given: &[Value]) -> Result<Value> {
        let snapshot = catalog::Catalog::new().snapshot();
        let around = Surroundings { path: vec!["main".to_owned()], ..Surroundings::default() };
        let objects = Catalog::new(&snapshot, around);
        let fits = |s: &&Signature| {
            let physical = |(value, ty): (&Value, &Type)| value.physical() == Some(ty.physical());
            s.arguments.len() == given.len() && given.iter().zip(&s.arguments).all(physical)
        };
        call(&objects, signatures(name).iter().find(fits).unwrap(), given)
    }

    #[test]
    fn names_and_oids_lead_to_each_other() {
        let class = called("::regclass", &[Value::text("pg_catalog.pg_class")]).unwrap();
        assert_eq!((number(&class), name_of(&class)), (1259, "pg_class"));
        let ty = called("::regtype", &[Value::I64(1231)]).unwrap();
        assert_eq!(name_of(&ty), "numeric[]");
        assert_eq!(called("::regclass", &[Value::text("t")]).unwrap_err().state(), SqlState::UndefinedTable);
        assert_eq!(called("to_regclass", &[Value::text("t")]).unwrap(), Value::Null);
        for (text, oid) in [("integer", 23), ("int4", 23), ("char", 1042), ("\"char\"", 18), ("text[]", 1009)]
        {
            assert_eq!(number(&called("::regtype", &[Value::text(text)]).unwrap()), oid, "{text}");
        }
    }

    #[test]
    fn types_are_shown_with_their_modifiers() {
        let shown = |oid, modifier| {
            let value = called("format_type", &[Value::I64(oid), Value::I32(modifier)]).unwrap();
            value.as_text().unwrap_or_default().to_owned()
        };
        assert_eq!(shown(1700, 786_438), "numeric(12,2)");
        assert_eq!(shown(1043, 84), "character varying(80)");
        assert_eq!(shown(1009, -1), "text[]");
        assert_eq!(shown(1184, -1), "timestamp with time zone");
        assert_eq!([0, 10_239, 10_240, 2 << 20].map(pretty), ["0 bytes", "10239 bytes", "10 kB", "2048 kB"]);
        let owner = called("pg_get_userbyid", &[Value::I64(i64::from(OWNER))]).unwrap();
        assert_eq!(owner.as_text(), Some("quickstep"));
    }
}
