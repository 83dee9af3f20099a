//! Texts by their characters: normal forms, accents, file paths, bars.
//!
//! A character is a Unicode scalar value; combining marks count for themselves. Functions are declared in the list of
//! `own`, and get one row's values, none of them NULL unless the declaration says so.

use icu_normalizer::ComposingNormalizerBorrowed;
use types::{Result, SqlState, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::declare::*;
use super::written::{Given, finds, writes};
use super::{Arguments, invalid, refuse};

/// Characters that a bar may have.
const BAR_MAX: i64 = 10_000;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    writes!(
        "nfc_normalize",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "nfc_normalize(text)",
            "The text in Unicode's composed normal form, in which texts that look alike are the same.",
            "length(nfc_normalize('e' || chr(769)))",
            "1",
        ),
        |a, out| {
            out.extend_from_slice(ComposingNormalizerBorrowed::new_nfc().normalize(a.words(0)?).as_bytes());
            Ok(())
        },
    ),
    writes!(
        "strip_accents",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "strip_accents(text)",
            "The text without accents and other marks.",
            "strip_accents('mühleisen')",
            "muhleisen",
        ),
        |a, out| {
            let text = a.words(0)?;
            match text.is_ascii() {
                true => out.extend_from_slice(text.as_bytes()),
                false => out.extend_from_slice(types::collation::without_accents(text).as_bytes()),
            }
            Ok(())
        },
    ),
    own(
        "bar",
        &[optional(is(&[DOUBLE, DOUBLE, DOUBLE, BIG], Type::Text), 1)],
        page(
            "text",
            "bar(value, least, most [, width])",
            "A bar of blocks, as long as the value is between the least and the most; 80 characters at most, or the width.",
            "bar(5, 0, 20, 10)",
            "██▌       ",
        ),
        bar,
    ),
    finds!(
        I64,
        "length_grapheme",
        &[is(&[TEXT], Type::BigInt)],
        page(
            "text",
            "length_grapheme(text)",
            "How many characters people see.",
            "length_grapheme('été')",
            "3",
        ),
        |a: &dyn Given| Ok(graphemes(a.words(0)?) as i64),
    ),
    // From the end, all but so many.
    writes!(
        "left_grapheme",
        &[is(&[TEXT, BIG], Type::Text)],
        page(
            "text",
            "left_grapheme(text, count)",
            "The first characters, or with a minus all but the last; a letter with its marks, or an emoji of several parts, is one.",
            "left_grapheme('été', 2)",
            "ét",
        ),
        |a, out| {
            let (text, count) = (a.words(0)?, a.number(1)?);
            put(&text[..grapheme(text, from_end(text, count))], out)
        },
    ),
    writes!(
        "right_grapheme",
        &[is(&[TEXT, BIG], Type::Text)],
        page(
            "text",
            "right_grapheme(text, count)",
            "The last characters, or with a minus all but the first, as people see them.",
            "right_grapheme('téé', 1)",
            "é",
        ),
        |a, out| {
            let (text, count) = (a.words(0)?, a.number(1)?);
            let all = graphemes(text) as i64;
            let begin = if count < 0 { count.saturating_neg() } else { all.saturating_sub(count) };
            put(&text[grapheme(text, begin)..], out)
        },
    ),
    writes!(
        "substring_grapheme",
        &[optional(is(&[TEXT, BIG, BIG], Type::Text), 1)],
        page(
            "text",
            "substring_grapheme(text, start [, length])",
            "Characters from the one at start on, as people see them; a minus counts from the end.",
            "substring_grapheme('abcd', -3, 2)",
            "bc",
        ),
        |a, out| {
            let (text, start) = (a.words(0)?, a.number(1)?);
            let length = if a.count() > 2 { Some(a.number(2)?) } else { None };
            // The place before the first character counts as one of the length.
            let (first, length) = match start {
                0 => (0, length.map(|length| length.saturating_sub(1).max(0))),
                start if start > 0 => (start - 1, length),
                start => (from_end(text, start), length),
            };
            put(
                match length {
                    None => &text[grapheme(text, first)..],
                    Some(length) => {
                        let other = first.saturating_add(length);
                        &text[grapheme(text, first.min(other))..grapheme(text, first.max(other))]
                    }
                },
                out,
            )
        },
    ),
    writes!(
        "parse_filename",
        &[
            optional(is(&[TEXT, Takes::Is(Type::Boolean), TEXT], Type::Text), 2),
            is(&[TEXT, TEXT], Type::Text),
        ],
        page(
            "text",
            "parse_filename(path [, trim_extension] [, separator])",
            "The last part of a path, without its extension where that is trimmed.",
            "parse_filename('path/to/file.csv', true)",
            "file",
        ),
        parse_filename,
    ),
    writes!(
        "parse_dirname",
        &[optional(is(&[TEXT, TEXT], Type::Text), 1)],
        page(
            "text",
            "parse_dirname(path [, separator])",
            "The first part of a path; the separator is both_slash, forward_slash, backslash or system.",
            "parse_dirname('path/to/file.csv')",
            "path",
        ),
        |a, out| {
            let (path, is_separator) = path(a, 1)?;
            // The first part; of an absolute path the root.
            let cut = path.find(is_separator).map_or("", |at| if at == 0 { &path[..1] } else { &path[..at] });
            put(cut, out)
        },
    ),
    writes!(
        "parse_dirpath",
        &[optional(is(&[TEXT, TEXT], Type::Text), 1)],
        page(
            "text",
            "parse_dirpath(path [, separator])",
            "A path without its last part.",
            "parse_dirpath('path/to/file.csv')",
            "path/to",
        ),
        |a, out| {
            let (path, is_separator) = path(a, 1)?;
            let cut = path.rfind(is_separator).map_or("", |at| &path[..at.max(usize::from(at == 0))]);
            put(cut, out)
        },
    ),
];

/// The text as it is.
fn put(text: &str, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A number of characters; a negative one counts from behind the last, and may be before the first.
fn from_end(text: &str, number: i64) -> i64 {
    match number < 0 {
        true => number.saturating_add(graphemes(text) as i64),
        false => number,
    }
}

/// Whether each byte is a character as people see them: of ASCII only a line's end is two.
fn is_byte_by_byte(text: &str) -> bool {
    text.is_ascii() && !text.contains('\r')
}

/// How many characters people see.
fn graphemes(text: &str) -> usize {
    if is_byte_by_byte(text) { text.len() } else { text.graphemes(true).count() }
}

/// Where the character of a number from 0 on begins, as people see characters: a letter with its marks is one.
fn grapheme(text: &str, number: i64) -> usize {
    let Ok(number) = usize::try_from(number) else { return 0 };
    if is_byte_by_byte(text) {
        return number.min(text.len());
    }
    text.grapheme_indices(true).nth(number).map_or(text.len(), |(at, _)| at)
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
fn path(a: &dyn Given, separator: usize) -> Result<(&str, fn(char) -> bool)> {
    let named = if a.count() > separator { a.words(separator)? } else { "both_slash" };
    Ok((a.words(0)?, separators(named)?))
}

/// `parse_filename(path [, trim_extension] [, separator])`.
fn parse_filename(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let trims = a.flag(1);
    let separator = if trims.is_some() { 2 } else { 1 };
    let (path, is_separator) = path(a, separator)?;
    let name = path.rsplit(is_separator).next().unwrap_or(path);
    // A dot at the beginning begins a name, not an extension.
    let name = match name.rfind('.') {
        Some(at) if trims == Some(true) && at > 0 => &name[..at],
        _ => name,
    };
    put(name, out)
}
