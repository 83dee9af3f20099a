//! Arithmetic of SMALLINT, INTEGER and BIGINT. Overflow is found by a flag gathered over the batch; only when it is
//! set, and some row is NULL, are the valid rows looked at one by one.
//!
//! Rows that are NULL hold any number, whose overflow is none. Called by `arithmetic`, and for scaled integers by
//! `decimal`.

use arrow_buffer::NullBuffer;
use plan::Arithmetic;
use types::{Error, Physical, Result, Type};
use vector::{Data, Vector};

use crate::operand::{Native, Operand, Whole, any_valid, zip, zip_flagged};

/// The integer types that arithmetic is defined on.
pub(crate) trait Integer: Native {
    /// `+ - *` modulo the width of the type.
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
integer!(i16, i32, i64, i128);

/// Arithmetic of the types that are narrower than their form: row by row, since each result is checked, and the error
/// names the operands.
pub(crate) fn ranged(
    op: Arithmetic,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    match ty.physical() {
        Physical::I16 => ranged_as::<i16>(op, ty, a, b, validity, rows),
        Physical::I32 => ranged_as::<i32>(op, ty, a, b, validity, rows),
        Physical::I64 => ranged_as::<i64>(op, ty, a, b, validity, rows),
        _ => ranged_as::<i128>(op, ty, a, b, validity, rows),
    }
}

fn ranged_as<T: Whole>(
    op: Arithmetic,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    let (a, b): (Operand<'_, T>, Operand<'_, T>) = (T::operand(a), T::operand(b));
    if matches!(op, Arithmetic::Divide | Arithmetic::Modulo) {
        check_divisor(&b, validity, rows)?;
    }
    let (low, high) = ty.integer_range().unwrap_or((i128::MIN, i128::MAX));
    let mut out = Vec::with_capacity(rows);
    for row in 0..rows {
        let (x, y) = (a.at(row).widen(), b.at(row).widen());
        let result = match op {
            Arithmetic::Add => x.checked_add(y),
            Arithmetic::Subtract => x.checked_sub(y),
            Arithmetic::Multiply => x.checked_mul(y),
            Arithmetic::Divide => x.checked_div(y),
            Arithmetic::Modulo => x.checked_rem(y),
        };
        match result.filter(|v| (low..=high).contains(v)) {
            Some(value) => out.push(T::narrow(value)),
            None if validity.is_some_and(|v| v.is_null(row)) => out.push(T::default()),
            None => {
                let detail = format!("{x} {} {y} is none of its values", op.symbol());
                return Err(Error::out_of_range(&ty).with_detail(detail));
            }
        }
    }
    Ok(T::data(out))
}

/// Applies the operator to two operands of one type. Division by zero, and with `checked` overflow, is an error in a
/// row that is not NULL.
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
