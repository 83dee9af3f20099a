//! `POST /v1/complete`: what may stand at the cursor of an editor.
//!
//! [`context`] says what kinds of things may stand there; here the catalog says which there are, as the role that asks
//! sees it. What begins with the word at the cursor comes before what merely holds it, columns before tables before
//! functions before words of SQL.

mod context;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::{Result, Session, Value};
use serde::Deserialize;
use serde_json::json;
use types::quote;

use super::fault::{Fault, answer, units};
use super::guard::Role;
use super::{Http, jobs, request};
use context::{Named, Wanted};

/// Candidates that are told, at most.
const CANDIDATES_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    sql: String,
    /// In units of UTF-16.
    at: usize,
}

/// Something that may stand there.
#[derive(Debug)]
struct Candidate {
    text: String,
    kind: &'static str,
    detail: String,
}

/// Answers what may stand at a place of a text.
pub async fn complete(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    request: Request,
) -> std::result::Result<Response, Fault> {
    let Asked { sql, at } = request::body(request).await?;
    let (sender, told) = tokio::sync::oneshot::channel();
    let (server, text) = (http.server.clone(), sql.clone());
    let job = move || {
        let outcome = match context::wanted(&text, byte_of(&text, at)) {
            None => Ok((at, vec![])),
            Some(wanted) => jobs::session(&server, &role)
                .and_then(|session| candidates(&session, &wanted))
                .map(|found| (units(&text[..wanted.from]), found)),
        };
        // The client may have gone away.
        let _ = sender.send(outcome);
    };
    jobs::submit(&http.server, Box::new(job))?;
    match told.await {
        Ok(Ok((from, found))) => {
            let shown = |one: &Candidate| json!({ "text": one.text, "kind": one.kind, "detail": one.detail });
            let candidates: Vec<_> = found.iter().map(shown).collect();
            Ok(answer(StatusCode::OK, &json!({ "from": from, "candidates": candidates })))
        }
        Ok(Err(error)) => Err(Fault::of(&error, &sql)),
        Err(_) => Ok(answer(StatusCode::OK, &json!({ "from": at, "candidates": [] }))),
    }
}

/// The byte at a place in units of UTF-16.
fn byte_of(text: &str, at: usize) -> usize {
    let mut unit = 0;
    for (byte, c) in text.char_indices() {
        if unit >= at {
            return byte;
        }
        unit += c.len_utf16();
    }
    text.len()
}

/// The rows of a query as texts; NULL is an empty one.
fn rows(session: &Session, text: &str) -> Result<Vec<Vec<String>>> {
    let result = session.query(text)?;
    let mut rows = Vec::with_capacity(result.rows());
    for batch in result.batches() {
        for row in 0..batch.rows {
            let cell = |value: Value| value.as_text().unwrap_or_default().to_owned();
            rows.push(batch.columns.iter().map(|column| cell(column.value(row))).collect());
        }
    }
    Ok(rows)
}

fn candidates(session: &Session, wanted: &Wanted) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    if wanted.expressions || !wanted.qualifier.is_empty() {
        columns(session, wanted, &mut found)?;
    }
    if wanted.relations || (wanted.expressions && wanted.named.is_empty()) || !wanted.qualifier.is_empty() {
        relations(session, wanted, &mut found)?;
    }
    if wanted.expressions && wanted.qualifier.is_empty() {
        let text = "SELECT DISTINCT function_name FROM quickstep_functions() ORDER BY 1";
        let function = |row: Vec<String>| candidate(row[0].clone(), "function", String::new());
        found.extend(rows(session, text)?.into_iter().map(function));
    }
    if wanted.settings {
        let text = "SELECT name, setting FROM quickstep_settings() ORDER BY 1";
        let setting = |row: Vec<String>| candidate(row[0].clone(), "setting", row[1].clone());
        found.extend(rows(session, text)?.into_iter().map(setting));
    }
    found.extend(wanted.keywords.iter().map(|word| candidate((*word).to_owned(), "keyword", String::new())));
    let word = wanted.word.to_lowercase();
    // Quotes are no part of what was typed.
    let plain = |one: &Candidate| one.text.trim_start_matches('"').to_lowercase();
    found.retain(|one| plain(one).contains(&word));
    // The order of kinds stays within what begins so, and within the rest.
    found.sort_by_key(|one| !plain(one).starts_with(&word));
    found.truncate(CANDIDATES_MAX);
    Ok(found)
}

fn candidate(text: String, kind: &'static str, detail: String) -> Candidate {
    Candidate { text, kind, detail }
}

/// Whether a schema is the default one, by either of its names.
fn is_default(schema: &str) -> bool {
    matches!(schema, "main" | "public")
}

/// Columns of the relations that the statement names; behind a name, of the one that is called so.
fn columns(session: &Session, wanted: &Wanted, found: &mut Vec<Candidate>) -> Result<()> {
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let is_meant = |named: &&Named| match wanted.qualifier.as_slice() {
        [] => true,
        [name] => same(named.alias.as_ref().unwrap_or(&named.relation), name),
        [.., schema, name] => {
            same(&named.relation, name) && named.schema.as_ref().is_none_or(|own| same(own, schema))
        }
    };
    for named in wanted.named.iter().filter(is_meant) {
        let schema = match &named.schema {
            Some(schema) if is_default(schema) => " AND schema_name IN ('main', 'public')".to_owned(),
            Some(schema) => format!(" AND schema_name = {}", quote::text(schema)),
            None => String::new(),
        };
        let text = format!(
            "SELECT column_name, data_type FROM quickstep_columns() WHERE lower(table_name) = lower({}){schema} \
             ORDER BY column_index",
            quote::text(&named.relation)
        );
        let shown = named.alias.as_ref().unwrap_or(&named.relation);
        let column = |row: Vec<String>| {
            candidate(quote::name_if_needed(&row[0]), "column", format!("{} · {shown}", row[1]))
        };
        found.extend(rows(session, &text)?.into_iter().map(column));
    }
    Ok(())
}

/// Tables and views; behind a schema's name its own.
fn relations(session: &Session, wanted: &Wanted, found: &mut Vec<Candidate>) -> Result<()> {
    let text = "SELECT schema_name, table_name, CAST(rows AS TEXT) || ' rows' FROM quickstep_tables() UNION ALL \
                SELECT schema_name, view_name, 'view' FROM quickstep_views() ORDER BY 1, 2";
    for row in rows(session, text)? {
        let [schema, name, detail] = row.as_slice() else { continue };
        let text = match wanted.qualifier.as_slice() {
            [] if is_default(schema) => quote::name_if_needed(name),
            [] => format!("{}.{}", quote::name_if_needed(schema), quote::name_if_needed(name)),
            [.., of] if of.eq_ignore_ascii_case(schema) || (is_default(of) && is_default(schema)) => {
                quote::name_if_needed(name)
            }
            _ => continue,
        };
        found.push(candidate(text, "table", detail.clone()));
    }
    Ok(())
}
