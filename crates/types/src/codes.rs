//! The codes of types in files. Blocks, the catalog and the log use the same codes, and a code never changes its
//! meaning.

use crate::Type;

/// DECIMAL. Like the types below it has parameters, which a file keeps together with the code.
pub const DECIMAL: u8 = 7;
/// CHAR(n), with its length.
pub const CHAR: u8 = 8;
/// VARCHAR(n), with its length.
pub const VARCHAR: u8 = 9;
/// LIST, with its element type.
pub const LIST: u8 = 20;
/// STRUCT, with its fields.
pub const STRUCT: u8 = 21;
/// MAP, with the types of key and value.
pub const MAP: u8 = 22;
/// ENUM, with its labels.
pub const ENUM: u8 = 31;
/// A type of the system catalog, with the code of its kind.
pub const SYSTEM: u8 = 70;
/// `int2vector` and `oidvector`, with the element type.
pub const VECTOR: u8 = 71;
/// UNION, with its members.
pub const UNION: u8 = 43;
/// TEXT with a collation, with the collation's code.
pub const COLLATED: u8 = 61;
/// BIT(n), with its length.
pub const BIT: u8 = 33;
/// BIT VARYING(n), with its limit; 0 is no limit.
pub const VARBIT: u8 = 34;

macro_rules! codes {
    ($($code:literal $plain:ident)*) => {
        impl Type {
            /// The type's code in files; the parameters are written separately.
            pub fn code(self) -> u8 {
                match self {
                    $(Type::$plain => $code,)*
                    Type::Decimal { .. } => DECIMAL,
                    Type::Char(_) => CHAR,
                    Type::Varchar(_) => VARCHAR,
                    Type::List(_) if self.is_vector() => VECTOR,
                    Type::List(_) => LIST,
                    Type::Struct(_) => STRUCT,
                    Type::Map(_) => MAP,
                    Type::Union(_) => UNION,
                    Type::Enum(_) => ENUM,
                    Type::System(_) => SYSTEM,
                    Type::Bit(_) => BIT,
                    Type::VarBit(_) => VARBIT,
                    Type::Collated(_) => COLLATED,
                }
            }
            /// The type of this code; `None` for an unknown code and for those of types with parameters.
            pub fn of_code(code: u8) -> Option<Type> {
                match code {
                    $($code => Some(Type::$plain),)*
                    _ => None,
                }
            }
        }
    };
}
codes! {
    0 Null
    1 Boolean
    2 SmallInt
    3 Integer
    4 BigInt
    5 Real
    6 Double
    10 Text
    11 Date
    12 Time
    13 Timestamp
    14 TimestampTz
    15 IntervalYearMonth
    16 IntervalDayTime
    17 Bytea
    18 Uuid
    19 Json
    23 TinyInt
    24 UTinyInt
    25 USmallInt
    26 UInteger
    27 UBigInt
    28 HugeInt
    30 Interval
    32 TimeTz
    40 TimestampS
    41 TimestampMs
    42 TimestampNs
    44 TimestampTzNs
    45 UHugeInt
    46 BigNum
    47 TimeNs
    60 Jsonb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_types() {
        let with_parameters =
            [DECIMAL, CHAR, VARCHAR, LIST, STRUCT, MAP, UNION, ENUM, BIT, VARBIT, SYSTEM, VECTOR, COLLATED];
        for code in 0..=u8::MAX {
            match Type::of_code(code) {
                Some(ty) => assert_eq!((ty.code(), with_parameters.contains(&code)), (code, false)),
                None => assert!(with_parameters.contains(&code) || code > MAP, "{code} names no type"),
            }
        }
    }
}
