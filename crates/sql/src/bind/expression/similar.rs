//! Patterns of SIMILAR TO as regular expressions.

use types::{Error, Result, SqlState};

/// A pattern of SIMILAR TO as a regular expression: `%` and `_` are `.*` and `.`, everything else that SQL gives a
/// meaning has the same one there, and what it gives none stands for itself.
pub(crate) fn regular_of_similar(pattern: &str, escape: Option<char>) -> String {
    let mut out = String::from("^(?s:");
    let mut characters = pattern.chars();
    let mut in_brackets = false;
    while let Some(c) = characters.next() {
        if Some(c) == escape {
            if let Some(next) = characters.next() {
                if next.is_ascii_punctuation() {
                    out.push('\\');
                }
                out.push(next);
            }
            continue;
        }
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
        match c {
            _ if in_brackets => out.push(c),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '.' | '^' | '$' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out.push_str(")$");
    out
}

/// SQL's pattern of three parts, `a#"b#"c` with the escape `#`, as a regular expression whose first group is the
/// middle one; without marks it is all of the pattern.
pub(crate) fn between_marks(pattern: &str, escape: Option<&str>) -> Result<String> {
    let mut letters = escape.unwrap_or_default().chars();
    let (Some(escape), None) = (letters.next(), letters.next()) else {
        return Err(Error::new(SqlState::InvalidParameterValue, "invalid escape string")
            .with_detail("it must be one character"));
    };
    let mark = format!("{escape}\"");
    let part = |text: &str| {
        let regular = regular_of_similar(text, Some(escape));
        let inner = regular.trim_start_matches("^(?s:").strip_suffix(")$").unwrap_or_default().to_owned();
        // Groups are not remembered.
        let mut escaped = false;
        let mut out = String::new();
        for letter in inner.chars() {
            let here = std::mem::take(&mut escaped);
            escaped = !here && letter == '\\';
            out.push_str(if !here && letter == '(' { "(?:" } else { "" });
            if here || letter != '(' {
                out.push(letter);
            }
        }
        out
    };
    match pattern.split(&mark).collect::<Vec<_>>().as_slice() {
        [all] => Ok(format!("^((?s:{}))$", part(all))),
        [before, middle, behind] => {
            let (before, middle, behind) = (part(before), part(middle), part(behind));
            Ok(format!("^(?s:{before})((?s:{middle}))(?s:{behind})$"))
        }
        _ => Err(Error::new(
            SqlState::InvalidParameterValue,
            "SQL regular expression may not contain more than two escape-double-quote separators",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::regular_of_similar;

    #[test]
    fn patterns_become_regular_expressions() {
        let cases = [
            ("a%", "^(?s:a.*)$"),
            ("a.b_", "^(?s:a\\.b.)$"),
            ("(x|y)+", "^(?s:(x|y)+)$"),
            ("5\\%", "^(?s:5\\%)$"),
        ];
        for (similar, regular) in cases {
            assert_eq!(regular_of_similar(similar, Some('\\')), regular);
        }
        assert_eq!(regular_of_similar("[%_]", None), "^(?s:[%_])$");
    }
}
