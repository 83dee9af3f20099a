//! Arrays as text, in PostgreSQL's form.
//!
//! ```text
//! array    [ lower : upper ] ... = { element , ... }       the bounds are read, checked for form and not kept
//! element  array | "quoted, \" and \\ escaped" | bare text | NULL
//! ```
//! The reader follows the levels of the type, so that its recursion is bounded by them. Lists of different lengths are
//! read: ours may hold them, and text shows them.

use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value};

use super::text;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// Reads the text of an array as a value of the list type.
pub(crate) fn array_text(source: &str, ty: Type) -> Result<Value> {
    let mut reader = Reader { text: source, at: 0 };
    reader.bounds()?;
    let mut out = Vec::new();
    reader.list(ty, &mut out)?;
    reader.blanks();
    match reader.peek() {
        None => Ok(Value::Bytes(out.into())),
        Some(_) => Err(reader.wrong("Junk after closing right brace.")),
    }
}

impl Reader<'_> {
    fn wrong(&self, detail: &str) -> Error {
        let shown: String = self.text.chars().take(80).collect();
        Error::new(SqlState::InvalidTextRepresentation, format!("malformed array literal: \"{shown}\""))
            .with_detail(detail)
            .with_hint("arrays are written {1,2}, in quotes where an element holds a comma: {\"a,b\"}")
    }
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == 0x0B) {
            self.at += 1;
        }
    }
    fn eat(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// `[1:2][0:3]=` before the braces.
    fn bounds(&mut self) -> Result<()> {
        let mut any = false;
        while self.eat(b'[') {
            any = true;
            let rest = &self.text[self.at..];
            let end = rest.find(']').ok_or_else(|| self.wrong("Missing \"]\" after array dimensions."))?;
            let (lower, upper) = rest[..end].split_once(':').unwrap_or(("1", &rest[..end]));
            let number = |text: &str| text.trim().parse::<i32>();
            match (number(lower), number(upper)) {
                (Ok(lower), Ok(upper)) if lower <= upper => self.at += end + 1,
                _ => return Err(self.wrong("\"[\" must introduce explicitly-specified array dimensions.")),
            }
        }
        if any && !self.eat(b'=') {
            return Err(self.wrong("Missing \"=\" after array dimensions."));
        }
        Ok(())
    }

    fn list(&mut self, ty: Type, out: &mut Vec<u8>) -> Result<()> {
        let element = ty.element().unwrap_or(Type::Null);
        if !self.eat(b'{') {
            return Err(self.wrong("Array value must start with \"{\" or dimension information."));
        }
        let mut first = true;
        while !self.eat(b'}') {
            if !first && !self.eat(b',') {
                return Err(self.wrong("Unexpected array element."));
            }
            first = false;
            self.blanks();
            if matches!(element, Type::List(_)) && self.peek() == Some(b'{') {
                out.push(encoding::VALUE);
                self.list(element, out)?;
                continue;
            }
            match self.element()? {
                None => out.push(encoding::NULL),
                Some(_) if matches!(element, Type::List(_)) => {
                    return Err(
                        self.wrong("Multidimensional arrays must have sub-arrays with matching dimensions.")
                    );
                }
                Some(item) => {
                    let value = text(item.as_bytes(), element)?;
                    encoding::push_slot(&value, element, out);
                }
            }
        }
        out.push(encoding::END);
        Ok(())
    }

    /// The next element's text; `None` for a bare NULL.
    fn element(&mut self) -> Result<Option<String>> {
        let mut item = String::new();
        if self.eat(b'"') {
            loop {
                match self.character()? {
                    ('"', false) => break,
                    (c, _) => item.push(c),
                }
            }
            self.blanks();
            return match self.peek() {
                Some(b',' | b'}') => Ok(Some(item)),
                _ => Err(self.wrong("Incorrectly quoted array element.")),
            };
        }
        let (mut escaped, mut kept) = (false, 0);
        loop {
            match self.peek() {
                Some(b',' | b'}') => break,
                Some(b'{' | b'"') => return Err(self.wrong("Unexpected array element.")),
                _ => {}
            }
            let (c, is_escaped) = self.character()?;
            item.push(c);
            escaped |= is_escaped;
            // Blanks behind the text do not count, unless they are escaped.
            if is_escaped || !(c.is_ascii_whitespace() || c == '\u{B}') {
                kept = item.len();
            }
        }
        item.truncate(kept);
        match item.as_str() {
            "" => Err(self.wrong("Unexpected \",\" or \"}\" character.")),
            null if !escaped && null.eq_ignore_ascii_case("null") => Ok(None),
            _ => Ok(Some(item)),
        }
    }

    /// The next character, and whether a backslash stood before it.
    fn character(&mut self) -> Result<(char, bool)> {
        let escaped = self.peek() == Some(b'\\');
        self.at += usize::from(escaped);
        match self.text[self.at..].chars().next() {
            Some(c) => {
                self.at += c.len_utf8();
                Ok((c, escaped))
            }
            None => Err(self.wrong("Unexpected end of input.")),
        }
    }
}
