//! What the bus refuses, in words. Callers tell the cases apart by SQLSTATE, listed at [`Bus`](crate::Bus).

use types::{Error, SqlState};

use crate::Role;
use crate::message::{ClientId, MessageType};

pub(crate) fn unknown_client(client: ClientId) -> Error {
    Error::new(SqlState::UndefinedObject, format!("{client} is not connected to the bus"))
        .with_hint("connect first; a client that disconnected cannot come back under the same number")
}

pub(crate) fn not_registered(client: ClientId, role: Role, kind: MessageType) -> Error {
    let (what, call) = match role {
        Role::Sender => ("a sender", "Role::Sender"),
        Role::Receiver => ("a receiver", "Role::Receiver"),
    };
    Error::new(SqlState::InsufficientPrivilege, format!("{client} is not registered as {what} of {kind}"))
        .with_hint(format!("register it with {call} first"))
}

pub(crate) fn no_receivers(kind: MessageType) -> Error {
    Error::new(SqlState::NoData, format!("no client is registered as a receiver of {kind}"))
        .with_hint("send again when a receiver has registered")
}

pub(crate) fn queue_not_empty(client: ClientId, pending: usize) -> Error {
    let message = format!("{client} has pending messages ({pending}), and was to disconnect only without");
    Error::new(SqlState::ObjectInUse, message).with_hint("receive and delete them, or disconnect always")
}

pub(crate) fn not_a_party(client: ClientId, serial: u64) -> Error {
    let message = format!("{client} neither sent message {serial} nor was sent it, and cannot cancel it");
    Error::new(SqlState::InsufficientPrivilege, message)
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}
