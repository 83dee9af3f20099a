//! What a join keeps of its build side, and how its output is put together. Nested-loop and range joins use it too.
//!
//! `JoinColumns` is made at plan time. Kept build columns are those of the output and those that the residual reads,
//! in ascending order without repetition; all other parts of a join name them by their place in this list. The probe
//! asks for batches of pairs as it goes, and at a batch's end for the probe rows that the kind of join delivers by
//! whether they matched (`emit_judged`); the source of build rows asks for padded batches.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use plan::{JoinOutput, OutputColumn, PhysicalJoinKind as Kind};
use types::{Error, Result, Type, Value};
use vector::{Batch, Vector};

use crate::pipeline::{Flow, Push};

/// An output column, its build columns by position among the kept ones.
#[derive(Clone, Copy)]
enum Output {
    Probe { column: usize, ty: Type },
    Build { kept: usize },
    Mark,
}

/// Which build columns a join keeps, and the columns that it puts out.
pub(crate) struct JoinColumns {
    /// Build columns that are kept, ascending, and their types.
    pub kept: Vec<usize>,
    /// The types of the kept columns, in the same order.
    pub kept_types: Vec<Type>,
    output: Vec<Output>,
}

impl JoinColumns {
    /// `also`: build columns needed in addition to those in the output.
    pub fn new(
        output: &[JoinOutput],
        columns: &[OutputColumn],
        build: &[OutputColumn],
        also: impl Iterator<Item = usize>,
    ) -> Result<JoinColumns> {
        let mut kept: Vec<usize> = output
            .iter()
            .filter_map(|o| if let JoinOutput::Build(column) = o { Some(*column) } else { None })
            .chain(also)
            .collect();
        kept.sort_unstable();
        kept.dedup();
        let kept_types = kept
            .iter()
            .map(|column| build.get(*column).map(|c| c.ty))
            .collect::<Option<Vec<Type>>>()
            .ok_or_else(|| Error::internal("a join asks for a build column that is not there"))?;
        if output.len() != columns.len() {
            return Err(Error::internal("a join's output has another width than its plan says"));
        }
        let mut all = JoinColumns { kept, kept_types, output: Vec::with_capacity(output.len()) };
        for (from, column) in output.iter().zip(columns) {
            all.output.push(match from {
                JoinOutput::Probe(probe) => Output::Probe { column: *probe, ty: column.ty },
                JoinOutput::Build(build) => Output::Build { kept: all.place(*build)? },
                JoinOutput::Mark => Output::Mark,
            });
        }
        Ok(all)
    }

    /// The position of a build column among the kept ones.
    pub fn place(&self, column: usize) -> Result<usize> {
        self.kept.binary_search(&column).map_err(|_| Error::internal("a build column was not kept"))
    }

    /// Output rows: `probe` gives a probe column, `build` a kept column.
    pub fn batch(
        &self,
        rows: usize,
        probe: impl Fn(usize) -> Vector,
        build: impl Fn(usize) -> Vector,
    ) -> Batch {
        let columns = self
            .output
            .iter()
            .map(|output| match output {
                Output::Probe { column, .. } => probe(*column),
                Output::Build { kept } => build(*kept),
                Output::Mark => Vector::constant(Type::Boolean, Value::Null, rows),
            })
            .collect();
        Batch::new(columns, rows)
    }

    /// All rows of a probe batch with their marks.
    pub fn marked(&self, batch: &Batch, marks: &Vector) -> Batch {
        let columns = self
            .output
            .iter()
            .map(|output| match output {
                Output::Probe { column, .. } => batch.columns[*column].clone(),
                Output::Build { kept } => self.null_build(*kept, batch.rows),
                Output::Mark => marks.clone(),
            })
            .collect();
        Batch::new(columns, batch.rows)
    }

    /// What comes out of a batch's probe rows once all their pairs were seen, by whether they matched and whether
    /// some pair's condition was NULL where that counts (`unknown` may be empty). For joins whose condition says all.
    pub fn emit_judged(
        &self,
        kind: Kind,
        batch: &Batch,
        matched: &[bool],
        unknown: &[bool],
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let is_unknown = |row: usize| unknown.get(row).copied().unwrap_or(false);
        let rows_where = |test: &dyn Fn(usize) -> bool| -> Vec<u32> {
            (0..matched.len() as u32).filter(|row| test(*row as usize)).collect()
        };
        let wanted = match kind {
            Kind::ProbeMark => {
                let marks = BooleanBuffer::from_iter(matched.iter().copied());
                let known =
                    BooleanBuffer::collect_bool(matched.len(), |row| matched[row] || !is_unknown(row));
                let validity = Some(NullBuffer::new(known)).filter(|v| v.null_count() > 0);
                return push(self.marked(batch, &Vector::from_bool(marks, validity)));
            }
            Kind::ProbeSemi => rows_where(&|row| matched[row]),
            Kind::ProbeAnti => rows_where(&|row| !matched[row] && !is_unknown(row)),
            Kind::ProbeOuter | Kind::FullOuter => rows_where(&|row| !matched[row]),
            Kind::Inner | Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti => vec![],
        };
        if wanted.is_empty() {
            return Ok(Flow::More);
        }
        let all = wanted.len() == batch.rows;
        push(self.batch(
            wanted.len(),
            |column| match all {
                true => batch.columns[column].clone(),
                false => batch.columns[column].gather(&wanted),
            },
            |kept| self.null_build(kept, wanted.len()),
        ))
    }

    /// NULLs for a kept column.
    pub fn null_build(&self, kept: usize, rows: usize) -> Vector {
        Vector::constant(self.kept_types[kept], Value::Null, rows)
    }

    /// Build rows without a partner: NULLs for the probe's columns. `columns` are the kept ones, whole.
    pub fn of_build(&self, columns: &[Vector], rows: &[u32]) -> Batch {
        let columns = self
            .output
            .iter()
            .map(|output| match output {
                Output::Probe { ty, .. } => Vector::constant(*ty, Value::Null, rows.len()),
                Output::Build { kept } => columns[*kept].gather(rows),
                Output::Mark => Vector::constant(Type::Boolean, Value::Null, rows.len()),
            })
            .collect();
        Batch::new(columns, rows.len())
    }
}
