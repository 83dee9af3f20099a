//! HTTP: the page, an interface for programs, and Arrow Flight SQL, on a port of their own: on loopback, and under TLS on
//! the other addresses that the server listens on.
//!
//! ```text
//!  listen (addresses) -> serve (TLS, HTTP/1.1 or 2, limits) -> guard (Host, Origin, token) -> a handler
//!                                                                     /, /assets    page
//!                                                                     /v1/query     query: one answer, streamed
//!                                                                     /v1/statements, /v1/activity, ...
//! ```
//! Handlers are tasks of the server's runtime and never run a statement: [`jobs`] hands those to the executor, and what
//! comes of them comes back through a bounded channel, so that a reader that is slow slows its statement alone. A client
//! that goes away drops its handler or its answer's body, and with either of them its statement is cancelled.
//!
//! * [`statements`]: statements whose results are held, on named [`connections`]; [`held`]: such a result; [`plans`]: plans
//!   and work orders of queries; [`activity`]: what runs.
//! * [`guard`]: who may ask, and the headers of every answer; [`logins`]: tokens and cookies.
//! * [`fault`]: errors as JSON; [`rows`]: rows and parameters as JSON; [`streamed`]: bodies that are written by jobs;
//!   [`source`]: what is run; [`complete`]: what may stand at a cursor.
//! * [`entrance`]: routes, and the beginning of listening; [`flight`]: the calls of Flight SQL.

mod activity;
mod complete;
mod connections;
mod drawn;
mod entrance;
mod fault;
#[cfg(feature = "flight")]
mod flight;
mod guard;
mod held;
mod jobs;
mod listen;
mod log_in;
mod logins;
mod page;
mod plans;
mod query;
mod request;
mod rows;
mod serve;
mod shared;
mod source;
mod statements;
mod store;
mod streamed;

pub use entrance::HttpAddresses;
pub use listen::PORT_DEFAULT;
pub(crate) use shared::Http;
