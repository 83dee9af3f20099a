//! Every interleaving of a few calls (loom): `RUSTFLAGS="--cfg loom" cargo test --release -p bus --no-default-features
//! --lib model`. A gate's key that is taken after the queue's lock is let go, say, is found as a deadlock. Of the versioned table the cell that holds the current version is replaced (`table/versioned.rs`).

use std::sync::Arc;

use types::SqlState;

use crate::clock::ManualClock;
use crate::memory::MemoryBus;
use crate::state::State;
use crate::table::{ClientTable, LockedTable, VersionedTable};
use crate::{
    Address, Bus, ClientId, Disconnect, Message, MessageType, ReceiveOptions, Role, SendOptions, Wait,
    receipts,
};

const KIND: MessageType = MessageType(1);

fn bus<T: ClientTable>(clients: usize) -> (Arc<MemoryBus<T>>, Vec<ClientId>) {
    let bus = Arc::new(MemoryBus::<T>::new(State::default(), Arc::new(ManualClock::default()), None));
    let ids: Vec<ClientId> = (0..clients).map(|_| bus.connect().unwrap()).collect();
    for id in &ids {
        bus.register(*id, Role::Sender, KIND).unwrap();
        bus.register(*id, Role::Receiver, KIND).unwrap();
    }
    (bus, ids)
}

fn numbers(bus: &impl Bus, id: ClientId) -> Vec<u8> {
    let mut got = Vec::new();
    bus.receive(id, &ReceiveOptions::batch(9), &mut got).unwrap();
    got.iter().map(|message| message.body[0]).collect()
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 20_000;
    builder.check(model);
}

fn a_waiter_is_woken<T: ClientTable>() {
    check(|| {
        let (bus, ids) = bus::<T>(2);
        let (theirs, to) = (bus.clone(), ids[1]);
        let sender = loom::thread::spawn(move || {
            theirs
                .send(ids[0], Address::Clients(&[to]), &[Message::new(KIND, &[7])], &SendOptions::default())
                .unwrap();
        });
        let mut got = Vec::new();
        bus.receive(to, &ReceiveOptions::batch(1).waiting(Wait::Forever), &mut got).unwrap();
        assert_eq!(got[0].body[0], 7);
        assert_eq!(bus.delete(to, &receipts(&got)).unwrap(), 1);
        sender.join().unwrap();
        assert_eq!(bus.pending(to).unwrap(), 0);
    });
}

/// A conditional disconnect and a send: one of them is refused, and no message is lost without a word.
fn a_disconnect_loses_nothing<T: ClientTable>() {
    check(|| {
        let (bus, ids) = bus::<T>(2);
        let (theirs, to) = (bus.clone(), ids[1]);
        let sender = loom::thread::spawn(move || {
            let sent = theirs.send(
                ids[0],
                Address::Clients(&[to]),
                &[Message::new(KIND, &[7])],
                &SendOptions::default(),
            );
            sent.map(drop).map_err(|error| error.state())
        });
        let gone = bus.disconnect(to, Disconnect::IfEmpty).map_err(|error| error.state());
        match sender.join().unwrap() {
            Ok(()) => {
                assert_eq!(gone, Err(SqlState::ObjectInUse));
                assert_eq!(numbers(&*bus, to), [7]);
            }
            refused => {
                assert_eq!((refused, gone), (Err(SqlState::UndefinedObject), Ok(())));
                assert!(bus.pending(to).is_err());
            }
        }
    });
}

/// Two broadcasts are in the same order everywhere, and the broadcasts end.
fn broadcasts_have_one_order<T: ClientTable>() {
    check(|| {
        let (bus, ids) = bus::<T>(2);
        let everybody = SendOptions { broadcast: true, ..SendOptions::default() };
        let (theirs, how, from) = (bus.clone(), everybody.clone(), ids[1]);
        let other = loom::thread::spawn(move || {
            theirs.send(from, Address::Any, &[Message::new(KIND, &[2])], &how).unwrap();
        });
        bus.send(ids[0], Address::Clients(&[ids[1], ids[0]]), &[Message::new(KIND, &[1])], &everybody)
            .unwrap();
        other.join().unwrap();
        let order = numbers(&*bus, ids[0]);
        assert_eq!((order.len(), &order), (2, &numbers(&*bus, ids[1])));
    });
}

/// A client that is being registered gets an implicit message or does not, and then the sender hears of it.
fn a_registration_is_seen_or_not<T: ClientTable>() {
    check(|| {
        let (bus, ids) = bus::<T>(1);
        let late = bus.connect().unwrap();
        let kind = MessageType(2);
        bus.register(ids[0], Role::Sender, kind).unwrap();
        let theirs = bus.clone();
        let registering = loom::thread::spawn(move || theirs.register(late, Role::Receiver, kind).unwrap());
        let sent = bus.send(ids[0], Address::Any, &[Message::new(kind, &[7])], &SendOptions::default());
        registering.join().unwrap();
        match sent {
            Ok(_) => assert_eq!(numbers(&*bus, late), [7]),
            Err(error) => assert_eq!(error.state(), SqlState::NoData),
        }
        let later = bus.send(ids[0], Address::Any, &[Message::new(kind, &[8])], &SendOptions::default());
        assert_eq!(later.unwrap().recipients, 1);
    });
}

macro_rules! both {
    ($($name:ident),*) => {
        mod locked {
            use super::*;
            $(#[test] fn $name() { super::$name::<LockedTable>(); })*
        }
        mod versioned {
            use super::*;
            $(#[test] fn $name() { super::$name::<VersionedTable>(); })*
        }
    };
}

both!(
    a_waiter_is_woken,
    a_disconnect_loses_nothing,
    broadcasts_have_one_order,
    a_registration_is_seen_or_not
);
