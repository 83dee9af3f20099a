//! The promises of `bus::Bus`, held against every combination of tiers.

mod conformance;
mod crashes;
mod history;
mod reference;
mod service;
mod threads;
mod tiers;

/// A client that sends and receives a type.
fn conformance_client(bus: &dyn bus::Bus, kind: bus::MessageType) -> bus::ClientId {
    let id = bus.connect().unwrap();
    bus.register(id, bus::Role::Sender, kind).unwrap();
    bus.register(id, bus::Role::Receiver, kind).unwrap();
    id
}
