//! PostgreSQL's frontend/backend protocol, versions 3.0 and 3.2, as bytes in memory: what a server reads and writes,
//! without sockets, sessions or statements.
//!
//! ```text
//!  received bytes --frontend::Decoder--> Frontend ----> (the server) ----> MessageBuffer --> bytes to send
//!  parameters of Bind --decode--> types::Value                  vector::Batch --rows::RowEncoder--^
//! ```
//!
//! * [`startup`]: the first packets of a connection, which have no type byte: versions, TLS, GSSAPI, cancel.
//! * [`frontend`]: every message of a client afterwards, borrowed from the bytes that were received.
//! * [`backend`]: every message of a server, appended to one [`MessageBuffer`], so that a server sends once for each
//!   Query or Sync.
//! * [`oid`]: which type of PostgreSQL stands for which of ours; `docs/internals/wire-types.md` has the table.
//! * [`rows`]: batches as DataRow and CopyData messages, in text and binary, column by column.
//! * [`decode`]: values of parameters, in text and binary.
//! * [`copy`]: COPY's options and its binary format as it comes in.
//! * [`scram`]: the server's side of SCRAM-SHA-256, and its stored verifiers.
//!
//! Nothing here trusts a length: what a client announces is compared with a limit before a byte of it is read, and
//! memory is taken only for bytes that have come.
#![forbid(unsafe_code)]

pub mod backend;
mod binary;
pub mod copy;
pub mod decode;
pub mod format;
pub mod frontend;
pub mod oid;
mod reader;
pub mod rows;
pub mod scram;
pub mod startup;
mod text;
pub mod value;

pub use backend::{ColumnDescription, MessageBuffer, Severity, TransactionStatus};
pub use format::{Format, Formats};
pub use frontend::{Decoded, Decoder, Frontend, Limits};
pub use oid::{TextEnums, TypeOids};
pub use rows::RowEncoder;
