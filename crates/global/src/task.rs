//! Tasks before they run, and what locales of one process hand to each other.
//!
//! A task is a closure with what it captured; it becomes a fiber only when it begins, and only if it may wait. Until then a
//! public one can be taken by any locale of the process. A piece of a loop is a range and a pointer to the loop: splitting
//! one allocates nothing.

use std::ops::Range;
use std::sync::Arc;

use crate::address::LocaleId;
use crate::completion::Note;
use crate::fiber::LocalFuture;
use crate::here::Here;
use crate::packet::EventId;

/// Where a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At any locale of the process: it can be stolen until it begins.
    Public,
    /// At this locale.
    Private,
    /// At this locale, before all others.
    Priority,
    /// At that locale of this process.
    At(LocaleId),
}

/// A loop that was cut into pieces.
pub(crate) trait LoopWork: Send + Sync {
    /// Runs a piece; it was enrolled at `origin`.
    fn piece(self: Arc<Self>, here: &Here, range: Range<u64>, origin: LocaleId);
}

/// Which event is told, at which locale, when a task is over.
pub(crate) type Enrolled = Option<(EventId, LocaleId)>;

pub(crate) enum Task {
    Plain(Box<dyn FnOnce(&Here) + Send>, Enrolled),
    Fiber(Box<dyn FnOnce(Here) -> LocalFuture + Send>, Enrolled),
    Piece(Arc<dyn LoopWork>, Range<u64>, LocaleId),
}

/// From one locale of a process to another.
pub(crate) enum Letter {
    /// Runs at once; a body of a delegate, as a rule.
    Run(Box<dyn FnOnce(&Here) + Send>),
    /// A reply for a slot.
    Reply(u32, u64),
    /// A reply with bytes for a slot.
    ReplyBytes(u32, Vec<u8>),
    /// Of a completion event.
    Note(EventId, LocaleId, Note),
    /// A task for this locale.
    Task(Task),
    /// Messages as bytes, of the same kind as between processes.
    Packed(Vec<u8>),
}
