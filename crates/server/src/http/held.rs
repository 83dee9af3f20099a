//! A statement whose result is held: how far it is, and its rows.
//!
//! ```text
//!  queued -> planning -> running -> finished | failed | cancelled
//! ```
//! Rows are kept as the engine's batches. All that are held have a share of the memory limit together; a result that would
//! exceed it ends there, with a notice, and its statement is stopped. Readers wait for the version to change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Batch, Error, Schema, Session, SqlState};
use serde_json::{Value, json};
use tokio::sync::watch;
use types::{Zone, zone};

use super::fault;
use super::jobs::Cancel;
use super::{drawn, rows};

/// Bytes of rows of all results that are held.
#[derive(Default)]
pub struct HeldBytes(AtomicU64);

/// A statement and its result.
pub struct Held {
    /// Whose it is: nobody else sees it.
    pub role: String,
    /// Its text.
    pub sql: String,
    /// Stops it.
    pub cancel: Cancel,
    state: Mutex<State>,
    version: watch::Sender<u64>,
    bytes: Arc<HeldBytes>,
}

struct State {
    stage: Stage,
    session: Option<Arc<Session>>,
    /// The session's last query before this statement.
    before: u64,
    query: Option<u64>,
    columns: Option<Schema>,
    zone: Zone,
    /// Batches, each with the number of its first row.
    batches: Vec<(u64, Batch)>,
    known: u64,
    bytes: u64,
    begun: Instant,
    elapsed: Option<Duration>,
    planning: Option<Duration>,
    tag: String,
    notices: Vec<String>,
    error: Option<Value>,
    plan: Option<Value>,
    operators: Value,
    touched: Instant,
}

/// How far a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its job has not begun.
    Queued,
    /// No rows have come, nor is it known which.
    Begun,
    /// Its columns are known.
    Opened,
    /// It has ended well.
    Finished,
    /// It has not.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl Stage {
    /// Whether nothing comes any more.
    pub fn is_end(self) -> bool {
        matches!(self, Stage::Finished | Stage::Failed | Stage::Cancelled)
    }
}

impl Held {
    /// A statement that waits for its job.
    pub fn new(role: &str, sql: &str, bytes: &Arc<HeldBytes>) -> Held {
        let now = Instant::now();
        let state = State {
            stage: Stage::Queued,
            session: None,
            before: 0,
            query: None,
            columns: None,
            zone: Zone::Utc,
            batches: vec![],
            known: 0,
            bytes: 0,
            begun: now,
            elapsed: None,
            planning: None,
            tag: String::new(),
            notices: vec![],
            error: None,
            plan: None,
            operators: json!([]),
            touched: now,
        };
        Held {
            role: role.to_owned(),
            sql: sql.to_owned(),
            cancel: Cancel::default(),
            state: Mutex::new(state),
            version: watch::Sender::new(0),
            bytes: bytes.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Tells when something has come.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The job has begun, on this session.
    pub fn begin(&self, session: &Arc<Session>) {
        let mut state = self.lock();
        (state.stage, state.before, state.session) =
            (Stage::Begun, session.last_query(), Some(session.clone()));
    }

    /// The columns are known; `None` where there are no rows.
    pub fn open(&self, columns: Option<Schema>, zone: Zone, notice: Option<&str>) {
        let mut state = self.lock();
        (state.stage, state.zone) = (Stage::Opened, zone);
        state.columns = Some(columns.unwrap_or_else(|| Schema::new(vec![])));
        state.notices.extend(notice.map(str::to_owned));
        state.note_query();
        drop(state);
        self.changed();
    }

    /// Keeps rows; false where there is no room for them.
    pub fn push(&self, batch: Batch, bytes_max: u64) -> bool {
        let bytes = batch.bytes() as u64;
        if self.bytes.0.fetch_add(bytes, Ordering::AcqRel) + bytes > bytes_max {
            self.bytes.0.fetch_sub(bytes, Ordering::AcqRel);
            return false;
        }
        let mut state = self.lock();
        state.bytes += bytes;
        let (first, rows) = (state.known, batch.rows as u64);
        state.batches.push((first, batch));
        state.known += rows;
        drop(state);
        self.changed();
        true
    }

    /// The statement has ended, and its trace is there.
    pub fn end(
        &self,
        outcome: &Result<String, Error>,
        cut: bool,
        planning: Option<Duration>,
        told: Option<(Value, Value)>,
    ) {
        let mut state = self.lock();
        state.note_query();
        (state.elapsed, state.planning, state.session) = (Some(state.begun.elapsed()), planning, None);
        match outcome {
            _ if cut => {
                let rows = state.known;
                state.tag = format!("SELECT {rows}");
                state.notices.push(format!(
                    "Only the first {rows} rows are held: more would exceed the memory that results may have. Export the result for all of them."
                ));
                state.stage = Stage::Finished;
            }
            Ok(tag) => (state.stage, state.tag) = (Stage::Finished, tag.clone()),
            Err(error) => {
                let is_cancel = error.state() == SqlState::QueryCanceled;
                state.stage = if is_cancel { Stage::Cancelled } else { Stage::Failed };
                state.error = Some(fault::described(error, &self.sql));
            }
        }
        if let Some((plan, operators)) = told {
            (state.plan, state.operators) = (Some(plan), operators);
        }
        drop(state);
        self.changed();
    }

    /// Where the statement is, and the number of its query once it has one.
    pub fn place(&self) -> (Stage, Option<u64>) {
        let mut state = self.lock();
        state.touched = Instant::now();
        state.note_query();
        (state.stage, state.query)
    }

    /// What the beginning is answered with.
    pub fn begun(&self, id: &str) -> Value {
        let state = self.lock();
        json!({
            "statement": id,
            "query": state.query,
            "columns": state.columns.as_ref().map(rows::columns),
            "notices": state.notices,
        })
    }

    /// The error that it has ended with.
    pub fn error(&self) -> Option<Value> {
        self.lock().error.clone()
    }

    /// Whether rows from here on are there, or none will come.
    pub fn has(&self, from: u64) -> bool {
        let state = self.lock();
        state.stage.is_end() || state.known > from
    }

    /// Rows as JSON; the text of the whole answer.
    pub fn rows(&self, from: u64, count: u64) -> String {
        let mut state = self.lock();
        state.touched = Instant::now();
        let empty = Schema::new(vec![]);
        let columns = state.columns.as_ref().unwrap_or(&empty);
        let until = from.saturating_add(count).min(state.known);
        let mut out = format!("{{\"from\":{from},\"rows\":[").into_bytes();
        let mut first = true;
        // The batch that has the first row, or the one before it.
        let begin = state.batches.partition_point(|(first, _)| *first <= from).saturating_sub(1);
        zone::within(state.zone, || {
            for (at, batch) in &state.batches[begin..] {
                let skipped = from.saturating_sub(*at).min(batch.rows as u64);
                let wanted = until.saturating_sub(at + skipped).min(batch.rows as u64 - skipped);
                if *at >= until {
                    break;
                }
                if wanted > 0 {
                    let part = batch.slice(skipped as usize, wanted as usize);
                    // A vector takes whatever is written.
                    let _ = rows::write(&part, columns, first, &mut out);
                    first = false;
                }
            }
        });
        let told = state.columns.as_ref().map(rows::columns).unwrap_or_default();
        let rest = json!({ "columns": told, "known": state.known, "complete": state.stage.is_end() });
        out.extend_from_slice(b"],");
        out.extend_from_slice(rest.to_string().trim_start_matches('{').as_bytes());
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Its plan as far as it is known, and its progress.
    pub fn progress(&self, database: &engine::Database) -> (Option<Value>, Value) {
        let mut state = self.lock();
        state.touched = Instant::now();
        state.note_query();
        let running = state
            .query
            .filter(|_| !state.stage.is_end())
            .and_then(|query| database.queries().into_iter().find(|status| status.id.0 == query));
        if let (Some(_), Some(session)) = (&running, &state.session) {
            let segments = session.progress_watch().segments();
            if !segments.is_empty() {
                let (plan, operators) = drawn::of_segments(&segments);
                (state.plan, state.operators) = (Some(plan), operators);
            }
        }
        let name = match (state.stage, &running) {
            (Stage::Finished, _) => "finished",
            (Stage::Failed, _) => "failed",
            (Stage::Cancelled, _) => "cancelled",
            (Stage::Queued, _) => "queued",
            (_, Some(status)) => match status.state.name() {
                "suspended" => "paused",
                // Its rows are on their way.
                "planning" if state.stage == Stage::Opened => "running",
                name => name,
            },
            (_, None) => "running",
        };
        let fraction = match (state.stage, &running) {
            (Stage::Finished, _) => Some(1.0),
            (_, Some(status)) if status.progress.segments > 0 => Some(status.progress.fraction()),
            _ => None,
        };
        let elapsed = state.elapsed.unwrap_or_else(|| state.begun.elapsed());
        let progress = json!({
            "state": name,
            "fraction": fraction,
            "elapsed_ms": elapsed.as_secs_f64() * 1e3,
            "rows": state.known,
            "memory_bytes": running.as_ref().map_or(0, |status| status.memory),
            "spilled_bytes": 0,
            "operators": state.operators,
        });
        (state.plan.clone(), progress)
    }

    /// How it has ended.
    pub fn ended(&self) -> Value {
        let state = self.lock();
        let elapsed = state.elapsed.unwrap_or_default();
        let planning = state.planning.unwrap_or_default().min(elapsed);
        let mut end = json!({
            "state": match state.stage {
                Stage::Finished => "finished",
                Stage::Cancelled => "cancelled",
                _ => "failed",
            },
            "tag": state.tag,
            "notices": state.notices,
            "milliseconds": {
                "planning": planning.as_secs_f64() * 1e3,
                "execution": (elapsed - planning).as_secs_f64() * 1e3,
            },
        });
        if let Some(error) = &state.error {
            end["error"] = error.clone();
        }
        end
    }

    /// Whether somebody waits for what comes.
    pub fn is_watched(&self) -> bool {
        self.version.receiver_count() > 0
    }

    /// How long nobody has asked for it.
    pub fn idle(&self) -> Duration {
        self.lock().touched.elapsed()
    }
}

impl State {
    /// Takes the query's number from the session, as soon as it has begun one.
    fn note_query(&mut self) {
        if let Some(session) = &self.session {
            let last = session.last_query();
            if last > self.before {
                self.query = Some(last);
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bytes = self.lock().bytes;
        self.bytes.0.fetch_sub(bytes, Ordering::AcqRel);
    }
}
