//! Steps into values: names behind points, and what stands in brackets.

use sqlparser::ast::{AccessExpr, Expr as Ast, Ident, Subscript};
use sqlparser::tokenizer::Span;
use types::{Error, Result, Type};

use super::coerce::Bound;
use super::expression::ExprBinder;
use super::folded;
use super::packing::where_known;
use crate::stack;

/// Steps into a value that follow each other, at most: each is a level of the expression, and the parser counts none.
const STEPS_MAX: usize = types::nested::NESTING_MAX as usize + 3;

impl<'a> ExprBinder<'_, 'a> {
    /// `x.a`, `x[1]`, `x['a']`, `x[1:2]` and chains of them.
    pub(super) fn access(&mut self, root: &'a Ast, chain: &'a [AccessExpr]) -> Result<Bound> {
        if chain.len() > STEPS_MAX {
            return Err(self.at(stack::too_deep(), Span::empty()));
        }
        // `t.s[1].a`: as many leading names as make a column are one.
        let mut names: Vec<&'a Ident> = Vec::new();
        match root {
            Ast::Identifier(ident) => names.push(ident),
            Ast::CompoundIdentifier(idents) => names.extend(idents),
            _ => {}
        }
        let mut rest = chain;
        if !names.is_empty() {
            while let Some((AccessExpr::Dot(Ast::Identifier(ident)), after)) = rest.split_first() {
                names.push(ident);
                rest = after;
            }
        }
        let mut bound = match names.as_slice() {
            [] => self.bind(root)?,
            names => self.named_value(names)?,
        };
        for step in rest {
            bound = match step {
                AccessExpr::Dot(Ast::Identifier(ident)) => self.field(bound, &folded(ident), ident.span)?,
                AccessExpr::Dot(other) => {
                    let error = Error::unsupported(format!("{other} is no name of a field"));
                    return Err(self.at(error, bound.span));
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.bind(index)?;
                    self.subscript(bound, index)?
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                    let mut bounds = Vec::new();
                    for part in [lower_bound, upper_bound, stride] {
                        bounds.push(match part {
                            Some(part) => Some(self.bind(part)?),
                            None => None,
                        });
                    }
                    self.slice(bound, bounds)?
                }
            };
        }
        Ok(bound)
    }

    /// A column by as many names as it takes, and the fields of it that the others name.
    pub(super) fn named_value(&mut self, names: &[&'a Ident]) -> Result<Bound> {
        if names.len() > STEPS_MAX {
            return Err(self.at(stack::too_deep(), names[STEPS_MAX].span));
        }
        let owned: Vec<Ident> = names.iter().map(|i| (*i).clone()).collect();
        let mut first = None;
        for count in (1..=owned.len().min(3)).rev() {
            match self.column(&owned[..count]) {
                // A column that has no fields is not what stands before a point.
                Ok(Some(bound))
                    if count < owned.len()
                        && !matches!(bound.ty(), Type::Struct(_) | Type::Json | Type::Jsonb) => {}
                Ok(Some(bound)) => return self.fields(bound, &names[count..]),
                Ok(None) => {}
                Err(error) => first = first.or(Some(error)),
            }
        }
        match self.listed_alias(names[0])? {
            Some(bound) => self.fields(bound, &names[1..]),
            None => Err(first.unwrap_or_else(|| self.unknown_column(&owned))),
        }
    }

    fn fields(&self, mut bound: Bound, names: &[&Ident]) -> Result<Bound> {
        for ident in names {
            bound = self.field(bound, &folded(ident), ident.span)?;
        }
        Ok(bound)
    }

    /// The functions of lists that take a part, of a text or of bytes: what the brackets of a subscript do.
    pub(super) fn part_of_text(&mut self, name: &str, arguments: &[Bound]) -> Result<Option<Bound>> {
        let Some((of, places)) = arguments.split_first() else { return Ok(None) };
        if !(of.ty().is_text() || of.ty() == Type::Bytea) {
            return Ok(None);
        }
        match (name, places) {
            ("array_extract" | "list_extract" | "list_element", [place]) if !of.ty().is_json() => {
                self.subscript(of.clone(), place.clone()).map(Some)
            }
            ("array_slice" | "list_slice", [_, _] | [_, _, _]) => {
                let part = self.slice(of.clone(), places.iter().cloned().map(Some).collect())?;
                let places = places.iter().map(|place| place.expr.clone()).collect();
                Ok(Some(Bound::typed(where_known(places, part.expr), part.span)))
            }
            _ => Ok(None),
        }
    }
}
