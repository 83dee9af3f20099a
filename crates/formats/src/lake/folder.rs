//! The folder of a table: how its own files are listed and read.
//!
//! A table lies in a folder of this machine or of a store. Everything is opened through the environment, so that a
//! path inside metadata that leads elsewhere is asked for as any other file is.

use std::io::Read;

use types::stop::{self, Place};
use types::{Error, Result, SqlState};

use crate::Environment;
use crate::describe::at_home;
use crate::input::Input;
use crate::remote::{self, is_remote, name_of};

/// Bytes of a file of metadata, packed or not: what is larger is not meant to be.
const METADATA_BYTES_MAX: u64 = 1 << 30;
/// Names in a folder, at most.
const NAMES_MAX: usize = 999_999;

/// The folder of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Path or address, without a slash at the end.
    root: String,
}

/// What a folder lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The names of the files in it, sorted.
    Names(Vec<String>),
    /// Nothing is known: web servers do not list their files.
    Unlisted,
}

/// A path without the scheme of this machine's files, and with the home folder in the place of `~`.
fn local(path: &str) -> String {
    let plain =
        ["file://localhost/", "file:///", "file:/"].iter().find_map(|scheme| path.strip_prefix(scheme));
    match plain {
        Some(rest) => format!("/{rest}"),
        None => at_home(path).into_owned(),
    }
}

impl Folder {
    /// The folder at a path or an address.
    pub fn new(path: &str) -> Folder {
        let root = local(path);
        let short = root.trim_end_matches('/');
        Folder { root: if short.is_empty() && !root.is_empty() { "/".to_owned() } else { short.to_owned() } }
    }

    /// Its path or address.
    pub fn path(&self) -> &str {
        &self.root
    }

    /// The path of what lies in the folder; a name that is itself a path from the root or an address is that.
    pub fn join(&self, name: &str) -> String {
        if is_remote(name) || name.starts_with("file:/") || name.starts_with('/') {
            return local(name);
        }
        let plain = name_of(&self.root);
        // A web address may go on with a query, such as a signature.
        let query = self.root.get(plain.len()..).unwrap_or_default();
        format!("{}/{name}{query}", plain.trim_end_matches('/'))
    }

    /// The names of the files in a folder inside this one; none where there is no such folder.
    pub fn list(&self, environment: &Environment, inside: &str) -> Result<Listed> {
        let path = self.join(inside);
        if path.starts_with("http://") || path.starts_with("https://") {
            environment.capability().address(&path)?;
            return Ok(Listed::Unlisted);
        }
        if is_remote(&path) {
            let pattern = format!("{}/*", glob::Pattern::escape(&path));
            let mut found = match remote::list(environment, &pattern) {
                Err(error) if error.state() == SqlState::UndefinedFile => vec![],
                found => found?,
            };
            // Longer listings of stores are cut off, and what is missing would be a table's latest commits.
            if found.len() > NAMES_MAX {
                return Err(too_many(&path));
            }
            for place in &mut found {
                *place = place.rsplit('/').next().unwrap_or_default().to_owned();
            }
            return Ok(Listed::Names(found));
        }
        environment.capability().file(&path)?;
        let failed = |e: std::io::Error| {
            Error::new(SqlState::IoError, format!("cannot list the folder \"{path}\": {e}"))
        };
        let entries = match std::fs::read_dir(&path) {
            Err(e)
                if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
            {
                return Ok(Listed::Names(vec![]));
            }
            entries => entries.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            stop::check(Place::List)?;
            names.extend(entry.map_err(failed)?.file_name().into_string());
            if names.len() > NAMES_MAX {
                return Err(too_many(&path));
            }
        }
        names.sort_unstable();
        Ok(Listed::Names(names))
    }

    /// A file's bytes; `None` where there is no such file.
    pub fn read(&self, environment: &Environment, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.join(name);
        let input = match Input::open(environment, &path) {
            Err(error) if error.state() == SqlState::UndefinedFile => return Ok(None),
            input => input?,
        };
        if input.length > METADATA_BYTES_MAX {
            return Err(too_long(&path));
        }
        environment.ask(input.length)?;
        input.exact(0, input.length).map(Some).map_err(|e| input.failed(&e))
    }

    /// When a file was changed last, in microseconds since 1970; `None` where that is not known.
    pub fn modified(&self, environment: &Environment, name: &str) -> Result<Option<i64>> {
        Ok(Input::open(environment, &self.join(name))?.modified())
    }
}

fn too_many(path: &str) -> Error {
    Error::unsupported(format!("the folder \"{path}\" has more than {NAMES_MAX} files"))
}

fn too_long(path: &str) -> Error {
    Error::unsupported(format!("\"{path}\" has more than {METADATA_BYTES_MAX} bytes of metadata"))
}

/// The bytes of a stream that unpacks what `path` holds, up to a bound.
pub fn uncompressed(environment: &Environment, path: &str, packed: impl Read) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut packed = packed.take(METADATA_BYTES_MAX + 1);
    loop {
        stop::check(Place::Open)?;
        environment.ask(1 << 20)?;
        let read = packed
            .by_ref()
            .take(1 << 20)
            .read_to_end(&mut out)
            .map_err(|e| Error::new(SqlState::DataCorrupted, format!("cannot unpack \"{path}\": {e}")))?;
        if read == 0 {
            return Ok(out);
        }
        if out.len() as u64 > METADATA_BYTES_MAX {
            return Err(too_long(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined() {
        let folder = Folder::new("/data/t/");
        assert_eq!(folder.join("a/b.parquet"), "/data/t/a/b.parquet");
        assert_eq!(folder.join("/else/b"), "/else/b");
        assert_eq!(folder.join("file:///else/b"), "/else/b");
        assert_eq!(folder.join("s3://bucket/b"), "s3://bucket/b");
        assert_eq!(Folder::new("https://h/t?x=1").join("b"), "https://h/t/b?x=1");
        assert_eq!(Folder::new("file:/data/t").path(), "/data/t");
        assert_eq!(Folder::new("/").join("b"), "/b");
    }
}
