//! What a text file's columns are, when nobody has said: delimiter, header and types, guessed from samples.
//!
//! The sample is the file's first mebibyte and some places spread over the rest, so that a column whose first odd
//! value stands far behind is still seen as often as can be had without reading everything. What is guessed wrong is
//! an error with its place when it is read, never another value.

use std::collections::{HashMap, HashSet};

use plan::FileFormat;
use plan::file::TextOptions;
use types::{Error, Field, Result, Schema, SqlState, Type, cast, datetime};

use super::dialect::{Dialect, Given};
use super::reader::text_begin;
use super::split::{Records, Span, append_marks, next_record};
use crate::input::Input;

const HEAD_BYTES: u64 = 1 << 20;
const PLACE_BYTES: u64 = 32 << 10;
const PLACES: u64 = 12;
/// Files looked at; the others are expected to be alike.
const FILES: usize = 16;
const DELIMITERS: [u8; 4] = [b',', b';', b'|', b'\t'];
/// Records that decide about the delimiter.
const DELIMITER_RECORDS: usize = 256;

const BOOLEAN: u8 = 1;
const BIGINT: u8 = 2;
const DOUBLE: u8 = 4;
const DATE: u8 = 8;
const TIMESTAMP: u8 = 16;
const TIMESTAMPTZ: u8 = 32;

/// Simplest first.
const CHOICES: [(u8, Type); 6] = [
    (BOOLEAN, Type::Boolean),
    (BIGINT, Type::BigInt),
    (DOUBLE, Type::Double),
    (DATE, Type::Date),
    (TIMESTAMP, Type::Timestamp),
    (TIMESTAMPTZ, Type::TimestampTz),
];

/// The types that a text can be read as, beside TEXT.
fn kinds(text: &str) -> u8 {
    let text = text.trim();
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else { return 0 };
    if first.is_ascii_alphabetic() {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "false" => BOOLEAN,
            "nan" | "inf" | "infinity" => DOUBLE,
            _ => 0,
        };
    }
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) || !text.is_ascii() {
        return 0;
    }
    if text.parse::<i64>().is_ok() {
        return BIGINT | DOUBLE;
    }
    if bytes[1..].iter().all(u8::is_ascii_digit) {
        // Too long for BIGINT: as DOUBLE it would lose digits.
        return 0;
    }
    if bytes.len() >= 8 && matches!(bytes[4], b'-' | b'/') {
        if bytes.len() <= 10 {
            return if datetime::parse_date(text).is_some() { DATE | TIMESTAMP | TIMESTAMPTZ } else { 0 };
        }
        if datetime::parse_timestamp(text).is_some() {
            let zoned = bytes[11..].iter().any(|b| b.is_ascii_alphabetic() || matches!(b, b'+' | b'-'));
            return if zoned { TIMESTAMPTZ } else { TIMESTAMP | TIMESTAMPTZ };
        }
        return 0;
    }
    if cast::parse_text(text, Type::Double).is_ok() { DOUBLE } else { 0 }
}

/// What has been seen of a column.
#[derive(Clone, Copy)]
struct Guess {
    kinds: u8,
    seen: bool,
}

impl Guess {
    const NEW: Guess = Guess { kinds: u8::MAX, seen: false };

    fn ty(self) -> Type {
        let fits = |(kind, ty): &(u8, Type)| (self.kinds & kind != 0).then_some(*ty);
        if self.seen { CHOICES.iter().find_map(fits).unwrap_or(Type::Text) } else { Type::Text }
    }
}

/// A value of the sample; `None` for NULL.
type Cell = Option<String>;

/// Part of a file, cut into records.
struct Sample {
    data: Vec<u8>,
    /// The file ends with it.
    last: bool,
}

impl Sample {
    fn head(input: &Input) -> Result<Sample> {
        let begin = text_begin(input)?;
        let mut data = Vec::new();
        input.append(begin, begin + HEAD_BYTES, &mut data)?;
        Ok(Sample { data, last: begin + HEAD_BYTES >= input.length })
    }

    /// Records until something is wrong or `limit` are read, and whether all were sound. `start` is the place of a
    /// record, or `None` for the next one when the sample begins inside quotes or not.
    fn records(
        &self,
        dialect: Dialect,
        start: Option<usize>,
        inside: bool,
        null_text: &str,
        limit: usize,
    ) -> (Vec<Vec<Cell>>, bool) {
        let mut marks = Vec::new();
        append_marks(&self.data, 0, dialect, &mut marks);
        let begin = match start {
            Some(start) => Some(start),
            None => next_record(&self.data, &marks, 0, inside, dialect.quote),
        };
        let Some(begin) = begin else { return (Vec::new(), true) };
        let end = if self.last {
            self.data.len()
        } else {
            let mut within = inside;
            let mut end = None;
            for mark in &marks {
                let at = *mark as usize;
                if Some(self.data[at]) == dialect.quote {
                    within = !within;
                } else if self.data[at] == b'\n' && !within {
                    end = Some(at + 1);
                }
            }
            // A record that fills the sample: its first part still says what there is.
            end.filter(|e| *e > begin).unwrap_or(self.data.len())
        };
        let mut walk = Records::new(&self.data, &marks, begin, end, dialect);
        let mut rows = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        let mut scratch = Vec::new();
        while rows.len() < limit {
            spans.clear();
            match walk.next(true, &mut spans) {
                Ok(None) => break,
                Ok(Some(_)) => {}
                Err(_) => return (rows, false),
            }
            let ends_empty = spans.last().is_some_and(|s| s.bytes(&self.data).is_empty());
            if dialect.trailing && spans.len() > 1 && ends_empty {
                spans.pop();
            }
            let cell = |span: &Span| {
                let bytes = span.unescaped(&self.data, dialect.quote, &mut scratch);
                let null = !span.quoted() && bytes == null_text.as_bytes();
                (!null).then(|| String::from_utf8_lossy(bytes).into_owned())
            };
            rows.push(spans.iter().map(cell).collect());
        }
        (rows, true)
    }
}

fn delimiter(sample: &Sample, quote: Option<u8>, columns: Option<usize>) -> u8 {
    let score = |delimiter: u8| {
        let dialect = Dialect { delimiter, quote, trailing: false };
        let (rows, sound) = sample.records(dialect, Some(0), false, "", DELIMITER_RECORDS);
        let mut counts: Vec<usize> = rows.iter().map(Vec::len).collect();
        counts.sort_unstable();
        let common = counts.chunk_by(|a, b| a == b).max_by_key(|c| (c.len(), c[0]));
        let (times, width) = common.map_or((0, 0), |c| (c.len(), c[0]));
        if width < 2 {
            return (false, 0, 0);
        }
        let share = times * 1000 / (rows.len() + usize::from(!sound));
        (columns == Some(width), share, width)
    };
    let mut best = (DELIMITERS[0], score(DELIMITERS[0]));
    for candidate in &DELIMITERS[1..] {
        let found = score(*candidate);
        if found > best.1 {
            best = (*candidate, found);
        }
    }
    best.0
}

/// Looks like a column's name.
fn like_a_name(cell: &Cell) -> bool {
    let Some(text) = cell else { return false };
    let mut characters = text.trim().chars();
    let begins = characters.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    begins
        && text.len() <= 64
        && characters
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-' | '(' | ')' | '/' | '#' | '%'))
}

fn distinct(row: &[Cell]) -> bool {
    let mut names: Vec<&Cell> = row.iter().collect();
    names.sort();
    names.windows(2).all(|w| w[0] != w[1])
}

/// Whether the first row names the columns, judged by the rows below it.
fn is_header(first: &[Cell], rest: &[Vec<Cell>], guesses: &[Guess]) -> bool {
    let typed = guesses.iter().zip(first).any(|(guess, cell)| {
        let ty = guess.ty();
        ty != Type::Text && cell.as_ref().is_some_and(|text| cast::parse_text(text, ty).is_err())
    });
    if typed {
        return true;
    }
    let typed_values = guesses.iter().zip(first).any(|(g, cell)| g.ty() != Type::Text && cell.is_some());
    let repeated = rest.iter().any(|row| row.iter().zip(first).any(|(a, b)| a == b && a.is_some()));
    !typed_values && !repeated && first.iter().all(like_a_name) && distinct(first)
}

/// Whether the first row names a table's columns. Names in another order are an error: read by position they would put
/// values into the wrong columns.
fn names_columns(first: &[Cell], schema: &Schema, path: &str) -> Result<bool> {
    let names: Vec<String> =
        first.iter().map(|c| c.as_deref().unwrap_or_default().trim().to_lowercase()).collect();
    let columns: Vec<String> = schema.fields().iter().map(|f| f.name.to_lowercase()).collect();
    if names == columns {
        return Ok(true);
    }
    let (mut sorted_names, mut sorted_columns) = (names, columns);
    sorted_names.sort_unstable();
    sorted_columns.sort_unstable();
    if sorted_names == sorted_columns {
        return Err(Error::new(
            SqlState::BadCopyFormat,
            format!("the header of \"{path}\" names the columns in another order than the table"),
        )
        .with_hint("name the columns in the file's order: COPY t (a, b) FROM ...; or give HEADER true to go by position"));
    }
    let unreadable = schema.fields().iter().zip(first).any(|(f, cell)| {
        !f.ty.is_text() && cell.as_ref().is_some_and(|text| cast::parse_text(text, f.ty).is_err())
    });
    Ok(unreadable && first.iter().all(like_a_name) && distinct(first))
}

fn names(header: Option<&[Cell]>, columns: usize) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(columns);
    // Where to go on numbering a name that is repeated, so that many of one name cost no more than others.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut names: Vec<String> = Vec::with_capacity(columns);
    for column in 0..columns {
        let given = header.and_then(|h| h[column].as_deref()).unwrap_or_default().trim();
        let base = if given.is_empty() { format!("column{column}") } else { given.to_owned() };
        let mut name = base.clone();
        while !taken.insert(name.clone()) {
            let number = numbers.entry(base.clone()).or_insert(0);
            *number += 1;
            name = format!("{base}_{number}");
        }
        names.push(name);
    }
    names
}

/// Columns that a text file may have. What has more is taken for text with the wrong delimiter or no lines, which is
/// better said at once than by whatever is made of so many columns later.
const COLUMNS_MAX: usize = 10_000;

/// Schema and options of text files. With `schema` the types are the table's and only the form is looked for.
pub fn describe(
    paths: &[String],
    format: FileFormat,
    given: &Given,
    schema: Option<&Schema>,
) -> Result<(Schema, TextOptions)> {
    let tbl = format == FileFormat::Tbl;
    let quote = given.quote.unwrap_or(if tbl { 0 } else { b'"' });
    let mut inputs = Vec::new();
    for path in paths.iter().take(FILES) {
        let input = Input::open_text(path)?;
        let sample = Sample::head(&input)?;
        if !sample.data.iter().all(u8::is_ascii_whitespace) {
            inputs.push((input, sample));
        }
    }
    let null_text = given.null_text.clone().unwrap_or_default();
    let by_name = if paths.first().is_some_and(|p| p.to_ascii_lowercase().ends_with(".tsv")) {
        Some(b'\t')
    } else {
        tbl.then_some(b'|')
    };
    let known = given.delimiter.or(by_name);
    let nullable = |schema: &Schema| {
        // Whether NULL may stand in the table is for the table to check.
        Schema::new(schema.fields().iter().map(|f| Field::new(&f.name, f.ty, true)).collect())
    };
    let options = |delimiter, header| TextOptions {
        delimiter,
        quote,
        header: Some(header),
        null_text: null_text.clone(),
    };
    let Some((first_input, first_sample)) = inputs.first() else {
        return match schema {
            Some(schema) => Ok((nullable(schema), options(known.unwrap_or(b','), false))),
            None => Err(Error::new(
                SqlState::BadCopyFormat,
                format!("\"{}\" is empty: it has no columns", paths.first().map_or("", String::as_str)),
            )
            .with_hint("create the table with its columns, then COPY into it")),
        };
    };
    let wanted = (quote != 0).then_some(quote);
    let delimiter = known.unwrap_or_else(|| delimiter(first_sample, wanted, schema.map(Schema::len)));
    let dialect = Dialect { delimiter, quote: wanted, trailing: tbl };
    let (rows, sound) = first_sample.records(dialect, Some(0), false, &null_text, usize::MAX);
    let Some((first, rest)) = rows.split_first() else {
        if let Some(schema) = schema {
            // The columns are known; what is wrong with the record is said, with its place, when it is read.
            return Ok((nullable(schema), options(delimiter, given.header == Some(true))));
        }
        let message = format!("the first record of \"{}\" cannot be read", first_input.path);
        return Err(Error::new(SqlState::BadCopyFormat, message)
            .with_detail(if sound { "it has no end" } else { "its quotes do not match" })
            .with_hint("if the file does not use quotes, say so: QUOTE ''"));
    };
    if let Some(schema) = schema {
        let header = match given.header {
            Some(header) => header,
            None => !tbl && names_columns(first, schema, &first_input.path)?,
        };
        return Ok((nullable(schema), options(delimiter, header)));
    }
    if first.len() > COLUMNS_MAX {
        return Err(Error::new(
            SqlState::BadCopyFormat,
            format!("the first record of \"{}\" has {} values", first_input.path, first.len()),
        )
        .with_detail(format!("A text file may have {COLUMNS_MAX} columns."))
        .with_hint("if the file has another delimiter, say so: DELIMITER ';'"));
    }
    let mut guesses = vec![Guess::NEW; first.len()];
    let merge = |guesses: &mut [Guess], rows: &[Vec<Cell>]| {
        let columns = guesses.len();
        for row in rows.iter().filter(|r| r.len() == columns) {
            for (guess, cell) in guesses.iter_mut().zip(row) {
                // A column that is text already stays it.
                if let Some(text) = cell.as_ref().filter(|_| guess.kinds != 0) {
                    guess.kinds &= kinds(text);
                    guess.seen = true;
                }
            }
        }
    };
    merge(&mut guesses, rest);
    for (number, (input, sample)) in inputs.iter().enumerate() {
        if number > 0 {
            let (rows, _) = sample.records(dialect, Some(0), false, &null_text, usize::MAX);
            merge(&mut guesses, rows.get(1..).unwrap_or_default());
        }
        for rows in places(input, dialect, &null_text, first.len())? {
            merge(&mut guesses, &rows);
        }
    }
    let header = given.header.unwrap_or_else(|| !tbl && is_header(first, rest, &guesses));
    if !header {
        merge(&mut guesses, &rows[..1]);
    }
    let fields = names(header.then_some(first.as_slice()), first.len())
        .into_iter()
        .zip(&guesses)
        .map(|(name, guess)| Field::new(name, guess.ty(), true))
        .collect();
    Ok((Schema::new(fields), options(delimiter, header)))
}

/// Records at places behind the head. Whether a place lies inside quotes is not known: of the two readings the one
/// that gives sound records counts, and a place where neither does is passed over.
fn places(input: &Input, dialect: Dialect, null_text: &str, columns: usize) -> Result<Vec<Vec<Vec<Cell>>>> {
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
            if inside && dialect.quote.is_none() {
                break;
            }
            let (rows, sound) = sample.records(dialect, None, inside, null_text, usize::MAX);
            if sound && !rows.is_empty() && rows.iter().all(|r| r.len() == columns) {
                found.push(rows);
                break;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_texts() {
        let guess = |texts: &[&str]| {
            let mut guess = Guess::NEW;
            for text in texts {
                guess.kinds &= kinds(text);
                guess.seen = true;
            }
            guess.ty()
        };
        assert_eq!(guess(&["1", "-2"]), Type::BigInt);
        assert_eq!(guess(&["1", "2.5", "1e3"]), Type::Double);
        assert_eq!(guess(&["true", "FALSE"]), Type::Boolean);
        assert_eq!(guess(&["true", "1"]), Type::Text);
        assert_eq!(guess(&["2020-01-02"]), Type::Date);
        assert_eq!(guess(&["2020-01-02", "2020-01-02 03:04:05"]), Type::Timestamp);
        assert_eq!(guess(&["2020-01-02 03:04:05Z", "2020-01-02 03:04:05"]), Type::TimestampTz);
        assert_eq!(guess(&["2020-02-30"]), Type::Text);
        assert_eq!(guess(&["12345678901234567890"]), Type::Text);
        assert_eq!(guess(&["1-2-3"]), Type::Text);
        assert_eq!(guess(&[]), Type::Text);
    }

    #[test]
    fn repeated_names_are_numbered() {
        let header: Vec<Cell> = ["a", "a", "b", "a_1", "a", "", "a_1"].map(|n| Some(n.to_owned())).to_vec();
        let got = names(Some(&header), header.len());
        assert_eq!(got, ["a", "a_1", "b", "a_1_1", "a_2", "column5", "a_1_2"]);
        let many = vec![Some("same".to_owned()); 100_000];
        let begin = std::time::Instant::now();
        assert_eq!(names(Some(&many), many.len())[99_999], "same_99999");
        assert!(begin.elapsed().as_secs() < 20, "not quadratic");
    }
}
