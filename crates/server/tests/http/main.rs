//! HTTP with a client of its own: `hyper`, so that requests can be what no browser sends.

mod client;
mod queries;
mod security;
mod statements;
