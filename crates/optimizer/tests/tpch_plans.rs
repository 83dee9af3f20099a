//! The plans of all TPC-H queries, from their text, with the statistics of scale factor 1.

mod tpch;

use std::time::Duration;

use optimizer::{Settings, optimize_plan};
use plan::ColumnId;

fn explain(name: &str) -> String {
    let mut query = tpch::queries::bound(name);
    let (stub, settings) = (tpch::Stub::default(), Settings::default());
    let mut out = String::new();
    for (at, subquery) in query.subqueries.clone().into_iter().enumerate() {
        let output = [subquery.output()[0]];
        let plan = optimize_plan(subquery, &mut query.columns, &output, &stub, &settings).unwrap();
        tpch::check(&plan);
        out += &format!("subquery {at}\n{}", plan::print::physical(&plan, None));
    }
    let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    let mut fastest = Duration::MAX;
    let mut shown = String::new();
    for _ in 0..10 {
        let (logical, mut columns) = (query.plan.clone(), query.columns.clone());
        let (plan, took) =
            timing::cpu_time(|| optimize_plan(logical, &mut columns, &output, &stub, &settings).unwrap());
        fastest = fastest.min(took);
        tpch::check(&plan);
        shown = plan::print::physical(&plan, None);
    }
    println!("{name}: {fastest:?}");
    assert!(fastest < Duration::from_micros(1000), "{name} took {fastest:?} to optimize");
    out + &shown
}

/// Compares with `tpch/plans.txt`; with `UPDATE_PLANS` set in the environment, writes it instead.
#[test]
fn plans_are_as_recorded() {
    let mut all = String::new();
    for q in 1..=22 {
        all += &format!("-- q{q:02}\n{}\n", explain(&format!("q{q:02}")));
    }
    let path = format!("{}/tests/tpch/plans.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_PLANS").is_some() {
        std::fs::write(&path, &all).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let difference = all.lines().zip(recorded.lines()).find(|(a, b)| a != b);
    assert!(all == recorded, "the first line that differs (planned, recorded): {difference:#?}");
}

/// Every switch off by itself, and all at once: the plans differ, but they are plans.
#[test]
fn every_switch_off_still_plans() {
    let mut settings: Vec<Settings> = vec![Settings::all_off()];
    for (name, off) in Settings::OFF {
        let mut one = Settings::default();
        one.set(name, off).unwrap();
        settings.push(one);
    }
    for q in 1..=22 {
        let query = tpch::queries::bound(&format!("q{q:02}"));
        let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
        for settings in &settings {
            let (logical, mut columns) = (query.plan.clone(), query.columns.clone());
            let plan = optimize_plan(logical, &mut columns, &output, &tpch::Stub::default(), settings)
                .unwrap_or_else(|e| panic!("q{q:02} with {settings:?}: {e}"));
            tpch::check(&plan);
            for (column, id) in plan.output.iter().zip(&output) {
                assert_eq!(column.ty, columns.get(*id).ty, "q{q:02}");
            }
        }
    }
}
