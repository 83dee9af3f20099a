//! Opening the database that the command line names.

use engine::Database;

use crate::arguments::EngineArguments;
use crate::failed::Failed;

/// Opens the database that the command line names; one in memory without a name.
pub fn open(path: Option<&str>, engine: &EngineArguments) -> Result<Database, Failed> {
    let options = engine.options()?;
    match path {
        None | Some("" | ":memory:") => Ok(Database::in_memory(options)?),
        Some(path) => {
            let (database, report) = Database::on_disk(path, options)?;
            tell(&report);
            Ok(database)
        }
    }
}

/// What the user should know of how the database was found.
fn tell(report: &engine::OpenReport) {
    for (log, at, bytes) in &report.torn {
        eprintln!(
            "note: {log} ended in a record that was not finished; {bytes} bytes from byte {at} on were cut off"
        );
    }
    for damaged in &report.damaged {
        let (schema, table) = (&damaged.schema, &damaged.name);
        eprintln!("warning: table {schema}.{table} cannot be read: {}", damaged.error.message());
    }
}
