//! Room on the stack for deeply nested statements.
//!
//! Parsing, binding and dropping a syntax tree recurse with its depth. A shallow statement runs where it is; a deeper
//! one on a thread whose stack is sized by the scanner's bound of the depth, and beyond `DEPTH_MAX` it is refused.
//! Parser levels are the costliest: about 10 KiB of stack for a bracket in an optimised build.

use types::{Error, Result, SqlState, stop};

/// Deepest syntax tree that is accepted: five thousand chained operators and then some.
pub(crate) const DEPTH_MAX: usize = 20_000;
/// What the smallest stack we may be called on (2 MiB, half of it used) surely has room for.
const DEPTH_IN_PLACE: usize = 40;
const STACK_BYTES_BASE: usize = 8 << 20;
const STACK_BYTES_PER_LEVEL: usize = 32 << 10;

/// Runs `work` with a stack that fits a syntax tree of the given depth.
pub(crate) fn with_room<T: Send>(depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if depth <= DEPTH_IN_PLACE {
        return work();
    }
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    // Reserved address space; only the pages that are touched cost memory.
    let bytes = STACK_BYTES_BASE + depth * STACK_BYTES_PER_LEVEL;
    stop::on_stack("plan", bytes, work).unwrap_or_else(|_| {
        Err(Error::new(SqlState::OutOfMemory, "no memory for the stack that a deep statement needs"))
    })
}

/// The error for statements whose nesting exceeds the bounds.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::StatementTooComplex, "the statement is nested too deeply")
        .with_hint("use IN for long lists of alternatives, or split the statement")
}
