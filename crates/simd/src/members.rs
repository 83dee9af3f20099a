//! Tests of integers against a set of bits, one bit a possible key: the inner loop of exact filters.
//!
//! Keys in a table are often clustered (a fact table ordered by its main key, a key that ascends as rows arrive). Then
//! the 64 keys of a bitmap word lie within a few words of the set, and those are held in one register:
//!
//! ```text
//!  window   512 bits of the set, from the word of the first key on
//!  8 keys   d = key - first bit of the window;  d < 512 for all 64, or the word goes the general way
//!           word = window[d / 64] (one permutation);  bit = word >> d % 64
//! ```
//! No gather is needed, nor for sets of up to some thousand bits (`small_set.rs`). Other keys are gathered, eight 32-bit
//! words of the set at a time: 0.36 ns a key on Zen 4, against 0.49 with 64-bit words, which compilers make of the plain
//! loop, and 0.84 one by one.

#[cfg(target_arch = "x86_64")]
use crate::small_set::SmallSet;
use crate::{Lane, Level, level};

/// The same where values can be moved together, which takes as long as about two listed rows.
const LISTED: u32 = 2;
/// From this many rows a word on, testing all costs less than moving values together first.
const PACKED_MAX: u32 = 40;
/// Up to this many rows a word on average, rows are listed and looked at one by one; beyond, all 64 of a word are tested
/// without a branch a row. A full word takes as long as about 16 single rows.
const SPARSE: u32 = 16;

/// Lanes that eight-wise widen to 64 bits.
pub trait Key: Lane + Into<i64> {
    /// Eight lanes from `from` on, sign- or zero-extended as the type is.
    ///
    /// # Safety
    /// The processor has AVX-512, and eight lanes can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn widen8(from: *const Self) -> std::arch::x86_64::__m512i;
    /// Eight lanes as 32-bit ones; lanes of 64 bits have none.
    ///
    /// # Safety
    /// The processor has AVX2, and eight lanes can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn widen8_narrow(from: *const Self) -> std::arch::x86_64::__m256i;
    /// Writes those of 64 lanes whose bit is set in `word` one after another; returns how many they are.
    ///
    /// # Safety
    /// The processor has AVX-512; 64 lanes can be read, and 64 be written whatever `word` is.
    #[cfg(target_arch = "x86_64")]
    unsafe fn pack64(from: *const Self, word: u64, to: *mut Self) -> usize;
    /// 64 lanes' distances from `low`, plus `first`, as 16-bit lanes, and which of them are at most `span`; lanes of 64
    /// bits have none.
    ///
    /// # Safety
    /// The processor has AVX-512, and 64 lanes can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn distances64(
        from: *const Self,
        low: i32,
        span: u32,
        first: u32,
    ) -> ([std::arch::x86_64::__m512i; 2], u64);
    /// Bounds of lanes of at most 32 bits.
    const NARROW: Option<(i64, i64)>;
}

/// `Key::pack64` by a compression of 512 bits at a time.
#[cfg(target_arch = "x86_64")]
macro_rules! pack64 {
    ($compress:ident, $mask:ty, $lanes:literal) => {
        #[inline(always)]
        // SAFETY: the caller keeps what the trait asks for.
        unsafe fn pack64(from: *const Self, word: u64, to: *mut Self) -> usize {
            use std::arch::x86_64::*;
            let mut written = 0;
            for part in 0..64 / $lanes {
                let mask = (word >> (part * $lanes)) as $mask;
                // SAFETY: the caller's promises; at most the lanes before this part were written.
                unsafe {
                    let lanes = _mm512_loadu_si512(from.add(part * $lanes).cast());
                    _mm512_storeu_si512(to.add(written).cast(), $compress(mask, lanes));
                }
                written += mask.count_ones() as usize;
            }
            written
        }
    };
}

macro_rules! key {
    ($($ty:ty: $load:ident as $pointer:ty, $widen:ident, $narrow:ident, $compress:ident $mask:ty, $lanes:literal,
       $distances:ident;)*) => {
        $(impl Key for $ty {
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn widen8(from: *const Self) -> std::arch::x86_64::__m512i {
                use std::arch::x86_64::*;
                // SAFETY: the caller's promises; the loads are unaligned ones.
                unsafe { $widen($load(from.cast::<$pointer>())) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn widen8_narrow(from: *const Self) -> std::arch::x86_64::__m256i {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $narrow($load(from.cast::<$pointer>())) }
            }
            #[cfg(target_arch = "x86_64")]
            pack64!($compress, $mask, $lanes);
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn distances64(
                from: *const Self,
                low: i32,
                span: u32,
                first: u32,
            ) -> ([std::arch::x86_64::__m512i; 2], u64) {
                // SAFETY: as above.
                unsafe { crate::small_set::$distances(from.cast(), low, span, first) }
            }
            const NARROW: Option<(i64, i64)> = Some((<$ty>::MIN as i64, <$ty>::MAX as i64));
        })*
    };
}
key! {
    u8: _mm_loadl_epi64 as __m128i, _mm512_cvtepu8_epi64, _mm256_cvtepu8_epi32, _mm512_maskz_compress_epi8 u64, 64, distances_of_bytes;
    u16: _mm_loadu_si128 as __m128i, _mm512_cvtepu16_epi64, _mm256_cvtepu16_epi32, _mm512_maskz_compress_epi16 u32, 32, distances_of_halves;
    i16: _mm_loadu_si128 as __m128i, _mm512_cvtepi16_epi64, _mm256_cvtepi16_epi32, _mm512_maskz_compress_epi16 u32, 32, distances_of_halves;
    u32: _mm256_loadu_si256 as __m256i, _mm512_cvtepu32_epi64, same, _mm512_maskz_compress_epi32 u16, 16, distances_of_words;
    i32: _mm256_loadu_si256 as __m256i, _mm512_cvtepi32_epi64, same, _mm512_maskz_compress_epi32 u16, 16, distances_of_words;
}
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn same(lanes: std::arch::x86_64::__m256i) -> std::arch::x86_64::__m256i {
    lanes
}
impl Key for i64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn widen8_narrow(_: *const Self) -> std::arch::x86_64::__m256i {
        unreachable!("lanes of 64 bits have no narrow form")
    }
    #[cfg(target_arch = "x86_64")]
    pack64!(_mm512_maskz_compress_epi64, u8, 8);
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn distances64(_: *const Self, _: i32, _: u32, _: u32) -> ([std::arch::x86_64::__m512i; 2], u64) {
        unreachable!("lanes of 64 bits have no narrow form")
    }
    const NARROW: Option<(i64, i64)> = None;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn widen8(from: *const Self) -> std::arch::x86_64::__m512i {
        // SAFETY: the caller's promises; the load is an unaligned one.
        unsafe { std::arch::x86_64::_mm512_loadu_si512(from.cast()) }
    }
}

/// And-s into `words`, one bit a row, whether bit `offset + value` of `bits` is set; the sum wraps, and what lies
/// outside of `bits` is not set. Where earlier tests left few rows, only those are looked at.
pub fn and_members<T: Key>(bits: &[u64], values: &[T], offset: i64, words: &mut [u64]) {
    and_members_at(level(), bits, values, offset, words);
}

/// As `and_members`, at a level that is lowered to what the processor has.
pub fn and_members_at<T: Key>(wanted: Level, bits: &[u64], values: &[T], offset: i64, words: &mut [u64]) {
    assert!(words.len() >= values.len().div_ceil(64), "a bit a row");
    let level = wanted.min(level());
    let (rows, limit) = (count(words), words.len() as u32);
    if rows <= limit * if level == Level::Avx512 { LISTED } else { SPARSE } {
        return retain_listed(values, words, |value| is_member(bits, value.wrapping_add(offset) as u64) == 1);
    }
    match level {
        // SAFETY: `level` is what the processor has.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if rows <= limit * PACKED_MAX => unsafe {
            and_members_packed(bits, values, offset, words)
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { and_members_avx512(bits, values, offset, words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { and_members_avx2(bits, values, offset, words) },
        _ => {
            for (values, word) in values.chunks(64).zip(words) {
                *word = one_word(bits, values, offset, *word);
            }
        }
    }
}

fn count(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Whether so few rows are left that it is better to list them.
pub fn is_sparse(words: &[u64]) -> bool {
    count(words) <= words.len() as u32 * SPARSE
}

/// Keeps the rows left whose value passes, by listing them: their values are asked for well before they are used.
#[inline(always)]
pub fn retain_listed<T: Copy + Into<i64>>(values: &[T], words: &mut [u64], test: impl Fn(i64) -> bool) {
    let mut rows = Vec::new();
    crate::append_indices(words, 0, &mut rows);
    for (at, row) in rows.iter().enumerate() {
        crate::prefetch_l2(values, rows[(at + crate::prefetch::AHEAD).min(rows.len() - 1)] as usize);
        // A bit past the last row does not stay.
        let stays = values.get(*row as usize).is_some_and(|value| test((*value).into()));
        words[*row as usize / 64] &= !(u64::from(!stays) << (row % 64));
    }
}

#[inline(always)]
fn is_member(bits: &[u64], code: u64) -> u64 {
    // The word past the end is no word of the set; a code beyond all words must not wrap round to one.
    let word = bits.get((code >> 6) as usize).copied().unwrap_or(0);
    word >> (code & 63) & 1
}

/// The general way: a look-up a row.
#[inline(always)]
fn one_word<T: Key>(bits: &[u64], values: &[T], offset: i64, word: u64) -> u64 {
    let code = |value: &T| (*value).into().wrapping_add(offset) as u64;
    let mut passed = 0;
    for (row, value) in values.iter().enumerate() {
        passed |= is_member(bits, code(value)) << row;
    }
    word & passed
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
fn and_members_avx512<T: Key>(bits: &[u64], values: &[T], offset: i64, words: &mut [u64]) {
    let search = Search::new::<T>(bits, offset);
    for (values, word) in values.chunks(64).zip(words) {
        if *word == 0 {
            continue;
        }
        let passed = <&[T; 64]>::try_from(values).ok().and_then(|values| search.contained(values));
        *word = passed.map_or_else(|| one_word(bits, values, offset, *word), |passed| *word & passed);
    }
}

/// The values of the rows left, moved together, then tested.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
fn and_members_packed<T: Key>(bits: &[u64], values: &[T], offset: i64, words: &mut [u64]) {
    let search = Search::new::<T>(bits, offset);
    crate::packed::and_packed(values, words, |values| {
        search.contained(values).unwrap_or_else(|| one_word(bits, values, offset, u64::MAX))
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn and_members_avx2<T: Key>(bits: &[u64], values: &[T], offset: i64, words: &mut [u64]) {
    let narrow = Narrow::new::<T>(bits, offset);
    for (values, word) in values.chunks(64).zip(words) {
        if *word == 0 {
            continue;
        }
        let passed = narrow.as_ref().and_then(|narrow| gathered(narrow, bits, values));
        *word = passed.map_or_else(|| one_word(bits, values, offset, *word), |passed| *word & passed);
    }
}

/// The ways of AVX-512 to test 64 values, found once for all of a call.
#[cfg(target_arch = "x86_64")]
struct Search<'bits> {
    bits: &'bits [u64],
    offset: i64,
    small: Option<SmallSet<'bits>>,
    narrow: Option<Narrow>,
}

#[cfg(target_arch = "x86_64")]
impl<'bits> Search<'bits> {
    fn new<T: Key>(bits: &'bits [u64], offset: i64) -> Search<'bits> {
        Search {
            bits,
            offset,
            small: SmallSet::new::<T>(bits, offset),
            narrow: Narrow::new::<T>(bits, offset),
        }
    }

    /// Which of 64 values are set; `None` where neither way is open to them.
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
    )]
    fn contained<T: Key>(&self, values: &[T; 64]) -> Option<u64> {
        match &self.small {
            Some(small) if small.is_tiny() => Some(small.contained(values)),
            Some(small) => {
                Some(in_window(self.bits, values, self.offset).unwrap_or_else(|| small.contained(values)))
            }
            None => in_window(self.bits, values, self.offset)
                .or_else(|| self.narrow.as_ref().and_then(|narrow| gathered(narrow, self.bits, values))),
        }
    }
}

/// The test in 32-bit arithmetic: values from `low` to `low + span` belong to bits from `first` on, others to none.
#[cfg(target_arch = "x86_64")]
struct Narrow {
    low: i32,
    span: u32,
    first: u32,
}

#[cfg(target_arch = "x86_64")]
impl Narrow {
    /// `None` when values or bits are too many for it.
    fn new<T: Key>(bits: &[u64], offset: i64) -> Option<Narrow> {
        let (lowest, highest) = T::NARROW?;
        let count = i64::try_from(bits.len()).ok()?.checked_mul(64).filter(|n| *n <= 1 << 31)?;
        let low = offset.checked_neg()?.max(lowest);
        let high = count.checked_sub(1)?.checked_sub(offset)?.min(highest);
        if low > high {
            return None;
        }
        Some(Narrow { low: low as i32, span: (high - low) as u32, first: (low + offset) as u32 })
    }
}

/// Which of 64 values are set.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn gathered<T: Key>(narrow: &Narrow, bits: &[u64], values: &[T]) -> Option<u64> {
    use std::arch::x86_64::*;
    let values: &[T; 64] = values.try_into().ok()?;
    let mut passed = 0;
    // SAFETY: eight values each are read of the 64 there are. `first + span` is below the number of bits (`Narrow::new`
    // takes `high` so), hence the words gathered are there; lanes outside are masked.
    unsafe {
        let low = _mm256_set1_epi32(narrow.low);
        let span = _mm256_set1_epi32(narrow.span as i32);
        let first = _mm256_set1_epi32(narrow.first as i32);
        let ones = _mm256_set1_epi32(31);
        for group in 0..8 {
            let distance = _mm256_sub_epi32(T::widen8_narrow(values.as_ptr().add(group * 8)), low);
            let inside = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, span), distance);
            let code = _mm256_add_epi32(distance, first);
            let word = _mm256_mask_i32gather_epi32::<4>(
                _mm256_setzero_si256(),
                bits.as_ptr().cast(),
                _mm256_srli_epi32::<5>(code),
                inside,
            );
            // The code's bit to the top, where the sign is.
            let bit = _mm256_sllv_epi32(word, _mm256_andnot_si256(code, ones));
            passed |= u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(bit)) as u32) << (group * 8);
        }
    }
    Some(passed)
}

/// Which of 64 values are set, if the set's bits for all of them fit a register.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
fn in_window<T: Key>(bits: &[u64], values: &[T; 64], offset: i64) -> Option<u64> {
    use std::arch::x86_64::*;
    let code = |row: usize| values[row].into().wrapping_add(offset) as u64;
    let first_word = (code(0) >> 6) as usize;
    let first = first_word as u64 * 64;
    // Most values that are not near one another are found out here.
    if code(63).wrapping_sub(first) >= 512 || code(31).wrapping_sub(first) >= 512 {
        return None;
    }
    let window = bits.get(first_word..)?.first_chunk::<8>()?;
    // SAFETY: the loads read eight words and 64 values, which are there.
    unsafe {
        let window = _mm512_loadu_si512(window.as_ptr().cast());
        let shift = _mm512_set1_epi64(offset.wrapping_sub(first as i64));
        let (limit, low, one) = (_mm512_set1_epi64(512), _mm512_set1_epi64(63), _mm512_set1_epi64(1));
        let (mut inside, mut passed) = (u8::MAX, 0u64);
        for group in 0..8 {
            let distance = _mm512_add_epi64(T::widen8(values.as_ptr().add(group * 8)), shift);
            inside &= _mm512_cmplt_epu64_mask(distance, limit);
            let word = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(distance), window);
            let bit = _mm512_srlv_epi64(word, _mm512_and_si512(distance, low));
            passed |= u64::from(_mm512_test_epi64_mask(bit, one)) << (group * 8);
        }
        (inside == u8::MAX).then_some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    fn check<T: Key + std::fmt::Debug>(random: &mut Random, bits: &[u64], values: &[T], offset: i64) {
        // Most rows left, so that all are tested; some, moved together; few, listed.
        let mix = [2, 4, 20, 80][random.below(4) as usize];
        let words: Vec<u64> = (0..values.len().div_ceil(64))
            .map(|_| match random.below(mix) {
                0 => u64::MAX,
                1 => random.bits(),
                2 | 4..8 => random.bits() & random.bits() & random.bits() & random.bits(),
                _ => 0,
            })
            .collect();
        for level in Level::available() {
            let mut got = words.clone();
            and_members_at(level, bits, values, offset, &mut got);
            for (row, value) in values.iter().enumerate() {
                let code = (*value).into().wrapping_add(offset) as u64;
                let member = bits.get((code / 64) as usize).is_some_and(|w| w >> (code % 64) & 1 == 1);
                let expected = words[row / 64] >> (row % 64) & 1 == 1 && member;
                assert_eq!(
                    got[row / 64] >> (row % 64) & 1 == 1,
                    expected,
                    "{level:?} {row} {value:?} {offset}"
                );
            }
        }
    }

    #[test]
    fn clustered_and_scattered_values_of_every_type() {
        let mut random = Random::new(3);
        for words in [0usize, 1, 7, 8, 9, 31, 32, 96, 97, 112, 257, 447, 448, 449] {
            let bits: Vec<u64> = (0..words).map(|_| random.bits()).collect();
            // Past 1,024, values are moved together in several rounds.
            for rows in [0usize, 1, 63, 64, 65, 640, 1000, 2100] {
                // Steps up to 4 stay in a window, up to 20 leave it now and then, 1000 always.
                for step in [1u64, 4, 20, 1000] {
                    let mut at = random.below(64 * words as u64 + 1) as i64;
                    let mut ascending: Vec<i64> = Vec::new();
                    for _ in 0..rows {
                        ascending.push(at);
                        at += random.below(step + 1) as i64;
                    }
                    if random.below(2) == 0 && rows > 1 {
                        // Out of order inside the window, or before it.
                        let place = random.below(rows as u64) as usize;
                        ascending[place] -= random.below(80) as i64;
                    }
                    for offset in [0i64, -5, 70, i64::MIN, -(1 << 40)] {
                        check(&mut random, bits.as_slice(), &ascending, offset);
                    }
                    let narrow = |limit: i64| ascending.iter().map(move |v| v.rem_euclid(limit));
                    check(&mut random, &bits, &narrow(1 << 8).map(|v| v as u8).collect::<Vec<_>>(), 3);
                    check(&mut random, &bits, &narrow(1 << 16).map(|v| v as u16).collect::<Vec<_>>(), -3);
                    check(&mut random, &bits, &narrow(1 << 16).map(|v| v as i16).collect::<Vec<_>>(), 0);
                    check(&mut random, &bits, &narrow(1 << 32).map(|v| v as u32).collect::<Vec<_>>(), -9);
                    check(&mut random, &bits, &narrow(1 << 32).map(|v| v as i32).collect::<Vec<_>>(), 9);
                }
            }
        }
    }
}
