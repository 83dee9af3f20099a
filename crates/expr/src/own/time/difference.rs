//! Differences of moments, in units of the calendar and of the clock: `date_diff` and `date_sub`.
//!
//! A difference counts boundaries between two moments, `date_sub` whole units; both are DuckDB's. Declared in `time`, for a
//! row and, with a constant unit, for a batch: what a batch cannot give is left to the function of one row.

use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use types::{Result, Type, Value, units};
use vector::{Data, Vector};

use super::super::{Arguments, maps};
use super::calendar::{
    MICROS_PER_HOUR, MICROS_PER_MINUTE, any_infinite, day_of, iso_week, overflow, text, unknown_unit,
};
use crate::operand::Operand;
use crate::room::Room;

/// The months of a unit of the calendar.
fn in_months(unit: &str) -> Option<i64> {
    Some(match unit {
        "month" => 1,
        "quarter" => 3,
        "year" | "isoyear" => 12,
        "decade" => 120,
        "century" => 1200,
        "millennium" => 12_000,
        _ => return None,
    })
}

/// Months since the year 0.
fn month_of(micros: i64) -> i64 {
    let date = civil_from_days(day_of(micros));
    i64::from(date.year) * 12 + i64::from(date.month) - 1
}

/// What the difference of two moments is counted in.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    /// So many microseconds.
    Micros(i64),
    /// So many months of the calendar.
    Months(i64),
    /// Years of whole weeks; whole years are those of the calendar, as in DuckDB.
    YearsOfWeeks,
}

impl Counted {
    /// A unit's, by the unit's own name; `None` for what is no unit.
    pub(super) fn of(unit: &str) -> Option<Counted> {
        Some(Counted::Micros(match unit {
            "microsecond" => 1,
            "millisecond" => 1000,
            "second" | "epoch" => MICROS_PER_SECOND,
            "minute" => MICROS_PER_MINUTE,
            "hour" => MICROS_PER_HOUR,
            "day" | "dow" | "isodow" | "doy" | "julian" => MICROS_PER_DAY,
            "week" | "yearweek" => 7 * MICROS_PER_DAY,
            "isoyear" => return Some(Counted::YearsOfWeeks),
            _ => return in_months(unit).map(Counted::Months),
        }))
    }

    /// Weeks are no boundaries but distance, as in DuckDB.
    fn is_weeks(self) -> bool {
        matches!(self, Counted::Micros(width) if width == 7 * MICROS_PER_DAY)
    }

    /// The number of the unit that a finite moment lies in: differences of numbers count the boundaries between.
    #[inline]
    fn number(self, micros: i64) -> i64 {
        match self {
            Counted::Micros(width) => micros.div_euclid(width),
            Counted::YearsOfWeeks => iso_week(day_of(micros)).0.into(),
            // Rounded towards the year 0, as in DuckDB: centuries begin with the round year here.
            Counted::Months(months @ (1 | 3)) => month_of(micros) / months,
            Counted::Months(months) => i64::from(civil_from_days(day_of(micros)).year) / (months / 12),
        }
    }

    /// How many boundaries lie between two finite moments (of weeks, how many sevens of days), or with `whole`, how many
    /// whole units.
    pub(super) fn between(self, from: i64, to: i64, whole: bool) -> Result<i64> {
        let in_unit = match self {
            _ if !whole && self.is_weeks() => return Ok(i64::from(day_of(to) - day_of(from)) / 7),
            _ if !whole => return self.number(to).checked_sub(self.number(from)).ok_or_else(overflow),
            Counted::Micros(width) => return to.checked_sub(from).map(|d| d / width).ok_or_else(overflow),
            Counted::YearsOfWeeks => 12,
            Counted::Months(months) => months,
        };
        // A month is whole when its day and time have come again.
        let (early, late, sign) = if from <= to { (from, to, 1) } else { (to, from, -1) };
        let mut months = month_of(late) - month_of(early);
        let moved = datetime::timestamp_add_months(early, i32::try_from(months).map_err(|_| overflow())?);
        if moved.is_none_or(|moved| moved > late) {
            months -= 1;
        }
        Ok(sign * (months / in_unit))
    }
}

/// The difference of two moments; NULL where one is infinite.
pub(super) fn date_difference(a: &Arguments<'_>, whole: bool) -> Result<Value> {
    let infinite = any_infinite(a, 1..3)?;
    let counted = Counted::of(&units::unit(a.text(0)?));
    let counted = counted.ok_or_else(|| unknown_unit(text(a, 0), Type::Timestamp))?;
    if infinite {
        return Ok(Value::Null);
    }
    counted.between(a.integer(1)?, a.integer(2)?, whole).map(Value::I64)
}

/// `date_diff` with a constant unit.
pub(in crate::own) fn differences(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    _room: Room<'_>,
) -> Option<Result<Vector>> {
    counted(inputs, ty, rows, false)
}

/// `date_sub` with a constant unit.
pub(super) fn whole_differences(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    _room: Room<'_>,
) -> Option<Result<Vector>> {
    counted(inputs, ty, rows, true)
}

fn counted(inputs: &[Vector], ty: Type, rows: usize, whole: bool) -> Option<Result<Vector>> {
    let [unit, from, to] = inputs else { return None };
    let Data::Constant(unit) = unit.data() else { return None };
    // Known units only: the function of one row has the error.
    let counted = Counted::of(&units::unit(unit.as_text()?))?;
    let (from, to) = (maps::longs(from)?, maps::longs(to)?);
    if whole || counted.is_weeks() {
        return maps::each(inputs, ty, rows, |row| match (from.at(row), to.at(row)) {
            (from, to) if datetime::is_infinite(from) || datetime::is_infinite(to) => Ok(None),
            (from, to) => counted.between(from, to, whole).map(Some).map_err(|_| maps::Refused),
        });
    }
    // A constant's number is worked out once.
    let (from, to) = (Numbers::of(counted, from), Numbers::of(counted, to));
    maps::each(inputs, ty, rows, |row| match (from.at(row), to.at(row)) {
        (Some(from), Some(to)) => to.checked_sub(from).map(Some).ok_or(maps::Refused),
        _ => Ok(None),
    })
}

/// The numbers of the units that moments lie in.
enum Numbers<'a> {
    Constant(Option<i64>),
    Each(Counted, &'a [i64]),
}

impl<'a> Numbers<'a> {
    fn of(counted: Counted, moments: Operand<'a, i64>) -> Self {
        match moments {
            Operand::Flat(moments) => Numbers::Each(counted, moments),
            Operand::Constant(moment) => Numbers::Constant(Self::number(counted, moment)),
        }
    }
    fn number(counted: Counted, moment: i64) -> Option<i64> {
        (!datetime::is_infinite(moment)).then(|| counted.number(moment))
    }
    /// `None` for an infinite moment.
    #[inline]
    fn at(&self, row: usize) -> Option<i64> {
        match self {
            Numbers::Constant(number) => *number,
            Numbers::Each(counted, moments) => Self::number(*counted, moments[row]),
        }
    }
}
