//! Filters over join keys that a build side fills and scans apply before the probe.
//! (Interface first: the filters themselves are filled by `hash_join`.)

use vector::Vector;

/// A set of keys, exact or approximate: a key it rejects has no match.
pub struct KeyFilter {
    /// Bounds of the keys (integers, dates, decimals unscaled), for skipping blocks.
    pub bounds: Option<(i128, i128)>,
}

impl KeyFilter {
    /// Keeps in `rows` (indices into `keys`) those whose key may be in the set; NULL keys are dropped.
    pub fn retain(&self, keys: &Vector, rows: &mut Vec<u32>) {
        rows.retain(|row| !keys.is_null(*row as usize));
    }
}
