//! Types for SQL's values that Rust has none for: days, times, instants, intervals, decimals and UUIDs, with all of
//! their range. They print and read themselves as SQL does. chrono's types may be used in their place.
//!
//! Used by `FromSql`, `ToSql` and the appender. A constructor gives None for what is outside of the type's range, so
//! that a value that exists can be stored.

use std::fmt;
use std::str::FromStr;

use types::decimal::{self, fits};
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, Type, Value, Zone, cast, datetime};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// A DATE.
///
/// ```
/// let day: engine::Date = "2024-02-29".parse()?;
/// assert_eq!((day.year(), day.month(), day.day()), (2024, 2, 29));
/// assert_eq!(engine::Date::new(2023, 2, 29), None);
/// # Ok::<(), engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(i32);

impl Date {
    /// `None` where the calendar has no such day.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Date> {
        let known = (1..=12).contains(&month) && (1..=datetime::days_in_month(year, month)).contains(&day);
        (known && (-4712..=294_275).contains(&year))
            .then(|| Date(datetime::days_from_civil(year, month, day)))
    }
    /// By the days since 1970-01-01.
    pub fn from_days(days: i32) -> Date {
        Date(days)
    }
    /// Days since 1970-01-01.
    pub fn days(self) -> i32 {
        self.0
    }
    /// The year before 1 is 0.
    pub fn year(self) -> i32 {
        datetime::civil_from_days(self.0).year
    }
    /// 1 to 12.
    pub fn month(self) -> u32 {
        datetime::civil_from_days(self.0).month
    }
    /// Day of the month, from 1.
    pub fn day(self) -> u32 {
        datetime::civil_from_days(self.0).day
    }
}

/// A TIME: microseconds since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// `None` beyond 24:00:00.
    pub fn new(hour: u32, minute: u32, second: u32, micros: u32) -> Option<Time> {
        let known = minute < 60 && second < 60 && micros < 1_000_000;
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Self::from_micros(seconds * MICROS_PER_SECOND + i64::from(micros)).filter(|_| known)
    }
    /// `None` beyond a day.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (0..=datetime::MICROS_PER_DAY).contains(&micros).then_some(Time(micros))
    }
    /// Microseconds since midnight.
    pub fn micros(self) -> i64 {
        self.0
    }
}

/// A TIMESTAMP: a day and a time of no zone.
///
/// ```
/// use engine::{Date, Time, Timestamp};
///
/// let noon: Timestamp = "2024-02-29 12:00".parse()?;
/// assert_eq!(noon, Timestamp::new(Date::new(2024, 2, 29).unwrap(), Time::new(12, 0, 0, 0).unwrap()));
/// assert_eq!(noon.to_string(), "2024-02-29 12:00:00");
/// # Ok::<(), engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// That time of that day. The time 24:00:00 gives the next midnight.
    pub fn new(date: Date, time: Time) -> Timestamp {
        Timestamp(i64::from(date.0) * datetime::MICROS_PER_DAY + time.0)
    }
    /// By the microseconds since 1970-01-01 00:00:00.
    pub fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }
    /// Microseconds since 1970-01-01 00:00:00.
    pub fn micros(self) -> i64 {
        self.0
    }
    /// The calendar day.
    pub fn date(self) -> Date {
        Date(i32::try_from(self.0.div_euclid(datetime::MICROS_PER_DAY)).unwrap_or(i32::MAX))
    }
    /// The time since the day's midnight.
    pub fn time(self) -> Time {
        Time(self.0.rem_euclid(datetime::MICROS_PER_DAY))
    }
}

/// A TIMESTAMPTZ: an instant. It prints itself in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimestampTz(i64);

impl TimestampTz {
    /// By the microseconds since 1970-01-01 00:00:00 UTC.
    pub fn from_micros(micros: i64) -> TimestampTz {
        TimestampTz(micros)
    }
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    pub fn micros(self) -> i64 {
        self.0
    }
}

/// A DECIMAL with its digits: `unscaled` divided by ten to the power of `scale`.
///
/// ```
/// let price: engine::Decimal = "-12.50".parse()?;
/// assert_eq!((price.unscaled(), price.scale()), (-1250, 2));
/// assert_eq!(price.to_string(), "-12.50");
/// assert_eq!(price, engine::Decimal::new(-125, 1).unwrap(), "compared by value");
/// # Ok::<(), engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// `None` for more than 38 digits.
    pub fn new(unscaled: i128, scale: u8) -> Option<Decimal> {
        (scale <= DECIMAL_PRECISION_MAX && fits(unscaled, DECIMAL_PRECISION_MAX))
            .then_some(Decimal { unscaled, scale })
    }
    /// All digits as one integer: the value times ten to the power of `scale`.
    pub fn unscaled(self) -> i128 {
        self.unscaled
    }
    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }
    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        cast::decimal_to_f64(self.unscaled, self.scale)
    }
    /// The narrowest type that has all of its digits.
    pub(crate) fn sql_type(self) -> Type {
        let digits = (1..=DECIMAL_PRECISION_MAX).find(|digits| fits(self.unscaled, *digits));
        let precision = digits.unwrap_or(DECIMAL_PRECISION_MAX).max(self.scale);
        Type::Decimal { precision, scale: self.scale }
    }
    /// Without zeros behind the point's last digit.
    fn shortest(self) -> (i128, u8) {
        let (mut unscaled, mut scale) = (self.unscaled, self.scale);
        while scale > 0 && unscaled % 10 == 0 {
            (unscaled, scale) = (unscaled / 10, scale - 1);
        }
        (unscaled, scale)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.shortest() == other.shortest()
    }
}
impl Eq for Decimal {}
impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.shortest().hash(state);
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal { unscaled: i128::from(value), scale: 0 }
    }
}

/// A UUID: its sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// Bytes in the order in which they are printed, first byte first.
    pub fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(bytes)
    }
    /// Bytes in the order in which they are printed.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&datetime::format_date(self.0))
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&datetime::format_time(self.0))
    }
}
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&datetime::format_timestamp(self.0))
    }
}
impl fmt::Display for TimestampTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&datetime::format_timestamptz(self.0, Zone::Utc))
    }
}
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal::format(self.unscaled, self.scale))
    }
}
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Value::I128(cast::uuid_from_bytes(self.0)).display(Type::Uuid))
    }
}

/// A text read as SQL reads a literal of the type.
fn read(text: &str, ty: Type) -> Result<Value> {
    cast::parse_text(text, ty)
}

fn days(value: &Value) -> i32 {
    value.as_i64().and_then(|days| i32::try_from(days).ok()).unwrap_or_default()
}

fn micros(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

impl FromStr for Date {
    type Err = Error;
    fn from_str(text: &str) -> Result<Date> {
        read(text, Type::Date).map(|value| Date(days(&value)))
    }
}
impl FromStr for Time {
    type Err = Error;
    fn from_str(text: &str) -> Result<Time> {
        read(text, Type::Time).map(|value| Time(micros(&value)))
    }
}
impl FromStr for Timestamp {
    type Err = Error;
    fn from_str(text: &str) -> Result<Timestamp> {
        read(text, Type::Timestamp).map(|value| Timestamp(micros(&value)))
    }
}
impl FromStr for TimestampTz {
    type Err = Error;
    /// A text without a zone is one of UTC.
    fn from_str(text: &str) -> Result<TimestampTz> {
        types::zone::within(Zone::Utc, || read(text, Type::TimestampTz))
            .map(|value| TimestampTz(micros(&value)))
    }
}
impl FromStr for Uuid {
    type Err = Error;
    fn from_str(text: &str) -> Result<Uuid> {
        let value = read(text, Type::Uuid)?;
        Ok(Uuid(cast::uuid_to_bytes(value.as_i128().unwrap_or_default())))
    }
}
impl FromStr for Decimal {
    type Err = Error;
    fn from_str(text: &str) -> Result<Decimal> {
        let text = text.trim();
        let invalid = || {
            let message = format!("invalid input syntax for type decimal: \"{text}\"");
            Error::new(SqlState::InvalidTextRepresentation, message)
        };
        let digits = text.split_once('.').map_or("", |(_, digits)| digits);
        let scale =
            u8::try_from(digits.bytes().take_while(u8::is_ascii_digit).count()).map_err(|_| invalid())?;
        let unscaled = decimal::parse(text, scale.min(DECIMAL_PRECISION_MAX)).map_err(|_| invalid())?;
        unscaled.and_then(|unscaled| Decimal::new(unscaled, scale)).ok_or_else(|| {
            Error::new(SqlState::NumericValueOutOfRange, format!("\"{text}\" has more than 38 digits"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_what_they_read() {
        for text in ["2024-02-29", "0001-01-01", "0044-03-15 BC", "9999-12-31"] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        for text in ["00:00:00", "23:59:59.999999", "24:00:00"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!(
            "1969-12-31T23:59:59.5".parse::<Timestamp>().unwrap().to_string(),
            "1969-12-31 23:59:59.5"
        );
        let before = Timestamp::from_micros(-1);
        assert_eq!(
            (before.date().to_string(), before.time().to_string()),
            ("1969-12-31".into(), "23:59:59.999999".into())
        );
        let instant: TimestampTz = "2024-02-29 12:00+02".parse().unwrap();
        assert_eq!(instant.to_string(), "2024-02-29 10:00:00+00");
        let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        assert_eq!(uuid.parse::<Uuid>().unwrap().to_string(), uuid);
        for text in ["0", "-0.001", "99999999999999999999999999999999999999", "0.10"] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
        }
        for wrong in ["", "x", "1.2.3", "999999999999999999999999999999999999999"] {
            assert!(wrong.parse::<Decimal>().is_err(), "{wrong}");
        }
        assert!("2023-02-29".parse::<Date>().is_err() && Time::new(24, 0, 0, 1).is_none());
    }
}
