//! Window calls: OVER and WINDOW clauses, frames, and the plan nodes that evaluate them.
//!
//! A call is resolved to a `BoundWindow`: partitions, order, frame and function, with named windows written out.
//! Equal calls share a column. `Binder::windows` turns the calls of a SELECT into plan nodes; calls with compatible
//! partitions and orders share one node and thus one sort. While arguments are bound, `ExprBinder::windows` is taken
//! out, so that nested calls are errors. Called by `bind::function` for OVER and by `bind::select`.
//!
//! `aggregate(DISTINCT value) OVER (...)` is written out as window calls that have no DISTINCT. A frame that begins with
//! its partition sees a value from the row on where it first is. So the aggregate counts that row alone: `row_number` over
//! the partition's rows of the same value, in the window's order, is a call of its own, and the aggregate, which comes
//! after it (`BoundWindow::stage`), has `= 1` as a further FILTER. A frame that begins anywhere else gathers its values as
//! a list, of which each is kept once and a function of lists makes the result; it costs as much as the frame is long.

use std::collections::HashSet;
use std::sync::Arc;

use plan::{AggregateCall, AggregateFunction, ColumnId, ExternalFunction};
use plan::{
    Arithmetic, Exclusion, Expr, ExprKind, Frame, FrameBound, FrameUnit, LogicalPlan, SortKey, WindowCall,
    WindowFunction,
};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::packing::{AggregateArguments, Packed, is_there, where_there};
use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, literal, operator};
use crate::bind::function::{aggregate, arguments};
use crate::bind::nested;
use crate::bind::query::order_value;
use crate::bind::{Binder, folded};
use crate::place;

/// The window calls of one SELECT.
#[derive(Default)]
pub(crate) struct Windows<'a> {
    /// The definitions of the WINDOW clause.
    pub named: &'a [(tree::Name, tree::WindowSpec)],
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
    /// Equal values count once, which is still to be written out (`numbering`, `of_list`).
    pub distinct: bool,
    /// Calls of a later stage use the results of earlier ones.
    pub stage: u32,
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
    order: &'a [tree::OrderItem],
    frame: Option<&'a tree::Frame>,
    span: Span,
}

/// The window function that is written out as others (`fill.rs`).
const FILL: &str = "fill";

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
    name == FILL || function_named(name).is_some()
}

/// Whether the arguments of a call have an order of their own.
fn ordered_arguments(call: &tree::Call) -> bool {
    call.arguments.as_ref().is_some_and(|arguments| !arguments.order_by.is_empty())
}

fn windowing(message: impl Into<String>) -> Error {
    Error::new(SqlState::WindowingError, message)
}

/// The function of a window call: what it is called over, and what is made of what it gives.
struct WindowedFunction {
    function: WindowFunction,
    arguments: Vec<Expr>,
    filter: Option<Expr>,
    ty: Type,
    packed: Packed,
    /// Further aggregates that the result is made of.
    further: Vec<AggregateCall>,
    /// Equal values count once.
    distinct: bool,
}

impl<'a> ExprBinder<'_, 'a> {
    /// A call with an OVER clause.
    pub(crate) fn window(
        &mut self,
        name: &str,
        call: &'a tree::Call,
        over: &'a tree::Over,
        span: Span,
    ) -> Result<Bound> {
        if name == FILL {
            let named = self.windows.as_ref().map_or(&[][..], |windows| windows.named);
            let spec = match over {
                tree::Over::Name(name) => self.named_window(name, named, named.len())?,
                tree::Over::Spec(spec) => self.window_spec(spec, named, named.len(), span)?,
            };
            return self.fill(call, spec.partition, spec.order, span);
        }
        self.window_of(name, call, over, None, span)
    }

    /// The rows of an aggregate of the host program, put together over a window.
    pub(crate) fn window_of_external(
        &mut self,
        name: &str,
        call: &'a tree::Call,
        over: &'a tree::Over,
        pack: &Arc<ExternalFunction>,
        span: Span,
    ) -> Result<Bound> {
        self.window_of(name, call, over, Some(pack), span)
    }

    fn window_of(
        &mut self,
        name: &str,
        call: &'a tree::Call,
        over: &'a tree::Over,
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
        let numbering = match &result {
            Ok(window) if window.distinct => Some(numbering(window)),
            _ => None,
        };
        let bound = result.and_then(|window| Ok((window, numbering.transpose()?)));
        let bound = bound.map_err(refuse).map(|(mut window, numbering)| {
            let result = window.result;
            let (partition, order) = (window.partition.clone(), window.order.clone());
            let mut others = std::mem::take(&mut window.others);
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
            if let Some(numbering) = numbering {
                let number = column(numbering);
                window.stage += 1;
                for call in std::iter::once(&mut window.call).chain(&mut others) {
                    first_only(call, number.clone());
                }
            }
            let stage = window.stage;
            let first = column(window);
            let others = others.into_iter().map(|call| {
                column(BoundWindow {
                    id: ColumnId(u32::MAX),
                    partition: partition.clone(),
                    order: order.clone(),
                    call,
                    result: Packed::Nothing,
                    others: Vec::new(),
                    distinct: false,
                    stage,
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
        call: &'a tree::Call,
        over: &'a tree::Over,
        named: &'a [(tree::Name, tree::WindowSpec)],
        span: Span,
    ) -> Result<BoundWindow> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let spec = match over {
            tree::Over::Name(name) => self.named_window(name, named, named.len())?,
            tree::Over::Spec(spec) => self.window_spec(spec, named, named.len(), span)?,
        };
        let mut ignore_nulls = call.nulls == Some(tree::NullTreatment::Ignore);
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
        let WindowedFunction { function, arguments, filter, ty, packed, further, distinct } =
            self.windowed_function(name, pack, call, span)?;
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
            let key = self.bind(order_value(text, item)?)?;
            crate::bind::check_depth(&key.expr)?;
            order.push(self.binder.sort_key(key.expr.clone(), item));
            keys.push(key);
        }
        let mut frame = match spec.frame {
            None => Frame::standard(),
            Some(written) => self.frame(written, &keys, &order, spec.span)?,
        };
        // Literals order nothing.
        order.retain(|k| k.expr.as_literal().is_none());
        if !function.uses_frame() || (order.is_empty() && frame == Frame::standard()) {
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
        let id = ColumnId(u32::MAX);
        let mut window =
            BoundWindow { id, partition, order, call, result: packed, others, distinct, stage: 0 };
        if distinct && !only_grows(&window.call.frame) {
            window.distinct = false;
            of_list(&mut window).map_err(refuse)?;
        }
        Ok(window)
    }

    /// The function of a window call with its arguments, whether it is an aggregate or not.
    fn windowed_function(
        &mut self,
        name: &str,
        pack: Option<&Arc<ExternalFunction>>,
        call: &'a tree::Call,
        span: Span,
    ) -> Result<WindowedFunction> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        if let Some(function) = function_named(name).filter(|_| pack.is_none()) {
            if call.filter.is_some() {
                return Err(refuse(Error::unsupported(format!(
                    "FILTER is not supported for {name}, which is no aggregate function"
                ))));
            }
            let (arguments, ty) = self.window_arguments(&function, call, span)?;
            let (filter, packed, further, distinct) = (None, Packed::Nothing, Vec::new(), false);
            return Ok(WindowedFunction { function, arguments, filter, ty, packed, further, distinct });
        }
        let external = pack.map(|pack| self.packed(name, pack, call, span)).transpose()?;
        let known = aggregate::function_named(name).filter(|_| external.is_none());
        let Some(function) = known.or(external.as_ref().map(|e| e.call.function.clone())) else {
            let error = if aggregate::is_aggregate(name) {
                Error::unsupported(format!("aggregate function {name} is not supported"))
            } else {
                Error::new(
                    SqlState::UndefinedFunction,
                    format!("OVER specified, but {name} is not a window function nor an aggregate function"),
                )
            };
            return Err(refuse(error));
        };
        let AggregateArguments { call, others, result } = match external {
            Some(external) => external,
            None => self.aggregate_call(name, function, call, None, span)?,
        };
        let call = aggregate::guarded(call);
        if call.function == AggregateFunction::ApproxCountDistinct {
            return Err(refuse(Error::unsupported(format!("{name} is not supported as a window function"))));
        }
        Ok(WindowedFunction {
            function: WindowFunction::Aggregate(call.function),
            arguments: call.argument.into_iter().collect(),
            filter: call.filter,
            ty: call.ty,
            packed: result,
            further: others.into_iter().map(aggregate::guarded).collect(),
            distinct: call.distinct,
        })
    }

    /// The arguments of a function that is no aggregate, defaults put in, and its type.
    fn window_arguments(
        &mut self,
        function: &WindowFunction,
        call: &'a tree::Call,
        span: Span,
    ) -> Result<(Vec<Expr>, Type)> {
        use WindowFunction as F;
        let text = self.binder.text;
        let name = function.name();
        let mut bound = Vec::new();
        if let Some(tree::Arguments { distinct, list, order_by: _, limit }) = &call.arguments {
            if distinct.is_some() {
                let error = Error::unsupported("DISTINCT is not supported for window functions");
                return Err(place::at(error, text, span));
            }
            if let Some(limit) = limit {
                let error = Error::unsupported(format!("LIMIT {limit} inside {name} is not supported"));
                return Err(place::at(error, text, span));
            }
            for argument in list {
                let Some(value) = self.binder.argument_value(argument) else {
                    let shown = arguments::shown(argument);
                    let error =
                        Error::unsupported(format!("function {name}: the argument {shown} is not supported"));
                    return Err(place::at(error, text, span));
                };
                bound.push(self.bind(value)?);
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
                        (vec![cast(first.expr, ty), crate::bind::null_of(ty)], ty)
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
        window: &tree::Name,
        named: &'a [(tree::Name, tree::WindowSpec)],
        visible: usize,
    ) -> Result<Spec<'a>> {
        let name = folded(window);
        let Some(at) = named[..visible].iter().position(|w| folded(&w.0) == name) else {
            let error = Error::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist"));
            let names: Vec<String> = named[..visible].iter().map(|w| folded(&w.0)).collect();
            let error = match crate::bind::scope::nearest(&name, names.iter().map(String::as_str)) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error.with_hint("define it with WINDOW name AS (...)"),
            };
            return Err(self.binder.error_at(error, window.span));
        };
        let (name, spec) = &named[at];
        self.window_spec(spec, named, at, name.span)
    }

    fn window_spec(
        &mut self,
        spec: &'a tree::WindowSpec,
        named: &'a [(tree::Name, tree::WindowSpec)],
        visible: usize,
        span: Span,
    ) -> Result<Spec<'a>> {
        let tree::WindowSpec { base, partition_by, order_by, frame, span: _ } = spec;
        let mut own = Spec { partition: partition_by, order: order_by, frame: frame.as_ref(), span };
        let Some(base) = base else { return Ok(own) };
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
        written: &'a tree::Frame,
        keys: &[Bound],
        order: &[SortKey],
        span: Span,
    ) -> Result<Frame> {
        use tree::FrameBound as W;
        let tree::Frame { unit, start, end, exclusion } = written;
        let text = self.binder.text;
        let refuse = |message: &str| place::at(windowing(message), text, span);
        let unit = match unit {
            tree::FrameUnit::Rows => FrameUnit::Rows,
            tree::FrameUnit::Range => FrameUnit::Range,
            tree::FrameUnit::Groups => FrameUnit::Groups,
        };
        let exclusion = match exclusion {
            Some(tree::FrameExclusion::CurrentRow) => Exclusion::CurrentRow,
            Some(tree::FrameExclusion::Group) => Exclusion::Group,
            Some(tree::FrameExclusion::Ties) => Exclusion::Ties,
            Some(tree::FrameExclusion::NoOthers) | None => Exclusion::NoOthers,
        };
        if unit == FrameUnit::Groups && order.is_empty() {
            return Err(refuse("GROUPS mode requires an ORDER BY clause"));
        }
        if matches!(start, W::UnboundedFollowing) {
            return Err(refuse("frame start cannot be UNBOUNDED FOLLOWING"));
        }
        if matches!(end, Some(W::UnboundedPreceding)) {
            return Err(refuse("frame end cannot be UNBOUNDED PRECEDING"));
        }
        match (start, end.as_ref().unwrap_or(&W::CurrentRow)) {
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
                W::UnboundedPreceding | W::UnboundedFollowing => return Ok(FrameBound::Unbounded),
                W::Preceding(offset) => (offset, true),
                W::Following(offset) => (offset, false),
            };
            let offset = self.distance(offset)?;
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
        let start = bound(start)?;
        let end = match end {
            None => FrameBound::CurrentRow,
            Some(end) => bound(end)?,
        };
        Ok(Frame { unit, start, end, exclusion })
    }

    /// How far a frame's bound is away; a text is an interval.
    fn distance(&mut self, distance: &'a Ast) -> Result<Bound> {
        match &distance.kind {
            AstKind::Literal(Literal::Text(_)) => self.interval_of(distance, None),
            _ => self.bind(distance),
        }
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
    pub(crate) fn windows_once(&self, named: &[(tree::Name, tree::WindowSpec)]) -> Result<()> {
        let mut known = HashSet::new();
        for (written, _) in named {
            let name = folded(written);
            if !known.insert(name.clone()) {
                let error = windowing(format!("window \"{name}\" is already defined"));
                return Err(self.error_at(error, written.span));
            }
        }
        Ok(())
    }

    /// Window nodes on top of `plan`. Calls over the same partitions share a node where one's order begins with the
    /// other's.
    pub(crate) fn windows(&self, mut plan: LogicalPlan, mut calls: Vec<BoundWindow>) -> LogicalPlan {
        calls.sort_by_key(|call| (call.stage, std::cmp::Reverse(call.order.len())));
        let mut nodes: Vec<(u32, Vec<Expr>, Vec<SortKey>, Vec<(ColumnId, WindowCall)>)> = Vec::new();
        for BoundWindow { id, partition, order, call, stage, .. } in calls {
            let shared = nodes.iter_mut().find(|(of_stage, parts, keys, _)| {
                *of_stage == stage
                    && parts.iter().all(|p| partition.contains(p))
                    && partition.iter().all(|p| parts.contains(p))
                    && keys.starts_with(&order)
            });
            match shared {
                Some((.., calls)) => calls.push((id, call)),
                None => nodes.push((stage, partition, order, vec![(id, call)])),
            }
        }
        for (_, partition, order, calls) in nodes {
            plan = LogicalPlan::Window { input: Box::new(plan), partition, order, calls };
        }
        plan
    }
}

/// Whether rows enter the frame as the window's rows go by and none leaves it.
fn only_grows(frame: &Frame) -> bool {
    frame.start == FrameBound::Unbounded && frame.exclusion == Exclusion::NoOthers
}

/// The call that numbers the rows with the same value, those that the FILTER of `window` leaves first.
fn numbering(window: &BoundWindow) -> Result<BoundWindow> {
    let Some(value) = window.call.arguments.first() else {
        return Err(Error::internal("an aggregate of distinct values without a value"));
    };
    if value.is_volatile() || window.call.filter.as_ref().is_some_and(Expr::is_volatile) {
        let error = Error::unsupported("DISTINCT of a volatile expression is not supported over a window");
        return Err(error.with_hint("compute the expression in a subquery"));
    }
    let mut partition = window.partition.clone();
    partition.push(value.clone());
    partition.extend(window.call.filter.clone().map(passes));
    let call = WindowCall {
        function: WindowFunction::RowNumber,
        arguments: vec![],
        filter: None,
        ignore_nulls: false,
        frame: Frame::whole(),
        peers: window.order.len(),
        ty: Type::BigInt,
    };
    Ok(BoundWindow {
        partition,
        call,
        result: Packed::Nothing,
        others: vec![],
        distinct: false,
        stage: window.stage,
        ..window.clone()
    })
}

fn passes(filter: Expr) -> Expr {
    let kind = ExprKind::IsBoolean { input: Box::new(filter), value: true, negated: false };
    Expr::new(kind, Type::Boolean)
}

/// Lets an aggregate see the first row of each value only.
fn first_only(call: &mut WindowCall, number: Expr) {
    let one = Expr::literal(Value::I64(1), Type::BigInt);
    let first = Expr::compare(types::Comparison::Equal, number, one);
    call.filter = Some(Expr::and(call.filter.take().into_iter().chain([first]).collect()));
}

/// The aggregate as a function of the list of its frame's values.
fn of_list(window: &mut BoundWindow) -> Result<()> {
    let WindowFunction::Aggregate(function) = &window.call.function else { return Ok(()) };
    window.result = match window.result {
        Packed::List(list) => Packed::Fold { list, function: "list_each_once", ty: list },
        Packed::Fold { list, function, ty } => Packed::Once { list, function, ty },
        _ => {
            let value = window.call.arguments.first().cloned();
            let of_list = list_function(function, window.call.ty);
            let (Some(of_list), Some(value), Packed::Nothing) = (of_list, value, window.result) else {
                let message = format!("{}(DISTINCT ...) is not supported over this frame", function.name());
                return Err(Error::unsupported(message)
                    .with_hint("begin the frame with UNBOUNDED PRECEDING, without EXCLUDE"));
            };
            let (list, ty) = (Type::list(value.ty)?, window.call.ty);
            let slot = nested::call("list_slot", vec![value.clone()], Type::Bytea);
            window.call.arguments = vec![where_there(vec![is_there(value)], slot)];
            window.call.function = WindowFunction::Aggregate(AggregateFunction::StringAgg {
                delimiter: "".into(),
                ordered: false,
                most: None,
            });
            window.call.ty = Type::Bytea;
            Packed::Once { list, function: of_list, ty }
        }
    };
    Ok(())
}

/// The function of lists that gives what the aggregate gives, in the aggregate's type.
fn list_function(function: &AggregateFunction, ty: Type) -> Option<&'static str> {
    use AggregateFunction as A;
    Some(match function {
        A::Count => "list_count",
        A::Sum => "list_sum",
        A::Avg if ty == Type::Double => "list_avg",
        A::Product => "list_product",
        A::StddevSamp if ty == Type::Double => "list_stddev_samp",
        A::StddevPop if ty == Type::Double => "list_stddev_pop",
        A::VarSamp if ty == Type::Double => "list_var_samp",
        A::VarPop if ty == Type::Double => "list_var_pop",
        _ => return None,
    })
}
