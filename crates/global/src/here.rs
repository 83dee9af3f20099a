//! A locale from inside: what a task is given to act with. [`Here`] is a handle of the worker that runs the task; it is not
//! `Send`, so no body of a delegate and no task of another locale can hold one, and what has none cannot wait.
//!
//! Invariants: no borrow of a table is held while a task, a body or a future's destructor runs; `current` is the fiber that
//! is polled now, and only a future that is polled in it parks it; what is spawned is enrolled before it can run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use memory::Budget;

use crate::address::LocaleId;
use crate::error::GlobalError;
use crate::events::{Events, Replies};
use crate::fiber::{FiberCounts, FiberId, Fibers, LocalFuture};
use crate::packet::EventId;
use crate::process::{Counts, Process};
use crate::task::{Letter, Place, Task};

/// What waits to be delivered to one locale of the process.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) letters: Vec<Letter>,
    pub(crate) packed: Vec<u8>,
    pub(crate) messages: usize,
}

pub(crate) struct Local {
    pub(crate) process: Arc<Process>,
    /// Among the locales of this process.
    pub(crate) index: usize,
    pub(crate) id: LocaleId,
    pub(crate) fibers: RefCell<Fibers>,
    pub(crate) current: Cell<FiberId>,
    /// Whether the fiber that is polled waits for something that the runtime knows.
    pub(crate) parks: Cell<bool>,
    pub(crate) private: RefCell<VecDeque<Task>>,
    pub(crate) priority: RefCell<VecDeque<Task>>,
    pub(crate) outboxes: RefCell<Vec<Outbox>>,
    pub(crate) queued: Cell<usize>,
    pub(crate) events: RefCell<Events>,
    pub(crate) replies: RefCell<Replies>,
    /// Fibers that wait for their children, or for their turn: they do not count against the limit.
    pub(crate) joining: Cell<usize>,
    /// Fibers that wait until the lists for a node are shorter.
    pub(crate) for_room: RefCell<Vec<(u16, FiberId)>>,
    pub(crate) counts: RefCell<Counts>,
    pub(crate) random: RefCell<random::Random>,
}

/// The locale that a task runs at.
#[derive(Clone)]
pub struct Here(pub(crate) Rc<Local>);

impl Here {
    pub(crate) fn new(process: &Arc<Process>, index: usize) -> Self {
        let id = LocaleId((process.first_locale() + index) as u16);
        let outboxes = (0..process.config.locales).map(|_| Outbox::default()).collect();
        Here(Rc::new(Local {
            index,
            id,
            fibers: RefCell::new(Fibers::new(process.config.prefetch_distance)),
            current: Cell::new(FiberId::NONE),
            parks: Cell::new(false),
            private: RefCell::default(),
            priority: RefCell::default(),
            outboxes: RefCell::new(outboxes),
            queued: Cell::new(0),
            events: RefCell::new(Events::new(id, process.locales())),
            replies: RefCell::default(),
            joining: Cell::new(0),
            for_room: RefCell::default(),
            counts: RefCell::default(),
            random: RefCell::new(random::Random::new(index as u64 + 1)),
            process: Arc::clone(process),
        }))
    }

    /// Which locale this is.
    pub fn locale(&self) -> LocaleId {
        self.0.id
    }

    /// All locales of the program, over all nodes.
    pub fn locales(&self) -> usize {
        self.0.process.locales()
    }

    /// The locales of this process.
    pub fn own_locales(&self) -> impl Iterator<Item = LocaleId> + use<> {
        let first = self.0.process.first_locale();
        (first..first + self.0.process.config.locales).map(|at| LocaleId(at as u16))
    }

    /// Which process this is.
    pub fn node(&self) -> u16 {
        self.0.process.node
    }

    /// All processes of the program.
    pub fn nodes(&self) -> u16 {
        self.0.process.nodes
    }

    /// What global memory is charged to.
    pub fn budget(&self) -> &Budget {
        &self.0.process.config.budget
    }

    /// Ends the program with an error; the caller goes on until it waits.
    pub fn fail(&self, error: GlobalError) {
        self.0.process.fail(error);
    }

    /// How many fibers of this locale are in which state.
    pub fn fibers(&self) -> FiberCounts {
        self.0.fibers.borrow().counts()
    }

    #[inline]
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.counts.borrow_mut());
    }

    /// The fiber that is polled now; it is woken by the runtime when what it waits for is there.
    #[inline]
    pub(crate) fn park(&self) -> FiberId {
        self.0.parks.set(true);
        self.0.current.get()
    }

    #[inline]
    pub(crate) fn wake(&self, fiber: FiberId) {
        self.0.fibers.borrow_mut().wake(fiber);
    }

    /// Lets other fibers of this locale run.
    pub fn yield_now(&self) -> YieldNow<'_> {
        YieldNow { here: self, yielded: false }
    }

    /// A completion event that this locale waits for.
    pub fn event(&self) -> Event {
        Event { here: self.clone(), id: self.0.events.borrow_mut().open() }
    }

    /// Says that work of an event was spawned, when it was not by `spawn`: for what completes it by hand. Only a task of the
    /// event, or the locale that made it before it waits, may.
    pub fn enroll(&self, event: EventId, pieces: u64) {
        let note = self.0.events.borrow_mut().enroll(event, pieces);
        if let Some((to, event, note)) = note {
            self.send_note(to, event, note);
        }
    }

    /// Says that a piece of work that was enrolled at `origin` is over.
    #[inline]
    pub fn complete(&self, event: EventId, origin: LocaleId) {
        let was_last = self.0.events.borrow_mut().complete(event, origin, 1);
        // What is awaited here is told at once; what others wait for can wait for more of its kind.
        if was_last && event.master == self.0.id || !self.0.process.config.combine {
            self.report();
        }
    }

    fn enrolled(&self, event: Option<EventId>) -> crate::task::Enrolled {
        let event = event?;
        self.enroll(event, 1);
        Some((event, self.0.id))
    }

    /// Spawns a task that does not wait.
    pub fn spawn(
        &self,
        place: Place,
        event: impl Into<Option<EventId>>,
        task: impl FnOnce(&Here) + Send + 'static,
    ) {
        let enrolled = self.enrolled(event.into());
        self.place(place, Task::Plain(Box::new(task), enrolled));
    }

    /// Spawns a task that may wait: a fiber, from when it begins.
    pub fn spawn_fiber<F, T>(&self, place: Place, event: impl Into<Option<EventId>>, task: F)
    where
        F: FnOnce(Here) -> T + Send + 'static,
        T: Future<Output = ()> + 'static,
    {
        let enrolled = self.enrolled(event.into());
        let start = move |here: Here| -> LocalFuture { Box::pin(task(here)) };
        self.place(place, Task::Fiber(Box::new(start), enrolled));
    }

    pub(crate) fn place(&self, place: Place, task: Task) {
        let waiting = match place {
            Place::Public => {
                let waiting = self.0.process.public[self.0.index].0.push(task);
                self.0.process.rouse();
                waiting
            }
            Place::Priority => {
                self.0.priority.borrow_mut().push_back(task);
                0
            }
            Place::At(locale) if locale != self.0.id => {
                match self.0.process.own(locale) {
                    Some(to) => self.post(to, Letter::Task(task)),
                    None => self.fail(GlobalError::Argument {
                        what: "the locale of a task that is not registered",
                        given: format!("{}, which is of another process", locale.0),
                    }),
                }
                0
            }
            Place::At(_) | Place::Private => {
                let mut private = self.0.private.borrow_mut();
                private.push_back(task);
                private.len()
            }
        };
        self.count(|counts| counts.tasks_waiting_peak = counts.tasks_waiting_peak.max(waiting as u64));
    }

    /// Begins a fiber here and now, without an event; it need not be `Send`.
    pub fn begin(&self, future: impl Future<Output = ()> + 'static) {
        self.begin_boxed(Box::pin(future));
    }

    /// As `begin`, of a future that has its place in memory already.
    pub fn begin_boxed(&self, future: Pin<Box<dyn Future<Output = ()>>>) {
        self.0.fibers.borrow_mut().add(future);
    }

    /// Runs something while this fiber does not count against the limit of fibers.
    pub(crate) async fn joined<T>(&self, wait: impl Future<Output = T>) -> T {
        let joining = Joining::new(self);
        let result = wait.await;
        drop(joining);
        result
    }

    /// Waits until messages for a node may be issued again.
    pub(crate) async fn room(&self, node: u16) {
        while self.is_full(node) {
            RoomWait { here: self, node, waited: false }.await;
        }
    }

    fn is_full(&self, node: u16) -> bool {
        self.0.process.network.as_ref().is_some_and(|network| network.is_full(node))
    }

    /// Wakes fibers that waited for room where there is some now.
    pub(crate) fn wake_for_room(&self) {
        let mut waiting = self.0.for_room.borrow_mut();
        waiting.retain(|(node, fiber)| {
            let is_full = self.is_full(*node);
            if !is_full {
                self.wake(*fiber);
            }
            is_full
        });
    }

    /// How the foreign wakes stand: fibers with other wakers are polled again when it changes.
    pub(crate) fn foreign_wakes(&self) -> u64 {
        self.0.process.foreign_wakes.load(SeqCst)
    }
}

struct Joining<'h>(&'h Here);

impl<'h> Joining<'h> {
    fn new(here: &'h Here) -> Self {
        here.0.joining.set(here.0.joining.get() + 1);
        Joining(here)
    }
}

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        self.0.0.joining.set(self.0.0.joining.get() - 1);
    }
}

/// See [`Here::yield_now`].
pub struct YieldNow<'h> {
    here: &'h Here,
    yielded: bool,
}

impl Future for YieldNow<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        let fiber = self.here.park();
        self.here.wake(fiber);
        Poll::Pending
    }
}

struct RoomWait<'h> {
    here: &'h Here,
    node: u16,
    waited: bool,
}

impl Future for RoomWait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.waited {
            return Poll::Ready(());
        }
        self.waited = true;
        let fiber = self.here.park();
        self.here.0.for_room.borrow_mut().push((self.node, fiber));
        Poll::Pending
    }
}

/// A completion event, where it is waited for: at the locale that made it. What is enrolled with its [`EventId`], anywhere,
/// has to be over before `wait` is. It can be used again after that.
pub struct Event {
    here: Here,
    id: EventId,
}

impl Event {
    /// What work is enrolled with.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// Waits until all that was enrolled is over. One fiber waits for an event at a time.
    pub async fn wait(&self) {
        self.here.joined(EventWait { event: self }).await;
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.here.0.events.borrow_mut().close(self.id);
    }
}

struct EventWait<'e> {
    event: &'e Event,
}

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let (here, id) = (&self.event.here, self.event.id);
        let fiber = here.0.current.get();
        if here.0.events.borrow_mut().wait(id, fiber) {
            return Poll::Ready(());
        }
        here.park();
        Poll::Pending
    }
}
