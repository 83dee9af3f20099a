//! Many rows into a table by one INSERT ... SELECT over them, as batches of Arrow.
//!
//! Values take the types of the table's columns before they are inserted, as parameters would in their places: quoted
//! texts are read as the column's type, numbers are rounded, dates become instants. What the table refuses (a key
//! twice, a NULL, a CHECK) is found by inserting halves, in a transaction that is rolled back, until one row is left:
//! that takes as long again as the insert, and happens only after an error.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use sql::markers::{Item, Marked, RowOfInsert, row_of_insert};
use types::{Error, Field, Result, SqlState, Type, Value, cast, zone};
use vector::arrow::{arrow_schema, arrow_type, to_record_batch, type_from_arrow};
use vector::{Batch, Vector};

use super::outcome::{affected, in_row};
use crate::Session;

/// An INSERT whose rows come as columns.
#[derive(Clone, Debug)]
pub struct BulkInsert {
    head: String,
    rest: String,
    items: Vec<Place>,
    columns: Vec<BulkColumn>,
}

/// What stands in the row.
#[derive(Clone, Debug)]
enum Place {
    /// The value of this number among the columns.
    Column(usize),
    Text(String),
}

/// A column of the rows to insert: one parameter.
#[derive(Clone, Debug)]
pub struct BulkColumn {
    /// The table's column that it goes into.
    pub name: String,
    /// The type of that column.
    pub target: Type,
    /// The type that its values have here.
    pub held: Type,
    /// Which parameter it is.
    pub marked: Marked,
    /// The table's own type has no counterpart in Arrow, so it is cast.
    cast: bool,
}

impl BulkColumn {
    /// Whether its values are those of the parameter of this number, counted from 1.
    pub fn is_parameter(&self, number: usize) -> bool {
        matches!(self.marked, Marked::Number(own) if own == number)
    }
}

impl BulkInsert {
    /// An INSERT of one row of parameters; `None` for other statements.
    pub fn of_statement(session: &Session, text: &str) -> Result<Option<BulkInsert>> {
        let Some(row) = row_of_insert(text) else { return Ok(None) };
        let columns: Vec<&str> = row.columns.iter().map(|name| name.as_ref()).collect();
        let schema = session.columns_to_insert(&row.table, &columns)?;
        let given = row.items.len();
        let fits = if row.columns.is_empty() { given <= schema.len() } else { given == schema.len() };
        // Running it tells what is wrong.
        Ok(fits.then(|| Self::new(row, schema.fields())))
    }

    /// Rows for the columns of a table, all of them if none are named. Names are written as in SQL.
    pub fn into_table(session: &Session, table: &str, columns: &[&str]) -> Result<BulkInsert> {
        let named = || {
            let message = format!("\"{table}\" is no name of a table");
            Error::new(SqlState::SyntaxError, message)
                .with_hint("write it as in SQL: t, depot.t; names with blanks or capitals in double quotes")
        };
        let list = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
        let shape = row_of_insert(&format!("INSERT INTO {table}{list} VALUES (1)")).ok_or_else(named)?;
        if shape.table != table.trim() || shape.columns.len() != columns.len() {
            return Err(named());
        }
        let schema = session.columns_to_insert(table, columns)?;
        let items = (1..=schema.len()).map(|number| Item::Parameter(Marked::Number(number))).collect();
        Ok(Self::new(RowOfInsert { items, ..shape }, schema.fields()))
    }

    /// The columns that an INSERT without names fills, as a select list: all but generated ones. The table's name is
    /// written as in SQL; one that no table has is found when it is used.
    pub fn filled_columns(session: &Session, table: &str) -> Result<String> {
        let Ok(filled) = session.columns_to_insert(table, &[]) else { return Ok("*".to_owned()) };
        let names = filled.fields().iter().map(|field| types::quote::name(&field.name));
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    fn new(row: RowOfInsert, fields: &[Field]) -> BulkInsert {
        let mut columns = Vec::new();
        let items = row.items.into_iter().zip(fields).map(|(item, field)| match item {
            Item::Text(text) => Place::Text(text),
            Item::Parameter(marked) => {
                let (held, cast) = held_as(field.ty);
                columns.push(BulkColumn { name: field.name.clone(), target: field.ty, held, marked, cast });
                Place::Column(columns.len() - 1)
            }
        });
        let items = items.collect();
        let names = match row.columns.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        BulkInsert { head: format!("INSERT INTO {}{names}", row.table), rest: row.rest, items, columns }
    }

    /// The parameters in the order of their places.
    pub fn columns(&self) -> &[BulkColumn] {
        &self.columns
    }

    /// Columns of the rows' values, of the types that they are held in.
    pub fn batch(&self, columns: Vec<Vector>, rows: usize) -> Result<RecordBatch> {
        let field = |(at, column): (usize, &BulkColumn)| Field::new(internal_name(at), column.held, true);
        let schema = types::Schema::new(self.columns.iter().enumerate().map(field).collect());
        to_record_batch(&Batch::new(columns, rows), &arrow_schema(&schema))
    }

    /// Arrow's columns under the names that they have here; their number must be that of the columns.
    pub fn renamed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if batch.num_columns() != self.columns.len() {
            let message = format!("a batch of {} columns for {}", batch.num_columns(), self.columns.len());
            return Err(Error::new(SqlState::DatatypeMismatch, message).with_hint(
                "a batch has the columns of the table, or those that were named, in their order",
            ));
        }
        let rename =
            |(at, field): (usize, &Arc<ArrowField>)| field.as_ref().clone().with_name(internal_name(at));
        let fields: Vec<ArrowField> = batch.schema().fields().iter().enumerate().map(rename).collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        RecordBatch::try_new(schema, batch.columns().to_vec()).map_err(|error| {
            Error::new(SqlState::DatatypeMismatch, format!("the batch is not valid: {error}"))
        })
    }

    /// Inserts batches of one schema, whose names are this INSERT's. `first` is the number of the first row, for
    /// errors. Returns how many rows the statement has inserted.
    pub fn insert(&self, session: &Session, batches: &[RecordBatch], first: u64) -> Result<u64> {
        let Some(schema) = batches.first().map(RecordBatch::schema) else { return Ok(0) };
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows == 0 {
            return Ok(0);
        }
        let text = self.text(session, &schema);
        let work = Work { session, text, schema, batches };
        // An implicit block has no savepoints: an error there ends it without a look for the row.
        let implicit = session.is_in_implicit_block();
        let in_block = session.in_transaction() && !implicit;
        if in_block {
            session.execute(SAVE)?;
        }
        match work.run(0, rows) {
            Ok(rows) => {
                if in_block {
                    session.execute(RELEASE)?;
                }
                Ok(rows)
            }
            Err(error) if implicit || !is_of_a_row(&error) => Err(error),
            Err(error) => {
                session.execute(if in_block { TAKE_BACK } else { "BEGIN" })?;
                let found = work.first_refused(rows);
                match in_block {
                    true => session.fail_transaction(),
                    // Nothing of it was to stay.
                    false => _ = session.execute("ROLLBACK"),
                }
                Err(match found {
                    Some((row, error)) => in_row(error, first + row as u64),
                    // Others have changed the table meanwhile.
                    None => error,
                })
            }
        }
    }

    fn text(&self, session: &Session, schema: &SchemaRef) -> String {
        let item = |place: &Place| match place {
            Place::Text(text) => text.clone(),
            Place::Column(at) => {
                let column = &self.columns[*at];
                let is_text = type_from_arrow(schema.field(*at).data_type()).is_some_and(Type::is_text);
                let name = internal_name(*at);
                match column.cast || (is_text && !column.target.is_text()) {
                    true => format!("CAST({name} AS {})", column.target),
                    false => name,
                }
            }
        };
        let items: Vec<String> = self.items.iter().map(item).collect();
        let source = source_name(session);
        format!("{} SELECT {} FROM \"{source}\" WHERE TRUE {}", self.head, items.join(", "), self.rest)
    }
}

const SAVE: &str = "SAVEPOINT \"rows to insert\"";
const RELEASE: &str = "RELEASE SAVEPOINT \"rows to insert\"";
const TAKE_BACK: &str = "ROLLBACK TO SAVEPOINT \"rows to insert\"";
const SAVE_PART: &str = "SAVEPOINT \"part of rows\"";
const TAKE_BACK_PART: &str = "ROLLBACK TO SAVEPOINT \"part of rows\"";

fn internal_name(column: usize) -> String {
    format!("value_{}", column + 1)
}

/// A name that no table has, and no other thread of the session uses.
fn source_name(session: &Session) -> String {
    format!("rows to insert {}", session.next_name())
}

/// Rows on their way.
struct Work<'a> {
    session: &'a Session,
    text: String,
    schema: SchemaRef,
    batches: &'a [RecordBatch],
}

impl Work<'_> {
    /// Inserts the rows of a range.
    fn run(&self, from: usize, to: usize) -> Result<u64> {
        let mut parts = Vec::new();
        let mut begin = 0;
        for batch in self.batches {
            let end = begin + batch.num_rows();
            let (low, high) = (from.max(begin), to.min(end));
            if low < high {
                parts.push(batch.slice(low - begin, high - low));
            }
            begin = end;
        }
        let name = self.text.split('"').find(|part| part.starts_with("rows to insert ")).unwrap_or_default();
        self.session.register(name, self.schema.clone(), parts);
        let outcome = self.session.query(&self.text);
        self.session.unregister(name);
        outcome.map(|result| affected(&result))
    }

    /// The first row that is refused, and why. Rows before it have been inserted then.
    fn first_refused(&self, rows: usize) -> Option<(usize, Error)> {
        // Rows before `good` are in, and those from `good` to `bad` are refused, if they still are.
        let (mut good, mut bad) = (0, rows);
        let mut why = self.refused(good, bad)??;
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match self.refused(good, middle)? {
                None => good = middle,
                Some(error) => (bad, why) = (middle, error),
            }
        }
        // What one row alone is refused for is not what it was refused for with others.
        if bad < rows || rows > 1 {
            why = self.refused(good, bad)?.unwrap_or(why);
        }
        Some((good, why))
    }

    /// Inserts a range, and says why it is refused; nothing of it is in then. `None` where there was another error.
    fn refused(&self, from: usize, to: usize) -> Option<Option<Error>> {
        self.session.execute(SAVE_PART).ok()?;
        match self.run(from, to) {
            Ok(_) => Some(None),
            Err(error) if is_of_a_row(&error) => {
                self.session.execute(TAKE_BACK_PART).ok()?;
                Some(Some(error))
            }
            Err(_) => None,
        }
    }
}

/// Whether an error may be about a row's values.
fn is_of_a_row(error: &Error) -> bool {
    matches!(&error.state().code()[..2], "21" | "22" | "23")
}

/// The type in which values of a column come through Arrow, and whether they are then cast.
fn held_as(ty: Type) -> (Type, bool) {
    let is_json = |ty: Type| ty == Type::Json;
    match type_from_arrow(&arrow_type(ty)) {
        Some(held) if held == ty => (held, false),
        Some(held) if held.is_nested() => (held, ty.holds(&is_json)),
        Some(Type::Text) => (Type::Text, !matches!(ty, Type::Char(_) | Type::Varchar(_))),
        Some(held) => (held, true),
        None => (Type::Text, true),
    }
}

impl BulkColumn {
    /// A parameter's value as this column holds it, converted as an assignment converts it; the session's time zone
    /// is the current one.
    pub fn assigned(&self, value: &Value, from: Type) -> Result<Value> {
        let (held, target) = (self.held, self.target);
        if let (Type::Char(_) | Type::Varchar(_), true, Some(text)) =
            (target, from.is_text(), value.as_text())
        {
            return cast::fit_text(text, target);
        }
        if value.is_null() || from == held || (from.is_text() && held.is_text()) {
            return Ok(value.clone());
        }
        let temporal = |ty: Type| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
        let plain = |ty: Type| !ty.is_nested() && ty != Type::Bytea;
        match from {
            from if from.is_text() => cast::parse_text(value.as_text().unwrap_or_default(), held),
            from if (from.is_numeric() && held.is_numeric())
                || (temporal(from) && temporal(held))
                || (from.is_interval() && held.is_interval())
                || (from.is_nested() && held.is_nested())
                || (held.is_text() && target.is_text() && plain(from)) =>
            {
                cast::cast_value(value, from, held)
            }
            _ => {
                let message = format!("the column is of type {target}, and the value of type {from}");
                Err(Error::new(SqlState::DatatypeMismatch, message))
            }
        }
    }

    /// The error about a value of this column.
    pub fn at_fault(&self, error: Error, row: u64) -> Error {
        let message = format!("row {row}, column \"{}\": {}", self.name, error.message());
        error.with_message(message)
    }
}

/// Does what converts values in the session's time zone.
pub(crate) fn in_zone_of<T>(session: &Session, work: impl FnOnce() -> T) -> T {
    let zone = session.settings().time_zone;
    zone::within(zone, work)
}
