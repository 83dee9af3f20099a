//! Files through the public API: what COPY TO writes is read back, folders give columns, and scans skip what they
//! can.
//!
//! Each test has a folder of its own. Written files are read back and compared with their source. Queries run with
//! and without the switches that skip parts of files, so that skipping never changes an answer.

use conformance::folder::Folder;
use engine::{Database, Options, Session};
use types::{SqlState, Value};

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
        .expect("a database")
        .session()
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let width = result.schema().len();
    (0..result.rows()).map(|row| (0..width).map(|column| result.value(row, column)).collect()).collect()
}

fn state(session: &Session, sql: &str) -> SqlState {
    session.query(sql).expect_err(sql).state()
}

const ROWS: &str = "SELECT i AS id, i % 3 AS part, CASE WHEN i % 11 = 0 THEN NULL ELSE 'word, \"' || CAST(i AS TEXT) END AS word, \
                    CAST(i AS DECIMAL(9, 2)) / 4 AS price, DATE '2024-01-01' + CAST(i % 400 AS INTEGER) AS day \
                    FROM generate_series(1, 200000) AS t(i)";

#[test]
fn what_is_written_is_read_back() {
    let folder = Folder::new("back");
    let session = session();
    session.query(&format!("CREATE TABLE t AS {ROWS}")).expect("a table");
    for (name, options) in [
        ("a.parquet", ""),
        ("b.parquet", "(FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 10000)"),
        ("c.csv", ""),
        ("d.csv.gz", ""),
        ("e.csv", "WITH (FORMAT csv, HEADER true, DELIMITER ';', NULL 'nothing')"),
        ("f.csv.zst", "(COMPRESSION zstd)"),
        ("g.arrow", ""),
    ] {
        let path = folder.path(name);
        let written = session.query(&format!("COPY t TO '{path}' {options}")).expect(name);
        assert_eq!(written.tag(), "COPY 200000", "{name}");
        let read = if name == "e.csv" {
            format!("read_csv('{path}', null => 'nothing')")
        } else {
            format!("'{path}'")
        };
        let sums = "SELECT count(*), count(word), sum(id), sum(part), sum(CAST(price AS DECIMAL(12, 2))), max(day), max(word)";
        assert_eq!(
            rows(&session, &format!("{sums} FROM {read}")),
            rows(&session, &format!("{sums} FROM t")),
            "{name}"
        );
        // Order is kept, whichever worker encoded which piece.
        assert_eq!(rows(&session, &format!("SELECT id FROM {read} LIMIT 3")).len(), 3);
    }
    let path = folder.path("q.json");
    session
        .query(&format!("COPY (SELECT id, word FROM t WHERE id < 3 ORDER BY id) TO '{path}'"))
        .expect("json");
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        "[\n  {\"id\": 1, \"word\": \"word, \\\"1\"},\n  {\"id\": 2, \"word\": \"word, \\\"2\"}\n]\n"
    );
    session.query(&format!("COPY (SELECT id FROM t WHERE id < 0) TO '{path}'")).expect("no rows");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "[\n]\n");
    // Only the files asked for are there.
    assert_eq!(folder.names().len(), 8);
}

#[test]
fn a_failed_copy_leaves_what_was_there() {
    let folder = Folder::new("failed");
    let session = session();
    let path = folder.path("x.csv");
    std::fs::write(&path, "old").expect("a file");
    assert_eq!(
        state(
            &session,
            &format!("COPY (SELECT 1 / (i - 5) AS x FROM generate_series(1, 9) AS t(i)) TO '{path}'")
        ),
        SqlState::DivisionByZero
    );
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "old");
    assert_eq!(
        state(&session, &format!("COPY (SELECT 1 AS a) TO '{path}' (SPEED 9)")),
        SqlState::InvalidParameterValue
    );
    assert_eq!(
        state(&session, "COPY (SELECT 1 AS a) TO '/nonexistent/folder/x.csv'"),
        SqlState::UndefinedFile
    );
    assert_eq!(folder.names(), ["x.csv"]);
}

#[test]
fn partitions_are_written_read_and_pruned() {
    let folder = Folder::new("partitions");
    let session = session();
    let path = folder.path("parts");
    let query = "SELECT i, i % 4 AS k, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN 'a/b' ELSE 'c=d' END AS s FROM generate_series(1, 1200) AS t(i)";
    session
        .query(&format!("COPY ({query}) TO '{path}' (FORMAT parquet, PARTITION_BY (k, s))"))
        .expect("parts");
    assert_eq!(folder.names(), ["parts"]);
    assert_eq!(
        state(&session, &format!("COPY ({query}) TO '{path}' (FORMAT parquet, PARTITION_BY (k))")),
        SqlState::IoError
    );
    let all = rows(&session, &format!("SELECT i, k, s FROM ({query}) q ORDER BY i"));
    let sorted = |sql: &str| {
        rows(&session, sql)
            .into_iter()
            .map(|row| row.into_iter().map(|v| v.as_i64().map_or(v, Value::I64)).collect())
            .collect::<Vec<Vec<Value>>>()
    };
    let wide: Vec<Vec<Value>> = all
        .iter()
        .map(|row| row.iter().map(|v| v.as_i64().map_or(v.clone(), Value::I64)).collect())
        .collect();
    for source in [path.clone(), format!("{path}/**/*.parquet"), format!("{path}/*/*/data_0.parquet")] {
        assert_eq!(sorted(&format!("SELECT i, k, s FROM '{source}' ORDER BY i")), wide, "{source}");
    }
    let plan = rows(
        &session,
        &format!("EXPLAIN ANALYZE SELECT count(*) FROM '{path}' WHERE k = 2 AND s = 'a/b' AND i > 600"),
    );
    let text: String =
        plan.iter().flat_map(|r| r[0].as_text().map(str::to_owned)).collect::<Vec<_>>().join("\n");
    assert!(text.contains("files skipped 11 of 12"), "{text}");
    session.query("SET file_skipping = off").expect("a setting");
    assert_eq!(
        rows(&session, &format!("SELECT count(*) FROM '{path}' WHERE k = 2 AND s = 'a/b' AND i > 600")),
        rows(&session, &format!("SELECT count(*) FROM ({query}) q WHERE k = 2 AND s = 'a/b' AND i > 600"))
    );
    // Without folders' names there are no such columns.
    assert_eq!(
        state(
            &session,
            &format!("SELECT k FROM read_parquet('{path}/**/*.parquet', hive_partitioning => false)")
        ),
        SqlState::UndefinedColumn
    );
    session
        .query(&format!("COPY ({query}) TO '{path}' (FORMAT csv, PARTITION_BY k, OVERWRITE)"))
        .expect("again");
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), [[Value::I64(1200)]]);
    assert_eq!(folder.names(), ["parts"]);
}

#[test]
fn files_that_differ_are_united_by_name() {
    let folder = Folder::new("union");
    let session = session();
    let (a, b, c) = (folder.path("a.parquet"), folder.path("b.csv"), folder.path("c.parquet"));
    session.query(&format!("COPY (SELECT 1 AS x, 'one' AS s) TO '{a}'")).expect("a");
    session
        .query(&format!("COPY (SELECT 'two' AS s, CAST(2.5 AS DOUBLE PRECISION) AS x, TRUE AS z) TO '{c}'"))
        .expect("c");
    std::fs::write(&b, "x\n7\n").expect("b");
    let query = format!("SELECT x, s, z FROM read_parquet(['{a}', '{c}'], union_by_name => true) ORDER BY x");
    assert_eq!(
        rows(&session, &query),
        [
            [Value::F64(1.0), Value::text("one"), Value::Null],
            [Value::F64(2.5), Value::text("two"), Value::Bool(true)]
        ]
    );
    assert_eq!(rows(&session, &query.replace("ORDER", "WHERE z ORDER")).len(), 1);
    assert_eq!(rows(&session, &query.replace("ORDER", "WHERE x > 2 ORDER")).len(), 1);
    assert_eq!(
        state(&session, &format!("SELECT * FROM read_parquet(['{a}', '{c}'])")),
        SqlState::DatatypeMismatch
    );
    assert_eq!(
        rows(&session, &format!("SELECT filename, x FROM read_csv('{b}', filename => true)")),
        [[Value::text(&b), Value::I64(7)]]
    );
}

#[test]
fn switches_and_runtime_filters_keep_answers() {
    let folder = Folder::new("switches");
    let session = session();
    let (big, small) = (folder.path("big.parquet"), folder.path("small.parquet"));
    session.query(&format!("COPY ({ROWS}) TO '{big}' (ROW_GROUP_SIZE 20000)")).expect("big");
    session
        .query(&format!("COPY (SELECT id, word FROM '{big}' WHERE id BETWEEN 70000 AND 70100) TO '{small}'"))
        .expect("small");
    let queries = [
        format!(
            "SELECT count(*), sum(b.part), max(b.word) FROM '{big}' b, '{small}' s WHERE b.id = s.id AND s.word IS NOT NULL"
        ),
        format!(
            "SELECT count(*), min(word) FROM '{big}' WHERE id IN (5, 30000, 199999) OR day = DATE '2024-02-01' AND id < 500"
        ),
        format!("SELECT count(*) FROM '{big}' WHERE word IS NULL AND id > 150000"),
        format!("SELECT count(*), max(price) FROM '{big}' WHERE word LIKE 'word, \"1999%' AND part = 1"),
    ];
    for query in queries {
        let expected = rows(&session, &query);
        for switch in ["file_skipping", "late_fetch", "runtime_filters"] {
            session.query(&format!("SET {switch} = off")).expect(switch);
            assert_eq!(rows(&session, &query), expected, "{switch}: {query}");
            session.query(&format!("SET {switch} = on")).expect(switch);
        }
    }
    let plan = rows(
        &session,
        &format!("EXPLAIN ANALYZE SELECT count(*) FROM '{big}' b, '{small}' s WHERE b.id = s.id"),
    );
    let text: String =
        plan.iter().flat_map(|r| r[0].as_text().map(str::to_owned)).collect::<Vec<_>>().join("\n");
    assert!(text.contains("row groups skipped 9 of 10"), "{text}");
}

/// A view of a file that a query uses twice is computed once, as a view of a table is.
#[test]
fn what_is_asked_twice_of_a_file_is_read_once() {
    let folder = Folder::new("twice");
    let session = session();
    for name in ["t.parquet", "t.csv", "t.json"] {
        let path = folder.path(name);
        session
            .query(&format!("COPY (SELECT i AS k, i % 500 AS g FROM range(20000) AS r(i)) TO '{path}'"))
            .expect(name);
        let sums = format!("WITH sums AS (SELECT g, sum(k) AS total FROM '{path}' WHERE k > 10 GROUP BY g)");
        let query = format!(
            "{sums} SELECT CAST(total AS BIGINT) FROM sums WHERE total = (SELECT max(total) FROM sums)"
        );
        assert_eq!(rows(&session, &query), [[Value::I64(409_960)]], "{name}");
        let scans = |session: &Session| {
            let plan = rows(session, &format!("EXPLAIN {query}"));
            plan.iter().filter(|row| row[0].as_text().is_some_and(|line| line.contains("FileScan"))).count()
        };
        assert_eq!(scans(&session), 1, "{name}");
        session.query("SET common_subplans = off").expect("a switch");
        assert_eq!(scans(&session), 2, "{name}");
        assert_eq!(rows(&session, &query).len(), 1, "{name}");
        session.query("SET common_subplans = on").expect("a switch");
    }
}

/// A common table expression that is named twice runs once where that costs less, and is written out where predicates
/// make its copies smaller, or where it costs next to nothing.
#[test]
fn what_is_dear_and_named_twice_runs_once() {
    let session = session();
    session
        .query("CREATE TABLE t AS SELECT i AS k, i % 500 AS g, 'text ' || i AS s FROM range(20000) AS r(i)")
        .expect("a table");
    let scans = |query: &str| {
        let plan = rows(&session, &format!("EXPLAIN {query}"));
        plan.iter().filter(|row| row[0].as_text().is_some_and(|line| line.contains("TableScan t"))).count()
    };
    let dear = [
        ("a window", "SELECT k, row_number() OVER (PARTITION BY g ORDER BY s) AS n FROM t"),
        ("the first rows", "SELECT k, k % 7 AS n FROM t ORDER BY s LIMIT 50"),
        ("a function", "SELECT k, length(regexp_replace(md5(s), '[a-f]', '', 'g')) AS n FROM t"),
    ];
    for (name, query) in dear {
        let twice = format!("WITH q AS ({query}) SELECT count(*), sum(a.n) FROM q a JOIN q b ON a.k = b.k");
        assert_eq!(scans(&twice), 1, "{name}");
        let once = rows(&session, &twice);
        session.query("SET common_subplans = off").expect("a switch");
        assert_eq!(scans(&twice), 2, "{name}");
        assert_eq!(rows(&session, &twice), once, "{name}");
        session.query("SET common_subplans = on").expect("a switch");
    }
    // The ranks of one aggregation are read twice as they are, and once with a mean beside them: the rows are grouped once.
    let ranks = "WITH v AS (SELECT g, count(*) AS c, rank() OVER (PARTITION BY g % 10 ORDER BY g) AS r, \
                 avg(count(*)) OVER (PARTITION BY g % 10) AS a FROM t GROUP BY g) \
                 SELECT x.g, x.a, y.c, z.c FROM v x, v y, v z WHERE x.g % 10 = y.g % 10 AND x.g % 10 = z.g % 10 \
                 AND x.r = y.r + 1 AND x.r = z.r - 1 AND x.a > 0 ORDER BY x.g";
    assert_eq!(scans(ranks), 1, "an aggregation that occurs more often than what holds it");
    let once = rows(&session, ranks);
    session.query("SET common_subplans = off").expect("a switch");
    assert_eq!(rows(&session, ranks), once);
    session.query("SET common_subplans = on").expect("a switch");
    // Each copy reads few rows of the table; a plain copy costs as much as what is kept.
    let function = dear[2].1;
    let few = format!(
        "WITH q AS ({function}) SELECT a.n, b.n FROM q a, q b WHERE a.k = 7 AND b.k BETWEEN 10 AND 12"
    );
    assert_eq!(scans(&few), 2, "predicates reach the copies");
    let plain = "WITH q AS (SELECT k, g FROM t) SELECT count(*) FROM q a JOIN q b ON a.k = b.g";
    assert_eq!(scans(plain), 2, "a plain table");
}

/// Damage to compressed text: rows or an error, and soon.
#[test]
fn damaged_compressed_text_is_endured() {
    let folder = Folder::new("damaged");
    let session = session();
    for name in ["x.csv.gz", "x.csv.zst"] {
        let path = folder.path(name);
        session
            .query(&format!("COPY (SELECT i, i * 7 AS j FROM generate_series(1, 3000) AS t(i)) TO '{path}'"))
            .expect(name);
        let sound = std::fs::read(&path).expect("the file");
        for step in 0..60 {
            let mut bytes = sound.clone();
            let at = step * bytes.len() / 60;
            match step % 3 {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 0x55,
                _ => drop(bytes.drain(at..(at + 5).min(sound.len()))),
            }
            std::fs::write(&path, bytes).expect("a file");
            if let Err(error) = session.query(&format!("SELECT count(*), sum(j) FROM '{path}'")) {
                assert_ne!(error.state().code(), "XX000", "{error}");
            }
        }
    }
}
