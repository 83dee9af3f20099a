//! Block files: bytes of parts, one after the other, each on a page. Written once, synced, never changed.
//!
//! ```text
//!  0      "QSBLOCKS"  u32 version  u32 0  16 bytes database id  u64 number of the file  u64 checksum of these 40
//!  4096   part, zeros up to the next page;  part ...
//! ```
//! Where each part lies is told by who refers to it: a checkpoint or a record of the log. The bytes check themselves: a
//! part is a block of its own (`block::layout`), with checksums.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use block::{Block, Part};
use files::{FileManager, FileReader};
use pool::Pool;
use types::{Error, Result, SqlState};

use super::changes::Place;
use super::log_format::{DatabaseId, VERSION, damaged};
use super::names::{BLOCKS, block_file_name};
use crate::PartId;

const MAGIC: [u8; 8] = *b"QSBLOCKS";
pub(crate) const HEADER_BYTES: usize = 48;
/// Large reads and mapped pages begin on its multiples.
const PAGE: usize = 4096;

fn header(id: &DatabaseId, number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
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
) -> Result<Vec<(PartId, Place)>> {
    let name = block_file_name(number);
    let written = write_parts(files, id, number, &name, parts);
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
) -> Result<Vec<(PartId, Place)>> {
    let mut page = [0; PAGE];
    page[..HEADER_BYTES].copy_from_slice(&header(id, number));
    let mut writer = files.create(name)?;
    writer.write(&page)?;
    let mut places = Vec::with_capacity(parts.len());
    for (part, bytes) in parts {
        let bytes = bytes.to_bytes()?;
        places.push((*part, Place { file: number, offset: writer.position(), length: bytes.len() as u64 }));
        writer.write(bytes.as_slice())?;
        let gap = bytes.len().next_multiple_of(PAGE) - bytes.len();
        writer.write(&[0; PAGE][..gap])?;
    }
    writer.sync()?;
    files.sync_directory(BLOCKS)?;
    // The folder's own name, which the first file has made.
    files.sync_directory("")?;
    Ok(places)
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
        match found == header(id, number) {
            true => Ok(()),
            false => Err(damaged(&block_file_name(number), 0, "its header is another one")),
        }
    }

    /// The bytes of a part.
    pub(crate) fn read(&self, place: Place) -> Result<Vec<u8>> {
        let reader = self.reader(place.file)?;
        let end = place.offset.checked_add(place.length).filter(|end| *end <= reader.bytes());
        if end.is_none() {
            return Err(at_place(place, &Error::new(SqlState::DataCorrupted, "the file ends before")));
        }
        let mut bytes = vec![0; place.length as usize];
        reader.read_at(place.offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Opens a part in place: its metadata is read and checked, its columns when somebody wants them. All reading of stored
    /// blocks goes through here.
    pub(crate) fn open(&self, pool: &Pool, place: Place) -> Result<Arc<Block>> {
        let reader = self.reader(place.file)?;
        let end = place.offset.checked_add(place.length).filter(|end| *end <= reader.bytes());
        if end.is_none() {
            return Err(at_place(place, &Error::new(SqlState::DataCorrupted, "the file ends before")));
        }
        pool.open_stored(reader, place.offset, place.length).map_err(|error| match error.state() {
            SqlState::DataCorrupted => at_place(place, &error),
            _ => error,
        })
    }
}

/// An error of a block's bytes, with the file and where in it the block begins.
fn at_place(place: Place, error: &Error) -> Error {
    let file = block_file_name(place.file);
    let message = format!("\"{file}\" is damaged in the block at byte {}: {}", place.offset, error.message());
    Error::new(SqlState::DataCorrupted, message)
}
