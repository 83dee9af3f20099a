//! Rows whose keys count, and how they are walked: what every check of a constraint stands on.

use std::ops::Range;
use std::sync::Arc;

use block::Block;
use catalog::{Deleted, StoredBlock, TableData};
use types::{Result, Schema, Value};

/// A block whose keys count, and which of its rows are no longer there.
#[derive(Clone)]
pub(crate) struct LiveBlock {
    pub block: Arc<Block>,
    pub deleted: Option<Arc<Deleted>>,
}

impl std::ops::Deref for LiveBlock {
    type Target = Block;
    fn deref(&self) -> &Block {
        &self.block
    }
}

impl From<Arc<Block>> for LiveBlock {
    fn from(block: Arc<Block>) -> Self {
        LiveBlock { block, deleted: None }
    }
}

impl LiveBlock {
    pub fn of(stored: &StoredBlock) -> Self {
        LiveBlock { block: stored.block.clone(), deleted: stored.deleted.clone() }
    }
    pub fn all(data: &TableData) -> Vec<LiveBlock> {
        data.stored().iter().map(LiveBlock::of).collect()
    }
    pub fn is_live(&self, row: usize) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| deleted.live.get(row))
    }
}

/// Asked before each block: an error ends the check. A block is some milliseconds of work.
pub(crate) type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// Rows looked at together: their keys stay in the first- and second-level caches.
pub(super) const STEP_ROWS: usize = 4096;

/// Keys held at a time, at most.
pub(super) const PASS_ROWS_MAX: usize = 1 << 23;

/// A key's columns in one table, and its rows.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'a> {
    pub name: &'a str,
    pub schema: &'a Schema,
    pub columns: &'a [usize],
    pub blocks: &'a [LiveBlock],
}

pub(super) fn key_text(table: &Schema, columns: &[usize], values: &[Value]) -> String {
    let fields = table.fields();
    let names: Vec<&str> = columns.iter().map(|c| fields[*c].name.as_str()).collect();
    let shown: Vec<String> = columns.iter().zip(values).map(|(c, v)| v.display(fields[*c].ty)).collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

pub(crate) fn key_values(columns: &[usize], block: &LiveBlock, row: usize) -> Result<Vec<Value>> {
    let block = block.pin(columns)?;
    Ok(columns.iter().map(|c| block.fetch(*c, &[row as u32][..]).value(0)).collect())
}

pub(super) fn steps(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(STEP_ROWS).map(move |from| from..(from + STEP_ROWS).min(rows))
}
