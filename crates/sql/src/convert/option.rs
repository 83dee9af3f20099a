//! Options in brackets, values of settings, and statements that are calls of procedures.

use sqlparser::ast;
use syntax::Span;
use syntax::tree;
use syntax::tree::{ExprKind, Literal, OptionValue};
use types::{Error, Result};

use super::{Converter, ident, made, span};

/// A name as the binder folds it.
pub(super) fn folded(name: &tree::Name) -> String {
    match name.quoted {
        true => name.text.to_string(),
        false => name.text.to_lowercase(),
    }
}

/// A text as an expression.
pub(super) fn text_value(text: &str, at: Span) -> ast::Expr {
    value(ast::Value::SingleQuotedString(text.to_owned()), at)
}

/// A constant as an expression.
pub(super) fn value(value: ast::Value, at: Span) -> ast::Expr {
    ast::Expr::Value(ast::ValueWithSpan { value, span: span(at) })
}

/// A word as an expression.
pub(super) fn word_value(word: &str, at: Span) -> ast::Expr {
    ast::Expr::Identifier(made(word, at))
}

/// A value as an argument without a name.
pub(super) fn unnamed(value: ast::Expr) -> ast::FunctionArg {
    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value))
}

/// The call of a procedure as a statement.
pub(super) fn call_of(name: ast::ObjectName, args: Vec<ast::FunctionArg>) -> ast::Statement {
    let list = ast::FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] };
    ast::Statement::Call(ast::Function {
        name,
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// The call of a procedure of ours.
pub(super) fn own_call(procedure: &str, at: Span, values: Vec<ast::Expr>) -> ast::Statement {
    let name = ast::ObjectName(vec![ast::ObjectNamePart::Identifier(made(procedure, at))]);
    call_of(name, values.into_iter().map(unnamed).collect())
}

impl Converter<'_> {
    /// What is wrong at a place, in the words of other errors of syntax.
    pub(super) fn unexpected(&self, at: Span) -> Error {
        let shown: String =
            self.text_of(at).split_whitespace().next().unwrap_or("").chars().take(40).collect();
        self.wrong(format!("syntax error at or near \"{shown}\""), at)
    }

    /// Where an option's value stands.
    pub(super) fn place_of(&self, value: &OptionValue, name: Span) -> Span {
        match value {
            OptionValue::Word(word) => word.span,
            OptionValue::Expr(expr) => expr.span,
            OptionValue::Star(star) => *star,
            OptionValue::List(_) => name,
        }
    }

    /// An option's value as an expression; words are names, as the parser has them.
    pub(super) fn option_value(&self, value: &OptionValue, name: Span) -> Result<ast::Expr> {
        match value {
            OptionValue::Word(word) => Ok(ast::Expr::Identifier(ident(word))),
            OptionValue::Expr(expr) => self.expr(expr),
            OptionValue::Star(star) => Err(self.unexpected(*star)),
            OptionValue::List(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for tree::SetOption { name: entry, value } in entries {
                    let Some(value) = value.as_ref().filter(|_| entry.text.is_empty()) else {
                        return Err(self.unexpected(entry.span));
                    };
                    values.push(self.option_value(value, entry.span)?);
                }
                match <[ast::Expr; 1]>::try_from(values) {
                    Ok([one]) => Ok(ast::Expr::Nested(Box::new(one))),
                    Err(values) if values.is_empty() => Err(self.unexpected(name)),
                    Err(values) => Ok(ast::Expr::Tuple(values)),
                }
            }
        }
    }

    /// An option's value as text, where it is a word, a text or a number: words as they are written.
    pub(super) fn option_text(&self, value: &OptionValue) -> Option<String> {
        match value {
            OptionValue::Word(word) => Some(word.text.to_string()),
            OptionValue::Expr(expr) => match &expr.kind {
                ExprKind::Literal(Literal::Text(text) | Literal::Number(text)) => Some(text.to_string()),
                ExprKind::Literal(Literal::Null | Literal::Bool(_)) => {
                    Some(self.text_of(expr.span).to_owned())
                }
                ExprKind::Column(path) => path.single().map(|name| name.text.to_string()),
                _ => None,
            },
            OptionValue::List(_) | OptionValue::Star(_) => None,
        }
    }

    /// `(name = value, ...)`.
    pub(super) fn sql_options(&self, options: &[tree::SetOption]) -> Result<Vec<ast::SqlOption>> {
        let option = |tree::SetOption { name, value }: &tree::SetOption| match value {
            None => Ok(ast::SqlOption::Ident(ident(name))),
            Some(value) => {
                let value = self.option_value(value, name.span)?;
                Ok(ast::SqlOption::KeyValue { key: ident(name), value })
            }
        };
        options.iter().map(option).collect()
    }

    /// The same of CREATE, where nothing stands for no options.
    pub(super) fn create_options(&self, options: &[tree::SetOption]) -> Result<ast::CreateTableOptions> {
        match options {
            [] => Ok(ast::CreateTableOptions::None),
            options => self.sql_options(options).map(ast::CreateTableOptions::With),
        }
    }
}
