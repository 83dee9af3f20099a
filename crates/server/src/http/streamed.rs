//! Bodies that jobs write: bytes through a bounded channel, with the end said.
//!
//! ```text
//!  a job: Out --256 KB pieces--> channel of 4 --> Streamed --> the connection
//!           |                                        |
//!           first piece: the answer's head           dropped: the job's statement is cancelled
//! ```
//! The answer's head goes out with the first piece, or with the end where there is no piece before: an error that comes
//! earlier is an answer of its own. One that comes later breaks the body off, so that no client takes a part for the whole.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

use super::fault::Fault;
use super::jobs::CancelOnDrop;
use crate::executor::Executor;

/// Bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that wait for the connection.
const PIECES_MAX: usize = 4;

/// What a body is made of.
pub enum Piece {
    /// Bytes.
    Bytes(Bytes),
    /// There are no more, and all were there.
    End,
}

/// A body's pieces as they come. Without an end it is broken off.
pub struct Streamed {
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
    _cancel: Option<CancelOnDrop>,
}

impl Streamed {
    /// A body, and where its pieces go.
    pub fn new(cancel: Option<CancelOnDrop>, pieces_max: usize) -> (mpsc::Sender<Piece>, Streamed) {
        let (sender, pieces) = mpsc::channel(pieces_max);
        (sender, Streamed { pieces, ended: false, _cancel: cancel })
    }
}

impl hyper::body::Body for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.pieces.poll_recv(context).map(|piece| match piece {
            Some(Piece::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => {
                self.ended = true;
                None
            }
            None => {
                self.ended = true;
                Some(Err(io::ErrorKind::BrokenPipe.into()))
            }
        })
    }
}

/// Where a job's answer goes: its head, once, or an error.
pub type HeadSender = oneshot::Sender<Result<Response, Fault>>;

/// The writer of a job's answer.
pub struct Out {
    executor: Executor,
    head: Option<(HeadSender, Response)>,
    pieces: mpsc::Sender<Piece>,
    buffer: Vec<u8>,
}

impl Out {
    /// An answer of this type, whose head has not gone out.
    pub fn new(
        executor: Executor,
        head: HeadSender,
        content_type: &'static str,
        cancel: CancelOnDrop,
    ) -> Out {
        let (pieces, body) = Streamed::new(Some(cancel), PIECES_MAX);
        let mut response = Response::new(Body::new(body));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        Out { executor, head: Some((head, response)), pieces, buffer: Vec::new() }
    }

    /// Ends the answer with an error: as the answer itself where nothing of it has gone out.
    pub fn fail(mut self, fault: Fault) {
        if let Some((head, _)) = self.head.take() {
            let _ = head.send(Err(fault));
        }
    }

    /// Ends the answer.
    pub fn end(mut self) -> io::Result<()> {
        self.send()?;
        self.push(Piece::End)
    }

    fn send(&mut self) -> io::Result<()> {
        if let Some((head, response)) = self.head.take() {
            head.send(Ok(response)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        match self.buffer.is_empty() {
            true => Ok(()),
            false => {
                let bytes = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE_BYTES)).into();
                self.push(Piece::Bytes(bytes))
            }
        }
    }

    fn push(&self, piece: Piece) -> io::Result<()> {
        let waiting = match self.pieces.try_send(piece) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Full(piece)) => piece,
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        // Others work while the client reads.
        let sent = self.executor.client_wait(|| self.pieces.blocking_send(waiting));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
