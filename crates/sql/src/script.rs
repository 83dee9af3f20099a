//! Cutting a script into statements, and a first look at how deeply each one nests.
//!
//! The scanner knows just enough of SQL's lexical rules not to be fooled by a semicolon: quoted strings and names,
//! dollar quotes, line comments, nested block comments. It does not check anything else; that is the parser's work.

use types::stop::{Pace, Place};
use types::{Error, Position, Result, SqlState};

use crate::place;

/// One statement of a script: where it stands and how deep its syntax tree may get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    start: usize,
    end: usize,
    line: u32,
    column: u32,
    depth: usize,
}

impl StatementText {
    /// The statement's own text, without the semicolon.
    pub fn of<'t>(&self, script: &'t str) -> &'t str {
        &script[self.start..self.end]
    }
    /// Byte offset of the statement in the script.
    pub fn offset(&self) -> usize {
        self.start
    }
    /// Whether it may end a transaction block: all that one may say after an error in it.
    pub fn ends_transaction(&self, script: &str) -> bool {
        let verb = self.of(script).split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        ["rollback", "commit", "abort", "end"].iter().any(|known| verb.eq_ignore_ascii_case(known))
    }
    /// An upper bound of the nesting of its syntax tree.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }
    /// Moves an error's position from the statement's text to the script's.
    pub fn in_script(&self, error: Error) -> Error {
        match error.position() {
            Some(at) => error.at(self.in_its_script(at)),
            None => error,
        }
    }
    /// The position in the script of a position in the statement.
    pub(crate) fn in_its_script(&self, at: Position) -> Position {
        Position {
            line: at.line + self.line - 1,
            column: if at.line == 1 { at.column + self.column - 1 } else { at.column },
            offset: at.offset.saturating_add(self.start as u32),
        }
    }
}

/// The statements of a script, in order; empty ones are left out.
pub fn split(script: &str) -> Result<Vec<StatementText>> {
    if script.len() > u32::MAX as usize {
        return Err(Error::new(SqlState::StatementTooComplex, "a script may have at most 4 GiB"));
    }
    let mut scanner = Scanner {
        bytes: script.as_bytes(),
        at: 0,
        start: None,
        last: 0,
        nesting: Nesting::default(),
        place: place::START,
    };
    let mut statements = Vec::new();
    let (mut pace, mut before) = (Pace::new(Place::Scan), 0);
    while scanner.at < script.len() {
        pace.spend(scanner.at - before)?;
        before = scanner.at;
        match scanner.step() {
            Ok(true) => scanner.finish(script, before, &mut statements),
            Ok(false) => {}
            Err(what) => {
                let message = match what {
                    EMPTY_NAME => what.to_owned(),
                    _ => format!("unterminated {what}"),
                };
                let error = Error::new(SqlState::SyntaxError, message);
                // A quote more or less than there should be.
                let error = match what.contains("string") {
                    true => error.with_hint("a quote inside a text is doubled: 'it''s'"),
                    false => error,
                };
                return Err(error.at(place::at_offset(script, before)));
            }
        }
    }
    scanner.finish(script, script.len(), &mut statements);
    Ok(statements)
}

/// What `""` is, which can name nothing.
const EMPTY_NAME: &str = "zero-length delimited identifier at or near \"\"\"\"";

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Where the current statement's first token is.
    start: Option<usize>,
    /// The end of its last token.
    last: usize,
    nesting: Nesting,
    /// Where the last statement began: the next one's place is counted from there.
    place: Position,
}

impl Scanner<'_> {
    fn finish(&mut self, script: &str, _semicolon: usize, statements: &mut Vec<StatementText>) {
        if let Some(start) = self.start.take() {
            self.place = place::further(script, self.place, start);
            let place = self.place;
            statements.push(StatementText {
                start,
                end: self.last,
                line: place.line,
                column: place.column,
                depth: self.nesting.deepest,
            });
        }
        self.nesting = Nesting::default();
    }

    /// Passes one token, comment or blank; true for a semicolon.
    fn step(&mut self) -> std::result::Result<bool, &'static str> {
        let bytes = self.bytes;
        let (here, next) = (bytes[self.at], bytes.get(self.at + 1).copied());
        match here {
            b';' => {
                self.at += 1;
                return Ok(true);
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                self.at += 1;
                return Ok(false);
            }
            b'-' if next == Some(b'-') => {
                self.at = find(bytes, self.at, b"\n").unwrap_or(bytes.len());
                return Ok(false);
            }
            b'/' if next == Some(b'*') => {
                self.at = block_comment_end(bytes, self.at).ok_or("/* comment")?;
                return Ok(false);
            }
            _ => {}
        }
        self.start.get_or_insert(self.at);
        match here {
            b'\'' => {
                let escapes = self.at > 0
                    && matches!(bytes[self.at - 1], b'e' | b'E')
                    && (self.at < 2 || !is_word(bytes[self.at - 2]));
                self.at = quoted_end(bytes, self.at, b'\'', escapes).ok_or("quoted string")?;
            }
            b'"' => {
                let end = quoted_end(bytes, self.at, b'"', false).ok_or("quoted identifier")?;
                if end == self.at + 2 {
                    return Err(EMPTY_NAME);
                }
                self.at = end;
            }
            b'$' => self.at = dollar_end(bytes, self.at)?,
            _ if is_word(here) => {
                let from = self.at;
                while self.at < bytes.len() && (is_word(bytes[self.at]) || bytes[self.at] == b'$') {
                    self.at += 1;
                }
                self.nesting.word(&bytes[from..self.at]);
            }
            _ => {
                self.nesting.symbol(here);
                self.at += 1;
            }
        }
        self.last = self.at;
        Ok(false)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    bytes[from..].windows(wanted.len()).position(|w| w == wanted).map(|at| from + at)
}

fn quoted_end(bytes: &[u8], start: usize, quote: u8, escapes: bool) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let rest = bytes.get(at..)?;
        at += match escapes {
            true => memchr::memchr2(quote, b'\\', rest)?,
            false => memchr::memchr(quote, rest)?,
        };
        match bytes[at] == quote {
            true if bytes.get(at + 1) != Some(&quote) => return Some(at + 1),
            _ => at += 2,
        }
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut open) = (start, 0usize);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                open += 1;
                at += 2;
            }
            b"*/" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// `$tag$ ... $tag$`; a dollar that starts no tag is a token of its own.
fn dollar_end(bytes: &[u8], start: usize) -> std::result::Result<usize, &'static str> {
    let mut at = start + 1;
    while at < bytes.len() && is_word(bytes[at]) {
        at += 1;
    }
    let numbered = bytes.get(start + 1).is_some_and(u8::is_ascii_digit);
    if numbered || bytes.get(at) != Some(&b'$') {
        return Ok(start + 1);
    }
    let tag = &bytes[start..=at];
    find(bytes, at + 1, tag).map(|end| end + tag.len()).ok_or("dollar-quoted string")
}

/// Counts open brackets, and per bracket the operators since the last comma: a chain of n operators makes a tree of
/// depth n. The bound may be too large, never too small by more than a constant factor.
#[derive(Default)]
struct Nesting {
    /// Operators seen in each open bracket; the first entry stands for the statement itself.
    open: Vec<usize>,
    current: usize,
    total: usize,
    deepest: usize,
}

impl Nesting {
    fn deepen(&mut self) {
        self.current += 1;
        self.total += 1;
        self.deepest = self.deepest.max(self.total + self.open.len());
    }
    fn open(&mut self) {
        self.open.push(self.current);
        self.current = 0;
        self.deepest = self.deepest.max(self.total + self.open.len());
    }
    fn close(&mut self) {
        if let Some(outer) = self.open.pop() {
            self.total -= self.current;
            self.current = outer;
        }
    }
    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'(' | b'[' | b'{' => self.open(),
            b')' | b']' | b'}' => self.close(),
            b',' => {
                self.total -= self.current;
                self.current = 0;
            }
            b'.' => {}
            _ => self.deepen(),
        }
    }
    fn word(&mut self, word: &[u8]) {
        const DEEPENING: [&str; 20] = [
            "and",
            "or",
            "not",
            "is",
            "in",
            "like",
            "ilike",
            "between",
            "union",
            "intersect",
            "except",
            "select",
            "join",
            "when",
            "collate",
            "at",
            "exists",
            "explain",
            "any",
            "all",
        ];
        if word.len() > 9 {
            return;
        }
        if word.eq_ignore_ascii_case(b"case") {
            self.open();
        } else if word.eq_ignore_ascii_case(b"end") {
            self.close();
        } else if DEEPENING.iter().any(|w| word.eq_ignore_ascii_case(w.as_bytes())) {
            self.deepen();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        split(script).unwrap().iter().map(|s| s.of(script)).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_split() {
        let script = "select ';', \";\" -- ;\n ; /* ; /* ; */ ; */ select $x$ ; $x$ ; ; select E'\\';' ;";
        assert_eq!(texts(script), ["select ';', \";\"", "select $x$ ; $x$", "select E'\\';'"]);
        assert!(texts("").is_empty());
        assert!(texts(" ;; -- only a comment").is_empty());
    }

    #[test]
    fn unterminated_quotes_point_at_their_start() {
        let error = split("select 1;\nselect 'abc").unwrap_err();
        assert_eq!(error.state(), SqlState::SyntaxError);
        assert_eq!(error.position(), Some(Position { line: 2, column: 8, offset: 17 }));
        assert!(split("/* /* */").is_err());
        assert!(split("$a$ $b$").is_err());
    }

    #[test]
    fn depth_follows_brackets_and_chains_but_not_lists() {
        let depth = |text: &str| split(text).unwrap()[0].depth();
        assert!(depth(&format!("select {}1{}", "(".repeat(500), ")".repeat(500))) >= 500);
        assert!(depth(&format!("select 1{}", " + 1".repeat(500))) >= 500);
        assert!(depth(&format!("select x in (1{})", ", -1".repeat(10_000))) < 20);
        assert!(depth(&format!("{}select 1", "explain ".repeat(500))) >= 500);
        assert!(depth("case end end ) ) select 1") < 10);
    }
}
