//! Keys of ranges in a form that is sorted and searched: numbers whose plain order is the order of the values, or
//! strings.
//!
//! ```text
//!  integers, decimals of 64 bits, dates, moments    sign bit flipped, 64 bits
//!  REAL and DOUBLE                                  ordered bits, NaN largest, -0 as 0, 64 bits
//!  wide decimals, intervals' keys, HUGEINT          sign bit flipped, 128 bits
//!  everything else                                  bytes
//! ```
//! That is how comparisons see them (`expr::kernels::compare`), so a search finds what a comparison would. NULLs have
//! a place but no value; searches leave them out.

use std::cmp::Ordering;
use std::ops::Range;

use vector::{Data, Vector};

use crate::sort::keys::ordered_f64;
use crate::sort::radix;

/// One key a row.
#[derive(Clone, Debug)]
pub(crate) enum KeyColumn {
    /// Keys of 64 bits.
    Short(Vec<u64>),
    /// Keys of 128 bits.
    Long(Vec<u128>),
    /// Strings, as a flat vector.
    Text(Vector),
}

fn short(value: i64) -> u64 {
    // The bits as they are, the sign apart.
    value as u64 ^ 1 << 63
}

impl KeyColumn {
    /// The column's values as keys; `None` for BOOLEAN, which is not searched.
    pub fn of(column: &Vector) -> Option<KeyColumn> {
        let flat = column.flatten();
        Some(match flat.data() {
            Data::I16(values) => Self::Short(values.iter().map(|v| short(i64::from(*v))).collect()),
            Data::I32(values) => Self::Short(values.iter().map(|v| short(i64::from(*v))).collect()),
            Data::I64(values) => Self::Short(values.iter().map(|v| short(*v)).collect()),
            Data::F32(values) => Self::Short(values.iter().map(|v| ordered_f64(f64::from(*v))).collect()),
            Data::F64(values) => Self::Short(values.iter().map(|v| ordered_f64(*v)).collect()),
            Data::I128(values) => Self::Long(values.iter().map(|v| *v as u128 ^ 1 << 127).collect()),
            Data::Bytes(_) => Self::Text(flat),
            Data::Bool(_) | Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => return None,
        })
    }

    /// Keys that keep nothing else in memory.
    pub fn detached(self) -> KeyColumn {
        match self {
            Self::Text(keys) => Self::Text(crate::collect::detached(&keys)),
            numbers => numbers,
        }
    }

    /// One behind the other; they are of one kind.
    pub fn concat(parts: Vec<KeyColumn>) -> KeyColumn {
        match parts.first() {
            None => Self::Short(vec![]),
            Some(Self::Short(_)) => Self::Short(
                parts
                    .iter()
                    .flat_map(|p| if let Self::Short(k) = p { &k[..] } else { &[] })
                    .copied()
                    .collect(),
            ),
            Some(Self::Long(_)) => Self::Long(
                parts
                    .iter()
                    .flat_map(|p| if let Self::Long(k) = p { &k[..] } else { &[] })
                    .copied()
                    .collect(),
            ),
            Some(Self::Text(_)) => {
                let texts: Vec<&Vector> =
                    parts.iter().filter_map(|p| if let Self::Text(t) = p { Some(t) } else { None }).collect();
                Self::Text(Vector::concat(&texts))
            }
        }
    }

    /// The number of keys, those of NULLs included.
    pub fn len(&self) -> usize {
        match self {
            Self::Short(keys) => keys.len(),
            Self::Long(keys) => keys.len(),
            Self::Text(keys) => keys.len(),
        }
    }

    /// Bytes of the keys.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Short(keys) => keys.len() * 8,
            Self::Long(keys) => keys.len() * 16,
            Self::Text(keys) => keys.bytes(),
        }
    }

    /// The keys of the rows given, in their order.
    pub fn gather(&self, rows: &[u32]) -> KeyColumn {
        match self {
            Self::Short(keys) => Self::Short(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Long(keys) => Self::Long(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Text(keys) => Self::Text(keys.gather(rows)),
        }
    }

    /// Compares the keys of two rows; meaningless where one is NULL.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        match self {
            Self::Short(keys) => keys[a].cmp(&keys[b]),
            Self::Long(keys) => keys[a].cmp(&keys[b]),
            Self::Text(keys) => text(keys, a).cmp(text(keys, b)),
        }
    }

    /// Brings rows into the order of their keys; rows with equal keys keep their order, which is ascending.
    pub fn sort(&self, rows: &mut Vec<u32>) {
        let by_radix = |rows: &mut Vec<u32>, keys: Vec<u128>| {
            let order = radix::sorted(&keys);
            *rows = order.iter().map(|at| rows[*at as usize]).collect();
        };
        match self {
            Self::Short(keys) => {
                let keys = rows.iter().map(|row| u128::from(keys[*row as usize])).collect();
                by_radix(rows, keys);
            }
            Self::Long(keys) => {
                let keys = rows.iter().map(|row| keys[*row as usize]).collect();
                by_radix(rows, keys);
            }
            Self::Text(keys) => {
                // Sixteen bytes decide most comparisons without a look at the strings.
                let mut order: Vec<(u128, u32)> =
                    rows.iter().map(|row| (radix::prefix(text(keys, *row as usize)), *row)).collect();
                order.sort_unstable_by(|a, b| {
                    a.0.cmp(&b.0).then_with(|| self.compare(a.1, b.1)).then(a.1.cmp(&b.1))
                });
                *rows = order.into_iter().map(|(_, row)| row).collect();
            }
        }
    }

    /// For each row of `bounds`, how many of this column's keys in `within` (which ascend) are below its bound, or
    /// with `or_equal` below or equal; counted from the column's beginning.
    pub fn places(
        &self,
        bounds: &KeyColumn,
        or_equal: bool,
        within: impl Fn(usize) -> Range<usize>,
        out: &mut Vec<u32>,
    ) {
        out.clear();
        macro_rules! search {
            ($keys:expr, $bounds:expr) => {{
                let (keys, bounds) = ($keys, $bounds);
                out.extend(bounds.iter().enumerate().map(|(row, bound)| {
                    let within = within(row);
                    let start = within.start;
                    let keys = &keys[within];
                    let count = match or_equal {
                        true => keys.partition_point(|key| key <= bound),
                        false => keys.partition_point(|key| key < bound),
                    };
                    (start + count) as u32
                }));
            }};
        }
        match (self, bounds) {
            (Self::Short(keys), Self::Short(bounds)) => search!(keys, bounds),
            (Self::Long(keys), Self::Long(bounds)) => search!(keys, bounds),
            (Self::Text(keys), Self::Text(bounds)) => {
                for row in 0..bounds.len() {
                    let bound = text(bounds, row);
                    let Range { mut start, mut end } = within(row);
                    while start < end {
                        let middle = start.midpoint(end);
                        let is_before = match text(keys, middle).cmp(bound) {
                            Ordering::Less => true,
                            Ordering::Equal => or_equal,
                            Ordering::Greater => false,
                        };
                        if is_before { start = middle + 1 } else { end = middle }
                    }
                    out.push(start as u32);
                }
            }
            _ => unreachable!("both sides of a comparison have one representation"),
        }
    }
}

fn text(column: &Vector, row: usize) -> &[u8] {
    match column.data() {
        Data::Bytes(strings) => strings.get(row),
        _ => &[],
    }
}
