//! Nanoseconds a row of whole joins: sink, step, probe with payload. Not a check: run it by name, on a quiet machine.
//!
//! `cargo test --release -p operators hash_join::speed -- --ignored --nocapture`
//! Compiled for tests alone.

use std::hint::black_box;
use std::time::Instant;

use plan::{Expr, JoinOutput, OutputColumn, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan};
use types::{Type, Value};
use vector::{Batch, Vector};
use workorder::WorkContext;

use super::HashJoin;
use super::tests::{Random, Side, query, switches};
use crate::context::ExecutionSettings;
use crate::pipeline::{Flow, Work};

const BATCH: usize = 4096;

fn batches(columns: &[Vector]) -> Vec<Batch> {
    let rows = columns[0].len();
    (0..rows)
        .step_by(BATCH)
        .map(|first| {
            let rows = BATCH.min(rows - first);
            Batch::new(columns.iter().map(|c| c.slice(first, rows)).collect(), rows)
        })
        .collect()
}

fn text(numbers: &[i64]) -> Vector {
    let values: Vec<Value> = numbers.iter().map(|n| Value::text(&format!("Customer#{n:09}"))).collect();
    Vector::from_values(Type::Text, &values)
}

/// Sink, step and probe nanoseconds a row, least of several runs; and the table's kind.
fn measure(
    kind: Kind,
    dense_keys: bool,
    keys: &Vector,
    payload: usize,
    narrow: bool,
    asked: &Vector,
) -> (f64, f64, f64, String) {
    let rows = keys.len();
    let numbers: Vec<i64> = (0..rows as i64).collect();
    let mut columns = vec![keys.clone()];
    // Narrow ones fit a table's entries, where the build side is said to be unique.
    let numbers = if narrow { numbers.iter().map(|n| n % 10_000).collect() } else { numbers };
    columns.extend((0..payload).map(|_| Vector::from_i64(Type::BigInt, numbers.clone())));
    let build = Side { types: columns.iter().map(Vector::ty).collect(), rows: vec![] };
    let probe_columns = [asked.clone(), Vector::from_i64(Type::BigInt, vec![7; asked.len()])];
    let probe = Side { types: probe_columns.iter().map(Vector::ty).collect(), rows: vec![] };
    let mut output = vec![JoinOutput::Probe(1)];
    if kind == Kind::Inner {
        output.extend((1..=payload).map(JoinOutput::Build));
    }
    let columns_out = output
        .iter()
        .map(|_| OutputColumn { name: "o".into(), ty: Type::BigInt, nullable: false, bounds: None })
        .collect();
    let node = PhysicalNode::HashJoin {
        probe: Box::new(probe.plan()),
        build: Box::new(build.plan()),
        kind,
        probe_keys: vec![Expr::input(0, asked.ty())],
        build_keys: vec![Expr::input(0, keys.ty())],
        residual: None,
        null_equals_null: false,
        null_aware: false,
        output,
        fills: vec![],
        build_unique: narrow,
    };
    let mut plan = PhysicalPlan::new(node, columns_out, 1.0);
    plan.number();
    let (build, probe) = (batches(&columns), batches(&probe_columns));
    let mut least = (f64::MAX, f64::MAX, f64::MAX);
    let mut table = String::new();
    for _ in 0..(4_000_000 / rows).clamp(5, 30) {
        let query = query(
            ExecutionSettings { switches: switches(dense_keys, false), ..ExecutionSettings::default() },
            &plan,
        );
        let join = HashJoin::new(&plan, &query, false).unwrap();
        let context = WorkContext::detached();
        let work = Work { query: &query, context: &context };
        let sink = join.build_sink();
        let mut local = sink.local();
        let started = Instant::now();
        for (tag, batch) in build.iter().enumerate() {
            sink.consume(batch.clone(), tag as u64, &mut local, &work).unwrap();
        }
        sink.finish(vec![local], &query).unwrap();
        let collected = started.elapsed().as_nanos() as f64 / rows as f64;
        let started = Instant::now();
        let step = join.build_step();
        for task in 0..step.start(&query).unwrap() {
            step.run(task, &work).unwrap();
        }
        step.finish(&query).unwrap();
        let filled = started.elapsed().as_nanos() as f64 / rows as f64;
        let transform = join.probe();
        let mut local = transform.local();
        let started = Instant::now();
        for batch in &probe {
            let mut push = |batch: Batch| {
                black_box(batch);
                Ok(Flow::More)
            };
            transform.transform(batch.clone(), &mut local, &work, &mut push).unwrap();
        }
        let probed = started.elapsed().as_nanos() as f64 / asked.len() as f64;
        least = (least.0.min(collected), least.1.min(filled), least.2.min(probed));
        table = join.built().unwrap().table.shape().describe();
    }
    (least.0, least.1, least.2, table)
}

#[test]
#[ignore = "a measurement"]
fn joins() {
    println!("{:>8} {:<26} {:<24} | {:>6} {:>6} | {:>6}", "build", "keys", "table", "sink", "step", "probe");
    for rows in [10_000i64, 1_000_000] {
        let mut random = Random::new(77);
        let ids: Vec<i64> = (0..rows).collect();
        let mut shuffled = ids.clone();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, random.below(at as u64 + 1) as usize);
        }
        let scaled = |ids: &[i64], factor: i64| {
            Vector::from_i64(Type::BigInt, ids.iter().map(|i| i * factor).collect())
        };
        let asked: Vec<i64> = (0..2_000_000).map(|_| random.below(rows as u64) as i64).collect();
        let mut clustered = asked.clone();
        clustered.sort_unstable();
        let few: Vec<i64> = asked.iter().map(|a| a + if random.chance(90) { rows } else { 0 }).collect();
        let quarter: Vec<i64> = shuffled.iter().map(|i| i / 4).collect();
        let strings = &asked[..500_000];
        type Case = (&'static str, Kind, bool, Vector, Vector);
        let cases: Vec<Case> = vec![
            ("1..n in order", Kind::Inner, true, scaled(&ids, 1), scaled(&asked, 1)),
            ("4n in order, clustered", Kind::Inner, true, scaled(&ids, 4), scaled(&clustered, 4)),
            ("4n in order", Kind::Inner, true, scaled(&ids, 4), scaled(&asked, 4)),
            ("4n", Kind::Inner, true, scaled(&shuffled, 4), scaled(&asked, 4)),
            ("4n, semi", Kind::ProbeSemi, true, scaled(&shuffled, 4), scaled(&asked, 4)),
            ("4n, build semi", Kind::BuildSemi, true, scaled(&shuffled, 4), scaled(&asked, 4)),
            ("1000n", Kind::Inner, true, scaled(&shuffled, 1000), scaled(&asked, 1000)),
            ("1000n, 10 % match", Kind::Inner, true, scaled(&shuffled, 1000), scaled(&few, 1000)),
            ("2^36 n", Kind::Inner, true, scaled(&shuffled, 1 << 36), scaled(&asked, 1 << 36)),
            ("n, dense_keys off", Kind::Inner, false, scaled(&shuffled, 1), scaled(&asked, 1)),
            (
                "n/4 (4 matches a row)",
                Kind::Inner,
                true,
                scaled(&quarter, 1),
                scaled(&asked[..500_000].iter().map(|a| a / 4).collect::<Vec<_>>(), 1),
            ),
            ("text", Kind::Inner, true, text(&shuffled), text(strings)),
        ];
        for (name, kind, dense, keys, asked) in cases {
            for narrow in [false, true] {
                let (sink, step, probe, table) = measure(kind, dense, &keys, 2, narrow, &asked);
                println!("{rows:>8} {name:<26} {table:<24} | {sink:>6.2} {step:>6.2} | {probe:>6.2}");
            }
        }
    }
}
