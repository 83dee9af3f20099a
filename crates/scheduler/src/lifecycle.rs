//! The life of one segment as atomics: which threads may claim from it, and which one finishes it.
//!
//! ```text
//!   WAITING --open--> OPEN --drain--> DRAINING --leave = true--> FINISHED
//! ```
//!
//! *inside* counts threads between `enter` and `leave`: claims in progress, and orders claimed and
//! not done, continuations included. Protocol:
//!
//! ```text
//!  enter:  inside += 1; phase = OPEN?  yes: may claim, stays inside until the order is done
//!                                      no:  leave
//!  drain:  (inside) phase: OPEN -> DRAINING
//!  leave:  inside -= 1, was it the last? phase = DRAINING? inside still 0?
//!          then the thread that wins DRAINING -> FINISHED finishes the segment
//! ```
//!
//! A claim adds itself first and looks at the phase second; a drain sets the phase first and takes
//! itself off second. So once `inside` is seen at 0 *after* the phase was seen at DRAINING, no
//! order runs and none can begin. The second look is needed: between a thread's taking itself off
//! and its look at the phase, a second thread may claim and a third may drain. And it must be a
//! read-modify-write: a plain load might return the thread's own old zero.
//!
//! No segment is left unfinished: the thread that takes `inside` to 0 for good does so in DRAINING, since the
//! one that drained was inside until after. `tests/interleavings.rs` goes through all of this.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

const WAITING: u8 = 0;
const OPEN: u8 = 1;
const DRAINING: u8 = 2;
const FINISHED: u8 = 3;

/// A segment's phase, and the number of threads and orders inside it.
pub(crate) struct Lifecycle {
    phase: AtomicU8,
    inside: AtomicUsize,
}

impl Lifecycle {
    pub(crate) fn new() -> Self {
        Lifecycle { phase: AtomicU8::new(WAITING), inside: AtomicUsize::new(0) }
    }

    /// Lets claims in. Once, after the segment was started.
    pub(crate) fn open(&self) {
        let before = self.phase.swap(OPEN, SeqCst);
        debug_assert_eq!(before, WAITING, "a segment is opened once");
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase.load(SeqCst) == OPEN
    }

    /// Whether nothing more is claimed, orders that run aside.
    pub(crate) fn is_past_claims(&self) -> bool {
        self.phase.load(SeqCst) > OPEN
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.phase.load(SeqCst) == FINISHED
    }

    /// Before a claim. Whatever the answer, `leave` follows, at once or when the order is done.
    pub(crate) fn enter(&self) -> bool {
        self.inside.fetch_add(1, SeqCst);
        self.is_open()
    }

    /// A claim found the segment exhausted. From inside.
    pub(crate) fn drain(&self) {
        debug_assert_ne!(self.inside.load(SeqCst), 0, "drained from outside");
        // It fails when another claim came first, which is as good.
        let _ = self.phase.compare_exchange(OPEN, DRAINING, SeqCst, SeqCst);
    }

    /// Whether the caller must finish the segment; true once.
    pub(crate) fn leave(&self) -> bool {
        let inside = self.inside.fetch_sub(1, SeqCst);
        debug_assert_ne!(inside, 0, "left by more than entered");
        inside == 1
            && self.phase.load(SeqCst) == DRAINING
            && self.inside.fetch_add(0, SeqCst) == 0
            && self.phase.compare_exchange(DRAINING, FINISHED, SeqCst, SeqCst).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_out_of_a_drained_segment_finishes_it() {
        let life = Lifecycle::new();
        assert!(!life.enter() && !life.leave());
        life.open();
        assert!(life.enter() && life.enter());
        life.drain();
        assert!(!life.leave());
        assert!(!life.enter() && life.is_past_claims());
        assert!(!life.leave() && !life.is_finished());
        assert!(life.leave() && life.is_finished());
        assert!(!life.enter() && !life.leave());
    }
}
