//! What a statement gives back.

use std::time::Duration;

use arrow_array::RecordBatch;
use types::{Result, Schema, Value, Zone, zone};
use vector::Batch;
use vector::arrow::{arrow_schema_in, to_record_batch};

/// Rows, or for statements without rows just a tag that says what was done.
#[derive(Clone, Debug)]
pub struct ResultSet {
    schema: Schema,
    batches: Vec<Batch>,
    tag: String,
    warning: Option<&'static str>,
    pub(crate) planning: Duration,
    pub(crate) zone: Zone,
}

impl ResultSet {
    /// A query's result, with `SELECT` and the number of rows as its tag.
    pub fn new(schema: Schema, batches: Vec<Batch>) -> Self {
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        let tag = format!("SELECT {rows}");
        ResultSet { schema, batches, tag, warning: None, planning: Duration::ZERO, zone: Zone::Utc }
    }
    /// A statement that returns no rows.
    pub fn done(tag: impl Into<String>) -> Self {
        ResultSet { tag: tag.into(), ..ResultSet::new(Schema::new(vec![]), vec![]) }
    }
    /// Rows that a statement gives which is no query.
    pub(crate) fn returning(schema: Schema, batches: Vec<Batch>, tag: String) -> Self {
        ResultSet { tag, ..ResultSet::new(schema, batches) }
    }
    /// The same result with a warning.
    pub(crate) fn with_warning(self, warning: &'static str) -> Self {
        ResultSet { warning: Some(warning), ..self }
    }
    /// What the statement did not do as it was told, such as BEGIN where there is a transaction.
    pub fn warning(&self) -> Option<&'static str> {
        self.warning
    }
    /// Names and types of the columns; empty for statements without rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
    /// The rows in order, some thousands a batch.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }
    /// The session's time zone when the statement ran: TIMESTAMPTZ is shown in it.
    pub fn time_zone(&self) -> Zone {
        self.zone
    }
    /// Does what shows the rows, so that `Value::display` shows instants in the statement's time zone.
    pub fn within_time_zone<T>(&self, work: impl FnOnce() -> T) -> T {
        zone::within(self.zone, work)
    }
    /// The rows as Arrow, columns shared where the layouts agree. Columns of instants bear the statement's time zone.
    pub fn record_batches(&self) -> Result<Vec<RecordBatch>> {
        let schema = arrow_schema_in(&self.schema, self.zone);
        self.batches.iter().map(|batch| to_record_batch(batch, &schema)).collect()
    }
    /// The rows as batches, without a copy.
    pub fn into_batches(self) -> Vec<Batch> {
        self.batches
    }
    /// How many rows there are in all batches.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|b| b.rows).sum()
    }
    /// PostgreSQL's command tag: `SELECT 5`, `INSERT 0 3`, `UPDATE 2`, `CREATE TABLE`.
    pub fn tag(&self) -> &str {
        &self.tag
    }
    /// The time from the statement's text to its plan, subqueries' plans included but not their runs. Zero for
    /// statements that are not queries.
    pub fn planning(&self) -> Duration {
        self.planning
    }
    /// Whether the statement returns rows at all.
    pub fn has_rows(&self) -> bool {
        !self.schema.is_empty()
    }
    /// One value; panics when out of range.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let mut at = row;
        for batch in &self.batches {
            if at < batch.rows {
                return batch.columns[column].value(at);
            }
            at -= batch.rows;
        }
        panic!("row {row} of a result of {} rows", self.rows())
    }
}
