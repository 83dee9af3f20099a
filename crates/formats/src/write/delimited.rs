//! CSV and TSV.

use std::io::{self, Write};

use types::{Schema, Type};
use vector::Batch;

use super::{BatchWriter, WriteFormat, WriteOptions};

/// Writes batches as CSV or TSV.
pub(super) struct Delimited<W> {
    out: W,
    types: Vec<Type>,
    separator: String,
    null_text: String,
    /// Odd characters are escaped by a backslash instead of being quoted.
    escapes: bool,
    /// What quotes are, and what stands before one in a value; without them nothing is quoted.
    quotes: Option<(char, char)>,
    /// Columns whose values are quoted in any case.
    forced: Vec<bool>,
    line: String,
}

impl<W: Write> Delimited<W> {
    /// CSV with the usual options and a header, which is written at once.
    pub(super) fn csv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::with(schema, out, &WriteOptions::of(WriteFormat::Csv), true)
    }
    /// TSV with the usual options and a header, which is written at once.
    pub(super) fn tsv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::with(schema, out, &WriteOptions::of(WriteFormat::Tsv), true)
    }
    /// `header`: the columns' names come first.
    pub(super) fn with(schema: &Schema, out: W, options: &WriteOptions, header: bool) -> io::Result<Self> {
        let types = schema.fields().iter().map(|f| f.ty).collect();
        let mut this = Delimited {
            out,
            types,
            separator: options.delimiter.clone(),
            null_text: options.null_text.clone(),
            escapes: options.format == WriteFormat::Tsv,
            quotes: options.quote.map(|quote| (quote, options.escape)),
            forced: vec![false; schema.len()],
            line: String::new(),
        };
        // The names of the columns are quoted where they need it only.
        let forced = options.forced(schema).map_err(|error| super::as_io(&error))?;
        if header {
            this.row(schema.fields().iter().map(|f| Some(f.name.clone())))?;
        }
        this.forced = forced;
        Ok(this)
    }
    fn row(&mut self, cells: impl Iterator<Item = Option<String>>) -> io::Result<()> {
        self.line.clear();
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                self.line.push_str(&self.separator);
            }
            match cell.as_deref() {
                None => self.line.push_str(&self.null_text),
                Some(text) if self.escapes => {
                    escaped_cell(text, self.separator.chars().next().unwrap_or('\t'), &mut self.line)
                }
                Some(text) => match self.quotes {
                    None => self.line.push_str(text),
                    Some(quotes) if self.forced[at] => quoted(text, quotes, &mut self.line),
                    Some(quotes) => {
                        // Alone on its line, `\.` would end the rows of COPY FROM STDIN.
                        // A part of a delimiter at a value's end would be one with what follows.
                        let signs =
                            |c: char| self.separator.contains(c) || c == quotes.0 || matches!(c, '\n' | '\r');
                        match text == self.null_text || text == "\\." || text.contains(signs) {
                            true => quoted(text, quotes, &mut self.line),
                            false => self.line.push_str(text),
                        }
                    }
                },
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

fn quoted(text: &str, (quote, escape): (char, char), line: &mut String) {
    line.push(quote);
    for c in text.chars() {
        if c == quote || c == escape {
            line.push(escape);
        }
        line.push(c);
    }
    line.push(quote);
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
