//! PARTITION BY of CREATE TABLE, in one statement as MySQL and Oracle have it; the parser knows other forms.
//!
//! ```text
//!  PARTITION BY HASH (column) PARTITIONS 8
//!  PARTITION BY RANGE (column) (PARTITION old VALUES LESS THAN ('2020-01-01'),
//!                               PARTITION rest VALUES LESS THAN (MAXVALUE))
//! ```

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use types::{Error, Result, SqlState};

use crate::parse::is_word;
use crate::place;

/// The clause, its values not bound yet.
#[derive(Clone, Debug)]
pub(crate) struct PartitionClause {
    pub column: Ident,
    pub kind: PartitionKind,
}

#[derive(Clone, Debug)]
pub(crate) enum PartitionKind {
    Hash(String),
    /// Name and the text of the value that all of the partition are below; `None` is MAXVALUE.
    Range(Vec<(Ident, Option<String>)>),
}

/// Takes the clause out of the tokens of a CREATE TABLE.
pub(crate) fn take(text: &str, tokens: &mut [TokenWithSpan]) -> Result<Option<PartitionClause>> {
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    if !solid.first().is_some_and(|at| is_word(&tokens[*at], "create")) {
        return Ok(None);
    }
    let mut depth = 0;
    let mut found = None;
    for (place, at) in solid.iter().enumerate() {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        let word =
            |ahead: usize, word: &str| solid.get(place + ahead).is_some_and(|at| is_word(&tokens[*at], word));
        if depth > 0 {
            continue;
        }
        if word(0, "as") {
            break;
        }
        if word(0, "partition") && word(1, "by") && (word(2, "hash") || word(2, "range")) {
            found = Some(place);
            break;
        }
    }
    let Some(start) = found else { return Ok(None) };
    let mut reader = Reader { tokens, solid: &solid, at: start + 3 };
    let hash = is_word(&reader.tokens[solid[start + 2]], "hash");
    let clause = if hash { reader.hash() } else { reader.range() };
    let end = reader.at;
    let Some(clause) = clause else {
        let at = solid.get(end).or(solid.last()).map(|at| tokens[*at].span);
        let error = Error::new(SqlState::SyntaxError, "PARTITION BY cannot be read").with_hint(
            "write PARTITION BY HASH (column) PARTITIONS 4, or \
             PARTITION BY RANGE (column) (PARTITION name VALUES LESS THAN (value), ...)",
        );
        return Err(match at {
            Some(span) => place::at(error, text, span),
            None => error,
        });
    };
    for at in &solid[start..end] {
        tokens[*at].token = Token::Whitespace(Whitespace::Space);
    }
    Ok(Some(clause))
}

struct Reader<'a> {
    tokens: &'a [TokenWithSpan],
    solid: &'a [usize],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a TokenWithSpan> {
        self.solid.get(self.at).map(|at| &self.tokens[*at])
    }
    fn word(&mut self, word: &str) -> Option<()> {
        is_word(self.peek()?, word).then(|| self.at += 1)
    }
    fn sign(&mut self, sign: &Token) -> Option<()> {
        (self.peek()?.token == *sign).then(|| self.at += 1)
    }
    fn identifier(&mut self) -> Option<Ident> {
        let token = self.peek()?;
        let Token::Word(word) = &token.token else { return None };
        self.at += 1;
        Some(Ident { value: word.value.clone(), quote_style: word.quote_style, span: token.span })
    }
    fn column(&mut self) -> Option<Ident> {
        self.sign(&Token::LParen)?;
        let column = self.identifier()?;
        self.sign(&Token::RParen)?;
        Some(column)
    }

    fn hash(&mut self) -> Option<PartitionClause> {
        let column = self.column()?;
        self.word("partitions")?;
        let Token::Number(count, _) = &self.peek()?.token else { return None };
        self.at += 1;
        Some(PartitionClause { column, kind: PartitionKind::Hash(count.clone()) })
    }

    fn range(&mut self) -> Option<PartitionClause> {
        let column = self.column()?;
        self.sign(&Token::LParen)?;
        let mut partitions = Vec::new();
        loop {
            self.word("partition")?;
            let name = self.identifier()?;
            self.word("values")?;
            self.word("less")?;
            self.word("than")?;
            partitions.push((name, self.bound()?));
            if self.sign(&Token::RParen).is_some() {
                break;
            }
            self.sign(&Token::Comma)?;
        }
        Some(PartitionClause { column, kind: PartitionKind::Range(partitions) })
    }

    /// `(value)`, `(MAXVALUE)` or `MAXVALUE`.
    fn bound(&mut self) -> Option<Option<String>> {
        if self.word("maxvalue").is_some() {
            return Some(None);
        }
        self.sign(&Token::LParen)?;
        if self.word("maxvalue").is_some() {
            return self.sign(&Token::RParen).map(|()| None);
        }
        let (mut shown, mut depth) = (String::new(), 0);
        loop {
            let token = self.peek()?;
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                _ => {}
            }
            shown.push_str(&token.token.to_string());
            shown.push(' ');
            self.at += 1;
        }
        self.at += 1;
        (!shown.is_empty()).then_some(Some(shown))
    }
}
