//! Functions that make intervals and reckon with them.
//!
//! An interval is months, days and microseconds (`types::interval`), which are never turned into each other but where
//! a function is for that. Declared in the list of `own`.

use plan::functions::{
    INTERVAL_DIVIDE, INTERVAL_GREATEST, INTERVAL_KEY, INTERVAL_LEAST, INTERVAL_MULTIPLY, INTERVAL_OF_SUMS,
    INTERVAL_PART,
};
use types::datetime::MICROS_PER_SECOND;
use types::interval::{self, Interval};
use types::{Error, Physical, Result, Value};
use vector::Vector;

use super::declare::*;
use super::time::calendar::{MICROS_PER_HOUR, MICROS_PER_MINUTE, overflow};
use super::{Arguments, maps};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal(INTERVAL_KEY, &[is(&[INTERVAL], Type::Decimal { precision: 38, scale: 0 })], |a| {
        Ok(Value::I128(a.interval(0)?.key()))
    }),
    internal(INTERVAL_PART, &[is(&[TEXT, INTERVAL], Type::BigInt)], |a| {
        let of = a.interval(1)?;
        Ok(Value::I64(match a.text(0)? {
            "months" => i64::from(of.months),
            "days" => i64::from(of.days),
            _ => of.micros,
        }))
    }),
    internal(INTERVAL_MULTIPLY, &[is(&[INTERVAL, DOUBLE], Type::Interval)], |a| {
        sum(a.interval(0)?.scaled(a.float(1)?, false))
    }),
    internal(INTERVAL_DIVIDE, &[is(&[INTERVAL, DOUBLE], Type::Interval)], |a| match a.float(1)? {
        0.0 => Err(Error::division_by_zero()),
        by => sum(a.interval(0)?.scaled(by, true)),
    }),
    internal(INTERVAL_OF_SUMS, &[optional(is(&[BIG, BIG, BIG, BIG], Type::Interval), 1)], |a| {
        let part = |at| i32::try_from(a.integer(at)?).map_err(|_| interval::out_of_range());
        let all = Interval::new(part(0)?, part(1)?, a.integer(2)?);
        match a.len() {
            3 => all.value(),
            _ if a.integer(3)? == 0 => Ok(Value::Null),
            _ => sum(all.scaled(a.integer(3)? as f64, true)),
        }
    }),
    internal(INTERVAL_GREATEST, &[variadic(&[], Type::Interval)], |a| {
        Ok(a.values.iter().filter(|v| !v.is_null()).max().cloned().unwrap_or(Value::Null))
    }),
    internal(INTERVAL_LEAST, &[variadic(&[], Type::Interval)], |a| {
        Ok(a.values.iter().filter(|v| !v.is_null()).min().cloned().unwrap_or(Value::Null))
    }),
    own(
        "justify_days",
        &[is(&[INTERVAL], Type::Interval)],
        page(
            "date and time",
            "justify_days(interval)",
            "The interval with a month for every 30 days.",
            "justify_days(INTERVAL '65 days')",
            "2 mons 5 days",
        ),
        |a| sum(a.interval(0)?.justified_days()),
    ),
    own(
        "justify_hours",
        &[is(&[INTERVAL], Type::Interval)],
        page(
            "date and time",
            "justify_hours(interval)",
            "The interval with a day for every 24 hours.",
            "justify_hours(INTERVAL '50 hours')",
            "2 days 02:00:00",
        ),
        |a| sum(a.interval(0)?.justified_hours()),
    ),
    own(
        "justify_interval",
        &[is(&[INTERVAL], Type::Interval)],
        page(
            "date and time",
            "justify_interval(interval)",
            "The interval with a day for every 24 hours and a month for every 30 days, all of one sign.",
            "justify_interval(INTERVAL '1 month -1 hour')",
            "29 days 23:00:00",
        ),
        |a| sum(a.interval(0)?.justified()),
    ),
    own(
        "make_interval",
        &[optional(is(&[BIG, BIG, BIG, BIG, BIG, BIG, DOUBLE], Type::Interval), 7)],
        page(
            "date and time",
            "make_interval(years, months, weeks, days, hours, mins, secs)",
            "The interval of these numbers, of which any may be left out or named: make_interval(days => 3).",
            "make_interval(months => 1, days => 2, secs => 0.5)",
            "1 mon 2 days 00:00:00.5",
        ),
        make_interval,
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((0, 0, n))),
        own(
            "to_microseconds",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_microseconds(number)",
                "An interval of that many microseconds.",
                "to_microseconds(1500000)",
                "00:00:01.5",
            ),
            |a| time_span(Some(a.integer(0)?)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_float(i, ty, rows, 1000),
        own(
            "to_milliseconds",
            &[is(&[DOUBLE], Type::Interval)],
            page(
                "date and time",
                "to_milliseconds(number)",
                "An interval of that many milliseconds.",
                "to_milliseconds(1500)",
                "00:00:01.5",
            ),
            |a| spans(a.float(0)?, 1000),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_float(i, ty, rows, MICROS_PER_SECOND),
        own(
            "to_seconds",
            &[is(&[DOUBLE], Type::Interval)],
            page(
                "date and time",
                "to_seconds(number)",
                "An interval of that many seconds.",
                "to_seconds(1.5)",
                "00:00:01.5",
            ),
            |a| spans(a.float(0)?, MICROS_PER_SECOND),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((0, 0, n.checked_mul(MICROS_PER_MINUTE)?))),
        own(
            "to_minutes",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_minutes(number)",
                "An interval of that many minutes.",
                "to_minutes(90)",
                "01:30:00",
            ),
            |a| time_span(a.integer(0)?.checked_mul(MICROS_PER_MINUTE)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((0, 0, n.checked_mul(MICROS_PER_HOUR)?))),
        own(
            "to_hours",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_hours(number)",
                "An interval of that many hours.",
                "to_hours(5)",
                "05:00:00",
            ),
            |a| time_span(a.integer(0)?.checked_mul(MICROS_PER_HOUR)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((0, n.checked_mul(1)?, 0))),
        own(
            "to_days",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_days(number)",
                "An interval of that many days.",
                "to_days(3)",
                "3 days",
            ),
            |a| days(a.integer(0)?.checked_mul(1)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((0, n.checked_mul(7)?, 0))),
        own(
            "to_weeks",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_weeks(number)",
                "An interval of that many weeks.",
                "to_weeks(2)",
                "14 days",
            ),
            |a| days(a.integer(0)?.checked_mul(7)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(1)?, 0, 0))),
        own(
            "to_months",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_months(number)",
                "An interval of that many months.",
                "to_months(14)",
                "1 year 2 mons",
            ),
            |a| months(a.integer(0)?.checked_mul(1)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(3)?, 0, 0))),
        own(
            "to_quarters",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_quarters(number)",
                "An interval of that many quarters.",
                "to_quarters(2)",
                "6 mons",
            ),
            |a| months(a.integer(0)?.checked_mul(3)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(12)?, 0, 0))),
        own(
            "to_years",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_years(number)",
                "An interval of that many years.",
                "to_years(2)",
                "2 years",
            ),
            |a| months(a.integer(0)?.checked_mul(12)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(120)?, 0, 0))),
        own(
            "to_decades",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_decades(number)",
                "An interval of that many decades.",
                "to_decades(2)",
                "20 years",
            ),
            |a| months(a.integer(0)?.checked_mul(120)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(1_200)?, 0, 0))),
        own(
            "to_centuries",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_centuries(number)",
                "An interval of that many centuries.",
                "to_centuries(1)",
                "100 years",
            ),
            |a| months(a.integer(0)?.checked_mul(1_200)),
        ),
    ),
    in_batches(
        |i, ty, rows, _| of_number(i, ty, rows, |n| Some((n.checked_mul(12_000)?, 0, 0))),
        own(
            "to_millennia",
            &[is(&[BIG], Type::Interval)],
            page(
                "date and time",
                "to_millennia(number)",
                "An interval of that many millennia.",
                "to_millennia(1)",
                "1000 years",
            ),
            |a| months(a.integer(0)?.checked_mul(12_000)),
        ),
    ),
];

fn months(count: Option<i64>) -> Result<Value> {
    let count = count.and_then(|c| i32::try_from(c).ok()).ok_or_else(overflow)?;
    Interval::new(count, 0, 0).value()
}

fn days(count: Option<i64>) -> Result<Value> {
    let count = count.and_then(|c| i32::try_from(c).ok()).ok_or_else(overflow)?;
    Interval::new(0, count, 0).value()
}

fn time_span(micros: Option<i64>) -> Result<Value> {
    Interval::new(0, 0, micros.ok_or_else(overflow)?).value()
}

pub(super) fn sum(interval: Option<Interval>) -> Result<Value> {
    interval.ok_or_else(overflow)?.value()
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`, from the left as many as there are.
fn make_interval(a: &Arguments<'_>) -> Result<Value> {
    let part = |at: usize| if at < a.len() { a.integer(at) } else { Ok(0) };
    let both = |large: i64, of: i64, small: i64| {
        let whole = large.checked_mul(of).and_then(|l| l.checked_add(small));
        whole.and_then(|w| i32::try_from(w).ok()).ok_or_else(overflow)
    };
    let months = both(part(0)?, 12, part(1)?)?;
    let days = both(part(2)?, 7, part(3)?)?;
    let hours = part(4)?.checked_mul(MICROS_PER_HOUR);
    let minutes = part(5)?.checked_mul(MICROS_PER_MINUTE);
    let seconds = if a.len() > 6 { (a.float(6)? * 1e6).round_ties_even() } else { 0.0 };
    if !(seconds.abs() < 9.2e18) {
        return Err(overflow());
    }
    let time = hours.zip(minutes).and_then(|(h, m)| h.checked_add(m)?.checked_add(seconds as i64));
    Interval::new(months, days, time.ok_or_else(overflow)?).value()
}

/// So many units in microseconds, where they are that few.
fn micros_of(count: f64, unit: i64) -> Option<i64> {
    let micros = count * unit as f64;
    (micros.is_finite() && micros.abs() < 9.2e18).then(|| micros.round_ties_even() as i64)
}

fn spans(count: f64, unit: i64) -> Result<Value> {
    time_span(micros_of(count, unit))
}

/// The intervals of a column of numbers: months, days and microseconds.
fn of_number(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    parts: impl Fn(i64) -> Option<(i64, i64, i64)>,
) -> maps::Made {
    maps::one(inputs, Physical::I64, ty, rows, |number: i64| {
        let (months, days, micros) = parts(number)?;
        Interval::new(i32::try_from(months).ok()?, i32::try_from(days).ok()?, micros).packed()
    })
}

/// The intervals of a column of floats, of so many microseconds each unit.
fn of_float(inputs: &[Vector], ty: Type, rows: usize, unit: i64) -> maps::Made {
    maps::one(inputs, Physical::F64, ty, rows, |count: f64| {
        Interval::new(0, 0, micros_of(count, unit)?).packed()
    })
}
