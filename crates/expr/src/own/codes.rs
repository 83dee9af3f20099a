//! Digests and codes of bytes: MD5, SHA, hexadecimal, base64, URLs, single bits.
//!
//! Each is a function of one row's bytes or text, whose UTF-8 bytes count. MD5 and SHA-1 give hexadecimal digits;
//! SHA-2 gives the bytes where the result is BYTEA. Positions of bytes and bits are counted from 0; one outside of
//! the value is an error of the statement, and so is text that is no hexadecimal, binary or base64 code.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::{Result, SqlState, Type, Value};

use super::{Arguments, Evaluate, invalid, refuse};

/// The code of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "md5" => |a| Ok(Value::text(&hex(&Md5::digest(a.bytes(0)?)))),
        "sha1" => |a| Ok(Value::text(&hex(&Sha1::digest(a.bytes(0)?)))),
        "sha224" => |a| digest(a, &Sha224::digest(a.bytes(0)?)),
        "sha256" => |a| digest(a, &Sha256::digest(a.bytes(0)?)),
        "sha384" => |a| digest(a, &Sha384::digest(a.bytes(0)?)),
        "sha512" => |a| digest(a, &Sha512::digest(a.bytes(0)?)),
        "hex" => |a| {
            Ok(Value::text(&match a.values[0].as_i64() {
                Some(number) => format!("{number:X}"),
                None => hex(a.bytes(0)?).to_uppercase(),
            }))
        },
        "bin" => |a| {
            Ok(Value::text(&match a.values[0].as_i64() {
                Some(number) => format!("{number:b}"),
                None => a.bytes(0)?.iter().map(|byte| format!("{byte:08b}")).collect(),
            }))
        },
        "unbin" => unbin,
        "unhex" => unhex,
        "to_base64" => |a| Ok(Value::text(&to_base64(a.bytes(0)?))),
        "from_base64" => from_base64,
        "url_encode" => |a| Ok(Value::text(&url_encode(a.bytes(0)?))),
        "url_decode" => url_decode,
        "get_byte" => |a| {
            let bytes = a.bytes(0)?;
            let at = index(a.integer(1)?, bytes.len())?;
            Ok(Value::I32(i32::from(bytes[at])))
        },
        "set_byte" => |a| {
            let mut bytes = a.bytes(0)?.to_vec();
            let at = index(a.integer(1)?, bytes.len())?;
            bytes[at] = a.integer(2)? as u8;
            Ok(Value::Bytes(bytes.into()))
        },
        "get_bit" => |a| {
            let bytes = a.bytes(0)?;
            let at = index(a.integer(1)?, bytes.len() * 8)?;
            Ok(Value::I32(i32::from(bytes[at / 8] >> (at % 8) & 1)))
        },
        "set_bit" => |a| {
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
        "convert_from" => |a| {
            utf8(a.text(1)?)?;
            match std::str::from_utf8(a.bytes(0)?) {
                Ok(text) => Ok(Value::text(text)),
                Err(_) => Err(refuse(
                    SqlState::InvalidTextRepresentation,
                    "invalid byte sequence for encoding \"UTF8\"",
                )),
            }
        },
        "convert_to" => |a| {
            utf8(a.text(1)?)?;
            Ok(Value::Bytes(a.bytes(0)?.into()))
        },
        _ => return None,
    })
}

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
    if digits.len() % 4 != 0 || digits.len() - body > 2 {
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
