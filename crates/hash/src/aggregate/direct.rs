//! One integer key of known bounds: group numbers from an array over the bounds, without hashing.
//!
//! ```text
//!  map[value - low] = group number + 1, or 0           map[high - low + 1]: the group of NULL
//! ```
//! All workers of a query have the same bounds, so their groups are merged range by range, again without hashing.

use types::Type;
use vector::{Data, Vector};

/// The array from a key's value to its group.
#[derive(Debug)]
pub struct DirectMap {
    low: i64,
    map: Vec<u32>,
}

impl DirectMap {
    /// For values in `[low, low + values)`.
    pub fn new(low: i64, values: usize) -> Self {
        // Zeroed memory is not touched before it is used.
        DirectMap { low, map: vec![0; values + 1] }
    }
    /// Group number + 1 of every value from the lowest, NULL last; 0 for none.
    pub fn entries(&self) -> &[u32] {
        &self.map
    }
    /// Bytes of the array.
    pub fn bytes(&self) -> usize {
        self.map.len() * 4
    }
    /// The group of each row into `groups`; rows that begin a group are put into `new`, which get the numbers from
    /// `next` on. False when a value lies out of bounds: nothing is changed then.
    pub fn find(&mut self, key: &Vector, next: usize, groups: &mut Vec<u32>, new: &mut Vec<u32>) -> bool {
        new.clear();
        groups.clear();
        match key.data() {
            Data::I16(v) => self.find_in(v, key, next, groups, new),
            Data::I32(v) => self.find_in(v, key, next, groups, new),
            Data::I64(v) => self.find_in(v, key, next, groups, new),
            // Without an integer form no value lies within the bounds.
            _ if key.is_flat() || key.ty() == Type::Null => false,
            _ => self.find(&key.flatten(), next, groups, new),
        }
    }
    fn find_in<T: Copy + Ord + Into<i64>>(
        &mut self,
        keys: &[T],
        key: &Vector,
        next: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        let values = self.map.len() - 1;
        let low = self.low;
        let place = |key: T| key.into().wrapping_sub(low) as u64 as usize;
        if let Some(validity) = key.validity().filter(|v| v.null_count() > 0) {
            // A NULL row's value is any: only the others are asked whether they lie within.
            if validity.valid_indices().any(|row| place(keys[row]) >= values) {
                return false;
            }
            let place = |row: usize| if validity.is_null(row) { values } else { place(keys[row]) };
            groups.extend((0..keys.len()).map(|row| self.map[place(row)].wrapping_sub(1)));
            return self.number_new(place, next, groups, new);
        }
        if !all_below(keys, low, values) {
            return false;
        }
        let map = &self.map[..];
        let mut all_seen = true;
        groups.extend(keys.iter().map(|key| {
            let entry = map[place(*key)];
            all_seen &= entry != 0;
            entry.wrapping_sub(1)
        }));
        all_seen || self.number_new(|row| place(keys[row]), next, groups, new)
    }
    /// Numbers the groups that rows without one begin.
    fn number_new(
        &mut self,
        place: impl Fn(usize) -> usize,
        next: usize,
        groups: &mut [u32],
        new: &mut Vec<u32>,
    ) -> bool {
        for (row, group) in groups.iter_mut().enumerate() {
            if *group == NONE {
                let entry = &mut self.map[place(row)];
                if *entry == 0 {
                    new.push(row as u32);
                    *entry = (next + new.len()) as u32;
                }
                *group = *entry - 1;
            }
        }
        true
    }
}

/// What a row has for a group while its key has none.
const NONE: u32 = u32::MAX;

/// Whether all keys lie in `[low, low + values)`: one pass that the compiler vectorises.
fn all_below<T: Copy + Into<i64>>(keys: &[T], low: i64, values: usize) -> bool {
    let mut within = true;
    for key in keys {
        within &= ((*key).into().wrapping_sub(low) as u64) < values as u64;
    }
    within
}
