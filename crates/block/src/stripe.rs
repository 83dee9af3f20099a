//! The column stripes of the two column layouts: each column's extents as typed, reference-counted views of the
//! block's bytes. `open` has validated them; here nothing can be out of bounds that an index check would not catch.
//!
//! Stripes are made once, when a block is opened, and shared by `fetch`, `search` and the indices, which read codes
//! or plain values from them without a copy.

use std::sync::{Arc, OnceLock};

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use types::{ColumnStatistics, Type, Value};
use vector::{Data, Strings, Vector};

use crate::Coding;
use crate::rows::Rows;

/// A bitmap of the block, as words for selections and as Arrow's buffer for vectors.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    pub(crate) words: ScalarBuffer<u64>,
    pub(crate) buffer: BooleanBuffer,
}

/// Strings one after another: row `i` is `heap[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug)]
pub(crate) struct StringStripe {
    pub(crate) offsets: ScalarBuffer<u32>,
    /// One buffer, in the form that string vectors share.
    pub(crate) heap: Arc<[Buffer]>,
}

impl StringStripe {
    pub(crate) fn heap(&self) -> &[u8] {
        self.heap.first().map_or(&[], |h| h.as_slice())
    }
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.heap()[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    Bits(Bits),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    I128(ScalarBuffer<i128>),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
    Strings(StringStripe),
    Codes8(ScalarBuffer<u8>),
    Codes16(ScalarBuffer<u16>),
    Codes32(ScalarBuffer<u32>),
}

impl Values {
    /// Bytes of a value or code; of strings, of their offset.
    pub(crate) fn width(&self) -> usize {
        match self {
            Values::Bits(_) | Values::Codes8(_) => 1,
            Values::I16(_) | Values::Codes16(_) => 2,
            Values::I32(_) | Values::F32(_) | Values::Codes32(_) | Values::Strings(_) => 4,
            Values::I64(_) | Values::F64(_) => 8,
            Values::I128(_) => 16,
        }
    }
}

/// The sorted distinct values behind dictionary codes.
#[derive(Debug)]
pub(crate) struct DictionaryStripe {
    pub(crate) ty: Type,
    pub(crate) size: usize,
    /// Uncoded.
    pub(crate) values: Values,
    pub(crate) vector: OnceLock<Arc<Vector>>,
}

impl DictionaryStripe {
    pub(crate) fn vector(&self) -> &Arc<Vector> {
        self.vector.get_or_init(|| {
            let data = match &self.values {
                Values::I16(v) => Data::I16(v.clone()),
                Values::I32(v) => Data::I32(v.clone()),
                Values::I64(v) => Data::I64(v.clone()),
                Values::I128(v) => Data::I128(v.clone()),
                Values::F32(v) => Data::F32(v.clone()),
                Values::F64(v) => Data::F64(v.clone()),
                Values::Strings(s) => {
                    let views = crate::fetch::views(s, Rows::Range(0..self.size));
                    Data::Bytes(Strings::from_trusted(views.into(), s.heap.clone()))
                }
                Values::Bits(_) | Values::Codes8(_) | Values::Codes16(_) | Values::Codes32(_) => {
                    unreachable!("dictionaries hold plain values; open refuses anything else")
                }
            };
            Arc::new(Vector::new(self.ty, data, None))
        })
    }
    /// The first code whose value does not satisfy `before`, which holds for a prefix of the sorted values.
    pub(crate) fn partition_point(
        &self,
        mut before: impl FnMut(std::cmp::Ordering) -> bool,
        value: &Value,
    ) -> u32 {
        let (mut low, mut high) = (0, self.size);
        while low < high {
            let middle = low.midpoint(high);
            if before(self.compare(middle, value)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as u32
    }
    /// Order of the value behind `code` against `value`.
    fn compare(&self, code: usize, value: &Value) -> std::cmp::Ordering {
        match &self.values {
            Values::Strings(s) => s.get(code).cmp(value.as_bytes().unwrap_or(&[])),
            Values::I16(v) => Value::I16(v[code]).total_cmp(value),
            Values::I32(v) => Value::I32(v[code]).total_cmp(value),
            Values::I64(v) => Value::I64(v[code]).total_cmp(value),
            Values::I128(v) => Value::I128(v[code]).total_cmp(value),
            Values::F32(v) => Value::F32(v[code]).total_cmp(value),
            Values::F64(v) => Value::F64(v[code]).total_cmp(value),
            Values::Bits(_) | Values::Codes8(_) | Values::Codes16(_) | Values::Codes32(_) => {
                unreachable!("dictionaries hold plain values; open refuses anything else")
            }
        }
    }
    /// The code of a value, if it occurs.
    pub(crate) fn find(&self, value: &Value) -> Option<u32> {
        let code = self.partition_point(std::cmp::Ordering::is_lt, value);
        ((code as usize) < self.size && self.compare(code as usize, value).is_eq()).then_some(code)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stripe {
    pub(crate) ty: Type,
    pub(crate) coding: Coding,
    pub(crate) statistics: Arc<ColumnStatistics>,
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) null_words: Option<ScalarBuffer<u64>>,
    pub(crate) values: Values,
    pub(crate) dictionary: Option<Arc<DictionaryStripe>>,
    /// Values ascend, NULLs last.
    pub(crate) ascends: bool,
}
