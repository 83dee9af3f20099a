//! A locale's worker: what it does next, and when it sleeps. Called by `runtime.rs`, one thread a locale.
//!
//! ```text
//!  every `poll_every` switches: mail, network, ages, reports, cancel
//!  then the first that there is of: a priority task | a ready fiber | a private task | a public one | one stolen
//!  nothing: reports, outboxes and lists leave; mail; if still nothing, sleep until the gate moves or a time is over
//! ```
//! A task begins only while fewer than `fibers_max` fibers are at work; those that wait for children, whose end needs tasks
//! to begin, do not count. A panic of a task ends the program, with its message as the error; no other task runs after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use crate::error::GlobalError;
use crate::fiber::FiberId;
use crate::here::Here;
use crate::network::Reason;
use crate::process::{Process, lock};
use crate::task::{Enrolled, Task};

const STEAL_MAX: usize = 32;
/// How long a locale sleeps at most: what is due by age is looked at after it.
const SLEEP: Duration = Duration::from_micros(500);

/// The waker that foreign futures get: it says that one of them, no matter which, can go on.
struct ForeignWake(Arc<Process>);

impl Wake for ForeignWake {
    fn wake(self: Arc<Self>) {
        self.0.foreign_wakes.fetch_add(1, SeqCst);
        self.0.gate.notify(usize::MAX);
    }
}

pub(crate) struct Worker {
    here: Here,
    waker: Waker,
    foreign_seen: u64,
}

impl Worker {
    pub(crate) fn new(here: Here) -> Self {
        let waker = Waker::from(Arc::new(ForeignWake(Arc::clone(&here.0.process))));
        let foreign_seen = here.foreign_wakes();
        Worker { here, waker, foreign_seen }
    }

    /// Works until the program ends.
    pub(crate) fn run(mut self) {
        let poll_every = self.here.0.process.config.poll_every.max(1);
        while !self.here.0.process.is_stopped() {
            let worked = catch_unwind(AssertUnwindSafe(|| {
                self.look();
                // One look a run of switches: what a switch costs is what half a million of them cost.
                let all = (0..poll_every).all(|_| self.work_once());
                if !all {
                    self.idle();
                }
            }));
            if let Err(panic) = worked {
                self.here.fail(GlobalError::Panicked { message: panic_message(&*panic) });
            }
        }
        self.end();
    }

    fn look(&mut self) {
        let here = &self.here;
        here.poll_mail();
        here.report();
        here.flush_outboxes();
        here.flush_network(Reason::Age);
        here.wake_for_room();
        self.wake_foreign();
        let cancel = &self.here.0.process.config.cancel;
        if cancel.check_clock().is_some() {
            self.here.fail(GlobalError::Cancelled);
        }
    }

    fn wake_foreign(&mut self) -> bool {
        let wakes = self.here.foreign_wakes();
        if wakes == self.foreign_seen {
            return false;
        }
        self.foreign_seen = wakes;
        self.here.0.fibers.borrow_mut().wake_foreign();
        true
    }

    fn work_once(&mut self) -> bool {
        let local = &self.here.0;
        let priority = local.priority.borrow_mut().pop_front();
        if let Some(task) = priority {
            self.begin(task);
            return true;
        }
        let next = local.fibers.borrow_mut().next();
        if let Some((id, future)) = next {
            self.poll(id, future);
            return true;
        }
        let at_work = local.fibers.borrow().live().saturating_sub(local.joining.get());
        if at_work >= local.process.config.fibers_max {
            return false;
        }
        let private = local.private.borrow_mut().pop_front();
        let Some(task) =
            private.or_else(|| local.process.public[local.index].0.pop()).or_else(|| self.steal())
        else {
            return false;
        };
        self.begin(task);
        true
    }

    fn steal(&self) -> Option<Task> {
        let local = &self.here.0;
        let locales = local.process.config.locales;
        if locales == 1 {
            return None;
        }
        let start = local.random.borrow_mut().below(locales);
        let victims = (0..locales).map(|step| (start + step) % locales).filter(|at| *at != local.index);
        for victim in victims {
            let mut stolen = local.process.public[victim].0.steal(STEAL_MAX);
            let Some(first) = stolen.pop_front() else { continue };
            self.here.count(|counts| counts.stolen += 1 + stolen.len() as u64);
            stolen.into_iter().for_each(|task| _ = local.process.public[local.index].0.push(task));
            return Some(first);
        }
        None
    }

    fn begin(&self, task: Task) {
        self.here.count(|counts| counts.tasks += 1);
        match task {
            Task::Plain(body, enrolled) => {
                body(&self.here);
                self.over(enrolled);
            }
            Task::Fiber(start, enrolled) => {
                let future = start(self.here.clone());
                let here = self.here.clone();
                self.here.begin(async move {
                    future.await;
                    if let Some((event, origin)) = enrolled {
                        here.complete(event, origin);
                    }
                });
            }
            Task::Piece(work, range, origin) => work.piece(&self.here, range, origin),
        }
    }

    fn over(&self, enrolled: Enrolled) {
        if let Some((event, origin)) = enrolled {
            self.here.complete(event, origin);
        }
    }

    #[inline]
    fn poll(&self, id: FiberId, mut future: crate::fiber::LocalFuture) {
        let local = &self.here.0;
        local.current.set(id);
        local.parks.set(false);
        self.here.count(|counts| counts.switches += 1);
        let is_over = future.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready();
        local.current.set(FiberId::NONE);
        if is_over {
            drop(future);
            local.fibers.borrow_mut().ended(id);
        } else {
            local.fibers.borrow_mut().waits(id, future, local.parks.get());
        }
    }

    /// Nothing is ready: what waits leaves, and then this locale sleeps.
    fn idle(&mut self) {
        self.look();
        if self.has_ready() {
            return;
        }
        self.here.flush_network(Reason::Idle);
        self.here.wake_for_room();
        let process = Arc::clone(&self.here.0.process);
        process.idlers.fetch_add(1, SeqCst);
        let key = process.gate.key();
        if self.here.poll_mail() || self.has_ready() || self.wake_foreign() || process.is_stopped() {
            process.idlers.fetch_sub(1, SeqCst);
            return;
        }
        self.here.report();
        self.here.flush_outboxes();
        let begun = Instant::now();
        process.gate.wait(key, Some(SLEEP));
        process.idlers.fetch_sub(1, SeqCst);
        let slept = begun.elapsed().as_nanos() as u64;
        self.here.count(|counts| {
            counts.sleeps += 1;
            counts.idle_ns += slept;
        });
    }

    fn has_ready(&self) -> bool {
        let local = &self.here.0;
        let fibers = local.fibers.borrow();
        if fibers.has_ready() || !local.priority.borrow().is_empty() {
            return true;
        }
        let room = fibers.live().saturating_sub(local.joining.get()) < local.process.config.fibers_max;
        room && (!local.private.borrow().is_empty() || local.process.has_public())
    }

    /// The program has ended: what still waits is dropped, and what was counted is added up.
    fn end(self) {
        let local = &self.here.0;
        let fibers = local.fibers.borrow().counts();
        let futures = local.fibers.borrow_mut().drain();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(futures)));
        local.private.take();
        local.priority.take();
        let counts = *local.counts.borrow();
        let mut sum = lock(&local.process.counts);
        sum.switches += counts.switches;
        sum.tasks += counts.tasks;
        sum.stolen += counts.stolen;
        sum.notes += counts.notes;
        sum.letters += counts.letters;
        sum.batches += counts.batches;
        sum.sleeps += counts.sleeps;
        sum.idle_ns += counts.idle_ns;
        sum.fibers_peak = sum.fibers_peak.max(fibers.live_peak as u64);
        sum.tasks_waiting_peak = sum.tasks_waiting_peak.max(counts.tasks_waiting_peak);
        lock(&local.process.fiber_counts).push(fibers);
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
