//! Routes, and the beginning of listening: what puts the handlers together.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{delete, get, post};
use engine::Result;

use super::logins::Logins;
use super::shared::Http;
use super::store::Statements;
use super::{activity, complete, guard, listen, log_in, page, plans, query, request, serve, statements};
use crate::server::Handle;

/// Where HTTP is listened for, and what lets in.
pub struct HttpAddresses {
    /// Loopback's addresses as far as the machine has them, and those others that the configuration names.
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
    /// Listens for HTTP and Flight SQL, too, until the server stops: on loopback, and under TLS on the other addresses that
    /// the configuration names. `None`: on port 8080, or the next one that is free; 0 is any that is free.
    pub fn serve_http(&self, port: Option<u16>) -> Result<HttpAddresses> {
        let Some(runtime) = &self.runtime else {
            return Err(engine::Error::internal("the server has stopped"));
        };
        let shared = &self.shared;
        let others = crate::listen::addresses(&shared.config(), shared.roles.has_passwords())?;
        let (listeners, port) = listen::open(port, &others)?;
        let logins = Logins::new(port)?;
        let token = logins.token().to_owned();
        let http = Arc::new(Http { server: shared.clone(), logins, statements: Statements::default(), port });
        let entered = runtime.enter();
        let router = router(&http);
        let mut addresses = Vec::new();
        for listener in listeners {
            let failed = |error| engine::Error::internal(format!("cannot listen for HTTP: {error}"));
            addresses.push(listener.local_addr().map_err(failed)?);
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
            runtime.spawn(serve::accept(listener, router.clone(), shared.clone()));
        }
        runtime.spawn(statements::sweep(Arc::downgrade(&http)));
        drop(entered);
        Ok(HttpAddresses { addresses, port, token })
    }
}

fn router(http: &Arc<Http>) -> Router {
    let router = Router::new()
        .route("/health", get(page::health))
        .route("/metrics", get(page::metrics))
        .route("/v1/login", post(log_in::log_in))
        .route("/v1/session", get(page::session))
        .route("/v1/query", post(query::query))
        .route("/v1/statements", post(statements::begin))
        .route("/v1/statements/{statement}", delete(statements::end))
        .route("/v1/statements/{statement}/rows", get(statements::rows_of))
        .route("/v1/statements/{statement}/events", get(statements::events_of))
        .route("/v1/queries/{query}/plan", get(plans::plan))
        .route("/v1/queries/{query}/timeline", get(plans::timeline))
        .route("/v1/parse", post(request::parse))
        .route("/v1/complete", post(complete::complete))
        .route("/v1/activity", get(activity::activity))
        .fallback(page::file)
        .layer(middleware::from_fn_with_state(http.clone(), guard::guard))
        .with_state(http.clone());
    #[cfg(feature = "flight")]
    let router = router.merge(super::flight::router(http));
    router
}
