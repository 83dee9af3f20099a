//! Builders of Arrow columns from rows, and from a small dictionary of words.
//!
//! Strings are views: up to 12 bytes live in the view itself. Longer ones go to one buffer per column and
//! batch, allocated at its exact size, or, for dictionary words, to a buffer that all batches share.

use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, StringViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::ArrowError;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// Longest string that a view holds without a buffer.
const VIEW_INLINE_BYTES_MAX: usize = 12;

pub(crate) fn int32<R>(rows: &[R], value: impl Fn(&R) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(rows.iter().map(value)))
}

pub(crate) fn int64<R>(rows: &[R], value: impl Fn(&R) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
}

/// Days since 1970-01-01.
pub(crate) fn date<R>(rows: &[R], value: impl Fn(&R) -> i32) -> ArrayRef {
    Arc::new(Date32Array::from_iter_values(rows.iter().map(value)))
}

/// From hundredths.
pub(crate) fn money<R>(rows: &[R], value: impl Fn(&R) -> i64) -> Result<ArrayRef, ArrowError> {
    let values = Decimal128Array::from_iter_values(rows.iter().map(|row| i128::from(value(row))));
    Ok(Arc::new(values.with_precision_and_scale(15, 2)?))
}

pub(crate) fn text<'a, R>(rows: &'a [R], value: impl Fn(&'a R) -> &'a str) -> ArrayRef {
    let long = |bytes: usize| if bytes > VIEW_INLINE_BYTES_MAX { bytes } else { 0 };
    let buffer_bytes: usize = rows.iter().map(|row| long(value(row).len())).sum();
    let mut builder = builder(rows.len(), buffer_bytes);
    for row in rows {
        builder.append_value(value(row));
    }
    Arc::new(builder.finish())
}

/// For strings that exist only once written: all of them go to one scratch string first.
pub(crate) fn shown<R, D: Display>(rows: &[R], value: impl Fn(&R) -> D) -> Result<ArrayRef, ArrowError> {
    let (mut scratch, mut ends) = (String::new(), Vec::with_capacity(rows.len()));
    for row in rows {
        write!(scratch, "{}", value(row)).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        ends.push(scratch.len());
    }
    let mut builder = builder(rows.len(), scratch.len());
    let mut start = 0;
    for end in ends {
        builder.append_value(&scratch[start..end]);
        start = end;
    }
    Ok(Arc::new(builder.finish()))
}

fn builder(rows: usize, buffer_bytes: usize) -> StringViewBuilder {
    // A batch has some 16,000 rows of at most 250 bytes: far below 4 GiB. The block size may not be 0.
    StringViewBuilder::with_capacity(rows).with_fixed_block_size(buffer_bytes.max(1) as u32)
}

/// A dictionary whose columns are gathered views: nothing is copied but 16 bytes a row.
pub(crate) struct Words {
    views: ScalarBuffer<u128>,
    buffers: Arc<[Buffer]>,
}

impl Words {
    pub(crate) fn new<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Words {
        let (views, buffers, _) = StringViewArray::from_iter_values(words).into_parts();
        Words { views, buffers }
    }

    /// One word per code. Codes are indices into the words; the generators draw them within bounds.
    pub(crate) fn column(&self, codes: impl IntoIterator<Item = usize>) -> Result<ArrayRef, ArrowError> {
        let views: ScalarBuffer<u128> = codes.into_iter().map(|code| self.views[code]).collect();
        Ok(Arc::new(StringViewArray::try_new(views, self.buffers.clone(), None)?))
    }

    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }
}

/// `array` cut down to `rows`, for columns that are the same in every batch.
pub(crate) fn leading(array: &ArrayRef, rows: usize) -> ArrayRef {
    array.slice(0, rows.min(array.len()))
}
