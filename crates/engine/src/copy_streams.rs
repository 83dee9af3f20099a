//! COPY ... TO STDOUT and COPY ... FROM STDIN: what a session's host gives for them.
//!
//! What is read is put into a file first, for as long as the statement runs: formats are told by looking, rows are read in
//! parallel, and Parquet is read from its end.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use types::{Error, Result, SqlState};

use crate::Session;

/// The standard input and output of a session's host.
pub trait CopyStreams: Send + Sync {
    /// Everything that COPY FROM STDIN shall read. Of text, a line `\.` may say that it ends.
    fn input(&self, text: bool) -> io::Result<Box<dyn Read + Send>>;
    /// Takes what COPY TO STDOUT writes.
    fn output(&self) -> io::Result<Box<dyn Write + Send>>;
}

/// A session's streams, and the file that holds what the running statement has read of them.
#[derive(Default)]
pub(crate) struct StandardStreams {
    streams: Mutex<Option<Arc<dyn CopyStreams>>>,
    held: Mutex<Option<HeldInput>>,
}

struct HeldInput(PathBuf);

impl Drop for HeldInput {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl StandardStreams {
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
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("standard-input-{}-{number}.{format}", std::process::id()));
        let failed = |e: io::Error| Error::new(SqlState::IoError, format!("cannot read standard input: {e}"));
        let mut input = self.streams("read FROM STDIN")?.input(text).map_err(failed)?;
        let file = File::create_new(&path).map_err(failed)?;
        let new = held.insert(HeldInput(path));
        io::copy(&mut input, &mut io::BufWriter::new(file)).map_err(failed)?;
        Ok(new.0.to_string_lossy().into_owned())
    }

    /// The statement has ended; what is wrong with the input is told of it, not of the file.
    pub(crate) fn ended<T>(&self, outcome: Result<T>) -> Result<T> {
        let Some(held) = self.held.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return outcome;
        };
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

impl Session {
    /// Says where COPY ... FROM STDIN reads and COPY ... TO STDOUT writes. Without it both are refused: a library does
    /// not take its host's standard streams unasked.
    pub fn set_copy_streams(&self, streams: impl CopyStreams + 'static) {
        *self.standard.streams.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(streams));
    }
}
