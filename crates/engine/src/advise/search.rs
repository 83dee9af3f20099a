//! The search for a design: in stages, each of which changes one thing of the best design so far and keeps the change
//! if it pays. Layouts first, then sort columns and indices, compared with each other, a few times, then layouts once
//! more with the indices; at the end the design found is measured against the blocks as they are once more, and
//! dropped if it does not hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::{IndexKind, IndexSpecification};
use catalog::{LayoutKind, Table};
use types::{Physical, Result};

use super::Session;
use super::design::{Design, Made, Sample};
use super::replay::Replays;
use super::trial::{Gain, Trial, choose, trials};

const ROUNDS_MIN: usize = 3;
const ROUNDS_MAX: usize = 7;
const FINAL_ROUNDS: usize = 9;
/// Columns that are tried as sort columns and with indices: those that predicates use most.
const COLUMNS_MAX: usize = 3;
/// Bytes of designs that are in memory together, about; and how much larger one may be than the blocks are, about.
const STAGE_BYTES_MAX: u64 = 512 << 20;
const GROWTH: u64 = 3;
/// Changes of order and indices, one after the other, at most.
const CHANGES_MAX: usize = 3;

/// A design that was measured against the blocks as they are.
pub(super) struct Measured {
    /// What the blocks were made by.
    pub design: Design,
    /// How many times as fast as the blocks as they are.
    pub gain: Gain,
    /// Nanoseconds of one execution over the sample.
    pub nanoseconds: f64,
    /// Bytes of the sample's blocks and indices.
    pub bytes: u64,
    /// Time that making the sample's blocks took.
    pub making: Duration,
}

/// The outcome of a search, as `CALL advise` reports it.
pub(super) struct Found {
    /// The blocks as they are: nanoseconds of one execution over the sample, and bytes.
    pub nanoseconds: f64,
    /// Bytes of the sample's blocks as they are.
    pub bytes: u64,
    /// Measured rounds of the shortest comparison.
    pub rounds: usize,
    /// What was tried, each design once, the chosen one not.
    pub tried: Vec<Measured>,
    /// The design to change to; `None` when no design pays.
    pub chosen: Option<Measured>,
    /// Statements that the chosen design slows down, and by how much at most.
    pub slower: Option<(usize, f64)>,
    /// Time was up before everything was tried.
    pub cut: bool,
}

/// One search: what it measures with, and how long it may take.
pub(super) struct Search<'s> {
    /// The session that runs the replays; its cancellation ends the search.
    pub session: &'s Session,
    /// The table to find a design for.
    pub table: &'s Arc<Table>,
    /// The recorded statements to measure with.
    pub replays: &'s Replays,
    /// The blocks that every design is tried on.
    pub sample: &'s Sample,
    /// Nanoseconds that one round over one design takes.
    pub pass: Duration,
    /// When the search stops trying further designs.
    pub deadline: Instant,
}

impl Search<'_> {
    /// Measures designs stage by stage until none pays or time is up. Finding no better design is not an error.
    pub fn run(&self) -> Result<Found> {
        let base = self.sample.as_it_is(self.table);
        let mut found = Found {
            nanoseconds: 0.0,
            bytes: base.bytes,
            rounds: ROUNDS_MAX,
            tried: Vec::new(),
            chosen: None,
            slower: None,
            cut: false,
        };
        let mut best: Option<Made> = None;
        self.stage(&base, &mut best, self.layouts(&base.design), &mut found)?;
        let now =
            |best: &Option<Made>| best.as_ref().map_or_else(|| base.design.clone(), |b| b.design.clone());
        for _ in 0..CHANGES_MAX {
            let before = now(&best);
            let designs = [self.sorts(&before), self.indices(&before)].concat();
            self.stage(&base, &mut best, designs, &mut found)?;
            if now(&best) == before {
                break;
            }
        }
        if now(&best).indices.len() > base.design.indices.len() {
            let designs = self.layouts(&now(&best));
            self.stage(&base, &mut best, designs, &mut found)?;
        }
        self.judge(&base, best, &mut found)?;
        Ok(found)
    }

    /// Other layouts, of the same order where they have one.
    fn layouts(&self, now: &Design) -> Vec<Design> {
        let fixed = |f: &types::Field| f.ty.physical() != Physical::Bytes && !f.ty.is_nested();
        let all_fixed = self.table.columns.fields().iter().all(fixed);
        let row = if all_fixed { LayoutKind::PackedRowStore } else { LayoutKind::SplitRowStore };
        let layouts =
            [LayoutKind::CompressedColumnStore, LayoutKind::ColumnStore, LayoutKind::CompressedRowStore, row];
        let of = |layout| {
            let mut design = Design { layout, ..now.clone() };
            if !design.has_columns() {
                design.sorted_by = None;
            }
            design
        };
        layouts.into_iter().map(of).filter(|design| design != now).collect()
    }

    /// Columns by how much predicates use them.
    fn used(&self, use_of: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.replays.uses.len()).filter(|c| use_of(*c) > 0.0).collect();
        columns.sort_by(|a, b| use_of(*b).total_cmp(&use_of(*a)));
        columns.truncate(COLUMNS_MAX);
        columns
    }

    fn sorts(&self, now: &Design) -> Vec<Design> {
        let uses = &self.replays.uses;
        let layout = if now.has_columns() { now.layout } else { LayoutKind::CompressedColumnStore };
        let orders = self.used(|c| uses[c].equal + uses[c].range).into_iter().map(Some).chain([None]);
        let of = |sorted_by| Design { layout, sorted_by, ..now.clone() };
        orders.map(of).filter(|design| design != now).collect()
    }

    fn indices(&self, now: &Design) -> Vec<Design> {
        let uses = &self.replays.uses;
        let mut designs = Vec::new();
        for column in self.used(|c| uses[c].equal + uses[c].range) {
            // A column that has an index is served; the sort column is searched.
            if now.indices.iter().any(|i| i.column == column) || now.sorted_by == Some(column) {
                continue;
            }
            for kind in IndexKind::ALL {
                let suits = kind.suits(self.table.columns.fields()[column].ty);
                if suits && (kind != IndexKind::Bloom || uses[column].equal > 0.0) {
                    designs.push(now.with_index(IndexSpecification { kind, column }));
                }
            }
        }
        designs
    }

    /// Measures designs against the blocks as they are and the best so far, which becomes the one that pays.
    fn stage(
        &self,
        base: &Made,
        best: &mut Option<Made>,
        mut designs: Vec<Design>,
        found: &mut Found,
    ) -> Result<()> {
        designs.retain(|design| *design != base.design && !found.tried.iter().any(|t| t.design == *design));
        // Designs that are compared lie in memory together: fewer of them where blocks are large.
        let bytes = self.sample.stored.iter().map(|s| s.block.bytes() as u64).sum::<u64>().max(1);
        let together = (STAGE_BYTES_MAX / (bytes * GROWTH)).clamp(1, designs.len().max(1) as u64) as usize;
        for part in designs.chunks(together) {
            self.measure(base, best, part, found)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        base: &Made,
        best: &mut Option<Made>,
        designs: &[Design],
        found: &mut Found,
    ) -> Result<()> {
        let mut made = Vec::new();
        for design in designs {
            self.session.go_on()?;
            if Instant::now() >= self.deadline {
                found.cut = true;
                break;
            }
            made.extend(self.sample.make(self.table, design, &self.session.database.shared)?);
        }
        if made.is_empty() {
            return Ok(());
        }
        let measured: Vec<&Made> = [base].into_iter().chain(best.as_ref()).chain(&made).collect();
        let Some(rounds) = self.rounds(measured.len()) else {
            found.cut = true;
            return Ok(());
        };
        found.rounds = found.rounds.min(rounds);
        let all = trials(self.session, self.replays, &measured, rounds)?;
        let others = measured.len() - made.len();
        for (made, trial) in made.iter().zip(&all[others..]) {
            found.tried.push(as_measured(made, trial, &all[0]));
        }
        if let Some(at) = choose(&all[others - 1], &all[others..], self.sample.scale) {
            *best = Some(made.swap_remove(at));
        }
        Ok(())
    }

    /// How many rounds over so many designs there is time for; `None` when there is not.
    fn rounds(&self, designs: usize) -> Option<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now()).as_secs_f64() / 2.0;
        let round = self.pass.as_secs_f64().max(1e-6) * designs as f64;
        let rounds = (left / round - 1.0).clamp(0.0, ROUNDS_MAX as f64) as usize;
        (rounds >= ROUNDS_MIN).then_some(rounds)
    }

    fn judge(&self, base: &Made, best: Option<Made>, found: &mut Found) -> Result<()> {
        let measured: Vec<&Made> = [base].into_iter().chain(best.as_ref()).collect();
        let all = trials(self.session, self.replays, &measured, FINAL_ROUNDS)?;
        found.nanoseconds = all[0].median();
        let (Some(best), Some(trial)) = (&best, all.get(1)) else { return Ok(()) };
        let last = as_measured(best, trial, &all[0]);
        found.tried.retain(|t| t.design != best.design);
        if trial.pays(&all[0], self.sample.scale) {
            found.slower = self.slower(&all[0], trial);
            found.chosen = Some(last);
        } else {
            found.tried.push(last);
        }
        Ok(())
    }

    /// Statements that the trial's design slows down by more than a tenth, and by how much at most.
    fn slower(&self, base: &Trial, trial: &Trial) -> Option<(usize, f64)> {
        let ratios = base.replays.iter().zip(&trial.replays).map(|(base, own)| own / base.max(1.0));
        let slow: Vec<(usize, f64)> = self
            .replays
            .replays
            .iter()
            .zip(ratios)
            .filter(|(_, ratio)| *ratio > 1.1)
            .map(|(replay, ratio)| (replay.statement, ratio))
            .collect();
        let mut statements: Vec<usize> = slow.iter().map(|(statement, _)| *statement).collect();
        statements.sort_unstable();
        statements.dedup();
        let most = slow.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::max);
        (!statements.is_empty()).then_some((statements.len(), most))
    }
}

fn as_measured(made: &Made, trial: &Trial, base: &Trial) -> Measured {
    Measured {
        design: made.design.clone(),
        gain: trial.over(base),
        nanoseconds: trial.median(),
        bytes: made.bytes,
        making: made.making,
    }
}
