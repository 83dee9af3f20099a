//! What a conversation has to say, until it is sent.
//!
//! Messages are gathered and leave at the end of a unit of work, with one send; of a large result a chunk leaves when
//! it is full. A chunk that finds too many bytes waiting waits until the client has read some, and meanwhile the
//! statement's place on the executor is another's. So a reader that stands still costs a bounded number of bytes, and
//! a cancel reaches a statement that is blocked in sending.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pgproto::MessageBuffer;
use types::{Error, Result, SqlState};

use crate::link::Link;
use crate::server::Shared;

/// Bytes of a chunk that leaves before the unit's end.
pub const CHUNK_BYTES: usize = 128 << 10;

/// Memory for answers that a connection keeps between them.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Messages on their way to the client; the statements of a session and its COPY share it.
pub struct Output {
    buffer: Mutex<MessageBuffer>,
    link: Arc<Link>,
    shared: Arc<Shared>,
    unsent_bytes_max: usize,
}

impl Output {
    /// Of a connection.
    pub fn new(link: &Arc<Link>, shared: &Arc<Shared>) -> Output {
        Output {
            buffer: Mutex::default(),
            link: link.clone(),
            shared: shared.clone(),
            unsent_bytes_max: shared.config().unsent_bytes_max,
        }
    }

    /// The messages, locked, to append to.
    pub fn messages(&self) -> MutexGuard<'_, MessageBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends everything.
    pub fn send(&self) {
        let chunk = self.messages().take();
        let room = self.link.send(chunk);
        if (1..=KEPT_BYTES_MAX).contains(&room.capacity()) {
            self.messages().put_room(room);
        }
    }

    /// Sends what fills a chunk, and waits for a client that has too much unread. Fails when the statement is cancelled
    /// meanwhile, or the client gone.
    pub fn relieve(&self) -> Result<()> {
        let (outbox, cancel) = (&self.link.outbox, &self.link.cancel);
        if cancel.is_raised() {
            return Err(cancelled());
        }
        if self.messages().len() < CHUNK_BYTES {
            return Ok(());
        }
        self.send();
        let gone = |_| Error::new(SqlState::ConnectionFailure, "the client has closed the connection");
        if !outbox.has_room(self.unsent_bytes_max).map_err(gone)? {
            let wait = || outbox.wait_for_room(self.unsent_bytes_max / 2, || cancel.is_raised());
            self.shared.executor.client_wait(wait).map_err(gone)?;
            if cancel.is_raised() {
                return Err(cancelled());
            }
        }
        Ok(())
    }
}

/// What a statement says that was cancelled.
pub fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

/// COPY's rows on their way to the client.
pub struct CopyWriter {
    output: Arc<Output>,
}

impl CopyWriter {
    /// Onto a conversation's output.
    pub fn new(output: Arc<Output>) -> CopyWriter {
        CopyWriter { output }
    }
}

impl io::Write for CopyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A message has as many bytes as a chunk, so that no writer's size makes the buffer grow.
        let piece = &bytes[..bytes.len().min(CHUNK_BYTES)];
        if !piece.is_empty() {
            self.output.messages().copy_data(piece);
            self.output.relieve().map_err(io::Error::other)?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
