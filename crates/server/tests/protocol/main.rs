//! The protocol, message by message, over a socket.

mod cancel;
mod client;
mod copy;
mod extended;
mod lifecycle;
mod simple;
mod turns;
