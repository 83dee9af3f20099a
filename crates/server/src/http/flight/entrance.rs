//! Who may call: what every request passes, and the handshake that gives a token for a password.
//!
//! As for the rest of HTTP, the request names this server and comes from no page of another origin. What lets in is a
//! bearer token: the server's own, for the superuser, or one of a handshake, for the role that has proved its password.

use std::sync::Arc;

use arrow_flight::HandshakeResponse;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use engine::SqlState;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use super::sessions;
use super::shared::{Caller, Flight};
use super::status::{refused, refused_with, status};
use crate::http::guard::{is_foreign, is_meant};
use crate::http::log_in;

/// Go's clients leave out what fills the last letters.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The method that is called without a token.
const HANDSHAKE: &str = "/arrow.flight.protocol.FlightService/Handshake";

/// Checks a request before anything of its body is read.
pub async fn guard(State(flight): State<Arc<Flight>>, mut request: Request, next: Next) -> Response {
    match check(&flight, &request) {
        Ok(Some(role)) => {
            let session = sessions::cookie(request.headers());
            let known = session.as_deref().and_then(|session| flight.sessions.options(&role, session));
            // One that is not known, or not this role's, is none.
            let session = session.filter(|_| known.is_some());
            request.extensions_mut().insert(Caller { role, session, options: known.unwrap_or_default() });
        }
        Ok(None) => {}
        Err(status) => return status.into_http::<Body>(),
    }
    next.run(request).await
}

/// The role that a request comes in as; `None` for a handshake.
fn check(flight: &Flight, request: &Request) -> Result<Option<String>, Status> {
    if !is_meant(&flight.http, request) || is_foreign(&flight.http, request) {
        let message = "the request is for another host than this server, or from a page of another origin";
        return Err(refused(SqlState::InvalidAuthorization, message));
    }
    if request.uri().path() == HANDSHAKE {
        return Ok(None);
    }
    let role = bearer(request.headers()).and_then(|token| role_of(flight, token));
    role.map(Some).ok_or_else(|| {
        refused_with(
            SqlState::InvalidAuthorization,
            "the request has no token that lets in",
            "give a user and a password, or the token that quickstep serve has printed as a bearer token",
        )
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn role_of(flight: &Flight, token: &str) -> Option<String> {
    let roles = &flight.http.server.roles;
    if flight.http.logins.is_token(token) {
        return Some(roles.superuser());
    }
    // A token lives as long as the password that it was given for.
    let (role, verifier) = flight.tokens.login(token)?;
    (roles.verifier(&role).as_ref() == Some(&verifier)).then_some(role)
}

/// A token for the name and the password of the header `Authorization: Basic`.
pub async fn handshake(
    flight: &Flight,
    metadata: &MetadataMap,
) -> Result<(HandshakeResponse, MetadataMap), Status> {
    let given = metadata.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some((user, password)) = basic(given) else {
        return Err(refused_with(
            SqlState::InvalidAuthorization,
            "a handshake needs a user and a password",
            "send them as Authorization: Basic",
        ));
    };
    let login = log_in::prove(&flight.http.server, user, password, "flight").await;
    let login = login.map_err(|error| status(&error, ""))?;
    let token = flight.tokens.give(login).map_err(|error| status(&error, ""))?;
    let mut answer = MetadataMap::new();
    if let Ok(value) = format!("Bearer {token}").parse::<MetadataValue<_>>() {
        answer.insert("authorization", value);
    }
    Ok((HandshakeResponse { protocol_version: 0, payload: token.into_bytes().into() }, answer))
}

/// Name and password of a header.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, coded) = header.split_once(' ')?;
    let text = scheme.eq_ignore_ascii_case("basic").then(|| BASE64.decode(coded.trim()).ok())??;
    let text = String::from_utf8(text).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::basic;

    #[test]
    fn names_and_passwords_are_read_or_nothing_is() {
        let coded = |text: &str| format!("Basic {}", base64::Engine::encode(&super::BASE64, text));
        assert_eq!(basic(&coded("ada:a:b")), Some(("ada".to_owned(), "a:b".to_owned())));
        assert_eq!(basic(&coded(":")), Some((String::new(), String::new())));
        assert_eq!(basic("Basic YWRhOmE"), basic("basic YWRhOmE="));
        for header in ["", "Basic", "Basic !", "Bearer YTpi", &coded("ada")] {
            assert_eq!(basic(header), None, "{header}");
        }
    }
}
