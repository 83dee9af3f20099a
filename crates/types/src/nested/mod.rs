//! Nested types: LIST, STRUCT, MAP and UNION, to any depth up to `NESTING_MAX`; and the labels of ENUM (`enums`), which are kept
//! in the same way.
//!
//! A nested type is a number in `Type`, which thereby stays eight bytes that are copied; what the number stands for is
//! kept here, once for each distinct type, as long as the process runs. The number is a hash of the type's name, so
//! that it means the same in another process that knows the type.
//!
//! A value is one byte string (`encoding`) whose order is the order of the values, so that everything that handles
//! byte strings handles nested values: hash tables, sorts, dictionaries, blocks, statistics.

mod casting;
pub mod encoding;
pub mod equality;
mod inner;
pub(crate) mod names;
mod text;
pub mod union;

pub(crate) use casting::cast_nested;
pub use casting::{Casts, castable, matched_fields};
pub(crate) use inner::Inner;
pub(crate) use text::{format, parse};

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use crate::{Error, Result, SqlState, Type};

/// Deepest nesting of a type: what walks over types and values recurses with it.
pub const NESTING_MAX: u32 = 64;
/// Distinct nested types that a process may come to know.
const KNOWN_MAX: usize = 1 << 20;

/// The number that stands for a nested type or an ENUM inside `Type`; equal numbers are equal types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NestedId(u32);

/// What a nested type is made of.
#[derive(Debug, PartialEq, Eq)]
pub struct Nested {
    /// The kind of the type, and its parts.
    pub shape: Shape,
    depth: u32,
    /// An enum's labels, by what they are held as.
    codes: HashMap<String, i32>,
}

impl Nested {
    /// The place of an enum's label, from 0; `None` when the type has no such label.
    pub(crate) fn code(&self, label: &str) -> Option<i32> {
        self.codes.get(label).copied()
    }
}

/// The types that are kept by number, and what each is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The element type.
    List(Type),
    /// `int2vector` or `oidvector` of the system catalog, by the element type: a list in all but two things, its text
    /// has no braces and its subscripts begin with 0. `Type::List` holds it, too.
    Vector(Type),
    /// Names and types, in order; a row of no names has empty ones.
    Struct(Vec<(String, Type)>),
    /// The types of key and value.
    Map(Type, Type),
    /// Names and types of the alternatives, in order.
    Union(Vec<(String, Type)>),
    /// Its name, where CREATE TYPE gave one, and its labels, in order.
    Enum {
        /// The name that CREATE TYPE gave it.
        name: Option<String>,
        /// The labels, in order.
        labels: Vec<String>,
    },
}

impl NestedId {
    pub(crate) fn of(shape: Shape) -> Result<NestedId> {
        intern(shape)
    }
    /// The number, by which a block names the type.
    pub fn number(self) -> u32 {
        self.0
    }
    /// The nested type of that number; `None` when this process knows none, as after reading a damaged file.
    pub fn from_number(number: u32) -> Option<NestedId> {
        let known = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.contains_key(&number).then_some(NestedId(number))
    }
    /// What the type is made of, kept as long as the process runs.
    pub fn get(self) -> &'static Nested {
        /// Types that a thread remembers, each in the slot of its number: few are in use at a time.
        const SLOTS: usize = 64;
        type Slot = Option<(NestedId, &'static Nested)>;
        thread_local! {
            /// What this thread has asked for: types are looked up for every value, and all threads share the lock. On the
            /// heap: a library that a process loads late has some hundred bytes for the state of threads, in all.
            static SEEN: Box<[Cell<Slot>; SLOTS]> = Box::new([const { Cell::new(None) }; SLOTS]);
        }
        let seen = SEEN.try_with(|seen| {
            let slot = &seen[self.0 as usize % SLOTS];
            match slot.get() {
                Some((id, nested)) if id == self => nested,
                _ => {
                    let nested = self.look_up();
                    slot.set(Some((self, nested)));
                    nested
                }
            }
        });
        seen.unwrap_or_else(|_| self.look_up())
    }
    fn look_up(self) -> &'static Nested {
        let known = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Numbers are only made by `intern`, which never forgets one.
        known[&self.0]
    }
}

fn known() -> &'static RwLock<HashMap<u32, &'static Nested>> {
    static KNOWN: OnceLock<RwLock<HashMap<u32, &'static Nested>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

/// What is inside of nested values is compared by its bytes: a text there has no collation.
fn without_collations(shape: Shape) -> Shape {
    let plain = |fields: Vec<(String, Type)>| {
        fields.into_iter().map(|(name, ty)| (name, ty.without_collation())).collect()
    };
    match shape {
        Shape::List(element) => Shape::List(element.without_collation()),
        Shape::Struct(fields) => Shape::Struct(plain(fields)),
        Shape::Map(key, value) => Shape::Map(key.without_collation(), value.without_collation()),
        Shape::Union(members) => Shape::Union(plain(members)),
        other => other,
    }
}

/// The number of a shape, known or new. A shape whose hash is taken by another one gets the next free number.
fn intern(shape: Shape) -> Result<NestedId> {
    let shape = without_collations(shape);
    let depth = 1 + match &shape {
        Shape::List(element) | Shape::Vector(element) => element.nesting(),
        Shape::Struct(fields) | Shape::Union(fields) => {
            fields.iter().map(|(_, ty)| ty.nesting()).max().unwrap_or(0)
        }
        Shape::Map(key, value) => key.nesting().max(value.nesting()),
        Shape::Enum { .. } => 0,
    };
    if depth > NESTING_MAX {
        return Err(Error::new(
            SqlState::StatementTooComplex,
            format!("a type is nested deeper than {NESTING_MAX} levels"),
        )
        .with_hint("keep what lies deeper as JSON"));
    }
    let mut known = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut number = hash(&shape);
    while let Some(other) = known.get(&number) {
        if other.shape == shape {
            return Ok(NestedId(number));
        }
        number = number.wrapping_add(1);
    }
    if known.len() >= KNOWN_MAX {
        return Err(Error::new(SqlState::OutOfMemory, "too many different nested types are in use"));
    }
    let codes = match &shape {
        Shape::Enum { labels, .. } => labels.iter().cloned().zip(0..).collect(),
        _ => HashMap::new(),
    };
    known.insert(number, Box::leak(Box::new(Nested { shape, depth, codes })));
    Ok(NestedId(number))
}

/// FNV-1a of what the type is made of, inner types by their numbers.
fn hash(shape: &Shape) -> u32 {
    let mut state = 0x811c_9dc5_u32;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            state = (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    };
    let mut add_type = |ty: Type| match ty {
        Type::List(id) | Type::Struct(id) | Type::Map(id) | Type::Union(id) | Type::Enum(id) => {
            add(&id.0.to_le_bytes());
        }
        other => add(other.sql_name().as_bytes()),
    };
    match shape {
        Shape::List(element) => {
            add_type(*element);
            add(b"list");
        }
        Shape::Vector(element) => {
            add_type(*element);
            add(b"vector");
        }
        Shape::Map(key, value) => {
            add_type(*key);
            add_type(*value);
            add(b"map");
        }
        Shape::Struct(fields) | Shape::Union(fields) => {
            for (_, ty) in fields {
                add_type(*ty);
            }
            for (name, _) in fields {
                add(name.as_bytes());
            }
            add(if matches!(shape, Shape::Struct(_)) { b"struct" } else { b"union" });
        }
        Shape::Enum { name, labels } => {
            labels.iter().for_each(|label| add(label.as_bytes()));
            add(name.as_deref().unwrap_or_default().as_bytes());
            add(b"enum");
        }
    }
    state
}

impl Type {
    /// The LIST type of that element type. Like `structure` and `map` it fails when the type is nested deeper than
    /// `NESTING_MAX`, or when the process knows too many types.
    pub fn list(element: Type) -> Result<Type> {
        intern(Shape::List(element)).map(Type::List)
    }
    /// The STRUCT type of these names and types; empty names make a row.
    pub fn structure(fields: Vec<(String, Type)>) -> Result<Type> {
        intern(Shape::Struct(fields)).map(Type::Struct)
    }
    /// The MAP type of that key and value type.
    pub fn map(key: Type, value: Type) -> Result<Type> {
        intern(Shape::Map(key, value)).map(Type::Map)
    }
    /// `int2vector`, or with `oid` elements `oidvector`; `None` for other elements.
    pub fn vector(element: Type) -> Option<Type> {
        let known = element == Type::SmallInt || element == Type::OID;
        known.then(|| intern(Shape::Vector(element)).ok()).flatten().map(Type::List)
    }
    /// Whether the type is `int2vector` or `oidvector`.
    pub fn is_vector(self) -> bool {
        matches!(self, Type::List(id) if matches!(id.get().shape, Shape::Vector(_)))
    }
    /// Whether the type is LIST, STRUCT, MAP or UNION; ENUM is not nested.
    pub fn is_nested(self) -> bool {
        matches!(self, Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_))
    }
    /// The type of a list's elements; `None` for other types.
    pub fn element(self) -> Option<Type> {
        let Type::List(id) = self else { return None };
        match id.get().shape {
            Shape::List(element) | Shape::Vector(element) => Some(element),
            _ => None,
        }
    }
    /// A struct's fields, in order; `None` for other types.
    pub fn fields(self) -> Option<&'static [(String, Type)]> {
        let Type::Struct(id) = self else { return None };
        match &id.get().shape {
            Shape::Struct(fields) => Some(fields),
            _ => None,
        }
    }
    /// The types of a map's keys and values; `None` for other types.
    pub fn entry(self) -> Option<(Type, Type)> {
        let Type::Map(id) = self else { return None };
        match id.get().shape {
            Shape::Map(key, value) => Some((key, value)),
            _ => None,
        }
    }
    /// Levels of nesting; 0 for a plain type and for an ENUM.
    pub fn nesting(self) -> u32 {
        match self {
            Type::List(id) | Type::Struct(id) | Type::Map(id) | Type::Union(id) => id.get().depth,
            _ => 0,
        }
    }
    /// Whether `wanted` holds for the type itself or for any type inside it.
    pub fn holds(self, wanted: &dyn Fn(Type) -> bool) -> bool {
        wanted(self)
            || match self {
                Type::List(_) => self.element().is_some_and(|e| e.holds(wanted)),
                Type::Struct(_) => self.fields().unwrap_or_default().iter().any(|(_, t)| t.holds(wanted)),
                Type::Union(_) => self.members().unwrap_or_default().iter().any(|(_, t)| t.holds(wanted)),
                Type::Map(_) => self.entry().is_some_and(|(k, v)| k.holds(wanted) || v.holds(wanted)),
                _ => false,
            }
    }
    /// The type with every plain type inside replaced by what `change` gives for it.
    pub fn with_leaves(self, change: &dyn Fn(Type) -> Type) -> Type {
        let changed = match self {
            Type::List(_) => self.element().map(|e| Type::list(e.with_leaves(change))),
            Type::Struct(_) => self.fields().map(|fields| {
                Type::structure(fields.iter().map(|(n, t)| (n.clone(), t.with_leaves(change))).collect())
            }),
            Type::Map(_) => {
                self.entry().map(|(k, v)| Type::map(k.with_leaves(change), v.with_leaves(change)))
            }
            Type::Union(_) => self.members().map(|members| {
                Type::union(members.iter().map(|(n, t)| (n.clone(), t.with_leaves(change))).collect())
            }),
            leaf => return change(leaf),
        };
        // The same shape is no deeper than before.
        changed.and_then(Result::ok).unwrap_or(self)
    }
    /// The name in SQL of a nested type.
    pub(crate) fn nested_name(self) -> String {
        match self {
            Type::List(_) if self.is_vector() => match self.element() {
                Some(Type::SmallInt) => "INT2VECTOR".to_owned(),
                _ => "OIDVECTOR".to_owned(),
            },
            Type::List(_) => format!("{}[]", self.element().unwrap_or(Type::Null).sql_name()),
            Type::Map(_) => {
                let (key, value) = self.entry().unwrap_or((Type::Null, Type::Null));
                format!("MAP({}, {})", key.sql_name(), value.sql_name())
            }
            _ => {
                let (word, parts) = match self.members() {
                    Some(members) => ("UNION(", members),
                    None => ("STRUCT(", self.fields().unwrap_or_default()),
                };
                let mut name = String::from(word);
                for (at, (field, ty)) in parts.iter().enumerate() {
                    if at > 0 {
                        name.push_str(", ");
                    }
                    if !field.is_empty() {
                        name.push_str(&crate::quote::name_if_needed(field));
                        name.push(' ');
                    }
                    name.push_str(&ty.sql_name());
                }
                name.push(')');
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_are_one() {
        let list = Type::list(Type::Integer).unwrap();
        assert_eq!(list, Type::list(Type::Integer).unwrap());
        assert_ne!(list, Type::list(Type::BigInt).unwrap());
        let record = Type::structure(vec![("a".into(), list), ("B c".into(), Type::Text)]).unwrap();
        assert_eq!(record.sql_name(), "STRUCT(a INTEGER[], \"B c\" TEXT)");
        assert_eq!(Type::map(Type::Text, record).unwrap().nesting(), 3);
        assert_eq!(size_of::<Type>(), 8);
    }

    #[test]
    fn vectors_are_lists_with_a_text_of_their_own() {
        let vector = Type::vector(Type::SmallInt).unwrap();
        let list = Type::list(Type::SmallInt).unwrap();
        assert_ne!(vector, list);
        assert_eq!((vector.element(), vector.sql_name().as_str()), (Some(Type::SmallInt), "INT2VECTOR"));
        assert_eq!(Type::from_sql_name("int2vector"), Some(vector));
        let value = parse("1 2 -3", vector, false, crate::cast::INNER).unwrap();
        assert_eq!(crate::cast::format_value(&value, vector), "1 2 -3");
        let as_list = crate::cast::cast_value(&value, vector, list).unwrap();
        assert_eq!(crate::cast::format_value(&as_list, list), "[1, 2, -3]");
        assert_eq!(Type::vector(Type::Text), None);
    }

    #[test]
    fn depth_is_bounded() {
        let mut ty = Type::Integer;
        for _ in 0..NESTING_MAX {
            ty = Type::list(ty).unwrap();
        }
        assert!(Type::list(ty).is_err());
    }
}
