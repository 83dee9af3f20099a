//! `generate_series` and `range` in FROM: of constants a source of their own, which makes rows when they are asked
//! for; of columns of the relations before them, the list of the same name, unnested row by row.
//!
//! Called by `from` before other table functions. Parameters without a type take the one that the other arguments ask
//! for; a step in quotes between moments is an interval.

use std::rc::Rc;

use plan::{Arithmetic, LogicalPlan, ScanSource, Series};
use syntax::Span;
use syntax::tree;
use types::interval::Interval;
use types::{Error, Result, SqlState, Type, Value, Zone, zone};

use crate::bind::expression::coerce::{Bound, read_literal};
use crate::bind::expression::{Clause, ExprBinder, operator};
pub(crate) use crate::bind::function::named::series_name;
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation};

/// Parameters of a series without a type of their own are moments and a step where another argument is a moment, and
/// whole numbers elsewhere.
fn typed_parameters(bound: Vec<Bound>, text: &str) -> Result<Vec<Bound>> {
    let is_moment = |ty: Type| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
    let moment = bound.iter().map(Bound::ty).find(|ty| is_moment(*ty));
    let typed = |(at, argument): (usize, Bound)| {
        if !argument.untyped || argument.expr.as_parameter().is_none() {
            return Ok(argument);
        }
        let ty = match (moment, at) {
            (None, _) => Type::BigInt,
            (Some(_), 2) => Type::Interval,
            (Some(moment), _) => moment,
        };
        let span = argument.span;
        Ok(Bound::typed(read_literal(&argument, ty, text)?, span))
    };
    bound.into_iter().enumerate().map(typed).collect()
}

/// Steps by calendar months, at most: more than a timestamp has months.
const MONTHS_MAX: usize = 10_000_000;

type Constants = Vec<(Value, Type)>;

impl<'a> Binder<'a> {
    /// The relation, and whether it uses columns of `scope`, which are those before it.
    pub(crate) fn series(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        with_ordinality: bool,
        scope: Rc<Scope>,
        span: Span,
    ) -> Result<(Relation, bool)> {
        let Ok(given) = self.positional(arguments) else {
            return Err(self.error_at(wrong_arguments(function), span));
        };
        let constants: Result<Constants> = given.iter().map(|e| self.constant(e)).collect();
        let not_constant = match constants {
            Ok(constants) => {
                let relation = self.constant_series(function, constants);
                let relation = relation.map_err(|e| self.error_at(e, span))?;
                return Ok((if with_ordinality { self.with_ordinality(relation) } else { relation }, false));
            }
            Err(error) => error,
        };
        let mut binder = ExprBinder::new(self, scope, Clause::Argument);
        let bound = given.iter().map(|e| binder.bind(e)).collect::<Result<Vec<_>>>();
        // Without columns around, the first complaint is the better one.
        let Ok(bound) = bound else { return Err(not_constant) };
        let bound = typed_parameters(bound, binder.binder.text)?;
        let list = binder.nested_call(function, &bound, span)?;
        if !binder.pending.is_empty() {
            let error =
                Error::unsupported("a subquery in the argument of a function in FROM is not supported");
            return Err(self.error_at(error, span));
        }
        let Some(list) = list else { return Err(self.error_at(wrong_arguments(function), span)) };
        crate::bind::check_depth(&list)?;
        let id = self.columns.add(function, list.ty.element().unwrap_or(Type::Null), true);
        let ordinality = with_ordinality.then(|| self.columns.add("ordinality", Type::BigInt, true));
        let number = ordinality.map(|id| ("ordinality".into(), id));
        let columns = [(function.into(), id)].into_iter().chain(number).collect();
        Ok((Relation { plan: crate::bind::from::unnesting::one(list, id, ordinality), columns }, true))
    }

    fn constant_series(&mut self, function: &str, mut given: Constants) -> Result<Relation> {
        // A single number is where it ends.
        if let [(end, ty)] = given.as_slice()
            && ty.is_integer()
        {
            given = vec![(Value::I32(0), Type::Integer), (end.clone(), *ty)];
        }
        if !(2..=3).contains(&given.len()) {
            return Err(wrong_arguments(function));
        }
        if given.iter().any(|(value, _)| value.is_null()) {
            return Ok(self.no_series(function, Type::Integer));
        }
        let exclusive = function == "range";
        // What is quoted is what the others ask for: a moment beside one, a step of time behind it, a number elsewhere.
        let moment = |ty: &Type| match ty {
            Type::Date | Type::Timestamp => Some(Type::Timestamp),
            Type::TimestampTz => Some(Type::TimestampTz),
            _ => None,
        };
        let between = given.iter().take(2).find_map(|(_, ty)| moment(ty));
        let numbers = given.iter().any(|(_, ty)| ty.is_integer());
        for (at, (value, ty)) in given.iter_mut().enumerate().filter(|(_, (_, ty))| ty.is_text()) {
            let to = match (between, at) {
                (Some(_), 2) => Type::Interval,
                (Some(moment), _) => moment,
                (None, _) if numbers => Type::BigInt,
                (None, _) => continue,
            };
            *value = types::cast::cast_value(value, *ty, to)?;
            *ty = to;
        }
        for (value, ty) in given.iter_mut().filter(|(_, ty)| ty.is_timestamp_of_unit()) {
            *value = types::cast::cast_value(value, *ty, ty.in_microseconds())?;
            *ty = ty.in_microseconds();
        }
        let types: Vec<Type> = given.iter().map(|(_, ty)| *ty).collect();
        let whole = |at: usize| given.get(at).and_then(|(value, _)| value.as_i128());
        let is_moment = |ty: &Type| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
        if types.iter().all(|ty| ty.is_integer()) {
            let (Some(first), Some(end)) = (whole(0), whole(1)) else {
                return Err(wrong_arguments(function));
            };
            let step = whole(2).unwrap_or(1);
            let wide = types.iter().any(|ty| !Type::Integer.holds_integers_of(*ty));
            let ty = if wide { Type::BigInt } else { Type::Integer };
            return self.linear(function, (first, end, step), exclusive, ty);
        }
        if types.iter().all(|ty| ty.is_integer() || ty.is_decimal()) && !exclusive {
            return self.decimal_series(function, &given);
        }
        if let [from, to, step] = types.as_slice()
            && is_moment(from)
            && is_moment(to)
            && step.is_interval()
        {
            let has_zone = *from == Type::TimestampTz || *to == Type::TimestampTz;
            let ty = if has_zone { Type::TimestampTz } else { Type::Timestamp };
            let micros = |at: usize| {
                let moment = types::cast::cast_value(&given[at].0, types[at], ty);
                moment.map(|m| m.as_i64().unwrap_or_default()).map_err(|_| wrong_arguments(function))
            };
            let direction = Interval::of_kind(&given[2].0, *step)?.key().signum() as i64;
            if (micros(1)? as i128 - micros(0)? as i128).signum() as i64 * direction < 0 {
                return Ok(self.no_series(function, ty));
            }
            if types::datetime::is_infinite(micros(0)?) || types::datetime::is_infinite(micros(1)?) {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    "a series of moments begins and ends with finite ones",
                ));
            }
            // Where a day may have 23 hours, days are counted by the clock.
            let zone = if has_zone { zone::current() } else { Zone::Utc };
            let by = Interval::of_kind(&given[2].0, *step)?;
            // A day without a zone is 24 hours.
            let exact = by.months == 0 && (zone == Zone::Utc || by.days == 0);
            if exact && let Some(by) = by.day_time() {
                let ends = (i128::from(micros(0)?), i128::from(micros(1)?), i128::from(by));
                return self.linear(function, ends, exclusive, ty);
            }
            let next = |moment: i64| {
                let moved = zone.plus_days(zone.plus_months(moment, by.months)?, i64::from(by.days))?;
                moved.checked_add(by.micros)
            };
            let sign = by.key().signum() as i64;
            return self.by_calendar(function, (micros(0)?, micros(1)?, sign), exclusive, ty, next);
        }
        Err(wrong_arguments(function))
    }

    /// Decimals: whole numbers of the last digit that any of them has.
    fn decimal_series(&mut self, function: &str, given: &[(Value, Type)]) -> Result<Relation> {
        let scale = given.iter().map(|(_, ty)| ty.scale()).max().unwrap_or(0);
        let wide = || {
            Error::new(
                SqlState::NumericValueOutOfRange,
                format!("{function} leaves BIGINT in its last digit"),
            )
        };
        let mut steps = Vec::with_capacity(3);
        for (value, ty) in given {
            let unscaled = value.as_i128().and_then(|v| types::decimal::rescale(v, ty.scale(), scale));
            steps.push(unscaled.and_then(|v| i64::try_from(v).ok()).map(i128::from).ok_or_else(wide)?);
        }
        let step = steps.get(2).copied().unwrap_or(types::decimal::power_of_ten(scale));
        let relation = self.linear(function, (steps[0], steps[1], step), false, Type::BigInt)?;
        let Some((_, whole)) = relation.columns.first().cloned() else {
            return Err(Error::internal("a series without a column"));
        };
        let unit = crate::bind::expression::literal::decimal_literal(1, scale);
        let number = |expr| Bound::typed(expr, Span::default());
        let expr =
            operator::arithmetic(Arithmetic::Multiply, number(self.column(whole)), number(unit), self.text)?;
        let id = self.columns.add(function, expr.ty, false);
        let plan = LogicalPlan::Project { input: Box::new(relation.plan), expressions: vec![(id, expr)] };
        Ok(Relation { plan, columns: vec![(function.into(), id)] })
    }

    fn linear(
        &mut self,
        function: &str,
        (first, end, step): (i128, i128, i128),
        exclusive: bool,
        ty: Type,
    ) -> Result<Relation> {
        let last = if exclusive { end - step.signum() } else { end };
        if step == 0 {
            return Err(zero_step());
        }
        if (last - first).signum() * step.signum() < 0 {
            return Ok(self.no_series(function, ty));
        }
        let series = Series::to(first, last, step, ty)
            .ok_or_else(|| Error::new(SqlState::NumericValueOutOfRange, format!("{function} leaves {ty}")))?;
        let id = self.columns.add(function, ty, false);
        let plan =
            LogicalPlan::Scan { source: ScanSource::Series(series), columns: vec![(id, 0)], filters: vec![] };
        Ok(Relation { plan, columns: vec![(function.into(), id)] })
    }

    /// Months are of different lengths, and so are days of a zone: each moment is a step after the one before, as in
    /// PostgreSQL.
    fn by_calendar(
        &mut self,
        function: &str,
        (first, end, step): (i64, i64, i64),
        exclusive: bool,
        ty: Type,
        next: impl Fn(i64) -> Option<i64>,
    ) -> Result<Relation> {
        if step == 0 {
            return Err(zero_step());
        }
        let (mut at, mut rows) = (Some(first), Vec::new());
        while let Some(moment) = at.filter(|_| rows.len() < MONTHS_MAX) {
            let over = if step > 0 { moment > end } else { moment < end };
            if over || (exclusive && moment == end) {
                break;
            }
            rows.push(vec![Value::I64(moment)]);
            at = next(moment);
        }
        if rows.len() >= MONTHS_MAX {
            let error = Error::unsupported(format!("{function} by months is of at most {MONTHS_MAX} rows"));
            return Err(error.with_hint("steps of days or times have no such bound"));
        }
        let id = self.columns.add(function, ty, false);
        Ok(Relation {
            plan: LogicalPlan::Values { columns: vec![id], rows },
            columns: vec![(function.into(), id)],
        })
    }

    fn no_series(&mut self, function: &str, ty: Type) -> Relation {
        let id = self.columns.add(function, ty, false);
        let plan = LogicalPlan::Values { columns: vec![id], rows: vec![] };
        Relation { plan, columns: vec![(function.into(), id)] }
    }
}

fn zero_step() -> Error {
    Error::new(SqlState::InvalidParameterValue, "step size cannot equal zero")
}

fn wrong_arguments(function: &str) -> Error {
    let error = format!("{function} takes one to three whole numbers, or two timestamps and an interval");
    Error::new(SqlState::UndefinedFunction, error)
        .with_hint(format!("for example {function}(1, 10, 2) or {function}(DATE '2024-01-01', DATE '2024-02-01', INTERVAL '1 day')"))
}
