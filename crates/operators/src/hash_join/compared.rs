//! Semi- and anti-joins whose residual compares an integer of either side: EXISTS (same key, other supplier).
//!
//! Only whether a row has a partner is asked, so no pairs are made: the chain of a key is walked and the two integers
//! compared on the way. A probe row that is judged stops at its first partner; build rows that are judged are marked.

use std::cmp::Ordering;

use arrow_buffer::NullBuffer;
use types::Comparison;
use vector::gather::NO_ROW;
use vector::{Data, Vector};

use super::HashJoin;
use super::row_marks::RowMarks;
use super::state::Built;
use plan::PhysicalJoinKind as Kind;

/// What is done with partners.
pub(super) enum Judged<'a> {
    /// A flag a probe row.
    Probe(&'a mut [bool]),
    /// A mark a build row.
    Build(&'a RowMarks),
}

impl HashJoin {
    /// Whether pairs need not be made: their keys are not compared any more, and only partners count.
    pub(super) fn only_compares(&self, built: &Built) -> bool {
        let judges = matches!(
            self.kind,
            Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark | Kind::BuildSemi | Kind::BuildAnti
        );
        judges && !self.null_aware && built.table.is_exact()
    }
}

/// Judges rows by `op` on the columns of the candidates; false when the columns are not plain integers.
pub(super) fn judge(
    op: Comparison,
    probe: &Vector,
    build: &Vector,
    found: &[u32],
    next: Option<&[u32]>,
    judged: Judged<'_>,
) -> bool {
    let flat = if probe.is_flat() { None } else { Some(probe.flatten()) };
    let probe = flat.as_ref().unwrap_or(probe);
    let walk = Walk {
        less: op.holds(Ordering::Less),
        equal: op.holds(Ordering::Equal),
        greater: op.holds(Ordering::Greater),
        probe_nulls: probe.validity().filter(|v| v.null_count() > 0),
        build_nulls: build.validity().filter(|v| v.null_count() > 0),
        found,
        next,
    };
    match (probe.data(), build.data()) {
        (Data::I16(p), Data::I16(b)) => walk.all(p, b, judged),
        (Data::I32(p), Data::I32(b)) => walk.all(p, b, judged),
        (Data::I64(p), Data::I64(b)) => walk.all(p, b, judged),
        _ => return false,
    }
    true
}

struct Walk<'a> {
    less: bool,
    equal: bool,
    greater: bool,
    probe_nulls: Option<&'a NullBuffer>,
    build_nulls: Option<&'a NullBuffer>,
    found: &'a [u32],
    next: Option<&'a [u32]>,
}

impl Walk<'_> {
    fn all<T: Ord + Copy>(&self, probe: &[T], build: &[T], judged: Judged<'_>) {
        match judged {
            Judged::Probe(matched) => {
                for (row, matched) in matched.iter_mut().enumerate() {
                    *matched = self.partners(row, probe, build).next().is_some();
                }
            }
            Judged::Build(marks) => {
                for row in 0..self.found.len() {
                    self.partners(row, probe, build).for_each(|partner| marks.set(partner));
                }
            }
        }
    }

    /// Build rows of the key for which the comparison is TRUE.
    #[inline(always)]
    fn partners<'a, T: Ord + Copy>(
        &'a self,
        row: usize,
        probe: &[T],
        build: &'a [T],
    ) -> impl Iterator<Item = u32> + 'a {
        let value = probe[row];
        let is_null = self.probe_nulls.is_some_and(|nulls| nulls.is_null(row));
        let first = if is_null { NO_ROW } else { self.found[row] };
        let follow = |at: &u32| {
            let after = self.next.map_or(NO_ROW, |next| next[*at as usize].wrapping_sub(1));
            (after != NO_ROW).then_some(after)
        };
        std::iter::successors((first != NO_ROW).then_some(first), follow).filter(move |at| {
            let other = build[*at as usize];
            let holds = (self.less & (value < other))
                | (self.equal & (value == other))
                | (self.greater & (value > other));
            holds && self.build_nulls.is_none_or(|nulls| nulls.is_valid(*at as usize))
        })
    }
}
