//! CSV and JSON through the public API: what is found out about a file, what is read, and what becomes of the rest.
//!
//! Tests write small texts and compare the detected columns, the rows and the positions of errors. A file is read in
//! buffers of a megabyte, so some tests place values across their ends. Rejected rows must be listed with their
//! lines.

use conformance::asked::{columns, error, rows};
use conformance::folder::Folder;
use engine::{Database, Options, Session};
use types::SqlState;

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
        .expect("a database")
        .session()
}

#[test]
fn dialects_are_found_out() {
    let folder = Folder::new("dialects");
    let session = session();
    let read = |name: &str, text: &str| {
        let path = folder.write(name, text);
        let sql = format!("SELECT * FROM '{path}'");
        (columns(&session, &sql), rows(&session, &sql))
    };
    let both = |columns: &str, rows: &[&str]| {
        (columns.to_owned(), rows.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(
        read("a.csv", "name;price\n'a;b';1.5\n'c';2\n"),
        both("name TEXT, price DOUBLE PRECISION", &["a;b|1.5", "c|2"])
    );
    assert_eq!(
        read(
            "a.csv",
            "n,at\n1,2024-01-01 10:00:00+02\n2,2024-06-01 10:00:00.5-05:30\n3,2024-06-01T10:00:00Z\n"
        ),
        both(
            "n BIGINT, at TIMESTAMPTZ",
            &["1|2024-01-01 08:00:00+00", "2|2024-06-01 15:30:00.5+00", "3|2024-06-01 10:00:00+00"]
        )
    );
    assert_eq!(
        read("a.csv", "it's,1\nthat's,2\n"),
        both("column0 TEXT, column1 BIGINT", &["it's|1", "that's|2"])
    );
    assert_eq!(read("a.csv", "a,b\n\"x\\\"y\",1\n\"z\",2\n"), both("a TEXT, b BIGINT", &["x\"y|1", "z|2"]));
    assert_eq!(
        read("a.csv", "Sales of 2024\n\nday,sold\n2024-01-02,5\n2024-01-03,6\n"),
        both("day DATE, sold BIGINT", &["2024-01-02|5", "2024-01-03|6"])
    );
    assert_eq!(
        read("a.csv", "# made by hand\nday,sold\n# a remark\n2024-01-02,5\n"),
        both("day DATE, sold BIGINT", &["2024-01-02|5"])
    );
    assert_eq!(read("a.csv", "#id,sold\n1,5\n2,6\n"), both("#id BIGINT, sold BIGINT", &["1|5", "2|6"]));
    // Old line ends, a byte order mark, no line end at the end.
    assert_eq!(read("a.csv", "\u{FEFF}a,b\r1,2\r3,4"), both("a BIGINT, b BIGINT", &["1|2", "3|4"]));
    assert_eq!(read("a.csv", "a,b\r\n1,2\r\n\r\n3,4\r\n"), both("a BIGINT, b BIGINT", &["1|2", "3|4"]));
    // A date says which of its numbers is the day, or another one in the file does.
    assert_eq!(
        read("a.csv", "a,b,c\n01/02/2024,13.01.2024 10:30,x\n3/2/2024,14.02.2024 09:00,y\n"),
        both(
            "a DATE, b TIMESTAMP, c TEXT",
            &["2024-02-01|2024-01-13 10:30:00|x", "2024-02-03|2024-02-14 09:00:00|y"]
        )
    );
    assert_eq!(read("a.csv", "a,b\n01/02/2024,1\n"), both("a TEXT, b BIGINT", &["01/02/2024|1"]));
    // Codes keep their zeros, nothing in quotes is no number.
    assert_eq!(
        read("a.csv", "zip,n\n\"01234\",\"1\"\n\"98765\",\"\"\n"),
        both("zip TEXT, n BIGINT", &["01234|1", "98765|NULL"])
    );
    assert_eq!(
        read("a.csv", "t,b\n10:30:00,true\n,false\n"),
        both("t TIME, b BOOLEAN", &["10:30:00|true", "NULL|false"])
    );
}

#[test]
fn the_report_gives_a_call_that_reads_the_same() {
    let folder = Folder::new("report");
    let session = session();
    let text = "made by hand\nid;day;note\n1;13/01/2024;'x;y'\n2;14/01/2024;'z'\n";
    let path = folder.write("a.csv", text);
    let sql = format!(
        "SELECT delimiter, quote, skiprows, hasheader, columns, dateformat, sampledrows FROM sniff_csv('{path}')"
    );
    assert_eq!(
        rows(&session, &sql),
        [
            ";|'|1|true|[{'name': id, 'type': BIGINT}, {'name': day, 'type': DATE}, {'name': note, 'type': VARCHAR}]|%d/%m/%Y|2"
        ]
    );
    let call = rows(&session, &format!("SELECT prompt FROM sniff_csv('{path}')")).remove(0);
    let call = call.trim_end_matches(';');
    assert!(call.contains("auto_detect => false"), "{call}");
    assert_eq!(rows(&session, call), rows(&session, &format!("SELECT * FROM '{path}'")));
    assert_eq!(columns(&session, call), columns(&session, &format!("SELECT * FROM '{path}'")));
    let path = folder.write("b.csv", "d\n01/02/2024\n");
    let notes = rows(&session, &format!("SELECT notes FROM sniff_csv('{path}')")).remove(0);
    assert!(notes.contains("day or month first"), "{notes}");
    assert_eq!(error(&session, "SELECT * FROM sniff_csv('no/such.csv')").state(), SqlState::UndefinedFile);
}

#[test]
fn options_as_others_have_them() {
    let folder = Folder::new("options");
    let session = session();
    let path = folder.write("a.csv", "x;y;z\n1.234,5;NA;02-2024-03\n7;-;03-2024-04\n");
    let read = |options: &str| rows(&session, &format!("SELECT * FROM read_csv('{path}', {options})"));
    assert_eq!(
        read(
            "delim = ';', decimal_separator = ',', thousands = '.', nullstr = ['NA', '-'], dateformat = '%m-%Y-%d', header = true"
        ),
        ["1234.5|NULL|2024-02-03", "7|NULL|2024-03-04"]
    );
    assert_eq!(read("all_varchar => true, skip => 1, header => false")[0], "1.234,5|NA|02-2024-03");
    assert_eq!(read("names => ['a', 'b', 'c'], header => true, all_varchar => true").len(), 2);
    assert_eq!(
        columns(&session, &format!("SELECT * FROM read_csv('{path}', types => {{'x': 'VARCHAR'}})")),
        "x TEXT, y TEXT, z TEXT"
    );
    let path = folder.write("b.csv", "1,2\n3\n4,5\n");
    let typed = format!(
        "FROM read_csv('{path}', columns => {{'a': 'INTEGER', 'b': 'DECIMAL(5,2)'}}, null_padding => true)"
    );
    assert_eq!(rows(&session, &format!("SELECT a, b {typed}")), ["1|2.00", "3|NULL", "4|5.00"]);
    let padded = folder.write("d.csv", "a,b\n1,2,3\n4,5\n");
    let padded = format!("SELECT * FROM read_csv('{padded}', null_padding => true)");
    assert_eq!(columns(&session, &padded), "a BIGINT, b BIGINT, column2 BIGINT");
    assert_eq!(rows(&session, &padded), ["1|2|3", "4|5|NULL"]);
    let short = error(
        &session,
        &format!("SELECT * FROM read_csv('{path}', columns => {{'a': 'INTEGER', 'b': 'INTEGER'}})"),
    );
    assert!(short.message().contains("line 2: 1 values where there are 2 columns"), "{short}");
    assert!(short.hint().is_some_and(|h| h.contains("null_padding")), "{short:?}");
    let path = folder.write("c.csv", "a,b\nsay \"hi\",1\n\"x\"y\", 2\n");
    assert_eq!(error(&session, &format!("SELECT * FROM '{path}'")).state(), SqlState::BadCopyFormat);
    assert_eq!(
        rows(&session, &format!("SELECT * FROM read_csv('{path}', strict => false)")),
        ["say \"hi\"|1", "x\"y|2"]
    );
    session.query("CREATE TABLE t (a TEXT, b INTEGER)").expect("a table");
    session.query(&format!("COPY t FROM '{path}' (FORMAT csv, STRICT false, HEADER)")).expect("rows");
    assert_eq!(rows(&session, "SELECT count(*), sum(b) FROM t"), ["2|3"]);
    for (options, state) in [
        ("nulstr => 'x'", SqlState::InvalidParameterValue),
        ("types => {'nothing': 'INTEGER'}", SqlState::UndefinedColumn),
        ("types => ['NONSENSE']", SqlState::UndefinedObject),
        ("skip => -1", SqlState::InvalidParameterValue),
        ("dateformat => '%Q'", SqlState::InvalidParameterValue),
        ("decimal_separator => ',', thousands => ','", SqlState::InvalidParameterValue),
    ] {
        let sql = format!("SELECT * FROM read_csv('{path}', {options})");
        assert_eq!(error(&session, &sql).state(), state, "{options}");
    }
    let e = error(&session, &format!("SELECT * FROM read_csv('{path}', null_str => 'x')"));
    assert!(e.hint().is_some_and(|h| h.contains("did you mean \"nullstr\"")), "{e:?}");
}

#[test]
fn rejects_are_left_out_and_noted() {
    let folder = Folder::new("rejects");
    let session = session();
    let mut text = String::from("id,name,day\n");
    for i in 0..5000 {
        text.push_str(&match i {
            100 => "x,bad id,2024-01-01\n".to_owned(),
            200 => "200,bad day,2024-13-01\n".to_owned(),
            300 => "300,too few\n".to_owned(),
            400 => "400,stray \" quote,2024-01-01\n".to_owned(),
            500 => "500,\"two\nlines\",2024-01-01\n".to_owned(),
            _ => format!("{i},name {i},2024-01-{:02}\n", i % 28 + 1),
        });
    }
    let path = folder.write("a.csv", &text);
    let types = "columns => {'id': 'BIGINT', 'name': 'VARCHAR', 'day': 'DATE'}, header => true";
    let ignored = format!("read_csv('{path}', {types}, ignore_errors => true)");
    assert_eq!(
        rows(&session, &format!("SELECT count(*), sum(id), count(day) FROM {ignored}")),
        [format!("4996|{}|4996", 4999 * 5000 / 2 - 1000)]
    );
    // Which records are bad does not depend on the columns that are read.
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM {ignored}")), ["4996"]);
    assert_eq!(error(&session, "SELECT * FROM reject_errors").state(), SqlState::UndefinedTable);
    session
        .query(&format!("SELECT * FROM read_csv('{path}', {types}, store_rejects => true)"))
        .expect("rows");
    assert_eq!(
        rows(&session, "SELECT line, column_name, csv_line FROM reject_errors ORDER BY line"),
        [
            "102|id|x,bad id,2024-01-01",
            "202|day|200,bad day,2024-13-01",
            "302|day|300,too few",
            "402|name|400,stray \" quote,2024-01-01",
        ]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT column_idx, error_type, byte_position - line_byte_position FROM reject_errors ORDER BY line"
        ),
        ["1|CAST|0", "3|CAST|12", "3|MISSING COLUMNS|11", "2|UNQUOTED VALUE|10"]
    );
    let causes = rows(
        &session,
        "SELECT file_path, error_message FROM reject_errors JOIN reject_scans USING (scan_id, file_id) ORDER BY line",
    );
    assert!(causes[0].starts_with(&path) && causes[0].contains("\"x\" is no BIGINT"), "{causes:?}");
    assert!(causes[2].contains("2 values where there are 3 columns"), "{causes:?}");
    session.query("CREATE TABLE t (id BIGINT, name TEXT, day DATE)").expect("a table");
    session.query(&format!("COPY t FROM '{path}' (HEADER, REJECTS_TABLE 'bad')")).expect("rows");
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["4996"]);
    assert_eq!(rows(&session, "SELECT count(*), min(scan_id), max(line) FROM bad"), ["4|2|402"]);
    session.query("CREATE VIEW bad AS SELECT 7 AS seven").expect("a view");
    assert_eq!(rows(&session, "SELECT seven FROM bad"), ["7"]);
    // A quote that does not end takes one line with it, not the rest of the file.
    let path = folder.write("b.csv", "a,b\n1,x\n2,\"y\n3,z\n");
    let sql = format!(
        "SELECT a FROM read_csv('{path}', store_rejects => true, rejects_table => 'unclosed') ORDER BY a"
    );
    assert_eq!(rows(&session, &sql), ["1", "3"]);
    assert_eq!(rows(&session, "SELECT line, csv_line FROM unclosed"), ["3|2,\"y"]);
    // The query that asks for a PIVOT's values sees the rejects, and notes none.
    let file = format!("SELECT a FROM read_csv('{path}', store_rejects => true, rejects_table => 'pivoted')");
    assert_eq!(rows(&session, &format!("PIVOT ({file}) ON a USING count(*)")), ["1|1"]);
    assert_eq!(rows(&session, "SELECT line, csv_line FROM pivoted"), ["3|2,\"y"]);
    assert_eq!(rows(&session, "PIVOT (SELECT line FROM pivoted) ON line USING count(*)"), ["1"]);
}

/// The answers are those of DuckDB, which counts positions from 1.
#[test]
fn rejects_have_duckdbs_two_tables() {
    let folder = Folder::new("two-tables");
    let session = session();
    let path = folder.write("a.csv", "1,2,AAA\n4,BBB,9\n6\n7,8,9,10,11\n");
    let columns = "columns => {'a': 'INTEGER', 'b': 'INTEGER', 'c': 'VARCHAR'}, auto_detect => false";
    let read = |options: &str| format!("SELECT * FROM read_csv('{path}', {columns}, {options})");
    assert_eq!(rows(&session, &read("store_rejects => true")), ["1|2|AAA"]);
    let errors = "SELECT file_id, line, line_byte_position, byte_position, column_idx, column_name, error_type, csv_line \
                  FROM reject_errors ORDER BY line, column_idx";
    assert_eq!(
        rows(&session, errors),
        [
            "0|2|9|11|2|b|CAST|4,BBB,9",
            "0|3|17|18|2|b|MISSING COLUMNS|6",
            "0|3|17|18|3|c|MISSING COLUMNS|6",
            "0|4|19|24|4|NULL|TOO MANY COLUMNS|7,8,9,10,11",
            "0|4|19|27|5|NULL|TOO MANY COLUMNS|7,8,9,10,11",
        ]
    );
    let scans = "SELECT file_id, delimiter, quote, newline_delimiter, skip_rows, has_header, columns FROM reject_scans";
    assert_eq!(rows(&session, scans), ["0|,|\"|\\n|0|false|{'a': 'INTEGER','b': 'INTEGER','c': 'TEXT'}"]);
    session.query("DROP TABLE reject_errors").expect("rejects");
    session.query("DROP TABLE reject_scans").expect("scans");
    for gone in ["reject_errors", "reject_scans"] {
        assert_eq!(error(&session, &format!("SELECT * FROM {gone}")).state(), SqlState::UndefinedTable);
        assert_eq!(error(&session, &format!("DROP TABLE {gone}")).state(), SqlState::UndefinedTable);
    }
    let named = "rejects_table => 'e', rejects_scan => 's', rejects_limit => 2";
    assert_eq!(rows(&session, &read(named)), ["1|2|AAA"]);
    assert_eq!(rows(&session, "SELECT count(*) FROM e JOIN s USING (scan_id, file_id)"), ["2"]);
    for wrong in [
        "rejects_limit => 2",
        "store_rejects => true, rejects_limit => -1",
        "store_rejects => true, ignore_errors => false",
        "rejects_table => 'x', rejects_scan => 'x'",
    ] {
        assert_eq!(error(&session, &read(wrong)).state(), SqlState::InvalidParameterValue, "{wrong}");
    }
}

#[test]
fn columns_are_found_among_candidates() {
    let folder = Folder::new("candidates");
    let session = session();
    let path = folder.write("a.csv", "1|1.1|bla\n");
    let types = |candidates: &str| {
        let sql = format!(
            "SELECT typeof(column0), typeof(column1), typeof(column2) FROM read_csv('{path}', header => false, \
             auto_type_candidates => {candidates})"
        );
        rows(&session, &sql).concat()
    };
    assert_eq!(types("['BIGINT', 'DOUBLE', 'VARCHAR']"), "BIGINT|DOUBLE PRECISION|TEXT");
    assert_eq!(types("['BIGINT', 'VARCHAR']"), "BIGINT|TEXT|TEXT");
    assert_eq!(types("['VARCHAR']"), "TEXT|TEXT|TEXT");
    assert_eq!(types("['SMALLINT', 'BIGINT', 'DOUBLE', 'REAL', 'VARCHAR']"), "SMALLINT|REAL|TEXT");
    assert_eq!(types("['NULL', 'DECIMAL(4, 1)', 'VARCHAR']"), "DECIMAL(4,1)|DECIMAL(4,1)|TEXT");
    let path = folder.write("b.csv", "A,Größe in m, Größe in m ,select,2x\n1,2,3,4,5\n");
    let sql = format!("SELECT * FROM (DESCRIBE SELECT * FROM read_csv('{path}', normalize_names => true))");
    let names: Vec<String> =
        rows(&session, &sql).iter().map(|row| row.split('|').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(names, ["a", "groe_in_m", "groe_in_m_1", "_select", "_2x"]);
}

#[test]
fn odd_files_are_read_or_refused() {
    let folder = Folder::new("odd");
    let session = session();
    let long = format!("a,b\n1,{}\n2,x\n", "y".repeat(10 << 20));
    let path = folder.write("long.csv", long);
    assert_eq!(rows(&session, &format!("SELECT a, length(b) FROM '{path}'")), ["1|10485760", "2|1"]);
    let path = folder.write("longer.csv", format!("a,b\n1,{}\n2,x\n", "y".repeat(40 << 20)));
    let e = error(&session, &format!("SELECT * FROM '{path}'"));
    assert!(e.message().contains("line 2") && e.message().contains("32 MiB"), "{e}");
    let path = folder.write("latin.csv", b"a,b\n1,caf\xE9\n2,x\n");
    let e = error(&session, &format!("SELECT * FROM '{path}'"));
    assert!(e.message().contains("line 2, column \"b\"") && e.message().contains("UTF-8"), "{e}");
    assert_eq!(rows(&session, &format!("SELECT a FROM '{path}'")), ["1", "2"]);
    assert_eq!(rows(&session, &format!("SELECT * FROM read_csv('{path}', ignore_errors => true)")), ["2|x"]);
    let path = folder.write("nul.csv", b"a,b\n1,x\0y\n2,z\n");
    assert_eq!(rows(&session, &format!("SELECT a, length(b) FROM '{path}'")), ["1|3", "2|1"]);
    let path = folder.write("zero.csv", vec![0; 100_000]);
    assert_eq!(error(&session, &format!("SELECT * FROM '{path}'")).state(), SqlState::BadCopyFormat);
    // Quoted line ends at every border of the ranges that are read in parallel.
    let mut text = String::from("n,t\n");
    for i in 0..200_000 {
        text.push_str(&format!("{i},\"a\n\"\"{i}\"\"\n\"\n"));
    }
    let path = folder.write("quoted.csv", &text);
    let sums = "SELECT count(*), sum(n), count(DISTINCT t), max(length(t))";
    let expected = [format!("200000|{}|200000|11", 199_999u64 * 200_000 / 2)];
    assert_eq!(rows(&session, &format!("{sums} FROM '{path}'")), expected);
    assert_eq!(rows(&session, &format!("{sums} FROM read_csv('{path}', ignore_errors => true)")), expected);
    assert_eq!(rows(&session, &format!("{sums} FROM read_csv('{path}', strict => false)")), expected);
}

#[test]
fn nested_values_of_json_files_have_types() {
    let folder = Folder::new("nested-json");
    let session = session();
    let path = folder.write(
        "orders.json",
        concat!(
            "{\"id\": 1, \"tags\": [\"a\", \"b\\\"c\"], \"at\": {\"x\": 1, \"y\": 2.5}, \"days\": [\"2024-01-01\", null], ",
            "\"items\": [{\"sku\": \"p\", \"n\": 2}, {\"sku\": \"q\"}], \"any\": {\"a\": 1}, \"few\": [1, \"x\"], \"none\": []}\n",
            "{\"id\": 2, \"tags\": [], \"at\": null, \"days\": [], \"items\": null, \"any\": [1], \"few\": [], \"none\": []}\n",
            "{\"id\": 3, \"at\": {\"y\": 1, \"z\": {\"deep\": [[1]]}}, \"items\": [{\"n\": 3, \"more\": true}], \"any\": \"s\"}\n",
        ),
    );
    assert_eq!(
        columns(&session, &format!("SELECT * FROM '{path}'")),
        "id BIGINT, tags TEXT[], at STRUCT(x BIGINT, y DOUBLE PRECISION, z STRUCT(deep BIGINT[][])), days DATE[], \
         items STRUCT(sku TEXT, n BIGINT, more BOOLEAN)[], any JSON, few TEXT[], none JSON[]"
    );
    assert_eq!(
        rows(
            &session,
            &format!("SELECT id, tags[2], at.y, at.z.deep[1][1], days[1], any, few FROM '{path}'")
        ),
        [
            "1|b\"c|2.5|NULL|2024-01-01|{\"a\": 1}|[1, x]",
            "2|NULL|NULL|NULL|NULL|[1]|[]",
            "3|NULL|1|1|NULL|\"s\"|NULL"
        ]
    );
    assert_eq!(
        rows(&session, &format!("SELECT id, u.i.sku, u.i.n, u.i.more FROM '{path}', unnest(items) AS u(i)")),
        ["1|p|2|NULL", "1|q|NULL|NULL", "3|NULL|3|true"]
    );
    // Types that are said.
    let said = "columns => {'id': 'INTEGER', 'at': 'STRUCT(y DECIMAL(4,1), z JSON)', 'items': 'STRUCT(n INTEGER)[]', 'any': 'JSON'}";
    let query = format!("SELECT id, at.y, at.z, items[1].n, any FROM read_json('{path}', {said})");
    assert_eq!(
        rows(&session, &query),
        ["1|2.5|NULL|2|{\"a\": 1}", "2|NULL|NULL|NULL|[1]", "3|1.0|{\"deep\": [[1]]}|3|\"s\""]
    );
    let map = format!("SELECT at['y'] FROM read_json('{path}', columns => {{'at': 'MAP(TEXT, JSON)'}})");
    assert_eq!(rows(&session, &map), ["2.5", "NULL", "1"]);
    let wrong = format!("SELECT at FROM read_json('{path}', columns => {{'at': 'STRUCT(x DATE)'}})");
    assert_eq!(error(&session, &wrong).state(), SqlState::InvalidDatetimeFormat);
    let unknown = format!("SELECT at FROM read_json('{path}', columns => {{'at': 'STRUCT(x NOTHING)'}})");
    assert_eq!(error(&session, &unknown).state(), SqlState::UndefinedObject);
}

#[test]
fn json_lines_arrays_and_values() {
    let folder = Folder::new("json");
    let session = session();
    let lines = "{\"a\": 1, \"b\": \"x\", \"c\": 1.5, \"d\": true, \"e\": \"2024-01-02\"}\n\
                 {\"b\": \"say \\\"hi\\\" \\u00e9\", \"a\": null, \"f\": \"2024-01-02T03:04:05\"}\n\
                 \n{\"a\": 12345678901, \"c\": 2, \"d\": false, \"b\": \"\"}\n";
    let expected = [
        "1|x|1.5|true|2024-01-02|NULL",
        "NULL|say \"hi\" é|NULL|NULL|NULL|2024-01-02 03:04:05",
        "12345678901||2|false|NULL|NULL",
    ];
    let types = "a BIGINT, b TEXT, c DOUBLE PRECISION, d BOOLEAN, e DATE, f TIMESTAMP";
    let records: Vec<&str> = lines.lines().filter(|l| !l.is_empty()).collect();
    for (name, text) in [
        ("lines.json", lines.to_owned()),
        ("lines.ndjson", format!("\u{FEFF}{}", lines.replace('\n', "\r\n"))),
        ("array.json", format!(" [\n{}\n]\n", records.join(" ,\n"))),
        ("values.json", records.join("\n").replace(", ", ",\n")),
    ] {
        let path = folder.write(name, &text);
        let sql = format!("SELECT * FROM '{path}'");
        assert_eq!(columns(&session, &sql), types, "{name}");
        assert_eq!(rows(&session, &sql), expected, "{name}");
        assert_eq!(
            rows(&session, &format!("SELECT d, a FROM read_json('{path}') WHERE c = 2")),
            ["false|12345678901"],
            "{name}"
        );
        assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), ["3"], "{name}");
    }
}

#[test]
fn json_of_scalars_and_given_types() {
    let folder = Folder::new("json-typed");
    let session = session();
    let path = folder.write("scalars.json", "[1, 2, null, 3]");
    assert_eq!(rows(&session, &format!("SELECT sum(json), count(*) FROM '{path}'")), ["6|4"]);
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), ["4"]);
    let path = folder.write("named.json", "{\"json\": 1}\n{\"json\": 2}\n");
    assert_eq!(rows(&session, &format!("SELECT sum(json) FROM '{path}'")), ["3"]);
    let path = folder.write("nested.json", "{\"a\": {\"b\": [1, 2]}, \"c\": [ ]}\n");
    assert_eq!(rows(&session, &format!("SELECT CAST(a AS TEXT), CAST(c AS TEXT) FROM '{path}'")).len(), 1);
    let path = folder.write("typed.json", "{\"a\": \"7\", \"x\": 1}\n{\"a\": 8}\n");
    let sql = format!("SELECT * FROM read_json('{path}', columns => {{'a': 'INTEGER', 'y': 'DATE'}})");
    assert_eq!(rows(&session, &sql), ["7|NULL", "8|NULL"]);
    session.query("CREATE TABLE t (y DATE, a INTEGER)").expect("a table");
    session.query(&format!("COPY t FROM '{path}'")).expect("rows");
    assert_eq!(rows(&session, "SELECT * FROM t ORDER BY a"), ["NULL|7", "NULL|8"]);
    // Nested values and JSON are read as JSON, strings with their quotes and escapes.
    let deep = "{\"l\": [\"a\\nb\", \"\\u00e9\", null], \"j\": \"x\", \"k\": {\"a\": [1]}}\n";
    let path = folder.write("deep.json", deep);
    let types = "columns => {'l': 'TEXT[]', 'j': 'JSON', 'k': 'JSON'}";
    assert_eq!(
        rows(&session, &format!("SELECT length(l[1]), l[2], l[3], j, k FROM read_json('{path}', {types})")),
        ["3|é|NULL|\"x\"|{\"a\": [1]}"]
    );
    session.query("CREATE TABLE deep (l TEXT[], k STRUCT(a INTEGER[]), j JSON)").expect("a table");
    session.query(&format!("COPY deep FROM '{path}'")).expect("rows");
    assert_eq!(rows(&session, "SELECT length(l[1]), k.a[1], j FROM deep"), ["3|1|\"x\""]);
    let path = folder.write("wide.csv", "a\n1e400\n");
    let e = error(&session, &format!("SELECT * FROM read_csv('{path}', types => {{'a': 'DOUBLE'}})"));
    assert_eq!(e.state(), SqlState::NumericValueOutOfRange);
}

#[test]
fn odd_json_is_read_as_it_is_written() {
    let folder = Folder::new("json-odd");
    let session = session();
    // Numbers beyond DOUBLE PRECISION and values nested deeply are kept as their text.
    let deep = format!("{{\"a\": 1, \"b\": 1e999, \"c\": {}{}}}\n", "[".repeat(500), "]".repeat(500));
    let path = folder.write("odd.json", deep);
    assert_eq!(rows(&session, &format!("SELECT a, b, length(c) FROM '{path}'")), ["1|1e999|1000"]);
    // One object that is longer than what is looked at, and one with more keys than can be columns.
    let path = folder.write("one.json", format!("{{\n\"a\": 7,\n\"b\": \"{}\"\n}}\n", "x".repeat(9 << 20)));
    assert_eq!(rows(&session, &format!("SELECT a, length(b) FROM '{path}'")), ["7|9437184"]);
    let keys: Vec<String> = (0..2000).map(|key| format!("\"k{key}\": {key}")).collect();
    let path = folder.write("keys.json", format!("{{{}}}\n", keys.join(", ")));
    assert_eq!(rows(&session, &format!("SELECT json ->> 'k1999' FROM '{path}'")), ["1999"]);
    // Nothing is there, and nothing is wrong with that.
    for empty in ["", " \n", "[]", "[ ]\n", "[][]\n"] {
        let path = folder.write("empty.json", empty);
        let sql = format!("SELECT * FROM '{path}'");
        assert_eq!(
            (columns(&session, &sql), rows(&session, &sql).len()),
            ("json JSON".to_owned(), 0),
            "{empty:?}"
        );
    }
    // Several values on a line, and lines that end as on old Macintoshes.
    for many in [
        "{\"a\": 1} {\"a\": 2}\n{\"a\": 3}\n",
        "{\"a\": 1}{\"a\": 2}{\"a\": 3}",
        "{\"a\": 1}\r{\"a\": 2}\r{\"a\": 3}\r",
    ] {
        let path = folder.write("many.json", many);
        assert_eq!(rows(&session, &format!("SELECT a FROM '{path}'")), ["1", "2", "3"], "{many:?}");
    }
    // Numbers that no type holds stay as they are written.
    let path = folder.write("huge.json", "[1e999]");
    assert_eq!(rows(&session, &format!("SELECT * FROM '{path}'")), ["1e999"]);
    let path = folder.write("comma.json", "\n{\"a\": 1,}\n");
    let message = error(&session, &format!("SELECT * FROM '{path}'")).message().to_owned();
    assert!(message.contains("is no JSON: ") && message.ends_with("at: }"), "{message}");
}

#[test]
fn json_that_copy_writes_is_read_back() {
    let folder = Folder::new("json-copied");
    let session = session();
    // What COPY writes is read back, packed or not, in parallel.
    session.query("CREATE TABLE big AS SELECT i AS n, 'w\"' || CAST(i AS TEXT) AS w FROM generate_series(1, 150000) AS t(i)").expect("a table");
    for name in ["big.json", "big.ndjson", "big.ndjson.gz", "big.json.zst"] {
        let path = folder.0.join(name).to_string_lossy().into_owned();
        session.query(&format!("COPY big TO '{path}'")).expect(name);
        assert_eq!(
            rows(&session, &format!("SELECT count(*), sum(n), max(w), count(DISTINCT w) FROM '{path}'")),
            rows(&session, "SELECT count(*), sum(n), max(w), count(DISTINCT w) FROM big"),
            "{name}"
        );
    }
}

#[test]
fn faults_in_json_have_their_place() {
    let folder = Folder::new("faults");
    let session = session();
    let wrong = |text: &str| {
        let path = folder.write("a.json", text);
        let sql = format!("SELECT * FROM read_json('{path}', columns => {{'a': 'INTEGER', 'b': 'VARCHAR'}})");
        (error(&session, &sql).message().replace(&path, "FILE"), path)
    };
    let good = "{\"a\": 1}\n";
    let (message, path) = wrong(&format!("{good}{{\"a\": 2,}}\n{good}"));
    assert!(message.starts_with("\"FILE\", line 2: character 9: trailing comma"), "{message}");
    let count = format!("SELECT count(*) FROM read_json('{path}', store_rejects => true)");
    assert_eq!(rows(&session, &count), ["2"]);
    assert_eq!(rows(&session, "SELECT line, csv_line FROM reject_errors"), ["2|{\"a\": 2,}"]);
    let (message, _) = wrong(&format!("{good}{{\"a\": \"x\"}}\n"));
    assert!(message.starts_with("\"FILE\", line 2, column \"a\": \"x\" is no INTEGER"), "{message}");
    let (message, _) = wrong(&format!("{good}[1]\n"));
    assert!(message.starts_with("\"FILE\", line 2"), "{message}");
    let (message, _) = wrong("[{\"a\": 1},\n {\"a\": 2}\n {\"a\": 3}]");
    assert!(message.starts_with("\"FILE\", line 3: character 2: expected `,` or `]`"), "{message}");
    let (message, _) = wrong("[{\"a\": 1},\n {\"a\": 2}");
    assert!(message.contains("does not end"), "{message}");
    let (message, _) = wrong(&"[".repeat(100_000));
    assert!(!message.is_empty());
    let (message, _) = wrong(&format!("{{\"a\": {}", "[".repeat(100_000)));
    assert!(!message.is_empty());
}

/// A file is read a megabyte at a time; a number that lies across the end of one is read as a whole.
#[test]
fn numbers_of_json_are_read_across_buffers() {
    const BUFFER: usize = 1 << 20;
    let (folder, session) = (Folder::new("across"), session());
    let head = "[{\"a\":1},{\"a\":";
    for number in ["-5", "0.5", "1e5", "-12.5e+3", "12345678901234567890123", "true", "\"x\\u00e9y\""] {
        for cut in 0..=number.len() {
            let spaces = " ".repeat(BUFFER - head.len() - cut);
            let text = format!("[{{\"a\":1}},{spaces}{{\"a\":{number}}},{{\"a\":2}}]");
            let path = folder.write("across.json", &text);
            let near = folder.write("near.json", format!("[{{\"a\":1}},{{\"a\":{number}}},{{\"a\":2}}]"));
            let read = |path: &str| rows(&session, &format!("SELECT a FROM '{path}'"));
            assert_eq!(read(&path), read(&near), "{number} cut behind {cut}");
        }
    }
}

#[test]
fn nulls_in_objects_are_null() {
    let (folder, session) = (Folder::new("nulls"), session());
    let path = folder.write("n.json", "{\"c\":{\"x\":null,\"y\":1}}\n{\"c\":{\"x\":null,\"y\":2}}\n");
    assert_eq!(rows(&session, &format!("SELECT c.x IS NULL, count(*) FROM '{path}' GROUP BY 1")), ["true|2"]);
}

#[test]
fn digits_of_json_numbers_stay() {
    let (folder, session) = (Folder::new("digits"), session());
    for number in ["12345678901234567890123", "-98765432109876543210987", "0.12345678901234567890123"] {
        let path = folder.write("d.json", format!("[{{\"a\":{number}}}]"));
        assert_eq!(rows(&session, &format!("SELECT a::text FROM '{path}'")), [number]);
        let path = folder.write("e.json", format!("[{{\"o\":{{\"a\":{number}}}}}]"));
        assert_eq!(rows(&session, &format!("SELECT o.a::text FROM '{path}'")), [number]);
    }
}

#[test]
fn signs_and_zeros_of_csv_stay() {
    let (folder, session) = (Folder::new("signs"), session());
    let path = folder.write("dot.csv", "id,rate\n1,.097\n2,.5\n");
    assert_eq!(columns(&session, &format!("FROM '{path}'")), "id BIGINT, rate DOUBLE PRECISION");
    assert_eq!(rows(&session, &format!("FROM '{path}'")), ["1|0.097", "2|0.5"]);
    let path = folder.write("phone.csv", "n,phone\n1,+4915112345\n2,+4915112346\n");
    assert_eq!(rows(&session, &format!("FROM '{path}'")), ["1|+4915112345", "2|+4915112346"]);
    let path = folder.write("zip.csv", "n,zip\n1,01067\n2,10115\n");
    assert_eq!(rows(&session, &format!("SELECT zip FROM '{path}'")), ["01067", "10115"]);
    // What comes behind the rows that the type was guessed from is not changed in silence.
    let many: String = (0..50_000).map(|n| format!("{n},{}\n", 10_000 + n)).collect();
    for late in ["01067", "+4915112345"] {
        let path = folder.write("late.csv", format!("n,zip\n{many}7,{late}\n"));
        let error = error(&session, &format!("SELECT sum(zip) FROM read_csv('{path}', sample_size => 1000)"));
        assert!(format!("{error} {:?}", error.hint()).contains("sample_size"), "{error} {:?}", error.hint());
        let all = format!("SELECT zip FROM read_csv('{path}', sample_size => -1) WHERE n = 7");
        assert!(rows(&session, &all).contains(&late.to_owned()), "{late}");
    }
}

#[test]
fn delimiters_have_several_characters() {
    let (folder, session) = (Folder::new("delimiters"), session());
    let path = folder.write("a.csv", "a||b||c\n1||x|y||\"q||\"\"r\"\n2||||3|\n|||4||\n");
    let read = |path: &str, options: &str| {
        rows(&session, &format!("SELECT * FROM read_csv('{path}', {options}, all_varchar => true)"))
    };
    // Of three signs the first two are the delimiter, as in DuckDB.
    assert_eq!(read(&path, "delim => '||'"), ["1|x|y|q||\"r", "2|NULL|3|", "NULL||4|NULL"]);
    let sniffed = rows(&session, &format!("SELECT delimiter FROM sniff_csv('{path}', delim => '||')"));
    assert_eq!(sniffed, ["||"]);
    let call = rows(&session, &format!("SELECT prompt FROM sniff_csv('{path}', delim => '||')")).remove(0);
    assert_eq!(rows(&session, call.trim_end_matches(';')).len(), 3);
    // One character of several bytes, and what ends like it.
    let path = folder.write("b.csv", "a§b\nä§\u{2a7}\n1§2\n");
    assert_eq!(read(&path, "delim => '§'"), ["ä|\u{2a7}", "1|2"]);
    // The same rows as with one character, wherever buffers end.
    let line = |at: usize, by: &str| format!("{at}{by}<->{by}\"x{by}{at}\"{by}{}", "-".repeat(at % 5));
    for (by, name) in [(",", "one.csv"), ("<-|>", "four.csv"), ("||", "two.csv")] {
        let text: String = (0..3000).map(|at| line(at, by) + "\n").collect();
        folder.write(name, format!("n{by}a{by}b{by}c\n{text}"));
    }
    let all = "header => true, columns => {'n': 'BIGINT', 'a': 'VARCHAR', 'b': 'VARCHAR', 'c': 'VARCHAR'}";
    let of = |name: &str, by: &str, bytes: usize| {
        let path = folder.path(name);
        let sql = format!(
            "SELECT n, a, replace(b, '{by}', ','), c FROM read_csv('{path}', delim => '{by}', buffer_size => {bytes}, {all})"
        );
        rows(&session, &sql)
    };
    let expected = of("one.csv", ",", 1 << 20);
    assert_eq!(expected.len(), 3000);
    for bytes in [1, 7, 64, 4096, 1 << 20] {
        assert_eq!(of("four.csv", "<-|>", bytes), expected, "{bytes}");
        assert_eq!(of("two.csv", "||", bytes), expected, "{bytes}");
    }
    // What is written is read back.
    let written = folder.path("written.csv");
    let values = "(VALUES (1, 'a|', '||'), (2, '|', 'x\"|\"'), (3, NULL, '')) AS t(n, a, b)";
    session.execute(&format!("COPY (FROM {values}) TO '{written}' (DELIMITER '||')")).unwrap();
    assert_eq!(
        rows(&session, &format!("SELECT n, a, b FROM read_csv('{written}', delim => '||')")),
        rows(&session, &format!("SELECT * FROM {values}"))
    );
    for (options, said) in [
        ("delim => '|\"'", "different characters"),
        ("delim => 'abcde'", "at most four bytes"),
        ("delim => '#!', comment => '#'", "different characters"),
    ] {
        let error = error(&session, &format!("FROM read_csv('{written}', {options})"));
        assert!(format!("{error} {:?}", error.hint()).contains(said), "{options}: {error}");
    }
}

#[test]
fn headers_are_found() {
    let (folder, session) = (Folder::new("headers"), session());
    for (text, names) in [
        (",name,city\n0,Ada,Oslo\n1,Bob,Rome\n", "name VARCHAR, city VARCHAR"),
        ("Country Name,2019,2020\nAtlantis,1,2\n", "Country Name VARCHAR, 2019 BIGINT, 2020 BIGINT"),
        ("a,b\n1,2\n", "a BIGINT, b BIGINT"),
    ] {
        let path = folder.write("h.csv", text);
        let found = columns(&session, &format!("FROM '{path}'"));
        assert!(found.replace("TEXT", "VARCHAR").ends_with(names), "{text}: {found}");
    }
    let path = folder.write("none.csv", "1.5,2\n3,4\n");
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{path}'")), ["2"]);
}
