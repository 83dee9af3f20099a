//! From a stretch of a file to batches: records are cut, values read, and what cannot be read is an error or a
//! reject.
//!
//! `reader` finds the stretch of a unit and calls `parse`. A stretch may end inside a record when more bytes follow
//! (`more`); such a record is left, and the place where it begins is returned, so that the caller reads on from
//! there. Rows come out in the order of the file, at most `batch_rows` at a time, and an error is that of the first
//! bad record. With rejects, a bad record is noted with its place and left out, and the walk resumes behind it.

use std::cell::RefCell;
use std::ops::Range;

use plan::file::RECORD_BYTES_MAX;
use types::{Result, SqlState};
use vector::Batch;

use super::columns::{BadValue, Fields};
use super::faults::{Place, Rejected, bad_value, fault_cause, kind_of, value_cause};
use super::header::{other_names, same_names};
use super::reader::{LINE_END_BYTES, TextFiles};
use super::split::{Fault, Records, Span};
use crate::rejects::{RejectKind, Rejecting};

/// A stretch of a file in memory.
pub struct Stretch<'a> {
    /// The file, for messages.
    pub place: Place<'a>,
    /// Where `data` begins in the file.
    pub base: u64,
    /// The bytes of the stretch.
    pub data: &'a [u8],
    /// Places in `data` of delimiters, line ends, quotes and escapes, ascending.
    pub marks: &'a [u32],
    /// Whole records, or with `more` perhaps the beginning of one at the end.
    pub records: Range<usize>,
    /// Bytes follow that were not read.
    pub more: bool,
    /// The first record is the header.
    pub header: bool,
    /// The last record's end was found.
    pub closed: bool,
}

/// What a record turned out to be.
enum Outcome {
    Row,
    /// Left out, and noted.
    Rejected,
    /// The stretch ends in it.
    Cut,
    End,
}

impl TextFiles {
    /// Hands the stretch's rows on. The place behind the last whole record, or `None` when `push` asks for no more.
    pub(super) fn parse(
        &self,
        stretch: &Stretch<'_>,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<Option<usize>> {
        let Stretch { data, marks, records, .. } = stretch;
        let valid = std::str::from_utf8(&data[records.clone()]).is_ok();
        let mut walk = Records::new(data, marks, records.start, records.end, self.dialect);
        let mut record: Vec<Span> = Vec::new();
        if stretch.header {
            let begin = walk.position();
            let header = walk.next(true, &mut record);
            let cut = match header {
                Err(fault) => self.ends_in(stretch, begin, fault),
                Ok(_) => stretch.more && walk.position() >= records.end,
            };
            if cut {
                return Ok(Some(begin));
            }
            if let Err(fault) = header {
                return Err(self.fault(stretch, fault));
            }
            self.check_header(stretch, &record)?;
        }
        let whole = self.slots.len() == self.fields.len();
        let mut spans: Vec<Span> = Vec::with_capacity(self.slots.len() * self.batch_rows);
        loop {
            spans.clear();
            let mut rows = 0;
            let mut pending = None;
            let mut consumed = None;
            while rows < self.batch_rows {
                let out = if whole { &mut spans } else { &mut record };
                let first = if whole { out.len() } else { 0 };
                out.truncate(first);
                let begin = walk.position();
                match self.record(stretch, &mut walk, first, out) {
                    Ok(Outcome::Row) => {}
                    Ok(Outcome::Rejected) => {
                        out.truncate(first);
                        continue;
                    }
                    Ok(Outcome::Cut) => {
                        out.truncate(first);
                        consumed = Some(begin);
                        break;
                    }
                    Ok(Outcome::End) => {
                        consumed = Some(walk.position());
                        break;
                    }
                    Err(fault) => {
                        out.truncate(first);
                        pending = Some(fault);
                        break;
                    }
                }
                if !whole {
                    spans.extend(self.slots.iter().map(|s| record[*s]));
                }
                rows += 1;
            }
            if rows > 0 && !push(self.batch(stretch, &spans, rows, valid)?)? {
                return Ok(None);
            }
            if let Some(fault) = pending {
                return Err(self.fault(stretch, fault));
            }
            if consumed.is_some() {
                return Ok(consumed);
            }
        }
    }

    /// Files that are read together by position must have the same header.
    fn check_header(&self, stretch: &Stretch<'_>, record: &[Span]) -> Result<()> {
        let Some(first) = self.header_names.first().map(|_| &self.header_names) else { return Ok(()) };
        let mut scratch = Vec::new();
        let mut names: Vec<String> = Vec::with_capacity(record.len());
        for span in record {
            let bytes = span.unescaped(stretch.data, &self.dialect, &mut scratch);
            names.push(String::from_utf8_lossy(bytes).trim().to_owned());
        }
        // A delimiter may end each line.
        if self.dialect.trailing
            && names.len() == first.len() + 1
            && names.last().is_some_and(String::is_empty)
        {
            names.pop();
        }
        let path = stretch.place.path();
        if names.is_empty() || same_names(first, &names) || path == self.first_path {
            return Ok(());
        }
        Err(other_names(&self.first_path, first, path, &names, false))
    }

    /// The next record, its fields appended to `out`, where its first one is at `first`.
    #[inline]
    fn record(
        &self,
        stretch: &Stretch<'_>,
        walk: &mut Records<'_>,
        first: usize,
        out: &mut Vec<Span>,
    ) -> std::result::Result<Outcome, Fault> {
        let columns = self.fields.len();
        let begin = walk.position();
        let found = walk.next(columns > 1, out);
        let fault = match found {
            // A comment may be cut as well.
            Ok(None) if begin < walk.position() && self.may_go_on(stretch, begin, walk.position()) => {
                return Ok(Outcome::Cut);
            }
            Ok(None) => return Ok(Outcome::End),
            Ok(Some(_)) if self.may_go_on(stretch, begin, walk.position()) => return Ok(Outcome::Cut),
            Ok(Some(_)) if self.is_open(stretch, walk.position()) => Fault::Unclosed { at: begin, field: 0 },
            Ok(Some(at)) => {
                let found = out.len() - first;
                let long = self.too_long(stretch, at, walk.position());
                if found == columns && long.is_none() {
                    return Ok(Outcome::Row);
                }
                let last_empty = out.last().is_some_and(|s| s.bytes(stretch.data).is_empty() && !s.quoted());
                if self.dialect.trailing && found == columns + 1 && last_empty && long.is_none() {
                    out.pop();
                    return Ok(Outcome::Row);
                }
                if self.null_padding && found < columns && long.is_none() {
                    out.resize(first + columns, Span::NONE);
                    return Ok(Outcome::Row);
                }
                long.unwrap_or(Fault::Fields { at, found })
            }
            Err(fault) if self.ends_in(stretch, begin, fault) => return Ok(Outcome::Cut),
            Err(fault) => fault,
        };
        let Some(rejects) = &self.rejects else { return Err(fault) };
        self.note_fault(stretch, (rejects, fault), begin, &out[first..]);
        if !matches!(fault, Fault::Fields { .. } | Fault::Long { .. }) {
            walk.resume(fault.place());
        }
        Ok(Outcome::Rejected)
    }

    /// Notes a record that is left out; of one with another number of values than there are columns, each that is missing
    /// or too many.
    #[cold]
    fn note_fault(
        &self,
        stretch: &Stretch<'_>,
        (rejects, fault): (&Rejecting, Fault),
        begin: usize,
        spans: &[Span],
    ) {
        let (column, cause, _) =
            fault_cause(stretch.data, fault, stretch.closed, &self.fields, &self.dialect);
        let text = self.text_of(stretch, begin);
        let line = begin + stretch.data[begin..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let note = |at: usize, column: Option<(usize, Option<&str>)>| {
            let (at, line_at) = (stretch.base + at as u64, stretch.base + line as u64);
            let kind = kind_of(fault, self.fields.len());
            stretch.place.reject(rejects, Rejected { at, line_at, column, kind, text, cause: cause.clone() });
        };
        match fault {
            Fault::Fields { found, .. } if found < self.fields.len() => {
                let end = line + text.strip_suffix(b"\r").unwrap_or(text).len();
                for (missing, field) in self.fields.iter().enumerate().skip(found) {
                    note(end, Some((missing, Some(&field.name))));
                }
            }
            Fault::Fields { .. } => {
                for (number, span) in spans.iter().enumerate().skip(self.fields.len()) {
                    note(span.start().saturating_sub(1), Some((number, None)));
                }
            }
            Fault::StrayQuote { at, field }
            | Fault::AfterQuote { at, field }
            | Fault::Unclosed { at, field } => {
                note(at, Some((field, column.as_deref())));
            }
            Fault::Long { at, .. } => note(at, None),
        }
    }

    /// What is wrong with a record that has more bytes than it may have, its line end left out.
    #[inline]
    fn too_long(&self, stretch: &Stretch<'_>, at: usize, end: usize) -> Option<Fault> {
        let limit = self.dialect.record_bytes_max;
        if end - at <= limit {
            return None;
        }
        let line = &stretch.data[at..end];
        let line = line.strip_suffix(&[self.dialect.newline]).unwrap_or(line);
        let bytes = line.strip_suffix(b"\r").unwrap_or(line).len();
        (bytes > limit).then_some(Fault::Long { at, bytes })
    }

    /// Whether a record from `begin` to `end` may go on behind the stretch.
    fn may_go_on(&self, stretch: &Stretch<'_>, begin: usize, end: usize) -> bool {
        stretch.more && self.is_open(stretch, end) && self.may_grow(stretch, begin)
    }

    /// Whether the stretch ends at `end` and the line does not.
    fn is_open(&self, stretch: &Stretch<'_>, end: usize) -> bool {
        let last = end.checked_sub(1).and_then(|at| stretch.data.get(at));
        !stretch.closed && end >= stretch.records.end && last != Some(&self.dialect.newline)
    }

    /// Whether what looks wrong is in the last line, whose rest is behind the stretch, or in a quote that may still end.
    fn ends_in(&self, stretch: &Stretch<'_>, begin: usize, fault: Fault) -> bool {
        let rest = stretch.data.get(fault.place()..stretch.records.end).unwrap_or_default();
        let open =
            matches!(fault, Fault::Unclosed { .. }) || memchr::memchr(self.dialect.newline, rest).is_none();
        stretch.more && open && self.may_grow(stretch, begin)
    }

    /// Whether more may be read of a record that the stretch cuts. Records up to the usual length are read to their end, so
    /// that one that is too long is told from the next one.
    fn may_grow(&self, stretch: &Stretch<'_>, begin: usize) -> bool {
        stretch.records.end - begin < self.dialect.record_bytes_max.max(RECORD_BYTES_MAX) + LINE_END_BYTES
    }

    /// The line that begins at `begin`.
    fn text_of<'a>(&self, stretch: &Stretch<'a>, begin: usize) -> &'a [u8] {
        let rest = &stretch.data[begin..];
        // Blank lines before the record are no part of it.
        let blank = rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        rest[blank..].split(|b| *b == self.dialect.newline).next().unwrap_or_default()
    }

    fn batch(&self, stretch: &Stretch<'_>, spans: &[Span], rows: usize, valid: bool) -> Result<Batch> {
        let width = self.slots.len();
        let data = stretch.data;
        let bad = RefCell::new(Vec::new());
        let mut all_bad: Vec<(usize, usize, BadValue)> = Vec::new();
        let mut vectors = Vec::with_capacity(width);
        let mut worst: Option<(usize, BadValue)> = None;
        let mut until = rows;
        for (slot, column) in self.slots.iter().enumerate() {
            // After a bad value only an earlier one is of interest.
            let fields = Fields {
                data,
                spans: &spans[..until * width],
                width,
                dialect: &self.dialect,
                forms: &self.forms,
                pattern: self.forms.pattern(*column),
                valid,
                json: false,
                found: self.forms.found(*column),
                bad: self.rejects.is_some().then_some(&bad),
            };
            if until == 0 {
                break;
            }
            match fields.column(slot, self.fields[*column].ty) {
                Ok(vector) => vectors.push(vector),
                Err(value) => {
                    until = value.row;
                    worst = Some((slot, value));
                }
            }
            all_bad.extend(bad.take().into_iter().map(|value| (value.row, slot, value)));
        }
        let field = |slot: usize| &self.fields[self.slots[slot]];
        let span = |row: usize, slot: usize| spans[row * width + slot];
        if let Some((slot, value)) = worst {
            let span = span(value.row, slot);
            let at = stretch.base + span.start() as u64;
            let text = span.bytes(data);
            return Err(bad_value(&stretch.place, at, text, field(slot), &value.error, true));
        }
        let columns = self.order.iter().map(|slot| vectors[*slot].clone()).collect();
        let batch = Batch::new(columns, rows);
        let Some(rejects) = self.rejects.as_ref().filter(|_| !all_bad.is_empty()) else { return Ok(batch) };
        all_bad.sort_by_key(|(row, slot, _)| (*row, *slot));
        let mut keep = vec![true; rows];
        for (row, slot, value) in &all_bad {
            keep[*row] = false;
            let span = span(*row, *slot);
            let cause = value_cause(span.bytes(data), field(*slot), &value.error);
            let line =
                data[..span.start()].iter().rposition(|b| *b == self.dialect.newline).map_or(0, |at| at + 1);
            let at = stretch.base + span.start() as u64;
            let text = self.text_of(stretch, line);
            let column = Some((self.slots[*slot], Some(field(*slot).name.as_str())));
            let (kind, line_at) = (RejectKind::Cast, stretch.base + line as u64);
            stretch.place.reject(rejects, Rejected { at, line_at, column, kind, text, cause });
        }
        let rows: Vec<u32> = (0..rows as u32).filter(|row| keep[*row as usize]).collect();
        Ok(batch.gather(&rows))
    }

    fn fault(&self, stretch: &Stretch<'_>, fault: Fault) -> types::Error {
        let (column, cause, hint) =
            fault_cause(stretch.data, fault, stretch.closed, &self.fields, &self.dialect);
        let at = stretch.base + fault.place() as u64;
        stretch.place.error(SqlState::BadCopyFormat, at, column.as_deref(), &cause).with_hint(hint)
    }
}
