//! What the two halves of a connection share: the socket's task puts frames in and takes bytes out, the statement's
//! thread does the opposite.
//!
//! ```text
//!  socket task   --frames-->  Inbox   --next-->  statement's thread   --bytes-->  Outbox   --chunks-->  socket task
//!                bounded: the task stops reading        bounded: the thread waits (executor::client_wait)
//! ```
//! *Who runs*: `Inbox::running` says whether a job of this connection is on the executor or queued there. It is set
//! by the task that puts in a frame which ends a unit of work, and cleared by the job, under the same lock, when no
//! frame is left: no frame is ever left without somebody to look at it, and no two jobs serve one connection.
//!
//! *Cancel*: `Cancel::begin` and `end` enclose a unit of work, from when it is queued to when its answer is complete.
//! A request that comes outside finds nothing to cancel, and one that comes inside raises a flag that the engine's tick
//! reads; so it neither misses a statement that is queued or about to begin, nor hits the next one. Whoever waits for
//! the client is woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use engine::Session;
use tokio::sync::Notify;

use crate::direct::Direct;

/// Bytes of frames that wait for a statement, beyond which the socket is not read; a frame may exceed it.
const INBOX_BYTES_MAX: usize = 1 << 20;
/// Chunks up to this are put together, so that what waits anyway leaves with one call.
const MERGED_BYTES_MAX: usize = 64 << 10;

/// Frames that an idle connection keeps room for.
const KEPT_FRAMES_MAX: usize = 8;

/// One message as it came.
#[derive(Debug)]
pub struct Frame {
    /// The message's type; [`FAULT`] for what ends the connection.
    pub kind: u8,
    /// All of its bytes; of CopyData the rows without type and length; of a fault what is wrong.
    pub bytes: Vec<u8>,
}

/// The type of a frame that stands for bytes which are no message.
pub const FAULT: u8 = 0;

impl Frame {
    /// Whether the client waits for an answer once it has sent this: Query, Sync, Flush, FunctionCall, Terminate, and
    /// what ends a COPY.
    pub fn ends_unit(&self) -> bool {
        matches!(self.kind, FAULT | b'Q' | b'S' | b'H' | b'F' | b'X' | b'c' | b'f')
    }

    fn cost(&self) -> usize {
        self.bytes.len() + size_of::<Frame>()
    }
}

/// What the connection's two halves share.
#[derive(Default)]
pub struct Link {
    /// From the client.
    pub inbox: Inbox,
    /// To the client.
    pub outbox: Outbox,
    /// What reaches statements from outside.
    pub cancel: Cancel,
    /// The socket, while the statement's thread has it.
    pub direct: Direct,
    /// Another session has told this one to end.
    pub terminated: Notify,
}

/// Frames that came and were not looked at yet.
#[derive(Default)]
pub struct Inbox {
    state: Mutex<InboxState>,
    arrived: Condvar,
    room: Notify,
}

#[derive(Default)]
struct InboxState {
    frames: VecDeque<Frame>,
    bytes: usize,
    running: bool,
    closed: bool,
    /// A job waits for a frame. A condition variable that nothing waits for costs a system call all the same.
    awaited: bool,
}

/// What there is for a job.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Frame(Frame),
    /// None, and none will come.
    Closed,
    /// None now.
    Nothing,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// Puts a frame in. True when a job has to be started for it.
    pub fn push(&self, frame: Frame) -> bool {
        let mut state = locked(&self.state);
        let starts = !state.running && (frame.ends_unit() || state.bytes > INBOX_BYTES_MAX / 2);
        state.running |= starts;
        state.bytes += frame.cost();
        state.frames.push_back(frame);
        if state.awaited {
            self.arrived.notify_one();
        }
        starts
    }

    /// As `push`, for the job that runs: all frames of a unit of work, which it then finds together.
    pub fn push_all(&self, frames: Vec<Frame>) {
        let mut state = locked(&self.state);
        state.bytes += frames.iter().map(Frame::cost).sum::<usize>();
        state.frames.extend(frames);
    }

    /// A job is about to be started that needs no frame.
    pub fn occupy(&self) {
        locked(&self.state).running = true;
    }

    /// No frame comes any more. True when no job runs, so that the caller ends the conversation.
    pub fn close(&self) -> bool {
        let mut state = locked(&self.state);
        state.closed = true;
        self.arrived.notify_one();
        !std::mem::replace(&mut state.running, true)
    }

    /// Waits until more may be read from the socket.
    pub async fn has_room(&self) {
        while locked(&self.state).bytes > INBOX_BYTES_MAX {
            self.room.notified().await;
        }
    }

    /// The next frame for the job that runs. When there is none, `park` is called under the lock and the job has ended.
    pub fn next_or_park(&self, park: impl FnOnce()) -> Next {
        let mut state = locked(&self.state);
        match self.take(&mut state) {
            Next::Nothing => {
                state.running = false;
                park();
                Next::Nothing
            }
            next => next,
        }
    }

    /// Ends a job that has taken no frame: `park` is called under the lock, unless a frame has come or none will.
    pub fn park_if_empty(&self, park: impl FnOnce()) {
        let mut state = locked(&self.state);
        if state.frames.is_empty() && !state.closed {
            state.running = false;
            park();
        }
    }

    /// A frame that has come, if any.
    pub fn take_now(&self) -> Next {
        self.take(&mut locked(&self.state))
    }

    /// As `next_or_park`, for a job that stays: waits for so long.
    pub fn wait(&self, patience: Duration) -> Next {
        let mut state = locked(&self.state);
        if state.frames.is_empty() && !state.closed {
            state.awaited = true;
            state = self.arrived.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
            state.awaited = false;
        }
        self.take(&mut state)
    }

    /// Whether no more frames come.
    pub fn is_closed(&self) -> bool {
        locked(&self.state).closed
    }

    /// Whether a job of this connection runs or is queued.
    pub fn is_running(&self) -> bool {
        locked(&self.state).running
    }

    /// Whether what waits is the rest of a pipeline that executes one statement: one Execute, then Sync, and what only
    /// describes.
    pub fn has_one_execute(&self) -> bool {
        let state = locked(&self.state);
        let mut executes = 0;
        for frame in &state.frames {
            match frame.kind {
                b'D' => {}
                b'E' => executes += 1,
                b'S' => return executes == 1,
                _ => return false,
            }
        }
        false
    }

    /// Whether a frame waits.
    pub fn has_frames(&self) -> bool {
        !locked(&self.state).frames.is_empty()
    }

    fn take(&self, state: &mut InboxState) -> Next {
        let Some(frame) = state.frames.pop_front() else {
            return if state.closed { Next::Closed } else { Next::Nothing };
        };
        let before = state.bytes;
        state.bytes -= frame.cost();
        if before > INBOX_BYTES_MAX && state.bytes <= INBOX_BYTES_MAX {
            self.room.notify_one();
        }
        if state.frames.is_empty() && state.frames.capacity() > KEPT_FRAMES_MAX {
            state.frames = VecDeque::new();
        }
        Next::Frame(frame)
    }
}

/// Bytes that wait to be sent.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    room: Condvar,
    filled: Notify,
}

#[derive(Default)]
struct OutboxState {
    chunks: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The conversation is over.
    finished: bool,
    /// The client is gone, or nobody writes any more.
    broken: bool,
    /// Threads that wait for room.
    waiting: usize,
}

/// The client is gone.
#[derive(Debug)]
pub struct Gone;

impl Outbox {
    /// Whether nothing is to be sent, and the conversation goes on.
    pub fn is_empty(&self) -> bool {
        let state = locked(&self.state);
        state.bytes == 0 && !state.finished && !state.broken
    }

    /// Puts a chunk in, whatever is there already.
    pub fn push(&self, chunk: Vec<u8>) {
        let mut state = locked(&self.state);
        if state.broken || chunk.is_empty() {
            return;
        }
        state.bytes += chunk.len();
        match state.chunks.back_mut() {
            Some(last) if last.len() + chunk.len() <= MERGED_BYTES_MAX => last.extend_from_slice(&chunk),
            _ => state.chunks.push_back(chunk),
        }
        self.filled.notify_one();
    }

    /// Whether there is room for more beside what waits; fails when nobody will read it.
    pub fn has_room(&self, bytes_max: usize) -> Result<bool, Gone> {
        let state = locked(&self.state);
        if state.broken { Err(Gone) } else { Ok(state.bytes <= bytes_max) }
    }

    /// Waits until there is room, `stopped` holds or the client is gone.
    pub fn wait_for_room(&self, bytes_max: usize, stopped: impl Fn() -> bool) -> Result<(), Gone> {
        let mut state = locked(&self.state);
        while !state.broken && state.bytes > bytes_max && !stopped() {
            state.waiting += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        if state.broken { Err(Gone) } else { Ok(()) }
    }

    /// Wakes who waits for room.
    fn wake(&self) {
        let _state = locked(&self.state);
        self.room.notify_all();
    }

    /// Nothing more is put in.
    pub fn finish(&self) {
        locked(&self.state).finished = true;
        self.filled.notify_one();
    }

    /// Nothing more is taken out: who waits for room is told.
    pub fn break_off(&self) {
        let mut state = locked(&self.state);
        state.broken = true;
        state.chunks = VecDeque::new();
        state.bytes = 0;
        self.room.notify_all();
        self.filled.notify_one();
    }

    /// The next chunk to send; `None` after the last.
    pub async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = locked(&self.state);
                if let Some(chunk) = state.chunks.pop_front() {
                    if state.chunks.is_empty() {
                        state.chunks = VecDeque::new();
                    }
                    return Some(chunk);
                }
                if state.finished || state.broken {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }

    /// So many bytes were sent.
    pub fn sent(&self, bytes: usize) {
        let mut state = locked(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.waiting > 0 {
            self.room.notify_all();
        }
    }
}

/// How statements are stopped from outside.
#[derive(Default)]
pub struct Cancel {
    /// Held while `active` or `raised` change.
    session: Mutex<Weak<Session>>,
    active: AtomicBool,
    raised: Arc<AtomicBool>,
}

impl Cancel {
    /// The session whose statements are stopped. Its tick looks at the flag from now on, and calls `meanwhile`.
    pub fn watch(&self, session: &Arc<Session>, meanwhile: impl Fn() + Send + Sync + 'static) {
        *locked(&self.session) = Arc::downgrade(session);
        let raised = self.raised.clone();
        session.set_tick(move || {
            meanwhile();
            match raised.load(Ordering::Acquire) {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            }
        });
    }

    /// A unit of work begins: it can be cancelled.
    pub fn begin(&self) {
        let _session = locked(&self.session);
        self.active.store(true, Ordering::Release);
    }

    /// As `begin`, for the job, which alone calls `end`: mostly it has begun.
    pub fn begin_within(&self) {
        if !self.active.load(Ordering::Acquire) {
            self.begin();
        }
    }

    /// Its answer is complete: it cannot be cancelled any more, and what was raised for it is forgotten.
    pub fn end(&self) {
        let _session = locked(&self.session);
        self.active.store(false, Ordering::Release);
        self.raised.store(false, Ordering::Release);
    }

    /// The error of a cancelled statement has been told: further statements of the unit run.
    pub fn told(&self) {
        if self.is_raised() {
            let _session = locked(&self.session);
            self.raised.store(false, Ordering::Release);
        }
    }

    /// Whether the unit was cancelled.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }
}

impl Link {
    /// Sends bytes: at once where the socket is lent, by its task otherwise.
    /// Gives back the memory that an answer was in, where that is free again.
    pub fn send(&self, mut chunk: Vec<u8>) -> Vec<u8> {
        if self.direct.send(&mut chunk) {
            return chunk;
        }
        self.outbox.push(chunk);
        Vec::new()
    }

    /// Cancels what runs or is queued; false when nothing does.
    pub fn cancel(&self) -> bool {
        {
            let session = locked(&self.cancel.session);
            if !self.cancel.active.load(Ordering::Acquire) {
                return false;
            }
            self.cancel.raised.store(true, Ordering::Release);
            if let Some(session) = session.upgrade() {
                session.interrupt();
            }
        }
        self.outbox.wake();
        // A COPY that waits for rows looks at the flag.
        let _state = locked(&self.inbox.state);
        self.inbox.arrived.notify_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8) -> Frame {
        Frame { kind, bytes: vec![0; 10] }
    }

    #[test]
    fn a_job_starts_with_the_frame_that_ends_a_unit_and_only_once() {
        let inbox = Inbox::default();
        assert!(!inbox.push(frame(b'P')) && !inbox.push(frame(b'B')));
        assert!(inbox.push(frame(b'S')));
        assert!(!inbox.push(frame(b'Q')));
        for expected in *b"PBSQ" {
            let next = inbox.next_or_park(|| panic!("there are frames"));
            assert!(matches!(next, Next::Frame(Frame { kind, .. }) if kind == expected));
        }
        let mut parked = false;
        assert!(matches!(inbox.next_or_park(|| parked = true), Next::Nothing));
        assert!(parked && inbox.push(frame(b'Q')));
    }

    #[test]
    fn a_cancel_reaches_the_unit_under_way_alone() {
        let link = Link::default();
        assert!(!link.cancel() && !link.cancel.is_raised());
        link.cancel.begin();
        assert!(link.cancel() && link.cancel.is_raised());
        link.cancel.end();
        assert!(!link.cancel() && !link.cancel.is_raised());
        link.cancel.begin();
        assert!(!link.cancel.is_raised());
    }

    #[test]
    fn who_waits_for_a_reader_is_woken_by_a_cancel_and_by_the_readers_end() {
        for ends in [true, false] {
            let link = Arc::new(Link::default());
            link.cancel.begin();
            link.outbox.push(vec![0; 100]);
            let waiter = link.clone();
            let thread =
                std::thread::spawn(move || waiter.outbox.wait_for_room(10, || waiter.cancel.is_raised()));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!thread.is_finished());
            if ends {
                link.outbox.break_off()
            } else {
                assert!(link.cancel())
            }
            assert_eq!(thread.join().unwrap().is_err(), ends);
        }
    }

    #[test]
    fn small_chunks_leave_together() {
        let outbox = Outbox::default();
        outbox.push(vec![1; 10]);
        outbox.push(vec![2; 10]);
        outbox.push(vec![3; MERGED_BYTES_MAX]);
        outbox.finish();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let sizes = runtime.block_on(async {
            let mut sizes = Vec::new();
            while let Some(chunk) = outbox.next().await {
                sizes.push(chunk.len());
            }
            sizes
        });
        assert_eq!(sizes, [20, MERGED_BYTES_MAX]);
    }
}
