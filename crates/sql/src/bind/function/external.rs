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
            function: AggregateFunction::StringAgg { delimiter: "".into(), ordered: false },
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

/// `setval` with three arguments goes by a name of its own: a function of the host program has one number of them.
pub const SETVAL_CALLED: &str = "setval called";

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
