//! Where the memory of messages comes from.
//!
//! Sinks and receivers ask a [`Buffers`] for messages; messages find back to their [`Home`] by themselves. The pool
//! here keeps its memory on the heap and in lists per memory node; a multiplexer with registered memory brings
//! [`Slab`]s of its own and may use the same pool. What a pool always holds: it never has more messages out and in
//! stock than its limit, and a message that came back is used before another is made, so that a stream that runs
//! steadily allocates nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arrow_buffer::MutableBuffer;

use crate::header::HEADER_BYTES;
use crate::message::{Message, Shell};

/// Bytes of a message unless a setting or the budget says less: the paper's, from where on synchronising the schedule
/// is hidden.
pub const MESSAGE_BYTES: usize = 512 << 10;
/// Bytes of the smallest message.
pub const MESSAGE_BYTES_MIN: usize = 64 << 10;

/// The bytes of a message for a sink of so many workers and destinations within a budget: half of the budget may lie in
/// messages that are being filled.
pub fn message_bytes(budget_bytes: u64, workers: usize, destinations: usize) -> usize {
    let open = 2 * workers.max(1) as u64 * destinations.max(1) as u64;
    let share = usize::try_from(budget_bytes / open).unwrap_or(usize::MAX);
    // Whole pages, so that registered memory is cut without loss.
    (share & !4095).clamp(MESSAGE_BYTES_MIN, MESSAGE_BYTES)
}

/// Memory of one message, header and body. Aligned by 64 bytes, numbers are read in it without a copy.
pub trait Slab: Send + Sync {
    /// All of it.
    fn bytes(&self) -> &[u8];
    /// All of it, to write.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// By which a transport knows it; 0 where memory is not registered.
    fn key(&self) -> u64 {
        0
    }
}

impl Slab for MutableBuffer {
    fn bytes(&self) -> &[u8] {
        self.as_slice()
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.as_slice_mut()
    }
}

/// Gives out empty messages.
pub trait Buffers: Send + Sync {
    /// A message on the memory node, else on another; `None` when none is left, and the caller steps aside.
    fn take(&self, node: u16) -> Option<Message>;
    /// Bytes of a message, its header included.
    fn message_bytes(&self) -> usize;
}

/// Where the memory of messages returns to.
pub trait Home: Send + Sync {
    /// Takes the memory of a message that nobody holds any more.
    fn give(&self, shell: Arc<Shell>);
}

/// How a pool comes to more memory; `None` when there is none.
pub type MakeSlab = Box<dyn Fn(u16) -> Option<Box<dyn Slab>> + Send + Sync>;

/// A pool of messages of one size, in a list per memory node.
pub struct Pool {
    message_bytes: usize,
    messages_max: usize,
    made: AtomicUsize,
    free: Box<[Mutex<VecDeque<Arc<Shell>>>]>,
    make: MakeSlab,
    own: Weak<Pool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A pool on the heap: at most `messages_max` messages of `message_bytes` bytes, in stock by `nodes` memory nodes.
    pub fn on_heap(message_bytes: usize, messages_max: usize, nodes: usize) -> Arc<Pool> {
        let message_bytes = message_bytes.max(2 * HEADER_BYTES);
        let make = move |_| Some(Box::new(MutableBuffer::from_len_zeroed(message_bytes)) as Box<dyn Slab>);
        Pool::new(message_bytes, messages_max, nodes, Box::new(make))
    }
    /// A pool of memory that `make` gives, at least `message_bytes` a piece.
    pub fn new(message_bytes: usize, messages_max: usize, nodes: usize, make: MakeSlab) -> Arc<Pool> {
        let free = || Mutex::new(VecDeque::with_capacity(messages_max.min(1024)));
        let free = std::iter::repeat_with(free).take(nodes.max(1)).collect();
        let made = AtomicUsize::new(0);
        Arc::new_cyclic(|own| Pool { message_bytes, messages_max, made, free, make, own: own.clone() })
    }
    fn list(&self, node: u16) -> &Mutex<VecDeque<Arc<Shell>>> {
        &self.free[usize::from(node) % self.free.len()]
    }
    /// From stock, what came back last: it may still be in a cache. What another holder has not quite let go of goes to the
    /// other end of the list.
    fn reuse(&self, node: usize) -> Option<Message> {
        let mut list = lock(&self.free[node]);
        for _ in 0..list.len() {
            match Message::new(list.pop_back()?) {
                Ok(message) => return Some(message),
                Err(held) => list.push_front(held),
            }
        }
        None
    }
    fn make(&self, node: u16) -> Option<Message> {
        let grow = |made: usize| (made < self.messages_max).then_some(made + 1);
        self.made.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow).ok()?;
        let Some(slab) = (self.make)(node).filter(|slab| slab.bytes().len() >= 2 * HEADER_BYTES) else {
            self.made.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        let home: Weak<dyn Home> = self.own.clone();
        Message::new(Shell::new(slab, node, home)).ok()
    }
    /// Messages that exist, in stock or out.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
    /// Messages in stock.
    pub fn in_stock(&self) -> usize {
        self.free.iter().map(|list| lock(list).len()).sum()
    }
    /// Frees the memory in stock beyond `keep` messages.
    pub fn trim(&self, keep: usize) {
        for list in &self.free {
            let mut list = lock(list);
            while list.len() > keep.div_ceil(self.free.len()) {
                list.pop_front();
                self.made.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl Buffers for Pool {
    fn take(&self, node: u16) -> Option<Message> {
        let (own, count) = (usize::from(node) % self.free.len(), self.free.len());
        self.reuse(own)
            .or_else(|| self.make(node))
            .or_else(|| (1..count).find_map(|step| self.reuse((own + step) % count)))
    }
    fn message_bytes(&self) -> usize {
        self.message_bytes
    }
}

impl Home for Pool {
    fn give(&self, shell: Arc<Shell>) {
        lock(self.list(shell.node())).push_back(shell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Header, Stream};

    fn sealed(pool: &Pool, byte: u8) -> crate::Sealed {
        let mut message = pool.take(0).expect("a message");
        message.body_mut()[..100].fill(byte);
        message.seal(Header { stream: Stream::default(), used: 100, plain: 100, ..Header::default() })
    }

    #[test]
    fn the_last_holder_gives_the_memory_back() {
        let pool = Pool::on_heap(MESSAGE_BYTES_MIN, 2, 1);
        let first = sealed(&pool, 1);
        let others: Vec<_> = (0..5).map(|_| first.clone()).collect();
        assert_eq!(first.local().retain, 6);
        let buffer = first.body_buffer();
        drop(first);
        drop(others);
        assert_eq!((pool.made(), pool.in_stock()), (1, 0), "a vector may still read it");
        assert_eq!(buffer.as_slice(), [1; 100]);
        drop(buffer);
        assert_eq!((pool.made(), pool.in_stock()), (1, 1));
    }

    #[test]
    fn a_pool_ends_at_its_limit_and_steals_from_other_nodes() {
        let pool = Pool::on_heap(MESSAGE_BYTES_MIN, 2, 2);
        let (a, b) = (pool.take(0).expect("one"), pool.take(1).expect("two"));
        assert_eq!((a.node(), b.node()), (0, 1));
        assert!(pool.take(0).is_none());
        drop(b);
        assert_eq!(pool.take(0).expect("the other node's").node(), 1);
        drop(a);
        pool.trim(0);
        assert_eq!((pool.made(), pool.in_stock()), (0, 0));
    }

    #[test]
    fn holders_on_many_threads_lose_no_memory() {
        let pool = Pool::on_heap(MESSAGE_BYTES_MIN, 4, 1);
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for turn in 0..150 {
                        let Some(mut message) = pool.take(0) else { continue };
                        message.body_mut()[..100].fill(thread);
                        let header = Header { used: 100, plain: 100, sequence: turn, ..Header::default() };
                        let sealed = message.seal(header);
                        let copies = [sealed.clone(), sealed.clone()];
                        std::thread::scope(|inner| {
                            for copy in copies {
                                inner.spawn(move || assert_eq!(copy.body(), [thread; 100]));
                            }
                        });
                        assert_eq!(sealed.body(), [thread; 100]);
                    }
                });
            }
        });
        assert!(pool.made() <= 4);
        assert_eq!(pool.in_stock(), pool.made());
    }

    #[test]
    fn messages_shrink_with_the_budget() {
        assert_eq!(message_bytes(1 << 30, 2, 3), MESSAGE_BYTES);
        assert_eq!(message_bytes(8 << 20, 8, 3), ((8 << 20) / 48) & !4095);
        assert_eq!(message_bytes(0, 8, 3), MESSAGE_BYTES_MIN);
    }
}
