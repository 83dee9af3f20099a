//! Range tests on bit slices: BitWeaving/V of Li and Patel (SIGMOD 2013), section 4.3.
//!
//! Slice `b` of a column holds bit `b` of every row's code, the most significant slice first. A comparison walks down
//! the slices and stops when every row of a segment is decided (early pruning). A segment is 512 rows, one cache line
//! of each slice; the loop over its eight words is what the compiler makes vector instructions of.
//!
//! Deviations: the paper's segment is a processor word or a vector register, and its slices lie in groups of four bits.
//! With both ends of a range the paper compares twice; here rows that still agree with the one end, the other, or both,
//! are carried in one pass.

use crate::dispatch;

/// Words of a segment.
pub const SEGMENT_WORDS: usize = 8;
pub const SEGMENT_ROWS: usize = SEGMENT_WORDS * 64;

type Segment = [u64; SEGMENT_WORDS];

dispatch! {
    /// Keeps the bits of rows whose code is in `low..=high`; with `negate`, of the others. `slices` holds `bits` slices
    /// of `stride` words each, from which the segments from `first` on are tested; `words` holds their selection, whole
    /// segments. Returns the number of words of slices that were read.
    pub fn and_slices(
        slices: &[u64],
        stride: usize,
        bits: u32,
        low: u64,
        high: u64,
        negate: bool,
        first: usize,
        words: &mut [u64],
    ) -> usize {
        let mut read = 0;
        for (number, words) in words.chunks_exact_mut(SEGMENT_WORDS).enumerate() {
            let at = (first + number) * SEGMENT_WORDS;
            let mut selected: Segment = [0; SEGMENT_WORDS];
            selected.copy_from_slice(words);
            let passes = one_segment(slices, stride, bits, low, high, at, selected, &mut read);
            for (word, passes) in words.iter_mut().zip(passes) {
                *word &= if negate { !passes } else { passes };
            }
        }
        read
    }
}

/// Nothing is left to decide.
#[inline(always)]
fn none(undecided: &Segment) -> bool {
    let mut any = 0;
    for word in undecided {
        any |= word;
    }
    any == 0
}

#[inline(always)]
fn one_segment(
    slices: &[u64],
    stride: usize,
    bits: u32,
    low: u64,
    high: u64,
    at: usize,
    selected: Segment,
    read: &mut usize,
) -> Segment {
    let slice = |bit: u32| -> &[u64] {
        let from = (bits - 1 - bit) as usize * stride + at;
        &slices[from..from + SEGMENT_WORDS]
    };
    let mut passes: Segment = [0; SEGMENT_WORDS];
    let mut bit = bits;
    // While the ends agree, rows that agree with both go on.
    let mut equal = selected;
    while bit > 0 && (low >> (bit - 1)) & 1 == (high >> (bit - 1)) & 1 {
        if none(&equal) {
            return passes;
        }
        bit -= 1;
        let flip = if (low >> bit) & 1 == 1 { 0 } else { u64::MAX };
        let slice = slice(bit);
        *read += SEGMENT_WORDS;
        for i in 0..SEGMENT_WORDS {
            equal[i] &= slice[i] ^ flip;
        }
    }
    if bit == 0 {
        return equal;
    }
    bit -= 1;
    // The first bit in which they differ: rows with a one have passed the lower end, the others the upper one.
    let mut at_low: Segment = [0; SEGMENT_WORDS];
    let mut at_high: Segment = [0; SEGMENT_WORDS];
    {
        let slice = slice(bit);
        *read += SEGMENT_WORDS;
        for i in 0..SEGMENT_WORDS {
            at_high[i] = equal[i] & slice[i];
            at_low[i] = equal[i] & !slice[i];
        }
    }
    loop {
        let rest = if bit == 0 { 0 } else { u64::MAX >> (64 - bit) };
        // An end whose remaining bits cannot exclude anything has let all of its rows pass.
        let low_open = low & rest == 0;
        let high_open = high & rest == rest;
        if low_open {
            for i in 0..SEGMENT_WORDS {
                passes[i] |= at_low[i];
                at_low[i] = 0;
            }
        }
        if high_open {
            for i in 0..SEGMENT_WORDS {
                passes[i] |= at_high[i];
                at_high[i] = 0;
            }
        }
        match (low_open, high_open) {
            (true, true) => return passes,
            (true, false) => {
                return walk::<false, true>(slice, bit, low, high, passes, at_low, at_high, read);
            }
            (false, true) => {
                return walk::<true, false>(slice, bit, low, high, passes, at_low, at_high, read);
            }
            (false, false) => {
                return walk::<true, true>(slice, bit, low, high, passes, at_low, at_high, read);
            }
        }
    }
}

/// Goes on below `bit` with the rows that agree so far with the lower end, the upper end, or one of both.
#[inline(always)]
fn walk<'a, const LOW: bool, const HIGH: bool>(
    slice: impl Fn(u32) -> &'a [u64],
    mut bit: u32,
    low: u64,
    high: u64,
    mut passes: Segment,
    mut at_low: Segment,
    mut at_high: Segment,
    read: &mut usize,
) -> Segment {
    while bit > 0 {
        bit -= 1;
        let slice = slice(bit);
        *read += SEGMENT_WORDS;
        // Ones where the end has a one in this bit.
        let low_bit = 0u64.wrapping_sub((low >> bit) & 1);
        let high_bit = 0u64.wrapping_sub((high >> bit) & 1);
        let mut undecided: Segment = [0; SEGMENT_WORDS];
        for i in 0..SEGMENT_WORDS {
            let value = slice[i];
            if LOW {
                passes[i] |= at_low[i] & value & !low_bit;
                at_low[i] &= !(value ^ low_bit);
                undecided[i] |= at_low[i];
            }
            if HIGH {
                passes[i] |= at_high[i] & !value & high_bit;
                at_high[i] &= !(value ^ high_bit);
                undecided[i] |= at_high[i];
            }
        }
        if none(&undecided) {
            return passes;
        }
    }
    for i in 0..SEGMENT_WORDS {
        passes[i] |= at_low[i] | at_high[i];
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_of_every_width() {
        let mut state = 7u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for bits in [1u32, 2, 3, 7, 8, 12, 20, 31, 32, 33, 64] {
            let mask = u64::MAX >> (64 - bits);
            let rows = SEGMENT_ROWS * 5;
            let codes: Vec<u64> = (0..rows).map(|_| next() & mask).collect();
            let stride = rows / 64;
            let mut slices = vec![0u64; stride * bits as usize];
            for (row, code) in codes.iter().enumerate() {
                for bit in 0..bits {
                    slices[(bits - 1 - bit) as usize * stride + row / 64] |=
                        ((code >> bit) & 1) << (row % 64);
                }
            }
            for _ in 0..60 {
                let (a, b) = (next() & mask, next() & mask);
                let near = codes[next() as usize % rows];
                for (low, high) in [
                    (a.min(b), a.max(b)),
                    (near, near),
                    (0, a),
                    (a, mask),
                    (near, mask),
                    (0, near),
                    (0, mask),
                ] {
                    for negate in [false, true] {
                        let before: Vec<u64> = (0..16).map(|_| next() | next()).collect();
                        let mut words = before.clone();
                        let read = and_slices(&slices, stride, bits, low, high, negate, 2, &mut words);
                        assert!(read <= bits as usize * 16);
                        for (i, (word, before)) in words.iter().zip(&before).enumerate() {
                            for row in 0..64 {
                                let code = codes[2 * SEGMENT_ROWS + i * 64 + row];
                                let expected =
                                    (low <= code && code <= high) != negate && before >> row & 1 == 1;
                                assert_eq!(word >> row & 1 == 1, expected, "{low}..={high} of {bits} bits");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn decided_segments_are_not_read_on() {
        let (bits, rows) = (32u32, SEGMENT_ROWS);
        // Every code is one: already the top slice decides against a literal that begins with a zero.
        let slices = vec![u64::MAX; rows / 64 * bits as usize];
        let mut words = vec![u64::MAX; SEGMENT_WORDS];
        assert_eq!(
            and_slices(&slices, rows / 64, bits, 0, 5, false, 0, &mut words),
            2 * SEGMENT_WORDS - SEGMENT_WORDS
        );
        assert!(words.iter().all(|word| *word == 0));
    }
}
