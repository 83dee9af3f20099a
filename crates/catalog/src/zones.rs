//! The zone map: per-block bounds of integer columns, and of the first bytes of texts, packed column by column, so that
//! pruning a table of thousands of blocks reads two short arrays instead of a header per block.
//!
//! A map belongs to one version of a table's data: `push` adds a block's bounds while the version is made, and scans
//! ask `prune` before they touch a block. A block without bounds is never passed over.

use types::{ColumnPredicate, Physical, Value};

use block::Block;

/// What the bounds of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Integers,
    /// The first eight bytes in the order of bytes: what they exclude the whole values do, but not the other way round.
    Prefixes,
}

/// Bounds of one column over all blocks.
#[derive(Clone, Debug)]
struct Zone {
    packing: Packing,
    min: Vec<i64>,
    max: Vec<i64>,
}

impl Packing {
    fn of(ty: &types::Type) -> Option<Packing> {
        match ty.physical() {
            Physical::I16 | Physical::I32 | Physical::I64 => Some(Packing::Integers),
            Physical::Bytes => Some(Packing::Prefixes),
            _ => None,
        }
    }

    /// A bound, for comparison; `None` for one that is of no such type.
    fn pack(self, value: &Value) -> Option<i64> {
        match (self, value) {
            (Packing::Prefixes, Value::Bytes(bytes)) => {
                let mut first = [0; 8];
                first.iter_mut().zip(bytes.iter()).for_each(|(to, byte)| *to = *byte);
                // Signed numbers in the order of unsigned ones.
                Some((u64::from_be_bytes(first) ^ 1 << 63) as i64)
            }
            (Packing::Prefixes, _) => None,
            (Packing::Integers, value) => {
                value.as_i128().map(|v| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
            }
        }
    }

    /// The bound itself is not included: where prefixes are equal, it may be.
    fn exclusive(self, value: i64, towards: i64) -> i64 {
        match self {
            Packing::Integers => value.saturating_add(towards),
            Packing::Prefixes => value,
        }
    }
}

/// Bounds of every block of a table, column by column. Deleted rows are included.
#[derive(Clone, Debug, Default)]
pub struct ZoneMap {
    /// `None` for columns whose values are neither 64-bit integers nor texts.
    zones: Vec<Option<Zone>>,
}

impl ZoneMap {
    pub(crate) fn new(types: &[types::Type]) -> Self {
        let zone = |packing| Zone { packing, min: vec![], max: vec![] };
        ZoneMap { zones: types.iter().map(|ty| Packing::of(ty).map(zone)).collect() }
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
            zone.min.push(zone.packing.pack(&statistics.min).unwrap_or(i64::MAX));
            zone.max.push(zone.packing.pack(&statistics.max).unwrap_or(i64::MIN));
        }
    }

    /// Least and greatest value of an integer column in each block; an all-NULL block has `i64::MAX, i64::MIN`.
    pub fn bounds(&self, column: usize) -> Option<(&[i64], &[i64])> {
        let zone = self.zones.get(column)?.as_ref().filter(|zone| zone.packing == Packing::Integers)?;
        Some((&zone.min, &zone.max))
    }

    /// Clears the entries of blocks in which no row can pass; false when the zone map cannot tell.
    pub(crate) fn prune(&self, column: usize, predicate: &ColumnPredicate, keep: &mut [bool]) -> bool {
        let Some(Some(Zone { packing, min, max })) = self.zones.get(column) else { return false };
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        match predicate {
            ColumnPredicate::Range { low, high } => {
                if let Some(bound) = low {
                    let Some(value) = packing.pack(&bound.value) else { return false };
                    from = if bound.inclusive { value } else { packing.exclusive(value, 1) };
                }
                if let Some(bound) = high {
                    let Some(value) = packing.pack(&bound.value) else { return false };
                    to = if bound.inclusive { value } else { packing.exclusive(value, -1) };
                }
            }
            ColumnPredicate::In(values) => {
                let Some(values) = values.iter().map(|v| packing.pack(v)).collect::<Option<Vec<i64>>>()
                else {
                    return false;
                };
                for ((keep, min), max) in keep.iter_mut().zip(min).zip(max) {
                    let next = values.get(values.partition_point(|value| value < min));
                    *keep &= next.is_some_and(|value| value <= max);
                }
                return true;
            }
            // Bounds tell nothing of it.
            ColumnPredicate::Like { .. } => return true,
            _ => return false,
        }
        for ((keep, min), max) in keep.iter_mut().zip(min).zip(max) {
            *keep &= *max >= from && *min <= to && min <= max;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use types::{Bound, Type};

    use super::*;

    fn zone(packing: Packing, bounds: &[(Value, Value)]) -> ZoneMap {
        let pack = |value: &Value| packing.pack(value).unwrap();
        let min = bounds.iter().map(|(min, _)| pack(min)).collect();
        let max = bounds.iter().map(|(_, max)| pack(max)).collect();
        ZoneMap { zones: vec![Some(Zone { packing, min, max })] }
    }

    /// What the packed bounds exclude the whole ones do; integers' exclude all that.
    #[test]
    fn packed_bounds_exclude_what_whole_ones_exclude() {
        let texts = ["", "a", "aa", "customer#1", "customer#10", "customer#2", "d", "\u{10ffff}"];
        let texts: Vec<Value> = texts.iter().map(|text| Value::text(text)).collect();
        let integers: Vec<Value> = [-(1 << 60), -3, 0, 1, 2, 40, 1 << 60].map(Value::I64).into();
        for (packing, values) in [(Packing::Prefixes, texts), (Packing::Integers, integers)] {
            let pairs = (0..values.len()).flat_map(|a| (a..values.len()).map(move |b| (a, b)));
            let pairs: Vec<(usize, usize)> = pairs.collect();
            let blocks: Vec<(Value, Value)> =
                pairs.iter().map(|(a, b)| (values[*a].clone(), values[*b].clone())).collect();
            let map = zone(packing, &blocks);
            let bound = |at: usize, inclusive| Some(Bound { value: values[at].clone(), inclusive });
            let mut predicates: Vec<ColumnPredicate> = vec![];
            for (a, b) in &pairs {
                for (low, high) in [(true, true), (true, false), (false, true), (false, false)] {
                    predicates.push(ColumnPredicate::Range { low: bound(*a, low), high: bound(*b, high) });
                }
                predicates.push(ColumnPredicate::Range { low: None, high: bound(*b, false) });
                predicates.push(ColumnPredicate::In(Arc::from([values[*a].clone(), values[*b].clone()])));
            }
            let mut excluded = 0;
            for predicate in predicates {
                let mut keep = vec![true; blocks.len()];
                assert!(map.prune(0, &predicate, &mut keep));
                for ((min, max), kept) in blocks.iter().zip(keep) {
                    let wanted = predicate.may_match(min, max, 0, 1);
                    assert!(kept || !wanted, "{predicate:?} of {min:?} to {max:?}");
                    assert!(
                        kept == wanted || packing == Packing::Prefixes,
                        "{predicate:?}: {min:?}, {max:?}"
                    );
                    excluded += usize::from(!kept);
                }
            }
            assert!(excluded > 100, "{excluded}");
        }
    }

    #[test]
    fn blocks_of_nulls_are_in_no_range() {
        let null = Value::Null;
        let mut map = ZoneMap::new(&[Type::Text]);
        let Some(zone) = &mut map.zones[0] else { panic!("texts have zones") };
        zone.min.push(zone.packing.pack(&null).unwrap_or(i64::MAX));
        zone.max.push(zone.packing.pack(&null).unwrap_or(i64::MIN));
        let mut keep = [true];
        assert!(map.prune(0, &ColumnPredicate::In(Arc::from([Value::text("a")])), &mut keep));
        assert_eq!((keep, map.bounds(0)), ([false], None));
    }
}
