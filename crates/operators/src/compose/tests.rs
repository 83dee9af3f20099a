//! What is decided and cut for small plans, as it prints.

use std::collections::HashMap;

use plan::pipeline::Shared;
use plan::{
    AggregateCall, AggregateFunction, Expr, FilterId, JoinOutput, OutputColumn, PhysicalJoinKind as Kind,
    PhysicalNode as N, PhysicalPlan, RuntimeFilter, Series, SortKey, TableId,
};
use types::{Comparison, Type};
use workorder::SegmentId;

use super::decide::decide;
use super::{BlockStatistics, Circumstances, Memory};
use super::{Decisions, Pipelines, cut};
use crate::context::ExecutionSettings;
use crate::transfer::setting::TransferSetting;

/// Bounds of the tables' columns, by block.
#[derive(Default)]
struct Blocks(HashMap<(TableId, usize), (Vec<i64>, Vec<i64>)>);

impl BlockStatistics for Blocks {
    fn bounds(&self, table: TableId, column: usize) -> Option<(&[i64], &[i64])> {
        self.0.get(&(table, column)).map(|(least, greatest)| (least.as_slice(), greatest.as_slice()))
    }
}

/// What the tests vary.
#[derive(Default)]
struct Case {
    settings: ExecutionSettings,
    blocks: Blocks,
    has_files: bool,
    masks_pay: bool,
}

impl Case {
    fn handing_on(setting: &str) -> Case {
        let mut case = Case::default();
        case.settings.unit_of_transfer = TransferSetting::parse(setting).unwrap();
        case
    }

    /// Decides and cuts; what is needed is offered by a pipeline that has ended before.
    fn cut(&self, mut plan: PhysicalPlan) -> (Decisions, Pipelines) {
        plan.number();
        let memory =
            Memory { limit: 1 << 30, available: 1 << 30, states: 1 << 30, has_files: self.has_files };
        let circumstances = Circumstances {
            settings: &self.settings,
            statistics: &self.blocks,
            memory,
            threads: 4,
            masks_pay: self.masks_pay,
            node: None,
        };
        let decisions = decide(&plan, &circumstances);
        let pipelines = cut(&plan, &decisions).unwrap();
        let offered_by = |wanted: &Shared| {
            let by = pipelines.pipelines.iter().position(|p| p.offers.contains(wanted));
            SegmentId(by.unwrap() as u32)
        };
        for (at, pipeline) in pipelines.pipelines.iter().enumerate() {
            let ends_before = before(&pipelines, SegmentId(at as u32));
            for wanted in &pipeline.needs {
                assert!(ends_before.contains(&offered_by(wanted)), "{wanted} of {at} in\n{pipelines}");
            }
        }
        (decisions, pipelines)
    }

    fn shows(&self, plan: PhysicalPlan, expected: &str) {
        let (_, pipelines) = self.cut(plan);
        let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
        let shown = pipelines.to_string();
        assert_eq!(shown.trim().lines().collect::<Vec<_>>(), expected, "\n{shown}");
    }
}

/// All pipelines that a pipeline waits for, directly or not.
fn before(pipelines: &Pipelines, of: SegmentId) -> Vec<SegmentId> {
    let (mut found, mut open) = (Vec::new(), vec![of]);
    while let Some(next) = open.pop() {
        for edge in pipelines.edges.iter().filter(|edge| edge.consumer == next) {
            if !found.contains(&edge.producer) {
                found.push(edge.producer);
                open.push(edge.producer);
            }
        }
    }
    found
}

fn columns(count: usize) -> Vec<OutputColumn> {
    let column =
        |at| OutputColumn { name: format!("c{at}"), ty: Type::BigInt, nullable: false, bounds: None };
    (0..count).map(column).collect()
}

fn input(at: usize) -> Expr {
    Expr::input(at, Type::BigInt)
}

/// A scan of two columns.
fn scan(name: &str, table: u64, rows: f64) -> PhysicalPlan {
    let node = N::TableScan {
        table: TableId(table),
        name: name.to_owned(),
        sample: None,
        columns: vec![0, 1],
        fetched: columns(2),
        predicates: vec![],
        trees: vec![],
        filters: vec![],
        runtime_filters: vec![],
        projection: vec![0, 1],
    };
    PhysicalPlan::new(node, columns(2), rows)
}

fn filtered(mut scan: PhysicalPlan, filter: u32) -> PhysicalPlan {
    if let N::TableScan { runtime_filters, .. } = &mut scan.node {
        runtime_filters.push(RuntimeFilter { filter: FilterId(filter), column: 0, passing: 0.1 });
    }
    scan
}

/// A join by the first columns, which puts out both of the probe's columns, or of the build's.
fn hash_join(kind: Kind, probe: PhysicalPlan, build: PhysicalPlan) -> PhysicalPlan {
    let side: fn(usize) -> JoinOutput = match kind.probe_emits() {
        true => JoinOutput::Probe,
        false => JoinOutput::Build,
    };
    let rows = probe.estimated_rows;
    let node = N::HashJoin {
        probe: Box::new(probe),
        build: Box::new(build),
        kind,
        probe_keys: vec![input(0)],
        build_keys: vec![input(0)],
        residual: None,
        null_equals_null: false,
        null_aware: false,
        output: vec![side(0), side(1)],
        fills: vec![],
        build_unique: false,
    };
    PhysicalPlan::new(node, columns(2), rows)
}

fn loops(kind: Kind, by_range: bool, probe: PhysicalPlan, build: PhysicalPlan) -> PhysicalPlan {
    let node = N::NestedLoopJoin {
        probe: Box::new(probe),
        build: Box::new(build),
        kind,
        predicate: Some(less(0, 2)),
        null_aware: false,
        by_range,
        output: vec![JoinOutput::Probe(0), JoinOutput::Build(0)],
    };
    PhysicalPlan::new(node, columns(2), 1.0)
}

fn less(left: usize, right: usize) -> Expr {
    Expr::compare(Comparison::Less, input(left), input(right))
}

fn filter(of: PhysicalPlan) -> PhysicalPlan {
    let rows = of.estimated_rows;
    PhysicalPlan::new(N::Filter { input: Box::new(of), predicate: less(0, 1) }, columns(2), rows)
}

/// The sum of the second column by the first.
fn sums(of: PhysicalPlan, rows: f64) -> PhysicalPlan {
    let call = AggregateCall {
        function: AggregateFunction::Sum,
        argument: Some(input(1)),
        distinct: false,
        filter: None,
        ty: Type::HugeInt,
    };
    let node = N::Aggregate { input: Box::new(of), groups: vec![input(0)], aggregates: vec![call] };
    PhysicalPlan::new(node, columns(2), rows)
}

fn sort(of: PhysicalPlan, limit: Option<u64>) -> PhysicalPlan {
    let keys = vec![SortKey { expr: input(0), descending: false, nulls_first: false }];
    PhysicalPlan::new(N::Sort { input: Box::new(of), keys, limit }, columns(2), 1.0)
}

#[test]
fn rows_stream_through_filters_into_the_result() {
    Case::default().shows(filter(scan("t", 1, 10.0)), "0: scan t #1 > filter #0 > result #0");
}

#[test]
fn a_join_fills_filters_that_the_probe_scan_waits_for() {
    let plan = || {
        let mut join = hash_join(Kind::Inner, filtered(scan("big", 1, 1e6), 7), scan("small", 2, 10.0));
        if let N::HashJoin { fills, .. } = &mut join.node {
            fills.push((FilterId(7), 0));
        }
        join
    };
    let with_filters = "
        0: scan small #2 > build #0
        1: fill #0; after 0; offers table #0, filter 7
        2: scan big #1 > probe #0 > result #0; after 1; needs filter 7, table #0";
    Case::default().shows(plan(), with_filters);
    let mut case = Case { has_files: true, ..Case::default() };
    case.settings.runtime_filters = false;
    let without = "
        0: scan small #2 > build #0
        1: fill #0; after 0; offers table #0, filter 7
        2: scan big #1 > probe #0 > result #0; after 1; needs table #0
        3: spilled partitions #0 > result #0; after 1, 2; needs table #0";
    case.shows(plan(), without);
}

#[test]
fn build_rows_come_out_after_all_probing() {
    let outer = hash_join(Kind::FullOuter, scan("p", 1, 10.0), scan("b", 2, 10.0));
    let expected = "
        0: scan b #2 > build #0
        1: fill #0; after 0; offers table #0
        2: scan p #1 > probe #0 > result #0; after 1; needs table #0
        3: build rows #0 > result #0; after 1, 2; needs table #0";
    Case::default().shows(outer, expected);
    let semi = hash_join(Kind::BuildSemi, scan("p", 1, 10.0), scan("b", 2, 10.0));
    let expected = "
        0: scan b #2 > build #0
        1: fill #0; after 0; offers table #0
        2: scan p #1 > probe #0 > discard #0; after 1; needs table #0
        3: build rows #0 > result #0; after 1, 2; needs table #0";
    Case::default().shows(semi, expected);
}

#[test]
fn crowded_keys_are_sorted_where_the_rest_of_the_condition_is_a_range() {
    let plan = || {
        let mut join = hash_join(Kind::Inner, scan("p", 1, 10.0), scan("b", 2, 10.0));
        if let N::HashJoin { residual, fills, .. } = &mut join.node {
            *residual = Some(less(1, 3));
            fills.push((FilterId(0), 0));
        }
        join
    };
    let expected = "
        0: scan b #2 > build #0
        1: fill #0; after 0; offers filter 0
        2: sort crowded keys #0; after 1; offers table #0
        3: scan p #1 > probe #0 > result #0; after 2; needs table #0";
    Case::default().shows(plan(), expected);
    let mut case = Case::default();
    case.settings.range_joins = false;
    let (_, pipelines) = case.cut(plan());
    assert_eq!(pipelines.pipelines.len(), 3);
}

#[test]
fn joins_without_equalities_loop_or_search() {
    let expected = "
        0: scan b #2 > build #0
        1: collect #0; after 0; offers table #0
        2: scan p #1 > nested loop #0 > result #0; after 1; needs table #0
        3: build rows #0 > result #0; after 1, 2; needs table #0";
    let looped = loops(Kind::BuildOuter, false, scan("p", 1, 10.0), scan("b", 2, 10.0));
    Case::default().shows(looped, expected);
    let expected = "
        0: scan b #2 > build #0
        1: sort chunks #0; after 0
        2: sort ranges #0; after 1
        3: place rows #0; after 2; offers table #0
        4: scan p #1 > range join #0 > result #0; after 3; needs table #0";
    Case::default().shows(loops(Kind::Inner, true, scan("p", 1, 10.0), scan("b", 2, 10.0)), expected);
}

#[test]
fn few_groups_are_summed_on_codes_of_the_scan_below() {
    let plan = || sums(scan("t", 1, 1e6), 4.0);
    let on_codes = "
        0: scan t #1 (codes for #0: cells, masks) > aggregate #0
        1: merge groups #0; after 0
        2: groups #0 > result #0; after 1";
    let case = Case { masks_pay: true, ..Case::default() };
    case.shows(plan(), on_codes);
    let (decisions, _) = case.cut(plan());
    let notes: Vec<String> =
        decisions.notes().into_iter().map(|(_, name, text)| format!("{name} {text}")).collect();
    assert_eq!(notes, ["groups by cells or masks, sums on codes where most rows of a block are selected"]);
    let plain = on_codes.replace(" (codes for #0: cells, masks)", "");
    let mut case = Case { masks_pay: true, ..Case::default() };
    case.settings.switches.aggregates_on_codes = false;
    case.shows(plan(), &plain);
    Case { masks_pay: true, ..Case::default() }.shows(sums(scan("t", 1, 1e6), 1e5), &plain);
}

#[test]
fn clustered_keys_are_finished_block_by_block_and_spilled_rows_by_tables() {
    let clustered = || Blocks([((TableId(1), 0), (vec![0, 100], vec![100, 200]))].into());
    let expected = "
        0: scan t #1 > clustered groups #0 by column 0 of table 1 > result #0
        1: other groups #0 > result #0; after 0";
    let case = Case { blocks: clustered(), ..Case::default() };
    case.shows(sums(scan("t", 1, 1e4), 200.0), expected);
    // The key passes a join, whose sides may go to files.
    let joined = || sums(hash_join(Kind::Inner, scan("t", 1, 1e4), scan("b", 2, 10.0)), 200.0);
    let expected = "
        0: scan b #3 > build #1
        1: fill #1; after 0; offers table #1
        2: spilled partitions #1 > aggregate #0; after 1, 4; needs table #1
        3: merge groups #0; after 2
        4: scan t #2 > probe #1 > clustered groups #0 by column 0 of table 1 > result #0; after 1; needs table #1
        5: other groups #0 > result #0; after 4
        6: groups #0 > result #0; after 3";
    Case { has_files: true, blocks: clustered(), ..Case::default() }.shows(joined(), expected);
    // Not where rows leave the scan's work orders on their way.
    let mut case = Case::handing_on("vector, aggregate = block");
    case.blocks = clustered();
    let (decisions, _) = case.cut(joined());
    assert_eq!(decisions.notes(), []);
}

#[test]
fn groups_that_are_build_rows_keep_their_states_there() {
    let mut join = hash_join(Kind::Inner, scan("orders", 1, 1e6), scan("customer", 2, 1e4));
    if let N::HashJoin { output, build_unique, .. } = &mut join.node {
        *output = vec![JoinOutput::Build(0), JoinOutput::Probe(1)];
        *build_unique = true;
    }
    let expected = "
        0: scan customer #3 > build #1
        1: fill #1; after 0; offers table #1
        2: scan orders #2 > probe #1, groups #0 by build rows; after 1; needs table #1
        3: merge groups #0; after 2, 1
        4: groups #0 > result #0; after 3; needs table #1";
    Case::default().shows(sums(join, 1e4), expected);
}

#[test]
fn a_top_k_tells_the_scan_its_bound() {
    let expected = "
        0: scan t #2 (bound of #0 on column 0) > filter #1 > sort #0
        1: merge runs #0; after 0
        2: sorted #0 > result #0; after 1";
    Case::default().shows(sort(filter(scan("t", 1, 1e6)), Some(10)), expected);
    let whole = expected.replace(" (bound of #0 on column 0)", "");
    Case::default().shows(sort(filter(scan("t", 1, 1e6)), None), &whole);
}

#[test]
fn a_union_has_a_pipeline_for_each_input_and_one_sink() {
    let series = PhysicalPlan::new(
        N::Series { series: Series { first: 0, step: 1, rows: 10, ty: Type::BigInt }, columns: vec![0, 0] },
        columns(2),
        10.0,
    );
    let slot = PhysicalPlan::new(N::Materialized { index: 3, columns: vec![0, 1] }, columns(2), 10.0);
    let union = PhysicalPlan::new(N::UnionAll { inputs: vec![series, slot] }, columns(2), 20.0);
    let limit = N::Limit { input: Box::new(union), offset: 0, count: Some(5) };
    let expected = "
        0: series #2 > limit #0
        1: common subplan 3 #3 > limit #0
        2: limited #0 > result #0; after 0, 1";
    Case::default().shows(PhysicalPlan::new(limit, columns(2), 5.0), expected);
}

#[test]
fn rows_that_are_handed_on_by_blocks_stream_between_pipelines() {
    let plan = || sort(filter(scan("t", 1, 1e6)), None);
    let case = Case::handing_on("block");
    let expected = "
        0: scan t #2 > transfer 0 of #2 by block
        1: transfer 0 of #2 by block > filter #1 > transfer 1 of #1 by block; fed by 0
        2: transfer 1 of #1 by block > sort #0; fed by 1
        3: merge runs #0; after 2
        4: sorted #0 > result #0; after 3";
    case.shows(plan(), expected);
    let (decisions, pipelines) = case.cut(plan());
    let notes: Vec<String> = decisions.transfer_notes(&pipelines).into_iter().map(|note| note.2).collect();
    assert_eq!(notes, ["block, blocks of 1.0 MB", "block, blocks of 1.0 MB"]);
}

#[test]
fn a_join_behind_a_table_is_built_after_it() {
    let lower = hash_join(Kind::Inner, scan("t", 1, 1e6), scan("a", 2, 10.0));
    let plan = hash_join(Kind::Inner, lower, scan("b", 3, 10.0));
    let expected = "
        0: scan b #4 > build #0; after 5
        1: fill #0; after 0; offers table #0
        2: scan a #3 > build #1; after 4
        3: fill #1; after 2; offers table #1
        4: scan t #2 > transfer 0 of #2 by table
        5: transfer 0 of #2 by table > probe #1 > transfer 1 of #1 by table; after 4, 3; needs table #1
        6: transfer 1 of #1 by table > probe #0 > result #0; after 5, 1; needs table #0";
    Case::handing_on("vector, probe = table").shows(plan, expected);
}
