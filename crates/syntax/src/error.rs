//! Syntax errors.

use std::fmt;

use crate::Span;

/// What kind of fault a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text does not follow the grammar.
    Syntax,
    /// It does, but nests deeper than is read.
    TooDeep,
    /// Reading was stopped by the caller.
    Stopped,
}

/// Why a text is no statement: what was found, what may stand there, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The kind of fault.
    pub fault: Fault,
    /// One sentence, without the place.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The token at fault.
    pub span: Span,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Self {
        Self { fault: Fault::Syntax, message: message.into(), hint: None, span }
    }
    pub(crate) fn stopped(span: Span) -> Self {
        Self { fault: Fault::Stopped, ..Self::new("reading was stopped", span) }
    }
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// The message, the line of the text with a caret below the place, and the hint.
    pub fn shown_in(&self, text: &str) -> String {
        let start = (self.span.start as usize).min(text.len());
        let line_start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let line_end = text.get(start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| start + at);
        let number = text.get(..line_start).map_or(1, |before| before.matches('\n').count() + 1);
        let line = text.get(line_start..line_end).unwrap_or_default().trim_end();
        let column = text.get(line_start..start).map_or(0, |before| before.chars().count());
        let prefix = format!("LINE {number}: ");
        let mut out = format!("{}\n{prefix}{line}\n{}^", self.message, " ".repeat(prefix.len() + column));
        if let Some(hint) = &self.hint {
            out.push_str("\nHINT: ");
            out.push_str(hint);
        }
        out
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}
