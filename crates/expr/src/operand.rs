//! Typed access to a vector's values, and the loops that all fixed-width kernels share.
//!
//! A kernel sees each operand as a slice or as one value for all rows; dictionaries are resolved before
//! (`apply`). The loops are plain and free of branches, so that the compiler vectorises them; each is monomorphic in
//! types and operation. Rows that are NULL hold arbitrary values: kernels compute them too and never fail on them.

use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use types::Value;
use vector::{Data, Strings, Vector};

use crate::bits;

/// The values of a fixed-width vector: one a row, or the same for all rows.
pub(crate) enum Operand<'a, T> {
    /// A value for each row.
    Flat(&'a [T]),
    /// The value of all rows.
    Constant(T),
}

impl<T: Copy> Operand<'_, T> {
    /// The value of a row.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> T {
        match self {
            Operand::Flat(values) => values[row],
            Operand::Constant(value) => *value,
        }
    }
}

/// A fixed-width physical type.
pub(crate) trait Native: ArrowNativeType + Default {
    /// The values of `vector`, which must have this physical type and be flat or constant.
    fn operand(vector: &Vector) -> Operand<'_, Self>;
    /// A vector's data of these values.
    fn data(values: Vec<Self>) -> Data;
}

macro_rules! native {
    ($($native:ty => $variant:ident),*) => {$(
        impl Native for $native {
            fn operand(vector: &Vector) -> Operand<'_, Self> {
                match vector.data() {
                    Data::$variant(values) => Operand::Flat(values),
                    Data::Constant(Value::$variant(value)) => Operand::Constant(*value),
                    // A constant NULL: its value is never looked at.
                    Data::Constant(Value::Null) => Operand::Constant(Default::default()),
                    _ => panic!("a vector of {} does not hold {}", vector.ty(), stringify!($native)),
                }
            }
            fn data(values: Vec<Self>) -> Data {
                Data::$variant(values.into())
            }
        }
    )*};
}
native!(i16 => I16, i32 => I32, i64 => I64, i128 => I128, f32 => F32, f64 => F64);

/// Integers, seen as 128-bit ones; the compiler reduces the arithmetic to the width that the result needs.
pub(crate) trait Whole: Native {
    /// The value in 128 bits.
    fn widen(self) -> i128;
    /// The low bits.
    fn narrow(value: i128) -> Self;
    /// `OR` of the magnitudes' bits of all values: every |value| is at most 2^(bits used).
    fn magnitude_bits(values: &[Self]) -> u32;
}

macro_rules! whole {
    ($($native:ty => $shift:expr),*) => {$(
        impl Whole for $native {
            #[inline(always)]
            fn widen(self) -> i128 {
                i128::from(self)
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn narrow(value: i128) -> Self {
                value as $native
            }
            fn magnitude_bits(values: &[Self]) -> u32 {
                let all = values.iter().fold(0, |all, v| all | (*v ^ (*v >> $shift)));
                <$native>::BITS - all.leading_zeros()
            }
        }
    )*};
}
whole!(i16 => 15, i32 => 31, i64 => 63, i128 => 127);

impl<T: Whole> Operand<'_, T> {
    /// A bound on all values: each |value| is at most 2^bits.
    pub(crate) fn magnitude_bits(&self) -> u32 {
        match self {
            Operand::Flat(values) => T::magnitude_bits(values),
            Operand::Constant(value) => T::magnitude_bits(std::slice::from_ref(value)),
        }
    }
}

/// Applies `f` to the value of every row.
#[inline]
pub(crate) fn map<A: Copy, R>(a: &Operand<'_, A>, rows: usize, mut f: impl FnMut(A) -> R) -> Vec<R> {
    match a {
        Operand::Flat(a) => a.iter().map(|a| f(*a)).collect(),
        Operand::Constant(a) => (0..rows).map(|_| f(*a)).collect(),
    }
}

/// As `map`, and tells whether `f` flagged any row.
#[inline]
pub(crate) fn map_flagged<A: Copy, R>(
    a: &Operand<'_, A>,
    rows: usize,
    f: impl Fn(A) -> (R, bool),
) -> (Vec<R>, bool) {
    let mut flagged = false;
    let values = map(a, rows, |a| {
        let (value, flag) = f(a);
        flagged |= flag;
        value
    });
    (values, flagged)
}

/// Applies `f` to the two values of every row.
#[inline]
pub(crate) fn zip<A: Copy, B: Copy, R>(
    a: &Operand<'_, A>,
    b: &Operand<'_, B>,
    rows: usize,
    mut f: impl FnMut(A, B) -> R,
) -> Vec<R> {
    match (a, b) {
        (Operand::Flat(a), Operand::Flat(b)) => a.iter().zip(b.iter()).map(|(a, b)| f(*a, *b)).collect(),
        (Operand::Flat(a), Operand::Constant(b)) => a.iter().map(|a| f(*a, *b)).collect(),
        (Operand::Constant(a), Operand::Flat(b)) => b.iter().map(|b| f(*a, *b)).collect(),
        (Operand::Constant(a), Operand::Constant(b)) => (0..rows).map(|_| f(*a, *b)).collect(),
    }
}

/// As `zip`, and tells whether `f` flagged any row.
#[inline]
pub(crate) fn zip_flagged<A: Copy, B: Copy, R>(
    a: &Operand<'_, A>,
    b: &Operand<'_, B>,
    rows: usize,
    f: impl Fn(A, B) -> (R, bool),
) -> (Vec<R>, bool) {
    let mut flagged = false;
    let values = zip(a, b, rows, |a, b| {
        let (value, flag) = f(a, b);
        flagged |= flag;
        value
    });
    (values, flagged)
}

/// One bit a row.
#[inline]
pub(crate) fn test<A: Copy>(a: &Operand<'_, A>, rows: usize, f: impl Fn(A) -> bool) -> BooleanBuffer {
    match a {
        Operand::Flat(a) => bits::from_slice(a, f),
        Operand::Constant(a) => constant_bits(f(*a), rows),
    }
}

/// One bit a row, from the two values of the row.
#[inline]
pub(crate) fn test_pair<A: Copy, B: Copy>(
    a: &Operand<'_, A>,
    b: &Operand<'_, B>,
    rows: usize,
    f: impl Fn(A, B) -> bool,
) -> BooleanBuffer {
    match (a, b) {
        (Operand::Flat(a), Operand::Flat(b)) => bits::from_slices(a, b, f),
        (Operand::Flat(a), Operand::Constant(b)) => bits::from_slice(a, |a| f(a, *b)),
        (Operand::Constant(a), Operand::Flat(b)) => bits::from_slice(b, |b| f(*a, b)),
        (Operand::Constant(a), Operand::Constant(b)) => constant_bits(f(*a, *b), rows),
    }
}

/// The same bit for all rows.
pub(crate) fn constant_bits(value: bool, rows: usize) -> BooleanBuffer {
    if value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) }
}

/// Whether `bad` holds for a row that is not NULL: asked after a loop has flagged something.
pub(crate) fn any_valid(validity: Option<&NullBuffer>, rows: usize, bad: impl Fn(usize) -> bool) -> bool {
    match validity {
        None => (0..rows).any(bad),
        Some(validity) => validity.valid_indices().any(bad),
    }
}

/// Byte strings: one a row, or one for all.
pub(crate) enum Text<'a> {
    /// A string for each row.
    Flat(&'a Strings),
    /// The string of all rows.
    Constant(&'a [u8]),
}

impl<'a> Text<'a> {
    /// The byte strings of a vector that is flat or constant; panics for a vector of another physical type.
    pub(crate) fn of(vector: &'a Vector) -> Text<'a> {
        match vector.data() {
            Data::Bytes(strings) => Text::Flat(strings),
            Data::Constant(Value::Bytes(bytes)) => Text::Constant(bytes),
            Data::Constant(Value::Null) => Text::Constant(b""),
            _ => panic!("a vector of {} does not hold bytes", vector.ty()),
        }
    }
    /// The string of a row; of a NULL, arbitrary bytes.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> &[u8] {
        match self {
            Text::Flat(strings) => strings.get(row),
            Text::Constant(bytes) => bytes,
        }
    }
}

/// Booleans of any form: one bit a row.
pub(crate) fn boolean_bits(vector: &Vector) -> BooleanBuffer {
    match vector.data() {
        Data::Bool(bits) => bits.clone(),
        Data::Constant(Value::Bool(value)) => constant_bits(*value, vector.len()),
        Data::Constant(Value::Null) => constant_bits(false, vector.len()),
        Data::Dictionary { codes, values } => {
            let truth = boolean_bits(values);
            bits::from_slice(codes, |code| truth.value(code as usize))
        }
        _ => panic!("a vector of {} does not hold booleans", vector.ty()),
    }
}
