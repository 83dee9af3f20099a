//! A client as the bus knows it: its queue, and the receivers that wait at it.
//!
//! ```text
//!  receiver                                       sender
//!  1  lock; look; found: done                     a  lock; push; does a waiter want this priority?; unlock
//!  2  enter own minimum among the waiting;        b  if so: gate.notify
//!     key = gate.key(); unlock
//!  3  gate.wait(key)
//!  4  lock; leave the waiting; look again
//! ```
//! No wake-up is lost: both looks are under the lock. A push before (1) is found there. A push after (2) sees the minimum
//! that stands among the waiting, and moves the gate after the key was taken, so that (3) does not sleep, or is woken.
//! A push that no waiter wants moves nothing: that is the ordinary case of a receiver that is behind.
//!
//! A durable send happens in two steps with the journal between: `announce` makes sure that the mailbox is open and keeps
//! a conditional disconnect from closing it, `settle` takes that back when the message is pushed (or was not written).

use std::time::{Duration, Instant};

use sync::Gate;

use crate::message::{ClientId, Priority, Receipt, Stored, Timestamp};
use crate::primitive::{Mutex, MutexGuard, lock};
use crate::queue::Queue;

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: ClientId,
    inbox: Mutex<Inbox>,
    gate: Gate,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) queue: Queue,
    pub(crate) open: bool,
    /// Durable sends that are under way to it.
    arriving: usize,
    /// The minimum priorities of the receivers that wait.
    waiting: Vec<Priority>,
}

/// The client disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl Client {
    pub(crate) fn new(id: ClientId) -> Self {
        let inbox = Inbox { queue: Queue::default(), open: true, arriving: 0, waiting: Vec::new() };
        Client { id, inbox: Mutex::new(inbox), gate: Gate::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inbox> {
        lock(&self.inbox)
    }

    /// Wakes all receivers that wait here; those that want a higher priority look and wait on.
    pub(crate) fn wake(&self) {
        self.gate.notify(usize::MAX);
    }

    pub(crate) fn announce(&self) -> std::result::Result<(), Closed> {
        let mut inbox = self.lock();
        inbox.arriving += usize::from(inbox.open);
        if inbox.open { Ok(()) } else { Err(Closed) }
    }

    /// Closes it for ever, and throws away what is in it. With `only_empty` the error is how much is in it; `None` when
    /// it is closed already.
    pub(crate) fn close(&self, only_empty: bool, now: Timestamp) -> Option<Result<(), usize>> {
        let mut inbox = self.lock();
        if !inbox.open {
            return None;
        }
        inbox.queue.expire(now);
        let pending = inbox.queue.len() + inbox.arriving;
        if only_empty && pending > 0 {
            return Some(Err(pending));
        }
        inbox.open = false;
        inbox.queue.clear();
        drop(inbox);
        self.wake();
        Some(Ok(()))
    }

    /// Waits until there is something of at least this priority, or the time is over; then gives the lock.
    pub(crate) fn wait(
        &self,
        minimum: Priority,
        until: Option<Instant>,
        ready: impl Fn(&mut Inbox) -> bool,
    ) -> Result<MutexGuard<'_, Inbox>, Closed> {
        let mut inbox = self.lock();
        loop {
            if !inbox.open {
                return Err(Closed);
            }
            if ready(&mut inbox) {
                return Ok(inbox);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(inbox);
            }
            inbox.waiting.push(minimum);
            let key = self.gate.key();
            drop(inbox);
            self.gate.wait(key, left);
            inbox = self.lock();
            if let Some(at) = inbox.waiting.iter().position(|waiting| *waiting == minimum) {
                inbox.waiting.swap_remove(at);
            }
        }
    }
}

impl Inbox {
    /// Puts a message in. Returns whether a receiver waits for it.
    #[must_use]
    pub(crate) fn push(&mut self, receipt: Receipt, message: Stored) -> bool {
        self.queue.push(receipt, message);
        self.waiting.iter().any(|minimum| *minimum <= receipt.priority)
    }

    pub(crate) fn settle(&mut self) {
        self.arriving -= 1;
    }

    /// Puts in what was there before.
    pub(crate) fn put_back(&mut self, messages: impl IntoIterator<Item = (Receipt, Stored)>) {
        messages.into_iter().for_each(|(receipt, stored)| self.queue.push(receipt, stored));
    }
}
