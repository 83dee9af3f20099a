//! Texts that grow: `repeat`, `lpad`, `rpad`, `replace`. Each result is written once, at its final length, since it
//! may be much longer than what it is made of.
//!
//! A length beyond what a text may have, or beyond the memory limit (`room`), is an error before anything is
//! allocated. `nested` finds them by name while a plan is compiled.

use memchr::memmem;
use types::{Error, Result, SqlState, Type};
use vector::{StringBuilder, Vector};

use super::{Kernel, bytes, whole};
use arrow_buffer::NullBufferBuilder;
use vector::Data;

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "repeat" => repeat,
        "lpad" => |inputs, ty, rows| pad(inputs, ty, rows, true),
        "rpad" => |inputs, ty, rows| pad(inputs, ty, rows, false),
        "replace" => replace,
        _ => return None,
    })
}

/// A text for each row; NULL where `write` gives `None`.
fn texts(
    ty: Type,
    rows: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Option<Result<()>>,
) -> Result<Vector> {
    let mut builder = StringBuilder::with_capacity(rows);
    let mut nulls = NullBufferBuilder::new(rows);
    let mut out = Vec::new();
    for row in 0..rows {
        out.clear();
        let valid = write(row, &mut out).transpose()?.is_some();
        nulls.append(valid);
        // A long text is taken as it is, not copied.
        if !valid {
            out.clear();
        }
        builder.push_owned(&mut out);
    }
    Ok(Vector::new(ty, Data::Bytes(builder.finish()), nulls.finish().filter(|n| n.null_count() > 0)))
}

/// Longest text, as PostgreSQL's: lengths are of 32 bits with a sign.
const TEXT_BYTES_MAX: usize = i32::MAX as usize;

fn too_long() -> Error {
    Error::new(SqlState::OutOfMemory, "requested length too large")
        .with_hint(format!("a text has at most {TEXT_BYTES_MAX} bytes"))
}

fn room(out: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if bytes > TEXT_BYTES_MAX {
        return Err(too_long());
    }
    out.reserve_exact(bytes);
    Ok(())
}

fn repeat(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    texts(ty, rows, |row, out| {
        let (text, count) = (bytes(&inputs[0], row)?, whole(&inputs[1], row)?);
        let count = if text.is_empty() { 0 } else { usize::try_from(count).unwrap_or(0) };
        if let Err(error) = room(out, text.len().saturating_mul(count)) {
            return Some(Err(error));
        }
        if let [byte] = text {
            out.resize(count, *byte);
        } else {
            (0..count).for_each(|_| out.extend_from_slice(text));
        }
        Some(Ok(()))
    })
}

/// Byte offset behind the first `count` characters.
fn behind(text: &[u8], count: usize) -> usize {
    let mut starts = text.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80).map(|(at, _)| at);
    starts.nth(count).unwrap_or(text.len())
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|b| **b & 0xC0 != 0x80).count()
}

/// To a number of characters: cut, or filled up from the third argument, which is a blank if not given.
fn pad(inputs: &[Vector], ty: Type, rows: usize, left: bool) -> Result<Vector> {
    texts(ty, rows, |row, out| {
        let (text, length) = (bytes(&inputs[0], row)?, whole(&inputs[1], row)?);
        let fill = match inputs.get(2) {
            Some(fill) => bytes(fill, row)?,
            None => b" ",
        };
        let length = usize::try_from(length).unwrap_or(0);
        let have = characters(text);
        if have >= length || fill.is_empty() {
            out.extend_from_slice(&text[..behind(text, length)]);
            return Some(Ok(()));
        }
        let missing = length - have;
        let of_fill = characters(fill).max(1);
        let rest = &fill[..behind(fill, missing % of_fill)];
        let filled = (missing / of_fill).saturating_mul(fill.len()) + rest.len();
        if let Err(error) = room(out, text.len().saturating_add(filled)) {
            return Some(Err(error));
        }
        let add = |out: &mut Vec<u8>| {
            (0..missing / of_fill).for_each(|_| out.extend_from_slice(fill));
            out.extend_from_slice(rest);
        };
        if left {
            add(out);
        }
        out.extend_from_slice(text);
        if !left {
            add(out);
        }
        Some(Ok(()))
    })
}

fn replace(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    texts(ty, rows, |row, out| {
        let (text, from, to) = (bytes(&inputs[0], row)?, bytes(&inputs[1], row)?, bytes(&inputs[2], row)?);
        if from.is_empty() {
            out.extend_from_slice(text);
            return Some(Ok(()));
        }
        let mut done = 0;
        for at in memmem::find_iter(text, from) {
            out.extend_from_slice(&text[done..at]);
            out.extend_from_slice(to);
            done = at + from.len();
            if out.len() > TEXT_BYTES_MAX {
                return Some(Err(too_long()));
            }
        }
        out.extend_from_slice(&text[done..]);
        Some(Ok(()))
    })
}

/// What `replace` makes of a row, exactly; its working memory may be twice that.
pub(crate) fn replaced_bytes(inputs: &[Vector], row: usize) -> u64 {
    let (Some(text), Some(from), Some(to)) =
        (bytes(&inputs[0], row), bytes(&inputs[1], row), bytes(&inputs[2], row))
    else {
        return 0;
    };
    let found = if from.is_empty() { 0 } else { memmem::find_iter(text, from).count() as u64 };
    (text.len() as u64 + found.saturating_mul(to.len() as u64)).saturating_mul(2)
}
