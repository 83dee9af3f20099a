//! A server over a database: PostgreSQL's protocol on TCP and Unix sockets, and HTTP with the page on loopback.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use server::{Config, DatabaseRoles, Server};
//!
//! let database = engine::Database::in_memory(engine::Options::default())?;
//! let roles = Arc::new(DatabaseRoles::new(&database));
//! let config = Config { trust: true, ..Config::default() };
//! let handle = Server::start(database, config, roles)?;
//! println!("psql -h 127.0.0.1 -p {} -U quickstep", handle.port());
//! handle.shutdown();
//! # Ok::<(), engine::Error>(())
//! ```
//!
//! ```text
//!  listen -> connection (a task) -> startup -> conversation (jobs on the executor) -> engine::Session
//!                        \------ link: frames in, bytes out, cancel ------/
//! ```
//! * [`local`]: a program's own database on loopback.
//! * [`server`]: listening, the handle, stopping; [`listen`]: which addresses and ports; [`config`]: what is set.
//! * [`connection`]: the task that owns a socket; [`transport`]: TCP, Unix, TLS; [`startup`]: who a client is;
//!   [`authentication`]: roles and passwords; [`audit`]: what is kept of it.
//! * [`conversation`]: the protocol's states over a session; [`link`]: what lies between it and the socket;
//!   `direct`: turns without the socket's task; [`executor`]: the threads; [`cancel_keys`]: who may cancel what.
//! * [`http`]: the page and the interface for programs, over the same executor.
//!
//! `docs/internals/server.md` draws how these play together. Messages and values as bytes are `pgproto`'s.
#![forbid(unsafe_code)]

pub mod audit;
pub mod authentication;
pub mod cancel_keys;
pub mod config;
mod connection;
mod conversation;
mod direct;
mod end_point;
pub mod executor;
pub mod http;
pub mod link;
pub mod listen;
pub mod local;
pub mod server;
mod shared;
pub mod signals;
mod startup;
pub mod transport;

pub use authentication::{Authenticator, DatabaseRoles, FirstPassword, first_password, random_password};
pub use config::{Config, ConfigFile, TlsFiles};
pub use local::{Local, LocalHttp, LocalOptions};
pub use server::{Handle, Server};
