//! Plans and work orders of queries, in the page's form.
//!
//! While a query runs its plan is that of pipeline segments, which is what the scheduler knows (ids `s0`, `s1`, …). When
//! it has ended it is that of operators, with what EXPLAIN ANALYZE knows of each (ids `0.3`: part and node).

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::{OperatorStatus, QueryTrace, SqlState};
use serde_json::{Value, json};

use super::Http;
use super::fault::{Fault, answer};
use super::guard::{self, Role};

/// Work orders that one answer has at most.
const ORDERS_MAX: usize = 50_000;

/// The plan of a query that runs, and how far its segments are.
pub fn of_segments(segments: &[(OperatorStatus, Option<usize>)]) -> (Value, Value) {
    let node = |(status, _): &(OperatorStatus, Option<usize>)| {
        json!({
            "id": format!("s{}", status.segment),
            "label": status.name.split([' ', ',']).next().unwrap_or_default(),
            "detail": status.name,
            "estimated_rows": null,
            "pipeline": status.segment,
        })
    };
    let edge = |(status, into): &(OperatorStatus, Option<usize>)| {
        let into = (*into)?;
        Some(json!({ "from": format!("s{}", status.segment), "to": format!("s{into}"), "kind": "blocks" }))
    };
    let plan = json!({
        "nodes": segments.iter().map(node).collect::<Vec<_>>(),
        "edges": segments.iter().filter_map(edge).collect::<Vec<_>>(),
    });
    (plan, segments.iter().map(|(status, _)| operator(status)).collect())
}

fn operator(status: &OperatorStatus) -> Value {
    json!({
        "id": format!("s{}", status.segment),
        "work_orders": { "done": status.units_done, "running": status.running, "known": status.units_total.max(status.units_done) },
        "rows": status.rows,
        "busy_ms": status.busy.as_secs_f64() * 1e3,
        "dropped": [],
    })
}

/// The plan of a query that has ended, and what its operators did; `None` for one without.
pub fn of_trace(trace: &QueryTrace) -> Option<(Value, Value)> {
    let (mut nodes, mut edges, mut operators) = (vec![], vec![], vec![]);
    for (at, part) in trace.parts.iter().enumerate().filter(|(_, part)| part.metrics.is_some()) {
        let id = |node: usize| format!("{at}.{node}");
        for (place, node) in part.nodes().iter().enumerate() {
            let told = &node.told;
            let kind = told.kind();
            let label = match (kind, told.title.split(' ').nth(1)) {
                ("TableScan", Some(table)) => format!("Scan {table}"),
                _ => kind.to_owned(),
            };
            nodes.push(json!({
                "id": id(place),
                "label": label,
                "detail": told.title,
                "estimated_rows": told.estimated_rows.max(0.0).round() as u64,
                "pipeline": null,
            }));
            if let Some(parent) = told.parent {
                edges.push(json!({ "from": id(place), "to": id(parent), "kind": "stream" }));
            }
            let did = node.did.clone().unwrap_or_default();
            let dropped = did.notes.iter().filter_map(|(name, note)| dropped(name, note));
            operators.push(json!({
                "id": id(place),
                "work_orders": { "done": did.work_orders, "running": 0, "known": did.work_orders },
                "rows": did.rows,
                "busy_ms": did.nanoseconds as f64 / 1e6,
                "dropped": dropped.collect::<Vec<_>>(),
            }));
        }
    }
    (!nodes.is_empty()).then(|| (json!({ "nodes": nodes, "edges": edges }), Value::Array(operators)))
}

/// What a filter dropped, where a node's note is of one: `filter 0 from orders`, `tested 60,175, dropped 51,048`.
fn dropped(name: &str, note: &str) -> Option<Value> {
    if !name.starts_with("filter") {
        return None;
    }
    let digits = note.split("dropped ").nth(1)?;
    let digits: String =
        digits.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
    Some(json!({ "filter": name, "rows": digits.parse::<u64>().ok()? }))
}

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
    guard::superuser(&http, &role)?;
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
    guard::superuser(&http, &role)?;
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
