//! Databases on disk: their directory, checkpoints by themselves and by statement, checks, backups.
//!
//! Every commit is in the log before it is acknowledged, so a checkpoint only shortens the log: one that fails loses
//! nothing, and is tried again. A background job looks at the log's length; the last handle of a database makes a
//! final checkpoint. CHECKPOINT, CHECK DATABASE and BACKUP DATABASE concern the database in use, and are errors or do
//! nothing for one in memory.

mod statements;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{Access, Store, TEMPORARY};
use files::{Capability, FileManager, LocalFiles};
use types::{Error, Result, SqlState};

/// How often a log is looked at that may have become long.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The folder for what does not fit memory while the database in this directory is open for writing. Files that a
/// killed process left there are removed when the database is opened.
pub(crate) fn temporary_folder(path: &str) -> Result<PathBuf> {
    let folder = Path::new(path).join(TEMPORARY);
    std::fs::create_dir_all(&folder).map_err(|e| {
        Error::new(SqlState::IoError, format!("cannot make the directory \"{}\": {e}", folder.display()))
    })?;
    Ok(folder)
}

/// The files of a database's directory, which is made for writing when it is not there. A file, or a directory that
/// holds something else, is refused.
pub(crate) fn directory(capability: &Capability, path: &str, access: Access) -> Result<Arc<dyn FileManager>> {
    capability.file(path)?;
    let folder = Path::new(path);
    let invalid = |what: &str| Error::new(SqlState::InvalidParameterValue, format!("\"{path}\" {what}"));
    if folder.is_file() {
        return Err(invalid("is a file, and a database is a directory").with_hint(
            "name a directory that is not there yet; a data file is read with SELECT * FROM 'file'",
        ));
    }
    if !folder.exists() {
        if access == Access::Read {
            let message = format!("there is no database \"{path}\"");
            return Err(
                Error::new(SqlState::UndefinedFile, message).with_hint("open it for writing to make one")
            );
        }
        std::fs::create_dir(folder).map_err(|e| {
            Error::new(SqlState::IoError, format!("cannot make the directory \"{path}\": {e}"))
        })?;
    }
    let files = LocalFiles::new(capability, folder)?;
    let there = files.list("")?;
    let is_database = there.iter().any(|file| file.name == "QUICKSTEP" || file.name == "lock");
    if !there.is_empty() && !is_database {
        return Err(
            invalid("holds other files, and no database").with_hint("name an empty or a new directory")
        );
    }
    Ok(Arc::new(files))
}

/// Makes a checkpoint, and says so in the log.
pub(crate) fn checkpoint(store: &Store) -> Result<()> {
    let begun = Instant::now();
    let outcome = store.checkpoint().map(drop);
    crate::traces::log_checkpoint(&store.describe(), begun.elapsed(), &outcome);
    outcome
}
