//! Subqueries wherever they may stand: each form plans, with the join it should, and without outer references left.
//!
//! `plan` plans a statement over small tables, checks that no column is read that nothing below produces, and looks
//! for (or misses) parts of the printed plan. The forms cover EXISTS, IN, ANY, scalar subqueries and LATERAL in every
//! clause.

use types::Type;

use crate::catalog::{Catalog, planned, query, shown};

fn catalog() -> Catalog {
    Catalog::tpch()
        .with("t", &[("a", Type::Integer), ("b", Type::Integer), ("c", Type::Text)])
        .with("u", &[("a", Type::Integer), ("b", Type::Integer), ("c", Type::Text)])
        .with("w", &[("a", Type::Integer), ("b", Type::Integer), ("c", Type::Text)])
}

/// Plans, checks that every column used is there, and that the plan has (or lacks) what is said.
fn plan(text: &str, has: &[&str], lacks: &[&str]) {
    let found = shown(&query(text, &catalog()));
    for wanted in has {
        assert!(found.contains(wanted), "{text}\nlacks {wanted}\n{found}");
    }
    for unwanted in lacks {
        assert!(!found.contains(unwanted), "{text}\nhas {unwanted}\n{found}");
    }
}

#[test]
fn memberships_become_semi_joins() {
    plan("select * from t where exists (select 1 from u where u.a = t.a)", &["LeftSemi a#0 = a#3"], &[]);
    plan(
        "select * from t where not exists (select * from u where u.a = t.a and u.b > t.b)",
        &["LeftAnti a#0 = a#3 AND residual"],
        &[],
    );
    plan("select * from t where a in (select a from u)", &["LeftSemi a#0 = a#3"], &["mark"]);
    plan("select * from t where a not in (select a from u)", &["LeftAnti null-aware a#0 = a#3"], &[]);
    plan(
        "select * from t where not a in (select a from u where u.b = t.b)",
        &["LeftAnti b#1 = b#4 AND residual"],
        &["null-aware"],
    );
    plan(
        "select * from nation where n_nationkey not in (select s_nationkey from supplier)",
        &["LeftAnti n_nationkey"],
        &["null-aware"],
    );
    plan("select * from t where (a, b) in (select a, b from u)", &["LeftSemi a#0 = a#3 AND b#1 = b#4"], &[]);
    plan("select * from t where a = any (select a from u)", &["LeftSemi"], &[]);
    plan("select * from t where a > all (select a from u)", &["LeftAnti"], &[]);
    plan("select a from t group by a having a in (select a from u)", &["LeftSemi"], &[]);
    plan(
        "select * from t where exists (select 1 from u group by a having a = t.a)",
        &["LeftSemi a#0 = a#3"],
        &[],
    );
}

#[test]
fn memberships_in_expressions_become_marks() {
    plan("select * from t where b = 1 or exists (select 1 from u where u.a = t.a)", &["LeftMark"], &["CASE"]);
    plan("select * from t where b = 1 or a in (select a from u)", &["LeftMark"], &["CASE"]);
    plan("select a in (select a from u) from t", &["LeftMark", "CASE", "count(*)"], &[]);
    plan("select a not in (select a from u where u.b = t.b) from t", &["LeftMark", "CASE"], &[]);
    plan("select n_nationkey in (select s_nationkey from supplier) from nation", &["LeftMark"], &["CASE"]);
    plan(
        "select sum(case when exists (select 1 from u where u.a = t.a) then 1 else 0 end) from t",
        &["LeftMark"],
        &[],
    );
    plan("select exists (select 1 from u) from t", &["subquery 0", "Limit 1"], &["Mark"]);
}

#[test]
fn scalar_subqueries() {
    plan("select (select max(b) from u) from t", &["subquery 0"], &["Join"]);
    plan(
        "select (select max(b) from u where u.a = t.a) from t",
        &["Join Left", "Aggregate by [a#"],
        &["coalesce"],
    );
    plan("select (select count(*) from u where u.a = t.a) from t", &["Join Left", "coalesce(count(*)"], &[]);
    plan(
        "select (select count(*) + 1 from u where u.a = t.a having count(*) > 0) from t",
        &["CASE WHEN"],
        &[],
    );
    plan("select * from t where b > (select avg(b) from u where u.a = t.a)", &["Join Left"], &[]);
    plan("select * from t where b > (select sum(b) from u where u.a > t.a)", &["Join Left"], &[]);
    plan(
        "select (select n_name from nation where n_nationkey = s_nationkey) from supplier",
        &["Join Left s_nationkey"],
        &["single_value"],
    );
    plan("select (select c from u where u.a = t.a) from t", &["single_value"], &[]);
    plan("select (select c from u where u.a = t.a limit 1) from t", &["any_value"], &["single_value"]);
    plan("select (select t.a) from t", &[], &[]);
    plan("select (select t.a + max(b) from u) from t", &[], &[]);
    plan("select a from t order by (select max(b) from u where u.a = t.a)", &["Join Left"], &[]);
    plan(
        "select a, sum(b) from t group by a having sum(b) > (select max(b) from u where u.a = t.a)",
        &["Join Left"],
        &[],
    );
    plan("select a, (select count(*) from u where u.a = t.a) from t group by a", &["Join Left"], &[]);
    plan("select sum((select max(b) from u where u.a = t.a)) from t", &["Join Left"], &[]);
    assert!(
        planned("select b, (select max(b) from u where u.a = t.a) from t group by b", &catalog()).is_err()
    );
}

#[test]
fn nested_and_skipping_levels() {
    plan(
        "select * from t where exists (select 1 from u where u.a = t.a and exists (select 1 from w where w.a = u.a and w.b = t.b))",
        &["LeftSemi"],
        &[],
    );
    plan(
        "select (select count(*) from u where u.a = t.a and u.b > (select avg(b) from w where w.a = t.a and w.b < u.b)) from t",
        &["Join Left"],
        &[],
    );
    plan(
        "select * from t where a in (select a from u where b in (select b from w where w.c = t.c))",
        &["LeftSemi"],
        &[],
    );
    plan(
        "select * from t where a not in (select a from u where b not in (select b from w where w.c = t.c))",
        &["LeftAnti"],
        &[],
    );
    plan(
        "select * from t where b = (select max(x.s) from (select sum(b) as s from u where u.a = t.a group by c) x)",
        &["Join Left"],
        &[],
    );
    plan(
        "select * from t where b > (select count(*) from (select a from u where u.b = t.b union all select a from w where w.b > t.b) x)",
        &["Union"],
        &[],
    );
    plan(
        "select (select count(*) from u left join w on u.a = w.a and w.b = t.b where u.c = t.c) from t",
        &["Join Left"],
        &[],
    );
    plan("select (select count(distinct b) from u where u.a <> t.a) from t", &["coalesce"], &[]);
    plan(
        "select * from t where exists (select a from u where u.a = t.a intersect select a from w)",
        &[],
        &[],
    );
}

#[test]
fn lateral_joins() {
    plan("select * from t, lateral (select * from u where u.a = t.a) x", &["Join Inner a#0 = a#3"], &[]);
    plan(
        "select * from t left join lateral (select max(b) as m from u where u.a = t.a) x on true",
        &["Join Left"],
        &[],
    );
    plan("select * from t cross join lateral (select t.a + 1 as n) x", &[], &[]);
    plan(
        "select * from t join lateral (select u.b from u where u.a > t.a) x on x.b = t.b",
        &["Join Inner"],
        &[],
    );
}
