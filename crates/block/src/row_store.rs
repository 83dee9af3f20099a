//! The tuple store of the row layouts: fixed-width fields row after row, strings in a heap that the fields point into.
//!
//! ```text
//!  rows   | field of column 0 | field of column 1 | ... |  (stride bytes, unaligned)   row 0
//!         | field of column 0 | ...                                                   row 1
//!  field  value of 2 to 16 bytes | code of 1, 2 or 4 bytes | boolean of a byte | string: u32 offset, u32 length
//!  heap   strings of row 0 in the order of the columns, of row 1, ...
//! ```
//!
//! Chasseur (2015) section 2.2 gives each row a bitmap of NULLs; here validity is a bitmap a column in every layout,
//! so that validity is handed out as the block's memory. Fields are gathered into stripes of a thousand rows, or of
//! the rows that are asked for, on which the column stores' kernels work: a row store has codes and predicates on
//! codes, too.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, ScalarBuffer};
use simd::{Bitmap, Plain};
use types::{Physical, Type};
use vector::{Data, Strings, Vector};

use crate::costs::{self, ScanCost};
use crate::store::{Rows, TupleStore};
use crate::stripe::{Bits, StringStripe, Stripe, Values};
use crate::{AccessCounters, CodeSlice, Coding, PlainSlice, PreparedPredicate};

/// What stands in a column's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A byte, 0 or 1.
    Bits,
    I16,
    I32,
    I64,
    I128,
    F32,
    F64,
    Strings,
    Codes8,
    Codes16,
    Codes32,
}

impl Form {
    pub(crate) fn of(ty: Type, coding: Coding) -> Form {
        match (coding.code_width(), ty.physical()) {
            (Some(1), _) => Form::Codes8,
            (Some(2), _) => Form::Codes16,
            (Some(_), _) => Form::Codes32,
            (None, Physical::Bool) => Form::Bits,
            (None, Physical::I16) => Form::I16,
            (None, Physical::I32) => Form::I32,
            (None, Physical::I64) => Form::I64,
            (None, Physical::I128) => Form::I128,
            (None, Physical::F32) => Form::F32,
            (None, Physical::F64) => Form::F64,
            (None, Physical::Bytes) => Form::Strings,
        }
    }
    /// Bytes of the field.
    pub(crate) fn width(self) -> usize {
        match self {
            Form::Bits | Form::Codes8 => 1,
            Form::I16 | Form::Codes16 => 2,
            Form::I32 | Form::F32 | Form::Codes32 => 4,
            Form::I64 | Form::F64 | Form::Strings => 8,
            Form::I128 => 16,
        }
    }
}

/// Bytes of a row.
pub(crate) fn stride(forms: impl Iterator<Item = Form>) -> usize {
    forms.map(Form::width).sum()
}

#[derive(Debug)]
pub(crate) struct Field {
    /// Everything of the column but its values: there are none in it.
    pub(crate) column: Stripe,
    pub(crate) form: Form,
    /// Its first byte in the row.
    pub(crate) at: usize,
}

#[derive(Debug)]
pub(crate) struct RowStore {
    pub(crate) rows: usize,
    pub(crate) stride: usize,
    /// `rows * stride` bytes.
    pub(crate) bytes: Buffer,
    /// One buffer, in the form that string vectors share.
    pub(crate) heap: Arc<[Buffer]>,
    pub(crate) fields: Vec<Field>,
}

/// Rows whose fields are gathered at a time for a predicate: their values stay in the first-level cache.
const WINDOW_ROWS: usize = 1024;

/// A value that can be read from unaligned bytes.
trait Unaligned: ArrowNativeType + Plain {
    fn read(bytes: &[u8]) -> Self;
}
macro_rules! unaligned {
    ($($ty:ty)*) => { $(impl Unaligned for $ty {
        #[inline(always)]
        fn read(bytes: &[u8]) -> Self {
            let mut raw = [0; size_of::<$ty>()];
            raw.copy_from_slice(&bytes[..size_of::<$ty>()]);
            <$ty>::from_le_bytes(raw)
        }
    })* };
}
unaligned!(u8 u16 u32 u64 i16 i32 i64 i128 f32 f64);

impl RowStore {
    /// The field's values at `rows`.
    fn gather<T: Unaligned>(&self, field: &Field, rows: &Rows<'_>) -> ScalarBuffer<T> {
        let (bytes, stride, at) = (self.bytes.as_slice(), self.stride, field.at);
        match rows {
            Rows::Range(range) if range.is_empty() => Vec::new().into(),
            Rows::Range(range) => {
                let rows = bytes[range.start * stride..range.end * stride].chunks_exact(stride);
                rows.map(|row| T::read(&row[at..])).collect::<Vec<T>>().into()
            }
            Rows::List(list) => {
                let ahead = |i: usize| list[(i + 16).min(list.len() - 1)] as usize * stride + at;
                let read = |(i, row): (usize, &u32)| {
                    simd::prefetch(bytes, ahead(i));
                    T::read(&bytes[*row as usize * stride + at..])
                };
                list.iter().enumerate().map(read).collect::<Vec<T>>().into()
            }
        }
    }

    /// Place and length of a string.
    #[inline]
    fn place(&self, field: &Field, row: usize) -> (u32, u32) {
        let pair = u64::read(&self.bytes.as_slice()[row * self.stride + field.at..]);
        (pair as u32, (pair >> 32) as u32)
    }
    #[inline]
    pub(crate) fn string(&self, field: &Field, row: usize) -> &[u8] {
        let (at, length) = self.place(field, row);
        &self.heap[0].as_slice()[at as usize..at as usize + length as usize]
    }

    /// As `string`, of a place that may be anywhere.
    pub(crate) fn string_checked(&self, field: &Field, row: usize) -> Option<&[u8]> {
        let (at, length) = self.place(field, row);
        self.heap[0].as_slice().get(at as usize..(at as usize).checked_add(length as usize)?)
    }

    /// The field's values at `rows`; strings stay in their heap, so that there are none.
    pub(crate) fn values(&self, field: &Field, rows: &Rows<'_>) -> Values {
        match field.form {
            Form::Bits => {
                let bytes: ScalarBuffer<u8> = self.gather(field, rows);
                let bitmap = Bitmap::from_fn(bytes.len(), |row| bytes[row] != 0);
                let words: ScalarBuffer<u64> = bitmap.words().to_vec().into();
                let buffer = BooleanBuffer::new(words.inner().clone(), 0, bytes.len());
                Values::Bits(Bits { words, buffer })
            }
            Form::I16 => Values::I16(self.gather(field, rows)),
            Form::I32 => Values::I32(self.gather(field, rows)),
            Form::I64 => Values::I64(self.gather(field, rows)),
            Form::I128 => Values::I128(self.gather(field, rows)),
            Form::F32 => Values::F32(self.gather(field, rows)),
            Form::F64 => Values::F64(self.gather(field, rows)),
            Form::Codes8 => Values::Codes8(self.gather(field, rows)),
            Form::Codes16 => Values::Codes16(self.gather(field, rows)),
            Form::Codes32 => Values::Codes32(self.gather(field, rows)),
            Form::Strings => {
                Values::Strings(StringStripe { offsets: vec![0u32].into(), heap: self.heap.clone() })
            }
        }
    }

    /// The rows as a stripe without NULLs; callers take NULL rows into account themselves.
    fn window(&self, field: &Field, rows: &Rows<'_>) -> Stripe {
        Stripe {
            ty: field.column.ty,
            coding: field.column.coding,
            statistics: field.column.statistics.clone(),
            nulls: None,
            null_words: None,
            values: self.values(field, rows),
            dictionary: field.column.dictionary.clone(),
            ascends: false,
        }
    }

    fn fetch_strings(&self, field: &Field, rows: &Rows<'_>, counters: &AccessCounters) -> Data {
        counters.strings_decoded.fetch_add(rows.len() as u64, Relaxed);
        let heap = self.heap[0].as_slice();
        let view = |row: usize| {
            let (at, length) = self.place(field, row);
            crate::fetch::view(heap, at, at + length)
        };
        let views: Vec<u128> = match rows {
            Rows::Range(range) => range.clone().map(view).collect(),
            Rows::List(list) => list.iter().map(|row| view(*row as usize)).collect(),
        };
        Data::Bytes(Strings::from_trusted(views.into(), self.heap.clone()))
    }

    /// The keys at whole windows in which a row is still selected.
    fn select_windows(
        &self,
        field: &Field,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
    ) {
        // Windows are counted as one selection, by the caller.
        let uncounted = AccessCounters::default();
        let (length, mut from) = (selection.len(), 0);
        while from < length {
            let to = (from + WINDOW_ROWS).min(length);
            let words = from / 64..to.div_ceil(64);
            if selection.words()[words.clone()].iter().any(|word| *word != 0) {
                let window = self.window(field, &Rows::Range(rows.start + from..rows.start + to));
                let mut part = Bitmap::from_words(selection.words()[words.clone()].to_vec(), to - from);
                predicate.apply(&window, 0..to - from, &mut part, &uncounted);
                selection.words_mut()[words].copy_from_slice(part.words());
            }
            from = to;
        }
    }
}

impl TupleStore for RowStore {
    fn rows(&self) -> usize {
        self.rows
    }
    fn columns(&self) -> usize {
        self.fields.len()
    }
    fn bare(&self, column: usize) -> &Stripe {
        &self.fields[column].column
    }
    fn select(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        let field = &self.fields[column];
        if predicate.reads_values() {
            if field.form == Form::Strings {
                counters.strings_decoded.fetch_add(selection.count() as u64, Relaxed);
                predicate.apply_to_strings(|row| self.string(field, rows.start + row), selection);
            } else {
                if field.column.coding.code_width().is_some() {
                    counters.predicates_on_codes.fetch_add(1, Relaxed);
                }
                self.select_windows(field, predicate, rows.clone(), selection);
            }
            if let Some(words) = &field.column.null_words {
                selection.and_bits(words, rows.start);
            }
        } else {
            predicate.apply(&field.column, rows, selection, counters);
        }
    }
    fn probe(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        let field = &self.fields[column];
        if field.form == Form::Strings || !predicate.reads_values() {
            return self.select(column, predicate, rows, selection, counters);
        }
        // The survivors' fields, one after another, and of them those that pass.
        let mut list = selection.to_indices();
        list.iter_mut().for_each(|row| *row += rows.start as u32);
        let window = self.window(field, &Rows::List(&list));
        let mut passes = Bitmap::full(list.len());
        predicate.apply(&window, 0..list.len(), &mut passes, counters);
        let mut next = 0;
        selection.retain(|_| {
            next += 1;
            passes.get(next - 1)
        });
        if let Some(words) = &field.column.null_words {
            selection.and_bits(words, rows.start);
        }
    }
    fn scan_cost(&self, column: usize) -> ScanCost {
        let row_ns = self.stride as f64 * costs::ROW_BYTE_NS;
        match self.fields[column].form {
            Form::Strings => ScanCost { row_ns, selected_ns: costs::STRING_NS, probe_ns: f64::INFINITY },
            _ => ScanCost {
                row_ns: row_ns + costs::FIELD_NS,
                selected_ns: 0.0,
                probe_ns: costs::PROBE_NS * 2.0,
            },
        }
    }
    fn field_bytes(&self, column: usize) -> usize {
        self.fields[column].form.width() * self.rows
    }
    fn whole(&self, column: usize) -> Stripe {
        let field = &self.fields[column];
        let values = match field.form {
            Form::Strings => {
                let mut offsets = Vec::with_capacity(self.rows + 1);
                let mut heap = Vec::new();
                offsets.push(0u32);
                for row in 0..self.rows {
                    heap.extend_from_slice(self.string(field, row));
                    offsets.push(heap.len() as u32);
                }
                Values::Strings(StringStripe {
                    offsets: offsets.into(),
                    heap: Arc::new([Buffer::from_vec(heap)]),
                })
            }
            _ => self.values(field, &Rows::Range(0..self.rows)),
        };
        Stripe { values, ..field.column.clone() }
    }
    fn fetch(&self, column: usize, rows: Rows<'_>, counters: &AccessCounters) -> Vector {
        let field = &self.fields[column];
        let validity =
            field.column.nulls.as_ref().and_then(|nulls| crate::fetch::fetch_validity(nulls, &rows));
        if field.form == Form::Strings {
            return Vector::new(field.column.ty, self.fetch_strings(field, &rows, counters), validity);
        }
        let window = self.window(field, &rows);
        crate::fetch::fetch(&window, Rows::Range(0..rows.len()), counters).with_validity(validity)
    }
    fn fetch_codes(&self, column: usize, rows: Range<usize>, counters: &AccessCounters) -> Vector {
        let field = &self.fields[column];
        if field.form == Form::Strings {
            return self.fetch(column, Rows::Range(rows), counters);
        }
        let rows = Rows::Range(rows);
        let validity =
            field.column.nulls.as_ref().and_then(|nulls| crate::fetch::fetch_validity(nulls, &rows));
        let window = self.window(field, &rows);
        crate::fetch::fetch_codes(&window, 0..rows.len(), counters).with_validity(validity)
    }
    fn codes(&self, _column: usize) -> Option<CodeSlice<'_>> {
        None
    }
    fn plain(&self, _column: usize) -> Option<PlainSlice<'_>> {
        None
    }
}
