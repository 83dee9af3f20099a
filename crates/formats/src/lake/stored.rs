//! Columns of a table in its files: found by identifier or name, brought to the table's types.
//!
//! A table's columns are renamed, moved, added, dropped and widened while its files stay as they were written, at every
//! level of nesting. [`Shape`] says what is to be done with a column's values: mostly nothing. Only what the table
//! formats let change is converted; any other difference is an error that names both types.

use std::collections::HashMap;

use plan::lake::StoredColumn;
use types::nested::encoding::{END, elements, entries, fields, list_of, push_slot, slot_value, struct_of};
use types::{Error, Result, SqlState, Type, Value, cast};
use vector::Vector;

/// A column as a file has it.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its name.
    pub name: String,
    /// The identifier that its field has.
    pub id: Option<i32>,
    /// Its type here.
    pub ty: Type,
    /// What stands inside, as in `StoredColumn`.
    pub inner: Vec<Found>,
}

/// What is done with the values of a file's column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Nothing.
    Same,
    /// They have another type of the same form.
    Retyped,
    /// They are cast to the first type, and have then the other one, of the same form.
    Cast(Type, Type),
    /// Bytes, which must be UTF-8.
    Utf8,
    /// The fields of a struct by their place in the file's; `None` is a value of its own.
    Struct(Vec<Field>),
    List(Box<Shape>),
    Map(Box<(Shape, Shape)>),
}

/// A field of the table's struct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    At(usize, Shape),
    Missing(Value),
}

/// The place of a stored column among those of a file, or of a struct in one.
pub(crate) fn place(path: &str, stored: &StoredColumn, found: &[Found]) -> Result<Option<usize>> {
    if let Some(id) = stored.id {
        if found.iter().any(|column| column.id.is_some()) {
            return Ok(found.iter().position(|column| column.id == Some(id)));
        }
        if stored.names.is_empty() {
            let message =
                format!("the columns of \"{path}\" have no field identifiers, by which its table finds them");
            return Err(Error::unsupported(message).with_hint("give the table a name mapping"));
        }
    }
    let by_name = |name: &String| found.iter().position(|column| column.name == *name);
    Ok(stored.names.iter().find_map(by_name))
}

/// What makes a file's column the table's.
pub(crate) fn shape(path: &str, stored: &StoredColumn, found: &Found) -> Result<Shape> {
    let differs = || {
        let name = stored.names.first().unwrap_or(&found.name);
        let (from, to) = (found.ty.sql_name(), stored.ty.sql_name());
        let message = format!("column \"{name}\" of \"{path}\" is {from}, where its table has {to}");
        Error::new(SqlState::DatatypeMismatch, message)
    };
    let of_bytes = |shape: &Shape| matches!(shape, Shape::Same | Shape::Retyped);
    let inner = |at: usize| match (stored.inner.get(at), found.inner.get(at)) {
        (Some(stored), Some(found)) => shape(path, stored, found),
        _ => Err(differs()),
    };
    let renamed = || if found.ty == stored.ty { Shape::Same } else { Shape::Retyped };
    if stored.ty.fields().is_some() {
        if found.ty.fields().is_none() {
            return Err(differs());
        }
        let mut all = Vec::with_capacity(stored.inner.len());
        for field in &stored.inner {
            all.push(match place(path, field, &found.inner)? {
                Some(at) => Field::At(at, shape(path, field, &found.inner[at])?),
                None => Field::Missing(field.missing.clone()),
            });
        }
        let in_place = |(at, field): (usize, &Field)| matches!(field, Field::At(place, shape) if *place == at && of_bytes(shape));
        let same = all.len() == found.inner.len() && all.iter().enumerate().all(in_place);
        return Ok(if same { renamed() } else { Shape::Struct(all) });
    }
    if stored.ty.element().is_some() {
        found.ty.element().ok_or_else(differs)?;
        let element = inner(0)?;
        return Ok(if of_bytes(&element) { renamed() } else { Shape::List(Box::new(element)) });
    }
    if stored.ty.entry().is_some() {
        found.ty.entry().ok_or_else(differs)?;
        let (key, value) = (inner(0)?, inner(1)?);
        let same = of_bytes(&key) && of_bytes(&value);
        return Ok(if same { renamed() } else { Shape::Map(Box::new((key, value))) });
    }
    plain(found.ty, stored.ty).ok_or_else(differs)
}

/// What makes a plain value one of another type, where table formats let types change so.
fn plain(from: Type, to: Type) -> Option<Shape> {
    use Type::{
        BigInt, Bytea, Date, Decimal, Double, Integer, Real, SmallInt, Text, Timestamp, TimestampMs,
        TimestampNs, TimestampTz, TimestampTzNs, TinyInt,
    };
    Some(match (from, to) {
        _ if from == to => Shape::Same,
        // Writers of instants do not always say that these are in UTC, as they are.
        (Timestamp, TimestampTz) | (TimestampTz, Timestamp) | (Text, Bytea) => Shape::Retyped,
        (TimestampNs, TimestampTz) | (TimestampNs | TimestampMs, Timestamp) => Shape::Cast(Timestamp, to),
        (TimestampTzNs, Timestamp | TimestampTz) => Shape::Cast(TimestampTz, to),
        (TimestampNs, TimestampTzNs) | (TimestampTzNs, TimestampNs) => Shape::Retyped,
        (TimestampMs, TimestampTz) => Shape::Cast(Timestamp, to),
        (Bytea, Text) => Shape::Utf8,
        (TinyInt, SmallInt | Integer | BigInt)
        | (SmallInt, Integer | BigInt | TinyInt)
        | (Integer, BigInt | SmallInt | TinyInt)
        | (Real | TinyInt | SmallInt | Integer, Double)
        | (Date, Timestamp)
        | (TinyInt | SmallInt | Integer | BigInt, Decimal { .. }) => Shape::Cast(to, to),
        (Decimal { precision: p, scale: s }, Decimal { precision, scale })
            if scale >= s && precision - scale >= p - s =>
        {
            Shape::Cast(to, to)
        }
        _ => return None,
    })
}

impl Shape {
    /// A column of a file as the table's.
    pub(crate) fn applied(&self, path: &str, vector: Vector, to: Type) -> Result<Vector> {
        let from = vector.ty();
        match self {
            Shape::Same => return Ok(vector),
            Shape::Retyped => return Ok(vector.with_type(to)),
            Shape::Cast(..) if from.is_integer() && to.is_integer() => {
                if let Some(wider) = vector.clone().retyped(to) {
                    return Ok(wider);
                }
            }
            _ => {}
        }
        // Dictionaries repeat values; a nested value is converted once for each.
        let mut known: HashMap<Value, Value> = HashMap::new();
        let remembers = !matches!(self, Shape::Cast(..));
        let mut values = Vec::with_capacity(vector.len());
        for row in 0..vector.len() {
            let value = vector.value(row);
            if let Some(converted) = known.get(&value).filter(|_| remembers) {
                values.push(converted.clone());
                continue;
            }
            let converted = self.value(&value, from, to).map_err(|e| {
                let message = format!("cannot read \"{path}\" as its table: {}", e.message());
                e.with_message(message)
            })?;
            if remembers && known.len() < REMEMBERED {
                known.insert(value, converted.clone());
            }
            values.push(converted);
        }
        Ok(Vector::from_values(to, &values))
    }

    fn value(&self, value: &Value, from: Type, to: Type) -> Result<Value> {
        let Some(bytes) = value.as_bytes().map_or_else(|| (!value.is_null()).then_some(&[][..]), Some) else {
            return Ok(Value::Null);
        };
        match self {
            Shape::Same | Shape::Retyped => Ok(value.clone()),
            Shape::Cast(via, _) => cast::cast_value(value, from, *via),
            Shape::Utf8 => match std::str::from_utf8(bytes) {
                Ok(_) => Ok(value.clone()),
                Err(e) => Err(Error::new(SqlState::DataCorrupted, format!("a text is no UTF-8: {e}"))),
            },
            Shape::Struct(all) => {
                let (own, types) = (fields(from, bytes), from.fields().unwrap_or_default());
                let wanted = to.fields().unwrap_or_default();
                let field = |(field, (_, to)): (&Field, &(String, Type))| match field {
                    Field::Missing(value) => Ok(value.clone()),
                    Field::At(at, shape) => match (own.get(*at), types.get(*at)) {
                        (Some(slot), Some((_, from))) => shape.value(&slot_value(*slot, *from), *from, *to),
                        _ => Ok(Value::Null),
                    },
                };
                let values = all.iter().zip(wanted).map(field).collect::<Result<Vec<_>>>()?;
                Ok(struct_of(&values, to).unwrap_or(Value::Null))
            }
            Shape::List(shape) => {
                let (from_element, to_element) = (element(from), element(to));
                let values = elements(from, bytes)
                    .map(|slot| shape.value(&slot_value(slot, from_element), from_element, to_element))
                    .collect::<Result<Vec<_>>>()?;
                Ok(list_of(&values, to_element))
            }
            Shape::Map(shapes) => {
                let (from_types, to_types) = (entry(from), entry(to));
                let mut out = Vec::new();
                for (at, slot) in entries(from, bytes).enumerate() {
                    let (shape, from, to) = match at % 2 {
                        0 => (&shapes.0, from_types.0, to_types.0),
                        _ => (&shapes.1, from_types.1, to_types.1),
                    };
                    push_slot(&shape.value(&slot_value(slot, from), from, to)?, to, &mut out);
                }
                out.push(END);
                Ok(Value::Bytes(out.into()))
            }
        }
    }
}

/// Converted values that are remembered at a time.
const REMEMBERED: usize = 1 << 12;

fn element(ty: Type) -> Type {
    ty.element().unwrap_or(Type::Null)
}

fn entry(ty: Type) -> (Type, Type) {
    ty.entry().unwrap_or((Type::Null, Type::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str, id: Option<i32>, ty: Type, inner: Vec<StoredColumn>) -> StoredColumn {
        StoredColumn { id, names: vec![name.to_owned()], ty, inner, missing: Value::Null }
    }

    fn found(name: &str, id: Option<i32>, ty: Type, inner: Vec<Found>) -> Found {
        Found { name: name.to_owned(), id, ty, inner }
    }

    #[test]
    fn fields_of_a_struct_are_renamed_moved_added_and_widened() {
        let of = |fields: &[(&str, Type)]| {
            Type::structure(fields.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect()).unwrap()
        };
        let old = of(&[("a", Type::Integer), ("b", Type::Text)]);
        let new = of(&[("x", Type::Text), ("new", Type::Date), ("a", Type::BigInt)]);
        let file = found(
            "s",
            Some(1),
            old,
            vec![found("a", Some(2), Type::Integer, vec![]), found("b", Some(3), Type::Text, vec![])],
        );
        let inner = vec![
            stored("x", Some(3), Type::Text, vec![]),
            stored("new", Some(9), Type::Date, vec![]),
            stored("a", Some(2), Type::BigInt, vec![]),
        ];
        let table = stored("s", Some(1), new, inner);
        let shape = shape("f", &table, &file).unwrap();
        let row = struct_of(&[Value::I32(7), Value::text("t")], old).unwrap();
        let vector = Vector::from_values(old, &[row, Value::Null]);
        let vector = shape.applied("f", vector, new).unwrap();
        let expected = struct_of(&[Value::text("t"), Value::Null, Value::I64(7)], new).unwrap();
        assert_eq!((vector.value(0), vector.value(1)), (expected, Value::Null));
    }

    #[test]
    fn only_what_may_change_is_converted() {
        let column = |ty| stored("c", None, ty, vec![]);
        let file = |ty| found("c", None, ty, vec![]);
        assert_eq!(shape("f", &column(Type::Text), &file(Type::Text)).unwrap(), Shape::Same);
        assert_eq!(shape("f", &column(Type::TimestampTz), &file(Type::Timestamp)).unwrap(), Shape::Retyped);
        let error = shape("f", &column(Type::Integer), &file(Type::Text)).unwrap_err();
        assert_eq!(error.state(), SqlState::DatatypeMismatch);
        assert_eq!(error.message(), "column \"c\" of \"f\" is TEXT, where its table has INTEGER");
        assert!(shape("f", &column(Type::Integer), &file(Type::BigInt)).is_err());
    }
}
