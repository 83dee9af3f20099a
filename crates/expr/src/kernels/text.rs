//! Strings: LIKE, substring, case, length, concatenation, cutting to length.
//!
//! Characters are UTF-8; a test for ASCII, on the view where it holds the whole string, makes most rows bytes.
//! Results that are parts of their input are views into the same buffers.

use arrow_buffer::NullBuffer;
use types::{Error, LikePattern, Result, SqlState, Type};
use vector::strings::{INLINE_BYTES, make_view, view_length};
use vector::{Data, StringBuilder, Strings, Vector};

use super::{cast, compare};
use crate::bits;
use crate::operand::{Native, Operand, Text};

/// The high bits of the twelve bytes that a view holds after its length.
const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;

/// True when the view holds the whole string and it is ASCII.
#[inline(always)]
fn inline_ascii(view: u128) -> bool {
    view_length(view) <= INLINE_BYTES && view & HIGH_BITS == 0
}

/// Whether each row's text matches LIKE; bits of NULL rows are arbitrary.
pub(crate) fn like(
    input: &Vector,
    pattern: &LikePattern,
    negated: bool,
    case_insensitive: bool,
    rows: usize,
) -> arrow_buffer::BooleanBuffer {
    let text = Text::of(input);
    if case_insensitive {
        let mut lowered = Vec::new();
        return bits::from_rows(rows, |row| {
            lowered.clear();
            push_case(text.at(row), false, &mut lowered);
            pattern.matches(&lowered) != negated
        });
    }
    let prefix = pattern.prefix();
    if let (Text::Flat(strings), true) = (&text, !prefix.is_empty()) {
        // The view turns most rows away: its first bytes are not the pattern's.
        let first = &prefix[..prefix.len().min(4)];
        let mask = u128::from(u32::MAX >> (32 - 8 * first.len())) << 32;
        let wanted = make_view(first, 0, 0) & mask;
        let views = strings.views();
        return bits::from_rows(rows, |row| {
            (views[row] & mask == wanted && pattern.matches(strings.get(row))) != negated
        });
    }
    bits::from_rows(rows, |row| pattern.matches(text.at(row)) != negated)
}

/// A view of bytes `start..end` of row `row`, over the buffers of `strings`.
#[inline]
fn part(strings: &Strings, row: usize, start: usize, end: usize) -> u128 {
    let view = strings.views()[row];
    let bytes = &strings.get(row)[start..end];
    make_view(bytes, (view >> 64) as u32, ((view >> 96) as u32).wrapping_add(start as u32))
}

/// Byte offset of the character after `count` characters; the end when there are fewer.
#[inline]
fn skip_characters(bytes: &[u8], count: usize) -> usize {
    // While the first `count` bytes are ASCII, characters are bytes.
    if bytes[..count.min(bytes.len())].is_ascii() {
        return count.min(bytes.len());
    }
    let starts = bytes.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80).map(|(at, _)| at);
    starts.clone().nth(count).unwrap_or(bytes.len())
}

/// `substring(text from start [for length])`; positions before the first character count, but give nothing.
pub(crate) fn substring(
    inputs: &[Vector],
    ty: Type,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Result<Vector> {
    let start = i64::operand(&inputs[1]);
    let length = inputs.get(2).map(i64::operand);
    if let Some(length) = &length {
        // A constant is looked at once, and is an error only if some row has a text.
        let is_suspect = !matches!(length, Operand::Constant(length) if *length >= 0);
        if is_suspect && crate::operand::any_valid(validity.as_ref(), rows, |row| length.at(row) < 0) {
            return Err(Error::new(SqlState::InvalidParameterValue, "negative substring length not allowed"));
        }
    }
    let by_bytes = ty == Type::Bytea;
    let range = |bytes: &[u8], row: usize| {
        let start = start.at(row);
        let first = usize::try_from(start.max(1) - 1).unwrap_or(0);
        let count = match &length {
            None => usize::MAX,
            Some(length) => usize::try_from(start.saturating_add(length.at(row)).max(1) - 1)
                .unwrap_or(0)
                .saturating_sub(first),
        };
        if by_bytes {
            let from = first.min(bytes.len());
            return (from, from + count.min(bytes.len() - from));
        }
        let from = skip_characters(bytes, first);
        (from, from + skip_characters(&bytes[from..], count))
    };
    let constant = constant_range(&start, length.as_ref());
    let strings = match Text::of(&inputs[0]) {
        Text::Flat(strings) => {
            let views: Vec<u128> = (0..rows)
                .map(|row| {
                    let view = strings.views()[row];
                    if let Some((first, count)) = constant
                        && let Some(part) = view_part(view, first, count)
                    {
                        return part;
                    }
                    let (from, to) = range(strings.get(row), row);
                    part(strings, row, from, to)
                })
                .collect();
            Strings::from_trusted(views.into(), strings.buffers().clone())
        }
        Text::Constant(bytes) => {
            let mut builder = StringBuilder::with_capacity(rows);
            for row in 0..rows {
                let (from, to) = range(bytes, row);
                builder.push(&bytes[from..to]);
            }
            builder.finish()
        }
    };
    Ok(Vector::new(ty, Data::Bytes(strings), validity))
}

/// First character, from 0, and count of a constant substring that can lie inside a view.
fn constant_range(start: &Operand<'_, i64>, length: Option<&Operand<'_, i64>>) -> Option<(u32, u32)> {
    let (Operand::Constant(start), Some(Operand::Constant(length))) = (start, length) else { return None };
    let first = start.max(&1) - 1;
    let count = start.saturating_add(*length).max(1) - 1 - first;
    let (first, count) = (u32::try_from(first).ok()?, u32::try_from(count.max(0)).ok()?);
    (first + count <= INLINE_BYTES as u32).then_some((first, count))
}

/// The view of `count` characters from `first`, when the view alone tells: these bytes and those before them are in
/// it and are ASCII.
#[inline(always)]
fn view_part(view: u128, first: u32, count: u32) -> Option<u128> {
    let length = view_length(view);
    let held = if length <= INLINE_BYTES { INLINE_BYTES as u32 } else { 4 };
    let seen = (1u128 << (8 * (first + count))) - 1;
    let text = view >> 32;
    if first + count > held || text & seen & (HIGH_BITS >> 32) != 0 {
        return None;
    }
    let kept = (length as u32).saturating_sub(first).min(count);
    Some(((text & seen) >> (8 * first)) << 32 | u128::from(kept))
}

/// An explicit cast to a text type: cut to its length; CHAR(n) loses its trailing blanks.
pub(crate) fn truncate(input: &Vector, ty: Type) -> Vector {
    let (limit, trim) = match ty {
        Type::Varchar(n) => (n as usize, false),
        Type::Char(n) => (n as usize, true),
        _ => return input.clone().with_type(ty),
    };
    let Some(strings) = compare::strings(input) else { return input.clone().with_type(ty) };
    let long = strings.views().iter().fold(0, |long, view| long.max(view_length(*view))) > limit;
    let padded = trim && strings.iter().any(|bytes| bytes.ends_with(b" "));
    if !long && !padded {
        return input.clone().with_type(ty);
    }
    let views: Vec<u128> = (0..strings.len())
        .map(|row| {
            let bytes = strings.get(row);
            let mut end = skip_characters(bytes, limit);
            while trim && end > 0 && bytes[end - 1] == b' ' {
                end -= 1;
            }
            part(strings, row, 0, end)
        })
        .collect();
    let strings = Strings::from_trusted(views.into(), strings.buffers().clone());
    Vector::new(ty, Data::Bytes(strings), input.validity().cloned())
}

/// Appends `bytes` in lower or upper case.
fn push_case(bytes: &[u8], upper: bool, out: &mut Vec<u8>) {
    if bytes.is_ascii() {
        let from = out.len();
        out.extend_from_slice(bytes);
        let added = &mut out[from..];
        if upper {
            added.make_ascii_uppercase()
        } else {
            added.make_ascii_lowercase()
        }
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let changed = if upper { text.to_uppercase() } else { text.to_lowercase() };
    out.extend_from_slice(changed.as_bytes());
}

/// Changes the case of an ASCII string inside its view, all bytes at once: a byte from the first to the last letter
/// gets its high bit set by one of two additions, not by both, and that bit becomes the bit that tells the cases.
#[inline(always)]
fn view_case(view: u128, first: u8, last: u8) -> u128 {
    const ONES: u128 = 0x0101_0101_0101_0101_0101_0101 << 32;
    let text = view & !0xFFFF_FFFF;
    let from_first = text + ONES * u128::from(0x80 - first);
    let past_last = text + ONES * u128::from(0x80 - last - 1);
    view ^ ((from_first ^ past_last) & HIGH_BITS) >> 2
}

/// Each row's text in upper or lower case. A batch of short ASCII texts is changed in its views alone.
pub(crate) fn change_case(
    input: &Vector,
    ty: Type,
    upper: bool,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Vector {
    let text = Text::of(input);
    if let Text::Flat(strings) = &text
        && strings.views().iter().all(|view| inline_ascii(*view))
    {
        let (first, last) = if upper { (b'a', b'z') } else { (b'A', b'Z') };
        let views: Vec<u128> = strings.views().iter().map(|view| view_case(*view, first, last)).collect();
        let strings = Strings::from_trusted(views.into(), strings.buffers().clone());
        return Vector::new(ty, Data::Bytes(strings), validity);
    }
    let mut builder = StringBuilder::with_capacity(rows);
    let mut changed = Vec::new();
    for row in 0..rows {
        changed.clear();
        push_case(text.at(row), upper, &mut changed);
        builder.push(&changed);
    }
    Vector::new(ty, Data::Bytes(builder.finish()), validity)
}

/// In characters; of BYTEA, in bytes.
pub(crate) fn character_length(
    input: &Vector,
    ty: Type,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Result<Vector> {
    let by_bytes = input.ty() == Type::Bytea;
    let count = |bytes: &[u8]| bytes.iter().filter(|b| **b & 0xC0 != 0x80).count() as i64;
    let lengths: Vec<i64> = match Text::of(input) {
        Text::Flat(strings) => {
            let whole = |view: u128| by_bytes || inline_ascii(view);
            let each = strings.views().iter().enumerate();
            each.map(
                |(row, view)| {
                    if whole(*view) { view_length(*view) as i64 } else { count(strings.get(row)) }
                },
            )
            .collect()
        }
        Text::Constant(bytes) => vec![if by_bytes { bytes.len() as i64 } else { count(bytes) }; rows],
    };
    let whole = Vector::new(Type::BigInt, Data::I64(lengths.into()), validity);
    if ty == Type::BigInt { Ok(whole) } else { cast::cast(&whole, ty, false) }
}

/// The texts of each row, one behind the other.
pub(crate) fn concatenate(inputs: &[Vector], ty: Type, validity: Option<NullBuffer>, rows: usize) -> Vector {
    let texts: Vec<Text<'_>> = inputs.iter().map(Text::of).collect();
    let mut builder = StringBuilder::with_capacity(rows);
    let mut joined = Vec::new();
    for row in 0..rows {
        joined.clear();
        for text in &texts {
            joined.extend_from_slice(text.at(row));
        }
        builder.push(&joined);
    }
    Vector::new(ty, Data::Bytes(builder.finish()), validity)
}
