//! Functions of regular expressions: replacing, finding, counting and splitting (`regular` reads the patterns).
//!
//! Each function walks the rows of a batch and compiles a pattern only when it differs from the row's before
//! (`Known`). A NULL text, pattern or flag makes the row NULL. Places are counted in characters from 1, as SQL has
//! them, and converted to bytes before searching. A malformed pattern, an unknown flag, or a search of too many steps
//! is an error of the statement.

use std::rc::Rc;

use types::nested::encoding;
use types::{Error, Result, Type, Value};
use vector::nested::join;
use vector::{Data, Vector, VectorBuilder};

use super::{Kernel, booleans, integers, invalid, text, whole};
use crate::regular::{Flags, Groups, Pattern, Searcher, after};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "regexp_replace" => replace,
        "regexp_like" => like,
        "regexp_match" => first_match,
        "regexp_all_matches" => all_matches,
        "regexp_extract_all" => extract_all,
        "regexp_substr" => part,
        "regexp_full_match" => full_match,
        "regexp_extract" => extract,
        "regexp_extract_named" => extract_named,
        "regexp_extract_all_named" => extract_all_named,
        "regexp_count" => count,
        "regexp_instr" => place,
        "text_split_regex" => split,
        _ => return None,
    })
}

/// The pattern of the row before, which mostly is this row's, too.
#[derive(Default)]
struct Known(Option<(String, String, Rc<Pattern>, Flags)>);

impl Known {
    fn get(&mut self, pattern: &str, flags: &str) -> Result<(&Pattern, Flags)> {
        let same = self.0.as_ref().is_some_and(|(p, f, ..)| p == pattern && f == flags);
        if !same {
            let read = Flags::of(flags)?;
            self.0 = Some((pattern.to_owned(), flags.to_owned(), Pattern::recent(pattern, read)?, read));
        }
        match &self.0 {
            Some((.., pattern, flags)) => Ok((pattern, *flags)),
            None => Err(Error::internal("a pattern that was just compiled")),
        }
    }
}

/// A row's flags; `None` for NULL, which makes the result NULL.
fn flags_of(inputs: &[Vector], at: usize, row: usize) -> Option<&str> {
    inputs.get(at).map_or(Some(""), |flags| text(flags, row))
}

fn whole_of(groups: &Groups) -> (usize, usize) {
    groups.first().copied().flatten().unwrap_or_default()
}

/// `regexp_replace(text, pattern, replacement [, flags])`, or `(text, pattern, replacement, start [, n [, flags]])`:
/// in the replacement `\1` to `\9` are groups, `\&` is the match, and `\\` a backslash. Everything else stands for
/// itself.
fn replace(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    if let Some(replacing) = Replacing::of(inputs)? {
        return replacing.each_row(&inputs[0], ty, rows);
    }
    let mut known = Known::default();
    let mut out = VectorBuilder::new(ty, rows);
    let mut made = String::new();
    for row in 0..rows {
        let given = (text(&inputs[0], row), text(&inputs[1], row), text(&inputs[2], row));
        let number = |at: usize, or: i64| inputs.get(at).map_or(Some(or), |v| whole(v, row));
        let placed = inputs.get(3).is_some_and(|third| third.ty().is_integer());
        let numbers = if placed { (number(3, 1), number(4, 1)) } else { (Some(1), Some(1)) };
        let flags = flags_of(inputs, if placed { 5 } else { 3 }, row);
        let ((Some(given), Some(pattern), Some(replacement)), Some(flags), (Some(from), Some(n))) =
            (given, flags, numbers)
        else {
            out.push_null();
            continue;
        };
        if n < 0 {
            return Err(invalid(format!("invalid value for parameter \"n\": {n}")));
        }
        if !placed && flags.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("invalid regular expression option: \"{}\"", &flags[..1]);
            return Err(invalid(message).with_hint(
                "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.",
            ));
        }
        let from = byte_of(given, from)?;
        let (pattern, flags) = known.get(pattern, flags)?;
        // With a number of a match, that one is replaced, or for 0 all of them.
        let every = if placed && inputs.len() > 4 { n == 0 } else { flags.global };
        made.clear();
        let (mut copied, mut seen) = (0, 0);
        if let Some(from) = from {
            pattern.each(given, from, |groups| {
                seen += 1;
                if every || seen == n {
                    let (start, end) = whole_of(groups);
                    made.push_str(&given[copied..start]);
                    put(replacement, given, groups, &mut made);
                    copied = end;
                }
                every || seen < n
            })?;
        }
        made.push_str(&given[copied..]);
        out.push_bytes(made.as_bytes());
    }
    Ok(out.finish())
}

/// A replacement, taken apart.
enum Part<'r> {
    Literal(&'r str),
    /// What the group matched; 0 is the whole match.
    Group(usize),
}

/// The parts of a replacement.
fn parts(replacement: &str) -> Vec<Part<'_>> {
    let mut parts = vec![];
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        if at > 0 {
            parts.push(Part::Literal(&rest[..at]));
        }
        let next = rest[at + 1..].chars().next();
        let (part, taken) = match next {
            Some('&') => (Part::Group(0), 2),
            Some(digit @ '1'..='9') => (Part::Group(digit as usize - '0' as usize), 2),
            Some('\\') => (Part::Literal("\\"), 2),
            _ => (Part::Literal("\\"), 1),
        };
        parts.push(part);
        rest = &rest[at + taken..];
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    parts
}

/// `regexp_replace` of one pattern, replacement and set of flags for all rows, which are read once.
struct Replacing<'r> {
    pattern: Rc<Pattern>,
    every: bool,
    parts: Vec<Part<'r>>,
}

impl<'r> Replacing<'r> {
    /// `None` where something but the text differs by row or is NULL, or matches are counted.
    fn of(inputs: &'r [Vector]) -> Result<Option<Self>> {
        let constant = |at: usize| match inputs.get(at).map(Vector::data) {
            Some(Data::Constant(Value::Bytes(bytes))) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        let (Some(pattern), Some(replacement)) = (constant(1), constant(2)) else { return Ok(None) };
        let flags = match inputs.len() {
            3 => Some(""),
            4 => constant(3).filter(|flags| !flags.starts_with(|c: char| c.is_ascii_digit())),
            _ => None,
        };
        // Without a row that has a text, what is wrong with the pattern is no error.
        let texts = matches!(inputs[0].data(), Data::Bytes(_))
            && (0..inputs[0].len()).any(|row| !inputs[0].is_null(row));
        let Some(flags) = flags.filter(|_| texts) else { return Ok(None) };
        let flags = Flags::of(flags)?;
        let pattern = Pattern::recent(pattern, flags)?;
        Ok(Some(Replacing { pattern, every: flags.global, parts: parts(replacement) }))
    }
    fn each_row(&self, texts: &Vector, ty: Type, rows: usize) -> Result<Vector> {
        let groups = self.parts.iter().any(|part| matches!(part, Part::Group(1..)));
        let mut searcher = Searcher::new(&self.pattern, groups);
        let mut out = VectorBuilder::new(ty, rows);
        let mut made = String::new();
        for row in 0..rows {
            let Some(given) = text(texts, row) else {
                out.push_null();
                continue;
            };
            made.clear();
            let (mut copied, mut at) = (0, 0);
            while at <= given.len() {
                let Some((start, end)) = searcher.find(given, at)? else { break };
                made.push_str(&given[copied..start]);
                for part in &self.parts {
                    match part {
                        Part::Literal(literal) => made.push_str(literal),
                        Part::Group(0) => made.push_str(&given[start..end]),
                        Part::Group(group) => {
                            let place = searcher.group(*group);
                            made.push_str(place.map_or("", |(start, end)| &given[start..end]));
                        }
                    }
                }
                copied = end;
                if !self.every {
                    break;
                }
                at = after(given, start, end);
            }
            made.push_str(&given[copied..]);
            out.push_bytes(made.as_bytes());
        }
        Ok(out.finish())
    }
}

/// At most so many bytes does `regexp_replace` make of a row, where it replaces every match; twice that while it
/// grows.
pub(crate) fn replaced_by_pattern(inputs: &[Vector], row: usize) -> u64 {
    let given = (text(&inputs[0], row), text(&inputs[1], row), text(&inputs[2], row));
    let (Some(given), Some(pattern), Some(replacement)) = given else { return 0 };
    let flags =
        inputs[3..].iter().find_map(|flags| if flags.ty().is_text() { text(flags, row) } else { None });
    // What is wrong with them is said when they are used.
    let flags = Flags::of(flags.unwrap_or_default()).unwrap_or_default();
    let Ok(pattern) = Pattern::recent(pattern, flags) else { return 0 };
    let mut bytes = given.len() as u64;
    let _ = pattern.each(given, 0, |groups| {
        let groups: usize = groups.iter().flatten().map(|(start, end)| end - start).max().unwrap_or(0)
            * (replacement.len() / 2);
        bytes = bytes.saturating_add((replacement.len() + groups) as u64);
        true
    });
    bytes.saturating_mul(2)
}

fn put(replacement: &str, given: &str, groups: &Groups, out: &mut String) {
    for part in parts(replacement) {
        match part {
            Part::Literal(literal) => out.push_str(literal),
            Part::Group(group) => {
                if let Some((start, end)) = groups.get(group).copied().flatten() {
                    out.push_str(&given[start..end]);
                }
            }
        }
    }
}

fn like(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    matching(inputs, rows, str::to_owned)
}

/// Whether each row's pattern, as `written`, is in its text.
fn matching(inputs: &[Vector], rows: usize, written: fn(&str) -> String) -> Result<Vector> {
    let mut failed = None;
    let mut known: Option<(&str, &str, Rc<Pattern>)> = None;
    // A constant is read once.
    let constant = |at: usize| match inputs.get(at) {
        None => Some(""),
        Some(input) if matches!(input.data(), Data::Constant(_)) => text(input, 0),
        Some(_) => None,
    };
    let (pattern, flags) = (constant(1), constant(2));
    let found = booleans(rows, |row| {
        let given = text(&inputs[0], row)?;
        let pattern = pattern.or_else(|| text(&inputs[1], row))?;
        let flags = flags.or_else(|| flags_of(inputs, 2, row))?;
        if failed.is_some() {
            return None;
        }
        let same = |(p, f): (&str, &str)| {
            std::ptr::eq(p, pattern) && std::ptr::eq(f, flags) || (p == pattern && f == flags)
        };
        if !known.as_ref().is_some_and(|(p, f, _)| same((p, f))) {
            let made = Flags::of(flags).and_then(|flags| Pattern::recent(&written(pattern), flags));
            match made {
                Ok(made) => known = Some((pattern, flags, made)),
                Err(error) => {
                    failed = Some(error);
                    return None;
                }
            }
        }
        let (.., pattern) = known.as_ref()?;
        pattern.is_match(given).map_err(|error| failed = Some(error)).ok()
    });
    failed.map_or(Ok(found), Err)
}

fn push(part: Option<&str>, out: &mut Vec<u8>) {
    let value = part.map_or(Value::Null, Value::text);
    encoding::push_slot(&value, Type::Text, out);
}

/// A list a row, NULL where `write` says no.
fn lists(
    ty: Type,
    rows: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<Vector> {
    let mut failed = None;
    let result = join(ty, rows, |row, out| match write(row, out) {
        Ok(done) => {
            if done {
                out.push(encoding::END);
            }
            done
        }
        Err(error) => {
            failed = failed.take().or(Some(error));
            false
        }
    });
    failed.map_or(Ok(result), Err)
}

/// `regexp_match(text, pattern [, flags])`: the groups of the first match, or the match if there are none.
fn first_match(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    lists(ty, rows, |row, out| {
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 2, row));
        let (Some(given), Some(pattern), Some(flags)) = given else { return Ok(false) };
        let (pattern, flags) = known.get(pattern, flags)?;
        if flags.global {
            return Err(invalid("regexp_match() does not support the \"global\" option")
                .with_hint("regexp_extract_all and regexp_split_to_array look at every match"));
        }
        let Some(groups) = pattern.find(given, 0)? else { return Ok(false) };
        let first = usize::from(groups.len() > 1);
        groups[first..].iter().for_each(|group| push(group.map(|(start, end)| &given[start..end]), out));
        Ok(true)
    })
}

/// What `regexp_matches(text, pattern [, flags])` makes rows of: the groups of the first match, or of all of them.
fn all_matches(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    lists(ty, rows, |row, out| {
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 2, row));
        let (Some(given), Some(pattern), Some(flags)) = given else { return Ok(false) };
        let (pattern, flags) = known.get(pattern, flags)?;
        pattern.each(given, 0, |groups| {
            let first = usize::from(groups.len() > 1);
            out.push(encoding::VALUE);
            groups[first..].iter().for_each(|group| push(group.map(|(start, end)| &given[start..end]), out));
            out.push(encoding::END);
            flags.global
        })?;
        Ok(true)
    })
}

/// `regexp_extract_all(text, pattern [, group [, flags]])`: every match, or a group of it.
fn extract_all(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    lists(ty, rows, |row, out| {
        let group = inputs.get(2).map_or(Some(0), |g| whole(g, row));
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 3, row));
        let ((Some(given), Some(pattern), Some(flags)), Some(group)) = (given, group) else {
            return Ok(false);
        };
        let group = usize::try_from(group).map_err(|_| invalid("a group's number is not negative"))?;
        known.get(pattern, flags)?.0.each(given, 0, |groups| {
            let found = groups.get(group).copied().flatten();
            push(found.map(|(start, end)| &given[start..end]), out);
            true
        })?;
        Ok(true)
    })
}

/// `regexp_substr(text, pattern [, start [, n [, flags [, group]]]])`: NULL without a match.
fn part(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let mut out = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let number = |at: usize, or: i64| inputs.get(at).map_or(Some(or), |v| whole(v, row));
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 4, row));
        let ((Some(given), Some(pattern), Some(flags)), (Some(start), Some(n), Some(group))) =
            (given, (number(2, 1), number(3, 1), number(5, 0)))
        else {
            out.push_null();
            continue;
        };
        let wanted = Nth { function: "regexp_substr", start, n, group };
        match wanted.find(given, pattern, flags, &mut known)? {
            Some((start, end)) => out.push_bytes(&given.as_bytes()[start..end]),
            None => out.push_null(),
        }
    }
    Ok(out.finish())
}

/// `regexp_full_match(text, pattern [, flags])`.
fn full_match(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    matching(inputs, rows, |pattern| format!(r"\A(?:{pattern})\Z"))
}

/// `regexp_extract(text, pattern, group [, flags])`: empty without a match.
fn extract(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let mut out = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let given = (text(&inputs[0], row), text(&inputs[1], row), whole(&inputs[2], row));
        let (Some(given), Some(pattern), Some(group)) = given else {
            out.push_null();
            continue;
        };
        let Some(flags) = flags_of(inputs, 3, row) else {
            out.push_null();
            continue;
        };
        let found = known.get(pattern, flags)?.0.find(given, 0)?;
        let group = found.and_then(|groups| groups.get(group as usize).copied().flatten());
        out.push_bytes(group.map_or("", |(start, end)| &given[start..end]).as_bytes());
    }
    Ok(out.finish())
}

/// A pattern with as many groups as there are names for, at least.
fn with_groups<'k>(known: &'k mut Known, pattern: &str, flags: &str, names: usize) -> Result<&'k Pattern> {
    let (pattern, _) = known.get(pattern, flags)?;
    match pattern.groups() {
        groups if groups < names => Err(invalid(format!(
            "the regular expression has too few groups ({groups}) for the names given ({names})"
        ))),
        _ => Ok(pattern),
    }
}

/// `regexp_extract(text, pattern, names [, flags])`: the groups of the first match as a struct. Empty is what took no
/// part.
fn extract_named(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let names = ty.fields().unwrap_or_default().len();
    let mut failed = None;
    let result = join(ty, rows, |row, out| {
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 2, row));
        let (Some(given), Some(pattern), Some(flags)) = given else { return false };
        let found = with_groups(&mut known, pattern, flags, names).and_then(|pattern| pattern.find(given, 0));
        match found {
            Ok(groups) => {
                for group in 1..=names {
                    let part = groups.as_ref().and_then(|groups| groups.get(group).copied().flatten());
                    push(Some(part.map_or("", |(start, end)| &given[start..end])), out);
                }
                true
            }
            Err(error) => {
                failed = failed.take().or(Some(error));
                false
            }
        }
    });
    failed.map_or(Ok(result), Err)
}

/// `regexp_extract_all(text, pattern, names [, flags])`: a struct a match. NULL is what took no part.
fn extract_all_named(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let names = ty.element().and_then(Type::fields).unwrap_or_default().len();
    lists(ty, rows, |row, out| {
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 2, row));
        let (Some(given), Some(pattern), Some(flags)) = given else { return Ok(false) };
        with_groups(&mut known, pattern, flags, names)?.each(given, 0, |groups| {
            out.push(encoding::VALUE);
            for group in 1..=names {
                let part = groups.get(group).copied().flatten();
                push(part.map(|(start, end)| &given[start..end]), out);
            }
            true
        })?;
        Ok(true)
    })
}

/// Where the character of a number from 1 on begins.
fn byte_of(given: &str, character: i64) -> Result<Option<usize>> {
    if character < 1 {
        return Err(invalid(format!("invalid value for parameter \"start\": {character}")));
    }
    let skipped = usize::try_from(character - 1).unwrap_or(usize::MAX);
    let places = given.char_indices().map(|(at, _)| at).chain([given.len()]);
    Ok(places.into_iter().nth(skipped))
}

/// Which of a pattern's matches is wanted, and which group of it.
struct Nth {
    /// The function that asks, for errors.
    function: &'static str,
    /// The character from which on matches count, from 1.
    start: i64,
    /// The match, from 1.
    n: i64,
    /// The group; 0 is the whole match.
    group: i64,
}

impl Nth {
    /// The bytes of the group; `None` where there is no such match, or the group is not in it.
    fn find(
        &self,
        given: &str,
        pattern: &str,
        flags: &str,
        known: &mut Known,
    ) -> Result<Option<(usize, usize)>> {
        let Nth { function, start, n, group } = *self;
        if n < 1 {
            return Err(invalid(format!("invalid value for parameter \"n\": {n}")));
        }
        let group = usize::try_from(group)
            .map_err(|_| invalid(format!("invalid value for parameter \"subexpr\": {group}")))?;
        let from = byte_of(given, start)?;
        let (pattern, flags) = known.get(pattern, flags)?;
        if flags.global {
            return Err(invalid(format!("{function}() does not support the \"global\" option")));
        }
        let (mut left, mut found) = (n, None);
        if let Some(from) = from {
            pattern.each(given, from, |groups| {
                left -= 1;
                if left == 0 {
                    found = groups.get(group).copied().flatten();
                }
                left > 0
            })?;
        }
        Ok(found)
    }
}

/// `regexp_count(text, pattern [, start [, flags]])`.
fn count(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let mut counts = Vec::with_capacity(rows);
    for row in 0..rows {
        let start = inputs.get(2).map_or(Some(1), |s| whole(s, row));
        let given = (text(&inputs[0], row), text(&inputs[1], row), start, flags_of(inputs, 3, row));
        let (Some(given), Some(pattern), Some(start), Some(flags)) = given else {
            counts.push(None);
            continue;
        };
        let mut matches = 0;
        let from = byte_of(given, start)?;
        let (pattern, flags) = known.get(pattern, flags)?;
        if flags.global {
            return Err(invalid("regexp_count() does not support the \"global\" option"));
        }
        if let Some(from) = from {
            pattern.each(given, from, |_| {
                matches += 1;
                true
            })?;
        }
        counts.push(Some(matches));
    }
    Ok(integers(rows, |row| counts[row]))
}

/// `regexp_instr(text, pattern [, start [, n [, end [, flags [, group]]]]])`: 0 without a match.
fn place(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    let mut places = Vec::with_capacity(rows);
    for row in 0..rows {
        let number = |at: usize, or: i64| inputs.get(at).map_or(Some(or), |v| whole(v, row));
        let numbers = (number(2, 1), number(3, 1), number(4, 0), number(6, 0));
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 5, row));
        let ((Some(start), Some(n), Some(end), Some(group)), (Some(given), Some(pattern), Some(flags))) =
            (numbers, given)
        else {
            places.push(None);
            continue;
        };
        if !(0..=1).contains(&end) {
            return Err(invalid(format!("invalid value for parameter \"endoption\": {end}")));
        }
        let wanted = Nth { function: "regexp_instr", start, n, group };
        let found = wanted.find(given, pattern, flags, &mut known)?;
        let byte = found.map(|(from, to)| if end == 1 { to } else { from });
        places.push(Some(byte.map_or(0, |byte| given[..byte].chars().count() as i64 + 1)));
    }
    Ok(integers(rows, |row| places[row]))
}

/// `regexp_split_to_array(text, pattern [, flags])`. An empty match separates where characters stand on both sides of
/// it that belong to no match.
fn split(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut known = Known::default();
    lists(ty, rows, |row, out| {
        let given = (text(&inputs[0], row), text(&inputs[1], row), flags_of(inputs, 2, row));
        let (Some(given), Some(pattern), Some(flags)) = given else { return Ok(false) };
        let (mut begin, mut before) = (0, 0);
        let (pattern, flags) = known.get(pattern, flags)?;
        if flags.global {
            return Err(invalid("regexp_split_to_array() does not support the \"global\" option")
                .with_hint("it splits at every match"));
        }
        pattern.each(given, 0, |groups| {
            let (start, end) = whole_of(groups);
            if start < given.len() && end > before {
                push(Some(&given[begin..start]), out);
                begin = end;
            }
            before = end;
            true
        })?;
        push(Some(&given[begin..]), out);
        Ok(true)
    })
}
