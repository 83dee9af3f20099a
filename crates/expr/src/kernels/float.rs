//! Arithmetic of REAL and DOUBLE PRECISION. As in PostgreSQL an infinite result of finite operands, a product or
//! quotient that vanishes, and division by zero are errors.

use arrow_buffer::NullBuffer;
use plan::Arithmetic;
use types::{Error, Result, SqlState};
use vector::{Data, Vector};

use crate::operand::{Native, Operand, any_valid, zip, zip_flagged};

/// The floating-point types that arithmetic is defined on.
pub(crate) trait Float: Native {
    /// The result as the processor has it.
    fn calculate(op: Arithmetic, a: Self, b: Self) -> Self;
    /// The result, and whether it may have overflowed or underflowed: infinite, NaN, or a zero of a `*` or `/` whose
    /// left operand is none.
    fn suspicious(op: Arithmetic, a: Self, b: Self) -> (Self, bool);
    /// The result, and whether it did.
    fn flagged(op: Arithmetic, a: Self, b: Self) -> (Self, bool);
    /// Whether the value is NaN.
    fn is_nan(self) -> bool;
    /// Whether the value is infinite.
    fn is_infinite(self) -> bool;
}

macro_rules! float {
    ($($native:ty),*) => {$(
        impl Float for $native {
            #[inline(always)]
            fn calculate(op: Arithmetic, a: Self, b: Self) -> Self {
                match op {
                    Arithmetic::Add => a + b,
                    Arithmetic::Subtract => a - b,
                    Arithmetic::Multiply => a * b,
                    Arithmetic::Divide => a / b,
                    Arithmetic::Modulo => a % b,
                }
            }
            #[inline(always)]
            fn suspicious(op: Arithmetic, a: Self, b: Self) -> (Self, bool) {
                let result = Self::calculate(op, a, b);
                // False for NaN as well.
                let finite = result.abs() < <$native>::INFINITY;
                let vanished = matches!(op, Arithmetic::Multiply | Arithmetic::Divide) & (result == 0.0) & (a != 0.0);
                (result, !finite | vanished)
            }
            #[inline(always)]
            fn flagged(op: Arithmetic, a: Self, b: Self) -> (Self, bool) {
                let result = Self::calculate(op, a, b);
                let overflow = <$native>::is_infinite(result) & a.is_finite() & b.is_finite();
                let underflow = match op {
                    Arithmetic::Multiply => (result == 0.0) & (a != 0.0) & (b != 0.0),
                    Arithmetic::Divide => (result == 0.0) & (a != 0.0) & b.is_finite(),
                    _ => false,
                };
                (result, overflow | underflow)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$native>::is_nan(self)
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                <$native>::is_infinite(self)
            }
        }
    )*};
}
float!(f32, f64);

/// Applies the operator row by row. Division of anything but NaN by zero is an error in a row that is not NULL; with
/// `checked`, so are overflow and underflow.
pub(crate) fn arithmetic<T: Float>(
    op: Arithmetic,
    checked: bool,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    let (a, b): (Operand<'_, T>, Operand<'_, T>) = (T::operand(a), T::operand(b));
    let out = match op {
        Arithmetic::Add => calculate(Arithmetic::Add, checked, &a, &b, validity, rows)?,
        Arithmetic::Subtract => calculate(Arithmetic::Subtract, checked, &a, &b, validity, rows)?,
        Arithmetic::Multiply => calculate(Arithmetic::Multiply, checked, &a, &b, validity, rows)?,
        Arithmetic::Divide => {
            check_divisor(&a, &b, validity, rows)?;
            calculate(Arithmetic::Divide, checked, &a, &b, validity, rows)?
        }
        Arithmetic::Modulo => {
            check_divisor(&a, &b, validity, rows)?;
            calculate(Arithmetic::Modulo, checked, &a, &b, validity, rows)?
        }
    };
    Ok(T::data(out))
}

#[inline(always)]
fn calculate<T: Float>(
    op: Arithmetic,
    checked: bool,
    a: &Operand<'_, T>,
    b: &Operand<'_, T>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Vec<T>> {
    if !checked {
        return Ok(zip(a, b, rows, |a, b| T::calculate(op, a, b)));
    }
    // What is suspicious is cheap to tell and vectorises; what is wrong is asked of suspicious batches only.
    let (out, flagged) = zip_flagged(a, b, rows, |a, b| T::suspicious(op, a, b));
    if flagged {
        let wrong = |row: usize| T::flagged(op, a.at(row), b.at(row)).1;
        let infinite = |row: usize| wrong(row) && out[row].is_infinite();
        if any_valid(validity, rows, infinite) {
            return Err(overflow());
        }
        if any_valid(validity, rows, wrong) {
            return Err(Error::new(SqlState::NumericValueOutOfRange, "value out of range: underflow"));
        }
    }
    Ok(out)
}

/// The error of a result beyond the type's range.
pub(crate) fn overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow")
}

/// NaN divided by zero is NaN; anything else is an error.
fn check_divisor<T: Float>(
    a: &Operand<'_, T>,
    b: &Operand<'_, T>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<()> {
    let zero = T::default();
    let found = match b {
        Operand::Constant(b) => *b == zero,
        Operand::Flat(b) => b.iter().fold(false, |found, b| found | (*b == zero)),
    };
    if found && any_valid(validity, rows, |row| b.at(row) == zero && !a.at(row).is_nan()) {
        return Err(Error::division_by_zero());
    }
    Ok(())
}
