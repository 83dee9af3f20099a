//! What values of a key have been seen, and the type that holds all of them.
//!
//! `sniff` adds each value of the sample to the `Shape` of its column. A shape only grows: it keeps which kinds of
//! values came (numbers by size and fraction, texts, lists, objects with shapes of their own), so that the type does
//! not depend on the order of the records. Where no type holds all values digit for digit, the column is TEXT or
//! JSON. The numbers of keys and of levels are bounded; beyond, an object counts as a map or as JSON.

use types::json::{self, Parsed};
use types::{Result, Type, Zone, cast, digits};

use crate::text::{Given, Guess, Order, Pattern};

/// Keys of nested objects that are told apart; more are taken for a mapping of names.
const KEYS_MAX: usize = 1000;
/// Levels that have types: a column whose values are nested deeper counts as an object without keys.
const DEPTH_MAX: usize = 64;
const DECIMAL_DIGITS: usize = 38;

/// The kinds of values that a column, an element or a field has had.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    null: bool,
    boolean: bool,
    integer: bool,
    /// Whole numbers beyond BIGINT.
    wide: bool,
    /// Numbers with a fraction or an exponent.
    fraction: bool,
    /// Whether some number would be changed by DOUBLE PRECISION, or by DECIMAL, and the most digits before and behind
    /// the point.
    no_double: bool,
    no_decimal: bool,
    digits: (usize, usize),
    /// Numbers that no type holds, and texts with objects: only the text holds them.
    odd: bool,
    text: Option<Guess>,
    /// A text is not of the form that was given of dates, of timestamps.
    no_date: bool,
    no_timestamp: bool,
    list: Option<Box<Shape>>,
    /// The keys of objects in the order in which they came, with the shapes of their values; `None` without an
    /// object.
    pub object: Option<Vec<(String, Shape)>>,
}

/// The forms of dates and timestamps that were given.
#[derive(Default)]
pub struct DateForms {
    date: Option<Pattern>,
    timestamp: Option<Pattern>,
}

impl DateForms {
    /// The forms that the options give; an error when one is no valid pattern.
    pub fn of(given: &Given) -> Result<DateForms> {
        let pattern = |form: &Option<String>| form.as_deref().map(Pattern::new).transpose();
        Ok(DateForms { date: pattern(&given.date_format)?, timestamp: pattern(&given.timestamp_format)? })
    }
}

impl Shape {
    /// Adds a value by its text, which is JSON.
    pub fn add(&mut self, text: &str, forms: &DateForms) {
        self.add_at(text, 0, forms);
    }

    fn add_at(&mut self, text: &str, depth: usize, forms: &DateForms) {
        if depth == 1 && is_deep(text) {
            // Only its text holds it.
            self.object.get_or_insert_default();
            return;
        }
        match json::parse(text) {
            Parsed::Null => self.null = true,
            Parsed::Bool(_) => self.boolean = true,
            Parsed::Number(number) => self.add_number(number),
            Parsed::Text(text) => {
                self.text.get_or_insert(Guess::NEW).add(&text);
                // Only columns can be dates; nested texts are read as JSON.
                if depth == 1 {
                    self.no_date |= forms.date.as_ref().is_some_and(|form| form.date(&text).is_none());
                    self.no_timestamp |= forms
                        .timestamp
                        .as_ref()
                        .is_some_and(|form| form.timestamp(&text, Zone::Utc).is_none());
                }
            }
            Parsed::Array(elements) => {
                let list = self.list.get_or_insert_default();
                elements.iter().for_each(|element| list.add_at(element.get(), depth + 1, forms));
            }
            Parsed::Object(entries) => {
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
                    known[at].1.add_at(value.get(), depth + 1, forms);
                    if known.len() > KEYS_MAX {
                        self.odd = true;
                        break;
                    }
                }
            }
        }
    }

    fn add_number(&mut self, number: &str) {
        let fixed = digits::fixed(number);
        let whole = number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        match whole {
            true if number.parse::<i64>().is_ok() => self.integer = true,
            true => self.wide = true,
            false => self.fraction = true,
        }
        match fixed {
            Some((before, behind)) => {
                self.digits = (self.digits.0.max(before), self.digits.1.max(behind));
            }
            None => self.no_decimal = true,
        }
        self.no_double |= !digits::held_by_double(number) || cast::parse_text(number, Type::Double).is_err();
        self.odd |= self.numbers() == Type::Text;
    }

    /// The type that holds all numbers, digit for digit; TEXT where none does.
    fn numbers(&self) -> Type {
        let fits = !self.no_decimal && self.digits.0 + self.digits.1 <= DECIMAL_DIGITS;
        match self.fraction {
            false if !self.wide => Type::BigInt,
            true if !self.no_double => Type::Double,
            _ if fits => Type::Decimal { precision: DECIMAL_DIGITS as u8, scale: self.digits.1 as u8 },
            _ => Type::Text,
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

    /// All values are objects, or NULL.
    pub fn is_object(&self) -> bool {
        self.object.is_some() && !self.has_scalars() && self.list.is_none() && !self.odd
    }

    /// Some value is a boolean, a number or a text.
    pub fn has_scalars(&self) -> bool {
        self.boolean || self.is_number() || self.text.is_some()
    }

    fn is_number(&self) -> bool {
        self.integer || self.wide || self.fraction
    }

    /// The type of a column, whose texts may be dates and timestamps in the forms that were given.
    pub fn column(&self, forms: &DateForms) -> Type {
        let ty = self.ty();
        match self.text.is_some() && ty == Type::Text && !self.odd && !self.boolean && !self.is_number() {
            true if forms.date.is_some() && !self.no_date => Type::Date,
            true if forms.timestamp.is_some() && !self.no_timestamp => Type::Timestamp,
            _ => ty,
        }
    }

    /// The type of a column. Scalars of several kinds are texts; whatever disagrees otherwise is JSON.
    pub fn ty(&self) -> Type {
        let scalars =
            [self.boolean, self.is_number(), self.text.is_some()].iter().filter(|kind| **kind).count();
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
            _ if self.is_number() => self.numbers(),
            Some(text) => match text.ty(Order::Unknown) {
                (ty @ (Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time), None) => ty,
                _ => Type::Text,
            },
            None => Type::Text,
        }
    }
}

/// Whether a text that is JSON is nested deeper than types are made.
fn is_deep(text: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
