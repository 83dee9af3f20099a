//! The words and signs of a text that is a part of a statement: a macro's body, a clause of PIVOT.

use syntax::{Keyword, Kind, SyntaxError, Token};

/// The tokens of a text, by their index.
pub(crate) struct Words<'t> {
    /// The text that the tokens' spans refer to.
    pub text: &'t str,
    /// Without the end.
    pub tokens: Vec<Token>,
}

impl<'t> Words<'t> {
    /// Splits the text into tokens; an error where one has no end or is no token of SQL.
    pub fn of(text: &'t str) -> Result<Self, SyntaxError> {
        let mut tokens = syntax::tokens(text)?;
        tokens.retain(|token| token.kind != Kind::End);
        Ok(Words { text, tokens })
    }
    /// Whether a word stands at a place.
    pub fn is(&self, at: usize, word: Keyword) -> bool {
        self.tokens.get(at).is_some_and(|token| token.keyword == word)
    }
    /// Whether a token of that kind stands at index `at`; false beyond the end.
    pub fn is_kind(&self, at: usize, kind: Kind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }
    /// The name at a place, in lower case unless it is quoted.
    pub fn name(&self, at: usize) -> Option<String> {
        Some(folded(&syntax::name(self.text, self.tokens.get(at)?)?))
    }
    /// The text of the tokens `[from, to)`.
    pub fn written(&self, from: usize, to: usize) -> &'t str {
        match self.tokens.get(from..to) {
            Some([only]) => only.span.of(self.text),
            Some([first, .., last]) => first.span.to(last.span).of(self.text),
            _ => "",
        }
    }
    /// Places outside of all brackets, from `from` on; those of opening brackets are among them.
    pub fn outside(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        let mut depth = 0usize;
        (from..self.tokens.len()).filter(move |at| match self.tokens[*at].kind {
            Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => {
                depth += 1;
                depth == 1
            }
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
    }
}

/// A name as it is looked up: in lower case unless it is quoted.
pub(crate) fn folded(name: &syntax::tree::Name) -> String {
    if name.quoted { name.text.to_string() } else { name.text.to_lowercase() }
}
