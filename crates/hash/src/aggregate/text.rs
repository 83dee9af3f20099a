//! A growing column of byte strings: views, and the bytes of long ones in chunks of the column's own.
//!
//! The layout is that of `vector::Strings`, so a finished column becomes a vector without copying bytes. A string may
//! be replaced: the old bytes stay as garbage until `compact`.

use std::sync::Arc;

use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use simd::prefetch;
use types::Type;
use vector::strings::{INLINE_BYTES, inline_view, make_view, view_length};
use vector::{Data, Strings, Vector};

/// The view of a row that has no string yet. Its length is larger than any string's.
pub const UNSET: u128 = u128::MAX;

/// Chunks stay below this, so that offsets fit 32 bits and growing copies little.
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// Garbage is tolerated up to this and twice what lives.
const GARBAGE_BYTES_MIN: usize = 1 << 20;

/// One byte string a row, or none yet.
#[derive(Debug, Default)]
pub struct TextColumn {
    views: Vec<u128>,
    chunks: Vec<Vec<u8>>,
    /// Bytes in chunks, and how many of those no view refers to any more.
    bytes: usize,
    garbage: usize,
}

impl TextColumn {
    /// Number of rows, unset ones included.
    pub fn len(&self) -> usize {
        self.views.len()
    }
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
    /// Bytes held, garbage included.
    pub fn bytes_held(&self) -> usize {
        self.views.capacity() * 16 + self.chunks.iter().map(Vec::capacity).sum::<usize>()
    }
    /// Whether the row has a string.
    #[inline]
    pub fn is_set(&self, row: usize) -> bool {
        self.views[row] != UNSET
    }
    /// Rows up to `len`, new ones unset.
    pub fn resize(&mut self, len: usize) {
        self.views.resize(len, UNSET);
    }
    /// The row's string; empty when it is unset.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let length = view_length(self.views[row]);
        if length <= INLINE_BYTES {
            // The inline bytes follow the length; views are little endian in memory.
            &simd::as_bytes(std::slice::from_ref(&self.views[row]))[4..4 + length]
        } else if self.views[row] == UNSET {
            &[]
        } else {
            let (chunk, offset) = place(self.views[row]);
            &self.chunks[chunk][offset..offset + length]
        }
    }
    /// The row's view: of a string of at most `INLINE_BYTES` bytes the whole string.
    #[inline]
    pub fn view(&self, row: usize) -> u128 {
        self.views[row]
    }
    /// The bytes of a string of more than `INLINE_BYTES` bytes of this column, by its view.
    #[inline]
    pub fn viewed(&self, view: u128) -> &[u8] {
        let (chunk, offset) = place(view);
        &self.chunks[chunk][offset..offset + view_length(view)]
    }
    /// Whether some string was longer than a view holds.
    pub fn has_long(&self) -> bool {
        !self.chunks.is_empty()
    }
    /// Asks for the row's view.
    #[inline(always)]
    pub fn ask_view(&self, row: usize) {
        prefetch(&self.views, row);
    }
    /// Asks for the bytes of the row's string, where they are not in its view.
    #[inline(always)]
    pub fn ask_bytes(&self, row: usize) {
        let Some(view) = self.views.get(row) else { return };
        if view_length(*view) > INLINE_BYTES {
            let (chunk, offset) = place(*view);
            if let Some(chunk) = self.chunks.get(chunk) {
                prefetch(chunk, offset);
            }
        }
    }
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let view = self.store(bytes);
        self.views.push(view);
    }
    /// Appends all strings of a vector.
    pub fn extend(&mut self, strings: &Strings) {
        if strings.views().iter().all(|view| view_length(*view) <= INLINE_BYTES) {
            self.views.extend_from_slice(strings.views());
            return;
        }
        self.views.reserve(strings.len());
        for (row, view) in strings.views().iter().enumerate() {
            if view_length(*view) <= INLINE_BYTES {
                self.views.push(*view);
            } else {
                self.push(strings.get(row));
            }
        }
    }
    /// Appends a string, or the unset mark, of another column by its view there.
    #[inline]
    pub fn push_viewed(&mut self, other: &TextColumn, view: u128) {
        if view_length(view) <= INLINE_BYTES || view == UNSET {
            self.views.push(view);
        } else {
            self.push(other.viewed(view));
        }
    }
    /// Appends a string of at most `INLINE_BYTES` bytes, or the unset mark, by its view.
    #[inline]
    pub fn push_view(&mut self, view: u128) {
        self.views.push(view);
    }
    /// Replaces the row's string.
    pub fn set(&mut self, row: usize, bytes: &[u8]) {
        let old = view_length(self.views[row]);
        if self.views[row] != UNSET && old > INLINE_BYTES {
            self.garbage += old;
        }
        self.views[row] = self.store(bytes);
        if self.garbage > GARBAGE_BYTES_MIN && self.garbage > self.bytes / 2 {
            self.compact();
        }
    }
    fn store(&mut self, bytes: &[u8]) -> u128 {
        if bytes.len() <= INLINE_BYTES {
            return inline_view(bytes);
        }
        let full = self.chunks.last().is_none_or(|c| c.len() + bytes.len() > CHUNK_BYTES_MAX);
        if full {
            self.chunks.push(Vec::new());
        }
        let at = self.chunks.len() - 1;
        let chunk = &mut self.chunks[at];
        let view = make_view(bytes, at as u32, chunk.len() as u32);
        chunk.extend_from_slice(bytes);
        self.bytes += bytes.len();
        view
    }
    fn compact(&mut self) {
        let old = std::mem::take(self);
        self.views.reserve(old.len());
        for row in 0..old.len() {
            if old.is_set(row) { self.push(old.get(row)) } else { self.views.push(UNSET) }
        }
    }
    /// As a vector in which unset rows are NULL.
    pub fn into_vector(self) -> Vector {
        let set: Vec<bool> = (0..self.len()).map(|row| self.is_set(row)).collect();
        let validity = set.contains(&false).then(|| NullBuffer::from(set));
        Vector::new(Type::Bytea, Data::Bytes(self.freeze()), validity)
    }
    /// As strings that share one list of buffers; unset rows become empty.
    pub fn freeze(self) -> Strings {
        let buffers: Arc<[Buffer]> = self.chunks.into_iter().map(Buffer::from_vec).collect();
        let mut views = self.views;
        for view in &mut views {
            if *view == UNSET {
                *view = 0;
            }
        }
        Strings::from_trusted(ScalarBuffer::from(views), buffers)
    }
}

#[inline]
fn place(view: u128) -> (usize, usize) {
    ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize)
}
