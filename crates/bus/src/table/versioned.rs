//! The table as versions: readers take the current one, and no lock; writers copy it, change the copy, and publish it.
//!
//! This is the thesis' HybridCC with another way to keep a version alive. Its readers load the pointer to the current
//! version and then count themselves on it; between the two steps a writer may drop the last reference, which the text
//! leaves open. Here `arc-swap` keeps versions (its readers note the pointer in a slot of their own thread, look whether
//! it still is current, and need no count), so that readers of different threads do not even write to the same cache
//! line, which is what the thesis' counters per NUMA node are for.
//!
//! A version is copied by its pointers: a connect or a registration costs as much as there are clients. They are rare
//! compared with messages.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{ByNumber, ClientTable, Types, View, enter};
use crate::Role;
use crate::mailbox::Client;
use crate::message::{ClientId, MessageType};
use crate::primitive::{Mutex, lock};

/// The current version. Under the model checker, which cannot look into `arc-swap`, the same with a lock: what is
/// checked is what this crate does with versions.
#[cfg(not(loom))]
mod current {
    use std::sync::Arc;

    pub(super) struct Current<T>(arc_swap::ArcSwap<T>);
    pub(super) type Guard<T> = arc_swap::Guard<Arc<T>>;

    impl<T> Current<T> {
        pub(super) fn new(first: T) -> Self {
            Current(arc_swap::ArcSwap::from_pointee(first))
        }
        pub(super) fn load(&self) -> Guard<T> {
            self.0.load()
        }
        pub(super) fn publish(&self, next: T) {
            self.0.store(Arc::new(next));
        }
    }
}

#[cfg(loom)]
mod current {
    use std::sync::Arc;

    pub(super) struct Current<T>(loom::sync::Mutex<Arc<T>>);
    pub(super) type Guard<T> = Arc<T>;

    impl<T> Current<T> {
        pub(super) fn new(first: T) -> Self {
            Current(loom::sync::Mutex::new(Arc::new(first)))
        }
        pub(super) fn load(&self) -> Guard<T> {
            crate::primitive::lock(&self.0).clone()
        }
        pub(super) fn publish(&self, next: T) {
            *crate::primitive::lock(&self.0) = Arc::new(next);
        }
    }
}

pub(crate) struct VersionedTable {
    current: current::Current<Version>,
    /// Held from the copy to the publication.
    writing: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Version {
    clients: HashMap<ClientId, Entry, ByNumber>,
    receivers: HashMap<MessageType, Arc<Vec<Arc<Client>>>, ByNumber>,
}

#[derive(Clone, Debug)]
struct Entry {
    client: Arc<Client>,
    types: Arc<[Types; 2]>,
}

impl Version {
    fn add(&mut self, client: Arc<Client>) {
        let entry = Entry { types: Arc::default(), client };
        self.clients.insert(entry.client.id, entry);
    }

    fn allow(&mut self, id: ClientId, role: Role, kind: MessageType) -> bool {
        let Some(entry) = self.clients.get_mut(&id) else { return false };
        if Arc::make_mut(&mut entry.types)[index(role)].insert(kind) && role == Role::Receiver {
            let client = entry.client.clone();
            enter(Arc::make_mut(self.receivers.entry(kind).or_default()), client);
        }
        true
    }
}

fn index(role: Role) -> usize {
    match role {
        Role::Sender => 0,
        Role::Receiver => 1,
    }
}

impl std::fmt::Debug for VersionedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.current.load().fmt(f)
    }
}

impl Default for VersionedTable {
    fn default() -> Self {
        VersionedTable { current: current::Current::new(Version::default()), writing: Mutex::new(()) }
    }
}

impl VersionedTable {
    /// Publishes what `change` makes of a copy, unless it says that nothing changed.
    fn change(&self, change: impl FnOnce(&mut Version) -> bool) -> bool {
        let _writing = lock(&self.writing);
        let mut next = Version::clone(&self.current.load());
        let changed = change(&mut next);
        if changed {
            self.current.publish(next);
        }
        changed
    }
}

pub(crate) struct VersionView(current::Guard<Version>);

impl ClientTable for VersionedTable {
    type View<'a> = VersionView;

    fn view(&self) -> VersionView {
        VersionView(self.current.load())
    }

    fn add(&self, client: Arc<Client>) {
        self.change(|version| {
            version.add(client);
            true
        });
    }

    fn fill(&self, clients: impl Iterator<Item = (Arc<Client>, BTreeSet<(Role, MessageType)>)>) {
        self.change(|version| {
            for (client, roles) in clients {
                let id = client.id;
                version.add(client);
                roles.into_iter().for_each(|(role, kind)| {
                    version.allow(id, role, kind);
                });
            }
            true
        });
    }

    fn remove(&self, id: ClientId) -> bool {
        self.change(|version| {
            let Some(entry) = version.clients.remove(&id) else { return false };
            for kind in entry.types[index(Role::Receiver)].iter() {
                if let Some(of_type) = version.receivers.get_mut(&kind) {
                    Arc::make_mut(of_type).retain(|client| client.id != id);
                }
            }
            true
        })
    }

    fn allow(&self, id: ClientId, role: Role, kind: MessageType) -> bool {
        if self.view().allows(id, role, kind) {
            return true;
        }
        self.change(|version| version.allow(id, role, kind))
    }
}

impl View for VersionView {
    fn client(&self, id: ClientId) -> Option<&Arc<Client>> {
        self.0.clients.get(&id).map(|entry| &entry.client)
    }

    fn allows(&self, id: ClientId, role: Role, kind: MessageType) -> bool {
        self.0.clients.get(&id).is_some_and(|entry| entry.types[index(role)].contains(kind))
    }

    fn with_receivers<R>(&self, kind: MessageType, look: impl FnOnce(&[Arc<Client>]) -> R) -> R {
        look(self.0.receivers.get(&kind).map_or(&[], |all| all.as_slice()))
    }
}
