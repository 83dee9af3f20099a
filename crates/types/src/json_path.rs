//! Paths into JSON: `$.key[0]."other key"[*]`, JSON Pointer (RFC 6901) `/key/0`, or the name of a key; and the parts that
//! they lead to.
//!
//! A part is a slice of the text that it lies in, so that taking it copies nothing. Functions and operators on JSON
//! parse a path once (`path`) and apply its steps to many texts (`get`, `all`), which must be JSON that was checked.
//! Wildcards and `..` give several parts; `..` may occur once in a path, which bounds their number.

use crate::json::{Parsed, parse};
use crate::{Error, Result, SqlState, stop};

/// One step into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The value of an object's key.
    Key(String),
    /// An element of an array by place, from 0: from the front, or with a minus from the end.
    Index(i64),
    /// `[#-n]`: from the end. As in DuckDB, `[#-0]` reads the first element, but writes behind the last one.
    FromEnd(u64),
    /// `[#]`: the place behind the last element.
    End,
    /// A word of a pointer: a key of an object, a place of an array, `-` the place behind its last element.
    Word(String),
    /// `[*]`: every element of an array.
    EachElement,
    /// `.*`: every value of an object.
    EachValue,
    /// `..*`: every element or value.
    Each,
    /// `..`: the value and all that is in it, level by level.
    Deep,
}

impl Step {
    fn is_wildcard(&self) -> bool {
        matches!(self, Step::EachElement | Step::EachValue | Step::Each | Step::Deep)
    }
    /// The place in an array of `count` elements; `count` itself is the place behind the last. `None` when the step
    /// lies outside or is no place.
    pub fn place(&self, count: usize) -> Option<usize> {
        let at = match self {
            Step::Index(at) if *at < 0 => {
                usize::try_from(at.unsigned_abs()).ok().and_then(|n| count.checked_sub(n))?
            }
            Step::Index(at) => usize::try_from(*at).ok()?,
            Step::FromEnd(back) => usize::try_from(*back).ok().and_then(|n| count.checked_sub(n))?,
            Step::End => count,
            Step::Word(word) if word == "-" => count,
            Step::Word(word) if word.bytes().all(|b| b.is_ascii_digit()) => word.parse().ok()?,
            _ => return None,
        };
        (at <= count).then_some(at)
    }
    /// The key that the step looks up in an object; `None` for steps that objects do not have.
    pub fn key(&self) -> Option<&str> {
        match self {
            Step::Key(key) | Step::Word(key) => Some(key),
            _ => None,
        }
    }
}

/// Whether the steps may lead to more than one part.
pub fn has_wildcard(steps: &[Step]) -> bool {
    steps.iter().any(Step::is_wildcard)
}

/// The part of the text that the steps lead to, the first one for wildcards; `None` when there is none. If an object
/// has a key twice, the last one counts.
pub fn get<'a>(text: &'a str, steps: &[Step]) -> Option<&'a str> {
    all(text, steps, 1).into_iter().next()
}

/// The parts of the text that the steps lead to, at most `most`, in order.
pub fn all<'a>(text: &'a str, steps: &[Step], most: usize) -> Vec<&'a str> {
    let mut found = vec![text.trim()];
    for step in steps {
        if *step == Step::Deep {
            found = with_all_inside(found);
            continue;
        }
        let mut next = Vec::new();
        for text in found {
            match (step, parse(text)) {
                (Step::EachElement | Step::Each, Parsed::Array(items)) => {
                    next.extend(items.iter().map(|v| v.get()));
                }
                (Step::EachValue | Step::Each, Parsed::Object(entries)) => {
                    next.extend(entries.iter().map(|(_, v)| v.get()));
                }
                (step, Parsed::Object(entries)) => {
                    let Some(key) = step.key() else { continue };
                    next.extend(entries.iter().rfind(|(own, _)| own == key).map(|(_, v)| v.get()));
                }
                (step, Parsed::Array(items)) => {
                    let place = if *step == Step::FromEnd(0) { Some(0) } else { step.place(items.len()) };
                    next.extend(place.and_then(|at| items.get(at)).map(|v| v.get()));
                }
                _ => {}
            }
        }
        found = next;
    }
    found.truncate(most);
    found
}

/// The values and what is in them, those of a level before those below.
fn with_all_inside(from: Vec<&str>) -> Vec<&str> {
    let mut all = Vec::new();
    for whole in from {
        let mut at = all.len();
        all.push(whole);
        while at < all.len() {
            let text = all[at];
            // A level is read again with each level around it.
            stop::spend(text.len());
            match parse(text) {
                Parsed::Array(items) => all.extend(items.iter().map(|v| v.get())),
                Parsed::Object(entries) => all.extend(entries.iter().map(|(_, v)| v.get())),
                _ => {}
            }
            at += 1;
        }
    }
    all
}

/// Parses a path: `$...`, a JSON Pointer if it begins with `/`, else the name of one key. The empty path is the whole
/// value. A malformed path is an error.
pub fn path(text: &str) -> Result<Vec<Step>> {
    if let Some(rest) = text.strip_prefix('/') {
        let step = |word: &str| Step::Word(word.replace("~1", "/").replace("~0", "~"));
        return Ok(rest.split('/').map(step).collect());
    }
    if text.is_empty() {
        // The whole value.
        return Ok(Vec::new());
    }
    let Some(mut rest) = text.strip_prefix('$') else {
        return Ok(vec![Step::Key(text.to_owned())]);
    };
    let wrong = |detail: &str| {
        Error::new(SqlState::InvalidParameterValue, format!("invalid JSON path: \"{text}\""))
            .with_detail(detail.to_owned())
            .with_hint("a path is written $.key[0].\"other key\"[*], or /key/0")
    };
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inner, after) = after.split_once(']').ok_or_else(|| wrong("a bracket is not closed"))?;
            steps.push(subscript(inner.trim()).ok_or_else(|| wrong("an index is a number"))?);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            let deep = after.strip_prefix('.').or_else(|| after.strip_prefix("**"));
            rest = match deep {
                Some(_) if steps.contains(&Step::Deep) => {
                    return Err(wrong("a path goes into all levels once at most"));
                }
                Some(below) => {
                    steps.push(Step::Deep);
                    let all = after.starts_with("**") && below.is_empty();
                    match below.strip_prefix('*').or(all.then_some(below)) {
                        Some(behind) => {
                            steps.push(Step::Each);
                            behind
                        }
                        None if below.starts_with('[') || after.starts_with("**") => below,
                        None => keyed(below, &mut steps).map_err(wrong)?,
                    }
                }
                None => keyed(after, &mut steps).map_err(wrong)?,
            };
        } else {
            return Err(wrong("a key follows a point, an index stands in brackets"));
        }
    }
    Ok(steps)
}

/// What stands between brackets.
fn subscript(inner: &str) -> Option<Step> {
    // An index that no number holds is behind every array.
    let digits = |word: &str| match !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
        true => Some(word.parse::<u64>().ok()),
        false => None,
    };
    if inner == "*" {
        return Some(Step::EachElement);
    }
    if inner == "#" {
        return Some(Step::End);
    }
    if let Some(back) = inner.strip_prefix("#-") {
        return digits(back)?.map(Step::FromEnd);
    }
    if let Some(back) = inner.strip_prefix('-') {
        return Some(Step::Index(-digits(back)?.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX))));
    }
    if let Some(at) = digits(inner) {
        return Some(Step::Index(at.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX))));
    }
    let key = inner.trim_matches(['"', '\'']);
    (key.len() + 2 == inner.len()).then(|| Step::Key(key.to_owned()))
}

/// A key behind a point, and what follows it.
fn keyed<'a>(after: &'a str, steps: &mut Vec<Step>) -> std::result::Result<&'a str, &'static str> {
    let Some(quoted) = after.strip_prefix('"') else {
        let (key, after) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
        steps.push(match key {
            "" => return Err("a key is missing behind the point"),
            "*" => Step::EachValue,
            key => Step::Key(key.to_owned()),
        });
        return Ok(after);
    };
    let (mut key, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            '"' | '\\' if escaped => key.push(c),
            '"' if key.is_empty() => return Err("a key is missing between the quotes"),
            '"' => {
                steps.push(Step::Key(key));
                return Ok(&quoted[at + 1..]);
            }
            '\\' => {
                escaped = true;
                continue;
            }
            // A backslash before anything else is one.
            c => key.extend(escaped.then_some('\\').into_iter().chain([c])),
        }
        escaped = false;
    }
    Err("a quote is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, written: &str) -> String {
        all(text, &path(written).unwrap(), usize::MAX).join(" ")
    }

    #[test]
    fn each_way_of_writing_a_path() {
        let text = r#"{"a":[1,{"b":2}],"c\"d":{"b":3},"1":4}"#;
        assert_eq!(found(text, r#"$."c\"d".b"#), "3");
        assert_eq!(found(text, "/1"), "4");
        assert_eq!(found(text, "/a/1/b"), "2");
        assert_eq!(found(text, "/a/-"), "");
        assert_eq!(found(text, "$.a[#-1].b"), "2");
        assert_eq!(found(text, "$.a[#]"), "");
        // Level by level.
        assert_eq!(found(text, "$..b"), "3 2");
        assert_eq!(found(text, "$.a..*"), r#"1 {"b":2} 2"#);
        assert_eq!(found(text, "$.a.**"), r#"1 {"b":2} 2"#);
        assert_eq!(found(text, "$.**.b"), "3 2");
        assert_eq!(found(text, "$..[0]"), "1");
        assert_eq!(found(text, "$.a.*"), "");
        assert_eq!(found(text, "$[*]"), "");
        for wrong in
            ["$..", "$..a..b", "$.\"\"", "$[-]", "$[#-]", "$[#9]", "$[#-18446744073709551617]", "$.a.."]
        {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }
}
