//! Rows that stay on their node: from the sink to the source of the same engine, in memory, never serialised.
//!
//! A queue of batches, each with its place on the node, and of bounded bytes: the sink asks before a unit and after a batch
//! whether more may come, and is told when half of it is gone. A source that wants no more closes it; what comes then is
//! dropped, and nobody waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vector::Batch;

/// A batch and its place among those of this node.
pub(super) type Placed = (u64, Batch);

#[derive(Default)]
struct Held {
    batches: VecDeque<Placed>,
    bytes: usize,
    rows: u64,
    /// The sink has ended.
    complete: bool,
    /// The source wants no more.
    closed: bool,
    refused: bool,
}

/// The queue between both ends, of bounded bytes.
pub(super) struct OwnRows {
    held: Mutex<Held>,
    room: Condvar,
    bytes_max: usize,
}

/// What a consumer finds.
pub(super) enum Taken {
    /// Rows, and whether who was refused may put in more.
    Batch(Placed, bool),
    /// None now.
    Nothing,
    /// None any more.
    End,
}

/// Bytes of a batch; rows without columns, which are counted, fill the queue too.
fn weight(batch: &Batch) -> usize {
    batch.bytes().max(batch.rows)
}

impl OwnRows {
    pub(super) fn new(bytes_max: usize) -> OwnRows {
        OwnRows { held: Mutex::default(), room: Condvar::new(), bytes_max: bytes_max.max(1) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts rows in, however many there are; false: they are dropped, since nobody wants them.
    pub(super) fn put(&self, place: u64, batch: Batch) -> bool {
        let mut held = self.held();
        held.rows += batch.rows as u64;
        if held.closed {
            return false;
        }
        held.bytes += weight(&batch);
        held.batches.push_back((place, batch));
        true
    }

    /// Whether further rows may come; if not, `take` says when.
    pub(super) fn admits(&self) -> bool {
        let mut held = self.held();
        let admitted = held.bytes < self.bytes_max || held.closed;
        held.refused |= !admitted;
        admitted
    }

    pub(super) fn take(&self) -> Taken {
        let mut held = self.held();
        let Some((place, batch)) = held.batches.pop_front() else {
            return if held.complete || held.closed { Taken::End } else { Taken::Nothing };
        };
        held.bytes -= weight(&batch);
        let room = held.refused && held.bytes <= self.bytes_max / 2;
        held.refused &= !room;
        drop(held);
        if room {
            self.room.notify_all();
        }
        Taken::Batch((place, batch), room)
    }

    /// No more rows come.
    pub(super) fn complete(&self) {
        self.held().complete = true;
    }

    /// Nobody wants rows any more.
    pub(super) fn close(&self) {
        let mut held = self.held();
        held.closed = true;
        held.bytes = 0;
        let batches = std::mem::take(&mut held.batches);
        drop(held);
        drop(batches);
        self.room.notify_all();
    }

    /// Sleeps for a moment, less if there is room before.
    pub(super) fn wait(&self, at_most: Duration) {
        let held = self.held();
        if held.bytes >= self.bytes_max && !held.closed {
            drop(self.room.wait_timeout(held, at_most));
        }
    }

    /// Rows that were put in.
    pub(super) fn rows(&self) -> u64 {
        self.held().rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: usize) -> Batch {
        Batch::new(vec![], rows)
    }

    #[test]
    fn rows_leave_as_they_came_and_the_bound_holds_until_half_is_gone() {
        let own = OwnRows::new(100);
        assert!(
            own.admits() && own.put(1, rows(60)) && own.admits() && own.put(2, rows(60)) && !own.admits()
        );
        let Taken::Batch((1, first), false) = own.take() else { panic!("the first, and no room yet") };
        assert_eq!(first.rows, 60);
        assert!(matches!(own.take(), Taken::Batch((2, _), true)) && own.admits());
        assert!(matches!(own.take(), Taken::Nothing));
        own.complete();
        assert!(matches!(own.take(), Taken::End));
        assert_eq!(own.rows(), 120);
    }

    #[test]
    fn nobody_waits_for_a_consumer_that_has_enough() {
        let own = OwnRows::new(10);
        own.put(1, rows(50));
        assert!(!own.admits());
        own.close();
        assert!(own.admits() && !own.put(2, rows(50)));
        assert!(matches!(own.take(), Taken::End));
    }
}
