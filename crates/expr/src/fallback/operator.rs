//! LIKE with a computed pattern, and regular expressions: `text OPERATOR pattern`.
//!
//! | name | SQL |
//! | --- | --- |
//! | `like`, `not like`, `ilike`, `not ilike` | the same, escape character backslash |
//! | `~`, `!~`, `~*`, `!~*` | POSIX regular expression, `*` without regard to case |
//! | `similar to`, `not similar to` | SQL's regular expression |
//!
//! A pattern is compiled when it differs from the row's before, so a constant one is compiled once a batch.

use std::rc::Rc;

use arrow_buffer::NullBuffer;
use types::{Error, LikePattern, Result, SqlState, Type, Value};
use vector::{Data, Vector};

use crate::bits;
use crate::frame::null_bits;
use crate::operand::Text;
use crate::regular::{Flags, Pattern};

/// One of the operators above: its language, and whether it is negated or ignores case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextOperator {
    language: Language,
    negated: bool,
    case_insensitive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Like,
    Regex,
    Similar,
}

enum Matcher {
    Like(LikePattern),
    Regex(Rc<Pattern>),
}

impl TextOperator {
    /// The operator of that name; `None` for other functions.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (language, negated, case_insensitive) = match name {
            "like" | "~~" => (Language::Like, false, false),
            "not like" | "!~~" => (Language::Like, true, false),
            "ilike" | "~~*" => (Language::Like, false, true),
            "not ilike" | "!~~*" => (Language::Like, true, true),
            "~" => (Language::Regex, false, false),
            "!~" => (Language::Regex, true, false),
            "~*" => (Language::Regex, false, true),
            "!~*" => (Language::Regex, true, true),
            "similar to" => (Language::Similar, false, false),
            "not similar to" => (Language::Similar, true, false),
            _ => return None,
        };
        Some(TextOperator { language, negated, case_insensitive })
    }

    fn compile(self, pattern: &[u8]) -> Result<Matcher> {
        let text = String::from_utf8_lossy(pattern);
        let regex = match self.language {
            Language::Like => {
                let text = if self.case_insensitive { text.to_lowercase() } else { text.into_owned() };
                return LikePattern::new(&text, Some('\\')).map(Matcher::Like).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        "LIKE pattern must not end with escape character",
                    )
                });
            }
            Language::Regex => text.into_owned(),
            Language::Similar => similar_to_regex(&text),
        };
        let flags = Flags { insensitive: self.case_insensitive, ..Flags::default() };
        Pattern::recent(&regex, flags).map(Matcher::Regex)
    }

    /// Matches each row's text with the row's pattern; NULL where either is.
    pub(super) fn evaluate(self, input: &Vector, pattern: &Vector, rows: usize) -> Result<Vector> {
        let null = |v: &Vector| matches!(v.data(), Data::Constant(Value::Null));
        if null(input) || null(pattern) {
            return Ok(Vector::constant(Type::Boolean, Value::Null, rows));
        }
        let valid = |v: &Vector| null_bits(v).map(|n| NullBuffer::new(!&n));
        let validity = NullBuffer::union(valid(input).as_ref(), valid(pattern).as_ref());
        let (texts, patterns) = (Text::of(input), Text::of(pattern));
        let mut current: Option<(Vec<u8>, Matcher)> = None;
        let mut failure = None;
        let mut lowered = String::new();
        let bits = bits::from_rows(rows, |row| {
            if failure.is_some() || validity.as_ref().is_some_and(|v| v.is_null(row)) {
                return false;
            }
            let wanted = patterns.at(row);
            if current.as_ref().is_none_or(|(known, _)| known != wanted) {
                match self.compile(wanted) {
                    Ok(matcher) => current = Some((wanted.to_vec(), matcher)),
                    Err(error) => {
                        failure = Some(error);
                        return false;
                    }
                }
            }
            let Some((_, matcher)) = &current else { return false };
            let text = texts.at(row);
            let found = match matcher {
                Matcher::Regex(regex) => {
                    match regex.is_match(std::str::from_utf8(text).unwrap_or_default()) {
                        Ok(found) => found,
                        Err(error) => {
                            failure = Some(error);
                            return false;
                        }
                    }
                }
                Matcher::Like(pattern) if self.case_insensitive => {
                    lowered.clear();
                    lowered.push_str(&String::from_utf8_lossy(text).to_lowercase());
                    pattern.matches(lowered.as_bytes())
                }
                Matcher::Like(pattern) => pattern.matches(text),
            };
            found != self.negated
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(Vector::from_bool(bits, validity)),
        }
    }
}

/// SIMILAR TO matches whole strings; `%` and `_` are its wildcards, `| * + ? { } ( ) [ ]` are as in a regular
/// expression, everything else is literal.
fn similar_to_regex(pattern: &str) -> String {
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    let mut in_set = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' => out.push_str(&regex::escape(&characters.next().map_or(String::from("\\"), String::from))),
            ']' => {
                in_set = false;
                out.push(c);
            }
            _ if in_set => out.push(c),
            '[' => {
                in_set = true;
                out.push(c);
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => out.push(c),
            other => out.push_str(&regex::escape(&String::from(other))),
        }
    }
    out.push_str(")$");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_compiled_as_their_language_says() {
        let matches = |operator: &str, text: &str, pattern: &str| {
            let operator = TextOperator::named(operator).unwrap();
            let vector = |t: &str| Vector::constant(Type::Text, Value::text(t), 1);
            operator.evaluate(&vector(text).flatten(), &vector(pattern), 1).unwrap().value(0)
                == Value::Bool(true)
        };
        assert!(matches("like", "abc", "a%"));
        assert!(matches("not ilike", "abc", "B%"));
        assert!(matches("ilike", "ABC", "a_C"));
        assert!(matches("~", "foobar", "o+b"));
        assert!(matches("!~*", "foobar", "^B"));
        assert!(matches("similar to", "abc", "a(b|d)_"));
        assert!(!matches("similar to", "abcd", "a(b|d)_"));
        assert!(matches("similar to", "a.c", "a.c"));
        assert!(!matches("similar to", "abc", "a.c"));
    }

    #[test]
    fn a_bad_pattern_is_an_error() {
        let operator = TextOperator::named("~").unwrap();
        let vector = |t: &str| Vector::constant(Type::Text, Value::text(t), 1).flatten();
        let error = operator.evaluate(&vector("a"), &vector("("), 1).unwrap_err();
        assert_eq!(error.state(), SqlState::InvalidRegularExpression);
    }
}
