//! AVX2: comparisons give byte masks, which `movemask` turns into bits.
//!
//! Integers are tested against a range by one unsigned comparison, `x - low <= span`; AVX2 has none, so it is made of
//! `min` and equality, or for 64 bits of a signed comparison with the top bits flipped. The range tests take whole
//! words of 64 rows: `range` does the last rows with the scalar twins. All of this may run only where `level()` says
//! that the processor has AVX2. `flip` is all ones to negate a test; `anew` writes the words instead of narrowing
//! them.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::open_rows::OpenRows;
use crate::range_loops::{float_range, integer_range};
use crate::slices::Plan;

integer_range!("avx2", and_range_u8, u8, i8, 32, _mm256_set1_epi8, bits_u8);
integer_range!("avx2", and_range_u16, u16, i16, 32, _mm256_set1_epi16, bits_u16);
integer_range!("avx2", and_range_u32, u32, i32, 8, _mm256_set1_epi32, bits_u32);
integer_range!("avx2", and_range_u64, u64, i64, 4, _mm256_set1_epi64x, bits_u64);

/// # Safety
/// 32 bytes can be read at `at`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn bits_u8(at: *const __m256i, low: __m256i, span: __m256i) -> u32 {
    // SAFETY: the caller's promise.
    let x = _mm256_sub_epi8(unsafe { _mm256_loadu_si256(at) }, low);
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, span), x)) as u32
}

/// # Safety
/// 64 bytes can be read at `at`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn bits_u16(at: *const __m256i, low: __m256i, span: __m256i) -> u32 {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))) };
    let (a, b) = (_mm256_sub_epi16(a, low), _mm256_sub_epi16(b, low));
    let a = _mm256_cmpeq_epi16(_mm256_min_epu16(a, span), a);
    let b = _mm256_cmpeq_epi16(_mm256_min_epu16(b, span), b);
    // Packing interleaves 128-bit halves; the permutation puts the rows back in order.
    let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(a, b));
    _mm256_movemask_epi8(packed) as u32
}

/// # Safety
/// 32 bytes can be read at `at`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn bits_u32(at: *const __m256i, low: __m256i, span: __m256i) -> u32 {
    // SAFETY: the caller's promise.
    let x = _mm256_sub_epi32(unsafe { _mm256_loadu_si256(at) }, low);
    let inside = _mm256_cmpeq_epi32(_mm256_min_epu32(x, span), x);
    _mm256_movemask_ps(_mm256_castsi256_ps(inside)) as u32
}

/// # Safety
/// 32 bytes can be read at `at`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn bits_u64(at: *const __m256i, low: __m256i, span: __m256i) -> u32 {
    // SAFETY: the caller's promise.
    let x = _mm256_sub_epi64(unsafe { _mm256_loadu_si256(at) }, low);
    // There is no unsigned 64-bit comparison: flipping the top bits makes the signed one do.
    let top = _mm256_set1_epi64x(i64::MIN);
    let above = _mm256_cmpgt_epi64(_mm256_xor_si256(x, top), _mm256_xor_si256(span, top));
    !(_mm256_movemask_pd(_mm256_castsi256_pd(above)) as u32) & 0xF
}

/// The float comparisons of a width: a bit for each value inside, and one for each NaN.
macro_rules! float_bits {
    ($name:ident, $ty:ty, $register:ty, $load:ident, $cmp:ident, $and:ident, $movemask:ident) => {
        /// # Safety
        /// 32 bytes can be read at `at`.
        #[target_feature(enable = "avx2")]
        #[inline]
        unsafe fn $name(at: *const $ty, low: $register, high: $register) -> (u64, u64) {
            // SAFETY: the caller's promise.
            let x = unsafe { $load(at) };
            let inside = $and($cmp::<_CMP_GE_OQ>(x, low), $cmp::<_CMP_LE_OQ>(x, high));
            let unordered = $movemask($cmp::<_CMP_UNORD_Q>(x, x)) as u32;
            (u64::from($movemask(inside) as u32), u64::from(unordered))
        }
    };
}
float_bits!(bits_f32, f32, __m256, _mm256_loadu_ps, _mm256_cmp_ps, _mm256_and_ps, _mm256_movemask_ps);
float_bits!(bits_f64, f64, __m256d, _mm256_loadu_pd, _mm256_cmp_pd, _mm256_and_pd, _mm256_movemask_pd);
float_range!("avx2", and_range_f32, f32, 8, _mm256_set1_ps, bits_f32);
float_range!("avx2", and_range_f64, f64, 4, _mm256_set1_pd, bits_f64);

/// For every byte, the positions of its set bits.
static POSITIONS: [[u8; 8]; 256] = {
    let mut table = [[0u8; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// As `avx512::expand`, eight rows at a time through a table of bit positions.
///
/// # Safety
/// `out` has room for the count of set bits plus 16.
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn expand(words: &[u64], base: u32, out: *mut u32) -> usize {
    let mut written = 0usize;
    for (i, word) in words.iter().enumerate() {
        if *word == 0 {
            continue;
        }
        for part in 0..8 {
            let byte = (*word >> (part * 8)) as u8;
            let offset = _mm256_set1_epi32((base + i as u32 * 64 + part * 8) as i32);
            // SAFETY: every table entry is 8 bytes.
            let positions = unsafe { _mm_loadl_epi64(POSITIONS[byte as usize].as_ptr().cast()) };
            let rows = _mm256_add_epi32(_mm256_cvtepu8_epi32(positions), offset);
            // SAFETY: at most the set bits so far precede this store, and it writes 8 lanes.
            unsafe { _mm256_storeu_si256(out.add(written).cast(), rows) };
            written += byte.count_ones() as usize;
        }
    }
    written
}

/// A segment of bit slices in two registers.
#[derive(Clone, Copy)]
struct Pair(__m256i, __m256i);

impl crate::lanes::Lanes for Pair {
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller promises eight words and the level, as for all functions below.
        unsafe { Pair(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(4).cast())) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: see `load`.
        unsafe {
            _mm256_storeu_si256(to.cast(), self.0);
            _mm256_storeu_si256(to.add(4).cast(), self.1);
        }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: see `load`.
        unsafe { Pair(_mm256_set1_epi64x(word as i64), _mm256_set1_epi64x(word as i64)) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { Pair(_mm256_and_si256(self.0, other.0), _mm256_and_si256(self.1, other.1)) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and_not(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { Pair(_mm256_andnot_si256(other.0, self.0), _mm256_andnot_si256(other.1, self.1)) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see `load`.
        unsafe { Pair(_mm256_or_si256(self.0, other.0), _mm256_or_si256(self.1, other.1)) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see `load`.
        unsafe {
            let any = _mm256_or_si256(self.0, self.1);
            _mm256_testz_si256(any, any) == 1
        }
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
        unsafe {
            let zero = _mm256_setzero_si256();
            let low = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(self.0, zero)));
            let high = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(self.1, zero)));
            crate::SEGMENT_WORDS - (low | high << 4).count_ones() as usize
        }
    }
}

/// # Safety
/// As `Plan::stretch`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
    unsafe { plan.stretch::<Pair, LOW, HIGH>(first, segments, words, listed, listed_max) }
}

/// # Safety
/// The processor has AVX2; as `slices::scan` otherwise.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) unsafe fn and_slices(
    plan: &Plan<'_>,
    words: &mut [u64],
    test: Option<&dyn crate::RowTest>,
) -> usize {
    // SAFETY: the caller's promises are passed on.
    unsafe { crate::slices::scan::<Pair>(plan, words, test) }
}
