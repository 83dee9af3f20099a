//! Parts of a file that are looked at before it is read, cut into records.
//!
//! A `Sample` holds the bytes of the file's head, or of a place further on. `records` cuts it under a dialect and
//! gives cells as texts; a record that the sample's end cuts off is left out, unless it is the only one. The dialect
//! need not be the file's: `sniff` cuts the same sample under several and compares the counts of faults and quoted
//! values. Long walks stop with the statement, by unwinding.

use plan::file::RECORD_BYTES_MAX;
use types::Result;
use types::stop::{Place, UnwindingPace};

use super::dialect::Dialect;
use super::split::{Records, Span, append_marks, next_record};
use crate::input::Input;

const HEAD_BYTES: u64 = 1 << 20;
const PLACE_BYTES: u64 = 32 << 10;
const PLACES: u64 = 12;
/// Bytes in memory of a file whose every record is asked for, at most.
const WHOLE_BYTES_MAX: u64 = 1 << 30;

/// A value of the sample; `None` for NULL.
pub type Cell = Option<String>;

/// Part of a file, cut into records.
pub struct Sample {
    /// The bytes, from the beginning of the sample.
    pub data: Vec<u8>,
    /// The file ends with it.
    last: bool,
}

/// What a sample's records are.
#[derive(Default)]
pub struct Cut {
    /// The cells of the sound records.
    pub rows: Vec<Vec<Cell>>,
    /// Records that are not sound; the rows end at the first, unless all were asked for.
    pub faults: usize,
    /// The places of the rows' first bytes.
    pub begins: Vec<usize>,
    /// Values in quotes.
    pub quoted: usize,
}

impl Sample {
    /// The beginning of the file from `begin` on; more of it when it holds no whole line.
    pub fn head(input: &Input, begin: u64, records: Option<u64>) -> Result<Sample> {
        let mut bytes = HEAD_BYTES;
        if let Some(records) = records {
            bytes = bytes.max(records.saturating_mul(256)).min(WHOLE_BYTES_MAX);
        }
        loop {
            let mut data = Vec::new();
            input.append(begin, begin + bytes, &mut data)?;
            let last = begin + bytes >= input.length;
            let line = memchr::memchr2(b'\n', b'\r', &data).is_some();
            if last || line || bytes > RECORD_BYTES_MAX as u64 {
                return Ok(Sample { data, last });
            }
            bytes *= 4;
        }
    }

    /// Records until something is wrong (or past what is wrong, with `all`) or `limit` are read. `start` is the place
    /// of a record, or `None` for the next one when the sample begins inside quotes or not.
    pub fn records(
        &self,
        dialect: Dialect,
        start: Option<usize>,
        inside: bool,
        null_texts: &[String],
        limit: usize,
        all: bool,
    ) -> Cut {
        let mut marks = Vec::new();
        append_marks(&self.data, 0, dialect, &mut marks);
        let begin = match start {
            Some(start) => Some(start),
            None => next_record(&self.data, &marks, 0, inside, &dialect),
        };
        let Some(begin) = begin else { return Cut::default() };
        let end = if self.last {
            self.data.len()
        } else if dialect.counts_quotes() {
            let mut within = inside;
            let mut end = None;
            for mark in &marks {
                let at = *mark as usize;
                if Some(self.data[at]) == dialect.quote {
                    within = !within;
                } else if self.data[at] == dialect.newline && !within {
                    end = Some(at + 1);
                }
            }
            // A record that fills the sample: its first part still says what there is.
            end.filter(|e| *e > begin).unwrap_or(self.data.len())
        } else {
            let end = memchr::memrchr(dialect.newline, &self.data).map(|at| at + 1);
            end.filter(|e| *e > begin).unwrap_or(self.data.len())
        };
        let mut walk = Records::new(&self.data, &marks, begin, end, dialect);
        let mut cut = Cut::default();
        let mut spans: Vec<Span> = Vec::new();
        let mut scratch = Vec::new();
        let mut pace = UnwindingPace::new(Place::Sniff);
        while cut.rows.len() < limit {
            pace.unwind_if_stopped(100 * (1 + spans.len()));
            spans.clear();
            match walk.next(true, &mut spans) {
                Ok(None) => break,
                Ok(Some(at)) => cut.begins.push(at),
                Err(fault) => {
                    cut.faults += 1;
                    if !all {
                        break;
                    }
                    walk.resume(fault.place());
                    continue;
                }
            }
            let ends_empty = spans.last().is_some_and(|s| s.bytes(&self.data).is_empty());
            if dialect.trailing && spans.len() > 1 && ends_empty {
                spans.pop();
            }
            cut.quoted += spans.iter().filter(|s| s.quoted()).count();
            let cell = |span: &Span| {
                let bytes = span.unescaped(&self.data, &dialect, &mut scratch);
                // An empty value in quotes says nothing about the type.
                let null =
                    bytes.is_empty() || (!span.quoted() && null_texts.iter().any(|t| t.as_bytes() == bytes));
                (!null).then(|| String::from_utf8_lossy(bytes).into_owned())
            };
            cut.rows.push(spans.iter().map(cell).collect());
        }
        cut
    }
}

/// Records at places behind the head. Whether a place lies inside quotes is not known: of the two readings the one
/// that gives sound records counts, and a place where neither does is passed over.
pub fn places(
    input: &Input,
    dialect: Dialect,
    null_texts: &[String],
    columns: usize,
) -> Result<Vec<Vec<Vec<Cell>>>> {
    let mut found = Vec::new();
    let rest = input.length.saturating_sub(HEAD_BYTES + PLACE_BYTES);
    if rest == 0 {
        return Ok(found);
    }
    for place in 1..=PLACES {
        let from = HEAD_BYTES + rest / PLACES * place;
        let mut data = Vec::new();
        input.append(from, from + PLACE_BYTES, &mut data)?;
        let sample = Sample { data, last: from + PLACE_BYTES >= input.length };
        for inside in [false, true] {
            if inside && (dialect.quote.is_none() || !dialect.counts_quotes()) {
                break;
            }
            let cut = sample.records(dialect, None, inside, null_texts, usize::MAX, false);
            if cut.faults == 0 && !cut.rows.is_empty() && cut.rows.iter().all(|r| r.len() == columns) {
                found.push(cut.rows);
                break;
            }
        }
    }
    Ok(found)
}
