//! The transactional message bus: clients send each other typed messages, and every call is a transaction on the bus.
//!
//! After Chasseur, "A Bare-Metal Approach to Database Performance on Contemporary Hardware" (2015), chapter 4. Three
//! tiers, each of which can be exchanged or left out:
//!
//! ```text
//!  service    (gRPC)   [`service::RemoteBus`] --network--> [`service::Server`]
//!  bus        (here)   table of clients: plain locks, or versions without locks;  a queue per client
//!  storage             none, a log of our own, or an embedded store (redb);  synchronous or asynchronous
//! ```
//! The bus always works in memory; storage keeps it durable, and is read only when it is opened. What every combination
//! promises stands at [`Bus`]; one suite of tests holds them all to it (`tests/`).
//!
//! The bus knows no query, plan or block: messages are bytes.
#![forbid(unsafe_code)]

mod bus;
mod clock;
mod mailbox;
mod memory;
mod message;
mod open;
mod primitive;
mod queue;
#[doc(hidden)]
pub mod random;
mod refusal;
#[cfg(feature = "service")]
pub mod service;
mod state;
mod storage;
mod table;

#[cfg(all(test, loom))]
mod model;

pub use bus::{Address, Bus, Disconnect, ReceiveOptions, Role, Scope, SendOptions, Sent, Wait};
pub use clock::{Clock, ManualClock, SystemClock};
pub use message::{
    Body, CancelToken, ClientId, Message, MessageType, Priority, Receipt, Received, Timestamp, receipts,
};
pub use open::{BusOptions, Durability, Opened, Table};
