//! Functions of a row's numbers over whole batches: the typed loops that `in_batches` declares beside the function of one row.
//!
//! A loop takes arguments of one physical form, flat or constant, and computes every row; what it makes of a NULL is never
//! looked at. A row that has a value and an error leaves the whole batch to the function of one row, which has the
//! error's words: so a loop says `None` and knows no errors. Results that are NULL though no argument is have a bit.

use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder};
use types::{Physical, Result, Type, Value, stop};
use vector::{Data, Vector};

use crate::operand::{Native, Operand, any_valid, map, test, zip};

/// Rows in which every input has a value.
pub(super) fn all_valid(inputs: &[Vector], rows: usize) -> Option<NullBuffer> {
    inputs.iter().fold(None, |all, input| {
        let own = match input.data() {
            Data::Constant(Value::Null) => Some(NullBuffer::new_null(rows)),
            _ => input.validity().cloned(),
        };
        NullBuffer::union(all.as_ref(), own.as_ref())
    })
}

/// What a batch gives: `None` leaves it to the function of one row.
pub(super) type Made = Option<Result<Vector>>;

/// The values, where they have this form, or are a constant of it.
pub(super) fn operand<T: Native>(input: &Vector, physical: Physical) -> Option<Operand<'_, T>> {
    (input.ty().physical() == physical && !input.is_coded()).then(|| T::operand(input))
}

fn floats(input: &Vector) -> Option<Operand<'_, f64>> {
    operand(input, Physical::F64)
}

pub(super) fn longs(input: &Vector) -> Option<Operand<'_, i64>> {
    operand(input, Physical::I64)
}

fn finished(data: Data, inputs: &[Vector], ty: Type, rows: usize) -> Made {
    stop::spend(rows);
    Some(Ok(Vector::new(ty, data, all_valid(inputs, rows))))
}

/// A float of a float, for functions that have no errors.
pub(super) fn float(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(f64) -> f64) -> Made {
    let [x] = inputs else { return None };
    finished(Data::F64(map(&floats(x)?, rows, of).into()), inputs, ty, rows)
}

/// A float of two.
pub(super) fn float_pair(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(f64, f64) -> f64) -> Made {
    let [x, y] = inputs else { return None };
    finished(Data::F64(zip(&floats(x)?, &floats(y)?, rows, of).into()), inputs, ty, rows)
}

/// A float of a float and a number of digits, which is a constant.
pub(super) fn float_digits(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(f64, i64) -> f64) -> Made {
    let [x, digits] = inputs else { return None };
    let Operand::Constant(digits) = longs(digits)? else { return None };
    finished(Data::F64(map(&floats(x)?, rows, |x| of(x, digits)).into()), inputs, ty, rows)
}

/// Whether a float has a property.
pub(super) fn float_test(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(f64) -> bool) -> Made {
    let [x] = inputs else { return None };
    finished(Data::Bool(test(&floats(x)?, rows, of)), inputs, ty, rows)
}

/// A value of one argument; `None` for one that the function of one row refuses.
pub(super) fn one<A: Native, R: Native>(
    inputs: &[Vector],
    physical: Physical,
    ty: Type,
    rows: usize,
    of: impl Fn(A) -> Option<R>,
) -> Made {
    let [x] = inputs else { return None };
    let x = operand::<A>(x, physical)?;
    let mut refused = false;
    let values = map(&x, rows, |x| {
        let value = of(x);
        refused |= value.is_none();
        value.unwrap_or_default()
    });
    let valid = all_valid(inputs, rows);
    if refused && any_valid(valid.as_ref(), rows, |row| of(x.at(row)).is_none()) {
        return None;
    }
    stop::spend(rows * 4);
    Some(Ok(Vector::new(ty, R::data(values), valid)))
}

/// What a value of one argument is; of some, NULL. `Err` is a value that the function of one row refuses.
pub(super) fn nullable<A: Native, R: Native>(
    inputs: &[Vector],
    physical: Physical,
    ty: Type,
    rows: usize,
    of: impl Fn(A) -> std::result::Result<Option<R>, Refused>,
) -> Made {
    let [x] = inputs else { return None };
    let x = operand::<A>(x, physical)?;
    let (mut refused, mut absent) = (false, false);
    let values = map(&x, rows, |x| {
        let value = of(x);
        refused |= value.is_err();
        let value = value.unwrap_or_default();
        absent |= value.is_none();
        value.unwrap_or_default()
    });
    let valid = all_valid(inputs, rows);
    if refused && any_valid(valid.as_ref(), rows, |row| of(x.at(row)).is_err()) {
        return None;
    }
    stop::spend(rows * 4);
    let there = absent.then(|| {
        NullBuffer::new(BooleanBuffer::collect_bool(rows, |row| matches!(of(x.at(row)), Ok(Some(_)))))
    });
    let valid = NullBuffer::union(valid.as_ref(), there.as_ref()).filter(|valid| valid.null_count() > 0);
    Some(Ok(Vector::new(ty, R::data(values), valid)))
}

/// A value that only the function of one row has the error for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused;

/// A value of several arguments of a row, NULL where `of` says `Ok(None)`; rows with a NULL are not asked.
pub(super) fn each<R: Native>(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    mut of: impl FnMut(usize) -> std::result::Result<Option<R>, Refused>,
) -> Made {
    let valid = all_valid(inputs, rows);
    let mut nulls = NullBufferBuilder::new(rows);
    let mut values = Vec::with_capacity(rows);
    stop::spend(rows * 16);
    for row in 0..rows {
        let known = valid.as_ref().is_none_or(|valid| valid.is_valid(row));
        let value = if known { of(row).ok()? } else { None };
        nulls.append(value.is_some());
        values.push(value.unwrap_or_default());
    }
    Some(Ok(Vector::new(ty, R::data(values), nulls.finish().filter(|n| n.null_count() > 0))))
}

/// Both integers of one type, bit by bit: what comes of two numbers of a type's range lies in it.
pub(super) fn bitwise(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(i64, i64) -> i64) -> Made {
    let [x, y] = inputs else { return None };
    if x.ty() != ty || y.ty() != ty {
        return None;
    }
    let data = match ty.physical() {
        Physical::I16 => {
            let (x, y) = (operand::<i16>(x, Physical::I16)?, operand::<i16>(y, Physical::I16)?);
            Data::I16(zip(&x, &y, rows, |x, y| of(x.into(), y.into()) as i16).into())
        }
        Physical::I32 => {
            let (x, y) = (operand::<i32>(x, Physical::I32)?, operand::<i32>(y, Physical::I32)?);
            Data::I32(zip(&x, &y, rows, |x, y| of(x.into(), y.into()) as i32).into())
        }
        Physical::I64 => Data::I64(zip(&longs(x)?, &longs(y)?, rows, of).into()),
        _ => return None,
    };
    finished(data, inputs, ty, rows)
}

/// What a division of floats leaves; a divisor of 0 is an error.
pub(super) fn float_remainder(inputs: &[Vector], ty: Type, rows: usize) -> Made {
    let divisors = floats(inputs.get(1)?)?;
    let valid = all_valid(inputs, rows);
    if any_valid(valid.as_ref(), rows, |row| divisors.at(row) == 0.0) {
        return None;
    }
    float_pair(inputs, ty, rows, |x, y| x % y)
}
