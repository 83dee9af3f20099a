//! One record: the places of the values of the wanted keys.
//!
//! `serde_json` walks the record; `Keys` says which keys count and where their spans go. A value is never copied: its
//! span points into the record's text. The exception are texts with escapes, whose plain form is appended to a side
//! buffer that counts as standing behind the data. A missing key and `null` are `Span::NONE`, and of a key that is
//! repeated the last value counts. Readers keep one `Keys` for all records of a scan.

use std::collections::HashMap;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::Span;

/// The keys that are wanted, by place in the list of spans.
pub struct Keys {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// Values whose JSON text is wanted, quotes and all.
    raw: Vec<bool>,
    /// The record itself is the only value.
    whole: bool,
}

/// What cannot be read, and where in the text.
#[derive(Debug)]
pub struct Malformed {
    /// Offset of the fault in the text.
    pub at: usize,
    /// Why it cannot be read, without the place.
    pub cause: String,
    /// The text ended too early; more of it might do.
    pub cut: bool,
}

impl Malformed {
    /// The fault that the parser found in `text`, with its line and column turned into an offset.
    pub fn new(text: &[u8], error: &serde_json::Error) -> Malformed {
        let line = memchr::memchr_iter(b'\n', text).take(error.line().saturating_sub(1)).last();
        let begin = if error.line() > 1 { line.map_or(0, |at| at + 1) } else { 0 };
        let at = (begin + error.column().saturating_sub(1)).min(text.len().saturating_sub(1));
        let message = error.to_string();
        let cause = message.split(" at line ").next().unwrap_or_default().to_owned();
        // A number that ends behind its sign, its point or its `e` is no number, and with more text may be one.
        let last_line = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let at_end = error.line() > memchr::memchr_iter(b'\n', text).count()
            && error.column() >= text.len() - last_line;
        Malformed { at, cause, cut: error.is_eof() || at_end }
    }
}

impl Keys {
    /// The wanted keys in the order of their spans; `raw` says by key whether the JSON text is wanted. With `whole`
    /// the record itself is the only value.
    pub fn new(names: Vec<String>, raw: Vec<bool>, whole: bool) -> Keys {
        let places = names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        Keys { names, places, raw, whole }
    }

    /// Appends the record's spans, which are those of `data` and, for texts with escapes, of what is appended to
    /// `side`, as if it stood behind `data`.
    pub fn read(
        &self,
        data: &[u8],
        text: &[u8],
        side: &mut Vec<u8>,
        spans: &mut Vec<Span>,
    ) -> Result<(), Malformed> {
        let first = spans.len();
        spans.resize(first + self.names.len(), Span::NONE);
        let values = &mut spans[first..];
        let mut reader = serde_json::Deserializer::from_slice(text);
        let mut record = Record { keys: self, data, side, values };
        let object = text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        let read = if self.whole || !object {
            <&RawValue as serde::Deserialize>::deserialize(&mut reader).map(|raw| {
                if self.whole {
                    // Rows may be counted without a look at them.
                    if !record.values.is_empty() {
                        record.put(0, raw);
                    }
                } else if raw.get() != "null" {
                    return Err(());
                }
                Ok(())
            })
        } else {
            reader.deserialize_map(record).map(Ok)
        };
        match read.and_then(|read| reader.end().map(|()| read)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(())) => Err(Malformed { at: 0, cause: "the record is no object".to_owned(), cut: false }),
            Err(error) => Err(Malformed::new(text, &error)),
        }
    }
}

struct Record<'k, 'd, 's> {
    keys: &'k Keys,
    data: &'d [u8],
    side: &'s mut Vec<u8>,
    values: &'s mut [Span],
}

impl Record<'_, '_, '_> {
    fn put(&mut self, place: usize, raw: &RawValue) {
        let text = raw.get();
        // The text is part of `data`: so far behind its beginning.
        let start = (text.as_ptr() as usize).wrapping_sub(self.data.as_ptr() as usize);
        let whole = Span::of(start, text.len(), false);
        self.values[place] = match text.as_bytes() {
            b"null" => Span::NONE,
            _ if self.keys.raw[place] => whole,
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                Span::of(start + 1, inner.len(), true)
            }
            [b'"', ..] => match serde_json::from_str::<String>(text) {
                Ok(plain) => {
                    let start = self.data.len() + self.side.len();
                    self.side.extend_from_slice(plain.as_bytes());
                    Span::of(start, plain.len(), true)
                }
                // Half of a surrogate pair is no text; it is shown as it was written.
                Err(_) => whole,
            },
            _ => whole,
        };
    }
}

impl<'de> Visitor<'de> for Record<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(place) = map.next_key_seed(Key { keys: self.keys, expected })? {
            match place {
                Some(place) => {
                    expected = place + 1;
                    self.put(place, map.next_value::<&RawValue>()?);
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(serde::de::Error::custom("the record is no object"))
    }
}

/// The place of a key; objects of a file mostly have their keys in the same order.
struct Key<'k> {
    keys: &'k Keys,
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;
    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Option<usize>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }
    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        if self.keys.names.get(self.expected).is_some_and(|n| n == name) {
            return Ok(Some(self.expected));
        }
        Ok(self.keys.places.get(name).copied())
    }
}
