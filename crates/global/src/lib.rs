//! Programs on global memory, after Grappa (Myers, *High-performance parallel systems for data-intensive computing*, 2016,
//! chapter 2): light tasks that hide latency, operations that move to the data, and small messages that travel as few large
//! ones; on one process, or on several over the multiplexer. `docs/internals/global-memory.md` says how it is made.
//!
//! It knows nothing of SQL, plans, blocks and the scheduler. Invariants: no call waits except by `await` in a task; a body of
//! a delegate cannot wait, by its type; everything that a completion event counts is over when the event is; global memory
//! is charged to one budget; a task's panic, a lost node or a bad message ends the program with one typed error.
//!
//! ```
//! use global::{Config, Distribution, Operation, Runtime};
//! let runtime = Runtime::new(Config::new(2))?;
//! let histogram = runtime.array::<u64>(10, Distribution::BlockCyclic(2))?;
//! let counts = histogram.clone();
//! let seven = runtime.run(|here| async move {
//!     let event = here.event();
//!     let (id, bins) = (event.id(), histogram.clone());
//!     here.spawn_loop(id, 0..1_000, 0, move |here, range| {
//!         for value in range {
//!             bins.try_send(here, id, Operation::Add, value % 10, 1);
//!         }
//!     });
//!     event.wait().await;
//!     histogram.read(&here, 7).await
//! })?;
//! assert_eq!((seven, counts.len()), (100, 10));
//! # Ok::<(), global::GlobalError>(())
//! ```
#![forbid(unsafe_code)]

mod address;
mod array;
pub mod completion;
mod delegate;
mod error;
mod events;
mod fiber;
pub mod graph;
mod here;
mod kmeans;
mod loops;
mod mail;
pub mod mapreduce;
mod network;
mod packet;
mod parts;
mod plain;
mod port;
mod process;
mod registry;
mod runtime;
mod symmetric;
mod task;
mod transport;
pub mod vertex;
mod work;

pub use address::{Distribution, GlobalAddress, LOCALES_MAX, Layout, LocaleId, OBJECTS_MAX, Target};
pub use array::GlobalArray;
pub use delegate::Delegate;
pub use error::GlobalError;
pub use fiber::FiberCounts;
pub use here::{Event, Here, YieldNow};
pub use kmeans::{Clusters, kmeans};
pub use network::{Aggregation, NetworkCounts};
pub use packet::{EventId, Operation};
pub use parts::Word;
pub use plain::Plain;
pub use port::{Doorbell, PortTransport};
pub use process::{Config, Counts};
pub use registry::{Handler, Registry, TaskHandler};
pub use runtime::Runtime;
pub use symmetric::{Exported, Symmetric};
pub use task::Place;
pub use transport::{Buffer, Link, LinkOptions, OwnBuffer, Transport};
