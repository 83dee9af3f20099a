//! Queries: GetFlightInfo, which tells a query's columns or runs what is none, and DoGet, which sends rows.
//!
//! A ticket is a [`Redeemed`]: a query's text, a prepared statement's identifier, or that of rows that wait. It holds no
//! rights: whoever redeems it comes in as a role, and runs it as that role. The schema of a FlightInfo is always that of
//! its rows. Rows are opened on the session, in the line of its transaction, and sent by a job beside it, which owns
//! whatever the stream needs and gives it back at its end. Called by the [`service`](super::service).

use std::sync::Arc;

use arrow_flight::sql::{ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use arrow_schema::{Schema, SchemaRef};
use engine::{ArrowStream, Error, Result, Session, SqlState, Type};
use prost::Message;
use tonic::Status;

use super::encode::{Encoder, sent_schema};
use super::handles::{Id, Prepared, id_of, new_id};
use super::parameters;
use super::rows::{Rows, Sent};
use super::shared::{Caller, Flight};
use super::status::{refused, status};
use crate::http::jobs::CancelOnDrop;

/// What a ticket says. It is of no use without the role's token.
#[derive(Clone, PartialEq, Message)]
pub struct Redeemed {
    /// By which it is cancelled.
    #[prost(bytes = "vec", tag = "1")]
    pub id: Vec<u8>,
    /// The query to run.
    #[prost(string, tag = "2")]
    pub sql: String,
    /// In which transaction.
    #[prost(bytes = "vec", tag = "3")]
    pub transaction: Vec<u8>,
    /// A prepared statement to run instead.
    #[prost(bytes = "vec", tag = "4")]
    pub prepared: Vec<u8>,
    /// The statement has run, and its rows wait.
    #[prost(bool, tag = "5")]
    pub held: bool,
}

/// A statement, before it runs or after.
enum Begun {
    /// A query, with its columns.
    Described(SchemaRef),
    /// It has run.
    Ran { id: Id, schema: SchemaRef },
}

/// Whether a text has several statements, which run as one script.
pub fn is_script(sql: &str) -> bool {
    syntax::parse_script(sql).statements.len() > 1
}

fn nothing() -> SchemaRef {
    Arc::new(Schema::empty())
}

/// What is sent of these columns, in this session's zone.
pub fn sent_columns(columns: &engine::Schema, session: &Session) -> SchemaRef {
    sent_schema(&vector::arrow::arrow_schema_in(columns, session.time_zone()))
}

impl Flight {
    /// Tells of a statement; runs it, if it is no query.
    pub async fn statement_info(
        &self,
        caller: &Caller,
        sql: String,
        transaction: Option<&[u8]>,
        descriptor: FlightDescriptor,
    ) -> std::result::Result<FlightInfo, Status> {
        let place = self.place(caller, transaction)?;
        let (text, handles, name) = (sql.clone(), self.handles.clone(), caller.role.clone());
        let begun = self.run(&place, &sql, move |session| {
            if !is_script(&text) {
                let prepared = session.prepare(&text, &[])?;
                if !prepared.parameters().is_empty() {
                    let error = Error::new(
                        SqlState::UndefinedParameter,
                        "the statement has parameters without values",
                    );
                    return Err(error.with_hint("prepare it and bind values"));
                }
                if let ("SELECT", Some(columns)) = (prepared.verb(), prepared.columns()) {
                    return Ok(Begun::Described(sent_columns(columns, session)));
                }
            }
            let mut rows = session.stream_arrow(&text)?;
            let schema = sent_schema(&arrow_array::RecordBatchReader::schema(&rows));
            let rows = match schema.fields().is_empty() {
                true => {
                    while rows.next_record_batch()?.is_some() {}
                    None
                }
                false => Some(rows),
            };
            Ok(Begun::Ran { id: handles.hold(&name, rows)?, schema })
        });
        let (id, schema, ticket) = match begun.await? {
            Begun::Described(schema) => {
                let id = new_id().map_err(|error| status(&error, ""))?;
                let transaction = place.transaction.map_or_else(Vec::new, Vec::from);
                (id, schema, Redeemed { sql, transaction, ..Redeemed::default() })
            }
            Begun::Ran { id, schema } => (id, schema, Redeemed { held: true, ..Redeemed::default() }),
        };
        info(&schema, ticket, id, descriptor)
    }

    /// Tells of a prepared statement; runs it, if it is no query.
    pub async fn prepared_info(
        &self,
        caller: &Caller,
        handle: &[u8],
        descriptor: FlightDescriptor,
    ) -> std::result::Result<FlightInfo, Status> {
        let prepared = self.handles.prepared(&caller.role, handle)?;
        let transaction = prepared.transaction.map(Vec::from);
        let place = self.place(caller, transaction.as_deref())?;
        let (sql, bound) = (prepared.sql.clone(), prepared.clone());
        let (handles, name) = (self.handles.clone(), caller.role.clone());
        let begun = self.run(&place, &sql, move |session| {
            if bound.is_query {
                return described(session, &bound).map(Begun::Described);
            }
            let mut rows = Source::of(session, &bound)?;
            let schema = rows.schema();
            if schema.fields().is_empty() {
                rows.each(session, |_| Ok(()))?;
                return Ok(Begun::Ran { id: handles.hold(&name, None)?, schema });
            }
            if rows.waiting() {
                let message = "a statement with RETURNING is run with one row of parameters at a time";
                return Err(Error::unsupported(message));
            }
            Ok(Begun::Ran { id: handles.hold(&name, rows.into_first())?, schema })
        });
        let (id, schema, ticket) = match begun.await? {
            Begun::Described(schema) => {
                let id = new_id().map_err(|error| status(&error, ""))?;
                (id, schema, Redeemed { prepared: handle.to_vec(), ..Redeemed::default() })
            }
            Begun::Ran { id, schema } => (id, schema, Redeemed { held: true, ..Redeemed::default() }),
        };
        info(&schema, ticket, id, descriptor)
    }

    /// Redeems a ticket.
    pub async fn redeem(&self, caller: &Caller, handle: &[u8]) -> std::result::Result<Sent, Status> {
        let malformed = |_| refused(SqlState::ProtocolViolation, "this is no ticket of this server");
        let ticket = Redeemed::decode(handle).map_err(malformed)?;
        let id = id_of(&ticket.id)?;
        if ticket.held {
            let rows = self.handles.take_held(&caller.role, id).ok_or_else(|| {
                refused(
                    SqlState::InvalidCursorState,
                    "the rows have been fetched before, or have waited for too long",
                )
            })?;
            return self
                .send(caller, None, id, "", move |_| Ok(rows.map_or(Source::Nothing, Source::one)))
                .await;
        }
        if !ticket.prepared.is_empty() {
            return self.send_prepared(caller, &ticket.prepared, id).await;
        }
        let sql = ticket.sql.clone();
        let transaction = Some(ticket.transaction.as_slice());
        self.send(caller, transaction, id, &ticket.sql, move |session| {
            session.stream_arrow(&sql).map(Source::one)
        })
        .await
    }

    /// Runs a prepared statement with the values that were bound, and sends its rows.
    pub async fn send_prepared(
        &self,
        caller: &Caller,
        handle: &[u8],
        id: Id,
    ) -> std::result::Result<Sent, Status> {
        let prepared = self.handles.prepared(&caller.role, handle)?;
        let transaction = prepared.transaction.map(Vec::from);
        let sql = prepared.sql.clone();
        self.send(caller, transaction.as_deref(), id, &sql, move |session| Source::of(session, &prepared))
            .await
    }

    /// Opens rows on a session, and sends them from a job of its own.
    async fn send(
        &self,
        caller: &Caller,
        transaction: Option<&[u8]>,
        id: Id,
        sql: &str,
        open: impl FnOnce(&Arc<Session>) -> Result<Source> + Send + 'static,
    ) -> std::result::Result<Sent, Status> {
        let place = self.place(caller, transaction)?;
        let stream = self.stream_place()?;
        let running =
            self.handles.begin(&caller.role, id, &place.cancel).map_err(|error| status(&error, sql))?;
        let (source, session) = self
            .run(&place, sql, move |session| {
                let source = open(session)?;
                Ok((source, session.clone()))
            })
            .await?;
        let executor = self.http.server.executor.clone();
        let (rows, sent) = Rows::new(executor.clone(), self.runtime.clone(), &place.cancel);
        let sql = sql.to_owned();
        let job = move || {
            let (_kept, mut source) = ((running, stream), source);
            let mut encoder = Encoder::new(source.schema());
            let outcome = rows.send(encoder.schema()).and_then(|()| {
                source.each(&session, |batch| encoder.each(batch, |message| rows.send(message)))
            });
            drop(source);
            rows.end(outcome, &sql);
        };
        // It was let in when it was opened.
        let guard = CancelOnDrop::new(&place.cancel);
        if executor.submit(true, Box::new(job)).is_err() {
            return Err(refused(
                SqlState::ConfigurationLimitExceeded,
                "too many statements wait to be executed",
            ));
        }
        guard.disarm();
        Ok(sent)
    }

    /// Cancels what a ticket's holder was told of; true when it ran.
    pub fn cancel(&self, caller: &Caller, info: &FlightInfo) -> std::result::Result<bool, Status> {
        let malformed = || refused(SqlState::ProtocolViolation, "this tells of no query of this server");
        let mut found = false;
        for ticket in info.endpoint.iter().filter_map(|endpoint| endpoint.ticket.as_ref()) {
            let any = arrow_flight::sql::Any::decode(&*ticket.ticket).map_err(|_| malformed())?;
            let query: TicketStatementQuery = any.unpack().ok().flatten().ok_or_else(malformed)?;
            let ticket = Redeemed::decode(&*query.statement_handle).map_err(|_| malformed())?;
            found |= self.handles.cancel(&caller.role, id_of(&ticket.id)?);
        }
        Ok(found)
    }
}

/// The columns of a prepared query, with the types that the bound values have.
fn described(session: &Arc<Session>, prepared: &Prepared) -> Result<SchemaRef> {
    let types = prepared.bound_types()?;
    let declared: Vec<Option<Type>> = types.into_iter().map(Some).collect();
    let now = session.prepare(&prepared.sql, &declared)?;
    Ok(now.columns().map_or_else(nothing, |columns| sent_columns(columns, session)))
}

fn info(
    schema: &Schema,
    ticket: Redeemed,
    id: Id,
    descriptor: FlightDescriptor,
) -> std::result::Result<FlightInfo, Status> {
    let ticket = Redeemed { id: id.to_vec(), ..ticket };
    let query = TicketStatementQuery { statement_handle: ticket.encode_to_vec().into() };
    whole(schema, query.as_any().encode_to_vec(), descriptor)
}

/// What is told of rows that one ticket gives, all of them, in their order.
pub fn whole(
    schema: &Schema,
    ticket: Vec<u8>,
    descriptor: FlightDescriptor,
) -> std::result::Result<FlightInfo, Status> {
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| refused(SqlState::Internal, format!("a schema cannot be sent: {error}")))?;
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    Ok(info
        .with_endpoint(endpoint)
        .with_descriptor(descriptor)
        .with_ordered(true)
        .with_total_records(-1)
        .with_total_bytes(-1))
}

/// Rows of a statement: of one run, or of several with one row of parameters each.
// There is one for each query that runs, and it does not move.
#[expect(clippy::large_enum_variant)]
pub enum Source {
    /// None, and no columns.
    Nothing,
    /// Of a run that is under way, and of those that come after it.
    Runs {
        /// The rows.
        first: ArrowStream,
        /// The text of the others.
        sql: String,
        /// Their values.
        rest: parameters::Runs,
    },
}

impl Source {
    /// Of one run.
    pub fn one(rows: ArrowStream) -> Source {
        Source::Runs { first: rows, sql: String::new(), rest: parameters::Runs::none() }
    }

    /// Runs a prepared statement for each row of its values, or once where it has no parameters.
    pub fn of(session: &Arc<Session>, prepared: &Prepared) -> Result<Source> {
        let mut rest = parameters::Runs::of(prepared)?;
        let Some(values) = rest.next(session)? else { return Ok(Source::Nothing) };
        let first = session.stream_arrow_with(&prepared.sql, &values)?;
        Ok(Source::Runs { first, sql: prepared.sql.clone(), rest })
    }

    /// As they are sent.
    pub fn schema(&self) -> SchemaRef {
        match self {
            Source::Nothing => nothing(),
            Source::Runs { first, .. } => sent_schema(&arrow_array::RecordBatchReader::schema(first)),
        }
    }

    /// Whether there are further runs.
    pub fn waiting(&self) -> bool {
        matches!(self, Source::Runs { rest, .. } if !rest.is_empty())
    }

    /// The rows of the run that is under way.
    pub fn into_first(self) -> Option<ArrowStream> {
        match self {
            Source::Nothing => None,
            Source::Runs { first, .. } => Some(first),
        }
    }

    /// Hands on all rows.
    pub fn each(
        &mut self,
        session: &Arc<Session>,
        mut each: impl FnMut(&arrow_array::RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let Source::Runs { first, sql, rest } = self else { return Ok(()) };
        loop {
            while let Some(batch) = first.next_record_batch()? {
                each(&batch)?;
            }
            let Some(values) = rest.next(session)? else { return Ok(()) };
            *first = session.stream_arrow_with(sql, &values)?;
        }
    }
}
