//! Sorting a block's rows before they are encoded.

use std::cmp::Ordering;

use vector::{Batch, Data, Vector};

/// The rows of `parts` as one part, sorted by the column, NULL last, equal values in the order they came; `None` when
/// they are in order already.
pub fn sort_parts(parts: &[Batch], column: usize) -> Option<Vec<Batch>> {
    if is_sorted(parts, column) {
        return None;
    }
    let all = Batch::concat(parts);
    let mut rows: Vec<u32> = (0..all.rows as u32).collect();
    sort_rows(&all.columns[column], &mut rows);
    Some(vec![all.gather(&rows)])
}

/// Whether the rows of `parts` are in order of the column.
pub(super) fn is_sorted(parts: &[Batch], column: usize) -> bool {
    let mut last = None;
    for part in parts {
        let vector = part.columns[column].flatten();
        for row in 0..part.rows {
            // Taking single values is slow; this only checks a caller's promise, and rows about to be sorted.
            let value = vector.value(row);
            if let Some(last) = &last
                && order_of(last, &value).is_gt()
            {
                return false;
            }
            last = Some(value);
        }
    }
    true
}

fn order_of(left: &types::Value, right: &types::Value) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (false, false) => left.total_cmp(right),
        (left, right) => left.cmp(&right),
    }
}

fn sort_rows(vector: &Vector, rows: &mut [u32]) {
    let flat = vector.flatten();
    let null = |row: u32| flat.is_null(row as usize);
    macro_rules! by {
        ($values:expr, $compare:expr) => {
            rows.sort_by(|a, b| {
                null(*a).cmp(&null(*b)).then_with(|| $compare(&$values[*a as usize], &$values[*b as usize]))
            })
        };
    }
    match flat.data() {
        Data::Bool(v) => rows.sort_by_key(|row| (null(*row), v.value(*row as usize))),
        Data::I16(v) => by!(v, Ord::cmp),
        Data::I32(v) => by!(v, Ord::cmp),
        Data::I64(v) => by!(v, Ord::cmp),
        Data::I128(v) => by!(v, Ord::cmp),
        Data::F32(v) => {
            by!(v, |a: &f32, b: &f32| types::value::compare_f64(f64::from(*a), f64::from(*b)));
        }
        Data::F64(v) => by!(v, |a: &f64, b: &f64| types::value::compare_f64(*a, *b)),
        Data::Bytes(v) => rows
            .sort_by(|a, b| null(*a).cmp(&null(*b)).then_with(|| v.get(*a as usize).cmp(v.get(*b as usize)))),
        Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
            rows.sort_by(|a, b| order_of(&flat.value(*a as usize), &flat.value(*b as usize)));
        }
    }
}
