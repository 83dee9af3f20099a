//! The shell's standard input and output, for COPY ... FROM STDIN and COPY ... TO STDOUT.

use std::io::{self, BufRead, BufWriter, Cursor, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use engine::CopyStreams;

use super::{progress, script};

/// What is shared with the session.
#[derive(Clone, Default)]
pub struct Standard {
    /// The rows that stand in the script behind the statement that runs.
    rows: Arc<Mutex<Option<String>>>,
    /// The statement wrote to standard output, where nothing else shall stand then.
    used: Arc<AtomicBool>,
    /// Whoever read the output went away.
    closed: Arc<AtomicBool>,
}

impl Standard {
    pub fn set_rows(&self, rows: Option<&str>) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = rows.map(str::to_owned);
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
        let input = io::stdin();
        if !text {
            if input.is_terminal() {
                return Err(io::Error::other("Parquet and Arrow cannot be typed"));
            }
            return Ok(Box::new(input));
        }
        if !input.is_terminal() {
            let mut bytes = Vec::new();
            input.lock().read_to_end(&mut bytes)?;
            let end = script::end_of_rows(&bytes).map_or(bytes.len(), |(end, _)| end);
            bytes.truncate(end);
            return Ok(Box::new(Cursor::new(bytes)));
        }
        progress::end();
        eprintln!("Type the rows, and \\. on a line of its own behind the last.");
        let mut bytes = Vec::new();
        loop {
            let begin = bytes.len();
            if input.lock().read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes[begin..].trim_ascii_end() == b"\\." {
                bytes.truncate(begin);
                break;
            }
        }
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn output(&self) -> io::Result<Box<dyn Write + Send>> {
        progress::end();
        self.used.store(true, Relaxed);
        Ok(Box::new(BufWriter::with_capacity(1 << 18, Output(self.clone()))))
    }
}

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
