//! A file read at offsets, from any number of threads.
//!
//! Reads name their place and never move a shared position, so that two units of one file cannot disturb each other;
//! the length is taken once, so that a file that grows or shrinks meanwhile cannot change what the units are. Nothing
//! is allocated for bytes the file does not have.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use plan::file::Encoding;
use types::stop::{self, Place};
use types::{Error, Result, SqlState};

use crate::Environment;
use crate::encoding::Decoding;
use crate::remote::{Pieces, RemoteFile, abreast, from_io, is_remote, name_of};
use crate::text::Packing;

/// An open file and its length when it was opened. Clones share the handle.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path or address, as errors show it.
    pub path: Arc<str>,
    bytes: Contents,
    /// Bytes of the file, as unpacked and decoded, when it was opened.
    pub length: u64,
    inode: (u64, u64),
    changed: (i64, i64),
    /// When its content was changed last, in microseconds since 1970.
    modified: Option<i64>,
}

/// Where the bytes are.
#[derive(Clone, Debug)]
enum Contents {
    File(Arc<File>),
    /// Unpacked.
    Memory(Bytes),
    /// With what was fetched beforehand.
    Remote(Arc<RemoteFile>, Pieces),
}

/// Bytes that a compressed file may unpack to: what is larger is not meant to be.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// The name without the ending that says how it is compressed.
pub fn uncompressed_name(path: &str) -> &str {
    let name = name_of(path);
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
}

const READ_BYTES: usize = 8 << 20;

/// Bytes that are read before the statement's stop signal is looked at; fewer in some tests.
#[cfg(not(test))]
const fn read_bytes_max() -> usize {
    READ_BYTES
}

#[cfg(test)]
thread_local! {
    static READ_BYTES_MAX: std::cell::Cell<usize> = const { std::cell::Cell::new(READ_BYTES) };
}

#[cfg(test)]
fn read_bytes_max() -> usize {
    READ_BYTES_MAX.get()
}

/// Does `work`, whose reads on this thread give at most so many bytes at a time.
#[cfg(test)]
pub fn short_reads<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let before = READ_BYTES_MAX.replace(bytes);
    let done = work();
    READ_BYTES_MAX.set(before);
    done
}

/// What tells two states of a file apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    path: Arc<str>,
    length: u64,
    inode: (u64, u64),
    changed: (i64, i64),
}

impl Input {
    /// Opens a regular file or a remote object and takes its length and time of change; anything else is an error.
    pub fn open(environment: &Environment, path: &str) -> Result<Self> {
        stop::check(Place::Open)?;
        if is_remote(path) {
            let (file, length, changed) = RemoteFile::open(environment, path)?;
            let bytes = Contents::Remote(Arc::new(file), Pieces::default());
            let modified = Some(changed.0);
            return Ok(Input { path: path.into(), bytes, length, inode: (0, 0), changed, modified });
        }
        environment.capability().file(path)?;
        let fail = |e: io::Error| {
            let state = match e.kind() {
                io::ErrorKind::NotFound => SqlState::UndefinedFile,
                _ => SqlState::IoError,
            };
            Error::new(state, format!("cannot open \"{path}\": {e}"))
        };
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(Error::new(SqlState::IoError, format!("\"{path}\" is not a regular file"))
                .with_hint("a folder's files are named by a pattern, such as 'folder/*.parquet'"));
        }
        let inode = (metadata.dev(), metadata.ino());
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        let seconds = metadata.mtime().checked_mul(1_000_000);
        let modified = seconds.and_then(|micros| micros.checked_add(metadata.mtime_nsec() / 1000));
        let (bytes, length) = (Contents::File(Arc::new(file)), metadata.len());
        Ok(Input { path: path.into(), bytes, length, inode, changed, modified })
    }

    /// When the content was changed last, in microseconds since 1970.
    pub fn modified(&self) -> Option<i64> {
        self.modified
    }

    /// As `open`; a text compressed by gzip or zstd, as its first bytes say, is unpacked into memory, and one in another
    /// encoding becomes UTF-8 there. Memory is asked for as the text grows.
    pub fn open_text(environment: &Environment, path: &str, encoding: Encoding) -> Result<Self> {
        let input = Input::open(environment, path)?;
        let packing = input.packing()?;
        // A packed file is read from its beginning to its end.
        let packed = BufReader::with_capacity(
            if input.is_remote() { 4 << 20 } else { read_bytes_max().min(8 << 10) },
            Cursor { input: input.clone(), at: 0 },
        );
        let failed = |e: io::Error| match from_io(&e) {
            Some(error) => error,
            None => Error::new(SqlState::DataCorrupted, format!("cannot unpack \"{path}\": {e}")),
        };
        let unpacked: Box<dyn Read> = match packing {
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(packed).map_err(failed)?),
            Packing::None if encoding == Encoding::Utf8 => return Ok(input),
            Packing::None => Box::new(packed),
        };
        let bytes = match encoding {
            Encoding::Utf8 => taken(environment, path, unpacked, &failed)?,
            other => {
                let piece_bytes = Some(read_bytes_max()).filter(|bytes| *bytes < usize::MAX);
                let wrong = |e: io::Error| match e.kind() {
                    io::ErrorKind::InvalidData if from_io(&e).is_none() => {
                        let message = format!("cannot read \"{path}\": {e}");
                        Error::new(SqlState::BadCopyFormat, message).with_hint(
                            "say how the file is written: encoding => 'latin-1', 'utf-16' and others",
                        )
                    }
                    _ => failed(e),
                };
                taken(environment, path, Box::new(Decoding::new(unpacked, other, piece_bytes)), &wrong)?
            }
        };
        Ok(Input { length: bytes.len() as u64, bytes: Contents::Memory(bytes.into()), ..input })
    }

    /// How the file is packed, as its first bytes say.
    pub fn packing(&self) -> Result<Packing> {
        let mut magic = Vec::new();
        self.append(0, 4, &mut magic)?;
        Ok(match magic.as_slice() {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD] => Packing::Zstd,
            _ => Packing::None,
        })
    }

    /// The file with these bytes at hand, where getting them takes long. They are freed with what is returned.
    pub fn with_at_hand(&self, ranges: &[Range<u64>]) -> Result<Input> {
        let Contents::Remote(file, pieces) = &self.bytes else { return Ok(self.clone()) };
        let pieces = file.with(pieces, ranges)?;
        Ok(Input { bytes: Contents::Remote(file.clone(), pieces), ..self.clone() })
    }

    /// Fetches these bytes of a remote file and keeps them for all its readers, within a bound; local files need
    /// nothing.
    pub fn keep_ahead(&self, range: Range<u64>) -> Result<()> {
        match &self.bytes {
            Contents::Remote(file, _) => file.keep_ahead(range),
            _ => Ok(()),
        }
    }

    /// As `keep_ahead`, the end of the file.
    pub fn keep_tail(&self) -> Result<()> {
        match &self.bytes {
            Contents::Remote(file, _) => file.keep_tail(),
            _ => Ok(()),
        }
    }

    /// Whether each read is a request to another machine, unless its bytes are at hand.
    pub fn is_remote(&self) -> bool {
        matches!(self.bytes, Contents::Remote(..))
    }

    /// The state of the file when it was opened; equal stamps mean an unchanged file.
    pub fn stamp(&self) -> Stamp {
        Stamp { path: self.path.clone(), length: self.length, inode: self.inode, changed: self.changed }
    }

    /// An error of input and output as an error of this file; one of ours that is inside comes out as it was.
    pub fn failed(&self, e: &io::Error) -> Error {
        from_io(e)
            .unwrap_or_else(|| Error::new(SqlState::IoError, format!("cannot read \"{}\": {e}", self.path)))
    }

    /// Appends the bytes `from..to` to `out`, fewer when the file ends before.
    pub fn append(&self, from: u64, to: u64, out: &mut Vec<u8>) -> Result<()> {
        let wanted = to.min(self.length).saturating_sub(from) as usize;
        let begin = out.len();
        out.resize(begin + wanted, 0);
        let read = self.fill(from, &mut out[begin..]).map_err(|e| self.failed(&e))?;
        out.truncate(begin + read);
        Ok(())
    }

    /// The bytes `from..to`, all of them or an error.
    pub fn exact(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        if from > to || to > self.length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before"));
        }
        let mut out = vec![0; (to - from) as usize];
        if self.fill(from, &mut out)? < out.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
        }
        Ok(out)
    }

    fn fill(&self, from: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            let end = out.len().min(done.saturating_add(read_bytes_max()));
            if done > 0 {
                stop::check(Place::Open).map_err(io::Error::other)?;
            }
            match self.bytes.read_at(&mut out[done..end], from + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}

/// All of a text that is made while it is read.
fn taken(
    environment: &Environment,
    path: &str,
    mut source: Box<dyn Read + '_>,
    failed: &dyn Fn(io::Error) -> Error,
) -> Result<Vec<u8>> {
    const PIECE_BYTES: usize = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        if bytes.capacity() - bytes.len() < PIECE_BYTES {
            // What has been read is copied when there is no room behind it.
            let more = bytes.capacity().max(PIECE_BYTES);
            environment.ask((bytes.capacity() + more) as u64)?;
            bytes.reserve_exact(more);
        }
        stop::check(Place::Open)?;
        let piece = source.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
        if piece == 0 {
            bytes.shrink_to_fit();
            return Ok(bytes);
        }
        if bytes.len() as u64 > UNPACKED_BYTES_MAX {
            return Err(Error::unsupported(format!(
                "\"{path}\" is more than 4 GiB of text when it is unpacked"
            )));
        }
    }
}

/// An error where a file is packed otherwise than was said.
pub fn check_packing(environment: &Environment, paths: &[String], said: Option<Packing>) -> Result<()> {
    let Some(said) = said else { return Ok(()) };
    let named = |packing| match packing {
        Packing::None => "not packed",
        Packing::Gzip => "packed by gzip",
        Packing::Zstd => "packed by zstd",
    };
    let found = abreast::each(paths, |path| path, |path| Input::open(environment, path)?.packing())?;
    match paths.iter().zip(found).find(|(_, found)| *found != said) {
        None => Ok(()),
        Some((path, found)) => Err(Error::new(
            SqlState::BadCopyFormat,
            format!("\"{path}\" is {}, where it should be {}", named(found), named(said)),
        )
        .with_hint("compression => 'auto' finds out how a file is packed")),
    }
}

impl Contents {
    fn read_at(&self, out: &mut [u8], from: u64) -> io::Result<usize> {
        match self {
            Contents::File(file) => file.read_at(out, from),
            Contents::Remote(file, pieces) => file.read_at(pieces, out, from),
            Contents::Memory(bytes) => {
                let rest = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
                let count = rest.len().min(out.len());
                out[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }
}

/// Sequential reading from a place, without a position shared with anybody.
pub struct Cursor {
    input: Input,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        stop::check(Place::Open).map_err(io::Error::other)?;
        let count = out.len().min(read_bytes_max());
        let read = self.input.bytes.read_at(&mut out[..count], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        // What is read this way is page headers, of some dozen bytes.
        Ok(BufReader::with_capacity(512, Cursor { input: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        let end = start.saturating_add(length as u64);
        self.exact(start, end).map(Bytes::from).map_err(|e| ParquetError::EOF(e.to_string()))
    }
}
