//! Rule `eager_aggregation`: where rows are grouped below a join, and where they may not be.

mod tpch;

use optimizer::Settings;
use plan::{AggregateFunction as F, Arithmetic, Expr, ExprKind, LogicalPlan};
use tpch::*;
use types::Type;

/// Quantities of all lineitems by the nation of their supplier.
fn by_nation(b: &mut Builder, calls: Vec<(&str, F, Option<Expr>)>, lineitem: LogicalPlan) -> LogicalPlan {
    let (supplier, nation) = (b.scan("supplier"), b.scan("nation"));
    let joined = filter(
        cross(cross(lineitem, supplier), nation),
        Expr::and(vec![b.eq("l_suppkey", "s_suppkey"), b.eq("s_nationkey", "n_nationkey")]),
    );
    b.aggregate(joined, &["n_name"], calls)
}

#[test]
fn few_groups_are_joined_instead_of_many_rows() {
    let mut b = Builder::default();
    let lineitem = b.scan("lineitem");
    let quantity = b.c("l_quantity");
    let calls = vec![("total", F::Sum, Some(quantity)), ("lines", F::CountStar, None)];
    let plan = by_nation(&mut b, calls, lineitem);
    let output = ["n_name", "total", "lines"];
    let text = b.explain(plan.clone(), &output, &Settings::default());
    let expected = "\
Aggregate by [n_name] [sum(partial total), sum(partial lines)]  (rows 25)
  HashJoin Inner l_suppkey = s_suppkey, unique build  (rows 10000)
    Aggregate by [l_suppkey] [sum(l_quantity), count(*)]  (rows 10000)
      TableScan lineitem  (rows 6001215)
    HashJoin Inner s_nationkey = n_nationkey, unique build  (rows 10000)
      TableScan supplier  (rows 10000)
      TableScan nation  (rows 25)
";
    assert_eq!(text, expected, "{text}");
    let mut off = Settings::default();
    assert!(off.set("eager_aggregation", "off").unwrap());
    assert_eq!(b.explain(plan, &output, &off).matches("Aggregate").count(), 1);
}

/// A filter on the partner that most rows do not meet, too many groups, or an aggregate that needs each row.
#[test]
fn rows_are_not_grouped_early_where_it_does_not_pay_or_may_not_be() {
    let grouped_early = |text: &str| text.matches("Aggregate").count() > 1;
    let of = |function: F, ty: Type, distinct: bool| {
        let mut b = Builder::default();
        let lineitem = b.scan("lineitem");
        let price = b.c("l_extendedprice");
        let mut plan = by_nation(&mut b, vec![("result", function, Some(price))], lineitem);
        if let LogicalPlan::Aggregate { aggregates, .. } = &mut plan {
            aggregates[0].1.ty = ty;
            aggregates[0].1.distinct = distinct;
        }
        b.explain(plan, &["n_name", "result"], &Settings::default())
    };
    let sum = Type::Decimal { precision: 38, scale: 2 };
    assert!(grouped_early(&of(F::Sum, sum, false)));
    assert!(grouped_early(&of(F::Avg, Type::Decimal { precision: 38, scale: 6 }, false)));
    assert!(grouped_early(&of(F::Max, sum, true)));
    // The values would have to be group keys, and they are too many.
    assert!(!grouped_early(&of(F::Sum, sum, true)));
    assert!(!grouped_early(&of(F::StddevSamp, Type::Double, false)));

    // Orders of lineitems: four rows to a group, and then nothing is saved but the look-up.
    let mut b = Builder::default();
    let (orders, lineitem) = (b.scan("orders"), b.scan("lineitem"));
    let joined = filter(cross(orders, lineitem), b.eq("o_orderkey", "l_orderkey"));
    let quantity = b.c("l_quantity");
    let plan = b.aggregate(joined, &["o_orderkey", "o_orderdate"], vec![("total", F::Sum, Some(quantity))]);
    assert!(!grouped_early(&b.explain(plan, &["o_orderdate", "total"], &Settings::default())));
}

/// A sum of products that bounds do not keep within its type could overflow in a row that joins with nothing.
#[test]
fn nothing_that_may_fail_is_computed_early() {
    let mut b = Builder::default();
    let lineitem = b.scan("lineitem");
    let computed = |op, other: &str| {
        let (left, right) = (b.c("l_orderkey"), b.c(other));
        let kind = ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true };
        Expr::new(kind, Type::BigInt)
    };
    let cases = [
        (computed(Arithmetic::Add, "l_partkey"), true),
        (computed(Arithmetic::Multiply, "l_orderkey"), false),
        (computed(Arithmetic::Divide, "l_partkey"), false),
    ];
    for (expr, expected) in cases {
        let mut b = Builder { columns: b.columns.clone() };
        let plan = by_nation(&mut b, vec![("total", F::Sum, Some(expr))], lineitem.clone());
        let text = b.explain(plan, &["n_name", "total"], &Settings::default());
        assert_eq!(text.matches("Aggregate").count() > 1, expected, "{text}");
    }
}
