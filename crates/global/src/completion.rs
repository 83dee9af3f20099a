//! When is everything done? The protocol of a completion event, as a state machine without threads or messages.
//!
//! One event has a [`Count`] at every locale and a [`Master`] at the locale that made it and waits. `enroll` says that work
//! was spawned here, `complete` that a piece of work that was enrolled *at this locale* is over. Work that runs elsewhere is
//! *owed* there, and reported to where it was enrolled, many pieces in one note.
//!
//! ```text
//!  Count:   out --enroll: Cancel to the master--> asked --Acknowledge--> in --work is 0, report: Enter to the master--> out
//!  Master:  working + 1 on Cancel, which it acknowledges;  working - 1 on Enter;  working = 0: all is done
//! ```
//! Invariant: as long as a piece of work is outstanding, the master counts a locale. A piece is enrolled either where its
//! spawner was enrolled, whose locale is counted as long as the spawner is not reported; or at a locale that is out. That
//! one has asked, and reports nothing, the spawner's completion included, before the master has acknowledged. So the
//! spawner's locale stays counted until this one is. No order of messages is assumed, so several workers may unpack them.
//! `tests/completion_model.rs` goes through all interleavings of small programs over this very code, and finds the fault
//! when the wait for the acknowledgement is taken out.
//!
//! The thesis (Myers 2016, 2.4.2) says of its event that few messages suffice; the released code blocks its worker in
//! `enroll` until the master knows. Here nobody waits: only reports do.

/// What locales tell each other about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Note {
    /// To the master: the sender has work.
    Cancel,
    /// From the master: it counts the receiver.
    Acknowledge,
    /// To the master: the sender has no work.
    Enter,
    /// To where work was enrolled: so many pieces of it are over.
    Complete(u32),
}

/// Who a note goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum To {
    /// The event's master.
    Master,
    /// This locale.
    Locale(u16),
}

/// An event at one locale.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Count {
    work: u64,
    told: bool,
    asked: bool,
    owed: Vec<(u16, u32)>,
}

impl Count {
    /// So many pieces of work were spawned here. The note, if any, has to be sent to the master.
    #[inline]
    #[must_use]
    pub fn enroll(&mut self, pieces: u64) -> Option<Note> {
        self.work += pieces;
        if self.told || pieces == 0 {
            return None;
        }
        (self.told, self.asked) = (true, true);
        Some(Note::Cancel)
    }

    /// So many pieces that were enrolled here are over. Whether there is something to report now.
    ///
    /// # Panics
    /// When more is completed than was enrolled: a fault of the runtime, as users cannot complete by hand.
    #[inline]
    pub fn complete(&mut self, pieces: u64) -> bool {
        self.work = self.work.checked_sub(pieces).expect("what is completed was enrolled");
        self.work == 0
    }

    /// So many pieces that were enrolled at `origin` are over.
    pub fn owe(&mut self, origin: u16, pieces: u32) {
        match self.owed.iter_mut().find(|(to, _)| *to == origin) {
            Some((_, owed)) => *owed += pieces,
            None => self.owed.push((origin, pieces)),
        }
    }

    /// The master counts this locale.
    pub fn acknowledged(&mut self) {
        self.asked = false;
    }

    /// Gives `send` what may be said now: what is owed, and that there is no work here.
    pub fn report(&mut self, mut send: impl FnMut(To, Note)) {
        if self.asked {
            return;
        }
        self.owed.drain(..).for_each(|(origin, pieces)| send(To::Locale(origin), Note::Complete(pieces)));
        if self.told && self.work == 0 {
            self.told = false;
            send(To::Master, Note::Enter);
        }
    }

    /// Whether a report would say something.
    pub fn has_report(&self) -> bool {
        !self.asked && (!self.owed.is_empty() || self.told && self.work == 0)
    }

    /// Work that was enrolled here and is not over.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Whether nothing is enrolled, owed or being asked here: the count can be used for another event.
    pub fn is_idle(&self) -> bool {
        self.work == 0 && !self.told && self.owed.is_empty()
    }
}

/// An event at the locale that waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Master {
    working: i64,
}

impl Master {
    /// A locale has work; it is to be sent an Acknowledge.
    pub fn cancel(&mut self) {
        self.working += 1;
    }

    /// A locale has none any more.
    pub fn enter(&mut self) {
        self.working -= 1;
    }

    /// Whether all that was ever enrolled is over.
    pub fn is_done(&self) -> bool {
        self.working == 0
    }
}
