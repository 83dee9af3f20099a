//! Texts by their characters: normal forms, accents, file paths, bars.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use types::{Result, SqlState, Value};

use super::{Arguments, Evaluate, invalid, refuse};

/// Characters that a bar may have.
const BAR_MAX: i64 = 10_000;

pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "nfc_normalize" => |a| Ok(Value::text(&ComposingNormalizerBorrowed::new_nfc().normalize(a.text(0)?))),
        "strip_accents" => |a| Ok(Value::text(&strip_accents(a.text(0)?))),
        "bar" => bar,
        "parse_filename" => parse_filename,
        "parse_dirname" => |a| {
            let (path, is_separator) = path(a, 1)?;
            // The first part; of an absolute path the root.
            let cut = path.find(is_separator).map_or("", |at| if at == 0 { &path[..1] } else { &path[..at] });
            Ok(Value::text(cut))
        },
        "parse_dirpath" => |a| {
            let (path, is_separator) = path(a, 1)?;
            let cut = path.rfind(is_separator).map_or("", |at| &path[..at.max(usize::from(at == 0))]);
            Ok(Value::text(cut))
        },
        _ => return None,
    })
}

/// The text without marks that combine with the character before them.
fn strip_accents(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let apart = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    let kept: String = apart.chars().filter(|c| classes.get_u8(*c) == 0).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&kept).into_owned()
}

/// `bar(value, least, most [, width])`: a bar of blocks, an eighth of a character exactly.
fn bar(a: &Arguments<'_>) -> Result<Value> {
    const EIGHTHS: [&str; 8] =
        ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
    let (value, least, most) = (a.float(0)?, a.float(1)?, a.float(2)?);
    let width = if a.len() > 3 { a.integer(3)? } else { 80 };
    if !(1..=BAR_MAX).contains(&width) {
        return Err(invalid(format!("a bar cannot be {width} characters wide"))
            .with_hint(format!("the width is from 1 to {BAR_MAX}")));
    }
    if [value, least, most].iter().any(|x| !x.is_finite()) {
        return Err(refuse(SqlState::NumericValueOutOfRange, "a bar needs finite numbers"));
    }
    if least >= most {
        return Err(invalid("the least value of a bar must be below the most"));
    }
    let share = ((value - least) / (most - least)).clamp(0.0, 1.0);
    let eighths = (share * width as f64 * 8.0) as usize;
    let mut drawn = "\u{2588}".repeat(eighths / 8);
    drawn.push_str(EIGHTHS[eighths % 8]);
    let missing = width as usize - drawn.chars().count();
    drawn.extend(std::iter::repeat_n(' ', missing));
    Ok(Value::text(&drawn))
}

/// Which characters separate the parts of a path: `system` and `both_slash`, `forward_slash`, `backslash`.
pub(crate) fn separators(named: &str) -> Result<fn(char) -> bool> {
    match named {
        "both_slash" => Ok(|c| c == '/' || c == '\\'),
        "system" | "forward_slash" => Ok(|c| c == '/'),
        "backslash" => Ok(|c| c == '\\'),
        other => Err(invalid(format!("unknown separator \"{other}\""))
            .with_hint("write 'both_slash', 'forward_slash', 'backslash' or 'system'")),
    }
}

/// A path, and what separates its parts.
fn path<'a>(a: &'a Arguments<'_>, separator: usize) -> Result<(&'a str, fn(char) -> bool)> {
    let named = if a.len() > separator { a.text(separator)? } else { "both_slash" };
    Ok((a.text(0)?, separators(named)?))
}

/// `parse_filename(path [, trim_extension] [, separator])`.
fn parse_filename(a: &Arguments<'_>) -> Result<Value> {
    let trims = a.values.get(1).and_then(Value::as_bool);
    let separator = if trims.is_some() { 2 } else { 1 };
    let (path, is_separator) = path(a, separator)?;
    let name = path.rsplit(is_separator).next().unwrap_or(path);
    // A dot at the beginning begins a name, not an extension.
    let name = match name.rfind('.') {
        Some(at) if trims == Some(true) && at > 0 => &name[..at],
        _ => name,
    };
    Ok(Value::text(name))
}
