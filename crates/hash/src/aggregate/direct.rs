//! One integer key of known bounds: group numbers from an array over the bounds, without hashing.
//!
//! ```text
//!  map[value - low] = group number + 1, or 0           map[high - low + 1]: the group of NULL
//! ```
//! All workers of a query have the same bounds, so their groups are merged range by range, again without hashing.

use vector::{Data, Vector};

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
    pub fn bytes(&self) -> usize {
        self.map.len() * 4
    }
    /// The group of each row into `groups`; rows that begin a group are put into `new`, which get the numbers from
    /// `next` on. False when a value lies out of bounds: nothing is changed then.
    pub fn find(
        &mut self,
        key: &Vector,
        rows: Option<&[u32]>,
        next: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        match key.data() {
            Data::I16(v) => self.find_in(|row| i64::from(v[row]), key, rows, next, groups, new),
            Data::I32(v) => self.find_in(|row| i64::from(v[row]), key, rows, next, groups, new),
            Data::I64(v) => self.find_in(|row| v[row], key, rows, next, groups, new),
            _ => self.find(&key.flatten(), rows, next, groups, new),
        }
    }
    #[inline(always)]
    fn find_in(
        &mut self,
        value: impl Fn(usize) -> i64,
        key: &Vector,
        rows: Option<&[u32]>,
        next: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        let values = self.map.len() - 1;
        let count = rows.map_or(key.len(), <[u32]>::len);
        let low = self.low;
        new.clear();
        groups.clear();
        let nulls = key.has_nulls();
        let place = |at: usize| {
            let row = rows.map_or(at, |r| r[at] as usize);
            if nulls && key.is_null(row) { values } else { value(row).wrapping_sub(low) as u64 as usize }
        };
        let mut outside = false;
        for at in 0..count {
            let place = place(at);
            outside |= place > values || (place == values && !nulls);
        }
        // With NULLs in the batch the value just above the bounds would be taken for one.
        if nulls && !outside {
            outside = (0..count).any(|at| {
                let row = rows.map_or(at, |r| r[at] as usize);
                place(at) == values && !key.is_null(row)
            });
        }
        if outside {
            return false;
        }
        groups.reserve(count);
        for at in 0..count {
            let place = place(at);
            let mut entry = self.map[place];
            if entry == 0 {
                entry = (next + new.len() + 1) as u32;
                self.map[place] = entry;
                new.push(rows.map_or(at as u32, |r| r[at]));
            }
            groups.push(entry - 1);
        }
        true
    }
}
