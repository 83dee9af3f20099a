//! INTERVAL in expressions and plans: arithmetic, computed literals, `make_interval`, and keys.
//!
//! An interval that is a constant of months alone, or of days and time alone, takes the restricted kind's arithmetic,
//! which has kernels; others are moved by a library call. Intervals are equal where their keys are
//! (`types::interval`), and not only where their integers are, and so are lists, structs and maps of them:
//! `compare_by_keys` goes over a finished plan and puts the key in place of each interval, and a value without
//! differences in place of what holds some, where these are compared, grouped, joined or sorted by. `Binder::finish` calls it;
//! nothing behind it makes another comparison of intervals.

use plan::functions::{
    ADD_IN_ZONE, EQUAL_VALUE, INTERVAL_ADD, INTERVAL_DIVIDE, INTERVAL_KEY, INTERVAL_MULTIPLY, INTERVAL_PART,
    TIME_TZ_ADD, TIME_TZ_ON,
};
use plan::logical::ColumnTable;
use plan::{
    AggregateCall, AggregateFunction, Arithmetic, Expr, ExprKind, FrameBound, Function, LogicalPlan, SortKey,
};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, TypeKind, TypeName};
use types::interval::Interval;
use types::interval_text::{self, Fields, Unit};
use types::nested::equality::{Equality, has_own_equality};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::packing::{AggregateArguments, Packed};
use crate::bind::expression::coerce::{Bound, cast};
pub(crate) use crate::bind::expression::interval_calls::{constant, folded};
use crate::bind::expression::{ExprBinder, collation_keys, fold, literal, literal_span, operator, zones};
use crate::bind::function::{arguments, composed};
use crate::data_type;
use crate::place::{self, Placed};

/// The parameters of `make_interval`, in order.
const PARTS: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];

const KEY: Type = Type::Decimal { precision: 38, scale: 0 };

fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    fold::fold(Expr::new(ExprKind::Library { name: name.into(), arguments }, ty))
}

fn negated(interval: Expr) -> Expr {
    let ty = interval.ty;
    fold::fold(Expr::new(ExprKind::Negate(Box::new(interval)), ty))
}

/// Arithmetic with an interval, where it is not that of a restricted kind alone.
pub(crate) fn arithmetic(
    op: Arithmetic,
    left: &Expr,
    right: &Expr,
    node: &dyn Fn(Arithmetic, Expr, Expr, Type) -> Expr,
) -> Option<Expr> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Type as T;
    let whole = |expr: &Expr| cast(expr.clone(), T::Interval);
    match (op, left.ty, right.ty) {
        (Add | Subtract, T::Date | T::Timestamp | T::TimestampTz, T::Interval) => {
            Some(moved(op, left, right, node))
        }
        (Add, T::Interval, T::Date | T::Timestamp | T::TimestampTz) => Some(moved(op, right, left, node)),
        (Add | Subtract, T::TimeTz, i) if i.is_interval() => {
            let by = if op == Subtract { negated(whole(right)) } else { whole(right) };
            Some(call(TIME_TZ_ADD, vec![left.clone(), by], T::TimeTz))
        }
        (Add, i, T::TimeTz) if i.is_interval() => {
            Some(call(TIME_TZ_ADD, vec![right.clone(), whole(left)], T::TimeTz))
        }
        (Add, T::Date, T::TimeTz) => {
            Some(call(TIME_TZ_ON, vec![right.clone(), left.clone()], T::TimestampTz))
        }
        (Add, T::TimeTz, T::Date) => {
            Some(call(TIME_TZ_ON, vec![left.clone(), right.clone()], T::TimestampTz))
        }
        // A clock's reading is moved by the time alone.
        (Add | Subtract, T::Time, T::Interval) => {
            let time = cast(cast(right.clone(), T::Time), T::IntervalDayTime);
            Some(node(op, left.clone(), time, T::Time))
        }
        (Add, T::Interval, T::Time) => {
            let time = cast(cast(left.clone(), T::Time), T::IntervalDayTime);
            Some(node(op, right.clone(), time, T::Time))
        }
        (Add | Subtract, a, b) if a.is_interval() && b.is_interval() && (a != b || a == T::Interval) => {
            let other = if op == Subtract { negated(whole(right)) } else { whole(right) };
            Some(call(INTERVAL_ADD, vec![whole(left), other], T::Interval))
        }
        (Multiply | Divide, i, n) if i.is_interval() && n.is_numeric() && !stays(op, i, n) => {
            let name = if op == Divide { INTERVAL_DIVIDE } else { INTERVAL_MULTIPLY };
            Some(call(name, vec![whole(left), cast(right.clone(), T::Double)], T::Interval))
        }
        (Multiply, n, i) if i.is_interval() && n.is_numeric() && !stays(op, i, n) => {
            Some(call(INTERVAL_MULTIPLY, vec![whole(right), cast(left.clone(), T::Double)], T::Interval))
        }
        _ => None,
    }
}

/// Whether an interval of a restricted kind is of that kind after it is multiplied or divided by such a number.
fn stays(op: Arithmetic, interval: Type, number: Type) -> bool {
    match interval {
        Type::IntervalDayTime => true,
        Type::IntervalYearMonth => op == Arithmetic::Multiply && number.is_integer(),
        _ => false,
    }
}

/// A moment that much later or earlier: by months, then by days, then by time.
fn moved(
    op: Arithmetic,
    moment: &Expr,
    interval: &Expr,
    node: &dyn Fn(Arithmetic, Expr, Expr, Type) -> Expr,
) -> Expr {
    let ty = if moment.ty == Type::TimestampTz { Type::TimestampTz } else { Type::Timestamp };
    let moment = cast(moment.clone(), ty);
    let zone = if ty == Type::TimestampTz { zones::session() } else { None };
    if let Some(parts) = constant(interval)
        && let Some(micros) = parts.day_time()
        && (zone.is_none() || (parts.months == 0 && parts.days == 0))
    {
        let mut moved = moment;
        if parts.months != 0 {
            let months = Expr::literal(Value::I32(parts.months), Type::IntervalYearMonth);
            moved = node(op, moved, months, ty);
        }
        if micros != 0 || parts.months == 0 {
            moved = node(op, moved, Expr::literal(Value::I64(micros), Type::IntervalDayTime), ty);
        }
        return moved;
    }
    let interval = match op {
        Arithmetic::Subtract => negated(interval.clone()),
        _ => interval.clone(),
    };
    match zone {
        Some(zone) => call(ADD_IN_ZONE, vec![zone, moment, interval], ty),
        None => call(INTERVAL_ADD, vec![moment, interval], ty),
    }
}

/// A difference of moments is an INTERVAL that is made of microseconds: those, where they will do.
pub(crate) fn bare(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Cast { input, lenient: false }
            if expr.ty == Type::Interval && input.ty == Type::IntervalDayTime =>
        {
            *input
        }
        kind => Expr { kind, ..expr },
    }
}

fn is_bare(expr: &Expr) -> bool {
    let of_micros = |input: &Expr| input.ty == Type::IntervalDayTime;
    of_micros(expr)
        || (expr.ty == Type::Interval
            && matches!(&expr.kind, ExprKind::Cast { input, lenient: false } if of_micros(input)))
}

/// Two operands of a comparison, as microseconds where both are or one is a constant.
pub(crate) fn bared(left: Expr, right: Expr) -> (Expr, Expr) {
    let suits = |expr: &Expr| is_bare(expr) || constant(expr).is_some();
    if suits(&left) && suits(&right) { (bare(left), bare(right)) } else { (left, right) }
}

/// `value op interval` over a restricted kind, with the constant in that kind, if that says exactly the same.
pub(crate) fn fitted(kind: Type, constant: &Expr) -> Option<(Expr, bool)> {
    if constant.ty != Type::Interval {
        return None;
    }
    let key = self::constant(constant)?.key();
    match kind {
        Type::IntervalDayTime => Some((Expr::literal(Value::I64(i64::try_from(key).ok()?), kind), true)),
        Type::IntervalYearMonth => {
            let month = Interval::new(1, 0, 0).key();
            let months = i32::try_from(key.div_euclid(month)).ok()?;
            Some((Expr::literal(Value::I32(months), kind), key.rem_euclid(month) == 0))
        }
        _ => None,
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// INTERVAL with its value and fields.
    pub(crate) fn interval(&mut self, literal: &'a tree::IntervalLiteral, at: Span) -> Result<Bound> {
        let tree::IntervalLiteral { value, fields, precision } = literal;
        if precision.is_none() {
            return self.interval_of(value, fields.as_ref());
        }
        let kind = TypeKind::Interval { fields: *fields, precision: *precision };
        let name = TypeName { kind, lists: vec![], span: at };
        let bound = self.bind(value)?;
        self.cast(bound, &name, false)
    }

    /// INTERVAL of a value, which counts what the fields say.
    pub(crate) fn interval_of(
        &mut self,
        value: &'a Ast,
        fields: Option<&tree::IntervalFields>,
    ) -> Result<Bound> {
        let span = literal_span(value);
        match literal::interval(value, fields).placed(self.text(), span)? {
            Some(constant) => Ok(Bound::typed(constant, span)),
            None => self.computed_interval(value, fields),
        }
    }

    /// `INTERVAL (n) DAY`, `INTERVAL (text)`: an interval of a computed value.
    fn computed_interval(&mut self, value: &'a Ast, fields: Option<&tree::IntervalFields>) -> Result<Bound> {
        let value = self.bind(value)?;
        let (text, span) = (self.text(), value.span);
        let field = match fields {
            Some(tree::IntervalFields { to: Some(_), .. }) => {
                let error = Error::unsupported("two fields belong to the text of a constant interval")
                    .with_hint("write INTERVAL (n) DAY, or a text with units: INTERVAL '1 2' DAY TO HOUR");
                return Err(place::at(error, text, span));
            }
            Some(fields) => fields.from,
            None => {
                let read = crate::bind::expression::casts::explicit_cast(value, Type::Interval, false)
                    .placed(text, span)?;
                return Ok(Bound::typed(read, span));
            }
        };
        let one = literal::one_of(field).placed(text, span)?;
        let number = match value.ty() {
            ty if ty.is_text() => crate::bind::expression::casts::explicit_cast(value, Type::Double, false)
                .placed(text, span)?,
            _ => value.expr,
        };
        let product = operator::arithmetic(
            Arithmetic::Multiply,
            Bound::typed(number, span),
            Bound::typed(one, span),
            text,
        )?;
        Ok(Bound::typed(product, span))
    }

    /// A cast to INTERVAL with fields or digits that no type keeps to: what is smaller is cut off.
    pub(crate) fn cast_to_fields(
        &mut self,
        bound: &Bound,
        name: &TypeName,
        lenient: bool,
    ) -> Result<Option<Bound>> {
        let TypeName { kind: TypeKind::Interval { fields, precision }, lists, span: place } = name else {
            return Ok(None);
        };
        if !lists.is_empty() {
            return Ok(None);
        }
        let (text, span) = (self.text(), bound.span);
        let precision = precision.or(fields.and_then(|fields| fields.precision)).map(u64::from);
        let range = data_type::interval_range(fields.as_ref(), text, *place)?;
        let (first, last) = match range {
            None | Some((Unit::Year, Unit::Month) | (Unit::Day, Unit::Second))
                if matches!(precision, None | Some(6)) =>
            {
                return Ok(None);
            }
            None => (Unit::Second, Unit::Second),
            Some(range) => range,
        };
        let fields = Fields { first, last };
        let written = bound.expr.as_literal().and_then(Value::as_text).filter(|_| bound.untyped);
        let constant = match written {
            Some(written) => interval_text::parse(written, Some(fields)),
            None => self::constant(&bound.expr).map(|interval| fields.restricted(interval)),
        };
        if let Some(7..) = precision {
            let error =
                Error::unsupported(format!("{}: a second has at most 6 digits", data_type::shown(name)));
            return Err(place::at(error, text, span));
        }
        if let Some(mut interval) = constant {
            interval.micros = literal::to_digits(interval.micros, precision);
            return Ok(Some(Bound::typed(Expr::literal(interval.value()?, Type::Interval), span)));
        }
        let value = crate::bind::expression::casts::explicit_cast(bound.clone(), Type::Interval, lenient)
            .placed(text, span)?;
        let value = match precision {
            Some(digits @ 0..6) => crate::bind::expression::casts::to_digits(value, digits)?,
            _ => value,
        };
        let unit = match last {
            Unit::Year => "year",
            Unit::Month => "month",
            Unit::Day => "day",
            Unit::Hour => "hour",
            Unit::Minute => "minute",
            Unit::Second => return Ok(Some(Bound::typed(value, span))),
        };
        let unit = Expr::literal(Value::text(unit), Type::Text);
        Ok(Some(Bound::typed(call("date_trunc", vec![unit, value], Type::Interval), span)))
    }

    /// The arguments of `make_interval`, which may be named, as ones in order; `None` for a call of another function
    /// or one without names.
    pub(crate) fn parts_of_interval(
        &mut self,
        name: &str,
        arguments: &'a [tree::Argument],
    ) -> Result<Option<Vec<Bound>>> {
        if name != "make_interval" || !arguments.iter().any(|argument| arguments::named(argument).is_some()) {
            return Ok(None);
        }
        let wrong = |message: String| Error::new(SqlState::UndefinedFunction, message);
        let mut parts: [Option<Bound>; 7] = Default::default();
        for (at, argument) in arguments.iter().enumerate() {
            let shown = || arguments::shown(argument);
            let (at, value) = match arguments::named(argument) {
                Some((name, value)) => {
                    (PARTS.iter().position(|part| *part == crate::bind::folded(name)), value)
                }
                None => match self.binder.argument_value(argument) {
                    Some(value) => (Some(at), value),
                    None => return Err(wrong(format!("make_interval does not take {}", shown()))),
                },
            };
            let Some(slot) = at.and_then(|at| parts.get_mut(at)).filter(|slot| slot.is_none()) else {
                let message = format!("make_interval has no such argument, or has it twice: {}", shown());
                return Err(wrong(message).with_hint(format!("it takes {}", PARTS.join(", "))));
            };
            *slot = Some(self.bind(value)?);
        }
        let zero = || Bound::typed(literal::integer(0), Span::default());
        Ok(Some(parts.into_iter().map(|part| part.unwrap_or_else(zero)).collect()))
    }
}

/// The calls of `sum` and `avg` over intervals: the parts are summed each by itself.
pub(crate) fn sums(
    interval: Expr,
    averages: bool,
    distinct: bool,
    filter: Option<Expr>,
) -> Result<AggregateArguments> {
    let interval = cast(interval, Type::Interval);
    if distinct {
        let of_list = if averages { "list_interval_avg" } else { "list_interval_sum" };
        // Of equal ones the least is taken, whatever the order of the rows.
        let by = SortKey { expr: interval.clone(), descending: false, nulls_first: false };
        return composed::folded(of_list, interval, Type::Interval, true, filter, vec![by]);
    }
    let aggregate = |function: AggregateFunction, argument: Expr| AggregateCall {
        function,
        argument: Some(argument),
        distinct: false,
        filter: filter.clone(),
        ty: Type::BigInt,
    };
    let sum = |part: &str| {
        let part = Expr::literal(Value::text(part), Type::Text);
        let value = call(INTERVAL_PART, vec![part, interval.clone()], Type::BigInt);
        aggregate(AggregateFunction::Sum, value)
    };
    let mut others = vec![sum("days"), sum("micros")];
    if averages {
        others.push(aggregate(AggregateFunction::Count, interval.clone()));
    }
    Ok(AggregateArguments { call: sum("months"), others, result: Packed::Interval })
}

/// What the comparisons of an interval see.
fn key(interval: Expr) -> Expr {
    call(INTERVAL_KEY, vec![interval], KEY)
}

fn take_key(expr: &mut Expr) {
    if is_keyed(expr.ty) {
        let value = std::mem::replace(expr, Expr::boolean(true));
        *expr = comparable(value);
    }
}

/// Whether values of the type are not compared by their bytes.
fn is_keyed(ty: Type) -> bool {
    has_own_equality(ty) || collation_keys::is_keyed(ty)
}

/// What the comparisons of a value see that is an interval, holds some, or is a text with a collation.
fn comparable(value: Expr) -> Expr {
    let ty = value.ty;
    match ty {
        Type::Interval => key(value),
        _ if collation_keys::is_keyed(ty) => collation_keys::key(value),
        _ => call(EQUAL_VALUE, vec![value], ty),
    }
}

/// What an interval is ordered and grouped by.
fn take_order(expr: &mut Expr) {
    if is_bare(expr) {
        let interval = std::mem::replace(expr, Expr::boolean(true));
        *expr = bare(interval);
    }
    take_key(expr);
}

/// Comparisons inside an expression, by keys.
pub(crate) fn keyed(expr: &mut Expr) {
    for child in expr.children_mut() {
        keyed(child);
    }
    match &mut expr.kind {
        ExprKind::Compare { left, right, .. } | ExprKind::NotDistinct { left, right, .. } => {
            collation_keys::take_keys(left, right);
            take_key(left);
            take_key(right);
        }
        ExprKind::InList { input, values, .. } if is_keyed(input.ty) => {
            let equality = Equality::of(input.ty);
            let collation = input.ty.compared_by();
            let mut keys: Vec<Value> = values
                .iter()
                .map(|value| match (input.ty, value.as_i128()) {
                    _ if !collation.is_binary() => collation_keys::key_of(value, collation),
                    (Type::Interval, Some(packed)) => Value::I128(Interval::key_of(packed)),
                    _ => equality.value(value.clone()),
                })
                .collect();
            keys.sort();
            keys.dedup();
            *values = keys.into();
            take_key(input);
        }
        ExprKind::Function { function: Function::NullIf, arguments }
            if arguments.iter().any(|a| has_own_equality(a.ty))
                || matches!(arguments.as_slice(), [a, b] if !collation_keys::is_of_bytes(a.ty, b.ty)) =>
        {
            let mut operands = std::mem::take(arguments).into_iter();
            if let (Some(value), Some(other)) = (operands.next(), operands.next()) {
                let (mut left, mut right) = (value.clone(), other);
                collation_keys::take_keys(&mut left, &mut right);
                take_key(&mut left);
                take_key(&mut right);
                let equal = Expr::compare(Comparison::Equal, left, right);
                let branches = vec![(equal, crate::bind::null_of(expr.ty))];
                expr.kind = ExprKind::Case { branches, otherwise: Some(Box::new(value)) };
            }
        }
        _ => {}
    }
}

/// Puts keys in place of the intervals and the texts with a collation that a plan compares, groups, joins or sorts by. A
/// group keeps its least interval, and the first of its texts.
pub(crate) fn compare_by_keys(plan: &mut LogicalPlan, columns: &mut ColumnTable) {
    for child in plan.children_mut() {
        compare_by_keys(child, columns);
    }
    for expr in plan.expressions_mut() {
        keyed(expr);
    }
    match plan {
        LogicalPlan::Join { on, .. } => on.iter_mut().for_each(|(left, right)| {
            collation_keys::take_keys(left, right);
            take_key(left);
            take_key(right);
        }),
        LogicalPlan::Sort { keys, .. } => keys.iter_mut().for_each(|k| take_order(&mut k.expr)),
        LogicalPlan::Window { partition, order, calls, .. } => {
            partition.iter_mut().for_each(take_order);
            order.iter_mut().for_each(|k| take_order(&mut k.expr));
            for (_, call) in calls {
                for end in [&mut call.frame.start, &mut call.frame.end] {
                    if let FrameBound::Value { key, bound } = end {
                        take_key(key);
                        take_key(bound);
                    }
                }
            }
        }
        LogicalPlan::Aggregate { groups, aggregates, .. } => {
            for (id, expr) in groups.iter_mut().filter(|(_, expr)| is_keyed(expr.ty)) {
                let ty = expr.ty;
                let value = std::mem::replace(expr, Expr::boolean(true));
                *expr = comparable(value.clone());
                let by = columns.add("key", expr.ty, true);
                let function = match collation_keys::is_keyed(ty) {
                    true => AggregateFunction::Arrival { last: false },
                    false => AggregateFunction::Min,
                };
                let kept =
                    AggregateCall { function, argument: Some(value), distinct: false, filter: None, ty };
                aggregates.push((std::mem::replace(id, by), kept));
            }
            for (_, call) in aggregates {
                let by_equality = match call.function {
                    AggregateFunction::Count => call.distinct,
                    AggregateFunction::ApproxCountDistinct => true,
                    _ => false,
                };
                if let (true, Some(argument)) = (by_equality, &mut call.argument) {
                    take_key(argument);
                }
            }
        }
        _ => {}
    }
}
