//! Threads of the pool's own that read what was announced.
//!
//! They start with the first announcement and end with the pool. The queue is short: an announcement that finds it full
//! is dropped, since it is a hint, and the thread that pins the portion reads it then. What a pin waits for goes
//! before what is announced for later.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::holding::{Holding, Reading};

/// Reads under way at once. Disks want several; each is some hundred kilobytes, so few are enough.
const THREADS: usize = 4;
const QUEUE_MAX: usize = 256;

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug)]
struct Announced {
    holding: Weak<Holding>,
    portion: usize,
    why: Reading,
}

#[derive(Debug, Default)]
struct Waiting {
    portions: VecDeque<Announced>,
    threads: usize,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Announced> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            if let Some(portion) = waiting.portions.pop_front() {
                return Some(portion);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The queue and its threads; dropping it ends them.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead(Arc<Queue>);

impl ReadAhead {
    pub(crate) fn announce(&self, holding: Weak<Holding>, portion: usize, why: Reading) {
        let mut waiting = self.0.lock();
        let is_same = |other: &Announced| other.portion == portion && other.holding.ptr_eq(&holding);
        let known = waiting.portions.iter().position(is_same);
        match (known, why) {
            (Some(at), Reading::Helped) => drop(waiting.portions.remove(at)),
            (Some(_), _) => return,
            (None, _) if waiting.portions.len() >= QUEUE_MAX => return,
            (None, _) => {}
        }
        debug_assert!(
            waiting.portions.len() <= QUEUE_MAX && waiting.threads <= THREADS,
            "the queue is bounded"
        );
        debug_assert!(why.is_for_others(), "announced for a thread of the pool: {why:?}");
        let announced = Announced { holding, portion, why };
        match why {
            Reading::Helped => waiting.portions.push_front(announced),
            _ => waiting.portions.push_back(announced),
        }
        if waiting.threads < THREADS && waiting.portions.len() > waiting.threads {
            let queue = self.0.clone();
            let thread = std::thread::Builder::new().name("read ahead".into()).spawn(move || {
                while let Some(Announced { holding, portion, why }) = queue.next() {
                    if let Some(holding) = holding.upgrade() {
                        holding.read_ahead(portion, why);
                    }
                }
            });
            // Without a thread there is no reading ahead, and all else holds.
            waiting.threads += usize::from(thread.is_ok());
        }
        drop(waiting);
        self.0.changed.notify_one();
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}
