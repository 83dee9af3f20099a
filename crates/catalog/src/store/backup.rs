//! Backup: a state of a database, wherever it lies, as a database of its own in another directory.
//!
//! The blocks of the state are written, then its catalog and an empty log. A snapshot does not change, so readers and
//! writers go on meanwhile. The file that makes a directory a database comes last: a copy that broke off is none.

use std::collections::HashMap;

use files::packed::Packing;
use files::{FileManager, write_whole};
use types::{Error, Result, SqlState};

use super::block_files;
use super::blocks::parts_of;
use super::catalog_file::{self, permanent_tables};
use super::changes::PartExtent;
use super::log_format::new_id;
use super::names::{Listing, catalog_name, write_identity};
use super::open::begin_log;
use crate::{PartId, Snapshot};

/// The copy's first files.
const NUMBER: u64 = 1;

/// Writes everything permanent of a state into an empty directory; returns the bytes written. 42P07 when something is
/// there already. On an error the directory holds no database.
pub fn back_up(snapshot: &Snapshot, to: &dyn FileManager) -> Result<u64> {
    let there = Listing::of(to)?;
    if !there.is_empty() {
        let what = if there.identity { "holds a database already" } else { "is not empty" };
        let message = format!("\"{}\" {what}", to.describe());
        return Err(Error::new(SqlState::DuplicateTable, message).with_hint("name a new directory"));
    }
    let id = new_id();
    let parts = parts_of(permanent_tables(snapshot).flat_map(|table| table.data.blocks()));
    let places: HashMap<PartId, PartExtent> = match parts.is_empty() {
        true => HashMap::new(),
        false => block_files::write(to, &id, NUMBER, &parts, Packing::default())?.into_iter().collect(),
    };
    let place = |part| places.get(&part).copied().ok_or_else(|| Error::internal("a part was not written"));
    let catalog = catalog_file::write(snapshot, &id, NUMBER, 0, place)?;
    write_whole(to, &catalog_name(NUMBER), &catalog)?;
    begin_log(to, &id, NUMBER)?;
    write_identity(to, &id)?;
    Ok(places.values().map(|place| place.length).sum::<u64>() + catalog.len() as u64)
}
