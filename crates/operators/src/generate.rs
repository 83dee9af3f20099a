//! Generate: rows of a benchmark suite made on the fly, a part of the table per unit.

use std::sync::OnceLock;

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result, SqlState, Type};
use vector::{Batch, arrow};

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

/// The source that makes a benchmark's table while it is read; a unit is one of its parts.
pub struct Generate {
    node: NodeId,
    source: generators::Source,
    table: String,
    columns: Vec<usize>,
    types: Vec<Type>,
    parts: usize,
    /// The first part that this engine makes.
    first: OnceLock<usize>,
}

/// A generator's error as ours.
pub fn generator_error(error: &generators::GeneratorError) -> Error {
    let state = match error.sqlstate() {
        "22023" => SqlState::InvalidParameterValue,
        "42P01" => SqlState::UndefinedTable,
        _ => SqlState::Internal,
    };
    Error::new(state, error.to_string())
}

impl Generate {
    /// `plan` has to be a Generate node. An error if the generators lack the suite, the scale or the table.
    pub fn new(plan: &PhysicalPlan) -> Result<Self> {
        let PhysicalNode::Generate { suite, table, scale, columns } = &plan.node else {
            return Err(Error::internal("not a generator"));
        };
        let suite = generators::Suite::named(suite)
            .ok_or_else(|| Error::internal(format!("no generator \"{suite}\"")))?;
        let source = shared_source(suite, *scale)?;
        let parts = source.parts(table).map_err(|e| generator_error(&e))?;
        Ok(Generate {
            node: plan.id,
            source,
            table: table.clone(),
            columns: columns.clone(),
            types: plan.output.iter().map(|c| c.ty).collect(),
            parts,
            first: OnceLock::new(),
        })
    }
}

/// TPC-H's text pool takes a second to make and 300 MB to hold, so the tables of one load share a source; the last
/// one is kept until another scale or suite is asked for or `forget_source` is called.
static LAST: std::sync::Mutex<Option<(generators::Suite, u64, generators::Source)>> =
    std::sync::Mutex::new(None);

fn shared_source(suite: generators::Suite, scale: f64) -> Result<generators::Source> {
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((s, bits, source)) = &*last
        && *s == suite
        && *bits == scale.to_bits()
    {
        return Ok(source.clone());
    }
    let source = generators::Source::new(suite, scale).map_err(|e| generator_error(&e))?;
    *last = Some((suite, scale.to_bits(), source.clone()));
    Ok(source)
}

/// Frees what generating kept; called when a load is done.
pub fn forget_source() {
    *LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
}

impl Source for Generate {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let part = query.part(self.node, self.parts);
        let _ = self.first.set(part.start);
        Ok(part.len() as u64)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let part = self.first.get().copied().unwrap_or(0) + unit as usize;
        let batches = self.source.batches(&self.table, part, self.parts).map_err(|e| generator_error(&e))?;
        for batch in batches {
            work.check()?;
            let batch = batch.map_err(|e| generator_error(&e))?;
            let mut columns = Vec::with_capacity(self.columns.len());
            for (at, ty) in self.columns.iter().zip(&self.types) {
                columns.push(arrow::from_array(batch.column(*at), *ty)?);
            }
            // Batches of the generator are as large as it likes; an insert takes them whole.
            if push(Batch::new(columns, batch.num_rows()))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
