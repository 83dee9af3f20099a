//! The numbers by which files name types: those of blocks, the catalog and the log are the same, and never change.

use crate::Type;

/// Types with parameters, which stand behind the number.
pub const DECIMAL: u8 = 7;
pub const CHAR: u8 = 8;
pub const VARCHAR: u8 = 9;
pub const LIST: u8 = 20;
pub const STRUCT: u8 = 21;
pub const MAP: u8 = 22;
pub const ENUM: u8 = 31;
pub const BIT: u8 = 33;
pub const VARBIT: u8 = 34;

macro_rules! codes {
    ($($code:literal $plain:ident)*) => {
        impl Type {
            /// The type's number in files.
            pub fn code(self) -> u8 {
                match self {
                    $(Type::$plain => $code,)*
                    Type::Decimal { .. } => DECIMAL,
                    Type::Char(_) => CHAR,
                    Type::Varchar(_) => VARCHAR,
                    Type::List(_) => LIST,
                    Type::Struct(_) => STRUCT,
                    Type::Map(_) => MAP,
                    Type::Enum(_) => ENUM,
                    Type::Bit(_) => BIT,
                    Type::VarBit(_) => VARBIT,
                }
            }
            /// The type without parameters of this number.
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
    60 Jsonb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_types() {
        let with_parameters = [DECIMAL, CHAR, VARCHAR, LIST, STRUCT, MAP, ENUM, BIT, VARBIT];
        for code in 0..=u8::MAX {
            match Type::of_code(code) {
                Some(ty) => assert_eq!((ty.code(), with_parameters.contains(&code)), (code, false)),
                None => assert!(with_parameters.contains(&code) || code > MAP, "{code} names no type"),
            }
        }
    }
}
