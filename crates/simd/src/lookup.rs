//! Which codes are accepted, as a byte table, and the test of a column of codes against it.

use crate::{Code, Level, level, range};

/// One byte a code, 1 when it is accepted. Codes past the table are not accepted. Padded, so that vector loads and
/// gathers stay inside.
#[derive(Clone, Debug)]
pub struct CodeTable {
    bytes: Vec<u8>,
    codes: usize,
}

impl CodeTable {
    /// `accept` says for each code, from 0, whether it is accepted.
    pub fn new(accept: impl ExactSizeIterator<Item = bool>) -> Self {
        let codes = accept.len();
        let mut bytes = Vec::with_capacity((codes + 4).max(256));
        bytes.extend(accept.map(u8::from));
        bytes.resize((codes + 4).max(256), 0);
        CodeTable { bytes, codes }
    }
    /// Number of codes it speaks of.
    pub fn len(&self) -> usize {
        self.codes
    }
    /// Whether it speaks of no code.
    pub fn is_empty(&self) -> bool {
        self.codes == 0
    }
    /// Whether the code is accepted; false past the table.
    pub fn accepts(&self, code: usize) -> bool {
        self.bytes.get(code).is_some_and(|b| *b != 0)
    }
    /// The accepted codes, when they follow one another without a gap: (first, last).
    pub fn as_run(&self) -> Option<(usize, usize)> {
        let table = &self.bytes[..self.codes];
        let first = table.iter().position(|b| *b != 0)?;
        let last = table.iter().rposition(|b| *b != 0)?;
        table[first..=last].iter().all(|b| *b != 0).then_some((first, last))
    }
    /// Number of accepted codes.
    pub fn count(&self) -> usize {
        self.bytes[..self.codes].iter().filter(|b| **b != 0).count()
    }
}

/// Keeps the bits of codes that the table accepts; with `negate`, of the others.
pub fn and_lookup<T: Code>(codes: &[T], table: &CodeTable, negate: bool, words: &mut [u64]) {
    and_lookup_at(level(), codes, table, negate, words);
}

/// As `and_lookup`, at a level that is lowered to what the processor has.
pub fn and_lookup_at<T: Code>(
    wanted: Level,
    codes: &[T],
    table: &CodeTable,
    negate: bool,
    words: &mut [u64],
) {
    range::check_lengths(codes.len(), words.len());
    let test = |c: T| {
        let byte = table.bytes.get(c.to_u64() as usize).copied().unwrap_or(0);
        (byte != 0) != negate
    };
    let whole = codes.len() / 64;
    let (body, tail) = codes.split_at(whole * 64);
    let (body_words, tail_words) = words.split_at_mut(whole);
    match wanted.min(level()) {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if table.codes < u32::MAX as usize - 4 => {
            let flip = if negate { u64::MAX } else { 0 };
            // SAFETY: the processor has AVX-512, the slices were cut to whole words, and the table is padded to four
            // bytes past its last code (entry `codes`, which codes beyond it are sent to, is zero) and to 256.
            unsafe { T::and_lookup_avx512(body, &table.bytes, table.codes as u32, flip, body_words) }
        }
        _ => range::and_where(body, test, body_words),
    }
    range::and_where(tail, test, tail_words);
}
