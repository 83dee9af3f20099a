//! Tables of Iceberg.

use conformance::asked::{columns, error, rows};
use types::SqlState;

use crate::{session, table};

/// The tables were written elsewhere than where they lie now.
fn scan(name: &str) -> String {
    format!("iceberg_scan('{}')", table(&format!("iceberg/{name}")))
}

#[test]
fn every_type_of_a_table() {
    let session = session();
    session.query("SET TimeZone = 'UTC'").unwrap();
    let scan = scan("every_type");
    assert_eq!(
        columns(&session, &format!("SELECT * FROM {scan}")),
        "b BOOLEAN, i INTEGER, l BIGINT, f REAL, d DOUBLE PRECISION, dec DECIMAL(30,2), day DATE, t TIME, ts TIMESTAMP, \
         tz TIMESTAMPTZ, s TEXT, u UUID, fix BYTEA, bin BYTEA, list BIGINT[], map MAP(TEXT, INTEGER), \
         st STRUCT(x INTEGER, y TEXT)"
    );
    assert_eq!(
        rows(&session, &format!("SELECT * FROM {scan} ORDER BY l")),
        [
            "true|1|1|1.5|1.5|1.25|2024-02-29|12:30:15.000005|2024-02-29 12:30:15.123456|\
             2024-02-29 12:30:15.123456+00|ä|00000000-0000-0000-0000-000000000001|\\x616263|\\xff|[1, NULL]|{k=1}|\
             {'x': 1, 'y': p}",
            "false|-2147483648|9223372036854775807|NaN|-Infinity|-1234567890123456789012345678.99|0001-01-01|00:00:00|\
             2024-02-29 12:30:15.123456|2024-02-29 12:30:15.123456+00||00000000-0000-0000-0000-000000000002|\
             \\x000000|\\x|[]|{}|{'x': NULL, 'y': NULL}",
            &["NULL"; 17].join("|"),
        ]
    );
    for (condition, count) in [
        ("f > 1e30", 1),
        ("d < -1e300", 1),
        ("dec < -1e27", 1),
        ("ts = '2024-02-29 12:30:15.123456'", 2),
        ("u = '00000000-0000-0000-0000-000000000002'", 1),
        ("s = ''", 1),
        ("b IS NULL", 1),
    ] {
        let counted = rows(&session, &format!("SELECT count(*) FROM {scan} WHERE {condition}"));
        assert_eq!(counted, [count.to_string()], "{condition}");
    }
}

#[test]
fn columns_and_partitions_that_changed() {
    let session = session();
    let scan = scan("evolved");
    assert_eq!(
        columns(&session, &format!("SELECT * FROM {scan}")),
        "name TEXT, number BIGINT, st STRUCT(x INTEGER, why TEXT, z DATE), gone TEXT"
    );
    assert_eq!(
        rows(&session, &format!("SELECT name, number, st.x, st.why, st.z, gone FROM {scan} ORDER BY number")),
        ["a|1|0|y0|NULL|NULL", "NULL|3|2|y2|NULL|NULL", "c|3000000000|9|w|2024-01-01|back"]
    );
    assert_eq!(rows(&session, &format!("SELECT number FROM {scan} WHERE name IS NULL")), ["3"]);
    assert_eq!(
        rows(&session, &format!("SELECT number FROM {scan} WHERE number > 2999999999")),
        ["3000000000"]
    );
    // An earlier snapshot has the columns that the table had then.
    let path = table("iceberg/evolved");
    let first = rows(
        &session,
        &format!("SELECT snapshot_id FROM iceberg_snapshots('{path}') ORDER BY sequence_number LIMIT 1"),
    );
    let earlier = format!("iceberg_scan('{path}', snapshot_id => {})", first[0]);
    assert_eq!(
        columns(&session, &format!("SELECT * FROM {earlier}")),
        "id INTEGER, name TEXT, gone BIGINT, st STRUCT(x INTEGER, y TEXT)"
    );
    assert_eq!(
        rows(&session, &format!("SELECT id, name, gone, st.y FROM {earlier} ORDER BY id")),
        ["1|a|7|y0", "2|b|7|y1", "3|NULL|7|y2"]
    );
    // At the time of the second snapshot, and a millisecond before.
    for (less, count) in [(0, "4"), (1, "3")] {
        let text = format!(
            "SELECT CAST(timestamp_ms - INTERVAL '{less} ms' AS TEXT) || '+00' FROM iceberg_snapshots('{path}') \
             ORDER BY sequence_number LIMIT 1 OFFSET 1"
        );
        let time = rows(&session, &text).concat();
        let text = format!("SELECT count(*) FROM iceberg_scan('{path}', timestamp => '{time}')");
        assert_eq!(rows(&session, &text), [count], "{text}");
    }
    let none = error(&session, &format!("FROM iceberg_scan('{path}', timestamp => '2000-01-01')"));
    assert!(none.message().contains("no snapshot as old as that"), "{none}");
}

#[test]
fn partitions_of_every_kind() {
    let session = session();
    let scan = scan("parted");
    let all = rows(&session, &format!("SELECT * FROM {scan} ORDER BY k"));
    assert_eq!(all.len(), 6);
    assert_eq!(all[4], "2024-01-02 04:00:00|4|a4");
    assert_eq!(
        rows(&session, &format!("SELECT k FROM {scan} WHERE at >= '2024-01-03' ORDER BY k")),
        ["2", "5"]
    );
    let plan =
        rows(&session, &format!("EXPLAIN ANALYZE SELECT k FROM {scan} WHERE at >= '2024-01-03'")).join("\n");
    assert!(plan.contains("files skipped 4 of 6"), "{plan}");
}

#[test]
fn rows_that_are_deleted() {
    let session = session();
    let scan = scan("deletes");
    // Values deleted in one partition stay in the others, as the specification has it; DuckDB 1.5.5 deletes 7 as well.
    assert_eq!(
        rows(&session, &format!("SELECT * FROM {scan} ORDER BY id")),
        ["2|x|2", "3|x|0", "5|y|2", "7|y|1", "8|y|2", "9|y|0", "102|x|2", "103|x|0", "200|x|1"]
    );
    // Columns by which rows are deleted need not be asked for.
    assert_eq!(rows(&session, &format!("SELECT count(*), sum(id) FROM {scan}")), ["9|439"]);
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM {scan} WHERE p = 'x'")), ["5"]);
    let path = table("iceberg/deletes");
    assert_eq!(
        rows(
            &session,
            &format!(
                "SELECT content, count(*), sum(record_count) FROM iceberg_metadata('{path}') GROUP BY 1 ORDER BY 1"
            )
        ),
        ["EQUALITY_DELETES|1|2", "EXISTING|4|15", "POSITION_DELETES|2|3"]
    );
}

#[test]
fn what_is_wrong_is_said() {
    let session = session();
    let path = table("iceberg/deletes");
    let moved = error(&session, &format!("FROM iceberg_scan('{path}', allow_moved_paths => false)"));
    assert_eq!(moved.state(), SqlState::UndefinedFile);
    assert!(moved.message().contains("/lakes-warehouse/deletes/metadata/"), "{moved:?}");
    let none = error(&session, &format!("FROM iceberg_scan('{}')", table("delta/versions")));
    assert!(none.message().contains("no Iceberg table"), "{none}");
    for (options, part) in [
        ("snapshot_id => 1", "no snapshot 1"),
        ("snapshot_id => 1, timestamp => '2024-01-01'", "both say which state"),
        ("metadata => 'v9.metadata.json'", "no file of metadata"),
        ("version => '77'", "no metadata of version 77"),
        ("allow_moved_paths => 1", "takes true or false"),
        ("mode => 'x'", "\"mode\" is not known"),
    ] {
        let wrong = error(&session, &format!("FROM iceberg_scan('{path}', {options})"));
        assert!(wrong.message().contains(part), "{options}: {wrong}");
    }
}
