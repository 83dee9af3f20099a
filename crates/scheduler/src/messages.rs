//! What sessions tell the foreman, on the message bus in memory (crate `bus`; Chasseur 2015, chapter 4).
//!
//! ```text
//!  CANCEL, PAUSE, RESUME QUERY          session --send, urgent--> mailbox --receive, in batches--> foreman
//!  ALTER QUERY; SET policy, workers,
//!  active_queries, memory_limit         session --send----------> mailbox
//!  a run asks to be let in, has left    caller --send----------> mailbox
//!  work orders were completed           worker --send, one for many orders--> mailbox
//! ```
//! The foreman has no thread: a sender, after it has sent, takes all messages of the mailbox and carries them out,
//! one thread at a time. So changes happen one after the other, the urgent ones first and those of one sender in
//! their order, and when a call returns its effect is there: carried out by the caller, or by a thread that attended
//! before it.
//!
//! Not on the bus is what every work order does (claims, the counters of its query): `docs/internals/bus.md` has the
//! reasons with their nanoseconds. Nor is a `CancelToken`, which a signal handler may raise.
//!
//! The foreman's part is in `attending.rs`. Locks: the mailbox before the admission's and the roster's.

use std::sync::{Arc, Mutex};

use bus::{Address, Bus, BusOptions, ClientId, Message, MessageType, Priority, Received, Role, SendOptions};
use workorder::QueryId;

const CONTROL: MessageType = MessageType(1);
/// Messages taken at a time.
pub(crate) const BATCH: usize = 64;

/// A message to the foreman.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Cancel(QueryId),
    Pause(QueryId),
    Resume(QueryId),
    Priority(QueryId, u32),
    WorkersMax(QueryId, u64),
    MemoryMax(QueryId, u64),
    /// A policy, by its position in `POLICIES`.
    Policy(u64),
    Workers(u64),
    ActiveQueriesMax(u64),
    Memory(u64),
    /// It asks to be admitted; the answer is in its counters.
    Arrived(QueryId),
    /// Its run has ended, or it gave up waiting.
    Left(QueryId),
    /// A worker has completed so many work orders, of whichever queries, since it last said so.
    Completed(u64),
}

impl Control {
    /// The query that it is about, if it is about one.
    pub(crate) fn query(self) -> Option<QueryId> {
        match self {
            Control::Cancel(query)
            | Control::Pause(query)
            | Control::Resume(query)
            | Control::Priority(query, _)
            | Control::WorkersMax(query, _)
            | Control::MemoryMax(query, _)
            | Control::Arrived(query)
            | Control::Left(query) => Some(query),
            _ => None,
        }
    }

    /// Cancel, pause and resume overtake the others: a user waits for their effect.
    fn priority(self) -> Priority {
        match self {
            Control::Cancel(_) | Control::Pause(_) | Control::Resume(_) => Priority::MAX,
            _ => Priority::default(),
        }
    }

    /// Kind, query, value: 17 bytes, which lie in the queue itself.
    fn encoded(self) -> [u8; 17] {
        let (kind, value) = match self {
            Control::Cancel(_) => (0, 0),
            Control::Pause(_) => (1, 0),
            Control::Resume(_) => (2, 0),
            Control::Priority(_, priority) => (3, u64::from(priority)),
            Control::WorkersMax(_, workers) => (4, workers),
            Control::MemoryMax(_, bytes) => (5, bytes),
            Control::Policy(at) => (6, at),
            Control::Workers(workers) => (7, workers),
            Control::ActiveQueriesMax(queries) => (8, queries),
            Control::Memory(bytes) => (9, bytes),
            Control::Arrived(_) => (10, 0),
            Control::Left(_) => (11, 0),
            Control::Completed(orders) => (12, orders),
        };
        let mut bytes = [kind; 17];
        bytes[1..9].copy_from_slice(&self.query().map_or(0, |query| query.0).to_le_bytes());
        bytes[9..].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    /// `None`: no message of this crate's.
    pub(crate) fn decoded(bytes: &[u8]) -> Option<Control> {
        let (kind, rest) = bytes.split_first()?;
        let (query, value) = rest.split_at_checked(8)?;
        let query = QueryId(u64::from_le_bytes(query.try_into().ok()?));
        let value = u64::from_le_bytes(value.try_into().ok()?);
        Some(match kind {
            0 => Control::Cancel(query),
            1 => Control::Pause(query),
            2 => Control::Resume(query),
            3 => Control::Priority(query, u32::try_from(value).ok()?),
            4 => Control::WorkersMax(query, value),
            5 => Control::MemoryMax(query, value),
            6 => Control::Policy(value),
            7 => Control::Workers(value),
            8 => Control::ActiveQueriesMax(value),
            9 => Control::Memory(value),
            10 => Control::Arrived(query),
            11 => Control::Left(query),
            12 => Control::Completed(value),
            _ => return None,
        })
    }
}

/// The bus with its two ends: all sessions are one sender, since the foreman does not tell them apart.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) bus: Arc<dyn Bus>,
    sessions: ClientId,
    pub(crate) foreman: ClientId,
    /// A batch of messages; its lock lets one thread attend at a time.
    pub(crate) received: Mutex<Vec<Received>>,
}

impl Mailbox {
    /// `None` if the bus refuses its clients, which one in memory has no reason to.
    pub(crate) fn new() -> Option<Self> {
        let bus = BusOptions::default().in_memory();
        let (sessions, foreman) = (bus.connect().ok()?, bus.connect().ok()?);
        bus.register(sessions, Role::Sender, CONTROL).ok()?;
        bus.register(foreman, Role::Receiver, CONTROL).ok()?;
        Some(Mailbox { bus, sessions, foreman, received: Mutex::default() })
    }

    pub(crate) fn send(&self, control: Control) -> bool {
        let options = SendOptions { priority: control.priority(), ..SendOptions::default() };
        let message = Message::new(CONTROL, &control.encoded());
        self.bus.send(self.sessions, Address::Clients(&[self.foreman]), &[message], &options).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use bus::ReceiveOptions;

    use super::*;

    #[test]
    fn messages_come_as_they_went_and_other_bytes_are_none() {
        let query = QueryId(u64::MAX - 3);
        let all = [
            Control::Cancel(query),
            Control::Pause(query),
            Control::Resume(query),
            Control::Priority(query, u32::MAX),
            Control::WorkersMax(query, 7),
            Control::MemoryMax(query, u64::MAX),
            Control::Policy(2),
            Control::Workers(1024),
            Control::ActiveQueriesMax(5),
            Control::Memory(1 << 40),
            Control::Arrived(query),
            Control::Left(query),
            Control::Completed(4096),
        ];
        for control in all {
            assert_eq!(Control::decoded(&control.encoded()), Some(control));
        }
        let good = Control::Priority(query, 5).encoded();
        (0..17).for_each(|length| assert_eq!(Control::decoded(&good[..length]), None));
        assert_eq!(Control::decoded(&[13; 17]), None);
        // A priority that is none.
        assert_eq!(Control::decoded(&[3; 17]), None);
    }

    #[test]
    fn urgent_messages_overtake_and_others_keep_their_order() {
        let mailbox = Mailbox::new().unwrap();
        let query = QueryId(1);
        let sent = [
            Control::Priority(query, 1),
            Control::Pause(query),
            Control::Priority(query, 2),
            Control::Resume(query),
            Control::Cancel(query),
        ];
        sent.iter().for_each(|control| assert!(mailbox.send(*control)));
        let mut received = Vec::new();
        mailbox.bus.receive(mailbox.foreman, &ReceiveOptions::batch(9).deleting(), &mut received).unwrap();
        let order: Vec<_> = received.iter().filter_map(|message| Control::decoded(&message.body)).collect();
        assert_eq!(order, [sent[1], sent[3], sent[4], sent[0], sent[2]]);
    }
}
