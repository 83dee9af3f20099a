//! Conformance of joins: every kind, key type, table and NULL rule against nested loops over random rows.
//!
//! The harness runs a join's parts as segments would: several local states, batches in any order with their tags, the
//! step's work orders, probe batches, then build rows. Nested-loop joins use it too.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{Expr, FilterId, JoinOutput, OutputColumn, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan};
pub(crate) use random::Random;
use types::{Comparison, Type, Value};
use vector::{Batch, Vector};
use workorder::WorkContext;

use super::HashJoin;
use crate::context::{ExecutionSettings, QueryContext};
use crate::pipeline::{Flow, Local, Sink, Source, Step, Transform, Work};
use crate::switches::{JoinTable, Switches};

pub(crate) type Row = Vec<Value>;

pub(crate) const KINDS: [Kind; 9] = [
    Kind::Inner,
    Kind::ProbeOuter,
    Kind::BuildOuter,
    Kind::FullOuter,
    Kind::ProbeSemi,
    Kind::ProbeAnti,
    Kind::BuildSemi,
    Kind::BuildAnti,
    Kind::ProbeMark,
];

pub(crate) fn query(settings: ExecutionSettings, plan: &PhysicalPlan) -> QueryContext {
    let budget = memory::Budget::unlimited();
    let environment = formats::Environment::new(files::Capability::everything(), Default::default());
    QueryContext::new(
        settings,
        environment,
        budget.clone(),
        pool::Pool::new(budget),
        HashMap::new(),
        None,
        plan,
    )
}

/// A side of a join: its rows, typed.
#[derive(Clone)]
pub(crate) struct Side {
    /// The types of the columns.
    pub types: Vec<Type>,
    /// The rows, in the order of the input; each has a value for each column.
    pub rows: Vec<Row>,
}

impl Side {
    /// A plan node with these columns; the rows are fed by hand.
    pub fn plan(&self) -> PhysicalPlan {
        let output = self
            .types
            .iter()
            .map(|ty| OutputColumn { name: "c".into(), ty: *ty, nullable: true, bounds: None })
            .collect();
        PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, output, self.rows.len() as f64)
    }
    /// The rows in batches of at most `limit` rows, columns in changing forms.
    pub fn batches(&self, limit: usize, random: &mut Random) -> Vec<Batch> {
        let mut batches = Vec::new();
        let mut rest = &self.rows[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(1 + random.below(limit as u64) as usize));
            rest = later;
            let columns = (0..self.types.len())
                .map(|c| {
                    let values: Vec<Value> = now.iter().map(|row| row[c].clone()).collect();
                    vector_in_some_form(self.types[c], &values, random)
                })
                .collect();
            batches.push(Batch::new(columns, now.len()));
        }
        batches
    }
}

fn vector_in_some_form(ty: Type, values: &[Value], random: &mut Random) -> Vector {
    let flat = Vector::from_values(ty, values);
    if values.iter().all(|v| *v == values[0]) && random.chance(50) {
        return Vector::constant(ty, values[0].clone(), values.len());
    }
    let mut distinct: Vec<Value> = values.iter().filter(|v| !v.is_null()).cloned().collect();
    // Strings of few values have a dictionary, as blocks give them.
    if ty == Type::Text {
        distinct.sort();
        distinct.dedup();
    }
    if distinct.len() * 8 > values.len() && random.chance(60) {
        return flat;
    }
    // One that no row uses.
    distinct.extend(distinct.first().cloned());
    if distinct.is_empty() {
        return flat;
    }
    let codes: Vec<u32> =
        values.iter().map(|v| distinct.iter().position(|d| d == v).unwrap_or(0) as u32).collect();
    Vector::dictionary(codes.into(), Arc::new(Vector::from_values(ty, &distinct)), flat.validity().cloned())
}

/// What a join is made of, as `compose` would wire it.
pub(crate) struct Parts {
    /// The build side's sink.
    pub sink: Arc<dyn Sink>,
    /// The steps between build and probe, in order.
    pub steps: Vec<Arc<dyn Step>>,
    /// The transform over the probe side.
    pub probe: Arc<dyn Transform>,
    /// Whether the probe puts rows out, and not only marks build rows.
    pub emits: bool,
    /// The source of build rows after all probing, if the kind of join has one.
    pub build_rows: Option<Arc<dyn Source>>,
}

/// Runs a join's parts over both sides; its rows, in no order.
pub(crate) fn run(
    parts: &Parts,
    query: &QueryContext,
    probe: &Side,
    build: &Side,
    random: &mut Random,
) -> Vec<Row> {
    let context = WorkContext::detached();
    let work = Work { query, context: &context };
    let limit = query.settings.batch_rows;
    let mut locals: Vec<Local> = (0..3).map(|_| parts.sink.local()).collect();
    let mut tagged: Vec<(u64, Batch)> = build
        .batches(limit, random)
        .into_iter()
        .enumerate()
        .map(|(tag, batch)| (tag as u64, batch))
        .collect();
    for at in (1..tagged.len()).rev() {
        tagged.swap(at, random.below(at as u64 + 1) as usize);
    }
    for (tag, batch) in tagged {
        let local = &mut locals[random.below(3) as usize];
        if parts.sink.consume(batch, tag, local, &work).unwrap() == Flow::Enough {
            break;
        }
    }
    parts.sink.finish(locals, query).unwrap();
    for step in &parts.steps {
        let tasks = step.start(query).unwrap();
        (0..tasks).rev().for_each(|task| step.run(task, &work).unwrap());
        step.finish(query).unwrap();
    }

    let mut rows: Vec<Row> = Vec::new();
    let mut take = |batch: Batch| {
        assert!(batch.rows > 0 && batch.rows <= limit, "{} rows in a batch of at most {limit}", batch.rows);
        assert!(batch.columns.iter().all(|c| c.len() == batch.rows));
        rows.extend((0..batch.rows).map(|r| batch.columns.iter().map(|c| c.value(r)).collect::<Row>()));
        Ok(Flow::More)
    };
    let mut locals: Vec<Local> = (0..2).map(|_| parts.probe.local()).collect();
    for batch in probe.batches(limit, random) {
        let local = &mut locals[random.below(2) as usize];
        let flow = parts.probe.transform(batch, local, &work, &mut |batch| {
            assert!(parts.emits, "a probe that only marks emitted rows");
            take(batch)
        });
        if flow.unwrap() == Flow::Enough {
            break;
        }
    }
    if let Some(source) = &parts.build_rows {
        let mut local = source.local();
        for unit in 0..source.start(query).unwrap() {
            source.run(unit, &mut local, &work, &mut take).unwrap();
        }
    }
    rows
}

/// What the answer must be, by nested loops. `compare` gives the keys' comparison, `residual` the further condition.
pub(crate) fn expected(
    kind: Kind,
    null_aware: bool,
    probe: &Side,
    build: &Side,
    compare: &dyn Fn(&Row, &Row) -> Option<bool>,
    residual: &dyn Fn(&Row, &Row) -> bool,
) -> Vec<Row> {
    let pairs = |p: &Row, b: &Row| compare(p, b) == Some(true) && residual(p, b);
    let unknown = |p: &Row, b: &Row| null_aware && compare(p, b).is_none() && residual(p, b);
    let nulls = |types: &[Type]| types.iter().map(|_| Value::Null).collect::<Row>();
    let both = |p: &Row, b: &Row| p.iter().chain(b).cloned().collect::<Row>();
    let mut rows = Vec::new();
    for p in &probe.rows {
        let matches: Vec<&Row> = build.rows.iter().filter(|b| pairs(p, b)).collect();
        let in_doubt = build.rows.iter().any(|b| unknown(p, b));
        match kind {
            Kind::Inner | Kind::ProbeOuter | Kind::BuildOuter | Kind::FullOuter => {
                rows.extend(matches.iter().map(|b| both(p, b)));
                if matches.is_empty() && matches!(kind, Kind::ProbeOuter | Kind::FullOuter) {
                    rows.push(both(p, &nulls(&build.types)));
                }
            }
            Kind::ProbeSemi if !matches.is_empty() => rows.push(p.clone()),
            Kind::ProbeAnti if matches.is_empty() && !in_doubt => rows.push(p.clone()),
            Kind::ProbeMark => {
                let mark = match (matches.is_empty(), in_doubt) {
                    (false, _) => Value::Bool(true),
                    (true, true) => Value::Null,
                    (true, false) => Value::Bool(false),
                };
                rows.push(p.iter().cloned().chain([mark]).collect());
            }
            _ => {}
        }
    }
    for b in &build.rows {
        let matched = probe.rows.iter().any(|p| pairs(p, b));
        let in_doubt = probe.rows.iter().any(|p| unknown(p, b));
        match kind {
            Kind::BuildOuter | Kind::FullOuter if !matched => rows.push(both(&nulls(&probe.types), b)),
            Kind::BuildSemi if matched => rows.push(b.clone()),
            Kind::BuildAnti if !matched && !in_doubt => rows.push(b.clone()),
            _ => {}
        }
    }
    rows
}

pub(crate) fn output(kind: Kind, probe: &Side, build: &Side) -> (Vec<JoinOutput>, Vec<OutputColumn>) {
    let probes = (0..probe.types.len()).map(|c| (JoinOutput::Probe(c), probe.types[c]));
    let builds = (0..build.types.len()).map(|c| (JoinOutput::Build(c), build.types[c]));
    let all: Vec<(JoinOutput, Type)> = match kind {
        Kind::Inner | Kind::ProbeOuter | Kind::BuildOuter | Kind::FullOuter => probes.chain(builds).collect(),
        Kind::ProbeSemi | Kind::ProbeAnti => probes.collect(),
        Kind::BuildSemi | Kind::BuildAnti => builds.collect(),
        Kind::ProbeMark => probes.chain([(JoinOutput::Mark, Type::Boolean)]).collect(),
    };
    let columns = all
        .iter()
        .map(|(_, ty)| OutputColumn { name: "o".into(), ty: *ty, nullable: true, bounds: None })
        .collect();
    (all.into_iter().map(|(output, _)| output).collect(), columns)
}

pub(crate) fn assert_same(mut actual: Vec<Row>, mut wanted: Vec<Row>, what: &str) {
    actual.sort();
    wanted.sort();
    assert!(
        actual == wanted,
        "{what}: {} rows instead of {}\n got {:?}\n not {:?}",
        actual.len(),
        wanted.len(),
        actual.iter().find(|row| !wanted.contains(row)),
        wanted.iter().find(|row| !actual.contains(row))
    );
}

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Draw {
    /// From a few values, so that many rows share one.
    Few,
    /// From values far apart.
    Sparse,
    /// Ascending without gaps on the build side.
    Numbered,
    /// Ascending with gaps on the build side.
    Ascending,
}

fn key(ty: Type, number: i64) -> Value {
    match ty {
        Type::Boolean => Value::Bool(number % 2 != 0),
        Type::SmallInt => Value::I16(number as i16),
        Type::Integer | Type::Date => Value::I32(number as i32),
        Type::BigInt => Value::I64(number),
        Type::Double => match number % 5 {
            0 => Value::F64(f64::NAN),
            1 => Value::F64(-0.0),
            2 => Value::F64(0.0),
            _ => Value::F64(number as f64 / 3.0),
        },
        Type::Decimal { precision, .. } if precision > 18 => Value::I128(i128::from(number) << 70),
        Type::Decimal { .. } => Value::I64(number),
        _ if number % 2 == 0 => Value::text(&format!("{number}")),
        _ => Value::text(&format!("a text that does not fit a view {number}")),
    }
}

/// Rows of the key columns, an INTEGER for residuals and a TEXT that tells rows apart.
fn side(keys: &[Type], rows: usize, draw: Draw, nulls: bool, build: bool, random: &mut Random) -> Side {
    let mut ascending = 100;
    let rows = (0..rows)
        .map(|at| {
            let mut row: Row = keys
                .iter()
                .map(|ty| {
                    if nulls && random.chance(15) {
                        return Value::Null;
                    }
                    let number = match draw {
                        Draw::Few => random.below(12) as i64,
                        Draw::Sparse => (random.below(40) as i64 - 20) * 1_000_003,
                        Draw::Numbered if build => 100 + at as i64,
                        Draw::Ascending if build => {
                            ascending += 1 + random.below(5) as i64;
                            ascending
                        }
                        Draw::Numbered => 90 + random.below(60) as i64,
                        Draw::Ascending => 90 + random.below(160) as i64,
                    };
                    key(*ty, if *ty == Type::SmallInt { number % 30_000 } else { number })
                })
                .collect();
            row.push(if nulls && random.chance(10) { Value::Null } else { Value::I32(random.below(8)) });
            row.push(Value::text(&format!("{} row {at} of the side", if build { "build" } else { "probe" })));
            row
        })
        .collect();
    Side { types: keys.iter().copied().chain([Type::Integer, Type::Text]).collect(), rows }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    residual: bool,
    op: Comparison,
    null_equals_null: bool,
    null_aware: bool,
    dense_keys: bool,
    shared: bool,
    batch_rows: usize,
}

fn compare_keys(count: usize, null_equals_null: bool) -> impl Fn(&Row, &Row) -> Option<bool> {
    move |p: &Row, b: &Row| {
        let mut result = Some(true);
        for at in 0..count {
            match (p[at].is_null(), b[at].is_null()) {
                (false, false) if p[at] == b[at] => {}
                (true, true) if null_equals_null => {}
                (false, false) => return Some(false),
                _ if null_equals_null => return Some(false),
                _ => result = None,
            }
        }
        result
    }
}

fn holds(op: Comparison, p: &Row, b: &Row, at: usize) -> bool {
    matches!((&p[at], &b[at]), (Value::I32(p), Value::I32(b)) if op.holds(p.cmp(b)))
}

const OPS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::GreaterOrEqual,
    Comparison::Greater,
];

fn join_plan(case: Case, keys: usize, probe: &Side, build: &Side) -> PhysicalPlan {
    let width = keys + 2;
    let key_inputs = |side: &Side| (0..keys).map(|k| Expr::input(k, side.types[k])).collect::<Vec<_>>();
    let residual = case.residual.then(|| {
        Expr::compare(case.op, Expr::input(keys, Type::Integer), Expr::input(width + keys, Type::Integer))
    });
    let (output, columns) = output(case.kind, probe, build);
    let node = PhysicalNode::HashJoin {
        probe: Box::new(probe.plan()),
        build: Box::new(build.plan()),
        kind: case.kind,
        probe_keys: key_inputs(probe),
        build_keys: key_inputs(build),
        residual,
        null_equals_null: case.null_equals_null,
        null_aware: case.null_aware,
        output,
        fills: (0..keys).map(|k| (FilterId(k as u32), k)).collect(),
        build_unique: false,
    };
    let mut plan = PhysicalPlan::new(node, columns, 1.0);
    plan.number();
    plan
}

/// The execution's switches, but for those of the join's table as they are by default.
pub(super) fn switches(dense_keys: bool, shared: bool) -> Switches {
    let join_table = if shared { JoinTable::Shared } else { JoinTable::Partitioned };
    Switches { dense_keys, join_table, ..Switches::default() }
}

fn check(case: Case, keys: &[Type], probe: &Side, build: &Side, what: &str, random: &mut Random) {
    let plan = join_plan(case, keys.len(), probe, build);
    let settings = ExecutionSettings {
        batch_rows: case.batch_rows,
        switches: switches(case.dense_keys, case.shared),
        ..ExecutionSettings::default()
    };
    let query = query(settings, &plan);
    let join = HashJoin::new(&plan, &query, false).unwrap();
    let parts = Parts {
        sink: join.build_sink(),
        steps: std::iter::once(join.build_step()).chain(join.group_step()).collect(),
        probe: join.probe(),
        emits: join.probe_emits(),
        build_rows: join.build_rows(),
    };
    let actual = run(&parts, &query, probe, build, random);
    let compare = compare_keys(keys.len(), case.null_equals_null);
    let residual = |p: &Row, b: &Row| !case.residual || holds(case.op, p, b, keys.len());
    let wanted = expected(case.kind, case.null_aware, probe, build, &compare, &residual);
    assert_same(actual, wanted, &format!("{what} {case:?} {keys:?}"));
    // Filters keep every probe row that has a partner.
    for at in 0..keys.len() {
        let Some(filter) = query.filter(FilterId(at as u32)) else { continue };
        for batch in probe.batches(50, random) {
            let mut rows: Vec<u32> = (0..batch.rows as u32).collect();
            filter.retain(&batch.columns[at], &mut rows);
            for row in 0..batch.rows {
                let value = batch.columns[at].value(row);
                let there = !value.is_null()
                    && build.rows.iter().any(|b| b[at] == value && (0..keys.len()).all(|k| !b[k].is_null()));
                assert!(
                    !there || rows.contains(&(row as u32)),
                    "{what}: filter {} drops {value:?}",
                    filter.name()
                );
                assert!(!(value.is_null() && rows.contains(&(row as u32))));
            }
        }
    }
}

const WIDE: Type = Type::Decimal { precision: 30, scale: 0 };
const NARROW: Type = Type::Decimal { precision: 12, scale: 2 };

#[test]
fn every_kind_key_and_table_agrees_with_nested_loops() {
    let mut random = Random::new(0x5EED);
    let key_sets: [&[Type]; 12] = [
        &[Type::Integer],
        &[Type::BigInt],
        &[Type::SmallInt],
        &[Type::Date],
        &[NARROW],
        &[Type::Boolean],
        &[Type::Text],
        &[Type::Double],
        &[WIDE],
        &[Type::Integer, Type::BigInt],
        &[Type::Integer, Type::Text],
        &[Type::BigInt, WIDE],
    ];
    for keys in key_sets {
        for draw in [Draw::Few, Draw::Sparse, Draw::Numbered, Draw::Ascending] {
            for nulls in [false, true] {
                let probe = side(keys, 60, draw, nulls, false, &mut random);
                let build = side(keys, 30, draw, nulls, true, &mut random);
                for kind in KINDS {
                    for residual in [false, true] {
                        for null_equals_null in [false, true] {
                            let case = Case {
                                kind,
                                residual,
                                op: OPS[random.below(6) as usize],
                                null_equals_null,
                                null_aware: false,
                                dense_keys: random.chance(70),
                                shared: random.chance(30),
                                batch_rows: if random.chance(50) { 7 } else { 4096 },
                            };
                            check(case, keys, &probe, &build, &format!("{draw:?}"), &mut random);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn not_in_and_in_follow_three_valued_logic() {
    let mut random = Random::new(0xA11CE);
    let key_sets: [&[Type]; 4] =
        [&[Type::Integer], &[Type::Text], &[Type::Integer, Type::Integer], &[Type::Text, Type::BigInt]];
    for keys in key_sets {
        for (probe_nulls, build_nulls) in [(false, false), (true, false), (false, true), (true, true)] {
            for (probe_rows, build_rows) in [(40, 8), (40, 0), (0, 8), (5, 40)] {
                let probe = side(keys, probe_rows, Draw::Few, probe_nulls, false, &mut random);
                let build = side(keys, build_rows, Draw::Few, build_nulls, true, &mut random);
                for kind in [Kind::ProbeAnti, Kind::BuildAnti, Kind::ProbeMark] {
                    for residual in [false, true] {
                        let case = Case {
                            kind,
                            residual,
                            op: OPS[random.below(6) as usize],
                            null_equals_null: false,
                            null_aware: true,
                            dense_keys: random.chance(50),
                            shared: random.chance(30),
                            batch_rows: if random.chance(50) { 3 } else { 100 },
                        };
                        check(case, keys, &probe, &build, "null-aware", &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn empty_sides_and_one_key() {
    let mut random = Random::new(3);
    for keys in [&[Type::Integer][..], &[Type::Text], &[Type::Integer, Type::Text]] {
        for (probe_rows, build_rows) in [(0, 0), (0, 9), (9, 0), (1, 1)] {
            for kind in KINDS {
                for residual in [false, true] {
                    let case = Case {
                        kind,
                        residual,
                        op: OPS[random.below(6) as usize],
                        null_equals_null: false,
                        null_aware: false,
                        dense_keys: true,
                        shared: random.chance(30),
                        batch_rows: 4,
                    };
                    let probe = side(keys, probe_rows, Draw::Few, false, false, &mut random);
                    let build = side(keys, build_rows, Draw::Few, false, true, &mut random);
                    check(case, keys, &probe, &build, "empty", &mut random);
                    // All rows of one key: chains far longer than a batch.
                    let mut one_key = side(keys, 50, Draw::Few, false, true, &mut random);
                    let first = one_key.rows[0].clone();
                    one_key
                        .rows
                        .iter_mut()
                        .for_each(|row| row[..keys.len()].clone_from_slice(&first[..keys.len()]));
                    let mut probe = probe.clone();
                    probe
                        .rows
                        .iter_mut()
                        .for_each(|row| row[..keys.len()].clone_from_slice(&first[..keys.len()]));
                    check(case, keys, &probe, &one_key, "one key", &mut random);
                }
            }
        }
    }
}

#[test]
fn a_large_build_is_partitioned() {
    let rows = 1_200_000;
    let ids: Vec<i64> = (0..rows).map(|i| i * 1_000_003 % 999_999_937).collect();
    let types = vec![Type::BigInt];
    let probe = Side { types: types.clone(), rows: vec![] };
    let build = Side { types, rows: vec![] };
    for dense_keys in [false, true] {
        let (output, columns) = output(Kind::Inner, &probe, &build);
        let node = PhysicalNode::HashJoin {
            probe: Box::new(probe.plan()),
            build: Box::new(build.plan()),
            kind: Kind::Inner,
            probe_keys: vec![Expr::input(0, Type::BigInt)],
            build_keys: vec![Expr::input(0, Type::BigInt)],
            residual: None,
            null_equals_null: false,
            null_aware: false,
            output,
            fills: vec![(FilterId(0), 0)],
            build_unique: true,
        };
        let mut plan = PhysicalPlan::new(node, columns, 1.0);
        plan.number();
        let query = query(
            ExecutionSettings { switches: switches(dense_keys, false), ..ExecutionSettings::default() },
            &plan,
        );
        let join = HashJoin::new(&plan, &query, false).unwrap();
        let context = WorkContext::detached();
        let work = Work { query: &query, context: &context };
        let sink = join.build_sink();
        let mut local = sink.local();
        for (tag, chunk) in ids.chunks(4096).enumerate() {
            let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, chunk.to_vec())], chunk.len());
            sink.consume(batch, tag as u64, &mut local, &work).unwrap();
        }
        sink.finish(vec![local], &query).unwrap();
        let step = join.build_step();
        let tasks = step.start(&query).unwrap();
        assert!(tasks >= 3, "{tasks} work orders");
        std::thread::scope(|scope| {
            for task in 0..tasks {
                let (step, query) = (&step, &query);
                scope.spawn(move || {
                    let context = WorkContext::detached();
                    step.run(task, &Work { query, context: &context }).unwrap();
                });
            }
        });
        step.finish(&query).unwrap();
        let transform = join.probe();
        let mut local = transform.local();
        let mut matched = 0;
        for chunk in ids.chunks(1000) {
            let asked: Vec<i64> = chunk.iter().flat_map(|id| [*id, -*id - 1]).collect();
            let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, asked)], chunk.len() * 2);
            transform
                .transform(batch, &mut local, &work, &mut |batch| {
                    assert!((0..batch.rows).all(|r| batch.columns[0].value(r) == batch.columns[1].value(r)));
                    matched += batch.rows;
                    Ok(Flow::More)
                })
                .unwrap();
        }
        assert_eq!(matched, ids.len());
    }
}
