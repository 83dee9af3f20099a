//! The rows of `quickstep_query_history()`, `quickstep_slow_queries()`, `quickstep_query_plans()`,
//! `quickstep_work_orders()` and `quickstep_metrics()`: what queries that have ended left.
//!
//! Called when a statement that names one of them is bound (`system`): the rows are those of that moment. Times are
//! milliseconds, sizes bytes. Without the right to monitor a role sees its own queries alone.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use trace::QueryTrace;
use types::{Field, Type, Value};

use super::queries::{milliseconds, real};
use super::{count, maybe, nullable, number, text, truth};
use crate::Database;

fn of_nanoseconds(nanoseconds: u64) -> Value {
    Value::F64(nanoseconds as f64 / 1e6)
}

pub(super) fn history_fields() -> Vec<Field> {
    vec![
        number("id"),
        number("session"),
        Field::new("began", Type::TimestampTz, false),
        text("state"),
        real("total_ms"),
        real("planning_ms"),
        truth("kept_plan"),
        real("execution_ms"),
        real("cpu_ms"),
        real("queued_ms"),
        real("waited_ms"),
        real("held_ms"),
        number("rows"),
        number("work_orders"),
        number("memory_peak_bytes"),
        number("memory_expected_bytes"),
        number("priority"),
        number("workers"),
        nullable(real("worst_q_error")),
        nullable(text("sqlstate")),
        nullable(text("error")),
        text("query"),
        text("summary"),
    ]
}

/// Rows of the statements that have ended and are still kept.
pub(super) fn history(database: &Database) -> Vec<Vec<Value>> {
    database.shared.seen.history.all().iter().map(|trace| history_row(trace)).collect()
}

/// As `history`, for the slow statements.
pub(super) fn slow(database: &Database) -> Vec<Vec<Value>> {
    database.shared.seen.history.slow().iter().map(|trace| history_row(trace)).collect()
}

fn history_row(trace: &QueryTrace) -> Vec<Value> {
    let began = trace.begun.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let (state, message) = trace.failure.as_ref().map(|(s, m)| (s.as_str(), m.as_str())).unzip();
    let (waited, held) = trace.waited();
    vec![
        count(trace.id),
        count(trace.session),
        count(u64::try_from(began).unwrap_or(u64::MAX)),
        Value::text(trace.state()),
        milliseconds(trace.total),
        milliseconds(trace.planning),
        Value::Bool(trace.kept_plan),
        of_nanoseconds(trace.execution()),
        milliseconds(trace.cpu),
        of_nanoseconds(trace.queued()),
        of_nanoseconds(waited),
        of_nanoseconds(held),
        count(trace.rows),
        count(trace.work_orders()),
        count(trace.memory_peak),
        count(trace.memory_expected),
        count(trace.priority.into()),
        count(trace.workers as u64),
        trace.worst_estimate().map_or(Value::Null, |(worst, _)| Value::F64(worst)),
        maybe(state),
        maybe(message),
        Value::text(&trace.text),
        Value::text(&trace::summary(trace)),
    ]
}

pub(super) fn plans_fields() -> Vec<Field> {
    vec![
        number("query_id"),
        number("part"),
        text("part_name"),
        number("node"),
        nullable(number("parent")),
        number("depth"),
        text("operator"),
        text("title"),
        real("estimated_rows"),
        number("rows"),
        nullable(real("q_error")),
        number("work_orders"),
        nullable(real("busy_ms")),
        number("bytes"),
        text("notes"),
    ]
}

/// A row for each node of each plan that ran.
pub(super) fn plans(database: &Database) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for trace in database.shared.seen.history.all() {
        for (at, part) in trace.parts.iter().enumerate() {
            for (position, node) in part.nodes().iter().enumerate() {
                let Some(did) = &node.did else { continue };
                let mut notes = plan::explain::facts(&node.told, did);
                notes.extend(node.told.remarks.iter().cloned());
                rows.push(vec![
                    count(trace.id),
                    count(at as u64),
                    Value::text(&part.title),
                    count(position as u64),
                    node.told.parent.map_or(Value::Null, |parent| count(parent as u64)),
                    count(node.told.depth as u64),
                    Value::text(node.told.kind()),
                    Value::text(&node.told.title),
                    Value::F64(node.told.estimated_rows),
                    count(did.rows),
                    node.q_error().map_or(Value::Null, Value::F64),
                    count(did.work_orders),
                    if part.timed { of_nanoseconds(did.nanoseconds) } else { Value::Null },
                    count(did.bytes),
                    Value::text(&notes.join("; ")),
                ]);
            }
        }
    }
    rows
}

pub(super) fn orders_fields() -> Vec<Field> {
    vec![
        number("query_id"),
        number("part"),
        number("segment"),
        text("operators"),
        number("worker"),
        real("start_ms"),
        real("end_ms"),
        real("waited_ms"),
        real("held_ms"),
        number("orders"),
        number("units"),
        number("rows"),
        number("bytes"),
        number("memory_bytes"),
    ]
}

/// A row for each work order; moments are counted from the beginning of the statement.
pub(super) fn orders(database: &Database) -> Vec<Vec<Value>> {
    let of = |trace: Arc<QueryTrace>| {
        let mut rows = Vec::new();
        for (at, part) in trace.parts.iter().enumerate() {
            // One text for all rows of a segment.
            let names: Vec<Value> = part.segments.iter().map(|segment| Value::text(&segment.name)).collect();
            for order in &part.orders {
                rows.push(vec![
                    count(trace.id),
                    count(at as u64),
                    count(u64::from(order.segment.0)),
                    names.get(order.segment.index()).cloned().unwrap_or(Value::Null),
                    count(u64::from(order.worker.0)),
                    of_nanoseconds(part.begun + order.started),
                    of_nanoseconds(part.begun + order.ended),
                    of_nanoseconds(order.waited),
                    of_nanoseconds(order.held),
                    count(order.orders),
                    count(order.units),
                    count(order.rows),
                    count(order.bytes),
                    Value::I64(order.grown),
                ]);
            }
        }
        rows
    };
    database.shared.seen.history.all().into_iter().flat_map(of).collect()
}

pub(super) fn metrics_fields() -> Vec<Field> {
    vec![text("name"), text("kind"), nullable(text("labels")), real("value"), text("help"), truth("is_total")]
}

/// A row for each value of each metric.
pub(super) fn metrics(database: &Database) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for family in crate::traces::families(database) {
        for sample in &family.samples {
            let labels: Vec<String> =
                sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            rows.push(vec![
                Value::text(&format!("{}{}", family.name, sample.suffix)),
                Value::text(family.kind.name()),
                if labels.is_empty() { Value::Null } else { Value::text(&labels.join(", ")) },
                Value::F64(sample.value),
                Value::text(family.help),
                Value::Bool(family.kind != trace::Kind::Gauge),
            ]);
        }
    }
    rows
}
