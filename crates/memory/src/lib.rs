//! The memory budget, the counting global allocator and the arena of huge-page slots.
//!
//! Invariant: everything that takes memory is seen by one [`Budget`]: block slots through the
//! [`Arena`], everything else through the [`CountingAllocator`] when the binary installs it, or
//! through explicit [`Reservation`]s when it does not. How the three add up without counting
//! twice is drawn in `budget.rs`.
//!
//! Left to others: what can be evicted (a [`Reclaimer`] knows), what to do when the budget is exceeded
//! nevertheless (spill, end the query), when to trim, and how much a query may take.

mod affinity;
mod arena;
mod budget;
mod chunk;
mod counting;
mod keeping;
mod machine;
mod shared;
mod slots;
mod swap;
mod topology;

pub use affinity::{allowed_processors, current_processor, keep_thread_on};
pub use arena::{AllocationError, Arena};
pub use budget::{Budget, BudgetExceeded, Reclaimer, Reservation};
pub use chunk::{CHUNK_BYTES, GRANULE_BYTES, SLOT_BYTES};
pub use counting::{
    CountingAllocator, allocated_bytes, arena_bytes, peak_allocated_bytes, peak_bytes, reset_peaks,
    thread_bytes,
};
pub use keeping::watch_resident;
pub use machine::{default_limit_bytes, machine_limit_bytes, peak_resident_bytes, resident_bytes};
pub use shared::SharedRegion;
pub use slots::{FrozenSlots, SlotRange};
pub use swap::{Bytes, Swapped};
pub use topology::{Node, Topology};
