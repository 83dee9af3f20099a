//! Malformed input through the public API: SQL text, CSV, Parquet and block bytes, hundreds of each kind. Each must
//! give an error or a result. A panic anywhere, caught or not, is a failure, and so is an internal error (XX000); and
//! afterwards the same session answers `SELECT 1`.
//!
//! The byte fuzzers proper stand in the crates that read bytes: `block` (src/tests/damage.rs, structural validation
//! without the checksums' help) and `formats` (src/tests/malformed.rs).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use conformance::folder::Folder;
use engine::{Database, Options, Session};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use random::Random;
use sqllogictest::{DefaultColumnType, Record};
use types::{SqlState, Type, Value};

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn record_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // The tests' own assertions speak for themselves.
            let here = info.location().is_some_and(|l| l.file().ends_with("tests/malformed.rs"));
            // The Arrow schema inside a Parquet file: its decoder panics over types that it does not know, and readers
            // make that an error of the file.
            let caught = info
                .location()
                .is_some_and(|l| l.file().contains("arrow-ipc") && l.file().ends_with("convert.rs"));
            if !here
                && !caught
                && let Ok(mut panics) = PANICS.lock()
            {
                panics.push(info.to_string());
            }
            before(info);
        }));
    });
}

/// A session, and what became of the inputs so far.
struct Target {
    session: Session,
    errors: usize,
    results: usize,
    failures: Vec<String>,
    slowest: (Duration, String),
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(600).collect();
    if start.len() < text.len() { format!("{start}... ({} bytes)", text.len()) } else { start }
}

impl Target {
    fn new() -> Target {
        record_panics();
        // Shuffled statements attach and write files by relative paths: not in the sources.
        static PLACE: Once = Once::new();
        PLACE.call_once(|| {
            let place = std::env::temp_dir().join(format!("quickstep-malformed-{}", std::process::id()));
            std::fs::create_dir_all(&place).expect("a folder");
            std::env::set_current_dir(place).expect("is there");
        });
        let options = Options { workers: Some(2), memory_bytes: Some(512 << 20), ..Default::default() };
        let session = Database::in_memory(options).expect("a database").session();
        session.query("SET statement_timeout = '700'").expect("a timeout");
        let slowest = (Duration::ZERO, String::new());
        Target { session, errors: 0, results: 0, failures: Vec::new(), slowest }
    }

    fn attempt(&mut self, sql: &str, input: &str) {
        let started = Instant::now();
        let panics = PANICS.lock().map_or(0, |p| p.len());
        match self.session.execute(sql) {
            Ok(_) => self.results += 1,
            Err(error) => {
                self.errors += 1;
                if error.state() == SqlState::Internal {
                    self.failures.push(format!("{error}\n  {}", shown(input)));
                }
            }
        }
        if started.elapsed() > self.slowest.0 {
            self.slowest = (started.elapsed(), shown(input));
        }
        if let Ok(all) = PANICS.lock()
            && all.len() > panics
            && self.failures.len() < 40
        {
            self.failures.push(format!("panic: {}\n  {}", all[panics..].join("; "), shown(input)));
        }
        if self.session.in_transaction() {
            self.session.query("ROLLBACK").expect("a block ends");
        }
        match self.session.query("SELECT 1") {
            Ok(one) if one.rows() == 1 && one.value(0, 0) == Value::I32(1) => {}
            Ok(_) => self.failures.push(format!("SELECT 1 answers wrongly after {}", shown(input))),
            Err(error) => self.failures.push(format!("SELECT 1 fails with {error} after {}", shown(input))),
        }
    }

    fn finish(self, what: &str, errors_min: usize) {
        println!(
            "{what}: {} errors, {} results, slowest {:?}: {}",
            self.errors,
            self.results,
            self.slowest.0,
            self.slowest.1.chars().take(100).collect::<String>()
        );
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n"));
        assert!(self.errors >= errors_min, "only {} of the inputs were refused", self.errors);
    }
}

fn seeds() -> Vec<String> {
    let mut all = Vec::new();
    let folder = conformance::repository().join("tests/answers/queries/tpch");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the TPC-H queries").flatten().map(|e| e.path()).collect();
    files.sort();
    all.extend(files.iter().filter_map(|f| std::fs::read_to_string(f).ok()));
    assert_eq!(all.len(), 22, "TPC-H has 22 queries");
    for file in conformance::corpus::files() {
        let Ok(records) = sqllogictest::parse_file::<DefaultColumnType>(&file) else { continue };
        for record in records {
            if let Record::Statement { sql, .. } | Record::Query { sql, .. } = record {
                let start = sql.trim_start().to_lowercase();
                // Settings would take away the timeout; CALL makes data of any size.
                let left_out = ["set", "call", "reset", "copy"].iter().any(|w| start.starts_with(w));
                if !left_out && sql.len() < 4000 {
                    all.push(sql);
                }
            }
        }
    }
    all
}

/// Words, numbers, quoted strings and symbols, with the blanks before them.
fn tokens(sql: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut characters = sql.chars().peekable();
    while let Some(c) = characters.next() {
        let mut token = c.to_string();
        if c == '\'' || c == '"' {
            for next in characters.by_ref() {
                token.push(next);
                if next == c {
                    break;
                }
            }
        } else if c.is_alphanumeric() || c == '_' || c == '.' {
            while let Some(next) = characters.next_if(|n| n.is_alphanumeric() || *n == '_' || *n == '.') {
                token.push(next);
            }
        } else if c.is_whitespace() {
            token = " ".into();
        }
        out.push(token);
    }
    out
}

const INSERTS: [&str; 40] = [
    "(",
    ")",
    ",",
    ";",
    "'",
    "\"",
    "*",
    "NULL",
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "-1",
    "NOT",
    "CASE",
    "END",
    "WHEN",
    "IN",
    "EXISTS",
    "UNION",
    "99999999999999999999999999999999999999999",
    "1e400",
    "1e-400",
    "0x",
    "9223372036854775808",
    "-170141183460469231731687303715884105728",
    "$1",
    "?",
    "::",
    "[",
    "{",
    "\u{0}",
    "é",
    "\u{202e}",
    "--",
    "/*",
    "LATERAL",
    "INTERVAL '999999999 years'",
];

fn mutate(random: &mut Random, seeds: &[String]) -> String {
    let mut parts = tokens(&seeds[random.below(seeds.len())]);
    for _ in 0..1 + random.below(4) {
        if parts.is_empty() {
            break;
        }
        let at = random.below(parts.len());
        match random.below(8) {
            0 | 1 => drop(parts.remove(at)),
            2 => parts.insert(at, parts[at].clone()),
            3 => parts.insert(at, format!(" {} ", random.pick(&INSERTS))),
            4 => parts[at] = (*random.pick(&INSERTS)).to_owned(),
            5 => {
                let other = random.below(parts.len());
                parts.swap(at, other);
            }
            6 => {
                let others = tokens(&seeds[random.below(seeds.len())]);
                if !others.is_empty() {
                    parts[at] = random.pick(&others).clone();
                }
            }
            _ => parts.truncate(at),
        }
    }
    parts.concat()
}

#[test]
fn sql_text() {
    let mut target = Target::new();
    target.session.query("SET statement_timeout = '0'").expect("no timeout");
    target.session.query("CALL tpch(scale => 0.001)").expect("TPC-H data");
    target.session.query("SET statement_timeout = '700'").expect("a timeout");
    let seeds = seeds();
    assert!(seeds.len() > 300, "{} statements to start from", seeds.len());
    let mut random = Random::new(20);
    let started = Instant::now();
    let mut tried = 0;
    while tried < 4000 && started.elapsed() < Duration::from_secs(60) {
        let sql = mutate(&mut random, &seeds);
        target.attempt(&sql, &sql);
        tried += 1;
    }
    assert!(tried > 300, "only {tried} statements in a minute");
    target.finish("mutated SQL", 100);
}

#[test]
fn sql_of_random_characters() {
    let mut target = Target::new();
    let mut random = Random::new(21);
    for _ in 0..1000 {
        let length = random.below(60);
        let mut sql = String::new();
        for _ in 0..length {
            match random.below(4) {
                0 => sql.push_str(INSERTS[random.below(INSERTS.len())]),
                1 => sql.push(char::from(32 + random.below(95) as u8)),
                2 => sql.push(char::from_u32(random.below(0x11_0000) as u32).unwrap_or('x')),
                _ => sql.push(' '),
            }
        }
        target.attempt(&sql, &sql);
    }
    target.finish("random characters", 100);
}

#[test]
fn sql_that_is_deep_long_or_large() {
    let mut target = Target::new();
    let wrap = |open: &str, inside: &str, close: &str, n: usize| {
        format!("{}{inside}{}", open.repeat(n), close.repeat(n))
    };
    for n in [50, 900, 5_000, 100_000] {
        let cases = [
            format!("SELECT {}", wrap("(", "1", ")", n)),
            format!("SELECT {}", wrap("(", "1", "", n)),
            format!("SELECT {}true", "NOT ".repeat(n)),
            format!("SELECT {}1", "- ".repeat(n)),
            format!("SELECT 1{}", " + 1".repeat(n)),
            format!("SELECT 'a'{}", " || 'a'".repeat(n)),
            format!("SELECT true{}", " AND true".repeat(n)),
            format!("SELECT true{}", " OR false".repeat(n)),
            format!("SELECT {}", wrap("CASE WHEN true THEN ", "1", " END", n)),
            format!("SELECT {}", wrap("abs(", "1", ")", n)),
            format!("SELECT {}", wrap("(SELECT ", "1", ")", n)),
            format!("SELECT * FROM {}", wrap("(SELECT * FROM ", "(VALUES (1)) v", ") x", n)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n.min(3000))),
            format!("SELECT 1{}", " EXCEPT SELECT 2".repeat(n.min(200))),
            format!("SELECT 1 IN ({})", vec!["2"; n].join(", ")),
            format!("SELECT {}", vec!["1"; n].join(", ")),
            format!("VALUES {}", vec!["(1)"; n].join(", ")),
            format!("SELECT {}", "a.".repeat(n) + "b"),
            format!("SELECT 1 AS {}", "x".repeat(n)),
            format!("SELECT '{}'", "x".repeat(n)),
            format!("SELECT {}", "9".repeat(n)),
            format!("SELECT 0.{}", "9".repeat(n)),
            format!("SELECT 1e{}", "9".repeat(n)),
            format!("SELECT CAST('{}' AS DECIMAL(38,3))", "9".repeat(n)),
            format!("SELECT CAST('{}' AS INTEGER)", "9".repeat(n)),
            format!("SELECT DATE '{}-01-01'", "9".repeat(n)),
            format!("SELECT INTERVAL '{} days'", "9".repeat(n)),
            format!("SELECT 'a' LIKE '{}'", "%a".repeat(n)),
            format!("SELECT repeat('a', {n}{n})"),
            format!("SELECT 1{}", "::bigint".repeat(n)),
            format!("SELECT 1 LIMIT {}", "9".repeat(n)),
            format!("SELECT 1 ORDER BY {}", vec!["1"; n.min(5000)].join(", ")),
            format!("SELECT 1 GROUP BY {}", vec!["1"; n.min(5000)].join(", ")),
            format!("WITH {} SELECT 1", wrap("a AS (", "SELECT 1", ")", n)),
            format!("{}SELECT 1", "EXPLAIN ".repeat(n)),
            format!("CREATE TABLE deep (a DECIMAL({n},{n}))"),
            format!(
                "CREATE TABLE wide ({})",
                (0..n.min(3000)).map(|i| format!("c{i} INT")).collect::<Vec<_>>().join(", ")
            ),
            format!(
                "SELECT 1 FROM {}",
                (0..n.min(120)).map(|i| format!("(VALUES (1)) t{i}(a)")).collect::<Vec<_>>().join(", ")
            ),
            "(".repeat(n),
            "/*".repeat(n),
            ";".repeat(n),
        ];
        for sql in &cases {
            target.attempt(sql, sql);
            // Every other test of the crate may be competing for the processor; a hang is another matter.
            assert!(target.slowest.0 < Duration::from_secs(60), "{:?}", target.slowest);
        }
    }
    target.finish("deep, long and large SQL", 40);
}

/// What damages JSON where it is put in.
const JSON_PIECES: [&[u8]; 14] = [
    b"\"",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\0",
    b"\xff\xfe",
    b"\\u",
    b"\\ud800",
    b"1e999",
    b"nul",
];

/// Runs statements over 300 damaged forms of the good texts; `statements` writes a file and says what is run on it.
fn attempt_damaged(
    target: &mut Target,
    goods: &[String],
    inserts: &[&[u8]],
    random: &mut Random,
    statements: impl Fn(&[u8]) -> [String; 2],
) {
    for round in 0..300 {
        let mut bytes = goods[round % goods.len()].clone().into_bytes();
        damage(&mut bytes, random, inserts);
        for sql in statements(&bytes) {
            target.attempt(&sql, &String::from_utf8_lossy(&bytes));
        }
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random, inserts: &[&[u8]]) {
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            return;
        }
        // Formats keep their structure at the end and at the beginning.
        let length = bytes.len();
        let at = match random.below(4) {
            0 => random.below(length.min(64)),
            1 => length - 1 - random.below(length.min(600)),
            _ => random.below(length),
        };
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = *random.pick(&[0, 1, 0x7F, 0x80, 0xFF]),
            2 => bytes.truncate(at),
            3 => {
                let insert = random.pick(inserts);
                bytes.splice(at..at, insert.iter().copied());
            }
            4 => drop(bytes.drain(at..(at + 1 + random.below(40)).min(length))),
            5 => {
                let from = random.below(length);
                let count = random.below(50).min(length - from.max(at));
                bytes.copy_within(from..from + count, at);
            }
            _ => {
                if let Some(slot) = bytes.get_mut(at..at + 4) {
                    slot.copy_from_slice(
                        &random.pick(&[0u32, 1, u32::MAX, 1 << 31, length as u32]).to_le_bytes(),
                    );
                }
            }
        }
    }
}

#[test]
fn csv_files() {
    let mut target = Target::new();
    let folder = Folder::new("malformed-csv");
    let mut random = Random::new(22);
    let mut good = String::from("id,name,price,day\n");
    for i in 0..200 {
        good.push_str(&format!("{i},\"name, \"\"{i}\"\"\",{}.25,2024-01-{:02}\n", i * 3, i % 28 + 1));
    }
    let sqls = |path: &str| {
        [
            format!("CREATE OR REPLACE TABLE m AS SELECT * FROM '{path}'"),
            format!("COPY typed FROM '{path}' (HEADER true)"),
        ]
    };
    target
        .session
        .query("CREATE TABLE typed (id INTEGER NOT NULL, name VARCHAR(12), price DECIMAL(8,2), day DATE)")
        .expect("a table");
    let path = folder.write("good.csv", good.as_bytes());
    for sql in sqls(&path) {
        target.session.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let inserts: [&[u8]; 14] = [
        b"\"",
        b"\n",
        b"\r\n",
        b",",
        b",,,,,,",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\n\n\n",
        b"99999999999999999999999",
        b"not a number",
        b"\"\"\"",
        b"\\",
        b"\xe2\x28\xa1",
    ];
    let write = |bytes: &[u8]| folder.write("m.csv", bytes);
    attempt_damaged(&mut target, &[good.clone()], &inserts, &mut random, |bytes| sqls(&write(bytes)));
    let whole: [&[u8]; 12] = [
        b"",
        b"\n",
        b"\"",
        b"id,name,price,day",
        b"a,a,a,a\n1,2,3,4\n",
        b"\0\0\0\0",
        b"\xff\xff\xff",
        b",,,\n,,,\n",
        b"\"unclosed\n1,2\n",
        b"1\n1,2\n1,2,3\n",
        b"id,name,price,day\n1,2,3\n",
        b"id,name,price,day\n,x,1,2024-02-30\n",
    ];
    for bytes in whole {
        let path = folder.write("m.csv", bytes);
        for sql in sqls(&path) {
            target.attempt(&sql, &String::from_utf8_lossy(bytes));
        }
    }
    let long = [b"id,name,price,day\n1,".as_slice(), &vec![b'x'; 3 << 20], b",1,2024-01-01\n"].concat();
    let many = [",".repeat(200_000).as_bytes(), b"\n"].concat();
    for bytes in [long, many] {
        let path = folder.write("m.csv", &bytes);
        for sql in sqls(&path) {
            target.attempt(&sql, "a huge field or a huge number of fields");
        }
    }
    for sql in
        ["SELECT * FROM 'nowhere/nothing.csv'", "COPY typed FROM 'nowhere.csv'", "SELECT * FROM '[.csv'"]
    {
        target.attempt(sql, sql);
    }
    target.finish("CSV", 100);
}

#[test]
fn json_files() {
    let mut target = Target::new();
    let folder = Folder::new("malformed-json");
    let mut random = Random::new(25);
    let records: Vec<String> = (0..200)
        .map(|i| format!("{{\"id\": {i}, \"name\": \"n\\u00e9 \\\"{i}\\\"\", \"price\": {i}.25, \"day\": \"2024-01-{:02}\", \"tags\": [{i}, {{\"a\": null}}]}}", i % 28 + 1))
        .collect();
    let goods = [records.join("\n"), format!("[{}]", records.join(",\n"))];
    let sqls = |path: &str| {
        [
            format!("CREATE OR REPLACE TABLE m AS SELECT * FROM '{path}'"),
            format!(
                "SELECT count(*) FROM read_json('{path}', ignore_errors => true, columns => {{'id': 'SMALLINT', 'day': 'DATE'}})"
            ),
        ]
    };
    for good in &goods {
        let path = folder.write("good.json", good.as_bytes());
        for sql in sqls(&path) {
            target.session.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
    }
    let write = |bytes: &[u8]| folder.write("m.json", bytes);
    attempt_damaged(&mut target, &goods, &JSON_PIECES, &mut random, |bytes| sqls(&write(bytes)));
    let deep = "[".repeat(200_000);
    let nested = format!("{{\"a\": {}1{}}}", "{\"b\": ".repeat(500), "}".repeat(500));
    let long = format!("{{\"a\": \"{}\"}}\n{{\"a\": 1}}", "x".repeat(3 << 20));
    let keys = format!("{{{}}}", (0..20_000).map(|i| format!("\"k{i}\": {i}")).collect::<Vec<_>>().join(","));
    for text in [
        deep.as_str(),
        &nested,
        &long,
        &keys,
        "",
        "\u{FEFF}",
        "{}",
        "{}{}",
        "[{}]",
        "null",
        "[null]",
        "{\"\": 1}",
    ] {
        let path = folder.write("m.json", text.as_bytes());
        for sql in sqls(&path) {
            target.attempt(&sql, &text.chars().take(100).collect::<String>());
        }
    }
    target.finish("JSON", 100);
}

fn parquet_bytes(compression: Compression, rows: usize) -> Vec<u8> {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int32Array::from_iter((0..rows).map(|i| (i % 7 > 0).then_some(i as i32))))),
        ("b", Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i as i64 * 1_000_003)))),
        (
            "c",
            Arc::new(StringArray::from_iter(
                (0..rows).map(|i| (i % 5 > 0).then(|| format!("text {}", i % 20))),
            )),
        ),
        ("d", Arc::new(Float64Array::from_iter_values((0..rows).map(|i| i as f64 / 4.0)))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .expect("a batch");
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(200))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("rows written");
    writer.close().expect("a footer");
    bytes
}

#[test]
fn parquet_files() {
    let mut target = Target::new();
    let folder = Folder::new("malformed-parquet");
    let mut random = Random::new(23);
    let goods = [Compression::UNCOMPRESSED, Compression::SNAPPY].map(|c| parquet_bytes(c, 500));
    let sql = |path: &str| format!("CREATE OR REPLACE TABLE m AS SELECT * FROM '{path}'");
    for good in &goods {
        let path = folder.write("good.parquet", good);
        target.session.query(&sql(&path)).expect("the undamaged file");
        assert_eq!(
            target.session.query("SELECT count(*) FROM m").expect("a count").value(0, 0),
            Value::I64(500)
        );
    }
    let inserts: [&[u8]; 5] = [b"PAR1", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x15\x00", b"\x7f"];
    for round in 0..600 {
        let mut bytes = goods[round % goods.len()].clone();
        damage(&mut bytes, &mut random, &inserts);
        let path = folder.write("m.parquet", &bytes);
        target.attempt(&sql(&path), &format!("damaged Parquet, round {round}"));
        target.attempt(
            &format!("SELECT max(b), count(c) FROM '{path}' WHERE a > 100"),
            &format!("damaged Parquet, round {round}"),
        );
    }
    let whole: [&[u8]; 6] =
        [b"", b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"not a Parquet file"];
    for bytes in whole {
        let path = folder.write("m.parquet", bytes);
        target.attempt(&sql(&path), &format!("{bytes:?}"));
    }
    target.finish("Parquet", 100);
}

/// Block bytes: checksums see what was changed, and what they do not cover is not read.
#[test]
fn block_bytes() {
    record_panics();
    let columns = [(Type::Integer, true), (Type::Text, true), (Type::Double, false)];
    let column = |c: usize| {
        let values: Vec<Value> = (0..300)
            .map(|i| match c {
                0 => {
                    if i % 9 == 0 {
                        Value::Null
                    } else {
                        Value::I32(i)
                    }
                }
                1 => Value::text(&format!("value {}", i % 30)),
                _ => Value::F64(f64::from(i)),
            })
            .collect();
        vector::Vector::from_values(columns[c].0, &values)
    };
    let parts = [vector::Batch::new((0..3).map(column).collect(), 300)];
    let mut random = Random::new(24);
    let (mut refused, mut opened) = (0, 0);
    for layout in [block::LayoutKind::ColumnStore, block::LayoutKind::CompressedColumnStore] {
        let encoded = block::encode(&columns, &parts, layout).expect("a block");
        let mut memory = arrow_buffer::MutableBuffer::from_len_zeroed(encoded.len());
        encoded.write_into(memory.as_slice_mut());
        let good = memory.as_slice().to_vec();
        assert_eq!(
            block::Block::open(block::Block::aligned(&good)).expect("the undamaged block").rows(),
            300
        );
        for _ in 0..1000 {
            let mut bytes = good.clone();
            damage(&mut bytes, &mut random, &[b"QSBLOCK1", b"\0\0\0\0", b"\xff\xff\xff\xff\xff\xff\xff\xff"]);
            let used = std::panic::catch_unwind(|| {
                block::Block::open(block::Block::aligned(&bytes)).map(|block| {
                    for column in 0..block.columns() {
                        let rows = block.rows().min(1000);
                        let _ = block.fetch(column, 0..rows).flatten();
                    }
                })
            });
            match used.expect("no panic") {
                Ok(()) => opened += 1,
                Err(error) => {
                    assert_eq!(error.state(), SqlState::DataCorrupted);
                    refused += 1;
                }
            }
        }
    }
    println!("block bytes: {refused} refused, {opened} opened");
    assert!(refused >= 1000);
}
