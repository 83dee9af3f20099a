//! SQL's cursors: DECLARE, FETCH, MOVE, CLOSE.
//!
//! A cursor is a query, the state that it sees (that of its DECLARE), and a place between rows. Its query begins with the
//! first FETCH and runs as a result stream, so that what is computed ahead is bounded. A cursor WITH SCROLL keeps the rows
//! that it has read, up to a share of the memory limit; others keep the rows of one batch and only go on.
//!
//! ```text
//!   place:  0        1        2    ...   n        n + 1
//!           before   row 1    row 2      row n    behind the last, known once it was reached
//! ```
//! A cursor without HOLD ends with its transaction, and each with a ROLLBACK of the part of the transaction that declared
//! it. One that is held stays with its snapshot. An error in its query ends the cursor.

mod statements;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use catalog::Snapshot;
use plan::LogicalQuery;
use types::{Error, Schema, SqlState, Value};
use vector::Batch;

use crate::stream::ResultStream;

/// The share of the memory limit up to which a cursor WITH SCROLL keeps its rows.
const KEPT_SHARE: u64 = 8;

/// The cursors of a session by name.
#[derive(Clone, Default)]
pub(crate) struct Cursors(Arc<Mutex<BTreeMap<String, Cursor>>>);

/// One open cursor.
struct Cursor {
    text: Arc<str>,
    created: SystemTime,
    binary: bool,
    scroll: bool,
    hold: bool,
    /// The block that has declared it, and in how many savepoints of it; `None` once it has outlived its transaction.
    block: Option<(u64, usize)>,
    schema: Schema,
    source: Source,
    /// Rows that were read and are kept: all with SCROLL.
    kept: Vec<Batch>,
    kept_rows: u64,
    kept_bytes: u64,
    place: u64,
}

/// Where a cursor's further rows come from.
enum Source {
    Query(Box<LogicalQuery>, Arc<Snapshot>),
    /// And the rows of its last batch that were not asked for yet.
    Rows(Box<ResultStream>, Option<Batch>),
    /// There are no more.
    End,
    Failed,
}

impl Cursors {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Cursor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out those that are to end; their queries end when they are dropped, which is to be outside of locks.
    fn take(&self, mut ends: impl FnMut(&mut Cursor) -> bool) -> Vec<Cursor> {
        self.all().extract_if(.., |_, cursor| ends(cursor)).map(|(_, cursor)| cursor).collect()
    }

    /// A block has ended: its cursors do, but for those that are held if it was committed.
    pub fn end_block(&self, number: u64, kept: bool) {
        let ended = self.take(|cursor| match cursor.block {
            Some((block, _)) if block == number => {
                cursor.block = cursor.block.filter(|_| !(kept && cursor.hold));
                cursor.block.is_some()
            }
            _ => false,
        });
        drop(ended);
    }

    /// ROLLBACK TO the savepoint of that place: cursors that were declared behind it end.
    pub fn roll_back_to(&self, number: u64, at: usize) {
        let behind = |(block, depth): (u64, usize)| block == number && depth > at;
        drop(self.take(|cursor| cursor.block.is_some_and(behind)));
    }

    /// RELEASE of the savepoint of that place: what was declared behind it belongs to what is around it.
    pub fn release(&self, number: u64, at: usize) {
        for cursor in self.all().values_mut() {
            if let Some((block, depth)) = &mut cursor.block
                && *block == number
            {
                *depth = (*depth).min(at);
            }
        }
    }

    /// Rows of `quickstep_cursors()`: name, statement, held, binary, scrolls, since when.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let micros = |at: SystemTime| {
            at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
        };
        let row = |(name, cursor): (&String, &Cursor)| {
            vec![
                Value::text(name),
                Value::text(&cursor.text),
                Value::Bool(cursor.hold),
                Value::Bool(cursor.binary),
                Value::Bool(cursor.scroll),
                Value::I64(micros(cursor.created)),
            ]
        };
        self.all().iter().map(row).collect()
    }
}

impl Cursor {
    /// Rows that are kept from that one on, counted from zero; at most so many, of one batch.
    fn kept_from(&self, from: u64, rows_max: u64) -> Option<Batch> {
        let mut begin = 0;
        for batch in &self.kept {
            let end = begin + batch.rows as u64;
            if from < end {
                let rows = rows_max.min(end - from) as usize;
                return Some(batch.slice((from - begin) as usize, rows));
            }
            begin = end;
        }
        None
    }

    /// The kept rows of `from..to`, counted from zero, the last one first.
    fn kept_back(&self, from: u64, to: u64, into: &mut Vec<Batch>) {
        let mut end = self.kept_rows;
        for batch in self.kept.iter().rev() {
            let begin = end - batch.rows as u64;
            let (first, last) = (from.max(begin), to.min(end));
            if first < last {
                let indices: Vec<u32> = (first..last).rev().map(|row| (row - begin) as u32).collect();
                into.push(batch.gather(&indices));
            }
            end = begin;
        }
    }
}

/// The error for a cursor that an error has ended.
fn failed(name: &str) -> Error {
    Error::new(SqlState::NotInPrerequisiteState, format!("portal \"{name}\" cannot be run"))
        .with_hint("an error has ended the cursor; CLOSE it, and declare it again")
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UndefinedCursor, format!("cursor \"{name}\" does not exist"))
}
