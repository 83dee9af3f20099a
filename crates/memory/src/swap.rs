//! Memory that is not used for a while, in a file.
//!
//! What a query holds while it stands still (tables of joins, groups, sorted rows) is written to a file, and the file is
//! mapped where the memory was. The bytes can be read all the time, before, meanwhile and afterwards: readers need
//! not know, and nothing can be read wrong; a read meanwhile waits for the disk. The machine has the pages back, and
//! the budget the bytes. To bring them back, they are read into new memory, which then takes the mapping's place in
//! one step.
//!
//! ```text
//!   anonymous pages --write, map the file over them--> pages of the file --read, move new pages over them--> anonymous
//! ```
//!
//! The bytes must not be *written* while they are on their way: [`Bytes`] are shared and immutable by their type. An
//! allocator must never get pages of a file back, which it might take for zeroed ones: so the owner of the bytes is
//! kept until they are anonymous again.
//!
//! Only whole pages inside the bytes go. On machines other than Linux nothing does.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Ranges begin and end on pages.
const PAGE_BYTES: usize = 4096;
/// Less is not worth a mapping of its own.
const RANGE_BYTES_MIN: usize = 16 << 10;
/// Ranges that are away at a time, in the whole process.
const RANGES_MAX: usize = 1 << 14;
/// Mappings of the process beyond which nothing is put away: Linux allows 65,530, and beyond these no memory is
/// mapped.
const MAPPINGS_MAX: usize = 40_000;
/// More goes in pieces, so that a query that goes on meanwhile need not wait for all of it.
const RANGE_BYTES_MAX: usize = 64 << 20;

/// Owners of bytes.
type Owner = Arc<dyn Any + Send + Sync>;

/// Bytes to put away: they never change as long as their owner is there.
#[derive(Default)]
pub struct Bytes {
    /// Start and end of what lies in memory that an owner keeps.
    owned: Vec<(Owner, Vec<(usize, usize)>)>,
}

impl Bytes {
    /// Adds what `list` names of an owner: slices of memory that the engine allocated, that are parts of the owner or kept
    /// alive by it, and that no safe code can change as long as it is shared.
    pub fn add<T: Any + Send + Sync>(
        &mut self,
        owner: &Arc<T>,
        list: impl FnOnce(&T, &mut dyn FnMut(&[u8])),
    ) {
        let mut ranges = Vec::new();
        list(owner, &mut |bytes| {
            let start = (bytes.as_ptr() as usize).next_multiple_of(PAGE_BYTES);
            let end = (bytes.as_ptr() as usize + bytes.len()) / PAGE_BYTES * PAGE_BYTES;
            if end <= start || end - start < RANGE_BYTES_MIN {
                return;
            }
            let pieces = (start..end).step_by(RANGE_BYTES_MAX);
            ranges.extend(pieces.map(|piece| (piece, end.min(piece + RANGE_BYTES_MAX))));
        });
        if !ranges.is_empty() {
            self.owned.push((owner.clone(), ranges));
        }
    }

    /// How many bytes there are, those counted twice that were added twice.
    pub fn len(&self) -> usize {
        self.owned.iter().flat_map(|(_, ranges)| ranges).map(|(start, end)| end - start).sum()
    }

    /// Whether there is nothing to put away; what is too small was not added.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }
}

struct Range {
    start: usize,
    end: usize,
    /// Where it lies in the file.
    at: u64,
}

/// Bytes in a file. Dropping it brings them back.
pub struct Swapped {
    file: File,
    parts: Vec<Part>,
}

/// What of one owner is away.
struct Part {
    owner: Owner,
    ranges: Vec<Range>,
}

impl Part {
    fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| (range.end - range.start) as u64).sum()
    }
}

impl fmt::Debug for Swapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swapped").field("bytes", &self.bytes()).finish()
    }
}

/// What is away in the process, start to end: two queries may share bytes, and they go once.
static AWAY: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn away() -> std::sync::MutexGuard<'static, BTreeMap<usize, usize>> {
    AWAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Claims a range that overlaps nothing that is away.
fn claim(start: usize, end: usize) -> bool {
    let mut away = away();
    if away.len() >= RANGES_MAX {
        return false;
    }
    let before = away.range(..end).next_back();
    if before.is_some_and(|(_, their_end)| *their_end > start) {
        return false;
    }
    away.insert(start, end);
    true
}

impl Swapped {
    /// Writes the bytes to the file, which is this one's alone and empty, and gives their memory back. `stop` is asked
    /// between pieces: what has gone until then stays away.
    ///
    /// # Errors
    /// What the machine says of the first piece that failed; those before are away, the others are where they were.
    pub fn put(bytes: Bytes, file: File, mut stop: impl FnMut() -> bool) -> (Swapped, io::Result<()>) {
        let mut gone = Swapped { file, parts: vec![] };
        let mut at = 0;
        // A mapping that comes back is not joined with its neighbours again, so each range may cost two for good.
        let mut ranges_left = MAPPINGS_MAX.saturating_sub(machine::mappings()) / 2;
        for (owner, mut ranges) in bytes.owned {
            ranges.sort_unstable();
            gone.parts.push(Part { owner, ranges: vec![] });
            for (start, end) in ranges {
                if ranges_left == 0 || stop() {
                    gone.parts.retain(|part| !part.ranges.is_empty());
                    return (gone, Ok(()));
                }
                if !claim(start, end) {
                    continue;
                }
                if let Err(error) = machine::put(&gone.file, start, end - start, at) {
                    away().remove(&start);
                    gone.parts.retain(|part| !part.ranges.is_empty());
                    return (gone, Err(error));
                }
                crate::counting::taken_away(end - start);
                ranges_left -= 1;
                if let Some(part) = gone.parts.last_mut() {
                    part.ranges.push(Range { start, end, at });
                }
                at += (end - start) as u64;
            }
        }
        gone.parts.retain(|part| !part.ranges.is_empty());
        (gone, Ok(()))
    }

    /// What is away, in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// What `bring_back_some` would bring back.
    pub fn next_bytes(&self) -> u64 {
        self.parts.last().map_or(0, Part::bytes)
    }

    /// Brings back what is away of one owner, and drops that reference: if it was the last, its memory is free
    /// afterwards. So they come one by one, and what is not needed any more never takes more memory than one of them.
    ///
    /// # Errors
    /// What the machine says of the first piece that stays away.
    pub fn bring_back_some(&mut self) -> io::Result<()> {
        let Some(part) = self.parts.last_mut() else { return Ok(()) };
        while let Some(range) = part.ranges.last() {
            machine::bring_back(&self.file, range.start, range.end - range.start, range.at)?;
            crate::counting::brought_back(range.end - range.start);
            away().remove(&range.start);
            part.ranges.pop();
        }
        self.parts.pop();
        Ok(())
    }

    /// Brings everything back.
    ///
    /// # Errors
    /// What the machine says of the first piece that stays away.
    pub fn bring_back(&mut self) -> io::Result<()> {
        while !self.parts.is_empty() {
            self.bring_back_some()?;
        }
        Ok(())
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        if self.bring_back().is_err() {
            // The allocator must not have pages of a file: what cannot be brought back is lost for the process.
            self.parts.drain(..).for_each(|part| std::mem::forget(part.owner));
        }
    }
}

#[cfg(target_os = "linux")]
mod machine {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    const READ_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

    fn mapped(address: *mut libc::c_void) -> io::Result<*mut libc::c_void> {
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address) }
    }

    /// From this length on there are huge pages in it.
    const HUGE_BYTES: usize = 2 << 20;

    /// Mappings that the process has; none where the machine does not tell.
    pub(super) fn mappings() -> usize {
        std::fs::read("/proc/self/maps").map_or(0, |maps| maps.iter().filter(|byte| **byte == b'\n').count())
    }

    /// Writes the memory to the file and maps the file over it.
    pub(super) fn put(file: &File, start: usize, length: usize, at: u64) -> io::Result<()> {
        // SAFETY: the range lies in memory that its owner keeps, and that is never written (`Bytes`).
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        file.write_all_at(bytes, at)?;
        let offset = libc::off_t::try_from(at).map_err(io::Error::other)?;
        // SAFETY: whole pages inside one allocation are replaced by pages with the same bytes, in one step; that they are
        // private keeps the file as it is should they be written.
        let address = unsafe {
            libc::mmap(
                start as *mut libc::c_void,
                length,
                READ_WRITE,
                libc::MAP_PRIVATE | libc::MAP_FIXED,
                file.as_raw_fd(),
                offset,
            )
        };
        mapped(address).map(|_| ())
    }

    /// Reads the bytes into new memory and moves that over the mapping.
    pub(super) fn bring_back(file: &File, start: usize, length: usize, at: u64) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever there is room.
        let fresh = mapped(unsafe { libc::mmap(std::ptr::null_mut(), length, READ_WRITE, flags, -1, 0) })?;
        if length >= HUGE_BYTES {
            // Advice: where it is not taken, pages are small.
            // SAFETY: the memory just mapped.
            unsafe { libc::madvise(fresh, length, libc::MADV_HUGEPAGE) };
        }
        // SAFETY: the memory just mapped, to which there is no other reference.
        let bytes = unsafe { std::slice::from_raw_parts_mut(fresh.cast::<u8>(), length) };
        let moved = file.read_exact_at(bytes, at).and_then(|()| {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            // SAFETY: pages with the same bytes take the mapping's place in one step; they lie inside one allocation,
            // whose owner is there.
            mapped(unsafe { libc::mremap(fresh, length, length, flags, start as *mut libc::c_void) })
        });
        if moved.is_err() {
            // SAFETY: the memory mapped above, which was not moved.
            unsafe { libc::munmap(fresh, length) };
        }
        moved.map(|_| ())
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::fs::File;
    use std::io;

    pub(super) fn mappings() -> usize {
        0
    }
    pub(super) fn put(_: &File, _: usize, _: usize, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub(super) fn bring_back(_: &File, _: usize, _: usize, _: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    fn file(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("away-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    fn words(seed: u64) -> Arc<Vec<u64>> {
        Arc::new((0..400_000u64).map(|at| at.wrapping_mul(seed)).collect())
    }

    fn listed(vectors: &[Arc<Vec<u64>>]) -> Bytes {
        let mut bytes = Bytes::default();
        for vector in vectors {
            bytes.add(vector, |words, name| {
                // SAFETY: integers as the bytes that they are.
                name(unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) });
            });
        }
        bytes
    }

    /// Pages of the range that are the process's own, and not a file's.
    fn is_anonymous(vector: &[u64]) -> bool {
        let inside = vector.as_ptr() as usize + 1_000_000;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| {
                let (start, rest) = line.split_once('-').unwrap();
                let end = rest.split(' ').next().unwrap();
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                (number(start)..number(end)).contains(&inside)
            })
            .unwrap();
        line.split_whitespace().nth(4) == Some("0")
    }

    #[test]
    fn bytes_go_and_come_back_and_can_be_read_all_the_time() {
        let vectors = [words(3), words(0x9E37_79B9_7F4A_7C15)];
        let expected: Vec<Vec<u64>> = vectors.iter().map(|vector| vector.to_vec()).collect();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut rounds = 0;
                while !over.load(SeqCst) || rounds == 0 {
                    assert!(vectors.iter().zip(&expected).all(|(vector, expected)| **vector == *expected));
                    rounds += 1;
                }
            });
            for round in 0..8 {
                // Named twice, gone once.
                let bytes = listed(&[vectors[0].clone(), vectors[1].clone(), vectors[0].clone()]);
                let (mut away, outcome) = Swapped::put(bytes, file("round"), || false);
                outcome.unwrap();
                assert!((6_300_000..=6_400_000).contains(&away.bytes()), "{}", away.bytes());
                assert!(vectors.iter().all(|vector| !is_anonymous(vector)));
                assert_eq!(*vectors[1], expected[1]);
                if round % 2 == 0 {
                    away.bring_back().unwrap();
                    assert_eq!(away.bytes(), 0);
                } else {
                    drop(away);
                }
                assert!(vectors.iter().all(|vector| is_anonymous(vector)));
                assert_eq!(*vectors[0], expected[0]);
            }
            over.store(true, SeqCst);
            reader.join().unwrap();
        });
    }

    #[test]
    fn owners_come_back_one_by_one_and_are_let_go() {
        let vectors = [words(3), words(13), words(17)];
        let watched: Vec<_> = vectors.iter().map(Arc::downgrade).collect();
        let left = || watched.iter().filter(|owner| owner.strong_count() > 0).count();
        let (mut away, outcome) = Swapped::put(listed(&vectors), file("owners"), || false);
        outcome.unwrap();
        drop(vectors);
        for owners in [3, 2, 1] {
            assert_eq!(left(), owners);
            assert!((3_150_000..=3_200_000).contains(&away.next_bytes()), "{}", away.next_bytes());
            assert!(away.bytes() > 3_150_000 * owners as u64);
            away.bring_back_some().unwrap();
        }
        assert_eq!((left(), away.bytes(), away.next_bytes()), (0, 0, 0));
        away.bring_back_some().unwrap();
    }

    #[test]
    fn what_others_have_put_away_stays_theirs_and_small_pieces_stay() {
        let shared = words(5);
        let (first, outcome) = Swapped::put(listed(&[shared.clone()]), file("first"), || false);
        outcome.unwrap();
        let (second, outcome) = Swapped::put(listed(&[shared.clone(), words(7)]), file("second"), || false);
        outcome.unwrap();
        assert!(first.bytes() > 3_000_000 && second.bytes() > 3_000_000 && second.bytes() < 4_000_000);
        drop(first);
        assert!(is_anonymous(&shared));
        drop(second);
        let mut bytes = Bytes::default();
        bytes.add(&Arc::new(vec![1u8; 16_000]), |small, name| name(small));
        assert!(bytes.is_empty());
        let (stopped, outcome) = Swapped::put(listed(&[shared]), file("stopped"), || true);
        assert!(outcome.is_ok() && stopped.bytes() == 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_everything_where_it_is() {
        let vector = words(11);
        let unwritable = File::open("/dev/null").unwrap();
        let (away, outcome) = Swapped::put(listed(&[vector.clone()]), unwritable, || false);
        assert!(outcome.is_err() && away.bytes() == 0 && is_anonymous(&vector));
        let (away, outcome) = Swapped::put(listed(&[vector.clone()]), file("again"), || false);
        assert!(outcome.is_ok() && away.bytes() > 0);
    }
}
