//! The threads that statements run on, and who may use them.
//!
//! ```text
//!  submit -> queue (bounded) -> a thread runs the job -> the thread takes the next one, or ends after some idle time
//!                                  |        ^
//!                     client_wait  v        | first in line
//!                               waits for its client: the place goes to another job meanwhile
//! ```
//! At most `active_max` jobs *work* at a time. A job that waits for its client (a reader that does not read, a COPY
//! whose rows do not come) gives its place away and takes it again before queued jobs do, so that clients that stand
//! still keep nobody else waiting. Threads are made when they are needed: as many as work or wait, none for idle
//! connections.
//!
//! *Without a lock*: a short statement gives its place away and takes it back for each of its client's messages, on many
//! threads at once, so both are one atomic operation while nobody waits. `active` and `waiting` are written before the
//! other one is read, in one order that all threads agree on: who finds no place has counted itself as waiting before, and
//! who frees a place looks at that count afterwards, so that one of them sees the other. Who waits holds the lock from its
//! last look at `active` to its sleep.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a thread runs. It catches its own panics where they matter; one that escapes ends the job alone.
pub type Job = Box<dyn FnOnce() + Send>;

/// How long a thread without a job stays.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Address space of a thread's stack; pages that are not touched cost nothing.
const STACK_BYTES: usize = 16 << 20;

/// A bounded pool of threads. Clones share it.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Threads without a job wait here.
    queued: Condvar,
    /// Jobs that want their place back wait here.
    freed: Condvar,
    /// Jobs that work.
    active: AtomicUsize,
    active_max: AtomicUsize,
    /// Jobs that are queued or want their place back; changed under the lock.
    waiting: AtomicUsize,
}

struct State {
    jobs: VecDeque<Job>,
    queued_max: usize,
    /// Jobs that want their place back, their client having come.
    returning: usize,
    /// Threads without a job.
    idle: usize,
    /// All threads.
    threads: usize,
    ended: bool,
}

/// There is no room in the queue.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueFull;

impl Executor {
    /// A pool on which `active_max` jobs work at a time while at most `queued_max` wait.
    pub fn new(active_max: usize, queued_max: usize) -> Executor {
        let state =
            State { jobs: VecDeque::new(), queued_max, returning: 0, idle: 0, threads: 0, ended: false };
        Executor {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                queued: Condvar::new(),
                freed: Condvar::new(),
                active: AtomicUsize::new(0),
                active_max: AtomicUsize::new(active_max.max(1)),
                waiting: AtomicUsize::new(0),
            }),
        }
    }

    /// Changes the limits for jobs to come.
    pub fn set_limits(&self, active_max: usize, queued_max: usize) {
        let mut state = self.shared.lock();
        self.shared.active_max.store(active_max.max(1), SeqCst);
        state.queued_max = queued_max;
        self.shared.staff(&mut state);
        self.shared.queued.notify_all();
        self.shared.freed.notify_all();
    }

    /// Has a job run. `urgent` jobs are taken when the queue is full, too: those of open transactions, on whose end
    /// others may depend, and those that let go of something.
    pub fn submit(&self, urgent: bool, job: Job) -> Result<(), QueueFull> {
        let mut state = self.shared.lock();
        if self.shared.is_full(&state) && !urgent {
            return Err(QueueFull);
        }
        state.jobs.push_back(job);
        self.shared.waiting.fetch_add(1, SeqCst);
        self.shared.staff(&mut state);
        Ok(())
    }

    /// Whether the next job would be refused unless it is urgent.
    pub fn is_full(&self) -> bool {
        let state = self.shared.lock();
        self.shared.is_full(&state)
    }

    /// Whether a job waits for a place.
    pub fn is_crowded(&self) -> bool {
        self.shared.waiting.load(SeqCst) > 0
    }

    /// Whether a job would have a place now.
    pub fn has_place(&self) -> bool {
        match self.is_crowded() {
            false => self.shared.active.load(SeqCst) < self.shared.active_max.load(SeqCst),
            true => {
                let state = self.shared.lock();
                self.shared.free_places(&state) > 0
            }
        }
    }

    /// Jobs that work, jobs that are queued, and threads.
    pub fn load(&self) -> (usize, usize, usize) {
        let state = self.shared.lock();
        (self.shared.active.load(SeqCst), state.jobs.len(), state.threads)
    }

    /// Called by a job: `wait` waits for the job's client, and others may work meanwhile.
    pub fn client_wait<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.active.fetch_sub(1, SeqCst);
        if self.is_crowded() {
            let mut state = self.shared.lock();
            self.shared.place_is_free(&mut state);
        }
        /// Takes the place again, however the wait ends: the job's end gives it away once more.
        struct Again<'a>(&'a Shared);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                if !self.0.take_place(0) {
                    self.0.wait_for_place();
                }
            }
        }
        let _again = Again(&self.shared);
        wait()
    }

    /// Lets idle threads go; jobs that are queued still run.
    pub fn end(&self) {
        self.shared.lock().ended = true;
        self.shared.queued.notify_all();
        self.shared.freed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Places for queued jobs: those that want theirs back come first.
    fn free_places(&self, state: &State) -> usize {
        self.active_max.load(SeqCst).saturating_sub(self.active.load(SeqCst) + state.returning)
    }

    fn is_full(&self, state: &State) -> bool {
        state.jobs.len() >= state.queued_max && self.free_places(state) == 0
    }

    /// Takes a place, if one is free beside those that are `kept` for others.
    fn take_place(&self, kept: usize) -> bool {
        let most = self.active_max.load(SeqCst);
        let one_more = |active: usize| (active + kept < most).then_some(active + 1);
        self.active.fetch_update(SeqCst, SeqCst, one_more).is_ok()
    }

    /// Waits until a job has its place back.
    fn wait_for_place(&self) {
        let mut state = self.lock();
        state.returning += 1;
        self.waiting.fetch_add(1, SeqCst);
        while !self.take_place(0) {
            if state.ended {
                self.active.fetch_add(1, SeqCst);
                break;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.returning -= 1;
        self.waiting.fetch_sub(1, SeqCst);
    }

    /// Gives a place away: to a job that wants its own back, or to a queued one.
    fn place_is_free(self: &Arc<Self>, state: &mut State) {
        if state.returning > 0 {
            self.freed.notify_one();
        }
        self.staff(state);
    }

    /// Sees to it that queued jobs for which there are places have a thread.
    fn staff(self: &Arc<Self>, state: &mut State) {
        if state.jobs.is_empty() {
            return;
        }
        if state.idle > 0 {
            self.queued.notify_one();
        }
        let wanted = state.jobs.len().min(self.free_places(state));
        for _ in state.idle..wanted {
            let shared = self.clone();
            let thread = std::thread::Builder::new().name("statement".to_owned()).stack_size(STACK_BYTES);
            match thread.spawn(move || shared.work()) {
                // It counts as idle until it has taken its first job.
                Ok(_) => (state.threads, state.idle) = (state.threads + 1, state.idle + 1),
                // The threads there are go on; the job waits for them.
                Err(error) => {
                    tracing::warn!("no further thread for statements: {error}");
                    return;
                }
            }
        }
    }

    /// A queued job for which there is a place, which it has taken.
    fn next_job(&self, state: &mut State) -> Option<Job> {
        if state.jobs.is_empty() || !self.take_place(state.returning) {
            return None;
        }
        self.waiting.fetch_sub(1, SeqCst);
        state.idle -= 1;
        state.jobs.pop_front()
    }

    /// A thread's life.
    fn work(self: Arc<Self>) {
        let mut state = self.lock();
        loop {
            if let Some(job) = self.next_job(&mut state) {
                drop(state);
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
                    tracing::error!("a job of the server panicked");
                }
                state = self.lock();
                self.active.fetch_sub(1, SeqCst);
                state.idle += 1;
                if state.returning > 0 {
                    self.freed.notify_one();
                }
                continue;
            }
            let ended = state.ended && state.jobs.is_empty();
            let (next, waited) =
                self.queued.wait_timeout(state, IDLE_MAX).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if ended || (waited.timed_out() && state.jobs.is_empty()) {
                (state.idle, state.threads) = (state.idle - 1, state.threads - 1);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    fn until(what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn no_more_jobs_work_than_may() {
        let executor = Executor::new(3, 1000);
        let (working, most, done) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..200 {
            let (working, most, done) = (working.clone(), most.clone(), done.clone());
            let job = move || {
                most.fetch_max(working.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                working.fetch_sub(1, SeqCst);
                done.fetch_add(1, SeqCst);
            };
            executor.submit(false, Box::new(job)).unwrap();
        }
        until("all jobs run", || done.load(SeqCst) == 200);
        assert!(most.load(SeqCst) <= 3 && executor.load().2 <= 3, "{most:?} {:?}", executor.load());
    }

    #[test]
    fn a_full_queue_refuses_but_what_is_urgent() {
        let executor = Executor::new(1, 1);
        let (release, held) = channel::<()>();
        executor.submit(false, Box::new(move || held.recv().unwrap())).unwrap();
        until("the first job works", || executor.load().0 == 1);
        executor.submit(false, Box::new(|| ())).unwrap();
        assert_eq!(executor.submit(false, Box::new(|| ())), Err(QueueFull));
        executor.submit(true, Box::new(|| ())).unwrap();
        release.send(()).unwrap();
        until("the queue empties", || executor.load().1 == 0);
    }

    #[test]
    fn a_job_that_waits_for_its_client_keeps_nobody_waiting() {
        let executor = Executor::new(1, 10);
        let (release, held) = channel::<()>();
        let waiter = executor.clone();
        let (done, is_done) = channel();
        let finished = done.clone();
        let waits = move || {
            waiter.client_wait(|| held.recv().unwrap());
            finished.send("waited").unwrap();
        };
        executor.submit(false, Box::new(waits)).unwrap();
        executor.submit(false, Box::new(move || done.send("worked").unwrap())).unwrap();
        assert_eq!(is_done.recv_timeout(Duration::from_secs(10)), Ok("worked"));
        release.send(()).unwrap();
        assert_eq!(is_done.recv_timeout(Duration::from_secs(10)), Ok("waited"));
    }

    #[test]
    fn places_that_are_given_and_taken_by_many_threads_are_never_too_many_and_never_lost() {
        let executor = Executor::new(3, 1000);
        let (working, most, done) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..12 {
            let (own, working, most, done) = (executor.clone(), working.clone(), most.clone(), done.clone());
            let job = move || {
                for turn in 0..2_000 {
                    most.fetch_max(working.fetch_add(1, SeqCst) + 1, SeqCst);
                    if turn % 64 == 0 {
                        std::thread::yield_now();
                    }
                    working.fetch_sub(1, SeqCst);
                    own.client_wait(|| ());
                }
                done.fetch_add(1, SeqCst);
            };
            executor.submit(false, Box::new(job)).unwrap();
        }
        until("all jobs end", || done.load(SeqCst) == 12);
        assert!(most.load(SeqCst) <= 3, "{most:?}");
        until("no job counts", || executor.load().0 == 0 && !executor.is_crowded());
        assert!(executor.has_place());
    }

    #[test]
    fn a_panic_ends_the_job_alone() {
        let executor = Executor::new(1, 10);
        let (done, is_done) = channel();
        executor.submit(false, Box::new(|| panic!("planted"))).unwrap();
        let waiter = executor.clone();
        executor.submit(false, Box::new(move || waiter.client_wait(|| panic!("planted")))).unwrap();
        executor.submit(false, Box::new(move || done.send(()).unwrap())).unwrap();
        assert!(is_done.recv_timeout(Duration::from_secs(10)).is_ok());
        until("no job counts as working", || executor.load().0 == 0);
    }
}
