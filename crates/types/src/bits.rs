//! BIT(n) and BIT VARYING(n): strings of bits.
//!
//! A value is its digits, a byte each, as text: their order is PostgreSQL's, and all that handles texts handles them.
//! Blocks code what repeats, so that the eight times of the bits themselves are seldom paid.

pub use crate::logical::BITS_MAX;
use crate::{Error, Result, SqlState, Type, Value};

impl Type {
    /// BIT VARYING of any length.
    pub const BITS: Type = Type::VarBit(0);

    /// Whether the type is BIT(n) or BIT VARYING(n).
    pub fn is_bits(self) -> bool {
        matches!(self, Type::Bit(_) | Type::VarBit(_))
    }
}

fn mismatch(found: usize, wanted: u32) -> Error {
    let message = format!("bit string length {found} does not match type bit({wanted})");
    let error = Error::new(SqlState::StringDataLengthMismatch, message);
    match wanted {
        1 => error.with_hint("BIT is BIT(1); BIT VARYING holds bits of any number"),
        _ => error,
    }
}

/// Checks bits for an assignment to `to`: BIT(n) takes exactly n bits, BIT VARYING(n) at most n. Anything else is an
/// error; nothing is cut or filled.
pub fn fitted(bits: &str, to: Type) -> Result<Value> {
    match to {
        Type::Bit(wanted) if bits.len() != wanted as usize => Err(mismatch(bits.len(), wanted)),
        Type::VarBit(limit) if limit > 0 && bits.len() > limit as usize => {
            let message = format!("bit string too long for type bit varying({limit})");
            Err(Error::new(SqlState::StringDataRightTruncation, message))
        }
        _ => Ok(Value::text(bits)),
    }
}

/// Bits as an explicit cast to `to` makes them: cut at the right, and for BIT(n) filled there with zeros.
pub fn resized(bits: &str, to: Type) -> String {
    match to {
        Type::Bit(wanted) => {
            let wanted = wanted as usize;
            let mut out = String::with_capacity(wanted);
            out.push_str(&bits[..bits.len().min(wanted)]);
            out.extend(std::iter::repeat_n('0', wanted - out.len()));
            out
        }
        Type::VarBit(limit) if limit > 0 => bits[..bits.len().min(limit as usize)].to_owned(),
        _ => bits.to_owned(),
    }
}

/// Reads binary digits, with or without a leading `b`, or hexadecimal ones behind `x`, as binary digits. The error
/// names the first character that is no digit.
pub fn parse(text: &str) -> Result<String> {
    let wrong = |kind: &str, digit: char| {
        let message = format!("\"{digit}\" is not a valid {kind} digit");
        Error::new(SqlState::InvalidTextRepresentation, message)
    };
    if let Some(digits) = text.strip_prefix(['x', 'X']) {
        let mut out = String::with_capacity(digits.len() * 4);
        for digit in digits.chars() {
            let value = digit.to_digit(16).ok_or_else(|| wrong("hexadecimal", digit))?;
            out.push_str(&format!("{value:04b}"));
        }
        return Ok(out);
    }
    let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
    match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
        Some(digit) => Err(wrong("binary", digit)),
        None => Ok(digits.to_owned()),
    }
}

/// The lowest bits of an integer in two's complement: n for BIT(n), 128 for BIT VARYING.
pub fn of_integer(value: i128, to: Type) -> String {
    let count = match to {
        Type::Bit(count) => count as usize,
        _ => 128,
    };
    let shown = format!("{value:0128b}");
    match count.checked_sub(128) {
        // The sign fills what is further left.
        Some(more) => format!("{}{shown}", (if value < 0 { "1" } else { "0" }).repeat(more)),
        None => shown[128 - count..].to_owned(),
    }
}

/// Bits as a value of the integer type `to`. The first bit is the sign if there are as many bits as `to` is wide;
/// more bits are an error.
pub fn to_integer(bits: &str, to: Type) -> Result<Value> {
    let width = to.physical().width() * 8;
    let value = match bits.len() {
        0 => 0,
        found if found <= width => {
            let read = u128::from_str_radix(bits, 2).map_err(|_| Error::out_of_range(&to))?;
            let above = (128 - width) as u32;
            (read << above) as i128 >> above
        }
        _ => return Err(Error::out_of_range(&to)),
    };
    Value::of_integer(value, to).ok_or_else(|| Error::out_of_range(&to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_cut_and_counted() {
        assert_eq!(parse("b0101").unwrap(), "0101");
        assert_eq!(parse("x1F").unwrap(), "00011111");
        assert!(parse("0102").is_err() && parse("xg").is_err());
        assert_eq!(
            (resized("101", Type::Bit(5)), resized("101", Type::Bit(2))),
            ("10100".into(), "10".into())
        );
        assert_eq!(fitted("101", Type::Bit(2)).unwrap_err().state(), SqlState::StringDataLengthMismatch);
        assert_eq!(fitted("101", Type::VarBit(2)).unwrap_err().state(), SqlState::StringDataRightTruncation);
        assert_eq!(of_integer(44, Type::Bit(10)), "0000101100");
        assert_eq!(of_integer(-44, Type::Bit(12)), "111111010100");
        assert_eq!(of_integer(-1, Type::Bit(130)), "1".repeat(130));
        assert_eq!(to_integer("1110", Type::Integer).unwrap(), Value::I32(14));
        assert_eq!(to_integer(&"1".repeat(32), Type::Integer).unwrap(), Value::I32(-1));
        assert!(to_integer(&"1".repeat(33), Type::Integer).is_err());
    }
}
