//! `/v1/statements`: statements that are begun, watched, read page by page and let go.
//!
//! A statement is its role's: others are told that there is none. One that nobody asks for goes after some minutes, and
//! is cancelled where it still runs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use engine::{Error, Result, Session, SqlState};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use types::zone;

use super::activity::{event, events};
use super::connections::{Connection, too_many};
use super::fault::{Fault, answer};
use super::guard::Role;
use super::held::{Held, Stage};
use super::serve::reaches;
use super::source::Source;
use super::streamed::Piece;
use super::{Http, drawn, request};
use crate::server::{Phase, Shared};

/// Statements at a time.
const STATEMENTS_MAX: usize = 500;
/// A statement that nobody has asked for so long is let go.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// Between two looks for such.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How long a beginning waits for columns or an error, which most statements have at once.
const BEGIN_PATIENCE: Duration = Duration::from_millis(100);
/// How long a request for rows waits for them.
const ROWS_PATIENCE: Duration = Duration::from_secs(1);
/// Rows of one answer.
const ROWS_MAX: u64 = 1000;
/// Between two events.
const EVENTS_EVERY: Duration = Duration::from_millis(100);
/// All results that are held have this share of the memory limit.
const MEMORY_SHARE: u64 = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    sql: String,
    #[serde(default)]
    parameters: Vec<Box<RawValue>>,
    connection: Option<String>,
}

/// `POST /v1/statements`: begins a statement.
pub async fn begin(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    request: Request,
) -> std::result::Result<Response, Fault> {
    let Begin { sql, parameters, connection } = request::body(request).await?;
    let statements = &http.statements;
    let connection = match connection {
        Some(name) if name.len() > 200 => {
            let message = "the name of a connection has at most 200 bytes";
            return Err(Fault::new(StatusCode::BAD_REQUEST, SqlState::InvalidParameterValue, message));
        }
        Some(name) => statements.connections.named(&role, &name)?,
        None => Arc::default(),
    };
    let held = Arc::new(Held::new(&role, &sql, &statements.bytes));
    let id = format!("s{}", statements.last.fetch_add(1, Ordering::Relaxed) + 1);
    {
        let mut all = statements.lock();
        if all.len() >= STATEMENTS_MAX {
            return Err(too_many("there are too many statements whose results are held"));
        }
        all.insert(id.clone(), held.clone());
    }
    let (server, work, of) = (http.server.clone(), held.clone(), connection.clone());
    let job = move || run(&server, &of, &work, &parameters);
    if let Err(fault) = connection.submit(&http.server, Box::new(job)) {
        statements.lock().remove(&id);
        return Err(fault);
    }
    let mut version = held.watch();
    let opens = version.wait_for(|version| *version > 0);
    let _ = tokio::time::timeout(BEGIN_PATIENCE, opens).await.is_ok();
    let (stage, _) = held.place();
    if let (Stage::Failed, Some(error)) = (stage, held.error()) {
        statements.lock().remove(&id);
        return Ok(answer(StatusCode::BAD_REQUEST, &json!({ "error": error })));
    }
    Ok(answer(StatusCode::OK, &held.begun(&id)))
}

/// Runs a statement and keeps its rows.
fn run(server: &Shared, connection: &Connection, held: &Held, parameters: &[Box<RawValue>]) {
    let mut cut = false;
    let mut query = 0;
    let outcome = connection.session(server, &held.role).and_then(|session| {
        held.cancel.watch(&session);
        held.begin(&session);
        let before = session.last_query();
        let outcome = fetch(server, &session, held, parameters, &mut cut);
        held.cancel.forget();
        query = Some(session.last_query()).filter(|last| *last > before).unwrap_or_default();
        outcome
    });
    let trace = server.database.query_trace(query);
    let told = trace.as_ref().and_then(|trace| drawn::of_trace(trace));
    held.end(&outcome, cut, trace.map(|trace| trace.planning), told);
}

fn fetch(
    server: &Shared,
    session: &Arc<Session>,
    held: &Held,
    parameters: &[Box<RawValue>],
    cut: &mut bool,
) -> Result<String> {
    let cancelled = || Error::new(SqlState::QueryCanceled, "canceling statement due to user request");
    if held.cancel.is_raised() {
        return Err(cancelled());
    }
    let mut source = Source::open(session, &held.sql, parameters)?;
    held.open(source.columns(), source.time_zone(), source.warning());
    let bytes_max = server.database.memory_limit() / MEMORY_SHARE;
    zone::within(source.time_zone(), || {
        source.each(session, |batch| {
            if held.cancel.is_raised() {
                return Err(cancelled());
            }
            match held.push(batch.clone(), bytes_max) {
                true => Ok(()),
                false => {
                    *cut = true;
                    Err(cancelled())
                }
            }
        })
    })
}

/// `DELETE /v1/statements/…`: stops a statement where it runs, and lets its result go.
pub async fn end(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    Path(id): Path<String>,
) -> std::result::Result<Response, Fault> {
    let held = http.statements.find(&role, &id)?;
    let runs = !held.place().0.is_end();
    held.cancel.raise();
    // Who watches one that runs is told of its end; then it idles.
    let watched = runs && held.is_watched();
    if !watched {
        http.statements.lock().remove(&id);
    }
    Ok(answer(StatusCode::OK, &json!({})))
}

/// A number in an address's query.
fn number(request: &Request, name: &str, otherwise: u64) -> std::result::Result<u64, Fault> {
    let pairs = request.uri().query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let given = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next();
    given.map_or(Ok(otherwise), |text| {
        text.parse().map_err(|_| {
            let message = format!("{name} is no number");
            Fault::new(StatusCode::BAD_REQUEST, SqlState::InvalidParameterValue, message)
        })
    })
}

/// `GET /v1/statements/…/rows?from=0&count=200`: rows of a result.
pub async fn rows_of(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    Path(id): Path<String>,
    request: Request,
) -> std::result::Result<Response, Fault> {
    let held = http.statements.find(&role, &id)?;
    let (from, count) = (number(&request, "from", 0)?, number(&request, "count", 200)?.min(ROWS_MAX));
    let mut version = held.watch();
    let comes = version.wait_for(|_| held.has(from));
    let _ = tokio::time::timeout(ROWS_PATIENCE, comes).await.is_ok();
    let mut response = Response::new(Body::from(held.rows(from, count)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// `GET /v1/statements/…/events`: its plan, its progress and its end as server-sent events.
pub async fn events_of(
    State(http): State<Arc<Http>>,
    Extension(Role(role)): Extension<Role>,
    Path(id): Path<String>,
) -> std::result::Result<Response, Fault> {
    let held = http.statements.find(&role, &id)?;
    let (sender, response) = events();
    let mut phase = http.server.phase.subscribe();
    tokio::spawn(async move {
        let mut version = held.watch();
        let mut told = None;
        loop {
            // Before it is told: an end that comes meanwhile is told in the next turn.
            let is_end = held.place().0.is_end();
            let (plan, progress) = held.progress(&http.server.database);
            let mut all = vec![];
            if let Some(plan) = plan.filter(|plan| told.as_ref() != Some(plan)) {
                all.push(event(Some("plan"), &plan));
                told = Some(plan);
            }
            all.push(event(Some("progress"), &progress));
            if is_end {
                all.push(event(Some("end"), &held.ended()));
                all.push(Piece::End);
            }
            for piece in all {
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
            if is_end {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(EVENTS_EVERY) => {}
                () = sender.closed() => return,
                _ = version.wait_for(|_| held.place().0.is_end()) => {}
                () = reaches(&mut phase, Phase::Stopping) => return,
            }
        }
    });
    Ok(response)
}

/// Lets go of what nobody asks for, as long as the server is there.
pub async fn sweep(http: Weak<Http>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(http) = http.upgrade() else { return };
        let statements = &http.statements;
        let mut gone: Vec<Arc<Held>> = vec![];
        statements.lock().retain(|_, held| {
            let idle = held.idle() > IDLE_MAX;
            if idle {
                gone.push(held.clone());
            }
            !idle
        });
        gone.iter().for_each(|held| held.cancel.raise());
        let connections = statements.connections.idle();
        // Memory and transactions are given back by a thread that may take its time.
        let _ = http.server.openings.submit(true, Box::new(move || drop((gone, connections))));
    }
}
