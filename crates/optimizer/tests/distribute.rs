//! Plans of a cluster: those of TPC-H as text, a proof of each for every kind of operator, and faults that it finds.

mod tpch;

use std::collections::BTreeSet;

use optimizer::distribute::{ClusterShape, check, distribute};
use optimizer::{NoStatistics, Settings, Statistics, optimize_plan};
use plan::encoding::{decode, encode};
use plan::{
    AggregateFunction, ColumnId, Distributed, ExchangeKind, Expr, FetchOutput, JoinOutput, LogicalQuery,
    PhysicalNode as N, PhysicalPlan, Share,
};

/// The plans of a query on one machine: its scalar subqueries', then its own.
fn plans(mut query: LogicalQuery, statistics: &dyn Statistics, settings: &Settings) -> Vec<PhysicalPlan> {
    let subqueries = query.subqueries.clone().into_iter();
    let mut plans: Vec<PhysicalPlan> = subqueries
        .map(|subquery| {
            let output = [subquery.output()[0]];
            optimize_plan(subquery, &mut query.columns, &output, statistics, settings).unwrap()
        })
        .collect();
    let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    plans.push(optimize_plan(query.plan, &mut query.columns, &output, statistics, settings).unwrap());
    plans
}

/// The plan for a cluster, which is proved and survives being bytes.
fn proved(plan: PhysicalPlan, cluster: &ClusterShape, statistics: &dyn Statistics) -> Distributed {
    let before = plan::print::physical(&plan, None);
    let output = plan.output.clone();
    let distributed = distribute(plan, cluster, statistics).unwrap();
    check(&distributed).unwrap_or_else(|e| panic!("{e}\n{before}\n{distributed}"));
    let types = |columns: &[plan::OutputColumn]| columns.iter().map(|c| c.ty).collect::<Vec<_>>();
    assert_eq!(types(&distributed.plan.output), types(&output), "{distributed}");
    let bytes = encode(&distributed).unwrap();
    assert_eq!(encode(&decode::<Distributed>(&bytes).unwrap()).unwrap(), bytes);
    distributed
}

/// Compares with `tpch/distributed.txt`; with `UPDATE_PLANS` set in the environment, writes it instead.
#[test]
fn plans_of_three_nodes_are_as_recorded() {
    let (statistics, settings) = (tpch::Stub::default(), Settings::default());
    let mut all = String::new();
    for q in 1..=22 {
        all += &format!("-- q{q:02}\n");
        for plan in plans(tpch::queries::bound(&format!("q{q:02}")), &statistics, &settings) {
            all += &format!("{}\n", proved(plan, &ClusterShape::of(3), &statistics));
        }
    }
    let path = format!("{}/tests/tpch/distributed.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_PLANS").is_some() {
        std::fs::write(&path, &all).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let difference = all.lines().zip(recorded.lines()).find(|(a, b)| a != b);
    assert!(all == recorded, "the first line that differs (planned, recorded): {difference:#?}");
}

/// A statement for each operator, and for what is only right at the coordinator.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM lineitem",
    "SELECT l_orderkey FROM lineitem LIMIT 10 OFFSET 3",
    "SELECT l_orderkey FROM lineitem OFFSET 3",
    "SELECT * FROM (SELECT l_orderkey k FROM lineitem ORDER BY l_comment LIMIT 7 OFFSET 2) t ORDER BY k",
    "SELECT l_orderkey, l_comment FROM lineitem ORDER BY l_shipdate, l_comment DESC",
    "SELECT count(*), sum(l_quantity), avg(l_tax), min(l_comment), max(l_shipdate), avg(l_linenumber),
        stddev(l_quantity), count(l_tax) FILTER (WHERE l_linenumber > 3), sum(l_orderkey) FROM lineitem",
    "SELECT l_suppkey, count(*), sum(l_orderkey), avg(l_discount), var_pop(l_linenumber), bool_or(l_tax > 0),
        sum(l_quantity::double), avg(l_quantity::double) FROM lineitem GROUP BY l_suppkey",
    "SELECT l_orderkey, l_linenumber, count(*) FROM lineitem GROUP BY l_orderkey, l_linenumber",
    "SELECT count(DISTINCT l_partkey) FROM lineitem",
    "SELECT l_suppkey, count(DISTINCT l_partkey), sum(DISTINCT l_partkey) FROM lineitem GROUP BY l_suppkey",
    "SELECT l_suppkey, count(DISTINCT l_partkey), sum(l_tax) FROM lineitem GROUP BY l_suppkey",
    "SELECT DISTINCT l_suppkey, l_partkey FROM lineitem",
    "SELECT l_suppkey, median(l_tax) FROM lineitem GROUP BY l_suppkey",
    "SELECT median(l_tax), mode(l_linenumber) FROM lineitem",
    "SELECT string_agg(n_name, ',') FROM nation",
    "SELECT n_regionkey, first(n_name), string_agg(n_name, ',') FROM nation GROUP BY n_regionkey",
    "SELECT n_regionkey, string_agg(n_name, ',' ORDER BY n_name) FROM nation GROUP BY n_regionkey",
    "SELECT corr(l_tax::double, l_quantity::double), skewness(l_linenumber) FROM lineitem",
    "SELECT l_suppkey, l_partkey, sum(l_tax) FROM lineitem GROUP BY ROLLUP (l_suppkey, l_partkey)",
    "SELECT * FROM orders FULL JOIN customer ON o_custkey = c_custkey",
    "SELECT * FROM orders LEFT JOIN customer ON o_custkey = c_custkey",
    "SELECT * FROM customer LEFT JOIN orders ON o_custkey = c_custkey",
    "SELECT * FROM orders FULL JOIN customer ON o_custkey = c_custkey AND o_totalprice > c_acctbal",
    "SELECT * FROM nation, region WHERE n_nationkey < r_regionkey",
    "SELECT * FROM nation LEFT JOIN region ON n_nationkey < r_regionkey",
    "SELECT * FROM supplier FULL JOIN part ON s_suppkey < p_partkey AND s_acctbal > p_retailprice",
    "SELECT * FROM orders WHERE o_custkey NOT IN (SELECT c_custkey FROM customer WHERE c_acctbal > 0)",
    "SELECT * FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "SELECT o_custkey IN (SELECT nullif(c_custkey, 5) FROM customer), o_orderkey FROM orders",
    "SELECT * FROM lineitem WHERE NOT EXISTS (SELECT * FROM orders WHERE o_orderkey = l_orderkey)",
    "SELECT * FROM orders WHERE EXISTS (SELECT * FROM lineitem WHERE o_orderkey = l_orderkey)",
    "SELECT o_orderkey, sum(l_tax) FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY o_orderkey",
    "SELECT o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate) FROM orders",
    "SELECT o_orderkey, row_number() OVER (PARTITION BY o_custkey) FROM orders",
    "SELECT o_orderkey, sum(o_totalprice) OVER (PARTITION BY o_custkey) FROM orders",
    "SELECT o_orderkey, rank() OVER (ORDER BY o_orderdate) FROM orders",
    "SELECT o_orderkey, row_number() OVER () FROM orders",
    "SELECT * FROM (SELECT o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderkey) r
        FROM orders) t WHERE r <= 2",
    "SELECT n_name FROM nation UNION ALL SELECT r_name FROM region",
    "SELECT n_regionkey FROM nation UNION SELECT r_regionkey FROM region",
    "SELECT n_regionkey FROM nation EXCEPT SELECT r_regionkey FROM region",
    "SELECT n_regionkey FROM nation INTERSECT ALL SELECT r_regionkey FROM region",
    "SELECT * FROM (SELECT n_name FROM nation UNION ALL SELECT r_name FROM region) t LIMIT 3",
    "SELECT * FROM (VALUES (1), (2)) v(a) JOIN lineitem ON a = l_orderkey",
    "SELECT * FROM generate_series(1, 1000) g(a) JOIN lineitem ON a = l_orderkey",
    "SELECT count(*) FROM generate_series(1, 1000)",
    "SELECT 100 / count(*) FROM nation",
    "SELECT random(), l_orderkey FROM lineitem",
    "SELECT l_orderkey FROM lineitem WHERE random() < 0.5",
    "SELECT l_suppkey, sum(random()) FROM lineitem GROUP BY l_suppkey",
    "SELECT unnest([l_orderkey, l_partkey]) FROM lineitem",
    "SELECT k, count(*) FROM (SELECT unnest([l_orderkey, l_partkey]) k FROM lineitem) t GROUP BY k",
    "SELECT a.o_orderkey FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey
        JOIN customer ON a.o_custkey = c_custkey",
    "SELECT * FROM (SELECT l_partkey p, sum(l_tax) s FROM lineitem GROUP BY l_partkey) t JOIN part ON p = p_partkey",
    "SELECT (SELECT max(o_totalprice) FROM orders WHERE o_custkey = c_custkey) FROM customer",
    "SELECT max(k) FROM (SELECT count(*) k FROM lineitem UNION ALL SELECT count(*) FROM orders) t",
    "SELECT * FROM orders ASOF JOIN customer ON o_custkey = c_custkey AND o_totalprice >= c_acctbal",
    "SELECT * FROM lineitem TABLESAMPLE BERNOULLI (10) REPEATABLE (3)",
    "SELECT c_name, o_orderkey FROM customer JOIN orders ON c_custkey = o_custkey ORDER BY o_totalprice DESC LIMIT 5",
];

/// Every statement with every switch of the optimizer, over clusters of several sizes, known and unknown tables.
#[test]
fn every_operator_finds_its_rows() {
    let mut settings = vec![Settings::default(), Settings::all_off()];
    for (name, off) in Settings::OFF {
        let mut one = Settings::default();
        one.set(name, off).unwrap();
        settings.push(one);
    }
    let known = tpch::Stub::default();
    for (at, text) in STATEMENTS.iter().enumerate() {
        let query = tpch::queries::of_text(text);
        for (of, settings) in settings.iter().enumerate() {
            let statistics: [&dyn Statistics; 2] = [&known, &NoStatistics];
            for statistics in statistics {
                for plan in plans(query.clone(), statistics, settings) {
                    let nodes = [1, 2, 3, 4, 7, 100][(at + of) % 6];
                    // All kinds of cluster for the optimizer as it is, one for each of its switches.
                    let kinds = shapes(nodes);
                    let few = if of == 0 { 0..kinds.len() } else { at % kinds.len()..at % kinds.len() + 1 };
                    for cluster in &kinds[few] {
                        proved(plan.clone(), cluster, statistics);
                    }
                }
            }
        }
    }
}

/// What a cluster may be like.
fn shapes(nodes: u32) -> Vec<ClusterShape> {
    let of = ClusterShape::of;
    vec![
        of(nodes),
        ClusterShape { replicated_bytes: 0.0, gathered_bytes: 0.0, ..of(nodes) },
        ClusterShape { broadcast_bytes_max: 0.0, replicated_bytes: 0.0, pre_aggregation: false, ..of(nodes) },
        ClusterShape { replicated_bytes: f64::INFINITY, gathered_bytes: f64::INFINITY, ..of(nodes) },
    ]
}

fn all_distributed(cluster: &ClusterShape) -> Vec<Distributed> {
    let (statistics, settings) = (tpch::Stub::default(), Settings::default());
    let of_tpch = (1..=22).map(|q| tpch::queries::bound(&format!("q{q:02}")));
    let queries = of_tpch.chain(STATEMENTS.iter().map(|text| tpch::queries::of_text(text)));
    queries
        .flat_map(|query| plans(query, &statistics, &settings))
        .map(|plan| proved(plan, cluster, &statistics))
        .collect()
}

/// Changes the nodes of a plan one at a time, where `change` says that it changed one.
fn planted(plan: &Distributed, change: &dyn Fn(&mut PhysicalPlan) -> bool) -> Vec<Distributed> {
    let mut copy = plan.clone();
    let count = copy.plan.number();
    let mut found = Vec::new();
    for at in 0..count {
        let mut copy = plan.clone();
        let mut open = vec![&mut copy.plan];
        let mut changed = false;
        while let Some(node) = open.pop() {
            if node.id.0 == at {
                changed = change(node);
                break;
            }
            open.extend(node.children_mut());
        }
        if changed {
            copy.plan.number();
            let mut leaves = Vec::new();
            let mut open = vec![&copy.plan];
            while let Some(node) = open.pop() {
                if node.children().is_empty() {
                    leaves.push(node.id);
                }
                open.extend(node.children().into_iter().rev());
            }
            let shares = copy.shares.iter().map(|(_, share)| *share);
            copy.shares = leaves.into_iter().zip(shares).collect();
            found.push(copy);
        }
    }
    found
}

fn all_found(name: &str, least: usize, change: &dyn Fn(&mut PhysicalPlan) -> bool) {
    let mut faults = 0;
    for cluster in [ClusterShape::of(3), ClusterShape { gathered_bytes: 0.0, ..ClusterShape::of(5) }] {
        for plan in all_distributed(&cluster) {
            for wrong in planted(&plan, change) {
                faults += 1;
                assert!(check(&wrong).is_err(), "{name} is not found in\n{wrong}\nmade of\n{plan}");
            }
        }
    }
    println!("{name}: {faults} faults found");
    assert!(faults >= least, "{faults} faults of {name}");
}

#[test]
fn planted_faults_are_found() {
    all_found("an exchange that is missing", 200, &|node| {
        let N::Exchange { input, .. } = &mut node.node else { return false };
        let nothing = PhysicalPlan::new(N::Values { rows: vec![] }, vec![], 0.0);
        *node = std::mem::replace(&mut **input, nothing);
        true
    });
    all_found("rows that are hashed by nothing", 40, &|node| {
        let N::Exchange { exchange, .. } = &mut node.node else { return false };
        let ExchangeKind::Hash { keys } = &mut exchange.kind else { return false };
        *keys = vec![Expr::boolean(true)];
        true
    });
    all_found("rows that are scattered", 200, &|node| {
        let N::Exchange { exchange, .. } = &mut node.node else { return false };
        exchange.kind = ExchangeKind::Scatter;
        true
    });
    all_found("counts that are counted", 15, &|node| {
        let N::Aggregate { aggregates, input, .. } = &mut node.node else { return false };
        if !matches!(input.node, N::Exchange { .. }) {
            return false;
        }
        let partial = input.children().iter().any(|below| matches!(below.node, N::Aggregate { .. }));
        let sum =
            aggregates.iter_mut().find(|call| call.function == AggregateFunction::Sum && !call.distinct);
        let Some(sum) = sum.filter(|_| partial) else { return false };
        if sum.ty != types::Type::BigInt {
            return false;
        }
        sum.function = AggregateFunction::Count;
        true
    });
    all_found("first rows that are not cut again", 5, &|node| {
        let N::Limit { input, count: Some(count), .. } = &mut node.node else { return false };
        let first = matches!(&input.node, N::Exchange { .. });
        *count += 1;
        first
    });
}

#[test]
fn a_build_side_that_is_read_in_part_is_found() {
    let mut faults = 0;
    for plan in all_distributed(&ClusterShape::of(3)) {
        for at in 0..plan.shares.len() {
            if plan.shares[at].1 == Share::Whole {
                let mut wrong = plan.clone();
                wrong.shares[at].1 = Share::Part;
                assert!(check(&wrong).is_err(), "{wrong}");
                faults += 1;
            }
        }
    }
    assert!(faults > 10, "{faults}");
}

/// A filter that a part of a build side fills drops rows whose partners are elsewhere.
#[test]
fn filters_that_do_not_hold_are_dropped_and_found() {
    let (statistics, settings) = (tpch::Stub::default(), Settings::default());
    let hashed = ClusterShape { broadcast_bytes_max: 0.0, replicated_bytes: 0.0, ..ClusterShape::of(3) };
    let (mut kept, mut dropped) = (0, 0);
    for (q, cluster) in (1..=22).flat_map(|q| [(q, ClusterShape::of(3)), (q, hashed.clone())]) {
        for plan in plans(tpch::queries::bound(&format!("q{q:02}")), &statistics, &settings) {
            let before = plan::print::physical(&plan, None).matches("in filter").count();
            let distributed = proved(plan, &cluster, &statistics);
            let after = distributed.to_string().matches("in filter").count();
            kept += after;
            dropped += before - after;
        }
    }
    assert!(kept > 0 && dropped > 10, "{kept} kept, {dropped} dropped");
}

/// Pre-aggregation has its switch, and the bytes that exchanges are expected to send show it.
#[test]
fn fewer_bytes_travel_where_rows_are_grouped_first() {
    let statistics = tpch::Stub::default();
    let sent = |pre_aggregation: bool| {
        let cluster = ClusterShape { pre_aggregation, ..ClusterShape::of(3) };
        let text = "SELECT l_suppkey, sum(l_tax) FROM lineitem GROUP BY l_suppkey";
        let plan = plans(tpch::queries::of_text(text), &statistics, &Settings::default()).remove(0);
        let distributed = proved(plan, &cluster, &statistics);
        assert_eq!(distributed.to_string().matches("Aggregate").count(), 1 + usize::from(pre_aggregation));
        distributed.to_string()
    };
    assert!(sent(true).contains("kB between nodes"), "{}", sent(true));
    assert!(sent(false).contains("MB between nodes"), "{}", sent(false));
}

/// Rows that lie by a key already, by an equal one too, are joined and grouped where they are.
#[test]
fn what_lies_right_is_not_sent() {
    let statistics = tpch::Stub::default();
    let cluster = ClusterShape {
        broadcast_bytes_max: 0.0,
        replicated_bytes: 0.0,
        gathered_bytes: 0.0,
        ..ClusterShape::of(3)
    };
    let kinds = |text: &str| {
        let plan = plans(tpch::queries::of_text(text), &statistics, &Settings::default()).remove(0);
        let distributed = proved(plan, &cluster, &statistics);
        let kinds: Vec<_> = distributed.exchanges().iter().map(|exchange| exchange.kind.name()).collect();
        (kinds.join(" "), distributed)
    };
    // Both sides of the first join, the new side of the second, and the result.
    let (all, plan) = kinds(
        "SELECT o_custkey, count(*) FROM orders JOIN customer ON o_custkey = c_custkey GROUP BY o_custkey",
    );
    assert_eq!(all, "gather hash hash", "{plan}");
    let (all, plan) = kinds(
        "SELECT l_partkey, ps_supplycost, s FROM lineitem JOIN partsupp ON l_partkey = ps_partkey
            JOIN (SELECT l_partkey k, sum(l_tax) s FROM lineitem GROUP BY l_partkey) t ON k = ps_partkey",
    );
    // Three sources that are grouped or joined by one key, each sent once.
    assert_eq!(all, "gather hash hash hash", "{plan}");
    let (all, plan) = kinds(
        "SELECT o_orderkey, rank() OVER (PARTITION BY o_custkey ORDER BY o_orderkey), c_name
            FROM orders JOIN customer ON o_custkey = c_custkey",
    );
    assert_eq!(all, "gather hash hash", "{plan}");
}

/// The inputs of a union follow one another at the coordinator, each cut at its nodes where few rows are wanted.
#[test]
fn unions_keep_the_order_of_their_inputs() {
    let statistics = tpch::Stub::default();
    let shown = |text: &str| {
        let plan = plans(tpch::queries::of_text(text), &statistics, &Settings::default()).remove(0);
        proved(plan, &ClusterShape::of(3), &statistics).to_string()
    };
    let text = "SELECT n_name FROM nation UNION ALL SELECT p_name FROM part";
    let plan = shown(text);
    assert!(plan.starts_with("UnionAll\n  Exchange 0 gather"), "{plan}");
    let plan = shown(&format!("SELECT * FROM ({text}) t LIMIT 3 OFFSET 2"));
    assert_eq!((plan.matches("Limit 5\n").count(), plan.matches("gather").count()), (4, 2), "{plan}");
}

/// Columns of which nothing above an exchange reads anything, and all that it sends.
fn unused(plan: &PhysicalPlan, needed: &BTreeSet<usize>, unread: &mut usize, sent: &mut usize) {
    let of = |expressions: &mut dyn Iterator<Item = &Expr>| -> BTreeSet<usize> {
        expressions.flat_map(|expr| expr.inputs()).collect()
    };
    let own = of(&mut plan.expressions().into_iter());
    let mut below: Vec<BTreeSet<usize>> = match &plan.node {
        N::Project { expressions, .. } => vec![of(&mut needed.iter().map(|at| &expressions[*at]))],
        N::Aggregate { .. } => vec![own],
        N::Fetch { references, output, .. } => {
            let kept = needed.iter().filter_map(|at| match output[*at] {
                FetchOutput::Input(from) => Some(from),
                FetchOutput::Late { .. } => None,
            });
            vec![kept.chain(references.iter().map(|reference| reference.column)).collect()]
        }
        N::HashJoin { probe, build, probe_keys, build_keys, residual, output, .. } => {
            let (mut a, mut b) = (of(&mut probe_keys.iter()), of(&mut build_keys.iter()));
            let both = of(&mut residual.iter());
            split_sides(needed, output, probe.output.len(), &both, &mut a, &mut b);
            let _ = build;
            vec![a, b]
        }
        N::NestedLoopJoin { probe, output, .. } => {
            let (mut a, mut b) = (BTreeSet::new(), BTreeSet::new());
            split_sides(needed, output, probe.output.len(), &own, &mut a, &mut b);
            vec![a, b]
        }
        N::Window { input, .. } => {
            let kept = needed.iter().copied().filter(|at| *at < input.output.len());
            vec![kept.chain(own).collect()]
        }
        N::Unnest { keep, .. } => {
            let kept = needed.iter().filter_map(|at| keep.get(*at).copied());
            vec![kept.chain(own).collect()]
        }
        _ => plan.children().iter().map(|_| needed.union(&own).copied().collect()).collect(),
    };
    if let N::Exchange { .. } = &plan.node {
        *sent += plan.output.len();
        *unread += plan.output.len() - below[0].len();
    }
    for (child, needed) in plan.children().into_iter().zip(&mut below) {
        unused(child, needed, unread, sent);
    }
}

fn split_sides(
    needed: &BTreeSet<usize>,
    output: &[JoinOutput],
    probe: usize,
    both: &BTreeSet<usize>,
    a: &mut BTreeSet<usize>,
    b: &mut BTreeSet<usize>,
) {
    for at in needed {
        match output[*at] {
            JoinOutput::Probe(from) => a.insert(from),
            JoinOutput::Build(from) => b.insert(from),
            JoinOutput::Mark => true,
        };
    }
    for at in both {
        if *at < probe {
            a.insert(*at)
        } else {
            b.insert(*at - probe)
        };
    }
}

/// The plan of one machine has pruned its columns, so that exchanges send what is read above them, and little else.
#[test]
fn columns_are_pruned_before_they_are_sent() {
    let (statistics, settings) = (tpch::Stub::default(), Settings::default());
    let (mut unread, mut sent) = (0, 0);
    for q in 1..=22 {
        for plan in plans(tpch::queries::bound(&format!("q{q:02}")), &statistics, &settings) {
            let distributed = proved(plan, &ClusterShape::of(3), &statistics);
            let all = (0..distributed.plan.output.len()).collect();
            let before = unread;
            unused(&distributed.plan, &all, &mut unread, &mut sent);
            if unread > before {
                println!("q{q:02}: {}\n{distributed}", unread - before);
            }
        }
    }
    println!("{unread} of {sent} columns are sent for nothing");
    assert!(unread * 20 <= sent, "{unread} of {sent}");
}
