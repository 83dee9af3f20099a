//! COPY ... TO STDOUT and COPY ... FROM STDIN: what a session's host gives for them.
//!
//! What is read is put into a file first, for as long as the statement runs: formats are told by looking, rows are
//! read in parallel, and Parquet is read from its end. So are pipes that stand where a file's path may stand:
//! `/dev/stdin`, a named pipe, what a shell makes of `<(command)`.

mod registered;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use files::Capability;
use sync::CancelToken;
use types::{Error, Result, SqlState};

/// The standard input and output of a session's host.
pub trait CopyStreams: Send + Sync {
    /// Everything that COPY FROM STDIN shall read. Of text, a line `\.` may say that it ends. While nothing is there,
    /// it may answer [`io::ErrorKind::WouldBlock`]: then it is asked again, unless the statement was cancelled
    /// meanwhile.
    fn input(&self, text: bool) -> io::Result<Box<dyn Read + Send>>;
    /// Takes what COPY TO STDOUT writes.
    fn output(&self) -> io::Result<Box<dyn Write + Send>>;
}

/// A session's streams, and the file that holds what the running statement has read of them.
pub(crate) struct StandardStreams {
    streams: Mutex<Option<Arc<dyn CopyStreams>>>,
    held: Mutex<Held>,
    /// The session's.
    cancel: CancelToken,
}

/// Inputs that running statements have read into files, and how many statements run.
#[derive(Default)]
struct Held {
    /// Statements that are under way, one within the other.
    statements: usize,
    inputs: Vec<HeldInput>,
}

/// A file with what was read.
struct HeldInput {
    file: PathBuf,
    /// The pipe that it was read from; `None` for standard input.
    pipe: Option<String>,
}

impl Drop for HeldInput {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Pieces of a pipe that wait to be written, and how often the waiting thread checks for cancellation.
const PIECES: usize = 4;
const POLL: Duration = Duration::from_millis(20);

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
    pub(crate) fn held(&self, capability: &Capability, format: &str, folder: &Path) -> Result<String> {
        capability.stream("standard input")?;
        let mut held = self.all();
        if let Some(known) = held.inputs.iter().find(|input| input.pipe.is_none()) {
            return Ok(known.file.to_string_lossy().into_owned());
        }
        let text = !matches!(format, "parquet" | "pq" | "arrow" | "arrows" | "ipc" | "feather");
        let failed = |e: io::Error| Error::new(SqlState::IoError, format!("cannot read standard input: {e}"));
        let streams = self.streams("read FROM STDIN")?;
        let (new, file) = new_input(folder, "standard-input", &format!(".{format}"), None).map_err(failed)?;
        let mut input = streams.input(text).map_err(failed)?;
        let mut file = io::BufWriter::new(file);
        self.take(&mut *input, &mut file, &failed)?;
        // What is left in the writer's memory may be what there is no room for.
        file.flush().map_err(failed)?;
        let path = new.file.to_string_lossy().into_owned();
        held.inputs.push(new);
        Ok(path)
    }

    /// What comes out of a pipe, as a file in a folder; planned a second time, a statement finds the same one.
    pub(crate) fn held_pipe(&self, capability: &Capability, pipe: &str, folder: &Path) -> Result<String> {
        capability.file(pipe)?;
        let mut held = self.all();
        if let Some(known) = held.inputs.iter().find(|input| input.pipe.as_deref() == Some(pipe)) {
            return Ok(known.file.to_string_lossy().into_owned());
        }
        let failed = |e: io::Error| Error::new(SqlState::IoError, format!("cannot read \"{pipe}\": {e}"));
        // The name's end may say the format.
        let name = Path::new(pipe).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let (new, file) =
            new_input(folder, "pipe", &format!("-{name}"), Some(pipe.to_owned())).map_err(failed)?;
        let mut file = io::BufWriter::new(file);
        self.take_pipe(pipe, &mut file, &failed)?;
        file.flush().map_err(failed)?;
        let path = new.file.to_string_lossy().into_owned();
        held.inputs.push(new);
        Ok(path)
    }

    fn all(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what comes out of a pipe into the file until all writers have closed it or the statement is cancelled.
    /// Opening and reading wait without an end, so that another thread does both.
    fn take_pipe(&self, pipe: &str, file: &mut dyn Write, failed: &dyn Fn(io::Error) -> Error) -> Result<()> {
        let (send, pieces) = sync_channel::<io::Result<Vec<u8>>>(PIECES);
        let place = pipe.to_owned();
        let read = move || {
            let copy = || -> io::Result<()> {
                let mut source = File::open(&place)?;
                loop {
                    let mut piece = vec![0; 64 << 10];
                    match source.read(&mut piece) {
                        Ok(0) => return Ok(()),
                        Ok(length) => {
                            piece.truncate(length);
                            if send.send(Ok(piece)).is_err() {
                                return Ok(());
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            };
            if let Err(error) = copy() {
                // The receiver may be gone.
                let _ = send.send(Err(error));
            }
        };
        std::thread::Builder::new().name("quickstep-pipe".to_owned()).spawn(read).map_err(failed)?;
        loop {
            if let Some(reason) = self.cancel.check_clock() {
                // Opening the pipe for reading and writing gives it a writer, which wakes the thread that waits for
                // one; that thread ends when this handle closes.
                drop(File::options().read(true).write(true).open(pipe));
                return Err(crate::run::cancelled(reason));
            }
            match pieces.recv_timeout(POLL) {
                Ok(Ok(piece)) => file.write_all(&piece).map_err(failed)?,
                Ok(Err(error)) => return Err(failed(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
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

    /// A statement begins: what it has read is let go of when this is dropped, however it ends. A statement within
    /// another leaves the other's input alone.
    pub(crate) fn begin(&self) -> Reading<'_> {
        self.all().statements += 1;
        Reading { streams: self, keeps_pipes: false }
    }

    /// As `begin`, for a statement that is only described: what came out of a pipe is there for the one that runs.
    pub(crate) fn begin_description(&self) -> Reading<'_> {
        self.all().statements += 1;
        Reading { streams: self, keeps_pipes: true }
    }

    /// What is wrong with the input is told of it, not of the file.
    fn explained<T>(&self, outcome: Result<T>) -> Result<T> {
        let held = self.all();
        outcome.map_err(|error| {
            held.inputs.iter().fold(error, |error, input| {
                let path = input.file.to_string_lossy();
                if !error.message().contains(&*path) {
                    return error;
                }
                let message = match &input.pipe {
                    None => error.message().replace(&format!("\"{path}\""), "standard input"),
                    Some(pipe) => error.message().replace(&*path, pipe),
                };
                error.with_message(message)
            })
        })
    }

    /// The host's standard output; an error where the host has given none.
    pub(crate) fn output(&self, capability: &Capability) -> Result<Box<dyn Write + Send>> {
        capability.stream("standard output")?;
        let failed =
            |e: io::Error| Error::new(SqlState::IoError, format!("cannot write standard output: {e}"));
        self.streams("write TO STDOUT")?.output().map_err(failed)
    }
}

/// A statement that may read the input.
pub(crate) struct Reading<'a> {
    streams: &'a StandardStreams,
    keeps_pipes: bool,
}

/// A new file in a folder.
fn new_input(folder: &Path, kind: &str, ending: &str, pipe: Option<String>) -> io::Result<(HeldInput, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{kind}-{}-{number}{ending}", std::process::id()));
        match File::create_new(&path) {
            Ok(file) => return Ok((HeldInput { file: path, pipe }, file)),
            // Left by a process of this number that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a path is a pipe's.
pub(crate) fn is_pipe(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

impl Reading<'_> {
    /// The statement has ended.
    pub(crate) fn ended<T>(self, outcome: Result<T>) -> Result<T> {
        if self.streams.all().statements > 1 { outcome } else { self.streams.explained(outcome) }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut held = self.streams.all();
        held.statements -= 1;
        if held.statements == 0 {
            held.inputs.retain(|input| self.keeps_pipes && input.pipe.is_some());
        }
    }
}
