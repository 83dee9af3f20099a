//! Readers of text from pipes: named ones and COPY FROM STDIN, written in pieces of 1, 7 and 64 bytes that split
//! every token. Every answer is that of the same bytes in a file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

use conformance::folder::Folder;
use engine::{CopyStreams, Database, Options, Session, Value};
use types::SqlState;

/// A statement that waits for a pipe fails rather than hanging.
fn session() -> Session {
    let database = Database::in_memory(Options { workers: Some(2), ..Default::default() });
    let session = database.expect("a database").session();
    let limit = format!("SET statement_timeout = '{}s'", timing::PATIENCE.as_secs());
    session.query(&limit).expect("a setting");
    session
}

/// Columns and rows as text.
fn outcome(session: &Session, sql: &str) -> String {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e} {:?}", e.hint()));
    let fields = result.schema().fields().to_vec();
    let mut text: String = fields.iter().map(|f| format!("{} {}, ", f.name, f.ty.sql_name())).collect();
    for row in 0..result.rows() {
        text.push('\n');
        for (column, field) in fields.iter().enumerate() {
            match result.value(row, column) {
                Value::Null => text.push_str("NULL|"),
                value => text.push_str(&format!("{}|", value.display(field.ty))),
            }
        }
    }
    text
}

/// Writes into a pipe, so many bytes at a time, on a thread of its own.
fn feed(pipe: &str, bytes: &[u8], at_a_time: usize) -> std::thread::JoinHandle<()> {
    let (pipe, bytes) = (pipe.to_owned(), bytes.to_vec());
    std::thread::spawn(move || {
        let mut out = File::options().write(true).open(pipe).expect("the pipe");
        for piece in bytes.chunks(at_a_time) {
            out.write_all(piece).expect("somebody reads");
        }
    })
}

/// Standard input that gives so many bytes at a time.
struct Drops(Vec<u8>, usize);

struct Dropping {
    bytes: Vec<u8>,
    at: usize,
    at_a_time: usize,
}

impl Read for Dropping {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = out.len().min(self.at_a_time).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl CopyStreams for Drops {
    fn input(&self, _text: bool) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Dropping { bytes: self.0.clone(), at: 0, at_a_time: self.1 }))
    }
    fn output(&self) -> io::Result<Box<dyn Write + Send>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Files by the end of their name, the function that reads them and the options of COPY.
fn corpus() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        ("csv", "a,b\n1,\"x,\ny\"\n-2,\"say \"\"hi\"\"\"\n3,\n", "FORMAT csv, HEADER"),
        ("csv", "\u{FEFF}a,b\r\n1,ß𝄞é\r\n2,\"日本\r\n語\"\r\n", "FORMAT csv, HEADER"),
        ("csv", "a,b\n1,-1.5e3\n2,+.5\n3,2E-2\n", "FORMAT csv, HEADER"),
        ("tbl", "1|ab|\n2||\n33333|x\"y|\n", "FORMAT tbl"),
        (
            "json",
            "{\"a\": 1, \"b\": \"x\"}\n{\"a\": -2, \"b\": \"\\u00e9\\\"\"}\n{\"b\": null}\n",
            "FORMAT json",
        ),
        ("json", "[{\"a\": 1, \"b\": \"x\"} ,\n {\"a\": -25, \"b\": \"}]\"}]", "FORMAT json"),
        ("json", "{\"a\": 1}{\"a\": 2}\n{\"a\":\n3, \"b\": \"y\"}", "FORMAT json"),
    ]
}

/// Packed without another process, which would hold the ends of pipes until it executes its program.
fn packed(bytes: &[u8], by: &str) -> Vec<u8> {
    match by {
        "gz" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packer.write_all(bytes).expect("packed");
            packer.finish().expect("packed")
        }
        "zst" => zstd::encode_all(bytes, 0).expect("packed"),
        _ => bytes.to_vec(),
    }
}

#[test]
fn pipes_give_the_rows_of_files() {
    let folder = Folder::new("rows");
    for (number, (format, text, options)) in corpus().into_iter().enumerate() {
        for by in ["", "gz", "zst"] {
            let session = session();
            let bytes = packed(text.as_bytes(), by);
            let ending = if by.is_empty() { format.to_owned() } else { format!("{format}.{by}") };
            let file = folder.write(&format!("{number}.{ending}"), &bytes);
            let query = |path: &str| format!("SELECT * FROM read_{format}('{path}')");
            let expected = outcome(&session, &query(&file));
            session.query("CREATE TABLE t (a BIGINT, b TEXT)").expect("a table");
            session.query(&format!("COPY t FROM '{file}' ({options})")).expect("rows");
            let copied = outcome(&session, "SELECT * FROM t");
            for at_a_time in [1, 7, 64] {
                let pipe = folder.pipe(&format!("{number}-{at_a_time}.{ending}"));
                let writer = feed(&pipe, &bytes, at_a_time);
                assert_eq!(outcome(&session, &query(&pipe)), expected, "{text}");
                writer.join().expect("written");
                // The name's end says the format.
                let writer = feed(&pipe, &bytes, at_a_time);
                assert_eq!(outcome(&session, &format!("SELECT * FROM '{pipe}'")), expected, "{text}");
                writer.join().expect("written");
                session.query("DELETE FROM t").expect("empty");
                let writer = feed(&pipe, &bytes, at_a_time);
                session.query(&format!("COPY t FROM '{pipe}' ({options})")).expect("rows");
                writer.join().expect("written");
                assert_eq!(outcome(&session, "SELECT * FROM t"), copied, "{text}");
                session.query("DELETE FROM t").expect("empty");
                session.set_copy_streams(Drops(bytes.clone(), at_a_time));
                session.query(&format!("COPY t FROM STDIN ({options})")).expect("rows");
                assert_eq!(outcome(&session, "SELECT * FROM t"), copied, "{text}");
            }
        }
    }
}

#[test]
fn a_pipe_is_read_once_a_statement() {
    let (folder, session) = (Folder::new("once"), session());
    let pipe = folder.pipe("f.csv");
    let writer = feed(&pipe, b"a\n1\n2\n", 7);
    let twice = format!("SELECT x.a, y.a AS b FROM '{pipe}' x, '{pipe}' y ORDER BY 1, 2");
    assert_eq!(outcome(&session, &twice), "a BIGINT, b BIGINT, \n1|1|\n1|2|\n2|1|\n2|2|");
    writer.join().expect("written");
    // A description does not take the rows away from a later query.
    let writer = feed(&pipe, b"a\n1\n", 7);
    let sql = format!("SELECT * FROM '{pipe}'");
    assert_eq!(session.describe(&sql).expect("described").expect("a query").len(), 1);
    writer.join().expect("written");
    assert_eq!(outcome(&session, &sql), "a BIGINT, \n1|");
    // Messages and the column filename name the pipe.
    let writer = feed(&pipe, b"a\n1\nx\n", 7);
    let bad = format!("SELECT * FROM read_csv('{pipe}', columns => {{'a': 'INTEGER'}}, header => true)");
    let error = session.query(&bad).map(|_| ()).expect_err("no number");
    assert!(error.message().contains(&format!("\"{pipe}\", line 3")), "{error}");
    writer.join().expect("written");
    let writer = feed(&pipe, b"a\n1\n", 7);
    let named = format!("SELECT filename, a FROM read_csv('{pipe}', filename => true)");
    assert_eq!(outcome(&session, &named), format!("filename TEXT, a BIGINT, \n{pipe}|1|"));
    writer.join().expect("written");
    // A list of a file and a pipe.
    let file = folder.write("g.csv", b"a\n7\n");
    let writer = feed(&pipe, b"a\n1\n", 7);
    assert_eq!(
        outcome(&session, &format!("SELECT * FROM read_csv(['{file}', '{pipe}']) ORDER BY a")),
        "a BIGINT, \n1|\n7|"
    );
    writer.join().expect("written");
    let writer = feed(&pipe, b"a\n1\n2\n", 7);
    let pivot = format!("PIVOT (SELECT a FROM '{pipe}') ON a USING count(*)");
    assert_eq!(outcome(&session, &pivot), "1 BIGINT, 2 BIGINT, \n1|1|");
    writer.join().expect("written");
}

#[test]
fn waiting_for_a_pipe_ends_with_the_statement() {
    let (folder, session) = (Folder::new("wait"), session());
    let pipe = folder.pipe("f.csv");
    session.query("SET statement_timeout = '300ms'").expect("a setting");
    let started = Instant::now();
    // Nobody writes.
    let error = session.query(&format!("SELECT * FROM '{pipe}'")).map(|_| ()).expect_err("a timeout");
    assert_eq!(error.state(), SqlState::QueryCanceled);
    // Somebody opens it, and writes nothing more.
    let open = File::options().read(true).write(true).open(&pipe).expect("the pipe");
    let error = session.query(&format!("SELECT * FROM '{pipe}'")).map(|_| ()).expect_err("a timeout");
    assert_eq!(error.state(), SqlState::QueryCanceled);
    drop(open);
    assert!(started.elapsed() < timing::PATIENCE, "{:?}", started.elapsed());
}
