//! JSON with parts put in, replaced, taken out and merged.
//!
//! What is changed is written anew, one level along the path at a time; all else is copied as it stands, without
//! blanks.

use std::collections::HashMap;

use types::json::{self, Parsed, Step};
use types::{Error, Result, SqlState, Type, stop};
use vector::{Vector, VectorBuilder};

use super::{Kernel, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "json_set" => |inputs, ty, rows| changed(inputs, ty, rows, Change::Set),
        "json_insert" => |inputs, ty, rows| changed(inputs, ty, rows, Change::Insert),
        "json_replace" => |inputs, ty, rows| changed(inputs, ty, rows, Change::Replace),
        "json_remove" => |inputs, ty, rows| changed(inputs, ty, rows, Change::Remove),
        "json_merge_patch" => |inputs, ty, rows| folded(inputs, ty, rows, merge_patch),
        "json_deep_merge" => |inputs, ty, rows| folded(inputs, ty, rows, deep_merge),
        "json_merge_patch_diff" => |inputs, ty, rows| folded(inputs, ty, rows, difference),
        _ => return None,
    })
}

/// Levels that are gone into; each is a level of the stack.
const DEPTH_MAX: usize = 500;

/// The level below, if there may be one.
pub(super) fn deeper(depth: usize) -> Result<usize> {
    if depth < DEPTH_MAX {
        return Ok(depth + 1);
    }
    let message = format!("the JSON has more than {DEPTH_MAX} levels of arrays and objects");
    Err(Error::new(SqlState::StatementTooComplex, message))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The value is there afterwards.
    Set,
    /// It is put where nothing is.
    Insert,
    /// It is put where something is.
    Replace,
    Remove,
}

impl Change {
    fn creates(self) -> bool {
        matches!(self, Change::Set | Change::Insert)
    }
}

fn changed(inputs: &[Vector], ty: Type, rows: usize, change: Change) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    let mut known: Option<(String, Vec<Step>)> = None;
    let mut out = String::new();
    for row in 0..rows {
        let value = if change == Change::Remove { Some("") } else { text(&inputs[2], row) };
        let (Some(whole), Some(path), Some(value)) = (text(&inputs[0], row), text(&inputs[1], row), value)
        else {
            builder.push_null();
            continue;
        };
        if known.as_ref().is_none_or(|(text, _)| text != path) {
            known = Some((path.to_owned(), one_place(path)?));
        }
        let steps = known.as_ref().map_or(&[][..], |(_, steps)| steps);
        if change == Change::Remove && steps.is_empty() {
            builder.push_null();
            continue;
        }
        out.clear();
        write(whole, steps, change, value, &mut out);
        builder.push_bytes(out.as_bytes());
    }
    Ok(builder.finish())
}

/// A path that leads to one place.
fn one_place(path: &str) -> Result<Vec<Step>> {
    let steps = json::path(path)?;
    if json::has_wildcard(&steps) {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("the JSON path \"{path}\" has a wildcard, which is not supported where JSON is changed"),
        )
        .with_hint("a path to one place has keys and positions only"));
    }
    deeper(steps.len().saturating_sub(1))?;
    Ok(steps)
}

/// Writes a value with the change at the end of the steps. A step that leads nowhere changes nothing.
fn write(whole: &str, steps: &[Step], change: Change, value: &str, out: &mut String) {
    let Some((step, rest)) = steps.split_first() else {
        out.push_str(&json::compact(if change == Change::Insert { whole } else { value }));
        return;
    };
    let removes = change == Change::Remove && rest.is_empty();
    stop::spend(whole.len());
    match json::parse(whole) {
        Parsed::Object(entries) => {
            let Some(key) = step.key() else { return out.push_str(&json::compact(whole)) };
            // The last one of a key that comes twice counts; after a change it comes once.
            let last = entries.iter().rposition(|(own, _)| own == key);
            out.push('{');
            let mut written = Entries::default();
            for (at, (own, part)) in entries.iter().enumerate() {
                if own == key && (removes || Some(at) != last) {
                    continue;
                }
                written.key(own, out);
                match Some(at) == last {
                    true => write(part.get(), rest, change, value, out),
                    false => out.push_str(&json::compact(part.get())),
                }
            }
            if last.is_none()
                && change.creates()
                && let Some(part) = created(rest, value)
            {
                written.key(key, out);
                out.push_str(&part);
            }
            out.push('}');
        }
        Parsed::Array(items) => {
            let place = step.place(items.len());
            out.push('[');
            let mut written = Entries::default();
            for (at, item) in items.iter().enumerate() {
                if removes && place == Some(at) {
                    continue;
                }
                written.next(out);
                match place == Some(at) {
                    true => write(item.get(), rest, change, value, out),
                    false => out.push_str(&json::compact(item.get())),
                }
            }
            if place == Some(items.len())
                && change.creates()
                && let Some(part) = created(rest, value)
            {
                written.next(out);
                out.push_str(&part);
            }
            out.push(']');
        }
        _ => out.push_str(&json::compact(whole)),
    }
}

/// Commas between what is written.
#[derive(Default)]
struct Entries(bool);

impl Entries {
    fn next(&mut self, out: &mut String) {
        out.push_str(if self.0 { "," } else { "" });
        self.0 = true;
    }
    fn key(&mut self, key: &str, out: &mut String) {
        self.next(out);
        json::push_string(key, out);
        out.push(':');
    }
}

/// The objects and arrays that the steps need around a value; an array starts with its first element.
fn created(steps: &[Step], value: &str) -> Option<String> {
    let (mut before, mut behind) = (String::new(), String::new());
    for step in steps {
        match step.key() {
            Some(key) => {
                before.push('{');
                Entries::default().key(key, &mut before);
                behind.push('}');
            }
            None if step.place(0) == Some(0) => {
                before.push('[');
                behind.push(']');
            }
            None => return None,
        }
    }
    before.push_str(&json::compact(value));
    before.extend(behind.chars().rev());
    Some(before)
}

/// The arguments merged from left to right. NULL merged with a value is the value, anything merged with NULL is NULL.
fn folded(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    merge: fn(&str, &str, usize, &mut String) -> Result<()>,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let mut sofar: Option<String> = None;
        for (at, input) in inputs.iter().enumerate() {
            let next = text(input, row);
            sofar = match (sofar, next) {
                (Some(base), Some(patch)) if at > 0 => {
                    let mut out = String::with_capacity(base.len() + patch.len());
                    merge(&base, patch, 0, &mut out)?;
                    Some(out)
                }
                (_, next) => next.map(|next| json::compact(next).into_owned()),
            };
        }
        match sofar {
            Some(merged) => builder.push_bytes(merged.as_bytes()),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// The value of each key, the last of one that comes twice.
macro_rules! last_values {
    ($entries:expr) => {
        $entries.iter().map(|(key, value)| (key.as_str(), value.get())).collect::<HashMap<&str, &str>>()
    };
}

/// RFC 7396: the patch's values replace those of the base, and its nulls take them out.
fn merge_patch(base: &str, patch: &str, depth: usize, out: &mut String) -> Result<()> {
    merge(base, patch, depth, out, true)
}

/// As [`merge_patch`], but a null of the patch leaves what is there.
fn deep_merge(base: &str, patch: &str, depth: usize, out: &mut String) -> Result<()> {
    if patch.trim() == "null" {
        out.push_str(&json::compact(base));
        return Ok(());
    }
    merge(base, patch, depth, out, false)
}

fn merge(base: &str, patch: &str, depth: usize, out: &mut String, removes: bool) -> Result<()> {
    let depth = deeper(depth)?;
    stop::spend(base.len() + patch.len());
    let (Parsed::Object(have), Parsed::Object(wanted)) = (json::parse(base), json::parse(patch)) else {
        out.push_str(&json::compact(patch));
        return Ok(());
    };
    let (old, new) = (last_values!(have), last_values!(wanted));
    let mut written = Entries::default();
    out.push('{');
    for (key, value) in &have {
        if !new.contains_key(key.as_str()) {
            written.key(key, out);
            out.push_str(&json::compact(value.get()));
        }
    }
    for (key, value) in &wanted {
        let (key, value) = (key.as_str(), value.get());
        if !new.get(key).is_some_and(|last| std::ptr::eq(*last, value)) {
            continue;
        }
        match (value, old.get(key)) {
            ("null", None) => {}
            ("null", Some(_)) if removes => {}
            ("null", Some(kept)) => {
                written.key(key, out);
                out.push_str(&json::compact(kept));
            }
            (value, kept) => {
                written.key(key, out);
                match kept {
                    Some(kept) => merge(kept, value, depth, out, removes)?,
                    // Into nothing an object is patched without its nulls, too.
                    None if removes && value.starts_with('{') => merge("{}", value, depth, out, true)?,
                    None => out.push_str(&json::compact(value)),
                }
            }
        }
    }
    out.push('}');
    Ok(())
}

/// The patch that [`merge_patch`] makes the second of the first with.
fn difference(from: &str, to: &str, depth: usize, out: &mut String) -> Result<()> {
    let depth = deeper(depth)?;
    stop::spend(from.len() + to.len());
    let (Parsed::Object(have), Parsed::Object(wanted)) = (json::parse(from), json::parse(to)) else {
        out.push_str(&json::compact(to));
        return Ok(());
    };
    let (old, new) = (last_values!(have), last_values!(wanted));
    let mut written = Entries::default();
    out.push('{');
    for (key, value) in &have {
        let counts = old.get(key.as_str()).is_some_and(|last| std::ptr::eq(*last, value.get()));
        if counts && !new.contains_key(key.as_str()) {
            written.key(key, out);
            out.push_str("null");
        }
    }
    for (key, value) in &wanted {
        let (key, value) = (key.as_str(), value.get());
        if !new.get(key).is_some_and(|last| std::ptr::eq(*last, value)) {
            continue;
        }
        let objects = |old: &&str| old.starts_with('{') && value.starts_with('{');
        match old.get(key) {
            Some(old) if same(old, value, depth)? => {}
            Some(old) if objects(old) => {
                written.key(key, out);
                difference(old, value, depth, out)?;
            }
            _ => {
                written.key(key, out);
                out.push_str(&json::compact(value));
            }
        }
    }
    out.push('}');
    Ok(())
}

/// Whether two texts are the same value, whatever the order of keys.
fn same(a: &str, b: &str, depth: usize) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    let depth = deeper(depth)?;
    Ok(match (json::parse(a), json::parse(b)) {
        (Parsed::Array(a), Parsed::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(&b) {
                if !same(a.get(), b.get(), depth)? {
                    return Ok(false);
                }
            }
            true
        }
        (Parsed::Object(a), Parsed::Object(b)) => {
            let (a, b) = (last_values!(a), last_values!(b));
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, a) in a {
                match b.get(key) {
                    Some(b) if same(a, b, depth)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Parsed::Text(a), Parsed::Text(b)) => a == b,
        (Parsed::Bool(a), Parsed::Bool(b)) => a == b,
        (Parsed::Null, Parsed::Null) => true,
        (Parsed::Number(a), Parsed::Number(b)) => a == b,
        _ => false,
    })
}
