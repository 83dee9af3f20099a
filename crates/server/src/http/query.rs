//! `POST /v1/query`: a script, and the rows of its last statement in the form that Accept asks for.
//!
//! The query runs as a job on a thread that may block, with the settings and parameters of the request, and is
//! cancelled when the connection is dropped. Rows are written as they come; faults are told by `fault`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use engine::{Error, Result, Schema, SqlState};
use formats::write::{BatchWriter, WriteFormat};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use types::zone;

use super::fault::Fault;
use super::guard::Role;
use super::jobs::{self, Cancel, CancelOnDrop};
use super::source::Source;
use super::streamed::Out;
use super::{Http, request, rows};
use crate::server;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    sql: String,
    #[serde(default)]
    parameters: Vec<Box<RawValue>>,
    #[serde(default)]
    settings: BTreeMap<String, serde_json::Value>,
}

/// In which form rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One object with columns, rows and what else there is to say.
    Json,
    /// As a file of this format.
    File(WriteFormat),
}

/// The forms that Accept can name.
const FORMS: [(&str, Form); 5] = [
    ("application/json", Form::Json),
    ("application/x-ndjson", Form::File(WriteFormat::Ndjson)),
    ("text/csv", Form::File(WriteFormat::Csv)),
    ("application/vnd.apache.arrow.stream", Form::File(WriteFormat::Arrow)),
    ("application/vnd.apache.parquet", Form::File(WriteFormat::Parquet)),
];

/// The form that a client likes best of those that there are; the first of equals.
fn form_of(accept: &str) -> Option<(&'static str, Form)> {
    if accept.trim().is_empty() {
        return Some(FORMS[0]);
    }
    let mut best: Option<(f32, (&'static str, Form))> = None;
    for one in accept.split(',') {
        let mut parts = one.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality =
            parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
        let found = FORMS.iter().find(|(known, _)| match name.strip_suffix("/*") {
            Some("*") => true,
            Some(family) => known.split('/').next() == Some(family),
            None => *known == name,
        });
        if let (Some(found), true) = (found, quality > best.map_or(0.0, |(quality, _)| quality)) {
            best = Some((quality, *found));
        }
    }
    best.map(|(_, found)| found)
}

/// Answers a query.
pub async fn query(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    request: Request,
) -> std::result::Result<Response, Fault> {
    let accept = request.headers().get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let Some((content_type, form)) = form_of(&accept.collect::<Vec<_>>().join(",")) else {
        let known: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
        return Err(Fault::with_hint(
            StatusCode::NOT_ACCEPTABLE,
            SqlState::FeatureNotSupported,
            "rows have none of the forms that Accept asks for",
            &format!("there are {}", known.join(", ")),
        ));
    };
    let query: Query = request::body(request).await?;
    let (head, answer) = tokio::sync::oneshot::channel();
    let cancel = Cancel::default();
    // Dropped with this task, when the client goes away before there is an answer.
    let waiting = CancelOnDrop::new(&cancel);
    let server = http.server.clone();
    let out = Out::new(server.executor.clone(), head, content_type, CancelOnDrop::new(&cancel));
    let job = move || {
        let mut out = out;
        match run(&server, &role, &query, form, &cancel, &mut out) {
            // Where the reader has gone there is nobody to tell.
            Ok(()) => _ = out.end(),
            Err(error) => out.fail(Fault::of(&error, &query.sql)),
        }
    };
    jobs::submit(&http.server, Box::new(job))?;
    let answer = answer.await;
    waiting.disarm();
    answer.unwrap_or_else(|_| {
        Err(Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            SqlState::Internal,
            "the statement ended without an answer",
        ))
    })
}

/// Runs a query and writes its answer.
fn run(
    server: &server::Shared,
    role: &str,
    query: &Query,
    form: Form,
    cancel: &Cancel,
    out: &mut Out,
) -> Result<()> {
    let session = Arc::new(jobs::session(server, role)?);
    cancel.watch(&session);
    if cancel.is_raised() {
        return Err(Error::new(SqlState::QueryCanceled, "canceling statement due to user request"));
    }
    for (name, value) in &query.settings {
        if engine::settings::is_shared(name) {
            let message = format!("\"{name}\" is a setting of the whole database");
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("say SET in the statement's text"));
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        server::set(&session, name, &text)?;
    }
    let begun = Instant::now();
    let mut source = Source::open(&session, &query.sql, &query.parameters)?;
    let opened = begun.elapsed();
    let number = session.last_query();
    let columns = source.columns();
    zone::within(source.time_zone(), || match form {
        Form::Json => {
            let schema = columns.unwrap_or_else(|| Schema::new(vec![]));
            write!(out, "{{\"columns\":{},\"rows\":[", rows::columns(&schema)).map_err(gone)?;
            let mut first = true;
            let tag = source.each(&session, |batch| {
                let was_first = first;
                first &= batch.rows == 0;
                rows::write(batch, &schema, was_first, out).map_err(gone)
            })?;
            let notices: Vec<&str> = source.warning().into_iter().collect();
            drop(source);
            let total = begun.elapsed();
            let planning = server.database.query_trace(number).map_or(opened, |trace| trace.planning);
            let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
            let rest = json!({
                "tag": tag,
                "query": number,
                "notices": notices,
                "milliseconds": {
                    "planning": milliseconds(planning.min(total)),
                    "execution": milliseconds(total.saturating_sub(planning)),
                },
            });
            // Goes on in the object that has been begun.
            write!(out, "],{}", rest.to_string().trim_start_matches('{')).map_err(gone)
        }
        Form::File(format) => {
            let Some(schema) = columns else { return source.each(&session, |_| Ok(())).map(|_| ()) };
            let mut writer: Box<dyn BatchWriter + '_> =
                formats::write::writer(format, &schema, &mut *out).map_err(gone)?;
            source.each(&session, |batch| writer.write(batch).map_err(gone))?;
            writer.finish().map_err(gone)
        }
    })
}

/// What is written and not taken, or cannot be written in this form.
fn gone(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Error::new(SqlState::QueryCanceled, "the client has gone away"),
        io::ErrorKind::OutOfMemory => Error::new(SqlState::OutOfMemory, error.to_string()),
        _ => {
            Error::new(SqlState::FeatureNotSupported, format!("rows cannot be written in this form: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_what_the_client_likes_best() {
        for (accept, expected) in [
            ("", Some("application/json")),
            ("*/*", Some("application/json")),
            ("text/csv", Some("text/csv")),
            ("text/html, text/*;q=0.5", Some("text/csv")),
            (
                "application/json;q=0.1, application/vnd.apache.arrow.stream",
                Some("application/vnd.apache.arrow.stream"),
            ),
            ("APPLICATION/VND.APACHE.PARQUET", Some("application/vnd.apache.parquet")),
            ("text/html", None),
            ("text/csv;q=0", None),
        ] {
            assert_eq!(form_of(accept).map(|(name, _)| name), expected, "{accept}");
        }
    }
}
