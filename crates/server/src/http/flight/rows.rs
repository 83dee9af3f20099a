//! A body of Flight's messages that a job writes: through a bounded channel, with the end said.
//!
//! ```text
//!  a job: Rows --2 MB messages--> channel of 4 --> Sent --> the connection
//!                                                    |
//!                                                    dropped: the job's statement is cancelled
//! ```
//! A job that finds the channel full lends its place to others, and looks for a cancel meanwhile: a client that stands
//! still can be cancelled from another connection. What it has been sent until then is followed by the error.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow_flight::FlightData;
use engine::{Error, Result, SqlState};
use futures_util::Stream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::Status;

use super::status::status;
use crate::executor::Executor;
use crate::http::jobs::{Cancel, CancelOnDrop};

/// Messages that wait for the connection.
const MESSAGES_MAX: usize = 4;
/// How long a job that waits for its client goes without a look for a cancel.
const LOOKS: Duration = Duration::from_millis(20);

enum Piece {
    Message(FlightData),
    End,
    Failed(Status),
}

/// The body of an answer.
pub struct Sent {
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
    _cancel: CancelOnDrop,
}

impl Stream for Sent {
    type Item = std::result::Result<FlightData, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.pieces.poll_recv(context).map(|piece| match piece {
            Some(Piece::Message(message)) => Some(Ok(message)),
            Some(Piece::End) => {
                self.ended = true;
                None
            }
            Some(Piece::Failed(status)) => {
                self.ended = true;
                Some(Err(status))
            }
            // The job has ended without a word: it was cancelled while it waited for room.
            None => {
                self.ended = true;
                Some(Err(status(&cancelled(), "")))
            }
        })
    }
}

/// The error of what was cancelled.
pub fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

/// Where a job writes.
pub struct Rows {
    pieces: mpsc::Sender<Piece>,
    executor: Executor,
    runtime: Handle,
    cancel: Cancel,
}

impl Rows {
    /// A body, and what writes it.
    pub fn new(executor: Executor, runtime: Handle, cancel: &Cancel) -> (Rows, Sent) {
        let (sender, pieces) = mpsc::channel(MESSAGES_MAX);
        let sent = Sent { pieces, ended: false, _cancel: CancelOnDrop::new(cancel) };
        (Rows { pieces: sender, executor, runtime, cancel: cancel.clone() }, sent)
    }

    /// Sends a message, once there is room.
    pub fn send(&self, message: FlightData) -> Result<()> {
        self.push(Piece::Message(message))
    }

    /// Ends the body: all was sent, or an error.
    pub fn end(self, outcome: Result<()>, sql: &str) {
        // Where the client has gone there is nobody to tell.
        _ = self.push(match outcome {
            Ok(()) => Piece::End,
            Err(error) => Piece::Failed(status(&error, sql)),
        });
    }

    fn push(&self, piece: Piece) -> Result<()> {
        let gone = || Error::new(SqlState::QueryCanceled, "the client has gone away");
        match self.pieces.try_reserve() {
            Ok(place) => return Ok(place.send(piece)),
            Err(mpsc::error::TrySendError::Closed(())) => return Err(gone()),
            Err(mpsc::error::TrySendError::Full(())) => {}
        }
        let place = self.executor.client_wait(|| {
            loop {
                let waited =
                    self.runtime.block_on(async { tokio::time::timeout(LOOKS, self.pieces.reserve()).await });
                match waited {
                    Ok(Ok(place)) => return Ok(place),
                    Ok(Err(_)) => return Err(gone()),
                    Err(_) if self.cancel.is_raised() => return Err(cancelled()),
                    Err(_) => {}
                }
            }
        })?;
        place.send(piece);
        Ok(())
    }
}
