//! Turns without the socket's task: a connection whose client sends one message after another is read and written by the
//! thread that its statements run on.
//!
//! ```text
//!  task:    reads, hands over -----------------------------------------> has it back, reads and writes on
//!  thread:     lent socket: receive -> handle -> send -> receive ...  --> `give_back`
//! ```
//! Between the socket's task and a statement's thread lie two wakes of a thread, which cost more than a short statement.
//! So the task lends its socket, taken off the runtime, to the job of a connection that was busy a moment ago, and the
//! thread waits in `recv` for the next message, [`LINGER`] at most, while its place on the executor is another's.
//!
//! The thread does only what is simple. It gives the socket back, with the bytes that it has not handled, when there is
//! something else: no message within the time, the end of the connection, bytes that are no message, an answer that the
//! client does not take at once or that is large, a COPY that waits for rows, a statement that takes longer than
//! [`TURN_MAX`] (the task then notices a client that goes away), others that wait for a place. While a socket is lent
//! the outbox is empty, so that the order of bytes is kept. Sockets under TLS are never lent.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pgproto::frontend::{Decoder, Framed, Limits};
use tokio::sync::oneshot;

use crate::link::Frame;

/// How long a thread waits for the next message, and how recent the last one must be for a socket to be lent.
pub const LINGER: Duration = Duration::from_millis(5);
/// How long a statement keeps the socket.
const TURN_MAX: Duration = Duration::from_millis(5);
/// How long an answer may take to leave: the least that the kernel counts.
const SEND_MAX: Duration = Duration::from_millis(1);
/// Answers beyond this are the task's to send.
const ANSWER_BYTES_MAX: usize = 32 << 10;
/// Messages beyond this are the task's to read.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Sockets that are lent at a time, each to a thread.
const LENT_MAX: usize = 64;

static LENT: AtomicUsize = AtomicUsize::new(0);

/// A socket in the clear, taken off the runtime.
pub enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Plain {
    /// Has calls wait, for a while, or not at all.
    fn set_waiting(&self, waits: bool) -> std::io::Result<()> {
        match self {
            Plain::Tcp(socket) => {
                socket.set_nonblocking(!waits)?;
                socket.set_read_timeout(Some(LINGER))?;
                socket.set_write_timeout(Some(SEND_MAX))
            }
            Plain::Unix(socket) => {
                socket.set_nonblocking(!waits)?;
                socket.set_read_timeout(Some(LINGER))?;
                socket.set_write_timeout(Some(SEND_MAX))
            }
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Plain::Tcp(socket) => socket.read(into),
            Plain::Unix(socket) => socket.read(into),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Plain::Tcp(socket) => socket.write(bytes),
            Plain::Unix(socket) => socket.write(bytes),
        }
    }
}

/// What the task has back: the socket, and bytes that came and were not handled.
pub struct Returned {
    /// The socket, whose calls do not wait.
    pub socket: Plain,
    /// What the task goes on with.
    pub unread: Vec<u8>,
}

struct Lent {
    socket: Plain,
    unread: Vec<u8>,
    /// Where bytes come: made once for the time that the socket is lent.
    room: Box<[u8]>,
    back: oneshot::Sender<Returned>,
    /// When the turn began.
    since: Instant,
}

/// The place of a connection's socket while it is lent.
#[derive(Default)]
pub struct Direct {
    lent: Mutex<Option<Lent>>,
    is_lent: AtomicBool,
    is_recalled: AtomicBool,
}

/// What came of waiting for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// Frames were handed to the caller.
    Frames,
    /// None: the socket is to be given back.
    Nothing,
}

/// What has come.
struct Units {
    /// Messages up to the last one that ends a unit of work.
    frames: Vec<Frame>,
    /// Their bytes.
    bytes: usize,
    /// What follows is for the task, rather than the beginning of a message.
    others: bool,
}

/// Takes whole units of work from the bytes that have come.
fn units(unread: &[u8], message_bytes_max: usize) -> Units {
    let mut decoder = Decoder::new();
    decoder.authenticated(Limits { message_bytes_max });
    let (mut looked, mut bytes, mut whole, mut frames) = (0, 0, 0, Vec::new());
    let others = loop {
        let frame = match decoder.frame(&unread[looked..]) {
            Ok(Framed::Incomplete) => break false,
            Ok(Framed::Message(b'X', _)) | Err(_) => break true,
            Ok(Framed::CopyData(piece, taken)) => {
                looked += taken;
                Frame { kind: b'd', bytes: piece.to_vec() }
            }
            Ok(Framed::Message(kind, message)) => {
                looked += message.len();
                Frame { kind, bytes: message.to_vec() }
            }
        };
        let ends = frame.ends_unit();
        frames.push(frame);
        if ends {
            (bytes, whole) = (looked, frames.len());
        }
    };
    frames.truncate(whole);
    Units { frames, bytes, others }
}

impl Direct {
    fn lent(&self) -> MutexGuard<'_, Option<Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another socket may be lent.
    pub fn has_room() -> bool {
        LENT.load(Ordering::Relaxed) < LENT_MAX
    }

    /// Lends a socket. It comes back through the channel, at the latest when this is dropped. `Err` gives it back at
    /// once: it cannot be made to wait.
    pub fn lend(&self, socket: Plain, unread: Vec<u8>) -> Result<oneshot::Receiver<Returned>, Returned> {
        if socket.set_waiting(true).is_err() {
            return Err(Returned { socket, unread });
        }
        let (back, returned) = oneshot::channel();
        let room = vec![0; MESSAGE_BYTES_MAX].into();
        *self.lent() = Some(Lent { socket, unread, room, back, since: Instant::now() });
        self.is_lent.store(true, Ordering::Release);
        LENT.fetch_add(1, Ordering::Relaxed);
        Ok(returned)
    }

    /// The task needs the socket: it comes back as soon as its thread does not wait for a message, and is not lent again.
    pub fn recall(&self) {
        self.is_recalled.store(true, Ordering::Release);
    }

    /// Whether the task has asked for it.
    pub fn is_recalled(&self) -> bool {
        self.is_recalled.load(Ordering::Acquire)
    }

    /// Whether the socket is lent.
    pub fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Acquire)
    }

    /// Waits for messages, and hands them to `deliver` once one has come that ends a unit of work: so that a job that looks
    /// at what waits sees the unit whole, as it does when the socket's task reads.
    pub fn receive(&self, message_bytes_max: usize, deliver: impl FnOnce(Vec<Frame>)) -> Received {
        let mut slot = self.lent();
        let Some(lent) = slot.as_mut() else { return Received::Nothing };
        let mut until = None;
        loop {
            if self.is_recalled() {
                return Received::Nothing;
            }
            let Units { frames, bytes, others } = units(&lent.unread, message_bytes_max);
            let now = Instant::now();
            if !frames.is_empty() {
                lent.unread.drain(..bytes);
                lent.since = now;
                deliver(frames);
                return Received::Frames;
            }
            let late = now >= *until.get_or_insert(now + LINGER);
            if others || lent.unread.len() > MESSAGE_BYTES_MAX || late {
                return Received::Nothing;
            }
            match lent.socket.receive(&mut lent.room) {
                Ok(bytes @ 1..) => lent.unread.extend_from_slice(&lent.room[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nothing came, or nothing will: the task finds out which.
                Ok(0) | Err(_) => return Received::Nothing,
            }
        }
    }

    /// Sends an answer, if the socket is lent, and says whether all of it has left. What is left in the chunk is for the
    /// task, which has the socket back then.
    pub fn send(&self, chunk: &mut Vec<u8>) -> bool {
        if !self.is_lent() || chunk.is_empty() {
            return false;
        }
        let mut slot = self.lent();
        let Some(lent) = slot.as_mut().filter(|_| chunk.len() <= ANSWER_BYTES_MAX) else {
            drop(slot);
            self.give_back();
            return false;
        };
        let mut sent = 0;
        while sent < chunk.len() {
            match lent.socket.send(&chunk[sent..]) {
                Ok(bytes @ 1..) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => {
                    drop(slot);
                    self.give_back();
                    chunk.drain(..sent);
                    return false;
                }
            }
        }
        chunk.clear();
        true
    }

    /// Gives the socket back to its task, if it is lent.
    pub fn give_back(&self) {
        let lent = self.lent().take();
        self.returned(lent);
    }

    /// To be called now and then while a statement runs, from any thread.
    pub fn tick(&self) {
        if !self.is_lent() {
            return;
        }
        let Ok(mut slot) = self.lent.try_lock() else { return };
        let lent = slot.take_if(|lent| self.is_recalled() || lent.since.elapsed() > TURN_MAX);
        drop(slot);
        self.returned(lent);
    }

    fn returned(&self, lent: Option<Lent>) {
        let Some(Lent { socket, unread, back, .. }) = lent else { return };
        self.is_lent.store(false, Ordering::Release);
        LENT.fetch_sub(1, Ordering::Relaxed);
        // A socket that cannot be changed is of no use to the task, which finds its channel closed and ends.
        if socket.set_waiting(false).is_ok() {
            // The task is gone with its runtime, and the socket goes as well.
            let _: Result<(), Returned> = back.send(Returned { socket, unread });
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent() -> (Direct, UnixStream, oneshot::Receiver<Returned>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let direct = Direct::default();
        let Ok(returned) = direct.lend(Plain::Unix(ours), Vec::new()) else {
            panic!("cannot be made to wait")
        };
        (direct, theirs, returned)
    }

    fn query(text: &str) -> Vec<u8> {
        let mut bytes = vec![b'Q'];
        bytes.extend(u32::try_from(text.len() + 5).unwrap().to_be_bytes());
        bytes.extend(text.bytes().chain([0]));
        bytes
    }

    fn receive(direct: &Direct) -> (Received, usize) {
        let mut frames = 0;
        let received = direct.receive(1 << 20, |all| frames = all.len());
        (received, frames)
    }

    #[test]
    fn whole_messages_are_delivered_and_the_rest_goes_back() {
        let (direct, mut client, mut returned) = lent();
        let second = query("SELECT 2");
        client.write_all(&[query("SELECT 1"), second[..7].to_vec()].concat()).unwrap();
        assert_eq!(receive(&direct), (Received::Frames, 1));
        let mut answer = vec![7; 3];
        assert!(direct.send(&mut answer) && answer.is_empty());
        let mut answer = [0; 3];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [7; 3]);
        // The rest of the second message does not come in time.
        assert_eq!(receive(&direct), (Received::Nothing, 0));
        direct.give_back();
        assert!(!direct.is_lent());
        assert_eq!(returned.try_recv().unwrap().unread, second[..7]);
        let mut answer = vec![1];
        assert!(!direct.send(&mut answer) && answer == [1]);
    }

    #[test]
    fn a_unit_is_delivered_whole_and_a_trickle_is_not_waited_for() {
        let (direct, mut client, mut returned) = lent();
        let parse = [b"P".as_slice(), &9u32.to_be_bytes(), b"\0x\0\0\0"].concat();
        client.write_all(&parse).unwrap();
        assert_eq!(receive(&direct), (Received::Nothing, 0));
        client.write_all(&[b'S', 0, 0, 0, 4]).unwrap();
        assert_eq!(receive(&direct), (Received::Frames, 2));
        direct.give_back();
        assert!(returned.try_recv().is_ok());
        // All of it takes more than fifty times as long as is waited for a message.
        timing::in_one_of(20, || {
            let (direct, mut client, mut returned) = lent();
            let trickle = std::thread::spawn(move || {
                for byte in query(&"x".repeat(100)) {
                    client.write_all(&[byte])?;
                    std::thread::sleep(LINGER / 2);
                }
                Ok::<_, std::io::Error>(())
            });
            let began = Instant::now();
            let received = receive(&direct);
            let waited = began.elapsed();
            direct.give_back();
            assert!(returned.try_recv().is_ok());
            drop(returned);
            let _ = trickle.join();
            timing::met(received == (Received::Nothing, 0) && waited < LINGER * 20, (received, waited))
        });
    }

    #[test]
    fn the_end_of_a_connection_and_bytes_that_are_no_message_are_for_the_task() {
        let (direct, mut client, mut returned) = lent();
        client.write_all(&[query("SELECT 1"), vec![b'X', 0, 0, 0, 4]].concat()).unwrap();
        assert_eq!(receive(&direct), (Received::Frames, 1));
        assert_eq!(receive(&direct), (Received::Nothing, 0));
        direct.give_back();
        assert_eq!(returned.try_recv().unwrap().unread, [b'X', 0, 0, 0, 4]);
        let (direct, client, _returned) = lent();
        drop(client);
        assert_eq!(receive(&direct), (Received::Nothing, 0));
    }

    #[test]
    fn an_answer_that_is_large_or_not_taken_is_left_to_the_task() {
        let (direct, _client, mut returned) = lent();
        let mut large = vec![0; ANSWER_BYTES_MAX + 1];
        assert!(!direct.send(&mut large) && large.len() == ANSWER_BYTES_MAX + 1);
        assert!(returned.try_recv().is_ok());
        let (direct, _client, mut returned) = lent();
        let mut sent = 0;
        let rest = loop {
            let mut answer = vec![0; ANSWER_BYTES_MAX];
            match direct.send(&mut answer) {
                true => sent += ANSWER_BYTES_MAX,
                false => break answer,
            }
        };
        assert!(sent > 0 && !rest.is_empty() && rest.len() <= ANSWER_BYTES_MAX);
        assert!(returned.try_recv().is_ok());
    }

    #[test]
    fn a_statement_keeps_the_socket_for_a_while_only() {
        timing::in_one_of(20, || {
            let (direct, mut client, mut returned) = lent();
            client.write_all(&query("SELECT 1")).unwrap();
            assert_eq!(receive(&direct), (Received::Frames, 1));
            direct.tick();
            let is_kept = direct.is_lent();
            std::thread::sleep(TURN_MAX + Duration::from_millis(1));
            direct.tick();
            assert!(!direct.is_lent() && returned.try_recv().is_ok());
            timing::met(is_kept, "given back at once")
        });
    }

    #[test]
    fn a_socket_that_is_recalled_comes_back_at_the_next_look() {
        let (direct, mut client, mut returned) = lent();
        client.write_all(&query("SELECT 1")).unwrap();
        direct.recall();
        assert_eq!(receive(&direct), (Received::Nothing, 0));
        direct.tick();
        assert!(returned.try_recv().unwrap().unread.is_empty());
    }
}
