//! Plans that are kept: used for as long as nothing changed that they were made of, and never a moment longer.
//!
//! `was_kept` asks whether the last query ran with a kept plan. Each test changes one thing that a plan depends on
//! (tables, names, settings, host functions, time) and checks both the answer and whether the plan was made again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use engine::{Database, Options, ScalarFunction, Session, Type, Value};

fn database() -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(2 << 30), ..Default::default() };
    Database::in_memory(options).expect("opens")
}

fn run(session: &Session, text: &str) -> Vec<Vec<Value>> {
    let result = session.query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let columns = result.schema().len();
    (0..result.rows()).map(|row| (0..columns).map(|column| result.value(row, column)).collect()).collect()
}

fn number(session: &Session, text: &str) -> i64 {
    run(session, text)[0][0].as_i64().unwrap_or_else(|| panic!("{text} is no number"))
}

/// Whether the session's last query ran by plans that were kept.
fn was_kept(session: &Session) -> bool {
    session.database().query_traces().last().expect("a trace").kept_plan
}

/// The last of two runs, and whether it ran by plans that the first one left.
fn again(session: &Session, text: &str) -> (Vec<Vec<Value>>, bool) {
    run(session, text);
    let rows = run(session, text);
    (rows, was_kept(session))
}

fn with_table() -> (Database, Session) {
    let database = database();
    let session = database.session();
    session
        .query("CREATE TABLE t AS SELECT i AS k, i % 7 AS g FROM generate_series(1, 1000) AS s(i)")
        .unwrap();
    (database, session)
}

const GROUPS: &str = "SELECT g, count(*) FROM t WHERE k <= 500 GROUP BY g ORDER BY g";

#[test]
fn the_same_text_is_planned_once() {
    let (_database, session) = with_table();
    let first = run(&session, GROUPS);
    assert!(!was_kept(&session));
    assert_eq!(run(&session, GROUPS), first);
    assert!(was_kept(&session));
    // Described before, streamed, read as Arrow: it is one text.
    let schema = session.describe(GROUPS).unwrap().expect("a query");
    assert_eq!(schema.fields()[0].name, "g");
    let streamed: usize = session.stream(GROUPS).unwrap().map(|batch| batch.unwrap().rows).sum();
    assert_eq!((streamed, was_kept(&session)), (7, true));
    let collected: usize =
        session.collect_arrow(GROUPS).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!((collected, was_kept(&session)), (7, true));
    // It is told where a query is looked at again.
    let history =
        "SELECT kept_plan FROM quickstep_query_history WHERE query LIKE 'SELECT g, count%' ORDER BY id";
    let told: Vec<Value> = run(&session, history).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(told, [false, true, true, true].map(Value::Bool));
}

#[test]
fn what_was_bound_to_be_described_is_planned_from_there() {
    let (_database, session) = with_table();
    assert!(session.describe(GROUPS).unwrap().is_some());
    assert_eq!(run(&session, GROUPS).len(), 7);
    assert!(!was_kept(&session), "there was no plan yet");
    assert_eq!(again(&session, GROUPS), (run(&session, GROUPS), true));
}

#[test]
fn another_state_of_the_tables_is_another_plan() {
    let (database, session) = with_table();
    let text = "SELECT count(*), max(k) FROM t";
    assert_eq!(again(&session, text).0, [[Value::I64(1000), Value::I64(1000)]]);
    // By itself, by another session, in a transaction and back.
    session.query("INSERT INTO t VALUES (2000, 0)").unwrap();
    assert_eq!((run(&session, text)[0][1].clone(), was_kept(&session)), (Value::I64(2000), false));
    database.session().query("DELETE FROM t WHERE k = 2000").unwrap();
    assert_eq!((run(&session, text)[0][1].clone(), was_kept(&session)), (Value::I64(1000), false));
    session.query("BEGIN").unwrap();
    session.query("UPDATE t SET k = 5000 WHERE k = 1").unwrap();
    assert_eq!(again(&session, text), (vec![vec![Value::I64(1000), Value::I64(5000)]], true));
    session.query("ROLLBACK").unwrap();
    assert_eq!(run(&session, text)[0][1], Value::I64(1000));
    // The name is another table's.
    session.query("DROP TABLE t").unwrap();
    assert!(session.query(text).is_err() && session.describe(text).is_err());
    session.query("CREATE TABLE t AS SELECT 3.5 AS k").unwrap();
    assert_eq!(session.describe(text).unwrap().unwrap().fields()[1].ty.sql_name(), "DECIMAL(2,1)");
    assert_eq!(run(&session, text)[0][0], Value::I64(1));
}

#[test]
fn names_mean_what_they_mean_now() {
    let (_database, session) = with_table();
    let text = "SELECT count(*) FROM t";
    assert_eq!(again(&session, text), (vec![vec![Value::I64(1000)]], true));
    // A temporary table hides it.
    session.query("CREATE TEMPORARY TABLE t AS SELECT 1 AS k").unwrap();
    assert_eq!(number(&session, text), 1);
    session.query("DROP TABLE temp.t").unwrap();
    assert_eq!(number(&session, text), 1000);
    // So does a schema further ahead in the path.
    session.query("CREATE SCHEMA s").unwrap();
    session.query("CREATE TABLE s.t AS SELECT i FROM generate_series(1, 5) AS r(i)").unwrap();
    assert_eq!(again(&session, text).0, [[Value::I64(1000)]]);
    session.query("SET search_path = 's'").unwrap();
    assert_eq!(again(&session, text), (vec![vec![Value::I64(5)]], true));
    session.query("RESET search_path").unwrap();
    assert_eq!(number(&session, text), 1000);
    // Views and macros.
    session.query("CREATE VIEW v AS SELECT 1 AS a").unwrap();
    session.query("CREATE MACRO twice(x) AS 2 * x").unwrap();
    let text = "SELECT twice(a) FROM v";
    assert_eq!(again(&session, text), (run(&session, text), true));
    session.query("CREATE OR REPLACE VIEW v AS SELECT 10 AS a").unwrap();
    assert_eq!(number(&session, text), 20);
    session.query("CREATE OR REPLACE MACRO twice(x) AS 3 * x").unwrap();
    assert_eq!(number(&session, text), 30);
}

#[test]
fn settings_make_other_plans() {
    let (_database, session) = with_table();
    let text = "SELECT TIMESTAMPTZ '2024-01-01 00:00:00'::text, count(*) FROM t";
    assert_eq!(again(&session, text).0[0][0], Value::text("2024-01-01 00:00:00+00"));
    session.query("SET timezone = 'Europe/Berlin'").unwrap();
    assert_eq!(again(&session, text), (run(&session, text), true));
    assert_eq!(run(&session, text)[0][0], Value::text("2024-01-01 00:00:00+01"));
    let join = "SELECT count(*) FROM t AS a JOIN t AS b ON a.k = b.k";
    assert!(again(&session, join).1);
    session.query("SET join_order = 'written'").unwrap();
    run(&session, join);
    assert!(!was_kept(&session));
    session.query("SET plan_cache = off").unwrap();
    assert!(!again(&session, join).1);
    session.query("RESET plan_cache").unwrap();
    assert!(again(&session, join).1);
}

#[test]
fn what_is_of_the_moment_is_not_kept() {
    let (database, session) = with_table();
    session.query("CREATE SEQUENCE numbers").unwrap();
    let (number_now, number_then) = ("SELECT nextval('numbers')", run(&session, "SELECT nextval('numbers')"));
    assert_ne!(run(&session, number_now), number_then);
    for text in [
        "SELECT now()",
        "SELECT clock_timestamp()",
        "SELECT current_timestamp + INTERVAL '1 day' FROM t LIMIT 1",
        "SELECT localtime",
        "SELECT random() FROM t LIMIT 1",
        "SELECT (SELECT random()) FROM t LIMIT 1",
        "SELECT uuid()",
        "SELECT sum(k) FROM t TABLESAMPLE BERNOULLI (50)",
        "SELECT sum(k) FROM t USING SAMPLE 100 ROWS",
        "SELECT max(id) FROM quickstep_query_history",
    ] {
        let first = run(&session, text);
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_ne!(run(&session, text), first, "{text}");
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_ne!(run(&session, text), first, "{text}, the third time");
    }
    // A setting is part of what is asked, and what other sessions set is not the session's.
    let text = "SELECT setting FROM quickstep_settings WHERE name = 'workers'";
    assert_eq!(again(&session, text).0, [[Value::text("2")]]);
    database.session().query("SET workers = 3").unwrap();
    assert_eq!(run(&session, text), [[Value::text("3")]]);
    // Files change outside the engine.
    let file = std::env::temp_dir().join(format!("quickstep-plan-cache-{}.csv", std::process::id()));
    std::fs::write(&file, "a\n1\n").unwrap();
    let text = format!("SELECT sum(a) FROM '{}'", file.display());
    assert_eq!(again(&session, &text).0, [[Value::I64(1)]]);
    std::fs::write(&file, "a,b\n1,2\n5,3\n").unwrap();
    assert_eq!(run(&session, &text), [[Value::I64(6)]]);
    std::fs::remove_file(&file).unwrap();
    // What the host program has registered.
    let rows = |values: Vec<i64>| {
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        (batch.schema(), vec![batch])
    };
    let text = "SELECT sum(a) FROM held";
    let (schema, batches) = rows(vec![1, 2]);
    session.register("held", schema, batches);
    assert_eq!(again(&session, text).0, [[Value::I64(3)]]);
    let (schema, batches) = rows(vec![40, 2]);
    session.register("held", schema, batches);
    assert_eq!(run(&session, text), [[Value::I64(42)]]);
    session.unregister("held");
    assert!(session.query(text).is_err());
    // The values that PIVOT makes columns of.
    let text = "PIVOT t ON g USING count(*)";
    assert_eq!(again(&session, text).0[0].len(), 8);
    session.query("INSERT INTO t VALUES (1, 100)").unwrap();
    assert_eq!(run(&session, text)[0].len(), 9);
}

#[test]
fn functions_of_the_host_program_are_called_as_they_are_now() {
    let (database, session) = with_table();
    let always = |value: i64| {
        ScalarFunction::new("always", vec![Type::BigInt], Type::BigInt, move |_, rows| {
            Ok(Arc::new(Int64Array::from(vec![value; rows])) as ArrayRef)
        })
    };
    let text = "SELECT max(always(k)) FROM t";
    database.create_function(always(1), false).unwrap();
    assert_eq!(again(&session, text), (vec![vec![Value::I64(1)]], false));
    database.create_function(always(2), true).unwrap();
    assert_eq!(number(&session, text), 2);
    assert!(database.drop_function("always"));
    assert!(session.query(text).is_err());
    for name in ["abs", "grouping", "columns"] {
        let function = ScalarFunction::new(name, vec![Type::BigInt], Type::BigInt, |arguments, _| {
            Ok(arguments[0].clone())
        });
        assert!(database.create_function(function, false).is_err(), "{name} is the engine's own");
    }
}

#[test]
fn what_runs_before_a_query_is_planned_runs_every_time() {
    let (_database, session) = with_table();
    // A scalar subquery, one inside the other, and a common subplan.
    let text = "WITH c AS (SELECT g, count(*) AS n FROM t GROUP BY g) \
                SELECT g, n FROM c WHERE n >= (SELECT max(n) FROM c) \
                AND g < (SELECT avg(k) FROM t WHERE k > (SELECT min(k) FROM t)) ORDER BY g";
    let first = run(&session, text);
    assert_eq!(again(&session, text), (first, true));
    assert!(session.database().query_traces().last().unwrap().parts.len() > 2);
    session.query("INSERT INTO t VALUES (1001, 3)").unwrap();
    let now = run(&session, text);
    assert_eq!(again(&session, text), (now, true));
    // One that gives another value each time: planned each time, and right.
    let text = "SELECT count(*) FROM t WHERE k > (SELECT random() * 0.5)";
    for _ in 0..4 {
        assert_eq!(number(&session, text), 1001);
    }
    assert!(!was_kept(&session));
    // What ran in vain is no part of it.
    run(&session, "SELECT max(k) FROM t WHERE g < (SELECT random())");
    run(&session, "SELECT max(k) FROM t WHERE g < (SELECT random())");
    assert_eq!(session.database().query_traces().last().unwrap().parts.len(), 2);
    // More than one row is an error each time.
    let text = "SELECT (SELECT k FROM t)";
    for _ in 0..3 {
        assert_eq!(session.query(text).unwrap_err().state(), engine::SqlState::CardinalityViolation);
    }
}

#[test]
fn errors_of_a_kept_plan_are_those_of_a_new_one() {
    let (_database, session) = with_table();
    for text in ["SELECT 1 / (k - k) FROM t", "SELECT CAST('x' || k AS INTEGER) FROM t"] {
        let told = |_: usize| {
            let error = session.query(text).unwrap_err();
            (error.state(), error.to_string(), error.position())
        };
        let all: Vec<_> = (0..3).map(told).collect();
        assert!(all[0] == all[1] && all[1] == all[2], "{all:?}");
    }
    // And a transaction that has failed refuses a text that it knows.
    run(&session, "SELECT count(*) FROM t");
    session.query("BEGIN").unwrap();
    run(&session, "SELECT count(*) FROM t");
    session.query("SELECT 1 / 0").unwrap_err();
    let error = session.query("SELECT count(*) FROM t").unwrap_err();
    assert_eq!(error.state(), engine::SqlState::InFailedTransaction);
    session.query("ROLLBACK").unwrap();
    assert_eq!(number(&session, "SELECT count(*) FROM t"), 1000);
}

#[test]
fn texts_are_kept_whole_and_not_without_bound() {
    let (_database, session) = with_table();
    // A second statement is another text; comments and blanks make another one too.
    assert_eq!(session.execute("SELECT count(*) FROM t; SELECT 2").unwrap().len(), 2);
    assert_eq!(session.execute("SELECT count(*) FROM t; SELECT 2").unwrap().len(), 2);
    assert!(again(&session, "SELECT count(*) FROM t;").1);
    // More texts than are kept: those of long ago are forgotten.
    let text = |i: usize| format!("SELECT count(*) + {i} FROM t");
    assert!(again(&session, &text(0)).1);
    for i in 1..300 {
        assert_eq!(number(&session, &text(i)), 1000 + i as i64);
    }
    run(&session, &text(299));
    assert!(was_kept(&session));
    run(&session, &text(0));
    assert!(!was_kept(&session));
    // A plan that holds a long value is not kept.
    let text = "SELECT length((SELECT string_agg(k::text, ', ' ORDER BY k) FROM t))";
    assert_eq!(again(&session, text), (vec![vec![Value::I64(4891)]], false));
    // Long texts are not kept.
    let list: Vec<String> = (0..5000).map(|i| i.to_string()).collect();
    let text = format!("SELECT count(*) FROM t WHERE k IN ({})", list.join(", "));
    assert_eq!(again(&session, &text), (vec![vec![Value::I64(1000)]], false));
}

/// Threads that share a session run one text while another session changes what it reads: every answer is one that
/// the table gave at some time, and the last one is the last state's.
#[test]
fn many_threads_and_a_writer() {
    let (database, session) = with_table();
    let session = Arc::new(session);
    let text = "SELECT count(*), sum(k) FROM t WHERE k > (SELECT min(k) - 1 FROM t)";
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Relaxed) {
                    let row = run(&session, text).remove(0);
                    let (count, sum) = (row[0].as_i64().unwrap(), row[1].as_i128().unwrap());
                    assert_eq!(sum, i128::from(count) * i128::from(count + 1) / 2, "{count} rows");
                    assert!(count >= last, "{count} after {last}");
                    last = count;
                }
            });
        }
        let writer = database.session();
        for k in 1001..1101 {
            writer.query(&format!("INSERT INTO t VALUES ({k}, 0)")).unwrap();
        }
        done.store(true, Relaxed);
    });
    assert_eq!(number(&session, text), 1100);
}
