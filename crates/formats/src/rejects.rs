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

/// The kinds of faults, by their names in DuckDB's table of rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectKind {
    /// A value that is none of its column's type.
    Cast,
    /// Fewer values than columns.
    MissingColumns,
    /// More values than columns.
    TooManyColumns,
    /// Quotes that do not fit.
    Quotes,
    /// More bytes than a record may have.
    LongLine,
    /// What is no JSON.
    Malformed,
}

impl RejectKind {
    /// The name that the table shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cast => "CAST",
            Self::MissingColumns => "MISSING COLUMNS",
            Self::TooManyColumns => "TOO MANY COLUMNS",
            Self::Quotes => "UNQUOTED VALUE",
            Self::LongLine => "LINE SIZE OVER MAXIMUM",
            Self::Malformed => "MALFORMED RECORD",
        }
    }
}

/// Something that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The file's path.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u64,
    /// Where the line begins in the file, from 0.
    pub line_byte: u64,
    /// Where what is at fault begins in the file, from 0.
    pub byte: u64,
    /// The column's place, from 1; of values beyond the columns, their own place.
    pub column_number: Option<u64>,
    /// Unless the record as a whole is at fault.
    pub column: Option<Arc<str>>,
    /// The kind of the fault.
    pub kind: RejectKind,
    /// The text that could not be read.
    pub text: String,
    /// Why, as the error message says it.
    pub cause: String,
}

/// What a scan reads and how, of which each file is a row in the table of scans.
#[derive(Clone, Debug)]
pub struct RejectScan {
    /// The name of the table of scans.
    pub table: String,
    /// The scan's number.
    pub scan: u64,
    /// How the files are read.
    pub source: plan::FileSource,
    /// The options as the statement gives them.
    pub said: String,
}

/// Logs by the names that plans call them.
pub type RejectLogs = BTreeMap<String, Arc<RejectLog>>;

/// What was rejected, by the number of the scan.
#[derive(Debug, Default)]
pub struct RejectLog {
    noted: Mutex<Noted>,
    /// Rejects that the log keeps; 0 for as many as any log.
    limit: AtomicU64,
}

#[derive(Debug, Default)]
struct Noted {
    rows: Vec<(u64, Reject)>,
    places: HashSet<(u64, Arc<str>, u64, Option<u64>)>,
    read: Vec<RejectScan>,
    beyond: u64,
}

impl RejectLog {
    /// Everything noted, in the order of scans, files and places, and how many more there were.
    pub fn rows(&self) -> (Vec<(u64, Reject)>, u64) {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = noted.rows.clone();
        rows.sort_by(|(a, x), (b, y)| {
            (a, &x.file, x.byte, x.column_number).cmp(&(b, &y.file, y.byte, y.column_number))
        });
        (rows, noted.beyond)
    }
    /// The number of the last scan; 0 before the first.
    pub fn last_scan(&self) -> u64 {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.read.last().map_or(0, |scan| scan.scan)
    }
    /// Keeps what a scan reads.
    pub fn note_scan(&self, scan: RejectScan) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).read.push(scan);
    }
    /// The scans, in order.
    pub fn scans(&self) -> Vec<RejectScan> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).read.clone()
    }
    /// The scans are in no table of that name any more.
    pub fn leave_table(&self, table: &str) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.read.iter_mut().filter(|scan| scan.table == table).for_each(|scan| scan.table.clear());
    }
    /// Keeps so many rejects of each scan at most; 0 for as many as there is room for.
    pub fn limit(&self, rows: u64) {
        self.limit.store(rows, Ordering::Relaxed);
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
        let limit = log.limit.load(Ordering::Relaxed);
        let of_scan = |noted: &Noted| noted.rows.iter().filter(|(scan, _)| *scan == self.scan).count() as u64;
        if limit > 0 && of_scan(&noted) >= limit {
            return;
        }
        if noted.rows.len() >= ROWS_MAX {
            noted.beyond += 1;
        } else if noted.places.insert((self.scan, reject.file.clone(), reject.byte, reject.column_number)) {
            noted.rows.push((self.scan, reject));
        }
    }
}
