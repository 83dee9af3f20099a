//! A connection from its first byte to its last: the task that owns the socket.
//!
//! ```text
//!  accepted -> startup (TLS, who it is) -> a job makes the session -> reading || writing -> ended
//!                                                                        |
//!                      frames -> Inbox -> a job on the executor (`Conversation::handle`) -> Outbox
//! ```
//! Reading and writing go on side by side, so that a client that sends without reading, or reads without sending, is
//! served as far as the bounds of `link` allow, and one that goes away is noticed while its statement runs: that is
//! cancelled. Between statements the conversation lies in `Parked`, and neither a thread nor a buffer is held.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pgproto::MessageBuffer;
use pgproto::backend::Severity;
use pgproto::frontend::{Decoded, Decoder, Frontend, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;
use types::{Error, SqlState};

use crate::conversation::{Conversation, Flow};
use crate::link::{FAULT, Frame, Link, Next};
use crate::server::{Counted, Phase, Shared};
use crate::startup::{self, Entrance, Login};
use crate::transport::Transport;

/// Bytes of an idle connection's buffer for what it reads.
const IDLE_BYTES: usize = 1 << 10;
/// Bytes of it while much comes.
const BUSY_BYTES: usize = 64 << 10;

/// How often a connection of a server that stops looks whether its statement has ended.
const DRAIN_LOOKS: Duration = Duration::from_millis(5);

/// Where a conversation lies while no job works for it.
type Parked = Arc<Mutex<Option<Box<Conversation>>>>;

/// Serves a client.
pub async fn serve(transport: Transport, shared: Arc<Shared>) {
    let Some(counted) = Counted::new(&shared) else {
        let error = Error::new(SqlState::TooManyConnections, "sorry, too many clients already")
            .with_hint("raise connections_max, or let connections go that are idle");
        return startup::refuse(transport, &error).await;
    };
    let peer = transport.peer();
    let patience = shared.config().authentication_timeout;
    let mut phase = shared.phase.subscribe();
    let entrance = tokio::select! {
        entrance = tokio::time::timeout(patience, startup::enter(transport, &shared)) => entrance,
        () = reaches(&mut phase, Phase::Draining) => return,
    };
    match entrance {
        // The client has not said in time what it wants.
        Err(_) => tracing::info!("{peer} was not let in within {} s", patience.as_secs()),
        Ok(Err(error)) => tracing::debug!("{peer} went away: {error}"),
        Ok(Ok(Entrance::Nobody)) => {}
        Ok(Ok(Entrance::Client(transport, login))) => {
            tracing::debug!("{peer} is {}", login.role);
            converse(transport, *login, &shared).await;
        }
    }
    drop(counted);
}

/// From the login to the end.
async fn converse(transport: Transport, mut login: Login, shared: &Arc<Shared>) {
    let link = Arc::new(Link::default());
    let parked: Parked = Arc::default();
    let jobs = Jobs { shared: shared.clone(), link: link.clone(), parked };
    let rest = std::mem::take(&mut login.rest);
    jobs.open(login);
    let (reader, writer) = tokio::io::split(transport);
    let mut writing = std::pin::pin!(write(writer, &link));
    let ended = tokio::select! {
        ended = read(reader, rest, &jobs) => ended,
        // The conversation is over, or the client has stopped taking bytes.
        () = &mut writing => {
            link.outbox.break_off();
            jobs.close();
            return;
        }
    };
    match ended {
        // What runs is for nobody.
        Ended::ByClient => {
            link.cancel();
            link.outbox.break_off();
            jobs.close();
        }
        // The last words are sent.
        Ended::ByServer => jobs.close(),
    }
    writing.await;
}

/// Why no more is read.
enum Ended {
    /// The socket is closed or broken.
    ByClient,
    /// The server stops, or bytes came that are no message.
    ByServer,
}

/// Takes messages from the socket.
async fn read(mut reader: ReadHalf<Transport>, mut buffer: Vec<u8>, jobs: &Jobs) -> Ended {
    let mut decoder = Decoder::new();
    let limit = jobs.shared.config().message_bytes_max;
    decoder.authenticated(Limits { message_bytes_max: limit });
    let mut phase = jobs.shared.phase.subscribe();
    let (mut start, mut came) = (0, 0);
    loop {
        match decoder.next(&buffer[start..]) {
            Ok(Decoded::Incomplete) => {
                buffer.drain(..start);
                start = 0;
            }
            Ok(Decoded::Message(message, taken)) => {
                let (kind, bytes) = match message {
                    Frontend::CopyData(piece) => (b'd', piece.to_vec()),
                    Frontend::Terminate => return Ended::ByClient,
                    _ => (buffer[start], buffer[start..start + taken].to_vec()),
                };
                start += taken;
                jobs.push(Frame { kind, bytes });
                continue;
            }
            Ok(Decoded::Malformed(_, kind, taken)) => {
                // It is an error of that message, which is told when its turn comes.
                let bytes = buffer[start..start + taken].to_vec();
                start += taken;
                jobs.push(Frame { kind, bytes });
                continue;
            }
            Err(error) => {
                jobs.push(Frame { kind: FAULT, bytes: error.message().as_bytes().to_vec() });
                return Ended::ByServer;
            }
        }
        jobs.link.inbox.has_room().await;
        size(&mut buffer, came);
        let read = tokio::select! {
            read = reader.read_buf(&mut buffer) => Some(read),
            () = reaches(&mut phase, Phase::Draining) => None,
        };
        match read {
            Some(Ok(0) | Err(_)) => return Ended::ByClient,
            Some(Ok(bytes)) => came = bytes,
            None => {
                drain(jobs).await;
                return Ended::ByServer;
            }
        }
    }
}

/// Gives a buffer the room for the next read: little while little comes at a time, more after much.
fn size(buffer: &mut Vec<u8>, came: usize) {
    let wanted = if came >= IDLE_BYTES { BUSY_BYTES } else { IDLE_BYTES };
    match buffer.is_empty() {
        true if buffer.capacity() != wanted => *buffer = Vec::with_capacity(wanted),
        false if buffer.len() == buffer.capacity() => buffer.reserve(buffer.len().max(BUSY_BYTES)),
        _ => {}
    }
}

/// Waits until the server has come so far towards its end.
async fn reaches(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // The sender lives as long as the server's connections do.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

/// The server stops: waits until this connection has nothing under way, and says so.
async fn drain(jobs: &Jobs) {
    let phase = jobs.shared.phase.subscribe();
    while jobs.link.inbox.is_running() {
        if *phase.borrow() == Phase::Stopping {
            jobs.link.cancel();
        }
        tokio::time::sleep(DRAIN_LOOKS).await;
    }
    let mut out = MessageBuffer::new();
    let error = Error::new(SqlState::AdminShutdown, "terminating connection due to administrator command");
    out.report(Severity::Fatal, &error, "");
    jobs.link.outbox.push(out.take());
}

/// Sends what there is to be sent.
async fn write(mut writer: WriteHalf<Transport>, link: &Link) {
    while let Some(chunk) = link.outbox.next().await {
        let sent = match writer.write_all(&chunk).await {
            Ok(()) => writer.flush().await,
            failed => failed,
        };
        if sent.is_err() {
            return;
        }
        link.outbox.sent(chunk.len());
    }
    let _ = writer.shutdown().await;
}

/// Starts jobs for a connection.
struct Jobs {
    shared: Arc<Shared>,
    link: Arc<Link>,
    parked: Parked,
}

impl Jobs {
    /// Has the session made. Frames wait for it. It does not wait for a statement's place: who is let in can see what
    /// keeps all of them, and cancel it.
    fn open(&self, login: Login) {
        let (shared, link, parked) = (self.shared.clone(), self.link.clone(), self.parked.clone());
        self.link.inbox.occupy();
        let job = move || {
            let finish = Finish(Some(link.clone()));
            if let Some(conversation) = Conversation::open(&shared, &link, login) {
                finish.forget();
                lay_down(Box::new(conversation), shared, link, parked);
            }
        };
        // Connections are bounded elsewhere.
        let _ = self.shared.openings.submit(true, Box::new(job));
    }

    fn push(&self, frame: Frame) {
        if frame.ends_unit() {
            self.link.cancel.begin();
        }
        if self.link.inbox.push(frame) {
            self.link.cancel.begin();
            self.start();
        }
    }

    /// No more frames come: the session is let go of, by the job that runs or by one of its own.
    fn close(&self) {
        if self.link.inbox.close() {
            let (conversation, finish) = (self.take(), Finish(Some(self.link.clone())));
            let _ = self.shared.openings.submit(true, Box::new(move || drop((conversation, finish))));
        }
    }

    fn start(&self) {
        // It is there: `Inbox` has said that no job has it.
        let Some(conversation) = self.take() else { return self.link.outbox.finish() };
        resume(conversation, self.shared.clone(), self.link.clone(), self.parked.clone());
    }

    fn take(&self) -> Option<Box<Conversation>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Leaves a conversation where the next frame's job finds it; frames that are there already have one now.
fn lay_down(conversation: Box<Conversation>, shared: Arc<Shared>, link: Arc<Link>, parked: Parked) {
    let mut held = Some(conversation);
    link.inbox.park_if_empty(|| {
        link.cancel.end();
        *parked.lock().unwrap_or_else(PoisonError::into_inner) = held.take();
    });
    if let Some(conversation) = held {
        resume(conversation, shared, link, parked);
    }
}

/// Queues a job for a conversation; one for which there is no room is told so here.
fn resume(mut conversation: Box<Conversation>, shared: Arc<Shared>, link: Arc<Link>, parked: Parked) {
    if !conversation.is_urgent() && shared.executor.is_full() {
        while let Next::Frame(frame) = link.inbox.take_now() {
            if conversation.refuse(&frame) {
                break;
            }
        }
        if !link.inbox.has_frames() {
            return lay_down(conversation, shared, link, parked);
        }
    }
    let executor = shared.executor.clone();
    // It has a place, or is urgent, or a few frames came just now.
    let _ = executor.submit(true, Box::new(move || work(conversation, shared, link, parked)));
}

/// Closes the connection when its job ends in any way that was not meant.
struct Finish(Option<Arc<Link>>);

impl Finish {
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(link) = self.0.take() {
            link.outbox.finish();
        }
    }
}

/// A job: handles frames until none is left.
fn work(conversation: Box<Conversation>, shared: Arc<Shared>, link: Arc<Link>, parked: Parked) {
    let finish = Finish(Some(link.clone()));
    let mut held = Some(conversation);
    loop {
        let next = link.inbox.next_or_park(|| {
            link.cancel.end();
            *parked.lock().unwrap_or_else(PoisonError::into_inner) = held.take();
        });
        let Some(conversation) = &mut held else { return finish.forget() };
        let frame = match next {
            Next::Frame(frame) => frame,
            Next::Closed | Next::Nothing => return,
        };
        match conversation.handle(frame) {
            Flow::Within => {}
            Flow::UnitDone => {
                // Others wait: this connection's next unit stands behind them.
                if link.inbox.has_frames() && shared.executor.is_crowded() {
                    if let Some(conversation) = held.take() {
                        finish.forget();
                        return resume(conversation, shared, link, parked);
                    }
                }
            }
            Flow::Ended => return,
        }
    }
}
