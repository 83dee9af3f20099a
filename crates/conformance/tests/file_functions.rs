//! Functions that give files, or what files say of themselves; and texts in other encodings than UTF-8.
//!
//! The tests write files into a folder of their own and compare rows as text. They cover `read_text`, `read_blob` and
//! `glob`, the metadata functions of Parquet files, and text in UTF-16 and other encodings.

use conformance::asked::{columns, error, rows};
use conformance::folder::Folder;
use engine::{Database, Options, Session};
use types::SqlState;

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

#[test]
fn files_are_values() {
    let (folder, session) = (Folder::new("values"), session());
    let one = folder.write("y=1/one.txt", "Hello\nß");
    let two = folder.write("y=1/two.bin", [0u8, 255, 1]);
    let all = folder.path("y=1/*");
    assert_eq!(
        columns(&session, &format!("SELECT * FROM read_text('{one}')")),
        "filename TEXT, content TEXT, size BIGINT, last_modified TIMESTAMPTZ"
    );
    assert_eq!(
        columns(&session, &format!("SELECT * FROM read_blob('{one}')")),
        "filename TEXT, content BYTEA, size BIGINT, last_modified TIMESTAMPTZ"
    );
    let text = format!("SELECT filename, content, size FROM read_text('{one}')");
    assert_eq!(rows(&session, &text), [format!("{one}|Hello\nß|8")]);
    let blob = format!("SELECT content, size FROM read_blob(['{two}', '{one}'])");
    assert_eq!(rows(&session, &blob), ["\\x00ff01|3", "\\x48656c6c6f0ac39f|8"]);
    // What is not asked for is not read: the second file is no text.
    let sizes = format!("SELECT size FROM read_text('{all}') ORDER BY size");
    assert_eq!(rows(&session, &sizes), ["3", "8"]);
    let fresh = "last_modified > now() - INTERVAL '1 hour' AND last_modified <= now() + INTERVAL '1 minute'";
    let recent = format!("SELECT count(*) FROM read_blob('{all}') WHERE {fresh}");
    assert_eq!(rows(&session, &recent), ["2"]);
    let wrong = error(&session, &format!("SELECT content FROM read_text('{all}')"));
    assert!(wrong.message().contains("two.bin") && wrong.message().contains("byte 1"), "{wrong}");
    assert!(wrong.hint().is_some_and(|hint| hint.contains("read_blob")), "{wrong:?}");
    assert_eq!(error(&session, "SELECT * FROM read_text('no/such')").state(), SqlState::UndefinedFile);
    let option = error(&session, &format!("SELECT * FROM read_text('{one}', header => true)"));
    assert!(option.message().contains("header"), "{option}");
    let none = error(&session, "SELECT * FROM read_blob()");
    assert!(none.message().contains("takes a path"), "{none}");
    // An empty file is an empty value.
    let empty = folder.write("empty", "");
    assert_eq!(rows(&session, &format!("SELECT length(content), size FROM read_text('{empty}')")), ["0|0"]);
    assert_eq!(
        rows(&session, &format!("SELECT length(content) FROM read_blob('{all}') ORDER BY 1")),
        ["3", "8"]
    );
    session.query(&format!("CREATE TABLE t AS SELECT * FROM read_blob('{all}')")).expect("a table");
    assert_eq!(rows(&session, "SELECT sum(length(content)) FROM t"), ["11"]);
}

#[test]
fn patterns_name_files() {
    let (folder, session) = (Folder::new("glob"), session());
    let (a, b) = (folder.write("a.csv", "x\n1\n"), folder.write("d/b.csv", "x\n2\n"));
    let glob = |pattern: &str| rows(&session, &format!("SELECT file FROM glob({pattern})"));
    assert_eq!(columns(&session, &format!("SELECT * FROM glob('{a}')")), "file TEXT");
    assert_eq!(glob(&format!("'{}'", folder.path("*.csv"))), [a.clone()]);
    assert_eq!(glob(&format!("'{}'", folder.path("**/*.csv"))), [a.clone(), b.clone()]);
    assert_eq!(glob(&format!("['{b}', '{}']", folder.path("*.csv"))), [b, a]);
    assert!(glob(&format!("'{}'", folder.path("*.nothing"))).is_empty());
    assert!(error(&session, "SELECT * FROM glob(1)").message().contains("path"));
    assert!(error(&session, "SELECT * FROM glob('a', 'b')").message().contains("one path"));
    assert!(error(&session, "SELECT * FROM glob('[')").message().contains("pattern"));
}

#[test]
fn parquet_files_say_what_they_are() {
    let (folder, session) = (Folder::new("parquet"), session());
    let (one, two) = (folder.path("1.parquet"), folder.path("2.parquet"));
    let made = "SELECT i AS id, DATE '2024-01-01' + i::int AS day, (i / 4.0)::DECIMAL(8,2) AS price, 'w' || i AS word, \
                i % 2 = 0 AS even, i * 0.5::DOUBLE AS half, CASE WHEN i < 2 THEN i END AS few, [i] AS list, uuid() AS u \
                FROM range(1000) AS t(i)";
    session.query(&format!("COPY ({made}) TO '{one}' (ROW_GROUP_SIZE 400)")).expect("a file");
    session.query(&format!("COPY (SELECT 1 AS a) TO '{two}' (COMPRESSION none)")).expect("a file");
    let of = |what: &str, function: &str, rest: &str| {
        rows(&session, &format!("SELECT {what} FROM {function}('{one}') {rest}"))
    };
    assert_eq!(
        columns(&session, &format!("SELECT * FROM parquet_metadata('{one}')")),
        "file_name TEXT, row_group_id BIGINT, row_group_num_rows BIGINT, row_group_num_columns BIGINT, \
         row_group_bytes BIGINT, column_id BIGINT, file_offset BIGINT, num_values BIGINT, path_in_schema TEXT, type TEXT, \
         stats_min TEXT, stats_max TEXT, stats_null_count BIGINT, stats_distinct_count BIGINT, stats_min_value TEXT, \
         stats_max_value TEXT, compression TEXT, encodings TEXT, index_page_offset BIGINT, dictionary_page_offset BIGINT, \
         data_page_offset BIGINT, total_compressed_size BIGINT, total_uncompressed_size BIGINT, \
         key_value_metadata MAP(BYTEA, BYTEA), bloom_filter_offset BIGINT, bloom_filter_length BIGINT, \
         min_is_exact BOOLEAN, max_is_exact BOOLEAN, row_group_compressed_bytes BIGINT"
    );
    assert_eq!(
        of("row_group_id, row_group_num_rows, count(*)", "parquet_metadata", "GROUP BY 1, 2 ORDER BY 1"),
        ["0|400|9", "1|400|9", "2|200|9"]
    );
    assert_eq!(
        of(
            "path_in_schema, type, stats_min, stats_max, stats_null_count",
            "parquet_metadata",
            "WHERE row_group_id = 1 AND column_id < 7 ORDER BY column_id"
        ),
        [
            "id|INT32|400|799|0",
            "day|INT32|2025-02-04|2026-03-10|0",
            "price|INT32|100.00|199.75|0",
            "word|BYTE_ARRAY|w400|w799|0",
            "even|BOOLEAN|false|true|0",
            "half|DOUBLE|200|399.5|0",
            "few|INT32|NULL|NULL|400"
        ]
    );
    assert_eq!(of("DISTINCT compression", "parquet_metadata", ""), ["ZSTD"]);
    assert_eq!(
        of(
            "name, type, repetition_type, num_children, scale, precision",
            "parquet_schema",
            "WHERE name IN ('id', 'price', 'list')"
        ),
        [
            "id|INT32|REQUIRED|NULL|NULL|NULL",
            "price|INT32|REQUIRED|NULL|2|8",
            "list|NULL|OPTIONAL|1|NULL|NULL",
            "list|NULL|REPEATED|1|NULL|NULL"
        ]
    );
    assert_eq!(
        of("logical_type", "parquet_schema", "WHERE name IN ('day', 'price', 'word', 'u')"),
        ["DateType()", "DecimalType(scale=2, precision=8)", "StringType()", "UUIDType()"]
    );
    assert_eq!(
        of("created_by LIKE 'quickstep%', num_rows, num_row_groups", "parquet_file_metadata", ""),
        ["true|1000|3"]
    );
    let length = std::fs::metadata(&one).expect("a file").len();
    assert_eq!(
        of("file_size_bytes, footer_size BETWEEN 100 AND file_size_bytes", "parquet_file_metadata", ""),
        [format!("{length}|true")]
    );
    assert_eq!(
        columns(&session, &format!("SELECT * FROM parquet_kv_metadata('{one}')")),
        "file_name TEXT, key BYTEA, value BYTEA"
    );
    assert!(of("convert_from(key, 'UTF8')", "parquet_kv_metadata", "").contains(&"ARROW:schema".to_owned()));
    // Several files, by list and by pattern.
    for several in [format!("['{two}', '{one}']"), format!("'{}'", folder.path("*.parquet"))] {
        let sql = format!("SELECT num_rows FROM parquet_file_metadata({several}) ORDER BY 1");
        assert_eq!(rows(&session, &sql), ["1", "1000"]);
    }
    let text = folder.write("no.parquet", "this is no Parquet file");
    for function in ["parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata"] {
        let wrong = error(&session, &format!("SELECT * FROM {function}('{text}')"));
        assert!(wrong.message().contains("no.parquet"), "{wrong}");
        let missing = error(&session, &format!("SELECT * FROM {function}('no/such.parquet')"));
        assert_eq!(missing.state(), SqlState::UndefinedFile);
        assert!(error(&session, &format!("SELECT * FROM {function}()")).message().contains("takes a path"));
    }
}

fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
    let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    let mark = if mark { "\u{FEFF}" } else { "" };
    mark.encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

#[test]
fn texts_in_other_encodings_are_read() {
    let (folder, session) = (Folder::new("encodings"), session());
    let text = "name,n\n\"Köln, ß\",1\n\"a\nÿ\",2\n";
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    session.query("CREATE TABLE t (name TEXT, n INTEGER)").expect("a table");
    let expected = ["Köln, ß|1", "a\nÿ|2"];
    for (name, encoding, bytes) in [
        ("latin.csv", "latin-1", latin.clone()),
        ("latin2.csv", "ISO_8859_1", latin.clone()),
        ("windows.csv", "windows-1252", latin.clone()),
        ("marked.csv", "utf-16", utf16(text, false, true)),
        ("big.csv", "UTF-16", utf16(text, true, true)),
        ("le.csv", "utf-16le", utf16(text, false, false)),
        ("be.csv", "UTF_16BE", utf16(text, true, false)),
        ("utf8.csv", "UTF8", text.as_bytes().to_vec()),
    ] {
        let path = folder.write(name, bytes);
        for more in ["", ", buffer_size => 7", ", strict => false"] {
            let sql = format!("SELECT * FROM read_csv('{path}', encoding => '{encoding}'{more})");
            assert_eq!(rows(&session, &sql), expected, "{encoding}");
        }
        session.query("DELETE FROM t").expect("empty");
        session.query(&format!("COPY t FROM '{path}' (HEADER, ENCODING '{encoding}')")).expect("rows");
        assert_eq!(rows(&session, "SELECT * FROM t"), expected, "{encoding}");
        let call =
            rows(&session, &format!("SELECT prompt FROM sniff_csv('{path}', encoding => '{encoding}')"));
        assert_eq!(rows(&session, call[0].trim_end_matches(';')), expected, "{encoding}");
        let status = std::process::Command::new("gzip").args(["-k", &path]).status().expect("gzip runs");
        assert!(status.success());
        let packed = format!("SELECT * FROM read_csv('{path}.gz', encoding => '{encoding}')");
        assert_eq!(rows(&session, &packed), expected, "{encoding}");
    }
    let objects = folder.write("f.json", utf16("{\"a\": \"ß𝄞\"}\n", false, true));
    assert_eq!(
        rows(&session, &format!("SELECT * FROM read_json('{objects}', encoding => 'utf-16')")),
        ["ß𝄞"]
    );
    // Without the option, and with a wrong one.
    let marked = folder.path("marked.csv");
    for (sql, part) in [
        (format!("SELECT * FROM '{marked}'"), "encoding => 'utf-16'"),
        (format!("SELECT * FROM read_csv('{marked}', encoding => 'utf-8')"), "encoding => 'utf-16'"),
        (format!("SELECT * FROM '{}'", folder.path("latin.csv")), "encoding => 'latin-1'"),
        (format!("SELECT * FROM read_csv('{marked}', encoding => 'klingon')"), "utf-16be"),
        (
            format!("SELECT * FROM read_csv('{}', encoding => 'utf-16')", folder.path("le.csv")),
            "byte order mark",
        ),
        (
            format!(
                "SELECT * FROM read_csv('{}', encoding => 'utf-16le')",
                folder.write("odd.csv", b"a\0\n")
            ),
            "damaged",
        ),
        (format!("SELECT * FROM '{}'", folder.path("le.csv")), "utf-16le"),
        (format!("COPY t TO '{}' (ENCODING 'latin-1')", folder.path("out.csv")), "UTF8"),
    ] {
        let error = error(&session, &sql);
        let shown = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(shown.contains(part), "{sql}: {shown}");
    }
}

#[test]
fn readers_know_the_types_of_the_catalog() {
    let (folder, session) = (Folder::new("user_types"), session());
    let csv = folder.write("lights.csv", "l,n\ngreen,1\nred,2\n,3\n");
    let json = folder.write("lights.json", r#"{"l": "green", "p": {"a": "red"}, "many": ["red", null]}"#);
    for statement in ["CREATE TYPE light AS ENUM ('red', 'green')", "CREATE TYPE pair AS STRUCT(a light)"] {
        session.query(statement).expect(statement);
    }
    let columns = format!("read_csv('{csv}', columns => {{'l': 'light', 'n': 'INTEGER'}})");
    let types = format!("read_csv('{csv}', types => {{'l': 'light'}})");
    for source in [columns, types] {
        let text = format!("SELECT l, l < 'green', typeof(l) FROM {source} ORDER BY l");
        assert_eq!(rows(&session, &text), ["red|true|light", "green|false|light", "NULL|NULL|light"]);
    }
    let nested = format!("read_json('{json}', columns => {{'l': 'light', 'p': 'pair', 'many': 'light[]'}})");
    let text = format!("SELECT l, p.a, many, typeof(p), typeof(many) FROM {nested}");
    assert_eq!(rows(&session, &text), ["green|red|[red, NULL]|STRUCT(a light)|light[]"]);
    let wrong = error(
        &session,
        &format!("SELECT * FROM read_csv('{csv}', columns => {{'l': 'lamp', 'n': 'INTEGER'}})"),
    );
    assert_eq!(wrong.state(), SqlState::UndefinedObject);
    let other = folder.write("other.csv", "l\nblue\n");
    let wrong = error(&session, &format!("SELECT * FROM read_csv('{other}', columns => {{'l': 'light'}})"));
    assert!(wrong.message().contains("blue"), "{wrong}");
}

#[test]
fn integers_of_more_digits_than_decimals_have_are_not_written_wrong() {
    let (folder, session) = (Folder::new("wide"), session());
    let greatest = "170141183460469231731687303715884105727";
    for format in ["parquet", "arrow"] {
        let path = folder.path(&format!("wide.{format}"));
        let copy = |value: &str| format!("COPY (SELECT {value} AS f) TO '{path}' (FORMAT {format})");
        for value in [format!("{greatest}::HUGEINT"), format!("[NULL, -{greatest}::HUGEINT]")] {
            let wrong = error(&session, &copy(&value));
            assert!(wrong.message().contains("more than 38 digits"), "{wrong}");
        }
        let fits = "9".repeat(38);
        session.query(&copy(&format!("-'{fits}'::HUGEINT"))).expect("38 digits");
        assert_eq!(rows(&session, &format!("SELECT f FROM '{path}'")), [format!("-{fits}")]);
        session.query(&copy(&format!("'{greatest}'"))).expect("a text");
        session.query("CREATE OR REPLACE TABLE t (f HUGEINT)").expect("a table");
        session.query(&format!("COPY t FROM '{path}' (FORMAT {format})")).expect("texts are read");
        assert_eq!(rows(&session, "SELECT f FROM t"), [greatest]);
    }
}
