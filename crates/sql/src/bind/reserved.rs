//! Reserved words. The parser takes many of them for names; where no such name exists, the word is the fault.

use sqlparser::ast::Ident;
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
pub(super) fn reserved(ident: &Ident) -> Option<Error> {
    // LEFT and RIGHT are functions as well.
    let word = ident.value.to_lowercase();
    let hit = ident.quote_style.is_none()
        && !matches!(word.as_str(), "left" | "right")
        && RESERVED.binary_search(&word.as_str()).is_ok();
    hit.then(|| {
        Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{}\"", ident.value))
            .with_hint("a name that is a reserved word stands in double quotes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(RESERVED.is_sorted());
        assert!(reserved(&Ident::new("Where")).is_some());
        assert!(reserved(&Ident::with_quote('"', "where")).is_none());
        assert!(reserved(&Ident::new("name")).is_none());
    }
}
