//! Recursive queries.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plan::LogicalQuery;
use types::{Field, Result, Schema, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
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
