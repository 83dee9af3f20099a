//! The types of the system catalog: `oid` and its aliases, `name`, `"char"` and the few others that columns of
//! `pg_catalog` have and that no table of a user needs.
//!
//! One variant of `Type` carries all of them, by kind. How values are held:
//!
//! | kinds | form | value |
//! | --- | --- | --- |
//! | oid, xid, cid | I64 | 0 to 2^32 - 1: an integer type that is narrower than its form (`integers`) |
//! | regclass and kin | Bytes | the OID in four bytes, big end first, then the name that it is shown by |
//! | all others | Bytes | UTF-8 text |
//!
//! A `reg` value carries its name, so that printing it needs no catalog, and its order is the order of OIDs. What makes
//! one of a number or a name asks the catalog (`pg_catalog` in the engine); here are only the casts that need none.
//! `int2vector` and `oidvector` are lists that print without braces and count from 0: see `nested`.

pub use crate::system_kinds::{Storage, SystemType};
use crate::{Error, Result, SqlState, Type, Value};

/// Bytes of a `name` value at most, as in PostgreSQL: 64 with the NUL that it keeps there.
pub const NAME_BYTES_MAX: usize = 63;

impl Type {
    /// The type `oid`.
    pub const OID: Type = Type::System(SystemType::Oid);
    /// The type `name`.
    pub const NAME: Type = Type::System(SystemType::Name);

    /// The kind of a type of the system catalog; `None` for other types.
    pub fn system(self) -> Option<SystemType> {
        if let Type::System(kind) = self { Some(kind) } else { None }
    }
    /// Whether values are OIDs with names: `regclass` and kin.
    pub fn is_reg(self) -> bool {
        self.system().is_some_and(|kind| kind.storage() == Storage::Named)
    }
    /// Whether the type is `oid`, `xid` or `cid`.
    pub fn is_oid(self) -> bool {
        self.system().is_some_and(|kind| kind.storage() == Storage::Number)
    }
}

/// The value of a `reg` type: an OID and the name it is shown by.
pub fn reg_value(oid: u32, name: &str) -> Value {
    let mut bytes = oid.to_be_bytes().to_vec();
    bytes.extend_from_slice(name.as_bytes());
    Value::Bytes(bytes.into())
}

/// The OID of a `reg` value held as bytes; 0 for bytes that are none.
pub fn reg_oid(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |oid| u32::from_be_bytes(*oid))
}

/// The name of a `reg` value held as bytes.
pub fn reg_name(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes.get(4..).unwrap_or_default()).unwrap_or_default()
}

/// The text as a value of a kind that is held as text: `name` and `"char"` are cut, as in PostgreSQL.
pub fn fit(text: &str, kind: SystemType) -> &str {
    let limit = match kind {
        SystemType::Name => NAME_BYTES_MAX,
        SystemType::Char => 1,
        _ => return text,
    };
    let mut end = text.len().min(limit);
    // A character of several bytes stays whole: there is no text of a part of one.
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text as a value of the kind, where that needs no catalog. A `reg` kind takes a number and `-`.
pub fn parse(text: &str, kind: SystemType) -> Result<Value> {
    let trimmed = text.trim();
    match kind.storage() {
        Storage::Text => Ok(Value::text(fit(text, kind))),
        Storage::Number => {
            // A negative number means the one of the same 32 bits.
            let number = trimmed.parse::<i64>().ok();
            match number {
                Some(number) => {
                    match u32::try_from(number).ok().or(i32::try_from(number).ok().map(|n| n as u32)) {
                        Some(number) => Ok(Value::I64(i64::from(number))),
                        None => Err(Error::value_out_of_range(trimmed, Type::System(kind))),
                    }
                }
                None => Err(invalid(text, kind)),
            }
        }
        Storage::Named => match (trimmed, trimmed.parse::<u32>()) {
            ("-", _) | (_, Ok(0)) => Ok(reg_value(0, "-")),
            (_, Ok(oid)) => Ok(reg_value(oid, trimmed)),
            _ => Err(Error::unsupported(format!(
                "the name \"{trimmed}\" cannot be looked up as {} here",
                kind.name()
            ))
            .with_hint("give the OID as a number")),
        },
    }
}

fn invalid(text: &str, kind: SystemType) -> Error {
    let shown: String = text.chars().take(80).collect();
    let message = format!("invalid input syntax for type {}: \"{shown}\"", kind.name());
    Error::new(SqlState::InvalidTextRepresentation, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::{cast_value, format_value};

    #[test]
    fn codes_lead_back_to_their_kinds() {
        for kind in SystemType::ALL {
            assert_eq!(SystemType::of_code(kind.code()), Some(*kind));
            assert_eq!(SystemType::named(kind.name()), Some(*kind));
        }
        assert_eq!(size_of::<Type>(), 8);
    }

    #[test]
    fn reg_values_are_oids_with_names() {
        let class = Type::System(SystemType::Regclass);
        let value = reg_value(1259, "pg_class");
        assert_eq!(format_value(&value, class), "pg_class");
        assert_eq!(cast_value(&value, class, Type::OID).unwrap(), Value::I64(1259));
        assert_eq!(cast_value(&value, class, Type::Integer).unwrap(), Value::I32(1259));
        assert!(reg_value(2, "z") < reg_value(300, "a"));
    }

    #[test]
    fn texts_are_cut_to_the_kind() {
        let read = |text: &str, kind| parse(text, kind).unwrap();
        assert_eq!(read("abc", SystemType::Char).as_text(), Some("a"));
        let long = read(&"ä".repeat(40), SystemType::Name);
        assert_eq!(long.as_text().map(str::len), Some(62));
        assert_eq!(read(" 42 ", SystemType::Oid), Value::I64(42));
        assert_eq!(read("-1", SystemType::Oid), Value::I64(0xffff_ffff));
        assert!(parse("t", SystemType::Oid).is_err());
        assert!(parse("4294967296", SystemType::Oid).is_err());
    }
}
