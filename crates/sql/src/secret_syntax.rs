//! Statements about secrets, which the parser does not know, as calls of procedures; and their texts without what is
//! secret in them.
//!
//! ```text
//!  CREATE [OR REPLACE] [TEMPORARY | PERSISTENT] SECRET [IF NOT EXISTS] [name] (TYPE s3, KEY_ID '...', SCOPE 's3://bucket')
//!    ->  create_secret('error' | 'replace' | 'keep', 'temporary' | 'persistent', 'name or nothing', 'type', 's3', ...)
//!  DROP [TEMPORARY | PERSISTENT] SECRET [IF EXISTS] name
//!    ->  drop_secret('error' | 'keep', 'any' | 'temporary' | 'persistent', 'name')
//! ```
//! An option with a list, `SCOPE ['a', 'b']`, is given once for each of its values. No message tells a value.

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use types::{Error, Result, SqlState};

use crate::dialect::Grammar;
use crate::parse::is_word;
use crate::place;

const SYNTAX: &str = "CREATE SECRET name (TYPE s3, KEY_ID '...', SECRET '...', SCOPE 's3://bucket')";

/// The procedures that these statements are parsed as.
pub const PROCEDURES: [&str; 2] = ["create_secret", "drop_secret"];

/// Makes a call of such a statement; anything else stays as it is.
pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let solid: Vec<TokenWithSpan> = tokens
        .iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF | Token::SemiColon))
        .cloned()
        .collect();
    let mut reader = Reader { text, tokens: &solid, at: 0 };
    let Some((procedure, arguments)) = reader.statement()? else { return Ok(()) };
    let Some(span) = solid.first().map(|t| t.span) else { return Ok(()) };
    let own = |token: Token| TokenWithSpan { token, span };
    let end = tokens.last().filter(|t| t.token == Token::EOF).cloned();
    let mut call =
        vec![own(Token::make_keyword("CALL")), own(Token::make_word(procedure, None)), own(Token::LParen)];
    for (at, argument) in arguments.into_iter().enumerate() {
        if at > 0 {
            call.push(own(Token::Comma));
        }
        call.push(own(argument));
    }
    call.push(own(Token::RParen));
    call.extend(end);
    *tokens = call;
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn words(&mut self, words: &[&str]) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let there = rest.len() >= words.len() && words.iter().zip(rest).all(|(word, t)| is_word(t, word));
        self.at += if there { words.len() } else { 0 };
        there
    }

    fn sign(&mut self, sign: &Token) -> bool {
        let there = self.tokens.get(self.at).is_some_and(|t| t.token == *sign);
        self.at += usize::from(there);
        there
    }

    fn fault<T>(&self, expected: &str) -> Result<T> {
        let message = format!("syntax error in a statement about a secret: {expected} is expected");
        let error = Error::new(SqlState::SyntaxError, message).with_hint(SYNTAX);
        let token = self.tokens.get(self.at).or(self.tokens.last());
        Err(token.map_or_else(|| error.clone(), |t| place::at(error.clone(), self.text, t.span)))
    }

    fn name(&mut self) -> Option<String> {
        let Token::Word(word) = &self.tokens.get(self.at)?.token else { return None };
        self.at += 1;
        Some(if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() })
    }

    /// How long the secret shall last; `None` when the statement does not say.
    fn lasting(&mut self) -> Option<&'static str> {
        if self.words(&["temporary"]) || self.words(&["temp"]) {
            return Some("temporary");
        }
        self.words(&["persistent"]).then_some("persistent")
    }

    /// The procedure and its arguments; `None` for other statements.
    fn statement(&mut self) -> Result<Option<(&'static str, Vec<Token>)>> {
        let text = |text: &str| Token::SingleQuotedString(text.to_owned());
        if self.words(&["drop"]) {
            let lasting = self.lasting();
            if !self.words(&["secret"]) {
                return Ok(None);
            }
            let keep = self.words(&["if", "exists"]);
            let Some(name) = self.name() else { return self.fault("the secret's name") };
            if self.at < self.tokens.len() {
                return self.fault("the statement's end");
            }
            let kept = if keep { "keep" } else { "error" };
            return Ok(Some(("drop_secret", vec![text(kept), text(lasting.unwrap_or("any")), text(&name)])));
        }
        if !self.words(&["create"]) {
            return Ok(None);
        }
        let replace = self.words(&["or", "replace"]);
        let lasting = self.lasting();
        if !self.words(&["secret"]) {
            return Ok(None);
        }
        let keep = self.words(&["if", "not", "exists"]);
        if keep && replace {
            return self.fault("either OR REPLACE or IF NOT EXISTS");
        }
        let name = self.name().unwrap_or_default();
        let conflict = match (replace, keep) {
            (true, _) => "replace",
            (_, true) => "keep",
            _ => "error",
        };
        let mut arguments = vec![text(conflict), text(lasting.unwrap_or("temporary")), text(&name)];
        if !self.sign(&Token::LParen) {
            return self.fault("(");
        }
        loop {
            let Some(option) = self.name() else { return self.fault("an option's name") };
            // Others write it.
            self.sign(&Token::Eq);
            for value in self.values()? {
                arguments.extend([text(&option.to_lowercase()), value]);
            }
            if self.sign(&Token::RParen) {
                break;
            }
            if !self.sign(&Token::Comma) {
                return self.fault("a comma or )");
            }
        }
        match self.at == self.tokens.len() {
            true => Ok(Some(("create_secret", arguments))),
            false => self.fault("the statement's end"),
        }
    }

    /// One value, or those of a list.
    fn values(&mut self) -> Result<Vec<Token>> {
        let close = match self.tokens.get(self.at).map(|t| &t.token) {
            Some(Token::LBracket) => Token::RBracket,
            Some(Token::LParen) => Token::RParen,
            _ => return Ok(vec![self.value()?]),
        };
        self.at += 1;
        let mut values = vec![self.value()?];
        while self.sign(&Token::Comma) {
            values.push(self.value()?);
        }
        match self.sign(&close) {
            true => Ok(values),
            false => self.fault("the list's end"),
        }
    }

    /// A text, a word, a number or a parameter.
    fn value(&mut self) -> Result<Token> {
        let value = match self.tokens.get(self.at).map(|t| &t.token) {
            Some(
                Token::SingleQuotedString(text)
                | Token::EscapedStringLiteral(text)
                | Token::NationalStringLiteral(text),
            ) => Token::SingleQuotedString(text.clone()),
            Some(Token::DollarQuotedString(text)) => Token::SingleQuotedString(text.value.clone()),
            Some(Token::Word(word)) => Token::SingleQuotedString(word.value.clone()),
            Some(Token::Number(number, _)) => Token::SingleQuotedString(number.clone()),
            Some(parameter @ (Token::Placeholder(_) | Token::Question)) => parameter.clone(),
            _ => return self.fault("an option's value"),
        };
        self.at += 1;
        Ok(value)
    }
}

/// Settings whose values nobody shall see.
const SECRET_SETTINGS: [&str; 4] =
    ["s3_access_key_id", "s3_secret_access_key", "s3_session_token", "azure_account_key"];

/// The text with a star for each character of what is secret in it: the options of CREATE SECRET and the values of
/// settings that are keys. Lines and columns stay where they are, so that errors point at the right places.
pub fn masked(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    if !lower.contains("secret") && !SECRET_SETTINGS.iter().any(|name| lower.contains(name)) {
        return Cow::Borrowed(text);
    }
    let dialect = Grammar::new();
    let mut tokens = Vec::new();
    // What follows a fault, such as a text without an end, is not understood: it is masked as a whole if it may matter.
    let whole = Tokenizer::new(&dialect, text).tokenize_with_location_into_buf(&mut tokens).is_ok();
    let offset = |token: &TokenWithSpan| {
        place::location(text, token.span.start).map_or(text.len(), |at| at.offset as usize)
    };
    let (mut hidden, mut from) = (Vec::new(), 0);
    while from < tokens.len() {
        let length = tokens[from..].iter().position(|t| t.token == Token::SemiColon);
        let to = length.map_or(tokens.len(), |length| from + length);
        let solid: Vec<&TokenWithSpan> = tokens[from..to]
            .iter()
            .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF))
            .collect();
        if let Some(first) = secret_from(&solid) {
            let end = match tokens.get(to) {
                Some(semicolon) => offset(semicolon),
                None => text.len(),
            };
            let begin = solid.get(first).map_or(end, |token| offset(token));
            hidden.push((begin, end));
        }
        from = to + 1;
    }
    if !whole {
        let begin = ["secret", "s3_", "azure_"].iter().filter_map(|word| lower.find(word)).min();
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

/// The first token of a statement that nobody shall see.
fn secret_from(solid: &[&TokenWithSpan]) -> Option<usize> {
    let word = |at: usize, words: &[&str]| {
        solid.get(at).is_some_and(|token| words.iter().any(|word| is_word(token, word)))
    };
    let setting = |at: usize| word(at, &SECRET_SETTINGS);
    // EXPLAIN and its kin may stand before; they do not work, but their texts are seen as well.
    let first = (0..solid.len().min(8)).find(|at| word(*at, &["create", "set", "call"]))?;
    if word(first, &["set"]) {
        let name = (first + 1..first + 3).find(|at| setting(*at))?;
        return Some(name + 1);
    }
    if word(first, &["call"]) {
        return word(first + 1, &["create_secret"]).then_some(first + 2);
    }
    const BETWEEN: [&str; 5] = ["or", "replace", "temporary", "temp", "persistent"];
    let secret =
        (first + 1..first + 5).find(|at| !word(*at, &BETWEEN)).filter(|at| word(*at, &["secret"]))?;
    let open = solid.iter().skip(secret).position(|token| token.token == Token::LParen);
    // Without a bracket: anything but the name may be what was meant to be inside of it.
    Some(open.map_or(secret + 1, |open| secret + open))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Result<String> {
        let dialect = Grammar::new();
        let mut tokens = Tokenizer::new(&dialect, text).tokenize_with_location().expect("has tokens");
        take(text, &mut tokens)?;
        let tokens = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
        Ok(tokens.map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ").trim().to_owned())
    }

    #[test]
    fn statements_about_secrets_are_calls() {
        for (text, call) in [
            (
                "CREATE SECRET a (TYPE s3, KEY_ID 'k')",
                "CALL create_secret ( 'error' , 'temporary' , 'a' , 'type' , 's3' , 'key_id' , 'k' )",
            ),
            (
                "create or replace persistent secret (type = s3, scope ['s3://a', 's3://b']);",
                "CALL create_secret ( 'replace' , 'persistent' , '' , 'type' , 's3' , 'scope' , 's3://a' , 'scope' , \
                 's3://b' )",
            ),
            (
                "CREATE SECRET IF NOT EXISTS \"A\" (TYPE s3, USE_SSL false, SECRET $1)",
                "CALL create_secret ( 'keep' , 'temporary' , 'A' , 'type' , 's3' , 'use_ssl' , 'false' , 'secret' , $1 )",
            ),
            ("DROP SECRET a;", "CALL drop_secret ( 'error' , 'any' , 'a' )"),
            ("drop persistent secret if exists a", "CALL drop_secret ( 'keep' , 'persistent' , 'a' )"),
        ] {
            assert_eq!(taken(text).unwrap(), call);
        }
        for text in ["CREATE TABLE secret (a INT)", "DROP TABLE secret", "CREATE TEMP TABLE secret (a INT)"] {
            assert!(!taken(text).unwrap().starts_with("CALL"), "{text}");
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
            "CREATE OR REPLACE SECRET IF NOT EXISTS a (TYPE s3)",
            "DROP SECRET",
            "DROP SECRET a b",
        ] {
            let error = taken(text).unwrap_err();
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
        ] {
            let shown = masked(text);
            assert!(!shown.contains("hunter2"), "{shown}");
            assert_eq!(shown.chars().count(), text.chars().count());
            assert_eq!(shown.split(' ').next(), text.split(' ').next());
        }
        for text in ["SELECT secret FROM t", "CREATE TABLE secret (a INT)", "SELECT 1"] {
            assert_eq!(masked(text), text);
        }
        assert!(masked("SELECT 1; CREATE SECRET a (TYPE s3); SELECT 2").ends_with("; SELECT 2"));
    }
}
