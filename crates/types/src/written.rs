//! Types as encoded documents hold them, and the document's scope.
//!
//! A plain type is its name and its parameters. A nested type or an ENUM is a number inside `Type` that means nothing to
//! another process, so it is written by its shape, and becomes a number again where it is read:
//!
//! ```text
//!  INTEGER[]                    New [ Leaf INTEGER, List 0 ]
//!  STRUCT(a INTEGER[], b TEXT)  New [ Leaf INTEGER, List 0, Leaf TEXT, Struct [(a, 1), (b, 2)] ]
//!  the same once more           Known 1
//! ```
//! Parts name parts before them, so that reading does not recurse; the last one is the type. Within a document
//! ([`within_document`]) a type is written once, and named by its number in the document from then on.
//!
//! Nothing that is read is trusted: parameters are in their ranges, parts are few, and what a type amounts to with all
//! its parts written out is bounded, as walks over types visit each of them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bits::BITS_MAX;
use crate::{Result, SystemType, Type};

/// Most plain and nested types that a type may amount to.
const NODES_MAX: usize = 1 << 16;
/// Most nested types of a document: each is kept as long as the process runs.
const DOCUMENT_TYPES_MAX: usize = 1 << 16;
/// Longest CHAR and VARCHAR.
const CHARACTERS_MAX: u32 = 10_485_760;

/// The nested types of a document, in the order in which it says them.
#[derive(Default)]
struct Document {
    types: Vec<Type>,
    numbers: HashMap<Type, u32>,
}

thread_local! {
    static DOCUMENT: RefCell<Option<Document>> = const { RefCell::new(None) };
}

/// Runs `work`, which writes or reads one document on this thread: nested types are written once in it.
pub fn within_document<T>(work: impl FnOnce() -> T) -> T {
    struct Before(Option<Document>);
    impl Drop for Before {
        fn drop(&mut self) {
            DOCUMENT.set(self.0.take());
        }
    }
    let _before = Before(DOCUMENT.replace(Some(Document::default())));
    work()
}

/// A type as it is written.
#[derive(Serialize, Deserialize)]
enum Form {
    Null,
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    TinyInt,
    UTinyInt,
    USmallInt,
    UInteger,
    UBigInt,
    HugeInt,
    Real,
    Double,
    Decimal(u8, u8),
    Char(u32),
    Varchar(u32),
    Text,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    IntervalYearMonth,
    IntervalDayTime,
    Interval,
    Bytea,
    Bit(u32),
    VarBit(u32),
    Uuid,
    Json,
    Jsonb,
    System(SystemType),
    /// The document's nested type of that number.
    Known(u32),
    /// A nested type that the document has not said before.
    New(Vec<Part>),
    TimestampS,
    TimestampMs,
    TimestampNs,
    TimestampTzNs,
    UHugeInt,
    BigNum,
    TimeNs,
    Collated(u32),
}

/// A part of a nested type; numbers are places in the list of parts.
#[derive(Serialize, Deserialize)]
enum Part {
    Leaf(Form),
    List(u32),
    Vector(u32),
    Struct(Vec<(String, u32)>),
    Map(u32, u32),
    Enum(Option<String>, Vec<String>),
    Union(Vec<(String, u32)>),
}

impl Form {
    /// The form of a type that is its name and parameters; `None` for nested types and ENUM.
    fn plain(ty: Type) -> Option<Form> {
        Some(match ty {
            Type::Null => Self::Null,
            Type::Boolean => Self::Boolean,
            Type::SmallInt => Self::SmallInt,
            Type::Integer => Self::Integer,
            Type::BigInt => Self::BigInt,
            Type::TinyInt => Self::TinyInt,
            Type::UTinyInt => Self::UTinyInt,
            Type::USmallInt => Self::USmallInt,
            Type::UInteger => Self::UInteger,
            Type::UBigInt => Self::UBigInt,
            Type::HugeInt => Self::HugeInt,
            Type::Real => Self::Real,
            Type::Double => Self::Double,
            Type::Decimal { precision, scale } => Self::Decimal(precision, scale),
            Type::Char(n) => Self::Char(n),
            Type::Varchar(n) => Self::Varchar(n),
            Type::Text => Self::Text,
            Type::Date => Self::Date,
            Type::Time => Self::Time,
            Type::TimeTz => Self::TimeTz,
            Type::Timestamp => Self::Timestamp,
            Type::TimestampTz => Self::TimestampTz,
            Type::TimestampS => Self::TimestampS,
            Type::TimestampMs => Self::TimestampMs,
            Type::TimestampNs => Self::TimestampNs,
            Type::TimestampTzNs => Self::TimestampTzNs,
            Type::UHugeInt => Self::UHugeInt,
            Type::BigNum => Self::BigNum,
            Type::TimeNs => Self::TimeNs,
            Type::Collated(collation) => Self::Collated(collation.code()),
            Type::IntervalYearMonth => Self::IntervalYearMonth,
            Type::IntervalDayTime => Self::IntervalDayTime,
            Type::Interval => Self::Interval,
            Type::Bytea => Self::Bytea,
            Type::Bit(n) => Self::Bit(n),
            Type::VarBit(n) => Self::VarBit(n),
            Type::Uuid => Self::Uuid,
            Type::Json => Self::Json,
            Type::Jsonb => Self::Jsonb,
            Type::System(kind) => Self::System(kind),
            Type::Enum(_) | Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_) => return None,
        })
    }

    /// The type of a plain form whose parameters are in range.
    fn as_plain(&self) -> Option<Type> {
        Some(match *self {
            Self::Null => Type::Null,
            Self::Boolean => Type::Boolean,
            Self::SmallInt => Type::SmallInt,
            Self::Integer => Type::Integer,
            Self::BigInt => Type::BigInt,
            Self::TinyInt => Type::TinyInt,
            Self::UTinyInt => Type::UTinyInt,
            Self::USmallInt => Type::USmallInt,
            Self::UInteger => Type::UInteger,
            Self::UBigInt => Type::UBigInt,
            Self::HugeInt => Type::HugeInt,
            Self::Real => Type::Real,
            Self::Double => Type::Double,
            Self::Decimal(precision, scale) => Type::decimal(precision.into(), scale.into())?,
            Self::Char(n @ 1..=CHARACTERS_MAX) => Type::Char(n),
            Self::Varchar(n @ 1..=CHARACTERS_MAX) => Type::Varchar(n),
            Self::Text => Type::Text,
            Self::Date => Type::Date,
            Self::Time => Type::Time,
            Self::TimeTz => Type::TimeTz,
            Self::Timestamp => Type::Timestamp,
            Self::TimestampTz => Type::TimestampTz,
            Self::TimestampS => Type::TimestampS,
            Self::TimestampMs => Type::TimestampMs,
            Self::TimestampNs => Type::TimestampNs,
            Self::TimestampTzNs => Type::TimestampTzNs,
            Self::UHugeInt => Type::UHugeInt,
            Self::BigNum => Type::BigNum,
            Self::TimeNs => Type::TimeNs,
            Self::Collated(code) => Type::Collated(crate::Collation::of_code(code)?),
            Self::IntervalYearMonth => Type::IntervalYearMonth,
            Self::IntervalDayTime => Type::IntervalDayTime,
            Self::Interval => Type::Interval,
            Self::Bytea => Type::Bytea,
            Self::Bit(n @ 1..=BITS_MAX) => Type::Bit(n),
            Self::VarBit(n @ 0..=BITS_MAX) => Type::VarBit(n),
            Self::Uuid => Type::Uuid,
            Self::Json => Type::Json,
            Self::Jsonb => Type::Jsonb,
            Self::System(kind) => Type::System(kind),
            Self::Char(_)
            | Self::Varchar(_)
            | Self::Bit(_)
            | Self::VarBit(_)
            | Self::Known(_)
            | Self::New(_) => return None,
        })
    }
}

/// Appends the parts of a type that are not among them, and gives the place of the last one. `None` for more parts than
/// can be read. It recurses no deeper than types are nested.
fn take_apart(ty: Type, parts: &mut Vec<Part>, known: &mut HashMap<Type, u32>) -> Option<u32> {
    if let Some(at) = known.get(&ty) {
        return Some(*at);
    }
    let part = match ty {
        Type::List(_) if ty.is_vector() => Part::Vector(take_apart(ty.element()?, parts, known)?),
        Type::List(_) => Part::List(take_apart(ty.element()?, parts, known)?),
        Type::Map(_) => {
            let (key, value) = ty.entry()?;
            Part::Map(take_apart(key, parts, known)?, take_apart(value, parts, known)?)
        }
        Type::Struct(_) => {
            let mut fields = Vec::new();
            for (name, field) in ty.fields()? {
                fields.push((name.clone(), take_apart(*field, parts, known)?));
            }
            Part::Struct(fields)
        }
        Type::Union(_) => {
            let mut members = Vec::new();
            for (name, member) in ty.members()? {
                members.push((name.clone(), take_apart(*member, parts, known)?));
            }
            Part::Union(members)
        }
        Type::Enum(_) => Part::Enum(ty.given_name().map(str::to_owned), ty.labels()?.to_vec()),
        plain => Part::Leaf(Form::plain(plain)?),
    };
    let at = u32::try_from(parts.len()).ok().filter(|_| parts.len() < NODES_MAX)?;
    parts.push(part);
    known.insert(ty, at);
    Some(at)
}

/// Names with the types of their parts, and how many types these amount to with the one that they make; `None` for
/// unknown parts and for too many.
#[allow(clippy::type_complexity)]
fn named_parts(
    parts: Vec<(String, u32)>,
    find: &dyn Fn(u32) -> Option<(Type, usize)>,
) -> Option<(Vec<(String, Type)>, usize)> {
    let mut nodes = 1;
    let mut known = Vec::with_capacity(parts.len());
    for (name, at) in parts {
        let (ty, more) = find(at)?;
        nodes += more;
        if nodes > NODES_MAX {
            return None;
        }
        known.push((name, ty));
    }
    Some((known, nodes))
}

/// The type that the last part is; `None` where the parts make none. Types are interned, with their own limit of depth.
fn put_together(parts: Vec<Part>) -> Result<Option<Type>> {
    if parts.len() > NODES_MAX {
        return Ok(None);
    }
    // Each part's type, and how many types it amounts to.
    let mut made: Vec<(Type, usize)> = Vec::with_capacity(parts.len());
    for part in parts {
        let find = |at: u32| made.get(at as usize).copied();
        let found = match part {
            Part::Leaf(form) => form.as_plain().map(|ty| (ty, 1)),
            Part::List(at) => match find(at) {
                Some((element, nodes)) => Some((Type::list(element)?, nodes + 1)),
                None => None,
            },
            Part::Vector(at) => find(at).and_then(|(element, _)| Type::vector(element)).map(|ty| (ty, 2)),
            Part::Map(key, value) => match (find(key), find(value)) {
                (Some((key, a)), Some((value, b))) => Some((Type::map(key, value)?, a + b + 1)),
                _ => None,
            },
            Part::Struct(fields) => match named_parts(fields, &find) {
                Some((fields, nodes)) => Some((Type::structure(fields)?, nodes)),
                None => None,
            },
            Part::Union(members) => match named_parts(members, &find) {
                Some((members, nodes)) => Some((Type::union(members)?, nodes)),
                None => None,
            },
            Part::Enum(name, labels) => Some((Type::enumeration(name.as_deref(), labels)?, 1)),
        };
        match found {
            Some(found) if found.1 <= NODES_MAX => made.push(found),
            _ => return Ok(None),
        }
    }
    Ok(made.last().map(|(ty, _)| *ty))
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if let Some(plain) = Form::plain(*self) {
            return plain.serialize(serializer);
        }
        let known = DOCUMENT.with_borrow_mut(|document| {
            let document = document.as_mut()?;
            let next = document.numbers.len() as u32;
            match document.numbers.entry(*self) {
                std::collections::hash_map::Entry::Occupied(known) => Some(*known.get()),
                std::collections::hash_map::Entry::Vacant(new) => {
                    new.insert(next);
                    None
                }
            }
        });
        if let Some(number) = known {
            return Form::Known(number).serialize(serializer);
        }
        let mut parts = Vec::new();
        match take_apart(*self, &mut parts, &mut HashMap::new()) {
            Some(_) => Form::New(parts).serialize(serializer),
            None => Err(S::Error::custom("a type has too many parts")),
        }
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Known(number) => DOCUMENT
                .with_borrow(|document| document.as_ref()?.types.get(number as usize).copied())
                .ok_or_else(|| D::Error::custom("a type that the document has not said")),
            Form::New(parts) => {
                let ty = put_together(parts)
                    .map_err(|error| D::Error::custom(error.message()))?
                    .filter(|ty| Form::plain(*ty).is_none())
                    .ok_or_else(|| D::Error::custom("the parts of a type do not make one"))?;
                let kept = DOCUMENT.with_borrow_mut(|document| {
                    let Some(document) = document else { return true };
                    document.types.push(ty);
                    document.types.len() <= DOCUMENT_TYPES_MAX
                });
                if kept { Ok(ty) } else { Err(D::Error::custom("the document has too many nested types")) }
            }
            plain => plain
                .as_plain()
                .ok_or_else(|| D::Error::custom("a type whose length, precision or scale is out of range")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(types: &[Type]) -> Vec<Type> {
        let text = within_document(|| serde_json::to_string(types).unwrap());
        within_document(|| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn types_come_back() {
        let list = Type::list(Type::Integer).unwrap();
        let mood = Type::enumeration(Some("mood"), vec!["sad".into(), "ok".into()]).unwrap();
        let record =
            Type::structure(vec![("a".into(), list), ("b".into(), mood), ("c".into(), list)]).unwrap();
        let all = [
            Type::Decimal { precision: 38, scale: 38 },
            record,
            Type::Varchar(7),
            list,
            Type::map(Type::Text, record).unwrap(),
            record,
            Type::BITS,
            mood,
            Type::structure(vec![]).unwrap(),
            Type::union(vec![("n".into(), Type::Integer), ("l".into(), list)]).unwrap(),
            Type::TimestampNs,
        ];
        assert_eq!(again(&all), all);
        let text = within_document(|| serde_json::to_string(&[record, record, list]).unwrap());
        assert_eq!(text.matches("sad").count(), 1, "{text}");
        // Without a document a type stands for itself.
        assert_eq!(serde_json::from_str::<Type>(&serde_json::to_string(&record).unwrap()).unwrap(), record);
    }

    #[test]
    fn parts_that_make_no_type_are_refused() {
        for wrong in [
            r#"{"Known":0}"#,
            r#"{"New":[]}"#,
            r#"{"New":[{"List":0}]}"#,
            r#"{"New":[{"Leaf":"Integer"}]}"#,
            r#"{"New":[{"Leaf":"Integer"},{"List":2}]}"#,
            r#"{"New":[{"Leaf":{"New":[]}},{"List":0}]}"#,
            r#"{"New":[{"Enum":[null,["a","a"]]}]}"#,
            r#"{"Decimal":[39,0]}"#,
            r#"{"Decimal":[5,6]}"#,
            r#"{"Char":0}"#,
        ] {
            assert!(serde_json::from_str::<Type>(wrong).is_err(), "{wrong}");
        }
        // What a few parts amount to is bounded, and so is their depth.
        let doubling: Vec<String> =
            (0..40).map(|at| format!(r#"{{"Struct":[["a",{at}],["b",{at}]]}}"#)).collect();
        let wrong = format!(r#"{{"New":[{{"Leaf":"Integer"}},{}]}}"#, doubling.join(","));
        assert!(serde_json::from_str::<Type>(&wrong).is_err());
        let deep: Vec<String> = (0..70).map(|at| format!(r#"{{"List":{at}}}"#)).collect();
        let wrong = format!(r#"{{"New":[{{"Leaf":"Integer"}},{}]}}"#, deep.join(","));
        assert!(serde_json::from_str::<Type>(&wrong).is_err());
    }
}
