//! The promises of `bus::Bus`, held against every combination of tiers.

mod conformance;
mod crashes;
mod history;
mod reference;
#[cfg(feature = "service")]
mod service;
mod threads;
mod tiers;

/// How many: the second of them under Miri, which interprets and is a thousand times slower (`make miri`).
fn many(usual: u64, interpreted: u64) -> u64 {
    if cfg!(miri) { interpreted } else { usual }
}

/// A client that sends and receives a type.
fn conformance_client(bus: &dyn bus::Bus, kind: bus::MessageType) -> bus::ClientId {
    let id = bus.connect().unwrap();
    bus.register(id, bus::Role::Sender, kind).unwrap();
    bus.register(id, bus::Role::Receiver, kind).unwrap();
    id
}
