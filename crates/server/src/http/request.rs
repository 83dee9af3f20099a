//! Bodies of requests, and what is answered from a text alone.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use engine::SqlState;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fault::{Fault, answer, units};

/// Bytes of a request's body, at most.
const BODY_BYTES_MAX: usize = 16 << 20;
/// How long a body may take.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Reads a JSON body. It must say that it is JSON, which no form of another site's page can without asking first.
pub async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Fault> {
    let wrong = |status, message: &str| Fault::new(status, SqlState::ProtocolViolation, message);
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"));
    }
    let read = to_bytes(request.into_body(), BODY_BYTES_MAX);
    let bytes = match tokio::time::timeout(BODY_PATIENCE, read).await {
        Err(_) => return Err(wrong(StatusCode::REQUEST_TIMEOUT, "the body has not come in time")),
        Ok(Err(_)) => {
            return Err(wrong(StatusCode::PAYLOAD_TOO_LARGE, "the body is broken, or larger than 16 MB"));
        }
        Ok(Ok(bytes)) => bytes,
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        wrong(StatusCode::BAD_REQUEST, &format!("the body is not what is expected: {error}"))
    })
}

#[derive(Deserialize)]
struct Text {
    sql: String,
}

/// `POST /v1/parse`: where a text's statements are, and what in it is no statement.
pub async fn parse(request: Request) -> Result<Response, Fault> {
    let Text { sql } = body(request).await?;
    Ok(answer(StatusCode::OK, &parsed(&sql)))
}

fn parsed(sql: &str) -> Value {
    let (mut statements, mut errors) = (vec![], vec![]);
    let mut places = Places { text: sql, byte: 0, unit: 0 };
    for read in syntax::parse_script(sql).statements {
        match read {
            Ok(statement) => {
                let span = statement.span;
                let own = sql.get(span.start as usize..span.end as usize).unwrap_or_default();
                let kind = own.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
                statements.push(json!({
                    "from": places.of(span.start as usize),
                    "to": places.of(span.end as usize),
                    "kind": kind.to_ascii_uppercase(),
                }));
            }
            Err(error) => {
                let from = places.of(error.span.start as usize);
                let to = places.of(error.span.end as usize).max(from);
                errors.push(json!({ "message": error.message, "hint": error.hint, "from": from, "to": to }));
            }
        }
    }
    json!({ "statements": statements, "errors": errors })
}

/// Turns places in bytes into places in units of UTF-16, in one pass for places that ascend.
struct Places<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl Places<'_> {
    fn of(&mut self, byte: usize) -> usize {
        let byte = self.text.floor_char_boundary(byte);
        if byte < self.byte {
            (self.byte, self.unit) = (0, 0);
        }
        self.unit += units(&self.text[self.byte..byte]);
        self.byte = byte;
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_errors_have_places_in_utf_16() {
        let told = parsed("SELECT '😀';\nSELEC 1; INSERT INTO t VALUES (1)");
        assert_eq!(told["statements"][0], json!({"from": 0, "to": 11, "kind": "SELECT"}));
        assert_eq!(told["statements"][1]["kind"], "INSERT");
        assert_eq!(told["errors"].as_array().unwrap().len(), 1);
        assert_eq!(told["errors"][0]["from"], 13);
        assert_eq!(parsed(""), json!({"statements": [], "errors": []}));
    }
}
