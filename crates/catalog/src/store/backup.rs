//! Backup: a copy of the newest state in another directory, while readers and writers go on.
//!
//! A checkpoint is made, and its files are copied: they never change. What is committed meanwhile is not in the copy. The
//! file that makes a directory a database comes last, so that a copy that broke off is none.

use std::sync::PoisonError;

use pool::files::{FileManager, read_all, write_whole};
use types::{Error, Result, SqlState};

use super::Store;
use super::names::{BLOCKS, Listing, block_file_name, catalog_name, write_identity};
use super::open::begin_log;

/// Bytes read and written at a time.
const COPY_BYTES: usize = 4 << 20;

impl Store {
    /// Copies the database as it is now into an empty directory; returns the bytes copied. 42P07 when there is a database
    /// already. On an error the copy is not usable, and the database is as before.
    pub fn back_up(&self, to: &dyn FileManager) -> Result<u64> {
        let there = Listing::of(to)?;
        if there.identity || !there.catalogs.is_empty() || !there.strange.is_empty() {
            let message = format!("\"{}\" is not empty", to.describe());
            return Err(Error::new(SqlState::DuplicateTable, message).with_hint("name a new directory"));
        }
        // Until the copy is done no other checkpoint takes these files away.
        let _turn = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_read_only() {
            self.checkpoint_in_turn()?;
        }
        let (number, files) = {
            let state = self.state();
            (state.catalog_number, state.catalog_files.iter().copied().collect::<Vec<_>>())
        };
        let mut copied = 0;
        for file in files {
            copied += self.copy_block_file(file, to)?;
        }
        let catalog = read_all(&*self.files, &catalog_name(number))?;
        copied += catalog.len() as u64;
        write_whole(to, &catalog_name(number), &catalog)?;
        begin_log(to, &self.id, number)?;
        write_identity(to, &self.id)?;
        Ok(copied)
    }

    fn copy_block_file(&self, number: u64, to: &dyn FileManager) -> Result<u64> {
        let reader = self.blocks.reader(number)?;
        let mut writer = to.create(&block_file_name(number))?;
        let mut bytes = vec![0; COPY_BYTES.min(reader.bytes() as usize)];
        while writer.position() < reader.bytes() {
            let length = (reader.bytes() - writer.position()).min(COPY_BYTES as u64) as usize;
            reader.read_at(writer.position(), &mut bytes[..length])?;
            writer.write(&bytes[..length])?;
        }
        writer.sync()?;
        to.sync_directory(BLOCKS)?;
        to.sync_directory("")?;
        Ok(writer.position())
    }
}
