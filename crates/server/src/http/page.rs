//! The page's files, and what monitors ask: `/health`, `/metrics`, and who one is.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::SqlState;
use serde_json::json;

use super::Http;
use super::fault::{Fault, answer};
use super::guard::{self, Role};
use crate::server::Phase;

/// A file of the page. `/?token=…` gives the browser a cookie and sends it to the page.
pub async fn file(State(http): State<Arc<Http>>, request: Request) -> Result<Response, Fault> {
    let path = request.uri().path();
    let Some(asset) = ui::asset(path) else {
        let message = format!("there is nothing at {path}");
        return Err(Fault::new(StatusCode::NOT_FOUND, SqlState::UndefinedObject, message));
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let message = format!("{path} takes GET alone");
        return Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, SqlState::ProtocolViolation, message));
    }
    if let (true, Some(token)) = (path == "/", token_of(request.uri().query())) {
        return enter(&http, token, guard::is_secured(&request));
    }
    let given = |name| {
        request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default()
    };
    let known = given(header::IF_NONE_MATCH).split(',').any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.trim_start_matches("W/") == asset.etag
    });
    let kept = if asset.is_immutable() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    let (bytes, coding) = asset.form(given(header::ACCEPT_ENCODING));
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    *response.body_mut() = Body::from(bytes);
    Ok(response)
}

fn token_of(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn enter(http: &Http, token: &str, secured: bool) -> Result<Response, Fault> {
    if !http.logins.is_token(token) {
        return Err(Fault::with_hint(
            StatusCode::UNAUTHORIZED,
            SqlState::InvalidAuthorization,
            "this is not the server's token",
            "each start of quickstep serve prints a new address",
        ));
    }
    let cookie = http.logins.new_cookie(None, secured).map_err(|error| Fault::of(&error, ""))?;
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// `GET /health`: whether the server takes requests.
pub async fn health(State(http): State<Arc<Http>>) -> Response {
    let phase = *http.server.phase.borrow();
    match phase {
        Phase::Accepting => answer(StatusCode::OK, &json!({ "status": "ok" })),
        _ => answer(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "draining" })),
    }
}

/// `GET /metrics`: Prometheus' text, as `--metrics` serves it, for superusers and members of pg_monitor.
pub async fn metrics(
    State(http): State<Arc<Http>>,
    Extension(role): Extension<Role>,
) -> std::result::Result<Response, Fault> {
    guard::monitor(&http, &role)?;
    let mut response = Response::new(Body::from(http.server.database.metrics()));
    let form = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    Ok(response)
}

/// `GET /v1/session`: as whom one is here, and where.
pub async fn session(State(http): State<Arc<Http>>, Extension(Role(role)): Extension<Role>) -> Response {
    let told = json!({
        "user": role,
        "database": http.server.database.name(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    answer(StatusCode::OK, &told)
}
