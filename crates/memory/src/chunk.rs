//! One mapping of the arena, cut into granules.
//!
//! ```text
//!           of blocks   of pages
//!  chunk    64 MiB      64 MiB    of address space, aligned to 2 MiB, advised to use huge pages or not to
//!  slot     2 MiB       64 KiB    the unit of "touched": charged, resident, trimmed
//!  granule  64 KiB      4 KiB     the unit of allocation; one bit each in `used`
//! ```
//!
//! Requests of any size stand close together ([`Placement::Packed`]), so that the end of one block shares its slot with
//! the beginning of the next: blocks of 3.4 MiB would take 4 MiB otherwise. Only when memory is getting short does a
//! request for a block of a slot or more begin on a slot ([`Placement::OnSlots`]): then blocks come and go, and a hole
//! that one leaves should fit the next one, and go back to the machine as a whole. First fit from the low end, which
//! keeps the high slots untouched or idle, and so easy to give back.
//!
//! A slot is *touched* from its first use until it is trimmed: the first write makes the machine
//! provide a whole huge page, so that is what is charged, however little of it is used.
//!
//! Invariant: granules with a set bit belong to exactly one [`crate::SlotRange`]; the mapping lives
//! as long as any bit is set, because each range holds its arena and only idle chunks are unmapped.

use std::io;
use std::ptr::NonNull;

use crate::Topology;

/// 2 MiB: x86-64's huge page.
pub const SLOT_BYTES: usize = 2 << 20;
/// 64 KiB: the smallest block, and the grain of checksums.
pub const GRANULE_BYTES: usize = 64 << 10;
/// 64 MiB: large enough that mapping is rare, small enough that a chunk falls idle some time.
pub const CHUNK_BYTES: usize = 64 << 20;

/// How chunks are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grain {
    slot_bytes: usize,
    granule_bytes: usize,
    huge_pages: bool,
}

/// Granules for blocks: long, and read at random.
pub(crate) const BLOCKS: Grain =
    Grain { slot_bytes: SLOT_BYTES, granule_bytes: GRANULE_BYTES, huge_pages: true };
/// Granules for columns that come and go: of any length, and freed in small pieces.
pub(crate) const PAGES: Grain = Grain { slot_bytes: 64 << 10, granule_bytes: 4 << 10, huge_pages: false };

const fn is_sound(grain: Grain) -> bool {
    // A slot fills a part of a bitmap word, so it never straddles two.
    grain.slot_bytes.is_multiple_of(grain.granule_bytes)
        && 64 % (grain.slot_bytes / grain.granule_bytes) == 0
        && SLOT_BYTES.is_multiple_of(grain.slot_bytes)
}
const _: () = assert!(CHUNK_BYTES.is_multiple_of(SLOT_BYTES) && is_sound(BLOCKS) && is_sound(PAGES));

/// Where a request of a slot or more may begin, in chunks for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On any granule.
    Packed,
    /// On a slot.
    OnSlots,
}

impl Grain {
    fn granules_per_slot(self) -> usize {
        self.slot_bytes / self.granule_bytes
    }
}

/// A mapping and its bitmaps.
pub(crate) struct Chunk {
    grain: Grain,
    base: NonNull<u8>,
    bytes: usize,
    /// A bit per granule.
    used: Vec<u64>,
    used_granules: usize,
    /// No more granules than these are free side by side, perhaps fewer: most chunks are passed over without a look.
    longest_free: usize,
    /// Per slot.
    touched: Vec<bool>,
    /// The memory node that its pages were asked for from.
    node: Option<usize>,
}

// SAFETY: `base` is a mapping that this value owns; it is not tied to the thread that made it.
unsafe impl Send for Chunk {}

/// Where a request fits, and which slots it would touch for the first time.
pub(crate) struct Fit {
    granule: usize,
    granules: usize,
    /// Bytes to charge.
    pub(crate) new_bytes: u64,
}

impl Chunk {
    /// Maps a chunk for a request of `bytes`.
    pub(crate) fn map(grain: Grain, bytes: usize) -> io::Result<Chunk> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes.max(CHUNK_BYTES).checked_next_multiple_of(SLOT_BYTES).ok_or_else(too_large)?;
        let mapped = bytes.checked_add(SLOT_BYTES).ok_or_else(too_large)?;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast::<u8>();
        let head = start.align_offset(SLOT_BYTES);
        let tail = SLOT_BYTES - head;
        // SAFETY: `head <= SLOT_BYTES`, so `base` lies inside the mapping of `bytes + SLOT_BYTES`.
        // The ends that are unmapped lie inside it too, and there is no other reference to them.
        let base = unsafe {
            let base = start.add(head);
            if head > 0 {
                libc::munmap(start.cast(), head);
            }
            if tail > 0 {
                libc::munmap(base.add(bytes).cast(), tail);
            }
            // Advice: where the machine does not take it, pages have the other size and all else holds.
            #[cfg(target_os = "linux")]
            {
                let advice = if grain.huge_pages { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
                libc::madvise(base.cast(), bytes, advice);
            }
            base
        };
        let base = NonNull::new(base).ok_or_else(too_large)?;
        Ok(Chunk {
            grain,
            base,
            bytes,
            used: vec![0; bytes.div_ceil(grain.granule_bytes * 64)],
            used_granules: 0,
            longest_free: bytes / grain.granule_bytes,
            touched: vec![false; bytes / grain.slot_bytes],
            node: None,
        })
    }

    /// Its pages come from this node of the topology from now on, if the machine lets us: as long as nothing was touched,
    /// all of them.
    pub(crate) fn place(&mut self, topology: &Topology, node: usize) {
        // A refusal costs speed on machines with several nodes, and nothing else.
        let _ = topology.place(NonNull::slice_from_raw_parts(self.base, self.bytes), node);
        self.node = Some(node);
    }

    pub(crate) fn node(&self) -> Option<usize> {
        self.node
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
        address.checked_sub(self.base.addr().get()).is_some_and(|offset| offset < self.bytes)
    }

    /// Whether nothing is in use.
    pub(crate) fn is_idle(&self) -> bool {
        self.used_granules == 0
    }

    /// Bytes of the slots that were touched.
    pub(crate) fn touched_bytes(&self) -> u64 {
        (self.touched.iter().filter(|&&touched| touched).count() * self.grain.slot_bytes) as u64
    }

    /// Bytes in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        (self.used_granules * self.grain.granule_bytes) as u64
    }

    /// Looks for room for `bytes` (not 0).
    pub(crate) fn find(&mut self, bytes: usize, placement: Placement) -> Option<Fit> {
        let granules = bytes.div_ceil(self.grain.granule_bytes);
        let total = self.bytes / self.grain.granule_bytes;
        if granules > self.longest_free.min(total - self.used_granules) {
            return None;
        }
        let per_slot = self.grain.granules_per_slot();
        let on_slots = placement == Placement::OnSlots && self.grain.huge_pages && granules >= per_slot;
        let step = if on_slots { per_slot } else { 1 };
        let mut start = 0;
        while start + granules <= total {
            match self.last_used(start, start + granules) {
                None => {
                    let slots = start / per_slot..(start + granules).div_ceil(per_slot);
                    let fresh = self.touched[slots].iter().filter(|&&touched| !touched).count();
                    return Some(Fit {
                        granule: start,
                        granules,
                        new_bytes: (fresh * self.grain.slot_bytes) as u64,
                    });
                }
                Some(taken) => start = (taken + 1).next_multiple_of(step),
            }
        }
        if step == 1 {
            self.longest_free = granules - 1;
        }
        None
    }

    /// Takes what `find` found, with no change in between.
    pub(crate) fn take(&mut self, fit: &Fit) -> NonNull<[u8]> {
        for granule in fit.granule..fit.granule + fit.granules {
            debug_assert!(!self.is_used(granule));
            self.used[granule / 64] |= 1 << (granule % 64);
            self.touched[granule / self.grain.granules_per_slot()] = true;
        }
        self.used_granules += fit.granules;
        // SAFETY: `find` only returns runs of granules inside the mapping.
        let start = unsafe { self.base.add(fit.granule * self.grain.granule_bytes) };
        NonNull::slice_from_raw_parts(start, fit.granules * self.grain.granule_bytes)
    }

    /// Takes a range back. Its slots stay touched.
    pub(crate) fn give_back(&mut self, range: NonNull<[u8]>) {
        let offset = range.cast::<u8>().addr().get() - self.base.addr().get();
        let (first, granules) = (offset / self.grain.granule_bytes, range.len() / self.grain.granule_bytes);
        for granule in first..first + granules {
            debug_assert!(self.is_used(granule));
            self.used[granule / 64] &= !(1 << (granule % 64));
        }
        self.used_granules -= granules;
        let begin = self.last_used(0, first).map_or(0, |taken| taken + 1);
        self.longest_free = self.longest_free.max(self.first_used(first + granules) - begin);
    }

    /// Gives slots that are touched and not in use back to the machine; returns the bytes.
    pub(crate) fn trim(&mut self) -> u64 {
        let mut bytes = 0;
        for slot in 0..self.touched.len() {
            let granule = slot * self.grain.granules_per_slot();
            if !self.touched[slot]
                || self.last_used(granule, granule + self.grain.granules_per_slot()).is_some()
            {
                continue;
            }
            // SAFETY: the slot lies in our mapping and no range covers it. Its content is lost,
            // which is what an unused slot's content is for; later reads see zeros.
            let failed = unsafe {
                libc::madvise(
                    self.base.add(slot * self.grain.slot_bytes).as_ptr().cast(),
                    self.grain.slot_bytes,
                    libc::MADV_DONTNEED,
                )
            };
            if failed == 0 {
                self.touched[slot] = false;
                bytes += self.grain.slot_bytes as u64;
            }
        }
        bytes
    }

    fn is_used(&self, granule: usize) -> bool {
        self.used[granule / 64] >> (granule % 64) & 1 == 1
    }

    /// The first used granule from `start` on, or how many granules there are.
    fn first_used(&self, start: usize) -> usize {
        let total = self.bytes / self.grain.granule_bytes;
        let mut from = start;
        while from < total {
            let bits = self.used[from / 64] & (u64::MAX << (from % 64));
            if bits != 0 {
                return from / 64 * 64 + bits.trailing_zeros() as usize;
            }
            from = (from / 64 + 1) * 64;
        }
        total
    }

    /// The last used granule in `[start, end)`.
    fn last_used(&self, start: usize, end: usize) -> Option<usize> {
        let mut end = end;
        while end > start {
            let word = (end - 1) / 64;
            let from = start.max(word * 64);
            let above = u64::MAX >> (63 - (end - 1) % 64);
            let bits = self.used[word] & above & (u64::MAX << (from % 64));
            if bits != 0 {
                return Some(word * 64 + 63 - bits.leading_zeros() as usize);
            }
            end = from;
        }
        None
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        debug_assert!(self.is_idle());
        // SAFETY: the mapping is ours, and no range is left that points into it (the invariant).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::Placement::{OnSlots, Packed};
    use super::*;

    #[test]
    fn small_requests_share_a_slot_and_large_ones_begin_on_one_if_asked() {
        let mut chunk = Chunk::map(BLOCKS, 1).unwrap();
        let small = chunk.find(1, OnSlots).unwrap();
        assert_eq!(small.new_bytes, SLOT_BYTES as u64);
        let small = chunk.take(&small);
        let second = chunk.find(GRANULE_BYTES, OnSlots).unwrap();
        assert_eq!(second.new_bytes, 0);
        let second = chunk.take(&second);
        assert_eq!(second.addr().get(), small.addr().get() + GRANULE_BYTES);
        let large = chunk.find(SLOT_BYTES + 1, OnSlots).unwrap();
        assert_eq!(large.new_bytes, 2 * SLOT_BYTES as u64);
        let large = chunk.take(&large);
        assert_eq!(large.addr().get() % SLOT_BYTES, 0);
        assert_eq!(large.len(), SLOT_BYTES + GRANULE_BYTES);
        assert!(chunk.find(CHUNK_BYTES - 2 * SLOT_BYTES, OnSlots).is_none());
        chunk.give_back(small);
        let again = chunk.find(GRANULE_BYTES, OnSlots).unwrap();
        let again = chunk.take(&again);
        assert_eq!(again.addr(), small.addr());
        for range in [again, second, large] {
            chunk.give_back(range);
        }
        assert!(chunk.is_idle());
        assert_eq!(chunk.touched_bytes(), 3 * SLOT_BYTES as u64);
        assert_eq!(chunk.trim(), 3 * SLOT_BYTES as u64);
        assert_eq!(chunk.touched_bytes(), 0);
    }

    #[test]
    fn packed_requests_share_the_slots_at_their_ends() {
        let mut chunk = Chunk::map(BLOCKS, 1).unwrap();
        let bytes = SLOT_BYTES + 20 * GRANULE_BYTES;
        let mut taken = Vec::new();
        let mut charged = 0;
        for at in 0..8 {
            let fit = chunk.find(bytes, Packed).unwrap();
            assert_eq!(fit.granule, at * bytes / GRANULE_BYTES);
            charged += fit.new_bytes;
            taken.push(chunk.take(&fit));
        }
        // Side by side they take 13 slots; each on slots of its own, 16.
        assert_eq!((charged, chunk.touched_bytes()), (13 * SLOT_BYTES as u64, 13 * SLOT_BYTES as u64));
        // A hole is found again, and nothing is charged for it.
        chunk.give_back(taken.remove(3));
        let again = chunk.find(bytes, Packed).unwrap();
        assert_eq!((again.granule, again.new_bytes), (3 * bytes / GRANULE_BYTES, 0));
        // On slots, that hole is too short.
        assert!(chunk.find(bytes, OnSlots).unwrap().granule >= 8 * bytes / GRANULE_BYTES);
        // What goes back to the machine is what no neighbour has a part of: granules 156 to 208 have one such slot.
        assert_eq!(chunk.trim(), SLOT_BYTES as u64);
        taken.into_iter().for_each(|range| chunk.give_back(range));
    }

    #[test]
    fn a_full_chunk_has_no_room_and_an_oversized_one_fits_exactly() {
        let mut chunk = Chunk::map(BLOCKS, CHUNK_BYTES + 1).unwrap();
        let whole = chunk.find(CHUNK_BYTES + SLOT_BYTES, OnSlots).unwrap();
        let whole = chunk.take(&whole);
        assert!(chunk.find(1, OnSlots).is_none());
        chunk.give_back(whole);
        assert!(Chunk::map(BLOCKS, usize::MAX).is_err());
    }

    #[test]
    fn pages_stand_close_together_and_are_charged_in_small_slots() {
        let mut chunk = Chunk::map(PAGES, 1).unwrap();
        let first = chunk.find(100_000, OnSlots).unwrap();
        assert_eq!((first.granules, first.new_bytes), (25, 128 << 10));
        let first = chunk.take(&first);
        let second = chunk.find(200_000, OnSlots).unwrap();
        // It begins in the second slot, which the first has paid for.
        assert_eq!((second.granule, second.new_bytes), (25, 192 << 10));
        let second = chunk.take(&second);
        chunk.give_back(second);
        assert_eq!(chunk.trim(), 192 << 10);
        assert_eq!(chunk.touched_bytes(), 128 << 10);
        chunk.give_back(first);
    }

    #[test]
    fn what_is_free_is_found_however_often_nothing_was() {
        let mut chunk = Chunk::map(PAGES, 1).unwrap();
        let total = CHUNK_BYTES / chunk.grain.granule_bytes;
        let mut random = 7u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % limit
        };
        let mut taken: Vec<NonNull<[u8]>> = Vec::new();
        let (mut found, mut missed) = (0, 0);
        for round in 0..4_000 {
            let granules = 1 + below(if round % 9 == 0 { 3_000 } else { 500 });
            let longest = (0..total)
                .fold((0, 0), |(run, most), at| {
                    let run = if chunk.is_used(at) { 0 } else { run + 1 };
                    (run, most.max(run))
                })
                .1;
            match chunk.find(granules * chunk.grain.granule_bytes, OnSlots) {
                Some(fit) => {
                    assert!(granules <= longest);
                    taken.push(chunk.take(&fit));
                    found += 1;
                }
                None => {
                    assert!(granules > longest, "{granules} of {longest} in round {round}");
                    missed += 1;
                }
            }
            while taken.len() > 28 && below(3) > 0 {
                chunk.give_back(taken.swap_remove(below(taken.len())));
            }
        }
        assert!(found > 500 && missed > 10, "{found} {missed}");
        taken.into_iter().for_each(|range| chunk.give_back(range));
        assert_eq!(chunk.longest_free, total);
    }

    /// The word-wise search agrees with a bit-wise one.
    #[test]
    fn last_used_looks_at_exactly_the_range() {
        let mut chunk = Chunk::map(BLOCKS, 1).unwrap();
        let mut seed = 1u64;
        for _ in 0..200 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let granule = (seed >> 33) as usize % 1024;
            chunk.used[granule / 64] |= 1 << (granule % 64);
        }
        for start in (0..1000).step_by(7) {
            for length in [0, 1, 5, 31, 32, 64, 65, 200] {
                let end = (start + length).min(1024);
                let slow = (start..end).rev().find(|&granule| chunk.is_used(granule));
                assert_eq!(chunk.last_used(start, end), slow, "[{start}, {end})");
            }
        }
    }
}
