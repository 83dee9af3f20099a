//! Code against the vectorised evaluator, which is the definition: random expressions over random columns, with NULLs,
//! extremes, dictionaries and constants, in batches of none, one and many rows, with one row in flight and with two;
//! and every pair of values of eight bits.

#[path = "../../expr/tests/drawn/mod.rs"]
mod drawn;

use codegen::{Cache, Computation, Execution, How, Lanes};
use drawn::{Draw, Generator, TYPES, column, dec, identical};
use expr::{Predicate, Program, Room, Selected};
use memory::Budget;
use plan::{Arithmetic, Expr, ExprKind, Function};
use random::Random;
use types::{Comparison, Result, Type, Value};
use vector::{Batch, Vector};

/// The generator asks what may raise an error.
fn fails(expression: &Expr) -> bool {
    expression.may_fail()
}

fn compiled() -> How {
    How { execution: Execution::Compiled, cache: Some(Cache::new(Budget::new(1 << 30))) }
}

fn rounds(of: u64) -> u64 {
    let asked = std::env::var("QUICKSTEP_EXPRESSION_ROUNDS").ok().and_then(|v| v.parse::<u64>().ok());
    asked.map_or(of, |rounds| rounds * of / 12_000)
}

fn values(computation: &Computation, batch: &Batch, how: &How) -> Result<Vec<Vector>> {
    computation.evaluate(batch, Room::UNBOUNDED, how)
}

/// Both are the same values, or the same kind of error.
fn agree(got: &Result<Vec<Vector>>, expected: &Result<Vec<Vector>>, rows: usize, of: &dyn std::fmt::Debug) {
    match (got, expected) {
        (Ok(got), Ok(expected)) => {
            assert_eq!(got.len(), expected.len(), "{of:?}");
            for (got, expected) in got.iter().zip(expected) {
                assert_eq!((got.ty(), got.len()), (expected.ty(), rows), "{of:?}");
                for row in 0..rows {
                    let (got, expected) = (got.value(row), expected.value(row));
                    assert!(identical(&got, &expected), "row {row}: {got:?}, not {expected:?}\n{of:?}");
                }
            }
        }
        (Err(got), Err(expected)) => assert_eq!(got.state(), expected.state(), "{of:?}"),
        (got, expected) => panic!("{got:?}, not {expected:?}\n{of:?}"),
    }
}

/// How often code answered in these many words: "12 batches compiled, ...".
fn by_code(computation: &Computation, how: &How) -> u64 {
    computation.told(how).and_then(|told| told.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn random_expressions() {
    let (mut answered, mut errors) = (0, 0);
    let rounds = rounds(4_000);
    for seed in 0..rounds {
        let mut r = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(31));
        let wild = seed % 4 == 0;
        let rows = r.one_of(&[0, 1, 2, 3, 63, 64, 65, 131]);
        let columns: Vec<Type> = TYPES.iter().chain(&TYPES).copied().collect();
        let batch = Batch::new(columns.iter().map(|ty| column(&mut r, *ty, rows, wild)).collect(), rows);
        let mut generator = Generator { r, columns, wild, library: true };
        let ty = TYPES[seed as usize % TYPES.len()];
        let depth = 1 + generator.r.below(4);
        let expressions: Vec<Expr> =
            (0..1 + generator.r.below(3)).map(|_| generator.expression(ty, depth)).collect();
        let expected = Program::compile(&expressions).unwrap().evaluate(&batch);
        errors += u64::from(expected.is_err());
        for lanes in [Lanes::One, Lanes::Two] {
            let how = compiled();
            let computation =
                Computation::new(None, Some(Program::compile(&expressions).unwrap().into()), lanes);
            let got = values(&computation, &batch, &how);
            agree(&got, &expected, rows, &(seed, lanes, &expressions));
            let told = computation.told(&how);
            assert_eq!(
                how.cache.as_ref().unwrap().counts().failed,
                0,
                "seed {seed} {told:?} {expressions:?}"
            );
            answered += by_code(&computation, &how);
        }
    }
    // The generator must keep reaching both.
    assert!(answered * 2 > rounds && errors * 50 > rounds, "{answered} by code, {errors} errors of {rounds}");
}

#[test]
fn random_conditions_with_values() {
    let mut answered = 0;
    let rounds = rounds(2_000);
    for seed in 0..rounds {
        let mut r = Random::new(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(5));
        let wild = seed % 8 == 0;
        let rows = r.one_of(&[1, 2, 3, 64, 65, 131]);
        let columns: Vec<Type> = TYPES.iter().chain(&TYPES).copied().collect();
        let batch = Batch::new(columns.iter().map(|ty| column(&mut r, *ty, rows, wild)).collect(), rows);
        let mut generator = Generator { r, columns, wild, library: true };
        let parts: Vec<Expr> = (0..1 + generator.r.below(3)).map(|_| generator.condition(1)).collect();
        let condition = Expr::and(parts);
        let types: Vec<Type> = (0..1 + generator.r.below(3)).map(|_| generator.r.one_of(&TYPES)).collect();
        let expressions: Vec<Expr> = types.iter().map(|ty| generator.expression(*ty, 2)).collect();
        let predicate = || Predicate::compile(&condition).unwrap();
        let program = || std::sync::Arc::new(Program::compile(&expressions).unwrap());
        let vectorized = How { execution: Execution::Vectorized, cache: None };
        for lanes in [Lanes::One, Lanes::Two] {
            let how = compiled();
            let alone = Computation::new(Some(predicate()), None, lanes);
            let selected = alone.select(&batch, Room::UNBOUNDED, &how);
            match (selected, predicate().select(&batch)) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "seed {seed} {condition:?}"),
                (Err(got), Err(expected)) => assert_eq!(got.state(), expected.state()),
                (got, expected) => panic!("seed {seed}: {got:?}, not {expected:?}\n{condition:?}"),
            }
            let both = Computation::new(Some(predicate()), Some(program()), lanes);
            let expected = both.pass(&batch, Room::UNBOUNDED, &vectorized);
            if both.fuses() {
                let got = both.pass(&batch, Room::UNBOUNDED, &how);
                let rows = expected.as_ref().map_or(0, |batch| batch.rows);
                assert_eq!(got.as_ref().map_or(0, |batch| batch.rows), rows, "seed {seed} {condition:?}");
                let columns = |batch: Result<Batch>| batch.map(|batch| batch.columns);
                agree(&columns(got), &columns(expected), rows, &(seed, &condition, &expressions));
            }
            let told = [alone.told(&how), both.told(&how)];
            assert_eq!(how.cache.as_ref().unwrap().counts().failed, 0, "seed {seed} {told:?}");
            answered += by_code(&alone, &how) + by_code(&both, &how);
        }
    }
    assert!(answered > rounds, "{answered} by code of {rounds}");
}

fn arithmetic(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true }, ty)
}

/// Every pair of values of eight bits is a batch of two equal rows, so that each is judged by itself; with one row in
/// flight, and with two.
#[test]
fn every_pair_of_eight_bits() {
    let ty = Type::TinyInt;
    let (a, b) = (|| Expr::input(0, ty), || Expr::input(1, ty));
    let absolute =
        |of: Expr| Expr::new(ExprKind::Function { function: Function::Absolute, arguments: vec![of] }, ty);
    let guarded = Expr::new(
        ExprKind::Case {
            branches: vec![(
                Expr::compare(Comparison::NotEqual, b(), Expr::literal(Value::I16(0), ty)),
                arithmetic(Arithmetic::Divide, a(), b(), ty),
            )],
            otherwise: Some(Box::new(a())),
        },
        ty,
    );
    let mut all = vec![
        guarded,
        Expr::new(ExprKind::Negate(Box::new(a())), ty),
        absolute(arithmetic(Arithmetic::Subtract, a(), b(), ty)),
        Expr::compare(Comparison::Less, arithmetic(Arithmetic::Multiply, a(), b(), ty), a()),
        Expr::compare(Comparison::GreaterOrEqual, a(), b()),
        a().cast(Type::UTinyInt),
        a().cast(dec(3, 1)),
        arithmetic(Arithmetic::Add, arithmetic(Arithmetic::Multiply, a(), a(), ty), b(), ty),
    ];
    for op in
        [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Modulo]
    {
        all.push(arithmetic(op, a(), b(), ty));
    }
    let how = compiled();
    let vectorized = How { execution: Execution::Vectorized, cache: None };
    let (mut faults, mut answered) = (0, 0);
    for (at, expression) in all.iter().enumerate() {
        let program = || std::sync::Arc::new(Program::compile(std::slice::from_ref(expression)).unwrap());
        let computation =
            Computation::new(None, Some(program()), if at % 2 == 0 { Lanes::One } else { Lanes::Two });
        for x in i16::from(i8::MIN)..=i16::from(i8::MAX) {
            for y in i16::from(i8::MIN)..=i16::from(i8::MAX) {
                let column = |v: i16| Vector::from_values(ty, &[Value::I16(v), Value::I16(v)]);
                let batch = Batch::new(vec![column(x), column(y)], 2);
                let expected = values(&computation, &batch, &vectorized);
                faults += u64::from(expected.is_err());
                agree(&values(&computation, &batch, &how), &expected, 2, &(x, y, expression));
            }
        }
        answered += by_code(&computation, &how);
    }
    // Code answers wherever there is no error.
    assert_eq!(answered + faults, 65_536 * all.len() as u64);
    assert!(faults > 65_536);
}

#[test]
fn code_is_found_again_and_goes_when_asked() {
    let budget = Budget::new(1 << 30);
    let how = How { execution: Execution::Compiled, cache: Some(Cache::new(budget.clone())) };
    let cache = how.cache.as_ref().unwrap();
    let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, vec![1, 2, 3])], 3);
    let expression = |by: i64| {
        arithmetic(
            Arithmetic::Add,
            Expr::input(0, Type::BigInt),
            Expr::literal(Value::I64(by), Type::BigInt),
            Type::BigInt,
        )
    };
    let computation = |by: i64| Computation::values(Program::compile(&[expression(by)]).unwrap());
    let before = budget.used();
    for by in [1, 1, 2, 1] {
        let got = values(&computation(by), &batch, &how).unwrap();
        assert_eq!(got[0].value(2), Value::I64(3 + by));
    }
    assert_eq!((cache.counts().functions, cache.counts().found), (2, 2));
    assert!(budget.used() >= before + 2 * 4096, "code is charged");
    memory::Reclaimer::reclaim(&**cache, u64::MAX);
    assert_eq!(budget.used(), before, "and given back");
    values(&computation(2), &batch, &how).unwrap();
    assert_eq!(cache.counts().functions, 3);
}

#[test]
fn without_room_for_code_vectors_answer() {
    let how = How { execution: Execution::Compiled, cache: Some(Cache::new(Budget::new(100))) };
    let expression = Expr::new(ExprKind::Negate(Box::new(Expr::input(0, Type::BigInt))), Type::BigInt);
    let computation = Computation::values(Program::compile(&[expression]).unwrap());
    let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, vec![1, 2])], 2);
    assert_eq!(values(&computation, &batch, &how).unwrap()[0].value(1), Value::I64(-2));
    assert_eq!(how.cache.as_ref().unwrap().counts().failed, 1);
    assert_eq!(by_code(&computation, &how), 0);
}

#[test]
fn auto_compiles_after_some_batches() {
    let how = How { execution: Execution::Auto, cache: Some(Cache::new(Budget::new(1 << 30))) };
    let x = || Expr::input(0, Type::Double);
    let polynomial = (0..12).fold(x(), |sum, _| {
        arithmetic(
            Arithmetic::Add,
            arithmetic(Arithmetic::Multiply, sum, x(), Type::Double),
            x(),
            Type::Double,
        )
    });
    let computation = Computation::values(Program::compile(&[polynomial]).unwrap());
    let numbers: Vec<Value> = (0..2000).map(|at| Value::F64(f64::from(at) / 2000.0 + 0.1)).collect();
    let batch = Batch::new(vec![Vector::from_values(Type::Double, &numbers)], numbers.len());
    let first = values(&computation, &batch, &how).unwrap();
    assert_eq!(by_code(&computation, &how), 0, "vectorised first");
    // A loaded machine takes its time to compile; the wait is for that alone.
    let patience = std::time::Instant::now();
    while by_code(&computation, &how) == 0 && patience.elapsed().as_secs() < 60 {
        let again = values(&computation, &batch, &how).unwrap();
        assert!((0..2000).all(|row| identical(&again[0].value(row), &first[0].value(row))));
    }
    assert!(by_code(&computation, &how) > 0, "{:?}", computation.told(&how));
    assert!(matches!(
        Computation::condition(Predicate::compile(&Expr::boolean(true)).unwrap()).select(
            &batch,
            Room::UNBOUNDED,
            &how
        ),
        Ok(Selected::All)
    ));
}
