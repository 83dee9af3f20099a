//! `equi_width_bins`: the upper bounds of bins of one width, which are round numbers if that is asked for.
//!
//! As DuckDB computes them: from the greatest bound downwards, until the least value is passed. Whole numbers are
//! counted in thousandths, so that the width of a bin need not be whole.

use plan::functions::EQUAL_BINS;
use types::datetime::{self, MICROS_PER_DAY, civil_from_days, day_of, days_from_civil};
use types::interval::Interval;
use types::nested::encoding;
use types::{Error, Result, Value, stop};

use super::declare::*;
use super::{Arguments, invalid};

/// The most bins of one call.
const COUNT_MAX: i64 = 1_000_000;
/// Thousandths of a whole number.
const FACTOR: i128 = 1000;
const BIN_UNITS: usize = 16;
const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[internal(
    EQUAL_BINS,
    &[is(&[Takes::Any, Takes::Any, BIG, Takes::Is(Type::Boolean)], Type::Null)],
    bins,
)];

/// `bins of equal width(least, greatest, count, round)`, of BIGINT, DOUBLE or TIMESTAMP.
fn bins(a: &Arguments<'_>) -> Result<Value> {
    let (count, round) = (a.integer(2)?, a.values[3].as_bool().unwrap_or(false));
    if count <= 0 || count > COUNT_MAX {
        return Err(invalid(format!("equi_width_bins makes 1 to {COUNT_MAX} bins, not {count}")));
    }
    let count = count as usize;
    let ordered = |least: bool| match least {
        true => Ok(()),
        false => Err(invalid("equi_width_bins: the greatest value is smaller than the least")),
    };
    let element = a.ty.element().unwrap_or(Type::Null);
    let mut found: Vec<Value> = match a.types[0] {
        Type::Double => {
            let (least, greatest) = (a.float(0)?, a.float(1)?);
            if !least.is_finite() || !greatest.is_finite() {
                return Err(infinite());
            }
            ordered(least <= greatest)?;
            of_floats(least, greatest, count, round).into_iter().map(Value::F64).collect()
        }
        ty => {
            let (least, greatest) = (a.integer(0)?, a.integer(1)?);
            ordered(least <= greatest)?;
            let bounds = match ty {
                Type::Timestamp if [least, greatest].into_iter().any(datetime::is_infinite) => {
                    return Err(infinite());
                }
                Type::Timestamp if round && least < greatest => of_moments(least, greatest, count)?,
                _ => of_integers(least, greatest, count, round),
            };
            bounds.into_iter().map(Value::I64).collect()
        }
    };
    // The last bin holds the greatest value.
    if let Some(first) = found.first_mut() {
        let short = match (&*first, &a.values[1]) {
            (Value::F64(bound), Value::F64(greatest)) => bound < greatest,
            (bound, greatest) => bound.as_i64() < greatest.as_i64(),
        };
        if short {
            *first = a.values[1].clone();
        }
    }
    found.reverse();
    Ok(encoding::list_of(&found, element))
}

fn infinite() -> Error {
    invalid("equi_width_bins takes finite values")
}

/// The greatest power of ten below a number.
fn power_below(number: i128) -> i128 {
    let mut power = 1;
    while power < number {
        power *= 10;
    }
    power / 10
}

/// The multiple of 2 or 5 times a power of ten, by the size of the step, that is nearest to a width.
fn round_width(width: i128) -> i128 {
    let power = power_below(width).max(1);
    let two = if power * 3 <= width { power * 10 } else { power * 2 };
    let five = if power * 2 <= width { power * 5 } else { power };
    let nearest = |unit: i128| (width + unit / 2) / unit * unit;
    let (by_two, by_five) = (nearest(two), nearest(five));
    if (width - by_two).abs() < (width - by_five).abs() { by_two } else { by_five }
}

fn of_integers(least: i64, greatest: i64, count: usize, round: bool) -> Vec<i64> {
    if least == greatest {
        return vec![greatest];
    }
    let (min, mut max) = (i128::from(least) * FACTOR, i128::from(greatest) * FACTOR);
    let mut step = (max - min) / count as i128;
    let mut most = count;
    if round {
        let width = round_width(step);
        if width != 0 {
            let above = (max + (width - 1)) / width * width;
            if above != min {
                (max, step) = (above, width);
            }
        }
        // How many bins round bounds make is near to what is asked for.
        most *= 2;
    }
    let step = step.max(1);
    let mut bounds: Vec<i64> = Vec::new();
    let mut bound = max;
    while bound > min {
        stop::spend(BIN_UNITS);
        let whole = i64::try_from(bound / FACTOR).unwrap_or(i64::MAX);
        bound -= step;
        if let Some(last) = bounds.last() {
            if whole < least || bounds.len() >= most {
                break;
            }
            if whole == *last {
                continue;
            }
        }
        bounds.push(whole);
    }
    bounds
}

/// The power of ten at or below a number of at least one, and that below one which is not above it.
fn power_of_float(number: f64) -> f64 {
    let mut power = 1.0;
    if number < 1.0 {
        while power > number && power > 0.0 {
            power /= 10.0;
        }
        return power;
    }
    while power < number {
        power *= 10.0;
    }
    power / 10.0
}

fn multiple(number: f64, unit: f64, rounded: fn(f64) -> f64) -> f64 {
    let made = rounded(number / unit) * unit;
    if made.is_finite() { made } else { number }
}

fn of_floats(least: f64, greatest: f64, count: usize, round: bool) -> Vec<f64> {
    if least == greatest {
        return vec![greatest];
    }
    let bins = count as f64;
    let span = greatest - least;
    let mut step = if span.is_finite() { span / bins } else { greatest / bins - least / bins };
    let (mut max, mut most) = (greatest, count);
    let power = power_of_float(step);
    if round {
        let two = if power * 3.0 <= step { power * 10.0 } else { power * 2.0 };
        let five = if power * 2.0 <= step { power * 5.0 } else { power };
        let (by_two, by_five) = (multiple(step, two, f64::round), multiple(step, five, f64::round));
        step = if (step - by_two).abs() < (step - by_five).abs() { by_two } else { by_five };
        max = multiple(greatest, step, f64::ceil);
        most *= 2;
    }
    let scale = 10.0 / power;
    let mut bounds: Vec<f64> = Vec::new();
    let mut at = max;
    while at > least {
        stop::spend(BIN_UNITS);
        // Sums of floats drift.
        let bound = if round { (at * scale).round() / scale } else { at };
        let next = at - step;
        if bounds.last() != Some(&bound) {
            if bound <= least || bounds.len() >= most {
                break;
            }
            bounds.push(bound);
        }
        // A step that is nothing beside the bounds leads nowhere.
        if next >= at {
            break;
        }
        at = next;
    }
    if bounds.is_empty() { vec![greatest] } else { bounds }
}

/// A step without what is nothing beside its larger parts.
fn round_step(step: Interval) -> Interval {
    let to = |micros: i64, unit: i64| (micros + unit / 2) / unit * unit;
    let Interval { months, days, micros } = step;
    match step {
        _ if months >= 6 => Interval { months, days: 0, micros: 0 },
        _ if months > 0 || days >= 5 => Interval { months, days, micros: 0 },
        _ if days > 0 || micros >= 6 * HOUR => Interval { months, days, micros: to(micros, HOUR) },
        _ if micros >= HOUR => Interval { months, days, micros: to(micros, 15 * MINUTE) },
        _ if micros >= 10 * MINUTE => Interval { months, days, micros: to(micros, MINUTE) },
        _ if micros >= MINUTE => Interval { months, days, micros: to(micros, 15 * SECOND) },
        _ if micros >= 10 * SECOND => Interval { months, days, micros: to(micros, SECOND) },
        _ => step,
    }
}

/// The first moment not before another that is as round as the step asks.
fn round_moment(moment: i64, step: Interval) -> Option<i64> {
    if step.months >= 12 {
        let date = civil_from_days(day_of(moment));
        if date.day == 1 && moment.rem_euclid(MICROS_PER_DAY) == 0 {
            return Some(moment);
        }
        let (year, month) = if date.month == 12 { (date.year + 1, 1) } else { (date.year, date.month + 1) };
        return i64::from(days_from_civil(year, month, 1)).checked_mul(MICROS_PER_DAY);
    }
    let unit = match step {
        Interval { months, days, .. } if months > 0 || days >= 1 => MICROS_PER_DAY,
        Interval { micros, .. } if micros >= HOUR => HOUR,
        Interval { micros, .. } if micros >= MINUTE => MINUTE,
        Interval { micros, .. } if micros >= SECOND => SECOND,
        _ => 1,
    };
    moment.checked_add((-moment).rem_euclid(unit))
}

fn of_moments(least: i64, greatest: i64, count: usize) -> Result<Vec<i64>> {
    let overflow = || Error::out_of_range(&Type::Timestamp);
    let (from, to) = (civil_from_days(day_of(least)), civil_from_days(day_of(greatest)));
    let months = (to.year - from.year) * 12 + to.month as i32 - from.month as i32;
    let days = to.day as i32 - from.day as i32;
    let micros = greatest.rem_euclid(MICROS_PER_DAY) - least.rem_euclid(MICROS_PER_DAY);
    let bins = count as f64;
    let months = f64::from(months) / bins;
    // What is left of a unit goes to the one below.
    let days = f64::from(days) / bins + if months > 0.0 { months.fract() * 30.0 } else { 0.0 };
    let micros = micros as f64 / bins + if days > 0.0 { days.fract() * MICROS_PER_DAY as f64 } else { 0.0 };
    let mut step = round_step(Interval { months: months as i32, days: days as i32, micros: micros as i64 });
    let mut moment = round_moment(greatest, step).ok_or_else(overflow)?;
    if step.months <= 0 && step.days <= 0 && step.micros <= 0 {
        step = Interval { months: 0, days: 0, micros: 1 };
    }
    let back = step.checked_neg().ok_or_else(overflow)?;
    let mut bounds = Vec::new();
    while moment >= least && bounds.len() < count {
        stop::spend(BIN_UNITS);
        bounds.push(moment);
        moment = back.after(moment).ok_or_else(overflow)?;
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_duckdb() {
        let whole = |least, greatest, count, round| {
            let mut bounds = of_integers(least, greatest, count, round);
            bounds.reverse();
            bounds
        };
        assert_eq!(whole(0, 10, 2, true), [5, 10]);
        assert_eq!(whole(99, 101, 2, true), [100, 101]);
        assert_eq!(whole(0, 5, 10, true), [0, 1, 2, 3, 4, 5]);
        assert_eq!(whole(0, 9, 5, true), [2, 4, 6, 8, 10]);
        assert_eq!(whole(0, 1734, 10, false), [173, 346, 520, 693, 867, 1040, 1213, 1387, 1560, 1734]);
        let mut floats = of_floats(0.0, 6.347, 7, true);
        floats.reverse();
        assert_eq!(floats, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }

    #[test]
    fn every_call_ends() {
        assert_eq!(of_integers(0, 1, 1_000_000, false), [1, 0]);
        assert_eq!(of_floats(1e16, 1e16 + 2.0, 1_000_000, false), [1e16 + 2.0]);
        assert_eq!(of_integers(i64::MIN, i64::MAX, 5, true).len(), 4);
        assert!(of_floats(-1e308, 1e308, 5, true).len() >= 5);
        assert!(!of_floats(0.0, f64::from_bits(1), 3, true).is_empty());
    }
}
