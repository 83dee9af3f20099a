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
use super::written::{Given, writes};
use super::{Arguments, invalid, refuse};

/// Hexadecimal digits of digests.
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// Hexadecimal digits of codes.
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// What `hex` and `bin` take.
const HEX_AND_BIN: &[Signature] = &[
    is(&[TEXT], Type::Text),
    is(&[BYTES], Type::Text),
    is(&[Takes::Integer], Type::Text),
    is(&[Takes::Is(Type::UHugeInt)], Type::Text),
];

/// A whole number's bits, negative ones in two's complement.
enum Whole {
    /// Of a type of up to eight bytes.
    Of64(u64),
    /// Of HUGEINT and UHUGEINT.
    Of128(u128),
}

/// The bits of the first argument; `None` of text and bytes.
fn bits_of_whole(a: &dyn Given) -> Result<Option<Whole>> {
    Ok(Some(match a.kind(0) {
        Type::UHugeInt => {
            let number = u128::try_from(types::wide::number(&Value::Bytes(a.piece(0)?.into())));
            Whole::Of128(number.map_err(|_| types::Error::out_of_range(&Type::UHugeInt))?)
        }
        Type::HugeInt => Whole::Of128(a.wide(0)? as u128),
        // Types without a sign come in a wider one.
        Type::UBigInt => Whole::Of64(a.wide(0)? as u64),
        ty if ty.is_integer() => Whole::Of64(a.number(0)? as u64),
        _ => return Ok(None),
    }))
}

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    writes!(
        "md5",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Text)],
        page(
            "text",
            "md5(value)",
            "The MD5 digest of a text or of bytes, in hexadecimal digits.",
            "md5('abc')",
            "900150983cd24fb0d6963f7d28e17f72",
        ),
        |a, out| hex_into(&Md5::digest(a.piece(0)?), LOWER, out),
    ),
    writes!(
        "sha1",
        &[is(&[TEXT], Type::Text), is(&[BYTES], Type::Text)],
        page(
            "text",
            "sha1(value)",
            "The SHA-1 digest of a text or of bytes, in hexadecimal digits.",
            "sha1('abc')",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        |a, out| hex_into(&Sha1::digest(a.piece(0)?), LOWER, out),
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
    writes!(
        "hex",
        HEX_AND_BIN,
        page(
            "text",
            "hex(value)",
            "A whole number, text or bytes in hexadecimal digits.",
            "hex('AB')",
            "4142",
        ),
        write_hex,
    ),
    writes!(
        "bin",
        HEX_AND_BIN,
        page("text", "bin(value)", "A whole number, text or bytes in binary digits.", "bin(10)", "1010"),
        write_binary,
    ),
    writes!(
        "unbin",
        &[is(&[TEXT], Type::Bytea)],
        page("text", "unbin(text)", "The bytes that binary digits stand for.", "unbin('0110')", "\\x06"),
        unbin,
    ),
    writes!(
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
    writes!(
        "to_base64",
        &[is(&[BYTES], Type::Text)],
        page("text", "to_base64(bytes)", "The bytes in base64.", "to_base64('AB'::bytea)", "QUI="),
        |a, out| {
            push_base64(a.piece(0)?, out);
            Ok(())
        },
    ),
    writes!(
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
    writes!(
        "url_encode",
        &[is(&[TEXT], Type::Text)],
        page(
            "text",
            "url_encode(text)",
            "The text with all but letters, digits and -_.~ as %-codes.",
            "url_encode('a b/c')",
            "a%20b%2Fc",
        ),
        |a, out| {
            url_encode(a.piece(0)?, out);
            Ok(())
        },
    ),
    writes!(
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

/// Two hexadecimal digits a byte.
fn push_hex(bytes: &[u8], digits: &[u8; 16], out: &mut Vec<u8>) {
    out.extend(
        bytes.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
    );
}

fn hex_into(bytes: &[u8], digits: &[u8; 16], out: &mut Vec<u8>) -> Result<()> {
    push_hex(bytes, digits, out);
    Ok(())
}

/// `hex(value)`: a negative number has the digits of its two's complement.
fn write_hex(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    match bits_of_whole(a)? {
        Some(Whole::Of64(bits)) => push_digits(bits, 4, UPPER, out),
        Some(Whole::Of128(bits)) => push_digits(bits, 4, UPPER, out),
        None => push_hex(a.piece(0)?, UPPER, out),
    }
    Ok(())
}

/// `bin(value)`: likewise, and eight binary digits a byte.
fn write_binary(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    match bits_of_whole(a)? {
        Some(Whole::Of64(bits)) => push_digits(bits, 1, UPPER, out),
        Some(Whole::Of128(bits)) => push_digits(bits, 1, UPPER, out),
        None => {
            let bits = |byte: u8| (0..8).map(move |at| b'0' + (byte >> (7 - at) & 1));
            out.extend(a.piece(0)?.iter().flat_map(|byte| bits(*byte)));
        }
    }
    Ok(())
}

/// A number in digits of so many bits each, without zeros before it.
pub(super) fn push_digits(number: impl Into<u128>, bits: u32, digits: &[u8; 16], out: &mut Vec<u8>) {
    let number = number.into();
    let count = (u128::BITS - number.leading_zeros()).div_ceil(bits).max(1);
    let mask = (1 << bits) - 1;
    out.extend((0..count).rev().map(|at| digits[(number >> (at * bits) & mask) as usize]));
}

/// The digits for a text result, the digest itself for bytes.
fn digest(a: &Arguments<'_>, digest: &[u8]) -> Result<Value> {
    Ok(if a.ty == Type::Bytea {
        Value::Bytes(digest.into())
    } else {
        {
            let mut digits = Vec::with_capacity(digest.len() * 2);
            push_hex(digest, LOWER, &mut digits);
            Value::Bytes(digits.into())
        }
    })
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

fn unbin(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let text = a.words(0)?.as_bytes();
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
    for digits in heads.into_iter().chain(rest.chunks(8)) {
        out.push(byte(digits).ok_or_else(|| {
            let message = format!("\"{}\" has other characters than 0 and 1", String::from_utf8_lossy(text));
            refuse(SqlState::InvalidTextRepresentation, message)
        })?);
    }
    Ok(())
}

fn unhex(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let text = a.words(0)?.as_bytes();
    let wrong = || invalid(format!("invalid hexadecimal digits \"{}\"", String::from_utf8_lossy(text)));
    // An odd number of digits has a zero before them.
    let (first, pairs) = text.split_at(text.len() % 2);
    for single in first {
        out.push(digit(*single).ok_or_else(wrong)?);
    }
    for pair in pairs.chunks_exact(2) {
        let byte = digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| high << 4 | low);
        out.push(byte.ok_or_else(wrong)?);
    }
    Ok(())
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in base64, padded, without line breaks.
pub(super) fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let code = (word >> (18 - 6 * place) & 63) as usize;
            out.push(if place > three.len() { b'=' } else { BASE64[code] });
        }
    }
}

/// The place of each character in `BASE64`; 255 of all others.
const CODES: [u8; 256] = {
    let (mut codes, mut at) = ([255; 256], 0);
    while at < BASE64.len() {
        codes[BASE64[at] as usize] = at as u8;
        at += 1;
    }
    codes
};

fn from_base64(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let text = a.words(0)?;
    let wrong = || invalid(format!("invalid base64 text \"{text}\""));
    let digits = || text.bytes().filter(|b| !b.is_ascii_whitespace());
    let count = digits().count();
    let ends = digits().rev().take_while(|b| *b == b'=').count();
    if !count.is_multiple_of(4) || ends > 2 {
        return Err(wrong());
    }
    let (mut word, mut bits) = (0u32, 0);
    for byte in digits().take(count - ends) {
        let code = CODES[usize::from(byte)];
        if code == 255 {
            return Err(wrong());
        }
        word = word << 6 | u32::from(code);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    Ok(())
}

fn url_encode(bytes: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    for byte in bytes {
        if plain(*byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', UPPER[usize::from(byte >> 4)], UPPER[usize::from(byte & 15)]]);
        }
    }
}

/// What is no escape stays as it is.
fn url_decode(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = a.piece(0)?;
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let code = match rest.get(at..at + 3) {
            Some([_, high, low]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                out.push(high << 4 | low);
                rest = &rest[at + 3..];
            }
            None => {
                out.push(b'%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
    match std::str::from_utf8(out) {
        Ok(_) => Ok(()),
        Err(_) => Err(invalid("the decoded bytes are no UTF-8 text")),
    }
}
