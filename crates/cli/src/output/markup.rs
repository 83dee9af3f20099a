//! Markdown and HTML tables.

use std::io::{self, Write};

use engine::ResultSet;

use super::{one_line, rows};

/// A Markdown table; numbers stand right.
pub(super) fn markdown(out: &mut impl Write, result: &ResultSet) -> io::Result<()> {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
    let fields = result.schema().fields();
    let names: Vec<String> = fields.iter().map(|f| escaped(&f.name)).collect();
    writeln!(out, "| {} |", names.join(" | "))?;
    let rules: Vec<&str> = fields.iter().map(|f| if f.ty.is_numeric() { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rules.join(" | "))?;
    for row in rows(result) {
        let cells: Vec<String> = row.iter().zip(fields).map(|(v, f)| escaped(&one_line(v, f.ty))).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// An HTML table; NULL is an empty cell of class `null`.
pub(super) fn html(out: &mut impl Write, result: &ResultSet) -> io::Result<()> {
    let fields = result.schema().fields();
    write!(out, "<table>\n  <thead>\n    <tr>")?;
    for field in fields {
        write!(out, "<th>{}</th>", html_text(&field.name))?;
    }
    writeln!(out, "</tr>\n  </thead>\n  <tbody>")?;
    for row in rows(result) {
        write!(out, "    <tr>")?;
        for (value, field) in row.iter().zip(fields) {
            let text = if value.is_null() { String::new() } else { html_text(&value.display(field.ty)) };
            let class = match (value.is_null(), field.ty.is_numeric()) {
                (true, _) => " class=\"null\"",
                (false, true) => " align=\"right\"",
                (false, false) => "",
            };
            write!(out, "<td{class}>{text}</td>")?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "  </tbody>\n</table>")
}

fn html_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
