//! DECLARE, FETCH, MOVE and CLOSE, over a session's cursors.
//!
//! A cursor is taken out of the session's map while it is read, so that no lock is held while its query runs, and put back
//! at its new position; one whose query fails stays away. Positions and kept rows are the cursor's own (`cursors.rs`).
//! Called by `Session::run_statement`.

use std::sync::Arc;
use std::time::SystemTime;

use plan::cursor::{CursorCommand, CursorMotion, DeclaredCursor};
use types::{Error, Result, Schema, SqlState};
use vector::Batch;

use super::{Cursor, KEPT_SHARE, Source, failed, unknown};
use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Form, result_schema};
use crate::stream::ResultStream;

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
