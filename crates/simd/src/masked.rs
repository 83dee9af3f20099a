//! Sums of a few groups without a group number for each row: one bit mask a group and 64 rows.
//!
//! ```text
//!  codes of the key   3 1 1 2 3 ...          masks[word * G + group], bit r: row 64 * word + r is selected and of
//!  selection          1 1 0 1 1 ...          the group
//! ```
//! A row that was not selected is of no group, so rows need not be gathered before they are summed, and the arguments
//! may stay as the codes that a block holds: bytes are summed 64 at a time (`vpsadbw`), 4-byte codes 16 at a time in
//! 32-bit lanes that are emptied before they can overflow. The masks are made once a batch for all sums. Measured on
//! Zen 4 with four groups: docs/internals/aggregation.md.

use crate::{Code, FEW_GROUPS, Level, Line, dispatch, level};

/// Calls `$with!(G)` with the number of groups as a literal.
macro_rules! few {
    ($groups:expr, $with:ident) => {
        match $groups {
            1 => $with!(1),
            2 => $with!(2),
            3 => $with!(3),
            4 => $with!(4),
            5 => $with!(5),
            6 => $with!(6),
            7 => $with!(7),
            _ => $with!(8),
        }
    };
}

/// Whether this processor has what makes masks cheaper than group numbers.
pub fn masks_pay() -> bool {
    level() == Level::Avx512
}

/// A mask a group for each 64 rows into `masks`: rows of `remaining` whose code is `values[group]`; they leave
/// `remaining`, so that what is left has no group yet. At most `FEW_GROUPS` values, all different.
pub fn group_masks(codes: &[u8], values: &[u8], remaining: &mut [u64], masks: &mut Vec<u64>) {
    group_masks_at(level(), codes, values, remaining, masks);
}

/// As `group_masks`, at a level that is lowered to what the processor has.
pub fn group_masks_at(
    wanted: Level,
    codes: &[u8],
    values: &[u8],
    remaining: &mut [u64],
    masks: &mut Vec<u64>,
) {
    let words = codes.len().div_ceil(64);
    assert!(values.len() <= FEW_GROUPS, "few groups");
    assert_eq!(remaining.len(), words, "a bit a row");
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 && !values.is_empty() {
        macro_rules! make {
            ($groups:literal) => {
                // SAFETY: the level is what the processor has; there is a word for each 64 codes, and so many values.
                unsafe { crate::avx512_masked::group_masks::<$groups>(codes, values, remaining, masks) }
            };
        }
        return few!(values.len(), make);
    }
    let _ = wanted;
    masks.clear();
    masks.reserve(words * values.len());
    for (word, left) in remaining.iter_mut().enumerate() {
        let part = &codes[word * 64..codes.len().min(word * 64 + 64)];
        *left &= rows_of_word(codes.len(), word);
        for value in values {
            let mut mask = 0u64;
            for (row, code) in part.iter().enumerate() {
                mask |= u64::from(code == value) << row;
            }
            masks.push(mask & *left);
            *left &= !mask;
        }
    }
}

/// What one more key adds to an index: a multiple of its code, by shifting where that is one.
#[inline(always)]
fn times(code: u8, unit: u8, shift: Option<u32>) -> u8 {
    match shift {
        Some(shift) => code << shift,
        None => code.wrapping_mul(unit),
    }
}

fn shift_of(unit: u8) -> Option<u32> {
    unit.is_power_of_two().then(|| unit.trailing_zeros())
}

dispatch! {
    /// Adds `unit` times each code to the row's index, wrapping: several keys of few values as one.
    pub fn combine_codes(index: &mut [u8], codes: &[u8], unit: u8) {
        match shift_of(unit) {
            Some(shift) => index.iter_mut().zip(codes).for_each(|(i, c)| *i = i.wrapping_add(times(*c, unit, Some(shift)))),
            None => index.iter_mut().zip(codes).for_each(|(i, c)| *i = i.wrapping_add(times(*c, unit, None))),
        }
    }
}

dispatch! {
    /// Appends the index of each row's two keys.
    pub fn join_codes(first: &[u8], codes: &[u8], unit: u8, index: &mut Vec<u8>) {
        let rows = first.iter().zip(codes);
        match shift_of(unit) {
            Some(shift) => index.extend(rows.map(|(f, c)| f.wrapping_add(times(*c, unit, Some(shift))))),
            None => index.extend(rows.map(|(f, c)| f.wrapping_add(times(*c, unit, None)))),
        }
    }
}

/// The bits of word `word` that are rows, of `rows` in all.
#[inline]
pub fn rows_of_word(rows: usize, word: usize) -> u64 {
    match rows.saturating_sub(word * 64) {
        0 => 0,
        left @ 1..64 => (1 << left) - 1,
        _ => u64::MAX,
    }
}

/// Adds the rows of each of `counts.len()` groups to its count.
pub fn count_masked(masks: &[u64], counts: &mut [i64]) {
    if counts.is_empty() {
        return;
    }
    for word in masks.chunks_exact(counts.len()) {
        for (count, mask) in counts.iter_mut().zip(word) {
            *count += i64::from(mask.count_ones());
        }
    }
}

/// Adds each row's code to the sum of its group. `last`: no code is greater. Exact for up to 2^32 rows.
pub fn sum_masked_codes<C: Code>(codes: &[C], last: u32, masks: &[u64], sums: &mut [u64]) {
    sum_masked_codes_at(level(), codes, last, masks, sums);
}

/// As `sum_masked_codes`, at a level that is lowered to what the processor has.
pub fn sum_masked_codes_at<C: Code>(wanted: Level, codes: &[C], last: u32, masks: &[u64], sums: &mut [u64]) {
    check(codes.len(), masks.len(), sums.len());
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 && size_of::<C>() <= 4 {
        use crate::avx512_masked as with;
        macro_rules! sum {
            ($groups:literal) => {
                // SAFETY: the level is what the processor has; lengths were checked above; the code's width is the
                // one that the cast says.
                unsafe {
                    let (from, rows) = (codes.as_ptr(), codes.len());
                    match size_of::<C>() {
                        1 => with::sum_u8::<$groups>(from.cast(), rows, masks, sums),
                        2 => with::sum_u16::<$groups>(from.cast(), rows, masks, sums),
                        _ => with::sum_u32::<$groups>(from.cast(), rows, last, masks, sums),
                    }
                }
            };
        }
        return few!(sums.len(), sum);
    }
    let _ = (wanted, last);
    each_row(masks, sums.len(), |row, group| sums[group] = sums[group].wrapping_add(codes[row].to_u64()));
}

/// Adds each row's value to the sum of its group, wrapping. Returns the OR of the magnitudes (one's complement of
/// negative values) of all values, rows of no group included.
pub fn sum_masked(values: &[i64], masks: &[u64], sums: &mut [i64]) -> u64 {
    sum_masked_at(level(), values, masks, sums)
}

/// As `sum_masked`, at a level that is lowered to what the processor has.
pub fn sum_masked_at(wanted: Level, values: &[i64], masks: &[u64], sums: &mut [i64]) -> u64 {
    check(values.len(), masks.len(), sums.len());
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 {
        macro_rules! sum {
            ($groups:literal) => {
                // SAFETY: the level is what the processor has; lengths were checked above.
                unsafe { crate::avx512_masked::sum_i64::<$groups>(values, masks, sums) }
            };
        }
        return few!(sums.len(), sum);
    }
    let _ = wanted;
    each_row(masks, sums.len(), |row, group| sums[group] = sums[group].wrapping_add(values[row]));
    values.iter().fold(0, |all, value| all | (*value ^ (*value >> 63)) as u64)
}

/// Codes of a column, a row each, and what they mean.
pub type CodesOnLine<'a, C> = (&'a [C], Line);

/// Adds the product of each row's two or three values to the sum of its group, in one pass and without writing a
/// product. `middle`: the products of the first two as well, where there is a third. No value is negative, and the
/// product of the first two is below 2^32; sums wrap at 2^64.
pub fn sum_masked_products<C: Code>(
    first: CodesOnLine<'_, C>,
    second: CodesOnLine<'_, u8>,
    third: Option<CodesOnLine<'_, u8>>,
    masks: &[u64],
    middle: Option<&mut [u64]>,
    last: &mut [u64],
) {
    sum_masked_products_at(level(), first, second, third, masks, middle, last);
}

/// As `sum_masked_products`, at a level that is lowered to what the processor has.
pub fn sum_masked_products_at<C: Code>(
    wanted: Level,
    first: CodesOnLine<'_, C>,
    second: CodesOnLine<'_, u8>,
    third: Option<CodesOnLine<'_, u8>>,
    masks: &[u64],
    middle: Option<&mut [u64]>,
    last: &mut [u64],
) {
    let rows = first.0.len();
    check(rows, masks.len(), last.len());
    assert_eq!(rows, second.0.len(), "as many second values");
    assert!(third.is_none_or(|third| third.0.len() == rows), "as many third values");
    assert!(middle.as_ref().is_none_or(|middle| middle.len() == last.len()), "a sum a group");
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 && size_of::<C>() <= 4 {
        use crate::avx512_masked::sum_products;
        let (a, b) = ((first.0.as_ptr().cast(), first.1), (second.0.as_ptr(), second.1));
        macro_rules! of_width {
            ($width:literal, $groups:literal) => {
                // SAFETY: the level is what the processor has; lengths were checked above; the first codes' width is
                // matched below.
                unsafe {
                    match third {
                        Some((c, line)) => {
                            let c = (c.as_ptr(), line);
                            sum_products::<$width, true, $groups>(rows, a, b, c, masks, middle, last);
                        }
                        None => sum_products::<$width, false, $groups>(rows, a, b, b, masks, None, last),
                    }
                }
            };
        }
        macro_rules! sum {
            ($groups:literal) => {
                match size_of::<C>() {
                    1 => of_width!(1, $groups),
                    2 => of_width!(2, $groups),
                    _ => of_width!(4, $groups),
                }
            };
        }
        return few!(last.len(), sum);
    }
    let _ = wanted;
    let two =
        |row: usize| first.1.at(first.0[row].to_u64()) as u64 * second.1.at(second.0[row].into()) as u64;
    let groups = last.len();
    if let (Some(middle), Some(_)) = (middle, third) {
        each_row(masks, groups, |row, group| middle[group] = middle[group].wrapping_add(two(row)));
    }
    each_row(masks, groups, |row, group| {
        let third = third.map_or(1, |(codes, line)| line.at(codes[row].into()) as u64);
        last[group] = last[group].wrapping_add(two(row).wrapping_mul(third));
    });
}

fn check(rows: usize, masks: usize, groups: usize) {
    assert!((1..=FEW_GROUPS).contains(&groups), "few groups");
    assert_eq!(masks, rows.div_ceil(64) * groups, "a mask a group for each 64 rows");
}

/// Calls `f(row, group)` for every bit of the masks.
pub fn each_row(masks: &[u64], groups: usize, mut f: impl FnMut(usize, usize)) {
    for (word, of_word) in masks.chunks_exact(groups.max(1)).enumerate() {
        for (group, mask) in of_word.iter().enumerate() {
            let mut mask = *mask;
            while mask != 0 {
                f(word * 64 + mask.trailing_zeros() as usize, group);
                mask &= mask - 1;
            }
        }
    }
}
