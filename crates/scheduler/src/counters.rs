//! What is counted of a run, and where its caller waits: it outlives the run's segments, so that others may look at it at
//! any time. Writers are the run (`query`) and the workers inside of it; every count is read by itself.

use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

use sync::Gate;
use workorder::WorkerId;

use crate::learning::SegmentModel;

/// More orders than any machine has workers.
pub(crate) const MANY: usize = 1 << 20;

/// What outlives the query's segments: counters, and the gate where its caller waits.
pub(crate) struct Counters {
    /// Threads, the caller not counted, that may hold a reference to the query.
    pub(crate) visitors: AtomicUsize,
    pub(crate) gate: Gate,
    /// The caller sleeps because no place was free.
    pub(crate) wants_place: AtomicBool,
    /// A place that was given to the caller, plus one; 0: none.
    pub(crate) granted: AtomicU32,
    /// The query is off the list, and its caller waits for the last visitor.
    pub(crate) closing: AtomicBool,
    /// What can be put away since the query is held was, or is being so.
    pub(crate) put_away: AtomicBool,
    /// The load controller has let it in.
    pub(crate) admitted: AtomicBool,
    pub(crate) finished: AtomicUsize,
    /// Nanoseconds of the scheduler's clock.
    pub(crate) begun: u64,
    pub(crate) segments: Box<[SegmentCounters]>,
}

#[derive(Default)]
pub(crate) struct SegmentCounters {
    pub(crate) name: String,
    pub(crate) orders: AtomicU64,
    pub(crate) running: AtomicUsize,
    pub(crate) units_done: AtomicU64,
    pub(crate) units_total: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) busy_nanoseconds: AtomicU64,
    /// After the start of the run, and never 0 once it happened.
    pub(crate) started_nanoseconds: AtomicU64,
    pub(crate) finished_nanoseconds: AtomicU64,
    pub(crate) model: SegmentModel,
}

impl Counters {
    /// Gives the caller a place; false when it has been given one already.
    pub(crate) fn grant_place(&self, place: WorkerId) -> bool {
        debug_assert!((place.0 as usize) < workorder::WORKERS_MAX, "place {}", place.0);
        self.granted.compare_exchange(0, place.0 + 1, SeqCst, SeqCst).is_ok()
    }

    /// Takes the place that was given to the caller.
    pub(crate) fn granted_place(&self) -> Option<WorkerId> {
        self.granted.swap(0, SeqCst).checked_sub(1).map(WorkerId)
    }

    pub(crate) fn progress(&self) -> Progress {
        let mut progress = Progress {
            segments: self.segments.len() as u64,
            segments_finished: self.finished.load(Relaxed) as u64,
            ..Progress::default()
        };
        for segment in &self.segments {
            let total = segment.units_total.load(Relaxed);
            progress.orders += segment.orders.load(Relaxed);
            progress.rows += segment.rows.load(Relaxed);
            progress.units_total += total;
            progress.units_done += segment.units_done.load(Relaxed).min(total);
        }
        progress
    }

    /// What the work orders still to come will add, as far as the learning agent knows: nanoseconds of one worker, and bytes.
    pub(crate) fn forecast(&self) -> (u64, u64) {
        let (mut nanoseconds, mut bytes) = (0u64, 0u64);
        for segment in &self.segments {
            let left = segment.units_total.load(Relaxed).saturating_sub(segment.units_done.load(Relaxed));
            if left > 0 && segment.finished_nanoseconds.load(Relaxed) == 0 {
                nanoseconds = nanoseconds.saturating_add(segment.model.nanoseconds_of(left).unwrap_or(0));
                bytes = bytes.saturating_add(segment.model.bytes_of(left));
            }
        }
        (nanoseconds, bytes)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Segments in all.
    pub segments: u64,
    /// Segments finished.
    pub segments_finished: u64,
    /// Executions so far.
    pub orders: u64,
    /// Rows counted so far, over all segments.
    pub rows: u64,
    /// Units executed so far in segments whose number of units is known.
    pub units_done: u64,
    /// Units in all of those.
    pub units_total: u64,
}

impl Progress {
    /// The finished part, between 0 and 1: segments finished, and the known part of those that run.
    pub fn fraction(&self) -> f64 {
        if self.segments == 0 {
            return 0.0;
        }
        let units = self.units_done as f64 / self.units_total.max(1) as f64;
        let segments = self.segments_finished as f64 / self.segments as f64;
        (segments + (1.0 - segments) * units / self.segments as f64).clamp(0.0, 1.0)
    }
}
