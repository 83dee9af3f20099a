//! Paths of files: their parts, and joined; and sizes in human-readable form.
//!
//! Paths are text only: nothing is looked up in a file system, and both slashes can separate, as the argument of
//! `parse_path` says. Addresses such as `s3://bucket/name` keep scheme and authority as their root. A separator or
//! size that cannot be read is an error of the statement.

use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value};
use vector::nested::join;
use vector::{Vector, VectorBuilder};

use super::{Kernel, integers, invalid, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "parse_path" => names,
        "path_join" => joined,
        "parse_formatted_bytes" => |inputs, _, rows| {
            let mut sizes = Vec::with_capacity(rows);
            for row in 0..rows {
                sizes.push(text(&inputs[0], row).map(size).transpose()?);
            }
            Ok(integers(rows, |row| sizes[row]))
        },
        _ => return None,
    })
}

/// `parse_path(path [, separator])`.
fn names(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let result = join(ty, rows, |row, out| {
        let word = inputs.get(1).map_or(Some("both_slash"), |word| text(word, row));
        let (Some(path), Some(word)) = (text(&inputs[0], row), word) else { return false };
        match crate::own::separators(word) {
            Ok(separators) => {
                for part in parts(path, separators) {
                    encoding::push_slot(&Value::text(part), Type::Text, out);
                }
                out.push(encoding::END);
                true
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    });
    failed.map_or(Ok(result), Err)
}

/// The names between separators; a separator at the beginning is a part, too.
fn parts(path: &str, separators: fn(char) -> bool) -> Vec<&str> {
    let root = path.starts_with(separators).then(|| &path[..1]);
    root.into_iter().chain(path.split(separators).filter(|part| !part.is_empty())).collect()
}

/// What a path starts with before its names: `/`, `s3://bucket/`, `file:///`, `file:/`, nothing.
fn root(path: &str) -> (String, &str) {
    let scheme = path.find(':').filter(|at| {
        let word = &path[..*at];
        word.len() > 1
            && word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    });
    if let Some(colon) = scheme {
        if let Some(rest) = path[colon + 1..].strip_prefix("//") {
            let authority = rest.find('/').unwrap_or(rest.len());
            let behind = colon + 3 + authority;
            return (format!("{}/", &path[..behind]), path[behind..].trim_start_matches('/'));
        }
        if let Some(rest) = path[colon + 1..].strip_prefix('/') {
            return (format!("{}/", &path[..colon + 1]), rest);
        }
    }
    match path.starts_with('/') {
        true => ("/".to_owned(), path.trim_start_matches('/')),
        false => (String::new(), path),
    }
}

/// `path_join(path, path, ...)`: the paths behind the first go on from it, `.` and `..` are resolved.
fn joined(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let paths: Option<Vec<&str>> = inputs.iter().map(|input| text(input, row)).collect();
        let Some(paths) = paths else {
            builder.push_null();
            continue;
        };
        let (start, first) = root(paths.first().copied().unwrap_or_default());
        let mut names: Vec<&str> = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let names_of = if at == 0 { first } else { path };
            if at > 0 && !root(path).0.is_empty() {
                let shown: String = path.chars().take(80).collect();
                return Err(invalid(format!(
                    "cannot join the path \"{shown}\" to another, which it does not go on from"
                )));
            }
            for name in names_of.split('/') {
                match name {
                    "" | "." => {}
                    ".." if names.last().is_some_and(|last| *last != "..") => {
                        names.pop();
                    }
                    // There is nothing above the root.
                    ".." if !start.is_empty() => {}
                    name => names.push(name),
                }
            }
        }
        let mut path = format!("{start}{}", names.join("/"));
        if path.is_empty() {
            path.push('.');
        } else if !names.is_empty() && paths.last().is_some_and(|last| last.ends_with('/')) {
            path.push('/');
        }
        builder.push_bytes(path.as_bytes());
    }
    Ok(builder.finish())
}

/// `1.5 KiB` in bytes; a fraction of a byte is left out.
fn size(written: &str) -> Result<i64> {
    let written_whole = written.trim();
    let shown: String = written_whole.chars().take(40).collect();
    let wrong = |what: &str| {
        Error::new(SqlState::InvalidTextRepresentation, format!("invalid size: \"{shown}\""))
            .with_detail(what.to_owned())
            .with_hint("a size is a number and a unit: B, KB, MB, GB, TB of 1000, KiB, MiB, GiB, TiB of 1024")
    };
    if written_whole.starts_with('-') {
        return Err(wrong("a size is not negative"));
    }
    // The `e` of an exponent is followed by digits, that of no unit is.
    let bytes = written_whole.as_bytes();
    let in_number = |at: usize| match bytes[at] {
        b'0'..=b'9' | b'.' => true,
        b'e' | b'E' => at > 0 && bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || b"+-".contains(b)),
        b'+' | b'-' => at > 0 && matches!(bytes[at - 1], b'e' | b'E'),
        _ => false,
    };
    let end = (0..bytes.len()).find(|at| !in_number(*at)).unwrap_or(bytes.len());
    let (digits, unit) = written_whole.split_at(end);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong("it does not begin with a number"));
    }
    let number: f64 = digits.parse().map_err(|_| wrong("the number is malformed"))?;
    let factor: i64 = match unit.trim().to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => 1,
        "k" | "kb" | "kilobyte" | "kilobytes" => 1000,
        "m" | "mb" | "megabyte" | "megabytes" => 1000_i64.pow(2),
        "g" | "gb" | "gigabyte" | "gigabytes" => 1000_i64.pow(3),
        "t" | "tb" | "terabyte" | "terabytes" => 1000_i64.pow(4),
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(wrong("the unit is missing or unknown")),
    };
    // A whole number is multiplied exactly.
    let exact = digits.parse::<i64>().ok().map(|whole| whole.checked_mul(factor));
    let size = exact.unwrap_or_else(|| {
        let size = number * factor as f64;
        (size < i64::MAX as f64).then_some(size as i64)
    });
    size.ok_or_else(|| {
        Error::new(SqlState::NumericValueOutOfRange, format!("the size \"{shown}\" is out of range"))
    })
}
