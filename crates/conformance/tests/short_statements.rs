//! Statements that are over in microseconds: over constant rows, which their own thread evaluates, and over a few rows of
//! a table, which it runs without being admitted. They are stopped, limited, counted and seen like any other.

use std::thread;
use std::time::{Duration, Instant};

use engine::{Batch, Database, Fetched, Options, Session, SqlState, Value};
use types::stop::Place;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

fn database() -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(256 << 20), ..Default::default() };
    Database::in_memory(options).expect("opens")
}

fn session() -> Session {
    database().session()
}

fn value(session: &Session, text: &str) -> Value {
    session.query(text).unwrap_or_else(|e| panic!("{text}: {e}")).value(0, 0)
}

fn fails(session: &Session, text: &str) -> (SqlState, String) {
    let error = session.query(text).expect_err(text);
    (error.state(), error.message().to_owned())
}

/// A constant, and a few rows of a table.
const SHORT: [&str; 3] =
    ["SELECT 40 + 2", "VALUES (42), (43)", "SELECT count(*) + 39 FROM few WHERE a IS NOT NULL"];

fn with_few_rows() -> Session {
    let session = session();
    session.query("CREATE TABLE few(a BIGINT)").unwrap();
    session.query("INSERT INTO few VALUES (1), (2), (3)").unwrap();
    session
}

#[test]
fn a_deadline_and_a_cancel_end_them() {
    let session = with_few_rows();
    session.query("SET statement_timeout = '60ms'").unwrap();
    session.cancel_token().delay(Some((Place::Batch, Duration::from_millis(120))));
    for text in SHORT {
        let (state, message) = fails(&session, text);
        assert_eq!(state, SqlState::QueryCanceled, "{text}");
        assert!(message.contains("statement timeout"), "{text}: {message}");
    }
    session.query("RESET statement_timeout").unwrap();
    session.cancel_token().delay(Some((Place::Batch, Duration::from_millis(300))));
    for text in SHORT {
        let cancel = session.cancel_token();
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(100));
                cancel.cancel();
            });
            let (state, message) = fails(&session, text);
            assert_eq!(state, SqlState::QueryCanceled, "{text}");
            assert!(message.contains("user request"), "{text}: {message}");
        });
    }
    session.cancel_token().delay(None);
    for text in SHORT {
        assert_eq!(value(&session, text).as_i64(), Some(42), "{text}");
    }
}

#[test]
fn others_see_them_run() {
    let session = with_few_rows();
    let other = session.database().session();
    for text in SHORT {
        session.cancel_token().delay(Some((Place::Batch, Duration::from_millis(400))));
        thread::scope(|scope| {
            let running = scope.spawn(|| session.query(text).map(|rows| rows.rows()));
            let state = format!("SELECT state FROM quickstep_queries WHERE query = '{text}'");
            let began = Instant::now();
            let seen = loop {
                let rows = other.query(&state).unwrap();
                if rows.rows() == 1 && rows.value(0, 0) == Value::text("running") {
                    break true;
                }
                if began.elapsed() > Duration::from_secs(20) {
                    break false;
                }
            };
            assert!(running.join().unwrap().is_ok());
            assert!(seen, "{text} was not seen to run");
        });
        session.cancel_token().delay(None);
    }
    assert_eq!(value(&other, "SELECT count(*) FROM quickstep_queries").as_i64(), Some(1));
}

#[test]
fn one_that_is_paused_gives_its_place_back_and_goes_on() {
    let session = with_few_rows();
    let other = session.database().session();
    other.query("SET workers = 1").unwrap();
    session.cancel_token().delay(Some((Place::Batch, Duration::from_millis(200))));
    // A place in front of the batch is passed for each of the segments: after the pause nothing is claimed.
    let text = "SELECT a, count(*) FROM few GROUP BY a ORDER BY a";
    thread::scope(|scope| {
        let running = scope.spawn(|| session.query(text).map(|rows| rows.rows()));
        let id = loop {
            let seen = "SELECT id FROM quickstep_queries WHERE query LIKE 'SELECT a, count%'";
            let rows = other.query(seen).unwrap();
            if rows.rows() == 1 {
                break rows.value(0, 0).as_i64().unwrap();
            }
        };
        other.query(&format!("PAUSE QUERY {id}")).unwrap();
        session.cancel_token().delay(None);
        // The only place is free for others.
        assert_eq!(value(&other, "SELECT count(*) FROM few").as_i64(), Some(3));
        let state = value(&other, &format!("SELECT state FROM quickstep_queries WHERE id = {id}"));
        assert_eq!(state, Value::text("paused"));
        other.query(&format!("RESUME QUERY {id}")).unwrap();
        assert_eq!(running.join().unwrap(), Ok(3));
    });
}

#[test]
fn memory_is_asked_for_and_limits_hold() {
    let session = session();
    let wide = "SELECT length(repeat('x', 1000000000 + (random() * 2)::INTEGER))";
    assert_eq!(fails(&session, wide).0, SqlState::OutOfMemory);
    session.query("SET query_memory = '1MB'").unwrap();
    let limited = "SELECT length(repeat('x', 30000000 + (random() * 2)::INTEGER)) + a \
                   FROM (VALUES (1), (2), (3), (4)) AS t(a) WHERE a > random() * 0";
    let outcome = session.query(limited);
    // An order is ended at its next look; what has come by then may be all.
    assert!(outcome.as_ref().map_or_else(|e| e.state() == SqlState::OutOfMemory, |rows| rows.rows() == 4));
    session.query("RESET query_memory").unwrap();
    assert_eq!(value(&session, "SELECT 1").as_i64(), Some(1));
}

#[test]
fn errors_are_those_of_any_statement() {
    let session = session();
    for text in
        ["SELECT 1 / 0", "SELECT 1 / (random() * 0)::INTEGER", "SELECT 1 / a FROM (VALUES (1), (0)) AS t(a)"]
    {
        for _ in 0..3 {
            assert_eq!(fails(&session, text).0, SqlState::DivisionByZero, "{text}");
        }
    }
    session.query("BEGIN").unwrap();
    fails(&session, "SELECT 1 / 0");
    assert_eq!(fails(&session, "SELECT 1").0, SqlState::InFailedTransaction);
    session.query("ROLLBACK").unwrap();
    assert_eq!(value(&session, "SELECT 1").as_i64(), Some(1));
    let failed = "SELECT state FROM quickstep_query_history WHERE query LIKE 'SELECT 1 / (random%' LIMIT 1";
    assert_eq!(value(&session, failed), Value::text("failed"));
}

#[test]
fn volatile_functions_are_called_each_time_and_once() {
    let session = session();
    session.query("CREATE SEQUENCE s").unwrap();
    for expected in 1..=5 {
        assert_eq!(value(&session, "SELECT nextval('s')").as_i64(), Some(expected));
    }
    let drawn: Vec<Value> = (0..5).map(|_| value(&session, "SELECT random()")).collect();
    assert!(drawn.windows(2).any(|pair| pair[0] != pair[1]), "{drawn:?}");
    // The time is the statement's: one for all of its rows, and another one for the next.
    let now = "SELECT now(), a FROM (VALUES (1), (2)) AS t(a)";
    let rows = session.query(now).unwrap();
    assert_eq!(rows.value(0, 0), rows.value(1, 0));
    thread::sleep(Duration::from_millis(5));
    assert_ne!(session.query(now).unwrap().value(0, 0), rows.value(0, 0));
}

#[test]
fn the_history_has_their_plans_and_rows() {
    let session = session();
    let text = "SELECT a + 1 FROM (VALUES (1), (2), (3)) AS t(a) WHERE a > random() - 1 LIMIT 2";
    let charged = session.charged_time();
    for _ in 0..2 {
        assert_eq!(session.query(text).unwrap().rows(), 2);
    }
    assert!(session.charged_time() > charged);
    let trace = session.database().query_traces().into_iter().rfind(|trace| &*trace.text == text).unwrap();
    assert_eq!((trace.rows, trace.state(), trace.parts.len()), (2, "finished", 1));
    assert_eq!(trace.work_orders(), 0, "no worker has had a part in it");
    assert!(trace.cpu >= trace.planning && trace.execution() > 0 && trace.total > trace.cpu / 2);
    let rows: Vec<u64> = trace.parts[0].nodes().iter().map(|node| node.did.as_ref().unwrap().rows).collect();
    assert_eq!((rows[0], rows.last()), (2, Some(&3)), "{rows:?}");
    let analyzed = session.query(&format!("EXPLAIN ANALYZE {text}")).unwrap();
    let lines: Vec<String> =
        (0..analyzed.rows()).map(|row| analyzed.value(row, 0).as_text().unwrap().to_owned()).collect();
    assert!(lines.iter().any(|line| line.contains("Values 3 rows")), "{lines:?}");
    // Without work orders nothing is drawn, and nothing fails.
    let id = trace.id;
    assert!(
        session.query(&format!("SELECT count(*) FROM quickstep_work_orders WHERE query_id = {id}")).is_ok()
    );
    session.query("SET trace = 'off'").unwrap();
    assert_eq!(session.query(text).unwrap().rows(), 2);
}

#[test]
fn portals_give_as_many_rows_as_are_asked_for() {
    let session = session();
    let statement = session.prepare("VALUES ($1::BIGINT), (2), (3)", &[]).unwrap();
    for first in [7, 8] {
        let mut portal = session.bind(&statement, vec![Value::I64(first)]).unwrap();
        let mut seen = Vec::new();
        let mut take = |batch: Batch| {
            seen.extend((0..batch.rows).map(|row| batch.columns[0].value(row)));
            Ok(())
        };
        assert_eq!(portal.fetch(&session, Some(2), &mut take), Ok(Fetched::Suspended));
        assert_eq!(portal.fetch(&session, None, &mut take), Ok(Fetched::Complete("SELECT 1".to_owned())));
        assert_eq!(seen, [Value::I64(first), Value::I64(2), Value::I64(3)]);
    }
}

#[test]
fn many_sessions_at_once_are_told_the_same() {
    let session = with_few_rows();
    let database = session.database();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let own = database.session();
                for _ in 0..200 {
                    for text in SHORT {
                        assert_eq!(value(&own, text).as_i64(), Some(42), "{text}");
                    }
                }
            });
        }
    });
    assert_eq!(value(&session, "SELECT count(*) FROM quickstep_queries").as_i64(), Some(1));
}
