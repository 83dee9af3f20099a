//! Reading a log: the state of the table after a checkpoint and the commits behind it.
//!
//! A file of the table is known by its path and its deleted rows together, so that a commit may exchange the one for the
//! other. Files keep the order in which they came. Memory is asked for by the file. `log` has chosen what is read.

use std::collections::HashMap;

use formats::Environment;
use formats::lake::Folder;
use types::stop::{self, Place};
use types::{Error, Result};

use super::LOG;
use super::actions::{Add, Line, Metadata, Protocol, Remove};
use super::log::Segment;
use crate::table::damaged;

/// A state of the table.
pub(crate) struct Snapshot {
    /// What a reader must know.
    pub protocol: Protocol,
    /// Columns and settings.
    pub metadata: Metadata,
    /// Data files, in the order in which they came.
    pub files: Vec<Add>,
}

/// Bytes that a file takes in memory besides its line's.
const FILE_BYTES: u64 = 512;
/// The columns of a checkpoint that say what the state is; removed files are there for those that clean up.
const COLUMNS: [&str; 4] = ["add", "metaData", "protocol", "sidecar"];

/// A file, and what tells it apart from the same file with other deleted rows.
type Key = (String, Option<String>);

#[derive(Default)]
struct State {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    /// Places in `files`.
    known: HashMap<Key, usize>,
    files: Vec<Option<Add>>,
}

impl State {
    fn apply(&mut self, line: Line) {
        if line.protocol.is_some() {
            self.protocol = line.protocol;
        }
        if line.meta_data.is_some() {
            self.metadata = line.meta_data;
        }
        if let Some(Remove { path, deletion_vector }) = line.remove {
            let key = (path, deletion_vector.map(|vector| vector.identity()));
            if let Some(file) = self.known.remove(&key).and_then(|at| self.files.get_mut(at)) {
                *file = None;
            }
        }
        if let Some(add) = line.add {
            let key = (add.path.clone(), add.deletion_vector.as_ref().map(|vector| vector.identity()));
            match self.known.get(&key).and_then(|at| self.files.get_mut(*at)) {
                // What is added again has other statistics.
                Some(file) => *file = Some(add),
                None => {
                    self.known.insert(key, self.files.len());
                    self.files.push(Some(add));
                }
            }
        }
    }
}

/// Reads what `segment` names.
pub(crate) fn replay(environment: &Environment, folder: &Folder, segment: &Segment) -> Result<Snapshot> {
    let mut state = State::default();
    let mut sidecars = Vec::new();
    for name in &segment.checkpoint {
        rows(environment, folder, name, &mut |mut line| {
            sidecars.extend(line.sidecar.take().map(|sidecar| sidecar.path));
            environment.ask(FILE_BYTES)?;
            Ok(state.apply(line))
        })?;
    }
    for sidecar in sidecars {
        let name = match sidecar.contains('/') {
            true => sidecar,
            false => format!("{LOG}/_sidecars/{sidecar}"),
        };
        rows(environment, folder, &name, &mut |line| {
            if line.sidecar.is_some() {
                return Err(damaged(&folder.join(&name), "a part of a checkpoint names further parts"));
            }
            environment.ask(FILE_BYTES)?;
            Ok(state.apply(line))
        })?;
    }
    for name in &segment.commits {
        // What a commit removes was there before it: the order of its lines does not count.
        let mut added = Vec::new();
        lines(environment, folder, name, &mut |mut line| {
            environment.ask(FILE_BYTES)?;
            added.extend(line.add.take());
            Ok(state.apply(line))
        })?;
        added.into_iter().for_each(|add| state.apply(Line { add: Some(add), ..Line::default() }));
    }
    let lacks = |what: &str| damaged(&folder.join(LOG), format!("no {what} stands in it"));
    Ok(Snapshot {
        protocol: state.protocol.ok_or_else(|| lacks("protocol"))?,
        metadata: state.metadata.ok_or_else(|| lacks("metaData"))?,
        files: state.files.into_iter().flatten().collect(),
    })
}

/// The rows of a checkpoint's file.
fn rows(
    environment: &Environment,
    folder: &Folder,
    name: &str,
    visit: &mut dyn FnMut(Line) -> Result<()>,
) -> Result<()> {
    if name.ends_with(".json") {
        return lines(environment, folder, name, visit);
    }
    let path = folder.join(name);
    formats::lake::records(environment, &path, &COLUMNS, &mut |record| {
        let line = serde_json::from_value(serde_json::Value::Object(record));
        visit(line.map_err(|e| damaged(&path, e))?)
    })
}

/// The lines of a file of JSON.
pub(crate) fn lines(
    environment: &Environment,
    folder: &Folder,
    name: &str,
    visit: &mut dyn FnMut(Line) -> Result<()>,
) -> Result<()> {
    let path = folder.join(name);
    let bytes = folder.read(environment, name)?;
    let bytes = bytes.ok_or_else(|| damaged(&path, "it is not there any more"))?;
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        stop::check(Place::Open)?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line: Line = serde_json::from_slice(line).map_err(|e| wrong_line(&path, number, &e))?;
        visit(line)?;
    }
    Ok(())
}

fn wrong_line(path: &str, number: usize, error: &serde_json::Error) -> Error {
    let what = error.to_string();
    // The place in the line is told with it; the line's own number is ours.
    let what = what.replace(" at line 1 column ", " at byte ");
    damaged(path, format!("line {}: {what}", number + 1))
}
