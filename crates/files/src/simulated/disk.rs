//! The simulated disk itself: what processes see, what is on stable storage, and what a loss of power leaves.
//!
//! ```text
//!  file:    live bytes  = stable bytes + unsynced changes, in order        sync: changes -> stable
//!  names:   live names  = stable names + unsynced changes, in order        sync_directory: changes of one folder
//!  loss:    per file and per folder some of the unsynced changes become stable, the rest never was; then live = stable
//! ```
//! A write is lost, kept or torn sector by sector, independently of those before it. A change of a name is lost or
//! kept whole. After a sync that failed, what it should have saved is decided at once: nothing may count on a later
//! sync to save it.

use random::Random;
use std::collections::{BTreeMap, BTreeSet};

use super::{Fault, FaultKind, Operation, Owner};

/// What a disk writes whole.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) live: Vec<u8>,
    pub(super) stable: Vec<u8>,
    pub(super) unsynced: Vec<Change>,
}

fn apply(change: &Change, to: &mut Vec<u8>) {
    match change {
        Change::Write { at, bytes } => {
            let end = at + bytes.len();
            if to.len() < end {
                to.resize(end, 0);
            }
            to[*at..end].copy_from_slice(bytes);
        }
        Change::Cut(length) => to.truncate(*length),
    }
}

/// How much of what was not synced survives.
#[derive(Clone, Copy)]
enum Survival {
    Nothing,
    Everything,
    /// Up to some moment, and a part of what was being written then.
    Prefix(usize),
    Any,
}

fn survival(random: &mut Random, changes: usize) -> Survival {
    match random.below(4) {
        0 => Survival::Nothing,
        1 => Survival::Everything,
        2 => Survival::Prefix(random.below(changes + 1)),
        _ => Survival::Any,
    }
}

impl Contents {
    pub(super) fn change(&mut self, change: Change) {
        apply(&change, &mut self.live);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&change, &mut self.stable);
        }
    }

    /// Decides what of the unsynced changes is on stable storage.
    pub(super) fn decide(&mut self, random: &mut Random) {
        let how = survival(random, self.unsynced.len());
        for (at, change) in std::mem::take(&mut self.unsynced).into_iter().enumerate() {
            match how {
                Survival::Nothing => {}
                Survival::Everything => apply(&change, &mut self.stable),
                Survival::Prefix(whole) if at < whole => apply(&change, &mut self.stable),
                Survival::Prefix(whole) if at > whole => {}
                Survival::Prefix(_) | Survival::Any => self.tear(change, random),
            }
        }
    }

    fn tear(&mut self, change: Change, random: &mut Random) {
        match change {
            Change::Cut(_) if random.chance(50) => {}
            Change::Cut(_) => apply(&change, &mut self.stable),
            Change::Write { at, bytes } => {
                let mut from = 0;
                while from < bytes.len() {
                    let to = bytes.len().min((at + from) / SECTOR * SECTOR + SECTOR - at);
                    if random.chance(50) {
                        let sector = bytes[from..to].to_vec();
                        apply(&Change::Write { at: at + from, bytes: sector }, &mut self.stable);
                    }
                    from = to;
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Link { name: String, file: usize },
    Unlink { name: String },
    Rename { from: String, to: String, file: usize },
    Folder { name: String },
}

pub(super) fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl NameChange {
    fn folder(&self) -> &str {
        match self {
            NameChange::Link { name, .. } | NameChange::Unlink { name } | NameChange::Folder { name } => {
                folder_of(name)
            }
            NameChange::Rename { to, .. } => folder_of(to),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) files: BTreeMap<String, usize>,
    pub(super) folders: BTreeSet<String>,
}

impl Names {
    fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { name, file } => {
                self.files.insert(name.clone(), *file);
            }
            NameChange::Unlink { name } => {
                self.files.remove(name);
            }
            NameChange::Rename { from, to, file } => {
                self.files.remove(from);
                self.files.insert(to.clone(), *file);
            }
            NameChange::Folder { name } => {
                self.folders.insert(name.clone());
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) files: Vec<Contents>,
    pub(super) live: Names,
    stable: Names,
    unsynced: Vec<NameChange>,
    pub(super) faults: Vec<Fault>,
    pub(super) random: Random,
    /// Everything fails from here on.
    pub(super) lost: bool,
    pub(super) operations: u64,
    pub(super) owner: Option<Owner>,
}

impl Disk {
    pub(super) fn new(seed: u64) -> Disk {
        Disk {
            files: Vec::new(),
            live: Names::default(),
            stable: Names::default(),
            unsynced: Vec::new(),
            faults: Vec::new(),
            random: Random::new(seed),
            lost: false,
            operations: 0,
            owner: None,
        }
    }

    pub(super) fn change_name(&mut self, change: NameChange) {
        self.live.apply(&change);
        self.unsynced.push(change);
    }

    pub(super) fn sync_folder(&mut self, folder: &str) {
        for change in std::mem::take(&mut self.unsynced) {
            if change.folder() == folder {
                self.stable.apply(&change);
            } else {
                self.unsynced.push(change);
            }
        }
    }

    /// The fault that the next operation of this kind meets, if any.
    pub(super) fn meet(&mut self, operation: Operation) -> Option<FaultKind> {
        if self.lost {
            return Some(FaultKind::PowerLoss);
        }
        if operation != Operation::Read {
            self.operations += 1;
        }
        let mut met = None;
        self.faults.retain_mut(|fault| {
            let concerned = match fault.operation {
                Some(only) => only == operation,
                None => operation != Operation::Read,
            };
            if !concerned {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            met = met.or(Some(fault.kind));
            fault.lasting
        });
        self.lost |= met == Some(FaultKind::PowerLoss);
        met
    }

    /// The disk after the machine went down and came up again.
    pub(super) fn after_power_loss(&mut self) -> Disk {
        self.lost = true;
        let mut random = self.random.clone();
        let mut names = std::mem::take(&mut self.stable);
        let unsynced = std::mem::take(&mut self.unsynced);
        // One fate a folder: its changes are in one journal, or in none.
        let mut fates: BTreeMap<String, (Survival, usize)> = BTreeMap::new();
        for change in &unsynced {
            let fresh = (survival(&mut random, unsynced.len()), 0);
            let (how, seen) = fates.entry(change.folder().to_owned()).or_insert(fresh);
            let kept = match *how {
                Survival::Nothing => false,
                Survival::Everything => true,
                Survival::Prefix(whole) => *seen < whole,
                Survival::Any => random.chance(50),
            };
            *seen += 1;
            if kept {
                names.apply(change);
            }
        }
        // A file whose folder has no name cannot be found.
        let Names { files, folders } = &mut names;
        files.retain(|name, _| folder_of(name).is_empty() || folders.contains(folder_of(name)));
        let mut contents = self.files.clone();
        contents.iter_mut().for_each(|file| file.decide(&mut random));
        self.settled(contents, names, random)
    }

    /// The disk after the process ended and the machine did not: all that was written is there.
    pub(super) fn after_process_end(&mut self) -> Disk {
        self.lost = true;
        Disk {
            files: self.files.clone(),
            live: self.live.clone(),
            stable: self.stable.clone(),
            unsynced: self.unsynced.clone(),
            ..Disk::new(self.random.bits())
        }
    }

    fn settled(&self, mut contents: Vec<Contents>, names: Names, mut random: Random) -> Disk {
        contents.iter_mut().for_each(|file| file.live = file.stable.clone());
        let seed = random.bits();
        Disk { files: contents, live: names.clone(), stable: names, ..Disk::new(seed) }
    }
}
