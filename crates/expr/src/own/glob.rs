//! Patterns of a shell: `text GLOB pattern`.

use types::{Result, Value, stop};

use super::Arguments;

/// `*` stands for any characters, `?` for one, `[a-z]` and `[!a-z]` for one of a set or outside of it, and a
/// character behind `\` for itself. A pattern that ends within a set or behind `\` fits nothing.
pub(super) fn glob(a: &Arguments<'_>) -> Result<Value> {
    Ok(Value::Bool(fits(a.text(0)?, a.text(1)?)))
}

fn fits(mut text: &str, mut pattern: &str) -> bool {
    // What is behind the last `*`, and where the text would go on if that took one character more.
    let mut star: Option<(&str, &str)> = None;
    loop {
        stop::spend(8);
        if let Some(behind) = pattern.strip_prefix('*') {
            pattern = behind;
            star = Some((behind, text));
            continue;
        }
        let mut left = text.chars();
        let Some(next) = left.next() else { return pattern.is_empty() };
        match one(pattern, next) {
            One::Fits(behind) => (text, pattern) = (left.as_str(), behind),
            One::Broken => return false,
            One::Other => {
                // Only the last `*` needs to take more: an earlier one could but reach the same places.
                let Some((behind, from)) = star else { return false };
                let mut later = from.chars();
                if later.next().is_none() {
                    return false;
                }
                (text, pattern) = (later.as_str(), behind);
                star = Some((behind, text));
            }
        }
    }
}

enum One<'p> {
    /// With what is left of the pattern.
    Fits(&'p str),
    Other,
    /// The pattern ends too early.
    Broken,
}

/// Whether the first of a pattern, no `*`, takes a character.
fn one(pattern: &str, next: char) -> One<'_> {
    let mut left = pattern.chars();
    let taken = match left.next() {
        None => false,
        Some('?') => true,
        Some('[') => {
            let Some((taken, behind)) = set(left.as_str(), next) else { return One::Broken };
            return if taken { One::Fits(behind) } else { One::Other };
        }
        Some('\\') => match left.next() {
            Some(escaped) => escaped == next,
            None => return One::Broken,
        },
        Some(plain) => plain == next,
    };
    if taken { One::Fits(left.as_str()) } else { One::Other }
}

/// Whether a set, from behind its `[`, takes a character, and what is behind its `]`.
fn set(pattern: &str, next: char) -> Option<(bool, &str)> {
    let (outside, members) = match pattern.strip_prefix('!') {
        Some(members) => (true, members),
        None => (false, pattern),
    };
    let mut left = members.chars();
    let mut found = false;
    let mut first = true;
    loop {
        stop::spend(8);
        let low = left.next()?;
        if low == ']' && !first {
            return Some((found != outside, left.as_str()));
        }
        first = false;
        match left.as_str().strip_prefix('-') {
            Some(behind) => {
                left = behind.chars();
                let high = left.next()?;
                found |= (low..=high).contains(&next);
            }
            None => found |= low == next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_takes_as_much_as_it_must() {
        for (text, pattern) in
            [("", ""), ("", "**"), ("ababac", "*abac"), ("1245", "**1***2**4*5*"), ("äb", "?b")]
        {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("", "?"), ("a", ""), ("ab", "a?b"), ("abc", "*b"), ("aab", "*ba*")] {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn sets_and_escapes() {
        for (text, pattern) in [("3]", "[]3][]]"), ("a", "[!0-9]"), ("*", r"\*"), (r"\", r"\\"), ("?", "[?]")]
        {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("3", "[3"), ("3", "[3-"), ("3", r"\"), ("1", "[!0-9]"), ("3", "*[3")] {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
    }
}
