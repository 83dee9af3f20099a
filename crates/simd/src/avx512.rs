//! AVX-512: comparisons give mask registers, so a word of 64 rows is a few masks side by side.
//!
//! Integers are tested against a range by one unsigned comparison, `x - low <= span`. The range tests and look-ups
//! take whole words of 64 rows: `range` and `lookup` do the last rows with the scalar twins. All of this may run only
//! where `level()` says that the processor has all of the level's extensions. `flip` is all ones to negate a test;
//! `anew` writes the words instead of narrowing them.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::open_rows::OpenRows;
use crate::range_loops::{float_range, integer_range};
use crate::slices::Plan;

/// The comparison of a width: a bit for each value inside.
macro_rules! integer_bits {
    ($name:ident, $sub:ident, $cmp:ident, $mask:ty) => {
        /// # Safety
        /// 64 bytes can be read at `at`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        #[inline]
        unsafe fn $name(at: *const __m512i, low: __m512i, span: __m512i) -> $mask {
            // SAFETY: the caller's promise.
            $cmp($sub(unsafe { _mm512_loadu_si512(at) }, low), span)
        }
    };
}
integer_bits!(bits_u8, _mm512_sub_epi8, _mm512_cmple_epu8_mask, u64);
integer_bits!(bits_u16, _mm512_sub_epi16, _mm512_cmple_epu16_mask, u32);
integer_bits!(bits_u32, _mm512_sub_epi32, _mm512_cmple_epu32_mask, u16);
integer_bits!(bits_u64, _mm512_sub_epi64, _mm512_cmple_epu64_mask, u8);
integer_range!("avx512f,avx512bw,avx512dq,avx512vl", and_range_u8, u8, i8, 64, _mm512_set1_epi8, bits_u8);
integer_range!(
    "avx512f,avx512bw,avx512dq,avx512vl",
    and_range_u16,
    u16,
    i16,
    32,
    _mm512_set1_epi16,
    bits_u16
);
integer_range!(
    "avx512f,avx512bw,avx512dq,avx512vl",
    and_range_u32,
    u32,
    i32,
    16,
    _mm512_set1_epi32,
    bits_u32
);
integer_range!("avx512f,avx512bw,avx512dq,avx512vl", and_range_u64, u64, i64, 8, _mm512_set1_epi64, bits_u64);

/// The float comparisons of a width: a bit for each value inside, and one for each NaN.
macro_rules! float_bits {
    ($name:ident, $ty:ty, $register:ty, $load:ident, $cmp:ident) => {
        /// # Safety
        /// 64 bytes can be read at `at`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        #[inline]
        unsafe fn $name(at: *const $ty, low: $register, high: $register) -> (u64, u64) {
            // SAFETY: the caller's promise.
            let x = unsafe { $load(at) };
            let inside = $cmp::<_CMP_GE_OQ>(x, low) & $cmp::<_CMP_LE_OQ>(x, high);
            (u64::from(inside), u64::from($cmp::<_CMP_UNORD_Q>(x, x)))
        }
    };
}
float_bits!(bits_f32, f32, __m512, _mm512_loadu_ps, _mm512_cmp_ps_mask);
float_bits!(bits_f64, f64, __m512d, _mm512_loadu_pd, _mm512_cmp_pd_mask);
float_range!("avx512f,avx512bw,avx512dq,avx512vl", and_range_f32, f32, 16, _mm512_set1_ps, bits_f32);
float_range!("avx512f,avx512bw,avx512dq,avx512vl", and_range_f64, f64, 8, _mm512_set1_pd, bits_f64);

/// The whole 256-entry table lives in four registers: two byte permutations and a blend look up 64 codes.
///
/// # Safety
/// `codes.len()` is `64 * words.len()`; `table` has at least 256 bytes, zero past the last code.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(crate) unsafe fn and_lookup_u8(codes: &[u8], table: &[u8], _last: u32, flip: u64, words: &mut [u64]) {
    debug_assert!(table.len() >= 256 && codes.len() == words.len() * 64);
    let quarter = |i: usize| {
        // SAFETY: the table has 256 bytes and `i` is at most 3.
        unsafe { _mm512_loadu_si512(table.as_ptr().add(i * 64).cast()) }
    };
    let (t0, t1, t2, t3) = (quarter(0), quarter(1), quarter(2), quarter(3));
    for (i, word) in words.iter_mut().enumerate() {
        // SAFETY: 64 codes belong to each word.
        let index = unsafe { _mm512_loadu_si512(codes.as_ptr().add(i * 64).cast()) };
        let lower = _mm512_permutex2var_epi8(t0, index, t1);
        let upper = _mm512_permutex2var_epi8(t2, index, t3);
        let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), lower, upper);
        *word &= _mm512_test_epi8_mask(found, found) ^ flip;
    }
}

/// Sixteen table bytes per gather.
///
/// # Safety
/// `table` has at least `last + 4` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn gather_test(index: __m512i, table: &[u8], last: __m512i) -> u64 {
    let index = _mm512_min_epu32(index, last);
    // SAFETY: every index is at most `last`, and the caller's table has four bytes from there on.
    let found = unsafe { _mm512_i32gather_epi32::<1>(index, table.as_ptr().cast()) };
    u64::from(_mm512_test_epi32_mask(found, _mm512_set1_epi32(0xFF)))
}

/// # Safety
/// `codes.len()` is `64 * words.len()`; `table` has at least `last + 4` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn and_lookup_u16(codes: &[u16], table: &[u8], last: u32, flip: u64, words: &mut [u64]) {
    debug_assert!(table.len() >= last as usize + 4 && codes.len() == words.len() * 64);
    let last = _mm512_set1_epi32(last as i32);
    for (i, word) in words.iter_mut().enumerate() {
        let mut bits = 0u64;
        for part in 0..4 {
            // SAFETY: 64 codes belong to each word.
            let narrow = unsafe { _mm256_loadu_si256(codes.as_ptr().add(i * 64 + part * 16).cast()) };
            // SAFETY: the caller's promise about the table is passed on.
            bits |= unsafe { gather_test(_mm512_cvtepu16_epi32(narrow), table, last) } << (part * 16);
        }
        *word &= bits ^ flip;
    }
}

/// # Safety
/// As `and_lookup_u16`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn and_lookup_u32(codes: &[u32], table: &[u8], last: u32, flip: u64, words: &mut [u64]) {
    debug_assert!(table.len() >= last as usize + 4 && codes.len() == words.len() * 64);
    let last = _mm512_set1_epi32(last as i32);
    for (i, word) in words.iter_mut().enumerate() {
        let mut bits = 0u64;
        for part in 0..4 {
            // SAFETY: 64 codes belong to each word.
            let index = unsafe { _mm512_loadu_si512(codes.as_ptr().add(i * 64 + part * 16).cast()) };
            // SAFETY: the caller's promise about the table is passed on.
            bits |= unsafe { gather_test(index, table, last) } << (part * 16);
        }
        *word &= bits ^ flip;
    }
}

/// Eight-byte codes have no tables; present so that every width answers.
///
/// # Safety
/// As `and_lookup_u16`.
pub(crate) unsafe fn and_lookup_u64(codes: &[u64], table: &[u8], last: u32, flip: u64, words: &mut [u64]) {
    crate::range::and_where(codes, |c| (table[c.min(u64::from(last)) as usize] != 0) != (flip != 0), words);
}

/// Bits of a word up to which they are found one by one, always this many times.
const FEW: usize = 4;

/// Appends `base + bit position` of every set bit; returns how many were written.
///
/// # Safety
/// `out` has room for the count of set bits plus 16.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
pub(crate) unsafe fn expand(words: &[u64], base: u32, out: *mut u32) -> usize {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let sixteen = _mm512_set1_epi32(16);
    let mut written = 0usize;
    for (i, word) in words.iter().enumerate() {
        if *word == 0 {
            continue;
        }
        let count = word.count_ones() as usize;
        if count <= FEW {
            let (mut left, first) = (*word, base + i as u32 * 64);
            for place in 0..FEW {
                // SAFETY: as below. Past the last bit, what is written is not counted.
                unsafe { *out.add(written + place) = first + left.trailing_zeros() };
                left &= left.wrapping_sub(1);
            }
            written += count;
            continue;
        }
        let mut rows = _mm512_add_epi32(lanes, _mm512_set1_epi32((base + i as u32 * 64) as i32));
        for part in 0..4 {
            let mask = (*word >> (part * 16)) as u16;
            let packed = _mm512_maskz_compress_epi32(mask, rows);
            // SAFETY: at most the set bits so far precede this store, and it writes 16 lanes.
            unsafe { _mm512_storeu_si512(out.add(written).cast(), packed) };
            written += mask.count_ones() as usize;
            rows = _mm512_add_epi32(rows, sixteen);
        }
    }
    written
}

/// Adds every value to the sum of its group, for `G` groups; others are left out.
///
/// # Safety
/// `groups` and `values` are of one length; `sums` has `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn sum_groups<const G: usize>(groups: &[u32], values: &[i64], sums: &mut [i64]) {
    debug_assert!(groups.len() == values.len() && sums.len() == G);
    let rows = values.len();
    let mut totals = [_mm512_setzero_si512(); G];
    let add = |totals: &mut [__m512i; G], group: __m256i, value: __m512i| {
        for (number, total) in totals.iter_mut().enumerate() {
            let mask = _mm256_cmpeq_epi32_mask(group, _mm256_set1_epi32(number as i32));
            *total = _mm512_mask_add_epi64(*total, mask, *total, value);
        }
    };
    let mut at = 0;
    while at + 8 <= rows {
        // SAFETY: eight rows are left.
        let (group, value) = unsafe {
            (
                _mm256_loadu_si256(groups.as_ptr().add(at).cast()),
                _mm512_loadu_si512(values.as_ptr().add(at).cast()),
            )
        };
        add(&mut totals, group, value);
        at += 8;
    }
    if at < rows {
        let mask = (1u8 << (rows - at)) - 1;
        // SAFETY: only the rows that are left are read.
        let (group, value) = unsafe {
            (
                _mm256_maskz_loadu_epi32(mask, groups.as_ptr().add(at).cast()),
                _mm512_maskz_loadu_epi64(mask, values.as_ptr().add(at)),
            )
        };
        // Rows past the end count as zeros of group 0.
        add(&mut totals, group, value);
    }
    for (sum, total) in sums.iter_mut().zip(totals) {
        *sum = sum.wrapping_add(_mm512_reduce_add_epi64(total));
    }
}

/// A word for each 64 rows from row 64 on, `whole` words counting the one before: whether a value differs from its
/// predecessor. Returns whether none is less.
///
/// # Safety
/// There are at least `64 * whole` values.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn differing(values: &[i64], whole: usize, words: &mut Vec<u64>) -> bool {
    debug_assert!(values.len() >= whole * 64);
    let mut descents = 0u8;
    for word in 1..whole {
        let mut bits = 0u64;
        for part in 0..8 {
            let at = word * 64 + part * 8;
            // SAFETY: `at` is at least 64 and `at + 8` at most `64 * whole`.
            let (value, before) = unsafe {
                (
                    _mm512_loadu_si512(values.as_ptr().add(at).cast()),
                    _mm512_loadu_si512(values.as_ptr().add(at - 1).cast()),
                )
            };
            bits |= u64::from(_mm512_cmpneq_epi64_mask(value, before)) << (part * 8);
            descents |= _mm512_cmplt_epi64_mask(value, before);
        }
        words.push(bits);
    }
    descents == 0
}

/// A segment of bit slices in one register.
impl crate::lanes::Lanes for __m512i {
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller promises eight words and the level, as for all functions below.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: see `load`.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: see `load`.
        unsafe { _mm512_set1_epi64(word as i64) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { _mm512_and_si512(self, other) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and_not(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { _mm512_andnot_si512(other, self) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { _mm512_or_si512(self, other) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see `load`.
        unsafe { _mm512_test_epi64_mask(self, self) == 0 }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn stretch<const LOW: bool, const HIGH: bool>(
        plan: &Plan<'_>,
        first: usize,
        segments: Range<usize>,
        words: &mut [u64],
        listed: &mut OpenRows,
        listed_max: usize,
    ) {
        // SAFETY: as above.
        unsafe { stretch::<LOW, HIGH>(plan, first, segments, words, listed, listed_max) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn some(self) -> usize {
        // SAFETY: see `load`.
        unsafe { _mm512_test_epi64_mask(self, self).count_ones() as usize }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn list(self, first: u32, words: *mut u64, numbers: *mut u32) -> usize {
        // SAFETY: see `load`; there is room for eight words and numbers.
        unsafe {
            let some = _mm512_test_epi64_mask(self, self);
            _mm512_storeu_si512(words.cast(), _mm512_maskz_compress_epi64(some, self));
            let all =
                _mm256_add_epi32(_mm256_set1_epi32(first as i32), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
            _mm256_storeu_si256(numbers.cast(), _mm256_maskz_compress_epi32(some, all));
            some.count_ones() as usize
        }
    }
}

/// # Safety
/// As `Plan::stretch`.
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
#[inline(never)]
unsafe fn stretch<const LOW: bool, const HIGH: bool>(
    plan: &Plan<'_>,
    first: usize,
    segments: Range<usize>,
    words: &mut [u64],
    listed: &mut OpenRows,
    listed_max: usize,
) {
    // SAFETY: the caller's promises.
    unsafe { plan.stretch::<__m512i, LOW, HIGH>(first, segments, words, listed, listed_max) }
}

/// # Safety
/// The processor has AVX-512; as `slices::scan` otherwise.
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
pub(crate) unsafe fn and_slices(
    plan: &Plan<'_>,
    words: &mut [u64],
    test: Option<&dyn crate::RowTest>,
) -> usize {
    // SAFETY: the caller's promises are passed on.
    unsafe { crate::slices::scan::<__m512i>(plan, words, test) }
}
