//! Statements about secrets: how they are written, and their texts without what is secret in them. No message tells a
//! value.
//!
//! `masked` gives the text that may be shown. Lines and columns stay where they are, so that errors point at the
//! right places.

use std::borrow::Cow;

use syntax::{Keyword, Kind, SyntaxError};
use types::{Error, SqlState};

use crate::place;
use crate::words::Words;

/// The form of CREATE SECRET, for hints.
pub(crate) const SYNTAX: &str =
    "CREATE SECRET name (TYPE s3, KEY_ID '...', SECRET '...', SCOPE 's3://bucket')";

/// The procedures that these statements are calls of.
pub const PROCEDURES: [&str; 2] = ["create_secret", "drop_secret"];

/// The error of a text with secrets that cannot be read: where, but not what stands there.
pub(crate) fn fault(text: &str, error: &SyntaxError) -> Option<Error> {
    matches!(masked(text), Cow::Owned(_)).then(|| {
        let (what, form) = match text.to_ascii_lowercase().contains("password") {
            true => ("a statement with a password", "CREATE ROLE name LOGIN PASSWORD '...'"),
            false => ("a statement about secrets", SYNTAX),
        };
        Error::new(SqlState::SyntaxError, format!("syntax error in {what}"))
            .with_hint(format!("write {form}"))
            .at(place::at_span(text, error.span))
    })
}

/// Settings whose values `masked` hides.
const SECRET_SETTINGS: [&str; 4] =
    ["s3_access_key_id", "s3_secret_access_key", "s3_session_token", "azure_account_key"];

/// The text with a star for each character of what is secret in it: the options of CREATE SECRET and the values of
/// settings that are keys. Lines and columns stay where they are, so that errors point at the right places.
pub fn masked(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let matters = lower.contains("secret") || lower.contains("password");
    if !matters && !SECRET_SETTINGS.iter().any(|name| lower.contains(name)) {
        return Cow::Borrowed(text);
    }
    // What follows a fault, such as a text without an end, is not understood: it is masked as a whole if it may
    // matter.
    let (words, whole) = match Words::of(text) {
        Ok(words) => (words, true),
        Err(fault) => (before(text, fault.span.start as usize), false),
    };
    let (mut hidden, mut from) = (Vec::new(), 0);
    let count = words.tokens.len();
    while from < count {
        let to = (from..count).find(|at| words.is_kind(*at, Kind::Semicolon)).unwrap_or(count);
        let offset = |at: usize| words.tokens.get(at).map_or(text.len(), |token| token.span.start as usize);
        if let Some(first) = secret_from(&words, from, to) {
            let end = if to < count { offset(to) } else { text.len() };
            hidden.push((if first < to { offset(first) } else { end }, end));
        }
        from = to + 1;
    }
    if !whole {
        let begin = ["secret", "s3_", "azure_", "password"].iter().filter_map(|word| lower.find(word)).min();
        hidden.push((begin.unwrap_or(0), text.len()));
    }
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let shown = |(at, c): (usize, char)| {
        let secret = hidden.iter().any(|(from, to)| (*from..*to).contains(&at));
        if secret && !c.is_whitespace() { '*' } else { c }
    };
    Cow::Owned(text.char_indices().map(shown).collect())
}

/// The words before a fault.
fn before(text: &str, fault: usize) -> Words<'_> {
    let text = text.get(..fault).unwrap_or_default();
    Words::of(text).unwrap_or(Words { text, tokens: vec![] })
}

/// The first token to mask of a statement with the tokens `[from, to)`; `None` where it holds no secret.
fn secret_from(words: &Words<'_>, from: usize, to: usize) -> Option<usize> {
    use Keyword as K;
    let word = |at: usize, known: &[K]| at < to && known.iter().any(|known| words.is(at, *known));
    let named = |at: usize, known: &[&str]| {
        let token = words.tokens.get(at).filter(|token| at < to && token.kind == Kind::Word);
        token.is_some_and(|token| known.iter().any(|k| token.span.of(words.text).eq_ignore_ascii_case(k)))
    };
    // EXPLAIN and its kin may stand before; they do not work, but their texts are seen as well.
    let first = (from..to.min(from + 8)).find(|at| word(*at, &[K::CREATE, K::ALTER, K::SET, K::CALL]))?;
    if word(first, &[K::CREATE, K::ALTER]) && word(first + 1, &[K::ROLE, K::USER, K::GROUP]) {
        // The role may be called so.
        let password = (first + 3..to).find(|at| named(*at, &["password"]))?;
        return Some(password + 1);
    }
    if word(first, &[K::ALTER]) {
        return None;
    }
    if word(first, &[K::SET]) {
        let name = (first + 1..first + 3).find(|at| named(*at, &SECRET_SETTINGS))?;
        return Some(name + 1);
    }
    if word(first, &[K::CALL]) {
        return named(first + 1, &["create_secret"]).then_some(first + 2);
    }
    const BETWEEN: [Keyword; 5] = [K::OR, K::REPLACE, K::TEMPORARY, K::TEMP, K::PERSISTENT];
    let secret =
        (first + 1..first + 5).find(|at| !word(*at, &BETWEEN)).filter(|at| word(*at, &[K::SECRET]))?;
    let open = (secret..to).find(|at| words.is_kind(*at, Kind::LeftParen));
    // Without a bracket: anything but the name may be what was meant to be inside of it.
    Some(open.unwrap_or(secret + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::grammar_walk::catalog::Catalog;

    /// The procedure that a statement is a call of, with its values; nothing for every other statement.
    fn call(text: &str) -> String {
        let parameters = [(types::Value::text("given"), types::Type::Text)];
        let one = crate::split(text).unwrap().remove(0);
        match crate::plan_with(text, &one, &Catalog::tpch(), &parameters) {
            Ok(plan::Statement::Call { procedure, arguments }) => {
                let values = arguments.iter().map(|(_, value, ty)| value.display(*ty));
                format!("{procedure} {}", values.collect::<Vec<_>>().join(","))
            }
            _ => String::new(),
        }
    }

    #[test]
    fn statements_about_secrets_are_calls() {
        for (text, expected) in [
            ("CREATE SECRET a (TYPE s3, KEY_ID 'k')", "create_secret error,temporary,a,type,s3,key_id,k"),
            (
                "create or replace persistent secret (type = s3, scope ['s3://a', 's3://b']);",
                "create_secret replace,persistent,,type,s3,scope,s3://a,scope,s3://b",
            ),
            (
                "CREATE SECRET IF NOT EXISTS \"A\" (TYPE s3, USE_SSL false, SECRET $1)",
                "create_secret keep,temporary,A,type,s3,use_ssl,false,secret,given",
            ),
            ("DROP SECRET a;", "drop_secret error,any,a"),
            ("drop persistent secret if exists a", "drop_secret keep,persistent,a"),
        ] {
            assert_eq!(call(text), expected);
        }
        for text in ["CREATE TABLE secret (a INT)", "DROP TABLE secret", "CREATE TEMP TABLE secret (a INT)"] {
            assert_eq!(call(text), "", "{text}");
        }
    }

    #[test]
    fn faults_are_told_without_values() {
        for text in [
            "CREATE SECRET",
            "CREATE SECRET a",
            "CREATE SECRET a (",
            "CREATE SECRET a ()",
            "CREATE SECRET a (TYPE)",
            "CREATE SECRET a (TYPE s3 'hunter2')",
            "CREATE SECRET a ('hunter2')",
            "CREATE SECRET a (TYPE s3, SECRET 'hunter2'",
            "CREATE SECRET a (SCOPE ['hunter2', )",
            "CREATE SECRET a (TYPE s3, SECRET 'hunter2') now",
            "CREATE SECRET a (TYPE s3, SECRET 'hunter2",
            "CREATE OR REPLACE SECRET IF NOT EXISTS a (TYPE s3)",
            "DROP SECRET",
            "DROP SECRET a b",
        ] {
            let planned = crate::plan_one(text, &Catalog::tpch());
            let error = planned.err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(error.state(), SqlState::SyntaxError, "{text}");
            assert!(!format!("{error:?}").contains("hunter2"), "{text}: {error}");
            assert!(!error.render(&masked(text)).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn texts_are_shown_without_what_is_secret() {
        for text in [
            "CREATE SECRET a (TYPE s3, SECRET 'hunter2')",
            "SELECT 1; create or replace temp secret if not exists a (TYPE s3, SECRET $$hunter2$$); SELECT 2",
            "CREATE SECRET a TYPE s3, SECRET hunter2",
            "CREATE SECRET a (TYPE s3, /* hunter2 */ SECRET E'hunter2')",
            "CREATE SECRET a (TYPE s3, SECRET 'hunter2",
            "EXPLAIN CREATE SECRET a (SECRET hunter2)",
            "CALL create_secret('error', 'temporary', 'a', 'secret', 'hunter2')",
            "SET s3_secret_access_key = 'hunter2'",
            "set session S3_SECRET_ACCESS_KEY to 'hunter2'; SELECT 1",
            "SET azure_account_key = 'hunter2",
            "CREATE ROLE a LOGIN PASSWORD 'hunter2' SUPERUSER",
            "alter user password encrypted password 'hunter2'; SELECT 1",
            "CREATE USER a PASSWORD hunter2",
            "ALTER ROLE a PASSWORD 'hunter2",
            "EXPLAIN ALTER ROLE a PASSWORD $$hunter2$$",
        ] {
            let shown = masked(text);
            assert!(!shown.contains("hunter2"), "{shown}");
            assert_eq!(shown.chars().count(), text.chars().count());
            assert_eq!(shown.split(' ').next(), text.split(' ').next());
        }
        for text in [
            "SELECT password FROM t",
            "ALTER TABLE t ADD COLUMN password TEXT",
            "SELECT secret FROM t",
            "CREATE TABLE secret (a INT)",
            "SELECT 1",
        ] {
            assert_eq!(masked(text), text);
        }
        assert!(masked("SELECT 1; CREATE SECRET a (TYPE s3); SELECT 2").ends_with("; SELECT 2"));
    }
}
