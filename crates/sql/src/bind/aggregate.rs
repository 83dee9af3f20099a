//! Aggregate calls, and expressions over grouped rows.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, Fraction, Places};
use sqlparser::ast::{
    DuplicateTreatment, Expr as Ast, Function as Call, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments,
};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState, Type, Value};

use super::coerce::{Bound, cast};
use super::expression::{Clause, ExprBinder};
use super::grouping::Groups;
use super::nested::call;
use super::subquery::Pending;
use super::{Binder, operator};
use crate::place;

/// Digits an average has beyond its argument's scale.
const AVERAGE_EXTRA_SCALE: u8 = 4;

/// The aggregate calls of one SELECT.
#[derive(Default)]
pub(crate) struct Aggregates<'a> {
    /// Group expressions with subqueries in them, as written: binding them again would give other columns.
    pub grouped: Vec<(&'a Ast, Expr)>,
    pub calls: Vec<(ColumnId, AggregateCall)>,
    /// Where an equal call stands, while calls are collected.
    pub known: Places,
    /// What is grouped by, for GROUPING.
    pub groups: Rc<Groups>,
    /// Subqueries inside arguments: they belong below the aggregation.
    pub below: Vec<Pending>,
}

/// The middle: the median's fraction.
const HALF: Option<Fraction> = Fraction::new(0.5);

/// The function of that name; `None` when it is no aggregate.
pub(super) fn function_named(name: &str) -> Option<AggregateFunction> {
    use AggregateFunction as A;
    Some(match name {
        "count" => A::Count,
        "sum" => A::Sum,
        "avg" => A::Avg,
        "min" => A::Min,
        "max" => A::Max,
        "bool_and" | "every" => A::BoolAnd,
        "bool_or" => A::BoolOr,
        "stddev" | "stddev_samp" => A::StddevSamp,
        "stddev_pop" => A::StddevPop,
        "variance" | "var_samp" => A::VarSamp,
        "var_pop" => A::VarPop,
        "any_value" => A::AnyValue,
        "string_agg" | "listagg" | "group_concat" => A::StringAgg { delimiter: "".into() },
        // Their pieces are put together as texts are: see `gathered`.
        "array_agg" | "list" | "histogram" => A::StringAgg { delimiter: "".into() },
        "json_agg" | "jsonb_agg" | "json_group_array" | "json_object_agg" | "jsonb_object_agg"
        | "json_group_object" => A::StringAgg { delimiter: ",".into() },
        "bit_and" => A::BitAnd,
        "bit_or" => A::BitOr,
        "bit_xor" => A::BitXor,
        "product" => A::Product,
        "skewness" => A::Skewness,
        "kurtosis" => A::Kurtosis,
        "kurtosis_pop" => A::KurtosisPop,
        "entropy" => A::Entropy,
        "mode" => A::Mode,
        "median" | "quantile_cont" | "percentile_cont" => {
            A::QuantileCont { fraction: HALF?, descending: false }
        }
        "quantile" | "quantile_disc" | "percentile_disc" | "approx_quantile" => {
            A::QuantileDisc { fraction: HALF?, descending: false }
        }
        // Exact, which an approximation may be.
        "approx_count_distinct" => A::Count,
        "count_if" | "countif" => A::Count,
        _ => return None,
    })
}

/// Aggregates that others have, so that the refusal can say what is meant.
const UNSUPPORTED: [&str; 13] = [
    "corr",
    "covar_pop",
    "covar_samp",
    "approx_distinct",
    "approx_median",
    "arg_max",
    "arg_min",
    "xmlagg",
    "regr_slope",
    "regr_intercept",
    "regr_count",
    "regr_r2",
    "grouping",
];

pub(crate) fn is_aggregate(name: &str) -> bool {
    function_named(name).is_some() || UNSUPPORTED.contains(&name)
}

impl<'a> ExprBinder<'_, 'a> {
    pub(super) fn aggregate(&mut self, name: &str, call: &'a Call, span: Span) -> Result<Bound> {
        let Some(function) = function_named(name) else {
            let error = Error::unsupported(format!("aggregate function {name} is not supported"));
            return Err(place::at(error, self.binder.text, span));
        };
        let (column, argument) =
            self.aggregate_of(span, |this| this.aggregate_call(name, function, call, span))?;
        let refuse = |error: Error| place::at(error, self.binder.text, span);
        gathered(name, column, argument).map(|e| Bound::typed(e, span)).map_err(refuse)
    }

    /// The column of an aggregate that `bind` binds, among the calls of this SELECT, and its argument.
    pub(super) fn aggregate_of(
        &mut self,
        span: Span,
        bind: impl FnOnce(&mut Self) -> Result<AggregateCall>,
    ) -> Result<(Expr, Option<Expr>)> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        // Taken out, so that an aggregate inside an argument is seen as nested.
        let Some(mut aggregates) = self.aggregates.take() else {
            let message = if self.clause == Clause::Argument {
                "aggregate function calls cannot be nested".to_owned()
            } else {
                format!("aggregate functions are not allowed in {}", self.clause.name())
            };
            return Err(refuse(Error::new(SqlState::GroupingError, message)));
        };
        let clause = std::mem::replace(&mut self.clause, Clause::Argument);
        let pending = std::mem::take(&mut self.pending);
        let result = bind(self);
        aggregates.below.append(&mut self.pending);
        self.pending = pending;
        self.clause = clause;
        let bound = result.map(|call| {
            let ty = call.ty;
            let known = aggregates.known.find(&call, |at| aggregates.calls[at].1 == call);
            let id = known.map(|at| aggregates.calls[at].0).unwrap_or_else(|| {
                aggregates.known.add(&call, aggregates.calls.len());
                let never_null =
                    matches!(call.function, AggregateFunction::Count | AggregateFunction::CountStar);
                let id = self.binder.columns.add(call.function.name(), ty, !never_null);
                aggregates.calls.push((id, call));
                id
            });
            let argument = aggregates.calls.iter().find(|(own, _)| *own == id);
            let argument = argument.and_then(|(_, call)| call.argument.clone());
            (Expr::column(id, ty), argument)
        });
        self.aggregates = Some(aggregates);
        bound
    }

    pub(super) fn aggregate_call(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &'a Call,
        span: Span,
    ) -> Result<AggregateCall> {
        use AggregateFunction as A;
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let filter = match &call.filter {
            Some(filter) => Some(self.condition(filter, "FILTER")?),
            None => None,
        };
        let FunctionArguments::List(list) = &call.args else {
            return Err(refuse(Error::new(SqlState::SyntaxError, format!("{name} needs arguments"))));
        };
        let ordered_set = matches!(name, "percentile_cont" | "percentile_disc");
        if !call.within_group.is_empty() && !ordered_set && function != A::Mode {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(refuse(Error::new(SqlState::WrongObjectType, message)));
        }
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        for clause in &list.clauses {
            match clause {
                // The order of rows matters to none of the others.
                FunctionArgumentClause::OrderBy(_) if !matches!(function, A::StringAgg { .. }) => {}
                FunctionArgumentClause::IgnoreOrRespectNulls(_) if call.over.is_some() => {}
                other => {
                    return Err(refuse(Error::unsupported(format!(
                        "{other} inside {name} is not supported"
                    ))));
                }
            }
        }
        let mut arguments: Vec<&'a Ast> = Vec::new();
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => arguments.push(e),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard)
                    if name == "count" && list.args.len() == 1 =>
                {
                    if distinct {
                        return Err(refuse(Error::new(
                            SqlState::SyntaxError,
                            "count(DISTINCT *) has no meaning",
                        )));
                    }
                    return Ok(AggregateCall {
                        function: A::CountStar,
                        argument: None,
                        distinct: false,
                        filter,
                        ty: Type::BigInt,
                    });
                }
                _ => {
                    return Err(refuse(Error::new(
                        SqlState::UndefinedFunction,
                        format!("function {name} does not take {argument} as an argument"),
                    )));
                }
            }
        }
        let mut descending = false;
        if !call.within_group.is_empty() || ordered_set {
            let [by] = call.within_group.as_slice() else {
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("{name} takes WITHIN GROUP (ORDER BY value), with one value"),
                );
                return Err(refuse(error));
            };
            descending = by.options.asc == Some(false);
            // As in quantile_cont(value, fraction).
            arguments.insert(0, &by.expr);
        }
        let quantile = matches!(function, A::QuantileCont { .. } | A::QuantileDisc { .. });
        let gathers = gathers(name);
        if gathers && call.over.is_some() {
            return Err(refuse(Error::unsupported(format!("{name} over a window is not supported"))));
        }
        let of_pairs = gathers && name.contains("object");
        let two = (matches!(function, A::StringAgg { .. }) && !gathers)
            || (quantile && name != "median")
            || of_pairs;
        let wanted = if two { 2 } else { 1 };
        if arguments.len() != wanted {
            return Err(refuse(Error::new(
                SqlState::UndefinedFunction,
                format!("function {name} takes {wanted} argument{}", if wanted == 1 { "" } else { "s" }),
            )));
        }
        let mut bound = self.bind(arguments[0])?;
        super::check_depth(&bound.expr)?;
        let distinct = distinct || name == "approx_count_distinct";
        if matches!(name, "count_if" | "countif") {
            // Where it is not true there is no value to be counted.
            let condition = operator::condition(bound.clone(), name, text)?;
            let one = Expr::literal(Value::I64(1), Type::BigInt);
            let kind = ExprKind::Case { branches: vec![(condition, one)], otherwise: None };
            bound.expr = Expr::new(kind, Type::BigInt);
            bound.untyped = false;
        }
        let fraction = match arguments.get(1).filter(|_| quantile) {
            None => HALF,
            Some(ast) => {
                let given = self.bind(ast)?;
                let value = given.expr.as_literal().cloned().ok_or_else(|| {
                    refuse(Error::unsupported(format!("the fraction of {name} must be a constant")))
                })?;
                let number = types::cast::cast_value(&value, given.ty(), Type::Double)
                    .map_err(|e| place::at(e, text, given.span))?;
                let fraction = number.as_f64().and_then(Fraction::new);
                if fraction.is_none() {
                    let message =
                        format!("percentile value {} is not between 0 and 1", value.display(given.ty()));
                    let error = Error::new(SqlState::NumericValueOutOfRange, message);
                    return Err(place::at(error, text, given.span));
                }
                fraction
            }
        };
        let function = match (function, fraction) {
            (A::QuantileCont { .. }, Some(fraction)) => A::QuantileCont { fraction, descending },
            (A::QuantileDisc { .. }, Some(fraction)) => A::QuantileDisc { fraction, descending },
            (other, _) => other,
        };
        if gathers {
            let second = if of_pairs { Some(self.bind(arguments[1])?.settled()) } else { None };
            let argument = piece(name, bound.settled(), second).map_err(refuse)?;
            super::check_depth(&argument)?;
            let ty = argument.ty;
            return Ok(AggregateCall { function, argument: Some(argument), distinct, filter, ty });
        }
        let function = match function {
            A::StringAgg { .. } => {
                let delimiter = self.bind(arguments[1])?;
                match delimiter.expr.as_literal().and_then(Value::as_text) {
                    Some(text) => A::StringAgg { delimiter: Arc::from(text) },
                    None => {
                        return Err(refuse(Error::unsupported(
                            "the delimiter of string_agg must be a constant",
                        )));
                    }
                }
            }
            other => other,
        };
        let (argument, ty) = typed(&function, bound, text)?;
        let distinct =
            distinct && !matches!(function, A::Min | A::Max | A::BoolAnd | A::BoolOr | A::AnyValue);
        Ok(AggregateCall { function, argument: Some(argument), distinct, filter, ty })
    }
}

/// Aggregates that make a list, a map or JSON of all values: pieces of bytes, put together as `string_agg` does it in
/// the order of the rows, and made a value of when the group is complete.
fn gathers(name: &str) -> bool {
    matches!(name, "array_agg" | "list" | "histogram") || name.starts_with("json")
}

/// A row's piece, which is never NULL.
fn piece(name: &str, value: Expr, second: Option<Expr>) -> Result<Expr> {
    match second {
        Some(second) => Ok(call("json_pair", vec![value, second], Type::Text)),
        None if name.starts_with("json") => Ok(call("json_piece", vec![value], Type::Text)),
        None => {
            // What would be the list's type says whether there may be one.
            Type::list(value.ty)?;
            Ok(call("list_slot", vec![value], Type::Bytea))
        }
    }
}

/// The pieces of a group, `column`, as the value they make; other aggregates' columns as they are.
fn gathered(name: &str, column: Expr, argument: Option<Expr>) -> Result<Expr> {
    if !gathers(name) {
        return Ok(column);
    }
    if name.starts_with("json") {
        let brackets = if name.contains("object") { "{}" } else { "[]" };
        let brackets = Expr::literal(Value::text(brackets), Type::Text);
        return Ok(call("json_of_pieces", vec![column, brackets], Type::Json));
    }
    let element = match argument.map(|a| a.kind) {
        Some(ExprKind::Library { arguments, .. }) => arguments.first().map_or(Type::Null, |a| a.ty),
        _ => Type::Null,
    };
    let list = call("list_of_slots", vec![column], Type::list(element)?);
    match name {
        "histogram" => Ok(call("list_histogram", vec![list], Type::map(element, Type::BigInt)?)),
        _ => Ok(list),
    }
}

/// The argument as the function takes it, and the result's type.
fn typed(function: &AggregateFunction, bound: Bound, text: &str) -> Result<(Expr, Type)> {
    use AggregateFunction as A;
    let (from, span) = (bound.ty(), bound.span);
    let undefined = || {
        let shown = if bound.untyped { "unknown".to_owned() } else { from.to_string() };
        let error = Error::new(
            SqlState::UndefinedFunction,
            format!("function {}({shown}) does not exist", function.name()),
        )
        .with_hint("an explicit cast may help");
        place::at(error, text, span)
    };
    match function {
        A::CountStar | A::Count => Ok((bound.expr, Type::BigInt)),
        A::Sum => match from {
            t if t.is_integer() => Ok((bound.expr, Type::BigInt)),
            Type::Decimal { scale, .. } => Ok((bound.expr, Type::Decimal { precision: 38, scale })),
            t if t.is_float() => Ok((bound.expr, Type::Double)),
            t if t.is_interval() => Ok((bound.expr, t)),
            Type::Null => Ok((cast(bound.expr, Type::BigInt), Type::BigInt)),
            _ => Err(undefined()),
        },
        A::Avg => match from {
            Type::Decimal { scale, .. } => {
                let scale = (scale + AVERAGE_EXTRA_SCALE).min(38);
                Ok((bound.expr, Type::Decimal { precision: 38, scale }))
            }
            t if t.is_numeric() => Ok((bound.expr, Type::Double)),
            Type::Null => Ok((cast(bound.expr, Type::Double), Type::Double)),
            _ => Err(undefined()),
        },
        A::StddevSamp | A::StddevPop | A::VarSamp | A::VarPop => {
            if from.is_numeric() || from == Type::Null {
                Ok((cast(bound.expr, Type::Double), Type::Double))
            } else {
                Err(undefined())
            }
        }
        A::BoolAnd | A::BoolOr => match operator::condition(bound.clone(), function.name(), text) {
            Ok(argument) => Ok((argument, Type::Boolean)),
            Err(_) => Err(undefined()),
        },
        A::Product | A::Skewness | A::Kurtosis | A::KurtosisPop | A::QuantileCont { .. } => {
            if from.is_numeric() || from == Type::Null {
                return Ok((cast(bound.expr, Type::Double), Type::Double));
            }
            let error = undefined();
            Err(match function {
                A::QuantileCont { .. } => {
                    error.with_hint("quantile_disc and percentile_disc take values of any type")
                }
                _ => error,
            })
        }
        A::BitAnd | A::BitOr | A::BitXor => match from {
            t if t.is_integer() => Ok((bound.expr, t)),
            Type::Null => Ok((cast(bound.expr, Type::BigInt), Type::BigInt)),
            _ => Err(undefined()),
        },
        A::Entropy => {
            let ty = if from == Type::Null { Type::Text } else { from };
            Ok((cast(bound.expr, ty), Type::Double))
        }
        A::Min | A::Max | A::AnyValue | A::SingleValue | A::QuantileDisc { .. } | A::Mode => {
            let ty = if from == Type::Null { Type::Text } else { from };
            Ok((cast(bound.expr, ty), ty))
        }
        A::StringAgg { .. } => {
            if from.is_text() || from == Type::Null {
                Ok((cast(bound.expr, Type::Text), Type::Text))
            } else {
                Err(undefined())
            }
        }
    }
}

/// What is known above an aggregation: group expressions by their columns, and the calls.
pub(crate) struct Grouping {
    pub groups: Vec<(ColumnId, Expr)>,
    by_expression: Vec<(Expr, ColumnId)>,
    /// Columns of the input that are neither grouped nor aggregated, and may not be seen above.
    hidden: HashMap<ColumnId, ()>,
}

impl Grouping {
    /// The group expressions under the columns they become; `input` are the columns of the FROM clause.
    pub fn new(expressions: Vec<(ColumnId, Expr)>, input: impl Iterator<Item = ColumnId>) -> Self {
        let mut groups: Vec<(ColumnId, Expr)> = Vec::new();
        let mut by_expression: Vec<(Expr, ColumnId)> = Vec::new();
        for (id, expr) in expressions {
            if by_expression.iter().any(|(e, _)| *e == expr) {
                continue;
            }
            by_expression.push((expr.clone(), id));
            groups.push((id, expr));
        }
        let mut hidden: HashMap<ColumnId, ()> = input.map(|id| (id, ())).collect();
        for (id, _) in &groups {
            hidden.remove(id);
        }
        Grouping { groups, by_expression, hidden }
    }

    /// The keys of several grouping sets: columns of their own, what stands for them, and what computes them; and the
    /// number of the set.
    pub fn of_sets(
        keyed: Vec<(ColumnId, Expr, Expr)>,
        set: (ColumnId, Expr),
        input: impl Iterator<Item = ColumnId>,
    ) -> Self {
        let by_expression = keyed.iter().map(|(id, key, _)| (key.clone(), *id)).collect();
        let mut groups: Vec<(ColumnId, Expr)> = keyed.into_iter().map(|(id, _, expr)| (id, expr)).collect();
        groups.push(set);
        Grouping { groups, by_expression, hidden: input.map(|id| (id, ())).collect() }
    }

    /// An expression over the input as one over groups: group expressions become their columns. A column that is left
    /// over must depend on the groups, or it is an error.
    pub fn rewrite(&self, binder: &Binder<'_>, calls: &mut Aggregates<'_>, expr: Expr) -> Result<Expr> {
        if let Some((_, id)) = self.by_expression.iter().find(|(e, _)| *e == expr) {
            return Ok(Expr::column(*id, expr.ty));
        }
        if let ExprKind::Column(id) = expr.kind {
            self.admit(binder, calls, id)?;
            return Ok(expr);
        }
        let mut expr = expr;
        for child in expr.children_mut() {
            let taken = std::mem::replace(child, Expr::boolean(false));
            *child = self.rewrite(binder, calls, taken)?;
        }
        Ok(expr)
    }

    /// Checks that a column may be used above the aggregation, and makes it available there.
    pub fn admit(&self, binder: &Binder<'_>, calls: &mut Aggregates<'_>, id: ColumnId) -> Result<()> {
        if !self.hidden.contains_key(&id) || calls.calls.iter().any(|(c, _)| *c == id) {
            return Ok(());
        }
        let grouped = |c: &ColumnId| self.groups.iter().any(|(g, _)| g == c);
        if binder.keys.iter().any(|k| k.row.contains(&id) && k.columns.iter().all(grouped)) {
            let argument = binder.column(id);
            let ty = argument.ty;
            let call = AggregateCall {
                function: AggregateFunction::AnyValue,
                argument: Some(argument),
                distinct: false,
                filter: None,
                ty,
            };
            calls.calls.push((id, call));
            return Ok(());
        }
        Err(Error::new(
            SqlState::GroupingError,
            format!(
                "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                binder.columns.get(id).name
            ),
        )
        .with_hint("group by it (GROUP BY ALL does), or take any_value of it"))
    }
}
