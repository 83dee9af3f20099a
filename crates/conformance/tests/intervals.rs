//! INTERVAL through files and databases: what is written is read again, and what a format does not hold is an error.

use conformance::folder::Folder;
use engine::{Database, Options, Session};
use types::SqlState;

fn options() -> Options {
    Options { workers: Some(2), memory_bytes: None, ..Default::default() }
}

fn session() -> Session {
    Database::in_memory(options()).expect("a database").session()
}

fn texts(session: &Session, sql: &str) -> Vec<String> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let types: Vec<_> = result.schema().fields().iter().map(|f| f.ty).collect();
    let row =
        |row| types.iter().enumerate().map(|(at, ty)| result.value(row, at).display(*ty)).collect::<Vec<_>>();
    (0..result.rows()).map(|at| row(at).join(" | ")).collect()
}

const SPANS: &str =
    "CREATE TABLE spans (k INTEGER, i INTERVAL, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH);
    INSERT INTO spans VALUES (1, '1 month 2 days 03:04:05.678', '36 hours', '1 year'), (2, NULL, NULL, NULL),
    (3, '0', '0', '0'), (4, '720 hours', '100 days', '14 months'), (5, '30 days', '1 ms', '1 month')";

fn filled() -> Session {
    let session = session();
    for statement in SPANS.split(';') {
        session.query(statement).expect(statement);
    }
    session
}

#[test]
fn files_hold_intervals() {
    let folder = Folder::new("files");
    let session = filled();
    let all = "SELECT k, i, d, m FROM spans ORDER BY k";
    let before = texts(&session, all);
    for format in ["parquet", "csv", "json", "arrow"] {
        let path = folder.path(&format!("spans.{format}"));
        session.query(&format!("COPY spans TO '{path}'")).expect(format);
        session.query("CREATE TABLE again (k INTEGER, i INTERVAL, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH)").expect("a table");
        session.query(&format!("COPY again FROM '{path}'")).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert_eq!(texts(&session, "SELECT k, i, d, m FROM again ORDER BY k"), before, "{format}");
        session.query("DROP TABLE again").expect("no table");
    }
    let path = folder.path("spans.parquet");
    let equal = format!("SELECT k FROM '{path}' WHERE i = INTERVAL '1 month' ORDER BY k");
    assert_eq!(texts(&session, &equal), ["4", "5"]);
    let nested = folder.path("nested.parquet");
    let lists =
        "SELECT [i, NULL, INTERVAL '1 day'] AS l, {'i': i} AS s FROM spans WHERE k IN (1, 2) ORDER BY k";
    session.query(&format!("COPY ({lists}) TO '{nested}'")).expect("lists");
    assert_eq!(texts(&session, &format!("SELECT l, s FROM '{nested}'")), texts(&session, lists));
}

#[test]
fn parquet_refuses_what_it_would_lose() {
    let folder = Folder::new("refused");
    let session = session();
    let path = folder.path("refused.parquet");
    for lost in ["-1 day", "1 month -1 day", "00:00:00.000001", "-00:00:01"] {
        let error = session.query(&format!("COPY (SELECT INTERVAL '{lost}' AS i) TO '{path}'")).unwrap_err();
        assert_eq!(error.state(), SqlState::NumericValueOutOfRange, "{lost}: {error}");
    }
    session.query(&format!("COPY (SELECT INTERVAL '1200 hours' AS i) TO '{path}'")).expect("fifty days");
    assert_eq!(texts(&session, &format!("SELECT i = INTERVAL '50 days' FROM '{path}'")), ["true"]);
}

#[test]
fn exported_databases_come_back() {
    for format in ["parquet", "csv"] {
        let folder = Folder::new(format);
        let session = filled();
        // Parquet's type has neither of these.
        for statement in [
            "INSERT INTO spans (k, i, d) VALUES (90, INTERVAL '-1 month 2 days', INTERVAL '-00:00:01')",
            "INSERT INTO spans (k, i) VALUES (91, INTERVAL '00:00:00.000001')",
            "CREATE TABLE nested AS SELECT [INTERVAL '-1 day', NULL] AS l, {'i': INTERVAL '-1 month'} AS s",
        ] {
            session.query(statement).expect(statement);
        }
        let nested = texts(&session, "SELECT l, s FROM nested");
        let before = texts(&session, "SELECT k, i, d, m FROM spans ORDER BY k");
        session.query(&format!("EXPORT DATABASE '{}' (FORMAT {format})", folder.path("out"))).expect(format);
        let other = self::session();
        other.query(&format!("IMPORT DATABASE '{}'", folder.path("out"))).expect(format);
        assert_eq!(texts(&other, "SELECT k, i, d, m FROM spans ORDER BY k"), before, "{format}");
        assert_eq!(texts(&other, "SELECT l, s FROM nested"), nested, "{format}");
    }
}

#[test]
fn databases_on_disk_hold_intervals() {
    let folder = Folder::new("disk");
    let path = folder.path("db");
    let all = "SELECT k, i, d, m FROM spans ORDER BY k";
    let before = {
        let database = Database::open(Some(&path), options()).expect("a database");
        let session = database.session();
        for statement in SPANS.split(';') {
            session.query(statement).expect(statement);
        }
        session.query("ALTER TABLE spans ADD COLUMN w INTERVAL DEFAULT '1 month 1 day'").expect("a column");
        session.query("CHECKPOINT").expect("a checkpoint");
        session
            .query("UPDATE spans SET i = i + INTERVAL '1 hour' WHERE i = INTERVAL '1 month'")
            .expect("rows");
        texts(&session, all)
    };
    let database = Database::open(Some(&path), options()).expect("a database");
    let session = database.session();
    assert_eq!(texts(&session, all), before);
    assert_eq!(texts(&session, "SELECT DISTINCT w FROM spans"), ["1 mon 1 day"]);
}
