//! The probe: a batch against all build rows, by loops over the side with fewer rows.
//!
//! The row of the outer loop becomes constants, and the condition is evaluated over the inner side's vectors. Pairs
//! that come out are gathered until a batch is full; many matches of one build row leave as a batch of their own.
//! Probe rows that only need a verdict end with their first decisive pair, and matched build rows are marked for the
//! source of build rows. Each worker has buffers of its own; the build side is only read, apart from the marks.

use std::sync::Arc;

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::Result;
use vector::{Batch, Vector};

use super::condition::Outcome;
use super::{Built, NestedLoopJoin};
use crate::pipeline::{Flow, Local, Push, Transform, Work, local_state};

/// The transform over the probe side.
pub(super) struct Probe(pub Arc<NestedLoopJoin>);

/// Matches of one build row from which on they go out as a batch of their own, the build row as constants.
const OWN_BATCH_ROWS: usize = 256;

#[derive(Default)]
struct Buffers {
    /// Pairs on their way out.
    probe: Vec<u32>,
    build: Vec<u32>,
    matched: Vec<bool>,
    unknown: Vec<bool>,
}

impl Buffers {
    /// Empty for a batch of so many rows.
    fn begin(&mut self, rows: usize) {
        self.probe.clear();
        self.build.clear();
        for judged in [&mut self.matched, &mut self.unknown] {
            judged.clear();
            judged.resize(rows, false);
        }
    }
}

struct Looping<'a> {
    join: &'a NestedLoopJoin,
    built: &'a Built,
    batch: &'a Batch,
    work: &'a Work<'a>,
    limit: usize,
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
        let nothing = !join.kind.keeps_probe_rows();
        if built.rows == 0 && nothing {
            return Ok(Flow::Enough);
        }
        let buffers = local_state::<Buffers>(local);
        buffers.begin(batch.rows);
        let limit = work.query.settings.batch_rows.max(1);
        let looping = Looping { join, built, batch: &batch, work, limit };
        let flow = if built.rows <= batch.rows {
            looping.over_build_rows(buffers, push)?
        } else {
            looping.over_probe_rows(buffers, push)?
        };
        if flow == Flow::Enough || looping.flush(buffers, push)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        join.columns.emit_judged(join.kind, &batch, &buffers.matched, &buffers.unknown, push)
    }
}

impl Looping<'_> {
    fn over_build_rows(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        for row in 0..self.built.rows {
            self.work.check()?;
            if self.is_decided(row as u32, buffers) {
                continue;
            }
            let outcome = match &self.join.condition {
                Some(condition) => condition.with_build_row(
                    self.batch,
                    &self.built.columns,
                    row,
                    self.join.null_aware,
                    self.work.query,
                )?,
                None => Outcome { matching: (0..self.batch.rows as u32).collect(), unknown: vec![] },
            };
            outcome.matching.iter().for_each(|p| buffers.matched[*p as usize] = true);
            outcome.unknown.iter().for_each(|p| buffers.unknown[*p as usize] = true);
            if let Some(marks) = &self.built.matched
                && (!outcome.matching.is_empty() || !outcome.unknown.is_empty())
            {
                marks.set(row as u32);
            }
            if !self.join.kind.emits_pairs() {
                continue;
            }
            let flow = if outcome.matching.len() >= OWN_BATCH_ROWS.min(self.limit) {
                push(self.with_build_row(&outcome.matching, row))?
            } else {
                let pairs = outcome.matching.iter().map(|probe| (*probe, row as u32));
                self.add(pairs, outcome.matching.len(), buffers, push)?
            };
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    fn over_probe_rows(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        for row in 0..self.batch.rows {
            for first in (0..self.built.rows).step_by(self.limit) {
                self.work.check()?;
                if self.is_judged_alone() && (buffers.matched[row] || buffers.unknown[row] && !self.is_mark())
                {
                    break;
                }
                let rows = (self.built.rows - first).min(self.limit);
                let outcome = match &self.join.condition {
                    Some(condition) => condition.with_probe_row(
                        self.batch,
                        row,
                        &self.built.columns,
                        first,
                        rows,
                        self.join.null_aware,
                        self.work.query,
                    )?,
                    None => Outcome { matching: (0..rows as u32).collect(), unknown: vec![] },
                };
                buffers.matched[row] |= !outcome.matching.is_empty();
                buffers.unknown[row] |= !outcome.unknown.is_empty();
                if let Some(marks) = &self.built.matched {
                    let found = outcome.matching.iter().chain(&outcome.unknown);
                    found.for_each(|build| marks.set(first as u32 + build));
                }
                if self.join.kind.emits_pairs() {
                    let pairs = outcome.matching.iter().map(|build| (row as u32, first as u32 + build));
                    if self.add(pairs, outcome.matching.len(), buffers, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
            }
        }
        Ok(Flow::More)
    }

    /// Only probe rows are judged, so a decided one needs no further pair.
    fn is_judged_alone(&self) -> bool {
        matches!(self.join.kind, Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark)
    }
    fn is_mark(&self) -> bool {
        self.join.kind == Kind::ProbeMark
    }
    /// Build row `row` can change nothing more.
    fn is_decided(&self, row: u32, buffers: &Buffers) -> bool {
        match (self.join.kind, &self.built.matched) {
            (Kind::BuildSemi | Kind::BuildAnti, Some(marks)) => marks.get(row),
            (Kind::ProbeSemi, _) => buffers.matched.iter().all(|matched| *matched),
            _ => false,
        }
    }

    /// At most a batch's rows at a time come in, so a flush makes room for all of them.
    fn add(
        &self,
        pairs: impl Iterator<Item = (u32, u32)>,
        count: usize,
        buffers: &mut Buffers,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        if buffers.probe.len() + count > self.limit && self.flush(buffers, push)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        for (probe, build) in pairs {
            buffers.probe.push(probe);
            buffers.build.push(build);
        }
        Ok(Flow::More)
    }

    fn flush(&self, buffers: &mut Buffers, push: &mut Push<'_>) -> Result<Flow> {
        let rows = buffers.probe.len();
        if rows == 0 {
            return Ok(Flow::More);
        }
        let batch = self.join.columns.batch(
            rows,
            |column| self.batch.columns[column].gather(&buffers.probe),
            |kept| self.built.columns[kept].gather(&buffers.build),
        );
        buffers.probe.clear();
        buffers.build.clear();
        push(batch)
    }

    fn with_build_row(&self, probe_rows: &[u32], row: usize) -> Batch {
        let all = probe_rows.len() == self.batch.rows;
        self.join.columns.batch(
            probe_rows.len(),
            |column| match all {
                true => self.batch.columns[column].clone(),
                false => self.batch.columns[column].gather(probe_rows),
            },
            |kept| {
                let column = &self.built.columns[kept];
                Vector::constant(column.ty(), column.value(row), probe_rows.len())
            },
        )
    }
}
