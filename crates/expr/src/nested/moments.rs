//! Lists of moments: `generate_series(first, last, interval)` and `range`.

use types::datetime::{self, MICROS_PER_DAY};
use types::interval::Interval;
use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value, Zone, stop};
use vector::Vector;
use vector::nested::join;

use super::{Kernel, invalid, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    (name == "list_of_moments").then_some(series as Kernel)
}

/// Elements of one list, as of the lists of numbers.
const ELEMENTS_MAX: usize = 1 << 24;
const ELEMENT_UNITS: usize = 16;

struct Series {
    first: i64,
    last: i64,
    step: Interval,
    /// Whether the last moment is of the list.
    inclusive: bool,
    /// Whose days and months are counted.
    zone: Zone,
}

/// What a row asks for; `None` where one of it is NULL.
fn asked(inputs: &[Vector], row: usize) -> Result<Option<Series>> {
    let (first, last) = (whole(&inputs[0], row), whole(&inputs[1], row));
    let (step, inclusive) = (inputs[2].value(row), inputs[3].value(row).as_bool());
    let (Some(first), Some(last), false, Some(inclusive)) = (first, last, step.is_null(), inclusive) else {
        return Ok(None);
    };
    let zone = match inputs.get(4).map(|zone| zone.value(row)) {
        Some(zone) => Zone::named(zone.as_text().unwrap_or_default())?,
        None => Zone::Utc,
    };
    Ok(Some(Series { first, last, step: Interval::of_value(&step)?, inclusive, zone }))
}

/// At most so many bytes does the list of a row take.
pub(crate) fn moments_bytes(inputs: &[Vector], row: usize) -> u64 {
    let Ok(Some(series)) = asked(inputs, row) else { return 0 };
    let distance = (i128::from(series.last) - i128::from(series.first)).unsigned_abs();
    // A month has 28 days at least.
    let Interval { months, days, micros } = series.step;
    let day = i128::from(MICROS_PER_DAY);
    let width = (i128::from(months) * 28 + i128::from(days)) * day + i128::from(micros);
    let count = (distance / width.unsigned_abs().max(1)).saturating_add(1).min(ELEMENTS_MAX as u128);
    count as u64 * 27
}

fn after(moment: i64, step: Interval, zone: Zone) -> Option<i64> {
    if zone != Zone::Utc {
        let day = zone.plus_days(zone.plus_months(moment, step.months)?, i64::from(step.days))?;
        return day.checked_add(step.micros);
    }
    let day = i32::try_from(moment.div_euclid(MICROS_PER_DAY)).ok()?;
    let day = i64::from(datetime::add_months(day, step.months)?).checked_add(i64::from(step.days))?;
    day.checked_mul(MICROS_PER_DAY)?.checked_add(moment.rem_euclid(MICROS_PER_DAY))?.checked_add(step.micros)
}

/// `list_of_moments(first, last, step, inclusive)`: each moment is a step after the one before.
fn series(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let element = ty.element().unwrap_or(Type::Null);
    let mut failed = None;
    let result = join(ty, rows, |row, out| {
        let mut write = || -> Result<bool> {
            let Some(Series { first, last, step, inclusive, zone }) = asked(inputs, row)? else {
                return Ok(false);
            };
            let signs =
                [i64::from(step.months).signum(), i64::from(step.days).signum(), step.micros.signum()];
            let forward = signs.contains(&1);
            if forward == signs.contains(&-1) {
                return Err(invalid(match forward {
                    true => "a step of moments goes in one direction",
                    false => "step size cannot equal zero",
                }));
            }
            if datetime::is_infinite(first) || datetime::is_infinite(last) {
                return Err(invalid("a series of moments begins and ends with finite ones"));
            }
            let (mut moment, mut count) = (first, 0);
            while moment == last && inclusive || if forward { moment < last } else { moment > last } {
                count += 1;
                if count > ELEMENTS_MAX {
                    let message = format!("a list of more than {ELEMENTS_MAX} moments");
                    return Err(Error::new(SqlState::OutOfMemory, message)
                        .with_hint("in FROM, the series of constants makes its rows one after the other"));
                }
                stop::spend(ELEMENT_UNITS);
                encoding::push_slot(&Value::I64(moment), element, out);
                let Some(next) = after(moment, step, zone) else { break };
                moment = next;
            }
            out.push(encoding::END);
            Ok(true)
        };
        write().unwrap_or_else(|error| {
            failed = Some(error);
            false
        })
    });
    failed.map_or(Ok(result), Err)
}
