//! Joins by a range in the conformance suite of joins: every kind, type and form of condition against nested loops;
//! and hash joins with a range of two keys, whose crowded keys are searched.

use plan::{Arithmetic, Expr, ExprKind, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan};
use types::{Comparison as C, Type, Value};

use super::RangeJoin;
use crate::context::ExecutionSettings;
use crate::hash_join::HashJoin;
use crate::hash_join::tests::{KINDS, Parts, Random, Row, Side, assert_same, expected, output, query, run};

const WIDE: Type = Type::Decimal { precision: 30, scale: 0 };
const NARROW: Type = Type::Decimal { precision: 12, scale: 2 };

/// Columns: two of the type, an INTEGER of few values, a text that tells rows apart.
const COLUMNS: usize = 4;

/// One of few values, some of them at the ends of what the type holds.
fn value(ty: Type, random: &mut Random) -> Value {
    let number = random.below(9) as i64 - 4;
    let extreme = random.chance(8);
    match ty {
        Type::SmallInt => Value::I16(if extreme { i16::MIN } else { number as i16 }),
        Type::Integer | Type::Date => Value::I32(if extreme { i32::MAX } else { number as i32 }),
        Type::BigInt | Type::Timestamp => Value::I64(if extreme { i64::MIN } else { number << 40 }),
        NARROW => Value::I64(number),
        WIDE => Value::I128(if extreme { i128::MAX } else { i128::from(number) << 70 }),
        Type::Real => Value::F32(if extreme { f32::NAN } else { number as f32 / 2.0 }),
        Type::Double => Value::F64(match (extreme, number) {
            (true, 0..) => f64::NAN,
            (true, _) => f64::NEG_INFINITY,
            (false, 0) => -0.0,
            (false, number) => (number as f64).max(0.0) / 3.0,
        }),
        _ if extreme => Value::text(""),
        _ if number % 2 == 0 => Value::text(&"ab\0c".repeat(number.unsigned_abs() as usize)),
        _ => Value::text(&format!("a text that does not fit a view {number}")),
    }
}

fn side(ty: Type, rows: usize, nulls: u64, name: &str, random: &mut Random) -> Side {
    let rows = (0..rows)
        .map(|at| {
            let mut of = |ty| if random.chance(nulls) { Value::Null } else { value(ty, random) };
            vec![of(ty), of(ty), of(Type::Integer), Value::text(&format!("row {at} of the {name} side"))]
        })
        .collect();
    Side { types: vec![ty, ty, Type::Integer, Type::Text], rows }
}

/// Comparisons of probe column and build column, all of which must hold.
type Condition = &'static [(C, usize, usize)];

const CONDITIONS: [Condition; 12] = [
    &[(C::Less, 0, 0)],
    &[(C::LessOrEqual, 0, 0)],
    &[(C::Greater, 0, 0)],
    &[(C::GreaterOrEqual, 0, 0)],
    // A build key between two of the probe row, and a probe value between two of the build row.
    &[(C::LessOrEqual, 0, 0), (C::Greater, 1, 0)],
    &[(C::GreaterOrEqual, 0, 0), (C::Less, 0, 1)],
    // Overlaps.
    &[(C::LessOrEqual, 0, 1), (C::GreaterOrEqual, 1, 0)],
    // Both from one side, in either direction.
    &[(C::Less, 0, 0), (C::Less, 1, 1)],
    &[(C::Greater, 0, 0), (C::GreaterOrEqual, 1, 1)],
    // Closed by two, closed by both, and with more than ranges say.
    &[(C::LessOrEqual, 0, 0), (C::Greater, 1, 0), (C::LessOrEqual, 0, 1), (C::Greater, 1, 1)],
    &[(C::LessOrEqual, 0, 0), (C::NotEqual, 2, 2)],
    &[(C::Less, 0, 0), (C::Greater, 1, 1), (C::LessOrEqual, 2, 2)],
];

fn predicate(condition: Condition, ty: Type) -> Expr {
    let of = |column: usize| if column == 2 { Type::Integer } else { ty };
    let parts = condition.iter().map(|(op, probe, build)| {
        // Written in either direction.
        let (probe, build) = (Expr::input(*probe, of(*probe)), Expr::input(COLUMNS + *build, of(*build)));
        if condition.len().is_multiple_of(2) {
            Expr::compare(*op, probe, build)
        } else {
            Expr::compare(op.flipped(), build, probe)
        }
    });
    let mut parts: Vec<Expr> = parts.collect();
    if parts.len() == 1 { parts.remove(0) } else { Expr::and(parts) }
}

/// Whether the condition is TRUE.
fn holds(condition: Condition, p: &Row, b: &Row) -> bool {
    condition.iter().all(|(op, probe, build)| {
        let (p, b) = (&p[*probe], &b[*build]);
        !p.is_null() && !b.is_null() && op.holds(p.total_cmp(b))
    })
}

fn range_join(
    kind: Kind,
    predicate: Expr,
    probe: &Side,
    build: &Side,
    limit: usize,
    random: &mut Random,
) -> Vec<Row> {
    let (join_output, columns) = output(kind, probe, build);
    let node = PhysicalNode::NestedLoopJoin {
        probe: Box::new(probe.plan()),
        build: Box::new(build.plan()),
        kind,
        predicate: Some(predicate),
        null_aware: false,
        by_range: true,
        output: join_output,
    };
    let mut plan = PhysicalPlan::new(node, columns, 1.0);
    plan.number();
    let query = query(ExecutionSettings { batch_rows: limit, ..ExecutionSettings::default() }, &plan);
    let join = RangeJoin::new(&plan).unwrap();
    let parts = Parts {
        sink: join.build_sink(),
        steps: vec![join.sort_step(), join.merge_step(), join.place_step()],
        probe: join.probe(),
        emits: join.probe_emits(),
        build_rows: join.build_rows(),
    };
    run(&parts, &query, probe, build, random)
}

#[test]
fn every_kind_type_and_condition_agrees_with_nested_loops() {
    let mut random = Random::new(0xFA57);
    let types = [
        Type::SmallInt,
        Type::Integer,
        Type::BigInt,
        Type::Date,
        Type::Timestamp,
        NARROW,
        WIDE,
        Type::Real,
        Type::Double,
        Type::Text,
        Type::Bytea,
    ];
    let sizes = [(0, 0), (0, 7), (7, 0), (1, 1), (20, 90), (90, 20), (70, 70)];
    for ty in types {
        for condition in CONDITIONS {
            for (probe_rows, build_rows) in sizes {
                let nulls = if random.chance(30) { 0 } else { 15 };
                let probe = side(ty, probe_rows, nulls, "probe", &mut random);
                let build = side(ty, build_rows, nulls, "build", &mut random);
                let limit = if random.chance(50) { 5 } else { 1000 };
                for kind in KINDS {
                    let actual =
                        range_join(kind, predicate(condition, ty), &probe, &build, limit, &mut random);
                    let compare = |p: &Row, b: &Row| Some(holds(condition, p, b));
                    let wanted = expected(kind, false, &probe, &build, &compare, &|_, _| true);
                    let what = format!("{kind:?} {ty:?} {condition:?} {probe_rows} x {build_rows}");
                    assert_same(actual, wanted, &what);
                }
            }
        }
    }
}

#[test]
fn many_neighbours_go_out_as_they_lie() {
    let mut random = Random::new(99);
    let probe = side(Type::Integer, 30, 10, "probe", &mut random);
    let build = side(Type::Integer, 2000, 10, "build", &mut random);
    for condition in [CONDITIONS[0], CONDITIONS[4], CONDITIONS[6]] {
        for kind in KINDS {
            let actual =
                range_join(kind, predicate(condition, Type::Integer), &probe, &build, 1024, &mut random);
            let compare = |p: &Row, b: &Row| Some(holds(condition, p, b));
            let wanted = expected(kind, false, &probe, &build, &compare, &|_, _| true);
            assert_same(actual, wanted, &format!("{kind:?} {condition:?}"));
        }
    }
}

/// A bound or a key that cannot be computed for some row ends the query only where the whole condition would.
#[test]
fn what_cannot_be_computed_is_left_to_the_whole_condition() {
    let mut random = Random::new(5);
    let probe = side(Type::Integer, 40, 0, "probe", &mut random);
    let build = side(Type::Integer, 40, 0, "build", &mut random);
    let input = |at: usize| Expr::input(at, Type::Integer);
    let number = |n: i32| Expr::literal(Value::I32(n), Type::Integer);
    let divided = |by: usize| {
        let kind = ExprKind::Arithmetic {
            op: Arithmetic::Divide,
            left: Box::new(number(100)),
            right: Box::new(input(by)),
            checked: true,
        };
        Expr::new(kind, Type::Integer)
    };
    let whole = |value: &Value| match value {
        Value::I32(value) => i64::from(*value),
        _ => 0,
    };
    for of_build in [false, true] {
        let (guarded, other) = if of_build { (COLUMNS + 2, 2) } else { (2, COLUMNS + 2) };
        let condition = Expr::and(vec![
            Expr::compare(C::NotEqual, input(guarded), number(0)),
            Expr::compare(C::Less, input(other), divided(guarded)),
        ]);
        let compare = |p: &Row, b: &Row| {
            let (guarded, other) = if of_build { (&b[2], &p[2]) } else { (&p[2], &b[2]) };
            Some(whole(guarded) != 0 && whole(other) < 100 / whole(guarded))
        };
        for kind in KINDS {
            let actual = range_join(kind, condition.clone(), &probe, &build, 16, &mut random);
            let wanted = expected(kind, false, &probe, &build, &compare, &|_, _| true);
            assert_same(actual, wanted, &format!("{kind:?} {of_build}"));
        }
    }
}

#[test]
fn crowded_keys_of_hash_joins_are_searched_by_two_keys() {
    let mut random = Random::new(0xC0DE);
    for ty in [Type::Integer, Type::Double, Type::Text, WIDE] {
        for condition in CONDITIONS {
            // Keys: the INTEGER of few values; a text that all share makes them hashed.
            for hashed in [false, true] {
                let nulls = if random.chance(50) { 0 } else { 10 };
                let mut probe = side(ty, 50, nulls, "probe", &mut random);
                let mut build = side(ty, 80, nulls, "build", &mut random);
                let mut keys = vec![2];
                if hashed {
                    for rows in [&mut probe, &mut build] {
                        rows.types.push(Type::Text);
                        rows.rows.iter_mut().for_each(|row| row.push(Value::text("the same")));
                    }
                    keys.push(COLUMNS);
                }
                let width = probe.types.len();
                for kind in KINDS {
                    let (join_output, columns) = output(kind, &probe, &build);
                    let key = |at: &usize| Expr::input(*at, probe.types[*at]);
                    let residual = predicate(condition, ty).transform(&mut |e| match e.kind {
                        ExprKind::Input(at) if at >= COLUMNS => Expr::input(at - COLUMNS + width, e.ty),
                        _ => e,
                    });
                    let node = PhysicalNode::HashJoin {
                        probe: Box::new(probe.plan()),
                        build: Box::new(build.plan()),
                        kind,
                        probe_keys: keys.iter().map(key).collect(),
                        build_keys: keys.iter().map(key).collect(),
                        residual: Some(residual),
                        null_equals_null: false,
                        null_aware: false,
                        output: join_output,
                        fills: vec![],
                        build_unique: false,
                    };
                    let mut plan = PhysicalPlan::new(node, columns, 1.0);
                    plan.number();
                    let limit = if random.chance(50) { 7 } else { 1000 };
                    let settings = ExecutionSettings { batch_rows: limit, ..ExecutionSettings::default() };
                    let query = query(settings, &plan);
                    let join = HashJoin::new(&plan, &query, false).unwrap();
                    let parts = Parts {
                        sink: join.build_sink(),
                        steps: std::iter::once(join.build_step()).chain(join.group_step()).collect(),
                        probe: join.probe(),
                        emits: join.probe_emits(),
                        build_rows: join.build_rows(),
                    };
                    assert_eq!(parts.steps.len(), 2, "the residual is a range");
                    let actual = run(&parts, &query, &probe, &build, &mut random);
                    let compare =
                        |p: &Row, b: &Row| Some(!p[2].is_null() && p[2] == b[2] && holds(condition, p, b));
                    let wanted = expected(kind, false, &probe, &build, &compare, &|_, _| true);
                    assert_same(actual, wanted, &format!("{kind:?} {ty:?} {condition:?} {hashed}"));
                }
            }
        }
    }
}
