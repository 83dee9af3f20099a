//! Files in object stores and behind HTTP, against a small server of our own on this machine (`object_server`).
//!
//! `Place` is a server, and a session of a database whose settings name it. The server counts requests and bytes and can be told to fail, so that tests check what is fetched and
//! what is tried again. Secrets must appear in no message or listing.

mod object_server;

use std::time::{Duration, Instant};

use engine::{Database, Options, Session};
use object_server::{KEY, SECRET, Server};
use types::{SqlState, Value};

/// A server, and a session whose database knows it.
struct Place {
    server: Server,
    address: String,
    session: Session,
}

impl Place {
    fn new() -> Place {
        let (server, address) = Server::start();
        let session =
            Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
                .unwrap()
                .session();
        let place = Place { server, address, session };
        let address = &place.address;
        place.run(&format!("SET s3_endpoint = '{address}'"));
        place.run(&format!("SET s3_access_key_id = '{KEY}'"));
        place.run(&format!("SET s3_secret_access_key = '{SECRET}'"));
        place.run(&format!("SET gcs_endpoint = '{address}'"));
        place.run(&format!("SET azure_endpoint = '{address}/account'"));
        place.run("SET azure_account_name = 'account'");
        place.run("SET s3_region = 'eu-central-1'");
        place.run("SET http_timeout = 20");
        place
    }

    /// For a database that is reached as this one reaches its files.
    fn options(&self) -> Options {
        Options { environment: Some(self.session.database().environment()), ..Default::default() }
    }

    /// With a table `t` of 400,000 rows.
    fn with_table() -> Place {
        let place = Place::new();
        place.run(
            "CREATE TABLE t AS SELECT i AS id, i % 7 AS k, 'word ' || CAST(i % 1000 AS TEXT) AS w, \
             repeat('x', 40) || CAST(i AS TEXT) AS long FROM generate_series(1, 400000) AS t(i)",
        );
        place
    }

    fn run(&self, sql: &str) {
        self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        let result = self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let width = result.schema().len();
        (0..result.rows()).map(|row| (0..width).map(|column| result.value(row, column)).collect()).collect()
    }

    fn error(&self, sql: &str) -> types::Error {
        self.session.query(sql).map(|_| ()).expect_err(sql)
    }

    fn count(&self, from: &str) -> i64 {
        match self.rows(&format!("SELECT count(*) FROM {from}"))[..] {
            [ref row] => match row[..] {
                [Value::I64(count)] => count,
                _ => panic!("{row:?}"),
            },
            _ => panic!("one row"),
        }
    }

    /// How many requests for parts of objects a query makes, and of how many bytes.
    fn fetched(&self, sql: &str) -> (usize, usize) {
        self.server.requests();
        self.rows(sql);
        let ranges = self.server.requests();
        let bytes = |request: &String| {
            let (from, to) = request.split_once("bytes=")?.1.split_once('-')?;
            Some(to.parse::<usize>().ok()? + 1 - from.parse::<usize>().ok()?)
        };
        let sizes: Vec<usize> = ranges.iter().filter_map(bytes).collect();
        (sizes.len(), sizes.iter().sum())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for name in ["s3_endpoint", "s3_access_key_id", "s3_secret_access_key", "s3_region", "http_timeout"] {
            let _ = self.session.query(&format!("RESET {name}"));
        }
    }
}

/// A database of this machine whose files are put into a bucket is read there, and only what is needed of it.
#[test]
fn a_database_in_a_store_is_read() {
    let place = Place::new();
    let folder = std::env::temp_dir().join(format!("quickstep-remote-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let (database, _) = Database::on_disk(&folder.to_string_lossy(), Options::default()).unwrap();
    let session = database.session();
    session
        .query("CREATE TABLE t AS SELECT i AS a, i % 10 AS b, 'text ' || i * 19 AS c FROM generate_series(1, 300000) AS s(i)")
        .unwrap();
    session.query("CHECKPOINT").unwrap();
    session.query("INSERT INTO t VALUES (300001, 1, 'in the log')").unwrap();
    for name in files::FileManager::list(
        &files::LocalFiles::new(&files::Capability::everything(), &folder).unwrap(),
        "",
    )
    .unwrap()
    {
        let name = name.name;
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        place.server.put(&format!("public/databases/mine/{name}"), &bytes);
        place.server.put(&format!("account/public/databases/mine/{name}"), &bytes);
    }
    drop((session, database));
    let _ = std::fs::remove_dir_all(&folder);
    for url in ["s3://public/databases/mine", "gs://public/databases/mine/", "az://public/databases/mine"] {
        place.server.requests();
        let (there, _) = Database::on_disk(url, place.options()).unwrap_or_else(|e| panic!("{url}: {e:?}"));
        let session = there.session();
        let sum = session.query("SELECT count(*), sum(b), min(a) FROM t").unwrap();
        assert_eq!(sum.value(0, 0).as_i64(), Some(300_001), "{url}");
        assert_eq!(sum.value(0, 1).as_i128(), Some(1_350_001), "{url}");
        let bytes: usize = place
            .server
            .requests()
            .iter()
            .filter_map(|request| {
                let (from, to) = request.split_once("bytes=")?.1.split_once('-')?;
                Some(to.parse::<usize>().ok()? + 1 - from.parse::<usize>().ok()?)
            })
            .sum();
        let all: usize = place.server.state().objects.values().map(Vec::len).sum();
        assert!(bytes * 4 < all, "{url}: {bytes} of {all}");
        let last = session.query("SELECT c FROM t WHERE a > 299999 ORDER BY a").unwrap();
        assert_eq!(last.value(1, 0).as_text(), Some("in the log"), "{url}");
        let error = session.query("DELETE FROM t").unwrap_err();
        assert_eq!(error.state(), SqlState::ReadOnly, "{error}");
    }
    let missing = Database::on_disk("s3://public/databases/none", place.options());
    assert_eq!(missing.map(|_| ()).unwrap_err().state(), SqlState::UndefinedFile);
}

#[test]
fn every_format_is_written_and_read_back() {
    let place = Place::with_table();
    let sums = "SELECT count(*), sum(id), max(w), count(DISTINCT long)";
    let expected = place.rows(&format!("{sums} FROM t"));
    for name in ["one.parquet", "two.csv", "three.csv.gz", "four.ndjson", "five.arrow", "six.json.zst"] {
        place.run(&format!("COPY t TO 's3://bucket/dir/{name}'"));
        assert_eq!(place.rows(&format!("{sums} FROM 's3://bucket/dir/{name}'")), expected, "{name}");
    }
    let written = place.server.requests();
    assert!(written.iter().any(|r| r.contains("uploadId=")), "a large file goes up in parts");
    assert!(place.server.state().uploads.is_empty());
    place.run("CREATE TABLE copy (id BIGINT, k BIGINT, w TEXT, long TEXT)");
    place.run("COPY copy FROM 's3://bucket/dir/two.csv'");
    assert_eq!(place.rows(&format!("{sums} FROM copy")), expected);
    // A name that addresses have to write otherwise.
    place.run("COPY (SELECT 1 AS x) TO 's3://bucket/dir/a b+c=ü%.csv'");
    assert_eq!(place.rows("SELECT x FROM 's3://bucket/dir/a b+c=ü%.csv'"), [[Value::I64(1)]]);
}

#[test]
fn only_what_is_needed_is_fetched() {
    let place = Place::with_table();
    place.run("COPY t TO 's3://bucket/groups.parquet' (FORMAT parquet, ROW_GROUP_SIZE 20000)");
    let size = place.server.state().objects["bucket/groups.parquet"].len();
    let file = "FROM 's3://bucket/groups.parquet'";
    let (_, all) = place.fetched(&format!("SELECT max(id), max(k), max(w), max(long) {file}"));
    assert!((size * 9 / 10..size * 12 / 10).contains(&all), "{all} of {size}");
    // A column's chunks.
    let (_, column) = place.fetched(&format!("SELECT sum(k) {file}"));
    assert!(column < size / 10, "{column} of {size}");
    // The row groups that statistics leave.
    let (requests, few) = place.fetched(&format!("SELECT max(long) {file} WHERE id BETWEEN 5 AND 10"));
    assert!(few < size / 10 && requests <= 4, "{few} of {size} in {requests} requests");
    // The other columns of row groups in which a row passes the filter: here there is none in any.
    place.run(
        "COPY (SELECT id * 2 AS id, long FROM t) TO 's3://bucket/even.parquet' (FORMAT parquet, ROW_GROUP_SIZE 20000)",
    );
    let size = place.server.state().objects["bucket/even.parquet"].len();
    let (_, late) = place.fetched("SELECT max(long) FROM 's3://bucket/even.parquet' WHERE id = 40001");
    assert!(late < size / 20, "{late} of {size}");
    // Rows are not read to be counted.
    let (_, none) = place.fetched("SELECT count(*) FROM 's3://bucket/even.parquet'");
    assert!(none <= 64 << 10, "{none}");
}

#[test]
fn patterns_folders_and_partitions_are_found() {
    let place = Place::with_table();
    place.run("COPY t TO 's3://bucket/parts' (FORMAT parquet, PARTITION_BY (k))");
    let sums = "SELECT count(*), sum(id), min(k), max(k)";
    let expected = place.rows(&format!("{sums} FROM t"));
    for from in ["parts/**/*.parquet", "parts/*/*.parquet", "parts", "parts/", "parts/k=?/data_[0-9].parquet"]
    {
        assert_eq!(place.rows(&format!("{sums} FROM 's3://bucket/{from}'")), expected, "{from}");
    }
    assert!(place.server.requests().iter().any(|r| r.contains("continuation-token")), "listings have pages");
    // Other partitions' files are not opened.
    place.rows("SELECT count(*), max(id) FROM 's3://bucket/parts' WHERE k = 3");
    place.server.requests();
    assert_eq!(
        place.rows("SELECT count(*), max(long) FROM 's3://bucket/parts' WHERE k = 3"),
        place.rows("SELECT count(*), max(long) FROM t WHERE k = 3")
    );
    let read = place.server.requests();
    assert!(
        read.iter().filter(|r| r.contains("bytes=")).all(|r| r.contains("k%3D3") || r.contains("k=3")),
        "{read:#?}"
    );
    let list =
        "read_parquet(['s3://bucket/parts/k=1/data_0.parquet', 's3://bucket/parts/k=2/data_0.parquet'])";
    assert_eq!(
        place.rows(&format!("{sums} FROM {list}")),
        place.rows(&format!("{sums} FROM t WHERE k IN (1, 2)"))
    );
    // What is there already is not written over.
    let taken = place.error("COPY t TO 's3://bucket/parts' (FORMAT parquet, PARTITION_BY (k))");
    assert!(taken.state() == SqlState::IoError && taken.hint().is_some(), "{taken:?}");
    let none = place.error("SELECT * FROM 's3://bucket/none/*.parquet'");
    assert_eq!(none.state(), SqlState::UndefinedFile);
    assert!(none.message().contains("s3://bucket/none/*.parquet"), "{none}");
}

#[test]
fn what_fails_leaves_nothing_and_what_may_succeed_is_tried_again() {
    let place = Place::with_table();
    place.error("COPY (SELECT 1 / (id - 399999) AS x, long FROM t) TO 's3://bucket/failed.csv'");
    assert!(!place.server.state().objects.contains_key("bucket/failed.csv"));
    assert!(place.server.state().uploads.is_empty());
    let closed = place.error("COPY t TO 's3://closed/t.csv'");
    assert!(closed.message().starts_with("cannot write \"s3://closed/t.csv\": access is denied"), "{closed}");
    assert!(closed.hint().is_some_and(|h| h.contains("s3_access_key_id")), "{closed:?}");
    place.run("COPY (SELECT 1 AS x) TO 's3://bucket/x.csv'");
    place.server.state().failing = 2;
    assert_eq!(place.count("'s3://bucket/x.csv'"), 1);
}

#[test]
fn refusals_have_their_place_and_a_remedy() {
    let place = Place::new();
    place.run("COPY (SELECT 1 AS x) TO 's3://bucket/x.csv'");
    let missing = place.error("SELECT * FROM 's3://bucket/missing.parquet'");
    assert_eq!(missing.state(), SqlState::UndefinedFile);
    assert_eq!(missing.message(), "cannot open \"s3://bucket/missing.parquet\": there is no such object");
    let closed = place.error("SELECT * FROM 's3://closed/a.parquet'");
    assert_eq!(closed.message(), "cannot open \"s3://closed/a.parquet\": access is denied");
    assert!(closed.hint().is_some_and(|h| h.contains("s3_access_key_id")), "{closed:?}");
    for address in ["s3://nowhere/*.csv", "s3://nowhere/a.csv"] {
        let nowhere = place.error(&format!("SELECT * FROM '{address}'"));
        assert!(nowhere.message().contains("there is no bucket \"nowhere\""), "{nowhere}");
        assert!(nowhere.state() == SqlState::UndefinedFile && nowhere.hint().is_some(), "{nowhere:?}");
    }
    // The signature is made with the key that is set.
    place.run("SET s3_secret_access_key = 'another'");
    let wrong = place.error("SELECT * FROM 's3://bucket/*.csv'");
    assert!(wrong.message().contains("access is denied") && !wrong.message().contains("another"), "{wrong}");
    place.run("RESET s3_access_key_id");
    place.run("RESET s3_secret_access_key");
    let unsigned = place.error("SELECT * FROM 's3://bucket/x.csv'");
    assert!(unsigned.message().contains("access is denied"), "{unsigned}");
    place.server.put("public/y.csv", b"y\n5\n");
    assert_eq!(place.rows("SELECT y FROM 's3://public/y.csv'"), [[Value::I64(5)]]);
    // Nobody listens.
    place.run("SET s3_endpoint = 'http://127.0.0.1:1'");
    let refused = place.error("SELECT * FROM 's3://bucket/x.csv'");
    assert_eq!(refused.state(), SqlState::IoError);
    assert!(refused.hint().is_some_and(|h| h.contains("s3_endpoint")), "{refused:?}");
    // What is no address, and settings that make no sense.
    assert_eq!(place.error("SELECT * FROM 's3:///a.csv'").state(), SqlState::InvalidParameterValue);
    for setting in
        ["s3_url_style = 'odd'", "http_timeout = 0", "http_timeout = 'soon'", "s3_endpoint = 'localhost'"]
    {
        let error = place.error(&format!("SET {setting}"));
        assert!(error.state() == SqlState::InvalidParameterValue && error.hint().is_some(), "{error:?}");
    }
    let unknown = place.error("SET s3_endpont = 'http://x'");
    assert!(unknown.hint().is_some_and(|h| h.contains("s3_endpoint")), "{unknown:?}");
}

#[test]
fn secrets_are_not_shown() {
    let place = Place::new();
    place.run("SET s3_session_token = 'token-of-mine'");
    place.run("SET azure_account_key = 'a2V5LW9mLW1pbmU='");
    let mut shown = String::new();
    for sql in [
        "SHOW ALL",
        "SELECT * FROM quickstep_settings()",
        "SHOW s3_secret_access_key",
        "SHOW s3_session_token",
    ] {
        let rows = place.rows(sql);
        shown.extend(rows.iter().flatten().map(|value| value.display(types::Type::Text) + "\n"));
    }
    place.run("RESET s3_session_token");
    place.run("RESET azure_account_key");
    for secret in [SECRET, "token-of-mine", "a2V5LW9mLW1pbmU="] {
        assert!(!shown.contains(secret), "{secret}");
    }
    assert!(shown.contains("***") && shown.contains(&place.address));
    assert_eq!(place.rows("SHOW azure_account_key"), [[Value::text("")]]);
}

/// The server of `slow` and `stuck` answers after a minute.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn who_waits_for_a_server_can_be_stopped() {
    let place = Place::with_table();
    // A request ends by its own time.
    place.run("SET http_timeout = 1");
    let begun = Instant::now();
    let late = place.error("SELECT * FROM 's3://slow/a.csv'");
    assert!(late.state() == SqlState::IoError && begun.elapsed() < SOON, "{late:?}");
    assert!(late.hint().is_some_and(|h| h.contains("http_timeout")), "{late:?}");
    place.run("SET http_timeout = 60");
    // Planning waits for a listing, then workers for a column: `stuck` answers no more than heads and ends of files.
    place.run("COPY t TO 's3://bucket/t.parquet'");
    let bytes = place.server.state().objects["bucket/t.parquet"].clone();
    place.server.put("stuck/t.parquet", &bytes);
    for address in ["s3://slow/*.csv", "s3://stuck/t.parquet"] {
        let sql = format!("SELECT * FROM '{address}'");
        let cancel = place.session.cancel_token();
        let begun = Instant::now();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            cancel.cancel();
        });
        let stopped = place.error(&sql);
        stopper.join().unwrap();
        assert_eq!(stopped.state(), SqlState::QueryCanceled, "{address}: {stopped:?}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        place.run("SET statement_timeout = '300ms'");
        let begun = Instant::now();
        let stopped = place.error(&sql);
        assert_eq!(stopped.state(), SqlState::QueryCanceled, "{address}: {stopped:?}");
        assert!(stopped.message().contains("timeout") && begun.elapsed() < SOON, "{stopped:?}");
        place.run("RESET statement_timeout");
    }
}

#[test]
fn web_servers_are_read() {
    let place = Place::with_table();
    let (server, address) = (&place.server, &place.address);
    server.put("web/a.csv", b"a,b\n1,x\n2,y\n");
    assert_eq!(place.rows(&format!("SELECT max(a) FROM '{address}/web/a.csv'")), [[Value::I64(2)]]);
    assert_eq!(place.count(&format!("'{address}/web/a.csv?signature=x%2Fy'")), 2);
    let seen = server.requests();
    assert!(seen.iter().any(|r| r.contains("/web/a.csv?signature=x%2Fy")), "{seen:#?}");
    place.run("COPY t TO 's3://bucket/t.parquet' (FORMAT parquet, ROW_GROUP_SIZE 20000)");
    let bytes = server.state().objects["bucket/t.parquet"].clone();
    server.put("web/t.parquet", &bytes);
    server.put("plain/t.parquet", &bytes);
    let (_, few) = place.fetched(&format!("SELECT max(long) FROM '{address}/web/t.parquet' WHERE id = 7"));
    assert!(few < bytes.len() / 10, "{few}");
    // A server that knows no ranges gives the whole file, once for a statement's planning and once for its run.
    let expected = place.rows("SELECT count(*), max(long) FROM t WHERE id > 1000");
    server.requests();
    assert_eq!(
        place.rows(&format!("SELECT count(*), max(long) FROM '{address}/plain/t.parquet' WHERE id > 1000")),
        expected
    );
    let gets = server.requests().iter().filter(|r| r.starts_with("GET") && !r.contains("bytes=")).count();
    assert!((1..=2).contains(&gets), "{gets}");
    let missing = place.error(&format!("SELECT * FROM '{address}/web/b.csv'"));
    assert_eq!(missing.state(), SqlState::UndefinedFile);
    assert_eq!(
        missing.message(),
        format!("cannot open \"{address}/web/b.csv\": the server has no such file")
    );
    let refused = place.error("SELECT * FROM 'http://127.0.0.1:1/a.csv'");
    assert!(refused.state() == SqlState::IoError && refused.hint().is_some(), "{refused:?}");
    let pattern = place.error(&format!("SELECT * FROM '{address}/web/*.csv'"));
    assert!(pattern.state() == SqlState::FeatureNotSupported && pattern.hint().is_some(), "{pattern:?}");
    let written = place.error(&format!("COPY t TO '{address}/web/t.csv'"));
    assert!(written.state() == SqlState::FeatureNotSupported && written.hint().is_some(), "{written:?}");
}

#[test]
fn other_stores_are_read_and_written() {
    let place = Place::new();
    for root in ["gs://public", "az://box"] {
        place.run(&format!("COPY (SELECT 1 AS x UNION ALL SELECT 2) TO '{root}/dir/a.csv'"));
        place.run(&format!("COPY (SELECT 3 AS x) TO '{root}/dir/b.csv'"));
        assert_eq!(place.count(&format!("'{root}/dir/*.csv'")), 3, "{root}");
        assert_eq!(place.count(&format!("'{root}/dir/a.csv'")), 2, "{root}");
        let missing = place.error(&format!("SELECT * FROM '{root}/dir/c.csv'"));
        assert_eq!(missing.state(), SqlState::UndefinedFile, "{missing:?}");
    }
}

const ENVIRONMENT_TEST: &str = "read_with_the_environments_keys";

/// Run by the test below, in a process with the keys in its environment.
#[test]
#[ignore = "asks for an environment"]
fn read_with_the_environments_keys() {
    let session = Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
        .unwrap()
        .session();
    let result = session.query("SELECT x FROM 's3://bucket/x.csv'").unwrap();
    assert_eq!(result.value(0, 0), Value::I64(7));
    let shown = session.query("SHOW s3_secret_access_key").unwrap();
    assert_eq!(shown.value(0, 0), Value::text(""));
}

#[test]
fn keys_come_from_the_environment() {
    let (server, address) = Server::start();
    server.put("bucket/x.csv", b"x\n7\n");
    let child = |secret: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", ENVIRONMENT_TEST, "--ignored"])
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .env("AWS_ENDPOINT_URL", &address)
            .env("AWS_REGION", "eu-north-1")
            .output()
            .unwrap()
    };
    let read = child(SECRET);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
    assert!(!child("another").status.success());
}

/// The files of the tables of `lakes`, put below an address.
fn put_tables(place: &Place, folder: &std::path::Path, below: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name().into_string().unwrap())).unwrap();
        match path.is_dir() {
            true => put_tables(place, &path, &format!("{below}/{name}")),
            false => place.server.put(&format!("{below}/{name}"), &std::fs::read(path).unwrap()),
        }
    }
}

#[test]
fn tables_of_delta_and_iceberg_in_stores_and_behind_http() {
    let place = Place::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lakes");
    put_tables(&place, &folder, "public/lakes");
    for root in ["s3://public/lakes".to_owned(), format!("{}/public/lakes", place.address)] {
        for (table, count) in [
            ("delta_scan('{}/delta/versions')", 25),
            ("delta_scan('{}/delta/versions', version => 7)", 24),
            ("delta_scan('{}/delta/every_type')", 8),
            ("delta_scan('{}/delta/deletion_vectors')", 2496),
            ("delta_scan('{}/delta/deletion_vectors', version => 0)", 3000),
        ] {
            assert_eq!(place.count(&table.replace("{}", &root)), count, "{root}, {table}");
        }
    }
    let s3 = "s3://public/lakes";
    for (table, count) in [
        ("delta_scan('{}/delta/checkpoint_v2_parquet')", 7),
        ("delta_scan('{}/delta/checkpoint_in_parts')", 7),
        ("iceberg_scan('{}/iceberg/deletes')", 9),
        ("iceberg_scan('{}/iceberg/every_type')", 3),
        ("'{}/iceberg/evolved'", 3),
        ("'{}/delta/versions'", 25),
    ] {
        assert_eq!(place.count(&table.replace("{}", s3)), count, "{table}");
    }
    let history = place.rows(&format!("SELECT version FROM delta_history('{s3}/delta/versions')"));
    assert_eq!(history.len(), 4);
    // A web server lists nothing: of Iceberg, the file of metadata is named.
    let web = format!("{}/public/lakes/iceberg/deletes", place.address);
    let unlisted = place.error(&format!("SELECT * FROM iceberg_scan('{web}')"));
    assert!(unlisted.hint().is_some_and(|hint| hint.contains("metadata.json")), "{unlisted:?}");
    let names = std::fs::read_dir(folder.join("iceberg/deletes/metadata")).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let latest = names.filter(|name| name.ends_with(".metadata.json")).max().unwrap();
    assert_eq!(place.count(&format!("iceberg_scan('{web}/metadata/{latest}')")), 9);
    // Files that the log's bounds refute are not opened.
    place.server.requests();
    assert_eq!(place.count(&format!("delta_scan('{s3}/delta/deletion_vectors') WHERE n >= 2500")), 500);
    let asked = place.server.requests().join("\n");
    assert!(asked.contains("three.parquet") && !asked.contains("one.parquet"), "{asked}");
    let none = place.error(&format!("SELECT * FROM delta_scan('{s3}/delta')"));
    assert_eq!(none.state(), SqlState::UndefinedFile, "{none:?}");
}
