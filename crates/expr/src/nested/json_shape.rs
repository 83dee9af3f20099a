//! JSON in another form: without blanks, over lines, with its keys in order; what types it has; and what it contains.
//!
//! Each function walks one row's text from its beginning and writes into a buffer that all rows of a batch share;
//! NULL rows stay NULL. The walk goes into elements by recursion, up to a depth that `deeper` bounds. How large
//! `json_pretty` can make a row is told before (`pretty_bytes`), so that memory is asked for.

use std::collections::HashMap;

use types::Result;
use types::json::{self, Parsed};
use types::jsonb::Tree;
use types::stop;
use vector::VectorBuilder;

use super::json_change::deeper;
use super::{Kernel, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "json" => |inputs, ty, rows| {
            made(inputs, ty, rows, |whole, out| {
                out.push_str(&json::compact(whole));
                Ok(())
            })
        },
        "json_pretty" => |inputs, ty, rows| made(inputs, ty, rows, |whole, out| push_pretty(whole, 0, out)),
        "json_normalize" => {
            |inputs, ty, rows| made(inputs, ty, rows, |whole, out| push_sorted(whole, 0, out))
        }
        "json_structure" => |inputs, ty, rows| {
            made(inputs, ty, rows, |whole, out| {
                structure(whole, 0)?.push(out);
                Ok(())
            })
        },
        "json_contains" => |inputs, _, rows| super::json::both(inputs, rows, within),
        _ => return None,
    })
}

fn made(
    inputs: &[vector::Vector],
    ty: types::Type,
    rows: usize,
    make: impl Fn(&str, &mut String) -> Result<()>,
) -> Result<vector::Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    let mut out = String::new();
    for row in 0..rows {
        match text(&inputs[0], row) {
            Some(whole) => {
                out.clear();
                make(whole, &mut out)?;
                builder.push_bytes(out.as_bytes());
            }
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// At most so many bytes `json_pretty` makes of a row, what it is taken apart into included.
pub(crate) fn pretty_bytes(inputs: &[vector::Vector], row: usize) -> u64 {
    let Some(whole) = text(&inputs[0], row) else { return 0 };
    let (mut depth, mut blanks) = (0u64, 0u64);
    // Characters inside of strings count, too, which is more than enough.
    for byte in whole.bytes() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                blanks += 4 * depth + 2;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                blanks += 4 * depth + 2;
            }
            b',' | b':' => blanks += 4 * depth + 2,
            _ => {}
        }
    }
    (whole.len() as u64).saturating_mul(40).saturating_add(blanks.saturating_mul(2))
}

/// An element or entry a line, four blanks a level.
fn push_pretty(whole: &str, depth: usize, out: &mut String) -> Result<()> {
    let below = deeper(depth)?;
    stop::spend(whole.len());
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("    "));
    };
    match json::parse(whole) {
        Parsed::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(below, out);
                push_pretty(item.get(), below, out)?;
            }
            line(depth, out);
            out.push(']');
        }
        Parsed::Object(entries) if !entries.is_empty() => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(below, out);
                json::push_string(key, out);
                out.push_str(": ");
                push_pretty(value.get(), below, out)?;
            }
            line(depth, out);
            out.push('}');
        }
        _ => out.push_str(&json::compact(whole.trim())),
    }
    Ok(())
}

/// Objects with their keys in the order of bytes, at every level; strings with the escapes they need and no others.
fn push_sorted(whole: &str, depth: usize, out: &mut String) -> Result<()> {
    let depth = deeper(depth)?;
    stop::spend(whole.len());
    match json::parse(whole) {
        Parsed::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                push_sorted(item.get(), depth, out)?;
            }
            out.push(']');
        }
        Parsed::Object(mut entries) => {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                json::push_string(key, out);
                out.push(':');
                push_sorted(value.get(), depth, out)?;
            }
            out.push('}');
        }
        Parsed::Text(text) => json::push_string(&text, out),
        _ => out.push_str(whole.trim()),
    }
    Ok(())
}

/// Whether the part, or what contains the part, is anywhere in the whole. Both are read once: read again at each
/// level, a deep value would take time with the cube of its depth.
fn within(whole: &str, part: &str) -> Result<bool> {
    stop::spend(whole.len() + part.len());
    Ok(anywhere(&Tree::read(whole)?, &Tree::read(part)?))
}

fn anywhere(whole: &Tree, part: &Tree) -> bool {
    stop::spend(64);
    contains(whole, part, true)
        || match whole {
            Tree::Array(items) => items.iter().any(|item| anywhere(item, part)),
            Tree::Object(entries) => entries.iter().any(|(_, value)| anywhere(value, part)),
            _ => false,
        }
}

/// Containment as `@>` has it: an array contains a plain value at its top only.
fn contains(whole: &Tree, part: &Tree, top: bool) -> bool {
    match (whole, part) {
        (Tree::Object(have), Tree::Object(want)) => want.iter().all(|(key, wanted)| {
            have.iter().any(|(own, value)| own == key && contains(value, wanted, false))
        }),
        (Tree::Array(have), Tree::Array(want)) => {
            want.iter().all(|wanted| have.iter().any(|value| contains(value, wanted, false)))
        }
        (Tree::Array(_), Tree::Object(_)) => false,
        (Tree::Array(have), _) => top && have.iter().any(|value| contains(value, part, false)),
        (have, want) => have == want,
    }
}

/// Which types a value has; that of an array holds for all its elements.
enum Structure {
    /// No more is known than that null is one.
    Null,
    Plain(&'static str),
    List(Box<Structure>),
    Object(Vec<(String, Structure)>, HashMap<String, usize>),
}

fn structure(whole: &str, depth: usize) -> Result<Structure> {
    let depth = deeper(depth)?;
    stop::spend(whole.len());
    Ok(match json::parse(whole) {
        Parsed::Null => Structure::Null,
        Parsed::Bool(_) => Structure::Plain("BOOLEAN"),
        Parsed::Text(_) => Structure::Plain("VARCHAR"),
        Parsed::Number(digits) => Structure::Plain(match (digits.parse::<u64>(), digits.parse::<i64>()) {
            (Ok(_), _) => "UBIGINT",
            (_, Ok(_)) => "BIGINT",
            _ => "DOUBLE",
        }),
        Parsed::Array(items) => {
            let mut all = Structure::Null;
            for item in items {
                all = all.with(structure(item.get(), depth)?);
            }
            Structure::List(Box::new(all))
        }
        Parsed::Object(entries) => {
            let mut all = Structure::Object(Vec::new(), HashMap::new());
            for (key, value) in entries {
                all.add(key, structure(value.get(), depth)?);
            }
            all
        }
    })
}

impl Structure {
    /// What holds for values of either.
    fn with(self, other: Structure) -> Structure {
        match (self, other) {
            (Structure::Null, known) | (known, Structure::Null) => known,
            (Structure::List(a), Structure::List(b)) => Structure::List(Box::new(a.with(*b))),
            (mut all @ Structure::Object(..), Structure::Object(entries, _)) => {
                entries.into_iter().for_each(|(key, value)| all.add(key, value));
                all
            }
            (Structure::Plain(a), Structure::Plain(b)) => Structure::Plain(match (a, b) {
                (a, b) if a == b => a,
                ("DOUBLE", "UBIGINT" | "BIGINT" | "HUGEINT")
                | ("UBIGINT" | "BIGINT" | "HUGEINT", "DOUBLE") => "DOUBLE",
                ("UBIGINT" | "BIGINT" | "HUGEINT", "UBIGINT" | "BIGINT" | "HUGEINT") => "HUGEINT",
                _ => "JSON",
            }),
            _ => Structure::Plain("JSON"),
        }
    }

    fn add(&mut self, key: String, value: Structure) {
        let Structure::Object(entries, places) = self else { return };
        match places.get(&key) {
            Some(at) => {
                let known = std::mem::replace(&mut entries[*at].1, Structure::Null);
                entries[*at].1 = known.with(value);
            }
            None => {
                places.insert(key.clone(), entries.len());
                entries.push((key, value));
            }
        }
    }

    fn push(&self, out: &mut String) {
        match self {
            Structure::Null => out.push_str("\"NULL\""),
            Structure::Plain(name) => json::push_string(name, out),
            Structure::List(all) => {
                out.push('[');
                all.push(out);
                out.push(']');
            }
            // What has no keys has no structure.
            Structure::Object(entries, _) if entries.is_empty() => out.push_str("\"JSON\""),
            Structure::Object(entries, _) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    json::push_string(key, out);
                    out.push(':');
                    value.push(out);
                }
                out.push('}');
            }
        }
    }
}
