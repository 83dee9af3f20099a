//! How long expressions take by vectors and by code, a batch at a time, without the engine around them.
//!
//! ```text
//! cargo run --release -p codegen --example expression_speed [--json COMMIT]
//! ```
//! Expressions after `bench/questions/compiled.sql`, over batches of 4,096 rows. Processor time of the thread counts, the least of many
//! rounds of each way in turn, so that a machine with other work gives nearly the same figures.

use std::sync::Arc;
use std::time::Duration;

use codegen::{Cache, Computation, Execution, How, Lanes};
use expr::{Program, Room};
use memory::Budget;
use plan::{Arithmetic, Expr, ExprKind, Function};
use random::Random;
use types::{Comparison, Type, Value};
use vector::{Batch, Vector};

const ROWS: usize = vector::BATCH_ROWS;
const ROUNDS: usize = 15;
/// Batches of a round.
const BATCHES: usize = 40;

const DOUBLE: Type = Type::Double;
const BIG: Type = Type::BigInt;
const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

fn operation(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true }, ty)
}
fn plus(a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    operation(Arithmetic::Add, a, b, ty)
}
fn minus(a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    operation(Arithmetic::Subtract, a, b, ty)
}
fn times(a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    operation(Arithmetic::Multiply, a, b, ty)
}
fn over(a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    operation(Arithmetic::Divide, a, b, ty)
}
fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}
fn number(value: f64) -> Expr {
    Expr::literal(Value::F64(value), DOUBLE)
}
fn whole(value: i64) -> Expr {
    Expr::literal(Value::I64(value), BIG)
}
fn less(a: Expr, b: Expr) -> Expr {
    Expr::compare(Comparison::Less, a, b)
}
fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let ty = otherwise.ty;
    Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(otherwise)) }, ty)
}

/// Columns: spot, strike, years (DOUBLE), code, bits (BIGINT), price, discount (DECIMAL), shipped (DATE), gap (BIGINT, NULLs).
fn batch() -> Batch {
    let mut random = Random::new(1);
    let mut column = |ty: Type, value: &mut dyn FnMut(&mut Random) -> Value| {
        let values: Vec<Value> = (0..ROWS).map(|_| value(&mut random)).collect();
        Vector::from_values(ty, &values)
    };
    let double = |low: f64, high: f64| {
        move |r: &mut Random| Value::F64(low + (high - low) * r.below(1_000_003) as f64 / 1e6)
    };
    let columns = vec![
        column(DOUBLE, &mut double(20.0, 100.0)),
        column(DOUBLE, &mut double(25.0, 95.0)),
        column(DOUBLE, &mut double(0.05, 2.0)),
        column(BIG, &mut |r| Value::I64(r.between(0, 100_000))),
        column(BIG, &mut |r| Value::I64(r.between(0, 4_294_967_296))),
        column(MONEY, &mut |r| Value::I64(r.between(100, 1_000_000))),
        column(MONEY, &mut |r| Value::I64(r.between(0, 11))),
        column(Type::Date, &mut |r| Value::I32(r.between(8_000, 11_000) as i32)),
        column(BIG, &mut |r| if r.chance(10) { Value::Null } else { Value::I64(r.between(0, 1009)) }),
    ];
    Batch::new(columns, ROWS)
}

fn expressions() -> Vec<(&'static str, Expr)> {
    let (spot, strike, years) =
        (|| Expr::input(0, DOUBLE), || Expr::input(1, DOUBLE), || Expr::input(2, DOUBLE));
    let (code, bits, gap) = (|| Expr::input(3, BIG), || Expr::input(4, BIG), || Expr::input(8, BIG));
    let (price, discount) = (|| Expr::input(5, MONEY), || Expr::input(6, MONEY));
    let day = || Expr::input(7, Type::Date);
    let horner = (1..8).fold(number(0.1), |sum, at| plus(times(sum, spot()), number(f64::from(at) / 10.0)));
    let squares = |x: f64, y: f64| {
        let (a, b) = (minus(spot(), number(x)), minus(strike(), number(y)));
        plus(times(a.clone(), a), times(b.clone(), b))
    };
    let root = times(number(0.2), call("sqrt", vec![years()], DOUBLE));
    let d1 = over(plus(call("ln", vec![over(spot(), strike())], DOUBLE), times(number(0.05), years())), root);
    let density = call("exp", vec![over(times(d1.clone(), d1.clone()), number(-2.0))], DOUBLE);
    let absolute =
        Expr::new(ExprKind::Function { function: Function::Absolute, arguments: vec![d1] }, DOUBLE);
    let k = over(number(1.0), plus(number(1.0), times(number(0.231_641_9), absolute)));
    let tail = times(
        times(density, number(0.398_942_28)),
        times(k.clone(), plus(number(0.3), times(k.clone(), minus(k, number(0.3))))),
    );
    let ladder = (1..10)
        .rev()
        .fold(whole(10), |rest, at| case(vec![(less(code(), whole(at * 10_000)), whole(at))], rest));
    let pieces = (1..5).rev().fold(times(spot(), number(0.5)), |rest, at| {
        let bound = f64::from(at) * 20.0;
        case(
            vec![(
                less(spot(), number(bound)),
                plus(number(bound), times(minus(spot(), number(bound)), number(0.1))),
            )],
            rest,
        )
    });
    let is_null = Expr::new(ExprKind::IsNull { input: Box::new(gap()), negated: false }, Type::Boolean);
    let both = Expr::and(vec![less(whole(500), gap()), less(whole(50_000), code())]);
    let nulls = case(vec![(is_null, whole(7)), (both, minus(gap(), whole(500)))], plus(gap(), code()));
    let xor = |a: Expr, by: i64| call("#", vec![a.clone(), call(">>", vec![a, whole(by)], BIG)], BIG);
    let mixed = times(call("&", vec![xor(bits(), 15), whole(i64::from(i32::MAX))], BIG), whole(73_244_475));
    let mixed = call("&", vec![xor(xor(mixed, 13), 16), whole(65_535)], BIG);
    let remainder =
        operation(Arithmetic::Modulo, plus(times(code(), whole(37)), whole(11)), whole(1009), BIG);
    let integers = plus(remainder, minus(times(plus(code(), whole(5)), whole(3)), over(code(), whole(7))));
    let wide = Type::Decimal { precision: 38, scale: 4 };
    let one = Expr::literal(Value::I64(100), MONEY);
    let rest = operation(Arithmetic::Subtract, one, discount(), Type::Decimal { precision: 16, scale: 2 });
    let charge = operation(Arithmetic::Multiply, price(), rest, wide);
    let part = |function: Function| Expr::new(ExprKind::Function { function, arguments: vec![day()] }, BIG);
    let parts = plus(
        plus(
            times(part(Function::ExtractYear), whole(10_000)),
            times(part(Function::ExtractMonth), whole(100)),
        ),
        part(Function::ExtractDay),
    );
    let least = case(
        vec![(less(squares(30.0, 30.0), squares(50.0, 40.0)), squares(30.0, 30.0))],
        squares(50.0, 40.0),
    );
    vec![
        ("black_scholes", tail),
        ("polynomial_8", horner),
        ("squared_distance", least),
        ("one_product", times(spot(), strike())),
        ("case_ladder", ladder),
        ("case_of_doubles", pieces),
        ("case_of_nulls", nulls),
        ("bit_mixing", mixed),
        ("integers", integers),
        ("charge", charge),
        ("parts_of_dates", parts),
    ]
}

fn least(computation: &Computation, batch: &Batch, ways: &[How]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; ways.len()];
    for _ in 0..ROUNDS {
        for (how, best) in ways.iter().zip(&mut best) {
            let begun = cpu_time::ThreadTime::now();
            for _ in 0..BATCHES {
                let values =
                    computation.evaluate(batch, Room::UNBOUNDED, how).expect("the expression has values");
                std::hint::black_box(&values);
            }
            *best = begun.elapsed().min(*best);
        }
    }
    best
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let commit = arguments.iter().position(|a| a == "--json").and_then(|at| arguments.get(at + 1));
    let batch = batch();
    let mut lines = Vec::new();
    for (name, expression) in expressions() {
        let mut told = format!("{name:18}");
        let mut fields = format!("{{\"expression\":\"{name}\"");
        for lanes in [Lanes::One, Lanes::Best] {
            let cache = Cache::new(Budget::new(1 << 30));
            let ways = [
                How { execution: Execution::Vectorized, cache: None },
                How { execution: Execution::Compiled, cache: Some(cache.clone()) },
            ];
            let program = Arc::new(Program::compile(std::slice::from_ref(&expression)).expect("it compiles"));
            let computation = Computation::new(None, Some(program), lanes);
            let times: Vec<f64> = least(&computation, &batch, &ways)
                .iter()
                .map(|time| time.as_secs_f64() * 1e9 / (ROWS * BATCHES) as f64)
                .collect();
            let counts = cache.counts();
            let milliseconds = counts.nanoseconds as f64 / 1e6;
            told.push_str(&format!(
                " | {lanes:?}: {:6.2} ns a row by vectors, {:6.2} by code, {:5.2}x, {milliseconds:.2} ms, {} bytes",
                times[0],
                times[1],
                times[0] / times[1],
                counts.bytes
            ));
            fields.push_str(&format!(
                ",\"{lanes:?}\":{{\"vectorized_ns_a_row\":{:.3},\"compiled_ns_a_row\":{:.3},\"compile_ms\":{milliseconds:.3}}}",
                times[0], times[1]
            ));
        }
        println!("{told}");
        lines.push(fields + "}");
    }
    if let Some(commit) = commit {
        println!(
            "{{\"format\":1,\"commit\":{{\"id\":\"{commit}\"}},\"work\":\"expression_speed, batches of {ROWS} rows, least \
             processor time of {ROUNDS} rounds in turn\",\"expressions\":[{}]}}",
            lines.join(",")
        );
    }
}
