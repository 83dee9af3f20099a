//! The stop signal of the statement that the calling thread works for, for loops that are handed no query to ask.
//!
//! ```text
//!  session            within(signal, poll)      the thread that runs a statement: planning, files, commits
//!   |- on_stack       inherited                 a thread with a deeper stack, for which the first one waits
//!   |- `Current`      inherited                 threads that do a part of it
//!  scheduler          within(signal)            a worker inside a work order, on a pool thread or a caller's
//! ```
//! A loop that may take long passes a [`Place`] in each round: [`reason`] says whether to stop, and code that has no way
//! to say so itself unwinds ([`unwind_if_stopped`]), as far as the statement's edge, where panics are caught too. So only
//! such code unwinds as changes nothing that outlives the statement: parsing, planning, comparing.
//!
//! *The host program* may want to be asked on its own thread (Python looks at its signals there): `poll` is called by
//! the thread that the statement began on, at most once in [`TICK`], at places that are passed and while it waits.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, current as this_thread, park_timeout, scope};
use std::time::{Duration, Instant};

use crate::cancel::{CancelToken, StopReason};

/// The time between two polls: half of the 20 ms that one may be late.
pub const TICK: Duration = Duration::from_millis(10);

/// Where a statement may be stopped, for tests that delay it there (see [`CancelToken::delay`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Cutting a script into statements and tokens.
    Scan,
    /// Making a syntax tree.
    Parse,
    /// An expression that is bound.
    Bind,
    /// A query, view, macro or common table expression that is bound.
    BindQuery,
    /// A node that the optimizer rewrites.
    Rewrite,
    /// A pair of subplans, or a candidate, of the join order.
    JoinOrder,
    /// A node that becomes a physical one.
    Lower,
    /// A name of a file that a pattern finds.
    List,
    /// A file that is opened.
    Open,
    /// A piece of a file that is looked at before it is read.
    Sniff,
    /// A round of a recursive query.
    Round,
    /// A batch of rows, in any operator.
    Batch,
    /// Rows of a function that may take long for each.
    Evaluate,
    /// A piece of a file that is written.
    Write,
    /// A part of what is verified or built before a commit: keys, references, indices.
    Verify,
    /// A block that is made from rows.
    Seal,
}

impl Place {
    /// All of them.
    pub const ALL: [Place; 16] = [
        Place::Scan,
        Place::Parse,
        Place::Bind,
        Place::BindQuery,
        Place::Rewrite,
        Place::JoinOrder,
        Place::Lower,
        Place::List,
        Place::Open,
        Place::Sniff,
        Place::Round,
        Place::Batch,
        Place::Evaluate,
        Place::Write,
        Place::Verify,
        Place::Seal,
    ];
}

/// Called on a statement's own thread; it raises the statement's signal itself.
pub type Poll = Arc<dyn Fn() + Send + Sync>;

/// What a thread works under.
#[derive(Clone)]
pub struct Current {
    signal: CancelToken,
    poll: Option<Poll>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    static SPENT: Cell<usize> = const { Cell::new(0) };
    static POLLED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What stopped work unwinds with.
#[derive(Clone, Copy, Debug)]
pub struct Unwound(pub StopReason);

impl Current {
    /// Does `work` under this signal.
    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Current>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self)));
        work()
    }
}

/// Does `work` under a signal. What the thread polled it goes on polling.
pub fn within<T>(signal: &CancelToken, work: impl FnOnce() -> T) -> T {
    let poll = CURRENT.with_borrow(|current| current.as_ref().and_then(|current| current.poll.clone()));
    Current { signal: signal.clone(), poll }.within(work)
}

/// Does a statement's work under its signal, and polls.
pub fn within_polled<T>(signal: &CancelToken, poll: Poll, work: impl FnOnce() -> T) -> T {
    Current { signal: signal.clone(), poll: Some(poll) }.within(work)
}

/// What the calling thread works under, for threads that work for it. They do not poll.
pub fn current() -> Option<Current> {
    CURRENT.with_borrow(|current| {
        current.as_ref().map(|current| Current { signal: current.signal.clone(), poll: None })
    })
}

/// Whether the work shall stop, and why. Reads the clock where there is a deadline or something to poll: some 30 ns.
pub fn reason(place: Place) -> Option<StopReason> {
    let (reason, poll) = CURRENT
        .try_with(|current| {
            let current = current.borrow();
            let Some(current) = &*current else { return (None, None) };
            current.signal.pass(place);
            (current.signal.check_clock(), current.poll.clone().filter(|_| is_due()))
        })
        // The thread is ending.
        .unwrap_or_default();
    match poll {
        // Outside of the borrow: the host program may run statements then.
        Some(poll) if reason.is_none() => {
            poll();
            CURRENT.with_borrow(|current| current.as_ref().and_then(|current| current.signal.reason()))
        }
        _ => reason,
    }
}

fn is_due() -> bool {
    let now = Instant::now();
    let due = POLLED.get().is_none_or(|last| now.duration_since(last) >= TICK);
    if due {
        POLLED.set(Some(now));
    }
    due
}

/// Unwinds to the statement's edge if it shall stop.
pub fn unwind_if_stopped(place: Place) {
    if let Some(reason) = reason(place) {
        // No panic hook tells of it: nothing is wrong.
        resume_unwind(Box::new(Unwound(reason)));
    }
}

/// Does `work` on a thread with so large a stack, which works for the calling one; that waits and polls meanwhile.
///
/// # Errors
/// What the machine says of a thread that it cannot make. A panic goes on in the calling thread.
pub fn on_stack<T: Send>(
    name: &str,
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> std::io::Result<T> {
    let (inherited, waiting) = (current(), this_thread());
    let poll = CURRENT.with_borrow(|current| current.as_ref().and_then(|current| current.poll.clone()));
    let done = AtomicBool::new(false);
    let done = &done;
    scope(|scope| {
        let thread = Builder::new().name(name.to_owned()).stack_size(stack_bytes);
        let thread = thread.spawn_scoped(scope, move || {
            struct Tell<'a>(&'a AtomicBool, std::thread::Thread);
            impl Drop for Tell<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Release);
                    self.1.unpark();
                }
            }
            let _tell = Tell(done, waiting);
            match inherited {
                Some(inherited) => inherited.within(work),
                None => work(),
            }
        })?;
        if let Some(poll) = poll {
            while !done.load(Ordering::Acquire) {
                park_timeout(TICK);
                if is_due() {
                    poll();
                }
            }
        }
        thread.join().map_or_else(|panic| resume_unwind(panic), Ok)
    })
}

/// So much evaluation comes now, in units of about a nanosecond to ten: unwinds if the statement shall stop. A count for
/// the thread, for functions that walk rows and elements and have nowhere to keep one.
#[inline]
pub fn spend(units: usize) {
    let spent = SPENT.with(|spent| {
        let sum = spent.get().saturating_add(units);
        spent.set(sum);
        sum >= Pace::UNITS
    });
    if spent {
        SPENT.set(0);
        unwind_if_stopped(Place::Evaluate);
    }
}

/// Passes a place once every so much work.
#[derive(Debug)]
pub struct Pace {
    place: Place,
    left: usize,
}

impl Pace {
    /// Work between two looks, in units of about a nanosecond to ten.
    const UNITS: usize = 1 << 16;

    /// A pace at this place, whose first unit looks at the signal.
    pub fn new(place: Place) -> Self {
        Pace { place, left: 0 }
    }

    /// Counts work of `units` that is about to begin; `Some` when the statement should stop instead.
    #[inline]
    pub fn reason(&mut self, units: usize) -> Option<StopReason> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                None
            }
            None => {
                self.left = Self::UNITS;
                reason(self.place)
            }
        }
    }

    /// As `reason`, for code that cannot return an error: unwinds with [`Unwound`] instead.
    #[inline]
    pub fn unwind_if_stopped(&mut self, units: usize) {
        if let Some(reason) = self.reason(units) {
            resume_unwind(Box::new(Unwound(reason)));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn the_innermost_signal_counts_and_threads_inherit_it() {
        assert_eq!(reason(Place::Bind), None);
        let (outer, inner) = (CancelToken::new(), CancelToken::new());
        outer.cancel();
        within(&outer, || {
            assert_eq!(reason(Place::Bind), Some(StopReason::Cancelled));
            within(&inner, || assert_eq!(reason(Place::Bind), None));
            let found = on_stack("test", 1 << 20, || reason(Place::Bind)).unwrap();
            assert_eq!(found, Some(StopReason::Cancelled));
        });
        assert_eq!(reason(Place::Bind), None);
    }

    #[test]
    fn the_host_is_polled_on_its_own_thread_and_ends_what_runs_elsewhere() {
        let token = CancelToken::new();
        let polls = Arc::new(AtomicUsize::new(0));
        let poll: Poll = {
            let (token, polls, host) = (token.clone(), polls.clone(), this_thread().id());
            Arc::new(move || {
                assert_eq!(this_thread().id(), host);
                if polls.fetch_add(1, Ordering::SeqCst) == 3 {
                    token.cancel();
                }
            })
        };
        within_polled(&token, poll.clone(), || {
            while reason(Place::Batch).is_none() {
                std::hint::spin_loop();
            }
        });
        assert_eq!(polls.swap(0, Ordering::SeqCst), 4);
        token.reset();
        let begun = Instant::now();
        within_polled(&token, poll, || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                on_stack("test", 1 << 20, || {
                    loop {
                        unwind_if_stopped(Place::Batch);
                    }
                })
            }));
            let unwound = outcome.map(|_: std::io::Result<()>| ()).unwrap_err();
            assert_eq!(unwound.downcast_ref::<Unwound>().unwrap().0, StopReason::Cancelled);
        });
        assert!(begun.elapsed() >= 3 * TICK && polls.load(Ordering::SeqCst) >= 4);
    }

    #[test]
    fn a_pace_looks_once_every_so_much_work() {
        let token = CancelToken::new();
        token.delay(Some((Place::Evaluate, Duration::ZERO)));
        within(&token, || {
            let mut pace = Pace::new(Place::Evaluate);
            assert!((0..100 * Pace::UNITS).all(|_| pace.reason(1).is_none()));
            assert!((99..=101).contains(&token.passed()), "{}", token.passed());
            let before = token.passed();
            pace.unwind_if_stopped(usize::MAX);
            assert_eq!(token.passed(), before + 1);
        });
    }
}
