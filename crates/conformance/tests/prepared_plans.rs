//! Prepared statements with parameters: described before there are values, bound once, and planned once for all values
//! where that is cheaper. `quickstep_query_history` tells which executions ran by a kept plan.

use engine::{Connection, Database, Options, Session, SqlState, Type, Value};

fn database() -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(2 << 30), ..Default::default() };
    Database::in_memory(options).expect("opens")
}

fn with_table() -> (Database, Session) {
    let database = database();
    let session = database.session();
    let table = "CREATE TABLE t AS SELECT i AS k, i % 7 AS g, i * 0.25 AS n, DATE '2024-01-01' + i % 500 AS d \
                 FROM generate_series(1, 20000) AS s(i)";
    session.query(table).unwrap();
    (database, session)
}

fn was_kept(session: &Session) -> bool {
    session.database().query_traces().last().expect("a trace").kept_plan
}

fn number(session: &Session, text: &str, values: &[(Value, Type)]) -> i64 {
    session
        .query_prepared(text, values)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .value(0, 0)
        .as_i64()
        .unwrap()
}

fn big(value: i64) -> (Value, Type) {
    (Value::I64(value), Type::BigInt)
}

const COUNT: &str = "SELECT count(*) FROM t WHERE k BETWEEN $1 AND $2";

#[test]
fn a_generic_plan_is_tried_after_five_executions() {
    let (_database, session) = with_table();
    let kept: Vec<bool> = (0..8)
        .map(|n| {
            assert_eq!(number(&session, COUNT, &[big(n), big(n + 99)]), if n == 0 { 99 } else { 100 });
            was_kept(&session)
        })
        .collect();
    assert_eq!(kept, [false, false, false, false, false, true, true, true]);
}

#[test]
fn the_setting_decides_if_it_is_set() {
    let (_database, session) = with_table();
    session.query("SET plan_cache_mode = force_generic_plan").unwrap();
    assert_eq!(number(&session, COUNT, &[big(5), big(9)]), 5);
    assert!(was_kept(&session));
    session.query("SET plan_cache_mode = force_custom_plan").unwrap();
    for _ in 0..8 {
        assert_eq!(number(&session, COUNT, &[big(5), big(9)]), 5);
        assert!(!was_kept(&session));
    }
    // A text that is not prepared is planned by its values.
    session.query("SET plan_cache_mode = force_generic_plan").unwrap();
    assert_eq!(session.query_with(COUNT, &[big(5), big(9)]).unwrap().value(0, 0), Value::I64(5));
    assert!(!was_kept(&session));
}

#[test]
fn changes_of_rows_and_of_definitions_are_seen() {
    let (database, session) = with_table();
    session.query("SET plan_cache_mode = force_generic_plan").unwrap();
    assert_eq!(number(&session, COUNT, &[big(1), big(100_000)]), 20_000);
    database.session().query("INSERT INTO t SELECT * FROM t WHERE k <= 10").unwrap();
    assert_eq!(number(&session, COUNT, &[big(1), big(100_000)]), 20_010);
    // Beyond the bounds that the first plan knew.
    session.query("INSERT INTO t VALUES (50000, 1, 1, NULL)").unwrap();
    assert_eq!(number(&session, COUNT, &[big(20_001), big(100_000)]), 1);
    session.query("CREATE TEMPORARY TABLE t (k INTEGER)").unwrap();
    assert_eq!(number(&session, COUNT, &[big(1), big(100_000)]), 0);
    session.query("DROP TABLE temp.t").unwrap();
    session.query("ALTER TABLE t RENAME COLUMN k TO key").unwrap();
    let error = session.query_prepared(COUNT, &[big(1), big(2)]).unwrap_err();
    assert_eq!(error.state(), SqlState::UndefinedColumn);
}

#[test]
fn conditions_of_several_types_run_by_a_generic_plan() {
    let (_database, session) = with_table();
    session.query("SET plan_cache_mode = force_generic_plan").unwrap();
    assert_eq!(
        number(
            &session,
            "SELECT count(*) FROM t WHERE k = $1 AND d > $2 AND n < $3",
            &[big(700), (Value::text("2023-01-01"), Type::Text), (Value::F64(1e9), Type::Double),]
        ),
        1
    );
}

#[test]
fn statements_are_described_before_there_are_values() {
    let (_database, session) = with_table();
    let open =
        session.describe_statement("SELECT d, n + $1 AS more FROM t WHERE d < $2 AND k IN ($3, 4)").unwrap();
    let shown: Vec<String> = open.parameters.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["DECIMAL(12,2)", "DATE", "INTEGER"]);
    let columns = open.columns.expect("a query");
    assert_eq!(columns.fields().iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["d", "more"]);
    let open = session.describe_statement("INSERT INTO t VALUES ($1, $2, $3, $4)").unwrap();
    assert_eq!((open.parameters.len(), open.columns), (4, None));
    let open = session.describe_statement("DELETE FROM t WHERE k = $1 RETURNING d").unwrap();
    assert_eq!(open.columns.unwrap().fields()[0].ty, Type::Date);
    let error = session.describe_statement("SELECT 1 FROM t WHERE k = $1 AND d = $1").unwrap_err();
    assert_eq!(error.state(), SqlState::AmbiguousParameter);
    assert!(error.detail().unwrap().contains("DATE at line 1, column 38"), "{error:?}");
}

#[test]
fn statements_of_connections_are_described_and_planned_once() {
    let c = Connection::open_in_memory().unwrap();
    c.execute_batch(
        "CREATE TABLE t AS SELECT i AS k, DATE '2024-01-01' + i AS d FROM generate_series(1, 100) AS s(i)",
    )
    .unwrap();
    let find = c.prepare("SELECT d FROM t WHERE k = :k AND d > $after").unwrap();
    assert_eq!(find.parameter_names(), ["k", "after"]);
    assert_eq!(find.parameter_types().unwrap()[1], Type::Date);
    assert_eq!(find.columns().unwrap().fields()[0].ty, Type::Date);
    for k in 1..20i64 {
        let exists = find.exists(engine::named_params! { "k": k, "after": "2024-01-10" }).unwrap();
        assert_eq!(exists, k > 9);
    }
    // What says nothing of its type has that of the value.
    let given = c.prepare("SELECT ?").unwrap();
    assert_eq!(given.parameter_types().unwrap(), [Type::Text]);
    assert_eq!(given.query_row([5i64], |row| row.get::<i64>(0)).unwrap(), 5);
    assert_eq!(given.query_row(["5"], |row| row.get::<String>(0)).unwrap(), "5");
    assert_eq!(given.query_row([2.5], |row| row.get::<f64>(0)).unwrap(), 2.5);
    // Two values without a type make no sum; with one they do.
    let sum = c.prepare("SELECT ? + ?").unwrap();
    assert!(sum.parameter_types().is_none());
    assert_eq!(sum.query_row([5i64, 6], |row| row.get::<i64>(0)).unwrap(), 11);
}

#[test]
fn a_generic_plan_saves_planning() {
    let (_database, session) = with_table();
    session
        .query("CREATE TABLE names AS SELECT i AS g, 'name ' || i AS name FROM generate_series(0, 6) AS s(i)")
        .unwrap();
    let text = "SELECT a.name, count(*), sum(t.n) FROM t JOIN names a USING (g) JOIN names b ON b.g = t.k % 7 \
                WHERE t.k = $1 AND t.d >= $2 AND a.name <> $3 AND b.name LIKE 'name%' GROUP BY a.name ORDER BY a.name";
    session.query("SET plan_cache_mode = force_generic_plan").unwrap();
    let values = |k| [big(k), (Value::text("2024-01-01"), Type::Text), (Value::text("none"), Type::Text)];
    // In turn, and the medians: what stops the process for a while takes part of few of them.
    let (mut once, mut each) = (Vec::new(), Vec::new());
    for k in 1..=30 {
        once.push(session.query_prepared(text, &values(k)).unwrap().planning());
        each.push(session.query_with(text, &values(k)).unwrap().planning());
    }
    let (once, each) = (timing::median(once), timing::median(each));
    println!("30 executions: planning takes {once:?} by one plan, {each:?} by values");
    assert!(once * 2 < each, "{once:?} {each:?}");
    for k in [1, 500, 19_999, 30_000] {
        let (one, other) = (
            session.query_prepared(text, &values(k)).unwrap(),
            session.query_with(text, &values(k)).unwrap(),
        );
        assert_eq!(one.rows(), other.rows());
        assert!((0..3 * one.rows()).all(|at| one.value(at / 3, at % 3) == other.value(at / 3, at % 3)));
    }
}
