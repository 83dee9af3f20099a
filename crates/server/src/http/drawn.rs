//! Plans of queries that run and that have ended, as JSON.

use engine::{OperatorStatus, QueryTrace};
use serde_json::{Value, json};

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
