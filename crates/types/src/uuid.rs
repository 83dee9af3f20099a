//! UUIDs: the integer that holds one, its bytes and its text.

/// The top bit is flipped in a UUID's integer, so that signed order is the order of its bytes.
const UUID_SIGN: u128 = 1 << 127;

/// Reads 32 hexadecimal digits, with hyphens after any group of four and with or without braces.
pub(crate) fn parse_uuid(text: &str) -> Option<i128> {
    let body = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
    let mut bits: u128 = 0;
    let mut digits = 0;
    for c in body.chars() {
        if c == '-' {
            if digits % 4 != 0 {
                return None;
            }
            continue;
        }
        digits += 1;
        if digits > 32 {
            return None;
        }
        bits = bits << 4 | u128::from(c.to_digit(16)?);
    }
    (digits == 32).then_some((bits ^ UUID_SIGN) as i128)
}

/// The integer that holds a UUID: its bytes read big-endian with the top bit flipped, so that signed order is the
/// order of the bytes.
pub fn uuid_from_bytes(bytes: [u8; 16]) -> i128 {
    (u128::from_be_bytes(bytes) ^ UUID_SIGN) as i128
}

/// The bytes of the UUID that the integer holds; the inverse of `uuid_from_bytes`.
pub fn uuid_to_bytes(value: i128) -> [u8; 16] {
    (value as u128 ^ UUID_SIGN).to_be_bytes()
}

pub(crate) fn format_uuid(value: i128) -> String {
    let bits = value as u128 ^ UUID_SIGN;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        (bits >> 80) & 0xFFFF,
        (bits >> 64) & 0xFFFF,
        (bits >> 48) & 0xFFFF,
        bits & 0xFFFF_FFFF_FFFF
    )
}
