//! Planning stays short: a 12-way star and a 20-way chain in less than 10 ms, and a clique too wide to search at all. Times
//! are the thread's CPU time: planning does not wait.

mod tpch;

use std::time::Duration;

use optimizer::Settings;
use plan::{ColumnId, ColumnTable, Expr, JoinKind, LogicalPlan, ScanSource, TableId};
use tpch::{Stub, cross, filter, join};
use types::{Comparison, Type};

/// `n` relations of `width` columns each, alternating between tables of different sizes.
fn relations(columns: &mut ColumnTable, n: usize, width: usize) -> Vec<(LogicalPlan, Vec<ColumnId>)> {
    (0..n)
        .map(|i| {
            let ids: Vec<ColumnId> =
                (0..width).map(|c| columns.add(format!("t{i}_{c}"), Type::BigInt, false)).collect();
            // Tables 2 to 7 of the stub begin with a BIGINT key.
            let table = TableId(2 + (i as u64 * 5 + 5) % 6);
            let scan = LogicalPlan::Scan {
                source: ScanSource::Table { table, name: format!("t{i}"), sample: None },
                columns: ids.iter().map(|id| (*id, 0)).collect(),
                filters: vec![],
            };
            (scan, ids)
        })
        .collect()
}

/// The least of many runs: others use the machine and its caches as well.
fn plan_time(plan: LogicalPlan, columns: &mut ColumnTable, output: &[ColumnId]) -> Duration {
    let (stub, settings) = (Stub::default(), Settings::default());
    (0..25)
        .map(|_| {
            let plan = plan.clone();
            let (physical, took) = timing::cpu_time(|| {
                optimizer::optimize_plan(plan, columns, output, &stub, &settings).unwrap()
            });
            tpch::check(&physical);
            took
        })
        .min()
        .unwrap()
}

fn equal(a: ColumnId, b: ColumnId) -> Expr {
    let column = |id| Expr::column(id, Type::BigInt);
    Expr::compare(Comparison::Equal, column(a), column(b))
}

fn joined(
    relations: Vec<(LogicalPlan, Vec<ColumnId>)>,
    edges: &[((usize, usize), (usize, usize))],
) -> LogicalPlan {
    let ids: Vec<Vec<ColumnId>> = relations.iter().map(|(_, ids)| ids.clone()).collect();
    let tables = relations.into_iter().map(|(p, _)| p).reduce(cross).unwrap();
    filter(tables, Expr::and(edges.iter().map(|((a, i), (b, j))| equal(ids[*a][*i], ids[*b][*j])).collect()))
}

#[track_caller]
fn check(name: &str, took: Duration) {
    println!("{name}: {took:?}");
    assert!(took < Duration::from_millis(10), "{name} took {took:?}");
}

#[test]
fn a_star_of_twelve() {
    let mut columns = ColumnTable::default();
    let all = relations(&mut columns, 12, 12);
    let output = [all[0].1[0]];
    let edges: Vec<_> = (1..12).map(|i| ((0, i), (i, 0))).collect();
    let took = plan_time(joined(all, &edges), &mut columns, &output);
    check("star of 12", took);
}

#[test]
fn a_chain_of_twenty() {
    let mut columns = ColumnTable::default();
    let all = relations(&mut columns, 20, 3);
    let output = [all[0].1[2]];
    let edges: Vec<_> = (1..20).map(|i| ((i - 1, 1), (i, 0))).collect();
    let took = plan_time(joined(all, &edges), &mut columns, &output);
    check("chain of 20", took);
}

#[test]
fn a_clique_and_a_long_star_are_left_to_the_greedy_order() {
    let mut columns = ColumnTable::default();
    let all = relations(&mut columns, 16, 16);
    let output = [all[0].1[0]];
    let edges: Vec<_> = (0..16).flat_map(|i| (i + 1..16).map(move |j| ((i, j), (j, i)))).collect();
    // A search through all orders would take minutes.
    let took = plan_time(joined(all, &edges), &mut columns, &output);
    println!("clique of 16: {took:?}");
    assert!(took < Duration::from_millis(40), "clique of 16 took {took:?}");
    let mut columns = ColumnTable::default();
    let all = relations(&mut columns, 40, 40);
    let output = [all[0].1[0]];
    let edges: Vec<_> = (1..40).map(|i| ((0, i), (i, 0))).collect();
    let took = plan_time(joined(all, &edges), &mut columns, &output);
    println!("star of 40: {took:?}");
    assert!(took < Duration::from_millis(120), "star of 40 took {took:?}");
}

#[test]
fn more_relations_than_fit_one_search() {
    let mut columns = ColumnTable::default();
    let mut plan = relations(&mut columns, 1, 2).remove(0);
    for _ in 0..90 {
        let (next, ids) = relations(&mut columns, 1, 2).remove(0);
        let on = vec![(Expr::column(plan.1[0], Type::BigInt), Expr::column(ids[0], Type::BigInt))];
        plan = (join(JoinKind::Inner, plan.0, next, on), ids);
    }
    let output = [plan.1[0]];
    println!("91 in a row: {:?}", plan_time(plan.0, &mut columns, &output));
}

/// A long sum nests as deep as it is long: time grows with its length, and the stack that is needed is the caller's to
/// provide (the engine gives long statements a large one).
#[test]
fn a_deep_expression() {
    let measure = || {
        let mut columns = ColumnTable::default();
        let (scan, ids) = relations(&mut columns, 1, 2).remove(0);
        let mut times = Vec::new();
        for n in [1000, 16_000] {
            let column = || Expr::column(ids[0], Type::BigInt);
            let mut sum = column();
            for _ in 0..n {
                sum = tpch::arithmetic(plan::Arithmetic::Add, sum, column(), Type::BigInt);
            }
            let predicate = Expr::compare(Comparison::Less, sum, Expr::column(ids[1], Type::BigInt));
            times.push(plan_time(filter(scan.clone(), predicate), &mut columns, &ids[..1]));
        }
        times
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(measure).unwrap();
    let times = thread.join().unwrap();
    println!("sums of 1000 and 16000: {times:?}");
    // 16 times as long is linear, 256 times quadratic; deep trees leave the caches.
    assert!(times[1] < times[0] * 160, "{times:?}");
}

/// Sixteen thousand different aggregates take a few times as long as four thousand; comparing each with each would take
/// sixteen times as long.
#[test]
fn thousands_of_aggregates() {
    let times = [4000, 16_000].map(|n| {
        let mut columns = ColumnTable::default();
        let (scan, ids) = relations(&mut columns, 1, 2).remove(0);
        let mut output = Vec::new();
        let aggregates = (0..n)
            .map(|i| {
                let more = Expr::literal(types::Value::I64(i), Type::BigInt);
                let argument = Expr::column(ids[0], Type::BigInt);
                let argument = tpch::arithmetic(plan::Arithmetic::Add, argument, more, Type::BigInt);
                output.push(columns.add("total", Type::BigInt, true));
                let call = plan::AggregateCall {
                    function: plan::AggregateFunction::Sum,
                    argument: Some(argument),
                    distinct: false,
                    filter: None,
                    ty: Type::BigInt,
                };
                (output[output.len() - 1], call)
            })
            .collect();
        let groups = vec![(columns.add("key", Type::BigInt, false), Expr::column(ids[1], Type::BigInt))];
        let plan = LogicalPlan::Aggregate { input: Box::new(scan), groups, aggregates };
        plan_time(plan, &mut columns, &output)
    });
    println!("4,000 and 16,000 aggregates: {times:?}");
    assert!(times[1] < times[0] * 10, "{times:?}");
}
