//! Where cells are written: behind one another, each row in its own place of the scratch memory.
//!
//! A sink writes cells of one form (of messages, of text and CSV in COPY); columns are written one after the other,
//! so that the type is looked at once a column. Called by `rows`.

use std::ops::Range;

use types::Result;

use super::column::Column;
use crate::binary::NO_FORM;
use crate::copy::CopyOptions;
use crate::text::VALUE_BYTES;

/// The rows' places in the scratch memory, and how far each is filled.
#[derive(Default)]
pub(super) struct Places {
    begins: Vec<usize>,
    ends: Vec<usize>,
    bytes: usize,
}

impl Places {
    /// Gives each of `rows` rows a place for the longest cells that it may have: `factor` times the bytes of a column's
    /// cell and `extra` more.
    pub(super) fn begin(
        &mut self,
        rows: usize,
        columns: &[Column],
        from: usize,
        factor: usize,
        extra: usize,
    ) {
        let fixed: usize = columns.iter().map(|column| column.width() * factor + extra).sum();
        self.begins.clear();
        self.begins.resize(rows, fixed);
        for column in columns.iter().filter(|column| column.varies()) {
            for (row, bytes) in self.begins.iter_mut().enumerate() {
                *bytes += column.bytes(from, row) * factor;
            }
        }
        self.bytes = 0;
        for begin in &mut self.begins {
            let bytes = *begin;
            *begin = self.bytes;
            self.bytes = self.bytes.saturating_add(bytes);
        }
        self.ends.clear();
        self.ends.extend_from_slice(&self.begins);
    }
    /// Bytes of all places.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
    /// Bytes that were written.
    pub(super) fn used(&self) -> usize {
        self.begins.iter().zip(&self.ends).map(|(begin, end)| end - begin).sum()
    }
    /// What was written of a row.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        self.begins[row]..self.ends[row]
    }
}

/// What becomes of cells. A row gets one call for each column, in their order.
pub(super) trait Sink {
    /// A NULL.
    fn null(&mut self, row: usize);
    /// A cell whose length has a bound: `write` writes it at the beginning of what it gets, and gives its length.
    /// `false` when the value has no form.
    fn bounded(&mut self, row: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool;
    /// A cell of these bytes.
    fn bytes(&mut self, row: usize, bytes: &[u8]);
    /// A cell of this length or less, which `write` makes of something else.
    fn made(&mut self, row: usize, bytes_max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Result<()>;
}

/// Cells behind their lengths: DataRow and COPY's binary format.
pub(super) struct WireSink<'a> {
    pub(super) places: &'a mut Places,
    pub(super) scratch: &'a mut [u8],
}

impl WireSink<'_> {
    #[inline]
    fn cell(&mut self, row: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let end = &mut self.places.ends[row];
        let (head, body) = self.scratch[*end..].split_at_mut(4);
        let length = write(body);
        if length == NO_FORM {
            return false;
        }
        head.copy_from_slice(&(length as u32).to_be_bytes());
        *end += 4 + length;
        true
    }
}

impl Sink for WireSink<'_> {
    #[inline]
    fn null(&mut self, row: usize) {
        let end = &mut self.places.ends[row];
        self.scratch[*end..*end + 4].fill(0xFF);
        *end += 4;
    }
    #[inline]
    fn bounded(&mut self, row: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.cell(row, write)
    }
    #[inline]
    fn bytes(&mut self, row: usize, bytes: &[u8]) {
        self.cell(row, |to| {
            to[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        });
    }
    #[inline]
    fn made(&mut self, row: usize, _: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Result<()> {
        self.cell(row, write);
        Ok(())
    }
}

/// Lines of COPY's text format.
pub(super) struct TextSink<'a> {
    places: &'a mut Places,
    scratch: &'a mut [u8],
    options: &'a CopyOptions,
    first: bool,
    /// Numbers, dates and their like may hold the delimiter.
    escapes_bounded: bool,
    room: Vec<u8>,
}

impl<'a> TextSink<'a> {
    pub(super) fn new(
        places: &'a mut Places,
        scratch: &'a mut [u8],
        options: &'a CopyOptions,
        first: bool,
    ) -> Self {
        let escapes_bounded = stands_in_bounded(options.delimiter);
        TextSink { places, scratch, options, first, escapes_bounded, room: Vec::new() }
    }
    /// Writes the delimiter, and gives what is left of the row's place.
    fn open(&mut self, row: usize) -> &mut [u8] {
        let end = &mut self.places.ends[row];
        if !self.first {
            self.scratch[*end] = self.options.delimiter;
            *end += 1;
        }
        &mut self.scratch[*end..]
    }
}

/// Whether numbers, dates, intervals or booleans may hold the character.
fn stands_in_bounded(delimiter: u8) -> bool {
    delimiter.is_ascii_alphanumeric() || b"+-.: ".contains(&delimiter)
}

/// Writes text as COPY escapes it, and gives how many bytes it has.
pub(crate) fn escape(bytes: &[u8], delimiter: u8, to: &mut [u8]) -> usize {
    let mut at = 0;
    for byte in bytes {
        let escaped = match byte {
            0x08 => b'b',
            0x0C => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0B => b'v',
            b'\\' => b'\\',
            byte if *byte == delimiter => delimiter,
            byte => {
                to[at] = *byte;
                at += 1;
                continue;
            }
        };
        to[at] = b'\\';
        to[at + 1] = escaped;
        at += 2;
    }
    at
}

impl Sink for TextSink<'_> {
    fn null(&mut self, row: usize) {
        let null = self.options.null.as_bytes();
        self.open(row)[..null.len()].copy_from_slice(null);
        self.places.ends[row] += null.len();
    }
    fn bounded(&mut self, row: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if !self.escapes_bounded {
            let length = write(self.open(row));
            self.places.ends[row] += length;
            return true;
        }
        let mut room = [0; VALUE_BYTES];
        let length = write(&mut room);
        self.bytes(row, &room[..length]);
        true
    }
    fn bytes(&mut self, row: usize, bytes: &[u8]) {
        let delimiter = self.options.delimiter;
        let length = escape(bytes, delimiter, self.open(row));
        self.places.ends[row] += length;
    }
    fn made(&mut self, row: usize, bytes_max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Result<()> {
        let mut room = std::mem::take(&mut self.room);
        if room.len() < bytes_max {
            room.resize(bytes_max, 0);
        }
        let length = write(&mut room);
        self.bytes(row, &room[..length]);
        self.room = room;
        Ok(())
    }
}

/// Lines of COPY's CSV.
pub(super) struct CsvSink<'a> {
    text: TextSink<'a>,
    force: bool,
    /// The column is the only one, so that `\.` and an empty line need quotes.
    alone: bool,
    /// Numbers and their like may need quotes.
    quotes_bounded: bool,
}

impl<'a> CsvSink<'a> {
    pub(super) fn new(
        places: &'a mut Places,
        scratch: &'a mut [u8],
        options: &'a CopyOptions,
        first: bool,
        force: bool,
        alone: bool,
    ) -> Self {
        let quotes_bounded = force
            || stands_in_bounded(options.delimiter)
            || stands_in_bounded(options.quote)
            || options.null.bytes().all(stands_in_bounded) && !options.null.is_empty();
        CsvSink { text: TextSink::new(places, scratch, options, first), force, alone, quotes_bounded }
    }
}

impl Sink for CsvSink<'_> {
    fn null(&mut self, row: usize) {
        self.text.null(row);
    }
    fn bounded(&mut self, row: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if !self.quotes_bounded {
            let length = write(self.text.open(row));
            self.text.places.ends[row] += length;
            return true;
        }
        let mut room = [0; VALUE_BYTES];
        let length = write(&mut room);
        self.bytes(row, &room[..length]);
        true
    }
    fn bytes(&mut self, row: usize, bytes: &[u8]) {
        let options = self.text.options;
        let quoted = self.force || options.needs_quotes(bytes, self.alone);
        let to = self.text.open(row);
        let length = match quoted {
            true => options.quote_into(bytes, to),
            false => {
                to[..bytes.len()].copy_from_slice(bytes);
                bytes.len()
            }
        };
        self.text.places.ends[row] += length;
    }
    fn made(&mut self, row: usize, bytes_max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Result<()> {
        let mut room = std::mem::take(&mut self.text.room);
        if room.len() < bytes_max {
            room.resize(bytes_max, 0);
        }
        let length = write(&mut room);
        self.bytes(row, &room[..length]);
        self.text.room = room;
        Ok(())
    }
}
