//! Results as text: aligned tables, CSV, JSON.

use std::io::{self, Write};

use engine::{ResultSet, Type, Value};

use crate::arguments::Format;

pub fn print(out: &mut impl Write, result: &ResultSet, format: Format) -> io::Result<()> {
    if !result.has_rows() {
        return if format == Format::Table { writeln!(out, "{}", result.tag()) } else { Ok(()) };
    }
    match format {
        Format::Table => table(out, result),
        Format::Csv => csv(out, result),
        Format::Json => json(out, result),
    }
}

fn rows(result: &ResultSet) -> impl Iterator<Item = Vec<Value>> + '_ {
    result
        .batches()
        .iter()
        .flat_map(|b| (0..b.rows).map(move |row| b.columns.iter().map(|c| c.value(row)).collect()))
}

/// Characters a text takes on a terminal, near enough: line breaks and tabs are shown escaped.
fn shown(value: &Value, ty: Type) -> String {
    let text = value.display(ty);
    if text.contains(['\n', '\r', '\t']) {
        return text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    }
    text
}

fn table(out: &mut impl Write, result: &ResultSet) -> io::Result<()> {
    let fields = result.schema().fields();
    let mut widths: Vec<usize> = fields.iter().map(|f| f.name.chars().count()).collect();
    // Widths come from the first rows; a longer value further down only shifts its own line.
    for row in rows(result).take(1000) {
        for ((width, value), field) in widths.iter_mut().zip(&row).zip(fields) {
            *width = (*width).max(shown(value, field.ty).chars().count());
        }
    }
    let heading: Vec<String> =
        fields.iter().zip(&widths).map(|(f, w)| format!(" {:w$} ", f.name, w = *w)).collect();
    writeln!(out, "{}", heading.join("|").trim_end())?;
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
    writeln!(out, "{}", rule.join("+"))?;
    for row in rows(result) {
        let mut line = String::new();
        for (at, ((value, field), width)) in row.iter().zip(fields).zip(&widths).enumerate() {
            if at > 0 {
                line.push('|');
            }
            let text = shown(value, field.ty);
            let padding = " ".repeat(width.saturating_sub(text.chars().count()));
            if field.ty.is_numeric() {
                line.push_str(&format!(" {padding}{text} "));
            } else {
                line.push_str(&format!(" {text}{padding} "));
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let count = result.rows();
    writeln!(out, "({count} row{})", if count == 1 { "" } else { "s" })
}

fn csv(out: &mut impl Write, result: &ResultSet) -> io::Result<()> {
    let quoted = |text: &str| {
        if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let fields = result.schema().fields();
    let heading: Vec<String> = fields.iter().map(|f| quoted(&f.name)).collect();
    writeln!(out, "{}", heading.join(","))?;
    for row in rows(result) {
        // NULL is nothing at all, the empty string is "".
        let cells: Vec<String> = row
            .iter()
            .zip(fields)
            .map(|(v, f)| if v.is_null() { String::new() } else { quoted(&v.display(f.ty)) })
            .collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

pub fn json_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn json(out: &mut impl Write, result: &ResultSet) -> io::Result<()> {
    let fields = result.schema().fields();
    let mut separator = "[";
    for row in rows(result) {
        let cells: Vec<String> = row
            .iter()
            .zip(fields)
            .map(|(value, field)| {
                let text = value.display(field.ty);
                let plain = match (value, field.ty) {
                    (Value::Null, _) => "null".to_owned(),
                    (Value::F32(_) | Value::F64(_), _) if value.as_f64().is_some_and(f64::is_finite) => text,
                    (Value::Bool(_), _) => text,
                    (_, ty) if ty.is_integer() || ty.is_decimal() => text,
                    _ => json_text(&text),
                };
                format!("{}: {plain}", json_text(&field.name))
            })
            .collect();
        write!(out, "{separator}\n  {{{}}}", cells.join(", "))?;
        separator = ",";
    }
    if separator == "[" {
        write!(out, "[")?;
    }
    writeln!(out, "\n]")
}
