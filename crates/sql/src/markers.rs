//! Markers of parameters in a statement's text, and the one shape of INSERT that many rows of parameters fit into.
//!
//! `?`, `$1`, `$name` and `:name` stand for values. The planner knows only numbers, so callers with named values have the
//! names replaced (`numbered`), outside quotes and comments, and only those that they have values for: `a[1:b]` stays a
//! slice. `row_of_insert` finds what stands in `INSERT INTO t (a, b) VALUES (?, ?)`, so that a host program's many rows
//! become one INSERT ... SELECT over them.

use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};
use types::{Error, Result, SqlState};

use crate::dialect::Grammar;

/// What a marker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marked {
    /// `$1`, or a `?`, which is one more than the `?` before it. Counted from 1.
    Number(usize),
    /// `$name` or `:name`.
    Name(String),
}

/// One marker, and the bytes it takes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub range: Range<usize>,
    pub marked: Marked,
}

/// A token other than blanks and comments, and where it stands.
struct Piece {
    token: Token,
    range: Range<usize>,
}

/// The markers of a text, in their order. None where the text is none that can be read: running it tells what is wrong.
pub fn markers(text: &str) -> Vec<Marker> {
    markers_of(text, &pieces(text).unwrap_or_default())
}

/// The text with numbers in place of the names that `names` has, the first name's being 1; names that are not used are
/// refused. Other markers must not be there.
pub fn numbered(text: &str, names: &[&str]) -> Result<String> {
    let mut used = vec![false; names.len()];
    let mut numbered = String::with_capacity(text.len());
    let mut end = 0;
    for marker in markers(text) {
        let name = match &marker.marked {
            Marked::Name(name) => name,
            Marked::Number(_) => {
                return Err(Error::new(
                    SqlState::UndefinedParameter,
                    format!("{} is given by its place, and the parameters by name", &text[marker.range]),
                )
                .with_hint("write $name or :name for each of them"));
            }
        };
        let Some(at) = names.iter().position(|known| known == name) else {
            if text[marker.range.clone()].starts_with(':') {
                // A slice's end, or a field's value.
                continue;
            }
            let error =
                Error::new(SqlState::UndefinedParameter, format!("there is no parameter named \"{name}\""));
            return Err(error.with_hint(format!("given are: {}", names.join(", "))));
        };
        used[at] = true;
        numbered.push_str(&text[end..marker.range.start]);
        let number = format!("${}", at + 1);
        numbered.push_str(&number);
        // Places of errors stay those of the text that was given.
        let blanks = marker.range.len().saturating_sub(number.len());
        numbered.extend(std::iter::repeat_n(' ', blanks));
        end = marker.range.end;
    }
    numbered.push_str(&text[end..]);
    match used.iter().position(|used| !used) {
        None => Ok(numbered),
        Some(at) => {
            let message = format!("the statement has no parameter named \"{}\"", names[at]);
            Err(Error::new(SqlState::UndefinedParameter, message)
                .with_hint("write $name or :name where the value shall stand"))
        }
    }
}

/// The most parameters that markers by number ask for.
pub fn parameters_wanted(markers: &[Marker]) -> usize {
    let numbers = markers.iter().filter_map(|marker| match &marker.marked {
        Marked::Number(number) => Some(*number),
        Marked::Name(_) => None,
    });
    numbers.max().unwrap_or(0)
}

/// `INSERT INTO table (columns) VALUES (items) rest` of one row, each item a parameter alone or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOfInsert {
    /// As it is written.
    pub table: String,
    /// As they are written; empty where they are not.
    pub columns: Vec<String>,
    pub items: Vec<Item>,
    /// ON CONFLICT and what follows it.
    pub rest: String,
}

/// What stands in an INSERT's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Parameter(Marked),
    Text(String),
}

/// The row of an INSERT; `None` for every other statement, and for rows that are more than parameters and constants.
pub fn row_of_insert(text: &str) -> Option<RowOfInsert> {
    let pieces = pieces(text)?;
    let markers = markers_of(text, &pieces);
    let mut at = 0;
    let word = |at: usize, wanted: &str| {
        matches!(&pieces.get(at)?.token, Token::Word(word) if is(word, wanted)).then_some(())
    };
    word(at, "insert")?;
    word(at + 1, "into")?;
    at += 2;
    let begin = at;
    loop {
        matches!(pieces.get(at)?.token, Token::Word(_)).then_some(())?;
        at += 1;
        match pieces.get(at)?.token {
            Token::Period => at += 1,
            _ => break,
        }
    }
    let table = text[pieces[begin].range.start..pieces[at - 1].range.end].to_owned();
    let mut columns = Vec::new();
    if pieces.get(at)?.token == Token::LParen {
        loop {
            at += 1;
            matches!(pieces.get(at)?.token, Token::Word(_)).then_some(())?;
            columns.push(text[pieces[at].range.clone()].to_owned());
            at += 1;
            match pieces.get(at)?.token {
                Token::Comma => {}
                Token::RParen => break,
                _ => return None,
            }
        }
        at += 1;
    }
    word(at, "values")?;
    (pieces.get(at + 1)?.token == Token::LParen).then_some(())?;
    at += 2;
    let mut items = Vec::new();
    let mut depth = 0usize;
    let mut begin = at;
    loop {
        let token = &pieces.get(at)?.token;
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::Comma | Token::RParen if depth == 0 => {
                items.push(item(text, &pieces[begin..at], &markers)?);
                begin = at + 1;
                if *token == Token::RParen {
                    break;
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    at += 1;
    let mut last = pieces.len();
    while last > at && pieces[last - 1].token == Token::SemiColon {
        last -= 1;
    }
    let rest = match pieces.get(at..last)? {
        [] => String::new(),
        rest @ [first, .., end] => {
            matches!(&first.token, Token::Word(word) if is(word, "on")).then_some(())?;
            let barred = |token: &Token| {
                matches!(token, Token::SemiColon)
                    || matches!(token, Token::Word(word) if is(word, "returning"))
            };
            (!rest.iter().any(|piece| barred(&piece.token))).then_some(())?;
            let range = first.range.start..end.range.end;
            (!markers.iter().any(|marker| range.contains(&marker.range.start))).then_some(())?;
            text[range].to_owned()
        }
        _ => return None,
    };
    Some(RowOfInsert { table, columns, items, rest })
}

/// What stands between two commas; `None` where a parameter is a part of it, or where DEFAULT is.
fn item(text: &str, pieces: &[Piece], markers: &[Marker]) -> Option<Item> {
    let range = pieces.first()?.range.start..pieces.last()?.range.end;
    if let Some(marker) = markers.iter().find(|marker| range.contains(&marker.range.start)) {
        return (marker.range == range).then(|| Item::Parameter(marker.marked.clone()));
    }
    let default = matches!(pieces, [only] if matches!(&only.token, Token::Word(word) if is(word, "default")));
    (!default).then(|| Item::Text(text[range].to_owned()))
}

fn is(word: &Word, wanted: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted)
}

fn markers_of(text: &str, pieces: &[Piece]) -> Vec<Marker> {
    let mut markers = Vec::new();
    let mut count = 0;
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces.get(at + 1);
        let mut range = piece.range.clone();
        let mut unnumbered = || {
            count += 1;
            Marked::Number(count)
        };
        let marked = match &piece.token {
            // JSON's operator is followed by a text; no parameter is.
            Token::Question => match next.map(|next| &next.token) {
                Some(Token::SingleQuotedString(_)) => continue,
                _ => unnumbered(),
            },
            Token::Placeholder(name) if name == "?" => unnumbered(),
            Token::Placeholder(name) => {
                let name = name.trim_start_matches(['$', ':', '@']);
                name.parse().map_or_else(|_| Marked::Name(name.to_owned()), Marked::Number)
            }
            // Alone before a word: `a:b` and `a[1:b]` have something before it.
            Token::Colon if !follows(text, range.start) => match next {
                Some(Piece { token: Token::Word(word), range: name })
                    if name.start == range.end && word.quote_style.is_none() =>
                {
                    range.end = name.end;
                    Marked::Name(word.value.clone())
                }
                _ => continue,
            },
            _ => continue,
        };
        markers.push(Marker { range, marked });
    }
    markers
}

/// Whether something stands right before a place that a name could not begin behind.
fn follows(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | ']' | ')' | ':'))
}

/// The tokens of a text without blanks and comments; `None` where it cannot be read.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let tokens = Tokenizer::new(&Grammar::new(), text).tokenize_with_location().ok()?;
    let mut places = Places { text, line: 1, column: 1, at: 0 };
    let mut pieces = Vec::with_capacity(tokens.len() / 2 + 1);
    for TokenWithSpan { token, span } in tokens {
        let start = places.offset(span.start.line, span.start.column);
        let end = places.offset(span.end.line, span.end.column);
        if !matches!(token, Token::Whitespace(_) | Token::EOF) {
            pieces.push(Piece { token, range: start..end });
        }
    }
    Some(pieces)
}

/// Goes over a text once, from one place to the next.
struct Places<'t> {
    text: &'t str,
    line: u64,
    column: u64,
    at: usize,
}

impl Places<'_> {
    /// The byte at a place, which is not before the last one.
    fn offset(&mut self, line: u64, column: u64) -> usize {
        let mut rest = self.text[self.at..].chars();
        while (self.line, self.column) < (line, column) {
            let Some(c) = rest.next() else { break };
            self.at += c.len_utf8();
            match c {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Marked)> {
        markers(text).into_iter().map(|m| (&text[m.range], m.marked)).collect()
    }

    fn name(name: &str) -> Marked {
        Marked::Name(name.to_owned())
    }

    #[test]
    fn markers_stand_outside_quotes_and_comments() {
        let text = "SELECT ?, $2, :a, $b, '?:c', \"$d\", $x$ :e $x$, x::int, E'\\':f' -- ? :g\n/* $h */, ?";
        let expected = [
            ("?", Marked::Number(1)),
            ("$2", Marked::Number(2)),
            (":a", name("a")),
            ("$b", name("b")),
            ("?", Marked::Number(2)),
        ];
        assert_eq!(found(text), expected);
        assert_eq!(found("SELECT é[1:n], {'k':v}, j ? 'key', (:n)"), [(":n", name("n"))]);
        assert_eq!(found("SELECT 'open"), []);
    }

    #[test]
    fn names_become_numbers_of_the_same_width() {
        assert_eq!(numbered("SELECT :day, $n, :day", &["n", "day"]).unwrap(), "SELECT $2  , $1, $2  ");
        assert_eq!(numbered("SELECT a[1 :b], ':n'", &[]).unwrap(), "SELECT a[1 :b], ':n'");
        for (text, wrong) in [
            ("SELECT $other", "no parameter named \"other\""),
            ("SELECT 1", "the statement has no parameter named \"n\""),
            ("SELECT ?, :n", "given by its place"),
        ] {
            let error = numbered(text, &["n"]).unwrap_err();
            assert!(error.message().contains(wrong), "{error}");
        }
    }

    #[test]
    fn rows_of_inserts_are_taken_apart() {
        let row = row_of_insert(
            "insert into s.\"T t\" (a, \"b\") values (?, now() + '1 day', ?) on conflict do nothing;",
        );
        let expected = RowOfInsert {
            table: "s.\"T t\"".into(),
            columns: vec!["a".into(), "\"b\"".into()],
            items: vec![
                Item::Parameter(Marked::Number(1)),
                Item::Text("now() + '1 day'".into()),
                Item::Parameter(Marked::Number(2)),
            ],
            rest: "on conflict do nothing".into(),
        };
        assert_eq!(row, Some(expected));
        assert_eq!(row_of_insert("INSERT INTO t VALUES (:a)").unwrap().items, [Item::Parameter(name("a"))]);
        for other in [
            "INSERT INTO t VALUES (?), (?)",
            "INSERT INTO t VALUES (? + 1)",
            "INSERT INTO t VALUES (?, DEFAULT)",
            "INSERT INTO t VALUES (?) RETURNING a",
            "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = ?",
            "INSERT INTO t VALUES (?); SELECT 1",
            "INSERT INTO t VALUES (?) ON CONFLICT DO NOTHING; SELECT 1",
            "INSERT INTO t SELECT ?",
            "UPDATE t SET a = ?",
            "INSERT INTO t VALUES (",
            "",
        ] {
            assert_eq!(row_of_insert(other), None, "{other}");
        }
    }
}
