//! The rows of `quickstep_queries()`, `quickstep_operators()`, `quickstep_workers()` and `quickstep_memory()`: what
//! runs, as it is when the statement that asks is planned.
//!
//! Called when a statement that names one of them is bound (`system`). Nothing is locked for longer than a copy of
//! the counters takes, so that looking does not slow what is looked at.

use std::time::Duration;

use types::{Field, Type, Value};

use super::{count, maybe, nullable, number, text};
use crate::Database;

pub(super) fn real(name: &str) -> Field {
    Field::new(name, Type::Double, false)
}
pub(super) fn milliseconds(time: Duration) -> Value {
    Value::F64(time.as_secs_f64() * 1e3)
}
/// `u64::MAX` stands for no limit.
fn limit(value: u64) -> Value {
    if value == u64::MAX { Value::Null } else { count(value) }
}

pub(super) fn queries_fields() -> Vec<Field> {
    vec![
        number("id"),
        number("session"),
        text("role"),
        text("state"),
        number("priority"),
        real("share"),
        real("elapsed_ms"),
        real("cpu_ms"),
        real("planning_ms"),
        real("session_cpu_ms"),
        number("memory_bytes"),
        number("memory_peak_bytes"),
        number("memory_expected_bytes"),
        nullable(number("memory_limit_bytes")),
        number("workers"),
        nullable(number("workers_limit")),
        number("orders"),
        number("rows"),
        real("progress"),
        nullable(real("time_left_ms")),
        text("query"),
    ]
}

/// A row for each query that runs or waits.
pub(super) fn queries(database: &Database) -> Vec<Vec<Value>> {
    let statuses = database.shared.scheduler.query_statuses();
    let row = |q: scheduler::QueryStatus| {
        vec![
            count(q.id.0),
            count(q.session),
            Value::text(q.role.as_deref().unwrap_or(crate::roles::DEFAULT_ROLE)),
            Value::text(q.state.name()),
            count(q.priority.into()),
            Value::F64(q.share),
            milliseconds(q.elapsed),
            milliseconds(q.charged),
            milliseconds(q.planning),
            milliseconds(q.account_charged),
            count(q.memory),
            count(q.memory_peak),
            count(q.memory_predicted),
            limit(q.memory_max),
            count(q.workers as u64),
            if q.workers_max >= workorder::WORKERS_MAX { Value::Null } else { count(q.workers_max as u64) },
            count(q.progress.orders),
            count(q.progress.rows),
            Value::F64(q.progress.fraction()),
            q.time_left.map_or(Value::Null, milliseconds),
            Value::text(&q.text),
        ]
    };
    statuses.into_iter().map(row).collect()
}

pub(super) fn operators_fields() -> Vec<Field> {
    vec![
        number("query_id"),
        number("segment"),
        text("operators"),
        text("state"),
        number("orders"),
        number("orders_running"),
        number("units_done"),
        nullable(number("units_total")),
        number("rows"),
        number("memory_bytes"),
        real("busy_ms"),
        real("next_order_ms"),
        nullable(real("time_left_ms")),
    ]
}

/// A row for each segment of the running queries.
pub(super) fn operators(database: &Database) -> Vec<Vec<Value>> {
    let statuses = database.shared.scheduler.operator_statuses();
    let row = |o: scheduler::OperatorStatus| {
        vec![
            count(o.query.0),
            count(o.segment as u64),
            Value::text(&o.name),
            Value::text(o.state.name()),
            count(o.orders),
            count(o.running as u64),
            count(o.units_done),
            if o.units_total == 0 { Value::Null } else { count(o.units_total) },
            count(o.rows),
            Value::I64(o.memory),
            milliseconds(o.busy),
            milliseconds(o.next_order),
            o.time_left.map_or(Value::Null, milliseconds),
        ]
    };
    statuses.into_iter().map(row).collect()
}

pub(super) fn workers_fields() -> Vec<Field> {
    vec![
        number("worker"),
        text("state"),
        nullable(number("query_id")),
        nullable(number("segment")),
        nullable(real("order_ms")),
        number("orders"),
        real("busy_ms"),
    ]
}

/// A row for each worker, with the work order that it executes.
pub(super) fn workers(database: &Database) -> Vec<Vec<Value>> {
    let statuses = database.shared.scheduler.worker_statuses();
    let row = |w: scheduler::WorkerStatus| {
        let [query, segment, since] = match w.order {
            Some((query, segment, nanoseconds)) => {
                let since = milliseconds(Duration::from_nanos(nanoseconds));
                [count(query.0), count(u64::from(segment.0)), since]
            }
            None => [const { Value::Null }; 3],
        };
        vec![
            count(u64::from(w.worker.0)),
            Value::text(if w.order.is_some() { "working" } else { "idle" }),
            query,
            segment,
            since,
            count(w.orders),
            milliseconds(Duration::from_nanos(w.busy_nanoseconds)),
        ]
    };
    statuses.into_iter().map(row).collect()
}

pub(super) fn memory_fields() -> Vec<Field> {
    vec![text("kind"), nullable(number("query_id")), nullable(number("bytes"))]
}

/// What the budget says, and what each query holds of it.
pub(super) fn memory(database: &Database) -> Vec<Vec<Value>> {
    let (used, peak) = database.memory_used();
    let fixed = [
        ("limit", limit(database.memory_limit())),
        ("used", count(used)),
        ("peak", count(peak)),
        ("allocated", count(memory::allocated_bytes())),
        ("arenas", count(memory::arena_bytes())),
        ("blocks resident", count(database.pool_statistics().resident_bytes)),
        ("process resident", memory::resident_bytes().map_or(Value::Null, count)),
    ];
    let mut rows: Vec<Vec<Value>> =
        fixed.into_iter().map(|(kind, bytes)| vec![Value::text(kind), maybe(None), bytes]).collect();
    for query in database.shared.scheduler.queries() {
        rows.push(vec![Value::text("query"), count(query.id().0), count(query.memory())]);
    }
    rows
}
