//! Calls of functions that the host program registered.
//!
//! The host's signature decides: arguments are cast to its parameters, and the result has its type. The bound call
//! keeps its place in the script, so that errors of the function point at it. Aggregates of the host get the rows of
//! a group as bytes (`packed`). `bind::function` asks here by `Relations::external`. The functions of sequences are
//! such calls, too.

use std::sync::Arc;

use plan::{AggregateCall, AggregateFunction, Expr, ExprKind, External, ExternalFunction};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result, SqlState, Type};

use crate::bind::decorrelate::packing::AggregateArguments;
use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::function::arguments;
use crate::place;

impl<'a> ExprBinder<'_, 'a> {
    /// A call of the program's function of that name.
    pub(crate) fn external(
        &mut self,
        name: &str,
        external: External,
        call: &'a tree::Call,
        span: Span,
    ) -> Result<Bound> {
        match external {
            External::Scalar(function) => {
                self.no_aggregate_clauses(name, call, span)?;
                let arguments = self.external_arguments(&function, name, call, span)?;
                Ok(Bound::typed(self.external_call(function, arguments, span), span))
            }
            External::Aggregate { pack, finish } => {
                let packed = match &call.over {
                    Some(over) => self.window_of_external(name, call, over, &pack, span)?,
                    None => self.aggregate_of(span, |this| this.packed(name, &pack, call, span))?,
                };
                Ok(Bound::typed(self.external_call(finish, vec![packed.expr], span), span))
            }
        }
    }

    fn no_aggregate_clauses(&self, name: &str, call: &tree::Call, span: Span) -> Result<()> {
        if arguments::has_clauses(call) || call.filter.is_some() || call.over.is_some() {
            let message =
                format!("DISTINCT, ORDER BY, FILTER and OVER are for aggregates, and {name} is none");
            return Err(place::at(Error::new(SqlState::GroupingError, message), self.binder.text, span));
        }
        Ok(())
    }

    /// A call of a function of `pg_catalog`: of the form whose parameters take the arguments, the one that takes most of
    /// them as they are.
    pub(crate) fn catalog_call(
        &mut self,
        name: &str,
        forms: &[Arc<ExternalFunction>],
        call: &'a tree::Call,
        span: Span,
    ) -> Result<Bound> {
        self.no_aggregate_clauses(name, call, span)?;
        let text = self.binder.text;
        let given = self.binder.positional(arguments::list(call)).map_err(|argument| {
            let message =
                format!("function {name}: the argument {} is not supported", arguments::shown(argument));
            place::at(Error::unsupported(message), text, span)
        })?;
        let bound = given.into_iter().map(|argument| self.bind(argument)).collect::<Result<Vec<_>>>()?;
        let fit = |form: &Arc<ExternalFunction>| {
            let takes = |(argument, to): (&Bound, &Type)| fitness(argument, *to);
            let all: Option<Vec<u32>> = bound.iter().zip(&form.arguments).map(takes).collect();
            all.filter(|_| bound.len() == form.arguments.len()).map(|all| all.iter().sum::<u32>())
        };
        let best = forms.iter().enumerate().filter_map(|(at, form)| Some((fit(form)?, at))).min();
        let Some((_, at)) = best else {
            let shown = |b: &Bound| {
                if b.untyped || b.is_null() { "unknown".to_owned() } else { b.ty().sql_name().to_lowercase() }
            };
            let given = bound.iter().map(shown).collect::<Vec<_>>().join(", ");
            let error =
                Error::new(SqlState::UndefinedFunction, format!("function {name}({given}) does not exist"))
                    .with_hint("no form of the function takes arguments of these types: a cast may help");
            return Err(place::at(error, text, span));
        };
        let form = forms[at].clone();
        let mut exprs = Vec::with_capacity(bound.len());
        for (argument, to) in bound.into_iter().zip(&form.arguments) {
            exprs.push(match to.is_reg() && argument.ty() != *to {
                true => self.reg_cast(argument, *to)?.expr,
                // An integer of any width as an OID.
                false if argument.ty().is_integer() && to.is_integer() && !argument.untyped => {
                    cast(argument.expr, *to)
                }
                false => match coerce::implicit(argument, *to, text)? {
                    Some(expr) => cast(expr, *to),
                    None => return Err(Error::internal("an argument that fits cannot be cast")),
                },
            });
        }
        Ok(Bound::typed(self.external_call(form, exprs, span), span))
    }

    /// A text, a number or another OID as a value of `regclass` or kin: the catalog is asked.
    pub(crate) fn reg_cast(&mut self, bound: Bound, to: Type) -> Result<Bound> {
        let span = bound.span;
        if bound.is_null() {
            return Ok(Bound::typed(crate::bind::null_of(to), span));
        }
        let from = bound.ty();
        let taken = if from.is_text() { Type::Text } else { Type::OID };
        let castable = from.is_text() || from.is_integer() || from.is_reg();
        let forms = self.binder.relations.catalog_functions(&format!("::{}", to.sql_name().to_lowercase()));
        let form = forms.into_iter().find(|form| form.arguments == [taken]).filter(|_| castable);
        let Some(form) = form else {
            let error = Error::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}"));
            return Err(place::at(error, self.binder.text, span));
        };
        let argument = cast(bound.expr, taken);
        Ok(Bound::typed(self.external_call(form, vec![argument], span), span))
    }

    fn external_call(&self, function: Arc<ExternalFunction>, arguments: Vec<Expr>, span: Span) -> Expr {
        let ty = function.returns;
        // Inside a view or macro the place would be one of another text.
        let place = if self.binder.is_inside() { None } else { place::position(self.binder.text, span) };
        // Errors are reported with the whole script, so the place is one of that.
        let place = place.map(|at| self.binder.begins.map_or(at, |statement| statement.in_its_script(at)));
        // Each call of a volatile function is one of its own.
        let function =
            if function.volatile { Arc::new(ExternalFunction::clone(&function)) } else { function };
        Expr::new(ExprKind::External { function, arguments, place }, ty)
    }

    /// The rows of a group as bytes end to end.
    pub(crate) fn packed(
        &mut self,
        name: &str,
        pack: &Arc<ExternalFunction>,
        call: &'a tree::Call,
        span: Span,
    ) -> Result<AggregateArguments> {
        let refuse = |error: Error| place::at(error, self.binder.text, span);
        if let Some(clause) = arguments::clause_shown(call) {
            return Err(refuse(Error::unsupported(format!("{clause} inside {name} is not supported"))));
        }
        let distinct = arguments::is_distinct(call);
        if !call.within_group.is_empty() {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(refuse(Error::new(SqlState::WrongObjectType, message)));
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.condition(filter, "FILTER")?),
            None => None,
        };
        let arguments = self.external_arguments(pack, name, call, span)?;
        for argument in &arguments {
            crate::bind::check_depth(argument)?;
        }
        let argument = self.external_call(pack.clone(), arguments, span);
        Ok(AggregateArguments::plain(AggregateCall {
            function: AggregateFunction::StringAgg { delimiter: "".into(), ordered: false, most: None },
            argument: Some(argument),
            distinct,
            filter,
            ty: Type::Bytea,
        }))
    }

    fn external_arguments(
        &mut self,
        function: &ExternalFunction,
        name: &str,
        call: &'a tree::Call,
        span: Span,
    ) -> Result<Vec<Expr>> {
        let text = self.binder.text;
        let arguments = self.binder.positional(arguments::list(call)).map_err(|argument| {
            let shown = arguments::shown(argument);
            let message = format!("function {name}: the argument {shown} is not supported");
            place::at(Error::unsupported(message), text, span)
        })?;
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.bind(without_regclass(argument))?);
        }
        let signature = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
        let no_match = |given: &[Bound]| {
            let shown = |b: &Bound| {
                if b.untyped || b.is_null() { "unknown".to_owned() } else { b.ty().sql_name().to_lowercase() }
            };
            let given = signature(&mut given.iter().map(shown));
            let wanted = signature(&mut function.arguments.iter().map(|t| t.sql_name().to_lowercase()));
            let error =
                Error::new(SqlState::UndefinedFunction, format!("function {name}({given}) does not exist"))
                    .with_hint(format!("it is {name}({wanted}); a cast may help"));
            place::at(error, text, span)
        };
        if bound.len() != function.arguments.len() {
            return Err(no_match(&bound));
        }
        let given = bound.clone();
        let mut exprs = Vec::with_capacity(bound.len());
        for (argument, to) in bound.into_iter().zip(&function.arguments) {
            match coerce::implicit(argument, *to, text)? {
                Some(expr) => exprs.push(cast(expr, *to)),
                None => return Err(no_match(&given)),
            }
        }
        Ok(exprs)
    }
}

/// How far an argument is from a parameter's type, 0 for that type; `None` where it is not taken.
fn fitness(argument: &Bound, to: Type) -> Option<u32> {
    let from = argument.ty();
    if argument.untyped || argument.is_null() {
        // A quoted literal is a text first.
        return Some(if to == Type::Text { 1 } else { 2 });
    }
    if from == to {
        return Some(0);
    }
    let is_oid = |ty: Type| ty.is_oid() || ty.is_reg();
    let taken = (from.is_text() && to.is_text() && !to.is_json())
        || (from.is_reg() && is_oid(to))
        || (from.is_integer() && to.is_integer() && (is_oid(to) || to.holds_integers_of(from)))
        || (from.is_integer() && to.is_reg())
        || (from.is_text() && to.is_reg())
        || (from.is_nested() && to.is_nested());
    // A literal of a wider type than its parameter's, such as 1 for a smallint.
    let narrowed = from.is_integer() && to.is_integer() && coerce::holds_literal(to, &argument.expr);
    let further = u32::from(from.is_text() != to.is_text());
    (taken || narrowed).then_some(1 + further)
}

/// The text in `'name'::regclass`, as PostgreSQL's dumps write the argument of nextval.
fn without_regclass(ast: &Ast) -> &Ast {
    match &ast.kind {
        AstKind::Cast(cast) if is_regclass(&cast.to) => &cast.expr,
        _ => ast,
    }
}

fn is_regclass(ty: &tree::TypeName) -> bool {
    match &ty.kind {
        tree::TypeKind::Named { name, modifiers } if ty.lists.is_empty() && modifiers.is_empty() => {
            name.single().is_some_and(|name| !name.quoted && name.text.eq_ignore_ascii_case("regclass"))
        }
        _ => false,
    }
}
