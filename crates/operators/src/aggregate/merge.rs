//! Bringing the workers' groups together.
//!
//! ```text
//!  when all input is seen               merged                          by
//!  no groups, or few in all             at once                         the sink's end
//!  every worker's keys ascended         segments chained                the sink's end
//!  one worker, nothing in partitions    not at all
//!  direct maps of the same bounds       key range by key range          the step's orders
//!  anything else                        partition by partition          the step's orders
//! ```
//! Tables that are still full when the sink ends are emptied into partitions by the first orders of the step, one
//! table each; an order waits until the last is done, which takes a fraction of a millisecond.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hash::aggregate::{GroupTable, KeyStore, States};
use plan::NodeId;
use types::Result;

use super::Aggregate;
use super::distinct::{add_numbered, add_whole, deduplicated};
use super::local::{Index, LocalGroups};
use super::source::{Finished, Part, parts_between, parts_of};
use crate::context::QueryContext;
use crate::pipeline::{Step, Work};
use hash::aggregate::ordered::chain;
use hash::aggregate::partition::{Groups, PARTITIONS, Share};

/// Groups of a key range, roughly.
const RANGE_GROUPS: usize = 1 << 15;
const RANGES_MAX: usize = 64;

/// What the step has to do.
#[derive(Default)]
pub(super) enum Merge {
    /// The groups are merged already, or there are none.
    #[default]
    Nothing,
    /// Direct maps, range by range of their keys.
    Ranges(Arc<Ranges>),
    /// Hash partitions, one by one.
    Partitions(Arc<Partitions>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Aggregate {
    /// Called once with the states of all workers.
    pub(super) fn begin_merge(&self, mut locals: Vec<LocalGroups>, query: &QueryContext) -> Result<()> {
        let bytes = locals.iter().map(LocalGroups::bytes).sum();
        let needs_merge = !locals.iter().all(|l| matches!(l.index, Index::Ordered(_)));
        if self.can_spill()
            && !self.has_spilled()
            && query.should_spill(bytes, if needs_merge { bytes / 4 * 3 } else { 0 })
        {
            self.begin_spilling(query)?;
        }
        if self.groups.is_empty() {
            return self.merge_single(locals, query);
        }
        locals.retain(|l| !l.table.is_empty() || l.is_flushed());
        query.metrics.state(self.node, "groups by", self.how(&locals));
        if self.has_spilled() {
            let groups = locals.iter().map(|l| l.table.len()).sum();
            let by_group = !self.pairs.is_empty() && self.pairs_by_group(groups);
            *lock(&self.merge) = Merge::Partitions(Arc::new(Partitions::new(self, locals, by_group)?));
            return Ok(());
        }
        let groups: usize = locals.iter().map(|l| l.table.len()).sum();
        let flushed = locals.iter().any(LocalGroups::is_flushed);
        let pairs: usize = locals.iter().flat_map(|l| &l.pairs).map(|p| p.table.len()).sum();
        let pairs_flushed = locals.iter().flat_map(|l| &l.pairs).any(|p| !p.partitions.is_empty());
        if !locals.is_empty() && locals.iter().all(|l| matches!(l.index, Index::Ordered(_))) {
            match self.chained(locals) {
                Ok(parts) => {
                    self.publish(parts);
                    return Ok(());
                }
                Err(unchained) => locals = unchained,
            }
        }
        if locals.len() == 1 && !flushed && self.pairs.is_empty() && locals[0].is_unique() {
            let only = locals.remove(0);
            self.publish_groups(only.table.keys, only.states);
            return Ok(());
        }
        let at_once = self.strategies.merged_at_once;
        if !flushed && !pairs_flushed && groups <= at_once && pairs <= at_once {
            let mut merged = Merged::new(self, groups);
            merged.add_locals(locals)?;
            self.publish_groups(merged.table.keys, merged.states);
            return Ok(());
        }
        let all_direct = locals.iter().all(|l| matches!(l.index, Index::Direct(_)));
        *lock(&self.merge) = if all_direct && !flushed {
            Merge::Ranges(Arc::new(Ranges::new(locals, groups)))
        } else {
            let by_group = self.pairs_by_group(groups);
            Merge::Partitions(Arc::new(Partitions::new(self, locals, by_group)?))
        };
        Ok(())
    }

    fn merge_single(&self, locals: Vec<LocalGroups>, query: &QueryContext) -> Result<()> {
        if locals.iter().any(|l| l.masked.batches + l.cells.batches > 0) {
            query.metrics.state(self.node, "groups by", self.how(&locals));
        }
        let mut merged = Merged::new(self, 0);
        merged.states.resize(1);
        let pairs: usize = locals.iter().flat_map(|l| &l.pairs).map(|p| p.table.len()).sum();
        let flushed = locals.iter().flat_map(|l| &l.pairs).any(|p| !p.partitions.is_empty());
        if !flushed && !self.has_spilled() && pairs <= self.strategies.merged_at_once {
            merged.add_locals(locals)?;
            self.publish(vec![Part::single(merged.states)]);
            return Ok(());
        }
        query.metrics.state(self.node, "groups by", "none");
        self.pairs_by_group.get_or_init(|| false);
        *lock(&self.merge) = Merge::Partitions(Arc::new(Partitions::new(self, locals, false)?));
        Ok(())
    }

    /// The result of workers whose keys ascended, if their segments do not overlap; else the workers again, with
    /// other indexes.
    fn chained(&self, locals: Vec<LocalGroups>) -> std::result::Result<Vec<Part>, Vec<LocalGroups>> {
        let mut workers: Vec<_> = locals.into_iter().map(LocalGroups::into_ordered).collect();
        if let Some(segments) = chain(&mut workers, &self.spec) {
            let finished: Vec<Arc<Finished>> =
                workers.into_iter().map(|(keys, states, _)| Finished::new(Some(keys), states)).collect();
            let mut parts = vec![];
            for (worker, segment) in segments {
                parts_between(&finished[worker], segment.start, segment.end, &mut parts);
            }
            return Ok(parts);
        }
        Err(workers
            .into_iter()
            .map(|(keys, states, _)| {
                let mut local = LocalGroups::new(self);
                local.table.keys = keys;
                local.states = states;
                local
            })
            .collect())
    }

    /// How groups were numbered, in words for EXPLAIN ANALYZE.
    fn how(&self, locals: &[LocalGroups]) -> String {
        let by_cells = locals.iter().find(|l| l.cells.batches > 0);
        if let (Some(local), Some(arguments)) = (by_cells, &self.cells) {
            return local.cells.shown(arguments);
        }
        if locals.iter().any(|l| l.masked.batches > 0) {
            return "masks, sums on codes".to_owned();
        }
        let how = match locals.first().map(|l| &l.index) {
            None | Some(Index::Single) => "none",
            Some(Index::Ordered(_)) => "ascending keys",
            Some(Index::Direct(_)) => "array",
            Some(Index::Hash) => "table",
            Some(Index::Passing) => "partitions",
        };
        how.to_owned()
    }

    fn publish(&self, parts: Vec<Part>) {
        // The output is made once.
        let _ = self.output.set(parts);
    }
    /// Makes the groups the output, once all are in one table.
    pub(super) fn publish_groups(&self, keys: KeyStore, states: States) {
        let mut parts = vec![];
        parts_of(&Finished::new(Some(keys), states), &mut parts);
        self.publish(parts);
    }
}

/// A table that others are merged into.
pub(super) struct Merged<'a> {
    aggregate: &'a Aggregate,
    pub(super) table: GroupTable,
    pub(super) states: States,
    pub(super) found: Vec<u32>,
}

impl<'a> Merged<'a> {
    /// An empty table with room for so many groups.
    pub(super) fn new(aggregate: &'a Aggregate, groups: usize) -> Self {
        Merged {
            aggregate,
            table: GroupTable::with_capacity(&aggregate.layout, groups),
            states: States::new(&aggregate.spec),
            found: vec![],
        }
    }
    /// Bytes of the table and states.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.states.bytes()
    }
    /// Merges groups and their states.
    pub(super) fn add(&mut self, keys: &KeyStore, states: &States) {
        let hashes = keys.hashes();
        self.table.find_or_insert(&keys.view(&hashes), None, &mut self.found);
        self.states.resize(self.table.len());
        self.states.merge(states, None, &self.found);
    }
    fn add_share(&mut self, share: &Share) {
        match share {
            Share::Own(groups) => self.add(&groups.keys, &groups.states),
            Share::Rows { of, rows } => {
                let keys = of.groups.keys.view(&of.hashes);
                self.table.find_or_insert(&keys, Some(rows), &mut self.found);
                self.states.resize(self.table.len());
                self.states.merge(&of.groups.states, Some(rows), &self.found);
            }
        }
    }
    /// Adds whole workers, none of which has partitions.
    fn add_locals(&mut self, mut locals: Vec<LocalGroups>) -> Result<()> {
        // Where a worker had to make its pairs whole, all do: a pair in both forms would count twice.
        if locals.iter().flat_map(|local| &local.pairs).any(|pairs| !pairs.is_numbered()) {
            for LocalGroups { pairs, table, .. } in &mut locals {
                pairs.iter_mut().for_each(|pairs| pairs.make_whole(self.aggregate, &table.keys));
            }
        }
        let mut whole: Vec<Vec<KeyStore>> = self.aggregate.pairs.iter().map(|_| vec![]).collect();
        let mut numbered: Vec<Vec<KeyStore>> = self.aggregate.pairs.iter().map(|_| vec![]).collect();
        for local in locals {
            if matches!(local.index, Index::Single) {
                self.states.merge(&local.states, None, &[0]);
            } else {
                self.add(&local.table.keys, &local.states);
            }
            for (at, pairs) in local.pairs.into_iter().enumerate() {
                let is_numbered = pairs.is_numbered();
                let mut keys = pairs.table.keys;
                if is_numbered {
                    keys.renumber(|_, group| self.found[group as usize]);
                    numbered[at].push(keys);
                } else {
                    whole[at].push(keys);
                }
            }
        }
        for (at, stores) in whole.into_iter().enumerate() {
            self.add_whole(at, stores, true)?;
        }
        for (at, stores) in numbered.into_iter().enumerate() {
            self.add_numbered(at, stores)?;
        }
        Ok(())
    }
    /// Adds pairs that bear the numbers of groups here; one may be there several times.
    pub(super) fn add_numbered(&mut self, at: usize, mut stores: Vec<KeyStore>) -> Result<()> {
        stores.retain(|s| !s.is_empty());
        match deduplicated(stores) {
            Some(pairs) => add_numbered(self.aggregate.pairs[at].argument, pairs, &mut self.states),
            None => Ok(()),
        }
    }
    /// Adds the whole pairs of the `at`-th DISTINCT argument. A pair may be in several stores, and in a partition's
    /// store several times.
    fn add_whole(&mut self, at: usize, mut stores: Vec<KeyStore>, each_unique: bool) -> Result<()> {
        stores.retain(|s| !s.is_empty());
        let only = if stores.len() == 1 && each_unique { stores.pop() } else { None };
        match only.or_else(|| deduplicated(stores)) {
            Some(pairs) => {
                let argument = self.aggregate.pairs[at].argument;
                add_whole(self.aggregate, argument, pairs, &mut self.table, &mut self.states)
            }
            None => Ok(()),
        }
    }
}

/// Direct maps of several workers, merged range by range of the key.
pub(super) struct Ranges {
    locals: Vec<LocalGroups>,
    ranges: usize,
    done: Vec<Mutex<Option<Arc<Finished>>>>,
}

impl Ranges {
    fn new(locals: Vec<LocalGroups>, groups: usize) -> Self {
        let ranges = groups.div_ceil(RANGE_GROUPS).clamp(1, RANGES_MAX);
        Ranges { locals, ranges, done: (0..ranges).map(|_| Mutex::default()).collect() }
    }
    fn entries(&self, local: usize) -> &[u32] {
        match &self.locals[local].index {
            Index::Direct(map) => map.entries(),
            _ => &[],
        }
    }
    fn run(&self, aggregate: &Aggregate, range: usize, work: &Work<'_>) -> Result<()> {
        let places = self.entries(0).len();
        let (from, to) = (places * range / self.ranges, places * (range + 1) / self.ranges);
        let mut merged = Groups::new(&aggregate.layout, &aggregate.spec);
        // Group number + 1 of each place in the merged groups.
        let mut numbers = vec![0u32; to - from];
        // Each range begins with another worker's states: what the first merge from them makes, such as logs
        // arranged by group, is made of all workers' at the same time.
        for local in (0..self.locals.len()).map(|at| (at + range) % self.locals.len()) {
            work.check()?;
            let (mut rows, mut groups, mut new) = (vec![], vec![], vec![]);
            let mut next = merged.keys.len() as u32;
            for (number, entry) in numbers.iter_mut().zip(&self.entries(local)[from..to]) {
                if *entry != 0 {
                    if *number == 0 {
                        next += 1;
                        *number = next;
                        new.push(*entry - 1);
                    }
                    rows.push(*entry - 1);
                    groups.push(*number - 1);
                }
            }
            let local = &self.locals[local];
            merged.keys.append(&local.table.keys.view(&[]), &new);
            merged.states.resize(merged.keys.len());
            merged.states.merge(&local.states, Some(&rows), &groups);
        }
        *lock(&self.done[range]) = Some(Finished::new(Some(merged.keys), merged.states));
        Ok(())
    }
}

/// What a partition was merged into.
struct MergedPartition {
    table: GroupTable,
    states: States,
}

/// Partitions of groups and of DISTINCT pairs, merged one by one.
pub(super) struct Partitions {
    waiting: Mutex<Waiting>,
    scattered: Condvar,
    /// By partition: groups of all workers, each with the numbered pairs of its groups by DISTINCT argument.
    groups: Vec<Mutex<Vec<GroupsAndPairs>>>,
    /// By DISTINCT argument and partition: whole pairs.
    pairs: Vec<Vec<Mutex<Vec<KeyStore>>>>,
    /// Pairs lie in the partition of their group. Otherwise groups are few and merged at the end.
    by_group: bool,
    done: Vec<Mutex<Option<MergedPartition>>>,
}

/// A worker's share of a partition.
struct GroupsAndPairs {
    groups: Share,
    pairs: Vec<KeyStore>,
}

/// Workers' states that are not in partitions yet.
struct Waiting {
    locals: Vec<LocalGroups>,
    under_way: usize,
}

/// Counts a scatter as over, whatever its end.
struct UnderWay<'a>(&'a Partitions);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.0.waiting).under_way -= 1;
        self.0.scattered.notify_all();
    }
}

impl Partitions {
    fn new(aggregate: &Aggregate, locals: Vec<LocalGroups>, by_group: bool) -> Result<Self> {
        let slots = || (0..PARTITIONS).map(|_| Mutex::default()).collect::<Vec<_>>();
        Ok(Partitions {
            waiting: Mutex::new(Waiting { locals, under_way: 0 }),
            scattered: Condvar::new(),
            groups: (0..PARTITIONS).map(|_| Mutex::default()).collect(),
            pairs: aggregate.pairs.iter().map(|_| slots()).collect(),
            by_group,
            done: (0..PARTITIONS).map(|_| Mutex::default()).collect(),
        })
    }

    /// Empties the tables that wait, and returns when all are in partitions.
    fn scatter_all(&self, aggregate: &Aggregate, work: &Work<'_>) -> Result<()> {
        loop {
            let mut waiting = lock(&self.waiting);
            if let Some(mut local) = waiting.locals.pop() {
                waiting.under_way += 1;
                drop(waiting);
                let _under_way = UnderWay(self);
                self.scatter(aggregate, &mut local, work)?;
            } else if waiting.under_way == 0 {
                return Ok(());
            } else {
                drop(self.scattered.wait(waiting).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
    fn scatter(&self, aggregate: &Aggregate, local: &mut LocalGroups, work: &Work<'_>) -> Result<()> {
        if aggregate.has_spilled() {
            local.spill(aggregate, work.query)?;
            if matches!(local.index, Index::Single) {
                let mut groups = Groups::new(&aggregate.layout, &aggregate.spec);
                std::mem::swap(&mut groups.states, &mut local.states);
                lock(&self.groups[0]).push(GroupsAndPairs { groups: Share::Own(groups), pairs: vec![] });
            }
            return Ok(());
        }
        if matches!(local.index, Index::Ordered(_)) {
            local.leave_ordered(aggregate)?;
        }
        if matches!(local.index, Index::Single) {
            // The one group is merged at the end, as if it were a partition's.
            let mut groups = Groups::new(&aggregate.layout, &aggregate.spec);
            std::mem::swap(&mut groups.states, &mut local.states);
            lock(&self.groups[0]).push(GroupsAndPairs { groups: Share::Own(groups), pairs: vec![] });
        } else {
            let shared = local.shared(aggregate);
            if shared.is_none() {
                local.flush(aggregate);
            }
            let mut numbered: Vec<_> = local
                .pairs
                .iter_mut()
                .map(|p| if p.is_numbered() { p.partitions.drain(..) } else { p.partitions.drain(..0) })
                .collect();
            let shares: Vec<Share> = match shared {
                Some((of, rows)) => {
                    rows.into_iter().map(|rows| Share::Rows { of: of.clone(), rows }).collect()
                }
                None => local.partitions.drain(..).map(Share::Own).collect(),
            };
            for (slot, groups) in self.groups.iter().zip(shares) {
                let pairs = numbered.iter_mut().filter_map(Iterator::next).collect();
                if !groups.is_empty() {
                    lock(slot).push(GroupsAndPairs { groups, pairs });
                }
            }
        }
        for (slots, pairs) in self.pairs.iter().zip(&mut local.pairs) {
            if pairs.is_numbered() {
                continue;
            }
            pairs.flush_whole(aggregate);
            for (slot, keys) in slots.iter().zip(pairs.partitions.drain(..)) {
                if !keys.is_empty() {
                    lock(slot).push(keys);
                }
            }
        }
        Ok(())
    }

    fn run(&self, aggregate: &Aggregate, partition: usize, work: &Work<'_>) -> Result<()> {
        self.scatter_all(aggregate, work)?;
        if aggregate.merges_in_source() {
            return Ok(());
        }
        let mut groups = std::mem::take(&mut *lock(&self.groups[partition]));
        // As in `Ranges::run`.
        let first = partition % groups.len().max(1);
        groups.rotate_left(first);
        let count: usize = groups.iter().map(|g| g.groups.len()).sum();
        let bytes: usize = groups.iter().map(|g| g.groups.bytes()).sum();
        let _room = if bytes > 1 << 20 { Some(work.reserve(bytes)?) } else { None };
        let mut merged = Merged::new(aggregate, count.min(expected_groups(aggregate, count)));
        let mut numbered: Vec<Vec<KeyStore>> = aggregate.pairs.iter().map(|_| vec![]).collect();
        for GroupsAndPairs { groups: part, pairs } in groups {
            work.check()?;
            match &part {
                Share::Own(only) if aggregate.groups.is_empty() => {
                    merged.states.resize(1);
                    merged.states.merge(&only.states, None, &[0]);
                }
                share => merged.add_share(share),
            }
            for (stores, mut pairs) in numbered.iter_mut().zip(pairs) {
                pairs.renumber(|_, place| merged.found[place as usize]);
                stores.push(pairs);
            }
        }
        aggregate.add_spilled(partition, &mut merged, work)?;
        for (at, stores) in numbered.into_iter().enumerate() {
            merged.add_numbered(at, stores)?;
        }
        for (at, slots) in self.pairs.iter().enumerate() {
            work.check()?;
            let mut stores = std::mem::take(&mut *lock(&slots[partition]));
            stores.append(&mut aggregate.spilled_pairs(at, partition, work)?);
            merged.add_whole(at, stores, false)?;
        }
        *lock(&self.done[partition]) = Some(MergedPartition { table: merged.table, states: merged.states });
        Ok(())
    }
}

/// Groups that a partition of `rows` partial ones may have; too low a guess costs a growth of the table.
fn expected_groups(aggregate: &Aggregate, rows: usize) -> usize {
    let share = aggregate.estimated_groups / PARTITIONS as f64 * 1.25;
    if share.is_finite() && share >= 1.0 { (share as usize).min(rows) } else { rows }
}

impl Aggregate {
    fn end_merge(&self) -> Result<()> {
        match std::mem::take(&mut *lock(&self.merge)) {
            Merge::Nothing => {}
            Merge::Ranges(ranges) => {
                let mut parts = vec![];
                for done in &ranges.done {
                    if let Some(finished) = lock(done).take() {
                        parts_of(&finished, &mut parts);
                    }
                }
                self.publish(parts);
            }
            Merge::Partitions(partitions) => {
                let done = partitions.done.iter().filter_map(|d| lock(d).take());
                if self.pairs.is_empty() || partitions.by_group {
                    let mut parts = vec![];
                    for merged in done {
                        parts_of(&Finished::new(Some(merged.table.keys), merged.states), &mut parts);
                    }
                    self.publish(parts);
                    return Ok(());
                }
                // Few groups, whose pairs were spread over all partitions: their parts are added up.
                let mut all = Merged::new(self, 0);
                for merged in done {
                    if !self.groups.is_empty() {
                        all.add(&merged.table.keys, &merged.states);
                    } else if merged.states.groups() > 0 {
                        all.states.resize(1);
                        all.states.merge(&merged.states, None, &[0]);
                    }
                }
                if self.groups.is_empty() {
                    self.publish(vec![Part::single(all.states)]);
                } else {
                    self.publish_groups(all.table.keys, all.states);
                }
            }
        }
        Ok(())
    }
}

/// The step that merges.
pub(super) struct AggregateMerge(pub Arc<Aggregate>);

impl Step for AggregateMerge {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(match &*lock(&self.0.merge) {
            Merge::Nothing => 0,
            Merge::Ranges(ranges) => ranges.ranges as u64,
            Merge::Partitions(_) => PARTITIONS as u64,
        })
    }
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()> {
        let merge = match &*lock(&self.0.merge) {
            Merge::Nothing => return Ok(()),
            Merge::Ranges(ranges) => (Some(ranges.clone()), None),
            Merge::Partitions(partitions) => (None, Some(partitions.clone())),
        };
        if let (Some(ranges), _) = &merge {
            ranges.run(&self.0, partition as usize, work)?;
        }
        if let (_, Some(partitions)) = &merge {
            partitions.run(&self.0, partition as usize, work)?;
        }
        Ok(())
    }
    fn finish(&self, query: &QueryContext) -> Result<()> {
        self.0.note_spilled(query);
        self.0.end_merge()
    }
}
