//! Unnest: the elements of lists as rows, with the columns of the row that the lists are in.

use arrow_buffer::NullBuffer;
use plan::{Expr, NodeId};
use types::nested::encoding::elements;
use types::{Result, Type, Value};
use vector::nested::PayloadBuilder;
use vector::{Batch, Data, Vector};

use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that makes a row of each element.
pub struct Unnest {
    node: NodeId,
    keep: Vec<usize>,
    lists: expr::Program,
    ordinality: bool,
    outer: bool,
}

impl Unnest {
    /// `keep` names the columns to repeat. With `outer` a row without elements comes out once with NULLs; with
    /// `ordinality` a last column counts a row's elements from 1.
    pub fn new(node: NodeId, keep: &[usize], lists: &[Expr], ordinality: bool, outer: bool) -> Result<Self> {
        Ok(Unnest { node, keep: keep.to_vec(), lists: expr::Program::compile(lists)?, ordinality, outer })
    }
}

/// The bytes of a row's list; `None` for NULL.
fn bytes(list: &Vector, row: usize) -> Option<&[u8]> {
    match list.data() {
        Data::Bytes(strings) if !list.is_null(row) => Some(strings.get(row)),
        Data::Constant(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

/// Rows on their way out.
struct Pending<'a> {
    rows: Vec<u32>,
    places: Vec<i64>,
    elements: Vec<PayloadBuilder<'a>>,
}

impl<'a> Pending<'a> {
    fn of(lists: &[Vector]) -> Self {
        let element = |list: &Vector| PayloadBuilder::new(list.ty().element().unwrap_or(Type::Null));
        Pending { rows: Vec::new(), places: Vec::new(), elements: lists.iter().map(element).collect() }
    }
}

impl Unnest {
    fn emit(
        &self,
        batch: &Batch,
        lists: &[Vector],
        pending: &mut Pending<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let full = std::mem::replace(pending, Pending::of(lists));
        let rows = full.rows.len();
        if rows == 0 {
            return Ok(Flow::More);
        }
        let mut columns: Vec<Vector> =
            self.keep.iter().map(|at| batch.columns[*at].gather(&full.rows)).collect();
        columns.extend(full.elements.into_iter().map(PayloadBuilder::finish));
        if self.ordinality {
            // A row that is kept for itself has no place.
            let nulls =
                full.places.contains(&0).then(|| full.places.iter().map(|p| *p > 0).collect::<NullBuffer>());
            columns.push(Vector::from_i64(Type::BigInt, full.places).with_validity(nulls));
        }
        push(Batch::new(columns, rows))
    }
}

impl Transform for Unnest {
    fn node(&self) -> NodeId {
        self.node
    }
    fn transform(&self, batch: Batch, _: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        work.evaluated(&self.lists, batch, &mut |batch, lists| {
            let constant = |list: &Vector| matches!(list.data(), Data::Constant(_));
            let lists = lists.into_iter().map(|l| if constant(&l) { l } else { l.flatten() }).collect();
            self.take_apart(batch, lists, work, push)
        })
    }
}

impl Unnest {
    fn take_apart(
        &self,
        batch: Batch,
        lists: Vec<Vector>,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let limit = work.query.settings.batch_rows.max(1);
        let mut pending = Pending::of(&lists);
        for row in 0..batch.rows {
            let mut walks: Vec<_> =
                lists.iter().map(|list| bytes(list, row).map(|bytes| elements(list.ty(), bytes))).collect();
            let mut place = 0;
            loop {
                let slots: Vec<Option<Option<&[u8]>>> =
                    walks.iter_mut().map(|walk| walk.as_mut().and_then(Iterator::next)).collect();
                let over = slots.iter().all(Option::is_none);
                if over && !(self.outer && place == 0) {
                    break;
                }
                pending.rows.push(row as u32);
                place += i64::from(!over);
                pending.places.push(place);
                slots.into_iter().zip(&mut pending.elements).for_each(|(slot, out)| out.push(slot.flatten()));
                if pending.rows.len() >= limit {
                    work.check()?;
                    if self.emit(&batch, &lists, &mut pending, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
                if over {
                    break;
                }
            }
        }
        self.emit(&batch, &lists, &mut pending, push)
    }
}
