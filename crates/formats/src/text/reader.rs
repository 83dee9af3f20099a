//! Text files read in parallel: a unit is the records that begin in one byte range.
//!
//! Where a range's first record begins depends on whether the range starts inside quotes, that is, on the number of
//! quotes before it. Units are claimed in order, so most of those counts are known when a unit begins; what is missing
//! is counted by whoever needs it, and nobody waits.

use std::sync::atomic::{AtomicU8, Ordering};

use plan::FileSource;
use types::{Error, Field, Result, SqlState};
use vector::Batch;

use super::columns::{BadValue, Fields};
use super::dialect::{Dialect, dialect_of};
use super::split::{Fault, Records, Span, append_marks, next_record};
use crate::input::Input;
use crate::{Decoded, Reader, Window};

const RANGE_BYTES_MIN: u64 = 1 << 20;
const RANGE_BYTES_MAX: u64 = 4 << 20;
/// A record may not be longer: whatever is, is an unclosed quote, and reading on would take all memory.
const RECORD_BYTES_MAX: usize = 32 << 20;
const EXTENSION_BYTES: u64 = 64 << 10;

/// Parities, as they are kept in atomics.
const UNKNOWN: u8 = 0;
const EVEN: u8 = 1;
const ODD: u8 = 2;

struct TextFile {
    input: Input,
    /// Where the text begins: behind a byte order mark.
    begin: u64,
    range: u64,
    /// Of the quotes between `begin` and the byte before range `i`.
    before: Vec<AtomicU8>,
    /// Of the quotes in range `i`, moved by one byte likewise.
    within: Vec<AtomicU8>,
    /// Units of the files before this one.
    first_unit: u64,
}

impl TextFile {
    /// Range `i` is scanned from the byte before it, which may be the line end that makes its first byte a beginning.
    fn scan_from(&self, range: u64) -> u64 {
        self.begin + (range * self.range).saturating_sub(u64::from(range > 0))
    }
    fn units(&self) -> u64 {
        self.within.len() as u64
    }
}

pub struct TextFiles {
    files: Vec<TextFile>,
    units: u64,
    dialect: Dialect,
    header: bool,
    null_text: Vec<u8>,
    fields: Vec<Field>,
    /// Distinct columns wanted, ascending.
    slots: Vec<usize>,
    /// The columns to deliver, as positions in `slots`.
    order: Vec<usize>,
    batch_rows: usize,
}

impl TextFiles {
    pub fn open(source: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Self> {
        Self::with_range(source, columns, batch_rows, None)
    }

    /// As `open`, with ranges of so many bytes.
    pub(crate) fn with_range(
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        range: Option<u64>,
    ) -> Result<Self> {
        let mut files = Vec::with_capacity(source.paths.len());
        let mut units = 0;
        for path in source.paths.iter() {
            let input = Input::open_text(path)?;
            let begin = text_begin(&input)?;
            let length = input.length - begin;
            let range = range.unwrap_or((length / 64).clamp(RANGE_BYTES_MIN, RANGE_BYTES_MAX));
            let count = length.div_ceil(range);
            let unknown = |n: u64| (0..n).map(|_| AtomicU8::new(UNKNOWN)).collect();
            files.push(TextFile {
                input,
                begin,
                range,
                before: unknown(count),
                within: unknown(count),
                first_unit: units,
            });
            units += count;
        }
        let mut slots = columns.to_vec();
        slots.sort_unstable();
        slots.dedup();
        let order = columns.iter().map(|c| slots.partition_point(|s| s < c)).collect();
        Ok(TextFiles {
            files,
            units,
            dialect: dialect_of(source.format, &source.text),
            header: source.text.header == Some(true),
            null_text: source.text.null_text.clone().into_bytes(),
            fields: source.schema.fields().to_vec(),
            slots,
            order,
            batch_rows: batch_rows.max(1),
        })
    }

    /// Whether range `range` is scanned from inside quotes.
    fn inside(&self, file: &TextFile, range: u64) -> Result<bool> {
        let Some(quote) = self.dialect.quote else { return Ok(false) };
        let mut known = range;
        while known > 0 && file.before[known as usize].load(Ordering::Relaxed) == UNKNOWN {
            known -= 1;
        }
        let mut odd = known > 0 && file.before[known as usize].load(Ordering::Relaxed) == ODD;
        for at in known..range {
            let parity = match file.within[at as usize].load(Ordering::Relaxed) {
                UNKNOWN => self.count(file, at, quote)?,
                parity => parity,
            };
            odd ^= parity == ODD;
            file.before[at as usize + 1].store(if odd { ODD } else { EVEN }, Ordering::Relaxed);
        }
        Ok(odd)
    }

    fn count(&self, file: &TextFile, range: u64, quote: u8) -> Result<u8> {
        let mut bytes = Vec::new();
        file.input.append(file.scan_from(range), file.scan_from(range + 1), &mut bytes)?;
        let parity = if memchr::memchr_iter(quote, &bytes).count() % 2 == 0 { EVEN } else { ODD };
        file.within[range as usize].store(parity, Ordering::Relaxed);
        Ok(parity)
    }

    fn read_range(
        &self,
        file: &TextFile,
        range: u64,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let from = file.scan_from(range);
        let own_end = (file.begin + (range + 1) * file.range).min(file.input.length);
        let mut data = Vec::new();
        file.input.append(from, own_end, &mut data)?;
        let mut marks = Vec::with_capacity(data.len() / 6);
        append_marks(&data, 0, self.dialect, &mut marks);
        if let Some(quote) = self.dialect.quote {
            let end = (file.scan_from(range + 1) - from).min(data.len() as u64) as usize;
            let quotes = marks.iter().filter(|m| (**m as usize) < end && data[**m as usize] == quote).count();
            let parity = if quotes % 2 == 0 { EVEN } else { ODD };
            file.within[range as usize].store(parity, Ordering::Relaxed);
        }
        let inside = self.inside(file, range)?;
        let quote = self.dialect.quote;
        let start = match range {
            0 => Some(0),
            _ => next_record(&data, &marks, 0, inside, quote),
        };
        // No record begins here when the only line ends are quoted or the one that is ours is the last byte.
        let own = (own_end - from) as usize;
        let Some(start) = start.filter(|s| *s < own) else { return Ok(()) };
        let mut closed = true;
        let mut read_to = own_end;
        let mut extension = EXTENSION_BYTES;
        let mut scanned = 0;
        let mut within = inside;
        let end = loop {
            // Only the marks that have come since are walked; the state before them is kept.
            let fresh = &marks[scanned..];
            if let Some(end) = next_record(&data, fresh, (own - 1).max(start), within, quote) {
                break end;
            }
            within ^= fresh.iter().filter(|m| Some(data[**m as usize]) == quote).count() % 2 == 1;
            scanned = marks.len();
            if read_to >= file.input.length {
                break data.len();
            }
            if data.len() - start > RECORD_BYTES_MAX {
                closed = false;
                break data.len();
            }
            let known = data.len();
            let next_to = (read_to + extension).min(file.input.length);
            file.input.append(read_to, next_to, &mut data)?;
            read_to = next_to;
            extension *= 2;
            append_marks(&data, known, self.dialect, &mut marks);
        };
        self.parse(file, from, &data, &marks, start..end, range == 0 && self.header, closed, push)
    }

    #[allow(clippy::too_many_arguments)]
    fn parse(
        &self,
        file: &TextFile,
        base: u64,
        data: &[u8],
        marks: &[u32],
        records: std::ops::Range<usize>,
        header: bool,
        closed: bool,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let valid = std::str::from_utf8(&data[records.clone()]).is_ok();
        let columns = self.fields.len();
        let skip_empty = columns > 1;
        let mut walk = Records::new(data, marks, records.start, records.end, self.dialect);
        let fault = |fault: Fault| self.explain(file, base, data, fault, closed);
        let mut record: Vec<Span> = Vec::new();
        if header {
            walk.next(true, &mut record).map_err(fault)?;
        }
        let whole = self.slots.len() == columns;
        let mut spans: Vec<Span> = Vec::with_capacity(self.slots.len() * self.batch_rows);
        loop {
            spans.clear();
            let mut rows = 0;
            let mut pending = None;
            while rows < self.batch_rows {
                let out = if whole { &mut spans } else { &mut record };
                let first = if whole { out.len() } else { 0 };
                out.truncate(first);
                match walk.next(skip_empty, out) {
                    Ok(None) => break,
                    Ok(Some(at)) => {
                        let found = out.len() - first;
                        if found != columns {
                            let last_empty =
                                out.last().is_some_and(|s| s.bytes(data).is_empty() && !s.quoted());
                            if !(self.dialect.trailing && found == columns + 1 && last_empty) {
                                pending = Some(Fault::Fields { at, found });
                            } else {
                                out.pop();
                            }
                        }
                    }
                    Err(e) => pending = Some(e),
                }
                if pending.is_some() {
                    out.truncate(first);
                    break;
                }
                if !whole {
                    spans.extend(self.slots.iter().map(|s| record[*s]));
                }
                rows += 1;
            }
            if rows > 0 && !push(self.batch(file, base, data, &spans, rows, valid)?)? {
                return Ok(());
            }
            if let Some(e) = pending {
                return Err(fault(e));
            }
            if rows < self.batch_rows {
                return Ok(());
            }
        }
    }

    fn batch(
        &self,
        file: &TextFile,
        base: u64,
        data: &[u8],
        spans: &[Span],
        rows: usize,
        valid: bool,
    ) -> Result<Batch> {
        let width = self.slots.len();
        let mut vectors = Vec::with_capacity(width);
        let mut worst: Option<(usize, BadValue)> = None;
        let mut until = rows;
        for (slot, column) in self.slots.iter().enumerate() {
            // After a bad value only an earlier one is of interest.
            let fields = Fields {
                data,
                spans: &spans[..until * width],
                width,
                quote: self.dialect.quote,
                null_text: &self.null_text,
                valid,
            };
            if until == 0 {
                break;
            }
            match fields.column(slot, self.fields[*column].ty) {
                Ok(vector) => vectors.push(vector),
                Err(bad) => {
                    until = bad.row;
                    worst = Some((slot, bad));
                }
            }
        }
        if let Some((slot, bad)) = worst {
            let span = spans[bad.row * width + slot];
            let field = &self.fields[self.slots[slot]];
            return Err(self.bad_value(file, base, data, span, field, bad.error));
        }
        Ok(Batch::new(self.order.iter().map(|slot| vectors[*slot].clone()).collect(), rows))
    }

    fn bad_value(
        &self,
        file: &TextFile,
        base: u64,
        data: &[u8],
        span: Span,
        field: &Field,
        error: Error,
    ) -> Error {
        let line = self.line(file, base + span.start() as u64);
        let text = shown(span.bytes(data));
        let mut out = Error::new(
            error.state(),
            format!(
                "\"{}\", line {line}, column \"{}\": \"{text}\" is no {}: {}",
                file.input.path,
                field.name,
                field.ty.sql_name(),
                error.message()
            ),
        );
        if let Some(detail) = error.detail() {
            out = out.with_detail(detail);
        }
        if let Some(hint) = error.hint() {
            return out.with_hint(hint);
        }
        let trimmed = text.trim().to_ascii_lowercase();
        if ["", "na", "n/a", "null", "\\n", "-", "none", "nil", "?"].contains(&trimmed.as_str()) {
            return out.with_hint(format!("if that stands for NULL, say so: COPY ... (NULL '{text}')"));
        }
        out.with_hint("correct the file, or COPY it into a table whose column has a wider type, such as TEXT")
    }

    fn explain(&self, file: &TextFile, base: u64, data: &[u8], fault: Fault, closed: bool) -> Error {
        let line = self.line(file, base + fault.place() as u64);
        let around = &data[fault.place()..];
        let text = shown(around.split(|b| *b == b'\n').next().unwrap_or_default());
        let name = |field: usize| {
            self.fields.get(field).map_or(format!("{}", field + 1), |f| format!("\"{}\"", f.name))
        };
        let no_quotes = "if the file does not use quotes, say so: COPY ... (QUOTE '')";
        let (what, hint) = match fault {
            Fault::StrayQuote { field, .. } => (
                format!("column {}: a quote inside a value that is not quoted, at: {text}", name(field)),
                format!("quote the whole value and double the quotes in it; {no_quotes}"),
            ),
            Fault::AfterQuote { field, .. } => (
                format!("column {}: a quoted value is followed by: {text}", name(field)),
                format!("a quote inside a quoted value is doubled; {no_quotes}"),
            ),
            Fault::Unclosed { field, .. } => (
                if closed {
                    format!("column {}: the quoted value that begins here does not end", name(field))
                } else {
                    format!("column {}: no end within 32 MiB of the record", name(field))
                },
                no_quotes.to_owned(),
            ),
            Fault::Fields { found, .. } => (
                format!("{found} values where there are {} columns, in: {text}", self.fields.len()),
                format!(
                    "values are taken to be separated by '{}'; the DELIMITER option says otherwise",
                    (self.dialect.delimiter as char).escape_default()
                ),
            ),
        };
        Error::new(SqlState::BadCopyFormat, format!("\"{}\", line {line}, {what}", file.input.path))
            .with_hint(hint)
    }

    /// The 1-based line of a place. Counted only when something is wrong.
    fn line(&self, file: &TextFile, place: u64) -> u64 {
        let mut line = 1;
        let mut at = 0;
        let mut bytes = Vec::new();
        while at < place {
            let to = (at + RANGE_BYTES_MAX).min(place);
            bytes.clear();
            if file.input.append(at, to, &mut bytes).is_err() {
                break;
            }
            line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            at = to;
        }
        line
    }
}

fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(320)];
    let text: String = String::from_utf8_lossy(cut).chars().take(80).collect();
    let text = text.trim_end_matches('\r');
    if text.len() < bytes.len() && text.chars().count() >= 80 {
        format!("{text}...")
    } else {
        text.to_owned()
    }
}

/// Where the text begins; other encodings that announce themselves are refused.
pub fn text_begin(input: &Input) -> Result<u64> {
    let mut mark = Vec::new();
    input.append(0, 3, &mut mark)?;
    if mark.starts_with(&[0xFF, 0xFE]) || mark.starts_with(&[0xFE, 0xFF]) {
        return Err(Error::unsupported(format!("\"{}\" is UTF-16 text, which is not supported", input.path))
            .with_hint("convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"));
    }
    Ok(if mark == [0xEF, 0xBB, 0xBF] { 3 } else { 0 })
}

impl Reader for TextFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let push: &mut dyn FnMut(Batch) -> Result<bool> = &mut |batch| visit(&mut Decoded(batch));
        let at = self.files.partition_point(|f| f.first_unit + f.units() <= unit);
        let Some(file) = self.files.get(at) else { return Ok(()) };
        self.read_range(file, unit - file.first_unit, push)
    }
}
