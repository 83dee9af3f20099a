//! Databases on disk, by statements: where their temporary files lie, what commits of several sessions cost.

use std::sync::Arc;
use std::time::Duration;

use conformance::folder::Folder;
use engine::{Database, Options, Session};
use files::SimulatedFiles;

fn text(session: &Session, sql: &str) -> String {
    let result = session.query(sql).unwrap();
    result.value(0, 0).as_text().unwrap_or_default().to_owned()
}

#[test]
fn reset_goes_back_to_what_a_database_was_opened_with() {
    let options = Options { memory_bytes: Some(1 << 30), workers: Some(3), ..Options::default() };
    let database = Database::in_memory(options).unwrap();
    let session = database.session();
    for statement in ["SET memory_limit = '512MB'", "SET workers = 2"] {
        session.query(statement).unwrap();
    }
    assert_eq!((database.memory_limit(), database.workers()), (512 << 20, 2));
    for statement in ["RESET memory_limit", "RESET workers"] {
        session.query(statement).unwrap();
    }
    assert_eq!((database.memory_limit(), database.workers()), (1 << 30, 3));
    session.query("SET memory_limit TO DEFAULT").unwrap();
    assert_eq!(database.memory_limit(), 1 << 30);
}

/// Rows that go into a table need no privilege to read it, by whatever way they come.
#[test]
fn what_is_inserted_need_not_be_read() {
    let session = Database::in_memory(Options::default()).unwrap().session();
    for statement in [
        "CREATE ROLE writer",
        "CREATE TABLE t (a INTEGER, b TEXT, c INTEGER GENERATED ALWAYS AS (a + 1) STORED)",
        "CREATE TABLE closed (a INTEGER)",
        "GRANT INSERT ON t TO writer",
        "GRANT SELECT ON closed TO writer",
        "SET ROLE writer",
    ] {
        session.query(statement).unwrap();
    }
    let columns = session.columns_to_insert("t", &[]).unwrap();
    let names: Vec<&str> = columns.fields().iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(session.columns_to_insert("t", &["b"]).unwrap().len(), 1);
    let denied = |outcome: engine::Result<engine::Schema>| outcome.unwrap_err().state().code();
    assert_eq!(denied(session.columns_to_insert("closed", &[])), "42501");
    assert_eq!(session.describe("SELECT a FROM t").unwrap_err().state().code(), "42501");
    let insert = engine::BulkInsert::into_table(&session, "t", &["a", "b"]);
    assert!(insert.is_ok(), "{:?}", insert.err());
}

#[test]
fn what_does_not_fit_memory_lies_with_the_database() {
    let folder = Folder::new("temporary");
    let path = folder.path("db");
    let own = folder.0.join("db/temporary");
    let (database, _) = Database::on_disk(&path, Options::default()).unwrap();
    let session = database.session();
    assert_eq!(text(&session, "SHOW temp_directory"), own.to_string_lossy());
    session.query(&format!("SET temp_directory = '{}'", folder.0.display())).unwrap();
    assert_eq!(text(&session, "SHOW temp_directory"), folder.0.to_string_lossy());
    session.query("RESET temp_directory").unwrap();
    assert_eq!(text(&session, "SHOW temp_directory"), own.to_string_lossy());
    session
        .query("CREATE TABLE t AS SELECT i, 'text ' || i AS s FROM generate_series(1, 400000) AS g(i)")
        .unwrap();
    session.query("SET memory_limit = '48MB'").unwrap();
    let distinct = session.query("SELECT count(*) FROM (SELECT DISTINCT s FROM t) AS d").unwrap();
    assert_eq!(distinct.value(0, 0).as_i64(), Some(400_000));
    drop((session, database));
    // What a process that was killed has left goes with the next opening for writing, and only then.
    let left = own.join("quickstep-1-0-1.spill");
    std::fs::write(&left, "left").unwrap();
    let (reading, _) = Database::on_disk(&path, Options { read_only: true, ..Options::default() }).unwrap();
    assert_eq!(text(&reading.session(), "SHOW temp_directory"), std::env::temp_dir().to_string_lossy());
    assert!(left.exists());
    let (_database, report) = Database::on_disk(&path, Options::default()).unwrap();
    assert_eq!(report.removed, ["temporary/quickstep-1-0-1.spill"]);
    assert!(!left.exists() && own.is_dir());
}

const COMMITS: usize = 40;

/// How many commits share a sync, of prepared one-row commits of so many sessions on a disk whose syncs
/// take 20 ms: long beside what a session does between two commits, on a crowded machine as well.
fn commits_per_sync(sessions: usize) -> f64 {
    let files = SimulatedFiles::new(1);
    let (database, _) = Database::over(Arc::new(files.clone()), Options::default()).unwrap();
    let first = database.session();
    first.query("CREATE TABLE t (session INTEGER, number INTEGER, PRIMARY KEY (session, number))").unwrap();
    let all: Vec<Session> = (0..sessions).map(|_| database.session()).collect();
    for session in &all {
        session.query("PREPARE add (INTEGER, INTEGER) AS INSERT INTO t VALUES ($1, $2)").unwrap();
    }
    files.set_sync_delay(Duration::from_millis(20));
    let before = files.syncs();
    let work = |(at, session): (usize, &Session)| {
        for number in 0..COMMITS {
            session.query(&format!("EXECUTE add ({at}, {number})")).unwrap();
        }
    };
    std::thread::scope(|scope| {
        all.iter().enumerate().for_each(|own| drop(scope.spawn(move || work(own))));
    });
    let syncs = files.syncs() - before;
    files.set_sync_delay(Duration::ZERO);
    let rows = first.query("SELECT count(*) FROM t").unwrap();
    assert_eq!(rows.value(0, 0).as_i64(), Some((sessions * COMMITS) as i64));
    (sessions * COMMITS) as f64 / syncs as f64
}

/// The syncs are what commits wait for. Those that come during one share the next: four and more, of eight.
#[test]
fn commits_of_eight_sessions_share_their_syncs() {
    let alone = commits_per_sync(1);
    assert!(alone <= 1.0, "{alone} commits a sync by one session");
    // Without commits in groups it is 1. Where the machine has no time for some of the sessions, those that it has time for
    // share fewer.
    timing::in_one_of(5, || {
        let together = commits_per_sync(8);
        println!("{together:.2} commits a sync by eight sessions");
        timing::met(together >= 3.0, together)
    });
}
