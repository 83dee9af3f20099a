//! Typical mistakes and what is said about them, word for word: `tests/errors/mistakes.txt`.
//!
//! A record is a statement, then the error as the shell shows it. `UPDATE_SNAPSHOTS=1` writes the file anew, whose
//! difference is to be read: an error names the thing, points at it, and says what to do.

use conformance::configuration;

const SETUP: [&str; 3] = [
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, balance DECIMAL(10,2), born DATE)",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total DECIMAL(10,2), placed TIMESTAMP)",
    "INSERT INTO customer VALUES (1, 'Ann', 'Oslo', 10.50, DATE '1990-01-01'), (2, 'Bob', 'Rome', NULL, NULL)",
];

/// The statement of a record, and what is said to come of it.
fn records(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("\n\n").map(str::trim).filter(|b| !b.is_empty() && !b.starts_with('#'));
    let parts = blocks.map(|block| match block.split_once("\nERROR ") {
        Some((statement, error)) => (statement.to_owned(), format!("ERROR {error}")),
        None => (block.to_owned(), String::new()),
    });
    parts.collect()
}

#[test]
fn mistakes_are_told_well() {
    let path = conformance::repository().join("tests/errors/mistakes.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let session = configuration::standard().open().unwrap();
    for statement in SETUP {
        session.query(statement).unwrap();
    }
    session.query("INSERT INTO orders VALUES (1, 1, 5.00, NULL), (2, 1, 6.00, NULL)").unwrap();
    let mut new = String::from(
        "# Typical mistakes, each with the error that is shown. crates/conformance/tests/error_messages.rs says more.\n",
    );
    let mut wrong = Vec::new();
    let all = records(&text);
    assert!(all.len() >= 60, "{} mistakes only", all.len());
    for (statement, expected) in all {
        let shown = match session.query(&statement) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.render(&statement).trim_end().to_owned(),
        };
        if shown != expected {
            wrong.push(format!("{statement}\n-- gives\n{shown}\n-- not\n{expected}"));
        }
        new.push_str(&format!("\n{statement}\n{shown}\n"));
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, new).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// A golden file that everything passes proves nothing.
#[test]
fn records_are_read() {
    let read = records("# about\n\nSELECT 1 +\nERROR 42601: x\nHINT: y\n\nSELECT 2\nERROR 1: z\n");
    assert_eq!(read.len(), 2);
    assert_eq!(read[0], ("SELECT 1 +".to_owned(), "ERROR 42601: x\nHINT: y".to_owned()));
}
