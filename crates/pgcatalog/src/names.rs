//! Names as texts hold them: `a."B c"`, in parts; and back.

use types::{Error, Result, SqlState};

/// The parts of a name, those without quotes in lower case.
pub(crate) fn parts(text: &str) -> Result<Vec<String>> {
    let invalid = || {
        let message = format!("string is not a valid identifier: \"{text}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    };
    let mut out = Vec::new();
    let mut letters = text.trim().chars().peekable();
    loop {
        while letters.next_if(|c| c.is_whitespace()).is_some() {}
        let mut part = String::new();
        if letters.next_if_eq(&'"').is_some() {
            loop {
                match letters.next().ok_or_else(invalid)? {
                    '"' if letters.next_if_eq(&'"').is_some() => part.push('"'),
                    '"' => break,
                    c => part.push(c),
                }
            }
        } else {
            let word = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '$');
            while let Some(c) = letters.next_if(word) {
                part.extend(c.to_lowercase());
            }
        }
        if part.is_empty() {
            return Err(invalid());
        }
        out.push(part);
        while letters.next_if(|c| c.is_whitespace()).is_some() {}
        match letters.next() {
            None => return Ok(out),
            Some('.') => {}
            Some(_) => return Err(invalid()),
        }
    }
}

/// A name as SQL has it, in quotes where it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("Sales.\"My \"\"T\"").unwrap(), ["sales", "My \"T"]);
        assert!(parts("a b").is_err() && parts("").is_err() && parts("a.").is_err());
        assert_eq!(quoted("My"), "\"My\"");
    }
}
