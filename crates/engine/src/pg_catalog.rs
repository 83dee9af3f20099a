//! `pg_catalog` of a statement: its relations and functions over the statement's snapshot.
//!
//! What is in the catalog and what answers for it is the crate `pgcatalog`'s; here a statement's snapshot, views and
//! settings become what that crate reads, once for each statement that asks, and its functions become functions that
//! plans can call. Callers are the answers of `SessionRelations` to the binder.

use std::sync::{Arc, OnceLock};

use pgcatalog::{Catalog, Signature, Surroundings, ViewShape};
use plan::ExternalFunction;
use types::{Result, Value};
use vector::Vector;

use crate::relations::SessionRelations;

/// A statement's catalog, made when it is first asked for.
#[derive(Default)]
pub(crate) struct PgCatalog(OnceLock<Arc<Catalog>>);

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
    let user = settings.role.as_deref().unwrap_or(crate::roles::DEFAULT_ROLE).to_owned();
    let mut roles = vec![crate::roles::DEFAULT_ROLE.to_owned()];
    roles.extend((user != crate::roles::DEFAULT_ROLE).then(|| user.clone()));
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
        user,
        default_schema: settings.default_schema().to_owned(),
        roles,
        path,
        views: views.collect(),
        settings: listed.collect(),
        started: 0,
    }
}

/// The rows of a relation of `pg_catalog`, or of a function that gives such; `None` when there is none of that name.
pub(crate) fn rows(relations: &SessionRelations, name: &str) -> Option<sql::SystemRows> {
    let (columns, rows) = match name {
        "pg_get_keywords" => pgcatalog::keywords(),
        name if pgcatalog::has_relation(name) => pgcatalog::relation(&relations.pg_catalog(), name)?,
        _ => return None,
    };
    Some(sql::SystemRows { columns, rows })
}

/// The forms of a function of `pg_catalog`.
pub(crate) fn functions(relations: &SessionRelations, name: &str) -> Vec<Arc<ExternalFunction>> {
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
