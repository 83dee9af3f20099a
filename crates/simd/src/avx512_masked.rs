//! The loops of `masked` and `substring` with AVX-512; the scalar twins stand there.
//!
//! A batch's few groups have a mask for each 64 rows, which is what a mask register holds: values are loaded once and
//! added under each group's mask in turn. The number of groups `G` is a constant, so that the totals stay in
//! registers. Loads are masked to the rows that exist, so the last, partial word needs no loop of its own. The safe
//! functions of `masked`, `cells` and `substring` check lengths and the level before they call these.

use std::arch::x86_64::*;

use crate::Line;
use crate::masked::rows_of_word;

/// # Safety
/// `remaining` has a word for each 64 codes; there are `G` values, all different.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn group_masks<const G: usize>(
    codes: &[u8],
    values: &[u8],
    remaining: &mut [u64],
    masks: &mut Vec<u64>,
) {
    let mut wanted = [_mm512_setzero_si512(); G];
    for (wanted, value) in wanted.iter_mut().zip(values) {
        *wanted = _mm512_set1_epi8(*value as i8);
    }
    masks.clear();
    masks.resize(remaining.len() * G, 0);
    let each = remaining.iter_mut().zip(masks.as_chunks_mut::<G>().0);
    for (word, (left, of_word)) in each.enumerate() {
        let rows = rows_of_word(codes.len(), word);
        let present = *left & rows;
        // SAFETY: only bytes of rows are read.
        let code = unsafe { _mm512_maskz_loadu_epi8(rows, codes.as_ptr().wrapping_add(word * 64).cast()) };
        // No row is of two groups, so no comparison waits for the one before it.
        let mut found = 0;
        for (mask, wanted) in of_word.iter_mut().zip(wanted) {
            *mask = _mm512_mask_cmpeq_epi8_mask(present, code, wanted);
            found |= *mask;
        }
        *left = present & !found;
    }
}

/// # Safety
/// There are `rows` codes; `masks` has `G` words for each 64 of them and `sums` `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn sum_u8<const G: usize>(codes: *const u8, rows: usize, masks: &[u64], sums: &mut [u64]) {
    let zero = _mm512_setzero_si512();
    let mut totals = [zero; G];
    for (word, of_word) in masks.as_chunks::<G>().0.iter().enumerate() {
        // SAFETY: only bytes of rows are read.
        let code = unsafe { _mm512_maskz_loadu_epi8(rows_of_word(rows, word), codes.add(word * 64).cast()) };
        for (total, mask) in totals.iter_mut().zip(of_word) {
            let kept = _mm512_maskz_mov_epi8(*mask, code);
            *total = _mm512_add_epi64(*total, _mm512_sad_epu8(kept, zero));
        }
    }
    finish(totals, sums);
}

/// # Safety
/// As `sum_u8`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn sum_u16<const G: usize>(
    codes: *const u16,
    rows: usize,
    masks: &[u64],
    sums: &mut [u64],
) {
    let zero = _mm512_setzero_si512();
    let low_bytes = _mm512_set1_epi16(0xFF);
    let (mut low, mut high) = ([zero; G], [zero; G]);
    for (word, of_word) in masks.as_chunks::<G>().0.iter().enumerate() {
        let present = rows_of_word(rows, word);
        for half in 0..2 {
            // SAFETY: only codes of rows are read.
            let code = unsafe {
                _mm512_maskz_loadu_epi16(
                    (present >> (half * 32)) as u32,
                    codes.wrapping_add(word * 64 + half * 32).cast(),
                )
            };
            for group in 0..G {
                let kept = _mm512_maskz_mov_epi16((of_word[group] >> (half * 32)) as u32, code);
                let bytes = _mm512_and_si512(kept, low_bytes);
                low[group] = _mm512_add_epi64(low[group], _mm512_sad_epu8(bytes, zero));
                let bytes = _mm512_srli_epi16::<8>(kept);
                high[group] = _mm512_add_epi64(high[group], _mm512_sad_epu8(bytes, zero));
            }
        }
    }
    finish(low, sums);
    for (sum, high) in sums.iter_mut().zip(high) {
        *sum = sum.wrapping_add((_mm512_reduce_add_epi64(high) as u64) << 8);
    }
}

/// Sixteen codes of a word of rows, zeros where there are no rows. A macro, since a call would put all sums in memory.
macro_rules! codes_of_part {
    ($codes:ident, $word:ident, $part:ident, $present:ident) => {{
        let from = $codes.wrapping_add($word * 64 + $part * 16).cast();
        // SAFETY: only codes of rows are read, which the callers of these functions say exist.
        unsafe { _mm512_maskz_loadu_epi32(($present >> ($part * 16)) as u16, from) }
    }};
}

/// # Safety
/// As `sum_u8`; no code is greater than `last`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn sum_u32<const G: usize>(
    codes: *const u32,
    rows: usize,
    last: u32,
    masks: &[u64],
    sums: &mut [u64],
) {
    let zero = _mm512_setzero_si512();
    // A word adds four codes to a lane; so many words fit one.
    let words_max = (u32::MAX / last.max(1) / 4) as usize;
    if words_max < SPILL_WORDS_MIN {
        // SAFETY: as here.
        return unsafe { sum_u32_halves::<G>(codes, rows, masks, sums) };
    }
    let mut wide = [zero; G];
    for (chunk, masks) in masks.as_chunks::<G>().0.chunks(words_max).enumerate() {
        let mut narrow = [zero; G];
        for (word, of_word) in masks.iter().enumerate() {
            let word = chunk * words_max + word;
            let present = rows_of_word(rows, word);
            for part in 0..4 {
                let code = codes_of_part!(codes, word, part, present);
                for group in 0..G {
                    let mask = (of_word[group] >> (part * 16)) as u16;
                    narrow[group] = _mm512_mask_add_epi32(narrow[group], mask, narrow[group], code);
                }
            }
        }
        spill(&mut wide, narrow);
    }
    finish(wide, sums);
}

/// Fewer words than this between two spills cost more than summing halves of codes.
const SPILL_WORDS_MIN: usize = 4;
/// Words after which a lane of 32 bits may be full of halves.
const HALVES_WORDS_MAX: usize = (u32::MAX / 0xFFFF / 4) as usize;

/// Sums of large codes: of their low and high halves apart, of which many fit a lane.
///
/// # Safety
/// As `sum_u8`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn sum_u32_halves<const G: usize>(codes: *const u32, rows: usize, masks: &[u64], sums: &mut [u64]) {
    let zero = _mm512_setzero_si512();
    let low_half = _mm512_set1_epi32(0xFFFF);
    let (mut low_wide, mut high_wide) = ([zero; G], [zero; G]);
    for (chunk, masks) in masks.as_chunks::<G>().0.chunks(HALVES_WORDS_MAX).enumerate() {
        let (mut low, mut high) = ([zero; G], [zero; G]);
        for (word, of_word) in masks.iter().enumerate() {
            let word = chunk * HALVES_WORDS_MAX + word;
            let present = rows_of_word(rows, word);
            for part in 0..4 {
                let code = codes_of_part!(codes, word, part, present);
                let (below, above) = (_mm512_and_si512(code, low_half), _mm512_srli_epi32::<16>(code));
                for group in 0..G {
                    let mask = (of_word[group] >> (part * 16)) as u16;
                    low[group] = _mm512_mask_add_epi32(low[group], mask, low[group], below);
                    high[group] = _mm512_mask_add_epi32(high[group], mask, high[group], above);
                }
            }
        }
        spill(&mut low_wide, low);
        spill(&mut high_wide, high);
    }
    finish(low_wide, sums);
    for (sum, high) in sums.iter_mut().zip(high_wide) {
        *sum = sum.wrapping_add((_mm512_reduce_add_epi64(high) as u64) << 16);
    }
}

/// Adds lanes of 32 bits to lanes of 64.
#[inline]
#[target_feature(enable = "avx512f")]
fn spill<const G: usize>(wide: &mut [__m512i; G], narrow: [__m512i; G]) {
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    for (wide, narrow) in wide.iter_mut().zip(narrow) {
        *wide = _mm512_add_epi64(*wide, _mm512_and_si512(narrow, low_half));
        *wide = _mm512_add_epi64(*wide, _mm512_srli_epi64::<32>(narrow));
    }
}

#[target_feature(enable = "avx512f")]
fn finish<const G: usize>(totals: [__m512i; G], sums: &mut [u64]) {
    for (sum, total) in sums.iter_mut().zip(totals) {
        *sum = sum.wrapping_add(_mm512_reduce_add_epi64(total) as u64);
    }
}

/// # Safety
/// `masks` has `G` words for each 64 values and `sums` `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn sum_i64<const G: usize>(values: &[i64], masks: &[u64], sums: &mut [i64]) -> u64 {
    let zero = _mm512_setzero_si512();
    let mut totals = [zero; G];
    let mut magnitudes = zero;
    for (word, of_word) in masks.as_chunks::<G>().0.iter().enumerate() {
        let present = rows_of_word(values.len(), word);
        for part in 0..8 {
            // SAFETY: only values of rows are read.
            let value = unsafe {
                _mm512_maskz_loadu_epi64(
                    (present >> (part * 8)) as u8,
                    values.as_ptr().wrapping_add(word * 64 + part * 8),
                )
            };
            let sign = _mm512_srai_epi64::<63>(value);
            magnitudes = _mm512_or_si512(magnitudes, _mm512_xor_si512(value, sign));
            for group in 0..G {
                let mask = (of_word[group] >> (part * 8)) as u8;
                totals[group] = _mm512_mask_add_epi64(totals[group], mask, totals[group], value);
            }
        }
    }
    for (sum, total) in sums.iter_mut().zip(totals) {
        *sum = sum.wrapping_add(_mm512_reduce_add_epi64(total));
    }
    _mm512_reduce_or_epi64(magnitudes) as u64
}

/// Every second row of 64, from the first.
const EVEN_ROWS: u64 = 0x5555_5555_5555_5555;

/// Products of the rows in the even and in the odd lanes of 32 bits, as lanes of 64. `a` and `b` are below 2^32, so
/// that the upper halves of the even lanes need not be cleared.
macro_rules! products {
    ($even:expr, $odd:expr, $factor:expr) => {{
        let factor = $factor;
        (_mm512_mul_epu32($even, factor), _mm512_mul_epu32($odd, _mm512_srli_epi64::<32>(factor)))
    }};
}

/// # Safety
/// There are `rows` codes in `first`, `second` and, if `THREE`, `third`, of which the first has `WIDTH` bytes; `masks`
/// has `G` words for each 64 of them, `middle`, if there is one, and `last` `G` sums.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(crate) unsafe fn sum_products<const WIDTH: usize, const THREE: bool, const G: usize>(
    rows: usize,
    first: (*const u8, Line),
    second: (*const u8, Line),
    third: (*const u8, Line),
    masks: &[u64],
    middle: Option<&mut [u64]>,
    last: &mut [u64],
) {
    // A value is `(code ^ sign) + base`: `base + code`, or `base - code`.
    let lane = |line: Line| {
        let sign = -i32::from(line.falls);
        (_mm512_set1_epi32(sign), _mm512_set1_epi32((line.base as i32).wrapping_sub(sign)))
    };
    let lines = [lane(first.1), lane(second.1), lane(third.1)];
    let zero = _mm512_setzero_si512();
    let (mut sums, mut middle_sums) = ([zero; G], [zero; G]);
    let wants_middle = THREE && middle.is_some();
    for (word, of_word) in masks.as_chunks::<G>().0.iter().enumerate() {
        let present = rows_of_word(rows, word);
        let mut even = [0u64; G];
        let mut odd = [0u64; G];
        for group in 0..G {
            even[group] = _pext_u64(of_word[group], EVEN_ROWS);
            odd[group] = _pext_u64(of_word[group], !EVEN_ROWS);
        }
        for part in 0..4 {
            let (at, here) = (word * 64 + part * 16, (present >> (part * 16)) as u16);
            macro_rules! bytes {
                ($of:expr) => {
                    // SAFETY: only codes of rows are read.
                    _mm512_cvtepu8_epi32(unsafe { _mm_maskz_loadu_epi8(here, $of.wrapping_add(at).cast()) })
                };
            }
            macro_rules! value {
                ($line:literal, $codes:expr) => {
                    _mm512_add_epi32(_mm512_xor_si512($codes, lines[$line].0), lines[$line].1)
                };
            }
            let from = first.0.wrapping_add(at * WIDTH);
            let codes = match WIDTH {
                1 => bytes!(first.0),
                // SAFETY: as above; codes of the width that the caller says.
                2 => _mm512_cvtepu16_epi32(unsafe { _mm256_maskz_loadu_epi16(here, from.cast()) }),
                // SAFETY: as above.
                _ => unsafe { _mm512_maskz_loadu_epi32(here, from.cast()) },
            };
            let value = value!(0, codes);
            let factor = value!(1, bytes!(second.0));
            let two = products!(value, _mm512_srli_epi64::<32>(value), factor);
            let product = match THREE {
                true => products!(two.0, two.1, value!(2, bytes!(third.0))),
                false => two,
            };
            for group in 0..G {
                let of_even = (even[group] >> (part * 8)) as u8;
                let of_odd = (odd[group] >> (part * 8)) as u8;
                sums[group] = _mm512_mask_add_epi64(sums[group], of_even, sums[group], product.0);
                sums[group] = _mm512_mask_add_epi64(sums[group], of_odd, sums[group], product.1);
                if wants_middle {
                    let sum = &mut middle_sums[group];
                    *sum = _mm512_mask_add_epi64(*sum, of_even, *sum, two.0);
                    *sum = _mm512_mask_add_epi64(*sum, of_odd, *sum, two.1);
                }
            }
        }
    }
    finish(sums, last);
    if let Some(middle) = middle {
        finish(middle_sums, middle);
    }
}

/// # Safety
/// `first` and `second` are positions in the needle, which is not longer than the text.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,popcnt")]
pub(crate) unsafe fn find_all(text: &[u8], needle: &[u8], first: usize, second: usize, hits: &mut Vec<u32>) {
    debug_assert!(first < needle.len() && second < needle.len() && needle.len() <= text.len());
    let (a, b) = (_mm512_set1_epi8(needle[first] as i8), _mm512_set1_epi8(needle[second] as i8));
    // A needle of up to 64 bytes is compared in one step, without a call.
    let whole = rows_of_word(needle.len(), 0);
    // SAFETY: only bytes of the needle are read.
    let wanted = unsafe { _mm512_maskz_loadu_epi8(whole, needle.as_ptr().cast()) };
    // Places where the needle can begin.
    let places = text.len() - needle.len() + 1;
    let from = text.as_ptr();
    let mut at = 0;
    while at < places {
        let present = rows_of_word(places - at, 0);
        // SAFETY: a place plus a position in the needle is in the text, and only bytes of places are read.
        let mut candidates = unsafe {
            let x = _mm512_maskz_loadu_epi8(present, from.wrapping_add(at + first).cast());
            let y = _mm512_maskz_loadu_epi8(present, from.wrapping_add(at + second).cast());
            _mm512_mask_cmpeq_epi8_mask(_mm512_mask_cmpeq_epi8_mask(present, x, a), y, b)
        };
        while candidates != 0 {
            let place = at + candidates.trailing_zeros() as usize;
            // SAFETY: the needle, or its first 64 bytes, ends within the text.
            let found = unsafe { _mm512_maskz_loadu_epi8(whole, from.wrapping_add(place).cast()) };
            let equal = _mm512_mask_cmpeq_epi8_mask(whole, found, wanted) == whole;
            if equal && (needle.len() <= 64 || text[place..].starts_with(needle)) {
                hits.push(place as u32);
            }
            candidates &= candidates - 1;
        }
        at += 64;
    }
}

/// # Safety
/// The processor has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn set_aside(word: u64, first: u16, places: &mut [u16; 64]) {
    let turns = _mm512_set1_epi64(0x0003_0002_0001_0000);
    let upper = _mm512_maskz_set1_epi16(0xF0F0_F0F0, 4);
    let spare = _mm512_add_epi16(_mm512_set1_epi16(first as i16), _mm512_add_epi16(turns, upper));
    for half in 0..2 {
        let away = (!word >> (half * 32)) as u32;
        // SAFETY: each half is 32 of the 64 places.
        unsafe { _mm512_mask_storeu_epi16(places.as_mut_ptr().add(half * 32).cast(), away, spare) };
    }
}
