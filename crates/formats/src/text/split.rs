//! From bytes to records and fields.
//!
//! One vectorised pass finds the bytes that can matter (delimiters, line ends, quotes); the walk over these marks then
//! costs a step a field. Fields are spans of the bytes: nothing is copied until a value is parsed.

use types::stop::{Place, UnwindingPace};

use super::dialect::Dialect;

const QUOTED: u32 = 1 << 31;
const ESCAPED: u32 = 1 << 30;
/// There is no such field.
const MISSING: u32 = 1 << 29;
/// Spans hold lengths below this; buffers are far smaller.
const LENGTH: u32 = MISSING - 1;

/// Where a field lies, its quotes left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    start: u32,
    length: u32,
}

impl Span {
    /// A field that the record does not have; it is read as NULL.
    pub const NONE: Span = Span { start: 0, length: MISSING };

    /// The field of `length` bytes at `start`, without its quotes and without escapes.
    pub fn of(start: usize, length: usize, quoted: bool) -> Span {
        Span::new(start, start + length, if quoted { QUOTED } else { 0 })
    }

    #[inline]
    fn new(start: usize, end: usize, flags: u32) -> Self {
        Span { start: start as u32, length: (end - start) as u32 | flags }
    }
    /// The field's bytes as they stand in the file, between the quotes.
    #[inline]
    pub fn bytes(self, data: &[u8]) -> &[u8] {
        &data[self.start as usize..self.start as usize + (self.length & LENGTH) as usize]
    }
    /// Offset of the first byte in the data.
    pub fn start(self) -> usize {
        self.start as usize
    }
    /// The field was quoted, so that its text is never NULL.
    #[inline]
    pub fn quoted(self) -> bool {
        self.length & QUOTED != 0
    }
    /// The record has no such field.
    #[inline]
    pub fn missing(self) -> bool {
        self.length & MISSING != 0
    }
    /// Holds quotes that stand behind another or behind an escape.
    #[inline]
    pub fn escaped(self) -> bool {
        self.length & ESCAPED != 0
    }
    /// The value's bytes; `scratch` holds them when they differ from the file's.
    #[inline]
    pub fn unescaped<'a>(self, data: &'a [u8], dialect: &Dialect, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let raw = self.bytes(data);
        let Some(quote) = dialect.quote.filter(|_| self.escaped()) else { return raw };
        let escape = dialect.escape.unwrap_or(quote);
        scratch.clear();
        let mut rest = raw;
        while let Some(at) = memchr::memchr(escape, rest) {
            let next = rest.get(at + 1).copied();
            let escapes = next.is_some_and(|b| b == quote || b == escape);
            scratch.extend_from_slice(&rest[..at + usize::from(!escapes)]);
            scratch.extend(next.filter(|_| escapes));
            rest = rest.get(at + 1 + usize::from(escapes)..).unwrap_or_default();
        }
        scratch.extend_from_slice(rest);
        scratch
    }
}

/// Appends to `out` the places in `data[from..]` that hold a delimiter, a line end or a quote.
pub fn append_marks(data: &[u8], from: usize, dialect: Dialect, out: &mut Vec<u32>) {
    const PIECE: usize = 16 * 1024;
    let mut words = [0u64; PIECE / 64];
    let whole = dialect.delimiter_before() == 0;
    let mut pace = UnwindingPace::new(Place::Sniff);
    for (number, piece) in data[from..].chunks(PIECE).enumerate() {
        pace.unwind_if_stopped(piece.len());
        let words = &mut words[..piece.len().div_ceil(64)];
        words.fill(u64::MAX);
        simd::and_range(piece, dialect.delimiter, dialect.delimiter, true, words);
        simd::and_range(piece, dialect.newline, dialect.newline, true, words);
        if let Some(quote) = dialect.quote {
            simd::and_range(piece, quote, quote, true, words);
        }
        if let Some(escape) = dialect.escape {
            simd::and_range(piece, escape, escape, true, words);
        }
        let base = from + number * PIECE;
        for (at, word) in words.iter().enumerate() {
            let mut bits = !word;
            let here = piece.len() - at * 64;
            if here < 64 {
                bits &= (1 << here) - 1;
            }
            while bits != 0 {
                let place = (base + at * 64) as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                // The last byte of a longer delimiter may stand for itself.
                if whole
                    || data[place as usize] != dialect.delimiter
                    || dialect.ends_delimiter(data, place as usize)
                {
                    out.push(place);
                }
            }
        }
    }
}

/// The place after the first line end at or behind `from` that stands outside quotes; `inside` says how it stands at
/// the first mark. For dialects that count quotes.
pub fn next_record(
    data: &[u8],
    marks: &[u32],
    from: usize,
    mut inside: bool,
    dialect: &Dialect,
) -> Option<usize> {
    for mark in marks {
        let at = *mark as usize;
        let byte = data[at];
        if Some(byte) == dialect.quote {
            inside = !inside;
        } else if byte == dialect.newline && !inside && at >= from {
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
    /// More bytes than a record may have.
    Long { at: usize, bytes: usize },
}

impl Fault {
    /// The offset in the data at which the fault shows.
    pub fn place(self) -> usize {
        match self {
            Fault::StrayQuote { at, .. }
            | Fault::AfterQuote { at, .. }
            | Fault::Unclosed { at, .. }
            | Fault::Fields { at, .. }
            | Fault::Long { at, .. } => at,
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

    /// Where the next record begins.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Goes on behind the first line end at or after `from`, whatever it stands in.
    pub fn resume(&mut self, from: usize) {
        let rest = self.data.get(from..self.end).unwrap_or_default();
        let newline = memchr::memchr(self.dialect.newline, rest);
        self.position = newline.map_or(self.end, |at| from + at + 1);
        self.next = self.marks.partition_point(|m| (*m as usize) < self.position);
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
            if self.dialect.comment.is_some_and(|comment| self.data[begin] == comment) {
                self.resume(begin);
                continue;
            }
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
        let before = self.dialect.delimiter_before();
        loop {
            self.pass_overlapping(start, before);
            let mut mark = self.mark();
            let mut span = None;
            if let (Some(at), Some(quote)) = (mark, self.dialect.quote)
                && self.data[at] != self.dialect.delimiter
                && self.data[at] != self.dialect.newline
            {
                let opens = self.data[at] == quote
                    && (at == start || (self.dialect.lenient && blank(&self.data[start..at])));
                if opens && self.dialect.lenient {
                    span = Some(self.quoted_leniently(at, quote, out.len() - first)?);
                } else if opens {
                    span = Some(self.quoted(at, quote, out.len() - first)?);
                } else if self.data[at] == quote && !self.dialect.lenient {
                    return Err(Fault::StrayQuote { at, field: out.len() - first });
                } else {
                    // Quotes and escapes in the midst of a value are part of it.
                    self.pass_quotes();
                }
                mark = self.mark();
                if span.is_some() && mark.is_some_and(|at| !self.separates(at)) {
                    // The end of the field is behind whatever follows the closing quote.
                    self.pass_quotes();
                    mark = self.mark();
                }
            }
            let (end, more) = match mark {
                Some(at) => {
                    self.next += 1;
                    self.position = at + 1;
                    let more = self.data[at] == self.dialect.delimiter;
                    (if more { at - before } else { at }, more)
                }
                None => {
                    self.position = self.end;
                    (self.end, false)
                }
            };
            match span {
                Some((span, close)) => {
                    let rest = &self.data[close..end];
                    let clean = rest.is_empty() || (!more && rest == b"\r");
                    if !(clean || (self.dialect.lenient && blank(rest))) {
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

    /// Passes ends of delimiters that begin before a field does: of `|||` the first two are one.
    #[inline]
    fn pass_overlapping(&mut self, start: usize, before: usize) {
        if before == 0 {
            return;
        }
        while let Some(at) = self.mark()
            && at < start + before
            && self.data[at] == self.dialect.delimiter
        {
            self.next += 1;
        }
    }

    #[inline]
    fn separates(&self, at: usize) -> bool {
        let byte = self.data[at];
        byte == self.dialect.delimiter || byte == self.dialect.newline
    }

    /// Passes marks over up to the next delimiter or line end.
    fn pass_quotes(&mut self) {
        while self.mark().is_some_and(|at| !self.separates(at)) {
            self.next += 1;
        }
    }

    /// The quoted field whose opening quote is the next mark, and the place behind its closing quote.
    fn quoted(&mut self, open: usize, quote: u8, field: usize) -> Result<(Span, usize), Fault> {
        self.next += 1;
        let mut flags = QUOTED;
        loop {
            let Some(at) = self.mark() else { return Err(Fault::Unclosed { at: open, field }) };
            self.next += 1;
            let byte = self.data[at];
            if self.dialect.escape == Some(byte) {
                flags |= ESCAPED;
                // What is escaped is no mark of its own.
                if self.mark() == Some(at + 1) {
                    self.next += 1;
                }
                continue;
            }
            if byte != quote {
                continue;
            }
            if self.dialect.escape.is_none() && at + 1 < self.end && self.data[at + 1] == quote {
                flags |= ESCAPED;
                self.next += 1;
                continue;
            }
            return Ok((Span::new(open + 1, at, flags), at + 1));
        }
    }

    /// As `quoted`, with a closing quote being one that a delimiter or a line end follows, perhaps behind blanks.
    fn quoted_leniently(&mut self, open: usize, quote: u8, field: usize) -> Result<(Span, usize), Fault> {
        self.next += 1;
        let mut flags = QUOTED;
        while let Some(at) = self.mark() {
            self.next += 1;
            let byte = self.data[at];
            let escapes = byte == self.dialect.escape.unwrap_or(quote);
            if escapes && self.mark() == Some(at + 1) && self.data[at + 1] == quote {
                flags |= ESCAPED;
                self.next += 1;
                continue;
            }
            if byte != quote {
                continue;
            }
            let end = match self.mark() {
                Some(next) if self.data[next] == self.dialect.delimiter => {
                    next - self.dialect.delimiter_before()
                }
                next => next.unwrap_or(self.end),
            };
            if blank(self.data.get(at + 1..end).unwrap_or_default())
                && self.mark().is_none_or(|next| self.separates(next))
            {
                return Ok((Span::new(open + 1, at, flags), at + 1));
            }
            flags |= ESCAPED;
        }
        Err(Fault::Unclosed { at: open, field })
    }
}

fn blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Result<Vec<Vec<String>>, Fault> {
        split_as(text, Dialect::simple(b',', Some(b'"')))
    }

    fn split_as(text: &str, dialect: Dialect) -> Result<Vec<Vec<String>>, Fault> {
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
                    .map(|s| String::from_utf8(s.unescaped(data, &dialect, &mut scratch).to_vec()).unwrap())
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
    fn escapes_comments_and_lenient_quotes() {
        let comma = Dialect::simple(b',', Some(b'"'));
        let backslash = Dialect { escape: Some(b'\\'), ..comma };
        assert_eq!(
            split_as("\"a\\\"b\\\\\",c\\d\n\"x\\y\",\"\"\n", backslash).unwrap(),
            [["a\"b\\", "c\\d"], ["x\\y", ""]]
        );
        let comment = Dialect { comment: Some(b'#'), ..comma };
        assert_eq!(split_as("# \"one\na,#b\n#\nc,d", comment).unwrap(), [["a", "#b"], ["c", "d"]]);
        let old = Dialect { newline: b'\r', ..comma };
        assert_eq!(split_as("a,b\rc,d\r", old).unwrap(), [["a", "b"], ["c", "d"]]);
        let lenient = Dialect { lenient: true, ..comma };
        assert_eq!(
            split_as("a\"b, \"c,d\" \n\"say \"hi\" now\",\"x\"\"y\"\n", lenient).unwrap(),
            [["a\"b", "c,d"], ["say \"hi\" now", "x\"y"]]
        );
        assert_eq!(split_as("a,\"b\nc", lenient), Err(Fault::Unclosed { at: 2, field: 1 }));
    }

    #[test]
    fn marks_are_found_across_pieces() {
        let dialect = Dialect { trailing: true, ..Dialect::simple(b'|', None) };
        let data: Vec<u8> = (0..40_001usize).map(|i| if i % 7 == 0 { b'|' } else { b'"' }).collect();
        let mut marks = Vec::new();
        append_marks(&data, 3, dialect, &mut marks);
        let expected: Vec<u32> = (3..40_001u32).filter(|i| i % 7 == 0).collect();
        assert_eq!(marks, expected);
    }
}
