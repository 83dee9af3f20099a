//! Taking each row from one of two vectors, without branches.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use types::{Physical, Type};
use vector::strings::{INLINE_BYTES, view_length};
use vector::{Data, Strings, Vector};

use crate::frame::{null_bits, retyped};
use crate::operand::{Native, Operand, boolean_bits};

/// `a` where the bit is set, else `b`, as a flat vector of `ty`.
pub(crate) fn select(bits: &BooleanBuffer, a: &Vector, b: &Vector, ty: Type) -> Vector {
    let rows = bits.len();
    let set = bits.count_set_bits();
    if set == rows {
        return retyped(a.clone(), ty);
    }
    if set == 0 {
        return retyped(b.clone(), ty);
    }
    let (a, b) = (plain(a), plain(b));
    let validity = match (null_bits(&a), null_bits(&b)) {
        (None, None) => None,
        (nulls_a, nulls_b) => {
            let mut nulls = BooleanBuffer::new_unset(rows);
            if let Some(nulls_a) = nulls_a {
                nulls = &nulls | &(&nulls_a & bits);
            }
            if let Some(nulls_b) = nulls_b {
                nulls = &nulls | &(&nulls_b & &!bits);
            }
            Some(NullBuffer::new(!&nulls)).filter(|v| v.null_count() > 0)
        }
    };
    let data = match ty.physical() {
        Physical::Bool => {
            let (a, b) = (boolean_bits(&a), boolean_bits(&b));
            Data::Bool(&(&a & bits) | &(&b & &!bits))
        }
        Physical::I16 => fixed::<i16>(bits, &a, &b),
        Physical::I32 => fixed::<i32>(bits, &a, &b),
        Physical::I64 => fixed::<i64>(bits, &a, &b),
        Physical::I128 => fixed::<i128>(bits, &a, &b),
        Physical::F32 => fixed::<f32>(bits, &a, &b),
        Physical::F64 => fixed::<f64>(bits, &a, &b),
        Physical::Bytes => Data::Bytes(text(bits, &a, &b)),
    };
    Vector::new(ty, data, validity)
}

/// Flat or constant.
fn plain(vector: &Vector) -> Vector {
    if matches!(vector.data(), Data::Dictionary { .. }) { vector.flatten() } else { vector.clone() }
}

fn fixed<T: Native>(bits: &BooleanBuffer, a: &Vector, b: &Vector) -> Data {
    let rows = bits.len();
    let mut out = Vec::with_capacity(rows);
    match (T::operand(a), T::operand(b)) {
        (Operand::Flat(a), Operand::Flat(b)) => pick(bits, &mut out, |row| a[row], |row| b[row], rows),
        (Operand::Flat(a), Operand::Constant(b)) => pick(bits, &mut out, |row| a[row], |_| b, rows),
        (Operand::Constant(a), Operand::Flat(b)) => pick(bits, &mut out, |_| a, |row| b[row], rows),
        (Operand::Constant(a), Operand::Constant(b)) => pick(bits, &mut out, |_| a, |_| b, rows),
    }
    T::data(out)
}

/// A word of bits at a time; both values are read and one is kept, which compiles to a conditional move.
#[inline(always)]
fn pick<T: Copy>(
    bits: &BooleanBuffer,
    out: &mut Vec<T>,
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
    rows: usize,
) {
    let mut base = 0;
    for word in bits.bit_chunks().iter_padded() {
        let many = 64.min(rows - base);
        out.extend((0..many).map(|i| {
            let (x, y) = (a(base + i), b(base + i));
            if (word >> i) & 1 == 1 { x } else { y }
        }));
        base += many;
        if base == rows {
            break;
        }
    }
}

/// Views over the buffers of both; those of `b` are renumbered.
fn text(bits: &BooleanBuffer, a: &Vector, b: &Vector) -> Strings {
    let rows = bits.len();
    let mut buffers: Vec<Buffer> = Vec::new();
    let (views_a, views_b) = (views(a, &mut buffers), views(b, &mut buffers));
    let mut out = Vec::with_capacity(rows);
    pick(bits, &mut out, |row| views_a.at(row), |row| views_b.at(row), rows);
    Strings::from_trusted(out.into(), buffers.into())
}

enum Views {
    Flat(ScalarBuffer<u128>),
    Moved(Vec<u128>),
    Constant(u128),
}

impl Views {
    #[inline(always)]
    fn at(&self, row: usize) -> u128 {
        match self {
            Views::Flat(views) => views[row],
            Views::Moved(views) => views[row],
            Views::Constant(view) => *view,
        }
    }
}

/// The views of `vector` in a list of buffers that its own are appended to.
fn views(vector: &Vector, buffers: &mut Vec<Buffer>) -> Views {
    let one;
    let (strings, constant) = match vector.data() {
        Data::Bytes(strings) => (strings, false),
        _ => {
            one = vector.slice(0, 1).flatten();
            let Data::Bytes(strings) = one.data() else { return Views::Constant(0) };
            (strings, true)
        }
    };
    let base = buffers.len() as u128;
    let own: &Arc<[Buffer]> = strings.buffers();
    buffers.extend(own.iter().cloned());
    let moved = |view: u128| if view_length(view) > INLINE_BYTES { view + (base << 64) } else { view };
    if constant {
        Views::Constant(moved(strings.views()[0]))
    } else if base == 0 || own.is_empty() {
        Views::Flat(strings.views().clone())
    } else {
        Views::Moved(strings.views().iter().map(|v| moved(*v)).collect())
    }
}
