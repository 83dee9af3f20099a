//! CPU time of functions over batches of the usual size: lists, maps, numbers, moments, texts, JSON, patterns.
//!
//! `cargo run --release -p expr --example function_speed [part of a name]` prints nanoseconds a row, the least of many runs.

use std::hint::black_box;

use expr::Program;
use plan::{Expr, ExprKind};
use random::Random;
use types::nested::encoding;
use types::{Type, Value};
use vector::{BATCH_ROWS, Batch, Vector};

/// CPU time of the process so far, in nanoseconds.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

fn report(name: &str, batch: &Batch, expression: Expr) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let program = match Program::compile(&[expression]) {
        Ok(program) => program,
        Err(error) => return println!("{name:<44} {error}"),
    };
    if let Err(error) = program.evaluate(batch) {
        return println!("{name:<44} {error}");
    }
    let least = (0..20).map(|_| {
        let began = cpu();
        for _ in 0..4 {
            black_box(program.evaluate(black_box(batch)).is_ok());
        }
        (cpu() - began) / 4.0
    });
    let least = least.fold(f64::INFINITY, f64::min);
    println!("{name:<44} {:>8.1}", least / batch.rows as f64);
}

fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}

fn literal(value: Value, ty: Type) -> Expr {
    Expr::literal(value, ty)
}

fn text(value: &str) -> Expr {
    literal(Value::text(value), Type::Text)
}

fn long(value: i64) -> Expr {
    literal(Value::I64(value), Type::BigInt)
}

fn list(element: Type) -> Type {
    Type::list(element).expect("a type of lists")
}

/// Columns: n, d, t, ts, iv, l, floats, map, json.
fn batch() -> Batch {
    let mut random = Random::new(5);
    let rows = BATCH_ROWS;
    let mut column = |ty: Type, of: &mut dyn FnMut(&mut Random) -> Value| {
        let values: Vec<Value> = (0..rows).map(|_| of(&mut random)).collect();
        Vector::from_values(ty, &values)
    };
    let numbers = |r: &mut Random| [r.below(7), r.below(1000), 5].map(Value::I32);
    let map = Type::map(Type::Integer, Type::Integer).expect("a type of maps");
    Batch::new(
        vec![
            column(Type::BigInt, &mut |r| Value::I64(r.below(1000) as i64)),
            column(Type::Double, &mut |r| Value::F64(r.below(100_003) as f64 / 100_003.0)),
            column(Type::Text, &mut |r| Value::text(&format!("word {} of text", r.below(50_021)))),
            column(Type::Timestamp, &mut |r| {
                Value::I64(694_224_000_000_000 + r.below(500_000_000) as i64 * 1_000_000)
            }),
            column(Type::Integer, &mut |r| Value::I32(r.below(1000))),
            column(list(Type::Integer), &mut |r| encoding::list_of(&numbers(r), Type::Integer)),
            column(list(Type::Double), &mut |r| {
                encoding::list_of(
                    &numbers(r).map(|v| Value::F64(v.as_i64().unwrap_or(0) as f64)),
                    Type::Double,
                )
            }),
            column(map, &mut |r| {
                let [a, b, _] = numbers(r);
                let mut bytes = Vec::new();
                for value in [&Value::I32(100), &a, &Value::I32(200), &b] {
                    encoding::push_slot(value, Type::Integer, &mut bytes);
                }
                bytes.push(encoding::END);
                Value::Bytes(bytes.into())
            }),
            column(Type::Json, &mut |r| Value::text(&format!("{{\"a\": {}, \"b\": [1, 2]}}", r.below(1000)))),
        ],
        rows,
    )
}

fn main() {
    let batch = batch();
    let input = |at: usize| Expr::input(at, batch.columns[at].ty());
    let (n, d, t, ts, i, l, f, m) =
        (input(0), input(1), input(2), input(3), input(4), input(5), input(6), input(7));
    let one =
        |name: &str, argument: &Expr, ty: Type| report(name, &batch, call(name, vec![argument.clone()], ty));
    let two = |name: &str, a: &Expr, b: &Expr, ty: Type| {
        report(name, &batch, call(name, vec![a.clone(), b.clone()], ty));
    };
    for name in ["list_sum", "list_count", "list_length", "list_bit_or"] {
        one(name, &l, Type::BigInt);
    }
    for name in
        ["list_avg", "list_var_samp", "list_stddev_pop", "list_skewness", "list_median", "list_product"]
    {
        one(name, &l, Type::Double);
    }
    for name in ["list_min", "list_max", "list_first"] {
        one(name, &l, Type::Integer);
    }
    two("list_extract", &l, &long(2), Type::Integer);
    two("list_contains", &l, &literal(Value::I32(5), Type::Integer), Type::Boolean);
    two("list_position", &l, &literal(Value::I32(5), Type::Integer), Type::BigInt);
    two("list_distance", &f, &f, Type::Double);
    report("cast of INTEGER[] to DOUBLE[]", &batch, l.clone().cast(list(Type::Double)));
    two("map_contains", &m, &literal(Value::I32(200), Type::Integer), Type::Boolean);
    two("map_extract_value", &m, &i, Type::Integer);
    report(
        "list_fsum of 4096",
        &one_list(&batch),
        call("list_fsum", vec![Expr::input(0, list(Type::Double))], Type::Double),
    );
    report(
        "list_median of 4096",
        &one_list(&batch),
        call("list_median", vec![Expr::input(0, list(Type::Double))], Type::Double),
    );
    two("#", &i, &literal(Value::I32(77), Type::Integer), Type::Integer);
    one("bit_count", &n, Type::BigInt);
    one("even", &d, Type::Double);
    one("signbit", &d, Type::Boolean);
    one("sqrt", &d, Type::Double);
    two("fdiv", &d, &literal(Value::F64(0.3), Type::Double), Type::Double);
    two("round_even", &d, &long(2), Type::Double);
    for name in ["epoch_us", "epoch_ms", "epoch_ns"] {
        one(name, &ts, Type::BigInt);
    }
    one("julian", &ts, Type::Double);
    one("last_day", &ts, Type::Date);
    one("monthname", &ts, Type::Text);
    for name in ["quarter", "century", "doy", "second", "week"] {
        report(
            &format!("date_field {name}"),
            &batch,
            call("date_field", vec![text(name), ts.clone()], Type::BigInt),
        );
    }
    let date_diff = call(
        "date_diff",
        vec![text("year"), ts.clone(), literal(Value::I64(0), Type::Timestamp)],
        Type::BigInt,
    );
    report("date_diff", &batch, date_diff);
    one("to_days", &n, Type::Interval);
    one("to_seconds", &d, Type::Interval);
    for name in ["hex", "md5", "url_encode", "strip_accents", "to_base64"] {
        one(name, &t, Type::Text);
    }
    for name in ["bin", "to_hex", "format_bytes", "pg_size_pretty"] {
        one(name, &n, Type::Text);
    }
    two("to_base", &n, &long(7), Type::Text);
    one("length_grapheme", &t, Type::BigInt);
    two("left_grapheme", &t, &long(4), Type::Text);
    two("jaccard", &t, &text("luck"), Type::Double);
    one("hash", &t, Type::BigInt);
    two("regexp_like", &t, &text("(n)(a)"), Type::Boolean);
    two("regexp_full_match", &t, &text("w.*[0-9]+.*t"), Type::Boolean);
    one("to_json", &t, Type::Json);
    one("to_json", &l, Type::Json);
    report("cast of BIGINT to TEXT", &batch, n.clone().cast(Type::Text));
}

/// One row with all numbers of a column as a list.
fn one_list(batch: &Batch) -> Batch {
    let values: Vec<Value> = (0..batch.rows).map(|row| batch.columns[1].value(row)).collect();
    let lists = Vector::from_values(list(Type::Double), &[encoding::list_of(&values, Type::Double)]);
    Batch::new(vec![lists], 1)
}
