//! Types of expressions, and what constants and casts become: docs/decisions/types.md in examples.
//!
//! Expressions are planned over a table with columns of the basic types; tests compare the type of the result, or the
//! printed expression after folding.

use types::Type;

use crate::catalog::{Catalog, query, shown};

fn catalog() -> Catalog {
    Catalog::tpch().with(
        "t",
        &[
            ("s", Type::SmallInt),
            ("i", Type::Integer),
            ("b", Type::BigInt),
            ("n", Type::Decimal { precision: 15, scale: 2 }),
            ("r", Type::Real),
            ("f", Type::Double),
            ("c", Type::Char(5)),
            ("v", Type::Varchar(8)),
            ("x", Type::Text),
            ("d", Type::Date),
            ("k", Type::Time),
            ("m", Type::Timestamp),
            ("z", Type::TimestampTz),
            ("p", Type::IntervalYearMonth),
            ("q", Type::IntervalDayTime),
            ("o", Type::Boolean),
            ("y", Type::Bytea),
            ("u", Type::Uuid),
        ],
    )
}

fn ty(expression: &str) -> String {
    let found = query(&format!("select {expression} from t"), &catalog());
    found.columns.get(found.output[0].0).ty.to_string()
}

/// The expression as the plan has it, without column numbers.
fn plan_of(expression: &str) -> String {
    let found = query(&format!("select {expression} as e from t"), &catalog());
    let text = shown(&found);
    let line = text.lines().next().unwrap_or_default();
    let body = line.trim_start_matches("Project ").rsplit_once(" AS e#").map_or(line, |(b, _)| b);
    strip_numbers(body)
}

fn condition(text: &str) -> String {
    let found = query(&format!("select 1 from t where {text}"), &catalog());
    let text = shown(&found);
    let line = text.lines().find(|l| l.trim_start().starts_with("Filter")).unwrap_or("none");
    strip_numbers(line.trim_start().trim_start_matches("Filter "))
}

fn strip_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut skip = false;
    for c in text.chars() {
        skip = c == '#' || (skip && c.is_ascii_digit());
        if !skip {
            out.push(c);
        }
    }
    out
}

#[test]
fn arithmetic_types() {
    for (expression, wanted) in [
        ("s + s", "SMALLINT"),
        ("s + i", "INTEGER"),
        ("s + 1", "INTEGER"),
        ("i * b", "BIGINT"),
        ("i / 2", "INTEGER"),
        ("i % 2", "INTEGER"),
        ("i + 3000000000", "BIGINT"),
        ("n + 1", "DECIMAL(16,2)"),
        ("1 - n", "DECIMAL(16,2)"),
        ("n * (1 - n)", "DECIMAL(31,4)"),
        ("n * (1 - n) * (1 + n)", "DECIMAL(38,6)"),
        ("n + i", "DECIMAL(16,2)"),
        ("n * i", "DECIMAL(25,2)"),
        ("n + 0.125", "DECIMAL(17,3)"),
        ("n / n", "DECIMAL(38,16)"),
        ("n / 3", "DECIMAL(38,16)"),
        ("1 / 3", "INTEGER"),
        ("n % 7", "DECIMAL(15,2)"),
        ("r + r", "REAL"),
        ("r + i", "DOUBLE PRECISION"),
        ("r + n", "DOUBLE PRECISION"),
        ("f * n", "DOUBLE PRECISION"),
        ("-n", "DECIMAL(15,2)"),
        ("-2147483648", "INTEGER"),
        ("-9223372036854775808", "BIGINT"),
        ("d + 1", "DATE"),
        ("1 + d", "DATE"),
        ("d - 1", "DATE"),
        ("d - d", "INTEGER"),
        ("d + p", "TIMESTAMP"),
        ("d - interval '1 day'", "TIMESTAMP"),
        ("m + q", "TIMESTAMP"),
        ("z - p", "TIMESTAMPTZ"),
        ("m - m", "INTERVAL"),
        ("m - d", "INTERVAL"),
        ("k + q", "TIME"),
        ("k - k", "INTERVAL"),
        ("d + k", "TIMESTAMP"),
        ("p + p", "INTERVAL YEAR TO MONTH"),
        ("p + q", "INTERVAL"),
        ("p / 2", "INTERVAL"),
        ("p * 2", "INTERVAL YEAR TO MONTH"),
        ("q / 2", "INTERVAL DAY TO SECOND"),
        ("2 * q", "INTERVAL DAY TO SECOND"),
        ("x || 'a' || c", "TEXT"),
        ("i || x", "TEXT"),
        ("y || y", "BYTEA"),
        ("'1' + i", "INTEGER"),
        ("i + null", "INTEGER"),
        ("2 ^ 3", "DOUBLE PRECISION"),
    ] {
        assert_eq!(ty(expression), wanted, "{expression}");
    }
}

#[test]
fn aggregate_types() {
    for (expression, wanted) in [
        ("count(*)", "BIGINT"),
        ("sum(s)", "BIGINT"),
        ("sum(b)", "BIGINT"),
        ("sum(n)", "DECIMAL(38,2)"),
        ("sum(r)", "DOUBLE PRECISION"),
        ("sum(q)", "INTERVAL DAY TO SECOND"),
        ("avg(i)", "DOUBLE PRECISION"),
        ("avg(n)", "DECIMAL(38,6)"),
        ("min(c)", "CHAR(5)"),
        ("max(d)", "DATE"),
        ("stddev(i)", "DOUBLE PRECISION"),
        ("bool_and(o)", "BOOLEAN"),
        ("string_agg(x, ',')", "TEXT"),
        ("sum(n) / count(*)", "DECIMAL(38,16)"),
    ] {
        assert_eq!(ty(expression), wanted, "{expression}");
    }
}

#[test]
fn other_types() {
    for (expression, wanted) in [
        ("case when o then 1 else 2.5 end", "DECIMAL(2,1)"),
        ("case when o then n else 0 end", "DECIMAL(15,2)"),
        ("case when o then d else '2020-01-01' end", "DATE"),
        ("case when o then i end", "INTEGER"),
        ("coalesce(null, i, b)", "BIGINT"),
        ("coalesce(d, m)", "TIMESTAMP"),
        ("nullif(i, 1)", "INTEGER"),
        ("nullif(n, 1)", "DECIMAL(15,2)"),
        ("greatest(i, n)", "DECIMAL(15,2)"),
        ("extract(year from d)", "BIGINT"),
        ("extract(hour from m)", "BIGINT"),
        ("length(x)", "INTEGER"),
        ("substring(x from 2 for 3)", "TEXT"),
        ("upper(c)", "TEXT"),
        ("abs(n)", "DECIMAL(15,2)"),
        ("round(n, 1)", "DECIMAL(15,1)"),
        ("round(n)", "DECIMAL(14,0)"),
        ("sqrt(f)", "DOUBLE PRECISION"),
        ("x::varchar(3)", "VARCHAR(3)"),
        ("i::text", "TEXT"),
        ("'abc'::char(2)", "CHAR(2)"),
        ("interval '3' month", "INTERVAL"),
        ("interval '90' day", "INTERVAL"),
        ("interval '1 year 2 months'", "INTERVAL"),
        ("interval '1-2' year to month", "INTERVAL"),
        ("interval '1 02:03:04' day to second", "INTERVAL"),
        ("i in (1, 2)", "BOOLEAN"),
        ("x like 'a%'", "BOOLEAN"),
        ("null", "TEXT"),
        ("true", "BOOLEAN"),
    ] {
        assert_eq!(ty(expression), wanted, "{expression}");
    }
}

#[test]
fn constants_are_folded() {
    for (expression, wanted) in [
        ("1 + 2 * 3", "7"),
        ("0.06 - 0.01", "0.05"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("1.0 / 3", "0.3333333333333333"),
        ("date '1994-01-31' + interval '1' month", "'1994-02-28 00:00:00'"),
        ("date '1994-01-01' + 31", "'1994-02-01'"),
        ("date '1998-12-01' - date '1998-09-02'", "90"),
        ("cast('12.345' as decimal(5,1))", "12.3"),
        ("'a' || 'b' || 1", "'ab1'"),
        ("cast('abcdef' as varchar(3))", "'abc'"),
        ("cast('abc  ' as char(5))", "'abc'"),
        ("not (1 > 2)", "true"),
        ("null = 1", "NULL"),
        ("1 is distinct from null", "true"),
    ] {
        assert_eq!(plan_of(expression), wanted, "{expression}");
    }
    // What fails stays, to fail when it is evaluated.
    assert_eq!(plan_of("2147483647 + 1"), "2147483647 + 1");
    assert_eq!(plan_of("1 / 0"), "1 / 0");
}

#[test]
fn columns_stay_bare_beside_literals() {
    for (text, wanted) in [
        ("i < 24", "i < 24"),
        ("i < 24.5", "i <= 24"),
        ("i >= 24.5", "i > 24"),
        ("s = 5", "s = 5"),
        ("b = 5", "b = 5"),
        ("24 > n", "n < 24.00"),
        ("n between 0.05 and 0.07", "(n >= 0.05) AND (n <= 0.07)"),
        ("n > 0.055", "n > 0.05"),
        ("n < -0.055", "n <= -0.06"),
        ("f > 1.5", "f > 1.5"),
        ("d >= '1995-01-01'", "d >= '1995-01-01'"),
        ("d < date '1994-01-01' + interval '1' year", "d < '1995-01-01'"),
        ("d <= timestamp '1994-01-01 12:00:00'", "d <= '1994-01-01'"),
        ("d >= timestamp '1994-01-01 12:00:00'", "d > '1994-01-01'"),
        ("m >= date '1994-01-01'", "m >= '1994-01-01 00:00:00'"),
        ("c = 'ab   '", "c = 'ab'"),
        ("v = 'ab   '", "v = 'ab   '"),
        ("c in ('x ', 'a', 'x')", "c IN (a, x)"),
        ("i in (3, 1, 2, 1)", "i IN (1, 2, 3)"),
        ("i in (1, 2.5)", "(i = 1) OR (CAST(i AS DECIMAL(11,1)) = 2.5)"),
        ("i not in (1, null)", "i NOT IN (1, NULL)"),
        ("i in (7)", "i = 7"),
        ("d in ('2020-01-01', date '2019-01-01')", "d IN (2019-01-01, 2020-01-01)"),
        ("not (i > 1 and x like 'a%')", "(i <= 1) OR x NOT LIKE 'a%'"),
        ("o is not true", "o IS NOT TRUE"),
        ("x like 'a!%b' escape '!'", "x LIKE 'a!%b'"),
        ("i > s", "i > CAST(s AS INTEGER)"),
        ("u = '00000000-0000-0000-0000-000000000001'", "u = 00000000-0000-0000-0000-000000000001"),
        ("1 = 1 and i = 2", "i = 2"),
        ("i = 2 or 1 = 1", "none"),
    ] {
        assert_eq!(condition(text), wanted, "{text}");
    }
}
