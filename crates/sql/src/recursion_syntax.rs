//! SEARCH and CYCLE behind a query of WITH RECURSIVE, which the parser's tree has no place for: taken out of the
//! tokens, and kept by the place of the query's name.
//!
//! ```text
//!  SEARCH DEPTH FIRST BY a, b SET c       SEARCH BREADTH FIRST BY a, b SET c
//!  CYCLE a, b SET c [TO value DEFAULT value] USING d
//! ```

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Whitespace};
use types::{Error, Result, SqlState};

use crate::parse::is_word;
use crate::place;

/// SEARCH: a column that sorts the rows of a recursion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub breadth: bool,
    pub by: Vec<Ident>,
    pub set: Ident,
    pub span: Span,
}

/// CYCLE: a column that says whether a row was there before on the way to it, and that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub by: Vec<Ident>,
    pub mark: Ident,
    /// As they are written.
    pub value: String,
    pub default: String,
    pub path: Ident,
    pub span: Span,
}

/// What stands behind one query, by the place of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub at: Location,
    pub search: Option<Search>,
    pub cycle: Option<Cycle>,
}

/// Takes the clauses out.
pub(crate) fn take(text: &str, tokens: &mut [TokenWithSpan]) -> Result<Vec<Marks>> {
    let mut kept = Vec::new();
    if !tokens.iter().any(|t| is_word(t, "search") || is_word(t, "cycle")) {
        return Ok(kept);
    }
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut place = 1;
    while place < solid.len() {
        let begins = is_word(&tokens[solid[place]], "search") || is_word(&tokens[solid[place]], "cycle");
        let owner = if begins { owner(tokens, &solid, place) } else { None };
        let Some(at) = owner else {
            place += 1;
            continue;
        };
        let mut reader = Reader { tokens, solid: &solid, place };
        let mut marks = Marks { at, search: None, cycle: None };
        let read = reader.clauses(&mut marks);
        let end = reader.place;
        if read.is_none() {
            let wrong = &tokens[solid[end.min(solid.len() - 1)]];
            let near = match &wrong.token {
                Token::EOF => "syntax error at end of input".to_owned(),
                token => format!("syntax error at or near \"{token}\""),
            };
            let hint = match marks.search.is_none() && is_word(&tokens[solid[place]], "search") {
                true => "write SEARCH DEPTH FIRST BY column SET column, or SEARCH BREADTH",
                false => "write CYCLE column SET column [TO value DEFAULT value] USING column",
            };
            return Err(place::at(Error::new(SqlState::SyntaxError, near).with_hint(hint), text, wrong.span));
        }
        for taken in &solid[place..end] {
            tokens[*taken].token = Token::Whitespace(Whitespace::Space);
        }
        kept.push(marks);
        place = end;
    }
    Ok(kept)
}

/// The place of the name of the query of a WITH that ends before the token at `place`.
fn owner(tokens: &[TokenWithSpan], solid: &[usize], place: usize) -> Option<Location> {
    let opening = |closing: usize| {
        let mut depth = 0_i32;
        (0..=closing).rev().find(|at| {
            match tokens[solid[*at]].token {
                Token::RParen => depth += 1,
                Token::LParen => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    };
    let closes = |at: usize| tokens[solid[at]].token == Token::RParen;
    let word = |at: usize, word: &str| is_word(&tokens[solid[at]], word);
    let closing = place.checked_sub(1).filter(|at| closes(*at))?;
    let mut at = opening(closing)?.checked_sub(1)?;
    if word(at, "materialized") {
        at = at.checked_sub(1)?;
        if word(at, "not") {
            at = at.checked_sub(1)?;
        }
    }
    if !word(at, "as") {
        return None;
    }
    at = at.checked_sub(1)?;
    if closes(at) {
        at = opening(at)?.checked_sub(1)?;
    }
    let before = at.checked_sub(1)?;
    let with =
        word(before, "with") || word(before, "recursive") || tokens[solid[before]].token == Token::Comma;
    (with && matches!(tokens[solid[at]].token, Token::Word(_))).then(|| tokens[solid[at]].span.start)
}

struct Reader<'t> {
    tokens: &'t [TokenWithSpan],
    solid: &'t [usize],
    place: usize,
}

impl Reader<'_> {
    fn here(&self) -> Option<&TokenWithSpan> {
        self.solid.get(self.place).map(|at| &self.tokens[*at])
    }

    fn word(&mut self, word: &str) -> Option<()> {
        is_word(self.here()?, word).then(|| self.place += 1)
    }

    fn name(&mut self) -> Option<Ident> {
        let token = self.here()?;
        let Token::Word(word) = &token.token else { return None };
        let ident = Ident { value: word.value.clone(), quote_style: word.quote_style, span: token.span };
        self.place += 1;
        Some(ident)
    }

    fn names(&mut self) -> Option<Vec<Ident>> {
        let mut names = vec![self.name()?];
        while self.here().is_some_and(|t| t.token == Token::Comma) {
            self.place += 1;
            names.push(self.name()?);
        }
        Some(names)
    }

    /// A constant as it is written, up to a word.
    fn constant(&mut self, end: &str) -> Option<String> {
        let mut written = String::new();
        while !is_word(self.here()?, end) {
            if matches!(self.here()?.token, Token::EOF | Token::RParen | Token::LParen | Token::Comma) {
                return None;
            }
            if !written.is_empty() {
                written.push(' ');
            }
            written.push_str(&self.here()?.token.to_string());
            self.place += 1;
        }
        (!written.is_empty()).then_some(written)
    }

    fn clauses(&mut self, marks: &mut Marks) -> Option<()> {
        let span = self.here()?.span;
        if self.word("search").is_some() {
            let breadth = self.word("breadth").is_some();
            if !breadth {
                self.word("depth")?;
            }
            self.word("first")?;
            self.word("by")?;
            let by = self.names()?;
            self.word("set")?;
            marks.search = Some(Search { breadth, by, set: self.name()?, span });
        }
        let Some(span) = self.here().map(|token| token.span) else { return Some(()) };
        if self.word("cycle").is_none() {
            return Some(());
        }
        let by = self.names()?;
        self.word("set")?;
        let mark = self.name()?;
        let (mut value, mut default) = ("true".to_owned(), "false".to_owned());
        if self.word("to").is_some() {
            value = self.constant("default")?;
            self.word("default")?;
            default = self.constant("using")?;
        }
        self.word("using")?;
        let path = self.name()?;
        marks.cycle = Some(Cycle { by, mark, value, default, path, span });
        Some(())
    }
}
