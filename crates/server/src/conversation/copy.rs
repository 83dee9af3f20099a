//! COPY over the connection: rows that the client sends, and rows that it is sent, as the engine writes and reads them.
//! COPY in PostgreSQL's own forms is `wire_copy`, which reads what comes by the same reader.
//!
//! ```text
//!  COPY FROM STDIN   -> CopyInResponse    CopyData* (CopyDone | CopyFail) ->  rows as the engine reads them
//!  COPY TO STDOUT    -> CopyOutResponse, CopyData*, CopyDone
//! ```
//! Rows that come are read from the connection's inbox by the thread that runs the statement; while none are there, its
//! place on the executor is another's. After an error the rest of what the client sends is no part of any statement,
//! and is passed over where messages are handled, up to CopyDone and beyond.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::CopyStreams;
use pgproto::Format;
use types::{Error, SqlState};

use super::output::{CopyWriter, Output, cancelled};
use crate::link::{Link, Next};
use crate::server::Shared;

/// How often a COPY that waits for rows looks whether it is to go on.
const WAIT: Duration = Duration::from_millis(20);

/// What a session's COPY reads and writes.
pub struct ClientStreams {
    link: Arc<Link>,
    shared: Arc<Shared>,
    output: Arc<Output>,
    state: Arc<Mutex<CopyState>>,
}

/// What is known of the COPY that runs.
#[derive(Default)]
pub struct CopyState {
    /// It writes: CopyDone is to be said at its end.
    pub writes: bool,
    /// Why its input has failed.
    pub failure: Option<Error>,
}

fn locked(state: &Mutex<CopyState>) -> MutexGuard<'_, CopyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClientStreams {
    /// Of a connection, and what is known of its COPY.
    pub fn new(
        link: &Arc<Link>,
        shared: &Arc<Shared>,
        output: &Arc<Output>,
    ) -> (ClientStreams, Arc<Mutex<CopyState>>) {
        let state: Arc<Mutex<CopyState>> = Arc::default();
        let streams = ClientStreams {
            link: link.clone(),
            shared: shared.clone(),
            output: output.clone(),
            state: state.clone(),
        };
        (streams, state)
    }
}

/// Forgets a COPY that has ended: whether it wrote, and what its client did wrong.
pub fn ended(state: &Mutex<CopyState>) -> (bool, Option<Error>) {
    let CopyState { writes, failure } = std::mem::take(&mut *locked(state));
    (writes, failure)
}

impl CopyStreams for ClientStreams {
    fn input(&self, text: bool) -> io::Result<Box<dyn Read + Send>> {
        let format = if text { Format::Text } else { Format::Binary };
        self.output.messages().copy_in_response(format, 0).map_err(io::Error::other)?;
        self.output.send();
        Ok(Box::new(ClientReader::new(&self.link, &self.shared, &self.state)))
    }

    fn output(&self) -> io::Result<Box<dyn Write + Send>> {
        self.output.messages().copy_out_response(Format::Text, 0).map_err(io::Error::other)?;
        locked(&self.state).writes = true;
        Ok(Box::new(CopyWriter::new(self.output.clone())))
    }
}

/// Rows as they come from the client.
pub(super) struct ClientReader {
    link: Arc<Link>,
    shared: Arc<Shared>,
    state: Arc<Mutex<CopyState>>,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl ClientReader {
    /// Of a connection, and of what is known of its COPY.
    pub(super) fn new(link: &Arc<Link>, shared: &Arc<Shared>, state: &Arc<Mutex<CopyState>>) -> ClientReader {
        let (link, shared, state) = (link.clone(), shared.clone(), state.clone());
        ClientReader { link, shared, state, piece: Vec::new(), at: 0, ended: false }
    }

    fn fail(&mut self, error: Error) -> io::Error {
        let told = io::Error::other(error.message().to_owned());
        locked(&self.state).failure = Some(error);
        self.ended = true;
        told
    }

    /// The next message, for which the client is waited for.
    fn next(&self) -> Next {
        match self.link.inbox.take_now() {
            Next::Nothing => {
                // Rows come by the socket's task.
                self.link.direct.give_back();
                self.shared.executor.client_wait(|| self.link.inbox.wait(WAIT))
            }
            next => next,
        }
    }
}

impl Read for ClientReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() && !self.ended {
            if self.link.cancel.is_raised() {
                return Err(self.fail(cancelled()));
            }
            let frame = match self.next() {
                Next::Frame(frame) => frame,
                // The engine asks again unless the statement was stopped.
                Next::Nothing => return Err(io::ErrorKind::WouldBlock.into()),
                Next::Closed => {
                    let message = "unexpected EOF on client connection with an open transaction";
                    return Err(self.fail(Error::new(SqlState::ConnectionFailure, message)));
                }
            };
            match frame.kind {
                b'd' => (self.piece, self.at) = (frame.bytes, 0),
                b'c' => self.ended = true,
                b'f' => {
                    let reason = frame.bytes.get(5..frame.bytes.len().saturating_sub(1)).unwrap_or_default();
                    let reason = String::from_utf8_lossy(reason);
                    let message = format!("COPY from stdin failed: {reason}");
                    return Err(self.fail(Error::new(SqlState::QueryCanceled, message)));
                }
                // Clients of the extended protocol may send these before they know that a COPY runs.
                b'H' | b'S' => {}
                other => {
                    let message = format!("unexpected message type 0x{other:02X} during COPY from stdin");
                    return Err(self.fail(Error::new(SqlState::ProtocolViolation, message)));
                }
            }
        }
        let piece = &self.piece[self.at..];
        let length = piece.len().min(into.len());
        into[..length].copy_from_slice(&piece[..length]);
        self.at += length;
        Ok(length)
    }
}
