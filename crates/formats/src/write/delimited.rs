//! CSV and TSV.

use std::io::{self, Write};

use types::{Schema, Type};
use vector::Batch;

use super::BatchWriter;

pub(super) struct Delimited<W> {
    out: W,
    types: Vec<Type>,
    separator: char,
    cell: fn(Option<&str>, &mut String),
    line: String,
}

impl<W: Write> Delimited<W> {
    pub(super) fn csv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::new(schema, out, ',', csv_cell)
    }
    pub(super) fn tsv(schema: &Schema, out: W) -> io::Result<Self> {
        Self::new(schema, out, '\t', tsv_cell)
    }
    fn new(
        schema: &Schema,
        out: W,
        separator: char,
        cell: fn(Option<&str>, &mut String),
    ) -> io::Result<Self> {
        let types = schema.fields().iter().map(|f| f.ty).collect();
        let mut this = Delimited { out, types, separator, cell, line: String::new() };
        this.row(schema.fields().iter().map(|f| Some(f.name.clone())))?;
        Ok(this)
    }
    fn row(&mut self, cells: impl Iterator<Item = Option<String>>) -> io::Result<()> {
        self.line.clear();
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                self.line.push(self.separator);
            }
            (self.cell)(cell.as_deref(), &mut self.line);
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

fn csv_cell(text: Option<&str>, line: &mut String) {
    let Some(text) = text else { return };
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

fn tsv_cell(text: Option<&str>, line: &mut String) {
    let Some(text) = text else { return line.push_str("\\N") };
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            c => line.push(c),
        }
    }
}
