//! Events for subscribers (crate `tracing`). Without a subscriber nothing is formatted, and next to nothing done.
//!
//! | target | level | event |
//! | --- | --- | --- |
//! | `quickstep::statement` | debug | a statement begins |
//! | `quickstep::statement` | info | it has ended; failed ones with state and message |
//! | `quickstep::slow` | warn | it took longer than `slow_query_threshold` |
//! | `quickstep::storage` | info | a database was opened, recovered, checkpointed; warn where that failed |
//! | `quickstep::spill` | debug | an operator put rows into files (crate `operators`) |
//! | `quickstep::load` | debug, info | the load controller lets in, sets aside, lets go on (crate `scheduler`) |

use std::sync::Arc;
use std::time::Duration;

use catalog::OpenReport;
use trace::QueryTrace;
use types::Result;

use super::{StatementTrace, trimmed};

/// The event of a statement that begins, its text without secrets.
pub(super) fn log_begin(begun: &StatementTrace) {
    let query = &begun.query;
    tracing::debug!(
        target: "quickstep::statement",
        query = query.id().0,
        session = query.session(),
        priority = query.priority(),
        text = &*without_secrets(query.text()),
        "statement begins"
    );
}

/// The event of a statement that has ended; `slow`: it took longer than the threshold.
pub(super) fn log_end(trace: &QueryTrace, slow: bool) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (state, message) = trace.failure.as_ref().map(|(s, m)| (s.as_str(), m.as_str())).unzip();
    tracing::info!(
        target: "quickstep::statement",
        query = trace.id,
        session = trace.session,
        state = trace.state(),
        milliseconds = milliseconds(trace.total),
        planning_milliseconds = milliseconds(trace.planning),
        cpu_milliseconds = milliseconds(trace.cpu),
        rows = trace.rows,
        work_orders = trace.work_orders(),
        memory_peak_bytes = trace.memory_peak,
        sqlstate = state,
        error = message,
        text = &*trace.text,
        "statement ended"
    );
    if slow {
        tracing::warn!(
            target: "quickstep::slow",
            query = trace.id,
            session = trace.session,
            milliseconds = milliseconds(trace.total),
            summary = trace::summary(trace),
            "slow statement"
        );
    }
}

/// A database on disk was opened.
pub(crate) fn log_opened(place: &str, report: &OpenReport) {
    for (log, at, bytes) in &report.torn {
        tracing::warn!(
            target: "quickstep::storage",
            database = place, log = %log, at = %at, bytes = %bytes,
            "recovery cut off a record that was not finished"
        );
    }
    for damaged in &report.damaged {
        tracing::warn!(
            target: "quickstep::storage",
            database = place, schema = %damaged.schema, table = %damaged.name, error = damaged.error.message(),
            "a table cannot be read"
        );
    }
    tracing::info!(
        target: "quickstep::storage",
        database = place, torn = report.torn.len(), damaged = report.damaged.len(),
        "database opened"
    );
}

/// A checkpoint was made, or was not.
pub(crate) fn log_checkpoint(place: &str, took: Duration, outcome: &Result<()>) {
    let milliseconds = took.as_secs_f64() * 1e3;
    match outcome {
        Ok(()) => tracing::info!(target: "quickstep::storage", database = place, milliseconds, "checkpoint"),
        Err(error) => tracing::warn!(
            target: "quickstep::storage",
            database = place, milliseconds, error = error.message(),
            "checkpoint failed; the log still has everything"
        ),
    }
}

/// The text of a query, which bears no passwords, as it may be kept and logged.
pub(super) fn of_query(text: &Arc<str>) -> Arc<str> {
    match text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("set")) {
        true => without_secrets(text),
        false => Arc::clone(text),
    }
}

/// A statement's text as it may be kept and logged: values of settings may be keys to other people's stores.
pub(super) fn without_secrets(text: &str) -> Arc<str> {
    let text = trimmed(text);
    let first = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if first.eq_ignore_ascii_case("set") {
        let lower = text.to_ascii_lowercase();
        if ["secret", "password", "token", "key"].iter().any(|word| lower.contains(word)) {
            let name = text.find('=').or_else(|| lower.find(" to ")).unwrap_or(first.len());
            return format!("{} = ...", text[..name].trim_end()).into();
        }
    }
    // Passwords, and the options of secrets.
    (&*sql::secrets::masked(text)).into()
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn keys_are_not_kept() {
        for (text, kept) in [
            ("SELECT 1;", "SELECT 1"),
            ("SET s3_secret_access_key = 'hidden'", "SET s3_secret_access_key = ..."),
            ("set s3_session_token TO 'hidden'", "set s3_session_token = ..."),
            ("SET s3_secret 'hidden'", "SET = ..."),
            ("SET workers = 2", "SET workers = 2"),
            ("CREATE ROLE a PASSWORD 'hidden'", "CREATE ROLE a PASSWORD ********"),
            ("SET workers = 2; ALTER ROLE a PASSWORD 'hidden'", "SET workers = ..."),
            ("", ""),
        ] {
            assert_eq!(&*without_secrets(text), kept);
        }
    }
}
