//! Records of files that could not be read: how a scan treats them.
//!
//! A plan says which log of the session they are noted in, and as which of its scans. The log itself is the session's, and
//! readers are given it as the plan runs (crate `formats`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How a scan treats records that it cannot read: it leaves them out, and notes them if there is a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejects {
    noted: Option<(Arc<str>, u64)>,
}

impl Rejects {
    /// Leaves records out without noting them.
    pub fn ignored() -> Self {
        Rejects { noted: None }
    }
    /// Notes them in the log of that name, as those of its scan of that number.
    pub fn noted(log: &str, scan: u64) -> Self {
        Rejects { noted: Some((log.into(), scan)) }
    }
    /// The log's name and the scan's number in it; `None` where records are left out without a note.
    pub fn log(&self) -> Option<(&str, u64)> {
        self.noted.as_ref().map(|(log, scan)| (&**log, *scan))
    }
}
