//! Cases worth naming: the truth tables, overflow and division at the edges, laziness, sharing, the function library.

use std::sync::Arc;

use expr::{Predicate, Program, Selected, evaluate_constant, fallback, fold_constants};
use plan::{Arithmetic, Expr, ExprKind, Function};
use types::{Comparison, SqlState, Type, Value};
use vector::{Batch, Data, Vector};

fn arithmetic(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true }, ty)
}

fn library(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}

fn text(s: &str) -> Expr {
    Expr::literal(Value::text(s), Type::Text)
}

fn integers(values: &[Option<i32>]) -> Vector {
    let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::I32)).collect();
    Vector::from_values(Type::Integer, &values)
}

fn one(expression: &Expr, batch: &Batch) -> types::Result<Vec<Value>> {
    let vectors = Program::compile(std::slice::from_ref(expression))?.evaluate(batch)?;
    Ok((0..batch.rows).map(|row| vectors[0].value(row)).collect())
}

fn states(expression: &Expr, batch: &Batch) -> SqlState {
    one(expression, batch).unwrap_err().state()
}

#[test]
fn three_valued_logic() {
    let values = [Value::Bool(true), Value::Bool(false), Value::Null];
    let rows: Vec<(Value, Value)> =
        values.iter().flat_map(|a| values.iter().map(move |b| (a.clone(), b.clone()))).collect();
    let batch = Batch::new(
        vec![
            Vector::from_values(Type::Boolean, &rows.iter().map(|r| r.0.clone()).collect::<Vec<_>>()),
            Vector::from_values(Type::Boolean, &rows.iter().map(|r| r.1.clone()).collect::<Vec<_>>()),
        ],
        rows.len(),
    );
    let inputs = || vec![Expr::input(0, Type::Boolean), Expr::input(1, Type::Boolean)];
    let (t, f, n) = (Value::Bool(true), Value::Bool(false), Value::Null);
    let and = [&t, &f, &n, &f, &f, &f, &n, &f, &n].map(Clone::clone);
    let or = [&t, &t, &t, &t, &f, &n, &t, &n, &n].map(Clone::clone);
    assert_eq!(one(&Expr::and(inputs()), &batch).unwrap(), and);
    assert_eq!(one(&Expr::or(inputs()), &batch).unwrap(), or);
    let not = Expr::new(ExprKind::Not(Box::new(Expr::input(1, Type::Boolean))), Type::Boolean);
    assert_eq!(one(&not, &batch).unwrap()[..3], [f.clone(), t.clone(), n.clone()]);
    // The same with constants, where nothing is expanded.
    for (at, (a, b)) in rows.iter().enumerate() {
        let operands = vec![Expr::literal(a.clone(), Type::Boolean), Expr::literal(b.clone(), Type::Boolean)];
        assert_eq!(evaluate_constant(&Expr::and(operands.clone())).unwrap(), and[at]);
        assert_eq!(evaluate_constant(&Expr::or(operands)).unwrap(), or[at]);
    }
    // Selection keeps TRUE only.
    let selected = Predicate::compile(&Expr::input(0, Type::Boolean)).unwrap().select(&batch).unwrap();
    assert_eq!(selected, Selected::Rows(vec![0, 1, 2]));
}

#[test]
fn overflow_and_division_are_errors_but_not_in_null_rows() {
    use Arithmetic as A;
    let batch = Batch::new(
        vec![
            integers(&[Some(i32::MAX), Some(i32::MIN), Some(7)]),
            integers(&[Some(1), Some(-1), Some(2)]),
            integers(&[None, None, Some(2)]),
            integers(&[Some(0), Some(5), Some(2)]),
        ],
        3,
    );
    let i = |at| Expr::input(at, Type::Integer);
    let state = |op, a, b| states(&arithmetic(op, i(a), i(b), Type::Integer), &batch);
    assert_eq!(state(A::Add, 0, 1), SqlState::NumericValueOutOfRange);
    assert_eq!(state(A::Multiply, 0, 0), SqlState::NumericValueOutOfRange);
    assert_eq!(state(A::Divide, 0, 3), SqlState::DivisionByZero);
    assert_eq!(state(A::Modulo, 0, 3), SqlState::DivisionByZero);
    // MIN / -1 overflows, MIN % -1 is 0.
    assert_eq!(state(A::Divide, 0, 1), SqlState::NumericValueOutOfRange);
    assert_eq!(
        one(&arithmetic(A::Modulo, i(0), i(1), Type::Integer), &batch).unwrap(),
        [Value::I32(0), Value::I32(0), Value::I32(1)]
    );
    // A NULL row's hidden values overflow without being seen.
    let hidden = integers(&[Some(i32::MAX), Some(i32::MAX), Some(2)])
        .with_validity(Some(vec![false, false, true].into()));
    let zero = integers(&[Some(0), Some(0), Some(2)]).with_validity(Some(vec![false, false, true].into()));
    let batch = Batch::new(vec![hidden, zero], 3);
    for (op, expected) in [(A::Add, 4), (A::Multiply, 4), (A::Divide, 1), (A::Modulo, 0)] {
        let (a, b) = if op == A::Divide || op == A::Modulo { (0, 1) } else { (0, 0) };
        assert_eq!(
            one(&arithmetic(op, i(a), i(b), Type::Integer), &batch).unwrap(),
            [Value::Null, Value::Null, Value::I32(expected)]
        );
    }
    // Truncation towards zero, and the remainder's sign.
    let constant = |op, a, b| {
        let literal = |v| Expr::literal(Value::I32(v), Type::Integer);
        evaluate_constant(&arithmetic(op, literal(a), literal(b), Type::Integer)).unwrap()
    };
    assert_eq!(constant(A::Divide, -7, 2), Value::I32(-3));
    assert_eq!(constant(A::Modulo, -7, 2), Value::I32(-1));
    assert_eq!(constant(A::Modulo, 7, -2), Value::I32(1));
    // Floats too divide by zero, and overflow.
    let double = |v| Expr::literal(Value::F64(v), Type::Double);
    let float = |op, a, b| evaluate_constant(&arithmetic(op, double(a), double(b), Type::Double));
    assert_eq!(float(A::Divide, 1.0, 0.0).unwrap_err().state(), SqlState::DivisionByZero);
    assert_eq!(float(A::Multiply, 1e300, 1e300).unwrap_err().state(), SqlState::NumericValueOutOfRange);
    assert_eq!(float(A::Add, f64::INFINITY, 1.0).unwrap(), Value::F64(f64::INFINITY));
}

#[test]
fn decimals_round_half_away_from_zero_and_respect_precision() {
    let d = |precision, scale| Type::Decimal { precision, scale };
    let literal = |v: i128, ty: Type| Expr::literal(Value::from_i128(v, ty.physical()).unwrap(), ty);
    let divide = |a, b, ty| evaluate_constant(&arithmetic(Arithmetic::Divide, a, b, ty));
    // 1.00 / 3.00 and 2.00 / 3.00 at scale 6.
    assert_eq!(
        divide(literal(100, d(15, 2)), literal(300, d(15, 2)), d(38, 6)).unwrap(),
        Value::I128(333_333)
    );
    assert_eq!(
        divide(literal(-200, d(15, 2)), literal(300, d(15, 2)), d(18, 6)).unwrap(),
        Value::I64(-666_667)
    );
    // A numerator beyond 128 bits: 10^37 / 7 at scale 20 has 57 digits and does not fit; / 10^30 does.
    let large = literal(10i128.pow(37), d(38, 0));
    assert_eq!(
        divide(large.clone(), literal(7, d(38, 0)), d(38, 20)).unwrap_err().state(),
        SqlState::NumericValueOutOfRange
    );
    assert_eq!(
        divide(large, literal(3 * 10i128.pow(30), d(38, 0)), d(38, 20)).unwrap(),
        Value::I128(333_333_333_333_333_333_333_333_333)
    );
    // 99.99 * 99.99 needs 8 digits: 7 are too few.
    let product = |ty| {
        evaluate_constant(&arithmetic(
            Arithmetic::Multiply,
            literal(9999, d(4, 2)),
            literal(9999, d(4, 2)),
            ty,
        ))
    };
    assert_eq!(product(d(8, 4)).unwrap(), Value::I64(99_980_001));
    assert_eq!(product(d(7, 4)).unwrap_err().state(), SqlState::NumericValueOutOfRange);
}

#[test]
fn case_and_conjunctions_do_not_evaluate_what_is_not_asked_for() {
    let batch = Batch::new(vec![integers(&[Some(0), Some(2), Some(5), None])], 4);
    let x = || Expr::input(0, Type::Integer);
    let int = |v| Expr::literal(Value::I32(v), Type::Integer);
    let quotient = || arithmetic(Arithmetic::Divide, int(10), x(), Type::Integer);
    let zero = || Expr::compare(Comparison::Equal, x(), int(0));
    let case = Expr::new(
        ExprKind::Case { branches: vec![(zero(), int(-1))], otherwise: Some(Box::new(quotient())) },
        Type::Integer,
    );
    assert_eq!(one(&case, &batch).unwrap(), [Value::I32(-1), Value::I32(5), Value::I32(2), Value::Null]);
    let guarded = Expr::and(vec![
        Expr::compare(Comparison::Greater, quotient(), int(3)),
        Expr::compare(Comparison::NotEqual, x(), int(0)),
    ]);
    assert_eq!(
        one(&guarded, &batch).unwrap(),
        [Value::Bool(false), Value::Bool(true), Value::Bool(false), Value::Null]
    );
    assert_eq!(Predicate::compile(&guarded).unwrap().select(&batch).unwrap(), Selected::Rows(vec![1]));
    // COALESCE stops at the first value; checked overflow in the branch not taken is no error.
    let coalesce = Expr::new(
        ExprKind::Function { function: Function::Coalesce, arguments: vec![int(1), quotient()] },
        Type::Integer,
    );
    assert_eq!(one(&coalesce, &batch).unwrap(), vec![Value::I32(1); 4]);
    let large = arithmetic(Arithmetic::Multiply, x(), int(i32::MAX), Type::Integer);
    let case = Expr::new(
        ExprKind::Case {
            branches: vec![(Expr::compare(Comparison::Greater, x(), int(1)), int(7))],
            otherwise: Some(Box::new(large)),
        },
        Type::Integer,
    );
    assert_eq!(one(&case, &batch).unwrap(), [Value::I32(0), Value::I32(7), Value::I32(7), Value::Null]);
}

#[test]
fn equal_parts_are_one() {
    let x = || Expr::input(0, Type::Integer);
    let sum = || arithmetic(Arithmetic::Add, x(), Expr::literal(Value::I32(1), Type::Integer), Type::Integer);
    let square = || arithmetic(Arithmetic::Multiply, sum(), sum(), Type::Integer);
    let program = Program::compile(&[sum(), square(), square()]).unwrap();
    // The input, the literal, the sum, the square.
    assert_eq!(program.distinct_parts(), 4);
    let results = program.evaluate(&Batch::new(vec![integers(&[Some(2), None])], 2)).unwrap();
    assert_eq!((results[0].value(0), results[2].value(0)), (Value::I32(3), Value::I32(9)));
    // One computation: the two results share their buffer.
    let place = |v: &Vector| match v.data() {
        Data::I32(values) => values.as_ptr() as usize,
        other => panic!("{other:?}"),
    };
    assert_eq!(place(&results[1]), place(&results[2]));
    // Literals of one value and different types, and random numbers, are kept apart.
    let random = || library("random", vec![], Type::Double);
    let apart = [
        Expr::literal(Value::I32(1), Type::Integer),
        Expr::literal(Value::I64(1), Type::BigInt),
        Expr::literal(Value::F64(0.0), Type::Double),
        Expr::literal(Value::F64(-0.0), Type::Double),
        random(),
        random(),
    ];
    let program = Program::compile(&apart).unwrap();
    assert_eq!(program.distinct_parts(), 6);
    let results = program.evaluate(&Batch::new(vec![], 2)).unwrap();
    assert_ne!(results[4].value(0), results[5].value(0));
    assert_ne!(results[4].value(0), results[4].value(1));
}

#[test]
fn dictionaries_are_evaluated_once_a_value() {
    let values =
        Arc::new(Vector::from_values(Type::Text, &["13-345", "31-999", "not a number"].map(Value::text)));
    let codes: Vec<u32> = (0..1000).map(|i| i % 2).collect();
    let batch = Batch::new(vec![Vector::dictionary(codes.into(), values, None)], 1000);
    let long = |v| Expr::literal(Value::I64(v), Type::BigInt);
    let prefix = Expr::new(
        ExprKind::Function {
            function: Function::Substring,
            arguments: vec![Expr::input(0, Type::Text), long(1), long(2)],
        },
        Type::Text,
    );
    let results = Program::compile(std::slice::from_ref(&prefix)).unwrap().evaluate(&batch).unwrap();
    assert!(matches!(results[0].data(), Data::Dictionary { .. }));
    assert_eq!(results[0].value(1), Value::text("31"));
    // The value that no row has may fail: the rows decide.
    let number = prefix.cast(Type::Integer);
    let results = one(&number, &batch).unwrap();
    assert_eq!((&results[0], &results[1]), (&Value::I32(13), &Value::I32(31)));
}

#[test]
fn constants_fold_and_failures_stay() {
    let int = |v| Expr::literal(Value::I32(v), Type::Integer);
    let sum = arithmetic(Arithmetic::Add, int(1), int(2), Type::Integer);
    assert_eq!(fold_constants(sum), int(3));
    let broken = arithmetic(Arithmetic::Divide, int(1), int(0), Type::Integer);
    assert_eq!(fold_constants(broken.clone()), broken);
    let random = library("random", vec![], Type::Double);
    assert_eq!(fold_constants(random.clone()), random);
    assert_eq!(fold_constants(library("reverse", vec![text("abc")], Type::Text)), text("cba"));
}

#[test]
fn the_library_by_name() {
    assert!(fallback::function_exists("round") && fallback::function_exists("date_trunc"));
    assert!(!fallback::function_exists("no_such_function"));
    let missing = library("no_such_function", vec![], Type::Text);
    assert_eq!(Program::compile(&[missing]).unwrap_err().state(), SqlState::UndefinedFunction);
    // A plan from elsewhere may say that a function gives what it does not.
    let kind = ExprKind::Library {
        name: "md5".into(),
        arguments: vec![Expr::literal(Value::text("a"), Type::Text)],
    };
    let error = Program::compile(&[Expr::new(kind, Type::Double)]).unwrap_err();
    assert!(error.message().contains("md5 gives no"), "{error}");
    let batch = Batch::new(
        vec![
            Vector::from_values(Type::Text, &[Value::text("a,b"), Value::Null, Value::text("c,d")]),
            integers(&[Some(1), Some(2), Some(3)]),
        ],
        3,
    );
    let split = library(
        "split_part",
        vec![Expr::input(0, Type::Text), text(","), Expr::input(1, Type::Integer).cast(Type::BigInt)],
        Type::Text,
    );
    assert_eq!(one(&split, &batch).unwrap(), [Value::text("a"), Value::Null, Value::text("")]);
    let power = library(
        "power",
        vec![Expr::input(1, Type::Integer), Expr::literal(Value::F64(2.0), Type::Double)],
        Type::Double,
    );
    assert_eq!(one(&power, &batch).unwrap()[2], Value::F64(9.0));
    let day = Expr::literal(Value::I32(19_000), Type::Date);
    let month = library("date_trunc", vec![text("month"), day], Type::Timestamp);
    assert_eq!(evaluate_constant(&month).unwrap().display(Type::Timestamp), "2022-01-01 00:00:00");
    let matches = library("regexp_like", vec![Expr::input(0, Type::Text), text("^c")], Type::Boolean);
    assert_eq!(one(&matches, &batch).unwrap(), [Value::Bool(false), Value::Null, Value::Bool(true)]);
    // An error of the library carries a state of ours.
    let wrong = library(
        "date_trunc",
        vec![text("fortnight"), Expr::literal(Value::I32(1), Type::Date)],
        Type::Timestamp,
    );
    assert_ne!(evaluate_constant(&wrong).unwrap_err().state(), SqlState::Internal);
    // Random numbers are drawn for every row, though the call has no operands.
    let drawn = one(&library("random", vec![], Type::Double), &batch).unwrap();
    assert_ne!(drawn[0], drawn[1]);
}

#[test]
fn deep_expressions_are_refused_or_evaluated_within_the_stack() {
    let chain = |levels: usize| {
        let mut e = Expr::input(0, Type::Integer);
        for _ in 0..levels {
            e = arithmetic(Arithmetic::Add, e, Expr::literal(Value::I32(1), Type::Integer), Type::Integer);
        }
        e
    };
    let nested_case = |levels: usize| {
        let mut e = Expr::input(0, Type::Integer);
        for level in 0..levels {
            let condition = Expr::compare(
                Comparison::Equal,
                Expr::input(0, Type::Integer),
                Expr::literal(Value::I32(level as i32 + 5), Type::Integer),
            );
            let divided = arithmetic(Arithmetic::Divide, e, Expr::input(0, Type::Integer), Type::Integer);
            e = Expr::new(
                ExprKind::Case {
                    branches: vec![(condition, Expr::input(0, Type::Integer))],
                    otherwise: Some(Box::new(divided)),
                },
                Type::Integer,
            );
        }
        e
    };
    // A worker has 2 MiB.
    let worker = std::thread::Builder::new().stack_size(2 << 20);
    worker
        .spawn(move || {
            let batch = Batch::new(vec![integers(&[Some(1), Some(2), Some(9)])], 3);
            assert_eq!(one(&chain(990), &batch).unwrap()[0], Value::I32(991));
            assert_eq!(one(&nested_case(490), &batch).unwrap()[0], Value::I32(1));
            assert_eq!(states(&chain(3000), &batch), SqlState::StatementTooComplex);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn empty_batches_have_no_errors() {
    let int = |v| Expr::literal(Value::I32(v), Type::Integer);
    let broken = arithmetic(Arithmetic::Divide, int(1), Expr::input(0, Type::Integer), Type::Integer);
    let batch = Batch::new(vec![integers(&[])], 0);
    assert!(one(&broken, &batch).unwrap().is_empty());
    assert_eq!(
        Predicate::compile(&Expr::compare(Comparison::Less, broken, int(1))).unwrap().select(&batch).unwrap(),
        Selected::None
    );
}
