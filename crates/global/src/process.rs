//! What all locales of a process share: settings, objects, inboxes, public tasks, the network, and how a program ends.
//!
//! Invariants: a locale sleeps only after it said so (`idlers`) and looked once more, and whoever adds work for others looks
//! at `idlers` after it, so no work is left to a sleeper; the first failure is the program's, and every locale sees it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use memory::Budget;
use sync::{CachePadded, CancelToken, Gate};

use crate::address::{LocaleId, OBJECTS_MAX};
use crate::error::GlobalError;
use crate::fiber::FiberCounts;
use crate::network::{Aggregation, Network};
use crate::parts::Object;
use crate::registry::Registry;
use crate::task::{Letter, Task};

/// Settings of a runtime; `locales` has to be the same on all nodes.
#[derive(Clone)]
pub struct Config {
    /// Locales, and so workers, of this process.
    pub locales: usize,
    /// Fibers of a locale that may be at work at one time; no task begins beyond that. Those that wait for an event do not
    /// count; those that wait for other tasks by other means do, so as many of them must not wait for one that has not begun.
    pub fibers_max: usize,
    /// Switches between asking for a fiber's memory and running it; 0: it is not asked for.
    pub prefetch_distance: usize,
    /// Whether bodies for locales of this process run where they are asked for; else they are sent as messages.
    pub direct: bool,
    /// Whether completions are reported many at a time; else each at once.
    pub combine: bool,
    /// When messages leave.
    pub aggregation: Aggregation,
    /// Switches between two looks at the mail.
    pub poll_every: u32,
    /// What global memory is charged to.
    pub budget: Budget,
    /// Ends the program from outside.
    pub cancel: CancelToken,
}

impl Config {
    /// Defaults for so many locales, without a limit of memory.
    pub fn new(locales: usize) -> Self {
        Config {
            locales,
            fibers_max: 1_024,
            // The thesis has 4. Measured over 500,000 fibers 8 takes 51 to 73 ns a switch, 4 takes 67 to 86, in three runs; over few
            // fibers they are alike.
            prefetch_distance: 8,
            direct: true,
            combine: true,
            aggregation: Aggregation::default(),
            poll_every: 64,
            budget: Budget::unlimited(),
            cancel: CancelToken::new(),
        }
    }
}

/// What the locales of a process did in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Fibers that were polled.
    pub switches: u64,
    /// Tasks that were begun, pieces of loops included.
    pub tasks: u64,
    /// Of these, taken from another locale.
    pub stolen: u64,
    /// Notes of completion events.
    pub notes: u64,
    /// Messages to other locales of the process.
    pub letters: u64,
    /// Batches that they went in.
    pub batches: u64,
    /// Times that a locale found nothing to do and slept.
    pub sleeps: u64,
    /// Nanoseconds slept.
    pub idle_ns: u64,
    /// The most fibers that lived at one locale.
    pub fibers_peak: u64,
    /// The most public and private tasks that waited at one locale.
    pub tasks_waiting_peak: u64,
}

#[derive(Default)]
pub(crate) struct Inbox {
    letters: Mutex<Vec<Letter>>,
    some: AtomicBool,
}

#[derive(Default)]
pub(crate) struct PublicTasks {
    tasks: Mutex<VecDeque<Task>>,
    waiting: AtomicUsize,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PublicTasks {
    pub(crate) fn push(&self, task: Task) -> usize {
        let mut tasks = lock(&self.tasks);
        tasks.push_back(task);
        self.waiting.store(tasks.len(), SeqCst);
        tasks.len()
    }

    /// The newest: its data are in the cache still.
    pub(crate) fn pop(&self) -> Option<Task> {
        if self.waiting.load(Relaxed) == 0 {
            return None;
        }
        let mut tasks = lock(&self.tasks);
        let task = tasks.pop_back();
        self.waiting.store(tasks.len(), SeqCst);
        task
    }

    /// The oldest half, at most so many: in a recursive decomposition they are the largest.
    pub(crate) fn steal(&self, most: usize) -> VecDeque<Task> {
        if self.waiting.load(SeqCst) == 0 {
            return VecDeque::new();
        }
        let mut tasks = lock(&self.tasks);
        let half = tasks.len().div_ceil(2).min(most);
        let stolen = tasks.drain(..half).collect();
        self.waiting.store(tasks.len(), SeqCst);
        stolen
    }

    fn clear(&self) {
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        self.waiting.store(0, SeqCst);
        drop(tasks);
    }
}

pub(crate) struct Process {
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) node: u16,
    pub(crate) nodes: u16,
    pub(crate) inboxes: Vec<CachePadded<Inbox>>,
    pub(crate) public: Vec<CachePadded<PublicTasks>>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) idlers: AtomicUsize,
    pub(crate) network: Option<Network>,
    pub(crate) foreign_wakes: AtomicU64,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) fiber_counts: Mutex<Vec<FiberCounts>>,
    objects: RwLock<Objects>,
    stopped: AtomicBool,
    failure: Mutex<Option<GlobalError>>,
}

#[derive(Default)]
struct Objects {
    slots: Vec<Option<Arc<dyn Object>>>,
    free: Vec<usize>,
}

impl Process {
    pub(crate) fn new(config: Config, registry: Registry, network: Option<Network>) -> Self {
        let (node, nodes) =
            network.as_ref().map_or((0, 1), |n| (n.transport().node(), n.transport().nodes()));
        let gate = Arc::new(Gate::new());
        if let Some(network) = &network {
            network.transport().attach(Arc::clone(&gate));
        }
        Process {
            inboxes: (0..config.locales).map(|_| CachePadded::default()).collect(),
            public: (0..config.locales).map(|_| CachePadded::default()).collect(),
            config,
            registry,
            node,
            nodes,
            gate,
            idlers: AtomicUsize::new(0),
            network,
            foreign_wakes: AtomicU64::new(0),
            counts: Mutex::default(),
            fiber_counts: Mutex::default(),
            objects: RwLock::default(),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    pub(crate) fn first_locale(&self) -> usize {
        usize::from(self.node) * self.config.locales
    }

    pub(crate) fn locales(&self) -> usize {
        usize::from(self.nodes) * self.config.locales
    }

    pub(crate) fn node_of(&self, locale: LocaleId) -> u16 {
        (locale.index() / self.config.locales) as u16
    }

    /// The place of a locale among this process' own; none where it is another's.
    #[inline]
    pub(crate) fn own(&self, locale: LocaleId) -> Option<usize> {
        let at = locale.index().wrapping_sub(self.first_locale());
        (at < self.config.locales).then_some(at)
    }

    /// Hands letters to a locale.
    pub(crate) fn deliver(&self, to: usize, letters: &mut Vec<Letter>) {
        let inbox = &self.inboxes[to].0;
        let mut waiting = lock(&inbox.letters);
        if waiting.is_empty() {
            std::mem::swap(&mut *waiting, letters);
        } else {
            waiting.append(letters);
        }
        inbox.some.store(true, SeqCst);
        drop(waiting);
        self.rouse();
    }

    pub(crate) fn has_mail(&self, at: usize) -> bool {
        self.inboxes[at].0.some.load(SeqCst)
    }

    pub(crate) fn take_mail(&self, at: usize, into: &mut Vec<Letter>) {
        let inbox = &self.inboxes[at].0;
        if inbox.some.load(SeqCst) {
            let mut waiting = lock(&inbox.letters);
            std::mem::swap(&mut *waiting, into);
            inbox.some.store(false, SeqCst);
        }
    }

    /// Wakes sleepers: there is something to do.
    #[inline]
    pub(crate) fn rouse(&self) {
        if self.idlers.load(SeqCst) > 0 {
            self.gate.notify(usize::MAX);
        }
    }

    pub(crate) fn has_public(&self) -> bool {
        self.public.iter().any(|tasks| tasks.0.waiting.load(SeqCst) > 0)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }

    /// Ends the program on this node.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, SeqCst);
        self.gate.notify(usize::MAX);
    }

    /// Ends the program with an error; the first one counts.
    pub(crate) fn fail(&self, error: GlobalError) {
        lock(&self.failure).get_or_insert(error);
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<GlobalError> {
        lock(&self.failure).clone()
    }

    /// Makes ready for another program: objects stay, all else of the last one goes.
    pub(crate) fn begin(&self) {
        for at in 0..self.config.locales {
            let mut left = Vec::new();
            self.take_mail(at, &mut left);
            self.public[at].0.clear();
        }
        if let Some(network) = &self.network {
            network.begin();
        }
        *lock(&self.failure) = None;
        *lock(&self.counts) = Counts::default();
        lock(&self.fiber_counts).clear();
        self.stopped.store(false, SeqCst);
    }

    /// Keeps an object under a number that no other node gives out.
    pub(crate) fn add_object(&self, object: Arc<dyn Object>) -> Result<u16, GlobalError> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let (node, nodes) = (usize::from(self.node), usize::from(self.nodes));
        let number = match objects.free.pop() {
            Some(number) => number,
            None => (0..)
                .map(|n| n * nodes + node)
                .find(|n| objects.slots.get(*n).is_none_or(Option::is_none))
                .unwrap_or(0),
        };
        let refused = GlobalError::Argument { what: "the number of objects", given: OBJECTS_MAX.to_string() };
        let id = u16::try_from(number).map_err(|_| refused)?;
        if objects.slots.len() <= number {
            objects.slots.resize_with(number + 1, || None);
        }
        objects.slots[number] = Some(object);
        Ok(id)
    }

    /// Keeps another node's object under the number that it gave.
    pub(crate) fn put_object(&self, id: u16, object: Arc<dyn Object>) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let number = usize::from(id);
        if objects.slots.len() <= number {
            objects.slots.resize_with(number + 1, || None);
        }
        objects.slots[number] = Some(object);
    }

    pub(crate) fn object(&self, id: u16) -> Option<Arc<dyn Object>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).slots.get(usize::from(id))?.clone()
    }

    /// Forgets an object; its number can be given out again by the node that gave it.
    pub(crate) fn remove_object(&self, id: u16) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let number = usize::from(id);
        let removed = objects.slots.get_mut(number).and_then(Option::take);
        if removed.is_some() && number % usize::from(self.nodes) == usize::from(self.node) {
            objects.free.push(number);
        }
        drop(objects);
    }

    pub(crate) fn objects(&self) -> usize {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).slots.iter().flatten().count()
    }
}
