//! Rows and functions of `pg_catalog`, over what a statement sees.
//!
//! Relations that tell of the process (sessions, locks, cursors, prepared statements) have their rows from the session;
//! all others from `pgcatalog` over the statement's snapshot, made once a statement. Passwords are for superusers.
//! Called when the binder meets a relation or a function of that schema.

use std::sync::Arc;

use pgcatalog::{Catalog, Signature, Surroundings, ViewShape};
use plan::ExternalFunction;
use types::{Result, Value};
use vector::Vector;

use super::PgCatalog;
use crate::relations::SessionRelations;
use crate::{session_functions, sessions};

impl PgCatalog {
    /// The catalog over the statement's snapshot.
    pub fn of(&self, relations: &SessionRelations) -> Arc<Catalog> {
        self.0.get_or_init(|| Arc::new(Catalog::new(relations.snapshot(), surroundings(relations)))).clone()
    }
}

fn surroundings(relations: &SessionRelations) -> Surroundings {
    let settings = relations.session_settings();
    let views = relations.views().into_iter().map(|(schema, name, view)| ViewShape {
        columns: relations.view_columns(&schema, &name),
        comment: relations.view_comment(&schema, &name),
        schema,
        name,
        text: view.text,
    });
    let mut path = settings.search_path.clone();
    if !path.iter().any(|schema| schema == catalog::DEFAULT_SCHEMA) {
        path.push(catalog::DEFAULT_SCHEMA.to_owned());
    }
    let text = |value: &Value| value.as_text().unwrap_or_default().to_owned();
    let listed = relations.settings().into_iter().filter_map(|row| match row.as_slice() {
        [name, value, description] => Some((text(name), text(value), text(description))),
        _ => None,
    });
    Surroundings {
        database: relations.database().map_or_else(String::new, |database| database.shared.name.to_string()),
        role: settings.identity.current.0,
        default_schema: settings.default_schema().to_owned(),
        path,
        views: views.collect(),
        settings: listed.collect(),
        started: relations.database().map_or(0, |database| database.shared.sessions.opened()),
    }
}

/// Marks a relation of `information_schema` among names that the system has rows for.
pub(crate) const STANDARD: &str = "information_schema.";

/// Marks a sequence's state among names that the system has rows for; schema and name follow, in lines.
const SEQUENCE: &str = "sequence\n";

/// A sequence as a relation of one row.
pub(crate) fn sequence_view(schema: &str, name: &str) -> sql::ViewInfo {
    let name = types::quote::name(&format!("{SEQUENCE}{schema}\n{name}"));
    let text = format!("SELECT last_value, log_cnt, is_called FROM pg_catalog.{name}");
    sql::ViewInfo { columns: vec![], text, schema: None }
}

/// What a sequence has given last, for who may read it.
fn sequence_state(relations: &SessionRelations, schema: &str, name: &str) -> Result<Option<sql::SystemRows>> {
    let snapshot = relations.snapshot();
    let found = snapshot.schemas().get(schema).and_then(|held| held.sequences.get(name));
    let Some(sequence) = found else { return Ok(None) };
    let key = access::ObjectKey::Sequence(schema.to_owned(), name.to_owned());
    let role = relations.session_settings().identity.current;
    snapshot.access().check(role, &key, access::Privilege::Select, name)?;
    let next = sequence.next.load(std::sync::atomic::Ordering::Relaxed);
    let is_called = next != sequence.start;
    let last = if is_called { next.wrapping_sub(sequence.increment) } else { next };
    let field = |name, ty| types::Field::new(name, ty, false);
    let columns = types::Schema::new(vec![
        field("last_value", types::Type::BigInt),
        field("log_cnt", types::Type::BigInt),
        field("is_called", types::Type::Boolean),
    ]);
    let rows = vec![vec![Value::I64(last), Value::I64(0), Value::Bool(is_called)]];
    Ok(Some(sql::SystemRows { columns, rows }))
}

/// Relations with passwords, which superusers alone read.
const WITH_PASSWORDS: [&str; 2] = ["pg_authid", "pg_shadow"];

/// The rows of a relation of `pg_catalog` or, behind [`STANDARD`], of `information_schema`, or of a function that gives
/// such; `None` when there is none of that name.
pub(crate) fn rows(relations: &SessionRelations, name: &str) -> Result<Option<sql::SystemRows>> {
    let identity = relations.session_settings().identity;
    if WITH_PASSWORDS.contains(&name) && !relations.snapshot().access().is_superuser(identity.current) {
        return Err(access::denied(format!("permission denied for table {name}")));
    }
    if let Some((schema, name)) = name.strip_prefix(SEQUENCE).and_then(|rest| rest.split_once('\n')) {
        return sequence_state(relations, schema, name);
    }
    let told = match name {
        "pg_get_keywords" => Some(pgcatalog::keywords()),
        "pg_stat_activity" => pgcatalog::relation_of(name, sessions::listed::activity(relations)),
        "pg_locks" => pgcatalog::relation_of(name, sessions::listed::locks(relations)),
        "pg_cursors" => pgcatalog::relation_of(name, cursors(relations)),
        "pg_prepared_statements" => pgcatalog::relation_of(name, prepared(relations)),
        name if pgcatalog::has_relation(name) => pgcatalog::relation(&relations.pg_catalog(), name),
        name => name
            .strip_prefix(STANDARD)
            .and_then(|name| pgcatalog::standard_relation(&relations.pg_catalog(), name)),
    };
    Ok(told.map(|(columns, rows)| sql::SystemRows { columns, rows }))
}

/// Rows of `pg_cursors`: those of `quickstep_cursors()`.
fn cursors(relations: &SessionRelations) -> Vec<sessions::NamedRow> {
    const NAMES: [&str; 6] =
        ["name", "statement", "is_holdable", "is_binary", "is_scrollable", "creation_time"];
    let rows = relations.cursors().rows().into_iter();
    rows.map(|row| NAMES.into_iter().zip(row).collect()).collect()
}

/// Rows of `pg_prepared_statements`.
fn prepared(relations: &SessionRelations) -> Vec<sessions::NamedRow> {
    let types = |types: &[types::Type]| {
        let shown = |ty: &types::Type| {
            let oid = pgproto::oid::describe(*ty, &*relations.pg_catalog()).oid;
            types::system_type::reg_value(oid, &ty.sql_name().to_lowercase())
        };
        let kind = types::Type::System(types::SystemType::Regtype);
        types::nested::encoding::list_of(&types.iter().map(shown).collect::<Vec<_>>(), kind)
    };
    let row = |(name, prepared): (&String, &crate::prepared::Prepared)| {
        vec![
            ("name", Value::text(name)),
            ("statement", Value::text(&sql::secrets::masked(&prepared.text))),
            ("prepare_time", Value::I64(prepared.made)),
            ("parameter_types", types(&prepared.types)),
            ("from_sql", Value::Bool(prepared.from_sql)),
            ("generic_plans", Value::I64(0)),
            ("custom_plans", Value::I64(0)),
        ]
    };
    let Some(presence) = relations.presence() else { return vec![] };
    // Columns of views are bound meanwhile, and a view may ask for the same.
    let all = presence.prepared().clone();
    all.iter().map(row).collect()
}

/// The forms of a function of `pg_catalog`.
pub(crate) fn functions(relations: &SessionRelations, name: &str) -> Vec<Arc<ExternalFunction>> {
    if let Some(own) = session_functions::functions(relations, name) {
        return own;
    }
    let signatures = pgcatalog::signatures(name);
    if signatures.is_empty() {
        return vec![];
    }
    let catalog = relations.pg_catalog();
    signatures.iter().map(|signature| function(&catalog, signature)).collect()
}

fn function(catalog: &Arc<Catalog>, signature: &'static Signature) -> Arc<ExternalFunction> {
    let catalog = catalog.clone();
    let code = move |inputs: &[Vector], rows: usize| {
        let mut results = Vec::with_capacity(rows);
        // Rows next to each other often ask the same.
        let mut last: Option<Vec<Value>> = None;
        for row in 0..rows {
            let given: Vec<Value> = inputs.iter().map(|input| input.value(row)).collect();
            let result = match (last.as_ref() == Some(&given), results.last()) {
                (true, Some(result)) => Value::clone(result),
                _ => pgcatalog::call(&catalog, signature, &given)?,
            };
            last = Some(given);
            results.push(result);
        }
        Result::Ok(Vector::from_values(signature.returns, &results))
    };
    Arc::new(ExternalFunction {
        name: signature.name.into(),
        arguments: signature.arguments.clone(),
        returns: signature.returns,
        volatile: false,
        body: Some(expr::keep(Arc::new(code))),
    })
}
