//! `GET /v1/activity`: what runs, four times a second, as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Http;
use super::guard::Role;
use super::serve::reaches;
use super::streamed::{Piece, Streamed};
use crate::server::Phase;

/// Between two events.
const EVERY: Duration = Duration::from_millis(250);

/// An answer of events, and where they go.
pub fn events() -> (mpsc::Sender<Piece>, Response) {
    // A reader that is slow gets fewer events.
    let (sender, body) = Streamed::new(None, 1);
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    (sender, response)
}

/// An event's text; one without a name is a `message`.
pub fn event(name: Option<&str>, data: &Value) -> Piece {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    Piece::Bytes(format!("{name}data: {data}\n\n").into())
}

/// Tells what runs until the client goes away or the server stops.
pub async fn activity(State(http): State<Arc<Http>>, Extension(Role(role)): Extension<Role>) -> Response {
    let (sender, response) = events();
    let mut phase = http.server.phase.subscribe();
    tokio::spawn(async move {
        loop {
            let event = event(None, &now(&http, &role));
            let sent = tokio::select! {
                sent = sender.send(event) => sent,
                () = reaches(&mut phase, Phase::Draining) => break,
            };
            if sent.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = sender.closed() => return,
                () = reaches(&mut phase, Phase::Draining) => break,
            }
        }
        let _ = sender.send(Piece::End).await;
    });
    response
}

/// What runs. Superusers and members of pg_monitor see all of it, other roles their own.
fn now(http: &Http, role: &str) -> Value {
    let database = &http.server.database;
    let superuser = http.server.roles.superuser();
    let mut queries = database.queries();
    let monitors = http.server.roles.monitors(role);
    queries.retain(|query| monitors || query.role.as_deref() == Some(role));
    let told = |query: &engine::QueryStatus| {
        json!({
            "query": query.id.0,
            "session": query.session,
            "user": query.role.as_deref().map_or_else(|| superuser.clone(), str::to_owned),
            "text": &*query.text,
            "state": query.state.name(),
            "priority": query.priority,
            "weight": query.priority,
            "cpu_share": query.share,
            "memory_bytes": query.memory,
            "elapsed_ms": query.elapsed.as_secs_f64() * 1e3,
            "progress": query.progress.fraction(),
        })
    };
    json!({
        "queries": queries.iter().map(told).collect::<Vec<_>>(),
        "workers": database.workers(),
        "memory": { "used": database.memory_used().0, "limit": database.memory_limit() },
    })
}
