//! The files of a database's directory, by name.
//!
//! ```text
//!  QUICKSTEP      format version and id of the database; written last when it is created, and when its version is raised
//!  lock           names the process that writes it
//!  catalog-<n>    a checkpoint: everything but the blocks' bytes
//!  log-<n>        what was committed since catalog-<n>; a log that a checkpoint began and did not finish follows as n + 1
//!  blocks/<k>     bytes of blocks, never changed
//!  temporary/*    what did not fit the memory of a process that is gone, to be removed
//!  *.new          unfinished, to be removed
//! ```

use files::{FileManager, UNFINISHED, read_all, write_whole};
use types::{Error, Result, SqlState};

use super::log_format::{DatabaseId, damaged, newer_version};

pub(crate) const IDENTITY: &str = "QUICKSTEP";
pub(crate) const LOCK: &str = "lock";
pub(crate) const BLOCKS: &str = "blocks";
/// Folder for what does not fit the memory of the process that writes the database.
pub const TEMPORARY: &str = "temporary";

const MAGIC: [u8; 8] = *b"QUICKSTP";
const IDENTITY_BYTES: usize = 40;

pub(crate) fn catalog_name(number: u64) -> String {
    format!("catalog-{number}")
}
pub(crate) fn log_name(number: u64) -> String {
    format!("log-{number}")
}
pub(crate) fn block_file_name(number: u64) -> String {
    format!("{BLOCKS}/{number}")
}

/// What is in a directory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) identity: bool,
    /// Numbers, ascending.
    pub(crate) catalogs: Vec<u64>,
    pub(crate) logs: Vec<u64>,
    pub(crate) block_files: Vec<u64>,
    pub(crate) unfinished: Vec<String>,
    /// Files that are none of ours.
    pub(crate) strange: Vec<String>,
}

impl Listing {
    /// Whether nothing is there but perhaps the lock.
    pub(crate) fn is_empty(&self) -> bool {
        let lists = [&self.catalogs, &self.logs, &self.block_files];
        let named = [&self.unfinished, &self.strange];
        !self.identity && lists.iter().all(|l| l.is_empty()) && named.iter().all(|l| l.is_empty())
    }

    pub(crate) fn of(files: &dyn FileManager) -> Result<Listing> {
        let mut listing = Listing::default();
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| n.to_string() == text);
        for name in files.list("")?.into_iter().map(|entry| entry.name) {
            if name.ends_with(UNFINISHED)
                || name.strip_prefix(TEMPORARY).is_some_and(|rest| rest.starts_with('/'))
            {
                listing.unfinished.push(name);
            } else if name == IDENTITY {
                listing.identity = true;
            } else if let Some(n) = name.strip_prefix("catalog-").and_then(number) {
                listing.catalogs.push(n);
            } else if let Some(n) = name.strip_prefix("log-").and_then(number) {
                listing.logs.push(n);
            } else if let Some(n) = name.strip_prefix("blocks/").and_then(number) {
                listing.block_files.push(n);
            } else if name != LOCK {
                listing.strange.push(name);
            }
        }
        for numbers in [&mut listing.catalogs, &mut listing.logs, &mut listing.block_files] {
            numbers.sort_unstable();
        }
        Ok(listing)
    }
}

/// The directory's format version. A program refuses a database of a later version.
///
/// | version | new in it |
/// | --- | --- |
/// | 1 | |
/// | 2 | blocks in block files may be packed (`files::packed`) |
pub(crate) const FORMAT: u32 = 2;

pub(crate) fn write_identity(files: &dyn FileManager, id: &DatabaseId) -> Result<()> {
    let mut bytes = [0; IDENTITY_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[16..32].copy_from_slice(id);
    let checksum = simd::checksum(&bytes[..32]);
    bytes[32..].copy_from_slice(&checksum.to_le_bytes());
    write_whole(files, IDENTITY, &bytes)
}

/// The database's id, and the format version that it was made with or raised to.
pub(crate) fn read_identity(files: &dyn FileManager) -> Result<(DatabaseId, u32)> {
    let bytes = read_all(files, IDENTITY)?;
    let whole: [u8; IDENTITY_BYTES] =
        bytes.try_into().map_err(|_| damaged(IDENTITY, 0, "it has another length"))?;
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&whole[32..]);
    if whole[..8] != MAGIC || simd::checksum(&whole[..32]) != u64::from_le_bytes(checksum) {
        return Err(damaged(IDENTITY, 0, "its checksum does not match"));
    }
    let mut version = [0; 4];
    version.copy_from_slice(&whole[8..12]);
    let version = u32::from_le_bytes(version);
    if !(1..=FORMAT).contains(&version) {
        return Err(newer_version(IDENTITY, version, FORMAT));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&whole[16..32]);
    Ok((id, version))
}

/// The error for a directory that is no database.
pub(crate) fn no_database(files: &dyn FileManager, why: &str) -> Error {
    let message = format!("\"{}\" is not a Quickstep database: {why}", files.describe());
    Error::new(SqlState::UndefinedFile, message)
        .with_hint("name a directory that does not exist, or is empty, to create a database there")
}
