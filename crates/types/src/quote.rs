//! Names and texts as SQL writes them: the one quoting of statements that the engine makes itself, of messages that
//! show SQL, and of `quote_ident`, `quote_literal` and `format`.
//!
//! The printer of syntax trees (`syntax::print`) has its own, because a tree knows which of its names were quoted.

/// Words that are no names without quotes: PostgreSQL's reserved ones and those that only name functions or types
/// (PostgreSQL 15, appendix C), and this grammar's own.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary both case cast check \
    collate collation column concurrently constraint create cross current_catalog current_date current_role \
    current_schema current_time current_timestamp current_user default deferrable desc distinct do else end except \
    false fetch for foreign freeze from full grant group having ilike in initially inner intersect into is isnull \
    join lateral leading left like limit localtime localtimestamp natural not notnull null offset on only or order \
    outer overlaps placing primary qualify references returning right select session_user similar some symmetric \
    table tablesample then to trailing true union unique user using variadic verbose when where window with ";

/// A name in double quotes.
pub fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name in double quotes where it needs them: if it is no lower-case word, or a reserved one.
pub fn name_if_needed(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !RESERVED.contains(&format!(" {text} "));
    if plain { text.to_owned() } else { name(text) }
}

/// A schema's name and a name in it, both in double quotes.
pub fn qualified(schema: &str, in_schema: &str) -> String {
    format!("{}.{}", name(schema), name(in_schema))
}

/// A text as a literal, in single quotes. Backslashes stand for themselves, as in every literal without an `E`.
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_would_be_read_as_others() {
        for plain in ["a", "_x1", "lineitem", "value"] {
            assert_eq!(name_if_needed(plain), plain);
        }
        for (given, quoted) in [
            ("", "\"\""),
            ("A", "\"A\""),
            ("1a", "\"1a\""),
            ("a b", "\"a b\""),
            ("größe", "\"größe\""),
            ("a\"b", "\"a\"\"b\""),
            ("select", "\"select\""),
            ("with", "\"with\""),
            ("all", "\"all\""),
        ] {
            assert_eq!(name_if_needed(given), quoted);
        }
        assert_eq!(qualified("s", "a\"b"), "\"s\".\"a\"\"b\"");
    }

    #[test]
    fn texts_double_their_quotes_and_nothing_else() {
        assert_eq!(text(r"it's a \ "), r"'it''s a \ '");
        assert_eq!(text(""), "''");
    }
}
