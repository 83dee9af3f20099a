//! Byte strings in flight: 16-byte views over shared buffers, Arrow's `BinaryView` layout.
//!
//! ```text
//! view, little endian   | length u32 | bytes 0..12 inline                         |  length <= 12
//!                       | length u32 | prefix 4 bytes | buffer u32 | offset u32   |  length > 12
//! ```
//! Unused inline bytes are zero, so two short strings are equal exactly when their views are.

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};

/// Longest string that lives in its view.
pub const INLINE_BYTES: usize = 12;

/// The byte strings of a column: a view per row, and the buffers that hold strings longer than a view.
#[derive(Clone, Debug)]
pub struct Strings {
    views: ScalarBuffer<u128>,
    buffers: Arc<[Buffer]>,
}

/// The view of a string of at most `INLINE_BYTES` bytes.
#[inline]
pub fn inline_view(bytes: &[u8]) -> u128 {
    debug_assert!(bytes.len() <= INLINE_BYTES);
    let mut raw = [0u8; 16];
    raw[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    raw[4..4 + bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(raw)
}

/// The view of `bytes`, which lie in buffer `buffer` at `offset` when they do not fit the view.
#[inline]
pub fn make_view(bytes: &[u8], buffer: u32, offset: u32) -> u128 {
    if bytes.len() <= INLINE_BYTES {
        return inline_view(bytes);
    }
    let prefix = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    u128::from(bytes.len() as u32)
        | u128::from(prefix) << 32
        | u128::from(buffer) << 64
        | u128::from(offset) << 96
}

/// Length in bytes of the string of a view.
#[inline]
pub fn view_length(view: u128) -> usize {
    view as u32 as usize
}

#[inline]
fn view_place(view: u128) -> (usize, usize) {
    ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize)
}

impl Strings {
    /// Takes views and the buffers that their long strings lie in. A view out of bounds panics here, not later.
    pub fn new(views: ScalarBuffer<u128>, buffers: Arc<[Buffer]>) -> Self {
        for view in views.iter() {
            let length = view_length(*view);
            if length > INLINE_BYTES {
                let (buffer, offset) = view_place(*view);
                assert!(offset + length <= buffers[buffer].len(), "string view out of bounds");
            }
        }
        Strings { views, buffers }
    }
    /// As `new`, but checked in debug builds only: for views that the caller made itself from these buffers.
    pub fn from_trusted(views: ScalarBuffer<u128>, buffers: Arc<[Buffer]>) -> Self {
        if cfg!(debug_assertions) {
            return Self::new(views, buffers);
        }
        Strings { views, buffers }
    }
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
    /// The views, one per row, in the layout at the head of the file.
    pub fn views(&self) -> &ScalarBuffer<u128> {
        &self.views
    }
    /// The buffers of the long strings, by the number in their views.
    pub fn buffers(&self) -> &Arc<[Buffer]> {
        &self.buffers
    }
    /// The bytes of a row; panics when `row` is out of range.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let length = view_length(*view);
        if length <= INLINE_BYTES {
            inline_bytes(view, length)
        } else {
            let (buffer, offset) = view_place(*view);
            &self.buffers[buffer][offset..offset + length]
        }
    }
    /// The bytes from a long string's first on to the end of its buffer, so that several may be copied at once; `None`
    /// for a string that lives in its view. Panics when `row` is out of range.
    #[inline]
    pub fn bytes_from(&self, row: usize) -> Option<&[u8]> {
        let view = self.views[row];
        let (buffer, offset) = view_place(view);
        if view_length(view) <= INLINE_BYTES { None } else { self.buffers[buffer].get(offset..) }
    }
    /// The bytes of all rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }
    /// `length` rows from `offset` on; views and buffers are shared.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        Strings { views: self.views.slice(offset, length), buffers: self.buffers.clone() }
    }
    /// The rows at `indices`, in that order; buffers are shared. Panics when an index is out of range.
    pub fn gather(&self, indices: &[u32]) -> Self {
        let views: Vec<u128> = indices.iter().map(|i| self.views[*i as usize]).collect();
        Strings { views: views.into(), buffers: self.buffers.clone() }
    }
    /// Whether a row holds the same bytes as a row of `other`.
    #[inline]
    pub fn equal(&self, row: usize, other: &Strings, other_row: usize) -> bool {
        let (a, b) = (self.views[row], other.views[other_row]);
        // Length and prefix (or the first four inline bytes) decide most pairs.
        if a as u64 != b as u64 {
            return false;
        }
        if view_length(a) <= INLINE_BYTES { a == b } else { self.get(row) == other.get(other_row) }
    }
    /// Bytes held, for memory accounting: the views, and all buffers in full, shared or not.
    pub fn bytes(&self) -> usize {
        self.views.len() * 16 + self.buffers.iter().map(Buffer::len).sum::<usize>()
    }
    /// The same strings, copied into buffers of their own, so that the shared buffers can be freed.
    pub fn compact(&self) -> Self {
        let held: usize = self.buffers.iter().map(Buffer::len).sum();
        if held <= self.len() * size_of::<u128>() {
            // Few bytes against the views, as when many rows share a few strings: copied as they are.
            let buffers: Vec<Buffer> =
                self.buffers.iter().map(|b| Buffer::from_slice_ref(b.as_slice())).collect();
            return Strings::from_trusted(self.views.to_vec().into(), buffers.into());
        }
        let mut builder = StringBuilder::with_capacity(self.len());
        for bytes in self.iter() {
            builder.push(bytes);
        }
        builder.finish()
    }
}

#[inline]
fn inline_bytes(view: &u128, length: usize) -> &[u8] {
    // SAFETY: a u128 is 16 initialised bytes, `length` is at most 12, so bytes 4..4+length lie inside it; the
    // returned slice borrows `view`. Little-endian layout is asserted below.
    unsafe { std::slice::from_raw_parts((view as *const u128).cast::<u8>().add(4), length) }
}
const _: () =
    assert!(cfg!(target_endian = "little"), "string views are read in place and assume little endian");

/// Collects strings; long ones are appended to growing buffers.
#[derive(Debug, Default)]
pub struct StringBuilder {
    views: Vec<u128>,
    current: Vec<u8>,
    full: Vec<Buffer>,
}

/// A new buffer begins beyond this, so that offsets stay in 32 bits and growth does not copy much.
const BUFFER_BYTES_MAX: usize = 16 << 20;

impl StringBuilder {
    /// An empty builder with room for the views of `rows` rows.
    pub fn with_capacity(rows: usize) -> Self {
        StringBuilder { views: Vec::with_capacity(rows), ..Default::default() }
    }
    /// Rows appended so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }
    /// Whether no row was appended yet.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
    /// Appends a row, copying the bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.len() <= INLINE_BYTES {
            self.views.push(inline_view(bytes));
            return;
        }
        if !self.current.is_empty() && self.current.len() + bytes.len() > BUFFER_BYTES_MAX {
            self.full.push(Buffer::from_vec(std::mem::take(&mut self.current)));
        }
        let view = make_view(bytes, self.full.len() as u32, self.current.len() as u32);
        self.current.extend_from_slice(bytes);
        self.views.push(view);
    }
    /// Appends a row of at most `most` bytes that `write` appends to the buffer it is given.
    pub fn push_written(&mut self, most: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.current.is_empty() && self.current.len() + most > BUFFER_BYTES_MAX {
            self.full.push(Buffer::from_vec(std::mem::take(&mut self.current)));
        }
        self.current.reserve(most);
        let start = self.current.len();
        write(&mut self.current);
        let view = make_view(&self.current[start..], self.full.len() as u32, start as u32);
        if view_length(view) <= INLINE_BYTES {
            self.current.truncate(start);
        }
        self.views.push(view);
    }
    /// As `push`, for bytes that the caller gives up: a string of 1 MB or more becomes a buffer of its own without a
    /// copy, and `bytes` is left empty.
    pub fn push_owned(&mut self, bytes: &mut Vec<u8>) {
        if bytes.len() < BUFFER_BYTES_MAX / 16 {
            return self.push(bytes);
        }
        if !self.current.is_empty() {
            self.full.push(Buffer::from_vec(std::mem::take(&mut self.current)));
        }
        self.views.push(make_view(bytes, self.full.len() as u32, 0));
        self.full.push(Buffer::from_vec(std::mem::take(bytes)));
    }
    /// All rows as one vector of strings.
    pub fn finish(mut self) -> Strings {
        if !self.current.is_empty() {
            self.full.push(Buffer::from_vec(self.current));
        }
        Strings { views: self.views.into(), buffers: self.full.into() }
    }
}
