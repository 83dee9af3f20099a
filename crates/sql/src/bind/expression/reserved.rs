//! Reserved words. The parser takes many of them for names; where no such name exists, the word is the fault.

use syntax::tree;
use types::{Error, SqlState};

/// Words that SQL reserves and no unquoted name can be, sorted.
const RESERVED: [&str; 72] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "cross",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "full",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "inner",
    "intersect",
    "into",
    "is",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "natural",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "placing",
    "primary",
    "references",
    "right",
    "select",
    "some",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "using",
    "when",
    "where",
];

/// The syntax error for a reserved word that stands where a name should.
pub(crate) fn reserved(ident: &tree::Name) -> Option<Error> {
    // LEFT and RIGHT are functions as well.
    let word = ident.text.to_lowercase();
    let hit = !ident.quoted
        && !matches!(word.as_str(), "left" | "right")
        && RESERVED.binary_search(&word.as_str()).is_ok();
    hit.then(|| {
        Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{}\"", ident.text))
            .with_hint("a name that is a reserved word stands in double quotes")
    })
}

#[cfg(test)]
mod tests {
    use syntax::Span;

    use super::*;

    #[test]
    fn the_list_is_sorted() {
        let name = |text: &str, quoted| tree::Name { text: text.into(), quoted, span: Span::default() };
        assert!(RESERVED.is_sorted());
        assert!(reserved(&name("Where", false)).is_some());
        assert!(reserved(&name("where", true)).is_none());
        assert!(reserved(&name("name", false)).is_none());
    }
}
