//! Recursive queries, and prepared statements: what runs more than once.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use plan::{LogicalQuery, Statement};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Part, Purpose, RunAs, SharedRows, conform};
use crate::statistics::SnapshotStatistics;

impl Session {
    /// Runs the recursive queries of a query, each to its end; `shared` gets their rows. Time spent in the optimizer.
    pub(crate) fn run_recursions(
        &self,
        query: &mut LogicalQuery,
        relations: &SessionRelations,
        purpose: Purpose,
        parts: &mut Vec<Part>,
        shared: &mut Vec<SharedRows>,
    ) -> Result<Duration> {
        let statistics = SnapshotStatistics::new(relations.snapshot());
        let settings = self.settings().optimizer.clone();
        let mut planning = Duration::ZERO;
        for recursion in std::mem::take(&mut query.recursions) {
            let started = Instant::now();
            let mut optimized = |plan, output: &[plan::ColumnId]| {
                optimizer::optimize_plan(plan, &mut query.columns, output, &statistics, &settings)
            };
            let base = Arc::new(optimized(recursion.base, &recursion.base_columns)?);
            let step = Arc::new(optimized(recursion.step, &recursion.step_columns)?);
            planning += started.elapsed();
            let fields = recursion.base_columns.iter().map(|id| {
                let column = query.columns.get(*id);
                Field::new(column.name.clone(), column.ty, true)
            });
            let schema = Schema::new(fields.collect());
            // One inside another has the larger numbers and runs first: its rows stay.
            if shared.len() <= recursion.result {
                shared.resize(recursion.result + 1, SharedRows::default());
            }
            let title = |part: &str| format!("recursive query {}, {part}", recursion.name);
            let started = Instant::now();
            let (mut base_run, mut step_run) = (None, None);
            if purpose != Purpose::Explain {
                let run_as = RunAs { analyze: purpose == Purpose::Analyze, ..RunAs::default() };
                let mut all: Vec<Batch> = Vec::new();
                let mut seen: HashSet<Vec<Value>> = HashSet::new();
                let run = self.run_plan(&base, relations, shared, run_as.clone())?;
                let mut new = conform(run.result.batches.clone(), &schema)?;
                base_run = Some(run);
                crate::statement::name_part(&title("first rows"));
                loop {
                    self.go_on()?;
                    if recursion.distinct {
                        new = unseen(new, &mut seen);
                    }
                    if new.iter().all(Batch::is_empty) {
                        break;
                    }
                    all.extend(new.iter().cloned());
                    shared[recursion.working] = Arc::new(new);
                    let run = self.run_plan(&step, relations, shared, run_as.clone())?;
                    new = conform(run.result.batches.clone(), &schema)?;
                    step_run = Some(run);
                    crate::statement::name_part(&title("repeated"));
                }
                shared[recursion.working] = SharedRows::default();
                shared[recursion.result] = Arc::new(all);
            }
            if purpose != Purpose::Run {
                let executed = started.elapsed();
                parts.push(Part { title: title("first rows"), plan: base, run: base_run, executed });
                let executed = Duration::ZERO;
                parts.push(Part { title: title("repeated, last time"), plan: step, run: step_run, executed });
            }
        }
        Ok(planning)
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, std::collections::BTreeMap<String, String>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn prepare_statement(&self, name: String, text: String) -> Result<ResultSet> {
        let mut prepared = self.prepared();
        if prepared.contains_key(&name) {
            return Err(Error::new(
                SqlState::DuplicatePreparedStatement,
                format!("prepared statement \"{name}\" already exists"),
            )
            .with_hint("DEALLOCATE it first"));
        }
        prepared.insert(name, text);
        Ok(ResultSet::done("PREPARE"))
    }

    pub(crate) fn deallocate(&self, name: Option<&str>) -> Result<ResultSet> {
        match name {
            None => self.prepared().clear(),
            Some(name) => {
                if self.prepared().remove(name).is_none() {
                    return Err(unknown(name));
                }
            }
        }
        Ok(ResultSet::done("DEALLOCATE"))
    }

    /// A prepared statement is planned with its arguments as if they had been written into it.
    /// A prepared statement, planned with its arguments.
    pub(crate) fn planned_prepared(
        &self,
        name: &str,
        arguments: &[(Value, Type)],
        relations: &SessionRelations,
    ) -> Result<Statement> {
        let text = self.prepared().get(name).cloned().ok_or_else(|| unknown(name))?;
        let planned = sql::split(&text).and_then(|statements| match statements.first() {
            Some(first) => sql::plan_with(&text, first, relations, arguments),
            None => Err(Error::new(SqlState::SyntaxError, "the statement is empty")),
        });
        let planned = planned.map_err(|error| {
            // Its place is one of the prepared text.
            let mut told = Error::new(error.state(), error.message());
            if let Some(hint) = error.hint() {
                told = told.with_hint(hint);
            }
            told.with_detail(format!("in prepared statement \"{name}\""))
        })?;
        if matches!(
            planned,
            Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate { .. }
        ) {
            return Err(Error::unsupported(
                "a prepared statement that prepares or executes is not supported",
            ));
        }
        Ok(planned)
    }
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UndefinedPreparedStatement, format!("prepared statement \"{name}\" does not exist"))
}

/// The rows that have not been seen, each once.
fn unseen(batches: Vec<Batch>, seen: &mut HashSet<Vec<Value>>) -> Vec<Batch> {
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        let new: Vec<u32> = (0..batch.rows)
            .filter(|row| seen.insert(batch.columns.iter().map(|c| c.value(*row)).collect()))
            .map(|row| row as u32)
            .collect();
        if new.len() == batch.rows {
            kept.push(batch);
        } else if !new.is_empty() {
            kept.push(batch.gather(&new));
        }
    }
    kept
}
