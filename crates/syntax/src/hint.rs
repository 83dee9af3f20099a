//! What a syntax error is likely to come from: a comma too many or too few, an open bracket, another system's way of saying
//! it.
//!
//! Looks at the tokens around the place where the parser stopped, never at the tree, and only once an error is
//! certain. At most one hint, the likeliest; none where nothing is typical.

use crate::error::SyntaxError;
use crate::keyword::Keyword as K;
use crate::token::{Kind, Token};

/// The error with a hint, where the tokens around its place suggest one.
#[cold]
pub(crate) fn with_hint(text: &str, tokens: &[Token], at: usize, error: SyntaxError) -> SyntaxError {
    // Where something certain must stand, no comma is missing.
    let sure = error.message.contains(": expected ") && !error.message.ends_with(": expected , or )");
    match (Around { text, tokens, at }).hint(sure) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// The tokens around a fault.
struct Around<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
}

impl<'t> Around<'t> {
    fn here(&self) -> Token {
        self.tokens[self.at]
    }

    /// The token so many before the fault, in the same statement.
    fn back(&self, count: usize) -> Option<Token> {
        let first = self.first();
        self.at.checked_sub(count).filter(|at| *at >= first).map(|at| self.tokens[at])
    }

    /// Where the statement begins.
    fn first(&self) -> usize {
        self.tokens[..self.at].iter().rposition(|t| t.kind == Kind::Semicolon).map_or(0, |at| at + 1)
    }

    fn word_back(&self, count: usize) -> K {
        self.back(count).map_or(K::NO_KEYWORD, |t| t.keyword)
    }

    fn shown(&self, token: Token) -> &'t str {
        token.span.of(self.text)
    }

    fn hint(&self, sure: bool) -> Option<String> {
        let (here, before) = (self.here(), self.back(1));
        let clause = is_clause(here.keyword);
        if let Some(idiom) = self.idiom() {
            return Some(idiom);
        }
        if before.is_some_and(|t| t.kind == Kind::Comma)
            && (clause || matches!(here.kind, Kind::End | Kind::RightParen | Kind::Semicolon))
        {
            let shown = match here.kind {
                Kind::End => "the end".to_owned(),
                _ => format!("\"{}\"", self.shown(here)),
            };
            return Some(format!("there is nothing between the comma and {shown}"));
        }
        let statement = &self.tokens[self.first()..];
        let end = statement.iter().position(|t| t.kind == Kind::Semicolon).unwrap_or(statement.len());
        let count = |kind: Kind| statement[..end].iter().filter(|t| t.kind == kind).count();
        let (opened, closed) = (count(Kind::LeftParen), count(Kind::RightParen));
        if matches!(here.kind, Kind::End | Kind::Semicolon) && opened > closed {
            let (count, are) = (opened - closed, if opened - closed == 1 { " is" } else { "s are" });
            return Some(format!("{count} more bracket{are} opened than closed"));
        }
        if here.kind == Kind::RightParen && closed > opened {
            return Some("there is a closing bracket too many".to_owned());
        }
        self.reserved().or_else(|| self.misspelt()).or_else(|| self.missing_comma().filter(|_| !sure))
    }

    /// A reserved word in the place of a column: what follows it would follow a column.
    fn reserved(&self) -> Option<String> {
        let next = self.tokens.get(self.at + 1)?;
        let value_expected = self.back(1).is_some_and(|before| {
            let word =
                matches!(before.keyword, K::SELECT | K::BY | K::WHERE | K::AND | K::OR | K::ON | K::SET);
            word || matches!(before.kind, Kind::Comma | Kind::LeftParen | Kind::Dot)
        });
        let column = matches!(
            next.kind,
            Kind::Comma | Kind::RightParen | Kind::End | Kind::Semicolon | Kind::Operator
        ) || next.keyword == K::FROM;
        (self.here().keyword.is_reserved() && value_expected && column)
            .then(|| "a name that is a reserved word stands in double quotes".to_owned())
    }

    fn missing_comma(&self) -> Option<String> {
        let here = self.here();
        let value = |t: Token| matches!(t.kind, Kind::Word | Kind::Number | Kind::Text | Kind::RightParen);
        (here.kind == Kind::Word && !is_clause(here.keyword) && self.back(1).is_some_and(value))
            .then(|| format!("a comma or an operator may be missing before \"{}\"", self.shown(here)))
    }

    /// The word at the fault, or the one before it, is nearly one of SQL's: of `SELECT a FORM t` an alias is made, and
    /// what follows is stumbled over.
    fn misspelt(&self) -> Option<String> {
        let guess = |token: Option<Token>, begins: bool| {
            let token = token.filter(|t| t.kind == Kind::Word && t.keyword == K::NO_KEYWORD)?;
            let word = self.shown(token);
            let known = GUESSED.iter().filter(|k| begins || !VERBS.contains(k));
            let near = known.map(|k| k.text()).find(|text| word.len() >= 4 && nearly(word, text))?;
            Some(format!("did you mean {near}?"))
        };
        let first = self.first();
        guess(Some(self.here()), self.at == first).or_else(|| guess(self.back(1), self.at == first + 1))
    }

    /// What was meant by something that other systems have, or that is often written so.
    fn idiom(&self) -> Option<String> {
        let (here, before) = (self.here(), self.back(1));
        let name = (here.kind == Kind::Word).then(|| self.shown(here));
        let first = self.tokens.get(self.first()).map_or(K::NO_KEYWORD, |t| t.keyword);
        let in_statement = |kind: Kind| self.tokens[self.first()..self.at].iter().any(|t| t.kind == kind);
        Some(match () {
            () if here.kind == Kind::Operator && self.shown(here).starts_with('`') => {
                "names that are no plain words stand in double quotes".to_owned()
            }
            () if self.word_back(1) == K::USING && name.is_some_and(|_| here.keyword != K::SAMPLE) => {
                format!("USING takes names in brackets: USING ({})", name.unwrap_or_default())
            }
            () if first == K::COPY && matches!(self.word_back(1), K::TO | K::FROM) => {
                "a file's path stands in single quotes".to_owned()
            }
            () if matches!(self.word_back(1), K::FROM | K::JOIN)
                && here.kind == Kind::Operator
                && self.shown(here).starts_with('/') =>
            {
                "a file's path stands in single quotes".to_owned()
            }
            () if here.kind == Kind::LeftBracket && self.word_back(1) == K::IN => {
                "IN takes values in round brackets: IN (1, 2)".to_owned()
            }
            () if here.kind == Kind::Comma && self.word_back(2) == K::LIMIT => {
                "write LIMIT count OFFSET rows_to_skip".to_owned()
            }
            () if self.word_back(1) == K::SELECT && self.back(2).is_some_and(|t| t.kind == Kind::Comma) => {
                "there is nothing between the comma and \"SELECT\"".to_owned()
            }
            () if self.word_back(1) == K::IS
                || (self.word_back(1) == K::NOT && self.word_back(2) == K::IS) =>
            {
                let sign = if self.word_back(1) == K::IS { "=" } else { "<>" };
                format!("IS is for NULL, TRUE and FALSE; others are compared by {sign}")
            }
            () if here.kind == Kind::Comma
                && self.tokens[self.first()..self.at].iter().any(|t| t.keyword == K::WHERE) =>
            {
                "conditions are joined by AND; several values stand in brackets: IN (1, 2)".to_owned()
            }
            () if first == K::DELETE && self.at == self.first() + 1 => "write DELETE FROM".to_owned(),
            () if first == K::INSERT && self.at == self.first() + 1 => "write INSERT INTO".to_owned(),
            () if here.keyword == K::FOR && in_statement(Kind::LeftBracket) => {
                "write list_transform(list, x -> expression), and list_filter(list, x -> condition) for IF"
                    .to_owned()
            }
            () if before.is_some_and(|t| t.kind == Kind::Word)
                && here.kind == Kind::LeftParen
                && self.named_back(2) =>
            {
                let name = before.map_or("", |t| self.shown(t));
                format!("a comma or an operator may be missing before \"{name}\"")
            }
            () => return None,
        })
    }

    /// Whether a word stands there that begins no clause.
    fn named_back(&self, count: usize) -> bool {
        self.back(count).is_some_and(|t| t.kind == Kind::Word && !is_clause(t.keyword))
    }
}

/// Words that follow a list, where a comma before them has nothing behind it.
fn is_clause(word: K) -> bool {
    matches!(
        word,
        K::FROM
            | K::WHERE
            | K::GROUP
            | K::ORDER
            | K::HAVING
            | K::LIMIT
            | K::OFFSET
            | K::UNION
            | K::QUALIFY
            | K::WINDOW
            | K::INTERSECT
    )
}

/// Words that a misspelt one is likely to be.
const GUESSED: [K; 32] = [
    K::ALTER,
    K::BEGIN,
    K::BETWEEN,
    K::COMMIT,
    K::COPY,
    K::CREATE,
    K::DELETE,
    K::DESCRIBE,
    K::DISTINCT,
    K::DROP,
    K::EXPLAIN,
    K::FROM,
    K::GROUP,
    K::HAVING,
    K::INSERT,
    K::JOIN,
    K::LIMIT,
    K::MERGE,
    K::OFFSET,
    K::ORDER,
    K::PARTITION,
    K::QUALIFY,
    K::RETURNING,
    K::ROLLBACK,
    K::SELECT,
    K::TABLE,
    K::TRUNCATE,
    K::UNION,
    K::UPDATE,
    K::VALUES,
    K::WHERE,
    K::WITH,
];

/// Those of them that a statement begins with, and nothing else.
const VERBS: [K; 9] =
    [K::ALTER, K::BEGIN, K::COMMIT, K::COPY, K::CREATE, K::DROP, K::MERGE, K::ROLLBACK, K::TRUNCATE];

/// Whether two words differ by one letter that is left out, put in or changed, or by two neighbours in the wrong order.
fn nearly(word: &str, known: &str) -> bool {
    let (a, b) = (word.to_ascii_uppercase().into_bytes(), known.as_bytes());
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Less => a == b.get(1..).unwrap_or_default(),
        std::cmp::Ordering::Greater => a.get(1..).unwrap_or_default() == b,
        std::cmp::Ordering::Equal => {
            a.get(1..) == b.get(1..) || (a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..])
        }
    }
}
