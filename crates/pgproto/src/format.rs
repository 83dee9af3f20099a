//! Text or binary: the format of a value, and the lists of formats in Bind.

use types::{Error, Result, SqlState};

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As SQL prints it; code 0.
    #[default]
    Text,
    /// As the type's binary form; code 1.
    Binary,
}

impl Format {
    /// The number that messages have for it.
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
    /// The format of a message's number; error 08P01 for other numbers than 0 and 1.
    pub fn of_code(code: i16) -> Result<Format> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => {
                Err(Error::new(SqlState::ProtocolViolation, format!("unsupported format code: {other}")))
            }
        }
    }
}

/// Formats as Bind lists them: none for all text, one for all values alike, else one for each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats(pub Vec<Format>);

impl Formats {
    /// The format of each of `count` values; `None` when the list has another number of formats.
    pub fn resolve(&self, count: usize) -> Option<Vec<Format>> {
        match self.0.as_slice() {
            [] => Some(vec![Format::Text; count]),
            [all] => Some(vec![*all; count]),
            each if each.len() == count => Some(each.to_vec()),
            _ => None,
        }
    }
    /// The formats of a result's columns; error 08P01 when their number is another one.
    pub fn of_results(&self, columns: usize) -> Result<Vec<Format>> {
        self.resolve(columns).ok_or_else(|| {
            let message =
                format!("bind message has {} result formats but query has {columns} columns", self.0.len());
            Error::new(SqlState::ProtocolViolation, message)
        })
    }
}
