//! Columns as bytes, and back without copying.

use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, ToByteSlice};
use types::{Type, Value};
use vector::{Data, Strings, Vector};

/// Where the next buffer may begin: values of 16 bytes are the widest.
const ALIGNMENT: usize = 16;

/// What is to be known of a column in addition to its bytes.
#[derive(Debug)]
pub(super) struct Shape {
    ty: Type,
    len: usize,
    /// Where the validity's bits begin.
    validity: Option<usize>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Constant(Value),
    Bool(usize),
    I16(usize),
    I32(usize),
    I64(usize),
    I128(usize),
    F32(usize),
    F64(usize),
    /// Where the views begin, and each of the buffers with its length.
    Bytes(usize, Vec<(usize, usize)>),
}

/// Appends `column` to `out`.
pub(super) fn encode(column: &Vector, out: &mut Vec<u8>) -> Shape {
    let (ty, len) = (column.ty(), column.len());
    if let Data::Constant(value) = column.data() {
        return Shape { ty, len, validity: None, values: Values::Constant(value.clone()) };
    }
    let column = column.flatten();
    let validity = column.validity().filter(|v| v.null_count() > 0).map(|v| append_bits(v.inner(), out));
    let values = match column.data() {
        Data::Bool(bits) => Values::Bool(append_bits(bits, out)),
        Data::I16(v) => Values::I16(append(v.to_byte_slice(), out)),
        Data::I32(v) => Values::I32(append(v.to_byte_slice(), out)),
        Data::I64(v) => Values::I64(append(v.to_byte_slice(), out)),
        Data::I128(v) => Values::I128(append(v.to_byte_slice(), out)),
        Data::F32(v) => Values::F32(append(v.to_byte_slice(), out)),
        Data::F64(v) => Values::F64(append(v.to_byte_slice(), out)),
        Data::Bytes(strings) => {
            // Without what other rows left in the buffers.
            let own = strings.compact();
            let at = append(own.views().to_byte_slice(), out);
            let buffers = own.buffers().iter().map(|b| (append(b.as_slice(), out), b.len())).collect();
            Values::Bytes(at, buffers)
        }
        Data::Constant(_) | Data::Dictionary { .. } | Data::Coded(_) => unreachable!("flattened"),
    };
    debug_assert_eq!(column.len(), len, "flattened, it has the same rows");
    Shape { ty, len, validity, values }
}

/// Appends at an aligned place, which is returned.
fn append(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    let at = out.len();
    debug_assert!(at.is_multiple_of(ALIGNMENT), "values of 16 bytes at {at}");
    out.extend_from_slice(bytes);
    at
}

fn append_bits(bits: &BooleanBuffer, out: &mut Vec<u8>) -> usize {
    append(bits.sliced().as_slice(), out)
}

/// The column again; it keeps all of `bytes` alive.
pub(super) fn decode(shape: &Shape, bytes: &Buffer) -> Vector {
    let len = shape.len;
    let bits = |at: usize| BooleanBuffer::new(bytes.slice_with_length(at, len.div_ceil(8)), 0, len);
    let data = match &shape.values {
        Values::Constant(value) => return Vector::constant(shape.ty, value.clone(), len),
        Values::Bool(at) => Data::Bool(bits(*at)),
        Values::I16(at) => Data::I16(scalars(bytes, *at, len)),
        Values::I32(at) => Data::I32(scalars(bytes, *at, len)),
        Values::I64(at) => Data::I64(scalars(bytes, *at, len)),
        Values::I128(at) => Data::I128(scalars(bytes, *at, len)),
        Values::F32(at) => Data::F32(scalars(bytes, *at, len)),
        Values::F64(at) => Data::F64(scalars(bytes, *at, len)),
        Values::Bytes(at, buffers) => {
            // Views are 16 bytes of any value, and the place is aligned for them.
            let views = ScalarBuffer::from(bytes.slice_with_length(*at, len * 16));
            let buffers: Arc<[Buffer]> =
                buffers.iter().map(|(at, length)| bytes.slice_with_length(*at, *length)).collect();
            // The checksum says that these are the bytes that were written.
            Data::Bytes(Strings::from_trusted(views, buffers))
        }
    };
    Vector::new(shape.ty, data, shape.validity.map(|at| NullBuffer::new(bits(at))))
}

fn scalars<T: ArrowNativeType>(bytes: &Buffer, at: usize, len: usize) -> ScalarBuffer<T> {
    debug_assert!(at + len * size_of::<T>() <= bytes.len(), "{len} values at {at} of {} bytes", bytes.len());
    ScalarBuffer::from(bytes.slice_with_length(at, len * size_of::<T>()))
}
