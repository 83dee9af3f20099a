//! A file read at offsets, from any number of threads.
//!
//! Reads name their place and never move a shared position, so that two units of one file cannot disturb each other;
//! the length is taken once, so that a file that grows or shrinks meanwhile cannot change what the units are. Nothing
//! is allocated for bytes the file does not have.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use types::{Error, Result, SqlState};

/// An open file and its length when it was opened. Clones share the handle.
#[derive(Clone, Debug)]
pub struct Input {
    pub path: Arc<str>,
    file: Arc<File>,
    pub length: u64,
}

impl Input {
    pub fn open(path: &str) -> Result<Self> {
        let fail = |e: io::Error| {
            let state = match e.kind() {
                io::ErrorKind::NotFound => SqlState::UndefinedFile,
                _ => SqlState::IoError,
            };
            Error::new(state, format!("cannot open \"{path}\": {e}"))
        };
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(Error::new(SqlState::IoError, format!("\"{path}\" is not a regular file"))
                .with_hint("a folder's files are named by a pattern, such as 'folder/*.parquet'"));
        }
        Ok(Input { path: path.into(), file: Arc::new(file), length: metadata.len() })
    }

    pub fn failed(&self, e: &io::Error) -> Error {
        Error::new(SqlState::IoError, format!("cannot read \"{}\": {e}", self.path))
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
            match self.file.read_at(&mut out[done..], from + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}

/// Sequential reading from a place, without a position shared with anybody.
pub struct Cursor {
    input: Input,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.file.read_at(out, self.at)?;
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
