//! `/v1/login`: a role's name and password for a cookie.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::{Result, SqlState};
use pgproto::scram::{self, Verifier};
use serde::Deserialize;
use serde_json::json;

use super::fault::{Fault, answer};
use super::guard::is_secured;
use super::logins::LoggedIn;
use super::{Http, request};
use crate::server::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    user: String,
    password: String,
}

/// Finds out whether a password is a role's; the error is the same whatever is wrong. `entrance` is what the audit log
/// calls the way in.
pub async fn prove(
    server: &Arc<Shared>,
    user: String,
    password: String,
    entrance: &'static str,
) -> Result<LoggedIn> {
    let (sender, checked) = tokio::sync::oneshot::channel();
    let (shared, name) = (server.clone(), user.clone());
    // Hashing takes time on purpose. Two threads do it, so that guessing keeps no other client waiting.
    let job = move || {
        let stored = shared.roles.verifier(&name);
        let verifier = stored
            .as_deref()
            .and_then(|text| Verifier::parse(text).ok())
            .unwrap_or_else(|| Verifier::of_unknown_user(&name, &shared.salt_secret, scram::ITERATIONS));
        // Without a stored one the work is done all the same.
        let matches = verifier.matches(&password);
        let _ = sender.send(stored.filter(|_| matches));
    };
    let _ = server.openings.submit(true, Box::new(job));
    let verifier = checked.await.unwrap_or(None);
    if let Some(audit) = server.audit() {
        audit.login(&user, entrance, verifier.is_none().then(|| scram::failed(&user)).as_ref());
    }
    let failed = || scram::failed(&user);
    let verifier = verifier.ok_or_else(failed)?;
    Ok((user, verifier))
}

/// `POST /v1/login`: a name and a password for a cookie.
pub async fn log_in(State(http): State<Arc<Http>>, request: Request) -> std::result::Result<Response, Fault> {
    let secured = is_secured(&request);
    let Login { user, password } = request::body(request).await?;
    let login = prove(&http.server, user, password, "http")
        .await
        .map_err(|error| Fault::new(StatusCode::UNAUTHORIZED, SqlState::InvalidPassword, error.message()))?;
    let cookie = http.logins.new_cookie(Some(login), secured).map_err(|error| Fault::of(&error, ""))?;
    let mut response = answer(StatusCode::OK, &json!({})).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}
