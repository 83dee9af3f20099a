//! Messages and their parts: types, priorities, deadlines, bodies, receipts, and the ids of clients.
//!
//! Values without state of the bus: senders make a [`Message`], receivers get a [`Received`], and queues hold its
//! `Stored` form under a [`Receipt`]. Invariants: receipts of a bus are unique and order as queues do; a body of up
//! to 22 bytes lies in the message itself, a longer one is shared by all copies.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::sync::Arc;

/// A client of the bus, for ever: the number is never given again, not even after a restart of a durable bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

/// What kind of message it is. The application gives the numbers; clients register for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageType(pub u32);

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message type {}", self.0)
    }
}

/// How urgent a message is: a higher one is received earlier. The default is 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(pub u8);

impl Priority {
    /// Received last.
    pub const MIN: Priority = Priority(0);
    /// Received first.
    pub const MAX: Priority = Priority(u8::MAX);
}

impl Default for Priority {
    /// In the middle, so that there is room on both sides.
    fn default() -> Self {
        Priority(128)
    }
}

/// Microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The deadline of a message that has none: later than every other.
    pub const NEVER: Timestamp = Timestamp(u64::MAX);

    /// So much later; `NEVER` stays what it is.
    #[must_use]
    pub fn after(self, span: std::time::Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// The place of a message in every queue that has a copy, and its name when it is deleted.
///
/// Receipts order as queues do: higher priority first, then the earlier deadline, then the earlier send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// Counts the messages of a bus; in the order of sends wherever one send can know of the other.
    pub serial: u64,
    /// The message's deadline; [`Timestamp::NEVER`] without one.
    pub deadline: Timestamp,
    /// The message's priority.
    pub priority: Priority,
}

impl Receipt {
    fn order(&self) -> (Reverse<Priority>, Timestamp, u64) {
        (Reverse(self.priority), self.deadline, self.serial)
    }
}

impl Ord for Receipt {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Receipt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Bytes so few are kept where they are; more are shared by all copies of the message.
const INLINE_BYTES: usize = 22;

/// The bytes of a message, which mean nothing to the bus.
#[derive(Clone)]
pub struct Body(Bytes);

#[derive(Clone)]
enum Bytes {
    Inline { length: u8, bytes: [u8; INLINE_BYTES] },
    Shared(Arc<[u8]>),
}

impl Body {
    /// Copies the bytes: inline up to 22 of them, else into shared memory.
    pub fn new(bytes: &[u8]) -> Self {
        match bytes.len() {
            length @ 0..=INLINE_BYTES => {
                let mut inline = [0; INLINE_BYTES];
                inline[..length].copy_from_slice(bytes);
                Body(Bytes::Inline { length: length as u8, bytes: inline })
            }
            _ => Body(Bytes::Shared(bytes.into())),
        }
    }

    /// The bytes that the sender gave.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Bytes::Shared(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        match bytes.len() > INLINE_BYTES {
            true => Body(Bytes::Shared(bytes.into())),
            false => Body::new(&bytes),
        }
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Body {
    fn from(bytes: &T) -> Self {
        Body::new(bytes.as_ref())
    }
}

impl std::ops::Deref for Body {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Body {}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.as_slice().len())
    }
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Sender and recipients must be registered for it.
    pub kind: MessageType,
    /// What is delivered, unchanged.
    pub body: Body,
}

impl Message {
    /// A message to send; `body` may be bytes, a string or a `Vec<u8>`.
    pub fn new(kind: MessageType, body: impl Into<Body>) -> Self {
        Message { kind, body: body.into() }
    }
}

/// Finds every copy of a cancellable message. The sender gets one, and each copy carries one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelToken {
    /// The message, in whichever queue its copy is.
    pub receipt: Receipt,
    /// The client that sent it.
    pub sender: ClientId,
    /// The clients that got a copy, ascending.
    pub recipients: Arc<[ClientId]>,
}

/// A message as it lies in a queue, but for its place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) sender: ClientId,
    pub(crate) sent_at: Timestamp,
    pub(crate) kind: MessageType,
    pub(crate) body: Body,
    /// The clients that got a copy, when it is cancellable.
    pub(crate) tied: Option<Arc<[ClientId]>>,
}

/// A message as its receiver gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its place in the queue, for `Bus::delete`.
    pub receipt: Receipt,
    /// The client that sent it.
    pub sender: ClientId,
    /// The bus's time at the send.
    pub sent_at: Timestamp,
    /// The type that it was sent with.
    pub kind: MessageType,
    /// The bytes that were sent.
    pub body: Body,
    tied: Option<Arc<[ClientId]>>,
}

impl Received {
    pub(crate) fn new(receipt: Receipt, stored: Stored) -> Self {
        let Stored { sender, sent_at, kind, body, tied } = stored;
        Received { receipt, sender, sent_at, kind, body, tied }
    }

    pub(crate) fn into_stored(self) -> (Receipt, Stored) {
        let Received { receipt, sender, sent_at, kind, body, tied } = self;
        (receipt, Stored { sender, sent_at, kind, body, tied })
    }

    /// What cancels it, when its sender made it cancellable.
    pub fn token(&self) -> Option<CancelToken> {
        let recipients = self.tied.clone()?;
        Some(CancelToken { receipt: self.receipt, sender: self.sender, recipients })
    }
}

/// The receipts of what was received, for `Bus::delete`.
pub fn receipts(received: &[Received]) -> Vec<Receipt> {
    received.iter().map(|message| message.receipt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_their_bytes_inline_or_shared() {
        for length in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 4000] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let body = Body::new(&bytes);
            assert_eq!(body.as_slice(), bytes);
            assert_eq!(matches!(body.0, Bytes::Inline { .. }), length <= INLINE_BYTES);
            assert_eq!(Body::from(bytes), body);
        }
        assert_eq!(size_of::<Body>(), 24);
    }

    #[test]
    fn receipts_order_as_queues_do() {
        let receipt = |priority, deadline, serial| Receipt {
            priority: Priority(priority),
            deadline: Timestamp(deadline),
            serial,
        };
        let never = Timestamp::NEVER.0;
        let ordered = [
            receipt(9, never, 7),
            receipt(5, 10, 9),
            receipt(5, 11, 1),
            receipt(5, never, 2),
            receipt(1, 1, 0),
        ];
        assert!(ordered.is_sorted());
    }
}
