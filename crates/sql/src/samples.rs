//! Samples in a statement's tokens: TABLESAMPLE in all spellings becomes the one that the parser reads, USING SAMPLE is
//! taken out and kept by the place of its SELECT.
//!
//! ```text
//!  method ( amount [%|PERCENT|ROWS] ) [REPEATABLE (seed)]        bernoulli(10), reservoir(20 ROWS)
//!  amount [%|PERCENT|ROWS] [( method [, seed] )]                 10%, 20 ROWS, 10 PERCENT (system, 42)
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace};
use types::{Error, Result, SqlState};

use crate::parse::is_word;
use crate::place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleMethod {
    Bernoulli,
    System,
    Reservoir,
}

/// USING SAMPLE. Numbers are as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleClause {
    pub at: Location,
    pub method: Option<SampleMethod>,
    pub amount: String,
    /// Rows rather than a percentage.
    pub rows: bool,
    pub seed: Option<String>,
}

/// Rewrites TABLESAMPLE, and takes USING SAMPLE out; what is kept is by the place of the word SELECT.
pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<(Location, SampleClause)>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_word(&tokens[at], "tablesample") {
            let mut reader = Reader { tokens, at: at + 1 };
            if let Some(clause) = reader.clause(tokens[at].span.start) {
                let end = reader.at;
                let own = canonical(&clause, &tokens[at]);
                at += own.len();
                tokens.splice(at - own.len()..end, own);
                continue;
            }
        } else if is_word(&tokens[at], "using")
            && let Some(sample) = next_solid(tokens, at + 1)
            && is_word(&tokens[sample], "sample")
            && let Some(select) = owner(tokens, at)
        {
            let mut reader = Reader { tokens, at: sample + 1 };
            let Some(clause) = reader.clause(tokens[at].span.start) else {
                let error =
                    Error::new(SqlState::SyntaxError, "USING SAMPLE takes a percentage or a number of rows")
                        .with_hint(
                            "such as USING SAMPLE 10%, USING SAMPLE 1000 ROWS or USING SAMPLE system(5%)",
                        );
                return Err(place::at(error, text, tokens[at].span));
            };
            let end = reader.at;
            kept.push((tokens[select].span.start, clause));
            for token in &mut tokens[at..end] {
                token.token = Token::Whitespace(Whitespace::Space);
            }
        }
        at += 1;
    }
    Ok(kept)
}

/// The SELECT that what stands at `from` belongs to.
fn owner(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in (0..from).rev() {
        match &tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            Token::Word(_) if depth == 0 && is_word(&tokens[at], "select") => return Some(at),
            _ => {}
        }
    }
    None
}

fn next_solid(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

/// `TABLESAMPLE [BERNOULLI|SYSTEM] (amount PERCENT|ROWS) [REPEATABLE (seed)]`.
fn canonical(clause: &SampleClause, first: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let mut all = vec![Token::make_keyword("TABLESAMPLE")];
    match clause.method {
        Some(SampleMethod::Bernoulli) => all.push(Token::make_keyword("BERNOULLI")),
        Some(SampleMethod::System) => all.push(Token::make_keyword("SYSTEM")),
        Some(SampleMethod::Reservoir) | None => {}
    }
    all.push(Token::LParen);
    all.push(Token::Number(clause.amount.clone(), false));
    all.push(Token::make_keyword(if clause.rows { "ROWS" } else { "PERCENT" }));
    all.push(Token::RParen);
    if let Some(seed) = &clause.seed {
        all.extend([Token::make_keyword("REPEATABLE"), Token::LParen]);
        all.extend([Token::Number(seed.clone(), false), Token::RParen]);
    }
    all.into_iter().map(|token| TokenWithSpan { token, span: first.span }).collect()
}

/// Reads one clause; `at` stands behind it afterwards.
struct Reader<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        next_solid(self.tokens, self.at).map(|at| &self.tokens[at].token)
    }

    fn accept(&mut self, wanted: impl Fn(&Token) -> bool) -> Option<Token> {
        let at = next_solid(self.tokens, self.at)?;
        let token = &self.tokens[at].token;
        wanted(token).then(|| {
            self.at = at + 1;
            token.clone()
        })
    }

    fn keyword(&mut self, keyword: Keyword) -> bool {
        self.accept(|t| matches!(t, Token::Word(w) if w.quote_style.is_none() && w.keyword == keyword))
            .is_some()
    }

    fn number(&mut self) -> Option<String> {
        match self.accept(|t| matches!(t, Token::Number(..)))? {
            Token::Number(digits, _) => Some(digits),
            _ => None,
        }
    }

    fn method(&mut self) -> Option<SampleMethod> {
        let named = |t: &Token| match t {
            Token::Word(w) if w.quote_style.is_none() => match w.value.to_lowercase().as_str() {
                "bernoulli" => Some(SampleMethod::Bernoulli),
                "system" => Some(SampleMethod::System),
                "reservoir" => Some(SampleMethod::Reservoir),
                _ => None,
            },
            _ => None,
        };
        let method = self.peek().and_then(named)?;
        self.accept(|_| true)?;
        Some(method)
    }

    /// Rows, or a percentage; `bare` is what a number without a unit is.
    fn unit(&mut self, bare: bool) -> bool {
        if self.accept(|t| *t == Token::Mod).is_some() || self.keyword(Keyword::PERCENT) {
            return false;
        }
        self.keyword(Keyword::ROWS) || bare
    }

    fn clause(&mut self, place: Location) -> Option<SampleClause> {
        let open = |t: &Token| *t == Token::LParen;
        let close = |t: &Token| *t == Token::RParen;
        let mut method = self.method();
        let bracket = self.accept(open).is_some();
        if method.is_some() && !bracket {
            return None;
        }
        let amount = self.number()?;
        let rows = self.unit(!bracket || method == Some(SampleMethod::Reservoir));
        let mut seed = None;
        if bracket {
            self.accept(close)?;
        } else if self.accept(open).is_some() {
            method = Some(self.method()?);
            if self.accept(|t| *t == Token::Comma).is_some() {
                seed = Some(self.number()?);
            }
            self.accept(close)?;
        }
        if self.keyword(Keyword::REPEATABLE) {
            self.accept(open)?;
            seed = Some(self.number()?);
            self.accept(close)?;
        }
        Some(SampleClause { at: place, method, amount, rows, seed })
    }
}
