//! Transfers by themselves: whatever the order in which a producer's units come, the consumer's units are the same.
//!
//! Batches of ascending numbers are fed to `take_in` without a pipeline, in the order of their units and in random
//! ones, under random unit sizes; `drain` claims and reads what was published. Rows must come out in order, and units
//! must not depend on the order in which they came in.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use types::{Type, Value};
use vector::{Batch, Vector};
use workorder::{Claim, UnitOfTransfer, WorkContext};

use super::{Filling, Transfer, TransferSource, transfer};
use crate::context::{ExecutionSettings, QueryContext};
use crate::hash_join::tests::{Random, query};
use crate::pipeline::{Flow, Source, Work};

fn context(transfer_bytes: usize) -> QueryContext {
    let plan = PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, vec![], 0.0);
    query(ExecutionSettings { transfer_bytes, ..Default::default() }, &plan)
}

fn numbers(from: i64, rows: usize) -> Batch {
    let values: Vec<Value> = (0..rows as i64).map(|at| Value::I64(from + at)).collect();
    Batch::new(vec![Vector::from_values(Type::BigInt, &values)], rows)
}

fn filling(batches: Vec<Batch>) -> Filling {
    let bytes = batches.iter().map(Batch::bytes).sum();
    Filling { batches, bytes }
}

/// What the consumer finds in a unit.
fn read(source: &TransferSource, unit: u64, query: &QueryContext) -> Vec<i64> {
    let context = WorkContext::detached();
    let work = Work { query, context: &context };
    let mut found = Vec::new();
    let flow = source.run(unit, &mut source.local(), &work, &mut |batch| {
        for row in 0..batch.rows {
            match batch.columns[0].value(row) {
                Value::I64(value) => found.push(value),
                other => panic!("{other:?}"),
            }
        }
        Ok(Flow::More)
    });
    assert_eq!(flow.unwrap(), Flow::More);
    found
}

/// Units that were claimed, with what is in them.
fn drain(transfer: &Transfer, source: &TransferSource, query: &QueryContext) -> Vec<Vec<i64>> {
    let mut units = Vec::new();
    while let Claim::Order(order) = transfer.claim() {
        assert_eq!((order.start, order.end), (units.len() as u64, units.len() as u64 + 1));
        units.push(read(source, order.start, query));
    }
    units
}

/// The units of a producer: how many batches each, and of how many rows.
fn shapes(random: &mut Random) -> Vec<Vec<usize>> {
    let units = random.below(30) as usize;
    (0..units).map(|_| (0..random.below(5)).map(|_| 1 + random.below(90) as usize).collect()).collect()
}

#[test]
fn units_are_the_same_in_whatever_order_they_come() {
    let mut random = Random::new(77);
    for round in 0..300 {
        let shapes = shapes(&mut random);
        let query = context(1 + random.below(3000) as usize);
        let unit = match random.below(3) {
            0 => UnitOfTransfer::Block,
            1 => UnitOfTransfer::Blocks(1 + random.below(4) as u32),
            _ => UnitOfTransfer::Table,
        };
        let mut expected: Option<Vec<Vec<i64>>> = None;
        let all: usize = shapes.iter().flatten().sum();
        for attempt in 0..3 {
            let (_, source) = transfer(NodeId(0), unit, &query);
            let transfer = source.transfer.clone();
            // Where each unit's rows begin, and which of its batches comes next.
            let mut begins = 0i64;
            let mut open: Vec<(u64, i64, Vec<usize>)> = shapes
                .iter()
                .enumerate()
                .map(|(number, batches)| {
                    let begin = begins;
                    begins += batches.iter().sum::<usize>() as i64;
                    (number as u64, begin, batches.iter().rev().copied().collect())
                })
                .collect();
            while !open.is_empty() {
                // Any unit goes on; the first attempt in their order.
                let at = if attempt == 0 { 0 } else { random.below(open.len() as u64) as usize };
                let (number, begin, batches) = &mut open[at];
                let several = 1 + random.below(3) as usize;
                let mut now = Vec::new();
                for _ in 0..several {
                    if let Some(rows) = batches.pop() {
                        now.push(numbers(*begin, rows));
                        *begin += rows as i64;
                    }
                }
                let (number, ended) = (*number, batches.is_empty());
                transfer.take_in(number, filling(now), ended, &query).unwrap();
                if ended {
                    open.remove(at);
                }
            }
            transfer.complete(&query).unwrap();
            transfer.inputs_finished();
            let units = drain(&transfer, &source, &query);
            let rows: Vec<i64> = units.iter().flatten().copied().collect();
            assert_eq!(rows, (0..all as i64).collect::<Vec<_>>(), "round {round}");
            assert_eq!(expected.get_or_insert_with(|| units.clone()), &units, "round {round}");
        }
    }
}

#[test]
fn a_unit_is_full_at_its_size_and_not_before() {
    let query = context(8 * 100);
    let (_, source) = transfer(NodeId(0), UnitOfTransfer::Blocks(2), &query);
    let transfer = &source.transfer;
    assert_eq!(transfer.take_in(0, filling(vec![numbers(0, 199)]), false, &query).unwrap(), 0);
    assert_eq!(transfer.claim(), Claim::Wait);
    assert_eq!(transfer.take_in(1, filling(vec![numbers(200, 500)]), true, &query).unwrap(), 0);
    assert_eq!(transfer.take_in(0, filling(vec![numbers(199, 1)]), false, &query).unwrap(), 1);
    // What came early is not yet its turn.
    assert_eq!(transfer.take_in(0, Filling::default(), true, &query).unwrap(), 1);
    let Claim::Order(order) = transfer.claim() else { panic!("there are two units") };
    assert_eq!(read(&source, order.start, &query), (0..200).collect::<Vec<_>>());
}

/// `SELECT count(*)` needs no column, and a limit below it waits for rows all the same.
#[test]
fn rows_without_columns_fill_units() {
    let query = context(100);
    let (_, source) = transfer(NodeId(0), UnitOfTransfer::Block, &query);
    let full = source.transfer.take_in(0, filling(vec![Batch::new(vec![], 250)]), false, &query);
    assert_eq!(full.unwrap(), 1);
}

#[test]
fn a_consumer_that_has_enough_keeps_what_it_claimed() {
    let query = context(8);
    let (sink, source) = transfer(NodeId(0), UnitOfTransfer::Block, &query);
    let transfer = &source.transfer;
    for number in 0..4 {
        transfer.take_in(number, filling(vec![numbers(number as i64, 1)]), true, &query).unwrap();
    }
    let (Claim::Order(first), Claim::Order(second)) = (transfer.claim(), transfer.claim()) else {
        panic!("there are four units")
    };
    use crate::pipeline::Sink;
    assert!(!sink.has_enough());
    transfer.close();
    assert!(sink.has_enough());
    assert_eq!(read(&source, first.start, &query), [0]);
    assert_eq!(read(&source, second.start, &query), [1]);
    assert_eq!((read(&source, 2, &query), transfer.claim()), (vec![], Claim::Exhausted));
    assert_eq!(transfer.take_in(4, filling(vec![numbers(4, 1)]), true, &query).unwrap(), 0);
}

#[test]
fn a_producer_far_ahead_of_an_open_consumer_pauses() {
    let query = context(8);
    let (sink, source) = transfer(NodeId(0), UnitOfTransfer::Block, &query);
    use crate::pipeline::Sink;
    let many = super::UNITS_AHEAD * workorder::parallelism() + 1;
    for number in 0..many {
        source.transfer.take_in(number, filling(vec![numbers(0, 1)]), true, &query).unwrap();
    }
    assert!(!sink.is_full(), "nobody is there to take them");
    source.start(&query).unwrap();
    assert!(sink.is_full());
    assert!(matches!(source.transfer.claim(), Claim::Order(_)));
    assert!(!sink.is_full());
    // A table is taken when it is whole.
    let (sink, source) = transfer(NodeId(0), UnitOfTransfer::Table, &query);
    for number in 0..many {
        source.transfer.take_in(number, filling(vec![numbers(0, 1)]), true, &query).unwrap();
    }
    assert!(!sink.is_full());
    assert_eq!(source.start(&query).unwrap(), many);
}

#[test]
fn what_does_not_fit_goes_to_a_file_and_comes_back() {
    let folder = std::env::temp_dir().join(format!("quickstep-transfer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut query = context(8 * 50);
    query.settings.operator_bytes = Some(1000);
    query.temporary =
        Some(Arc::new(files::LocalFiles::new(&files::Capability::everything(), &folder).unwrap()));
    let (_, source) = transfer(NodeId(0), UnitOfTransfer::Table, &query);
    for number in 0..40u64 {
        let batch = numbers(number as i64 * 30, 30);
        source.transfer.take_in(number, filling(vec![batch]), true, &query).unwrap();
    }
    let summary = source.transfer.complete(&query).unwrap();
    assert!(summary.spilled > 0 && summary.bytes_max < 4000, "{} {}", summary.spilled, summary.bytes_max);
    let units = source.start(&query).unwrap();
    assert_eq!((units, summary.units), (20, 20));
    let rows: Vec<i64> = (0..units).flat_map(|unit| read(&source, unit, &query)).collect();
    assert_eq!(rows, (0..1200).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn without_files_a_budget_too_small_is_an_error() {
    let plan = PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, vec![], 0.0);
    let budget = memory::Budget::new(1000);
    let settings = ExecutionSettings { transfer_bytes: 400, ..Default::default() };
    let pool = pool::Pool::new(memory::Budget::unlimited());
    let environment = formats::Environment::new(files::Capability::everything(), Default::default());
    let query =
        QueryContext::new(settings, environment, budget.clone(), pool, Default::default(), None, &plan);
    let (sink, source) = transfer(NodeId(0), UnitOfTransfer::Block, &query);
    let outcome = (0..10u64).try_for_each(|number| {
        source.transfer.take_in(number, filling(vec![numbers(0, 60)]), true, &query).map(drop)
    });
    assert_eq!(outcome.unwrap_err().state(), types::SqlState::OutOfMemory);
    assert_eq!(source.transfer.published.load(Ordering::Relaxed), 2);
    drop((sink, source));
    assert_eq!(budget.used(), 0);
}
