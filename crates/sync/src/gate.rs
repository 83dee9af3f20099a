//! The gate: where threads wait until something may have happened.
//!
//! An event count in the sense of Reed and Kanodia (1979). The waiter looks at the count, then at
//! the world, then waits until the count has moved; the notifier changes the world, then moves the
//! count:
//!
//! ```text
//!  waiter                                   notifier
//!  1  key = gate.key()                      a  publish the work
//!  2  look for work; found: done            b  count += 1
//!  3  gate.wait(key):                       c  if waiters > 0:
//!     spin while count == key                    lock; signal; unlock
//!     waiters += 1
//!     lock; while count == key { sleep }
//!     waiters -= 1
//! ```
//!
//! No wake-up is lost. If the waiter's look (2) misses the work (a), then its key (1) was read
//! before (b), and the count has moved or will move. If it moves before the test under the lock,
//! the waiter does not sleep. If after: all four steps on `count` and `waiters` are sequentially
//! consistent, so that (c) sees the waiter, and takes the lock after it has begun to sleep.
//!
//! `notify(n)` wakes at most `n` sleepers. A sleeper that a signal reaches in place of an older one
//! had looked after the event, so it found either the work or that it was taken already: nothing
//! is lost then either.
//!
//! Spinning first matters because work orders of one query follow each other within microseconds,
//! while a condition-variable round trip costs 65 µs on the machine we measured, and waking a
//! thread on a busy machine several times that.

#[cfg(not(loom))]
use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, AtomicUsize},
};

#[cfg(loom)]
use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, AtomicUsize},
};

use std::sync::PoisonError;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

/// How long a waiter spins before it sleeps: as long as being woken takes, so that no more than twice the time of the
/// better choice is lost (on a virtual machine 30 microseconds in the median, 60 in one of ten cases). Gaps between two
/// segments are mostly shorter.
#[cfg(not(loom))]
const SPIN: Duration = Duration::from_micros(50);

/// The model knows sequential consistency of fences only, not of single steps; with fences in
/// their place it checks the same protocol.
#[cfg(loom)]
fn total_order() {
    loom::sync::atomic::fence(SeqCst);
}

#[cfg(not(loom))]
#[inline(always)]
fn total_order() {}

/// What the count was when the waiter began to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateKey(u64);

/// An event count with a place to sleep.
#[derive(Debug)]
pub struct Gate {
    count: AtomicU64,
    waiters: AtomicUsize,
    lock: Mutex<()>,
    signal: Condvar,
}

impl Default for Gate {
    fn default() -> Self {
        Gate::new()
    }
}

impl Gate {
    /// A gate where nothing has happened.
    pub fn new() -> Self {
        Gate {
            count: AtomicU64::new(0),
            waiters: AtomicUsize::new(0),
            lock: Mutex::new(()),
            signal: Condvar::new(),
        }
    }

    /// The count at this moment. Take it before looking for work, and pass it to `wait` if there is none.
    #[inline]
    pub fn key(&self) -> GateKey {
        GateKey(self.count.load(SeqCst))
    }

    /// Whether something happened after `key` was taken.
    #[inline]
    pub fn moved(&self, key: GateKey) -> bool {
        self.count.load(SeqCst) != key.0
    }

    /// How many threads sleep here, or are about to.
    #[inline]
    pub fn waiters(&self) -> usize {
        self.waiters.load(SeqCst)
    }

    /// Something happened: wakes up to `wake` sleepers (0: only threads that do not sleep yet
    /// notice). Returns whether a sleeper was signalled.
    pub fn notify(&self, wake: usize) -> bool {
        self.count.fetch_add(1, SeqCst);
        total_order();
        if wake == 0 || self.waiters.load(SeqCst) == 0 {
            return false;
        }
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let sleeping = self.waiters.load(SeqCst);
        drop(guard);
        if wake >= sleeping {
            self.signal.notify_all();
        } else {
            (0..wake).for_each(|_| self.signal.notify_one());
        }
        sleeping > 0
    }

    /// Waits until something happened after `key` was taken, or the timeout is over. Spins a few
    /// microseconds, then sleeps. Returns whether something happened.
    pub fn wait(&self, key: GateKey, timeout: Option<Duration>) -> bool {
        if self.spin(key) {
            return true;
        }
        self.sleep(key, timeout)
    }

    /// The spinning half of [`Gate::wait`].
    #[cfg(not(loom))]
    pub fn spin(&self, key: GateKey) -> bool {
        let begun = Instant::now();
        loop {
            for _ in 0..32 {
                if self.moved(key) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.elapsed() >= SPIN {
                return false;
            }
        }
    }

    #[cfg(loom)]
    fn spin(&self, key: GateKey) -> bool {
        self.moved(key)
    }

    /// The sleeping half of [`Gate::wait`].
    #[cfg(not(loom))]
    pub fn sleep(&self, key: GateKey, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.waiters.fetch_add(1, SeqCst);
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.moved(key) {
            guard = match deadline {
                None => self.signal.wait(guard).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.signal.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        self.waiters.fetch_sub(1, SeqCst);
        drop(guard);
        self.moved(key)
    }

    /// The model has no clock: without a timeout only.
    #[cfg(loom)]
    fn sleep(&self, key: GateKey, _timeout: Option<Duration>) -> bool {
        self.waiters.fetch_add(1, SeqCst);
        total_order();
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.moved(key) {
            guard = self.signal.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiters.fetch_sub(1, SeqCst);
        drop(guard);
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn an_old_key_does_not_wait() {
        let gate = Gate::new();
        let key = gate.key();
        assert!(!gate.notify(1));
        assert!(gate.moved(key));
        assert!(gate.wait(key, None));
        assert!(!gate.wait(gate.key(), Some(Duration::from_millis(1))));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let gate = Arc::new(Gate::new());
        let (key, theirs) = (gate.key(), Arc::clone(&gate));
        let sleeper = std::thread::spawn(move || theirs.sleep(key, None));
        while gate.waiters() == 0 {
            std::thread::yield_now();
        }
        gate.notify(1);
        assert!(sleeper.join().unwrap());
        assert_eq!(gate.waiters(), 0);
    }

    /// Two threads hand a token back and forth; a lost wake-up would hang.
    #[test]
    fn ping_pong_loses_nothing() {
        let gate = Arc::new(Gate::new());
        let ball = Arc::new(AtomicBool::new(false));
        let play = |mine: bool, gate: Arc<Gate>, ball: Arc<AtomicBool>| {
            for _ in 0..3_000 {
                loop {
                    let key = gate.key();
                    if ball.load(SeqCst) == mine {
                        break;
                    }
                    gate.sleep(key, None);
                }
                ball.store(!mine, SeqCst);
                gate.notify(1);
            }
        };
        let (their_gate, their_ball) = (Arc::clone(&gate), Arc::clone(&ball));
        let other = std::thread::spawn(move || play(true, their_gate, their_ball));
        play(false, gate, ball);
        other.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;

    /// Every interleaving of one publication with one wait ends.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let gate = Arc::new(Gate::new());
            let work = Arc::new(AtomicBool::new(false));
            let (their_gate, their_work) = (Arc::clone(&gate), Arc::clone(&work));
            let publisher = loom::thread::spawn(move || {
                their_work.store(true, SeqCst);
                their_gate.notify(1);
            });
            loop {
                let key = gate.key();
                if work.load(SeqCst) {
                    break;
                }
                gate.wait(key, None);
            }
            publisher.join().unwrap();
        });
    }
}
