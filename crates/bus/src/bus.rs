//! What a bus does, and what it promises: the interface of every tier.

use std::fmt::Debug;
use std::time::Duration;

use types::Result;

use crate::message::{CancelToken, ClientId, Message, MessageType, Priority, Receipt, Received, Timestamp};

/// A message bus. Every call is a transaction: it happens as a whole, at one moment between its begin and its end, or
/// (when it gives an error) not at all. The one exception is an error with state `IoError` or `ConnectionFailure`: there
/// nobody knows whether it happened, until the bus is opened again, or reached.
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
/// between receiving and deleting finds its messages again: delivery is at least once, and exactly once per copy for who
/// deletes when it is done.
///
/// A durable bus in synchronous mode keeps all this through a loss of power at any moment. In asynchronous mode it may
/// lose the latest transactions; what is kept then is all of them up to some moment, and `flush` moves that moment up.
///
/// # Errors
/// | SQLSTATE | when |
/// | --- | --- |
/// | 42704 `UndefinedObject` | a client is not connected |
/// | 42501 `InsufficientPrivilege` | a client is not registered for the type; a cancellation by somebody else's token |
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
    /// sender or a recipient. Whoever has received a copy already has it: effects of tied messages must bear being done
    /// twice.
    fn cancel(&self, client: ClientId, tokens: &[CancelToken], scope: Scope) -> Result<usize>;

    /// How many messages wait for a client.
    fn pending(&self, client: ClientId) -> Result<usize>;

    /// Returns when everything done before is durable (at once, where nothing is or everything always is).
    fn flush(&self) -> Result<()>;
}

/// What a client does with messages of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    Always,
    /// Only when nothing is pending, so that no message is lost.
    IfEmpty,
}

/// Who may get a message; `SendOptions::broadcast` says whether all of them do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// These clients, all of which must be registered receivers of the type.
    Clients(&'a [ClientId]),
    /// Any client registered as a receiver of the type.
    Any,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    pub priority: Priority,
    /// At and after this moment the message is received no more.
    pub deadline: Option<Timestamp>,
    /// To everybody addressed; otherwise to one of them, in turn.
    pub broadcast: bool,
    /// Copies can be taken back (tied messages).
    pub cancellable: bool,
}

/// What became of a send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Of the first message; the others follow.
    pub serial: u64,
    /// Queues that have a copy of each.
    pub recipients: usize,
    /// One for each message, when they are cancellable.
    pub tokens: Vec<CancelToken>,
}

/// How long to wait for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    No,
    AtMost(Duration),
    Forever,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveOptions {
    pub limit: usize,
    /// Messages of a lower priority are left, and do not wake who waits.
    pub minimum_priority: Priority,
    pub wait: Wait,
    /// Deletes in the same transaction: who dies then has lost them.
    pub delete: bool,
}

impl ReceiveOptions {
    /// At most so many of any priority, without waiting, and without deleting.
    pub fn batch(limit: usize) -> Self {
        ReceiveOptions { limit, minimum_priority: Priority::MIN, wait: Wait::No, delete: false }
    }
    #[must_use]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }
    #[must_use]
    pub fn deleting(mut self) -> Self {
        self.delete = true;
        self
    }
    #[must_use]
    pub fn at_least(mut self, priority: Priority) -> Self {
        self.minimum_priority = priority;
        self
    }
}

/// Which copies a cancellation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All: nobody receives it any more.
    Everywhere,
    /// All but the caller's own, which it deletes when the work is done: if it dies before, the request is not lost.
    Elsewhere,
}
