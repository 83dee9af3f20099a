//! Finished groups as batches.

use std::sync::Arc;

use hash::aggregate::{FrozenKeys, KeyStore, States};
use plan::NodeId;
use types::Result;
use vector::{Batch, Vector};

use super::Aggregate;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};
use hash::aggregate::partition::PARTITIONS;

/// Groups of a unit: some batches, so that several workers share a large result.
const PART_GROUPS: usize = 1 << 14;

/// Groups whose states are complete. Without group columns there is one, and no keys.
pub(super) struct Finished {
    keys: Option<FrozenKeys>,
    states: States,
}

/// A stretch of finished groups: a unit of the source.
pub(super) struct Part {
    groups: Arc<Finished>,
    start: usize,
    end: usize,
}

impl Part {
    /// The one group of an aggregation without group columns.
    pub fn single(states: States) -> Part {
        Part { groups: Finished::new(None, states), start: 0, end: 1 }
    }
}

impl Finished {
    /// Freezes the keys; `None` for an aggregation without group columns.
    pub fn new(keys: Option<KeyStore>, states: States) -> Arc<Self> {
        Arc::new(Finished { keys: keys.map(KeyStore::freeze), states })
    }
    fn len(&self) -> usize {
        self.keys.as_ref().map_or(1, FrozenKeys::len)
    }
}

/// All of `groups` as units.
pub(super) fn parts_of(groups: &Arc<Finished>, parts: &mut Vec<Part>) {
    parts_between(groups, 0, groups.len(), parts);
}

/// The groups `start..end` as units of at most `PART_GROUPS`.
pub(super) fn parts_between(groups: &Arc<Finished>, start: usize, end: usize, parts: &mut Vec<Part>) {
    let mut at = start;
    while at < end {
        let next = end.min(at + PART_GROUPS);
        parts.push(Part { groups: groups.clone(), start: at, end: next });
        at = next;
    }
}

/// The source over the finished parts.
pub(super) struct AggregateSource(pub Arc<Aggregate>);

impl Source for AggregateSource {
    fn add_memory(&self, bytes: &mut memory::Bytes) {
        for part in self.0.output.get().into_iter().flatten().filter(|part| part.start == 0) {
            bytes.add(&part.groups, |groups, name| {
                groups.keys.iter().for_each(|keys| keys.each_piece(name));
                groups.states.each_piece(name);
            });
        }
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        if self.0.merges_in_source() {
            return Ok(PARTITIONS as u64);
        }
        Ok(self.0.output.get().map_or(0, |parts| parts.len() as u64))
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        if self.0.merges_in_source() {
            return self.0.push_spilled(unit as usize, work, push);
        }
        match self.0.output.get().and_then(|parts| parts.get(unit as usize)) {
            Some(part) => self.0.push_part(part, work, push),
            None => Ok(Flow::More),
        }
    }
}

impl Aggregate {
    /// Puts all of `groups` out.
    pub(super) fn push_finished(
        &self,
        groups: &Arc<Finished>,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        self.push_part(&Part { groups: groups.clone(), start: 0, end: groups.len() }, work, push)
    }

    fn push_part(&self, part: &Part, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let mut at = part.start;
        while at < part.end {
            let next = part.end.min(at + work.query.settings.batch_rows.max(1));
            let mut columns: Vec<Vector> = Vec::with_capacity(self.groups.len() + self.finishes.len());
            if let Some(keys) = &part.groups.keys {
                columns.extend((0..self.groups.len()).map(|c| keys.column(c, at, next)));
            }
            for (finish, ty) in &self.finishes {
                columns.push(part.groups.states.finish(*finish, *ty, at, next)?);
            }
            if push(Batch::new(columns, next - at))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            at = next;
        }
        Ok(Flow::More)
    }
}
