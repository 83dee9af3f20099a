//! A join's condition with one side held fixed.

use crate::context::QueryContext;
use expr::Program;
use plan::{Expr, ExprKind};
use types::Result;
use vector::{Batch, Data, Vector};

/// The condition as a program over the columns that it reads.
pub(super) struct Condition {
    program: Program,
    inputs: Vec<PairInput>,
}

#[derive(Clone, Copy)]
enum PairInput {
    Probe(usize),
    /// Position among the kept build columns.
    Build(usize),
}

/// The condition's values over the rows of the side that is not fixed.
#[derive(Default)]
pub(super) struct Outcome {
    /// Rows for which it is TRUE, ascending.
    pub matching: Vec<u32>,
    /// Rows for which it is NULL; only when asked for.
    pub unknown: Vec<u32>,
}

impl Condition {
    /// `condition` is over the probe's columns followed by the build's; `kept` places a build column.
    pub fn new(
        condition: &Expr,
        probe_columns: usize,
        kept: &dyn Fn(usize) -> Result<usize>,
    ) -> Result<Self> {
        let used: Vec<usize> = condition.inputs().into_iter().collect();
        let inputs = used
            .iter()
            .map(|input| match input.checked_sub(probe_columns) {
                None => Ok(PairInput::Probe(*input)),
                Some(build) => Ok(PairInput::Build(kept(build)?)),
            })
            .collect::<Result<Vec<PairInput>>>()?;
        let compact = condition.clone().transform(&mut |e| match e.kind {
            // `used` holds every input of the condition.
            ExprKind::Input(i) => Expr::input(used.binary_search(&i).unwrap_or(0), e.ty),
            _ => e,
        });
        Ok(Condition { program: Program::compile(std::slice::from_ref(&compact))?, inputs })
    }

    /// Over the rows of a probe batch, with build row `row`.
    pub fn with_build_row(
        &self,
        probe: &Batch,
        build: &[Vector],
        row: usize,
        null_aware: bool,
        query: &QueryContext,
    ) -> Result<Outcome> {
        let columns = self.inputs.iter().map(|input| match input {
            PairInput::Probe(column) => probe.columns[*column].clone(),
            PairInput::Build(kept) => fixed(&build[*kept], row, probe.rows),
        });
        self.outcome(Batch::new(columns.collect(), probe.rows), null_aware, query)
    }

    /// Over `rows` build rows from `first` on, with probe row `row`.
    pub fn with_probe_row(
        &self,
        probe: &Batch,
        row: usize,
        build: &[Vector],
        first: usize,
        rows: usize,
        null_aware: bool,
        query: &QueryContext,
    ) -> Result<Outcome> {
        let columns = self.inputs.iter().map(|input| match input {
            PairInput::Probe(column) => fixed(&probe.columns[*column], row, rows),
            PairInput::Build(kept) => build[*kept].slice(first, rows),
        });
        self.outcome(Batch::new(columns.collect(), rows), null_aware, query)
    }

    fn outcome(&self, batch: Batch, null_aware: bool, query: &QueryContext) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let Some(values) = query.evaluate(&self.program, &batch)?.pop() else { return Ok(outcome) };
        let values = values.flatten();
        let Data::Bool(bits) = values.data() else { return Ok(outcome) };
        match values.validity().filter(|v| v.null_count() > 0) {
            None => outcome.matching.extend(bits.set_indices().map(|row| row as u32)),
            Some(valid) => {
                let both = bits & valid.inner();
                outcome.matching.extend(both.set_indices().map(|row| row as u32));
                if null_aware {
                    let nulls = (0..batch.rows as u32).filter(|row| valid.is_null(*row as usize));
                    outcome.unknown.extend(nulls);
                }
            }
        }
        Ok(outcome)
    }
}

fn fixed(column: &Vector, row: usize, rows: usize) -> Vector {
    Vector::constant(column.ty(), column.value(row), rows)
}
