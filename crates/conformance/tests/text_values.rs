//! Values of CSV and JSON files keep their digits, signs and zeros, wherever a buffer ends; a header is a row that something
//! speaks for.

use std::path::PathBuf;

use engine::{Database, Options, Session};
use types::Value;

/// A folder of its own that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("quickstep-text-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
        .expect("a database")
        .session()
}

/// Rows as text, values separated by `|`.
fn rows(session: &Session, sql: &str) -> Vec<String> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e} {:?}", e.hint()));
    let fields = result.schema().fields().to_vec();
    let shown = |row: usize| {
        let value = |column: usize| match result.value(row, column) {
            Value::Null => "NULL".to_owned(),
            value => value.display(fields[column].ty),
        };
        (0..fields.len()).map(value).collect::<Vec<_>>().join("|")
    };
    (0..result.rows()).map(shown).collect()
}

/// Names and types of a query's columns.
fn columns(session: &Session, sql: &str) -> String {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let fields = result.schema().fields();
    fields.iter().map(|f| format!("{} {}", f.name, f.ty.sql_name())).collect::<Vec<_>>().join(", ")
}

fn error(session: &Session, sql: &str) -> types::Error {
    session.query(sql).map(|_| ()).expect_err(sql)
}

/// A file is read a megabyte at a time; a number that lies across the end of one is read as a whole.
#[test]
fn numbers_of_json_are_read_across_buffers() {
    const BUFFER: usize = 1 << 20;
    let (folder, session) = (Folder::new("across"), session());
    let head = "[{\"a\":1},{\"a\":";
    for number in ["-5", "0.5", "1e5", "-12.5e+3", "12345678901234567890123", "true", "\"x\\u00e9y\""] {
        for cut in 0..=number.len() {
            let spaces = " ".repeat(BUFFER - head.len() - cut);
            let text = format!("[{{\"a\":1}},{spaces}{{\"a\":{number}}},{{\"a\":2}}]");
            let path = folder.write("across.json", &text);
            let near = folder.write("near.json", format!("[{{\"a\":1}},{{\"a\":{number}}},{{\"a\":2}}]"));
            let read = |path: &str| rows(&session, &format!("SELECT a FROM '{path}'"));
            assert_eq!(read(&path), read(&near), "{number} cut behind {cut}");
        }
    }
}

#[test]
fn nulls_in_objects_are_null() {
    let (folder, session) = (Folder::new("nulls"), session());
    let path = folder.write("n.json", "{\"c\":{\"x\":null,\"y\":1}}\n{\"c\":{\"x\":null,\"y\":2}}\n");
    assert_eq!(rows(&session, &format!("SELECT c.x IS NULL, count(*) FROM '{path}' GROUP BY 1")), ["true|2"]);
}

#[test]
fn digits_of_json_numbers_stay() {
    let (folder, session) = (Folder::new("digits"), session());
    for number in ["12345678901234567890123", "-98765432109876543210987", "0.12345678901234567890123"] {
        let path = folder.write("d.json", format!("[{{\"a\":{number}}}]"));
        assert_eq!(rows(&session, &format!("SELECT a::text FROM '{path}'")), [number]);
        let path = folder.write("e.json", format!("[{{\"o\":{{\"a\":{number}}}}}]"));
        assert_eq!(rows(&session, &format!("SELECT o.a::text FROM '{path}'")), [number]);
    }
}

#[test]
fn signs_and_zeros_of_csv_stay() {
    let (folder, session) = (Folder::new("signs"), session());
    let path = folder.write("dot.csv", "id,rate\n1,.097\n2,.5\n");
    assert_eq!(columns(&session, &format!("FROM '{path}'")), "id BIGINT, rate DOUBLE PRECISION");
    assert_eq!(rows(&session, &format!("FROM '{path}'")), ["1|0.097", "2|0.5"]);
    let path = folder.write("phone.csv", "n,phone\n1,+4915112345\n2,+4915112346\n");
    assert_eq!(rows(&session, &format!("FROM '{path}'")), ["1|+4915112345", "2|+4915112346"]);
    let path = folder.write("zip.csv", "n,zip\n1,01067\n2,10115\n");
    assert_eq!(rows(&session, &format!("SELECT zip FROM '{path}'")), ["01067", "10115"]);
    // What comes behind the rows that the type was guessed from is not changed in silence.
    let many: String = (0..50_000).map(|n| format!("{n},{}\n", 10_000 + n)).collect();
    for late in ["01067", "+4915112345"] {
        let path = folder.write("late.csv", format!("n,zip\n{many}7,{late}\n"));
        let error = error(&session, &format!("SELECT sum(zip) FROM read_csv('{path}', sample_size => 1000)"));
        assert!(format!("{error} {:?}", error.hint()).contains("sample_size"), "{error} {:?}", error.hint());
        let all = format!("SELECT zip FROM read_csv('{path}', sample_size => -1) WHERE n = 7");
        assert!(rows(&session, &all).contains(&late.to_owned()), "{late}");
    }
}

#[test]
fn headers_are_found() {
    let (folder, session) = (Folder::new("headers"), session());
    for (text, names) in [
        (",name,city\n0,Ada,Oslo\n1,Bob,Rome\n", "name VARCHAR, city VARCHAR"),
        ("Country Name,2019,2020\nAtlantis,1,2\n", "Country Name VARCHAR, 2019 BIGINT, 2020 BIGINT"),
        ("a,b\n1,2\n", "a BIGINT, b BIGINT"),
    ] {
        let path = folder.write("h.csv", text);
        let found = columns(&session, &format!("FROM '{path}'"));
        assert!(found.replace("TEXT", "VARCHAR").ends_with(names), "{text}: {found}");
    }
    let path = folder.write("none.csv", "1.5,2\n3,4\n");
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), ["2"]);
}
