//! COPY TO: a query's rows into a file, a folder of files, or to standard output.
//!
//! Rows are written while the query computes them: a stream (`stream`) hands them on as there is room, as many
//! threads as there are workers encode pieces of them, and no more than a share of the memory limit waits in between.
//! So a file may be larger than memory. A file appears when it is whole.

use std::io::Write;

use formats::write::{WriteOptions, write_parallel, write_to};
use plan::LogicalQuery;
use types::{Error, Result, SqlState};

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    /// COPY ... TO a file: runs the query and writes its rows as they come, in the format of the options or of the
    /// path.
    pub(crate) fn copy_to(
        &self,
        query: LogicalQuery,
        path: &str,
        options: &[(String, String)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let path = &*formats::at_home(path);
        let options = WriteOptions::parse(path, options)?;
        self.written(query, options, relations, |schema, options, rows, threads| {
            write_to(&self.environment(), path, schema, rows, options, threads, &|| self.go_on())
        })
    }

    /// As `copy_to`, to the host's standard output: CSV unless something else is said.
    pub(crate) fn copy_to_output(
        &self,
        query: LogicalQuery,
        options: &[(String, String)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let options = WriteOptions::parse("standard output.csv", options)?;
        if !options.partition_by.is_empty() {
            let error = Error::new(SqlState::InvalidParameterValue, "standard output has no folders");
            return Err(error.with_hint("PARTITION_BY is for COPY TO 'folder'"));
        }
        let mut out = self.standard.output(self.environment().capability())?;
        let failed =
            |e: std::io::Error| Error::new(SqlState::IoError, format!("cannot write standard output: {e}"));
        self.written(query, options, relations, |schema, options, rows, threads| {
            write_parallel(options, schema, rows, &mut out, threads, &|| self.go_on())?;
            out.flush().map_err(failed)
        })
    }

    /// Runs the query and has its rows written.
    fn written(
        &self,
        query: LogicalQuery,
        options: WriteOptions,
        relations: &SessionRelations,
        write: impl FnOnce(&types::Schema, &WriteOptions, &mut formats::write::NextBatch<'_>, usize) -> Result<()>,
    ) -> Result<ResultSet> {
        let threads = self.database.workers();
        let options = options.within(self.database.memory_limit(), threads);
        let mut stream = self.rows_of(query, relations)?;
        let schema = stream.schema().clone();
        let mut count = 0u64;
        let mut next = || {
            let batch = stream.next_batch()?;
            count += batch.as_ref().map_or(0, |batch| batch.rows as u64);
            Ok(batch)
        };
        write(&schema, &options, &mut next, threads)?;
        Ok(ResultSet::done(format!("COPY {count}")))
    }
}
