//! Reading a database: the newest checkpoint, and the logs behind it.
//!
//! ```text
//!  newest whole catalog-<n>  -- records of log-<n>, log-<n + 1> ... -->  snapshot
//! ```
//! A table that cannot be read is set aside with its error, and everything begins again without it: what refers to it in
//! the log is passed over. A database with such tables is opened read-only, so that nothing more is lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use block::{Block, Part};
use files::{FileManager, read_all};
use pool::Pool;
use types::{Error, Result, SqlState};

use super::block_files::BlockFiles;
use super::blocks::{PartSource, parts_of};
use super::bytes::{ByteReader, malformed};
use super::catalog_file::{self, CatalogFile, KnownPart, NamedTable};
use super::changes::{NewPart, PartExtent, read_changes, read_parts};
use super::log_format::{DatabaseId, check_header, damaged, refuse_damage, scan};
use super::names::{Listing, catalog_name, log_name};
use crate::{Change, DamagedTable, PartId, Snapshot, TableId, replay};

/// A log as it was found.
#[derive(Debug)]
pub(crate) struct FoundLog {
    pub(crate) number: u64,
    /// Where its last whole record ends; `None` when not even its header was finished.
    pub(crate) end: Option<usize>,
    pub(crate) torn: usize,
    /// Number of its last record; of the log before it, when it has none.
    last_record: u64,
    /// Everything up to this record was on stable storage, as its last record says.
    durable: u64,
}

impl FoundLog {
    /// Whether all of it is known to be on stable storage.
    pub(crate) fn is_durable(&self, logs: &[FoundLog]) -> bool {
        self.torn == 0 && logs.iter().any(|log| log.durable >= self.last_record)
    }
}

/// A database as it was found.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) snapshot: Snapshot,
    pub(crate) catalog_number: u64,
    pub(crate) logs: Vec<FoundLog>,
    /// Number of the last record.
    pub(crate) last_record: u64,
    pub(crate) replayed: u64,
    /// Parts that the checkpoint and the logs name.
    pub(crate) recorded: HashSet<PartId>,
    pub(crate) places: HashMap<PartId, (PartExtent, Weak<Part>)>,
    pub(crate) catalog_files: HashSet<u64>,
    pub(crate) log_files: HashSet<u64>,
    /// What was wrong with newer checkpoints than the one that was read.
    pub(crate) unreadable: Vec<Error>,
}

pub(crate) fn recover(
    files: &dyn FileManager,
    blocks: &BlockFiles,
    pool: &Pool,
    id: &DatabaseId,
    listing: &Listing,
) -> Result<Recovered> {
    let mut unreadable = Vec::new();
    for number in listing.catalogs.iter().rev() {
        let name = catalog_name(*number);
        let catalog = catalog_file::read(files, &name, id, *number);
        match catalog {
            Ok(catalog) => {
                return from_catalog(files, blocks, pool, id, listing, &catalog, *number, unreadable);
            }
            // A newer program's, or a disk that fails: an older state would not be what was asked for.
            Err(error) if error.state() != SqlState::DataCorrupted => return Err(error),
            Err(error) => unreadable.push(error),
        }
    }
    Err(unreadable.into_iter().next().unwrap_or_else(|| {
        let message = format!("\"{}\" has no catalog", files.describe());
        Error::new(SqlState::DataCorrupted, message).with_hint("restore the database from a backup")
    }))
}

#[expect(clippy::too_many_arguments, reason = "one caller")]
fn from_catalog(
    files: &dyn FileManager,
    blocks: &BlockFiles,
    pool: &Pool,
    id: &DatabaseId,
    listing: &Listing,
    catalog: &CatalogFile,
    number: u64,
    unreadable: Vec<Error>,
) -> Result<Recovered> {
    let (logs, payloads) = read_logs(files, id, listing, number, catalog.last_record + 1)?;
    let mut broken: BTreeMap<TableId, DamagedTable> = BTreeMap::new();
    loop {
        let mut source = Source::new(blocks, pool, broken.keys().copied().collect());
        let state =
            load(catalog, &mut source).and_then(|snapshot| replay_all(snapshot, &payloads, &mut source));
        let mut snapshot = match (state, source.fault.take()) {
            (Err(_), Some((table, error))) => {
                let named = source.named.get(&table).cloned();
                let NamedTable { id, schema, name } = named.unwrap_or_else(|| NamedTable {
                    id: table,
                    schema: crate::DEFAULT_SCHEMA.into(),
                    name: format!("table {}", table.0),
                });
                let message = format!("table \"{name}\" cannot be read: {}", error.message());
                let error = Error::new(SqlState::DataCorrupted, message)
                    .with_hint("CHECK DATABASE lists what is damaged; restore the table from a backup");
                if broken.insert(table, DamagedTable { id, schema, name, error }).is_some() {
                    return Err(Error::internal("a damaged table was not set aside"));
                }
                continue;
            }
            (state, _) => state?,
        };
        check_references(&snapshot)?;
        let places = source.places(&snapshot);
        snapshot.damaged = broken.into_values().filter(|d| !source.dropped.contains(&d.id)).collect();
        let last_record = catalog.last_record + payloads.len() as u64;
        return Ok(Recovered {
            snapshot,
            catalog_number: number,
            logs,
            last_record,
            replayed: payloads.len() as u64,
            recorded: source.parts.keys().copied().collect(),
            places,
            catalog_files: source.catalog_files,
            log_files: source.log_files,
            unreadable,
        });
    }
}

/// The logs from `number` on, and the payloads of their records.
fn read_logs(
    files: &dyn FileManager,
    id: &DatabaseId,
    listing: &Listing,
    number: u64,
    first: u64,
) -> Result<(Vec<FoundLog>, Vec<Vec<u8>>)> {
    let (mut logs, mut payloads): (Vec<FoundLog>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    if !listing.logs.contains(&number) {
        return Err(damaged(&log_name(number), 0, "the file is missing"));
    }
    for number in (number..).take_while(|n| listing.logs.contains(n)) {
        let name = log_name(number);
        let bytes = read_all(files, &name)?;
        let expected = first + payloads.len() as u64;
        if let Err(error) = check_header(&bytes, &name, id, number) {
            // A log is begun before it is used: one that follows another may be unfinished.
            if logs.is_empty() || error.state() != SqlState::DataCorrupted {
                return Err(error);
            }
            refuse_damage(&bytes, &name, 0, expected)?;
            if bytes.len() > super::log_format::HEADER_BYTES {
                return Err(error);
            }
            logs.push(FoundLog {
                number,
                end: None,
                torn: bytes.len(),
                last_record: expected - 1,
                durable: 0,
            });
            break;
        }
        let scan = scan(&bytes, &name, expected)?;
        if let Some(before) = logs.last().filter(|before| before.torn > 0 && !scan.records.is_empty()) {
            // Everything in it was on stable storage before this one was written.
            let end = before.end.unwrap_or(0);
            return Err(damaged(&log_name(before.number), end, "a record cannot be read"));
        }
        payloads.extend(scan.records.iter().map(|r| bytes[r.payload.clone()].to_vec()));
        let durable = scan.records.last().map_or(first - 1, |r| r.durable);
        let last_record = first + payloads.len() as u64 - 1;
        logs.push(FoundLog { number, end: Some(scan.end), torn: scan.torn, last_record, durable });
    }
    Ok((logs, payloads))
}

fn load<'a>(catalog: &'a CatalogFile, source: &mut Source<'a>) -> Result<Snapshot> {
    let mut snapshot = catalog.snapshot.clone();
    for (position, named) in catalog.tables.iter().enumerate() {
        source.named.insert(named.id, named.clone());
        if !source.wants(named.id) {
            continue;
        }
        let section = catalog.section(position).map_err(|error| source.blame(named.id, error))?;
        let known: HashMap<PartId, KnownPart<'_>> = section.known.iter().copied().collect();
        for (id, place) in &section.places {
            id.keep_clear_of();
            source.parts.insert(*id, (Stored::Placed(*place, known.get(id).copied()), Weak::new()));
            source.catalog_files.insert(place.file);
        }
        let table = section.open(source).map_err(|error| source.blame(named.id, error))?;
        let entry = snapshot.schemas.get_mut(&table.schema);
        let entry = entry.ok_or_else(|| malformed("a table of no schema"))?;
        entry.tables.insert(table.name.clone(), Arc::new(table));
    }
    source.without_damaged(&mut snapshot);
    Ok(snapshot)
}

fn replay_all<'a>(
    mut snapshot: Snapshot,
    payloads: &'a [Vec<u8>],
    source: &mut Source<'a>,
) -> Result<Snapshot> {
    // Names of all parts first, so that none that is made on the way gets one of them.
    for payload in payloads {
        let mut r = ByteReader::new(payload);
        for (id, part) in read_parts(&mut r)? {
            id.keep_clear_of();
            if let NewPart::Placed(place) = part {
                source.log_files.insert(place.file);
            }
        }
    }
    for payload in payloads {
        let mut r = ByteReader::new(payload);
        for (id, part) in read_parts(&mut r)? {
            let stored = match part {
                NewPart::Inline(bytes) => Stored::Inline(bytes),
                NewPart::Placed(place) => Stored::Placed(place, None),
            };
            source.parts.insert(id, (stored, Weak::new()));
        }
        let mut changes = read_changes(&mut r, source)?;
        for change in &changes {
            if let Change::CreateTable(table) | Change::DefineTable(table) = change {
                let (schema, name) = (table.schema.clone(), table.name.clone());
                source.named.insert(table.id, NamedTable { id: table.id, schema, name });
            }
        }
        source.note_drops(&changes);
        changes.retain(|change| !source.concerns_damaged(change));
        for change in &mut changes {
            source.without_damaged_parents(change);
        }
        if !changes.is_empty() {
            snapshot = replay(snapshot, &changes, source.pool).map_err(does_not_replay)?;
        } else {
            snapshot.version += 1;
        }
    }
    Ok(snapshot)
}

/// A change that was made once and cannot be made again is no user's mistake: the log says something else than was done.
fn does_not_replay(error: Error) -> Error {
    match error.state() {
        SqlState::OutOfMemory | SqlState::DataCorrupted | SqlState::IoError => error,
        _ => malformed(&format!("a logged change cannot be made again: {}", error.message())),
    }
}

/// Foreign keys refer to columns that are there.
fn check_references(snapshot: &Snapshot) -> Result<()> {
    for table in snapshot.tables() {
        for key in &table.foreign_keys {
            let parent =
                snapshot.table_by_id(key.parent).ok_or_else(|| malformed("a foreign key of no table"))?;
            if key.parent_columns.iter().any(|column| *column >= parent.columns.len()) {
                return Err(malformed("a foreign key to a column that is not there"));
            }
        }
    }
    Ok(())
}

/// Where recovery finds a part.
#[derive(Clone, Copy)]
enum Stored<'a> {
    Inline(&'a [u8]),
    Placed(PartExtent, Option<KnownPart<'a>>),
}

struct Source<'a> {
    blocks: &'a BlockFiles,
    pool: &'a Pool,
    /// Tables set aside.
    broken: HashSet<TableId>,
    /// Tables that a later commit dropped: their damage is of no account.
    dropped: HashSet<TableId>,
    /// Parts by name, with the opened block while a snapshot holds it. Most parts of a log are merged into others
    /// soon, and each open one takes a slot of the pool.
    parts: HashMap<PartId, (Stored<'a>, Weak<Block>)>,
    named: HashMap<TableId, NamedTable>,
    /// The table whose blocks are being read.
    current: Option<TableId>,
    /// The first table that could not be read, and why.
    fault: Option<(TableId, Error)>,
    catalog_files: HashSet<u64>,
    log_files: HashSet<u64>,
}

impl<'a> Source<'a> {
    fn new(blocks: &'a BlockFiles, pool: &'a Pool, broken: HashSet<TableId>) -> Self {
        Source {
            blocks,
            pool,
            broken,
            dropped: HashSet::new(),
            parts: HashMap::new(),
            named: HashMap::new(),
            current: None,
            fault: None,
            catalog_files: HashSet::new(),
            log_files: HashSet::new(),
        }
    }

    /// Notes an error that is one table's alone.
    fn blame(&mut self, table: TableId, error: Error) -> Error {
        let local =
            matches!(error.state(), SqlState::DataCorrupted | SqlState::IoError | SqlState::UndefinedFile);
        if local && self.fault.is_none() {
            self.fault = Some((table, error.clone()));
        }
        error
    }

    fn concerns_damaged(&self, change: &Change) -> bool {
        match change {
            Change::CreateTable(table) => self.broken.contains(&table.id),
            Change::DropTable(id) => self.broken.contains(id),
            other => other.table().is_some_and(|id| self.broken.contains(&id)),
        }
    }

    fn note_drops(&mut self, changes: &[Change]) {
        let dropped = changes.iter().filter_map(|change| match change {
            Change::DropTable(id) => Some(*id),
            _ => None,
        });
        self.dropped.extend(dropped);
    }

    /// Takes out what refers to tables that are set aside.
    fn without_damaged(&self, snapshot: &mut Snapshot) {
        if self.broken.is_empty() {
            return;
        }
        for table in snapshot.schemas.values_mut().flat_map(|s| s.tables.values_mut()) {
            let mut changed = (**table).clone();
            changed.foreign_keys.retain(|key| !self.broken.contains(&key.parent));
            *table = Arc::new(changed);
        }
    }

    fn without_damaged_parents(&self, change: &mut Change) {
        let (Change::CreateTable(table) | Change::DefineTable(table)) = change else { return };
        if table.foreign_keys.iter().any(|key| self.broken.contains(&key.parent)) {
            let mut changed = (**table).clone();
            changed.foreign_keys.retain(|key| !self.broken.contains(&key.parent));
            *table = Arc::new(changed);
        }
    }

    fn open(&mut self, id: PartId) -> Result<Arc<Block>> {
        let stored = self.parts.get_mut(&id);
        let (stored, open) = stored.ok_or_else(|| malformed(&format!("no part {} was stored", id.0)))?;
        if let Some(block) = open.upgrade() {
            return Ok(block);
        }
        let block = match stored {
            Stored::Inline(bytes) => self.pool.open(bytes)?,
            Stored::Placed(place, known) => self.blocks.open(self.pool, *place, *known)?,
        };
        let [part] = block.parts() else { return Err(malformed("a part of several parts")) };
        part.identity(|| id.0);
        *open = Arc::downgrade(&block);
        Ok(block)
    }

    /// Where the parts of a state are, of those that lie in block files.
    fn places(&self, snapshot: &Snapshot) -> HashMap<PartId, (PartExtent, Weak<Part>)> {
        let parts = parts_of(snapshot.tables().flat_map(|table| table.data.blocks()));
        let placed = parts.into_iter().filter_map(|(id, part)| match self.parts.get(&id) {
            Some((Stored::Placed(place, _), _)) => Some((id, (*place, Arc::downgrade(&part)))),
            _ => None,
        });
        placed.collect()
    }
}

impl PartSource for Source<'_> {
    fn wants(&mut self, table: TableId) -> bool {
        self.current = Some(table);
        !self.broken.contains(&table)
    }

    fn part(&mut self, id: PartId) -> Result<Arc<Block>> {
        self.open(id).map_err(|error| match self.current {
            Some(table) => self.blame(table, error),
            None => error,
        })
    }
}
