//! The logical types of SQL and the physical types that carry them.
//!
//! The physical type is a function of the logical one, so functions take the logical one alone: a DECIMAL of at most
//! 18 digits is a 64-bit integer scaled by a power of ten, a wider one is 128 bits; dates count days and timestamps
//! microseconds from 1970-01-01; the restricted intervals count months (year-month) or microseconds (day-time),
//! INTERVAL packs months, days and microseconds (`interval`); a UUID is its 16 bytes read big-endian with the top bit
//! flipped, so that integer order is byte order.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Collation;
use crate::nested::NestedId;
use crate::system_kinds::{Storage, SystemType};

/// Digits that always fit a 64-bit integer.
pub const DECIMAL_64_PRECISION_MAX: u8 = 18;
/// Digits that always fit a 128-bit integer; SQL's DECIMAL ends here.
pub const DECIMAL_PRECISION_MAX: u8 = 38;
/// Largest length that BIT(n) and BIT VARYING(n) may declare, as in PostgreSQL.
pub const BITS_MAX: u32 = 83_886_080;

/// A logical SQL type with its parameters; eight bytes that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// The type of an untyped NULL, until its context fixes one.
    Null,
    /// BOOLEAN.
    Boolean,
    /// SMALLINT, 16 bits.
    SmallInt,
    /// INTEGER, 32 bits.
    Integer,
    /// BIGINT, 64 bits.
    BigInt,
    /// This and the next five types are integers narrower than the form that holds them: see `integers`.
    TinyInt,
    /// UTINYINT, 8 bits without a sign.
    UTinyInt,
    /// USMALLINT, 16 bits without a sign.
    USmallInt,
    /// UINTEGER, 32 bits without a sign.
    UInteger,
    /// UBIGINT, 64 bits without a sign.
    UBigInt,
    /// HUGEINT, 128 bits.
    HugeInt,
    /// Integers that 128 bits with a sign do not hold: see `wide`.
    UHugeInt,
    /// Integers of any size; see `wide`.
    BigNum,
    /// REAL, 32 bits.
    Real,
    /// DOUBLE PRECISION, 64 bits.
    Double,
    /// DECIMAL(p, s): whole numbers of its last digit.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits behind the point, at most `precision`.
        scale: u8,
    },
    /// CHAR(n): stored without trailing blanks, which never count in comparisons.
    Char(u32),
    /// VARCHAR(n): at most n characters.
    Varchar(u32),
    /// TEXT: UTF-8 of any length.
    Text,
    /// TEXT with a collation: see `collation`.
    Collated(Collation),
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Nanoseconds since midnight: see `time_ns`.
    TimeNs,
    /// A clock's reading and its zone's offset: see `time_tz`.
    TimeTz,
    /// Microseconds since 1970-01-01 00:00:00, no zone.
    Timestamp,
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    TimestampTz,
    /// Whole seconds; held as TIMESTAMP is, like the next: see `timestamp_units`.
    TimestampS,
    /// Whole milliseconds.
    TimestampMs,
    /// Nanoseconds since 1970-01-01 00:00:00, no zone.
    TimestampNs,
    /// Nanoseconds since 1970-01-01 00:00:00 UTC.
    TimestampTzNs,
    /// Months alone.
    IntervalYearMonth,
    /// Microseconds alone.
    IntervalDayTime,
    /// Months, days and microseconds: see `interval`.
    Interval,
    /// BYTEA: bytes.
    Bytea,
    /// BIT(n): see `bits`.
    Bit(u32),
    /// BIT VARYING(n); 0 is no limit.
    VarBit(u32),
    /// 128 bits in the order of the bytes: see the head of the file.
    Uuid,
    /// Text that is JSON.
    Json,
    /// JSON in one form, so that equal values are equal bytes: see `jsonb`.
    Jsonb,
    /// A type of the system catalog, such as `oid`: see `system_type`.
    System(SystemType),
    /// One of the labels that the type has: see `enums`.
    Enum(NestedId),
    /// LIST; like STRUCT and MAP one byte string: see `nested`.
    List(NestedId),
    /// STRUCT: named fields.
    Struct(NestedId),
    /// MAP: keys and values.
    Map(NestedId),
    /// One of several named alternatives: see `nested::union`.
    Union(NestedId),
}

/// How values of a type are held in vectors and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// One bit.
    Bool,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// 128 bits.
    I128,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// Text, BYTEA and nested values.
    Bytes,
}

impl Physical {
    /// Bytes of one value in a flat vector; strings count their 16-byte view.
    pub fn width(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::I128 | Self::Bytes => 16,
        }
    }
}

impl Type {
    /// The form in which vectors and blocks hold values of the type.
    pub fn physical(self) -> Physical {
        match self {
            Self::Null | Self::Boolean => Physical::Bool,
            Self::SmallInt | Self::TinyInt | Self::UTinyInt => Physical::I16,
            Self::Integer | Self::USmallInt | Self::Date | Self::IntervalYearMonth | Self::Enum(_) => {
                Physical::I32
            }
            Self::BigInt
            | Self::UInteger
            | Self::Time
            | Self::TimeNs
            | Self::TimeTz
            | Self::Timestamp
            | Self::TimestampTz
            | Self::TimestampS
            | Self::TimestampMs
            | Self::TimestampNs
            | Self::TimestampTzNs
            | Self::IntervalDayTime => Physical::I64,
            Self::Decimal { precision, .. } if precision <= DECIMAL_64_PRECISION_MAX => Physical::I64,
            Self::Decimal { .. } | Self::Uuid | Self::UBigInt | Self::HugeInt | Self::Interval => {
                Physical::I128
            }
            Self::System(kind) => match kind.storage() {
                Storage::Number => Physical::I64,
                Storage::Named | Storage::Text => Physical::Bytes,
            },
            Self::Real => Physical::F32,
            Self::Double => Physical::F64,
            Self::Char(_)
            | Self::Varchar(_)
            | Self::Text
            | Self::Collated(_)
            | Self::Json
            | Self::Jsonb
            | Self::Bytea
            | Self::UHugeInt
            | Self::BigNum
            | Self::Bit(_)
            | Self::VarBit(_)
            | Self::List(_)
            | Self::Struct(_)
            | Self::Map(_)
            | Self::Union(_) => Physical::Bytes,
        }
    }
    /// Whether values are UTF-8 text: CHAR, VARCHAR, TEXT, JSON, JSONB, `name` and kin.
    pub fn is_text(self) -> bool {
        match self {
            Self::Char(_) | Self::Varchar(_) | Self::Text | Self::Collated(_) | Self::Json | Self::Jsonb => {
                true
            }
            Self::System(kind) => kind.storage() == Storage::Text,
            _ => false,
        }
    }
    /// Whether the type is JSON or JSONB, whose text is checked when it becomes a value.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }
    /// Whether the type is REAL or DOUBLE PRECISION.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }
    /// Whether the type is DECIMAL, of any precision.
    pub fn is_decimal(self) -> bool {
        matches!(self, Self::Decimal { .. })
    }
    /// Whether the type is an integer, a float or a decimal.
    pub fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float() || self.is_decimal()
    }
    /// Whether the type is INTERVAL or one of the two restricted kinds.
    pub fn is_interval(self) -> bool {
        matches!(self, Self::Interval | Self::IntervalYearMonth | Self::IntervalDayTime)
    }
    /// Digits after the point of an exact numeric type; 0 for integers.
    pub fn scale(self) -> u8 {
        if let Self::Decimal { scale, .. } = self { scale } else { 0 }
    }
    /// Whether values of the two types can be compared and hashed by their held form, without a cast.
    pub fn same_representation(self, other: Type) -> bool {
        self == other
            // JSONB is one form of what a text may say in many.
            || (self.is_text() && other.is_text() && self != Self::Jsonb && other != Self::Jsonb)
            || (self.is_bits() && other.is_bits())
            || match (self, other) {
                (Self::Decimal { scale: a, .. }, Self::Decimal { scale: b, .. }) => {
                    a == b && self.physical() == other.physical()
                }
                _ => false,
            }
    }
    /// The type of a SQL name, in any case, or of a common alias of it, nested types included; `None` for an unknown
    /// name. Types made by CREATE TYPE are not looked up.
    pub fn from_sql_name(name: &str) -> Option<Type> {
        crate::nested::names::from_name(name, 0)
    }

    pub(crate) fn plain_from_sql_name(name: &str) -> Option<Type> {
        if let Some((text, collation)) = name.split_once(" COLLATE ") {
            let collation = collation.trim().trim_matches('"');
            return (text.trim() == "TEXT").then(|| Collation::named(collation).ok().map(Self::Collated))?;
        }
        let name = name.trim().to_ascii_uppercase();
        let (word, arguments) = match name.split_once('(') {
            Some((word, rest)) => (word.trim(), rest.trim().strip_suffix(')')?),
            None => (name.as_str(), ""),
        };
        let mut numbers = Vec::new();
        for part in arguments.split(',').filter(|_| !arguments.is_empty()) {
            numbers.push(part.trim().parse::<u32>().ok()?);
        }
        Some(match (word, numbers.as_slice()) {
            ("BOOLEAN" | "BOOL" | "LOGICAL", []) => Self::Boolean,
            ("SMALLINT" | "INT2" | "SHORT" | "INT16", []) => Self::SmallInt,
            ("INTEGER" | "INT" | "INT4" | "SIGNED" | "INT32", []) => Self::Integer,
            ("BIGINT" | "INT8" | "LONG" | "INT64", []) => Self::BigInt,
            ("REAL" | "FLOAT4", []) => Self::Real,
            ("DOUBLE PRECISION" | "DOUBLE" | "FLOAT" | "FLOAT8", []) => Self::Double,
            ("TINYINT" | "INT1", []) => Self::TinyInt,
            ("UTINYINT" | "UINT8", []) => Self::UTinyInt,
            ("USMALLINT" | "UINT16", []) => Self::USmallInt,
            ("UINTEGER" | "UINT32", []) => Self::UInteger,
            ("UBIGINT" | "UINT64", []) => Self::UBigInt,
            ("HUGEINT" | "INT128", []) => Self::HugeInt,
            ("UHUGEINT" | "UINT128", []) => Self::UHugeInt,
            ("BIGNUM", []) => Self::BigNum,
            ("DECIMAL" | "NUMERIC" | "DEC", []) => Self::Decimal { precision: 38, scale: 10 },
            ("DECIMAL" | "NUMERIC" | "DEC", [precision]) => Self::decimal(*precision, 0)?,
            ("DECIMAL" | "NUMERIC" | "DEC", [precision, scale]) => Self::decimal(*precision, *scale)?,
            ("CHAR" | "CHARACTER", []) => Self::Char(1),
            ("CHAR" | "CHARACTER", [n @ 1..=10_485_760]) => Self::Char(*n),
            ("VARCHAR" | "CHARACTER VARYING", [n @ 1..=10_485_760]) => Self::Varchar(*n),
            ("TEXT" | "VARCHAR" | "STRING" | "CHARACTER VARYING", []) => Self::Text,
            ("DATE", []) => Self::Date,
            ("TIME" | "TIME WITHOUT TIME ZONE", []) => Self::Time,
            ("TIME_NS", []) => Self::TimeNs,
            ("TIMETZ" | "TIME WITH TIME ZONE", []) => Self::TimeTz,
            ("TIMESTAMP" | "DATETIME" | "TIMESTAMP WITHOUT TIME ZONE", []) => Self::Timestamp,
            ("TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE", []) => Self::TimestampTz,
            ("TIMESTAMP_S", []) => Self::TimestampS,
            ("TIMESTAMP_MS", []) => Self::TimestampMs,
            ("TIMESTAMP_US", []) => Self::Timestamp,
            ("TIMESTAMP_NS", []) => Self::TimestampNs,
            ("TIMESTAMPTZ_NS", []) => Self::TimestampTzNs,
            ("INTERVAL", []) => Self::Interval,
            ("INTERVAL YEAR TO MONTH", []) => Self::IntervalYearMonth,
            ("INTERVAL DAY TO SECOND", []) => Self::IntervalDayTime,
            ("BYTEA" | "BLOB", []) => Self::Bytea,
            ("BIT", []) => Self::Bit(1),
            ("BIT", [n @ 1..=BITS_MAX]) => Self::Bit(*n),
            ("BIT VARYING" | "VARBIT" | "BITSTRING", []) => Self::BITS,
            ("BIT VARYING" | "VARBIT", [n @ 1..=BITS_MAX]) => Self::VarBit(*n),
            ("UUID", []) => Self::Uuid,
            ("JSON", []) => Self::Json,
            ("JSONB", []) => Self::Jsonb,
            ("INT2VECTOR", []) => Self::vector(Self::SmallInt)?,
            ("OIDVECTOR", []) => Self::vector(Self::OID)?,
            (word, []) => Self::System(SystemType::named(word)?),
            _ => return None,
        })
    }

    /// DECIMAL(precision, scale); `None` unless the precision is 1 to 38 and the scale at most the precision.
    pub fn decimal(precision: u32, scale: u32) -> Option<Type> {
        let fits = (1..=u32::from(DECIMAL_PRECISION_MAX)).contains(&precision) && scale <= precision;
        fits.then_some(Self::Decimal { precision: precision as u8, scale: scale as u8 })
    }

    /// The type as DDL and messages write it, with its parameters: `DECIMAL(10,2)`.
    pub fn sql_name(self) -> String {
        match self {
            Self::Null => "UNKNOWN".into(),
            Self::Boolean => "BOOLEAN".into(),
            Self::SmallInt => "SMALLINT".into(),
            Self::Integer => "INTEGER".into(),
            Self::BigInt => "BIGINT".into(),
            Self::TinyInt => "TINYINT".into(),
            Self::UTinyInt => "UTINYINT".into(),
            Self::USmallInt => "USMALLINT".into(),
            Self::UInteger => "UINTEGER".into(),
            Self::UBigInt => "UBIGINT".into(),
            Self::HugeInt => "HUGEINT".into(),
            Self::UHugeInt => "UHUGEINT".into(),
            Self::BigNum => "BIGNUM".into(),
            Self::TimeNs => "TIME_NS".into(),
            Self::Real => "REAL".into(),
            Self::Double => "DOUBLE PRECISION".into(),
            Self::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
            Self::Char(n) => format!("CHAR({n})"),
            Self::Varchar(n) => format!("VARCHAR({n})"),
            Self::Text => "TEXT".into(),
            Self::Collated(collation) => {
                format!("TEXT COLLATE {}", collation.written())
            }
            Self::Date => "DATE".into(),
            Self::Time => "TIME".into(),
            Self::TimeTz => "TIMETZ".into(),
            Self::Timestamp => "TIMESTAMP".into(),
            Self::TimestampTz => "TIMESTAMPTZ".into(),
            Self::TimestampS => "TIMESTAMP_S".into(),
            Self::TimestampMs => "TIMESTAMP_MS".into(),
            Self::TimestampNs => "TIMESTAMP_NS".into(),
            Self::TimestampTzNs => "TIMESTAMPTZ_NS".into(),
            Self::Interval => "INTERVAL".into(),
            Self::IntervalYearMonth => "INTERVAL YEAR TO MONTH".into(),
            Self::IntervalDayTime => "INTERVAL DAY TO SECOND".into(),
            Self::Bytea => "BYTEA".into(),
            Self::Bit(n) => format!("BIT({n})"),
            Self::VarBit(0) => "BIT VARYING".into(),
            Self::VarBit(n) => format!("BIT VARYING({n})"),
            Self::Uuid => "UUID".into(),
            Self::Json => "JSON".into(),
            Self::Jsonb => "JSONB".into(),
            Self::System(SystemType::Char) => SystemType::Char.name().into(),
            Self::System(kind) => kind.name().to_ascii_uppercase(),
            Self::Enum(_) => self.enum_name(),
            Self::List(_) | Self::Struct(_) | Self::Map(_) | Self::Union(_) => self.nested_name(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql_name())
    }
}

/// A named, typed column of a table or a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// As declared, without quotes.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// Whether it may hold NULL.
    pub nullable: bool,
}

impl Field {
    /// A column of that name and type.
    pub fn new(name: impl Into<String>, ty: Type, nullable: bool) -> Self {
        Field { name: name.into(), ty, nullable }
    }
}

/// An ordered list of columns; a clone shares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    fields: Arc<[Field]>,
}

impl Schema {
    /// A schema of these columns, in their order.
    pub fn new(fields: Vec<Field>) -> Self {
        Schema { fields: fields.into() }
    }
    /// The columns, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }
    /// Whether there are no columns, as for a statement without a result.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
    /// The place, from 0, of the first column with exactly this name; case counts. `None` when there is none.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }
}

/// The smallest and largest value of an integer-like physical type; `None` for the others.
pub fn physical_range(physical: Physical) -> Option<(i128, i128)> {
    Some(match physical {
        Physical::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Physical::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Physical::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Physical::I128 => (i128::MIN, i128::MAX),
        _ => return None,
    })
}
