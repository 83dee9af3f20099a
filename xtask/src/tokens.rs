//! Rust's text as tokens, as far as checks of paths need them: names, `::`, and every other sign by itself. Comments,
//! texts, characters, numbers and lifetimes are passed over.

/// A name or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Name(String),
    Sign(&'static str),
}

/// Signs that are told apart; all others are one.
const SIGNS: &[&str] = &["{", "}", "(", ")", "[", "]", ";", ",", "#", "*", ".", "!", "=", "<", ">", "&"];

impl Token {
    /// The token as it is written.
    pub fn text(&self) -> &str {
        match self {
            Token::Name(name) => name,
            Token::Sign(sign) => sign,
        }
    }

    /// The name that it is.
    pub fn name(&self) -> Option<&str> {
        match self {
            Token::Name(name) => Some(name),
            Token::Sign(_) => None,
        }
    }
}

/// The tokens of a file.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let word = &rest[..length];
            let after = &rest[length..];
            match word {
                // A raw text knows no escapes.
                "r" | "br" | "cr" if after.starts_with('"') => {
                    at += length + after[1..].find('"').map_or(after.len(), |end| end + 2);
                }
                "r" | "br" | "b" | "c" | "cr" if after.starts_with(['"', '#']) || after.starts_with('\'') => {
                    at += match quoted(after) {
                        Some(quoted) => length + quoted,
                        // A raw name: `r#type`.
                        None => length + usize::from(after.starts_with('#')),
                    };
                }
                _ => {
                    tokens.push(Token::Name(word.to_owned()));
                    at += length;
                }
            }
        } else if c.is_ascii_digit() {
            at += rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if c == '"' || c == '\'' {
            at += quoted(rest).unwrap_or(1);
        } else if rest.starts_with("::") {
            tokens.push(Token::Sign("::"));
            at += 2;
        } else {
            if !c.is_whitespace() {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                tokens.push(Token::Sign(sign.unwrap_or(&"?")));
            }
            at += c.len_utf8();
        }
    }
    tokens
}

/// The length of a text, a raw text (from its `#` or quote on), a character or a lifetime.
fn quoted(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('#').len();
    if text[marks..].starts_with('"') && marks > 0 {
        let end = format!("\"{}", "#".repeat(marks));
        return Some(text[marks + 1..].find(&end).map_or(text.len(), |at| marks + 1 + at + end.len()));
    }
    if marks > 0 {
        return None;
    }
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            // A lifetime has no second quote.
            c if quote == '\'' && at > 1 && !text.starts_with("'\\") => {
                let _ = c;
                return Some(1 + text[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0));
            }
            _ => {}
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        tokens(text).iter().map(Token::text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_characters_and_lifetimes_are_passed_over() {
        assert_eq!(written("a::b(\"x\\\"y\", 'c', '\\'', 'é') // d\n e"), "a :: b ( , , , ) e");
        assert_eq!(
            written("fn f<'a>(x: &'a str, y: &'static [u8])"),
            "fn f < > ( x ? & str , y ? & [ u8 ] )"
        );
        assert_eq!(written("r#\"a \" b\"# c r\"\\\" d b'\\n' e r#type 0x1f_u8 1.5"), "c d e type .");
    }
}
