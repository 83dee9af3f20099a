//! Views and macros: texts of their own, bound where they are used.
//!
//! The text is parsed once for each use and kept in `Texts`, as the binder borrows its tree. The method `inside`
//! exchanges the binder's text for the inner one, hides the common table expressions around it, and restores both
//! afterwards. The field `inside` lists what is open: a text that uses itself is an error, and nesting is bounded by
//! `NESTING_MAX`. Errors inside are reported at the place of the use, with the name of the view or macro as detail.

use std::rc::Rc;

use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Error, Field, Result, SqlState, Type};

use plan::Expr;

use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, casts, operator};
use crate::bind::function::arguments;
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation, stack};
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
        bind: impl FnOnce(&mut Self, &'a tree::Statement) -> Result<T>,
    ) -> Result<T> {
        self.may_open(&what, span)?;
        let (own, tree) = self.texts.add(text)?;
        let around = std::mem::replace(&mut self.text, own);
        let ctes = std::mem::take(&mut self.ctes);
        self.inside.push(what.clone());
        let result = bind(self, tree);
        self.inside.pop();
        self.ctes = ctes;
        self.text = around;
        result.map_err(|error| self.error_at(told(&error, &what), span))
    }

    /// Fails where a text that is to be opened is open already, or where too many are.
    fn may_open(&self, what: &str, span: Span) -> Result<()> {
        if self.inside.len() >= NESTING_MAX {
            return Err(self.error_at(stack::too_deep(), span));
        }
        if self.inside.iter().any(|open| open == what) {
            let error = Error::new(SqlState::InvalidRecursion, format!("{what} is defined by itself"));
            return Err(self.error_at(error, span));
        }
        Ok(())
    }

    /// The rows of a view, its names looked up in the view's schema first.
    pub(crate) fn bind_view(&mut self, name: &str, view: ViewInfo, span: Span) -> Result<Relation> {
        let arguments = std::mem::take(&mut self.arguments);
        let columns = view.columns;
        let around = self.relations.search_in(view.schema.into_iter().collect());
        let result = self.inside(format!("view \"{name}\""), view.text, span, |binder, tree| {
            let mut relation = binder.bind_query(query_of(tree)?, None)?;
            binder.rename_columns(&mut relation, &columns)?;
            Ok(relation)
        });
        self.relations.search_in(around);
        self.arguments = arguments;
        result
    }

    /// A query that this crate has written itself.
    pub(crate) fn bind_text(&mut self, what: String, text: String, span: Span) -> Result<Relation> {
        self.inside(what, text, span, |binder, tree| binder.bind_query(query_of(tree)?, None))
    }

    /// Binds a part of this text, whose errors are told at one place of it, as those of a text of its own are.
    pub(crate) fn told_at<T>(
        &mut self,
        what: String,
        span: Span,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.inside.len() >= NESTING_MAX {
            return Err(self.error_at(stack::too_deep(), span));
        }
        self.inside.push(what.clone());
        let result = bind(self);
        self.inside.pop();
        result.map_err(|error| self.error_at(told(&error, &what), span))
    }

    /// The rows of a table macro with these arguments.
    pub(crate) fn bind_table_macro(
        &mut self,
        name: &str,
        called: MacroInfo,
        arguments: &'a [tree::Argument],
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
        let result = self.inside(format!("macro \"{name}\""), called.text, span, |binder, tree| {
            binder.bind_query(query_of(tree)?, None)
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
        Ok(crate::bind::expression::fold::fold(expr))
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
        crate::bind::check_depth(&bound.expr)?;
        // A number is true unless it is 0, as where it is cast.
        let bound = match bound.ty().is_numeric() {
            true => Bound::typed(casts::explicit_cast(bound, Type::Boolean, false)?, span),
            false => bound,
        };
        Ok(crate::bind::expression::fold::fold(operator::condition(bound, "CHECK", self.text)?))
    }

    /// By column, what a row gets that names no value for it.
    pub(crate) fn defaults(&mut self, fields: &[Field], texts: &[Option<String>]) -> Result<Vec<Expr>> {
        let of = |(at, field): (usize, &Field)| match texts.get(at).and_then(Option::as_deref) {
            Some(text) => self.default_value(text, field, Span::default()),
            None => Ok(crate::bind::null_of(field.ty)),
        };
        fields.iter().enumerate().map(of).collect()
    }
}

impl<'a> ExprBinder<'_, 'a> {
    fn macro_argument(&mut self, of: &str, argument: &'a tree::Argument) -> Result<(Option<String>, Bound)> {
        if let Some((name, value)) = arguments::named(argument) {
            return Ok((Some(crate::bind::folded(name)), self.bind(value)?));
        }
        match self.binder.argument_value(argument) {
            Some(value) => Ok((None, self.bind(value)?)),
            None => {
                let shown = arguments::shown(argument);
                Err(Error::unsupported(format!("macro {of} does not take {shown}")))
            }
        }
    }

    /// A call of a macro that is an expression.
    pub(crate) fn scalar_macro(
        &mut self,
        name: &str,
        called: MacroInfo,
        arguments: &'a [tree::Argument],
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
    pub(crate) fn bind_inside(&mut self, what: String, text: String, span: Span) -> Result<Bound> {
        // Everything that `Binder::inside` keeps, around this binder.
        self.binder.may_open(&what, span)?;
        let (own, tree) = self.binder.texts.add(text)?;
        let around = std::mem::replace(&mut self.binder.text, own);
        self.binder.inside.push(what.clone());
        let result = match expression_of(tree) {
            Some(body) => self.bind(body),
            None => Err(Error::new(SqlState::SyntaxError, "the macro is not one expression")),
        };
        self.binder.inside.pop();
        self.binder.text = around;
        result.map_err(|error| self.binder.error_at(told(&error, &what), span))
    }
}

/// An error of an inner text, whose place says nothing in the text around it.
pub(crate) fn told(error: &Error, what: &str) -> Error {
    let mut told = Error::new(error.state(), error.message());
    if let Some(hint) = error.hint() {
        told = told.with_hint(hint);
    }
    told.with_detail(format!("in {what}"))
}

/// A parameter's name and default.
fn parts(parameter: &str) -> (&str, Option<&str>) {
    match parameter.split_once(" := ") {
        Some((name, default)) => (name, Some(default)),
        None => (parameter, None),
    }
}

/// Whether a form takes these arguments: the named ones are its own, and what is missing has a default.
fn takes(form: &MacroInfo, arguments: &[tree::Argument]) -> bool {
    let name = |argument: &tree::Argument| match &argument.name {
        Some((_, tree::ArgumentSign::Equals)) | None => None,
        Some((name, _)) => Some(crate::bind::folded(name)),
    };
    let named: Vec<String> = arguments.iter().filter_map(name).collect();
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
    pub(crate) fn macro_form(
        &self,
        schema: Option<&str>,
        name: &str,
        arguments: &[tree::Argument],
    ) -> Result<Option<MacroInfo>> {
        let mut forms = self.relations.macro_named(schema, name);
        if forms.is_empty() {
            return Ok(None);
        }
        self.relations.check_macro(schema, name)?;
        let fits = forms.iter().position(|form| takes(form, arguments)).unwrap_or(0);
        Ok(Some(forms.swap_remove(fits)))
    }

    /// The schema that stands before a function's name, if one does. The engine's own functions are in the default
    /// schema of every database, and in the catalog's.
    pub(crate) fn schema_of_function(&self, name: &tree::Path) -> Result<Option<String>> {
        let (database, schema) = match name.names.as_slice() {
            [schema, _] => (None, crate::bind::folded(schema)),
            [database, schema, _] => (Some(crate::bind::folded(database)), crate::bind::folded(schema)),
            [] | [_] => return Ok(None),
            _ => return Err(Error::unsupported("a name has at most a database, a schema and a name")),
        };
        let key = match schema.as_str() {
            "pg_catalog" | "system" => Ok(schema),
            _ => self.relations.schema_key(database.as_deref(), &schema),
        };
        key.map(Some).map_err(|error| self.error_at(error, name.span()))
    }

    /// Fails for a function in a schema that has no functions of the engine.
    pub(crate) fn refuse_in_schema(&self, schema: &str, function: &str, span: Span) -> Result<()> {
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

fn query_of(tree: &tree::Statement) -> Result<&tree::Query> {
    match &tree.kind {
        tree::StatementKind::Query(query) => Ok(query),
        _ => Err(Error::new(SqlState::SyntaxError, "a view or a table macro is a query")),
    }
}

/// The one item of `SELECT item`.
pub(crate) fn expression_of(tree: &tree::Statement) -> Option<&Ast> {
    let tree::StatementKind::Query(query) = &tree.kind else { return None };
    let tree::SetExpr::Select(select) = &query.body else { return None };
    match (select.items.as_slice(), select.from.is_empty()) {
        ([item], true) if item.alias.is_none() && !arguments::is_star(&item.value) => Some(&item.value),
        _ => None,
    }
}
