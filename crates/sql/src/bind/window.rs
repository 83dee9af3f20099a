//! Window calls: OVER and WINDOW clauses, frames, and the plan nodes that evaluate them.
//!
//! A call is resolved to a `BoundWindow`: partitions, order, frame and function, with named windows written out.
//! Equal calls share a column. `Binder::windows` turns the calls of a SELECT into plan nodes; calls with compatible
//! partitions and orders share one node and thus one sort. While arguments are bound, `ExprBinder::windows` is taken
//! out, so that nested calls are errors. Called by `bind::function` for OVER and by `bind::select`.

use std::collections::HashSet;
use std::sync::Arc;

use plan::{AggregateFunction, ColumnId, ExternalFunction};
use plan::{
    Arithmetic, Exclusion, Expr, Frame, FrameBound, FrameUnit, LogicalPlan, SortKey, WindowCall,
    WindowFunction,
};
use sqlparser::ast::{
    Expr as Ast, Function as Call, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    Ident, NamedWindowDefinition, NamedWindowExpr, NullTreatment, OrderByExpr, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use sqlparser::tokenizer::{Location, Span};
use types::{Error, Result, SqlState, Type, Value};

use super::coerce::{self, Bound, cast};
use super::expression::ExprBinder;
use super::packing::{AggregateArguments, Packed};
use super::{Binder, aggregate, folded, literal, operator};
use crate::place;

/// The window calls of one SELECT.
#[derive(Default)]
pub(crate) struct Windows<'a> {
    /// The definitions of the WINDOW clause.
    pub named: &'a [NamedWindowDefinition],
    /// The calls bound so far.
    pub calls: Vec<BoundWindow>,
}

/// A call over its own partitions and order.
#[derive(Clone)]
pub(crate) struct BoundWindow {
    /// The column that holds the result.
    pub id: ColumnId,
    /// The PARTITION BY expressions.
    pub partition: Vec<Expr>,
    /// The ORDER BY keys within a partition.
    pub order: Vec<SortKey>,
    /// The function, its arguments and its frame.
    pub call: WindowCall,
    /// What the result holds.
    pub result: Packed,
    /// Further calls over the same rows that the result is made of.
    pub others: Vec<WindowCall>,
}

impl BoundWindow {
    /// The expressions of partitions, keys and `call`, for rewriting; those of `others` are not included.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.partition
            .iter_mut()
            .chain(self.order.iter_mut().map(|k| &mut k.expr))
            .chain(self.call.expressions_mut())
    }
}

/// A window with the windows it builds on put in.
struct Spec<'a> {
    partition: &'a [Ast],
    order: &'a [OrderByExpr],
    frame: Option<&'a WindowFrame>,
    exclusion: Option<Exclusion>,
    span: Span,
}

/// Names that mean a window function only.
fn function_named(name: &str) -> Option<WindowFunction> {
    use WindowFunction as F;
    Some(match name {
        "row_number" => F::RowNumber,
        "rank" => F::Rank,
        "dense_rank" => F::DenseRank,
        "percent_rank" => F::PercentRank,
        "cume_dist" => F::CumeDist,
        "ntile" => F::Ntile,
        "lag" => F::Lag,
        "lead" => F::Lead,
        "first_value" => F::FirstValue,
        "last_value" => F::LastValue,
        "nth_value" => F::NthValue,
        _ => return None,
    })
}

/// Whether the name is that of a function which needs OVER.
pub(crate) fn is_window_function(name: &str) -> bool {
    function_named(name).is_some()
}

/// Whether the arguments of a call have an order of their own.
fn ordered_arguments(call: &Call) -> bool {
    let FunctionArguments::List(list) = &call.args else { return false };
    list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)))
}

fn windowing(message: impl Into<String>) -> Error {
    Error::new(SqlState::WindowingError, message)
}

impl<'a> ExprBinder<'_, 'a> {
    /// A call with an OVER clause.
    pub(super) fn window(
        &mut self,
        name: &str,
        call: &'a Call,
        over: &'a WindowType,
        span: Span,
    ) -> Result<Bound> {
        self.window_of(name, call, over, None, span)
    }

    /// The rows of an aggregate of the host program, put together over a window.
    pub(super) fn window_of_external(
        &mut self,
        name: &str,
        call: &'a Call,
        over: &'a WindowType,
        pack: &Arc<ExternalFunction>,
        span: Span,
    ) -> Result<Bound> {
        self.window_of(name, call, over, Some(pack), span)
    }

    fn window_of(
        &mut self,
        name: &str,
        call: &'a Call,
        over: &'a WindowType,
        pack: Option<&Arc<ExternalFunction>>,
        span: Span,
    ) -> Result<Bound> {
        self.not_in_try("window functions", span)?;
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        // Taken out, so that a window call inside another is seen as nested.
        let Some(mut windows) = self.windows.take() else {
            let error = if self.in_window {
                windowing("window function calls cannot be nested")
            } else {
                windowing(format!("window functions are not allowed in {}", self.clause.name()))
                    .with_hint("compute it in a subquery, or use QUALIFY to filter by it")
            };
            return Err(refuse(error));
        };
        let inside = std::mem::replace(&mut self.in_window, true);
        let result = self.bound_window((name, pack), call, over, windows.named, span);
        self.in_window = inside;
        let bound = result.map(|mut window| {
            let result = window.result;
            let (partition, order) = (window.partition.clone(), window.order.clone());
            let others = std::mem::take(&mut window.others);
            let mut column = |mut window: BoundWindow| {
                let ty = window.call.ty;
                let same = |known: &&BoundWindow| {
                    known.partition == window.partition
                        && known.order == window.order
                        && known.call == window.call
                };
                if let Some(known) = windows.calls.iter().find(same) {
                    return Expr::column(known.id, ty);
                }
                let nullable = !matches!(
                    window.call.function,
                    WindowFunction::RowNumber
                        | WindowFunction::Rank
                        | WindowFunction::DenseRank
                        | WindowFunction::PercentRank
                        | WindowFunction::CumeDist
                        | WindowFunction::Aggregate(AggregateFunction::Count | AggregateFunction::CountStar)
                );
                window.id = self.binder.columns.add(name, ty, nullable);
                let id = window.id;
                windows.calls.push(window);
                Expr::column(id, ty)
            };
            let first = column(window);
            let others = others.into_iter().map(|call| {
                column(BoundWindow {
                    id: ColumnId(u32::MAX),
                    partition: partition.clone(),
                    order: order.clone(),
                    call,
                    result: Packed::Nothing,
                    others: Vec::new(),
                })
            });
            let others = others.collect();
            Bound::typed(result.unpacked(first, others), span)
        });
        self.windows = Some(windows);
        bound
    }

    fn bound_window(
        &mut self,
        (name, pack): (&str, Option<&Arc<ExternalFunction>>),
        call: &'a Call,
        over: &'a WindowType,
        named: &'a [NamedWindowDefinition],
        span: Span,
    ) -> Result<BoundWindow> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let spec = match over {
            WindowType::NamedWindow(ident) => self.named_window(ident, named, named.len())?,
            WindowType::WindowSpec(spec) => {
                let exclusion = self.binder.exclusion(span.start);
                self.window_spec(spec, named, named.len(), exclusion, span)?
            }
        };
        let mut ignore_nulls = call.null_treatment == Some(NullTreatment::IgnoreNulls);
        if let FunctionArguments::List(list) = &call.args {
            for clause in &list.clauses {
                if let FunctionArgumentClause::IgnoreOrRespectNulls(treatment) = clause {
                    ignore_nulls = *treatment == NullTreatment::IgnoreNulls;
                }
            }
        }
        // With an order of its own a first value is that of the aggregate, over the frame's rows.
        let of_its_order = ordered_arguments(call);
        let name = match name {
            "first_value" | "last_value" if of_its_order && pack.is_none() => {
                let first = name == "first_value";
                match (std::mem::take(&mut ignore_nulls), first) {
                    (true, true) => "any_value",
                    (true, false) => {
                        let message = "last_value with both IGNORE NULLS and ORDER BY is not supported";
                        let error = Error::unsupported(message);
                        return Err(refuse(error.with_hint("write first_value in the opposite order")));
                    }
                    (false, true) => "first",
                    (false, false) => "last",
                }
            }
            name if of_its_order && pack.is_none() && is_window_function(name) => {
                let error =
                    Error::unsupported(format!("ORDER BY in the arguments of {name} is not supported"));
                return Err(refuse(error.with_hint("the order of the rows stands in OVER (ORDER BY ...)")));
            }
            name => name,
        };
        let mut packed = Packed::Nothing;
        let mut further = Vec::new();
        let (function, arguments, filter, ty) = match function_named(name).filter(|_| pack.is_none()) {
            Some(function) => {
                if call.filter.is_some() {
                    return Err(refuse(Error::unsupported(format!(
                        "FILTER is not supported for {name}, which is no aggregate function"
                    ))));
                }
                let (arguments, ty) = self.window_arguments(&function, call, span)?;
                (function, arguments, None, ty)
            }
            None => {
                let external = pack.map(|pack| self.packed(name, pack, call, span)).transpose()?;
                let known = aggregate::function_named(name).filter(|_| external.is_none());
                let Some(function) = known.or(external.as_ref().map(|e| e.call.function.clone())) else {
                    let error = if aggregate::is_aggregate(name) {
                        Error::unsupported(format!("aggregate function {name} is not supported"))
                    } else {
                        Error::new(
                            SqlState::UndefinedFunction,
                            format!(
                                "OVER specified, but {name} is not a window function nor an aggregate function"
                            ),
                        )
                    };
                    return Err(refuse(error));
                };
                let AggregateArguments { call, others, result } = match external {
                    Some(external) => external,
                    None => self.aggregate_call(name, function, call, None, span)?,
                };
                let call = aggregate::guarded(call);
                packed = result;
                further = others.into_iter().map(aggregate::guarded).collect();
                if call.distinct {
                    return Err(refuse(Error::unsupported("DISTINCT is not supported for window functions")));
                }
                (
                    WindowFunction::Aggregate(call.function),
                    call.argument.into_iter().collect(),
                    call.filter,
                    call.ty,
                )
            }
        };
        use WindowFunction as F;
        if ignore_nulls && !matches!(function, F::Lag | F::Lead | F::FirstValue | F::LastValue | F::NthValue)
        {
            return Err(refuse(Error::unsupported(format!("IGNORE NULLS is not supported for {name}"))));
        }
        let mut partition = Vec::with_capacity(spec.partition.len());
        for ast in spec.partition {
            partition.push(self.value(ast)?);
        }
        let mut order = Vec::with_capacity(spec.order.len());
        let mut keys = Vec::with_capacity(spec.order.len());
        for item in spec.order {
            let key = self.bind(&item.expr)?;
            super::check_depth(&key.expr)?;
            order.push(self.binder.sort_key(key.expr.clone(), item.options));
            keys.push(key);
        }
        let mut frame = match spec.frame {
            None => Frame::standard(),
            Some(written) => self.frame(written, &keys, &order, spec.span)?,
        };
        if spec.frame.is_none() && spec.exclusion.is_some() {
            let error = Error::new(SqlState::SyntaxError, "EXCLUDE stands behind ROWS, RANGE or GROUPS");
            return Err(place::at(error, text, spec.span));
        }
        frame.exclusion = spec.exclusion.unwrap_or_default();
        // Literals order nothing.
        order.retain(|k| k.expr.as_literal().is_none());
        if !function.uses_frame() {
            frame = Frame::whole();
        } else if order.is_empty() && frame == Frame::standard() {
            frame = Frame::whole();
        }
        let peers = order.len();
        let others = further.into_iter().map(|other| WindowCall {
            function: WindowFunction::Aggregate(other.function),
            arguments: other.argument.into_iter().collect(),
            filter: other.filter,
            ignore_nulls,
            frame: frame.clone(),
            peers,
            ty: other.ty,
        });
        let others = others.collect();
        let call = WindowCall { function, arguments, filter, ignore_nulls, frame, peers, ty };
        Ok(BoundWindow { id: ColumnId(u32::MAX), partition, order, call, result: packed, others })
    }

    /// The arguments of a function that is no aggregate, defaults put in, and its type.
    fn window_arguments(
        &mut self,
        function: &WindowFunction,
        call: &'a Call,
        span: Span,
    ) -> Result<(Vec<Expr>, Type)> {
        use WindowFunction as F;
        let text = self.binder.text;
        let name = function.name();
        let mut bound = Vec::new();
        if let FunctionArguments::List(list) = &call.args {
            if list.duplicate_treatment.is_some() {
                let error = Error::unsupported("DISTINCT is not supported for window functions");
                return Err(place::at(error, text, span));
            }
            let other = |clause: &&FunctionArgumentClause| {
                !matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))
            };
            if let Some(clause) = list.clauses.iter().find(other) {
                let error = Error::unsupported(format!("{clause} inside {name} is not supported"));
                return Err(place::at(error, text, span));
            }
            for argument in &list.args {
                match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => bound.push(self.bind(e)?),
                    other => {
                        let error = Error::unsupported(format!(
                            "function {name}: the argument {other} is not supported"
                        ));
                        return Err(place::at(error, text, span));
                    }
                }
            }
        }
        let wanted = match function {
            F::RowNumber | F::Rank | F::DenseRank | F::PercentRank | F::CumeDist => 0..=0,
            F::Ntile | F::FirstValue | F::LastValue => 1..=1,
            F::NthValue => 2..=2,
            _ => 1..=3,
        };
        if !wanted.contains(&bound.len()) {
            let error = Error::new(
                SqlState::UndefinedFunction,
                format!("function {name} does not take {} arguments", bound.len()),
            );
            return Err(place::at(error, text, span));
        }
        let whole = |bound: Bound, what: &str| -> Result<Expr> {
            let at = bound.span;
            match coerce::implicit(bound, Type::BigInt, text)? {
                Some(expr) => Ok(expr),
                None => {
                    let error = Error::new(
                        SqlState::UndefinedFunction,
                        format!("{what} of {name} must be an integer"),
                    );
                    Err(place::at(error, text, at))
                }
            }
        };
        let mut bound = bound.into_iter();
        let Some(first) = bound.next() else {
            let ty =
                if matches!(function, F::PercentRank | F::CumeDist) { Type::Double } else { Type::BigInt };
            return Ok((vec![], ty));
        };
        match function {
            F::Ntile => Ok((vec![whole(first, "the argument")?], Type::BigInt)),
            F::Lag | F::Lead => {
                let offset = match bound.next() {
                    Some(offset) => whole(offset, "the offset")?,
                    None => cast(literal::integer(1), Type::BigInt),
                };
                let (mut values, ty) = match bound.next() {
                    Some(default) => coerce::unify(vec![first, default], &name.to_uppercase(), text)?,
                    None => {
                        let ty = if first.is_null() { Type::Text } else { first.ty() };
                        (vec![cast(first.expr, ty), super::null_of(ty)], ty)
                    }
                };
                values.insert(1, offset);
                Ok((values, ty))
            }
            _ => {
                let ty = if first.is_null() { Type::Text } else { first.ty() };
                let mut arguments = vec![cast(first.expr, ty)];
                if let Some(n) = bound.next() {
                    arguments.push(whole(n, "the row's number")?);
                }
                Ok((arguments, ty))
            }
        }
    }

    /// The window of that name among the first `visible` definitions.
    fn named_window(
        &mut self,
        ident: &Ident,
        named: &'a [NamedWindowDefinition],
        visible: usize,
    ) -> Result<Spec<'a>> {
        let name = folded(ident);
        let Some(at) = named[..visible].iter().position(|w| folded(&w.0) == name) else {
            let error = Error::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist"));
            let names: Vec<String> = named[..visible].iter().map(|w| folded(&w.0)).collect();
            let error = match super::scope::nearest(&name, names.iter().map(String::as_str)) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error.with_hint("define it with WINDOW name AS (...)"),
            };
            return Err(self.binder.error_at(error, ident.span));
        };
        match &named[at].1 {
            NamedWindowExpr::NamedWindow(other) => self.named_window(other, named, at),
            NamedWindowExpr::WindowSpec(spec) => {
                let exclusion = self.binder.exclusion(named[at].0.span.start);
                self.window_spec(spec, named, at, exclusion, named[at].0.span)
            }
        }
    }

    fn window_spec(
        &mut self,
        spec: &'a WindowSpec,
        named: &'a [NamedWindowDefinition],
        visible: usize,
        exclusion: Option<Exclusion>,
        span: Span,
    ) -> Result<Spec<'a>> {
        let mut own = Spec {
            partition: &spec.partition_by,
            order: &spec.order_by,
            frame: spec.window_frame.as_ref(),
            exclusion,
            span,
        };
        let Some(base) = &spec.window_name else { return Ok(own) };
        let name = folded(base);
        let base_spec = self.named_window(base, named, visible)?;
        let refuse = |message: String| self.binder.error_at(windowing(message), base.span);
        if !own.partition.is_empty() {
            return Err(refuse(format!("cannot override PARTITION BY clause of window \"{name}\"")));
        }
        if !own.order.is_empty() && !base_spec.order.is_empty() {
            return Err(refuse(format!("cannot override ORDER BY clause of window \"{name}\"")));
        }
        if base_spec.frame.is_some() {
            return Err(refuse(format!("cannot copy window \"{name}\" because it has a frame clause")));
        }
        own.partition = base_spec.partition;
        if own.order.is_empty() {
            own.order = base_spec.order;
        }
        Ok(own)
    }

    fn frame(
        &mut self,
        written: &'a WindowFrame,
        keys: &[Bound],
        order: &[SortKey],
        span: Span,
    ) -> Result<Frame> {
        use WindowFrameBound as W;
        let text = self.binder.text;
        let refuse = |message: &str| place::at(windowing(message), text, span);
        let unit = match written.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        if unit == FrameUnit::Groups && order.is_empty() {
            return Err(refuse("GROUPS mode requires an ORDER BY clause"));
        }
        let current = W::CurrentRow;
        let (start, end) = (&written.start_bound, written.end_bound.as_ref().unwrap_or(&current));
        if matches!(start, W::Following(None)) {
            return Err(refuse("frame start cannot be UNBOUNDED FOLLOWING"));
        }
        if matches!(end, W::Preceding(None)) {
            return Err(refuse("frame end cannot be UNBOUNDED PRECEDING"));
        }
        match (start, end) {
            (W::CurrentRow, W::Preceding(_)) => {
                return Err(refuse("frame starting from current row cannot have preceding rows"));
            }
            (W::Following(_), W::Preceding(_) | W::CurrentRow) => {
                return Err(refuse("frame starting from following row cannot have preceding rows"));
            }
            _ => {}
        }
        let mut bound = |bound: &'a W| -> Result<FrameBound> {
            let (offset, preceding) = match bound {
                W::CurrentRow => return Ok(FrameBound::CurrentRow),
                W::Preceding(None) | W::Following(None) => return Ok(FrameBound::Unbounded),
                W::Preceding(Some(offset)) => (offset, true),
                W::Following(Some(offset)) => (offset, false),
            };
            let offset = self.bind(offset)?;
            if unit == FrameUnit::Range {
                return self.range_bound(offset, preceding, keys, order, span);
            }
            let at = offset.span;
            let rows = match coerce::implicit(offset, Type::BigInt, text)? {
                Some(expr) => expr,
                None => {
                    let error = Error::new(SqlState::DatatypeMismatch, "a frame's offset must be an integer");
                    return Err(place::at(error, text, at));
                }
            };
            match rows.as_literal().map(Value::as_i64) {
                Some(Some(n)) if n >= 0 => Ok(FrameBound::Offset(if preceding { -n } else { n })),
                Some(Some(_)) => Err(place::at(bad_size("frame offset must not be negative"), text, at)),
                Some(None) => Err(place::at(bad_size("frame offset must not be null"), text, at)),
                None => Err(place::at(Error::unsupported("a frame's offset must be a constant"), text, at)),
            }
        };
        let start = match start {
            W::CurrentRow => FrameBound::CurrentRow,
            _ => bound(&written.start_bound)?,
        };
        let end = match &written.end_bound {
            None => FrameBound::CurrentRow,
            Some(end) => bound(end)?,
        };
        Ok(Frame { unit, start, end, exclusion: Exclusion::NoOthers })
    }

    /// `x PRECEDING` and `x FOLLOWING` by value: the key that the frame ends at, as an expression of the row's own.
    fn range_bound(
        &mut self,
        offset: Bound,
        preceding: bool,
        keys: &[Bound],
        order: &[SortKey],
        span: Span,
    ) -> Result<FrameBound> {
        let text = self.binder.text;
        let ([key], [order]) = (keys, order) else {
            let error =
                windowing("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
            return Err(place::at(error, text, span));
        };
        let at = offset.span;
        match offset.expr.as_literal() {
            Some(Value::Null) => {
                return Err(place::at(bad_size("frame offset must not be null"), text, at));
            }
            Some(value) if is_negative(value) => {
                return Err(place::at(
                    bad_size("invalid preceding or following size in window function"),
                    text,
                    at,
                ));
            }
            Some(_) => {}
            None => {
                return Err(place::at(Error::unsupported("a frame's offset must be a constant"), text, at));
            }
        }
        let mut key = key.clone();
        if key.ty().is_integer() {
            // Wide enough for every sum.
            key.expr = cast(key.expr, Type::Decimal { precision: 20, scale: 0 });
        }
        let (key_type, offset_type) = (key.ty(), offset.ty());
        let op = if preceding == order.descending { Arithmetic::Add } else { Arithmetic::Subtract };
        let bound = operator::arithmetic(op, key.clone(), offset, text).ok();
        let bound = bound.and_then(|b| Some((coerce::common_type(key_type, b.ty)?, b)));
        let Some((ty, bound)) = bound else {
            let error = Error::unsupported(format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key_type} and offset type {offset_type}"
            ))
            .with_hint("cast the offset value to an appropriate type");
            return Err(place::at(error, text, at));
        };
        Ok(FrameBound::Value { key: cast(key.expr, ty), bound: cast(bound, ty) })
    }
}

fn bad_size(message: &str) -> Error {
    Error::new(SqlState::InvalidFrameSize, message)
}

fn is_negative(value: &Value) -> bool {
    value.as_i128().is_some_and(|v| v < 0) || value.as_f64().is_some_and(|v| v < 0.0)
}

impl Binder<'_> {
    /// A WINDOW clause defines each of its names once.
    pub(super) fn windows_once(&self, named: &[NamedWindowDefinition]) -> Result<()> {
        let mut known = HashSet::new();
        for definition in named {
            let name = folded(&definition.0);
            if !known.insert(name.clone()) {
                let error = windowing(format!("window \"{name}\" is already defined"));
                return Err(self.error_at(error, definition.0.span));
            }
        }
        Ok(())
    }

    /// What EXCLUDE says in the window of the function, or under the name, that begins there.
    fn exclusion(&self, at: Location) -> Option<Exclusion> {
        self.exclusions.iter().find(|(place, _)| *place == at).map(|(_, e)| *e)
    }

    /// Window nodes on top of `plan`. Calls over the same partitions share a node where one's order begins with the
    /// other's.
    pub(super) fn windows(&self, mut plan: LogicalPlan, mut calls: Vec<BoundWindow>) -> LogicalPlan {
        calls.sort_by_key(|call| std::cmp::Reverse(call.order.len()));
        let mut nodes: Vec<(Vec<Expr>, Vec<SortKey>, Vec<(ColumnId, WindowCall)>)> = Vec::new();
        for BoundWindow { id, partition, order, call, .. } in calls {
            let shared = nodes.iter_mut().find(|(parts, keys, _)| {
                parts.iter().all(|p| partition.contains(p))
                    && partition.iter().all(|p| parts.contains(p))
                    && keys.starts_with(&order)
            });
            match shared {
                Some((_, _, calls)) => calls.push((id, call)),
                None => nodes.push((partition, order, vec![(id, call)])),
            }
        }
        for (partition, order, calls) in nodes {
            plan = LogicalPlan::Window { input: Box::new(plan), partition, order, calls };
        }
        plan
    }
}
