//! Errors: their SQLSTATE, the place they point at, and what they advise.

use types::Type;

use crate::catalog::{Catalog, planned};

fn catalog() -> Catalog {
    Catalog::tpch().with(
        "t",
        &[
            ("i", Type::Integer),
            ("s", Type::Text),
            ("d", Type::Date),
            ("b", Type::Boolean),
            ("n", Type::Decimal { precision: 5, scale: 2 }),
        ],
    )
}

/// The mark `^` stands right before the character that the error must point at.
fn expect(marked: &str, state: &str, hint: Option<&str>) {
    let at = marked.find('^');
    let text = marked.replacen('^', "", 1);
    let error = match planned(&text, &catalog()) {
        Ok(_) => panic!("no error: {text}"),
        Err(error) => error,
    };
    let shown = error.render(&text);
    assert_eq!(error.state().code(), state, "{shown}");
    if let Some(at) = at {
        let place = error.position().unwrap_or_else(|| panic!("no position: {shown}"));
        assert_eq!(place.offset as usize, at, "{shown}");
        let line = text[..at].matches('\n').count() as u32 + 1;
        assert_eq!(place.line, line, "{shown}");
    }
    if let Some(hint) = hint {
        assert!(error.hint().is_some_and(|h| h.contains(hint)), "{shown}");
    }
}

#[test]
fn syntax() {
    expect("select 1 +^", "42601", None);
    expect("select * from t where^", "42601", None);
    expect("^selec 1", "42601", Some("did you mean SELECT?"));
    expect("select i form ^t", "42601", Some("did you mean FROM?"));
    expect("select i from t gruop ^by i", "42601", Some("did you mean GROUP?"));
    expect("update t set ^nothing = 1", "42703", None);
    expect("update t set i = 1, ^i = 2", "42601", None);
    expect("delete from t where ^nothing = 1", "42703", None);
    expect("select i, count(*) from t", "42803", Some("GROUP BY ALL"));
    expect("select i from t where (i = 1^", "42601", None);
    expect("select 1 from t t2 ^t3", "42601", None);
    expect("select from ^where", "42601", None);
    expect("select\n  i,\n  s\nfrom t\nwhere i = ^= 1", "42601", None);
    expect("select ^'abc", "42601", None);
    expect("select 1 ^/* never closed", "42601", None);
    expect("", "42601", None);
    expect("select 1; ^select 2", "42601", None);
}

#[test]
fn names() {
    expect("select ^l_quantiy from lineitem", "42703", Some("l_quantity"));
    expect("select i from t where\n  ^zzz > 1", "42703", None);
    expect("select * from ^lineitm", "42P01", Some("lineitem"));
    expect("select ^x.i from t", "42P01", None);
    expect("select ^t.j from t", "42703", None);
    expect("select ^i from t a, t b", "42702", Some("qualify"));
    expect("select ^lowr(s) from t", "42883", Some("lower"));
    expect("select a.i from t a, ^t a", "42712", None);
    expect("select i from t order by ^7", "42P10", None);
    expect("select i, count(*) from t group by ^9", "42P10", None);
    expect("select * from t join t u using (^zz)", "42703", None);
    expect("insert into t (^zz) values (1)", "42703", None);
    expect("insert into ^tt values (1)", "42P01", None);
    expect("select * from ^'missing.parquet'", "58P01", None);
    expect("select * from ^missing.parquet", "42P01", Some("single quotes"));
}

#[test]
fn grouping() {
    expect("select ^i, sum(n) from t", "42803", None);
    expect("select s, ^i from t group by s", "42803", None);
    expect("select i from t where ^sum(n) > 1", "42803", None);
    expect("select sum(^max(n)) from t", "42803", None);
    expect("select i from t group by ^sum(n)", "42803", None);
    expect("select c_name, ^o_orderkey from customer, orders group by c_custkey", "42803", None);
}

#[test]
fn types() {
    expect("select ^i + s from t", "42883", Some("cast"));
    expect("select i from t where ^s", "42804", None);
    expect("select i from t where i = ^'abc'", "22P02", None);
    expect("select i from t where d > ^'some day'", "22007", None);
    expect("select i from t where d > ^'2023-02-30'", "22008", None);
    expect("select ^d = i from t", "42883", None);
    expect("select case when b then 1 else ^s end from t", "42804", None);
    expect("select ^sum(s) from t".replace('^', "").as_str(), "42883", None);
    expect("select i from t limit ^'x'", "22P02", None);
    expect("select cast(^d as integer) from t", "42846", None);
    expect("insert into t (i) values (^'x')", "22P02", None);
    expect("insert into t (i) values (^date '2020-01-01')".replace('^', "").as_str(), "42804", None);
    expect("select interval ^'1 fortnight'", "22007", None);
    expect("select ^-s from t".replace('^', "").as_str(), "42883", None);
    expect("select abs(s) from t", "42883", None);
    expect("select 1 union select ^'a' union select date '2020-01-01'", "22P02", None);
    expect("select i from t union select ^d from t", "42804", None);
    expect("select i, s from t union ^select i from t", "42601", None);
}

#[test]
fn refusals_are_clear() {
    expect("select ^row_number() from t", "42P20", Some("OVER"));
    expect("with recursive r as (select 1 limit 1 union select * from r) select * from r", "42601", None);
    expect("with recursive r as (select 1 union select 2 from r limit 3) select * from r", "0A000", None);
    expect("create table x (a integer default (select 1))", "0A000", None);
    expect("create table x (a integer, check (^a > (select 1)))", "0A000", None);
    expect("create table x (^a intervall)", "42704", Some("INTERVAL"));
    expect("select ^$1", "42P02", Some("EXECUTE"));
}

#[test]
fn carets_are_drawn_under_the_fault() {
    let text = "select i,\n       nam\nfrom t";
    let error = planned(text, &catalog()).unwrap_err();
    assert_eq!(
        error.render(text),
        "ERROR 42703: column \"nam\" does not exist\nLINE 2:        nam\n               ^"
    );
}

#[test]
fn positions_count_from_the_start_of_a_script() {
    let script = "select 1;\n\n  select\n zzz";
    let statements = sql::split(script).unwrap();
    let error = sql::plan(script, &statements[1], &catalog()).unwrap_err();
    let place = error.position().unwrap();
    assert_eq!((place.line, place.column, place.offset as usize), (4, 2, script.find("zzz").unwrap()));
}
