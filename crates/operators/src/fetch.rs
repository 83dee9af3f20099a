//! Fetch: columns of table rows that came up as references (late materialisation).
//!
//! ```text
//!  references of a batch    b2:7  b0:3  NULL  b0:9  b2:1
//!  by block                 b0: 3 9      b2: 1 7            each block asked once a column, its rows ascending
//!  back in the batch's order     3      0      -      1      2      positions among what was fetched
//! ```
//! References are (block ordinal, row) into the snapshot that the statement reads. The snapshot holds the blocks, so
//! a reference stays good until the statement ends, whatever is inserted meanwhile; nothing keeps one longer. A NULL
//! reference, the padding of an outer join, gives NULLs.

use std::ops::Range;
use std::sync::Arc;

use block::{Pinned, Rows};
use plan::{FetchOutput, NodeId, PhysicalNode, PhysicalPlan, referenced_row};
use types::{Error, Result, Type, Value};
use vector::gather::NO_ROW;
use vector::{Batch, Data, Vector};

use crate::context::QueryContext;
use crate::metrics::BYTES_READ;
use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that adds columns of table rows to a batch of references.
pub struct Fetch {
    node: NodeId,
    /// Position in the input, and the table pointed into.
    references: Vec<(usize, Arc<catalog::Table>)>,
    /// Columns fetched by each reference.
    columns: Vec<Vec<usize>>,
    output: Vec<(FetchOutput, Type)>,
}

impl Fetch {
    /// `plan` has to be a Fetch node. An internal error if a table is missing from the snapshot.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Self> {
        let PhysicalNode::Fetch { references, output, .. } = &plan.node else {
            return Err(Error::internal("not a fetch"));
        };
        let table = |r: &plan::RowReference| Ok((r.column, query.table(r.table)?.clone()));
        let mut columns = vec![Vec::new(); references.len()];
        for from in output {
            if let FetchOutput::Late { reference, column } = *from {
                columns[reference].push(column);
            }
        }
        Ok(Fetch {
            node: plan.id,
            columns,
            references: references.iter().map(table).collect::<Result<_>>()?,
            output: output.iter().copied().zip(plan.output.iter().map(|c| c.ty)).collect(),
        })
    }
}

impl Transform for Fetch {
    fn node(&self) -> NodeId {
        self.node
    }
    fn transform(
        &self,
        batch: Batch,
        _local: &mut Local,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let places = self.references.iter().map(|(column, _)| Places::of(&batch.columns[*column]));
        let places: Vec<Places> = places.collect::<Result<_>>()?;
        let pinned = |at: usize| places[at].pin(&self.references[at].1, &self.columns[at]);
        let pinned: Vec<Vec<Pinned<'_>>> = (0..places.len()).map(pinned).collect::<Result<_>>()?;
        let read = pinned.iter().flatten().map(Pinned::bytes_read).sum();
        if read > 0 {
            work.query.metrics.count(self.node, BYTES_READ, read);
        }
        let column = |(from, ty): &(FetchOutput, Type)| match *from {
            FetchOutput::Input(at) => batch.columns[at].clone(),
            FetchOutput::Late { reference, column } => {
                places[reference].fetch(&pinned[reference], column, *ty)
            }
        };
        push(Batch::new(self.output.iter().map(column).collect(), batch.rows))
    }
}

/// The rows that a batch's references point to, by block.
struct Places {
    /// Ordinal of a block, and where in `rows` its rows stand.
    blocks: Vec<(u32, Range<usize>)>,
    rows: Vec<u32>,
    /// By row of the batch, its position in `rows`, or `NO_ROW`; absent when they stand in the batch's order.
    order: Option<Vec<u32>>,
    batch_rows: usize,
}

impl Places {
    fn of(references: &Vector) -> Result<Places> {
        let batch_rows = references.len();
        let mut places = Places { blocks: vec![], rows: vec![], order: None, batch_rows };
        let flat = references.flatten();
        let Data::I64(values) = flat.data() else {
            return Err(Error::internal("a row reference is not a BIGINT"));
        };
        if !flat.has_nulls() && values.is_sorted() {
            values.iter().for_each(|v| places.add(*v));
            return Ok(places);
        }
        let mut present: Vec<(i64, u32)> =
            (0..batch_rows).filter(|row| !flat.is_null(*row)).map(|row| (values[row], row as u32)).collect();
        present.sort_unstable();
        let mut order = vec![NO_ROW; batch_rows];
        let mut last = None;
        for (reference, row) in present {
            // A row that several rows of the batch refer to is fetched once.
            if last != Some(reference) {
                places.add(reference);
                last = Some(reference);
            }
            order[row as usize] = places.rows.len() as u32 - 1;
        }
        places.order = Some(order);
        Ok(places)
    }

    fn add(&mut self, reference: i64) {
        let (block, row) = referenced_row(reference);
        let end = self.rows.len() + 1;
        match self.blocks.last_mut() {
            Some((last, range)) if *last == block => range.end = end,
            _ => self.blocks.push((block, end - 1..end)),
        }
        self.rows.push(row);
    }

    /// Its blocks, with these columns to be read.
    fn pin<'a>(&self, table: &'a catalog::Table, columns: &[usize]) -> Result<Vec<Pinned<'a>>> {
        self.blocks.iter().map(|(block, _)| table.data.block(*block as usize).pin(columns)).collect()
    }

    fn fetch(&self, pinned: &[Pinned<'_>], column: usize, ty: Type) -> Vector {
        let parts = self
            .blocks
            .iter()
            .zip(pinned)
            .map(|((_, range), block)| block.fetch(column, Rows::List(&self.rows[range.clone()])));
        let parts: Vec<Vector> = parts.collect();
        if parts.is_empty() {
            return Vector::constant(ty, Value::Null, self.batch_rows);
        }
        let fetched = Vector::concat(&parts.iter().collect::<Vec<_>>());
        match &self.order {
            Some(order) => fetched.gather_nullable(order),
            None => fetched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::row_reference;

    fn references(rows: &[Option<(u32, u32)>]) -> Vector {
        let values: Vec<Value> = rows
            .iter()
            .map(|r| r.map_or(Value::Null, |(b, row)| Value::I64(row_reference(b, row))))
            .collect();
        Vector::from_values(Type::BigInt, &values)
    }

    #[test]
    fn references_come_apart_again() {
        for place in [(0, 0), (0, u32::MAX), (7, 3), (i32::MAX as u32, u32::MAX)] {
            assert_eq!(referenced_row(row_reference(place.0, place.1)), place);
        }
        assert!(row_reference(1, 0) > row_reference(0, u32::MAX));
    }

    #[test]
    fn rows_in_order_stay_so_and_others_are_sorted_by_block_each_once() {
        let places = Places::of(&references(&[Some((0, 1)), Some((0, 5)), Some((2, 0))])).unwrap();
        assert_eq!(places.blocks, vec![(0, 0..2), (2, 2..3)]);
        assert_eq!((places.rows, places.order), (vec![1, 5, 0], None));

        let mixed = [Some((2, 7)), Some((0, 3)), None, Some((0, 9)), Some((2, 1)), Some((0, 3))];
        let places = Places::of(&references(&mixed)).unwrap();
        assert_eq!(places.blocks, vec![(0, 0..2), (2, 2..4)]);
        assert_eq!(places.rows, vec![3, 9, 1, 7]);
        assert_eq!(places.order, Some(vec![3, 0, NO_ROW, 1, 2, 0]));

        let none = Places::of(&references(&[None, None])).unwrap();
        assert!(none.blocks.is_empty() && none.batch_rows == 2);
    }
}
