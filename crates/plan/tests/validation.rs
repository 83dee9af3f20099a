//! Plans that break a rule are refused, each by an error that says which.

mod plans;

use plan::encoding::{decode, encode};
use plan::validate::Computed;
use plan::{
    AggregateCall, AggregateFunction, Arithmetic, Exchange, ExchangeKind, ExchangeNumber, Expr, ExprKind,
    FetchOutput, FilterId, JoinOutput, NodeId, PhysicalNode as N, PhysicalPlan,
};
use types::{Bound, ColumnPredicate, Comparison, SqlState, Type, Value};

/// The plan with something changed in it, which must be refused with this in the message.
fn refused(at: usize, said: &str, change: impl FnOnce(&mut PhysicalPlan)) {
    let mut plan = plans::all().swap_remove(at);
    plan.validate().unwrap();
    change(&mut plan);
    let error = plan.validate().unwrap_err();
    assert_eq!(error.state(), SqlState::DataCorrupted);
    assert!(error.message().contains(said), "{} instead of {said}", error.message());
    // Nor is it decoded, where it can be encoded at all.
    if let Ok(bytes) = encode(&plan) {
        assert!(decode::<PhysicalPlan>(&bytes).is_err(), "{said}");
    }
}

const FETCH: usize = 0;
const PROJECT: usize = 1;
const WINDOW: usize = 2;
const AGGREGATE: usize = 3;
const FILE: usize = 5;
const EXCHANGES: usize = 6;

fn scan(plan: &mut PhysicalPlan) -> &mut PhysicalPlan {
    if matches!(plan.node, N::TableScan { .. }) {
        return plan;
    }
    scan(plan.children_mut().swap_remove(0))
}

fn join(plan: &mut PhysicalPlan) -> &mut PhysicalPlan {
    plan.children_mut().swap_remove(0)
}

fn project(plan: &mut PhysicalPlan, at: usize, expr: Expr) {
    let N::Project { expressions, .. } = &mut plan.node else { panic!("a projection") };
    plan.output[at].ty = expr.ty;
    expressions[at] = expr;
}

fn number(at: usize) -> Expr {
    Expr::input(at, Type::Integer)
}

#[test]
fn positions_lie_within_what_is_delivered() {
    refused(PROJECT, "no input 4", |plan| project(plan, 0, number(4)));
    refused(PROJECT, "which is TEXT, as INTEGER", |plan| project(plan, 0, number(1)));
    refused(PROJECT, "other columns", |plan| {
        plan.output.pop();
    });
    refused(FETCH, "no reference", |plan| {
        let N::Fetch { output, .. } = &mut plan.node else { panic!() };
        output[1] = FetchOutput::Late { reference: 1, column: 0 };
    });
    refused(FETCH, "not BIGINT", |plan| {
        let N::Fetch { references, .. } = &mut plan.node else { panic!() };
        references[0].column = 1;
    });
    for (wrong, said) in [
        (JoinOutput::Probe(9), "does not have"),
        (JoinOutput::Build(1), "does not have"),
        (JoinOutput::Mark, "does not have"),
        (JoinOutput::Probe(1), "TEXT is delivered as INTEGER"),
    ] {
        refused(FETCH, said, |plan| {
            let N::HashJoin { output, .. } = &mut join(plan).node else { panic!() };
            output[0] = wrong;
        });
    }
    refused(PROJECT, "not fetched is delivered", |plan| {
        let N::TableScan { projection, .. } = &mut scan(plan).node else { panic!() };
        projection[0] = 17;
    });
    refused(PROJECT, "not fetched", |plan| {
        let N::TableScan { predicates, .. } = &mut scan(plan).node else { panic!() };
        // The reference to the row is no column of the table.
        predicates[0] = (3, ColumnPredicate::IsNotNull);
    });
    refused(FILE, "the file does not have", |plan| {
        let N::FileScan { columns, .. } = &mut plan.node else { panic!() };
        columns[0] = 2;
    });
    refused(WINDOW, "more keys", |plan| {
        let N::Window { calls, .. } = &mut plan.node else { panic!() };
        calls[0].peers = 2;
    });
    refused(FETCH, "has the number", |plan| plan.id = NodeId(3));
}

#[test]
fn exchanges_have_keys_and_numbers_of_their_own() {
    let at = |plan: &mut PhysicalPlan, change: &dyn Fn(&mut Exchange)| {
        // Under the gather is the scatter, and so on down to the hash.
        let mut node = plan;
        while let N::Exchange { input, exchange } = &mut node.node {
            change(exchange);
            node = input;
        }
    };
    refused(EXCHANGES, "exchange 3 comes twice", |plan| {
        at(plan, &|exchange| exchange.number = ExchangeNumber(exchange.number.0.max(3)));
    });
    refused(EXCHANGES, "an exchange by no key", |plan| {
        at(plan, &|exchange| {
            if let ExchangeKind::Hash { keys } = &mut exchange.kind {
                keys.clear();
            }
        });
    });
    refused(EXCHANGES, "no input 4", |plan| {
        at(plan, &|exchange| {
            if let ExchangeKind::Range { keys } = &mut exchange.kind {
                keys[0].expr = number(4);
            }
        });
    });
    refused(EXCHANGES, "is delivered as", |plan| plan.output[0].ty = Type::Text);
}

#[test]
fn filters_are_filled_above_where_they_are_used() {
    refused(FETCH, "no join fills filter 4", |plan| {
        let N::HashJoin { fills, .. } = &mut join(plan).node else { panic!() };
        fills.clear();
    });
    refused(FETCH, "of no key", |plan| {
        let N::HashJoin { fills, .. } = &mut join(plan).node else { panic!() };
        fills[0] = (FilterId(4), 1);
    });
    refused(FETCH, "filter 4 of INTEGER is used on TEXT", |plan| {
        let N::TableScan { runtime_filters, .. } = &mut scan(plan).node else { panic!() };
        runtime_filters[0].column = 1;
    });
}

#[test]
fn operands_fit_each_other_and_the_result() {
    let wrong =
        |kind: ExprKind, ty: Type| move |plan: &mut PhysicalPlan| project(plan, 0, Expr::new(kind, ty));
    let boxed = |at: usize, ty: Type| Box::new(Expr::input(at, ty));
    let money = Type::Decimal { precision: 15, scale: 2 };
    let compare = |left: Box<Expr>, right: Box<Expr>| ExprKind::Compare { op: Comparison::Less, left, right };
    let apply =
        |op, left: Box<Expr>, right: Box<Expr>| ExprKind::Arithmetic { op, left, right, checked: true };
    let integer = || boxed(0, Type::Integer);
    let text = || boxed(1, Type::Text);
    refused(PROJECT, "a comparison of (INTEGER, TEXT)", wrong(compare(integer(), text()), Type::Boolean));
    refused(PROJECT, "a comparison", wrong(compare(integer(), integer()), Type::Integer));
    refused(PROJECT, "AND or OR", wrong(ExprKind::And(vec![number(0), Expr::boolean(true)]), Type::Boolean));
    refused(PROJECT, "AND or OR", wrong(ExprKind::Or(vec![Expr::boolean(true)]), Type::Boolean));
    refused(PROJECT, "+ of", wrong(apply(Arithmetic::Add, integer(), text()), Type::Integer));
    let product = apply(Arithmetic::Multiply, boxed(2, money), boxed(2, money));
    refused(PROJECT, "* of", wrong(product, Type::Decimal { precision: 30, scale: 2 }));
    let dates = apply(Arithmetic::Add, integer(), integer());
    refused(PROJECT, "+ of", wrong(dates, Type::Date));
    let case = ExprKind::Case { branches: vec![(number(0), number(0))], otherwise: None };
    refused(PROJECT, "CASE", wrong(case, Type::Integer));
    let case = ExprKind::Case { branches: vec![(Expr::boolean(true), *text())], otherwise: None };
    refused(PROJECT, "CASE", wrong(case, Type::Integer));
    let list = |values: Vec<Value>| ExprKind::InList {
        input: integer(),
        values: values.into(),
        has_null: false,
        negated: false,
    };
    refused(PROJECT, "not sorted", wrong(list(vec![Value::I32(2), Value::I32(1)]), Type::Boolean));
    refused(PROJECT, "a value twice", wrong(list(vec![Value::I32(2), Value::I32(2)]), Type::Boolean));
    refused(PROJECT, "a NULL in a list", wrong(list(vec![Value::I32(2), Value::Null]), Type::Boolean));
    refused(PROJECT, "not held as", wrong(list(vec![Value::I64(2)]), Type::Boolean));
    let lambda = Expr::new(ExprKind::Lambda(std::sync::Arc::new(number(0))), Type::Integer);
    refused(PROJECT, "a lambda", wrong(lambda.kind.clone(), Type::Integer));
    let call = ExprKind::Library { name: "md5".into(), arguments: vec![number(0), lambda] };
    refused(PROJECT, "a lambda over no list", wrong(call, Type::Text));
    refused(PROJECT, "no column 0", wrong(ExprKind::Column(plan::ColumnId(0)), Type::Integer));
    refused(AGGREGATE, "sum of TEXT", |plan| {
        let N::Aggregate { aggregates, .. } = &mut plan.node else { panic!() };
        aggregates[1].argument = Some(Expr::input(1, Type::Text));
    });
    refused(AGGREGATE, "sum of nothing", |plan| {
        let N::Aggregate { aggregates, .. } = &mut plan.node else { panic!() };
        let function = AggregateFunction::Sum;
        aggregates[1] =
            AggregateCall { function, argument: None, distinct: false, filter: None, ty: Type::BigInt };
    });
}

#[test]
fn values_are_of_their_types() {
    let mood = Type::enumeration(Some("mood"), vec!["sad".into(), "ok".into()]).unwrap();
    let list = Type::list(Type::Text).unwrap();
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.into());
    for (value, ty) in [
        (Value::I32(1), Type::BigInt),
        (bytes(b"\xFF"), Type::Text),
        (bytes(b"{"), Type::Json),
        (bytes(b"{\"a\":1}"), Type::Jsonb),
        (Value::I32(2), mood),
        (Value::I16(300), Type::UTinyInt),
        (Value::I64(-1), Type::Time),
        (bytes(b"012"), Type::BITS),
        (bytes(b""), list),
        (bytes(&[1, b'a', 0, 0]), list),
        (bytes(&[1, 0xFF, 0, 0, 0]), list),
        (Value::Bool(true), Type::Null),
    ] {
        refused(PROJECT, "a value that is no", |plan| project(plan, 0, Expr::literal(value, ty)));
    }
    let mut plan = plans::all().swap_remove(PROJECT);
    project(&mut plan, 0, Expr::literal(bytes(&[1, b'a', 0, 0, 2, 0]), list));
    plan.validate().unwrap();
    refused(PROJECT, "not held as", |plan| {
        let N::TableScan { predicates, .. } = &mut scan(plan).node else { panic!() };
        let low = Some(Bound { value: Value::text("x"), inclusive: true });
        predicates[0] = (0, ColumnPredicate::Range { low, high: None });
    });
}

#[test]
fn expressions_are_not_nested_without_end() {
    refused(PROJECT, "nested deeper", |plan| {
        let deep = (0..1001)
            .fold(Expr::boolean(true), |inner, _| Expr::new(ExprKind::Not(Box::new(inner)), Type::Boolean));
        project(plan, 0, deep);
    });
}

#[test]
fn what_was_computed_before_is_held_against_what_is_known() {
    let plan = plans::all().swap_remove(PROJECT);
    let over = |subqueries: Vec<Type>| {
        let computed = Computed { subqueries: Some(subqueries), materialized: None };
        plan.validate_over(&computed)
    };
    assert!(over(vec![Type::Real; 3]).is_ok());
    assert!(over(vec![Type::Real; 2]).unwrap_err().message().contains("no subquery 2"));
    assert!(over(vec![Type::Text; 3]).unwrap_err().message().contains("is no REAL"));
    let reading = plans::all().swap_remove(4);
    let over = |materialized: Vec<Vec<Type>>| {
        let computed = Computed { subqueries: None, materialized: Some(materialized) };
        reading.validate_over(&computed)
    };
    assert!(over(vec![vec![Type::Integer, Type::BigInt, Type::BigInt]]).is_ok());
    assert!(over(vec![vec![Type::Integer, Type::BigInt]]).is_err());
    assert!(over(vec![vec![Type::Integer, Type::Text, Type::BigInt]]).is_err());
    assert!(over(vec![]).is_err());
}
