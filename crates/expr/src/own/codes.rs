//! Digests and codes of bytes: MD5, SHA, hexadecimal, base64, URLs, single bits.
//!
//! Each is a function of one row's bytes or text, whose UTF-8 bytes count. MD5 and SHA-1 give hexadecimal digits;
//! SHA-2 gives the bytes where the result is BYTEA. Positions of bytes and bits are counted from 0; one outside of
//! the value is an error of the statement, and so is text that is no hexadecimal, binary or base64 code.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::{Result, SqlState, Type, Value};

use super::declare::*;
use super::{Arguments, invalid, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    own(
        "md5",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Text)],
        page(
            "text",
            "md5(value)",
            "The MD5 digest of a text or of bytes, in hexadecimal digits.",
            "md5('abc')",
            "900150983cd24fb0d6963f7d28e17f72",
        ),
        |a| Ok(Value::text(&hex(&Md5::digest(a.bytes(0)?)))),
    ),
    own(
        "sha1",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "sha1(text)",
            "The SHA-1 digest of a text, in hexadecimal digits.",
            "sha1('abc')",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        |a| Ok(Value::text(&hex(&Sha1::digest(a.bytes(0)?)))),
    ),
    own(
        "sha224",
        &[is(&[BYTES], Type::Bytea)],
        page("text", "sha224(bytes)", "The SHA-224 digest of bytes.", "length(sha224('abc'::bytea))", "28"),
        |a| digest(a, &Sha224::digest(a.bytes(0)?)),
    ),
    own(
        "sha256",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Bytea)],
        page(
            "text",
            "sha256(value)",
            "The SHA-256 digest: of a text in hexadecimal digits, of bytes as bytes.",
            "left(sha256('abc'), 16)",
            "ba7816bf8f01cfea",
        ),
        |a| digest(a, &Sha256::digest(a.bytes(0)?)),
    ),
    own(
        "sha384",
        &[is(&[BYTES], Type::Bytea)],
        page("text", "sha384(bytes)", "The SHA-384 digest of bytes.", "length(sha384('abc'::bytea))", "48"),
        |a| digest(a, &Sha384::digest(a.bytes(0)?)),
    ),
    own(
        "sha512",
        &[is(&[BYTES], Type::Bytea)],
        page("text", "sha512(bytes)", "The SHA-512 digest of bytes.", "length(sha512('abc'::bytea))", "64"),
        |a| digest(a, &Sha512::digest(a.bytes(0)?)),
    ),
    own(
        "hex",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Text), is(&[BIG], Type::Text)],
        page(
            "text",
            "hex(value)",
            "A whole number, text or bytes in hexadecimal digits.",
            "hex('AB')",
            "4142",
        ),
        |a| {
            Ok(Value::text(&match a.values[0].as_i64() {
                Some(number) => format!("{number:X}"),
                None => hex(a.bytes(0)?).to_uppercase(),
            }))
        },
    ),
    own(
        "bin",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Text), is(&[BIG], Type::Text)],
        page("text", "bin(value)", "A whole number, text or bytes in binary digits.", "bin(10)", "1010"),
        |a| {
            Ok(Value::text(&match a.values[0].as_i64() {
                Some(number) => format!("{number:b}"),
                None => a.bytes(0)?.iter().map(|byte| format!("{byte:08b}")).collect(),
            }))
        },
    ),
    own(
        "unbin",
        &[is(&[TEXT], Type::Bytea)],
        page("text", "unbin(text)", "The bytes that binary digits stand for.", "unbin('0110')", "\\x06"),
        unbin,
    ),
    own(
        "unhex",
        &[is(&[TEXT], Type::Bytea)],
        page(
            "text",
            "unhex(text)",
            "The bytes that hexadecimal digits stand for.",
            "unhex('4142')",
            "\\x4142",
        ),
        unhex,
    ),
    own(
        "to_base64",
        &[is(&[BYTES], Type::Text)],
        page("text", "to_base64(bytes)", "The bytes in base64.", "to_base64('AB'::bytea)", "QUI="),
        |a| Ok(Value::text(&to_base64(a.bytes(0)?))),
    ),
    own(
        "from_base64",
        &[is(&[TEXT], Type::Bytea)],
        page(
            "text",
            "from_base64(text)",
            "The bytes that a text in base64 stands for.",
            "from_base64('QUI=')",
            "\\x4142",
        ),
        from_base64,
    ),
    own(
        "url_encode",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "url_encode(text)",
            "The text with all but letters, digits and -_.~ as %-codes.",
            "url_encode('a b/c')",
            "a%20b%2Fc",
        ),
        |a| Ok(Value::text(&url_encode(a.bytes(0)?))),
    ),
    own(
        "url_decode",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "url_decode(text)",
            "The text with %-codes replaced by the bytes they stand for.",
            "url_decode('a%20b')",
            "a b",
        ),
        url_decode,
    ),
    own(
        "get_byte",
        &[is(&[BYTES, BIG], Type::Integer)],
        page("text", "get_byte(bytes, n)", "The n-th byte, from 0.", "get_byte('\\x0380'::bytea, 1)", "128"),
        |a| {
            let bytes = a.bytes(0)?;
            let at = index(a.integer(1)?, bytes.len())?;
            Ok(Value::I32(i32::from(bytes[at])))
        },
    ),
    own(
        "set_byte",
        &[is(&[BYTES, BIG, BIG], Type::Bytea)],
        page(
            "text",
            "set_byte(bytes, n, byte)",
            "The bytes with another n-th byte.",
            "set_byte('\\x4142'::bytea, 1, 67)",
            "\\x4143",
        ),
        |a| {
            let mut bytes = a.bytes(0)?.to_vec();
            let at = index(a.integer(1)?, bytes.len())?;
            bytes[at] = a.integer(2)? as u8;
            Ok(Value::Bytes(bytes.into()))
        },
    ),
    own(
        "get_bit",
        &[is(&[BYTES, BIG], Type::Integer)],
        page("text", "get_bit(bytes, n)", "The n-th bit, from 0.", "get_bit('\\x0380'::bytea, 1)", "1"),
        |a| {
            let bytes = a.bytes(0)?;
            let at = index(a.integer(1)?, bytes.len() * 8)?;
            Ok(Value::I32(i32::from(bytes[at / 8] >> (at % 8) & 1)))
        },
    ),
    own(
        "set_bit",
        &[is(&[BYTES, BIG, BIG], Type::Bytea)],
        page(
            "text",
            "set_bit(bytes, n, bit)",
            "The bytes with another n-th bit.",
            "set_bit('\\x00'::bytea, 3, 1)",
            "\\x08",
        ),
        |a| {
            let mut bytes = a.bytes(0)?.to_vec();
            let at = index(a.integer(1)?, bytes.len() * 8)?;
            let bit = 1 << (at % 8);
            match a.integer(2)? {
                0 => bytes[at / 8] &= !bit,
                1 => bytes[at / 8] |= bit,
                _ => return Err(invalid("new bit must be 0 or 1")),
            }
            Ok(Value::Bytes(bytes.into()))
        },
    ),
    own(
        "convert_from",
        &[is(&[BYTES, TEXT], Type::Text)],
        page(
            "text",
            "convert_from(bytes, encoding)",
            "The text that bytes stand for; the encoding is UTF8.",
            "convert_from('\\x4142'::bytea, 'UTF8')",
            "AB",
        ),
        |a| {
            utf8(a.text(1)?)?;
            match std::str::from_utf8(a.bytes(0)?) {
                Ok(text) => Ok(Value::text(text)),
                Err(_) => Err(refuse(
                    SqlState::InvalidTextRepresentation,
                    "invalid byte sequence for encoding \"UTF8\"",
                )),
            }
        },
    ),
    own(
        "convert_to",
        &[is(&[TEXT, TEXT], Type::Bytea)],
        page(
            "text",
            "convert_to(text, encoding)",
            "The bytes of a text; the encoding is UTF8.",
            "convert_to('AB', 'UTF8')",
            "\\x4142",
        ),
        |a| {
            utf8(a.text(1)?)?;
            Ok(Value::Bytes(a.bytes(0)?.into()))
        },
    ),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digits for a text result, the digest itself for bytes.
fn digest(a: &Arguments<'_>, digest: &[u8]) -> Result<Value> {
    Ok(if a.ty == Type::Bytea { Value::Bytes(digest.into()) } else { Value::text(&hex(digest)) })
}

fn index(at: i64, length: usize) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < length).ok_or_else(|| {
        refuse(
            SqlState::InvalidParameterValue,
            format!("index {at} out of valid range, 0..{}", length as i64 - 1),
        )
    })
}

fn utf8(encoding: &str) -> Result<()> {
    let plain: String = encoding.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    match plain.to_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(refuse(SqlState::FeatureNotSupported, format!("encoding \"{encoding}\" is not supported"))
            .with_hint("text is UTF8 here")),
    }
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

fn unbin(a: &Arguments<'_>) -> Result<Value> {
    let text = a.text(0)?.as_bytes();
    // A number of digits that fills no byte has zeros before them.
    let first = text.len() % 8;
    let (head, rest) = text.split_at(first);
    let byte = |digits: &[u8]| {
        digits.iter().try_fold(0u8, |byte, digit| match digit {
            b'0' | b'1' => Some(byte << 1 | (digit - b'0')),
            _ => None,
        })
    };
    let heads = (!head.is_empty()).then_some(head);
    let bytes: Option<Vec<u8>> = heads.into_iter().chain(rest.chunks(8)).map(byte).collect();
    match bytes {
        Some(bytes) => Ok(Value::Bytes(bytes.into())),
        None => Err(refuse(
            SqlState::InvalidTextRepresentation,
            format!("\"{}\" has other characters than 0 and 1", a.text(0)?),
        )),
    }
}

fn unhex(a: &Arguments<'_>) -> Result<Value> {
    let text = a.text(0)?.as_bytes();
    // An odd number of digits has a zero before them.
    let padded: Vec<u8> = if text.len() % 2 == 1 { [b"0", text].concat() } else { text.to_vec() };
    let bytes: Option<Vec<u8>> =
        padded.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    bytes
        .map(|b| Value::Bytes(b.into()))
        .ok_or_else(|| invalid(format!("invalid hexadecimal digits \"{}\"", String::from_utf8_lossy(text))))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in base64, padded, without line breaks.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let code = (word >> (18 - 6 * place) & 63) as usize;
            out.push(if place > three.len() { '=' } else { BASE64[code] as char });
        }
    }
    out
}

fn from_base64(a: &Arguments<'_>) -> Result<Value> {
    let text = a.text(0)?;
    let wrong = || invalid(format!("invalid base64 text \"{text}\""));
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let body = digits.iter().rposition(|b| *b != b'=').map_or(0, |at| at + 1);
    if !digits.len().is_multiple_of(4) || digits.len() - body > 2 {
        return Err(wrong());
    }
    let mut out = Vec::with_capacity(body * 3 / 4);
    let (mut word, mut bits) = (0u32, 0);
    for byte in &digits[..body] {
        let code = BASE64.iter().position(|b| b == byte).ok_or_else(wrong)?;
        word = word << 6 | code as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    Ok(Value::Bytes(out.into()))
}

fn url_encode(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    bytes.iter().map(|b| if plain(*b) { (*b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

/// What is no escape stays as it is.
fn url_decode(a: &Arguments<'_>) -> Result<Value> {
    let bytes = a.bytes(0)?;
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = match bytes.get(at..at + 3) {
            Some([b'%', high, low]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                out.push(high << 4 | low);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    match String::from_utf8(out) {
        Ok(text) => Ok(Value::text(&text)),
        Err(_) => Err(invalid("the decoded bytes are no UTF-8 text")),
    }
}
