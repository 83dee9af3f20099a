//! Statements other than queries, and how their parts arrive.
//!
//! Each test plans a statement against the test catalog and compares the parts of `plan::Statement`: names, options,
//! columns and queries.

use plan::modification::{IsolationLevel, TransactionCommand, TransactionModes};
use plan::statement::{ExplainFormat, IfExists, Statement};
use plan::{FileFormat, LogicalPlan, ScanSource};
use types::{Type, Value};

use crate::catalog::{Catalog, check, planned, query, shown};

fn plan(text: &str) -> Statement {
    planned(text, &Catalog::tpch()).unwrap_or_else(|e| panic!("{}", e.render(text)))
}

#[test]
fn create_table_with_all_types_and_keys() {
    let text = "CREATE TEMP TABLE IF NOT EXISTS s.x (a INTEGER PRIMARY KEY, b SMALLINT NOT NULL, c BIGINT UNIQUE, \
                d REAL, e DOUBLE PRECISION, f DECIMAL(12,3), g NUMERIC(5), h CHAR(4), i CHAR, j VARCHAR(7), k VARCHAR, \
                l TEXT, m DATE, n TIME, o TIMESTAMP, p TIMESTAMPTZ, q INTERVAL YEAR TO MONTH, \
                r INTERVAL DAY TO SECOND, s BYTEA, t UUID, u BOOLEAN, v FLOAT, w TIMESTAMP WITH TIME ZONE, \
                UNIQUE (b, c), FOREIGN KEY (a, b) REFERENCES y (k, l)) WITH (block_size = '4MB', layout = column)";
    let Statement::CreateTable { name, columns, options } = plan(text) else { panic!() };
    assert_eq!((name.schema.as_deref(), name.name.as_str()), (Some("s"), "x"));
    let types: Vec<Type> = columns.iter().map(|c| c.ty).collect();
    use Type as T;
    let decimal = |precision, scale| T::Decimal { precision, scale };
    assert_eq!(
        types,
        [
            T::Integer,
            T::SmallInt,
            T::BigInt,
            T::Real,
            T::Double,
            decimal(12, 3),
            decimal(5, 0),
            T::Char(4),
            T::Char(1),
            T::Varchar(7),
            T::Text,
            T::Text,
            T::Date,
            T::Time,
            T::Timestamp,
            T::TimestampTz,
            T::IntervalYearMonth,
            T::IntervalDayTime,
            T::Bytea,
            T::Uuid,
            T::Boolean,
            T::Double,
            T::TimestampTz
        ]
    );
    assert!(!columns[0].nullable && !columns[1].nullable && columns[2].nullable);
    assert_eq!(options.primary_key, Some(vec!["a".to_owned()]));
    let unique: Vec<&[String]> = options.unique.iter().map(|key| key.columns.as_slice()).collect();
    assert_eq!(unique, [&["c".to_owned()][..], &["b".to_owned(), "c".to_owned()]]);
    assert_eq!(options.foreign_keys.len(), 1);
    assert_eq!(options.with, [("block_size".into(), "4MB".into()), ("layout".into(), "column".into())]);
    assert!(options.temporary && options.if_exists == IfExists::Keep);
}

#[test]
fn create_table_as_takes_headings_and_types() {
    let text = "CREATE OR REPLACE TABLE x (first) AS SELECT r_regionkey, r_name, 1.50 AS n, 'a' AS s, NULL AS z FROM region";
    let Statement::CreateTableAs { query, options, .. } = plan(text) else { panic!() };
    check(&query, text);
    let columns: Vec<(String, Type)> =
        query.output.iter().map(|(id, name)| (name.clone(), query.columns.get(*id).ty)).collect();
    assert_eq!(options.if_exists, IfExists::Replace);
    assert_eq!(
        columns,
        [
            ("first".to_owned(), Type::Integer),
            ("r_name".to_owned(), Type::Char(10)),
            ("n".to_owned(), Type::Decimal { precision: 3, scale: 2 }),
            ("s".to_owned(), Type::Text),
            ("z".to_owned(), Type::Text)
        ]
    );
}

#[test]
fn create_table_as_takes_names_but_no_types() {
    let fails = |text: &str| planned(text, &Catalog::tpch()).expect_err(text).state().code().to_owned();
    assert_eq!(fails("CREATE TABLE x (a INTEGER) AS SELECT 1"), "42601");
    assert_eq!(fails("CREATE TABLE x (a, b) AS SELECT 1"), "42601");
    assert_eq!(fails("CREATE TABLE x (a, a) AS SELECT 1, 2"), "42701");
    assert_eq!(fails("CREATE TABLE x (a, b)"), "42601");
    for text in [
        "CREATE TEMP TABLE IF NOT EXISTS s.\"X\" (\"A\", b) WITH (block_size = '4MB') AS SELECT 1, 2",
        "EXPLAIN CREATE TABLE x (a) AS SELECT 1",
    ] {
        plan(text);
    }
}

#[test]
fn insert_delivers_the_tables_columns() {
    let text = "INSERT INTO region (r_name, r_regionkey) VALUES ('AFRICA', 1), (NULL, '2'), ('ASIA', 1 + 2)";
    let Statement::Insert { query, .. } = plan(text) else { panic!() };
    check(&query, text);
    let LogicalPlan::Values { rows, .. } = &query.plan else { panic!("{}", shown(&query)) };
    assert_eq!(rows[1], [Value::I32(2), Value::Null, Value::Null]);
    assert_eq!(rows[2], [Value::I32(3), Value::text("ASIA"), Value::Null]);
    let types: Vec<Type> = query.output.iter().map(|(id, _)| query.columns.get(*id).ty).collect();
    assert_eq!(types, [Type::Integer, Type::Char(10), Type::Varchar(25)]);

    let text = "INSERT INTO region SELECT n_nationkey + 0.5, n_name, '2020' FROM nation";
    let Statement::Insert { query, .. } = plan(text) else { panic!() };
    check(&query, text);
    let types: Vec<Type> = query.output.iter().map(|(id, _)| query.columns.get(*id).ty).collect();
    assert_eq!(types, [Type::Integer, Type::Char(10), Type::Varchar(25)]);

    for wrong in [
        "INSERT INTO region VALUES (1, 'a', 'b', 2)",
        "INSERT INTO region (r_regionkey) VALUES (1, 2)",
        "INSERT INTO region (r_regionkey, r_name) SELECT 1",
        "INSERT INTO region (r_name) VALUES ('longer than ten characters')",
        "INSERT INTO region (r_regionkey) VALUES (3000000000)",
        "INSERT INTO region (r_regionkey, r_regionkey) VALUES (1, 1)",
    ] {
        assert!(planned(wrong, &Catalog::tpch()).is_err(), "{wrong}");
    }
}

#[test]
fn copy_reads_text_into_the_tables_types() {
    let text = "COPY region (r_regionkey, r_name) FROM 'region.csv' (FORMAT csv, DELIMITER '|', HEADER true, NULL '')";
    let Statement::CopyFrom { source, query, .. } = plan(text) else { panic!() };
    check(&query, text);
    assert_eq!(source.format, FileFormat::Csv);
    let types: Vec<Type> = source.schema.fields().iter().map(|f| f.ty).collect();
    assert_eq!(types, [Type::Integer, Type::Char(10)]);
    assert_eq!(query.output.len(), 3);
}

#[test]
fn files_stand_where_tables_may() {
    let catalog = Catalog::tpch();
    let found = query(
        "select f.b, g.a from 'dir/f.parquet' f join 'g.csv' g on f.a = g.a, 'x/h.parquet' where h.a > 1",
        &catalog,
    );
    let mut scans = 0;
    let mut open = vec![&found.plan];
    while let Some(node) = open.pop() {
        if let LogicalPlan::Scan { source: ScanSource::File(_), .. } = node {
            scans += 1;
        }
        open.extend(node.children());
    }
    assert_eq!(scans, 3);
    query("select a from read_csv('x', delimiter => '|')", &catalog);
}

#[test]
fn settings_and_the_rest() {
    let set = |text: &str| match plan(text) {
        Statement::Set { name, value } => (name, value),
        other => panic!("{other:?}"),
    };
    assert_eq!(set("SET workers = 4"), ("workers".into(), Some("4".into())));
    assert_eq!(set("set memory_limit to '8GB'"), ("memory_limit".into(), Some("8GB".into())));
    assert_eq!(set("set unit_of_transfer = block"), ("unit_of_transfer".into(), Some("block".into())));
    assert_eq!(set("set x = on"), ("x".into(), Some("on".into())));
    assert_eq!(set("set x = -1.5"), ("x".into(), Some("-1.5".into())));
    assert_eq!(set("set x = default"), ("x".into(), None));
    assert_eq!(set("reset x"), ("x".into(), None));
    assert!(matches!(plan("show workers"), Statement::Show { name: n } if n == "workers"));
    let Statement::Call { procedure, arguments } = plan("CALL tpch(scale => 0.1, 3)") else { panic!() };
    assert_eq!(procedure, "tpch");
    assert_eq!(arguments[0].0.as_deref(), Some("scale"));
    assert_eq!(arguments[0].1.display(arguments[0].2), "0.1");
    assert_eq!(arguments[1], (None, Value::I32(3), Type::Integer));
    let command = |text: &str| match plan(text) {
        Statement::Transaction(command) => command,
        other => panic!("{text}: {other:?}"),
    };
    let modes = TransactionModes { isolation: Some(IsolationLevel::Serializable), read_only: Some(true) };
    assert_eq!(
        command("begin isolation level serializable, read only"),
        TransactionCommand::Begin { modes, start: false }
    );
    let none = TransactionModes::default();
    assert_eq!(command("start transaction"), TransactionCommand::Begin { modes: none, start: true });
    assert_eq!(command("commit and chain"), TransactionCommand::Commit { chain: true });
    assert_eq!(command("end"), TransactionCommand::Commit { chain: false });
    assert_eq!(command("rollback work"), TransactionCommand::Rollback { chain: false });
    assert_eq!(command("rollback to savepoint S"), TransactionCommand::RollbackTo { name: "s".into() });
    assert_eq!(command("release \"S\""), TransactionCommand::Release { name: "S".into() });
    assert!(matches!(
        plan("explain select 1"),
        Statement::Explain { analyze: false, format: ExplainFormat::Text, .. }
    ));
    for text in ["explain (analyze, format json) select 1", "explain (format json, analyze true) select 1"] {
        assert!(
            matches!(plan(text), Statement::Explain { analyze: true, format: ExplainFormat::Json, .. }),
            "{text}"
        );
    }
    for (text, expected) in [
        ("explain (format dot) select 1", ExplainFormat::Dot),
        ("explain (format graphviz) select 1", ExplainFormat::Dot),
        ("explain (analyze, format 'html') select 1", ExplainFormat::Html),
        ("explain (format pipelines) select 1", ExplainFormat::Pipelines),
    ] {
        assert!(matches!(plan(text), Statement::Explain { format, .. } if format == expected), "{text}");
    }
    assert!(matches!(
        plan("explain analyze insert into region select * from region"),
        Statement::Explain { analyze: true, .. }
    ));
    assert!(matches!(
        plan("create schema if not exists s"),
        Statement::CreateSchema { if_not_exists: true, .. }
    ));
    assert!(matches!(plan("drop schema s cascade"), Statement::DropSchema { cascade: true, .. }));
    assert!(
        matches!(plan("drop table if exists a, s.b"), Statement::DropTable { names, if_exists: true, .. } if names.len() == 2)
    );
}

#[test]
fn headings_are_postgresqls() {
    let text = "select r_name, r_name, region.r_regionkey, r_regionkey + 1, count(*), sum(r_regionkey) as total, \
                cast(1 as bigint), 'x', case when true then 1 end, extract(year from date '2020-01-01'), \
                max(r_name)::text, coalesce(1), (select 1 as one), exists (select 1) from region group by 1, 3";
    let found = query(text, &Catalog::tpch());
    let headings: Vec<&str> = found.output.iter().map(|(_, n)| n.as_str()).collect();
    assert_eq!(
        headings,
        [
            "r_name",
            "r_name",
            "r_regionkey",
            "?column?",
            "count",
            "total",
            "int8",
            "?column?",
            "case",
            "extract",
            "max",
            "coalesce",
            "one",
            "exists"
        ]
    );
}
