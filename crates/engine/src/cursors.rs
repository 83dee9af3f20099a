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

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use catalog::Snapshot;
use plan::LogicalQuery;
use plan::cursor::{CursorCommand, CursorMotion, DeclaredCursor};
use types::{Error, Result, Schema, SqlState, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Form, result_schema};
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

impl Session {
    /// DECLARE, FETCH, MOVE and CLOSE.
    pub(crate) fn cursor_command(
        &self,
        command: CursorCommand,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        match command {
            CursorCommand::Declare(declared) => self.declare_cursor(*declared, relations),
            CursorCommand::Fetch { name, motion, moves } => {
                self.fetch_cursor(&name, motion, moves, relations)
            }
            CursorCommand::Close(None) => {
                self.close_cursors();
                Ok(ResultSet::done("CLOSE CURSOR ALL"))
            }
            CursorCommand::Close(Some(name)) => {
                let closed = self.cursors.all().remove(&name);
                closed.map(|_| ResultSet::done("CLOSE CURSOR")).ok_or_else(|| unknown(&name))
            }
        }
    }

    /// Ends all cursors.
    pub(crate) fn close_cursors(&self) {
        drop(self.cursors.take(|_| true));
    }

    fn declare_cursor(&self, declared: DeclaredCursor, relations: &SessionRelations) -> Result<ResultSet> {
        let DeclaredCursor { name, query, text, binary, scroll, hold } = declared;
        let block = self.block_place();
        if block.is_none() && !hold {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::new(SqlState::NoActiveTransaction, message)
                .with_hint("BEGIN first, or declare it WITH HOLD"));
        }
        let schema = result_schema(&query);
        let cursor = Cursor {
            text: Arc::from(text),
            created: SystemTime::now(),
            binary,
            scroll,
            hold,
            block,
            schema,
            source: Source::Query(Box::new(query), relations.snapshot().clone()),
            kept: vec![],
            kept_rows: 0,
            kept_bytes: 0,
            place: 0,
        };
        let mut cursors = self.cursors.all();
        if cursors.contains_key(&name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateCursor, message).with_hint("CLOSE it first"));
        }
        cursors.insert(name, cursor);
        Ok(ResultSet::done("DECLARE CURSOR"))
    }

    /// The columns of a cursor's rows.
    pub(crate) fn cursor_columns(&self, name: &str) -> Option<Schema> {
        self.cursors.all().get(name).map(|cursor| cursor.schema.clone())
    }

    fn fetch_cursor(
        &self,
        name: &str,
        motion: CursorMotion,
        moves: bool,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        // While it reads, others do not find it: they would wait for its rows with all cursors locked.
        let mut cursor = self.cursors.all().remove(name).ok_or_else(|| unknown(name))?;
        let mut reading =
            Reading { session: self, relations, cursor: &mut cursor, wanted: !moves, rows: vec![] };
        let outcome = match reading.cursor.source {
            Source::Failed => Err(failed(name)),
            _ => reading.go(motion),
        };
        let rows = std::mem::take(&mut reading.rows);
        let verb = if moves { "MOVE" } else { "FETCH" };
        let result = outcome.map(|count| match moves {
            true => ResultSet::done(format!("{verb} {count}")),
            false => ResultSet::returning(cursor.schema.clone(), rows, format!("{verb} {count}")),
        });
        if result.is_err() {
            // As in PostgreSQL, whatever the error was.
            cursor.source = Source::Failed;
            cursor.kept.clear();
        }
        self.cursors.all().insert(name.to_owned(), cursor);
        result
    }
}

/// A FETCH or MOVE under way.
struct Reading<'a> {
    session: &'a Session,
    relations: &'a SessionRelations,
    cursor: &'a mut Cursor,
    /// The rows are wanted, and not only passed.
    wanted: bool,
    rows: Vec<Batch>,
}

impl Reading<'_> {
    /// Goes there; how many rows that gave.
    fn go(&mut self, motion: CursorMotion) -> Result<u64> {
        match motion {
            CursorMotion::Forward(None) => self.forward(u64::MAX, self.wanted),
            CursorMotion::Backward(None) => self.backward(u64::MAX, self.wanted),
            CursorMotion::Forward(Some(0)) | CursorMotion::Backward(Some(0)) | CursorMotion::Relative(0) => {
                self.again()
            }
            CursorMotion::Forward(Some(rows)) if rows > 0 => self.forward(rows.unsigned_abs(), self.wanted),
            CursorMotion::Backward(Some(rows)) if rows < 0 => self.forward(rows.unsigned_abs(), self.wanted),
            CursorMotion::Forward(Some(rows)) | CursorMotion::Backward(Some(rows)) => {
                self.backward(rows.unsigned_abs(), self.wanted)
            }
            CursorMotion::Relative(rows) if rows > 0 => {
                self.forward(rows.unsigned_abs() - 1, false)?;
                self.forward(1, self.wanted)
            }
            CursorMotion::Relative(rows) => {
                self.backward(rows.unsigned_abs() - 1, false)?;
                self.backward(1, self.wanted)
            }
            CursorMotion::Absolute(0) => {
                self.backward(u64::MAX, false)?;
                Ok(0)
            }
            CursorMotion::Absolute(row) if row > 0 => {
                let before = row.unsigned_abs() - 1;
                match before < self.cursor.place {
                    true => self.backward(self.cursor.place - before, false)?,
                    false => self.forward(before - self.cursor.place, false)?,
                };
                self.forward(1, self.wanted)
            }
            CursorMotion::Absolute(row) => {
                self.forward(u64::MAX, false)?;
                self.backward(row.unsigned_abs() - 1, false)?;
                self.backward(1, self.wanted)
            }
        }
    }

    /// The row where the cursor is, once more.
    fn again(&mut self) -> Result<u64> {
        let on_row = self.cursor.place > 0 && !self.is_behind();
        if !on_row || !self.wanted {
            return Ok(u64::from(on_row));
        }
        self.backward(1, false)?;
        self.forward(1, true)
    }

    /// Whether the cursor is behind its last row.
    fn is_behind(&self) -> bool {
        matches!(self.cursor.source, Source::End) && self.cursor.place > self.cursor.kept_rows
    }

    fn forward(&mut self, rows: u64, wanted: bool) -> Result<u64> {
        let mut left = rows;
        while left > 0 {
            match self.next(left)? {
                Some(batch) => {
                    self.cursor.place += batch.rows as u64;
                    left -= batch.rows as u64;
                    if wanted {
                        self.rows.push(batch);
                    }
                }
                None => {
                    // With a place of its own behind the last row, unless it is there already.
                    self.cursor.place = self.cursor.kept_rows + 1;
                    break;
                }
            }
        }
        Ok(rows - left)
    }

    /// The next rows from the cursor's place on, at most so many.
    fn next(&mut self, rows_max: u64) -> Result<Option<Batch>> {
        if self.cursor.scroll && self.cursor.place < self.cursor.kept_rows {
            return Ok(self.cursor.kept_from(self.cursor.place, rows_max));
        }
        if self.is_behind() {
            return Ok(None);
        }
        // What is kept is kept by whole batches: a part of one would hold all of it.
        let read_max = if self.cursor.scroll { u64::MAX } else { rows_max };
        let Some(batch) = self.read(read_max)? else { return Ok(None) };
        self.cursor.kept_rows += batch.rows as u64;
        if self.cursor.scroll {
            self.cursor.kept_bytes += batch.bytes() as u64;
            let most = self.session.database.memory_limit() / KEPT_SHARE;
            if self.cursor.kept_bytes > most {
                let message = format!("a cursor with SCROLL would keep more than {most} bytes of rows");
                return Err(Error::new(SqlState::OutOfMemory, message).with_hint(
                    "declare it with NO SCROLL, of fewer rows or columns, or SET memory_limit to more",
                ));
            }
            self.cursor.kept.push(batch);
            return Ok(self.cursor.kept_from(self.cursor.place, rows_max));
        }
        Ok(Some(batch))
    }

    /// The next rows of the query.
    fn read(&mut self, rows_max: u64) -> Result<Option<Batch>> {
        if let Source::Query(..) = self.cursor.source {
            let stream = self.begin()?;
            self.cursor.source = Source::Rows(Box::new(stream), None);
        }
        let Source::Rows(stream, rest) = &mut self.cursor.source else {
            return Ok(None);
        };
        let batch = loop {
            match rest.take().map(|batch| Ok(Some(batch))).unwrap_or_else(|| stream.next_batch()) {
                Ok(Some(batch)) if batch.rows == 0 => {}
                Ok(Some(batch)) => break batch,
                Ok(None) => {
                    self.cursor.source = Source::End;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        };
        let wanted = usize::try_from(rows_max).unwrap_or(usize::MAX).min(batch.rows);
        if wanted < batch.rows {
            *rest = Some(batch.slice(wanted, batch.rows - wanted));
            return Ok(Some(batch.slice(0, wanted)));
        }
        Ok(Some(batch))
    }

    /// Begins the query, in the state that DECLARE saw.
    fn begin(&mut self) -> Result<ResultStream> {
        let Source::Query(query, snapshot) = std::mem::replace(&mut self.cursor.source, Source::Failed)
        else {
            return Err(Error::internal("a cursor's query begins twice"));
        };
        let statement = self.relations.statement().cloned();
        let relations = self.session.relations_at(snapshot, statement);
        let planned = self.session.plan_query(*query, None, &relations)?;
        let stream = self.session.running_rows(planned, relations, Form::Values, &mut None)?;
        stream.outlive_statement();
        Ok(stream)
    }

    fn backward(&mut self, rows: u64, wanted: bool) -> Result<u64> {
        if rows == 0 {
            return Ok(0);
        }
        if !self.cursor.scroll {
            return Err(Error::new(SqlState::NotInPrerequisiteState, "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan."));
        }
        if self.cursor.place == 0 {
            return Ok(0);
        }
        let given = rows.min(self.cursor.place - 1);
        let to = self.cursor.place - given;
        if wanted {
            self.cursor.kept_back(to - 1, self.cursor.place - 1, &mut self.rows);
        }
        self.cursor.place = if given < rows { 0 } else { to };
        Ok(given)
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
