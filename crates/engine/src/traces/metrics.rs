//! The metrics of a database: what statements added up to, and what it holds and does now.

use trace::{Family, Kind};

use crate::Database;

/// In an order that does not change.
pub(crate) fn families(database: &Database) -> Vec<Family> {
    let shared = &database.shared;
    let mut families = shared.seen.counters.families();
    let gauge = |name, help, value: f64| Family::single(name, Kind::Gauge, help, value);
    let counter = |name, help, value: u64| Family::single(name, Kind::Counter, help, value as f64);
    let queries = shared.scheduler.query_statuses();
    let states = ["planning", "queued", "running", "paused", "suspended"].map(|state| {
        let count = queries.iter().filter(|query| query.state.name() == state).count();
        (state.to_owned(), count as f64)
    });
    families.push(Family::labelled(
        "quickstep_queries",
        Kind::Gauge,
        "Statements that run or wait, by state.",
        "state",
        states,
    ));
    let workers = shared.scheduler.worker_statuses();
    let working = workers.iter().filter(|worker| worker.order.is_some()).count();
    families.push(gauge(
        "quickstep_workers",
        "Workers that there may be.",
        shared.scheduler.workers() as f64,
    ));
    families.push(gauge("quickstep_workers_busy", "Workers inside a work order.", working as f64));
    families.push(Family::labelled(
        "quickstep_worker_busy_seconds_total",
        Kind::Counter,
        "Time inside work orders, by worker.",
        "worker",
        workers.iter().map(|worker| (worker.worker.0.to_string(), worker.busy_nanoseconds as f64 / 1e9)),
    ));
    let (used, peak) = database.memory_used();
    let pool = database.pool_statistics();
    families.push(gauge("quickstep_memory_limit_bytes", "Memory limit.", database.memory_limit() as f64));
    families.push(gauge("quickstep_memory_used_bytes", "Memory in use.", used as f64));
    families.push(gauge("quickstep_memory_peak_bytes", "The most memory that was in use.", peak as f64));
    if let Some(resident) = memory::resident_bytes() {
        families.push(gauge("quickstep_process_resident_bytes", "Memory of the process.", resident as f64));
    }
    families.push(gauge(
        "quickstep_pool_resident_bytes",
        "Columns of blocks in memory.",
        pool.resident_bytes as f64,
    ));
    families.push(gauge(
        "quickstep_pool_temporary_bytes",
        "Columns of blocks in temporary files.",
        pool.file_bytes as f64,
    ));
    for (name, help, value) in [
        ("quickstep_pool_hits_total", "Columns of blocks found in memory.", pool.hits),
        ("quickstep_pool_reads_total", "Columns of blocks read from files.", pool.reads),
        ("quickstep_pool_read_bytes_total", "Bytes of blocks read from files.", pool.read_bytes),
        ("quickstep_pool_evictions_total", "Columns of blocks that left memory.", pool.evictions),
        ("quickstep_pool_evicted_bytes_total", "Bytes of blocks that left memory.", pool.evicted_bytes),
        ("quickstep_pool_written_bytes_total", "Bytes of blocks written when they left.", pool.written_bytes),
    ] {
        families.push(counter(name, help, value));
    }
    let (traces, bytes) = shared.seen.history.size();
    families.push(gauge("quickstep_traces", "Traces of finished queries that are kept.", traces as f64));
    families.push(gauge("quickstep_trace_bytes", "Memory that these take, about.", bytes as f64));
    families
}
