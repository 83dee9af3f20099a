//! From files to a bus: the newest snapshot, and the logs from it on. Format version 1, little endian.
//!
//! ```text
//!  bus-snapshot-n   "QSBUS\0\0\0"  u32 version  u32 0  16 bytes bus id  u64 n  u64 last record in it
//!                   u64 count of changes  changes ...  u64 checksum of all before
//!  bus-log-n        as log_format.rs draws it; a payload is a change (state.rs)
//! ```
//! A crash while a snapshot is made leaves the old one, its log, and a newer log: all of them are read, in order. A log
//! that was begun and has no record is removed, and the one before is written on. Only the last log may end in the middle
//! of a record; that tail is cut, and reported.

use std::collections::BTreeSet;

use files::bytes::{ByteReader, ByteWriter};
use files::log_format::{
    DatabaseId, HEADER_BYTES, check_header, damaged, header, new_id, newer_version, scan,
};
use files::{FileManager, FileWriter, UNFINISHED, read_all, write_whole};
use types::Result;

use crate::state::{Change, State};

const MAGIC: [u8; 8] = *b"QSBUS\0\0\0";
const VERSION: u32 = 1;

pub(super) struct Recovered {
    pub(super) id: DatabaseId,
    pub(super) state: State,
    /// The snapshot that was read, and the log that is written.
    pub(super) snapshot: u64,
    pub(super) log: u64,
    pub(super) writer: Box<dyn FileWriter>,
    pub(super) last_record: u64,
    pub(super) torn_bytes: u64,
}

pub(super) fn snapshot_name(number: u64) -> String {
    format!("bus-snapshot-{number}")
}

pub(super) fn log_name(number: u64) -> String {
    format!("bus-log-{number}")
}

/// An empty log, whose name and header are on stable storage.
pub(super) fn new_log(files: &dyn FileManager, id: &DatabaseId, number: u64) -> Result<Box<dyn FileWriter>> {
    let name = log_name(number);
    let mut writer = match files.create(&name) {
        // Left by an attempt that failed.
        Err(_) if files.open(&name).is_ok() => files.continue_at(&name, 0)?,
        other => other?,
    };
    writer.write(&header(id, number))?;
    writer.sync()?;
    files.sync_directory("")?;
    Ok(writer)
}

pub(super) fn snapshot_bytes(id: &DatabaseId, number: u64, last_record: u64, state: &State) -> Vec<u8> {
    let mut w = ByteWriter::default();
    w.raw(&MAGIC);
    w.u32(VERSION);
    w.u32(0);
    w.raw(id);
    w.u64(number);
    w.u64(last_record);
    w.list(state.changes().iter(), |w, change| change.write(w));
    let mut bytes = w.into_bytes();
    let checksum = simd::checksum(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// The id, the number of the last record in it, and the bus.
fn read_snapshot(files: &dyn FileManager, number: u64) -> Result<(DatabaseId, u64, State)> {
    let name = snapshot_name(number);
    let bytes = read_all(files, &name)?;
    let (content, checksum) = bytes
        .split_last_chunk::<8>()
        .filter(|(content, _)| content.starts_with(&MAGIC))
        .ok_or_else(|| damaged(&name, 0, "it is no snapshot of a message bus"))?;
    if simd::checksum(content) != u64::from_le_bytes(*checksum) {
        return Err(damaged(&name, content.len(), "its checksum is wrong"));
    }
    let mut r = ByteReader::new(&content[MAGIC.len()..]);
    let version = r.u32()?;
    if version != VERSION {
        return Err(newer_version(&name, version, VERSION));
    }
    r.u32()?;
    let id = r.array()?;
    if r.u64()? != number {
        return Err(damaged(&name, 32, "it has another file's name"));
    }
    let (last_record, mut state) = (r.u64()?, State::default());
    r.list(Change::read)?.into_iter().for_each(|change| state.apply(change));
    r.end()?;
    Ok((id, last_record, state))
}

/// What a log does to a state. Returns the records, where the last one ends, and how many bytes lie behind.
fn read_log(
    bytes: &[u8],
    id: &DatabaseId,
    number: u64,
    first: u64,
    state: &mut State,
) -> Result<(u64, usize, usize)> {
    let name = log_name(number);
    check_header(bytes, &name, id, number)?;
    let scan = scan(bytes, &name, first)?;
    for record in &scan.records {
        let at = record.payload.start;
        let change = Change::from_bytes(&bytes[record.payload.clone()])
            .map_err(|error| damaged(&name, at, error.message()))?;
        state.apply(change);
    }
    Ok((scan.records.len() as u64, scan.end, scan.torn))
}

/// The bus after a snapshot and whole logs, and the number of its last record.
pub(super) fn replay(
    files: &dyn FileManager,
    id: &DatabaseId,
    snapshot: u64,
    last_log: u64,
) -> Result<(State, u64)> {
    let (_, mut last, mut state) = read_snapshot(files, snapshot)?;
    for number in snapshot..=last_log {
        let bytes = read_all(files, &log_name(number))?;
        let (records, end, torn) = read_log(&bytes, id, number, last + 1, &mut state)?;
        if torn > 0 {
            return Err(damaged(&log_name(number), end, "it was closed whole, and ends in pieces"));
        }
        last += records;
    }
    Ok((state, last))
}

/// Opens the bus in these files, or makes one.
pub(super) fn open(files: &dyn FileManager) -> Result<Recovered> {
    let (mut snapshots, mut logs) = (BTreeSet::new(), BTreeSet::new());
    for entry in files.list("")? {
        let number = |prefix| entry.name.strip_prefix(prefix).and_then(|rest: &str| rest.parse::<u64>().ok());
        if entry.name.starts_with("bus-") && entry.name.ends_with(UNFINISHED) {
            files.remove(&entry.name)?;
        } else if let Some(number) = number("bus-snapshot-") {
            snapshots.insert(number);
        } else if let Some(number) = number("bus-log-") {
            logs.insert(number);
        }
    }
    let Some(snapshot) = snapshots.last().copied() else {
        if let Some(log) = logs.first() {
            return Err(damaged(&log_name(*log), 0, "the snapshot that it goes on from is missing"));
        }
        let id = new_id();
        write_whole(files, &snapshot_name(1), &snapshot_bytes(&id, 1, 0, &State::default()))?;
        let writer = new_log(files, &id, 1)?;
        return Ok(Recovered {
            id,
            state: State::default(),
            snapshot: 1,
            log: 1,
            writer,
            last_record: 0,
            torn_bytes: 0,
        });
    };
    let (id, mut last_record, mut state) = read_snapshot(files, snapshot)?;
    // What the snapshot has replaced.
    for number in snapshots.iter().filter(|number| **number < snapshot) {
        files.remove(&snapshot_name(*number))?;
    }
    for number in logs.iter().filter(|number| **number < snapshot) {
        files.remove(&log_name(*number))?;
    }
    logs.retain(|number| *number >= snapshot);
    let mut read = Vec::new();
    for number in &logs {
        read.push((*number, read_all(files, &log_name(*number))?));
    }
    // Begun, and never used: nothing was written to it before the one before was whole.
    while let Some((number, bytes)) =
        read.last().filter(|(n, bytes)| *n > snapshot && bytes.len() <= HEADER_BYTES)
    {
        if bytes.len() == HEADER_BYTES {
            check_header(bytes, &log_name(*number), &id, *number)?;
        }
        files.remove(&log_name(*number))?;
        read.pop();
    }
    // Only the first snapshot is written before its log.
    if snapshot == 1 && read.iter().all(|(_, bytes)| bytes.len() < HEADER_BYTES) {
        let writer = new_log(files, &id, snapshot)?;
        return Ok(Recovered { id, state, snapshot, log: snapshot, writer, last_record, torn_bytes: 0 });
    }
    if read.is_empty() {
        return Err(damaged(&log_name(snapshot), 0, "it is missing"));
    }
    let (mut log, mut end, mut torn) = (snapshot, HEADER_BYTES, 0);
    for (position, (number, bytes)) in read.iter().enumerate() {
        if *number != snapshot + position as u64 {
            return Err(damaged(&log_name(snapshot + position as u64), 0, "it is missing"));
        }
        if torn > 0 {
            return Err(damaged(&log_name(log), end, "it ends in pieces, and a later log has records"));
        }
        let records;
        (records, end, torn) = read_log(bytes, &id, *number, last_record + 1, &mut state)?;
        (log, last_record) = (*number, last_record + records);
    }
    let mut writer = files.continue_at(&log_name(log), end as u64)?;
    // What a process wrote that was killed may not be on stable storage, and is about to be relied on.
    writer.sync()?;
    files.sync_directory("")?;
    Ok(Recovered { id, state, snapshot, log, writer, last_record, torn_bytes: torn as u64 })
}
