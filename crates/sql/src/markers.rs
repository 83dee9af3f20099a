//! Markers of parameters in a statement's text, and the one shape of INSERT that many rows of parameters fit into.
//!
//! `?`, `$1`, `$name` and `:name` stand for values. The planner knows only numbers, so callers with named values have
//! the names replaced (`numbered`), outside quotes and comments, and only those that they have values for: `a[1:b]`
//! stays a slice. `row_of_insert` finds what stands in `INSERT INTO t (a, b) VALUES (?, ?)`, so that a host program's
//! many rows become one INSERT ... SELECT over them.

use std::ops::Range;

use syntax::{Keyword, Kind};
use types::{Error, Result, SqlState};

use crate::words::Words;

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
    /// The marker's byte range in the text.
    pub range: Range<usize>,
    /// The parameter that the marker means.
    pub marked: Marked,
}

/// The markers of a text, in their order. None where the text is none that can be read: running it tells what is
/// wrong.
pub fn markers(text: &str) -> Vec<Marker> {
    Words::of(text).map(|words| markers_of(&words)).unwrap_or_default()
}

/// The text with numbers in place of the names that `names` has, the first name's being 1; names that are not used
/// are refused. Other markers must not be there.
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

/// The names that markers ask for, each once, in the order of the text.
pub fn names(markers: &[Marker]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for marker in markers {
        if let Marked::Name(name) = &marker.marked
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
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
    /// The values of the row, in order.
    pub items: Vec<Item>,
    /// ON CONFLICT and what follows it.
    pub rest: String,
}

/// What stands in an INSERT's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A parameter alone.
    Parameter(Marked),
    /// An expression without parameters, as it is written.
    Text(String),
}

/// The row of an INSERT; `None` for every other statement, and for rows that are more than parameters and constants.
pub fn row_of_insert(text: &str) -> Option<RowOfInsert> {
    let words = Words::of(text).ok()?;
    let markers = markers_of(&words);
    let name = |at: usize| {
        let kind = words.tokens.get(at)?.kind;
        matches!(kind, Kind::Word | Kind::QuotedName | Kind::UnicodeName).then_some(())
    };
    let word = |at: usize, word: Keyword| words.is(at, word).then_some(());
    let sign = |at: usize, kind: Kind| words.is_kind(at, kind).then_some(());
    word(0, Keyword::INSERT)?;
    word(1, Keyword::INTO)?;
    let mut at = 2;
    name(at)?;
    while words.is_kind(at + 1, Kind::Dot) {
        at += 2;
        name(at)?;
    }
    at += 1;
    let table = words.written(2, at).to_owned();
    let mut columns = Vec::new();
    if words.is_kind(at, Kind::LeftParen) {
        loop {
            name(at + 1)?;
            columns.push(words.written(at + 1, at + 2).to_owned());
            at += 2;
            if words.is_kind(at, Kind::RightParen) {
                break;
            }
            sign(at, Kind::Comma)?;
        }
        at += 1;
    }
    word(at, Keyword::VALUES)?;
    sign(at + 1, Kind::LeftParen)?;
    let (items, at) = items_of_row(&words, at + 2, &markers)?;
    let last = words.tokens.iter().rposition(|token| token.kind != Kind::Semicolon)? + 1;
    if at < last {
        word(at, Keyword::ON)?;
        let barred = |at: usize| words.is_kind(at, Kind::Semicolon) || words.is(at, Keyword::RETURNING);
        (!(at..last).any(barred)).then_some(())?;
        let start = words.tokens.get(at)?.span.start as usize;
        (!markers.iter().any(|marker| marker.range.start >= start)).then_some(())?;
    }
    Some(RowOfInsert { table, columns, items, rest: words.written(at, last.max(at)).to_owned() })
}

/// What stands in a row's bracket, from the place behind it on, and the place behind the row.
fn items_of_row(words: &Words<'_>, from: usize, markers: &[Marker]) -> Option<(Vec<Item>, usize)> {
    let mut items = Vec::new();
    let (mut at, mut begin, mut depth) = (from, from, 0usize);
    loop {
        let kind = words.tokens.get(at)?.kind;
        match kind {
            Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => depth += 1,
            Kind::Comma | Kind::RightParen if depth == 0 => {
                items.push(item(words, begin, at, markers)?);
                begin = at + 1;
                if kind == Kind::RightParen {
                    return Some((items, begin));
                }
            }
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
}

/// What stands between two commas; `None` where a parameter is a part of it, or where DEFAULT is.
fn item(words: &Words<'_>, from: usize, to: usize, markers: &[Marker]) -> Option<Item> {
    let tokens = words.tokens.get(from..to)?;
    let range = tokens.first()?.span.start as usize..tokens.last()?.span.end as usize;
    if let Some(marker) = markers.iter().find(|marker| range.contains(&marker.range.start)) {
        return (marker.range == range).then(|| Item::Parameter(marker.marked.clone()));
    }
    let default = to == from + 1 && words.is(from, Keyword::DEFAULT);
    (!default).then(|| Item::Text(words.written(from, to).to_owned()))
}

fn markers_of(words: &Words<'_>) -> Vec<Marker> {
    let (text, tokens) = (words.text, &words.tokens);
    let mut markers: Vec<Marker> = Vec::new();
    let (mut count, mut begin) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let mut range = token.span.start as usize..token.span.end as usize;
        let marked = match token.kind {
            Kind::Question => {
                let before = at.checked_sub(1);
                let known = markers.last().is_some_and(|last| {
                    before
                        .and_then(|before| tokens.get(before))
                        .is_some_and(|b| b.span.end as usize == last.range.end)
                });
                let operand = known || before.is_some_and(|before| ends_operand(words, begin, before));
                // JSON's operator stands behind an operand, or before a text; no parameter does.
                if operand || words.is_kind(at + 1, Kind::Text) {
                    continue;
                }
                count += 1;
                Marked::Number(count)
            }
            Kind::Parameter | Kind::NamedParameter => {
                let name = token.span.of(text).trim_start_matches('$');
                name.parse().map_or_else(|_| Marked::Name(name.to_owned()), Marked::Number)
            }
            // Alone before a word: `a:b` and `a[1:b]` have something before it.
            Kind::Colon if !follows(text, range.start) => match tokens.get(at + 1) {
                Some(name) if name.kind == Kind::Word && name.span.start == token.span.end => {
                    range.end = name.span.end as usize;
                    Marked::Name(name.span.of(text).to_owned())
                }
                _ => continue,
            },
            Kind::Semicolon => {
                begin = at + 1;
                continue;
            }
            _ => continue,
        };
        markers.push(Marker { range, marked });
    }
    markers
}

/// Whether the token at a place, of the statement that begins at another, is the last one of an operand, whatever
/// stands before it.
fn ends_operand(words: &Words<'_>, begin: usize, at: usize) -> bool {
    let Some(token) = words.tokens.get(at).filter(|_| at >= begin) else { return false };
    match token.kind {
        // In lists of options a value stands behind its name.
        Kind::Word if token.keyword == Keyword::NO_KEYWORD => {
            ![Keyword::CREATE, Keyword::COPY, Keyword::ATTACH].iter().any(|verb| words.is(begin, *verb))
        }
        Kind::QuotedName | Kind::UnicodeName | Kind::Number | Kind::Text => true,
        Kind::RightBracket | Kind::RightBrace => true,
        // `OPERATOR(schema.+)` is no operand.
        Kind::RightParen => {
            let open = (begin..at).rev().take(8).find(|at| words.is_kind(*at, Kind::LeftParen));
            let before = open.and_then(|open| open.checked_sub(1));
            !before.is_some_and(|before| words.is(before, Keyword::OPERATOR))
        }
        _ => false,
    }
}

/// Whether something stands right before a place that a name could not begin behind.
fn follows(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | ']' | ')' | ':'))
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
        assert_eq!(
            found("SELECT j ? k, j['a'] ? ?, ? ? ? FROM t WHERE a LIKE ? LIMIT ?"),
            [1, 2, 3, 4, 5].map(|n| ("?", Marked::Number(n)))
        );
        let several = "SELECT j ? k; CREATE SECRET s (TYPE s3, KEY_ID ?, SECRET ?); SELECT 1 OPERATOR(s.+) ?";
        assert_eq!(found(several), [1, 2, 3].map(|n| ("?", Marked::Number(n))));
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
