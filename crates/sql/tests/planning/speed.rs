//! Planning times. Bounds are loose, for busy machines; `--nocapture` shows the figures.

use std::time::Instant;

use crate::catalog::{Catalog, planned};
use crate::snapshots::benchmark_queries;

#[test]
fn benchmark_queries_plan_in_well_under_a_millisecond() {
    let mut all = Vec::new();
    for (suite, catalog) in [("tpch", Catalog::tpch()), ("ssb", Catalog::ssb())] {
        for (name, text) in benchmark_queries(suite) {
            let mut best = f64::MAX;
            for _ in 0..20 {
                let start = Instant::now();
                planned(&text, &catalog).unwrap();
                best = best.min(start.elapsed().as_secs_f64() * 1e6);
            }
            println!("{suite} {name}: {best:.0} us");
            all.push(best);
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let worst = all.iter().copied().fold(0.0, f64::max);
    println!("mean {mean:.0} us, worst {worst:.0} us");
    assert!(mean < 500.0 && worst < 2000.0, "mean {mean:.0} us, worst {worst:.0} us");
}
