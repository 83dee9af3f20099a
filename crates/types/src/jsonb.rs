//! JSONB: JSON in one form, so that equal values have equal bytes.
//!
//! The form is PostgreSQL's text of a jsonb: the keys of an object once, the last value of each, shorter keys first and
//! those of one length by their bytes; a blank behind `:` and `,`; strings with the escapes they need and no others. Numbers
//! lose zeros and exponents that say nothing (`1.0` and `1e0` are `1`), so that comparing, grouping, hashing and joining
//! need to know nothing of JSON. The order of PostgreSQL is that of the bytes of [`order_key`].
//!
//! The functions that change a value (`set`, `insert`, `without`, `concatenated`, `stripped`) work on a [`Tree`].

use std::cmp::Ordering;

use crate::json::{self, Parsed};
use crate::{Error, Result, SqlState, Value};

/// Levels of arrays and objects; each is a level of the stack.
const DEPTH_MAX: usize = 500;
/// Digits that a number with an exponent is written out to.
const DIGITS_MAX: i64 = 400;

/// A JSONB value taken apart. Numbers and objects are in their one form, so that equal values are equal trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `null`
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// In its one form.
    Number(String),
    /// A string, its escapes resolved.
    Text(String),
    /// The elements in their order.
    Array(Vec<Tree>),
    /// In the order of keys, each once.
    Object(Vec<(String, Tree)>),
}

/// Checks a JSON text and gives it in its one form, as a JSONB value. Besides malformed JSON, `\u0000` in a string
/// and nesting deeper than 500 levels are errors.
pub fn canonical(text: &str) -> Result<Value> {
    json::checked(text)?;
    Ok(Value::text(&Tree::read(text)?.shown()))
}

/// How PostgreSQL orders keys.
fn by_length(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The one form of a number: without needless zeros, sign and exponent.
fn number(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return "0".into();
    }
    // An exponent beyond i64 is not computed with: such a number stays as it is.
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else { return text.to_owned() };
    let leading = (all.len() - all.trim_start_matches('0').len()) as i64;
    // Digits before the point.
    let point = (whole.len() as i64 - leading).saturating_add(exponent);
    let count = significant.len() as i64;
    if point > DIGITS_MAX.max(count) || point < -DIGITS_MAX {
        let (first, rest) = significant.split_at(1);
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        return format!("{sign}{first}{rest}e{}", point - 1);
    }
    if point <= 0 {
        return format!("{sign}0.{}{significant}", "0".repeat(point.unsigned_abs() as usize));
    }
    if point >= count {
        return format!("{sign}{significant}{}", "0".repeat((point - count) as usize));
    }
    let (before, behind) = significant.split_at(point as usize);
    format!("{sign}{before}.{behind}")
}

impl Tree {
    /// Takes apart a text that is known to be JSON. `\u0000` in a string and nesting deeper than 500 levels are
    /// errors.
    pub fn read(text: &str) -> Result<Tree> {
        Self::read_at(text, 0)
    }

    fn read_at(text: &str, depth: usize) -> Result<Tree> {
        if depth > DEPTH_MAX {
            return Err(Error::new(
                SqlState::StatementTooComplex,
                format!("a jsonb has at most {DEPTH_MAX} levels of arrays and objects"),
            )
            .with_hint("keep it as JSON, which is not taken apart"));
        }
        Ok(match json::parse(text) {
            Parsed::Null => Tree::Null,
            Parsed::Bool(value) => Tree::Bool(value),
            Parsed::Number(digits) => Tree::Number(number(digits)),
            Parsed::Text(text) => Tree::Text(without_nul(text)?),
            Parsed::Array(items) => Tree::Array(
                items.iter().map(|item| Self::read_at(item.get(), depth + 1)).collect::<Result<_>>()?,
            ),
            Parsed::Object(entries) => {
                let mut read = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    read.push((without_nul(key)?, Self::read_at(value.get(), depth + 1)?));
                }
                // The sort is stable: of equal keys the last one counts.
                read.sort_by(|(a, _), (b, _)| by_length(a, b));
                let mut object: Vec<(String, Tree)> = Vec::with_capacity(read.len());
                for (key, value) in read {
                    match object.last_mut() {
                        Some((last, known)) if *last == key => *known = value,
                        _ => object.push((key, value)),
                    }
                }
                Tree::Object(object)
            }
        })
    }

    /// The canonical text, which is what a JSONB column holds.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        self.push(&mut out);
        out
    }

    fn push(&self, out: &mut String) {
        match self {
            Tree::Null => out.push_str("null"),
            Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Tree::Number(digits) => out.push_str(digits),
            Tree::Text(text) => push_string(text, out),
            Tree::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    item.push(out);
                }
                out.push(']');
            }
            Tree::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    push_string(key, out);
                    out.push_str(": ");
                    value.push(out);
                }
                out.push('}');
            }
        }
    }

    /// `jsonb_pretty`: an element or entry a line, four blanks a level.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.push_pretty(0, &mut out);
        out
    }

    fn push_pretty(&self, level: usize, out: &mut String) {
        let line = |level: usize, out: &mut String| {
            out.push('\n');
            (0..level).for_each(|_| out.push_str("    "));
        };
        match self {
            Tree::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(level + 1, out);
                    item.push_pretty(level + 1, out);
                }
                line(level, out);
                out.push(']');
            }
            Tree::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(level + 1, out);
                    push_string(key, out);
                    out.push_str(": ");
                    value.push_pretty(level + 1, out);
                }
                line(level, out);
                out.push('}');
            }
            plain => plain.push(out),
        }
    }

    /// `jsonb_strip_nulls`: without the object entries that are null, at every level.
    pub fn stripped(self) -> Tree {
        match self {
            Tree::Array(items) => Tree::Array(items.into_iter().map(Tree::stripped).collect()),
            Tree::Object(entries) => Tree::Object(
                entries
                    .into_iter()
                    .filter(|(_, value)| *value != Tree::Null)
                    .map(|(key, value)| (key, value.stripped()))
                    .collect(),
            ),
            plain => plain,
        }
    }

    /// `||`: two objects have the entries of both, the right one's where both have a key; anything else is joined as arrays.
    pub fn concatenated(self, other: Tree) -> Tree {
        let items = |tree: Tree| match tree {
            Tree::Array(items) => items,
            plain => vec![plain],
        };
        match (self, other) {
            (Tree::Object(mut entries), Tree::Object(more)) => {
                for (key, value) in more {
                    put(&mut entries, key, value);
                }
                Tree::Object(entries)
            }
            (left, right) => {
                let mut joined = items(left);
                joined.extend(items(right));
                Tree::Array(joined)
            }
        }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Tree::Array(_) | Tree::Object(_))
    }

    /// `-` of a text: an object without the key, an array without the elements that are this text. Scalars are an
    /// error.
    pub fn without_key(self, wanted: &str) -> Result<Tree> {
        Ok(match self {
            Tree::Object(entries) => {
                Tree::Object(entries.into_iter().filter(|(key, _)| key != wanted).collect())
            }
            Tree::Array(items) => Tree::Array(
                items.into_iter().filter(|i| !matches!(i, Tree::Text(text) if text == wanted)).collect(),
            ),
            _ => return Err(wrong("cannot delete from scalar")),
        })
    }

    /// `-` of a number: an array without the element at that place, counted from the end if negative. Anything but an
    /// array is an error.
    pub fn without_index(self, index: i64) -> Result<Tree> {
        match self {
            Tree::Array(mut items) => {
                if let Some(at) = place(index, items.len()) {
                    items.remove(at);
                }
                Ok(Tree::Array(items))
            }
            Tree::Object(_) => Err(wrong("cannot delete from object using integer index")),
            _ => Err(wrong("cannot delete from scalar")),
        }
    }

    /// `#-`: without the element or entry that the path leads to; unchanged when there is none. Scalars are an error.
    pub fn without_path(self, path: &[String]) -> Result<Tree> {
        if self.is_scalar() {
            return Err(wrong("cannot delete path in scalar"));
        }
        Ok(if path.is_empty() { self } else { self.changed(path, 0, &Change::Delete)? })
    }

    /// `jsonb_set`: with another value where the path leads. If only its last step is missing, `create` adds it.
    /// Scalars are an error.
    pub fn set(self, path: &[String], value: Tree, create: bool) -> Result<Tree> {
        if self.is_scalar() {
            return Err(wrong("cannot set path in scalar"));
        }
        Ok(if path.is_empty() { self } else { self.changed(path, 0, &Change::Set { value, create })? })
    }

    /// `jsonb_insert`: with a value before, or `behind`, the element where the path leads, or under a new key. A key
    /// that exists and scalars are errors.
    pub fn insert(self, path: &[String], value: Tree, behind: bool) -> Result<Tree> {
        if self.is_scalar() {
            return Err(wrong("cannot set path in scalar"));
        }
        Ok(if path.is_empty() { self } else { self.changed(path, 0, &Change::Insert { value, behind })? })
    }

    /// Applies the change at the path, of which `at` steps were taken; a path that leads nowhere changes nothing.
    fn changed(self, path: &[String], at: usize, change: &Change) -> Result<Tree> {
        let Some(step) = path.get(at) else { return Ok(self) };
        let last = at + 1 == path.len();
        Ok(match self {
            Tree::Object(mut entries) => {
                let found = entries.binary_search_by(|(key, _)| by_length(key, step));
                match (found, last, change) {
                    (Ok(place), false, _) => {
                        let value = std::mem::replace(&mut entries[place].1, Tree::Null);
                        entries[place].1 = value.changed(path, at + 1, change)?;
                    }
                    (Ok(place), true, Change::Set { value, .. }) => entries[place].1 = value.clone(),
                    (Ok(place), true, Change::Delete) => {
                        entries.remove(place);
                    }
                    (Ok(_), true, Change::Insert { .. }) => {
                        return Err(wrong("cannot replace existing key")
                            .with_hint("jsonb_set replaces the value of a key"));
                    }
                    (
                        Err(place),
                        true,
                        Change::Set { value, create: true } | Change::Insert { value, .. },
                    ) => {
                        entries.insert(place, (step.clone(), value.clone()));
                    }
                    (Err(_), ..) => {}
                }
                Tree::Object(entries)
            }
            Tree::Array(mut items) => {
                let Ok(index) = step.trim().parse::<i64>() else {
                    return Err(Error::new(
                        SqlState::InvalidTextRepresentation,
                        format!("path element at position {} is not an integer: \"{step}\"", at + 1),
                    ));
                };
                match (place(index, items.len()), last, change) {
                    (Some(place), false, _) => {
                        let value = std::mem::replace(&mut items[place], Tree::Null);
                        items[place] = value.changed(path, at + 1, change)?;
                    }
                    (Some(place), true, Change::Set { value, .. }) => items[place] = value.clone(),
                    (Some(place), true, Change::Delete) => {
                        items.remove(place);
                    }
                    (Some(place), true, Change::Insert { value, behind }) => {
                        items.insert(place + usize::from(*behind), value.clone());
                    }
                    // Beyond an end is that end.
                    (None, true, Change::Set { value, create: true } | Change::Insert { value, .. }) => {
                        let place = if index < 0 { 0 } else { items.len() };
                        items.insert(place, value.clone());
                    }
                    (None, ..) => {}
                }
                Tree::Array(items)
            }
            plain => plain,
        })
    }
}

/// What `changed` does at the end of the path.
enum Change {
    Set { value: Tree, create: bool },
    Insert { value: Tree, behind: bool },
    Delete,
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// Sets the value of a key in entries that are in order, and keeps them so.
fn put(entries: &mut Vec<(String, Tree)>, key: String, value: Tree) {
    match entries.binary_search_by(|(own, _)| by_length(own, &key)) {
        Ok(at) => entries[at].1 = value,
        Err(at) => entries.insert(at, (key, value)),
    }
}

/// Place in an array of `count` elements; a negative index counts from the end.
fn place(index: i64, count: usize) -> Option<usize> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let at = if index < 0 { count.saturating_add(index) } else { index };
    (0..count).contains(&at).then_some(at as usize)
}

/// Refuses a text with a zero character, which SQL texts cannot hold.
fn without_nul(text: String) -> Result<String> {
    if text.contains('\0') {
        return Err(Error::new(
            SqlState::InvalidTextRepresentation,
            "unsupported Unicode escape sequence: \\u0000 cannot be converted to text",
        ));
    }
    Ok(text)
}

fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Bytes whose order is PostgreSQL's order of jsonb: objects over arrays over truth values over numbers over strings
/// over null, larger arrays and objects over smaller ones, and an empty array at the top below everything.
pub fn order_key(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    if matches!(tree, Tree::Array(items) if items.is_empty()) {
        out.push(0);
    } else {
        push_order(tree, &mut out);
    }
    out
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    crate::nested::encoding::push_bytes(text.as_bytes(), out);
}

fn push_order(tree: &Tree, out: &mut Vec<u8>) {
    match tree {
        Tree::Null => out.push(1),
        Tree::Text(text) => {
            out.push(2);
            push_text(text, out);
        }
        Tree::Number(digits) => {
            out.push(3);
            push_number(digits, out);
        }
        Tree::Bool(value) => out.extend_from_slice(&[4, u8::from(*value)]),
        Tree::Array(items) => {
            out.push(5);
            out.extend_from_slice(&(items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| push_order(item, out));
        }
        Tree::Object(entries) => {
            out.push(6);
            out.extend_from_slice(&(entries.len() as u64).to_be_bytes());
            for (key, value) in entries {
                push_text(key, out);
                push_order(value, out);
            }
        }
    }
}

/// Sign, exponent and digits, inverted below zero.
fn push_number(digits: &str, out: &mut Vec<u8>) {
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
    if digits == "0" {
        out.push(1);
        return;
    }
    out.push(if negative { 0 } else { 2 });
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let leading = (all.len() - significant.len()) as i64;
    let exponent = exponent.trim_start_matches('+').parse::<i64>().unwrap_or(i64::MAX / 2);
    let point = (whole.len() as i64 - leading).saturating_add(exponent);
    let begin = out.len();
    out.extend_from_slice(&((point as u64) ^ (1 << 63)).to_be_bytes());
    out.extend_from_slice(significant.trim_end_matches('0').as_bytes());
    out.push(0);
    if negative {
        out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        canonical(text).unwrap().as_text().unwrap().to_owned()
    }

    #[test]
    fn equal_values_have_one_form() {
        assert_eq!(shown(r#"{"bb":1.0, "a" : [1e2,-0,0.50],"a":2}"#), r#"{"a": 2, "bb": 1}"#);
        assert_eq!(shown("[1e2,-0,0.50,1E-3,12.340e1,1e500]"), "[100, 0, 0.5, 0.001, 123.4, 1e500]");
        assert_eq!(shown(r#""\u0061\/\b\u001f""#), r#""a/\b\u001f""#);
        assert!(canonical(r#""\u0000""#).is_err() && canonical("{").is_err());
        assert!(canonical(&("[".repeat(5_000) + &"]".repeat(5_000))).is_err());
    }

    #[test]
    fn the_order_is_postgresqls() {
        let sorted = [
            "[]",
            "null",
            r#""a""#,
            r#""b""#,
            "-12",
            "-1.5",
            "-1",
            "0",
            "0.001",
            "0.5",
            "1",
            "2",
            "10",
            "1e500",
            "false",
            "true",
            "[1]",
            "[2]",
            "[[]]",
            "[1, 1]",
            "{}",
            r#"{"a": 1}"#,
            r#"{"b": 0}"#,
        ];
        let keys: Vec<_> = sorted.iter().map(|t| order_key(&Tree::read(t).unwrap())).collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }

    #[test]
    fn values_are_changed() {
        let tree = |text: &str| Tree::read(text).unwrap();
        let path = |steps: &[&str]| steps.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let of = tree(r#"{"a": [1, 2]}"#);
        let set = |p: &[&str]| of.clone().set(&path(p), Tree::Null, true).unwrap().shown();
        assert_eq!(set(&["a", "0"]), r#"{"a": [null, 2]}"#);
        assert_eq!(set(&["a", "-9"]), r#"{"a": [null, 1, 2]}"#);
        assert_eq!(set(&["b", "c"]), r#"{"a": [1, 2]}"#);
        assert!(of.clone().set(&path(&["a", "x"]), Tree::Null, true).is_err());
        assert!(of.clone().insert(&path(&["a"]), Tree::Null, true).is_err());
        assert_eq!(
            of.clone().insert(&path(&["a", "0"]), Tree::Null, true).unwrap().shown(),
            r#"{"a": [1, null, 2]}"#
        );
        assert_eq!(of.clone().without_path(&path(&["a", "-1"])).unwrap().shown(), r#"{"a": [1]}"#);
        assert_eq!(of.concatenated(tree(r#"{"a": 1, "0": 2}"#)).shown(), r#"{"0": 2, "a": 1}"#);
    }
}
