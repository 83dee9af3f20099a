//! Options of COPY TO: each one that is accepted changes what is written, its illegal values are refused, and so is
//! what is none of the format's. An option that is new in `formats::write::WRITER_OPTIONS` fails here until it has a
//! case.

use std::fs;
use std::path::Path;

use conformance::asked::rows;
use conformance::folder::Folder;
use engine::{Database, Options, Session};
use formats::write::{WRITER_OPTIONS, WriteFormat};

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

/// The files there are below a path, with their bytes.
fn written(path: &Path) -> Vec<(String, Vec<u8>)> {
    if path.is_file() {
        return vec![(String::new(), fs::read(path).expect("a file"))];
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        // Files that are added have names by chance.
        let name = if path.is_file() { String::new() } else { name };
        all.extend(written(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
    }
    all.sort();
    all
}

/// Name under which it is one with others, options besides, a value that changes what is written, one that is
/// refused, and whether a folder is there that COPY wrote.
const CASES: [(&str, &str, &str, &str, bool); 19] = [
    ("per_thread_output", "", "true", "maybe", false),
    ("field_ids", "", "'auto'", "'oops'", false),
    ("compression", "", "none", "rar", false),
    ("partition_by", "", "(b)", "(nothing)", false),
    ("overwrite", ", PARTITION_BY (b)", "true", "maybe", true),
    ("overwrite_or_ignore", ", PARTITION_BY (b)", "true", "maybe", true),
    ("append", ", PARTITION_BY (b)", "true", "maybe", true),
    ("write_partition_columns", ", PARTITION_BY (b)", "true", "maybe", false),
    ("file_size_bytes", "", "'1kb'", "0", false),
    ("row_groups_per_file", ", ROW_GROUP_SIZE 100", "2", "0", false),
    ("header", "", "false", "maybe", false),
    ("delimiter", "", "';'", "'abcde'", false),
    ("null", "", "'-'", "('a', 'b')", false),
    ("quote", ", DELIMITER 'x'", "'|'", "'ab'", false),
    ("escape", ", DELIMITER 'x', QUOTE '1'", "'2'", "'ab'", false),
    ("force_quote", "", "(c)", "(nothing)", false),
    ("dateformat", "", "'%d.%m.%Y'", "''", false),
    ("parquet_version", "", "v2", "v3", false),
    ("timestampformat", "", "'%d.%m.%Y %H'", "''", false),
];

const QUERY: &str = "SELECT i AS a, i % 3 AS b, CASE WHEN i > 5 THEN 'x' END AS c, DATE '2024-01-01' + i::INTEGER AS d, \
                     TIMESTAMP '2024-01-01' + i * INTERVAL '1 hour' AS e FROM range(1000) AS t(i)";

#[test]
fn every_option_changes_what_is_written() {
    let (session, folder) = (session(), Folder::new("changes"));
    let mut seen = Vec::new();
    let mut number = 0;
    for (name, of, of_formats) in WRITER_OPTIONS {
        for format in of_formats {
            let (word, _) = WriteFormat::NAMES.iter().find(|(_, f)| f == format).expect("a name");
            number += 1;
            let copy = |options: &str, before: bool, number: &str| {
                let path = folder.path(number);
                let run = |query: &str, options: &str| {
                    let sql = format!("COPY ({query}) TO '{path}' (FORMAT {word}{options})");
                    session
                        .query(&sql)
                        .map_err(|error| format!("{error} {}", error.hint().unwrap_or_default()))
                };
                if before {
                    run("SELECT 7 AS a, 9 AS b", ", PARTITION_BY (b)").expect("a folder");
                }
                run(QUERY, options)?;
                Ok::<_, String>(written(Path::new(&path)))
            };
            if of == "format" {
                let error = session.query(&format!("COPY (SELECT 1) TO '{}' (FORMAT rar)", folder.path("f")));
                assert!(error.map(|_| ()).expect_err("no format").message().contains("format"));
                seen.push(name);
                continue;
            }
            if of == "encoding" {
                let error = copy(", ENCODING 'latin1'", false, "e").expect_err("one encoding");
                assert!(error.contains("UTF8"), "{error}");
                copy(", ENCODING 'UTF8'", false, "e").expect("rows");
                seen.push(name);
                continue;
            }
            if of == "row_group_size" {
                let plain = copy("", false, "g").expect("rows");
                let groups = copy(&format!(", {name} 100"), false, "g").expect("rows");
                assert_ne!(plain, groups);
                assert!(copy(&format!(", {name} 0"), false, "g").expect_err("rows").contains(name));
                seen.push(name);
                continue;
            }
            if of == "array" {
                let other = if word == &"json" { "false" } else { "true" };
                let plain = copy("", false, "r").expect("rows");
                let others = copy(&format!(", {name} {other}"), false, "r").expect("rows");
                assert_ne!(plain, others);
                assert!(copy(&format!(", {name} maybe"), false, "r").expect_err("no truth").contains(name));
                seen.push(name);
                continue;
            }
            if of == "write_empty_file" {
                let path = folder.path(&format!("{number}-empty"));
                let empty = |value: &str| {
                    let options = format!("FORMAT {word}, {name} {value}");
                    let sql =
                        format!("COPY (SELECT i FROM range(9) AS t(i) WHERE i > 9) TO '{path}' ({options})");
                    session.query(&sql).map(|_| Path::new(&path).exists()).map_err(|e| e.to_string())
                };
                assert_eq!(empty("false"), Ok(false), "{word}");
                assert_eq!(empty("true"), Ok(true), "{word}");
                assert!(empty("maybe").expect_err("no truth").contains(name));
                seen.push(name);
                continue;
            }
            if matches!(of, "filename_pattern" | "file_extension" | "return_files" | "return_stats") {
                let illegal = if of.starts_with("return") { "maybe" } else { "'a/b'" };
                let error = copy(&format!(", PER_THREAD_OUTPUT, {name} {illegal}"), false, "n");
                assert!(error.expect_err("no name").contains(name));
                seen.push(name);
                continue;
            }
            let case = CASES.iter().find(|case| case.0 == of);
            let (_, beside, value, illegal, before) = case.unwrap_or_else(|| panic!("no case for {name}"));
            // Arrow files and texts are not compressed unless an option says so.
            let value = match (of, format) {
                ("compression", WriteFormat::Arrow) => {
                    let error = copy(&format!(", {name} gzip"), false, "a").expect_err("not packed");
                    assert!(error.contains("none"), "{error}");
                    seen.push(name);
                    continue;
                }
                ("compression", WriteFormat::Parquet) => value,
                ("compression", _) => "gzip",
                _ => value,
            };
            let plain = copy(beside, *before, &format!("{number}-plain"));
            let with = copy(&format!("{beside}, {name} {value}"), *before, &format!("{number}-with"));
            assert_ne!(plain, with, "{word}: {name} {value} changes nothing");
            let with = with.unwrap_or_else(|e| panic!("{word}, {name}: {e}"));
            assert!(!with.is_empty(), "{word}: {name}");
            let refused = copy(&format!("{beside}, {name} {illegal}"), false, &format!("{number}-illegal"));
            let refused = refused.expect_err(name);
            assert!(refused.to_lowercase().contains(of) || refused.contains(name), "{refused}");
            seen.push(name);
        }
    }
    assert!(WRITER_OPTIONS.iter().all(|(name, ..)| seen.contains(name)), "an option has no case");
}

#[test]
fn names_and_results_of_files() {
    let (session, folder) = (session(), Folder::new("results"));
    let copied = |query: &str, name: &str, options: &str| {
        let sql = format!("COPY ({query}) TO '{}' ({options})", folder.path(name));
        rows(&session, &sql)
            .into_iter()
            .map(|row| row.replace(&folder.path(name), "").replace('\'', ""))
            .collect::<Vec<_>>()
    };
    let parts = "SELECT i, i % 2 AS p FROM range(10) AS t(i)";
    assert_eq!(copied("SELECT 1 AS a UNION ALL SELECT 2", "one.csv", "RETURN_FILES"), ["2|[]"]);
    let by_parts =
        "FORMAT csv, PARTITION_BY (p), RETURN_FILES, FILENAME_PATTERN 'part_{i}', FILE_EXTENSION 'txt'";
    assert_eq!(copied(parts, "parts", by_parts), ["10|[/p=0/part_0.txt, /p=1/part_0.txt]"]);
    // What was written under these names is known again; what is added has the next number.
    let again = |existing: &str| copied(parts, "parts", &format!("{by_parts}, {existing}"));
    assert_eq!(again("APPEND"), ["10|[/p=0/part_1.txt, /p=1/part_1.txt]"]);
    assert_eq!(again("OVERWRITE"), ["10|[/p=0/part_0.txt, /p=1/part_0.txt]"]);
    let unique = copied(
        parts,
        "unique",
        "FORMAT parquet, PER_THREAD_OUTPUT, FILENAME_PATTERN 'x-{uuid}', RETURN_FILES",
    );
    assert!(
        unique[0].starts_with("10|[/x-") && unique[0].len() == "10|[/x-.parquet]".len() + 36,
        "{unique:?}"
    );
    let facts = |query: &str, name: &str, more: &str| {
        let options = format!("FORMAT parquet, RETURN_STATS{more}");
        copied(query, name, &options)
            .into_iter()
            .map(|row| row.split('|').map(str::to_owned).collect::<Vec<_>>())
    };
    let query = "SELECT i, CASE WHEN i > 2 THEN 'x' || i END AS s FROM range(5) AS t(i)";
    let one: Vec<Vec<String>> = facts(query, "facts.parquet", "").collect();
    let [one] = one.as_slice() else { panic!("{one:?}") };
    let bytes = std::fs::metadata(folder.path("facts.parquet")).expect("a file").len();
    assert_eq!((one[0].as_str(), one[1].as_str(), one[2].parse()), ("", "5", Ok(bytes)), "{one:?}");
    assert!(one[4].contains("max=4, min=0, null_count=0, num_values=5"), "{one:?}");
    assert!(one[4].contains("max=x4, min=x3, null_count=3, num_values=5"), "{one:?}");
    let two: Vec<Vec<String>> = facts(parts, "facts", ", PARTITION_BY (p)").collect();
    assert_eq!(two.iter().map(|row| row[5].as_str()).collect::<Vec<_>>(), ["{p=0}", "{p=1}"]);
    // Numbers of fields are read back.
    let nested = "SELECT 1 AS a, [2] AS l, {'x': 3, 'y': 'z'} AS s";
    let ids = "FORMAT parquet, FIELD_IDS {a: 7, l: {__duckdb_field_id: 8, element: 9}, s: {y: 11}}";
    copied(nested, "ids.parquet", ids);
    let schema = format!(
        "SELECT name, field_id FROM parquet_schema('{}') WHERE field_id IS NOT NULL",
        folder.path("ids.parquet")
    );
    assert_eq!(rows(&session, &schema), ["a|7", "l|8", "item|9", "y|11"]);
    assert_eq!(
        rows(&session, &format!("SELECT * FROM '{}'", folder.path("ids.parquet"))),
        ["1|[2]|{'x': 3, 'y': z}"]
    );
}

#[test]
fn what_is_no_option_is_refused_by_name() {
    let (session, folder) = (session(), Folder::new("refused"));
    for (options, part) in [
        ("FORMAT csv, HEADER, HEADER false", "more than once"),
        ("FORMAT csv, DELIM ';', SEP ','", "more than once"),
        ("FORMAT csv, DELIMITER '||', NULL '|'", "nothing of the DELIMITER"),
        ("FORMAT parquet, HEADER", "it is for csv, tsv"),
        ("FORMAT csv, ROW_GROUP_SIZE 5", "it is for parquet"),
        ("FORMAT parquet, DATEFORMAT '%d'", "it is for csv"),
        ("FORMAT csv, FORCE_QUOTE (nowhere)", "nowhere"),
        ("FORMAT csv, FORCE_QUOTE", "a list of columns"),
        ("FORMAT csv, QUOTE '', FORCE_QUOTE *", "needs a QUOTE"),
        ("FORMAT csv, QUOTE ','", "DELIMITER"),
        ("FORMAT csv, NULL '\"'", "no quotes"),
        ("FORMAT json, QUOTE '|'", "it is for csv"),
        ("FORMAT csv, ARRAY true", "it is for json"),
        ("FORMAT csv, WRITE_PARTITION_COLUMNS", "needs PARTITION_BY"),
        ("FORMAT csv, FILENAME_PATTERN 'x'", "for the files of a folder"),
        ("FORMAT csv, RETURN_STATS", "it is for parquet"),
        ("FORMAT parquet, RETURN_FILES, RETURN_STATS", "exclude each other"),
        ("FORMAT parquet, FIELD_IDS {nowhere: 1}", "nowhere"),
        ("FORMAT parquet, FIELD_IDS {a: 1, b: 1}", "comes twice"),
        ("FORMAT parquet, FIELD_IDS {a: 'x'}", "no number"),
        ("FORMAT csv, ROW_GROUPS_PER_FILE 2", "it is for parquet"),
        ("FORMAT csv, ORDER_BY (a), ORDER_BY (b)", "more than once"),
        ("FORMAT csv, ORDER_BY (nowhere)", "nowhere"),
        ("FORMAT csv, HEADR", "did you mean \"header\"?"),
        ("FORMAT csv, NONSENSE 5", "is not known"),
        ("FORMAT csv, PARTITION_BY a, OVERWRITE, APPEND", "exclude each other"),
        ("FORMAT csv, APPEND", "needs PARTITION_BY"),
    ] {
        let sql = format!("COPY (SELECT 1 AS a, 2 AS b) TO '{}' ({options})", folder.path("f"));
        let error = session.query(&sql).map(|_| ()).expect_err(options);
        let error = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(error.contains(part), "{options}: {error}");
        assert!(!Path::new(&folder.path("f")).exists(), "{options}");
    }
    // A column's name may hold a comma.
    let copy = format!(
        "COPY (SELECT 1 AS \"a,b\", 2 AS c) TO '{}' (FORMAT csv, PARTITION_BY (\"a,b\"))",
        folder.path("p")
    );
    session.query(&copy).expect("a partition");
    assert!(
        Path::new(&folder.path("p")).join("a%2Cb=1").is_dir()
            || Path::new(&folder.path("p")).join("a,b=1").is_dir()
    );
}

/// What is written between other quotes is read back as it was, whatever the values hold.
#[test]
fn values_between_any_quotes_are_read_back() {
    let (session, folder) = (session(), Folder::new("quotes"));
    let rows = r#"SELECT * FROM (VALUES (1, 'a"b|c\', ''), (2, 'x,y' || chr(10) || 'z', NULL), (3, '|', '""'), (4, '\|"', 'plain'))
        AS t(id, first, second)"#;
    let shown = |sql: &str| {
        let result = session.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let mut rows = Vec::new();
        for batch in result.batches() {
            for row in 0..batch.rows {
                rows.push(batch.columns.iter().map(|c| c.value(row)).collect::<Vec<_>>());
            }
        }
        rows
    };
    let wanted = shown(&format!("SELECT * FROM ({rows}) ORDER BY id"));
    for (number, (write, read)) in [
        ("QUOTE '|'", "quote = '|'"),
        ("QUOTE '|', ESCAPE '\\'", "quote = '|', escape = '\\'"),
        ("ESCAPE '\\'", "escape = '\\'"),
        ("QUOTE '''', FORCE_QUOTE *", "quote = ''''"),
        ("FORCE_QUOTE (first, second)", "delim = ','"),
        ("DELIMITER '|', QUOTE '~', ESCAPE '!'", "delim = '|', quote = '~', escape = '!'"),
    ]
    .iter()
    .enumerate()
    {
        let path = folder.path(&format!("{number}.csv"));
        let written = session.query(&format!("COPY ({rows}) TO '{path}' ({write})"));
        written.unwrap_or_else(|error| panic!("{write}: {error}"));
        let types = "columns = {'id': 'INTEGER', 'first': 'VARCHAR', 'second': 'VARCHAR'}, header = true";
        let sql = format!("SELECT * FROM read_csv('{path}', {types}, {read}) ORDER BY id");
        assert_eq!(shown(&sql), wanted, "{write}");
    }
}

#[test]
fn moments_are_written_in_the_forms_that_are_asked_for() {
    let (session, folder) = (session(), Folder::new("forms"));
    let rows = "SELECT * FROM (VALUES (DATE '2024-03-05', TIMESTAMP '2024-03-05 14:30', 2), (DATE '2024-12-31', NULL, 3), \
                (NULL, NULL, 1)) AS t(d, m, n) ORDER BY n, d LIMIT 2";
    let written = |options: &str, name: &str| {
        let path = folder.path(name);
        session.query(&format!("COPY ({rows}) TO '{path}' ({options})")).expect(options);
        fs::read_to_string(&path).expect("a file")
    };
    let both = "DATEFORMAT '%d/%m/%Y', TIMESTAMPFORMAT '%Y%m%d %H'";
    let csv = written(&format!("FORMAT csv, {both}"), "csv");
    assert_eq!(csv, "d,m,n\n,,1\n05/03/2024,20240305 14,2\n");
    let json = written(&format!("FORMAT ndjson, {both}"), "json");
    assert!(json.contains(r#""d": "05/03/2024", "m": "20240305 14", "n": 2"#), "{json}");
    let plain = written("FORMAT csv", "plain");
    assert_eq!(written("FORMAT csv, TIMESTAMPFORMAT iso", "iso"), plain);
    // A key of the order is the date, not its text.
    let path = folder.path("order");
    let copy = "COPY (SELECT d FROM (VALUES (DATE '2024-03-05'), (DATE '2023-12-31')) AS t(d) ORDER BY d)";
    session.query(&format!("{copy} TO '{path}' (FORMAT csv, DATEFORMAT '%d')")).expect("a file");
    assert_eq!(fs::read_to_string(&path).expect("a file"), "d\n31\n05\n");
}

/// A folder of files holds the rows of the query, each once, in files of the size that was asked for.
#[test]
fn rows_are_divided_among_the_files_of_a_folder() {
    let (session, folder) = (session(), Folder::new("divided"));
    let text = |sql: &str| rows(&session, sql).join("; ").replace('|', " ");
    let query = "SELECT i, i % 3 AS p, 999 - i AS d FROM range(1000) AS t(i)";
    let copy = |name: &str, options: &str| {
        let path = folder.path(name);
        session
            .query(&format!("COPY ({query}) TO '{path}' ({options})"))
            .unwrap_or_else(|e| panic!("{options}: {e}"));
        path
    };
    let groups = copy("groups", "FORMAT parquet, ROW_GROUP_SIZE 100, ROW_GROUPS_PER_FILE 3");
    let per_file = format!(
        "SELECT string_agg(n, ',' ORDER BY f) FROM (SELECT filename AS f, count(*)::TEXT AS n \
         FROM read_parquet('{groups}/*.parquet', filename => true) GROUP BY filename) AS t"
    );
    assert_eq!(text(&per_file), "300,300,300,100");
    assert_eq!(
        text(&format!("SELECT count(*), sum(i), count(DISTINCT i) FROM '{groups}/*.parquet'")),
        "1000 499500 1000"
    );

    let sizes = copy("sizes", "FORMAT csv, FILE_SIZE_BYTES 1_000");
    assert_eq!(text(&format!("SELECT count(*) > 0 FROM glob('{sizes}/data_*.csv')")), "true");
    assert_eq!(text(&format!("SELECT count(*), sum(i) FROM '{sizes}/*.csv'")), "1000 499500");

    let both = copy("both", "FORMAT parquet, PARTITION_BY (p), ROW_GROUP_SIZE 50, ROW_GROUPS_PER_FILE 2");
    let parts =
        format!("SELECT count(*), sum(i) FROM read_parquet('{both}/*/*.parquet', hive_partitioning => true)");
    assert_eq!(text(&parts), "1000 499500");
    assert_eq!(text(&format!("SELECT count(*) FROM glob('{both}/p=0/*.parquet')")), "4");

    let ordered =
        copy("ordered", "FORMAT csv, PARTITION_BY (p), ORDER_BY (d, i DESC), WRITE_PARTITION_COLUMNS");
    let first = format!(
        "SELECT d, i, p FROM read_csv('{ordered}/p=1/data_0.csv', hive_partitioning => false) LIMIT 2"
    );
    assert_eq!(text(&first), "2 997 1; 5 994 1");

    // What is there is added to, or replaced as a whole.
    session
        .query(&format!("COPY ({query}) TO '{groups}' (FORMAT parquet, FILE_SIZE_BYTES '1GB', APPEND)"))
        .expect("more files");
    assert_eq!(text(&format!("SELECT count(*) FROM '{groups}/*.parquet'")), "2000");
    session
        .query(&format!(
            "COPY (SELECT 7 AS i) TO '{groups}' (FORMAT parquet, FILE_SIZE_BYTES '1GB', OVERWRITE)"
        ))
        .expect("other files");
    assert_eq!(text(&format!("SELECT i FROM '{groups}/*.parquet'")), "7");

    let none = folder.path("none");
    session
        .query(&format!("COPY (SELECT 1 AS a WHERE false) TO '{none}' (FORMAT csv, WRITE_EMPTY_FILE false)"))
        .expect("no file");
    assert!(!Path::new(&none).exists());
}
