//! What is wrong with a text file, said with its place: file, line, column, text and cause.
//!
//! Lines are counted only when something is wrong, and every part of a file once at most, however much is wrong in it.
//! Called by `reader` and `parse` at the first fault, and for each record that ignore_errors passes over.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Field, SqlState, Type};

use super::dialect::Dialect;
use super::reader::text_begin;
use super::split::Fault;
use crate::input::Input;
use crate::rejects::{Reject, RejectKind, Rejecting};

const STEP_BYTES: u64 = 1 << 20;
const UNKNOWN: u64 = u64::MAX;
/// Characters of a record's text that a reject keeps.
const REJECT_TEXT_CHARACTERS: usize = 1000;

/// Line ends of a file by its mebibytes, as far as they were counted.
pub struct Lines {
    newline: u8,
    counts: Vec<AtomicU64>,
}

impl Lines {
    /// No lines of the file are counted yet.
    pub fn of(input: &Input, newline: u8) -> Lines {
        let steps = input.length.div_ceil(STEP_BYTES);
        Lines { newline, counts: (0..steps).map(|_| AtomicU64::new(UNKNOWN)).collect() }
    }

    fn count(&self, input: &Input, from: u64, to: u64) -> u64 {
        let mut bytes = Vec::new();
        let mut lines = 0;
        let mut at = from;
        while at < to {
            let end = to.min(at + STEP_BYTES);
            bytes.clear();
            if input.append(at, end, &mut bytes).is_err() {
                break;
            }
            lines += memchr::memchr_iter(self.newline, &bytes).count() as u64;
            at = end;
        }
        lines
    }

    fn before(&self, input: &Input, place: u64) -> u64 {
        let whole = (place / STEP_BYTES).min(self.counts.len() as u64);
        let mut lines = 0;
        for (step, known) in self.counts[..whole as usize].iter().enumerate() {
            let from = step as u64 * STEP_BYTES;
            lines += match known.load(Ordering::Relaxed) {
                UNKNOWN => {
                    let count = self.count(input, from, from + STEP_BYTES);
                    known.store(count, Ordering::Relaxed);
                    count
                }
                count => count,
            };
        }
        lines + self.count(input, whole * STEP_BYTES, place)
    }
}

/// A position in a file for messages; the line of a place is counted from the last one asked for.
pub struct Place<'a> {
    /// The file.
    pub input: &'a Input,
    /// The line counts that all workers share.
    pub lines: &'a Lines,
    last: Cell<(u64, u64)>,
}

impl<'a> Place<'a> {
    /// A place in the file, for one worker.
    pub fn new(input: &'a Input, lines: &'a Lines) -> Self {
        Place { input, lines, last: Cell::new((u64::MAX, 0)) }
    }

    /// The line of a byte, from 1.
    pub fn line(&self, place: u64) -> u64 {
        let (last, line) = self.last.get();
        let line = match place.checked_sub(last) {
            Some(near) if near < STEP_BYTES => line + self.lines.count(self.input, last, place),
            _ => 1 + self.lines.before(self.input, place),
        };
        self.last.set((place, line));
        line
    }

    /// Where the line of a byte begins, and its first bytes, however the file is read. A line is as long as the file where
    /// it has no line ends.
    pub fn line_of(&self, place: u64) -> (u64, Vec<u8>) {
        let mut bytes = Vec::new();
        let mut end = place.min(self.input.length);
        let mut begin = text_begin(self.input).unwrap_or(0);
        while end > begin {
            let from = end.saturating_sub(STEP_BYTES).max(begin);
            bytes.clear();
            if self.input.append(from, end, &mut bytes).is_err() {
                break;
            }
            if let Some(at) = memchr::memrchr(self.lines.newline, &bytes) {
                begin = from + at as u64 + 1;
                break;
            }
            end = from;
        }
        bytes.clear();
        // A reject keeps no more. A failure to read shows elsewhere, so it is ignored here.
        let _ = self.input.append(begin, begin + REJECT_TEXT_CHARACTERS as u64, &mut bytes);
        if let Some(at) = memchr::memchr(self.lines.newline, &bytes) {
            bytes.truncate(at);
        }
        (begin, bytes)
    }

    /// The file's path, as errors show it.
    pub fn path(&self) -> &str {
        &self.input.path
    }

    /// An error at a byte.
    pub fn error(&self, state: SqlState, place: u64, column: Option<&str>, cause: &str) -> Error {
        let column = column.map_or_else(String::new, |name| format!(", column \"{name}\""));
        Error::new(state, format!("\"{}\", line {}{column}: {cause}", self.input.path, self.line(place)))
    }

    /// Notes what is left out, if rejects are to be kept.
    pub fn reject(&self, rejects: &Rejecting, rejected: Rejected<'_>) {
        if rejects.is_noted() {
            let Rejected { at, line_at, column, kind, text, cause } = rejected;
            rejects.note(Reject {
                file: self.input.path.clone(),
                line: self.line(at),
                line_byte: line_at,
                byte: at,
                column_number: column.map(|(number, _)| number as u64 + 1),
                column: column.and_then(|(_, name)| name).map(Into::into),
                kind,
                text: cut(text, REJECT_TEXT_CHARACTERS),
                cause,
            });
        }
    }
}

/// A part of a record that is left out, and why.
pub struct Rejected<'r> {
    /// The byte at fault.
    pub at: u64,
    /// Where its line begins.
    pub line_at: u64,
    /// The column's place, from 0, and its name where it has one.
    pub column: Option<(usize, Option<&'r str>)>,
    /// The kind of the fault.
    pub kind: RejectKind,
    /// The line.
    pub text: &'r [u8],
    /// Why, as the error message says it.
    pub cause: String,
}

/// The kind of a record's fault.
pub fn kind_of(fault: Fault, columns: usize) -> RejectKind {
    match fault {
        Fault::StrayQuote { .. } | Fault::AfterQuote { .. } | Fault::Unclosed { .. } => RejectKind::Quotes,
        Fault::Long { .. } => RejectKind::LongLine,
        Fault::Fields { found, .. } if found < columns => RejectKind::MissingColumns,
        Fault::Fields { .. } => RejectKind::TooManyColumns,
    }
}

/// Why a value cannot be read.
pub fn value_cause(text: &[u8], field: &Field, error: &Error) -> String {
    format!("\"{}\" is no {}: {}", shown(text), field.ty.sql_name(), error.message())
}

/// The error of a value.
pub fn bad_value(place: &Place<'_>, at: u64, text: &[u8], field: &Field, error: &Error, csv: bool) -> Error {
    let cause = value_cause(text, field, error);
    let mut out = place.error(error.state(), at, Some(&field.name), &cause);
    if let Some(detail) = error.detail() {
        out = out.with_detail(detail);
    }
    let dated = matches!(field.ty, Type::Date | Type::Timestamp | Type::TimestampTz);
    if csv && dated && text.iter().any(u8::is_ascii_digit) {
        return out.with_hint(
            "say how the file writes dates, as in dateformat => '%d.%m.%Y' in read_csv, read the column as TEXT, or \
             leave such records out: ignore_errors, store_rejects",
        );
    }
    if let Some(hint) = error.hint() {
        return out.with_hint(hint);
    }
    let text = shown(text);
    let trimmed = text.trim().to_ascii_lowercase();
    if csv && ["", "na", "n/a", "null", "\\n", "-", "none", "nil", "?"].contains(&trimmed.as_str()) {
        return out.with_hint(format!(
            "if that stands for NULL, say so: NULL '{text}' in COPY, nullstr => '{text}' in read_csv"
        ));
    }
    out.with_hint(
        "correct the file, read the column as a wider type, such as TEXT, or leave such records out: ignore_errors, \
         store_rejects",
    )
}

/// What is wrong with a record: the column where it is known, the cause, and what to do.
pub fn fault_cause(
    data: &[u8],
    fault: Fault,
    closed: bool,
    fields: &[Field],
    dialect: &Dialect,
) -> (Option<String>, String, String) {
    let around = data.get(fault.place()..).unwrap_or_default();
    let text = shown(around.split(|b| *b == dialect.newline).next().unwrap_or_default());
    let name = |field: usize| Some(fields.get(field).map_or(format!("{}", field + 1), |f| f.name.clone()));
    let no_quotes = "if the file does not use quotes, say so: QUOTE '' in COPY, quote => '' in read_csv";
    let lenient = "or read it as well as can be: strict => false";
    match fault {
        Fault::StrayQuote { field, .. } => (
            name(field),
            format!("a quote inside a value that is not quoted, at: {text}"),
            format!("quote the whole value and double the quotes in it; {no_quotes}; {lenient}"),
        ),
        Fault::AfterQuote { field, .. } => (
            name(field),
            format!("a quoted value is followed by: {text}"),
            format!("a quote inside a quoted value is doubled; {no_quotes}; {lenient}"),
        ),
        Fault::Unclosed { field, .. } => (
            name(field),
            match closed {
                true => "the quoted value that begins here does not end".to_owned(),
                false => format!("no end within {} of the record", bytes_shown(dialect.record_bytes_max)),
            },
            match closed {
                true => no_quotes.to_owned(),
                false => format!("{no_quotes}; {LONGER}"),
            },
        ),
        Fault::Long { bytes, .. } => (
            None,
            format!(
                "a record of {bytes} bytes, where it may have {}: {text}",
                bytes_shown(dialect.record_bytes_max)
            ),
            LONGER.to_owned(),
        ),
        Fault::Fields { found, .. } => {
            let bytes =
                dialect.delimiter_begin.iter().chain([&dialect.delimiter]).copied().filter(|b| *b != 0);
            let delimiter = match dialect.delimiter_before() {
                0 => (dialect.delimiter as char).escape_default().to_string(),
                _ => String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned(),
            };
            let fewer = match found < fields.len() {
                true => "; null_padding => true fills up short records",
                false => "",
            };
            (
                None,
                format!("{found} values where there are {} columns, in: {text}", fields.len()),
                format!(
                    "values are taken to be separated by '{delimiter}'; the DELIMITER option says otherwise{fewer}"
                ),
            )
        }
    }
}

const LONGER: &str = "longer records are read with max_line_size => bytes, up to 268435456";

fn bytes_shown(bytes: usize) -> String {
    match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

fn cut(bytes: &[u8], characters: usize) -> String {
    let part = &bytes[..bytes.len().min(characters * 4)];
    let mut text: String = String::from_utf8_lossy(part).chars().take(characters + 1).collect();
    if text.chars().count() > characters {
        text = text.chars().take(characters).chain("...".chars()).collect();
    }
    // NUL stands in no text that is shown.
    text.trim_end_matches(['\r', '\n']).replace('\0', "\u{FFFD}")
}

/// The beginning of a text, for a message.
pub fn shown(bytes: &[u8]) -> String {
    cut(bytes, 80)
}
