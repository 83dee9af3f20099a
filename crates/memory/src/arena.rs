//! The arena: recycled slots of huge pages for blocks.
//!
//! Mapping memory and touching it for the first time is dear (a page fault and 2 MiB of zeroing
//! per huge page), so the arena grows in chunks, keeps what it was given back, and returns memory
//! to the machine only in [`Arena::trim`]: when the engine is idle, or when the budget would
//! otherwise be exceeded.
//!
//! Charged to the budget is what is resident: slots in use, and idle ones that were touched and not
//! trimmed. Reusing an idle slot therefore costs nothing, and never fails for want of budget.
//!
//! On a machine with several memory nodes, an allocation may name one; a chunk belongs to one node, or to none: then
//! its pages come from where they are first touched.
//!
//! Locking: one mutex around the list of chunks, held for a bitmap search; allocations are one per
//! block, not per row. Trimming holds it too. No call to the budget that could reclaim is made
//! under it, since reclaiming takes it.

use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chunk::{BLOCKS, Chunk, Grain, PAGES, Placement, SLOT_BYTES};
use crate::{Budget, BudgetExceeded, SlotRange, Topology, counting};

/// Why there are no slots.
#[derive(Debug)]
pub enum AllocationError {
    /// The budget says no.
    Budget(BudgetExceeded),
    /// The machine says no.
    System {
        /// What was asked for.
        wanted_bytes: u64,
        /// What it said.
        source: io::Error,
    },
}

impl fmt::Display for AllocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocationError::Budget(exceeded) => exceeded.fmt(f),
            AllocationError::System { wanted_bytes, source } => {
                write!(f, "the machine gives no {wanted_bytes} bytes of memory: {source}")
            }
        }
    }
}

impl std::error::Error for AllocationError {}

impl From<BudgetExceeded> for AllocationError {
    fn from(exceeded: BudgetExceeded) -> Self {
        AllocationError::Budget(exceeded)
    }
}

/// What the arena, its ranges and its budget share.
pub(crate) struct Shared {
    budget: Budget,
    grain: Grain,
    topology: Topology,
    /// Positions are stable: ranges remember theirs. `None` where a chunk was unmapped.
    chunks: Mutex<Vec<Option<Chunk>>>,
}

/// A source of slots, charged to a budget; clones are the same arena.
#[derive(Clone)]
pub struct Arena(Arc<Shared>);

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("used_bytes", &self.used_bytes())
            .field("resident_bytes", &self.resident_bytes())
            .finish()
    }
}

impl Arena {
    /// An arena that holds nothing yet.
    pub fn new(budget: Budget) -> Self {
        Arena::with_topology(budget, Topology::of_machine())
    }

    /// As `new`, on a machine with these memory nodes.
    pub fn with_topology(budget: Budget, topology: Topology) -> Self {
        Arena::with_grain(budget, BLOCKS, topology)
    }

    /// An arena for memory that comes and goes in pieces of any length: requests are rounded up to 4 KiB, charged in
    /// 64 KiB, and can be given back to the machine in these. Its pages are small.
    pub fn of_pages(budget: Budget, topology: Topology) -> Self {
        Arena::with_grain(budget, PAGES, topology)
    }

    fn with_grain(budget: Budget, grain: Grain, topology: Topology) -> Self {
        let shared =
            Arc::new(Shared { budget: budget.clone(), grain, topology, chunks: Mutex::new(Vec::new()) });
        budget.attach(&shared);
        Arena(shared)
    }

    /// The budget that it charges.
    pub fn budget(&self) -> &Budget {
        &self.0.budget
    }

    /// Memory for a block of at least `bytes`, rounded up to whole 64 KiB. Once half of the budget is in use, it begins
    /// on a slot (2 MiB) from that size on. The content is arbitrary: zero or what was there before.
    pub fn allocate(&self, bytes: usize) -> Result<SlotRange, AllocationError> {
        self.allocate_on(bytes, None)
    }

    /// As `allocate`, from the memory of a node (by its position in the topology) where the machine has several.
    pub fn allocate_on(&self, bytes: usize, node: Option<usize>) -> Result<SlotRange, AllocationError> {
        let bytes = bytes.max(1);
        let node = node.filter(|node| self.0.topology.is_divided() && *node < self.0.topology.nodes().len());
        let (chunk, range) = match self.0.try_allocate(bytes, node) {
            Err(AllocationError::Budget(_)) => self.allocate_reclaiming(bytes, node)?,
            other => other?,
        };
        Ok(SlotRange::new(Arc::clone(&self.0), chunk, range))
    }

    /// The machine's memory nodes.
    pub fn topology(&self) -> &Topology {
        &self.0.topology
    }

    /// The node that the memory at an address was asked for from; `None` where none was named, and for others' memory.
    pub fn node_of(&self, address: *const u8) -> Option<usize> {
        self.0.lock().iter().flatten().find(|chunk| chunk.holds(address.addr())).and_then(Chunk::node)
    }

    /// Asks for room in the order of what that costs: idle slots of other arenas, then what can be evicted, whose slots
    /// are taken over as they are where they fit, then idle slots of any arena.
    #[cold]
    fn allocate_reclaiming(
        &self,
        bytes: usize,
        node: Option<usize>,
    ) -> Result<(usize, NonNull<[u8]>), AllocationError> {
        let budget = &self.0.budget;
        budget.trim_arenas_but(&self.0);
        loop {
            let exceeded = match self.0.try_allocate(bytes, node) {
                Err(AllocationError::Budget(exceeded)) => exceeded,
                other => return other,
            };
            // What can never fit is not worth losing everything for.
            let evicted = if exceeded.limit < bytes as u64 { 0 } else { budget.evict(bytes as u64) };
            if evicted > 0 {
                match self.0.try_allocate(bytes, node) {
                    Err(AllocationError::Budget(_)) => {}
                    other => return other,
                }
            }
            if budget.reclaim() == 0 && evicted == 0 {
                return Err(exceeded.into());
            }
        }
    }

    /// Memory for `slots` slots of 2 MiB.
    pub fn allocate_slots(&self, slots: usize) -> Result<SlotRange, AllocationError> {
        self.allocate(slots.saturating_mul(SLOT_BYTES))
    }

    /// Makes `bytes` resident and idle, so that the next allocations do not pay for the page
    /// faults. For a background thread.
    pub fn prefault(&self, bytes: usize) -> Result<(), AllocationError> {
        let mut ranges = Vec::new();
        let mut left = bytes.div_ceil(SLOT_BYTES);
        while left > 0 {
            let slots = left.min(8);
            let mut range = self.allocate_slots(slots)?;
            range.touch();
            ranges.push(range);
            left -= slots;
        }
        Ok(())
    }

    /// Gives all idle memory back to the machine; returns how many bytes.
    pub fn trim(&self) -> u64 {
        self.0.trim()
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.0.lock().iter().flatten().map(Chunk::used_bytes).sum()
    }

    /// Bytes that are charged: in use, or idle and not trimmed.
    pub fn resident_bytes(&self) -> u64 {
        self.0.lock().iter().flatten().map(Chunk::touched_bytes).sum()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<Chunk>>> {
        // Bitmaps are changed without calls that panic.
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_allocate(
        &self,
        bytes: usize,
        node: Option<usize>,
    ) -> Result<(usize, NonNull<[u8]>), AllocationError> {
        // With room to spare, waste none; with little, keep holes that fit whatever comes.
        let spare = self.budget.used() <= self.budget.limit() / 2;
        let placement = if spare { Placement::Packed } else { Placement::OnSlots };
        let mut chunks = self.lock();
        // First fit, but one that touches nothing new is worth a look further up.
        let mut first = None;
        for (position, chunk) in chunks.iter_mut().enumerate() {
            let chunk = chunk.as_mut().filter(|chunk| chunk.node() == node);
            if let Some(fit) = chunk.and_then(|chunk| chunk.find(bytes, placement)) {
                let free = fit.new_bytes == 0;
                if first.is_none() || free {
                    first = Some((position, fit));
                }
                if free {
                    break;
                }
            }
        }
        let (position, fit) = match first {
            Some(found) => found,
            None => {
                // Ask before mapping, so that an absurd request does not reach the machine.
                let room = self.budget.limit().saturating_sub(self.budget.used());
                if bytes as u64 > room {
                    let (used, limit) = (self.budget.used(), self.budget.limit());
                    return Err(BudgetExceeded { wanted: bytes as u64, used, limit }.into());
                }
                let system = |source| AllocationError::System { wanted_bytes: bytes as u64, source };
                let mut chunk = Chunk::map(self.grain, bytes).map_err(system)?;
                if let Some(node) = node {
                    chunk.place(&self.topology, node);
                }
                let fit =
                    chunk.find(bytes, placement).ok_or_else(|| system(io::ErrorKind::OutOfMemory.into()))?;
                let position = chunks.iter().position(Option::is_none).unwrap_or(chunks.len());
                if position == chunks.len() {
                    chunks.push(None);
                }
                chunks[position] = Some(chunk);
                (position, fit)
            }
        };
        self.budget.charge(fit.new_bytes)?;
        counting::arena_grown(fit.new_bytes);
        match &mut chunks[position] {
            Some(chunk) => Ok((position, chunk.take(&fit))),
            None => unreachable!("the position was found occupied under the same lock"),
        }
    }

    pub(crate) fn give_back(&self, position: usize, range: NonNull<[u8]>) {
        let mut chunks = self.lock();
        if let Some(chunk) = &mut chunks[position] {
            chunk.give_back(range);
        }
    }

    pub(crate) fn trim(&self) -> u64 {
        let mut bytes = 0;
        let mut chunks = self.lock();
        for place in chunks.iter_mut() {
            match place {
                Some(chunk) if chunk.is_idle() => {
                    bytes += chunk.touched_bytes();
                    *place = None;
                }
                Some(chunk) => bytes += chunk.trim(),
                None => {}
            }
        }
        drop(chunks);
        self.budget.uncharge(bytes);
        counting::arena_shrunk(bytes);
        bytes
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // No range is left: each holds the arena. So every chunk is idle.
        self.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{CHUNK_BYTES, GRANULE_BYTES};

    #[test]
    fn slots_are_charged_recycled_and_trimmed() {
        let budget = Budget::new(16 << 20);
        let arena = Arena::new(budget.clone());
        let mut first = arena.allocate_slots(2).unwrap();
        first.fill(7);
        assert_eq!(first.len(), 2 * SLOT_BYTES);
        assert_eq!((arena.used_bytes(), budget.used()), (4 << 20, 4 << 20));
        let address = first.as_ptr();
        drop(first);
        assert_eq!((arena.used_bytes(), budget.used()), (0, 4 << 20));
        let again = arena.allocate_slots(1).unwrap();
        assert_eq!(again.as_ptr(), address);
        assert_eq!(budget.used(), 4 << 20);
        assert_eq!(arena.trim(), 2 << 20);
        assert_eq!(budget.used(), 2 << 20);
        drop(again);
        assert_eq!(arena.trim(), 2 << 20);
        assert_eq!((budget.used(), arena.resident_bytes()), (0, 0));
    }

    #[test]
    fn the_budget_refuses_after_reclaiming() {
        let budget = Budget::new(8 << 20);
        let arena = Arena::new(budget.clone());
        // Idle slots elsewhere are given up before a request is refused.
        let other = Arena::new(budget.clone());
        drop(other.allocate_slots(4).unwrap());
        let held = arena.allocate_slots(3).unwrap();
        assert_eq!(other.resident_bytes(), 0);
        assert!(matches!(arena.allocate_slots(2), Err(AllocationError::Budget(_))));
        assert!(matches!(arena.allocate(usize::MAX), Err(AllocationError::Budget(_))));
        let reservation = budget.reserve(2 << 20).unwrap();
        assert!(budget.reserve(1).is_err());
        drop((held, reservation));
        // A reservation reclaims idle slots, too.
        assert!(budget.reserve(8 << 20).is_ok());
    }

    #[test]
    fn memory_of_a_node_stays_with_it() {
        let budget = Budget::unlimited();
        let arena = Arena::with_topology(budget.clone(), Topology::emulated(3, 2));
        let on = |node| arena.allocate_on(GRANULE_BYTES, node).unwrap();
        let wanted = [None, Some(2), Some(0), Some(2), None, Some(9)];
        let ranges: Vec<SlotRange> = wanted.into_iter().map(on).collect();
        let found: Vec<Option<usize>> = ranges.iter().map(|range| arena.node_of(range.as_ptr())).collect();
        // A node that is not there is none.
        assert_eq!(found, [None, Some(2), Some(0), Some(2), None, None]);
        assert_eq!(ranges[3].as_ptr().addr(), ranges[1].as_ptr().addr() + GRANULE_BYTES);
        assert_eq!(arena.node_of(std::ptr::null()), None);
        // What is free on one node is not given to another.
        drop(ranges);
        assert_eq!(arena.node_of(on(Some(1)).as_ptr()), Some(1));
        // With one node there is nothing to tell apart.
        let arena = Arena::with_topology(budget, Topology::emulated(1, 8));
        assert_eq!(arena.node_of(arena.allocate_on(1, Some(0)).unwrap().as_ptr()), None);
    }

    #[test]
    fn small_and_huge_requests() {
        let arena = Arena::new(Budget::unlimited());
        let small: Vec<SlotRange> = (0..32).map(|_| arena.allocate(GRANULE_BYTES).unwrap()).collect();
        assert_eq!(arena.resident_bytes(), SLOT_BYTES as u64);
        let huge = arena.allocate(CHUNK_BYTES + 1).unwrap();
        assert!(huge.len() > CHUNK_BYTES);
        assert_eq!(arena.allocate(0).unwrap().len(), GRANULE_BYTES);
        drop(small);
        drop(huge);
        arena.prefault(5 << 20).unwrap();
        assert!(arena.trim() > 0);
    }

    #[test]
    fn ranges_outlive_their_arena_and_threads_share_it() {
        let budget = Budget::unlimited();
        let arena = Arena::new(budget.clone());
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let arena = &arena;
                scope.spawn(move || {
                    for round in 0..50usize {
                        let mut range = arena.allocate((round % 5 + 1) * 100_000).unwrap();
                        range.fill(thread);
                        assert!(range.iter().all(|&byte| byte == thread));
                        if round % 10 == 0 {
                            arena.trim();
                        }
                    }
                });
            }
        });
        assert_eq!(arena.used_bytes(), 0);
        let mut kept = arena.allocate(1).unwrap();
        drop(arena);
        kept[0] = 1;
        let frozen = kept.freeze();
        assert_eq!(frozen[0], 1);
        drop(frozen);
        assert_eq!(budget.used(), 0);
    }
}
