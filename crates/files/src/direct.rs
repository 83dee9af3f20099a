//! Reads past the system's cache.
//!
//! What comes through the cache is copied once more, and takes memory from what else is in it; in a control group that is
//! smaller than the files, every page read has to push another one out first. The pool keeps what is used again, so a
//! database that the cache cannot hold anyway loses nothing without it.
//!
//! Such reads want places, lengths and memory in whole sectors. Those asked for are not, so the sectors around them are
//! read into a buffer of the thread's, and copied from there.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// Whether long reads of block files go past the system's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectReads {
    /// Where the files are larger than the memory of the machine, or of the process's control group.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl DirectReads {
    /// The mode that `name` gives (auto, on or off); `None` for another word.
    pub fn from_name(name: &str) -> Option<DirectReads> {
        Some(match name {
            "auto" => DirectReads::Auto,
            "on" => DirectReads::On,
            "off" => DirectReads::Off,
            _ => return None,
        })
    }

    /// The word that `from_name` takes.
    pub fn name(self) -> &'static str {
        match self {
            DirectReads::Auto => "auto",
            DirectReads::On => "on",
            DirectReads::Off => "off",
        }
    }

    /// Whether to read directly, with files of `file_bytes` in all on a machine or control group of `memory_bytes`.
    pub fn holds(self, file_bytes: u64, memory_bytes: u64) -> bool {
        match self {
            DirectReads::Auto => file_bytes > memory_bytes,
            DirectReads::On => true,
            DirectReads::Off => false,
        }
    }
}

/// A multiple of every disk's sectors.
const SECTOR: usize = 4 << 10;
/// Read at a time.
const CHUNK: usize = 1 << 20;
/// Shorter reads go through the cache: they are of metadata, which is read again.
pub(crate) const BYTES_MIN: usize = 32 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::default();
}

/// The same file, for reads past the cache; `None` where the file system has none. By the descriptor, since the file may
/// have another name by now, or none.
pub(crate) fn reopen(file: &File) -> Option<File> {
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

/// Fills `into` with the bytes from `at` on, of a file that `reopen` gave.
pub(crate) fn read(file: &File, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
    let mut buffer = BUFFER.take();
    buffer.resize(CHUNK + 2 * SECTOR, 0);
    let begin = buffer.as_ptr().align_offset(SECTOR).min(SECTOR);
    let mut outcome = Ok(());
    while !into.is_empty() && outcome.is_ok() {
        let skipped = (at % SECTOR as u64) as usize;
        let length = into.len().min(CHUNK - skipped);
        let (target, rest) = into.split_at_mut(length);
        let sectors = &mut buffer[begin..begin + (skipped + length).next_multiple_of(SECTOR)];
        outcome = fill(file, at - skipped as u64, sectors, skipped + length);
        target.copy_from_slice(&sectors[skipped..skipped + length]);
        at += length as u64;
        into = rest;
    }
    BUFFER.set(buffer);
    outcome
}

/// Reads at least the first `needed` bytes of `sectors`: the last sector of a file is seldom whole.
fn fill(file: &File, at: u64, sectors: &mut [u8], needed: usize) -> io::Result<()> {
    let mut done = 0;
    while done < needed {
        match file.read_at(&mut sectors[done..], at + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            // What comes after an incomplete sector is the end, or is asked for again from the sector's beginning.
            Ok(read) if done + read >= needed => done += read,
            Ok(read) if (done + read) / SECTOR * SECTOR == done => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(read) => done = (done + read) / SECTOR * SECTOR,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
