//! COPY through the public API: files are read with the table's types, and what cannot be read is named with its
//! place, the text and the cause.

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

fn text(value: &str) -> Value {
    Value::text(value)
}

#[test]
fn digits_stay_text_where_the_table_says_text() {
    let folder = Folder::new("digits");
    let session = session();
    session.query("CREATE TABLE codes (code VARCHAR(8), zip CHAR(5), n SMALLINT)").expect("a table");
    let path = folder.write("codes.csv", "code,zip,n\n007,01234,7\n1e3,00000,-8\n0x10,99999,\n");
    session.query(&format!("COPY codes FROM '{path}'")).expect("the rows");
    let expected = [
        [text("007"), text("01234"), Value::I16(7)],
        [text("1e3"), text("00000"), Value::I16(-8)],
        [text("0x10"), text("99999"), Value::Null],
    ];
    assert_eq!(rows(&session, "SELECT code, zip, n FROM codes"), expected);
}

#[test]
fn every_type_is_the_tables() {
    let folder = Folder::new("types");
    let session = session();
    session
        .query(
            "CREATE TABLE t (b BOOLEAN, i INTEGER, l BIGINT, r REAL, d DOUBLE PRECISION, m DECIMAL(9, 3), \
             w DECIMAL(30, 2), s TEXT, y DATE, h TIME, ts TIMESTAMP)",
        )
        .expect("a table");
    // No header, one row, and values that look like other types than the table's.
    let path = folder.write(
        "t.csv",
        "1,2,3,4,5,6,7,8,2024-02-29,23:59:59,2024-02-29\n0,-2,-3,0.5,1e10,0.001,12345678901234567890.12,2024-01-01,\
         0001-01-01,00:00:00.5,2024-02-29 01:02:03.25\n",
    );
    session.query(&format!("COPY t FROM '{path}'")).expect("the rows");
    let shown = rows(
        &session,
        "SELECT b, i, l, r, d, m, w, s, CAST(y AS TEXT), CAST(h AS TEXT), CAST(ts AS TEXT) FROM t",
    );
    let first = [
        Value::Bool(true),
        Value::I32(2),
        Value::I64(3),
        Value::F32(4.0),
        Value::F64(5.0),
        Value::I64(6000),
        Value::I128(700),
        text("8"),
        text("2024-02-29"),
        text("23:59:59"),
        text("2024-02-29 00:00:00"),
    ];
    let second = [
        Value::Bool(false),
        Value::I32(-2),
        Value::I64(-3),
        Value::F32(0.5),
        Value::F64(1e10),
        Value::I64(1),
        Value::I128(1_234_567_890_123_456_789_012),
        text("2024-01-01"),
        text("0001-01-01"),
        text("00:00:00.5"),
        text("2024-02-29 01:02:03.25"),
    ];
    assert_eq!(shown, [first, second]);
}

#[test]
fn a_column_list_gives_the_types_in_the_files_order() {
    let folder = Folder::new("order");
    let session = session();
    session.query("CREATE TABLE t (a INTEGER, b TEXT, c DATE)").expect("a table");
    let path = folder.write("t.csv", "b,a\n01,02\n2020-01-01,3\n");
    session.query(&format!("COPY t (b, a) FROM '{path}'")).expect("the rows");
    let expected =
        [[Value::I32(2), text("01"), Value::Null], [Value::I32(3), text("2020-01-01"), Value::Null]];
    assert_eq!(rows(&session, "SELECT a, b, c FROM t"), expected);
    // The file names them in the table's order: by position they would land in each other's column.
    let swapped = folder.write("swapped.csv", "a,b\n1,x\n");
    let error = session.query(&format!("COPY t (b, a) FROM '{swapped}'")).expect_err("another order");
    assert_eq!(error.state(), SqlState::BadCopyFormat);
    assert!(error.message().contains("another order"), "{error}");
}

#[test]
fn errors_name_file_line_column_text_and_cause() {
    let folder = Folder::new("errors");
    let session = session();
    session.query("CREATE TABLE t (id INTEGER, name VARCHAR(3), day DATE, price DECIMAL(5, 2))").expect("t");
    let cases = [
        ("x,abc,2020-01-01,1", "line 2", "\"id\"", "\"x\"", SqlState::InvalidTextRepresentation),
        ("1,abcd,2020-01-01,1", "line 2", "\"name\"", "\"abcd\"", SqlState::StringDataRightTruncation),
        ("1,abc,2020-02-30,1", "line 2", "\"day\"", "\"2020-02-30\"", SqlState::DatetimeFieldOverflow),
        ("1,abc,2020-01-01,1234.5", "line 2", "\"price\"", "\"1234.5\"", SqlState::NumericValueOutOfRange),
        ("3000000000,abc,,", "line 2", "\"id\"", "\"3000000000\"", SqlState::NumericValueOutOfRange),
        ("1,abc,2020-01-01", "line 2", "3 values", "4 columns", SqlState::BadCopyFormat),
    ];
    for (number, (record, line, column, shown, state)) in cases.into_iter().enumerate() {
        let path = folder.write(&format!("bad{number}.csv"), format!("id,name,day,price\n{record}\n"));
        let error = session.query(&format!("COPY t FROM '{path}'")).expect_err(record);
        assert_eq!(error.state(), state, "{record}: {error}");
        for part in [path.as_str(), line, column, shown] {
            assert!(error.message().contains(part), "{record}: {part} is missing in: {}", error.message());
        }
    }
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), [[Value::I64(0)]], "nothing of a failed COPY stays");
}
