//! Aggregation against a naive oracle: types, NULLs, DISTINCT and FILTER, every strategy, several workers.
//!
//! A `Case` is an input, its groups and calls. `run` drives sink, step and source as segments would, with three local
//! states that take units at random; `expected` groups the rows in a map and computes each call by itself. Cases run
//! under narrowings of the strategies, so that ordered, direct, coded, hashed and partitioned groups meet the same
//! rows. Random inputs have fixed seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plan::{AggregateCall, AggregateFunction as F, Expr, OutputColumn, PhysicalNode, PhysicalPlan};
use types::{SqlState, Type, Value};
use vector::Batch;
use workorder::WorkContext;

use super::clustered::own_keys;
use super::{Aggregate, Clustered, Strategies};
use crate::context::ExecutionSettings;
use crate::hash_join::tests::{Random, Row, Side, query};
use crate::pipeline::{Flow, Local, Work};

const EVERYTHING: Strategies = Strategies {
    codes: true,
    direct: true,
    ordered: true,
    identical_runs: true,
    collects_pairs: true,
    groups_max: 1 << 16,
    merged_at_once: 1 << 14,
};
/// Tables of a few groups, everything partitioned.
const TIGHT: Strategies = Strategies { groups_max: 8, merged_at_once: 0, ..EVERYTHING };

fn strategies() -> Vec<Strategies> {
    let mut all = vec![];
    for base in [EVERYTHING, TIGHT, Strategies { merged_at_once: 0, ..EVERYTHING }] {
        all.push(base);
        all.push(Strategies { ordered: false, ..base });
        all.push(Strategies { ordered: false, direct: false, ..base });
        all.push(Strategies { ordered: false, direct: false, codes: false, ..base });
        all.push(Strategies { identical_runs: false, collects_pairs: false, ..base });
    }
    all
}

struct Case {
    input: Side,
    bounds: Option<(i128, i128)>,
    groups: Vec<usize>,
    aggregates: Vec<AggregateCall>,
}

impl Case {
    fn plan(&self) -> PhysicalPlan {
        let mut input = self.input.plan();
        if let Some(first) = input.output.first_mut() {
            first.bounds = self.bounds;
        }
        let groups: Vec<Expr> =
            self.groups.iter().map(|at| Expr::input(*at, self.input.types[*at])).collect();
        let column = |ty| OutputColumn { name: "c".into(), ty, nullable: true, bounds: None };
        let output = groups.iter().map(|g| column(g.ty)).chain(self.aggregates.iter().map(|a| column(a.ty)));
        let output = output.collect();
        let node =
            PhysicalNode::Aggregate { input: Box::new(input), groups, aggregates: self.aggregates.clone() };
        PhysicalPlan::new(node, output, 10.0)
    }
    fn run(&self, strategies: Strategies, batch_rows: usize, random: &mut Random) -> types::Result<Vec<Row>> {
        let plan = self.plan();
        let query = query(ExecutionSettings { batch_rows, ..Default::default() }, &plan);
        let aggregate = Aggregate::with_strategies(&plan, strategies)?;
        let context = WorkContext::detached();
        let work = Work { query: &query, context: &context };
        let sink = aggregate.sink();
        let mut locals: Vec<Local> = (0..3).map(|_| sink.local()).collect();
        // Units of some batches each, in order within a worker; workers take them as they come.
        let batches = self.input.batches(batch_rows, random);
        let mut at = 0;
        let mut tag = 0;
        while at < batches.len() {
            let end = (at + 1 + random.below(3) as usize).min(batches.len());
            let local = random.below(3) as usize;
            for batch in &batches[at..end] {
                sink.consume(batch.clone(), tag, &mut locals[local], &work)?;
            }
            sink.end_order(&mut locals[local], &work)?;
            at = end;
            tag += 1;
        }
        sink.finish(locals, &query)?;
        let step = aggregate.merge_step();
        for partition in 0..step.start(&query)? {
            step.run(partition, &work)?;
        }
        step.finish(&query)?;
        let source = aggregate.source();
        let mut rows = vec![];
        let mut local = source.local();
        for unit in 0..source.start(&query)? {
            source.run(unit, &mut local, &work, &mut |batch: Batch| {
                assert!(batch.rows > 0 && batch.rows <= batch_rows);
                for (column, expected) in batch.columns.iter().zip(&plan.output) {
                    assert_eq!(column.ty(), expected.ty);
                }
                rows.extend(
                    (0..batch.rows).map(|r| batch.columns.iter().map(|c| c.value(r)).collect::<Row>()),
                );
                Ok(Flow::More)
            })?;
        }
        Ok(rows)
    }
    fn expected(&self) -> BTreeMap<Row, Row> {
        let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        for row in &self.input.rows {
            groups.entry(self.groups.iter().map(|g| row[*g].clone()).collect()).or_default().push(row);
        }
        if self.groups.is_empty() {
            groups.entry(vec![]).or_default();
        }
        let calls = &self.aggregates;
        groups.into_iter().map(|(k, rows)| (k, calls.iter().map(|c| oracle(c, &rows)).collect())).collect()
    }
    fn check(&self, strategies: Strategies, batch_rows: usize, random: &mut Random) {
        let rows = self.run(strategies, batch_rows, random).unwrap_or_else(|e| panic!("{e} {strategies:?}"));
        self.compare(rows, &format!("{strategies:?} {batch_rows}"));
    }
    fn compare(&self, rows: Vec<Row>, under: &str) {
        let mut expected = self.expected();
        let seen = rows.len();
        for row in rows {
            let (key, values) = row.split_at(self.groups.len());
            let wanted = expected
                .remove(key)
                .unwrap_or_else(|| panic!("group {key:?} twice or never; {under} {seen}"));
            for ((value, wanted), call) in values.iter().zip(&wanted).zip(&self.aggregates) {
                assert!(
                    same(value, wanted),
                    "{key:?} {}{}: {value:?} is not {wanted:?}; {under}",
                    call.function.name(),
                    if call.distinct { " distinct" } else { "" },
                );
            }
        }
        assert!(expected.is_empty(), "{} groups missing of {seen}; {under}", expected.len());
    }
    /// By `Clustered`: units of `unit_rows` rows, of which two in three take their keys in order. Also the number of
    /// groups that left at the end of a unit.
    fn run_clustered(&self, unit_rows: usize, batch_rows: usize, random: &mut Random) -> (Vec<Row>, usize) {
        let plan = self.plan();
        let query = query(ExecutionSettings { batch_rows, ..Default::default() }, &plan);
        let aggregate = Aggregate::with_strategies(&plan, EVERYTHING).unwrap();
        let mut units: Vec<Side> = self
            .input
            .rows
            .chunks(unit_rows)
            .map(|rows| Side { types: self.input.types.clone(), rows: rows.to_vec() })
            .collect();
        let key = |row: &Row| row[0].as_i128().unwrap() as i64;
        let (least, greatest): (Vec<i64>, Vec<i64>) = units
            .iter()
            .map(|u| u.rows.iter().map(key))
            .map(|keys| (keys.clone().min().unwrap_or(i64::MAX), keys.max().unwrap_or(i64::MIN)))
            .unzip();
        let own = own_keys(&least, &greatest).unwrap_or_else(|| vec![None; least.len()]);
        let clustered = Clustered::new(aggregate, own);
        let context = WorkContext::detached();
        let work = Work { query: &query, context: &context };
        let transform = clustered.transform();
        let mut locals: Vec<Local> = (0..3).map(|_| transform.local()).collect();
        let mut rows: Vec<Row> = vec![];
        let mut push = |batch: Batch| {
            assert!(batch.rows > 0 && batch.rows <= batch_rows);
            for (column, expected) in batch.columns.iter().zip(&plan.output) {
                assert_eq!(column.ty(), expected.ty);
            }
            rows.extend((0..batch.rows).map(|r| batch.columns.iter().map(|c| c.value(r)).collect::<Row>()));
            Ok(Flow::More)
        };
        for (unit, side) in units.iter_mut().enumerate() {
            if random.chance(33) {
                for at in (1..side.rows.len()).rev() {
                    side.rows.swap(at, random.below(at as u64 + 1) as usize);
                }
            }
            let local = &mut locals[random.below(3) as usize];
            for batch in side.batches(batch_rows, random) {
                transform.transform(batch, local, &work, &mut push).unwrap();
            }
            transform.end_unit(local, crate::pipeline::tag(1, unit as u64), &work, &mut push).unwrap();
        }
        let early = rows.len();
        let mut push = |batch: Batch| {
            rows.extend((0..batch.rows).map(|r| batch.columns.iter().map(|c| c.value(r)).collect::<Row>()));
            Ok(Flow::More)
        };
        let rest = clustered.rest();
        let mut local = rest.local();
        for unit in 0..rest.start(&query).unwrap() {
            rest.run(unit, &mut local, &work, &mut push).unwrap();
        }
        (rows, early)
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        _ => a == b && a.physical() == b.physical(),
    }
}

fn oracle(call: &AggregateCall, rows: &[&Row]) -> Value {
    let value = |e: &Expr, row: &Row| match e.kind {
        plan::ExprKind::Input(at) => row[at].clone(),
        _ => e.as_literal().cloned().unwrap_or(Value::Null),
    };
    let kept: Vec<&&Row> = rows
        .iter()
        .filter(|r| call.filter.as_ref().is_none_or(|f| value(f, r) == Value::Bool(true)))
        .collect();
    let Some(argument) = &call.argument else { return Value::I64(kept.len() as i64) };
    let mut values: Vec<Value> = kept.iter().map(|r| value(argument, r)).filter(|v| !v.is_null()).collect();
    if call.distinct {
        values = values.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    }
    if call.function == F::ApproxCountDistinct {
        return Value::I64(values.into_iter().collect::<BTreeSet<_>>().len() as i64);
    }
    if call.function == F::Count {
        return Value::I64(values.len() as i64);
    }
    if values.is_empty() {
        return if call.function == F::Entropy { Value::F64(0.0) } else { Value::Null };
    }
    let count = values.len();
    let mut often: BTreeMap<&Value, usize> = BTreeMap::new();
    values.iter().for_each(|v| *often.entry(v).or_default() += 1);
    let numbers: Vec<f64> = values
        .iter()
        .map(|v| {
            v.as_f64().or(v.as_i128().map(|v| v as f64)).unwrap_or(0.0)
                / 10f64.powi(argument.ty.scale().into())
        })
        .collect();
    let sum: f64 = numbers.iter().sum();
    let exact: i128 = values.iter().filter_map(Value::as_i128).sum();
    let mean = sum / count as f64;
    let squares: f64 = numbers.iter().map(|n| (n - mean) * (n - mean)).sum();
    let sample = |v: f64| if count < 2 { Value::Null } else { Value::F64(v) };
    match &call.function {
        F::Sum if argument.ty.is_float() => Value::F64(sum),
        F::Sum => Value::from_i128(exact, call.ty.physical()).unwrap(),
        F::Avg if call.ty == Type::Double => Value::F64(mean),
        F::Avg => {
            let digits = call.ty.scale() - argument.ty.scale();
            Value::I128(types::decimal::divide_rounded(exact * 10i128.pow(digits.into()), count as i128))
        }
        F::Min | F::BoolAnd => values.iter().min().cloned().unwrap(),
        F::Max | F::BoolOr => values.iter().max().cloned().unwrap(),
        F::VarPop => Value::F64(squares / count as f64),
        F::StddevPop => Value::F64((squares / count as f64).sqrt()),
        F::VarSamp => sample(squares / (count as f64 - 1.0)),
        F::StddevSamp => sample((squares / (count as f64 - 1.0)).sqrt()),
        F::StringAgg { delimiter, .. } => {
            Value::text(&values.iter().filter_map(Value::as_text).collect::<Vec<_>>().join(delimiter))
        }
        // The greatest of several is the first from the end.
        F::Mode => often.iter().rev().max_by_key(|(_, n)| **n).map(|(v, _)| (*v).clone()).unwrap(),
        F::Entropy => {
            let shares = often.values().map(|n| *n as f64 / count as f64);
            Value::F64(shares.map(|share| -share * share.log2()).sum::<f64>())
        }
        other => panic!("{} has no oracle", other.name()),
    }
}

fn call(function: F, at: usize, from: Type) -> AggregateCall {
    let ty = match &function {
        F::Count | F::CountStar | F::ApproxCountDistinct => Type::BigInt,
        F::Sum if from.is_float() => Type::Double,
        F::Sum if from.is_integer() => Type::BigInt,
        F::Sum => Type::Decimal { precision: 38, scale: from.scale() },
        F::Avg if from.is_decimal() => Type::Decimal { precision: 38, scale: from.scale() + 4 },
        F::Min | F::Max | F::AnyValue | F::SingleValue | F::Mode => from,
        F::BoolAnd | F::BoolOr => Type::Boolean,
        F::StringAgg { .. } => Type::Text,
        _ => Type::Double,
    };
    AggregateCall { function, argument: Some(Expr::input(at, from)), distinct: false, filter: None, ty }
}

fn count_star() -> AggregateCall {
    AggregateCall { function: F::CountStar, argument: None, distinct: false, filter: None, ty: Type::BigInt }
}

const KEYS: [Type; 10] = [
    Type::Integer,
    Type::BigInt,
    Type::SmallInt,
    Type::Boolean,
    Type::Date,
    Type::Double,
    Type::Real,
    Type::Text,
    Type::Uuid,
    Type::Decimal { precision: 30, scale: 2 },
];

fn key_value(ty: Type, number: u64) -> Value {
    match ty.physical() {
        types::Physical::Bool => Value::Bool(number % 2 == 1),
        types::Physical::I16 => Value::I16(number as i16),
        types::Physical::I32 => Value::I32(number as i32 - 20),
        types::Physical::I64 => Value::I64(number as i64 * 3),
        types::Physical::I128 => Value::I128(i128::from(number) << 70 | 1),
        // The zeros and the NaNs are one group each.
        types::Physical::F32 => Value::F32([0.0, -0.0, f32::NAN, -f32::NAN, 1.5][number as usize % 5]),
        types::Physical::F64 => Value::F64(match number % 7 {
            0 => -0.0,
            1 => 0.0,
            2 => f64::NAN,
            3 => -f64::NAN,
            _ => number as f64 / 2.0,
        }),
        types::Physical::Bytes => match number % 3 {
            0 => Value::text(&format!("k{number}")),
            1 => Value::text(&format!("a key of many characters {number}")),
            _ => Value::text(&"x".repeat(number as usize % 20)),
        },
    }
}

/// Keys in the first columns; then a filter, integers, decimals, floats and texts.
fn input(keys: &[Type], rows: usize, domain: u64, nulls: u64, sorted: bool, random: &mut Random) -> Side {
    let decimal = Type::Decimal { precision: 12, scale: 2 };
    let wide = Type::Decimal { precision: 25, scale: 3 };
    let mut types = keys.to_vec();
    types.extend([
        Type::Boolean,
        Type::Integer,
        Type::BigInt,
        decimal,
        wide,
        Type::Double,
        Type::Real,
        Type::Text,
    ]);
    let mut numbers: Vec<u64> = (0..rows).map(|_| random.below(domain)).collect();
    if sorted {
        numbers.sort_unstable();
    }
    let rows = numbers
        .into_iter()
        .map(|number| {
            let mut row: Row = vec![];
            for (at, ty) in keys.iter().enumerate() {
                let number = if at == 0 { number } else { random.below(domain / 4 + 1) };
                row.push(key_value(*ty, number));
            }
            let signed = |random: &mut Random, n: u64| random.below(2 * n) as i64 - n as i64;
            row.push(Value::Bool(random.chance(60)));
            row.push(Value::I32(signed(random, 1000) as i32));
            row.push(Value::I64(signed(random, 1 << 40)));
            row.push(Value::I64(signed(random, 100_000)));
            row.push(Value::I128(i128::from(signed(random, 1 << 50)) * 1_000_003));
            row.push(Value::F64(signed(random, 1000) as f64 / 4.0));
            row.push(Value::F32(signed(random, 50) as f32));
            row.push(key_value(Type::Text, random.below(30)));
            row.iter_mut().for_each(|v| {
                if random.chance(nulls) {
                    *v = Value::Null;
                }
            });
            row
        })
        .collect();
    Side { types, rows }
}

fn all_calls(keys: usize, types: &[Type], with_distinct: bool, random: &mut Random) -> Vec<AggregateCall> {
    let delimiter: Arc<str> = ", ".into();
    let mut calls = vec![count_star()];
    for (at, ty) in types.iter().enumerate().skip(keys) {
        let mut functions = vec![F::Count, F::Min, F::Max, F::Mode, F::Entropy, F::ApproxCountDistinct];
        if ty.is_numeric() {
            functions.extend([F::Sum, F::Avg, F::VarPop, F::StddevSamp]);
        }
        match ty {
            Type::Boolean => functions.extend([F::BoolAnd, F::BoolOr]),
            Type::Text => {
                functions.push(F::StringAgg { delimiter: delimiter.clone(), ordered: false, most: None })
            }
            _ => {}
        }
        calls.extend(functions.into_iter().map(|f| call(f, at, *ty)));
    }
    for call in &mut calls {
        if random.chance(30) {
            call.filter = Some(Expr::input(keys, Type::Boolean));
        }
        // Sums of floats in another order may differ, and DISTINCT of one value must not.
        call.distinct = with_distinct && call.argument.is_some() && random.chance(40);
    }
    calls
}

#[test]
fn agrees_with_the_oracle_for_every_key_type_and_strategy() {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    for with_distinct in [false, true] {
        for first in KEYS {
            for second in [None, Some(Type::Integer), Some(Type::Text), Some(Type::BigInt)] {
                let keys: Vec<Type> = std::iter::once(first).chain(second).collect();
                let nulls = if random.chance(50) { 0 } else { 15 };
                let domain = [3, 40, 400][random.below(3) as usize];
                let sorted = random.chance(30);
                let side = input(&keys, 500, domain, nulls, sorted, &mut random);
                let aggregates = all_calls(keys.len(), &side.types, with_distinct, &mut random);
                let bounds = random.chance(60).then_some(match first {
                    Type::BigInt => (0, 3 * 400),
                    Type::Boolean => (0, 1),
                    _ => (-20, 400),
                });
                let groups = (0..keys.len()).collect();
                let case = Case { input: side, bounds, groups, aggregates };
                for strategies in strategies() {
                    let batch_rows = [1, 7, 64, 4096][random.below(4) as usize];
                    case.check(strategies, batch_rows, &mut random);
                }
            }
        }
    }
}

#[test]
fn one_row_without_groups_even_of_nothing() {
    let mut random = Random::new(77);
    for rows in [0, 1, 300] {
        for with_distinct in [false, true] {
            let side = input(&[], rows, 10, 20, false, &mut random);
            let aggregates = all_calls(0, &side.types, with_distinct, &mut random);
            let case = Case { input: side, bounds: None, groups: vec![], aggregates };
            for strategies in strategies() {
                case.check(strategies, 16, &mut random);
                case.check(strategies, 4096, &mut random);
            }
        }
    }
}

#[test]
fn distinct_rows_are_groups_without_aggregates() {
    let mut random = Random::new(99);
    for (rows, domain) in [(0, 1), (400, 5), (3000, 2000)] {
        for keys in [vec![Type::Integer], vec![Type::Text, Type::Boolean, Type::BigInt], vec![Type::Null]] {
            let mut side = input(&keys, rows, domain, 10, false, &mut random);
            if keys == [Type::Null] {
                side.rows.iter_mut().for_each(|r| r[0] = Value::Null);
            }
            let groups = (0..keys.len()).collect();
            let case = Case { input: side, bounds: None, groups, aggregates: vec![] };
            for strategies in strategies() {
                case.check(strategies, 50, &mut random);
            }
        }
    }
}

#[test]
fn ascending_keys_are_chained_and_merged_where_units_touch() {
    let mut random = Random::new(5);
    for domain in [40, 3000, 20_000] {
        let side = input(&[Type::BigInt], 10_000, domain, 0, true, &mut random);
        let aggregates = vec![
            count_star(),
            call(F::Sum, 3, Type::BigInt),
            call(F::Max, 8, Type::Text),
            call(F::Avg, 6, Type::Double),
        ];
        let case = Case { input: side, bounds: None, groups: vec![0], aggregates };
        for batch_rows in [3, 500, 4096] {
            case.check(EVERYTHING, batch_rows, &mut random);
            case.check(Strategies { merged_at_once: 0, ..EVERYTHING }, batch_rows, &mut random);
        }
    }
}

#[test]
fn clustered_keys_are_finished_unit_by_unit() {
    let mut random = Random::new(21);
    for key in [Type::BigInt, Type::Integer, Type::SmallInt, Type::Date] {
        for domain in [5, 300, 4000] {
            let mut side = input(&[key], 3000, domain, 10, true, &mut random);
            let keys = input(&[key], 3000, domain, 0, true, &mut random);
            for (row, of_key) in side.rows.iter_mut().zip(keys.rows) {
                row[0] = of_key[0].clone();
            }
            let mut aggregates = all_calls(1, &side.types, false, &mut random);
            aggregates.retain(|call| !matches!(call.function, F::StringAgg { .. }));
            let case = Case { input: side, bounds: None, groups: vec![0], aggregates };
            for (unit_rows, batch_rows) in [(1, 1), (7, 3), (100, 64), (1000, 4096), (5000, 200)] {
                let (rows, early) = case.run_clustered(unit_rows, batch_rows, &mut random);
                assert!(domain < 4000 || unit_rows < 100 || early * 2 > rows.len(), "{early} early");
                case.compare(rows, &format!("units of {unit_rows}, batches of {batch_rows}"));
            }
        }
    }
}

#[test]
fn a_block_owns_the_keys_that_no_other_block_has() {
    let own = |ranges: &[(i64, i64)]| {
        let (least, greatest): (Vec<i64>, Vec<i64>) = ranges.iter().copied().unzip();
        own_keys(&least, &greatest)
    };
    let none = (i64::MAX, i64::MIN);
    assert_eq!(
        own(&[(1, 40), (40, 75), (76, 90)]),
        Some(vec![Some((1, 39)), Some((41, 75)), Some((76, 90))])
    );
    assert_eq!(own(&[(76, 90), (1, 40)]), Some(vec![Some((76, 90)), Some((1, 40))]));
    assert_eq!(own(&[(i64::MIN, i64::MAX)]), Some(vec![Some((i64::MIN, i64::MAX))]));
    // A block inside another, and keys that are spread over all blocks.
    assert_eq!(own(&[(0, 100), (10, 20), (101, 400), (401, 700), (701, 800)]).map(|o| (o[0], o[1])), None);
    assert_eq!(own(&[(0, 99), (1, 98), (0, 97)]), None);
    let spread = own(&[(0, 100), (90, 95), (101, 400), (401, 700), (701, 800)]).unwrap();
    assert_eq!((spread[0], spread[1], spread[2]), (Some((0, 89)), None, Some((101, 400))));
    assert_eq!(own(&[none, none]), None);
    assert_eq!(own(&[none, (3, 4)]), Some(vec![None, Some((3, 4))]));
}

#[test]
fn many_groups_and_many_distinct_values() {
    let mut random = Random::new(6);
    for (keys, domain) in
        [(vec![Type::BigInt], 6000), (vec![Type::Text], 2000), (vec![Type::Integer, Type::Date], 5)]
    {
        let side = input(&keys, 8000, domain, 5, false, &mut random);
        let at = keys.len();
        let mut distinct = call(F::Count, at + 2, Type::BigInt);
        distinct.distinct = true;
        let plain = vec![count_star(), call(F::Sum, at + 1, Type::Integer), call(F::Min, at + 7, Type::Text)];
        for aggregates in [plain.clone(), [plain, vec![distinct]].concat()] {
            let groups = (0..keys.len()).collect();
            let case = Case { input: side.clone(), bounds: Some((0, 90_000)), groups, aggregates };
            for strategies in strategies() {
                let groups_max = strategies.groups_max.clamp(300, 2000);
                case.check(Strategies { groups_max, ..strategies }, 512, &mut random);
            }
        }
    }
}

/// Pairs that a worker collected with their repeats become whole at its limit, and those of a worker that stays below are
/// still numbered: a pair that both have counts once.
#[test]
fn distinct_values_count_once_when_only_some_workers_were_full() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut side = input(&[Type::Integer], 3000, 2, 0, false, &mut random);
        for (at, row) in side.rows.iter_mut().enumerate() {
            row[0] = Value::I32(at as i32 % 2);
            row[3] = Value::I64((at as i64 * 7919) % 600);
        }
        let mut distinct = call(F::Count, 3, Type::BigInt);
        distinct.distinct = true;
        let case = Case { input: side, bounds: None, groups: vec![0], aggregates: vec![distinct] };
        for codes in [true, false] {
            case.check(Strategies { codes, groups_max: 700, ..EVERYTHING }, 100, &mut random);
        }
    }
}

#[test]
fn wrong_bounds_do_not_make_wrong_answers() {
    let mut random = Random::new(8);
    let side = input(&[Type::BigInt], 2000, 300, 10, false, &mut random);
    let case = Case {
        input: side,
        bounds: Some((0, 100)),
        groups: vec![0],
        aggregates: vec![count_star(), call(F::Sum, 2, Type::Integer)],
    };
    for strategies in strategies() {
        case.check(strategies, 100, &mut random);
    }
}

fn single(ty: Type, values: Vec<Value>, function: F) -> types::Result<Value> {
    let side = Side { types: vec![ty], rows: values.into_iter().map(|v| vec![v]).collect() };
    let case = Case { input: side, bounds: None, groups: vec![], aggregates: vec![call(function, 0, ty)] };
    let rows = case.run(EVERYTHING, 2, &mut Random::new(3))?;
    Ok(rows[0][0].clone())
}

#[test]
fn sums_leave_their_type_with_an_error_and_not_before() {
    let max = Value::I64(i64::MAX);
    let error = single(Type::BigInt, vec![max.clone(), Value::I64(1)], F::Sum).unwrap_err();
    assert_eq!(error.state(), SqlState::NumericValueOutOfRange);
    // What is too much on the way may come back.
    let values = vec![max.clone(), max.clone(), Value::I64(-i64::MAX), Value::I64(-5)];
    assert_eq!(single(Type::BigInt, values, F::Sum).unwrap(), Value::I64(i64::MAX - 5));
    let narrow = Type::Decimal { precision: 18, scale: 2 };
    let digits = 999_999_999_999_999_999;
    let sum = single(narrow, vec![Value::I64(digits); 40], F::Sum).unwrap();
    assert_eq!(sum, Value::I128(i128::from(digits) * 40));
    let wide = Type::Decimal { precision: 38, scale: 0 };
    let most = 10i128.pow(38) - 1;
    for times in [2, 3] {
        let error = single(wide, vec![Value::I128(most); times], F::Sum).unwrap_err();
        assert_eq!(error.state(), SqlState::NumericValueOutOfRange);
    }
    assert_eq!(single(wide, vec![Value::I128(most)], F::Sum).unwrap(), Value::I128(most));
}

#[test]
fn averages_of_decimals_round_half_away_from_zero() {
    let ty = Type::Decimal { precision: 5, scale: 0 };
    let thirds =
        |values: &[i64]| single(ty, values.iter().map(|v| Value::I64(*v)).collect(), F::Avg).unwrap();
    assert_eq!(thirds(&[1, 1, 0]), Value::I128(6667));
    assert_eq!(thirds(&[-1, -1, 0]), Value::I128(-6667));
    assert_eq!(thirds(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Value::I128(625));
    assert_eq!(
        thirds(&[
            -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        ]),
        Value::I128(-313)
    );
}

#[test]
fn a_single_value_is_one_row_at_most() {
    let one = single(Type::Integer, vec![Value::I32(7)], F::SingleValue).unwrap();
    assert_eq!(one, Value::I32(7));
    assert_eq!(single(Type::Integer, vec![Value::Null], F::SingleValue).unwrap(), Value::Null);
    assert_eq!(single(Type::Integer, vec![], F::SingleValue).unwrap(), Value::Null);
    let error = single(Type::Integer, vec![Value::I32(1), Value::Null], F::SingleValue).unwrap_err();
    assert_eq!(error.state(), SqlState::CardinalityViolation);
    let any = single(Type::Text, vec![Value::Null, Value::text("only"), Value::Null], F::AnyValue).unwrap();
    assert_eq!(any, Value::text("only"));
}

#[test]
fn a_budget_too_small_ends_the_query() {
    let mut random = Random::new(12);
    let side = input(&[Type::BigInt], 100_000, 1 << 40, 0, false, &mut random);
    let case =
        Case { input: side, bounds: None, groups: vec![0], aggregates: vec![call(F::Min, 8, Type::Text)] };
    let plan = case.plan();
    let budget = memory::Budget::new(2 << 20);
    let query = crate::context::QueryContext::new(
        ExecutionSettings::default(),
        formats::Environment::new(files::Capability::everything(), Default::default()),
        budget.clone(),
        pool::Pool::new(memory::Budget::unlimited()),
        Default::default(),
        None,
        &plan,
    );
    let aggregate = Aggregate::with_strategies(&plan, EVERYTHING).unwrap();
    let context = WorkContext::detached();
    let work = Work { query: &query, context: &context };
    let sink = aggregate.sink();
    let mut local = sink.local();
    let error = case
        .input
        .batches(4096, &mut random)
        .into_iter()
        .find_map(|batch| sink.consume(batch, 0, &mut local, &work).err())
        .expect("more groups than the budget has room for");
    assert_eq!(error.state(), SqlState::OutOfMemory);
    drop(local);
    assert_eq!(budget.used(), 0);
}
