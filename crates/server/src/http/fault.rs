//! Errors as answers: a status, and the engine's error as JSON.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::{Error, Position, SqlState};
use serde_json::{Value, json};

/// An answer that is an error.
pub struct Fault {
    status: StatusCode,
    body: Value,
}

impl Fault {
    /// An engine's error about a text that the client has sent; empty where there is none.
    pub fn of(error: &Error, sql: &str) -> Fault {
        Fault { status: status(error.state()), body: json!({ "error": described(error, sql) }) }
    }

    /// An error of the request itself.
    pub fn new(status: StatusCode, state: SqlState, message: impl Into<String>) -> Fault {
        Fault { status, ..Fault::of(&Error::new(state, message), "") }
    }

    /// An error with a remedy.
    pub fn with_hint(status: StatusCode, state: SqlState, message: &str, hint: &str) -> Fault {
        Fault { status, ..Fault::of(&Error::new(state, message).with_hint(hint), "") }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        answer(self.status, &self.body)
    }
}

/// A JSON answer that nobody keeps.
pub fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What a client is told of an error.
pub fn described(error: &Error, sql: &str) -> Value {
    json!({
        "code": error.state().code(),
        "message": error.message(),
        "detail": error.detail(),
        "hint": error.hint(),
        "position": error.position().map(|position| place(position, sql)),
    })
}

/// A place as editors count: in units of UTF-16.
fn place(position: Position, sql: &str) -> Value {
    let at = sql.floor_char_boundary(position.offset as usize);
    json!({
        "offset": units(&sql[..at]),
        "length": units(word(&sql[at..])),
        "line": position.line,
        "column": position.column,
    })
}

/// Units of UTF-16 in a text.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The word, name in quotes or sign that a text begins with.
fn word(text: &str) -> &str {
    let mut characters = text.char_indices();
    let end = match characters.next() {
        None => 0,
        Some((_, quote @ ('"' | '\''))) => {
            let closing = characters.find(|(_, c)| *c == quote);
            closing.map_or(text.len(), |(at, _)| at + 1)
        }
        Some((_, c)) if c.is_alphanumeric() || c == '_' => {
            text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
        }
        Some((_, c)) => c.len_utf8(),
    };
    &text[..end]
}

fn status(state: SqlState) -> StatusCode {
    match state.code() {
        "42501" => StatusCode::FORBIDDEN,
        "57014" => StatusCode::CONFLICT,
        code if code.starts_with("53") => StatusCode::SERVICE_UNAVAILABLE,
        code if code.starts_with("XX") => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_utf_16() {
        let sql = "SELECT '😀', wrong_name FROM t";
        let offset = sql.find("wrong").unwrap() as u32;
        let error = Error::new(SqlState::UndefinedColumn, "x").at(Position { line: 1, column: 13, offset });
        let told = described(&error, sql);
        assert_eq!(told["position"], json!({"offset": 13, "length": 10, "line": 1, "column": 13}));
        // A place beyond the text that was sent is none to fail over.
        let beyond = Error::new(SqlState::SyntaxError, "x").at(Position { line: 1, column: 1, offset: 4000 });
        assert_eq!(described(&beyond, sql)["position"]["length"], 0);
    }

    #[test]
    fn words_end_where_they_end() {
        for (text, expected) in [
            ("abc.d", "abc"),
            ("\"a b\" c", "\"a b\""),
            ("", ""),
            ("= 1", "="),
            ("'ab", "'ab"),
            ("é1 x", "é1"),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
