//! SQL text as coloured pieces, for the line editor. It never fails: what it does not know is a symbol.
//!
//! It is independent of the engine's lexer, since it has to cope with unfinished text at every keystroke. The pieces
//! cover the text without gaps. Scripts, variables and the editor use the same pieces, so that all of them agree on
//! where quotes and comments end.

use std::ops::Range;

/// What a piece of SQL text is. `Word` is an unquoted name, `Text` a string in any quotes, `Blank` white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Keyword,
    Word,
    QuotedName,
    Number,
    Text,
    Comment,
    Symbol,
    Blank,
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// Words that the dialect knows and that are worth completing.
pub const KEYWORDS: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "AVG",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "BYTEA",
    "CALL",
    "CASCADE",
    "CASE",
    "CAST",
    "CHAR",
    "COALESCE",
    "COPY",
    "COUNT",
    "CREATE",
    "CROSS",
    "CURRENT_DATE",
    "DATE",
    "DECIMAL",
    "DESC",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FALSE",
    "FILTER",
    "FIRST",
    "FOREIGN",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IF",
    "IN",
    "INNER",
    "INSERT",
    "INTEGER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LAST",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX",
    "MIN",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLIF",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "PRECISION",
    "PRIMARY",
    "REAL",
    "REFERENCES",
    "REPLACE",
    "RESET",
    "RIGHT",
    "SCHEMA",
    "SELECT",
    "SET",
    "SHOW",
    "SIMILAR",
    "SMALLINT",
    "SUBSTRING",
    "SUM",
    "TABLE",
    "TEMP",
    "TEXT",
    "THEN",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TO",
    "TRUE",
    "UNION",
    "UNIQUE",
    "USING",
    "UUID",
    "VALUES",
    "VARCHAR",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Whether the word is one of `KEYWORDS`, in any case.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

/// All of `text`, in order, without gaps.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (kind, length) = first(&text[at..]);
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

/// The kind and the length of the piece that `text` begins with; of no length if there is no text.
pub fn first(text: &str) -> (Kind, usize) {
    let Some(first) = text.chars().next() else { return (Kind::Blank, 0) };
    match first {
        c if c.is_whitespace() => (Kind::Blank, while_true(text, char::is_whitespace)),
        '\'' => (Kind::Text, quoted(text, '\'')),
        'e' | 'E' if text[1..].starts_with('\'') => (Kind::Text, 1 + escaped(&text[1..])),
        '"' => (Kind::QuotedName, quoted(text, '"')),
        '-' if text.starts_with("--") => (Kind::Comment, text.find('\n').unwrap_or(text.len())),
        '/' if text.starts_with("/*") => (Kind::Comment, block_comment(text)),
        '$' if dollar_tag(text).is_some() => (Kind::Text, dollar_quoted(text)),
        c if c.is_ascii_digit() => {
            (Kind::Number, while_true(text, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_'))
        }
        c if c.is_alphabetic() || c == '_' => {
            let length = while_true(text, |c| c.is_alphanumeric() || c == '_' || c == '$');
            (if is_keyword(&text[..length]) { Kind::Keyword } else { Kind::Word }, length)
        }
        c => (Kind::Symbol, c.len_utf8()),
    }
}

fn while_true(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

/// Length of a quoted piece; a doubled quote is part of it. All of the text if it does not end.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(found) = text[at..].find(quote) {
        at += found + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// As `quoted`, of a text in which a backslash takes the next character with it.
fn escaped(text: &str) -> usize {
    let mut at = 1;
    while let Some(found) = text[at..].find(['\\', '\'']) {
        let doubled = text[at + found..].starts_with("\'\'");
        let backslash = text[at + found..].starts_with('\\');
        at += found + 1;
        if backslash || doubled {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        } else {
            return at;
        }
    }
    text.len()
}

/// Comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// `$$` or `$tag$`, if the text begins with one.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    text[1..end - 1].chars().all(|c| c.is_alphanumeric() || c == '_').then(|| &text[..end])
}

fn dollar_quoted(text: &str) -> usize {
    let Some(tag) = dollar_tag(text) else { return 1 };
    text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        tokens(text).into_iter().filter(|t| t.kind != Kind::Blank).map(|t| (t.kind, &text[t.range])).collect()
    }

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn pieces_of_a_statement() {
        assert_eq!(
            kinds("select x1, 'it''s' -- why\nfrom \"T\" /* a /* b */ c */ where $q$ ' $q$ < 1.5e3;"),
            [
                (Kind::Keyword, "select"),
                (Kind::Word, "x1"),
                (Kind::Symbol, ","),
                (Kind::Text, "'it''s'"),
                (Kind::Comment, "-- why"),
                (Kind::Keyword, "from"),
                (Kind::QuotedName, "\"T\""),
                (Kind::Comment, "/* a /* b */ c */"),
                (Kind::Keyword, "where"),
                (Kind::Text, "$q$ ' $q$"),
                (Kind::Symbol, "<"),
                (Kind::Number, "1.5e3"),
                (Kind::Symbol, ";"),
            ]
        );
    }

    #[test]
    fn whatever_is_typed_is_covered_without_gaps() {
        for text in [
            "'open",
            "E'open\\",
            "E'it\\'s' e'a''b' E'é\\é'",
            "\"open",
            "/* open /* */",
            "$tag$ open",
            "$",
            "é漢 'ü",
            "a$b$c",
            "1..2",
            "\\d t",
            "$1 $2",
        ] {
            let tokens = tokens(text);
            assert_eq!(tokens.first().map(|t| t.range.start), Some(0), "{text}");
            assert!(tokens.windows(2).all(|w| w[0].range.end == w[1].range.start), "{text}");
            assert_eq!(tokens.last().map(|t| t.range.end), Some(text.len()), "{text}");
        }
    }
}
