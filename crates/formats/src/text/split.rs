//! From bytes to records and fields.
//!
//! One vectorised pass finds the bytes that can matter (delimiters, line ends, quotes); the walk over these marks then
//! costs a step a field. Fields are spans of the bytes: nothing is copied until a value is parsed.

use super::dialect::Dialect;

const QUOTED: u32 = 1 << 31;
const ESCAPED: u32 = 1 << 30;
/// Spans hold lengths below this; buffers are far smaller.
const LENGTH: u32 = ESCAPED - 1;

/// Where a field lies, its quotes left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    start: u32,
    length: u32,
}

impl Span {
    #[inline]
    fn new(start: usize, end: usize, flags: u32) -> Self {
        Span { start: start as u32, length: (end - start) as u32 | flags }
    }
    #[inline]
    pub fn bytes<'a>(self, data: &'a [u8]) -> &'a [u8] {
        &data[self.start as usize..self.start as usize + (self.length & LENGTH) as usize]
    }
    pub fn start(self) -> usize {
        self.start as usize
    }
    #[inline]
    pub fn quoted(self) -> bool {
        self.length & QUOTED != 0
    }
    /// Holds doubled quotes.
    #[inline]
    pub fn escaped(self) -> bool {
        self.length & ESCAPED != 0
    }
    /// The value's bytes; `scratch` holds them when they differ from the file's.
    #[inline]
    pub fn unescaped<'a>(self, data: &'a [u8], quote: Option<u8>, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let raw = self.bytes(data);
        let Some(quote) = quote.filter(|_| self.escaped()) else { return raw };
        scratch.clear();
        let mut rest = raw;
        while let Some(at) = memchr::memchr(quote, rest) {
            scratch.extend_from_slice(&rest[..=at]);
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        scratch.extend_from_slice(rest);
        scratch
    }
}

/// Appends to `out` the places in `data[from..]` that hold a delimiter, a line end or a quote.
pub fn append_marks(data: &[u8], from: usize, dialect: Dialect, out: &mut Vec<u32>) {
    const PIECE: usize = 16 * 1024;
    let mut words = [0u64; PIECE / 64];
    for (number, piece) in data[from..].chunks(PIECE).enumerate() {
        let words = &mut words[..piece.len().div_ceil(64)];
        words.fill(u64::MAX);
        simd::and_range(piece, dialect.delimiter, dialect.delimiter, true, words);
        simd::and_range(piece, b'\n', b'\n', true, words);
        if let Some(quote) = dialect.quote {
            simd::and_range(piece, quote, quote, true, words);
        }
        let base = from + number * PIECE;
        for (at, word) in words.iter().enumerate() {
            let mut bits = !word;
            let here = piece.len() - at * 64;
            if here < 64 {
                bits &= (1 << here) - 1;
            }
            while bits != 0 {
                out.push((base + at * 64) as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}

/// The place after the first line end at or behind `from` that stands outside quotes; `inside` says how it stands at
/// the first mark.
pub fn next_record(
    data: &[u8],
    marks: &[u32],
    from: usize,
    mut inside: bool,
    quote: Option<u8>,
) -> Option<usize> {
    for mark in marks {
        let at = *mark as usize;
        let byte = data[at];
        if Some(byte) == quote {
            inside = !inside;
        } else if byte == b'\n' && !inside && at >= from {
            return Some(at + 1);
        }
    }
    None
}

/// What is wrong with a record, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A quote in a value that does not begin with one.
    StrayQuote { at: usize, field: usize },
    /// Something other than a delimiter after a closing quote.
    AfterQuote { at: usize, field: usize },
    /// A quoted value that does not end.
    Unclosed { at: usize, field: usize },
    /// Another number of fields than the file has columns.
    Fields { at: usize, found: usize },
}

impl Fault {
    pub fn place(self) -> usize {
        match self {
            Fault::StrayQuote { at, .. }
            | Fault::AfterQuote { at, .. }
            | Fault::Unclosed { at, .. }
            | Fault::Fields { at, .. } => at,
        }
    }
}

/// Walks the records of `data[position..end]`.
pub struct Records<'a> {
    data: &'a [u8],
    marks: &'a [u32],
    next: usize,
    position: usize,
    end: usize,
    dialect: Dialect,
}

impl<'a> Records<'a> {
    /// `marks` are those of `data`; `end` is the end of a record or of the file.
    pub fn new(data: &'a [u8], marks: &'a [u32], position: usize, end: usize, dialect: Dialect) -> Self {
        let next = marks.partition_point(|m| (*m as usize) < position);
        Records { data, marks, next, position, end, dialect }
    }

    /// The next mark within the range.
    #[inline]
    fn mark(&self) -> Option<usize> {
        self.marks.get(self.next).map(|m| *m as usize).filter(|m| *m < self.end)
    }

    /// Appends the next record's fields to `out` and returns where the record begins; `None` at the end. Empty lines
    /// are passed over when `skip_empty`.
    #[inline]
    pub fn next(&mut self, skip_empty: bool, out: &mut Vec<Span>) -> Result<Option<usize>, Fault> {
        loop {
            if self.position >= self.end {
                return Ok(None);
            }
            let begin = self.position;
            let first = out.len();
            self.fields(first, out)?;
            if skip_empty && out.len() == first + 1 && out[first].length == 0 {
                out.truncate(first);
                continue;
            }
            return Ok(Some(begin));
        }
    }

    #[inline]
    fn fields(&mut self, first: usize, out: &mut Vec<Span>) -> Result<(), Fault> {
        let mut start = self.position;
        loop {
            let mut mark = self.mark();
            let mut span = None;
            if let (Some(at), Some(quote)) = (mark, self.dialect.quote)
                && self.data[at] == quote
            {
                if at != start {
                    return Err(Fault::StrayQuote { at, field: out.len() - first });
                }
                span = Some(self.quoted(start, quote, out.len() - first)?);
                mark = self.mark();
            }
            let (end, more) = match mark {
                Some(at) => {
                    self.next += 1;
                    self.position = at + 1;
                    (at, self.data[at] == self.dialect.delimiter)
                }
                None => {
                    self.position = self.end;
                    (self.end, false)
                }
            };
            match span {
                Some((span, close)) => {
                    let rest = &self.data[close..end];
                    if !(rest.is_empty() || (!more && rest == b"\r")) {
                        return Err(Fault::AfterQuote { at: close, field: out.len() - first });
                    }
                    out.push(span);
                }
                None => {
                    let cut = !more && end > start && self.data[end - 1] == b'\r';
                    out.push(Span::new(start, end - usize::from(cut), 0));
                }
            }
            if !more {
                return Ok(());
            }
            start = self.position;
            if start >= self.end {
                // A delimiter is the last byte: an empty field follows it.
                out.push(Span::new(start, start, 0));
                return Ok(());
            }
        }
    }

    /// The quoted field whose opening quote is the next mark, and the place behind its closing quote.
    fn quoted(&mut self, open: usize, quote: u8, field: usize) -> Result<(Span, usize), Fault> {
        self.next += 1;
        let mut flags = QUOTED;
        loop {
            let Some(at) = self.mark() else { return Err(Fault::Unclosed { at: open, field }) };
            self.next += 1;
            if self.data[at] != quote {
                continue;
            }
            if at + 1 < self.end && self.data[at + 1] == quote {
                flags |= ESCAPED;
                self.next += 1;
                continue;
            }
            return Ok((Span::new(open + 1, at, flags), at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Result<Vec<Vec<String>>, Fault> {
        let dialect = Dialect { delimiter: b',', quote: Some(b'"'), trailing: false };
        let data = text.as_bytes();
        let mut marks = Vec::new();
        append_marks(data, 0, dialect, &mut marks);
        let mut records = Records::new(data, &marks, 0, data.len(), dialect);
        let mut rows = Vec::new();
        let mut spans = Vec::new();
        let mut scratch = Vec::new();
        while records.next(true, &mut spans)?.is_some() {
            rows.push(
                spans
                    .drain(..)
                    .map(|s| String::from_utf8(s.unescaped(data, Some(b'"'), &mut scratch).to_vec()).unwrap())
                    .collect(),
            );
        }
        Ok(rows)
    }

    #[test]
    fn fields_lines_and_quotes() {
        assert_eq!(split("a,b\nc,\n").unwrap(), [["a", "b"], ["c", ""]]);
        assert_eq!(split("a,b\r\n\r\nc,d").unwrap(), [["a", "b"], ["c", "d"]]);
        assert_eq!(split("\"x,\n\"\"y\"\"\",2\r\n").unwrap(), [["x,\n\"y\"", "2"]]);
        assert_eq!(split("a,").unwrap(), [["a", ""]]);
        assert_eq!(split("\"\"").unwrap(), [[""]]);
        assert!(split("").unwrap().is_empty());
    }

    #[test]
    fn misplaced_quotes_are_faults() {
        assert_eq!(split("a,b\"c\n"), Err(Fault::StrayQuote { at: 3, field: 1 }));
        assert_eq!(split("\"a\"b,c\n"), Err(Fault::AfterQuote { at: 3, field: 0 }));
        assert_eq!(split("a,\"bc\n"), Err(Fault::Unclosed { at: 2, field: 1 }));
    }

    #[test]
    fn marks_are_found_across_pieces() {
        let dialect = Dialect { delimiter: b'|', quote: None, trailing: true };
        let data: Vec<u8> = (0..40_001usize).map(|i| if i % 7 == 0 { b'|' } else { b'"' }).collect();
        let mut marks = Vec::new();
        append_marks(&data, 3, dialect, &mut marks);
        let expected: Vec<u32> = (3..40_001u32).filter(|i| i % 7 == 0).collect();
        assert_eq!(marks, expected);
    }
}
