//! JSON: one array, or an object a line. Numbers and truth values stand bare, nested values are arrays and objects,
//! everything else is text; a number that JSON has no form for (infinity, NaN) is text too.

use std::io::{self, Write};

use types::{Schema, Type, json};
use vector::Batch;

use super::BatchWriter;

/// Writes batches as JSON objects, one a row.
pub(super) struct Json<W> {
    out: W,
    /// Key with its colon, and type, of each column.
    columns: Vec<(String, Type)>,
    lines: bool,
    rows: u64,
    /// The array goes on after these rows.
    open: bool,
}

impl<W: Write> Json<W> {
    /// One array of all rows.
    pub(super) fn array(schema: &Schema, out: W) -> Self {
        Self::new(schema, out, false)
    }
    /// One object a line.
    pub(super) fn lines(schema: &Schema, out: W) -> Self {
        Self::new(schema, out, true)
    }
    fn new(schema: &Schema, out: W, lines: bool) -> Self {
        let columns = schema.fields().iter().map(|f| (format!("{}: ", quoted(&f.name)), f.ty)).collect();
        Json { out, columns, lines, rows: 0, open: false }
    }
    /// Rows of an array of which others may stand before and behind.
    pub(super) fn part_of_array(schema: &Schema, out: W, first: bool, last: bool) -> Self {
        let json = Self::new(schema, out, false);
        Json { rows: u64::from(!first), open: !last, ..json }
    }
}

impl<W: Write> BatchWriter for Json<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let mut text = String::new();
        for row in 0..batch.rows {
            text.clear();
            match (self.lines, self.rows) {
                (true, _) => {}
                (false, 0) => text.push_str("[\n  "),
                (false, _) => text.push_str(",\n  "),
            }
            self.rows += 1;
            text.push('{');
            for (at, ((key, ty), column)) in self.columns.iter().zip(&batch.columns).enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                text.push_str(key);
                json::push_value(&column.value(row), *ty, &mut text);
            }
            text.push('}');
            if self.lines {
                text.push('\n');
            }
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.lines && !self.open {
            self.out.write_all(if self.rows == 0 { b"[\n]\n" } else { b"\n]\n" })?;
        }
        self.out.flush()
    }
}

/// A JSON string, its quotes included.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    json::push_string(text, &mut quoted);
    quoted
}
