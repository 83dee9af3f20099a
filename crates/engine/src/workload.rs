//! What a database has been asked: the record that the physical-design advisor (`advise`) measures designs against.
//!
//! Statements that read tables are kept by their *shape*: the text in lower case, without comments and with every
//! literal a `?`. A shape has its number of executions and their time, the tables that were scanned, and a few of the
//! texts themselves, chosen evenly among all executions, which the advisor runs again. The record is the database's,
//! of all its sessions, lies in memory and ends with the process. It is bounded: of more shapes than `SHAPES_MAX`
//! those run least leave, the oldest of them first, and it says how many did. `SET record_workload = off` records
//! nothing of a session; `CALL forget_workload()` empties the record.

mod recording;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use catalog::TableId;
use types::{Type, Value};

const SHAPES_MAX: usize = 256;
/// Texts kept of a shape.
const EXAMPLES_MAX: usize = 4;
/// Longer texts, and longer parameters, are not kept: 256 shapes of 4 texts then take 16 MB at most.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// The record of one database, shared by its sessions.
#[derive(Default)]
pub(crate) struct Workload {
    record: Mutex<Record>,
}

/// The shapes, and what was counted over all of them.
#[derive(Default)]
struct Record {
    shapes: HashMap<String, Recorded>,
    /// Executions recorded so far.
    clock: u64,
    /// Shapes that left for others.
    forgotten: u64,
}

/// A text and its parameters, as they were run.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// The statement as it was sent.
    pub text: String,
    /// Values and types of `$1`, `$2` and so on.
    pub parameters: Vec<(Value, Type)>,
    /// The session's `search_path`.
    pub path: Vec<String>,
}

/// What is recorded of the statements of one shape.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// The text in lower case, without comments, with `?` for each literal.
    pub shape: String,
    /// At most `EXAMPLES_MAX` texts of this shape, chosen evenly.
    pub examples: Vec<Example>,
    /// Tables that its executions scanned.
    pub tables: Vec<TableId>,
    /// How often it was run.
    pub executions: u64,
    /// Total time of its executions.
    pub time: Duration,
    last: u64,
}

impl Workload {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything recorded, the most run first, and how many shapes were forgotten.
    pub fn all(&self) -> (Vec<Recorded>, u64) {
        let record = self.record();
        let mut all: Vec<Recorded> = record.shapes.values().cloned().collect();
        all.sort_by(|a, b| b.executions.cmp(&a.executions).then_with(|| a.shape.cmp(&b.shape)));
        (all, record.forgotten)
    }

    /// Empties the record, as `CALL forget_workload()` does.
    pub fn forget(&self) {
        *self.record() = Record::default();
    }
}

impl Record {
    /// Makes room for a shape that was not seen before.
    fn begin(&mut self, shape: &str) {
        if self.shapes.len() >= SHAPES_MAX {
            let least = self.shapes.values().min_by_key(|r| (r.executions, r.last));
            if let Some(least) = least.map(|r| r.shape.clone()) {
                self.shapes.remove(&least);
                self.forgotten += 1;
            }
        }
        let new = Recorded {
            shape: shape.to_owned(),
            examples: Vec::new(),
            tables: Vec::new(),
            executions: 0,
            time: Duration::ZERO,
            last: 0,
        };
        self.shapes.insert(shape.to_owned(), new);
    }

    fn add(&mut self, shape: &str, example: Example, tables: &[TableId], time: Duration) {
        self.clock += 1;
        if !self.shapes.contains_key(shape) {
            self.begin(shape);
        }
        let Some(known) = self.shapes.get_mut(shape) else { return };
        known.executions += 1;
        known.time += time;
        known.last = self.clock;
        // A table that was dropped and made again has another name here.
        if known.tables != tables {
            known.tables = tables.to_vec();
        }
        if known.examples.len() < EXAMPLES_MAX {
            known.examples.push(example);
        } else {
            // Reservoir sampling: every execution is kept with the same probability.
            let place = (scrambled(self.clock) % known.executions) as usize;
            if let Some(kept) = known.examples.get_mut(place) {
                *kept = example;
            }
        }
    }
}

/// A number whose bits all depend on all of `number`'s (the finaliser of SplitMix64).
fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A statement that is running and will be recorded.
pub(crate) struct Running {
    example: Example,
    started: Instant,
}

/// The last text that a session has noted, and its shape: prepared statements come again and again.
#[derive(Default)]
pub(crate) struct LastShape(Mutex<(String, String)>);

impl Workload {
    /// To be called when the statement has run to its end.
    pub fn note(&self, (running, tables): (Running, Vec<TableId>), last: &LastShape) {
        let time = running.started.elapsed();
        let mut last = last.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, known) = &mut *last;
        if *text != running.example.text {
            *known = shape(&running.example.text);
            text.clone_from(&running.example.text);
        }
        self.record().add(known, running.example, &tables, time);
    }
}

/// The text in lower case, without comments, blanks as one, and every literal as `?`; lists of literals are one `?`.
fn shape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let byte = bytes[at];
        let word = |out: &str| out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '$'));
        if byte.is_ascii_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
            at += 1;
        } else if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += block_comment(rest);
        } else if byte == b'\'' {
            // What stands before a literal at once is its kind: E'…', DATE '…'.
            let escapes = out.ends_with('e') && !word(&out[..out.len() - 1]);
            at += string_end(rest, escapes);
            if escapes {
                out.pop();
            }
            push_literal(&mut out);
        } else if byte == b'"' {
            let end = rest[1..].find('"').map_or(rest.len(), |end| end + 2);
            out.push_str(&rest[..end]);
            at += end;
        } else if byte == b'$' && dollar_quoted(rest).is_some() {
            at += dollar_quoted(rest).unwrap_or(1);
            push_literal(&mut out);
        } else if byte.is_ascii_digit() && !word(&out) {
            let number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            at += rest.find(|c: char| !number(c)).unwrap_or(rest.len());
            push_literal(&mut out);
        } else {
            let Some(c) = rest.chars().next() else { break };
            out.extend(c.to_lowercase());
            at += c.len_utf8();
        }
    }
    out.truncate(out.trim_end_matches([' ', ';']).len());
    out
}

fn push_literal(out: &mut String) {
    let before = out.trim_end();
    match before.strip_suffix(',').map(str::trim_end) {
        Some(list) if list.ends_with('?') => {
            let length = list.len();
            out.truncate(length);
        }
        _ => out.push('?'),
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Bytes of a quoted string from its quote on.
fn string_end(rest: &str, escapes: bool) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Bytes of `$tag$…$tag$`, if that is what begins here.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = 2 + rest[1..].find('$')?;
    let plain = rest[1..tag - 1].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain || rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some(rest[tag..].find(&rest[..tag]).map_or(rest.len(), |end| 2 * tag + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_literals_have_one_shape() {
        for (text, expected) in [
            ("SELECT a FROM t WHERE b = 5;", "select a from t where b = ?"),
            ("select  a\nfrom t -- all\nWHERE b = 1.5e3", "select a from t where b = ?"),
            ("SELECT a /* x /* y */ */ FROM t", "select a from t"),
            ("SELECT 'it''s', E'a\\'b', $$x'$$, $q$ $$ $q$ FROM t", "select ? from t"),
            ("SELECT a1, \"B 2\" FROM t2 WHERE x IN (1, 2,3)", "select a1, \"B 2\" from t2 where x in (?)"),
            ("SELECT $1 FROM t WHERE a = ?", "select $1 from t where a = ?"),
            ("SELECT 'open", "select ?"),
            ("SELECT $tag$ open", "select ?"),
            ("é 'é' É", "é ? é"),
            ("", ""),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_has_a_shape() {
        // Quotes and comments that do not end, at every place.
        let pieces = ["'", "\"", "$a$", "$", "/*", "*/", "--", "\n", "E'", "\\", "é", "1", "x", ",", " "];
        for number in 0..20_000u64 {
            let mut digits = scrambled(number);
            let text: String = (0..12)
                .map(|_| {
                    digits /= 16;
                    pieces[(digits % pieces.len() as u64) as usize]
                })
                .collect();
            shape(&text);
        }
    }

    #[test]
    fn the_record_is_bounded_and_keeps_what_is_run_often() {
        let mut record = Record::default();
        let mut run = |shape: &str, text: String| {
            let example = Example { text, parameters: vec![], path: vec![] };
            record.add(shape, example, &[TableId(1)], Duration::from_millis(1));
        };
        for n in 0..1000 {
            run("often", format!("often {n}"));
            run(&format!("once {n}"), String::new());
        }
        assert_eq!(record.shapes.len(), SHAPES_MAX);
        assert_eq!(record.forgotten, 1001 - SHAPES_MAX as u64);
        let often = &record.shapes["often"];
        assert_eq!((often.executions, often.examples.len()), (1000, EXAMPLES_MAX));
        // Chosen among all executions, not the first or the last.
        let numbers: Vec<u64> =
            often.examples.iter().filter_map(|e| e.text.strip_prefix("often ")?.parse().ok()).collect();
        assert!(numbers.iter().any(|n| *n >= 4) && numbers.iter().any(|n| *n < 990), "{numbers:?}");
    }
}
