//! What a query, its runs and their admission ask of the scheduler that they are with. The foreman answers; a trait, so that
//! none of them needs to know it.

use std::sync::Arc;

use workorder::QueryId;

use crate::messages::Control;

/// The scheduler, as its queries see it.
pub(crate) trait Overseer: Send + Sync {
    /// Sends it a message, and returns when that was carried out.
    fn tell(self: Arc<Self>, control: Control);
    /// A query has another priority.
    fn priority_changed(&self, query: QueryId, priority: u32);
    /// A query was paused or goes on.
    fn pause_changed(&self, query: QueryId, paused: bool);
    /// A query's first rows are on their way to its reader.
    fn rows_flow(&self, query: QueryId);
    /// A query was held or let go.
    fn recount(&self);
    /// Wakes up to so many pool threads.
    fn wake(self: Arc<Self>, hands: usize);
    /// Nanoseconds since the scheduler was made.
    fn now(&self) -> u64;
    /// Bytes that the calling thread has taken and not given back.
    fn thread_bytes(&self) -> i64;
    /// The memory node that the calling thread is on, where there are several.
    fn node(&self) -> Option<usize>;
    /// A few rows are about to be computed without admission; `false` while a query needs the memory for itself.
    fn begin_unadmitted(&self) -> bool;
    /// They were.
    fn end_unadmitted(&self);
    /// The number of worker slots.
    fn workers(&self) -> usize;
}
