//! From a bound query to a program: which parts run before the query's own plan, and where planning waits for values.
//!
//! Common subplans run first. Scalar subqueries follow in their order; the common queries that a subquery reads, and
//! those before them, run just before it, the others before the query's own plan: as late as may be, when most values
//! are known. A part is planned at once where it depends on nothing that the program's earlier steps find out. Where it
//! does, the program ends with `PlanAgain`: the value of a scalar subquery decides selectivities, and the number of
//! materialized rows the order of joins. `program` is called again with what is known then.

mod until;

use std::collections::HashSet;
use std::sync::Arc;

use plan::logical::{KeyedRows, Step as Rounds};
use plan::program::{Bind, Change, KeyedLoop, Loop, Materialize, Program, Remaining, Step};
use plan::{
    ColumnId, CommonQuery, Expr, ExprKind, LogicalPlan, LogicalQuery, MaterializedSource, PhysicalPlan,
    ScanSource,
};
use types::{Error, Field, Result, Type, Value};

use crate::rules::common_subplans::share;
use crate::{Settings, Statistics, optimize_plan};

/// What steps that have run found out.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// By number, the values of the scalar subqueries that have run; `None` where one is only explained.
    pub values: Vec<Option<Value>>,
    /// By slot, how many rows it holds; `None` where that is not known.
    pub rows: Vec<Option<usize>>,
}

/// The program of what is left of a query.
pub fn program(
    rest: Remaining,
    known: &Known,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<Program> {
    let Remaining { mut query, bound, shared } = rest;
    let mut steps = Vec::new();
    if !shared {
        // Queries that run before have the first slots.
        for (number, mut plan) in share(&mut query, statistics, settings)?.into_iter().enumerate() {
            plan.number();
            let title = format!("common subplan {number}");
            let slot = query.materialized + number;
            steps.push(Step::Materialize(Box::new(Materialize { title, plan, slot, declared: None })));
        }
        query.materialized += steps.len();
    }
    let mut planner = Maker { query, bound, known, statistics, settings, steps, made: Made::default() };
    planner.made.slots.extend(planner.steps.iter().filter_map(slot_of));
    planner.make()?;
    Ok(Program { steps: planner.steps })
}

fn slot_of(step: &Step) -> Option<usize> {
    match step {
        Step::Materialize(step) => Some(step.slot),
        Step::Change(step) => Some(step.rows.slot),
        Step::Loop(step) => Some(step.result),
        Step::Bind(_) | Step::PlanAgain(_) | Step::Return(_) => None,
    }
}

/// What the steps of this program will find out.
#[derive(Default)]
struct Made {
    slots: HashSet<usize>,
    values: usize,
}

struct Maker<'a> {
    query: LogicalQuery,
    /// The types of the scalar subqueries that have a step, in this program or before it.
    bound: Vec<Type>,
    known: &'a Known,
    statistics: &'a dyn Statistics,
    settings: &'a Settings,
    steps: Vec<Step>,
    made: Made,
}

impl Maker<'_> {
    fn make(&mut self) -> Result<()> {
        loop {
            let subquery = self.query.subqueries.first();
            let last = match subquery {
                None => self.query.common.len(),
                Some(plan) => {
                    let read = self.query.common.iter().rposition(|common| reads(plan, common.result) > 0);
                    read.map_or(0, |at| at + 1)
                }
            };
            if last > 0 {
                let common = self.query.common.remove(0);
                let until = self.until_of(&common);
                if self.waits_for_steps(&plans_of(&common, until.as_ref())) {
                    self.query.common.insert(0, common);
                    return self.plan_again();
                }
                self.common(common, until)?;
            } else if let Some(plan) = subquery {
                if self.waits_for_steps(&[plan]) {
                    return self.plan_again();
                }
                let plan = self.query.subqueries.remove(0);
                self.bind(plan)?;
            } else if self.waits_for_steps(&[&self.query.plan]) {
                return self.plan_again();
            } else {
                return self.own();
            }
        }
    }

    /// When the rounds of a recursion, which is no longer among the common queries, have given enough.
    fn until_of(&self, common: &CommonQuery) -> Option<until::Until> {
        // Rows of keys are made anew in each round.
        let step = common.step.as_ref().filter(|step| step.keyed.is_none())?;
        until::until(common.result, step.working, &self.query, self.bound.len())
    }

    /// Whether planning these is better done once the steps so far have run.
    fn waits_for_steps(&self, plans: &[&LogicalPlan]) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        let bound = self.bound.len();
        let values = bound - self.made.values..bound;
        plans.iter().any(|plan| depends(plan, &self.made.slots, &values))
    }

    fn plan_again(&mut self) -> Result<()> {
        let query = std::mem::replace(&mut self.query, empty());
        let rest = Remaining { query, bound: std::mem::take(&mut self.bound), shared: true };
        self.steps.push(Step::PlanAgain(Box::new(rest)));
        Ok(())
    }

    fn own(&mut self) -> Result<()> {
        let mut plan = std::mem::replace(&mut self.query.plan, LogicalPlan::placeholder());
        settle(&mut plan, self.known);
        let output: Vec<ColumnId> = self.query.output.iter().map(|(id, _)| *id).collect();
        let plan = self.planned(plan, &output)?;
        self.steps.push(Step::Return(Box::new(plan)));
        Ok(())
    }

    fn planned(&mut self, plan: LogicalPlan, output: &[ColumnId]) -> Result<PhysicalPlan> {
        optimize_plan(plan, &mut self.query.columns, output, self.statistics, self.settings)
    }

    fn bind(&mut self, mut plan: LogicalPlan) -> Result<()> {
        settle(&mut plan, self.known);
        let Some(id) = plan.output().first().copied() else {
            return Err(Error::internal("a scalar subquery without a column"));
        };
        // Two rows decide; a third need not be computed.
        let limited = LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(2) };
        let plan = self.planned(limited, &[id])?;
        let ty = self.query.columns.get(id).ty;
        let title = format!("subquery {}", self.bound.len());
        self.steps.push(Step::Bind(Box::new(Bind { title, plan, ty })));
        self.bound.push(ty);
        self.made.values += 1;
        Ok(())
    }

    fn common(&mut self, common: CommonQuery, until: Option<until::Until>) -> Result<()> {
        let CommonQuery { name, mut base, base_columns, step, result, change, subqueries: _ } = common;
        settle(&mut base, self.known);
        let base = self.planned(base, &base_columns)?;
        let declared = self.declared(&base_columns);
        let made = match step {
            None => {
                let title = format!("common table expression {name}");
                let rows = Materialize { title, plan: base, slot: result, declared: Some(declared) };
                match change {
                    Some(change) => Step::Change(Box::new(Change { rows, change: *change })),
                    None => Step::Materialize(Box::new(rows)),
                }
            }
            Some(Rounds { mut plan, columns, distinct, working, keyed }) => {
                settle(&mut plan, self.known);
                let step = self.planned(plan, &columns)?;
                let until = until.map(|until| self.until(until)).transpose()?;
                let keyed = keyed.map(|keyed| self.keyed(*keyed)).transpose()?;
                let made = Loop { name, base, step, working, result, declared, distinct, until, keyed };
                Step::Loop(Box::new(made))
            }
        };
        self.steps.push(made);
        self.made.slots.insert(result);
        Ok(())
    }

    /// The columns as rows that are materialized have them.
    fn declared(&self, columns: &[ColumnId]) -> Vec<Field> {
        let field = |id: &ColumnId| {
            let column = self.query.columns.get(*id);
            Field::new(column.name.clone(), column.ty, true)
        };
        columns.iter().map(field).collect()
    }

    fn keyed(&mut self, keyed: KeyedRows) -> Result<KeyedLoop> {
        let KeyedRows { mut fold, columns, candidates, renews, state } = keyed;
        settle(&mut fold, self.known);
        let declared = self.declared(&columns);
        Ok(KeyedLoop { fold: self.planned(fold, &columns)?, declared, candidates, renews, state })
    }

    fn until(&mut self, until: until::Until) -> Result<plan::program::Until> {
        let until::Until { mut plan, rows, each } = until;
        let counted = match each {
            true => None,
            false => {
                settle(&mut plan, self.known);
                let output = plan.output();
                let limited = LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(rows) };
                Some(self.planned(limited, &output)?)
            }
        };
        Ok(plan::program::Until { rows, counted })
    }
}

fn empty() -> LogicalQuery {
    LogicalQuery {
        plan: LogicalPlan::placeholder(),
        columns: Default::default(),
        subqueries: vec![],
        common: vec![],
        materialized: 0,
        output: vec![],
    }
}

/// All plans of a common query, with that of the reader that ends its rounds.
fn plans_of<'p>(common: &'p CommonQuery, until: Option<&'p until::Until>) -> Vec<&'p LogicalPlan> {
    let step = common.step.iter().flat_map(plan::Step::plans);
    [&common.base].into_iter().chain(step).chain(until.map(|until| &until.plan)).collect()
}

/// How often a plan reads a slot.
fn reads(plan: &LogicalPlan, slot: usize) -> usize {
    let own = match plan {
        LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } => source.index == slot,
        _ => false,
    };
    usize::from(own) + plan.children().into_iter().map(|child| reads(child, slot)).sum::<usize>()
}

/// Whether a plan reads one of the slots, or uses the value of one of the subqueries.
fn depends(plan: &LogicalPlan, slots: &HashSet<usize>, values: &std::ops::Range<usize>) -> bool {
    let reads = match plan {
        LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } => slots.contains(&source.index),
        _ => false,
    };
    let uses = || {
        let mut found = false;
        for expr in plan.expressions() {
            expr.visit(&mut |e| {
                found |= matches!(e.kind, ExprKind::ScalarSubquery(id) if values.contains(&(id.0 as usize)));
            });
        }
        found
    };
    reads || uses() || plan.children().into_iter().any(|child| depends(child, slots, values))
}

/// Puts what is known into a plan: values of subqueries, and how many rows slots hold.
fn settle(plan: &mut LogicalPlan, known: &Known) {
    if let LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } = plan
        && let Some(Some(count)) = known.rows.get(source.index)
        && source.rows != *count as f64
    {
        let mut counted = MaterializedSource::clone(source);
        counted.rows = *count as f64;
        *source = Arc::new(counted);
    }
    if !known.values.is_empty() {
        for expr in plan.expressions_mut() {
            let taken = std::mem::replace(expr, Expr::boolean(false));
            *expr = taken.transform(&mut |e| match e.kind {
                ExprKind::ScalarSubquery(id) => match known.values.get(id.0 as usize) {
                    Some(Some(value)) => Expr::literal(value.clone(), e.ty),
                    _ => e,
                },
                _ => e,
            });
        }
    }
    plan.children_mut().into_iter().for_each(|child| settle(child, known));
}
