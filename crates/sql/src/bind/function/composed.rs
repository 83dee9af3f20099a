//! Aggregates that are made of others: a function of all values gathered in a list, or of two sums.
//!
//! The call is bound to one or more aggregates that the executor has, and `Packed` says how their results become the
//! value. FILTER, DISTINCT and ORDER BY of the call apply to each part. `aggregate_call` asks `composed` first; None
//! means that the name is another aggregate.

use plan::{AggregateCall, AggregateFunction as Aggregate, Expr, ExprKind, SortKey};
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Error, Result, SqlState, Type, Value, decimal};

use crate::bind::decorrelate::packing::{
    AggregateArguments, Packed, is_there, ordered_row, typed_null, where_there,
};
use crate::bind::expression::ExprBinder;
use crate::bind::expression::casts::explicit_cast;
use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::function::arguments;
use crate::bind::nested::call;
use crate::bind::query::order_value;
use crate::place::{self, Placed};

/// The most values that `approx_top_k` is asked for.
const TOP_MAX: i64 = 1_000_000;

/// Whether a call of that name with so many arguments is bound here.
fn is_one(name: &str, arguments: usize) -> bool {
    match name {
        "histogram" => arguments > 1,
        _ => function_named(name).is_some(),
    }
}

/// The function that stands for one of these aggregates among the others.
pub(crate) fn function_named(name: &str) -> Option<Aggregate> {
    Some(match name {
        "approx_top_k" | "bitstring_agg" | "favg" | "fsum" | "histogram_exact" | "kahan_sum" | "sumkahan" => {
            Aggregate::StringAgg { delimiter: "".into(), ordered: false, most: None }
        }
        "lttb" => Aggregate::StringAgg { delimiter: "".into(), ordered: false, most: None },
        "count_star" => Aggregate::CountStar,
        "decimal_average" => Aggregate::Avg,
        "geomean" | "geometric_mean" => Aggregate::Avg,
        "sem" => Aggregate::StddevPop,
        "wavg" | "weighted_avg" => Aggregate::Sum,
        _ => return None,
    })
}

/// The bin for values that are in none of those asked for: the last value of the type, or an empty one.
pub(crate) fn other_bin(ty: Type) -> Option<Value> {
    Some(match ty {
        Type::Real => Value::F32(f32::INFINITY),
        Type::Double => Value::F64(f64::INFINITY),
        Type::Date => Value::I32(i32::MAX),
        Type::Timestamp | Type::TimestampTz => Value::I64(i64::MAX),
        Type::Decimal { precision, .. } => {
            Value::from_i128(decimal::power_of_ten(precision) - 1, ty.physical())?
        }
        _ if ty.is_integer() => Value::of_integer(ty.integer_range()?.1, ty)?,
        _ if ty.is_text() => Value::text(""),
        _ if ty.element().is_some() => types::nested::encoding::list_of(&[], ty.element()?),
        _ => match ty.fields() {
            Some(fields) => {
                let fields: Option<Vec<Value>> = fields.iter().map(|(_, of)| other_bin(*of)).collect();
                types::nested::encoding::struct_of(&fields?, ty)?
            }
            None => return None,
        },
    })
}

/// The clauses of a call: DISTINCT, FILTER and ORDER BY.
struct Clauses {
    distinct: bool,
    filter: Option<Expr>,
    keys: Vec<SortKey>,
}

impl<'a> ExprBinder<'_, 'a> {
    /// A call of one of these; `None` where it is another aggregate.
    pub(crate) fn composed(
        &mut self,
        name: &str,
        given: &'a tree::Call,
        span: Span,
    ) -> Result<Option<AggregateArguments>> {
        let Some(list) = &given.arguments else { return Ok(None) };
        if !is_one(name, list.list.len()) {
            return Ok(None);
        }
        let text = self.text();
        let refuse = |error: Error| place::at(error, text, span);
        if !given.within_group.is_empty() {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(refuse(Error::new(SqlState::WrongObjectType, message)));
        }
        let filter = match &given.filter {
            Some(filter) => Some(self.condition(filter, "FILTER")?),
            None => None,
        };
        if let Some(limit) = arguments::limit_shown(given) {
            return Err(refuse(Error::unsupported(format!("{limit} inside {name} is not supported"))));
        }
        let mut bound = Vec::with_capacity(list.list.len());
        for argument in &list.list {
            let Some(value) = self.binder.argument_value(argument) else {
                let shown = arguments::shown(argument);
                let message = format!("function {name} does not take {shown} as an argument");
                return Err(refuse(Error::new(SqlState::UndefinedFunction, message)));
            };
            bound.push(self.argument(value)?);
        }
        let distinct = arguments::is_distinct(given);
        let mut keys = Vec::with_capacity(list.order_by.len());
        for item in &list.order_by {
            let key = self.argument(order_value(text, item)?)?;
            if distinct && bound.first().is_none_or(|first| first.expr != key.expr) {
                let message =
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                let error = Error::new(SqlState::InvalidColumnReference, message);
                return Err(place::at(error, text, key.span));
            }
            keys.push(self.binder.sort_key(key.expr, item));
        }
        let clauses = Clauses { distinct, filter, keys };
        self.of_arguments(name, bound, clauses, span).map(Some)
    }

    fn argument(&mut self, ast: &'a Ast) -> Result<Bound> {
        let bound = self.bind(ast)?;
        crate::bind::check_depth(&bound.expr)?;
        Ok(bound)
    }

    fn of_arguments(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        clauses: Clauses,
        span: Span,
    ) -> Result<AggregateArguments> {
        let count = arguments.len();
        let mut arguments = arguments.into_iter();
        let parts = (arguments.next(), arguments.next(), arguments.next());
        match (name, parts, count) {
            ("count_star", (None, ..), _) if !clauses.distinct && clauses.keys.is_empty() => {
                Ok(AggregateArguments::plain(AggregateCall {
                    function: Aggregate::CountStar,
                    argument: None,
                    distinct: false,
                    filter: clauses.filter,
                    ty: Type::BigInt,
                }))
            }
            ("favg" | "fsum" | "kahan_sum" | "sumkahan", (Some(value), None, _), _) => {
                let value = self.number(name, value, span)?;
                let function = if name == "favg" { "list_favg" } else { "list_fsum" };
                folded(function, value, Type::Double, clauses.distinct, clauses.filter, clauses.keys)
            }
            ("sem", (Some(value), None, _), _) => {
                let value = self.number(name, value, span)?;
                let of = |function: Aggregate, ty: Type| AggregateCall {
                    function,
                    argument: Some(value.clone()),
                    distinct: clauses.distinct,
                    filter: clauses.filter.clone(),
                    ty,
                };
                let others = vec![of(Aggregate::Count, Type::BigInt)];
                let call = of(Aggregate::StddevPop, Type::Double);
                Ok(AggregateArguments { call, others, result: Packed::ErrorOfMean })
            }
            ("geomean" | "geometric_mean", (Some(value), None, _), _) if !clauses.distinct => {
                let value = self.number(name, value, span)?;
                let logarithm = self.apply("ln", vec![Bound::typed(value, span)], span)?.expr;
                let call = sum_like(Aggregate::Avg, logarithm, clauses.filter);
                Ok(AggregateArguments::of(call, Packed::Exponential))
            }
            ("wavg" | "weighted_avg", (Some(value), Some(weight), None), _) if clauses.is_plain() => {
                let value = self.number(name, value, span)?;
                let weight = where_there(vec![is_there(value.clone())], self.number(name, weight, span)?);
                let product = ExprKind::Arithmetic {
                    op: plan::Arithmetic::Multiply,
                    left: Box::new(value),
                    right: Box::new(weight.clone()),
                    checked: true,
                };
                let product = Expr::new(product, Type::Double);
                let call = sum_like(Aggregate::Sum, product, clauses.filter.clone());
                let others = vec![sum_like(Aggregate::Sum, weight, clauses.filter)];
                Ok(AggregateArguments { call, others, result: Packed::Quotient })
            }
            ("approx_top_k", (Some(value), Some(wanted), None), _) => {
                let value = typed_null(value.settled());
                let wanted = self.constant_count(name, wanted)?;
                let ty = Type::list(value.ty)?;
                let count = Expr::literal(Value::I64(wanted), Type::BigInt);
                let filter = clauses.filter.clone();
                let mut made = folded("list_top", value, ty, clauses.distinct, clauses.filter, vec![])?;
                made.others.push(extreme(Aggregate::Min, count, filter));
                Ok(made)
            }
            ("decimal_average", (Some(value), None, _), _) if value.ty().is_decimal() => {
                let (value, ty) = (value.expr.clone(), value.ty());
                folded("list_decimal_average", value, ty, clauses.distinct, clauses.filter, vec![])
            }
            ("lttb", (Some(x), Some(y), Some(wanted)), 3) => self.downsampled(x, y, wanted, clauses, span),
            ("bitstring_agg", (Some(value), None, _), _) => self.bit_string(value, None, clauses, span),
            ("bitstring_agg", (Some(value), Some(least), Some(greatest)), 3) => {
                self.bit_string(value, Some([least, greatest]), clauses, span)
            }
            ("histogram" | "histogram_exact", (Some(value), Some(bins), None), _) => {
                self.by_bins(name, value, bins, clauses, span)
            }
            _ => {
                let message = format!("function {name} does not take these arguments and clauses");
                let error = Error::new(SqlState::UndefinedFunction, message).with_hint(format!(
                    "SELECT usage FROM quickstep_functions() WHERE function_name = '{name}'"
                ));
                Err(place::at(error, self.text(), span))
            }
        }
    }

    /// `lttb(x, y, n)`: the points that show the line best, in the order of the keys.
    fn downsampled(
        &mut self,
        x: Bound,
        y: Bound,
        wanted: Bound,
        clauses: Clauses,
        span: Span,
    ) -> Result<AggregateArguments> {
        let count = self.constant_count("lttb", wanted)?;
        if count < 2 {
            let error =
                Error::new(SqlState::InvalidParameterValue, "lttb takes a number of points of at least 2");
            return Err(place::at(error, self.text(), span));
        }
        let moment = |ty: Type| ty == Type::Date || ty == Type::TimestampTz || ty.in_microseconds() != ty;
        let x = match x.ty() {
            ty if moment(ty) || ty == Type::Timestamp || ty == Type::Real => x.expr,
            _ => self.number("lttb", x, span)?,
        };
        let y = if y.ty() == Type::Real { y.expr } else { self.number("lttb", y, span)? };
        let point = Type::structure(vec![("x".into(), x.ty), ("y".into(), y.ty)])?;
        let there = vec![is_there(x.clone()), is_there(y.clone())];
        let points = where_there(there, call("struct_pack", vec![x, y], point));
        let filter = clauses.filter.clone();
        let ty = Type::list(point)?;
        let mut made = folded("list_lttb", points, ty, clauses.distinct, clauses.filter, clauses.keys)?;
        let count = Expr::literal(Value::I64(count), Type::BigInt);
        made.others.push(extreme(Aggregate::Min, count, filter));
        Ok(made)
    }

    /// A number as a float.
    fn number(&self, name: &str, bound: Bound, span: Span) -> Result<Expr> {
        let ty = bound.ty();
        if ty.is_numeric() || ty == Type::Null {
            return Ok(cast(bound.expr, Type::Double));
        }
        let shown = if bound.untyped { "unknown".to_owned() } else { ty.to_string() };
        let error =
            Error::new(SqlState::UndefinedFunction, format!("function {name}({shown}) does not exist"))
                .with_hint("it takes numbers; an explicit cast may help");
        Err(place::at(error, self.text(), span))
    }

    fn constant_count(&self, name: &str, bound: Bound) -> Result<i64> {
        let place = bound.span;
        match crate::bind::expression::fold::fold(bound.expr).as_literal().and_then(Value::as_i64) {
            Some(count) if (1..TOP_MAX).contains(&count) => Ok(count),
            _ => {
                let message = format!("{name} takes a constant number of values from 1 to {}", TOP_MAX - 1);
                Err(place::at(Error::new(SqlState::InvalidParameterValue, message), self.text(), place))
            }
        }
    }

    fn bit_string(
        &mut self,
        value: Bound,
        bounds: Option<[Bound; 2]>,
        clauses: Clauses,
        span: Span,
    ) -> Result<AggregateArguments> {
        let text = self.text();
        let not_whole = |ty: Type, span: Span| {
            let error = Error::new(SqlState::UndefinedFunction, format!("bitstring_agg does not take {ty}"))
                .with_hint("it takes integers, and the least and the greatest of them as constants");
            place::at(error, text, span)
        };
        let ty = value.ty();
        if !(ty.is_integer() || ty == Type::Null) {
            return Err(not_whole(ty, span));
        }
        let value = if ty == Type::Null { cast(value.expr, Type::Integer) } else { value.expr };
        let filter = clauses.filter.clone();
        let mut made = folded("list_bitstring", value, Type::BITS, clauses.distinct, clauses.filter, vec![])?;
        for bound in bounds.into_iter().flatten() {
            let (given, place) = (bound.ty(), bound.span);
            let bound =
                coerce::implicit(bound, Type::HugeInt, text)?.ok_or_else(|| not_whole(given, place))?;
            let bound = crate::bind::expression::fold::fold(bound);
            if bound.as_literal().is_none() {
                let error = Error::unsupported("the bounds of bitstring_agg must be constants");
                return Err(place::at(error, text, place));
            }
            made.others.push(extreme(Aggregate::Min, bound, filter.clone()));
        }
        Ok(made)
    }

    fn by_bins(
        &mut self,
        name: &str,
        value: Bound,
        bins: Bound,
        clauses: Clauses,
        span: Span,
    ) -> Result<AggregateArguments> {
        let text = self.text();
        let value = typed_null(value.settled());
        let of = value.ty;
        if other_bin(of).is_none() {
            let error = Error::unsupported(format!("{name} with bins does not take values of type {of}"))
                .with_hint("it takes numbers, texts, dates, timestamps, and lists and structs of them");
            return Err(place::at(error, text, span));
        }
        let (given, place) = (bins.ty(), bins.span);
        if !(given.element().is_some() || given == Type::Null || bins.untyped) {
            let error =
                Error::new(SqlState::UndefinedFunction, format!("{name} takes bins as a list, not {given}"))
                    .with_hint(format!("write {name}(value, [10, 20, 30])"));
            return Err(place::at(error, text, place));
        }
        let bins = explicit_cast(bins, Type::list(of)?, false).placed(text, place)?;
        let filter = clauses.filter.clone();
        let function = if name == "histogram" { "list_bins" } else { "list_bins_exact" };
        let map = Type::map(of, Type::BigInt)?;
        let mut made = folded(function, value, map, clauses.distinct, clauses.filter, vec![])?;
        for function in [Aggregate::Min, Aggregate::Max] {
            made.others.push(extreme(function, bins.clone(), filter.clone()));
        }
        made.others.push(extreme(
            Aggregate::Min,
            Expr::literal(other_bin(of).unwrap_or(Value::Null), of),
            filter,
        ));
        Ok(made)
    }

    /// `is_histogram_other_bin(bin)`.
    pub(crate) fn is_other_bin(&self, bin: Bound) -> Result<Expr> {
        let span = bin.span;
        let bin = bin.settled();
        if bin.ty == Type::Null {
            return Ok(crate::bind::null_of(Type::Boolean));
        }
        let Some(other) = other_bin(bin.ty) else {
            return Ok(where_there(vec![is_there(bin)], Expr::boolean(false)));
        };
        let other = Bound::typed(Expr::literal(other, bin.ty), span);
        crate::bind::expression::operator::comparison(
            types::Comparison::Equal,
            Bound::typed(bin, span),
            other,
            self.text(),
        )
    }
}

impl Clauses {
    fn is_plain(&self) -> bool {
        !self.distinct && self.keys.is_empty()
    }
}

fn sum_like(function: Aggregate, argument: Expr, filter: Option<Expr>) -> AggregateCall {
    AggregateCall { function, argument: Some(argument), distinct: false, filter, ty: Type::Double }
}

/// The least or the greatest of what is the same for all rows of a group.
fn extreme(function: Aggregate, argument: Expr, filter: Option<Expr>) -> AggregateCall {
    let ty = argument.ty;
    AggregateCall { function, argument: Some(argument), distinct: false, filter, ty }
}

/// A function of the list of all values that are not NULL, in the order of the keys.
pub(crate) fn folded(
    function: &'static str,
    value: Expr,
    ty: Type,
    distinct: bool,
    filter: Option<Expr>,
    keys: Vec<SortKey>,
) -> Result<AggregateArguments> {
    let list = Type::list(value.ty)?;
    let there = vec![is_there(value.clone())];
    let ordered = !keys.is_empty();
    let slot = call("list_slot", vec![value], Type::Bytea);
    let argument = where_there(there, if ordered { ordered_row(keys, slot) } else { slot });
    let of = argument.ty;
    let call = AggregateCall {
        function: Aggregate::StringAgg { delimiter: "".into(), ordered, most: None },
        argument: Some(argument),
        distinct,
        filter,
        ty: of,
    };
    Ok(AggregateArguments::of(call, Packed::Fold { list, function, ty }))
}

/// The function of a list for an aggregate of strings of bits, or of integers that no state holds.
pub(crate) fn of_wide(function: &Aggregate, argument: Type) -> Option<&'static str> {
    let bits = argument.is_bits() || matches!(argument, Type::UBigInt | Type::HugeInt | Type::UHugeInt);
    Some(match function {
        Aggregate::BitAnd if bits => "list_bit_and",
        Aggregate::BitOr if bits => "list_bit_or",
        Aggregate::BitXor if bits => "list_bit_xor",
        Aggregate::Sum if argument.is_wide_integer() => "list_wide_sum",
        _ => return None,
    })
}

/// The function of a list that adds up floats in its order, where that shows in the aggregate: sums overflow, or
/// keep what is small, in one order and not in another. Whole numbers and decimals are added up exactly, and what has
/// no sum does not depend on the order.
pub(crate) fn in_order(function: &Aggregate, argument: Type) -> Option<&'static str> {
    match function {
        Aggregate::Sum if argument.is_float() => Some("list_sum"),
        Aggregate::Avg if argument.is_float() => Some("list_avg"),
        Aggregate::Product if argument.is_numeric() => Some("list_product"),
        _ => None,
    }
}
