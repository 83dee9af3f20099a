//! Texts of several statements as one transaction, pipelines in steps, and portals: what is promised in
//! docs/internals/scripts-and-portals.md.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Batch, Database, Error, Fetched, Options, Session, SqlState, TransactionStatus, Type, Value};

fn session() -> Session {
    let options = Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Options::default() };
    Database::in_memory(options).unwrap().session()
}

fn count(session: &Session, table: &str) -> i64 {
    match session.query(&format!("SELECT count(*) FROM {table}")).unwrap().value(0, 0) {
        Value::I64(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn state<T>(outcome: Result<T, Error>) -> SqlState {
    outcome.err().expect("is refused").state()
}

#[test]
fn an_error_takes_back_the_whole_script() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER)").unwrap();
    assert_eq!(
        state(session.execute("INSERT INTO t VALUES (1); SELECT 1/0; INSERT INTO t VALUES (2)")),
        SqlState::DivisionByZero
    );
    assert_eq!(count(&session, "t"), 0);
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
    // Definitions and the text's own tables too.
    assert!(
        session
            .execute("CREATE TABLE u (a INTEGER); INSERT INTO u VALUES (1); SELECT nothing FROM u")
            .is_err()
    );
    assert_eq!(state(session.query("FROM u")), SqlState::UndefinedTable);
    session
        .execute("CREATE TABLE u (a INTEGER); INSERT INTO u VALUES (1); INSERT INTO t SELECT a FROM u")
        .unwrap();
    assert_eq!((count(&session, "t"), count(&session, "u")), (1, 1));
}

#[test]
fn a_syntax_error_anywhere_runs_nothing() {
    let session = session();
    let mut delivered = 0;
    let error = session
        .execute_each("CREATE TABLE t (a INTEGER);\nSELECT 1;\nSELEC 2", |_| {
            delivered += 1;
            Ok(())
        })
        .unwrap_err();
    assert_eq!((error.state(), delivered), (SqlState::SyntaxError, 0));
    assert_eq!(error.position().unwrap().line, 3);
    assert_eq!(state(session.query("FROM t")), SqlState::UndefinedTable);
}

#[test]
fn a_script_may_say_where_transactions_end() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER)").unwrap();
    // COMMIT keeps what came before, with a warning, and the rest is another transaction.
    let mut warnings = vec![];
    let outcome = session.execute_each(
        "INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); SELECT 1/0",
        |result| {
            warnings.extend(result.warning());
            Ok(())
        },
    );
    assert_eq!(state(outcome), SqlState::DivisionByZero);
    assert_eq!(warnings, ["there is no transaction in progress"]);
    assert_eq!(count(&session, "t"), 1);
    session.execute("INSERT INTO t VALUES (3); ROLLBACK; INSERT INTO t VALUES (4)").unwrap();
    assert_eq!(count(&session, "t"), 2);
    // BEGIN takes in what came before, and outlives the script.
    session.execute("INSERT INTO t VALUES (5); BEGIN; INSERT INTO t VALUES (6)").unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::InBlock);
    session.execute("ROLLBACK").unwrap();
    assert_eq!(count(&session, "t"), 2);
    // An error in it leaves it open, and failed.
    assert!(session.execute("BEGIN; INSERT INTO t VALUES (7); SELECT 1/0; COMMIT").is_err());
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    assert_eq!(state(session.execute("SELECT 1; ROLLBACK")), SqlState::InFailedTransaction);
    session.execute("ROLLBACK; INSERT INTO t VALUES (8)").unwrap();
    assert_eq!((count(&session, "t"), session.transaction_status()), (3, TransactionStatus::Idle));
    for refused in [
        "SELECT 1; SAVEPOINT s",
        "SELECT 1; RELEASE s",
        "SELECT 1; ROLLBACK TO s",
        "SELECT 1; COMMIT AND CHAIN",
    ] {
        assert_eq!(state(session.execute(refused)), SqlState::NoActiveTransaction, "{refused}");
    }
    session.execute("SELECT 1; BEGIN; SAVEPOINT s; INSERT INTO t VALUES (9); ROLLBACK TO s; COMMIT").unwrap();
    assert_eq!(count(&session, "t"), 3);
    session.execute("SET TRANSACTION READ ONLY; SELECT 1").unwrap();
    assert_eq!(state(session.execute("SET TRANSACTION READ ONLY; DELETE FROM t")), SqlState::ReadOnly);
}

#[test]
fn statements_that_no_transaction_can_hold() {
    let session = session();
    session
        .execute(
            "ATTACH ':memory:' AS other; CREATE TABLE other.t (a INTEGER); INSERT INTO other.t VALUES (1)",
        )
        .unwrap();
    assert_eq!(count(&session, "other.t"), 1);
    assert_eq!(
        state(session.execute("CREATE TABLE u (a INTEGER); ATTACH ':memory:' AS third")),
        SqlState::ActiveTransaction
    );
    assert_eq!(state(session.query("FROM u")), SqlState::UndefinedTable);
    session.execute("SELECT 1; DETACH other; CREATE TABLE u (a INTEGER)").unwrap();
    assert_eq!(count(&session, "u"), 0);
    session.execute("CREATE TABLE u2 (a INTEGER); COMMIT; ATTACH ':memory:' AS third").unwrap();
    assert_eq!(state(session.execute("BEGIN; DETACH third")), SqlState::ActiveTransaction);
}

#[test]
fn the_last_statement_of_a_streamed_script_may_undo_it() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let script = "INSERT INTO t VALUES (1); SELECT 1 / (i - 900000) FROM generate_series(1, 1000000) AS s(i)";
    let outcome = session.stream(script).and_then(|stream| stream.collect_rest());
    assert_eq!(state(outcome), SqlState::DivisionByZero);
    assert_eq!(count(&session, "t"), 0);
    let rows = session.stream("INSERT INTO t VALUES (1); FROM t").unwrap().collect_rest().unwrap();
    assert_eq!((rows.rows(), count(&session, "t")), (1, 1));
    let arrow = session.collect_arrow("INSERT INTO t VALUES (2); FROM t").unwrap();
    assert_eq!(arrow.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
}

#[test]
fn a_prompt_runs_each_statement_by_itself() {
    let session = session();
    let script = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); SELECT 1/0; INSERT INTO t VALUES (2)";
    assert_eq!(state(session.execute_separately(script, |_| Ok(()))), SqlState::DivisionByZero);
    assert_eq!(count(&session, "t"), 1);
}

#[test]
fn other_threads_wait_for_a_script() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (begun, wait) = std::sync::mpsc::channel();
        let (session, ended) = (&session, &ended);
        scope.spawn(move || {
            wait.recv().unwrap();
            // It is no part of the script, which is taken back.
            session.execute("INSERT INTO t VALUES (2)").unwrap();
            assert!(ended.load(Ordering::SeqCst));
        });
        let outcome = session.execute_each("INSERT INTO t VALUES (1); SELECT 1; SELECT 2", |result| {
            if result.tag() == "SELECT 1" {
                begun.send(()).ok();
                std::thread::sleep(Duration::from_millis(200));
                // What the script's own thread does belongs to it.
                assert_eq!(count(session, "t"), 1);
                ended.store(true, Ordering::SeqCst);
                return Err(Error::new(SqlState::IoError, "the reader is gone"));
            }
            Ok(())
        });
        assert_eq!(state(outcome), SqlState::IoError);
    });
    assert_eq!(session.query("FROM t").unwrap().value(0, 0), Value::I64(2));
    assert_eq!(count(&session, "t"), 1);
}

#[test]
fn a_pipeline_is_one_transaction() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let insert = session.prepare("INSERT INTO t VALUES ($1)", &[]).unwrap();
    let run = |value: i64| {
        session.begin_implicit();
        session.bind(&insert, vec![Value::I64(value)])?.fetch(&session, None, |_| Ok(()))
    };
    assert_eq!(run(1).unwrap(), Fetched::Complete("INSERT 0 1".to_owned()));
    assert_eq!(run(2).unwrap(), Fetched::Complete("INSERT 0 1".to_owned()));
    assert_eq!(session.transaction_status(), TransactionStatus::InBlock);
    assert_eq!(state(session.query("SAVEPOINT s")), SqlState::NoActiveTransaction);
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    session.end_implicit(false).unwrap();
    assert_eq!((count(&session, "t"), session.transaction_status()), (0, TransactionStatus::Idle));
    run(3).unwrap();
    session.end_implicit(true).unwrap();
    assert_eq!(count(&session, "t"), 1);
    // BEGIN in a pipeline outlives its end.
    session.begin_implicit();
    session.query("BEGIN").unwrap();
    session.end_implicit(true).unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::InBlock);
    run(4).unwrap();
    session.query("ROLLBACK").unwrap();
    assert_eq!(count(&session, "t"), 1);
}

fn rows(batches: &mut Vec<Batch>) -> impl FnMut(Batch) -> Result<(), Error> {
    |batch| {
        batches.push(batch);
        Ok(())
    }
}

fn values(batches: &[Batch]) -> Vec<i64> {
    let of = |batch: &Batch| {
        (0..batch.rows)
            .map(|row| match batch.columns[0].value(row) {
                Value::I32(value) => value.into(),
                Value::I64(value) => value,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn statements_are_described_before_they_have_values() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER, b TEXT)").unwrap();
    let statement = session.prepare("SELECT a, b FROM t WHERE a = $1 AND b LIKE $2", &[]).unwrap();
    assert_eq!(statement.parameters(), [Type::Integer, Type::Text]);
    let names: Vec<_> = statement.columns().unwrap().fields().iter().map(|f| f.name.clone()).collect();
    assert_eq!((names, statement.verb()), (vec!["a".to_owned(), "b".to_owned()], "SELECT"));
    // The client's types win.
    let statement = session.prepare("SELECT $1, $2", &[Some(Type::BigInt), None]).unwrap();
    assert_eq!(statement.parameters(), [Type::BigInt, Type::Text]);
    assert_eq!(statement.columns().unwrap().fields()[0].ty, Type::BigInt);
    let statement =
        session.prepare("SELECT a FROM t WHERE b = :name AND a > :low AND a < :low + 9", &[]).unwrap();
    assert_eq!(statement.parameter_names(), ["name", "low"]);
    assert_eq!(statement.parameters(), [Type::Text, Type::Integer]);
    let statement = session.prepare("INSERT INTO t VALUES ($1, $2) RETURNING a", &[]).unwrap();
    assert_eq!((statement.verb(), statement.columns().unwrap().len()), ("INSERT", 1));
    assert!(session.prepare("-- nothing", &[]).unwrap().is_empty());
    assert_eq!(state(session.prepare("SELECT 1; SELECT 2", &[])), SqlState::SyntaxError);
    assert_eq!(state(session.prepare("SELECT c FROM t", &[])), SqlState::UndefinedColumn);
    // Names of other statements count when they run.
    let drop = session.prepare("DROP TABLE later", &[]).unwrap();
    session.execute("CREATE TABLE later (a INTEGER)").unwrap();
    let mut portal = session.bind(&drop, vec![]).unwrap();
    assert_eq!(portal.fetch(&session, None, |_| Ok(())).unwrap(), Fetched::Complete("DROP TABLE".to_owned()));
    assert_eq!(state(portal.fetch(&session, None, |_| Ok(()))), SqlState::NotInPrerequisiteState);
    for (text, heading) in [("EXPLAIN SELECT 1", "QUERY PLAN"), ("SHOW batch_rows", "batch_rows")] {
        let statement = session.prepare(text, &[]).unwrap();
        assert_eq!(statement.columns().unwrap().fields()[0].name, heading);
    }
    let error = session.bind(&session.prepare("SELECT $1", &[]).unwrap(), vec![]);
    assert_eq!(state(error), SqlState::ProtocolViolation);
    // Planned by values: the types are known, and the columns where they do not depend on the values.
    for text in [
        "SELECT a FROM t ORDER BY a LIMIT $1 OFFSET $2",
        "SELECT a FROM t WHERE b LIKE $1 AND b ILIKE $2",
        "SELECT TIMESTAMP '2026-01-01' AT TIME ZONE $1, $2::text",
        "SELECT * FROM range($1, $2)",
    ] {
        let statement = session.prepare(text, &[None, None]).unwrap();
        assert!(statement.parameters().len() == 2 && statement.columns().is_some(), "{text}");
    }
    let statement = session.prepare("SELECT a FROM t LIMIT $1 OFFSET $2", &[]).unwrap();
    assert_eq!(statement.parameters(), [Type::BigInt, Type::BigInt]);
    let path = std::env::temp_dir().join(format!("quickstep-portals-{}.csv", std::process::id()));
    std::fs::write(&path, "a,b\n1,x\n2,y\n").unwrap();
    let statement = session.prepare("SELECT * FROM read_csv($1)", &[]).unwrap();
    assert_eq!((statement.parameters(), statement.columns()), ([Type::Text].as_slice(), None));
    let mut portal = session.bind(&statement, vec![Value::text(path.to_str().unwrap())]).unwrap();
    portal.open(&session).unwrap();
    assert_eq!(portal.columns().unwrap().len(), 2);
    assert_eq!(portal.fetch(&session, None, |_| Ok(())).unwrap(), Fetched::Complete("SELECT 2".to_owned()));
    std::fs::remove_file(path).unwrap();
    // Values of other forms are converted or refused.
    let statement = session.prepare("INSERT INTO t VALUES ($1, $2)", &[]).unwrap();
    let bound = |first, second| session.bind(&statement, vec![first, second]);
    assert!(bound(Value::I64(7), Value::text("seven")).is_ok());
    assert_eq!(state(bound(Value::I64(1 << 40), Value::Null)), SqlState::NumericValueOutOfRange);
    assert_eq!(state(bound(Value::text("7"), Value::Null)), SqlState::InvalidParameterValue);
    assert_eq!(state(bound(Value::Null, Value::I64(7))), SqlState::InvalidParameterValue);
    assert_eq!(
        state(bound(Value::Null, Value::Bytes([0xff].as_slice().into()))),
        SqlState::InvalidParameterValue
    );
}

#[test]
fn a_portal_is_read_in_parts_and_several_at_once() {
    let session = session();
    session.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 100000) AS s(i)").unwrap();
    session.execute("BEGIN").unwrap();
    let statement = session.prepare("SELECT i FROM t WHERE i > $1 ORDER BY i", &[]).unwrap();
    let mut one = session.bind(&statement, vec![Value::I64(0)]).unwrap();
    let mut other = session.bind(&statement, vec![Value::I64(99_990)]).unwrap();
    let mut seen = vec![];
    assert_eq!(one.fetch(&session, Some(3), rows(&mut seen)).unwrap(), Fetched::Suspended);
    let mut few = vec![];
    assert_eq!(other.fetch(&session, Some(4), rows(&mut few)).unwrap(), Fetched::Suspended);
    assert_eq!(one.fetch(&session, Some(2), rows(&mut seen)).unwrap(), Fetched::Suspended);
    assert_eq!(values(&seen), [1, 2, 3, 4, 5]);
    // Neither sees what changes after it was bound.
    let mut late = session.bind(&statement, vec![Value::I64(99_999)]).unwrap();
    session.execute("DELETE FROM t").unwrap();
    assert_eq!(
        other.fetch(&session, None, rows(&mut few)).unwrap(),
        Fetched::Complete("SELECT 6".to_owned())
    );
    assert_eq!(values(&few), (99_991..=100_000).collect::<Vec<_>>());
    assert_eq!(
        other.fetch(&session, None, rows(&mut few)).unwrap(),
        Fetched::Complete("SELECT 0".to_owned())
    );
    let mut last = vec![];
    assert_eq!(
        late.fetch(&session, None, rows(&mut last)).unwrap(),
        Fetched::Complete("SELECT 1".to_owned())
    );
    assert_eq!(values(&last), [100_000]);
    // What was given exactly is told by the next fetch.
    let mut exact = session.bind(&session.prepare("SELECT 1 AS a", &[]).unwrap(), vec![]).unwrap();
    assert_eq!(exact.fetch(&session, Some(1), |_| Ok(())).unwrap(), Fetched::Suspended);
    assert_eq!(exact.fetch(&session, Some(1), |_| Ok(())).unwrap(), Fetched::Complete("SELECT 0".to_owned()));
    // They end with their transaction, unless they are held.
    let mut held = session.bind(&statement, vec![Value::I64(0)]).unwrap();
    held.hold();
    session.execute("ROLLBACK").unwrap();
    assert_eq!(state(one.fetch(&session, Some(1), |_| Ok(()))), SqlState::UndefinedCursor);
    session.execute("TRUNCATE t").unwrap();
    let mut all = vec![];
    // What it saw is what there was when it was bound: nothing, as the transaction had deleted all.
    assert_eq!(held.fetch(&session, None, rows(&mut all)).unwrap(), Fetched::Complete("SELECT 0".to_owned()));
}

#[test]
fn an_error_in_a_portal_fails_its_transaction() {
    let session = session();
    session.execute("BEGIN").unwrap();
    let text = "SELECT 1 / (i - 900000) FROM generate_series(1, $1) AS s(i)";
    let statement = session.prepare(text, &[Some(Type::BigInt)]).unwrap();
    let mut portal = session.bind(&statement, vec![Value::I64(1_000_000)]).unwrap();
    assert_eq!(portal.fetch(&session, Some(10), |_| Ok(())).unwrap(), Fetched::Suspended);
    assert_eq!(state(portal.fetch(&session, None, |_| Ok(()))), SqlState::DivisionByZero);
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    assert_eq!(state(session.bind(&statement, vec![Value::I64(1)])), SqlState::InFailedTransaction);
    assert_eq!(state(session.prepare("SELECT 1", &[])), SqlState::InFailedTransaction);
    let rollback = session.prepare("ROLLBACK", &[]).unwrap();
    let mut portal = session.bind(&rollback, vec![]).unwrap();
    assert_eq!(portal.fetch(&session, None, |_| Ok(())).unwrap(), Fetched::Complete("ROLLBACK".to_owned()));
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
}

#[test]
fn a_statement_whose_columns_have_changed_cannot_be_bound() {
    let session = session();
    session.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)").unwrap();
    let all = session.prepare("SELECT * FROM t WHERE a = $1", &[]).unwrap();
    let run = || session.bind(&all, vec![Value::I64(1)])?.fetch(&session, None, |_| Ok(()));
    run().unwrap();
    session.execute("INSERT INTO t VALUES (2); CREATE TABLE u (a INTEGER)").unwrap();
    run().unwrap();
    session.execute("ALTER TABLE t ADD COLUMN b TEXT").unwrap();
    let error = run().unwrap_err();
    assert_eq!(
        (error.state(), error.message()),
        (SqlState::FeatureNotSupported, "cached plan must not change result type")
    );
    session.execute("ALTER TABLE t DROP COLUMN b").unwrap();
    run().unwrap();
    session.execute("DROP TABLE t").unwrap();
    assert_eq!(state(run()), SqlState::UndefinedTable);
}

/// No definition has changed, and yet the rows would be others than those that were described.
#[test]
fn files_statements_and_cursors_with_other_columns_are_refused() {
    let (session, folder) = (session(), conformance::folder::Folder::new("described"));
    let file = folder.write("f.csv", "a\n1\n2\n");
    session
        .execute("PREPARE p AS SELECT 1 AS a; BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1 AS a; COMMIT")
        .unwrap();
    let of = |sql: &str| session.prepare(sql, &[]).unwrap();
    let (rows, executes, fetches) = (of(&format!("SELECT * FROM '{file}'")), of("EXECUTE p"), of("FETCH c"));
    let run = |statement| session.bind(statement, vec![])?.fetch(&session, None, |_| Ok(()));
    for statement in [&rows, &executes, &fetches] {
        run(statement).unwrap();
    }
    std::fs::write(&file, "a\n1.5\n").unwrap();
    session.execute("DEALLOCATE p; PREPARE p AS SELECT 2.5 AS a; CLOSE c").unwrap();
    session.execute("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 2.5 AS a; COMMIT").unwrap();
    for statement in [&rows, &executes, &fetches] {
        let error = run(statement).unwrap_err();
        assert_eq!(
            (error.state(), error.message()),
            (SqlState::FeatureNotSupported, "cached plan must not change result type")
        );
    }
    std::fs::write(&file, "a\n3\n").unwrap();
    run(&rows).unwrap();
}

#[test]
fn a_portal_that_is_dropped_ends_its_query() {
    let session = session();
    let endless = session.prepare("SELECT i FROM generate_series(1, 1000000000000) AS s(i)", &[]).unwrap();
    let mut portal = session.bind(&endless, vec![]).unwrap();
    assert_eq!(portal.fetch(&session, Some(5), |_| Ok(())).unwrap(), Fetched::Suspended);
    let running = || {
        session.query("SELECT count(*) FROM quickstep_queries() WHERE query LIKE '%1000000000000%' AND query NOT LIKE '%quickstep_queries%'").unwrap().value(0, 0)
    };
    assert_eq!(running(), Value::I64(1));
    let begun = Instant::now();
    drop(portal);
    // The query would take hours.
    assert!(begun.elapsed() < timing::PATIENCE, "{:?}", begun.elapsed());
    assert_eq!(running(), Value::I64(0));
}
