//! Tables of Delta Lake.

use conformance::asked::{columns, error, rows};
use conformance::folder::Folder;
use types::SqlState;

use crate::{session, table};

fn scan(name: &str) -> String {
    format!("delta_scan('{}')", table(&format!("delta/{name}")))
}

#[test]
fn every_type_of_a_table() {
    let session = session();
    let scan = scan("every_type");
    assert_eq!(
        columns(&session, &format!("SELECT * FROM {scan}")),
        "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INTEGER, i64 BIGINT, f32 REAL, f64 DOUBLE PRECISION, d9 DECIMAL(9,2), \
         d38 DECIMAL(38,2), s TEXT, bin BYTEA, day DATE, ts TIMESTAMPTZ, ntz TIMESTAMP, list BIGINT[], \
         map MAP(TEXT, INTEGER), st STRUCT(x INTEGER, y TEXT[]), p_s TEXT, p_i INTEGER, p_d DATE, \
         p_ts TIMESTAMPTZ, added TEXT"
    );
    session.query("SET TimeZone = 'UTC'").unwrap();
    let all = rows(&session, &format!("SELECT * EXCLUDE (s, map) FROM {scan} ORDER BY i64, added"));
    assert_eq!(all.len(), 8);
    assert_eq!(
        all[0],
        "false|-128|-32768|-2147483648|-9223372036854775808|-Infinity|1e+300|-9.99|NULL|\\x|0001-01-01|\
         2024-02-29 12:30:15.123456+00|2024-02-29 12:30:15.123456|[]|{'x': NULL, 'y': NULL}|ä|2|2024-02-29|\
         2024-02-29 12:30:15.123456+00|new"
    );
    assert_eq!(all[7].replace("NULL", ""), "|".repeat(19));
    let text = format!("SELECT s, map, p_s FROM {scan} WHERE added IS NULL ORDER BY i64");
    assert_eq!(
        rows(&session, &text),
        ["|{}|ä", "ä|{k=1}|a b/c=d%", "a'b\"c\n|{a=NULL, b=2}|a b/c=d%", "NULL|NULL|NULL"]
    );
    // Bounds by which files are passed over do not lose rows: NaN is greater than all.
    for (condition, count) in [
        ("f64 > 1e301", 2),
        ("f32 < 0", 2),
        ("i64 = 9223372036854775807", 2),
        ("ts = '2024-02-29 12:30:15.123456+00'", 6),
        ("p_ts = '2024-02-29 12:30:15.123456+00'", 6),
        ("p_i IS NULL", 2),
        ("p_s = 'ä' AND p_d = '2024-02-29'", 2),
        ("day > '9000-01-01'", 2),
        ("d38 > 1000", 2),
        ("s = ''", 2),
        ("added IS NULL", 4),
        ("i32 IS NULL", 2),
    ] {
        let counted = rows(&session, &format!("SELECT count(*) FROM {scan} WHERE {condition}"));
        assert_eq!(counted, [count.to_string()], "{condition}");
    }
}

#[test]
fn versions_and_times() {
    let session = session();
    let path = table("delta/versions");
    let sums = |options: &str| {
        rows(
            &session,
            &format!(
                "SELECT count(*), sum(n), count(*) FILTER (t = 'changed') FROM delta_scan('{path}'{options})"
            ),
        )
    };
    assert_eq!(sums(""), ["25|1636|1"]);
    assert_eq!(sums(", version => 8"), ["25|1636|1"]);
    assert_eq!(sums(", version => 7"), ["24|636|1"]);
    assert_eq!(sums(", version => 6"), ["24|636|0"]);
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), ["25"]);
    // Version 5 is in the log still, what it stands on is not.
    let lost = error(&session, &format!("FROM delta_scan('{path}', version => 5)"));
    assert_eq!(lost.state(), SqlState::DataCorrupted);
    assert!(lost.message().contains("version 0 is missing"), "{lost}");
    let none = error(&session, &format!("FROM delta_scan('{path}', version => 9)"));
    assert!(none.hint().is_some_and(|hint| hint.contains("latest version is 8")), "{none:?}");
    let listed = rows(&session, &format!("SELECT version, operation FROM delta_history('{path}')"));
    assert_eq!(listed, ["8|WRITE", "7|UPDATE", "6|DELETE", "5|WRITE"]);
    // Times that commits state themselves.
    let at = |time: &str| {
        format!(
            "SELECT count(*) FROM delta_scan('{}', timestamp => '2023-11-14 22:{time}+00')",
            table("delta/widened")
        )
    };
    assert_eq!(rows(&session, &at("13:20")), ["2"]);
    assert_eq!(rows(&session, &at("14:59.999")), ["2"]);
    assert_eq!(rows(&session, &at("15:00")), ["3"]);
    assert!(error(&session, &at("13:19.999")).message().contains("no commit as old as that"));
}

#[test]
fn rows_that_are_deleted() {
    let session = session();
    let scan = scan("deletion_vectors");
    assert_eq!(rows(&session, &format!("SELECT count(*), sum(n) FROM {scan}")), ["2496|3622152"]);
    let text = format!(
        "SELECT count(*) FROM {scan} WHERE n IN (0, 299, 300, 999, 1, 7, 298, 301, 1499, 1500, 1999)"
    );
    assert_eq!(rows(&session, &text), ["5"]);
    // Columns that are fetched late, for rows far from each other.
    let text = format!("SELECT s FROM {scan} WHERE n % 997 = 3 ORDER BY n");
    assert_eq!(rows(&session, &text), ["r3", "r0", "r994"]);
    let text = format!("SELECT max(s) FROM {scan} WHERE n % 500 = 7 AND s LIKE 'r%'");
    assert_eq!(rows(&session, &text), ["r7"]);
    let before = scan.replace(')', ", version => 1)");
    assert_eq!(rows(&session, &format!("SELECT count(*), min(n) FROM {before} WHERE n < 1000")), ["999|0"]);
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM {before} WHERE n = 7")), ["0"]);
}

#[test]
fn columns_go_by_other_names_in_files() {
    let session = session();
    // DuckDB 1.5.5 finds columns by name alone, and partition values by the names that queries use.
    for mode in ["name", "id"] {
        let scan = scan(&format!("mapping_by_{mode}"));
        assert_eq!(
            columns(&session, &format!("SELECT * FROM {scan}")),
            "st STRUCT(\"renamed y\" TEXT, x INTEGER, later DATE), renamed a INTEGER, added TEXT, p TEXT"
        );
        assert_eq!(
            rows(
                &session,
                &format!(
                    "SELECT st.x, st.\"renamed y\", st.later, * EXCLUDE st FROM {scan} WHERE \"renamed a\" < 3"
                )
            ),
            ["0|y0|NULL|1|NULL|part", "1|y1|NULL|2|NULL|part"],
            "{mode}"
        );
        let text =
            format!("SELECT count(*) FROM {scan} WHERE p = 'part' AND added IS NULL AND st.later IS NULL");
        assert_eq!(rows(&session, &text), ["3"]);
    }
    assert_eq!(
        rows(&session, &format!("SELECT * FROM {} ORDER BY n", scan("widened"))),
        [
            "1|2024-01-01 00:00:00|1.500",
            "2|2024-01-01 00:00:00|1.500",
            "3000000000|2024-01-02 03:00:00|12345678901234567890.125"
        ]
    );
}

#[test]
fn every_kind_of_checkpoint() {
    let session = session();
    for name in ["checkpoint_in_parts", "checkpoint_v2_json", "checkpoint_v2_parquet"] {
        let text = format!("SELECT p, n FROM {} ORDER BY n", scan(name));
        assert_eq!(rows(&session, &text), ["x|0", "x|1", "x|2", "x|3", "y|100", "y|102", "y|103"], "{name}");
    }
}

#[test]
fn files_are_passed_over_before_they_are_opened() {
    let session = session();
    let skipped = |text: &str| {
        let plan = rows(&session, &format!("EXPLAIN ANALYZE {text}")).join("\n");
        let line = plan.lines().find(|line| line.contains("files")).unwrap_or_default();
        line.to_owned()
    };
    let scan = scan("deletion_vectors");
    let by_bounds = skipped(&format!("SELECT * FROM {scan} WHERE n >= 2000"));
    assert!(by_bounds.contains("files skipped 2 of 3"), "{by_bounds}");
    let text = format!("SELECT count(*) FROM {scan} JOIN (VALUES (1002), (1003)) v(k) ON n = k");
    assert_eq!(rows(&session, &text), ["2"]);
    let by_join = skipped(&text);
    assert!(by_join.contains("files skipped 2 of 3"), "{by_join}");
    let parts = super::table("delta/checkpoint_in_parts");
    let by_partition = skipped(&format!("SELECT * FROM delta_scan('{parts}') WHERE p = 'y'"));
    assert!(by_partition.contains("files skipped 4 of 7"), "{by_partition}");
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let session = session();
    let refused = error(&session, &format!("SELECT * FROM {}", scan("refused")));
    assert_eq!(refused.state(), SqlState::FeatureNotSupported);
    assert!(refused.message().contains("uses catalogManaged, someNewThing, which"), "{refused}");
    let folder = Folder::new("no_lake");
    let none = error(&session, &format!("FROM delta_scan('{}')", folder.path("")));
    assert_eq!(none.state(), SqlState::UndefinedFile);
    for (options, part) in [
        ("versoin => 1", "\"versoin\" is not known"),
        ("version => 'x'", "takes a number"),
        ("timestamp => 'x'", "takes a time"),
        ("version => 1, timestamp => '2024-01-01'", "both say which state"),
        ("version => 1, version => 2", "more than once"),
        ("version => -1", "no version -1"),
    ] {
        let wrong = error(&session, &format!("FROM delta_scan('{}', {options})", table("delta/versions")));
        assert!(wrong.message().contains(part), "{options}: {wrong}");
    }
    let wrong = error(&session, "FROM delta_history()");
    assert!(wrong.message().contains("takes a"), "{wrong}");
}

#[test]
fn tables_are_relations_as_any_other() {
    let session = session();
    let scan = scan("versions");
    session.query(&format!("CREATE VIEW v AS FROM {scan}")).unwrap();
    assert_eq!(rows(&session, "SELECT count(*) FROM v a JOIN v b USING (n)"), ["25"]);
    assert_eq!(rows(&session, "SELECT column_name FROM (DESCRIBE v)"), ["n", "t"]);
    session.query(&format!("CREATE TABLE t AS FROM {scan}")).unwrap();
    assert_eq!(rows(&session, "SELECT sum(n) FROM t"), ["1636"]);
    session.query("CREATE TABLE u (n BIGINT, t TEXT)").unwrap();
    for text in
        ["COPY u FROM '{}'", "COPY u FROM '{}' (FORMAT delta)", "COPY u FROM '{}' (FORMAT delta, version 7)"]
    {
        session.query(&text.replace("{}", &table("delta/versions"))).unwrap();
    }
    assert_eq!(rows(&session, "SELECT count(*) FROM u"), ["74"]);
    // Two versions have the same files, with other rows.
    let path = table("delta/deletion_vectors");
    let both = "SELECT (SELECT sum(n) FROM delta_scan('{}', version => 0)) - (SELECT sum(n) FROM delta_scan('{}')), \
                (SELECT sum(n) FROM delta_scan('{}', version => 1))";
    assert_eq!(rows(&session, &both.replace("{}", &path)), ["876348|4498493"]);
    let prepared = format!("SELECT count(*) FROM {scan} TABLESAMPLE (100 PERCENT) WHERE n = 1000");
    assert_eq!(rows(&session, &prepared), ["1"]);
}

#[test]
fn rows_are_added_to_a_table() {
    let (session, folder) = (session(), Folder::new("append"));
    session.query("SET TimeZone = 'UTC'").unwrap();
    let path = folder.path("made");
    let columns_of = "i AS n, 'text ' || i AS s, CAST(i AS DECIMAL(20, 2)) AS d, DATE '2024-01-01' + CAST(i AS INTEGER) AS day, \
                      TIMESTAMPTZ '2024-01-01 00:00:00+00' AS at, [i, NULL] AS list, {'x': i, 'y': 'z'} AS st";
    let copy = |from: i64, to: i64| {
        format!(
            "COPY (SELECT {columns_of} FROM generate_series({from}, {to}) g(i)) TO '{path}' (FORMAT delta)"
        )
    };
    for (from, to) in [(1, 1000), (1001, 1500), (2000, 2000)] {
        session.query(&copy(from, to)).unwrap();
    }
    let scan = format!("delta_scan('{path}')");
    assert_eq!(
        rows(&session, &format!("SELECT count(*), sum(n), max(day), sum(st.x) FROM {scan}")),
        ["1501|1127750|2029-06-23|1127750"]
    );
    assert_eq!(
        rows(&session, &format!("SELECT count(*) FROM {}", scan.replace(')', ", version => 0)"))),
        ["1000"]
    );
    assert_eq!(
        rows(&session, &format!("SELECT * FROM {scan} WHERE n = 2000")),
        ["2000|text 2000|2000.00|2029-06-23|2024-01-01 00:00:00+00|[2000, NULL]|{'x': 2000, 'y': z}"]
    );
    let plan = rows(&session, &format!("EXPLAIN ANALYZE SELECT * FROM {scan} WHERE n > 1990")).join("\n");
    assert!(plan.contains("files skipped 2 of 3"), "{plan}");
    let listed = rows(&session, &format!("SELECT version, operation FROM delta_history('{path}')"));
    assert_eq!(listed, ["2|WRITE", "1|WRITE", "0|WRITE"]);
    // No rows are no commit, and what is refused leaves no file.
    session.query(&copy(1, 0)).unwrap();
    let files = || std::fs::read_dir(&path).unwrap().count();
    assert_eq!(files(), 4);
    for (query, part) in [
        ("SELECT 1 AS n", "no such column"),
        ("SELECT CAST(1 AS BIGINT) AS n", "the rows have BIGINT"),
        (&format!("SELECT *, 1 AS more FROM {scan}"), "no column \"more\""),
        (&format!("SELECT * REPLACE (n / (n - 2000) AS n) FROM {scan}"), ""),
    ] {
        let wrong = error(&session, &format!("COPY ({query}) TO '{path}' (FORMAT delta)"));
        assert!(wrong.message().contains(part), "{query}: {wrong}");
        assert_eq!(files(), 4, "{query}");
    }
    let parts = table("delta/checkpoint_in_parts");
    for (target, query, part) in [
        (parts, "SELECT CAST(1 AS BIGINT) AS n, 'x' AS p", "has partitions"),
        (table("delta/mapping_by_name"), "SELECT 1 AS a", "has column mapping"),
        (table("delta/widened"), "SELECT 1 AS a", "has inCommitTimestamp"),
        (folder.path("other"), "SELECT CAST(1 AS UBIGINT) AS n", "which Delta tables do not have"),
        ("s3://bucket/table".to_owned(), "SELECT 1 AS n", "in stores are not written"),
    ] {
        let wrong = error(&session, &format!("COPY ({query}) TO '{target}' (FORMAT delta)"));
        assert!(wrong.message().contains(part), "{target}: {wrong}");
    }
    let foreign = folder.write("full/x", "x").replace("/x", "");
    let wrong = error(&session, &format!("COPY (SELECT 1 AS n) TO '{foreign}' (FORMAT delta)"));
    assert!(wrong.message().contains("no Delta table"), "{wrong}");
}

#[test]
fn writers_at_once_take_turns() {
    let folder = Folder::new("append_at_once");
    let path = folder.path("made");
    session().query(&format!("COPY (SELECT 0 AS n) TO '{path}' (FORMAT delta)")).unwrap();
    std::thread::scope(|scope| {
        for writer in 1..=4 {
            let path = &path;
            scope.spawn(move || {
                let session = session();
                for _ in 0..5 {
                    session
                        .query(&format!("COPY (SELECT {writer} AS n) TO '{path}' (FORMAT delta)"))
                        .unwrap();
                }
            });
        }
    });
    let session = session();
    assert_eq!(rows(&session, &format!("SELECT count(*), sum(n) FROM delta_scan('{path}')")), ["21|50"]);
    assert_eq!(rows(&session, &format!("SELECT max(version) FROM delta_history('{path}')")), ["20"]);
}
