//! Functions that take a lambda: its body is evaluated once for all elements of a batch of lists.
//!
//! The body is an expression over columns of its own: the elements (for `list_reduce` the result so far and the
//! elements), their places from 1, then what the lambda captures from the row around it.

use std::sync::Arc;

use plan::Expr;
use types::nested::encoding;
use types::{Result, Type, Value};
use vector::nested::{join, join_list, split_list};
use vector::{Batch, Vector, VectorBuilder};

use super::list::{BYTES_MAX, too_large};
use super::{bytes, invalid};
use crate::frame::null_bits;
use crate::operand::boolean_bits;
use crate::room::{Room, is_too_wide, text_bytes};

/// Elements that one evaluation of the body sees.
const ELEMENTS_AT_ONCE: usize = 1 << 14;
/// Bytes of lists that are taken apart at once.
const BYTES_AT_ONCE: usize = 16 << 20;

/// A lambda's body, compiled: what stands above calls of functions makes one of it.
pub(crate) trait LambdaBody: std::fmt::Debug + Send + Sync {
    /// The body over all rows of a batch of its columns.
    fn evaluate_body(&self, batch: &Batch, room: Room<'_>) -> Result<Vector>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Transform,
    Filter,
    Reduce,
}

/// A call of a function that takes a lambda, with the lambda's body compiled.
#[derive(Debug)]
pub(crate) struct LambdaCall {
    kind: Kind,
    body: Arc<Expr>,
    compiled: Box<dyn LambdaBody>,
}

impl LambdaCall {
    /// A call with a body and what it was compiled to; `None` when no such function takes a lambda.
    pub(crate) fn bind(name: &str, body: &Arc<Expr>, compiled: Box<dyn LambdaBody>) -> Option<LambdaCall> {
        let kind = match name {
            "list_transform" => Kind::Transform,
            "list_filter" => Kind::Filter,
            "list_reduce" => Kind::Reduce,
            _ => return None,
        };
        Some(LambdaCall { kind, body: body.clone(), compiled })
    }
    /// The body as it was bound, over its own columns.
    pub(crate) fn body(&self) -> &Expr {
        &self.body
    }

    /// Arguments: the list, then what is captured; for `list_reduce` the list is followed by the first value, which
    /// is given or the constant NULL of no type.
    pub(crate) fn evaluate(
        &self,
        inputs: &[Vector],
        ty: Type,
        rows: usize,
        room: Room<'_>,
    ) -> Result<Vector> {
        // Some rows at a time: one list that stands in all of them is taken apart for each.
        let (mut parts, mut made, mut begin) = (Vec::new(), 0usize, 0);
        while begin < rows {
            let (mut end, mut held) = (begin, 0);
            while end < rows && held < BYTES_AT_ONCE {
                held += bytes(&inputs[0], end).map_or(0, <[u8]>::len);
                end += 1;
            }
            let count = end - begin;
            let of: Vec<Vector> = inputs.iter().map(|input| input.slice(begin, count)).collect();
            let lists = of[0].flatten();
            let part = match self.kind {
                Kind::Reduce => self.reduce(&lists, &of[1], &of[2..], ty, (count, room))?,
                _ => self.each(&lists, &of[1..], ty, count, room)?,
            };
            made = made.saturating_add(part.bytes());
            if made > BYTES_MAX {
                return Err(too_large());
            }
            parts.push(part);
            begin = end;
        }
        match parts.is_empty() {
            true => Ok(Vector::constant(ty, Value::Null, 0)),
            false => Ok(Vector::concat(&parts.iter().collect::<Vec<_>>())),
        }
    }

    /// The body over some elements, in halves where what it makes on the way would be too wide for all of them.
    fn body_of(&self, columns: Vec<Vector>, rows: usize, room: Room<'_>) -> Result<Vector> {
        self.body_over(&Batch::new(columns, rows), room)
    }

    fn body_over(&self, batch: &Batch, room: Room<'_>) -> Result<Vector> {
        match self.compiled.evaluate_body(batch, room) {
            Ok(result) => Ok(result.flatten()),
            Err(error) if is_too_wide(&error) && batch.rows > 1 => {
                let middle = batch.rows / 2;
                let first = self.body_over(&batch.slice(0, middle), room)?;
                let second = self.body_over(&batch.slice(middle, batch.rows - middle), room)?;
                // The halves are shared, not copied; more of them may be too much.
                room.ask(text_bytes(&first).saturating_add(text_bytes(&second)) / 4, 1)?;
                Ok(Vector::concat(&[&first, &second]))
            }
            Err(error) => Err(error),
        }
    }

    fn each(
        &self,
        lists: &Vector,
        captured: &[Vector],
        ty: Type,
        rows: usize,
        room: Room<'_>,
    ) -> Result<Vector> {
        let (offsets, elements) = split_list(lists);
        let elements = elements.flatten();
        let count = elements.len();
        let mut owners = Vec::with_capacity(count);
        let mut places = Vec::with_capacity(count);
        for row in 0..rows {
            for at in offsets[row]..offsets[row + 1] {
                owners.push(row as u32);
                places.push(i64::from(at - offsets[row]) + 1);
            }
        }
        let (mut results, mut made) = (Vec::new(), 0usize);
        let mut begin = 0;
        while begin < count {
            let length = (count - begin).min(ELEMENTS_AT_ONCE);
            let of = &owners[begin..begin + length];
            let mut columns = vec![
                elements.slice(begin, length),
                Vector::from_i64(Type::BigInt, places[begin..begin + length].to_vec()),
            ];
            columns.extend(captured.iter().map(|c| spread(c, of)));
            let result = self.body_of(columns, length, room)?;
            made = made.saturating_add(result.bytes());
            if made > BYTES_MAX {
                return Err(too_large());
            }
            results.push(result);
            begin += length;
        }
        let range =
            |row: usize| (!lists.is_null(row)).then(|| offsets[row] as usize..offsets[row + 1] as usize);
        if self.kind == Kind::Transform {
            // The results once more as elements of lists, which are put together from pieces.
            room.ask((made as u64).saturating_mul(2), rows)?;
            let result = match results.is_empty() {
                true => Vector::constant(self.body.ty, Value::Null, 0),
                false => Vector::concat(&results.iter().collect::<Vec<_>>()),
            };
            return Ok(join_list(ty, &result, rows, range));
        }
        let mut keep = Vec::with_capacity(count);
        for result in &results {
            let truth = boolean_bits(result);
            let nulls = null_bits(result);
            keep.extend(
                (0..result.len()).map(|at| truth.value(at) && nulls.as_ref().is_none_or(|n| !n.value(at))),
            );
        }
        Ok(join(ty, rows, |row, out| {
            let Some(range) = range(row) else { return false };
            for at in range.filter(|at| keep[*at]) {
                vector::nested::push_slot(&elements, at, out);
            }
            out.push(encoding::END);
            true
        }))
    }

    /// One step for all lists at a time: the elements of one place in those lists that have it.
    fn reduce(
        &self,
        lists: &Vector,
        first: &Vector,
        captured: &[Vector],
        ty: Type,
        (rows, room): (usize, Room<'_>),
    ) -> Result<Vector> {
        let (offsets, elements) = split_list(lists);
        let elements = elements.flatten();
        let given = first.ty() != Type::Null;
        let mut states: Vec<Value> = Vec::with_capacity(rows);
        for row in 0..rows {
            let empty = offsets[row] == offsets[row + 1];
            if empty && !given && !lists.is_null(row) {
                return Err(invalid("list_reduce of an empty list needs a first value")
                    .with_hint("give it as the third argument"));
            }
            states.push(match given {
                true => first.value(row),
                false if empty => Value::Null,
                false => elements.value(offsets[row] as usize),
            });
        }
        let begin = usize::from(!given);
        let longest = (0..rows).map(|row| (offsets[row + 1] - offsets[row]) as usize).max().unwrap_or(0);
        for step in begin..longest {
            let active: Vec<u32> = (0..rows)
                .filter(|row| (offsets[*row + 1] - offsets[*row]) as usize > step)
                .map(|row| row as u32)
                .collect();
            let picks: Vec<u32> = active.iter().map(|row| offsets[*row as usize] + step as u32).collect();
            let mut builder = VectorBuilder::new(ty, active.len());
            active.iter().for_each(|row| builder.push(&states[*row as usize]));
            let place = Value::I64(step as i64 + 1);
            let mut columns = vec![
                builder.finish(),
                elements.gather(&picks),
                Vector::constant(Type::BigInt, place, active.len()),
            ];
            columns.extend(captured.iter().map(|c| spread(c, &active)));
            let result = self.body_of(columns, active.len(), room)?;
            room.ask(text_bytes(&result).saturating_mul(2), active.len())?;
            for (at, row) in active.iter().enumerate() {
                states[*row as usize] = result.value(at);
            }
        }
        let mut builder = VectorBuilder::new(ty, rows);
        for (row, state) in states.iter().enumerate() {
            builder.push(if lists.is_null(row) { &Value::Null } else { state });
        }
        Ok(builder.finish())
    }
}

/// A captured column's value for each element.
fn spread(captured: &Vector, owners: &[u32]) -> Vector {
    match captured.data() {
        vector::Data::Constant(value) => Vector::constant(captured.ty(), value.clone(), owners.len()),
        _ => captured.gather(owners),
    }
}
