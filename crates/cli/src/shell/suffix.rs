//! Commands that end a statement in the place of its semicolon: `\\g`, `\\gx`, `\\watch`.

use super::lexer::{self, Kind};

/// The commands that may end a statement.
const NAMES: [&str; 3] = ["\\g", "\\gx", "\\watch"];

/// Whether a text begins with such a command.
pub fn begins(text: &str) -> bool {
    text.starts_with('\\')
        && NAMES.contains(&text.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or(text))
}

/// A statement and the command that ends it, if one does; outside of quotes and comments.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    while at < text.len() {
        let (kind, length) = lexer::first(&text[at..]);
        if kind == Kind::Symbol && begins(&text[at..]) {
            let (statement, command) = (text[..at].trim(), text[at..].trim());
            return (!command.contains('\n')).then_some((statement, command));
        }
        at += length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_commands() {
        assert_eq!(split("SELECT 1 \\gx"), Some(("SELECT 1", "\\gx")));
        assert_eq!(split("SELECT '\\g'\n\\g 'a b.csv' "), Some(("SELECT '\\g'", "\\g 'a b.csv'")));
        for text in ["SELECT '\\gx'", "SELECT 1 -- \\gx", "SELECT 1;", "SELECT 1 \\go", "SELECT 1 \\gx\n+ 1"]
        {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
