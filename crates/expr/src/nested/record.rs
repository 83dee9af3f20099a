//! Functions of structs and maps.
//!
//! Both are runs of encoded elements, as lists are: a struct's fields in the order of its type, a map's entries as
//! key and value in turn. Parts are copied as bytes without being decoded. A map that is made here has keys that are
//! neither NULL nor repeated, which is an error of the statement otherwise.

use std::borrow::Cow;
use std::collections::HashSet;

use types::nested::encoding::{self, Slots, elements, entries};
use types::nested::equality::Equality;
use types::nested::union::member_of;
use types::{Result, Type, Value};
use vector::nested::{PayloadBuilder, join, join_struct, push_slot};
use vector::{Data, Vector, VectorBuilder};

use super::{Kernel, booleans, bytes, integers, invalid, payload, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "struct_pack" => |inputs, ty, rows| Ok(join_struct(ty, inputs, rows, |_| false)),
        "struct_extract" => struct_extract,
        "struct_insert" => struct_insert,
        "union_value" => union_value,
        "union_extract" => union_extract,
        "union_tag" => union_tag,
        "map" => map,
        "map_extract" => map_extract,
        "map_extract_value" => map_extract_value,
        "map_contains" => map_contains,
        "map_keys" => |inputs, ty, rows| Ok(halves(inputs, ty, rows, 0)),
        "map_values" => |inputs, ty, rows| Ok(halves(inputs, ty, rows, 1)),
        "map_entries" => map_entries,
        "map_from_entries" => map_from_entries,
        "map_concat" => map_concat,
        "map_length" => map_length,
        _ => return None,
    })
}

/// `struct_extract(struct, number)`, the number of the field from 0, a constant.
fn struct_extract(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = PayloadBuilder::new(ty);
    let number = whole(&inputs[1], 0).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let of = inputs[0].ty();
    for row in 0..rows {
        builder.push(bytes(&inputs[0], row).and_then(|bytes| encoding::field(of, bytes, number)));
    }
    Ok(builder.finish())
}

/// `union_value(value)`: the only member of the union.
fn union_value(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        out.push(0);
        push_slot(&inputs[0], row, out);
        true
    }))
}

/// `union_extract(union, number)`, the number of the member from 0, a constant; NULL for a union with another member.
fn union_extract(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = PayloadBuilder::new(ty);
    let number = whole(&inputs[1], 0).and_then(|n| usize::try_from(n).ok());
    let of = inputs[0].ty();
    for row in 0..rows {
        let found = bytes(&inputs[0], row).and_then(|bytes| member_of(of, bytes));
        builder.push(found.filter(|(tag, ..)| Some(*tag) == number).and_then(|(_, _, slot)| slot));
    }
    Ok(builder.finish())
}

/// `union_tag(union)`: the name of its member.
fn union_tag(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let found = bytes(&inputs[0], row).and_then(|bytes| member_of(of, bytes));
        builder.push(&found.map_or(Value::Null, |(tag, ..)| Value::I32(tag as i32)));
    }
    Ok(builder.finish())
}

/// The first argument's fields, then the others.
fn struct_insert(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let Some(bytes) = bytes(&inputs[0], row) else { return false };
        out.extend_from_slice(bytes);
        inputs[1..].iter().for_each(|input| push_slot(input, row, out));
        true
    }))
}

/// How the keys of a map are told apart.
fn of_keys(map: Type) -> Equality {
    Equality::of(map.entry().map_or(Type::Null, |(key, _)| key))
}

/// Writes entries whose keys must be there, each once.
struct Entries<'a> {
    equality: Equality,
    known: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Entries<'a> {
    fn push(&mut self, key: Option<&'a [u8]>, value: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        let Some(bytes) = key else {
            return Err(invalid("map keys cannot be NULL"));
        };
        if !self.known.insert(self.equality.bytes(bytes)) {
            return Err(invalid("map keys must be unique"));
        }
        encoding::push_raw(key, out);
        encoding::push_raw(value, out);
        Ok(())
    }
}

fn maps<'a>(
    ty: Type,
    rows: usize,
    mut write: impl FnMut(usize, &mut Entries<'a>, &mut Vec<u8>) -> Result<bool>,
) -> Result<Vector> {
    let mut failed = None;
    let equality = of_keys(ty);
    let result = join(ty, rows, |row, out| {
        let mut entries = Entries { equality, known: HashSet::new() };
        let valid = write(row, &mut entries, out).unwrap_or_else(|error| {
            failed = Some(error);
            false
        });
        out.push(encoding::END);
        valid
    });
    failed.map_or(Ok(result), Err)
}

/// `map(keys, values)`.
fn map(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let (keys, values) = (&inputs[0], &inputs[1]);
    maps(ty, rows, |row, written, out| {
        let (Some(k), Some(v)) = (bytes(keys, row), bytes(values, row)) else { return Ok(false) };
        let (mut k, mut v) = (elements(keys.ty(), k), elements(values.ty(), v));
        loop {
            match (k.next(), v.next()) {
                (Some(key), Some(value)) => written.push(key, value, out)?,
                (None, None) => return Ok(true),
                _ => {
                    return Err(invalid("a map needs as many values as keys"));
                }
            }
        }
    })
}

fn pairs(map: &Vector, row: usize) -> Option<Vec<Entry<'_>>> {
    Some(Pairs::of(map.ty(), bytes(map, row)?).collect())
}

/// A key and its value.
type Entry<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// The entries of a map.
struct Pairs<'a>(Slots<'a>);

impl<'a> Pairs<'a> {
    fn of(map: Type, bytes: &'a [u8]) -> Self {
        Pairs(entries(map, bytes))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Entry<'a>;
    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        Some((self.0.next()?, self.0.next()?))
    }
}

/// Maps in which keys are looked for, row by row. A map that is the same in all rows is taken apart once, and so is a key.
struct Search<'a> {
    map: &'a Vector,
    key: &'a Vector,
    equality: Equality,
    /// The entries of a constant map.
    known: Option<Vec<Entry<'a>>>,
    wanted: Vec<u8>,
    is_made: bool,
}

impl<'a> Search<'a> {
    fn of(inputs: &'a [Vector]) -> Self {
        let (map, key) = (&inputs[0], &inputs[1]);
        let known = if matches!(map.data(), Data::Constant(_)) { pairs(map, 0) } else { None };
        Search { map, key, equality: of_keys(map.ty()), known, wanted: Vec::new(), is_made: false }
    }

    /// The value of the row's key: `None` for a NULL map, `Some(None)` where the map has not the key.
    fn find(&mut self, row: usize) -> Option<Option<Option<&'a [u8]>>> {
        let list: &[u8] = match &self.known {
            Some(_) => &[],
            None => bytes(self.map, row)?,
        };
        if self.key.is_null(row) {
            return Some(None);
        }
        if !(self.is_made && matches!(self.key.data(), Data::Constant(_))) {
            payload(self.key, row, &mut self.wanted);
            if !self.equality.is_of_bytes() {
                self.wanted = self.equality.bytes(&self.wanted).into_owned();
            }
            self.is_made = true;
        }
        let (equality, wanted) = (self.equality, self.wanted.as_slice());
        let is_it = |key: Option<&[u8]>| match key {
            Some(key) if equality.is_of_bytes() => key == wanted,
            Some(key) => equality.bytes(key) == wanted,
            None => false,
        };
        Some(match &self.known {
            Some(entries) => entries.iter().find(|(key, _)| is_it(*key)).map(|(_, value)| *value),
            None => Pairs::of(self.map.ty(), list).find(|(key, _)| is_it(*key)).map(|(_, value)| value),
        })
    }
}

/// A list of the key's value, or an empty one.
fn map_extract(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut search = Search::of(inputs);
    Ok(join(ty, rows, |row, out| {
        if let Some(Some(value)) = search.find(row) {
            encoding::push_raw(value, out);
        }
        out.push(encoding::END);
        true
    }))
}

fn map_extract_value(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut search = Search::of(inputs);
    let mut builder = PayloadBuilder::new(ty);
    for row in 0..rows {
        builder.push(search.find(row).flatten().flatten());
    }
    Ok(builder.finish())
}

fn map_contains(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut search = Search::of(inputs);
    Ok(booleans(rows, |row| Some(search.find(row)?.is_some())))
}

fn map_length(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    Ok(integers(rows, |row| Some(Pairs::of(of, bytes(&inputs[0], row)?).count() as i64)))
}

fn halves(inputs: &[Vector], ty: Type, rows: usize, which: usize) -> Vector {
    join(ty, rows, |row, out| {
        let Some(entries) = pairs(&inputs[0], row) else { return false };
        for (key, value) in entries {
            encoding::push_raw(if which == 0 { key } else { value }, out);
        }
        out.push(encoding::END);
        true
    })
}

fn map_entries(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let Some(entries) = pairs(&inputs[0], row) else { return false };
        for (key, value) in entries {
            out.push(encoding::VALUE);
            encoding::push_raw(key, out);
            encoding::push_raw(value, out);
        }
        out.push(encoding::END);
        true
    }))
}

fn map_from_entries(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let list = &inputs[0];
    let entry = list.ty().element().unwrap_or(Type::Null);
    maps(ty, rows, |row, written, out| {
        let Some(bytes) = bytes(list, row) else { return Ok(false) };
        for slot in elements(list.ty(), bytes) {
            let Some(slot) = slot else { return Err(invalid("map entries cannot be NULL")) };
            let fields = encoding::fields(entry, slot);
            written.push(fields.first().copied().flatten(), fields.get(1).copied().flatten(), out)?;
        }
        Ok(true)
    })
}

/// Maps as one; of a key that several have, the last one's value.
fn map_concat(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let equality = of_keys(ty);
    maps(ty, rows, |row, written, out| {
        let given: Vec<_> = inputs.iter().filter_map(|input| pairs(input, row)).collect();
        let mut all: Vec<(Option<&[u8]>, Option<&[u8]>)> = Vec::new();
        for (key, value) in given.iter().flatten() {
            match all.iter_mut().find(|(known, _)| equality.slot(*known) == equality.slot(*key)) {
                Some((_, known)) => *known = *value,
                None => all.push((*key, *value)),
            }
        }
        for (key, value) in all {
            written.push(key, value, out)?;
        }
        Ok(!given.is_empty())
    })
}
