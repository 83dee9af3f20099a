//! Files that are read together, and folders that are written into: rows go by columns' names, and nothing that a
//! statement does not name is lost.

use std::fs;

use conformance::asked::rows;
use conformance::folder::Folder;
use engine::{Database, Options, Session};

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

fn error(session: &Session, sql: &str) -> String {
    let error = session.query(sql).map(|_| ()).expect_err(sql);
    format!("{error} {}", error.hint().unwrap_or_default())
}

#[test]
fn csv_files_of_a_list_are_read_by_name() {
    let (folder, session) = (Folder::new("csv"), session());
    let all = format!("SELECT a, b FROM '{}' ORDER BY a", folder.path("*.csv"));
    folder.write("1.csv", "a,b\n1,10\n");
    for same in ["b,a\n20,2\n", "a,b\n2,20\n", "A, B\n2,20\n", "\u{feff}a,b\n2,20\n", "\"a\",\"b\"\n2,20\n"] {
        folder.write("2.csv", same);
        assert_eq!(rows(&session, &all), ["1|10", "2|20"], "{same}");
    }
    for (other, shown) in [
        ("2,20\n3,30\n", "\"2\", \"20\""),
        ("x,y\n2,20\n", "\"x\", \"y\""),
        ("a,b,c\n2,20,7\n", "\"c\""),
        ("a\n2\n", "begins with \"a\","),
    ] {
        folder.write("2.csv", other);
        let message = error(&session, &all);
        assert!(message.contains("2.csv") && message.contains("1.csv"), "{message}");
        assert!(message.contains(shown) && message.contains("union_by_name => true"), "{message}");
    }
    // As the error says.
    folder.write("2.csv", "b,c\n20,7\n");
    let united =
        format!("SELECT a, b, c FROM read_csv('{}', union_by_name => true) ORDER BY b", folder.path("*.csv"));
    assert_eq!(rows(&session, &united), ["1|10|NULL", "NULL|20|7"]);
    // A header that only a later file has.
    folder.write("1.csv", "1,10\n3,30\n");
    folder.write("2.csv", "a,b\n2,20\n");
    let message = error(&session, &format!("SELECT * FROM '{}'", folder.path("*.csv")));
    assert!(message.contains("begins with a header"), "{message}");
    // Folders that say a column.
    folder.write("y=1/f.csv", "a,b\n1,10\n");
    folder.write("y=2/f.csv", "b,a\n20,2\n");
    let hive = format!("SELECT y, a, b FROM '{}' ORDER BY y", folder.path("y=*/*.csv"));
    assert_eq!(rows(&session, &hive), ["1|1|10", "2|2|20"]);
}

/// Folders may say different names, and a name that a file has as a column: each file's own values count, and of the
/// files without the column the folders'.
#[test]
fn folders_name_columns_of_files_united_by_name() {
    let (folder, session) = (Folder::new("united"), session());
    let read = |more: &str, columns: &str| {
        let sql = format!(
            "SELECT {columns} FROM read_csv('{}', union_by_name => true{more}) ORDER BY a",
            folder.path("**/*.csv")
        );
        rows(&session, &sql)
    };
    folder.write("y=2023/m=1/f.csv", "a,b\n1,10\n");
    folder.write("y=2024/f.csv", "b,a\n20,2\n");
    folder.write("n=x/y=2025/f.csv", "a\n3\n");
    assert_eq!(read("", "a, b, y, m, n"), ["1|10|2023|1|NULL", "2|20|2024|NULL|NULL", "3|NULL|2025|NULL|x"]);
    assert_eq!(read("", "y + 1"), ["2024", "2025", "2026"]);
    assert_eq!(
        read(", hive_types => {'y': 'TEXT', 'm': 'SMALLINT'}", "a, y || '!', m"),
        ["1|2023!|1", "2|2024!|NULL", "3|2025!|NULL"]
    );
    assert_eq!(read(", hive_types_autocast => false", "y || '!'"), ["2023!", "2024!", "2025!"]);
    // A file's own column.
    folder.write("n=x/y=2025/f.csv", "a,y\n3,7\n");
    assert_eq!(read("", "a, y"), ["1|2023", "2|2024", "3|7"]);
    folder.write("n=x/y=2025/f.csv", "a,y\n3,1.5\n");
    assert_eq!(read("", "a, y"), ["1|2023", "2|2024", "3|1.5"]);
    folder.write("n=x/y=2025/f.csv", "a,y\n3,seven\n");
    assert_eq!(read("", "a, y"), ["1|2023", "2|2024", "3|seven"]);
    // Files in which no row passes are left out by what their folders say.
    let counted = format!(
        "SELECT count(*) FROM read_csv('{}', union_by_name => true) WHERE m = 1",
        folder.path("**/*.csv")
    );
    assert_eq!(rows(&session, &counted), ["1"]);
    let without = format!(
        "SELECT m FROM read_csv('{}', union_by_name => true, hive_partitioning => false)",
        folder.path("**/*.csv")
    );
    assert!(error(&session, &without).contains("\"m\""));
    let apart =
        format!("SELECT * FROM read_csv('{}', hive_partitioning => true)", folder.path("y=*/**/*.csv"));
    let message = error(&session, &apart);
    assert!(message.contains("union_by_name"), "{message}");
    let wrong = format!(
        "SELECT * FROM read_csv('{}', union_by_name => true, hive_types => {{'n': 'INTEGER'}})",
        folder.path("**/*.csv")
    );
    let message = error(&session, &wrong);
    assert!(message.contains("say n = x") && message.contains("hive_types"), "{message}");
    // The same names in another order are the same.
    let other = Folder::new("order");
    other.write("p=1/q=2/f.csv", "a\n1\n");
    other.write("q=4/p=3/f.csv", "a\n2\n");
    let sql = format!("SELECT a, p, q FROM '{}' ORDER BY a", other.path("**/*.csv"));
    assert_eq!(rows(&session, &sql), ["1|1|2", "2|3|4"]);
}

/// What is united by name has a type that holds the values of all files, digit for digit.
#[test]
fn files_of_other_types_are_united() {
    let (folder, session) = (Folder::new("types"), session());
    for (first, second, shown) in [
        ("1.25::DECIMAL(5,2)", "1000.5::DECIMAL(8,1)", ["1.25", "1000.50"]),
        ("7::INTEGER", "1.25::DECIMAL(5,2)", ["7.00", "1.25"]),
        ("'x'::TEXT", "2.5::DOUBLE", ["x", "2.5"]),
        ("TRUE", "2.5::DOUBLE", ["true", "2.5"]),
        ("1.5::DECIMAL(30,10)", "2::DECIMAL(38,0)", ["1.5000000000", "2"]),
        (
            "DATE '2024-01-01'",
            "TIMESTAMP '2024-01-01 01:00:00'",
            ["2024-01-01 00:00:00", "2024-01-01 01:00:00"],
        ),
    ] {
        for (name, value) in [("1", first), ("2", second)] {
            let sql = format!("COPY (SELECT {value} AS v) TO '{}'", folder.path(&format!("{name}.parquet")));
            rows_of(&session, &sql);
        }
        let sql = format!(
            "SELECT v FROM read_parquet('{}', union_by_name => true, filename => true) ORDER BY filename",
            folder.path("*.parquet")
        );
        assert_eq!(rows(&session, &sql), shown, "{first}, {second}");
    }
}

fn rows_of(session: &Session, sql: &str) {
    session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Only some files are looked at before reading; the header of every other one is checked as it is read.
#[test]
fn no_file_of_many_loses_a_row_to_its_header() {
    let (folder, session) = (Folder::new("many"), session());
    for number in 100..140 {
        folder.write(&format!("{number}.csv"), "a,b\n1,2\n");
    }
    let sum = format!("SELECT sum(a), count(*) FROM '{}'", folder.path("*.csv"));
    assert_eq!(rows(&session, &sum), ["40|40"]);
    for last in ["b,a\n2,1\n", "7,8\n", "a,c\n1,2\n"] {
        folder.write("139.csv", last);
        let message = error(&session, &sum);
        assert!(message.contains("139.csv") && message.contains("union_by_name"), "{message}");
    }
    folder.write("139.csv", "b,a\n2,1\n");
    let named =
        format!("SELECT sum(a), count(*) FROM read_csv('{}', union_by_name => true)", folder.path("*.csv"));
    assert_eq!(rows(&session, &named), ["40|40"]);
}

#[test]
fn typed_files_in_another_order_are_read_by_name() {
    let (folder, session) = (Folder::new("typed"), session());
    for format in ["parquet", "arrow", "json", "ndjson"] {
        for (file, query) in [("1", "SELECT 1 AS a, 'x' AS b"), ("2", "SELECT 'y' AS b, 2 AS a")] {
            let path = folder.path(&format!("{file}.{format}"));
            session.query(&format!("COPY ({query}) TO '{path}'")).expect("written");
        }
        let all = format!("SELECT a, b FROM '{}' ORDER BY a", folder.path(&format!("?.{format}")));
        assert_eq!(rows(&session, &all), ["1|x", "2|y"], "{format}");
    }
    let path = folder.path("3.parquet");
    session.query(&format!("COPY (SELECT 3 AS a, 'z' AS c) TO '{path}'")).expect("written");
    let message = error(&session, &format!("SELECT * FROM '{}'", folder.path("?.parquet")));
    assert!(message.contains("union_by_name => true"), "{message}");
}

#[test]
fn overwriting_leaves_what_no_copy_wrote() {
    let (folder, session) = (Folder::new("overwrite"), session());
    let place = folder.path("out");
    let copy = |rows: &str, option: &str| {
        session
            .query(&format!("COPY ({rows}) TO '{place}' (FORMAT csv, PARTITION_BY (day){option})"))
            .map(|_| ())
    };
    let all = || rows(&session, &format!("SELECT day, x FROM '{place}' ORDER BY ALL"));
    folder.write("out/README.txt", "keep");
    assert!(copy("SELECT 1 AS day, 1 AS x", "").is_err(), "something is there");
    copy("SELECT 1 AS day, 1 AS x", ", OVERWRITE").expect("written");
    copy("SELECT 2 AS day, 2 AS x", ", APPEND true").expect("appended");
    copy("SELECT 2 AS day, 3 AS x", ", APPEND true").expect("appended");
    assert_eq!(all(), ["1|1", "2|2", "2|3"]);
    copy("SELECT 2 AS day, 4 AS x", ", OVERWRITE_OR_IGNORE true").expect("replaced");
    assert_eq!(all(), ["1|1", "2|4"], "the partitions that get rows");
    copy("SELECT 3 AS day, 5 AS x", ", OVERWRITE true").expect("replaced");
    assert_eq!(all(), ["3|5"]);
    assert_eq!(folder.files(), ["out/README.txt", "out/day=3/data_0.csv"]);
    // Data of another hand, in a folder that would be replaced, is no part of what COPY wrote.
    folder.write("out/day=3/part-0.csv", "x\n6\n");
    for option in [", OVERWRITE true", ", OVERWRITE_OR_IGNORE true"] {
        let refused = copy("SELECT 3 AS day, 7 AS x", option).expect_err("refused");
        assert!(refused.message().contains("part-0.csv"), "{refused}");
    }
    assert_eq!(all(), ["3|5", "3|6"]);
    // A failure leaves the old files as they were, and no new ones.
    assert!(copy("SELECT 3 AS day, 1 / (i - 5000) AS x FROM range(9000) t(i)", ", APPEND true").is_err());
    assert_eq!(folder.files(), ["out/README.txt", "out/day=3/data_0.csv", "out/day=3/part-0.csv"]);
    for (options, word) in [(", APPEND, OVERWRITE", "exclude"), (", APPENT", "append")] {
        let message = copy("SELECT 1 AS day, 1 AS x", options).expect_err("refused");
        assert!(format!("{message} {:?}", message.hint()).contains(word), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_not_replaced() {
    let (folder, session) = (Folder::new("links"), session());
    folder.write("far/kept.txt", "keep");
    std::os::unix::fs::symlink(folder.path("far/rows.csv"), folder.path("rows.csv")).expect("a link");
    std::os::unix::fs::symlink(folder.path("far"), folder.path("near")).expect("a link");
    session.query(&format!("COPY (SELECT 1 AS a) TO '{}'", folder.path("rows.csv"))).expect("written");
    assert!(fs::symlink_metadata(folder.path("rows.csv")).expect("there").is_symlink());
    assert_eq!(rows(&session, &format!("FROM '{}'", folder.path("far/rows.csv"))), ["1"]);
    let into = format!(
        "COPY (SELECT 1 AS d, 2 AS x) TO '{}' (FORMAT csv, PARTITION_BY d, OVERWRITE)",
        folder.path("near")
    );
    session.query(&into).expect("written");
    assert!(fs::symlink_metadata(folder.path("near")).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(folder.path("far/d=1/data_0.csv")).expect("written"), "x\n2\n");
    assert_eq!(fs::read_to_string(folder.path("far/kept.txt")).expect("kept"), "keep");
    // A partition that is a link leads to a place that the statement does not name.
    fs::rename(folder.path("far/d=1"), folder.path("away")).expect("moved");
    std::os::unix::fs::symlink(folder.path("away"), folder.path("far/d=1")).expect("a link");
    assert!(session.query(&into).is_err());
    assert_eq!(fs::read_to_string(folder.path("away/data_0.csv")).expect("kept"), "x\n2\n");
    session.query("COPY (SELECT 1 AS a) TO '/dev/null' (FORMAT csv)").expect("written");
}

/// Rows go to files while they are computed: a result much larger than the memory limit is written, in every format.
#[test]
fn results_larger_than_memory_are_written() {
    let folder = Folder::new("large");
    let options = Options { workers: Some(2), memory_bytes: Some(64 << 20), ..Default::default() };
    let session = Database::in_memory(options).expect("a database").session();
    let made = "SELECT i, i % 5 AS p, repeat('x', 200) || i AS s FROM range(600000) t(i)";
    for format in ["csv", "parquet", "arrow", "ndjson"] {
        let path = folder.path(&format!("large.{format}"));
        session.query(&format!("COPY ({made}) TO '{path}'")).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert_eq!(
            rows(&session, &format!("SELECT count(*), sum(i), max(length(s)) FROM '{path}'")),
            ["600000|179999700000|206"]
        );
    }
    let (from, to) = (folder.path("large.parquet"), folder.path("again.csv"));
    session.query(&format!("COPY (SELECT * FROM '{from}') TO '{to}'")).expect("converted");
    let parts = folder.path("parts");
    session
        .query(&format!("COPY ({made}) TO '{parts}' (FORMAT parquet, PARTITION_BY p)"))
        .expect("partitioned");
    assert_eq!(
        rows(&session, &format!("SELECT p, count(*) FROM '{parts}' GROUP BY p ORDER BY p")),
        ["0|120000", "1|120000", "2|120000", "3|120000", "4|120000"]
    );
    let sorted = folder.path("sorted.parquet");
    session.query(&format!("COPY (SELECT * FROM '{from}' ORDER BY i DESC) TO '{sorted}'")).expect("sorted");
    assert_eq!(rows(&session, &format!("SELECT i FROM '{sorted}' LIMIT 2")), ["599999", "599998"]);
}
