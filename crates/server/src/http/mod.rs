//! HTTP: the page, and an interface for programs, on a port of its own on loopback.
//!
//! ```text
//!  listen (127.0.0.1, ::1) -> serve (limits of a connection) -> guard (Host, Origin, token) -> a handler
//!                                                                     /, /assets    page
//!                                                                     /v1/query     query: one answer, streamed
//!                                                                     /v1/statements, /v1/activity, ...
//! ```
//! Handlers are tasks of the server's runtime and never run a statement: [`jobs`] hands those to the executor, and what
//! comes of them comes back through a bounded channel, so that a reader that is slow slows its statement alone. A client
//! that goes away drops its handler or its answer's body, and with either of them its statement is cancelled.
//!
//! * [`statements`]: statements whose results are held, on named [`connections`]; [`held`]: such a result; [`plans`]: plans
//!   and work orders of queries; [`activity`]: what runs.
//! * [`guard`]: who may ask, and the headers of every answer; [`logins`]: tokens and cookies.
//! * [`fault`]: errors as JSON; [`rows`]: rows and parameters as JSON; [`streamed`]: bodies that are written by jobs;
//!   [`source`]: what is run.

mod activity;
mod connections;
mod fault;
mod guard;
mod held;
mod jobs;
mod listen;
mod logins;
mod page;
mod plans;
mod query;
mod request;
mod rows;
mod serve;
mod source;
mod statements;
mod streamed;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{delete, get, post};
use engine::Result;

use crate::server::{Handle, Shared};
use logins::Logins;
use statements::Statements;

/// The port that is tried first where none was named.
pub const PORT_DEFAULT: u16 = 8080;

/// What handlers share.
pub(crate) struct Http {
    server: Arc<Shared>,
    logins: Logins,
    statements: statements::Statements,
    /// Its addresses' port: requests that name another are for somebody else.
    port: u16,
}

/// Where HTTP is listened for, and what lets in.
pub struct HttpAddresses {
    /// One for each of loopback's addresses that the machine has.
    pub addresses: Vec<SocketAddr>,
    /// The port of all of them.
    pub port: u16,
    /// Who knows it may do what the superuser may. It is made up at each start.
    pub token: String,
}

impl HttpAddresses {
    /// The page's address with the token, for a browser.
    pub fn page(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }
}

impl Handle {
    /// Listens for HTTP on loopback, too, until the server stops. `None`: on port 8080, or the next one that is free; 0
    /// is any that is free.
    pub fn serve_http(&self, port: Option<u16>) -> Result<HttpAddresses> {
        let Some(runtime) = &self.runtime else {
            return Err(engine::Error::internal("the server has stopped"));
        };
        let (listeners, port) = listen::open(port)?;
        let logins = Logins::new(port)?;
        let token = logins.token().to_owned();
        let http =
            Arc::new(Http { server: self.shared.clone(), logins, statements: Statements::default(), port });
        let router = router(&http);
        let entered = runtime.enter();
        let mut addresses = Vec::new();
        for listener in listeners {
            let failed = |error| engine::Error::internal(format!("cannot listen for HTTP: {error}"));
            addresses.push(listener.local_addr().map_err(failed)?);
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
            runtime.spawn(serve::accept(listener, router.clone(), self.shared.clone()));
        }
        runtime.spawn(statements::sweep(Arc::downgrade(&http)));
        drop(entered);
        Ok(HttpAddresses { addresses, port, token })
    }
}

fn router(http: &Arc<Http>) -> Router {
    Router::new()
        .route("/health", get(page::health))
        .route("/metrics", get(page::metrics))
        .route("/v1/login", post(logins::log_in))
        .route("/v1/session", get(page::session))
        .route("/v1/query", post(query::query))
        .route("/v1/statements", post(statements::begin))
        .route("/v1/statements/{statement}", delete(statements::end))
        .route("/v1/statements/{statement}/rows", get(statements::rows_of))
        .route("/v1/statements/{statement}/events", get(statements::events_of))
        .route("/v1/queries/{query}/plan", get(plans::plan))
        .route("/v1/queries/{query}/timeline", get(plans::timeline))
        .route("/v1/parse", post(request::parse))
        .route("/v1/activity", get(activity::activity))
        .fallback(page::file)
        .layer(middleware::from_fn_with_state(http.clone(), guard::guard))
        .with_state(http.clone())
}
