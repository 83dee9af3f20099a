//! Bitmaps: booleans and validity, packed across parts that begin at any bit.

use arrow_buffer::BooleanBuffer;
use types::{ColumnStatistics, Value};
use vector::{Data, Vector};

use super::plan::ColumnPlan;
use crate::Coding;
use crate::sketch::{Sketch, hash_u64};

/// Appends bits to whole words.
struct BitWriter {
    words: Vec<u64>,
    filled: usize,
}

impl BitWriter {
    fn new(bits: usize) -> Self {
        BitWriter { words: vec![0; bits.div_ceil(64)], filled: 0 }
    }
    /// Appends the low `count` bits, at most 64; the others are zero.
    fn push(&mut self, bits: u64, count: usize) {
        if count == 0 {
            return;
        }
        let (word, shift) = (self.filled / 64, self.filled % 64);
        self.words[word] |= bits << shift;
        if shift + count > 64 {
            self.words[word + 1] |= bits >> (64 - shift);
        }
        self.filled += count;
    }
    fn push_repeated(&mut self, bit: bool, mut count: usize) {
        while count > 0 {
            let width = count.min(64);
            let bits = if bit { u64::MAX >> (64 - width) } else { 0 };
            self.push(bits, width);
            count -= width;
        }
    }
    fn push_buffer(&mut self, buffer: &BooleanBuffer) {
        let chunks = buffer.bit_chunks();
        for chunk in chunks.iter() {
            self.push(chunk, 64);
        }
        self.push(chunks.remainder_bits(), chunks.remainder_len());
    }
}

/// The packed validity of a column; `None` when there is no NULL.
pub(super) fn validity_words(parts: &[&Vector], rows: usize) -> Option<Vec<u64>> {
    if !parts.iter().any(|p| p.has_nulls()) {
        return None;
    }
    let mut writer = BitWriter::new(rows);
    for part in parts {
        if matches!(part.data(), Data::Constant(Value::Null)) {
            writer.push_repeated(false, part.len());
        } else if let Some(nulls) = part.validity() {
            writer.push_buffer(nulls.inner());
        } else {
            writer.push_repeated(true, part.len());
        }
    }
    Some(writer.words)
}

pub(super) struct BitsPlan {
    words: Vec<u64>,
    statistics: ColumnStatistics,
    sketch: Sketch,
}

pub(super) fn plan(parts: &[&Vector], rows: usize, nulls: usize, validity: Option<&[u64]>) -> BitsPlan {
    let mut writer = BitWriter::new(rows);
    for part in parts {
        match part.data() {
            Data::Bool(bits) => writer.push_buffer(bits),
            Data::Constant(value) => writer.push_repeated(value.as_bool() == Some(true), part.len()),
            _ => {
                if let Data::Bool(bits) = part.flatten().data() {
                    writer.push_buffer(bits);
                }
            }
        }
    }
    let mut words = writer.words;
    if let Some(validity) = validity {
        words.iter_mut().zip(validity).for_each(|(w, v)| *w &= v);
    }
    let present = rows - nulls;
    let trues: usize = words.iter().map(|w| w.count_ones() as usize).sum();
    let mut sketch = Sketch::default();
    let mut distinct = 0;
    for (bit, count) in [(0, present - trues), (1, trues)] {
        if count > 0 {
            distinct += 1;
            sketch.add_hash(hash_u64(bit));
        }
    }
    // Sorted: all false before all true.
    let first_true = words.iter().position(|w| *w != 0).map(|i| i * 64 + words[i].trailing_zeros() as usize);
    let sorted = nulls == 0 && first_true.is_none_or(|first| rows - first == trues);
    let statistics = ColumnStatistics {
        min: if present == 0 { Value::Null } else { Value::Bool(trues == present) },
        max: if present == 0 { Value::Null } else { Value::Bool(trues > 0) },
        null_count: nulls as u64,
        distinct,
        unique: distinct == present as u64,
        sorted,
    };
    BitsPlan { words, statistics, sketch }
}

impl ColumnPlan for BitsPlan {
    fn coding(&self) -> Coding {
        Coding::Bits
    }
    fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }
    fn sketch(&mut self) -> Sketch {
        std::mem::take(&mut self.sketch)
    }
    fn lengths(&self) -> [usize; 3] {
        [self.words.len() * 8, 0, 0]
    }
    fn write_values(&self, out: &mut [u8]) {
        out.copy_from_slice(simd::as_bytes(&self.words));
    }
}
