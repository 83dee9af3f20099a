//! Text files read in parallel: a unit is the records that begin in one byte range.
//!
//! Where a range's first record begins depends on whether the range starts inside quotes, that is, on the number of
//! quotes before it. Units are claimed in order, so most of those counts are known when a unit begins; what is
//! missing is counted by the worker that needs it, and no worker waits for another. In dialects in which a quote may
//! stand anywhere, or be escaped, the number says nothing; there, and where records with misplaced quotes are left
//! out, a file is one unit and is read from its beginning to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use plan::FileSource;
use plan::file::{RECORD_BYTES_MAX, TextOptions};
use types::{Field, Result};
use vector::Batch;

use super::dialect::{Dialect, Forms, dialect_of};
use super::faults::{Lines, Place};
use super::parse::Stretch;
use super::split::{append_marks, next_record};
use crate::encoding::{is_marked_utf16, unsaid_utf16};
use crate::input::Input;
use crate::rejects::Rejecting;
use crate::{Decoded, Environment, Reader, RejectLogs, Window};

const RANGE_BYTES_MIN: u64 = 1 << 20;
const RANGE_BYTES_MAX: u64 = 4 << 20;
/// Ranges of a file, at most, however small the user wants them.
const RANGES_MAX: u64 = 1 << 20;
const EXTENSION_BYTES: u64 = 64 << 10;
/// What may stand behind a record of the greatest length.
pub const LINE_END_BYTES: usize = 2;

/// Parities, as they are kept in atomics.
const UNKNOWN: u8 = 0;
const EVEN: u8 = 1;
const ODD: u8 = 2;

struct TextFile {
    input: Input,
    lines: Lines,
    /// Where the records begin: behind a byte order mark and lines to be skipped.
    begin: u64,
    range: u64,
    /// Parity of the quotes between `begin` and the byte before range `i`, where it is known.
    before: Vec<AtomicU8>,
    /// Parity of the quotes in range `i`, moved by one byte likewise.
    within: Vec<AtomicU8>,
    /// Units of the files before this one.
    first_unit: u64,
    units: u64,
}

impl TextFile {
    /// Range `i` is scanned from the byte before it, which may be the line end that makes its first byte a beginning.
    fn scan_from(&self, range: u64) -> u64 {
        self.begin + (range * self.range).saturating_sub(u64::from(range > 0))
    }
}

/// The reader of CSV, TSV and dbgen's files.
pub struct TextFiles {
    files: Vec<TextFile>,
    units: u64,
    /// How records of all files are cut.
    pub(super) dialect: Dialect,
    /// How their texts become values.
    pub(super) forms: Forms,
    header: bool,
    /// What the header of every file has to say; empty where that does not matter.
    pub(super) header_names: Arc<[String]>,
    /// The first file, which messages about other headers name.
    pub(super) first_path: String,
    /// Records that are too short end in NULLs.
    pub(super) null_padding: bool,
    /// Where bad records are noted; without it the first one is an error.
    pub(super) rejects: Option<Rejecting>,
    /// Ranges cannot be told apart: files are read whole.
    sequential: bool,
    /// All columns of the source, by position in a record.
    pub(super) fields: Vec<Field>,
    /// Distinct columns wanted, ascending.
    pub(super) slots: Vec<usize>,
    /// The columns to deliver, as positions in `slots`.
    pub(super) order: Vec<usize>,
    /// Rows of a batch, at most.
    pub(super) batch_rows: usize,
}

impl TextFiles {
    /// Opens the files and cuts them into ranges; `columns` are positions in the source's schema.
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
        let text = &source.text;
        let dialect = dialect_of(source.format, text);
        let sequential = text.sequential
            || !dialect.counts_quotes()
            || (dialect.quote.is_some() && text.rejects.is_some());
        let mut files = Vec::with_capacity(source.paths.len());
        let mut units = 0;
        for path in source.paths.iter() {
            let input = Input::open_text(environment, path, text.encoding)?;
            let mut begin = records_begin(&input, text.newline, text.skip)?;
            if text.header == Some(true) {
                // The range that the header begins in is the first one.
                begin = record_begin(&input, &dialect, begin)?;
            }
            let length = input.length - begin;
            let range = range.unwrap_or_else(|| range_bytes(text, length));
            let count = length.div_ceil(range);
            let unknown = |n: u64| (0..n).map(|_| AtomicU8::new(UNKNOWN)).collect();
            let own = if sequential { count.min(1) } else { count };
            files.push(TextFile {
                lines: Lines::of(&input, dialect.newline),
                input,
                begin,
                range,
                before: unknown(count),
                within: unknown(count),
                first_unit: units,
                units: own,
            });
            units += own;
        }
        let mut slots = columns.to_vec();
        if text.rejects.is_some() {
            // Which records are rejected must not depend on the columns that the query uses.
            slots.extend(0..source.schema.len());
        }
        slots.sort_unstable();
        slots.dedup();
        let order = columns.iter().map(|c| slots.partition_point(|s| s < c)).collect();
        Ok(TextFiles {
            files,
            units,
            dialect,
            forms: Forms::of(text)?,
            header: text.header == Some(true),
            header_names: text.header_names.clone(),
            first_path: source.paths.first().cloned().unwrap_or_default(),
            null_padding: text.null_padding,
            rejects: text.rejects.as_ref().map(|r| Rejecting::of(r, &RejectLogs::new())),
            sequential,
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
        let parity = if memchr::memchr_iter(quote, &bytes).count().is_multiple_of(2) { EVEN } else { ODD };
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
            _ => next_record(&data, &marks, 0, inside, &self.dialect),
        };
        // No record begins here when the only line ends are quoted or the one that is ours is the last byte.
        let own = (own_end - from) as usize;
        let Some(start) = start.filter(|s| *s < own) else { return Ok(()) };
        let mut closed = true;
        let mut read_to = own_end;
        let mut extension = EXTENSION_BYTES.min(file.range);
        let mut scanned = 0;
        let mut within = inside;
        let end = loop {
            // Only the marks that have come since are walked; the state before them is kept.
            let fresh = &marks[scanned..];
            if let Some(end) = next_record(&data, fresh, (own - 1).max(start), within, &self.dialect) {
                break end;
            }
            within ^= fresh.iter().filter(|m| Some(data[**m as usize]) == quote).count() % 2 == 1;
            scanned = marks.len();
            if read_to >= file.input.length {
                break data.len();
            }
            if data.len() > own + self.dialect.record_bytes_max.max(RECORD_BYTES_MAX) + LINE_END_BYTES {
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
        let stretch = Stretch {
            place: Place::new(&file.input, &file.lines),
            base: from,
            data: &data,
            marks: &marks,
            records: start..end,
            more: false,
            header: range == 0 && self.header,
            closed,
        };
        self.parse(&stretch, push)?;
        Ok(())
    }

    /// All of a file, from its beginning.
    fn read_whole(&self, file: &TextFile, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        let mut position = file.begin;
        let mut bytes = file.range;
        let mut header = self.header;
        let (mut data, mut marks) = (Vec::new(), Vec::new());
        while position < file.input.length {
            data.clear();
            marks.clear();
            file.input.append(position, position + bytes, &mut data)?;
            append_marks(&data, 0, self.dialect, &mut marks);
            let more = position + (data.len() as u64) < file.input.length;
            let stretch = Stretch {
                place: Place::new(&file.input, &file.lines),
                base: position,
                data: &data,
                marks: &marks,
                records: 0..data.len(),
                more,
                header,
                closed: !more,
            };
            match self.parse(&stretch, push)? {
                None => return Ok(()),
                // A record longer than the stretch: more of it. `parse` puts an end to this at the longest record.
                Some(0) if more => bytes = bytes * 2 + 1,
                Some(0) => return Ok(()),
                Some(consumed) => {
                    position += consumed as u64;
                    if more && consumed == data.len() && data.last() != Some(&self.dialect.newline) {
                        // A record that was given up, and goes on behind the stretch.
                        position = lines_end(&file.input, self.dialect.newline, position, 1)?;
                    }
                    header = false;
                    bytes = file.range;
                }
            }
        }
        Ok(())
    }
}

/// Bytes that are read at a time of a text file of that length.
pub fn range_bytes(options: &TextOptions, length: u64) -> u64 {
    match options.piece_bytes {
        Some(bytes) => bytes.max(length / RANGES_MAX).max(1),
        None => (length / 64).clamp(RANGE_BYTES_MIN, RANGE_BYTES_MAX),
    }
}

/// Where the records begin: behind a byte order mark and so many lines.
pub fn records_begin(input: &Input, newline: u8, skip: u64) -> Result<u64> {
    lines_end(input, newline, text_begin(input)?, skip)
}

/// The place behind blank lines and comments that stand before a record.
fn record_begin(input: &Input, dialect: &Dialect, mut at: u64) -> Result<u64> {
    const LOOKED_AT: u64 = 512;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        input.append(at, at + LOOKED_AT, &mut bytes)?;
        let blank = match bytes.as_slice() {
            [first, ..] if *first == dialect.newline => 1,
            [b'\r', second, ..] if *second == dialect.newline => 2,
            [first, ..] if dialect.comment == Some(*first) => {
                at = lines_end(input, dialect.newline, at, 1)?;
                continue;
            }
            _ => return Ok(at),
        };
        at += blank;
    }
}

/// The place behind so many lines, the first of which begins at `at`.
fn lines_end(input: &Input, newline: u8, mut at: u64, lines: u64) -> Result<u64> {
    let mut left = lines;
    let mut bytes = Vec::new();
    while left > 0 && at < input.length {
        bytes.clear();
        input.append(at, at + RANGE_BYTES_MIN, &mut bytes)?;
        let mut end = bytes.len();
        for newline in memchr::memchr_iter(newline, &bytes) {
            left -= 1;
            if left == 0 {
                end = newline + 1;
                break;
            }
        }
        at += end as u64;
    }
    Ok(at)
}

/// Where the text begins; other encodings that announce themselves are refused.
pub fn text_begin(input: &Input) -> Result<u64> {
    let mut mark = Vec::new();
    input.append(0, 3, &mut mark)?;
    if is_marked_utf16(&mark) {
        return Err(unsaid_utf16(&input.path));
    }
    Ok(if mark == [0xEF, 0xBB, 0xBF] { 3 } else { 0 })
}

impl Reader for TextFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let push: &mut dyn FnMut(Batch) -> Result<bool> = &mut |batch| visit(&mut Decoded(batch));
        let at = self.files.partition_point(|f| f.first_unit + f.units <= unit);
        let Some(file) = self.files.get(at) else { return Ok(()) };
        if self.sequential {
            return self.read_whole(file, push);
        }
        self.read_range(file, unit - file.first_unit, push)
    }
}
