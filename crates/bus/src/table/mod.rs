//! The clients and the types that each sends and receives: the table that every call reads and few calls change.
//!
//! Chasseur (2015), section 4.4, compares two ways to guard it; both are here behind one trait:
//!
//! | variant | readers | writers |
//! | --- | --- | --- |
//! | [`LockedTable`] | a read lock on the clients, on a client's types, on the index of receivers | the same, to write |
//! | [`VersionedTable`] | take the current version, and no lock | copy, change, publish; one at a time |
//!
//! A call reads through one *view*. What the views promise is the same: a change that has returned is seen by every
//! view taken later.

mod locked;
mod versioned;

pub(crate) use locked::LockedTable;
pub(crate) use versioned::VersionedTable;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::Role;
use crate::mailbox::Client;
use crate::message::{ClientId, MessageType};

pub(crate) trait ClientTable: Debug + Default + Send + Sync + 'static {
    type View<'a>: View;

    fn view(&self) -> Self::View<'_>;
    fn add(&self, client: Arc<Client>);
    /// Adds many, with what they send and receive.
    fn fill(&self, clients: impl Iterator<Item = (Arc<Client>, BTreeSet<(Role, MessageType)>)>) {
        for (client, roles) in clients {
            let id = client.id;
            self.add(client);
            for (role, kind) in roles {
                self.allow(id, role, kind);
            }
        }
    }
    /// Whether the client was there.
    fn remove(&self, id: ClientId) -> bool;
    /// Whether the client is there, and so may send or receive the type now.
    fn allow(&self, id: ClientId, role: Role, kind: MessageType) -> bool;
}

pub(crate) trait View {
    fn client(&self, id: ClientId) -> Option<&Arc<Client>>;
    /// False for a client that is not there.
    fn allows(&self, id: ClientId, role: Role, kind: MessageType) -> bool;
    /// The receivers of a type, by id.
    fn with_receivers<R>(&self, kind: MessageType, look: impl FnOnce(&[Arc<Client>]) -> R) -> R;
}

/// Hashes numbers that are given in turn: one multiplication, whose upper bits go down.
#[derive(Default)]
pub(crate) struct NumberHasher(u64);

pub(crate) type ByNumber = BuildHasherDefault<NumberHasher>;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// A set of few message types.
#[derive(Clone, Debug, Default)]
struct Types(Vec<MessageType>);

impl Types {
    fn contains(&self, kind: MessageType) -> bool {
        match self.0.len() {
            0..=8 => self.0.contains(&kind),
            _ => self.0.binary_search(&kind).is_ok(),
        }
    }
    /// Whether it is new.
    fn insert(&mut self, kind: MessageType) -> bool {
        let at = self.0.binary_search(&kind);
        if let Err(at) = at {
            self.0.insert(at, kind);
        }
        at.is_err()
    }
    fn iter(&self) -> impl Iterator<Item = MessageType> + '_ {
        self.0.iter().copied()
    }
}

/// Puts a client among the receivers, by id.
fn enter(receivers: &mut Vec<Arc<Client>>, client: Arc<Client>) {
    if let Err(at) = receivers.binary_search_by_key(&client.id, |c| c.id) {
        receivers.insert(at, client);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn behaves<T: ClientTable>() {
        let table = T::default();
        let kind = MessageType(3);
        for id in 1..=20 {
            table.add(Arc::new(Client::new(ClientId(id))));
        }
        assert!(!table.allow(ClientId(21), Role::Sender, kind));
        for id in [9, 4, 4, 17] {
            assert!(table.allow(ClientId(id), Role::Receiver, kind));
        }
        (0..30).for_each(|kind| assert!(table.allow(ClientId(4), Role::Sender, MessageType(kind * 7 % 30))));
        let ids = |table: &T| {
            table.view().with_receivers(kind, |all| all.iter().map(|c| c.id.0).collect::<Vec<_>>())
        };
        assert_eq!(ids(&table), [4, 9, 17]);
        let view = table.view();
        assert!(view.allows(ClientId(4), Role::Sender, MessageType(29)));
        assert!(!view.allows(ClientId(4), Role::Sender, MessageType(30)));
        assert!(!view.allows(ClientId(5), Role::Receiver, kind));
        assert_eq!(view.client(ClientId(20)).map(|c| c.id), Some(ClientId(20)));
        drop(view);
        assert!(table.remove(ClientId(9)));
        assert!(!table.remove(ClientId(9)));
        assert_eq!(ids(&table), [4, 17]);
        assert!(table.view().client(ClientId(9)).is_none());
        assert!(!table.view().allows(ClientId(9), Role::Receiver, kind));
        assert_eq!(table.view().with_receivers(MessageType(99), <[_]>::len), 0);
    }

    #[test]
    fn both_variants_behave() {
        behaves::<LockedTable>();
        behaves::<VersionedTable>();
    }
}
