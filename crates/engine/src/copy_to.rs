//! COPY TO: a query's rows into a file, or a folder of files.

use formats::write::{WriteOptions, write_to};
use plan::LogicalQuery;
use types::Result;

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
}
