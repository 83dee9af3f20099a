//! The bus as a service, over gRPC: one process has the bus, others use it through [`RemoteBus`], by the same interface.
//!
//! ```text
//!  RemoteBus::send --bytes--> HTTP/2 --bytes--> wire::answer(bus, "Send", bytes)      on a thread that may wait
//! ```
//! The service is `quickstep.bus.v1.Bus` of `proto/bus.proto`; its messages are written by hand (`wire.rs`), so that
//! building needs no protocol compiler. Errors go over with their SQLSTATE, message and hint.
//!
//! When the server goes away, calls fail with 08006 until it is back; the connection is made anew by itself, and clients
//! keep their numbers when the bus is durable. A call that failed so may have been done: a receive or a delete can be
//! asked again; a send that must not happen twice needs a number of its own in its message.

mod client;
mod codec;
mod server;
mod wire;

pub use client::RemoteBus;
pub use server::Server;

/// Larger requests and answers are refused by the side that reads them.
const BYTES_MAX: usize = 256 << 20;
