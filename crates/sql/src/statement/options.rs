//! Options in brackets and values of settings, as texts.

use syntax::Span;
use syntax::tree::{Expr as Ast, ExprKind as AstKind, Literal, Name, OperatorKind, OptionValue, SetOption};
use types::{Error, Result, SqlState};

use super::Context;
use crate::bind::folded;

/// The names of a column's path; `user` is a value.
pub(super) fn names_of(value: &Ast) -> Option<&[Name]> {
    match &value.kind {
        AstKind::Column(path) => match path.single() {
            Some(name) if !name.quoted && name.text.eq_ignore_ascii_case("user") => None,
            _ => Some(&path.names),
        },
        AstKind::Call(call) if call.arguments.is_none() => call.name.single().map(std::slice::from_ref),
        _ => None,
    }
}

/// Where an option's value stands.
pub(super) fn place_of(value: &OptionValue, name: Span) -> Span {
    match value {
        OptionValue::Word(word) => word.span,
        OptionValue::Expr(expr) => expr.span,
        OptionValue::Star(star) => *star,
        OptionValue::List(_) | OptionValue::Order(_) => name,
    }
}

/// Whether the word is DEFAULT, without quotes.
pub(super) fn is_default(word: &Name) -> bool {
    !word.quoted && word.text.eq_ignore_ascii_case("default")
}

/// The names that a value is, where it is a word or a path.
pub(super) fn words_of(value: &OptionValue) -> Option<&[Name]> {
    match value {
        OptionValue::Word(word) => Some(std::slice::from_ref(word)),
        OptionValue::Expr(value) => names_of(value),
        OptionValue::List(_) | OptionValue::Star(_) | OptionValue::Order(_) => None,
    }
}

impl Context<'_> {
    /// What is wrong at a place, in the words of other errors of syntax.
    pub(super) fn unexpected(&self, at: Span) -> Error {
        let shown: String =
            at.of(self.text).split_whitespace().next().unwrap_or("").chars().take(40).collect();
        self.wrong(format!("syntax error at or near \"{shown}\""), at)
    }

    /// An option's value as text: a word, a string or a number, as it was written.
    pub(super) fn option_word(&self, value: &OptionValue, name: Span) -> Result<String> {
        match value {
            OptionValue::Word(word) => Ok(word.text.to_string()),
            OptionValue::Expr(value) => word(value),
            OptionValue::Star(star) => Err(self.unexpected(*star)),
            OptionValue::Order(_) => Err(self.unexpected(value.span())),
            OptionValue::List(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for SetOption { name: entry, value } in entries {
                    let Some(value) = value.as_ref().filter(|_| entry.text.is_empty()) else {
                        return Err(self.unexpected(entry.span));
                    };
                    values.push((value, entry.span));
                }
                match values.as_slice() {
                    [] => Err(self.unexpected(name)),
                    [(one, at)] => self.option_word(one, *at),
                    several => {
                        let words = several.iter().map(|(value, at)| self.option_word(value, *at));
                        let shown = words.collect::<Result<Vec<_>>>()?.join(", ");
                        Err(Error::unsupported(format!("({shown}) is not a plain value")))
                    }
                }
            }
        }
    }

    /// An option's value as text, where it is a word, a text or a number: words as they are written.
    pub(super) fn option_text(&self, value: &OptionValue) -> Option<String> {
        match value {
            OptionValue::Word(word) => Some(word.text.to_string()),
            OptionValue::Expr(expr) => match &expr.kind {
                AstKind::Literal(Literal::Text(text) | Literal::Number(text)) => Some(text.to_string()),
                AstKind::Literal(Literal::Null | Literal::Bool(_)) => {
                    Some(expr.span.of(self.text).to_owned())
                }
                AstKind::Column(path) => path.single().map(|name| name.text.to_string()),
                _ => None,
            },
            OptionValue::List(_) | OptionValue::Star(_) | OptionValue::Order(_) => None,
        }
    }

    /// `name = value` in brackets.
    pub(super) fn option_values(&self, list: &[SetOption]) -> Result<Vec<(String, String)>> {
        let mut out = Vec::with_capacity(list.len());
        for SetOption { name, value } in list {
            let Some(value) = value else {
                let message = format!("table option {name} has no value");
                return Err(Error::new(SqlState::SyntaxError, message));
            };
            let value = self.option_word(value, name.span).map_err(|e| self.at(e, name.span))?;
            out.push((folded(name), value));
        }
        Ok(out)
    }
}

/// A value as text: a word, a string or a number, as it was written.
pub(super) fn word(value: &Ast) -> Result<String> {
    match &value.kind {
        AstKind::Literal(Literal::Number(text) | Literal::Text(text)) => Ok(text.to_string()),
        AstKind::Literal(Literal::Bool(truth)) => Ok(truth.to_string()),
        AstKind::Literal(Literal::Null | Literal::Bits(_)) | AstKind::Parameter(_) => Ok(value.to_string()),
        AstKind::Prefix(operator, operand) if operator.kind == OperatorKind::Minus => {
            word(operand).map(|word| format!("-{word}"))
        }
        AstKind::Nested(inner) => word(inner),
        _ => match names_of(value) {
            Some([name]) => Ok(name.text.to_string()),
            _ => Err(Error::unsupported(format!("{value} is not a plain value"))),
        },
    }
}
