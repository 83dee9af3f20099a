//! Few possible keys: group numbers by array look-up, without hashing.
//!
//! Dictionary codes, booleans and integers of a small range number a key's possible values; several columns combine
//! into one index:
//!
//! ```text
//!  index = code(0) + size(0) * (code(1) + size(1) * ...)        map[index] = group number, or UNSEEN
//!  code of a dictionary row: its code there      of a boolean: 0, 1      of an integer: value - low
//!  code of NULL: the last of the column's codes
//! ```
//! The map only shortens the way to the table of groups: an index not seen yet is looked up there once. So it may be
//! thrown away whenever its meaning changes, at a new dictionary (one a block) or a value out of range.

use std::sync::Arc;

use types::Value;
use vector::{Data, Vector};

const UNSEEN: u32 = u32::MAX;
/// The map stays in the second-level cache.
const INDEXES_MAX: usize = 1 << 16;
/// That of one dictionary may be larger: what it saves is to hash and to compare texts.
const DICTIONARY_INDEXES_MAX: usize = 1 << 18;
/// Batches without a map that fits, after which none is looked for.
const BATCHES_JUDGED: u64 = 8;
/// Rows of maps that were thrown away, after which it is judged whether maps are worth their cost. Not before: a
/// dictionary's values are seen for the first time at its beginning.
const ROWS_JUDGED: u64 = 1 << 15;

enum Kind {
    Dictionary(Arc<Vector>),
    Boolean,
    Integers { low: i64 },
    Constant(Value),
}

struct CodeColumn {
    kind: Kind,
    /// Codes, the one of NULL included.
    size: usize,
}

/// The map from a few possible keys to group numbers, for one worker's batches.
#[derive(Default)]
pub struct SmallCodes {
    columns: Vec<CodeColumn>,
    map: Vec<u32>,
    /// Switched off: the keys are not of this kind.
    off: bool,
    batches: u64,
    rows: u64,
    unseen: u64,
    indexes: Vec<u32>,
}

impl SmallCodes {
    /// A map that has not seen a key; one that is not enabled never finds anything.
    pub fn new(enabled: bool) -> Self {
        SmallCodes { off: !enabled, ..Default::default() }
    }
    /// Whether the map has been given up: `find` returns false for good.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// The group of each row into `groups`. Rows with an index not seen yet are left out, one of each index is put
    /// into `unseen`: look them up and call `learn`. False: these keys do not suit, `groups` is undefined.
    pub fn find(
        &mut self,
        keys: &[Vector],
        rows: usize,
        groups: &mut Vec<u32>,
        unseen: &mut Vec<u32>,
    ) -> bool {
        if self.off || keys.is_empty() || !self.fit(keys, rows) {
            return false;
        }
        self.rows += rows as u64;
        self.index(keys, rows);
        groups.clear();
        let map = &mut self.map;
        let mut all_seen = true;
        groups.extend(self.indexes.iter().map(|index| {
            let group = map[*index as usize];
            all_seen &= group != UNSEEN;
            group
        }));
        unseen.clear();
        if !all_seen {
            for (row, group) in groups.iter().enumerate() {
                let index = self.indexes[row] as usize;
                if *group == UNSEEN && map[index] == UNSEEN {
                    // Marked, so that the next row of this index is not listed again.
                    map[index] = UNSEEN - 1;
                    unseen.push(row as u32);
                }
            }
            self.unseen += unseen.len() as u64;
        }
        true
    }
    /// Tells the groups of the rows that were unseen and completes `groups`.
    pub fn learn(&mut self, unseen: &[u32], found: &[u32], groups: &mut [u32]) {
        for (row, group) in unseen.iter().zip(found) {
            self.map[self.indexes[*row as usize] as usize] = *group;
        }
        for (group, index) in groups.iter_mut().zip(&self.indexes) {
            if *group == UNSEEN {
                *group = self.map[*index as usize];
            }
        }
    }

    /// Makes the map one for these keys; false when it would be too large.
    fn fit(&mut self, keys: &[Vector], rows: usize) -> bool {
        let mut changed = self.columns.len() != keys.len();
        let mut columns = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let old = self.columns.get(at);
            let Some((column, same)) = code_column(key, old) else {
                // Integers of a wide range stay so; a flat text may be followed by a dictionary.
                if !matches!(key.data(), Data::Bytes(_) | Data::Dictionary { .. }) {
                    self.off = true;
                }
                return false;
            };
            changed |= !same;
            columns.push(column);
        }
        if !changed {
            return true;
        }
        // More than half of the rows of the maps before were looked up all the same.
        if self.rows >= ROWS_JUDGED && self.unseen * 2 > self.rows {
            self.off = true;
            return false;
        }
        let indexes = columns.iter().try_fold(1usize, |product, c| product.checked_mul(c.size));
        let most = match columns.as_slice() {
            [CodeColumn { kind: Kind::Dictionary(_), .. }] => DICTIONARY_INDEXES_MAX,
            _ => INDEXES_MAX,
        };
        let Some(indexes) = indexes.filter(|n| *n <= most) else {
            self.batches += 1;
            self.off |= self.batches >= BATCHES_JUDGED && self.rows == 0;
            return false;
        };
        // Clearing a map much larger than a batch does not pay unless it lives for long, as that of a block's dictionary
        // does: it has at most half as many values as the block has rows.
        if indexes > (rows * (most / INDEXES_MAX) * 16).max(4096) {
            return false;
        }
        self.columns = columns;
        self.map.clear();
        self.map.resize(indexes, UNSEEN);
        true
    }

    fn index(&mut self, keys: &[Vector], rows: usize) {
        self.indexes.clear();
        self.indexes.resize(rows, 0);
        let indexes = &mut self.indexes[..];
        let mut unit = 1u32;
        for (key, column) in keys.iter().zip(&self.columns) {
            match (key.data(), &column.kind) {
                (Data::Dictionary { codes, .. }, _) => add(indexes, unit, codes.iter().copied()),
                (Data::Bool(b), _) => add(indexes, unit, (0..rows).map(|row| u32::from(b.value(row)))),
                (Data::I16(v), Kind::Integers { low }) => {
                    let low = *low as i32;
                    add(indexes, unit, v.iter().map(|v| (i32::from(*v)).wrapping_sub(low) as u32));
                }
                (Data::I32(v), Kind::Integers { low }) => {
                    let low = *low as i32;
                    add(indexes, unit, v.iter().map(|v| v.wrapping_sub(low) as u32));
                }
                (Data::I64(v), Kind::Integers { low }) => {
                    add(indexes, unit, v.iter().map(|v| v.wrapping_sub(*low) as u32));
                }
                _ => {}
            }
            if key.has_nulls()
                && let Some(validity) = key.validity()
            {
                // What the value part gave for a NULL row is taken back: it may be any code at all.
                let last = column.size as u32 - 1;
                for row in (!validity.inner()).set_indices() {
                    let given = code_of(key, &column.kind, row);
                    let index = &mut indexes[row];
                    *index = index.wrapping_sub(given.wrapping_mul(unit)).wrapping_add(last * unit);
                }
            }
            unit *= column.size as u32;
        }
    }
}

#[inline(always)]
fn add(indexes: &mut [u32], unit: u32, codes: impl Iterator<Item = u32>) {
    for (index, code) in indexes.iter_mut().zip(codes) {
        *index = index.wrapping_add(code.wrapping_mul(unit));
    }
}

fn code_of(key: &Vector, kind: &Kind, row: usize) -> u32 {
    match (key.data(), kind) {
        (Data::Dictionary { codes, .. }, _) => codes[row],
        (Data::Bool(b), _) => u32::from(b.value(row)),
        (Data::I16(v), Kind::Integers { low }) => i32::from(v[row]).wrapping_sub(*low as i32) as u32,
        (Data::I32(v), Kind::Integers { low }) => v[row].wrapping_sub(*low as i32) as u32,
        (Data::I64(v), Kind::Integers { low }) => v[row].wrapping_sub(*low) as u32,
        _ => 0,
    }
}

/// How a key's values become codes, and whether that is as before.
fn code_column(key: &Vector, old: Option<&CodeColumn>) -> Option<(CodeColumn, bool)> {
    match key.data() {
        Data::Dictionary { values, .. } => {
            let same =
                matches!(old, Some(CodeColumn { kind: Kind::Dictionary(v), .. }) if Arc::ptr_eq(v, values));
            Some((CodeColumn { kind: Kind::Dictionary(values.clone()), size: values.len() + 1 }, same))
        }
        Data::Bool(_) => {
            let same = matches!(old, Some(CodeColumn { kind: Kind::Boolean, .. }));
            Some((CodeColumn { kind: Kind::Boolean, size: 3 }, same))
        }
        Data::Constant(value) => {
            let same = matches!(old, Some(CodeColumn { kind: Kind::Constant(v), .. }) if v == value)
                && !key.has_nulls() | value.is_null();
            Some((CodeColumn { kind: Kind::Constant(value.clone()), size: 2 }, same))
        }
        Data::I16(v) => Some(integer_column(bounds(key, v, i64::from), old)?),
        Data::I32(v) => Some(integer_column(bounds(key, v, i64::from), old)?),
        Data::I64(v) => Some(integer_column(bounds(key, v, |v| v), old)?),
        _ => None,
    }
}

/// Bounds of the values; of those that are not NULL, when there are NULLs.
fn bounds<T: Copy + Ord>(key: &Vector, values: &[T], widen: impl Fn(T) -> i64) -> Option<(i64, i64)> {
    if !key.has_nulls() {
        return simd::bounds(values).map(|(low, high)| (widen(low), widen(high)));
    }
    let mut found: Option<(i64, i64)> = None;
    for (row, value) in values.iter().enumerate() {
        if !key.is_null(row) {
            let value = widen(*value);
            found = Some(found.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
        }
    }
    found
}

fn integer_column(bounds: Option<(i64, i64)>, old: Option<&CodeColumn>) -> Option<(CodeColumn, bool)> {
    let (mut low, mut high) = bounds.unwrap_or((0, 0));
    if let Some(CodeColumn { kind: Kind::Integers { low: old_low }, size }) = old {
        let span = *size as i64 - 1;
        let old_high = old_low.saturating_add(span - 1);
        if bounds.is_none() || (low >= *old_low && high <= old_high) {
            return Some((CodeColumn { kind: Kind::Integers { low: *old_low }, size: *size }, true));
        }
        // Twice the room, on the side that was too small, so that a slowly moving key rarely outgrows it.
        if low < *old_low {
            low = low.saturating_sub(span);
        }
        if high > old_high {
            high = high.saturating_add(span);
        }
        low = low.min(*old_low);
        high = high.max(old_high);
    }
    let span = high.checked_sub(low)?;
    if span >= INDEXES_MAX as i64 - 1 {
        return None;
    }
    Some((CodeColumn { kind: Kind::Integers { low }, size: span as usize + 2 }, false))
}
