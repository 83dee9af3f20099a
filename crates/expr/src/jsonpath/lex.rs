//! The words of a path: keys, variables, texts, numbers and signs.
//!
//! A word may hold escapes outside of quotes, as PostgreSQL's may. A number ends where no letter follows; `1.type()`
//! is malformed, `1.0.type()` is not.

use types::{Error, Result, SqlState};

/// One word of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A key or a keyword, without quotes.
    Word(String),
    /// In double quotes.
    Text(String),
    /// `$name` and `$"name"`.
    Variable(String),
    /// As written.
    Number(String),
    /// One of `SIGNS`.
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 29] = [
    "&&", "||", "==", "!=", "<>", "<=", ">=", "**", "=", "<", ">", "!", "?", "%", "$", "@", ".", "[", "]",
    "{", "}", "(", ")", "|", "&", "#", ",", "*", ":",
];
const MORE_SIGNS: [&str; 3] = ["+", "-", "/"];

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c) || matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// An error of a path's form.
pub(super) fn wrong(detail: impl Into<String>, text: &str) -> Error {
    let shown: String = text.chars().take(80).collect();
    Error::new(SqlState::SyntaxError, format!("{} in jsonpath \"{shown}\"", detail.into()))
        .with_hint("a path is written $.key[0], lax or strict before it, with filters ?(@.a > 1)")
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let Some(first) = rest.chars().next() else {
            found.push(Token::End);
            return Ok(found);
        };
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or_else(|| wrong("unexpected end of comment", text))?;
            rest = &comment[end + 2..];
            continue;
        }
        if first == '"' {
            let (value, after) = quoted(&rest[1..], text)?;
            found.push(Token::Text(value));
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix('$') {
            let (token, after) = match after.chars().next() {
                Some('"') => {
                    let (name, after) = quoted(&after[1..], text)?;
                    (Token::Variable(name), after)
                }
                Some(c) if !is_special(c) || c == '\\' => {
                    let (name, after) = word(after, text)?;
                    (Token::Variable(name), after)
                }
                _ => (Token::Sign("$"), after),
            };
            found.push(token);
            rest = after;
            continue;
        }
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if digit(Some(first)) || (first == '.' && digit(rest[1..].chars().next())) {
            let (token, after) = number(rest, text)?;
            found.push(token);
            rest = after;
            continue;
        }
        let sign = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign));
        if let Some(sign) = sign {
            found.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
            continue;
        }
        let (name, after) = word(rest, text)?;
        found.push(Token::Word(name));
        rest = after;
    }
}

/// A word without quotes, and what is behind it.
fn word<'a>(rest: &'a str, text: &str) -> Result<(String, &'a str)> {
    let (mut value, mut rest) = (String::new(), rest);
    loop {
        match rest.chars().next() {
            Some('\\') => rest = escape(&rest[1..], &mut value, text)?,
            Some(c) if !is_special(c) => {
                value.push(c);
                rest = &rest[c.len_utf8()..];
            }
            _ => return Ok((value, rest)),
        }
    }
}

/// A text behind its opening quote, and what is behind the closing one.
fn quoted<'a>(rest: &'a str, text: &str) -> Result<(String, &'a str)> {
    let (mut value, mut rest) = (String::new(), rest);
    loop {
        match rest.chars().next() {
            None => return Err(wrong("unterminated quoted string", text)),
            Some('"') => return Ok((value, &rest[1..])),
            Some('\\') => rest = escape(&rest[1..], &mut value, text)?,
            Some(c) => {
                value.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
}

/// What an escape stands for, behind its backslash.
fn escape<'a>(rest: &'a str, out: &mut String, text: &str) -> Result<&'a str> {
    let Some(letter) = rest.chars().next() else { return Err(wrong("unexpected end after backslash", text)) };
    let after = &rest[letter.len_utf8()..];
    out.push(match letter {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => {
            let (code, after) =
                hexadecimal(after, 2).ok_or_else(|| wrong("invalid hexadecimal character sequence", text))?;
            out.push(character(code, text)?);
            return Ok(after);
        }
        'u' => return unicode(after, out, text),
        other => other,
    });
    Ok(after)
}

fn hexadecimal(rest: &str, digits: usize) -> Option<(u32, &str)> {
    let written = rest.get(..digits)?;
    let all = written.bytes().all(|b| b.is_ascii_hexdigit());
    Some((all.then(|| u32::from_str_radix(written, 16).ok())??, &rest[digits..]))
}

fn character(code: u32, text: &str) -> Result<char> {
    match char::from_u32(code) {
        Some('\0') => Err(Error::new(
            SqlState::InvalidTextRepresentation,
            "unsupported Unicode escape sequence: \\u0000 cannot be converted to text",
        )),
        Some(c) => Ok(c),
        None => Err(wrong("invalid Unicode escape sequence", text)),
    }
}

/// `\u` and four digits, where two may be halves of a pair, or digits in braces.
fn unicode<'a>(rest: &'a str, out: &mut String, text: &str) -> Result<&'a str> {
    let invalid = || wrong("invalid Unicode escape sequence", text);
    let one = |rest: &'a str| -> Option<(u32, &'a str)> {
        match rest.strip_prefix('{') {
            Some(inner) => {
                let end = inner.find('}').filter(|end| (1..=6).contains(end))?;
                let (code, _) = hexadecimal(inner, end)?;
                Some((code, &inner[end + 1..]))
            }
            None => hexadecimal(rest, 4),
        }
    };
    let (code, after) = one(rest).ok_or_else(invalid)?;
    if (0xD800..0xDC00).contains(&code) {
        let (low, after) = after.strip_prefix("\\u").and_then(one).ok_or_else(invalid)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(invalid());
        }
        out.push(character(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), text)?);
        return Ok(after);
    }
    out.push(character(code, text)?);
    Ok(after)
}

/// A number, and what is behind it.
fn number<'a>(rest: &'a str, text: &str) -> Result<(Token, &'a str)> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let junk = || wrong("trailing junk after numeric literal", text);
    let mut end = digits(0);
    if end > 1 && bytes[0] == b'0' {
        return Err(junk());
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let last = digits(signed.min(bytes.len()));
        if last == signed {
            return Err(junk());
        }
        end = last;
    }
    let after = &rest[end..];
    if after.chars().next().is_some_and(|c| !is_special(c) || c == '\\') {
        return Err(junk());
    }
    Ok((Token::Number(rest[..end].to_owned()), after))
}
