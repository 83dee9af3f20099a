//! Bytes as text and back, as PostgreSQL's ENCODE and DECODE have it, and whole numbers in hexadecimal digits.
//!
//! The encodings are `hex`, `base64` and `escape`, in any case; another name is an error with a hint. Base64 has
//! lines of `LINE` characters here, as in PostgreSQL; `codes` has base64 without lines. Each function sees one row's
//! values, and NULL rows are left out before.

use std::borrow::Cow;

use types::{Result, SqlState, Type, Value};

use super::codes::{push_base64, push_digits};
use super::declare::*;
use super::written::{Given, writes};
use super::{invalid, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    writes!(
        "encode",
        &[is(&[BYTES, TEXT], Type::Text), is(&[TEXT, TEXT], Type::Text)],
        page(
            "text",
            "encode(bytes, format); encode(text)",
            "Bytes as text in base64, hex or escape; the bytes of a text in UTF-8.",
            "encode('AB'::bytea, 'hex')",
            "4142",
        ),
        encode,
    ),
    writes!(
        "decode",
        &[is(&[TEXT, TEXT], Type::Bytea)],
        page(
            "text",
            "decode(text, format); decode(bytes)",
            "The bytes that a text in base64, hex or escape stands for; the text that bytes in UTF-8 are.",
            "decode('4142', 'hex')",
            "\\x4142",
        ),
        decode,
    ),
    own(
        "chr",
        &[is(&[BIG], Type::Text)],
        page("text", "chr(code)", "The character with that code point.", "chr(65)", "A"),
        |a| match a.integer(0)? {
            0 => Err(invalid("null character not permitted")),
            code @ ..0 => Err(invalid(format!("character number must be positive, not {code}"))),
            code => match u32::try_from(code).ok().and_then(char::from_u32) {
                Some(character) => Ok(Value::text(character.encode_utf8(&mut [0; 4]))),
                None => Err(invalid(format!("requested character not valid for encoding: {code}"))),
            },
        },
    ),
    // A negative number has the digits of its two's complement, in the width of its type.
    writes!(
        "to_hex",
        &[is(&[Takes::Is(Type::Integer)], Type::Text), is(&[BIG], Type::Text)],
        page("text", "to_hex(number)", "A whole number in hexadecimal digits.", "to_hex(255)", "ff"),
        |a, out| {
            let number = a.number(0)?;
            let number = if a.kind(0) == Type::BigInt { number as u64 } else { (number as u32).into() };
            push_digits(number, 4, DIGITS, out);
            Ok(())
        },
    ),
];

fn unknown(format: &str) -> types::Error {
    invalid(format!("unrecognized encoding: \"{format}\""))
        .with_hint("the encodings are hex, base64 and escape")
}

/// Characters of a line of base64.
const LINE: usize = 76;
const DIGITS: &[u8; 16] = b"0123456789abcdef";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The name of an encoding in lower case.
fn lower(format: &str) -> Cow<'_, str> {
    if format.bytes().any(|b| !b.is_ascii_lowercase()) { format.to_lowercase().into() } else { format.into() }
}

fn encode(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let (bytes, format) = (a.piece(0)?, a.words(1)?);
    match lower(format).as_ref() {
        "hex" => {
            out.reserve(bytes.len() * 2);
            for byte in bytes {
                out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
        }
        "base64" => {
            out.reserve(bytes.len() / 3 * 4 + bytes.len() / 57 + 4);
            for three in bytes.chunks(3) {
                let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
                let word = at(0) << 16 | at(1) << 8 | at(2);
                for place in 0..4 {
                    let code = (word >> (18 - 6 * place) & 63) as usize;
                    out.push(if place > three.len() { b'=' } else { BASE64[code] });
                }
                // A line that is full ends, even the last one.
                if out.len() % (LINE + 1) == LINE {
                    out.push(b'\n');
                }
            }
        }
        "escape" => {
            for byte in bytes {
                match byte {
                    b'\\' => out.extend(b"\\\\"),
                    0 | 0x80.. => out.extend(format!("\\{byte:03o}").bytes()),
                    plain => out.push(*plain),
                }
            }
        }
        // DuckDB's users and those of the library say so for one line.
        "base64pad" => push_base64(bytes, out),
        _ => return Err(unknown(format)),
    }
    Ok(())
}

fn decode(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let (text, format) = (a.piece(0)?, a.words(1)?);
    match lower(format).as_ref() {
        "hex" => from_hex(text, out),
        "base64" | "base64pad" => from_base64(text, out),
        "escape" => from_escape(text, out),
        _ => Err(unknown(format)),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// The character that begins at a place, for messages.
fn character(text: &[u8], at: usize) -> String {
    String::from_utf8_lossy(&text[at..]).chars().next().map_or_else(String::new, String::from)
}

fn from_hex(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut half = None;
    for (at, byte) in text.iter().enumerate() {
        // Blanks stand between bytes, not in them.
        if half.is_none() && is_blank(*byte) {
            continue;
        }
        let Some(digit) = (*byte as char).to_digit(16).map(|d| d as u8) else {
            return Err(invalid(format!("invalid hexadecimal digit: \"{}\"", character(text, at))));
        };
        match half.take() {
            Some(high) => out.push(high << 4 | digit),
            None => half = Some(digit),
        }
    }
    match half {
        Some(_) => Err(invalid("invalid hexadecimal data: odd number of digits")),
        None => Ok(()),
    }
}

fn from_base64(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (mut word, mut count, mut ends) = (0u32, 0, 0);
    for (at, byte) in text.iter().enumerate() {
        if is_blank(*byte) {
            continue;
        }
        let code = match byte {
            b'=' => {
                // The third or fourth of its group.
                if count < 2 || (ends > 0 && count != 3) {
                    return Err(invalid("unexpected \"=\" while decoding base64 sequence"));
                }
                ends += 1;
                0
            }
            byte => match BASE64.iter().position(|b| b == byte).filter(|_| ends == 0) {
                Some(code) => code as u32,
                None => {
                    let shown = character(text, at);
                    return Err(invalid(format!(
                        "invalid symbol \"{shown}\" found while decoding base64 sequence"
                    )));
                }
            },
        };
        word = word << 6 | code;
        count += 1;
        if count == 4 {
            let bytes = [(word >> 16) as u8, (word >> 8) as u8, word as u8];
            out.extend_from_slice(&bytes[..3 - ends.min(2)]);
            (word, count) = (0, 0);
        }
    }
    match count {
        0 => Ok(()),
        _ => Err(invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted.")),
    }
}

fn from_escape(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut at = 0;
    while at < text.len() {
        match &text[at..] {
            [b'\\', b'\\', ..] => {
                out.push(b'\\');
                at += 2;
            }
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
                out.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                at += 4;
            }
            [b'\\', ..] => {
                return Err(refuse(
                    SqlState::InvalidTextRepresentation,
                    "invalid input syntax for type bytea",
                ));
            }
            _ => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    Ok(())
}
