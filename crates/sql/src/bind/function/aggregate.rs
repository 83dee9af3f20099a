//! Aggregate calls, and expressions over grouped rows.
//!
//! The calls of one SELECT are collected in `Aggregates`, each distinct call once, and stand in expressions as a
//! column. While arguments are bound, `ExprBinder::aggregates` is taken out, so that a nested call is an error. A
//! call whose arguments use columns of outer queries only belongs to the innermost of those queries (`query_around`).
//! Some names are several calls and an expression over their results: `packing` and `composed`. `bind::select` puts
//! the aggregation into the plan; `bind::window` uses `aggregate_call` for aggregates with OVER.

use std::rc::Rc;
use std::sync::Arc;

use plan::functions::PAIR;
use plan::{
    AggregateCall, AggregateFunction, ColumnId, ColumnTable, Expr, ExprKind, Fraction, Pairing, Places,
    SortKey,
};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::nested::equality::has_own_equality;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::packing::{
    AggregateArguments, Packed, gathers, gathers_pairs, is_there, ordered_row, piece, typed_null, where_there,
};
use crate::bind::decorrelate::subquery::Pending;
use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{Clause, ExprBinder, collations, intervals, operator, strip};
use crate::bind::function::{arguments, composed, own};
use crate::bind::nested;
use crate::bind::query::grouping::Groups;
use crate::bind::query::order_value;
use crate::bind::scope::Scope;
use crate::place;

/// Digits an average has beyond its argument's scale.
const AVERAGE_EXTRA_SCALE: u8 = 4;

/// The aggregate calls of one SELECT.
#[derive(Default)]
pub(crate) struct Aggregates<'a> {
    /// Group expressions with subqueries in them, as written: binding them again would give other columns.
    pub grouped: Vec<(&'a Ast, Expr)>,
    /// The distinct calls, each with the column that holds its result above the aggregation.
    pub calls: Vec<(ColumnId, AggregateCall)>,
    /// Where an equal call stands, while calls are collected.
    pub known: Places,
    /// What is grouped by, for GROUPING.
    pub groups: Rc<Groups>,
    /// Subqueries inside arguments: they belong below the aggregation.
    pub below: Vec<Pending>,
}

impl Aggregates<'_> {
    /// The column of a call, a new one unless there is an equal call.
    fn column_of(&mut self, call: AggregateCall, columns: &mut ColumnTable) -> ColumnId {
        if let Some(at) = self.known.find(&call, |at| self.calls[at].1 == call) {
            return self.calls[at].0;
        }
        self.known.add(&call, self.calls.len());
        let never_null = call.function.counts();
        let id = columns.add(call.function.name(), call.ty, !never_null);
        self.calls.push((id, call));
        id
    }
}

/// With FILTER, the argument is evaluated for the rows that it lets through: others may be ones that it fails for.
pub(crate) fn guarded(mut call: AggregateCall) -> AggregateCall {
    if let (Some(filter), Some(argument)) = (&call.filter, &mut call.argument)
        && argument.as_column().is_none()
        && argument.as_literal().is_none()
    {
        let value = std::mem::replace(argument, Expr::boolean(false));
        let ty = value.ty;
        let branches = vec![(filter.clone(), value)];
        *argument = Expr::new(ExprKind::Case { branches, otherwise: None }, ty);
    }
    call
}

/// The middle: the median's fraction.
const HALF: Option<Fraction> = Fraction::new(0.5);

/// The function of that name; `None` when it is no aggregate.
pub(crate) fn function_named(name: &str) -> Option<AggregateFunction> {
    use AggregateFunction as A;
    Some(match name {
        "count" => A::Count,
        "sum" => A::Sum,
        "avg" | "mean" => A::Avg,
        "min" => A::Min,
        "max" => A::Max,
        "bool_and" | "every" => A::BoolAnd,
        "bool_or" => A::BoolOr,
        "stddev" | "stddev_samp" => A::StddevSamp,
        "stddev_pop" => A::StddevPop,
        "variance" | "var_samp" => A::VarSamp,
        "var_pop" => A::VarPop,
        "any_value" => A::AnyValue,
        "string_agg" | "listagg" | "group_concat" => {
            A::StringAgg { delimiter: "".into(), ordered: false, most: None }
        }
        // Their pieces are put together as texts are: see `packing::piece`.
        "array_agg" | "list" | "histogram" | "mad" => {
            A::StringAgg { delimiter: "".into(), ordered: false, most: None }
        }
        "json_agg" | "jsonb_agg" | "json_group_array" | "json_object_agg" | "jsonb_object_agg"
        | "json_group_object" => A::StringAgg { delimiter: ",".into(), ordered: false, most: None },
        "first" | "arbitrary" => A::Arrival { last: false },
        "last" => A::Arrival { last: true },
        // The value in the row that comes first by the other argument.
        _ if picked(name).is_some() => A::Min,
        "corr" => A::Paired(Pairing::Corr),
        "covar_pop" => A::Paired(Pairing::CovarPop),
        "covar_samp" => A::Paired(Pairing::CovarSamp),
        "regr_slope" => A::Paired(Pairing::Slope),
        "regr_intercept" => A::Paired(Pairing::Intercept),
        "regr_r2" => A::Paired(Pairing::R2),
        "regr_avgx" => A::Paired(Pairing::AvgX),
        "regr_avgy" => A::Paired(Pairing::AvgY),
        "regr_sxx" => A::Paired(Pairing::Sxx),
        "regr_syy" => A::Paired(Pairing::Syy),
        "regr_sxy" => A::Paired(Pairing::Sxy),
        "regr_count" => A::Count,
        "bit_and" => A::BitAnd,
        "bit_or" => A::BitOr,
        "bit_xor" => A::BitXor,
        "product" => A::Product,
        "skewness" => A::Skewness,
        "kurtosis" => A::Kurtosis,
        "kurtosis_pop" => A::KurtosisPop,
        "entropy" => A::Entropy,
        "mode" => A::Mode,
        "median" | "approx_median" | "quantile_cont" | "percentile_cont" => {
            A::QuantileCont { fraction: HALF?, descending: false }
        }
        "quantile" | "quantile_disc" | "percentile_disc" | "approx_quantile" | "reservoir_quantile" => {
            A::QuantileDisc { fraction: HALF?, descending: false }
        }
        "approx_count_distinct" | "approx_distinct" => A::ApproxCountDistinct,
        "count_if" | "countif" => A::Count,
        _ => return composed::function_named(name),
    })
}

/// Which rows count for an aggregate that takes the value of one row.
#[derive(Clone, Copy)]
enum Counts {
    WhereBothAre,
    /// The value may be NULL, the key not.
    WhereTheKeyIs,
    /// A key that is NULL comes behind all others.
    All,
}

impl Counts {
    fn conditions(self, key: &Expr, value: &Expr) -> Vec<Expr> {
        match self {
            Counts::WhereBothAre => vec![is_there(key.clone()), is_there(value.clone())],
            Counts::WhereTheKeyIs => vec![is_there(key.clone())],
            Counts::All => Vec::new(),
        }
    }
}

/// Whether the aggregate takes the value of the row with the greatest key instead of the least, and which rows count.
fn picked(name: &str) -> Option<(bool, Counts)> {
    Some(match name {
        "arg_min" | "min_by" | "argmin" => (false, Counts::WhereBothAre),
        "arg_max" | "max_by" | "argmax" => (true, Counts::WhereBothAre),
        "arg_min_null" => (false, Counts::WhereTheKeyIs),
        "arg_max_null" => (true, Counts::WhereTheKeyIs),
        "arg_min_nulls_last" => (false, Counts::All),
        "arg_max_nulls_last" => (true, Counts::All),
        _ => return None,
    })
}

/// Aggregates that others have, so that the refusal can say what is meant.
const UNSUPPORTED: [&str; 2] = ["xmlagg", "grouping"];

/// Whether the name is an aggregate's, supported or not.
pub(crate) fn is_aggregate(name: &str) -> bool {
    function_named(name).is_some() || UNSUPPORTED.contains(&name)
}

/// Whether it is `count()`, which counts rows.
fn counts_rows(call: &tree::Call) -> bool {
    let counts = |name: &tree::Name| !name.quoted && name.text.eq_ignore_ascii_case("count");
    call.name.last().is_some_and(counts) && call.arguments.as_ref() == Some(&tree::Arguments::default())
}

fn is_null_literal(ast: &Ast) -> bool {
    matches!(ast.kind, AstKind::Literal(tree::Literal::Null))
}

/// The fractions of `quantile_cont(value, [0.1, 0.5])`, where the call has a list of them.
fn fractions(call: &tree::Call) -> Option<&[Ast]> {
    let tree::Argument { variadic: false, name: None, value } = arguments::list(call).last()? else {
        return None;
    };
    let mut last = value;
    loop {
        last = match &last.kind {
            AstKind::Nested(inner) => inner,
            AstKind::Cast(cast) => &cast.expr,
            AstKind::List { array: _, elements } if !elements.is_empty() => return Some(elements),
            _ => return None,
        };
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// The fractions of `percentile_cont('{0.25, 0.75}'::float8[])` and of other constants that are lists.
    fn constant_fractions(&mut self, call: &'a tree::Call) -> Result<Option<Vec<&'a Ast>>> {
        let Some(last) = arguments::list(call).last().map(|argument| &argument.value) else {
            return Ok(None);
        };
        if !matches!(strip(last).kind, AstKind::Cast(_)) {
            return Ok(None);
        }
        let bound = self.bind(last)?;
        let (Some(value), Some(_)) = (bound.expr.as_literal(), bound.ty().element()) else { return Ok(None) };
        let texts = Type::list(Type::Text)?;
        let list = types::cast::cast_value(value, bound.ty(), texts)?;
        let Some(bytes) = list.as_bytes() else { return Ok(None) };
        let fraction = |element: Option<&[u8]>| {
            let element = types::nested::encoding::slot_value(element, Type::Text);
            let kind = match element.as_text() {
                Some(number) => tree::Literal::Number(number.into()),
                None => tree::Literal::Null,
            };
            self.binder.texts.keep_expr(Ast { kind: AstKind::Literal(kind), span: last.span })
        };
        Ok(Some(types::nested::encoding::elements(texts, bytes).map(fraction).collect()))
    }

    /// An aggregate call without OVER, as the column of its result.
    pub(crate) fn aggregate(&mut self, name: &str, call: &'a tree::Call, span: Span) -> Result<Bound> {
        use AggregateFunction as A;
        let Some(function) = function_named(name) else {
            let error = Error::unsupported(format!("aggregate function {name} is not supported"));
            return Err(place::at(error, self.binder.text, span));
        };
        if call.nulls == Some(tree::NullTreatment::Ignore) {
            let error = Error::unsupported(format!("IGNORE NULLS is not supported for {name}"))
                .with_hint("write FILTER (WHERE value IS NOT NULL) behind the call");
            return Err(place::at(error, self.binder.text, span));
        }
        let several = match function {
            A::QuantileCont { .. } | A::QuantileDisc { .. } => match fractions(call) {
                Some(list) => Some(list.iter().collect()),
                None => self.constant_fractions(call)?,
            },
            _ => None,
        };
        let Some(several) = several else {
            return self.aggregate_of(span, |this| this.aggregate_call(name, function, call, None, span));
        };
        let mut each = Vec::with_capacity(several.len());
        let of = |this: &mut Self, fraction: &'a Ast| {
            let (function, fraction) = (function.clone(), Some(fraction));
            this.aggregate_of(span, |this| this.aggregate_call(name, function, call, fraction, span))
        };
        for fraction in &several {
            each.push(of(self, fraction)?);
        }
        // Without values there is no list: a value at a place is NULL then, and only then.
        let place = several.iter().position(|fraction| !is_null_literal(fraction));
        let there = match place {
            Some(at) => each[at].clone(),
            None => {
                let half = AstKind::Literal(tree::Literal::Number("0.5".into()));
                let half = self.binder.texts.keep_expr(Ast { kind: half, span });
                of(self, half)?
            }
        };
        let element = there.ty();
        let there = vec![is_there(there.expr)];
        let (each, element) = match each.is_empty() {
            true => (vec![], element),
            false => coerce::unify(each, name, self.binder.text)?,
        };
        Ok(Bound::typed(where_there(there, nested::list_of(each, element)?), span))
    }

    /// The value of an aggregate that `bind` binds, from its column among the calls of this SELECT.
    pub(crate) fn aggregate_of(
        &mut self,
        span: Span,
        bind: impl FnOnce(&mut Self) -> Result<AggregateArguments>,
    ) -> Result<Bound> {
        self.not_in_try("aggregate functions", span)?;
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        // Taken out, so that an aggregate inside an argument is seen as nested.
        // One over columns of an outer query alone may stand where this query has none.
        let own = self.aggregates.take();
        let allowed = own.is_some();
        let not_here = |clause: Clause| {
            let message = if clause == Clause::Argument {
                "aggregate function calls cannot be nested".to_owned()
            } else {
                format!("aggregate functions are not allowed in {}", clause.name())
            };
            let hint = match clause {
                Clause::Argument => "compute the inner one in a subquery",
                Clause::Where => "groups are filtered by HAVING",
                _ => "compute it in a subquery",
            };
            refuse(Error::new(SqlState::GroupingError, message).with_hint(hint))
        };
        if !allowed && (self.clause == Clause::Argument || self.scope.parent.is_none()) {
            return Err(not_here(self.clause));
        }
        let mut aggregates = own.unwrap_or_default();
        let clause = std::mem::replace(&mut self.clause, Clause::Argument);
        let pending = std::mem::take(&mut self.pending);
        let result = bind(self);
        aggregates.below.append(&mut self.pending);
        self.pending = pending;
        self.clause = clause;
        let bound = result.and_then(|AggregateArguments { call, others, result }| {
            let mut column = |call: AggregateCall| {
                let (ty, call) = (call.ty, guarded(call));
                let id = match self.query_around(&call) {
                    None if !allowed => return Err(not_here(clause)),
                    None => aggregates.column_of(call, &mut self.binder.columns),
                    Some(level) => {
                        let level = level.and_then(|at| self.binder.levels.get_mut(at));
                        let around = level.as_ref().map_or("FROM", |level| level.clause.name());
                        let Some(aggregates) = level.and_then(|level| level.aggregates.as_mut()) else {
                            let message =
                                format!("aggregate functions are not allowed in {around} of their own query");
                            return Err(refuse(Error::new(SqlState::GroupingError, message).with_hint(
                                "an aggregate over columns of an outer query alone belongs to that query",
                            )));
                        };
                        aggregates.column_of(call, &mut self.binder.columns)
                    }
                };
                Ok(Expr::column(id, ty))
            };
            let first = column(call)?;
            let others = others.into_iter().map(column).collect::<Result<Vec<Expr>>>()?;
            Ok(Bound::typed(result.unpacked(first, others), span))
        });
        self.aggregates = allowed.then_some(aggregates);
        bound
    }

    /// The query around this one that an aggregate belongs to, by its place among `levels`: its arguments use columns
    /// of outer queries alone, and that one is the innermost of them. `Some(None)` for one that has no place for it.
    fn query_around(&self, call: &AggregateCall) -> Option<Option<usize>> {
        let mut used: Vec<ColumnId> = Vec::new();
        for expr in call.argument.iter().chain(&call.filter) {
            used.extend(expr.columns());
        }
        let is_of = |scope: &Scope| scope.entries.iter().any(|entry| used.contains(&entry.id));
        if used.is_empty() || self.scope.parent.is_none() || is_of(&self.scope) {
            return None;
        }
        let all = std::iter::successors(self.scope.parent.as_deref(), |scope| scope.parent.as_deref());
        let outer = |id: &ColumnId| all.clone().any(|scope| scope.entries.iter().any(|e| e.id == *id));
        if !used.iter().all(outer) {
            return None;
        }
        let around = all.clone().find(|scope| is_of(scope))?;
        Some(self.binder.levels.iter().rposition(|level| std::ptr::eq(&*level.scope, around)))
    }

    /// The call with its arguments bound, for an aggregation or a window. `fraction` is one of a list of fractions.
    pub(crate) fn aggregate_call(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &'a tree::Call,
        fraction: Option<&'a Ast>,
        span: Span,
    ) -> Result<AggregateArguments> {
        if let Some(composed) = self.composed(name, call, span)? {
            return Ok(composed);
        }
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let filter = match &call.filter {
            Some(filter) => Some(self.condition(filter, "FILTER")?),
            None => None,
        };
        let Some(tree::Arguments { distinct, list, order_by, limit }) = &call.arguments else {
            return Err(refuse(Error::new(SqlState::SyntaxError, format!("{name} needs arguments"))));
        };
        let ordered_set = matches!(name, "percentile_cont" | "percentile_disc");
        let concatenates = matches!(function, AggregateFunction::StringAgg { .. }) && !gathers(name);
        if !call.within_group.is_empty()
            && !ordered_set
            && !concatenates
            && function != AggregateFunction::Mode
        {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(refuse(Error::new(SqlState::WrongObjectType, message)));
        }
        let order: &'a [tree::OrderItem] = match concatenates && order_by.is_empty() {
            true => &call.within_group,
            false => order_by,
        };
        if let Some(limit) = limit {
            return Err(refuse(Error::unsupported(format!("LIMIT {limit} inside {name} is not supported"))));
        }
        let distinct = *distinct == Some(true);
        let bare = list.len() == 1 && list.iter().all(arguments::is_bare_star);
        if name == "count" && (bare || counts_rows(call)) {
            if distinct {
                return Err(refuse(Error::new(SqlState::SyntaxError, "count(DISTINCT *) has no meaning")));
            }
            let (function, ty) = (AggregateFunction::CountStar, Type::BigInt);
            let call = AggregateCall { function, argument: None, distinct: false, filter, ty };
            return Ok(AggregateArguments::plain(call));
        }
        let arguments: Vec<&'a Ast> = match self.row_of_table(list).filter(|_| name == "count") {
            Some(row) => vec![row],
            None => self.binder.positional(list).map_err(|other| {
                let message =
                    format!("function {name} does not take {} as an argument", arguments::shown(other));
                refuse(Error::new(SqlState::UndefinedFunction, message))
            })?,
        };
        let mut given = Given { arguments, order, descending: false, distinct, filter };
        if (!call.within_group.is_empty() && !concatenates) || ordered_set {
            given.value_of_group(name, &function, &call.within_group, text, span)?;
        }
        // One of a list's fractions.
        if let (Some(fraction), Some(place)) = (fraction, given.arguments.get_mut(1)) {
            *place = fraction;
        }
        let picks = picked(name).is_some();
        let extreme = matches!(name, "min" | "max") && given.arguments.len() == 2;
        if extreme || (picks && given.arguments.len() == 3) {
            return self.several_extremes(name, &given.arguments, distinct, given.filter, span);
        }
        given.check_number(name, &function).map_err(refuse)?;
        self.aggregate_of_values(name, function, call, given, span)
    }

    /// The one argument `t.*` as the row of the table.
    fn row_of_table(&self, list: &'a [tree::Argument]) -> Option<&'a Ast> {
        let [tree::Argument { variadic: false, name: None, value }] = list else { return None };
        match &value.kind {
            AstKind::Star(star) if arguments::is_plain(star) => {
                let kind = AstKind::Column(star.of.clone()?);
                Some(self.binder.texts.keep_expr(Ast { kind, span: value.span }))
            }
            _ => None,
        }
    }

    /// The call over the values that are given to it, which are bound here.
    fn aggregate_of_values(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &'a tree::Call,
        given: Given<'a>,
        span: Span,
    ) -> Result<AggregateArguments> {
        use AggregateFunction as A;
        let Given { arguments, order, mut descending, distinct, mut filter } = given;
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let quantile = is_quantile(&function);
        let mut bound = self.bind(arguments[0])?;
        crate::bind::check_depth(&bound.expr)?;
        if takes_pairs(name, &function) || picked(name).is_some() {
            let second = self.bind(arguments[1])?;
            crate::bind::check_depth(&second.expr)?;
            if takes_pairs(name, &function) {
                let packed = self.pair(name, bound, second, span)?;
                let ty = if function == A::Count { Type::BigInt } else { Type::Double };
                let call = AggregateCall { function, argument: Some(packed), distinct, filter, ty };
                return Ok(AggregateArguments::plain(call));
            }
            return self.picked_by(name, function, bound, second, order, filter);
        }
        if let Some(pick) = collations::aggregated(name, &function, bound.ty(), distinct).map_err(refuse)? {
            return self.picked_by(pick, A::Min, bound.clone(), bound, &[], filter);
        }
        // The mode is the least of the most frequent values, as in that order, unless another order is asked for.
        let counted = function == A::Mode
            && (has_own_equality(bound.ty())
                || !(order.is_empty() || (call.within_group.len() == 1 && !descending)));
        let in_order = composed::in_order(&function, bound.ty());
        let ordered = counted
            || in_order.is_some()
            || matches!(function, A::StringAgg { .. } | A::Arrival { .. } | A::AnyValue);
        let wanted = InnerOrder { items: order, quantile, distinct, ordered };
        let mut keys = self.inner_order(&wanted, &bound.expr, &mut descending)?;
        if counted && keys.is_empty() {
            keys.push(SortKey { expr: bound.expr.clone(), descending: false, nulls_first: false });
        }
        if matches!(function, A::Arrival { .. }) || (function == A::AnyValue && !keys.is_empty()) {
            return Ok(first_in_order(name, function, bound.expr, keys, filter));
        }
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
            Some(ast) => self.quantile_fraction(name, ast, &mut filter, span)?,
        };
        let function = match (function, fraction) {
            (A::QuantileCont { .. }, Some(fraction)) => A::QuantileCont { fraction, descending },
            (A::QuantileDisc { .. }, Some(fraction)) => A::QuantileDisc { fraction, descending },
            (other, _) => other,
        };
        if gathers(name) || counted {
            let pairs = gathers_pairs(name);
            let second = if pairs { Some(self.bind(arguments[1])?.settled()) } else { None };
            let (argument, result) = piece(name, bound.settled(), second).map_err(refuse)?;
            crate::bind::check_depth(&argument)?;
            return Ok(gathered(function, argument, result, keys, distinct, filter));
        }
        let function = match function {
            A::StringAgg { .. } => {
                let delimiter = self.constant_delimiter(arguments.get(1).copied(), span)?;
                A::StringAgg { delimiter, ordered: !keys.is_empty(), most: None }
            }
            other => other,
        };
        let averages = function == A::Avg && bound.ty().is_interval();
        if averages || (function == A::Sum && bound.ty() == Type::Interval) {
            return intervals::sums(bound.expr, averages, distinct, filter).map_err(refuse);
        }
        if let Some(of_list) = composed::of_wide(&function, bound.ty()) {
            let ty = bound.ty();
            return composed::folded(of_list, bound.expr, ty, distinct, filter, keys);
        }
        let (mut argument, ty) = typed(&function, bound, text)?;
        if let (Some(of_list), false) = (in_order, keys.is_empty()) {
            return composed::folded(of_list, cast(argument, ty), ty, distinct, filter, keys);
        }
        if !keys.is_empty() && matches!(function, A::StringAgg { .. }) {
            argument = where_there(vec![is_there(argument.clone())], ordered_row(keys, argument));
        }
        // What comes again changes none of these.
        let indifferent = matches!(
            function,
            A::Min | A::Max | A::BoolAnd | A::BoolOr | A::AnyValue | A::ApproxCountDistinct
        );
        let distinct = distinct && !indifferent;
        let call = AggregateCall { function, argument: Some(argument), distinct, filter, ty };
        Ok(AggregateArguments::plain(call))
    }

    /// `arg_max(value, by)` and its like: the value in the row that comes first.
    fn picked_by(
        &mut self,
        name: &str,
        function: AggregateFunction,
        mut bound: Bound,
        mut second: Bound,
        order: &'a [tree::OrderItem],
        filter: Option<Expr>,
    ) -> Result<AggregateArguments> {
        let text = self.binder.text;
        let (descending, counts) = picked(name).unwrap_or((false, Counts::WhereBothAre));
        for value in [&mut bound, &mut second] {
            value.expr = typed_null(value.expr.clone());
        }
        let there = counts.conditions(&second.expr, &bound.expr);
        // Where several rows have that value, the order inside the call decides.
        let mut keys = vec![SortKey { expr: second.expr, descending, nulls_first: false }];
        for item in order {
            let key = self.bind(order_value(text, item)?)?;
            crate::bind::check_depth(&key.expr)?;
            keys.push(self.binder.sort_key(key.expr, item));
        }
        let ty = bound.expr.ty;
        let packed = where_there(there, ordered_row(keys, bound.expr));
        let call =
            AggregateCall { function, argument: Some(packed), distinct: false, filter, ty: Type::Bytea };
        Ok(AggregateArguments::of(call, Packed::Row(ty)))
    }

    /// The keys of an ORDER BY in the call's brackets that its result depends on; whether a quantile counts downwards.
    fn inner_order(
        &mut self,
        wanted: &InnerOrder<'a>,
        value: &Expr,
        descending: &mut bool,
    ) -> Result<Vec<SortKey>> {
        let text = self.binder.text;
        let mut keys = Vec::with_capacity(wanted.items.len());
        for item in wanted.items {
            let key = self.bind(order_value(text, item)?)?;
            crate::bind::check_depth(&key.expr)?;
            if wanted.quantile && key.expr == *value {
                *descending = item.descending == Some(true);
            }
            // The others are the same in any order: sums and counts, least and greatest values.
            if !wanted.ordered {
                continue;
            }
            if wanted.distinct && key.expr != *value {
                let message =
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                let error = Error::new(SqlState::InvalidColumnReference, message);
                return Err(place::at(error, text, key.span));
            }
            keys.push(self.binder.sort_key(key.expr, item));
        }
        Ok(keys)
    }

    /// The constant fraction of a quantile. One that is NULL filters every row out.
    fn quantile_fraction(
        &mut self,
        name: &str,
        ast: &'a Ast,
        filter: &mut Option<Expr>,
        span: Span,
    ) -> Result<Option<Fraction>> {
        let text = self.binder.text;
        let given = self.bind(ast)?;
        let value = given.expr.as_literal().cloned().ok_or_else(|| {
            let error = Error::unsupported(format!("the fraction of {name} must be a constant"));
            place::at(error, text, span)
        })?;
        let number = types::cast::cast_value(&value, given.ty(), Type::Double)
            .map_err(|e| place::at(e, text, given.span))?;
        let fraction = match number.is_null() {
            // At no place there is NULL, which is what comes of no rows.
            true => {
                *filter = Some(Expr::boolean(false));
                HALF
            }
            false => number.as_f64().and_then(Fraction::new),
        };
        if fraction.is_none() {
            let message = format!("percentile value {} is not between 0 and 1", value.display(given.ty()));
            let error = Error::new(SqlState::NumericValueOutOfRange, message);
            return Err(place::at(error, text, given.span));
        }
        Ok(fraction)
    }

    /// What stands between the texts of string_agg: a comma unless it is said.
    fn constant_delimiter(&mut self, delimiter: Option<&'a Ast>, span: Span) -> Result<Arc<str>> {
        let delimiter = match delimiter {
            Some(delimiter) => self.bind(delimiter)?.expr,
            None => Expr::literal(Value::text(","), Type::Text),
        };
        // NULL is no delimiter.
        let constant = delimiter.as_literal().map(|v| v.as_text().unwrap_or_default());
        match constant {
            Some(text) => Ok(Arc::from(text)),
            None => {
                let error = Error::unsupported("the delimiter of string_agg must be a constant");
                Err(place::at(error, self.binder.text, span))
            }
        }
    }

    /// `max(x, n)` and `arg_max(x, by, n)`: a list of the values in the n rows that come first.
    fn several_extremes(
        &mut self,
        name: &str,
        arguments: &[&'a Ast],
        distinct: bool,
        filter: Option<Expr>,
        span: Span,
    ) -> Result<AggregateArguments> {
        let text = self.binder.text;
        let refuse = |message: &str| {
            place::at(Error::new(SqlState::InvalidParameterValue, format!("{name} {message}")), text, span)
        };
        if distinct {
            return Err(place::at(
                Error::unsupported(format!("{name}(DISTINCT ..., n) is not supported")),
                text,
                span,
            ));
        }
        let (Some(count), values) = (arguments.last(), &arguments[..arguments.len() - 1]) else {
            return Err(Error::internal("no number of rows"));
        };
        let count = self.bind(count)?;
        let Some(count) =
            crate::bind::expression::fold::fold(count.expr).as_literal().and_then(Value::as_i64)
        else {
            return Err(refuse("takes a constant number of rows"));
        };
        if !(1..1_000_000).contains(&count) {
            return Err(refuse("takes a number of rows from 1 to 999999"));
        }
        let mut bound = Vec::with_capacity(2);
        for value in values {
            let value = self.bind(value)?;
            crate::bind::check_depth(&value.expr)?;
            bound.push(typed_null(value.settled()));
        }
        let by = bound.last().cloned().ok_or_else(|| Error::internal("no value"))?;
        let value = bound.swap_remove(0);
        let (descending, counts) = picked(name).unwrap_or((name == "max", Counts::WhereBothAre));
        let there = counts.conditions(&by, &value);
        let key = SortKey { expr: by, descending, nulls_first: false };
        let list = Type::list(value.ty)?;
        let (slot, _) = piece("list", value, None)?;
        let argument = where_there(there, ordered_row(vec![key], slot));
        let most = u32::try_from(count).ok();
        let function = AggregateFunction::StringAgg { delimiter: "".into(), ordered: true, most };
        let ty = argument.ty;
        let call = AggregateCall { function, argument: Some(argument), distinct: false, filter, ty };
        Ok(AggregateArguments::of(call, Packed::Firsts { list, count }))
    }

    /// y and x as one argument, NULL where either is.
    fn pair(&self, name: &str, y: Bound, x: Bound, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let types = [&y, &x].map(|b| if b.untyped { "unknown".to_owned() } else { b.ty().to_string() });
        match own::call(PAIR, &[y, x], text)? {
            Some(pair) => Ok(pair),
            None => {
                let message = format!("function {name}({}) does not exist", types.join(", "));
                let error = Error::new(SqlState::UndefinedFunction, message)
                    .with_hint("it takes two numbers; an explicit cast may help");
                Err(place::at(error, text, span))
            }
        }
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
        .with_hint(match from {
            Type::Boolean => "count_if(condition) counts the rows for which it is true",
            Type::Text | Type::Varchar(_) => {
                "try_cast(value AS DOUBLE PRECISION) reads the numbers in a text"
            }
            _ => "an explicit cast may help",
        });
        place::at(error, text, span)
    };
    match function {
        A::CountStar | A::Count | A::ApproxCountDistinct => Ok((bound.expr, Type::BigInt)),
        A::Sum => match from {
            Type::UBigInt | Type::HugeInt => Ok((bound.expr, Type::HugeInt)),
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
            Type::UBigInt | Type::HugeInt | Type::UHugeInt | Type::BigNum => {
                Ok((cast(bound.expr, Type::Double), Type::Double))
            }
            t if t.is_numeric() => Ok((bound.expr, Type::Double)),
            Type::Null => Ok((cast(bound.expr, Type::Double), Type::Double)),
            _ => Err(undefined()),
        },
        A::StddevSamp | A::StddevPop | A::VarSamp | A::VarPop => {
            if from.is_numeric() || from.is_wide_integer() || from == Type::Null {
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
            let error = undefined();
            number_or_moment(function, bound.expr).ok_or(match function {
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
        // Packed before they come here.
        A::Paired(_) => Ok((bound.expr, Type::Double)),
        // No name of SQL is bound to it.
        A::State(_) => Err(undefined()),
        // PostgreSQL has none of them; the bytes of a JSONB are not in its order.
        A::Min | A::Max if from == Type::Jsonb => Err(undefined()),
        A::Min
        | A::Max
        | A::AnyValue
        | A::SingleValue
        | A::Arrival { .. }
        | A::QuantileDisc { .. }
        | A::Mode => {
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

/// A number as DOUBLE PRECISION; of a quantile between two values, moments and spans of time as well.
fn number_or_moment(function: &AggregateFunction, value: Expr) -> Option<(Expr, Type)> {
    let from = value.ty;
    let ty = match from {
        _ if from.is_numeric() || from == Type::Null => Type::Double,
        _ if !matches!(function, AggregateFunction::QuantileCont { .. }) => return None,
        // Between two moments lies another; between two days, too.
        from if from.is_timestamp_of_unit() => from.in_microseconds(),
        Type::Date => Type::Timestamp,
        // Between two intervals lies one of days and times; months have no fixed length.
        Type::Interval => {
            let ty = Type::IntervalDayTime;
            return Some((cast(intervals::bare(value), ty), ty));
        }
        Type::Timestamp | Type::TimestampTz | Type::Time | Type::IntervalDayTime => {
            return Some((value, from));
        }
        _ => return None,
    };
    Some((cast(value, ty), ty))
}

/// What is given to a call: its values, in which order it takes them, and which rows count.
struct Given<'a> {
    arguments: Vec<&'a Ast>,
    order: &'a [tree::OrderItem],
    /// Of WITHIN GROUP.
    descending: bool,
    distinct: bool,
    filter: Option<Expr>,
}

impl<'a> Given<'a> {
    /// Takes the value that WITHIN GROUP orders by for the first argument, as in quantile_cont(value, fraction).
    fn value_of_group(
        &mut self,
        name: &str,
        function: &AggregateFunction,
        within: &'a [tree::OrderItem],
        text: &str,
        span: Span,
    ) -> Result<()> {
        let refuse = |error: Error| place::at(error, text, span);
        let [by] = within else {
            let error = Error::new(
                SqlState::UndefinedFunction,
                format!("{name} takes WITHIN GROUP (ORDER BY value), with one value"),
            );
            return Err(refuse(error));
        };
        if !self.order.is_empty() {
            let message = format!("{name} has ORDER BY twice: in its arguments and in WITHIN GROUP");
            return Err(refuse(Error::unsupported(message).with_hint("WITHIN GROUP says the order")));
        }
        if *function == AggregateFunction::Mode {
            self.order = within;
        }
        self.descending = by.descending == Some(true);
        self.arguments.insert(0, order_value(text, by)?);
        Ok(())
    }

    /// An error unless the function takes so many arguments.
    fn check_number(&self, name: &str, function: &AggregateFunction) -> Result<()> {
        let concatenates = matches!(function, AggregateFunction::StringAgg { .. }) && !gathers(name);
        let two = concatenates
            || takes_pairs(name, function)
            || gathers_pairs(name)
            || picked(name).is_some()
            || (is_quantile(function) && !matches!(name, "median" | "approx_median"));
        let wanted = if two { 2 } else { 1 };
        let count = self.arguments.len();
        if count == wanted || (concatenates && count == 1) {
            return Ok(());
        }
        let message =
            format!("function {name} takes {wanted} argument{}", if wanted == 1 { "" } else { "s" });
        let error = Error::new(SqlState::UndefinedFunction, message);
        Err(match self.distinct && name == "count" {
            true => error.with_hint("several columns are counted as a row: count(DISTINCT (a, b))"),
            false => error,
        })
    }
}

/// An ORDER BY in a call's brackets, and what it is for.
struct InnerOrder<'a> {
    items: &'a [tree::OrderItem],
    quantile: bool,
    distinct: bool,
    /// The result depends on the order.
    ordered: bool,
}

fn is_quantile(function: &AggregateFunction) -> bool {
    matches!(function, AggregateFunction::QuantileCont { .. } | AggregateFunction::QuantileDisc { .. })
}

/// Whether the function is one of pairs of numbers, y and x.
fn takes_pairs(name: &str, function: &AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Paired(_)) || name == "regr_count"
}

/// The first, the last or any value in the order of the keys.
fn first_in_order(
    name: &str,
    function: AggregateFunction,
    value: Expr,
    keys: Vec<SortKey>,
    filter: Option<Expr>,
) -> AggregateArguments {
    use AggregateFunction as A;
    let value = typed_null(value);
    let ty = value.ty;
    let last = function == A::Arrival { last: true };
    // Without an order it is the order of the rows as they come.
    let function = match (keys.is_empty(), last) {
        (true, _) => function,
        (false, true) => A::Max,
        (false, false) => A::Min,
    };
    let there = if name == "any_value" { vec![is_there(value.clone())] } else { vec![] };
    let packed = where_there(there, ordered_row(keys, value));
    let call = AggregateCall { function, argument: Some(packed), distinct: false, filter, ty: Type::Bytea };
    AggregateArguments::of(call, Packed::Row(ty))
}

/// Values that are gathered as pieces of a text, of which the result is made.
fn gathered(
    function: AggregateFunction,
    mut argument: Expr,
    result: Packed,
    keys: Vec<SortKey>,
    distinct: bool,
    filter: Option<Expr>,
) -> AggregateArguments {
    use AggregateFunction as A;
    let ty = argument.ty;
    // Their slots tell intervals apart that are equal.
    let result = match result {
        Packed::List(list) if distinct && has_own_equality(list) => {
            Packed::Fold { list, function: "list_each_once", ty: list }
        }
        other => other,
    };
    let function = match function {
        A::StringAgg { delimiter, .. } => A::StringAgg { delimiter, ordered: !keys.is_empty(), most: None },
        A::Mode => A::StringAgg { delimiter: "".into(), ordered: true, most: None },
        other => other,
    };
    if !keys.is_empty() {
        argument = ordered_row(keys, argument);
    }
    let call = AggregateCall { function, argument: Some(argument), distinct, filter, ty };
    AggregateArguments::of(call, result)
}
