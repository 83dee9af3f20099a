//! ATTACH and DETACH.
//!
//! ATTACH opens a directory, an address of an object store or a new database in memory, and adds it to the list of
//! mounts; DETACH takes it out. Both hold the turn of `Mounts`, so that a name or a directory is taken once, and both
//! are refused inside a transaction block. A statement that began before a DETACH keeps its snapshot, and with it the
//! mount, until it ends. Mounts that can be written get a background job for checkpoints.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use catalog::{Access, Catalog, DEFAULT_SCHEMA, MOUNTS_MAX, Store, TEMPORARY_SCHEMA};
use plan::statement::{Attach, IfExists};
use types::{Error, Result, SqlState};

use super::names::{MAIN, unknown_database};
use super::{Mount, Places};
use crate::Session;
use crate::background::Next;
use crate::database::Shared;
use crate::result::ResultSet;
use crate::system::INFORMATION_SCHEMA;

/// How often a log is looked at that may have become long.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Names that mean something else.
const RESERVED: [&str; 6] =
    [DEFAULT_SCHEMA, "public", TEMPORARY_SCHEMA, INFORMATION_SCHEMA, "system", "pg_catalog"];

/// What kind of a database a path names.
enum Place {
    Memory,
    /// The path, with `~` replaced.
    Directory(String),
    /// An address of an object store: it is read.
    Remote(String),
}

fn place(path: &str) -> Place {
    match path {
        "" | ":memory:" => Place::Memory,
        path if formats::remote::is_remote(path) => Place::Remote(path.to_owned()),
        path => Place::Directory(formats::at_home(path).into_owned()),
    }
}

/// A path as it is compared with others.
fn canonical(path: &str) -> String {
    std::fs::canonicalize(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// A directory's name up to its first point.
fn name_of_path(path: &str) -> Option<String> {
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    let name = last.split('.').find(|part| !part.is_empty())?;
    // A derived name that is reserved gets a suffix.
    Some(if RESERVED.contains(&name) { format!("{name}_db") } else { name.to_owned() })
}

/// What the main database is called, by where it is; `None` where that gives no name.
pub(crate) fn name_of_main(path: &str) -> Option<String> {
    name_of_path(path)
}

/// What the options of ATTACH say.
#[derive(Default)]
struct Options {
    /// Whether the database is only read; `None` where nothing is said.
    read_only: Option<bool>,
    /// An option was given that only names how DuckDB divides its file, which this storage has not.
    of_duckdb: bool,
}

/// Reads the options. Those by which DuckDB chooses the form of its file are checked and change nothing: the rows are
/// the same, and the statement warns.
fn options_of(options: &[(String, Option<String>)]) -> Result<Options> {
    let mut said = Options::default();
    for (name, value) in options {
        let invalid = |value: &str, expected: &str| {
            let message = format!("invalid value for ATTACH option \"{name}\": \"{value}\"");
            Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint(format!("expected {expected}")))
        };
        match name.as_str() {
            "read_only" | "readonly" | "read_write" => {
                let on = match value.as_deref().map(str::to_lowercase).as_deref() {
                    None | Some("true" | "on" | "yes" | "1") => true,
                    Some("false" | "off" | "no" | "0") => false,
                    Some(other) => return invalid(other, "true or false"),
                };
                let read_only = on == (name != "read_write");
                if said.read_only.is_some_and(|said| said != read_only) {
                    let message = "READ_ONLY and READ_WRITE contradict each other";
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
                said.read_only = Some(read_only);
            }
            "type" => match value.as_deref().map(str::to_lowercase).as_deref() {
                Some("quickstep") => {}
                Some("duckdb") => {
                    return Err(Error::unsupported("databases of type duckdb cannot be attached").with_hint(
                        "leave TYPE out for a database of Quickstep's own; EXPORT DATABASE in DuckDB and IMPORT \
                         DATABASE here bring in what another one holds",
                    ));
                }
                Some(other @ ("sqlite" | "postgres" | "mysql" | "ducklake" | "iceberg" | "delta")) => {
                    return Err(Error::unsupported(format!("databases of type {other} cannot be attached"))
                        .with_hint(
                            "export its tables to Parquet or CSV there, and read the files: FROM 'file.parquet'",
                        ));
                }
                other => return invalid(other.unwrap_or(""), "quickstep"),
            },
            "storage_version" | "row_group_size" | "block_size" | "io_mode" => {
                let given = value.as_deref().unwrap_or("");
                let (right, expected) = of_duckdb(name, given);
                if !right {
                    return invalid(given, expected);
                }
                said.of_duckdb = true;
            }
            other => {
                let message = format!("ATTACH option \"{other}\" is not supported");
                return Err(Error::unsupported(message).with_hint("there are READ_ONLY, READ_WRITE and TYPE"));
            }
        }
    }
    Ok(said)
}

/// Whether a value is one that DuckDB takes for an option about the form of its file, and what would be.
fn of_duckdb(option: &str, value: &str) -> (bool, &'static str) {
    let number = types::size::bytes(value);
    match option {
        "storage_version" => {
            let parts: Vec<&str> = value.strip_prefix('v').unwrap_or("").split('.').collect();
            let numbered = parts.len() == 3 && parts.iter().all(|part| part.parse::<u16>().is_ok());
            (value == "latest" || numbered, "latest or a version of DuckDB, such as v1.2.0")
        }
        "row_group_size" => (number.is_some_and(|rows| rows > 0), "a number of rows"),
        "block_size" => (
            number.is_some_and(|bytes| bytes.is_power_of_two() && (1 << 14..=1 << 18).contains(&bytes)),
            "a power of two from 16384 to 262144",
        ),
        _ => (
            ["default", "buffered_io", "direct_io", "mmap"].contains(&value.to_ascii_lowercase().as_str()),
            "default, buffered_io, direct_io or mmap",
        ),
    }
}

/// Refuses a file of another system, and says what to do with it.
fn refuse_file(path: &str) -> Result<()> {
    if !Path::new(path).is_file() {
        return Ok(());
    }
    let mut head = [0_u8; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut head)).unwrap_or(0);
    let (what, hint) = if read == 16 && head.starts_with(b"SQLite format 3\0") {
        (
            "a SQLite database",
            "export its tables there, as .mode csv and .once file.csv do, and read the files: FROM 'file.csv'",
        )
    } else if read >= 12 && head[8..12] == *b"DUCK" {
        (
            "a DuckDB database",
            "run EXPORT DATABASE 'folder' (FORMAT parquet) in DuckDB, and IMPORT DATABASE 'folder' here",
        )
    } else {
        return Ok(());
    };
    let message = format!("\"{path}\" is {what}, whose files are not read");
    Err(Error::unsupported(message).with_hint(hint))
}

/// Names that databases cannot have.
fn check_name(name: &str, places: &Places<'_>) -> Result<()> {
    let invalid = |why: &str| {
        let message = format!("a database cannot be called \"{name}\": {why}");
        Err(Error::new(SqlState::InvalidName, message)
            .with_hint("give it another name: ATTACH 'path' AS name"))
    };
    if name.is_empty() {
        return invalid("a name has letters");
    }
    if name.contains('.') {
        return invalid("points stand between the parts of a name");
    }
    if places.is_main(name) {
        let message = format!("database \"{name}\" exists already: it is the main database");
        return Err(Error::new(SqlState::DuplicateDatabase, message)
            .with_hint("give it another name: ATTACH 'path' AS name"));
    }
    if RESERVED.contains(&name) {
        return invalid("the name is the system's");
    }
    let prefix = format!("{name}.");
    let snapshot = places.snapshot;
    let mut keys = snapshot.schemas().keys().chain(snapshot.macros().keys()).chain(snapshot.types().keys());
    match keys.find(|key| key.starts_with(&prefix) && snapshot.mount(name).is_none()) {
        Some(key) => invalid(&format!("\"{key}\" would be taken for a part of it")),
        None => Ok(()),
    }
}

/// Makes a checkpoint of the mount whenever its log has become long.
fn keep_up(shared: &Arc<Shared>, mount: &Arc<Mount>) -> Result<()> {
    if mount.store.as_ref().is_none_or(|store| store.is_read_only()) {
        return Ok(());
    }
    let mount = Arc::downgrade(mount);
    shared.background.spawn(shared, "checkpoint", move |_| {
        let Some(mount) = mount.upgrade() else { return Next::Never };
        if let Some(store) = mount.store.as_ref().filter(|store| store.wants_checkpoint()) {
            // What could not be written now is in the log still, and tried again.
            let _ = crate::upkeep::checkpoint(store);
        }
        Next::After(LOOK_EVERY)
    })
}

impl Session {
    fn refuse_in_block(&self, verb: &str) -> Result<()> {
        let hint = "a transaction sees the databases that there were when it began; COMMIT first";
        self.leave_block_for(verb, hint)
    }

    /// ATTACH.
    pub(crate) fn attach(&self, attach: Attach) -> Result<ResultSet> {
        self.refuse_in_block("ATTACH")?;
        let Options { read_only: said, of_duckdb } = options_of(&attach.options)?;
        let read_only = said.unwrap_or(false);
        let shared = &self.database.shared;
        let place = place(&attach.path);
        let name = match (&attach.name, &place) {
            (Some(name), _) => name.clone(),
            (None, Place::Memory) => {
                return Err(Error::new(SqlState::SyntaxError, "a database in memory needs a name")
                    .with_hint("write ATTACH ':memory:' AS name"));
            }
            (None, Place::Directory(path) | Place::Remote(path)) => name_of_path(path).ok_or_else(|| {
                Error::new(SqlState::InvalidName, format!("\"{path}\" gives the database no name"))
                    .with_hint("write ATTACH 'path' AS name")
            })?,
        };
        let snapshot = shared.snapshot();
        let places = Places { snapshot: &snapshot, path: &[], main: &shared.name };
        check_name(&name, &places)?;
        // One at a time, so that none is made under a name or of a directory that another one is getting.
        let _turn = shared.mounts.turn();
        let all = shared.mounts.all();
        let there = all.iter().find(|mount| mount.name.eq_ignore_ascii_case(&name)).cloned();
        let done = match of_duckdb {
            true => ResultSet::done("ATTACH")
                .with_warning("options about the form of DuckDB's file have no effect on this storage"),
            false => ResultSet::done("ATTACH"),
        };
        let path = match &place {
            Place::Memory => None,
            Place::Directory(path) => Some(canonical(path)),
            Place::Remote(path) => Some(path.clone()),
        };
        if let Some(there) = &there {
            let same = there.path() == path && path.is_some();
            match attach.if_exists {
                IfExists::Keep if said.is_some_and(|said| said != there.read_only) => {
                    let how = if there.read_only { "for reading only" } else { "for reading and writing" };
                    let message = format!("database \"{name}\" is attached already, {how}");
                    return Err(Error::new(SqlState::DuplicateDatabase, message)
                        .with_hint("DETACH it first, or use ATTACH OR REPLACE"));
                }
                IfExists::Keep if same || path.is_none() => return Ok(done),
                IfExists::Keep => {
                    return Ok(done.with_warning("a database of another path is attached under that name"));
                }
                IfExists::Replace if same && there.read_only == read_only => return Ok(done),
                IfExists::Replace => {}
                IfExists::Error => {
                    let message = format!("database \"{name}\" exists already");
                    return Err(Error::new(SqlState::DuplicateDatabase, message).with_hint(
                        "use ATTACH IF NOT EXISTS or ATTACH OR REPLACE, or give it another name: ATTACH 'path' AS name",
                    ));
                }
            }
        }
        if let Some(path) = &path {
            let main = shared.store.as_ref().map(|store| canonical(&store.describe()));
            let holder = match main.as_ref() == Some(path) {
                true => Some(shared.name.clone()),
                false => all.iter().find(|m| m.path().as_ref() == Some(path)).map(|m| m.name.clone()),
            };
            if let Some(holder) = holder {
                let message = format!("\"{path}\" is attached already, as database \"{holder}\"");
                return Err(Error::new(SqlState::ObjectInUse, message)
                    .with_hint("use it by that name, or DETACH it first"));
            }
        }
        let mount = Arc::new(self.opened(&name, &place, read_only)?);
        keep_up(shared, &mount)?;
        shared.mounts.change(|list| {
            match there.and_then(|there| list.iter().position(|m| m.number == there.number)) {
                Some(at) => list[at] = mount,
                None => list.push(mount),
            }
        });
        Ok(done)
    }

    fn opened(&self, name: &str, place: &Place, read_only: bool) -> Result<Mount> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let shared = &self.database.shared;
        let (catalog, store) = match place {
            Place::Memory if read_only => {
                let message = "a database in memory cannot be read-only";
                return Err(Error::new(SqlState::InvalidParameterValue, message)
                    .with_hint("nothing would ever be in it: leave READ_ONLY out"));
            }
            Place::Memory => (Catalog::new(), None),
            Place::Directory(path) => {
                let environment = self.environment();
                let capability = environment.capability();
                capability.file(path)?;
                refuse_file(path)?;
                let access = if read_only { Access::Read } else { Access::Write };
                let files = crate::upkeep::directory(capability, path, access)?;
                let opened = Store::open(files, &shared.pool, access)?;
                crate::traces::log_opened(&opened.store.describe(), &opened.report);
                (opened.catalog, Some(opened.store))
            }
            Place::Remote(path) => {
                let files = Arc::new(formats::remote::RemoteFiles::new(&self.environment(), path)?);
                let opened = Store::open(files, &shared.pool, Access::Read)?;
                crate::traces::log_opened(&opened.store.describe(), &opened.report);
                (opened.catalog, Some(opened.store))
            }
        };
        if let (Some(store), Some(main)) = (&store, &shared.store) {
            store.set_packing(main.packing());
            store.set_direct_reads(main.direct_reads());
        }
        let number = NEXT.fetch_add(1, Relaxed);
        if number > MOUNTS_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "too many databases were attached")
                .with_hint("a process attaches so many one after the other; start a new one"));
        }
        let read_only = store.as_ref().is_some_and(|store| store.is_read_only());
        Ok(Mount { number, name: name.to_owned(), catalog, store, read_only })
    }

    /// DETACH. Transactions and results that read the database go on; its directory is free when the last has ended.
    pub(crate) fn detach(&self, name: &str, if_exists: bool) -> Result<ResultSet> {
        self.refuse_in_block("DETACH")?;
        let shared = &self.database.shared;
        let done = ResultSet::done("DETACH");
        let snapshot = shared.snapshot();
        let places = Places { snapshot: &snapshot, path: &[], main: &shared.name };
        let number = match places.database(name) {
            Some(Some(mounted)) => mounted.number,
            Some(None) => {
                let message = format!("cannot detach the main database \"{name}\"");
                return Err(Error::new(SqlState::ObjectInUse, message)
                    .with_hint("it is there until the process, or its last connection, ends"));
            }
            None if if_exists => return Ok(done),
            None => return Err(unknown_database(name, &places.databases())),
        };
        if let Some(home) = self.home().filter(|home| home.number == number) {
            let message = format!("cannot detach database \"{}\": it is the one in use", home.name);
            return Err(Error::new(SqlState::ObjectInUse, message).with_hint(format!("USE {MAIN} first")));
        }
        let _turn = shared.mounts.turn();
        shared.mounts.change(|list| list.retain(|mount| mount.number != number));
        Ok(done)
    }
}

impl Mount {
    /// Where it is; `None` in memory.
    pub fn path(&self) -> Option<String> {
        self.store.as_ref().map(|store| canonical(&store.describe()))
    }
}
