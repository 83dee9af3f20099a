//! Files as single values: `read_text` and `read_blob`, a row for each file with its name, content, size and time of change.
//!
//! A file is read when its content is fetched, by the worker that claims its unit; memory is asked for first. Names,
//! sizes and times are known without reading.

use std::ops::Range;

use plan::FileSource;
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::Vector;

use crate::input::Input;
use crate::{Environment, Reader, Window};

/// Bytes that a value may have.
const VALUE_BYTES_MAX: u64 = 1 << 30;

/// Positions of the columns.
const FILENAME: usize = 0;
const CONTENT: usize = 1;
const SIZE: usize = 2;

/// The columns, with the content as TEXT or as BYTEA.
pub fn columns(content: Type) -> Schema {
    Schema::new(vec![
        Field::new("filename", Type::Text, false),
        Field::new("content", content, false),
        Field::new("size", Type::BigInt, false),
        Field::new("last_modified", Type::TimestampTz, true),
    ])
}

/// The reader of whole files: one unit and one row a file.
pub struct Contents {
    environment: Environment,
    paths: Vec<String>,
    columns: Vec<usize>,
    content: Type,
}

impl Contents {
    /// A reader of the source's files. The source's schema says whether contents are TEXT or BYTEA; no file is opened
    /// here.
    pub fn open(environment: &Environment, source: &FileSource, columns: &[usize]) -> Contents {
        let content = source.schema.fields().get(CONTENT).map_or(Type::Bytea, |field| field.ty);
        Contents {
            environment: environment.clone(),
            paths: source.paths.to_vec(),
            columns: columns.to_vec(),
            content,
        }
    }
}

impl Reader for Contents {
    fn units(&self) -> Result<u64> {
        Ok(self.paths.len() as u64)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let Some(path) = usize::try_from(unit).ok().and_then(|at| self.paths.get(at)) else { return Ok(()) };
        visit(&mut OneFile { contents: self, input: Input::open(&self.environment, path)? }).map(drop)
    }
}

struct OneFile<'a> {
    contents: &'a Contents,
    input: Input,
}

impl OneFile<'_> {
    fn content(&self) -> Result<Value> {
        let (path, bytes) = (&self.input.path, self.input.length);
        if bytes > VALUE_BYTES_MAX {
            let message = format!("\"{path}\" has {bytes} bytes, and a value has 1 GiB at most");
            return Err(
                Error::unsupported(message).with_hint("read it as rows: read_csv, read_json, read_parquet")
            );
        }
        // The bytes that are read, and the vector's own.
        self.contents.environment.ask(bytes.saturating_mul(2))?;
        let mut content = Vec::new();
        self.input.append(0, bytes, &mut content)?;
        if self.contents.content.is_text()
            && let Err(wrong) = std::str::from_utf8(&content)
        {
            let at = wrong.valid_up_to();
            return Err(Error::new(
                SqlState::InvalidTextRepresentation,
                format!("\"{path}\" is no text in UTF-8: byte {at} is not"),
            )
            .with_hint("read_blob reads any bytes"));
        }
        Ok(Value::Bytes(content.into()))
    }
}

impl Window for OneFile<'_> {
    fn rows(&self) -> usize {
        1
    }
    fn columns(&self) -> usize {
        self.contents.columns.len()
    }
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        let wanted = self.contents.columns.get(column).copied();
        // A fetch of no rows reads no content.
        let (ty, value) = match wanted {
            Some(FILENAME) => (Type::Text, Value::text(&self.input.path)),
            Some(CONTENT) if rows.is_empty() => (self.contents.content, Value::Null),
            Some(CONTENT) => (self.contents.content, self.content()?),
            Some(SIZE) => (Type::BigInt, i64::try_from(self.input.length).map_or(Value::Null, Value::I64)),
            _ => (Type::TimestampTz, self.input.modified().map_or(Value::Null, Value::I64)),
        };
        Ok(Vector::from_values(ty, &vec![value; rows.len()]))
    }
}
