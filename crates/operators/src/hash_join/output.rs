//! What a join keeps of its build side, and how its output is put together. Nested-loop joins use it too.

use plan::{JoinOutput, OutputColumn};
use types::{Error, Result, Type, Value};
use vector::{Batch, Vector};

/// An output column, its build columns by position among the kept ones.
#[derive(Clone, Copy)]
enum Output {
    Probe { column: usize, ty: Type },
    Build { kept: usize },
    Mark,
}

pub(crate) struct JoinColumns {
    /// Build columns that are kept, ascending, and their types.
    pub kept: Vec<usize>,
    pub kept_types: Vec<Type>,
    output: Vec<Output>,
}

impl JoinColumns {
    /// `also`: build columns needed beside those in the output.
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
