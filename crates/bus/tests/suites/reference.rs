//! A bus so simple that it is right by reading: one list per client, sorted at every look.

use std::collections::{BTreeMap, BTreeSet};

use bus::{
    Address, CancelToken, ClientId, Disconnect, Message, MessageType, Priority, Receipt, Role, Scope,
    SendOptions, Timestamp,
};
use types::SqlState;

pub type Refused<T> = Result<T, SqlState>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    pub clients: BTreeMap<ClientId, Client>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    pub roles: BTreeSet<(Role, MessageType)>,
    queue: Vec<Copy>,
}

/// Receipt, sender, type and bytes.
pub type Copy = (Receipt, ClientId, MessageType, Vec<u8>);

impl Reference {
    fn client(&mut self, id: ClientId) -> Refused<&mut Client> {
        self.clients.get_mut(&id).ok_or(SqlState::UndefinedObject)
    }

    pub fn drop_expired(&mut self, now: Timestamp) {
        for client in self.clients.values_mut() {
            client.queue.retain(|(receipt, ..)| receipt.deadline > now);
        }
    }

    pub fn queue(&mut self, id: ClientId) -> Refused<&[Copy]> {
        let client = self.client(id)?;
        client.queue.sort_by_key(|(receipt, ..)| *receipt);
        Ok(&client.queue)
    }

    pub fn disconnect(&mut self, id: ClientId, how: Disconnect) -> Refused<()> {
        if how == Disconnect::IfEmpty && !self.client(id)?.queue.is_empty() {
            return Err(SqlState::ObjectInUse);
        }
        self.clients.remove(&id).map(drop).ok_or(SqlState::UndefinedObject)
    }

    pub fn register(&mut self, id: ClientId, role: Role, kind: MessageType) -> Refused<()> {
        self.client(id)?.roles.insert((role, kind));
        Ok(())
    }

    /// The recipients of the messages: all of these, or (when it is no broadcast) one of them.
    pub fn recipients(
        &mut self,
        sender: ClientId,
        address: Address<'_>,
        messages: &[Message],
    ) -> Refused<Vec<ClientId>> {
        self.client(sender)?;
        let first = messages.first().ok_or(SqlState::InvalidParameterValue)?.kind;
        if messages.iter().any(|m| !self.clients[&sender].roles.contains(&(Role::Sender, m.kind))) {
            return Err(SqlState::InsufficientPrivilege);
        }
        let receives = |client: &Client, kind| client.roles.contains(&(Role::Receiver, kind));
        match address {
            Address::Any if messages.iter().any(|m| m.kind != first) => Err(SqlState::InvalidParameterValue),
            Address::Any => {
                let receivers = self.clients.iter().filter(|(_, client)| receives(client, first));
                let ids: Vec<ClientId> = receivers.map(|(id, _)| *id).collect();
                if ids.is_empty() { Err(SqlState::NoData) } else { Ok(ids) }
            }
            Address::Clients([]) => Err(SqlState::InvalidParameterValue),
            Address::Clients(ids) => {
                for id in ids {
                    let client = self.clients.get(id).ok_or(SqlState::UndefinedObject)?;
                    if messages.iter().any(|m| !receives(client, m.kind)) {
                        return Err(SqlState::InsufficientPrivilege);
                    }
                }
                Ok(ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect())
            }
        }
    }

    pub fn push(
        &mut self,
        sender: ClientId,
        to: &[ClientId],
        messages: &[Message],
        serial: u64,
        how: &SendOptions,
    ) {
        for id in to {
            for (message, serial) in messages.iter().zip(serial..) {
                let receipt = Receipt {
                    serial,
                    priority: how.priority,
                    deadline: how.deadline.unwrap_or(Timestamp::NEVER),
                };
                let copy = (receipt, sender, message.kind, message.body.to_vec());
                self.clients.get_mut(id).unwrap().queue.push(copy);
            }
        }
    }

    pub fn receive(
        &mut self,
        id: ClientId,
        limit: usize,
        minimum: Priority,
        delete: bool,
    ) -> Refused<Vec<Copy>> {
        let queue = self.queue(id)?;
        let got: Vec<Copy> =
            queue.iter().filter(|(receipt, ..)| receipt.priority >= minimum).take(limit).cloned().collect();
        if delete {
            self.client(id)?.queue.retain(|copy| !got.contains(copy));
        }
        Ok(got)
    }

    pub fn delete(&mut self, id: ClientId, receipts: &[Receipt]) -> Refused<usize> {
        let queue = &mut self.client(id)?.queue;
        let before = queue.len();
        queue.retain(|(receipt, ..)| !receipts.contains(receipt));
        Ok(before - queue.len())
    }

    pub fn cancel(&mut self, id: ClientId, tokens: &[CancelToken], scope: Scope) -> Refused<usize> {
        self.client(id)?;
        if tokens.iter().any(|token| token.sender != id && !token.recipients.contains(&id)) {
            return Err(SqlState::InsufficientPrivilege);
        }
        let mut removed = 0;
        for token in tokens {
            for other in token.recipients.iter().filter(|other| scope == Scope::Everywhere || **other != id) {
                removed += self.delete(*other, &[token.receipt]).unwrap_or(0);
            }
        }
        Ok(removed)
    }
}
