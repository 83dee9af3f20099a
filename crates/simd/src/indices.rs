//! From bitmap words to row numbers.

use crate::{Level, level};

/// Appends the row number of every set bit: `base` plus its position.
pub fn append_indices(words: &[u64], base: u32, out: &mut Vec<u32>) {
    append_indices_at(level(), words, base, out);
}

/// As `append_indices`, at a level that is lowered to what the processor has.
pub fn append_indices_at(wanted: Level, words: &[u64], base: u32, out: &mut Vec<u32>) {
    match wanted.min(level()) {
        #[cfg(target_arch = "x86_64")]
        usable @ (Level::Avx512 | Level::Avx2) => {
            // Counted with the level's instructions: without them it takes longer than the rest, where few bits are set.
            let count = crate::bitmap::count_ones(words);
            // The kernels write whole registers, up to 16 rows past the last.
            out.reserve(count + 16);
            let length = out.len();
            // SAFETY: room for `count + 16` rows was reserved; exactly `count` of them are initialised and counted.
            // The level is what the processor has.
            unsafe {
                let end = out.as_mut_ptr().add(length);
                let written = if usable == Level::Avx512 {
                    crate::avx512::expand(words, base, end)
                } else {
                    crate::avx2::expand(words, base, end)
                };
                debug_assert_eq!(written, count);
                out.set_len(length + written);
            }
        }
        _ => {
            for (i, word) in words.iter().enumerate() {
                let mut rest = *word;
                while rest != 0 {
                    out.push(base + i as u32 * 64 + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
        }
    }
}
