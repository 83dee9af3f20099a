//! The columns of JSON files: the keys of a sample's objects, in the order in which they come, and their types.
//!
//! The sample is the beginning of up to sixteen files and, where every line is a record, some places behind it. A key that
//! comes up only elsewhere is no column; `sample_size => -1` looks at all records, `columns` names them.

use plan::Rejects;
use plan::file::{RECORD_BYTES_MAX, TextOptions};
use types::stop::{self, Place, UnwindingPace};
use types::{Error, Field, Result, Schema, SqlState, Type, json};

use super::reader::{Walk, next_value};
use super::record::Malformed;
use super::shape::{DateForms, Shape};
use super::{FIRST_LINE_BYTES, Layout, WHOLE, layout_of};
use crate::Environment;
use crate::input::Input;
use crate::text::{Given, given_formats};

const FILES: usize = 16;
const HEAD_BYTES: u64 = 4 << 20;
const ALL_BYTES_MAX: u64 = 1 << 30;
const PLACE_BYTES: u64 = 64 << 10;
const PLACES: u64 = 16;

/// Schema and options of JSON files, from a sample of their records; with `table` the columns are the table's. An
/// error when no record of the sample can be read.
pub fn describe(
    environment: &Environment,
    paths: &[String],
    given: &Given,
    table: Option<&Schema>,
) -> Result<(Schema, TextOptions)> {
    let mut options = TextOptions {
        rejects: given.ignore_errors.then(Rejects::ignored),
        null_texts: vec![],
        formats: vec![],
        record_bytes_max: given.record_bytes_max.unwrap_or(2 * RECORD_BYTES_MAX),
        piece_bytes: given.piece_bytes,
        json_records: given.json_records,
        encoding: given.encoding,
        ..TextOptions::default()
    };
    let nullable = |fields: &mut dyn Iterator<Item = (String, Type)>| {
        Schema::new(fields.map(|(name, ty)| Field::new(name, ty, true)).collect())
    };
    let described = match table {
        Some(table) => Some(nullable(&mut table.fields().iter().map(|f| (f.name.clone(), f.ty)))),
        None if given.columns.is_empty() => None,
        None => Some(nullable(&mut given.columns.iter().cloned())),
    };
    if let Some(schema) = described {
        let whole = matches!(schema.fields(), [only] if only.name == WHOLE);
        options.header = Some(!whole);
        DateForms::of(given)?;
        options.formats = given_formats(&schema, given);
        return Ok((schema, options));
    }
    let forms = DateForms::of(given)?;
    let mut shape = Shape::default();
    let mut first = None;
    for path in paths.iter().take(given.files.unwrap_or(FILES)) {
        let input = Input::open_text(environment, path, given.encoding)?;
        if let Err(error) = look(&input, given, &forms, &mut shape) {
            first.get_or_insert(error);
        }
    }
    if let (true, Some(error)) = (shape.is_empty(), first) {
        return Err(error);
    }
    let fields = match &shape.object {
        Some(keys) if shape.is_object() && !keys.is_empty() => {
            keys.iter().map(|(name, shape)| Field::new(name, shape.column(&forms), true)).collect()
        }
        _ => {
            options.header = Some(false);
            // Without a record, as in the results of a day on which nothing happened, there are no rows.
            let ty = if shape.is_empty() { Type::Json } else { shape.ty() };
            vec![Field::new(WHOLE, ty, true)]
        }
    };
    options.found = vec![true; fields.len()];
    let schema = Schema::new(fields);
    options.formats = given_formats(&schema, given);
    Ok((schema, options))
}

fn look(input: &Input, given: &Given, forms: &DateForms, shape: &mut Shape) -> Result<()> {
    let (layout, begin) = layout_of(input, given.json_records, FIRST_LINE_BYTES)?;
    let head = match given.sample {
        Some(records) => records.saturating_mul(1024).clamp(HEAD_BYTES, ALL_BYTES_MAX),
        None => HEAD_BYTES,
    };
    let limit = given.sample.unwrap_or(u64::MAX);
    let mut data = Vec::new();
    input.append(begin, begin + head, &mut data)?;
    let mut more = begin + (data.len() as u64) < input.length;
    let mut seen = 0;
    match layout {
        Layout::Lines => {
            lines(&data, true, !more, limit, forms, shape);
            if let (true, false, Some(wrong)) = (shape.is_empty(), given.ignore_errors, first_fault(&data)) {
                return Err(no_json(input, &data, &wrong));
            }
        }
        Layout::Values => {
            let mut walk = Walk::default();
            while seen < limit {
                stop::check(Place::Sniff)?;
                match next_value(&data, &mut walk, more) {
                    Ok(Some(range)) => {
                        if let Some(value) = value_of(&data[range]) {
                            shape.add(value, forms);
                        }
                        seen += 1;
                    }
                    Ok(None) => break,
                    // The first record is longer than the sample, as in a file that is one object.
                    Err(wrong) if seen == 0 && wrong.cut && more && data.len() < 2 * RECORD_BYTES_MAX => {
                        let length = data.len() as u64;
                        input.append(begin + length, begin + 2 * length, &mut data)?;
                        more = begin + (data.len() as u64) < input.length;
                    }
                    Err(wrong) if seen == 0 && !wrong.cut => return Err(no_json(input, &data, &wrong)),
                    // What is wrong behind is said when it is read.
                    Err(_) => break,
                }
            }
        }
    }
    if layout == Layout::Lines && more && given.sample.is_none() {
        let rest = input.length.saturating_sub(begin + head + PLACE_BYTES);
        for place in 1..=PLACES {
            let from = begin + head + rest / PLACES * place;
            data.clear();
            input.append(from, from + PLACE_BYTES, &mut data)?;
            lines(&data, false, false, u64::MAX, forms, shape);
        }
    }
    Ok(())
}

/// What is wrong with the first line that is not blank; `None` when all are.
fn first_fault(data: &[u8]) -> Option<Malformed> {
    let begin = data.iter().position(|b| !b.is_ascii_whitespace())?;
    let line = data[begin..].split(|b| *b == b'\n').next().unwrap_or_default();
    let error = serde_json::from_slice::<serde::de::IgnoredAny>(line).err()?;
    let wrong = Malformed::new(line, &error);
    Some(Malformed { at: begin + wrong.at, ..wrong })
}

fn no_json(input: &Input, data: &[u8], wrong: &Malformed) -> Error {
    let text = crate::text::shown(data.get(wrong.at..).unwrap_or_default());
    let message = format!("\"{}\" is no JSON: {}, at: {text}", input.path, wrong.cause);
    Error::new(SqlState::BadCopyFormat, message)
}

/// Adds the whole lines of a piece.
fn lines(data: &[u8], from_start: bool, to_end: bool, limit: u64, forms: &DateForms, shape: &mut Shape) {
    let begin = if from_start { 0 } else { memchr::memchr(b'\n', data).map_or(data.len(), |at| at + 1) };
    let end = if to_end { data.len() } else { memchr::memrchr(b'\n', data).map_or(data.len(), |at| at + 1) };
    let text = data.get(begin..end).unwrap_or_default();
    let mut pace = UnwindingPace::new(Place::Sniff);
    for line in text.split(|b| *b == b'\n').take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        pace.unwind_if_stopped(64 + 4 * line.len());
        if let Some(value) = value_of(line) {
            shape.add(value, forms);
        }
    }
}

/// A record's text, where it is JSON.
fn value_of(record: &[u8]) -> Option<&str> {
    std::str::from_utf8(record).ok().map(str::trim).filter(|text| json::is_valid(text))
}
