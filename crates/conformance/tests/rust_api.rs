//! The API as programs use it: parameters, values, errors, transactions, appenders, in memory and on disk.
//!
//! Values make a round trip through parameters and rows for many types. Appenders are tested with the same rows in
//! memory and on disk; dropped transactions must roll back.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};

use engine::{
    Connection, Date, Decimal, FromSql, Interval, OptionalRow, Options, SqlState, Time, Timestamp,
    TimestampTz, ToSql, Uuid, named_params, params,
};

fn connection() -> Connection {
    let options = Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Options::default() };
    Connection::open_with(None, options).unwrap()
}

fn comes_back<T: ToSql + FromSql + PartialEq + std::fmt::Debug>(connection: &Connection, value: T, ty: &str) {
    let row = connection.query_one("SELECT $1", [&value]).unwrap();
    assert_eq!(row.schema().fields()[0].ty.sql_name(), ty, "{value:?}");
    assert_eq!(row.get::<T>(0).unwrap(), value);
    assert_eq!(row.get::<Option<T>>(0).unwrap(), Some(value));
}

#[test]
fn values_come_back_as_they_were_given() {
    let c = &connection();
    comes_back(c, true, "BOOLEAN");
    comes_back(c, -3i8, "SMALLINT");
    comes_back(c, 300i16, "SMALLINT");
    comes_back(c, 70_000i32, "INTEGER");
    comes_back(c, i64::MIN + 1, "BIGINT");
    comes_back(c, u64::MAX, "DECIMAL(20,0)");
    comes_back(c, 10i128.pow(37), "DECIMAL(38,0)");
    comes_back(c, 0.1f32, "REAL");
    comes_back(c, -0.5f64, "DOUBLE PRECISION");
    comes_back(c, "it's".to_owned(), "TEXT");
    comes_back(c, vec![0u8, 255], "BYTEA");
    comes_back(c, vec![Some(1i32), None], "INTEGER[]");
    comes_back(c, vec![vec!["a".to_owned()], vec![]], "TEXT[][]");
    comes_back(c, "-12.50".parse::<Decimal>().unwrap(), "DECIMAL(4,2)");
    comes_back(c, Uuid::from_bytes([7; 16]), "UUID");
    comes_back(c, Date::new(2024, 2, 29).unwrap(), "DATE");
    comes_back(c, Time::new(23, 59, 59, 1).unwrap(), "TIME");
    comes_back(c, Timestamp::from_micros(-1), "TIMESTAMP");
    comes_back(c, TimestampTz::from_micros(1), "TIMESTAMPTZ");
    comes_back(c, Interval::new(14, -3, 5), "INTERVAL");
    let day = NaiveDate::from_ymd_opt(1969, 12, 31).unwrap();
    comes_back(c, day, "DATE");
    comes_back(c, NaiveTime::from_hms_micro_opt(1, 2, 3, 4).unwrap(), "TIME");
    comes_back(c, day.and_hms_opt(1, 2, 3).unwrap(), "TIMESTAMP");
    comes_back(c, DateTime::<Utc>::from_timestamp_micros(-7).unwrap(), "TIMESTAMPTZ");
    comes_back(c, TimeDelta::microseconds(-7), "INTERVAL DAY TO SECOND");
    comes_back(c, std::time::Duration::from_secs(90), "INTERVAL DAY TO SECOND");
    comes_back(c, std::time::SystemTime::UNIX_EPOCH, "TIMESTAMPTZ");
    let row = c.query_one("SELECT {'a': 1, 'b': NULL}, 3::smallint, 2.5, NULL", ()).unwrap();
    let fields = row.get::<BTreeMap<String, Option<i64>>>(0).unwrap();
    assert_eq!(fields, BTreeMap::from([("a".to_owned(), Some(1)), ("b".to_owned(), None)]));
    assert_eq!((row.get::<u64>(1).unwrap(), row.get::<f64>(2).unwrap()), (3, 2.5));
    assert_eq!(row.get::<Option<NaiveDateTime>>(3).unwrap(), None);
}

#[test]
fn errors_name_the_column_and_both_types() {
    let c = connection();
    let row = c.query_one("SELECT 'x' AS name, NULL::bigint AS n, 300 AS big, 1 AS a, 2 AS a", ()).unwrap();
    let error = row.get::<i64>("name").unwrap_err();
    assert_eq!(error.message(), "column 0 (\"name\") is TEXT, which cannot be read as i64");
    let error = row.get::<i64>(1).unwrap_err();
    assert_eq!(error.message(), "column 1 (\"n\") is NULL in row 1, which i64 cannot hold");
    assert_eq!(
        (error.state(), error.hint()),
        (SqlState::NullValueNotAllowed, Some("read it as Option<i64>"))
    );
    let error = row.get::<u8>("BIG").unwrap_err();
    assert!(
        error.message().contains("column 2 (\"big\"), INTEGER, in row 1 cannot be read as u8: 300"),
        "{error}"
    );
    assert_eq!(row.get::<i32>("nam").unwrap_err().hint(), Some("did you mean \"name\"?"));
    assert_eq!(row.get::<i32>("a").unwrap_err().state(), SqlState::AmbiguousColumn);
    assert_eq!(row.get::<i32>(9).unwrap_err().state(), SqlState::UndefinedColumn);
    assert!(row.read::<(String,)>().is_err());
    assert!(c.query_row("SELECT 1 WHERE false", (), |_| Ok(())).optional().unwrap().is_none());
    assert_eq!(c.query_one("SELECT 1 WHERE false", ()).unwrap_err().state(), SqlState::NoData);
    assert_eq!(c.query_one("VALUES (1), (2)", ()).unwrap_err().state(), SqlState::CardinalityViolation);
}

#[test]
fn parameters_are_as_many_as_the_statement_has() {
    let c = connection();
    for (given, wanted) in
        [(params![], "has 1 parameter, 0 are given"), (params![1, 2], "has 1 parameter, 2 are given")]
    {
        let error = c.execute("SELECT ?", given).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
    }
    assert!(c.execute("SELECT 1", (1,)).unwrap_err().message().contains("no parameters, 1 is given"));
    let error = c.execute("SELECT $a", named_params! { "a": 1, "b": 2 }).unwrap_err();
    assert!(error.message().contains("no parameter named \"b\""), "{error}");
    assert!(c.execute("SELECT $a", (1,)).unwrap_err().message().contains("by name"));
    let both = c.query_as::<(i32, String)>("SELECT :n, $t", named_params! { "n": 1, "t": "x" }).unwrap();
    assert_eq!(both, [(1, "x".to_owned())]);
    let slice = c.query_one("SELECT [1, 2, 3][1:n] FROM (VALUES (2)) AS t(n)", []).unwrap();
    assert_eq!(slice.get::<Vec<i32>>(0).unwrap(), [1, 2]);
}

#[test]
fn statements_are_prepared_and_run_many_times() {
    let c = connection();
    assert_eq!(c.prepare("SELEC 1").err().unwrap().state(), SqlState::SyntaxError);
    assert_eq!(c.prepare("SELECT * FROM gone").err().unwrap().state(), SqlState::UndefinedTable);
    assert!(c.prepare("SELECT 1; SELECT 2").is_err() && c.prepare(" ").is_err());
    c.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b DATE, c VARCHAR(3), d NUMERIC(5,1))").unwrap();
    let insert = c.prepare("INSERT INTO t VALUES (?, ?, ?, ?)").unwrap();
    assert_eq!(insert.parameter_count(), 4);
    assert_eq!(insert.execute(params![0, "2024-01-01", "abc", 1.25]).unwrap(), 1);
    let rows = (1..1000).map(|n| (n, Date::from_days(n), None::<String>, n));
    assert_eq!(insert.execute_many(rows).unwrap(), 999);
    let count = || c.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0)).unwrap();
    assert_eq!(count(), 1000);
    // All or none, and the row is named: a value that does not fit, and what the table refuses.
    for (rows, wrong) in [
        (vec![(2000, "2024-01-01", "abc"), (2001, "soon", "abc")], "row 2, column \"b\": invalid input"),
        (
            vec![(2000, "2024-01-01", "abc"), (2001, "2024-01-01", "abcd")],
            "row 2, column \"c\": value too long",
        ),
        (
            vec![(2000, "2024-01-01", "a"), (2001, "2024-01-01", "a"), (2000, "2024-01-01", "a")],
            "row 3: dupl",
        ),
        (vec![(2000, "2024-01-01", "a"), (17, "2024-01-01", "a"), (2001, "2024-01-01", "a")], "row 2: dupl"),
    ] {
        let error = c.prepare("INSERT INTO t (a, b, c) VALUES (?, ?, ?)").unwrap().execute_many(rows.clone());
        let error = error.unwrap_err();
        assert!(error.message().starts_with(wrong), "{error}");
        assert!(!c.in_transaction());
        assert_eq!(count(), 1000);
        // The same in a transaction that is open, which then has failed.
        let guard = c.unchecked_transaction().unwrap();
        guard.execute("DELETE FROM t WHERE a = 5", ()).unwrap();
        let error = guard.prepare("INSERT INTO t (a, b, c) VALUES (?, ?, ?)").unwrap().execute_many(rows);
        assert!(error.unwrap_err().message().starts_with(wrong));
        assert_eq!(guard.commit().unwrap_err().state(), SqlState::InFailedTransaction);
        assert_eq!(count(), 1000);
    }
    let upsert = "INSERT INTO t (a, c) VALUES ($a, $c) ON CONFLICT (a) DO UPDATE SET c = excluded.c";
    let rows = [(1, "x"), (5000, "y")].map(|(a, c)| [("a", a.to_string()), ("c", c.to_owned())]);
    assert_eq!(c.prepare(upsert).unwrap().execute_many(rows.iter().map(|row| row.as_slice())).unwrap(), 2);
    assert_eq!(
        c.query_as::<(String,)>("SELECT c FROM t WHERE a IN (1, 5000) ORDER BY a", ()).unwrap().len(),
        2
    );
    // Other statements run one by one.
    let update = c.prepare("UPDATE t SET d = ? WHERE a = ?").unwrap();
    assert_eq!(update.execute_many([(1, 1), (2, 2), (3, -1)]).unwrap(), 2);
    let error = update.execute_many([(1, 1), (99_999, 2)]).unwrap_err();
    assert!(error.message().starts_with("row 2: "), "{error}");
    assert!(c.prepare("SELECT 1 WHERE ? = 2").unwrap().exists([2]).unwrap());
}

#[test]
fn transactions_roll_back_when_they_are_dropped() {
    let mut c = connection();
    c.execute_batch("CREATE TABLE t (a INTEGER)").unwrap();
    let count = |c: &Connection| c.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0)).unwrap();
    {
        let transaction = c.transaction().unwrap();
        transaction.execute("INSERT INTO t VALUES (1)", ()).unwrap();
        assert_eq!(transaction.unchecked_transaction().err().unwrap().state(), SqlState::ActiveTransaction);
    }
    assert_eq!(count(&c), 0);
    let mut transaction = c.transaction().unwrap();
    transaction.execute("INSERT INTO t VALUES (1)", ()).unwrap();
    {
        let mut savepoint = transaction.savepoint().unwrap();
        savepoint.execute("INSERT INTO t VALUES (2)", ()).unwrap();
        savepoint.savepoint().unwrap().execute("INSERT INTO t VALUES (3)", ()).unwrap();
        assert!(savepoint.execute("SELECT 1 / 0", ()).is_err());
    }
    let savepoint = transaction.savepoint().unwrap();
    savepoint.execute("INSERT INTO t VALUES (4)", ()).unwrap();
    savepoint.commit().unwrap();
    transaction.commit().unwrap();
    assert_eq!(c.query_as::<(i32,)>("SELECT a FROM t ORDER BY a", ()).unwrap(), [(1,), (4,)]);
    let transaction = c.transaction().unwrap();
    assert!(transaction.execute("SELECT 1 / 0", ()).is_err());
    assert_eq!(transaction.commit().unwrap_err().state(), SqlState::InFailedTransaction);
    assert!(!c.in_transaction());
    c.transaction().unwrap().rollback().unwrap();
    assert_eq!(count(&c), 2);
}

#[test]
fn rows_come_as_they_are_read() {
    let c = connection();
    let mut rows = c.query_stream("SELECT i FROM generate_series(1, $1) AS t(i)", [300_000]).unwrap();
    assert_eq!(rows.next_row().unwrap().unwrap().get::<i32>("i").unwrap(), 1);
    assert_eq!(
        rows.mapped(|row| row.get::<i64>(0)).map(Result::unwrap).sum::<i64>(),
        300_000 * 300_001 / 2 - 1
    );
    let result = c.session().query("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, t)").unwrap();
    let read: Vec<(i32, String)> = result.iter().map(|row| row.read().unwrap()).collect();
    assert_eq!(read, [(1, "a".to_owned()), (2, "b".to_owned())]);
}

fn appends(c: &Connection) {
    c.execute_batch(
        "CREATE TABLE \"My t\" (a INTEGER PRIMARY KEY, b TEXT DEFAULT 'none', c JSON, d UUID, e TIMESTAMPTZ)",
    )
    .unwrap();
    let uuid = Uuid::from_bytes([1; 16]);
    let mut appender = c.appender("\"My t\"").unwrap();
    for n in 0..150_000 {
        appender
            .append_row(params![n, "text", "{\"k\": 1}", uuid, TimestampTz::from_micros(n.into())])
            .unwrap();
    }
    assert_eq!(c.query_row("SELECT count(*) FROM \"My t\"", (), |row| row.get::<i64>(0)).unwrap(), 1 << 17);
    assert_eq!(appender.finish().unwrap(), 150_000);
    {
        let mut appender = c.appender_with_columns("\"My t\"", &["a"]).unwrap();
        appender.append_rows((150_000..150_010).map(|n| (n,))).unwrap();
        // Dropped: inserted.
    }
    let row = c.query_one("SELECT count(*), min(b), count(c), max(d), max(e) FROM \"My t\"", ()).unwrap();
    let read: (i64, String, i64, Uuid, TimestampTz) = row.read().unwrap();
    assert_eq!(read, (150_010, "none".to_owned(), 150_000, uuid, TimestampTz::from_micros(149_999)));
    let mut appender = c.appender("\"My t\"").unwrap();
    let error = appender.append_row((1, 2)).unwrap_err();
    assert!(error.message().starts_with("row 1: 2 values for 5 columns"), "{error}");
    let error = appender.append_row(("x", "b", "{}", uuid, None::<TimestampTz>)).unwrap_err();
    assert!(
        error.message().starts_with("row 1, column \"a\": invalid input syntax for type integer"),
        "{error}"
    );
    let error = appender.append_row((true, "b", "{}", uuid, None::<TimestampTz>)).unwrap_err();
    assert!(error.message().contains("column \"a\": the column is of type INTEGER"), "{error}");
    for n in [200_000, 200_001, 7, 200_002] {
        appender.append_row((n, "b", "{}", uuid, None::<TimestampTz>)).unwrap();
    }
    let error = appender.flush().unwrap_err();
    assert!(error.message().starts_with("row 3: duplicate key"), "{error}");
    appender.append_row((200_000, "b", None::<String>, uuid, None::<TimestampTz>)).unwrap();
    assert_eq!(appender.finish().unwrap(), 1);
}

#[test]
fn appenders_insert_many_rows_at_once() {
    let c = connection();
    appends(&c);
    for wrong in ["gone", "t; DROP TABLE t", "(SELECT 1)", "My t", ""] {
        assert!(c.appender(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn appenders_insert_on_disk() {
    let folder = std::env::temp_dir().join(format!("quickstep-api-{}", std::process::id()));
    let c = Connection::open(&folder).unwrap();
    appends(&c);
    drop(c);
    let c = Connection::open(&folder).unwrap();
    assert_eq!(c.query_row("SELECT count(*) FROM \"My t\"", (), |row| row.get::<i64>(0)).unwrap(), 150_011);
    drop(c);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn batches_are_appended_between_rows() {
    let c = connection();
    c.execute_batch("CREATE TABLE t (a BIGINT, day DATE)").unwrap();
    let schema =
        Schema::new(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)]);
    let columns = |days: Vec<&str>| -> Vec<arrow_array::ArrayRef> {
        vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(days))]
    };
    let schema = Arc::new(schema);
    let good = RecordBatch::try_new(schema.clone(), columns(vec!["2024-01-01", "2024-02-29"])).unwrap();
    let bad = RecordBatch::try_new(schema, columns(vec!["2024-01-01", "later"])).unwrap();
    let mut appender = c.appender("t").unwrap();
    appender.append_row((10, Date::from_days(0))).unwrap();
    appender.append_record_batch(&good).unwrap();
    appender.append_row((11, None::<Date>)).unwrap();
    appender.append_record_batch(&good).unwrap();
    appender.append_record_batch(&bad).unwrap();
    let error = appender.finish().unwrap_err();
    assert!(error.message().starts_with("row 8: invalid input syntax for type date"), "{error}");
    assert_eq!(c.query_as::<(i64,)>("SELECT a FROM t", ()).unwrap(), [(10,), (1,), (2,), (11,)]);
    let wide = good.project(&[0]).unwrap();
    assert!(c.appender("t").unwrap().append_record_batch(&wide).is_err());
}
