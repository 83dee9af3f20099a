//! Columns of values that counts are kept of: how they are looked up, and in which order they are.

use std::cmp::Ordering;

use vector::Strings;
use vector::strings::{INLINE_BYTES, view_length};

use super::collected::float_key;
use super::text::TextColumn;
use crate::hashing::hash_bytes;

/// Columns of values that can be looked up.
pub(super) trait Column: Default {
    /// A value as it is looked up.
    type Value<'a>: Copy;
    /// A value as it lies in the column.
    type Item: Copy + Default + std::fmt::Debug;
    fn hash(value: Self::Value<'_>) -> u64;
    fn item(&self, place: usize) -> Self::Item;
    fn value(&self, item: Self::Item) -> Self::Value<'_>;
    fn is(&self, item: Self::Item, value: Self::Value<'_>) -> bool;
    fn append(&mut self, value: Self::Value<'_>);
    fn order(a: Self::Value<'_>, b: Self::Value<'_>) -> Ordering;
    fn bytes(&self) -> usize;
}

fn spread(value: u64) -> u64 {
    let product = u128::from(value ^ 0xD6E8_FEB8_6659_FD93) * 0x9E37_79B9_7F4A_7C15;
    product as u64 ^ (product >> 64) as u64
}

/// Both zeros are one value, and all NaN are.
#[inline(always)]
fn same_float(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

macro_rules! column {
    ($type:ty, $hash:expr, $same:expr, $order:expr) => {
        impl Column for Vec<$type> {
            type Value<'a> = $type;
            type Item = $type;
            #[inline(always)]
            fn hash(value: $type) -> u64 {
                $hash(value)
            }
            #[inline(always)]
            fn item(&self, place: usize) -> $type {
                self[place]
            }
            #[inline(always)]
            fn value(&self, item: $type) -> $type {
                item
            }
            #[inline(always)]
            fn is(&self, item: $type, value: $type) -> bool {
                $same(item, value)
            }
            #[inline(always)]
            fn append(&mut self, value: $type) {
                self.push(value);
            }
            fn order(a: $type, b: $type) -> Ordering {
                $order(a, b)
            }
            fn bytes(&self) -> usize {
                self.capacity() * size_of::<$type>()
            }
        }
    };
}

column!(i64, |value| spread(value as u64), |a, b| a == b, |a: i64, b| a.cmp(&b));
column!(i128, |value| spread(value as u64 ^ spread((value >> 64) as u64)), |a, b| a == b, |a: i128, b| a
    .cmp(&b));
column!(
    f64,
    |value: f64| spread(if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() }),
    same_float,
    |a, b| float_key(a).cmp(&float_key(b))
);

/// A text, and its view, which holds short ones whole.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    view: u128,
    /// Those of long texts; others are in the view.
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// The text of a row.
    #[inline(always)]
    pub(super) fn of(strings: &'a Strings, row: usize) -> Self {
        let view = strings.views()[row];
        Text { view, bytes: if view_length(view) <= INLINE_BYTES { &[] } else { strings.get(row) } }
    }
    #[inline(always)]
    fn is_short(&self) -> bool {
        view_length(self.view) <= INLINE_BYTES
    }
}

impl Column for TextColumn {
    type Value<'a> = Text<'a>;
    type Item = u128;
    #[inline(always)]
    fn hash(text: Text<'_>) -> u64 {
        match text.is_short() {
            true => spread(text.view as u64 ^ spread((text.view >> 64) as u64)),
            false => spread(hash_bytes(text.bytes)),
        }
    }
    #[inline(always)]
    fn item(&self, place: usize) -> u128 {
        self.view(place)
    }
    #[inline(always)]
    fn value(&self, view: u128) -> Text<'_> {
        // The bytes of short ones are rarely looked at, and those of the view do not live as long as the column.
        let bytes = if view_length(view) <= INLINE_BYTES { &[] } else { self.viewed(view) };
        Text { view, bytes }
    }
    #[inline(always)]
    fn is(&self, view: u128, text: Text<'_>) -> bool {
        match text.is_short() {
            true => view == text.view,
            false => view_length(view) == text.bytes.len() && self.viewed(view) == text.bytes,
        }
    }
    #[inline(always)]
    fn append(&mut self, text: Text<'_>) {
        match text.is_short() {
            true => self.push_view(text.view),
            false => self.push(text.bytes),
        }
    }
    fn order(a: Text<'_>, b: Text<'_>) -> Ordering {
        with_bytes(a, |a| with_bytes(b, |b| a.cmp(b)))
    }
    fn bytes(&self) -> usize {
        self.bytes_held()
    }
}

/// Calls `each` with the bytes of a text.
pub(super) fn with_bytes<R>(text: Text<'_>, each: impl FnOnce(&[u8]) -> R) -> R {
    match text.is_short() {
        true => each(&simd::as_bytes(std::slice::from_ref(&text.view))[4..4 + view_length(text.view)]),
        false => each(text.bytes),
    }
}

/// Calls `each` with the text of a view into a column.
pub(super) fn with_viewed<R>(view: u128, column: &TextColumn, each: impl FnOnce(&[u8]) -> R) -> R {
    with_bytes(column.value(view), each)
}
