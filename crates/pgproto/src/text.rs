//! Text of values whose length has a bound, written into bytes that are there, without an allocation for a value.
//!
//! The forms are those of `types::cast::format_value`, which defines them and which the tests compare every writer
//! with; two of the protocol's own differ: booleans are `t` and `f`, and CHAR(n) is filled with blanks to its length,
//! as PostgreSQL sends them. Every function writes at the beginning of `to`, which has at least the bytes of the
//! constant of its type, and gives how many it wrote.

use std::fmt::Write;

use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use types::interval::Interval;
use types::time_tz::TimeTz;
use types::{Zone, cast};

/// Longest text of a 64-bit integer.
pub(crate) const I64_BYTES: usize = 20;
/// Longest text of a 128-bit integer, and of a DECIMAL, which has a sign, a point and perhaps a zero before it.
pub(crate) const I128_BYTES: usize = 43;
/// Longest text of a float, with some bytes to spare.
pub(crate) const FLOAT_BYTES: usize = 32;
/// Longest text of any integer of 32 bits read as a date: a year of seven digits before Christ.
pub(crate) const DATE_BYTES: usize = 20;
/// Longest text of a timestamp with an offset.
pub(crate) const TIMESTAMP_BYTES: usize = 56;
/// Longest text of an interval.
pub(crate) const INTERVAL_BYTES: usize = 112;
/// Text of a UUID.
pub(crate) const UUID_BYTES: usize = 36;
/// The longest of all of these.
pub(crate) const VALUE_BYTES: usize = INTERVAL_BYTES;

fn put(text: &[u8], to: &mut [u8]) -> usize {
    to[..text.len()].copy_from_slice(text);
    text.len()
}

pub(crate) fn boolean(value: bool, to: &mut [u8]) -> usize {
    to[0] = if value { b't' } else { b'f' };
    1
}

pub(crate) fn integer_64(value: i64, to: &mut [u8]) -> usize {
    put(itoa::Buffer::new().format(value).as_bytes(), to)
}

pub(crate) fn integer_128(value: i128, to: &mut [u8]) -> usize {
    match i64::try_from(value) {
        Ok(small) => integer_64(small, to),
        Err(_) => put(itoa::Buffer::new().format(value).as_bytes(), to),
    }
}

/// Digits with a point before the last `scale` of them.
fn with_point(negative: bool, digits: &[u8], scale: usize, to: &mut [u8]) -> usize {
    let mut at = usize::from(negative);
    if negative {
        to[0] = b'-';
    }
    if scale == 0 {
        return at + put(digits, &mut to[at..]);
    }
    match digits.len().checked_sub(scale).filter(|whole| *whole > 0) {
        Some(whole) => {
            at += put(&digits[..whole], &mut to[at..]);
            to[at] = b'.';
            at + 1 + put(&digits[whole..], &mut to[at + 1..])
        }
        None => {
            let zeros = scale - digits.len();
            to[at..at + 2].copy_from_slice(b"0.");
            to[at + 2..at + 2 + zeros].fill(b'0');
            at + 2 + zeros + put(digits, &mut to[at + 2 + zeros..])
        }
    }
}

pub(crate) fn decimal_64(value: i64, scale: u8, to: &mut [u8]) -> usize {
    let mut buffer = itoa::Buffer::new();
    with_point(value < 0, buffer.format(value.unsigned_abs()).as_bytes(), scale.into(), to)
}

pub(crate) fn decimal_128(value: i128, scale: u8, to: &mut [u8]) -> usize {
    if let Ok(small) = i64::try_from(value) {
        return decimal_64(small, scale, to);
    }
    let mut buffer = itoa::Buffer::new();
    with_point(value < 0, buffer.format(value.unsigned_abs()).as_bytes(), scale.into(), to)
}

pub(crate) fn float_32(value: f32, to: &mut [u8]) -> usize {
    put(cast::FloatText::of_f32(value).as_bytes(), to)
}

pub(crate) fn float_64(value: f64, to: &mut [u8]) -> usize {
    put(cast::FloatText::of_f64(value).as_bytes(), to)
}

/// Two digits; `value` is below 100.
fn pair(value: u32, to: &mut [u8]) {
    to[0] = b'0' + (value / 10 % 10) as u8;
    to[1] = b'0' + (value % 10) as u8;
}

/// `YYYY-MM-DD`, and whether the year is one before Christ, which ` BC` behind everything says.
fn civil(days: i32, to: &mut [u8]) -> (usize, bool) {
    let date = datetime::civil_from_days(days);
    let before_christ = date.year <= 0;
    let year = if before_christ { 1 - date.year } else { date.year } as u32;
    let mut at = 4;
    if year < 10_000 {
        pair(year / 100, to);
        pair(year % 100, &mut to[2..]);
    } else {
        at = put(itoa::Buffer::new().format(year).as_bytes(), to);
    }
    to[at] = b'-';
    pair(date.month, &mut to[at + 1..]);
    to[at + 3] = b'-';
    pair(date.day, &mut to[at + 4..]);
    (at + 6, before_christ)
}

fn era(before_christ: bool, to: &mut [u8]) -> usize {
    if before_christ { put(b" BC", to) } else { 0 }
}

fn infinity(positive: bool, to: &mut [u8]) -> usize {
    put(if positive { b"infinity" } else { b"-infinity" }, to)
}

pub(crate) fn date(days: i32, to: &mut [u8]) -> usize {
    if matches!(days, i32::MAX | i32::MIN) {
        return infinity(days > 0, to);
    }
    let (at, before_christ) = civil(days, to);
    at + era(before_christ, &mut to[at..])
}

pub(crate) fn time(micros: i64, to: &mut [u8]) -> usize {
    let (seconds, fraction) = (micros / MICROS_PER_SECOND, (micros % MICROS_PER_SECOND) as u32);
    let hours = seconds / 3600;
    let mut at = 2;
    if hours < 100 {
        pair(hours as u32, to);
    } else {
        at = integer_64(hours, to);
    }
    to[at] = b':';
    pair((seconds / 60 % 60) as u32, &mut to[at + 1..]);
    to[at + 3] = b':';
    pair((seconds % 60) as u32, &mut to[at + 4..]);
    at += 6;
    if fraction == 0 {
        return at;
    }
    to[at] = b'.';
    pair(fraction / 10_000, &mut to[at + 1..]);
    pair(fraction / 100 % 100, &mut to[at + 3..]);
    pair(fraction % 100, &mut to[at + 5..]);
    at += 7;
    while to[at - 1] == b'0' {
        at -= 1;
    }
    at
}

/// An offset in seconds as `+02`, `+05:30` or `-00:19:32`.
fn offset(seconds: i32, to: &mut [u8]) -> usize {
    let size = seconds.unsigned_abs();
    to[0] = if seconds < 0 { b'-' } else { b'+' };
    pair(size / 3600, &mut to[1..]);
    let mut at = 3;
    if !size.is_multiple_of(3600) {
        to[at] = b':';
        pair(size / 60 % 60, &mut to[at + 1..]);
        at += 3;
    }
    if !size.is_multiple_of(60) {
        to[at] = b':';
        pair(size % 60, &mut to[at + 1..]);
        at += 3;
    }
    at
}

pub(crate) fn time_tz(packed: i64, to: &mut [u8]) -> usize {
    let value = TimeTz::of_packed(packed);
    let at = time(value.micros, to);
    at + offset(value.east, &mut to[at..])
}

/// A local moment, with the offset that a zone has there if one is given.
fn moment(local: i64, east: Option<i32>, to: &mut [u8]) -> usize {
    // 64 bits of microseconds are at most 107 million days.
    let (mut at, before_christ) = civil(local.div_euclid(MICROS_PER_DAY) as i32, to);
    to[at] = b' ';
    at += 1;
    at += time(local.rem_euclid(MICROS_PER_DAY), &mut to[at..]);
    if let Some(east) = east {
        at += offset(east, &mut to[at..]);
    }
    at + era(before_christ, &mut to[at..])
}

pub(crate) fn timestamp(micros: i64, to: &mut [u8]) -> usize {
    match datetime::is_infinite(micros) {
        true => infinity(micros > 0, to),
        false => moment(micros, None, to),
    }
}

pub(crate) fn timestamp_tz(instant: i64, zone: Zone, to: &mut [u8]) -> usize {
    match datetime::is_infinite(instant) {
        true => infinity(instant > 0, to),
        false => {
            let east = zone.offset_at(instant);
            let local = instant.checked_add(i64::from(east) * MICROS_PER_SECOND).unwrap_or(instant);
            moment(local, Some(east), to)
        }
    }
}

/// Bytes that are written from their beginning.
struct Slice<'a> {
    to: &'a mut [u8],
    at: usize,
}

impl Write for Slice<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.at + text.len();
        self.to.get_mut(self.at..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.at = end;
        Ok(())
    }
}

pub(crate) fn interval(value: Interval, to: &mut [u8]) -> usize {
    let mut slice = Slice { to, at: 0 };
    // INTERVAL_BYTES has room for the longest one.
    let written = write!(slice, "{value}");
    debug_assert!(written.is_ok());
    slice.at
}

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// Two hexadecimal digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8], to: &mut [u8]) -> usize {
    for (byte, digits) in bytes.iter().zip(to.chunks_exact_mut(2)) {
        digits[0] = HEXADECIMAL[usize::from(byte >> 4)];
        digits[1] = HEXADECIMAL[usize::from(byte & 15)];
    }
    bytes.len() * 2
}

pub(crate) fn uuid(value: i128, to: &mut [u8]) -> usize {
    let bytes = cast::uuid_to_bytes(value);
    let mut at = 0;
    for (from, end) in [(0, 4), (4, 6), (6, 8), (8, 10), (10, 16)] {
        if at > 0 {
            to[at] = b'-';
            at += 1;
        }
        at += hexadecimal(&bytes[from..end], &mut to[at..]);
    }
    at
}
