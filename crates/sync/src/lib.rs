//! Small synchronisation tools shared by every layer: cancellation, a park/unpark gate, checkout
//! stacks for per-worker state, striped counters.
//!
//! Invariant: nothing here knows of queries, data or memory, and nothing here blocks except
//! [`Gate::wait`]. Every type's protocol stands at its head.

mod cancel;
mod checkout;
mod counter;
mod gate;
pub mod stop;

pub use cancel::{CancelToken, StopReason};
pub use checkout::{Checkout, Pool};
pub use counter::{CachePadded, StripedCounter};
pub use gate::{Gate, GateKey};
