//! ATTACH, DETACH and COPY FROM DATABASE, read from the statement's words.
//!
//! ```text
//! ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(READ_ONLY [true], TYPE quickstep, ...)]
//! DETACH [DATABASE] [IF EXISTS] name
//! COPY FROM DATABASE from TO to [(SCHEMA)]
//! ```

use plan::Statement;
use plan::statement::{Attach, IfExists};
use sqlparser::tokenizer::Token;
use types::{Error, Result, SqlState};

use super::function::Words;
use crate::place;

/// The statement, if it is one of these.
pub(crate) fn databases(text: &str) -> Result<Option<Statement>> {
    // Only such texts are looked at twice.
    let begins =
        |word: &str| text.trim_start().get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    if !["attach", "detach", "copy", "--", "/*"].iter().any(|word| begins(word)) {
        return Ok(None);
    }
    let Some(mut words) = Words::of(text) else { return Ok(None) };
    if words.take(&["attach"]) {
        return attach(&mut words).map(Some);
    }
    if words.take(&["detach"]) {
        words.take(&["database"]);
        let if_exists = words.take(&["if", "exists"]);
        let Some(name) = words.name().filter(|_| words.ended()) else {
            return Err(wrong(&words, "write DETACH [IF EXISTS] name"));
        };
        return Ok(Some(Statement::Detach { name, if_exists }));
    }
    if words.take(&["copy", "from", "database"]) {
        return copy(&mut words).map(Some);
    }
    Ok(None)
}

/// The error for what stands where the words have been read to.
fn wrong(words: &Words<'_>, hint: &str) -> Error {
    let told = match words.tokens.get(words.at) {
        Some(token) => format!("syntax error at or near \"{}\"", token.token),
        None => "syntax error at end of input".to_owned(),
    };
    words.at_place(Error::new(SqlState::SyntaxError, told).with_hint(hint))
}

const FORM: &str = "write ATTACH 'path' [AS name] [(READ_ONLY)]";

fn attach(words: &mut Words<'_>) -> Result<Statement> {
    let replace = words.take(&["or", "replace"]);
    // A path may be called so, too: `ATTACH database` has no other word behind it.
    if words.tokens.len() > words.at + 1 {
        words.take(&["database"]);
    }
    let keep = words.take(&["if", "not", "exists"]);
    let if_exists = match (replace, keep) {
        (true, true) => {
            let message = "OR REPLACE and IF NOT EXISTS exclude each other";
            return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
        }
        (true, false) => IfExists::Replace,
        (false, true) => IfExists::Keep,
        (false, false) => IfExists::Error,
    };
    let Some(Token::SingleQuotedString(path) | Token::EscapedStringLiteral(path)) =
        words.tokens.get(words.at).map(|t| t.token.clone())
    else {
        return Err(wrong(words, "the path of a database stands in single quotes: ATTACH 'path' AS name"));
    };
    words.at += 1;
    let name = match words.take(&["as"]) {
        true => Some(words.name().ok_or_else(|| wrong(words, FORM))?),
        false => None,
    };
    let mut options = Vec::new();
    if words.sign(&Token::LParen) {
        loop {
            let name = words.name().ok_or_else(|| wrong(words, FORM))?.to_lowercase();
            let equals = words.sign(&Token::Eq);
            let value = match words.tokens.get(words.at).map(|t| &t.token) {
                Some(Token::SingleQuotedString(value) | Token::Number(value, _)) => Some(value.clone()),
                Some(Token::Word(word)) => Some(word.value.clone()),
                _ => None,
            };
            if value.is_some() {
                words.at += 1;
            } else if equals {
                return Err(wrong(words, FORM));
            }
            if options.iter().any(|(known, _): &(String, _)| *known == name) {
                let message = format!("ATTACH option \"{name}\" is given twice");
                return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
            }
            options.push((name, value));
            if words.sign(&Token::RParen) {
                break;
            }
            if !words.sign(&Token::Comma) {
                return Err(wrong(words, FORM));
            }
        }
    }
    match words.ended() {
        true => Ok(Statement::Attach(Attach { path, name, if_exists, options })),
        false => Err(wrong(words, FORM)),
    }
}

fn copy(words: &mut Words<'_>) -> Result<Statement> {
    const FORM: &str = "write COPY FROM DATABASE name TO name [(SCHEMA)]";
    let from = words.name().ok_or_else(|| wrong(words, FORM))?;
    if !words.take(&["to"]) {
        return Err(wrong(words, FORM));
    }
    let to = words.name().ok_or_else(|| wrong(words, FORM))?;
    let mut schema_only = false;
    if words.sign(&Token::LParen) {
        schema_only = words.take(&["schema"]);
        if !schema_only && !words.take(&["data"]) {
            return Err(wrong(words, FORM));
        }
        if !schema_only {
            return Err(Error::unsupported("COPY FROM DATABASE (DATA) is not supported")
                .with_hint("INSERT INTO to.table SELECT * FROM from.table copies the rows of one table")
                .at(place::START));
        }
        if !words.sign(&Token::RParen) {
            return Err(wrong(words, FORM));
        }
    }
    match words.ended() {
        true => Ok(Statement::CopyDatabase { from, to, schema_only }),
        false => Err(wrong(words, FORM)),
    }
}
