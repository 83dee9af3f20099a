//! Binary forms of values, as PostgreSQL's send functions write them: big-endian numbers, days and microseconds counted
//! from 2000-01-01.
//!
//! ```text
//! NUMERIC   | digits i16 | weight i16 | sign i16 | scale i16 | digit i16 ... |    digits of base 10000; the weight is the
//!                                                                              power of 10000 of the first one
//! INTERVAL  | microseconds i64 | days i32 | months i32 |
//! TIMETZ    | microseconds i64 | seconds west i32 |
//! BIT       | bits i32 | eight bits a byte, the first one highest |
//! JSONB     | 1 | text |
//! ```
//! Every function writes at the beginning of `to` and gives how many bytes it wrote, or [`NO_FORM`] for a value that
//! PostgreSQL's form has no place for.

use types::decimal;
use types::interval::Interval;
use types::time_tz::TimeTz;

/// What is given instead of a length for a value without a form.
pub(crate) const NO_FORM: usize = usize::MAX;
/// Days from 1970-01-01 to 2000-01-01, from which PostgreSQL counts.
pub(crate) const CENTURY_DAYS: i32 = 10_957;
/// The same in microseconds.
pub(crate) const CENTURY_MICROS: i64 = CENTURY_DAYS as i64 * types::datetime::MICROS_PER_DAY;
/// The version that begins the binary form of JSONB.
pub(crate) const JSONB_VERSION: u8 = 1;
/// The sign of a NUMERIC below zero.
pub(crate) const NUMERIC_NEGATIVE: u16 = 0x4000;

fn put<const N: usize>(bytes: [u8; N], to: &mut [u8]) -> usize {
    to[..N].copy_from_slice(&bytes);
    N
}

pub(crate) fn boolean(value: bool, to: &mut [u8]) -> usize {
    put([u8::from(value)], to)
}
pub(crate) fn int_16(value: i16, to: &mut [u8]) -> usize {
    put(value.to_be_bytes(), to)
}
pub(crate) fn int_32(value: i32, to: &mut [u8]) -> usize {
    put(value.to_be_bytes(), to)
}
pub(crate) fn int_64(value: i64, to: &mut [u8]) -> usize {
    put(value.to_be_bytes(), to)
}
pub(crate) fn float_32(value: f32, to: &mut [u8]) -> usize {
    put(value.to_be_bytes(), to)
}
pub(crate) fn float_64(value: f64, to: &mut [u8]) -> usize {
    put(value.to_be_bytes(), to)
}
pub(crate) fn uuid(value: i128, to: &mut [u8]) -> usize {
    put(types::cast::uuid_to_bytes(value), to)
}

pub(crate) fn date(days: i32, to: &mut [u8]) -> usize {
    match days {
        // Infinite dates are the same ends of 32 bits in PostgreSQL.
        i32::MAX | i32::MIN => int_32(days, to),
        days => match days.checked_sub(CENTURY_DAYS).filter(|days| *days != i32::MIN) {
            Some(days) => int_32(days, to),
            None => NO_FORM,
        },
    }
}

pub(crate) fn timestamp(micros: i64, to: &mut [u8]) -> usize {
    match micros {
        i64::MAX | i64::MIN => int_64(micros, to),
        micros => match micros.checked_sub(CENTURY_MICROS).filter(|micros| *micros != i64::MIN) {
            Some(micros) => int_64(micros, to),
            None => NO_FORM,
        },
    }
}

pub(crate) fn time_tz(packed: i64, to: &mut [u8]) -> usize {
    let value = TimeTz::of_packed(packed);
    int_64(value.micros, to) + int_32(-value.east, &mut to[8..])
}

pub(crate) fn interval(value: Interval, to: &mut [u8]) -> usize {
    int_64(value.micros, to);
    int_32(value.days, &mut to[8..]);
    12 + int_32(value.months, &mut to[12..])
}

/// Writes the groups that are not zero at either end, the highest first; `weight` is that of the first group.
fn numeric(groups: &[u16], mut weight: i16, negative: bool, scale: u8, to: &mut [u8]) -> usize {
    let mut groups = groups;
    while let [0, rest @ ..] = groups {
        groups = rest;
        weight -= 1;
    }
    while let [rest @ .., 0] = groups {
        groups = rest;
    }
    if groups.is_empty() {
        weight = 0;
    }
    let sign = if negative && !groups.is_empty() { NUMERIC_NEGATIVE } else { 0 };
    let head = [groups.len() as u16, weight as u16, sign, u16::from(scale)];
    let mut at = 0;
    for number in head.iter().chain(groups) {
        at += put(number.to_be_bytes(), &mut to[at..]);
    }
    at
}

/// How a DECIMAL's digits become groups of four around its point.
#[derive(Clone, Copy)]
pub(crate) struct NumericForm {
    scale: u8,
    unit: i128,
    /// Completes the last group behind the point.
    filler: u128,
    fraction_groups: u8,
}

impl NumericForm {
    pub(crate) fn new(scale: u8) -> NumericForm {
        let fraction_groups = scale.div_ceil(4);
        NumericForm {
            scale,
            unit: decimal::power_of_ten(scale),
            filler: decimal::power_of_ten(fraction_groups * 4 - scale).unsigned_abs(),
            fraction_groups,
        }
    }

    pub(crate) fn write_64(self, value: i64, to: &mut [u8]) -> usize {
        // Four groups behind the point are below 2^64.
        let behind = usize::from(self.fraction_groups);
        if behind > 4 {
            return self.write_128(value.into(), to);
        }
        let (unit, filler) = (self.unit as u64, self.filler as u64);
        let size = value.unsigned_abs();
        let (mut whole, mut fraction) = (size / unit, size % unit * filler);
        let mut groups = [0u16; 9];
        let mut at = 5;
        while whole > 0 {
            at -= 1;
            groups[at] = (whole % 10_000) as u16;
            whole /= 10_000;
        }
        for place in (5..5 + behind).rev() {
            groups[place] = (fraction % 10_000) as u16;
            fraction /= 10_000;
        }
        let weight = 4 - at as i16;
        numeric(&groups[at..5 + behind], weight, value < 0, self.scale, to)
    }

    pub(crate) fn write_128(self, value: i128, to: &mut [u8]) -> usize {
        let size = value.unsigned_abs();
        let (mut whole, mut fraction) = (size / self.unit.unsigned_abs(), size % self.unit.unsigned_abs());
        let mut groups = [0u16; 20];
        let mut at = 10;
        while whole > 0 {
            at -= 1;
            groups[at] = (whole % 10_000) as u16;
            whole /= 10_000;
        }
        let behind = usize::from(self.fraction_groups);
        // The last group is completed by itself: a fraction of 38 digits leaves no room to multiply.
        let filler = self.filler;
        let in_last = 10_000 / filler;
        for place in (10..10 + behind).rev() {
            let (unit, times) = if place == 9 + behind { (in_last, filler) } else { (10_000, 1) };
            groups[place] = (fraction % unit * times) as u16;
            fraction /= unit;
        }
        let weight = 9 - at as i16;
        numeric(&groups[at..10 + behind], weight, value < 0, self.scale, to)
    }
}

/// Appends a whole number of any size, given as its digits with its sign, as a NUMERIC.
pub(crate) fn push_whole_number(shown: &str, out: &mut Vec<u8>) {
    let (negative, digits) = shown.strip_prefix('-').map_or((false, shown), |digits| (true, digits));
    let first = (digits.len() + 3) % 4 + 1;
    let mut groups = vec![0u16; digits.len().div_ceil(4)];
    for (at, digit) in digits.bytes().enumerate() {
        let group = &mut groups[(at + 4 - first) / 4];
        *group = *group * 10 + u16::from(digit - b'0');
    }
    let weight = groups.len() as i16 - 1;
    // Zeros at the end are not sent; the number zero has no group.
    let kept = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
    let weight = if kept == 0 { 0 } else { weight };
    let sign = if negative { NUMERIC_NEGATIVE } else { 0 };
    for part in [kept as i16 as u16, weight as u16, sign, 0] {
        out.extend_from_slice(&part.to_be_bytes());
    }
    groups[..kept].iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
}

/// Bytes of the binary form of so many bits.
pub(crate) fn bits_bytes(bits: usize) -> usize {
    4 + bits.div_ceil(8)
}

/// Writes a string of bits, which is held as its digits.
pub(crate) fn bits(digits: &[u8], to: &mut [u8]) -> usize {
    let mut at = int_32(digits.len() as i32, to);
    for eight in digits.chunks(8) {
        let byte = eight.iter().fold(0u8, |byte, digit| byte << 1 | (digit & 1));
        to[at] = byte << (8 - eight.len());
        at += 1;
    }
    at
}
