//! COPY ... TO STDOUT and COPY ... FROM STDIN: what a session's host gives for them.
//!
//! What is read is put into a file first, for as long as the statement runs: formats are told by looking, rows are read in
//! parallel, and Parquet is read from its end.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sync::CancelToken;
use types::{Error, Result, SqlState};

use crate::Session;

/// The standard input and output of a session's host.
pub trait CopyStreams: Send + Sync {
    /// Everything that COPY FROM STDIN shall read. Of text, a line `\.` may say that it ends. While nothing is there, it may
    /// answer [`io::ErrorKind::WouldBlock`]: then it is asked again, unless the statement was cancelled meanwhile.
    fn input(&self, text: bool) -> io::Result<Box<dyn Read + Send>>;
    /// Takes what COPY TO STDOUT writes.
    fn output(&self) -> io::Result<Box<dyn Write + Send>>;
}

/// A session's streams, and the file that holds what the running statement has read of them.
pub(crate) struct StandardStreams {
    streams: Mutex<Option<Arc<dyn CopyStreams>>>,
    held: Mutex<Option<HeldInput>>,
    /// The session's.
    cancel: CancelToken,
}

struct HeldInput(PathBuf);

impl Drop for HeldInput {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl StandardStreams {
    /// Streams of a session with this signal.
    pub(crate) fn new(cancel: CancelToken) -> StandardStreams {
        StandardStreams { streams: Mutex::default(), held: Mutex::default(), cancel }
    }

    fn streams(&self, what: &str) -> Result<Arc<dyn CopyStreams>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone();
        streams.ok_or_else(|| {
            Error::unsupported(format!("there is nothing that COPY could {what} here"))
                .with_hint("the shell has standard input and output; elsewhere name a file, or register rows and take results")
        })
    }

    /// The input as a file in a folder; planned a second time, a statement finds the same one.
    pub(crate) fn held(&self, format: &str, folder: &Path) -> Result<String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = &*held {
            return Ok(held.0.to_string_lossy().into_owned());
        }
        let text = !matches!(format, "parquet" | "pq" | "arrow" | "arrows" | "ipc" | "feather");
        let failed = |e: io::Error| Error::new(SqlState::IoError, format!("cannot read standard input: {e}"));
        let streams = self.streams("read FROM STDIN")?;
        let (path, file) = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("standard-input-{}-{number}.{format}", std::process::id()));
            match File::create_new(&path) {
                Ok(file) => break (path, file),
                // Left by a process of this number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        };
        let new = HeldInput(path);
        let mut input = streams.input(text).map_err(failed)?;
        let mut file = io::BufWriter::new(file);
        self.take(&mut *input, &mut file, &failed)?;
        // What is left in the writer's memory may be what there is no room for.
        file.flush().map_err(failed)?;
        Ok(held.insert(new).0.to_string_lossy().into_owned())
    }

    /// Copies the input into the file until it ends or the statement is cancelled.
    fn take(
        &self,
        input: &mut dyn Read,
        file: &mut dyn Write,
        failed: &dyn Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(reason) = self.cancel.check_clock() {
                return Err(crate::run::cancelled(reason));
            }
            match input.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => file.write_all(&piece[..length]).map_err(failed)?,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// A statement begins: what it has read is let go of when this is dropped, however it ends. A statement within another
    /// leaves the other's input alone.
    pub(crate) fn begin(&self) -> Reading<'_> {
        let outer = self.held.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        Reading { streams: self, outer }
    }

    /// What is wrong with the input is told of it, not of the file.
    fn explained<T>(&self, outcome: Result<T>) -> Result<T> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = &*held else { return outcome };
        let path = held.0.to_string_lossy();
        outcome.map_err(|error| match error.message().contains(&*path) {
            true => {
                let message = error.message().replace(&format!("\"{path}\""), "standard input");
                error.with_message(message)
            }
            false => error,
        })
    }

    pub(crate) fn output(&self) -> Result<Box<dyn Write + Send>> {
        let failed =
            |e: io::Error| Error::new(SqlState::IoError, format!("cannot write standard output: {e}"));
        self.streams("write TO STDOUT")?.output().map_err(failed)
    }
}

/// A statement that may read the input.
pub(crate) struct Reading<'a> {
    streams: &'a StandardStreams,
    /// What is held is that of a statement around this one.
    outer: bool,
}

impl Reading<'_> {
    /// The statement has ended.
    pub(crate) fn ended<T>(self, outcome: Result<T>) -> Result<T> {
        if self.outer { outcome } else { self.streams.explained(outcome) }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.outer {
            drop(self.streams.held.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl Session {
    /// Says where COPY ... FROM STDIN reads and COPY ... TO STDOUT writes. Without it both are refused: a library does
    /// not take its host's standard streams unasked.
    pub fn set_copy_streams(&self, streams: impl CopyStreams + 'static) {
        *self.standard.streams.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(streams));
    }
}
