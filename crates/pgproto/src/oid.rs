//! Which type of PostgreSQL stands for which of ours. `docs/internals/wire-types.md` has the table and the reasons.
//!
//! A type that PostgreSQL has is sent as itself. Integers that it lacks are sent as the next larger one, NUMERIC beyond
//! BIGINT. A LIST is an array of its innermost elements' type, with a dimension for each level; STRUCT and MAP are JSON,
//! which every client reads. An ENUM is text unless the catalog has an OID for it ([`TypeOids`]).

use types::Type;

/// The OIDs of the types that CREATE TYPE made, which the catalog keeps.
pub trait TypeOids {
    /// The OID of an enum and that of its array; `None` sends it as text.
    fn of_enum(&self, ty: Type) -> Option<EnumOids>;
}

/// The OIDs of one enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumOids {
    /// The type's own.
    pub oid: u32,
    /// That of arrays of it.
    pub array: u32,
}

/// Sends every enum as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextEnums;

impl TypeOids for TextEnums {
    fn of_enum(&self, _: Type) -> Option<EnumOids> {
        None
    }
}

/// A type as RowDescription has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireType {
    /// `pg_type.oid`.
    pub oid: u32,
    /// `pg_type.typlen`: bytes, or -1 where they vary.
    pub length: i16,
    /// The type's parameters (`pg_attribute.atttypmod`), or -1.
    pub modifier: i32,
}

/// The types of PostgreSQL that are sent or taken: OID, OID of the array, bytes.
macro_rules! wire_types {
    ($($name:ident $oid:literal $array:literal $length:literal)*) => {
        $(
            #[doc = concat!("The OID of PostgreSQL's type, `", stringify!($name), "`.")]
            pub const $name: u32 = $oid;
        )*
        /// The OID of the array of a type; `None` for a type that is not sent.
        pub fn array_of(oid: u32) -> Option<u32> {
            match oid {
                $($oid => Some($array),)*
                _ => None,
            }
        }
        /// The type whose array has this OID; `None` for an OID that is no array's.
        pub fn element_of(array: u32) -> Option<u32> {
            match array {
                $($array => Some($oid),)*
                _ => None,
            }
        }
        /// Bytes of a value in PostgreSQL's memory; -1 where it varies, and for types that are not known.
        pub fn length_of(oid: u32) -> i16 {
            match oid {
                $($oid => $length,)*
                _ => -1,
            }
        }
    };
}

wire_types! {
    BOOL 16 1000 1
    BYTEA 17 1001 -1
    CHAR 18 1002 1
    NAME 19 1003 64
    INT8 20 1016 8
    INT2 21 1005 2
    INT4 23 1007 4
    TEXT 25 1009 -1
    OID 26 1028 4
    JSON 114 199 -1
    FLOAT4 700 1021 4
    FLOAT8 701 1022 8
    BPCHAR 1042 1014 -1
    VARCHAR 1043 1015 -1
    DATE 1082 1182 4
    TIME 1083 1183 8
    TIMESTAMP 1114 1115 8
    TIMESTAMPTZ 1184 1185 8
    INTERVAL 1186 1187 16
    TIMETZ 1266 1270 12
    BIT 1560 1561 -1
    VARBIT 1562 1563 -1
    NUMERIC 1700 1231 -1
    UUID 2950 2951 16
    JSONB 3802 3807 -1
}

/// The OID of `int2vector`.
pub const INT2VECTOR: u32 = 22;
/// The OID of `oidvector`.
pub const OIDVECTOR: u32 = 30;
/// The OID of a literal whose type nothing has fixed.
pub const UNKNOWN: u32 = 705;
/// Bytes of a length that come before a modifier's own.
const VARHDRSZ: i32 = 4;
/// Bits of the fields in an INTERVAL's modifier, which stand above a precision that is not given.
const YEAR_TO_MONTH: i32 = (1 << 2 | 1 << 1) << 16 | 0xFFFF;
const DAY_TO_SECOND: i32 = (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12) << 16 | 0xFFFF;

fn numeric_modifier(precision: i32, scale: i32) -> i32 {
    (precision << 16 | scale) + VARHDRSZ
}

/// What PostgreSQL calls a type of ours.
pub fn describe(ty: Type, oids: &dyn TypeOids) -> WireType {
    let (oid, modifier) = match ty {
        // PostgreSQL describes a literal without a type as text.
        Type::Null | Type::Text | Type::Collated(_) => (TEXT, -1),
        Type::Boolean => (BOOL, -1),
        Type::TinyInt | Type::UTinyInt | Type::SmallInt => (INT2, -1),
        Type::USmallInt | Type::Integer => (INT4, -1),
        Type::UInteger | Type::BigInt => (INT8, -1),
        Type::UBigInt => (NUMERIC, numeric_modifier(20, 0)),
        Type::HugeInt => (NUMERIC, numeric_modifier(39, 0)),
        Type::UHugeInt | Type::BigNum => (NUMERIC, -1),
        Type::Real => (FLOAT4, -1),
        Type::Double => (FLOAT8, -1),
        Type::Decimal { precision, scale } => (NUMERIC, numeric_modifier(precision.into(), scale.into())),
        Type::Char(n) => (BPCHAR, n as i32 + VARHDRSZ),
        Type::Varchar(n) => (VARCHAR, n as i32 + VARHDRSZ),
        Type::Date => (DATE, -1),
        Type::Time | Type::TimeNs => (TIME, -1),
        Type::TimeTz => (TIMETZ, -1),
        Type::Timestamp | Type::TimestampS | Type::TimestampMs | Type::TimestampNs => (TIMESTAMP, -1),
        Type::TimestampTz | Type::TimestampTzNs => (TIMESTAMPTZ, -1),
        Type::Interval => (INTERVAL, -1),
        Type::IntervalYearMonth => (INTERVAL, YEAR_TO_MONTH),
        Type::IntervalDayTime => (INTERVAL, DAY_TO_SECOND),
        Type::Bytea => (BYTEA, -1),
        Type::Bit(n) => (BIT, n as i32),
        Type::VarBit(0) => (VARBIT, -1),
        Type::VarBit(n) => (VARBIT, n as i32),
        Type::Uuid => (UUID, -1),
        Type::Json | Type::Struct(_) | Type::Map(_) | Type::Union(_) => (JSON, -1),
        Type::Jsonb => (JSONB, -1),
        Type::System(kind) => {
            return WireType { oid: kind.oids().0, length: kind.length(), modifier: -1 };
        }
        Type::Enum(_) => {
            let oid = oids.of_enum(ty).map_or(TEXT, |known| known.oid);
            return WireType { oid, length: if oid == TEXT { -1 } else { 4 }, modifier: -1 };
        }
        Type::List(_) if ty.is_vector() => {
            let oid = if ty.element() == Some(Type::SmallInt) { INT2VECTOR } else { OIDVECTOR };
            return WireType { oid, length: -1, modifier: -1 };
        }
        Type::List(_) => {
            let (element, _) = innermost(ty);
            let described = describe(element, oids);
            let array = match (element, oids.of_enum(element)) {
                (Type::Enum(_), Some(known)) => known.array,
                (Type::System(kind), _) => kind.oids().1,
                _ => array_of(described.oid).unwrap_or(1009),
            };
            return WireType { oid: array, length: -1, modifier: described.modifier };
        }
    };
    WireType { oid, length: length_of(oid), modifier }
}

/// The type of what a list holds once all its levels are taken off, and how many there are.
pub fn innermost(ty: Type) -> (Type, usize) {
    let mut levels = 0;
    let mut inner = ty;
    while let Some(element) = inner.element() {
        inner = element;
        levels += 1;
    }
    (inner, levels)
}

/// The type of ours that a client's OID means for a parameter: for types of the catalog's own, what holds their values.
/// `None` for an OID that is not known, and for `unknown` and 0, which leave the type to the statement.
///
/// NUMERIC says no scale here: its type is that of the value ([`decode::numeric_type`](crate::decode::numeric_type)).
pub fn type_of(oid: u32) -> Option<Type> {
    Some(match oid {
        BOOL => Type::Boolean,
        BYTEA => Type::Bytea,
        CHAR | NAME | TEXT | BPCHAR | VARCHAR => Type::Text,
        INT8 => Type::BigInt,
        INT2 => Type::SmallInt,
        INT4 => Type::Integer,
        OID => Type::UInteger,
        JSON => Type::Json,
        FLOAT4 => Type::Real,
        FLOAT8 => Type::Double,
        DATE => Type::Date,
        TIME => Type::Time,
        TIMESTAMP => Type::Timestamp,
        TIMESTAMPTZ => Type::TimestampTz,
        INTERVAL => Type::Interval,
        TIMETZ => Type::TimeTz,
        BIT | VARBIT => Type::BITS,
        NUMERIC => Type::Decimal { precision: 38, scale: 10 },
        UUID => Type::Uuid,
        JSONB => Type::Jsonb,
        array => return Type::list(type_of(element_of(array)?)?).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_oids_of_postgresql() {
        let of = |ty: Type| {
            let found = describe(ty, &TextEnums);
            (found.oid, found.length, found.modifier)
        };
        assert_eq!(of(Type::Decimal { precision: 15, scale: 2 }), (1700, -1, 983_046));
        assert_eq!(of(Type::Varchar(7)), (1043, -1, 11));
        assert_eq!(of(Type::Char(1)), (1042, -1, 5));
        assert_eq!(of(Type::IntervalYearMonth), (1186, 16, 458_751));
        assert_eq!(of(Type::IntervalDayTime), (1186, 16, 470_351_871));
        assert_eq!(of(Type::Bit(3)), (1560, -1, 3));
        assert_eq!(of(Type::UInteger), (20, 8, -1));
        let list = Type::list(Type::list(Type::Varchar(3)).unwrap()).unwrap();
        assert_eq!(of(list), (1015, -1, 7));
        assert_eq!(of(Type::list(Type::map(Type::Text, Type::Date).unwrap()).unwrap()), (199, -1, -1));
        let mood = Type::enumeration(Some("mood"), vec!["sad".into()]).unwrap();
        assert_eq!((of(mood), of(Type::list(mood).unwrap())), ((25, -1, -1), (1009, -1, -1)));
        struct Known;
        impl TypeOids for Known {
            fn of_enum(&self, _: Type) -> Option<EnumOids> {
                Some(EnumOids { oid: 50_000, array: 50_001 })
            }
        }
        assert_eq!(describe(mood, &Known), WireType { oid: 50_000, length: 4, modifier: -1 });
        assert_eq!(describe(Type::list(mood).unwrap(), &Known).oid, 50_001);
        assert_eq!(type_of(1007), Type::list(Type::Integer).ok());
        assert_eq!((type_of(0), type_of(UNKNOWN), type_of(26)), (None, None, Some(Type::UInteger)));
    }
}
