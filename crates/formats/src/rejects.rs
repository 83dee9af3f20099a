//! Records of files that could not be read, kept so that they can be looked at.
//!
//! A scan that leaves bad records out says so in its plan (`plan::Rejects`); where that names a log, the reader notes the
//! records in it, each place once however often the file is read. Logs belong to a session, which hands them to the
//! readers of its statements.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rejects that a log keeps; of what comes later only the number is known.
const ROWS_MAX: usize = 1_000_000;

/// Something that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The file's path.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u64,
    /// Where it begins in the file, from 0.
    pub byte: u64,
    /// Unless the record as a whole is at fault.
    pub column: Option<Arc<str>>,
    /// The text that could not be read.
    pub text: String,
    /// Why, as the error message says it.
    pub cause: String,
}

/// Logs by the names that plans call them.
pub type RejectLogs = BTreeMap<String, Arc<RejectLog>>;

/// What was rejected, by the number of the scan.
#[derive(Debug, Default)]
pub struct RejectLog {
    scans: AtomicU64,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    rows: Vec<(u64, Reject)>,
    places: HashSet<(u64, Arc<str>, u64)>,
    beyond: u64,
}

impl RejectLog {
    /// Everything noted, in the order of scans, files and places, and how many more there were.
    pub fn rows(&self) -> (Vec<(u64, Reject)>, u64) {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = noted.rows.clone();
        rows.sort_by(|(a, x), (b, y)| (a, &x.file, x.byte).cmp(&(b, &y.file, y.byte)));
        (rows, noted.beyond)
    }
    /// The number of a further scan, from 1.
    pub fn new_scan(&self) -> u64 {
        self.scans.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// How a reader treats records that it cannot read: it leaves them out, and notes them if there is a log.
#[derive(Clone, Debug)]
pub(crate) struct Rejecting {
    scan: u64,
    log: Option<Arc<RejectLog>>,
}

impl Rejecting {
    /// As the plan says, with the log that it names, if it is among these.
    pub(crate) fn of(rejects: &plan::Rejects, logs: &RejectLogs) -> Self {
        match rejects.log() {
            Some((name, scan)) => Rejecting { scan, log: logs.get(name).cloned() },
            None => Rejecting { scan: 0, log: None },
        }
    }
    /// Whether there is a log: without one, the record's text and cause need not be made.
    pub(crate) fn is_noted(&self) -> bool {
        self.log.is_some()
    }
    /// Notes a record if there is a log: each place of a scan once, and beyond `ROWS_MAX` only the number.
    pub(crate) fn note(&self, reject: Reject) {
        let Some(log) = &self.log else { return };
        let mut noted = log.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.rows.len() >= ROWS_MAX {
            noted.beyond += 1;
        } else if noted.places.insert((self.scan, reject.file.clone(), reject.byte)) {
            noted.rows.push((self.scan, reject));
        }
    }
}
