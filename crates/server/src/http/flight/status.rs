//! Errors as gRPC's statuses: a code that clients tell apart, the rendered error as text, its SQLSTATE in the metadata.

use engine::{Error, SqlState};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

/// Name of the SQLSTATE in a status' metadata.
pub const SQLSTATE: &str = "sqlstate";
/// Name of the place in the statement, in bytes from 0, in a status' metadata.
pub const POSITION: &str = "sql-position";
/// Bytes of a text: a status is sent in a header, and clients bound those.
const TEXT_BYTES_MAX: usize = 1500;

/// An error about a text that the client has sent; empty where there is none.
pub fn status(error: &Error, sql: &str) -> Status {
    let mut text = error.render(sql);
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push_str("...");
    }
    let mut metadata = MetadataMap::new();
    if let Ok(state) = error.state().code().parse::<MetadataValue<_>>() {
        metadata.insert(SQLSTATE, state);
    }
    if let Some(position) = error.position() {
        metadata.insert(POSITION, MetadataValue::from(position.offset));
    }
    Status::with_metadata(code(error.state()), text, metadata)
}

/// An error of the request itself.
pub fn refused(state: SqlState, message: impl Into<String>) -> Status {
    status(&Error::new(state, message), "")
}

/// As `refused`, with a remedy.
pub fn refused_with(state: SqlState, message: &str, hint: &str) -> Status {
    status(&Error::new(state, message).with_hint(hint), "")
}

/// What ADBC's and JDBC's drivers make their kinds of errors of.
fn code(state: SqlState) -> Code {
    let code = state.code();
    match code {
        "42501" => Code::PermissionDenied,
        "57014" => Code::Cancelled,
        "42P07" | "42710" | "42P06" | "23505" => Code::AlreadyExists,
        "42P01" | "42704" | "3F000" | "3D000" | "26000" => Code::NotFound,
        "40001" | "40P01" => Code::Aborted,
        "0A000" => Code::Unimplemented,
        _ => match &code[..2] {
            "28" => Code::Unauthenticated,
            "53" | "54" => Code::ResourceExhausted,
            "57" => Code::Unavailable,
            "25" => Code::FailedPrecondition,
            "XX" | "58" => Code::Internal,
            _ => Code::InvalidArgument,
        },
    }
}

#[cfg(test)]
mod tests {
    use engine::Position;

    use super::*;

    #[test]
    fn a_status_has_code_state_and_place_and_is_no_longer_than_a_header() {
        let error = Error::new(SqlState::UndefinedColumn, "no such column").at(Position {
            line: 1,
            column: 8,
            offset: 7,
        });
        let told = status(&error, "SELECT wrong");
        assert_eq!(told.code(), Code::InvalidArgument);
        assert_eq!(told.metadata().get(SQLSTATE).unwrap(), "42703");
        assert_eq!(told.metadata().get(POSITION).unwrap(), "7");
        assert!(told.message().contains("LINE 1: SELECT wrong"));
        let long = status(&Error::new(SqlState::InsufficientPrivilege, "ä".repeat(9000)), "");
        assert_eq!(long.code(), Code::PermissionDenied);
        assert!(long.message().len() <= TEXT_BYTES_MAX + 3);
    }
}
