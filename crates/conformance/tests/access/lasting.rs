//! What is kept of roles and privileges: over restarts, in transactions, in backups.

use engine::{Database, Options, SqlState as S};

use crate::support::{database, run, state};

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("access-{name}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(path: &std::path::Path) -> Database {
    let options = Options { workers: Some(2), ..Options::default() };
    Database::open(path.to_str(), options).expect("a database on disk")
}

#[test]
fn roles_and_privileges_survive_restarts_checkpoints_and_backups() {
    let (path, copy) = (folder("restart"), folder("copy"));
    for checkpoint in [false, true] {
        _ = std::fs::remove_dir_all(&path);
        {
            let database = open(&path);
            let admin = database.session();
            run(
                &admin,
                "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2); CREATE VIEW v AS SELECT a FROM t;
                 CREATE ROLE g; CREATE ROLE u LOGIN PASSWORD 'x' IN ROLE g; GRANT SELECT (a) ON t TO g;
                 GRANT SELECT ON v TO g; ALTER ROLE u SET priority = 7; CREATE ROLE gone; DROP ROLE gone",
            );
            if checkpoint {
                run(&admin, "CHECKPOINT");
            }
        }
        let database = open(&path);
        assert!(database.login("u").unwrap().verifier.unwrap().matches("x"));
        assert!(database.login("gone").is_none());
        let u = database.session_as("u").unwrap();
        assert_eq!(state(&u, "SELECT a FROM t"), None);
        assert_eq!(state(&u, "SELECT b FROM t"), Some(S::InsufficientPrivilege));
        assert_eq!(state(&u, "SELECT * FROM v"), None);
        assert_eq!(u.query("SHOW priority").unwrap().value(0, 0).as_text(), Some("7"));
        _ = std::fs::remove_dir_all(&copy);
        run(&database.session(), &format!("BACKUP DATABASE TO '{}'", copy.display()));
        let copied = open(&copy);
        assert_eq!(state(&copied.session_as("u").unwrap(), "SELECT a FROM t"), None);
    }
    for folder in [path, copy] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn grants_are_part_of_transactions() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE TABLE t (a INT); CREATE ROLE u LOGIN");
    let u = database.session_as("u").unwrap();
    run(&admin, "BEGIN; GRANT SELECT ON t TO u; CREATE ROLE x");
    assert_eq!(state(&u, "SELECT * FROM t"), Some(S::InsufficientPrivilege));
    run(&admin, "ROLLBACK");
    assert_eq!(state(&u, "SELECT * FROM t"), Some(S::InsufficientPrivilege));
    assert_eq!(state(&admin, "DROP ROLE x"), Some(S::UndefinedObject));
    run(&admin, "BEGIN; GRANT SELECT ON t TO u; COMMIT");
    assert_eq!(state(&u, "SELECT * FROM t"), None);
    // Two that grant on different objects do not disturb each other; a role that is dropped meanwhile is noticed.
    let other = database.session();
    run(&admin, "CREATE TABLE s (a INT); CREATE ROLE y");
    run(&admin, "BEGIN; GRANT SELECT ON t TO y");
    run(&other, "GRANT SELECT ON s TO u; DROP ROLE y");
    assert_eq!(state(&admin, "COMMIT"), Some(S::SerializationFailure));
}

#[test]
fn what_is_dropped_leaves_no_privilege_behind() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE u LOGIN; CREATE SCHEMA s");
    let u = database.session_as("u").unwrap();
    let made = "CREATE TABLE s.t (a INT); CREATE VIEW s.v AS SELECT 1 AS a; CREATE SEQUENCE s.q; CREATE MACRO m() AS 1";
    run(&admin, made);
    run(
        &admin,
        "GRANT USAGE ON SCHEMA s TO u; GRANT ALL ON ALL TABLES IN SCHEMA s TO u; GRANT ALL ON SEQUENCE s.q TO u;
         DROP SCHEMA s CASCADE; DROP MACRO m; CREATE SCHEMA s",
    );
    run(&admin, made);
    run(&admin, "GRANT USAGE ON SCHEMA s TO u");
    for text in ["SELECT * FROM s.t", "SELECT * FROM s.v", "SELECT nextval('s.q')"] {
        assert_eq!(state(&u, text), Some(S::InsufficientPrivilege), "{text}");
    }
    let kept = admin.with_access(|access| access.state().objects().count());
    assert_eq!(kept, 1, "an entry about something that is gone");
    run(&admin, "REVOKE USAGE ON SCHEMA s FROM u; DROP ROLE u");
}
