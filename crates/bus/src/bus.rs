//! What a bus does, and what it promises: the interface of every tier.
//!
//! [`Bus`] is implemented in memory (`memory.rs`, with or without storage) and over the network
//! (`service/client.rs`). The promises of order, delivery and errors stand at the trait and hold for all of them; the
//! conformance tests check each tier against them. This file holds the interface and its options, and no state.

use std::fmt::Debug;
use std::time::Duration;

use types::Result;

use crate::message::{CancelToken, ClientId, Message, MessageType, Priority, Receipt, Received, Timestamp};

/// A message bus. Every call is a transaction: it happens as a whole, at one moment between its begin and its end, or
/// (when it gives an error) not at all. The one exception is an error with state `IoError` or `ConnectionFailure`:
/// then it is unknown whether it happened, until the bus is opened again, or reached.
///
/// # Order
/// `receive` gives a client's messages by priority (higher first), then by deadline (earlier first, those without last),
/// then by send. Of two sends the earlier is the one that returned before the other began; of two at once, either.
/// Hence, with equal priority and deadline:
/// * what one sender sends to one receiver is received in the order it was sent (the messages of one call in their order
///   in it), whatever threads, restarts or network lie between;
/// * a message is received after every message to the same receiver whose send its sender could know of (causal order).
///   A broadcast becomes visible to all its receivers at one moment.
///
/// # Delivery
/// A message that was sent stays with each of its receivers until one of these, and is received by all `receive` calls
/// that reach its place: `delete` (or a `receive` that deletes), cancellation, its deadline, the receiver's disconnect.
/// No message is received at or after its deadline, and none after one of the others has returned. So a client that dies
/// between receiving and deleting finds its messages again: delivery is at least once, and exactly once per copy for
/// a client that deletes when it is done.
///
/// A durable bus in synchronous mode keeps all this through a loss of power at any moment. In asynchronous mode it may
/// lose the latest transactions; what is kept then is all of them up to some moment, and `flush` moves that moment up.
///
/// # Errors
/// | SQLSTATE | when |
/// | --- | --- |
/// | 42704 `UndefinedObject` | a client is not connected |
/// | 42501 `InsufficientPrivilege` | a client is not registered for the type; a cancellation by another client's token |
/// | 02000 `NoData` | an implicit address, and no receiver is registered |
/// | 55006 `ObjectInUse` | a disconnect that wants an empty queue, and it is not |
/// | 22023 `InvalidParameterValue` | no message, no recipient, several types to an implicit address |
/// | 58030, 53100, 25006 | the storage failed, is full, or has failed before |
/// | 08006 `ConnectionFailure` | the service does not answer |
pub trait Bus: Debug + Send + Sync {
    /// A new client, which stays until it disconnects, whatever happens to its thread, process or machine.
    fn connect(&self) -> Result<ClientId>;

    /// Ends a client and throws its queue away. What it sent stays deliverable.
    fn disconnect(&self, client: ClientId, how: Disconnect) -> Result<()>;

    /// Lets a client send or receive messages of a type. Doing so again changes nothing.
    fn register(&self, client: ClientId, role: Role, kind: MessageType) -> Result<()>;

    /// Sends messages, all of them to the same recipients, as one transaction.
    fn send(
        &self,
        sender: ClientId,
        address: Address<'_>,
        messages: &[Message],
        options: &SendOptions,
    ) -> Result<Sent>;

    /// Appends a client's next messages to `into`, and returns how many. They stay in the queue, unless the options say
    /// otherwise: the next call gives them again. 0 when there are none (in time).
    fn receive(&self, client: ClientId, options: &ReceiveOptions, into: &mut Vec<Received>) -> Result<usize>;

    /// Takes messages out of a client's queue, and returns how many were there. Those not there (any more) do not matter.
    fn delete(&self, client: ClientId, receipts: &[Receipt]) -> Result<usize>;

    /// Takes copies of cancellable messages out of all queues, and returns how many were there. `client` must be the
    /// sender or a recipient. A copy that was received already is not taken back: effects of tied messages must bear
    /// being done twice.
    fn cancel(&self, client: ClientId, tokens: &[CancelToken], scope: Scope) -> Result<usize>;

    /// How many messages wait for a client.
    fn pending(&self, client: ClientId) -> Result<usize>;

    /// Returns when everything done before is durable (at once, where nothing is or everything always is).
    fn flush(&self) -> Result<()>;
}

/// What a client does with messages of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It may send them.
    Sender,
    /// It may receive them, and counts among the recipients of [`Address::Any`].
    Receiver,
}

/// What a disconnect does when messages are pending for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// Throws pending messages away.
    Always,
    /// Only when nothing is pending, so that no message is lost.
    IfEmpty,
}

/// Possible recipients of a message; `SendOptions::broadcast` says whether all of them get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// These clients, all of which must be registered receivers of the type.
    Clients(&'a [ClientId]),
    /// Any client registered as a receiver of the type.
    Any,
}

/// How messages are sent. The default: middle priority, no deadline, one recipient, not cancellable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Receivers get higher ones first.
    pub priority: Priority,
    /// At and after this moment the message is received no more.
    pub deadline: Option<Timestamp>,
    /// All clients addressed get a copy; otherwise one of them does, in turn.
    pub broadcast: bool,
    /// Copies can be taken back (tied messages).
    pub cancellable: bool,
}

/// What became of a send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Serial number of the first message; the others follow without gaps.
    pub serial: u64,
    /// Queues that have a copy of each.
    pub recipients: usize,
    /// One for each message, when they are cancellable.
    pub tokens: Vec<CancelToken>,
}

/// How long to wait for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until a message comes or this time has passed.
    AtMost(Duration),
    /// Until a message comes or the client is disconnected.
    Forever,
}

/// Which messages `Bus::receive` gives, and how long it waits for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// At most this many messages.
    pub limit: usize,
    /// Messages of a lower priority stay in the queue, and do not end the wait.
    pub minimum_priority: Priority,
    /// How long to wait while there is no such message.
    pub wait: Wait,
    /// Deletes in the same transaction: a client that dies after it has lost them.
    pub delete: bool,
}

impl ReceiveOptions {
    /// At most so many of any priority, without waiting, and without deleting.
    pub fn batch(limit: usize) -> Self {
        ReceiveOptions { limit, minimum_priority: Priority::MIN, wait: Wait::No, delete: false }
    }
    /// The same options, waiting for a message as long as `wait` says.
    #[must_use]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }
    /// The same options, deleting what is received.
    #[must_use]
    pub fn deleting(mut self) -> Self {
        self.delete = true;
        self
    }
    /// The same options, without messages of a lower priority.
    #[must_use]
    pub fn at_least(mut self, priority: Priority) -> Self {
        self.minimum_priority = priority;
        self
    }
}

/// Which copies a cancellation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All copies, the caller's included.
    Everywhere,
    /// All but the caller's own, which it deletes when the work is done: if it dies before, the request is not lost.
    Elsewhere,
}
