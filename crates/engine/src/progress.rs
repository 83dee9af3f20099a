//! Progress of the running statement, for observers outside of it.

use std::sync::{Arc, Mutex, PoisonError};

use scheduler::{OperatorState, OperatorStatus, Progress, QueryControl};
use workorder::Dag;

/// Sees the statement that a session runs, from any thread and for as long as it is kept.
#[derive(Clone, Default)]
pub struct ProgressWatch(Arc<Mutex<Option<Watched>>>);

/// The running query, and the shape of its plan.
#[derive(Clone)]
struct Watched {
    control: Arc<QueryControl>,
    /// The segments from the result's down to those of the scans, each with its depth below the first.
    shape: Arc<[(usize, usize)]>,
}

/// A segment of the running plan: operators that hand rows on without a stop.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorProgress {
    /// The operators in it.
    pub name: String,
    /// Below the segment that makes the result; what feeds a segment follows it and lies one deeper.
    pub depth: usize,
    /// `waiting`, `running` or `finished`.
    pub state: &'static str,
    /// Blocks, row groups and other units of work that are done.
    pub units_done: u64,
    /// And in all; 0 while that is not known.
    pub units_total: u64,
    /// Rows handled.
    pub rows: u64,
    /// Workers in it.
    pub workers: usize,
}

impl OperatorProgress {
    /// Between 0 and 1; `None` while nothing is known.
    pub fn fraction(&self) -> Option<f64> {
        match (self.state, self.units_total) {
            ("finished", _) => Some(1.0),
            ("waiting", _) => Some(0.0),
            (_, 0) => None,
            (_, total) => Some((self.units_done as f64 / total as f64).min(1.0)),
        }
    }
}

impl ProgressWatch {
    /// `None` between statements, while one is planned, and for those that run no work orders.
    pub fn progress(&self) -> Option<Progress> {
        self.watched().map(|watched| watched.control.progress())
    }

    /// The running plan as the tree that it is: the segment that makes the result first, and behind each those that
    /// feed it. Empty where `progress` is `None`.
    pub fn tree(&self) -> Vec<OperatorProgress> {
        let Some(watched) = self.watched() else { return vec![] };
        let statuses = watched.control.operators();
        let seen = |(segment, depth): &(usize, usize)| Some(seen(statuses.get(*segment)?, *depth));
        watched.shape.iter().filter_map(seen).collect()
    }

    /// The running plan's segments, those that feed a segment behind it, each with the number of the one that it feeds.
    pub fn segments(&self) -> Vec<(OperatorStatus, Option<usize>)> {
        let Some(watched) = self.watched() else { return vec![] };
        let statuses = watched.control.operators();
        let mut above: Vec<usize> = vec![];
        let mut segments = vec![];
        for (segment, depth) in watched.shape.iter() {
            above.truncate(*depth);
            let Some(status) = statuses.get(*segment) else { continue };
            segments.push((status.clone(), above.last().copied()));
            above.push(*segment);
        }
        segments
    }

    fn watched(&self) -> Option<Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows `control`, which runs `dag`, until what is returned is dropped.
    pub(crate) fn show(&self, control: &Arc<QueryControl>, dag: &Dag) -> Shown<'_> {
        let watched = Watched { control: Arc::clone(control), shape: shape(dag).into() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        Shown(self)
    }
}

fn seen(status: &OperatorStatus, depth: usize) -> OperatorProgress {
    let done = status.state == OperatorState::Finished;
    OperatorProgress {
        name: status.name.clone(),
        depth,
        state: status.state.name(),
        units_done: if done { status.units_total.max(status.units_done) } else { status.units_done },
        units_total: status.units_total,
        rows: status.rows,
        workers: status.running,
    }
}

/// Segments in the order of the tree that they are drawn as. One that feeds several stands below the first of them.
fn shape(dag: &Dag) -> Vec<(usize, usize)> {
    let count = dag.segments.len();
    let mut consumer: Vec<Option<usize>> = vec![None; count];
    for edge in &dag.edges {
        if let Some(known) = consumer.get_mut(edge.producer.index()) {
            known.get_or_insert(edge.consumer.index());
        }
    }
    let mut shape = Vec::with_capacity(count);
    // Those that feed nothing are roots, the last one made is the result's.
    let mut open: Vec<(usize, usize)> =
        (0..count).filter(|at| consumer[*at].is_none()).map(|at| (at, 0)).collect();
    while let Some((at, depth)) = open.pop() {
        shape.push((at, depth));
        open.extend((0..count).filter(|fed| consumer[*fed] == Some(at)).map(|fed| (fed, depth + 1)));
    }
    shape
}

/// Guard: the query is shown as running until this is dropped.
pub(crate) struct Shown<'a>(&'a ProgressWatch);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
