//! Programs from elsewhere: they come back from their encoding, and rules of their steps are held.

use plan::encoding::{decode, encode};
use plan::program::{Bind, Loop, Materialize, Program, Remaining, Step, Until};
use plan::{ColumnTable, LogicalPlan, LogicalQuery, OutputColumn, PhysicalNode, PhysicalPlan};
use types::{Field, Type, Value};

fn rows(columns: usize) -> PhysicalPlan {
    let output = (0..columns)
        .map(|at| OutputColumn { name: format!("c{at}"), ty: Type::BigInt, nullable: false, bounds: None })
        .collect();
    let rows = (0..3).map(|row| vec![Value::I64(row); columns]).collect();
    let mut plan = PhysicalPlan::new(PhysicalNode::Values { rows }, output, 3.0);
    plan.number();
    plan
}

fn materialize(slot: usize, declared: usize) -> Step {
    let declared = (0..declared).map(|at| Field::new(format!("c{at}"), Type::BigInt, true)).collect();
    let title = "common table expression t".to_owned();
    Step::Materialize(Box::new(Materialize { title, plan: rows(2), slot, declared: Some(declared) }))
}

fn bind(columns: usize) -> Step {
    Step::Bind(Box::new(Bind { title: "subquery 0".to_owned(), plan: rows(columns), ty: Type::BigInt }))
}

fn repeat(step_columns: usize) -> Step {
    Step::Loop(Box::new(Loop {
        name: "t".to_owned(),
        base: rows(1),
        step: rows(step_columns),
        working: 1,
        result: 2,
        declared: vec![Field::new("c0".to_owned(), Type::BigInt, true)],
        distinct: true,
        until: Some(Until { rows: 10, counted: Some(rows(1)) }),
        keyed: None,
    }))
}

fn again() -> Step {
    let mut columns = ColumnTable::default();
    let id = columns.add("a", Type::BigInt, false);
    let query = LogicalQuery {
        plan: LogicalPlan::Values { columns: vec![id], rows: vec![vec![Value::I64(1)]] },
        columns,
        subqueries: vec![],
        common: vec![],
        materialized: 3,
        output: vec![(id, "a".to_owned())],
    };
    Step::PlanAgain(Box::new(Remaining { query, bound: vec![Type::BigInt], shared: true }))
}

fn result() -> Step {
    Step::Return(Box::new(rows(1)))
}

#[test]
fn programs_come_back_and_print_their_steps() {
    let whole = Program { steps: vec![materialize(0, 2), bind(1), repeat(1), result()] };
    let bytes = encode(&whole).unwrap();
    assert_eq!(decode::<Program>(&bytes).unwrap(), whole);
    assert_eq!(encode(&decode::<Program>(&bytes).unwrap()).unwrap(), bytes);
    let printed = whole.to_string();
    for line in [
        "1. common table expression t: rows of slot 0",
        "2. subquery 0: one value, BIGINT",
        "3. loop t: slot 2 over slot 1, rows that are new, until 10 rows",
        "4. result",
    ] {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    let begun = Program { steps: vec![bind(1), again()] };
    assert_eq!(decode::<Program>(&encode(&begun).unwrap()).unwrap(), begun);
}

#[test]
fn steps_that_break_a_rule_are_refused() {
    let broken = [
        ("no step", vec![]),
        ("no last step", vec![bind(1)]),
        ("two last steps", vec![result(), result()]),
        ("planning again in the middle", vec![again(), result()]),
        ("a subquery of two columns", vec![bind(2), result()]),
        ("a slot beyond all bounds", vec![materialize(1 << 40, 2), result()]),
        ("columns that are not delivered", vec![materialize(0, 3), result()]),
        ("a step of another width", vec![repeat(2), result()]),
    ];
    for (what, steps) in broken {
        let bytes = encode(&Program { steps }).unwrap();
        let error = decode::<Program>(&bytes).expect_err(what);
        assert!(error.message().contains("not valid"), "{what}: {error}");
    }
}
