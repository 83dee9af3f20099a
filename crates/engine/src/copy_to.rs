//! COPY TO: a query's rows into a file, a folder of files, or to standard output.

use std::io::Write;

use formats::write::{WriteOptions, write_parallel, write_to};
use plan::LogicalQuery;
use types::{Error, Result, SqlState};

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    /// The rows are computed first and counted against the budget; then as many threads as there are workers encode
    /// them, and the file appears when it is whole.
    pub(crate) fn copy_to(
        &self,
        query: LogicalQuery,
        path: &str,
        options: &[(String, String)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let path = &*formats::at_home(path);
        let options = WriteOptions::parse(path, options)?;
        let result = self.run_query(query, relations)?;
        let threads = self.database.workers();
        write_to(path, result.schema(), result.batches(), &options, threads, &|| self.go_on())?;
        Ok(ResultSet::done(format!("COPY {}", result.rows())))
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
        let result = self.run_query(query, relations)?;
        let mut out = self.standard.output()?;
        let threads = self.database.workers();
        let failed =
            |e: std::io::Error| Error::new(SqlState::IoError, format!("cannot write standard output: {e}"));
        write_parallel(&options, result.schema(), result.batches(), &mut out, threads, &|| self.go_on())?;
        out.flush().map_err(failed)?;
        Ok(ResultSet::done(format!("COPY {}", result.rows())))
    }
}
