//! Nested vectors to and from Arrow's List, Struct and Map, and from Arrow's rarer layouts of them.
//!
//! `arrow` calls this for types that it has no direct counterpart for. Both ways copy: a nested vector is split into
//! vectors of what is inside, which are converted in turn, or joined from them (`nested`). Arrow's arrays come from
//! outside: offsets and type ids are bounded here before they are used. Run ends are expanded. A union that comes in
//! becomes JSON, as its members may have names that ours must not have; ours goes out as a sparse union, in which a
//! NULL is a NULL of the first member: Arrow's unions have no NULL of their own.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UnionArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, UnionFields, UnionMode};
use types::{Result, Type, json};

use crate::arrow::{arrow_type, from_array, to_array, type_from_arrow};
use crate::nested::{
    join, join_list, join_map, join_struct, split_list, split_map, split_struct, split_union,
};
use crate::{Vector, labels};

/// The Arrow type of a nested type.
pub(crate) fn arrow_type_of(ty: Type) -> DataType {
    match ty {
        Type::List(_) => DataType::List(Arc::new(Field::new("item", inner(ty.element()), true))),
        Type::Map(_) => {
            let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
            DataType::Map(
                Arc::new(Field::new("entries", DataType::Struct(entry_fields(key, value)), false)),
                false,
            )
        }
        Type::Union(_) => DataType::Union(member_fields(ty), UnionMode::Sparse),
        _ => DataType::Struct(
            field_names(ty).into_iter().map(|(name, ty)| Field::new(name, inner_type(ty), true)).collect(),
        ),
    }
}

fn inner(ty: Option<Type>) -> DataType {
    inner_type(ty.unwrap_or(Type::Null))
}

/// The type of a value inside: labels are plain texts there, since few readers know dictionaries inside of lists.
fn inner_type(ty: Type) -> DataType {
    if matches!(ty, Type::Enum(_)) { arrow_type(Type::Text) } else { arrow_type(ty) }
}

/// A value inside as an Arrow array of `inner_type`.
fn inner_array(vector: &Vector) -> ArrayRef {
    if matches!(vector.ty(), Type::Enum(_)) { to_array(&labels::as_text(vector)) } else { to_array(vector) }
}

fn entry_fields(key: Type, value: Type) -> Fields {
    vec![Field::new("key", inner_type(key), false), Field::new("value", inner_type(value), true)].into()
}

/// A struct's fields; the fields of a row without names are called `element1`, `element2` and so on.
fn field_names(ty: Type) -> Vec<(String, Type)> {
    let name = |(at, (name, ty)): (usize, &(String, Type))| match name.is_empty() {
        true => (format!("element{}", at + 1), *ty),
        false => (name.clone(), *ty),
    };
    ty.fields().unwrap_or_default().iter().enumerate().map(name).collect()
}

/// A union's members with their places as Arrow's numbers.
fn member_fields(ty: Type) -> UnionFields {
    let members = ty.members().unwrap_or_default().iter().enumerate();
    members.map(|(at, (name, ty))| (at as i8, Arc::new(Field::new(name, inner_type(*ty), true)))).collect()
}

/// The nested type that receives an Arrow type, or JSON for a union.
pub(crate) fn nested_from_arrow(ty: &DataType) -> Option<Type> {
    match ty {
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _) => Type::list(type_from_arrow(f.data_type())?).ok(),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|f| Some((f.name().clone(), type_from_arrow(f.data_type())?)));
            Type::structure(fields.collect::<Option<Vec<_>>>()?).ok()
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let key = type_from_arrow(fields[0].data_type())?;
                Type::map(key, type_from_arrow(fields[1].data_type())?).ok()
            }
            _ => None,
        },
        DataType::Union(fields, _) => {
            fields.iter().all(|(_, f)| type_from_arrow(f.data_type()).is_some()).then_some(Type::Json)
        }
        DataType::RunEndEncoded(_, values) => type_from_arrow(values.data_type()),
        _ => None,
    }
}

fn offsets(ends: Vec<u32>) -> OffsetBuffer<i32> {
    // The bytes of the elements lie in one batch's buffers, so their number is far below 2^31.
    OffsetBuffer::new(ends.into_iter().map(|at| at as i32).collect::<Vec<_>>().into())
}

/// A flat nested vector as an Arrow array.
pub(crate) fn to_nested_array(vector: &Vector) -> ArrayRef {
    let nulls = vector.validity().cloned();
    let ty = vector.ty();
    match ty {
        Type::List(_) => {
            let (ends, elements) = split_list(vector);
            let field = Arc::new(Field::new("item", inner(ty.element()), true));
            Arc::new(ListArray::new(field, offsets(ends), inner_array(&elements), nulls))
        }
        Type::Map(_) => {
            let (ends, keys, values) = split_map(vector);
            let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
            let fields = entry_fields(key, value);
            let entries =
                StructArray::new(fields.clone(), vec![inner_array(&keys), inner_array(&values)], None);
            let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
            Arc::new(MapArray::new(field, offsets(ends), entries, nulls, false))
        }
        Type::Union(_) => {
            let (tags, columns) = split_union(vector);
            let children = columns.iter().map(inner_array).collect();
            match UnionArray::try_new(member_fields(ty), tags.into(), None, children) {
                Ok(array) => Arc::new(array),
                // There is a child for every member, as long as the tags are many, which name no other ones.
                Err(error) => unreachable!("a union's array: {error}"),
            }
        }
        _ => {
            let columns: Vec<ArrayRef> = split_struct(vector).iter().map(inner_array).collect();
            let fields: Fields = field_names(ty)
                .into_iter()
                .map(|(name, ty)| Field::new(name, inner_type(ty), true))
                .collect();
            if columns.is_empty() {
                return Arc::new(StructArray::new_empty_fields(vector.len(), nulls));
            }
            Arc::new(StructArray::new(fields, columns, nulls))
        }
    }
}

/// A nested Arrow array, a union or a run-end encoded one as a vector of `ty`; `None` for other arrays.
pub(crate) fn from_nested_array(array: &dyn Array, ty: Type) -> Option<Result<Vector>> {
    let rows = array.len();
    let is_null = |row: usize| array.is_null(row);
    let lists = |values: &ArrayRef, range: &dyn Fn(usize) -> (usize, usize)| {
        // A slice has the elements of the whole array: only those of its own rows are converted.
        let own = (0..rows).filter(|row| !is_null(*row)).map(range).filter(|(begin, end)| begin < end);
        let (from, to) = own.fold((values.len(), 0usize), |(from, to), (b, e)| (from.min(b), to.max(e)));
        let values = values.slice(from, to.min(values.len()).saturating_sub(from));
        let elements = from_array(values.as_ref(), ty.element().unwrap_or(Type::Null))?.flatten();
        Ok(join_list(ty, &elements, rows, |row| {
            // Offsets of foreign views may lie anywhere.
            let place = |at: usize| at.saturating_sub(from).min(elements.len());
            let (begin, end) = range(row);
            (!is_null(row)).then(|| place(begin)..place(end))
        }))
    };
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let at = list.value_offsets();
            lists(list.values(), &|row| (at[row] as usize, at[row + 1] as usize))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let at = list.value_offsets();
            lists(list.values(), &|row| (at[row] as usize, at[row + 1] as usize))
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let (at, size) = (list.value_offsets(), list.value_sizes());
            lists(list.values(), &|row| (at[row] as usize, (at[row] + size[row]) as usize))
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let (at, size) = (list.value_offsets(), list.value_sizes());
            lists(list.values(), &|row| (at[row] as usize, (at[row] + size[row]) as usize))
        }
        DataType::FixedSizeList(_, _) => {
            let list = array.as_fixed_size_list();
            let width = list.value_length() as usize;
            lists(list.values(), &|row| (row * width, (row + 1) * width))
        }
        DataType::Struct(_) => structs(array, ty),
        DataType::Map(_, _) => maps(array, ty),
        DataType::Union(_, _) => union(array.as_union()),
        DataType::RunEndEncoded(_, _) => runs(array, ty),
        _ => return None,
    })
}

fn structs(array: &dyn Array, ty: Type) -> Result<Vector> {
    let array = array.as_struct();
    let types = ty.fields().unwrap_or_default();
    let columns = array
        .columns()
        .iter()
        .zip(types)
        .map(|(column, (_, ty))| Ok(from_array(column.as_ref(), *ty)?.flatten()))
        .collect::<Result<Vec<_>>>()?;
    Ok(join_struct(ty, &columns, array.len(), |row| array.is_null(row)))
}

fn maps(array: &dyn Array, ty: Type) -> Result<Vector> {
    let array = array.as_map();
    let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
    let at = array.value_offsets();
    // Only the entries of the slice's own rows are converted.
    let from = at[0] as usize;
    let count = at[array.len()] as usize - from;
    let keys = from_array(array.keys().slice(from, count).as_ref(), key)?.flatten();
    let values = from_array(array.values().slice(from, count).as_ref(), value)?.flatten();
    Ok(join_map(ty, &keys, &values, array.len(), |row| {
        (!array.is_null(row)).then(|| at[row] as usize - from..at[row + 1] as usize - from)
    }))
}

/// Each value as JSON, whichever alternative of the union it has.
fn union(array: &UnionArray) -> Result<Vector> {
    let DataType::Union(fields, _) = array.data_type() else { unreachable!("the caller looked") };
    let mut children = std::collections::HashMap::new();
    for (id, field) in fields.iter() {
        let Some(ty) = type_from_arrow(field.data_type()) else { continue };
        children.insert(id, from_array(array.child(id).as_ref(), ty)?.flatten());
    }
    let mut text = String::new();
    Ok(join(Type::Json, array.len(), |row, out| {
        let (id, place) = (array.type_id(row), array.value_offset(row));
        let Some(child) = children.get(&id).filter(|child| place < child.len()) else { return false };
        let value = child.value(place);
        if value.is_null() {
            return false;
        }
        text.clear();
        json::push_value(&value, child.ty(), &mut text);
        out.extend_from_slice(text.as_bytes());
        true
    }))
}

/// A run-end encoded array, expanded.
fn runs(array: &dyn Array, ty: Type) -> Result<Vector> {
    use arrow_array::RunArray;
    use arrow_array::types::{Int16Type, Int32Type, Int64Type};
    macro_rules! of {
        ($ends:ty) => {
            array.as_any().downcast_ref::<RunArray<$ends>>().map(|runs| {
                let rows: Vec<u32> =
                    (0..array.len()).map(|row| runs.get_physical_index(row) as u32).collect();
                (runs.values().clone(), rows)
            })
        };
    }
    let found = of!(Int16Type).or_else(|| of!(Int32Type)).or_else(|| of!(Int64Type));
    let Some((values, rows)) = found else {
        return Err(types::Error::unsupported("run ends of this type are not supported"));
    };
    let values = from_array(values.as_ref(), ty)?.flatten();
    let nulls: Option<NullBuffer> =
        values.has_nulls().then(|| rows.iter().map(|r| !values.is_null(*r as usize)).collect());
    let bound = values.len();
    let rows: Vec<u32> = rows.into_iter().map(|row| row.min(bound.saturating_sub(1) as u32)).collect();
    Ok(values.gather(&rows).with_validity(nulls.filter(|n| n.null_count() > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{
        FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder, StringBuilder,
    };
    use arrow_array::types::Int32Type;
    use arrow_array::{Decimal128Array, Decimal256Array, Float64Array, Int32Array, RunArray, StringArray};
    use arrow_buffer::{ScalarBuffer, i256};
    use arrow_schema::{UnionFields, UnionMode};

    fn shown(array: &dyn Array) -> Vec<String> {
        let ty = type_from_arrow(array.data_type()).expect("a type of ours");
        let vector = from_array(array, ty).expect("a vector").flatten();
        (0..vector.len()).map(|row| vector.value(row).display(ty)).collect()
    }

    #[test]
    fn rare_arrays_are_taken() {
        let mut large = LargeListBuilder::new(ListBuilder::new(StringBuilder::new()));
        large.values().values().append_value("a");
        large.values().append(true);
        large.values().append(false);
        large.append(true);
        large.append(false);
        large.values().values().append_value("b");
        large.values().append(true);
        large.append(true);
        let large = large.finish();
        assert_eq!(shown(&large), ["[[a], NULL]", "NULL", "[[b]]"]);
        assert_eq!(shown(&large.slice(1, 2)), ["NULL", "[[b]]"]);
        assert_eq!(shown(&large.slice(1, 1)), ["NULL"]);
        let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 2);
        fixed.values().append_slice(&[1, 2, 0, 0, 5, 6]);
        fixed.append(true);
        fixed.append(false);
        fixed.append(true);
        let fixed = fixed.finish();
        assert_eq!(shown(&fixed), ["[1, 2]", "NULL", "[5, 6]"]);
        assert_eq!(shown(&fixed.slice(1, 2)), ["NULL", "[5, 6]"]);
        let runs = RunArray::<Int32Type>::try_new(
            &Int32Array::from(vec![2, 3, 5]),
            &StringArray::from(vec![Some("a"), None, Some("b")]),
        )
        .expect("runs");
        assert_eq!(shown(&runs), ["a", "a", "NULL", "b", "b"]);
        assert_eq!(shown(&runs.slice(1, 3)), ["a", "NULL", "b"]);
        let fields = UnionFields::try_new(
            [0, 1],
            [Field::new("i", DataType::Int32, true), Field::new("f", DataType::Float64, true)],
        )
        .expect("fields");
        let union = UnionArray::try_new(
            fields,
            ScalarBuffer::from(vec![0i8, 1, 0]),
            None,
            vec![
                Arc::new(Int32Array::from(vec![Some(7), None, None])) as ArrayRef,
                Arc::new(Float64Array::from(vec![0.0, 1.5, 0.0])),
            ],
        )
        .expect("a union");
        assert!(matches!(union.data_type(), DataType::Union(_, UnionMode::Sparse)));
        assert_eq!(shown(&union), ["7", "1.5", "NULL"]);
    }

    #[test]
    fn wide_and_odd_decimals_are_taken() {
        let wide = |scale| {
            Decimal256Array::from(vec![Some(i256::from_i128(-12_345)), None, Some(i256::from_i128(7))])
                .with_precision_and_scale(60, scale)
                .expect("decimals")
        };
        assert_eq!(shown(&wide(3)), ["-12.345", "NULL", "0.007"]);
        assert_eq!(shown(&wide(-2)), ["-1234500", "NULL", "700"]);
        let narrow = Decimal256Array::from(vec![i256::from_i128(-12_345)])
            .with_precision_and_scale(20, 2)
            .expect("decimals");
        assert_eq!(shown(&narrow), ["-123.45"]);
        let negative = Decimal128Array::from(vec![5]).with_precision_and_scale(3, -4).expect("decimals");
        assert_eq!(shown(&negative), ["50000"]);
    }
}
