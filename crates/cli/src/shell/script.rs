//! Scripts: commands, a line each, and the statements between them.
//!
//! A line is a command where a statement could begin: neither inside one, nor inside quotes or a comment. The line
//! editor asks the engine whether a statement is complete; here the shell's own lexer goes over the text once, so
//! that a script of any length is cut in time that grows with it. Behind a COPY ... FROM STDIN stand its rows, up to
//! a line `\.`, if there is such a line or the script is standard input itself.

use std::ops::Range;

use engine::Position;

use super::lexer::{self, Kind};

/// A command, or statements that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The command, or the statements with their semicolons.
    pub text: &'a str,
    /// Where it begins, counted from one.
    pub line: u32,
    /// Whether it is a command of the shell.
    pub command: bool,
    /// The rows that a COPY ... FROM STDIN at its end reads.
    pub rows: Option<&'a str>,
}

/// A script's pieces in their order; blank ones are left out.
pub fn pieces(text: &str, is_input: bool) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let mut statements = |pieces: &mut Vec<_>, from: usize, to: usize, rows| {
        let (part, statements) = (&text[from..to], text[from..to].trim());
        if !statements.is_empty() {
            let blank = part.len() - part.trim_start().len();
            pieces.push(Piece { text: statements, line: lines.line_of(from + blank), command: false, rows });
        }
        lines.line_of(to)
    };
    let mut reads = ReadsInput::default();
    let (mut at, mut from) = (0, 0);
    let (mut between, mut line_begins) = (true, true);
    while at < text.len() {
        let rest = &text[at..];
        if between && line_begins {
            let line = rest.split('\n').next().unwrap_or(rest);
            if super::is_command(line) || super::leaves(line) {
                let number = statements(&mut pieces, from, at, None);
                pieces.push(Piece { text: line.trim(), line: number, command: true, rows: None });
                at += line.len();
                from = at;
                line_begins = false;
                continue;
            }
        }
        if !between && super::suffix::begins(rest) {
            // It ends the statement before it, and its line.
            let line = rest.split('\n').next().unwrap_or(rest);
            at += line.len();
            statements(&mut pieces, from, at, None);
            from = at;
            (between, line_begins) = (true, false);
            continue;
        }
        let (kind, mut length) = lexer::first(rest);
        line_begins = false;
        match kind {
            Kind::Blank => {
                // Each line is looked at.
                if let Some(end) = rest[..length].find('\n') {
                    length = end + 1;
                    line_begins = true;
                }
            }
            Kind::Comment => {}
            _ => {
                between = &rest[..length] == ";";
                if reads.at(&rest[..length])
                    && let behind = at + length
                    && let rows = rows_behind(text, behind, is_input)
                    && (rows.is_some() || !line_behind(text, behind).trim().is_empty())
                {
                    // With another statement on its line it has no rows here, and those behind are not its.
                    let end = rows.map_or(behind, |(_, end)| end);
                    statements(&mut pieces, from, behind, rows.map(|(rows, _)| rows));
                    (at, from) = (end, end);
                    line_begins = rows.is_some();
                    continue;
                }
            }
        }
        at += length;
    }
    statements(&mut pieces, from, text.len(), None);
    pieces
}

/// Notices statements that read standard input, word by word.
#[derive(Default)]
struct ReadsInput {
    words: usize,
    copies: bool,
    from: bool,
    reads: bool,
    /// Brackets around a word: what is in them is a query's.
    depth: usize,
}

impl ReadsInput {
    /// Whether this is the end of such a statement.
    fn at(&mut self, word: &str) -> bool {
        if word == ";" {
            return std::mem::take(self).reads;
        }
        self.words += 1;
        if self.words == 1 {
            self.copies = word.eq_ignore_ascii_case("copy");
        }
        match word {
            "(" => self.depth += 1,
            ")" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let outside = self.depth == 0;
        self.reads |= self.copies && self.from && outside && word.eq_ignore_ascii_case("stdin");
        self.from = word.eq_ignore_ascii_case("from");
        false
    }
}

/// What is left of the line that a place is in.
fn line_behind(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)]
}

/// The rows in the lines behind a statement that ends at `at`, and where the script goes on.
fn rows_behind(text: &str, at: usize, is_input: bool) -> Option<(&str, usize)> {
    let line = line_behind(text, at);
    if !line.trim().is_empty() {
        return None;
    }
    let begin = at + line.len();
    match end_of_rows(&text.as_bytes()[begin..]) {
        Some((rows, end)) => Some((&text[begin..begin + rows], begin + end)),
        None => is_input.then_some((&text[begin..], text.len())),
    }
}

/// Where a line `\.` begins, and where it ends.
fn end_of_rows(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        if line.trim_ascii_end() == b"\\." {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Where a text's statement with this number, counted from zero, begins; the text's end if there are fewer.
pub fn beginning(text: &str, number: usize) -> Position {
    let at = statements(text).nth(number).map_or(text.len(), |range| range.start);
    let before = &text[..at];
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() as u32 + 1;
    Position { line: before.matches('\n').count() as u32 + 1, column, offset: at as u32 }
}

/// A text's last statement.
pub fn last_statement(text: &str) -> Option<&str> {
    statements(text).last().map(|range| &text[range])
}

/// The statements of a text, without what is blank or a comment before them.
fn statements(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut begun = None;
        while at < text.len() {
            let (kind, length) = lexer::first(&text[at..]);
            let from = at;
            at += length;
            match (kind, begun) {
                (Kind::Blank | Kind::Comment, _) => {}
                (Kind::Symbol, begun) if text[from..].starts_with(';') => {
                    if let Some(begun) = begun {
                        return Some(begun..from);
                    }
                }
                (_, None) => begun = Some(from),
                (_, Some(_)) => {}
            }
        }
        begun.map(|begun| begun..text.len())
    })
}

/// Counts lines from one place to the next, never from the start again.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl LineCounter<'_> {
    /// `at` is not before the last one.
    fn line_of(&mut self, at: usize) -> u32 {
        self.line += self.text[self.at..at].matches('\n').count() as u32;
        self.at = at;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(u32, bool, &str)> {
        pieces(text, false).into_iter().map(|p| (p.line, p.command, p.text)).collect()
    }

    #[test]
    fn commands_stand_where_a_statement_could_begin() {
        assert_eq!(
            cut("\\timing on\n\nSELECT 1;\nSELECT\n  2;\n  \\x\n\\d t\n-- why\nSELECT 3"),
            [
                (1, true, "\\timing on"),
                (3, false, "SELECT 1;\nSELECT\n  2;"),
                (6, true, "\\x"),
                (7, true, "\\d t"),
                (8, false, "-- why\nSELECT 3"),
            ]
        );
        // Neither inside a statement, nor inside what is quoted.
        for text in [
            "SELECT 1\n\\x",
            "SELECT '\n\\x\n';",
            "/* ;\n\\x\n*/ SELECT 1;",
            "SELECT $$;\n\\x\n$$;",
            "SELECT E'\\';\n\\x\n';",
            "SELECT 1; \\x",
        ] {
            assert_eq!(cut(text), [(1, false, text)], "{text}");
        }
        assert_eq!(cut("SELECT E'\\'';\n\\x"), [(1, false, "SELECT E'\\'';"), (2, true, "\\x")]);
        // A command's quotes are its own.
        assert_eq!(
            cut("\\i it's\r\nSELECT 1;\r\nquit\n"),
            [(1, true, "\\i it's"), (2, false, "SELECT 1;"), (3, true, "quit")]
        );
        assert_eq!(cut(" \n\n"), []);
        assert_eq!(cut("-- nothing"), [(1, false, "-- nothing")]);
    }

    #[test]
    fn rows_stand_behind_the_statement_that_reads_them() {
        let cut = |text: &'static str, is_input| -> Vec<_> {
            pieces(text, is_input).into_iter().map(|p| (p.line, p.text, p.rows)).collect()
        };
        let text = "SELECT 1; copy t from -- the rows\n stdin (FORMAT csv);\n1,'\n2,;\n\\.\nSELECT 2;";
        let expected = [
            (1, "SELECT 1; copy t from -- the rows\n stdin (FORMAT csv);", Some("1,'\n2,;\n")),
            (6, "SELECT 2;", None),
        ];
        assert_eq!(cut(text, false), expected);
        assert_eq!(cut(text, true), expected);
        // Without an end, they are the rest of standard input; a script in a file has none then.
        let open = "COPY t FROM STDIN;\n1\n2\n";
        assert_eq!(cut(open, true), [(1, "COPY t FROM STDIN;", Some("1\n2\n"))]);
        assert_eq!(cut(open, false), [(1, "COPY t FROM STDIN;\n1\n2", None)]);
        for other in
            ["COPY t FROM 'stdin';\n\\.\n", "SELECT stdin;\n\\.\n", "COPY t FROM STDIN; SELECT 1;\n\\.\n"]
        {
            assert!(pieces(other, false).iter().all(|p| p.rows.is_none()), "{other}");
        }
    }

    #[test]
    fn statements_are_found_by_their_number() {
        let text = "-- first\nSELECT ';';;\n  SELECT 2;\nSELECT 3";
        let at = |number| (beginning(text, number).line, beginning(text, number).column);
        assert_eq!([at(0), at(1), at(2)], [(2, 1), (3, 3), (4, 1)]);
        // None more: the end, and no panic.
        assert_eq!(at(7), (4, 9));
        assert_eq!(last_statement("SELECT 1; SELECT 2 -- two\n; -- end"), Some("SELECT 2 -- two\n"));
        assert_eq!(last_statement(" ; -- none"), None);
    }

    #[test]
    fn a_long_script_is_cut_in_one_go() {
        let text = "INSERT INTO t VALUES ('\n\\x');\n".repeat(200_000);
        let started = std::time::Instant::now();
        assert_eq!(pieces(&text, true).len(), 1);
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
