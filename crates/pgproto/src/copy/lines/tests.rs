//! Streams as PostgreSQL reads them, cut in every manner.

use super::*;
use crate::copy::CopyFormat;

const COLUMNS: [(&str, Type); 2] = [("a", Type::Integer), ("b", Type::Text)];

fn read_with(options: &CopyOptions, data: &str, size: usize) -> Result<Vec<Vec<String>>> {
    let mut reader = LineCopyReader::new(&COLUMNS, options, 1000);
    let mut batches = Vec::new();
    for piece in data.as_bytes().chunks(size) {
        reader.push(piece, |batch| Ok(batches.push(batch)))?;
    }
    batches.push(reader.finish()?);
    let cell = |batch: &Batch, row: usize, at: usize| batch.columns[at].value(row).display(COLUMNS[at].1);
    let row = |batch: &Batch, row: usize| (0..2).map(|at| cell(batch, row, at)).collect();
    Ok(batches.iter().flat_map(|batch| (0..batch.rows).map(move |at| row(batch, at))).collect())
}

/// The rows of a text that is cut in every manner.
#[track_caller]
fn read(options: &CopyOptions, data: &str) -> Result<Vec<Vec<String>>> {
    let whole = read_with(options, data, usize::MAX);
    for size in 1..6 {
        assert_eq!(read_with(options, data, size), whole, "cut by {size}");
    }
    whole
}

#[track_caller]
fn rows(options: &CopyOptions, data: &str, expected: &[[&str; 2]]) {
    assert_eq!(read(options, data).unwrap(), expected, "{data:?}");
}

#[test]
fn text_is_read_as_postgresql_reads_it() {
    let text = CopyOptions::of(CopyFormat::Text, 2);
    rows(&text, "1\ta\n2\t\\N\n\\N\t\n", &[["1", "a"], ["2", "NULL"], ["NULL", ""]]);
    rows(&text, "1\ta\\tb\\nc\\\\d\\x41\\101\\7\\q\\\n\n", &[["1", "a\tb\nc\\dAA\u{7}q\n"]]);
    // A NULL is told before escapes are undone; the last line needs no end.
    rows(&text, "1\t\\\\N\n2\tx", &[["1", "\\N"], ["2", "x"]]);
    rows(&text, "1\ta\r\n2\tb\r\n", &[["1", "a"], ["2", "b"]]);
    rows(&text, "1\ta\r2\tb\r", &[["1", "a"], ["2", "b"]]);
    rows(&text, "1\ta\n\\.\nanything\t\t\t", &[["1", "a"]]);
    rows(&text, "\\.", &[]);
    rows(&text, "", &[]);
    rows(&text, "1\t\\xc3\\xa4\n", &[["1", "ä"]]);
    let dashes = CopyOptions { delimiter: b'|', null: "-".into(), ..text };
    rows(&dashes, "1|a\\|b\n-|-\n2|\\-\n", &[["1", "a|b"], ["NULL", "NULL"], ["2", "-"]]);
}

#[test]
fn csv_is_read_as_postgresql_reads_it() {
    let csv = CopyOptions::of(CopyFormat::Csv, 2);
    rows(&csv, "1,a\n2,\n3,\"\"\n,\" \"\n", &[["1", "a"], ["2", "NULL"], ["3", ""], ["NULL", " "]]);
    rows(&csv, "1,\"a,b\"\"c\nd\"\n2,x\"y,z\"w\n", &[["1", "a,b\"c\nd"], ["2", "xy,zw"]]);
    rows(&csv, "1,\"a\r\nb\"\r\n2,b\r\n", &[["1", "a\r\nb"], ["2", "b"]]);
    rows(&csv, "1,a\\n\n2,\"\\.\"\n\\.\n3,x\n", &[["1", "a\\n"], ["2", "\\."]]);
    let escape = CopyOptions { quote: b'\'', escape: b'!', ..csv.clone() };
    rows(&escape, "1,'a!'b!!c!d'\n2,!x\n", &[["1", "a'b!c!d"], ["2", "!x"]]);
    let forced = CopyOptions { force_null: vec![false, true], null: "NA".into(), ..csv.clone() };
    rows(
        &forced,
        "1,\"NA\"\n2,N\"A\"\n3,NA\n4,\n",
        &[["1", "NULL"], ["2", "NULL"], ["3", "NULL"], ["4", ""]],
    );
    let never = CopyOptions { force_not_null: vec![false, true], ..csv };
    rows(&never, "1,\n", &[["1", ""]]);
}

#[test]
fn headers_are_passed_over_or_compared() {
    let mut options = CopyOptions::of(CopyFormat::Csv, 2);
    options.header = true;
    rows(&options, "any,thing\n1,a\n", &[["1", "a"]]);
    options.header_match = true;
    rows(&options, "a,\"b\"\n1,a\n", &[["1", "a"]]);
    for wrong in ["a\n1,a\n", "a,c\n1,a\n", "a,\n1,a\n", "A,b\n"] {
        assert_eq!(read(&options, wrong).unwrap_err().state(), SqlState::BadCopyFormat, "{wrong}");
    }
}

#[test]
fn wrong_lines_are_errors() {
    let text = CopyOptions::of(CopyFormat::Text, 2);
    let csv = CopyOptions::of(CopyFormat::Csv, 2);
    for (options, data) in [
        (&text, "1\n"),
        (&text, "\n"),
        (&text, "1\ta\tb\n"),
        (&text, "1\ta\n2\tb\rc\n"),
        (&text, "1\ta\r\n2\tb\n"),
        (&csv, "1,\"a\n"),
        (&csv, "1,a\n2,b\r\n"),
        (&csv, "1,a\r2,b\n"),
    ] {
        assert_eq!(read(options, data).unwrap_err().state(), SqlState::BadCopyFormat, "{data:?}");
    }
    let state = |data: &str| read(&text, data).unwrap_err().state();
    assert_eq!(state("x\ta\n"), SqlState::InvalidTextRepresentation);
    assert_eq!(state("1\t\\xff\n"), SqlState::CharacterNotInRepertoire);
    assert_eq!(state("1\t\\000\n"), SqlState::CharacterNotInRepertoire);
    assert_eq!(state("99999999999\ta\n"), SqlState::NumericValueOutOfRange);
    let long = format!("1\t{}", "x".repeat(10_000));
    assert_eq!(read_with(&text, &long, 100).unwrap_err().state(), SqlState::OutOfMemory);
    let detail = read(&text, "1\ta\nx\tb\n").unwrap_err().detail().unwrap_or_default().to_owned();
    assert_eq!(detail, "in line 2, column a");
    let error = read(&csv, "1,\"a\n\nb\"\nx,y\n").unwrap_err();
    assert_eq!(error.detail(), Some("in line 4, column a"));
}

#[test]
fn rows_without_columns_are_counted() {
    for (data, rows) in [("\n\n\n", Some(3)), ("", Some(0)), ("\nx\n", None)] {
        let mut reader = LineCopyReader::new(&[], &CopyOptions::of(CopyFormat::Text, 0), 1000);
        let read = reader.push(data.as_bytes(), |_| Ok(())).and_then(|()| reader.finish());
        assert_eq!(read.map(|batch| batch.rows).ok(), rows, "{data:?}");
    }
}

#[test]
fn plain_values_are_those_of_the_definition() {
    let decimal = Type::Decimal { precision: 6, scale: 2 };
    for (text, ty) in [
        ("0", Type::Integer),
        ("-2147483648", Type::Integer),
        ("2147483648", Type::Integer),
        ("-", Type::BigInt),
        ("", Type::BigInt),
        ("+7", Type::BigInt),
        ("999999999999999999", Type::BigInt),
        ("9223372036854775807", Type::BigInt),
        ("32768", Type::SmallInt),
        ("1.50", decimal),
        ("-0.05", decimal),
        (".50", decimal),
        ("1.5", decimal),
        ("1.505", decimal),
        ("12345.67", decimal),
        ("1..5", decimal),
        ("2024-02-29", Type::Date),
        ("2023-02-29", Type::Date),
        ("0000-01-01", Type::Date),
        ("2024-13-01", Type::Date),
    ] {
        let defined = decode::value(Some(text.as_bytes()), Format::Text, ty);
        if let Some(value) = quick(text.as_bytes(), ty) {
            assert_eq!(Ok(value), defined, "{text}");
        }
    }
    assert_eq!(quick(b"1.50", decimal), Some(Value::I64(150)));
    assert_eq!(quick(b"-7", Type::SmallInt), Some(Value::I16(-7)));
}
