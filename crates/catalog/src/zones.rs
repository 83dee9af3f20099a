//! The zone map: per-block bounds of integer columns, packed column by column, so that pruning a table of thousands
//! of blocks reads two short arrays instead of a header per block.

use types::{ColumnPredicate, Value};

use block::Block;

/// Bounds of one column over all blocks.
#[derive(Clone, Debug, Default)]
struct Zone {
    min: Vec<i64>,
    max: Vec<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct ZoneMap {
    /// `None` for columns whose values are no 64-bit integers.
    zones: Vec<Option<Zone>>,
}

impl ZoneMap {
    pub(crate) fn new(types: &[types::Type]) -> Self {
        use types::Physical::{I16, I32, I64};
        let packed = |ty: &types::Type| matches!(ty.physical(), I16 | I32 | I64).then(Zone::default);
        ZoneMap { zones: types.iter().map(packed).collect() }
    }

    pub(crate) fn of_columns(&self, columns: &[usize]) -> Self {
        ZoneMap { zones: columns.iter().map(|c| self.zones[*c].clone()).collect() }
    }

    pub(crate) fn beside(&self, right: &ZoneMap) -> Self {
        ZoneMap { zones: [self.zones.as_slice(), &right.zones].concat() }
    }

    pub(crate) fn push(&mut self, block: &Block) {
        for (column, zone) in self.zones.iter_mut().enumerate() {
            let Some(zone) = zone else { continue };
            let statistics = block.statistics(column);
            // A block of NULLs gets an empty interval, which no range meets.
            zone.min.push(statistics.min.as_i64().unwrap_or(i64::MAX));
            zone.max.push(statistics.max.as_i64().unwrap_or(i64::MIN));
        }
    }

    /// Least and greatest value of an integer column in each block; an all-NULL block has `i64::MAX, i64::MIN`.
    pub fn bounds(&self, column: usize) -> Option<(&[i64], &[i64])> {
        self.zones.get(column)?.as_ref().map(|z| (z.min.as_slice(), z.max.as_slice()))
    }

    /// Clears the entries of blocks in which no row can pass; false when the zone map cannot tell.
    pub(crate) fn prune(&self, column: usize, predicate: &ColumnPredicate, keep: &mut [bool]) -> bool {
        let Some((min, max)) = self.bounds(column) else { return false };
        let ColumnPredicate::Range { low, high } = predicate else { return false };
        let end = |value: &Value| value.as_i128().map(|v| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        if let Some(bound) = low {
            let Some(value) = end(&bound.value) else { return false };
            from = if bound.inclusive { value } else { value.saturating_add(1) };
        }
        if let Some(bound) = high {
            let Some(value) = end(&bound.value) else { return false };
            to = if bound.inclusive { value } else { value.saturating_sub(1) };
        }
        for ((keep, min), max) in keep.iter_mut().zip(min).zip(max) {
            *keep &= *max >= from && *min <= to && min <= max;
        }
        true
    }
}
