//! Nested values as text, and read from it: `[1, NULL]`, `{'a': 1, 'b': x}`, `{key=value}`, `(1, x)` for a row
//! without names. Values inside are quoted if they could be taken for something else. Lists are also read in
//! PostgreSQL's form, `{1,2}`. A union is its member's value, and is read as the member that takes a text.
//!
//! What `format` writes, `parse` reads back. The reader goes over the bytes once and follows the type, not the text,
//! so that its recursion is bounded by the type's depth. Callers go through `cast`.

use super::encoding::{self, elements, entries, fields};
use super::inner::Inner;
use super::union;
use crate::{Error, Result, SqlState, Type, Value};

/// The text of a nested value of type `ty`, as casts to text and clients show it.
pub(crate) fn format(bytes: &[u8], ty: Type, inner: Inner) -> String {
    if let Some((_, member, slot)) = union::member_of(ty, bytes) {
        return (inner.show)(&encoding::slot_value(slot, member), member);
    }
    let mut out = String::new();
    push(bytes, ty, inner, &mut out);
    out
}

fn push(bytes: &[u8], ty: Type, inner: Inner, out: &mut String) {
    let item = |slot: Option<&[u8]>, ty: Type, out: &mut String| match slot {
        None => out.push_str("NULL"),
        Some(payload) if matches!(ty, Type::Union(_)) => push(payload, ty, inner, out),
        Some(payload) if ty.is_nested() => push(payload, ty, inner, out),
        Some(payload) => {
            let shown = (inner.show)(&encoding::value_of(payload, ty), ty);
            if ty.is_json() { out.push_str(&shown) } else { push_text(&shown, out) }
        }
    };
    match ty {
        Type::List(_) if ty.is_vector() => {
            let element = ty.element().unwrap_or(Type::Null);
            for (at, slot) in elements(ty, bytes).enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                item(slot, element, out);
            }
        }
        Type::Union(_) => {
            if let Some((_, member, slot)) = union::member_of(ty, bytes) {
                item(slot, member, out);
            }
        }
        Type::List(_) => {
            let element = ty.element().unwrap_or(Type::Null);
            out.push('[');
            for (at, slot) in elements(ty, bytes).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                item(slot, element, out);
            }
            out.push(']');
        }
        Type::Map(_) => {
            let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
            out.push('{');
            for (at, slot) in entries(ty, bytes).enumerate() {
                match (at, at % 2) {
                    (0, _) => {}
                    (_, 0) => out.push_str(", "),
                    _ => out.push('='),
                }
                item(slot, if at % 2 == 0 { key } else { value }, out);
            }
            out.push('}');
        }
        _ => {
            let types = ty.fields().unwrap_or_default();
            let named = types.iter().any(|(name, _)| !name.is_empty());
            out.push(if named { '{' } else { '(' });
            for (at, ((name, field), slot)) in types.iter().zip(fields(ty, bytes)).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                if named {
                    push_quoted(name, out);
                    out.push_str(": ");
                }
                item(slot, *field, out);
            }
            out.push(if named { '}' } else { ')' });
        }
    }
}

fn push_text(text: &str, out: &mut String) {
    let special = |b: u8| b"'\"\\,:=()[]{}".contains(&b);
    let blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let plain = !text.is_empty()
        && !text.bytes().any(special)
        && !text.eq_ignore_ascii_case("null")
        && !blank(text.chars().next())
        && !blank(text.chars().next_back());
    if plain { out.push_str(text) } else { push_quoted(text, out) }
}

fn push_quoted(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('\'');
}

/// Reads a nested value of type `ty`. If `lenient`, values inside that do not fit their type become NULL; malformed
/// text is an error in any case.
pub(crate) fn parse(text: &str, ty: Type, lenient: bool, inner: Inner) -> Result<Value> {
    if matches!(ty, Type::Union(_)) {
        return union::of_value(&Value::text(text), Type::Text, ty, lenient, inner.cast);
    }
    let mut reader = Reader { text, at: 0, ty, lenient, inner };
    let mut out = Vec::new();
    reader.nested(ty, &mut out)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("nothing may follow the closing bracket"));
    }
    Ok(Value::Bytes(out.into()))
}

/// A position in the text of a nested value.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The whole value's, for messages.
    ty: Type,
    lenient: bool,
    /// How values inside are read.
    inner: Inner,
}

/// What stands between two separators.
struct Item {
    text: String,
    quoted: bool,
}

impl Reader<'_> {
    fn wrong(&self, detail: &str) -> Error {
        let shown: String = self.text.chars().take(80).collect();
        Error::new(
            SqlState::InvalidTextRepresentation,
            format!("invalid input syntax for type {}: \"{shown}\"", self.ty.sql_name()),
        )
        .with_detail(format!("at byte {} of the text: {detail}", self.at))
        .with_hint("lists are written [1, 2], structs {'a': 1}, maps {key=value}")
    }
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }
    /// Skips blanks, then the byte if it comes next; says whether it did.
    fn eat(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// What stands up to the next blank; `None` at the end.
    fn word(&mut self) -> Option<&str> {
        self.blanks();
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len())];
        self.at += word.len();
        (!word.is_empty()).then_some(word)
    }

    /// A nested value's payload; the depth is the type's, which is bounded.
    fn nested(&mut self, ty: Type, out: &mut Vec<u8>) -> Result<()> {
        match ty {
            Type::List(_) if ty.is_vector() && !matches!(self.peek(), Some(b'[' | b'{')) => {
                let element = ty.element().unwrap_or(Type::Null);
                let parse = self.inner.parse;
                while let Some(word) = self.word() {
                    let value = parse(word, element)?;
                    encoding::push_slot(&value, element, out);
                }
                out.push(encoding::END);
            }
            Type::List(_) => {
                let element = ty.element().unwrap_or(Type::Null);
                let close = if self.eat(b'[') {
                    b']'
                } else if self.eat(b'{') {
                    b'}'
                } else {
                    return Err(self.wrong("a list begins with ["));
                };
                let mut first = true;
                while !self.eat(close) {
                    if !first && !self.eat(b',') {
                        return Err(self.wrong("a comma or the closing bracket is missing"));
                    }
                    first = false;
                    self.slot(element, &[b',', close], out)?;
                }
                out.push(encoding::END);
            }
            Type::Map(_) => {
                let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
                if !self.eat(b'{') {
                    return Err(self.wrong("a map begins with {"));
                }
                let mut known = std::collections::HashSet::new();
                let mut first = true;
                while !self.eat(b'}') {
                    if !first && !self.eat(b',') {
                        return Err(self.wrong("a comma or the closing bracket is missing"));
                    }
                    first = false;
                    let begin = out.len();
                    self.slot(key, b"=,}", out)?;
                    if !known.insert(out[begin..].to_vec()) {
                        return Err(self.wrong("a map has each key once"));
                    }
                    if out[begin] == encoding::NULL {
                        return Err(self.wrong("a map's key cannot be NULL"));
                    }
                    if !self.eat(b'=') {
                        return Err(self.wrong("= must stand between key and value"));
                    }
                    self.slot(value, b",}", out)?;
                }
                out.push(encoding::END);
            }
            _ => self.structure(ty, out)?,
        }
        Ok(())
    }

    fn structure(&mut self, ty: Type, out: &mut Vec<u8>) -> Result<()> {
        let types = ty.fields().unwrap_or_default();
        if self.eat(b'(') {
            for (at, (_, field)) in types.iter().enumerate() {
                if at > 0 && !self.eat(b',') {
                    return Err(self.wrong("the row has too few values"));
                }
                self.slot(*field, b",)", out)?;
            }
            return match self.eat(b')') {
                true => Ok(()),
                false => Err(self.wrong("the row has too many values")),
            };
        }
        if !self.eat(b'{') {
            return Err(self.wrong("a struct begins with {"));
        }
        let mut slots: Vec<Option<Vec<u8>>> = vec![None; types.len()];
        let mut first = true;
        while !self.eat(b'}') {
            if !first && !self.eat(b',') {
                return Err(self.wrong("a comma or the closing bracket is missing"));
            }
            first = false;
            let name = self.item(b":,}")?.text;
            let place = types.iter().position(|(own, _)| *own == name);
            let place = place.or_else(|| types.iter().position(|(own, _)| own.eq_ignore_ascii_case(&name)));
            let Some(place) = place else {
                return Err(self.wrong(&format!("the struct has no field \"{name}\"")));
            };
            if !self.eat(b':') {
                return Err(self.wrong(": must stand between name and value"));
            }
            let mut slot = Vec::new();
            self.slot(types[place].1, b",}", &mut slot)?;
            slots[place] = Some(slot);
        }
        for slot in slots {
            match slot {
                Some(slot) => out.extend(slot),
                None => out.push(encoding::NULL),
            }
        }
        Ok(())
    }

    /// Reads one value up to a separator in `ends`, and appends its slot.
    fn slot(&mut self, ty: Type, ends: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.blanks();
        let is_union = matches!(ty, Type::Union(_));
        if ty.is_nested() && !is_union && matches!(self.peek(), Some(b'[' | b'{' | b'(')) {
            out.push(encoding::VALUE);
            return self.nested(ty, out);
        }
        let item = if ty.is_json() { self.json(ends)? } else { self.item(ends)? };
        if !item.quoted && item.text.eq_ignore_ascii_case("null") {
            out.push(encoding::NULL);
            return Ok(());
        }
        if ty.is_nested() && !is_union && !item.quoted {
            if self.lenient {
                out.push(encoding::NULL);
                return Ok(());
            }
            return Err(self.wrong(&format!("{} is no {}", item.text, ty.sql_name())));
        }
        let value = match ty {
            Type::Null => return Err(self.wrong("only NULL may stand here")),
            _ => (self.inner.cast)(&Value::text(&item.text), Type::Text, ty, self.lenient)?,
        };
        encoding::push_slot(&value, ty, out);
        Ok(())
    }

    /// JSON up to a separator outside its strings and brackets.
    fn json(&mut self, ends: &[u8]) -> Result<Item> {
        let begin = self.at;
        let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
        while let Some(byte) = self.peek() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_string,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                _ if depth == 0 && ends.contains(&byte) => break,
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        if self.at == self.text.len() {
            return Err(self.wrong("the closing bracket is missing"));
        }
        Ok(Item { text: self.text[begin..self.at].trim().to_owned(), quoted: false })
    }

    /// Text up to a separator outside quotes and brackets.
    fn item(&mut self, ends: &[u8]) -> Result<Item> {
        self.blanks();
        let mut text = String::new();
        if let Some(quote @ (b'\'' | b'"')) = self.peek() {
            let mut rest = self.text[self.at + 1..].char_indices();
            while let Some((place, c)) = rest.next() {
                match c {
                    '\\' => text.extend(rest.next().map(|(_, c)| c)),
                    c if c == char::from(quote) => {
                        self.at += place + 2;
                        self.blanks();
                        return Ok(Item { text, quoted: true });
                    }
                    c => text.push(c),
                }
            }
            return Err(self.wrong("a quote is not closed"));
        }
        let begin = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                _ if depth == 0 && ends.contains(&byte) => break,
                b'[' | b'{' | b'(' => depth += 1,
                b']' | b'}' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        if self.at == self.text.len() {
            return Err(self.wrong("the closing bracket is missing"));
        }
        // Both ends are ASCII bytes' places, so characters stay whole.
        let text = self.text[begin..self.at].trim().to_owned();
        if text.is_empty() {
            return Err(self.wrong("a value is missing"));
        }
        Ok(Item { text, quoted: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::INNER;

    #[test]
    fn what_is_shown_is_read_again() {
        let record = Type::structure(vec![("a".into(), Type::Integer), ("it's".into(), Type::Text)]).unwrap();
        let map = Type::map(Type::Text, Type::list(record).unwrap()).unwrap();
        let text =
            r"{k=[{'a': 1, 'it\'s': x y}, NULL], 'a,b'=[], 'null'=NULL, z=[{'a': NULL, 'it\'s': ' \'\\'}]}";
        let value = parse(text, map, false, INNER).unwrap();
        assert_eq!(format(value.as_bytes().unwrap(), map, INNER), text);
        let ints = Type::list(Type::Integer).unwrap();
        for text in ["[1,2,  NULL ]", "{1,2,null}", " [ 1 , 2 , NULL ] "] {
            let value = parse(text, ints, false, INNER).unwrap();
            assert_eq!(format(value.as_bytes().unwrap(), ints, INNER), "[1, 2, NULL]");
        }
    }

    #[test]
    fn wrong_texts_are_errors() {
        let ints = Type::list(Type::Integer).unwrap();
        let record = Type::structure(vec![("a".into(), ints)]).unwrap();
        for text in ["", "[", "[1", "[1,", "[1,]", "[,1]", "1", "[1]]", "[x]", "['1", "[[1]]", "[1 2]"] {
            assert!(parse(text, ints, false, INNER).is_err(), "{text}");
        }
        for text in ["{", "{a", "{a:", "{a: 1}", "{a: [1]", "{b: [1]}", "([1], 2)", "()", "{a [1]}"] {
            assert!(parse(text, record, false, INNER).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000), ints, false, INNER).is_err());
    }
}
