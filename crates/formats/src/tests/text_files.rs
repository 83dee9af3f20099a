//! CSV and tables of dbgen.
//!
//! What sniffing finds in files of several forms, the rows that every size of byte range gives, options that replace
//! guesses, and errors with file, line and column.

use types::{Field, Schema, SqlState, Type, Value};

use super::{Scratch, read_all, rows};
use crate::Environment;
use crate::text::TextFiles;
use crate::{describe, describe_as, open};

fn option(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.into(), value.into())]
}

fn schema(columns: &[(&str, Type)]) -> Schema {
    Schema::new(columns.iter().map(|(name, ty)| Field::new(*name, *ty, true)).collect())
}

const QUOTED: &str = "\u{FEFF}id,name,price,day,at,ok\r\n\
    1,\"a,\nb\",1.50,2020-02-29,2020-01-02 03:04:05.5,true\r\n\
    \r\n\
    -2,\"say \"\"hi\"\"\",,1999-12-31,1999-12-31 23:59:59,false\r\n\
    3,,2e3,,,\n\
    4,\"\",-0.25,0001-01-01,2020-01-02T00:00:00,true";

fn quoted_rows() -> Vec<Vec<Value>> {
    let ts = |text| Value::I64(types::datetime::parse_timestamp(text).unwrap());
    let date = |text| Value::I32(types::datetime::parse_date(text).unwrap());
    vec![
        vec![
            Value::I64(1),
            Value::text("a,\nb"),
            Value::F64(1.5),
            date("2020-02-29"),
            ts("2020-01-02 03:04:05.5"),
            Value::Bool(true),
        ],
        vec![
            Value::I64(-2),
            Value::text("say \"hi\""),
            Value::Null,
            date("1999-12-31"),
            ts("1999-12-31 23:59:59"),
            Value::Bool(false),
        ],
        vec![Value::I64(3), Value::Null, Value::F64(2000.0), Value::Null, Value::Null, Value::Null],
        vec![
            Value::I64(4),
            Value::text(""),
            Value::F64(-0.25),
            date("0001-01-01"),
            ts("2020-01-02"),
            Value::Bool(true),
        ],
    ]
}

#[test]
fn csv_is_sniffed_and_read() {
    let file = Scratch::new("quoted.csv", QUOTED.as_bytes());
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let found: Vec<(&str, Type)> = source.schema.fields().iter().map(|f| (f.name.as_str(), f.ty)).collect();
    assert_eq!(
        found,
        [
            ("id", Type::BigInt),
            ("name", Type::Text),
            ("price", Type::Double),
            ("day", Type::Date),
            ("at", Type::Timestamp),
            ("ok", Type::Boolean)
        ]
    );
    let all: Vec<usize> = (0..6).collect();
    assert_eq!(
        rows(open(&Environment::of_tests(), &source, &all, 2).unwrap().as_ref()).unwrap(),
        quoted_rows()
    );
    // Some columns, in another order, one twice; and none at all.
    let some = rows(open(&Environment::of_tests(), &source, &[4, 0, 4], 100).unwrap().as_ref()).unwrap();
    let expected: Vec<Vec<Value>> =
        quoted_rows().iter().map(|r| vec![r[4].clone(), r[0].clone(), r[4].clone()]).collect();
    assert_eq!(some, expected);
    assert_eq!(rows(open(&Environment::of_tests(), &source, &[], 100).unwrap().as_ref()).unwrap().len(), 4);
}

#[test]
fn every_cut_gives_the_same_rows() {
    let file = Scratch::new("quoted.csv", QUOTED.as_bytes());
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let all: Vec<usize> = (0..6).collect();
    let table = Scratch::new("t.tbl", b"1|ab|2.50|\n2||3|\n33333|x\"y|0.01|\n4|z|4.00|\n");
    let columns = schema(&[
        ("a", Type::Integer),
        ("b", Type::Char(4)),
        ("c", Type::Decimal { precision: 15, scale: 2 }),
    ]);
    let tbl = describe_as(&Environment::of_tests(), table.path(), &[], &columns).unwrap();
    let tbl_rows = rows(open(&Environment::of_tests(), &tbl, &[0, 1, 2], 100).unwrap().as_ref()).unwrap();
    assert_eq!(tbl_rows[2], [Value::I32(33333), Value::text("x\"y"), Value::I64(1)]);
    assert_eq!(tbl_rows[1], [Value::I32(2), Value::Null, Value::I64(300)]);
    for range in 1..=100 {
        for batch_rows in [1, 3, 100] {
            let reader =
                TextFiles::with_range(&Environment::of_tests(), &source, &all, batch_rows, Some(range))
                    .unwrap();
            assert_eq!(rows(&reader).unwrap(), quoted_rows(), "range {range}");
            let reader =
                TextFiles::with_range(&Environment::of_tests(), &tbl, &[0, 1, 2], batch_rows, Some(range))
                    .unwrap();
            assert_eq!(rows(&reader).unwrap(), tbl_rows, "range {range}");
        }
        // Units read in any order by several readers of the counts.
        let reader =
            TextFiles::with_range(&Environment::of_tests(), &source, &all, 100, Some(range)).unwrap();
        let mut parts = Vec::new();
        for unit in (0..crate::Reader::units(&reader).unwrap()).rev() {
            let mut part = Vec::new();
            crate::Reader::read(&reader, unit, &mut |batch| {
                part.extend(super::values(&batch));
                Ok(true)
            })
            .unwrap();
            parts.push(part);
        }
        parts.reverse();
        assert_eq!(parts.concat(), quoted_rows(), "range {range}, backwards");
    }
}

#[test]
fn forms_that_are_found_out() {
    let described = |name: &str, text: &str| {
        let file = Scratch::new(name, text.as_bytes());
        let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
        let fields: Vec<String> =
            source.schema.fields().iter().map(|f| format!("{} {}", f.name, f.ty.sql_name())).collect();
        let all: Vec<usize> = (0..source.schema.len()).collect();
        (
            fields.join(", "),
            rows(open(&Environment::of_tests(), &source, &all, 10).unwrap().as_ref()).unwrap().len(),
        )
    };
    assert_eq!(described("a.csv", "a;b\n1,5;x\n2,5;y\n"), ("a TEXT, b TEXT".into(), 2));
    assert_eq!(described("a.csv", "1|2\n3|4"), ("column0 BIGINT, column1 BIGINT".into(), 2));
    assert_eq!(described("a.tsv", "x\ty\n1\t2020-01-01"), ("x BIGINT, y DATE".into(), 1));
    assert_eq!(described("a.csv", "name,city\nann,rome\nbob,oslo\n"), ("name TEXT, city TEXT".into(), 2));
    assert_eq!(described("a.csv", "name,city\n"), ("name TEXT, city TEXT".into(), 0));
    assert_eq!(
        described("a.csv", ",a,a,\n1,2,3,4\n"),
        ("column0 BIGINT, a BIGINT, a_1 BIGINT, column3 BIGINT".into(), 1)
    );
    assert_eq!(described("a.csv", "n\n1\n\n3"), ("n BIGINT".into(), 3));
    assert_eq!(
        described("a.tbl", "1|x|2.5|\n2|y|3|\n"),
        ("column0 BIGINT, column1 TEXT, column2 DOUBLE PRECISION".into(), 2)
    );
    assert_eq!(described("a.csv", "\"1\",\"x\"\n\"2\",\"\"\n"), ("column0 BIGINT, column1 TEXT".into(), 2));
}

#[test]
fn a_late_odd_value_is_seen() {
    let mut text = String::from("id,code\n");
    for row in 0..400_000 {
        let code = if row > 350_000 && row % 100 == 0 { "x1" } else { "1" };
        text.push_str(&format!("{row},{code}\n"));
    }
    let file = Scratch::new("late.csv", text.as_bytes());
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    assert_eq!(source.schema.fields()[1].ty, Type::Text);
    let reader = open(&Environment::of_tests(), &source, &[0], 4096).unwrap();
    assert!(reader.units().unwrap() > 2);
    let read = rows(reader.as_ref()).unwrap();
    assert_eq!(read.len(), 400_000);
    assert!(read.iter().enumerate().all(|(i, r)| r[0] == Value::I64(i as i64)));
}

#[test]
fn options_and_the_table_s_types() {
    let columns = schema(&[("a", Type::Integer), ("b", Type::Varchar(5)), ("c", Type::Date)]);
    let read = |text: &str, options: &[(String, String)]| {
        let file = Scratch::new("o.csv", text.as_bytes());
        let source = describe_as(&Environment::of_tests(), file.path(), options, &columns)?;
        rows(open(&Environment::of_tests(), &source, &[0, 1, 2], 10)?.as_ref())
    };
    assert_eq!(read("A,B,C\n1,x,2020-01-01\n", &[]).unwrap().len(), 1);
    assert_eq!(read("num,txt,day\n1,x,2020-01-01\n", &[]).unwrap().len(), 1);
    assert_eq!(read("1,x,2020-01-01\n", &[]).unwrap().len(), 1);
    assert_eq!(read("1,x,2020-01-01\n2,y,2020-01-01\n", &option("header", "true")).unwrap().len(), 1);
    assert_eq!(read("1;x;2020-01-01\n", &option("delimiter", ";")).unwrap().len(), 1);
    let nulls = read("1,NA,NA\n", &option("null", "NA")).unwrap();
    assert_eq!(nulls, [[Value::I32(1), Value::Null, Value::Null]]);
    let quotes = read("1,\"x,2020-01-01\n", &option("quote", "")).unwrap();
    assert_eq!(quotes[0][1], Value::text("\"x"));
    assert!(read("", &[]).unwrap().is_empty());
    let swapped = read("b,a,c\n1,2,2020-01-01\n", &[]).unwrap_err();
    assert_eq!(swapped.state(), SqlState::BadCopyFormat);
    for bad in [
        option("delimiter", "abcde"),
        option("header", "maybe"),
        option("nonsense", "1"),
        option("format", "x"),
    ] {
        assert_eq!(read("1,x,2020-01-01\n", &bad).unwrap_err().state(), SqlState::InvalidParameterValue);
    }
}

#[test]
fn errors_name_the_place() {
    let columns = schema(&[("a", Type::Integer), ("b", Type::Varchar(5)), ("c", Type::Date)]);
    let error = |text: &[u8]| {
        let file = Scratch::new("e.csv", text);
        let source =
            describe_as(&Environment::of_tests(), file.path(), &option("header", "false"), &columns).unwrap();
        let error =
            rows(open(&Environment::of_tests(), &source, &[0, 1, 2], 10).unwrap().as_ref()).unwrap_err();
        assert!(error.message().contains(file.path()), "{error}");
        assert!(error.hint().is_some(), "{error}");
        error
    };
    let e = error(b"1,x,2020-01-01\n2,y,2020-02-30\nx,z,\n");
    assert_eq!(e.state(), SqlState::DatetimeFieldOverflow);
    assert!(e.message().contains("line 2, column \"c\": \"2020-02-30\" is no DATE"), "{e}");
    // The earlier line counts, whichever column is parsed first.
    let e = error(b"1,x,2020-01-01\n2,y,2020-02-30\nx,z,2020-01-01\n");
    assert!(e.message().contains("line 2"), "{e}");
    let e = error(b"1,x,2020-01-01\nNA,y,\n");
    assert_eq!(e.state(), SqlState::InvalidTextRepresentation);
    assert!(e.hint().unwrap().contains("NULL 'NA'"), "{e}");
    let e = error(b"99999999999,x,\n");
    assert_eq!(e.state(), SqlState::NumericValueOutOfRange);
    let e = error(b"1,toolong,\n");
    assert_eq!(e.state(), SqlState::StringDataRightTruncation);
    let e = error(b"1,x,\n2,y\n");
    assert_eq!(e.state(), SqlState::BadCopyFormat);
    assert!(e.message().contains("line 2: 2 values where there are 3 columns"), "{e}");
    let e = error(b"1,x,,\n");
    assert!(e.message().contains("line 1: 4 values"), "{e}");
    let e = error(b"1,x\"y,\n");
    assert!(e.message().contains("line 1, column \"b\": a quote inside"), "{e}");
    let e = error(b"1,\"x\"y,\n");
    assert!(e.message().contains("column \"b\": a quoted value is followed by"), "{e}");
    let e = error(b"1,x,\n2,\"y,\n3,z,\n");
    assert!(
        e.message().contains("line 2, column \"b\": the quoted value that begins here does not end"),
        "{e}"
    );
    let e = error(b"1,\xFF\xFE,\n");
    assert!(e.message().contains("line 1, column \"b\"") && e.message().contains("UTF-8"), "{e}");
    let file = Scratch::new("u.csv", &[0xFF, 0xFE, b'a', 0]);
    assert!(
        describe(&Environment::of_tests(), file.path(), &[])
            .unwrap_err()
            .hint()
            .unwrap()
            .contains("encoding => 'utf-16'")
    );
    let file = Scratch::new("u.csv", b"");
    assert_eq!(
        describe(&Environment::of_tests(), file.path(), &[]).unwrap_err().state(),
        SqlState::BadCopyFormat
    );
    assert_eq!(
        describe(&Environment::of_tests(), "no/such.csv", &[]).unwrap_err().state(),
        SqlState::UndefinedFile
    );
}

#[test]
fn an_unclosed_quote_does_not_take_all_memory() {
    let mut text = b"1,x,\n2,\"y,\n".to_vec();
    while text.len() < 40 << 20 {
        text.extend_from_slice(b"3,zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz,\n");
    }
    let columns = schema(&[("a", Type::Integer), ("b", Type::Text), ("c", Type::Date)]);
    let file = Scratch::new("open.csv", &text);
    let source = describe_as(&Environment::of_tests(), file.path(), &[], &columns).unwrap();
    let reader = open(&Environment::of_tests(), &source, &[0, 1, 2], 1000).unwrap();
    let e = reader.read(0, &mut |_| Ok(true)).unwrap_err();
    assert!(e.message().contains("line 2, column \"b\""), "{e}");
}

#[test]
fn quotes_that_do_not_match_are_characters_where_that_makes_a_table() {
    let describe_text = |text: &str| {
        let file = Scratch::new("quotes.csv", text.as_bytes());
        read_all(file.path()).map(|rows| {
            rows.iter()
                .map(|r| r.iter().map(|v| v.display(Type::Text)).collect::<Vec<_>>().join("~"))
                .collect::<Vec<_>>()
        })
    };
    // As the Internet Movie Database writes its titles, the odd one late; and JSON without quotes around it.
    let titles: String = (0..2000).map(|n| format!("tt{n}\tTitle {n}\t\\N\n")).collect();
    let rows =
        describe_text(&format!("id\ttitle\tyear\n{titles}tt9\t\"Swing it\" magistern\t1940\n")).unwrap();
    assert_eq!(rows.last().unwrap(), "tt9~\"Swing it\" magistern~1940");
    let objects: String = (0..70).map(|n| format!("{n}|{{\"x\": 2}}\n")).collect();
    let rows = describe_text(&format!("a|b\n{objects}7|{{\"x\": \"y\"}}\n")).unwrap();
    assert_eq!(rows.last().unwrap(), "7~{\"x\": \"y\"}");
    // Where values are quoted, or the records would have several widths, or are few, the place of the fault is said.
    let (quoted, commas) = ("\"1\",\"x\"\n".repeat(70), "1,\"x, y\"\n".repeat(70));
    for sound in [&quoted, &commas, "1,x\n"] {
        let message = describe_text(&format!("a,b\n{sound}2,\"y\"z\n")).unwrap_err().message().to_owned();
        assert!(message.contains(", column \"b\": "), "{message}");
    }
}
