//! The value of the row that comes first by a key, a group: `arg_min`, `arg_max`, `first`, `last`.
//!
//! ```text
//!  keys     the key of the row picked so far, as an integer of its order
//!  values   the value of that row: its bits, or a text
//! ```
//! Keys are integers whose order is the one asked for, so that the row with the least is picked whatever the direction;
//! without a key it is the tag of the input's unit: rows of one unit have one tag and come from one worker in order. Of
//! equal keys the row with the least (or greatest) value counts, compared by its bits. A result is an ordered row, as
//! `plan::functions::ORDERED_ROW` makes them, of the key and the value.

use types::{Error, Physical, Result, Type};
use vector::{Data, StringBuilder, Strings, Vector};

use super::rows::RowGroups;
use super::text::TextColumn;

/// Which row of a group is picked, and what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pick {
    /// By this key; `None`: by the order of the input.
    pub key: Option<PickKey>,
    /// The greatest row instead of the least; without a key, the last.
    pub last: bool,
    /// The value's type.
    pub ty: Type,
    /// Rows without a value are left out.
    pub values_only: bool,
}

/// The key of a pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PickKey {
    /// The key's type.
    pub ty: Type,
    /// The greatest key comes first.
    pub descending: bool,
    /// A row without a key comes first instead of last.
    pub nulls_first: bool,
    /// Rows without a key are left out.
    pub keys_only: bool,
}

impl PickKey {
    /// Whether keys of this type can be made integers.
    pub fn is_supported(&self) -> bool {
        match self.ty.physical() {
            _ if self.ty == Type::Null => false,
            Physical::Bytes => false,
            Physical::I128 => self.keys_only,
            _ => true,
        }
    }
    /// Whether they take more than 64 bits, one of them for NULL.
    fn is_wide(&self) -> bool {
        !self.keys_only || self.ty.physical() == Physical::I128
    }
    fn null(&self) -> i128 {
        if self.nulls_first { i128::MIN } else { i128::MAX }
    }
}

/// What a group has.
const NOTHING: u8 = 0;
const NULL: u8 = 1;
const VALUE: u8 = 2;

/// An integer that orders rows.
trait Order: Copy + Ord {
    /// Of a group without rows: no row comes behind it.
    const NONE: Self;
}

impl Order for i64 {
    const NONE: Self = i64::MAX;
}

impl Order for i128 {
    const NONE: Self = i128::MAX;
}

#[derive(Debug)]
pub(super) enum Keys {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

#[derive(Debug)]
pub(super) enum Kept {
    /// The bits of a value, or none for a value of no type.
    Bits(Vec<u64>),
    Wide(Vec<u128>),
    Texts(TextColumn),
}

/// The row picked of each group.
#[derive(Debug)]
pub struct Picked {
    pick: Pick,
    pub(super) keys: Keys,
    /// `NOTHING`, `NULL` or `VALUE`.
    pub(super) states: Vec<u8>,
    pub(super) values: Kept,
}

/// A value in a batch or among those kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value<'a> {
    Null,
    Bits(u64),
    Wide(u128),
    Text(&'a [u8]),
}

/// The values of a batch, one of which is looked at now and then.
struct Values<'a>(&'a Vector);

impl<'a> Values<'a> {
    fn at(&self, row: usize) -> Value<'a> {
        if self.0.is_null(row) {
            return Value::Null;
        }
        match self.0.data() {
            Data::Bool(v) => Value::Bits(u64::from(v.value(row))),
            Data::I16(v) => Value::Bits(u64::from(v[row] as u16)),
            Data::I32(v) => Value::Bits(u64::from(v[row] as u32)),
            Data::I64(v) => Value::Bits(v[row] as u64),
            Data::I128(v) => Value::Wide(v[row] as u128),
            Data::F32(v) => Value::Bits(u64::from(v[row].to_bits())),
            Data::F64(v) => Value::Bits(v[row].to_bits()),
            Data::Bytes(v) => Value::Text(v.get(row)),
            // Vectors are flat before they come here.
            Data::Constant(_) | Data::Dictionary { .. } | Data::Coded(_) => Value::Null,
        }
    }
}

impl Kept {
    fn new(physical: Physical) -> Self {
        match physical {
            Physical::Bytes => Kept::Texts(TextColumn::default()),
            Physical::I128 => Kept::Wide(vec![]),
            _ => Kept::Bits(vec![]),
        }
    }
    fn resize(&mut self, groups: usize) {
        match self {
            Kept::Bits(v) => v.resize(groups, 0),
            Kept::Wide(v) => v.resize(groups, 0),
            Kept::Texts(v) => v.resize(groups),
        }
    }
    fn bytes(&self) -> usize {
        match self {
            Kept::Bits(v) => v.capacity() * 8,
            Kept::Wide(v) => v.capacity() * 16,
            Kept::Texts(v) => v.bytes_held(),
        }
    }
    fn at(&self, group: usize, state: u8) -> Value<'_> {
        match self {
            _ if state != VALUE => Value::Null,
            Kept::Bits(v) => Value::Bits(v[group]),
            Kept::Wide(v) => Value::Wide(v[group]),
            Kept::Texts(v) => Value::Text(v.get(group)),
        }
    }
    fn set(&mut self, group: usize, value: Value<'_>) {
        match (self, value) {
            (Kept::Bits(v), Value::Bits(bits)) => v[group] = bits,
            (Kept::Wide(v), Value::Wide(bits)) => v[group] = bits,
            (Kept::Texts(v), Value::Text(text)) => v.set(group, text),
            _ => {}
        }
    }
}

/// All but the keys: what is looked at when a row may replace another.
struct Rows<'a> {
    pick: Pick,
    states: &'a mut [u8],
    values: &'a mut Kept,
}

impl Rows<'_> {
    /// Offers a row whose key is `order`, at most that of the row picked so far.
    #[inline(never)]
    fn offer(&mut self, group: usize, is_equal: bool, value: Value<'_>) -> bool {
        let state = self.states[group];
        let replaces = match (self.pick.key, is_equal && state != NOTHING) {
            (_, false) => true,
            (None, true) => self.pick.last,
            (Some(_), true) if self.pick.last => value > self.values.at(group, state),
            (Some(_), true) => value < self.values.at(group, state),
        };
        if replaces {
            self.states[group] = if value == Value::Null { NULL } else { VALUE };
            self.values.set(group, value);
        }
        replaces
    }
    #[inline(always)]
    fn offer_each<'a, K: Order>(
        &mut self,
        keys: &mut [K],
        rows: impl Iterator<Item = (u32, K)>,
        value: impl Fn(usize) -> Value<'a>,
    ) {
        for (row, (group, key)) in rows.enumerate() {
            let known = &mut keys[group as usize];
            if key <= *known && self.offer(group as usize, key == *known, value(row)) {
                *known = key;
            }
        }
    }
    fn offer_groups<K: Order>(
        &mut self,
        keys: &mut [K],
        groups: RowGroups<'_>,
        orders: &[K],
        values: &Values<'_>,
    ) {
        let orders = orders.iter().copied();
        let value = |row| values.at(row);
        match groups {
            RowGroups::Single(_) => self.offer_each(keys, orders.map(|key| (0, key)), value),
            RowGroups::Each(each) => self.offer_each(keys, each.iter().copied().zip(orders), value),
            RowGroups::Runs(runs) => self.offer_each(keys, runs.each().iter().copied().zip(orders), value),
        }
    }
}

/// Integers in the order of PostgreSQL's floats; both zeros are one.
fn float_order(value: f64) -> i64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
    if bits >> 63 == 1 { (!bits ^ 1 << 63) as i64 } else { bits as i64 }
}

/// The keys of a batch, none of which is NULL, as integers of their order. Turned: descending.
fn orders<K: Order>(key: &Vector, turn: bool, of: impl Fn(i64) -> K, not: impl Fn(K) -> K) -> Result<Vec<K>> {
    let turned = |key: i64| if turn { not(of(key)) } else { of(key) };
    Ok(match key.data() {
        Data::Bool(v) => v.iter().map(|v| turned(i64::from(v))).collect(),
        Data::I16(v) => v.iter().map(|v| turned(i64::from(*v))).collect(),
        Data::I32(v) => v.iter().map(|v| turned(i64::from(*v))).collect(),
        Data::I64(v) => v.iter().map(|v| turned(*v)).collect(),
        Data::F32(v) => v.iter().map(|v| turned(float_order(f64::from(*v)))).collect(),
        Data::F64(v) => v.iter().map(|v| turned(float_order(*v))).collect(),
        _ => return Err(Error::internal(format!("a key of type {} has another form", key.ty()))),
    })
}

impl Picked {
    /// No groups yet.
    pub fn new(pick: Pick) -> Self {
        let wide = pick.key.is_some_and(|key| key.is_wide());
        let keys = if wide { Keys::Wide(vec![]) } else { Keys::Narrow(vec![]) };
        Picked { pick, keys, states: vec![], values: Kept::new(pick.ty.physical()) }
    }
    /// What is picked.
    pub fn pick(&self) -> Pick {
        self.pick
    }
    /// Makes room for groups below `groups`; new ones have no row.
    pub fn resize(&mut self, groups: usize) {
        self.states.resize(groups, NOTHING);
        self.values.resize(groups);
        match &mut self.keys {
            Keys::Narrow(v) => v.resize(groups, i64::NONE),
            Keys::Wide(v) => v.resize(groups, i128::NONE),
        }
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Narrow(v) => v.capacity() * 8,
            Keys::Wide(v) => v.capacity() * 16,
        };
        keys + self.states.capacity() + self.values.bytes()
    }
    /// Offers a batch's rows. Both vectors are flat; `key` is there where rows are picked by one.
    pub fn update(
        &mut self,
        groups: RowGroups<'_>,
        key: Option<&Vector>,
        values: &Vector,
        tag: u64,
    ) -> Result<()> {
        let pick = self.pick;
        let mut rows = Rows { pick, states: &mut self.states, values: &mut self.values };
        let values = Values(values);
        match (&mut self.keys, pick.key, key) {
            (Keys::Narrow(keys), None, _) => {
                // Tags are numbers of units.
                let tag = if pick.last { !(tag as i64) } else { tag as i64 };
                let count = groups.rows();
                rows.offer_groups(keys, groups, &vec![tag; count], &values);
            }
            (Keys::Narrow(keys), Some(of), Some(key)) => {
                let turn = of.descending != pick.last;
                let orders = orders(key, turn, |v| v, |v: i64| !v)?;
                rows.offer_groups(keys, groups, &orders, &values);
            }
            (Keys::Wide(keys), Some(of), Some(key)) => {
                let orders = wide_orders(key, of, pick.last)?;
                rows.offer_groups(keys, groups, &orders, &values);
            }
            _ => return Err(Error::internal("rows are picked by a key that is not there")),
        }
        Ok(())
    }
    /// Takes the other's rows of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Picked, rows: Option<&[u32]>, groups: &[u32]) {
        let mut mine = Rows { pick: self.pick, states: &mut self.states, values: &mut self.values };
        match (&mut self.keys, &other.keys) {
            (Keys::Narrow(keys), Keys::Narrow(theirs)) => merge(&mut mine, keys, other, theirs, rows, groups),
            (Keys::Wide(keys), Keys::Wide(theirs)) => merge(&mut mine, keys, other, theirs, rows, groups),
            _ => panic!("states of one query have one form"),
        }
    }
    /// The ordered rows of the groups `[start, end)`; empty where there is none.
    pub(super) fn finish(&self, start: usize, end: usize) -> Strings {
        let mut out = StringBuilder::with_capacity(end - start);
        let mut row = vec![];
        for group in start..end {
            row.clear();
            if self.states[group] != NOTHING {
                if let Some(key) = self.pick.key {
                    self.push_key(&mut row, key, group);
                }
                let length = row.len() as u32;
                row.push(u8::from(self.states[group] == VALUE));
                match self.values.at(group, self.states[group]) {
                    Value::Null => {}
                    Value::Wide(bits) => row.extend_from_slice(&bits.to_be_bytes()),
                    Value::Text(text) => row.extend_from_slice(text),
                    Value::Bits(bits) => {
                        let width = self.pick.ty.physical().width();
                        row.extend_from_slice(&bits.to_be_bytes()[8 - width..]);
                    }
                }
                row.extend_from_slice(&length.to_le_bytes());
            }
            out.push(&row);
        }
        out.finish()
    }
    /// The key's part of an ordered row.
    fn push_key(&self, row: &mut Vec<u8>, key: PickKey, group: usize) {
        // Where the greatest row is picked, keys are kept turned once more than they are written.
        let bytes = match &self.keys {
            Keys::Narrow(keys) => {
                let order = if self.pick.last { !keys[group] } else { keys[group] };
                i128::from(order)
            }
            Keys::Wide(keys) => {
                let order = if self.pick.last { !keys[group] } else { keys[group] };
                if !key.keys_only && order == key.null() {
                    row.push(if key.nulls_first { 0 } else { 2 });
                    return;
                }
                order
            }
        };
        row.push(1);
        match key.ty.physical() {
            Physical::I128 => row.extend_from_slice(&(bytes as u128 ^ 1 << 127).to_be_bytes()),
            // A byte of 0 or 1, inverted where it descends.
            Physical::Bool => row.push(bytes as u8),
            physical => {
                let width = if physical == Physical::F32 { 8 } else { physical.width() };
                let written = bytes as u64 ^ 1 << (width * 8 - 1);
                row.extend_from_slice(&written.to_be_bytes()[8 - width..]);
            }
        }
    }
}

/// The keys of a batch as integers of more than 64 bits: 128 bits without NULLs, or others with them.
fn wide_orders(key: &Vector, of: PickKey, last: bool) -> Result<Vec<i128>> {
    let turn = of.descending != last;
    if let Data::I128(v) = key.data() {
        return Ok(v.iter().map(|v| if turn { !*v } else { *v }).collect());
    }
    let mut orders = orders(key, turn, i128::from, |v: i128| !v)?;
    if let Some(validity) = key.validity() {
        let null = if last { !of.null() } else { of.null() };
        for (order, valid) in orders.iter_mut().zip(validity.iter()) {
            if !valid {
                *order = null;
            }
        }
    }
    Ok(orders)
}

fn merge<K: Order>(
    mine: &mut Rows<'_>,
    keys: &mut [K],
    other: &Picked,
    theirs: &[K],
    rows: Option<&[u32]>,
    groups: &[u32],
) {
    for (at, group) in groups.iter().enumerate() {
        let (row, group) = (rows.map_or(at, |rows| rows[at] as usize), *group as usize);
        let Some(state) = other.states.get(row).filter(|state| **state != NOTHING) else { continue };
        let (key, known) = (theirs[row], keys[group]);
        if key <= known && mine.offer(group, key == known, other.values.at(row, *state)) {
            keys[group] = key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ty: Type, descending: bool) -> PickKey {
        PickKey { ty, descending, nulls_first: false, keys_only: true }
    }

    fn by(key: Option<PickKey>, last: bool, ty: Type) -> Picked {
        let mut picked = Picked::new(Pick { key, last, ty, values_only: false });
        picked.resize(2);
        picked
    }

    fn value(picked: &Picked, group: usize) -> Vec<u8> {
        let rows = picked.finish(group, group + 1);
        let row = rows.get(0);
        let Some((rest, length)) = row.split_last_chunk::<4>() else { return vec![] };
        rest[u32::from_le_bytes(*length) as usize..].to_vec()
    }

    fn big(values: &[i64]) -> Vector {
        Vector::from_i64(Type::BigInt, values.to_vec())
    }

    fn of(value: i64) -> Vec<u8> {
        [vec![1], value.to_be_bytes().to_vec()].concat()
    }

    #[test]
    fn the_least_and_the_greatest_key() {
        for (descending, expected) in [(false, 11), (true, 13)] {
            for last in [false, true] {
                let mut picked = by(Some(key(Type::BigInt, descending != last)), last, Type::BigInt);
                let keys = big(&[4, i64::MIN, i64::MAX, i64::MIN]);
                picked
                    .update(RowGroups::Each(&[0, 1, 1, 0]), Some(&keys), &big(&[13, 11, 13, 11]), 0)
                    .unwrap();
                assert_eq!([value(&picked, 0), value(&picked, 1)], [of(expected), of(expected)]);
            }
        }
    }

    #[test]
    fn of_equal_keys_the_least_value_counts() {
        for (last, expected) in [(false, 3), (true, 9)] {
            let mut picked = by(Some(key(Type::BigInt, false)), last, Type::BigInt);
            let keys = big(&[7, 7, 7]);
            picked.update(RowGroups::Single(3), Some(&keys), &big(&[5, 3, 9]), 0).unwrap();
            assert_eq!((value(&picked, 0), value(&picked, 1)), (of(expected), vec![]));
            // The greatest key there is, in a group without rows.
            let keys = big(&[i64::MAX]);
            picked.update(RowGroups::Each(&[1]), Some(&keys), &big(&[5]), 0).unwrap();
            assert_eq!(value(&picked, 1), of(5));
        }
    }

    #[test]
    fn rows_of_the_first_and_last_unit() {
        for (last, expected) in [(false, 1), (true, 6)] {
            let mut early = by(None, last, Type::BigInt);
            early.update(RowGroups::Single(2), None, &big(&[1, 2]), 3).unwrap();
            early.update(RowGroups::Single(2), None, &big(&[7, 8]), 4).unwrap();
            let mut late = by(None, last, Type::BigInt);
            late.update(RowGroups::Single(2), None, &big(&[5, 6]), 9).unwrap();
            let mut merged = by(None, last, Type::BigInt);
            merged.merge(&late, Some(&[0]), &[1]);
            merged.merge(&early, Some(&[0]), &[1]);
            assert_eq!((value(&merged, 1), value(&merged, 0)), (of(expected), vec![]));
        }
    }

    #[test]
    fn keys_without_a_value_come_where_they_should() {
        let keys = big(&[3, 5, 4]).with_validity(Some(vec![true, false, true].into()));
        for (descending, nulls_first, last, expected) in [
            (false, false, false, 1),
            (true, false, false, 3),
            (false, true, false, 2),
            (true, true, false, 2),
            (false, false, true, 2),
            (true, true, true, 1),
        ] {
            let of_key = PickKey { nulls_first, keys_only: false, ..key(Type::BigInt, descending) };
            let mut picked = by(Some(of_key), last, Type::BigInt);
            picked.update(RowGroups::Single(3), Some(&keys), &big(&[1, 2, 3]), 0).unwrap();
            assert_eq!(value(&picked, 0), of(expected), "{of_key:?} {last}");
        }
    }

    #[test]
    fn texts_and_values_that_are_missing() {
        let mut builder = StringBuilder::with_capacity(2);
        [&b"a text that is longer than a view"[..], b"short"].into_iter().for_each(|text| builder.push(text));
        let texts = Vector::new(Type::Text, Data::Bytes(builder.finish()), None)
            .with_validity(Some(vec![false, true].into()));
        let mut picked = by(Some(key(Type::Double, true)), false, Type::Text);
        let keys = Vector::new(Type::Double, Data::F64(vec![f64::NAN, f64::INFINITY].into()), None);
        picked.update(RowGroups::Each(&[0, 1]), Some(&keys), &texts, 0).unwrap();
        assert_eq!((value(&picked, 0), value(&picked, 1)), (vec![0], b"\x01short".to_vec()));
        // NaN is the greatest, and both zeros are one.
        assert!(float_order(f64::NAN) > float_order(f64::INFINITY));
        assert!(float_order(-1.5) < float_order(-1.0) && float_order(-1.0) < float_order(0.0));
        assert_eq!(float_order(0.0), float_order(-0.0));
    }
}
