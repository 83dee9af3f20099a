//! Statements that change something, prepared statements, transactions and savepoints.
//!
//! What comes in several rows is done for all of them or, after an error or a client that leaves, for none ([`Whole`]): by
//! a transaction, or inside of one by a savepoint. Rows for an INSERT of parameters alone are gathered and inserted by
//! their columns ([`Inserter`]), so that memory is bounded by a part of them. Called by the [`service`](super::service) and
//! by [`ingest`](super::ingest).

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_flight::sql::{
    ActionCreatePreparedStatementResult, CommandPreparedStatementUpdate, CommandStatementUpdate,
};
use arrow_flight::{FlightData, IpcMessage, SchemaAsIpc};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::Schema;
use engine::{BulkInsert, Error, Result, ResultSet, Session, SqlState, TransactionStatus};
use futures_util::Stream;
use tonic::Status;
use types::zone;

use super::handles::{Id, Prepared, id_of};
use super::parameters;
use super::puts::{Puts, parameter_schema};
use super::query::is_script;
use super::shared::{Caller, Flight, Place};
use super::status::refused;

/// Bytes of the values that are bound to a statement until it runs.
const BOUND_BYTES_MAX: usize = 64 << 20;
/// Rows that are inserted at a time.
const ROWS_AT_ONCE: usize = 1 << 16;
/// Bytes of rows that are inserted at a time.
const BYTES_AT_ONCE: usize = 16 << 20;

/// Rows that statements have changed, as their tags say.
pub fn affected(result: &ResultSet) -> i64 {
    result.tag().rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

/// A part of a transaction, or one of its own: kept as a whole or not at all.
pub struct Whole<'s> {
    session: &'s Session,
    /// There was a block.
    inside: bool,
    open: bool,
}

const SAVEPOINT: &str = "\"a call of Flight\"";

impl<'s> Whole<'s> {
    /// Begins it.
    pub fn begin(session: &'s Session) -> Result<Whole<'s>> {
        let inside = session.transaction_status() != TransactionStatus::Idle;
        match inside {
            true => session.execute(&format!("SAVEPOINT {SAVEPOINT}"))?,
            false => session.execute("BEGIN")?,
        };
        Ok(Whole { session, inside, open: true })
    }

    /// Keeps what was done.
    pub fn keep(mut self) -> Result<()> {
        match self.inside {
            true => self.session.execute(&format!("RELEASE SAVEPOINT {SAVEPOINT}"))?,
            false => self.session.execute("COMMIT")?,
        };
        self.open = false;
        Ok(())
    }
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        // A signal that has ended what was done must not end this, too; what cannot be taken back ends with its session.
        self.session.set_tick(|| ControlFlow::Continue(()));
        _ = match self.inside {
            true => self
                .session
                .execute(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}; RELEASE SAVEPOINT {SAVEPOINT}")),
            false => self.session.execute("ROLLBACK"),
        };
    }
}

/// Gathers batches of one schema, so that each INSERT has many rows.
pub struct Inserter<'s> {
    session: &'s Session,
    insert: BulkInsert,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    /// Rows that were inserted before.
    before: u64,
    affected: u64,
}

impl<'s> Inserter<'s> {
    /// By this INSERT.
    pub fn new(session: &'s Session, insert: BulkInsert) -> Inserter<'s> {
        Inserter { session, insert, batches: vec![], rows: 0, bytes: 0, before: 0, affected: 0 }
    }

    /// Adds rows, whose columns go into the INSERT's by their places.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.insert.renamed(batch)?;
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
        match self.rows >= ROWS_AT_ONCE || self.bytes >= BYTES_AT_ONCE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        self.affected += self.insert.insert(self.session, &batches, self.before + 1)?;
        self.before += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Inserts what is left; returns the rows of all.
    pub fn finish(mut self) -> Result<i64> {
        self.flush()?;
        Ok(i64::try_from(self.affected).unwrap_or(i64::MAX))
    }
}

/// A schema as bytes of an answer.
fn schema_bytes(schema: &Schema) -> std::result::Result<bytes::Bytes, Status> {
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &IpcWriteOptions::default()));
    let IpcMessage(bytes) =
        message.map_err(|error| refused(SqlState::Internal, format!("a schema cannot be sent: {error}")))?;
    Ok(bytes)
}

impl Flight {
    /// Runs a statement, or several as one transaction; gives the rows that the last one has changed.
    pub async fn update(
        &self,
        caller: &Caller,
        command: CommandStatementUpdate,
    ) -> std::result::Result<i64, Status> {
        let place = self.place(caller, command.transaction_id.as_deref())?;
        let sql = command.query.clone();
        self.run(&place, &command.query, move |session| {
            let mut rows = 0;
            session.execute_each(&sql, |result| Ok(rows = affected(&result)))?;
            Ok(rows)
        })
        .await
    }

    /// Prepares a statement.
    pub async fn prepare(
        &self,
        caller: &Caller,
        sql: String,
        transaction: Option<&[u8]>,
    ) -> std::result::Result<ActionCreatePreparedStatementResult, Status> {
        let place = self.place(caller, transaction)?;
        let (text, transaction) = (sql.clone(), place.transaction);
        let prepared = self
            .run(&place, &sql, move |session| {
                if is_script(&text) {
                    // It runs as a whole, without parameters.
                    return Ok((script(text, transaction), None));
                }
                let statement = session.prepare(&text, &[])?;
                let columns = statement.columns().map(|columns| super::query::sent_columns(columns, session));
                let prepared = Prepared {
                    sql: statement.text().to_owned(),
                    parameters: statement.parameters().to_vec(),
                    parameter_names: statement.parameter_names().to_vec(),
                    is_query: statement.verb() == "SELECT" && columns.is_some(),
                    transaction,
                    values: Mutex::default(),
                };
                Ok((prepared, columns))
            })
            .await?;
        let (prepared, columns) = prepared;
        let dataset_schema =
            columns.map_or_else(|| Ok(bytes::Bytes::new()), |columns| schema_bytes(&columns))?;
        let parameters = parameter_schema(&prepared.parameter_names, &prepared.parameters);
        let parameter_schema = schema_bytes(&parameters)?;
        let id = self.handles.add_prepared(&caller.role, prepared);
        let id = id.map_err(|error| super::status::status(&error, ""))?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: id.to_vec().into(),
            dataset_schema,
            parameter_schema,
        })
    }

    /// Binds values to a prepared statement's parameters, in the place of those that were bound before.
    pub async fn bind(
        &self,
        caller: &Caller,
        handle: &[u8],
        messages: impl Stream<Item = std::result::Result<FlightData, Status>> + Unpin,
    ) -> std::result::Result<(), Status> {
        let prepared = self.handles.prepared(&caller.role, handle)?;
        let sql = prepared.sql.clone();
        self.put(&self.place(caller, None)?, &sql, messages, move |_, puts| {
            let (mut batches, mut bytes) = (Vec::new(), 0);
            while let Some(batch) = puts.next()? {
                bytes += batch.get_array_memory_size();
                if bytes > BOUND_BYTES_MAX {
                    let message = "the values for a statement's parameters are larger than 64 MB";
                    let error = Error::new(SqlState::ConfigurationLimitExceeded, message);
                    return Err(
                        error.with_hint("run an INSERT as an update, or ingest the rows into a table")
                    );
                }
                parameters::check(&prepared, Some(&batch))?;
                batches.push(batch);
            }
            *prepared.values.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = batches;
            Ok(())
        })
        .await
    }

    /// Runs a prepared statement for each row of values that come with the call, or of those that were bound: all of
    /// them, or after an error none.
    pub async fn update_prepared(
        &self,
        caller: &Caller,
        command: CommandPreparedStatementUpdate,
        messages: impl Stream<Item = std::result::Result<FlightData, Status>> + Unpin,
    ) -> std::result::Result<i64, Status> {
        let prepared = self.handles.prepared(&caller.role, &command.prepared_statement_handle)?;
        let transaction = prepared.transaction.map(Vec::from);
        let place = self.place(caller, transaction.as_deref())?;
        let sql = prepared.sql.clone();
        self.put(&place, &sql, messages, move |session, puts| {
            let first = match puts.next()? {
                Some(batch) => Some(batch),
                None if prepared.parameters.is_empty() => return execute(session, &prepared.sql, &[]),
                None => None,
            };
            run_each(session, &prepared, first, puts)
        })
        .await
    }

    /// Runs work that reads what a client sends.
    pub(super) async fn put<T: Send + 'static>(
        &self,
        place: &Place,
        sql: &str,
        messages: impl Stream<Item = std::result::Result<FlightData, Status>> + Unpin,
        work: impl FnOnce(&Arc<Session>, &mut Puts) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let stream = self.stream_place()?;
        let (feed, mut puts) = Puts::new(self.http.server.executor.clone());
        let done = self.run(place, sql, move |session| {
            let _stream = stream;
            work(session, &mut puts)
        });
        let (mut done, mut fed) = (std::pin::pin!(done), std::pin::pin!(feed.all(messages)));
        tokio::select! {
            outcome = &mut done => outcome,
            // With an error the job is dropped, which cancels it; its end sees that there is no more.
            fed = &mut fed => {
                fed?;
                done.await
            }
        }
    }

    /// Begins a transaction.
    pub async fn begin(&self, caller: &Caller) -> std::result::Result<Id, Status> {
        let place = self.place(caller, None)?;
        self.run(&place, "", |session| session.execute("BEGIN").map(drop)).await?;
        let id = self.handles.add_transaction(&caller.role, place.connection);
        id.map_err(|error| super::status::status(&error, ""))
    }

    /// Ends a transaction. One that has failed cannot be kept, which is told.
    pub async fn end(&self, caller: &Caller, id: &[u8], commit: bool) -> std::result::Result<(), Status> {
        let id = id_of(id)?;
        let mut place = self.place(caller, Some(&id))?;
        place.connection = self.handles.end_transaction(&caller.role, id)?;
        let ended = self.run(&place, "", move |session| {
            let failed = session.transaction_status() == TransactionStatus::Failed;
            session.execute(if commit { "COMMIT" } else { "ROLLBACK" })?;
            match commit && failed {
                true => {
                    let message = "the transaction has failed before, and was rolled back";
                    Err(Error::new(SqlState::InFailedTransaction, message))
                }
                false => Ok(()),
            }
        });
        let ended = ended.await;
        // Its session is let go of where that may take its time.
        let connection = place.connection;
        _ = self.http.server.openings.submit(true, Box::new(move || drop(connection)));
        ended
    }

    /// Runs a statement about a savepoint in a transaction.
    pub async fn savepoint(
        &self,
        caller: &Caller,
        id: &[u8],
        text: String,
    ) -> std::result::Result<(), Status> {
        let place = self.place(caller, Some(id))?;
        self.run(&place, "", move |session| session.execute(&text).map(drop)).await
    }
}

fn script(sql: String, transaction: Option<Id>) -> Prepared {
    Prepared {
        sql,
        parameters: vec![],
        parameter_names: vec![],
        is_query: false,
        transaction,
        values: Mutex::default(),
    }
}

fn execute(session: &Session, sql: &str, values: &[(engine::Value, engine::Type)]) -> Result<i64> {
    match values.is_empty() {
        true => {
            let mut rows = 0;
            session.execute_each(sql, |result| Ok(rows = affected(&result)))?;
            Ok(rows)
        }
        false => session.query_prepared(sql, values).map(|result| affected(&result)),
    }
}

/// Runs a statement for each row of the values that come, or of those that were bound before.
fn run_each(
    session: &Arc<Session>,
    prepared: &Prepared,
    first: Option<RecordBatch>,
    puts: &mut Puts,
) -> Result<i64> {
    let bound = if first.is_some() { vec![] } else { prepared.bound() };
    let mut bound = bound.into_iter();
    let mut first = first.or_else(|| bound.next());
    let mut next = || match first.take() {
        Some(batch) => Ok(Some(batch)),
        None => bound.next().map_or_else(|| puts.next(), |batch| Ok(Some(batch))),
    };
    let whole = Whole::begin(session)?;
    let in_order = BulkInsert::of_statement(session, &prepared.sql)?.filter(|insert| {
        let columns = insert.columns().iter().enumerate();
        columns.clone().count() == prepared.parameters.len()
            && columns.into_iter().all(|(at, column)| column.is_parameter(at + 1))
    });
    let rows = match in_order {
        // Rows of parameters and nothing else are inserted as they lie.
        Some(insert) => {
            let mut inserter = Inserter::new(session, insert);
            while let Some(batch) = next()? {
                parameters::check(prepared, Some(&batch))?;
                inserter.add(&batch)?;
            }
            inserter.finish()?
        }
        None => {
            let mut rows = 0;
            while let Some(batch) = next()? {
                parameters::check(prepared, Some(&batch))?;
                for row in 0..batch.num_rows() {
                    let values = zone::within(session.time_zone(), || parameters::of_row(&batch, row))?;
                    rows += execute(session, &prepared.sql, &values)?;
                }
            }
            rows
        }
    };
    whole.keep()?;
    Ok(rows)
}
