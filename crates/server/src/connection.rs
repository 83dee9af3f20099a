//! A connection from its first byte to its last: the task that owns the socket.
//!
//! ```text
//!  accepted -> startup (TLS, who it is) -> a job makes the session -> reading || writing -> ended
//!                                                                        |
//!                      frames -> Inbox -> a job on the executor (`Conversation::handle`) -> Outbox
//! ```
//! Reading and writing go on side by side, so that a client that sends without reading, or reads without sending, is
//! served as far as the bounds of `link` allow, and one that goes away is noticed while its statement runs: that is
//! cancelled. Between statements the conversation lies in `Parked`, and neither a thread nor a buffer is held. The socket
//! of a client that sends one short statement after another is lent to the job meanwhile (`direct`).

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pgproto::MessageBuffer;
use pgproto::backend::Severity;
use pgproto::frontend::{Decoder, Framed, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use types::{Error, SqlState};

use crate::conversation::{Conversation, Flow};
use crate::direct::{self, Direct, Plain, Received};
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

/// How long the last words to a client may take.
const LAST_WORDS_MAX: Duration = Duration::from_secs(10);

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
    let lends = !transport.is_encrypted();
    let mut transport = transport;
    let mut unread = rest;
    loop {
        let (mut reader, mut writer) = tokio::io::split(transport);
        {
            let mut writing = std::pin::pin!(write(&mut writer, &link));
            let ended = tokio::select! {
                ended = read(&mut reader, &mut unread, lends, &jobs) => ended,
                // The conversation is over, or the client has stopped taking bytes.
                () = &mut writing => {
                    link.outbox.break_off();
                    jobs.close();
                    return;
                }
            };
            match ended {
                Ended::Busy => {}
                // What runs is for nobody.
                Ended::ByClient => {
                    jobs.abandon();
                    return writing.await;
                }
                Ended::Terminated => {
                    let mut phase = shared.phase.subscribe();
                    jobs.close();
                    let ended = tokio::select! {
                        () = &mut writing => true,
                        () = reaches(&mut phase, Phase::Stopping) => false,
                        () = link.terminated.notified() => false,
                    };
                    if !ended {
                        link.cancel();
                    }
                    // A client that closed its socket, too, takes nothing: what waits to be sent is told.
                    return link.outbox.break_off();
                }
                // The last words are sent, to a client that reads them.
                Ended::ByServer => {
                    jobs.close();
                    if tokio::time::timeout(LAST_WORDS_MAX, writing).await.is_err() {
                        link.outbox.break_off();
                    }
                    return;
                }
            }
        }
        let Ok((socket, bytes)) = lend(reader.unsplit(writer), unread, &jobs).await else {
            return jobs.abandon();
        };
        (transport, unread) = (socket, bytes);
    }
}

/// Lends the socket to the job that handles what the client has sent, until it comes back.
async fn lend(transport: Transport, unread: Vec<u8>, jobs: &Jobs) -> io::Result<(Transport, Vec<u8>)> {
    let plain = match transport {
        Transport::Tcp(socket) => Plain::Tcp(socket.into_std()?),
        Transport::Unix(socket) => Plain::Unix(socket.into_std()?),
        tls @ Transport::Tls(_) => return Ok((tls, unread)),
    };
    let returned = match jobs.link.direct.lend(plain, unread) {
        Err(returned) => returned,
        Ok(returned) => {
            jobs.link.inbox.occupy();
            jobs.start();
            returned.await.map_err(io::Error::other)?
        }
    };
    let transport = match returned.socket {
        Plain::Tcp(socket) => Transport::Tcp(TcpStream::from_std(socket)?),
        Plain::Unix(socket) => Transport::Unix(UnixStream::from_std(socket)?),
    };
    Ok((transport, returned.unread))
}

/// Why no more is read.
enum Ended {
    /// Messages come one after another: the socket may be lent. What has come is in the buffer.
    Busy,
    /// The socket is closed or broken.
    ByClient,
    /// The client has said that nothing more comes: what it sent before is done.
    Terminated,
    /// The server stops, or bytes came that are no message.
    ByServer,
}

/// Takes messages from the socket. `lends`: it may be lent.
async fn read(reader: &mut ReadHalf<Transport>, buffer: &mut Vec<u8>, lends: bool, jobs: &Jobs) -> Ended {
    let mut decoder = Decoder::new();
    let limit = jobs.shared.config().message_bytes_max;
    decoder.authenticated(Limits { message_bytes_max: limit });
    let mut phase = jobs.shared.phase.subscribe();
    let (mut start, mut came) = (0, 0);
    let mut last: Option<Instant> = None;
    loop {
        match decoder.frame(&buffer[start..]) {
            Ok(Framed::Incomplete) => {
                buffer.drain(..start);
                start = 0;
            }
            Ok(Framed::Message(b'X', _)) => return Ended::Terminated,
            Ok(Framed::CopyData(piece, taken)) => {
                jobs.push(Frame { kind: b'd', bytes: piece.to_vec() });
                start += taken;
                continue;
            }
            Ok(Framed::Message(kind, bytes)) => {
                jobs.push(Frame { kind, bytes: bytes.to_vec() });
                start += bytes.len();
                continue;
            }
            Err(error) => {
                jobs.push(Frame { kind: FAULT, bytes: error.message().as_bytes().to_vec() });
                return Ended::ByServer;
            }
        }
        let terminated = jobs.link.terminated.notified();
        tokio::pin!(terminated);
        tokio::select! {
            () = jobs.link.inbox.has_room() => {}
            () = &mut terminated => {
                end(jobs, true).await;
                return Ended::ByServer;
            }
        }
        size(buffer, came);
        let read = tokio::select! {
            read = reader.read_buf(buffer) => Some(read),
            () = reaches(&mut phase, Phase::Draining) => None,
            () = &mut terminated => {
                end(jobs, true).await;
                return Ended::ByServer;
            }
        };
        match read {
            Some(Ok(0) | Err(_)) => return Ended::ByClient,
            Some(Ok(bytes)) => came = bytes,
            None => {
                end(jobs, false).await;
                return Ended::ByServer;
            }
        }
        if lends {
            let now = Instant::now();
            let busy = last.replace(now).is_some_and(|last| now - last < direct::LINGER);
            if busy && *phase.borrow() == Phase::Accepting && jobs.may_lend() {
                return Ended::Busy;
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

/// The server stops, or another session ends this one: waits until this connection has nothing under way, and says so.
/// `at_once`: what runs is cancelled.
async fn end(jobs: &Jobs, at_once: bool) {
    let phase = jobs.shared.phase.subscribe();
    while jobs.link.inbox.is_running() {
        if at_once || *phase.borrow() == Phase::Stopping {
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
async fn write(writer: &mut WriteHalf<Transport>, link: &Link) {
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

    /// Whether the socket may be lent to a job: there is none, and nothing to be sent.
    fn may_lend(&self) -> bool {
        Direct::has_room()
            && !self.link.direct.is_recalled()
            && !self.link.inbox.is_running()
            && !self.link.inbox.has_frames()
            && self.link.outbox.is_empty()
            && !self.shared.executor.is_crowded()
            && self.shared.executor.has_place()
    }

    /// The client is gone: what runs is stopped, and nothing more is sent.
    fn abandon(&self) {
        self.link.cancel();
        self.link.outbox.break_off();
        self.close();
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
        let Some(conversation) = self.take() else {
            self.link.direct.give_back();
            return self.link.outbox.finish();
        };
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
        link.direct.give_back();
        while let Next::Frame(frame) = link.inbox.take_now() {
            if conversation.refuse(&frame) {
                break;
            }
        }
        // One whose client is gone has a job that lets go of it, whatever waits.
        if !link.inbox.has_frames() && !link.inbox.is_closed() {
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

/// Gives a lent socket back when a job ends, however it does.
struct GiveBack<'a>(&'a Link);

impl Drop for GiveBack<'_> {
    fn drop(&mut self) {
        self.0.direct.give_back();
    }
}

/// Waits for messages on a lent socket; it is given back when none come.
fn receive(shared: &Shared, link: &Link, message_bytes_max: usize) {
    if !link.direct.is_lent() {
        return;
    }
    let deliver = |frames: Vec<Frame>| {
        link.cancel.begin();
        link.inbox.push_all(frames);
    };
    // What has come is in the inbox before a place is waited for: then it can be cancelled, and the task has the socket.
    shared.executor.client_wait(|| {
        let received = link.direct.receive(message_bytes_max, deliver);
        let goes_on = *shared.phase.borrow() == Phase::Accepting && shared.executor.has_place();
        if received == Received::Nothing || !goes_on {
            link.direct.give_back();
        }
    });
}

/// A job: handles frames until none is left.
fn work(conversation: Box<Conversation>, shared: Arc<Shared>, link: Arc<Link>, parked: Parked) {
    let finish = Finish(Some(link.clone()));
    let lending = link.clone();
    let _lent = GiveBack(&lending);
    let mut held = Some(conversation);
    let message_bytes_max = shared.config().message_bytes_max;
    loop {
        let next = match link.inbox.take_now() {
            Next::Nothing => {
                receive(&shared, &link, message_bytes_max);
                link.inbox.next_or_park(|| {
                    link.cancel.end();
                    *parked.lock().unwrap_or_else(PoisonError::into_inner) = held.take();
                })
            }
            next => next,
        };
        let Some(conversation) = &mut held else { return finish.forget() };
        let frame = match next {
            Next::Frame(frame) => frame,
            Next::Closed | Next::Nothing => return,
        };
        match conversation.handle(frame) {
            Flow::Within => {}
            Flow::UnitDone => {
                // Others wait: this connection's next unit stands behind them.
                if shared.executor.is_crowded() {
                    link.direct.give_back();
                }
                if link.inbox.has_frames()
                    && shared.executor.is_crowded()
                    && let Some(conversation) = held.take()
                {
                    finish.forget();
                    return resume(conversation, shared, link, parked);
                }
            }
            Flow::Ended => return,
        }
    }
}
