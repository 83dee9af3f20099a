//! Exact arithmetic on the codes of a block.
//!
//! A coded column is a line over its codes, `base + code * step`. Adding, subtracting or multiplying by a constant
//! moves the line and touches no row; a product of two columns reads the codes and writes 64-bit values. Results are
//! proved to fit by the ends of the lines, so that no row is looked at for that. What does not suit is left to the
//! kernels on decoded values.

use plan::Arithmetic;
use simd::{Code, Line};
use types::{Physical, Type, Value, decimal};
use vector::{Coded, Codes, Data, Meaning, Vector};

use crate::graph::{Node, Operation};

/// Calls `$with!(codes)` with the codes as a slice.
macro_rules! with_codes {
    ($coded:expr, $with:ident) => {
        match &$coded.codes {
            Codes::U8(codes) => $with!(codes),
            Codes::U16(codes) => $with!(codes),
            Codes::U32(codes) => $with!(codes),
        }
    };
}

/// The node over inputs of which some are codes, with a bound on its magnitudes where one was proved on the way; `None`
/// when it needs them decoded. `bounds`: what is known of the inputs.
pub(crate) fn arithmetic(
    node: &Node,
    inputs: &[Vector],
    bounds: [Option<u128>; 2],
    rows: usize,
) -> Option<(Vector, Option<u128>)> {
    let Operation::Arithmetic { op, checked } = &node.operation else { return None };
    let [a, b] = inputs else { return None };
    if inputs.iter().any(Vector::has_nulls)
        || node.ty.physical() != Physical::I64
        || !aligned(*op, node.ty, a, b)
    {
        return None;
    }
    // 64 bits hold what is proved; a checked operation has the type's precision to keep as well.
    let precision = if *checked { precision(node.ty)? } else { 19 };
    let fits = |value: i128| i64::try_from(value).is_ok() && decimal::fits(value, precision);
    match (a.data(), b.data()) {
        (Data::Coded(coded), Data::Constant(value)) => moved(*op, coded, integer(value)?, false, fits)
            .map(|c| (Vector::new(node.ty, Data::Coded(c), None), None)),
        (Data::Constant(value), Data::Coded(coded)) => moved(*op, coded, integer(value)?, true, fits)
            .map(|c| (Vector::new(node.ty, Data::Coded(c), None), None)),
        (Data::Coded(a), Data::Coded(b))
            if *op == Arithmetic::Multiply && narrow_product(a, b, fits).is_some() =>
        {
            let last = narrow_product(a, b, fits)?;
            let mut out = Vec::with_capacity(rows);
            multiply_narrow(a, b, &mut out)?;
            let product =
                Coded { codes: Codes::U32(out.into()), meaning: Meaning::Line { base: 0, step: 1 }, last };
            Some((Vector::new(node.ty, Data::Coded(product), None), None))
        }
        (a, b) if *op == Arithmetic::Multiply => {
            let bound_of = |known: Option<u128>, data: &Data| known.or_else(|| magnitude(data));
            let bound = bound_of(bounds[0], a)?.checked_mul(bound_of(bounds[1], b)?)?;
            if !fits(i128::try_from(bound).ok()?) {
                return None;
            }
            let mut out = Vec::with_capacity(rows);
            multiply(a, b, &mut out)?;
            Some((Vector::from_i64(node.ty, out), Some(bound)))
        }
        _ => None,
    }
}

/// Whether the operation needs no change of scale.
fn aligned(op: Arithmetic, ty: Type, a: &Vector, b: &Vector) -> bool {
    match ty {
        Type::Decimal { scale, .. } => {
            let exact = |v: &Vector| matches!(v.ty(), Type::Decimal { .. });
            let (left, right) = (a.ty().scale(), b.ty().scale());
            exact(a)
                && exact(b)
                && match op {
                    Arithmetic::Multiply => left + right == scale,
                    Arithmetic::Add | Arithmetic::Subtract => left == scale && right == scale,
                    _ => false,
                }
        }
        Type::BigInt => a.ty().is_integer() && b.ty().is_integer(),
        _ => false,
    }
}

fn precision(ty: Type) -> Option<u8> {
    match ty {
        Type::Decimal { precision, .. } => Some(precision),
        // The 64 bits are all there is to keep.
        Type::BigInt => Some(19),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i128().filter(|v| i64::try_from(*v).is_ok())
}

/// The line after `coded op constant`, or `constant op coded` when `swapped`.
fn moved(
    op: Arithmetic,
    coded: &Coded,
    constant: i128,
    swapped: bool,
    fits: impl Fn(i128) -> bool,
) -> Option<Coded> {
    let Meaning::Line { base, step } = coded.meaning else { return None };
    let (base, step) = (i128::from(base), i128::from(step));
    let (base, step) = match op {
        Arithmetic::Add => (base + constant, step),
        Arithmetic::Subtract if swapped => (constant - base, -step),
        Arithmetic::Subtract => (base - constant, step),
        Arithmetic::Multiply => (base.checked_mul(constant)?, step.checked_mul(constant)?),
        _ => return None,
    };
    let end = step.checked_mul(i128::from(coded.last))?.checked_add(base)?;
    if !fits(base) || !fits(end) {
        return None;
    }
    let meaning = Meaning::Line { base: i64::try_from(base).ok()?, step: i64::try_from(step).ok()? };
    Some(Coded { codes: coded.codes.clone(), meaning, last: coded.last })
}

/// A bound on the magnitudes of all values.
fn magnitude(data: &Data) -> Option<u128> {
    match data {
        Data::Coded(coded) => coded.bounds().map(|(low, high)| low.unsigned_abs().max(high.unsigned_abs())),
        Data::I64(values) => Some(u128::from(simd::magnitudes(values)) + 1),
        _ => None,
    }
}

/// The greatest product of two columns on lines whose products are codes of 32 bits themselves.
fn narrow_product(a: &Coded, b: &Coded, fits: impl Fn(i128) -> bool) -> Option<u32> {
    line(a)?;
    line(b)?;
    let ((a_low, a_high), (b_low, b_high)) = (a.bounds()?, b.bounds()?);
    let last = a_high.checked_mul(b_high)?;
    (a_low >= 0 && b_low >= 0 && fits(last)).then(|| u32::try_from(last).ok())?
}

fn multiply_narrow(a: &Coded, b: &Coded, out: &mut Vec<u32>) -> Option<()> {
    let (line_a, line_b) = (line(a)?, line(b)?);
    macro_rules! first {
        ($a:ident) => {{
            macro_rules! second {
                ($b:ident) => {
                    simd::multiply_lines_narrow($a, line_a, $b, line_b, out)
                };
            }
            with_codes!(b, second);
        }};
    }
    with_codes!(a, first);
    Some(())
}

/// Codes on a line that rises or falls by one a code.
fn line(coded: &Coded) -> Option<Line> {
    match coded.meaning {
        Meaning::Line { base, step: 1 } => Some(Line { base, falls: false }),
        Meaning::Line { base, step: -1 } => Some(Line { base, falls: true }),
        _ => None,
    }
}

/// The values of codes on any other line.
fn values(coded: &Coded) -> Option<Vec<i64>> {
    let Meaning::Line { base, step } = coded.meaning else { return None };
    let value = |code: u32| base.wrapping_add(i64::from(code).wrapping_mul(step));
    Some(match &coded.codes {
        Codes::U8(c) => c.iter().map(|c| value(u32::from(*c))).collect(),
        Codes::U16(c) => c.iter().map(|c| value(u32::from(*c))).collect(),
        Codes::U32(c) => c.iter().map(|c| value(*c)).collect(),
    })
}

fn multiply(a: &Data, b: &Data, out: &mut Vec<i64>) -> Option<()> {
    match (a, b) {
        (Data::Coded(a), Data::Coded(b)) => match (line(a), line(b)) {
            (Some(line_a), Some(line_b)) => {
                macro_rules! first {
                    ($codes:ident) => {
                        multiply_codes($codes, line_a, b, line_b, out)
                    };
                }
                with_codes!(a, first);
            }
            (_, Some(_)) => multiply(&Data::I64(values(a)?.into()), &Data::Coded(b.clone()), out)?,
            _ => multiply(&Data::I64(values(b)?.into()), &Data::Coded(a.clone()), out)?,
        },
        (Data::I64(a), Data::Coded(b)) | (Data::Coded(b), Data::I64(a)) => match line(b) {
            Some(line) => {
                macro_rules! by {
                    ($codes:ident) => {
                        simd::multiply_by_line(a, $codes, line, out)
                    };
                }
                with_codes!(b, by);
            }
            None => {
                let b = values(b)?;
                out.extend(a.iter().zip(&b).map(|(a, b)| a.wrapping_mul(*b)));
            }
        },
        _ => return None,
    }
    Some(())
}

fn multiply_codes<A: Code>(a: &[A], line_a: Line, b: &Coded, line_b: Line, out: &mut Vec<i64>) {
    macro_rules! second {
        ($codes:ident) => {
            simd::multiply_lines(a, line_a, $codes, line_b, out)
        };
    }
    with_codes!(b, second);
}
