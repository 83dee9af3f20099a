//! What may stand at a place of a text: from its tokens and its grammar, without the catalog.
//!
//! Names go by the clause that the cursor is in. Words of SQL go by the parser itself: the statement up to the cursor is
//! parsed with each word behind it, and a word that the parser passes may stand there. Where a name may stand, too, the
//! word must not have been taken for one: what is expected behind it then differs from what is expected behind a name.

use syntax::{Keyword, Kind, Token};

/// Bytes of a statement whose grammar is asked about words: each is parsed behind it.
const STATEMENT_BYTES_MAX: usize = 16 << 10;
/// Words that the parser takes together or not at all.
const PHRASES: [&str; 16] = [
    "CURRENT ROW",
    "DEFAULT VALUES",
    "FILTER (",
    "GROUP BY",
    "IGNORE NULLS",
    "NOT MATERIALIZED",
    "NULLS DISTINCT",
    "OR REPLACE",
    "ORDER BY",
    "OVER (",
    "PARTITION BY",
    "RESPECT NULLS",
    "RESTART IDENTITY",
    "SKIP LOCKED",
    "WITH ORDINALITY",
    "WITH NO DATA",
];
/// A name that nothing has.
const PLAIN_NAME: &str = "zq_name_zq";

/// A relation that a statement names, and what it calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub schema: Option<String>,
    pub relation: String,
    pub alias: Option<String>,
}

/// What may stand at the cursor.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Where the word at the cursor begins, in bytes.
    pub from: usize,
    /// The word up to the cursor.
    pub word: String,
    /// The names before it, each with a point behind it.
    pub qualifier: Vec<String>,
    /// Tables and views.
    pub relations: bool,
    /// Columns and functions.
    pub expressions: bool,
    /// Settings.
    pub settings: bool,
    /// Words of SQL.
    pub keywords: Vec<&'static str>,
    /// Relations of the statement, whose columns are meant.
    pub named: Vec<Named>,
}

/// Names before a point that are looked at: a database, a schema, a relation, and some fields.
const QUALIFIERS_MAX: usize = 8;
/// Relations of a statement whose columns are offered; each is a question to the catalog.
const NAMED_MAX: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Relations,
    Expressions,
    Settings,
    Other,
}

/// What may stand at a byte of a text; `None` inside of a text's quotes and comments.
pub fn wanted(text: &str, at: usize) -> Option<Wanted> {
    let at = text.floor_char_boundary(at);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let from = text[..at].char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(at, |(i, _)| i);
    let before = &text[..from];
    let tokens = syntax::tokens(before).ok()?;
    if before
        .rfind("--")
        .is_some_and(|comment| !before[comment..].contains('\n') && is_comment(before, comment))
    {
        return None;
    }
    let tokens: Vec<Token> = tokens.into_iter().filter(|token| token.kind != Kind::End).collect();
    let first = tokens.iter().rposition(|token| token.kind == Kind::Semicolon).map_or(0, |at| at + 1);
    let start = first.checked_sub(1).map_or(0, |at| tokens[at].span.end as usize);
    let mut own = &tokens[first..];
    let mut wanted = Wanted { from, word: text[from..at].to_owned(), ..Wanted::default() };
    while let [rest @ .., name, dot] = own
        && dot.kind == Kind::Dot
        && wanted.qualifier.len() < QUALIFIERS_MAX
    {
        let name = syntax::name(before, name)?;
        wanted.qualifier.insert(0, name.text.to_string());
        own = rest;
    }
    let (clause, operand) = clause_of(own);
    wanted.relations = clause == Clause::Relations && precedes_relation(own);
    wanted.expressions = clause == Clause::Expressions && !operand;
    wanted.settings = clause == Clause::Settings;
    if wanted.qualifier.is_empty() && from - start <= STATEMENT_BYTES_MAX {
        wanted.keywords = keywords(&before[start..]);
    }
    wanted.named = named_in(text, start);
    Some(wanted)
}

/// Whether the name of a relation may follow the last token, which is in a clause of such.
fn precedes_relation(tokens: &[Token]) -> bool {
    let words = [
        Keyword::FROM,
        Keyword::JOIN,
        Keyword::INTO,
        Keyword::UPDATE,
        Keyword::TABLE,
        Keyword::ONLY,
        Keyword::LATERAL,
        Keyword::EXISTS,
    ];
    tokens.last().is_some_and(|last| match last.kind {
        Kind::Word => words.contains(&last.keyword),
        kind => matches!(kind, Kind::Comma | Kind::LeftParen),
    })
}

/// Whether two dashes begin a comment: no token has them.
fn is_comment(before: &str, at: usize) -> bool {
    let tokens = syntax::tokens(before).unwrap_or_default();
    !tokens.iter().any(|token| (token.span.start as usize) <= at && at < token.span.end as usize)
}

/// The clause that tokens end in, and whether the last of them is an operand, behind which no other one can stand.
fn clause_of(tokens: &[Token]) -> (Clause, bool) {
    let mut levels = vec![Clause::Other];
    for (place, token) in tokens.iter().enumerate() {
        let is_inner = levels.len() > 1;
        let Some(clause) = levels.last_mut() else { break };
        match (token.kind, token.keyword) {
            (Kind::LeftParen, _) => {
                let inner = if *clause == Clause::Other { Clause::Other } else { Clause::Expressions };
                levels.push(inner);
            }
            (Kind::RightParen, _) if is_inner => _ = levels.pop(),
            (Kind::Operator, _) if *clause == Clause::Settings => *clause = Clause::Other,
            (_, Keyword::TO) if *clause == Clause::Settings => *clause = Clause::Other,
            (_, Keyword::SET | Keyword::SHOW | Keyword::RESET) if place == 0 => *clause = Clause::Settings,
            (_, Keyword::FROM | Keyword::JOIN | Keyword::INTO | Keyword::UPDATE | Keyword::TABLE) => {
                *clause = Clause::Relations;
            }
            (
                _,
                Keyword::SELECT
                | Keyword::WHERE
                | Keyword::ON
                | Keyword::BY
                | Keyword::HAVING
                | Keyword::SET
                | Keyword::RETURNING
                | Keyword::QUALIFY
                | Keyword::LIMIT
                | Keyword::VALUES
                | Keyword::CASE,
            ) => *clause = Clause::Expressions,
            _ => {}
        }
    }
    let operand = tokens.last().is_some_and(|last| match last.kind {
        Kind::Word => !last.keyword.is_reserved() || last.keyword == Keyword::END,
        Kind::QuotedName | Kind::UnicodeName | Kind::Number | Kind::Text | Kind::Parameter => true,
        Kind::RightParen | Kind::RightBracket => true,
        _ => false,
    });
    (levels.last().copied().unwrap_or(Clause::Other), operand && !follows_no_operand(tokens))
}

/// Whether the last word is one that an operand follows though it could be a name.
fn follows_no_operand(tokens: &[Token]) -> bool {
    let words = [
        Keyword::BY,
        Keyword::SET,
        Keyword::VALUES,
        Keyword::UPDATE,
        Keyword::SHOW,
        Keyword::RESET,
        Keyword::BETWEEN,
    ];
    tokens.last().is_some_and(|last| last.kind == Kind::Word && words.contains(&last.keyword))
}

/// The words that the grammar lets stand behind the beginning of a statement.
fn keywords(before: &str) -> Vec<&'static str> {
    let parsed = |word: &str| {
        let text = format!("{before} {word}");
        // Up to the last of several words.
        let passed = before.len() + 1 + word.rfind(' ').map_or(0, |at| at + 1);
        match syntax::parse_statement(&text) {
            Ok(_) => Some(None),
            // At fault is what is missing behind the word, not the word or what stands before it.
            Err(error) if error.span.start as usize > passed => Some(Some(error.message)),
            Err(_) => None,
        }
    };
    let as_name = parsed(PLAIN_NAME);
    let may_stand = |keyword: &Keyword| match (parsed(keyword.text()), &as_name) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(found), Some(as_name)) => keyword.is_reserved() || found != *as_name,
    };
    let mut words: Vec<&str> = Keyword::all().filter(may_stand).map(Keyword::text).collect();
    let begins = |phrase: &str| words.iter().any(|word| phrase.split(' ').next() == Some(*word));
    let phrases: Vec<&str> =
        PHRASES.into_iter().filter(|phrase| !begins(phrase) && parsed(phrase).is_some()).collect();
    words.extend(phrases);
    words
}

/// The relations that the statement beginning at a byte names, behind FROM, JOIN, UPDATE and INTO.
fn named_in(text: &str, start: usize) -> Vec<Named> {
    let rest = &text[start..];
    // A text that cannot be cut into tokens as a whole, since something in it is being written, is cut where it can be.
    let tokens = syntax::tokens(rest)
        .or_else(|error| syntax::tokens(&rest[..rest.floor_char_boundary(error.span.start as usize)]))
        .unwrap_or_default();
    let end = tokens.iter().position(|token| token.kind == Kind::Semicolon).unwrap_or(tokens.len());
    let tokens = &tokens[..end];
    let name = |at: usize| -> Option<String> {
        let token = tokens.get(at)?;
        let plain = token.kind != Kind::Word || !token.keyword.is_reserved();
        syntax::name(rest, token).filter(|_| plain).map(|name| name.text.to_string())
    };
    let mut found = Vec::new();
    let mut at = 0;
    let mut listing = false;
    while at < tokens.len() && found.len() < NAMED_MAX {
        let token = &tokens[at];
        at += 1;
        listing = match (token.kind, token.keyword) {
            (Kind::Word, Keyword::FROM | Keyword::JOIN | Keyword::UPDATE | Keyword::INTO) => true,
            (Kind::Comma, _) if listing => true,
            (Kind::Word, keyword) if keyword.is_reserved() => false,
            (Kind::LeftParen | Kind::RightParen, _) => false,
            _ => listing,
        };
        let begins = token.kind == Kind::Comma
            || matches!(token.keyword, Keyword::FROM | Keyword::JOIN | Keyword::UPDATE | Keyword::INTO);
        if !(listing && begins) {
            continue;
        }
        let Some(first) = name(at) else { continue };
        let mut path = vec![first];
        at += 1;
        while tokens.get(at).is_some_and(|dot| dot.kind == Kind::Dot)
            && let Some(next) = name(at + 1)
        {
            path.push(next);
            at += 2;
        }
        if tokens.get(at).is_some_and(|word| word.keyword == Keyword::AS) {
            at += 1;
        }
        let alias = name(at);
        at += usize::from(alias.is_some());
        let Some(relation) = path.pop() else { continue };
        found.push(Named { schema: path.pop(), relation, alias });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(text: &str) -> Wanted {
        wanted(text, text.len()).unwrap()
    }

    #[test]
    fn names_go_by_the_clause() {
        let kind = |text: &str| {
            let wanted = at_end(text);
            (wanted.relations, wanted.expressions, wanted.settings)
        };
        for text in ["SELECT * FROM ", "SELECT * FROM a, b", "SELECT * FROM t JOIN x", "INSERT INTO "] {
            assert_eq!(kind(text), (true, false, false), "{text}");
        }
        for text in [
            "SELECT ",
            "SELECT a, b",
            "SELECT f(",
            "SELECT * FROM t WHERE a = ",
            "UPDATE t SET ",
            "SELECT a FROM t ORDER BY ",
        ] {
            assert_eq!(kind(text), (false, true, false), "{text}");
        }
        assert_eq!(kind("SET wor"), (false, false, true));
        assert_eq!(kind("SELECT a "), (false, false, false), "an alias is made up");
        assert!(wanted("SELECT 'a", 9).is_none() && wanted("-- SEL", 6).is_none());
    }

    #[test]
    fn qualifiers_and_the_relations_of_a_statement_are_read() {
        let text = "SELECT o. FROM main.orders AS o, \"Line Item\" l JOIN t ON true WHERE x";
        let wanted = wanted(text, 9).unwrap();
        assert_eq!((wanted.qualifier, wanted.from), (vec!["o".to_owned()], 9));
        let named = |schema: Option<&str>, relation: &str, alias: Option<&str>| Named {
            schema: schema.map(str::to_owned),
            relation: relation.to_owned(),
            alias: alias.map(str::to_owned),
        };
        let expected = [
            named(Some("main"), "orders", Some("o")),
            named(None, "Line Item", Some("l")),
            named(None, "t", None),
        ];
        assert_eq!(wanted.named, expected);
    }
}
