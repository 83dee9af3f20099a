//! COPY's binary format as it comes in, piece by piece, as batches.
//!
//! ```text
//! PGCOPY \n FF \r \n 00 | flags i32 | extension i32 and so many bytes |
//! columns i16 | length i32, bytes | ...      a row; the length -1 is NULL
//! -1 i16                                     the end; nothing may follow
//! ```
//! Pieces may be cut anywhere. Beside the rows of the batch being filled the reader keeps what came of a row that is not
//! whole, and no more than a limit of it. Integers, dates and texts go into their column's builder without a value
//! between.

use types::{Error, Result, SqlState, Type};
use vector::{BATCH_ROWS, Batch, VectorBuilder};

use super::BINARY_HEAD;
use super::pieces::Pieces;
use crate::decode::{self, text_of};
use crate::format::Format;

/// What comes next.
enum State {
    /// The signature and the flags.
    Head,
    /// So many bytes of the head's extension, which are skipped.
    Extension(usize),
    Rows,
    End,
}

/// Bytes of signature, flags and the extension's length.
const HEAD_BYTES: usize = BINARY_HEAD.len();
/// Bytes of values in a batch, about, whatever the number of its rows.
const BATCH_BYTES: usize = 16 << 20;

/// Turns the stream of one COPY FROM STDIN into batches.
pub struct BinaryCopyReader {
    types: Vec<Type>,
    builders: Vec<VectorBuilder>,
    state: State,
    pieces: Pieces,
    row_bytes_max: usize,
    /// Bytes of values in the builders.
    filled: usize,
    rows: u64,
    /// Rows in the builders; there may be no columns.
    waiting: usize,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::BadCopyFormat, message)
}

fn number<const N: usize>(bytes: &[u8], at: &mut usize) -> Option<[u8; N]> {
    let found = bytes.get(*at..*at + N)?.try_into().ok()?;
    *at += N;
    Some(found)
}

impl BinaryCopyReader {
    /// A reader for columns of these types. A row that has more than `row_bytes_max` bytes is an error.
    pub fn new(types: &[Type], row_bytes_max: usize) -> Self {
        BinaryCopyReader {
            types: types.to_vec(),
            builders: types.iter().map(|ty| VectorBuilder::new(*ty, 0)).collect(),
            state: State::Head,
            pieces: Pieces::new(row_bytes_max),
            row_bytes_max,
            filled: 0,
            rows: 0,
            waiting: 0,
        }
    }
    /// Rows that were read whole.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes a piece of the stream and hands on each batch that it fills.
    pub fn push(&mut self, piece: &[u8], mut batch: impl FnMut(Batch) -> Result<()>) -> Result<()> {
        let mut pieces = std::mem::replace(&mut self.pieces, Pieces::new(0));
        let pushed = pieces.push(piece, |bytes| self.read(bytes, &mut batch));
        self.pieces = pieces;
        pushed
    }

    /// The last batch, which may be empty; an error when the stream ended before its end mark.
    pub fn finish(mut self) -> Result<Batch> {
        match self.state {
            State::End if self.pieces.is_empty() => Ok(self.take()),
            _ if self.pieces.is_empty() && matches!(self.state, State::Head) => Err(signature()),
            _ => Err(bad("unexpected EOF in COPY data").with_detail(format!("after row {}", self.rows))),
        }
    }

    fn take(&mut self) -> Batch {
        let rows = std::mem::take(&mut self.waiting);
        let fresh = self.types.iter().map(|ty| VectorBuilder::new(*ty, 0)).collect();
        let builders = std::mem::replace(&mut self.builders, fresh);
        self.filled = 0;
        Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), rows)
    }

    /// Reads all that is whole, and gives how many bytes it took.
    fn read(&mut self, bytes: &[u8], batch: &mut impl FnMut(Batch) -> Result<()>) -> Result<usize> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            match self.state {
                State::Head => {
                    let known = rest.len().min(11);
                    if rest[..known] != BINARY_HEAD[..known] {
                        return Err(signature());
                    }
                    if rest.len() < HEAD_BYTES {
                        return Ok(at);
                    }
                    self.state = State::Extension(head(&rest[11..HEAD_BYTES])?);
                    at += HEAD_BYTES;
                }
                State::Extension(0) => self.state = State::Rows,
                State::Extension(left) => {
                    let skipped = left.min(rest.len());
                    if skipped == 0 {
                        return Ok(at);
                    }
                    self.state = State::Extension(left - skipped);
                    at += skipped;
                }
                State::Rows => match self.row(rest)? {
                    0 => return Ok(at),
                    taken => {
                        at += taken;
                        let full = self.waiting >= BATCH_ROWS;
                        if full || self.filled >= BATCH_BYTES {
                            batch(self.take())?;
                        }
                    }
                },
                State::End if rest.is_empty() => return Ok(at),
                State::End => return Err(bad("received copy data after EOF marker")),
            }
        }
    }

    /// Reads a row or the end mark at the beginning of `bytes`; 0 when it is not whole.
    fn row(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        let Some(count) = number(bytes, &mut at).map(i16::from_be_bytes) else { return Ok(0) };
        if count == -1 {
            self.state = State::End;
            return Ok(at);
        }
        if usize::try_from(count) != Ok(self.types.len()) {
            let message = format!("row field count is {count}, expected {}", self.types.len());
            return Err(bad(message).with_detail(self.place()));
        }
        let first = at;
        for _ in 0..count {
            let Some(length) = number(bytes, &mut at).map(i32::from_be_bytes) else { return Ok(0) };
            match usize::try_from(length) {
                Ok(length) if length > self.row_bytes_max => {
                    let message = format!("a field of COPY data has more than {} bytes", self.row_bytes_max);
                    return Err(Error::new(SqlState::OutOfMemory, message).with_detail(self.place()));
                }
                Ok(length) => at += length,
                Err(_) if length == -1 => {}
                Err(_) => return Err(bad("invalid field size").with_detail(self.place())),
            }
            if at > bytes.len() {
                return Ok(0);
            }
        }
        let end = at;
        at = first;
        for column in 0..self.types.len() {
            // Lengths were looked at above.
            let length = number(bytes, &mut at).map_or(-1, i32::from_be_bytes);
            let value = usize::try_from(length).ok().and_then(|length| bytes.get(at..at + length));
            at += value.map_or(0, <[u8]>::len);
            self.value(column, value)?;
        }
        self.filled += end - first;
        self.rows += 1;
        self.waiting += 1;
        Ok(end)
    }

    fn value(&mut self, column: usize, bytes: Option<&[u8]>) -> Result<()> {
        let (ty, builder) = (self.types[column], &mut self.builders[column]);
        match (ty, bytes) {
            (_, None) => builder.push_null(),
            (Type::Text, Some(bytes)) => match text_of(bytes) {
                Ok(text) => builder.push_bytes(text.as_bytes()),
                Err(error) => return Err(self.of_row(column, error)),
            },
            (Type::Bytea, Some(bytes)) => builder.push_bytes(bytes),
            (ty, Some(bytes)) => match decode::value(Some(bytes), Format::Binary, ty) {
                Ok(value) => builder.push(&value),
                Err(error) => return Err(self.of_row(column, error)),
            },
        }
        Ok(())
    }

    fn place(&self) -> String {
        format!("in row {}", self.rows + 1)
    }
    fn of_row(&self, column: usize, error: Error) -> Error {
        match error.detail() {
            Some(_) => error,
            None => error.with_detail(format!("in row {}, column {}", self.rows + 1, column + 1)),
        }
    }
}

fn signature() -> Error {
    bad("COPY file signature not recognized")
}

/// How long the extension is; flags that say what a reader must know are errors.
fn head(bytes: &[u8]) -> Result<usize> {
    let mut at = 0;
    let flags = number(bytes, &mut at).map_or(0, u32::from_be_bytes);
    if flags & 1 << 16 != 0 {
        return Err(bad("invalid COPY file header (WITH OIDS)"));
    }
    if flags >> 16 != 0 {
        return Err(bad("unrecognized critical flags in COPY file header"));
    }
    let length = number(bytes, &mut at).map_or(0, i32::from_be_bytes);
    usize::try_from(length).map_err(|_| bad("invalid COPY file header (missing length)"))
}

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;
    use crate::copy::{CopyFormat, CopyOptions};
    use crate::{MessageBuffer, TextEnums, rows::RowEncoder};

    const TYPES: [Type; 4] = [Type::Integer, Type::Text, Type::Date, Type::Bytea];

    /// The stream of a COPY of some rows, which its messages hold.
    fn stream(rows: usize) -> (Batch, Vec<u8>) {
        let mut builders = TYPES.map(|ty| VectorBuilder::new(ty, rows));
        for row in 0..rows {
            let text = "x".repeat(row % 40);
            let values = [
                if row % 7 == 0 { Value::Null } else { Value::I32(row as i32) },
                Value::text(&text),
                Value::I32(row as i32 - 10),
                if row % 3 == 0 { Value::Null } else { Value::Bytes(vec![row as u8; row % 5].into()) },
            ];
            builders.iter_mut().zip(&values).for_each(|(builder, value)| builder.push(value));
        }
        let batch = Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), rows);
        let options = CopyOptions::of(CopyFormat::Binary, 4);
        let mut encoder = RowEncoder::copy(&TYPES, &options, types::Zone::Utc).unwrap();
        let mut out = MessageBuffer::new();
        encoder.copy_begin(&[], &mut out);
        encoder.append_all(&batch, &TextEnums, &mut out).unwrap();
        encoder.copy_end(&mut out);
        let (mut bytes, mut rest) = (Vec::new(), out.bytes());
        while let Some((b'd', tail)) = rest.split_first() {
            let length = u32::from_be_bytes(tail[..4].try_into().unwrap()) as usize;
            bytes.extend_from_slice(&tail[4..length]);
            rest = &tail[length..];
        }
        (batch, bytes)
    }

    fn rows_of(batches: &[Batch]) -> Vec<Vec<Value>> {
        let row = |batch: &Batch, row| batch.columns.iter().map(|column| column.value(row)).collect();
        batches.iter().flat_map(|batch| (0..batch.rows).map(move |at| row(batch, at))).collect()
    }

    #[test]
    fn a_stream_comes_back_however_it_is_cut() {
        for rows in [0, 1, 10_000] {
            let (batch, bytes) = stream(rows);
            for size in [1, 3, 19, 1000, 65_536, usize::MAX] {
                if rows > 100 && size < 19 {
                    continue;
                }
                let mut reader = BinaryCopyReader::new(&TYPES, 1 << 20);
                let mut batches = Vec::new();
                for piece in bytes.chunks(size) {
                    reader.push(piece, |batch| Ok(batches.push(batch))).unwrap();
                }
                assert!(batches.iter().all(|batch| batch.rows == BATCH_ROWS));
                batches.push(reader.finish().unwrap());
                assert!(rows_of(&batches) == rows_of(std::slice::from_ref(&batch)), "{rows} rows by {size}");
            }
        }
    }

    #[test]
    fn wrong_streams_are_errors() {
        let read = |bytes: &[u8]| {
            let mut reader = BinaryCopyReader::new(&TYPES[..1], 1000);
            reader.push(bytes, |_| Ok(()))?;
            reader.finish()
        };
        let state = |bytes: &[u8]| read(bytes).map(|batch| batch.rows).unwrap_err().state();
        let with_head = |rest: &[u8]| [BINARY_HEAD, rest].concat();
        assert_eq!(read(&with_head(b"\xff\xff")).unwrap().rows, 0);
        assert_eq!(state(b""), SqlState::BadCopyFormat);
        assert_eq!(state(b"1\t2\n"), SqlState::BadCopyFormat);
        assert_eq!(state(&with_head(b"")), SqlState::BadCopyFormat);
        assert_eq!(state(&with_head(b"\0\x02")), SqlState::BadCopyFormat);
        assert_eq!(state(&with_head(b"\0\x01\xff\xff\xff\xfe")), SqlState::BadCopyFormat);
        assert_eq!(state(&with_head(b"\xff\xffx")), SqlState::BadCopyFormat);
        assert_eq!(state(&with_head(b"\0\x01\0\0\0\x03abc\xff\xff")), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&with_head(b"\0\x01\x7f\xff\xff\xff")), SqlState::OutOfMemory);
        assert_eq!(state(&with_head(b"\0\x01\0\0\0\x04\0\0\0")), SqlState::BadCopyFormat);
        let mut with_oids = BINARY_HEAD.to_vec();
        with_oids[12] = 1;
        assert_eq!(state(&with_oids), SqlState::BadCopyFormat);
        // An extension is skipped.
        let mut extended = BINARY_HEAD.to_vec();
        extended[18] = 3;
        extended.extend(b"abc\0\x01\0\0\0\x04\0\0\0\x07\xff\xff");
        assert_eq!(read(&extended).unwrap().columns[0].value(0), Value::I32(7));
    }
}
