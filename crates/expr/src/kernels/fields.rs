//! Fields of moments and times of day, as EXTRACT and `date_part` have them.
//!
//! Years are PostgreSQL's: there is none between -1, which is 1 BC, and 1. Of an infinite moment the fields that grow
//! with time are infinite where the type has infinities; all others are NULL.

use arrow_buffer::NullBufferBuilder;
use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil, is_infinite};
use types::interval::Interval;
use types::{Error, Result, SqlState, Type, Value, names, units};
use vector::{Data, Vector};

use crate::operand::{Native, Operand, Text};

/// The day on which PostgreSQL's Julian days begin, before 1970.
const JULIAN: i64 = 2_440_588;

/// What `date_part` can extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Week,
    Quarter,
    DayOfWeek,
    DayOfYear,
    IsoDayOfWeek,
    IsoYear,
    YearWeek,
    Decade,
    Century,
    Millennium,
    Era,
    Epoch,
    Julian,
}

const FIELDS: [(&str, Field); 21] = [
    ("year", Field::Year),
    ("month", Field::Month),
    ("day", Field::Day),
    ("hour", Field::Hour),
    ("minute", Field::Minute),
    ("second", Field::Second),
    ("millisecond", Field::Millisecond),
    ("microsecond", Field::Microsecond),
    ("week", Field::Week),
    ("quarter", Field::Quarter),
    ("dow", Field::DayOfWeek),
    ("doy", Field::DayOfYear),
    ("isodow", Field::IsoDayOfWeek),
    ("isoyear", Field::IsoYear),
    ("yearweek", Field::YearWeek),
    ("decade", Field::Decade),
    ("century", Field::Century),
    ("millennium", Field::Millennium),
    ("era", Field::Era),
    ("epoch", Field::Epoch),
    ("julian", Field::Julian),
];

impl Field {
    fn named(name: &str, ty: Type) -> Result<Field> {
        let name = units::unit(name);
        let known = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        let wrong = || {
            let message = format!("unit \"{name}\" not recognized for type {ty}");
            let error = Error::new(SqlState::InvalidParameterValue, message);
            match names::nearest(&name, FIELDS.iter().map(|(known, _)| *known)) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error.with_hint("year, month, day, hour, minute, second, dow and epoch are fields"),
            }
        };
        known.filter(|field| ty != Type::Time || field.is_of_clock()).ok_or_else(wrong)
    }
    /// Whether a time of day has it.
    fn is_of_clock(self) -> bool {
        use Field::*;
        matches!(self, Hour | Minute | Second | Millisecond | Microsecond | Epoch)
    }
    /// Whether it grows with time for ever: infinite for what is infinite.
    fn grows(self) -> bool {
        use Field::*;
        matches!(self, Year | Decade | Century | Millennium | IsoYear | Epoch | Julian)
    }
    /// The field of a moment, without the fraction it may have.
    #[inline(always)]
    fn whole(self, day: i32, time: i64) -> i64 {
        let minutes = time.div_euclid(60 * MICROS_PER_SECOND);
        i64::from(match self {
            Field::Hour => return minutes / 60,
            Field::Minute => return minutes % 60,
            Field::Second => return time % (60 * MICROS_PER_SECOND) / MICROS_PER_SECOND,
            Field::Millisecond => return time % (60 * MICROS_PER_SECOND) / 1000,
            Field::Microsecond => return time % (60 * MICROS_PER_SECOND),
            Field::Epoch => {
                return (i64::from(day) * MICROS_PER_DAY).saturating_add(time).div_euclid(MICROS_PER_SECOND);
            }
            Field::Julian => return i64::from(day) + JULIAN,
            Field::Year => year(civil_from_days(day).year),
            Field::Month => civil_from_days(day).month as i32,
            Field::Quarter => (civil_from_days(day).month as i32 - 1) / 3 + 1,
            Field::Day => civil_from_days(day).day as i32,
            Field::DayOfWeek => (i64::from(day) + 4).rem_euclid(7) as i32,
            Field::IsoDayOfWeek => (i64::from(day) + 3).rem_euclid(7) as i32 + 1,
            Field::DayOfYear => day - days_from_civil(civil_from_days(day).year, 1, 1) + 1,
            Field::Week => iso_week(day).1,
            Field::IsoYear => year(iso_week(day).0),
            Field::YearWeek => {
                let (of, week) = iso_week(day);
                let of = year(of);
                of * 100 + if of > 0 { week } else { -week }
            }
            Field::Decade => civil_from_days(day).year.div_euclid(10),
            Field::Century => of_many(civil_from_days(day).year, 100),
            Field::Millennium => of_many(civil_from_days(day).year, 1000),
            Field::Era => i32::from(civil_from_days(day).year > 0),
        })
    }
    /// The field as a number with its fraction.
    fn number(self, day: i32, time: i64) -> f64 {
        let seconds = time % (60 * MICROS_PER_SECOND);
        match self {
            Field::Second => seconds as f64 / 1e6,
            Field::Millisecond => seconds as f64 / 1e3,
            // Exact up to where a double has no more digits, and rounded once.
            Field::Epoch => (i128::from(day) * i128::from(MICROS_PER_DAY) + i128::from(time)) as f64 / 1e6,
            Field::Julian => (i64::from(day) + JULIAN) as f64 + time as f64 / MICROS_PER_DAY as f64,
            whole => whole.whole(day, time) as f64,
        }
    }
}

/// The year as it is written: before 1 there is -1.
#[inline(always)]
pub(crate) fn year(counted: i32) -> i32 {
    counted - i32::from(counted <= 0)
}

/// The century or millennium: the first begins with the year 1, and none is the 0th.
fn of_many(counted: i32, years: i32) -> i32 {
    if counted > 0 { (counted - 1) / years + 1 } else { -((years - counted) / years) }
}

/// The year and week that ISO 8601 counts a day to; the year counted with 0.
fn iso_week(day: i32) -> (i32, i32) {
    // The week is that of its Thursday.
    let thursday = day - (i64::from(day) + 3).rem_euclid(7) as i32 + 3;
    let year = civil_from_days(thursday).year;
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

enum Moments<'a> {
    Days(Operand<'a, i32>),
    Micros(Operand<'a, i64>),
    /// Intervals, which are looked at otherwise.
    None,
    /// Times of day, which may be 24:00.
    Clock(Operand<'a, i64>),
}

enum Moment {
    /// A day and the time in it; of a time of day, the first of 1970.
    At(i32, i64),
    /// With its sign.
    Infinite(f64),
}

impl<'a> Moments<'a> {
    fn of(vector: &'a Vector) -> Self {
        match vector.ty() {
            Type::Date => Moments::Days(i32::operand(vector)),
            Type::Time => Moments::Clock(i64::operand(vector)),
            Type::Interval => Moments::None,
            _ => Moments::Micros(i64::operand(vector)),
        }
    }
    #[inline(always)]
    fn at(&self, row: usize) -> Moment {
        match self {
            Moments::Days(days) => match days.at(row) {
                i32::MAX => Moment::Infinite(f64::INFINITY),
                i32::MIN => Moment::Infinite(f64::NEG_INFINITY),
                day => Moment::At(day, 0),
            },
            Moments::None => Moment::At(0, 0),
            Moments::Clock(micros) => Moment::At(0, micros.at(row)),
            Moments::Micros(micros) => match micros.at(row) {
                at if is_infinite(at) => {
                    Moment::Infinite(if at > 0 { f64::INFINITY } else { f64::NEG_INFINITY })
                }
                at => Moment::At(at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY)),
            },
        }
    }
}

/// A field that the plan names, as BIGINT.
pub(crate) fn whole_fields(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let null = |v: &Vector| matches!(v.data(), Data::Constant(Value::Null));
    if rows == 0 || inputs.iter().any(null) {
        return Ok(Vector::constant(ty, Value::Null, rows));
    }
    let name = String::from_utf8_lossy(Text::of(&inputs[0]).at(0)).into_owned();
    let (field, moments) = (Field::named(&name, inputs[1].ty())?, Moments::of(&inputs[1]));
    let mut nulls = NullBufferBuilder::new(rows);
    let values: Vec<i64> = (0..rows)
        .map(|row| match moments.at(row) {
            Moment::At(day, time) if !inputs[1].is_null(row) => {
                nulls.append_non_null();
                field.whole(day, time)
            }
            _ => {
                nulls.append_null();
                0
            }
        })
        .collect();
    Ok(Vector::new(ty, Data::I64(values.into()), nulls.finish().filter(|n| n.null_count() > 0)))
}

/// A field that may be another in each row, as DOUBLE PRECISION.
pub(crate) fn numbers(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let null = |v: &Vector| matches!(v.data(), Data::Constant(Value::Null));
    if inputs.iter().any(null) {
        return Ok(Vector::constant(ty, Value::Null, rows));
    }
    let names = Text::of(&inputs[0]);
    let moments = Moments::of(&inputs[1]);
    let mut known: Option<(Vec<u8>, Field)> = None;
    let mut nulls = NullBufferBuilder::new(rows);
    let mut values = Vec::with_capacity(rows);
    for row in 0..rows {
        if inputs.iter().any(|input| input.is_null(row)) {
            nulls.append_null();
            values.push(0.0);
            continue;
        }
        let name = names.at(row);
        if inputs[1].ty() == Type::Interval {
            let interval = Interval::of_value(&inputs[1].value(row))?;
            nulls.append_non_null();
            values.push(of_interval(&String::from_utf8_lossy(name), interval)?);
            continue;
        }
        let field = match &known {
            Some((last, field)) if last == name => *field,
            _ => {
                let field = Field::named(&String::from_utf8_lossy(name), inputs[1].ty())?;
                known = Some((name.to_vec(), field));
                field
            }
        };
        let value = match moments.at(row) {
            Moment::At(day, time) => Some(field.number(day, time)),
            Moment::Infinite(sign) => field.grows().then_some(sign),
        };
        nulls.append(value.is_some());
        values.push(value.unwrap_or(0.0));
    }
    Ok(Vector::new(ty, Data::F64(values.into()), nulls.finish().filter(|n| n.null_count() > 0)))
}

/// A field of an interval, with its fraction.
fn of_interval(written: &str, interval: Interval) -> Result<f64> {
    let unit = units::unit(written);
    let (asked, by) = match unit.as_str() {
        "second" => ("microsecond", 1e6),
        "millisecond" => ("microsecond", 1e3),
        "epoch" => ("epoch", 1e6),
        other => (other, 1.0),
    };
    let field = interval.field(asked).ok_or_else(|| {
        let message = format!("unit \"{unit}\" not recognized for type {}", Type::Interval);
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    Ok(field as f64 / by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_before_christ_have_no_zero() {
        let of = |field: Field, year| field.whole(days_from_civil(year, 3, 15), 0);
        assert_eq!([1, 0, -43].map(|y| of(Field::Year, y)), [1, -1, -44]);
        assert_eq!([100, 101, 0, -99, -100].map(|y| of(Field::Century, y)), [1, 2, -1, -1, -2]);
        assert_eq!([1000, 1001, 0, -1000].map(|y| of(Field::Millennium, y)), [1, 2, -1, -2]);
        assert_eq!([19, 0, -1, -10].map(|y| of(Field::Decade, y)), [1, 0, -1, -1]);
    }
}
