//! The coding that was chosen for a column, before its bytes are written.

use std::sync::Arc;

use arrow_buffer::{MutableBuffer, NullBuffer};
use types::{ColumnStatistics, Error, SqlState, Type, Value};

use crate::Coding;
use crate::layout::{self, Entry, Extent};
use crate::sketch::Sketch;
use crate::stripe::Stripe;

/// The chosen coding of one column, and the bytes that it writes.
pub(super) trait ColumnPlan: Send {
    fn coding(&self) -> Coding;
    fn statistics(&self) -> &ColumnStatistics;
    fn sketch(&mut self) -> Sketch;
    /// Lengths of the extents values, dictionary and heap.
    fn lengths(&self) -> [usize; 3];
    fn write_values(&self, out: &mut [u8]);
    fn write_dictionary(&self, _out: &mut [u8]) {}
    fn write_heap(&self, _out: &mut [u8]) {}
}

pub(super) struct PlannedColumn<'a> {
    pub(super) ty: Type,
    pub(super) nullable: bool,
    /// Packed validity, when there is a NULL.
    pub(super) validity: Option<Vec<u64>>,
    pub(super) plan: Box<dyn ColumnPlan + 'a>,
    pub(super) extents: [Extent; layout::EXTENTS],
}

impl PlannedColumn<'_> {
    /// Its directory entry; bounds that do not fit are added to `bounds`.
    pub(super) fn entry(&self, bounds: &mut Vec<u8>) -> Entry {
        let statistics = self.plan.statistics();
        let flags = u8::from(self.nullable) * layout::FLAG_NULLABLE
            + u8::from(statistics.sorted) * layout::FLAG_SORTED
            + u8::from(statistics.unique) * layout::FLAG_UNIQUE
            + u8::from(!statistics.min.is_null()) * layout::FLAG_BOUNDS;
        let (coding, code_width, dictionary_size, base, step) = match self.plan.coding() {
            Coding::Plain => (layout::CODING_PLAIN, 0, 0, 0, 1),
            Coding::Bits => (layout::CODING_BITS, 0, 0, 0, 1),
            Coding::Dictionary { width, size } => (layout::CODING_DICTIONARY, width, size, 0, 1),
            Coding::Truncated { width, base, step } => (layout::CODING_TRUNCATED, width, 0, base, step),
        };
        let min = bound_bytes(&statistics.min, bounds);
        let max = bound_bytes(&statistics.max, bounds);
        Entry {
            ty: self.ty,
            flags,
            coding,
            code_width,
            dictionary_size,
            base,
            step,
            null_count: statistics.null_count,
            distinct: statistics.distinct,
            min,
            max,
            extents: self.extents,
        }
    }

    /// The column by itself, for indices to be built on before the block's bytes are there.
    pub(super) fn stripe(&self, rows: usize) -> Stripe {
        let [values, dictionary, heap] = self.plan.lengths();
        let lengths = [self.validity.as_ref().map_or(0, |words| words.len() * 8), values, dictionary, heap];
        let mut bounds = Vec::new();
        let mut entry = self.entry(&mut bounds);
        let mut end = 0;
        for (extent, length) in entry.extents.iter_mut().zip(lengths) {
            *extent = Extent { offset: end as u64, length: length as u64 };
            end = layout::align_up(end + length, layout::EXTENT_ALIGNMENT);
        }
        let mut memory = MutableBuffer::from_len_zeroed(end);
        for (kind, extent) in entry.extents.iter().enumerate() {
            let (from, to) = (extent.offset as usize, (extent.offset + extent.length) as usize);
            self.write_extent(kind, &mut memory.as_slice_mut()[from..to]);
        }
        // Bounds are not read from the entry, whose heap is not there, but as they are.
        entry.flags &= !layout::FLAG_BOUNDS;
        match crate::open::stripe_of(&memory.into(), &entry, rows) {
            Ok(stripe) => Stripe { statistics: Arc::new(self.plan.statistics().clone()), ..stripe },
            Err(error) => unreachable!("a column that was just written: {error}"),
        }
    }

    pub(super) fn write_extent(&self, kind: usize, out: &mut [u8]) {
        if out.is_empty() {
            return;
        }
        match kind {
            layout::VALIDITY => {
                if let Some(words) = &self.validity {
                    out.copy_from_slice(simd::as_bytes(words));
                }
            }
            layout::VALUES => self.plan.write_values(out),
            layout::DICTIONARY => self.plan.write_dictionary(out),
            _ => self.plan.write_heap(out),
        }
    }
}

pub(crate) fn too_large(what: &str) -> Error {
    Error::new(SqlState::StatementTooComplex, what)
}

/// Calls `run` with each run of rows that are not NULL.
pub(super) fn valid_runs(
    nulls: Option<&NullBuffer>,
    rows: usize,
    mut run: impl FnMut(std::ops::Range<usize>),
) {
    match nulls {
        None if rows > 0 => run(0..rows),
        None => {}
        Some(nulls) => nulls.valid_slices().for_each(|(from, to)| run(from..to)),
    }
}

/// The distinct count to report: the sketch's, held between what is certain.
pub(super) fn bounded_distinct(sketch: &Sketch, present: usize) -> u64 {
    if present == 0 { 0 } else { sketch.estimate().clamp(1, present as u64) }
}

/// A bound in its 16 bytes; a string's bytes go to the heap.
fn bound_bytes(value: &Value, heap: &mut Vec<u8>) -> [u8; 16] {
    match value {
        Value::Null => [0; 16],
        Value::Bool(b) => i128::from(*b).to_le_bytes(),
        Value::F32(f) => u128::from(f.to_bits()).to_le_bytes(),
        Value::F64(f) => u128::from(f.to_bits()).to_le_bytes(),
        Value::Bytes(bytes) => {
            let place = u128::from(heap.len() as u32) | u128::from(bytes.len() as u32) << 32;
            heap.extend_from_slice(bytes);
            place.to_le_bytes()
        }
        integer => integer.as_i128().unwrap_or(0).to_le_bytes(),
    }
}
