//! Databases on disk, by statements: where their temporary files lie, what commits of several sessions cost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance::folder::Folder;
use engine::{Database, Options, Session};
use files::SimulatedFiles;

fn text(session: &Session, sql: &str) -> String {
    let result = session.query(sql).unwrap();
    result.value(0, 0).as_text().unwrap_or_default().to_owned()
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

/// Prepared one-row commits of so many sessions in half a second, on a disk whose syncs take 5 ms.
fn commits(sessions: usize) -> usize {
    let files = SimulatedFiles::new(1);
    let (database, _) = Database::over(Arc::new(files.clone()), Options::default()).unwrap();
    let first = database.session();
    first.query("CREATE TABLE t (session INTEGER, number INTEGER, PRIMARY KEY (session, number))").unwrap();
    let all: Vec<Session> = (0..sessions).map(|_| database.session()).collect();
    for session in &all {
        session.query("PREPARE add (INTEGER, INTEGER) AS INSERT INTO t VALUES ($1, $2)").unwrap();
    }
    files.set_sync_delay(Duration::from_millis(5));
    let until = Instant::now() + Duration::from_millis(500);
    let work = |(at, session): (usize, &Session)| {
        let mut done = 0;
        while Instant::now() < until {
            session.query(&format!("EXECUTE add ({at}, {done})")).unwrap();
            done += 1;
        }
        done
    };
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = all.iter().enumerate().map(|own| scope.spawn(move || work(own))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    files.set_sync_delay(Duration::ZERO);
    let rows = first.query("SELECT count(*) FROM t").unwrap();
    assert_eq!(rows.value(0, 0).as_i64(), Some(done as i64));
    done
}

#[test]
fn eight_sessions_commit_four_times_as_much_as_one() {
    // Once more, should the machine have been busy with something else. Without commits in groups the ratio is 1;
    // what is seen lies between 4.1 and 5.5.
    let better = (0..4).any(|_| {
        let (one, eight) = (commits(1), commits(8));
        println!("{one} commits by one session, {eight} by eight");
        eight >= 4 * one
    });
    assert!(better);
}
