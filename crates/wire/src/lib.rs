//! Rows between machines as bytes: what travels, without a socket in sight.
//!
//! ```text
//!  sink:    batch --route--> rows by machine --write--> messages --compress?--> sealed      Sender, Exchange
//!  source:  sealed --verify, decompress--> body --read--> batches                           Receiver
//! ```
//! A message is a header of 64 bytes and a body: parcels of columns, or the tuples of Rödiger, Mühlbauer, Kemper and
//! Neumann (*High-Speed Query Processing over High-Speed Networks*, PVLDB 9(4), 2015). Memory of messages comes from a pool
//! and goes back to it. Bytes that come in are never trusted. Plans travel in the encoding of the crate that has them: here
//! they are bytes (`Flags::OPAQUE`).
//!
//! The crate knows vectors and their types; it knows no sockets, no plan and no scheduler.
//!
//! | file | holds |
//! | --- | --- |
//! | `header`, `message`, `buffers` | a message's header, its memory and holders, the pool |
//! | `columns` | the columnar format; dictionaries that cross a link once |
//! | `rows` | the paper's tuples, by compiled copiers and by an interpreter |
//! | `scatter` | which machine a row goes to: hash, range, round-robin, all; heavy keys apart |
//! | `heavy` | the sketch that finds heavy keys |
//! | `compression` | LZ4 and zstd, chosen by measuring |
//! | `send`, `receive`, `pieces` | the two ends of an exchange, and rows larger than a message |
#![forbid(unsafe_code)]

pub mod buffers;
pub mod columns;
pub mod compression;
pub mod header;
pub mod heavy;
pub mod message;
pub mod picked;
pub mod pieces;
pub mod receive;
pub mod rows;
pub mod scatter;
pub mod send;

pub use buffers::{Buffers, MESSAGE_BYTES, MESSAGE_BYTES_MIN, Pool};
pub use header::{Flags, HEADER_BYTES, Header, Stream, VERSION};
pub use message::{Message, Sealed};
pub use picked::Picked;
pub use receive::{Opened, Receiver};
pub use rows::RowLayout;
pub use scatter::{Route, Scatter};
pub use send::{Exchange, Format, Outlet, Progress, Sender};
