//! Checkpoints: the newest state in files of its own, so that the log before it can go.
//!
//! ```text
//!  1  log-<n> is made, durable                          commits go on in the log before
//!  2  the log before is synced, and left; the state      commits wait for one sync
//!     is S, records from here on are in log-<n>
//!  3  parts of S without a place: into a block file      readers and commits go on
//!  4  catalog-<n> of S: new file, synced, renamed, directory synced
//!  5  older catalogs and logs go, and unreferenced block files
//! ```
//! A crash, or an error, before 4 is done leaves the checkpoint before with both logs behind it. From then on recovery
//! begins with this one. Block files of which less than half is still in use are emptied into the new one on the way.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, Weak};

use block::Part;
use files::write_whole;
use types::{Error, Result};

use super::blocks::parts_of;
use super::catalog_file::{self, permanent_tables};
use super::changes::PartExtent;
use super::log_format::HEADER_BYTES;
use super::names::{FORMAT, Listing, block_file_name, catalog_name, log_name, write_identity};
use super::open::begin_log;
use super::{Pending, Store};
use crate::{PartId, Snapshot};

/// What a checkpoint did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpointed {
    /// Bytes of blocks that were written to a block file.
    pub block_bytes: u64,
    /// Bytes of the new catalog.
    pub catalog_bytes: u64,
    /// Bytes of the logs that are not needed any more.
    pub log_bytes: u64,
    /// Files removed.
    pub removed: u64,
}

impl Store {
    /// Makes a checkpoint of everything committed. Does nothing when there is nothing new. On an error the database is as
    /// before, and can be written on.
    pub fn checkpoint(&self) -> Result<Checkpointed> {
        let _turn = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.checkpoint_in_turn();
        self.choose_reads();
        outcome
    }

    pub(super) fn checkpoint_in_turn(&self) -> Result<Checkpointed> {
        let log = self.log()?;
        let (number, fresh) = {
            let state = self.state();
            (state.log_number + 1, state.log_number == state.catalog_number)
        };
        if fresh && log.bytes() == HEADER_BYTES as u64 {
            return Ok(Checkpointed::default());
        }
        if self.format.load(Relaxed) < FORMAT {
            // Earlier programs refuse the database from here on, instead of meeting files that they cannot read.
            write_identity(&*self.files, &self.id)?;
            self.format.store(FORMAT, Relaxed);
        }
        let log_bytes = log.bytes();
        let writer = begin_log(&*self.files, &self.id, number)?;
        let (snapshot, last_record) = {
            let mut state = self.state();
            let state = &mut *state;
            let last = log.switch(writer, |_| {
                let parts = permanent_parts(&state.latest);
                let snapshot = parts.iter().map(|(id, _)| *id).collect();
                state.pending = Some(Pending { snapshot, ..Pending::default() });
                state.log_number = number;
            });
            match last {
                Ok(last) => (state.latest.clone(), last),
                Err(error) => {
                    let _ = self.files.remove(&log_name(number));
                    return Err(error);
                }
            }
        };
        let written = self.write_checkpoint(&snapshot, number, last_record);
        let mut state = self.state();
        let pending = state.pending.take().unwrap_or_default();
        let mut outcome = written?;
        outcome.log_bytes = log_bytes;
        state.catalog_number = number;
        state.recorded = &pending.snapshot | &pending.since;
        state.log_files = pending.files;
        state.log_records = pending.records;
        state.catalog_files =
            pending.snapshot.iter().filter_map(|id| state.place(*id)).map(|place| place.file).collect();
        // A part that is not in memory cannot be referred to by a later commit.
        state.places.retain(|_, (_, part)| part.strong_count() > 0);
        drop(state);
        outcome.removed = self.remove_unneeded(number)?;
        Ok(outcome)
    }

    fn write_checkpoint(&self, snapshot: &Snapshot, number: u64, last_record: u64) -> Result<Checkpointed> {
        let parts = permanent_parts(snapshot);
        let moving = self.to_be_moved(&parts);
        let before: HashMap<PartId, (PartExtent, Weak<Part>)> = {
            let mut state = self.state();
            moving.iter().filter_map(|id| Some((*id, state.places.remove(id)?))).collect()
        };
        let placeless = self.without_place(parts);
        let block_bytes = super::bytes_of(&placeless) as u64;
        if let Err(error) = self.write_parts(&placeless) {
            self.state().places.extend(before);
            return Err(error);
        }
        let bytes = {
            let state = self.state();
            let place = |id| state.place(id).ok_or_else(|| Error::internal("a part was not written"));
            catalog_file::write(snapshot, &self.id, number, last_record, place)?
        };
        write_whole(&*self.files, &catalog_name(number), &bytes)?;
        Ok(Checkpointed { block_bytes, catalog_bytes: bytes.len() as u64, ..Checkpointed::default() })
    }

    /// Parts in block files of which less than half is in use.
    fn to_be_moved(&self, parts: &[(PartId, Arc<Part>)]) -> Vec<PartId> {
        let state = self.state();
        let mut used: HashMap<u64, u64> = HashMap::new();
        let placed: Vec<(PartId, PartExtent)> =
            parts.iter().filter_map(|(id, _)| Some((*id, state.place(*id)?))).collect();
        placed.iter().for_each(|(_, place)| *used.entry(place.file).or_default() += place.length);
        drop(state);
        let sparse: HashSet<u64> = used
            .into_iter()
            .filter(|(file, used)| self.blocks.reader(*file).is_ok_and(|reader| used * 2 < reader.bytes()))
            .map(|(file, _)| file)
            .collect();
        placed.into_iter().filter(|(_, place)| sparse.contains(&place.file)).map(|(id, _)| id).collect()
    }

    /// Removes what the checkpoint `number` made superfluous. What cannot be removed is left for the next one.
    fn remove_unneeded(&self, number: u64) -> Result<u64> {
        let listing = Listing::of(&*self.files)?;
        let needed: HashSet<u64> = {
            let state = self.state();
            let placed = state.places.values().map(|(place, _)| place.file);
            let named = state.catalog_files.iter().chain(&state.log_files).chain(&state.writing).copied();
            placed.chain(named).collect()
        };
        let mut removed = 0;
        let mut remove = |name: String| {
            let done = self.files.remove(&name).is_ok();
            removed += u64::from(done);
            done
        };
        listing.catalogs.iter().filter(|n| **n < number).for_each(|n| {
            remove(catalog_name(*n));
        });
        listing.logs.iter().filter(|n| **n < number).for_each(|n| {
            remove(log_name(*n));
        });
        for file in listing.block_files.iter().filter(|file| !needed.contains(file)) {
            if remove(block_file_name(*file)) {
                self.blocks.forget(*file);
            }
        }
        Ok(removed)
    }
}

/// Every part of every permanent table.
fn permanent_parts(snapshot: &Snapshot) -> Vec<(PartId, Arc<Part>)> {
    parts_of(permanent_tables(snapshot).flat_map(|table| table.data.blocks()))
}
