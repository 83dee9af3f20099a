//! Statements about wide tables, which the parser does not know, as calls of procedures.
//!
//! ```text
//!  CREATE [OR REPLACE] WIDE TABLE [IF NOT EXISTS] name FROM table | (table, ...) | SCHEMA schema [WITH (option = value, ...)]
//!    ->  create_wide_table('error' | 'replace' | 'keep', 'schema or nothing', 'name', 'table' | 'tables' | 'schema',
//!        'number of names', 'schema or nothing', 'name', ..., 'option', 'value', ...)
//!  REFRESH WIDE TABLE name  ->  refresh_wide_table('schema or nothing', 'name')
//!  DROP WIDE TABLE name     ->  DROP TABLE name
//! ```

use sqlparser::tokenizer::{Token, TokenWithSpan};

use types::{Error, Result, SqlState};

use crate::parse::is_word;
use crate::place;

/// What a statement is made into: the procedure and its arguments.
type Call = (&'static str, Vec<TokenWithSpan>);

/// Reads a statement from left to right.
struct Reader<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a TokenWithSpan> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }
    /// Takes these words if they are next.
    fn words(&mut self, words: &[&str]) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let there = rest.len() >= words.len() && words.iter().zip(rest).all(|(word, t)| is_word(t, word));
        if there {
            self.at += words.len();
        }
        there
    }
    fn sign(&mut self, sign: &Token) -> bool {
        let there = self.tokens.get(self.at).is_some_and(|t| t.token == *sign);
        self.at += usize::from(there);
        there
    }
    fn ended(&self) -> bool {
        self.at == self.tokens.len()
    }
    fn identifier(&mut self) -> Option<TokenWithSpan> {
        let token = self.next()?;
        let Token::Word(word) = &token.token else { return None };
        let name = match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        };
        Some(text(&name, token))
    }
    /// Schema, which may be nothing, and name.
    fn name(&mut self) -> Option<[TokenWithSpan; 2]> {
        let first = self.identifier()?;
        if self.sign(&Token::Period) {
            let second = self.identifier()?;
            if !self.sign(&Token::Period) {
                return Some([first, second]);
            }
            // The key of a schema of an attached database.
            let said = |token: &TokenWithSpan| match &token.token {
                Token::SingleQuotedString(said) => said.clone(),
                _ => String::new(),
            };
            return Some([text(&format!("{}.{}", said(&first), said(&second)), &first), self.identifier()?]);
        }
        Some([text("", &first), first])
    }
    /// `(option = value, ...)`.
    fn options(&mut self) -> Option<Vec<TokenWithSpan>> {
        if !self.sign(&Token::LParen) {
            return None;
        }
        let mut options = Vec::new();
        loop {
            options.push(self.identifier()?);
            if !self.sign(&Token::Eq) {
                return None;
            }
            let value = self.next()?;
            let shown = match &value.token {
                Token::SingleQuotedString(shown) => shown.clone(),
                Token::Number(digits, _) => digits.clone(),
                Token::Word(word) => word.value.clone(),
                _ => return None,
            };
            options.push(text(&shown, value));
            if self.sign(&Token::RParen) {
                return Some(options);
            }
            if !self.sign(&Token::Comma) {
                return None;
            }
        }
    }
}

fn text(text: &str, at: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token: Token::SingleQuotedString(text.to_owned()), span: at.span }
}

pub(crate) fn recognized(solid: &[TokenWithSpan]) -> Option<Call> {
    let mut r = Reader { tokens: solid, at: 0 };
    if r.words(&["refresh", "wide", "table"]) {
        let name = r.name()?;
        return r.ended().then(|| ("refresh_wide_table", name.to_vec()));
    }
    if !r.words(&["create"]) {
        return None;
    }
    let replace = r.words(&["or", "replace"]);
    if !r.words(&["wide", "table"]) {
        return None;
    }
    let start = solid.first()?;
    let keep = r.words(&["if", "not", "exists"]);
    if keep && replace {
        return None;
    }
    let mode = if replace {
        "replace"
    } else if keep {
        "keep"
    } else {
        "error"
    };
    let mut arguments = vec![text(mode, start)];
    arguments.extend(r.name()?);
    if !r.words(&["from"]) {
        return None;
    }
    let mut names: Vec<TokenWithSpan> = Vec::new();
    let source = if r.sign(&Token::LParen) {
        if r.words(&["schema"]) {
            let name = r.identifier()?;
            names.extend([text("", &name), name]);
            if !r.sign(&Token::RParen) {
                return None;
            }
            "schema"
        } else {
            loop {
                names.extend(r.name()?);
                if r.sign(&Token::RParen) {
                    break;
                }
                if !r.sign(&Token::Comma) {
                    return None;
                }
            }
            if names.len() == 2 { "table" } else { "tables" }
        }
    } else if r.words(&["schema"]) {
        let name = r.identifier()?;
        names.extend([text("", &name), name]);
        "schema"
    } else {
        names.extend(r.name()?);
        "table"
    };
    arguments.extend([text(source, start), text(&(names.len() / 2).to_string(), start)]);
    arguments.append(&mut names);
    if r.words(&["with"]) {
        arguments.append(&mut r.options()?);
    }
    r.ended().then_some(("create_wide_table", arguments))
}

/// The error for a statement about wide tables that is none of those above.
pub(crate) fn refuse_others(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    let solid = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let first: Vec<&TokenWithSpan> = solid.take(4).collect();
    let words = |wanted: &[&str]| {
        first.len() >= wanted.len() && wanted.iter().zip(&first).all(|(word, token)| is_word(token, word))
    };
    let wide = match () {
        () if words(&["create", "wide"]) || words(&["refresh", "wide"]) => first[1],
        () if words(&["create", "or", "replace", "wide"]) => first[3],
        () => return Ok(()),
    };
    let verb = first[0];
    let (message, form) = match is_word(verb, "create") {
        true => (
            "CREATE WIDE TABLE cannot be read",
            "write CREATE WIDE TABLE name FROM fact_table, or FROM (fact_table, other, ...)",
        ),
        false => ("REFRESH WIDE TABLE cannot be read", "write REFRESH WIDE TABLE name"),
    };
    Err(place::at(Error::new(SqlState::SyntaxError, message).with_hint(form), text, wide.span))
}

/// Makes DROP TABLE of DROP WIDE TABLE.
pub(crate) fn take_drop(tokens: &mut Vec<TokenWithSpan>) {
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).take(3).collect();
    if let [drop, wide, table] = solid.as_slice()
        && is_word(&tokens[*drop], "drop")
        && is_word(&tokens[*wide], "wide")
        && is_word(&tokens[*table], "table")
    {
        tokens.remove(*wide);
    }
}
