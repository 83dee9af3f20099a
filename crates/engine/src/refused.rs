//! Tests: a session that may open nothing opens nothing, by whatever statement.
//!
//! Each statement is run by a session without any capability, which must answer 42501 and make nothing. Those about
//! files are then run by one that may open what lies in a folder, where they must work.

use std::io::{Read, Write};

use files::Capability;
use types::SqlState;

use crate::{CopyStreams, Database, Options};

struct Streams;

impl CopyStreams for Streams {
    fn input(&self, _: bool) -> std::io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(&b"1\n"[..]))
    }
    fn output(&self) -> std::io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(std::io::sink()))
    }
}

/// A folder that is gone when the test ends.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("engine-refused-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Statements that open something; `{}` is a folder with `x.csv` and `x.parquet`.
const FILES: [&str; 25] = [
    "SELECT * FROM '{}/x.csv'",
    "SELECT * FROM '{}/*.parquet'",
    "SELECT * FROM '{}/part'",
    "SELECT * FROM read_csv('{}/x.csv')",
    "SELECT * FROM read_parquet(['{}/x.parquet', '{}/x.parquet'])",
    "SELECT * FROM read_text('{}/x.csv')",
    "SELECT * FROM read_blob('{}/x.csv')",
    "SELECT * FROM glob('{}/*')",
    "SELECT * FROM sniff_csv('{}/x.csv')",
    "SELECT * FROM parquet_schema('{}/x.parquet')",
    "SELECT * FROM parquet_metadata('{}/x.parquet')",
    "DESCRIBE SELECT * FROM '{}/x.csv'",
    "EXPLAIN SELECT * FROM '{}/x.csv'",
    "CREATE TABLE u AS FROM '{}/x.csv'",
    "COPY t FROM '{}/x.csv'",
    "COPY t TO '{}/new.csv'",
    "COPY (SELECT 1 AS a, 2 AS b) TO '{}/new' (FORMAT csv, PARTITION_BY (a))",
    "COPY t TO '{}/new' (FORMAT delta)",
    "EXPORT DATABASE '{}/new'",
    "IMPORT DATABASE '{}'",
    "BACKUP DATABASE TO '{}/new'",
    "ATTACH '{}/new' AS other",
    "ATTACH '{}/there' AS other (READ_ONLY)",
    "CALL write_trace(0, '{}/new.json')",
    "SET temp_directory = '{}'",
];

/// As `FILES`, of addresses, secrets and streams.
const OTHERS: [&str; 18] = [
    "SELECT * FROM 's3://bucket/x.csv'",
    "SELECT * FROM 's3://bucket/*.csv'",
    "SELECT * FROM 'https://server.invalid/x.csv'",
    "SELECT * FROM 'hdfs://server.invalid/x.csv'",
    "SELECT * FROM delta_scan('s3://bucket/table')",
    "SELECT * FROM iceberg_scan('https://server.invalid/table')",
    "COPY t TO 's3://bucket/x.csv'",
    "COPY t TO 'gs://bucket/x' (FORMAT csv, PARTITION_BY (a))",
    "ATTACH 's3://bucket/database' AS other",
    "CREATE SECRET depot (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE PERSISTENT SECRET depot (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "DROP SECRET IF EXISTS depot",
    "SELECT * FROM quickstep_secrets",
    "SELECT * FROM which_secret('s3://bucket/x')",
    "SET s3_secret_access_key = 'x'",
    "SET secret_directory = '/tmp'",
    "COPY t FROM STDIN",
    "COPY t TO STDOUT",
];

#[test]
fn nothing_is_opened_that_a_session_may_not_open() {
    let folder = Folder::new("all");
    let name = folder.0.to_str().unwrap();
    let database = Database::in_memory(Options { workers: Some(1), ..Options::default() }).unwrap();
    let host = database.session();
    for prepared in [
        "CREATE TABLE t AS SELECT 1 AS a",
        "COPY t TO '{}/x.csv'",
        "COPY t TO '{}/x.parquet'",
        "COPY (SELECT 1 AS a, 2 AS b) TO '{}/part' (FORMAT csv, PARTITION_BY (a))",
        "BACKUP DATABASE TO '{}/there'",
        "CREATE VIEW v AS FROM '{}/x.csv'",
    ] {
        host.query(&prepared.replace("{}", name)).unwrap();
    }
    let session = database.session_under(Capability::nothing());
    session.set_copy_streams(Streams);
    session.query("SELECT * FROM t").unwrap();
    session.query(&format!("PREPARE p AS FROM '{name}/x.csv'")).unwrap();
    let before: usize = std::fs::read_dir(&folder.0).unwrap().count();
    for statement in FILES.iter().chain(&OTHERS).chain(&["FROM v", "EXECUTE p"]) {
        let statement = statement.replace("{}", name);
        let state = session.query(&statement).err().map(|error| error.state());
        assert_eq!(state, Some(SqlState::InsufficientPrivilege), "{statement}");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), before, "something was made");
    // What is allowed works, with the same statements.
    let some = database.session_under(Capability::nothing().with_files_below([name]).with_streams());
    some.set_copy_streams(Streams);
    for statement in FILES.iter().filter(|statement| !statement.contains("IMPORT")) {
        let _ = std::fs::remove_dir_all(folder.0.join("new"));
        let statement = statement.replace("{}", name);
        some.query(&statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        let _ = some.query("DETACH other");
    }
    for statement in ["COPY t FROM STDIN", "COPY t TO STDOUT", "FROM v"] {
        some.query(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
    }
    let error = some.query("SELECT * FROM '/etc/passwd'").unwrap_err();
    assert_eq!(error.state(), SqlState::InsufficientPrivilege);
    assert!(error.hint().is_some_and(|hint| hint.contains(name)), "{error:?}");
}

#[test]
fn a_database_may_be_opened_under_less() {
    let folder = Folder::new("database");
    let within = folder.0.join("database");
    let environment = |files: &std::path::Path| {
        let all = Database::in_memory(Options::default()).unwrap().environment();
        Some(all.under(Capability::nothing().with_files_below([files])))
    };
    let open = |files| {
        let options = Options { workers: Some(1), environment: environment(files), ..Options::default() };
        Database::on_disk(within.to_str().unwrap(), options)
    };
    let refused = open(std::path::Path::new("/no/such/folder")).map(drop).unwrap_err();
    assert_eq!(refused.state(), SqlState::InsufficientPrivilege);
    assert!(!within.exists());
    let (database, _) = open(&folder.0).unwrap();
    let error = database.session().query("SELECT * FROM '/etc/passwd'").unwrap_err();
    assert_eq!(error.state(), SqlState::InsufficientPrivilege);
}
