//! Results as text: tables for people, and the formats that other programs read.

mod markup;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use engine::ResultSet;
use formats::write::{WriteFormat, write_all};

use crate::arguments::Format;

pub use table::{BARE, BOX, FRAMED, Layout, Lines, PLAIN};

/// How results are shown.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    pub format: Format,
    pub layout: Layout<'a>,
}

pub fn print(out: &mut (impl Write + Send), result: &ResultSet, style: Style<'_>) -> io::Result<()> {
    if let (Some(warning), true) = (result.warning(), style.format.is_for_people()) {
        writeln!(out, "WARNING: {warning}")?;
    }
    if !result.has_rows() {
        return if style.format.is_for_people() { writeln!(out, "{}", result.tag()) } else { Ok(()) };
    }
    result.within_time_zone(|| print_rows(out, result, style))
}

fn print_rows(out: &mut (impl Write + Send), result: &ResultSet, style: Style<'_>) -> io::Result<()> {
    let format = match style.format {
        Format::Table => return table::print(out, result, style.layout),
        Format::Box => return table::print(out, result, Layout { lines: &BOX, ..style.layout }),
        Format::Markdown => return markup::markdown(out, result),
        Format::Html => return markup::html(out, result),
        Format::Csv => WriteFormat::Csv,
        Format::Tsv => WriteFormat::Tsv,
        Format::Json => WriteFormat::Json,
        Format::Ndjson => WriteFormat::Ndjson,
        Format::Arrow => WriteFormat::Arrow,
        Format::Parquet => WriteFormat::Parquet,
    };
    write_all(format, result.schema(), result.batches(), out)
}

/// The rows' values, first to last.
fn rows(result: &ResultSet) -> impl Iterator<Item = Vec<engine::Value>> + '_ {
    rows_from(result, 0)
}

/// The same without the first `skipped` rows, which are not read.
fn rows_from(result: &ResultSet, skipped: usize) -> impl Iterator<Item = Vec<engine::Value>> + '_ {
    let mut left = skipped;
    result.batches().iter().flat_map(move |b| {
        let from = left.min(b.rows);
        left -= from;
        (from..b.rows).map(move |row| b.columns.iter().map(|c| c.value(row)).collect())
    })
}

/// A value on one line: what would break the line is shown escaped.
fn one_line(value: &engine::Value, ty: engine::Type) -> String {
    let text = value.display(ty);
    if !text.contains(|c: char| c.is_control()) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // An escape sequence in data must not drive the terminal.
            c if c.is_control() => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => shown.push(c),
        }
    }
    shown
}
