//! Rows of a relation in the making, and values as its columns have them.

use types::nested::encoding::list_of;
use types::system_type::reg_value;
use types::{Physical, SystemType, Type, Value};

use crate::fixed::{self, Relation};

/// `pg_class`, as a class of objects.
pub(crate) const PG_CLASS: u32 = 1259;
/// And of others that objects with comments stand in.
pub(crate) const PG_TYPE: u32 = 1247;
pub(crate) const PG_DATABASE: u32 = 1262;
pub(crate) const PG_NAMESPACE: u32 = 2615;

/// The OID of the database; PostgreSQL's own databases end at 5.
pub(crate) const DATABASE: u32 = 16384 - 1;

/// Rows that are being made of a relation.
pub(crate) struct Rows {
    pub(super) relation: &'static Relation,
    /// What a column has that is not said.
    empty: Vec<Value>,
    pub(super) rows: Vec<Vec<Value>>,
}

impl Rows {
    pub(super) fn new(relation: &'static Relation) -> Rows {
        let fields = relation.schema.fields();
        let empty = fields.iter().map(|f| if f.nullable { Value::Null } else { empty_value(f.ty) }).collect();
        Rows { relation, empty, rows: fixed::rows(relation).to_vec() }
    }
    /// A row with these columns.
    pub(super) fn push(&mut self, given: Vec<(&str, Value)>) {
        let mut row = self.empty.clone();
        for (name, value) in given {
            match self.relation.place(name) {
                Some(at) => row[at] = value,
                None => debug_assert!(false, "{} has no column {name}", self.relation.name),
            }
        }
        self.rows.push(row);
    }
}

/// The empty value of a type.
fn empty_value(ty: Type) -> Value {
    if ty.is_reg() {
        return reg_value(0, "-");
    }
    if ty.is_nested() {
        return list_of([], ty.element().unwrap_or(Type::Null));
    }
    match ty.physical() {
        Physical::Bool => Value::Bool(false),
        Physical::Bytes => Value::text(""),
        Physical::F32 => Value::F32(0.0),
        Physical::F64 => Value::F64(0.0),
        physical => Value::from_i128(0, physical).unwrap_or(Value::Null),
    }
}

pub(super) fn oid(value: u32) -> Value {
    Value::I64(i64::from(value))
}
pub(super) fn text(value: &str) -> Value {
    Value::text(value)
}
pub(super) fn letter(value: char) -> Value {
    Value::text(value.encode_utf8(&mut [0; 4]))
}
pub(super) fn truth(value: bool) -> Value {
    Value::Bool(value)
}
pub(super) fn maybe(value: Option<&str>) -> Value {
    value.map_or(Value::Null, Value::text)
}
pub(super) fn small(value: usize) -> Value {
    Value::I16(i16::try_from(value).unwrap_or(i16::MAX))
}
/// Numbers of columns, from 1, of places, from 0.
pub(super) fn attribute_numbers(places: &[usize]) -> Value {
    let numbers: Vec<Value> = places.iter().map(|at| small(at + 1)).collect();
    list_of(&numbers, Type::SmallInt)
}
pub(super) fn smalls(values: impl Iterator<Item = i16>) -> Value {
    list_of(&values.map(Value::I16).collect::<Vec<_>>(), Type::SmallInt)
}
pub(super) fn oids(values: impl Iterator<Item = u32>) -> Value {
    list_of(&values.map(oid).collect::<Vec<_>>(), Type::System(SystemType::Oid))
}
