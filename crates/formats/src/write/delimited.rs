//! CSV and TSV.

use std::io::{self, Write};

use types::{Schema, Type};
use vector::Batch;

use super::{BatchWriter, WriteFormat, WriteOptions};

pub(super) struct Delimited<W> {
    out: W,
    types: Vec<Type>,
    separator: char,
    null_text: String,
    /// Odd characters are escaped by a backslash instead of being quoted.
    escapes: bool,
    line: String,
}

impl<W: Write> Delimited<W> {
    pub(super) fn csv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::with(schema, out, &WriteOptions::of(WriteFormat::Csv), true)
    }
    pub(super) fn tsv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::with(schema, out, &WriteOptions::of(WriteFormat::Tsv), true)
    }
    /// `header`: the columns' names come first.
    pub(super) fn with(schema: &Schema, out: W, options: &WriteOptions, header: bool) -> io::Result<Self> {
        let types = schema.fields().iter().map(|f| f.ty).collect();
        let mut this = Delimited {
            out,
            types,
            separator: options.delimiter,
            null_text: options.null_text.clone(),
            escapes: options.format == WriteFormat::Tsv,
            line: String::new(),
        };
        if header {
            this.row(schema.fields().iter().map(|f| Some(f.name.clone())))?;
        }
        Ok(this)
    }
    fn row(&mut self, cells: impl Iterator<Item = Option<String>>) -> io::Result<()> {
        self.line.clear();
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                self.line.push(self.separator);
            }
            match cell.as_deref() {
                None => self.line.push_str(&self.null_text),
                Some(text) if self.escapes => escaped_cell(text, self.separator, &mut self.line),
                Some(text) => quoted_cell(text, self.separator, &self.null_text, &mut self.line),
            }
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }
}

impl<W: Write> BatchWriter for Delimited<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        for row in 0..batch.rows {
            let values: Vec<Option<String>> = batch
                .columns
                .iter()
                .zip(&self.types)
                .map(|(column, ty)| {
                    let value = column.value(row);
                    (!value.is_null()).then(|| value.display(*ty))
                })
                .collect();
            self.row(values.into_iter())?;
        }
        Ok(())
    }
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

fn quoted_cell(text: &str, separator: char, null_text: &str, line: &mut String) {
    // Alone on its line, `\.` would end the rows of COPY FROM STDIN.
    if text == null_text || text == "\\." || text.contains([separator, '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

fn escaped_cell(text: &str, separator: char, line: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            c if c == separator => line.extend(['\\', c]),
            c => line.push(c),
        }
    }
}
