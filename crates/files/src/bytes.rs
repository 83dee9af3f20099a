//! Bytes of the log and of checkpoints: written in little endian, read with every bound checked.
//!
//! What can grow (a table's definition, say) is a list of fields, each with a number and a length, so that a later
//! version adds fields and still reads what an earlier one wrote. A field that a reader does not know is an error: it
//! would be lost.

use types::{Error, Result, SqlState};

/// The error for bytes that mean nothing.
pub fn malformed(what: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("stored bytes are malformed: {what}"))
}

/// Collects encoded values; [`ByteReader`] reads them back by the methods of the same names.
#[derive(Debug, Default)]
pub struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    /// Everything written so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }
    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// Appends eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// Appends eight bytes, in two's complement.
    pub fn i64(&mut self, value: i64) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// Appends one byte, 0 or 1.
    pub fn flag(&mut self, value: bool) {
        self.u8(u8::from(value));
    }
    /// Appends the bytes alone; the reader has to know how many there are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// A length, and as many bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.raw(bytes);
    }
    /// Appends UTF-8 with its length in bytes before it.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    /// Appends a flag, and what `write` makes of the value if there is one.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
    /// Appends a count of eight bytes, and what `write` makes of each item, at least a byte.
    pub fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.u64(items.len() as u64);
        items.for_each(|item| write(self, item));
    }
    /// Appends a list of positions with four bytes each; they must be below 2^32.
    pub fn positions(&mut self, positions: &[usize]) {
        self.list(positions.iter(), |w, position| w.u32(*position as u32));
    }
    /// One field of a record of fields; `end_of_fields` follows the last.
    pub fn field(&mut self, number: u8, write: impl FnOnce(&mut Self)) {
        debug_assert!(number > 0);
        self.u8(number);
        let at = self.bytes.len();
        self.u64(0);
        write(self);
        let length = (self.bytes.len() - at - 8) as u64;
        self.bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
    }
    /// Ends a list of fields.
    pub fn end_of_fields(&mut self) {
        self.u8(0);
    }
}

/// Reads what [`ByteWriter`] wrote. Bytes that end early or make no sense are XX001.
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// A reader at the first of the bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        ByteReader { bytes }
    }
    /// Takes the next `length` bytes.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or_else(|| malformed("they end early"))?;
        self.bytes = rest;
        Ok(taken)
    }
    /// Takes the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| malformed("they end early"))?;
        self.bytes = rest;
        Ok(*taken)
    }
    /// Takes one byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }
    /// Takes four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }
    /// Takes eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// Takes eight bytes, in two's complement.
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }
    /// Takes one byte; an error unless it is 0 or 1.
    pub fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(malformed(&format!("{other} is neither true nor false"))),
        }
    }
    /// Takes a length, and as many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        self.raw(usize::try_from(length).unwrap_or(usize::MAX))
    }
    /// Takes a length, and as many bytes; an error unless they are UTF-8.
    pub fn text(&mut self) -> Result<String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| malformed("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
    /// Takes a flag, and what `read` reads if it is set.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        self.flag()?.then(|| read(self)).transpose()
    }
    /// Takes a count, and as many items. Items take at least a byte each, so that a larger count than bytes left is
    /// an error before any memory is taken for it.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.u64()?;
        if count > self.bytes.len() as u64 {
            return Err(malformed("a list is longer than its bytes"));
        }
        (0..count).map(|_| read(self)).collect()
    }
    /// Takes a list of positions with four bytes each.
    pub fn positions(&mut self) -> Result<Vec<usize>> {
        self.list(|r| Ok(r.u32()? as usize))
    }
    /// Calls `read` with each field's number and bytes, to the end of the fields.
    pub fn fields(&mut self, mut read: impl FnMut(u8, &mut ByteReader<'a>) -> Result<()>) -> Result<()> {
        loop {
            let number = self.u8()?;
            if number == 0 {
                return Ok(());
            }
            let mut field = ByteReader::new(self.bytes()?);
            read(number, &mut field)?;
            field.end()?;
        }
    }
    /// The bytes that are left.
    pub fn left(&self) -> &'a [u8] {
        self.bytes
    }
    /// What is left, to be read later.
    pub fn rest(&mut self) -> ByteReader<'a> {
        ByteReader { bytes: std::mem::take(&mut self.bytes) }
    }
    /// An error unless everything has been read.
    pub fn end(&self) -> Result<()> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(malformed(&format!("{left} bytes too many"))),
        }
    }
}

/// The error for a field that this version does not know; `of` names the record that has it.
pub fn unknown_field(of: &str, number: u8) -> Error {
    malformed(&format!("field {number} of a {of} is not known; a newer version may have written it"))
}
