//! TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMPTZ_NS and UNION through files and databases: what is written is read
//! again in full, and what a format does not hold is an error.

use conformance::folder::Folder;
use engine::{Database, Options, Session};

fn options() -> Options {
    Options { workers: Some(2), memory_bytes: None, ..Default::default() }
}

fn texts(session: &Session, sql: &str) -> Vec<String> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let types: Vec<_> = result.schema().fields().iter().map(|f| f.ty).collect();
    let row =
        |row| types.iter().enumerate().map(|(at, ty)| result.value(row, at).display(*ty)).collect::<Vec<_>>();
    (0..result.rows()).map(|at| row(at).join(" | ")).collect()
}

fn run(session: &Session, statements: &[&str]) {
    for statement in statements {
        session.query(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
}

const MOMENTS: &str = "(k INTEGER, s TIMESTAMP_S, ms TIMESTAMP_MS, ns TIMESTAMP_NS, tz TIMESTAMPTZ_NS)";
const ROWS: &str = "VALUES (1, '1992-01-01 12:03:27', '1992-01-01 12:03:27.123', '1992-01-01 12:03:27.123456789', '1992-01-01 12:03:27.000000001+00'),
    (2, NULL, NULL, NULL, NULL), (3, '1960-02-29 23:59:59', '1960-02-29 23:59:59.999', '1960-02-29 23:59:59.999999999', '1960-02-29 23:59:59.9999+00'),
    (4, '9999-12-31 00:00:00', '0001-01-01 00:00:00.5', '2262-04-11 23:47:16.854775806', '1677-09-22 00:00:00+00')";
const ALL: &str = "SELECT k, s, ms, ns, tz FROM moments ORDER BY k";

#[test]
fn files_hold_timestamps_of_every_unit() {
    let folder = Folder::new("units");
    let session = Database::in_memory(options()).expect("a database").session();
    run(&session, &[&format!("CREATE TABLE moments {MOMENTS}"), &format!("INSERT INTO moments {ROWS}")]);
    let before = texts(&session, ALL);
    assert_eq!(before[0].split(" | ").nth(3), Some("1992-01-01 12:03:27.123456789"));
    for format in ["parquet", "csv", "json", "arrow"] {
        let path = folder.path(&format!("moments.{format}"));
        run(
            &session,
            &[
                &format!("COPY moments TO '{path}'"),
                &format!("CREATE TABLE again {MOMENTS}"),
                &format!("COPY again FROM '{path}'"),
            ],
        );
        assert_eq!(texts(&session, &ALL.replace("moments", "again")), before, "{format}");
        run(&session, &["DROP TABLE again"]);
    }
    let parquet = folder.path("moments.parquet");
    let types = "SELECT typeof(s), typeof(ms), typeof(ns), typeof(tz)";
    assert_eq!(
        texts(&session, &format!("{types} FROM '{parquet}' LIMIT 1")),
        ["TIMESTAMP | TIMESTAMP | TIMESTAMP_NS | TIMESTAMPTZ_NS"]
    );
    let one = format!("SELECT k FROM '{parquet}' WHERE ns = '1992-01-01 12:03:27.123456789'");
    assert_eq!(texts(&session, &one), ["1"]);
    let none = format!("SELECT k FROM '{parquet}' WHERE ns = '1992-01-01 12:03:27.123456788'");
    assert_eq!(texts(&session, &none), Vec::<String>::new());
    let nested = folder.path("nested.parquet");
    let lists = "SELECT [s, NULL] AS l, {'ns': ns} AS r FROM moments ORDER BY k";
    run(&session, &[&format!("COPY ({lists}) TO '{nested}'")]);
    assert_eq!(texts(&session, &format!("SELECT l, r FROM '{nested}'")), texts(&session, lists));
}

#[test]
fn files_hold_unions_as_far_as_they_can() {
    let folder = Folder::new("unions");
    let session = Database::in_memory(options()).expect("a database").session();
    run(
        &session,
        &[
            "CREATE TABLE mixed (k INTEGER, u UNION(num INTEGER, str TEXT))",
            "INSERT INTO mixed VALUES (1, 7), (2, 'two'), (3, NULL)",
        ],
    );
    let error = session.query(&format!("COPY mixed TO '{}'", folder.path("mixed.parquet"))).map(|_| ());
    let error = error.expect_err("Parquet has no unions").to_string();
    assert!(error.contains("UNION of column \"u\""), "{error}");
    let json = folder.path("mixed.ndjson");
    run(
        &session,
        &[
            &format!("COPY mixed TO '{json}'"),
            "CREATE TABLE again (k INTEGER, u UNION(num INTEGER, str TEXT))",
            &format!(
                "INSERT INTO again SELECT k, u::JSON::UNION(num INTEGER, str TEXT) FROM read_ndjson('{json}', columns = {{k: 'INTEGER', u: 'JSON'}})"
            ),
        ],
    );
    let all = "SELECT k, u, union_tag(u) FROM again ORDER BY k";
    assert_eq!(texts(&session, all), ["1 | 7 | num", "2 | two | str", "3 | NULL | NULL"]);
    // Arrow has unions of its own, which are read as JSON.
    let arrow = folder.path("mixed.arrow");
    run(&session, &[&format!("COPY mixed TO '{arrow}'")]);
    assert_eq!(texts(&session, &format!("SELECT u FROM '{arrow}' ORDER BY k")), ["7", "\"two\"", "NULL"]);
}

#[test]
fn databases_keep_the_types() {
    let folder = Folder::new("kept");
    let path = folder.path("database");
    let union = "SELECT u, union_tag(u), typeof(u) FROM mixed ORDER BY u.num";
    let open = || Database::open(Some(path.as_str()), options()).expect("a database").session();
    let session = open();
    run(
        &session,
        &[
            &format!("CREATE TABLE moments {MOMENTS}"),
            &format!("INSERT INTO moments {ROWS}"),
            "CREATE TABLE mixed (u UNION(num INTEGER, list TEXT[]))",
            "INSERT INTO mixed SELECT i::UNION(num INTEGER, list TEXT[]) FROM range(3) t(i)",
            "INSERT INTO mixed VALUES (['a', NULL])",
        ],
    );
    let (moments, unions) = (texts(&session, ALL), texts(&session, union));
    drop(session);
    // From the log, and then from a checkpoint.
    let session = open();
    assert_eq!((texts(&session, ALL), texts(&session, union)), (moments.clone(), unions.clone()));
    run(&session, &["CHECKPOINT"]);
    drop(session);
    let session = open();
    assert_eq!((texts(&session, ALL), texts(&session, union)), (moments, unions));
}
