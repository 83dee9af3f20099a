//! Columns and values of system relations.

use types::{Field, Type, Value};

pub(super) fn text(name: &str) -> Field {
    Field::new(name, Type::Text, false)
}

pub(super) fn number(name: &str) -> Field {
    Field::new(name, Type::BigInt, false)
}

pub(super) fn truth(name: &str) -> Field {
    Field::new(name, Type::Boolean, false)
}

pub(super) fn nullable(field: Field) -> Field {
    Field { nullable: true, ..field }
}

pub(super) fn count(value: u64) -> Value {
    Value::I64(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn maybe(value: Option<&str>) -> Value {
    value.map_or(Value::Null, Value::text)
}
