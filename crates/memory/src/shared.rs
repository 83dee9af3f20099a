//! Memory that several processes of one machine map: bytes are copied in and out, words are atomic.
//!
//! What another process does to shared memory is outside of Rust's rules, so no reference to its bytes is ever given out:
//! a [`SharedRegion`] copies between it and private memory, within its bounds, and offers single words as atomics. Who
//! may write which bytes when is its users' protocol, built on these words (store with Release after writing, load with
//! Acquire before reading).
//!
//! The region is a file that one process creates, in a folder that only its user can enter, and another one opens; the
//! name can be removed once both have it. A process that cuts the file short while others use it kills them, as it could
//! by a signal: only processes of one user share regions.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A mapping of a file that others map too.
pub struct SharedRegion {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is not bound to a thread; all access goes by copies and atomics.
unsafe impl Send for SharedRegion {}
// SAFETY: as above; two threads that copy the same bytes at once must agree by the region's words, as processes must.
unsafe impl Sync for SharedRegion {}

impl SharedRegion {
    /// Creates the file, of so many zero bytes, for this user alone. It must not exist.
    pub fn create(path: &Path, bytes: usize) -> io::Result<SharedRegion> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.set_len(bytes as u64)?;
        SharedRegion::map(&file, bytes)
    }

    /// Maps a file that another process has created, if it has at least so many bytes.
    pub fn open(path: &Path, bytes: usize) -> io::Result<SharedRegion> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the region is too short"));
        }
        SharedRegion::map(&file, bytes)
    }

    fn map(file: &File, bytes: usize) -> io::Result<SharedRegion> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(SharedRegion { start, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn place(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: `offset` lies within the mapping, or at its end.
        (end <= self.bytes).then(|| unsafe { self.start.as_ptr().add(offset) })
    }

    /// Copies out; whether the range lies within the region.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        let Some(from) = self.place(offset, into.len()) else { return false };
        // SAFETY: the source lies within the mapping, and `into` is private memory, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        true
    }

    /// Copies in; whether the range lies within the region.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(to) = self.place(offset, bytes.len()) else { return false };
        // SAFETY: as in `read`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// The word at an offset that is a multiple of eight.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let place = self.place(offset, 8).filter(|_| offset.is_multiple_of(8))?;
        // SAFETY: the word lies within the mapping, which lives as long as `self` and begins at a page, so it is
        // aligned; every access to it, here and in other processes, is atomic.
        Some(unsafe { AtomicU64::from_ptr(place.cast()) })
    }
}

impl Drop for SharedRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_see_the_same_bytes_within_bounds() {
        let path = std::env::temp_dir().join(format!("shared-region-{}", std::process::id()));
        let one = SharedRegion::create(&path, 8192).unwrap();
        assert!(SharedRegion::create(&path, 8192).is_err());
        assert!(SharedRegion::open(&path, 10_000).is_err());
        let other = SharedRegion::open(&path, 8192).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(one.write(8189, b"abc") && !one.write(8190, b"abc") && !one.write(usize::MAX, b"abc"));
        one.word(64).unwrap().store(7, Ordering::Release);
        let mut bytes = [0; 3];
        assert_eq!(other.word(64).unwrap().load(Ordering::Acquire), 7);
        assert!(other.read(8189, &mut bytes) && !other.read(8190, &mut bytes));
        assert_eq!(&bytes, b"abc");
        assert!(other.word(63).is_none() && other.word(8192).is_none());
    }
}
