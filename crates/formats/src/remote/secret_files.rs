//! Persistent secrets: a file each, in the user's folder of configuration, which only the user may read.
//!
//! ```text
//!  secret_directory, or $XDG_CONFIG_HOME/quickstep/secrets, or ~/.config/quickstep/secrets     0700
//!    depot.json                                                                               0600
//!      {"version":1,"name":"depot","options":[["type","s3"],["key_id","..."],...]}
//! ```
//! They are not in databases: those are copied, backed up and given away. They are not encrypted: a program that can
//! read the user's files can read the key to them as well. A file that others may read is refused, as `ssh` does.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use types::{Error, Result, SqlState};

use super::secrets::Secret;

const VERSION: u64 = 1;
const FILE_BYTES_MAX: u64 = 1 << 20;
const FILES_MAX: usize = 1000;

/// Where persistent secrets lie, by the setting `secret_directory`; `None` where there is no such place.
pub(super) fn folder(chosen: Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(chosen) = chosen {
        return Some(PathBuf::from(chosen));
    }
    let configuration = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(configuration.join("quickstep").join("secrets"))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(SqlState::IoError, format!("cannot {what} \"{}\": {error}", path.display()))
}

/// The file of a secret. Characters that mean something in paths are written as their codes.
fn path_of(folder: &Path, name: &str) -> PathBuf {
    let mut file = String::with_capacity(name.len() + 5);
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => file.push(char::from(byte)),
            other => file.push_str(&format!("%{other:02X}")),
        }
    }
    folder.join(file + ".json")
}

/// All secrets of a folder, which need not be there.
pub(super) fn read_all(folder: &Path) -> Result<Vec<Secret>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(failed("read", folder, &error)),
    };
    let mut secrets = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| failed("read", folder, &e))?.path();
        if path.extension().is_some_and(|end| end == "json") && secrets.len() < FILES_MAX {
            secrets.push(read(&path)?);
        }
    }
    Ok(secrets)
}

fn read(path: &Path) -> Result<Secret> {
    let file = fs::File::open(path).map_err(|e| failed("read", path, &e))?;
    refuse_open_to_others(path, &file)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| failed("read", path, &e))?;
    let secret = parsed(&bytes).filter(|secret| {
        // A file under another name could never be dropped.
        path.parent().is_some_and(|folder| path_of(folder, &secret.name) == path)
    });
    secret.ok_or_else(|| {
        let message = format!("the file of a secret \"{}\" is damaged", path.display());
        Error::new(SqlState::DataCorrupted, message).with_hint("remove it, and create the secret again")
    })
}

/// Nothing of the bytes is told: a message about them could hold what is secret.
fn parsed(bytes: &[u8]) -> Option<Secret> {
    let file: Value = serde_json::from_slice(bytes).ok()?;
    if file.get("version")?.as_u64()? != VERSION {
        return None;
    }
    let mut options = Vec::new();
    for pair in file.get("options")?.as_array()? {
        let [name, value] = pair.as_array()?.as_slice() else { return None };
        options.push((name.as_str()?.to_owned(), value.as_str()?.to_owned()));
    }
    Secret::new(file.get("name")?.as_str().filter(|name| !name.is_empty())?, true, &options).ok()
}

fn refuse_open_to_others(path: &Path, file: &fs::File) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(|e| failed("read", path, &e))?.permissions().mode();
        if mode & 0o077 != 0 {
            let message = format!("the file of a secret \"{}\" may be read by others", path.display());
            return Err(Error::new(SqlState::InsufficientPrivilege, message)
                .with_hint(format!("chmod 600 '{}'", path.display())));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, file);
    Ok(())
}

/// Writes the file whole or not at all.
pub(super) fn write(folder: Option<&Path>, secret: &Secret) -> Result<()> {
    let Some(folder) = folder else {
        let message = "there is no folder for persistent secrets: HOME is not set";
        return Err(Error::new(SqlState::IoError, message).with_hint("SET secret_directory = '/a/folder'"));
    };
    let path = path_of(folder, &secret.name);
    make_folder(folder).map_err(|e| failed("make", folder, &e))?;
    let options: Vec<Value> =
        secret.options().into_iter().map(|(name, value)| json!([name, value])).collect();
    let text = json!({ "version": VERSION, "name": secret.name, "options": options }).to_string();
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let written = private_file(&unfinished).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)
    });
    written.map_err(|error| {
        // The rest of it is of no use.
        let _ = fs::remove_file(&unfinished);
        failed("write", &path, &error)
    })
}

/// A new file that only its owner may read, from its first byte on.
fn private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes the file of a persistent secret; a file that is not there is no error.
pub(super) fn remove(folder: &Path, name: &str) -> Result<()> {
    let path = path_of(folder, name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", &path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_folder() {
        let folder = Path::new("/secrets");
        assert_eq!(path_of(folder, "depot_1"), Path::new("/secrets/depot_1.json"));
        assert_eq!(path_of(folder, "../A b"), Path::new("/secrets/%2E%2E%2F%41%20b.json"));
    }

    /// Any byte of a file may be another, or the file may end before: an answer, or none.
    #[test]
    fn damaged_files_are_refused_or_read() {
        let whole =
            br#"{"version":1,"name":"depot","options":[["type","s3"],["key_id","a"],["secret","b"]]}"#;
        assert!(parsed(whole).is_some());
        for at in 0..whole.len() {
            assert!(parsed(&whole[..at]).is_none(), "cut at {at}");
            for byte in [0, b'"', b'[', b'{', b'9', 0xff] {
                let mut changed = whole.to_vec();
                changed[at] = byte;
                let _ = parsed(&changed);
            }
        }
        for text in [
            r#"{"version":2,"name":"a","options":[["type","s3"]]}"#,
            "[]",
            r#"{"version":1,"name":"","options":[["type","s3"]]}"#,
        ] {
            assert!(parsed(text.as_bytes()).is_none(), "{text}");
        }
    }
}
