//! Fields of moments and times of day, as EXTRACT and `date_part` have them.
//!
//! Years are PostgreSQL's: there is none between -1, which is 1 BC, and 1. Of an infinite moment the fields that grow
//! with time are infinite where the type has infinities; all others are NULL.

use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder};
use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, is_infinite};
use types::interval::Interval;
use types::{Error, Result, SqlState, Type, Value, names, units};
use vector::{Data, Vector};

use super::calendar::{self, Part};
use crate::operand::{Native, Operand, Text, map, test};

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
    ///
    /// With `FAST` the day must be one of `calendar::FAST_DAYS` around 1970. Any other gives some number, never a panic:
    /// NULLs are computed, too.
    #[inline(always)]
    fn whole<const FAST: bool>(self, day: i32, time: i64) -> i64 {
        let minutes = time.div_euclid(60 * MICROS_PER_SECOND);
        i64::from(match self {
            Field::Hour => return minutes / 60,
            Field::Minute => return minutes % 60,
            Field::Second => return time % (60 * MICROS_PER_SECOND) / MICROS_PER_SECOND,
            Field::Millisecond => return time % (60 * MICROS_PER_SECOND) / 1000,
            Field::Microsecond => return time % (60 * MICROS_PER_SECOND),
            Field::Epoch => {
                return i64::from(day)
                    .saturating_mul(MICROS_PER_DAY)
                    .saturating_add(time)
                    .div_euclid(MICROS_PER_SECOND);
            }
            Field::Julian => return i64::from(day) + JULIAN,
            Field::Year => year(year_of::<FAST>(day)),
            Field::Month => part_of::<FAST>(day, Part::Month),
            Field::Quarter => (part_of::<FAST>(day, Part::Month) - 1) / 3 + 1,
            Field::Day => part_of::<FAST>(day, Part::Day),
            Field::DayOfWeek => (i64::from(day) + 4).rem_euclid(7) as i32,
            Field::IsoDayOfWeek => (i64::from(day) + 3).rem_euclid(7) as i32 + 1,
            Field::DayOfYear => day.wrapping_sub(days_from_civil(year_of::<FAST>(day), 1, 1)).wrapping_add(1),
            Field::Week => iso_week::<FAST>(day).1,
            Field::IsoYear => year(iso_week::<FAST>(day).0),
            Field::YearWeek => {
                let (of, week) = iso_week::<FAST>(day);
                let of = year(of);
                of * 100 + if of > 0 { week } else { -week }
            }
            Field::Decade => year_of::<FAST>(day).div_euclid(10),
            Field::Century => of_many(year_of::<FAST>(day), 100),
            Field::Millennium => of_many(year_of::<FAST>(day), 1000),
            Field::Era => i32::from(year_of::<FAST>(day) > 0),
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
            whole => whole.whole::<false>(day, time) as f64,
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

/// The year, month or day of a day.
#[inline(always)]
fn part_of<const FAST: bool>(day: i32, part: Part) -> i32 {
    (if FAST { calendar::fast(day, part) } else { calendar::exact(day, part) }) as i32
}

/// The year of a day, counted with 0.
#[inline(always)]
fn year_of<const FAST: bool>(day: i32) -> i32 {
    part_of::<FAST>(day, Part::Year)
}

/// The year and week that ISO 8601 counts a day to; the year counted with 0.
#[inline(always)]
fn iso_week<const FAST: bool>(day: i32) -> (i32, i32) {
    // The week is that of its Thursday.
    let thursday = day.wrapping_sub((i64::from(day) + 3).rem_euclid(7) as i32).wrapping_add(3);
    let year = year_of::<FAST>(thursday);
    (year, thursday.wrapping_sub(days_from_civil(year, 1, 1)) / 7 + 1)
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
    let field = Field::named(&name, inputs[1].ty())?;
    // The loop is made for each field: what does not depend on the row is not asked in it.
    macro_rules! loops {
        ($($field:ident),*) => {
            match field {
                $(Field::$field => whole_values(
                    &inputs[1],
                    rows,
                    |day, time| Field::$field.whole::<true>(day, time),
                    |day, time| Field::$field.whole::<false>(day, time),
                ),)*
            }
        };
    }
    let (values, nulls) = loops!(
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
        Julian
    );
    Ok(Vector::new(ty, Data::I64(values.into()), nulls))
}

/// What `fast` makes of the day and the time of each moment, or `exact`, where there are days far from 1970; infinite
/// moments are NULL.
fn whole_values(
    moments: &Vector,
    rows: usize,
    fast: impl Fn(i32, i64) -> i64,
    exact: impl Fn(i32, i64) -> i64,
) -> (Vec<i64>, Option<NullBuffer>) {
    let finite = |endless: BooleanBuffer| (endless.count_set_bits() > 0).then(|| NullBuffer::new(!&endless));
    let (values, finite) = match Moments::of(moments) {
        Moments::Days(days) => {
            let near = |day: i32| day.unsigned_abs() <= calendar::FAST_DAYS.unsigned_abs();
            if test(&days, rows, near).count_set_bits() == rows {
                (map(&days, rows, |day| fast(day, 0)), None)
            } else {
                let endless = test(&days, rows, |day| day == i32::MAX || day == i32::MIN);
                (map(&days, rows, |day| exact(day, 0)), finite(endless))
            }
        }
        // 64 bits of microseconds reach no day far from 1970.
        Moments::Micros(micros) => {
            let of = |at: i64| fast(at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY));
            (map(&micros, rows, of), finite(test(&micros, rows, is_infinite)))
        }
        Moments::Clock(micros) => (map(&micros, rows, |at| fast(0, at)), None),
        Moments::None => (vec![fast(0, 0); rows], None),
    };
    let valid = moments.validity().filter(|valid| valid.null_count() > 0);
    (values, NullBuffer::union(valid, finite.as_ref()))
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
        let of = |field: Field, year| {
            let day = days_from_civil(year, 3, 15);
            let (fast, exact) = (field.whole::<true>(day, 0), field.whole::<false>(day, 0));
            assert_eq!(fast, exact);
            exact
        };
        assert_eq!([1, 0, -43].map(|y| of(Field::Year, y)), [1, -1, -44]);
        assert_eq!([100, 101, 0, -99, -100].map(|y| of(Field::Century, y)), [1, 2, -1, -1, -2]);
        assert_eq!([1000, 1001, 0, -1000].map(|y| of(Field::Millennium, y)), [1, 2, -1, -2]);
        assert_eq!([19, 0, -1, -10].map(|y| of(Field::Decade, y)), [1, 0, -1, -1]);
    }
}
