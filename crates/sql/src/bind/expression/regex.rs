//! Regular expressions: `~` and its kin, SIMILAR TO, and the functions over them that the library lacks.
//!
//! SIMILAR TO and SUBSTRING with `#` marks are translated to regular expressions. Flags are texts, as PostgreSQL has
//! them. Called by `bind::expression` for operators and by `bind::function` for calls.

use plan::{Expr, ExprKind};
use syntax::Span;
use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::predicate::{Escape, negated};
pub(crate) use crate::bind::expression::similar::between_marks;
use crate::bind::expression::similar::regular_of_similar;
use crate::bind::nested::call;
use crate::bind::nested::nested_calls::Call;
use crate::place;

impl<'a> ExprBinder<'_, 'a> {
    /// `l ~ r` and its variants: negated, or without regard to case.
    pub(crate) fn regular_expression(
        &mut self,
        l: Bound,
        r: Bound,
        not: bool,
        insensitive: bool,
    ) -> Result<Bound> {
        let l = coerce::labels_as_text(l);
        let span = l.span;
        for side in [&l, &r] {
            if !side.ty().is_text() && !side.is_null() {
                let error = Error::new(SqlState::UndefinedFunction, "regular expressions match text only");
                return Err(place::at(error, self.binder.text, side.span));
            }
        }
        let mut arguments = vec![coerce::cast(l.expr, Type::Text), coerce::cast(r.expr, Type::Text)];
        if insensitive {
            arguments.push(Expr::literal(Value::text("i"), Type::Text));
        }
        let expr = Expr::new(ExprKind::Library { name: "regexp_like".into(), arguments }, Type::Boolean);
        Ok(Bound::typed(if not { negated(expr) } else { expr }, span))
    }

    /// `x SIMILAR TO pattern`: the pattern as a regular expression that has to match all of the text.
    pub(crate) fn similar_to(
        &mut self,
        input: Bound,
        pattern: Bound,
        escape: Escape<'_>,
        not: bool,
    ) -> Result<Bound> {
        let text = self.binder.text;
        let span = input.span;
        let escape = match escape {
            Escape::Unsaid => Some('\\'),
            Escape::Text(s) if s.chars().count() <= 1 => s.chars().next(),
            Escape::Text(_) | Escape::Other => {
                let error = Error::new(SqlState::InvalidParameterValue, "invalid escape string")
                    .with_detail("it must be empty or one character");
                return Err(place::at(error, text, span));
            }
        };
        if input.is_null() || pattern.is_null() {
            return Ok(Bound::typed(crate::bind::null_of(Type::Boolean), span));
        }
        if !input.ty().is_text() {
            let error = Error::new(SqlState::UndefinedFunction, "SIMILAR TO matches text only");
            return Err(place::at(error, text, span));
        }
        let Some(constant) = pattern.expr.as_literal().and_then(Value::as_text) else {
            let error = Error::unsupported("SIMILAR TO takes a constant pattern");
            return Err(place::at(error, text, pattern.span));
        };
        let regular = Expr::literal(Value::text(&regular_of_similar(constant, escape)), Type::Text);
        let arguments = vec![coerce::cast(input.expr, Type::Text), regular];
        let expr = Expr::new(ExprKind::Library { name: "regexp_like".into(), arguments }, Type::Boolean);
        Ok(Bound::typed(if not { negated(expr) } else { expr }, span))
    }

    /// `regexp_extract(text, pattern [, group [, flags]])`: what the first match, or a group of it, is; empty without
    /// a match.
    pub(crate) fn regexp_extract(&mut self, arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let refuse = |error: Error| place::at(error, self.binder.text, span);
        let mut arguments = arguments.into_iter();
        let (Some(input), Some(pattern)) = (arguments.next(), arguments.next()) else {
            return Err(refuse(Error::new(
                SqlState::UndefinedFunction,
                "function regexp_extract takes a text, a pattern and perhaps a group",
            )));
        };
        let mut arguments = arguments.peekable();
        if arguments.peek().is_some_and(|names| names.ty().element().is_some()) {
            let given = [Some(input), Some(pattern), arguments.next(), arguments.next()];
            let given: Vec<Bound> = given.into_iter().flatten().chain(arguments).collect();
            return Call { binder: self, name: "regexp_extract", arguments: &given }
                .of_named_groups()
                .map_err(refuse);
        }
        if input.is_null() || pattern.is_null() {
            return Ok(crate::bind::null_of(Type::Text));
        }
        let group = match arguments.next() {
            None => Expr::literal(Value::I64(0), Type::BigInt),
            Some(group) => self.whole(group)?,
        };
        if !input.ty().is_text() || !pattern.ty().is_text() {
            return Err(refuse(Error::new(
                SqlState::UndefinedFunction,
                "regexp_extract takes text, a pattern and a group",
            )));
        }
        let flags = arguments.next();
        if arguments.next().is_some() || flags.as_ref().is_some_and(|f| !(f.ty().is_text() || f.is_null())) {
            return Err(refuse(Error::new(
                SqlState::UndefinedFunction,
                "regexp_extract takes a text, a pattern, a group and flags, all texts but the group",
            )));
        }
        let mut arguments =
            vec![coerce::cast(input.expr, Type::Text), coerce::cast(pattern.expr, Type::Text), group];
        arguments.extend(flags.map(|flags| coerce::cast(flags.expr, Type::Text)));
        Ok(Expr::new(ExprKind::Library { name: "regexp_extract".into(), arguments }, Type::Text))
    }
}

impl Call<'_, '_, '_> {
    /// `regexp_extract` and `regexp_extract_all` with a list of names for groups, the fields of a struct.
    pub(crate) fn of_named_groups(&self) -> Result<Expr> {
        let wrong =
            |what: &str| Error::new(SqlState::InvalidParameterValue, format!("{}: {what}", self.name));
        let Some(Value::Bytes(list)) = self.arguments[2].expr.as_literal() else {
            return Err(wrong("the names of groups are a constant list"));
        };
        let mut fields: Vec<(String, Type)> = Vec::new();
        for slot in encoding::elements(self.arguments[2].ty(), list) {
            let name = encoding::slot_value(slot, Type::Text);
            let Some(name) = name.as_text() else { return Err(wrong("the name of a group is NULL")) };
            if fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                return Err(wrong(&format!("two groups have the name \"{name}\"")));
            }
            fields.push((name.to_owned(), Type::Text));
        }
        if fields.is_empty() || !self.list_at(2).is_some_and(Type::is_text) {
            return Err(wrong("the names of groups are a list of texts with one name at least"));
        }
        if self.arguments.len() > 4 {
            return Err(wrong("takes a text, a pattern, names and flags"));
        }
        let arguments =
            [0, 1, 3].into_iter().filter(|at| *at < self.arguments.len()).map(|at| self.to(at, Type::Text));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let row = Type::structure(fields)?;
        Ok(match self.name {
            "regexp_extract" => call("regexp_extract_named", arguments, row),
            _ => call("regexp_extract_all_named", arguments, Type::list(row)?),
        })
    }
}
