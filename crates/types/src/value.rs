//! One scalar value, in its physical form. Its meaning depends on a `Type` that callers keep along with it: an `I64`
//! may be a BIGINT, a DECIMAL or a timestamp.
//!
//! Values are for literals, bounds, statistics and results; vectors hold rows in bulk. Comparison and equality are
//! those of grouping: NULL equals NULL and sorts last, NaN equals NaN, and integers compare by value whatever their
//! width. The hash agrees with that equality.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Physical;

/// One scalar in the physical form of its type, which it does not carry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Value {
    /// NULL, of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// SMALLINT and narrower integers.
    I16(i16),
    /// INTEGER, dates, months, and labels of enums.
    I32(i32),
    /// BIGINT, times, and decimals of at most 18 digits.
    I64(i64),
    /// Wider integers and decimals.
    I128(i128),
    /// REAL.
    F32(f32),
    /// DOUBLE PRECISION.
    F64(f64),
    /// UTF-8 text or raw bytes.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    Bytes(Arc<[u8]>),
}

/// As bytes, which formats hold in one piece, not as a list of numbers.
fn write_bytes<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
    struct Bytes;
    impl<'de> Visitor<'de> for Bytes {
        type Value = Arc<[u8]>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }
        fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Arc<[u8]>, E> {
            Ok(bytes.into())
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Arc<[u8]>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes.into())
        }
    }
    deserializer.deserialize_bytes(Bytes)
}

impl Value {
    /// A text value.
    pub fn text(s: &str) -> Self {
        Value::Bytes(s.as_bytes().into())
    }
    /// Whether the value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// The value as a wide integer; `None` when it is not held as an integer of some width.
    pub fn as_i128(&self) -> Option<i128> {
        match self {
            Value::I16(v) => Some(i128::from(*v)),
            Value::I32(v) => Some(i128::from(*v)),
            Value::I64(v) => Some(i128::from(*v)),
            Value::I128(v) => Some(*v),
            _ => None,
        }
    }
    /// The value as a 64-bit integer; `None` when it is not held as an integer, or does not fit.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_i128().and_then(|v| i64::try_from(v).ok())
    }
    /// A REAL or DOUBLE PRECISION value; `None` for other forms, integers included.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::F32(v) => Some(f64::from(*v)),
            Value::F64(v) => Some(*v),
            _ => None,
        }
    }
    /// The bytes of a text, BYTEA or nested value; `None` for other forms.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Value::Bytes(b) = self { Some(b) } else { None }
    }
    /// The text; `None` for other forms, and for bytes that are not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        self.as_bytes().and_then(|b| std::str::from_utf8(b).ok())
    }
    /// The truth value; `None` for other forms and NULL.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(*b) } else { None }
    }
    /// The integer in the form `physical`; `None` when it does not fit, or the form is no integer's.
    pub fn from_i128(v: i128, physical: Physical) -> Option<Value> {
        match physical {
            Physical::I16 => i16::try_from(v).ok().map(Value::I16),
            Physical::I32 => i32::try_from(v).ok().map(Value::I32),
            Physical::I64 => i64::try_from(v).ok().map(Value::I64),
            Physical::I128 => Some(Value::I128(v)),
            _ => None,
        }
    }
    /// The form of the value; `None` for NULL, which is the same in every form.
    pub fn physical(&self) -> Option<Physical> {
        Some(match self {
            Value::Null => return None,
            Value::Bool(_) => Physical::Bool,
            Value::I16(_) => Physical::I16,
            Value::I32(_) => Physical::I32,
            Value::I64(_) => Physical::I64,
            Value::I128(_) => Physical::I128,
            Value::F32(_) => Physical::F32,
            Value::F64(_) => Physical::F64,
            Value::Bytes(_) => Physical::Bytes,
        })
    }
    /// Order of two non-NULL values of one physical type (integers of any width compare by value).
    /// NULL sorts last, as an ascending ORDER BY has it.
    pub fn total_cmp(&self, other: &Value) -> Ordering {
        use Value::{Bool, Bytes, F32, F64, Null};
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Bool(a), Bool(b)) => a.cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (F32(_) | F64(_), F32(_) | F64(_)) => {
                compare_f64(self.as_f64().unwrap_or(f64::NAN), other.as_f64().unwrap_or(f64::NAN))
            }
            _ => match (self.as_i128(), other.as_i128()) {
                (Some(a), Some(b)) => a.cmp(&b),
                // Values of unlike kinds never meet after binding; any fixed order will do.
                _ => self.rank().cmp(&other.rank()),
            },
        }
    }
    fn rank(&self) -> u8 {
        match self {
            Value::Null => 9,
            Value::Bool(_) => 0,
            Value::I16(_) | Value::I32(_) | Value::I64(_) | Value::I128(_) => 1,
            Value::F32(_) | Value::F64(_) => 2,
            Value::Bytes(_) => 3,
        }
    }
}

/// PostgreSQL's order of floats: NaN equals itself and is greater than everything; -0 equals 0.
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(order) => order,
        None => a.is_nan().cmp(&b.is_nan()),
    }
}

/// Equality is the grouping kind: NULL equals NULL and NaN equals NaN.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.total_cmp(other) == Ordering::Equal
    }
}
impl Eq for Value {}
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }
}
impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Value::Null => 0u8.hash(state),
            Value::Bool(b) => b.hash(state),
            Value::Bytes(b) => b.hash(state),
            Value::F32(_) | Value::F64(_) => {
                let f = self.as_f64().unwrap_or(f64::NAN);
                // One bit pattern per equality class.
                let canonical = if f.is_nan() {
                    f64::NAN
                } else if f == 0.0 {
                    0.0
                } else {
                    f
                };
                canonical.to_bits().hash(state);
            }
            _ => self.as_i128().hash(state),
        }
    }
}
