//! The data plane between machines: bytes in messages, from any worker of one node to any worker of another.
//!
//! It knows nothing of vectors, plans and the scheduler; what is in a message's body is its users' business. See
//! `docs/internals/multiplexer.md`.
//!
//! Invariant: no call waits; memory for messages stays within its setting; every exchange on a live node ends, with all
//! its messages or with one typed error.

mod auto;
mod error;
mod exchange;
mod frame;
mod phases;
mod pool;
mod port;
pub mod simulator;
mod thread;
mod traffic;
pub mod transport;

pub use auto::{MILLISECOND, Nanos, Schedule, phase_bytes};
pub use error::NetworkError;
pub use exchange::{Body, ExchangeSpec, MOUSE_BYTES, Notices, Receive, Received, Shared, Silent, Waker};
pub use frame::{Class, ExchangeId, FRAME_BYTES, Frame, FrameProblem, Kind, NodeId};
pub use phases::{Phases, Signal};
pub use pool::{Account, ArenaSlabs, Memory, Message, Pool, PoolCounts, Promise, SlabSource, Weightless};
pub use port::{Port, Spill};
pub use thread::Multiplexer;
pub use traffic::{Accept, Config, Lane, Statistics, Traffic};
