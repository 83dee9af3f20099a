//! Loops of a program: the rounds of a recursion.
//!
//! `base` runs once. `step` then runs over the rows that came last, until there are none, or until the only reader of the
//! rows has enough of them. The rounds exchange typed batches; with DISTINCT a table of the engine's own aggregation
//! (`hash::aggregate::GroupTable`) holds each row that came before once, and tells the new ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hash::aggregate::{GroupTable, KeyBatch, KeyColumn, KeyLayout};
use memory::Reservation;
use plan::PhysicalPlan;
use plan::program::Loop;
use types::stop::{self, Place};
use types::{Field, Result, Schema};
use vector::Batch;

use super::{Execution, Part, Purpose, SharedRows};
use crate::run::{Run, conform};

impl Execution<'_> {
    /// All rows of a loop.
    pub(super) fn repeat(&mut self, plan: &Loop) -> Result<Vec<Batch>> {
        let of_keys = plan.keyed.as_ref().map_or(0, |keyed| keyed.candidates.max(keyed.state));
        let slots = self.slots.len().max(plan.working.max(plan.result).max(of_keys) + 1);
        self.slots.resize(slots, SharedRows::default());
        self.known.rows.resize(slots, None);
        let (base, step) = (Arc::new(plan.base.clone()), Arc::new(plan.step.clone()));
        let counted = plan.until.as_ref().and_then(|until| until.counted.clone()).map(Arc::new);
        let schema = Schema::new(plan.declared.clone());
        let started = Instant::now();
        let (mut base_run, mut step_run, mut all) = (None, None, Vec::new());
        if let Some(keyed) = plan.keyed.as_ref().filter(|_| self.is_running()) {
            let rounds = self.rounds_of_keys(plan, keyed, (&base, &step))?;
            (base_run, step_run, all) = (rounds.base, rounds.step, rounds.rows);
        } else if self.is_running() {
            let budget = &self.session.database.shared.budget;
            let mut seen = plan.distinct.then(|| Seen::new(&plan.declared, budget));
            let mut counts = 0;
            let (run, mut new) = self.round(&plan.first_title(), &base, &schema)?;
            base_run = Some(run);
            loop {
                self.session.go_on()?;
                stop::check(Place::Round)?;
                if let Some(seen) = &mut seen {
                    new = seen.unseen(new)?;
                }
                let came: usize = new.iter().map(|batch| batch.rows).sum();
                if came == 0 {
                    break;
                }
                all.extend(new.iter().cloned());
                self.slots[plan.working] = Arc::new(new);
                if let Some(until) = &plan.until {
                    counts += match &counted {
                        None => came,
                        Some(counted) => self.run_plan(&plan.next_title(), counted)?.result.rows(),
                    };
                    if counts as u64 >= until.rows {
                        break;
                    }
                }
                let (run, rows) = self.round(&plan.next_title(), &step, &schema)?;
                (step_run, new) = (Some(run), rows);
            }
        }
        self.slots[plan.working] = SharedRows::default();
        if self.purpose != Purpose::Run {
            let executed = started.elapsed();
            self.parts.push(Part { title: plan.first_title(), plan: base, run: base_run, executed });
            let title = format!("{}, last time", plan.next_title());
            self.parts.push(Part { title, plan: step, run: step_run, executed: Duration::ZERO });
            if let Some(keyed) = &plan.keyed {
                let (title, plan) = (plan.fold_title(), Arc::new(keyed.fold.clone()));
                self.parts.push(Part { title, plan, run: None, executed: Duration::ZERO });
            }
        }
        Ok(all)
    }

    /// One round: its run, and its rows in their declared types.
    pub(super) fn round(
        &self,
        title: &str,
        plan: &Arc<PhysicalPlan>,
        schema: &Schema,
    ) -> Result<(Run, Vec<Batch>)> {
        let run = self.run_plan(title, plan)?;
        let rows = conform(run.result.batches.clone(), schema)?;
        Ok((run, rows))
    }
}

/// The last runs of both plans, and the rows of the recursion.
pub(super) struct Rounds {
    /// The run of the first rows.
    pub base: Option<Run>,
    /// The last round's.
    pub step: Option<Run>,
    /// The result.
    pub rows: Vec<Batch>,
}

/// The rows that came in earlier rounds, each once.
pub(super) struct Seen {
    layout: KeyLayout,
    table: GroupTable,
    keys: KeyBatch,
    /// The number of each row of a batch.
    numbers: Vec<u32>,
    /// The bytes of the table.
    reserved: Reservation,
}

impl Seen {
    pub(super) fn new(columns: &[Field], budget: &memory::Budget) -> Self {
        let columns: Vec<KeyColumn> =
            columns.iter().map(|column| KeyColumn { ty: column.ty, nullable: true }).collect();
        let layout = KeyLayout::new(&columns);
        let table = GroupTable::new(&layout);
        Seen { layout, table, keys: KeyBatch::default(), numbers: vec![], reserved: budget.reservation() }
    }

    /// The rows that have not been seen, each once.
    pub(super) fn unseen(&mut self, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        let mut kept = Vec::with_capacity(batches.len());
        for batch in batches {
            stop::check(Place::Round)?;
            let compared: Vec<_> =
                batch.columns.iter().map(|column| vector::nested::by_equality(column.clone())).collect();
            self.layout.encode(&compared, batch.rows, &mut self.keys)?;
            let before = self.table.len();
            self.table.find_or_insert(&self.keys.view(), None, &mut self.numbers);
            self.reserved.resize(self.table.bytes() as u64).map_err(operators::context::out_of_memory)?;
            // New rows are numbered in the order in which they first come.
            let mut next = before as u32;
            let mut new = Vec::with_capacity(self.table.len() - before);
            for (row, number) in (0u32..).zip(&self.numbers) {
                if *number == next {
                    new.push(row);
                    next += 1;
                }
            }
            if new.len() == batch.rows {
                kept.push(batch);
            } else if !new.is_empty() {
                kept.push(batch.gather(&new));
            }
        }
        Ok(kept)
    }
}
