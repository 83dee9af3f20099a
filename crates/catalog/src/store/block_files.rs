//! Block files: bytes of parts, one after the other, each on a page. Written once, synced, never changed.
//!
//! ```text
//!  0      "QSBLOCKS"  u32 version  u32 0  16 bytes database id  u64 number of the file  u64 checksum of these 40
//!  4096   part, zeros up to the next page;  part ...
//! ```
//! A part is its bytes as they are in memory, or these packed (`files::packed`), where that makes it shorter. Its
//! metadata are as they are in both, so that opening a database unpacks nothing.
//!
//! The place of each part is kept by what refers to it: a checkpoint or a record of the log. The bytes check
//! themselves: a part is a block of its own (`block::layout`), with checksums. A checkpoint also has a copy of its
//! metadata, so that a database of thousands of blocks is opened without thousands of reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_buffer::Buffer;
use block::{Block, Part};
use files::packed::{PackedReader, Packing, pack};
use files::{FileManager, FileReader};
use pool::Pool;
use types::{Error, Result, SqlState};

use super::catalog_file::KnownPart;
use super::changes::PartExtent;
use super::log_format::{DatabaseId, damaged};
use super::names::{BLOCKS, FORMAT, block_file_name};
use crate::PartId;

const MAGIC: [u8; 8] = *b"QSBLOCKS";
pub(crate) const HEADER_BYTES: usize = 48;
/// Large reads and mapped pages begin on its multiples.
const PAGE: usize = 4096;

fn header(version: u32, id: &DatabaseId, number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&version.to_le_bytes());
    header[16..32].copy_from_slice(id);
    header[32..40].copy_from_slice(&number.to_le_bytes());
    let checksum = simd::checksum(&header[..40]);
    header[40..48].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Writes a file of these parts. When this returns, it is on stable storage; on an error nothing is left of it, or an
/// orphan that the next opening removes.
pub(crate) fn write(
    files: &dyn FileManager,
    id: &DatabaseId,
    number: u64,
    parts: &[(PartId, Arc<Part>)],
    packing: Packing,
) -> Result<Vec<(PartId, PartExtent)>> {
    let name = block_file_name(number);
    let written = write_parts(files, id, number, &name, parts, packing);
    if written.is_err() {
        let _ = files.remove(&name);
    }
    written
}

fn write_parts(
    files: &dyn FileManager,
    id: &DatabaseId,
    number: u64,
    name: &str,
    parts: &[(PartId, Arc<Part>)],
    packing: Packing,
) -> Result<Vec<(PartId, PartExtent)>> {
    let mut page = [0; PAGE];
    page[..HEADER_BYTES].copy_from_slice(&header(FORMAT, id, number));
    let mut writer = files.create(name)?;
    writer.write(&page)?;
    let mut places = Vec::with_capacity(parts.len());
    let at_a_time = std::thread::available_parallelism().map_or(1, usize::from);
    for group in parts.chunks(at_a_time) {
        for ((part, _), bytes) in group.iter().zip(packed_parts(group, packing)?) {
            let bytes = bytes.as_slice();
            places.push((
                *part,
                PartExtent { file: number, offset: writer.position(), length: bytes.len() as u64 },
            ));
            writer.write(bytes)?;
            let gap = bytes.len().next_multiple_of(PAGE) - bytes.len();
            writer.write(&[0; PAGE][..gap])?;
        }
    }
    writer.sync()?;
    files.sync_directory(BLOCKS)?;
    // The folder's own name, which the first file has made.
    files.sync_directory("")?;
    Ok(places)
}

/// The bytes of parts as they go into a file. Packing takes longer than writing, so it is done side by side.
fn packed_parts(parts: &[(PartId, Arc<Part>)], packing: Packing) -> Result<Vec<Buffer>> {
    let one = |part: &Part| -> Result<Buffer> {
        let bytes = part.to_bytes()?;
        let (head, cuts) = block::extent_offsets(&bytes);
        Ok(pack(&bytes, head, &cuts, packing).map_or(bytes, Buffer::from))
    };
    if packing == Packing::None || parts.len() < 2 {
        return parts.iter().map(|(_, part)| one(part)).collect();
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = parts.iter().map(|(_, part)| scope.spawn(|| one(part))).collect();
        let lost = || Error::internal("packing a block ended early");
        running.into_iter().map(|thread| thread.join().map_err(|_| lost())?).collect()
    })
}

/// Block files that are open for reading; they stay readable when they are removed.
#[derive(Debug)]
pub(crate) struct BlockFiles {
    files: Arc<dyn FileManager>,
    open: Mutex<HashMap<u64, Arc<dyn FileReader>>>,
}

impl BlockFiles {
    pub(crate) fn new(files: Arc<dyn FileManager>) -> Self {
        BlockFiles { files, open: Mutex::default() }
    }

    pub(crate) fn reader(&self, number: u64) -> Result<Arc<dyn FileReader>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = open.get(&number) {
            return Ok(reader.clone());
        }
        let reader = self.files.open(&block_file_name(number))?;
        open.insert(number, reader.clone());
        Ok(reader)
    }

    pub(crate) fn forget(&self, number: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// An error when a file's first bytes are not those of this file. Parts are found without them.
    pub(crate) fn check_header(&self, number: u64, id: &DatabaseId) -> Result<()> {
        let mut found = [0; HEADER_BYTES];
        self.reader(number)?.read_at(0, &mut found)?;
        match (1..=FORMAT).any(|version| found == header(version, id, number)) {
            true => Ok(()),
            false => Err(damaged(&block_file_name(number), 0, "its header is another one")),
        }
    }

    /// The bytes of a part, unpacked, and the reader that unpacks them if the part is packed. An error when they
    /// cannot be unpacked: they are not the bytes that were written.
    pub(crate) fn read(&self, place: PartExtent) -> Result<(Vec<u8>, Option<PackedReader>)> {
        let reader = self.whole(place)?;
        if let Some(packed) = PackedReader::open(&reader, place.offset, place.length)? {
            return Ok((packed.contents()?, Some(packed)));
        }
        let mut bytes = vec![0; place.length as usize];
        reader.read_at(place.offset, &mut bytes)?;
        Ok((bytes, None))
    }

    /// The file of a part that lies in it as a whole.
    fn whole(&self, place: PartExtent) -> Result<Arc<dyn FileReader>> {
        let reader = self.reader(place.file)?;
        match place.offset.checked_add(place.length).filter(|end| *end <= reader.bytes()) {
            Some(_) => Ok(reader),
            None => Err(at_place(place, &Error::new(SqlState::DataCorrupted, "the file ends before"))),
        }
    }

    /// Where a part's unpacked bytes are read: a reader, the first byte in it, and how many.
    pub(crate) fn part(&self, place: PartExtent) -> Result<(Arc<dyn FileReader>, u64, u64)> {
        unpacked(self.whole(place)?, place)
    }

    /// Opens a part in place: its metadata is checked, and read where it is not known; its columns are read when they
    /// are pinned. All reading of stored blocks goes through here.
    pub(crate) fn open(
        &self,
        pool: &Pool,
        place: PartExtent,
        known: Option<KnownPart<'_>>,
    ) -> Result<Arc<Block>> {
        if let Some(KnownPart { length, metadata }) = known {
            let file = self.whole(place)?;
            let part = PlacedPart { file, place, length, opened: OnceLock::new(), opening: Mutex::default() };
            let opened = pool.open_known(Arc::new(part), place.offset, length, metadata);
            if let Some(block) = opened.map_err(|error| located(place, error))? {
                return Ok(block);
            }
        }
        let (reader, at, length) = self.part(place)?;
        pool.open_stored(reader, at, length).map_err(|error| located(place, error))
    }
}

/// The reader of a part's unpacked bytes, the first byte in it, and how many there are.
fn unpacked(file: Arc<dyn FileReader>, place: PartExtent) -> Result<(Arc<dyn FileReader>, u64, u64)> {
    let packed = PackedReader::open(&file, place.offset, place.length);
    Ok(match packed.map_err(|error| located(place, error))? {
        Some(packed) => {
            let bytes = packed.bytes();
            (Arc::new(packed), 0, bytes)
        }
        None => (file, place.offset, place.length),
    })
}

/// A part whose metadata is known: whether its bytes are packed is looked up at the first read. Its bytes begin at
/// the place's offset, as they would if they lay in the file as they are.
#[derive(Debug)]
struct PlacedPart {
    file: Arc<dyn FileReader>,
    place: PartExtent,
    /// Bytes of the part when unpacked.
    length: u64,
    opened: OnceLock<(Arc<dyn FileReader>, u64)>,
    /// Held while the part is opened: several columns may be read at once, and a read of a remote file is expensive.
    opening: Mutex<()>,
}

impl PlacedPart {
    fn opened(&self) -> Result<&(Arc<dyn FileReader>, u64)> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _turn = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let (reader, first, length) = unpacked(self.file.clone(), self.place)?;
        if length < self.length {
            let error = Error::new(SqlState::DataCorrupted, "it is shorter than the catalog says");
            return Err(at_place(self.place, &error));
        }
        Ok(self.opened.get_or_init(|| (reader, first)))
    }
}

impl FileReader for PlacedPart {
    fn bytes(&self) -> u64 {
        self.place.offset + self.length
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let (reader, first) = self.opened()?;
        reader.read_at(at - self.place.offset + first, into)
    }
    fn describe(&self) -> String {
        self.file.describe()
    }
}

fn located(place: PartExtent, error: Error) -> Error {
    match error.state() {
        SqlState::DataCorrupted => at_place(place, &error),
        _ => error,
    }
}

/// An error of a block's bytes, with the file and where in it the block begins.
fn at_place(place: PartExtent, error: &Error) -> Error {
    let file = block_file_name(place.file);
    let message = format!("\"{file}\" is damaged in the block at byte {}: {}", place.offset, error.message());
    Error::new(SqlState::DataCorrupted, message)
}
