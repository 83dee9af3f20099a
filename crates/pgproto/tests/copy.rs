//! COPY TO STDOUT beside that of a real PostgreSQL 15 (`copy15.tsv`, which `capture_copy.py` wrote), and the same streams
//! read back.

use pgproto::copy::{BinaryCopyReader, CopyDirection, CopyFormat, CopyOption, CopyOptions, LineCopyReader};
use pgproto::rows::RowEncoder;
use pgproto::{Format, MessageBuffer, TextEnums, decode};
use types::{Field, Type, Value, Zone};
use vector::{Batch, Vector};

const NAMES: [&str; 8] = ["i", "t", "n", "d", "b", "f", "x", "c"];
const TYPES: [Type; 8] = [
    Type::Integer,
    Type::Text,
    Type::Decimal { precision: 8, scale: 2 },
    Type::Date,
    Type::Bytea,
    Type::Boolean,
    Type::Double,
    Type::Char(4),
];
/// The rows of `capture_copy.py`.
const ROWS: [[Option<&str>; 8]; 7] = [
    [
        Some("1"),
        Some("plain"),
        Some("1.50"),
        Some("2024-01-31"),
        Some("\\x00ff"),
        Some("t"),
        Some("0.1"),
        Some("ab"),
    ],
    [Some("2"), Some(""), None, None, Some("\\x"), Some("f"), None, Some("")],
    [None; 8],
    [
        Some("4"),
        Some("tab\t \"quoted\", comma\nnew\rline \\back\\ \u{8}\u{c}\u{b}"),
        Some("-0.05"),
        Some("infinity"),
        None,
        None,
        Some("NaN"),
        Some("a,\"b"),
    ],
    [
        Some("5"),
        Some("\\."),
        Some("10"),
        Some("0044-03-15 BC"),
        Some("\\x5c"),
        Some("t"),
        Some("-Infinity"),
        Some("ä"),
    ],
    [
        Some("-11"),
        Some("\\N"),
        Some("0"),
        Some("1999-12-31"),
        Some("\\x22"),
        Some("f"),
        Some("-1e-7"),
        Some("NULL"),
    ],
    [
        Some("7"),
        Some("NULL"),
        Some("123456.78"),
        Some("2000-01-01"),
        Some("\\x2c"),
        Some("t"),
        Some("1e23"),
        Some("'"),
    ],
];

fn value(row: usize, column: usize) -> Value {
    let text = ROWS[row][column].map(str::as_bytes);
    decode::value(text, Format::Text, TYPES[column]).unwrap()
}

struct Record {
    columns: Vec<usize>,
    options: CopyOptions,
    shown: &'static str,
    stream: Vec<u8>,
}

impl Record {
    fn types(&self) -> Vec<Type> {
        self.columns.iter().map(|at| TYPES[*at]).collect()
    }
    /// A value in COPY's text format that is written as NULL is becomes one.
    fn reads_null(&self) -> bool {
        self.options.format == CopyFormat::Text && !self.options.null.contains('\\')
    }
}

/// The options of a line, which are comma-separated words; texts stand in quotes.
fn options(text: &'static str, names: &[&str]) -> CopyOptions {
    let mut given: Vec<CopyOption<'_>> = Vec::new();
    let mut rest = text;
    while let Some((name, mut tail)) =
        rest.split_once([' ', ',']).or((!rest.is_empty()).then_some((rest, "")))
    {
        let mut words = Vec::new();
        tail = tail.trim_start();
        if let Some(body) = tail.strip_prefix("E'\\t'") {
            words.push("\t");
            tail = body;
        } else if let Some(body) = tail.strip_prefix("''''") {
            words.push("'");
            tail = body;
        } else if let Some((word, after)) = tail.strip_prefix('\'').and_then(|body| body.split_once('\'')) {
            words.push(word);
            tail = after;
        } else if let Some((list, after)) = tail.strip_prefix('(').and_then(|body| body.split_once(')')) {
            words.extend(list.split(", "));
            tail = after;
        } else if name != "HEADER" {
            let (word, after) = tail.split_once(',').unwrap_or((tail, ""));
            words.push(word.trim());
            tail = after;
        }
        given.push(CopyOption { name, words });
        rest = tail.trim_start_matches([',', ' ']);
    }
    CopyOptions::parse(&given, names, CopyDirection::Out).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn records() -> Vec<Record> {
    let record = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let names: Vec<&str> = cells[0].split(',').collect();
        let columns =
            names.iter().map(|name| NAMES.iter().position(|known| known == name).unwrap()).collect();
        let digits = cells[2];
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let stream = (0..digits.len()).step_by(2).map(byte).collect();
        Record { columns, options: options(cells[1], &names), shown: cells[1], stream }
    };
    include_str!("copy15.tsv").lines().map(record).collect()
}

/// What the CopyData messages of a buffer hold, and how many there are.
fn contents(out: &MessageBuffer) -> (Vec<u8>, usize) {
    let (mut bytes, mut messages, mut rest) = (Vec::new(), 0, out.bytes());
    while let Some((kind, tail)) = rest.split_first() {
        assert_eq!(*kind, b'd');
        let length = u32::from_be_bytes(tail[..4].try_into().unwrap()) as usize;
        bytes.extend_from_slice(&tail[4..length]);
        messages += 1;
        rest = &tail[length..];
    }
    (bytes, messages)
}

#[test]
fn streams_are_those_of_postgresql() {
    for record in records() {
        let types = record.types();
        let column = |at: &usize| {
            let values: Vec<Value> = (0..ROWS.len()).map(|row| value(row, *at)).collect();
            Vector::from_values(TYPES[*at], &values)
        };
        let batch = Batch::new(record.columns.iter().map(column).collect(), ROWS.len());
        let fields: Vec<Field> =
            record.columns.iter().map(|at| Field::new(NAMES[*at], TYPES[*at], true)).collect();
        let mut encoder = RowEncoder::copy(&types, &record.options, Zone::Utc).unwrap();
        let mut out = MessageBuffer::new();
        encoder.copy_begin(&fields, &mut out);
        encoder.append_all(&batch, &TextEnums, &mut out).unwrap();
        encoder.copy_end(&mut out);
        let (found, messages) = contents(&out);
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            found == record.stream,
            "{}\nours:\n{}\nPostgreSQL's:\n{}",
            record.shown,
            shown(&found),
            shown(&record.stream)
        );
        // A message for each row, as PostgreSQL promises.
        let more = usize::from(record.options.header) + 2 * usize::from(record.options.is_binary());
        assert_eq!(messages, ROWS.len() + more);
    }
}

#[test]
fn what_postgresql_sends_is_read() {
    for record in records() {
        let types = record.types();
        let mut batches = Vec::new();
        for size in [7, usize::MAX] {
            batches.clear();
            let last = if record.options.is_binary() {
                let mut reader = BinaryCopyReader::new(&types, 1000);
                let mut push = |piece| reader.push(piece, |batch| Ok(batches.push(batch)));
                record.stream.chunks(size).try_for_each(&mut push).unwrap();
                reader.finish()
            } else {
                let columns: Vec<(&str, Type)> =
                    record.columns.iter().map(|at| (NAMES[*at], TYPES[*at])).collect();
                let mut reader = LineCopyReader::new(&columns, &record.options, 1000);
                let mut push = |piece| reader.push(piece, |batch| Ok(batches.push(batch)));
                record.stream.chunks(size).try_for_each(&mut push).unwrap();
                reader.finish()
            };
            batches.push(last.unwrap_or_else(|error| panic!("{}: {error}", record.shown)));
            let batch = Batch::concat(&batches);
            assert_eq!(batch.rows, ROWS.len(), "{}", record.shown);
            for row in 0..ROWS.len() {
                for (place, at) in record.columns.iter().enumerate() {
                    // Where the text for NULL may be a value's, PostgreSQL reads NULL, too.
                    let written = ROWS[row][*at].map(|text| match TYPES[*at] {
                        Type::Char(n) => format!("{text:0$}", n as usize),
                        _ => text.to_owned(),
                    });
                    let expected = match written.as_ref() == Some(&record.options.null) && record.reads_null()
                    {
                        true => Value::Null,
                        false => value(row, *at),
                    };
                    assert_eq!(batch.columns[place].value(row), expected, "{} row {row}", record.shown);
                }
            }
        }
    }
}
