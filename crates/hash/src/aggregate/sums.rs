//! Sums and counts by group: the loops that aggregation's time goes to.
//!
//! Integers are summed in 64 bits as long as a bound proves that no group's sum can leave them, and in 128 bits
//! after. The bound is kept per state: the largest magnitude of each batch times its rows, added up.
//!
//! | groups so far | loop |
//! | --- | --- |
//! | one | a plain vectorised sum |
//! | up to 8 | for each group the values masked by "is of this group": `simd::sum_few_groups` |
//! | up to `COPIES_GROUPS_MAX` | four copies of the sums, so that a row need not wait for the one before it |
//! | more | the sums themselves |
//! | runs | one running total; a run's sum is the difference of two of its values |

use arrow_buffer::ToByteSlice;
use simd::dispatch;
use vector::{Coded, Codes};

use super::rows::{MaskedGroups, RowGroups, Runs};

/// Four copies of this many sums stay in the first-level cache, and clearing them is cheap compared with a batch.
const COPIES_GROUPS_MAX: usize = 256;
/// Batches below this do not repay clearing copies.
const COPIES_ROWS_MIN: usize = 128;

dispatch! {
    /// Adds 1 to `counts[group]` for each row.
    pub fn count_each(groups: &[u32], counts: &mut [i64]) {
        match counts.len() {
            0 => assert!(groups.is_empty(), "group numbers are in range"),
            1 => counts[0] += groups.len() as i64,
            2..=simd::FEW_GROUPS if groups.len() >= COPIES_ROWS_MIN => {
                for (group, count) in counts.iter_mut().enumerate() {
                    let group = group as u32;
                    let mut found = 0u32;
                    for row in groups {
                        found += u32::from(*row == group);
                    }
                    *count += i64::from(found);
                }
            }
            _ => add_each::<i64>(groups, |_| 1, counts),
        }
    }
}

dispatch! {
    fn sum_i64(values: &[i64]) -> i64 {
        let mut sum = 0i64;
        for value in values {
            sum = sum.wrapping_add(*value);
        }
        sum
    }
}

dispatch! {
    /// Eight partial sums, added in a fixed order.
    fn sum_f64(values: &[f64]) -> f64 {
        let (chunks, rest) = values.as_chunks::<8>();
        let mut sums = [0.0f64; 8];
        for chunk in chunks {
            for lane in 0..8 {
                sums[lane] += chunk[lane];
            }
        }
        sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
    }
}

/// What a loop adds up.
pub trait Number: Copy + Default {
    /// The sum of both.
    fn plus(self, other: Self) -> Self;
}
impl Number for i64 {
    #[inline(always)]
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
}
impl Number for i128 {
    #[inline(always)]
    fn plus(self, other: i128) -> i128 {
        self.wrapping_add(other)
    }
}
impl Number for f64 {
    #[inline(always)]
    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

/// Panics unless every group has a sum. One pass the compiler vectorises, instead of a check in the loops.
#[inline(always)]
pub(super) fn check_groups(groups: &[u32], len: usize) {
    let mut highest = 0;
    for group in groups {
        highest = highest.max(*group);
    }
    assert!(groups.is_empty() || (highest as usize) < len, "group numbers are in range");
}

#[inline(always)]
fn add_each<T: Number>(groups: &[u32], value: impl Fn(usize) -> T, sums: &mut [T]) {
    let count = sums.len();
    check_groups(groups, count);
    if count <= COPIES_GROUPS_MAX && groups.len() >= COPIES_ROWS_MIN {
        let mut copies = [T::default(); 4 * COPIES_GROUPS_MAX];
        let (chunks, rest) = groups.as_chunks::<4>();
        for (at, chunk) in chunks.iter().enumerate() {
            for lane in 0..4 {
                let place = lane * COPIES_GROUPS_MAX + chunk[lane] as usize;
                // SAFETY: the group is below `count`, which is at most COPIES_GROUPS_MAX (checked above), so the
                // place is below 4 * COPIES_GROUPS_MAX.
                let sum = unsafe { copies.get_unchecked_mut(place) };
                *sum = sum.plus(value(at * 4 + lane));
            }
        }
        let done = chunks.len() * 4;
        for (at, group) in rest.iter().enumerate() {
            let sum = &mut copies[*group as usize];
            *sum = sum.plus(value(done + at));
        }
        for (group, sum) in sums.iter_mut().enumerate() {
            for lane in 0..4 {
                *sum = sum.plus(copies[lane * COPIES_GROUPS_MAX + group]);
            }
        }
        return;
    }
    for (row, group) in groups.iter().enumerate() {
        // SAFETY: all groups are below `sums.len()` (checked above).
        let sum = unsafe { sums.get_unchecked_mut(*group as usize) };
        *sum = sum.plus(value(row));
    }
}

/// Sums of 64-bit integers. They are exact: a bound on their magnitude grows with every batch, and sums are held in
/// 128 bits once it leaves 64.
#[derive(Clone, Debug, Default)]
pub struct IntegerSums {
    narrow: Vec<i64>,
    /// In use, instead of `narrow`, once the bound left 64 bits.
    wide: Vec<i128>,
    is_wide: bool,
    bound: u128,
    scratch: Vec<i64>,
    /// Running totals of a batch of runs.
    totals: Vec<i64>,
}

impl IntegerSums {
    /// Names the pieces of memory of the sums.
    pub(super) fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        name(self.narrow.to_byte_slice());
        name(self.wide.to_byte_slice());
    }
    /// The sums, narrow or wide, and their bound.
    pub(super) fn into_parts(self) -> (std::result::Result<Vec<i64>, Vec<i128>>, u128) {
        (if self.is_wide { Err(self.wide) } else { Ok(self.narrow) }, self.bound)
    }
    /// Wide sums stand instead of narrow ones.
    pub(super) fn from_parts(narrow: Vec<i64>, wide: Vec<i128>, bound: u128) -> Self {
        let is_wide = !wide.is_empty() || bound > i64::MAX as u128;
        IntegerSums { narrow, wide, is_wide, bound, ..IntegerSums::default() }
    }
    /// Makes room for groups below `groups`; new sums are 0.
    pub fn resize(&mut self, groups: usize) {
        if self.is_wide { self.wide.resize(groups, 0) } else { self.narrow.resize(groups, 0) }
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        self.narrow.capacity() * 8 + self.wide.capacity() * 16
    }
    /// The sum of a group, exact.
    #[inline]
    pub fn get(&self, group: usize) -> i128 {
        if self.is_wide { self.wide[group] } else { i128::from(self.narrow[group]) }
    }
    /// The sums, if every magnitude is proved to be below `limit` and to fit 64 bits.
    pub(super) fn narrow_below(&self, limit: u128) -> Option<&[i64]> {
        (!self.is_wide && self.bound < limit).then_some(&self.narrow[..])
    }
    /// Forgets all groups and keeps the room.
    pub fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        self.is_wide = false;
        self.bound = 0;
    }
    fn raise_bound(&mut self, by: u128) {
        self.bound = self.bound.saturating_add(by);
        if !self.is_wide && self.bound > i64::MAX as u128 {
            self.wide = self.narrow.iter().map(|v| i128::from(*v)).collect();
            self.narrow = vec![];
            self.is_wide = true;
        }
    }

    /// Adds a batch's values, one for each row of `groups`. Panics when a group has no room.
    pub fn update(&mut self, groups: RowGroups<'_>, values: &[i64]) {
        debug_assert_eq!(groups.rows(), values.len());
        let batch_bound = (u128::from(simd::magnitudes(values)) + 1) * values.len() as u128;
        self.raise_bound(batch_bound);
        if !self.is_wide {
            return add_narrow(groups, values, &mut self.narrow, &mut self.totals);
        }
        let batch_fits = batch_bound <= i64::MAX as u128;
        let few = self.wide.len() <= values.len() / 4;
        match groups {
            RowGroups::Single(_) if !batch_fits => {
                self.wide[0] += values.iter().map(|v| i128::from(*v)).sum::<i128>();
            }
            // The batch alone fits 64 bits: sum it there and add once a group.
            _ if batch_fits && (few || matches!(groups, RowGroups::Single(_))) => {
                let mut scratch = std::mem::take(&mut self.scratch);
                scratch.clear();
                scratch.resize(self.wide.len(), 0);
                add_narrow(groups, values, &mut scratch, &mut self.totals);
                for (sum, part) in self.wide.iter_mut().zip(&scratch) {
                    *sum += i128::from(*part);
                }
                self.scratch = scratch;
            }
            RowGroups::Single(_) => {}
            RowGroups::Each(each) => add_each(each, |row| i128::from(values[row]), &mut self.wide),
            RowGroups::Runs(runs) => add_each(runs.each(), |row| i128::from(values[row]), &mut self.wide),
        }
    }

    /// Adds the values of a batch's selected rows, by masks.
    pub fn update_masked(&mut self, masks: &MaskedGroups, values: &[i64]) {
        let mut sums = [0i64; simd::FEW_GROUPS];
        for part in &masks.parts {
            let sums = &mut sums[..part.groups.len()];
            sums.fill(0);
            let magnitudes = simd::sum_masked(values, &part.masks, sums);
            let bound = (u128::from(magnitudes) + 1) * values.len() as u128;
            self.raise_bound(bound);
            if bound <= i64::MAX as u128 {
                sums.iter().zip(&part.groups).for_each(|(sum, group)| self.add(*group, i128::from(*sum)));
                continue;
            }
            // The batch's sums may have wrapped.
            simd::each_row(&part.masks, part.groups.len(), |row, group| {
                self.add(part.groups[group], i128::from(values[row]));
            });
        }
    }

    /// As `update_masked`, for a column that is codes on a line: the codes are summed.
    pub fn update_masked_codes(&mut self, masks: &MaskedGroups, coded: &Coded, base: i64, step: i64) {
        let Some((low, high)) = coded.bounds() else { return };
        let bound = low.unsigned_abs().max(high.unsigned_abs()) * coded.len() as u128;
        let mut sums = [0u64; simd::FEW_GROUPS];
        for part in &masks.parts {
            self.raise_bound(bound);
            let sums = &mut sums[..part.groups.len()];
            sums.fill(0);
            match &coded.codes {
                Codes::U8(c) => simd::sum_masked_codes(c, coded.last, &part.masks, sums),
                Codes::U16(c) => simd::sum_masked_codes(c, coded.last, &part.masks, sums),
                Codes::U32(c) => simd::sum_masked_codes(c, coded.last, &part.masks, sums),
            }
            for ((sum, count), group) in sums.iter().zip(&part.counts).zip(&part.groups) {
                let sum = i128::from(base) * i128::from(*count) + i128::from(step) * i128::from(*sum);
                self.add(*group, sum);
            }
        }
    }

    /// Adds sums made elsewhere; `bound` is on the sum of the magnitudes of all that they add up.
    pub fn add_sums(&mut self, groups: &[u32], sums: &[i128], bound: u128) {
        self.raise_bound(bound);
        groups.iter().zip(sums).for_each(|(group, sum)| self.add(*group, *sum));
    }

    /// Adds what the bound already covers.
    #[inline]
    fn add(&mut self, group: u32, sum: i128) {
        if self.is_wide {
            self.wide[group as usize] += sum;
        } else {
            self.narrow[group as usize] += sum as i64;
        }
    }

    /// Adds the other's sums of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &IntegerSums, rows: Option<&[u32]>, groups: &[u32]) {
        self.raise_bound(other.bound);
        match (self.is_wide, other.is_wide) {
            (false, false) => merge_each(&mut self.narrow, &other.narrow, rows, groups, |a, b| *a += b),
            (true, false) => {
                merge_each(&mut self.wide, &other.narrow, rows, groups, |a, b| *a += i128::from(b));
            }
            (true, true) => merge_each(&mut self.wide, &other.wide, rows, groups, |a, b| *a += b),
            // The other's bound left 64 bits, so this one's did.
            (false, true) => unreachable!("a bound that includes a wide one is wide"),
        }
    }
}

fn add_narrow(groups: RowGroups<'_>, values: &[i64], sums: &mut [i64], totals: &mut Vec<i64>) {
    match groups {
        RowGroups::Single(_) => sums[0] += sum_i64(values),
        RowGroups::Each(each) => {
            assert_eq!(each.len(), values.len());
            match sums.len() {
                1 => sums[0] += sum_i64(values),
                2..=simd::FEW_GROUPS => simd::sum_few_groups(each, values, sums),
                _ => add_each(each, |row| values[row], sums),
            }
        }
        RowGroups::Runs(runs) => add_runs(runs, values, sums, totals),
    }
}

fn add_runs(runs: &Runs, values: &[i64], sums: &mut [i64], totals: &mut Vec<i64>) {
    // Long runs are summed one by one; short ones, whose lengths a branch would mispredict, by differences of the
    // running total, which may wrap: the differences are right all the same.
    if values.len() > runs.len() * 16 {
        for (run, group) in runs.groups.iter().enumerate() {
            sums[*group as usize] += sum_i64(&values[runs.starts[run] as usize..runs.end(run)]);
        }
        return;
    }
    totals.clear();
    let mut total = 0i64;
    totals.extend(values.iter().map(|value| {
        total = total.wrapping_add(*value);
        total
    }));
    let mut before = 0i64;
    for (run, group) in runs.groups.iter().enumerate() {
        // A run has at least one row.
        let until = totals[runs.end(run) - 1];
        sums[*group as usize] += until.wrapping_sub(before);
        before = until;
    }
}

/// Applies `add` to the state of `groups[i]` and `other[rows[i]]` (`other[i]` without rows).
#[inline(always)]
pub(super) fn merge_each<A, B: Copy>(
    states: &mut [A],
    other: &[B],
    rows: Option<&[u32]>,
    groups: &[u32],
    add: impl Fn(&mut A, B),
) {
    match rows {
        Some(rows) => {
            for (row, group) in rows.iter().zip(groups) {
                add(&mut states[*group as usize], other[*row as usize]);
            }
        }
        None => {
            for (value, group) in other.iter().zip(groups) {
                add(&mut states[*group as usize], *value);
            }
        }
    }
}

/// Sums of 128-bit integers, which can leave their range.
#[derive(Clone, Debug, Default)]
pub struct WideSums {
    pub(super) sums: Vec<i128>,
    /// Whether some sum left 128 bits; the sums are wrong then.
    pub overflowed: bool,
}

impl WideSums {
    /// Makes room for groups below `groups`; new sums are 0.
    pub fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0);
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        self.sums.capacity() * 16
    }
    /// The sum of a group, unless `overflowed`.
    pub fn get(&self, group: usize) -> i128 {
        self.sums[group]
    }
    /// Adds a batch's values, one for each row of `groups`.
    pub fn update(&mut self, groups: RowGroups<'_>, values: &[i128]) {
        match groups {
            RowGroups::Single(_) => {
                for value in values {
                    self.add(0, *value);
                }
            }
            RowGroups::Each(each) => self.update_each(each, values),
            RowGroups::Runs(runs) => self.update_each(runs.each(), values),
        }
    }
    fn update_each(&mut self, groups: &[u32], values: &[i128]) {
        for (group, value) in groups.iter().zip(values) {
            self.add(*group as usize, *value);
        }
    }
    #[inline(always)]
    fn add(&mut self, group: usize, value: i128) {
        let (sum, over) = self.sums[group].overflowing_add(value);
        self.sums[group] = sum;
        self.overflowed |= over;
    }
    /// Adds the other's sums of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &WideSums, rows: Option<&[u32]>, groups: &[u32]) {
        self.overflowed |= other.overflowed;
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            self.add(*group as usize, other.sums[row]);
        }
    }
}

/// Sums of floats. A sum of finite values that is not finite is an overflow.
#[derive(Clone, Debug, Default)]
pub struct FloatSums {
    /// The sum of each group.
    pub sums: Vec<f64>,
    /// Some value was not finite, so a sum may rightly be so.
    pub(super) not_finite: bool,
}

impl FloatSums {
    /// Adds a batch's values, one for each row of `groups`. Panics when a group has no room.
    pub fn update(&mut self, groups: RowGroups<'_>, values: &[f64]) {
        self.not_finite = self.not_finite || !all_finite(values);
        let sums = &mut self.sums[..];
        match groups {
            RowGroups::Single(_) => sums[0] += sum_f64(values),
            RowGroups::Each(each) if sums.len() == 1 => {
                debug_assert_eq!(each.len(), values.len());
                sums[0] += sum_f64(values);
            }
            RowGroups::Each(each) => add_each(each, |row| values[row], sums),
            RowGroups::Runs(runs) => add_each(runs.each(), |row| values[row], sums),
        }
    }
    /// Adds the other's sums of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &FloatSums, rows: Option<&[u32]>, groups: &[u32]) {
        self.not_finite |= other.not_finite;
        merge_each(&mut self.sums, &other.sums, rows, groups, |a, b| *a += b);
    }
    /// Whether a sum of the groups `[start, end)` is not finite though all values were.
    pub fn overflowed(&self, start: usize, end: usize) -> bool {
        !self.not_finite && !all_finite(&self.sums[start..end])
    }
}

dispatch! {
    fn all_finite(values: &[f64]) -> bool {
        let mut finite = true;
        for value in values {
            finite &= value.is_finite();
        }
        finite
    }
}

/// Counts of rows.
pub fn add_counts(groups: RowGroups<'_>, counts: &mut [i64]) {
    match groups {
        RowGroups::Single(rows) => counts[0] += rows as i64,
        RowGroups::Each(each) => count_each(each, counts),
        RowGroups::Runs(runs) => {
            for (run, group) in runs.groups.iter().enumerate() {
                counts[*group as usize] += runs.end(run) as i64 - i64::from(runs.starts[run]);
            }
        }
    }
}
