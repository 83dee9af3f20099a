//! Comparisons. All six reduce to `=` and `<` by swapping operands and negating bits, which a total order allows:
//! floats follow PostgreSQL's, NaN being equal to itself and above everything.
//!
//! Strings compare by bytes. Their views decide most pairs: four bytes of prefix, read as a big-endian number, order
//! any two strings that differ there, since the padding of short ones is zero and zero is the smallest byte.

use arrow_buffer::BooleanBuffer;
use types::{Comparison, Physical};
use vector::strings::{INLINE_BYTES, inline_view, make_view};
use vector::{Data, Strings, Vector};

use crate::bits;
use crate::operand::{Native, Operand, Text, boolean_bits, constant_bits, test_pair};

/// Operands are of one representation; at most one is constant, or both are single rows.
pub(crate) fn compare(op: Comparison, a: &Vector, b: &Vector, rows: usize) -> BooleanBuffer {
    let (kind, swap, negate) = match op {
        Comparison::Equal => (Kind::Equal, false, false),
        Comparison::NotEqual => (Kind::Equal, false, true),
        Comparison::Less => (Kind::Less, false, false),
        Comparison::GreaterOrEqual => (Kind::Less, false, true),
        Comparison::Greater => (Kind::Less, true, false),
        Comparison::LessOrEqual => (Kind::Less, true, true),
    };
    let (a, b) = if swap { (b, a) } else { (a, b) };
    let physical = physical(a);
    let bits = match physical {
        Physical::Bool => {
            let (a, b) = (boolean_bits(a), boolean_bits(b));
            match kind {
                Kind::Equal => !&(&a ^ &b),
                Kind::Less => &!&a & &b,
            }
        }
        Physical::I16 => fixed::<i16>(kind, a, b, rows),
        Physical::I32 => fixed::<i32>(kind, a, b, rows),
        Physical::I64 => fixed::<i64>(kind, a, b, rows),
        Physical::I128 => fixed::<i128>(kind, a, b, rows),
        Physical::F32 => fixed::<f32>(kind, a, b, rows),
        Physical::F64 => fixed::<f64>(kind, a, b, rows),
        Physical::Bytes => match kind {
            Kind::Equal => text_equal(&Text::of(a), &Text::of(b), rows),
            Kind::Less => text_less(&Text::of(a), &Text::of(b), rows),
        },
    };
    if negate { !&bits } else { bits }
}

fn physical(vector: &Vector) -> Physical {
    vector.ty().physical()
}

#[derive(Clone, Copy)]
enum Kind {
    Equal,
    Less,
}

trait Ordered: Native {
    fn equal(a: Self, b: Self) -> bool;
    fn less(a: Self, b: Self) -> bool;
}

macro_rules! ordered_integers {
    ($($native:ty),*) => {$(
        impl Ordered for $native {
            #[inline(always)]
            fn equal(a: Self, b: Self) -> bool {
                a == b
            }
            #[inline(always)]
            fn less(a: Self, b: Self) -> bool {
                a < b
            }
        }
    )*};
}
ordered_integers!(i16, i32, i64, i128);

macro_rules! ordered_floats {
    ($($native:ty),*) => {$(
        impl Ordered for $native {
            #[inline(always)]
            fn equal(a: Self, b: Self) -> bool {
                (a == b) | (a.is_nan() & b.is_nan())
            }
            #[inline(always)]
            fn less(a: Self, b: Self) -> bool {
                (a < b) | (!a.is_nan() & b.is_nan())
            }
        }
    )*};
}
ordered_floats!(f32, f64);

fn fixed<T: Ordered>(kind: Kind, a: &Vector, b: &Vector, rows: usize) -> BooleanBuffer {
    let (a, b): (Operand<'_, T>, Operand<'_, T>) = (T::operand(a), T::operand(b));
    match kind {
        Kind::Equal => test_pair(&a, &b, rows, T::equal),
        Kind::Less => test_pair(&a, &b, rows, T::less),
    }
}

fn text_equal(a: &Text<'_>, b: &Text<'_>, rows: usize) -> BooleanBuffer {
    match (a, b) {
        (Text::Flat(a), Text::Flat(b)) => bits::from_rows(rows, |row| a.equal(row, b, row)),
        (Text::Flat(strings), Text::Constant(value)) | (Text::Constant(value), Text::Flat(strings)) => {
            text_equal_constant(strings, value)
        }
        (Text::Constant(a), Text::Constant(b)) => constant_bits(a == b, rows),
    }
}

fn text_equal_constant(strings: &Strings, value: &[u8]) -> BooleanBuffer {
    if value.len() <= INLINE_BYTES {
        let view = inline_view(value);
        return bits::from_slice(strings.views(), |v| v == view);
    }
    // Length and prefix first; the place in the view is not looked at.
    let start = make_view(value, 0, 0) as u64;
    let views = strings.views();
    bits::from_rows(strings.len(), |row| views[row] as u64 == start && strings.get(row) == value)
}

/// The first four bytes as a number that orders as they do.
#[inline(always)]
fn prefix(view: u128) -> u32 {
    ((view >> 32) as u32).swap_bytes()
}

fn text_less(a: &Text<'_>, b: &Text<'_>, rows: usize) -> BooleanBuffer {
    match (a, b) {
        (Text::Flat(a), Text::Flat(b)) => {
            let (views_a, views_b) = (a.views(), b.views());
            bits::from_rows(rows, |row| {
                let (x, y) = (prefix(views_a[row]), prefix(views_b[row]));
                if x == y { a.get(row) < b.get(row) } else { x < y }
            })
        }
        (Text::Flat(a), Text::Constant(b)) => {
            let (views, bound) = (a.views(), prefix(make_view(b, 0, 0)));
            bits::from_rows(rows, |row| {
                let x = prefix(views[row]);
                if x == bound { a.get(row) < *b } else { x < bound }
            })
        }
        (Text::Constant(a), Text::Flat(b)) => {
            let (views, bound) = (b.views(), prefix(make_view(a, 0, 0)));
            bits::from_rows(rows, |row| {
                let y = prefix(views[row]);
                if y == bound { *a < b.get(row) } else { bound < y }
            })
        }
        (Text::Constant(a), Text::Constant(b)) => constant_bits(a < b, rows),
    }
}

/// The views of a flat vector of strings.
pub(crate) fn strings(vector: &Vector) -> Option<&Strings> {
    if let Data::Bytes(strings) = vector.data() { Some(strings) } else { None }
}
