//! A locale's tables: its counts of completion events, the events that it waits for itself, and the replies that its fibers
//! wait for. Plain data; who sends what they say is in `mail.rs`.
//!
//! ```text
//!  reply slot:   free --open--> empty --fill--> full --take--> free
//!                                 +--abandon--> abandoned --fill--> free       (its fiber was dropped)
//!  event:        free --open--> open --close, done--> free        open --close, not done--> closing --done--> free
//! ```

use crate::address::LocaleId;
use crate::completion::{Count, Master, Note, To};
use crate::fiber::FiberId;
use crate::packet::EventId;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Free,
    Open,
    Closing,
}

struct Own {
    master: Master,
    waiter: FiberId,
    state: Use,
}

#[derive(Default)]
struct Here {
    count: Count,
    is_dirty: bool,
}

/// The completion events as one locale sees them.
pub(crate) struct Events {
    me: LocaleId,
    /// By master and slot.
    counts: Vec<Vec<Here>>,
    own: Vec<Own>,
    free: Vec<u32>,
    dirty: Vec<EventId>,
}

/// A note to be sent.
pub(crate) type Send = (LocaleId, EventId, Note);

impl Events {
    pub(crate) fn new(me: LocaleId, locales: usize) -> Self {
        let counts = (0..locales).map(|_| Vec::new()).collect();
        Events { me, counts, own: Vec::new(), free: Vec::new(), dirty: Vec::new() }
    }

    pub(crate) fn open(&mut self) -> EventId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.own.push(Own { master: Master::default(), waiter: FiberId::NONE, state: Use::Free });
            (self.own.len() - 1) as u32
        });
        self.own[slot as usize].state = Use::Open;
        EventId { slot, master: self.me }
    }

    pub(crate) fn close(&mut self, event: EventId) {
        let own = &mut self.own[event.slot as usize];
        own.waiter = FiberId::NONE;
        own.state = Use::Closing;
        self.free_if_done(event);
    }

    fn free_if_done(&mut self, event: EventId) {
        let own = &mut self.own[event.slot as usize];
        if own.state == Use::Closing && own.master.is_done() {
            own.state = Use::Free;
            self.free.push(event.slot);
        }
    }

    #[inline]
    fn here(&mut self, event: EventId) -> Option<&mut Here> {
        let slots = self.counts.get_mut(event.master.index())?;
        let slot = event.slot as usize;
        if slot >= slots.len() {
            // A slot beyond all reason comes from noise, not from a program.
            if slot > 1 << 24 {
                return None;
            }
            slots.resize_with(slot + 1, Here::default);
        }
        slots.get_mut(slot)
    }

    /// Work was spawned here.
    #[inline]
    pub(crate) fn enroll(&mut self, event: EventId, pieces: u64) -> Option<Send> {
        let me = self.me;
        let note = self.here(event)?.count.enroll(pieces)?;
        if event.master != me {
            return Some((event.master, event, note));
        }
        self.own[event.slot as usize].master.cancel();
        self.here(event)?.count.acknowledged();
        None
    }

    /// Pieces of work that were enrolled at `origin` are over. Whether that was the last one of this locale's.
    #[inline]
    pub(crate) fn complete(&mut self, event: EventId, origin: LocaleId, pieces: u32) -> bool {
        let me = self.me;
        let Some(here) = self.here(event) else { return false };
        if origin == me {
            here.count.complete(u64::from(pieces));
        } else {
            here.count.owe(origin.0, pieces);
        }
        let (reports, was_last) = (here.count.has_report(), origin == me && here.count.work() == 0);
        if reports && !here.is_dirty {
            here.is_dirty = true;
            self.dirty.push(event);
        }
        reports && was_last
    }

    pub(crate) fn has_reports(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// What is to be said now, and who waited for what is done.
    pub(crate) fn report(&mut self, send: &mut Vec<Send>, wake: &mut Vec<FiberId>) {
        for event in std::mem::take(&mut self.dirty) {
            let me = self.me;
            let Some(here) = self.here(event) else { continue };
            here.is_dirty = false;
            let mut entered = false;
            here.count.report(|to, note| match to {
                To::Master if event.master == me => entered = true,
                To::Master => send.push((event.master, event, note)),
                To::Locale(to) => send.push((LocaleId(to), event, note)),
            });
            if entered {
                self.enter(event, wake);
            }
        }
    }

    fn enter(&mut self, event: EventId, wake: &mut Vec<FiberId>) {
        let Some(own) = self.own.get_mut(event.slot as usize) else { return };
        own.master.enter();
        if own.master.is_done() {
            wake.push(std::mem::replace(&mut own.waiter, FiberId::NONE));
            self.free_if_done(event);
        }
    }

    /// A note came; what it is answered with. `None`: it makes no sense.
    pub(crate) fn note(
        &mut self,
        event: EventId,
        from: LocaleId,
        note: Note,
        send: &mut Vec<Send>,
        wake: &mut Vec<FiberId>,
    ) -> Option<()> {
        let me = self.me;
        match note {
            Note::Cancel | Note::Enter if event.master != me => return None,
            Note::Cancel => {
                self.own.get_mut(event.slot as usize)?.master.cancel();
                send.push((from, event, Note::Acknowledge));
            }
            Note::Enter => self.enter(event, wake),
            Note::Acknowledge => {
                let here = self.here(event)?;
                here.count.acknowledged();
                if here.count.has_report() && !here.is_dirty {
                    here.is_dirty = true;
                    self.dirty.push(event);
                }
            }
            Note::Complete(pieces) => {
                if self.here(event)?.count.work() < u64::from(pieces) {
                    return None;
                }
                self.complete(event, me, pieces);
            }
        }
        Some(())
    }

    /// Whether all is done; else the fiber is woken when it is.
    pub(crate) fn wait(&mut self, event: EventId, fiber: FiberId) -> bool {
        let own = &mut self.own[event.slot as usize];
        if own.master.is_done() {
            return true;
        }
        own.waiter = fiber;
        false
    }
}

/// What a fiber gets for a message that it sent.
#[derive(Debug)]
pub(crate) enum Value {
    /// Not there yet.
    Empty,
    /// A word.
    Word(u64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nobody waits for it any more.
    Abandoned,
}

struct Slot {
    value: Value,
    fiber: FiberId,
}

/// The replies that a locale's fibers wait for.
#[derive(Default)]
pub(crate) struct Replies {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Replies {
    pub(crate) fn open(&mut self, fiber: FiberId) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Slot { value: Value::Empty, fiber };
            return slot;
        }
        self.slots.push(Slot { value: Value::Empty, fiber });
        (self.slots.len() - 1) as u32
    }

    /// A reply came; the fiber that waits for it. `None`: nobody asked.
    pub(crate) fn fill(&mut self, slot: u32, value: Value) -> Option<FiberId> {
        let place = self.slots.get_mut(slot as usize)?;
        match place.value {
            Value::Empty => {
                place.value = value;
                Some(place.fiber)
            }
            Value::Abandoned => {
                self.free.push(slot);
                place.value = Value::Word(0);
                Some(FiberId::NONE)
            }
            Value::Word(_) | Value::Bytes(_) => None,
        }
    }

    /// The reply, if it is there; else the fiber is woken when it comes.
    pub(crate) fn take(&mut self, slot: u32, fiber: FiberId) -> Option<Value> {
        let place = &mut self.slots[slot as usize];
        if matches!(place.value, Value::Empty) {
            place.fiber = fiber;
            return None;
        }
        self.free.push(slot);
        Some(std::mem::replace(&mut place.value, Value::Word(0)))
    }

    pub(crate) fn abandon(&mut self, slot: u32) {
        self.slots[slot as usize].value = Value::Abandoned;
    }
}
