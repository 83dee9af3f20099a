//! Sums by group number when groups are few, and the places where a column's neighbours differ.
//!
//! The compiler turns both loops into shuffles that are slower than scalar code. By hand a sum is, for eight rows and
//! each group, one comparison into a mask register and one masked addition: no memory is written and no row waits for
//! the one before it. Measured on Zen 4, 6 M rows, four groups: 0.25 ns a row, against 1.5 for the loop as compiled.

use crate::{Level, level};

/// Groups up to which a masked addition for each beats adding into memory.
pub const FEW_GROUPS: usize = 8;

/// Adds `values[i]` to `sums[groups[i]]`, wrapping, for at most `FEW_GROUPS` sums. Rows of other groups are left out.
pub fn sum_few_groups(groups: &[u32], values: &[i64], sums: &mut [i64]) {
    sum_few_groups_at(level(), groups, values, sums);
}

/// As `sum_few_groups`, at a level that is lowered to what the processor has.
pub fn sum_few_groups_at(wanted: Level, groups: &[u32], values: &[i64], sums: &mut [i64]) {
    assert_eq!(groups.len(), values.len(), "one group a value");
    assert!(sums.len() <= FEW_GROUPS, "few groups");
    match wanted.min(level()) {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            use crate::avx512::sum_groups;
            // SAFETY: `level` is what the processor has; slices are of one length, sums as many as the parameter says.
            unsafe {
                match sums.len() {
                    1 => sum_groups::<1>(groups, values, sums),
                    2 => sum_groups::<2>(groups, values, sums),
                    3 => sum_groups::<3>(groups, values, sums),
                    4 => sum_groups::<4>(groups, values, sums),
                    5 => sum_groups::<5>(groups, values, sums),
                    6 => sum_groups::<6>(groups, values, sums),
                    7 => sum_groups::<7>(groups, values, sums),
                    8 => sum_groups::<8>(groups, values, sums),
                    _ => {}
                }
            }
        }
        _ => sum_by_copies(groups, values, sums),
    }
}

/// Four copies of the sums, so that a row need not wait for the one before it: the scalar twin.
fn sum_by_copies(groups: &[u32], values: &[i64], sums: &mut [i64]) {
    // Other groups end in the last place of a copy, which is not read.
    let mut copies = [[0i64; FEW_GROUPS + 1]; 4];
    for (at, (group, value)) in groups.iter().zip(values).enumerate() {
        let sum = &mut copies[at % 4][(*group as usize).min(FEW_GROUPS)];
        *sum = sum.wrapping_add(*value);
    }
    for (group, sum) in sums.iter_mut().enumerate() {
        *sum = copies.iter().fold(*sum, |sum, copy| sum.wrapping_add(copy[group]));
    }
}

/// One bit a row into `words`: whether a value differs from the one before it; the first is compared with `before`.
/// Returns whether no value is less than the one before it.
pub fn differing_neighbours(before: i64, values: &[i64], words: &mut Vec<u64>) -> bool {
    differing_neighbours_at(level(), before, values, words)
}

/// As `differing_neighbours`, at a level that is lowered to what the processor has.
pub fn differing_neighbours_at(wanted: Level, before: i64, values: &[i64], words: &mut Vec<u64>) -> bool {
    words.clear();
    let Some(first) = values.first() else { return true };
    // The first word is the scalar loop's: its first row has no neighbour in memory.
    let head = values.len().min(64);
    words.push(u64::from(*first != before));
    let mut ascending = before <= *first;
    for at in 1..head {
        words[0] |= u64::from(values[at] != values[at - 1]) << at;
        ascending &= values[at - 1] <= values[at];
    }
    let whole = values.len() / 64;
    let mut done = head;
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 && whole > 1 {
        // SAFETY: the level is what the processor has; rows 64 .. 64 * whole exist, and one before them.
        ascending &= unsafe { crate::avx512::differing(values, whole, words) };
        done = whole * 64;
    }
    let _ = (wanted, whole);
    while done < values.len() {
        let end = values.len().min(done + 64);
        let mut bits = 0u64;
        for at in done..end {
            bits |= u64::from(values[at] != values[at - 1]) << (at - done);
            ascending &= values[at - 1] <= values[at];
        }
        words.push(bits);
        done = end;
    }
    ascending
}
