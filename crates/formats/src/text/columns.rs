//! From fields to typed vectors, a column at a time.
//!
//! The common spellings of integers, decimals, dates, timestamps and strings have loops of their own; everything else
//! goes through `types::cast::parse_text`, which also defines what the loops must give.

use std::cell::RefCell;

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use types::{Error, Physical, Type, Value, cast, datetime, digits, json};
use vector::{Data, StringBuilder, Vector};

use super::dialect::{Dialect, Forms, Pattern};
use super::guess::fits;
use super::split::Span;

/// The fields of some records: `width` spans a record.
pub struct Fields<'a> {
    /// The bytes that the spans point into.
    pub data: &'a [u8],
    /// The fields of all records, record by record.
    pub spans: &'a [Span],
    /// Spans of a record.
    pub width: usize,
    /// How escapes in quoted fields are undone.
    pub dialect: &'a Dialect,
    /// The texts that stand for NULL and the signs of numbers.
    pub forms: &'a Forms,
    /// The form of the column's dates, where it is not ISO's.
    pub pattern: Option<&'a Pattern>,
    /// All of `data` is known to be UTF-8.
    pub valid: bool,
    /// The column's type was found in a sample: a text that it would change is a bad value.
    pub found: bool,
    /// Nested values are written as JSON.
    pub json: bool,
    /// Where bad values are kept, NULL standing in for them; without it the first one ends the column.
    pub bad: Option<&'a RefCell<Vec<BadValue>>>,
}

/// A value that cannot be read, with its row.
#[derive(Debug)]
pub struct BadValue {
    /// The row's number among the records of the `Fields`.
    pub row: usize,
    /// Why the text is no value of the type.
    pub error: Error,
}

/// The raw bytes that the loops take as they stand.
fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

const POWERS: [i64; 19] = {
    let mut table = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// Whether a number begins with zeros or a plus, which a type would lose.
#[inline(always)]
fn padded(text: &[u8]) -> bool {
    match text {
        [b'0', next, ..] | [b'-', b'0', next, ..] => next.is_ascii_digit(),
        [first, ..] => *first == b'+',
        [] => false,
    }
}

/// Unscaled value of plain digits with at most `scale` of them behind the point.
fn fixed(text: &[u8], precision: u8, scale: u8) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    if digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    let mut behind = None;
    let mut any = false;
    for (at, byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + i64::from(digit);
            any = true;
        } else if *byte == b'.' && behind.is_none() {
            behind = Some(digits.len() - at - 1);
        } else {
            return None;
        }
    }
    let missing = usize::from(scale).checked_sub(behind.unwrap_or(0))?;
    let value = value.checked_mul(*POWERS.get(missing)?)?;
    (any && value < *POWERS.get(usize::from(precision))?).then_some(if negative { -value } else { value })
}

fn two(text: &[u8]) -> Option<u32> {
    let (a, b) = (text[0].wrapping_sub(b'0'), text[1].wrapping_sub(b'0'));
    (a <= 9 && b <= 9).then(|| u32::from(a) * 10 + u32::from(b))
}

/// `yyyy-mm-dd`.
fn date(text: &[u8]) -> Option<i32> {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let year = (two(&text[..2])? * 100 + two(&text[2..4])?) as i32;
    let (month, day) = (two(&text[5..7])?, two(&text[8..10])?);
    let valid =
        year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= datetime::days_in_month(year, month);
    valid.then(|| datetime::days_from_civil(year, month, day))
}

/// `yyyy-mm-dd hh:mm:ss`, perhaps with up to six digits of a second's fraction.
fn timestamp(text: &[u8]) -> Option<i64> {
    if text.len() < 19 || !matches!(text[10], b' ' | b'T') || text[13] != b':' || text[16] != b':' {
        return None;
    }
    let days = date(&text[..10])?;
    let (hour, minute, second) = (two(&text[11..13])?, two(&text[14..16])?, two(&text[17..19])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = match &text[19..] {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) && digits[0] != b'-' => {
            integer(digits)? * POWERS[6 - digits.len()]
        }
        _ => return None,
    };
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Some(i64::from(days) * datetime::MICROS_PER_DAY + seconds * datetime::MICROS_PER_SECOND + fraction)
}

impl Fields<'_> {
    fn rows(&self) -> usize {
        self.spans.len() / self.width.max(1)
    }

    fn is_null(&self, span: Span, text: bool) -> bool {
        if span.missing() {
            return true;
        }
        let bytes = span.bytes(self.data);
        // What is quoted is a value, and so is nothing at all of a text; of no other type is it one.
        if bytes.is_empty() && !text {
            return true;
        }
        !span.quoted() && self.forms.null_texts.iter().any(|t| t == bytes)
    }

    /// Whether a bad value is kept; else the error comes back.
    fn kept(&self, bad: BadValue) -> Result<(), BadValue> {
        match self.bad {
            Some(all) => {
                all.borrow_mut().push(bad);
                Ok(())
            }
            None => Err(bad),
        }
    }

    /// The vector of the fields in `slot` as `ty`.
    pub fn column(&self, slot: usize, ty: Type) -> Result<Vector, BadValue> {
        match (ty.physical(), ty) {
            (Physical::Bytes, _) => self.strings(slot, ty),
            (Physical::Bool, _) => self.booleans(slot, ty),
            (Physical::I16, _) => {
                let (low, high) = ty.integer_range().unwrap_or((0, 0));
                let (values, nulls) = self.values(
                    slot,
                    ty,
                    |t| {
                        integer(t)
                            .and_then(|v| i16::try_from(v).ok())
                            .filter(|v| (low..=high).contains(&i128::from(*v)))
                    },
                    |v| i16::try_from(v.as_i64()?).ok(),
                )?;
                Ok(Vector::new(ty, Data::I16(values.into()), nulls))
            }
            (Physical::I32, _) => {
                let slow = |v: &Value| i32::try_from(v.as_i64()?).ok();
                let (values, nulls) = match ty {
                    Type::Date => self.values(slot, ty, date, slow)?,
                    Type::Integer => {
                        self.values(slot, ty, |t| integer(t).and_then(|v| i32::try_from(v).ok()), slow)?
                    }
                    Type::USmallInt => {
                        let fast = |t: &[u8]| integer(t).and_then(|v| u16::try_from(v).ok()).map(i32::from);
                        self.values(slot, ty, fast, slow)?
                    }
                    _ => self.values(slot, ty, |_| None, slow)?,
                };
                Ok(Vector::new(ty, Data::I32(values.into()), nulls))
            }
            (Physical::I64, _) => {
                let slow = Value::as_i64;
                let (values, nulls) = match ty {
                    Type::BigInt => self.values(slot, ty, integer, slow)?,
                    Type::UInteger => {
                        let fast = |t: &[u8]| integer(t).filter(|v| u32::try_from(*v).is_ok());
                        self.values(slot, ty, fast, slow)?
                    }
                    Type::Decimal { precision, scale } => {
                        self.values(slot, ty, |t| fixed(t, precision, scale), slow)?
                    }
                    Type::Timestamp => self.values(slot, ty, timestamp, slow)?,
                    _ => self.values(slot, ty, |_| None, slow)?,
                };
                Ok(Vector::new(ty, Data::I64(values.into()), nulls))
            }
            (Physical::I128, _) => {
                let fast = |text: &[u8]| match ty {
                    Type::Decimal { scale, .. } => {
                        // Eighteen digits fit every precision of this width.
                        fixed(text, decimal_digits_in_64(), scale).map(i128::from)
                    }
                    Type::HugeInt => integer(text).map(i128::from),
                    Type::UBigInt => integer(text).filter(|v| *v >= 0).map(i128::from),
                    _ => None,
                };
                let (values, nulls) = self.values(slot, ty, fast, Value::as_i128)?;
                Ok(Vector::new(ty, Data::I128(values.into()), nulls))
            }
            (Physical::F32, _) => {
                let fast = |t: &[u8]| float(t).map(|v| v as f32).filter(|v| v.is_finite());
                let (values, nulls) = self.values(slot, ty, fast, |v| v.as_f64().map(|v| v as f32))?;
                Ok(Vector::new(ty, Data::F32(values.into()), nulls))
            }
            (Physical::F64, _) => {
                // Most numbers are short, and doubles keep fifteen digits.
                let held = |text: &[u8], value: f64| {
                    !self.found
                        || (text.len() <= 15 && value.abs() >= f64::MIN_POSITIVE)
                        || std::str::from_utf8(text).is_ok_and(|text| digits::held_by(text, value))
                };
                let fast = |text: &[u8]| float(text).filter(|value| held(text, *value));
                let (values, nulls) = self.values(slot, ty, fast, Value::as_f64)?;
                Ok(Vector::new(ty, Data::F64(values.into()), nulls))
            }
        }
    }

    /// The text of a value that no loop took.
    fn parse(&self, span: Span, row: usize, ty: Type) -> Result<Value, BadValue> {
        let mut scratch = Vec::new();
        let text = self.text(span, row, &mut scratch)?;
        if let Some(pattern) = self.pattern_of(ty) {
            let value = match ty {
                Type::Date => pattern.date(text).map(Value::I32),
                _ => pattern.timestamp(text, self.forms.zone_of(ty)).map(Value::I64),
            };
            return value.ok_or_else(|| {
                let message = format!("it is not of the form {}", pattern.text);
                BadValue { row, error: Error::new(types::SqlState::InvalidDatetimeFormat, message) }
            });
        }
        if self.json && ty.is_nested() {
            let value = match self.found {
                true => json::to_value_exactly(text, ty),
                false => json::to_value(text, ty, false),
            };
            return value.map_err(|error| BadValue { row, error });
        }
        if ty.is_numeric() && !self.forms.plain_numbers() {
            let number = self.forms.number(text);
            self.unchanged(&number, row, ty)?;
            return cast::parse_text(&number, ty).map_err(|error| BadValue { row, error });
        }
        let value = self.forms.parse(text, ty).map_err(|error| BadValue { row, error })?;
        self.unchanged(text, row, ty)?;
        Ok(value)
    }

    /// Whether a type that was found by looking at other values keeps what the text says.
    fn unchanged(&self, text: &str, row: usize, ty: Type) -> Result<(), BadValue> {
        if !self.found || fits(text, ty) {
            return Ok(());
        }
        let message = "the values looked at have this type, which would change the text of this one";
        let error = Error::new(types::SqlState::InvalidTextRepresentation, message).with_hint(match self.json {
            true => "look at all records: sample_size => -1; or say the types: columns => {'name': 'TEXT', ...}",
            false => {
                "look at all records: sample_size => -1; or say the type, as in types => {'name': 'TEXT'} in read_csv"
            }
        });
        Err(BadValue { row, error })
    }

    fn pattern_of(&self, ty: Type) -> Option<&Pattern> {
        self.pattern.filter(|_| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz))
    }

    /// Whether the loops read values of the type as they are meant.
    fn loops(&self, ty: Type) -> bool {
        self.pattern_of(ty).is_none() && (self.forms.plain_numbers() || !ty.is_numeric())
    }

    fn text<'s>(&'s self, span: Span, row: usize, scratch: &'s mut Vec<u8>) -> Result<&'s str, BadValue> {
        std::str::from_utf8(span.unescaped(self.data, self.dialect, scratch))
            .map_err(|_| BadValue { row, error: not_utf8() })
    }

    #[inline(always)]
    fn values<T: Copy + Default>(
        &self,
        slot: usize,
        ty: Type,
        fast: impl Fn(&[u8]) -> Option<T>,
        slow: impl Fn(&Value) -> Option<T>,
    ) -> Result<(Vec<T>, Option<arrow_buffer::NullBuffer>), BadValue> {
        let rows = self.rows();
        let mut values = Vec::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        let loops = self.loops(ty);
        // What the loops read of other types stays as it is written.
        let checked = self.found && ty.is_numeric();
        let empty_is_null = self.forms.empty_is_null();
        for (row, span) in self.spans[slot..].iter().step_by(self.width).enumerate() {
            let bytes = span.bytes(self.data);
            let found = match loops && !span.escaped() && !(checked && padded(bytes)) {
                true => fast(bytes),
                false => None,
            };
            if let Some(value) = found
                && (empty_is_null || !self.is_null(*span, false))
            {
                values.push(value);
                nulls.append_non_null();
                continue;
            }
            let parsed = match self.is_null(*span, false) {
                true => None,
                false => {
                    let value = self.parse(*span, row, ty).and_then(|value| {
                        let beyond = || BadValue { row, error: Error::out_of_range(&ty) };
                        slow(&value).ok_or_else(beyond)
                    });
                    match value {
                        Ok(value) => Some(value),
                        Err(bad) => {
                            self.kept(bad)?;
                            None
                        }
                    }
                }
            };
            values.push(parsed.unwrap_or_default());
            nulls.append(parsed.is_some());
        }
        Ok((values, nulls.finish()))
    }

    fn booleans(&self, slot: usize, ty: Type) -> Result<Vector, BadValue> {
        let rows = self.rows();
        let mut values = BooleanBufferBuilder::new(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        for (row, span) in self.spans[slot..].iter().step_by(self.width).enumerate() {
            let value = match span.bytes(self.data) {
                _ if self.is_null(*span, false) => None,
                b"true" | b"t" => Some(true),
                b"false" | b"f" => Some(false),
                _ => match self.parse(*span, row, ty) {
                    Ok(value) => value.as_bool(),
                    Err(bad) => {
                        self.kept(bad)?;
                        None
                    }
                },
            };
            values.append(value.unwrap_or_default());
            nulls.append(value.is_some());
        }
        Ok(Vector::new(ty, Data::Bool(values.finish()), nulls.finish()))
    }

    fn strings(&self, slot: usize, ty: Type) -> Result<Vector, BadValue> {
        let rows = self.rows();
        let mut values = StringBuilder::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        let mut scratch = Vec::new();
        for (row, span) in self.spans[slot..].iter().step_by(self.width).enumerate() {
            if self.is_null(*span, true) {
                values.push(b"");
                nulls.append_null();
                continue;
            }
            let bytes = span.unescaped(self.data, self.dialect, &mut scratch);
            if !self.valid && std::str::from_utf8(bytes).is_err() {
                self.kept(BadValue { row, error: not_utf8() })?;
                values.push(b"");
                nulls.append_null();
                continue;
            }
            let plain = match ty {
                Type::Text => true,
                Type::Varchar(n) => bytes.len() <= n as usize,
                Type::Char(n) => bytes.len() <= n as usize && bytes.last() != Some(&b' '),
                _ => false,
            };
            if plain {
                values.push(bytes);
                nulls.append_non_null();
                continue;
            }
            match self.parse(*span, row, ty) {
                Ok(value) => {
                    values.push(value.as_bytes().unwrap_or_default());
                    nulls.append_non_null();
                }
                Err(bad) => {
                    self.kept(bad)?;
                    values.push(b"");
                    nulls.append_null();
                }
            }
        }
        Ok(Vector::new(ty, Data::Bytes(values.finish()), nulls.finish()))
    }
}

fn decimal_digits_in_64() -> u8 {
    types::logical::DECIMAL_64_PRECISION_MAX
}

/// Plain digits, point, sign and exponent; words such as NaN, and what is beyond the type, go the long way.
fn float(text: &[u8]) -> Option<f64> {
    if text.iter().any(|b| !matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|v: &f64| v.is_finite())
}

fn not_utf8() -> Error {
    Error::new(types::SqlState::InvalidTextRepresentation, "the text is not UTF-8")
        .with_hint(
            "say how the file is written, as in encoding => 'latin-1' in read_csv, or convert it by iconv -t UTF-8",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loops agree with the definition wherever they answer.
    #[test]
    fn loops_agree_with_the_definition() {
        let texts = [
            "0",
            "-0",
            "7",
            "-12",
            "+5",
            "007",
            "123456789012345678",
            "1234567890123456789",
            "1.5",
            ".5",
            "5.",
            "-.25",
            "1.255",
            "99999",
            "99999.99",
            "1e3",
            "1e400",
            "-",
            ".",
            "",
            "2020-02-29",
            "2021-02-29",
            "0001-01-01",
            "0000-01-01",
            "2020-13-01",
            "2020-1-2",
            "2020-02-03 04:05:06",
            "2020-02-03T23:59:59.5",
            "2020-02-03 24:00:00",
            "2020-02-03 04:05:06.123456",
            "2020-02-03 04:05:06.1234567",
            "2020-02-03 04:05:06.-1",
            "2020-02-03 04:05:60",
        ];
        for text in texts {
            let definition = |ty| cast::parse_text(text, ty).ok();
            if let Some(v) = integer(text.as_bytes()) {
                assert_eq!(definition(Type::BigInt), Some(Value::I64(v)), "{text}");
            }
            let ty = Type::Decimal { precision: 7, scale: 2 };
            if let Some(v) = fixed(text.as_bytes(), 7, 2) {
                assert_eq!(definition(ty), Some(Value::I64(v)), "{text}");
            }
            if let Some(v) = date(text.as_bytes()) {
                assert_eq!(definition(Type::Date), Some(Value::I32(v)), "{text}");
            }
            if let Some(v) = timestamp(text.as_bytes()) {
                assert_eq!(definition(Type::Timestamp), Some(Value::I64(v)), "{text}");
            }
            if let Some(v) = float(text.as_bytes()) {
                assert_eq!(definition(Type::Double), Some(Value::F64(v)), "{text}");
            }
        }
        assert_eq!(fixed(b"99999.99", 7, 2), Some(9_999_999));
        assert_eq!(fixed(b"123456.78", 7, 2), None);
        assert!(types::decimal::fits(9_999_999, 7));
    }
}
