//! Nested loops in the conformance suite of joins.

use plan::{Expr, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan};
use types::{Comparison, Type, Value};

use super::NestedLoopJoin;
use crate::context::ExecutionSettings;
use crate::hash_join::tests::{KINDS, Parts, Random, Row, Side, assert_same, expected, output, query, run};

fn side(rows: usize, name: &str, random: &mut Random) -> Side {
    let rows = (0..rows)
        .map(|at| {
            let number = if random.chance(15) { Value::Null } else { Value::I32(random.below(10)) };
            vec![number, Value::text(&format!("row {at} of the {name} side"))]
        })
        .collect();
    Side { types: vec![Type::Integer, Type::Text], rows }
}

fn check(
    kind: Kind,
    op: Option<Comparison>,
    null_aware: bool,
    probe: &Side,
    build: &Side,
    limit: usize,
    random: &mut Random,
) {
    let (join_output, columns) = output(kind, probe, build);
    let predicate =
        op.map(|op| Expr::compare(op, Expr::input(0, Type::Integer), Expr::input(2, Type::Integer)));
    let node = PhysicalNode::NestedLoopJoin {
        probe: Box::new(probe.plan()),
        build: Box::new(build.plan()),
        kind,
        predicate,
        null_aware,
        by_range: false,
        output: join_output,
    };
    let mut plan = PhysicalPlan::new(node, columns, 1.0);
    plan.number();
    let settings = ExecutionSettings { batch_rows: limit, ..ExecutionSettings::default() };
    let query = query(settings, &plan);
    let join = NestedLoopJoin::new(&plan, &query).unwrap();
    let parts = Parts {
        sink: join.build_sink(),
        steps: vec![join.build_step()],
        probe: join.probe(),
        emits: join.probe_emits(),
        build_rows: join.build_rows(),
    };
    let actual = run(&parts, &query, probe, build, random);
    let compare = |p: &Row, b: &Row| match (&op, p[0].is_null() || b[0].is_null()) {
        (None, _) => Some(true),
        (Some(_), true) => None,
        (Some(op), false) => Some(op.holds(p[0].total_cmp(&b[0]))),
    };
    let wanted = expected(kind, null_aware, probe, build, &compare, &|_, _| true);
    let what = format!("{kind:?} {op:?} null_aware {null_aware} {} x {}", probe.rows.len(), build.rows.len());
    assert_same(actual, wanted, &what);
}

#[test]
fn every_kind_agrees_with_the_oracle() {
    let mut random = Random::new(0xB0A7);
    for (probe_rows, build_rows) in [(0, 0), (0, 5), (5, 0), (30, 1), (1, 30), (40, 12), (12, 40)] {
        for limit in [4, 1000] {
            for op in [None, Some(Comparison::Less), Some(Comparison::NotEqual), Some(Comparison::Equal)] {
                let probe = side(probe_rows, "probe", &mut random);
                let build = side(build_rows, "build", &mut random);
                for kind in KINDS {
                    check(kind, op, false, &probe, &build, limit, &mut random);
                    if matches!(kind, Kind::ProbeAnti | Kind::BuildAnti | Kind::ProbeMark) {
                        check(kind, op, true, &probe, &build, limit, &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn one_build_row_meets_large_batches() {
    let mut random = Random::new(12);
    let probe = side(2000, "probe", &mut random);
    let build = side(1, "build", &mut random);
    for kind in KINDS {
        check(kind, None, false, &probe, &build, 4096, &mut random);
        check(kind, Some(Comparison::GreaterOrEqual), false, &probe, &build, 4096, &mut random);
    }
}
