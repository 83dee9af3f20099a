//! Quantiles, the mode and the entropy of frames.
//!
//! The rows of a partition are ranked by value once. A Fenwick tree counts which ranks the current frame holds, so
//! that a frame that moves by a row costs a logarithm of the partition, and the value at a place is found by
//! descending the tree. A frame that starts further back than the one before is counted anew. The mode and the
//! entropy look at the frame's ranks in order, as often as the frame changes.

use hash::aggregate::{interpolated, quantile_between, quantile_place, runs};
use plan::{AggregateFunction, Exclusion, Expr, SortKey};
use types::decimal::power_of_ten;
use types::{Result, Type, Value, stop};
use vector::gather::NO_ROW;
use vector::{Data, Vector, VectorBuilder};

use super::frames::Frames;
use super::sorted::{Pace, Sorted};
use crate::sort::keys::{Keys, shape};

/// What two keys are compared for, as `stop::spend` counts.
const SPENT_ON_COMPARING: usize = 8;

/// How many rows of each rank a frame holds, as a Fenwick tree: node n covers the ranks behind n - lowbit(n) up to n.
struct Held {
    nodes: Vec<u32>,
    count: usize,
}

impl Held {
    fn new(ranks: usize) -> Self {
        Held { nodes: vec![0; ranks.next_power_of_two() + 1], count: 0 }
    }
    fn change(&mut self, rank: usize, enters: bool) {
        let mut at = rank + 1;
        while at < self.nodes.len() {
            self.nodes[at] = if enters { self.nodes[at] + 1 } else { self.nodes[at] - 1 };
            at += at & at.wrapping_neg();
        }
        self.count = if enters { self.count + 1 } else { self.count - 1 };
    }
    /// The rank of the row at `place`, from 0, in the order of ranks.
    fn at(&self, place: usize) -> usize {
        let (mut rank, mut left) = (0, place as u32);
        let mut step = self.nodes.len() - 1;
        while step > 0 {
            let next = rank + step;
            if next < self.nodes.len() && self.nodes[next] <= left {
                left -= self.nodes[next];
                rank = next;
            }
            step /= 2;
        }
        rank
    }
}

/// Sorts rows by their keys, and by their places where these are equal. The statement can be stopped meanwhile.
fn in_order(rows: &mut [u32], encoded: &Keys) {
    rows.sort_unstable_by(|a, b| {
        stop::spend(SPENT_ON_COMPARING);
        encoded.compare(*a as usize, encoded, *b as usize).then(a.cmp(b))
    });
}

/// The values of one such aggregate for all rows of a hash partition; `sees` tells which rows have a value and pass
/// the filter.
pub(super) fn evaluate(
    function: &AggregateFunction,
    values: &Vector,
    ty: Type,
    sees: &dyn Fn(usize) -> bool,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    use AggregateFunction as A;
    let key = SortKey { expr: Expr::input(0, values.ty()), descending: false, nulls_first: false };
    let keys = [key];
    let encoded = Keys::encode(shape(&keys), std::slice::from_ref(values), &keys, sorted.rows);
    let numbers = if matches!(function, A::QuantileCont { .. }) { floats(values) } else { vec![] };
    // Ranks, rows by rank, and the tree: four bytes a row each, and the encoded keys.
    let _room = pace.reserve(sorted.rows * 32)?;
    let mut picks: Vec<u32> = Vec::new();
    let moments = !ty.is_float() && matches!(function, A::QuantileCont { .. });
    let mut results = VectorBuilder::new(if moments { ty } else { Type::Double }, 0);
    let chooses = matches!(function, A::QuantileDisc { .. } | A::Mode);
    for (low, high) in sorted.partitions() {
        let mut by_rank: Vec<u32> = (low as u32..high as u32).filter(|row| sees(*row as usize)).collect();
        in_order(&mut by_rank, &encoded);
        let mut rank = vec![u32::MAX; high - low];
        for (at, row) in by_rank.iter().enumerate() {
            pace.step()?;
            rank[*row as usize - low] = at as u32;
        }
        let mut held = Held::new(by_rank.len());
        // What `held` has: the frame without exclusions, and as ranges.
        let mut of = (low, low);
        let mut ranges = [(low, low); 3];
        let mut last: Option<[(usize, usize); 3]> = None;
        let mut entropy = 0.0;
        let excludes = frames.exclusion != Exclusion::NoOthers;
        for row in low..high {
            pace.step()?;
            let (start, end) = (frames.starts[row] as usize, frames.ends[row] as usize);
            let now = frames.ranges(row);
            let moved = excludes || start < of.0 || end < of.1 || start >= of.1;
            let changes = if moved { replaced(ranges, now) } else { grown(of, (start, end)) };
            let same = last == Some(now);
            for (from, to, enters) in changes.into_iter().filter(|_| !same) {
                for at in from..to {
                    pace.step()?;
                    if rank[at - low] != u32::MAX {
                        held.change(rank[at - low] as usize, enters);
                    }
                }
            }
            (of, ranges, last) = ((start, end), now, Some(now));
            let chosen = |place: usize| by_rank[held.at(place)];
            match function {
                A::QuantileDisc { .. } | A::QuantileCont { .. } | A::Mode if held.count == 0 => {
                    if chooses {
                        picks.push(NO_ROW);
                    } else {
                        results.push_null();
                    }
                }
                A::QuantileDisc { fraction, descending } => {
                    picks.push(chosen(quantile_place(held.count, fraction.value(), *descending)));
                }
                A::QuantileCont { fraction, descending } => {
                    let (below, above, part) = quantile_between(held.count, fraction.value(), *descending);
                    let number = |place| numbers[chosen(place) as usize];
                    let between = interpolated(number(below), number(above), part);
                    results.push(&if moments {
                        Value::I64(between.round_ties_even() as i64)
                    } else {
                        Value::F64(between)
                    });
                }
                _ if same => match picks.last().copied().filter(|_| chooses) {
                    Some(pick) => picks.push(pick),
                    None => results.push(&Value::F64(entropy)),
                },
                _ => {
                    let mut rows = Vec::with_capacity(held.count);
                    for place in 0..held.count {
                        pace.step()?;
                        rows.push(chosen(place));
                    }
                    let (longest, bits) = runs(rows.len(), |a, b| {
                        encoded.compare(rows[a] as usize, &encoded, rows[b] as usize).is_eq()
                    });
                    entropy = bits;
                    if chooses {
                        picks.push(rows[longest]);
                    } else {
                        results.push(&Value::F64(entropy));
                    }
                }
            }
        }
    }
    if chooses { Ok(values.gather_nullable(&picks).with_type(ty)) } else { Ok(results.finish()) }
}

/// Rows from one to another that enter the frame, or leave it.
type Change = (usize, usize, bool);

/// The changes from one frame's ranges to another's that has none of its rows, or that others are excluded from.
fn replaced(ranges: [(usize, usize); 3], now: [(usize, usize); 3]) -> [Change; 6] {
    let [(a, b), (c, d), (e, f)] = ranges;
    let [(g, h), (i, j), (k, l)] = now;
    [(a, b, false), (c, d, false), (e, f, false), (g, h, true), (i, j, true), (k, l, true)]
}

/// The changes to a frame that begins and ends later.
fn grown(of: (usize, usize), (start, end): (usize, usize)) -> [Change; 6] {
    let none = (0, 0, true);
    [(of.1, end, true), (of.0, start, false), none, none, none, none]
}

/// Values as floats; NULLs are anything. Decimals are divided by their unit.
pub(super) fn floats(values: &Vector) -> Vec<f64> {
    let unit = power_of_ten(values.ty().scale()) as f64;
    match values.data() {
        Data::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::F64(v) => v.to_vec(),
        Data::I16(v) => v.iter().map(|x| f64::from(*x) / unit).collect(),
        Data::I32(v) => v.iter().map(|x| f64::from(*x) / unit).collect(),
        Data::I64(v) => v.iter().map(|x| *x as f64 / unit).collect(),
        Data::I128(v) => v.iter().map(|x| *x as f64 / unit).collect(),
        _ => vec![0.0; values.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::Held;

    #[test]
    fn places_are_found_by_rank() {
        let mut held = Held::new(5);
        for rank in [4, 0, 2] {
            held.change(rank, true);
        }
        assert_eq!([0, 1, 2].map(|place| held.at(place)), [0, 2, 4]);
        held.change(0, false);
        held.change(3, true);
        assert_eq!([0, 1, 2].map(|place| held.at(place)), [2, 3, 4]);
        assert_eq!(held.count, 3);
    }
}
