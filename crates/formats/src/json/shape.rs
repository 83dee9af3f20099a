//! What values of a key have been seen, and the type that holds all of them.

use serde_json::Value as Json;
use types::{Type, cast};

use crate::text::{Guess, Order};

/// Keys of nested objects that are told apart; more are taken for a mapping of names.
const KEYS_MAX: usize = 1000;

#[derive(Clone, Debug, Default)]
pub struct Shape {
    null: bool,
    boolean: bool,
    integer: bool,
    /// Whole numbers beyond BIGINT.
    wide: bool,
    double: bool,
    /// Numbers beyond DOUBLE PRECISION, and texts with objects: only the text holds them.
    odd: bool,
    text: Option<Guess>,
    list: Option<Box<Shape>>,
    pub object: Option<Vec<(String, Shape)>>,
}

impl Shape {
    pub fn add(&mut self, value: &Json) {
        match value {
            Json::Null => self.null = true,
            Json::Bool(_) => self.boolean = true,
            Json::Number(number) => {
                let text = number.to_string();
                if number.is_i64() {
                    self.integer = true;
                } else if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                    let wide = Type::Decimal { precision: 38, scale: 0 };
                    if cast::parse_text(&text, wide).is_ok() { self.wide = true } else { self.double = true }
                } else {
                    self.double = true;
                }
                self.odd |= cast::parse_text(&text, Type::Double).is_err();
            }
            Json::String(text) => self.text.get_or_insert(Guess::NEW).add(text),
            Json::Array(elements) => {
                let list = self.list.get_or_insert_default();
                elements.iter().for_each(|element| list.add(element));
            }
            Json::Object(entries) => {
                let known = self.object.get_or_insert_default();
                for (number, (key, value)) in entries.iter().enumerate() {
                    let at = match known.get(number) {
                        Some((name, _)) if name == key => Some(number),
                        _ => known.iter().position(|(name, _)| name == key),
                    };
                    let at = at.unwrap_or_else(|| {
                        known.push((key.clone(), Shape::default()));
                        known.len() - 1
                    });
                    known[at].1.add(value);
                    if known.len() > KEYS_MAX {
                        self.odd = true;
                        break;
                    }
                }
            }
        }
    }

    /// The type of elements and fields: of what nothing is known, anything may come.
    fn inner(&self) -> Type {
        let unknown = !self.has_scalars() && self.list.is_none();
        let empty = self.object.as_ref().is_none_or(Vec::is_empty);
        if self.odd || (unknown && empty) { Type::Json } else { self.ty() }
    }

    /// Nothing has been seen.
    pub fn is_empty(&self) -> bool {
        !self.null && !self.has_scalars() && self.list.is_none() && self.object.is_none()
    }

    pub fn is_object(&self) -> bool {
        self.object.is_some() && !self.has_scalars() && self.list.is_none() && !self.odd
    }

    pub fn has_scalars(&self) -> bool {
        self.boolean || self.integer || self.wide || self.double || self.text.is_some()
    }

    /// The type of a column. Scalars of several kinds are texts; whatever disagrees otherwise is JSON.
    pub fn ty(&self) -> Type {
        let number = self.integer || self.wide || self.double;
        let scalars = [self.boolean, number, self.text.is_some()].iter().filter(|kind| **kind).count();
        match (&self.list, &self.object) {
            // Only its text holds it.
            _ if self.odd => return Type::Text,
            (None, None) if scalars != 1 => return Type::Text,
            (None, None) => {}
            (Some(elements), None) if scalars == 0 => {
                return Type::list(elements.inner()).unwrap_or(Type::Json);
            }
            (None, Some(keys)) if scalars == 0 && !keys.is_empty() => {
                let fields = keys.iter().map(|(name, shape)| (name.clone(), shape.inner())).collect();
                return Type::structure(fields).unwrap_or(Type::Json);
            }
            // Values that are nested too deeply to be looked at count as objects without keys.
            (None, Some(_)) if scalars == 0 => return Type::Text,
            _ => return Type::Json,
        }
        match &self.text {
            _ if self.boolean => Type::Boolean,
            _ if self.double => Type::Double,
            _ if self.wide => Type::Decimal { precision: 38, scale: 0 },
            _ if self.integer => Type::BigInt,
            Some(text) => match text.ty(Order::Unknown) {
                (ty @ (Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time), None) => ty,
                _ => Type::Text,
            },
            None => Type::Text,
        }
    }
}
