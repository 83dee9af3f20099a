//! The probe: a batch's bounds become places by searching, places become pairs, and pairs meet the rest of the
//! condition.
//!
//! Each worker has buffers of its own; the build side is only read, apart from the marks of matched rows. Where only
//! probe rows are judged (semi, anti), a row whose pairs have to be tested is searched in rounds that grow, up to its
//! first match. A long run of neighbouring places leaves as a batch of its own, with the probe row as constants.
//! Without an index, or where a bound cannot be computed, every place is tried by the whole condition.

use std::sync::Arc;

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::Result;
use vector::{Batch, Vector};

use super::index::{Found, RangeIndex, Search, SecondKey};
use super::{Built, RangeJoin};
use crate::hash_join::pairs::Pairs;
use crate::pipeline::{Flow, Local, Push, Transform, Work, local_state};

/// Build rows that one probe row finds side by side from which on they go out as a batch of their own, the probe row
/// as constants and the build rows as they lie.
const OWN_BATCH_ROWS: usize = 512;

/// Partners of a row that are tried first, and how many times more each further time.
const FIRST_ROUND: u32 = 8;
const ROUND_FACTOR: u32 = 16;

/// Places between two looks at the query's signal where nothing comes out on the way.
const CHECKED_PLACES: usize = 1 << 16;

/// The transform over the probe side.
pub(super) struct Probe(pub Arc<RangeJoin>);

/// Kept from batch to batch.
#[derive(Default)]
struct Buffers {
    pairs: Pairs,
    matched: Vec<bool>,
    found: Vec<Found>,
    places: Vec<u32>,
    search: Search,
    /// Runs of places whose rows are to be marked.
    runs: Vec<(u32, u32)>,
}

impl Buffers {
    /// Empty for a batch of so many rows.
    fn begin(&mut self, rows: usize) {
        self.pairs.clear();
        self.runs.clear();
        self.matched.clear();
        self.matched.resize(rows, false);
    }
}

/// A batch on its way through the join.
struct Probing<'a> {
    join: &'a RangeJoin,
    built: &'a Built,
    batch: &'a Batch,
    work: &'a Work<'a>,
    limit: usize,
    /// Pairs meet the whole condition, since no range was searched.
    by_whole: bool,
}

impl Transform for Probe {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Buffers::default())
    }
    fn transform(
        &self,
        batch: Batch,
        local: &mut Local,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let join = &*self.0;
        let built = join.built()?;
        if built.indexed == 0 && !join.kind.keeps_probe_rows() {
            return Ok(Flow::Enough);
        }
        let buffers = local_state::<Buffers>(local);
        buffers.begin(batch.rows);
        let mut by_whole = false;
        if built.indexed > 0 {
            let bounds = match &built.index {
                Some(index) => join.terms.bounds(&batch, work.query)?.map(|bounds| (index, bounds)),
                None => None,
            };
            let all = 0..built.indexed;
            match bounds {
                Some((index, bounds)) => {
                    let Buffers { found, places, .. } = buffers;
                    join.terms.found(index, &bounds, |_| all.clone(), found, places);
                }
                None => {
                    by_whole = true;
                    buffers.found.clear();
                    let everything = Found { from: 0, to: built.indexed as u32, low: 0, high: 1 };
                    buffers.found.resize(batch.rows, everything);
                }
            }
            let limit = work.query.settings.batch_rows.max(1);
            let probing = Probing { join, built, batch: &batch, work, limit, by_whole };
            if probing.pairs(buffers, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        join.columns.emit_judged(join.kind, &batch, &buffers.matched, &[], push)
    }
}

impl Probing<'_> {
    fn pairs(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        let index = self.built.index.as_ref().filter(|_| !self.by_whole);
        let second = index.and_then(|index| index.second.as_ref());
        let is_decided = !self.by_whole && self.join.rest.is_none();
        let found = std::mem::take(&mut buffers.found);
        if self.is_judged_alone() && !is_decided {
            self.judge_in_rounds(&found, second, buffers, push)?;
            buffers.found = found;
            return Ok(Flow::More);
        }
        let mut seen = 0;
        for (row, wanted) in found.iter().enumerate() {
            if wanted.is_empty() {
                continue;
            }
            if seen > CHECKED_PLACES {
                self.work.check()?;
                seen = 0;
            }
            seen += 1;
            if is_decided && self.is_judged_alone() {
                let Buffers { search, places, matched, .. } = &mut *buffers;
                matched[row] = index.is_some_and(|index| index.exists(*wanted, search, places));
                continue;
            }
            let flow = match second {
                None if is_decided && !self.join.kind.emits_pairs() => {
                    buffers.runs.push((wanted.from, wanted.to));
                    Flow::More
                }
                None => self.run_of_places(row, *wanted, is_decided, buffers, push)?,
                Some(second) => {
                    let mut flow = Flow::More;
                    buffers.search.begin(*wanted);
                    buffers.places.clear();
                    while flow == Flow::More && buffers.search.next(second, &mut buffers.places) {
                        let places = std::mem::take(&mut buffers.places);
                        seen += places.len();
                        flow = self.add(row, places.iter().copied(), buffers, push)?;
                        buffers.places = places;
                        buffers.places.clear();
                    }
                    flow
                }
            };
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        buffers.found = found;
        self.mark_runs(index, buffers)?;
        self.settle(buffers, push)
    }

    /// The rows at neighbouring places.
    fn run_of_places(
        &self,
        row: usize,
        wanted: Found,
        is_decided: bool,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let (from, to) = (wanted.from as usize, wanted.to as usize);
        for first in (from..to).step_by(self.limit) {
            let end = to.min(first + self.limit);
            if is_decided && end - first >= OWN_BATCH_ROWS.min(self.limit) {
                // Those before come out before.
                if self.settle(buffers, push)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                buffers.matched[row] = true;
                if let Some(marks) = &self.built.matched {
                    (first..end).for_each(|place| marks.set(place as u32));
                }
                if push(self.with_probe_row(row, first, end - first))? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                continue;
            }
            if self.add(row, first as u32..end as u32, buffers, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// Rows that only are judged, by more than the range: a few partners of each are tried first, and many more only
    /// of those rows that found none among them.
    fn judge_in_rounds(
        &self,
        found: &[Found],
        second: Option<&SecondKey>,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<()> {
        let rows = 0..found.len() as u32;
        let mut open: Vec<u32> = rows.filter(|row| !found[*row as usize].is_empty()).collect();
        let mut tried = 0;
        let mut most = FIRST_ROUND;
        while !open.is_empty() {
            let mut left = Vec::new();
            for row in open {
                let (wanted, at) = (found[row as usize], row as usize);
                let has_more = match second {
                    None => {
                        let from = wanted.from.saturating_add(tried).min(wanted.to);
                        let to = wanted.from.saturating_add(most).min(wanted.to);
                        self.add(at, from..to, buffers, push)?;
                        to < wanted.to
                    }
                    Some(second) => {
                        // Those of earlier rounds are found again.
                        let Buffers { search, places, .. } = &mut *buffers;
                        search.begin(wanted);
                        places.clear();
                        let mut has_more = true;
                        while has_more && places.len() < most as usize {
                            has_more = search.next(second, places);
                            self.work.check()?;
                        }
                        let places = std::mem::take(&mut buffers.places);
                        self.add(at, places.iter().copied(), buffers, push)?;
                        buffers.places = places;
                        has_more
                    }
                };
                if has_more {
                    left.push(row);
                }
            }
            self.settle(buffers, push)?;
            left.retain(|row| !buffers.matched[*row as usize]);
            open = left;
            tried = most;
            most = most.saturating_mul(ROUND_FACTOR);
        }
        Ok(())
    }

    /// Only probe rows are judged, so a decided one needs no further pair.
    fn is_judged_alone(&self) -> bool {
        matches!(self.join.kind, Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark)
    }

    fn add(
        &self,
        row: usize,
        places: impl Iterator<Item = u32>,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        for place in places {
            if buffers.pairs.len() == self.limit && self.settle(buffers, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            buffers.pairs.push(row as u32, place);
        }
        Ok(Flow::More)
    }

    /// Filters the pairs, and does with those that are left what the kind demands.
    fn settle(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        self.work.check()?;
        let Buffers { pairs, matched, .. } = buffers;
        let condition = if self.by_whole { Some(&self.join.whole) } else { self.join.rest.as_ref() };
        if let Some(condition) = condition {
            condition.retain(self.batch, &self.built.columns, pairs)?;
        }
        if pairs.len() == 0 {
            return Ok(Flow::More);
        }
        pairs.probe.iter().for_each(|row| matched[*row as usize] = true);
        if let Some(marks) = &self.built.matched {
            pairs.build.iter().for_each(|place| marks.set(*place));
        }
        let flow = match self.join.kind.emits_pairs() {
            true => push(self.join.columns.batch(
                pairs.len(),
                |column| self.batch.columns[column].gather(&pairs.probe),
                |kept| self.built.columns[kept].gather(&pairs.build),
            ))?,
            false => Flow::More,
        };
        pairs.clear();
        Ok(flow)
    }

    /// Marks the rows of all runs, each once: what that costs does not grow with the number of pairs.
    fn mark_runs(&self, index: Option<&RangeIndex>, buffers: &mut Buffers) -> Result<()> {
        let (Some(marks), Some(_)) = (&self.built.matched, index) else { return Ok(()) };
        buffers.runs.sort_unstable();
        let mut next = 0;
        for (from, to) in &buffers.runs {
            (next.max(*from)..*to).for_each(|place| marks.set(place));
            next = next.max(*to);
        }
        self.work.check()
    }

    fn with_probe_row(&self, row: usize, first: usize, rows: usize) -> Batch {
        self.join.columns.batch(
            rows,
            |column| {
                let column = &self.batch.columns[column];
                Vector::constant(column.ty(), column.value(row), rows)
            },
            |kept| self.built.columns[kept].slice(first, rows),
        )
    }
}
