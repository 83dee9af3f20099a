//! Joins whose build columns go into the table: against nested loops, and when the keys are not unique after all.

use plan::{Expr, JoinOutput, OutputColumn, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan};
use types::{Type, Value};

use super::HashJoin;
use super::tests::{Parts, Random, Row, Side, assert_same, expected, query, run, switches};
use crate::context::ExecutionSettings;

/// Key, then what may be packed: 4 bits with NULLs, 12 bits, a bit, text of few values, and 40 bits that do not fit.
const TYPES: [Type; 6] =
    [Type::BigInt, Type::Integer, Type::SmallInt, Type::Boolean, Type::Text, Type::BigInt];

fn build(rows: usize, factor: i64, repeats: bool, random: &mut Random) -> Side {
    let mut rows: Vec<Row> = (0..rows as i64)
        .map(|n| {
            let null = random.chance(10);
            vec![
                if random.chance(3) {
                    Value::Null
                } else {
                    Value::I64(if repeats { n / 3 } else { n } * factor - 50)
                },
                if null { Value::Null } else { Value::I32(random.below(13) - 6) },
                Value::I16(random.below(4000) as i16 - 2000),
                if random.chance(10) { Value::Null } else { Value::Bool(random.chance(50)) },
                if null {
                    Value::Null
                } else {
                    Value::text(&format!("a text longer than a view {}", random.below(5)))
                },
                Value::I64(random.below(1u64 << 40) as i64),
            ]
        })
        .collect();
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at as u64 + 1) as usize);
    }
    Side { types: TYPES.to_vec(), rows }
}

fn plan(kind: Kind, probe: &Side, build: &Side, taken: &[usize]) -> PhysicalPlan {
    let output: Vec<JoinOutput> =
        std::iter::once(JoinOutput::Probe(0)).chain(taken.iter().map(|c| JoinOutput::Build(*c))).collect();
    let types = std::iter::once(probe.types[0]).chain(taken.iter().map(|c| build.types[*c]));
    let columns =
        types.map(|ty| OutputColumn { name: "o".into(), ty, nullable: true, bounds: None }).collect();
    let node = PhysicalNode::HashJoin {
        probe: Box::new(probe.plan()),
        build: Box::new(build.plan()),
        kind,
        probe_keys: vec![Expr::input(0, Type::BigInt)],
        build_keys: vec![Expr::input(0, Type::BigInt)],
        residual: None,
        null_equals_null: false,
        null_aware: false,
        output,
        fills: vec![],
        build_unique: true,
    };
    let mut plan = PhysicalPlan::new(node, columns, 1.0);
    plan.number();
    plan
}

#[test]
fn build_columns_in_the_table_come_out_as_they_went_in() {
    let mut random = Random::new(0xFACADE);
    let (mut packed, mut repeated, mut wide) = (0, 0, 0);
    for round in 0..90 {
        // Dense codes, codes for an array, codes for a hash table.
        let factor = [1, 5, 100_003][round % 3];
        let repeats = random.chance(20);
        let rows = [0, 3, 200, 700][random.below(4) as usize];
        let build = build(rows, factor, repeats, &mut random);
        let probe = Side {
            types: vec![Type::BigInt],
            rows: (0..200)
                .map(|_| match random.below(20) {
                    0 => vec![Value::Null],
                    _ => vec![Value::I64((random.below(rows as u64 + 20) as i64 - 10) * factor - 50)],
                })
                .collect(),
        };
        let mut taken: Vec<usize> = (1..5).filter(|_| random.chance(60)).collect();
        if taken.is_empty() || random.chance(10) {
            taken.push(5);
        }
        for kind in [Kind::Inner, Kind::ProbeOuter] {
            let plan = plan(kind, &probe, &build, &taken);
            let settings = ExecutionSettings {
                batch_rows: if random.chance(50) { 100 } else { 4096 },
                switches: switches(random.chance(70), random.chance(30)),
                ..ExecutionSettings::default()
            };
            let query = query(settings, &plan);
            let join = HashJoin::new(&plan, &query, false).unwrap();
            let parts = Parts {
                sink: join.build_sink(),
                steps: vec![join.build_step()],
                probe: join.probe(),
                emits: true,
                build_rows: None,
            };
            let actual = run(&parts, &query, &probe, &build, &mut random);
            let equal = |p: &Row, b: &Row| (!p[0].is_null() && !b[0].is_null()).then(|| p[0] == b[0]);
            let wanted = expected(kind, false, &probe, &build, &equal, &|_, _| true)
                .into_iter()
                .map(|row| {
                    std::iter::once(0).chain(taken.iter().map(|c| c + 1)).map(|c| row[c].clone()).collect()
                })
                .collect();
            assert_same(actual, wanted, &format!("round {round} {kind:?} {taken:?}"));
            let built = join.built().unwrap();
            packed += usize::from(built.payload.is_some() && rows > 3);
            repeated += usize::from(repeats && rows > 3 && built.payload.is_none());
            wide += usize::from(taken.contains(&5) && rows > 3);
            assert!(!(taken.contains(&5) && rows > 3 && built.payload.is_some()), "40 bits do not fit");
            assert!(!(repeats && rows > 3 && built.payload.is_some()), "keys repeat");
        }
    }
    assert!(packed > 30 && repeated > 5 && wide > 3, "{packed} packed, {repeated} repeated, {wide} wide");
}
