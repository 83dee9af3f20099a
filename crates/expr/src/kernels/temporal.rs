//! Dates, times and intervals: arithmetic and `extract`.
//!
//! Year-month intervals move by months, the day clamped to the month's last; day-time intervals are microseconds.
//! Deviation from PostgreSQL: a year-month interval times a fraction is rounded to whole months, since no interval
//! here mixes months with days.

use arrow_buffer::NullBuffer;
use plan::{Arithmetic, Function};
use types::datetime::{self, DATE_MAX, DATE_MIN, MICROS_PER_DAY, is_infinite};
use types::{Error, Result, SqlState, Type};
use vector::{Data, Vector};

use super::{calendar, cast};
use crate::operand::{Native, Operand, any_valid, map, map_flagged, zip, zip_flagged};

fn date_out_of_range() -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, "date out of range")
}

fn out_of_range(ty: Type) -> Error {
    let what = match ty {
        Type::Date => return date_out_of_range(),
        Type::Timestamp | Type::TimestampTz => "timestamp out of range",
        Type::Time => "time out of range",
        _ => "interval out of range",
    };
    Error::new(SqlState::DatetimeFieldOverflow, what)
}

/// Sums, differences, products and quotients with moments, dates, times and intervals; out of range is an error in a
/// row that is not NULL.
pub(crate) fn arithmetic(
    op: Arithmetic,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    // Sums with the moving part on the left commute; so do products.
    let moves = |t: Type| t.is_interval() || t.is_integer() || t.is_float();
    let swap = match op {
        Arithmetic::Add => moves(a.ty()) && !moves(b.ty()),
        Arithmetic::Multiply => a.ty().is_numeric(),
        _ => false,
    };
    let (a, b) = if swap { (b, a) } else { (a, b) };
    let negate = op == Arithmetic::Subtract;
    let context = Context { ty, validity, rows };
    match (op, a.ty(), b.ty()) {
        (Arithmetic::Add | Arithmetic::Subtract, from, Type::IntervalYearMonth) => match from {
            Type::Date if ty == Type::Date => context.days(a, b, |day, months: i32| {
                signed_months(months, negate).and_then(|m| datetime::add_months(day, m)).map(i64::from)
            }),
            Type::Timestamp | Type::TimestampTz => context.micros(a, b, |micros: i64, months: i32| {
                signed_months(months, negate).and_then(|m| datetime::timestamp_add_months(micros, m))
            }),
            Type::IntervalYearMonth => context
                .months(a, b, |x: i32, y: i32| if negate { x.checked_sub(y) } else { x.checked_add(y) }),
            _ => Err(undefined(op, a.ty(), b.ty())),
        },
        (Arithmetic::Add | Arithmetic::Subtract, from, Type::IntervalDayTime) => match from {
            // The microseconds of a far day do not fit: whole days are added instead.
            Type::Date if ty == Type::Date => context.days(a, b, |day, micros: i64| {
                let by = if negate { micros.checked_neg()? } else { micros };
                Some(i64::from(day) + by.div_euclid(MICROS_PER_DAY))
            }),
            Type::Time => {
                let micros = zip(&i64::operand(a), &i64::operand(b), rows, |time, micros| {
                    let moved = if negate { time.wrapping_sub(micros) } else { time.wrapping_add(micros) };
                    moved.rem_euclid(MICROS_PER_DAY)
                });
                Ok(Data::I64(micros.into()))
            }
            Type::IntervalDayTime => context.sum(a, b, negate),
            Type::Timestamp | Type::TimestampTz => context.micros(a, b, |moment: i64, micros: i64| {
                let moved = if negate { moment.checked_sub(micros) } else { moment.checked_add(micros) };
                if is_infinite(moment) { Some(moment) } else { moved.filter(|moved| !is_infinite(*moved)) }
            }),
            _ => Err(undefined(op, a.ty(), b.ty())),
        },
        (Arithmetic::Add | Arithmetic::Subtract, Type::Date, Type::BigInt) => {
            context.days(a, b, |day, n: i64| {
                if negate { i64::from(day).checked_sub(n) } else { i64::from(day).checked_add(n) }
            })
        }
        (Arithmetic::Subtract, Type::Date, Type::Date) => {
            let infinite = |day: i32| matches!(day, i32::MAX | i32::MIN);
            context.finite(a, b, infinite, "cannot subtract infinite dates")?;
            context.date_difference(a, b)
        }
        (Arithmetic::Subtract, Type::Timestamp | Type::TimestampTz, Type::Timestamp | Type::TimestampTz) => {
            context.finite(a, b, is_infinite, "cannot subtract infinite timestamps")?;
            context.micros(a, b, |a: i64, b: i64| a.checked_sub(b))
        }
        (Arithmetic::Subtract, _, Type::Timestamp | Type::TimestampTz | Type::Time)
        | (Arithmetic::Add, Type::Timestamp | Type::TimestampTz, Type::Time)
        | (Arithmetic::Add, Type::Time, Type::Timestamp | Type::TimestampTz) => context.sum(a, b, negate),
        (Arithmetic::Multiply | Arithmetic::Divide, _, Type::Double) => context.scaled(op, a, b),
        _ => Err(undefined(op, a.ty(), b.ty())),
    }
}

fn undefined(op: Arithmetic, a: Type, b: Type) -> Error {
    Error::new(
        SqlState::UndefinedFunction,
        format!(
            "operator does not exist: {} {} {}",
            a.sql_name().to_lowercase(),
            op.symbol(),
            b.sql_name().to_lowercase()
        ),
    )
}

fn signed_months(months: i32, negate: bool) -> Option<i32> {
    if negate { months.checked_neg() } else { Some(months) }
}

/// The result's type, and which rows count.
struct Context<'a> {
    ty: Type,
    validity: Option<&'a NullBuffer>,
    rows: usize,
}

impl Context<'_> {
    /// Runs `f` over all rows; `None` in a row that is not NULL is an error.
    fn each<A: Native, B: Native, R: Copy + Default>(
        &self,
        a: &Vector,
        b: &Vector,
        f: impl Fn(A, B) -> Option<R>,
    ) -> Result<Vec<R>> {
        let (a, b) = (A::operand(a), B::operand(b));
        let (out, flagged) = zip_flagged(&a, &b, self.rows, |a, b| match f(a, b) {
            Some(value) => (value, false),
            None => (R::default(), true),
        });
        if flagged && any_valid(self.validity, self.rows, |row| f(a.at(row), b.at(row)).is_none()) {
            return Err(out_of_range(self.ty));
        }
        Ok(out)
    }
    /// An error where one of the two is infinite.
    fn finite<T: Native>(
        &self,
        a: &Vector,
        b: &Vector,
        infinite: impl Fn(T) -> bool,
        message: &str,
    ) -> Result<()> {
        let (x, y) = (T::operand(a), T::operand(b));
        match any_valid(self.validity, self.rows, |row| infinite(x.at(row)) || infinite(y.at(row))) {
            true => Err(Error::new(SqlState::DatetimeFieldOverflow, message)
                .with_hint("isfinite(moment) tells which are finite")),
            false => Ok(()),
        }
    }
    fn days<B: Native>(&self, a: &Vector, b: &Vector, f: impl Fn(i32, B) -> Option<i64>) -> Result<Data> {
        let within = |day: &i64| (DATE_MIN..=DATE_MAX).contains(day);
        let out = self.each(a, b, |a: i32, b: B| match a {
            i32::MAX | i32::MIN => Some(a),
            a => f(a, b).filter(within).map(|day| day as i32),
        })?;
        Ok(Data::I32(out.into()))
    }
    fn months(&self, a: &Vector, b: &Vector, f: impl Fn(i32, i32) -> Option<i32>) -> Result<Data> {
        Ok(Data::I32(self.each(a, b, f)?.into()))
    }
    fn micros<B: Native>(&self, a: &Vector, b: &Vector, f: impl Fn(i64, B) -> Option<i64>) -> Result<Data> {
        Ok(Data::I64(self.each(a, b, f)?.into()))
    }
    fn sum(&self, a: &Vector, b: &Vector, negate: bool) -> Result<Data> {
        let moment = |v: &Vector| matches!(v.ty(), Type::Timestamp | Type::TimestampTz);
        let (left, right) = (moment(a), moment(b));
        self.micros(a, b, |a: i64, b: i64| match (left && is_infinite(a), right && is_infinite(b)) {
            (true, _) => Some(a),
            (_, true) => (!negate).then_some(b),
            _ => {
                let moved = if negate { a.checked_sub(b) } else { a.checked_add(b) };
                if left || right { moved.and_then(datetime::finite) } else { moved }
            }
        })
    }
    fn date_difference(&self, a: &Vector, b: &Vector) -> Result<Data> {
        let (x, y) = (i32::operand(a), i32::operand(b));
        match self.ty {
            Type::BigInt => Ok(Data::I64(zip(&x, &y, self.rows, |a, b| i64::from(a) - i64::from(b)).into())),
            Type::IntervalDayTime => {
                let day = |a: i32, b: i32| Some((i64::from(a) - i64::from(b)) * MICROS_PER_DAY);
                Ok(Data::I64(self.each(a, b, day)?.into()))
            }
            _ => self.months(a, b, |a, b| a.checked_sub(b)),
        }
    }
    /// An interval times or divided by a number.
    fn scaled(&self, op: Arithmetic, a: &Vector, b: &Vector) -> Result<Data> {
        let divide = op == Arithmetic::Divide;
        let factor = f64::operand(b);
        if divide && any_valid(self.validity, self.rows, |row| factor.at(row) == 0.0) {
            return Err(Error::division_by_zero());
        }
        let apply = |value: f64, factor: f64| {
            let result = if divide { value / factor } else { value * factor };
            result.round_ties_even()
        };
        match a.ty() {
            Type::IntervalYearMonth => self
                .each(a, b, |months: i32, factor: f64| {
                    let result = apply(f64::from(months), factor);
                    (result.abs() <= f64::from(i32::MAX)).then_some(result as i32)
                })
                .map(|out| Data::I32(out.into())),
            Type::IntervalDayTime => self
                .each(a, b, |micros: i64, factor: f64| {
                    // Whole factors stay exact beyond 2^53.
                    if !divide && factor.fract() == 0.0 && factor.abs() < 9e15 {
                        return micros.checked_mul(factor as i64);
                    }
                    let result = apply(micros as f64, factor);
                    (result.abs() < 9.2e18).then_some(result as i64)
                })
                .map(|out| Data::I64(out.into())),
            other => Err(undefined(op, other, b.ty())),
        }
    }
}

/// `extract(year | month | day from x)`.
pub(crate) fn extract(
    function: Function,
    input: &Vector,
    ty: Type,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Result<Vector> {
    let part = match function {
        Function::ExtractYear => calendar::Part::Year,
        Function::ExtractMonth => calendar::Part::Month,
        _ => calendar::Part::Day,
    };
    // An infinite moment has no such field that is a number.
    let mut validity = validity;
    let mut infinite = |found: &dyn Fn(usize) -> bool| {
        let finite = NullBuffer::from_iter((0..rows).map(|row| !found(row)));
        validity = NullBuffer::union(validity.as_ref(), Some(&finite));
    };
    let values: Vec<i64> = match input.ty() {
        Type::Date => {
            let days = i32::operand(input);
            let ends = |row: usize| matches!(days.at(row), i32::MAX | i32::MIN);
            if (0..rows).any(ends) {
                infinite(&ends);
            }
            of_days(&days, part, rows)
        }
        Type::Timestamp | Type::TimestampTz => {
            let micros = i64::operand(input);
            let day = |micros: i64| (micros.div_euclid(MICROS_PER_DAY) as i32, is_infinite(micros));
            let (days, flagged) = map_flagged(&micros, rows, day);
            if flagged {
                infinite(&|row| is_infinite(micros.at(row)));
            }
            of_days(&Operand::Flat(&days), part, rows)
        }
        Type::IntervalYearMonth => map(&i32::operand(input), rows, |months| match part {
            calendar::Part::Year => i64::from(months / 12),
            calendar::Part::Month => i64::from(months % 12),
            calendar::Part::Day => 0,
        }),
        Type::IntervalDayTime => map(&i64::operand(input), rows, |micros| match part {
            calendar::Part::Day => micros / MICROS_PER_DAY,
            _ => 0,
        }),
        other => {
            return Err(Error::unsupported(format!(
                "{} is not defined for {}",
                function.name().replace('_', " "),
                other.sql_name().to_lowercase()
            )));
        }
    };
    let whole = Vector::new(Type::BigInt, Data::I64(values.into()), validity);
    if ty == Type::BigInt { Ok(whole) } else { cast::cast(&whole, ty, false) }
}

fn of_days(days: &Operand<'_, i32>, part: calendar::Part, rows: usize) -> Vec<i64> {
    let far = |day: i32| !(-calendar::FAST_DAYS..=calendar::FAST_DAYS).contains(&day);
    // The part is a constant of each loop.
    let (values, any_far) = match part {
        calendar::Part::Year => {
            // There is no year 0: before 1 there is -1.
            let year = |d| calendar::fast(d, calendar::Part::Year);
            map_flagged(days, rows, |d| (year(d) - i64::from(year(d) <= 0), far(d)))
        }
        calendar::Part::Month => {
            map_flagged(days, rows, |d| (calendar::fast(d, calendar::Part::Month), far(d)))
        }
        calendar::Part::Day => map_flagged(days, rows, |d| (calendar::fast(d, calendar::Part::Day), far(d))),
    };
    if !any_far {
        return values;
    }
    map(days, rows, |d| match (calendar::exact(d, part), part) {
        (year, calendar::Part::Year) => year - i64::from(year <= 0),
        (other, _) => other,
    })
}
