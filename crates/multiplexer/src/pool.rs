//! Memory for messages: pools of slots per memory node, with promises that hold what a window was granted.
//!
//! ```text
//!   SlabSource --slab of 4 slots--> free[node] --Promise::fill--> Message --dropped--> free[node]
//!
//!   promised <= slots_max        promised <= allocated (whole slabs)      in use <= promised
//! ```
//! A *promise* is the right to a slot. Whoever grants credit or lends a buffer needs one first, so a message that was
//! granted always finds a slot, and receiving never waits for memory. An *account* (one for each exchange and source,
//! and one for each exchange's sends) owns a few promises that nobody else can use; these are what makes each exchange
//! go on, however the others behave. Beyond them it takes shared promises while there are any, up to a cap.
//!
//! Invariants: `promised` never exceeds `slots_max`; slots in use never exceed `promised`; a dropped promise of an
//! account comes back to that account. Slots are allocated in slabs of four (2 MiB at 512 KiB), charged by the source
//! to its budget, shown once to the transport that wants to register them, and given back by `trim` when idle.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memory::{Arena, SlotRange};

/// Slots of a slab.
pub const SLAB_SLOTS: usize = 4;

/// Bytes of one slot.
pub trait Memory: Send + Sync {
    /// To read.
    fn bytes(&self) -> &[u8];
    /// To write.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Where slots come from; it charges them to a budget and gives the charge back when they are dropped.
pub trait SlabSource: Send + Sync {
    /// Memory for one slot on a memory node, or none within the budget.
    fn allocate(&self, node: usize, bytes: usize) -> Option<Box<dyn Memory>>;
}

impl Memory for SlotRange {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Slots of the engine's arena: huge pages, on real or made-up memory nodes, charged to the arena's budget.
pub struct ArenaSlabs(pub Arena);

impl SlabSource for ArenaSlabs {
    fn allocate(&self, node: usize, bytes: usize) -> Option<Box<dyn Memory>> {
        Some(Box::new(self.0.allocate_on(bytes, Some(node)).ok()?))
    }
}

/// Slots without bytes, for simulations: everything is counted, nothing is stored.
pub struct Weightless;

impl Memory for Weightless {
    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }
}

impl SlabSource for Weightless {
    fn allocate(&self, _node: usize, _bytes: usize) -> Option<Box<dyn Memory>> {
        Some(Box::new(Weightless))
    }
}

/// What a pool holds, in slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Slots of all slabs.
    pub allocated: usize,
    /// Most slots that were allocated at one time.
    pub allocated_peak: usize,
    /// Slots that somebody has a right to, in use or not.
    pub promised: usize,
    /// Slots that lie in the pool.
    pub free: usize,
    /// Slabs that were ever allocated.
    pub slabs: usize,
}

struct State {
    free: Vec<Vec<Box<dyn Memory>>>,
    counts: PoolCounts,
    next_node: usize,
}

/// Called when a promise came back that somebody had waited for.
pub type ReleaseHook = Arc<dyn Fn() + Send + Sync>;

/// A pool of slots of one size.
pub struct Pool {
    source: Box<dyn SlabSource>,
    slot_bytes: usize,
    slots_max: usize,
    /// Shared promises are given while no more than so many slots are promised.
    shared_max: usize,
    state: Mutex<State>,
    hungry: AtomicBool,
    hook: OnceLock<ReleaseHook>,
}

impl Pool {
    /// A pool of at most `slots_max` slots over `nodes` memory nodes.
    pub fn new(source: Box<dyn SlabSource>, nodes: usize, slot_bytes: usize, slots_max: usize) -> Arc<Pool> {
        Pool::with_reserve(source, nodes, slot_bytes, slots_max, 0)
    }

    /// As `new`, with `reserved` slots for accounts to come: without them, windows that are granted ahead may leave no
    /// promise for the next exchange of the same query.
    pub fn with_reserve(
        source: Box<dyn SlabSource>,
        nodes: usize,
        slot_bytes: usize,
        slots_max: usize,
        reserved: usize,
    ) -> Arc<Pool> {
        let free = (0..nodes.max(1)).map(|_| Vec::with_capacity(slots_max.min(1024))).collect();
        Arc::new(Pool {
            source,
            slot_bytes,
            slots_max,
            shared_max: slots_max.saturating_sub(reserved),
            state: Mutex::new(State { free, counts: PoolCounts::default(), next_node: 0 }),
            hungry: AtomicBool::new(false),
            hook: OnceLock::new(),
        })
    }

    /// Says whom to tell when room is there again; the first call counts.
    pub fn on_release(&self, hook: ReleaseHook) {
        let _ = self.hook.set(hook);
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// The most slots.
    pub fn slots_max(&self) -> usize {
        self.slots_max
    }

    /// What it holds.
    pub fn counts(&self) -> PoolCounts {
        self.locked().counts
    }

    /// Gives free slabs beyond what is promised back to the source: how many slots.
    pub fn trim(&self) -> usize {
        let mut trimmed = Vec::new();
        let mut state = self.locked();
        let keep = state.counts.promised.next_multiple_of(SLAB_SLOTS);
        while state.counts.allocated > keep {
            let Some(memory) = state.free.iter_mut().max_by_key(|list| list.len()).and_then(Vec::pop) else {
                break;
            };
            trimmed.push(memory);
            state.counts.allocated -= 1;
            state.counts.free -= 1;
        }
        drop(state);
        trimmed.len()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Promises `slots` more while these are `limit` at most in all, allocating slabs as needed.
    fn promise(&self, slots: usize, limit: usize) -> bool {
        let mut state = self.locked();
        let wanted = state.counts.promised + slots;
        if wanted > limit {
            return false;
        }
        while state.counts.allocated < wanted {
            let node = state.next_node;
            let more = SLAB_SLOTS.min(self.slots_max - state.counts.allocated);
            for _ in 0..more {
                let Some(memory) = self.source.allocate(node, self.slot_bytes) else { return false };
                state.free[node].push(memory);
                state.counts.allocated += 1;
                state.counts.free += 1;
            }
            state.counts.slabs += 1;
            state.next_node = (node + 1) % state.free.len();
        }
        state.counts.allocated_peak = state.counts.allocated_peak.max(state.counts.allocated);
        state.counts.promised = wanted;
        true
    }

    fn unpromise(&self, slots: usize) {
        self.locked().counts.promised -= slots;
        self.tell_if(&self.hungry);
    }

    fn tell_if(&self, hungry: &AtomicBool) {
        if hungry.load(Ordering::SeqCst)
            && hungry.swap(false, Ordering::SeqCst)
            && let Some(hook) = self.hook.get()
        {
            hook();
        }
    }

    /// A slot of the node, or of another one that has some. There is one, since the caller holds a promise.
    fn take(&self, node: usize) -> (usize, Option<Box<dyn Memory>>) {
        let mut state = self.locked();
        let nodes = state.free.len();
        for step in 0..nodes {
            let from = (node + step) % nodes;
            if let Some(memory) = state.free[from].pop() {
                state.counts.free -= 1;
                return (from, Some(memory));
            }
        }
        debug_assert!(false, "a promise without a slot");
        (node, None)
    }

    fn put(&self, node: usize, memory: Box<dyn Memory>) {
        let mut state = self.locked();
        state.counts.free += 1;
        state.free[node].push(memory);
    }
}

/// Promises of one purpose: some of its own, more while the pool has them, never more than its cap.
pub struct Account {
    pool: Arc<Pool>,
    own: usize,
    own_free: AtomicUsize,
    lent: AtomicUsize,
    cap: usize,
    hungry: AtomicBool,
}

impl Account {
    /// An account with `own` promises; none if the pool cannot hold them.
    pub fn open(pool: &Arc<Pool>, own: usize, cap: usize) -> Option<Arc<Account>> {
        pool.promise(own, pool.slots_max).then(|| {
            Arc::new(Account {
                pool: Arc::clone(pool),
                own,
                own_free: AtomicUsize::new(own),
                lent: AtomicUsize::new(0),
                cap: cap.max(own),
                hungry: AtomicBool::new(false),
            })
        })
    }

    /// A promise; if there is none now, the pool's hook is called once there may be.
    pub fn take(self: &Arc<Account>) -> Option<Promise> {
        self.attempt().or_else(|| {
            self.hungry.store(true, Ordering::SeqCst);
            self.pool.hungry.store(true, Ordering::SeqCst);
            self.attempt()
        })
    }

    /// Whether `take` would find one now; if not, the hook is called once it may.
    pub fn has_some(&self) -> bool {
        let now = || {
            self.lent.load(Ordering::SeqCst) < self.cap
                && (self.own_free.load(Ordering::SeqCst) > 0
                    || self.pool.counts().promised < self.pool.shared_max)
        };
        now() || {
            self.hungry.store(true, Ordering::SeqCst);
            self.pool.hungry.store(true, Ordering::SeqCst);
            now()
        }
    }

    fn attempt(self: &Arc<Account>) -> Option<Promise> {
        let one = |count: &AtomicUsize, step: fn(usize, usize) -> Option<usize>, limit: usize| {
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| step(now, limit)).is_ok()
        };
        if !one(&self.lent, |now, cap| (now < cap).then_some(now + 1), self.cap) {
            return None;
        }
        let own = one(&self.own_free, |now, _| now.checked_sub(1), 0);
        if own || self.pool.promise(1, self.pool.shared_max) {
            return Some(Promise { account: Arc::clone(self), own });
        }
        self.lent.fetch_sub(1, Ordering::SeqCst);
        None
    }

    /// Promises that are out: granted or in use.
    pub fn lent(&self) -> usize {
        self.lent.load(Ordering::SeqCst)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.pool.unpromise(self.own);
    }
}

/// The right to one slot.
pub struct Promise {
    account: Arc<Account>,
    own: bool,
}

impl Promise {
    /// Makes it a message on a memory node, or on another one that has a slot.
    pub fn fill(self, node: usize) -> Message {
        let (node, memory) = self.account.pool.take(node);
        Message { memory, node, used: 0, promise: self }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.own {
            self.account.own_free.fetch_add(1, Ordering::SeqCst);
        } else {
            self.account.pool.unpromise(1);
        }
        self.account.lent.fetch_sub(1, Ordering::SeqCst);
        self.account.pool.tell_if(&self.account.hungry);
    }
}

/// A message: a slot and how much of it is used. Only the used bytes travel. One owner writes it; to send it to several
/// peers it is shared, and the last holder's drop brings the slot back (the retain count of the paper's local part).
pub struct Message {
    memory: Option<Box<dyn Memory>>,
    node: usize,
    used: usize,
    promise: Promise,
}

impl Message {
    /// The used bytes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.as_deref().and_then(|memory| memory.bytes().get(..self.used)).unwrap_or(&[])
    }

    /// The whole slot, to write into; then say how much of it is used.
    pub fn space(&mut self) -> &mut [u8] {
        let capacity = self.capacity();
        let whole = self.memory.as_deref_mut().map(Memory::bytes_mut).unwrap_or(&mut []);
        let end = capacity.min(whole.len());
        &mut whole[..end]
    }

    /// Appends bytes if they fit.
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let (from, to) = (self.used, self.used + bytes.len());
        let fits = self.space().get_mut(from..to).map(|space| space.copy_from_slice(bytes)).is_some();
        self.used = if fits { to } else { from };
        fits
    }

    /// Says how many bytes are used, at most the capacity.
    pub fn set_used(&mut self, bytes: usize) {
        self.used = bytes.min(self.capacity());
    }

    /// How many bytes are used.
    pub fn used(&self) -> usize {
        self.used
    }

    /// How many bytes fit.
    pub fn capacity(&self) -> usize {
        self.promise.account.pool.slot_bytes
    }

    /// The memory node it lies on.
    pub fn memory_node(&self) -> usize {
        self.node
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.promise.account.pool.put(self.node, memory);
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({} of {} bytes, memory node {})", self.used, self.capacity(), self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::{Budget, Topology};

    fn arena_pool(slots_max: usize, nodes: usize) -> (Arena, Arc<Pool>) {
        let arena = Arena::with_topology(Budget::unlimited(), Topology::emulated(nodes, 2));
        (arena.clone(), Pool::new(Box::new(ArenaSlabs(arena)), nodes, 512 << 10, slots_max))
    }

    #[test]
    fn slabs_of_four_are_charged_and_trimmed() {
        let (arena, pool) = arena_pool(16, 2);
        let account = Account::open(&pool, 1, 16).unwrap();
        assert_eq!((arena.used_bytes(), pool.counts().allocated), (2 << 20, 4));
        let messages: Vec<_> = (0..6).map(|_| account.take().unwrap().fill(0)).collect();
        assert_eq!((arena.used_bytes(), pool.counts().slabs), (4 << 20, 2));
        assert!(
            messages.iter().any(|m| m.memory_node() == 0) && messages.iter().any(|m| m.memory_node() == 1)
        );
        drop(messages);
        assert_eq!(pool.trim(), 4);
        assert_eq!(arena.used_bytes(), 2 << 20);
        drop(account);
        assert_eq!((pool.trim(), arena.used_bytes(), pool.counts().promised), (4, 0, 0));
    }

    #[test]
    fn own_promises_survive_a_greedy_neighbour() {
        let pool = Pool::new(Box::new(Weightless), 1, 64 << 10, 8);
        let modest = Account::open(&pool, 2, 8).unwrap();
        let greedy = Account::open(&pool, 1, 8).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| greedy.take()).collect();
        assert_eq!((taken.len(), pool.counts().promised), (6, 8));
        let first = modest.take().unwrap().fill(0);
        let _second = modest.take().unwrap().fill(0);
        assert!(modest.take().is_none());
        drop(first);
        assert!(greedy.take().is_none(), "what came back is its owner's");
        assert!(modest.take().is_some());
        assert!(Account::open(&pool, 1, 1).is_none());
    }

    #[test]
    fn what_is_reserved_is_for_accounts_to_come() {
        let pool = Pool::with_reserve(Box::new(Weightless), 1, 64 << 10, 8, 4);
        let greedy = Account::open(&pool, 1, 8).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| greedy.take()).collect();
        assert_eq!((taken.len(), pool.counts().promised, greedy.has_some()), (4, 4, false));
        let late = Account::open(&pool, 4, 8).unwrap();
        assert!(late.take().is_some() && Account::open(&pool, 1, 1).is_none());
    }

    #[test]
    fn whoever_found_nothing_is_told_once() {
        let pool = Pool::new(Box::new(Weightless), 1, 64 << 10, 2);
        let told = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&told);
        pool.on_release(Arc::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        }));
        let account = Account::open(&pool, 2, 2).unwrap();
        let (first, second) = (account.take().unwrap(), account.take().unwrap());
        assert!(account.take().is_none());
        drop(first);
        drop(second);
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn only_what_was_appended_is_used_and_shared_messages_come_back_last() {
        let (_, pool) = arena_pool(4, 1);
        let account = Account::open(&pool, 1, 4).unwrap();
        let mut message = account.take().unwrap().fill(0);
        assert!(message.append(b"abc") && message.append(b"de"));
        assert!(!message.append(&vec![0; 512 << 10]));
        assert_eq!(message.bytes(), b"abcde");
        let shared = Arc::new(message);
        let second = Arc::clone(&shared);
        drop(shared);
        assert_eq!(account.lent(), 1);
        drop(second);
        assert_eq!((account.lent(), pool.counts().free), (0, 4));
    }
}
