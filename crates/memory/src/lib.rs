//! The memory budget, the counting global allocator and the arena of huge-page slots.
