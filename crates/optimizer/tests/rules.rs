//! One snapshot per rule: the plan with the rule, and what is different without it.

mod tpch;

use optimizer::Settings;
use plan::{AggregateFunction as F, Arithmetic, Expr, ExprKind, JoinKind, LogicalPlan};
use tpch::*;
use types::{Comparison, Type, Value};

fn without(name: &str) -> Settings {
    let mut settings = Settings::default();
    assert!(settings.set(name, "off").unwrap());
    settings
}

fn all() -> Settings {
    Settings::default()
}

#[track_caller]
fn same(actual: &str, expected: &str) {
    let lines = |s: &str| {
        s.lines().map(str::trim_end).filter(|l| !l.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = lines(expected);
    let indent = expected.first().map_or(0, |l| l.len() - l.trim_start().len());
    let expected: Vec<String> = expected.iter().map(|l| l.get(indent..).unwrap_or("").to_owned()).collect();
    assert!(lines(actual) == expected, "got\n{actual}\nexpected\n{}", expected.join("\n"));
}

/// customer, orders, lineitem as Q3 has them, in the order of the text.
fn q3(b: &mut Builder) -> LogicalPlan {
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
    let text = b.explain(plan.clone(), &["l_orderkey", "o_shippriority"], &all());
    same(
        &text,
        "
        HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 1  (rows 297878)
          TableScan lineitem where l_shipdate > '1995-03-15' AND l_orderkey in filter 1  (rows 297878)
          HashJoin ProbeSemi o_custkey = c_custkey, unique build, fills filter 0  (rows 137207)
            TableScan orders where o_orderdate < '1995-03-15' AND o_custkey in filter 0  (rows 137207)
            TableScan customer where c_mktsegment = 'BUILDING'  (rows 30000)
        ",
    );
    let text = b.explain(plan.clone(), &["l_orderkey"], &without("filter_push_down"));
    same(&text, "
        Project l_orderkey  (rows 14786)
          Filter (o_orderdate < '1995-03-15') AND (l_shipdate > '1995-03-15') AND (c_mktsegment = 'BUILDING')  (rows 14786)
            HashJoin Inner l_orderkey = o_orderkey, unique build  (rows 297878)
              TableScan lineitem  (rows 6001215)
              HashJoin Inner o_custkey = c_custkey, unique build  (rows 1500000)
                TableScan orders  (rows 1500000)
                TableScan customer  (rows 150000)
        ");
}

#[test]
fn everything_off_still_plans() {
    let mut b = Builder::default();
    let plan = q3(&mut b);
    let text = b.explain(plan, &["l_orderkey"], &Settings::all_off());
    same(&text, "
        Project l_orderkey  (rows 14786)
          Filter (o_orderdate < '1995-03-15') AND (l_shipdate > '1995-03-15') AND (c_mktsegment = 'BUILDING')  (rows 14786)
            HashJoin Inner o_orderkey = l_orderkey  (rows 297878)
              HashJoin Inner c_custkey = o_custkey  (rows 1500000)
                TableScan customer  (rows 150000)
                TableScan orders  (rows 1500000)
              TableScan lineitem  (rows 6001215)
        ");
}

#[test]
fn group_keys_that_others_determine_are_not_hashed() {
    let mut b = Builder::default();
    let joined = q3(&mut b);
    let price = b.c("l_extendedprice");
    let plan = b.aggregate(
        joined,
        &["l_orderkey", "o_orderdate", "o_shippriority", "c_name"],
        vec![("revenue", F::Sum, Some(price))],
    );
    let plan = b.sort(plan, &["revenue", "o_orderdate"], Some(10));
    let output = ["l_orderkey", "revenue", "o_orderdate", "c_name"];
    same(&b.explain(plan.clone(), &output, &without("late_materialization")), "
        Top 10 by revenue, o_orderdate  (rows 10)
          Aggregate by [l_orderkey] [sum(l_extendedprice), any_value(o_orderdate), any_value(c_name)]  (rows 111073)
            HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 1  (rows 297878)
              TableScan lineitem where l_shipdate > '1995-03-15' AND l_orderkey in filter 1  (rows 297878)
              HashJoin Inner o_custkey = c_custkey, unique build, fills filter 0  (rows 137207)
                TableScan orders where o_orderdate < '1995-03-15' AND o_custkey in filter 0  (rows 137207)
                TableScan customer where c_mktsegment = 'BUILDING'  (rows 30000)
        ");
    same(&b.explain(plan, &output, &without("group_key_reduction")), "
        Project l_orderkey, revenue, o_orderdate, c_name  (rows 10)
          Top 10 by revenue, o_orderdate  (rows 10)
            Aggregate by [l_orderkey, o_orderdate, o_shippriority, c_name] [sum(l_extendedprice)]  (rows 111073)
              HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 1  (rows 297878)
                TableScan lineitem where l_shipdate > '1995-03-15' AND l_orderkey in filter 1  (rows 297878)
                HashJoin Inner o_custkey = c_custkey, unique build, fills filter 0  (rows 137207)
                  TableScan orders where o_orderdate < '1995-03-15' AND o_custkey in filter 0  (rows 137207)
                  TableScan customer where c_mktsegment = 'BUILDING'  (rows 30000)
        ");
}

/// Customers joined with orders and lineitems, their names and addresses carried by the key, the best ten.
fn best_customers(b: &mut Builder, late: bool) -> String {
    let joined = q3(b);
    let price = b.c("l_extendedprice");
    let groups = ["c_custkey", "c_name", "c_address"];
    let plan = b.aggregate(joined, &groups, vec![("revenue", F::Sum, Some(price))]);
    let plan = b.sort(plan, &["revenue"], Some(10));
    let settings = if late { all() } else { without("late_materialization") };
    b.explain(plan, &["c_name", "revenue", "c_address"], &settings)
}

#[test]
fn columns_that_nothing_looks_at_are_fetched_where_rows_are_fewest() {
    let mut b = Builder::default();
    same(
        &best_customers(&mut b, true),
        "
        Project c_name, revenue, c_address  (rows 10)
          Fetch c_name, c_address (late)  (rows 10)
            Top 10 by revenue  (rows 10)
              Aggregate by [o_custkey] [sum(l_extendedprice), any_value(row of customer)]  (rows 29997)
                HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 1  (rows 297878)
                  TableScan lineitem where l_shipdate > '1995-03-15' AND l_orderkey in filter 1  (rows 297878)
                  HashJoin Inner o_custkey = c_custkey, unique build, fills filter 0  (rows 137207)
                    TableScan orders where o_orderdate < '1995-03-15' AND o_custkey in filter 0  (rows 137207)
                    TableScan customer where c_mktsegment = 'BUILDING'  (rows 30000)
        ",
    );
    let mut b = Builder::default();
    let without = best_customers(&mut b, false);
    assert!(!without.contains("Fetch") && !without.contains("row of"), "{without}");
}

#[test]
fn a_sort_key_and_a_column_computed_with_are_not_deferred() {
    let mut b = Builder::default();
    let orders = b.scan("orders");
    let plan = b.sort(orders, &["o_totalprice"], Some(5));
    same(
        &b.explain(plan, &["o_orderkey", "o_totalprice", "o_clerk"], &all()),
        "
        Fetch o_orderkey, o_clerk (late)  (rows 5)
          Top 5 by o_totalprice  (rows 5)
            TableScan orders  (rows 1500000)
        ",
    );
    // All rows are left: nothing to gain.
    let mut b = Builder::default();
    let orders = b.scan("orders");
    let plan = b.sort(orders, &["o_totalprice"], None);
    let plan = b.explain(plan, &["o_orderkey", "o_totalprice", "o_clerk"], &all());
    assert!(!plan.contains("Fetch"), "{plan}");
}

#[test]
fn distinct_over_distinct_rows_is_dropped() {
    let mut b = Builder::default();
    let orders = b.scan("orders");
    let plan = b.aggregate(orders, &["o_orderkey", "o_custkey"], vec![]);
    same(
        &b.explain(plan, &["o_orderkey"], &all()),
        "
        TableScan orders  (rows 1500000)
        ",
    );
}

#[test]
fn outer_joins_become_inner_where_nulls_cannot_survive() {
    let mut b = Builder::default();
    let (customer, orders) = (b.scan("customer"), b.scan("orders"));
    let on = vec![(b.c("c_custkey"), b.c("o_custkey"))];
    let outer = join(JoinKind::Left, customer, orders, on);
    let plan = filter(outer.clone(), b.cmp("o_totalprice", Comparison::Greater, "1000"));
    let text = b.explain(plan.clone(), &["c_name", "o_orderkey"], &all());
    same(
        &text,
        "
        HashJoin Inner o_custkey = c_custkey, unique build  (rows 1499615)
          TableScan orders where o_totalprice > 1000.00  (rows 1499615)
          TableScan customer  (rows 150000)
        ",
    );
    let text = b.explain(plan, &["c_name", "o_orderkey"], &without("outer_join_simplification"));
    same(
        &text,
        "
        Project c_name, o_orderkey  (rows 1499615)
          Filter o_totalprice > 1000.00  (rows 1499615)
            HashJoin BuildOuter o_custkey = c_custkey, unique build  (rows 1500000)
              TableScan orders  (rows 1500000)
              TableScan customer  (rows 150000)
        ",
    );
    let is_null =
        Expr::new(ExprKind::IsNull { input: Box::new(b.c("o_orderkey")), negated: false }, Type::Boolean);
    let text = b.explain(filter(outer, is_null), &["c_name"], &all());
    same(
        &text,
        "
        HashJoin BuildAnti o_custkey = c_custkey, unique build  (rows 50004)
          TableScan orders  (rows 1500000)
          TableScan customer  (rows 150000)
        ",
    );
}

#[test]
fn an_outer_join_that_changes_nothing_is_dropped() {
    let mut b = Builder::default();
    let (orders, customer) = (b.scan("orders"), b.scan("customer"));
    let on = vec![(b.c("o_custkey"), b.c("c_custkey"))];
    let plan = join(JoinKind::Left, orders, customer, on);
    same(
        &b.explain(plan, &["o_orderkey"], &all()),
        "
        TableScan orders  (rows 1500000)
        ",
    );
}

/// Q7's core: two nations, one pair or the other.
fn q7(b: &mut Builder) -> LogicalPlan {
    let tables = {
        let (supplier, lineitem, orders, customer) =
            (b.scan("supplier"), b.scan("lineitem"), b.scan("orders"), b.scan("customer"));
        let n1 = b.scan("nation");
        let (n1_key, n1_name) = (b.c("n_nationkey"), b.c("n_name"));
        let n2 = b.scan("nation");
        let pair = |x: &str, y: &str| {
            let name = |e: &Expr, v: &str| {
                Expr::compare(Comparison::Equal, e.clone(), Expr::literal(Value::text(v), e.ty))
            };
            Expr::and(vec![name(&n1_name, x), name(&b.c("n_name"), y)])
        };
        let conditions = Expr::and(vec![
            b.eq("s_suppkey", "l_suppkey"),
            b.eq("o_orderkey", "l_orderkey"),
            b.eq("c_custkey", "o_custkey"),
            Expr::compare(Comparison::Equal, b.c("s_nationkey"), n1_key),
            b.eq("c_nationkey", "n_nationkey"),
            Expr::or(vec![pair("FRANCE", "GERMANY"), pair("GERMANY", "FRANCE")]),
            b.cmp("l_shipdate", Comparison::GreaterOrEqual, "1995-01-01"),
            b.cmp("l_shipdate", Comparison::LessOrEqual, "1996-12-31"),
        ]);
        (cross(cross(cross(cross(cross(supplier, lineitem), orders), customer), n1), n2), conditions)
    };
    filter(tables.0, tables.1)
}

#[test]
fn a_disjunction_over_two_tables_restricts_each() {
    let mut b = Builder::default();
    let plan = q7(&mut b);
    let text = b.explain(plan.clone(), &["l_extendedprice", "n_name"], &all());
    same(&text, "
        HashJoin Inner l_orderkey = o_orderkey AND residual (((n_name = 'FRANCE') AND (n_name = 'GERMANY')) OR ((n_name = 'GERMANY') AND (n_name = 'FRANCE'))), unique build, fills filter 4  (rows 5485)
          HashJoin Inner l_suppkey = s_suppkey, unique build, fills filter 1  (rows 10969)
            TableScan lineitem where l_shipdate >= '1995-01-01' AND l_shipdate <= '1996-12-31' AND l_suppkey in filter 1 AND l_orderkey in filter 4  (rows 10969)
            HashJoin Inner s_nationkey = n_nationkey, unique build, fills filter 0  (rows 800)
              TableScan supplier where s_nationkey in filter 0  (rows 800)
              TableScan nation where n_name IN ('FRANCE', 'GERMANY')  (rows 2)
          HashJoin Inner o_custkey = c_custkey, unique build, fills filter 3  (rows 120000)
            TableScan orders where o_custkey in filter 3  (rows 120000)
            HashJoin Inner c_nationkey = n_nationkey, unique build, fills filter 2  (rows 12000)
              TableScan customer where c_nationkey in filter 2  (rows 12000)
              TableScan nation where n_name IN ('FRANCE', 'GERMANY')  (rows 2)
        ");
    let text = b.explain(plan, &["l_extendedprice", "n_name"], &without("partial_predicates"));
    same(&text, "
        HashJoin ProbeSemi l_suppkey = s_suppkey AND n_nationkey = s_nationkey, unique build  (rows 5480)
          HashJoin Inner l_orderkey = o_orderkey, fills filter 2  (rows 137007)
            TableScan lineitem where l_shipdate >= '1995-01-01' AND l_shipdate <= '1996-12-31' AND l_orderkey in filter 2  (rows 131674)
            HashJoin Inner o_custkey = c_custkey, fills filter 1  (rows 119904)
              TableScan orders where o_custkey in filter 1  (rows 115237)
              HashJoin Inner c_nationkey = n_nationkey, fills filter 0  (rows 11990)
                TableScan customer where c_nationkey in filter 0  (rows 11524)
                NestedLoopJoin Inner ((n_name = 'FRANCE') AND (n_name = 'GERMANY')) OR ((n_name = 'GERMANY') AND (n_name = 'FRANCE'))  (rows 2)
                  TableScan nation  (rows 25)
                  TableScan nation  (rows 25)
          TableScan supplier  (rows 10000)
        ");
}

#[test]
fn many_rows_that_are_compared_by_order_are_searched() {
    let mut b = Builder::default();
    let (orders, customer, region) = (b.scan("orders"), b.scan("customer"), b.scan("region"));
    let less = |a: Expr, b: Expr| Expr::compare(Comparison::Less, a, b);
    let band = Expr::and(vec![
        less(b.c("c_custkey"), b.c("o_orderkey")),
        less(b.c("o_orderkey"), b.c("c_nationkey").cast(Type::BigInt)),
    ]);
    // Orders are searched by one key, customers by two.
    let plan = filter(cross(customer.clone(), orders.clone()), band.clone());
    let text = b.explain(plan.clone(), &["c_name"], &all());
    assert!(text.contains("RangeJoin Inner"), "{text}");
    assert!(text.find("TableScan customer") < text.find("TableScan orders"), "{text}");
    let text = b.explain(plan, &["c_name"], &without("range_joins"));
    assert!(text.contains("NestedLoopJoin Inner"), "{text}");
    let plan = with_residual(join(JoinKind::LeftAnti, customer.clone(), orders, vec![]), band);
    let text = b.explain(plan, &["c_name"], &all());
    assert!(text.contains("RangeJoin ProbeAnti"), "{text}");
    // Five rows are looped over, and so is what is compared otherwise.
    let few = filter(cross(customer.clone(), region.clone()), less(b.c("c_nationkey"), b.c("r_regionkey")));
    let text = b.explain(few, &["c_name", "r_name"], &all());
    assert!(text.contains("NestedLoopJoin Inner"), "{text}");
    let unlike = Expr::compare(Comparison::NotEqual, b.c("c_nationkey"), b.c("r_regionkey"));
    let text = b.explain(filter(cross(customer, region), unlike), &["c_name", "r_name"], &all());
    assert!(text.contains("NestedLoopJoin Inner"), "{text}");
}

#[test]
fn common_conjuncts_of_a_disjunction_make_a_join() {
    let mut b = Builder::default();
    let (lineitem, part) = (b.scan("lineitem"), b.scan("part"));
    let branch = |brand: &str, low: &str| {
        Expr::and(vec![
            b.eq("p_partkey", "l_partkey"),
            b.is("p_brand", brand),
            b.cmp("l_quantity", Comparison::GreaterOrEqual, low),
            b.is("l_shipinstruct", "DELIVER IN PERSON"),
        ])
    };
    let condition = Expr::or(vec![branch("Brand#12", "1"), branch("Brand#23", "10")]);
    let plan = filter(cross(lineitem, part), condition);
    same(&b.explain(plan, &["l_extendedprice"], &all()), "
        HashJoin ProbeSemi l_partkey = p_partkey AND residual (((p_brand = 'Brand#12') AND (l_quantity >= 1.00)) OR ((p_brand = 'Brand#23') AND (l_quantity >= 10.00))), unique build, fills filter 0  (rows 84507)
          TableScan lineitem where l_shipinstruct = 'DELIVER IN PERSON' AND l_partkey in filter 0  (rows 120024)
          TableScan part where p_brand IN ('Brand#12', 'Brand#23')  (rows 16000)
        ");
}

#[test]
fn constants_cross_equalities() {
    let mut b = Builder::default();
    let (part, partsupp) = (b.scan("part"), b.scan("partsupp"));
    let condition = Expr::and(vec![b.eq("p_partkey", "ps_partkey"), b.is("p_partkey", "5")]);
    let plan = filter(cross(part, partsupp), condition);
    let text = b.explain(plan.clone(), &["p_name", "ps_suppkey"], &all());
    same(
        &text,
        "
        HashJoin Inner ps_partkey = p_partkey, unique build  (rows 4)
          TableScan partsupp where ps_partkey = 5  (rows 4)
          TableScan part where p_partkey = 5  (rows 1)
        ",
    );
    let text = b.explain(plan, &["p_name", "ps_suppkey"], &without("transitive_predicates"));
    same(
        &text,
        "
        HashJoin Inner ps_partkey = p_partkey, unique build, fills filter 0  (rows 4)
          TableScan partsupp where ps_partkey in filter 0  (rows 4)
          TableScan part where p_partkey = 5  (rows 1)
        ",
    );
}

#[test]
fn decimals_are_computed_in_64_bits() {
    let mut b = Builder::default();
    let lineitem = b.scan("lineitem");
    let wide = |scale| Type::Decimal { precision: 38, scale };
    let one = Expr::literal(Value::I128(100), wide(2));
    let rest = arithmetic(Arithmetic::Subtract, one, b.c("l_discount").cast(wide(2)), wide(2));
    let price = arithmetic(Arithmetic::Multiply, b.c("l_extendedprice").cast(wide(2)), rest, wide(4));
    let plan = b.aggregate(lineitem, &[], vec![("revenue", F::Sum, Some(price))]);
    let types = |plan: &plan::PhysicalPlan| match &plan.node {
        plan::PhysicalNode::Aggregate { aggregates, .. } => {
            let argument = aggregates[0].argument.clone().unwrap();
            let checked = matches!(argument.kind, ExprKind::Arithmetic { checked: true, .. });
            (argument.ty, aggregates[0].ty, checked)
        }
        other => panic!("{other:?}"),
    };
    let narrow = Type::Decimal { precision: 18, scale: 4 };
    assert_eq!(types(&b.optimize(plan.clone(), &["revenue"], &all())), (narrow, wide(4), false));
    assert_eq!(
        types(&b.optimize(plan.clone(), &["revenue"], &without("narrow_decimals"))),
        (wide(4), wide(4), true)
    );
    same(
        &b.explain(plan, &["revenue"], &all()),
        "
        Aggregate by [] [sum(l_extendedprice * (1.00 - l_discount))]  (rows 1)
          TableScan lineitem  (rows 6001215)
        ",
    );
}

#[test]
fn results_keep_their_declared_types() {
    let mut b = Builder::default();
    let lineitem = b.scan("lineitem");
    let wide = Type::Decimal { precision: 30, scale: 4 };
    let product = arithmetic(Arithmetic::Multiply, b.c("l_extendedprice"), b.c("l_discount"), wide);
    let plan = b.project(lineitem, vec![("product", product)]);
    let physical = b.optimize(plan, &["product"], &all());
    assert_eq!(physical.output[0].ty, wide);
}

#[test]
fn runtime_filters_pass_through_aggregations() {
    // Q17's shape: a part's average quantity, for few parts.
    let mut b = Builder::default();
    let inner = b.scan("lineitem");
    let quantity = b.c("l_quantity");
    let averages = b.aggregate(inner, &["l_partkey"], vec![("average", F::Max, Some(quantity))]);
    let (group, average) = (b.c("l_partkey"), b.c("average"));
    let (lineitem, part) = (b.scan("lineitem"), b.scan("part"));
    let on = vec![(b.c("p_partkey"), b.c("l_partkey"))];
    let parts = join(JoinKind::Inner, lineitem, part, on.into_iter().map(|(p, l)| (l, p)).collect());
    let parts = filter(parts, Expr::and(vec![b.is("p_brand", "Brand#23"), b.is("p_container", "MED BOX")]));
    let semi = join(JoinKind::LeftSemi, parts, averages, vec![(b.c("l_partkey"), group)]);
    let plan = with_residual(semi, Expr::compare(Comparison::Less, b.c("l_quantity"), average));
    let price = b.c("l_extendedprice");
    let plan = b.aggregate(plan, &[], vec![("total", F::Sum, Some(price))]);
    same(&b.explain(plan, &["total"], &all()), "
        Aggregate by [] [sum(l_extendedprice)]  (rows 1)
          HashJoin Inner l_partkey = l_partkey AND residual (l_quantity < average), fills filter 1  (rows 3001)
            Aggregate by [l_partkey] [max(l_quantity)]  (rows 200)
              TableScan lineitem where l_partkey in filter 1  (rows 6001)
            HashJoin ProbeSemi l_partkey = p_partkey, unique build, fills filter 0  (rows 6001)
              TableScan lineitem where l_partkey in filter 0  (rows 6001)
              TableScan part where p_container = 'MED BOX' AND p_brand = 'Brand#23'  (rows 200)
        ");
}

#[test]
fn semi_joins_go_to_the_relation_they_restrict() {
    // Q18: large orders are few, so the orders are restricted before anything is joined to them.
    let mut b = Builder::default();
    let inner = b.scan("lineitem");
    let quantity = b.c("l_quantity");
    let grouped = b.aggregate(inner, &["l_orderkey"], vec![("quantity", F::Sum, Some(quantity))]);
    let large = filter(grouped, {
        let sum = b.c("quantity");
        let literal = Expr::literal(Value::I128(30_000), sum.ty);
        Expr::compare(Comparison::Greater, sum, literal)
    });
    let key = b.c("l_orderkey");
    let (customer, orders, lineitem) = (b.scan("customer"), b.scan("orders"), b.scan("lineitem"));
    let joined = filter(
        cross(cross(customer, orders), lineitem),
        Expr::and(vec![b.eq("c_custkey", "o_custkey"), b.eq("o_orderkey", "l_orderkey")]),
    );
    let plan = join(JoinKind::LeftSemi, joined, large, vec![(b.c("o_orderkey"), key)]);
    let quantity = b.c("l_quantity");
    let plan = b.aggregate(
        plan,
        &["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"],
        vec![("total", F::Sum, Some(quantity))],
    );
    let output = ["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "total"];
    same(&b.explain(plan, &output, &without("late_materialization")), "
        Project c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, total  (rows 746)
          Aggregate by [l_orderkey] [sum(l_quantity), any_value(c_name), any_value(c_custkey), any_value(o_orderdate), any_value(o_totalprice)]  (rows 746)
            HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 2  (rows 3091)
              TableScan lineitem where l_orderkey in filter 2  (rows 3091)
              HashJoin Inner c_custkey = o_custkey, fills filter 1  (rows 773)
                TableScan customer where c_custkey in filter 1  (rows 770)
                HashJoin ProbeSemi o_orderkey = l_orderkey, unique build, fills filter 0  (rows 773)
                  TableScan orders where o_orderkey in filter 0  (rows 773)
                  Filter quantity > 300.00  (rows 773)
                    Aggregate by [l_orderkey] [sum(l_quantity)]  (rows 1447537)
                      TableScan lineitem  (rows 6001215)
        ");
}

/// The condition of a semi-join restricts both sides, that of an anti- or outer join only the side that is looked up.
#[test]
fn a_disjunction_in_a_join_condition_restricts_what_it_may() {
    for (kind, left_too) in [(JoinKind::LeftSemi, true), (JoinKind::LeftAnti, false), (JoinKind::Left, false)]
    {
        let mut b = Builder::default();
        let (orders, lineitem) = (b.scan("orders"), b.scan("lineitem"));
        let on = vec![(b.c("o_orderkey"), b.c("l_orderkey"))];
        let either = |status, mode| Expr::and(vec![b.is("o_orderstatus", status), b.is("l_shipmode", mode)]);
        let condition = Expr::or(vec![either("F", "AIR"), either("P", "RAIL")]);
        let plan = with_residual(join(kind, orders, lineitem, on), condition);
        let output: &[&str] =
            if kind == JoinKind::Left { &["o_orderkey", "l_linenumber"] } else { &["o_orderkey"] };
        let scan = |text: &str, table: &str| {
            text.lines().find(|l| l.trim().starts_with(&format!("TableScan {table}"))).unwrap().to_owned()
        };
        let text = b.explain(plan.clone(), output, &all());
        assert!(scan(&text, "lineitem").contains("l_shipmode IN ('AIR', 'RAIL')"), "{text}");
        assert_eq!(scan(&text, "orders").contains("o_orderstatus IN ('F', 'P')"), left_too, "{text}");
        let text = b.explain(plan, output, &without("partial_predicates"));
        assert!(!scan(&text, "lineitem").contains("l_shipmode"), "{text}");
        assert!(!scan(&text, "orders").contains("o_orderstatus"), "{text}");
    }
}

/// HAVING with a disjunction over keys and aggregates keeps groups from being made.
#[test]
fn a_disjunction_over_groups_restricts_their_keys() {
    let mut b = Builder::default();
    let scan = b.scan("orders");
    let price = b.c("o_totalprice");
    let plan = b.aggregate(scan, &["o_orderstatus"], vec![("total", F::Sum, Some(price))]);
    let total = b.c("total");
    let more =
        |v: i128| Expr::compare(Comparison::Greater, total.clone(), Expr::literal(Value::I128(v), total.ty));
    let either = Expr::or(vec![
        Expr::and(vec![b.is("o_orderstatus", "F"), more(100)]),
        Expr::and(vec![b.is("o_orderstatus", "P"), more(200)]),
    ]);
    let plan = filter(plan, either);
    let text = b.explain(plan.clone(), &["o_orderstatus", "total"], &all());
    assert!(text.contains("TableScan orders where o_orderstatus IN ('F', 'P')"), "{text}");
    let text = b.explain(plan, &["o_orderstatus", "total"], &without("partial_predicates"));
    assert!(text.contains("TableScan orders  "), "{text}");
}

/// A correlated aggregate is made for the keys asked for only.
#[test]
fn magic_sets_can_be_switched_off() {
    let mut b = Builder::default();
    let part = b.scan("part");
    let part = filter(part, b.is("p_brand", "Brand#23"));
    let lineitem = b.scan("lineitem");
    let quantity = b.c("l_quantity");
    let groups = b.aggregate(lineitem, &["l_partkey"], vec![("most", F::Max, Some(quantity))]);
    let plan = join(JoinKind::Inner, part, groups, vec![(b.c("p_partkey"), b.c("l_partkey"))]);
    let output = ["p_partkey", "most"];
    let text = b.explain(plan.clone(), &output, &all());
    assert!(text.contains("TableScan lineitem where l_partkey in filter 0"), "{text}");
    let text = b.explain(plan, &output, &without("magic_sets"));
    assert!(text.contains("TableScan lineitem  "), "{text}");
}
