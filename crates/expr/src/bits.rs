//! Making bitmaps out of comparisons, and row lists out of bitmaps.
//!
//! Sixty-four rows at a time: the comparison fills 64 bytes with 0 or 1, a loop the compiler vectorises, and eight
//! multiplications gather each eight bytes into eight bits.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

const WORD: usize = 64;

/// Bit i of the result is byte i (each 0 or 1). Multiplying by 2^56 + 2^49 + .. + 2^7 moves byte i, bit 0, to bit
/// 56 + i; no two terms meet.
#[inline(always)]
fn pack(bytes: &[u8; WORD]) -> u64 {
    let mut word = 0;
    let mut at = 0;
    while at < 8 {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
        word |= (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (at * 8);
        at += 1;
    }
    word
}

fn finish(words: Vec<u64>, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(words), 0, rows)
}

/// One bit for each value of the slice.
#[inline]
pub(crate) fn from_slice<A: Copy>(a: &[A], f: impl Fn(A) -> bool) -> BooleanBuffer {
    let mut words = Vec::with_capacity(a.len().div_ceil(WORD));
    let chunks = a.chunks_exact(WORD);
    let rest = chunks.remainder();
    for chunk in chunks {
        let mut bytes = [0u8; WORD];
        for (byte, a) in bytes.iter_mut().zip(chunk) {
            *byte = u8::from(f(*a));
        }
        words.push(pack(&bytes));
    }
    if !rest.is_empty() {
        words.push(rest.iter().enumerate().fold(0, |word, (i, a)| word | u64::from(f(*a)) << i));
    }
    finish(words, a.len())
}

/// One bit for each pair of values; the shorter slice decides how many.
#[inline]
pub(crate) fn from_slices<A: Copy, B: Copy>(a: &[A], b: &[B], f: impl Fn(A, B) -> bool) -> BooleanBuffer {
    let rows = a.len().min(b.len());
    let (a, b) = (&a[..rows], &b[..rows]);
    let mut words = Vec::with_capacity(rows.div_ceil(WORD));
    let (chunks_a, chunks_b) = (a.chunks_exact(WORD), b.chunks_exact(WORD));
    let (rest_a, rest_b) = (chunks_a.remainder(), chunks_b.remainder());
    for (chunk_a, chunk_b) in chunks_a.zip(chunks_b) {
        let mut bytes = [0u8; WORD];
        for ((byte, a), b) in bytes.iter_mut().zip(chunk_a).zip(chunk_b) {
            *byte = u8::from(f(*a, *b));
        }
        words.push(pack(&bytes));
    }
    if !rest_a.is_empty() {
        let pairs = rest_a.iter().zip(rest_b).enumerate();
        words.push(pairs.fold(0, |word, (i, (a, b))| word | u64::from(f(*a, *b)) << i));
    }
    finish(words, rows)
}

/// One bit a row, by row number: for kernels whose rows cost more than their bits.
pub(crate) fn from_rows(rows: usize, mut f: impl FnMut(usize) -> bool) -> BooleanBuffer {
    let mut words = Vec::with_capacity(rows.div_ceil(WORD));
    let mut row = 0;
    while row < rows {
        let many = WORD.min(rows - row);
        let mut word = 0;
        for i in 0..many {
            word |= u64::from(f(row + i)) << i;
        }
        words.push(word);
        row += many;
    }
    finish(words, rows)
}

/// The bitmap of `rows` rows that has exactly the rows of `indices` set for which `source` is set.
pub(crate) fn scatter(source: &BooleanBuffer, indices: &[u32], rows: usize) -> BooleanBuffer {
    let mut words = vec![0u64; rows.div_ceil(WORD)];
    for (at, row) in indices.iter().enumerate() {
        let row = *row as usize;
        words[row / WORD] |= u64::from(source.value(at)) << (row % WORD);
    }
    finish(words, rows)
}

/// The rows whose bit is set, ascending.
pub(crate) fn indices(bits: &BooleanBuffer) -> Vec<u32> {
    let mut out = Vec::with_capacity(bits.count_set_bits());
    let chunks = bits.bit_chunks();
    let mut base = 0u32;
    for word in chunks.iter_padded() {
        let mut word: u64 = word;
        if word == u64::MAX {
            out.extend(base..base + 64);
        } else {
            while word != 0 {
                out.push(base + word.trailing_zeros());
                word &= word - 1;
            }
        }
        base += 64;
    }
    out
}

/// `bits` where valid, false where NULL.
pub(crate) fn and_valid(bits: BooleanBuffer, validity: Option<&NullBuffer>) -> BooleanBuffer {
    match validity {
        Some(validity) if validity.null_count() > 0 => &bits & validity.inner(),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bits_are_the_tests() {
        for rows in [0, 1, 63, 64, 65, 127, 128, 500] {
            let a: Vec<i32> = (0..rows).map(|i| (i * 7919) % 13).collect();
            let b: Vec<i32> = (0..rows).map(|i| (i * 104_729) % 13).collect();
            let one = from_slice(&a, |v| v < 5);
            let two = from_slices(&a, &b, |a, b| a < b);
            let three = from_rows(rows as usize, |r| a[r] == b[r]);
            for row in 0..rows as usize {
                assert_eq!(one.value(row), a[row] < 5);
                assert_eq!(two.value(row), a[row] < b[row]);
                assert_eq!(three.value(row), a[row] == b[row]);
            }
            let listed = indices(&one);
            assert_eq!(listed, (0..rows as u32).filter(|r| one.value(*r as usize)).collect::<Vec<_>>());
            let some: Vec<u32> = (0..rows as u32).step_by(3).collect();
            let flags = from_rows(some.len(), |i| i % 2 == 0);
            let spread = scatter(&flags, &some, rows as usize);
            for row in 0..rows as usize {
                assert_eq!(spread.value(row), row % 3 == 0 && (row / 3) % 2 == 0);
            }
        }
    }

    #[test]
    fn indices_of_a_slice_that_starts_inside_a_byte() {
        let bits = from_rows(300, |r| r % 5 == 0).slice(3, 200);
        assert_eq!(indices(&bits), (0..200).filter(|r| (r + 3) % 5 == 0).collect::<Vec<u32>>());
    }
}
