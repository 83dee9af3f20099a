//! Grouping and aggregates: the rows of each group are collected first, then every aggregate goes through them.
//!
//! Aggregates are computed by their definitions, without partial states: this code is the judge of the engine's own,
//! so being evidently right comes before speed. `finish` has the values of one group, without NULLs and with DISTINCT
//! applied; window calls use it too.

use std::collections::{BTreeMap, BTreeSet};

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, Pairing, StateForm};
use types::{Error, Result, SqlState, Type, Value, cast, decimal};

use crate::Context;
use crate::arithmetic;
use crate::relation::{Relation, Row, bind, bind_all};
use crate::rows;

/// An aggregate with its argument and filter over positions.
struct Call<'p> {
    call: &'p AggregateCall,
    argument: Option<Expr>,
    filter: Option<Expr>,
}

impl Context<'_> {
    /// A row for each group, in the order of the keys: the keys, then the aggregates. Without keys there is one
    /// group, even over no rows.
    pub fn aggregate(
        &self,
        input: Relation,
        groups: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
    ) -> Result<Relation> {
        let keys = bind_all(groups.iter().map(|(_, e)| e), &input.columns)?;
        let bind_one = |e: &Option<Expr>| e.as_ref().map(|e| bind(e, &input.columns)).transpose();
        let calls = aggregates
            .iter()
            .map(|(_, call)| {
                Ok(Call { call, argument: bind_one(&call.argument)?, filter: bind_one(&call.filter)? })
            })
            .collect::<Result<Vec<Call<'_>>>>()?;
        let mut by_key: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        if groups.is_empty() {
            by_key.insert(vec![], vec![]);
        }
        for row in &input.rows {
            by_key.entry(self.evaluate_all(&keys, row)?).or_default().push(row);
        }
        let mut rows = Vec::with_capacity(by_key.len());
        for (key, members) in by_key {
            let mut row = key;
            for call in &calls {
                row.push(self.aggregate_one(call, &members)?);
            }
            rows.push(row);
        }
        let ids = groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id));
        Ok(Relation { columns: ids.collect(), rows })
    }

    fn aggregate_one(&self, call: &Call<'_>, members: &[&Row]) -> Result<Value> {
        self.spend(members.len())?;
        let mut values = Vec::new();
        let mut rows = 0;
        for row in members {
            if let Some(filter) = &call.filter
                && !self.is_true(filter, row)?
            {
                continue;
            }
            rows += 1;
            if let Some(argument) = &call.argument {
                values.push(self.evaluate(argument, row)?);
            }
        }
        if call.call.function == AggregateFunction::CountStar {
            return Ok(Value::I64(rows));
        }
        if call.call.function == AggregateFunction::AnyValue {
            // The column depends on the group, so any value of it will do: the first that is not NULL.
            return Ok(values.iter().find(|v| !v.is_null()).cloned().unwrap_or(Value::Null));
        }
        if call.call.function == AggregateFunction::SingleValue {
            return match values.len() {
                0 | 1 => Ok(values.pop().unwrap_or(Value::Null)),
                _ => Err(Error::new(
                    SqlState::CardinalityViolation,
                    "more than one row returned by a subquery used as an expression",
                )),
            };
        }
        values.retain(|v| !v.is_null());
        if call.call.distinct {
            values = values.into_iter().collect::<BTreeSet<Value>>().into_iter().collect();
        }
        let from = call.argument.as_ref().map_or(Type::Null, |a| a.ty);
        finish(&call.call.function, &values, from, call.call.ty)
    }
}

/// The aggregate of values of type `from` that are not NULL.
pub(crate) fn finish(function: &AggregateFunction, values: &[Value], from: Type, ty: Type) -> Result<Value> {
    use AggregateFunction as A;
    let none_is_null = |value: Option<Value>| Ok(value.unwrap_or(Value::Null));
    match function {
        A::CountStar | A::Count => Ok(Value::I64(values.len() as i64)),
        A::Min => none_is_null(values.iter().min().cloned()),
        A::Max => none_is_null(values.iter().max().cloned()),
        A::AnyValue | A::SingleValue => none_is_null(values.first().cloned()),
        A::BoolAnd if values.is_empty() => Ok(Value::Null),
        A::BoolAnd => Ok(Value::Bool(values.iter().all(|v| v.as_bool() == Some(true)))),
        A::BoolOr if values.is_empty() => Ok(Value::Null),
        A::BoolOr => Ok(Value::Bool(values.iter().any(|v| v.as_bool() == Some(true)))),
        A::Arrival { last } => {
            none_is_null(if *last { values.last().cloned() } else { values.first().cloned() })
        }
        A::State(_) if values.is_empty() => Ok(Value::Null),
        A::State(form) => state(*form, values, from),
        A::Paired(pairing) => none_is_null(paired(*pairing, values).map(Value::F64)),
        A::StringAgg { delimiter, ordered: true, .. } => {
            let mut rows: Vec<&[u8]> = values.iter().filter_map(Value::as_bytes).collect();
            rows.sort_unstable();
            let texts: Vec<&[u8]> = rows.into_iter().map(rows::carried).collect();
            let text = texts.join(delimiter.as_bytes());
            none_is_null((!values.is_empty()).then(|| Value::Bytes(text.into())))
        }
        A::StringAgg { delimiter, .. } => {
            let texts: Vec<&[u8]> = values.iter().filter_map(Value::as_bytes).collect();
            let text = texts.join(delimiter.as_bytes());
            none_is_null((!values.is_empty()).then(|| Value::Bytes(text.into())))
        }
        A::Entropy => Ok(Value::F64(entropy(values))),
        // Exact: the sketch is, too, for as few values as this is asked about.
        A::ApproxCountDistinct => Ok(Value::I64(values.iter().collect::<BTreeSet<_>>().len() as i64)),
        A::BitAnd
        | A::BitOr
        | A::BitXor
        | A::Product
        | A::Skewness
        | A::Kurtosis
        | A::KurtosisPop
        | A::QuantileCont { .. }
        | A::QuantileDisc { .. }
        | A::Mode
            if values.is_empty() =>
        {
            Ok(Value::Null)
        }
        A::BitAnd | A::BitOr | A::BitXor => {
            let mut integers = values.iter().filter_map(Value::as_i128).map(|v| v as i64);
            let first = integers.next().unwrap_or_default();
            let result = integers.fold(first, |a, b| match function {
                A::BitAnd => a & b,
                A::BitOr => a | b,
                _ => a ^ b,
            });
            arithmetic::whole(i128::from(result), ty)
        }
        A::Product => Ok(Value::F64(values.iter().filter_map(Value::as_f64).product())),
        A::Skewness | A::Kurtosis | A::KurtosisPop => {
            let numbers = numbers(values, from)?;
            none_is_null(shape(function, &numbers).map(Value::F64))
        }
        A::QuantileDisc { fraction, descending } => {
            let ordered = in_order(values, *descending);
            let reached = (1..=ordered.len())
                .find(|n| *n as f64 >= fraction.value() * ordered.len() as f64)
                .unwrap_or(ordered.len());
            Ok(ordered[reached - 1].clone())
        }
        A::QuantileCont { fraction, descending } => {
            let ordered = in_order(values, *descending);
            let place = fraction.value() * (ordered.len() as f64 - 1.0);
            let number = |at: f64| ordered[at as usize].as_f64().unwrap_or_default();
            let (from, to, part) = (number(place.floor()), number(place.ceil()), place - place.floor());
            Ok(Value::F64(if part == 0.0 || from == to { from } else { from + part * (to - from) }))
        }
        A::Mode => {
            let counted = frequencies(values);
            let most = counted.values().max().copied().unwrap_or(0);
            none_is_null(counted.iter().find(|(_, n)| **n == most).map(|(v, _)| (*v).clone()))
        }
        A::Sum if values.is_empty() => Ok(Value::Null),
        A::Sum if from.is_float() => {
            let total = float_sum(values)?;
            Ok(if ty == Type::Real { Value::F32(total as f32) } else { Value::F64(total) })
        }
        A::Sum => arithmetic::whole(exact_sum(values)?, ty),
        A::Avg if values.is_empty() => Ok(Value::Null),
        A::Avg => average(values, from, ty),
        A::VarPop | A::VarSamp | A::StddevPop | A::StddevSamp => {
            let numbers = numbers(values, from)?;
            none_is_null(spread(function, &numbers).map(Value::F64))
        }
    }
}

fn in_order(values: &[Value], descending: bool) -> Vec<&Value> {
    let mut ordered: Vec<&Value> = values.iter().collect();
    ordered.sort();
    if descending {
        ordered.reverse();
    }
    ordered
}

/// The mean of some values: exact where they are.
fn average(values: &[Value], from: Type, ty: Type) -> Result<Value> {
    let count = values.len() as i128;
    if from.is_float() {
        return Ok(Value::F64(float_sum(values)? / count as f64));
    }
    let total = exact_sum(values)?;
    match ty {
        Type::Decimal { scale, .. } => {
            let quotient = arithmetic::divide_decimal(total, from.scale(), count, 0, scale)
                .ok_or_else(|| Error::out_of_range(&ty))?;
            arithmetic::whole(quotient, ty)
        }
        _ => Ok(Value::F64(total as f64 / count as f64 / decimal::power_of_ten(from.scale()) as f64)),
    }
}

/// Variance or standard deviation; nothing of too few values.
fn spread(function: &AggregateFunction, numbers: &[f64]) -> Option<f64> {
    use AggregateFunction as A;
    let sample = matches!(function, A::VarSamp | A::StddevSamp);
    let divisor = numbers.len() as f64 - if sample { 1.0 } else { 0.0 };
    if divisor <= 0.0 {
        return None;
    }
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / divisor;
    let root = matches!(function, A::StddevPop | A::StddevSamp);
    Some(if root { variance.sqrt() } else { variance })
}

fn frequencies(values: &[Value]) -> BTreeMap<&Value, usize> {
    let mut counted = BTreeMap::new();
    for value in values {
        *counted.entry(value).or_insert(0) += 1;
    }
    counted
}

fn entropy(values: &[Value]) -> f64 {
    let shares = frequencies(values).into_values().map(|n| n as f64 / values.len() as f64);
    shares.map(|share| -share * share.log2()).sum::<f64>().max(0.0)
}

/// Skewness and kurtosis by their definitions; nothing of too few values, or of equal ones.
fn shape(function: &AggregateFunction, numbers: &[f64]) -> Option<f64> {
    use AggregateFunction as A;
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let power = |exponent: i32| numbers.iter().map(|x| (x - mean).powi(exponent)).sum::<f64>() / n;
    let variance = power(2);
    let least = match function {
        A::KurtosisPop => 2.0,
        A::Skewness => 3.0,
        _ => 4.0,
    };
    if n < least || variance == 0.0 {
        return None;
    }
    let ratio = power(4) / (variance * variance);
    Some(match function {
        A::Skewness => (n * (n - 1.0)).sqrt() / (n - 2.0) * power(3) / variance.powf(1.5),
        A::KurtosisPop => ratio - 3.0,
        _ => (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * ratio - 3.0 * (n - 1.0)),
    })
}

fn number(value: &Value, from: Type) -> Result<f64> {
    cast::cast_value(value, from, Type::Double)?
        .as_f64()
        .ok_or_else(|| Error::internal("a number without a value"))
}

/// The numbers of an aggregate's argument, which may be states, too.
fn numbers(values: &[Value], from: Type) -> Result<Vec<f64>> {
    if from != Type::Bytea {
        return values.iter().map(|v| number(v, from)).collect();
    }
    let of_state = |state: &[u8]| state.as_chunks::<8>().0.iter().map(|n| f64::from_le_bytes(*n)).collect();
    let states = values.iter().filter_map(Value::as_bytes);
    Ok(states.flat_map(|state| -> Vec<f64> { of_state(state) }).collect())
}

/// A state is all the values, one behind the other: what is made of it is made by the definition.
fn state(form: StateForm, values: &[Value], from: Type) -> Result<Value> {
    let bytes: Vec<u8> = match form {
        StateForm::Pairs => values.iter().filter_map(Value::as_bytes).flatten().copied().collect(),
        StateForm::Moments | StateForm::HigherMoments => {
            numbers(values, from)?.into_iter().flat_map(f64::to_le_bytes).collect()
        }
    };
    Ok(Value::Bytes(bytes.into()))
}

fn float_sum(values: &[Value]) -> Result<f64> {
    let mut total = 0.0;
    let mut finite = true;
    for value in values {
        let value = value.as_f64().ok_or_else(|| Error::internal("a float without a value"))?;
        finite &= value.is_finite();
        total += value;
    }
    if finite && !f64::is_finite(total) {
        return Err(Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow"));
    }
    Ok(total)
}

fn exact_sum(values: &[Value]) -> Result<i128> {
    let mut total = 0i128;
    for value in values {
        let value = value.as_i128().ok_or_else(|| Error::internal("a number without a value"))?;
        total = total
            .checked_add(value)
            .ok_or_else(|| Error::new(SqlState::NumericValueOutOfRange, "sum out of range"))?;
    }
    Ok(total)
}

/// By the definitions, in two passes: means first, then distances.
fn paired(pairing: Pairing, values: &[Value]) -> Option<f64> {
    let states = values.iter().filter_map(Value::as_bytes);
    let pairs: Vec<(f64, f64)> =
        states.flat_map(|pairs| pairs.as_chunks::<16>().0).filter_map(|pair| rows::pair_of(pair)).collect();
    let count = pairs.len() as f64;
    if pairs.is_empty() {
        return None;
    }
    let mean_y = pairs.iter().map(|(y, _)| y).sum::<f64>() / count;
    let mean_x = pairs.iter().map(|(_, x)| x).sum::<f64>() / count;
    let sum =
        |term: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(y, x)| term(y - mean_y, x - mean_x)).sum::<f64>();
    let (sxx, syy, sxy) = (sum(&|_, x| x * x), sum(&|y, _| y * y), sum(&|y, x| x * y));
    match pairing {
        Pairing::Corr => (sxx > 0.0 && syy > 0.0).then(|| sxy / (sxx * syy).sqrt()),
        Pairing::CovarPop => Some(sxy / count),
        Pairing::CovarSamp => (pairs.len() > 1).then(|| sxy / (count - 1.0)),
        Pairing::Slope => (sxx > 0.0).then(|| sxy / sxx),
        Pairing::Intercept => (sxx > 0.0).then(|| mean_y - mean_x * sxy / sxx),
        Pairing::R2 if syy == 0.0 => (sxx > 0.0).then_some(1.0),
        Pairing::R2 => (sxx > 0.0).then(|| sxy * sxy / (sxx * syy)),
        Pairing::AvgX => Some(mean_x),
        Pairing::AvgY => Some(mean_y),
        Pairing::Sxx => Some(sxx),
        Pairing::Syy => Some(syy),
        Pairing::Sxy => Some(sxy),
    }
}
