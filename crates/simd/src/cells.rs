//! Sums by cell: each row adds one word to its place in a small table.
//!
//! ```text
//!  codes of some small columns   c0 c1 c2            place = (c0 * size1 + c1) * size2 + c2, 16 bits
//!  codes of columns to be summed  v0  v1             word  = 1 | v0 << shift0 | v1 << shift1, 64 bits
//!                                                    table[place] += word: a count and two sums, one addition
//! ```
//! Places and words are made for `STEP_ROWS` rows at a time, by plain loops that the compiler vectorises, and stay in
//! the first-level cache; the additions are scalar. Rows that were not selected are set aside: they add to spare
//! places behind the cells, several, since additions to one place wait for each other. For the same reason a small
//! table is kept several times. The caller chooses the shifts so that no sum runs into the next one.

use crate::{Code, Level, dispatch, level};

/// Rows of a step: their places, words and codes fit the first-level cache together with the table.
pub const STEP_ROWS: usize = 512;
/// Places behind the cells, for rows that were not selected.
pub const SPARE_PLACES: usize = 8;

dispatch! {
    /// The place of each row by its first code.
    pub fn first_places<C: Code>(codes: &[C], places: &mut [u16]) {
        for (place, code) in places.iter_mut().zip(codes) {
            *place = code.to_u64() as u16;
        }
    }
}

dispatch! {
    /// The place of each row with one more code, of `size` possible ones.
    pub fn next_places<C: Code>(codes: &[C], size: u16, places: &mut [u16]) {
        for (place, code) in places.iter_mut().zip(codes) {
            *place = place.wrapping_mul(size).wrapping_add(code.to_u64() as u16);
        }
    }
}

dispatch! {
    /// No place is greater than `last` then.
    pub fn limit_places(last: u16, places: &mut [u16]) {
        for place in places.iter_mut() {
            *place = (*place).min(last);
        }
    }
}

/// Rows whose bit is not set get the places `first` to `first + SPARE_PLACES - 1`, in turns.
pub fn set_aside(selection: &[u64], first: u16, places: &mut [u16]) {
    set_aside_at(level(), selection, first, places);
}

/// As `set_aside`, at a level that is lowered to what the processor has.
pub fn set_aside_at(wanted: Level, selection: &[u64], first: u16, places: &mut [u16]) {
    assert!(places.len() <= selection.len() * 64, "a bit a row");
    for (word, part) in selection.iter().zip(places.chunks_mut(64)) {
        if *word == u64::MAX {
            continue;
        }
        #[cfg(target_arch = "x86_64")]
        if wanted.min(level()) == Level::Avx512
            && let Ok(part) = <&mut [u16; 64]>::try_from(&mut *part)
        {
            // SAFETY: the level is what the processor has.
            unsafe { crate::avx512_masked::set_aside(*word, first, part) };
            continue;
        }
        let _ = wanted;
        for (row, place) in part.iter_mut().enumerate() {
            let spare = first.wrapping_add((row % SPARE_PLACES) as u16);
            *place = if *word >> row & 1 == 1 { *place } else { spare };
        }
    }
}

dispatch! {
    /// Words of `one` and the first column's codes.
    pub fn first_words<C: Code>(codes: &[C], shift: u32, one: u64, words: &mut [u64]) {
        for (word, code) in words.iter_mut().zip(codes) {
            *word = one + (code.to_u64() << shift);
        }
    }
}

dispatch! {
    /// Adds one more column's codes to the words.
    pub fn next_words<C: Code>(codes: &[C], shift: u32, words: &mut [u64]) {
        for (word, code) in words.iter_mut().zip(codes) {
            *word = word.wrapping_add(code.to_u64() << shift);
        }
    }
}

/// Adds each row's word to its place. The table is as many copies of `table.len() / copies` places, of which a row may
/// use any; `copies` is 1, 2 or 4.
pub fn add_words(places: &[u16], words: &[u64], copies: usize, table: &mut [u64]) {
    let words = &words[..places.len()];
    // SAFETY: rows are below the number of places, which is that of the words.
    add_each(places, copies, table, |row| unsafe { *words.get_unchecked(row) });
}

dispatch! {
    /// As `add_words`, of words of `one` and a column's codes, which are made on the way: while additions wait for
    /// memory, shifts are free.
    pub fn add_codes<A: Code>(places: &[u16], codes: &[A], shift: u32, one: u64, copies: usize, table: &mut [u64]) {
        let codes = &codes[..places.len()];
        // SAFETY: rows are below the number of places, which is that of the codes.
        add_each(places, copies, table, |row| one + (unsafe { codes.get_unchecked(row) }.to_u64() << shift));
    }
}

dispatch! {
    /// As `add_codes`, of two columns.
    pub fn add_code_pairs<A: Code, B: Code>(
        places: &[u16],
        a: &[A],
        b: &[B],
        shifts: [u32; 2],
        one: u64,
        copies: usize,
        table: &mut [u64],
    ) {
        let (a, b) = (&a[..places.len()], &b[..places.len()]);
        add_each(places, copies, table, |row| {
            // SAFETY: rows are below the number of places, which is that of both columns' codes.
            let (a, b) = unsafe { (a.get_unchecked(row), b.get_unchecked(row)) };
            one.wrapping_add(a.to_u64() << shifts[0]).wrapping_add(b.to_u64() << shifts[1])
        });
    }
}

/// Adds `word(row)` to each row's place; rows are below the number of places.
#[inline(always)]
fn add_each(places: &[u16], copies: usize, table: &mut [u64], word: impl Fn(usize) -> u64) {
    match copies {
        4 => add_to_copies::<4>(places, table, word),
        2 => add_to_copies::<2>(places, table, word),
        _ => add_to_copies::<1>(places, table, word),
    }
}

#[inline(always)]
fn add_to_copies<const COPIES: usize>(places: &[u16], table: &mut [u64], word: impl Fn(usize) -> u64) {
    let stride = table.len() / COPIES;
    assert!(usize::from(highest(places)) < stride, "places are in range");
    let (chunks, rest) = places.as_chunks::<4>();
    for (chunk, places) in chunks.iter().enumerate() {
        for lane in 0..4 {
            let at = (lane % COPIES) * stride + usize::from(places[lane]);
            // SAFETY: every place is below the stride (checked above), and copy `lane % COPIES` begins at that many
            // strides, of which the table has COPIES.
            let sum = unsafe { table.get_unchecked_mut(at) };
            *sum = sum.wrapping_add(word(chunk * 4 + lane));
        }
    }
    for (row, place) in rest.iter().enumerate() {
        let sum = &mut table[usize::from(*place)];
        *sum = sum.wrapping_add(word(chunks.len() * 4 + row));
    }
}

dispatch! {
    fn highest(places: &[u16]) -> u16 {
        let mut highest = 0;
        for place in places {
            highest = highest.max(*place);
        }
        highest
    }
}

dispatch! {
    /// Adds the other copies of a table to the first.
    pub fn fold_copies(copies: usize, table: &mut [u64]) {
        let stride = table.len() / copies.max(1);
        let (first, others) = table.split_at_mut(stride);
        for copy in others.chunks_exact(stride.max(1)) {
            for (sum, other) in first.iter_mut().zip(copy) {
                *sum = sum.wrapping_add(*other);
            }
        }
    }
}

dispatch! {
    /// Adds the bits of each word that `mask` has, once it was shifted down, to its sum.
    pub fn take_field(table: &[u64], shift: u32, mask: u64, sums: &mut [u64]) {
        for (sum, word) in sums.iter_mut().zip(table) {
            *sum += word >> shift & mask;
        }
    }
}

dispatch! {
    /// The sum of products, modulo 2^64.
    pub fn dot(factors: &[i64], sums: &[u64]) -> i64 {
        let mut all = 0u64;
        for (factor, sum) in factors.iter().zip(sums) {
            all = all.wrapping_add((*factor as u64).wrapping_mul(*sum));
        }
        all as i64
    }
}

dispatch! {
    /// The sum of counts or code sums.
    pub fn total(sums: &[u64]) -> u64 {
        let mut all = 0u64;
        for sum in sums {
            all = all.wrapping_add(*sum);
        }
        all
    }
}
