//! The bus as data: what changes it, and what it is after some changes. Storage writes the one and gives back the other.
//!
//! A [`Change`] is one transaction; [`State::apply`] replays them in the order of recording, when a bus is opened or
//! a snapshot is made. Invariants: a change of a client that is gone does nothing, so that a send and a disconnect at
//! once may be recorded in either order; `State::changes` of a state, applied to an empty one, give the same state;
//! ids and serials are never given again, which `Counters` keeps across snapshots. The byte format is little endian
//! with every bound checked: bytes that are no change are XX001.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use files::bytes::{ByteReader, ByteWriter, malformed};
use types::Result;

use crate::Role;
use crate::message::{ClientId, Message, MessageType, Priority, Receipt, Stored, Timestamp};

/// One transaction that changes the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Connect(ClientId),
    Allow(ClientId, Role, MessageType),
    Disconnect(ClientId),
    Send(Sending),
    /// Deleted, cancelled or expired copies.
    Remove(Vec<(ClientId, Receipt)>),
    /// Numbers that are taken though nothing has them any more.
    Counters {
        next_client: u64,
        next_serial: u64,
    },
}

/// Messages on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) header: Header,
    pub(crate) recipients: Arc<[ClientId]>,
    pub(crate) messages: Vec<Message>,
}

/// What the messages of one send have in common. The serial of `first` is that of the first, and the others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) first: Receipt,
    pub(crate) sender: ClientId,
    pub(crate) sent_at: Timestamp,
    pub(crate) tied: Option<Arc<[ClientId]>>,
}

impl Header {
    /// The messages as they lie in each queue.
    pub(crate) fn copies<'a>(
        &'a self,
        messages: &'a [Message],
    ) -> impl Iterator<Item = (Receipt, Stored)> + 'a {
        messages.iter().zip(self.first.serial..).map(|(message, serial)| {
            let stored = Stored {
                sender: self.sender,
                sent_at: self.sent_at,
                kind: message.kind,
                body: message.body.clone(),
                tied: self.tied.clone(),
            };
            (Receipt { serial, ..self.first }, stored)
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) clients: BTreeMap<ClientId, ClientState>,
    pub(crate) next_client: u64,
    pub(crate) next_serial: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientState {
    pub(crate) roles: BTreeSet<(Role, MessageType)>,
    pub(crate) queue: BTreeMap<Receipt, Stored>,
}

impl State {
    /// Changes of clients that are not there (any more) do nothing: a send and a disconnect at once are recorded in
    /// either order.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Connect(client) => {
                self.next_client = self.next_client.max(client.0.saturating_add(1));
                self.clients.entry(client).or_default();
            }
            Change::Allow(client, role, kind) => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.roles.insert((role, kind));
                }
            }
            Change::Disconnect(client) => {
                self.clients.remove(&client);
            }
            Change::Send(sending) => {
                let after = sending.header.first.serial.saturating_add(sending.messages.len() as u64);
                self.next_serial = self.next_serial.max(after);
                for recipient in sending.recipients.iter() {
                    if let Some(client) = self.clients.get_mut(recipient) {
                        client.queue.extend(sending.header.copies(&sending.messages));
                    }
                }
            }
            Change::Remove(copies) => {
                for (client, receipt) in copies {
                    if let Some(client) = self.clients.get_mut(&client) {
                        client.queue.remove(&receipt);
                    }
                }
            }
            Change::Counters { next_client, next_serial } => {
                self.next_client = self.next_client.max(next_client);
                self.next_serial = self.next_serial.max(next_serial);
            }
        }
    }

    /// The changes that make this state of an empty one.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let (next_client, next_serial) = (self.next_client, self.next_serial);
        let mut changes = vec![Change::Counters { next_client, next_serial }];
        for (id, client) in &self.clients {
            changes.push(Change::Connect(*id));
            changes.extend(client.roles.iter().map(|(role, kind)| Change::Allow(*id, *role, *kind)));
            changes.extend(client.queue.iter().map(|(receipt, stored)| {
                let header = Header {
                    first: *receipt,
                    sender: stored.sender,
                    sent_at: stored.sent_at,
                    tied: stored.tied.clone(),
                };
                let messages = vec![Message { kind: stored.kind, body: stored.body.clone() }];
                Change::Send(Sending { header, recipients: [*id].into(), messages })
            }));
        }
        changes
    }
}

const CONNECT: u8 = 1;
const ALLOW: u8 = 2;
const DISCONNECT: u8 = 3;
const SEND: u8 = 4;
const REMOVE: u8 = 5;
const COUNTERS: u8 = 6;

impl Change {
    /// A number for the kind, then its parts in the order of their declaration; lists with their length before them.
    pub(crate) fn write(&self, w: &mut ByteWriter) {
        match self {
            Change::Connect(client) => {
                w.u8(CONNECT);
                w.u64(client.0);
            }
            Change::Allow(client, role, kind) => {
                w.u8(ALLOW);
                w.u64(client.0);
                w.flag(*role == Role::Receiver);
                w.u32(kind.0);
            }
            Change::Disconnect(client) => {
                w.u8(DISCONNECT);
                w.u64(client.0);
            }
            Change::Send(sending) => {
                w.u8(SEND);
                write_receipt(w, &sending.header.first);
                w.u64(sending.header.sender.0);
                w.u64(sending.header.sent_at.0);
                w.option(sending.header.tied.as_deref(), write_clients);
                write_clients(w, &sending.recipients);
                w.list(sending.messages.iter(), |w, message| {
                    w.u32(message.kind.0);
                    w.bytes(&message.body);
                });
            }
            Change::Remove(copies) => {
                w.u8(REMOVE);
                w.list(copies.iter(), |w, (client, receipt)| {
                    w.u64(client.0);
                    write_receipt(w, receipt);
                });
            }
            Change::Counters { next_client, next_serial } => {
                w.u8(COUNTERS);
                w.u64(*next_client);
                w.u64(*next_serial);
            }
        }
    }

    pub(crate) fn read(r: &mut ByteReader<'_>) -> Result<Change> {
        Ok(match r.u8()? {
            CONNECT => Change::Connect(ClientId(r.u64()?)),
            ALLOW => {
                let client = ClientId(r.u64()?);
                let role = if r.flag()? { Role::Receiver } else { Role::Sender };
                Change::Allow(client, role, MessageType(r.u32()?))
            }
            DISCONNECT => Change::Disconnect(ClientId(r.u64()?)),
            SEND => Change::Send(Sending {
                header: Header {
                    first: read_receipt(r)?,
                    sender: ClientId(r.u64()?),
                    sent_at: Timestamp(r.u64()?),
                    tied: r.option(read_clients)?,
                },
                recipients: read_clients(r)?,
                messages: r.list(|r| Ok(Message::new(MessageType(r.u32()?), r.bytes()?)))?,
            }),
            REMOVE => Change::Remove(r.list(|r| Ok((ClientId(r.u64()?), read_receipt(r)?)))?),
            COUNTERS => Change::Counters { next_client: r.u64()?, next_serial: r.u64()? },
            other => return Err(malformed(&format!("{other} is no change of a message bus"))),
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = ByteWriter::default();
        self.write(&mut writer);
        writer.into_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Change> {
        let mut reader = ByteReader::new(bytes);
        let change = Change::read(&mut reader)?;
        reader.end()?;
        Ok(change)
    }
}

/// As a value of a store, whose key is the receipt.
impl Stored {
    #[cfg(feature = "redb")]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut w = ByteWriter::default();
        w.u64(self.sender.0);
        w.u64(self.sent_at.0);
        w.u32(self.kind.0);
        w.option(self.tied.as_deref(), write_clients);
        w.bytes(&self.body);
        w.into_bytes()
    }

    #[cfg(feature = "redb")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Stored> {
        let mut r = ByteReader::new(bytes);
        let stored = Stored {
            sender: ClientId(r.u64()?),
            sent_at: Timestamp(r.u64()?),
            kind: MessageType(r.u32()?),
            tied: r.option(read_clients)?,
            body: crate::Body::new(r.bytes()?),
        };
        r.end()?;
        Ok(stored)
    }
}

fn write_receipt(w: &mut ByteWriter, receipt: &Receipt) {
    w.u64(receipt.serial);
    w.u64(receipt.deadline.0);
    w.u8(receipt.priority.0);
}

fn read_receipt(r: &mut ByteReader<'_>) -> Result<Receipt> {
    Ok(Receipt { serial: r.u64()?, deadline: Timestamp(r.u64()?), priority: Priority(r.u8()?) })
}

fn write_clients(w: &mut ByteWriter, clients: &[ClientId]) {
    w.list(clients.iter(), |w, client| w.u64(client.0));
}

fn read_clients(r: &mut ByteReader<'_>) -> Result<Arc<[ClientId]>> {
    Ok(r.list(|r| Ok(ClientId(r.u64()?)))?.into())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use random::Random;

    pub(crate) fn random_change(random: &mut Random) -> Change {
        let client = ClientId(random.below(6));
        let kind = MessageType(random.below(3) as u32);
        let receipt = Receipt {
            serial: random.below(50),
            priority: Priority(random.below(3) as u8),
            deadline: if random.below(2) == 0 { Timestamp::NEVER } else { Timestamp(random.below(9)) },
        };
        let clients = |random: &mut Random| (0..random.below(4)).map(ClientId).collect::<Arc<[_]>>();
        match random.below(8) {
            0 => Change::Connect(client),
            1 => Change::Allow(client, [Role::Sender, Role::Receiver][random.below(2) as usize], kind),
            2 if random.below(4) == 0 => Change::Disconnect(client),
            3 => Change::Remove((0..random.below(4)).map(|i| (ClientId(i), receipt)).collect()),
            4 => Change::Counters { next_client: random.below(9), next_serial: random.below(60) },
            _ => Change::Send(Sending {
                header: Header {
                    first: receipt,
                    sender: client,
                    sent_at: Timestamp(random.bits()),
                    tied: (random.below(2) == 0).then(|| clients(random)),
                },
                recipients: clients(random),
                messages: (0..random.below(4))
                    .map(|i| Message::new(kind, vec![i as u8; random.below(40) as usize]))
                    .collect(),
            }),
        }
    }

    #[test]
    fn changes_and_states_come_back() {
        let mut random = Random::new(3);
        for _ in 0..if cfg!(miri) { 5 } else { 300 } {
            let mut state = State::default();
            for _ in 0..60 {
                let change = random_change(&mut random);
                assert_eq!(Change::from_bytes(&change.to_bytes()).unwrap(), change);
                state.apply(change);
            }
            let mut again = State::default();
            state.changes().into_iter().for_each(|change| again.apply(change));
            assert_eq!(again, state);
        }
    }

    /// Bytes that are no change are an error, whatever they are.
    #[test]
    fn damaged_changes_are_errors_or_other_changes() {
        let mut random = Random::new(11);
        let mut refused = 0;
        for _ in 0..if cfg!(miri) { 50 } else { 20_000 } {
            let mut bytes = random_change(&mut random).to_bytes();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] = random.bits() as u8,
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, random.bits() as u8),
                }
            }
            match Change::from_bytes(&bytes) {
                Ok(change) => assert_eq!(change.to_bytes(), bytes),
                Err(error) => {
                    assert_eq!(error.state(), types::SqlState::DataCorrupted);
                    refused += 1;
                }
            }
        }
        assert!(refused > 0);
    }
}
