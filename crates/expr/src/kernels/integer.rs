//! Arithmetic of SMALLINT, INTEGER and BIGINT. Overflow is found by a flag gathered over the batch; only when it is
//! set, and some row is NULL, are the valid rows looked at one by one.

use arrow_buffer::NullBuffer;
use plan::Arithmetic;
use types::{Error, Result, Type};
use vector::{Data, Vector};

use crate::operand::{Native, Operand, any_valid, zip, zip_flagged};

pub(crate) trait Integer: Native {
    fn wrapping(op: Arithmetic, a: Self, b: Self) -> Self;
    /// `+ - *`, and whether it overflowed.
    fn overflowing(op: Arithmetic, a: Self, b: Self) -> (Self, bool);
    /// Truncating division and its overflow (MIN / -1); 0 for a divisor of 0.
    fn divide(a: Self, b: Self) -> (Self, bool);
    /// The remainder has the sign of the dividend; 0 for a divisor of 0.
    fn modulo(a: Self, b: Self) -> Self;
}

macro_rules! integer {
    ($($native:ty),*) => {$(
        impl Integer for $native {
            #[inline(always)]
            fn wrapping(op: Arithmetic, a: Self, b: Self) -> Self {
                match op {
                    Arithmetic::Add => a.wrapping_add(b),
                    Arithmetic::Subtract => a.wrapping_sub(b),
                    _ => a.wrapping_mul(b),
                }
            }
            #[inline(always)]
            fn overflowing(op: Arithmetic, a: Self, b: Self) -> (Self, bool) {
                match op {
                    // The sign test vectorises, the processor's flag does not.
                    Arithmetic::Add => {
                        let sum = a.wrapping_add(b);
                        (sum, ((a ^ sum) & (b ^ sum)) < 0)
                    }
                    Arithmetic::Subtract => {
                        let difference = a.wrapping_sub(b);
                        (difference, ((a ^ b) & (a ^ difference)) < 0)
                    }
                    _ => a.overflowing_mul(b),
                }
            }
            #[inline(always)]
            fn divide(a: Self, b: Self) -> (Self, bool) {
                if b == 0 { (0, false) } else { a.overflowing_div(b) }
            }
            #[inline(always)]
            fn modulo(a: Self, b: Self) -> Self {
                if b == 0 { 0 } else { a.wrapping_rem(b) }
            }
        }
    )*};
}
integer!(i16, i32, i64);

pub(crate) fn arithmetic<T: Integer>(
    op: Arithmetic,
    checked: bool,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    let (a, b): (Operand<'_, T>, Operand<'_, T>) = (T::operand(a), T::operand(b));
    // Each operation gets loops of its own: `op` must be a constant inside them.
    let out = match op {
        Arithmetic::Add => plain(Arithmetic::Add, checked, ty, &a, &b, validity, rows)?,
        Arithmetic::Subtract => plain(Arithmetic::Subtract, checked, ty, &a, &b, validity, rows)?,
        Arithmetic::Multiply => plain(Arithmetic::Multiply, checked, ty, &a, &b, validity, rows)?,
        Arithmetic::Divide => {
            check_divisor(&b, validity, rows)?;
            let (out, flagged) = zip_flagged(&a, &b, rows, T::divide);
            if flagged && any_valid(validity, rows, |row| T::divide(a.at(row), b.at(row)).1) {
                return Err(Error::out_of_range(&ty));
            }
            out
        }
        Arithmetic::Modulo => {
            check_divisor(&b, validity, rows)?;
            zip(&a, &b, rows, T::modulo)
        }
    };
    Ok(T::data(out))
}

#[inline(always)]
fn plain<T: Integer>(
    op: Arithmetic,
    checked: bool,
    ty: Type,
    a: &Operand<'_, T>,
    b: &Operand<'_, T>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Vec<T>> {
    if !checked {
        return Ok(zip(a, b, rows, |a, b| T::wrapping(op, a, b)));
    }
    let (out, flagged) = zip_flagged(a, b, rows, |a, b| T::overflowing(op, a, b));
    if flagged && any_valid(validity, rows, |row| T::overflowing(op, a.at(row), b.at(row)).1) {
        return Err(Error::out_of_range(&ty));
    }
    Ok(out)
}

/// A divisor of 0 in a row that is not NULL is an error.
pub(crate) fn check_divisor<T: Native>(
    b: &Operand<'_, T>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<()> {
    let zero = T::default();
    let found = match b {
        Operand::Constant(b) => *b == zero,
        Operand::Flat(b) => b.iter().fold(false, |found, b| found | (*b == zero)),
    };
    if found && any_valid(validity, rows, |row| b.at(row) == zero) {
        return Err(Error::division_by_zero());
    }
    Ok(())
}
