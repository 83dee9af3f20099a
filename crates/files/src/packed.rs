//! Bytes packed tighter in a file than they are in memory, and read as if they were not.
//!
//! ```text
//!  0      "QSPACKED"  u32 version  u32 pieces  u64 bytes unpacked  u64 bytes packed, all of it  u64 checksum
//!  40     a piece: u32 method  u32 bytes unpacked  u32 bytes stored;  a piece ...
//!         the stored bytes of the pieces, one after the other
//! ```
//! The checksum is of the first 32 bytes and the directory. Pieces have none: readers have checksums of what comes
//! out (a block has one for each 64 KiB of its extents), and bytes that cannot be unpacked are an error.
//!
//! | method | stored |
//! | --- | --- |
//! | 0 | as it is |
//! | 1 | a zstd frame |
//! | 2 | u32 values that never fall (offsets of strings, sorted codes): differences, all lowest bytes first, then all second ones and so on, in a zstd frame |
//!
//! A `PackedReader` is a `FileReader` whose bytes are the unpacked ones, so code that reads columns by their places
//! need not know of it; a piece of at most 512 KiB is unpacked for the first of its bytes that is wanted. The first
//! bytes, by which a block is opened, are never packed.

use std::cell::RefCell;
use std::sync::Arc;

use types::{Error, Result, SqlState};

use crate::FileReader;
use crate::bytes::ByteReader;

/// The first bytes of everything packed.
pub const MAGIC: [u8; 8] = *b"QSPACKED";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 40;
const ENTRY_BYTES: usize = 12;
/// Larger pieces are hardly smaller when packed (4 % at 2 MiB for the comments of TPC-H), and cost more where few of their
/// bytes are wanted.
const PIECE_BYTES: usize = 512 << 10;
/// Below this a frame of its own is not worth its entry and a call.
const PIECE_BYTES_MIN: usize = 4 << 10;
/// What is looked at before a whole extent is packed.
const SAMPLE_BYTES: usize = 64 << 10;
/// Never packed at the beginning: what one read brings that wants to know what a block is.
const HEAD_BYTES: usize = 8 << 10;
/// Read at first of packed bytes: their header and, as a rule, the directory.
const FIRST_READ_BYTES: u64 = 4 << 10;
/// More than any block has; a directory that claims more is not believed.
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
/// Zstd's fastest ordinary level.
const LEVEL: i32 = 1;

const AS_IS: u32 = 0;
const FRAME: u32 = 1;
const DIFFERENCES: u32 = 2;

/// What is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// Nothing.
    None,
    /// What becomes half as large or smaller: texts, offsets, sorted keys, codes of few values.
    #[default]
    Fast,
    /// Whatever becomes smaller by an eighth.
    Small,
}

impl Packing {
    /// The packing that `name` gives (none, fast or small); `None` for another word.
    pub fn from_name(name: &str) -> Option<Packing> {
        Some(match name {
            "none" => Packing::None,
            "fast" => Packing::Fast,
            "small" => Packing::Small,
            _ => return None,
        })
    }

    /// The word that `from_name` takes.
    pub fn name(self) -> &'static str {
        match self {
            Packing::None => "none",
            Packing::Fast => "fast",
            Packing::Small => "small",
        }
    }

    /// Whether packing pays.
    fn takes(self, unpacked: usize, packed: usize) -> bool {
        match self {
            Packing::None => false,
            Packing::Fast => packed <= unpacked / 2,
            Packing::Small => packed <= unpacked - unpacked / 8,
        }
    }
}

/// Packs `bytes`; `None` when that saves nothing. `cuts` are places, rising, at which different things begin; no piece
/// reaches over one. The first `head` bytes stay as they are.
pub fn pack(bytes: &[u8], head: usize, cuts: &[usize], packing: Packing) -> Option<Vec<u8>> {
    if packing == Packing::None || bytes.len() as u64 > UNPACKED_BYTES_MAX {
        return None;
    }
    let head = head.max(HEAD_BYTES).min(bytes.len());
    let mut packer = Packer {
        frames: zstd::bulk::Compressor::new(LEVEL).ok()?,
        packing,
        pieces: Vec::new(),
        stored: Vec::new(),
    };
    packer.put_as_is(&bytes[..head]);
    let mut at = head;
    for cut in cuts.iter().copied().chain([bytes.len()]).filter(|cut| *cut <= bytes.len()) {
        if cut > at {
            packer.put_extent(&bytes[at..cut]);
            at = cut;
        }
    }
    let Packer { pieces, stored, .. } = packer;
    let whole = HEADER_BYTES + pieces.len() * ENTRY_BYTES + stored.len();
    if whole > bytes.len() - bytes.len() / 16 {
        return None;
    }
    let mut out = Vec::with_capacity(whole);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((pieces.len() as u32).to_le_bytes());
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend((whole as u64).to_le_bytes());
    let mut checked = out.clone();
    for entry in &pieces {
        entry.iter().for_each(|word| checked.extend(word.to_le_bytes()));
    }
    out.extend(simd::checksum(&checked).to_le_bytes());
    out.extend(&checked[HEADER_BYTES - 8..]);
    out.extend(stored);
    Some(out)
}

struct Packer {
    frames: zstd::bulk::Compressor<'static>,
    packing: Packing,
    /// Method, bytes unpacked, bytes stored.
    pieces: Vec<[u32; 3]>,
    stored: Vec<u8>,
}

impl Packer {
    fn put_as_is(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u32;
        match self.pieces.last_mut() {
            // Neighbours are one piece, and so one read.
            Some(last) if last[0] == AS_IS && last[1].checked_add(length).is_some() => {
                last[1] += length;
                last[2] += length;
            }
            _ => self.pieces.push([AS_IS, length, length]),
        }
        self.stored.extend(bytes);
    }

    fn put_extent(&mut self, bytes: &[u8]) {
        if bytes.len() > 2 * SAMPLE_BYTES {
            // From the middle: the first bytes are often unlike the others.
            let middle = (bytes.len() / 2).next_multiple_of(4);
            let sample = &bytes[middle..middle + SAMPLE_BYTES];
            if self.packed(sample).is_none() {
                return self.put_as_is(bytes);
            }
        }
        for piece in bytes.chunks(PIECE_BYTES) {
            match self.packed(piece) {
                Some((method, frame)) => {
                    self.pieces.push([method, piece.len() as u32, frame.len() as u32]);
                    self.stored.extend(frame);
                }
                None => self.put_as_is(piece),
            }
        }
    }

    /// The best that can be made of a piece, if that is worth it.
    fn packed(&mut self, piece: &[u8]) -> Option<(u32, Vec<u8>)> {
        if piece.len() < PIECE_BYTES_MIN {
            return None;
        }
        let (method, frame) = match differences(piece) {
            Some(planes) => (DIFFERENCES, self.frames.compress(&planes)),
            None => (FRAME, self.frames.compress(piece)),
        };
        let frame = frame.ok()?;
        self.packing.takes(piece.len(), frame.len()).then_some((method, frame))
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// The differences of rising values, byte by byte; bytes behind the last whole value as they are. `None` when one falls.
fn differences(piece: &[u8]) -> Option<Vec<u8>> {
    let count = piece.len() / 4;
    let mut planes = vec![0; piece.len()];
    let mut before = 0;
    for (at, value) in words(piece).enumerate() {
        let [a, b, c, d] = value.checked_sub(before)?.to_le_bytes();
        planes[at] = a;
        planes[count + at] = b;
        planes[2 * count + at] = c;
        planes[3 * count + at] = d;
        before = value;
    }
    planes[4 * count..].copy_from_slice(&piece[4 * count..]);
    Some(planes)
}

/// Undoes `differences`; both have the same length.
fn sums(planes: &[u8], into: &mut [u8]) {
    let count = into.len() / 4;
    let (low, rest) = planes.split_at(count);
    let (second, rest) = rest.split_at(count);
    let (third, rest) = rest.split_at(count);
    let (high, tail) = rest.split_at(count);
    let mut value = 0u32;
    for ((((word, a), b), c), d) in into.chunks_exact_mut(4).zip(low).zip(second).zip(third).zip(high) {
        value = value.wrapping_add(u32::from_le_bytes([*a, *b, *c, *d]));
        word.copy_from_slice(&value.to_le_bytes());
    }
    into[4 * count..].copy_from_slice(tail);
}

#[derive(Clone, Copy, Debug)]
struct PieceAt {
    method: u32,
    /// Place of its first unpacked byte.
    from: u64,
    bytes: usize,
    /// From the packed bytes' first one on.
    stored_at: u64,
    stored_bytes: usize,
}

/// Packed bytes, as if they were not.
#[derive(Debug)]
pub struct PackedReader {
    inner: Arc<dyn FileReader>,
    at: u64,
    bytes: u64,
    pieces: Box<[PieceAt]>,
}

/// What a thread unpacks with. Contexts and buffers made anew for each piece cost as much as a fifth of unpacking it.
#[derive(Default)]
struct Unpacker {
    frames: Option<zstd::bulk::Decompressor<'static>>,
    /// Buffers of at most a piece's bytes each.
    stored: Vec<u8>,
    planes: Vec<u8>,
}

thread_local! {
    static UNPACKER: RefCell<Unpacker> = RefCell::default();
}

fn corrupted(what: impl Into<String>) -> Error {
    Error::new(SqlState::DataCorrupted, what)
}

impl PackedReader {
    /// Opens `length` bytes of a file from `at` on. `None` when they are not packed.
    ///
    /// # Errors
    /// XX001 when they are, and their directory makes no sense; whatever reading says.
    pub fn open(inner: &Arc<dyn FileReader>, at: u64, length: u64) -> Result<Option<PackedReader>> {
        let mut first = vec![0; FIRST_READ_BYTES.min(length) as usize];
        inner.read_at(at, &mut first)?;
        if first.len() < HEADER_BYTES || first[..8] != MAGIC {
            return Ok(None);
        }
        let mut header = ByteReader::new(&first[8..HEADER_BYTES]);
        let (version, count) = (header.u32()?, header.u32()?);
        let (unpacked, packed, checksum) = (header.u64()?, header.u64()?, header.u64()?);
        if version != VERSION {
            return Err(corrupted(format!("version {version} of packed bytes is not known")));
        }
        let end = HEADER_BYTES as u64 + u64::from(count) * ENTRY_BYTES as u64;
        if packed > length || end > packed || unpacked > UNPACKED_BYTES_MAX {
            return Err(corrupted("the header of packed bytes claims too much"));
        }
        let known = first.len();
        first.resize(known.max(end as usize), 0);
        if known < end as usize {
            inner.read_at(at + known as u64, &mut first[known..])?;
        }
        let directory = &first[HEADER_BYTES..end as usize];
        if simd::checksum(&[&first[..HEADER_BYTES - 8], directory].concat()) != checksum {
            return Err(corrupted("the checksum of the packed bytes' directory does not match"));
        }
        let (mut from, mut stored_at) = (0, end);
        let mut pieces = Vec::with_capacity(count as usize);
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            let mut entry = words(entry);
            let mut next = || entry.next().unwrap_or(0);
            let (method, bytes, stored_bytes) = (next(), next() as usize, next() as usize);
            let fits = match method {
                AS_IS => bytes == stored_bytes,
                FRAME | DIFFERENCES => bytes <= PIECE_BYTES && stored_bytes <= bytes,
                _ => false,
            };
            if !fits || bytes == 0 {
                return Err(corrupted("the directory of packed bytes makes no sense"));
            }
            pieces.push(PieceAt { method, from, bytes, stored_at, stored_bytes });
            from += bytes as u64;
            stored_at += stored_bytes as u64;
        }
        if (from, stored_at) != (unpacked, packed) {
            return Err(corrupted("the pieces of packed bytes do not add up"));
        }
        Ok(Some(PackedReader { inner: inner.clone(), at, bytes: unpacked, pieces: pieces.into() }))
    }

    /// Everything unpacked. What cannot be unpacked is other bytes than those written, so that their checksums tell.
    ///
    /// # Errors
    /// What reading says.
    pub fn contents(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes as usize];
        for piece in &self.pieces {
            let target = &mut bytes[piece.from as usize..][..piece.bytes];
            match self.unpack(piece, target) {
                Err(error) if error.state() == SqlState::DataCorrupted => target.fill(0xA5),
                other => other?,
            }
        }
        Ok(bytes)
    }

    /// Which of the packed bytes hold `bytes` unpacked ones from `at` on: the first, and how many. Of pieces that are
    /// packed it is all.
    pub fn stored(&self, at: u64, bytes: u64) -> (u64, u64) {
        let end = at.saturating_add(bytes);
        let within = |piece: &&PieceAt| piece.from < end && at < piece.from + piece.bytes as u64;
        let place = |piece: &PieceAt| match piece.method {
            AS_IS => {
                let skipped = at.saturating_sub(piece.from);
                let kept = (end - piece.from).min(piece.bytes as u64);
                (piece.stored_at + skipped, piece.stored_at + kept)
            }
            _ => (piece.stored_at, piece.stored_at + piece.stored_bytes as u64),
        };
        let mut places = self.pieces.iter().filter(within).map(place);
        let Some((first, mut to)) = places.next() else { return (0, 0) };
        if let Some((_, last)) = places.next_back() {
            to = last;
        }
        (first, to - first)
    }

    /// Whether a packed piece is whole.
    fn unpack_with(&self, own: &mut Unpacker, piece: &PieceAt, into: &mut [u8]) -> Result<bool> {
        let Unpacker { frames, stored, planes } = own;
        stored.resize(piece.stored_bytes, 0);
        self.inner.read_at(self.at + piece.stored_at, stored)?;
        let frames = match frames {
            Some(frames) => frames,
            None => frames.insert(
                zstd::bulk::Decompressor::new()
                    .map_err(|e| Error::internal(format!("zstd gives no context: {e}")))?,
            ),
        };
        Ok(match piece.method {
            FRAME => frames.decompress_to_buffer(stored, into).is_ok_and(|bytes| bytes == into.len()),
            _ => {
                planes.resize(piece.bytes, 0);
                let read = frames.decompress_to_buffer(stored, &mut planes[..]);
                sums(planes, into);
                read.is_ok_and(|bytes| bytes == planes.len())
            }
        })
    }

    /// A whole piece.
    fn unpack(&self, piece: &PieceAt, into: &mut [u8]) -> Result<()> {
        if piece.method == AS_IS {
            return self.inner.read_at(self.at + piece.stored_at, into);
        }
        let mut own = UNPACKER.take();
        let whole = self.unpack_with(&mut own, piece, into);
        UNPACKER.set(own);
        match whole? {
            true => Ok(()),
            false => {
                let at = self.at + piece.stored_at;
                Err(corrupted(format!("the {} bytes at byte {at} cannot be unpacked", piece.stored_bytes)))
            }
        }
    }
}

impl FileReader for PackedReader {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        if at.checked_add(into.len() as u64).is_none_or(|end| end > self.bytes) {
            return Err(corrupted(format!("{} end before", self.describe())));
        }
        let first = self.pieces.partition_point(|piece| piece.from + piece.bytes as u64 <= at);
        let (mut at, mut rest) = (at, into);
        for piece in &self.pieces[first..] {
            if rest.is_empty() {
                break;
            }
            let skipped = (at - piece.from) as usize;
            let (target, after) = rest.split_at_mut((piece.bytes - skipped).min(rest.len()));
            at += target.len() as u64;
            rest = after;
            if piece.method == AS_IS {
                self.inner.read_at(self.at + piece.stored_at + skipped as u64, target)?;
            } else if target.len() == piece.bytes {
                self.unpack(piece, target)?;
            } else {
                let mut whole = vec![0; piece.bytes];
                self.unpack(piece, &mut whole)?;
                target.copy_from_slice(&whole[skipped..skipped + target.len()]);
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("the packed bytes from byte {} of {} on", self.at, self.inner.describe())
    }
}

#[cfg(test)]
mod tests;
