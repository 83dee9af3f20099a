//! Views and macros: texts of their own, bound where they are used.
//!
//! The text is parsed once for each use and kept in `Texts`, as the binder borrows its tree. `within` exchanges the
//! binder's text and asides for those of the inner text and restores them afterwards; `inside` also hides the common
//! table expressions around it. `Binder::inside` lists what is open: a text that uses itself is an error, and nesting
//! is bounded by `NESTING_MAX`. Errors inside are reported at the place of the use, with the name of the view or
//! macro as detail.

use std::rc::Rc;

use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, SelectItem, SetExpr, Statement,
};
use sqlparser::tokenizer::Span;
use types::{Error, Field, Result, SqlState};

use plan::Expr;

use super::coerce::{self, Bound};
use super::expression::{Clause, ExprBinder};
use super::scope::{Entry, Scope};
use super::{Binder, Relation, operator, stack};
use crate::asides::Parsed;
use crate::{MacroInfo, ViewInfo};

/// Views and macros inside each other.
const NESTING_MAX: usize = 64;

impl<'a> Binder<'a> {
    /// Binds a text of its own; its errors are told at the place `span` of the text around it.
    fn inside<T>(
        &mut self,
        what: String,
        text: String,
        span: Span,
        bind: impl FnOnce(&mut Self, &'a Parsed) -> Result<T>,
    ) -> Result<T> {
        let ctes = std::mem::take(&mut self.ctes);
        let result = self.within(what, text, span, bind);
        self.ctes = ctes;
        result
    }

    /// As `inside`, for a text that may name the common table expressions around it.
    fn within<T>(
        &mut self,
        what: String,
        text: String,
        span: Span,
        bind: impl FnOnce(&mut Self, &'a Parsed) -> Result<T>,
    ) -> Result<T> {
        if self.inside.len() >= NESTING_MAX {
            return Err(self.error_at(stack::too_deep(), span));
        }
        if self.inside.contains(&what) {
            let error = Error::new(SqlState::InvalidRecursion, format!("{what} is defined by itself"));
            return Err(self.error_at(error, span));
        }
        let (own, parsed) = self.texts.add(text)?;
        let around = std::mem::replace(&mut self.text, own);
        let exclusions = std::mem::replace(&mut self.exclusions, &parsed.exclusions);
        let samples = std::mem::replace(&mut self.samples, &parsed.samples);
        let marks = std::mem::replace(&mut self.marks, &parsed.marks);
        self.inside.push(what.clone());
        let result = bind(self, parsed);
        self.inside.pop();
        self.text = around;
        self.exclusions = exclusions;
        self.samples = samples;
        self.marks = marks;
        result.map_err(|error| {
            // Its place is one of the inner text.
            let mut told = Error::new(error.state(), error.message());
            if let Some(hint) = error.hint() {
                told = told.with_hint(hint);
            }
            self.error_at(told.with_detail(format!("in {what}")), span)
        })
    }

    /// The rows of a view, its names looked up in the view's schema first.
    pub(super) fn bind_view(&mut self, name: &str, view: ViewInfo, span: Span) -> Result<Relation> {
        let arguments = std::mem::take(&mut self.arguments);
        let columns = view.columns;
        let around = self.relations.search_in(view.schema.into_iter().collect());
        let result = self.inside(format!("view \"{name}\""), view.text, span, |binder, parsed| {
            let mut relation = binder.bind_query(query_of(parsed)?, None)?;
            binder.rename_columns(&mut relation, &columns)?;
            Ok(relation)
        });
        self.relations.search_in(around);
        self.arguments = arguments;
        result
    }

    /// A query that this crate has written itself.
    pub(crate) fn bind_text(&mut self, what: String, text: String, span: Span) -> Result<Relation> {
        self.inside(what, text, span, |binder, parsed| binder.bind_query(query_of(parsed)?, None))
    }

    /// A query that a statement is written out as, where the statement stands.
    pub(super) fn bind_written(&mut self, what: String, text: String, span: Span) -> Result<Relation> {
        self.count_instance()?;
        self.within(format!("{what} ({text})"), text, span, |binder, parsed| {
            binder.bind_query(query_of(parsed)?, None)
        })
        .map_err(|error| match error.detail() {
            Some(detail) if detail.starts_with(&format!("in {what} (")) => {
                // The user has not written the query that it is told by.
                let mut told = Error::new(error.state(), error.message());
                if let Some(hint) = error.hint() {
                    told = told.with_hint(hint);
                }
                self.error_at(told.with_detail(format!("in {what}")), span)
            }
            _ => error,
        })
    }

    /// `(DESCRIBE ...)` in FROM.
    pub(super) fn bind_inspection(&mut self, text: String, span: Span) -> Result<Relation> {
        self.count_instance()?;
        self.inside(format!("({text})"), text, span, |binder, parsed| {
            match binder.inspect(&parsed.statement, parsed.summarize)? {
                Some(relation) => Ok(relation),
                None => Err(Error::unsupported("only DESCRIBE, SUMMARIZE and SHOW of lists stand in FROM")),
            }
        })
    }

    /// The rows of a table macro with these arguments.
    pub(super) fn bind_table_macro(
        &mut self,
        name: &str,
        called: MacroInfo,
        arguments: &'a [FunctionArg],
        span: Span,
    ) -> Result<Relation> {
        let scope = Rc::new(Scope::default());
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let mut binder = ExprBinder::new(self, scope.clone(), Clause::Values);
            bound.push(binder.macro_argument(name, argument)?);
        }
        let frame = frame(self, name, &called, bound, span)?;
        self.arguments.push(frame);
        let result = self.inside(format!("macro \"{name}\""), called.text, span, |binder, parsed| {
            binder.bind_query(query_of(parsed)?, None)
        });
        self.arguments.pop();
        result
    }
}

impl<'a> Binder<'a> {
    /// A column's default as the value it has now, of the column's type.
    pub(crate) fn default_value(&mut self, text: &str, field: &Field, span: Span) -> Result<Expr> {
        // Parameters and subqueries are those of the statement that uses it, and none of its business.
        let (values, subqueries) = (std::mem::take(&mut self.values), self.subqueries.len());
        let around = self.relations.search_in(vec![]);
        let mut binder = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Values);
        let what = format!("the default of column \"{}\"", field.name);
        let bound = binder.bind_inside(what, format!("SELECT {text}"), span);
        let pending = !binder.pending.is_empty();
        self.relations.search_in(around);
        self.values = values;
        let bound = bound?;
        if pending || self.subqueries.len() > subqueries {
            let error = Error::unsupported("a default cannot hold a subquery");
            return Err(self.error_at(error, span));
        }
        let expr = coerce::assign(bound, field.ty, &field.name, self.text)?;
        Ok(super::fold::fold(expr))
    }

    /// CHECK's condition, over `ColumnId(i)` for the i-th of `columns`.
    pub(crate) fn check_condition(
        &mut self,
        table: &str,
        columns: &[Field],
        text: &str,
        span: Span,
    ) -> Result<Expr> {
        let mut scope = Scope::default();
        // The ids count from 0, so the binder must be a fresh one.
        for field in columns {
            let id = self.columns.add(&field.name, field.ty, field.nullable);
            scope.entries.push(Entry {
                table: Some(table.into()),
                schema: None,
                name: field.name.as_str().into(),
                id,
                plain: true,
                hidden: false,
            });
        }
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Values);
        let bound =
            binder.bind_inside(format!("a check of table \"{table}\""), format!("SELECT {text}"), span)?;
        let pending = !binder.pending.is_empty();
        if pending || !self.subqueries.is_empty() {
            let error = Error::unsupported("a check constraint cannot hold a subquery");
            return Err(self.error_at(error, span));
        }
        super::check_depth(&bound.expr)?;
        Ok(super::fold::fold(operator::condition(bound, "CHECK", self.text)?))
    }

    /// By column, what a row gets that names no value for it.
    pub(super) fn defaults(&mut self, fields: &[Field], texts: &[Option<String>]) -> Result<Vec<Expr>> {
        let of = |(at, field): (usize, &Field)| match texts.get(at).and_then(Option::as_deref) {
            Some(text) => self.default_value(text, field, Span::empty()),
            None => Ok(super::null_of(field.ty)),
        };
        fields.iter().enumerate().map(of).collect()
    }
}

impl<'a> ExprBinder<'_, 'a> {
    fn macro_argument(&mut self, name: &str, argument: &'a FunctionArg) -> Result<(Option<String>, Bound)> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Ok((None, self.bind(e)?)),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(e), .. } => {
                Ok((Some(super::folded(name)), self.bind(e)?))
            }
            other => Err(Error::unsupported(format!("macro {name} does not take {other}"))),
        }
    }

    /// A call of a macro that is an expression.
    pub(super) fn scalar_macro(
        &mut self,
        name: &str,
        called: MacroInfo,
        arguments: &'a [FunctionArg],
        span: Span,
    ) -> Result<Bound> {
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.macro_argument(name, argument)?);
        }
        let frame = frame(self.binder, name, &called, bound, span)?;
        self.binder.arguments.push(frame);
        let text = format!("SELECT {}", called.text);
        // The body is bound by this binder, so that aggregates in it are the query's own.
        let what = format!("macro \"{name}\"");
        let result = self.bind_inside(what, text, span);
        self.binder.arguments.pop();
        result.map(|bound| Bound { span, ..bound })
    }

    /// An expression of another text, bound in this binder's clause and scope.
    pub(super) fn bind_inside(&mut self, what: String, text: String, span: Span) -> Result<Bound> {
        // Everything that `Binder::inside` keeps, around this binder.
        if self.binder.inside.len() >= NESTING_MAX {
            return Err(self.binder.error_at(stack::too_deep(), span));
        }
        if self.binder.inside.contains(&what) {
            let error = Error::new(SqlState::InvalidRecursion, format!("{what} is defined by itself"));
            return Err(self.binder.error_at(error, span));
        }
        let (own, parsed) = self.binder.texts.add(text)?;
        let around = std::mem::replace(&mut self.binder.text, own);
        let exclusions = std::mem::replace(&mut self.binder.exclusions, &parsed.exclusions);
        let samples = std::mem::replace(&mut self.binder.samples, &parsed.samples);
        let marks = std::mem::replace(&mut self.binder.marks, &parsed.marks);
        self.binder.inside.push(what.clone());
        let result = match expression_of(parsed) {
            Some(body) => self.bind(body),
            None => Err(Error::new(SqlState::SyntaxError, "the macro is not one expression")),
        };
        self.binder.inside.pop();
        self.binder.text = around;
        self.binder.exclusions = exclusions;
        self.binder.samples = samples;
        self.binder.marks = marks;
        result.map_err(|error| {
            let mut told = Error::new(error.state(), error.message());
            if let Some(hint) = error.hint() {
                told = told.with_hint(hint);
            }
            self.binder.error_at(told.with_detail(format!("in {what}")), span)
        })
    }
}

/// A parameter's name and default.
fn parts(parameter: &str) -> (&str, Option<&str>) {
    match parameter.split_once(" := ") {
        Some((name, default)) => (name, Some(default)),
        None => (parameter, None),
    }
}

/// Whether a form takes these arguments: the named ones are its own, and what is missing has a default.
fn takes(form: &MacroInfo, arguments: &[FunctionArg]) -> bool {
    let named: Vec<String> = arguments
        .iter()
        .filter_map(|argument| match argument {
            FunctionArg::Named { name, .. } => Some(super::folded(name)),
            _ => None,
        })
        .collect();
    let plain = arguments.len() - named.len();
    plain <= form.parameters.len()
        && form.parameters.iter().skip(plain).all(|parameter| {
            let (name, default) = parts(parameter);
            default.is_some() || named.iter().any(|given| given == name)
        })
        && named.iter().all(|given| form.parameters.iter().skip(plain).any(|p| parts(p).0 == given))
}

impl Binder<'_> {
    /// The macro of that name, in the form that takes the arguments; the first one where none does.
    pub(super) fn macro_form(
        &self,
        schema: Option<&str>,
        name: &str,
        arguments: &[FunctionArg],
    ) -> Option<MacroInfo> {
        let mut forms = self.relations.macro_named(schema, name);
        let fits = forms.iter().position(|form| takes(form, arguments)).unwrap_or(0);
        (!forms.is_empty()).then(|| forms.swap_remove(fits))
    }

    /// The schema that stands before a function's name, if one does. The engine's own functions are in the default
    /// schema of every database, and in the catalog's.
    pub(super) fn schema_of_function(&self, name: &ObjectName) -> Result<Option<String>> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let (database, schema) = match idents.as_slice() {
            [schema, _] => (None, super::folded(schema)),
            [database, schema, _] => (Some(super::folded(database)), super::folded(schema)),
            [] | [_] => return Ok(None),
            _ => return Err(Error::unsupported("a name has at most a database, a schema and a name")),
        };
        let key = match schema.as_str() {
            "pg_catalog" | "system" => Ok(schema),
            _ => self.relations.schema_key(database.as_deref(), &schema),
        };
        let span = Span::union_iter(idents.iter().map(|ident| ident.span));
        key.map(Some).map_err(|error| self.error_at(error, span))
    }

    /// Fails for a function in a schema that has no functions of the engine.
    pub(super) fn refuse_in_schema(&self, schema: &str, function: &str, span: Span) -> Result<()> {
        let (_, shown) = self.relations.database_and_schema(schema);
        if matches!(
            shown.as_str(),
            "main" | "public" | "pg_catalog" | "system" | "information_schema" | "temp"
        ) {
            return Ok(());
        }
        let known = self.relations.schema_names();
        let error = match known.is_empty() || known.iter().any(|known| known == schema) {
            true => {
                Error::new(SqlState::UndefinedFunction, format!("function {shown}.{function} does not exist"))
            }
            false => Error::new(SqlState::UndefinedSchema, format!("schema \"{shown}\" does not exist")),
        };
        Err(self.error_at(error, span))
    }
}

/// The macro's parameters with their arguments.
fn frame(
    binder: &mut Binder<'_>,
    name: &str,
    called: &MacroInfo,
    arguments: Vec<(Option<String>, Bound)>,
    span: Span,
) -> Result<Vec<(String, Bound)>> {
    let text = binder.text;
    let refuse =
        |message: String| Err(crate::place::at(Error::new(SqlState::UndefinedFunction, message), text, span));
    let count = arguments.len();
    let number = || {
        let needed = called.parameters.iter().filter(|p| parts(p).1.is_none()).count();
        match needed == called.parameters.len() {
            true => format!("macro {name} takes {needed} arguments, not {count}"),
            false => {
                format!("macro {name} takes {needed} to {} arguments, not {count}", called.parameters.len())
            }
        }
    };
    if count > called.parameters.len() {
        return refuse(number());
    }
    let mut frame: Vec<(String, Bound)> = Vec::with_capacity(called.parameters.len());
    for (at, (given, bound)) in arguments.into_iter().enumerate() {
        let parameter = given.unwrap_or_else(|| parts(&called.parameters[at]).0.to_owned());
        let known = called.parameters.iter().any(|p| parts(p).0 == parameter);
        if !known || frame.iter().any(|(known, _)| *known == parameter) {
            return refuse(format!("macro {name} does not take the argument {parameter} here"));
        }
        frame.push((parameter, bound));
    }
    for parameter in &called.parameters {
        let (parameter, default) = parts(parameter);
        if frame.iter().any(|(known, _)| known == parameter) {
            continue;
        }
        let Some(default) = default else { return refuse(number()) };
        let mut inner = ExprBinder::new(binder, Rc::new(Scope::default()), Clause::Values);
        let what = format!("the default of parameter \"{parameter}\"");
        let bound = inner.bind_inside(what, format!("SELECT {default}"), span)?;
        frame.push((parameter.to_owned(), bound));
    }
    Ok(frame)
}

fn query_of(parsed: &Parsed) -> Result<&Query> {
    match &parsed.statement {
        Statement::Query(query) => Ok(query),
        _ => Err(Error::new(SqlState::SyntaxError, "a view or a table macro is a query")),
    }
}

/// The one item of `SELECT item`.
pub(crate) fn expression_of(parsed: &Parsed) -> Option<&sqlparser::ast::Expr> {
    let Statement::Query(query) = &parsed.statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    match (select.projection.as_slice(), select.from.is_empty()) {
        ([SelectItem::UnnamedExpr(expr)], true) => Some(expr),
        _ => None,
    }
}
