//! Calls and windows.
//!
//! EXCLUDE of a frame has no place in the binder's tree; it is kept in the asides by the place of the function's or
//! the window's name. A few words are functions without brackets (`BARE`). VARIADIC is refused. Called by
//! `convert::expr`, and by `select` for WINDOW.

use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectName, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowType,
};
use syntax::Span;
use syntax::tree::{self, ExprKind, Literal};
use types::{Error, Result};

use super::{Converter, ident, location, object_name};

/// Functions that are called without brackets; other words without them are columns.
const BARE: [&str; 9] = [
    "current_catalog",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// A call of nothing but a name and what stands in its brackets.
pub(super) fn plain(name: ObjectName, args: FunctionArguments) -> ast::Function {
    ast::Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }
}

/// The arguments in brackets, without clauses.
pub(super) fn listed(args: Vec<FunctionArg>) -> FunctionArguments {
    FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] })
}

/// A value as an argument.
pub(super) fn unnamed(value: ast::Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(value))
}

impl Converter<'_> {
    /// The arguments of a call, named ones included.
    pub(crate) fn arguments(&self, a: &[tree::Argument]) -> Result<Vec<FunctionArg>> {
        a.iter().map(|argument| self.argument(argument)).collect()
    }

    fn argument(&self, argument: &tree::Argument) -> Result<FunctionArg> {
        let tree::Argument { variadic, name, value } = argument;
        if *variadic {
            return Err(self.unsupported("VARIADIC", value.span));
        }
        let Some((name, sign)) = name else { return Ok(FunctionArg::Unnamed(self.argument_value(value)?)) };
        let operator = match sign {
            tree::ArgumentSign::Arrow => FunctionArgOperator::RightArrow,
            tree::ArgumentSign::ColonEquals => FunctionArgOperator::Assignment,
            // A comparison, which functions in FROM take for a name and a value.
            tree::ArgumentSign::Equals => {
                let left = Box::new(ast::Expr::Identifier(ident(name)));
                let (op, right) = (ast::BinaryOperator::Eq, self.boxed(value)?);
                return Ok(unnamed(ast::Expr::BinaryOp { left, op, right }));
            }
        };
        Ok(FunctionArg::Named { name: ident(name), arg: self.argument_value(value)?, operator })
    }

    /// A value, or a star.
    pub(super) fn argument_value(&self, value: &tree::Expr) -> Result<FunctionArgExpr> {
        match &value.kind {
            ExprKind::Star(star) => self.star_argument(star, value.span),
            _ => Ok(FunctionArgExpr::Expr(self.expr(value)?)),
        }
    }

    /// A call as an expression.
    pub(super) fn call_value(&self, call: &tree::Call, at: Span) -> Result<ast::Expr> {
        if call.arguments.is_none() {
            let bare = |name: &tree::Name| BARE.iter().any(|known| name.text.eq_ignore_ascii_case(known));
            let behind = !call.within_group.is_empty()
                || call.filter.is_some()
                || call.nulls.is_some()
                || call.over.is_some();
            match call.name.single() {
                Some(name) if !bare(name) && !behind => return Ok(ast::Expr::Identifier(ident(name))),
                _ => {}
            }
        }
        if let Some(worded) = self.worded_call(call, at)? {
            return Ok(worded);
        }
        // A call with its arguments, FILTER, WITHIN GROUP and OVER.
        Ok(ast::Expr::Function(self.call(call)?))
    }

    pub(crate) fn call(&self, c: &tree::Call) -> Result<ast::Function> {
        let tree::Call { name, arguments, within_group, filter, nulls, over } = c;
        let args = match arguments {
            None => FunctionArguments::None,
            Some(arguments) => self.call_arguments(name, arguments)?,
        };
        let null_treatment = nulls.map(|nulls| match nulls {
            tree::NullTreatment::Ignore => ast::NullTreatment::IgnoreNulls,
            tree::NullTreatment::Respect => ast::NullTreatment::RespectNulls,
        });
        let over = match over {
            None => None,
            Some(tree::Over::Name(window)) => Some(WindowType::NamedWindow(ident(window))),
            Some(tree::Over::Spec(spec)) => {
                let owner = name.last().map_or(spec.span, |name| name.span);
                Some(WindowType::WindowSpec(self.window(spec, owner)?))
            }
        };
        Ok(ast::Function {
            filter: self.boxed_if(filter.as_ref())?,
            null_treatment,
            over,
            within_group: self.order_items(within_group)?,
            ..plain(object_name(name), args)
        })
    }

    fn call_arguments(&self, name: &tree::Path, arguments: &tree::Arguments) -> Result<FunctionArguments> {
        let tree::Arguments { distinct, list, order_by, limit } = arguments;
        let mut args = self.arguments(list)?;
        // `count()` counts rows.
        let counts = |name: &tree::Name| !name.quoted && name.text.eq_ignore_ascii_case("count");
        if args.is_empty()
            && distinct.is_none()
            && order_by.is_empty()
            && limit.is_none()
            && name.last().is_some_and(counts)
        {
            args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        }
        let mut clauses = Vec::new();
        if !order_by.is_empty() {
            clauses.push(FunctionArgumentClause::OrderBy(self.order_items(order_by)?));
        }
        if let Some(limit) = limit {
            clauses.push(FunctionArgumentClause::Limit(self.expr(limit)?));
        }
        let duplicate_treatment = distinct.map(|distinct| match distinct {
            true => DuplicateTreatment::Distinct,
            false => DuplicateTreatment::All,
        });
        Ok(FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }))
    }

    /// A window; `owner` is the place of its name, or of its function's name, by which EXCLUDE is kept.
    pub(crate) fn window(&self, w: &tree::WindowSpec, owner: Span) -> Result<ast::WindowSpec> {
        let tree::WindowSpec { base, partition_by, order_by, frame, span: _ } = w;
        Ok(ast::WindowSpec {
            window_name: base.as_ref().map(ident),
            partition_by: self.exprs(partition_by)?,
            order_by: self.order_items(order_by)?,
            window_frame: frame.as_ref().map(|frame| self.frame(frame, owner)).transpose()?,
        })
    }

    fn frame(&self, frame: &tree::Frame, owner: Span) -> Result<WindowFrame> {
        let tree::Frame { unit, start, end, exclusion } = frame;
        let units = match unit {
            tree::FrameUnit::Rows => WindowFrameUnits::Rows,
            tree::FrameUnit::Range => WindowFrameUnits::Range,
            tree::FrameUnit::Groups => WindowFrameUnits::Groups,
        };
        let start_bound = self.frame_bound(start)?;
        let end_bound = end.as_ref().map(|end| self.frame_bound(end)).transpose()?;
        if let Some(exclusion) = exclusion {
            let exclusion = match exclusion {
                tree::FrameExclusion::CurrentRow => plan::Exclusion::CurrentRow,
                tree::FrameExclusion::Group => plan::Exclusion::Group,
                tree::FrameExclusion::Ties => plan::Exclusion::Ties,
                tree::FrameExclusion::NoOthers => plan::Exclusion::NoOthers,
            };
            self.asides.borrow_mut().exclusions.push((location(owner.start), exclusion));
        }
        Ok(WindowFrame { units, start_bound, end_bound })
    }

    fn frame_bound(&self, bound: &tree::FrameBound) -> Result<WindowFrameBound> {
        let distance = |e: &tree::Expr| {
            let value = self.boxed(e)?;
            // A text is an interval.
            Ok::<_, Error>(match &e.kind {
                ExprKind::Literal(Literal::Text(_)) => Box::new(ast::Expr::Interval(ast::Interval {
                    value,
                    leading_field: None,
                    leading_precision: None,
                    last_field: None,
                    fractional_seconds_precision: None,
                })),
                _ => value,
            })
        };
        Ok(match bound {
            tree::FrameBound::UnboundedPreceding => WindowFrameBound::Preceding(None),
            tree::FrameBound::Preceding(e) => WindowFrameBound::Preceding(Some(distance(e)?)),
            tree::FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
            tree::FrameBound::Following(e) => WindowFrameBound::Following(Some(distance(e)?)),
            tree::FrameBound::UnboundedFollowing => WindowFrameBound::Following(None),
        })
    }
}
