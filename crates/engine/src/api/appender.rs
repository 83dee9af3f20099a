//! Adds many rows to a table: kept as columns, and inserted many at a time.
//!
//! Rows go into one builder a column, record batches are kept as they are. When either has reached its bound of rows
//! or bytes, it becomes one INSERT through [`BulkInsert`]. A value that does not fit its column is found when the row
//! is added, and the row is left out; what the table itself refuses (keys, checks) is found at the flush.

use arrow_array::RecordBatch;
use types::{Error, Result, SqlState, Value};
use vector::VectorBuilder;

use super::bulk::{BulkInsert, in_zone_of};
use super::params::{Parameters, Params};
use crate::Session;

/// Rows of one INSERT, at most. Each INSERT makes blocks of its own and, on disk, waits for the disk.
const ROWS_MAX: usize = 1 << 17;
/// And bytes, about.
const BYTES_MAX: usize = 64 << 20;

/// Adds rows to a table: see [`Connection::appender`](super::Connection::appender).
///
/// Rows are kept, and inserted when there are many, by [`Appender::flush`], and by [`Appender::finish`] or when it is
/// dropped; dropping tells no errors. Each of these INSERTs is a transaction of its own, unless one is open: that
/// keeps or takes back all rows. Errors name the row, counted from 1, and the column. A row with a value that the
/// column cannot hold is not added, and the appender goes on; rows that the table refuses are told when they are
/// inserted, and none of those that were kept with them is added.
///
/// ```
/// use engine::{Connection, Date, params};
///
/// let connection = Connection::open_in_memory()?;
/// connection.execute_batch("CREATE TABLE visits (day DATE NOT NULL, page TEXT, seconds DECIMAL(8,2))")?;
/// let mut appender = connection.appender("visits")?;
/// for n in 0..10_000 {
///     appender.append_row(params![Date::from_days(19_000 + n % 100), "home", f64::from(n) / 100.0])?;
/// }
/// let error = appender.append_row(("yesterday or so", "home", 1)).unwrap_err();
/// assert_eq!(error.message(), "row 10001, column \"day\": invalid input syntax for type date: \"yesterday or so\"");
/// assert_eq!(appender.finish()?, 10_000);
/// # Ok::<(), engine::Error>(())
/// ```
pub struct Appender<'s> {
    session: &'s Session,
    insert: BulkInsert,
    builders: Vec<VectorBuilder>,
    /// Values of the row that is being added.
    row: Vec<Value>,
    /// Rows in `builders`, and their bytes as far as they are texts.
    rows: usize,
    bytes: usize,
    /// Batches as they were given, of one schema, and their rows.
    batches: Vec<RecordBatch>,
    batch_rows: usize,
    /// Rows given so far, and rows inserted.
    given: u64,
    added: u64,
}

impl<'s> Appender<'s> {
    /// For a table and some of its columns, or all if none are named; names are written as in SQL.
    pub(crate) fn new(session: &'s Session, table: &str, columns: &[&str]) -> Result<Appender<'s>> {
        BulkInsert::into_table(session, table, columns).map(|insert| Self::of(session, insert))
    }

    /// For the rows of an INSERT that was taken apart.
    pub(crate) fn of(session: &'s Session, insert: BulkInsert) -> Appender<'s> {
        let builders = builders(&insert);
        let row = Vec::with_capacity(builders.len());
        Appender {
            session,
            insert,
            builders,
            row,
            rows: 0,
            bytes: 0,
            batches: vec![],
            batch_rows: 0,
            given: 0,
            added: 0,
        }
    }

    /// Adds a row: a value for each column, by place.
    pub fn append_row(&mut self, row: impl Params) -> Result<()> {
        match row.into_parameters()? {
            Parameters::Placed(values) => self.append_values(&values),
            Parameters::Named(_) => Err(Error::unsupported("rows are appended by place, and not by name")
                .with_hint("appender_with_columns() says which columns they have")),
        }
    }

    /// Adds rows, up to the first error.
    pub fn append_rows<P: Params>(&mut self, rows: impl IntoIterator<Item = P>) -> Result<()> {
        rows.into_iter().try_for_each(|row| self.append_row(row))
    }

    /// Adds the rows of a batch. Its columns go into the table's by place, whatever their names, and are not copied.
    pub fn append_record_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.insert.renamed(batch)?;
        let other = self.batches.last().is_some_and(|last| last.schema() != batch.schema());
        if self.rows > 0 || other {
            self.flush()?;
        }
        self.given += batch.num_rows() as u64;
        self.batch_rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
        self.flush_if_many()
    }

    fn append_values(&mut self, values: &[(Value, types::Type)]) -> Result<()> {
        let columns = self.insert.columns();
        if values.len() != columns.len() {
            let message =
                format!("row {}: {} values for {} columns", self.given + 1, values.len(), columns.len());
            return Err(Error::new(SqlState::SyntaxError, message)
                .with_hint("appender_with_columns() appends to some of a table's columns"));
        }
        self.row.clear();
        let session = self.session;
        for (column, (value, from)) in columns.iter().zip(values) {
            let value = match value.is_null() || (*from == column.held && *from == column.target) {
                true => value.clone(),
                false => in_zone_of(session, || column.assigned(value, *from))
                    .map_err(|error| column.at_fault(error, self.given + 1))?,
            };
            self.row.push(value);
        }
        self.keep_row()
    }

    /// Adds the parameters of one run of the statement that the rows are inserted by.
    pub(crate) fn append_parameters(&mut self, parameters: Parameters) -> Result<()> {
        let row = self.given + 1;
        let (names, values): (Vec<String>, Vec<_>) = match parameters {
            Parameters::Placed(values) => (vec![], values),
            Parameters::Named(pairs) => pairs.into_iter().unzip(),
        };
        self.row.clear();
        let mut used = vec![false; values.len()];
        for column in self.insert.columns() {
            use sql::markers::Marked;
            let at = match &column.marked {
                Marked::Number(number) if names.is_empty() => number.checked_sub(1),
                Marked::Name(name) => names.iter().position(|known| known == name),
                Marked::Number(_) => None,
            };
            let Some((at, (value, from))) = at.and_then(|at| Some((at, values.get(at)?))) else {
                let message = format!("row {row}: no value for column \"{}\" is given", column.name);
                return Err(Error::new(SqlState::UndefinedParameter, message));
            };
            used[at] = true;
            let value = in_zone_of(self.session, || column.assigned(value, *from))
                .map_err(|error| column.at_fault(error, row))?;
            self.row.push(value);
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            let shown =
                names.get(unused).map_or_else(|| (unused + 1).to_string(), |name| format!("\"{name}\""));
            let message = format!("row {row}: the statement has no parameter {shown}");
            return Err(Error::new(SqlState::UndefinedParameter, message));
        }
        self.keep_row()
    }

    fn keep_row(&mut self) -> Result<()> {
        if !self.batches.is_empty() {
            let row = std::mem::take(&mut self.row);
            self.flush()?;
            self.row = row;
        }
        for (builder, value) in self.builders.iter_mut().zip(&self.row) {
            builder.push(value);
            self.bytes += 8 + value.as_bytes().map_or(0, |bytes| 8 + bytes.len());
        }
        self.rows += 1;
        self.given += 1;
        self.flush_if_many()
    }

    fn flush_if_many(&mut self) -> Result<()> {
        match self.rows + self.batch_rows >= ROWS_MAX || self.bytes >= BYTES_MAX {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Inserts the rows that are kept. After an error none of them is inserted, and they are gone.
    pub fn flush(&mut self) -> Result<()> {
        let mut batches = std::mem::take(&mut self.batches);
        let rows = std::mem::take(&mut self.rows);
        let kept = (rows + std::mem::take(&mut self.batch_rows)) as u64;
        self.bytes = 0;
        if rows > 0 {
            let columns = std::mem::replace(&mut self.builders, builders(&self.insert));
            batches.push(self.insert.batch(columns.into_iter().map(VectorBuilder::finish).collect(), rows)?);
        }
        self.added += self.insert.insert(self.session, &batches, self.given - kept + 1)?;
        Ok(())
    }

    /// Rows that were given so far.
    pub fn rows(&self) -> u64 {
        self.given
    }

    /// Inserts what is kept; returns how many rows were inserted in all.
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.added)
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        // After finish() nothing is kept. Errors of this flush are lost; finish() returns them.
        if !std::thread::panicking() {
            let _ = self.flush();
        }
    }
}

fn builders(insert: &BulkInsert) -> Vec<VectorBuilder> {
    insert.columns().iter().map(|column| VectorBuilder::new(column.held, 0)).collect()
}
