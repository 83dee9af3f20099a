//! Memory handed out by the arena: owned while it is written, shared once it is frozen.
//!
//! ```text
//!  Arena::allocate -> SlotRange  --freeze-->  FrozenSlots (clones share)
//!                     one owner, &mut [u8]    any number of readers, &[u8]
//!                        |                        |
//!                        +------ dropped ---------+----> back to the arena's free granules
//! ```
//!
//! Invariant: a [`SlotRange`] is the only way to its bytes; freezing gives that up for good, so a
//! frozen range never changes and may be read without synchronisation.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::arena::Shared;

/// Exclusive memory from an arena; dereferences to its bytes and returns them when dropped.
pub struct SlotRange {
    arena: Arc<Shared>,
    chunk: usize,
    bytes: NonNull<[u8]>,
}

// SAFETY: the range owns its granules as a `Box<[u8]>` would; the arena behind it is `Sync`.
unsafe impl Send for SlotRange {}
// SAFETY: through a shared reference the bytes can only be read.
unsafe impl Sync for SlotRange {}

impl SlotRange {
    pub(crate) fn new(arena: Arc<Shared>, chunk: usize, bytes: NonNull<[u8]>) -> Self {
        SlotRange { arena, chunk, bytes }
    }

    /// Ends writing; from now on the bytes can be shared and never change.
    pub fn freeze(self) -> FrozenSlots {
        FrozenSlots(Arc::new(self))
    }

    /// Provides all pages now. The writes are volatile, since the compiler would see no point in others.
    pub(crate) fn touch(&mut self) {
        for page in self.chunks_mut(4096) {
            // SAFETY: `page` is a live exclusive reference to at least one byte.
            unsafe { std::ptr::write_volatile(page.as_mut_ptr(), 0) };
        }
    }
}

impl Deref for SlotRange {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the granules lie in a mapping that lives as long as the arena, which we hold;
        // mapped memory is initialised; no other range covers them (the chunk's invariant); and
        // `&self` excludes `&mut self`.
        unsafe { self.bytes.as_ref() }
    }
}

impl DerefMut for SlotRange {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { self.bytes.as_mut() }
    }
}

impl Drop for SlotRange {
    fn drop(&mut self) {
        self.arena.give_back(self.chunk, self.bytes);
    }
}

impl fmt::Debug for SlotRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlotRange({} bytes)", self.bytes.len())
    }
}

/// Immutable shared memory from an arena; clones are the same bytes, at the same address.
#[derive(Clone, Debug)]
pub struct FrozenSlots(Arc<SlotRange>);

impl FrozenSlots {
    /// Makes it writable again, if this is the only reference; else gives it back as the error.
    pub fn thaw(self) -> Result<SlotRange, FrozenSlots> {
        Arc::try_unwrap(self.0).map_err(FrozenSlots)
    }

    /// How many hold it.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl Deref for FrozenSlots {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for FrozenSlots {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<SlotRange> for FrozenSlots {
    fn from(range: SlotRange) -> Self {
        range.freeze()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arena, Budget};

    #[test]
    fn freezing_keeps_the_bytes_and_thawing_needs_a_single_holder() {
        let arena = Arena::new(Budget::unlimited());
        let mut range = arena.allocate(10).unwrap();
        range[..3].copy_from_slice(b"abc");
        let address = range.as_ptr();
        let frozen = range.freeze();
        let second = frozen.clone();
        assert_eq!((&frozen[..3], second.as_ptr()), (&b"abc"[..], address));
        let frozen = frozen.thaw().unwrap_err();
        assert_eq!(frozen.holders(), 2);
        drop(second);
        let mut range = frozen.thaw().unwrap();
        range[0] = b'x';
        assert_eq!(&range[..3], b"xbc");
        assert_eq!(arena.used_bytes(), 65_536);
        drop(range);
        assert_eq!(arena.used_bytes(), 0);
    }
}
