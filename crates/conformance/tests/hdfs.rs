//! Files of a Hadoop cluster, against a small one of our own on this machine (`hadoop_cluster`).
//!
//! `Place` is a cluster, a session and a lock: `http_timeout` belongs to the process, so the tests run one after the
//! other. The cluster speaks the protocol of name and data nodes and can be told to fail.

mod hadoop_cluster;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Database, Options, Session};
use hadoop_cluster::{Cluster, Fault};
use types::SqlState;

/// A cluster, and a session. One after the other, since they measure time.
struct Place {
    cluster: Cluster,
    address: String,
    session: Session,
    folder: std::path::PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    fn new(name: &str) -> Place {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (cluster, address) = Cluster::start();
        let options = Options { workers: Some(2), ..Default::default() };
        let session = Database::in_memory(options).unwrap().session();
        let folder = std::env::temp_dir().join(format!("quickstep-hdfs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let place = Place { cluster, address, session, folder, _alone: alone };
        place.run("SET http_timeout = 20");
        place
    }

    fn run(&self, sql: &str) {
        self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    /// The first row's values, as the shell prints them.
    fn row(&self, sql: &str) -> String {
        let result = self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let value = |column| match result.value(0, column) {
            value if value.as_text().is_some() => value.as_text().unwrap_or_default().to_owned(),
            value => value.as_i128().map_or_else(|| format!("{value:?}"), |n| n.to_string()),
        };
        (0..result.schema().len()).map(value).collect::<Vec<_>>().join("|")
    }

    fn error(&self, sql: &str) -> types::Error {
        self.session.query(sql).map(|_| ()).expect_err(sql)
    }

    /// A table's rows in a file of the cluster; `format` as COPY names it.
    fn write(&self, query: &str, path: &str, format: &str) {
        let local = self.folder.join("file");
        self.run(&format!("COPY ({query}) TO '{}' (FORMAT {format})", local.display()));
        self.cluster.put(path, &std::fs::read(&local).unwrap());
    }

    fn with_files(name: &str) -> Place {
        let place = Place::new(name);
        place.run(
            "CREATE TABLE t AS SELECT i AS id, i % 7 AS k, md5(i::text) AS long FROM generate_series(1, 100000) AS t(i)",
        );
        let parquet = "parquet, ROW_GROUP_SIZE 10000";
        place.write("SELECT * FROM t", "/data/all.parquet", parquet);
        for k in 0..7 {
            let query = format!("SELECT id, long FROM t WHERE k = {k}");
            place.write(&query, &format!("/data/parts/k={k}/part one.parquet"), parquet);
        }
        for (name, format) in [("t.csv", "csv"), ("t.json", "json"), ("t.arrow", "arrow")] {
            place.write("SELECT * FROM t WHERE id <= 5000", &format!("/data/{name}"), format);
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn files_of_every_kind_are_read_where_they_are() {
    let place = Place::with_files("kinds");
    let at = &place.address;
    let sums = "count(*), sum(id), sum(k), max(long)";
    let expected = place.row(&format!("SELECT {sums} FROM t"));
    assert_eq!(place.row(&format!("SELECT {sums} FROM '{at}/data/all.parquet'")), expected);
    let few = place.row(&format!("SELECT {sums} FROM t WHERE id <= 5000"));
    for name in ["t.csv", "t.json", "t.arrow"] {
        assert_eq!(place.row(&format!("SELECT {sums} FROM '{at}/data/{name}'")), few, "{name}");
    }
    // Patterns, folders and what their names say.
    assert_eq!(place.row(&format!("SELECT {sums} FROM '{at}/data/parts/*/*.parquet'")), expected);
    place.cluster.bytes_read();
    let part = place.row(&format!(
        "SELECT count(*), max(k) FROM read_parquet('{at}/data/parts/**/*.parquet') WHERE k = 3"
    ));
    assert_eq!(part, place.row("SELECT count(*), max(k) FROM t WHERE k = 3"));
    assert!(place.cluster.bytes_read() < 200_000, "other folders' files are not read");
    // Only what the query needs.
    let all = place.cluster.state().files["/data/all.parquet"].len() as u64;
    let one = place.row(&format!("SELECT long FROM '{at}/data/all.parquet' WHERE id = 77777"));
    assert_eq!(one, place.row("SELECT md5('77777')"));
    let read = place.cluster.bytes_read();
    assert!(read * 4 < all, "{read} of {all}");
    let error = place.error(&format!("COPY t TO '{at}/out.parquet'"));
    assert_eq!(error.state(), SqlState::FeatureNotSupported);
    assert!(error.message().contains("Hadoop clusters are only read"), "{error}");
}

/// A folder is a request, and may be closed: only those are listed that can have what the pattern says.
#[test]
fn patterns_list_the_folders_that_they_lead_to() {
    let place = Place::new("patterns");
    let at = &place.address;
    place.run("CREATE TABLE t AS SELECT i AS id FROM generate_series(1, 10) AS s(i)");
    for path in ["/d/a.csv", "/d/x1/b.csv", "/d/x1/deep/c.csv", "/d/x2/d.csv", "/d/y/e.csv", "/e/f.csv"] {
        place.write("SELECT * FROM t", path, "csv");
    }
    place.cluster.put("/d/y/private/g.csv", b"id\n1\n");
    place.cluster.state().private.push("/d/y/private".to_owned());
    let count = |pattern: &str, files: usize, folders: &[&str]| {
        place.cluster.state().listed.clear();
        let rows = place.row(&format!("SELECT count(*) FROM '{at}{pattern}'"));
        assert_eq!(rows, (files * 10).to_string(), "{pattern}");
        let mut listed = std::mem::take(&mut place.cluster.state().listed);
        listed.retain(|folder| !folder.ends_with(".csv"));
        listed.sort();
        listed.dedup();
        assert_eq!(listed, folders, "{pattern}");
    };
    count("/d/*.csv", 1, &["/d"]);
    count("/d/x*/*.csv", 2, &["/d", "/d/x1", "/d/x2"]);
    count("/*/f.csv", 1, &["/", "/d", "/e"]);
    count("/d/x1/**/*.csv", 2, &["/d/x1", "/d/x1/deep"]);
    count("/d/[xy]?/d.csv", 1, &["/d", "/d/x1", "/d/x2"]);
    let error = place.error(&format!("SELECT * FROM '{at}/d/**/*.csv'"));
    assert!(error.message().contains("ermission"), "{error}");
}

#[test]
fn a_database_in_a_cluster_is_read() {
    let place = Place::new("database");
    let local = place.folder.join("db");
    let (database, _) = Database::on_disk(&local.to_string_lossy(), Options::default()).unwrap();
    let session = database.session();
    session
        .query("CREATE TABLE t AS SELECT i AS a, i % 10 AS b, md5(i::text) AS c FROM generate_series(1, 300000) AS s(i)")
        .unwrap();
    session.query("CHECKPOINT").unwrap();
    session.query("INSERT INTO t VALUES (300001, 1, 'in the log')").unwrap();
    for entry in files::FileManager::list(
        &files::LocalFiles::new(&files::Capability::everything(), &local).unwrap(),
        "",
    )
    .unwrap()
    {
        let bytes = std::fs::read(local.join(&entry.name)).unwrap();
        place.cluster.put(&format!("/databases/mine/{}", entry.name), &bytes);
    }
    drop((session, database));
    let url = format!("{}/databases/mine", place.address);
    let environment = Some(place.session.database().environment());
    let (there, _) = Database::on_disk(&url, Options { environment, ..Options::default() }).unwrap();
    let session = there.session();
    let sum = session.query("SELECT count(*), sum(b), min(a) FROM t").unwrap();
    assert_eq!((sum.value(0, 0).as_i64(), sum.value(0, 1).as_i128()), (Some(300_001), Some(1_350_001)));
    let all: usize = place.cluster.state().files.values().map(Vec::len).sum();
    let read = place.cluster.bytes_read();
    assert!(read * 4 < all as u64, "{read} of {all}: the long column is not read");
    let last = session.query("SELECT c FROM t WHERE a > 299999 ORDER BY a").unwrap();
    assert_eq!(last.value(1, 0).as_text(), Some("in the log"));
    assert_eq!(session.query("DELETE FROM t").unwrap_err().state(), SqlState::ReadOnly);
}

#[test]
fn a_replica_is_enough() {
    let place = Place::with_files("replicas");
    let query = format!("SELECT count(*), sum(id), max(long) FROM '{}/data/all.parquet'", place.address);
    let expected = place.row("SELECT count(*), sum(id), max(long) FROM t");
    for fault in [Fault::Dies, Fault::Corrupts] {
        for faults in [[fault, Fault::None], [Fault::None, fault]] {
            place.cluster.state().data_nodes = faults;
            assert_eq!(place.row(&query), expected, "{faults:?}");
        }
    }
    for fault in [Fault::Dies, Fault::Corrupts] {
        place.cluster.state().data_nodes = [fault; 2];
        let error = place.error(&query);
        assert_eq!(error.state(), SqlState::IoError, "{error:?}");
        assert!(error.message().contains("/data/all.parquet\": "), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("hdfs fsck")), "{error:?}");
    }
    place.cluster.state().data_nodes = Default::default();
    assert_eq!(place.row(&query), expected, "and it goes on when they do");
}

#[test]
fn what_is_wrong_is_said() {
    let place = Place::with_files("wrong");
    let at = &place.address;
    let file = format!("SELECT count(*) FROM '{at}/data/all.parquet'");
    let check = |sql: &str, state: SqlState, message: &str, hint: &str| {
        let error = place.error(sql);
        assert_eq!(error.state(), state, "{error:?}");
        assert!(error.message().contains(message), "{message}: {error}");
        assert!(error.hint().is_some_and(|h| h.contains(hint)), "{hint}: {error:?}");
    };
    let missing = format!("SELECT * FROM '{at}/data/none.parquet'");
    check(&missing, SqlState::UndefinedFile, "the cluster has no such file", "upper and lower case");
    // Nobody listens there.
    let nobody = "SELECT * FROM 'hdfs://127.0.0.1:1/data/all.parquet'";
    let begun = Instant::now();
    check(nobody, SqlState::IoError, "refused", "name node's address");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let unknown = "SELECT * FROM 'hdfs://no-such-service/data/all.parquet'";
    let error = place.error(unknown);
    assert!(error.message().contains("hdfs://no-such-service"), "{error}");
    assert!(
        place
            .error("SELECT * FROM 'hdfs:///data/all.parquet'")
            .message()
            .contains("names no bucket or server")
    );
    for (exception, message, hint) in [
        ("org.apache.hadoop.ipc.StandbyException", "StandbyException", "on standby"),
        ("org.apache.hadoop.security.AccessControlException", "access is denied", "HADOOP_USER_NAME"),
    ] {
        place.cluster.state().name_node = Fault::Throws(exception);
        check(&file, SqlState::IoError, message, hint);
    }
    place.cluster.state().name_node = Fault::Dies;
    assert_eq!(place.error(&file).state(), SqlState::IoError);
    // A length that the blocks do not bear out must not end the process.
    place.cluster.state().name_node = Fault::Exaggerates;
    let error = place.error(&file);
    assert!(matches!(error.state(), SqlState::IoError | SqlState::DataCorrupted), "{error:?}");
    place.cluster.state().name_node = Fault::None;
    assert_eq!(place.row(&file), "100000");
}

#[test]
fn nodes_that_do_not_answer_are_given_up() {
    let place = Place::with_files("late");
    let file = format!("SELECT count(*), max(long) FROM '{}/data/all.parquet'", place.address);
    // A node that hangs answers after half a minute.
    let soon = |state: SqlState, what: &str| {
        let begun = Instant::now();
        let error = place.error(&file);
        assert_eq!(error.state(), state, "{error:?}");
        assert!(error.message().contains(what), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    };
    place.run("SET statement_timeout = '300ms'");
    place.cluster.state().name_node = Fault::Hangs;
    soon(SqlState::QueryCanceled, "timeout");
    place.cluster.state().name_node = Fault::None;
    place.cluster.state().data_nodes = [Fault::Hangs; 2];
    soon(SqlState::QueryCanceled, "timeout");
    place.run("RESET statement_timeout");
    place.run("SET http_timeout = 1");
    let begun = Instant::now();
    let error = place.error(&file);
    assert!(error.message().contains("timed out") && begun.elapsed() < Duration::from_secs(25), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("http_timeout")), "{error:?}");
    place.run("SET http_timeout = 20");
    place.cluster.state().data_nodes = Default::default();
    assert_eq!(place.row(&file), place.row("SELECT count(*), max(long) FROM t"));
}

/// Whatever nodes answer, a statement ends with its rows or an error, soon, and the process goes on. What data nodes
/// change is never taken for the file's bytes.
#[test]
fn garbled_answers_are_errors_or_harmless() {
    let place = Place::with_files("garbled");
    let query = format!("SELECT count(*), sum(id), max(long) FROM '{}/data/all.parquet'", place.address);
    let expected = place.row("SELECT count(*), sum(id), max(long) FROM t");
    place.run("SET http_timeout = 1");
    let (mut right, mut refused) = (0, 0);
    for seed in 1..=24u64 {
        let of_name_node = seed % 3 == 0;
        {
            let mut state = place.cluster.state();
            let fault = Fault::Garbles(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
            state.name_node = if of_name_node { fault } else { Fault::None };
            state.data_nodes = if of_name_node { [Fault::None; 2] } else { [fault, fault] };
        }
        let begun = Instant::now();
        match place.session.query(&query) {
            Ok(result) => {
                right += 1;
                let value = |column| result.value(0, column);
                let found = format!(
                    "{}|{}|{}",
                    value(0).as_i128().unwrap(),
                    value(1).as_i128().unwrap(),
                    value(2).as_text().unwrap()
                );
                assert!(of_name_node || found == expected, "seed {seed}: {found}");
            }
            Err(error) => {
                refused += 1;
                assert_ne!(error.state(), SqlState::Internal, "seed {seed}: {error:?}");
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "seed {seed}: {:?}", begun.elapsed());
    }
    assert!(right > 0 && refused > 3, "{right} right, {refused} refused");
    place.cluster.state().name_node = Fault::None;
    place.cluster.state().data_nodes = Default::default();
    place.run("SET http_timeout = 20");
    assert_eq!(place.row(&query), expected, "and afterwards all is well");
}
