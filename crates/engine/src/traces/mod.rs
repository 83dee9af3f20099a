//! What finished statements leave: their traces (crate `trace`), counts for metrics, and a line in the log.
//!
//! A statement has a [`StatementTrace`] from its first word to its last row; each plan that runs for it adds a part.
//! When the last reference goes, at the end of the statement or of the thread that streams its rows, it is summed up
//! once: counters, log, history.

mod kept;
mod logs;
mod metrics;
mod procedures;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use operators::QueryContext;
use plan::PhysicalPlan;
use plan::print::NodeMetrics;
use scheduler::{Query, RunRecord};
use trace::{Counters, History, KeptPlan, PartTrace, QueryTrace, SegmentTrace};
use types::Error;

use crate::settings::Settings;

pub(crate) use logs::{log_checkpoint, log_opened};
pub(crate) use metrics::families;
#[cfg(test)]
pub(crate) use procedures::procedures as procedure_names;
pub(crate) use procedures::{is_look, rendered};

/// Bytes of traces that a database keeps, unless told otherwise.
pub(crate) const HISTORY_BYTES: u64 = 32 << 20;
/// And never more than this share of the memory limit.
const MEMORY_SHARE: u64 = 64;
/// Plans of one statement that are kept; a recursion may run thousands.
const PARTS_MAX: usize = 64;

/// What a database has seen.
pub(crate) struct Seen {
    /// Traces of finished statements, the newest, within a bound of bytes.
    pub history: History,
    /// Totals since the database was opened, for metrics.
    pub counters: Counters,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { history: History::new(HISTORY_BYTES), counters: Counters::default() }
    }
}

/// What a running statement leaves so far; see the head of this file.
pub(crate) struct StatementTrace {
    seen: Arc<Seen>,
    query: Arc<Query>,
    begun: Instant,
    date: SystemTime,
    keeps: bool,
    slow: Option<Duration>,
    settings: RunSettings,
    state: Mutex<State>,
}

/// What is added while the statement runs, by any of its threads.
#[derive(Default)]
struct State {
    text: Option<Arc<str>>,
    parts: Vec<PartTrace>,
    parts_left_out: u64,
    rows: u64,
    kept_plan: bool,
    failure: Option<(String, String)>,
}

/// The settings that a statement runs under, those of the database included that decide how.
#[derive(Clone)]
struct RunSettings {
    session: Arc<Settings>,
    workers: usize,
    memory: u64,
    policy: &'static str,
}

impl RunSettings {
    fn listed(&self) -> Vec<(String, String)> {
        let shared = [
            ("workers", self.workers.to_string()),
            ("memory_limit", self.memory.to_string()),
            ("policy", self.policy.to_owned()),
        ];
        let session = self.session.all().into_iter().map(|(name, value, _)| (name, value));
        shared.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(session).collect()
    }
}

impl StatementTrace {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether work orders are to be recorded.
    pub fn records(&self) -> bool {
        self.keeps
    }

    /// The statement's own text, where several were given together.
    pub fn set_text(&self, text: &str) {
        // Mostly it is the text that the query has, which need not be looked through again.
        if trimmed(crate::statement::shortened(text)) != &**self.query.text() {
            self.state().text = Some(logs::without_secrets(crate::statement::shortened(text)));
        }
    }

    /// A plan has run, well or not.
    pub fn note_run(
        &self,
        plan: &Arc<PhysicalPlan>,
        context: &QueryContext,
        record: RunRecord,
        rows: Option<u64>,
    ) {
        let metrics = Arc::clone(&context.metrics);
        let mut state = self.state();
        state.rows = rows.unwrap_or_else(|| metrics.get(plan.id).rows);
        if state.parts.len() >= PARTS_MAX {
            // The first ones stay, and the newest, which may be the query's own.
            state.parts.pop();
            state.parts_left_out += 1;
        }
        let timed = context.settings.analyze;
        let part = part("query", KeptPlan::of(plan), record);
        let root = plan.id;
        let did = move |node| -> NodeMetrics {
            let mut did = metrics.get(node);
            if let Some(rows) = rows.filter(|_| node == root) {
                did.rows = rows;
            }
            did
        };
        state.parts.push(PartTrace { metrics: Some(Arc::new(did)), timed, ..part });
    }

    /// A plan was evaluated where it stands: `rows` has the rows of its nodes by their numbers, the first being the
    /// query's own.
    pub fn note_evaluated(&self, plan: &Arc<PhysicalPlan>, rows: Box<[u64]>, began: Instant, took: Duration) {
        let of = |node: plan::NodeId| rows.get(node.0 as usize).copied().unwrap_or(0);
        let own = of(plan.id);
        let did = move |node: plan::NodeId| NodeMetrics {
            rows: rows.get(node.0 as usize).copied().unwrap_or(0),
            ..NodeMetrics::default()
        };
        let part = PartTrace {
            metrics: Some(Arc::new(did)),
            begun: began.duration_since(self.begun).as_nanos() as u64,
            wall: took.as_nanos() as u64,
            ..PartTrace::planned("query", KeptPlan::of(plan))
        };
        let mut state = self.state();
        state.rows = own;
        state.parts.push(part);
    }

    /// The plan that ran last was not the query's own.
    pub fn name_part(&self, title: &str) {
        if let Some(part) = self.state().parts.last_mut() {
            part.title = title.to_owned();
        }
    }

    /// What the statement says it did: `SELECT 5`, `INSERT 0 3`.
    pub fn note_tag(&self, tag: &str) {
        let last = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
        self.state().rows = last.unwrap_or(0);
    }

    /// What ran so far was in vain, and runs again.
    pub fn begin_anew(&self) {
        self.state().parts.clear();
    }

    /// Its plans were those of an earlier statement.
    pub fn note_kept_plan(&self) {
        self.state().kept_plan = true;
    }

    /// Keeps the statement's first error, by SQLSTATE and message.
    pub fn note_failure(&self, error: &Error) {
        let failure = (error.state().code().to_owned(), error.message().to_owned());
        self.state().failure.get_or_insert(failure);
    }

    fn summed_up(&self) -> QueryTrace {
        let mut state = self.state();
        let settings = self.settings.clone();
        let query = &self.query;
        let nanoseconds = Duration::from_nanos;
        QueryTrace {
            id: query.id().0,
            session: query.session(),
            text: state.text.take().unwrap_or_else(|| logs::of_query(query.text())),
            begun: self.date,
            total: self.begun.elapsed(),
            planning: nanoseconds(query.planning()),
            cpu: nanoseconds(query.charged()),
            priority: query.priority(),
            workers: self.settings.workers,
            memory_peak: query.memory_peak(),
            memory_expected: query.memory_predicted(),
            rows: state.rows,
            kept_plan: state.kept_plan,
            failure: state.failure.take(),
            settings: Arc::new(move || settings.listed()),
            parts: std::mem::take(&mut state.parts),
            parts_left_out: state.parts_left_out,
        }
    }
}

impl Drop for StatementTrace {
    fn drop(&mut self) {
        let trace = self.summed_up();
        let slow = self.slow.is_some_and(|threshold| trace.total >= threshold);
        self.seen.counters.add(&trace, slow);
        logs::log_end(&trace, slow);
        // Statements that ran no plan, such as SET, have nothing to show but their failure.
        if (self.keeps && (!trace.parts.is_empty() || trace.failure.is_some())) || slow {
            self.seen.history.keep(Arc::new(trace), slow, self.settings.memory / MEMORY_SHARE);
        }
    }
}

/// A statement without the blanks around it and the semicolon at its end.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim().trim_end_matches(';').trim_end()
}

/// A run's record as a part.
pub(crate) fn part(title: &str, plan: KeptPlan, record: RunRecord) -> PartTrace {
    let segment = |report: scheduler::SegmentReport| SegmentTrace {
        name: report.name,
        orders: report.orders,
        rows: report.rows,
        bytes: report.bytes,
        busy: report.busy_nanoseconds,
        started: report.started_nanoseconds,
        finished: report.finished_nanoseconds,
    };
    PartTrace {
        begun: record.begun,
        queued: record.queued,
        wall: record.wall,
        segments: record.segments.into_iter().map(segment).collect(),
        orders: record.orders,
        ..PartTrace::planned(title, plan)
    }
}
