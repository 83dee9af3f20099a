//! Micro-benchmarks of expression kernels on batches of the usual size, with columns shaped like TPC-H's.
//!
//! `cargo run --release -p expr --example kernel_speed` prints nanoseconds a row, the best of many runs.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use expr::{Predicate, Program};
use plan::{Arithmetic, Expr, ExprKind, Function};
use random::Random;
use types::{Comparison, LikePattern, Type, Value};
use vector::{BATCH_ROWS, Batch, Data, StringBuilder, Vector};

fn report(name: &str, rows: usize, mut run: impl FnMut()) {
    let mut least = f64::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(120) {
        let one = Instant::now();
        for _ in 0..16 {
            run();
        }
        least = least.min(one.elapsed().as_nanos() as f64 / 16.0);
    }
    println!("{name:<52} {:>8.2} ns/row", least / rows as f64);
}

fn values(name: &str, batch: &Batch, expression: Expr) {
    let program = Program::compile(&[expression]).expect("the expression compiles");
    report(name, batch.rows, || {
        black_box(program.evaluate(black_box(batch)).expect("the expression evaluates"));
    });
}

fn rows(name: &str, batch: &Batch, condition: Expr) {
    let predicate = Predicate::compile(&condition).expect("the condition compiles");
    report(name, batch.rows, || {
        black_box(predicate.select(black_box(batch)).expect("the condition evaluates"));
    });
}

const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

fn decimal(precision: u8, scale: u8) -> Type {
    Type::Decimal { precision, scale }
}

fn arithmetic(op: Arithmetic, left: Expr, right: Expr, ty: Type, checked: bool) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked }, ty)
}

/// Columns shaped like TPC-H's, by the functions below that name them.
fn batch() -> Batch {
    let n = BATCH_ROWS;
    let mut r = Random::new(42);
    let mut i64s =
        |limit: u64| Vector::from_i64(Type::BigInt, (0..n).map(|_| r.below(limit) as i64).collect());
    let (big, small) = (i64s(1 << 40), i64s(100));
    let price = i64s(10_000_000).with_type(MONEY);
    let discount = i64s(11).with_type(MONEY);
    let dates: Vec<i32> = (0..n).map(|_| 8036 + r.below(2500)).collect();
    let doubles: Vec<f64> = (0..n).map(|_| r.below(1000) as f64 / 7.0).collect();
    let words = ["special", "packages", "requests", "deposits", "carefully", "final", "accounts", "quickly"];
    let (mut comments, mut codes) = (StringBuilder::with_capacity(n), StringBuilder::with_capacity(n));
    for _ in 0..n {
        let text: Vec<&str> = (0..6).map(|_| words[r.below(8) as usize]).collect();
        comments.push(text.join(" ").as_bytes());
        codes.push(words[r.below(8) as usize].as_bytes());
    }
    let distinct = Vector::from_values(Type::Text, &words.map(Value::text));
    let dictionary: Vec<u32> = (0..n).map(|_| r.below(8) as u32).collect();
    Batch::new(
        vec![
            big,
            small,
            price,
            discount,
            Vector::new(Type::Date, Data::I32(dates.into()), None),
            Vector::new(Type::Double, Data::F64(doubles.into()), None),
            Vector::new(Type::Text, Data::Bytes(comments.finish()), None),
            Vector::new(Type::Text, Data::Bytes(codes.finish()), None),
            Vector::dictionary(dictionary.into(), Arc::new(distinct), None),
        ],
        n,
    )
}

fn big() -> Expr {
    Expr::input(0, Type::BigInt)
}
fn small() -> Expr {
    Expr::input(1, Type::BigInt)
}
fn price() -> Expr {
    Expr::input(2, MONEY)
}
fn discount() -> Expr {
    Expr::input(3, MONEY)
}
fn date() -> Expr {
    Expr::input(4, Type::Date)
}
fn double() -> Expr {
    Expr::input(5, Type::Double)
}
fn text(at: usize) -> Expr {
    Expr::input(at, Type::Text)
}
fn long(value: i64) -> Expr {
    Expr::literal(Value::I64(value), Type::BigInt)
}
fn money(value: i64) -> Expr {
    Expr::literal(Value::I64(value), MONEY)
}
fn word(word: &str) -> Expr {
    Expr::literal(Value::text(word), Type::Text)
}

fn main() {
    let batch = batch();
    computations(&batch);
    casts_and_functions(&batch);
    comparisons(&batch);
    lists_and_patterns(&batch);
}

fn computations(batch: &Batch) {
    use Arithmetic as A;
    values("bigint + bigint, checked", batch, arithmetic(A::Add, big(), small(), Type::BigInt, true));
    values("bigint + bigint, unchecked", batch, arithmetic(A::Add, big(), small(), Type::BigInt, false));
    values("bigint * bigint, checked", batch, arithmetic(A::Multiply, small(), small(), Type::BigInt, true));
    values("bigint / 7", batch, arithmetic(A::Divide, big(), long(7), Type::BigInt, true));
    values(
        "double * double, checked",
        batch,
        arithmetic(A::Multiply, double(), double(), Type::Double, true),
    );
    let charged = |ty, checked| {
        let kept = arithmetic(A::Subtract, money(100), discount(), MONEY, checked);
        arithmetic(A::Multiply, price(), kept, ty, checked)
    };
    values("price * (1 - discount), unchecked, 64 bits", batch, charged(decimal(18, 4), false));
    values("price * (1 - discount), checked, 64 bits", batch, charged(decimal(18, 4), true));
    values("price * (1 - discount), checked, 128 bits", batch, charged(decimal(31, 4), true));
    let divided = arithmetic(A::Divide, price(), money(700), decimal(38, 6), true);
    values("decimal / decimal", batch, divided);
}

fn casts_and_functions(batch: &Batch) {
    let cast = |e: Expr, ty| e.cast(ty);
    values("decimal(15,2) to double", batch, cast(price(), Type::Double));
    values("decimal(15,2) to decimal(38,6)", batch, cast(price(), decimal(38, 6)));
    values("double to bigint", batch, cast(double(), Type::BigInt));
    values("bigint to text", batch, cast(big(), Type::Text));
    let function = |function, arguments, ty| Expr::new(ExprKind::Function { function, arguments }, ty);
    values("extract year", batch, function(Function::ExtractYear, vec![date()], Type::BigInt));
    values("extract month", batch, function(Function::ExtractMonth, vec![date()], Type::BigInt));
    let months = Expr::literal(Value::I32(3), Type::IntervalYearMonth);
    values("date + 3 months", batch, arithmetic(Arithmetic::Add, date(), months, Type::Date, true));
    let part = |at| function(Function::Substring, vec![text(at), long(1), long(2)], Type::Text);
    values("substring(comment from 1 for 2)", batch, part(6));
    values("substring of a dictionary", batch, part(8));
    values("upper, short strings", batch, function(Function::Upper, vec![text(7)], Type::Text));
    values("upper, long strings", batch, function(Function::Upper, vec![text(6)], Type::Text));
    let choice = |otherwise| {
        let condition = Expr::compare(Comparison::Less, small(), long(50));
        Expr::new(ExprKind::Case { branches: vec![(condition, big())], otherwise }, Type::BigInt)
    };
    values("case when x < 50 then y else 0", batch, choice(Some(Box::new(long(0)))));
    let reversed =
        Expr::new(ExprKind::Library { name: "reverse".into(), arguments: vec![text(7)] }, Type::Text);
    values("library: reverse", batch, reversed);
}

fn comparisons(batch: &Batch) {
    let compare = |op, a, b| Expr::compare(op, a, b);
    rows("bigint < constant, half pass", batch, compare(Comparison::Less, small(), long(50)));
    rows("bigint < constant, 1 % pass", batch, compare(Comparison::Less, small(), long(1)));
    let day = |d| Expr::literal(Value::I32(d), Type::Date);
    rows("date >= constant, half pass", batch, compare(Comparison::GreaterOrEqual, date(), day(9286)));
    rows("bigint < bigint", batch, compare(Comparison::Less, big(), small()));
    rows(
        "double < constant",
        batch,
        compare(Comparison::Less, double(), Expr::literal(Value::F64(70.0), Type::Double)),
    );
    let q6 = Expr::and(vec![
        compare(Comparison::GreaterOrEqual, date(), day(8766)),
        compare(Comparison::Less, date(), day(9131)),
        compare(Comparison::GreaterOrEqual, discount(), money(5)),
        compare(Comparison::LessOrEqual, discount(), money(7)),
        compare(Comparison::Less, small(), long(24)),
    ]);
    rows("the predicate of Q6", batch, q6);
    rows("text = short constant", batch, compare(Comparison::Equal, text(7), word("deposits")));
    rows("text < constant", batch, compare(Comparison::Less, text(6), word("packages")));
    rows("dictionary = constant", batch, compare(Comparison::Equal, text(8), word("deposits")));
}

fn lists_and_patterns(batch: &Batch) {
    let list = |count: i64, step: i64, input: Expr| {
        let values: Vec<Value> = (0..count).map(|v| Value::I64(v * step)).collect();
        let kind = ExprKind::InList {
            input: Box::new(input),
            values: values.into(),
            has_null: false,
            negated: false,
        };
        Expr::new(kind, Type::Boolean)
    };
    rows("bigint in 4 values", batch, list(4, 7, small()));
    rows("bigint in 8 values", batch, list(8, 7, small()));
    rows("bigint in 50 values of a small range", batch, list(50, 2, small()));
    rows("bigint in 1000 values of a large range", batch, list(1000, 1 << 30, big()));
    let like = |pattern: &str, input| {
        let pattern = Arc::new(LikePattern::new(pattern, None).expect("no escape"));
        let kind =
            ExprKind::Like { input: Box::new(input), pattern, negated: false, case_insensitive: false };
        Expr::new(kind, Type::Boolean)
    };
    rows("like '%special%requests%', 50 bytes", batch, like("%special%requests%", text(6)));
    rows("like 'special%', 50 bytes", batch, like("special%", text(6)));
    rows("like '%final%', dictionary", batch, like("%final%", text(8)));
}
