//! Functions of dates and moments. Moments are microseconds since 1970; where a zone matters, it is an
//! argument.
//!
//! Declared in the list of `own`, in the forms of one row's values. Days before the calendar's first or behind its
//! last are SQLSTATE 22008.

mod buckets;
pub(super) mod calendar;
mod difference;
mod moments;

use std::time::{SystemTime, UNIX_EPOCH};

use plan::functions::{INTERVAL_ADD, SECOND_DIGITS, TIME_TZ_ADD, TIME_TZ_EAST, TIME_TZ_ON, TIME_TZ_UTC};
use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use types::interval::Interval;
use types::time_tz::TimeTz;
use types::{Error, Physical, Result, SqlState, Type, Value, Zone, units};

use super::declare::*;
use super::intervals::sum;
use super::{Arguments, maps, refuse, time_format, time_parse};
use calendar::{
    MICROS_PER_HOUR, MICROS_PER_MINUTE, any_infinite, checked, date_of, day_of, day_place, last_day,
    month_place, text, time_of, truncated, unknown_unit,
};

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
    own(
        "clock_timestamp",
        &[is(&[], Type::TimestampTz)],
        page(
            "date and time",
            "clock_timestamp()",
            "The moment at which it is evaluated, another one for each row; now() is that of the transaction.",
            "clock_timestamp() >= statement_timestamp()",
            "true",
        ),
        |_| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            Ok(Value::I64(since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))))
        },
    ),
    own(
        "timetz_byte_comparable",
        &[is(&[TIME_TZ], Type::BigInt)],
        page(
            "date and time",
            "timetz_byte_comparable(time)",
            "A number that is in the order of times with zones.",
            "timetz_byte_comparable('09:00:00+00') < timetz_byte_comparable('09:00:00-01')",
            "true",
        ),
        |a| Ok(Value::I64(a.integer(0)?)),
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
    in_batches(
        buckets::bins_in_batches,
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
            buckets::date_bin,
        ),
    ),
    in_batches(
        buckets::in_batches,
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
            |a| match (a.ty, buckets::time_bucket(a)?) {
                // A time is one of 1970-01-01, and so is the bucket's beginning, whichever day that falls on.
                (Type::Time, Value::I64(micros)) => Ok(Value::I64(micros.rem_euclid(MICROS_PER_DAY))),
                (_, beginning) => Ok(beginning),
            },
        ),
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
    in_batches(
        difference::differences,
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
            |a| difference::date_difference(a, false),
        ),
    ),
    in_batches(
        difference::whole_differences,
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
            |a| difference::date_difference(a, true),
        ),
    ),
    // What has no number for infinity has NULL.
    in_batches(
        moments::last_days,
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
            |a| of_finite(a, |micros| Ok(Value::I32(last_day(micros)))),
        ),
    ),
    in_batches(
        super::batch::day_names,
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
            |a| of_finite(a, |micros| Ok(Value::text(time_format::DAYS[day_place(micros)]))),
        ),
    ),
    in_batches(
        super::batch::month_names,
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
            |a| of_finite(a, |micros| Ok(Value::text(time_format::MONTHS[month_place(micros)]))),
        ),
    ),
    in_batches(
        moments::dates,
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
    ),
    in_batches(
        moments::times,
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
    ),
    in_batches(
        moments::made,
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
    ),
    in_batches(
        moments::milliseconds,
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
    ),
    in_batches(
        |i, ty, rows, _| moments::finite(i, ty, rows, Some),
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
    ),
    in_batches(
        moments::nanoseconds,
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
    ),
    own(
        "nanosecond",
        &[
            is(&[Takes::Is(Type::TimestampNs)], Type::BigInt),
            is(&[Takes::Is(Type::TimestampTzNs)], Type::BigInt),
            is(&[Takes::Is(Type::TimeNs)], Type::BigInt),
            is(&[STAMP], Type::BigInt),
            is(&[ZONED], Type::BigInt),
            is(&[TIME], Type::BigInt),
            is(&[INTERVAL], Type::BigInt),
        ],
        page(
            "date and time",
            "nanosecond(moment)",
            "The nanoseconds since the minute began.",
            "nanosecond(TIME_NS '12:34:56.123456789')",
            "56123456789",
        ),
        |a| match a.types[0] {
            Type::Interval => Ok(Value::I64(a.interval(0)?.micros % MICROS_PER_MINUTE * 1000)),
            ty => of_finite(a, |held| {
                let exact = ty.is_timestamp_of_unit() || ty == Type::TimeNs;
                let minute = if exact { MICROS_PER_MINUTE * 1000 } else { MICROS_PER_MINUTE };
                Ok(Value::I64(held.rem_euclid(minute) * if exact { 1 } else { 1000 }))
            }),
        },
    ),
    in_batches(
        |i, ty, rows, _| maps::one(i, Physical::I64, ty, rows, |micros| Some(julian(micros))),
        own(
            "julian",
            &[is(&[STAMP], Type::Double)],
            page(
                "date and time",
                "julian(moment)",
                "The Julian day.",
                "julian(DATE '2024-02-03')",
                "2460344",
            ),
            |a| Ok(Value::F64(julian(a.integer(0)?))),
        ),
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

/// What `f` makes of the first argument; NULL of an infinite one.
fn of_finite(a: &Arguments<'_>, f: impl Fn(i64) -> Result<Value>) -> Result<Value> {
    match a.integer(0)? {
        micros if datetime::is_infinite(micros) => Ok(Value::Null),
        micros => f(micros),
    }
}

/// The day that began at noon of 4714-11-24 BC; PostgreSQL counts from midnight.
fn julian(micros: i64) -> f64 {
    if datetime::is_infinite(micros) {
        return if micros > 0 { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    let day = f64::from(day_of(micros)) + 2_440_588.0;
    day + micros.rem_euclid(MICROS_PER_DAY) as f64 / MICROS_PER_DAY as f64
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
