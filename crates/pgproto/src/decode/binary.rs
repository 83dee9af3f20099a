//! Values from their binary forms; see `crate::binary` for the layouts.
//!
//! Bytes are a client's: a length that does not fit, a field out of range or bytes left over is SQLSTATE 22P03.
//! Called for parameters of Bind (`decode`) and for rows of a binary COPY.

use types::datetime::{self, MICROS_PER_DAY};
use types::interval::Interval;
use types::nested::encoding;
use types::time_tz::TimeTz;
use types::{Error, Result, SqlState, Type, Value, cast, decimal, enums, json, jsonb, system_type};

use super::{json_text, text_of, too_many_digits, wrong_binary};
use crate::binary::{CENTURY_DAYS, CENTURY_MICROS, JSONB_VERSION, NUMERIC_NEGATIVE};
use crate::oid::{self, TextEnums};
use crate::reader::Reader;
use crate::value::DIMENSIONS_MAX;

/// Reads a value in the form of what the type is sent as.
pub(super) fn value(bytes: &[u8], ty: Type) -> Result<Value> {
    let wrong = || wrong_binary(&ty.sql_name());
    Ok(match ty {
        Type::Boolean => Value::Bool(fixed::<1>(bytes, ty)?[0] != 0),
        Type::TinyInt | Type::UTinyInt | Type::SmallInt => {
            integer(i16::from_be_bytes(fixed(bytes, ty)?).into(), ty)?
        }
        Type::USmallInt | Type::Integer => integer(i32::from_be_bytes(fixed(bytes, ty)?).into(), ty)?,
        Type::UInteger | Type::BigInt => integer(i64::from_be_bytes(fixed(bytes, ty)?).into(), ty)?,
        Type::UBigInt | Type::HugeInt => integer(Numeric::read(bytes)?.rounded(0)?, ty)?,
        Type::UHugeInt | Type::BigNum => cast::parse_text(&Numeric::read(bytes)?.whole_digits()?, ty)?,
        Type::TimeNs => {
            let micros = Value::I64(clock(i64::from_be_bytes(fixed(bytes, ty)?))?);
            cast::cast_value(&micros, Type::Time, ty)?
        }
        Type::Real => Value::F32(f32::from_be_bytes(fixed(bytes, ty)?)),
        Type::Double => Value::F64(f64::from_be_bytes(fixed(bytes, ty)?)),
        Type::Decimal { precision, scale } => {
            let unscaled = Numeric::read(bytes)?.rounded(scale)?;
            match Value::from_i128(unscaled, ty.physical()) {
                Some(value) if decimal::fits(unscaled, precision) => value,
                _ => return Err(overflow(ty)),
            }
        }
        ty if ty.is_oid() => Value::I64(u32::from_be_bytes(fixed(bytes, ty)?).into()),
        // Only the number is sent: what it names is the catalog's to say.
        ty if ty.is_reg() => {
            let oid = u32::from_be_bytes(fixed(bytes, ty)?);
            system_type::reg_value(oid, &oid.to_string())
        }
        Type::System(_) | Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => {
            cast::fit_text(text_of(bytes)?, ty)?
        }
        Type::Null => Value::text(text_of(bytes)?),
        Type::Date => Value::I32(date(i32::from_be_bytes(fixed(bytes, ty)?))?),
        Type::Time => Value::I64(clock(i64::from_be_bytes(fixed(bytes, ty)?))?),
        Type::TimeTz => {
            let mut body = exactly::<12>(bytes, ty)?;
            time_tz(body.i64()?, body.i32()?)?
        }
        Type::Timestamp | Type::TimestampTz => Value::I64(timestamp(i64::from_be_bytes(fixed(bytes, ty)?))?),
        Type::TimestampS | Type::TimestampMs | Type::TimestampNs | Type::TimestampTzNs => {
            let micros = Value::I64(timestamp(i64::from_be_bytes(fixed(bytes, ty)?))?);
            cast::cast_value(&micros, ty.in_microseconds(), ty)?
        }
        Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime => {
            let mut body = exactly::<16>(bytes, ty)?;
            let (micros, days, months) = (body.i64()?, body.i32()?, body.i32()?);
            Interval::new(months, days, micros).restricted_to(ty)?
        }
        Type::Bytea => Value::Bytes(bytes.into()),
        Type::Bit(_) | Type::VarBit(_) => types::bits::fitted(&bits(bytes).ok_or_else(wrong)?, ty)?,
        Type::Uuid => Value::I128(cast::uuid_from_bytes(fixed(bytes, ty)?)),
        Type::Json => json::checked(text_of(bytes)?)?,
        Type::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => jsonb::canonical(text_of(text)?)?,
            Some((other, _)) => {
                let message = format!("unsupported jsonb version number {other}");
                return Err(Error::new(SqlState::InvalidBinaryRepresentation, message));
            }
            None => return Err(wrong()),
        },
        Type::Enum(_) => {
            let label = text_of(bytes)?;
            match enums::value_of(label, ty) {
                Some(value) => value,
                None => return cast::parse_text(label, ty),
            }
        }
        Type::List(_) => array(bytes, ty)?,
        Type::Struct(_) | Type::Map(_) | Type::Union(_) => json_text(text_of(bytes)?, ty)?,
    })
}

/// The narrowest DECIMAL that holds the number as it is written.
pub(super) fn numeric_type(bytes: &[u8]) -> Result<Type> {
    let numeric = Numeric::read(bytes)?;
    let scale = u8::try_from(numeric.scale).ok().filter(|scale| *scale <= 38).ok_or_else(too_many_digits)?;
    let unscaled = numeric.rounded(scale)?.unsigned_abs();
    let digits = (1..39).find(|digits| unscaled < decimal::power_of_ten(*digits).unsigned_abs());
    let precision = u32::from(digits.ok_or_else(too_many_digits)?);
    Type::decimal(precision.max(u32::from(scale)), scale.into()).ok_or_else(too_many_digits)
}

fn fixed<const N: usize>(bytes: &[u8], ty: Type) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| wrong_binary(&ty.sql_name()))
}

fn exactly<const N: usize>(bytes: &[u8], ty: Type) -> Result<Reader<'_>> {
    if bytes.len() == N { Ok(Reader::new(bytes)) } else { Err(wrong_binary(&ty.sql_name())) }
}

fn integer(value: i128, ty: Type) -> Result<Value> {
    Value::of_integer(value, ty).ok_or_else(|| Error::value_out_of_range(value, ty))
}

fn overflow(ty: Type) -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "numeric field overflow")
        .with_detail(format!("the value does not fit {ty}"))
}

fn beyond(what: &str) -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, format!("{what} out of range"))
}

pub(super) fn date(days: i32) -> Result<i32> {
    if matches!(days, i32::MAX | i32::MIN) {
        return Ok(days);
    }
    let day = i64::from(days) + i64::from(CENTURY_DAYS);
    match (datetime::DATE_MIN..=datetime::DATE_MAX).contains(&day) {
        true => i32::try_from(day).map_err(|_| beyond("date")),
        false => Err(beyond("date")),
    }
}

pub(super) fn timestamp(micros: i64) -> Result<i64> {
    if datetime::is_infinite(micros) {
        return Ok(micros);
    }
    let moved = micros.checked_add(CENTURY_MICROS).and_then(datetime::finite);
    // Years before 4714 BC have no calendar in PostgreSQL, either.
    let known = moved.filter(|micros| micros.div_euclid(MICROS_PER_DAY) >= datetime::DATE_MIN);
    known.ok_or_else(|| beyond("timestamp"))
}

pub(super) fn clock(micros: i64) -> Result<i64> {
    if (0..=MICROS_PER_DAY).contains(&micros) { Ok(micros) } else { Err(beyond("time")) }
}

fn time_tz(micros: i64, west: i32) -> Result<Value> {
    if west.unsigned_abs() >= 16 * 3600 {
        let message = "time zone displacement out of range";
        return Err(Error::new(SqlState::DatetimeFieldOverflow, message));
    }
    Ok(TimeTz { micros: clock(micros)?, east: -west }.value())
}

fn bits(bytes: &[u8]) -> Option<String> {
    let (head, body) = bytes.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_be_bytes(*head)).ok()?;
    if body.len() != count.div_ceil(8) {
        return None;
    }
    let digit = |at: usize| if body[at / 8] >> (7 - at % 8) & 1 == 1 { '1' } else { '0' };
    Some((0..count).map(digit).collect())
}

/// A NUMERIC taken apart.
struct Numeric<'a> {
    groups: Reader<'a>,
    count: usize,
    weight: i16,
    negative: bool,
    scale: u16,
}

impl<'a> Numeric<'a> {
    fn read(bytes: &'a [u8]) -> Result<Numeric<'a>> {
        let wrong = || wrong_binary("numeric");
        if bytes.len() < 8 {
            return Err(wrong());
        }
        let mut body = Reader::new(bytes);
        let (count, weight, sign, scale) =
            (body.count()?, body.i16()?, body.i16()? as u16, body.i16()? as u16);
        if matches!(sign, 0xC000 | 0xD000 | 0xF000) {
            let message = "DECIMAL has no place for NaN and infinities";
            return Err(Error::new(SqlState::NumericValueOutOfRange, message)
                .with_hint("double precision holds them"));
        }
        if !matches!(sign, 0 | NUMERIC_NEGATIVE) || scale > 0x3FFF || body.left() != count * 2 {
            return Err(wrong());
        }
        Ok(Numeric { groups: body, count, weight, negative: sign == NUMERIC_NEGATIVE, scale })
    }

    /// The digits of the number with its sign, and those behind the point.
    fn whole_digits(mut self) -> Result<String> {
        let mut shown = String::from(if self.negative { "-0" } else { "0" });
        let before = i32::from(self.weight) + 1;
        if before <= 0 {
            shown.push('.');
            shown.push_str(&"0000".repeat(before.unsigned_abs() as usize));
        }
        for at in 0..self.count {
            let group = self.groups.i16()?;
            if !(0..10_000).contains(&group) {
                return Err(wrong_binary("numeric"));
            }
            shown.push_str(&format!("{group:04}"));
            if at as i32 + 1 == before {
                shown.push('.');
            }
        }
        let behind = before - self.count as i32;
        shown.push_str(&"0000".repeat(usize::try_from(behind).unwrap_or(0)));
        Ok(shown)
    }

    /// The number times ten to the power of `scale`, a half rounded away from zero.
    fn rounded(mut self, scale: u8) -> Result<i128> {
        let mut sum: i128 = 0;
        // The power of ten of the last digit of each group, counted from the digit that is kept last.
        let mut power = (i32::from(self.weight) + 1) * 4 + i32::from(scale);
        for _ in 0..self.count {
            let group = i128::from(self.groups.i16()?);
            if !(0..10_000).contains(&group) {
                return Err(wrong_binary("numeric"));
            }
            power -= 4;
            let added = match power {
                0.. if group == 0 => Some(0),
                0..=38 => group.checked_mul(decimal::power_of_ten(power as u8)),
                39.. => None,
                // The digits behind the last one that is kept decide by the first of them: a half and more goes up.
                -4..0 => {
                    Some(decimal::divide_rounded(group, decimal::power_of_ten(power.unsigned_abs() as u8)))
                }
                _ => Some(0),
            };
            // Summed up below zero, where there is one number more.
            sum = added.and_then(|added| sum.checked_sub(added)).ok_or_else(too_many_digits)?;
        }
        if self.negative { Ok(sum) } else { sum.checked_neg().ok_or_else(too_many_digits) }
    }
}

/// What stands before the elements of an array.
struct ArrayHead {
    element: u32,
    lengths: Vec<usize>,
    total: usize,
}

fn array_head(body: &mut Reader<'_>) -> Result<ArrayHead> {
    let wrong = || wrong_binary("array");
    let short = |_| wrong_binary("array");
    let dimensions = usize::try_from(body.i32().map_err(short)?).map_err(|_| wrong())?;
    let flags = body.i32().map_err(short)?;
    let element = body.u32().map_err(short)?;
    if dimensions > DIMENSIONS_MAX {
        let message = format!(
            "number of array dimensions ({dimensions}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        );
        return Err(Error::new(SqlState::StatementTooComplex, message));
    }
    if !matches!(flags, 0 | 1) {
        return Err(wrong());
    }
    let mut lengths = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        lengths.push(usize::try_from(body.i32().map_err(short)?).map_err(|_| wrong())?);
        // The lower bound: a list counts from 1 always.
        body.i32().map_err(short)?;
    }
    let total = lengths.iter().try_fold(1usize, |total, length| total.checked_mul(*length));
    let total = if lengths.is_empty() { Some(0) } else { total };
    // An element has four bytes at least, so that lengths are never believed beyond what has come.
    match total.filter(|total| *total <= body.left() / 4) {
        Some(total) => Ok(ArrayHead { element, lengths, total }),
        None => Err(wrong()),
    }
}

/// How many dimensions an array has, and the elements that are not NULL.
pub(super) fn array_items(bytes: &[u8]) -> Result<(usize, Vec<&[u8]>)> {
    let mut body = Reader::new(bytes);
    let head = array_head(&mut body)?;
    let mut items = Vec::new();
    for _ in 0..head.total {
        items.extend(body.value().map_err(|_| wrong_binary("array"))?);
    }
    Ok((head.lengths.len(), items))
}

fn array(bytes: &[u8], ty: Type) -> Result<Value> {
    let short = |_| wrong_binary("array");
    let (element, levels) = oid::innermost(ty);
    let mut body = Reader::new(bytes);
    let head = array_head(&mut body)?;
    let (found, expected) = (head.element, oid::describe(element, &TextEnums).oid);
    let is_text = |oid: u32| matches!(oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME);
    let alike = found == expected
        || (is_text(found) && is_text(expected))
        || (matches!(found, oid::BIT | oid::VARBIT) && matches!(expected, oid::BIT | oid::VARBIT))
        || matches!(element, Type::Enum(_));
    if !alike {
        let message = format!("binary data has array element type {found} instead of expected {expected}");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    let mut out = Vec::new();
    if head.total == 0 {
        body.end().map_err(short)?;
        out.push(encoding::END);
        return Ok(Value::Bytes(out.into()));
    }
    if head.lengths.len() != levels {
        let message = format!("an array of {} dimensions is no value of type {ty}", head.lengths.len());
        return Err(Error::new(SqlState::ArraySubscript, message));
    }
    elements(&mut body, ty, &head.lengths, &mut out)?;
    body.end().map_err(short)?;
    Ok(Value::Bytes(out.into()))
}

/// Appends the payload of a list; its recursion is bounded by the number of dimensions.
fn elements(body: &mut Reader<'_>, ty: Type, lengths: &[usize], out: &mut Vec<u8>) -> Result<()> {
    let element = ty.element().unwrap_or(Type::Null);
    let (length, inner) = lengths.split_first().map_or((0, lengths), |(length, inner)| (*length, inner));
    for _ in 0..length {
        if !inner.is_empty() {
            out.push(encoding::VALUE);
            elements(body, element, inner, out)?;
            continue;
        }
        match body.value().map_err(|_| wrong_binary("array"))? {
            None => out.push(encoding::NULL),
            Some(bytes) => encoding::push_slot(&value(bytes, element)?, element, out),
        }
    }
    out.push(encoding::END);
    Ok(())
}
