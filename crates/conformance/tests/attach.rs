//! Attached databases on disk: what is left of them after a kill, their locks, and what sessions and plans see of
//! them.
//!
//! A kill is simulated by a copy of the directory while it is open (`as_killed`). Tests check what a new process
//! finds, that one process at a time may write, that names mean the database in use, and that plans are not reused
//! across databases.

use std::fs;
use std::path::Path;

use conformance::folder::Folder;
use engine::{Database, Options, Session, SqlState};

fn options() -> Options {
    Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Default::default() }
}

fn in_memory() -> (Database, Session) {
    let database = Database::in_memory(options()).expect("opens");
    let session = database.session();
    (database, session)
}

fn run(session: &Session, text: &str) {
    session.query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
}

fn number(session: &Session, text: &str) -> i64 {
    let result = session.query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    result.value(0, 0).as_i64().unwrap_or_else(|| panic!("{text} is no number"))
}

fn refused(session: &Session, text: &str) -> (SqlState, String) {
    let error = session.query(text).err().unwrap_or_else(|| panic!("{text} is done"));
    let told = format!("{} {}", error.message(), error.hint().unwrap_or_default());
    (error.state(), told)
}

fn attach(session: &Session, path: &str, name: &str) {
    run(session, &format!("ATTACH '{path}' AS {name}"));
}

/// The directory as a process that is killed now would leave it.
fn as_killed(from: &str, to: &str) {
    copy(Path::new(from), Path::new(to));
    let _ = fs::remove_file(Path::new(to).join("lock"));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => _ = fs::copy(entry.path(), target).expect("a copy"),
        }
    }
}

#[test]
fn what_was_committed_survives_a_kill() {
    let folder = Folder::new("attach");
    let (path, killed) = (folder.path("sales"), folder.path("killed"));
    let (_database, session) = in_memory();
    attach(&session, &path, "sales");
    run(&session, "CREATE SCHEMA sales.inner");
    run(&session, "CREATE SEQUENCE sales.inner.numbers");
    run(&session, "CREATE TABLE sales.t (id INTEGER DEFAULT nextval('sales.inner.numbers'), what TEXT)");
    run(&session, "CREATE VIEW sales.v AS SELECT count(*) AS n FROM t");
    run(&session, "INSERT INTO sales.t (what) SELECT 'row ' || i FROM generate_series(1, 1000) AS g(i)");
    run(&session, "DELETE FROM sales.t WHERE id <= 10");
    run(&session, "BEGIN");
    run(&session, "INSERT INTO sales.t (what) VALUES ('not committed')");
    as_killed(&path, &killed);
    run(&session, "ROLLBACK");
    // Attached again under another name, and opened as a main database.
    attach(&session, &killed, "after");
    assert_eq!(number(&session, "SELECT n FROM after.v"), 990);
    assert_eq!(number(&session, "SELECT count(*) FROM after.t WHERE what = 'row 11'"), 1);
    // Its default draws from its own sequence, whose numbers are not given again.
    run(&session, "INSERT INTO after.t (what) VALUES ('later')");
    assert!(number(&session, "SELECT max(id) FROM after.t") > 1000);
    assert_eq!(number(&session, "SELECT count(*) FROM sales.t"), 990);
    run(&session, "DETACH after");
    let (database, _) = Database::on_disk(&killed, options()).expect("opens");
    let own = database.session();
    assert_eq!(number(&own, "SELECT n FROM v"), 991);
    run(&own, "INSERT INTO t (what) VALUES ('at home')");
    assert_eq!(number(&own, "SELECT count(DISTINCT id) FROM t"), 992);
}

#[test]
fn two_files_with_the_same_names_inside_are_two_databases() {
    let folder = Folder::new("attach");
    let (one, other) = (folder.path("one"), folder.path("other"));
    let (_database, session) = in_memory();
    attach(&session, &one, "one");
    run(&session, "CREATE TABLE one.parent (id INTEGER PRIMARY KEY)");
    run(&session, "CREATE TABLE one.child (id INTEGER REFERENCES one.parent (id), n INTEGER)");
    run(&session, "INSERT INTO one.parent SELECT i FROM generate_series(1, 100) AS g(i)");
    run(&session, "INSERT INTO one.child SELECT i, i FROM generate_series(1, 100) AS g(i)");
    run(&session, "CHECKPOINT one");
    as_killed(&one, &other);
    attach(&session, &other, "other");
    // Tables, blocks and their parts have the same names in both.
    run(&session, "UPDATE other.child SET n = n + 1000 WHERE id > 50");
    run(&session, "DELETE FROM one.child WHERE id <= 10");
    run(&session, "DELETE FROM one.parent WHERE id <= 10");
    assert_eq!(number(&session, "SELECT sum(n) FROM other.child"), 5050 + 50_000);
    assert_eq!(number(&session, "SELECT count(*) FROM one.child"), 90);
    let joined = "SELECT count(*) FROM one.child AS a JOIN other.child AS b ON a.id = b.id AND a.n <> b.n";
    assert_eq!(number(&session, joined), 50);
    assert_eq!(refused(&session, "DELETE FROM other.parent WHERE id = 5").0, SqlState::ForeignKeyViolation);
    assert_eq!(refused(&session, "INSERT INTO one.child VALUES (5, 5)").0, SqlState::ForeignKeyViolation);
    run(&session, "DETACH one");
    run(&session, "DETACH other");
    attach(&session, &other, "one");
    assert_eq!(number(&session, "SELECT sum(n) FROM one.child"), 5050 + 50_000);
    attach(&session, &one, "other");
    assert_eq!(number(&session, "SELECT count(*) FROM other.parent"), 90);
}

#[test]
fn a_directory_is_written_by_one() {
    let folder = Folder::new("attach");
    let (path, main) = (folder.path("sales"), folder.path("own"));
    let (database, _) = Database::on_disk(&main, options()).expect("opens");
    let session = database.session();
    attach(&session, &path, "sales");
    let (state, told) = refused(&session, &format!("ATTACH '{path}/../sales' AS twice"));
    assert_eq!(state, SqlState::ObjectInUse);
    assert!(told.contains("as database \"sales\""), "{told}");
    let (state, told) = refused(&session, &format!("ATTACH '{main}' AS twice"));
    assert_eq!(state, SqlState::ObjectInUse);
    assert!(told.contains("as database \"own\""), "{told}");
    // Another database of this process, which knows nothing of this one.
    let (_other, elsewhere) = in_memory();
    assert_eq!(refused(&elsewhere, &format!("ATTACH '{path}'")).0, SqlState::LockNotAvailable);
    run(&session, "CREATE TABLE sales.t AS SELECT 1 AS a");
    run(&session, "DETACH sales");
    run(&elsewhere, &format!("ATTACH '{path}'"));
    assert_eq!(number(&elsewhere, "SELECT a FROM sales.t"), 1);
    assert_eq!(refused(&session, &format!("ATTACH '{path}'")).0, SqlState::LockNotAvailable);
    drop((elsewhere, _other));
    run(&session, &format!("ATTACH '{path}'"));
    // It ends with the main database.
    drop((session, database));
    let (database, _) = Database::on_disk(&path, options()).expect("opens");
    assert_eq!(number(&database.session(), "SELECT a FROM t"), 1);
}

#[test]
fn what_is_read_only_stays_as_it_is() {
    let folder = Folder::new("attach");
    let path = folder.path("sales");
    let (database, _) = Database::on_disk(&path, options()).expect("opens");
    run(&database.session(), "CREATE TABLE t AS SELECT 1 AS a");
    run(&database.session(), "CREATE SEQUENCE s");
    let (_reader, session) = in_memory();
    // Somebody has it open for writing.
    run(&session, &format!("ATTACH '{path}' AS sales (READ_ONLY)"));
    assert_eq!(number(&session, "SELECT a FROM sales.t"), 1);
    for text in [
        "INSERT INTO sales.t VALUES (2)",
        "DROP TABLE sales.t",
        "CREATE TABLE sales.u (a INTEGER)",
        "CREATE SCHEMA sales.s",
        "CREATE INDEX i ON sales.t (a)",
        "ALTER TABLE sales.t ADD COLUMN b INTEGER",
        "SELECT nextval('sales.s')",
        "ALTER TABLE sales.t SET (layout = 'row')",
    ] {
        let (state, told) = refused(&session, text);
        assert_eq!(state, SqlState::ReadOnly, "{text}: {told}");
        assert!(told.contains("sales"), "{text}: {told}");
    }
    run(&session, "BEGIN");
    run(&session, "INSERT INTO sales.t VALUES (2)");
    assert_eq!(refused(&session, "COMMIT").0, SqlState::ReadOnly);
    assert_eq!(number(&session, "SELECT count(*) FROM sales.t"), 1);
    assert_eq!(number(&database.session(), "SELECT count(*) FROM t"), 1);
    let listed = "SELECT count(*) FROM quickstep_databases() WHERE read_only AND database_name = 'sales'";
    assert_eq!(number(&session, listed), 1);
    let missing = folder.path("missing");
    let (state, _) = refused(&session, &format!("ATTACH '{missing}' (READ_ONLY)"));
    assert_eq!(state, SqlState::UndefinedFile);
    assert!(!Path::new(&missing).exists());
}

#[test]
fn files_of_other_systems_are_known() {
    let folder = Folder::new("attach");
    let mut duck = vec![0_u8; 64];
    duck[8..12].copy_from_slice(b"DUCK");
    let mut lite = b"SQLite format 3\0".to_vec();
    lite.resize(64, 0);
    let (_database, session) = in_memory();
    for (name, bytes, word) in [("a.duckdb", duck, "DuckDB"), ("b.sqlite", lite, "SQLite")] {
        let path = folder.write(name, bytes);
        let (state, told) = refused(&session, &format!("ATTACH '{path}'"));
        assert_eq!(state, SqlState::FeatureNotSupported);
        assert!(told.contains(word) && told.contains("FROM 'file.csv'") != (word == "DuckDB"), "{told}");
    }
    let path = folder.write("c.txt", "text");
    assert_eq!(refused(&session, &format!("ATTACH '{path}'")).0, SqlState::InvalidParameterValue);
    assert_eq!(number(&session, "SELECT count(*) FROM quickstep_databases()"), 1);
}

#[test]
fn all_sessions_see_a_database_until_it_is_detached() {
    let folder = Folder::new("attach");
    let path = folder.path("sales");
    let (database, first) = in_memory();
    let second = database.session();
    attach(&first, &path, "sales");
    run(&second, "CREATE TABLE sales.t (a INTEGER)");
    run(&second, "USE sales");
    run(&second, "INSERT INTO t VALUES (1)");
    assert_eq!(number(&first, "SELECT count(*) FROM sales.t"), 1);
    // The other session's tables are not meant when the database in use has gone.
    run(&first, "CREATE TABLE t (a INTEGER)");
    run(&first, "BEGIN");
    assert_eq!(number(&first, "SELECT count(*) FROM sales.t"), 1);
    let third = database.session();
    run(&third, "DETACH sales");
    assert_eq!(refused(&second, "SELECT count(*) FROM t").0, SqlState::UndefinedTable);
    assert_eq!(refused(&second, "CREATE TABLE u (a INTEGER)").0, SqlState::UndefinedDatabase);
    assert_eq!(refused(&second, "DROP TABLE t").0, SqlState::UndefinedDatabase);
    // A transaction goes on with what it saw, and holds the directory.
    assert_eq!(number(&first, "SELECT count(*) FROM sales.t"), 1);
    assert_eq!(refused(&third, &format!("ATTACH '{path}'")).0, SqlState::LockNotAvailable);
    run(&first, "INSERT INTO sales.t VALUES (2)");
    assert_eq!(refused(&first, "COMMIT").0, SqlState::NotInPrerequisiteState);
    run(&third, &format!("ATTACH '{path}'"));
    assert_eq!(number(&third, "SELECT count(*) FROM sales.t"), 1);
    // By its name it is the database in use again.
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 1);
    run(&second, "USE memory");
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 0);
}

#[test]
fn a_transaction_changes_one_database() {
    let folder = Folder::new("attach");
    let (north, south) = (folder.path("north"), folder.path("south"));
    let (_database, session) = in_memory();
    attach(&session, &north, "north");
    attach(&session, &south, "south");
    run(&session, "CREATE TABLE north.t (a INTEGER)");
    run(&session, "CREATE TABLE south.t (a INTEGER)");
    run(&session, "CREATE TABLE t (a INTEGER)");
    for (first, second) in [("north.t", "south.t"), ("t", "south.t"), ("north.t", "t")] {
        run(&session, "BEGIN");
        run(&session, &format!("INSERT INTO {first} VALUES (1)"));
        let (state, told) = refused(&session, &format!("INSERT INTO {second} VALUES (1)"));
        assert_eq!(state, SqlState::FeatureNotSupported);
        assert!(told.contains("a transaction may change one database"), "{told}");
        run(&session, "COMMIT");
    }
    run(&session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(number(&session, "SELECT count(*) FROM south.t"), 0);
    run(&session, "INSERT INTO north.t VALUES (1)");
    let other = session.database().session();
    run(&other, "INSERT INTO south.t VALUES (9)");
    assert_eq!(refused(&session, "COMMIT").0, SqlState::SerializationFailure);
    drop((other, session, _database));
    for (path, rows) in [(north, 0), (south, 1)] {
        let (database, _) = Database::on_disk(&path, options()).expect("opens");
        assert_eq!(number(&database.session(), "SELECT count(*) FROM t"), rows, "{path}");
    }
}

#[test]
fn plans_are_those_of_the_database_that_has_the_name_now() {
    let folder = Folder::new("attach");
    let (_database, session) = in_memory();
    let ask = "SELECT sum(a) FROM sales.t";
    for (name, value) in [("one", 1), ("two", 20), ("three", 300)] {
        attach(&session, &folder.path(name), "sales");
        run(&session, &format!("CREATE TABLE sales.t AS SELECT {value} AS a"));
        for _ in 0..3 {
            assert_eq!(number(&session, ask), value);
        }
        run(&session, "PREPARE asked AS SELECT sum(a) FROM sales.t");
        assert_eq!(number(&session, "EXECUTE asked"), value);
        run(&session, "DEALLOCATE asked");
        run(&session, "DETACH sales");
        assert_eq!(refused(&session, ask).0, SqlState::UndefinedTable);
    }
    attach(&session, &folder.path("two"), "sales");
    assert_eq!(number(&session, ask), 20);
    run(&session, &format!("ATTACH OR REPLACE '{}' AS sales", folder.path("three")));
    assert_eq!(number(&session, ask), 300);
}

#[test]
fn sessions_write_an_attached_database_side_by_side() {
    let folder = Folder::new("attach");
    let path = folder.path("sales");
    let (database, session) = in_memory();
    attach(&session, &path, "sales");
    run(&session, "CREATE TABLE sales.t (id BIGSERIAL PRIMARY KEY, who INTEGER)");
    run(&session, "CREATE TABLE own (id INTEGER)");
    std::thread::scope(|scope| {
        for who in 0..4 {
            let session = database.session();
            scope.spawn(move || {
                for step in 0..25 {
                    run(&session, &format!("INSERT INTO sales.t (who) VALUES ({who})"));
                    if step % 5 == 0 {
                        run(&session, "INSERT INTO own SELECT count(*) FROM sales.t");
                    }
                }
            });
        }
        // Meanwhile another thread attaches and detaches.
        let session = database.session();
        scope.spawn(move || {
            for _ in 0..10 {
                run(&session, "ATTACH ':memory:' AS passing");
                run(&session, "CREATE TABLE passing.t AS SELECT * FROM sales.t");
                run(&session, "DETACH passing");
            }
        });
    });
    assert_eq!(number(&session, "SELECT count(DISTINCT id) FROM sales.t"), 100);
    assert_eq!(number(&session, "SELECT count(*) FROM own"), 20);
    drop((session, database));
    let (database, _) = Database::on_disk(&path, options()).expect("opens");
    assert_eq!(number(&database.session(), "SELECT count(*) FROM t"), 100);
}

#[test]
fn statements_about_a_database_are_about_the_one_in_use() {
    let folder = Folder::new("attach");
    let (_database, session) = in_memory();
    run(&session, "CREATE TABLE of_main AS SELECT 1 AS a");
    attach(&session, &folder.path("sales"), "sales");
    run(&session, "CREATE TABLE sales.t AS SELECT i AS a FROM generate_series(1, 5000) AS g(i)");
    run(&session, "CREATE INDEX by_a ON sales.t (a)");
    run(&session, "ALTER TABLE sales.t SET (layout = 'row')");
    let in_row =
        "SELECT count(*) FROM quickstep_tables() WHERE database_name = 'sales' AND layout = 'split_row'";
    assert_eq!(number(&session, in_row), 1);
    // The main database is in memory.
    assert_eq!(refused(&session, "CHECK DATABASE").0, SqlState::FeatureNotSupported);
    run(&session, "USE sales");
    assert_eq!(session.query("CHECK DATABASE").expect("checks").rows(), 0);
    run(&session, "CHECKPOINT");
    let (backup, exported) = (folder.path("backup"), folder.path("exported"));
    run(&session, &format!("BACKUP DATABASE TO '{backup}'"));
    run(&session, &format!("EXPORT DATABASE '{exported}'"));
    run(&session, "USE memory");
    attach(&session, &backup, "backup");
    assert_eq!(number(&session, "SELECT sum(a) FROM backup.t"), 12_502_500);
    let tables = "SELECT count(*) FROM quickstep_tables() WHERE database_name = ";
    assert_eq!(number(&session, &format!("{tables}'backup'")), 1);
    run(&session, "ATTACH ':memory:' AS imported");
    run(&session, "USE imported");
    run(&session, &format!("IMPORT DATABASE '{exported}'"));
    assert_eq!(number(&session, "SELECT sum(a) FROM imported.main.t"), 12_502_500);
    assert_eq!(number(&session, &format!("{tables}'imported'")), 1);
    assert_eq!(number(&session, &format!("{tables}'memory'")), 1);
}
