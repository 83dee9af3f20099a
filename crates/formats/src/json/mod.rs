//! JSON: objects one after the other, usually one a line, or in an array.
//!
//! `serde_json` finds the values; a record becomes the spans of its values' texts, which are then read as the fields of a
//! CSV file are, with the same errors and rejects. Lines are read in parallel: no line end stands inside a JSON value that
//! is written on one line. Arrays and values over several lines are read from the beginning to the end of the file.

mod reader;
mod record;
mod shape;
mod sniff;

pub use reader::JsonFiles;
pub use sniff::describe;

use plan::file::JsonRecords;
use types::{Error, Result, SqlState};

use self::record::Malformed;
use crate::input::Input;
use crate::text::{shown, text_begin};

/// How the records of a file follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One a line, in the first line at least.
    Lines,
    /// Anyhow; the elements of arrays at the top are records.
    Values,
}

/// The column of records that are no objects.
pub const WHOLE: &str = "json";

/// What is looked at to tell the layout: a longer first line is taken for a value over the whole file.
pub const FIRST_LINE_BYTES: u64 = 1 << 20;

/// The layout, found out by a look at so much of the file or as it was said, and where the text begins.
pub fn layout_of(input: &Input, said: JsonRecords, first_line: u64) -> Result<(Layout, u64)> {
    let begin = text_begin(input)?;
    if said == JsonRecords::Lines {
        return Ok((Layout::Lines, begin));
    }
    let mut data = Vec::new();
    input.append(begin, begin + first_line, &mut data)?;
    let blank = data.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = &data[blank..];
    if text.first().is_none_or(|b| *b == b'[') {
        return Ok((Layout::Values, begin));
    }
    if said == JsonRecords::Array {
        let text = shown(text.split(|b| *b == b'\n').next().unwrap_or_default());
        let message = format!("\"{}\" is no array of records: it begins with {text}", input.path);
        return Err(Error::new(SqlState::BadCopyFormat, message)
            .with_hint("format => 'auto' finds out how the records follow each other"));
    }
    let line = text.split(|b| *b == b'\n').next().unwrap_or_default();
    let goes_on = line.len() == text.len() && begin + (data.len() as u64) < input.length;
    // What is no value at all is said best line by line.
    let values = serde_json::Deserializer::from_slice(line).into_iter::<serde::de::IgnoredAny>();
    let mut found = 0;
    for value in values {
        match value {
            Ok(_) => found += 1,
            // Cut by what was read of the file, it may be anything yet.
            Err(wrong) if wrong.is_eof() || (goes_on && Malformed::new(line, &wrong).cut) => {
                return Ok((Layout::Values, begin));
            }
            Err(_) => return Ok((Layout::Lines, begin)),
        }
    }
    // The look may end just where a value does.
    Ok((if found > 1 || (goes_on && found > 0) { Layout::Values } else { Layout::Lines }, begin))
}
