//! The bound of a top-k: the first key of the worst row that can still come out, shared by all workers and known to
//! the scan that the key comes from.
//!
//! ```text
//!  TopSink (each worker)  k rows seen, k-th first key 17   --tighten-->  TopBound 17
//!  TableScan (any worker) block's least key 20: skipped;  rows with a key behind 17: dropped before anything else
//!                         of them is fetched
//! ```
//! A bound only ever tightens, and a stale one is merely less sharp, so one relaxed atomic is enough. Rows whose key
//! equals the bound stay: the other keys, or the order of the input, decide. (Shared bounds for top-k: Kossmann and
//! Carey, Reducing the Braking Distance of an SQL Query Engine, VLDB 1998, are its ancestors.)

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use plan::{
    ExprKind, FetchOutput, JoinOutput, NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan, SortKey,
};
use types::{ColumnStatistics, Physical};
use vector::{Data, Vector};

/// A bound that any worker may tighten and any scan may read; reading an older value drops fewer rows, never more.
#[derive(Debug)]
pub struct TopBound {
    descending: bool,
    /// The least or greatest value of 64 bits while nothing is known.
    value: AtomicI64,
}

impl TopBound {
    /// A bound that drops nothing yet; `descending` is the direction of the first key.
    pub fn new(descending: bool) -> Self {
        TopBound { descending, value: AtomicI64::new(if descending { i64::MIN } else { i64::MAX }) }
    }
    /// `value` is the first key of a row behind which no row comes out.
    pub fn tighten(&self, value: i64) {
        if self.descending {
            self.value.fetch_max(value, Relaxed);
        } else {
            self.value.fetch_min(value, Relaxed);
        }
    }
    fn known(&self) -> Option<i64> {
        let value = self.value.load(Relaxed);
        (value != if self.descending { i64::MIN } else { i64::MAX }).then_some(value)
    }
    /// No row of a block with these statistics can come out.
    pub fn excludes(&self, statistics: &ColumnStatistics) -> bool {
        let Some(bound) = self.known() else { return false };
        // Where NULLs stand is not asked: blocks and rows with NULLs stay.
        if statistics.null_count > 0 {
            return false;
        }
        let bound = i128::from(bound);
        if self.descending {
            statistics.max.as_i128().is_some_and(|max| max < bound)
        } else {
            statistics.min.as_i128().is_some_and(|min| min > bound)
        }
    }
    /// The rows that may still come out; `None` for all.
    pub fn retain(&self, keys: &Vector) -> Option<Vec<u32>> {
        let bound = self.known()?;
        if keys.has_nulls() {
            return None;
        }
        let flat = if keys.is_flat() { None } else { Some(keys.flatten()) };
        let kept = match flat.as_ref().unwrap_or(keys).data() {
            Data::I16(v) => self.rows(v, bound),
            Data::I32(v) => self.rows(v, bound),
            Data::I64(v) => self.rows(v, bound),
            _ => return None,
        };
        (kept.len() < keys.len()).then_some(kept)
    }
    fn rows<T: Copy + Into<i64>>(&self, keys: &[T], bound: i64) -> Vec<u32> {
        let mut rows = vec![0u32; keys.len()];
        let mut count = 0;
        for (row, key) in keys.iter().enumerate() {
            // Written for every row, kept for few: no branch to mispredict. `count <= row`.
            rows[count] = row as u32;
            let key: i64 = (*key).into();
            count += usize::from(if self.descending { key >= bound } else { key <= bound });
        }
        rows.truncate(count);
        rows
    }
}

/// The scan that the first key of a sort over `input` comes from, and the position among its fetched columns, if rows
/// of that scan can be dropped by it: nothing on the way but filters, projections and the probe sides of joins.
pub fn scan_of(input: &PhysicalPlan, keys: &[SortKey]) -> Option<(NodeId, usize)> {
    let key = &keys.first()?.expr;
    let ExprKind::Input(column) = key.kind else { return None };
    let integer = matches!(key.ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
    if integer { source(input, column) } else { None }
}

fn source(plan: &PhysicalPlan, column: usize) -> Option<(NodeId, usize)> {
    use PhysicalJoinKind as K;
    match &plan.node {
        PhysicalNode::TableScan { projection, .. } => Some((plan.id, *projection.get(column)?)),
        PhysicalNode::Filter { input, .. } => source(input, column),
        PhysicalNode::Project { input, expressions } => match expressions.get(column)?.kind {
            ExprKind::Input(at) => source(input, at),
            _ => None,
        },
        PhysicalNode::Fetch { input, output, .. } => match *output.get(column)? {
            FetchOutput::Input(at) => source(input, at),
            FetchOutput::Late { .. } => None,
        },
        PhysicalNode::HashJoin { probe, kind, output, .. } => {
            let probe_only =
                matches!(kind, K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark);
            match output.get(column)? {
                JoinOutput::Probe(at) if probe_only => source(probe, *at),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Type, Value};

    #[test]
    fn rows_and_blocks_behind_the_bound_are_dropped_and_no_others() {
        for descending in [false, true] {
            let bound = TopBound::new(descending);
            let keys = Vector::from_i64(Type::BigInt, vec![5, 9, 1, 7, 7, i64::MIN, i64::MAX]);
            let block = |min: i64, max: i64, null_count| ColumnStatistics {
                min: Value::I64(min),
                max: Value::I64(max),
                null_count,
                ..ColumnStatistics::empty()
            };
            assert_eq!(bound.retain(&keys), None, "nothing is known yet");
            assert!(!bound.excludes(&block(1, 2, 0)));
            bound.tighten(if descending { 3 } else { 8 });
            bound.tighten(7);
            // A worse one changes nothing.
            bound.tighten(if descending { 2 } else { 9 });
            let kept = if descending { vec![1, 3, 4, 6] } else { vec![0, 2, 3, 4, 5] };
            assert_eq!(bound.retain(&keys), Some(kept));
            let small = Vector::from_values(Type::SmallInt, &[Value::I16(8), Value::I16(6)]);
            assert_eq!(bound.retain(&small), Some(vec![u32::from(!descending)]));
            let with_null = Vector::from_values(Type::BigInt, &[Value::Null, Value::I64(0), Value::I64(100)]);
            assert_eq!(bound.retain(&with_null), None);
            assert_eq!(bound.excludes(&block(1, 6, 0)), descending);
            assert_eq!(bound.excludes(&block(8, 9, 0)), !descending);
            assert!(!bound.excludes(&block(1, 7, 0)) && !bound.excludes(&block(7, 9, 0)));
            assert!(!bound.excludes(&block(1, 6, 1)) && !bound.excludes(&block(8, 9, 1)));
        }
    }
}
