//! The shell's standard input and output, for COPY ... FROM STDIN and COPY ... TO STDOUT.

use std::io::{self, BufWriter, Cursor, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use engine::CopyStreams;

use super::progress;

/// What is shared with the session.
#[derive(Clone, Default)]
pub struct Standard {
    /// The rows that stand in the script behind the statement that runs.
    rows: Arc<Mutex<Option<String>>>,
    /// The statement wrote to standard output, where nothing else shall stand then.
    used: Arc<AtomicBool>,
    /// The output was closed at its other end.
    closed: Arc<AtomicBool>,
}

impl Standard {
    /// Sets the rows that the next COPY FROM STDIN reads; `None`: standard input itself.
    pub fn set_rows(&self, rows: Option<&str>) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = rows.map(str::to_owned);
    }

    /// Statements begin: what was noted of others is forgotten.
    pub fn begin(&self) {
        self.used.store(false, Relaxed);
        self.closed.store(false, Relaxed);
    }

    /// Whether the output was closed since this was last asked.
    pub fn was_closed(&self) -> bool {
        self.closed.swap(false, Relaxed)
    }

    /// Whether a statement wrote to the output since this was last asked.
    pub fn was_used(&self) -> bool {
        self.used.swap(false, Relaxed)
    }
}

impl CopyStreams for Standard {
    fn input(&self, text: bool) -> io::Result<Box<dyn Read + Send>> {
        if let Some(rows) = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(Box::new(Cursor::new(rows)));
        }
        if !io::stdin().is_terminal() {
            // It has an end of its own.
            return Ok(Box::new(Arriving));
        }
        if !text {
            return Err(io::Error::other("Parquet and Arrow cannot be typed"));
        }
        progress::end();
        eprintln!("Type the rows, and \\. on a line of its own behind the last.");
        Ok(Box::new(Typed::default()))
    }

    fn output(&self) -> io::Result<Box<dyn Write + Send>> {
        progress::end();
        self.used.store(true, Relaxed);
        Ok(Box::new(BufWriter::with_capacity(1 << 18, Output(self.clone()))))
    }
}

/// How long is waited for input before the statement looks whether it was cancelled.
const PATIENCE: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Standard input as it comes; `WouldBlock` while nothing does.
struct Arriving;

impl Read for Arriving {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        let mut waits = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
        match rustix::event::poll(&mut waits, Some(&PATIENCE))? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(rustix::io::read(stdin, bytes)?),
        }
    }
}

/// Lines that are typed, up to a line `\.`: a terminal gives them one by one.
#[derive(Default)]
struct Typed {
    line: Vec<u8>,
    ended: bool,
}

impl Read for Typed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let length = Arriving.read(bytes)?;
        self.line.extend_from_slice(&bytes[..length]);
        if self.line.trim_ascii_end() == b"\\." {
            self.ended = true;
            return Ok(0);
        }
        // The end of a line that was given in parts is none of its own.
        if self.line.ends_with(b"\n") {
            self.line.clear();
        }
        Ok(length)
    }
}

/// Standard output, noting when it was closed.
struct Output(Standard);

impl Output {
    fn noted<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.0.closed.store(true, Relaxed);
            }
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.noted(io::stdout().write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.noted(io::stdout().flush())
    }
}
