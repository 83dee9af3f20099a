//! Bulk ingest: the rows of a stream into a table that is there or is made, as a whole or not at all.
//!
//! Columns go by their names. Rows are inserted as they come, in parts of some ten thousand, so that memory is bounded and
//! no worker waits for the client; all parts, and the table where it is made or replaced, are one transaction, or a part
//! of the one that the call names.

use std::sync::Arc;

use arrow_flight::FlightData;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use arrow_schema::SchemaRef;
use engine::{BulkInsert, Error, Result, Session, SqlState};
use futures_util::Stream;
use tonic::Status;
use types::quote;

use super::puts::Puts;
use super::shared::{Caller, Flight};
use super::update::{Inserter, Whole};

/// What is done about the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Table {
    /// Made, where it is not there.
    create: bool,
    exists: TableExistsOption,
}

impl Flight {
    /// Takes the rows of a client into a table; gives their number.
    pub async fn ingest(
        &self,
        caller: &Caller,
        command: CommandStatementIngest,
        messages: impl Stream<Item = std::result::Result<FlightData, Status>> + Unpin,
    ) -> std::result::Result<i64, Status> {
        let place = self.place(caller, command.transaction_id.as_deref())?;
        if place.transaction.is_none() && command.temporary {
            let error =
                Error::unsupported("a temporary table ends with its session, which is the call's own here");
            return Err(super::status::status(&error.with_hint("ingest it in a transaction"), ""));
        }
        self.put(&place, "", messages, move |session, puts| ingest(session, &command, puts)).await
    }
}

/// What the options say, which are unspecified where an older client sends none.
fn table_of(command: &CommandStatementIngest) -> Result<Table> {
    let options = command.table_definition_options.unwrap_or_default();
    let unknown = |_| Error::new(SqlState::ProtocolViolation, "the options for the table are unknown");
    let create =
        TableNotExistOption::try_from(options.if_not_exist).map_err(unknown)? == TableNotExistOption::Create;
    let exists = TableExistsOption::try_from(options.if_exists).map_err(unknown)?;
    Ok(Table { create, exists })
}

fn ingest(session: &Arc<Session>, command: &CommandStatementIngest, puts: &mut Puts) -> Result<i64> {
    let table = table_of(command)?;
    if let Some(catalog) = command.catalog.as_deref().filter(|catalog| !catalog.is_empty())
        && catalog != session.database().name()
    {
        let message = format!("there is no catalog \"{catalog}\"");
        return Err(Error::new(SqlState::UndefinedDatabase, message));
    }
    if let Some((option, _)) = command.options.iter().next() {
        return Err(Error::unsupported(format!("there is no option \"{option}\" for ingesting")));
    }
    let Some(schema) = puts.schema()? else {
        return Err(Error::new(SqlState::ProtocolViolation, "there is neither a schema nor a row to ingest"));
    };
    let own = quote::name(&command.table);
    let name = match command.schema.as_deref().filter(|name| !name.is_empty()) {
        Some(schema) if !command.temporary => format!("{}.{own}", quote::name(schema)),
        _ => own,
    };
    let whole = Whole::begin(session)?;
    define(session, &name, table, command.temporary, &schema)?;
    let columns: Vec<String> = schema.fields().iter().map(|field| quote::name(field.name())).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let insert = BulkInsert::into_table(session, &name, &columns)?;
    let mut inserter = Inserter::new(session, insert);
    while let Some(batch) = puts.next()? {
        inserter.add(&batch)?;
    }
    let rows = inserter.finish()?;
    whole.keep()?;
    Ok(rows)
}

/// Sees to it that the table is there.
fn define(
    session: &Arc<Session>,
    name: &str,
    table: Table,
    temporary: bool,
    schema: &SchemaRef,
) -> Result<()> {
    let exists = match session.columns_to_insert(name, &[]) {
        Ok(_) => true,
        Err(error) if error.state() == SqlState::UndefinedTable => false,
        Err(error) => return Err(error),
    };
    match (exists, table.create, table.exists) {
        (true, _, TableExistsOption::Append) | (true, false, TableExistsOption::Unspecified) => return Ok(()),
        (true, _, TableExistsOption::Replace) => {
            session.execute(&format!("DROP TABLE {name}"))?;
        }
        (true, ..) => {
            let error = Error::new(SqlState::DuplicateTable, format!("the table {name} exists"));
            return Err(error.with_hint("append to it, or replace it"));
        }
        (false, false, _) => {
            let error = Error::new(SqlState::UndefinedTable, format!("the table {name} does not exist"));
            return Err(error.with_hint("have it made"));
        }
        (false, true, _) => {}
    }
    let source = "columns of the table to make";
    session.register(source, schema.clone(), vec![]);
    let kind = if temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let made =
        session.execute(&format!("CREATE {kind} {name} AS SELECT * FROM {} LIMIT 0", quote::name(source)));
    session.unregister(source);
    made.map(drop)
}
