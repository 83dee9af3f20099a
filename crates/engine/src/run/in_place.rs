//! Queries over constant rows, which the thread of their statement evaluates where they stand (`operators::in_place`).
//!
//! Such a query has no segments and asks for no worker. All else is as with any other: it is seen to run, its time and
//! memory are charged, its trace has its plan with the rows of each node, a cancel or a deadline ends it at its next
//! batch, and memory is asked of the same budget. What it is made of is kept with its plan, so that a text that comes
//! again compiles nothing.
//!
//! Some statements are left to the scheduler although their plans could be evaluated: those with a memory limit of
//! their own, which work orders keep account of; those that are held; those whose operators are timed; those that come
//! while another query needs the memory for itself; and, for a second try, those that found no memory, since the scheduler
//! knows how to wait for others.

use operators::in_place::{Evaluated, InPlace, Surroundings};
use scheduler::Evaluating;
use types::{Result, SqlState};
use vector::Batch;

use super::Form;
use crate::Session;
use crate::plan_cache::PlannedQuery;
use crate::relations::SessionRelations;
use crate::settings::TraceLevel;
use crate::statement::StatementContext;

impl Session {
    /// The rows of a query that is evaluated in place; `None` where it is a matter of work orders.
    pub(super) fn evaluated_in_place(
        &self,
        query: &PlannedQuery,
        relations: &SessionRelations,
        form: Form,
    ) -> Result<Option<Vec<Batch>>> {
        let Some(statement) = relations.statement() else { return Ok(None) };
        let settings = relations.session_settings();
        let own = statement.query();
        let limited = own.memory_max() < u64::MAX || own.is_held();
        if limited || settings.trace == TraceLevel::Full || self.encodes_plans() {
            return Ok(None);
        }
        let in_place = match query.in_place.get() {
            Some(known) => known,
            // A failure to compile is told by who runs it.
            None => {
                let made = InPlace::of(&query.plan).ok().flatten();
                query.in_place.get_or_init(|| made)
            }
        };
        let Some(in_place) = in_place else { return Ok(None) };
        let Some(running) = own.evaluate() else { return Ok(None) };
        let surroundings =
            Surroundings { budget: &self.database.shared.budget, batch_rows: settings.batch_rows };
        let outcome = evaluate(running, statement, query, in_place, &surroundings);
        match outcome {
            Ok(batches) => batches.into_iter().map(|batch| form.conform(batch, &query.schema)).collect(),
            Err(error) if error.state() == SqlState::OutOfMemory => return Ok(None),
            Err(error) => Err(error),
        }
        .map(Some)
    }
}

/// Evaluates a plan as part of its statement: charged, and noted in its trace however it ends.
fn evaluate(
    running: Evaluating<'_>,
    statement: &StatementContext,
    query: &PlannedQuery,
    in_place: &InPlace,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Batch>> {
    let began = statement.charge_planning();
    let held = memory::thread_bytes();
    let outcome = in_place.evaluate(surroundings);
    let took = statement.skip_time().duration_since(began);
    running.done(took.as_nanos() as u64, memory::thread_bytes() - held);
    let (batches, rows) = match outcome {
        Ok(Evaluated { batches, rows }) => (Ok(batches), rows),
        Err(error) => (Err(error), Box::default()),
    };
    if statement.trace().records() {
        statement.trace().note_evaluated(&query.plan, rows, began, took);
    }
    batches
}
