//! Groups that do not fit memory: partitions in a file, merged one by one on their way out.
//!
//! ```text
//!  worker short of memory    its partitions, then its table, become chunks of 64 streams, by the hash of the group
//!  step                      what workers still hold goes the same way
//!  source, a unit a stream   chunk by chunk into one table; a table that grows too large empties itself into 64
//!                            streams of its own, by other bits of the hash, and so on
//! ```
//! A chunk is keys, states, and the DISTINCT pairs that bear the groups' numbers in the chunk. The same group may be
//! in many chunks: states add up. Where groups are few and DISTINCT values many, pairs are whole and have streams of
//! their own, by the hash of the pair; then the step merges streams, as it does partitions in memory, since few
//! groups come out.
//!
//! What belongs to one group is never divided: a list or a set of values of one group has to fit memory.

use std::sync::Arc;

use hash::aggregate::{Columns, KeyStore, States};
use pool::spill::{SpillFile, SpillStream};
use types::Result;
use vector::Vector;

use super::Aggregate;
use super::local::{Index, LocalGroups};
use super::merge::Merged;
use super::source::Finished;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Push, Work};
use crate::spill::{FANOUT, LEVELS_MAX, Partitions, count_spilled, partition_of};
use hash::aggregate::partition::{Groups, PARTITIONS};

const _: () = assert!(FANOUT == PARTITIONS, "a stream for each partition");

/// A table of a partition may always be so large.
const TABLE_BYTES_MIN: usize = 1 << 20;

/// The file of an aggregation.
pub(super) struct Spilled {
    file: Arc<SpillFile>,
    groups: Partitions,
    /// For each DISTINCT argument, the partitions of its whole pairs.
    pairs: Vec<Partitions>,
}

/// A part of a partition as it lies in the file.
struct Chunk {
    groups: Groups,
    /// For each DISTINCT argument with numbered pairs, those of the groups above.
    pairs: Vec<KeyStore>,
}

impl Chunk {
    fn write(self, stream: &mut SpillStream) -> Result<()> {
        if self.groups.keys.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<Vector> = vec![];
        self.groups.keys.into_columns(&mut columns);
        self.groups.states.into_columns(&mut columns);
        self.pairs.into_iter().for_each(|pairs| pairs.into_columns(&mut columns));
        stream.push_columns(&columns)
    }
    fn read(aggregate: &Aggregate, stream: &SpillStream, piece: usize) -> Result<Chunk> {
        let mut columns = stream.read_columns(piece)?.into_iter();
        let mut columns = Columns(&mut columns);
        let keys = KeyStore::from_columns(&aggregate.layout, &mut columns)?;
        let states = States::from_columns(&aggregate.spec, &mut columns)?;
        let numbered = aggregate.numbers_pairs();
        let layouts = aggregate.pairs.iter().filter(|_| numbered).map(|pair| &pair.numbered);
        let pairs =
            layouts.map(|layout| KeyStore::from_columns(layout, &mut columns)).collect::<Result<_>>()?;
        Ok(Chunk { groups: Groups { keys, states }, pairs })
    }
}

impl Aggregate {
    /// The file, made by the first worker that needs it.
    fn spill_to(&self, query: &QueryContext) -> Result<&Spilled> {
        if let Some(spilled) = self.spilled.get() {
            return Ok(spilled);
        }
        let file = query.spill_file()?;
        let new = || Partitions::new(&file, 0);
        let spilled = Spilled { groups: new(), pairs: self.pairs.iter().map(|_| new()).collect(), file };
        Ok(self.spilled.get_or_init(|| spilled))
    }
    /// The state of the only group stays where it is; sets of values can leave memory.
    pub(super) fn can_spill(&self) -> bool {
        !self.groups.is_empty() || !self.pairs.is_empty()
    }
    /// Whether some worker has written groups to the file.
    pub(super) fn has_spilled(&self) -> bool {
        self.spilled.get().is_some()
    }
    /// From now on everything goes to files.
    pub(super) fn begin_spilling(&self, query: &QueryContext) -> Result<()> {
        self.spill_to(query).map(|_| ())
    }
    /// Pairs in files bear numbers of groups; known once something was spilled.
    fn numbers_pairs(&self) -> bool {
        !self.groups.is_empty() && self.pairs_by_group.get().copied().unwrap_or(false)
    }
    /// The source merges what was spilled; otherwise the step does.
    pub(super) fn merges_in_source(&self) -> bool {
        self.has_spilled() && !self.groups.is_empty() && (self.pairs.is_empty() || self.numbers_pairs())
    }
    /// Counts the bytes written, for EXPLAIN ANALYZE.
    pub(super) fn note_spilled(&self, query: &QueryContext) {
        if let Some(spilled) = self.spilled.get() {
            count_spilled(query, self.node, spilled.file.bytes());
        }
    }

    /// Empties groups and their numbered pairs into streams.
    fn scatter_to(
        &self,
        keys: &KeyStore,
        states: &States,
        mut pairs: Vec<KeyStore>,
        streams: &Partitions,
        partition: impl Fn(u64) -> usize,
    ) -> Result<()> {
        let mut rows: Vec<Vec<u32>> = vec![vec![]; FANOUT];
        // For each group its partition and its place in that partition.
        let mut places = vec![(0u32, 0u32); if pairs.is_empty() { 0 } else { keys.len() }];
        for (row, hash) in keys.hashes().iter().enumerate() {
            let at = partition(*hash);
            if let Some(place) = places.get_mut(row) {
                *place = (at as u32, rows[at].len() as u32);
            }
            rows[at].push(row as u32);
        }
        let mut parted: Vec<Vec<KeyStore>> = (0..FANOUT).map(|_| vec![]).collect();
        for pairs in &mut pairs {
            let mut of: Vec<Vec<u32>> = vec![vec![]; FANOUT];
            pairs.renumber(|row, group| {
                let (at, place) = places[group as usize];
                of[at as usize].push(row as u32);
                place
            });
            for (into, rows) in parted.iter_mut().zip(of) {
                let mut part = KeyStore::new(pairs.layout());
                part.append(&pairs.view(&[]), &rows);
                into.push(part);
            }
        }
        for ((at, rows), pairs) in rows.into_iter().enumerate().zip(parted) {
            if !rows.is_empty() {
                let mut groups = Groups::new(&self.layout, &self.spec);
                groups.append(keys, states, &rows);
                Chunk { groups, pairs }.write(&mut streams.stream(at))?;
            }
        }
        Ok(())
    }

    /// The partitions of the step: what files hold of one.
    pub(super) fn add_spilled(
        &self,
        partition: usize,
        merged: &mut Merged<'_>,
        work: &Work<'_>,
    ) -> Result<()> {
        let Some(spilled) = self.spilled.get() else { return Ok(()) };
        let stream = spilled.groups.stream(partition);
        for piece in 0..stream.pieces() {
            work.check()?;
            let chunk = Chunk::read(self, &stream, piece)?;
            merged.add(&chunk.groups.keys, &chunk.groups.states);
        }
        Ok(())
    }
    /// Whole pairs of a partition.
    pub(super) fn spilled_pairs(
        &self,
        at: usize,
        partition: usize,
        work: &Work<'_>,
    ) -> Result<Vec<KeyStore>> {
        let Some(spilled) = self.spilled.get() else { return Ok(vec![]) };
        let stream = spilled.pairs[at].stream(partition);
        (0..stream.pieces())
            .map(|piece| {
                work.check()?;
                let mut columns = stream.read_columns(piece)?.into_iter();
                KeyStore::from_columns(&self.pairs[at].whole, &mut Columns(&mut columns))
            })
            .collect()
    }

    /// The groups of a partition, merged and put out.
    pub(super) fn push_spilled(
        &self,
        partition: usize,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let Some(spilled) = self.spilled.get() else { return Ok(Flow::More) };
        let stream = spilled.groups.stream(partition);
        self.merge_stream(&stream, 0, work, push)
    }

    fn merge_stream(
        &self,
        stream: &SpillStream,
        level: usize,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let most = match work.query.settings.operator_bytes {
            Some(bound) => bound,
            None => work.query.partition_bytes_max().max(TABLE_BYTES_MIN),
        };
        let mut merged = Merged::new(self, 0);
        let mut pairs: Vec<Vec<KeyStore>> = self.no_pairs();
        let mut below: Option<(Arc<SpillFile>, Partitions)> = None;
        for piece in 0..stream.pieces() {
            work.check()?;
            let chunk = Chunk::read(self, stream, piece)?;
            merged.add(&chunk.groups.keys, &chunk.groups.states);
            for (all, mut own) in pairs.iter_mut().zip(chunk.pairs) {
                own.renumber(|_, place| merged.found[place as usize]);
                all.push(own);
            }
            let of_pairs: usize = pairs.iter().flatten().map(KeyStore::bytes).sum();
            let is_last = piece + 1 == stream.pieces();
            if !is_last && level < LEVELS_MAX && merged.bytes() + of_pairs > most {
                let (_, streams) = match &mut below {
                    Some(below) => below,
                    none => {
                        let file = work.query.spill_file()?;
                        let streams = Partitions::new(&file, level);
                        none.insert((file, streams))
                    }
                };
                self.spill_merged(
                    std::mem::replace(&mut merged, Merged::new(self, 0)),
                    &mut pairs,
                    streams,
                    level,
                )?;
            }
        }
        let Some((file, streams)) = below else {
            for (at, stores) in pairs.into_iter().enumerate() {
                merged.add_numbered(at, stores)?;
            }
            let Merged { table, states, .. } = merged;
            return self.push_finished(&Finished::new(Some(table.keys), states), work, push);
        };
        self.spill_merged(merged, &mut pairs, &streams, level)?;
        count_spilled(work.query, self.node, file.bytes());
        for partition in 0..FANOUT {
            let stream = streams.stream(partition);
            if self.merge_stream(&stream, level + 1, work, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn spill_merged(
        &self,
        merged: Merged<'_>,
        pairs: &mut Vec<Vec<KeyStore>>,
        streams: &Partitions,
        level: usize,
    ) -> Result<()> {
        let mut whole = vec![];
        for (pair, stores) in self.pairs.iter().zip(std::mem::replace(pairs, self.no_pairs())) {
            let mut all = KeyStore::new(&pair.numbered);
            for store in stores {
                let rows: Vec<u32> = (0..store.len() as u32).collect();
                all.append(&store.view(&[]), &rows);
            }
            whole.push(all);
        }
        let part = |hash| partition_of(hash, level);
        self.scatter_to(&merged.table.keys, &merged.states, whole, streams, part)
    }

    fn no_pairs(&self) -> Vec<Vec<KeyStore>> {
        self.pairs.iter().map(|_| vec![]).collect()
    }
}

impl LocalGroups {
    /// Everything that the worker holds goes to the file.
    pub(super) fn spill(&mut self, aggregate: &Aggregate, query: &QueryContext) -> Result<()> {
        let groups = self.table.len();
        if !aggregate.groups.is_empty() && !aggregate.pairs.is_empty() {
            aggregate.pairs_by_group(groups);
        }
        let spilled = aggregate.spill_to(query)?;
        let numbered = aggregate.numbers_pairs();
        if !matches!(self.index, Index::Single) {
            let mut parts: Vec<_> =
                self.pairs.iter_mut().filter(|_| numbered).map(|p| p.partitions.drain(..)).collect();
            for (at, groups) in std::mem::take(&mut self.partitions).into_iter().enumerate() {
                let pairs = parts.iter_mut().filter_map(Iterator::next).collect();
                Chunk { groups, pairs }.write(&mut spilled.groups.stream(at))?;
            }
            drop(parts);
            if !numbered {
                for pairs in &mut self.pairs {
                    pairs.make_whole(aggregate, &self.table.keys);
                }
            }
            let (keys, states) = self.take_groups(aggregate);
            let pairs = self.pairs.iter_mut().filter(|_| numbered).map(|p| p.take(aggregate)).collect();
            let part = |hash: u64| hash as usize % PARTITIONS;
            aggregate.scatter_to(&keys, &states, pairs, &spilled.groups, part)?;
        }
        if !numbered {
            for (pairs, streams) in self.pairs.iter_mut().zip(&spilled.pairs) {
                pairs.flush_whole(aggregate);
                for (at, keys) in pairs.partitions.drain(..).enumerate() {
                    if !keys.is_empty() {
                        let mut columns = vec![];
                        keys.into_columns(&mut columns);
                        streams.stream(at).push_columns(&columns)?;
                    }
                }
            }
        }
        Ok(())
    }
}
