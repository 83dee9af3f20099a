//! What every request passes: is it meant for this server, does it come from this server's page or a program, and does it
//! know a secret.
//!
//! * *Host* (in HTTP/2 the authority) names loopback and this port, or 421. A page of another site whose name was made to
//!   point at 127.0.0.1 (DNS rebinding) still sends its own name here. Under TLS any name is the server's: a browser has
//!   compared it with the certificate's.
//! * *Origin*, where there is one, is this server's own, or 403. A cookie together with a method that changes something
//!   asks for one: browsers always send it.
//! * *Sec-Fetch-Site* of what is behind a login is never another site's.
//! * A token or a cookie lets in ([`Logins`](super::logins::Logins)); only the page's files, `/health` and the login itself
//!   are answered without. The page has no secrets in it.
//!
//! No answer has a header of CORS: other origins cannot read any.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::SqlState;

use super::Http;
use super::fault::Fault;
use super::logins::Known;

/// Who asks: the role that a request was let in as.
#[derive(Clone)]
pub struct Role(pub String);

/// Lets those go on who may see what other roles' sessions do: superusers and members of pg_monitor.
pub fn monitor(http: &Http, Role(role): &Role) -> Result<(), Fault> {
    if http.server.roles.monitors(role) {
        return Ok(());
    }
    let message = "what other roles' queries do is shown to superusers and members of pg_monitor";
    Err(Fault::new(StatusCode::FORBIDDEN, SqlState::InsufficientPrivilege, message))
}

/// How a connection's requests come: under TLS or not. Every request has one.
#[derive(Clone, Copy)]
pub struct Secured(pub bool);

/// Whether a request came under TLS.
pub fn is_secured<B>(request: &Request<B>) -> bool {
    request.extensions().get::<Secured>().is_some_and(|secured| secured.0)
}

/// The host that a request names: in HTTP/2 as its address' authority, before that as a header.
fn host_of<B>(request: &Request<B>) -> Result<Option<&str>, Fault> {
    let named = request.uri().authority().map(axum::http::uri::Authority::as_str);
    Ok(single(request.headers(), &header::HOST)?.or(named))
}

/// Whether a request names this server.
pub fn is_meant<B>(http: &Http, request: &Request<B>) -> bool {
    let own = |host: &str| match is_secured(request) {
        true => !host.is_empty(),
        false => is_own_host(host, http.port),
    };
    let named = request.uri().authority().map(axum::http::uri::Authority::as_str);
    host_of(request).is_ok_and(|host| host.is_some_and(own)) && named.is_none_or(own)
}

/// Whether an origin is this server, as the request names it.
fn is_own_origin<B>(http: &Http, request: &Request<B>, origin: &str) -> bool {
    match is_secured(request) {
        true => {
            let host = host_of(request).ok().flatten();
            origin
                .strip_prefix("https://")
                .is_some_and(|own| host.is_some_and(|host| host.eq_ignore_ascii_case(own)))
        }
        false => origin.strip_prefix("http://").is_some_and(|own| is_own_host(own, http.port)),
    }
}

/// Whether a page of another origin has a request sent.
pub fn is_foreign<B>(http: &Http, request: &Request<B>) -> bool {
    let origin = single(request.headers(), &header::ORIGIN);
    let site = single(request.headers(), &HeaderName::from_static("sec-fetch-site"));
    let other = |site: &str| !matches!(site, "same-origin" | "none");
    origin.map_or(true, |origin| origin.is_some_and(|origin| !is_own_origin(http, request, origin)))
        || site.map_or(true, |site| site.is_some_and(other))
}

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, ui::CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Checks a request, and completes its answer.
pub async fn guard(State(http): State<Arc<Http>>, mut request: Request, next: Next) -> Response {
    let mut response = match check(&http, &request) {
        Ok(role) => {
            if let Some(role) = role {
                request.extensions_mut().insert(Role(role));
            }
            next.run(request).await
        }
        Err(fault) => {
            // The body is not read, so that the connection can serve nothing else.
            let mut refused = fault.into_response();
            refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            refused
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Answers hold data; the page's files say otherwise themselves.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The role that a request comes in as; `None` where none is needed.
fn check(http: &Http, request: &Request<Body>) -> Result<Option<String>, Fault> {
    let headers = request.headers();
    host_of(request)?;
    if !is_meant(http, request) {
        return Err(Fault::with_hint(
            StatusCode::MISDIRECTED_REQUEST,
            SqlState::InvalidAuthorization,
            "the request is for another host than this server",
            "the server is called 127.0.0.1 or localhost, with its port",
        ));
    }
    let origin = single(headers, &header::ORIGIN)?;
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let own = origin.map(|origin| is_own_origin(http, request, origin));
    let foreign = || {
        Err(Fault::new(
            StatusCode::FORBIDDEN,
            SqlState::InvalidAuthorization,
            "pages of other origins may not ask this server",
        ))
    };
    if own == Some(false) {
        return foreign();
    }
    let path = request.uri().path();
    let is_open = path == "/health" || !(path.starts_with("/v1/") || path == "/metrics");
    let site = single(headers, &HeaderName::from_static("sec-fetch-site"))?;
    if !is_open && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return foreign();
    }
    if is_open {
        return Ok(None);
    }
    if path == "/v1/login" {
        return Ok(None);
    }
    // A cookie lives as long as the password that it was given for.
    let known = http.logins.know(headers).filter(|known| match &known.login {
        Some((role, verifier)) => http.server.roles.verifier(role).as_ref() == Some(verifier),
        None => true,
    });
    match known {
        Some(Known { by_cookie: true, .. }) if changes && own.is_none() => foreign(),
        Some(known) => Ok(Some(known.login.map_or_else(|| http.server.roles.superuser(), |(role, _)| role))),
        None => Err(Fault::with_hint(
            StatusCode::UNAUTHORIZED,
            SqlState::InvalidAuthorization,
            "the request has neither a token nor a session's cookie",
            "send Authorization: Bearer with the token that quickstep serve has printed, or POST /v1/login",
        )),
    }
}

/// A header that may come once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Fault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) if value.to_str().is_ok() => Ok(value.to_str().ok()),
        _ => {
            let message = format!("the header {name} is malformed, or comes more than once");
            Err(Fault::new(StatusCode::BAD_REQUEST, SqlState::ProtocolViolation, message))
        }
    }
}

/// Whether a host, with its port, is this server.
fn is_own_host(host: &str, port: u16) -> bool {
    let Some((name, given)) = host.rsplit_once(':') else { return false };
    given.bytes().all(|byte| byte.is_ascii_digit())
        && given.parse() == Ok(port)
        && (name == "127.0.0.1" || name == "[::1]" || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::is_own_host;

    #[test]
    fn only_loopback_with_the_port_is_this_server() {
        for host in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"] {
            assert!(is_own_host(host, 8080), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:8081",
            "localhost",
            "evil.example:8080",
            "localhost.evil.example:8080",
            "127.0.0.1:8080:8080",
            "x@127.0.0.1:8080",
            "",
            ":8080",
            "::1:8080",
            "localhost:+8080",
            "0.0.0.0:8080",
            "127.0.0.1.:8080",
        ] {
            assert!(!is_own_host(host, 8080), "{host}");
        }
    }
}
