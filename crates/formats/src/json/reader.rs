//! JSON files as a reader: units are ranges of lines, or whole files.
//!
//! A file whose records are lines is cut into byte ranges, and a unit has the lines that begin in its range; a file
//! of arrays or of values over several lines is one unit. Each unit finds the records in its bytes (`next_value`, or
//! line by line), takes the spans of the wanted keys (`record`), and reads them as the fields of a CSV file are read.
//! A record that cannot be read ends the scan with its place, or is noted and left out where the source has rejects;
//! then every column is read, whichever are wanted.

use std::cell::RefCell;
use std::ops::Range;

use plan::FileSource;
use types::{Error, Field, Result, SqlState};
use vector::Batch;

use super::record::{Keys, Malformed};
use super::{FIRST_LINE_BYTES, Layout, layout_of};
use crate::input::Input;
use crate::rejects::{RejectKind, Rejecting};
use crate::text::{
    BadValue, Dialect, Fields, Forms, Lines, Place, Rejected, Span, bad_value, range_bytes, shown,
    value_cause,
};
use crate::{Decoded, Environment, Reader, RejectLogs, Window};

/// What is read more of a line that goes on behind its range.
const EXTENSION_BYTES: u64 = 1 << 20;

struct JsonFile {
    input: Input,
    lines: Lines,
    layout: Layout,
    begin: u64,
    range: u64,
    first_unit: u64,
    units: u64,
}

/// The reader of JSON files.
pub struct JsonFiles {
    files: Vec<JsonFile>,
    units: u64,
    fields: Vec<Field>,
    /// Distinct columns wanted, ascending, and the columns to deliver as positions among them.
    slots: Vec<usize>,
    order: Vec<usize>,
    keys: Keys,
    forms: Forms,
    rejects: Option<Rejecting>,
    record_bytes_max: usize,
    batch_rows: usize,
}

impl JsonFiles {
    /// Opens the files and finds their layouts; `columns` are positions in the source's schema.
    pub fn open(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        logs: &RejectLogs,
    ) -> Result<Self> {
        let mut files = Self::with_range(environment, source, columns, batch_rows, None)?;
        files.rejects = source.text.rejects.as_ref().map(|rejects| Rejecting::of(rejects, logs));
        Ok(files)
    }

    /// As `open`, with ranges of so many bytes and no logs.
    pub(crate) fn with_range(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        range: Option<u64>,
    ) -> Result<Self> {
        let mut files = Vec::with_capacity(source.paths.len());
        let mut units = 0;
        for path in source.paths.iter() {
            let input = Input::open_text(environment, path, source.text.encoding)?;
            let first_line = range.unwrap_or(FIRST_LINE_BYTES);
            let (layout, begin) = layout_of(&input, source.text.json_records, first_line)?;
            let length = input.length - begin;
            let range = range.unwrap_or_else(|| range_bytes(&source.text, length));
            let own = match layout {
                Layout::Lines => length.div_ceil(range),
                Layout::Values => length.min(1),
            };
            let lines = Lines::of(&input, b'\n');
            files.push(JsonFile { input, lines, layout, begin, range, first_unit: units, units: own });
            units += own;
        }
        let fields = source.schema.fields().to_vec();
        let mut slots = columns.to_vec();
        if source.text.rejects.is_some() {
            // Which records are rejected must not depend on the columns that the query uses.
            slots.extend(0..fields.len());
        }
        slots.sort_unstable();
        slots.dedup();
        let order = columns.iter().map(|c| slots.partition_point(|s| s < c)).collect();
        let names = slots.iter().map(|s| fields[*s].name.clone()).collect();
        let of_json = |slot: &usize| fields[*slot].ty.is_json() || fields[*slot].ty.is_nested();
        let raw = slots.iter().map(of_json).collect();
        // A key may be called as the column of whole records is.
        let whole = source.text.header == Some(false);
        Ok(JsonFiles {
            files,
            units,
            keys: Keys::new(names, raw, whole),
            fields,
            slots,
            order,
            forms: Forms::of(&source.text)?,
            rejects: source.text.rejects.as_ref().map(|r| Rejecting::of(r, &RejectLogs::new())),
            record_bytes_max: source.text.record_bytes_max,
            batch_rows: batch_rows.max(1),
        })
    }

    fn read_lines(
        &self,
        file: &JsonFile,
        range: u64,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        // From the byte before, which may be the line end that makes the first byte a beginning.
        let from = file.begin + (range * file.range).saturating_sub(u64::from(range > 0));
        let own_end = (file.begin + (range + 1) * file.range).min(file.input.length);
        let mut data = Vec::new();
        file.input.append(from, own_end, &mut data)?;
        let start = match range {
            0 => Some(0),
            _ => memchr::memchr(b'\n', &data).map(|at| at + 1),
        };
        let own = data.len();
        let Some(start) = start.filter(|s| *s < own) else { return Ok(()) };
        let mut read_to = own_end;
        let mut searched = own - 1;
        let end = loop {
            if let Some(at) = memchr::memchr(b'\n', &data[searched..]) {
                break searched + at + 1;
            }
            searched = data.len();
            if read_to >= file.input.length || data.len() > own + self.record_bytes_max {
                break data.len();
            }
            let next_to = (read_to + EXTENSION_BYTES.min(file.range)).min(file.input.length);
            file.input.append(read_to, next_to, &mut data)?;
            read_to = next_to;
        };
        data.truncate(end);
        let mut position = start;
        let place = Place::new(&file.input, &file.lines);
        let mut next = |data: &[u8]| {
            while position < end {
                let rest = &data[position..end];
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let line = position..position + length;
                position += length + 1;
                if !data[line.clone()].iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(line));
                }
            }
            Ok(None)
        };
        self.batches(&place, from, &mut data, &mut next, push)?;
        Ok(())
    }

    fn read_whole(&self, file: &JsonFile, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        let mut from = file.begin;
        let mut bytes = file.range;
        let mut walk = Walk::default();
        let mut data = Vec::new();
        loop {
            data.clear();
            file.input.append(from, from + bytes, &mut data)?;
            let more = from + (data.len() as u64) < file.input.length && data.len() <= self.record_bytes_max;
            let place = Place::new(&file.input, &file.lines);
            walk.position = 0;
            let mut next = |data: &[u8]| match next_value(data, &mut walk, more) {
                Err(wrong) if wrong.cut && more => Ok(None),
                other => other,
            };
            if !self.batches(&place, from, &mut data, &mut next, push)? {
                return Ok(());
            }
            if !more {
                return Ok(());
            }
            if walk.position == 0 {
                bytes *= 2;
            } else {
                from += walk.position as u64;
                bytes = file.range;
            }
        }
    }

    /// Hands on the records that `next` finds; false when `push` asks for no more.
    fn batches(
        &self,
        place: &Place<'_>,
        base: u64,
        data: &mut Vec<u8>,
        next: &mut dyn FnMut(&[u8]) -> std::result::Result<Option<Range<usize>>, Malformed>,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let own = data.len();
        let mut side = Vec::new();
        let mut spans = Vec::with_capacity(self.slots.len() * self.batch_rows);
        let mut begins = Vec::with_capacity(self.batch_rows);
        loop {
            spans.clear();
            side.clear();
            begins.clear();
            let mut pending = None;
            let mut ended = false;
            while begins.len() < self.batch_rows {
                let range = match next(data) {
                    Ok(Some(range)) => range,
                    Ok(None) => {
                        ended = true;
                        break;
                    }
                    Err(wrong) => {
                        // What follows a fault between values cannot be told apart.
                        ended = true;
                        let at = wrong.at;
                        if !self.reject(place, base, data, 0, &wrong) {
                            pending = Some((at, wrong));
                        }
                        break;
                    }
                };
                let first = spans.len();
                let text = &data[range.clone()];
                let read = match text.len() > self.record_bytes_max {
                    true => Err(self.too_long(text.len())),
                    false => self.keys.read(data, text, &mut side, &mut spans),
                };
                match read {
                    Ok(()) => begins.push(range.start),
                    Err(wrong) => {
                        spans.truncate(first);
                        if !self.reject(place, base, data, range.start, &wrong) {
                            pending = Some((range.start + wrong.at, wrong));
                            break;
                        }
                    }
                }
            }
            data.extend_from_slice(&side);
            if !begins.is_empty() && !push(self.batch(place, base, data, own, &spans, &begins)?)? {
                return Ok(false);
            }
            data.truncate(own);
            if let Some((at, wrong)) = pending {
                let (line, text) = place.line_of(base + at as u64);
                let column = (base + at as u64).saturating_sub(line) + 1;
                let text = shown(&text);
                let cause = format!("character {column}: {}, in: {text}", wrong.cause);
                return Err(place.error(SqlState::BadCopyFormat, base + at as u64, None, &cause).with_hint(
                    "ignore_errors => true leaves such records out, store_rejects => true notes them",
                ));
            }
            if ended {
                return Ok(true);
            }
        }
    }

    fn too_long(&self, bytes: usize) -> Malformed {
        let cause =
            format!("a record of {bytes} bytes, where maximum_object_size allows {}", self.record_bytes_max);
        Malformed { at: 0, cause, cut: false }
    }

    /// Notes a record that cannot be read; false when it is an error.
    fn reject(&self, place: &Place<'_>, base: u64, data: &[u8], begin: usize, wrong: &Malformed) -> bool {
        let Some(rejects) = &self.rejects else { return false };
        let text = data[begin..].split(|b| *b == b'\n').next().unwrap_or_default();
        let (at, line_at) = (base + (begin + wrong.at) as u64, base + begin as u64);
        let (kind, cause) = (RejectKind::Malformed, wrong.cause.clone());
        place.reject(rejects, Rejected { at, line_at, column: None, kind, text, cause });
        true
    }

    fn batch(
        &self,
        place: &Place<'_>,
        base: u64,
        data: &[u8],
        own: usize,
        spans: &[Span],
        begins: &[usize],
    ) -> Result<Batch> {
        let (width, rows) = (self.slots.len(), begins.len());
        let dialect = Dialect::simple(0, None);
        let bad = RefCell::new(Vec::new());
        let mut all: Vec<(usize, usize, BadValue)> = Vec::new();
        let mut vectors = Vec::with_capacity(width);
        for (slot, column) in self.slots.iter().enumerate() {
            let fields = Fields {
                data,
                spans,
                width,
                dialect: &dialect,
                forms: &self.forms,
                pattern: self.forms.pattern(*column),
                valid: true,
                json: true,
                found: self.forms.found(*column),
                bad: Some(&bad),
            };
            if let Ok(vector) = fields.column(slot, self.fields[*column].ty) {
                vectors.push(vector);
            }
            all.extend(bad.take().into_iter().map(|value| (value.row, slot, value)));
        }
        if vectors.len() < width {
            return Err(Error::internal("a column of a JSON file was not read"));
        }
        let batch = Batch::new(self.order.iter().map(|slot| vectors[*slot].clone()).collect(), rows);
        if all.is_empty() {
            return Ok(batch);
        }
        all.sort_by_key(|(row, slot, _)| (*row, *slot));
        let mut keep = vec![true; rows];
        for (row, slot, value) in &all {
            let (span, field) = (spans[row * width + slot], &self.fields[self.slots[*slot]]);
            // A text with escapes does not lie in the file.
            let at = if span.start() < own { span.start() } else { begins[*row] };
            let text = span.bytes(data);
            let Some(rejects) = &self.rejects else {
                return Err(bad_value(place, base + at as u64, text, field, &value.error, false));
            };
            keep[*row] = false;
            let record = data[begins[*row]..own].split(|b| *b == b'\n').next().unwrap_or_default();
            let cause = value_cause(text, field, &value.error);
            let (at, line_at) = (base + at as u64, base + begins[*row] as u64);
            let (column, kind) = (Some((self.slots[*slot], Some(field.name.as_str()))), RejectKind::Cast);
            place.reject(rejects, Rejected { at, line_at, column, kind, text: record, cause });
        }
        let rows: Vec<u32> = (0..rows as u32).filter(|row| keep[*row as usize]).collect();
        Ok(batch.gather(&rows))
    }
}

/// The state of a walk over values that follow each other, perhaps in an array.
#[derive(Default)]
pub struct Walk {
    /// The offset in the data at which the walk goes on.
    pub position: usize,
    inside: bool,
    /// A value has been read of the array.
    begun: bool,
}

/// The place of the next record's text, and `None` when there is none; with `more`, one that ends with the data is cut.
pub fn next_value(
    data: &[u8],
    walk: &mut Walk,
    more: bool,
) -> std::result::Result<Option<Range<usize>>, Malformed> {
    let cut = |at: usize| Malformed { at, cause: "the array does not end".to_owned(), cut: true };
    let blank = |at: usize| at + data[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = blank(walk.position);
    loop {
        match (data.get(at), walk.inside) {
            (None, false) => {
                walk.position = at;
                return Ok(None);
            }
            (None, true) => return Err(cut(at.saturating_sub(1))),
            (Some(b'['), false) => {
                (walk.inside, walk.begun) = (true, false);
                walk.position = at + 1;
            }
            (Some(b']'), true) => {
                walk.inside = false;
                walk.position = at + 1;
            }
            (Some(b','), true) if walk.begun => {
                let next = blank(at + 1);
                if next >= data.len() {
                    return Err(cut(at));
                }
                if data[next] == b']' || data[next] == b',' {
                    return Err(Malformed { at: next, cause: "expected value".to_owned(), cut: false });
                }
                at = next;
                break;
            }
            (Some(_), true) if walk.begun => {
                return Err(Malformed { at, cause: "expected `,` or `]`".to_owned(), cut: false });
            }
            _ => break,
        }
        at = blank(walk.position);
    }
    let text = &data[at..];
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let end = at + values.byte_offset();
            // A number may go on, and what stands in an array is followed by something.
            if more && end >= data.len() {
                return Err(Malformed { at, cause: String::new(), cut: true });
            }
            walk.position = end;
            walk.begun = true;
            Ok(Some(at..end))
        }
        Some(Err(error)) => {
            let wrong = Malformed::new(text, &error);
            Err(Malformed { at: at + wrong.at, ..wrong })
        }
        None => Ok(None),
    }
}

impl Reader for JsonFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let push: &mut dyn FnMut(Batch) -> Result<bool> = &mut |batch| visit(&mut Decoded(batch));
        let at = self.files.partition_point(|f| f.first_unit + f.units <= unit);
        let Some(file) = self.files.get(at) else { return Ok(()) };
        match file.layout {
            Layout::Lines => self.read_lines(file, unit - file.first_unit, push),
            Layout::Values => self.read_whole(file, push),
        }
    }
}
