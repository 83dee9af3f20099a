//! Queries that run before the rest of a statement: common table expressions that are computed once, and recursive
//! ones.
//!
//! They run in the order in which they were bound, each after the scalar subqueries it may use. A recursive query
//! runs its first part once and its second part over the rows that the round before gave, until there are none, or
//! until the only reader of its rows, a LIMIT, has enough.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plan::{ColumnTable, CommonQuery, ExprKind, JoinKind, LogicalPlan, LogicalQuery, ScanSource, Step};
use types::stop::{self, Pace, Place};
use types::{Error, Field, Result, Schema, SqlState, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
use crate::run::{Part, Purpose, RunAs, SharedRows, conform, learn_rows, substitute};
use crate::statistics::SnapshotStatistics;

/// What runs before a query, as it goes on.
pub(crate) struct Before<'a> {
    /// The catalog view that the whole statement is planned with.
    pub relations: &'a SessionRelations,
    /// What the statement is planned for; EXPLAIN runs none of these queries.
    pub purpose: Purpose,
    /// Rows by the number that plans read them under.
    pub shared: Vec<SharedRows>,
    /// Values of the scalar subqueries that have run.
    pub values: Vec<Value>,
    /// Plans, unless the purpose is to run.
    pub parts: &'a mut Vec<Part>,
    /// Time spent in the optimizer so far.
    pub planning: Duration,
}

impl Before<'_> {
    /// Puts what is known by now into a plan.
    pub(crate) fn settle(&self, plan: &mut LogicalPlan) {
        substitute(plan, &self.values);
        if self.purpose != Purpose::Explain && !self.shared.is_empty() {
            let counts: Vec<usize> =
                self.shared.iter().map(|rows| rows.iter().map(|batch| batch.rows).sum()).collect();
            learn_rows(plan, &counts);
        }
    }

    fn keep(&mut self, number: usize, rows: SharedRows) {
        // One inside another runs first and has the larger numbers.
        if self.shared.len() <= number {
            self.shared.resize(number + 1, SharedRows::default());
        }
        self.shared[number] = rows;
    }
}

/// The reader of a recursive query's rows that has enough of them at some time.
struct Enough {
    /// What a LIMIT reads, over the rows of one round.
    plan: LogicalPlan,
    /// The rows that it wants.
    wanted: usize,
    /// Whether each row of the recursive query is one of `plan`.
    each: bool,
}

impl Session {
    /// Runs the queries whose rows `plan` reads, or all that are left, with those before them: as late as may be,
    /// when most scalar subqueries are known.
    pub(crate) fn run_common_before(
        &self,
        plan: Option<&LogicalPlan>,
        rest: &mut LogicalQuery,
        later: &[LogicalPlan],
        before: &mut Before<'_>,
    ) -> Result<()> {
        let last = match plan {
            None => rest.common.len(),
            Some(plan) => {
                let read = rest.common.iter().rposition(|common| readers(plan, common.result) > 0);
                read.map_or(0, |at| at + 1)
            }
        };
        for _ in 0..last {
            let common = rest.common.remove(0);
            self.run_common(common, rest, later, before)?;
        }
        Ok(())
    }

    /// Runs one query to its end; `rest`, with the scalar subqueries `later`, is what may read its rows.
    fn run_common(
        &self,
        mut common: CommonQuery,
        rest: &mut LogicalQuery,
        later: &[LogicalPlan],
        before: &mut Before<'_>,
    ) -> Result<()> {
        let statistics = SnapshotStatistics::new(before.relations.snapshot());
        let settings = self.settings().optimizer.clone();
        let run_as = RunAs { analyze: before.purpose == Purpose::Analyze, ..RunAs::default() };
        let enough =
            common.step.as_ref().and_then(|step| enough(common.result, step.working, rest, later, before));
        before.settle(&mut common.base);
        let started = Instant::now();
        let optimized = |plan, columns: &mut ColumnTable, output: &[plan::ColumnId]| {
            optimizer::optimize_plan(plan, columns, output, &statistics, &settings).map(Arc::new)
        };
        let base = optimized(common.base, &mut rest.columns, &common.base_columns)?;
        before.planning += started.elapsed();
        let fields = common.base_columns.iter().map(|id| {
            let column = rest.columns.get(*id);
            Field::new(column.name.clone(), column.ty, true)
        });
        let schema = Schema::new(fields.collect());
        let run = |plan: &Arc<plan::PhysicalPlan>, shared: &[SharedRows], title: &str| {
            let run = self.run_plan(plan, before.relations, shared, run_as.clone())?;
            crate::statement::name_part(title);
            let rows = conform(run.result.batches.clone(), &schema)?;
            Ok::<_, types::Error>((run, rows))
        };
        let started = Instant::now();
        let Some(Step { plan, columns, distinct, working }) = common.step else {
            let title = format!("common table expression {}", common.name);
            let (mut base_run, mut rows) = (None, Vec::new());
            if before.purpose != Purpose::Explain {
                let (run, batches) = run(&base, &before.shared, &title)?;
                (base_run, rows) = (Some(run), batches);
                if let Some(change) = common.change {
                    let really = before.purpose == Purpose::Run;
                    let changed = self.change(*change, rows, before.relations, really);
                    rows = changed.map_err(changed_already)?.1;
                }
            }
            before.keep(common.result, Arc::new(rows));
            if before.purpose != Purpose::Run {
                let executed = started.elapsed();
                before.parts.push(Part { title, plan: base, run: base_run, executed });
            }
            return Ok(());
        };
        let mut step = plan;
        before.settle(&mut step);
        let (planned, step) = (Instant::now(), optimized(step, &mut rest.columns, &columns)?);
        let enough = match enough {
            Some(Enough { plan, wanted, each: false }) => {
                let output = plan.output();
                let limited =
                    LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(wanted as u64) };
                Some((wanted, Some(optimized(limited, &mut rest.columns, &output)?)))
            }
            Some(Enough { wanted, .. }) => Some((wanted, None)),
            None => None,
        };
        before.planning += planned.elapsed();
        let title = |part: &str| format!("recursive query {}, {part}", common.name);
        let (first, again) = (title("first rows"), title("repeated"));
        let (mut base_run, mut step_run) = (None, None);
        let mut all: Vec<Batch> = Vec::new();
        let mut shared = std::mem::take(&mut before.shared);
        shared.resize(shared.len().max(working.max(common.result) + 1), SharedRows::default());
        if before.purpose != Purpose::Explain {
            let mut seen: HashSet<Vec<Value>> = HashSet::new();
            let mut delivered = 0;
            let (run_of_base, mut new) = run(&base, &shared, &first)?;
            base_run = Some(run_of_base);
            loop {
                self.go_on()?;
                stop::check(Place::Round)?;
                if distinct {
                    new = self.unseen(new, &mut seen)?;
                }
                if new.iter().all(Batch::is_empty) {
                    break;
                }
                let came: usize = new.iter().map(|batch| batch.rows).sum();
                all.extend(new.iter().cloned());
                shared[working] = Arc::new(new);
                if let Some((wanted, reader)) = &enough {
                    delivered += match reader {
                        None => came,
                        Some(plan) => {
                            let run = self.run_plan(plan, before.relations, &shared, RunAs::default())?;
                            run.result.rows()
                        }
                    };
                    if delivered >= *wanted {
                        break;
                    }
                }
                let (run_of_step, rows) = run(&step, &shared, &again)?;
                (step_run, new) = (Some(run_of_step), rows);
            }
        }
        shared[working] = SharedRows::default();
        shared[common.result] = Arc::new(all);
        before.shared = shared;
        if before.purpose != Purpose::Run {
            let executed = started.elapsed();
            before.parts.push(Part { title: first, plan: base, run: base_run, executed });
            let (title, executed) = (title("repeated, last time"), Duration::ZERO);
            before.parts.push(Part { title, plan: step, run: step_run, executed });
        }
        Ok(())
    }

    /// The rows that have not been seen, each once.
    fn unseen(&self, batches: Vec<Batch>, seen: &mut HashSet<Vec<Value>>) -> Result<Vec<Batch>> {
        let budget = &self.database.shared.budget;
        let mut kept = Vec::with_capacity(batches.len());
        let mut pace = Pace::new(Place::Round);
        for batch in batches {
            budget.check().map_err(operators::context::out_of_memory)?;
            let mut new: Vec<u32> = Vec::new();
            for row in 0..batch.rows {
                pace.spend(ROW_UNITS * batch.columns.len())?;
                if seen.insert(batch.columns.iter().map(|c| c.value(row)).collect()) {
                    new.push(row as u32);
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

/// A row that is gone when one of several changes comes to it: the statement's own other changes have done that, by the
/// actions of foreign keys, and it would fail alike if it were run again.
fn changed_already(error: Error) -> Error {
    if error.state() != SqlState::SerializationFailure {
        return error;
    }
    let message = "a row is changed twice by one statement, through the action of a foreign key";
    Error::unsupported(message).with_hint("make the changes one after the other, in a transaction")
}

/// What a value of a row costs to be remembered, more or less.
const ROW_UNITS: usize = 64;

/// Where the rows of a recursive query have one reader, and that is a LIMIT over something that gives rows of its own
/// for the rows of each round: what it reads, over the rows of one round, and how many rows it wants.
fn enough(
    result: usize,
    working: usize,
    rest: &LogicalQuery,
    later: &[LogicalPlan],
    before: &Before<'_>,
) -> Option<Enough> {
    let steps = rest.common.iter().filter_map(|common| common.step.as_ref().map(|step| &step.plan));
    let bases = rest.common.iter().map(|common| &common.base);
    let plans: Vec<&LogicalPlan> = later.iter().chain(bases).chain(steps).chain([&rest.plan]).collect();
    if plans.iter().map(|plan| readers(plan, result)).sum::<usize>() != 1 {
        return None;
    }
    let (plan, wanted) = plans.into_iter().find_map(|plan| limited(plan, result, before.values.len()))?;
    let mut plan = plan.clone();
    let each = is_each(&plan);
    read_instead(&mut plan, result, working);
    before.settle(&mut plan);
    Some(Enough { plan, wanted: usize::try_from(wanted).ok()?, each })
}

fn readers(plan: &LogicalPlan, number: usize) -> usize {
    let own = match plan {
        LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } => source.index == number,
        _ => false,
    };
    usize::from(own) + plan.children().into_iter().map(|child| readers(child, number)).sum::<usize>()
}

/// What the innermost LIMIT over the rows reads of them, and how many rows it wants.
fn limited(plan: &LogicalPlan, number: usize, known: usize) -> Option<(&LogicalPlan, u64)> {
    let inner = plan.children().into_iter().find_map(|child| limited(child, number, known));
    match plan {
        _ if inner.is_some() => inner,
        LogicalPlan::Limit { input, offset, count: Some(count) } => {
            Some((round_by_round(input, number, known)?, offset.saturating_add(*count)))
        }
        _ => None,
    }
}

/// The part of a plan that gives its rows for the rows of each round, whatever the other rounds gave. It may be one
/// of the inputs of a union, whose rows are rows of the union.
fn round_by_round(plan: &LogicalPlan, number: usize, known: usize) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Union { inputs, .. } => {
            inputs.iter().find_map(|(input, _)| round_by_round(input, number, known))
        }
        _ => is_round_by_round(plan, number, known).then_some(plan),
    }
}

fn is_round_by_round(plan: &LogicalPlan, number: usize, known: usize) -> bool {
    use LogicalPlan as L;
    let mut waits = false;
    for expr in plan.expressions() {
        expr.visit(&mut |e| {
            waits |= matches!(e.kind, ExprKind::ScalarSubquery(id) if id.0 as usize >= known)
        });
    }
    if waits || plan.is_volatile() {
        return false;
    }
    match plan {
        L::Scan { source: ScanSource::Materialized(source), .. } => source.index == number,
        L::Filter { input, .. } | L::Project { input, .. } | L::Unnest { input, .. } => {
            is_round_by_round(input, number, known)
        }
        L::Join { left, right, kind, .. } => {
            let (one, other) = match kind {
                JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => (left, None),
                JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => (right, None),
                JoinKind::Inner => (left, Some(right)),
                JoinKind::Full => return false,
            };
            is_round_by_round(one, number, known)
                || other.is_some_and(|other| is_round_by_round(other, number, known))
        }
        _ => false,
    }
}

/// Whether each row that is read is one row of the plan.
fn is_each(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Scan { filters, .. } => filters.is_empty(),
        LogicalPlan::Project { input, .. } => is_each(input),
        _ => false,
    }
}

fn read_instead(plan: &mut LogicalPlan, from: usize, to: usize) {
    if let LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } = plan
        && source.index == from
    {
        let mut other = plan::MaterializedSource::clone(source);
        other.index = to;
        *source = Arc::new(other);
    }
    plan.children_mut().into_iter().for_each(|child| read_instead(child, from, to));
}
