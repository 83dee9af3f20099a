//! The probe: batches stream past the finished table.
//!
//! | build keys | what is asked | path |
//! | --- | --- | --- |
//! | exact, any | existence, no residual | `existence`: a look-up a row |
//! | exact, unique | rows, no residual | `unique`: a look-up a row, probe columns kept when every row matched |
//! | exact, any | partners by an integer comparison | `compared.rs`: chains walked, no pairs made |
//! | all else | | `expand`: pairs by following chains, compared, filtered, at most a batch at a time |

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use plan::{NodeId, PhysicalJoinKind as Kind};
use types::Result;
use vector::gather::NO_ROW;
use vector::{Batch, Vector};

use super::HashJoin;
use super::buffers::Buffers;
use super::compared::{Judged, judge};
use super::crowds::Crowds;
use super::keys::retain_equal;
use super::null_keys::null_rows;
use super::pairs::{Pairs, Residual, rows_found};
use super::shared::lock;
use super::state::Built;
use crate::pipeline::{Flow, Local, Push, Transform, Work, local_state};
use crate::range_join::index::Found;
use crate::swap::put_together;

/// Rows of a crowded key that are tried first where one partner is enough, and how many times more each further time.
const FIRST_ROUND: usize = 8;
const ROUND_FACTOR: usize = 16;

/// The transform over the probe side.
pub(super) struct Probe(pub Arc<HashJoin>);

/// The state of one work order's stage.
#[derive(Default)]
struct ProbeLocal {
    /// Looked up once; it goes with the segment.
    built: Option<Arc<Built>>,
    buffers: Buffers,
}

/// One probe batch with what was found out about it.
pub(super) struct Probing<'a> {
    /// The join that is probed.
    pub join: &'a HashJoin,
    /// The complete build side, or one part of it.
    pub built: &'a Built,
    /// The probe batch.
    pub batch: &'a Batch,
    /// The probe keys, one value a row of the batch.
    pub keys: &'a [Vector],
    /// Rows whose key has no NULL; `None` when all.
    pub valid: Option<&'a NullBuffer>,
    /// `built` is a part of the build: what a row's matches decide waits for the others.
    pub in_parts: bool,
    /// The work order that probes.
    pub work: &'a Work<'a>,
}

impl Transform for Probe {
    fn add_memory(&self, bytes: &mut memory::Bytes) {
        // Before it is built, there is nothing.
        let Ok(built) = self.0.built() else { return };
        bytes.add(&built, |built, name| {
            built.table.each_piece(name);
            built.columns.iter().filter_map(put_together).for_each(name);
        });
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(ProbeLocal::default())
    }
    fn add_user(&self) {
        self.0.add_user();
    }
    fn finished(&self) {
        self.0.user_finished();
    }

    fn transform(
        &self,
        batch: Batch,
        local: &mut Local,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let join = &*self.0;
        if join.has_spilled() {
            return join.spill_probe(batch, work);
        }
        let ProbeLocal { built, buffers } = local_state::<ProbeLocal>(local);
        let built = match built {
            Some(built) => built,
            none => none.insert(join.built()?),
        };
        if join.has_no_result(built) {
            return Ok(Flow::Enough);
        }
        if join.has_leftovers.load(Relaxed) && join.has_leftovers.swap(false, Relaxed) {
            let leftovers = std::mem::take(&mut *lock(&join.leftovers));
            drop(leftovers);
        }
        join.probe_batch(built, &batch, None, buffers, work, push)
    }
}

impl HashJoin {
    /// Probes a table, that of the join or of a part of it. With `carried`, what is known of the batch's rows from
    /// other parts of the build: what comes out once for a row waits until all parts were seen.
    pub(super) fn probe_batch(
        &self,
        built: &Built,
        batch: &Batch,
        carried: Option<&mut Vec<bool>>,
        buffers: &mut Buffers,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let join = self;
        let keys = work.query.evaluate(&join.probe_keys, batch)?;
        let valid = if join.null_equals_null { None } else { null_rows(&keys, batch.rows) };
        if join.null_aware && join.kind == Kind::BuildAnti {
            join.list_has_rows.store(true, Relaxed);
            if valid.is_some() {
                join.list_has_null.store(true, Relaxed);
            }
        }
        built.keys.encode(&keys, batch.rows, join.null_equals_null, &mut buffers.codes);
        built.table.find(&buffers.codes, &mut buffers.found);
        let in_parts = carried.is_some();
        let probing = Probing { join, built, batch, keys: &keys, valid: valid.as_ref(), in_parts, work };
        if let Some(carried) = carried {
            let flow = probing.expand(buffers, push)?;
            carried.iter_mut().zip(&buffers.matched).for_each(|(all, own)| *all |= own);
            return Ok(flow);
        }
        let simple = built.table.is_exact() && join.residual.is_none() && !join.looks_at_unknown_pairs();
        if simple && join.asks_existence() {
            return probing.existence(&buffers.found, push);
        }
        if simple && built.table.next().is_none() {
            return probing.unique(buffers, push);
        }
        probing.expand(buffers, push)
    }

    /// What comes out of a batch's rows once all parts of the build were probed; `built` is any of them.
    pub(super) fn emit_carried(
        &self,
        built: &Built,
        batch: &Batch,
        carried: Vec<bool>,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let keys = work.query.evaluate(&self.probe_keys, batch)?;
        let valid = if self.null_equals_null { None } else { null_rows(&keys, batch.rows) };
        let valid = valid.as_ref();
        let probing = Probing { join: self, built, batch, keys: &keys, valid, in_parts: false, work };
        probing.emit_judged(&mut Buffers { matched: carried, ..Buffers::default() }, push)
    }

    /// Nothing that is probed can come out, nor mark anything.
    pub(super) fn has_no_result(&self, built: &Built) -> bool {
        match self.kind {
            Kind::Inner | Kind::ProbeSemi | Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti => {
                built.rows == 0
            }
            Kind::ProbeAnti => {
                self.null_aware && !self.looks_at_unknown_pairs() && self.list_has_null.load(Relaxed)
            }
            Kind::ProbeOuter | Kind::FullOuter | Kind::ProbeMark => false,
        }
    }
}

impl Probing<'_> {
    /// Semi, anti and mark joins in which finding is matching.
    fn existence(&self, found: &[u32], push: &mut Push<'_>) -> Result<Flow> {
        let join = self.join;
        match join.kind {
            Kind::ProbeMark => {
                let marks = BooleanBuffer::collect_bool(found.len(), |row| found[row] != NO_ROW);
                let mut validity = None;
                if join.null_aware && join.list_has_rows.load(Relaxed) {
                    // Not found, and the list or the key has a NULL: unknown.
                    let list_null = join.list_has_null.load(Relaxed);
                    let known = BooleanBuffer::collect_bool(found.len(), |row| {
                        found[row] != NO_ROW || !(list_null || self.is_null(row))
                    });
                    validity = Some(NullBuffer::new(known)).filter(|v| v.null_count() > 0);
                }
                self.emit_marked(Vector::from_bool(marks, validity), push)
            }
            Kind::ProbeSemi => self.emit_found(found, true, push),
            // NOT IN: a NULL passes only an empty list.
            _ if join.null_aware && join.list_has_rows.load(Relaxed) => {
                self.emit_rows_where(|row| found[row] == NO_ROW && !self.is_null(row), push)
            }
            _ => self.emit_found(found, false, push),
        }
    }

    fn emit_found(&self, found: &[u32], wanted: bool, push: &mut Push<'_>) -> Result<Flow> {
        let mut rows = Vec::with_capacity(found.len());
        rows_found(found, wanted, &mut rows);
        self.emit_rows(&rows, push)
    }

    /// Joins on unique exact keys, without residual.
    fn unique(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        let found = &buffers.found;
        if let Some(marks) = &self.built.matched {
            found.iter().filter(|build| **build != NO_ROW).for_each(|build| marks.set(*build));
        }
        match self.join.kind {
            Kind::BuildSemi | Kind::BuildAnti => Ok(Flow::More),
            Kind::ProbeOuter | Kind::FullOuter => {
                push(self.output(None, |kept| self.built.gather_nullable(kept, found)))
            }
            // A foreign key: every row has its partner, and probe columns go on as they are.
            _ if !found.contains(&NO_ROW) => push(self.output(None, |kept| self.built.gather(kept, found))),
            _ => {
                buffers.pairs.set_found(found);
                self.emit_pairs(&buffers.pairs, push)
            }
        }
    }

    /// Everything else: chains, compared keys, residuals.
    fn expand(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        let rows = self.batch.rows;
        let limit = self.work.query.settings.batch_rows.max(1);
        let next = self.built.table.next();
        let judges_probe = self.judges_probe_rows();
        let stops_at_match = self.join.asks_existence();
        buffers.matched.clear();
        buffers.matched.resize(if judges_probe { rows } else { 0 }, false);
        let crowds = match (self.built.crowds.get(), &self.join.range) {
            (Some(crowds), Some(range)) => {
                let asked = crowds.asked(range, self.batch, &buffers.found, self.work.query)?;
                asked.map(|asked| (crowds, asked))
            }
            _ => None,
        };
        if crowds.is_none()
            && self.join.only_compares(self.built)
            && let Some(comparison) = self.join.residual.as_ref().and_then(Residual::comparison)
        {
            let judged = match &self.built.matched {
                Some(marks) => Judged::Build(marks),
                None => Judged::Probe(&mut buffers.matched),
            };
            let (probe, build) =
                (&self.batch.columns[comparison.probe], &self.built.columns[comparison.build]);
            if judge(comparison.op, probe, build, &buffers.found, next, judged) {
                self.work.check()?;
                return self.emit_judged(buffers, push);
            }
        }
        if next.is_none() {
            // One candidate a row: the whole batch at once.
            buffers.pairs.set_found(&buffers.found);
            if self.settle(buffers, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        } else if let Some(next) = next {
            buffers.pairs.clear();
            let marks_only =
                !self.join.probe_emits() && self.built.table.is_exact() && self.join.residual.is_none();
            buffers.runs.clear();
            buffers.searched.clear();
            for row in 0..rows {
                let mut build = buffers.found[row];
                if let Some((crowds, asked)) = crowds.as_ref().filter(|(crowds, _)| crowds.is_crowd(build)) {
                    if self.search(crowds, asked[row], row, buffers, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    continue;
                }
                if marks_only {
                    self.mark_chain(build, next);
                    continue;
                }
                while build != NO_ROW {
                    if buffers.pairs.len() == limit {
                        if self.settle(buffers, push)? == Flow::Enough {
                            return Ok(Flow::Enough);
                        }
                        buffers.pairs.clear();
                        if stops_at_match && buffers.matched[row] {
                            break;
                        }
                    }
                    buffers.pairs.push(row as u32, build);
                    build = next[build as usize].wrapping_sub(1);
                }
            }
            if self.settle(buffers, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            if let Some((crowds, asked)) = &crowds {
                self.search_in_rounds(crowds, asked, buffers, push)?;
                if let Some(marks) = &self.built.matched {
                    crowds.mark(&mut buffers.runs, marks);
                }
            }
        }
        if self.join.looks_at_unknown_pairs() {
            self.unknown_pairs(buffers)?;
        }
        self.emit_judged(buffers, push)
    }

    /// A row's partners among the rows of a crowded key.
    fn search(
        &self,
        crowds: &Crowds,
        asked: Found,
        row: usize,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        if asked.is_empty() {
            return Ok(Flow::More);
        }
        // Nothing but the range decides.
        let is_decided =
            self.built.table.is_exact() && self.join.range.as_ref().is_some_and(|range| range.rest.is_none());
        if is_decided && self.join.asks_existence() {
            let Buffers { matched, search, places, .. } = buffers;
            matched[row] = crowds.index.exists(asked, search, places);
            return Ok(Flow::More);
        }
        if self.join.asks_existence() {
            buffers.searched.push(row as u32);
            return Ok(Flow::More);
        }
        if is_decided && !self.join.probe_emits() && crowds.index.second.is_none() {
            buffers.runs.push((asked.from, asked.to));
            return Ok(Flow::More);
        }
        self.add_searched(crowds, asked, row, usize::MAX, buffers, push)
    }

    /// Makes pairs of a row and at most so many of the rows that it asks for; `Enough` where there are more.
    fn add_searched(
        &self,
        crowds: &Crowds,
        asked: Found,
        row: usize,
        most: usize,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let limit = self.work.query.settings.batch_rows.max(1);
        let (mut search, mut places) =
            (std::mem::take(&mut buffers.search), std::mem::take(&mut buffers.places));
        let mut left = most;
        let flow = crowds.index.each(asked, (&mut search, &mut places), &mut |places| {
            for place in places {
                if left == 0 {
                    return Ok(Flow::Enough);
                }
                left -= 1;
                if buffers.pairs.len() == limit {
                    if self.settle(buffers, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    buffers.pairs.clear();
                }
                buffers.pairs.push(row as u32, crowds.row(*place));
            }
            Ok(Flow::More)
        })?;
        (buffers.search, buffers.places) = (search, places);
        Ok(flow)
    }

    /// Rows that only are judged, and by more than the range: a few rows of what each asks for are tried first, and
    /// many more only where there was no partner among them.
    fn search_in_rounds(
        &self,
        crowds: &Crowds,
        asked: &[Found],
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<()> {
        let mut open = std::mem::take(&mut buffers.searched);
        let mut most = FIRST_ROUND;
        while !open.is_empty() {
            buffers.pairs.clear();
            let mut left = Vec::new();
            for row in open {
                let at = row as usize;
                if self.add_searched(crowds, asked[at], at, most, buffers, push)? == Flow::Enough {
                    left.push(row);
                }
            }
            self.settle(buffers, push)?;
            left.retain(|row| !buffers.matched[*row as usize]);
            open = left;
            most = most.saturating_mul(ROUND_FACTOR);
        }
        Ok(())
    }

    /// Marks all rows of a key. The first is marked last, so that a marked one says that all are.
    fn mark_chain(&self, first: u32, next: &[u32]) {
        let Some(marks) = &self.built.matched else { return };
        if first == NO_ROW || marks.get(first) {
            return;
        }
        let mut build = next[first as usize].wrapping_sub(1);
        while build != NO_ROW {
            marks.set(build);
            build = next[build as usize].wrapping_sub(1);
        }
        marks.set(first);
    }

    /// Compares and filters the candidates, and does with the pairs that are left what the kind demands.
    fn settle(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        self.work.check()?;
        let Buffers { pairs, matched, .. } = buffers;
        let built = self.built;
        retain_equal(&built.keys, self.keys, self.join.null_equals_null, &mut pairs.probe, &mut pairs.build);
        if let Some(residual) = &self.join.residual {
            residual.retain(self.batch, &built.columns, pairs)?;
        }
        if self.judges_probe_rows() {
            pairs.probe.iter().for_each(|row| matched[*row as usize] = true);
        }
        if let Some(marks) = &built.matched {
            pairs.build.iter().for_each(|row| marks.set(*row));
        }
        match self.join.kind {
            Kind::Inner | Kind::ProbeOuter | Kind::BuildOuter | Kind::FullOuter => {
                self.emit_pairs(pairs, push)
            }
            _ => Ok(Flow::More),
        }
    }

    /// Whether a probe row matched decides something about it.
    fn judges_probe_rows(&self) -> bool {
        self.join.asks_existence() || matches!(self.join.kind, Kind::ProbeOuter | Kind::FullOuter)
    }

    /// What comes out once all pairs of the batch were seen.
    fn emit_judged(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        if self.in_parts {
            return Ok(Flow::More);
        }
        let matched = &buffers.matched;
        let unknown = |row: usize| buffers.unknown.get(row).copied().unwrap_or(false);
        match self.join.kind {
            Kind::ProbeSemi => self.emit_rows_where(|row| matched[row], push),
            Kind::ProbeAnti => {
                // With a single key and no residual NULLs are decided without pairs.
                let simple = self.join.null_aware && !self.join.looks_at_unknown_pairs();
                let nulls_fail = simple && self.join.list_has_rows.load(Relaxed);
                self.emit_rows_where(
                    |row| !matched[row] && !unknown(row) && !(nulls_fail && self.is_null(row)),
                    push,
                )
            }
            Kind::ProbeMark => {
                let simple = self.join.null_aware && !self.join.looks_at_unknown_pairs();
                let list = simple && self.join.list_has_rows.load(Relaxed);
                let list_null = list && self.join.list_has_null.load(Relaxed);
                let marks = BooleanBuffer::from_iter(matched.iter().copied());
                let known = BooleanBuffer::collect_bool(matched.len(), |row| {
                    matched[row] || !(unknown(row) || list_null || (list && self.is_null(row)))
                });
                let validity = Some(NullBuffer::new(known)).filter(|v| v.null_count() > 0);
                self.emit_marked(Vector::from_bool(marks, validity), push)
            }
            Kind::ProbeOuter | Kind::FullOuter => {
                let rows: Vec<u32> =
                    (0..matched.len() as u32).filter(|row| !matched[*row as usize]).collect();
                self.emit_rows(&rows, push)
            }
            Kind::Inner | Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti => Ok(Flow::More),
        }
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.valid.is_some_and(|valid| valid.is_null(row))
    }

    fn emit_pairs(&self, pairs: &Pairs, push: &mut Push<'_>) -> Result<Flow> {
        if pairs.len() == 0 {
            return Ok(Flow::More);
        }
        let rows = self.batch.rows;
        // Ascending and as many as there are: every row once, unless one occurs twice and another not at all.
        let whole = pairs.len() == rows && pairs.probe.iter().enumerate().all(|(at, row)| at as u32 == *row);
        let probe = (!whole).then_some(&pairs.probe[..]);
        push(self.output(probe, |kept| self.built.gather(kept, &pairs.build)))
    }

    /// A batch of the join's output: probe columns at `probe_rows` (`None`: all as they are), build columns as told
    /// by their position among the kept ones.
    fn output(&self, probe_rows: Option<&[u32]>, build: impl Fn(usize) -> Vector) -> Batch {
        let probe = |column: usize| match probe_rows {
            None => self.batch.columns[column].clone(),
            Some(rows) => self.batch.columns[column].gather(rows),
        };
        self.join.columns.batch(probe_rows.map_or(self.batch.rows, <[u32]>::len), probe, build)
    }

    fn emit_rows_where(&self, test: impl Fn(usize) -> bool, push: &mut Push<'_>) -> Result<Flow> {
        let mut rows = vec![0u32; self.batch.rows];
        let mut count = 0;
        for row in 0..self.batch.rows {
            // `count` never passes `row`.
            rows[count] = row as u32;
            count += usize::from(test(row));
        }
        rows.truncate(count);
        self.emit_rows(&rows, push)
    }

    /// Some of the batch's rows, ascending, with NULLs for the build side.
    fn emit_rows(&self, rows: &[u32], push: &mut Push<'_>) -> Result<Flow> {
        if rows.is_empty() {
            return Ok(Flow::More);
        }
        let chosen = (rows.len() < self.batch.rows).then_some(rows);
        push(self.output(chosen, |kept| self.join.columns.null_build(kept, rows.len())))
    }

    fn emit_marked(&self, marks: Vector, push: &mut Push<'_>) -> Result<Flow> {
        push(self.join.columns.marked(self.batch, &marks))
    }
}
