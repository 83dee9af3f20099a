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

#[inline]
pub fn view_length(view: u128) -> usize {
    view as u32 as usize
}

#[inline]
fn view_place(view: u128) -> (usize, usize) {
    ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize)
}

impl Strings {
    /// Takes views whose long strings lie inside `buffers`. Checked: a view out of bounds panics here, not later.
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
    /// As `new`, for views the caller made itself from the same buffers (verified in debug builds).
    pub fn from_trusted(views: ScalarBuffer<u128>, buffers: Arc<[Buffer]>) -> Self {
        if cfg!(debug_assertions) {
            return Self::new(views, buffers);
        }
        Strings { views, buffers }
    }
    pub fn len(&self) -> usize {
        self.views.len()
    }
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
    pub fn views(&self) -> &ScalarBuffer<u128> {
        &self.views
    }
    pub fn buffers(&self) -> &Arc<[Buffer]> {
        &self.buffers
    }
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
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        Strings { views: self.views.slice(offset, length), buffers: self.buffers.clone() }
    }
    pub fn gather(&self, indices: &[u32]) -> Self {
        let views: Vec<u128> = indices.iter().map(|i| self.views[*i as usize]).collect();
        Strings { views: views.into(), buffers: self.buffers.clone() }
    }
    /// Two rows, of this and another vector, hold the same bytes.
    #[inline]
    pub fn equal(&self, row: usize, other: &Strings, other_row: usize) -> bool {
        let (a, b) = (self.views[row], other.views[other_row]);
        // Length and prefix (or the first four inline bytes) decide most pairs.
        if a as u64 != b as u64 {
            return false;
        }
        if view_length(a) <= INLINE_BYTES { a == b } else { self.get(row) == other.get(other_row) }
    }
    pub fn bytes(&self) -> usize {
        self.views.len() * 16 + self.buffers.iter().map(Buffer::len).sum::<usize>()
    }
    /// The same strings with their bytes copied into buffers of their own, so that nothing else is kept alive.
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
    pub fn with_capacity(rows: usize) -> Self {
        StringBuilder { views: Vec::with_capacity(rows), ..Default::default() }
    }
    pub fn len(&self) -> usize {
        self.views.len()
    }
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
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
    /// As `push`, of bytes that are no more needed: many become a buffer of their own, without a copy.
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
    pub fn finish(mut self) -> Strings {
        if !self.current.is_empty() {
            self.full.push(Buffer::from_vec(self.current));
        }
        Strings { views: self.views.into(), buffers: self.full.into() }
    }
}
