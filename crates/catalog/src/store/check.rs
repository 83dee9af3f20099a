//! CHECK DATABASE: every checksum of every file, and every fault by the table, block and column that it hits.
//!
//! A check reads the identity, the current catalog, the logs behind it, the headers of block files, and every part
//! that the newest state uses; tables set aside when the database was opened are checked from the catalog. It holds
//! the checkpoint lock, so that no file goes while it is read; commits and readers go on. Damage is collected in a
//! list and does not end the check. CHECK DATABASE calls `Store::check`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use block::damaged_extents;
use files::read_all;
use types::Result;

use super::Store;
use super::block_files::HEADER_BYTES;
use super::bytes::ByteReader;
use super::catalog_file::{self, CatalogFile, NamedPart, permanent_tables};
use super::changes::{NewPart, PartExtent, read_parts};
use super::log_format::{check_header, scan};
use super::names::{Listing, block_file_name, catalog_name, log_name, read_identity};
use crate::{DamagedTable, PartId, Snapshot, Table};

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Name of the file in the database's directory.
    pub file: String,
    /// First damaged byte, from the beginning of the file.
    pub offset: u64,
    /// Length of the damaged run, as far as it is known.
    pub bytes: u64,
    /// Schema and name; `None` when it is not one table's.
    pub table: Option<(String, String)>,
    /// Ordinal of the block in its table.
    pub block: Option<usize>,
    /// Name of the column; `None` when the damage is not of one column.
    pub column: Option<String>,
    /// What is wrong, for the user.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\", byte {}, {} bytes", self.file, self.offset, self.bytes)?;
        if let Some((schema, table)) = &self.table {
            write!(f, ": table {schema}.{table}")?;
        }
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Damage {
    fn of_file(file: String, bytes: u64, what: String) -> Damage {
        Damage { file, offset: 0, bytes, table: None, block: None, column: None, what }
    }
}

impl Store {
    /// Reads everything that the newest state rests on, and lists what is damaged. Readers and commits go on; checkpoints
    /// wait.
    pub fn check(&self) -> Result<Vec<Damage>> {
        let _still = self.checkpoints.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut found = Vec::new();
        if let Err(error) = read_identity(&*self.files) {
            found.push(Damage::of_file("QUICKSTEP".into(), 0, error.message().to_owned()));
        }
        let (snapshot, places, catalog_number) = {
            let state = self.state();
            let places: HashMap<PartId, PartExtent> =
                state.places.iter().map(|(id, (p, _))| (*id, *p)).collect();
            (state.latest.clone(), places, state.catalog_number)
        };
        self.check_catalog_and_logs(catalog_number, &places, &mut found)?;
        let files: BTreeSet<u64> = places.values().map(|place| place.file).collect();
        for file in files {
            if let Err(error) = self.blocks.check_header(file, &self.id) {
                let what = error.message().to_owned();
                found.push(Damage::of_file(block_file_name(file), HEADER_BYTES as u64, what));
            }
        }
        for table in permanent_tables(&snapshot) {
            self.check_table(table, &places, &mut found);
        }
        self.check_damaged_tables(&snapshot, catalog_number, &mut found)?;
        Ok(found)
    }

    /// A file's bytes; that they cannot be read is damage, too.
    fn bytes_of(&self, name: &str, found: &mut Vec<Damage>) -> Option<Vec<u8>> {
        read_all(&*self.files, name)
            .map_err(|error| found.push(Damage::of_file(name.to_owned(), 0, error.message().to_owned())))
            .ok()
    }

    fn check_catalog_and_logs(
        &self,
        number: u64,
        places: &HashMap<PartId, PartExtent>,
        found: &mut Vec<Damage>,
    ) -> Result<()> {
        let name = catalog_name(number);
        let length = self.files.open(&name).map_or(0, |file| file.bytes());
        let mut next_record = None;
        match catalog_file::read(&*self.files, &name, &self.id, number) {
            Ok(catalog) => {
                next_record = Some(catalog.last_record + 1);
                for (position, named) in catalog.tables.iter().enumerate() {
                    if let Err(error) = catalog.section(position).and_then(|section| section.check_aside()) {
                        let table = Some((named.schema.clone(), named.name.clone()));
                        let what = error.message().to_owned();
                        found.push(Damage { table, ..Damage::of_file(name.clone(), length, what) });
                    }
                }
            }
            Err(error) => found.push(Damage::of_file(name, length, error.message().to_owned())),
        }
        let listing = Listing::of(&*self.files)?;
        for number in listing.logs.into_iter().filter(|n| *n >= number) {
            let name = log_name(number);
            let Some(bytes) = self.bytes_of(&name, found) else { return Ok(()) };
            let Some(first) = next_record else { continue };
            let scanned =
                check_header(&bytes, &name, &self.id, number).and_then(|()| scan(&bytes, &name, first));
            match scanned {
                // A tail that is not whole is being written.
                Ok(scan) => {
                    next_record = Some(first + scan.records.len() as u64);
                    for record in &scan.records {
                        self.check_parts_of_record(&bytes[record.payload.clone()], places, found);
                    }
                }
                Err(error) => {
                    let what = error.message().to_owned();
                    found.push(Damage::of_file(name, bytes.len() as u64, what));
                    next_record = None;
                }
            }
        }
        Ok(())
    }

    /// Parts that a record put into a block file, and that no table has now: those of tables that could not be read.
    fn check_parts_of_record(
        &self,
        payload: &[u8],
        places: &HashMap<PartId, PartExtent>,
        found: &mut Vec<Damage>,
    ) {
        let parts = read_parts(&mut ByteReader::new(payload)).unwrap_or_default();
        let unseen = parts.into_iter().filter(|(id, _)| !places.contains_key(id));
        for place in unseen.filter_map(|(_, part)| match part {
            NewPart::Placed(place) => Some(place),
            NewPart::Inline(_) => None,
        }) {
            // A checkpoint may have removed the file of a part that is not needed.
            if self.blocks.reader(place.file).is_ok() {
                self.check_part(place, None, None, &HashMap::new(), found);
            }
        }
    }

    fn check_table(&self, table: &Table, places: &HashMap<PartId, PartExtent>, found: &mut Vec<Damage>) {
        for (ordinal, stored) in table.data.stored().iter().enumerate() {
            for (at, part) in stored.block.parts().iter().enumerate() {
                let Some(place) = places.get(&PartId::of(part)) else { continue };
                // The columns of the table that lie in this part.
                let names: HashMap<u32, String> = (stored.block.places().iter().zip(table.columns.fields()))
                    .filter(|((part, _), _)| *part as usize == at)
                    .map(|((_, column), field)| (*column, field.name.clone()))
                    .collect();
                let of = (table.schema.clone(), table.name.clone());
                self.check_part(*place, Some(of), Some(ordinal), &names, found);
            }
        }
    }

    fn check_part(
        &self,
        place: PartExtent,
        table: Option<(String, String)>,
        block: Option<usize>,
        columns: &HashMap<u32, String>,
        found: &mut Vec<Damage>,
    ) {
        let file = block_file_name(place.file);
        let whole = Damage {
            file,
            offset: place.offset,
            bytes: place.length,
            table,
            block,
            column: None,
            what: String::new(),
        };
        match self.blocks.read(place) {
            Err(error) => found.push(Damage { what: error.message().to_owned(), ..whole }),
            Ok((bytes, packed)) => found.extend(damaged_extents(&bytes).into_iter().map(|extent| {
                let unpacked = (extent.offset, extent.length);
                let (offset, bytes) =
                    packed.as_ref().map_or(unpacked, |packed| packed.stored(unpacked.0, unpacked.1));
                Damage {
                    offset: place.offset + offset,
                    bytes,
                    column: extent.column.map(|column| match columns.get(&(column as u32)) {
                        Some(name) => name.clone(),
                        None => format!("number {}, which was dropped", column + 1),
                    }),
                    what: extent.what,
                    ..whole.clone()
                }
            })),
        }
    }

    /// Tables that were set aside when the database was opened: their blocks, as the checkpoint names them.
    fn check_damaged_tables(&self, snapshot: &Snapshot, number: u64, found: &mut Vec<Damage>) -> Result<()> {
        if snapshot.damaged().is_empty() {
            return Ok(());
        }
        let name = catalog_name(number);
        let catalog = catalog_file::read(&*self.files, &name, &self.id, number).ok();
        for damaged in snapshot.damaged() {
            let before = found.len();
            if let Some(catalog) = &catalog {
                // What cannot be read of it is listed as the table's own error.
                let _ = self.check_damaged_table(catalog, damaged, found);
            }
            let of = Some((damaged.schema.clone(), damaged.name.clone()));
            if found.len() == before && found.iter().all(|damage| damage.table != of) {
                let what = damaged.error.message().to_owned();
                found.push(Damage { table: of, ..Damage::of_file(name.clone(), 0, what) });
            }
        }
        Ok(())
    }

    fn check_damaged_table(
        &self,
        catalog: &CatalogFile,
        damaged: &DamagedTable,
        found: &mut Vec<Damage>,
    ) -> Result<()> {
        let Some(position) = catalog.tables.iter().position(|named| named.id == damaged.id) else {
            return Ok(());
        };
        let section = catalog.section(position)?;
        let places: HashMap<PartId, PartExtent> = section.places.iter().copied().collect();
        for (block, parts) in section.parts_of_blocks()?.into_iter().enumerate() {
            for NamedPart { id, columns } in parts {
                if let Some(place) = places.get(&id) {
                    let of = (damaged.schema.clone(), damaged.name.clone());
                    self.check_part(*place, Some(of), Some(block), &columns, found);
                }
            }
        }
        Ok(())
    }
}
