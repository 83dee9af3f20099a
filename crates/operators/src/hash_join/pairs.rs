//! Candidate pairs of probe and build rows, and the condition they must meet.
//!
//! A `Pairs` belongs to one worker and is used again for each batch. Its probe rows ascend, which the output and the
//! judging of probe rows rely on; removing pairs keeps their order. `Residual` is made at plan time over the few
//! columns that the condition reads, gathers these for the pairs at hand, and keeps the pairs for which it is TRUE. A
//! comparison of one probe with one build column is recognised and tested without gathering (`compared.rs`).

use expr::{Predicate, Selected};
use plan::{Expr, ExprKind};
use types::{Comparison, Result};
use vector::gather::NO_ROW;
use vector::{Batch, Vector};

/// Pairs; the lists have one length. Probe rows ascend.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Row numbers in the probe batch.
    pub probe: Vec<u32>,
    /// Row numbers in the build side, one for each of `probe`.
    pub build: Vec<u32>,
}

impl Pairs {
    /// Removes all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.probe.clear();
        self.build.clear();
    }
    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.probe.len()
    }
    /// Appends a pair; `probe` is not below the last one's.
    #[inline(always)]
    pub fn push(&mut self, probe: u32, build: u32) {
        self.probe.push(probe);
        self.build.push(build);
    }
    /// The pair of every row that found one.
    pub fn set_found(&mut self, found: &[u32]) {
        self.probe.clear();
        rows_found(found, true, &mut self.probe);
        self.build.clear();
        if self.probe.len() == found.len() {
            self.build.extend_from_slice(found);
        } else {
            self.build.extend(self.probe.iter().map(|row| found[*row as usize]));
        }
    }
    fn keep(&mut self, places: &[u32]) {
        for (at, place) in places.iter().enumerate() {
            self.probe[at] = self.probe[*place as usize];
            self.build[at] = self.build[*place as usize];
        }
        self.probe.truncate(places.len());
        self.build.truncate(places.len());
    }
}

/// Appends the rows that found a build row (or, those that did not).
pub(super) fn rows_found(found: &[u32], wanted: bool, rows: &mut Vec<u32>) {
    let mut words = [u64::MAX; 64];
    for (at, found) in found.chunks(64 * 64).enumerate() {
        let count = found.len().div_ceil(64);
        words[..count].fill(u64::MAX);
        simd::and_range(found, NO_ROW, NO_ROW, wanted, &mut words[..count]);
        if found.len() % 64 != 0 {
            words[count - 1] &= (1 << (found.len() % 64)) - 1;
        }
        simd::append_indices(&words[..count], (at * 64 * 64) as u32, rows);
    }
}

/// A condition on pairs that is not an equality of keys.
pub(crate) struct Residual {
    predicate: Predicate,
    inputs: Vec<PairInput>,
    comparison: Option<PairComparison>,
}

/// A residual that compares a probe column with a build column (position among the kept ones).
#[derive(Clone, Copy)]
pub(super) struct PairComparison {
    /// The operator between the probe value and the build value, in that order.
    pub op: Comparison,
    /// The column of the probe batch.
    pub probe: usize,
    /// The position of the build column among the kept ones.
    pub build: usize,
}

impl PairComparison {
    fn of(condition: &Expr, place: &dyn Fn(usize) -> Result<PairInput>) -> Result<Option<PairComparison>> {
        let ExprKind::Compare { op, left, right } = &condition.kind else { return Ok(None) };
        let (ExprKind::Input(l), ExprKind::Input(r)) = (&left.kind, &right.kind) else { return Ok(None) };
        if !left.ty.same_representation(right.ty) {
            return Ok(None);
        }
        Ok(match (place(*l)?, place(*r)?) {
            (PairInput::Probe(probe), PairInput::Build(build)) => {
                Some(PairComparison { op: *op, probe, build })
            }
            (PairInput::Build(build), PairInput::Probe(probe)) => {
                Some(PairComparison { op: op.flipped(), probe, build })
            }
            _ => None,
        })
    }
}

#[derive(Clone, Copy)]
enum PairInput {
    Probe(usize),
    /// Position among the kept build columns.
    Build(usize),
}

impl Residual {
    /// `condition` is over the probe's columns followed by the build's; `kept` places a build column.
    pub fn new(
        condition: &Expr,
        probe_columns: usize,
        kept: &dyn Fn(usize) -> Result<usize>,
    ) -> Result<Self> {
        let used: Vec<usize> = condition.inputs().into_iter().collect();
        let place = |input: usize| match input.checked_sub(probe_columns) {
            None => Ok(PairInput::Probe(input)),
            Some(build) => Ok(PairInput::Build(kept(build)?)),
        };
        let inputs = used.iter().map(|input| place(*input)).collect::<Result<Vec<PairInput>>>()?;
        let comparison = PairComparison::of(condition, &place)?;
        let compact = condition.clone().transform(&mut |e| match e.kind {
            // `used` holds every input of the condition.
            ExprKind::Input(i) => Expr::input(used.binary_search(&i).unwrap_or(0), e.ty),
            _ => e,
        });
        Ok(Residual { predicate: Predicate::compile(&compact)?, inputs, comparison })
    }

    /// The condition as a comparison of two columns, if it is one.
    pub(super) fn comparison(&self) -> Option<PairComparison> {
        self.comparison
    }

    /// Keeps the pairs for which the condition is TRUE.
    pub fn retain(&self, probe: &Batch, build: &[Vector], pairs: &mut Pairs) -> Result<()> {
        if pairs.len() == 0 {
            return Ok(());
        }
        let columns = self
            .inputs
            .iter()
            .map(|input| match input {
                PairInput::Probe(column) => probe.columns[*column].gather(&pairs.probe),
                PairInput::Build(kept) => build[*kept].gather(&pairs.build),
            })
            .collect();
        match self.predicate.select(&Batch::new(columns, pairs.len()))? {
            Selected::All => {}
            Selected::None => pairs.clear(),
            Selected::Rows(rows) => pairs.keep(&rows),
        }
        Ok(())
    }
}
