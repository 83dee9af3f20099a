//! A database's directory in an object store, for reading: what its blocks are is told by its catalog, and their columns
//! are fetched when they are pinned.
//!
//! Writing a database needs a lock and renames, which stores do not have, so nothing here writes. A directory is
//! brought there by any program that copies files, from a backup or while the database is closed.

use std::sync::Arc;

use files::{FileEntry, FileLock, FileManager, FileReader, FileWriter, Owner};
use types::{Error, Result, SqlState};

use super::fault::from_io;
use super::store::entries;
use super::{Pieces, RemoteFile};
use crate::Environment;

/// The files below an address.
#[derive(Debug)]
pub struct RemoteFiles {
    environment: Environment,
    /// Without a slash at its end.
    url: String,
}

impl RemoteFiles {
    /// Nothing is asked of the store yet. 42501 where the environment does not allow the address.
    pub fn new(environment: &Environment, url: &str) -> Result<Self> {
        environment.capability().address(url)?;
        Ok(RemoteFiles { environment: environment.clone(), url: url.trim_end_matches('/').to_owned() })
    }

    fn refused(&self) -> Error {
        Error::new(SqlState::ReadOnly, format!("the database \"{}\" can only be read", self.url))
            .with_hint("change a copy on this machine, and bring that to the store")
    }
}

impl FileManager for RemoteFiles {
    fn create(&self, _: &str) -> Result<Box<dyn FileWriter>> {
        Err(self.refused())
    }
    fn continue_at(&self, _: &str, _: u64) -> Result<Box<dyn FileWriter>> {
        Err(self.refused())
    }
    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>> {
        let url = format!("{}/{name}", self.url);
        let (file, length, _) = RemoteFile::open(&self.environment, &url)?;
        Ok(Arc::new(Object { file, length, url }))
    }
    fn rename(&self, _: &str, _: &str) -> Result<()> {
        Err(self.refused())
    }
    fn remove(&self, _: &str) -> Result<()> {
        Err(self.refused())
    }
    fn list(&self, folder: &str) -> Result<Vec<FileEntry>> {
        let below = match folder {
            "" => self.url.clone(),
            folder => format!("{}/{folder}", self.url),
        };
        let named = |(name, bytes): (String, u64)| {
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            FileEntry { name, bytes }
        };
        Ok(entries(&self.environment, &below)?.into_iter().map(named).collect())
    }
    fn sync_directory(&self, _: &str) -> Result<()> {
        Ok(())
    }
    fn lock(&self, _: &str, _: &Owner) -> Result<FileLock> {
        Err(self.refused())
    }
    fn describe(&self) -> String {
        self.url.clone()
    }
}

#[derive(Debug)]
struct Object {
    file: RemoteFile,
    length: u64,
    url: String,
}

impl FileReader for Object {
    fn bytes(&self) -> u64 {
        self.length
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < into.len() {
            let read = self.file.read_at(&Pieces::default(), &mut into[done..], at + done as u64);
            let read = read.map_err(|error| {
                let message = format!("cannot read \"{}\": {error}", self.url);
                from_io(&error).unwrap_or_else(|| Error::new(SqlState::IoError, message))
            })?;
            if read == 0 {
                let message = format!("\"{}\" ends before byte {}", self.url, at + into.len() as u64);
                return Err(Error::new(SqlState::DataCorrupted, message));
            }
            done += read;
        }
        Ok(())
    }
    fn describe(&self) -> String {
        format!("\"{}\"", self.url)
    }
}
