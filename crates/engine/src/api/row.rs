//! Rows of a result, one by one, and the values in them.
//!
//! [`Rows`] reads a result stream batch by batch and hands out one [`Row`] at a time; a row shares its batch's
//! vectors, so that it may outlive the stream. Values are converted when they are asked for ([`FromSql`]); a type
//! that does not fit gives an error with the column's number, name and type.

use std::sync::Arc;

use types::{Error, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use super::from_sql::{FromSql, Mismatch};
use crate::result::ResultSet;
use crate::stream::ResultStream;

/// Rows in their order; an iterator over them.
pub struct Rows {
    stream: ResultStream,
    batch: Option<Arc<Batch>>,
    at: usize,
    number: u64,
}

impl Rows {
    pub(crate) fn new(stream: ResultStream) -> Rows {
        Rows { stream, batch: None, at: 0, number: 0 }
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &Schema {
        self.stream.schema()
    }

    /// The next row; `None` after the last. What `next` gives, turned around.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.at < batch.rows) {
                let schema = self.stream.schema().clone();
                let row = Row { schema, batch: batch.clone(), at: self.at, number: self.number };
                self.at += 1;
                self.number += 1;
                return Ok(Some(row));
            }
            self.at = 0;
            self.batch = self.stream.next_batch()?.map(Arc::new);
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }

    /// What `read` makes of each row.
    pub fn mapped<T>(self, mut read: impl FnMut(&Row) -> Result<T>) -> impl Iterator<Item = Result<T>> {
        self.map(move |row| read(&row?))
    }

    /// Each row as a tuple, or as another type that rows are read as.
    pub fn of<T: FromRow>(self) -> impl Iterator<Item = Result<T>> {
        self.mapped(T::from_row)
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;
    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    schema: Schema,
    batch: Arc<Batch>,
    at: usize,
    number: u64,
}

impl Row {
    /// A value by its column's number, counted from 0, or name.
    ///
    /// ```
    /// use engine::{Connection, Date, Decimal};
    ///
    /// let connection = Connection::open_in_memory()?;
    /// let row = connection.query_one("SELECT 7 AS id, DATE '2024-02-29' AS day, 12.50 AS price, NULL AS note", ())?;
    /// assert_eq!(row.get::<i64>("id")?, 7);
    /// assert_eq!(row.get::<Date>(1)?.month(), 2);
    /// assert_eq!(row.get::<Decimal>("price")?.to_string(), "12.50");
    /// assert_eq!(row.get::<Option<String>>("note")?, None);
    /// let error = row.get::<String>("id").unwrap_err();
    /// assert_eq!(error.message(), "column 0 (\"id\") is INTEGER, which cannot be read as String");
    /// # Ok::<(), engine::Error>(())
    /// ```
    pub fn get<T: FromSql>(&self, column: impl ColumnIndex) -> Result<T> {
        let at = column.position(&self.schema)?;
        let field = &self.schema.fields()[at];
        let value = self.batch.columns[at].value(self.at);
        T::from_nullable(&value, field.ty)
            .map_err(|mismatch| self.unreadable(at, mismatch, &rust_name::<T>()))
    }

    fn unreadable(&self, at: usize, mismatch: Mismatch, wanted: &str) -> Error {
        let field = &self.schema.fields()[at];
        let place = format!("column {at} (\"{}\")", field.name);
        match mismatch {
            Mismatch::Null => {
                let message =
                    format!("{place} is NULL in row {}, which {wanted} cannot hold", self.number + 1);
                Error::new(SqlState::NullValueNotAllowed, message)
                    .with_hint(format!("read it as Option<{wanted}>"))
            }
            Mismatch::Type => {
                let message = format!("{place} is {}, which cannot be read as {wanted}", field.ty);
                Error::new(SqlState::DatatypeMismatch, message)
                    .with_hint("read it as a type that holds its values, or CAST it in the query")
            }
            Mismatch::Value(why) => {
                let message = format!(
                    "{place}, {}, in row {} cannot be read as {wanted}: {why}",
                    field.ty,
                    self.number + 1
                );
                Error::new(SqlState::NumericValueOutOfRange, message)
            }
        }
    }

    /// The row as a tuple of as many values as it has: `let (id, name): (i64, String) = row.read()?`.
    pub fn read<T: FromRow>(&self) -> Result<T> {
        T::from_row(self)
    }

    /// A value in its physical form, and its type; `None` where there is no such column.
    pub fn value(&self, column: usize) -> Option<(Value, Type)> {
        let field = self.schema.fields().get(column)?;
        Some((self.batch.columns[column].value(self.at), field.ty))
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.schema.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.schema.is_empty()
    }
}

/// A column by its number, counted from 0, or by its name: as it is, or if there is none such in any case.
pub trait ColumnIndex {
    #[doc(hidden)]
    fn position(&self, schema: &Schema) -> Result<usize>;
}

impl ColumnIndex for usize {
    fn position(&self, schema: &Schema) -> Result<usize> {
        match *self < schema.len() {
            true => Ok(*self),
            false => {
                let message = format!("there is no column {self} in a row of {}", schema.len());
                Err(Error::new(SqlState::UndefinedColumn, message).with_hint("columns are counted from 0"))
            }
        }
    }
}

impl ColumnIndex for str {
    fn position(&self, schema: &Schema) -> Result<usize> {
        let named = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..schema.len()).filter(|at| same(&schema.fields()[*at].name)).collect()
        };
        let mut found = named(&|name| name == self);
        if found.is_empty() {
            found = named(&|name| name.to_lowercase() == self.to_lowercase());
        }
        match found.as_slice() {
            [only] => Ok(*only),
            [] => {
                let error =
                    Error::new(SqlState::UndefinedColumn, format!("the row has no column \"{self}\""));
                let names = || schema.fields().iter().map(|field| field.name.as_str());
                Err(match catalog::nearest(self, names()) {
                    Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                    None => {
                        error.with_hint(format!("its columns: {}", names().collect::<Vec<_>>().join(", ")))
                    }
                })
            }
            several => {
                let message = format!("the row has {} columns named \"{self}\"", several.len());
                Err(Error::new(SqlState::AmbiguousColumn, message)
                    .with_hint("read it by its number, or give the columns names of their own with AS"))
            }
        }
    }
}

impl ColumnIndex for String {
    fn position(&self, schema: &Schema) -> Result<usize> {
        self.as_str().position(schema)
    }
}

impl<I: ColumnIndex + ?Sized> ColumnIndex for &I {
    fn position(&self, schema: &Schema) -> Result<usize> {
        (**self).position(schema)
    }
}

/// What a whole row is read as: tuples of as many values.
pub trait FromRow: Sized {
    /// Fails when the row has another number of values, or one that its type cannot be read as.
    fn from_row(row: &Row) -> Result<Self>;
}

macro_rules! tuples {
    ($(($count:literal $($at:tt $value:ident)*))*) => {
        $(impl<$($value: FromSql),*> FromRow for ($($value,)*) {
            fn from_row(row: &Row) -> Result<Self> {
                if row.len() != $count {
                    let message = format!("a row of {} columns is read as one of {}", row.len(), $count);
                    return Err(Error::new(SqlState::DatatypeMismatch, message));
                }
                Ok(($(row.get::<$value>($at)?,)*))
            }
        })*
    };
}

tuples! {
    (1 0 A)
    (2 0 A 1 B)
    (3 0 A 1 B 2 C)
    (4 0 A 1 B 2 C 3 D)
    (5 0 A 1 B 2 C 3 D 4 E)
    (6 0 A 1 B 2 C 3 D 4 E 5 F)
    (7 0 A 1 B 2 C 3 D 4 E 5 F 6 G)
    (8 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H)
    (9 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I)
    (10 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J)
    (11 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K)
    (12 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K 11 L)
}

impl ResultSet {
    /// The rows one by one.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        let mut number = 0;
        self.batches().iter().flat_map(move |batch| {
            let first = number;
            number += batch.rows as u64;
            let batch = Arc::new(batch.clone());
            (0..batch.rows).map(move |at| Row {
                schema: self.schema().clone(),
                batch: batch.clone(),
                at,
                number: first + at as u64,
            })
        })
    }
}

/// A type's name without the modules it is in.
fn rust_name<T>() -> String {
    let mut short = String::new();
    let mut word = String::new();
    let mut letters = std::any::type_name::<T>().chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            ':' if letters.peek() == Some(&':') => {
                letters.next();
                word.clear();
            }
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            c => {
                short.push_str(&std::mem::take(&mut word));
                short.push(c);
            }
        }
    }
    short + &word
}
