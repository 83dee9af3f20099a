//! Evaluating the nodes of a graph over one batch, or over some of its rows.
//!
//! A frame remembers the values of shared nodes. A part is a frame over chosen rows of another: CASE, COALESCE, AND
//! and OR evaluate operands that may fail only where the row needs them; what the whole frame already knows is
//! gathered, not computed again. Operands that fail rarely are first tried on all rows: evaluation has no side
//! effects, so an error there only sends us the careful way.

mod vectors;

use std::cell::RefCell;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use plan::Function;
use types::stop::{self, Place};
use types::{Result, Type, Value};
use vector::{Batch, Vector};

use crate::apply;
use crate::bits;
use crate::graph::{Fails, Graph, NodeId, Operation};
use crate::kernels::{choose, coded};
use crate::operand::boolean_bits;
use crate::room::Room;
pub(crate) use vectors::{null_bits, retyped, true_bits};

/// The evaluation of one graph over one batch, or over chosen rows of another frame.
pub(crate) struct Frame<'a> {
    graph: &'a Graph,
    room: Room<'a>,
    rows: usize,
    source: Source<'a>,
    memo: Vec<Option<Vector>>,
    /// Values of volatile calls that several parts share, whichever needs them first.
    once: RefCell<Vec<(NodeId, Vector)>>,
    /// Bounds on the magnitudes of products of codes, proved when they were computed.
    bounds: Vec<(NodeId, u128)>,
}

enum Source<'a> {
    Batch(&'a Batch),
    Part { whole: &'a Frame<'a>, rows: &'a [u32] },
}

/// A value for some of the rows of a frame.
struct Piece {
    value: Vector,
    /// `None`: all rows.
    rows: Option<Vec<u32>>,
}

impl<'a> Frame<'a> {
    /// A frame over all rows of a batch.
    pub(crate) fn new(graph: &'a Graph, batch: &'a Batch, room: Room<'a>) -> Self {
        Frame {
            graph,
            room,
            rows: batch.rows,
            source: Source::Batch(batch),
            memo: vec![None; graph.len()],
            once: RefCell::default(),
            bounds: Vec::new(),
        }
    }

    /// The frame of these rows of this one.
    pub(crate) fn part<'b>(&'b self, rows: &'b [u32]) -> Frame<'b>
    where
        'a: 'b,
    {
        Frame {
            graph: self.graph,
            room: self.room,
            rows: rows.len(),
            source: Source::Part { whole: self, rows },
            memo: vec![None; self.graph.len()],
            once: RefCell::default(),
            bounds: Vec::new(),
        }
    }

    /// The node's value for every row of the frame.
    pub(crate) fn evaluate(&mut self, id: NodeId) -> Result<Vector> {
        let value = self.evaluate_coded(id)?;
        Ok(if value.is_coded() { value.decoded() } else { value })
    }

    /// As `evaluate`, but inputs that are codes, and what is computed on codes, stay so.
    pub(crate) fn evaluate_coded(&mut self, id: NodeId) -> Result<Vector> {
        if let Some(value) = self.known(id) {
            if matches!(self.source, Source::Part { .. }) && self.memo[id].is_none() {
                self.memo[id] = Some(value.clone());
            }
            return Ok(value);
        }
        let value = self.compute(id)?;
        if self.graph.node(id).shared {
            self.memo[id] = Some(value.clone());
        }
        Ok(value)
    }

    /// The node's value where it takes no computing.
    fn known(&self, id: NodeId) -> Option<Vector> {
        let node = self.graph.node(id);
        if let Some(value) = &self.memo[id] {
            return Some(value.clone());
        }
        if let Operation::Literal(value) = &node.operation {
            return Some(Vector::constant(node.ty, value.clone(), self.rows));
        }
        match &self.source {
            Source::Part { whole, rows } => whole.known(id).map(|value| value.gather(rows)),
            Source::Batch(batch) => match node.operation {
                Operation::Input(at) => {
                    let column = batch.columns[at].clone();
                    let retype = column.ty() != node.ty && column.ty().physical() == node.ty.physical();
                    Some(if retype { column.with_type(node.ty) } else { column })
                }
                _ if node.once => self.for_all_rows(id, batch),
                _ => None,
            },
        }
    }

    /// The value of a volatile call, the same for whatever part of the batch asks. What fails is left to be evaluated
    /// for the rows that need it.
    fn for_all_rows(&self, id: NodeId, batch: &Batch) -> Option<Vector> {
        if let Some((_, value)) = self.once.borrow().iter().find(|(known, _)| *known == id) {
            return Some(value.clone());
        }
        let value = Frame::new(self.graph, batch, self.room).compute(id).ok()?;
        self.once.borrow_mut().push((id, value.clone()));
        Some(value)
    }

    fn compute(&mut self, id: NodeId) -> Result<Vector> {
        stop::check(Place::Evaluate)?;
        let graph = self.graph;
        let node = graph.node(id);
        match &node.operation {
            Operation::And => self.junction(&node.operands, true),
            Operation::Or => self.junction(&node.operands, false),
            Operation::Case => self.case(&node.operands, node.ty),
            Operation::Function(Function::Coalesce) => self.coalesce(&node.operands, node.ty),
            Operation::Function(Function::Try) => self.attempt(node.operands[0], node.ty),
            operation => {
                let arithmetic = matches!(operation, Operation::Arithmetic { .. });
                let mut inputs = Vec::with_capacity(node.operands.len());
                for operand in &node.operands {
                    let input = self.evaluate_coded(*operand)?;
                    inputs.push(if input.is_coded() && !arithmetic { input.decoded() } else { input });
                }
                if arithmetic && inputs.iter().any(Vector::is_coded) {
                    let bound_of = |at: usize| {
                        let operand = node.operands.get(at)?;
                        self.bounds.iter().find(|(known, _)| known == operand).map(|(_, bound)| *bound)
                    };
                    let known = [bound_of(0), bound_of(1)];
                    if let Some((result, bound)) = coded::arithmetic(node, &inputs, known, self.rows) {
                        self.bounds.extend(bound.map(|bound| (id, bound)));
                        return Ok(result);
                    }
                    inputs.iter_mut().for_each(|input| *input = input.decoded());
                }
                apply::apply(node, inputs, self.rows, self.room)
            }
        }
    }

    /// The node over these rows only (all when `None`).
    fn evaluate_rows(&mut self, id: NodeId, rows: Option<&[u32]>) -> Result<Vector> {
        match rows {
            Some(rows) => self.part(rows).evaluate(id),
            None => self.evaluate(id),
        }
    }

    /// AND or OR of at least one operand. A row is settled by an operand that is FALSE (AND) or TRUE (OR);
    /// otherwise it is NULL when an operand is. Operands that may fail come last and see unsettled rows only.
    fn junction(&mut self, operands: &[NodeId], and: bool) -> Result<Vector> {
        let graph = self.graph;
        let mut order = operands.to_vec();
        order.sort_by_key(|id| (graph.node(*id).fails, graph.node(*id).cost));
        let mut settled = BooleanBuffer::new_unset(self.rows);
        let mut unknown: Option<BooleanBuffer> = None;
        let mut settled_count = 0;
        for (at, id) in order.iter().enumerate() {
            if at > 0 && settled_count == self.rows {
                break;
            }
            let node = graph.node(*id);
            let open = self.rows - settled_count;
            let careful = node.fails == Fails::Maybe && settled_count > 0;
            let worthwhile = node.cost >= 4 && open * 8 < self.rows;
            let mut value = None;
            if !careful && !worthwhile {
                match self.evaluate(*id) {
                    Ok(whole) => value = Some((whole, None)),
                    Err(error) if settled_count == 0 => return Err(error),
                    Err(_) => {}
                }
            }
            let (value, rows) = match value {
                Some(value) => value,
                None => {
                    let rows = bits::indices(&!&settled);
                    (self.part(&rows).evaluate(*id)?, Some(rows))
                }
            };
            let truth = boolean_bits(&value);
            let mut settles = if and { !&truth } else { truth };
            let nulls = null_bits(&value);
            if let Some(nulls) = &nulls {
                settles = &settles & &!nulls;
            }
            if let Some(rows) = &rows {
                settles = bits::scatter(&settles, rows, self.rows);
            }
            settled = &settled | &settles;
            settled_count = settled.count_set_bits();
            if let Some(mut nulls) = nulls {
                if let Some(rows) = &rows {
                    nulls = bits::scatter(&nulls, rows, self.rows);
                }
                unknown = Some(unknown.map_or(nulls.clone(), |known| &known | &nulls));
            }
        }
        let validity = unknown.map(|unknown| NullBuffer::new(&settled | &!&unknown));
        Ok(Vector::from_bool(if and { !&settled } else { settled }, validity.filter(|v| v.null_count() > 0)))
    }

    fn case(&mut self, operands: &[NodeId], ty: Type) -> Result<Vector> {
        let fails = operands.iter().map(|id| self.graph.node(*id).fails).max().unwrap_or(Fails::Never);
        if fails < Fails::Maybe {
            match self.case_everywhere(operands, ty) {
                Err(_) if fails == Fails::Rarely => {}
                result => return result,
            }
        }
        self.case_by_rows(operands, ty)
    }

    /// Every condition and result over all rows, then chosen without branches.
    fn case_everywhere(&mut self, operands: &[NodeId], ty: Type) -> Result<Vector> {
        let (last, branches) = operands.split_last().unwrap_or((&0, &[]));
        let mut taken = Vec::new();
        let mut complete = false;
        for branch in branches.chunks_exact(2) {
            let condition = true_bits(&self.evaluate(branch[0])?);
            let count = condition.count_set_bits();
            if count > 0 {
                taken.push((condition, branch[1]));
            }
            if count == self.rows {
                complete = true;
                break;
            }
        }
        let mut result = match taken.last() {
            Some((_, id)) if complete => {
                let result = self.evaluate(*id)?;
                taken.pop();
                result
            }
            _ => self.evaluate(*last)?,
        };
        result = retyped(result, ty);
        for (condition, id) in taken.iter().rev() {
            let value = self.evaluate(*id)?;
            result = choose::select(condition, &value, &result, ty);
        }
        Ok(result)
    }

    /// Each condition on the rows that no branch before it took, each result on the rows its branch takes.
    fn case_by_rows(&mut self, operands: &[NodeId], ty: Type) -> Result<Vector> {
        let (last, branches) = operands.split_last().unwrap_or((&0, &[]));
        let mut remaining: Option<Vec<u32>> = None;
        let mut pieces = Vec::new();
        for branch in branches.chunks_exact(2) {
            let condition = true_bits(&self.evaluate_rows(branch[0], remaining.as_deref())?);
            let count = condition.count_set_bits();
            if count == 0 {
                continue;
            }
            if count == condition.len() {
                let value = self.evaluate_rows(branch[1], remaining.as_deref())?;
                pieces.push(Piece { value, rows: remaining });
                return Ok(assemble(pieces, self.rows, ty));
            }
            let original = |rows: Vec<u32>| match &remaining {
                None => rows,
                Some(remaining) => rows.into_iter().map(|r| remaining[r as usize]).collect(),
            };
            let taken: Vec<u32> = original(bits::indices(&condition));
            let rest: Vec<u32> = original(bits::indices(&!&condition));
            let value = self.part(&taken).evaluate(branch[1])?;
            pieces.push(Piece { value, rows: Some(taken) });
            remaining = Some(rest);
        }
        let value = self.evaluate_rows(*last, remaining.as_deref())?;
        pieces.push(Piece { value, rows: remaining });
        Ok(assemble(pieces, self.rows, ty))
    }

    fn coalesce(&mut self, operands: &[NodeId], ty: Type) -> Result<Vector> {
        let mut result = retyped(self.evaluate(operands[0])?, ty);
        for id in &operands[1..] {
            let Some(nulls) = null_bits(&result).filter(|n| n.count_set_bits() > 0) else { break };
            if self.graph.node(*id).fails == Fails::Never {
                let other = self.evaluate(*id)?;
                result = choose::select(&!&nulls, &result, &other, ty);
            } else {
                let rows = bits::indices(&nulls);
                let value = self.part(&rows).evaluate(*id)?;
                result = assemble(
                    vec![Piece { value: result, rows: None }, Piece { value, rows: Some(rows) }],
                    self.rows,
                    ty,
                );
            }
        }
        Ok(result)
    }

    /// The operand, NULL for rows where it fails. Rows that fail together are tried again in halves, so that each row
    /// of an error is found in as many steps as the batch has doublings.
    fn attempt(&mut self, operand: NodeId, ty: Type) -> Result<Vector> {
        match self.evaluate(operand) {
            Ok(value) => return Ok(retyped(value, ty)),
            Err(error) if error.is_of_the_data() => {}
            Err(error) => return Err(error),
        }
        let nothing = Vector::constant(ty, Value::Null, self.rows);
        let rows: Vec<u32> = (0..self.rows as u32).collect();
        let mut pieces = vec![Piece { value: nothing, rows: None }];
        let mut open = halves(&rows);
        while let Some(some) = open.pop() {
            match self.part(some).evaluate(operand) {
                Ok(value) => pieces.push(Piece { value, rows: Some(some.to_vec()) }),
                Err(error) if error.is_of_the_data() => open.extend(halves(some)),
                Err(error) => return Err(error),
            }
        }
        Ok(assemble(pieces, self.rows, ty))
    }
}

/// Both halves of rows that fail together; none of one row, which is at fault itself.
fn halves(rows: &[u32]) -> Vec<&[u32]> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let (first, second) = rows.split_at(rows.len() / 2);
    vec![first, second]
}

/// One vector from pieces; a later piece wins where rows overlap.
fn assemble(mut pieces: Vec<Piece>, rows: usize, ty: Type) -> Vector {
    if pieces.len() == 1
        && let Some(Piece { value, rows: None }) = pieces.pop_if(|p| p.rows.is_none())
    {
        return retyped(value, ty);
    }
    let mut place = vec![0u32; rows];
    let mut base = 0;
    for piece in &pieces {
        match &piece.rows {
            Some(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    place[*row as usize] = base + at as u32;
                }
            }
            None => place.iter_mut().enumerate().for_each(|(row, place)| *place = base + row as u32),
        }
        base += piece.value.len() as u32;
    }
    let values: Vec<Vector> = pieces.into_iter().map(|p| retyped(p.value.flatten(), ty)).collect();
    Vector::concat(&values.iter().collect::<Vec<_>>()).gather(&place)
}
