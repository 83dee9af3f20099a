//! COPY's text format and CSV as they come in, piece by piece, as batches.
//!
//! ```text
//! text  value TAB value ... LF     \b \f \n \r \t \v, \o \oo \ooo, \xh \xhh, \ and any other character; NULL is \N
//! CSV   value , "quoted ""value""" LF     quotes may begin within a value; NULL is an empty value without quotes
//! ```
//! A line `\.` ends the data; what follows is ignored, as in PostgreSQL. The first line's end decides what ends lines: LF,
//! CR LF or CR, and others of them are errors where they stand without an escape or quotes. Pieces may be cut anywhere;
//! beside the batch being filled the reader keeps what came of one line, and no more than a limit of it.

use types::datetime::days_from_civil;
use types::{Error, Result, SqlState, Type, Value};
use vector::{BATCH_ROWS, Batch, VectorBuilder};

use super::CopyOptions;
use super::pieces::Pieces;
use crate::decode::{self, text_of};
use crate::format::Format;

/// Bytes of values in a batch, about, whatever the number of its rows.
const BATCH_BYTES: usize = 16 << 20;

/// What ends lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

/// A value of the line that is being read.
#[derive(Clone, Copy)]
struct Span {
    begin: usize,
    end: usize,
    /// Quotes stood in it.
    quoted: bool,
    /// It has to be written anew: escapes or quotes.
    changed: bool,
}

/// Turns the stream of one COPY FROM STDIN of text or CSV into batches.
pub struct LineCopyReader {
    options: CopyOptions,
    names: Vec<String>,
    types: Vec<Type>,
    builders: Vec<VectorBuilder>,
    /// Bytes at which reading a value stops to look.
    special: [bool; 256],
    pieces: Pieces,
    line_end: Option<LineEnd>,
    spans: Vec<Span>,
    scratch: Vec<u8>,
    /// A line is a header.
    header: bool,
    ended: bool,
    filled: usize,
    line: u64,
    rows: u64,
    /// Rows in the builders; there may be no columns.
    waiting: usize,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::BadCopyFormat, message)
}

impl LineCopyReader {
    /// A reader for columns of these names and types. A line of more than `row_bytes_max` bytes is an error.
    pub fn new(columns: &[(&str, Type)], options: &CopyOptions, row_bytes_max: usize) -> Self {
        let mut special = [false; 256];
        let stops = match options.is_csv() {
            true => [b'\n', b'\r', options.delimiter, options.quote, options.escape],
            false => [b'\n', b'\r', options.delimiter, b'\\', b'\\'],
        };
        stops.into_iter().for_each(|byte| special[usize::from(byte)] = true);
        let types: Vec<Type> = columns.iter().map(|(_, ty)| *ty).collect();
        LineCopyReader {
            options: options.clone(),
            names: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            builders: types.iter().map(|ty| VectorBuilder::new(*ty, 0)).collect(),
            types,
            special,
            pieces: Pieces::new(row_bytes_max),
            line_end: None,
            spans: Vec::new(),
            scratch: Vec::new(),
            header: options.header,
            ended: false,
            filled: 0,
            line: 0,
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
        let pushed = pieces.push(piece, |bytes| self.read(bytes, false, &mut batch));
        self.pieces = pieces;
        pushed
    }

    /// The last batch, which may be empty. The last line need not have an end.
    pub fn finish(mut self) -> Result<Batch> {
        let kept = self.pieces.take();
        let mut none = |_| Err(Error::internal("a batch that was not full"));
        self.read(&kept, true, &mut none)?;
        Ok(self.take())
    }

    fn take(&mut self) -> Batch {
        let rows = std::mem::take(&mut self.waiting);
        let fresh = self.types.iter().map(|ty| VectorBuilder::new(*ty, 0)).collect();
        let builders = std::mem::replace(&mut self.builders, fresh);
        self.filled = 0;
        Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), rows)
    }

    /// Reads all whole lines, and gives how many bytes they have; `last`: no more bytes come.
    fn read(
        &mut self,
        bytes: &[u8],
        last: bool,
        batch: &mut impl FnMut(Batch) -> Result<()>,
    ) -> Result<usize> {
        let mut at = 0;
        while !self.ended && at < bytes.len() {
            let Some(end) = self.cut(bytes, at, last)? else { return Ok(at) };
            self.line += 1;
            if self.options.is_csv() && self.spans.iter().any(|span| span.quoted) {
                // Lines within quotes count, too, as an editor counts them.
                let inside = &bytes[at..end - usize::from(end > at)];
                self.line += memchr::memchr_iter(b'\n', inside).count() as u64;
            }
            if bytes[at..].starts_with(b"\\.") && self.is_end_mark(&bytes[at..end]) {
                self.ended = true;
                break;
            }
            match std::mem::take(&mut self.header) {
                true if self.options.header_match => self.check_header(bytes)?,
                true => {}
                false => self.row(bytes)?,
            }
            self.filled += end - at;
            at = end;
            let full = self.waiting >= BATCH_ROWS;
            if !last && (full || self.filled >= BATCH_BYTES) {
                batch(self.take())?;
            }
        }
        Ok(if self.ended { bytes.len() } else { at })
    }

    fn is_end_mark(&self, line: &[u8]) -> bool {
        matches!(&line[2..], b"" | b"\n" | b"\r" | b"\r\n")
    }

    /// Cuts the line that begins at `begin` into spans, and gives where the next one begins; `None` when it is not
    /// whole.
    fn cut(&mut self, bytes: &[u8], begin: usize, last: bool) -> Result<Option<usize>> {
        self.spans.clear();
        let csv = self.options.is_csv();
        let (delimiter, quote, escape) = (self.options.delimiter, self.options.quote, self.options.escape);
        let mut span = Span { begin, end: begin, quoted: false, changed: false };
        let (mut at, mut in_quotes) = (begin, false);
        loop {
            while at < bytes.len() && !self.special[usize::from(bytes[at])] {
                at += 1;
            }
            let Some(byte) = bytes.get(at).copied() else {
                if !last {
                    return Ok(None);
                }
                if in_quotes {
                    return Err(self.at_line(bad("unterminated CSV quoted field")));
                }
                self.spans.push(Span { end: at, ..span });
                return Ok(Some(at));
            };
            if in_quotes {
                // The escape may be the quote; it counts only before a quote or itself.
                let next = bytes.get(at + 1).copied();
                if byte == escape && next.is_none() && !last {
                    return Ok(None);
                }
                if byte == escape && next.is_some_and(|next| next == quote || next == escape) {
                    at += 2;
                    continue;
                }
                in_quotes = byte != quote;
                at += 1;
                continue;
            }
            match byte {
                _ if csv && byte == quote => {
                    (span.quoted, span.changed, in_quotes) = (true, true, true);
                    at += 1;
                }
                b'\\' if !csv => {
                    span.changed = true;
                    if at + 1 >= bytes.len() && !last {
                        return Ok(None);
                    }
                    at = bytes.len().min(at + 2);
                }
                b'\n' | b'\r' => match self.line_end(bytes, at, last)? {
                    Some(next) => {
                        self.spans.push(Span { end: at, ..span });
                        return Ok(Some(next));
                    }
                    None => return Ok(None),
                },
                _ if byte == delimiter => {
                    self.spans.push(Span { end: at, ..span });
                    at += 1;
                    span = Span { begin: at, end: at, quoted: false, changed: false };
                }
                // An escape that is no quote means nothing outside of quotes.
                _ => at += 1,
            }
        }
    }

    /// Where the line behind a line's end begins; `None` when that cannot be said yet.
    fn line_end(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<usize>> {
        let followed = bytes.get(at + 1) == Some(&b'\n');
        let found = match bytes[at] {
            b'\n' => LineEnd::Lf,
            _ if at + 1 >= bytes.len() && !last && self.line_end != Some(LineEnd::Cr) => return Ok(None),
            _ if followed && self.line_end != Some(LineEnd::Cr) => LineEnd::CrLf,
            _ => LineEnd::Cr,
        };
        let known = *self.line_end.get_or_insert(found);
        if known != found {
            let csv = self.options.is_csv();
            let sign = if bytes[at] == b'\n' { "newline" } else { "carriage return" };
            let (kind, hint) = match (csv, bytes[at]) {
                (true, _) => ("unquoted", format!("Use quoted CSV field to represent {sign}.")),
                (false, b'\n') => ("literal", "Use \"\\n\" to represent newline.".to_owned()),
                (false, _) => ("literal", "Use \"\\r\" to represent carriage return.".to_owned()),
            };
            return Err(self.at_line(bad(format!("{kind} {sign} found in data")).with_hint(hint)));
        }
        Ok(Some(at + if found == LineEnd::CrLf { 2 } else { 1 }))
    }

    fn at_line(&self, error: Error) -> Error {
        match error.detail() {
            Some(_) => error,
            None => error.with_detail(format!("in line {}", self.line.max(self.rows + 1))),
        }
    }

    fn check_header(&mut self, bytes: &[u8]) -> Result<()> {
        let (found, expected) = (self.spans.len(), self.names.len());
        if found != expected {
            let message =
                format!("wrong number of fields in header line: field count is {found}, expected {expected}");
            return Err(bad(message));
        }
        for place in 0..found {
            let span = self.spans[place];
            let null = !span.quoted && bytes[span.begin..span.end] == *self.options.null.as_bytes();
            let value = self.plain(bytes, span)?;
            let name = String::from_utf8_lossy(value).into_owned();
            if null || name != self.names[place] {
                let got = if null { "null value".to_owned() } else { format!("\"{name}\"") };
                return Err(bad(format!(
                    "column name mismatch in header line field {}: got {got}, expected \"{}\"",
                    place + 1,
                    self.names[place]
                )));
            }
        }
        Ok(())
    }

    fn row(&mut self, bytes: &[u8]) -> Result<()> {
        // A row without columns is an empty line.
        let nothing = self.types.is_empty() && self.spans[0].begin == self.spans[0].end;
        if self.spans.len() > self.types.len() && !nothing {
            return Err(self.at_line(bad("extra data after last expected column")));
        }
        if let Some(missing) = self.names.get(self.spans.len()) {
            return Err(self.at_line(bad(format!("missing data for column \"{missing}\""))));
        }
        for column in 0..self.types.len() {
            let span = self.spans[column];
            if self.is_null(bytes, span, column) {
                self.builders[column].push_null();
                continue;
            }
            let mut scratch = std::mem::take(&mut self.scratch);
            let result = match span.changed {
                false => self.value(column, &bytes[span.begin..span.end]),
                true => match self.unescape(bytes, span, &mut scratch) {
                    Ok(())
                        if span.quoted
                            && self.forces_null(column)
                            && scratch == self.options.null.as_bytes() =>
                    {
                        self.builders[column].push_null();
                        Ok(())
                    }
                    Ok(()) => self.value(column, &scratch),
                    Err(error) => Err(error),
                },
            };
            self.scratch = scratch;
            if let Err(error) = result {
                return Err(match error.detail() {
                    Some(_) => error,
                    None => {
                        error.with_detail(format!("in line {}, column {}", self.line, self.names[column]))
                    }
                });
            }
        }
        self.rows += 1;
        self.waiting += 1;
        Ok(())
    }

    /// Whether the text for NULL stands there, before escapes are undone.
    fn is_null(&self, bytes: &[u8], span: Span, column: usize) -> bool {
        if !self.options.is_csv() {
            return bytes[span.begin..span.end] == *self.options.null.as_bytes();
        }
        // A value in quotes is looked at by `row`, once they are gone.
        let never = self.options.force_not_null.get(column).copied().unwrap_or(false);
        !span.quoted && !never && bytes[span.begin..span.end] == *self.options.null.as_bytes()
    }

    /// Whether quotes do not keep a column's values from being NULL.
    fn forces_null(&self, column: usize) -> bool {
        self.options.force_null.get(column).copied().unwrap_or(false)
    }

    fn plain<'a>(&'a mut self, bytes: &'a [u8], span: Span) -> Result<&'a [u8]> {
        if !span.changed {
            return Ok(&bytes[span.begin..span.end]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let undone = self.unescape(bytes, span, &mut scratch);
        self.scratch = scratch;
        undone.map(|()| self.scratch.as_slice())
    }

    /// The value without quotes and escapes.
    fn unescape(&self, bytes: &[u8], span: Span, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let bytes = &bytes[span.begin..span.end];
        if !self.options.is_csv() {
            unescape_text(bytes, out);
            return Ok(());
        }
        let (quote, escape) = (self.options.quote, self.options.escape);
        let (mut at, mut in_quotes) = (0, false);
        while at < bytes.len() {
            let (byte, next) = (bytes[at], bytes.get(at + 1).copied());
            match in_quotes {
                true if byte == escape && next.is_some_and(|next| next == quote || next == escape) => {
                    out.extend(next);
                    at += 1;
                }
                true if byte == quote => in_quotes = false,
                false if byte == quote => in_quotes = true,
                _ => out.push(byte),
            }
            at += 1;
        }
        Ok(())
    }

    fn value(&mut self, column: usize, bytes: &[u8]) -> Result<()> {
        let (ty, builder) = (self.types[column], &mut self.builders[column]);
        if let Type::Text = ty {
            builder.push_bytes(text_of(bytes)?.as_bytes());
            return Ok(());
        }
        let value = match quick(bytes, ty) {
            Some(value) => value,
            None => decode::value(Some(bytes), Format::Text, ty)?,
        };
        builder.push(&value);
        Ok(())
    }
}

/// The value of the plainest texts of the most usual types; `None` leaves it to the definition.
fn quick(bytes: &[u8], ty: Type) -> Option<Value> {
    match ty {
        Type::SmallInt | Type::Integer | Type::BigInt => Value::of_integer(digits(bytes, 0)?.into(), ty),
        Type::Decimal { precision, scale } => {
            let unscaled = digits(bytes, scale)?.into();
            let fits = types::decimal::fits(unscaled, precision);
            if fits { Value::from_i128(unscaled, ty.physical()) } else { None }
        }
        Type::Date => {
            let [a, b, c, d, b'-', e, f, b'-', g, h] = *bytes else { return None };
            let number = |digits: &[u8]| {
                digits.iter().try_fold(0u32, |sum, digit| {
                    digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
                })
            };
            let (year, month, day) = (number(&[a, b, c, d])? as i32, number(&[e, f])?, number(&[g, h])?);
            let known = year > 0
                && (1..=12).contains(&month)
                && (1..=types::datetime::days_in_month(year, month)).contains(&day);
            known.then(|| Value::I32(days_from_civil(year, month, day)))
        }
        _ => None,
    }
}

/// Digits with a sign, and a point before exactly `scale` of them, as an integer of at most 18 digits.
fn digits(bytes: &[u8], scale: u8) -> Option<i64> {
    let (negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let scale = usize::from(scale);
    let point = if scale > 0 { bytes.len().checked_sub(scale + 1)? } else { usize::MAX };
    if bytes.is_empty() || bytes.len() > 18 || (scale > 0 && (point == 0 || bytes[point] != b'.')) {
        return None;
    }
    let mut sum = 0i64;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => sum = sum * 10 + i64::from(byte - b'0'),
            b'.' if at == point => {}
            _ => return None,
        }
    }
    Some(if negative { -sum } else { sum })
}

fn unescape_text(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((first, tail)) = rest.split_first() else { break };
        rest = tail;
        let number = |rest: &mut &[u8], radix: u32, most: usize, mut sum: u32| {
            for _ in 0..most {
                let Some(digit) = rest.first().and_then(|byte| char::from(*byte).to_digit(radix)) else {
                    break;
                };
                sum = sum * radix + digit;
                *rest = &rest[1..];
            }
            // PostgreSQL keeps the lowest eight bits, too.
            sum as u8
        };
        out.push(match first {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => number(&mut rest, 8, 2, u32::from(first - b'0')),
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => number(&mut rest, 16, 2, 0),
            other => *other,
        });
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests;
