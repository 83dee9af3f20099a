//! Plans over rows that stand in them, evaluated where they stand: `SELECT 1`, `VALUES`, a condition over constants.
//!
//! A plan of which every leaf is a list of constant rows needs no segments, no work orders and no workers: the thread
//! that has the statement evaluates it in less time than the scheduler takes to hear of it. [`InPlace::of`] takes such
//! a plan apart once, expressions compiled; [`InPlace::evaluate`] may then be called any number of times and from any
//! thread, since nothing of an evaluation is kept in it.
//!
//! Batches go through the stages as they do in a pipeline: [`Flow::Enough`] of a limit ends the sources below it, each
//! batch asks whether the statement is to stop, and what is computed asks the budget for room. Left to work orders are
//! plans with more than [`ROWS_MAX`] rows, which may be worth several workers, and those that call the host program's
//! functions, which may run statements of their own and want to know that they are inside an order.
//!
//! Whether a plan that could be evaluated in place is, and what its trace says, is the engine's business.

use plan::{Expr, ExprKind, NodeId, PhysicalNode as N, PhysicalPlan};
use types::stop::{self, Place};
use types::{Error, Result};
use vector::Batch;

use crate::collect::detached_batch;
use crate::context::out_of_memory;
use crate::pipeline::{Flow, Push};
use crate::values::{columns_of, slices};

/// Rows of all leaves together: fewer than are worth waking a worker for.
const ROWS_MAX: usize = 2_048;

/// A plan that is evaluated by the thread that asks for its rows.
pub struct InPlace {
    root: Stage,
    nodes: usize,
}

/// What an evaluation may use.
pub struct Surroundings<'a> {
    /// The budget that memory is asked of.
    pub budget: &'a memory::Budget,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
}

/// What an evaluation gave.
pub struct Evaluated {
    /// The rows in order; they refer to no memory but their own.
    pub batches: Vec<Batch>,
    /// Rows that came out of each node of the plan, by its number.
    pub rows: Box<[u64]>,
}

struct Stage {
    node: NodeId,
    work: Work,
}

enum Work {
    Values(Batch),
    Project { input: Box<Stage>, program: expr::Program, positions: Option<Vec<usize>> },
    Filter { input: Box<Stage>, predicate: expr::Predicate },
    Limit { input: Box<Stage>, offset: u64, count: Option<u64> },
    UnionAll(Vec<Stage>),
}

/// One evaluation.
struct Evaluation<'a> {
    surroundings: &'a Surroundings<'a>,
    piece_bytes: u64,
    rows: Box<[u64]>,
}

impl InPlace {
    /// A plan, numbered, as it is evaluated in place; `None` for one that is a matter of work orders.
    pub fn of(plan: &PhysicalPlan) -> Result<Option<InPlace>> {
        let (mut rows, mut nodes, mut open) = (0, 0, vec![plan]);
        while let Some(node) = open.pop() {
            nodes = nodes.max(node.id.0 as usize + 1);
            rows += match &node.node {
                N::Values { rows } => rows.len(),
                N::Project { .. } | N::Filter { .. } | N::Limit { .. } | N::UnionAll { .. } => 0,
                _ => return Ok(None),
            };
            if rows > ROWS_MAX || node.expressions().into_iter().any(calls_host) {
                return Ok(None);
            }
            open.extend(node.children());
        }
        Ok(Some(InPlace { root: stage(plan)?, nodes }))
    }

    /// The rows, computed now.
    pub fn evaluate(&self, surroundings: &Surroundings<'_>) -> Result<Evaluated> {
        let mut evaluation = Evaluation {
            surroundings,
            piece_bytes: crate::context::piece_bytes_max(surroundings.budget),
            rows: vec![0; self.nodes].into(),
        };
        let mut batches = Vec::new();
        evaluation.run(&self.root, &mut |_, batch| {
            batches.push(detached_batch(&batch));
            Ok(Flow::More)
        })?;
        Ok(Evaluated { batches, rows: evaluation.rows })
    }
}

/// Whether an expression calls a function of the host program.
pub fn calls_host(expression: &Expr) -> bool {
    let mut calls = false;
    expression.visit(&mut |part| calls |= matches!(part.kind, ExprKind::External { .. }));
    calls
}

fn stage(plan: &PhysicalPlan) -> Result<Stage> {
    let below = |input: &PhysicalPlan| stage(input).map(Box::new);
    let work = match &plan.node {
        N::Values { rows } => Work::Values(Batch::new(columns_of(rows, &plan.output), rows.len())),
        N::Project { input, expressions } => Work::Project {
            input: below(input)?,
            program: expr::Program::compile(expressions)?,
            positions: crate::project::positions(expressions),
        },
        N::Filter { input, predicate } => {
            Work::Filter { input: below(input)?, predicate: expr::Predicate::compile(predicate)? }
        }
        N::Limit { input, offset, count } => {
            Work::Limit { input: below(input)?, offset: *offset, count: *count }
        }
        N::UnionAll { inputs } => Work::UnionAll(inputs.iter().map(stage).collect::<Result<_>>()?),
        _ => return Err(Error::internal("a plan with a source is not evaluated in place")),
    };
    Ok(Stage { node: plan.id, work })
}

/// Where a stage hands its batches, with the evaluation that it is part of.
type Next<'n, 'e> = dyn FnMut(&mut Evaluation<'e>, Batch) -> Result<Flow> + 'n;

impl<'e> Evaluation<'e> {
    /// Runs a stage and all below it.
    fn run(&mut self, stage: &Stage, next: &mut Next<'_, 'e>) -> Result<Flow> {
        let node = stage.node.0 as usize;
        let next = &mut |this: &mut Self, batch: Batch| {
            this.rows[node] += batch.rows as u64;
            if batch.rows == 0 { Ok(Flow::More) } else { next(this, batch) }
        };
        match &stage.work {
            Work::Values(whole) => {
                let batch_rows = self.surroundings.batch_rows;
                let push: &mut Push<'_> = &mut |batch| {
                    self.check()?;
                    next(self, batch)
                };
                slices(whole, batch_rows, push)
            }
            Work::Project { input, positions: Some(positions), .. } => {
                self.run(input, &mut |this, batch| next(this, batch.select(positions)))
            }
            Work::Project { input, program, positions: None } => {
                self.run(input, &mut |this, batch| this.project(program, batch, next))
            }
            Work::Filter { input, predicate } => {
                self.run(input, &mut |this, batch| this.filter(predicate, batch, next))
            }
            Work::Limit { input, offset, count } => {
                let (mut skip, mut left) = (*offset, count.unwrap_or(u64::MAX));
                if left == 0 {
                    return Ok(Flow::More);
                }
                let mut above = Flow::More;
                self.run(input, &mut |this, batch| {
                    let skipped = skip.min(batch.rows as u64);
                    skip -= skipped;
                    let taken = left.min(batch.rows as u64 - skipped);
                    left -= taken;
                    above = next(this, batch.slice(skipped as usize, taken as usize))?;
                    Ok(if left == 0 { Flow::Enough } else { above })
                })?;
                // Its own end is not that of what stands above it.
                Ok(above)
            }
            Work::UnionAll(inputs) => {
                for input in inputs {
                    if self.run(input, next)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
        }
    }

    fn project(&mut self, program: &expr::Program, batch: Batch, next: &mut Next<'_, 'e>) -> Result<Flow> {
        let ask = |bytes: u64| self.surroundings.budget.reserve(bytes).map(drop).map_err(out_of_memory);
        match program.evaluate_within(&batch, expr::Room::in_pieces(&ask, self.piece_bytes)) {
            Ok(values) => next(self, Batch::new(values, batch.rows)),
            Err(error) if expr::is_too_wide(&error) => {
                self.halves(batch, &mut |this, half| this.project(program, half, next))
            }
            Err(error) => Err(error),
        }
    }

    fn filter(&mut self, predicate: &expr::Predicate, batch: Batch, next: &mut Next<'_, 'e>) -> Result<Flow> {
        let ask = |bytes: u64| self.surroundings.budget.reserve(bytes).map(drop).map_err(out_of_memory);
        match predicate.select_within(&batch, expr::Room::in_pieces(&ask, self.piece_bytes)) {
            Ok(expr::Selected::All) => next(self, batch),
            Ok(expr::Selected::None) => Ok(Flow::More),
            Ok(expr::Selected::Rows(rows)) => next(self, batch.gather(&rows)),
            Err(error) if expr::is_too_wide(&error) => {
                self.halves(batch, &mut |this, half| this.filter(predicate, half, next))
            }
            Err(error) => Err(error),
        }
    }

    /// The two halves of a batch whose values are too wide for all of its rows at once.
    fn halves(&mut self, batch: Batch, next: &mut Next<'_, 'e>) -> Result<Flow> {
        let middle = batch.rows / 2;
        for (from, rows) in [(0, middle), (middle, batch.rows - middle)] {
            if rows > 0 {
                self.check()?;
                if next(self, batch.slice(from, rows))? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
        }
        Ok(Flow::More)
    }

    /// Asked at every batch: is the statement to stop, is memory within its budget?
    fn check(&self) -> Result<()> {
        stop::check(Place::Batch)?;
        self.surroundings.budget.check().map_err(out_of_memory)
    }
}

#[cfg(test)]
mod tests {
    use plan::OutputColumn;
    use types::{SqlState, Type, Value};

    use super::*;

    fn column() -> Vec<OutputColumn> {
        vec![OutputColumn { name: "x".into(), ty: Type::BigInt, nullable: true, bounds: None }]
    }

    fn values(of: impl IntoIterator<Item = i64>) -> PhysicalPlan {
        let rows: Vec<Vec<Value>> = of.into_iter().map(|value| vec![Value::I64(value)]).collect();
        let count = rows.len() as f64;
        PhysicalPlan::new(N::Values { rows }, column(), count)
    }

    fn limit(input: PhysicalPlan, offset: u64, count: Option<u64>) -> PhysicalPlan {
        PhysicalPlan::new(N::Limit { input: Box::new(input), offset, count }, column(), 1.0)
    }

    fn union(inputs: Vec<PhysicalPlan>) -> PhysicalPlan {
        PhysicalPlan::new(N::UnionAll { inputs }, column(), 1.0)
    }

    fn evaluated(mut plan: PhysicalPlan, batch_rows: usize) -> (Vec<i64>, Vec<u64>) {
        plan.number();
        let budget = memory::Budget::new(1 << 30);
        let in_place = InPlace::of(&plan).unwrap().unwrap();
        let given = in_place.evaluate(&Surroundings { budget: &budget, batch_rows }).unwrap();
        let whole = |batch: &Batch| {
            (0..batch.rows)
                .map(|row| match batch.columns[0].value(row) {
                    Value::I64(value) => value,
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        (given.batches.iter().flat_map(whole).collect(), given.rows.to_vec())
    }

    #[test]
    fn limits_and_unions_give_what_pipelines_give() {
        for batch_rows in [1, 3, 1000] {
            assert_eq!(evaluated(values(1..=5), batch_rows).0, [1, 2, 3, 4, 5]);
            assert_eq!(evaluated(limit(values(1..=9), 2, Some(4)), batch_rows).0, [3, 4, 5, 6]);
            assert_eq!(evaluated(limit(values(1..=9), 7, None), batch_rows).0, [8, 9]);
            assert_eq!(evaluated(limit(values(1..=9), 0, Some(0)), batch_rows).0, [0; 0]);
            // An inner limit ends its own input only.
            let inner = union(vec![limit(values(1..=9), 0, Some(2)), values(20..=21)]);
            assert_eq!(evaluated(inner, batch_rows).0, [1, 2, 20, 21]);
            let outer = limit(union(vec![values(1..=3), values(7..=9)]), 0, Some(4));
            assert_eq!(evaluated(outer, batch_rows).0, [1, 2, 3, 7]);
        }
        let (_, rows) = evaluated(limit(values(1..=9), 2, Some(4)), 1000);
        assert_eq!(rows, [4, 9]);
    }

    #[test]
    fn many_rows_and_sources_are_a_matter_of_work_orders() {
        let mut many = union(vec![values(0..2_000), values(0..2_000)]);
        many.number();
        assert!(InPlace::of(&many).unwrap().is_none());
        let series = plan::Series { first: 0, step: 1, rows: 3, ty: Type::BigInt };
        let mut series =
            limit(PhysicalPlan::new(N::Series { series, columns: vec![0] }, column(), 3.0), 0, None);
        series.number();
        assert!(InPlace::of(&series).unwrap().is_none());
    }

    #[test]
    fn a_statement_that_is_stopped_ends_at_its_next_batch() {
        let mut plan = values(0..10);
        plan.number();
        let in_place = InPlace::of(&plan).unwrap().unwrap();
        let (budget, signal) = (memory::Budget::new(1 << 30), sync::CancelToken::new());
        signal.cancel();
        let evaluate = || in_place.evaluate(&Surroundings { budget: &budget, batch_rows: 4 });
        let stopped = sync::stop::within(&signal, evaluate);
        assert_eq!(stopped.err().unwrap().state(), SqlState::QueryCanceled);
        assert_eq!(evaluate().unwrap().batches.len(), 3);
    }
}
