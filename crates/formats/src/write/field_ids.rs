//! FIELD_IDS of Parquet: numbers by which readers find columns and their parts whatever they are called.
//!
//! The statement gives them as paths and numbers, or has them counted: columns and their parts in order, from 0. They are
//! kept in the file's schema alone; the Arrow schema that values are written with does not have them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use types::{Error, Result, SqlState};

/// Separates the names of a path.
pub const STEP: char = '\u{1}';

/// Which numbers the columns get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FieldIds {
    /// None.
    #[default]
    None,
    /// Counted from 0.
    Counted,
    /// By path, the names joined by `STEP`.
    Given(Vec<(String, i32)>),
}

impl FieldIds {
    /// Adds what one entry of the option says.
    pub(super) fn add(&mut self, value: &str) -> Result<()> {
        let invalid = |message: String| {
            Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("FIELD_IDS is 'auto', or {column: number, list: {__duckdb_field_id: number, element: number}}")
        };
        match (value.split_once('\0'), &mut *self) {
            (None, Self::None) if value.eq_ignore_ascii_case("auto") => *self = Self::Counted,
            (Some((path, number)), Self::None | Self::Given(_)) => {
                let number = number.trim();
                let known = number.parse().ok().filter(|number| *number >= 0);
                let known = known.ok_or_else(|| invalid(format!("\"{number}\" is no number of a field")))?;
                let mut given = match std::mem::take(self) {
                    Self::Given(given) => given,
                    _ => vec![],
                };
                let shown = || path.replace(STEP, ".");
                if given.iter().any(|(other, _)| other.eq_ignore_ascii_case(path)) {
                    return Err(invalid(format!("\"{}\" has two numbers in FIELD_IDS", shown())));
                }
                if given.iter().any(|(_, other)| *other == known) {
                    return Err(invalid(format!("the number {known} comes twice in FIELD_IDS")));
                }
                given.push((path.to_owned(), known));
                *self = Self::Given(given);
            }
            _ => return Err(invalid(format!("invalid value for option \"field_ids\": \"{value}\""))),
        }
        Ok(())
    }

    /// The schema with the numbers in it; `None` where there are none.
    ///
    /// # Errors
    /// A path that leads to no column or part of one.
    pub(super) fn numbered(&self, schema: &Schema) -> Result<Option<Schema>> {
        let mut given: HashMap<String, i32> = match self {
            Self::None => return Ok(None),
            Self::Counted => HashMap::new(),
            Self::Given(given) => given.iter().map(|(path, number)| (path.to_lowercase(), *number)).collect(),
        };
        let mut next = 0;
        let counts = *self == Self::Counted;
        let mut number = |path: &str| match counts {
            true => {
                next += 1;
                Some(next - 1)
            }
            false => given.remove(&path.to_lowercase()),
        };
        let fields: Vec<FieldRef> =
            schema.fields().iter().map(|field| of_field(field, field.name(), &mut number)).collect();
        let numbered = Schema::new_with_metadata(fields, schema.metadata().clone());
        match given.keys().min() {
            None => Ok(Some(numbered)),
            Some(path) => {
                let message = format!("column \"{}\" of FIELD_IDS does not exist", path.replace(STEP, "."));
                Err(Error::new(SqlState::UndefinedColumn, message)
                    .with_hint("parts of a list are called element, those of a map key and value"))
            }
        }
    }
}

/// The field and its parts with their numbers.
fn of_field(field: &Field, path: &str, number: &mut dyn FnMut(&str) -> Option<i32>) -> FieldRef {
    let own = number(path);
    let mut below = |part: &FieldRef, name: &str| of_field(part, &format!("{path}{STEP}{name}"), number);
    let ty = match field.data_type() {
        DataType::Struct(parts) => {
            DataType::Struct(parts.iter().map(|part| below(part, part.name())).collect())
        }
        DataType::List(part) => DataType::List(below(part, "element")),
        DataType::LargeList(part) => DataType::LargeList(below(part, "element")),
        DataType::ListView(part) => DataType::ListView(below(part, "element")),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(parts) => {
                let names = ["key", "value"];
                let parts = parts.iter().zip(names).map(|(part, name)| below(part, name)).collect();
                let entries = entries.as_ref().clone().with_data_type(DataType::Struct(parts));
                DataType::Map(Arc::new(entries), *sorted)
            }
            _ => field.data_type().clone(),
        },
        other => other.clone(),
    };
    let mut known = field.clone().with_data_type(ty);
    if let Some(own) = own {
        let mut metadata = known.metadata().clone();
        metadata.insert(PARQUET_FIELD_ID_META_KEY.to_owned(), own.to_string());
        known = known.with_metadata(metadata);
    }
    Arc::new(known)
}
