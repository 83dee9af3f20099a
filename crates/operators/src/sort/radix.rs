//! Radix sort of normalised keys.
//!
//! ```text
//!  prefix of a key, 128 bits:   constant | varying | constant | varying ..... | constant
//!  packed, 64 bits:                      [ its highest varying bits ][ row ]
//! ```
//! Bits that all keys share are left out, and what is left rarely needs more than four or five bytes; with the row
//! behind them it is one word, and each byte is one pass over words that lie in the second-level cache (least
//! significant digit first, all histograms in one pass; Knuth, volume 3, section 5.2.5). Rows whose packed bits are
//! equal, when those are not the whole prefix, are put in order by comparison. Keys longer than a prefix are sorted
//! again where their prefixes are equal, sixteen bytes further on.

use std::ops::Range;

use types::Result;

/// Fewer rows are sorted by comparison.
const RADIX_ROWS_MIN: usize = 256;
/// Keys that are still equal after so many prefixes are compared: recursion has an end.
const LEVELS_MAX: usize = 64;
const PREFIX_BYTES: usize = 16;
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Row numbers in the order of the keys; rows with equal keys keep their order.
pub fn sorted(keys: &[u128]) -> Vec<u32> {
    let rows = keys.len();
    let first = keys.first().copied().unwrap_or(0);
    let varying = keys.iter().fold(0, |all, key| all | (key ^ first));
    let by_key = |a: &u32, b: &u32| keys[*a as usize].cmp(&keys[*b as usize]).then(a.cmp(b));
    if rows < RADIX_ROWS_MIN || varying == 0 {
        let mut order: Vec<u32> = (0..rows as u32).collect();
        if varying != 0 {
            order.sort_unstable_by(by_key);
        }
        return order;
    }
    let row_bits = usize::BITS - (rows - 1).leading_zeros();
    let (segments, whole) = segments(varying, 64 - row_bits);
    let bits: u32 = segments.iter().map(|s| s.bits).sum();
    let pack = |key: u128| {
        let part = |s: &Segment| (key >> s.low) as u64 & (u64::MAX >> (64 - s.bits));
        segments.iter().fold(0u64, |packed, segment| packed << segment.bits | part(segment))
    };
    let words = keys.iter().enumerate().map(|(row, key)| pack(*key) << row_bits | row as u64).collect();
    let words = radix(words, row_bits, row_bits + bits);
    let row_mask = (1u64 << row_bits) - 1;
    let mut order: Vec<u32> = words.iter().map(|word| (word & row_mask) as u32).collect();
    if !whole {
        for run in runs(&words, |word| word >> row_bits) {
            order[run].sort_unstable_by(by_key);
        }
    }
    order
}

/// Adjacent bits of a key: `bits` of them (at least one) from `low` on.
struct Segment {
    low: u32,
    bits: u32,
}

/// Constant bits between varying ones that are not worth leaving out.
const GAP_BITS_MAX: u32 = 4;

/// The highest of the varying bits, in segments from the highest down, of at most `room` bits together; and whether
/// they are all of them.
fn segments(varying: u128, room: u32) -> (Vec<Segment>, bool) {
    let mut found = Vec::new();
    let (mut left, mut room) = (varying, room);
    while left != 0 {
        let high = 128 - left.leading_zeros();
        if room == 0 {
            return (found, false);
        }
        let mut low = high - 1;
        // Down to where a gap begins that is worth leaving out, or the room ends.
        while low > 0 && high - low < room {
            let below = left & ((1 << low) - 1);
            let next = 128 - below.leading_zeros();
            if below == 0 || low - next > GAP_BITS_MAX {
                break;
            }
            low = (next - 1).max(high - room.min(high));
        }
        found.push(Segment { low, bits: high - low });
        room -= high - low;
        left &= (1u128 << low) - 1;
    }
    (found, true)
}

/// Brings `rows`, which ascend, into the order of their keys; rows with equal keys keep their order. No key begins
/// with another one that is shorter.
pub fn sort_long<'a>(rows: &mut [u32], key: &dyn Fn(u32) -> &'a [u8]) {
    sort_from(rows, key, 0, 0);
}

/// As `sort_long`, of keys whose first `known` bytes are equal.
fn sort_from<'a>(rows: &mut [u32], key: &dyn Fn(u32) -> &'a [u8], known: usize, level: usize) {
    let rest = |row: u32, from: usize| -> &'a [u8] { key(row).get(from..).unwrap_or(&[]) };
    if rows.len() < RADIX_ROWS_MIN || level >= LEVELS_MAX {
        sort_few(rows, |row| rest(row, known));
        return;
    }
    let known = known + common_prefix(rows.iter().map(|row| rest(*row, known)));
    let ties: Vec<Range<usize>> = {
        let prefixes: Vec<u128> = rows.iter().map(|row| prefix(rest(*row, known))).collect();
        let order = sorted(&prefixes);
        let ordered: Vec<u32> = order.iter().map(|at| rows[*at as usize]).collect();
        rows.copy_from_slice(&ordered);
        runs(&order, |at| prefixes[*at as usize]).collect()
    };
    let known = known + PREFIX_BYTES;
    for tie in ties {
        let tied = &mut rows[tie];
        // Keys that end within the prefix are equal.
        if tied.iter().any(|row| key(*row).len() > known) {
            sort_from(tied, key, known, level + 1);
        }
    }
}

/// Rows sorted between two looks at a signal, and what parts of many rows are cut down to.
const PART_ROWS: usize = 128 * 1024;
/// Keys that are looked at for where to cut, and the parts that are made at most of some rows.
const SAMPLES: usize = 4096;
const PARTS_MAX: usize = 256;

/// As `sort_long`, looking at `check` every hundred thousand rows or so.
///
/// Many rows are first cut into parts that fit the second-level cache, by the keys at equal distances of a sorted sample
/// (sample sort: Frazer and McKellar, 1970). The rows whose prefix is such a key are a part of their own: they go on
/// sixteen bytes further, so that frequent keys make no part that cannot be cut.
pub fn sort_long_checked<'a>(
    rows: &mut [u32],
    key: &dyn Fn(u32) -> &'a [u8],
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    sort_parts(rows, key, check, 0, 0)
}

fn sort_parts<'a>(
    rows: &mut [u32],
    key: &dyn Fn(u32) -> &'a [u8],
    check: &dyn Fn() -> Result<()>,
    known: usize,
    level: usize,
) -> Result<()> {
    check()?;
    if rows.len() <= PART_ROWS || level >= LEVELS_MAX {
        sort_from(rows, key, known, level);
        return Ok(());
    }
    let rest = |row: u32, from: usize| -> &'a [u8] { key(row).get(from..).unwrap_or(&[]) };
    let known = known + common_prefix(rows.iter().map(|row| rest(*row, known)));
    let prefix_of = |row: u32| prefix(rest(row, known));
    let mut samples: Vec<u128> =
        rows.iter().step_by(rows.len().div_ceil(SAMPLES)).map(|row| prefix_of(*row)).collect();
    samples.sort_unstable();
    let wanted = (rows.len() / (PART_ROWS / 4)).clamp(2, PARTS_MAX);
    let mut cuts: Vec<u128> = (1..wanted).map(|at| samples[at * samples.len() / wanted]).collect();
    cuts.dedup();
    // Part 2 i is below the cut i, part 2 i + 1 is at it.
    let mut part_of: Vec<u16> = Vec::with_capacity(rows.len());
    let mut ends = vec![0usize; 2 * cuts.len() + 1];
    for some in rows.chunks(PART_ROWS) {
        check()?;
        for row in some {
            let prefix = prefix_of(*row);
            let below = cuts.partition_point(|cut| *cut < prefix);
            let part = 2 * below + usize::from(cuts.get(below) == Some(&prefix));
            ends[part] += 1;
            part_of.push(part as u16);
        }
    }
    let mut next = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        next.push(sum);
        sum += *end;
        *end = sum;
    }
    let given = rows.to_vec();
    for (row, part) in given.iter().zip(&part_of) {
        let place = &mut next[usize::from(*part)];
        rows[*place] = *row;
        *place += 1;
    }
    drop((given, part_of));
    let mut begin = 0;
    for (part, end) in ends.into_iter().enumerate() {
        let some = &mut rows[begin..end];
        begin = end;
        if part % 2 == 0 {
            sort_parts(some, key, check, known, level + 1)?;
        } else if some.iter().any(|row| key(*row).len() > known + PREFIX_BYTES) {
            sort_parts(some, key, check, known + PREFIX_BYTES, level + 1)?;
        }
    }
    Ok(())
}

/// Sorts by comparison. Sixteen bytes of each key, read once, decide most of them.
fn sort_few<'a>(rows: &mut [u32], key: impl Fn(u32) -> &'a [u8]) {
    let behind = |row: u32| key(row).get(PREFIX_BYTES..).unwrap_or(&[]);
    let mut prefixed: Vec<(u128, u32)> = rows.iter().map(|row| (prefix(key(*row)), *row)).collect();
    prefixed.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| behind(a.1).cmp(behind(b.1))).then(a.1.cmp(&b.1))
    });
    for (row, (_, sorted)) in rows.iter_mut().zip(prefixed) {
        *row = sorted;
    }
}

/// Places of adjacent equal values, where there are several.
fn runs<T, K: PartialEq>(values: &[T], key: impl Fn(&T) -> K) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        while start < values.len() {
            let (from, first) = (start, key(&values[start]));
            start += 1 + values[start + 1..].iter().take_while(|v| key(v) == first).count();
            if start - from > 1 {
                return Some(from..start);
            }
        }
        None
    })
}

/// Bytes that all keys begin with.
pub fn common_prefix<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> usize {
    let Some(first) = keys.next() else { return 0 };
    let mut common = first.len();
    for key in keys {
        // Nearly always the same bytes as before: compared at once.
        if key.len() >= common && key[..common] == first[..common] {
            continue;
        }
        common = first.iter().zip(key).take(common).take_while(|(a, b)| a == b).count();
        if common == 0 {
            break;
        }
    }
    common
}

/// The first sixteen bytes as a number, zeros behind the end.
pub fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0u8; PREFIX_BYTES];
    let taken = key.len().min(PREFIX_BYTES);
    bytes[..taken].copy_from_slice(&key[..taken]);
    u128::from_be_bytes(bytes)
}

/// Sorts words by their bits `from..to`, stably.
fn radix(mut words: Vec<u64>, from: u32, to: u32) -> Vec<u64> {
    let passes = (to - from).div_ceil(DIGIT_BITS) as usize;
    let digit = |word: u64, pass: usize| (word >> (from + pass as u32 * DIGIT_BITS)) as usize % DIGITS;
    let mut counts = vec![[0u32; DIGITS]; passes];
    for word in &words {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(*word, pass)] += 1;
        }
    }
    let mut other = vec![0u64; words.len()];
    for (pass, counts) in counts.iter().enumerate() {
        // A digit that all words share orders nothing.
        if counts.iter().any(|count| *count as usize == words.len()) {
            continue;
        }
        let mut next = [0u32; DIGITS];
        let mut sum = 0;
        for (place, count) in next.iter_mut().zip(counts) {
            *place = sum;
            sum += count;
        }
        for word in &words {
            let place = &mut next[digit(*word, pass)];
            other[*place as usize] = *word;
            *place += 1;
        }
        std::mem::swap(&mut words, &mut other);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radix_orders_as_comparisons_do() {
        let mut state = 9u128;
        let mut next = || {
            state ^= state << 17;
            state ^= state >> 29;
            state ^= state << 61;
            state
        };
        let masks = [
            0,
            1,
            0xF0F0F0 << 64 | 0xFF_FFFF << 8,
            0xFF00,
            u128::MAX,
            u128::MAX << 60,
            0xFFFF_FFFF << 40,
            (1 << 127) | 1,
            (0xF << 124) | 0xF,
        ];
        for rows in [0, 1, 2, 255, 256, 257, 1000, 5000] {
            for mask in masks {
                let keys: Vec<u128> = (0..rows).map(|_| (next() & mask) | (5 << 70)).collect();
                let mut expected: Vec<u32> = (0..rows as u32).collect();
                expected.sort_by_key(|row| keys[*row as usize]);
                assert_eq!(sorted(&keys), expected, "{rows} {mask:x}");
            }
        }
    }

    #[test]
    fn long_keys_are_sorted_part_by_part() {
        let mut state = 5u64;
        let mut next = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        for rows in [10, 300, 3000] {
            for kind in 0..3 {
                let keys: Vec<Vec<u8>> = (0..rows)
                    .map(|row| {
                        let repeats = if kind == 0 { row } else { next(3) as usize };
                        let mut key = b"a common beginning".repeat(1 + repeats.min(200));
                        key.extend((0..next(30)).map(|_| b'a' + next(2) as u8));
                        // The end of a text: no key is the beginning of another.
                        key.extend([0, 0]);
                        if kind == 2 { key[..18].to_vec() } else { key }
                    })
                    .collect();
                let mut order: Vec<u32> = (0..rows as u32).collect();
                sort_long(&mut order, &|row| &keys[row as usize]);
                let mut expected: Vec<u32> = (0..rows as u32).collect();
                expected.sort_by_key(|row| &keys[*row as usize]);
                assert_eq!(order, expected, "{rows} {kind}");
            }
        }
    }
}
