//! Insert: rows become sealed blocks in the order of their source, and the result is their number.
//!
//! A work order's rows are cut into blocks as they come; what is left at its end is sealed too when it is large
//! enough to be a block worth having, and otherwise kept and joined with other leftovers, in order, by `finish`.
//! Nothing is visible before the target has checked constraints and published all blocks at once.

use std::sync::{Arc, OnceLock};

use plan::{NodeId, PhysicalPlan};
use pool::{BlockWriter, SealedBlock};
use types::{Error, Result, SqlState, Type};
use vector::{Batch, Vector};

use crate::context::{InsertTarget, QueryContext};
use crate::pipeline::{Flow, Local, Push, Sink, Source, Work, local_state};

/// A leftover smaller than a quarter of a block is joined with its neighbours instead of becoming a block.
const LEFTOVER_SHARE: usize = 4;

/// The end of an INSERT: a sink for its rows and a source for their number.
pub struct Insert {
    node: NodeId,
    target: Arc<dyn InsertTarget>,
    inserted: OnceLock<u64>,
}

impl Insert {
    /// An internal error if the query has no target.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Arc<Self>> {
        let target = query.insert.clone().ok_or_else(|| Error::internal("an insert without a target"))?;
        Ok(Arc::new(Insert { node: plan.id, target, inserted: OnceLock::new() }))
    }
    /// The sink that cuts rows into blocks and gives them all to the target when the input ends.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(InsertSink(self.clone()))
    }
    /// The source of one row: the number of rows inserted.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(InsertedRows(self.clone()))
    }
    fn writer(&self, query: &QueryContext) -> BlockWriter {
        let declared = self.target.columns().fields().iter().map(|f| (f.ty, f.nullable)).collect();
        BlockWriter::new(query.pool.clone(), declared, self.target.writer_options())
    }
    /// The batch with its columns typed as the table's, and NULLs refused where the table refuses them.
    fn conform(&self, batch: Batch) -> Result<Batch> {
        let mut columns = Vec::with_capacity(batch.columns.len());
        for (column, field) in batch.columns.into_iter().zip(self.target.columns().fields()) {
            if !field.nullable && column.has_nulls() {
                return Err(Error::new(
                    SqlState::NotNullViolation,
                    format!(
                        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                        field.name,
                        self.target.name()
                    ),
                ));
            }
            let column = column.retyped(field.ty).ok_or_else(|| Error::out_of_range(&field.ty))?;
            columns.push(column);
        }
        Ok(Batch::new(columns, batch.rows))
    }
}

/// Blocks and leftovers of one work order, by the tag of their first unit.
#[derive(Default)]
struct InsertLocal {
    writer: Option<BlockWriter>,
    /// Tag of the first unit in the writer.
    first_tag: u64,
    sealed: Vec<(u64, Vec<SealedBlock>)>,
    leftovers: Vec<(u64, Vec<Batch>)>,
    rows: u64,
}

struct InsertSink(Arc<Insert>);

impl Sink for InsertSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(InsertLocal::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let local = local_state::<InsertLocal>(local);
        let batch = self.0.conform(batch)?;
        local.rows += batch.rows as u64;
        if local.writer.is_none() {
            local.first_tag = tag;
            local.writer = Some(self.0.writer(work.query));
        }
        if let Some(writer) = &mut local.writer {
            let blocks = writer.push(batch)?;
            if !blocks.is_empty() {
                local.sealed.push((local.first_tag, blocks));
                // Later blocks of this order belong behind these and before those of later orders.
                local.first_tag = tag;
            }
        }
        Ok(Flow::More)
    }
    fn end_order(&self, local: &mut Local, _work: &Work<'_>) -> Result<()> {
        let local = local_state::<InsertLocal>(local);
        let Some(writer) = local.writer.take() else { return Ok(()) };
        if writer.pending_bytes() * LEFTOVER_SHARE >= self.0.target.writer_options().block_bytes {
            local.sealed.push((local.first_tag, writer.finish()?));
        } else {
            local.leftovers.push((local.first_tag, writer.into_pending()));
        }
        Ok(())
    }
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let mut sealed = Vec::new();
        let mut leftovers = Vec::new();
        let mut rows = 0;
        for mut local in locals {
            let local = local_state::<InsertLocal>(&mut local);
            sealed.append(&mut local.sealed);
            leftovers.append(&mut local.leftovers);
            rows += local.rows;
        }
        // A leftover goes behind the blocks of its own order: both carry ascending tags, leftovers come last.
        let mut parts: Vec<(u64, Part)> = sealed.into_iter().map(|(t, b)| (t, Part::Blocks(b))).collect();
        parts.extend(leftovers.into_iter().map(|(t, b)| (t, Part::Rows(b))));
        parts.sort_by_key(|(tag, part)| (*tag, matches!(part, Part::Rows(_))));
        let mut blocks = Vec::new();
        let mut writer: Option<BlockWriter> = None;
        for (_, part) in parts {
            match part {
                Part::Blocks(mut sealed) => {
                    if let Some(open) = writer.take() {
                        blocks.append(&mut open.finish()?);
                    }
                    blocks.append(&mut sealed);
                }
                Part::Rows(batches) => {
                    let open = writer.get_or_insert_with(|| self.0.writer(query));
                    for batch in batches {
                        blocks.append(&mut open.push(batch)?);
                    }
                }
            }
        }
        if let Some(open) = writer {
            blocks.append(&mut open.finish()?);
        }
        self.0.target.append(blocks)?;
        // Finish is called once.
        let _ = self.0.inserted.set(rows);
        Ok(())
    }
}

enum Part {
    Blocks(Vec<SealedBlock>),
    Rows(Vec<Batch>),
}

/// The statement's result: how many rows were inserted.
struct InsertedRows(Arc<Insert>);

impl Source for InsertedRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(1)
    }
    fn run(&self, _unit: u64, _local: &mut Local, _work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let rows = self.0.inserted.get().copied().unwrap_or(0);
        push(Batch::new(vec![Vector::from_i64(Type::BigInt, vec![rows as i64])], 1))
    }
}
