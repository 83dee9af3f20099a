//! COPY.

use sqlparser::ast;
use syntax::tree;
use syntax::tree::{CopySource, CopyTarget, ExprKind, Literal, OperatorKind, OptionValue};
use types::{Error, Result};

use super::{Converter, ident, object_name};
use crate::place;

impl Converter<'_> {
    /// COPY; options of both directions are kept in the asides.
    pub(super) fn copy(&self, copy: &tree::Copy) -> Result<ast::Statement> {
        let tree::Copy { source, to, target, options, condition, span: _ } = copy;
        if let Some(condition) = condition {
            return Err(self.unsupported("WHERE of COPY", condition.span));
        }
        let source = match source {
            CopySource::Table(name, columns) => ast::CopySource::Table {
                table_name: object_name(name),
                columns: columns.iter().map(ident).collect(),
            },
            CopySource::Statement(_) if !to => {
                return Err(Error::unsupported("COPY FROM takes a table's name").at(place::START));
            }
            CopySource::Statement(statement) => ast::CopySource::Query(Box::new(self.row_query(statement)?)),
        };
        let target = match target {
            CopyTarget::File(file) => match &file.kind {
                ExprKind::Literal(Literal::Text(path)) => {
                    ast::CopyTarget::File { filename: path.to_string() }
                }
                _ => return Err(self.unsupported("a path that is no text in single quotes", file.span)),
            },
            CopyTarget::Standard(word) => match self.text_of(*word).eq_ignore_ascii_case("stdin") {
                true => ast::CopyTarget::Stdin,
                false => ast::CopyTarget::Stdout,
            },
            CopyTarget::Program(command) => ast::CopyTarget::Program { command: command.text.to_string() },
        };
        let mut found = Vec::with_capacity(options.len());
        for option in options {
            self.copy_option(option, &mut found)?;
        }
        self.asides.borrow_mut().parsed.copy_options = found;
        let (options, legacy_options, values) = (vec![], vec![], vec![]);
        Ok(ast::Statement::Copy { source, to: *to, target, options, legacy_options, values })
    }

    /// An option with its value; a list is its option repeated, as in functions that read files.
    fn copy_option(&self, option: &tree::SetOption, found: &mut Vec<(String, String)>) -> Result<()> {
        let tree::SetOption { name, value } = option;
        let called = name.text.to_lowercase();
        let Some(value) = value else {
            // `CSV` alone is a format, as PostgreSQL had it before 9.0.
            found.push(match called == "csv" {
                true => ("format".to_owned(), called),
                false => (called, String::new()),
            });
            return Ok(());
        };
        let mut values = Vec::new();
        self.copy_values(value, false, &mut values)?;
        if values.is_empty() {
            values.push(String::new());
        }
        found.extend(values.into_iter().map(|value| (called.clone(), value)));
        Ok(())
    }

    /// The texts of a value; words in lists are names, which are folded, and others stand as they are written.
    fn copy_values(&self, value: &OptionValue, listed: bool, out: &mut Vec<String>) -> Result<()> {
        match value {
            OptionValue::Star(_) => out.push("*".to_owned()),
            OptionValue::Word(word) => out.push(shown(word, listed)),
            OptionValue::Expr(expr) => match self.copy_text(expr, listed) {
                Some(text) => out.push(text),
                None => return Err(self.unexpected(expr.span)),
            },
            OptionValue::List(entries) => {
                for tree::SetOption { name, value } in entries {
                    if !name.text.is_empty() {
                        out.push(shown(name, true));
                    }
                    if let Some(value) = value {
                        self.copy_values(value, true, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn copy_text(&self, expr: &tree::Expr, listed: bool) -> Option<String> {
        match &expr.kind {
            ExprKind::Literal(Literal::Text(text) | Literal::Number(text)) => Some(text.to_string()),
            ExprKind::Literal(Literal::Null | Literal::Bool(_)) => {
                let word = self.text_of(expr.span);
                Some(if listed { word.to_lowercase() } else { word.to_owned() })
            }
            ExprKind::Column(path) => path.single().map(|name| shown(name, listed)),
            ExprKind::Prefix(operator, number) if operator.kind == OperatorKind::Minus => {
                match &number.kind {
                    ExprKind::Literal(Literal::Number(number)) => Some(format!("-{number}")),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn shown(word: &tree::Name, listed: bool) -> String {
    match listed && !word.quoted {
        true => word.text.to_lowercase(),
        false => word.text.to_string(),
    }
}
