//! A client's queue: its messages in the order in which they are received.
//!
//! ```text
//!  lanes, by priority descending
//!  +-- 200 --> timed  { (deadline, serial) -> message }    a tree: those with a deadline, earliest first
//!  |           fifo   [ 17 | 18 | -- | 20 ]                a ring by serial: those without
//!  +-- 128 --> ...
//! ```
//! Nearly all messages have no deadline and come and go in the order of their serials, so that a push is an append and a
//! delete takes the front. A message deleted out of order leaves a gap in the ring (its serial stays, for searching),
//! and gaps go when they reach the front, or when they are more than half of the ring.

use std::collections::{BTreeMap, VecDeque};

use crate::message::{Priority, Receipt, Received, Stored, Timestamp};

/// With fewer gaps than this, closing them up is not worth it.
const GAPS_MIN: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Descending; few, so that searching is looking through.
    lanes: Vec<Lane>,
    length: usize,
    /// Messages with a deadline.
    timed: usize,
}

#[derive(Debug)]
struct Lane {
    priority: Priority,
    timed: BTreeMap<(Timestamp, u64), Stored>,
    fifo: VecDeque<(u64, Option<Stored>)>,
    gaps: usize,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether time matters to what is in it.
    pub(crate) fn has_deadlines(&self) -> bool {
        self.timed > 0
    }

    /// Whether there is a message of at least this priority.
    pub(crate) fn has(&self, minimum: Priority) -> bool {
        let lanes = self.lanes.iter().take_while(|lane| lane.priority >= minimum);
        lanes.into_iter().any(|lane| !lane.timed.is_empty() || !lane.fifo.is_empty())
    }

    fn lane(&mut self, priority: Priority) -> &mut Lane {
        let at = self.lanes.partition_point(|lane| lane.priority > priority);
        if self.lanes.get(at).is_none_or(|lane| lane.priority != priority) {
            let lane = Lane { priority, timed: BTreeMap::new(), fifo: VecDeque::new(), gaps: 0 };
            self.lanes.insert(at, lane);
        }
        &mut self.lanes[at]
    }

    fn existing(&mut self, priority: Priority) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.priority == priority)
    }

    /// A message whose serial is in the queue already is not put in again.
    pub(crate) fn push(&mut self, receipt: Receipt, message: Stored) {
        let lane = self.lane(receipt.priority);
        let added = match receipt.deadline {
            Timestamp::NEVER => lane.push_back(receipt.serial, message),
            deadline => lane.timed.insert((deadline, receipt.serial), message).is_none(),
        };
        self.length += usize::from(added);
        self.timed += usize::from(added && receipt.deadline != Timestamp::NEVER);
    }

    /// Takes one out, if it is there.
    pub(crate) fn remove(&mut self, receipt: &Receipt) -> Option<Stored> {
        let lane = self.existing(receipt.priority)?;
        let taken = match receipt.deadline {
            Timestamp::NEVER => lane.remove(receipt.serial),
            deadline => lane.timed.remove(&(deadline, receipt.serial)),
        }?;
        self.length -= 1;
        self.timed -= usize::from(receipt.deadline != Timestamp::NEVER);
        Some(taken)
    }

    /// Drops what has expired by `now`, and says what that was.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Vec<Receipt> {
        let mut expired = Vec::new();
        for lane in self.lanes.iter_mut().filter(|lane| !lane.timed.is_empty()) {
            while let Some(first) = lane.timed.first_entry().filter(|entry| entry.key().0 <= now) {
                let (deadline, serial) = *first.key();
                first.remove();
                expired.push(Receipt { serial, deadline, priority: lane.priority });
            }
        }
        self.length -= expired.len();
        self.timed -= expired.len();
        expired
    }

    /// Appends copies of the first `limit` messages of at least this priority. Expired ones have been dropped before.
    pub(crate) fn read(&self, minimum: Priority, limit: usize, into: &mut Vec<Received>) -> usize {
        let mut left = limit;
        into.reserve(limit.min(self.length));
        for lane in self.lanes.iter().take_while(|lane| lane.priority >= minimum) {
            if left == 0 {
                break;
            }
            let priority = lane.priority;
            let timed = lane.timed.iter().map(|((deadline, serial), m)| (*deadline, *serial, m));
            let fifo =
                lane.fifo.iter().filter_map(|(serial, m)| Some((Timestamp::NEVER, *serial, m.as_ref()?)));
            for (deadline, serial, message) in timed.chain(fifo).take(left) {
                into.push(Received::new(Receipt { serial, deadline, priority }, message.clone()));
                left -= 1;
            }
        }
        limit - left
    }

    /// Like `read`, but takes them out.
    pub(crate) fn take(&mut self, minimum: Priority, limit: usize, into: &mut Vec<Received>) -> usize {
        let mut left = limit;
        into.reserve(limit.min(self.length));
        for lane in self.lanes.iter_mut().take_while(|lane| lane.priority >= minimum) {
            let priority = lane.priority;
            while left > 0 {
                let (receipt, message) = if let Some(((deadline, serial), message)) = lane.timed.pop_first() {
                    self.timed -= 1;
                    (Receipt { serial, deadline, priority }, message)
                } else if let Some((serial, message)) = lane.pop_front() {
                    (Receipt { serial, deadline: Timestamp::NEVER, priority }, message)
                } else {
                    break;
                };
                into.push(Received::new(receipt, message));
                left -= 1;
            }
        }
        self.length -= limit - left;
        limit - left
    }

    pub(crate) fn clear(&mut self) {
        *self = Queue::default();
    }
}

impl Lane {
    fn push_back(&mut self, serial: u64, message: Stored) -> bool {
        if self.fifo.back().is_none_or(|(last, _)| *last < serial) {
            self.fifo.push_back((serial, Some(message)));
            return true;
        }
        // Two sends at once: the one with the later serial was here first.
        match self.fifo.binary_search_by_key(&serial, |(serial, _)| *serial) {
            Err(at) => self.fifo.insert(at, (serial, Some(message))),
            Ok(at) if self.fifo[at].1.is_none() => {
                self.fifo[at].1 = Some(message);
                self.gaps -= 1;
            }
            Ok(_) => return false,
        }
        true
    }

    /// Gaps never stay in front, so that the front is a message.
    fn pop_front(&mut self) -> Option<(u64, Stored)> {
        let (serial, message) = self.fifo.pop_front()?;
        while self.fifo.front().is_some_and(|(_, message)| message.is_none()) {
            self.fifo.pop_front();
            self.gaps -= 1;
        }
        Some((serial, message?))
    }

    fn remove(&mut self, serial: u64) -> Option<Stored> {
        if self.fifo.front()?.0 == serial {
            return self.pop_front().map(|(_, message)| message);
        }
        let at = self.fifo.binary_search_by_key(&serial, |(serial, _)| *serial).ok()?;
        let taken = self.fifo[at].1.take()?;
        self.gaps += 1;
        if self.gaps > GAPS_MIN.max(self.fifo.len() / 2) {
            self.fifo.retain(|(_, message)| message.is_some());
            self.gaps = 0;
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, ClientId, MessageType};

    fn stored(serial: u64) -> Stored {
        Stored {
            sender: ClientId(1),
            sent_at: Timestamp(0),
            kind: MessageType(0),
            body: Body::new(&serial.to_le_bytes()),
            tied: None,
        }
    }

    /// The queue against a sorted list, through pushes in any order, deletes anywhere, takes and expiry.
    #[test]
    fn a_queue_is_a_sorted_list() {
        let mut random = random::Random::new(7);
        for _ in 0..if cfg!(miri) { 3 } else { 200 } {
            let (mut queue, mut list) = (Queue::default(), Vec::<Receipt>::new());
            for _ in 0..400 {
                let receipt = Receipt {
                    serial: random.below(500),
                    priority: Priority([128, 128, 128, 3, 250][random.below(5) as usize]),
                    deadline: match random.below(4) {
                        0 => Timestamp(random.below(100)),
                        _ => Timestamp::NEVER,
                    },
                };
                match random.below(10) {
                    0..5 => {
                        queue.push(receipt, stored(receipt.serial));
                        if !list.contains(&receipt) {
                            list.push(receipt);
                            list.sort();
                        }
                    }
                    5..7 => {
                        let at = random.below(list.len() as u64 + 1) as usize;
                        let receipt = list.get(at).copied().unwrap_or(receipt);
                        let there = list.iter().position(|r| *r == receipt).map(|at| list.remove(at));
                        assert_eq!(queue.remove(&receipt).is_some(), there.is_some());
                    }
                    7 => {
                        let now = Timestamp(random.below(40));
                        assert_eq!(
                            queue.expire(now).len(),
                            list.iter().filter(|r| r.deadline <= now).count()
                        );
                        list.retain(|r| r.deadline > now);
                    }
                    8 => {
                        let (mut taken, limit) = (Vec::new(), random.below(4) as usize);
                        queue.take(Priority(128), limit, &mut taken);
                        let eligible = list.iter().filter(|r| r.priority >= Priority(128)).count();
                        let expected: Vec<Receipt> = list.drain(..limit.min(eligible)).collect();
                        assert_eq!(crate::receipts(&taken), expected);
                    }
                    _ => {}
                }
                let (mut all, minimum) = (Vec::new(), Priority(random.below(3) as u8 * 100));
                queue.read(minimum, 10, &mut all);
                let expected: Vec<Receipt> =
                    list.iter().filter(|r| r.priority >= minimum).take(10).copied().collect();
                assert_eq!(crate::receipts(&all), expected);
                assert!(all.iter().all(|m| m.body.as_slice() == m.receipt.serial.to_le_bytes()));
                assert_eq!(
                    (queue.len(), queue.has_deadlines()),
                    (list.len(), list.iter().any(|r| r.deadline != Timestamp::NEVER))
                );
            }
        }
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let mut queue = Queue::default();
        let receipt = |serial| Receipt { serial, priority: Priority(1), deadline: Timestamp::NEVER };
        queue.push(receipt(0), stored(0));
        for serial in 1..if cfg!(miri) { 1_000 } else { 10_000 } {
            queue.push(receipt(serial), stored(serial));
            assert!(queue.remove(&receipt(serial)).is_some());
        }
        assert_eq!(queue.len(), 1);
        assert!(queue.lanes[0].fifo.len() <= 2 * GAPS_MIN + 2);
    }
}
