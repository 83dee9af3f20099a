//! The rounds of a recursion with USING KEY, whose result is a row for each key.
//!
//! A round's rows are candidates, of which a plan of its own makes the rows of all keys. Where an aggregate gives the same
//! over its own results, the candidates are those rows and the new ones; else the candidates of all rounds are kept and
//! folded again. What the next round is handed are the candidates or, with DISTINCT, the keys' rows that changed; the
//! recursion ends where these are none.

use std::sync::Arc;

use plan::PhysicalPlan;
use plan::program::{KeyedLoop, Loop};
use types::stop::{self, Place};
use types::{Result, Schema};
use vector::Batch;

use super::Execution;
use super::loops::{Rounds, Seen};

impl Execution<'_> {
    /// The rows of all keys when the rounds have ended.
    pub(super) fn rounds_of_keys(
        &mut self,
        plan: &Loop,
        keyed: &KeyedLoop,
        (base, step): (&Arc<PhysicalPlan>, &Arc<PhysicalPlan>),
    ) -> Result<Rounds> {
        let (raw, whole) = (Schema::new(plan.declared.clone()), Schema::new(keyed.declared.clone()));
        let fold = Arc::new(keyed.fold.clone());
        let (run, mut new) = self.round(&plan.first_title(), base, &raw)?;
        let mut rounds = Rounds { base: Some(run), step: None, rows: Vec::new() };
        let mut came: Vec<Batch> = Vec::new();
        self.slots[keyed.state] = Arc::default();
        loop {
            self.session.go_on()?;
            stop::check(Place::Round)?;
            if new.iter().all(|batch| batch.rows == 0) {
                break;
            }
            let candidates = match keyed.renews {
                true => rounds.rows.iter().chain(&new).cloned().collect(),
                false => {
                    came.extend(new.iter().cloned());
                    came.clone()
                }
            };
            self.slots[keyed.candidates] = Arc::new(candidates);
            let (_, rows) = self.round(&plan.fold_title(), &fold, &whole)?;
            self.slots[keyed.candidates] = Arc::default();
            if plan.distinct {
                let mut seen = Seen::new(&keyed.declared, &self.session.database.shared.budget);
                seen.unseen(std::mem::take(&mut rounds.rows))?;
                new = seen.unseen(rows.clone())?;
            }
            rounds.rows = rows;
            self.slots[keyed.state] = Arc::new(rounds.rows.clone());
            if new.iter().all(|batch| batch.rows == 0) {
                break;
            }
            self.slots[plan.working] = Arc::new(new);
            let (run, rows) = self.round(&plan.next_title(), step, &raw)?;
            (rounds.step, new) = (Some(run), rows);
        }
        self.slots[keyed.state] = Arc::default();
        Ok(rounds)
    }
}
