//! How buffers get from one process to another, behind one trait: queues inside a process here, the multiplexer in
//! `port.rs`. No call waits.
//!
//! A transport promises: a buffer that was sent arrives once, whole, in any order; `try_buffer` gives none when buffers have
//! run out, and some again after the receivers dropped theirs; an error is the end of the program on this node.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use multiplexer::Message;
use sync::Gate;

use crate::error::GlobalError;

/// What connects the processes of a program.
pub trait Transport: Send + Sync {
    /// This process: 0 to `nodes` − 1.
    fn node(&self) -> u16;
    /// All processes.
    fn nodes(&self) -> u16;
    /// Bytes that a buffer holds.
    fn buffer_bytes(&self, urgent: bool) -> usize;
    /// Whom to notify when something came, or a buffer can be had again. Called once, before all else.
    fn attach(&self, gate: Arc<Gate>);
    /// A buffer for this node; none: they have run out for now.
    fn try_buffer(&self, to: u16, urgent: bool) -> Result<Option<Buffer>, GlobalError>;
    /// Sends it.
    fn send(&self, to: u16, buffer: Buffer, urgent: bool) -> Result<(), GlobalError>;
    /// Something that came, and from whom.
    fn receive(&self) -> Result<Option<(u16, Buffer)>, GlobalError>;
}

/// Bytes on their way.
pub enum Buffer {
    /// In this process.
    Own(OwnBuffer),
    /// Of the multiplexer.
    Message(Message),
}

/// A buffer inside a process; dropping it gives its place back.
pub struct OwnBuffer {
    bytes: Vec<u8>,
    limit: usize,
    lent: Arc<AtomicUsize>,
    gate: Option<Arc<Gate>>,
}

impl Drop for OwnBuffer {
    fn drop(&mut self) {
        self.lent.fetch_sub(1, Ordering::SeqCst);
        if let Some(gate) = &self.gate {
            gate.notify(usize::MAX);
        }
    }
}

impl Buffer {
    /// What is in it.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Own(own) => &own.bytes,
            Buffer::Message(message) => message.bytes(),
        }
    }

    /// Adds bytes; false, and nothing added, where they do not fit.
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        match self {
            Buffer::Own(own) if own.bytes.len() + bytes.len() <= own.limit => {
                own.bytes.extend_from_slice(bytes);
                true
            }
            Buffer::Own(_) => false,
            Buffer::Message(message) => message.append(bytes),
        }
    }

    /// Replaces bytes at the beginning.
    pub(crate) fn set_head(&mut self, head: &[u8]) {
        match self {
            Buffer::Own(own) => own.bytes[..head.len()].copy_from_slice(head),
            Buffer::Message(message) => message.space()[..head.len()].copy_from_slice(head),
        }
    }
}

/// Settings of links inside a process.
#[derive(Clone, Copy, Debug)]
pub struct LinkOptions {
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Buffers that may be on their way from one node to another.
    pub buffers: usize,
    /// How long a buffer is on its way, at least: a stand-in for a network's latency.
    pub delay: Duration,
}

impl Default for LinkOptions {
    fn default() -> Self {
        LinkOptions { buffer_bytes: 64 << 10, buffers: 16, delay: Duration::ZERO }
    }
}

struct Waiting {
    from: u16,
    due: Option<Instant>,
    buffer: OwnBuffer,
}

struct Shared {
    options: LinkOptions,
    /// By destination: urgent ones, others.
    queues: Vec<Mutex<(VecDeque<Waiting>, VecDeque<Waiting>)>>,
    gates: Vec<OnceLock<Arc<Gate>>>,
    /// By source and destination.
    lent: Vec<Vec<Arc<AtomicUsize>>>,
}

/// One node's end of links inside a process: for tests, studies, and several runtimes in one process.
pub struct Link {
    node: u16,
    shared: Arc<Shared>,
}

impl Link {
    /// The ends of links between so many nodes, in order.
    pub fn connect(nodes: u16, options: LinkOptions) -> Vec<Link> {
        let counts = || (0..nodes).map(|_| Arc::default()).collect();
        let shared = Arc::new(Shared {
            options,
            queues: (0..nodes).map(|_| Mutex::default()).collect(),
            gates: (0..nodes).map(|_| OnceLock::new()).collect(),
            lent: (0..nodes).map(|_| counts()).collect(),
        });
        (0..nodes).map(|node| Link { node, shared: Arc::clone(&shared) }).collect()
    }

    /// Buffers of this node that are filled, on their way, or not dropped by their receivers.
    pub fn lent(&self) -> usize {
        self.shared.lent[usize::from(self.node)].iter().map(|count| count.load(Ordering::SeqCst)).sum()
    }

    fn queue(&self, node: u16) -> MutexGuard<'_, (VecDeque<Waiting>, VecDeque<Waiting>)> {
        self.shared.queues[usize::from(node)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Link {
    fn node(&self) -> u16 {
        self.node
    }

    fn nodes(&self) -> u16 {
        self.shared.gates.len() as u16
    }

    fn buffer_bytes(&self, _urgent: bool) -> usize {
        self.shared.options.buffer_bytes
    }

    fn attach(&self, gate: Arc<Gate>) {
        let _ = self.shared.gates[usize::from(self.node)].set(gate);
    }

    fn try_buffer(&self, to: u16, urgent: bool) -> Result<Option<Buffer>, GlobalError> {
        let lent = &self.shared.lent[usize::from(self.node)][usize::from(to)];
        // Urgent messages have a place of their own.
        let most = self.shared.options.buffers + usize::from(urgent);
        if lent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < most).then_some(n + 1)).is_err() {
            return Ok(None);
        }
        let gate = self.shared.gates[usize::from(self.node)].get().cloned();
        let limit = self.shared.options.buffer_bytes;
        Ok(Some(Buffer::Own(OwnBuffer { bytes: Vec::new(), limit, lent: Arc::clone(lent), gate })))
    }

    fn send(&self, to: u16, buffer: Buffer, urgent: bool) -> Result<(), GlobalError> {
        let Buffer::Own(buffer) = buffer else {
            return Err(GlobalError::Malformed { what: "a buffer of another transport" });
        };
        let delay = self.shared.options.delay;
        let due = (!delay.is_zero()).then(|| Instant::now() + delay);
        let waiting = Waiting { from: self.node, due, buffer };
        let mut queue = self.queue(to);
        if urgent {
            queue.0.push_back(waiting)
        } else {
            queue.1.push_back(waiting)
        }
        drop(queue);
        if let Some(gate) = self.shared.gates[usize::from(to)].get() {
            gate.notify(usize::MAX);
        }
        Ok(())
    }

    fn receive(&self) -> Result<Option<(u16, Buffer)>, GlobalError> {
        let mut queue = self.queue(self.node);
        let now = (!self.shared.options.delay.is_zero()).then(Instant::now);
        let is_due = |waiting: &Waiting| waiting.due.zip(now).is_none_or(|(due, now)| due <= now);
        let first = if queue.0.front().is_some_and(is_due) {
            queue.0.pop_front()
        } else if queue.1.front().is_some_and(is_due) {
            queue.1.pop_front()
        } else {
            None
        };
        Ok(first.map(|waiting| (waiting.from, Buffer::Own(waiting.buffer))))
    }
}
