//! `COLUMNS(...)`: an expression of several columns, each in its turn.
//!
//! The item of the select list, or the condition, that holds it is bound once for every column; `Chosen` says whose
//! turn it is. The columns that COLUMNS selects are resolved when it is first met, so that no search precedes
//! binding.

use std::rc::Rc;

use plan::Expr;
use regex::Regex;
use sqlparser::ast::{
    Array, Expr as Ast, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    LambdaFunction, OneOrManyWithParens, SelectItemQualifiedWildcardKind, Value as AstValue,
};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState, Type, Value};

use super::coerce::Bound;
use super::expression::ExprBinder;
use super::folded;
use super::scope::nearest;
use super::select::Item;
use crate::made::UNPACKED;
use crate::names::Name;

/// Columns that one COLUMNS may stand for, over all expressions of a query.
const EXPANSION_MAX: usize = 10_000;

/// The columns that are expanded, and the one whose turn it is.
#[derive(Default)]
pub(crate) struct Chosen {
    at: usize,
    /// What the brackets hold, as it was written; absent before COLUMNS has been met.
    written: Option<String>,
    columns: Vec<(Rc<str>, Bound)>,
    pattern: Option<Regex>,
}

impl Chosen {
    /// Whether COLUMNS has been met at all.
    pub fn is_used(&self) -> bool {
        self.written.is_some()
    }

    /// Goes on to the next column; false when there is none.
    pub fn next(&mut self) -> bool {
        self.at += 1;
        self.at < self.columns.len()
    }

    /// The heading of the expression: the column's name, or the alias, in which `\0` is that name and `\1` what the
    /// pattern's first group has found.
    pub fn heading(&self, alias: Option<&str>) -> String {
        let name = self.columns.get(self.at).map_or("", |(name, _)| name);
        let Some(alias) = alias else { return name.to_owned() };
        let found = self.pattern.as_ref().and_then(|pattern| pattern.captures(name));
        let mut heading = String::new();
        let mut letters = alias.chars().peekable();
        while let Some(letter) = letters.next() {
            match letters.peek().and_then(|next| next.to_digit(10)).filter(|_| letter == '\\') {
                Some(group) => {
                    letters.next();
                    let part = found.as_ref().and_then(|f| f.get(group as usize)).map_or("", |m| m.as_str());
                    heading.push_str(if group == 0 { name } else { part });
                }
                None => heading.push(letter),
            }
        }
        heading
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// The column whose turn it is, for a call of COLUMNS.
    pub(super) fn columns_call(&mut self, call: &'a Call, span: Span) -> Result<Bound> {
        let written = call.args.to_string();
        let Some(mut chosen) = self.binder.chosen.take() else {
            let message = "COLUMNS stands in the select list or in WHERE only";
            return Err(self.binder.error_at(Error::new(SqlState::SyntaxError, message), span));
        };
        match &chosen.written {
            None => {
                let (columns, pattern) = self.expanded(call, span)?;
                if columns.len() > EXPANSION_MAX {
                    let message = format!("COLUMNS stands for more than {EXPANSION_MAX} columns");
                    return Err(self
                        .binder
                        .error_at(Error::new(SqlState::StatementTooComplex, message), span));
                }
                chosen = Chosen { at: 0, written: Some(written), columns, pattern };
            }
            Some(known) if *known != written => {
                let error = Error::unsupported("different COLUMNS in one expression are not supported");
                return Err(self.binder.error_at(error, span));
            }
            Some(_) => {}
        }
        let bound = chosen.columns.get(chosen.at).map(|(_, bound)| bound.clone());
        self.binder.chosen = Some(chosen);
        bound.ok_or_else(|| Error::internal("COLUMNS of no column"))
    }

    /// The columns of `*COLUMNS(...)`, each an argument of the function around it; `None` for any other argument.
    pub(super) fn unpacked_columns(&mut self, argument: &'a Ast) -> Result<Option<Vec<Bound>>> {
        let Ast::Function(call) = argument else { return Ok(None) };
        match call.name.0.last().and_then(|p| p.as_ident()) {
            Some(name) if name.value == UNPACKED => {
                let (columns, _) = self.expanded(call, name.span)?;
                Ok(Some(columns.into_iter().map(|(_, bound)| bound).collect()))
            }
            _ => Ok(None),
        }
    }

    /// The items whose names a lambda holds true of.
    fn chosen_by(&mut self, lambda: &'a LambdaFunction, items: Vec<Item>, span: Span) -> Result<Vec<Item>> {
        let parameter = match &lambda.params {
            OneOrManyWithParens::One(one) => Some(&one.name),
            OneOrManyWithParens::Many(several) => match several.as_slice() {
                [one] => Some(&one.name),
                _ => None,
            },
        };
        let Some(parameter) = parameter else {
            let error = Error::new(SqlState::SyntaxError, "the lambda of COLUMNS takes a column's name");
            return Err(self.binder.error_at(error, span));
        };
        let mut held = Vec::with_capacity(items.len());
        for item in &items {
            let name = Expr::literal(Value::text(&item.name), Type::Text);
            self.binder.arguments.push(vec![(folded(parameter), Bound::typed(name, span))]);
            let value = self.bind(&lambda.body);
            self.binder.arguments.pop();
            held.push(super::fold::fold(value?.expr).as_literal().cloned());
        }
        if held.iter().any(Option::is_none) {
            // What is no constant here is asked for.
            let names = items.iter().map(|item| format!("('{}')", item.name.replace('\'', "''")));
            let names = names.collect::<Vec<_>>().join(", ");
            let query = format!("SELECT ({}) FROM (VALUES {names}) AS names({parameter})", lambda.body);
            let answer = self.binder.relations.answer(&query).map_err(|e| self.binder.error_at(e, span))?;
            held = answer.rows.into_iter().map(|row| row.into_iter().next()).collect();
        }
        let holds = held.into_iter().map(|value| value == Some(Value::Bool(true)));
        let chosen: Vec<Item> =
            items.into_iter().zip(holds).filter(|(_, holds)| *holds).map(|(item, _)| item).collect();
        if chosen.is_empty() {
            let error = Error::new(SqlState::UndefinedColumn, "no column's name is chosen by COLUMNS");
            return Err(self.binder.error_at(error, span));
        }
        Ok(chosen)
    }

    /// The columns that the brackets name, and the pattern if they hold one.
    #[allow(clippy::type_complexity)]
    fn expanded(&mut self, call: &'a Call, span: Span) -> Result<(Vec<(Rc<str>, Bound)>, Option<Regex>)> {
        let refuse = |error: Error| {
            error.with_hint("write COLUMNS('pattern'), COLUMNS(*) or COLUMNS(ARRAY['a', 'b'])")
        };
        let argument = match &call.args {
            FunctionArguments::List(list) if list.duplicate_treatment.is_none() => match list.args.as_slice()
            {
                [FunctionArg::Unnamed(argument)] => Some(argument),
                _ => None,
            },
            _ => None,
        };
        let scope = self.scope.clone();
        let all: Vec<Item> = scope.star().map(|e| self.star_item(e, span)).collect();
        let items = match argument {
            Some(FunctionArgExpr::Wildcard) => all,
            Some(FunctionArgExpr::WildcardWithOptions(options)) => self.apply_options(all, options, span)?,
            Some(FunctionArgExpr::QualifiedWildcard(name)) => {
                let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
                self.qualified_star(&kind, span)?
            }
            Some(FunctionArgExpr::Expr(Ast::Array(Array { elem, .. }))) => {
                let mut items = Vec::with_capacity(elem.len());
                for name in elem {
                    let name = match name {
                        Ast::Value(value) => match &value.value {
                            AstValue::SingleQuotedString(name) => Name::of(&Ident::new(name)),
                            other => Name::exact(&other.to_string()),
                        },
                        Ast::Identifier(ident) => Name::of(ident),
                        other => Name::exact(&other.to_string()),
                    };
                    match scope.find_here(None, None, &name).map_err(|e| self.binder.error_at(e, span))? {
                        Some(entry) => items.push(self.star_item(entry, span)),
                        None => return Err(self.binder.error_at(scope.unknown(None, &name.text), span)),
                    }
                }
                items
            }
            Some(FunctionArgExpr::Expr(Ast::Lambda(lambda))) => self.chosen_by(lambda, all, span)?,
            Some(FunctionArgExpr::Expr(pattern)) => {
                let (value, _) = self.binder.constant(pattern)?;
                let Some(text) = value.as_text() else {
                    let error =
                        Error::new(SqlState::InvalidParameterValue, "COLUMNS takes a pattern as text");
                    return Err(self.binder.error_at(refuse(error), span));
                };
                let pattern = Regex::new(text).map_err(|_| {
                    let message = format!("invalid regular expression: {text}");
                    self.binder.error_at(Error::new(SqlState::InvalidParameterValue, message), span)
                })?;
                let items: Vec<Item> = all.into_iter().filter(|i| pattern.is_match(&i.name)).collect();
                if items.is_empty() {
                    let message = format!("no column's name matches \"{text}\"");
                    let error = Error::new(SqlState::UndefinedColumn, message);
                    let error = match nearest(text, scope.star().map(|e| &*e.name)) {
                        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                        None => error,
                    };
                    return Err(self.binder.error_at(error, span));
                }
                return Ok((named(items), Some(pattern)));
            }
            None => {
                let error = Error::new(SqlState::SyntaxError, "COLUMNS takes one argument");
                return Err(self.binder.error_at(refuse(error), span));
            }
        };
        if items.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "COLUMNS of no tables is not valid");
            return Err(self.binder.error_at(error, span));
        }
        Ok((named(items), None))
    }
}

fn named(items: Vec<Item>) -> Vec<(Rc<str>, Bound)> {
    let bound = |i: Item| (i.name, Bound { expr: i.expr, untyped: i.untyped, span: i.span });
    items.into_iter().map(bound).collect()
}
