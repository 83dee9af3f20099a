//! One snapshot per rule: the plan with the rule, and what is different without it.

mod tpch;

use optimizer::Settings;
use plan::{AggregateFunction as F, Arithmetic, Expr, ExprKind, JoinKind};
use tpch::*;
use types::{Comparison, Type, Value};

fn without(name: &str) -> Settings {
    let mut settings = Settings::default();
    assert!(settings.set(name, "off").unwrap());
    settings
}

#[track_caller]
fn same(actual: &str, expected: &str) {
    let trim = |s: &str| {
        s.lines().map(str::trim_end).filter(|l| !l.trim().is_empty()).collect::<Vec<_>>().join("\n")
    };
    let indent =
        expected.lines().find(|l| !l.trim().is_empty()).map_or(0, |l| l.len() - l.trim_start().len());
    let expected: String =
        expected.lines().map(|l| l.get(indent..).unwrap_or("").to_owned() + "\n").collect();
    assert!(trim(actual) == trim(&expected), "got\n{actual}\nexpected\n{expected}");
}

/// customer, orders, lineitem as Q3 has them, in the order of the text.
fn q3(b: &mut Builder) -> plan::LogicalPlan {
    let tables = {
        let (customer, orders, lineitem) = (b.scan("customer"), b.scan("orders"), b.scan("lineitem"));
        cross(cross(customer, orders), lineitem)
    };
    filter(
        tables,
        Expr::and(vec![
            b.is("c_mktsegment", "BUILDING"),
            b.eq("c_custkey", "o_custkey"),
            b.eq("l_orderkey", "o_orderkey"),
            b.cmp("o_orderdate", Comparison::Less, "1995-03-15"),
            b.cmp("l_shipdate", Comparison::Greater, "1995-03-15"),
        ]),
    )
}

#[test]
fn filters_reach_the_scans_and_equalities_become_keys() {
    let mut b = Builder::default();
    let plan = q3(&mut b);
    let text = b.explain(plan, &["l_orderkey", "o_shippriority"], &Settings::default());
    same(&text, "");
}
