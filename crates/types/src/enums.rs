//! ENUM: a type of labels, whose order is that in which they were declared.
//!
//! A value is held as the place of its label, from 0, in 32 bits, so that ordering, hashing and coding of integers
//! work for labels too. The labels are kept with the nested types (`nested`), once for each distinct type: types of
//! equal labels under different names are different, as in PostgreSQL; those that are written without a name,
//! `ENUM('a', 'b')`, are one by their labels.

use crate::nested::{NestedId, Shape};
use crate::{Error, Result, SqlState, Type, Value, names};

/// Most labels that a message shows.
const SHOWN_MAX: usize = 12;

impl Type {
    /// The ENUM type with these labels, in order; `name` is that of CREATE TYPE. A label that occurs twice is an
    /// error.
    pub fn enumeration(name: Option<&str>, labels: Vec<String>) -> Result<Type> {
        let mut known = std::collections::HashSet::with_capacity(labels.len());
        if let Some(twice) = labels.iter().find(|label| !known.insert(label.as_str())) {
            return Err(Error::new(
                SqlState::UniqueViolation,
                format!("the label \"{twice}\" of an enum comes twice"),
            ));
        }
        if labels.len() > i32::MAX as usize {
            return Err(Error::new(SqlState::StatementTooComplex, "an enum has too many labels"));
        }
        NestedId::of(Shape::Enum { name: name.map(str::to_owned), labels }).map(Type::Enum)
    }
    /// An enum's labels, in order; `None` for other types.
    pub fn labels(self) -> Option<&'static [String]> {
        let Type::Enum(id) = self else { return None };
        match &id.get().shape {
            Shape::Enum { labels, .. } => Some(labels),
            _ => None,
        }
    }
    /// The name that CREATE TYPE gave an enum; `None` for an enum that is written out, and for other types.
    pub fn given_name(self) -> Option<&'static str> {
        let Type::Enum(id) = self else { return None };
        match &id.get().shape {
            Shape::Enum { name, .. } => name.as_deref(),
            _ => None,
        }
    }
    /// The type written out, `ENUM('a', 'b')`, without regard to its name.
    pub fn written_labels(self) -> String {
        let labels: Vec<String> =
            self.labels().unwrap_or_default().iter().map(|label| crate::quote::text(label)).collect();
        format!("ENUM({})", labels.join(", "))
    }
    pub(crate) fn enum_name(self) -> String {
        let Some(given) = self.given_name() else { return self.written_labels() };
        match names::schema_and_name(given) {
            (Some(schema), name) => {
                format!("{}.{}", crate::quote::name_if_needed(schema), crate::quote::name_if_needed(name))
            }
            (None, name) => crate::quote::name_if_needed(name),
        }
    }
}

/// The label of a value of the enum `ty`; empty for NULL and for a number that is no label's place.
pub fn label_of(value: &Value, ty: Type) -> &'static str {
    let at = value.as_i64().and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| ty.labels()?.get(at)).map_or("", String::as_str)
}

/// The value of the enum `ty` with this label; `None` when it has no such label. Case counts.
pub fn value_of(label: &str, ty: Type) -> Option<Value> {
    let Type::Enum(id) = ty else { return None };
    id.get().code(label).map(Value::I32)
}

/// Reads a label.
pub(crate) fn parse(text: &str, ty: Type) -> Result<Value> {
    value_of(text, ty).ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        let message = format!("invalid input value for enum {}: \"{shown}\"", ty.sql_name());
        let error = Error::new(SqlState::InvalidTextRepresentation, message);
        let labels = ty.labels().unwrap_or_default();
        match names::nearest(text, labels.iter().map(String::as_str)) {
            Some(near) => error.with_hint(format!("did you mean '{near}'?")),
            None => {
                let all: Vec<String> = labels.iter().take(SHOWN_MAX).map(|l| format!("'{l}'")).collect();
                let more = if labels.len() > SHOWN_MAX { ", ..." } else { "" };
                error.with_hint(format!("its labels are {}{more}", all.join(", ")))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast;

    #[test]
    fn labels_are_values_in_order() {
        let labels = || vec!["sad".to_owned(), "ok".to_owned(), "it's".to_owned()];
        let mood = Type::enumeration(Some("mood"), labels()).unwrap();
        let other = Type::enumeration(Some("Other"), labels()).unwrap();
        let nameless = Type::enumeration(None, labels()).unwrap();
        assert!(mood != other && other != nameless);
        assert_eq!(mood, Type::enumeration(Some("mood"), labels()).unwrap());
        assert_eq!((mood.sql_name(), other.sql_name()), ("mood".to_owned(), "\"Other\"".to_owned()));
        assert_eq!(nameless.sql_name(), "ENUM('sad', 'ok', 'it''s')");
        assert_eq!(Type::from_sql_name(&nameless.sql_name()), Some(nameless));
        assert_eq!(
            Type::from_sql_name("STRUCT(a ENUM('x', 'y,)'))[]").unwrap().sql_name(),
            "STRUCT(a ENUM('x', 'y,)'))[]"
        );
        let ok = cast::parse_text("ok", mood).unwrap();
        assert_eq!((ok.clone(), cast::format_value(&ok, mood).as_str()), (Value::I32(1), "ok"));
        assert_eq!(cast::parse_text("OK", mood).unwrap_err().state(), SqlState::InvalidTextRepresentation);
        assert_eq!(cast::cast_value(&ok, mood, other).unwrap(), Value::I32(1));
        assert_eq!(cast::cast_value(&ok, mood, Type::Text).unwrap().as_text(), Some("ok"));
        assert!(Type::enumeration(None, vec!["a".into(), "a".into()]).is_err());
        assert!(Type::from_sql_name("ENUM('a'").is_none() && Type::from_sql_name("ENUM(a)").is_none());
    }
}
