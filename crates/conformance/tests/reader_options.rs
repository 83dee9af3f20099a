//! Options of readers: each one that is accepted changes what is read, its illegal values are refused, and what is
//! not an option of a reader is refused by its name. An option that is new in `formats::READER_OPTIONS` fails here
//! until it has a case.

use conformance::folder::Folder;
use engine::{Database, Options, Session, Value};
use plan::FileFormat;

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

/// Columns and rows, or the error.
fn outcome(session: &Session, sql: &str) -> Result<String, String> {
    let result =
        session.query(sql).map_err(|error| format!("{error} {}", error.hint().unwrap_or_default()))?;
    let fields = result.schema().fields().to_vec();
    let mut text: String = fields.iter().map(|f| format!("{} {}, ", f.name, f.ty.sql_name())).collect();
    for row in 0..result.rows() {
        text.push('\n');
        for (column, field) in fields.iter().enumerate() {
            match result.value(row, column) {
                Value::Null => text.push_str("NULL|"),
                value => text.push_str(&format!("{}|", value.display(field.ty))),
            }
        }
    }
    Ok(text)
}

/// What an option does to a file.
struct Case {
    /// The name under which it is one with others.
    of: &'static str,
    function: &'static str,
    /// Files by name; the first is read, or all where there are several.
    files: &'static [(&'static str, &'static str)],
    /// Options that are given besides.
    beside: &'static str,
    value: &'static str,
    illegal: &'static str,
    /// Columns of a table that COPY fills from the file.
    table: &'static str,
}

const fn csv(
    of: &'static str,
    text: &'static [(&'static str, &'static str)],
    value: &'static str,
    illegal: &'static str,
) -> Case {
    Case { of, function: "read_csv", files: text, beside: "", value, illegal, table: "" }
}

const fn json(
    of: &'static str,
    text: &'static [(&'static str, &'static str)],
    value: &'static str,
    illegal: &'static str,
) -> Case {
    Case { function: "read_json", ..csv(of, text, value, illegal) }
}

const fn fills(table: &'static str, case: Case) -> Case {
    Case { table, ..case }
}

const fn beside(options: &'static str, case: Case) -> Case {
    Case { beside: options, ..case }
}

const PLAIN: &[(&str, &str)] = &[("f.csv", "a,b\n1,2\n")];
const BAD: &[(&str, &str)] = &[("f.csv", "a\n1\nx\n")];
const BAD_JSON: &[(&str, &str)] = &[("f.json", "{\"a\": 1}\n{\"a\": \"x\"}\n")];
const INTEGER: &str = ", columns => {'a': 'INTEGER'}";
const FOLDER: &[(&str, &str)] = &[("y=1/f.csv", "a\n1\n")];
const FOLDER_JSON: &[(&str, &str)] = &[("y=1/f.json", "{\"a\": 1}\n")];
const TEXTS: &str = "a TEXT, b TEXT";

fn cases() -> Vec<Case> {
    vec![
        fills(TEXTS, csv("delimiter", &[("f.csv", "a,b;c\n1,2;3\n")], "';'", "'abcde'")),
        fills(TEXTS, csv("quote", &[("f.csv", "a,b\n\"x\",1\n")], "''", "'ab'")),
        fills(TEXTS, csv("escape", &[("f.csv", "a,b\n\"x$\"y\",1\n")], "'$'", "'ab'")),
        fills(TEXTS, csv("new_line", &[("f.csv", "a,b\r1,x\n2\r3,4\r")], "'\\r'", "'x'")),
        fills(TEXTS, csv("comment", &[("f.csv", "a,b\n#x,y\n1,2\n")], "'#'", "'ab'")),
        fills(TEXTS, csv("skip", &[("f.csv", "a,b\n1,2\n3,4\n")], "2", "-1")),
        fills(TEXTS, csv("header", PLAIN, "false", "'maybe'")),
        fills(TEXTS, csv("null", &[("f.csv", "a,b\nNA,x\n")], "'NA'", "{'a': 'NA'}")),
        fills(TEXTS, csv("encoding", &[("f.csv", "a,b\né,1\n")], "'latin-1'", "'klingon'")),
        fills(TEXTS, csv("compression", PLAIN, "'gzip'", "'rar'")),
        fills("a DATE", csv("dateformat", &[("f.csv", "a\n01/02/2024\n")], "'%d/%m/%Y'", "'%Q'")),
        fills(
            "a TIMESTAMP",
            csv("timestampformat", &[("f.csv", "a\n01/02/2024 10:30\n")], "'%d/%m/%Y %H:%M'", "'%Q'"),
        ),
        fills("a DOUBLE, b TEXT", csv("decimal_separator", &[("f.csv", "a;b\n1,5;x\n")], "','", "'ab'")),
        fills("a DOUBLE, b TEXT", csv("thousands", &[("f.csv", "a;b\n1,500;x\n")], "','", "'ab'")),
        fills(TEXTS, csv("null_padding", &[("f.csv", "a,b\n1,2\n3\n")], "true", "'maybe'")),
        fills(TEXTS, csv("strict", &[("f.csv", "a,b\nx \"y\",1\n\"p\"q\",2\n")], "false", "'maybe'")),
        fills("a INTEGER", beside(INTEGER, csv("ignore_errors", BAD, "true", "'maybe'"))),
        fills("a INTEGER", beside(INTEGER, csv("store_rejects", BAD, "true", "'maybe'"))),
        fills("a INTEGER", beside(INTEGER, csv("rejects_table", BAD, "'bad'", "''"))),
        fills("a INTEGER", beside(INTEGER, csv("rejects_scan", BAD, "'scans'", "''"))),
        csv("sample_size", BAD, "2", "0"),
        csv("files_to_sniff", &[("1.csv", "a\n1\n"), ("2.csv", "a\nx\n")], "1", "0"),
        fills(TEXTS, csv("max_line_size", &[("f.csv", "a,b\n1,xxxxxxxxxx\n")], "8", "0")),
        beside(", columns => {'a': 'TEXT', 'b': 'TEXT'}", csv("auto_detect", PLAIN, "false", "'maybe'")),
        csv("all_varchar", PLAIN, "true", "'maybe'"),
        csv("columns", PLAIN, "{'x': 'TEXT', 'y': 'INTEGER'}", "['INTEGER']"),
        csv("types", PLAIN, "{'b': 'DOUBLE'}", "['NONSENSE']"),
        csv("names", PLAIN, "['x']", "['x', 'y', 'z']"),
        csv("auto_type_candidates", PLAIN, "['VARCHAR']", "['NONSENSE']"),
        csv("normalize_names", &[("f.csv", "A b,C\n1,2\n")], "true", "'maybe'"),
        csv("union_by_name", &[("1.csv", "a,b\n1,2\n"), ("2.csv", "b,c\n1,2\n")], "true", "'maybe'"),
        csv("hive_partitioning", FOLDER, "false", "'maybe'"),
        csv("hive_types", FOLDER, "{'y': 'TEXT'}", "['TEXT']"),
        csv("hive_types_autocast", FOLDER, "false", "'maybe'"),
        csv("filename", PLAIN, "true", "'maybe'"),
        json("encoding", &[("f.json", "{\"a\": \"é\"}")], "'latin-1'", "'klingon'"),
        json("compression", BAD_JSON, "'zstd'", "'rar'"),
        json("dateformat", &[("f.json", "{\"a\": \"01/02/2024\"}\n")], "'%d/%m/%Y'", "'%Q'"),
        json("timestampformat", &[("f.json", "[{\"a\": \"01/02/2024 10:30\"}]")], "'%d/%m/%Y %H:%M'", "'%Q'"),
        fills("a INTEGER", beside(INTEGER, json("ignore_errors", BAD_JSON, "true", "'maybe'"))),
        fills("a INTEGER", beside(INTEGER, json("store_rejects", BAD_JSON, "true", "'maybe'"))),
        fills("a INTEGER", beside(INTEGER, json("rejects_table", BAD_JSON, "'bad'", "''"))),
        fills("a INTEGER", beside(INTEGER, json("rejects_scan", BAD_JSON, "'scans'", "''"))),
        json("sample_size", BAD_JSON, "1", "0"),
        json("files_to_sniff", &[("1.json", "{\"a\": 1}"), ("2.json", "{\"a\": \"x\"}")], "1", "0"),
        json("max_line_size", BAD_JSON, "8", "0"),
        json("format", BAD_JSON, "'array'", "'unknown'"),
        json("columns", BAD_JSON, "{'b': 'TEXT'}", "['INTEGER']"),
        // Each file is looked at for itself.
        beside(
            ", maximum_sample_files => 1",
            json(
                "union_by_name",
                &[("1.json", "{\"a\": 1}"), ("2.json", "{\"b\": 1}\n{\"a\": 2}")],
                "true",
                "'maybe'",
            ),
        ),
        json("hive_partitioning", FOLDER_JSON, "false", "'maybe'"),
        json("hive_types", FOLDER_JSON, "{'y': 'TEXT'}", "['TEXT']"),
        json("hive_types_autocast", FOLDER_JSON, "false", "'maybe'"),
        json("filename", BAD_JSON, "true", "'maybe'"),
    ]
}

/// Options that say how fast, or how much is noted, and not what is read: their illegal values are refused, and
/// `pieces_and_workers_are_as_they_are_said` shows that they are obeyed.
const PACE: [(&str, &str); 3] = [("buffer_size", "0"), ("parallel", "'maybe'"), ("rejects_limit", "-1")];

fn names_of(of: &str, format: FileFormat) -> Vec<&'static str> {
    let all = formats::READER_OPTIONS.iter().filter(|o| o.of == of && o.formats.has(format));
    all.map(|o| o.name).collect()
}

#[test]
fn every_option_changes_what_is_read() {
    let session = session();
    let mut seen = Vec::new();
    for (number, case) in cases().iter().enumerate() {
        let folder = Folder::new(&format!("case-{number}"));
        case.files.iter().for_each(|(name, text)| drop(folder.write(name, text)));
        let path = match case.files {
            [(only, _)] => format!("'{}'", folder.path(only)),
            files => {
                let listed: Vec<String> =
                    files.iter().map(|(name, _)| format!("'{}'", folder.path(name))).collect();
                format!("[{}]", listed.join(", "))
            }
        };
        let format = if case.function == "read_json" { FileFormat::Json } else { FileFormat::Csv };
        let names = names_of(case.of, format);
        assert!(!names.is_empty(), "{} is no option of {}", case.of, case.function);
        for name in names {
            let read = |more: &str| {
                let sql = format!("SELECT * FROM {}({path}{}{more})", case.function, case.beside);
                outcome(&session, &sql)
            };
            let (plain, with) = (read(""), read(&format!(", {name} => {}", case.value)));
            assert_ne!(plain, with, "{}: {name} => {} changes nothing", case.function, case.value);
            assert!(plain.is_ok() || with.is_ok(), "{name}: {plain:?} {with:?}");
            let illegal = read(&format!(", {name} => {}", case.illegal)).expect_err(name);
            assert!(
                illegal.contains(case.of) || illegal.contains(name) || illegal.contains("form"),
                "{illegal}"
            );
            if !case.table.is_empty() {
                let table = |more: &str| {
                    session.query(&format!("CREATE OR REPLACE TABLE t ({})", case.table)).expect("a table");
                    let format = case.function.trim_start_matches("read_");
                    let path = path.as_str();
                    outcome(&session, &format!("COPY t FROM {path} (FORMAT {format}{more})"))?;
                    outcome(&session, "SELECT * FROM t")
                };
                let (plain, with) = (table(""), table(&format!(", {name} {}", case.value)));
                assert_ne!(plain, with, "COPY: {name} {} changes nothing", case.value);
            }
            seen.push((name, format));
        }
    }
    for (of, illegal) in PACE {
        let folder = Folder::new(of);
        folder.write("f.csv", "a,b\n1,2\n");
        folder.write("f.json", "{\"a\": 1}");
        for (format, function) in [(FileFormat::Csv, "csv"), (FileFormat::Json, "json")] {
            for name in names_of(of, format) {
                let path = folder.path(&format!("f.{function}"));
                let sql = format!("SELECT * FROM read_{function}('{path}', {name} => {illegal})");
                assert!(outcome(&session, &sql).expect_err(name).contains(of), "{name}");
                seen.push((name, format));
            }
        }
    }
    for option in formats::READER_OPTIONS {
        for format in [FileFormat::Csv, FileFormat::Json] {
            let tried = seen.contains(&(option.name, format));
            assert_eq!(tried, option.formats.has(format), "no case for {} of {format:?}", option.name);
        }
    }
}

#[test]
fn every_option_of_typed_files_changes_what_is_read() {
    let (session, folder) = (session(), Folder::new("typed"));
    folder.write("y=1/keep", "");
    let copy = |query: &str, name: &str| {
        let sql = format!("COPY ({query}) TO '{}'", folder.path(name));
        session.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    };
    for ending in ["parquet", "arrow"] {
        copy("SELECT 1 AS a, 2 AS b", &format!("1.{ending}"));
        copy("SELECT 1 AS b, 2 AS c", &format!("2.{ending}"));
        copy("SELECT 1 AS a", &format!("y=1/f.{ending}"));
        let (plain, folders) = (format!("?.{ending}"), format!("y=1/f.{ending}"));
        let mut seen = Vec::new();
        for (name, path, value, illegal) in [
            ("union_by_name", &plain, "true", "'maybe'"),
            ("hive_partitioning", &folders, "false", "'maybe'"),
            ("hive_types", &folders, "{'y': 'TEXT'}", "['TEXT']"),
            ("hive_types_autocast", &folders, "false", "'maybe'"),
            ("filename", &folders, "true", "'maybe'"),
        ] {
            let read = |more: &str| {
                outcome(&session, &format!("SELECT * FROM read_{ending}('{}'{more})", folder.path(path)))
            };
            assert_ne!(read(""), read(&format!(", {name} => {value}")), "{name}");
            assert!(read(&format!(", {name} => {illegal}")).expect_err(name).contains(name), "{name}");
            seen.push(name);
        }
        // What is for texts is refused, and so is every option of another name.
        for option in formats::READER_OPTIONS {
            let sql =
                format!("SELECT * FROM read_{ending}('{}', {} => 'x')", folder.path(&folders), option.name);
            let error = outcome(&session, &sql).expect_err(option.name);
            assert!(
                error.contains(option.name) || error.contains("store_rejects") || error.contains("function"),
                "{error}"
            );
            assert_eq!(
                seen.contains(&option.name),
                option.formats.has(FileFormat::Parquet),
                "{}",
                option.name
            );
        }
    }
}

#[test]
fn what_is_no_option_is_refused_by_name() {
    let (session, folder) = (session(), Folder::new("refused"));
    folder.write("f.csv", "a,b\n1,2\n");
    folder.write("f.json", "{\"a\": 1}\n");
    let csv = folder.path("f.csv");
    session.query("CREATE TABLE t (a INTEGER, b INTEGER)").expect("a table");
    let read = |options: &str| outcome(&session, &format!("SELECT * FROM read_csv('{csv}', {options})"));
    let copy = |options: &str| outcome(&session, &format!("COPY t FROM '{csv}' ({options})"));
    for (options, part) in [
        ("nulstr => 'x'", "did you mean \"nullstr\"?"),
        ("null_str => 'x'", "did you mean \"nullstr\"?"),
        ("records => 'auto'", "option \"records\" is not supported"),
        ("force_not_null => ['a']", "coalesce"),
        ("maximum_object_size => 5", "for JSON files"),
        ("format => 'parquet'", "the function says that it reads CSV files"),
        ("delim => ',', sep => ';'", "more than once"),
        ("delim => [',', ';']", "more than once"),
        ("header => true, header => false", "more than once"),
        ("nullstr => []", "has no value"),
        ("delim => NULL", "is NULL"),
        ("delim => {'a': ','}", "takes no names with values"),
        ("null => 'a', nullstr => 'b'", "are the same"),
        ("quote => '', escape => '$'", "escape is for files with quotes"),
        ("auto_detect => false", "needs the columns"),
        ("columns => {'a': 'INT', 'b': 'INT'}, names => ['x']", "beside it"),
        ("columns => {'a': 'INT', 'b': 'INT'}, all_varchar => true", "beside it"),
        ("types => {'a': 'INT', 'a': 'TEXT'}", "twice"),
        ("header => 'match'", "COPY FROM"),
        ("store_rejects => false, rejects_table => 'r'", "store_rejects"),
        ("hive_partitioning => false, hive_types => {'y': 'INT'}", "hive_partitioning"),
        ("hive_types => {'y': 'INT'}", "hive_partitioning needs files in folders"),
    ] {
        let error = read(options).expect_err(options);
        assert!(error.contains(part), "{options}: {error}");
    }
    for option in formats::READER_OPTIONS.iter().filter(|o| o.describes) {
        let error = copy(&format!("{} true", option.name)).expect_err(option.name);
        let table = error.contains("COPY takes no option");
        assert!(table || error.contains("invalid value") || error.contains("does not exist"), "{error}");
    }
    for (options, part) in [
        ("HEADER, HEADER false", "more than once"),
        ("DELIMITER ',' QUOTE '\"'", "a comma is missing"),
        ("DELIMITER (',', ';')", "more than once"),
        ("FORCE_NULL (a)", "nullif"),
        ("ON_ERROR ignore", "ignore_errors"),
        ("FREEZE", "leave it out"),
        ("FORMAT csv, FORMAT csv", "more than once"),
        ("UNION_BY_NAME true", "COPY takes no option"),
        ("SAMPLE_SIZE - 'x'", "syntax error"),
    ] {
        let error = copy(options).expect_err(options);
        assert!(error.contains(part), "{options}: {error}");
    }
    // As PostgreSQL has it: the header must be the columns' names.
    let swapped =
        outcome(&session, &format!("COPY t (b, a) FROM '{csv}' (HEADER match)")).expect_err("order");
    assert!(swapped.contains("the columns are b, a"), "{swapped}");
    copy("HEADER match, SAMPLE_SIZE -1, NULL ('x', 'y')").expect("rows");
    assert_eq!(outcome(&session, "SELECT * FROM t").expect("rows"), "a INTEGER, b INTEGER, \n1|2|");
    let sniff =
        |options: &str| outcome(&session, &format!("SELECT delimiter FROM sniff_csv('{csv}', {options})"));
    assert!(sniff("union_by_name => true").expect_err("for readers").contains("give it to read_csv"));
    assert!(sniff("store_rejects => true").expect_err("for readers").contains("give it to read_csv"));
    assert!(sniff("compression => 'gzip'").expect_err("not packed").contains("not packed"));
    assert!(outcome(&session, &format!("SELECT delimiter FROM sniff_csv(['{csv}', '{csv}'])")).is_ok());
}

/// Units of a file, which are what workers read, and its rows.
fn units(path: &str, options: &[(&str, &str)]) -> (u64, usize) {
    let options: Vec<(String, String)> = options.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
    let environment = formats::Environment::new(files::Capability::everything(), Default::default());
    let source = formats::describe(&environment, path, &options).expect("described");
    let reader = formats::open(&environment, &source, &[0], 100).expect("opened");
    let mut rows = 0;
    let count = reader.units().expect("units");
    for unit in 0..count {
        let mut add = |batch: engine::Batch| {
            rows += batch.rows;
            Ok(true)
        };
        reader.read(unit, &mut add).expect("read");
    }
    (count, rows)
}

#[test]
fn pieces_and_workers_are_as_they_are_said() {
    let folder = Folder::new("pace");
    let rows: String = (0..100).map(|n| format!("{n},{n}\n")).collect();
    folder.write("f.csv", format!("a,b\n{rows}"));
    let lines: String = (0..100).map(|n| format!("{{\"a\": {n}}}\n")).collect();
    folder.write("f.json", &lines);
    let (csv, json) = (folder.path("f.csv"), folder.path("f.json"));
    assert_eq!(units(&csv, &[]), (1, 100));
    let bytes = std::fs::metadata(&csv).expect("a file").len();
    assert_eq!(units(&csv, &[("buffer_size", "10")]), (bytes.div_ceil(10), 100));
    assert_eq!(units(&csv, &[("buffer_size", "10"), ("parallel", "false")]), (1, 100));
    assert_eq!(units(&json, &[("buffer_size", "10")]), ((lines.len() as u64).div_ceil(10), 100));
}

/// A record that is too long takes itself with it, wherever it is cut, and no part of it becomes a row.
#[test]
fn records_that_are_too_long_are_left_out_whole() {
    let (session, folder) = (session(), Folder::new("long"));
    let long = "y".repeat(50);
    folder.write("f.csv", format!("a,b\n1,x\n2,{long}\n3,z\n4,\"{long}\n,\"\n5,w\n"));
    folder.write("f.json", format!("{{\"a\": 1}}\n{{\"a\": 2, \"b\": \"{long}\"}}\n{{\"a\": 3}}\n"));
    for more in ["", ", buffer_size => 7", ", buffer_size => 64", ", parallel => false"] {
        let sql = format!(
            "SELECT a FROM read_csv('{}', max_line_size => 40, ignore_errors => true{more}) ORDER BY a",
            folder.path("f.csv")
        );
        assert_eq!(outcome(&session, &sql).expect("rows"), "a BIGINT, \n1|\n3|\n5|", "{more}");
    }
    for more in ["", ", buffer_size => 7"] {
        let sql = format!(
            "SELECT a FROM read_json('{}', maximum_object_size => 40, ignore_errors => true{more}) ORDER BY a",
            folder.path("f.json")
        );
        assert_eq!(outcome(&session, &sql).expect("rows"), "a BIGINT, \n1|\n3|", "{more}");
    }
    let exact = format!("SELECT count(*) FROM read_csv('{}', max_line_size => 56)", folder.path("f.csv"));
    assert_eq!(outcome(&session, &exact).expect("rows"), "count BIGINT, \n5|");
}
