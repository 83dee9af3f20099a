//! The calls of Flight SQL: which work each of them is.
//!
//! One function a call, as the library's trait has them; all but the handshake come in as a role, which the guard has put
//! beside the request. What is left out answers "unimplemented": Substrait's plans and DoExchange.

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::*;
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightDescriptor,
    FlightInfo, HandshakeRequest, HandshakeResponse, Ticket,
};
use engine::{Error, SqlState};
use futures_util::{Stream, StreamExt};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use super::handles::new_id;
use super::query::whole;
use super::rows::Sent;
use super::shared::{Caller, Flight};
use super::status::{refused, status};
use super::{entrance, metadata, sessions};

type Answer<T> = Result<Response<T>, Status>;
type Rows = <Service as FlightService>::DoGetStream;

/// The action that cancels what a FlightInfo tells of.
const CANCEL_FLIGHT_INFO: &str = "CancelFlightInfo";

/// Numbers of Flight SQL's enumerations that the library does not name.
const SAVEPOINT_RELEASE: i32 = 1;
const SAVEPOINT_ROLLBACK: i32 = 2;
const QUERY_CANCELLED: i32 = 1;

/// The service of a server.
#[derive(Clone)]
pub struct Service(pub Arc<Flight>);

/// As whom a request has come in.
fn role<T>(request: &Request<T>) -> Result<Caller, Status> {
    let role = request.extensions().get::<Caller>().cloned();
    role.ok_or_else(|| refused(SqlState::InvalidAuthorization, "the request has come in as nobody"))
}

fn answer(sent: Sent) -> Answer<Rows> {
    Ok(Response::new(Box::pin(sent)))
}

impl Service {
    /// What is told of metadata, whose ticket is the command itself.
    fn metadata_info(
        &self,
        command: impl ProstMessageExt,
        schema: &arrow_schema::Schema,
        request: Request<FlightDescriptor>,
    ) -> Answer<FlightInfo> {
        role(&request)?;
        whole(schema, command.as_any().encode_to_vec(), request.into_inner()).map(Response::new)
    }

    /// Sends metadata.
    async fn metadata(&self, command: metadata::Metadata, request: Request<Ticket>) -> Answer<Rows> {
        answer(self.0.send_metadata(&role(&request)?, command).await?)
    }
}

/// A function of the trait for each kind of metadata: what it is told of by, and what its rows are.
macro_rules! metadata_calls {
    ($service:ident: $($info:ident, $get:ident, $command:ident;)*) => {
        #[tonic::async_trait]
        impl FlightSqlService for $service {
            type FlightService = Service;

            $(
                async fn $info(&self, command: $command, request: Request<FlightDescriptor>) -> Answer<FlightInfo> {
                    let schema = metadata::Metadata::from(command.clone()).schema();
                    self.metadata_info(command, &schema, request)
                }
                async fn $get(&self, command: $command, request: Request<Ticket>) -> Answer<Rows> {
                    self.metadata(command.into(), request).await
                }
            )*

            async fn do_handshake(
                &self,
                request: Request<Streaming<HandshakeRequest>>,
            ) -> Answer<Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>> {
                let (answer, metadata) = entrance::handshake(&self.0, request.metadata()).await?;
                let answers: Pin<Box<dyn Stream<Item = _> + Send>> =
                    Box::pin(futures_util::stream::iter([Ok(answer)]));
                let mut response = Response::new(answers);
                *response.metadata_mut() = metadata;
                Ok(response)
            }

            async fn get_flight_info_statement(
                &self,
                query: CommandStatementQuery,
                request: Request<FlightDescriptor>,
            ) -> Answer<FlightInfo> {
                let role = role(&request)?;
                let transaction = query.transaction_id.as_deref();
                self.0.statement_info(&role, query.query, transaction, request.into_inner()).await.map(Response::new)
            }

            async fn get_flight_info_prepared_statement(
                &self,
                query: CommandPreparedStatementQuery,
                request: Request<FlightDescriptor>,
            ) -> Answer<FlightInfo> {
                let role = role(&request)?;
                let handle = query.prepared_statement_handle;
                self.0.prepared_info(&role, &handle, request.into_inner()).await.map(Response::new)
            }

            async fn do_get_statement(&self, ticket: TicketStatementQuery, request: Request<Ticket>) -> Answer<Rows> {
                answer(self.0.redeem(&role(&request)?, &ticket.statement_handle).await?)
            }

            async fn do_get_prepared_statement(
                &self,
                query: CommandPreparedStatementQuery,
                request: Request<Ticket>,
            ) -> Answer<Rows> {
                let id = new_id().map_err(|error| status(&error, ""))?;
                answer(self.0.send_prepared(&role(&request)?, &query.prepared_statement_handle, id).await?)
            }

            async fn do_put_statement_update(
                &self,
                command: CommandStatementUpdate,
                request: Request<PeekableFlightDataStream>,
            ) -> Result<i64, Status> {
                self.0.update(&role(&request)?, command).await
            }

            async fn do_put_statement_ingest(
                &self,
                command: CommandStatementIngest,
                request: Request<PeekableFlightDataStream>,
            ) -> Result<i64, Status> {
                self.0.ingest(&role(&request)?, command, request.into_inner()).await
            }

            async fn do_put_prepared_statement_query(
                &self,
                query: CommandPreparedStatementQuery,
                request: Request<PeekableFlightDataStream>,
            ) -> Result<DoPutPreparedStatementResult, Status> {
                let handle = query.prepared_statement_handle;
                self.0.bind(&role(&request)?, &handle, request.into_inner()).await?;
                Ok(DoPutPreparedStatementResult { prepared_statement_handle: Some(handle) })
            }

            async fn do_put_prepared_statement_update(
                &self,
                command: CommandPreparedStatementUpdate,
                request: Request<PeekableFlightDataStream>,
            ) -> Result<i64, Status> {
                self.0.update_prepared(&role(&request)?, command, request.into_inner()).await
            }

            async fn do_action_create_prepared_statement(
                &self,
                query: ActionCreatePreparedStatementRequest,
                request: Request<Action>,
            ) -> Result<ActionCreatePreparedStatementResult, Status> {
                let transaction = query.transaction_id.as_deref();
                self.0.prepare(&role(&request)?, query.query, transaction).await
            }

            async fn do_action_close_prepared_statement(
                &self,
                query: ActionClosePreparedStatementRequest,
                request: Request<Action>,
            ) -> Result<(), Status> {
                self.0.handles.close_prepared(&role(&request)?.role, &query.prepared_statement_handle)
            }

            async fn do_action_begin_transaction(
                &self,
                _: ActionBeginTransactionRequest,
                request: Request<Action>,
            ) -> Result<ActionBeginTransactionResult, Status> {
                let id = self.0.begin(&role(&request)?).await?;
                Ok(ActionBeginTransactionResult { transaction_id: id.to_vec().into() })
            }

            async fn do_action_end_transaction(
                &self,
                query: ActionEndTransactionRequest,
                request: Request<Action>,
            ) -> Result<(), Status> {
                let role = role(&request)?;
                match EndTransaction::try_from(query.action) {
                    Ok(EndTransaction::Commit) => self.0.end(&role, &query.transaction_id, true).await,
                    Ok(EndTransaction::Rollback) => self.0.end(&role, &query.transaction_id, false).await,
                    _ => Err(refused(SqlState::ProtocolViolation, "a transaction is committed or rolled back")),
                }
            }

            async fn do_action_begin_savepoint(
                &self,
                query: ActionBeginSavepointRequest,
                request: Request<Action>,
            ) -> Result<ActionBeginSavepointResult, Status> {
                let own = new_id().map_err(|error| status(&error, ""))?;
                let text = format!("SAVEPOINT {}", savepoint_name(&own));
                self.0.savepoint(&role(&request)?, &query.transaction_id, text).await?;
                // Both parts have the same length.
                let savepoint_id = [&*query.transaction_id, &own].concat().into();
                Ok(ActionBeginSavepointResult { savepoint_id })
            }

            async fn do_action_end_savepoint(
                &self,
                query: ActionEndSavepointRequest,
                request: Request<Action>,
            ) -> Result<(), Status> {
                let (transaction, own) = query.savepoint_id.split_at(query.savepoint_id.len() / 2);
                let name = savepoint_name(own);
                let text = match query.action {
                    SAVEPOINT_RELEASE => format!("RELEASE SAVEPOINT {name}"),
                    SAVEPOINT_ROLLBACK => format!("ROLLBACK TO SAVEPOINT {name}"),
                    _ => return Err(refused(SqlState::ProtocolViolation, "a savepoint is released or rolled back to")),
                };
                self.0.savepoint(&role(&request)?, transaction, text).await
            }

            async fn do_action_cancel_query(
                &self,
                query: ActionCancelQueryRequest,
                request: Request<Action>,
            ) -> Result<ActionCancelQueryResult, Status> {
                let malformed = |_| refused(SqlState::ProtocolViolation, "what is to be cancelled is no FlightInfo");
                let info = FlightInfo::decode(&*query.info).map_err(malformed)?;
                self.0.cancel(&role(&request)?, &info)?;
                Ok(ActionCancelQueryResult { result: QUERY_CANCELLED })
            }

            async fn do_action_fallback(
                &self,
                request: Request<Action>,
            ) -> Answer<<Service as FlightService>::DoActionStream> {
                let role = role(&request)?;
                let action = request.into_inner();
                let answered = match action.r#type.as_str() {
                    sessions::SET => Some(self.0.set_options(&role, &action.body).await?),
                    sessions::GET => Some(self.0.get_options(&role).await?),
                    sessions::CLOSE => Some(self.0.close_session(&role)?),
                    _ => None,
                };
                if let Some((body, cookie)) = answered {
                    let body = arrow_flight::Result { body: body.into() };
                    let mut response = Response::new(futures_util::stream::iter([Ok(body)]).boxed());
                    if let Some(cookie) = cookie {
                        response.metadata_mut().insert("set-cookie", cookie);
                    }
                    return Ok(response);
                }
                if action.r#type != CANCEL_FLIGHT_INFO {
                    let error = Error::unsupported(format!("there is no action \"{}\"", action.r#type));
                    return Err(status(&error.with_hint("ListActions tells which there are"), ""));
                }
                let malformed = || refused(SqlState::ProtocolViolation, "what is to be cancelled is no FlightInfo");
                let asked = CancelFlightInfoRequest::decode(&*action.body).map_err(|_| malformed())?;
                self.0.cancel(&role, &asked.info.ok_or_else(malformed)?)?;
                let result = CancelFlightInfoResult { status: CancelStatus::Cancelled as i32 };
                let body = arrow_flight::Result { body: result.encode_to_vec().into() };
                Ok(Response::new(futures_util::stream::iter([Ok(body)]).boxed()))
            }

            async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
                let actions = [
                    (CANCEL_FLIGHT_INFO, "Cancels what a FlightInfo tells of."),
                    (sessions::SET, "Sets options that hold for calls with the cookie of the answer."),
                    (sessions::GET, "Tells the options of the session."),
                    (sessions::CLOSE, "Forgets the options of the session."),
                ];
                let told = |(name, told): (&str, &str)| {
                    Ok(ActionType { r#type: name.to_owned(), description: told.to_owned() })
                };
                Some(actions.into_iter().map(told).collect())
            }

            async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
        }
    };
}

fn savepoint_name(id: &[u8]) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"savepoint {digits}\"")
}

metadata_calls! { Service:
    get_flight_info_catalogs, do_get_catalogs, CommandGetCatalogs;
    get_flight_info_schemas, do_get_schemas, CommandGetDbSchemas;
    get_flight_info_tables, do_get_tables, CommandGetTables;
    get_flight_info_table_types, do_get_table_types, CommandGetTableTypes;
    get_flight_info_sql_info, do_get_sql_info, CommandGetSqlInfo;
    get_flight_info_primary_keys, do_get_primary_keys, CommandGetPrimaryKeys;
    get_flight_info_exported_keys, do_get_exported_keys, CommandGetExportedKeys;
    get_flight_info_imported_keys, do_get_imported_keys, CommandGetImportedKeys;
    get_flight_info_cross_reference, do_get_cross_reference, CommandGetCrossReference;
    get_flight_info_xdbc_type_info, do_get_xdbc_type_info, CommandGetXdbcTypeInfo;
}
