//! Readers of text with buffers of 1, 7 and 64 bytes: what is cut through every token gives the rows that the ordinary
//! buffer gives, from plain files and packed ones, and with reads that give fewer bytes than were asked for.
//!
//! Planted once and found: a number of JSON that ends with the buffer taken for a whole one, and a quote at the end of a
//! range counted twice. Pipes are read by `crates/conformance/tests/pipes.rs`.

use std::io::Write;

use plan::FileFormat;
use plan::file::READER;
use types::Value;

use super::{Scratch, rows};
use crate::Environment;
use crate::input::short_reads;
use crate::json::JsonFiles;
use crate::text::TextFiles;
use crate::{Reader, describe};

type Options = &'static [(&'static str, &'static str)];

/// Files by name, with options; each is sound.
fn corpus() -> Vec<(&'static str, Vec<u8>, Options)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let long = "long ".repeat(60);
    let mut all = vec![
        (
            "a.csv",
            text("id,name,n\n1,\"a,\nb\",-1.5e3\n2,\"say \"\"hi\"\"\",+.5\n3,,2E-2\n4,\"\",-0\n"),
            &[][..],
        ),
        ("a.csv", text("id,name\r\n1,\"x\r\ny\"\r\n\r\n2,z\r\n3,\"\"\"\"\r\n"), &[]),
        ("a.csv", text("\u{FEFF}id,naïve\n1,ß𝄞é\n2,\"日本\n語\"\n3,€\n"), &[]),
        ("a.csv", text("\n\r\n\nid,v\n1,2\n3,4"), &[("header", "true")]),
        ("a.csv", text("1,2\n\n3,4\n\n"), &[("header", "false")]),
        ("a.csv", text("v\n\n1\n\n2"), &[("header", "true")]),
        ("a.csv", text("title\nsecond\na,b\n1,2\n3,4\n"), &[("skip", "2")]),
        ("a.csv", text("a;b\n1.234,5;x\n-7,25;y\n"), &[("decimal_separator", ","), ("thousands", ".")]),
        (
            "a.csv",
            text("# one \"quote\na,b\n1,\"x#y\"\n#z\n2,#w\n#\n"),
            &[("comment", "#"), ("header", "true")],
        ),
        ("a.csv", text("# r\na,b\n1,2\n"), &[("comment", "#"), ("header", "true"), ("quote", "")]),
        ("a.csv", text("a,b\n\"x\\\"y\\\\\",c\\d\n\"x\\y\",\"\"\n\"l\n\\\"\",e\n"), &[("escape", "\\")]),
        ("a.csv", text("a,b\nx \"y\" z,1\n\"p\"q\",2\n \"r\" ,3\n\"s\nt\",4\n"), &[("strict", "false")]),
        ("a.csv", text("a,b\r1,\"x\ry\"\r2,z"), &[("new_line", "\\r")]),
        ("a.csv", text("a,b,c\n1\n2,3\n4,5,6\n"), &[("null_padding", "true")]),
        ("a.csv", text("a,b\n1,NA\nNA,NULL\n"), &[("null", "NA"), ("null", "NULL")]),
        ("a.csv", text("d,t\n03/02/2024,1\n13/12/2023,2\n"), &[("dateformat", "%d/%m/%Y")]),
        (
            "a.csv",
            text("a,b\nx,1\n1,2\ny,\n3,\"4\"\n"),
            &[("columns", "a\0INTEGER"), ("columns", "b\0INTEGER"), ("ignore_errors", "true")],
        ),
        (
            "a.csv",
            text("a,b\n1,x\n2,\"y\n3,z\n4,q\"r\n5,s,t\n6,u\n"),
            &[("ignore_errors", "true"), ("header", "true")],
        ),
        ("a.csv", text(&format!("a,b\n1,{long}\n2,\"{long}\n{long}\"\n3,x\n")), &[]),
        ("a.tsv", text("a\tb\n1\t\"x\ty\"\n2\t\n"), &[]),
        ("a.csv", text("a,b\n'x,1',2\n'it''s',3\n"), &[("quote", "'")]),
        ("a.tbl", text("1|ab|2.50|\n2||3|\n33333|x\"y|0.01|\n4|z|-4.00|\n"), &[]),
        ("a.tbl", text("1|a\r\n2|b\r\n"), &[]),
        (
            "a.json",
            text(
                "{\"a\": 1, \"b\": \"x\"}\n{\"a\": -2.5e-3, \"b\": \"say \\\"hi\\\" \\u00e9\\ud834\\udd1e\"}\n\n{\"b\": null}\n",
            ),
            &[],
        ),
        ("a.json", text("\u{FEFF}{\"a\": 12345678901}\r\n{\"a\": 0}\r\n"), &[]),
        (
            "a.json",
            text(" [\n{\"a\": -1},{\"a\": 2.5e+10 } ,\n{\"a\": 1e5, \"c\": [1, {\"d\": [[]]}, \"]\"]}\n]\n"),
            &[],
        ),
        (
            "a.json",
            text("{\n \"a\": 1,\n \"b\": {\"c\": [true, false, null], \"d\": \"}\\\\\"}\n}\n{\"a\":\n2}"),
            &[],
        ),
        ("a.json", text("{\"a\": 1}{\"a\": 2} {\"a\": 3}\n{\"a\": 4}"), &[]),
        ("a.json", text("{\"a\": 1} {\"a\": 2}\n"), &[]),
        ("a.json", text("[1, -2, 3.5, 1e3, 12345678901234567890123, 0]"), &[]),
        ("a.json", text("1\n-2\n3.25\n"), &[]),
        ("a.json", text("[\"a\", null, \"\\u20ac\", \"日本\"]"), &[]),
        ("a.json", text("[][{\"a\": 1}] {\"a\": 2} [ ]"), &[]),
        ("a.json", text("[]"), &[]),
        (
            "a.json",
            text(&format!("{{\"a\": \"{long}\", \"b\": [\"{long}\"]}}\n{{\"a\": \"é{long}\"}}\n")),
            &[],
        ),
        (
            "a.json",
            text("{\"a\": 1}\nnothing\n{\"a\": 2\n{\"a\": 3}\n"),
            &[("ignore_errors", "true"), ("format", "newline_delimited")],
        ),
        ("a.json", text("[1]\n[2, 3]\n"), &[("format", "newline_delimited")]),
    ];
    // Each length of what stands before puts the borders of pieces elsewhere.
    let numbers: String =
        (0..60).map(|n| format!("{},\"v\"\"{n}\n\",{}\n", n * 37 % 1000, n as f64 / 7.0)).collect();
    all.push(("a.csv", format!("id,v,f\n{numbers}").into_bytes(), &[]));
    let objects: Vec<String> = (0..40)
        .map(|n| format!("{{\"id\": {}, \"v\": {{\"f\": {:e}}}}}", n * 37 - 700, n as f64 / 7.0))
        .collect();
    all.push(("a.json", format!("[{}]", objects.join(" ,\n")).into_bytes(), &[]));
    all.push(("a.json", objects.join("\n").into_bytes(), &[]));
    all
}

/// The options, and the reader that a function's name would say.
fn said(name: &str, options: Options) -> Vec<(String, String)> {
    let reader = (READER.to_owned(), name.trim_start_matches("a.").replace("tsv", "csv"));
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    std::iter::once(reader).chain(options).collect()
}

fn packed(name: &str, bytes: &[u8]) -> Vec<Scratch> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    vec![
        Scratch::new(name, bytes),
        Scratch::new(&format!("{name}.gz"), &gzip.finish().unwrap()),
        Scratch::new(&format!("{name}.zst"), &zstd::encode_all(bytes, 1).unwrap()),
    ]
}

#[test]
fn buffers_of_every_size_give_the_same_rows() {
    let mut compared = 0;
    for (number, (name, bytes, options)) in corpus().into_iter().enumerate() {
        let options = said(name, options);
        let files = packed(name, &bytes);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let expected = describe(&Environment::of_tests(), files[0].path(), &options).and_then(|source| {
            let all: Vec<usize> = (0..source.schema.len()).collect();
            Ok((
                source.schema.clone(),
                rows(crate::open(&Environment::of_tests(), &source, &all, 1024)?.as_ref())?,
            ))
        });
        let (schema, expected) = expected.unwrap_or_else(|e| panic!("{number}: {e} in {shown}"));
        for (file, reads) in files.iter().zip([vec![1, 7, 64], vec![1, 7, 64], vec![1, 64]]) {
            for read in reads {
                let source = short_reads(read, || describe(&Environment::of_tests(), file.path(), &options))
                    .unwrap_or_else(|e| panic!("{number}, reads of {read}: {e} in {shown}"));
                assert_eq!(source.schema, schema, "{number}, reads of {read}: {shown}");
                let all: Vec<usize> = (0..schema.len()).collect();
                for range in [1, 7, 8, 64] {
                    for batch_rows in [1, 3, 1024] {
                        let found: types::Result<Vec<Vec<Value>>> = short_reads(read, || {
                            let reader: Box<dyn Reader> = match source.format {
                                FileFormat::Json => Box::new(JsonFiles::with_range(
                                    &Environment::of_tests(),
                                    &source,
                                    &all,
                                    batch_rows,
                                    Some(range),
                                )?),
                                _ => Box::new(TextFiles::with_range(
                                    &Environment::of_tests(),
                                    &source,
                                    &all,
                                    batch_rows,
                                    Some(range),
                                )?),
                            };
                            rows(reader.as_ref())
                        });
                        let place = format!("{number}, {}, range {range}, reads of {read}", file.path());
                        let found = found.unwrap_or_else(|e| panic!("{place}: {e} in {shown}"));
                        assert_eq!(found, expected, "{place}: {shown}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

/// A fault is told with the same place and words, wherever the file is cut.
#[test]
fn buffers_of_every_size_give_the_same_errors() {
    let columns: Options = &[("columns", "a\0INTEGER"), ("columns", "b\0TEXT"), ("header", "true")];
    for (name, text, options) in [
        ("a.csv", "a,b\n1,x\n2,y\nz,w\n", columns),
        ("a.csv", "a,b\n1,x\n2,y,3\n4,w\n", columns),
        ("a.csv", "a,b\n1,x\n2,\"y\"z\n4,w\n", columns),
        ("a.csv", "a,b\n1,x\n2,y\"z\n4,w\n", columns),
        ("a.csv", "a,b\n1,x\n2,\"y\n4,w\n", columns),
        ("a.csv", "a,b\n1,x\n99999999999,w\n", columns),
        ("a.json", "{\"a\": 1}\n{\"a\": tru}\n{\"a\": 2}\n", &[("format", "newline_delimited")]),
        ("a.json", "[{\"a\": 1}, {\"a\": 1.}, {\"a\": 2}]", &[]),
        ("a.json", "[{\"a\": 1} {\"a\": 2}]", &[]),
        ("a.json", "[{\"a\": 1}, {\"a\": 2}", &[]),
    ] {
        let options = said(name, options);
        let file = Scratch::new(name, text.as_bytes());
        let source = describe(&Environment::of_tests(), file.path(), &options)
            .unwrap_or_else(|e| panic!("{e} in {text}"));
        let all: Vec<usize> = (0..source.schema.len()).collect();
        let failed = |read: usize, range: Option<u64>| {
            short_reads(read, || {
                let reader: Box<dyn Reader> = match source.format {
                    FileFormat::Json => Box::new(
                        JsonFiles::with_range(&Environment::of_tests(), &source, &all, 10, range).unwrap(),
                    ),
                    _ => Box::new(
                        TextFiles::with_range(&Environment::of_tests(), &source, &all, 10, range).unwrap(),
                    ),
                };
                rows(reader.as_ref()).expect_err(text).message().to_owned()
            })
        };
        let expected = failed(usize::MAX, None);
        for range in [1, 7, 64] {
            for read in [1, 7, usize::MAX] {
                assert_eq!(failed(read, Some(range)), expected, "range {range}, reads of {read}: {text}");
            }
        }
    }
}
