//! Flight SQL with the library's own client, and with messages that no client sends.

mod client;
mod hostile;
mod metadata;
mod queries;
mod roles;
mod sessions;
mod updates;
