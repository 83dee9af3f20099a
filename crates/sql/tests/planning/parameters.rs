//! Parameters without values: the type that each place gives one, conflicts, and what is planned by values.

use types::Type;

use crate::catalog::Catalog;

fn catalog() -> Catalog {
    Catalog::tpch().with(
        "t",
        &[
            ("s", Type::SmallInt),
            ("i", Type::Integer),
            ("b", Type::BigInt),
            ("n", Type::Decimal { precision: 15, scale: 2 }),
            ("f", Type::Double),
            ("c", Type::Char(5)),
            ("v", Type::Varchar(8)),
            ("d", Type::Date),
            ("m", Type::Timestamp),
            ("o", Type::Boolean),
            ("l", Type::list(Type::Integer).unwrap()),
        ],
    )
}

fn open_with(text: &str, declared: &[Option<Type>]) -> types::Result<sql::OpenStatement> {
    let statements = sql::split(text)?;
    sql::plan_open(text, &statements[0], &catalog(), declared)
}

fn types_of(text: &str) -> String {
    let open = open_with(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    open.types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_parameter_has_the_type_that_its_place_asks_for() {
    for (text, wanted) in [
        ("select 1 from t where i = $1", "INTEGER"),
        ("select 1 from t where ? < d and s = ?", "DATE, SMALLINT"),
        ("select 1 from t where n between $1 and $2", "DECIMAL(15,2), DECIMAL(15,2)"),
        ("select 1 from t where i in ($1, 5, $2)", "INTEGER, INTEGER"),
        ("select 1 from t where i = any($1)", "INTEGER[]"),
        ("select 1 from t where c = $1 and v = $2", "TEXT, TEXT"),
        ("select 1 from t where $1", "BOOLEAN"),
        ("select 1 from t where o or not $1", "BOOLEAN"),
        ("select b + $1, f * $2, d + $3 from t", "BIGINT, DOUBLE PRECISION, INTERVAL"),
        ("select $1::date, cast($2 as decimal(9,3))", "DATE, DECIMAL(9,3)"),
        ("select $1 || v from t", "TEXT"),
        ("select $1, 5", "TEXT"),
        ("select $2, i = $1 from t", "INTEGER, TEXT"),
        ("select case when o then m else $1 end from t", "TIMESTAMP"),
        ("select coalesce(b, $1), greatest($2, n) from t", "BIGINT, DECIMAL(15,2)"),
        ("select 1 from t order by i limit $1 offset $2", "BIGINT, BIGINT"),
        ("select d from t union all select $1", "DATE"),
        ("select * from (values ($1, 1), ('x', $2)) as v(a, b)", "TEXT, INTEGER"),
        (
            "insert into t (s, d, c, n, l) values (?, ?, ?, ?, ?)",
            "SMALLINT, DATE, TEXT, DECIMAL(15,2), INTEGER[]",
        ),
        ("insert into t (d, b) select $1, $2", "DATE, BIGINT"),
        ("update t set m = $1, o = $2 where i = $3", "TIMESTAMP, BOOLEAN, INTEGER"),
        ("delete from t where d > $1", "DATE"),
        ("select 1 from t where i = $1 and b = $1", "INTEGER"),
        ("select 1 from t where i = $1 or n > $1 + 1", "INTEGER"),
        ("select $1, 1 from t where d = $1", "DATE"),
        ("with q as (select * from t where i > $2) select * from q where d = $1", "DATE, INTEGER"),
        (
            "select (select max(i) from t where s = $1), exists (select 1 from t where n = $2)",
            "SMALLINT, DECIMAL(15,2)",
        ),
        ("select list_filter(l, x -> x > $1) from t", "INTEGER"),
        ("explain select 1 from t where i = $1", "INTEGER"),
    ] {
        assert_eq!(types_of(text), wanted, "{text}");
    }
}

#[test]
fn declared_types_hold() {
    let declared = [Some(Type::BigInt), None];
    let open = open_with("select $1, $2 from t where i = $1 and d = $2", &declared).unwrap();
    assert_eq!(open.types, [Type::BigInt, Type::Date]);
    let error = open_with("select 1 from t where d = $1", &[Some(Type::Boolean)]).unwrap_err();
    assert_eq!(error.state(), types::SqlState::UndefinedFunction);
}

#[test]
fn places_that_ask_for_different_types_are_a_conflict() {
    let error = open_with("select 1 from t where i = $1\n and d = $1", &[]).unwrap_err();
    assert_eq!(error.state(), types::SqlState::AmbiguousParameter);
    assert_eq!(error.message(), "inconsistent types deduced for parameter $1");
    assert_eq!(error.detail(), Some("INTEGER at line 1, column 27; DATE at line 2, column 10"));
}

#[test]
fn what_values_decide_is_planned_by_value() {
    for (text, by_value) in [
        ("select 1 from t where i = $1", false),
        ("select coalesce(b, $1) || 'x', abs($2 - i) from t", false),
        ("select 1 from t limit $1", true),
        ("select 1 from t where v like $1", true),
        ("select to_number(v, $1) from t", true),
        ("select l[$1] from t", true),
        ("select m at time zone $1 from t", true),
    ] {
        assert_eq!(open_with(text, &[]).unwrap().by_value, by_value, "{text}");
    }
    let error = open_with("select * from read_csv($1)", &[]).unwrap_err();
    assert!(error.message().contains("value of $1 is needed"), "{error}");
}
