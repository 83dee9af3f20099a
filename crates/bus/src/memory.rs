//! The bus itself: calls, checks and queues, in memory. Storage, where there is some, hears of every change.
//!
//! A send locks the queues of all recipients (in the order of their ids, so that two sends cannot wait for each other),
//! takes serials, pushes, and lets go: a broadcast becomes visible everywhere at once, and serials are in the order of
//! pushes wherever two sends meet. A durable send:
//!
//! ```text
//!  1  announce   at every recipient: open?  keeps a conditional disconnect away
//!  2  record     serials; the change goes to storage, in some order with all others
//!  3  wait       until it is durable (not in asynchronous mode)
//!  4  push       all queues locked, as above
//! ```
//! No client receives what a loss of power could still take back (in synchronous mode), so that no effect of a
//! message outlives the message. And a client that sends because of what it received sends after that was recorded:
//! storage has causes before effects, and any prefix of it is a bus that keeps its promises.

use std::sync::Arc;
use std::time::Instant;

use sync::CachePadded;
use types::Result;

use crate::bus::{Address, Bus, Disconnect, ReceiveOptions, Role, Scope, SendOptions, Sent, Wait};
use crate::clock::Clock;
use crate::mailbox::{Client, Closed, Inbox};
use crate::message::{CancelToken, ClientId, Message, MessageType, Receipt, Received, Timestamp};
use crate::primitive::{AtomicU64, MutexGuard, Ordering::Relaxed};
use crate::refusal;
use crate::state::{Change, Header, Sending, State};
use crate::storage::Journal;
use crate::table::{ClientTable, View};

#[derive(Debug)]
pub(crate) struct MemoryBus<T> {
    table: T,
    next_client: AtomicU64,
    next_serial: CachePadded<AtomicU64>,
    /// Picks recipients in turn.
    turn: CachePadded<AtomicU64>,
    clock: Arc<dyn Clock>,
    journal: Option<Arc<dyn Journal>>,
}

/// What is sent, and how.
struct Letter<'a> {
    sender: ClientId,
    messages: &'a [Message],
    options: &'a SendOptions,
}

/// Which of the candidates get a copy.
#[derive(Clone, Copy)]
enum Pick {
    /// All; none may have disconnected.
    All,
    /// All that have not disconnected.
    Open,
    /// The first that has not disconnected, from this position on and around.
    From(usize),
}

/// No copy was made: this one has disconnected, or all have.
struct Nobody(Option<ClientId>);

type Outcome<T> = std::result::Result<T, Nobody>;

impl Letter<'_> {
    fn header(&self, serial: u64, now: Timestamp, recipients: impl FnOnce() -> Arc<[ClientId]>) -> Header {
        let deadline = self.options.deadline.unwrap_or(Timestamp::NEVER);
        Header {
            first: Receipt { serial, deadline, priority: self.options.priority },
            sender: self.sender,
            sent_at: now,
            tied: self.options.cancellable.then(recipients),
        }
    }

    fn sent(&self, header: &Header, recipients: usize) -> Sent {
        let tokens = header.tied.iter().flat_map(|tied| {
            (header.first.serial..).zip(self.messages).map(|(serial, _)| CancelToken {
                receipt: Receipt { serial, ..header.first },
                sender: self.sender,
                recipients: tied.clone(),
            })
        });
        Sent { serial: header.first.serial, recipients, tokens: tokens.collect() }
    }

    /// The first type that does not pass.
    fn kind_without(&self, passes: impl Fn(MessageType) -> bool) -> Option<MessageType> {
        let mut last = None;
        self.messages.iter().map(|message| message.kind).find(|kind| {
            let repeated = last.replace(*kind) == Some(*kind);
            !repeated && !passes(*kind)
        })
    }
}

fn ids(clients: &[Arc<Client>]) -> Arc<[ClientId]> {
    clients.iter().map(|client| client.id).collect()
}

impl<T: ClientTable> MemoryBus<T> {
    /// Goes on where a state ended.
    pub(crate) fn new(state: State, clock: Arc<dyn Clock>, journal: Option<Arc<dyn Journal>>) -> Self {
        let bus = MemoryBus {
            table: T::default(),
            next_client: AtomicU64::new(state.next_client.max(1)),
            next_serial: CachePadded(AtomicU64::new(state.next_serial)),
            turn: CachePadded(AtomicU64::new(0)),
            clock,
            journal,
        };
        bus.table.fill(state.clients.into_iter().map(|(id, state)| {
            let client = Client::new(id);
            client.lock().put_back(state.queue);
            (Arc::new(client), state.roles)
        }));
        bus
    }

    /// Makes a change durable, as far as the mode goes.
    fn record(&self, change: impl FnOnce() -> Change) -> Result<()> {
        match &self.journal {
            None => Ok(()),
            Some(journal) => journal.wait(journal.record(change())?),
        }
    }

    /// Drops what has expired, and tells storage, which need not know at once: it is dropped again when read back.
    fn expire(&self, client: ClientId, inbox: &mut Inbox) {
        if !inbox.queue.has_deadlines() {
            return;
        }
        let expired = inbox.queue.expire(self.clock.now());
        if let (Some(journal), false) = (&self.journal, expired.is_empty()) {
            let copies = expired.into_iter().map(|receipt| (client, receipt)).collect();
            let _dropped_again = journal.record(Change::Remove(copies));
        }
    }

    fn client(&self, id: ClientId) -> Result<Arc<Client>> {
        self.table.view().client(id).cloned().ok_or_else(|| refusal::unknown_client(id))
    }

    fn turn(&self, candidates: usize) -> usize {
        match candidates {
            0 | 1 => 0,
            several => (self.turn.fetch_add(1, Relaxed) % several as u64) as usize,
        }
    }

    /// Checks sender and address, and calls `act` with the clients that may get a copy, ascending by id.
    fn with_candidates<R>(
        &self,
        letter: &Letter<'_>,
        address: Address<'_>,
        act: impl FnOnce(&[Arc<Client>], Pick) -> R,
    ) -> Result<R> {
        let view = self.table.view();
        let known = |id| view.client(id).ok_or_else(|| refusal::unknown_client(id));
        known(letter.sender)?;
        let Some(first) = letter.messages.first() else { return Err(refusal::invalid("no message to send")) };
        if let Some(kind) = letter.kind_without(|kind| view.allows(letter.sender, Role::Sender, kind)) {
            return Err(refusal::not_registered(letter.sender, Role::Sender, kind));
        }
        let Address::Clients(addressed) = address else {
            if let Some(kind) = letter.kind_without(|kind| kind == first.kind) {
                let message = format!("an implicit address for {} and {kind} at once", first.kind);
                return Err(refusal::invalid(message));
            }
            return Ok(view.with_receivers(first.kind, |receivers| match letter.options.broadcast {
                true => act(receivers, Pick::Open),
                false => act(receivers, Pick::From(self.turn(receivers.len()))),
            }));
        };
        if addressed.is_empty() {
            return Err(refusal::invalid("a message to no client"));
        }
        for id in addressed {
            known(*id)?;
            if let Some(kind) = letter.kind_without(|kind| view.allows(*id, Role::Receiver, kind)) {
                return Err(refusal::not_registered(*id, Role::Receiver, kind));
            }
        }
        if !letter.options.broadcast || addressed.len() == 1 {
            let one = known(addressed[self.turn(addressed.len())])?;
            return Ok(act(std::slice::from_ref(one), Pick::All));
        }
        let mut all = addressed.iter().map(|id| known(*id).cloned()).collect::<Result<Vec<_>>>()?;
        all.sort_unstable_by_key(|client| client.id);
        all.dedup_by_key(|client| client.id);
        Ok(act(&all, Pick::All))
    }

    /// Without storage: everything under the locks of the queues.
    fn deliver(&self, letter: &Letter<'_>, candidates: &[Arc<Client>], pick: Pick) -> Outcome<Sent> {
        let now = self.clock.now();
        let serials = || self.next_serial.fetch_add(letter.messages.len() as u64, Relaxed);
        if let Pick::From(start) = pick {
            let (before, from) = candidates.split_at(start.min(candidates.len()));
            let mut around = from.iter().chain(before).map(std::slice::from_ref);
            let sent = around.find_map(|one| self.deliver(letter, one, Pick::All).ok());
            return sent.ok_or(Nobody(None));
        }
        if let [one] = candidates {
            let mut inbox = one.lock();
            if !inbox.open {
                return Err(Nobody(matches!(pick, Pick::All).then_some(one.id)));
            }
            let header = letter.header(serials(), now, || ids(candidates));
            let wake = push(&mut inbox, &header, letter.messages);
            drop(inbox);
            if wake {
                one.wake();
            }
            return Ok(letter.sent(&header, 1));
        }
        let mut inboxes: Vec<(&Arc<Client>, MutexGuard<'_, Inbox>)> =
            candidates.iter().map(|client| (client, client.lock())).collect();
        if let (Pick::All, Some((client, _))) = (pick, inboxes.iter().find(|(_, inbox)| !inbox.open)) {
            return Err(Nobody(Some(client.id)));
        }
        inboxes.retain(|(_, inbox)| inbox.open);
        if inboxes.is_empty() {
            return Err(Nobody(None));
        }
        let open = || inboxes.iter().map(|(client, _)| client.id).collect();
        let header = letter.header(serials(), now, open);
        let recipients = inboxes.len();
        push_all(inboxes, &header, letter.messages);
        Ok(letter.sent(&header, recipients))
    }

    /// With storage between the checks and the queues: steps 1 to 4.
    fn deliver_durably(
        &self,
        journal: &dyn Journal,
        letter: &Letter<'_>,
        candidates: Vec<Arc<Client>>,
        pick: Pick,
    ) -> Result<Outcome<Sent>> {
        let recipients = match announce(candidates, pick) {
            Ok(recipients) => recipients,
            Err(nobody) => return Ok(Err(nobody)),
        };
        let serial = self.next_serial.fetch_add(letter.messages.len() as u64, Relaxed);
        let header = letter.header(serial, self.clock.now(), || ids(&recipients));
        let messages = letter.messages.to_vec();
        let sending = Sending { header: header.clone(), recipients: ids(&recipients), messages };
        let durable = journal.record(Change::Send(sending)).and_then(|ticket| journal.wait(ticket));
        if let Err(error) = durable {
            recipients.iter().for_each(|client| client.lock().settle());
            return Err(error);
        }
        let mut inboxes: Vec<_> = recipients.iter().map(|client| (client, client.lock())).collect();
        inboxes.iter_mut().for_each(|(_, inbox)| inbox.settle());
        // A client that disconnected meanwhile has thrown its copy away.
        inboxes.retain(|(_, inbox)| inbox.open);
        push_all(inboxes, &header, letter.messages);
        Ok(Ok(letter.sent(&header, recipients.len())))
    }

    fn read(
        &self,
        client: ClientId,
        inbox: &mut Inbox,
        how: &ReceiveOptions,
        into: &mut Vec<Received>,
    ) -> usize {
        self.expire(client, inbox);
        match how.delete {
            true => inbox.queue.take(how.minimum_priority, how.limit, into),
            false => inbox.queue.read(how.minimum_priority, how.limit, into),
        }
    }

    /// Makes a deletion durable that has been done in the queue, or takes it back.
    fn record_taken(&self, client: &Client, taken: &[Received]) -> Result<()> {
        let copies = || Change::Remove(taken.iter().map(|message| (client.id, message.receipt)).collect());
        self.record(copies).inspect_err(|_| {
            client.lock().put_back(taken.iter().cloned().map(Received::into_stored));
        })
    }
}

/// Puts the messages in. Returns whether a receiver waits for one of them.
#[must_use]
fn push(inbox: &mut Inbox, header: &Header, messages: &[Message]) -> bool {
    header.copies(messages).fold(false, |wake, (receipt, stored)| inbox.push(receipt, stored) || wake)
}

/// Pushes everywhere before anything is unlocked.
fn push_all(inboxes: Vec<(&Arc<Client>, MutexGuard<'_, Inbox>)>, header: &Header, messages: &[Message]) {
    let mut wake = Vec::new();
    let locked: Vec<MutexGuard<'_, Inbox>> = inboxes
        .into_iter()
        .map(|(client, mut inbox)| {
            if push(&mut inbox, header, messages) {
                wake.push(client);
            }
            inbox
        })
        .collect();
    drop(locked);
    wake.into_iter().for_each(|client| client.wake());
}

/// The clients that will get a copy, and cannot disconnect conditionally until `settle`.
fn announce(candidates: Vec<Arc<Client>>, pick: Pick) -> Outcome<Vec<Arc<Client>>> {
    let closed = |client: &Arc<Client>| client.announce() == Err(Closed);
    match pick {
        Pick::All => match candidates.iter().position(closed) {
            None => Ok(candidates),
            Some(at) => {
                candidates[..at].iter().for_each(|client| client.lock().settle());
                Err(Nobody(Some(candidates[at].id)))
            }
        },
        Pick::Open => {
            let open: Vec<_> = candidates.into_iter().filter(|client| !closed(client)).collect();
            if open.is_empty() { Err(Nobody(None)) } else { Ok(open) }
        }
        Pick::From(start) => {
            let (before, from) = candidates.split_at(start.min(candidates.len()));
            let first = from.iter().chain(before).find(|client| !closed(client));
            first.map(|client| vec![client.clone()]).ok_or(Nobody(None))
        }
    }
}

impl<T: ClientTable> Bus for MemoryBus<T> {
    fn connect(&self) -> Result<ClientId> {
        let id = ClientId(self.next_client.fetch_add(1, Relaxed));
        self.record(|| Change::Connect(id))?;
        self.table.add(Arc::new(Client::new(id)));
        Ok(id)
    }

    fn disconnect(&self, id: ClientId, how: Disconnect) -> Result<()> {
        let client = self.client(id)?;
        match client.close(how == Disconnect::IfEmpty, self.clock.now()) {
            None => return Err(refusal::unknown_client(id)),
            Some(Err(pending)) => return Err(refusal::queue_not_empty(id, pending)),
            Some(Ok(())) => {}
        }
        self.table.remove(id);
        self.record(|| Change::Disconnect(id))
    }

    fn register(&self, id: ClientId, role: Role, kind: MessageType) -> Result<()> {
        self.client(id)?;
        if self.table.view().allows(id, role, kind) {
            return Ok(());
        }
        self.record(|| Change::Allow(id, role, kind))?;
        match self.table.allow(id, role, kind) {
            true => Ok(()),
            false => Err(refusal::unknown_client(id)),
        }
    }

    fn send(
        &self,
        sender: ClientId,
        address: Address<'_>,
        messages: &[Message],
        options: &SendOptions,
    ) -> Result<Sent> {
        let letter = Letter { sender, messages, options };
        let sent = match &self.journal {
            None => self.with_candidates(&letter, address, |all, pick| self.deliver(&letter, all, pick))?,
            Some(journal) => {
                // No view is held while storage is waited for.
                let (candidates, pick) =
                    self.with_candidates(&letter, address, |all, pick| (all.to_vec(), pick))?;
                self.deliver_durably(&**journal, &letter, candidates, pick)?
            }
        };
        sent.map_err(|Nobody(client)| match client {
            Some(client) => refusal::unknown_client(client),
            None => refusal::no_receivers(messages.first().map_or(MessageType(0), |message| message.kind)),
        })
    }

    fn receive(&self, id: ClientId, how: &ReceiveOptions, into: &mut Vec<Received>) -> Result<usize> {
        let view = self.table.view();
        let client = view.client(id).ok_or_else(|| refusal::unknown_client(id))?;
        let before = into.len();
        let mut inbox = client.lock();
        if !inbox.open {
            return Err(refusal::unknown_client(id));
        }
        let mut count = self.read(id, &mut inbox, how, into);
        drop(inbox);
        if self.journal.is_none() && (count > 0 || how.wait == Wait::No || how.limit == 0) {
            return Ok(count);
        }
        let client = client.clone();
        // No view is held while others, or storage, are waited for.
        drop(view);
        if count == 0 && how.wait != Wait::No && how.limit > 0 {
            let until = match how.wait {
                Wait::AtMost(time) => Instant::now().checked_add(time),
                _ => None,
            };
            let ready = |inbox: &mut Inbox| {
                self.expire(id, inbox);
                inbox.queue.has(how.minimum_priority)
            };
            let mut inbox = client
                .wait(how.minimum_priority, until, ready)
                .map_err(|Closed| refusal::unknown_client(id))?;
            count = self.read(id, &mut inbox, how, into);
        }
        if how.delete && count > 0 {
            let recorded = self.record_taken(&client, &into[before..]);
            if recorded.is_err() {
                into.truncate(before);
            }
            recorded?;
        }
        Ok(count)
    }

    fn delete(&self, id: ClientId, receipts: &[Receipt]) -> Result<usize> {
        if self.journal.is_some() && !receipts.is_empty() {
            self.client(id)?;
            self.record(|| Change::Remove(receipts.iter().map(|receipt| (id, *receipt)).collect()))?;
        }
        let view = self.table.view();
        let client = view.client(id).ok_or_else(|| refusal::unknown_client(id))?;
        let mut inbox = client.lock();
        self.expire(id, &mut inbox);
        Ok(receipts.iter().filter(|receipt| inbox.queue.remove(receipt).is_some()).count())
    }

    fn cancel(&self, id: ClientId, tokens: &[CancelToken], scope: Scope) -> Result<usize> {
        self.client(id)?;
        let party = |token: &CancelToken| token.sender == id || token.recipients.contains(&id);
        if let Some(token) = tokens.iter().find(|token| !party(token)) {
            return Err(refusal::not_a_party(id, token.receipt.serial));
        }
        let copies = || {
            tokens.iter().flat_map(|token| {
                let others = token.recipients.iter().filter(|r| scope == Scope::Everywhere || **r != id);
                others.map(|recipient| (*recipient, token.receipt))
            })
        };
        if copies().next().is_some() {
            self.record(|| Change::Remove(copies().collect()))?;
        }
        let view = self.table.view();
        let removed = copies().filter(|(recipient, receipt)| {
            view.client(*recipient).is_some_and(|client| {
                let mut inbox = client.lock();
                self.expire(*recipient, &mut inbox);
                inbox.queue.remove(receipt).is_some()
            })
        });
        Ok(removed.count())
    }

    fn pending(&self, id: ClientId) -> Result<usize> {
        let client = self.client(id)?;
        let mut inbox = client.lock();
        self.expire(id, &mut inbox);
        match inbox.open {
            true => Ok(inbox.queue.len()),
            false => Err(refusal::unknown_client(id)),
        }
    }

    fn flush(&self) -> Result<()> {
        self.journal.as_ref().map_or(Ok(()), |journal| journal.flush())
    }
}
