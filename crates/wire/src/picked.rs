//! Which rows of a batch go into a message: a run of them, or a list.

use simd::Plain;

/// Rows of a batch, in the order in which they are written.
#[derive(Clone, Copy, Debug)]
pub enum Picked<'a> {
    /// `length` rows from `from` on.
    Run {
        /// The first row.
        from: usize,
        /// How many there are.
        length: usize,
    },
    /// The rows of these numbers.
    List(&'a [u32]),
}

impl<'a> Picked<'a> {
    /// All rows of a batch of so many.
    pub fn all(rows: usize) -> Picked<'static> {
        Picked::Run { from: 0, length: rows }
    }
    /// How many rows there are.
    pub fn len(self) -> usize {
        match self {
            Picked::Run { length, .. } => length,
            Picked::List(rows) => rows.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// The first `count` rows, and the rest. There must be so many.
    pub fn split_at(self, count: usize) -> (Picked<'a>, Picked<'a>) {
        match self {
            Picked::Run { from, length } => (
                Picked::Run { from, length: count },
                Picked::Run { from: from + count, length: length - count },
            ),
            Picked::List(rows) => {
                let (head, tail) = rows.split_at(count);
                (Picked::List(head), Picked::List(tail))
            }
        }
    }
    /// Calls `each` with every row's number.
    #[inline(always)]
    pub(crate) fn for_each(self, mut each: impl FnMut(usize)) {
        match self {
            Picked::Run { from, length } => (from..from + length).for_each(each),
            Picked::List(rows) => rows.iter().for_each(|row| each(*row as usize)),
        }
    }
    /// Writes the picked values as bytes, in memory order. `out` has their size.
    #[inline]
    pub(crate) fn gather<T: Plain>(self, values: &[T], out: &mut [u8]) {
        match self {
            Picked::Run { from, length } => {
                out.copy_from_slice(simd::as_bytes(&values[from..from + length]));
            }
            Picked::List(rows) => {
                if let Some(out) = simd::typed_mut::<T>(out) {
                    for (out, row) in out.iter_mut().zip(rows) {
                        *out = values[*row as usize];
                    }
                    return;
                }
                // Foreign memory that is not aligned.
                for (out, row) in out.chunks_exact_mut(size_of::<T>()).zip(rows) {
                    out.copy_from_slice(simd::as_bytes(&values[*row as usize..][..1]));
                }
            }
        }
    }
    /// The bits of the picked rows, 64 a call, the last word filled with zeros.
    pub(crate) fn words(self, bit: impl Fn(usize) -> bool, mut each: impl FnMut(u64)) {
        let (mut word, mut filled) = (0u64, 0u32);
        self.for_each(|row| {
            word |= u64::from(bit(row)) << filled;
            filled += 1;
            if filled == 64 {
                each(word);
                (word, filled) = (0, 0);
            }
        });
        if filled > 0 {
            each(word);
        }
    }
}
