//! `fill(value [ORDER BY key]) OVER (...)`: NULLs replaced by what lies on the line through their neighbours.
//!
//! The call is written out as window calls that exist and an expression over them, and bound in its place: the
//! nearest two rows before and the nearest two after that have a value and a finite key. Between two of them the
//! value is interpolated, outside it is extrapolated, beside a single one it is that one's. Values that are there
//! stay as they are; a row without a usable key, or of a partition without values, keeps its NULL, as does one whose
//! value does not fit the type. Dates lie on the line as days, timestamps as microseconds; infinite ones do not. The
//! direction of the order and the frame do not matter: a line is the same from both ends.

use syntax::Span;
use syntax::tree::{self, OrderKey};
use types::{Error, Result, SqlState, Type};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::place;

/// Beyond every finite number of DOUBLE PRECISION.
const FINITE: &str =
    "BETWEEN -1.7976931348623157e308::DOUBLE PRECISION AND 1.7976931348623157e308::DOUBLE PRECISION";

impl<'a> ExprBinder<'_, 'a> {
    /// The call over the partitions and the order that its window has, with the names of windows put in.
    pub(super) fn fill(
        &mut self,
        call: &'a tree::Call,
        partition: &'a [tree::Expr],
        order: &'a [tree::OrderItem],
        span: Span,
    ) -> Result<Bound> {
        let text = self.binder.text;
        let wrong = |state: SqlState, message: &str| Err(place::at(Error::new(state, message), text, span));
        let arguments = call.arguments.as_ref();
        let (list, own) = arguments.map_or((&[][..], &[][..]), |a| (&a.list[..], &a.order_by[..]));
        let plain = arguments.is_some_and(|a| a.distinct.is_none() && a.limit.is_none());
        let [argument] = list else {
            return wrong(SqlState::UndefinedFunction, "fill takes one value: fill(value ORDER BY key)");
        };
        let Some(value) = self.binder.argument_value(argument).filter(|_| plain) else {
            return wrong(SqlState::UndefinedFunction, "fill takes one value: fill(value ORDER BY key)");
        };
        if call.filter.is_some() || call.nulls.is_some() {
            return wrong(SqlState::FeatureNotSupported, "fill has no FILTER and no treatment of NULLs");
        }
        let [tree::OrderItem { key: OrderKey::Expr(key), .. }] = (if own.is_empty() { order } else { own })
        else {
            return wrong(SqlState::WindowingError, "fill needs an order by one expression");
        };
        let of_value = self.bind(value)?;
        let of_key = self.bind(key)?;
        if of_value.expr.is_volatile() || of_key.expr.is_volatile() {
            return wrong(SqlState::FeatureNotSupported, "fill of volatile functions is not supported");
        }
        let ty = if of_value.is_null() { Type::Double } else { of_value.ty() };
        let Some(scale) = Scale::of(ty) else {
            return wrong(
                SqlState::UndefinedFunction,
                "the value of fill is a number, a date or a timestamp",
            );
        };
        let place = match of_key.ty() {
            key_type if is_number(key_type) || of_key.is_null() => format!("({key})::DOUBLE PRECISION"),
            Type::Date | Type::Timestamp | Type::TimestampTz => {
                format!("date_part('epoch', {key})::DOUBLE PRECISION")
            }
            _ => {
                return wrong(
                    SqlState::UndefinedFunction,
                    "the order of fill is by a number, a date or a timestamp",
                );
            }
        };
        let partition: Vec<String> = partition.iter().map(ToString::to_string).collect();
        let text = written(&value.to_string(), &key.to_string(), &place, &partition, (scale, ty));
        self.bind_inside("fill".to_owned(), format!("SELECT {text}"), span)
    }
}

fn is_number(ty: Type) -> bool {
    ty.is_integer() || matches!(ty, Type::Real | Type::Double | Type::Decimal { .. })
}

/// What values are on the line: themselves, days or microseconds.
#[derive(Clone, Copy)]
enum Scale {
    Numbers,
    Days,
    Micros,
}

impl Scale {
    fn of(ty: Type) -> Option<Scale> {
        match ty {
            ty if is_number(ty) => Some(Scale::Numbers),
            Type::Date => Some(Scale::Days),
            Type::Timestamp | Type::TimestampTz => Some(Scale::Micros),
            ty if ty.is_timestamp_of_unit() => Some(Scale::Micros),
            _ => None,
        }
    }
    /// A value as a number; NULL for what is infinite.
    fn number(self, value: &str) -> String {
        match self {
            Scale::Numbers => format!("({value})::DOUBLE PRECISION"),
            Scale::Days => format!(
                "CASE WHEN isfinite({value}) THEN (({value}) - DATE '1970-01-01')::DOUBLE PRECISION END"
            ),
            Scale::Micros => format!("epoch_us({value})::DOUBLE PRECISION"),
        }
    }
    /// The value of a number; NULL for one that the type does not hold.
    fn value(self, number: &str, ty: Type) -> String {
        let name = ty.sql_name();
        match self {
            Scale::Numbers => format!("TRY_CAST({number} AS {name})"),
            Scale::Days => format!(
                "CASE WHEN ({number}) BETWEEN -2440588 AND 2145031948 \
                 THEN DATE '1970-01-01' + CAST({number} AS INTEGER) END"
            ),
            Scale::Micros => {
                let zone = if ty == Type::TimestampTz { " AT TIME ZONE 'UTC'" } else { "" };
                format!(
                    "CASE WHEN ({number}) BETWEEN -2.1e17 AND 9.2e18 \
                     THEN TRY_CAST((make_timestamp(CAST({number} AS BIGINT)){zone}) AS {name}) END"
                )
            }
        }
    }
}

/// The expression; `place` is the key as a number.
fn written(value: &str, key: &str, place: &str, partition: &[String], (scale, ty): (Scale, Type)) -> String {
    let value_there = scale.number(value);
    let finite = match scale {
        Scale::Numbers if !ty.is_float() => String::new(),
        _ => format!(" AND {value_there} {FINITE}"),
    };
    let usable = format!("({value}) IS NOT NULL AND {place} {FINITE}{finite}");
    let partition = match partition {
        [] => String::new(),
        list => format!("PARTITION BY {} ", list.join(", ")),
    };
    // The n-th usable row behind this one, seen in that direction.
    let neighbour = |of: &str, n: u32, direction: &str| {
        format!(
            "nth_value(CASE WHEN {usable} THEN {of} END, {n}) IGNORE NULLS OVER ({partition}ORDER BY {key} {direction} \
             RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
        )
    };
    let point =
        |n: u32, direction: &str| (neighbour(place, n, direction), neighbour(&value_there, n, direction));
    let (before, further_before) = (point(1, "DESC"), point(2, "DESC"));
    let (behind, further_behind) = (point(1, "ASC"), point(2, "ASC"));
    // Halves, because the distance of two finite numbers may be none.
    let share = |a: &str, b: &str| format!("(({place} / 2 - {a} / 2) / ({b} / 2 - {a} / 2))");
    let line = |(a, at_a): &(String, String), (b, at_b): &(String, String)| {
        let share = share(a, b);
        format!("CASE WHEN {a} = {b} THEN {at_a} ELSE {at_a} * (1 - {share}) + {at_b} * {share} END")
    };
    let filled = format!(
        "CASE WHEN {before_value} IS NULL AND {further} IS NULL THEN {behind_value} \
         WHEN {before_value} IS NULL THEN {ahead} \
         WHEN {behind_value} IS NULL AND {further_back} IS NULL THEN {before_value} \
         WHEN {behind_value} IS NULL THEN {back} \
         ELSE {between} END",
        before_value = before.1,
        behind_value = behind.1,
        further = further_behind.1,
        further_back = further_before.1,
        ahead = line(&behind, &further_behind),
        back = line(&further_before, &before),
        between = line(&before, &behind),
    );
    format!(
        "CASE WHEN ({value}) IS NOT NULL THEN {value} \
         WHEN ({place} {FINITE}) IS NOT TRUE THEN NULL \
         ELSE {} END",
        scale.value(&filled, ty)
    )
}
