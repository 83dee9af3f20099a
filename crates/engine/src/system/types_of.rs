//! Types in the words and numbers of the standard's `information_schema`, as PostgreSQL has them.

use types::Type;

/// The type's name as the information schema shows it, without digits or lengths.
pub(super) fn standard_name(ty: Type) -> &'static str {
    match ty {
        Type::Null => "unknown",
        Type::Boolean => "boolean",
        Type::SmallInt => "smallint",
        Type::Integer => "integer",
        Type::BigInt => "bigint",
        Type::TinyInt => "tinyint",
        Type::UTinyInt => "utinyint",
        Type::USmallInt => "usmallint",
        Type::UInteger => "uinteger",
        Type::UBigInt => "ubigint",
        Type::HugeInt => "hugeint",
        Type::UHugeInt => "uhugeint",
        Type::BigNum => "bignum",
        Type::Real => "real",
        Type::Double => "double precision",
        Type::Decimal { .. } => "numeric",
        Type::Char(_) => "character",
        Type::Varchar(_) => "character varying",
        Type::Text | Type::Collated(_) => "text",
        Type::Date => "date",
        Type::Time | Type::TimeNs => "time without time zone",
        Type::TimeTz => "time with time zone",
        Type::Timestamp | Type::TimestampS | Type::TimestampMs | Type::TimestampNs => {
            "timestamp without time zone"
        }
        Type::TimestampTz | Type::TimestampTzNs => "timestamp with time zone",
        Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime => "interval",
        Type::Bytea => "bytea",
        Type::Bit(_) => "bit",
        Type::VarBit(_) => "bit varying",
        Type::Uuid => "uuid",
        Type::Json => "json",
        Type::Jsonb => "jsonb",
        Type::System(kind) => kind.name(),
        Type::List(_) => "ARRAY",
        Type::Struct(_) | Type::Map(_) | Type::Union(_) | Type::Enum(_) => "USER-DEFINED",
    }
}

/// Length of text; precision, its radix and scale of numbers; precision of times.
pub(super) fn measures(ty: Type) -> [Option<i64>; 5] {
    let number = |bits: i64, scale: Option<i64>| [None, Some(bits), Some(2), scale, None];
    match ty {
        Type::SmallInt => number(16, Some(0)),
        Type::Integer => number(32, Some(0)),
        Type::BigInt => number(64, Some(0)),
        Type::TinyInt | Type::UTinyInt => number(8, Some(0)),
        Type::USmallInt => number(16, Some(0)),
        Type::UInteger => number(32, Some(0)),
        Type::UBigInt => number(64, Some(0)),
        Type::HugeInt | Type::UHugeInt => number(128, Some(0)),
        Type::Real => number(24, None),
        Type::Double => number(53, None),
        Type::Decimal { precision, scale } => {
            [None, Some(i64::from(precision)), Some(10), Some(i64::from(scale)), None]
        }
        Type::VarBit(0) => [None; 5],
        Type::Char(n) | Type::Varchar(n) | Type::Bit(n) | Type::VarBit(n) => {
            [Some(i64::from(n)), None, None, None, None]
        }
        Type::Date => [None, None, None, None, Some(0)],
        Type::TimestampS => [None, None, None, None, Some(0)],
        Type::TimestampMs => [None, None, None, None, Some(3)],
        Type::TimeNs | Type::TimestampNs | Type::TimestampTzNs => [None, None, None, None, Some(9)],
        Type::Time | Type::TimeTz | Type::Timestamp | Type::TimestampTz => [None, None, None, None, Some(6)],
        Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime => [None, None, None, None, Some(6)],
        _ => [None; 5],
    }
}
