//! The table behind plain read-write locks: one on the clients, two on each client's types, one on the index of receivers.
//!
//! Locks are taken in this order and released in the other: clients, a client's types, index. A view holds the lock on
//! the clients for its life, and takes the others for a moment.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ByNumber, ClientTable, Types, View, enter};
use crate::Role;
use crate::mailbox::Client;
use crate::message::{ClientId, MessageType};
use crate::primitive::{RwLock, RwLockReadGuard, read, with_write};

#[derive(Debug)]
pub(crate) struct LockedTable {
    clients: RwLock<HashMap<ClientId, Entry, ByNumber>>,
    receivers: RwLock<HashMap<MessageType, Vec<Arc<Client>>, ByNumber>>,
}

#[derive(Debug)]
struct Entry {
    client: Arc<Client>,
    sends: RwLock<Types>,
    receives: RwLock<Types>,
}

impl Entry {
    fn types(&self, role: Role) -> &RwLock<Types> {
        match role {
            Role::Sender => &self.sends,
            Role::Receiver => &self.receives,
        }
    }
}

impl Default for LockedTable {
    fn default() -> Self {
        LockedTable { clients: RwLock::new(HashMap::default()), receivers: RwLock::new(HashMap::default()) }
    }
}

pub(crate) struct LockedView<'a> {
    clients: RwLockReadGuard<'a, HashMap<ClientId, Entry, ByNumber>>,
    table: &'a LockedTable,
}

impl ClientTable for LockedTable {
    type View<'a> = LockedView<'a>;

    fn view(&self) -> LockedView<'_> {
        LockedView { clients: read(&self.clients), table: self }
    }

    fn add(&self, client: Arc<Client>) {
        let types = || RwLock::new(Types::default());
        let entry = Entry { sends: types(), receives: types(), client };
        with_write(&self.clients, |clients| clients.insert(entry.client.id, entry));
    }

    fn remove(&self, id: ClientId) -> bool {
        let Some(entry) = with_write(&self.clients, |clients| clients.remove(&id)) else { return false };
        // Receivers that are found here still have a closed mailbox, and are passed over.
        with_write(&self.receivers, |receivers| {
            for kind in read(&entry.receives).iter() {
                if let Some(of_type) = receivers.get_mut(&kind) {
                    of_type.retain(|client| client.id != id);
                }
            }
        });
        true
    }

    fn allow(&self, id: ClientId, role: Role, kind: MessageType) -> bool {
        let clients = read(&self.clients);
        let Some(entry) = clients.get(&id) else { return false };
        let new = with_write(entry.types(role), |types| types.insert(kind));
        if new && role == Role::Receiver {
            let client = entry.client.clone();
            with_write(&self.receivers, |receivers| enter(receivers.entry(kind).or_default(), client));
        }
        true
    }
}

impl View for LockedView<'_> {
    fn client(&self, id: ClientId) -> Option<&Arc<Client>> {
        self.clients.get(&id).map(|entry| &entry.client)
    }

    fn allows(&self, id: ClientId, role: Role, kind: MessageType) -> bool {
        self.clients.get(&id).is_some_and(|entry| read(entry.types(role)).contains(kind))
    }

    fn with_receivers<R>(&self, kind: MessageType, look: impl FnOnce(&[Arc<Client>]) -> R) -> R {
        look(read(&self.table.receivers).get(&kind).map_or(&[], Vec::as_slice))
    }
}
