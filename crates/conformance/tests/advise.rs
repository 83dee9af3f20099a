//! `CALL advise`: what it proposes, that it holds, and what it answers where there is nothing to propose.
//!
//! Workloads of known character run first, since the advisor reads what was recorded. A proposal is applied and
//! measured: the workload must not become slower, and answers must stay. Times are the least of several runs, as
//! other load on the machine only adds.

use std::time::{Duration, Instant};

use engine::{Database, Options, ResultSet, Session, Type, Value};

fn session() -> Session {
    let options = Options { workers: Some(2), ..Options::default() };
    Database::in_memory(options).expect("opens").session()
}

fn ask(session: &Session, text: &str) -> ResultSet {
    session.query(text).unwrap_or_else(|e| panic!("{text}: {}", e.render(text)))
}

fn cell(result: &ResultSet, row: usize, name: &str) -> Value {
    let column = result.schema().fields().iter().position(|f| f.name == name).expect("a column of that name");
    result.value(row, column)
}

fn text(result: &ResultSet, row: usize, name: &str) -> String {
    cell(result, row, name).as_text().unwrap_or_default().to_owned()
}

fn shown(result: &ResultSet) -> String {
    let line = |row| {
        ["table_name", "design", "gain", "least", "advice", "statement"]
            .map(|name| match cell(result, row, name) {
                Value::F64(number) => format!("{number:.2}"),
                other => other.display(Type::Text),
            })
            .join(" | ")
    };
    (0..result.rows()).map(line).collect::<Vec<_>>().join("\n")
}

/// The row of the design that is proposed.
fn proposed(advice: &ResultSet) -> Option<usize> {
    (0..advice.rows()).find(|row| !cell(advice, *row, "statement").is_null())
}

fn wait(session: &Session) {
    let started = Instant::now();
    while session.database().is_reorganizing() {
        assert!(started.elapsed() < Duration::from_secs(60), "the work does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn apply(session: &Session, statements: &str) {
    session.execute(statements).unwrap_or_else(|e| panic!("{statements}: {}", e.render(statements)));
    wait(session);
}

/// A wide table whose key is in no order.
fn wide_table(session: &Session, rows: u64) {
    let others: Vec<String> =
        (1..8).map(|c| format!("(i::BIGINT * {}) % {} AS c{c}", 7919 + c, 1000 * c)).collect();
    ask(
        session,
        &format!(
            "CREATE TABLE t AS SELECT (i::BIGINT * 7919) % 4000037 AS k, {} FROM range({rows}) AS r(i)",
            others.join(", ")
        ),
    );
}

/// Milliseconds of the workload: the least of several runs, which others disturb least.
fn least(session: &Session, queries: &[String]) -> f64 {
    (0..9)
        .map(|_| {
            let started = Instant::now();
            queries.iter().for_each(|query| drop(ask(session, query)));
            started.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}

fn answers(session: &Session, queries: &[String]) -> Vec<Vec<String>> {
    let lines = |query: &String| {
        let result = ask(session, query);
        let mut lines: Vec<String> = (0..result.rows())
            .map(|row| {
                let fields = result.schema().fields();
                let cells: Vec<String> =
                    (0..fields.len()).map(|c| result.value(row, c).display(fields[c].ty)).collect();
                cells.join(" ")
            })
            .collect();
        lines.sort();
        lines
    };
    queries.iter().map(lines).collect()
}

#[test]
fn point_queries_get_a_way_to_their_rows() {
    let session = session();
    wide_table(&session, 3_000_000);
    let queries: Vec<String> =
        (1..20).map(|n| format!("SELECT * FROM t WHERE k = {}", n * 150_001 % 4_000_037)).collect();
    let before = answers(&session, &queries);
    let slow = least(&session, &queries);
    let blocks = ask(&session, "SELECT bytes, blocks, layout FROM quickstep_tables()");
    // Others may disturb its rounds, and then it proposes nothing; hardly so five times.
    let advice = timing::in_one_of(5, || {
        let advice = ask(&session, "CALL advise(t, seconds => 20)");
        if proposed(&advice).is_some() { Ok(advice) } else { Err(shown(&advice)) }
    });
    // It has changed nothing.
    let still = ask(&session, "SELECT bytes, blocks, layout FROM quickstep_tables()");
    assert_eq!(
        (0..3).map(|c| blocks.value(0, c)).collect::<Vec<_>>(),
        (0..3).map(|c| still.value(0, c)).collect::<Vec<_>>()
    );
    let told = shown(&advice);
    let row = proposed(&advice).unwrap_or_else(|| panic!("nothing is proposed:\n{told}"));
    let design = text(&advice, row, "design");
    assert!(design.contains("sort k") || design.contains("(k)"), "{told}");
    assert!(text(&advice, 0, "advice").starts_with("as it is; measured on "), "{told}");
    apply(&session, &text(&advice, row, "statement"));
    assert_eq!(answers(&session, &queries), before);
    timing::in_one_of(5, || {
        let fast = least(&session, &queries);
        timing::met(fast < slow, format!("{fast:.2} ms after {slow:.2} ms, with\n{told}"))
    });
    // Asked once more, it keeps what it has proposed, or finds a little more; it does not go back.
    let again = ask(&session, "CALL advise(t, seconds => 20)");
    if let Some(row) = proposed(&again) {
        let design = text(&again, row, "design");
        assert!(design.contains("sort k") || design.contains("(k)"), "{}", shown(&again));
    }
}

#[test]
fn wide_scans_are_not_made_slower() {
    timing::in_one_of(3, wide_scans_stay_fast);
}

fn wide_scans_stay_fast() -> Result<(), String> {
    let session = session();
    wide_table(&session, 1_000_000);
    let sums: Vec<String> = (1..8).map(|c| format!("sum(c{c})")).collect();
    let queries: Vec<String> =
        (1..6).map(|n| format!("SELECT {} FROM t WHERE k > {}", sums.join(", "), n * 1000)).collect();
    let before = answers(&session, &queries);
    let default = least(&session, &queries);
    let advice = ask(&session, "CALL advise('t', seconds => 10)");
    let told = shown(&advice);
    if let Some(row) = proposed(&advice) {
        apply(&session, &text(&advice, row, "statement"));
        assert_eq!(answers(&session, &queries), before);
        let applied = least(&session, &queries);
        timing::met(applied < default * 1.25, format!("{applied:.2} ms after {default:.2} ms, with\n{told}"))
    } else {
        assert!(text(&advice, 0, "advice").starts_with("keep it: "), "{told}");
        Ok(())
    }
}

#[test]
fn what_gains_nothing_is_not_proposed() {
    let session = session();
    ask(&session, "CREATE TABLE t AS SELECT i AS a, i % 7 AS b FROM range(2000) AS r(i)");
    for n in 0..5 {
        ask(&session, &format!("SELECT b FROM t WHERE a = {n}"));
    }
    // Microseconds are not noticed.
    let advice = timing::in_one_of(5, || {
        let advice = ask(&session, "CALL advise(t, seconds => 3)");
        if proposed(&advice).is_none() { Ok(advice) } else { Err(shown(&advice)) }
    });
    let first = text(&advice, 0, "advice");
    assert!(first.starts_with("keep it: nothing that was tried gains; as it is; measured on 1 of 1 blocks, 2000 of 2000 rows, with 1 of 1 recorded statements, 5 executions"), "{first}");
    assert!(advice.rows() > 5, "{}", shown(&advice));
}

fn only_advice(session: &Session, question: &str) -> String {
    let advice = ask(session, question);
    assert_eq!(advice.rows(), 1, "{}", shown(&advice));
    text(&advice, 0, "advice")
}

#[test]
fn there_is_an_answer_to_every_question() {
    let session = session();
    let nothing = "no statement is recorded that reads a table: run those that matter first";
    assert_eq!(only_advice(&session, "CALL advise(workload)"), nothing);
    ask(&session, "CREATE TABLE empty (a INTEGER)");
    ask(&session, "CREATE TABLE quiet AS SELECT i AS a FROM range(100) AS r(i)");
    ask(&session, "SELECT * FROM empty");
    assert_eq!(only_advice(&session, "CALL advise(empty)"), "nothing to measure: the table has no rows");
    let unknown = "nothing to measure by: no statement is recorded that reads the table";
    assert_eq!(only_advice(&session, "CALL advise(quiet)"), unknown);
    assert_eq!(only_advice(&session, "CALL advise()"), "nothing to measure: the table has no rows");
    // A table that is gone is no part of the workload; one that came in its place is another.
    ask(&session, "SELECT sum(a) FROM quiet");
    ask(&session, "DROP TABLE empty");
    ask(&session, "DROP TABLE quiet");
    assert_eq!(only_advice(&session, "CALL advise(workload)"), nothing);
    ask(&session, "CREATE TABLE quiet AS SELECT i AS b FROM range(100) AS r(i)");
    assert_eq!(only_advice(&session, "CALL advise(quiet)"), unknown);
    // The table is there, but not the column: the statement says so itself.
    ask(&session, "SELECT count(*) FROM quiet WHERE b < 50");
    ask(&session, "ALTER TABLE quiet RENAME COLUMN b TO c");
    let why = only_advice(&session, "CALL advise(quiet)");
    assert!(
        why.starts_with("nothing to measure by: the recorded statements cannot be run again: column \"b\""),
        "{why}"
    );
    // Calls with effects are not repeated.
    ask(&session, "CALL forget_workload()");
    ask(&session, "CREATE SEQUENCE s");
    ask(&session, "SELECT nextval('s') FROM quiet LIMIT 1");
    let why = only_advice(&session, "CALL advise(quiet)");
    assert!(why.contains("sequences"), "{why}");
    assert_eq!(ask(&session, "SELECT nextval('s')").value(0, 0), Value::I64(2));
}

#[test]
fn every_way_to_run_a_statement_is_recorded() {
    let session = session();
    ask(&session, "CREATE TABLE t AS SELECT i AS a FROM range(1000) AS r(i)");
    ask(&session, "CALL forget_workload()");
    ask(&session, "SELECT count(*) FROM t WHERE a < 10");
    session.query_with("SELECT count(*) FROM t WHERE a = ?", &[(Value::I64(5), Type::BigInt)]).expect("runs");
    ask(&session, "PREPARE p AS SELECT count(*) FROM t WHERE a > $1");
    ask(&session, "EXECUTE p(7)");
    let streamed =
        session.stream("SELECT a FROM t WHERE a < 20").expect("begins").collect_rest().expect("runs");
    assert_eq!(streamed.rows(), 20);
    ask(&session, "UPDATE t SET a = a WHERE a = 3");
    ask(&session, "SELECT 1");
    session.query("SELECT a / 0 FROM t").expect_err("divides by zero");
    let other = session.database().session();
    ask(&other, "SELECT count(*) FROM t WHERE a < 30");
    let record = ask(&session, "SELECT statement, executions FROM quickstep_workload() ORDER BY statement");
    let record: Vec<(String, i64)> = (0..record.rows())
        .map(|row| {
            let statement = record.value(row, 0).as_text().unwrap_or_default().to_owned();
            (statement, record.value(row, 1).as_i64().unwrap_or(0))
        })
        .collect();
    let expected = [
        ("select a from t where a < ?", 1),
        ("select count(*) from t where a < ?", 2),
        ("select count(*) from t where a = ?", 1),
        ("select count(*) from t where a > $1", 1),
        ("update t set a = a where a = ?", 1),
    ];
    assert_eq!(record, expected.map(|(s, n)| (s.to_owned(), n)));
    // All of them can be run again, and nothing of that changes a row.
    let advice = ask(&session, "CALL advise(t, seconds => 3)");
    let first = text(&advice, 0, "advice");
    assert!(first.contains("with 5 of 5 recorded statements, 6 executions"), "{first}");
    assert_eq!(
        ask(&session, "SELECT count(*), sum(a) FROM t").value(0, 1),
        ask(&session, "SELECT 499500").value(0, 0)
    );
}

#[test]
fn joins_are_measured_for_each_of_their_tables() {
    let session = session();
    ask(&session, "CALL ssb(scale => 0.05)");
    ask(&session, "CALL forget_workload()");
    let query = "SELECT d_year, sum(lo_revenue) FROM lineorder, ddate, supplier WHERE lo_orderdate = d_datekey AND \
        lo_suppkey = s_suppkey AND s_region = 'ASIA' AND lo_quantity < 25 GROUP BY d_year ORDER BY d_year";
    let before = answers(&session, &[query.to_owned()]);
    let advice = ask(&session, "CALL advise(workload, seconds => 6)");
    let told = shown(&advice);
    for table in ["lineorder", "ddate", "supplier"] {
        assert!((0..advice.rows()).any(|row| text(&advice, row, "table_name") == table), "{table}:\n{told}");
    }
    for row in 0..advice.rows() {
        apply(&session, &text(&advice, row, "statement"));
    }
    assert_eq!(answers(&session, &[query.to_owned()]), before, "{told}");
}

#[test]
fn a_session_that_only_reads_may_ask() {
    let folder = std::env::temp_dir().join(format!("quickstep-advise-{}", std::process::id()));
    let path = folder.to_string_lossy().into_owned();
    let _ = std::fs::remove_dir_all(&folder);
    {
        let writer = Database::open(Some(&path), Options::default()).expect("opens").session();
        ask(&writer, "CREATE TABLE t AS SELECT i AS a FROM range(50000) AS r(i)");
        ask(&writer, "CHECKPOINT");
    }
    let options = Options { read_only: true, ..Options::default() };
    let reader = Database::open(Some(&path), options).expect("opens").session();
    ask(&reader, "SELECT count(*) FROM t WHERE a = 5");
    let advice = ask(&reader, "CALL advise(t, seconds => 2)");
    assert!(text(&advice, 0, "advice").contains("measured on"), "{}", shown(&advice));
    drop(reader);
    let _ = std::fs::remove_dir_all(&folder);
}
