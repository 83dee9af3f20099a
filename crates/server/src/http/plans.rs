//! Plans and work orders of queries, in the page's form.
//!
//! While a query runs its plan is that of pipeline segments, which is what the scheduler knows (ids `s0`, `s1`, …). When
//! it has ended it is that of operators, with what EXPLAIN ANALYZE knows of each (ids `0.3`: part and node).

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::{OperatorStatus, SqlState};
use serde_json::json;

use super::Http;
use super::drawn::{of_segments, of_trace};
use super::fault::{Fault, answer};
use super::guard::{self, Role};

/// Work orders that one answer has at most.
const ORDERS_MAX: usize = 50_000;

fn unknown(query: u64) -> Fault {
    let message = format!("nothing is known of query {query}");
    let hint = "traces of ended queries are kept as far as trace_memory goes";
    Fault::with_hint(StatusCode::NOT_FOUND, SqlState::UndefinedObject, &message, hint)
}

/// `GET /v1/queries/…/plan`: the plan of a query that has ended and whose trace is kept, or of one that runs.
pub async fn plan(
    State(http): State<Arc<Http>>,
    Extension(role): Extension<Role>,
    Path(query): Path<u64>,
) -> std::result::Result<Response, Fault> {
    guard::monitor(&http, &role)?;
    let database = &http.server.database;
    let (sql, state, told) = if let Some(trace) = database.query_trace(query) {
        (trace.text.to_string(), trace.state(), of_trace(&trace))
    } else {
        let running = database.queries().into_iter().find(|status| status.id.0 == query);
        let running = running.ok_or_else(|| unknown(query))?;
        let segments: Vec<(OperatorStatus, Option<usize>)> =
            database.operators().into_iter().filter(|o| o.query.0 == query).map(|o| (o, None)).collect();
        let told = (!segments.is_empty()).then(|| of_segments(&segments));
        (running.text.to_string(), running.state.name(), told)
    };
    let (plan, operators) = told.ok_or_else(|| unknown(query))?;
    let answered = json!({
        "query": query,
        "sql": sql,
        "state": state,
        "nodes": plan["nodes"],
        "edges": plan["edges"],
        "operators": operators,
    });
    Ok(answer(StatusCode::OK, &answered))
}

/// `GET /v1/queries/…/timeline`: the work orders of a query that has ended, as far as its trace keeps them; one that runs
/// has none yet.
pub async fn timeline(
    State(http): State<Arc<Http>>,
    Extension(role): Extension<Role>,
    Path(query): Path<u64>,
) -> std::result::Result<Response, Fault> {
    guard::monitor(&http, &role)?;
    let database = &http.server.database;
    let Some(trace) = database.query_trace(query) else {
        let runs = database.queries().iter().any(|status| status.id.0 == query);
        let none = json!({ "workers": database.workers(), "orders": [] });
        return if runs { Ok(answer(StatusCode::OK, &none)) } else { Err(unknown(query)) };
    };
    let mut orders = vec![];
    for part in &trace.parts {
        for order in &part.orders {
            orders.push(json!({
                "worker": order.worker.0,
                "operator": part.segments.get(order.segment.0 as usize).map_or("", |segment| segment.name.as_str()),
                "begin_us": (part.begun + order.started) / 1000,
                "end_us": (part.begun + order.ended) / 1000,
                "rows": order.rows,
            }));
        }
    }
    orders.truncate(ORDERS_MAX);
    Ok(answer(StatusCode::OK, &json!({ "workers": trace.workers, "orders": orders })))
}
