//! One aggregation while its query runs: what sink, merge step and source share.

use std::ops::Deref;
use std::sync::{Mutex, OnceLock};

use hash::aggregate::Finish;
use types::Type;

use super::descriptor::Descriptor;
use super::merge::Merge;
use super::source::Part;
use super::spilled::Spilled;

/// One aggregation: its calls at plan time, and what its sink, merge step and source share while the query runs.
pub struct Aggregate {
    pub(super) descriptor: Descriptor,
    pub(super) finishes: Vec<(Finish, Type)>,
    pub(super) merge: Mutex<Merge>,
    pub(super) output: OnceLock<Vec<Part>>,
    /// Once some worker was short of memory.
    pub(super) spilled: OnceLock<Spilled>,
}

impl Deref for Aggregate {
    type Target = Descriptor;

    fn deref(&self) -> &Descriptor {
        &self.descriptor
    }
}
