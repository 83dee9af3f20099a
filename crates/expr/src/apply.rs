//! Applying one operation to vectors of any form.
//!
//! Kernels take flat vectors and constants. Here constants alone are computed once for all rows; an operation on one
//! dictionary and constants is computed on the dictionary's values and its codes are kept; everything else is
//! flattened. A dictionary may hold values that no row of the batch has: an error from them sends us to the rows.

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use plan::Function;
use types::{Result, Type, Value};
use vector::{Data, Vector};

use crate::bits;
use crate::frame::{null_bits, retyped};
use crate::graph::{Node, Operation};
use crate::kernels::{arithmetic, cast, compare, in_list, logic, negate, temporal, text};
use crate::operand::boolean_bits;
use crate::room::{Room, bound};

/// The operation's value for each of `rows` rows; each input has as many, in any form.
pub(crate) fn apply(node: &Node, inputs: Vec<Vector>, rows: usize, room: Room<'_>) -> Result<Vector> {
    if rows == 0 {
        return Ok(Vector::constant(node.ty, Value::Null, 0));
    }
    if let Operation::IsNull { negated } = node.operation {
        return Ok(logic::is_null(&inputs[0], negated));
    }
    let repeatable = !matches!(&node.operation, Operation::Library(call) if call.is_volatile());
    let same = |input: &Vector| matches!(input.data(), Data::Constant(_)) && input.validity().is_none();
    if repeatable && inputs.iter().all(same) {
        let ones: Vec<Vector> = inputs.iter().map(|i| i.slice(0, 1).flatten()).collect();
        let one = kernel(node, &ones, 1, room)?;
        // The value is a copy.
        room.ask(one.bytes() as u64, 1)?;
        return Ok(Vector::constant(node.ty, one.value(0), rows));
    }
    if repeatable && let Some(result) = on_dictionary(node, &inputs, rows, room) {
        return Ok(result);
    }
    let flat: Vec<Vector> = inputs
        .into_iter()
        .map(|i| if matches!(i.data(), Data::Dictionary { .. }) { i.flatten() } else { i })
        .collect();
    kernel(node, &flat, rows, room)
}

/// The operation on the values of the only dictionary among constants; `None` when that does not apply or fails.
fn on_dictionary(node: &Node, inputs: &[Vector], rows: usize, room: Room<'_>) -> Option<Vector> {
    let mut varying = inputs.iter().enumerate().filter(|(_, i)| !matches!(i.data(), Data::Constant(_)));
    let (at, dictionary) = varying.next()?;
    if varying.next().is_some() {
        return None;
    }
    let Data::Dictionary { codes, values } = dictionary.data() else { return None };
    if values.len() > rows || values.is_empty() {
        return None;
    }
    // Operations that make something of a NULL see the rows' NULLs, which the values do not have.
    let of_null = matches!(
        node.operation,
        Operation::NotDistinct { .. }
            | Operation::IsBoolean { .. }
            | Operation::Library(_)
            | Operation::Function(Function::NullIf)
    );
    if of_null && dictionary.has_nulls() {
        return None;
    }
    let count = values.len();
    let substituted: Vec<Vector> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| match input.data() {
            Data::Constant(value) if i != at => Vector::constant(input.ty(), value.clone(), count),
            _ => (**values).clone(),
        })
        .collect();
    let result = kernel(node, &substituted, count, room).ok()?;
    let validity = dictionary.validity().cloned();
    if let Data::Constant(value) = result.data() {
        if value.is_null() {
            return Some(Vector::constant(node.ty, Value::Null, rows));
        }
        let repeated = Vector::constant(node.ty, value.clone(), rows);
        return Some(if validity.is_some() { repeated.flatten().with_validity(validity) } else { repeated });
    }
    if result.has_nulls() {
        let spread = result.gather(codes);
        let validity = NullBuffer::union(spread.validity(), validity.as_ref());
        return Some(spread.with_validity(validity));
    }
    if node.ty == Type::Boolean {
        let truth: Vec<bool> = boolean_bits(&result).iter().collect();
        let spread = bits::from_slice(codes, |code| truth[code as usize]);
        return Some(Vector::from_bool(spread, validity));
    }
    Some(Vector::dictionary(codes.clone(), Arc::new(result.flatten()), validity))
}

/// NULL in, NULL out.
fn is_strict(operation: &Operation) -> bool {
    !matches!(
        operation,
        Operation::NotDistinct { .. }
            | Operation::IsBoolean { .. }
            | Operation::Library(_)
            | Operation::Function(Function::NullIf)
    )
}

/// The operation on flat vectors and constants.
fn kernel(node: &Node, inputs: &[Vector], rows: usize, room: Room<'_>) -> Result<Vector> {
    room.ask(bound(node, inputs, rows), rows)?;
    let ty = node.ty;
    let null = |i: &Vector| matches!(i.data(), Data::Constant(Value::Null));
    if is_strict(&node.operation) && inputs.iter().any(null) {
        return Ok(Vector::constant(ty, Value::Null, rows));
    }
    let validity = union(inputs);
    let boolean = |bits| Ok(Vector::from_bool(bits, validity.clone()));
    match &node.operation {
        Operation::Compare(op) => boolean(compare::compare(*op, &inputs[0], &inputs[1], rows)),
        Operation::NotDistinct { negated } => Ok(logic::not_distinct(&inputs[0], &inputs[1], *negated, rows)),
        Operation::Not => boolean(!&boolean_bits(&inputs[0])),
        Operation::IsBoolean { value, negated } => Ok(logic::is_boolean(&inputs[0], *value, *negated)),
        Operation::Arithmetic { op, checked } => {
            arithmetic::arithmetic(*op, *checked, ty, &inputs[0], &inputs[1], validity, rows)
        }
        Operation::Negate => negate::negate(&inputs[0], ty, validity, rows),
        Operation::Cast { lenient } => cast::cast(&inputs[0], ty, *lenient),
        Operation::Like { pattern, negated, case_insensitive } => {
            boolean(text::like(&inputs[0], pattern, *negated, *case_insensitive, rows))
        }
        Operation::InList { set, has_null, negated } => {
            Ok(in_list::in_list(&inputs[0], set, *has_null, *negated, validity, rows))
        }
        Operation::Library(call) => call.evaluate(inputs, rows, room),
        Operation::Function(function) => match function {
            Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay => {
                temporal::extract(*function, &inputs[0], ty, validity, rows)
            }
            Function::Substring => text::substring(inputs, ty, validity, rows),
            Function::Lower => Ok(text::change_case(&inputs[0], ty, false, validity, rows)),
            Function::Upper => Ok(text::change_case(&inputs[0], ty, true, validity, rows)),
            Function::CharacterLength => text::character_length(&inputs[0], ty, validity, rows),
            Function::Concatenate => Ok(text::concatenate(inputs, ty, validity, rows)),
            Function::NullIf => Ok(null_if(inputs, ty, rows)),
            Function::Absolute => negate::absolute(&inputs[0], ty, validity, rows),
            Function::SamplePlace => Ok(negate::sample_place(&inputs[0], &inputs[1], ty, validity, rows)),
            Function::Coalesce | Function::Try => unreachable!("evaluated by the frame"),
        },
        Operation::Input(_)
        | Operation::Literal(_)
        | Operation::And
        | Operation::Or
        | Operation::Case
        | Operation::IsNull { .. } => unreachable!("evaluated before"),
    }
}

fn null_if(inputs: &[Vector], ty: Type, rows: usize) -> Vector {
    let value = &inputs[0];
    if inputs.iter().any(|i| matches!(i.data(), Data::Constant(Value::Null))) {
        return retyped(value.clone(), ty);
    }
    let equal = compare::compare(types::Comparison::Equal, value, &inputs[1], rows);
    let equal = bits::and_valid(equal, inputs[1].validity());
    let flat = retyped(value.flatten(), ty);
    let validity = NullBuffer::union(flat.validity(), Some(&NullBuffer::new(!&equal)));
    flat.with_validity(validity.filter(|v| v.null_count() > 0))
}

/// Valid where all inputs are. Constants among them are not NULL.
fn union(inputs: &[Vector]) -> Option<NullBuffer> {
    let mut all: Option<NullBuffer> = None;
    for input in inputs {
        if let Some(nulls) = null_bits(input) {
            all = NullBuffer::union(all.as_ref(), Some(&NullBuffer::new(!&nulls)));
        }
    }
    all
}
