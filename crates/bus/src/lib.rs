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
//! ```
//! use bus::{Address, BusOptions, Message, MessageType, ReceiveOptions, Role, SendOptions, Wait, receipts};
//!
//! # fn main() -> types::Result<()> {
//! let bus = BusOptions::default().in_memory();
//! let (client, server) = (bus.connect()?, bus.connect()?);
//! let search = MessageType(1);
//! bus.register(client, Role::Sender, search)?;
//! bus.register(server, Role::Receiver, search)?;
//! bus.send(client, Address::Any, &[Message::new(search, "keyword")], &SendOptions::default())?;
//! let mut requests = Vec::new();
//! bus.receive(server, &ReceiveOptions::batch(64).waiting(Wait::Forever), &mut requests)?;
//! assert_eq!(requests[0].body.as_slice(), b"keyword");
//! // When the work is done; before, they would come again.
//! assert_eq!(bus.delete(server, &receipts(&requests))?, 1);
//! # Ok(())
//! # }
//! ```
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
