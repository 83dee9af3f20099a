//! Functions of text: formats and quoting.
//!
//! Each is a function of one row's values (`own` walks the batch), and NULL rows are left out before, except for
//! functions that are not strict. `format` follows PostgreSQL, `printf` C. Widths are bounded by `WIDTH_MAX`, and a
//! value that does not suit its place in the format is an error of the statement. Quoted names and literals read back
//! as the same name or text.

use std::iter::Peekable;
use std::str::Chars;

use types::quote;
use types::{Result, SqlState, Type, Value};

use super::declare::*;
use super::written::writes;
use super::{Arguments, invalid, refuse};

/// Characters that one formatted field may be padded to.
const WIDTH_MAX: usize = 1_000_000;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    own(
        "format",
        &[variadic(&[TEXT], Type::Text)],
        page(
            "text",
            "format(template, value, ...)",
            "The template with %s replaced by values, %I by quoted names and %L by quoted literals.",
            "format('%s of %I: %L', 1, 'My table', 'it''s')",
            "1 of \"My table\": 'it''s'",
        ),
        format,
    ),
    own(
        "printf",
        &[variadic(&[TEXT], Type::Text)],
        page(
            "text",
            "printf(format, value, ...)",
            "The format with C's specifiers (%d, %s, %f, %e, %g, %x, %c) replaced by values.",
            "printf('%05d|%.2f|%-4s|', 42, 3.14159, 'ab')",
            "00042|3.14|ab  |",
        ),
        printf,
    ),
    own(
        "quote_ident",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "quote_ident(text)",
            "The text as a name in SQL, quoted where it has to be.",
            "quote_ident('My table')",
            "\"My table\"",
        ),
        |a| Ok(Value::text(&quote::name_if_needed(a.text(0)?))),
    ),
    own(
        "quote_literal",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "quote_literal(text)",
            "The text as a literal in SQL.",
            "quote_literal('it''s')",
            "'it''s'",
        ),
        |a| Ok(Value::text(&quoted(a.text(0)?))),
    ),
    own(
        "quote_nullable",
        &[Signature { strict: false, ..is(&[TEXT], Type::Text) }],
        page(
            "text",
            "quote_nullable(text)",
            "The text as a literal in SQL, and NULL for NULL.",
            "quote_nullable(NULL)",
            "NULL",
        ),
        |a| Ok(if a.values[0].is_null() { Value::text("NULL") } else { Value::text(&quoted(a.text(0)?)) }),
    ),
    own(
        "regexp_escape",
        &[is(&[TEXT], Type::Text)],
        page(
            "regular expression",
            "regexp_escape(text)",
            "The text with what has a meaning in a pattern escaped.",
            "regexp_escape('a.b')",
            "a\\.b",
        ),
        |a| Ok(Value::text(&regex::escape(a.text(0)?))),
    ),
    writes!(
        "format_bytes",
        &[is(&[BIG], Type::Text)],
        page(
            "text",
            "format_bytes(number)",
            "A number of bytes in units of 1024, with one digit.",
            "format_bytes(16000)",
            "15.6 KiB",
        ),
        |a, out| {
            push_in_units(a.number(0)?, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], out);
            Ok(())
        },
    ),
    writes!(
        "format_decimal_bytes",
        &[is(&[BIG], Type::Text)],
        page(
            "text",
            "format_decimal_bytes(bytes)",
            "A number of bytes in kB, MB, GB: powers of 1000.",
            "format_decimal_bytes(16000)",
            "16.0 kB",
        ),
        |a, out| {
            push_in_units(a.number(0)?, 1000, ["kB", "MB", "GB", "TB", "PB", "EB"], out);
            Ok(())
        },
    ),
    writes!(
        "pg_size_pretty",
        &[is(&[BIG], Type::Text)],
        page(
            "text",
            "pg_size_pretty(number)",
            "A number of bytes as PostgreSQL tells it.",
            "pg_size_pretty(20000)",
            "20 kB",
        ),
        |a, out| {
            push_size(a.number(0)?, out);
            Ok(())
        },
    ),
];

fn quoted(text: &str) -> String {
    let literal = quote::text(text);
    if text.contains('\\') { format!("E{}", literal.replace('\\', "\\\\")) } else { literal }
}

fn padded(text: String, width: usize, left: bool) -> String {
    let missing = width.saturating_sub(text.chars().count());
    if left { text + &" ".repeat(missing) } else { " ".repeat(missing) + &text }
}

fn shown(value: &Value, ty: Type) -> String {
    match value {
        Value::Bool(b) => (if *b { "t" } else { "f" }).to_owned(),
        value => value.display(ty),
    }
}

/// PostgreSQL's FORMAT: `%s`, `%I`, `%L`, `%%`, with `n$`, `-` and a width.
fn format(a: &Arguments<'_>) -> Result<Value> {
    if a.values[0].is_null() {
        return Ok(Value::Null);
    }
    let mut out = String::new();
    let mut rest = a.text(0)?.chars().peekable();
    let mut next = 1;
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut digits = String::new();
            while let Some(d) = rest.next_if(char::is_ascii_digit) {
                digits.push(d);
            }
            digits.parse::<usize>().ok()
        };
        let mut width = None;
        let mut left = false;
        let given = number(&mut rest);
        if given.is_some() && rest.next_if_eq(&'$').is_some() {
            next = given.unwrap_or(0);
            if next == 0 {
                return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
            }
        } else {
            width = given;
        }
        if width.is_none() {
            left = rest.next_if_eq(&'-').is_some();
            width = number(&mut rest);
            if rest.next_if_eq(&'*').is_some() {
                let given = a.values.get(next).and_then(Value::as_i64).unwrap_or(0);
                next += 1;
                left |= given < 0;
                width = usize::try_from(given.unsigned_abs()).ok();
            }
        }
        let width = width.unwrap_or(0);
        if width > WIDTH_MAX {
            return Err(invalid("number is out of range"));
        }
        let Some(kind) = rest.next() else {
            return Err(
                invalid("unterminated format() type specifier").with_hint("for a single \"%\" use \"%%\"")
            );
        };
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(invalid(format!("unrecognized format() type specifier \"{kind}\""))
                .with_hint("for a single \"%\" use \"%%\""));
        }
        let Some(value) = a.values.get(next) else { return Err(invalid("too few arguments for format()")) };
        let text = match (kind, value) {
            ('s', Value::Null) => String::new(),
            ('L', Value::Null) => "NULL".to_owned(),
            (_, Value::Null) => {
                return Err(refuse(
                    SqlState::NullValueNotAllowed,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            ('s', value) => shown(value, a.types[next]),
            ('I', value) => quote::name_if_needed(&shown(value, a.types[next])),
            (_, value) => quoted(&shown(value, a.types[next])),
        };
        out.push_str(&padded(text, width, left));
        next += 1;
    }
    Ok(Value::text(&out))
}

/// Digits in groups of three, up to the point.
fn grouped(digits: &str, separator: Option<char>) -> String {
    let Some(separator) = separator else { return digits.to_owned() };
    let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits[..whole].chars().enumerate() {
        if at > 0 && (whole - at).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out.push_str(&digits[whole..]);
    out
}

/// C's printf: `%d`, `%s`, `%f`, `%e`, `%g`, `%x`, `%X`, `%o`, `%b`, `%c`, with flags, a width and a precision. As
/// DuckDB has them, the flags `,`, `_` and `'` put digits in groups, and so does the point of `%.d`.
fn printf(a: &Arguments<'_>) -> Result<Value> {
    if a.values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let mut out = String::new();
    let mut rest = a.text(0)?.chars().peekable();
    let mut next = 1;
    while let Some(c) = rest.next() {
        if c != '%' || rest.next_if_eq(&'%').is_some() {
            out.push(c);
            continue;
        }
        let specifier = Specifier::read(&mut rest, a, &mut next)?;
        let Specifier { left, zeros, width, kind, .. } = specifier;
        let text = specifier.shown(a.values.get(next).ok_or_else(too_few)?, a.types[next])?;
        next += 1;
        if zeros && !left && kind != 's' && kind != 'c' {
            let sign = text.chars().next().filter(|c| matches!(c, '-' | '+' | ' '));
            let digits = if sign.is_some() { &text[1..] } else { &text };
            let missing = width.saturating_sub(text.len());
            out.extend(sign);
            out.push_str(&"0".repeat(missing));
            out.push_str(digits);
        } else {
            out.push_str(&padded(text, width, left));
        }
    }
    Ok(Value::text(&out))
}

fn too_few() -> types::Error {
    invalid("printf: there are fewer arguments than specifiers")
}

/// The digits that come next, as a number; `None` where there are none.
fn count_ahead(rest: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut digits = String::new();
    while let Some(d) = rest.next_if(char::is_ascii_digit) {
        digits.push(d);
    }
    digits.parse().ok()
}

/// What printf's format says of one argument: flags, width, precision and kind.
#[derive(Default)]
struct Specifier {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    prefixed: bool,
    separator: Option<char>,
    width: usize,
    /// Whether a point stands there, with digits behind it or none.
    point: bool,
    digits: Option<usize>,
    kind: char,
}

impl Specifier {
    /// Reads what stands behind a `%`; `next` is the argument that comes next.
    fn read(rest: &mut Peekable<Chars<'_>>, a: &Arguments<'_>, next: &mut usize) -> Result<Specifier> {
        let mut s = Specifier::default();
        while let Some(flag) = rest.next_if(|c| matches!(c, '-' | '0' | '+' | ' ' | '#' | ',' | '_' | '\'')) {
            match flag {
                '-' => s.left = true,
                '0' => s.zeros = true,
                '+' => s.plus = true,
                ' ' => s.space = true,
                '#' => s.prefixed = true,
                other => s.separator = Some(other),
            }
        }
        // `*`: an argument says the width; a negative one is that of a text at the left.
        s.width = if rest.next_if_eq(&'*').is_some() {
            let width = a.values.get(*next).ok_or_else(too_few)?;
            let width = width.as_i64().filter(|_| a.types[*next].is_integer());
            let width = width.ok_or_else(|| invalid("printf: the width of %* is no integer"))?;
            *next += 1;
            s.left |= width < 0;
            usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX)
        } else {
            count_ahead(rest).unwrap_or(0)
        };
        s.point = rest.next_if_eq(&'.').is_some();
        s.digits = if s.point { count_ahead(rest) } else { None };
        if s.width > WIDTH_MAX || s.digits.is_some_and(|p| p > 1000) {
            return Err(invalid("printf: the width is out of range"));
        }
        while rest.next_if(|c| matches!(c, 'l' | 'h' | 'z' | 'j')).is_some() {}
        s.kind = rest.next().ok_or_else(|| invalid("printf: the format ends within a specifier"))?;
        Ok(s)
    }

    /// The argument's text, not yet filled to the width.
    fn shown(&self, value: &Value, ty: Type) -> Result<String> {
        let Specifier { plus, space, prefixed, separator, point, digits, kind, .. } = *self;
        let precision = point.then(|| digits.unwrap_or(0));
        let wrong = || invalid(format!("printf: %{kind} does not take a value of type {ty}"));
        let whole = || -> Result<i128> {
            if let Some(truth) = value.as_bool() {
                return Ok(i128::from(truth));
            }
            let scaled = value.as_i128().ok_or_else(wrong)?;
            if ty.scale() > 0 || !(ty.is_integer() || ty.is_decimal()) { Err(wrong()) } else { Ok(scaled) }
        };
        let float = || -> Result<f64> {
            let cast = types::cast::cast_value(value, ty, Type::Double).map_err(|_| wrong())?;
            cast.as_f64().ok_or_else(wrong)
        };
        let signed = |text: String, negative: bool| match (negative, plus, space) {
            (true, _, _) => format!("-{text}"),
            (false, true, _) => format!("+{text}"),
            (false, false, true) => format!(" {text}"),
            _ => text,
        };
        Ok(match kind {
            'd' | 'i' | 'u' => {
                let value = whole()?;
                let shown = format!("{:0>1$}", value.unsigned_abs(), digits.unwrap_or(0));
                let separator = if point && digits.is_none() { Some('.') } else { separator };
                signed(grouped(&shown, separator), value < 0)
            }
            'x' | 'X' | 'o' | 'b' | 'B' => {
                let value = whole()?;
                // What fits 64 bits has so many of them.
                let bits = match i64::try_from(value) {
                    Ok(value) => u128::from(value as u64),
                    Err(_) => value as u128,
                };
                let (shown, prefix) = match kind {
                    'x' => (format!("{bits:x}"), "0x"),
                    'X' => (format!("{bits:X}"), "0X"),
                    'o' => (format!("{bits:o}"), "0"),
                    'b' => (format!("{bits:b}"), "0b"),
                    _ => (format!("{bits:b}"), "0B"),
                };
                let shown = format!("{:0>1$}", shown, digits.unwrap_or(0));
                if prefixed && value != 0 { format!("{prefix}{shown}") } else { shown }
            }
            'c' => u32::try_from(whole()?).ok().and_then(char::from_u32).ok_or_else(wrong)?.to_string(),
            's' => {
                let text = value.display(ty);
                precision.map_or_else(|| text.clone(), |p| text.chars().take(p).collect())
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                // An integer keeps its digits.
                let exact = whole().ok().filter(|_| matches!(kind, 'f' | 'F') && ty.is_integer());
                let places = precision.unwrap_or(6);
                let (text, negative) = match exact {
                    Some(exact) if places == 0 => (exact.unsigned_abs().to_string(), exact < 0),
                    Some(exact) => (format!("{}.{:0<places$}", exact.unsigned_abs(), ""), exact < 0),
                    None => {
                        let value = float()?;
                        (float_text(value.abs(), kind, places), value.is_sign_negative() && !value.is_nan())
                    }
                };
                signed(grouped(&text, separator), negative)
            }
            other => return Err(invalid(format!("printf: unknown specifier %{other}"))),
        })
    }
}

fn float_text(value: f64, kind: char, precision: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan" } else { "inf" }.to_owned();
    }
    let exponential = |precision: usize| {
        let text = format!("{value:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    };
    let text = match kind {
        'f' | 'F' => format!("{value:.precision$}"),
        'e' | 'E' => exponential(precision),
        _ => {
            // The shorter of the two, without zeros at the end.
            let digits = precision.max(1);
            let exponent = if value == 0.0 { 0 } else { value.log10().floor() as i32 };
            let trimmed = |text: &str| {
                if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                } else {
                    text.to_owned()
                }
            };
            if exponent < -4 || exponent >= digits as i32 {
                let text = exponential(digits - 1);
                let (mantissa, tail) = text.split_once('e').unwrap_or((&text, "+00"));
                format!("{}e{tail}", trimmed(mantissa))
            } else {
                let places = (digits as i32 - 1 - exponent).max(0) as usize;
                trimmed(&format!("{value:.places$}"))
            }
        }
    };
    if kind.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// A number in decimal digits.
fn push_number(number: u64, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut rest) = ([0; 20], 20, number);
    while rest > 0 || at == 20 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// As DuckDB tells sizes: with one digit behind the point, cut off.
fn push_in_units(bytes: i64, base: u64, units: [&str; 6], out: &mut Vec<u8>) {
    let size = bytes.unsigned_abs();
    if bytes < 0 {
        out.push(b'-');
    }
    if size < base {
        push_number(size, out);
        out.extend_from_slice(if size == 1 { b" byte" } else { b" bytes" });
        return;
    }
    let (mut whole, mut rest, mut unit) = (size / base, size % base, 0);
    while whole >= base && unit + 1 < units.len() {
        (whole, rest, unit) = (whole / base, whole % base, unit + 1);
    }
    push_number(whole, out);
    out.extend([b'.', b'0' + (rest * 10 / base) as u8, b' ']);
    out.extend_from_slice(units[unit].as_bytes());
}

/// As PostgreSQL tells sizes: the largest unit of which there are at least ten.
fn push_size(bytes: i64, out: &mut Vec<u8>) {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let (mut size, mut unit) = (i128::from(bytes), 0);
    // One bit more is kept for rounding until the end.
    let limit = |unit: usize| if unit == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
    while size.abs() >= limit(unit) && unit + 1 < UNITS.len() {
        size >>= if unit == 0 { 9 } else { 10 };
        unit += 1;
    }
    if unit > 0 {
        size = if size < 0 { (size - 1) / 2 } else { (size + 1) / 2 };
    }
    if size < 0 {
        out.push(b'-');
    }
    push_number(size.unsigned_abs() as u64, out);
    out.push(b' ');
    out.extend_from_slice(UNITS[unit].as_bytes());
}
