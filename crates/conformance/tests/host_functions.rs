//! Functions of the host program over Arrow arrays: where they may stand, NULLs, errors, panics, memory.
//!
//! Functions are registered by the Rust API and called in every clause, under several settings. A panic or an error
//! of a function ends its statement alone: the session stays usable and its memory is given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use engine::{AggregateFunction, Database, Error, Options, ScalarFunction, Session, SqlState, Type, Value};

fn session() -> Session {
    let options = Options { workers: Some(2), memory_bytes: Some(2 << 30), ..Default::default() };
    let session = Database::in_memory(options).expect("opens").session();
    session
        .execute(
            "CREATE TABLE n AS SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS x \
             FROM generate_series(1, 100000) AS t(i)",
        )
        .expect("creates");
    session
}

fn one(session: &Session, text: &str) -> Value {
    session.query(text).unwrap_or_else(|e| panic!("{text}: {e}")).value(0, 0)
}

fn add(name: &str) -> ScalarFunction {
    ScalarFunction::new(name, vec![Type::BigInt, Type::BigInt], Type::BigInt, |arguments, rows| {
        let (a, b) = (arguments[0].as_primitive::<Int64Type>(), arguments[1].as_primitive::<Int64Type>());
        assert_eq!((a.len(), b.len(), a.null_count()), (rows, rows, 0));
        Ok(Arc::new(a.values().iter().zip(b.values()).map(|(a, b)| a + b).collect::<Int64Array>())
            as ArrayRef)
    })
}

fn total(name: &str) -> AggregateFunction {
    AggregateFunction::new(name, vec![Type::BigInt, Type::Text], Type::BigInt, |arguments| {
        assert_eq!(arguments[0].len(), arguments[1].len());
        Ok(Value::I64(arguments[0].as_primitive::<Int64Type>().iter().flatten().sum()))
    })
}

#[test]
fn scalar_functions_stand_in_any_expression() {
    let session = session();
    session.database().create_function(add("Plus"), false).expect("creates");
    assert_eq!(one(&session, "SELECT plus(1, 2)"), Value::I64(3));
    assert_eq!(one(&session, "SELECT count(plus(x, i)) FROM n"), Value::I64(66667));
    assert_eq!(one(&session, "SELECT count(*) FROM n WHERE plus(i, x) % 2 = 0"), Value::I64(66667));
    assert_eq!(
        one(&session, "SELECT count(*) FROM n a JOIN n b ON plus(a.i, 0) = plus(b.i, 1)"),
        Value::I64(99999)
    );
    assert_eq!(
        one(&session, "SELECT i FROM n GROUP BY i HAVING sum(plus(i, 1)) = 11 ORDER BY plus(i, 0)"),
        Value::I64(10)
    );
    // In a view and a macro, and under other settings.
    session
        .execute(
            "CREATE VIEW v AS SELECT plus(i, i) AS d FROM n; CREATE MACRO thrice(a) AS plus(a, plus(a, a)); \
             SET unit_of_transfer = 'block'; SET batch_rows = 7",
        )
        .expect("creates");
    assert_eq!(one(&session, "SELECT max(thrice(d)) FROM v"), Value::I64(600_000));
}

#[test]
fn nulls_are_seen_only_when_asked_for() {
    let session = session();
    let nulls = |name: &str| {
        ScalarFunction::new(name, vec![Type::BigInt], Type::Integer, |arguments, rows| {
            Ok(Arc::new(Int32Array::from_iter_values((0..rows).map(|r| i32::from(arguments[0].is_null(r))))))
        })
    };
    session.database().create_function(nulls("never"), false).expect("creates");
    session.database().create_function(nulls("sometimes").sees_nulls(), false).expect("creates");
    assert_eq!(one(&session, "SELECT sum(never(x)) FROM n"), Value::I64(0));
    assert_eq!(one(&session, "SELECT count(never(x)) FROM n"), Value::I64(66667));
    assert_eq!(one(&session, "SELECT sum(sometimes(x)) FROM n"), Value::I64(33333));
    assert_eq!(one(&session, "SELECT never(NULL)"), Value::Null);
}

#[test]
fn aggregates_stand_where_aggregates_do() {
    let session = session();
    let database = session.database();
    database.create_function(total("total"), false).expect("creates");
    assert_eq!(one(&session, "SELECT total(i, 'a') FROM n"), Value::I64(5_000_050_000));
    assert_eq!(one(&session, "SELECT total(x, 'a') FROM n WHERE i <= 3"), Value::I64(3));
    assert_eq!(one(&session, "SELECT total(DISTINCT i % 3, 'a') FROM n"), Value::I64(3));
    assert_eq!(one(&session, "SELECT total(i, 'a') FILTER (WHERE i < 3) FROM n"), Value::I64(3));
    assert_eq!(one(&session, "SELECT total(i, 'a') FROM n WHERE FALSE"), Value::Null);
    let agrees = |group: &str| {
        let text = format!(
            "SELECT count(*) FROM (SELECT {group} AS k, total(i, CAST(i AS TEXT)) AS a, sum(i) AS b FROM n \
             GROUP BY ROLLUP (1)) WHERE a <> b"
        );
        assert_eq!(one(&session, &text), Value::I64(0), "{group}");
    };
    ["i % 2", "i % 1000", "i / 3", "i", "x"].into_iter().for_each(agrees);
    let text = "SELECT count(*) FROM (SELECT total(i, 'a') OVER w AS a, sum(i) OVER w AS b FROM n WHERE i < 500 \
                WINDOW w AS (PARTITION BY i % 5 ORDER BY i ROWS 3 PRECEDING)) WHERE a <> b";
    assert_eq!(one(&session, text), Value::I64(0));
    // Rows come in the order of the input.
    let last = AggregateFunction::new("last_of", vec![Type::BigInt], Type::BigInt, |arguments| {
        let values = arguments[0].as_primitive::<Int64Type>();
        Ok(Value::I64(values.value(values.len() - 1)))
    });
    database.create_function(last, false).expect("creates");
    assert_eq!(
        one(&session, "SELECT sum(k) FROM (SELECT last_of(i) AS k FROM n GROUP BY i % 4)"),
        Value::I64(399_994)
    );
    let count = AggregateFunction::new("rows_of", vec![Type::BigInt], Type::BigInt, |arguments| {
        Ok(Value::I64(arguments[0].len() as i64))
    });
    database.create_function(count.sees_nulls(), false).expect("creates");
    assert_eq!(one(&session, "SELECT rows_of(x) FROM n"), Value::I64(100_000));
    assert_eq!(one(&session, "SELECT rows_of(x) FROM n WHERE FALSE"), Value::I64(0));
}

#[test]
fn errors_and_panics_end_the_statement_alone() {
    let session = session();
    let database = session.database();
    let fails =
        ScalarFunction::new("fails", vec![Type::BigInt], Type::BigInt, |arguments, _| {
            match arguments[0].as_primitive::<Int64Type>().values().iter().find(|v| **v > 50_000) {
                Some(value) => {
                    Err(Error::new(SqlState::ExternalRoutineException, format!("cannot take {value}")))
                }
                None => Ok(arguments[0].clone()),
            }
        });
    let panics = ScalarFunction::new("panics", vec![Type::BigInt], Type::BigInt, |_, _| panic!("on purpose"));
    let short = ScalarFunction::new("short", vec![Type::BigInt], Type::BigInt, |a, _| Ok(a[0].slice(0, 1)));
    let text = ScalarFunction::new("text_instead", vec![Type::BigInt], Type::BigInt, |_, rows| {
        Ok(Arc::new(StringArray::from_iter_values((0..rows).map(|_| "seven"))))
    });
    for function in [fails, panics, short, text] {
        database.create_function(function, false).expect("creates");
    }
    let error =
        session.query("SELECT 1;\n").and(session.query("SELECT i,\n       fails(i) FROM n")).unwrap_err();
    assert_eq!(error.state(), SqlState::ExternalRoutineException);
    let place = error.position().expect("has a place");
    assert_eq!((place.line, place.column), (2, 8));
    // Within a script, the script's place.
    let error = session.execute("SELECT 1;\nSELECT 2; SELECT fails(i) FROM n").unwrap_err();
    assert_eq!(error.position().map(|p| (p.line, p.column)), Some((2, 18)));
    let states = ["panics", "short", "text_instead"]
        .map(|name| session.query(&format!("SELECT {name}(i) FROM n")).unwrap_err().state());
    assert_eq!(
        states,
        [SqlState::Internal, SqlState::ExternalRoutineException, SqlState::ExternalRoutineException]
    );
    assert_eq!(one(&session, "SELECT fails(7)"), Value::I64(7));
    // What binding finds.
    for (text, state) in [
        ("SELECT fails()", SqlState::UndefinedFunction),
        ("SELECT fails(DATE '2024-01-01')", SqlState::UndefinedFunction),
        ("SELECT fails(DISTINCT 1)", SqlState::GroupingError),
        ("SELECT fails(1) OVER ()", SqlState::GroupingError),
        ("SELECT nosuch(1)", SqlState::UndefinedFunction),
    ] {
        assert_eq!(session.query(text).unwrap_err().state(), state, "{text}");
    }
}

#[test]
fn names_are_taken_listed_replaced_and_dropped() {
    let session = session();
    let database = session.database();
    database.create_function(add("plus"), false).expect("creates");
    assert_eq!(
        database.create_function(add("plus"), false).unwrap_err().state(),
        SqlState::DuplicateFunction
    );
    assert_eq!(
        database.create_function(add("lower"), true).unwrap_err().state(),
        SqlState::DuplicateFunction
    );
    database.create_function(total("plus"), true).expect("replaces");
    let listed = "SELECT function_type FROM quickstep_functions() WHERE function_name = 'plus'";
    assert_eq!(one(&session, listed), Value::text("aggregate"));
    let usage = "SELECT usage FROM quickstep_functions() WHERE function_name = 'plus'";
    assert!(one(&session, usage).as_text().is_some_and(|usage| usage.starts_with("plus(BIGINT")));
    session.execute("DROP FUNCTION plus(BIGINT, TEXT); DROP FUNCTION IF EXISTS plus").expect("drops");
    assert_eq!(session.query("DROP FUNCTION plus").unwrap_err().state(), SqlState::UndefinedFunction);
    assert_eq!(session.query("DROP FUNCTION lower").unwrap_err().state(), SqlState::UndefinedFunction);
    assert!(!database.drop_function("plus"));
    session
        .execute("CREATE MACRO m(a) AS a + 1; DROP FUNCTION m")
        .expect("a macro is called like a function");
}

#[test]
fn volatile_functions_are_called_for_every_row() {
    let session = session();
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = |name: &str, volatile: bool| {
        let calls = calls.clone();
        let function = ScalarFunction::new(name, vec![], Type::BigInt, move |_, rows| {
            let first = calls.fetch_add(rows, Ordering::Relaxed) as i64;
            Ok(Arc::new(Int64Array::from_iter_values(first..first + rows as i64)))
        });
        if volatile { function.volatile() } else { function }
    };
    session.database().create_function(counting("stable", false), false).expect("creates");
    session.database().create_function(counting("each", true), false).expect("creates");
    session.query("SELECT stable() FROM n").expect("runs");
    assert!(calls.swap(0, Ordering::Relaxed) < 1000);
    assert_eq!(
        one(&session, "SELECT count(DISTINCT e) FROM (SELECT each() AS e FROM n)"),
        Value::I64(100_000)
    );
}
