//! The corpus as `sqllogictest` runs it: each file in a new database, under one configuration.
//!
//! Answers are compared as text, with blanks run together, a row at a time. Where several engines run a query, rows that no
//! ORDER BY puts in order are compared as a set; everywhere else their order counts. Called by the corpus's tests.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use engine::Session;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use types::{Error, Value};

use crate::configuration::Configuration;

/// A session as the corpus sees it.
pub struct CorpusDatabase {
    session: Session,
    again: bool,
    printed: bool,
    several_nodes: bool,
}

thread_local! {
    /// Whether the rows of the last query have an order.
    static ORDERED: Cell<bool> = const { Cell::new(true) };
}

/// Whether a query has an ORDER BY of its own, and not one of a part in brackets alone.
fn is_ordered(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.match_indices("order by").any(|(at, _)| {
        let before = &words[..at];
        before.matches('(').count() == before.matches(')').count()
    })
}

impl CorpusDatabase {
    /// Whether the statement may run twice where it is to run once: it is a query, and changes neither a table nor a
    /// sequence.
    fn may_run_again(&self, sql: &str) -> bool {
        let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let reads =
            ["select", "with", "values", "table", "from"].iter().any(|w| word.eq_ignore_ascii_case(w));
        let text = sql.to_ascii_lowercase();
        let changes = ["nextval", "setval", "insert", "update", "delete", "merge", " into "];
        reads && !changes.iter().any(|word| text.contains(word))
    }
}

impl DB for CorpusDatabase {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        // A text of several statements, or none that is read, stays as it is.
        let printed = match self.printed.then(|| syntax::parse_statement(sql)) {
            Some(Ok(tree)) => Some(tree.to_string()),
            _ => None,
        };
        let sql = printed.as_deref().unwrap_or(sql);
        ORDERED.set(!self.several_nodes || is_ordered(sql));
        if self.again && self.may_run_again(sql) {
            self.session.describe(sql)?;
            self.session.query(sql)?;
        }
        let result = self.session.query(sql)?;
        if !result.has_rows() {
            return Ok(DBOutput::StatementComplete(result.rows() as u64));
        }
        let fields = result.schema().fields();
        let rows = result.within_time_zone(|| {
            let mut rows = Vec::new();
            for batch in result.batches() {
                for row in 0..batch.rows {
                    let cells = batch.columns.iter().zip(fields);
                    rows.push(cells.map(|(c, f)| cell(&c.value(row), f.ty)).collect());
                }
            }
            rows
        });
        let types = vec![DefaultColumnType::Any; fields.len()];
        Ok(DBOutput::Rows { types, rows })
    }

    fn engine_name(&self) -> &str {
        "quickstep"
    }

    fn error_sql_state(error: &Error) -> Option<String> {
        Some(error.state().code().to_owned())
    }
}

fn cell(value: &Value, ty: types::Type) -> String {
    let text = value.display(ty);
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

/// Every corpus file, sorted.
pub fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![crate::repository().join("tests/slt")];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "slt") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs one file in a new database; every record that fails, in words. `run` counts the records.
pub fn replay(file: &Path, configuration: &Configuration, run: &mut usize) -> Vec<String> {
    let records = match sqllogictest::parse_file::<DefaultColumnType>(file) {
        Ok(records) => records,
        Err(error) => return vec![format!("{}: {error}", file.display())],
    };
    // Some count how often their statements ran.
    let counts = std::fs::read_to_string(file).is_ok_and(|text| text.contains("quickstep_workload"));
    let (again, printed) = (configuration.again && !counts, configuration.printed);
    let several_nodes = configuration.several_nodes;
    let mut runner = Runner::new(|| async {
        configuration.open().map(|session| CorpusDatabase { session, again, printed, several_nodes })
    });
    runner.add_label("quickstep");
    runner.add_label(configuration.name);
    // Rows are compared as text with blanks run together, whole rows at a time: values that are blank leave no trace.
    runner.with_validator(|_, actual, expected| {
        let together = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut actual: Vec<String> = actual.iter().map(|row| together(&row.join(" "))).collect();
        let mut expected: Vec<String> = expected.iter().map(|row| together(row)).collect();
        if !ORDERED.get() {
            actual.sort_unstable();
            expected.sort_unstable();
        }
        actual == expected
    });
    let mut failures = Vec::new();
    for record in records {
        if matches!(record, Record::Statement { .. } | Record::Query { .. }) {
            *run += 1;
        }
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        if let Err(error) = runner.run(record) {
            failures.push(format!("[{}] {error}", configuration.name));
        }
    }
    failures
}
