//! Arrow Flight SQL: gRPC beside HTTP, on the same port.
//!
//! ```text
//!  a gRPC request --> entrance (Host, Origin, token) --> service (which call it is) --> query, update, ingest, metadata
//!                                                                                          |  jobs on the executor
//!                                                       rows --> encode --> rows::Sent <---+
//!                                                       puts <-- batches that a client sends
//! ```
//! * Calls are independent of the connection that they come on: what lasts has an identifier ([`handles`]). A call runs on
//!   a session of its own, or on its transaction's, whose calls run one after the other.
//! * A query runs when its rows are fetched, and its ticket holds its text: nothing is kept for tickets that nobody
//!   redeems. Any other statement runs when its FlightInfo is asked for, and its rows, if it gives some, wait.
//! * Rows of a transaction's query are computed beside the transaction's further statements: a client that reads slowly, or
//!   two cursors at a time, keep nobody waiting.
//! * Row policies, privileges, limits and what files may be opened are those of the role's session, as at the other
//!   entrances.
//!
//! Called by [`http`](super); statements run through [`jobs`](super::jobs) and [`connections`](super::connections).

mod encode;
mod entrance;
mod handles;
mod ingest;
mod metadata;
mod parameters;
mod polling;
mod puts;
mod query;
mod rows;
mod service;
mod sessions;
mod shared;
mod status;
mod tokens;
mod update;

use std::sync::{Arc, Weak};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::Router;
use axum::middleware;

use super::Http;
use shared::Flight;

/// Bytes of a client's message, at most, whatever the configuration allows.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// How often what is idle is looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// The routes of Flight, with their guard. To be called inside of the server's runtime.
pub fn router(http: &Arc<Http>) -> Router {
    let flight = Arc::new(Flight::new(http));
    let bytes = http.server.config().message_bytes_max.min(MESSAGE_BYTES_MAX);
    let service = FlightServiceServer::new(polling::Polled(service::Service(flight.clone())))
        .max_decoding_message_size(bytes)
        .max_encoding_message_size(usize::MAX);
    tokio::spawn(sweep(Arc::downgrade(&flight)));
    Router::new()
        .route_service("/arrow.flight.protocol.FlightService/{method}", service)
        .layer(middleware::from_fn_with_state(flight, entrance::guard))
}

/// Lets go of what nobody uses, as long as the server is there.
async fn sweep(flight: Weak<Flight>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(flight) = flight.upgrade() else { return };
        flight.sweep();
    }
}
