//! Aligned tables, cut to the terminal's width, and one line a value where rows are too wide to read.
//!
//! Widths come from the headings and the first `ROWS_MEASURED` rows. Where the line is too wide for the terminal, the
//! widest columns give way first, down to `NARROWEST`, and then columns in the middle are hidden. Without a terminal
//! nothing is cut.

use std::io::{self, Write};

use engine::{Field, ResultSet, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{one_line, rows, rows_from};

/// The shape of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<'a> {
    /// Columns of the terminal; none where a program reads.
    pub width: Option<usize>,
    /// One line a value.
    pub expanded: bool,
    /// What NULL is shown as.
    pub null: &'a str,
    /// The characters that the table is drawn with.
    pub lines: &'static Lines,
    /// Rows shown of a longer result, half of them its last ones; all when there is none.
    pub rows: Option<usize>,
}

impl Default for Layout<'_> {
    fn default() -> Self {
        Layout { width: None, expanded: false, null: "NULL", lines: &PLAIN, rows: None }
    }
}

/// What a table is drawn with.
#[derive(Debug, PartialEq, Eq)]
pub struct Lines {
    /// Between two columns.
    between: &'static str,
    rule: &'static str,
    /// What the rules have at their left end, where they cross a column's line, and at their right end; none when
    /// nothing is drawn around the table. Above the headings, below them, below the rows.
    frame: Option<[[&'static str; 3]; 3]>,
    crossing: &'static str,
}

/// A rule under the headings, and blanks between columns.
pub const BARE: Lines = Lines { between: " ", rule: "-", frame: None, crossing: " " };
/// A rule under the headings, and a line between columns; the default.
pub const PLAIN: Lines = Lines { between: "|", rule: "-", frame: None, crossing: "+" };
/// ASCII lines all around.
pub const FRAMED: Lines = Lines { between: "|", rule: "-", frame: Some([["+", "+", "+"]; 3]), crossing: "+" };
/// Box-drawing lines all around.
pub const BOX: Lines = Lines {
    between: "│",
    rule: "─",
    frame: Some([["┌", "┬", "┐"], ["├", "┼", "┤"], ["└", "┴", "┘"]]),
    crossing: "┼",
};

/// Widths come from the first rows; a longer value further down only shifts its own line.
const ROWS_MEASURED: usize = 1000;
/// A column that has to give way keeps at least as much.
const NARROWEST: usize = 8;

/// Prints the rows, and below them their number with what was left out.
pub(super) fn print(out: &mut impl Write, result: &ResultSet, layout: Layout<'_>) -> io::Result<()> {
    if layout.expanded {
        return expanded(out, result, layout.null);
    }
    let shown_as = |value: &Value, field: &Field| match value {
        Value::Null => layout.null.to_owned(),
        value => one_line(value, field.ty),
    };
    let fields = result.schema().fields();
    let mut widths: Vec<usize> = fields.iter().map(|f| f.name.width().max(1)).collect();
    for row in rows(result).take(ROWS_MEASURED) {
        for ((width, value), field) in widths.iter_mut().zip(&row).zip(fields) {
            *width = (*width).max(shown_as(value, field).width());
        }
    }
    let lines = layout.lines;
    let edges = if lines.frame.is_some() { 2 } else { 0 };
    let columns = match layout.width {
        Some(terminal) => fit(&mut widths, terminal.saturating_sub(edges)),
        None => Columns { first: fields.len(), last: 0 },
    };
    let shown: Vec<Option<usize>> = columns.shown(fields.len());
    let cut = layout.width.is_some();
    let line = |cells: &[String]| {
        let line = cells.join(lines.between);
        match lines.frame {
            Some(_) => format!("{0}{line}{0}\n", lines.between),
            None => format!("{}\n", line.trim_end()),
        }
    };
    let rule = |ends: [&str; 3]| {
        let runs: Vec<String> = shown
            .iter()
            .map(|column| lines.rule.repeat(column.map_or(1, |column| widths[column]) + 2))
            .collect();
        format!("{}{}{}\n", ends[0], runs.join(ends[1]), ends[2])
    };
    let row_line = |row: &[Value]| {
        let cell = |column: &Option<usize>| {
            let Some(column) = *column else { return " … ".to_owned() };
            let text = shown_as(&row[column], &fields[column]);
            let text = if cut { shortened(&text, widths[column]) } else { text };
            let padding = padding(&text, widths[column]);
            if fields[column].ty.is_numeric() {
                format!(" {padding}{text} ")
            } else {
                format!(" {text}{padding} ")
            }
        };
        line(&shown.iter().map(cell).collect::<Vec<_>>())
    };
    // Headings stand left, whatever stands under them.
    let heading: Vec<String> = shown
        .iter()
        .map(|column| match column {
            Some(column) => {
                let name = shortened(&fields[*column].name, widths[*column]);
                format!(" {}{} ", name, padding(&name, widths[*column]))
            }
            None => " … ".to_owned(),
        })
        .collect();
    if let Some([above, ..]) = lines.frame {
        write!(out, "{}", rule(above))?;
    }
    write!(out, "{}", line(&heading))?;
    write!(out, "{}", rule(lines.frame.map_or(["", lines.crossing, ""], |frame| frame[1])))?;
    let count = result.rows();
    let (first, last) = match layout.rows {
        Some(most) if most < count => (most.div_ceil(2), most / 2),
        _ => (count, 0),
    };
    for row in rows(result).take(first) {
        out.write_all(row_line(&row).as_bytes())?;
    }
    if first + last < count {
        let gap: Vec<String> = shown
            .iter()
            .map(|column| {
                let width = column.map_or(1, |column| widths[column]);
                let right = column.is_some_and(|column| fields[column].ty.is_numeric());
                let (before, after) = if right { (width - 1, 0) } else { (0, width - 1) };
                format!(" {}…{} ", " ".repeat(before), " ".repeat(after))
            })
            .collect();
        out.write_all(line(&gap).as_bytes())?;
        for row in rows_from(result, count - last) {
            out.write_all(row_line(&row).as_bytes())?;
        }
    }
    if let Some([.., below]) = lines.frame {
        write!(out, "{}", rule(below))?;
    }
    let hidden = fields.len() - columns.first - columns.last;
    writeln!(out, "{}", summary(count, first + last, hidden, fields.len()))
}

/// The line below a table: how many rows it has, and what of rows and columns is not shown.
fn summary(rows: usize, rows_shown: usize, columns_hidden: usize, columns: usize) -> String {
    let mut note = String::new();
    if rows_shown < rows {
        note.push_str(&format!(", {rows_shown} shown: \\maxrows shows more"));
    }
    if columns_hidden > 0 {
        note.push_str(&format!(", {columns_hidden} of {columns} columns hidden: \\x shows all"));
    }
    format!("({rows} row{}{note})", if rows == 1 { "" } else { "s" })
}

/// Which columns have room: the first and the last ones.
struct Columns {
    first: usize,
    last: usize,
}

impl Columns {
    /// The columns in order; one gap stands for all that are hidden.
    fn shown(&self, all: usize) -> Vec<Option<usize>> {
        let mut shown: Vec<Option<usize>> = (0..self.first).map(Some).collect();
        if self.first + self.last < all {
            shown.push(None);
        }
        shown.extend((all - self.last..all).map(Some));
        shown
    }
}

/// Narrows the widest columns until the line fits; hides columns from the middle where that is not enough.
fn fit(widths: &mut [usize], terminal: usize) -> Columns {
    let all = widths.len();
    // Two blanks a column, and bars between them.
    let frame = |columns: usize| 3 * columns - 1;
    let mut columns = Columns { first: all, last: 0 };
    let least = |at: usize, widths: &[usize]| widths[at].min(NARROWEST);
    let gap = 4;
    let needed: usize = (0..all).map(|at| least(at, widths)).sum::<usize>() + frame(all.max(1));
    if needed > terminal && all > 1 {
        // The first columns say which row it is, the last ones often what was asked for: take them in turn.
        columns = Columns { first: 1, last: 0 };
        let mut used = least(0, widths) + 2 + gap;
        while columns.first + columns.last < all {
            let from_end = columns.last < columns.first;
            let next = if from_end { all - columns.last - 1 } else { columns.first };
            used += least(next, widths) + 3;
            if used > terminal {
                break;
            }
            if from_end { columns.last += 1 } else { columns.first += 1 }
        }
    }
    let shown: Vec<usize> = columns.shown(all).into_iter().flatten().collect();
    let gap = if shown.len() < all { gap } else { 0 };
    let room = terminal.saturating_sub(frame(shown.len().max(1)) + gap);
    loop {
        let total: usize = shown.iter().map(|at| widths[*at]).sum();
        if total <= room {
            return columns;
        }
        let Some(widest) = shown.iter().copied().max_by_key(|at| widths[*at]) else { return columns };
        if widths[widest] <= NARROWEST {
            return columns;
        }
        // All that are as wide come down to the next narrower one, or as far as is needed.
        let next =
            shown.iter().map(|at| widths[*at]).filter(|w| *w < widths[widest]).max().unwrap_or(NARROWEST);
        let together: Vec<usize> = shown.iter().copied().filter(|at| widths[*at] == widths[widest]).collect();
        let over = (total - room).div_ceil(together.len());
        let to = widths[widest].saturating_sub(over).max(next).max(NARROWEST);
        together.iter().for_each(|at| widths[*at] = to);
    }
}

/// At most `width` columns of the terminal, the last of them an ellipsis if something is missing.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

/// The blanks that fill a text up to a width. (A format string's own width ends at 65,535.)
fn padding(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

fn expanded(out: &mut impl Write, result: &ResultSet, null: &str) -> io::Result<()> {
    let fields: &[Field] = result.schema().fields();
    let width = fields.iter().map(|f| f.name.width()).max().unwrap_or(0);
    for (at, row) in rows(result).enumerate() {
        let title = format!("-[ row {} ]", at + 1);
        writeln!(out, "{title}{}", "-".repeat((width + 3).saturating_sub(title.len())))?;
        for (field, value) in fields.iter().zip(&row) {
            let text = match value {
                Value::Null => null.to_owned(),
                value => one_line(value, field.ty),
            };
            writeln!(out, "{}{} | {text}", field.name, padding(&field.name, width))?;
        }
    }
    let count = result.rows();
    writeln!(out, "({count} row{})", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_give_way_first() {
        let mut widths = [5, 40, 60];
        let columns = fit(&mut widths, 80);
        assert_eq!((columns.first, columns.last), (3, 0));
        assert_eq!(widths, [5, 33, 33], "what is narrow stays");
        assert!(widths.iter().sum::<usize>() + 8 <= 80);
    }

    #[test]
    fn the_middle_is_hidden_where_nothing_else_helps() {
        let mut widths = [20; 30];
        let columns = fit(&mut widths, 80);
        assert!(columns.first + columns.last >= 5, "{} and {}", columns.first, columns.last);
        let shown = columns.shown(30);
        assert_eq!(shown[columns.first], None);
        let line: usize =
            shown.iter().map(|c| c.map_or(1, |c| widths[c]) + 2).sum::<usize>() + shown.len() - 1;
        assert!(line <= 80, "{line}");
        // A terminal too narrow for anything still shows one column.
        assert_eq!(fit(&mut [20; 3], 4).first, 1);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(shortened("漢字漢字", 5), "漢字…");
        assert_eq!(padding("漢字", 6), "  ");
    }
}
