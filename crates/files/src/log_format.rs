//! The bytes of a log, and what can be read of them after a crash. Format version 1, little endian.
//!
//! ```text
//!  0    "QSLOG\0\0\0"  u32 version  u32 0  16 bytes database id  u64 number of the log  16 bytes 0  u64 checksum of these
//!  64   record: u32 length of the payload  u32 kind  u64 number  u64 durable  u64 checksum of the payload
//!               u64 checksum of the 32 bytes before;  payload;  zeros up to a multiple of 8
//!       record ...
//! ```
//! Records are numbered without gaps through all logs. `durable` is the number up to which everything was known to be on
//! stable storage when the record was written. That tells a torn tail from damage: a loss of power may leave a record
//! in pieces and a later one whole, as long as none of them was synced. So where a record cannot be read, the log
//! is cut, unless a later one says that this one had been synced: then it is damaged, and nothing is cut.

use std::ops::Range;

use types::{Error, Result, SqlState};

/// The format version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// Length of a log's header, which the first record follows.
pub const HEADER_BYTES: usize = 64;
/// Length of a record's header, which its payload follows.
pub const RECORD_HEADER_BYTES: usize = 40;
/// A payload is what one transaction changed; what that is, the log's owner knows.
pub const COMMIT: u32 = 1;
const MAGIC: [u8; 8] = *b"QSLOG\0\0\0";
const ALIGNMENT: usize = 8;

/// 16 bytes that no other database has.
pub type DatabaseId = [u8; 16];

/// An id that no other database has: 128 bits that the standard library seeds its hash tables with.
pub fn new_id() -> DatabaseId {
    use std::hash::{BuildHasher, RandomState};
    let mut id = [0; 16];
    for half in id.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(std::process::id()).to_le_bytes());
    }
    id
}

/// The error for bytes of a file that mean nothing.
pub fn damaged(file: &str, offset: usize, what: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("\"{file}\" is damaged at byte {offset}: {what}"))
        .with_hint("restore the database from a backup, or EXPORT what can still be read")
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// The header of log `number` of a database.
pub fn header(id: &DatabaseId, number: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..32].copy_from_slice(id);
    bytes[32..40].copy_from_slice(&number.to_le_bytes());
    let checksum = simd::checksum(&bytes[..56]);
    bytes[56..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Refuses the header of another file or database (XX001) and of another version (0A000).
pub fn check_header(bytes: &[u8], file: &str, id: &DatabaseId, number: u64) -> Result<()> {
    if bytes.len() < HEADER_BYTES || simd::checksum(&bytes[..56]) != u64_at(bytes, 56) || bytes[..8] != MAGIC
    {
        return Err(damaged(file, 0, "its header cannot be read"));
    }
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Err(newer_version(file, version, VERSION));
    }
    match bytes[16..32] == *id && u64_at(bytes, 32) == number {
        true => Ok(()),
        false => Err(damaged(file, 16, "it belongs to another database, or has another file's name")),
    }
}

/// The error for a file that this version does not know.
pub fn newer_version(file: &str, version: u32, known: u32) -> Error {
    let message = format!("\"{file}\" has format version {version}, and this program reads {known}");
    Error::new(SqlState::FeatureNotSupported, message).with_hint("open it with a newer version of Quickstep")
}

/// A record's bytes; `None` when the payload is longer than a record can be.
pub fn record(number: u64, durable: u64, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len()).ok()?;
    let whole = (RECORD_HEADER_BYTES + payload.len()).next_multiple_of(ALIGNMENT);
    let mut bytes = Vec::with_capacity(whole);
    bytes.extend(length.to_le_bytes());
    bytes.extend(COMMIT.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(durable.to_le_bytes());
    bytes.extend(simd::checksum(payload).to_le_bytes());
    bytes.extend(simd::checksum(&bytes).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(whole, 0);
    Some(bytes)
}

/// A record that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Counts the records of a database through all of its logs.
    pub number: u64,
    /// Always [`COMMIT`] in records that `scan` gives.
    pub kind: u32,
    /// The number up to which records were known to be on stable storage when this one was written.
    pub durable: u64,
    /// Where its payload lies in the log's bytes.
    pub payload: Range<usize>,
}

/// What can be read of a log.
#[derive(Debug)]
pub struct Scan {
    /// The whole records, without gaps in their numbers.
    pub records: Vec<Record>,
    /// Where the last whole record ends.
    pub end: usize,
    /// Bytes behind it, which are to be cut.
    pub torn: usize,
}

fn record_at(bytes: &[u8], at: usize) -> Option<(Record, usize)> {
    let header = bytes.get(at..at.checked_add(RECORD_HEADER_BYTES)?)?;
    if simd::checksum(&header[..32]) != u64_at(header, 32) {
        return None;
    }
    let from = at + RECORD_HEADER_BYTES;
    let payload = from..from.checked_add(u32_at(header, 0) as usize)?;
    let end = payload.end.next_multiple_of(ALIGNMENT);
    if end > bytes.len() || simd::checksum(&bytes[payload.clone()]) != u64_at(header, 24) {
        return None;
    }
    let record =
        Record { number: u64_at(header, 8), kind: u32_at(header, 4), durable: u64_at(header, 16), payload };
    Some((record, end))
}

/// Reads the records of a log whose header is right; the first is expected to have the number `first`. A torn tail is
/// left out; damage before a record that was synced is XX001.
pub fn scan(bytes: &[u8], file: &str, first: u64) -> Result<Scan> {
    let mut records: Vec<Record> = Vec::new();
    let mut at = HEADER_BYTES.min(bytes.len());
    while at < bytes.len() {
        let expected = first + records.len() as u64;
        match record_at(bytes, at) {
            Some((record, end)) if record.number == expected => {
                if record.kind != COMMIT {
                    return Err(damaged(file, at, &format!("a record of kind {}", record.kind)));
                }
                records.push(record);
                at = end;
            }
            _ => {
                refuse_damage(bytes, file, at, expected)?;
                break;
            }
        }
    }
    Ok(Scan { records, end: at, torn: bytes.len() - at })
}

/// An error when a record behind `at` says that the one expected there was on stable storage.
pub fn refuse_damage(bytes: &[u8], file: &str, at: usize, expected: u64) -> Result<()> {
    let later = (at..bytes.len()).step_by(ALIGNMENT).filter_map(|at| record_at(bytes, at));
    match later.into_iter().any(|(record, _)| record.durable >= expected) {
        false => Ok(()),
        true => Err(damaged(file, at, &format!("record {expected} cannot be read, and later ones can"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: DatabaseId = [7; 16];

    fn log(records: &[(u64, u64, &[u8])]) -> Vec<u8> {
        let mut bytes = header(&ID, 3).to_vec();
        for (number, durable, payload) in records {
            bytes.extend(record(*number, *durable, payload).unwrap());
        }
        bytes
    }

    #[test]
    fn records_come_back() {
        let bytes = log(&[(5, 0, b"one"), (6, 5, b""), (7, 5, &[9; 100])]);
        check_header(&bytes, "log-3", &ID, 3).unwrap();
        assert!(check_header(&bytes, "log-3", &ID, 4).is_err());
        assert!(check_header(&bytes, "log-3", &[0; 16], 3).is_err());
        let scan = scan(&bytes, "log-3", 5).unwrap();
        let payloads: Vec<&[u8]> = scan.records.iter().map(|r| &bytes[r.payload.clone()]).collect();
        assert_eq!(payloads, [b"one".as_slice(), b"", &[9; 100]]);
        assert_eq!((scan.end, scan.torn), (bytes.len(), 0));
    }

    #[test]
    fn a_torn_tail_is_cut_wherever_it_tears() {
        let whole = log(&[(1, 0, b"first"), (2, 1, b"second record")]);
        let one = log(&[(1, 0, b"first")]).len();
        for length in HEADER_BYTES..whole.len() {
            let scan = scan(&whole[..length], "log", 1).unwrap();
            let complete = usize::from(length >= one);
            assert_eq!(scan.records.len(), complete);
            assert_eq!(scan.torn, length - if complete == 1 { one } else { HEADER_BYTES });
        }
        // The second was not synced when the third was written: all of them are the tail.
        let mut reordered = log(&[(1, 0, b"first"), (2, 1, b"second"), (3, 1, b"third")]);
        reordered[one + 2] ^= 1;
        let scan = scan(&reordered, "log", 1).unwrap();
        assert_eq!((scan.records.len(), scan.end), (1, one));
    }

    #[test]
    fn damage_of_what_was_durable_is_named() {
        let mut bytes = log(&[(1, 0, b"first"), (2, 1, b"second"), (3, 2, b"third")]);
        let one = log(&[(1, 0, b"first")]).len();
        bytes[one + 44] ^= 1;
        let error = scan(&bytes, "log-7", 1).unwrap_err();
        assert_eq!(error.state(), SqlState::DataCorrupted);
        assert!(
            error.message().contains("\"log-7\"") && error.message().contains(&one.to_string()),
            "{error}"
        );
        // Cutting off the later record, or losing a record in between, too.
        assert!(scan(&log(&[(1, 0, b"first"), (3, 2, b"third")]), "log", 1).is_err());
        assert!(scan(&log(&[(3, 2, b"third")]), "log", 1).is_err());
        assert_eq!(scan(&log(&[(3, 0, b"third")]), "log", 1).unwrap().records, []);
    }
}
