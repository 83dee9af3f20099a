//! The shell's variables: `\\set NAME VALUE`, and `:NAME`, `:'NAME'` and `:"NAME"` in statements, as in psql.
//!
//! Only names that are set are replaced, outside of quotes and comments and not behind another colon or a word, so that
//! casts, slices and fields stay what they are.

use std::collections::BTreeMap;

use super::lexer::{self, Kind};

/// Values by name.
#[derive(Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Sets a variable, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    /// Removes a variable; an unknown name is ignored.
    pub fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// A line for each variable, by name: `NAME = 'VALUE'`.
    pub fn listed(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name} = '{value}'\n")).collect()
    }

    /// The text with the values of the variables that stand in it.
    pub fn replaced(&self, text: &str) -> String {
        if self.0.is_empty() || !text.contains(':') {
            return text.to_owned();
        }
        let mut replaced = String::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some((value, length)) = self.at(&text[..at], rest) {
                replaced.push_str(&value);
                at += length;
                continue;
            }
            let (_, length) = lexer::first(rest);
            replaced.push_str(&rest[..length]);
            at += length;
        }
        replaced
    }

    /// The value of the variable that a text begins with, and its length there.
    fn at(&self, before: &str, rest: &str) -> Option<(String, usize)> {
        let behind = rest.strip_prefix(':')?;
        let bound = |c: char| c.is_alphanumeric() || matches!(c, ':' | '_' | ']' | ')' | '\'' | '"');
        if before.chars().next_back().is_some_and(bound) {
            return None;
        }
        let (kind, length) = lexer::first(behind);
        let word = &behind[..length];
        let (name, quote) = match kind {
            Kind::Word | Kind::Keyword => (word, None),
            Kind::Text => (word.strip_prefix('\'')?.strip_suffix('\'')?, Some('\'')),
            Kind::QuotedName => (word.strip_prefix('"')?.strip_suffix('"')?, Some('"')),
            _ => return None,
        };
        let value = self.0.get(name)?;
        let value = match quote {
            None => value.clone(),
            Some(quote) => format!("{quote}{}{quote}", value.replace(quote, &quote.to_string().repeat(2))),
        };
        Some((value, 1 + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_set_are_replaced() {
        let mut variables = Variables::default();
        variables.set("t", "my \"table".into());
        variables.set("n", "it's".into());
        variables.set("k", "3".into());
        let text = "SELECT :k, :'n', x::k, a[1:k], ':k', ':n' -- :k\nFROM :\"t\" WHERE :other";
        let wanted = "SELECT 3, 'it''s', x::k, a[1:k], ':k', ':n' -- :k\nFROM \"my \"\"table\" WHERE :other";
        assert_eq!(variables.replaced(text), wanted);
        variables.unset("k");
        assert_eq!(variables.replaced("SELECT :k"), "SELECT :k");
        assert_eq!(variables.listed(), "n = 'it's'\nt = 'my \"table'\n");
    }
}
