//! Functions of dates and moments. Moments are microseconds since 1970; where a zone matters, it is an
//! argument.

use plan::functions::{INTERVAL_ADD, SECOND_DIGITS, TIME_TZ_ADD, TIME_TZ_EAST, TIME_TZ_ON, TIME_TZ_UTC};
use types::datetime::{
    self, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil, days_in_month,
};
use types::interval::Interval;
use types::time_tz::TimeTz;
use types::{Error, Result, SqlState, Type, Value, Zone, units};

use super::declare::*;
use super::intervals::sum;
use super::{Arguments, invalid, refuse, time_format, time_parse};

pub(super) const MICROS_PER_HOUR: i64 = 3600 * MICROS_PER_SECOND;
pub(super) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal(
        INTERVAL_ADD,
        &[
            is(&[INTERVAL, INTERVAL], Type::Interval),
            is(&[STAMP, INTERVAL], Type::Timestamp),
            is(&[ZONED, INTERVAL], Type::TimestampTz),
        ],
        |a| match a.ty {
            Type::Interval => sum(a.interval(0)?.checked_add(a.interval(1)?)),
            _ => {
                let moved = a.interval(1)?.after(a.integer(0)?);
                let out_of_range = || refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range");
                moved.map(Value::I64).ok_or_else(out_of_range)
            }
        },
    ),
    internal(TIME_TZ_ADD, &[is(&[TIME_TZ, INTERVAL], Type::TimeTz)], |a| {
        Ok(TimeTz::of_value(&a.values[0]).moved(a.interval(1)?).value())
    }),
    internal(TIME_TZ_ON, &[is(&[TIME_TZ, DATE], Type::TimestampTz)], |a| {
        let day = i32::try_from(a.integer(1)?).map_err(|_| Error::out_of_range(&Type::Date))?;
        TimeTz::of_value(&a.values[0]).on(day).map(Value::I64)
    }),
    internal(TIME_TZ_EAST, &[is(&[TIME_TZ], Type::BigInt)], |a| {
        Ok(Value::I64(TimeTz::of_value(&a.values[0]).east.into()))
    }),
    internal(TIME_TZ_UTC, &[is(&[TIME_TZ], Type::BigInt)], |a| {
        Ok(Value::I64(TimeTz::of_value(&a.values[0]).utc()))
    }),
    internal(
        SECOND_DIGITS,
        &[
            first(&[INTERVAL, BIG]),
            first(&[STAMP, BIG]),
            first(&[ZONED, BIG]),
            first(&[TIME, BIG]),
            first(&[TIME_TZ, BIG]),
        ],
        |a| datetime::rounded(&a.values[0], a.ty, a.integer(1)?.unsigned_abs()),
    ),
    own(
        "age",
        &[is(&[STAMP, STAMP], Type::Interval)],
        page(
            "date and time",
            "age(moment [, moment])",
            "From the second moment to the first in years, months, days and time, as a calendar counts them; of one moment, to today.",
            "age(DATE '2024-03-01', DATE '2023-01-15')",
            "1 year 1 mon 17 days",
        ),
        |a| match any_infinite(a, 0..2)? {
            true => Err(refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range")
                .with_hint("there is no interval from or to an infinite moment")),
            false => Interval::age(a.integer(0)?, a.integer(1)?).value(),
        },
    ),
    in_batches(
        super::batch::truncated,
        own(
            "date_trunc",
            &[
                is(&[TEXT, STAMP], Type::Timestamp),
                optional(is(&[TEXT, ZONED, TEXT], Type::TimestampTz), 1),
                is(&[TEXT, INTERVAL], Type::Interval),
            ],
            page(
                "date and time",
                "date_trunc(field, moment)",
                "The beginning of the year, quarter, month, week, day, hour, minute or second that the moment lies in.",
                "date_trunc('month', TIMESTAMP '2024-02-03 04:05:06')",
                "2024-02-01 00:00:00",
            ),
            date_trunc,
        ),
    ),
    own(
        "date_bin",
        &[
            optional(is(&[INTERVAL, STAMP, STAMP], Type::Timestamp), 1),
            optional(is(&[INTERVAL, ZONED, ZONED], Type::TimestampTz), 1),
        ],
        page(
            "date and time",
            "date_bin(width, moment [, origin])",
            "The beginning of the interval of that width that the moment lies in.",
            "date_bin(INTERVAL '15 minutes', TIMESTAMP '2024-02-03 04:55:06')",
            "2024-02-03 04:45:00",
        ),
        date_bin,
    ),
    own(
        "time_bucket",
        &[
            optional(is(&[INTERVAL, STAMP, STAMP], Type::Timestamp), 1),
            is(&[INTERVAL, STAMP, INTERVAL], Type::Timestamp),
            optional(is(&[INTERVAL, ZONED, ZONED], Type::TimestampTz), 1),
            is(&[INTERVAL, ZONED, INTERVAL], Type::TimestampTz),
            is(&[INTERVAL, ZONED, TEXT], Type::TimestampTz),
            optional(is(&[INTERVAL, TIME, TIME], Type::Time), 1),
            is(&[INTERVAL, TIME, INTERVAL], Type::Time),
        ],
        page(
            "date and time",
            "time_bucket(width, moment [, origin]); time_bucket(width, moment, offset); time_bucket(width, instant, zone)",
            "The beginning of the bucket of that width; buckets of days begin on 2000-01-03, of months in January 2000. Instants are counted in UTC, or by the zone's clock.",
            "time_bucket(INTERVAL '2 days', TIMESTAMP '2024-02-03 04:05:06.789')",
            "2024-02-02 00:00:00",
        ),
        |a| match (a.ty, time_bucket(a)?) {
            // A time is one of 1970-01-01, and so is the bucket's beginning, whichever day that falls on.
            (Type::Time, Value::I64(micros)) => Ok(Value::I64(micros.rem_euclid(MICROS_PER_DAY))),
            (_, beginning) => Ok(beginning),
        },
    ),
    internal(
        "interval_field",
        &[
            is(&[TEXT, SPAN], Type::BigInt),
            is(&[TEXT, MONTHS], Type::BigInt),
            is(&[TEXT, INTERVAL], Type::BigInt),
        ],
        interval_field,
    ),
    own(
        "date_diff",
        &[is(&[TEXT, STAMP, STAMP], Type::BigInt)],
        page(
            "date and time",
            "date_diff(unit, from, to)",
            "How many beginnings of the unit lie between two moments.",
            "date_diff('year', DATE '2023-12-31', DATE '2024-01-01')",
            "1",
        ),
        |a| date_difference(a, false),
    ),
    own(
        "date_sub",
        &[is(&[TEXT, STAMP, STAMP], Type::BigInt)],
        page(
            "date and time",
            "date_sub(unit, from, to)",
            "How many whole units lie between two moments.",
            "date_sub('year', DATE '2023-12-31', DATE '2024-01-01')",
            "0",
        ),
        |a| date_difference(a, true),
    ),
    // What has no number for infinity has NULL.
    own(
        "last_day",
        &[is(&[STAMP], Type::Date)],
        page(
            "date and time",
            "last_day(moment)",
            "The last day of the month.",
            "last_day(DATE '2024-02-03')",
            "2024-02-29",
        ),
        |a| of_finite(a, last_day),
    ),
    own(
        "dayname",
        &[is(&[STAMP], Type::Text)],
        page(
            "date and time",
            "dayname(moment)",
            "The name of the weekday.",
            "dayname(DATE '2024-02-03')",
            "Saturday",
        ),
        |a| of_finite(a, |micros| Ok(Value::text(time_format::DAYS[weekday(day_of(micros))]))),
    ),
    own(
        "monthname",
        &[is(&[STAMP], Type::Text)],
        page(
            "date and time",
            "monthname(moment)",
            "The name of the month.",
            "monthname(DATE '2024-02-03')",
            "February",
        ),
        |a| {
            of_finite(a, |micros| {
                let month = civil_from_days(day_of(micros)).month as usize;
                Ok(Value::text(time_format::MONTHS[month - 1]))
            })
        },
    ),
    own(
        "make_date",
        &[is(&[BIG, BIG, BIG], Type::Date), is(&[BIG], Type::Date)],
        page(
            "date and time",
            "make_date(year, month, day)",
            "The date of these numbers.",
            "make_date(2024, 2, 3)",
            "2024-02-03",
        ),
        |a| match a.len() {
            // Days since 1970.
            1 => types::cast::cast_value(
                &Value::I64(
                    a.integer(0)?
                        .checked_mul(MICROS_PER_DAY)
                        .ok_or_else(|| types::Error::out_of_range(&Type::Date))?,
                ),
                Type::Timestamp,
                Type::Date,
            ),
            _ => Ok(Value::I32(date_of(a.integer(0)?, a.integer(1)?, a.integer(2)?)?)),
        },
    ),
    own(
        "make_time",
        &[is(&[BIG, BIG, DOUBLE], Type::Time)],
        page(
            "date and time",
            "make_time(hour, minute, second)",
            "The time of day of these numbers.",
            "make_time(4, 5, 6)",
            "04:05:06",
        ),
        |a| Ok(Value::I64(time_of(a.integer(0)?, a.integer(1)?, a.float(2)?)?)),
    ),
    own(
        "make_timestamp",
        &[is(&[BIG, BIG, BIG, BIG, BIG, DOUBLE], Type::Timestamp), is(&[BIG], Type::Timestamp)],
        page(
            "date and time",
            "make_timestamp(year, month, day, hour, minute, second); make_timestamp(microseconds)",
            "The moment of these numbers.",
            "make_timestamp(2024, 2, 3, 4, 5, 6.5)",
            "2024-02-03 04:05:06.5",
        ),
        make_timestamp,
    ),
    own(
        "epoch_ms",
        &[is(&[STAMP], Type::BigInt), is(&[ZONED], Type::BigInt), is(&[BIG], Type::Timestamp)],
        page(
            "date and time",
            "epoch_ms(moment); epoch_ms(number)",
            "The milliseconds since 1970-01-01, or the moment they lead to.",
            "epoch_ms(TIMESTAMP '2024-02-03 04:05:06.789')",
            "1706933106789",
        ),
        |a| match a.ty {
            Type::Timestamp => checked(a.integer(0)?.checked_mul(1000)),
            _ => of_finite(a, |micros| Ok(Value::I64(micros.div_euclid(1000)))),
        },
    ),
    own(
        "epoch_us",
        &[is(&[STAMP], Type::BigInt), is(&[ZONED], Type::BigInt)],
        page(
            "date and time",
            "epoch_us(moment)",
            "The microseconds since 1970-01-01.",
            "epoch_us(TIMESTAMP '2024-02-03 04:05:06.789')",
            "1706933106789000",
        ),
        |a| of_finite(a, |micros| Ok(Value::I64(micros))),
    ),
    own(
        "epoch_ns",
        &[
            is(&[STAMP], Type::BigInt),
            is(&[ZONED], Type::BigInt),
            is(&[Takes::Is(Type::TimestampNs)], Type::BigInt),
            is(&[Takes::Is(Type::TimestampTzNs)], Type::BigInt),
        ],
        page(
            "date and time",
            "epoch_ns(moment)",
            "The nanoseconds since 1970-01-01.",
            "epoch_ns(DATE '2024-02-03')",
            "1706918400000000000",
        ),
        |a| {
            let unit = if a.types[0].is_timestamp_of_unit() { 1 } else { 1000 };
            of_finite(a, |held| checked(held.checked_mul(unit)))
        },
    ),
    own(
        "julian",
        &[is(&[STAMP], Type::Double)],
        page("date and time", "julian(moment)", "The Julian day.", "julian(DATE '2024-02-03')", "2460344"),
        |a| {
            // The day that began at noon of 4714-11-24 BC; PostgreSQL counts from midnight.
            let micros = a.integer(0)?;
            if datetime::is_infinite(micros) {
                return Ok(Value::F64(if micros > 0 { f64::INFINITY } else { f64::NEG_INFINITY }));
            }
            let day = f64::from(day_of(micros)) + 2_440_588.0;
            Ok(Value::F64(day + micros.rem_euclid(MICROS_PER_DAY) as f64 / MICROS_PER_DAY as f64))
        },
    ),
    own(
        "to_timestamp",
        &[is(&[DOUBLE], Type::TimestampTz), is(&[TEXT, TEXT], Type::TimestampTz)],
        page(
            "date and time",
            "to_timestamp(seconds); to_timestamp(text, template)",
            "The moment that many seconds after 1970-01-01, or the one that a text means by a template.",
            "to_timestamp('2024-02-03 04:05', 'YYYY-MM-DD HH24:MI')",
            "2024-02-03 04:05:00+00",
        ),
        |a| match a.len() {
            1 => {
                let micros = a.float(0)? * 1e6;
                if a.float(0)?.is_infinite() {
                    return Ok(Value::I64(if micros > 0.0 { i64::MAX } else { i64::MIN }));
                }
                if !micros.is_finite() || micros.abs() > 9.2e18 {
                    return Err(refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range"));
                }
                Ok(Value::I64(micros.round_ties_even() as i64))
            }
            _ => Ok(Value::I64(time_parse::by_template(a.text(0)?, a.text(1)?)?)),
        },
    ),
    own(
        "to_date",
        &[is(&[TEXT, TEXT], Type::Date)],
        page(
            "date and time",
            "to_date(text, template)",
            "The date that a text means by a template.",
            "to_date('03 Feb 2024', 'DD Mon YYYY')",
            "2024-02-03",
        ),
        |a| Ok(Value::I32(day_of(time_parse::by_template(a.text(0)?, a.text(1)?)?))),
    ),
    own(
        "to_char",
        &[
            is(&[STAMP, TEXT], Type::Text),
            optional(is(&[ZONED, TEXT, TEXT], Type::Text), 1),
            is(&[TIME, TEXT], Type::Text),
            is(&[INTERVAL, TEXT], Type::Text),
            is(&[Takes::Number, TEXT], Type::Text),
        ],
        page(
            "date and time",
            "to_char(value, template)",
            "A moment, interval or number by a template: YYYY, MM, DD, HH24, MI, SS, MS, Month, Mon, Day, Dy, Q, IW and others; 9, 0, a point, a comma and a sign for numbers.",
            "to_char(TIMESTAMP '2024-02-03 04:05:06.789', 'DD Mon YYYY HH24:MI')",
            "03 Feb 2024 04:05",
        ),
        super::to_char::to_char,
    ),
    in_batches(
        super::batch::formatted,
        own(
            "strftime",
            &[
                is(&[STAMP, TEXT], Type::Text),
                is(&[TEXT, STAMP], Type::Text),
                optional(is(&[ZONED, TEXT, TEXT], Type::Text), 1),
                optional(is(&[TEXT, ZONED, TEXT], Type::Text), 1),
            ],
            page(
                "date and time",
                "strftime(moment, format)",
                "The moment as text: %Y year, %m month, %d day, %H hour, %M minute, %S second, %f microseconds, %g milliseconds, %a and %A weekday, %b and %B month's name, %j day of the year, %p AM or PM, %I hour of twelve, %V week; - behind % leaves zeros out.",
                "strftime(TIMESTAMP '2024-02-03 04:05:06.789', '%a, %-d %B %Y, %I:%M %p')",
                "Sat, 3 February 2024, 04:05 AM",
            ),
            |a| {
                let (moment, format) = if a.types[0].is_text() { (1, 0) } else { (0, 1) };
                let zone = if a.len() > 2 { super::zones::zone_of(a, 2)? } else { Zone::Utc };
                let mut text = String::new();
                time_format::push_formatted(&mut text, a.integer(moment)?, a.text(format)?, zone)?;
                Ok(Value::text(&text))
            },
        ),
    ),
    own(
        "strptime",
        &[is(&[TEXT, TEXT], Type::Timestamp)],
        page(
            "date and time",
            "strptime(text, format)",
            "The moment that a text means by a format: %Y, %y, %m, %d, %j, %b, %B, %H, %I, %p, %M, %S, %f, %g, %n, %s, %z and %Z are read, %a and %A skipped.",
            "strptime('3 Feb 2024, 4:05', '%d %b %Y, %H:%M')",
            "2024-02-03 04:05:00",
        ),
        |a| {
            time_parse::strptime(a.text(0)?, a.text(1)?)?.map(Value::I64).ok_or_else(|| {
                let message = format!("could not read \"{}\" by the format \"{}\"", text(a, 0), text(a, 1));
                refuse(SqlState::InvalidDatetimeFormat, message).with_hint("try_strptime gives NULL instead")
            })
        },
    ),
    own(
        "try_strptime",
        &[is(&[TEXT, TEXT], Type::Timestamp)],
        page(
            "date and time",
            "try_strptime(text, format)",
            "As strptime; NULL where the text does not fit the format.",
            "try_strptime('yesterday', '%Y-%m-%d')",
            "NULL",
        ),
        |a| Ok(time_parse::strptime(a.text(0)?, a.text(1)?)?.map_or(Value::Null, Value::I64)),
    ),
];

fn text<'a>(a: &'a Arguments<'_>, at: usize) -> &'a str {
    a.text(at).unwrap_or_default()
}

pub(super) fn overflow() -> Error {
    refuse(SqlState::DatetimeFieldOverflow, "interval out of range")
}

fn checked(micros: Option<i64>) -> Result<Value> {
    micros.map(Value::I64).ok_or_else(overflow)
}

/// Whether one of these arguments is an infinite moment.
fn any_infinite(a: &Arguments<'_>, mut places: std::ops::Range<usize>) -> Result<bool> {
    places.try_fold(false, |found, at| Ok(found || datetime::is_infinite(a.integer(at)?)))
}

/// What `f` makes of the first argument; NULL of an infinite one.
fn of_finite(a: &Arguments<'_>, f: impl Fn(i64) -> Result<Value>) -> Result<Value> {
    match a.integer(0)? {
        micros if datetime::is_infinite(micros) => Ok(Value::Null),
        micros => f(micros),
    }
}

fn last_day(micros: i64) -> Result<Value> {
    let day = civil_from_days(day_of(micros));
    Ok(Value::I32(days_from_civil(day.year, day.month, days_in_month(day.year, day.month))))
}

/// The day of a moment, counted from 1970-01-01.
pub(super) fn day_of(micros: i64) -> i32 {
    micros.div_euclid(MICROS_PER_DAY) as i32
}

/// 0 is Sunday.
pub(super) fn weekday(day: i32) -> usize {
    (day + 4).rem_euclid(7) as usize
}

/// The day's number in its year, from 1.
pub(super) fn day_of_year(day: i32) -> i32 {
    day - days_from_civil(civil_from_days(day).year, 1, 1) + 1
}

/// The year and week that ISO 8601 counts a day to.
pub(super) fn iso_week(day: i32) -> (i32, i32) {
    // The week is that of its Thursday.
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let year = civil_from_days(thursday).year;
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

fn field_out_of_range(what: &str, shown: &str) -> Error {
    refuse(SqlState::DatetimeFieldOverflow, format!("{what} field value out of range: {shown}"))
}

/// The day of a date, counted from 1970-01-01; year -1 is the one before year 1. An error for a date that does not
/// exist.
pub(super) fn date_of(year: i64, month: i64, day: i64) -> Result<i32> {
    let wrong = || field_out_of_range("date", &format!("{year}-{month:02}-{day:02}"));
    let years =
        i32::try_from(year).ok().filter(|y| (-4712..=294_275).contains(y) && *y != 0).ok_or_else(wrong)?;
    // There is no year 0: -1 is the one before 1.
    let counted = if years < 0 { years + 1 } else { years };
    let months = u32::try_from(month).ok().filter(|m| (1..=12).contains(m)).ok_or_else(wrong)?;
    let days = u32::try_from(day).ok().filter(|d| (1..=days_in_month(counted, months)).contains(d));
    Ok(days_from_civil(counted, months, days.ok_or_else(wrong)?))
}

fn time_of(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let fits = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&second);
    let micros = hour
        .saturating_mul(MICROS_PER_HOUR)
        .saturating_add(minute.saturating_mul(MICROS_PER_MINUTE))
        .saturating_add((second * 1e6).round_ties_even() as i64);
    if !fits || micros > MICROS_PER_DAY {
        return Err(field_out_of_range("time", &format!("{hour}:{minute:02}:{second:02}")));
    }
    Ok(micros)
}

fn make_timestamp(a: &Arguments<'_>) -> Result<Value> {
    if a.len() == 1 {
        let micros = a.integer(0)?;
        // The ends of the numbers mean infinity, which no number of microseconds is.
        return match datetime::is_infinite(micros) {
            true => Err(refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range")
                .with_hint("'infinity'::TIMESTAMP is an infinite moment")),
            false => Ok(Value::I64(micros)),
        };
    }
    let day = date_of(a.integer(0)?, a.integer(1)?, a.integer(2)?)?;
    let time = time_of(a.integer(3)?, a.integer(4)?, a.float(5)?)?;
    let beyond = || refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range");
    datetime::moment(day, time).map(Value::I64).ok_or_else(beyond)
}

fn unknown_unit(unit: &str, ty: Type) -> Error {
    invalid(format!("unit \"{unit}\" not recognized for type {ty}"))
        .with_hint("year, quarter, month, week, day, hour, minute and second are units")
}

/// The first day of the years that a unit of several begins with.
fn years_of(unit: &str, year: i32) -> Option<i32> {
    Some(match unit {
        "year" => year,
        "decade" => year.div_euclid(10) * 10,
        // The first century is from year 1 to 100.
        "century" => (year - 1).div_euclid(100) * 100 + 1,
        "millennium" => (year - 1).div_euclid(1000) * 1000 + 1,
        _ => return None,
    })
}

/// The beginning of the unit that the moment lies in.
pub(super) fn truncated(unit: &str, micros: i64) -> Option<i64> {
    if datetime::is_infinite(micros) {
        return Some(micros);
    }
    let day = day_of(micros);
    let date = civil_from_days(day);
    let midnight = |day: i32| i64::from(day) * MICROS_PER_DAY;
    Some(match unit {
        "microsecond" => micros,
        "millisecond" => micros - micros.rem_euclid(1000),
        "second" => micros - micros.rem_euclid(MICROS_PER_SECOND),
        "minute" => micros - micros.rem_euclid(MICROS_PER_MINUTE),
        "hour" => micros - micros.rem_euclid(MICROS_PER_HOUR),
        "day" | "dow" | "isodow" | "doy" | "julian" => midnight(day),
        "epoch" => micros - micros.rem_euclid(MICROS_PER_SECOND),
        "week" | "yearweek" => midnight(day - (day + 3).rem_euclid(7)),
        "isoyear" => {
            let day = days_from_civil(iso_week(day).0, 1, 4);
            midnight(day - (day + 3).rem_euclid(7))
        }
        "month" => midnight(days_from_civil(date.year, date.month, 1)),
        "quarter" => midnight(days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1)),
        unit => midnight(days_from_civil(years_of(unit, date.year)?, 1, 1)),
    })
}

fn date_trunc(a: &Arguments<'_>) -> Result<Value> {
    let unit = units::unit(a.text(0)?);
    let wrong = || unknown_unit(text(a, 0), a.ty);
    if a.ty == Type::Interval {
        return a.interval(1)?.truncated(&unit).ok_or_else(wrong)?.value();
    }
    let value = a.integer(1)?;
    match a.ty {
        _ if a.len() > 2 => super::zones::truncated(super::zones::zone_of(a, 2)?, &unit, value)
            .map(Value::I64)
            .ok_or_else(wrong),
        _ => truncated(&unit, value).map(Value::I64).ok_or_else(wrong),
    }
}

/// The width of bins: either whole months or microseconds.
enum Width {
    Months(i64),
    Micros(i64),
}

fn width(interval: Interval, message: &str) -> Result<Width> {
    let micros = interval.day_time().ok_or_else(overflow)?;
    let width = match interval.months {
        0 => Width::Micros(micros),
        months if micros == 0 => Width::Months(i64::from(months)),
        _ => {
            let error = Error::unsupported("buckets of both months and days or times have no fixed width");
            return Err(error.with_hint("take months, or days and times"));
        }
    };
    match width {
        Width::Months(w) | Width::Micros(w) if w <= 0 => {
            Err(refuse(SqlState::DatetimeFieldOverflow, message))
        }
        width => Ok(width),
    }
}

fn bin_of(a: &Arguments<'_>, width: i64) -> Result<Value> {
    let micros = a.integer(1)?;
    let origin = if a.len() > 2 { a.integer(2)? } else { 0 };
    let moved = micros.checked_sub(origin).ok_or_else(overflow)?;
    checked(micros.checked_sub(moved.rem_euclid(width)))
}

/// `date_bin(width, moment, origin)`.
fn date_bin(a: &Arguments<'_>) -> Result<Value> {
    let width = width(a.interval(0)?, "stride must be greater than zero")?;
    if a.len() > 2 && datetime::is_infinite(a.integer(2)?) {
        return Err(refuse(SqlState::DatetimeFieldOverflow, "origin out of range")
            .with_hint("bins are counted from a finite moment"));
    }
    match width {
        _ if datetime::is_infinite(a.integer(1)?) => Ok(a.values[1].clone()),
        Width::Micros(width) => bin_of(a, width),
        Width::Months(_) => {
            Err(Error::unsupported("timestamps cannot be binned into intervals containing months or years")
                .with_hint("time_bucket takes months, too"))
        }
    }
}

/// The beginning of a bucket: of days and times from Monday, 2000-01-03 on, of months from 2000-01-01 on. A third
/// argument is another beginning, by how far it is moved, or the zone whose clock counts; instants are counted in UTC
/// otherwise.
fn time_bucket(a: &Arguments<'_>) -> Result<Value> {
    let moment = a.integer(1)?;
    if datetime::is_infinite(moment) {
        return Ok(Value::I64(moment));
    }
    let width = width(a.interval(0)?, "the width of buckets must be greater than zero")?;
    match a.types.get(2) {
        None => bucket(&width, moment, None).map(Value::I64),
        Some(Type::Interval) => {
            let offset = a.interval(2)?;
            let back = offset.checked_neg().and_then(|back| back.after(moment)).ok_or_else(overflow)?;
            checked(offset.after(bucket(&width, back, None)?))
        }
        Some(ty) if ty.is_text() => {
            let zone = super::zones::zone_of(a, 2)?;
            let local = zone.local(moment).ok_or_else(overflow)?;
            checked(zone.instant(bucket(&width, local, None)?))
        }
        Some(_) => match a.integer(2)? {
            origin if datetime::is_infinite(origin) => Ok(Value::Null),
            origin => bucket(&width, moment, Some(origin)).map(Value::I64),
        },
    }
}

fn bucket(width: &Width, micros: i64, origin: Option<i64>) -> Result<i64> {
    let width = match *width {
        Width::Micros(width) => {
            let monday = i64::from(days_from_civil(2000, 1, 3)) * MICROS_PER_DAY;
            let moved = micros.checked_sub(origin.unwrap_or(monday)).ok_or_else(overflow)?;
            return micros.checked_sub(moved.rem_euclid(width)).ok_or_else(overflow);
        }
        Width::Months(width) => width,
    };
    let number = |micros: i64| {
        let date = civil_from_days(day_of(micros));
        i64::from(date.year) * 12 + i64::from(date.month) - 1
    };
    let month = number(micros);
    let start = month - (month - origin.map_or(2000 * 12, number)).rem_euclid(width);
    let year = i32::try_from(start.div_euclid(12)).map_err(|_| overflow())?;
    Ok(i64::from(days_from_civil(year, start.rem_euclid(12) as u32 + 1, 1)) * MICROS_PER_DAY)
}

/// Fields of an interval; seconds are counted in microseconds.
fn interval_field(a: &Arguments<'_>) -> Result<Value> {
    let field = a.text(0)?;
    let wrong = || unknown_unit(text(a, 0), a.types[1]);
    if a.types[1] == Type::Interval {
        return a.interval(1)?.field(field).map(Value::I64).ok_or_else(wrong);
    }
    let value = a.integer(1)?;
    Ok(Value::I64(if a.types[1] == Type::IntervalYearMonth {
        match field {
            "year" => value / 12,
            "month" => value % 12,
            "quarter" => value % 12 / 3 + 1,
            "decade" => value / 120,
            "century" => value / 1200,
            "millennium" => value / 12_000,
            "day" | "hour" | "minute" | "microsecond" => 0,
            // A year has 365.25 days, a month 30.
            "epoch" => (value / 12 * 31_557_600 + value % 12 * 2_592_000) * MICROS_PER_SECOND,
            _ => return Err(wrong()),
        }
    } else {
        match field {
            "year" | "month" | "decade" | "century" | "millennium" => 0,
            "quarter" => 1,
            "day" => value / MICROS_PER_DAY,
            "hour" => value % MICROS_PER_DAY / MICROS_PER_HOUR,
            "minute" => value % MICROS_PER_HOUR / MICROS_PER_MINUTE,
            "microsecond" => value % MICROS_PER_MINUTE,
            "epoch" => value,
            _ => return Err(wrong()),
        }
    }))
}

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

/// Years of ISO 8601, which have whole weeks: how many begin between two moments, or how many whole ones lie there.
fn years_by_weeks(from: i64, to: i64, whole: bool) -> Result<Value> {
    let year = |micros: i64| i64::from(iso_week(day_of(micros)).0);
    let between = year(to) - year(from);
    if !whole || between == 0 {
        return Ok(Value::I64(between));
    }
    let in_year = |micros: i64| {
        let day = day_of(micros);
        let week = iso_week(day).1;
        (week, (day + 3).rem_euclid(7), micros.rem_euclid(MICROS_PER_DAY))
    };
    // The last year is whole when week, weekday and time have come again.
    let (early, late) = if between > 0 { (from, to) } else { (to, from) };
    let broken = i64::from(in_year(late) < in_year(early));
    Ok(Value::I64(between.signum() * (between.abs() - broken)))
}

/// How many boundaries of a unit lie between two moments, or with `whole`, how many whole units.
fn date_difference(a: &Arguments<'_>, whole: bool) -> Result<Value> {
    let unit = units::unit(a.text(0)?);
    let (from, to) = (a.integer(1)?, a.integer(2)?);
    let wrong = || unknown_unit(text(a, 0), Type::Timestamp);
    let infinite = any_infinite(a, 1..3)?;
    let width = match unit.as_str() {
        "microsecond" => Some(1),
        "millisecond" => Some(1000),
        "second" => Some(MICROS_PER_SECOND),
        "minute" => Some(MICROS_PER_MINUTE),
        "hour" => Some(MICROS_PER_HOUR),
        "day" | "dow" | "isodow" | "doy" | "julian" => Some(MICROS_PER_DAY),
        "epoch" => Some(MICROS_PER_SECOND),
        "week" | "yearweek" => Some(7 * MICROS_PER_DAY),
        _ => None,
    };
    if infinite && (width.is_some() || in_months(&unit).is_some()) {
        return Ok(Value::Null);
    }
    if let Some(width) = width {
        if whole {
            return checked(to.checked_sub(from).map(|d| d / width));
        }
        // Weeks are counted by their Mondays: 1969-12-29 was one.
        let shift = if width == 7 * MICROS_PER_DAY { -3 * MICROS_PER_DAY } else { 0 };
        return checked((to - shift).div_euclid(width).checked_sub((from - shift).div_euclid(width)));
    }
    let in_unit = in_months(&unit).ok_or_else(wrong)?;
    if unit == "isoyear" {
        return years_by_weeks(from, to, whole);
    }
    let number = |micros: i64| {
        let date = civil_from_days(day_of(micros));
        i64::from(date.year) * 12 + i64::from(date.month) - 1
    };
    if !whole {
        let unit_of = |micros: i64| match in_unit {
            // Centuries and millennia end with the round year.
            1200 | 12_000 => (number(micros) - 12).div_euclid(in_unit),
            _ => number(micros).div_euclid(in_unit),
        };
        return Ok(Value::I64(unit_of(to) - unit_of(from)));
    }
    // A month is whole when its day and time have come again.
    let (early, late, sign) = if from <= to { (from, to, 1) } else { (to, from, -1) };
    let mut months = number(late) - number(early);
    let moved = datetime::timestamp_add_months(early, i32::try_from(months).map_err(|_| overflow())?);
    if moved.is_none_or(|moved| moved > late) {
        months -= 1;
    }
    Ok(Value::I64(sign * (months / in_unit)))
}
